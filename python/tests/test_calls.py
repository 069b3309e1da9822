"""Kernels are called with Python's objects, which stay where they are."""

import array as buffers
import ctypes
import threading

import kc
import numpy as np
import pytest


@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]


@kc.kernel
def transpose(x: kc.array2d(dtype=kc.int32), y: kc.array2d(dtype=kc.int32)):
    i, j = kc.tid()
    y[j, i] = x[i, j]


@kc.kernel
def lengths(v: kc.array(dtype=kc.vec3), out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = kc.length(v[i])


@kc.kernel
def turn(m: kc.array(dtype=kc.mat22), v: kc.array(dtype=kc.vec2), by: kc.mat22):
    i = kc.tid()
    v[i] = by * (m[i] * v[i])


@kc.struct
class Body:
    flag: kc.int8
    position: kc.vec3
    mass: kc.float64


@kc.struct
class Scene:
    bodies: kc.array(dtype=Body)
    gravity: kc.vec3


@kc.kernel
def fall(scene: Scene, dt: float):
    i = kc.tid()
    scene.bodies[i].position = scene.bodies[i].position + scene.gravity * dt
    scene.bodies[i].mass = scene.bodies[i].mass * kc.float64(2.0)


def test_arrays_of_numpy(rng):
    x, y = rng.random(1000, np.float32), rng.random(1000, np.float32)
    expected = np.float32(3) * x + y
    assert saxpy(1000, 3.0, x, y) is None
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_arguments_by_name_and_defaults():
    @kc.kernel
    def add(x: kc.array(dtype=float), by: float = 2.0):
        i = kc.tid()
        x[i] = x[i] + by

    x = np.zeros(3, np.float32)
    add(3, x)
    add(3, by=1.0, x=x)
    add((3,), x, 4)
    assert x.tolist() == [7, 7, 7]
    for bad, words in [
        (lambda: add(3), "`x` is not given"),
        (lambda: add(3, x, 1.0, by=2.0), "`by` is given twice"),
        (lambda: add(3, x, at=2.0), "no `at`"),
        (lambda: add(3, x, 1.0, 2.0), "3 are given"),
    ]:
        with pytest.raises(kc.ArgumentError, match="E1004") as caught:
            bad()
        assert words in str(caught.value)


@pytest.mark.parametrize("view", [np.s_[::2, ::-1], np.s_[1:4, 2:], np.s_[::-1, ::3], np.s_[5:5], np.s_[2:3]])
def test_views_are_not_copied(view):
    whole = np.arange(48, dtype=np.int32).reshape(6, 8)
    part = whole[view]
    out = np.full((11, 13), -1, np.int32)
    into = out[1 : 1 + part.shape[1], ::-2][:, : part.shape[0]]
    transpose(part.shape, part, into)
    assert (into == part.T).all()
    assert (out == -1).sum() == out.size - part.size
    # Fortran order.
    into = np.zeros(part.shape[::-1], np.int32, order="F")
    transpose(part.shape, part, into)
    assert (into == part.T).all()


def test_vectors_and_matrices(rng):
    v = rng.random((50, 3), np.float32)
    out = np.zeros(50, np.float32)
    lengths(50, v, out)
    np.testing.assert_allclose(out, np.linalg.norm(v, axis=1), rtol=1e-6)
    # Every second row, and the components as fields.
    lengths(25, v[::2], out)
    np.testing.assert_allclose(out[:25], np.linalg.norm(v[::2], axis=1), rtol=1e-6)
    fields = v.view([("x", "f4"), ("y", "f4"), ("z", "f4")])[:, 0]
    out[:] = 0
    lengths(50, fields, out)
    np.testing.assert_allclose(out, np.linalg.norm(v, axis=1), rtol=1e-6)
    with pytest.raises(kc.ArgumentError, match="bytes apart"):
        lengths(50, np.asfortranarray(v), out)
    with pytest.raises(kc.ArgumentError, match=r"then 3 components; found an array of shape \(50, 2\)"):
        lengths(50, v[:, :2], out)

    m, w = rng.random((5, 2, 2), np.float32), rng.random((5, 2), np.float32)
    by = rng.random((2, 2), np.float32)
    expected = np.einsum("ij,njk,nk->ni", by, m, w)
    for given in (by, by.tolist(), tuple(by.ravel()), kc.mat22(by)):
        again = w.copy()
        turn(5, m, again, given)
        np.testing.assert_allclose(again, expected, rtol=1e-5)
    with pytest.raises(kc.ArgumentError, match="2 rows of 2 numbers"):
        turn(5, m, w, [1.0, 2.0, 3.0])


def test_structs():
    bodies = np.zeros(4, Body.numpy_dtype())
    bodies["position"] = 1
    bodies["mass"] = [1, 2, 3, 4]
    scene = Scene(bodies=bodies, gravity=kc.vec3(0.0, -2.0, 4.0))
    fall(4, scene, 0.5)
    fall(4, {"bodies": bodies, "gravity": (0, -2, 4)}, 0.5)
    assert bodies["position"].tolist() == [[1, -1, 5]] * 4
    assert bodies["mass"].tolist() == [4, 8, 12, 16]
    ours = kc.zeros(2, dtype=Body)
    fall(2, Scene(bodies=ours, gravity=(1, 1, 1)), 1.0)
    assert ours.numpy()["position"].tolist() == [[1, 1, 1]] * 2
    with pytest.raises(AttributeError, match="has no field `gravty`"):
        Scene(gravty=1)
    with pytest.raises(kc.ArgumentError, match="no field `gravity`"):
        fall(1, {"bodies": bodies}, 1.0)
    own = Body.numpy_dtype()
    layout = {"formats": [own[name] for name in own.names], "offsets": [own.fields[name][1] for name in own.names]}
    renamed = np.zeros(4, {"names": [f"{name}_" for name in own.names], **layout, "itemsize": own.itemsize})
    with pytest.raises(kc.ArgumentError, match="E1005"):
        fall(1, {"bodies": renamed, "gravity": (0, 0, 0)}, 1.0)
    packed = np.zeros(4, [("flag", "i1"), ("position", "f4", 3), ("mass", "f8")])
    with pytest.raises(kc.ArgumentError, match="found elements of"):
        fall(1, {"bodies": packed, "gravity": (0, 0, 0)}, 1.0)


class Interface:
    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class Packed:
    """What PyTorch and JAX have, and no more."""

    def __init__(self, array, old):
        self.array, self.old = array, old

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("no such option")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Interface, lambda a: Packed(a, True), lambda a: Packed(a, False), memoryview])
def test_other_libraries_arrays_without_a_copy(wrap):
    x, y = np.arange(6, dtype=np.float32), np.ones((6, 2), np.float32)
    saxpy(6, 2.0, wrap(x), wrap(y[:, 1]))
    assert y[:, 1].tolist() == [1, 3, 5, 7, 9, 11]
    assert y[:, 0].tolist() == [1] * 6


