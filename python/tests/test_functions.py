"""Functions of kernels: overloads, generic ones, and derivatives that a program writes itself."""

import typing
from typing import Any

import kc
import kc.warp as wp
import numpy as np
import pytest

SIDE = 4


@kc.func
def size(x: float):
    return x * x


@kc.func
def size(x: kc.vec2):  # noqa: F811
    return x[0] + x[1]


@kc.func_grad(size)
def size_grad(x: float, adjoint: float):
    kc.adjoint[x] += 7.0 * adjoint


@kc.func
def with_two_of(x: Any, y: typing.Any):
    return x + y + y


@wp.func
def place_of(count: wp.array(dtype=int), places: wp.array(dtype=int), i: int):
    place = wp.atomic_add(count, 0, 1)
    places[i] = place
    return place


@wp.func_replay(place_of)
def place_again(count: wp.array(dtype=int), places: wp.array(dtype=int), i: int):
    return places[i]


@wp.func
def half(x: float):
    return 0.5 * x


@wp.func_replay(half)
def half_again(x: float):
    return 0.5 * x


@wp.func
def sum_into(a: wp.tile[float, SIDE, SIDE], b: wp.tile[float, SIDE, SIDE]):
    a += b
    return a


def floats(*values):
    return np.array(values, np.float32)


def test_overloads_and_rules():
    @kc.kernel
    def use(x: kc.array(dtype=float), v: kc.array(dtype=kc.vec2), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = size(x[i]) + 10.0 * size(v[i])

    x, v, y = floats(3.0), np.array([[1.0, 2.0]], np.float32), floats(0.0)
    use(1, x, v, y)
    assert y[0] == 39.0
    found = use.grad(1, x, v, y, grads={"y": 1.0})
    # The rule of one overload is for that one alone.
    assert found["x"][0] == 7.0 and found["v"].tolist() == [[10.0, 10.0]]


@pytest.mark.filterwarnings("ignore::kc.GradientWarning")
def test_replay():
    @wp.kernel
    def use(x: wp.array(dtype=float), count: wp.array(dtype=int), places: wp.array(dtype=int), y: wp.array(dtype=float)):
        i = wp.tid()
        y[place_of(count, places, i)] = x[i] * x[i]

    x, y, count, places = floats(3.0, 4.0), floats(0.0, 0.0), np.zeros(1, np.int32), np.zeros(2, np.int32)
    found = use.grad(2, x, count, places, y, grads={"y": 1.0})["x"]
    assert count[0] == 2 and sorted(y) == [9.0, 16.0] and found.tolist() == [6.0, 8.0]


def test_replay_of_floats_is_no_gradient():
    @wp.kernel
    def use(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = half(x[i])

    with pytest.raises(kc.GradientError, match="replay function does not tell"):
        use.grad(1, floats(3.0), floats(0.0), grads={"y": 1.0})


def test_generic_functions():
    @kc.kernel
    def use(x: kc.array(dtype=float), v: kc.array(dtype=kc.vec2)):
        i = kc.tid()
        x[i] = with_two_of(x[i], 2.0)
        v[i] = with_two_of(v[i], kc.vec2(1.0, 0.0))

    x, v = floats(3.0), np.array([[1.0, 2.0]], np.float32)
    use(1, x, v)
    assert x[0] == 7.0 and v.tolist() == [[3.0, 2.0]]


def test_functions_of_tiles():
    @wp.kernel
    def use(a: wp.array2d(dtype=float), total: wp.array(dtype=float)):
        i = wp.tid()
        x = wp.tile_load(a, shape=(SIDE, SIDE))
        y = wp.tile_load(a, shape=(SIDE, SIDE))
        wp.tile_store(total, wp.tile_sum(sum_into(x, y)))

    total = floats(0.0)
    wp.launch(use, dim=1, inputs=[np.ones((SIDE, SIDE), np.float32), total])
    assert total[0] == 32.0
    with pytest.raises(TypeError, match="not subscriptable"):
        kc.sin[float]


def test_closures_have_their_own():
    def made(scale):
        @kc.func
        def scaled(x: float):
            return x * scale

        @kc.func
        def scaled(x: int):
            return x * int(scale) + 1

        @kc.func_grad(scaled)
        def scaled_grad(x: float, adjoint: float):
            kc.adjoint[x] += 100.0 * scale * adjoint

        @kc.kernel
        def use(x: kc.array(dtype=float), n: kc.array(dtype=int)):
            i = kc.tid()
            x[i] = scaled(x[i])
            n[i] = scaled(n[i])

        return use

    for scale in (2.0, 3.0):
        use, x, n = made(scale), floats(5.0), np.array([4], np.int32)
        assert use.grad(1, x, n, grads={"x": 1.0})["x"][0] == 100.0 * scale
        assert (x[0], n[0]) == (5.0 * scale, 4 * int(scale) + 1)


def test_a_function_takes_the_place_of_the_same():
    def made():
        @kc.func
        def f(x: float):
            return x + 1.0

        before = f

        @kc.func
        def f(x: float):
            return x + 2.0

        @kc.kernel
        def use(x: kc.array(dtype=float), y: kc.array(dtype=float)):
            i = kc.tid()
            x[i] = f(x[i])
            y[i] = before(y[i])

        return use, f

    (use, f), x, y = made(), floats(1.0), floats(1.0)
    use(1, x, y)
    assert (x[0], y[0], f(1.0)) == (3.0, 2.0, 3.0)


def test_python_cannot_tell_overloads_by_type():
    with pytest.raises(TypeError, match="2 overloads, of which 2 take 1"):
        size(1.0)


def test_one_name_means_one_thing():
    def shifted(offset):
        @kc.func
        def f(x: float):
            return x + offset

        return f

    f = shifted(1.0)

    def ruled(offset):
        @kc.func_grad(f)
        def f_grad(x: float, adjoint: float):
            kc.adjoint[x] += offset * adjoint

    ruled(5.0)

    @kc.kernel
    def use(x: kc.array(dtype=float)):
        i = kc.tid()
        x[i] = f(x[i])

    with pytest.raises(kc.CompileError, match="`offset` is one thing in one overload or rule") as caught:
        use(1, floats(1.0))
    assert caught.value.code == "E0502"


def test_rules_are_of_functions():
    with pytest.raises(TypeError, match=r"@kc\.func_grad\(f\) takes a function made by @kc\.func, not a function"):
        kc.func_grad(floats)
    with pytest.raises(TypeError, match=r"@kc\.func_replay goes before a function, not a int"):
        kc.func_replay(size)(3)
