"""Gradients of what kernels are given by value: sums over all threads."""

import numpy as np
import warp as wp


@wp.struct
class Inner:
    a: float
    n: int
    m: wp.mat22d


@wp.struct
class Spring:
    rest: wp.array(dtype=float)
    k: float
    v: wp.vec3
    inner: Inner
    unused: wp.float64


@wp.kernel
def square(y: wp.array(dtype=float), s: float):
    i = wp.tid()
    y[i] = s * s


@wp.kernel
def line(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float, b: float, n: int):
    i = wp.tid()
    y[i] = a * x[i] + b * float(n)


@wp.kernel
def springs(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64), p: Spring):
    i = wp.tid()
    f = p.k * (x[i] - p.rest[i]) + p.v[2] * p.inner.a
    y[i] = wp.float64(f) * p.inner.m[1, 0]


@wp.kernel
def halves(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float16), s: wp.float16):
    i = wp.tid()
    y[i] = x[i] * s


@wp.kernel
def power(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), s: wp.float64, n: int):
    i = wp.tid()
    t = x[i]
    if i == 0:
        y[i] = s
        return
    for k in range(n):
        t = t * s
        if t > wp.float64(2.0):
            break
    y[i] = t


@wp.kernel
def rotate(x: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.vec3d), t: wp.transformd, m: wp.mat33d):
    i = wp.tid()
    y[i] = m * wp.transform_point(t, x[i])


@wp.kernel
def overwritten(x: wp.array(dtype=wp.float64), s: wp.float64):
    i = wp.tid()
    x[i] = x[i] * s
    x[i] = x[i] * x[i] * s


@wp.kernel
def integers(x: wp.array(dtype=int), s: float, k: int):
    i = wp.tid()
    x[i] = k + int(s)


@wp.kernel
def not_used(x: wp.array(dtype=float), y: wp.array(dtype=float), s: float):
    i = wp.tid()
    y[i] = x[i] * x[i]


def cases():
    rng = np.random.default_rng(3)
    for n in (0, 1, 37, 3000):
        ones = np.ones(n, np.float32)
        s = np.float32(1.7)
        yield case("square", n, {"y": 0 * ones, "y.grad": ones, "s": 1.7}, {"s.grad": 2.0 * n * s}, id=f"square_{n}")
        # More than a float16 can count.
        yield case("halves", n, {"x": ones, "y": ones, "y.grad": ones, "s": 3.0}, {"s.grad": n}, id=f"halves_{n}")
    n = 500
    x, seed = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    yield case("line", n, {"x": x, "y": 0 * x, "y.grad": seed, "a": 2.0, "b": 3.0, "n": 7},
               {"a.grad": np.dot(x.astype(float), seed), "b.grad": 7.0 * seed.sum(dtype=float), "x.grad": 2 * seed})
    # So few that host and interpreter add them up in the same order, although no sum is exact.
    n = 3
    x, seed = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n).astype(np.float32)
    rest, v, m = rng.standard_normal(n).astype(np.float32), np.float32([1.5, -2.0, 0.25]), np.array([[1.0, 2.0], [3.0, 4.0]])
    inner = {"a": 0.5, "n": 3, "m": m}
    g = rng.standard_normal(n)
    k = np.float32(0.75)
    dm = np.zeros((2, 2))
    dm[1, 0] = np.dot(g, k * (x - rest) + v[2] * np.float32(0.5))
    yield case("springs", n, {"x": x, "y": 0 * g, "y.grad": g, "p": {"rest": rest, "k": 0.75, "v": v, "inner": inner, "unused": 1.0}},
               {"p.k.grad": np.dot(3.0 * g, x.astype(float) - rest), "p.v.grad": np.array([0, 0, 0.5 * 3.0 * g.sum()]),
                "p.inner.a.grad": 3.0 * 0.25 * g.sum(), "p.inner.m.grad": dm, "p.unused.grad": 0.0}, rtol=3e-6, atol=1e-5)
    z, s, turns = rng.uniform(-2, 2, n), 1.3, 6
    value, slope = z.copy(), np.zeros(n)
    for i in range(1, n):
        for _ in range(turns):
            slope[i], value[i] = slope[i] * s + value[i], value[i] * s
            if value[i] > 2.0:
                break
    slope[0] = 1.0
    yield case("power", n, {"x": z, "y": 0 * z, "y.grad": g, "s": s, "n": turns}, {"s.grad": np.dot(g, slope)}, rtol=1e-12, atol=1e-9)
    n = 2
    points, seeds = rng.standard_normal((n, 3)), rng.standard_normal((n, 3))
    q = np.array([0.1, -0.3, 0.2, 0.9])
    q /= np.linalg.norm(q)
    t, mat = np.concatenate([[1.0, 2.0, -1.0], q]), rng.standard_normal((3, 3))

    def moved(t, mat):
        u, w = t[3:6], t[6]
        turned = points * (2 * w * w - 1) + 2 * w * np.cross(u, points) + 2 * np.outer(points @ u, u)
        return np.sum(seeds * ((turned + t[:3]) @ mat.T))

    def differences(f, at):
        out = np.zeros(at.shape)
        for index in np.ndindex(*at.shape):
            step = np.zeros(at.shape)
            step[index] = 1e-5
            out[index] = (8 * (f(at + step) - f(at - step)) - (f(at + 2 * step) - f(at - 2 * step))) / 12e-5
        return out

    yield case("rotate", n, {"x": points, "y": 0 * points, "y.grad": seeds, "t": t, "m": mat},
               {"t.grad": differences(lambda t: moved(t, mat), t), "m.grad": differences(lambda mat: moved(t, mat), mat)}, rtol=1e-7, atol=1e-7)
    z, g = rng.uniform(-2, 2, n), rng.standard_normal(n)
    yield case("overwritten", n, {"x": z, "x.grad": g, "s": s}, {"s.grad": np.dot(g, 3 * s * s * z * z), "x.grad": g * 2 * z * s**3},
               rtol=1e-12, atol=1e-9)
    yield case("integers", 5, {"x": np.zeros(5, int), "s": 2.5, "k": 3}, {"x": np.full(5, 5), "s.grad": 0.0})
    x, seed = x[:2], seed[:2]
    yield case("not_used", n, {"x": x, "y": x, "y.grad": seed, "s": 2.0}, {"x.grad": 2 * x * seed, "s.grad": 0.0})
