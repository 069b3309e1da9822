#!/bin/bash
# Packs kc for machines that do not build it: the program, its manual pages, its completions, documents and examples.
#   dist.sh KC DRIVER FOLDER   writes FOLDER/kc-VERSION-MACHINE-linux.tar.gz; DRIVER is the library of `kc gpu`
# Its folders are those of /usr/local and ~/.local: INSTALL in it says how to unpack it there.
set -euo pipefail
kc=$(realpath "$1")
driver=$(realpath "$2")
mkdir -p "$3"
target=$(realpath "$3")
cd "$(dirname "$0")/.."

name=kc-$("$kc" --version | cut -d' ' -f2)-$(uname -m)-linux
work=$(mktemp -d "$target/.kc-dist-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/$name
mkdir -p "$root"/{bin,share/man/man1,share/bash-completion/completions,share/zsh/site-functions,share/fish/vendor_completions.d,share/kc,lib/kc,lib/cmake/kc}

cp "$kc" "$root/bin/kc"
chmod 755 "$root/bin/kc"
cp "$driver" "$root/lib/kc/libcuda.so.1"
"$kc" man -q -o "$root/share/man/man1"
gzip -9n "$root"/share/man/man1/*.1
"$kc" completions bash >"$root/share/bash-completion/completions/kc"
"$kc" completions zsh >"$root/share/zsh/site-functions/_kc"
"$kc" completions fish >"$root/share/fish/vendor_completions.d/kc.fish"
"$kc" completions powershell >"$root/share/kc/kc.ps1"
mkdir "$root/lib/pkgconfig"
cat >"$root/lib/pkgconfig/kc.pc" <<'END'
prefix=${pcfiledir}/../..
kc=${prefix}/bin/kc

Name: kc
Description: Compiler of GPU and host kernels
Version: @VERSION@
END
sed -i "s/@VERSION@/$("$kc" --version | cut -d' ' -f2)/" "$root/lib/pkgconfig/kc.pc"
cp scripts/cmake/kcConfig.cmake scripts/cmake/kcConfigVersion.cmake "$root/lib/cmake/kc"
cp python/THIRD-PARTY.md "$root/share/kc"
python3 scripts/sbom.py -o "$root/share/kc/kc.cdx.json"
cp -r README.md CHANGELOG.md LICENSE SECURITY.md CODE_OF_CONDUCT.md CITATION.cff docs "$root/share/kc"
mkdir "$root/share/kc/examples"
cp -r examples/*.py examples/launches examples/embed_native "$root/share/kc/examples"
if [[ -f editors/vscode/kc.vsix ]]; then
    cp editors/vscode/kc.vsix "$root/share/kc"
fi

# The newest version of the C library that the program asks for; a program that is a script asks for none.
glibc=$( (readelf --version-info "$kc" 2>/dev/null || true) | { grep -o 'GLIBC_2\.[0-9]*' || true; } | sort -uV | tail -1 | cut -d_ -f2)
cat >"$root/INSTALL" <<END
Unpack it over ~/.local (or, as root, over /usr/local):

    tar -xzf $name.tar.gz --strip-components=1 -C ~/.local

Then \`kc --help\` and \`man kc\` work in a new shell; share/kc has the documents and examples.
It runs on Linux on $(uname -m)${glibc:+ with glibc $glibc or newer}, and needs neither LLVM nor CUDA. To remove it, delete the files that
\`tar -tzf $name.tar.gz\` lists.
END

# The same contents give the same bytes.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work" -c "$name" | gzip -9n >"$work/done"
mv "$work/done" "$target/$name.tar.gz"
echo "$target/$name.tar.gz"
