"""Gradients: the right numbers, or an exception."""

import re
import warnings

import kc
import numpy as np
import pytest
from kc import _native
from kernels import square


@kc.kernel
def loss(x: kc.array(dtype=kc.float64), w: kc.array(dtype=kc.float64), out: kc.array(dtype=kc.float64)):
    i = kc.tid()
    kc.atomic_add(out, 0, w[i] * kc.sin(x[i]) * x[i])


def test_against_differences(rng):
    x, w = rng.random(20), rng.random(20)

    def value(x, w):
        out = np.zeros(1)
        loss(20, x, w, out)
        return out[0]

    out = np.zeros(1)
    found = loss.grad(20, x, w, out, grads={"out": 1.0})
    assert out[0] == value(x, w) and set(found) == {"x", "w", "out"}
    for name, k in [("x", 3), ("w", 17)]:
        step = np.zeros(20)
        step[k] = 1e-6
        up = value(x + step, w) if name == "x" else value(x, w + step)
        down = value(x - step, w) if name == "x" else value(x, w - step)
        assert found[name][k] == pytest.approx((up - down) / 2e-6, rel=1e-7)
    twice = loss.grad(20, x, w, np.zeros(1), grads={"out": np.array([2.0])})
    np.testing.assert_allclose(twice["x"], 2 * found["x"])


def test_what_is_given_stays():
    x, y, seed = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32), np.ones(3, np.float32)
    found = square.grad(3, x, y, grads={"y": seed})
    assert seed.tolist() == [1, 1, 1] and found["x"].tolist() == [2, 4, 6] and found["y"].tolist() == [0, 0, 0]
    assert y.tolist() == [1, 4, 9]
    # The gradient given for an input is part of the result.
    assert square.grad(3, x=x, y=y, grads={"y": 1.0, "x": [1, 1, 1]})["x"].tolist() == [3, 5, 7]


def test_views():
    wide, out = np.arange(12, dtype=np.float32), np.zeros((4, 3), np.float32)
    found = square.grad(4, wide[::-3], out[:, 1], grads={"y": 1.0})
    assert found["x"].tolist() == (2 * wide[::-3]).tolist()
    assert out[:, 1].tolist() == (wide[::-3] ** 2).tolist() and not out[:, ::2].any()
    with pytest.raises(kc.ArgumentError, match="share memory"):
        square.grad(4, wide[::2][:4], wide[::2][1:5], grads={"y": 1.0})


