#!/usr/bin/env python3
"""Registers, shared memory and instructions of kernels with tiles as kc writes them, beside CUDA C++ by hand.

    python3 benches/tile_quality.py [--kc target/release/kc] [--arch sm_75,sm_80,sm_90,sm_120]

The kernels are `kernels/tiles_gpu.py` and `kernels/tiles_gpu.cu`. NVRTC compiles the text by hand and ptxas assembles both; they are
found as the tests find them (`benches/ptx_quality.py`).
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--arch", default="sm_75,sm_80,sm_90,sm_120")
    options = parser.parse_args()
    ptxas, nvrtc = tool("KC_PTXAS", "bin/ptxas"), Nvrtc(tool("KC_NVRTC", "lib/libnvrtc.so.13"))
    text = (HERE / "tiles_gpu.cu").read_text()
    print("| kernel | GPU | registers: kc | by hand | | shared bytes: kc | by hand | | instructions: kc | by hand |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for arch in options.arch.split(","):
        with tempfile.TemporaryDirectory() as folder:
            picked = [word for kernel in KERNELS for word in ("-k", kernel)]
            command = [options.kc, "compile", HERE / "tiles_gpu.py", *picked, "--no-backward", "--emit", "ptx", "--arch", arch, "-o", folder, "-q"]
            subprocess.run(command, check=True)
            own = assemble(ptxas, (pathlib.Path(folder) / "tiles_gpu.ptx").read_text(), arch)
        hand = assemble(ptxas, nvrtc_ptx(nvrtc, text, arch, []), arch)
        for kernel in KERNELS:
            (r, s, spilled, n), (hr, hs, hspilled, hn) = own[f"{kernel}_cuda_kernel_forward"], hand[kernel]
            spills = f" ({spilled} B spilled, by hand {hspilled})" if spilled or hspilled else ""
            print(f"| {kernel} | {arch} | {r}{spills} | {hr} | {r / hr:.2f} | {s} | {hs} | {s / hs:.2f} | {n} | {hn} |")


if __name__ == "__main__":
    main()
