#!/bin/bash
# Do kc's kernels run right on this machine's GPU, and how fast?
#
#     run.sh [KC [REPORT]]
#
# Needs an NVIDIA driver and the folder that `make gpu-kit` makes (this script, kc, examples/, cases/); no CUDA toolkit, no
# Rust, no Python, no network. It lists the devices, runs every launch on the GPU and on the host and compares all arrays
# and gradients, times the examples, and writes REPORT (gpu-report.md). Exit status 1 if anything failed. REPEATS=1 times
# each launch once, which is enough to rehearse.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
kc=${1:-$here/kc}
report=${2:-gpu-report.md}
say() { printf '%s\n' "$@" | tee -a "$report"; }

: >"$report" || exit 1
say "# kc on a GPU" "" "$("$kc" --version), $(date -u +%Y-%m-%d), $(uname -sm)" '' '```'
devices=$("$kc" devices 2>&1)
status=$?
say "$devices" '```' ''
if [ $status -ne 0 ] || ! grep -q '^cuda:0' <<<"$devices"; then
    say "No GPU was found: nothing ran."
    exit 1
fi

# Eight launches a process, for the connection with the GPU takes a second. An error of a kernel breaks it, so that each of them
# is run again, alone. Several processes at a time: most of their time they wait.
same=0 failed=0
said=$(mktemp -d) || exit 1
trap 'rm -rf "$said"' EXIT
say "## Results, beside those of the host" ''
launches=()
for launch in "$here"/examples/launches/*.json "$here"/cases/*/case.json; do
    [ -e "$launch" ] && launches+=("$launch")
done
printf '%s\n' "${launches[@]}" >"$said/launches"
verify() {
    local files some=() n
    mapfile -t files <"$said/launches"
    for n; do some+=("${files[n]}"); done
    if "$kc" verify --devices host,cuda "${some[@]}" >/dev/null 2>&1; then
        for n; do : >"$said/$n"; done
    else
        for n; do "$kc" verify --devices host,cuda "${files[n]}" >"$said/$n" 2>&1 || : >"$said/$n.failed"; done
    fi
}
export -f verify
export kc said
printf '%s\n' "${!launches[@]}" | xargs -n 8 -P "$(getconf _NPROCESSORS_ONLN)" bash -c 'verify "$@"' _
for n in "${!launches[@]}"; do
    if [ -e "$said/$n" ] && [ ! -e "$said/$n.failed" ]; then
        same=$((same + 1))
    else
        failed=$((failed + 1))
        say '```' "${launches[n]#"$here"/}" "$(cat "$said/$n" 2>&1)" '```'
    fi
done
say "$same launches agree, $failed do not." ''

say "## Times" '' 'Of the entries alone, by events.' '' '```'
if ! times=$("$kc" bench --device cuda ${REPEATS:+--repeats "$REPEATS"} "$here"/examples/launches/*.json 2>&1); then failed=$((failed + 1)); fi
say "$times" '```'
[ $failed -eq 0 ] && [ $same -gt 0 ]
