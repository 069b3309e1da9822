#!/usr/bin/env python3
"""Does kc's PTX compute what its host code computes? Recorded launches, on a machine for PTX in Python (`machine.py`).

    python3 tests/ptx/emulate.py KC CASE_FOLDER... [--every N] [--seed N]

A case folder holds `case.json`, `kernel.py` and `inputs.npz` (docs: launch files). Each is compiled without fused multiplications, run with a
covering grid, with a grid half as large (as `--opt lean` too, whose code calls library functions), and, where its arrays are dense, as
`--layout contiguous`; arrays lie at the worst addresses that the layout allows. Results are those of `kc run --device host`, bit for bit, or within rounding where floats are added atomically.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

from machine import Fault, Kernel, Machine, Memory, Unknown, kind

SCALARS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
           "float16": "e", "float32": "f", "float64": "d"}
SIZES = {name: struct.calcsize(code) for name, code in SCALARS.items()} | {"bfloat16": 2}
MAX_THREADS = 400


def components(dtype: dict) -> int:
    count = 1
    for n in dtype["shape"]:
        count *= n
    return count


def descriptor(data: int, grad: int, shape: list[int], strides: list[int]) -> bytes:
    fill = [0] * (4 - len(shape))
    return struct.pack("<QQ4i4iii", data, grad, *shape, *fill, *strides, *fill, len(shape), 0)


def leaves(args: list[dict], owner: str = ""):
    """The arguments, and the fields of those that are structs, with their whole names as `key`."""
    for arg in args:
        if arg["kind"] == "struct":
            yield from leaves(arg["fields"], f"{owner}{arg['name']}.")
        else:
            yield arg | {"key": owner + arg["name"]}


class Launch:
    def __init__(self, folder: pathlib.Path):
        self.case = json.loads((folder / "case.json").read_text())
        self.inputs = np.load(folder / "inputs.npz")
        about = folder / "meta.json"
        if about.exists() and json.loads(about.read_text()).get("order_dependent"):
            raise Unknown("results depend on the order of threads")
        self.dense = True
        for arg in leaves(self.case["args"]):
            if arg["kind"] not in ("array", "value") or arg["dtype"]["class"] == "struct" or arg["dtype"]["scalar"] not in SCALARS:
                raise Unknown(f"argument {arg['kind']} {arg.get('dtype', {}).get('class')} {arg.get('dtype', {}).get('scalar')}")
            if "alias_of" in arg or "grad_alias_of" in arg or arg.get("grad_external") or arg.get("retain_grad"):
                raise Unknown("aliases, or adjoints handed over otherwise")
            self.dense &= "strides" not in arg
        self.threads = int(np.prod(self.case["dim"]))
        if self.threads > MAX_THREADS:
            raise Unknown("large launch")

    def memory(self, contiguous: bool, wanted: dict):
        """Memory, the parameters, and where each array that comes out lies."""
        memory, places = Memory(), {}
        params = [self.argument(arg, memory, places, contiguous, wanted) for arg in self.case["args"]]
        return memory, params, places

    def argument(self, arg: dict, memory: Memory, places: dict, contiguous: bool, wanted: dict) -> bytes:
        """The bytes of an argument; its arrays get memory."""
        if arg["kind"] == "struct":
            layout = self.case.get("structs", {}).get(arg["struct"])
            if layout is None:
                raise Unknown("a struct whose layout the launch does not tell")
            data = bytearray(layout["size"])
            for field, place in zip(arg["fields"], layout["fields"]):
                part = self.argument(field, memory, places, contiguous, wanted)
                data[place["offset"]:place["offset"] + len(part)] = part
            return bytes(data)
        dtype = arg["dtype"]
        size = SIZES[dtype["scalar"]]
        if arg["kind"] == "value":
            value = arg["value"]
            values = [float(v) if isinstance(v, str) else v for v in (value if isinstance(value, list) else [value])]
            code = SCALARS[dtype["scalar"]]
            return b"".join(struct.pack("<" + code, v if code in "efd?" else int(v)) for v in values)
        element = size * components(dtype)
        shape = arg.get("shape", [0] * arg.get("ndim", 1))
        if arg.get("null"):
            return descriptor(0, 0, shape, [0] * len(shape))
        dense = [element] * len(shape)
        for n in reversed(range(len(shape) - 1)):
            dense[n] = dense[n + 1] * shape[n + 1]
        strides = arg.get("strides", dense)
        addresses = []
        for key in (arg["data"], arg.get("grad", arg["data"] + ".grad")):
            has = key in self.inputs or (key == arg["data"] or key in wanted)
            if not has:
                addresses.append(0)
                continue
            values = self.inputs[key] if key in self.inputs else np.zeros([*shape, *dtype["shape"]], wanted[key].dtype)
            values = values.reshape([*shape, components(dtype)])
            extent = sum((n - 1) * s for n, s in zip(shape, strides)) + element if all(shape) else 0
            if any(s < 0 for s in strides):
                raise Unknown("negative strides")
            data = bytearray(extent)
            for index in np.ndindex(*shape):
                at = sum(i * s for i, s in zip(index, strides))
                data[at:at + element] = values[index].tobytes()
            addresses.append(memory.give(bytes(data), element if contiguous else size))
            places[key] = (addresses[-1], shape, strides, element, values.dtype, dtype["shape"])
        return descriptor(*addresses, shape, strides)

    def run(self, text: str, rank: int, wanted: dict, contiguous: bool, part: float, rng: random.Random) -> tuple[dict, int]:
        memory, params, places = self.memory(contiguous, wanted)
        dims = [*self.case["dim"], 1, 1, 1, 1][:4]
        # Dimensions that the kernel has no coordinate for repeat the launch.
        repeats = int(np.prod(dims[rank:], dtype=int))
        dims = dims[:rank] + [1] * (4 - rank)
        count = int(np.prod(dims))
        bounds = struct.pack("<4IQ", *dims, count)
        phases = {"forward": ["forward"], "backward": ["backward"], "gradient": ["forward", "backward"]}[self.case["direction"]]
        met, gradients = 0, []
        for phase in phases:
            if phase == "backward" and f".entry {self.case['kernel']}_cuda_kernel_backward" not in text:
                # It has nothing to differentiate.
                continue
            kernel = Kernel(text, f"{self.case['kernel']}_cuda_kernel_{phase}")
            given = [bounds, *params]
            if phase == "backward":
                given += [descriptor(0, 0, [0] * a["ndim"], [0] * a["ndim"]) if a["kind"] == "array" else bytes(len(p))
                          for a, p in zip(self.case["args"], params)]
                gradients = [(arg["key"], components(arg["dtype"])) for arg in leaves(self.case["args"])
                             if arg["kind"] == "value" and SCALARS[arg["dtype"]["scalar"]] in "efd"]
                if gradients:
                    slots = sum(n for _, n in gradients)
                    sums = memory.give(bytes(8 * slots), 8)
                    given.append(descriptor(sums, 0, [slots], [8]))
            if len(given) != len(kernel.sizes):
                raise Unknown("buffers for values to keep")
            block = bytearray(kernel.param_bytes)
            for (at, size), data in zip(kernel.sizes, given):
                if len(data) != size:
                    raise Unknown(f"a parameter of {size} bytes")
                block[at:at + size] = data
            threads = rng.choice([32, 48, 64, 96])
            blocks = max(1, int(-(-count // threads) * part))
            met += sum(Machine(kernel, memory, bytes(block), blocks, threads, rng).met for _ in range(repeats))
        found = {}
        for key, (address, shape, strides, element, dtype, inner) in places.items():
            data = bytearray()
            base = address - 0x7F00_0000_0000
            for index in np.ndindex(*shape):
                at = base + sum(i * s for i, s in zip(index, strides))
                data += memory.bytes[at:at + element]
            found[key] = np.frombuffer(bytes(data), dtype).reshape([*shape, *inner])
        for key, n in gradients:
            at = sums - 0x7F00_0000_0000
            found[f"{key}.grad"] = np.frombuffer(bytes(memory.bytes[at:at + 8 * n]), np.float64)
            sums += 8 * n
        return found, met


def difference(found: dict, wanted: dict, keys: list[str], exact: bool) -> str | None:
    for key in keys:
        if key not in found or key not in wanted:
            continue
        a, b = found[key], np.asarray(wanted[key]).reshape(found[key].shape)
        if a.dtype.kind != "f":
            same = np.array_equal(a, b.astype(a.dtype))
        elif exact:
            same = np.array_equal(a, b, equal_nan=True)
        else:
            tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-9}[a.dtype.itemsize]
            a, b = a.astype(float), b.astype(float)
            largest = np.max(np.abs(b), initial=1.0, where=np.isfinite(b))
            same = np.allclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True)
        if not same:
            return f"{key}: {a.ravel()[:6]} instead of {b.ravel()[:6]}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kc")
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    folders: list[pathlib.Path] = []
    for root in args.cases:
        folders += [root] if (root / "case.json").exists() else sorted(path.parent for path in root.glob("*/case.json"))
    folders = folders[::args.every]
    rng = random.Random(args.seed)
    skipped, wrong, runs, met = collections.Counter(), [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch)
        for folder in folders:
            try:
                launch = Launch(folder)
            except Unknown as why:
                skipped[str(why)] += 1
                continue
            command = [args.kc, "run", str(folder / "case.json"), "--out-dir", str(out), "--device", "host", "--fmad", "off"]
            subprocess.run(command, capture_output=True)
            result = out / f"{launch.case['id']}.json"
            if not result.exists() or json.loads(result.read_text())["status"] != "ok":
                skipped["the host refuses it"] += 1
                continue
            made = out / "made" / (pathlib.Path(launch.case["source"]).stem + ".ptx")
            wanted = dict(np.load(out / f"{launch.case['id']}.npz"))
            sets = [("covering", "strided", "full", 1.0), ("any", "strided", "full", 0.5), ("any", "strided", "lean", 0.5)]
            sets += [("covering", "contiguous", "full", 1.0)] * launch.dense
            for grid, layout, opt, part in sets:
                command = [args.kc, "compile", str(folder / launch.case["source"]), "--kernel", launch.case["kernel"], "--emit", "ptx,meta",
                           "--arch", "sm_90", "--parameter-gradients", "--grid", grid, "--layout", layout, "--opt", opt, "--fmad", "off", "-o", str(out / "made")]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode or not made.exists():
                    skipped["not compiled: " + " ".join(re.findall(r"error\[(\w+)\]", done.stderr)[:1])] += 1
                    break
                text = made.read_text()
                rank = json.loads(made.with_suffix(".json").read_text())["kernels"][0]["rank"]
                try:
                    found, times = launch.run(text, rank, wanted, layout == "contiguous", part, rng)
                except Unknown as why:
                    skipped[str(why)] += 1
                    break
                except Fault as fault:
                    wrong.append(f"{folder.name} ({grid}, {layout}, {opt}): {fault}")
                    continue
                runs += 1
                met += times
                exact = not re.search(r"atom\S*\.add\.f|atom\S*\.cas", text)
                if fault := difference(found, wanted, launch.case.get("outputs") or list(wanted), exact):
                    wrong.append(f"{folder.name} ({grid}, {layout}, {opt}): {fault}")
                made.unlink()
    for line in wrong:
        print(line)
    print(f"{len(folders)} cases, {runs} runs as the host's, {len(wrong)} wrong; whole warps met {met} times")
    for why, count in skipped.most_common():
        print(f"  left out {count}: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