def test_pythons_own_buffers():
    x, y = buffers.array("f", [1, 2, 3]), (ctypes.c_float * 3)(1, 1, 1)
    saxpy(3, 2.0, x, y)
    assert list(y) == [3, 5, 7]


def test_memory_of_another_device_is_refused():
    class Rocm(Packed):
        def __dlpack_device__(self):
            return (10, 0)

    with pytest.raises(kc.DeviceError, match="argument `x` of kernel `saxpy`: is in the memory of another device"):
        saxpy(3, 1.0, Rocm(np.ones(3, np.float32), False), np.ones(3, np.float32))


@pytest.mark.parametrize(
    "change, code, words",
    [
        ({"x": np.ones(4)}, "E1005", "x.astype(numpy.float32)"),
        ({"x": np.ones(4, ">f4")}, "E1005", "found elements of >f4"),
        ({"x": np.ones(4, np.int32)}, "E1005", "found elements of int32"),
        ({"x": np.ones((4, 1), np.float32)}, "E1005", "found an array of shape (4, 1)"),
        ({"x": np.float32(1)}, "E1005", "found an array of shape ()"),
        ({"x": [1.0]}, "E1005", "kc.array"),
        ({"x": "text"}, "E1005", "found a `str`"),
        ({"x": b"text"}, "E1005", "found elements of uint8"),
        ({"x": object()}, "E1005", "found"),
        ({"x": np.array([None])}, "E1005", "found elements of object"),
        ({"x": np.ones(5, "u1")[1:].view(np.float32)}, "E1009", "aligned"),
        ({"y": np.broadcast_to(np.float32(1), 4)}, "E1010", "read-only"),
        ({"a": 1j}, "E1005", "a complex number"),
        ({"a": "1"}, "E1005", "a number"),
        ({"a": None}, "E1005", "a number"),
        ({"a": np.ones(1)}, "E1005", "a number"),
        ({"a": 10**400}, "E1005", "too large"),
        ({"dim": -1}, "E1006", "-1"),
        ({"dim": 2**40}, "E1006", str(2**40)),
        ({"dim": (1, 1, 1, 1, 1)}, "E1006", "1 to 4 dimensions"),
        ({"dim": ()}, "E1006", "1 to 4 dimensions"),
        ({"dim": 1.5}, "E1006", "1.5"),
        ({"dim": None}, "E1006", "None"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(change, code, words):
    given = {"dim": 4, "a": 1.0, "x": np.ones(4, np.float32), "y": np.zeros(4, np.float32), **change}
    with pytest.raises(kc.ArgumentError) as caught:
        saxpy(given["dim"], given["a"], given["x"], given["y"])
    assert caught.value.code == code
    assert words in str(caught.value)
    if code != "E1006" or change["dim"] not in ((1, 1, 1, 1, 1),):
        assert isinstance(caught.value, (TypeError, ValueError))
    assert not given["y"].any() or "y" in change


@pytest.mark.parametrize("scalar", "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
def test_whole_numbers_keep_their_range(scalar):
    text = f"import kc\n@kc.kernel\ndef put(n: kc.{scalar}, x: kc.array(dtype=kc.{scalar})):\n    x[kc.tid()] = n\n"
    put = kc.compile(text).put
    x = np.zeros(1, scalar)
    limits = np.iinfo(scalar)
    for n in (limits.min, limits.max, np.int8(1)):
        put(1, n, x)
        assert x[0] == n
    for n in (limits.min - 1, limits.max + 1):
        with pytest.raises(kc.ArgumentError, match=f"does not fit in {scalar}"):
            put(1, n, x)
    with pytest.raises(kc.ArgumentError, match="a whole number"):
        put(1, 1.0, x)


def test_truth_and_small_floats():
    @kc.kernel
    def put(b: bool, h: kc.float16, d: kc.float64, out: kc.array(dtype=kc.float64)):
        out[0] = kc.float64(b)
        out[1] = kc.float64(h)
        out[2] = d

    out = np.zeros(3)
    put(1, True, 0.1, 0.1, out)
    assert out.tolist() == [1, float(np.float16(0.1)), 0.1]
    put(1, np.False_, np.float16(2), np.float32(3), out)
    assert out.tolist() == [0, 2, 3]
    with pytest.raises(kc.ArgumentError, match="True or False"):
        put(1, 2, 0.1, 0.1, out)


def test_an_array_may_be_left_out():
    @kc.kernel
    def add(x: kc.array(dtype=float), more: kc.array(dtype=float)):
        i = kc.tid()
        if more:
            x[i] = x[i] + more[i]

    x = np.ones(2, np.float32)
    add(2, x, None)
    add(2, x, x.copy())
    assert x.tolist() == [2, 2]


def test_threads_launch_at_once():
    results = np.zeros((8, 100_000), np.float32)
    x = np.ones(100_000, np.float32)

    def work(row):
        for _ in range(20):
            saxpy(100_000, 1.0, x, row)

    workers = [threading.Thread(target=work, args=(row,)) for row in results]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert (results == 20).all()


def test_no_references_are_lost():
    import sys

    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    before = sys.getrefcount(x), sys.getrefcount(y)
    for _ in range(100):
        saxpy(4, 1.0, x, y)
        saxpy(4, 1.0, Packed(x, False), y)
        saxpy.grad(4, 1.0, x, y, grads={"y": 1.0})
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before


@kc.kernel
def rows(x: kc.array2d(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    t = kc.tile_load(x[i], shape=4)
    y[i] = kc.tile_sum(t * t)[0]


@kc.kernel
def own_block(x: kc.array(dtype=float), block_dim: float):
    i = kc.tid()
    x[i] = block_dim


def test_tiles_in_blocks(rng):
    x = rng.random((3, 4), np.float32)
    for dim, more in [(3, {}), ((3, 32), {"block_dim": 32}), ([3, 7], {"block_dim": 7}), (3, {"block_dim": 1})]:
        y = np.zeros(3, np.float32)
        rows(dim, x, y=y, **more)
        np.testing.assert_allclose(y, (x * x).sum(axis=1), rtol=1e-6)
        found = rows.grad(dim, x, y, grads={"y": 1.0}, **more)
        np.testing.assert_allclose(found["x"], 2 * x, rtol=1e-6)
        along = rows.jvp(dim, x, y, tangents={"x": np.ones_like(x)}, **more)
        np.testing.assert_allclose(along["y"], 2 * x.sum(axis=1), rtol=1e-6)


@kc.kernel
def center(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    v = x[i] * x[i]
    y[i] = v - kc.tile_sum(kc.tile(v))[0]


@kc.kernel
def only_in_blocks(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    if kc.block_dim() > 1:
        y[i] = kc.tile_sum(kc.tile(x[i]))[0]


def centered(x, block):
    squares = (x * x).reshape(-1, block)
    return (squares - squares.sum(axis=1, keepdims=True)).ravel()


def through_center(x, block, weights):
    """How the weighted sum of what `center` gives depends on x."""
    weights = weights.reshape(-1, block)
    return 2 * x * (weights - weights.sum(axis=1, keepdims=True)).ravel()


def test_threads_with_values_of_their_own(rng):
    x, weights = rng.random(8, np.float32), rng.random(8, np.float32)
    for block in (4, 1, 2, 8, 4):
        y = np.zeros(8, np.float32)
        center(8, x, y=y, block_dim=block)
        np.testing.assert_allclose(y, centered(x, block), rtol=1e-5, atol=1e-6)
        found = center.grad(8, x, y, grads={"y": weights}, block_dim=block)
        np.testing.assert_allclose(found["x"], through_center(x, block, weights), rtol=1e-5, atol=1e-6)
        along = center.jvp(8, x, y, tangents={"x": weights}, block_dim=block)
        np.testing.assert_allclose(along["y"], centered(x + 1e-3 * weights, block) / 1e-3 - centered(x, block) / 1e-3, atol=3e-2)
    # Without a word about blocks they have one thread.
    center(8, x, y)
    np.testing.assert_array_equal(y, 0)


def test_a_tape_over_launches_in_blocks(rng):
    x, y, z, loss = rng.random(8, np.float32), *(np.zeros(8, np.float32) for _ in range(3))
    with kc.Tape() as tape:
        center(8, x, y, block_dim=4)
        center(8, y, z, block_dim=2)
        only_in_blocks(8, z, y, block_dim=8)
        only_in_blocks(8, y, loss, block_dim=2)
    first, second = centered(x, 4), centered(centered(x, 4), 2)
    np.testing.assert_allclose(loss, 2 * second.sum(), rtol=1e-5)
    weights = rng.random(8, np.float32)
    tape.backward(grads=[(loss, weights)])
    # All of `loss` is twice the sum of z.
    up = np.full(8, 2 * weights.sum(), np.float32)
    np.testing.assert_allclose(tape.gradient(x), through_center(x, 4, through_center(first, 2, up)), rtol=1e-4, atol=1e-5)


def test_blocks_that_do_not_fit(rng):
    x, y = rng.random((3, 4), np.float32), np.zeros(3, np.float32)
    for dim, block, said in [((3, 33), 32, "no multiple"), (3, 0, "and not 0"), (3, 2.5, "2.5"), (3, -1, "-1")]:
        with pytest.raises(kc.ArgumentError, match=said) as refused:
            rows(dim, x, y, block_dim=block)
        assert refused.value.code == "E1006"
    # The last block of one dimension may have fewer threads.
    values, found = rng.random(8, np.float32), np.zeros(8, np.float32)
    center(8, values, found, block_dim=5)
    expected = np.concatenate([centered(values[:5], 5), centered(values[5:], 3)])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(kc.CompileError, match="gets what differs between the threads") as refused:
        rows(32, x, y, block_dim=32)
    assert refused.value.code == "E0321"
    with pytest.raises(kc.ArgumentError, match="and no `block`"):
        rows(3, x, y, block=32)
    # What has no tiles runs for every thread, and a parameter may have this name.
    z = np.zeros(5, np.float32)
    own_block(5, z, block_dim=2.0)
    assert (z == 2.0).all()
    saxpy(3, 1.0, y, y.copy(), block_dim=128)


OF_BLOCKS = """
import warp as wp

@wp.kernel
def of_blocks(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    columns = wp.tile(wp.vec3(x[i], 1.0, 2.0))
    found = wp.untile(columns + wp.tile_ones(shape=(3, 8), dtype=float))
    wp.atomic_add(out, 0, found[0] * found[1])

wp.launch(of_blocks, dim=8, inputs=[], block_dim=8)
"""


@pytest.mark.parametrize("more", [{}, {"block_dim": 8}])
@pytest.mark.parametrize("size", [8, 40])
def test_a_text_that_compiles_for_its_blocks_alone(size, more):
    """It is launched in the blocks that its own launches have."""
    kernel = kc.compile(OF_BLOCKS, name="of_blocks.py").of_blocks
    x, out = np.arange(size, dtype=np.float32), np.zeros(1, np.float32)
    kernel(size, x, out, **more)
    assert out[0] == (2 * (x + 1)).sum()
    found = kernel.grad(size, x, out, grads={"out": 1.0}, **more)
    assert found["x"].tolist() == [2] * size


@kc.kernel
def squares(x: kc.array4d(dtype=float), y: kc.array4d(dtype=float)):
    n, d, r, c = kc.tid()
    y[n, d, r, c] = x[n, d, r, c] * x[n, d, r, c] + float(n)


def test_more_than_four_dimensions(rng):
    """The first dimensions are one, and gradients have the shape of the array."""
    x = rng.standard_normal((2, 3, 4, 5, 6)).astype(np.float32)
    y = np.zeros_like(x)
    first = np.arange(6, dtype=np.float32).reshape(2, 3, 1, 1, 1)
    squares((6, 4, 5, 6), x, y)
    np.testing.assert_allclose(y, x * x + first, rtol=1e-6)
    # Both reversed, and only one: the elements follow each other there, too.
    squares((6, 4, 5, 6), x[::-1, ::-1], y)
    np.testing.assert_allclose(y, x[::-1, ::-1] ** 2 + first, rtol=1e-6)
    squares((3, 4, 5, 6), x[1:], y[1:])
    np.testing.assert_allclose(y[1:], x[1:] ** 2 + first[:1], rtol=1e-6)
    found = squares.grad((6, 4, 5, 6), x, y, grads={"y": np.ones_like(x)})["x"]
    assert found.shape == x.shape
    np.testing.assert_array_equal(found, 2 * x)
    wide = rng.standard_normal((2, 1, 3, 2, 2, 2)).astype(np.float32)
    made = np.zeros_like(wide)
    squares((6, 2, 2, 2), wide, made)
    np.testing.assert_allclose(made.reshape(6, -1), wide.reshape(6, -1) ** 2 + np.arange(6)[:, None], rtol=1e-6)
    with pytest.raises(kc.ArgumentError, match=r"E1009.*first dimensions of an array of shape \(2, 2, 4, 5, 6\) cannot be one"):
        squares((4, 4, 5, 6), x[:, :2], y)
    # Fewer dimensions than four are not merged: an axis too many is an error there.
    with pytest.raises(kc.ArgumentError, match="E1005"):
        saxpy(4, 1.0, np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32))
