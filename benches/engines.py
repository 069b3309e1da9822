"""How long queries of meshes, trees of boxes, hash grids and volumes take, with Warp and under `kc.accelerate()`, on one core.

    PYTHONPATH=python .env-warp/bin/python benches/engines.py [--rounds 5] [--only closest]

The scene is a closed bumpy sphere of 69,936 triangles, a million points of 30 neighbours, and a volume of 128^3. A process for each of the two
runs all queries ROUNDS times, pinned to one core; printed is the least processor time, per query, and whether the results are the same bits. Builds are whole calls of the
constructors, and say something of a release build of the package only (`make python`).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import warp as wp

wp.config.quiet = True
wp.set_module_options({"enable_backward": False})


@wp.kernel
def closest(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_point_no_sign(mesh, x[i], 1.0e6)
    out[i] = wp.length(wp.mesh_eval_position(mesh, query.face, query.u, query.v) - x[i])


@wp.kernel
def signed(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_point(mesh, x[i], 1.0e6)
    out[i] = query.sign * wp.length(wp.mesh_eval_position(mesh, query.face, query.u, query.v) - x[i])


@wp.kernel
def ray(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, x[i], d[i], 1.0e6)
    out[i] = -1.0
    if query.result:
        out[i] = query.t


@wp.kernel
def any_hit(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 0.0
    if wp.mesh_query_ray_anyhit(mesh, x[i], d[i], 1.0e6):
        out[i] = 1.0


@wp.kernel
def boxes(tree: wp.uint64, x: wp.array(dtype=wp.vec3), half: float, out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.bvh_query_aabb(tree, x[i] - wp.vec3(half), x[i] + wp.vec3(half))
    box = int(0)
    count = int(0)
    while wp.bvh_query_next(query, box):
        count += 1
    out[i] = float(count)


@wp.kernel
def density(grid: wp.uint64, x: wp.array(dtype=wp.vec3), radius: float, out: wp.array(dtype=float)):
    i = wp.hash_grid_point_id(grid, wp.tid())
    p = x[i]
    total = float(0.0)
    for j in wp.hash_grid_query(grid, p, radius):
        squared = wp.length_sq(p - x[j])
        if squared < radius * radius:
            d = radius * radius - squared
            total += d * d * d
    out[i] = total


@wp.kernel
def sample(volume: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_sample_f(volume, x[i], wp.Volume.LINEAR)


def sphere(n: int = 188) -> tuple[np.ndarray, np.ndarray]:
    """A closed surface around the origin, with bumps of many sizes."""
    rng = np.random.default_rng(1)
    polar, around = np.linspace(0, np.pi, n)[1:-1], np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = [np.sin(polar)[:, None] * np.cos(around), np.sin(polar)[:, None] * np.sin(around), np.cos(polar)[:, None] * np.ones(n)]
    points = np.concatenate([[[0.0, 0.0, 1.0]], np.stack(ring, -1).reshape(-1, 3), [[0.0, 0.0, -1.0]]])
    radius = np.ones(len(points))
    for _ in range(24):
        axis, waves = rng.normal(size=3), rng.uniform(2, 14)
        radius += 0.35 / waves * np.sin(waves * (points @ (axis / np.linalg.norm(axis))) + rng.uniform(0, 6))
    row, j = np.arange(len(polar) - 1)[:, None] * n + 1, np.arange(n)
    a, b = row + j, row + (j + 1) % n
    last = len(points) - 1
    fan = np.stack([np.zeros(n, int), 1 + j, 1 + (j + 1) % n], -1)
    end = np.stack([np.full(n, last), last - n + (j + 1) % n, last - n + j], -1)
    faces = np.concatenate([fan, np.stack([a, a + n, b + n], -1).reshape(-1, 3), np.stack([a, b + n, b], -1).reshape(-1, 3), end])
    return (points * radius[:, None]).astype(np.float32), faces.astype(np.int32)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def scene() -> dict:
    rng = np.random.default_rng(7)
    points, faces = sphere()
    m = 200_000
    corners = points[faces[rng.integers(0, len(faces), m)]]
    on = (corners * rng.dirichlet((1, 1, 1), m)[:, :, None]).sum(1)
    normal = unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    side = np.linspace(-0.75, 0.75, 512)
    pixels = np.stack([*np.meshgrid(side, side), -np.ones((512, 512))], -1).reshape(-1, 3)
    away = unit(rng.normal(size=(m, 3)))
    away *= np.sign((away * normal).sum(1, keepdims=True))
    fluid = rng.uniform(0, 1, (1_000_000, 3))
    arrays = {
        "near": on + normal * rng.normal(0, 0.02, (m, 1)),
        "box": rng.uniform(-1.5, 1.5, (m, 3)),
        "camera": np.tile([0.0, 0.0, 3.0], (512 * 512, 1)),
        "pixels": unit(pixels),
        "inside": rng.uniform(-0.4, 0.4, (m, 3)),
        "any way": unit(rng.normal(size=(m, 3))),
        "surface": on + normal * 1e-3,
        "away": away,
        "fluid": fluid,
        "voxels": rng.uniform(4, 124, (1_000_000, 3)),
    }
    return {"points": points, "faces": faces} | {name: np.ascontiguousarray(x, np.float32) for name, x in arrays.items()}


def timed(work) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def run(options):
    """All rows with Warp or with kc; the file gets times and results."""
    given = scene()
    vec = {name: wp.array(x, dtype=wp.vec3, device="cpu") for name, x in given.items() if name != "faces"}
    indices = wp.array(given["faces"].flatten(), dtype=int, device="cpu")
    mesh = wp.Mesh(vec["points"], indices)
    corners = given["points"][given["faces"]]
    lowers, uppers = (wp.array(np.ascontiguousarray(x), dtype=wp.vec3, device="cpu") for x in (corners.min(1), corners.max(1)))
    tree = wp.Bvh(lowers, uppers)
    radius = (30 / (4 / 3 * np.pi * 1e6)) ** (1 / 3)
    grid = wp.HashGrid(128, 128, 128, device="cpu")
    grid.build(vec["fluid"], radius)
    field = np.random.default_rng(3).uniform(size=(128, 128, 128)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(field, device="cpu")
    rows = [
        ("closest point, near", closest, [mesh.id, vec["near"]]),
        ("closest point, in a box", closest, [mesh.id, vec["box"]]),
        ("closest point with sign, near", signed, [mesh.id, vec["near"]]),
        ("ray, camera", ray, [mesh.id, vec["camera"], vec["pixels"]]),
        ("ray, from inside", ray, [mesh.id, vec["inside"], vec["any way"]]),
        ("ray, from the surface", ray, [mesh.id, vec["surface"], vec["away"]]),
        ("any hit, from the surface", any_hit, [mesh.id, vec["surface"], vec["away"]]),
        ("boxes of triangles, half width .05", boxes, [tree.id, vec["near"], 0.05]),
        ("density, 30 neighbours", density, [grid.id, vec["fluid"], radius]),
        ("volume sample", sample, [volume.id, vec["voxels"]]),
    ]
    rows = [row for row in rows if options.only in row[0]]
    if options.side == "kc":
        import kc

        if not kc.accelerate():
            sys.exit("kc does not know this Warp")
    times, results = {}, {}
    for name, kernel, inputs in rows:
        n = inputs[1].shape[0]
        out = wp.zeros(n, dtype=float, device="cpu")

        def launch():
            wp.launch(kernel, dim=n, inputs=inputs, outputs=[out], device="cpu")

        launch()
        times[name] = [n, min(timed(launch) for _ in range(options.rounds))]
        results[name] = out.numpy()
    if options.side == "kc":
        left = [kernel for kernel in kc.report()["kernels"] if kernel["module"] == "__main__" and kernel["by"] != "kc"]
        if left:
            sys.exit(f"Warp ran {left}")
        points, own_faces = kc.array(given["points"], dtype=kc.vec3), kc.array(given["faces"].flatten(), dtype=kc.int32)
        fluid, boxes_of = kc.array(given["fluid"], dtype=kc.vec3), [kc.array(x.numpy(), dtype=kc.vec3) for x in (lowers, uppers)]
        own = kc.HashGrid(128, 128, 128)
        builds = [lambda: kc.Mesh(points, own_faces), lambda: kc.Bvh(*boxes_of), lambda: own.build(fluid, radius)]
    else:
        builds = [lambda: wp.Mesh(vec["points"], indices), lambda: wp.Bvh(lowers, uppers), lambda: grid.build(vec["fluid"], radius)]
    for name, build in zip(["mesh of 69,936 triangles", "tree of 69,936 boxes", "hash grid of 1,000,000 points"], builds):
        if options.only in "build of a " + name:
            times["build of a " + name] = [1, min(timed(build) for _ in range(options.rounds))]
    np.savez(options.to, times=json.dumps(times), **results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose names have this word")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--to", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if options.side:
        return run(options)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for side in ("warp", "kc"):
            to = pathlib.Path(folder) / f"{side}.npz"
            command = [sys.executable, __file__, "--side", side, "--to", to, "--rounds", str(options.rounds), "--only", options.only]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            found[side] = dict(np.load(to))
    theirs, ours = (json.loads(str(found[side]["times"])) for side in ("warp", "kc"))
    print("| | Warp | kc | times | results |\n|---|---|---|---|---|")
    for name, (n, seconds) in theirs.items():
        unit, scale = ("ns", 1e9) if n > 1 else ("ms", 1e3)
        warp, own = (x / n * scale for x in (seconds, ours[name][1]))
        same = ""
        if name in found["warp"]:
            a, b = found["warp"][name], found["kc"][name]
            differ = int((a != b).sum())
            same = "equal" if differ == 0 else f"{differ} of {n} differ, by {np.abs(a - b).max():.1e} at most"
        print(f"| {name} | {warp:,.0f} {unit} | {own:,.0f} {unit} | {warp / own:.2f} | {same} |")


if __name__ == "__main__":
    main()
