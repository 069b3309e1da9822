"""What launches say of ids that are of something else, and of meshes, trees and grids that are out of date."""

import subprocess
import sys
import textwrap
import warnings

import kc
import numpy as np
import pytest

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.float32)
FACE = np.array([0, 1, 2], np.int32)


@kc.kernel
def move(points: kc.array(dtype=kc.vec3), by: kc.vec3):
    i = kc.tid()
    points[i] += by


@kc.kernel
def distance(mesh: kc.uint64, out: kc.array(dtype=float)):
    q = kc.mesh_query_point_no_sign(mesh, kc.vec3(), 1.0e6)
    out[0] = kc.length(kc.mesh_eval_position(mesh, q.face, q.u, q.v))


@kc.kernel
def corner(mesh: kc.uint64, out: kc.array(dtype=float)):
    out[0] = kc.mesh_get_point(mesh, 0)[0]


@kc.kernel
def boxes(tree: kc.uint64, out: kc.array(dtype=float)):
    for i in kc.bvh_query_aabb(tree, kc.vec3(-1.0), kc.vec3(1.0)):
        out[0] += 1.0


@kc.kernel
def neighbours(grid: kc.uint64, out: kc.array(dtype=float)):
    for i in kc.hash_grid_query(grid, kc.vec3(), 0.5):
        out[0] += 1.0


@kc.kernel
def maybe(mesh: kc.uint64, out: kc.array(dtype=float)):
    if mesh != kc.uint64(0):
        out[0] = kc.mesh_get_point(mesh, 0)[0]


def fresh(kernel):
    """The kernel as if it had never been launched: each warns once."""
    return kc.kernel(kernel.__wrapped__)