def test_structs_and_vectors():
    @kc.struct
    class Particles:
        position: kc.array(dtype=kc.vec3)
        mass: kc.array(dtype=float)
        count: int

    @kc.kernel
    def energy(p: Particles, out: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(out, 0, p.mass[i] * kc.dot(p.position[i], p.position[i]))

    position = np.arange(6, dtype=np.float32).reshape(2, 3)
    mass = np.array([1, 2], np.float32)
    given = Particles(position=position, mass=mass, count=2)
    found = energy.grad(2, given, np.zeros(1, np.float32), grads={"out": 1.0})
    assert found["p.position"].tolist() == (2 * mass[:, None] * position).tolist()
    assert found["p.mass"].tolist() == [5, 50]


def test_refusals():
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    for grads, words in [
        ({}, "no gradient to start from"),
        ({"z": 1.0}, "no array of floats `z`"),
        ({"y": np.ones(2, np.float32)}, "shape (2,)"),
        ({"y": np.ones(3)}, "float64"),
    ]:
        with pytest.raises(kc.ArgumentError) as caught:
            square.grad(3, x, y, grads=grads)
        assert words in str(caught.value)
    with pytest.raises(kc.ArgumentError, match="E1006"):
        square.grad((3, 2), x, y, grads={"y": 1.0})

    @kc.kernel
    def clash(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i // 2] = x[i]

    with pytest.raises(kc.GradientError, match="E1108"):
        clash.grad(3, x, y, grads={"y": 1.0})

    @kc.kernel(enable_backward=False)
    def forward_only(x: kc.array(dtype=float)):
        x[kc.tid()] = 1.0

    forward_only(3, x)
    with pytest.raises(kc.Error):
        forward_only.grad(3, x, grads={"x": 1.0})
    with pytest.raises(kc.GradientError, match="enable_backward=False"):
        forward_only.jvp(3, x, tangents={"x": 1.0})


@kc.struct
class Spring:
    stiffness: kc.float64
    rest: kc.float64
    anchor: kc.types.vector(length=3, dtype=kc.float64)
    count: int


vec3d = kc.types.vector(length=3, dtype=kc.float64)


@kc.kernel
def springs(s: Spring, scale: kc.float64, x: kc.array(dtype=kc.vec3d), out: kc.array(dtype=kc.float64)):
    i = kc.tid()
    d = x[i] - s.anchor
    stretch = kc.length(d) - s.rest
    kc.atomic_add(out, 0, scale * s.stiffness * stretch * stretch)


def test_gradients_of_values(rng):
    x = rng.random((5, 3)) + 1.0

    def value(stiffness=2.0, rest=0.5, anchor=(0.1, 0.2, 0.3), scale=3.0):
        out = np.zeros(1)
        springs(5, Spring(stiffness=stiffness, rest=rest, anchor=vec3d(*anchor), count=1), scale, x, out)
        return out[0]

    given = Spring(stiffness=2.0, rest=0.5, anchor=vec3d(0.1, 0.2, 0.3), count=1)
    found = springs.grad(5, given, 3.0, x, np.zeros(1), grads={"out": 1.0})
    assert set(found) == {"s.stiffness", "s.rest", "s.anchor", "scale", "x", "out"}
    h = 1e-6
    assert found["scale"] == pytest.approx((value(scale=3 + h) - value(scale=3 - h)) / (2 * h), rel=1e-7)
    assert found["s.rest"] == pytest.approx((value(rest=0.5 + h) - value(rest=0.5 - h)) / (2 * h), rel=1e-7)
    up, down = value(anchor=(0.1, 0.2 + h, 0.3)), value(anchor=(0.1, 0.2 - h, 0.3))
    assert found["s.anchor"].shape == (3,) and found["s.anchor"][1] == pytest.approx((up - down) / (2 * h), rel=1e-6)
    without = springs.grad(5, given, 3.0, x, np.zeros(1), grads={"out": 1.0}, parameters=False)
    assert set(without) == {"x", "out"}
    np.testing.assert_array_equal(without["x"], found["x"])


def test_one_array_has_one_gradient():
    x = np.array([1, 2, 3], np.float32)
    found = square.grad(3, x, x, grads={"y": 1.0})
    # x becomes x * x.
    assert found["x"] is found["y"] and found["x"].tolist() == [2, 4, 6] and x.tolist() == [1, 4, 9]

    @kc.kernel
    def dot(a: kc.array(dtype=float), b: kc.array(dtype=float), out: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(out, 0, a[i] * b[i])

    x = np.array([1, 2, 3], np.float32)
    found = dot.grad(3, x, x, np.zeros(1, np.float32), grads={"out": 1.0})
    assert found["a"] is found["b"] and found["a"].tolist() == [2, 4, 6]
    # Read at different places: two gradients.
    found = dot.grad(2, x[1:], x[:-1], np.zeros(1, np.float32), grads={"out": 1.0})
    assert found["a"].tolist() == [1, 2] and found["b"].tolist() == [2, 3]
    wide = np.arange(8, dtype=np.float32)
    found = square.grad(4, wide[::2], wide[1::2], grads={"y": 1.0})
    assert found["x"].tolist() == [0, 4, 8, 12] and wide[1::2].tolist() == [0, 4, 16, 36]
    for one, two in [(1.0, 5.0), (1.0, 0.0)]:
        with pytest.raises(kc.ArgumentError, match="E1010.*`x` and `y` are one array, with two gradients"):
            square.grad(3, x, x, grads={"x": one, "y": two})
        with pytest.raises(kc.ArgumentError, match="E1010.*`x` and `y` are one array, with two tangents"):
            square.jvp(3, x, x, tangents={"x": one, "y": two})
    spread = np.broadcast_to(np.float32(3), (4,))
    assert square.grad(4, spread, np.zeros(4, np.float32), grads={"y": 1.0})["x"].tolist() == [6] * 4


def test_arrays_with_gradients():
    x = kc.array([1.0, 2.0, 3.0], requires_grad=True)
    y = kc.zeros(3, requires_grad=True)
    with pytest.raises(kc.ArgumentError, match="no gradient to start from"):
        square.grad(3, x, np.zeros(3, np.float32))
    y.grad.fill_(1.0)
    found = square.grad(3, x, y)
    assert found["x"] is x.grad.numpy() and x.grad.numpy().tolist() == [2, 4, 6] and not y.grad.numpy().any()
    square.grad(3, x, y, grads={"y": 10.0})
    assert x.grad.numpy().tolist() == [22, 44, 66]
    # Views of one array, whose gradients are views of one gradient.
    w, out = kc.array([1.0, 2.0, 3.0], requires_grad=True), np.zeros(1, np.float32)

    @kc.kernel
    def products(a: kc.array(dtype=float), b: kc.array(dtype=float), out: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(out, 0, a[i] * b[i])

    products.grad(2, w[1:], w[:2], out, grads={"out": 1.0})
    assert w.grad.numpy().tolist() == [2, 4, 2]
    products.grad(2, w[::-1][:2], w[:2], out, grads={"out": 1.0})
    assert w.grad.numpy().tolist() == [2 + 3, 4 + 4, 2 + 1]


def test_forward_mode(rng):
    x, w, v = rng.random(6), rng.random(6), rng.random(6)
    out = np.zeros(1)
    found = loss.jvp(6, x, w, out, tangents={"x": v})
    reverse = loss.grad(6, x, w, np.zeros(1), grads={"out": 1.0})
    assert set(found) == {"out"} and found["out"][0] == pytest.approx(reverse["x"] @ v, rel=1e-12)
    assert out[0] == pytest.approx((w * np.sin(x) * x).sum())
    # What is there already has a tangent, too.
    assert loss.jvp(6, x, w, np.zeros(1), tangents={"out": 2.0})["out"][0] == 2.0
    given, at = Spring(stiffness=2.0, rest=0.5, anchor=vec3d(0.1, 0.2, 0.3), count=1), rng.random((5, 3)) + 1.0
    reverse = springs.grad(5, given, 3.0, at, np.zeros(1), grads={"out": 1.0})
    along = {"s.anchor": (1.0, 0.0, 2.0), "scale": 0.5, "x": rng.random((5, 3))}
    ahead = springs.jvp(5, given, 3.0, at, np.zeros(1), tangents=along)["out"][0]
    back = reverse["s.anchor"] @ [1.0, 0.0, 2.0] + 0.5 * reverse["scale"] + (reverse["x"] * along["x"]).sum()
    assert ahead == pytest.approx(back, rel=1e-12)
    x = np.array([1, 2, 3], np.float32)
    assert square.jvp(3, x, x, tangents={"x": 1.0})["y"].tolist() == [2, 4, 6] and x.tolist() == [1, 4, 9]


def test_forward_mode_of_largest():
    @kc.kernel
    def largest(x: kc.array(dtype=float), out: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_max(out, 0, x[i])

    x = np.random.default_rng(1).random(10_000).astype(np.float32)
    tangent = np.arange(10_000, dtype=np.float32)
    found = largest.jvp(10_000, x, np.zeros(1, np.float32), tangents={"x": tangent})
    assert found["out"][0] == x.argmax()


def test_forward_mode_refusals():
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    for tangents, words in [
        ({"z": 1.0}, "no floats `z`; it has `x`, `y`"),
        ({"x": np.ones(2, np.float32)}, "shape (2,)"),
        ({"x": np.ones(3)}, "float64"),
    ]:
        with pytest.raises(kc.ArgumentError) as caught:
            square.jvp(3, x, y, tangents=tangents)
        assert words in str(caught.value)
    with pytest.raises(kc.ArgumentError):
        springs.jvp(1, {"stiffness": 1.0}, 1.0, np.zeros((1, 3)), np.zeros(1), tangents={"scale": 1.0})
    with pytest.raises(kc.IndexError):
        square.jvp(4, x, y, tangents={"x": 1.0})
    with pytest.raises(kc.ArgumentError, match="share memory"):
        square.jvp(2, x[:2], x[1:], tangents={"x": 1.0})

    @kc.kernel
    def clash(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i // 2] = x[i]

    with pytest.raises(kc.GradientError, match="E1108"):
        clash.jvp(3, np.arange(3, dtype=np.float32), y, tangents={"x": 1.0})


@kc.kernel
def snapped(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * float(int(x[i]))


@kc.kernel
def directions(v: kc.array(dtype=kc.vec3), out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = kc.normalize(v[i])[0]


def test_what_should_be_known_of_a_gradient_is_told_once():
    x, y = np.array([1.5, 2.5], np.float32), np.zeros(2, np.float32)
    with pytest.warns(kc.GradientWarning) as told:
        found = snapped.grad(2, x, y, grads={"y": 1.0})
    assert found["x"].tolist() == [1, 2]
    assert [one.message.code for one in told] == ["W0604"]
    assert "float(int(x[i]))" in str(told[0].message) and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snapped.grad(2, x, y, grads={"y": 1.0})


def test_a_point_where_a_convention_decides_is_told():
    v, out = np.array([[1, 2, 2], [0, 0, 0]], np.float32), np.zeros(2, np.float32)
    with pytest.warns(kc.GradientWarning, match=r"thread \(1\)") as told:
        found = directions.grad(2, v, out, grads={"out": 1.0})
    assert [one.message.code for one in told] == ["W1120"] and found["v"][1].tolist() == [0, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", kc.GradientWarning)
        with pytest.raises(kc.GradientWarning):
            kc.compile(directions._kc_kernel).grad(2, v, out, grads={"out": 1.0})


@kc.kernel
def at_rest(x: kc.array(dtype=kc.vec3), y: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    y[i] = kc.normalize(x[i]) * kc.length(x[i])


@pytest.mark.parametrize("way", ["grad", "tape"])
def test_a_product_that_a_convention_decides_is_told(way):
    """``y`` is ``x``, with the gradient 1; each factor has none at 0, and sends an adjoint of 0 to the other."""

    def gradient(kernel, x):
        y = np.zeros_like(x)
        if way == "grad":
            return kernel.grad(len(x), x, y, grads={"y": 1.0})["x"]
        with kc.Tape() as tape:
            kernel(len(x), x, y)
        tape.backward(grads=[(y, np.ones_like(y))])
        return tape.gradient(x)

    kernel = kc.compile(at_rest._kc_kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kc.GradientWarning)
        assert gradient(kernel, np.ones((3, 3), np.float32)) == pytest.approx(1)
    with pytest.warns(kc.GradientWarning, match="beside this point") as told:
        assert gradient(kernel, np.zeros((3, 3), np.float32)).tolist() == [[0, 0, 0]] * 3
    assert [one.message.code for one in told] == ["W1120"]


def test_a_gradient_that_is_none_is_an_error():
    x, y = np.ones(2, np.float32), np.zeros(2, np.float32)

    @kc.kernel
    def double(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = 2.0 * x[i]

    for run in (lambda: double.grad(2, x, y, grads={"y": None}), lambda: double.jvp(2, x, y, tangents={"x": None})):
        with pytest.raises(kc.ArgumentError, match="is None\n.*leave it out"):
            run()
    with kc.Tape() as tape:
        double(2, x, y)
    with pytest.raises(kc.ArgumentError, match="is None"):
        tape.backward(grads=[(y, None)])


@pytest.fixture
def short_look():
    _native.look_for(50_000)
    yield
    _native.look_for(50_000_000)


def test_launches_of_which_not_all_threads_are_looked_at(recwarn, short_look):
    @kc.kernel
    def scatter(x: kc.array(dtype=float), to: kc.array(dtype=int), y: kc.array(dtype=float)):
        i = kc.tid()
        v = float(0.0)
        for n in range(20):
            v = v + x[(i + n) % 20] * x[i]
        y[to[i]] = v

    def record(n, *arguments):
        with kc.Tape():
            scatter(n, *arguments)

    def told():
        return [warning for warning in recwarn if getattr(warning.message, "code", "") == "W1122"]

    x, to, y = np.ones(8192, np.float32), np.arange(8192, dtype=np.int32), np.zeros(8192, np.float32)
    # All of a smaller launch is looked at, and nothing is said.
    record(64, x, to, y)
    assert not told()
    for run in (lambda: record(8192, x, to, y), lambda: scatter.jvp(8192, x, to, y, tangents={"x": x})):
        recwarn.clear()
        run()
        (warning,) = told()
        words = re.search(r"looked at ([\d,]+) of 8,192 threads: whether the order of the others shows is not known", str(warning.message))
        assert warning.filename == __file__ and words
        assert 0 < int(words[1].replace(",", "")) < 8192
        recwarn.clear()
        run()
        assert not told()
