"""Generic kernels: parameters with ``Any``."""

import pickle
from typing import Any

import kc
import kc.warp as wp
import numpy as np
import pytest


@kc.kernel
def scale(x: kc.array(dtype=Any), s: Any, y: kc.array(
        dtype=Any), n: int = 1):
    i = kc.tid()
    y[i] = x[i] * s


@wp.kernel
def multiply(m: wp.array(dtype=wp.types.matrix(shape=(Any, Any), dtype=Any)), v: wp.types.vector(length=Any, dtype=float), o: "wp.array(dtype=Any)"):
    i = wp.tid()
    o[i] = m[i] * v


def arrays(dtype, *shape):
    return np.ones(shape, dtype), np.zeros(shape, dtype)


@pytest.mark.parametrize("dtype, shape, s", [
    (np.float32, (3,), 2.0), (np.float64, (3,), np.float64(2.0)), (np.int32, (3,), 2), (np.float16, (3,), np.float16(2.0)),
    (np.float32, (3, 2), 2.0), (np.float64, (3, 3, 3), np.float64(2.0)),
])
def test_types_are_those_of_the_arguments(dtype, shape, s):
    x, y = arrays(dtype, *shape)
    scale(3, x, s, y)
    assert y.dtype == dtype and (y == 2).all()


def test_each_set_of_types_is_made_once():
    @kc.kernel
    def copy(x: kc.array(dtype=Any), y: kc.array(dtype=Any)):
        i = kc.tid()
        y[i] = x[i]

    for _ in range(3):
        for dtype in (np.float32, np.int64):
            x, y = arrays(dtype, 2)
            copy(2, x, y)
            assert (y == 1).all()
    assert len(copy._made) == 2
    assert repr(copy) == "<kc generic kernel copy>" and kc.compile(copy) is copy


def test_gradients():
    x, y = arrays(np.float64, 3)
    found = scale.grad(3, x, np.float64(3.0), y, grads={"y": 1.0})
    assert found["x"].tolist() == [3.0] * 3 and found["s"] == 3.0
    x, y = arrays(np.float32, 3)
    assert scale.jvp(3, x, 3.0, y, tangents={"s": 1.0})["y"].tolist() == [1.0] * 3
    with kc.Tape() as tape:
        scale(3, x, s=3.0, y=y)
    tape.backward(grads=[(y, np.ones(3, np.float32))])
    assert tape.gradient(x).tolist() == [3.0] * 3


def test_vectors_and_matrices():
    o = np.zeros((2, 2), np.float32)
    wp.launch(multiply, dim=2, inputs=[np.ones((2, 2, 2), np.float32), wp.vec2(1.0, 2.0), o])
    assert o.tolist() == [[3.0, 3.0]] * 2
    with pytest.raises(kc.ArgumentError, match="`m` of kernel `multiply`: expected an array of a matrix of any x any numbers with 1 dimension"):
        wp.launch(multiply, dim=2, inputs=[np.ones((2, 2), np.float32), wp.vec2(1.0, 2.0), o])
    with pytest.raises(kc.ArgumentError, match="`v` of kernel `multiply`: expected a vector of any float32"):
        wp.launch(multiply, dim=2, inputs=[np.ones((2, 2, 2), np.float32), kc.vec2d(1.0, 2.0), o])


def test_kernels_of_given_types():
    double = kc.overload(scale, {"x": kc.array(dtype=kc.vec3d), "s": kc.float64, "y": kc.array(dtype=kc.vec3d)})
    assert type(double) is kc.Kernel and "double" in double.cuda
    assert kc.overload(scale, [kc.array(dtype=kc.vec3d), kc.float64, kc.array(dtype=kc.vec3d), int]) is double
    x, y = arrays(np.float64, 2, 3)
    double(2, x, 2.0, y)
    assert (y == 2.0).all()

    @wp.kernel
    def add(x: wp.array(dtype=Any), y: Any):
        i = wp.tid()
        x[i] = x[i] + y

    generic = add

    @wp.overload
    def add(x: wp.array(dtype=wp.float64), y: wp.float64):  # noqa: F811
        ...

    assert add is generic and len(add._made) == 1


