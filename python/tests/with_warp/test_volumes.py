"""Volumes in Warp's kernels with kc's code and without: the same values, and gradients that are right."""

import json
import os
import subprocess
import sys

import kc
import kc.warp
import numpy as np
import pytest
import warp as wp

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "volume_programs.py")


def python(*arguments, cwd):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=900, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    python(PROGRAM, "plain.npz", cwd=folder)
    python("-m", "kc", "run", "--report", "json", "--report-file", "report.json", PROGRAM, "kc.npz", cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    return dict(np.load(folder / "plain.npz")), dict(np.load(folder / "kc.npz")), report


def test_values_are_those_of_warp(runs):
    plain, accelerated, _ = runs
    assert plain.keys() == accelerated.keys() and len(plain) > 80
    for name, expected in plain.items():
        np.testing.assert_array_equal(accelerated[name], expected, err_msg=name)


def test_kc_ran_them_all(runs):
    kernels = runs[2]["kernels"]
    assert len(kernels) >= 20 and {kernel["by"] for kernel in kernels} == {"kc"}, kernels


@kc.kernel
def sampled(id: kc.uint64, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=kc.float32, ndim=2)):
    i = kc.tid()
    g = wp.vec3()
    out[i, 0] = wp.volume_sample_f(id, x[i], wp.Volume.LINEAR)
    out[i, 1] = wp.volume_sample_grad_f(id, x[i], wp.Volume.LINEAR, g)
    out[i, 2] = wp.dot(g, wp.vec3(1.0, 2.0, 3.0))
    out[i, 3] = wp.volume_sample_f(id, x[i], wp.Volume.CLOSEST)


@kc.kernel
def indexed(
    id: kc.uint64,
    x: kc.array(dtype=kc.vec3),
    data: kc.array(dtype=kc.vec3),
    background: kc.array(dtype=kc.vec3),
    out: kc.array(dtype=kc.vec3, ndim=2),
):
    i = kc.tid()
    g = wp.mat33()
    out[i, 0] = wp.volume_sample_index(id, x[i], wp.Volume.LINEAR, data, background[0])
    out[i, 1] = wp.volume_sample_grad_index(id, x[i], wp.Volume.LINEAR, data, background[0], g)
    out[i, 2] = g * wp.vec3(1.0, 2.0, 3.0)
    out[i, 3] = wp.volume_sample_index(id, x[i], wp.Volume.CLOSEST, data, background[0])


@kc.kernel
def mapped(id: kc.uint64, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=kc.vec3, ndim=2)):
    i = kc.tid()
    out[i, 0] = wp.volume_index_to_world(id, x[i])
    out[i, 1] = wp.volume_world_to_index(id, x[i])
    out[i, 2] = wp.volume_index_to_world_dir(id, x[i])
    out[i, 3] = wp.volume_world_to_index_dir(id, x[i])


def check(kernel, arguments, shape, step=2.0**-6):
    """Gradients beside differences; what is sampled is a polynomial of low degree, so that these are nearly exact."""
    rng = np.random.default_rng(3)
    seeds = rng.uniform(-1, 1, shape).astype(np.float32)

    def total(arguments):
        out = np.zeros(shape, np.float32)
        kernel(shape[0], *arguments, out)
        return float((out.astype(np.float64) * seeds).sum())

    names = ("id", "x", "data", "background")[: len(arguments)]
    found = kernel.grad(shape[0], *arguments, np.zeros(shape, np.float32), grads={"out": seeds})
    for n, name in enumerate(names):
        if name == "id":
            continue
        for at in range(min(arguments[n].size, 30)):
            ends = []
            for sign in (1, -1):
                moved = [argument.copy() if k == n else argument for k, argument in enumerate(arguments)]
                moved[n].ravel()[at] += np.float32(sign * step)
                ends.append(total(moved))
            expected = (ends[0] - ends[1]) / (2 * step)
            assert found[name].ravel()[at] == pytest.approx(expected, rel=2e-3, abs=2e-2), (name, at)


def points_in_cells(rng, count):
    """Not nearer to the side of a cell than differences go, nor to its middle."""
    return (rng.integers(-1, 8, (count, 3)) + rng.choice([0.2, 0.3, 0.65, 0.8], (count, 3))).astype(np.float32)


