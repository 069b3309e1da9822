#!/usr/bin/env python3
"""Registers, shared memory and instructions of kernels with tiles as kc writes them, beside CUDA C++ by hand.

    python3 benches/tile_quality.py [--kc target/release/kc] [--arch sm_75,sm_80,sm_90,sm_120]

The kernels are `kernels/tiles_gpu.py` and `kernels/tiles_gpu.cu`; those by hand have dense arrays and a block for each task, as "dense" has. NVRTC compiles the text by hand and ptxas assembles both; they are
found as the tests find them (`benches/ptx_quality.py`). A warp is given registers 256 at a time (CUDA C++ Programming Guide, *Compute Capabilities*), so that a thread holds
a multiple of 8 of them, which "held" counts.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from cuda_sweep import Nvrtc, tool
from ptx_quality import code_sizes, nvrtc_ptx

HERE = pathlib.Path(__file__).parent / "kernels"
# What the kernels by hand take for granted.
DENSE = ["--layout", "contiguous", "--grid", "covering"]
KERNELS = ["gemm", "softmax", "attention", "cholesky"]


def assemble(ptxas, ptx, arch):
    """Figures by entry: registers, bytes of shared memory, bytes spilled, instructions."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "k.ptx").write_text(ptx)
        command = [ptxas, "-v", "--gpu-name", arch, "-o", path / "k.cubin", path / "k.ptx"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"ptxas: {done.stderr[:2000]}")
        sizes = code_sizes((path / "k.cubin").read_bytes())
    found, name, spills = {}, None, 0
    for line in (done.stdout + done.stderr).splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            name = match[1]
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spills = int(match[1]) + int(match[2])
        elif match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            found[name] = (int(match[1]), int(shared[1]) if shared else 0, spills, sizes.get(name, 0))
    return found


def ptx(kc, arch, promises):
    """The forward entries of the kernels, with what is promised of arrays and grids."""
    with tempfile.TemporaryDirectory() as folder:
        picked = [word for kernel in KERNELS for word in ("-k", kernel)]
        command = [kc, "compile", HERE / "tiles_gpu.py", *picked, *promises, "--no-backward", "--emit", "ptx", "--arch", arch, "-o", folder, "-q"]
        subprocess.run(command, check=True)
        return (pathlib.Path(folder) / "tiles_gpu.ptx").read_text()


def held(registers):
    return -(-registers // 8) * 8


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--arch", default="sm_75,sm_80,sm_90,sm_120")
    options = parser.parse_args()
    ptxas, nvrtc = tool("KC_PTXAS", "bin/ptxas"), Nvrtc(tool("KC_NVRTC", "lib/libnvrtc.so.13"))
    text = (HERE / "tiles_gpu.cu").read_text()
    print("| kernel | GPU | registers: kc | dense | by hand | dense / by hand | held / by hand | shared bytes: kc | by hand | | instructions: kc | dense | by hand |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for arch in options.arch.split(","):
        own, dense = (assemble(ptxas, ptx(options.kc, arch, promises), arch) for promises in ([], DENSE))
        hand = assemble(ptxas, nvrtc_ptx(nvrtc, text, arch, []), arch)
        for kernel in KERNELS:
            entry = f"{kernel}_cuda_kernel_forward"
            (r, s, spilled, n), (dr, _, dspilled, dn), (hr, hs, hspilled, hn) = own[entry], dense[entry], hand[kernel]
            spills = f" ({spilled}, {dspilled} B spilled, by hand {hspilled})" if spilled or dspilled or hspilled else ""
            print(f"| {kernel} | {arch} | {r}{spills} | {dr} | {hr} | {dr / hr:.2f} | {held(dr) / held(hr):.2f} | {s} | {hs} | {s / hs:.2f} | {n} | {dn} | {hn} |")


if __name__ == "__main__":
    main()
