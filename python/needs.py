"""Which systems load the package? Fails where a wheel, or a compiled half, asks for more than docs/python.md says.

    python python/needs.py out/wheels/*.whl
    python python/needs.py python/kc/_native.abi3.so
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

#: The newest version of each interface that may be asked for: the GNU C library of RHEL 8, and the C++ library of its GCC 8.
MOST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (4, 8), "ZLIB": (1, 2, 9)}
#: That of the simulated driver, which `kc gpu` alone loads: the GNU C library of RHEL 9.
MOST_OF_DRIVER = MOST | {"GLIBC": (2, 34)}
#: What every Linux has, with Python or without.
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libz.so.1",
             "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

_ASKED = re.compile(r"\*UND\*.*\s\(?([A-Z]+)_([0-9.]+)\)?\s+(\S+)$", re.MULTILINE)


def symbols(text):
    """Interface, version and name of each symbol that `objdump -T` lists as missing in the file."""
    return [(interface, tuple(map(int, version.split("."))), name) for interface, version, name in _ASKED.findall(text)]


def faults(library, linked=LIBRARIES, most=MOST):
    """What a shared library asks for and should not; and the newest version of each interface that it asks for. Without ``linked`` it may be
    linked to anything, whose interfaces are not looked at.
    """
    run = lambda *command: subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = symbols(run("objdump", "-T", str(library)))
    if not found:
        raise SystemExit(f"{library}: `objdump -T` lists no symbol of another library, which cannot be")
    if linked is None:
        found = [part for part in found if part[0] in most]
    newest = {interface: max(version for of, version, _ in found if of == interface) for interface, _, _ in found}
    wrong = [f"{name} is of {interface}_{'.'.join(map(str, version))}" for interface, version, name in found if version > most.get(interface, ())]
    needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", str(library)))
    wrong += [f"it is linked to {name}" for name in needed if linked is not None and name not in linked]
    return wrong, newest


def main(paths):
    if not paths:
        raise SystemExit(__doc__)
    failed = False
    for path in map(pathlib.Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            libraries, own = [path], set()
            if path.suffix == ".whl":
                with zipfile.ZipFile(path) as wheel:
                    libraries = [pathlib.Path(wheel.extract(name, folder)) for name in wheel.namelist() if re.search(r"\.so(\.|$)", name)]
                    own = {name.rpartition("/")[2] for name in wheel.namelist()}
                if not libraries:
                    raise SystemExit(f"{path}: no shared library in it")
            for library in libraries:
                wrong, newest = faults(library, LIBRARIES | own, MOST_OF_DRIVER if library.name == "libkc_gpu.so" else MOST)
                shown = ", ".join(f"{interface}_{'.'.join(map(str, version))}" for interface, version in sorted(newest.items()))
                print(f"{path.name}, {library.name}: {shown}")
                for fault in wrong:
                    print(f"  too new for docs/python.md: {fault}")
                failed |= bool(wrong)
    raise SystemExit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