def test_families_of_scalars():
    @wp.func
    def total(v: wp.types.vector(length=3, dtype=wp.Float)) -> wp.Float:
        return v[0] + v[1] + v[2]

    @wp.kernel
    def sums(v: wp.array(dtype=wp.types.vector(length=3, dtype=wp.Float)), n: wp.Int, s: wp.array(dtype=wp.Scalar)):
        i = wp.tid()
        s[i] = total(v[i]) * type(s[i])(n)

    for dtype in (np.float32, np.float64):
        v, s = np.ones((2, 3), dtype), np.zeros(2, dtype)
        sums(2, v, 2, s)
        assert s.tolist() == [6.0, 6.0]
    with pytest.raises(kc.ArgumentError, match="`n` of kernel `sums`: expected Int, and a float does not"):
        sums(2, v, 2.0, s)
    with pytest.raises(kc.ArgumentError, match="`v` of kernel `sums`: expected an array of a vector of 3 Float"):
        sums(2, np.ones((2, 3), np.int32), 2, s)


def test_arrays_of_truth_values():
    @wp.kernel
    def flip(x: wp.array(dtype=wp.bool), y: wp.array(dtype=bool)):
        i = wp.tid()
        y[i] = not x[i]

    x, y = np.array([True, False]), np.zeros(2, bool)
    flip(2, x, y)
    assert y.tolist() == [False, True] and kc.bool(3) == np.bool_(True)


def test_local_arrays_are_given_back():
    @wp.func
    def table() -> wp.fixedarray(shape=(2, 3), dtype=int):
        made = wp.zeros(shape=(2, 3), dtype=int)
        made[1][2] = 7
        return made

    @wp.kernel
    def use(x: wp.array(dtype=int)):
        i = wp.tid()
        made = table()
        x[i] = made[1][2]

    x = np.zeros(1, np.int32)
    use(1, x)
    assert x[0] == 7


def test_what_does_not_fit():
    x, y = arrays(np.float32, 3)
    for arguments, text in [((x, 2.0, None), "a NoneType does not tell"), ((x, "a", y), "a str does not tell"), ((x,), "no argument for `s`")]:
        with pytest.raises(kc.ArgumentError, match=text):
            scale(3, *arguments)
    with pytest.raises(kc.ArgumentError, match="`y`"):
        scale(3, x, 2.0, np.zeros((3, 1, 1, 1), np.float32))
    with pytest.raises(kc.CompileError, match="kernel `scale` is generic"):
        scale.ptx()
    with pytest.raises(TypeError, match="generic in `s`, `y`, of which no type"):
        kc.overload(scale, {"x": kc.array(dtype=float)})
    with pytest.raises(TypeError, match="4 parameters, and 1 types"):
        kc.overload(scale, [float])
    # The types fit, the kernel does not: an error of the compiler at the line.
    with pytest.raises(kc.CompileError, match="x\\[i\\] \\* s") as caught:
        scale(3, x, np.float64(2.0), y)
    assert caught.value.lineno == 16 and "kc.float64(x[i])" in str(caught.value) and "_kc_warp" not in str(caught.value)
    assert pickle.loads(pickle.dumps(scale)) is scale


def test_two_names_for_types_in_one_line():
    Numbers, Points = kc.array(dtype=float), kc.array2d(dtype=kc.vec3)

    @kc.kernel
    def use(x: Numbers, p: Points, y: Numbers):
        i = kc.tid()
        y[i] = x[i] + p[i, 0][1]

    x, y = arrays(np.float32, 2)
    use(2, x, np.ones((2, 2, 3), np.float32), y)
    assert y.tolist() == [2.0, 2.0]


def test_numbers_that_kernels_lack():
    @kc.kernel
    def squares(x: kc.array(dtype=Any)):
        i = kc.tid()
        x[i] = x[i] * x[i]

    @kc.kernel
    def scaled(s: Any, x: kc.array(dtype=float)):
        i = kc.tid()
        x[i] = x[i] * float(s)

    dates = np.zeros(2, "datetime64[s]")
    for call in [
        lambda: squares(2, np.ones(2, complex)),
        lambda: squares(2, np.array([1, "a"], object)),
        lambda: squares(2, dates),
        lambda: scaled(2, np.complex64(1), np.ones(2, np.float32)),
        lambda: scaled(2, dates, np.ones(2, np.float32)),
    ]:
        with pytest.raises(kc.ArgumentError, match="no type of numbers in kernels") as caught:
            call()
        assert caught.value.code == "E1005"
