#!/usr/bin/env python3
"""How long do kc's own launches take on a GPU, as programs in Python make them?

    python benches/gpu_launches.py --suite FOLDER [--kernels NAME,..] [--reps 20]
    python benches/gpu_launches.py --overhead [--without LIBCUDA]

Needs the package (`make wheel`, then `pip install out/wheels/*.whl`) and a GPU. FOLDER is that of `benches/gpu.py`, whose sizes are taken
(KB_SCALE times those of the host's benchmark, 8 if it is not set). `benches/gpu.py` launches entries with a thread for each task; kc lets
threads take tasks in turns where they sum, and gives blocks copies of what they add to. A launch, and `kernel.grad`, which runs forward
code too, are captured in graphs, and replays are timed by events: the least and the median of `--reps`. Results of the first launch are set beside those of the host, as the
relative norm of the difference. `--overhead` times what calls from Python cost the processor. With `--without`, the path of a driver (the
simulated one is `python/kc/libkc_gpu.so`), its own time is left out: `quiet_driver.c` does nothing in its place.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("KB_SCALE", "8")

import numpy as np

import kc

HERE = pathlib.Path(__file__).resolve().parent

# The kernels of numbers of several components: how many dimensions of an array are theirs.
TRAILING = {
    "vec3_norm_dot": dict(a=1, b=1), "mat33_inv_mul": dict(a=2, b=2, out=2), "nbody": dict(pos=1, acc=1),
    "sph_density": dict(pos=1), "noise2d": dict(p=1), "springs": dict(x=1, v=1, f=1),
}
# Elements of an array by shape and type of numbers.
ELEMENTS = {(2,): kc.vec2, (3,): kc.vec3, (3, 3): kc.mat33}


def loaded(path):
    made = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def program(path, folder):
    """The kernels of a file that imports Warp, with kc's Warp in its place."""
    text = path.read_text().replace("import warp as wp", "import kc.warp as wp")
    there = pathlib.Path(folder) / f"launched_{path.name}"
    there.write_text(text)
    return loaded(there)


def of_the_suite(options):
    """Names, kernels, and what makes arguments."""
    if not options.suite:
        return
    sys.path.insert(0, str(options.suite / "gpu_kit"))
    import spec as described
    kernels = program(options.suite / "gpu_kit" / "kernels.py", options.scratch)
    for name in described.NAMES:
        yield name, getattr(kernels, name), functools.partial(described.make, name)


