#!/bin/bash
# Collects the artefacts of a release in one folder, and tries each in a bare one.
#   release.sh ARCHIVE WHEEL EXTENSION FOLDER
# FOLDER gets the three, kc.cdx.json (what is in them) and SHA256SUMS; EXTENSION is that of VS Code. Needs the package index for NumPy.
set -euo pipefail
archive=$(realpath "$1") wheel=$(realpath "$2") extension=$(realpath "$3")
mkdir -p "$4"
target=$(realpath "$4")
here=$(dirname "$(realpath "$0")")

bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT
mkdir "$bare/archive" "$bare/home" "$bare/work"
# Nothing of this checkout: another folder, no variables, only what every Linux has on its path.
within() { (cd "$bare/work" && env -i HOME="$bare/home" PATH="$1:/usr/bin:/bin" "${@:2}"); }

tar -xzf "$archive" --strip-components=1 -C "$bare/archive"
python3 -m venv "$bare/python"
"$bare/python/bin/pip" install -q --disable-pip-version-check "$wheel"
python3 -m zipfile -e "$extension" "$bare/extension"

version=$(within "$bare/archive/bin" kc --version)
for bin in "$bare/archive/bin" "$bare/python/bin"; do
    test "$(within "$bin" kc --version)" = "$version"
    within "$bin" kc check -q "$bare/archive/share/kc/examples"
    within "$bin" kc compile -q "$bare/archive/share/kc/examples/saxpy.py" --emit ptx,cuda,obj,header -o saxpy
    sums=$(within "$bin" kc run "$bare/archive/share/kc/examples/saxpy.py" --dim 4 --arg a=2 --arg x=range:4 --arg y=ones:4 --print y)
    grep -q '\[3\] *7\.0$' <<<"$sums" || { echo "release: $bin/kc run printed: $sums" >&2; exit 1; }
    # The driver over the simulator: a program that asks it for the number of devices.
    within "$bin" kc gpu -- python3 -c 'import ctypes
driver = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 1, count.value'
done
within "$bare/python/bin" python "$here/../python/tests/smoke.py"
within "$bare/archive/bin" test -s "$bare/archive/share/man/man1/kc.1.gz"
within /usr/bin grep -q "\"version\": \"${version#kc }\"" "$bare/extension/extension/package.json"
for tree in "$bare"/archive/bin/kc "$bare"/archive/lib/kc/libcuda.so.1; do
    if strings "$tree" | grep -qF "${here%/scripts}"; then
        echo "release: $tree names the folder that it was built in" >&2
        exit 1
    fi
done

cp "$archive" "$wheel" "$extension" "$bare/archive/share/kc/kc.cdx.json" "$target"
cd "$target"
sha256sum -- "${archive##*/}" "${wheel##*/}" "${extension##*/}" kc.cdx.json >SHA256SUMS.new
mv SHA256SUMS.new SHA256SUMS
cat SHA256SUMS