def test_gradients_of_samples():
    rng = np.random.default_rng(1)
    values = rng.uniform(-1, 1, (8, 8, 8)).astype(np.float32)
    volume = wp.Volume.load_from_numpy(values, bg_value=0.5, device="cpu")
    check(sampled, [volume.id, points_in_cells(rng, 40)], (40, 4))


def test_gradients_of_values_in_arrays():
    rng = np.random.default_rng(2)
    voxels = np.argwhere(rng.random((9, 9, 9)) < 0.7).astype(np.int32)
    volume = wp.Volume.allocate_by_voxels(wp.array(voxels, dtype=wp.vec3i), voxel_size=1.0, device="cpu")
    data = rng.uniform(-1, 1, (volume.get_voxel_count(), 3)).astype(np.float32)
    background = np.array([[0.5, -0.25, 2.0]], np.float32)
    check(indexed, [volume.id, points_in_cells(rng, 40), data, background], (40, 4, 3))


def test_gradients_of_maps_that_are_not_symmetric():
    tile = wp.array([[0, 0, 0]], dtype=wp.vec3i)
    transform = [[1.0, 0.5, 0], [0, 1, 0.25], [0, 0, 2]]
    volume = wp.Volume.allocate_by_tiles(tile, transform=transform, bg_value=0.0, device="cpu")
    check(mapped, [volume.id, points_in_cells(np.random.default_rng(4), 10)], (10, 4, 3))


def test_what_is_stored_is_found():
    @kc.kernel
    def exchange(id: kc.uint64, x: kc.array(dtype=float)):
        i = kc.tid()
        before = wp.volume_lookup_f(id, i, 1, 2)
        wp.volume_store_f(id, i, 1, 2, x[i])
        x[i] = before + 10.0 * wp.volume_lookup_f(id, i, 1, 2)

    volume = wp.Volume.load_from_numpy(np.ones((8, 8, 8), np.float32), bg_value=-1.0, device="cpu")
    x = np.arange(10, dtype=np.float32)
    exchange(10, volume.id, x)
    # The last two voxels are outside.
    assert x.tolist() == [1.0 + 10.0 * n for n in range(8)] + [-11.0, -11.0]

@pytest.mark.parametrize("around", [None, 1.5, 3, "vec3f", "vec4d", "int64"])
def test_volumes_without_warp_are_those_of_warp(around):
    points = np.random.default_rng(5).integers(-300, 300, (40, 3)).astype(np.int32)
    world = (points * 0.37).astype(np.float32)
    made = []
    for of in (kc.warp, wp):
        value = getattr(of, around)(2) if isinstance(around, str) else around
        for given, dtype in ((points, of.vec3i), (world, of.vec3)):
            given = of.array(given, dtype=dtype, device="cpu")
            matrix = of.mat33(0.5, 0.1, 0.0, 0.0, 0.7, 0.0, 0.2, 0.0, 0.9)
            made.append(of.Volume.allocate_by_tiles(given, bg_value=value, translation=(1, 2, 3), transform=matrix, device="cpu"))
            made.append(of.Volume.allocate_by_voxels(given, 0.25, device="cpu"))
        made.append(of.Volume.allocate((-3, 0, 1), (12, 8, 9), (0.5, 1.0, 2.0), bg_value=value, points_in_world_space=True, device="cpu"))
    for mine, its in zip(made[:5], made[5:]):
        for ask in ("get_tiles", "get_voxels"):
            rows = [np.unique(getattr(one, ask)().numpy(), axis=0) for one in (mine, its)]
            np.testing.assert_array_equal(*rows)
        infos = [one.get_grid_info() for one in (mine, its)]
        assert infos[0].type_str == infos[1].type_str and infos[0].size_in_bytes == infos[1].size_in_bytes
        np.testing.assert_allclose(np.asarray(infos[0].transform_matrix), np.array(infos[1].transform_matrix).reshape(3, 3), rtol=1e-6)
        assert mine.get_active_stats() == its.get_active_stats() and mine.is_index == its.is_index
        np.testing.assert_allclose(mine.get_voxel_size(), its.get_voxel_size(), rtol=1e-6)
