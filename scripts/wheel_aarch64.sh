#!/bin/bash
# Builds the wheel for AArch64 on an x86-64 machine, and runs it there under qemu:
#     scripts/wheel_aarch64.sh out/wheels [FOLDER]
# LLVM 22, zlib, zstd, CPython and the GNU C library for AArch64 come from Debian's packages, which
# are unpacked in FOLDER (2 GB). What is installed: qemu, gcc and g++ for AArch64, and Rust's
# standard library for it.
set -euo pipefail
out=$(realpath -m "$1")
work=$(realpath -m "${2:-/var/tmp/kc-aarch64}")
here=$(dirname "$(dirname "$(realpath "$0")")")
cd "$here"
scripts/setup.sh build
scripts/setup.sh python
scripts/setup.sh aarch64
target=aarch64-unknown-linux-gnu
rustup target add "$target"

if [[ ! -x $work/llvm/bin/llvm-config ]]; then
    mkdir -p "$work"/{debs,root,lists/partial,cache/archives/partial,llvm/bin}
    options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
             -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o Dir::State::status=/dev/null)
    apt-get "${options[@]}" update
    (cd "$work/debs" && apt-get "${options[@]}" download llvm-22-dev libpolly-22-dev zlib1g-dev zlib1g libzstd-dev libzstd1 libxml2-dev libxml2 libicu72 libz3-dev libz3-4 \
        libc6 libstdc++6 libgcc-s1 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1 libffi8 libbz2-1.0 liblzma5 libuuid1 libgmp10 libffi-dev)
    for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/root"; done
    # LLVM for AArch64 is laid out as that of this machine, which can run its own llvm-config alone.
    own=$(eval "$(scripts/setup.sh env)" && echo "$LLVM_SYS_221_PREFIX")
    libraries=$("$own/bin/llvm-config" --host-target | sed 's/-pc-/-/; s/-unknown-/-/')
    cat > "$work/llvm/bin/llvm-config" <<END
#!/bin/bash
$own/bin/llvm-config "\$@" | sed 's#$own#$work/root/usr/lib/llvm-22#g; s#/usr/lib/$libraries#$work/root/usr/lib/aarch64-linux-gnu#g'
END
    # The compiler finds the archives that are linked in there, too.
    printf '#!/bin/bash\nexec aarch64-linux-gnu-gcc -B%q "$@"\n' "$work/root/usr/lib/aarch64-linux-gnu/" > "$work/llvm/bin/gcc"
    chmod +x "$work/llvm/bin/llvm-config" "$work/llvm/bin/gcc"
fi

export LLVM_SYS_221_PREFIX=$work/llvm CARGO_TARGET_DIR=$work/target
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
paths="--remap-path-prefix=$here=kc --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-L native=$work/root/usr/lib/aarch64-linux-gnu $paths"
export CC_aarch64_unknown_linux_gnu=$work/llvm/bin/gcc CXX_aarch64_unknown_linux_gnu=aarch64-linux-gnu-g++
cargo build --release --target "$target" -p kc-libcuda --no-default-features --features llvm-static
# The wheel takes the simulated driver from this folder, where that of this machine is put back.
if [[ -e python/kc/libkc_gpu.so ]]; then
    cp -p python/kc/libkc_gpu.so "$work/own_libkc_gpu.so"
    trap 'cp -p "$work/own_libkc_gpu.so" python/kc/libkc_gpu.so' EXIT
fi
cp -f "$CARGO_TARGET_DIR/$target/release/libkc_gpu.so" python/kc/
(cd python && PATH="$here/.env-python/bin:$PATH" "$here/.env-python/bin/maturin" build --release --target "$target" --out "$work/wheels" \
    --no-default-features --features cuda,llvm-static)
wheel=$(ls -t "$work"/wheels/*aarch64.whl | head -1)
"$here/.env-python/bin/python" python/needs.py "$wheel"

rm -rf "$work/site"
python3 -m pip download -q --no-deps --only-binary :all: --python-version 3.11 --platform manylinux_2_17_aarch64 -d "$work/numpy" numpy==2.2.6
for each in "$work"/numpy/numpy-*aarch64.whl "$wheel"; do python3 -m zipfile -e "$each" "$work/site"; done
emulated() { qemu-aarch64 -L "$work/root" -E PYTHONHOME="$work/root/usr" -E PYTHONPATH="$work/site" "$work/root/usr/bin/python3.11" "$@"; }
emulated -m kc --version
emulated python/tests/smoke.py
mkdir -p "$out"
cp "$wheel" "$out/"
echo "$out/$(basename "$wheel")"