def stale(launch):
    """The warnings W1128 of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        launch()
    return [str(one.message) for one in caught if getattr(one.message, "code", "") == "W1128"]


def test_a_search_after_a_write_without_refit_is_told_with_both_lines():
    points, out = kc.array(TRIANGLE.copy(), dtype=kc.vec3), np.zeros(1, np.float32)
    mesh, search = kc.Mesh(points, FACE), fresh(distance)
    assert not stale(lambda: search(1, mesh, out))
    move(3, points, (5.0, 0.0, 0.0))
    told = stale(lambda: search(1, mesh, out))
    assert len(told) == 1
    wrote = move.__wrapped__.__code__.co_firstlineno + 3
    asked = distance.__wrapped__.__code__.co_firstlineno + 2
    assert f"`move` wrote them at test_engine_checks.py:{wrote}" in told[0], told[0]
    assert f"test_engine_checks.py:{asked}:" in told[0] and "call `refit`" in told[0], told[0]
    assert not stale(lambda: search(1, mesh, out)), "each kernel warns once"
    again = fresh(distance)
    mesh.refit()
    assert not stale(lambda: again(1, mesh, out))
    assert out[0] == 5.0


def test_a_gradient_tells_it_too():
    @kc.kernel
    def height(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=float)):
        q = kc.mesh_query_point_no_sign(mesh, x[0], 1.0e6)
        out[0] = kc.mesh_eval_position(mesh, q.face, q.u, q.v)[2]

    points, x, out = kc.array(TRIANGLE.copy(), dtype=kc.vec3), np.ones((1, 3), np.float32), np.zeros(1, np.float32)
    mesh = kc.Mesh(points, FACE)
    move(3, points, (5.0, 0.0, 0.0))
    assert len(stale(lambda: height.grad(1, mesh, x, out, grads={"out": 1.0}))) == 1


def test_what_is_no_search_may_read_points_that_moved():
    points, out = kc.array(TRIANGLE.copy(), dtype=kc.vec3), np.zeros(1, np.float32)
    mesh, read = kc.Mesh(points, FACE), fresh(corner)
    move(3, points, (5.0, 0.0, 0.0))
    assert not stale(lambda: read(1, mesh, out))
    assert out[0] == 5.0


def test_trees_and_grids_are_followed_too():
    out = np.zeros(1, np.float32)
    lowers, uppers = kc.array(TRIANGLE.copy(), dtype=kc.vec3), kc.array(TRIANGLE + 1, dtype=kc.vec3)
    tree, search = kc.Bvh(lowers, uppers), fresh(boxes)
    move(3, uppers, (1.0, 0.0, 0.0))
    assert len(stale(lambda: search(1, tree, out))) == 1
    points = kc.array(TRIANGLE.copy(), dtype=kc.vec3)
    grid, search = kc.HashGrid(8, 8, 8), fresh(neighbours)
    grid.build(points, 0.5)
    move(3, points, (1.0, 0.0, 0.0))
    told = stale(lambda: search(1, grid, out))
    assert len(told) == 1 and "call `build`" in told[0]
    search = fresh(neighbours)
    grid.build(points, 0.5)
    assert not stale(lambda: search(1, grid, out))


def test_writes_to_other_arrays_say_nothing():
    points, other, out = kc.array(TRIANGLE.copy(), dtype=kc.vec3), kc.array(TRIANGLE.copy(), dtype=kc.vec3), np.zeros(1, np.float32)
    mesh, search = kc.Mesh(points, FACE), fresh(distance)
    move(3, other, (5.0, 0.0, 0.0))
    assert not stale(lambda: search(1, mesh, out))


def test_gradients_and_tapes_of_meshes_that_follow_say_nothing():
    points, out = kc.array(TRIANGLE + 1, dtype=kc.vec3), np.zeros(1, np.float32)
    mesh, search = kc.Mesh(points, FACE), fresh(distance)

    def run():
        with kc.Tape() as tape:
            move(3, points, (5.0, 0.0, 0.0))
            mesh.refit()
            search(1, mesh, out)
        tape.backward(out)

    assert not stale(run)


@pytest.mark.parametrize("kernel, other", [(distance, "a hash grid"), (boxes, "a mesh"), (neighbours, "a BVH")])
def test_an_id_of_another_kind_is_refused(kernel, other):
    made = {
        "a mesh": lambda: kc.Mesh(TRIANGLE.copy(), FACE),
        "a BVH": lambda: kc.Bvh(TRIANGLE.copy(), TRIANGLE + 1),
        "a hash grid": lambda: kc.HashGrid(8, 8, 8),
    }[other]()
    with pytest.raises(kc.Error, match=f"E1127.*is the id of {other}, and"):
        kernel(1, made, np.zeros(1, np.float32))


@kc.kernel
def nearest(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=float)):
    i = kc.tid()
    q = kc.mesh_query_point_no_sign(mesh, x[i], 1.0e6)
    out[i] = kc.length(kc.mesh_eval_position(mesh, q.face, q.u, q.v) - x[i])


@kc.kernel
def pull(mesh: kc.uint64, points: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    points[i] = 0.5 * kc.mesh_get_point(mesh, (i + 1) % 3)


def test_gradients_of_what_reads_meshes_look_at_no_threads():
    # A race check of one instruction would warn that it looked at no thread.
    kc._native.look_for(1)
    try:
        x = np.ones((100, 3), np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = nearest.grad(100, kc.Mesh(TRIANGLE.copy(), FACE), x, np.zeros(100, np.float32), grads={"out": 1.0})
        np.testing.assert_allclose(np.linalg.norm(found["x"], axis=1), 1.0, rtol=1e-5)
    finally:
        kc._native.look_for(50_000_000)


def test_threads_that_write_what_others_read_behind_an_id_have_no_gradient():
    points = kc.array(TRIANGLE.copy(), dtype=kc.vec3)
    other = kc.array(TRIANGLE.copy(), dtype=kc.vec3)
    mesh = kc.Mesh(points, FACE)
    pull.grad(3, mesh, other, grads={"points": 1.0})
    with pytest.raises(kc.ArgumentError, match="shares memory with `mesh.points`, and the kernel writes to it"):
        pull.grad(3, mesh, points, grads={"points": 1.0})


def test_none_is_an_id_where_the_kernel_asks_for_it():
    out = np.zeros(1, np.float32)
    maybe(1, 0, out)
    assert out[0] == 0.0
    with pytest.raises(kc.Error, match="E1127.*is 0, the id of none"):
        corner(1, 0, out)


def test_a_number_that_is_no_id_is_refused(tmp_path):
    # In a process of its own: where Warp is imported, it could be an id of Warp's.
    program = tmp_path / "number.py"
    program.write_text(
        textwrap.dedent("""
        import kc, numpy as np

        @kc.kernel
        def corner(mesh: kc.uint64, out: kc.array(dtype=float)):
            out[0] = kc.mesh_get_point(mesh, 0)[0]

        def gradient(*arguments):
            corner.grad(*arguments, grads={"out": 1.0})

        for launch in (corner, gradient):
            try:
                launch(1, 4096, np.zeros(1, np.float32))
            except kc.Error as error:
                print(error)
        """)
    )
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("E1127") == 2 and ran.stdout.count("4096, the id of none") == 2, ran.stdout