def of_tiles(options):
    """The same of `kernels/tiles.py`."""
    kernels = program(HERE / "kernels" / "tiles.py", options.scratch)
    scale = float(os.environ["KB_SCALE"]) / 8
    rng = np.random.default_rng(3)
    some = lambda *shape: ("in", rng.random(shape, dtype=np.float32) - np.float32(0.5))
    out = lambda *shape: ("out", np.zeros(shape, np.float32))
    n, rows = max(int(2048 * scale**0.5) // 64, 1) * 64, max(int(32768 * scale), 2)
    yield "gemm", kernels.gemm, lambda: case((n // 64, n // 64, 256), a=some(n, n), b=some(n, n), c=out(n, n))
    yield "row_sums", kernels.row_sums, lambda: case((rows, 128), a=some(rows, 1024), s=out(rows))
    yield "softmax", kernels.softmax, lambda: case((2 * rows, 128), a=some(2 * rows, 1024), b=out(2 * rows, 1024))
    line = lambda: {"a": some(rows, 1024), "g": some(1024), "h": some(1024), "b": out(rows, 1024)}
    yield "layer_norm", kernels.layer_norm, lambda: case((rows, 128), **line())


def case(dim, **args):
    return {"dim": dim, "args": args, "diff": list(args), "blocks": {"block_dim": dim[-1]}}


def array(values, trailing, device, needed):
    if trailing == 0:
        dtype = {"f": float, "i": int}[values.dtype.kind]
    else:
        shape = values.shape[values.ndim - trailing:]
        dtype = ELEMENTS[shape] if values.dtype.kind == "f" else kc.vec2i
    return kc.array(np.ascontiguousarray(values), dtype=dtype, device=device, requires_grad=needed)


def arguments(spec, name, device):
    made = {}
    for key, value in spec["args"].items():
        if value[0] == "s":
            made[key] = value[1]
        else:
            made[key] = array(value[1], TRAILING.get(name, {}).get(key, 0), device, key in spec["diff"])
    return made


def run_once(kernel, spec, name, device, grad_out):
    """The launch's result, and the gradients."""
    args, out = arguments(spec, name, device), outcome(spec)
    kernel(spec["dim"], *args.values(), **spec.get("blocks", {}))
    found = {out: args[out].numpy().astype(np.float64)}
    if spec.get("bwd", True) and out in spec["diff"]:
        args[out].grad.assign(grad_out)
        kernel.grad(spec["dim"], *args.values(), parameters=False, **spec.get("blocks", {}))
        found.update({f"d {key}": args[key].grad.numpy().astype(np.float64) for key in spec["diff"] if key != out})
    return found, args


def outcome(spec):
    return [key for key, value in spec["args"].items() if value[0] == "out"][-1]


def timed(run, reps, before):
    start, end, times = kc.Event(), kc.Event(), []
    for n in range(reps + 2):
        before()
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed(end))
    return min(times[2:]), statistics.median(times[2:])


def suite(options):
    print("| kernel | | median ms | least ms | beside the host |\n|---|---|---|---|---|")
    wanted = [name for name in options.kernels.split(",") if name]
    for name, kernel, make in [*of_the_suite(options), *of_tiles(options)]:
        if wanted and name not in wanted:
            continue
        spec = make()
        blocks, out = spec.get("blocks", {}), outcome(spec)
        shape = spec["args"][out][1].shape
        grad_out = np.random.default_rng(1).random(shape, dtype=np.float32) if spec.get("bwd", True) else None
        there, args = run_once(kernel, spec, name, "cuda", grad_out)
        errors = {}
        if options.check:
            here, _ = run_once(kernel, spec, name, "cpu", grad_out)
            errors = {key: np.linalg.norm(there[key] - here[key]) / max(np.linalg.norm(here[key]), 1e-30) for key in here}
        if len(there) > 1:
            seed = kc.array(grad_out, dtype=args[out].dtype, device="cuda")
            refill = lambda: args[out].grad.assign(seed)
        for way in ["forward", "backward"] if len(there) > 1 else ["forward"]:
            if way == "forward":
                run = lambda: kernel(spec["dim"], *args.values(), **blocks)
            else:
                run = lambda: kernel.grad(spec["dim"], *args.values(), parameters=False, **blocks)
            graph, note = kc.Graph(), ""
            try:
                with graph:
                    run()
                run = graph.replay
            except kc.DeviceError:
                note = "not captured"
            # A gradient takes that of the output away, and does less where there is none.
            least, median = timed(run, options.reps, refill if way == "backward" else lambda: None)
            of = [f"{key} {error:.1e}" for key, error in errors.items() if (key == out) == (way == "forward")]
            print(f"| {name} | {way} | {median:.4f} | {least:.4f} | {', '.join([*of, *[note] * bool(note)])} |", flush=True)
            del graph, run
        del args


@kc.kernel
def multiply_add(x: kc.array(dtype=float), y: kc.array(dtype=float), out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = x[i] * y[i] + out[i]


def quiet_driver(path):
    """Loads a driver with `quiet_driver.c` before it, by whose name it goes."""
    folder = pathlib.Path(tempfile.mkdtemp())
    # The linker tells libraries apart by the names in them.
    (folder / "libkcsim.so").write_bytes(pathlib.Path(path).read_bytes().replace(b"libcuda.so.1\0", b"libkcsim.so\0\0"))
    made = folder / "libcuda.so.1"
    source = HERE / "quiet_driver.c"
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", "-o", made, source, "-Wl,-soname,libcuda.so.1", "-Wl,--no-as-needed", folder / "libkcsim.so"],
        check=True, env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
    )
    ctypes.CDLL(str(folder / "libkcsim.so"), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)


def overhead(without):
    driver = without and quiet_driver(without)
    x, y, out = (kc.ones(1000, device="cuda", requires_grad=True) for _ in range(3))
    gradient = lambda: multiply_add.grad(1000, x, y, out, parameters=False)
    print("| call from Python | us, least of 10 rounds of 500 |\n|---|---|")
    for words, call in [("launch of 1,000 threads", lambda: multiply_add(1000, x, y, out)), ("its gradient", gradient)]:
        best = float("inf")
        for _ in range(10):
            for _ in range(2):
                call()
            kc.devices()[0].synchronize()
            before = driver and (driver.quiet(1), driver.calls())[1]
            start = time.perf_counter()
            for _ in range(500):
                call()
            best = min(best, (time.perf_counter() - start) / 500)
            if driver:
                count = (driver.calls() - before) / 500
                driver.quiet(0)
        print(f"| {words} | {best * 1e6:.2f} |" + (f" {count:g} calls of the driver" if driver else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=pathlib.Path)
    parser.add_argument("--kernels", default="")
    parser.add_argument("--reps", type=int, default=20)
    parser.add_argument("--check", action="store_true", help="set results beside the host's")
    parser.add_argument("--scratch", default="/tmp", help="a folder for a copy of the kernels")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--without", help="the driver whose time does not count")
    options = parser.parse_args()
    if options.overhead:
        overhead(options.without)
    else:
        suite(options)


if __name__ == "__main__":
    main()
