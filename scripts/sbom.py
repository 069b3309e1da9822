"""Writes what a release holds, as a CycloneDX 1.6 file (SBOM): kc, its crates, and the libraries that are linked in.

    python3 scripts/sbom.py [-o kc.cdx.json] [--package kc]

The same sources give the same bytes: no date, no paths, no random numbers.
"""

import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What cargo does not know: linked statically by `make release` and `make wheel`.
LIBRARIES = [
    {"name": "llvm", "license": "Apache-2.0 WITH LLVM-exception", "supplier": "LLVM contributors"},
    {"name": "libstdc++", "license": "GPL-3.0-or-later WITH GCC-exception-3.1", "supplier": "Free Software Foundation"},
    {"name": "zstd", "license": "BSD-3-Clause", "supplier": "Meta Platforms"},
    {"name": "codemirror", "license": "MIT", "supplier": "The CodeMirror authors"},
    {"name": "rust-std", "license": "MIT OR Apache-2.0", "supplier": "The Rust Project"},
]


def linked(package: str) -> list[dict]:
    """The packages that are linked into one, by name and version."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    facts = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    packages = {one["id"]: one for one in facts["packages"]}
    nodes = {node["id"]: node for node in facts["resolve"]["nodes"]}
    left = [one["id"] for one in facts["packages"] if one["name"] == package]
    found = set()
    while left:
        one = left.pop()
        if one in found:
            continue
        found.add(one)
        # What only builds or tests is not linked in.
        left += [d["pkg"] for d in nodes[one]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
    return sorted((packages[one] for one in found), key=lambda one: (one["name"], one["version"]))


def versions() -> dict[str, str]:
    """The versions of LLVM and Rust that build kc here."""
    manifest = (ROOT / "Cargo.toml").read_text()
    llvm = manifest.split("inkwell/llvm")[1].split("-prefer")[0].replace("-", ".")
    rust = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    return {"llvm": llvm, "rust-std": rust}


def component(name: str, version: str, licence: str | None, **more: object) -> dict:
    made = {"type": "library", "name": name, "version": version, **more}
    if licence:
        made["licenses"] = [{"expression": licence.replace("/", " OR ")}]
    return made


def document(package: str) -> dict:
    crates = linked(package)
    own = next(one for one in crates if one["name"] == package)
    known = versions()
    parts = [
        component(one["name"], one["version"], one["license"], **{"bom-ref": reference(one), "purl": reference(one)})
        for one in crates
        if one["source"]
    ]
    for library in LIBRARIES:
        version = known.get(library["name"], "of the system that builds it")
        parts.append(component(library["name"], version, library["license"], supplier={"name": library["supplier"]}))
    root = component(package, own["version"], own["license"]) | {"type": "application"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": parts,
    }


def reference(one: dict) -> str:
    return f"pkg:cargo/{one['name']}@{one['version']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("kc.cdx.json"))
    parser.add_argument("--package", default="kc")
    args = parser.parse_args()
    args.output.write_text(json.dumps(document(args.package), indent=1) + "\n")


if __name__ == "__main__":
    main()
