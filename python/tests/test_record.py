"""Launches that `kc.record` keeps run again with the `kc` command, to the same results."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import kc

N = 37


@kc.struct
class Body:
    mass: float
    force: kc.vec3
    ids: kc.array(dtype=kc.int32)


@kc.kernel
def push(body: Body, dt: float, x: kc.array(dtype=kc.vec3), rows: kc.array2d(dtype=float), twice: kc.array2d(dtype=float),
         bias: kc.array(dtype=float), turn: kc.mat22, fast: bool, seed: kc.uint64):
    i = kc.tid()
    j = body.ids[i]
    step = body.force * (dt / body.mass)
    if fast:
        step = step * 2.0
    if bias:
        step = step * bias[i]
    t = turn * kc.vec2(rows[j, 0], rows[j, 1])
    x[i] = x[i] + step * (t[0] + t[1])
    twice[i, 0] = rows[j, 2] + float(seed % kc.uint64(1000))


@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@kc.kernel
def double(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] + x[i]


@kc.kernel
def nearest(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), y: kc.array(dtype=float)):
    i = kc.tid()
    q = kc.mesh_query_point_no_sign(mesh, x[i], 10.0)
    y[i] = q.u


def again(file, *more):
    """What the command writes for a launch file."""
    out = pathlib.Path(file).parent / "out"
    command = [sys.executable, "-m", "kc", "run", str(file), "--out-dir", str(out), *more]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load(out / f"{pathlib.Path(file).parent.name}.npz")


@pytest.mark.parametrize("device", ["host", "interp"])
def test_a_launch_runs_again(tmp_path, rng, device):
    body = Body()
    body.mass, body.force, body.ids = 3.0, kc.vec3(1.0, -2.0, 0.1), rng.permutation(N).astype(np.int32)
    x = rng.normal(size=(N, 3)).astype(np.float32)
    # Every second row of a larger array, and its columns from the last to the first.
    rows = rng.normal(size=(2 * N, 3)).astype(np.float32)[::2, ::-1]
    twice = np.zeros((N, 1), np.float32)
    turn = kc.mat22(0.1, -0.3, 7.0, float(np.float32(1e-30)))
    with kc.record(tmp_path / "launches") as recorded:
        push(N, body, 0.01, x, rows, twice, None, turn, True, 2**63 + 17)
        push(N, body, 0.01, x, rows, twice, None, turn, True, 2**63 + 17)  # The same size: not again.
    assert recorded.left == {} and len(recorded.files) == 1
    once = again(recorded.files[0], "--device", device)
    push(N, body, 0.01, once["x"], rows, twice, None, turn, True, 2**63 + 17)
    assert np.array_equal(twice, once["twice"])
    again_x = once["x"].copy()
    push(N, body, 0.01, again_x, rows, twice, None, turn, True, 2**63 + 17)
    # Both launches together moved `x` as the program's two did.
    second = np.load(pathlib.Path(recorded.files[0]).parent / "inputs.npz")["x"]
    push(N, body, 0.01, second, rows, twice, None, turn, True, 2**63 + 17)
    assert np.array_equal(second, once["x"])


def test_gradients_run_again(tmp_path, rng):
    x, y = rng.normal(size=N).astype(np.float32), np.zeros(N, np.float32)
    with kc.record(tmp_path) as recorded:
        gx = square.grad(N, x, y, grads={"y": np.full(N, 0.5, np.float32)})["x"]
    # The run of the kernel, and of its derivative on what that left.
    assert [json.loads(pathlib.Path(file).read_text())["direction"] for file in recorded.files] == ["forward", "backward"]
    assert np.array_equal(again(recorded.files[1])["x.grad"], gx)


def test_one_array_twice_stays_one(tmp_path, rng):
    x = rng.normal(size=N).astype(np.float32)
    before = x.copy()
    with kc.record(tmp_path) as recorded:
        double(N, x, x)
    assert np.array_equal(again(recorded.files[0])["x"], before * 2)


def test_sizes_and_counts(tmp_path):
    x, y = np.ones(N, np.float32), np.zeros(N, np.float32)
    with kc.record(tmp_path, each=2) as recorded:
        for n in (3, 3, 3, 5, N):
            square(n, x, y)
    sizes = [json.loads(pathlib.Path(file).read_text())["dim"] for file in recorded.files]
    assert sizes == [[3], [3], [5], [N]]
    square(N, x, y)
    assert len(list(tmp_path.iterdir())) == 4


def test_what_is_not_kept_is_told(tmp_path):
    x, y = np.ones(N, np.float32), np.zeros(N, np.float32)
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    mesh = kc.Mesh(points, np.array([0, 1, 2], np.int32))
    with kc.record(tmp_path / "a", most=100) as recorded:
        square(N, x, y)
        square(3, x[:3], y[:3])
        double(3, x[0:3], x[1:4])
        nearest(3, mesh, points, y)
    assert [pathlib.Path(file).parent.name for file in recorded.files] == ["square-1"]
    assert "at most 100" in recorded.left["square"]
    assert "share memory in part" in recorded.left["double"]
    assert "mesh" in recorded.left["nearest"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["square-1"]


def test_folders_that_have_files_are_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(kc.Error, match="not empty"):
        kc.record(tmp_path).__enter__()
    with kc.record(tmp_path / "a"):
        with pytest.raises(kc.Error, match="already"):
            kc.record(tmp_path / "b").__enter__()
    assert not (tmp_path / "b").exists()
