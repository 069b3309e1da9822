"""Operators of arrays of `kc.warp`: what Warp 1.19 gives for each (`with_warp/test_operators.py` compares), also under a tape."""

import kc
import kc.warp as wp
import numpy as np
import pytest


@wp.kernel
def total(x: wp.array(dtype=float), w: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i] * w[i])


def floats(*numbers, **options):
    return wp.array(list(numbers), dtype=float, **options)


def test_operators_make_arrays():
    a, b, i = floats(1, 2, 3), floats(4, 5, 6), wp.array([1, 2, 3], dtype=int)
    v, d = wp.array([[1, 2, 3]], dtype=wp.vec3), wp.array([1.0, 2.0], dtype=wp.float64)
    for found, wanted in [
        (a + b, [5, 7, 9]), (a - b, [-3, -3, -3]), (a * b, [4, 10, 18]), (b / a, [4, 2.5, 2]), (b // 4.0, [1, 1, 1]), (b % 4.0, [0, 1, 2]),
        (a**2.0, [1, 4, 9]), (2.0**a, [2, 4, 8]), (-a, [-1, -2, -3]), (+a, [1, 2, 3]), (2.0 - a, [1, 0, -1]), (6 / a, [6, 3, 2]),
        (2 * a, [2, 4, 6]), (a * np.float32(2), [2, 4, 6]), (i + 1, [2, 3, 4]), (i / 2, [0, 1, 1]), (i * i, [1, 4, 9]), (d * 2.0, [2, 4]),
        (v * 2.0, [[2, 4, 6]]), (v + v, [[2, 4, 6]]), (v + wp.vec3(1.0, 0.0, 0.0), [[2, 2, 3]]), (v * a, [[1, 2, 3], [2, 4, 6], [3, 6, 9]]),
        (a[::2] * 2.0, [2, 6]), (wp.zeros((2, 3)) + a, [[1, 2, 3]] * 2), (wp.zeros(0) + wp.zeros(0), []),
    ]:
        assert isinstance(found, wp.array) and found.numpy().tolist() == wanted
    assert a.numpy().tolist() == [1, 2, 3] and (i / 2).numpy().dtype == np.int32 and (d * 2.0).numpy().dtype == np.float64
    # Comparisons are Python's: of objects.
    assert a == a and not a == b and a != b
    with pytest.raises(TypeError):
        a < b


def test_operators_in_place():
    x = first = floats(1, 2, 3)
    x += floats(4, 5, 6)
    x -= 1
    x *= x
    x /= 2.0
    x **= 2.0
    x //= 2.0
    x %= 100.0
    assert x is first and x.numpy().tolist() == [float((((n + m - 1) ** 2 / 2) ** 2 // 2) % 100) for n, m in ((1, 4), (2, 5), (3, 6))]
    x[0:2] += 1.0
    rows = wp.zeros((2, 3))
    rows += x
    assert rows.numpy().tolist() == [x.numpy().tolist()] * 2


def test_what_does_not_fit():
    a, i, d = floats(1, 2, 3), wp.array([1, 2, 3], dtype=int), wp.array([1.0, 2.0, 3.0], dtype=wp.float64)

    @wp.struct
    class Point:
        x: float

    for call, text in [
        (lambda: a + i, "convert one, they are of float32 and int32"), (lambda: a * d, "float32 and float64"),
        (lambda: i + 1.5, "a float is no int32"), (lambda: a * np.float64(2), "float32 and float64"), (lambda: a + [1, 2, 3], "unsupported"),
        (lambda: a + np.ones(3, np.float32), "not recorded by tapes"), (lambda: a @ a, "wp.tile_matmul"), (lambda: a + None, "unsupported"),
        (lambda: a + True, "unsupported"), (lambda: wp.zeros(2, dtype=Point) + wp.zeros(2, dtype=Point), "struct `Point` have no operators"),
    ]:
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(ValueError, match="broadcast"):
        a + floats(1, 2)
    with pytest.raises(OverflowError):
        i + 2**40
    with pytest.raises(ValueError, match="has no room"):
        a += wp.zeros((2, 3))
    with pytest.raises(ValueError, match="they overlap"):
        a[1:].__iadd__(a[:-1])
    assert a.numpy().tolist() == [1, 2, 3]


def plain(x, y):
    return x * y + x / y - 2.0 * x + x**2.0


def placed(x, y):
    z = x * 2.0
    z += y
    z *= x
    z -= x * y
    z /= y
    return z


def squared(x, y):
    z = x + 0.0
    z *= z
    return z * y


@pytest.mark.parametrize("program", [plain, placed, squared])
def test_gradients_of_operators(program):
    x, y, w, loss = floats(1, 2, 3, requires_grad=True), floats(0.5, 4, 2, requires_grad=True), floats(1, -2, 3), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        z = program(x, y)
        wp.launch(total, 3, [z, w], [loss])
    assert z.requires_grad
    tape.backward(loss)
    # The same of NumPy, with differences in double precision.
    at = [np.array([1.0, 2, 3]), np.array([0.5, 4, 2])]

    def value(k, n, h):
        moved = [part.copy() for part in at]
        moved[k][n] += h
        return (program(*moved) * w.numpy()).sum()

    for k, array in enumerate((x, y)):
        slopes = [(value(k, n, 1e-6) - value(k, n, -1e-6)) / 2e-6 for n in range(3)]
        np.testing.assert_allclose(array.grad.numpy(), slopes, rtol=1e-4)


def test_gradients_of_repeated_arrays_and_vectors():
    x, rows, loss = floats(1, 2, requires_grad=True), wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        z = (rows * x).flatten()
        wp.launch(total, 4, [z, wp.ones(4)], [loss])
    tape.backward(loss)
    assert rows.grad.numpy().tolist() == [[1, 2], [1, 2]] and x.grad.numpy().tolist() == [4, 6]
    # Along a dimension of one element, and by wp.map.
    x, rows = wp.array([[1.0], [2.0]], dtype=float, requires_grad=True), wp.ones((2, 3))
    loss.zero_()
    with wp.Tape() as tape:
        wp.launch(total, 6, [wp.map(wp.mul, rows, x).flatten(), wp.ones(6)], [loss])
    tape.backward(loss)
    assert loss.numpy().tolist() == [9] and x.grad.numpy().tolist() == [[3], [3]]
    # Kernels of kc's own tape are the same ones.
    a = kc.array([1.0, 2.0], dtype=float)
    with pytest.raises(TypeError):
        a + a
