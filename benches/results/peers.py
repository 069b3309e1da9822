#!/usr/bin/env python3
"""Registers and instructions of the same kernels by kc, Triton and Slang, as ptxas makes them for sm_90. Needs no GPU.

    .env-gpu/bin/python benches/results/peers.py KC SLANGC

SLANGC is `slangc` of the package slangtorch; Triton is that of .env-gpu, ptxas and NVRTC those of .env-test. Each language gets the
kernel as its own documents would have it: kc and Slang a thread for an element, Triton a program for 1,024. kc has dense arrays and
covering grids, which the others take for granted.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import triton  # noqa: E402
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
from cuda_sweep import Nvrtc, tool  # noqa: E402
from ptx_quality import nvrtc_ptx  # noqa: E402
from tile_quality import assemble  # noqa: E402

ARCH = "sm_90"

KC = '''
import warp as wp

@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]

@wp.func
def pull(at: wp.vec3, other: wp.vec3, mass: float, softening: float):
    d = other - at
    r2 = wp.dot(d, d) + softening * softening
    return d * (mass / (r2 * wp.sqrt(r2)))

@wp.kernel
def pulls(at: wp.array(dtype=wp.vec3), other: wp.array(dtype=wp.vec3), mass: wp.array(dtype=float), softening: float,
          force: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    force[i] = pull(at[i], other[i], mass[i], softening)

@wp.kernel
def softmax(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    row = wp.tile_load(x[i], shape=1024)
    e = wp.tile_map(wp.exp, row - wp.tile_broadcast(wp.tile_max(row), shape=1024))
    wp.tile_store(y[i], e / wp.tile_sum(e)[0])
'''

SLANG = '''
[CudaKernel]
void saxpy(float a, TensorView<float> x, TensorView<float> y)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= x.size(0)) return;
    y[i] = a * x[i] + y[i];
}

[Differentiable]
float3 pull(float3 at, float3 other, float mass, float softening)
{
    float3 d = other - at;
    float r2 = dot(d, d) + softening * softening;
    return d * (mass / (r2 * sqrt(r2)));
}

[CudaKernel]
void pulls(TensorView<float3> at, TensorView<float3> other, TensorView<float> mass, float softening, TensorView<float3> force)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= mass.size(0)) return;
    force[i] = pull(at[i], other[i], mass[i], softening);
}

[CudaKernel]
void pulls_backward(TensorView<float3> at, TensorView<float3> other, TensorView<float> mass, float softening,
                    TensorView<float3> adj_force, TensorView<float3> adj_at, TensorView<float3> adj_other, TensorView<float> adj_mass)
{
    uint i = cudaBlockIdx().x * cudaBlockDim().x + cudaThreadIdx().x;
    if (i >= mass.size(0)) return;
    var a = diffPair(at[i]);
    var o = diffPair(other[i]);
    var m = diffPair(mass[i]);
    var s = diffPair(softening);
    bwd_diff(pull)(a, o, m, s, adj_force[i]);
    adj_at[i] = adj_at[i] + a.d;
    adj_other[i] = adj_other[i] + o.d;
    adj_mass[i] = adj_mass[i] + m.d;
}
'''


@triton.jit
def saxpy(a, x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    tl.store(y + i, a * tl.load(x + i, inside) + tl.load(y + i, inside), inside)


@triton.jit
def softmax(x, y, columns, B: tl.constexpr):
    i = tl.program_id(0) * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    row = tl.load(x + i, inside, -float("inf"))
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + i, e / tl.sum(e, 0), inside)


def of_triton(ptxas):
    found = {}
    for kernel, types in [
        (saxpy, {"a": "fp32", "x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"}),
        (softmax, {"x": "*fp32", "y": "*fp32", "columns": "i32", "B": "constexpr"}),
    ]:
        source = ASTSource(kernel, signature=types, constexprs={"B": 1024})
        made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"ptx_version": 90})
        found |= assemble(ptxas, made.asm["ptx"], "sm_90a" if "sm_90a" in made.asm["ptx"] else ARCH)
    return found


def of_slang(ptxas, slangc):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "k.slang").write_text(SLANG)
        subprocess.run([slangc, path / "k.slang", "-target", "cuda", "-o", path / "k.cu"], check=True, capture_output=True)
        text = (path / "k.cu").read_text()
    nvrtc = Nvrtc(tool("KC_NVRTC", "lib/libnvrtc.so.13"))
    found = assemble(ptxas, nvrtc_ptx(nvrtc, text, ARCH, ["--device-as-default-execution-space"]), ARCH)
    # Names of C++ begin with their length.
    lengths = {name: re.match(r"_Z(\d+)", name)[1] for name in found}
    return {name[2 + len(n): 2 + len(n) + int(n)]: found[name] for name, n in lengths.items()}


def of_kc(ptxas, kc):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "k.py").write_text(KC)
        command = [kc, "compile", path / "k.py", "--emit", "ptx", "--arch", ARCH, "--layout", "contiguous", "--grid", "covering", "-q", "-o"]
        subprocess.run([*command, path / "k.ptx"], check=True)
        found = assemble(ptxas, (path / "k.ptx").read_text(), ARCH)
    short = {"_cuda_kernel_forward": "", "_cuda_kernel_backward": "_backward"}
    return {name.replace(end, to): figures for name, figures in found.items() for end, to in short.items() if name.endswith(end)}


def main():
    ptxas = tool("KC_PTXAS", "bin/ptxas")
    columns = [of_kc(ptxas, sys.argv[1]), of_triton(ptxas), of_slang(ptxas, sys.argv[2])]
    cell = lambda figures: f"{figures[0]} / {figures[3]}" if figures else ""
    print("| kernel | kc | Triton | Slang |\n|---|---|---|---|")
    for name, key in [("saxpy", "saxpy"), ("softmax of rows of 1024", "softmax"), ("pulls of pairs", "pulls"),
                      ("gradient of these", "pulls_backward")]:
        print(f"| {name} | " + " | ".join(cell(column.get(key)) for column in columns) + " |")


main()
