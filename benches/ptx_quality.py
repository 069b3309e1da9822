#!/usr/bin/env python3
"""Registers, spills and instructions of kc's PTX, of hand-written CUDA C++, and of Warp's generated text, side by side.

    python3 benches/ptx_quality.py --suite FOLDER [--kc target/release/kc] [--warp PYTHON] [--arch sm_90] [--json FILE]

FOLDER holds `kernels.py`, the kernels in Python, and `gpu_kit/hand/kernels.cu`, the same by hand (`NAME` and `NAME_bwd`). CUDA
text is compiled by NVRTC and all PTX assembled by ptxas, both from one release of CUDA; found as the tests find them (`KC_PTXAS`,
`KC_NVRTC`, or `.env-test/`, which `make test` creates). PYTHON is one that can import warp; without it that column is left out.

Registers decide how many threads a multiprocessor can hold: above 32 fewer than all of its 2048 fit. Instructions are those of the
machine code of an entry, loops counted once.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from cuda_sweep import Nvrtc, tool

WARP_TEXT = """
import glob, os, shutil, sys
sys.path.insert(0, sys.argv[1])
import warp as wp
wp.config.quiet = True
wp.config.kernel_cache_dir = sys.argv[2] + "/cache"
wp.init()
import kernels
wp.compile_aot_module(kernels, arch=int(sys.argv[3]), module_dir=sys.argv[2], use_ptx=True)
print(os.path.join(os.path.dirname(wp.__file__), "native"))
"""


NOP = 0x918

# What the user promises, and the options that say so.
SETS = {
    "kc, dense and covering": ["--layout", "contiguous", "--grid", "covering"],
    "kc, covering": ["--grid", "covering"],
    "kc": [],
}


def nvrtc_ptx(nvrtc: Nvrtc, text: str, arch: str, options: list[str]) -> str:
    lib, program, size = nvrtc.library, ctypes.c_void_p(), ctypes.c_size_t()
    lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    given = [f"--gpu-architecture={arch.replace('sm_', 'compute_')}", "--std=c++17", *options]
    status = lib.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*(o.encode() for o in given)))
    if status:
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        sys.exit(f"NVRTC: {log.value.decode(errors='replace')[:2000]}")
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, ptx)
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()


def code_sizes(cubin: bytes) -> dict[str, int]:
    """Instructions of `.text.NAME` for each entry of an ELF file, without what fills it up: the branch to itself that ends the code
    and the NOPs behind it."""
    offset, = struct.unpack_from("<Q", cubin, 0x28)
    entry, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, offset + n * entry) for n in range(count)]
    strings = sections[names][4]
    sizes = {}
    for name, _, _, _, start, size in sections:
        text = cubin[strings + name: cubin.index(b"\0", strings + name)].decode()
        if text.startswith(".text."):
            # 16 bytes an instruction since Volta; the low 12 bits are what it does.
            done = [struct.unpack_from("<H", cubin, at)[0] & 0xFFF for at in range(start, start + size, 16)]
            sizes[text[6:]] = sum(op != NOP for op in done) - 1
    return sizes


def assemble(ptxas: str, ptx: str, arch: str) -> dict[str, dict]:
    """Figures by entry."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "k.ptx").write_text(ptx)
        command = [ptxas, "-v", "--gpu-name", arch, "-o", str(path / "k.cubin"), str(path / "k.ptx")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"ptxas: {done.stderr[:2000]}")
        sizes = code_sizes((path / "k.cubin").read_bytes())
    found: dict[str, dict] = {}
    name = None
    for line in (done.stdout + done.stderr).splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            name = match[1]
            found[name] = {"instructions": sizes.get(name, 0)}
        elif name and (match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            found[name].update(stack=int(match[1]), spills=int(match[2]) + int(match[3]))
        elif name and (match := re.search(r"Used (\d+) registers", line)):
            found[name]["registers"] = int(match[1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=pathlib.Path, required=True)
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--warp", metavar="PYTHON")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    ptxas, nvrtc = tool("KC_PTXAS", "bin/ptxas"), Nvrtc(tool("KC_NVRTC", "lib/libnvrtc.so.13"))

    sets: dict[str, dict[tuple[str, str], dict]] = {}

    def add(name: str, ptx: str, key) -> None:
        sets[name] = {key(entry): figures for entry, figures in assemble(ptxas, ptx, args.arch).items() if key(entry)}

    def generated(entry: str):
        match = re.fullmatch(r"(\w+?)(?:_[0-9a-f]{8})?_cuda_kernel_(forward|backward)", entry)
        return (match[1], match[2]) if match else None

    def by_hand(entry: str):
        return (entry[:-4], "backward") if entry.endswith("_bwd") else (entry, "forward")

    with tempfile.TemporaryDirectory() as folder:
        for name, options in SETS.items():
            subprocess.run([args.kc, "compile", str(args.suite / "kernels.py"), "--emit", "ptx", "--arch", args.arch, *options, "-o",
                            folder, "--format", "short"], check=True, capture_output=True)
            add(name, (pathlib.Path(folder) / "kernels.ptx").read_text(), generated)
        hand = (args.suite / "gpu_kit/hand/kernels.cu").read_text().replace("#include <stdint.h>", "typedef unsigned uint32_t; typedef int int32_t; typedef unsigned long long uint64_t; typedef long long int64_t; typedef unsigned char uint8_t;")
        add("by hand", nvrtc_ptx(nvrtc, hand, args.arch, []), by_hand)
        if args.warp:
            command = [args.warp, "-c", WARP_TEXT, str(args.suite), folder, args.arch[3:]]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            include = done.stdout.strip().splitlines()[-1]
            text = max(pathlib.Path(folder).glob("*.cu"), key=lambda path: path.stat().st_size).read_text()
            add("Warp", nvrtc_ptx(nvrtc, text, args.arch, [f"-I{include}", "--device-as-default-execution-space"]), generated)

    names = list(sets)
    print(f"| kernel | entry | {' | '.join(names)} |")
    print("|---|---|" + "---|" * len(names))
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for key in sets["kc"]:
        cells = []
        for name in names:
            figures = sets[name].get(key)
            if not figures:
                cells.append("")
                continue
            spill = f", {figures['spills']} B spilled" if figures["spills"] else ""
            cells.append(f"{figures['registers']} / {figures['instructions']}{spill}")
            if other := sets["by hand"].get(key):
                ratios[name].append(tuple(figures[what] / other[what] for what in ("registers", "instructions")))
        print(f"| {key[0]} | {key[1]} | {' | '.join(cells)} |")
    def means(found: list[tuple[float, float]]) -> str:
        return " / ".join(f"{math.exp(sum(map(math.log, column)) / len(column)):.2f}" for column in zip(*found))

    print(f"| by hand = 1 (geometric mean) | | {' | '.join(means(ratios[name]) for name in names)} |")
    print("\nregisters / instructions of machine code")
    if args.json:
        flat = {name: {" ".join(key): figures for key, figures in found.items()} for name, found in sets.items()}
        args.json.write_text(json.dumps(flat, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
