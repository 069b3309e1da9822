#!/usr/bin/env python3
"""How long would launches take an NVIDIA GPU at least? Counted on the simulator, without a GPU, and scaled to the sizes of benches/gpu.py.

    python3 benches/gpu_model.py [--kc target/release/kc] [--gpu H200] [--only NAME,..] [--fast-math] [--json FILE]

The kernels are those of `tests/suite/kernels.py`, `benches/kernels/tiles.py` and `benches/kernels/tiles_gpu.py` (products of 4096 x 4096). Each runs on `kc profile` in a small launch; what it asks of each part of the GPU grows with the work
(shared memory, instructions, atomics), the data (DRAM) or the queues of atomics, by the factors in the table. The figure is the part that
takes longest, so that a launch takes at least so long: parts wait for each other, the L2 cache has no part here, and ptxas makes other
instructions of PTX. *In step* is what atomics take if all warps go through a loop at one pace. Where threads take tasks in turns, two
launches say what a task takes, and what the end of a block takes; of products two lengths of the sums say what a step takes.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "kernels"
SUITE = HERE.parent.parent / "tests" / "suite" / "kernels.py"
VEC3 = {"class": "vec", "scalar": "float32", "shape": [3]}
MULTIPROCESSORS = 132
# Blocks of 256 threads that the GPU holds, and threads.
RESIDENT = MULTIPROCESSORS * 8
THREADS = RESIDENT * 256


def array(name, shape, fill="random:1", dtype="float32"):
    return {"name": name, "kind": "array", "dtype": dtype, "ndim": len(shape), "shape": shape, "fill": fill}


def value(name, number, scalar="float32"):
    return {"name": name, "kind": "value", "dtype": scalar, "value": number}


def numbers(count, most):
    rng = random.Random(7)
    return [rng.randrange(most) for _ in range(count)]


def cases():
    """By name: file, kernel, dim, threads of a block, arguments, how much more work and data, and how much longer queues, the full launch has."""
    small = 200_000
    kernels = SUITE

    def elements(name, full, *arguments):
        return name, kernels, name, [small], 256, list(arguments), full / small, full / small, RESIDENT / (small / 256)

    yield elements("saxpy", 8e7, array("x", [small]), array("y", [small]), value("a", 2.5), array("out", [small], 0))

    def in_turns(name, full, arguments):
        """Two and four tasks a thread."""
        two, four = ((name, kernels, name, [n], 256, arguments(n), 1, 1, 1) for n in (2 * THREADS, 4 * THREADS))
        return two, four, (full - 4 * THREADS) / (2 * THREADS)

    yield in_turns("reduce_atomic", 8e7, lambda n: [array("x", [n]), array("out", [1], 0)])
    bins = 256
    yield in_turns("histogram", 8e7, lambda n: [array("idx", [n], numbers(n, bins), "int32"), array("x", [n]), array("out", [bins], 0)])
    n = 2048
    bodies = [array("pos", [n], dtype=VEC3), value("n", n, "int32"), value("eps", 1e-3), array("acc", [n], 0, VEC3)]
    yield "nbody", kernels, "nbody", [n], 256, bodies, (11585 / n) ** 2, 11585 / n, 11585 / n
    n, k = 8192, 32
    neighbours = [(i // k + o - 2000) % n for i, o in enumerate(numbers(n * k, 4000))]
    density = [array("pos", [n], dtype=VEC3), array("nbr", [n, k], neighbours, "int32"), value("k", k, "int32"), value("h", 0.7), array("rho", [n], 0)]
    yield "sph_density", kernels, "sph_density", [n], 256, density, 2.4e6 / n, 2.4e6 / n, 1
    s = 128
    march = [value("w", s, "int32"), value("h", s, "int32"), array("radius", [1], 0.7), array("depth", [s, s], 0)]
    yield "sdf_march", kernels, "sdf_march", [s, s], 256, march, 8e6 / s**2, 8e6 / s**2, RESIDENT / (s**2 / 256)
    tiles, on_gpus = HERE / "tiles.py", HERE / "tiles_gpu.py"

    def product(name, source, full, tile, threads, factors="float32"):
        """Sums of two lengths, of a part of the result: what a step of them takes, and what is done once."""
        m = 128

        def of(k):
            shapes = {"a": [m, k], "b": [k, m], "c": [m, m]}
            matrices = [array(x, shape, f"random:{seed}", factors if x < "c" else "float32") for seed, (x, shape) in enumerate(shapes.items())]
            dim = [m // tile, m // tile, threads]
            return name, source, name, dim, threads, matrices, (full / m) ** 2, full / m, full / m

        return of(256), of(512), (full - 512) / 256

    yield product("gemm", tiles, 2048, 64, 256)
    yield product("gemm_large", on_gpus, 4096, 128, 256)
    yield product("gemm_half", on_gpus, 4096, 64, 128, "float16")
    rows = 16

    def of_rows(name, full, *more):
        arguments = [array("a", [rows, 1024]), *more]
        return name, tiles, name, [rows, 128], 128, arguments, full / rows, full / rows, full / rows

    yield of_rows("row_sums", 32768, array("s", [rows], 0))
    yield of_rows("softmax", 65536, array("b", [rows, 1024], 0))
    yield of_rows("layer_norm", 32768, array("g", [1024]), array("h", [1024]), array("b", [rows, 1024], 0))


def profiles(kc, case, folder, more):
    """The entries of a launch with its gradient, forward first."""
    name, source, kernel, dim, block, arguments, *_ = case
    launch = {"format": 1, "id": name, "source": str(source), "kernel": kernel, "direction": "gradient", "dim": dim, "block_dim": block, "args": arguments}
    # Outputs have gradient arrays.
    arguments[-1]["grad_fill"] = "random:9"
    path = folder / f"{name}.json"
    path.write_text(json.dumps(launch))
    done = subprocess.run([kc, "profile", path, "--json", "--registers", "32", "--no-check", "races", "--no-check", "uninitialised", *more], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[:2000]}")
    return json.loads(done.stdout)["kernels"]


def parts(profile, gpu, work, data, queue):
    """Milliseconds of each part of the GPU in the full launch."""
    found = next(times for times in profile["at_least"] if times["gpu"].startswith(gpu))
    blocks = 1
    for extent in profile["grid"]:
        blocks *= extent
    # A small launch has few multiprocessors to itself; the full one has all.
    busy = min(blocks, MULTIPROCESSORS) / MULTIPROCESSORS
    scale = {"DRAM": data, "atomics": work, "atomics on one address": queue}
    all_parts = {part["part"]: part["milliseconds"] * scale.get(part["part"], work * busy) for part in found["parts"]}
    return all_parts, found["in_step"]["milliseconds"] * queue


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--gpu", default="H200", choices=["H100", "H200"])
    parser.add_argument("--only", default="")
    parser.add_argument("--fast-math", action="store_true", help="with the hardware's approximations")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    wanted, all_found = [name for name in options.only.split(",") if name], {}
    names = ["DRAM", "shared memory", "instructions", "float32", "atomics", "atomics on one address"]
    print(f"| kernel | entry | at least ms on {options.gpu} | {' | '.join(names)} | in step | work, data, queues |\n|---|---|---|{'---|' * len(names)}---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            pair = case if isinstance(case[0], tuple) else (case,)
            name, *_, work, data, queue = pair[0]
            if wanted and name not in wanted:
                continue
            more = ["--fast-math"] if options.fast_math else []
            runs = [profiles(options.kc, one, pathlib.Path(folder), more) for one in pair[:2]]
            for n, entry in enumerate(["forward", "backward"]):
                found, in_step = parts(runs[0][n], options.gpu, work, data, queue)
                if len(pair) > 1:
                    more, in_step = parts(runs[1][n], options.gpu, work, data, queue)
                    found = {part: ms + pair[2] * (ms - found.get(part, 0.0)) for part, ms in more.items()}
                all_found[f"{name} {entry}"] = {**found, "in step": in_step}
                scale = f"{work:.0f}, {data:.0f}, {queue:.1f}"
                if len(pair) > 1:
                    scale = f"{pair[2]:.0f} times the second less the first" + (f"; {scale}" if work > 1 else "")
                cells = " | ".join(f"{found[part]:.3f}" if part in found else "" for part in names)
                print(f"| {name} | {entry} | {max(found.values()):.3f} | {cells} | {in_step:.3f} | {scale} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(all_found, indent=1))


if __name__ == "__main__":
    main()
