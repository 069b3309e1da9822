#!/usr/bin/env python3
"""How fast is kc's PTX on a GPU? Beside CUDA C++ by hand and what Warp generates, on the NVIDIA GPU of this machine.

    python3 benches/gpu.py --suite FOLDER [--kc target/release/kc] [--only suite|tiles] [--out FOLDER]

Needs numpy, the driver, and nvcc for what is written by hand. FOLDER holds `kernels.py` and `gpu_kit/`, whose `bench_gpu.py` times
sets of kernels of one form: `hand`, `warp` if it was made there, and here those that kc compiles (`kc`, PTX for dense arrays; `kc_strided`,
for any; `kc_text`, the CUDA text through nvcc). The tiles are those of `benches/tile_quality.py`; the product of matrices is also timed as PyTorch does it, where that is
installed. Times are medians of launches, by events.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent / "kernels"

# PTX by what the user promises of arrays, and the CUDA text.
PTX = {"kc": ["--layout", "contiguous"], "kc_strided": ["--layout", "strided"]}
TEXT = "kc_text"

F32 = np.float32


def compiled(kc, source, options, arch, folder):
    command = [kc, "compile", source, "--emit", "ptx", "--arch", arch, "--grid", "covering", *options, "-o", folder, "-q"]
    subprocess.run(command, check=True)
    return folder / f"{pathlib.Path(source).stem}.ptx"


def descriptor(data, grad, array, trailing=0):
    """Array argument, 56 bytes: data, gradient, extents, strides in bytes, rank, flags."""
    rank = array.ndim - trailing
    numbers = [*array.shape[:rank], *[0] * (4 - rank), *array.strides[:rank], *[0] * (4 - rank), rank, 0]
    return np.array([data, grad], "<u8").tobytes() + np.array(numbers, "<i4").tobytes()


def bounds(dims):
    """The launch: four extents and their product."""
    return np.array([*dims, *[1] * (4 - len(dims))], "<u4").tobytes() + np.array(np.prod(dims), "<u8").tobytes()


def teach(bench):
    """Arguments of kc's entries are another kind of argument of the suite's descriptions of launches."""
    known = bench.pack

    def pack(argument, name, spec, pointer, gradient):
        if argument == "kc:bounds":
            return bounds(spec["dim"] if isinstance(spec["dim"], tuple) else (spec["dim"],))
        if argument.startswith("kc:"):
            array = argument[3:]
            return descriptor(pointer(array), gradient(array), spec["args"][array][1], bench.TRAIL.get(name, {}).get(array, 0))
        if argument.startswith("kc0:"):
            return descriptor(0, 0, np.zeros((0,) * (spec["args"][argument[4:]][1].ndim), F32), bench.TRAIL.get(name, {}).get(argument[4:], 0))
        return known(argument, name, spec, pointer, gradient)

    bench.pack = pack
    refill_before_each_run(bench.Driver)


def refill_before_each_run(driver):
    """A gradient takes that of the output away, and does less where there is none: before each run that is timed, what was copied to the
    GPU just before the first one is copied there again."""
    up, launch, time, kept = driver.up, driver.launch, driver.time, {}

    def copied(self, pointer, array):
        up(self, pointer, array)
        kept.setdefault("next", {})[pointer] = array

    def launched(self, *arguments, **options):
        launch(self, *arguments, **options)
        if "next" in kept:
            kept["now"] = kept.pop("next")

    def timed(self, run, reps):
        found = []
        for _ in range(reps):
            for pointer, array in kept.get("now", {}).items():
                up(self, pointer, array)
            found += one(self, run)
        return found

    def one(self, run):
        """As the suite times, without its launches to warm up but before the first."""
        self("cuEventRecord", self.e0, None)
        run()
        self("cuEventRecord", self.e1, None)
        self("cuEventSynchronize", self.e1)
        value = ctypes.c_float()
        self("cuEventElapsedTime", ctypes.byref(value), self.e0, self.e1)
        return [value.value]

    driver.up, driver.launch, driver.time = copied, launched, timed


def launches(spec_module):
    """The suite's launches of kc's entries: arguments, and for a gradient one adjoint for each."""
    found = {}
    for name in spec_module.NAMES:
        spec = spec_module.make(name)
        forward, adjoints = ["kc:bounds"], []
        for argument, value in spec["args"].items():
            number = value[0] == "s"
            forward.append(argument if number else f"kc:{argument}")
            adjoints.append(("f32=0" if value[2] is F32 else "i32=0") if number else f"kc0:{argument}")
        found[name] = {"fwd": {"entry": f"{name}_cuda_kernel_forward", "args": forward}}
        if spec.get("bwd", True):
            found[name]["bwd"] = {"entry": f"{name}_cuda_kernel_backward", "args": forward + adjoints}
    return found


def suite(options, arch):
    with tempfile.TemporaryDirectory() as folder:
        kit = pathlib.Path(folder) / "kit"
        shutil.copytree(pathlib.Path(options.suite) / "gpu_kit", kit)
        sys.path.insert(0, str(kit))
        scale = os.environ.get("KB_SCALE")
        os.environ["KB_SCALE"] = "0.001"
        import spec as small
        described = launches(small)
        os.environ["KB_SCALE"] = scale or "8"
        small.SCALE = float(os.environ["KB_SCALE"])
        import bench_gpu as bench
        teach(bench)
        (kit / TEXT).mkdir()
        subprocess.run([options.kc, "compile", kit / "kernels.py", "--emit", "cuda", "-o", kit / TEXT, "-q"], check=True)
        launch = {"tool": TEXT, "source": "kernels.cu", "nvcc": ["-O3", f"-arch={arch}"], "kernels": described}
        (kit / TEXT / "launch.json").write_text(json.dumps(launch))
        for name, promises in PTX.items():
            (kit / name).mkdir(exist_ok=True)
            compiled(options.kc, kit / "kernels.py", promises, arch, kit / name)
            launch = {"tool": name, "image": "kernels.ptx", "kernels": described}
            (kit / name / "launch.json").write_text(json.dumps(launch))
        sets = options.sets.split(",") if options.sets else ["hand", *(["warp"] if (kit / "warp").exists() else []), *PTX, TEXT]
        sys.argv = ["bench_gpu.py", "--sets", ",".join(sets), "--peers", "", "--reps", str(options.reps), "--out", options.out]
        if options.kernels:
            sys.argv += ["--kernels", options.kernels]
        if options.check:
            sys.argv.append("--check")
        bench.HERE = str(kit)
        bench.main()


def tile_cases():
    """By kernel: its arrays, the last one comes out; blocks; threads of a block to try; numbers that the kernel by hand takes, None without
    one; what comes out. The product by hand is for 256 threads."""
    rng = np.random.default_rng(3)
    some = lambda *shape: rng.random(shape, dtype=F32) - F32(0.5)
    n, rows, keys, matrices = 4096, 65536, 4096, 32768
    a, b = some(n, n), some(n, n)
    yield "gemm", {"a": a, "b": b, "c": np.zeros((n, n), F32)}, (n // 64, n // 64), [128, 256], [n, n], lambda: a @ b
    yield "gemm_large", {"a": a, "b": b, "c": np.zeros((n, n), F32)}, (n // 128, n // 128), [128, 256], None, lambda: a @ b
    half = {"a": a.astype(np.float16), "b": b.astype(np.float16)}
    product = lambda: half["a"].astype(F32) @ half["b"].astype(F32)
    yield "gemm_half", {**half, "c": np.zeros((n, n), F32)}, (n // 64, n // 64), [128, 256], None, product
    row = some(rows, 1024)

    def softmax():
        parts = np.exp(row - row.max(1, keepdims=True))
        return parts / parts.sum(1, keepdims=True)

    yield "softmax", {"a": row, "b": np.zeros_like(row)}, (rows,), [128, 256], [], softmax
    q, k, v = some(keys, 64), some(keys, 64), some(keys, 64)

    def attention():
        scores = q @ k.T * F32(0.125)
        parts = np.exp(scores - scores.max(1, keepdims=True))
        return parts @ v / parts.sum(1, keepdims=True)

    yield "attention", {"q": q, "k": k, "v": v, "o": np.zeros_like(q)}, (keys,), [64, 128, 256], [keys], attention
    root = some(matrices, 32, 32)
    positive = root @ root.transpose(0, 2, 1) + 2 * np.eye(32, dtype=F32)
    yield "cholesky", {"a": positive, "l": np.zeros_like(positive)}, (matrices,), [32, 64, 128], [], lambda: np.linalg.cholesky(positive)


def tiles(options, arch):
    sys.path.insert(0, str(pathlib.Path(options.suite) / "gpu_kit"))
    import bench_gpu as bench

    driver = bench.Driver()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ptx = compiled(options.kc, HERE / "tiles_gpu.py", ["--no-backward"], arch, folder).read_bytes()
        cubin = folder / "hand.cubin"
        subprocess.run([os.environ.get("NVCC", "nvcc"), "-O3", f"-arch={arch}", "-cubin", HERE / "tiles_gpu.cu", "-o", cubin], check=True)
        own, _ = driver.module(ptx)
        hand, _ = driver.module(cubin.read_bytes())
    print("| kernel | whose | threads | ms | registers | shared bytes | error |\n|---|---|---|---|---|---|---|")
    for name, arrays, blocks, threads, numbers, wanted in tile_cases():
        *_, out = arrays
        wanted = wanted().astype(np.float64)
        at = {array: driver.alloc(value.nbytes) for array, value in arrays.items()}
        for array, value in arrays.items():
            driver.up(at[array], np.ascontiguousarray(value))
        arguments = [descriptor(at[array], 0, value) for array, value in arrays.items()]
        ways = [("kc", own, f"{name}_cuda_kernel_forward", (int(np.prod(blocks)), 1, 1), [bounds(blocks), *arguments])]
        if numbers is not None:
            pointers = [np.array(at[array], "<u8").tobytes() for array in arrays]
            grid = (*reversed(blocks), 1, 1)[:3]
            ways.append(("by hand", hand, name, grid, pointers + [np.array(number, "<i4").tobytes() for number in numbers]))
        for whose, module, entry, grid, parameters in ways:
            for block in threads[-1:] if (name, whose) == ("gemm", "by hand") else threads:
                function, facts = driver.func(module, entry)
                driver.zero(at[out], arrays[out].nbytes)
                launch = lambda: driver.launch(function, grid, block, parameters)
                launch()
                driver.sync()
                got = driver.down(at[out], arrays[out]).astype(np.float64)
                error = np.linalg.norm(got - wanted) / np.linalg.norm(wanted)
                median = statistics.median(driver.time(launch, options.reps))
                print(f"| {name} | {whose} | {block} | {median:.4f} | {facts['regs']} | {facts['shared_bytes']} | {error:.1e} |", flush=True)
        if name.startswith("gemm"):
            torch_product(options, name, arrays)
        for pointer in at.values():
            driver("cuMemFree_v2", bench.C.c_uint64(pointer))


def torch_product(options, name, arrays):
    try:
        import torch
    except ImportError:
        return
    a, b = (torch.from_numpy(arrays[array]).cuda() for array in "ab")
    times = []
    for n in range(options.reps + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        a @ b
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    print(f"| {name} | PyTorch | | {statistics.median(times[3:]):.4f} | | | |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", required=True)
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--only", choices=["suite", "tiles"])
    parser.add_argument("--kernels", help="of the suite, with commas between")
    parser.add_argument("--sets", default="", help="of kernels: hand, warp, kc, kc_strided, kc_text, with commas between")
    parser.add_argument("--reps", type=int, default=20)
    parser.add_argument("--out", default=".")
    parser.add_argument("--check", action="store_true", help="no GPU: the suite's launches fit the parameters of the PTX")
    options = parser.parse_args()
    options.kc = str(pathlib.Path(options.kc).resolve())
    if options.only != "suite" and not options.check:
        tiles(options, options.arch)
    if options.only != "tiles":
        suite(options, options.arch)


if __name__ == "__main__":
    main()
