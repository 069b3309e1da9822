"""Writes THIRD-PARTY.md: what is linked into the wheel, and under which licences. Run it after a change of Cargo.lock.

    python python/licences.py            # writes it
    python python/licences.py --check    # fails if it is not as it would be written
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
import sbom  # noqa: E402

HEAD = """# What is linked into the wheel

kc's own code is under the Apache License 2.0 ([LICENSE](LICENSE)). The compiled half of the package also holds

- LLVM (<https://llvm.org>), under the Apache License 2.0 with LLVM Exceptions
  (<https://llvm.org/LICENSE.txt>). Copyright (c) 2003-2026 University of Illinois at Urbana-Champaign and the LLVM contributors;
- the GNU C++ library, under the GPL 3 with the GCC Runtime Library Exception 3.1;
- Zstandard, under the BSD 3-clause licence. Copyright (c) Meta Platforms, Inc. and affiliates;
- the Rust standard library, under the Apache License 2.0 or the MIT licence;
- these crates, each under the terms that it names (texts: `https://docs.rs/crate/NAME/VERSION/source/`):

| crate | version | licence |
|---|---|---|
"""


def text() -> str:
    rows = [
        f"| {package['name']} | {package['version']} | {package['license'] or 'in its sources'} |"
        for package in sbom.linked("kc-python")
        if package["source"]
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "THIRD-PARTY.md"
    if "--check" in sys.argv:
        sys.exit(path.read_text() != text() and "THIRD-PARTY.md is not up to date: run python/licences.py")
    path.write_text(text())
