"""Gradients: the right numbers, or an exception."""

import kc
import numpy as np
import pytest
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
    with pytest.raises(kc.GradientError, match="E1103"):
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
