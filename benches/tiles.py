"""How fast are tiles on one core of the host? kc beside Warp's CPU back end, and for the product of matrices beside numpy's BLAS.

    benches/tiles.py [--kc target/release/kc] [--warp PYTHON] [--repeats 9] [--gradient]

Prints the least processor time of each in milliseconds; with `--gradient` that of the backward entries. The time is that of the compiled kernels: how kc itself was built does not matter.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import tempfile
import time

# One core for all; numpy looks when it is imported.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels", "tiles.py")
ROWS, COLUMNS, SIDE = 4096, 1024, 512
# The blocks, and by array its shape; the last one is what comes out. Arrays of the transforms have
# pairs.
CASES = {
    "gemm": ([SIDE // 64, SIDE // 64], {"a": (SIDE, SIDE), "b": (SIDE, SIDE), "c": (SIDE, SIDE)}),
    "row_sums": ([ROWS], {"a": (ROWS, COLUMNS), "s": (ROWS,)}),
    "softmax": ([ROWS], {"a": (ROWS, COLUMNS), "b": (ROWS, COLUMNS)}),
    "layer_norm": ([ROWS], {"a": (ROWS, COLUMNS), "g": (COLUMNS,), "h": (COLUMNS,), "b": (ROWS, COLUMNS)}),
    "fft": ([512], {"a": (512, 512, 2), "b": (512, 512, 2)}),
    "fft_of_8_lines": ([256], {"a": (2048, 64, 2), "b": (2048, 64, 2)}),
    "fft_float64": ([128], {"a": (128, 1024, 2), "b": (128, 1024, 2)}),
    "fft_of_1000": ([16], {"a": (16, 1000, 2), "b": (16, 1000, 2)}),
    **{f"systems_of_{n}": ([count], {"a": (count, n, n), "b": (count, n), "x": (count, n)}) for n, count in [(6, 4096), (16, 1024), (32, 512)]},
}


def is_transform(kernel):
    return kernel.startswith("fft")


def dtype(kernel):
    return np.float64 if kernel == "fft_float64" else np.float32


def arrays(kernel):
    rng, shapes = np.random.default_rng(1), CASES[kernel][1]
    *given, out = shapes
    return {name: rng.random(shapes[name], dtype=dtype(kernel)) for name in given} | {out: np.zeros(shapes[out], dtype(kernel))}


def least(run, repeats):
    times = []
    run()
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def of_kc(options, kernel):
    dim, shapes = CASES[kernel]
    parts = 1 if is_transform(kernel) else 0
    element = {"class": ["scalar", "vec"][parts], "scalar": dtype(kernel).__name__, "shape": [2] * parts}

    def argument(name, shape):
        extents = shape[: len(shape) - parts]
        return {"name": name, "kind": "array", "dtype": element, "ndim": len(extents), "shape": extents, "data": name}

    args = [argument(name, shape) for name, shape in shapes.items()]
    with tempfile.TemporaryDirectory() as folder:
        np.savez(os.path.join(folder, "inputs.npz"), **arrays(kernel))
        path = os.path.join(folder, "case.json")
        with open(path, "w") as file:
            json.dump({"format": 1, "id": kernel, "source": KERNELS, "kernel": kernel, "direction": "forward", "dim": dim, "args": args}, file)
        command = [options.kc, "bench", path, "--json", "--threads", "1", "--repeats", str(options.repeats)]
        command += ["--gradient"] if options.gradient else []
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    entry = "backward" if options.gradient else "forward"
    return next(min(found["cpu"]) * 1e3 for found in map(json.loads, output.splitlines()) if found["phase"] == entry)


def warp_times(repeats, gradient):
    import warp as wp
    wp.config.quiet = True
    spec = importlib.util.spec_from_file_location("tiles", KERNELS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    elements = {np.float32: [wp.float32, wp.vec2f], np.float64: [wp.float64, wp.vec2d]}
    for kernel, (dim, _) in CASES.items():
        element = elements[dtype(kernel)][is_transform(kernel)]
        given = [wp.array(array, dtype=element, device="cpu", requires_grad=gradient) for array in arrays(kernel).values()]
        adjoints = {"adj_inputs": [array.grad for array in given], "adjoint": True} if gradient else {}
        if gradient:
            given[-1].grad.fill_(1.0)
        run = lambda: wp.launch_tiled(getattr(module, kernel), dim=dim, inputs=given, block_dim=64, device="cpu", **adjoints)
        print(json.dumps({kernel: least(run, repeats)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--warp", help="a Python that has warp-lang and numpy")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--gradient", action="store_true", help="the backward entries")
    parser.add_argument("--as-warp", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_warp:
        return warp_times(options.repeats, options.gradient)
    warp = {}
    if options.warp:
        command = [options.warp, os.path.abspath(__file__), "--as-warp", "--repeats", str(options.repeats), *["--gradient"][: options.gradient]]
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
            warp |= json.loads(line) if line.startswith("{") else {}
    found = {kernel: of_kc(options, kernel) for kernel in CASES}
    print("| kernel | Warp | kc | Warp / kc | |\n|---|---|---|---|---|")
    flops, bytes_read = 2 * SIDE**3, 4 * ROWS * COLUMNS
    for kernel, own in found.items():
        if is_transform(kernel):
            lines, n, _ = CASES[kernel][1]["a"]
            rate = f"{own / lines * 1e3:.2f} us a line of {n}"
        elif kernel.startswith("systems"):
            rate = f"{own / CASES[kernel][0][0] * 1e3:.2f} us a system"
        else:
            rate = f"{flops * (1 + options.gradient) / own / 1e6:.0f} GFLOP/s" if kernel == "gemm" else f"{bytes_read / own / 1e6:.1f} GB/s read"
        other = warp.get(kernel)
        print(f"| {kernel} | {other:.2f} | {own:.2f} | {other / own:.1f} | {rate} |" if other else f"| {kernel} | | {own:.2f} | | {rate} |")
    if options.gradient:
        return
    a, b, _ = arrays("gemm").values()
    blas = least(lambda: a @ b, options.repeats)
    print(f"\nnumpy's product of the same matrices takes {blas:.2f} ms: {blas / found['gemm']:.2f} of kc's time.")


if __name__ == "__main__":
    main()
