#!/bin/bash
# Runs the wheel on an old system: Debian 11 (GNU C library 2.31) in a folder, with CPython 3.11 compiled there from Debian's source, which
# takes 5 minutes of one core. As root, with debootstrap:
#     scripts/debian11.sh out/wheels/*.whl [FOLDER]
set -euo pipefail
wheel=$(realpath "$1")
root=${2:-/var/tmp/kc-debian11}
here=$(dirname "$(realpath "$0")")
mirror=http://deb.debian.org/debian

if [[ ! -x $root/py/bin/python3.11 ]]; then
    debootstrap --variant=minbase --include=gcc,libc6-dev,make,zlib1g-dev,libffi-dev,libstdc++6 bullseye "$root" "$mirror"
    sources=$(mktemp -d)
    trap 'rm -rf "$sources"' EXIT
    mkdir -p "$sources/lists/partial" "$sources/cache/archives/partial"
    echo "deb-src $mirror bookworm main" > "$sources/list"
    options=(-qq -o Dir::Etc::sourcelist="$sources/list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$sources/lists" -o Dir::Cache="$sources/cache")
    apt-get "${options[@]}" update
    (cd "$sources" && apt-get "${options[@]}" source --download-only python3.11)
    mkdir -p "$root/src"
    tar xf "$sources"/python3.11_*.orig.tar.* -C "$root/src" --strip-components=1
    chroot "$root" bash -c 'cd /src && ./configure -q --prefix=/py --without-ensurepip --disable-test-modules > /dev/null && make -s -j2 > /src/log 2>&1 && make -s install > /src/log 2>&1'
    rm -rf "$root/src"
fi
rm -rf "$root/site"
python3 -m pip download -q --no-deps --only-binary :all: --python-version 3.11 --platform manylinux_2_17_x86_64 -d "$root/wheels" numpy==2.2.6
for each in "$root"/wheels/numpy-*.whl "$wheel"; do
    python3 -m zipfile -e "$each" "$root/site"
done
cp "$here/../python/tests/smoke.py" "$root/smoke.py"
# Ctrl-C of a kernel looks for its code in /proc/self/maps.
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"; rm -rf "${sources:-}"' EXIT
chroot "$root" /usr/bin/env PYTHONPATH=/site HOME=/root /py/bin/python3.11 /smoke.py
