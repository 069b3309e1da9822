#!/bin/bash
# Do two builds of kc write the same? For changes that must not change what kc makes.
#   same_output.sh BEFORE AFTER [ROWS]
# BEFORE and AFTER are programs, such as target/debug/kc, or git revisions, which are built here one
# after the other in out/same_output/build (minutes). Compared are, byte by byte:
#   - all that `kc compile --emit all` makes of each program in examples/ and tests/, with its
#     derivatives and without (`--no-backward`), and what it says; a program that does not compile
#     counts by what kc says of it
#   - the data of ROWS rows of `kc dataset` (200), which hold CUDA, adjoint, LLVM, PTX and host texts
# Prints counts and the first differences. Ends with 1 if anything differs, with 2 if nothing could
# be compared. Results stay in out/same_output.
set -euo pipefail
cd "$(dirname "$0")/.."
(( $# == 2 || $# == 3 )) || { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
rows=${3:-200}
out=$PWD/out/same_output
jobs=${KC_JOBS:-$(nproc)}
shown=5
mkdir -p "$out"

# The program that a word on the command line means.
program() {
    if [[ -f $1 && -x $1 ]]; then
        realpath "$1"
        return
    fi
    local commit tree=$out/build/tree
    commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "$1 is no program and no revision" >&2; exit 2; }
    if [[ ! -x $out/build/kc-$commit ]]; then
        echo "building $1" >&2
        rm -rf "$tree"
        git worktree prune
        git worktree add --quiet --detach "$tree" "$commit" >&2
        (cd "$tree" && eval "$(scripts/setup.sh env)" && CARGO_TARGET_DIR=$out/build/target cargo build --quiet --bin kc) >&2
        cp "$out/build/target/debug/kc" "$out/build/kc-$commit"
        git worktree remove --force "$tree"
    fi
    echo "$out/build/kc-$commit"
}

# All texts of one program: what is made lies in the folder, and what kc said beside it.
compile() {
    local kc=$1 to=$2 file=$3 folder
    for form in "" --no-backward; do
        folder=$to/${file%.py}$form
        mkdir -p "$folder"
        local status=0
        # shellcheck disable=SC2086
        "$kc" compile --color never --emit all $form -o "$folder" "$file" >"$folder/said" 2>&1 || status=$?
        echo "exit $status" >>"$folder/said"
        # The folder's own name is in the text.
        sed -i "s#$to#RESULTS#g" "$folder/said"
    done
}
export -f compile

before=$(program "$1")
after=$(program "$2")
mapfile -t files < <(find examples tests -name '*.py' | LC_ALL=C sort)
# What a program makes of these inputs is made once: the folder's name says of what.
inputs=$(cat "${files[@]}" | sha256sum | cut -c1-16)
make_all() {
    local kc=$1 to
    to=$out/made/$(sha256sum "$kc" | cut -c1-16)-$inputs-$rows
    if [[ ! -f $to/whole ]]; then
        rm -rf "$to"
        mkdir -p "$to"
        cp "$kc" "$to/kc"
        printf '%s\0' "${files[@]}" | xargs -0 -P "$jobs" -I{} bash -c 'compile "$@"' _ "$to/kc" "$to/programs" {}
        if (( rows )); then
            "$to/kc" dataset --quiet --no-verify -n "$rows" -j "$jobs" -o "$to/dataset" >"$to/dataset.said" 2>&1
        fi
        rm "$to/kc"
        touch "$to/whole"
    fi
    echo "$to"
}
before=$(make_all "$before")
after=$(make_all "$after")

# The files of both sides that are compared: of a data set its data, not when it was made.
list() { (cd "$1" && find programs dataset/data -type f 2>/dev/null | LC_ALL=C sort); }
text() { if [[ $1 == *.zst ]]; then zstd -dcq "$1"; else cat "$1"; fi; }
compiled=$(find "$after/programs" -name said -exec grep -lx 'exit 0' {} + | wc -l)
compared=0
differing=()
while read -r file; do
    compared=$((compared + 1))
    cmp -s "$before/$file" "$after/$file" || differing+=("$file")
done < <({ list "$before"; list "$after"; } | LC_ALL=C sort -u)

echo "programs ${#files[@]}, with and without derivatives; compiled $compiled of $(( 2 * ${#files[@]} ))"
echo "rows of kc dataset $rows; files compared $compared; different ${#differing[@]}"
for file in "${differing[@]:0:$shown}"; do
    echo
    echo "--- $file"
    if [[ ! -f $before/$file || ! -f $after/$file ]]; then
        echo "only one of the two makes it"
    elif [[ $file == *.o || $file == *.parquet ]]; then
        cmp "$before/$file" "$after/$file" || true
    else
        diff <(text "$before/$file") <(text "$after/$file") | cut -c1-200 | head -12 || true
    fi
done
(( compiled > 0 && compared > 0 )) || exit 2
(( ${#differing[@]} == 0 ))
