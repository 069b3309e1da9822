"""Do the programs in `cuda_idiomatic` compute what their rows say?

    python tests/dataset_idiomatic.py SET COUNT

Builds the program of each of the first COUNT rows for the host, with a stand-in for the CUDA
runtime that runs one thread after the other, calls its function with the arrays in `io.inputs`,
and compares with `io.outputs`. Prints how many ran; a program that differs is an error.
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet

HERE = Path(__file__).parent
FLAGS = ["-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-ffp-contract=off"]

RUNTIME = """
#include "cuda_runtime.h"
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
static cudaError_t cudaMemset(void *data, int byte, size_t size) { std::memset(data, byte, size); return cudaSuccess; }
static cudaError_t cudaFree(void *data) { std::free(data); return cudaSuccess; }
template <typename T> static cudaError_t cudaMalloc(T **data, size_t size) { return cudaMalloc((void **)data, size); }
template <typename F> static void launch(dim3 grid, dim3 block, F thread) {
    for (unsigned z = 0; z < grid.z * block.z; ++z)
        for (unsigned y = 0; y < grid.y * block.y; ++y)
            for (unsigned x = 0; x < grid.x * block.x; ++x) {
                blockIdx = {x, y, z};
                thread();
            }
}
"""


def sizes(row):
    """Values of the symbols in the row's extents, as far as one stands alone somewhere."""
    shapes = {tensor["name"].split(".")[0]: json.loads(tensor["shape"]) for tensor in row["io"]["inputs"]}
    found = {}
    for arg in row["entry"]["args"]:
        if arg["kind"] == "count":
            found[arg["extent"]] = json.loads(arg["value"])
        elif arg["shape"] is not None and arg["array"] in shapes:
            names = arg["shape"].strip("[]").split(", ")
            found.update(zip(names, shapes[arg["array"]], strict=False))
    return found


def literal(value):
    """A number of C++, or a list in braces."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return "{" + ", ".join(literal(one) for one in value) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def program(row):
    """The text with a `main`, and the arrays that it writes; None: the row lacks a number for it."""
    text = row["cuda_idiomatic"]
    name, params = re.search(r"^void (\w+)\(([^)]*)\)\n\{", text, re.MULTILINE).groups()
    inputs = {tensor["name"]: base64.b64decode(tensor["data"]) for tensor in row["io"]["inputs"]}
    values = {arg["name"]: arg["value"] for arg in row["entry"]["args"] if arg["kind"] in ("value", "struct")}
    known = sizes(row)
    main, given, written = "", [], []
    for param in params.split(","):
        kind, _, own = param.strip().rpartition(" ")
        if own.startswith("*"):
            own = own[1:]
            if own not in inputs:
                return None
            data = ", ".join(map(str, inputs[own]))
            main += f"    alignas(16) static unsigned char {own}_data[] = {{{data}}};\n"
            if not kind.startswith("const "):
                written.append(own)
            given.append(f"({kind} *){own}_data")
        elif own in values:
            main += f"    {kind} {own}_value = {literal(json.loads(values[own]))};\n"
            given.append(f"{own}_value")
        elif own in known:
            given.append(str(known[own]))
        else:
            return None
    main += f"    {name}({', '.join(given)});\n"
    for own in written:
        main += f"    fwrite({own}_data, 1, sizeof({own}_data), stdout);\n"
    text = re.sub(r"(\w+)<<<(.*?)>>>\((.*?)\);", r"launch(\2, [&] { \1(\3); });", text, flags=re.DOTALL)
    # The runtime's types come first.
    return RUNTIME + text + "\nint main()\n{\n" + main + "    return 0;\n}\n", written


def differences(row, found, written):
    """What the program left otherwise than the row says."""
    out = []
    for tensor in row["io"]["outputs"]:
        if tensor["name"] not in written:
            continue
        expected = base64.b64decode(tensor["data"])
        start = sum(len(base64.b64decode(t["data"])) for t in row["io"]["outputs"] if t["name"] in written[: written.index(tensor["name"])])
        part = found[start : start + len(expected)]
        kind = {"bool": "?", "uint8": "u1"}.get(tensor["dtype"], tensor["dtype"])
        a, b = (np.frombuffer(data, np.dtype(kind)) for data in (part, expected))
        a, b = a.astype(np.float64), b.astype(np.float64)
        scale = max(np.abs(b).max(initial=0.0), 1e-6)
        limit = 1e-3 * np.abs(b) + 1e-4 * scale if np.dtype(kind).kind == "f" else 0.0
        if not np.all(np.abs(a - b) <= limit):
            out.append(f"{tensor['name']}: {a[:8]} beside {b[:8]}")
    return out


def main():
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    break_it = len(sys.argv) > 3
    tables = [pyarrow.parquet.read_table(path) for path in sorted(folder.glob("data/pairs/*.parquet"))]
    rows = sorted((row for table in tables for row in table.to_pylist()), key=lambda row: row["index"])[:count]
    ran, wrong = 0, []
    with tempfile.TemporaryDirectory() as place:
        for row in rows:
            made = row["cuda_idiomatic"] and program(row)
            if not made:
                continue
            text, written = made
            if break_it:
                text = text.replace("= blockIdx.x", "= 1 + blockIdx.x")
            source, binary = Path(place, "program.cpp"), Path(place, "program")
            source.write_text(text)
            include = ["-I", str(HERE / "dataset")]
            subprocess.run([os.environ.get("CXX", "c++"), *FLAGS, *include, "-o", binary, source], check=True)
            # A broken program may leave its arrays.
            done = subprocess.run([binary], capture_output=True, check=not break_it)
            found = done.stdout
            bad = done.returncode != 0 or differences(row, found, written)
            ran += 1
            if bad:
                wrong.append(f"{row['id']} ({row['family']}): {bad}")
    print(f"{ran} of {len(rows)} ran, {len(wrong)} wrong")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
