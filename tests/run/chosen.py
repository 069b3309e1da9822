"""Gradients of what is read from one of several arrays, which a branch, a loop or a function chooses, and of large local arrays."""

import numpy as np
import warp as wp


@wp.kernel
def branched(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x
    if z[i] > 1.0:
        a = z
    for k in range(3):
        y[i] += a[(i + k) % 4] * x[k]


@wp.kernel
def swapped(x: wp.array(dtype=float), z: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    a = x
    b = z
    s = float(1.0)
    for k in range(n):
        s = s * a[i]
        t = a
        a = b
        b = t
    y[i] = s


@wp.func
def one_of(x: wp.array(dtype=float), z: wp.array(dtype=float), i: int):
    if i % 2 == 0:
        return x
    return z


@wp.kernel
def returned(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = one_of(x, z, i)[i] * x[i]


@wp.kernel
def row(m: wp.array2d(dtype=float), n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    r = m[0]
    s = float(0.0)
    for k in range(n):
        if k > i:
            r = m[1]
        s += r[i] * r[i]
    y[i] = s


@wp.kernel
def stored(x: wp.array(dtype=float), p: wp.array(dtype=float), q: wp.array(dtype=float), n: int):
    i = wp.tid()
    a = p
    for k in range(n):
        if k == i:
            a = q
    a[i] = x[i] * x[i]


@wp.kernel
def large(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """The sum of (x j)^3 for j < 300, in three steps that overwrite each other."""
    i = wp.tid()
    t = wp.zeros(shape=300, dtype=float)
    for j in range(300):
        t[j] = x[i] * (float(j) * 0.0625)
    for j in range(300):
        t[j] = t[j] * t[j] * t[j]
    s = float(0.0)
    for j in range(300):
        s += t[j]
    y[i] = s


def cases():
    x, z = np.array([1.0, 2.0, -3.0, 0.5]), np.array([4.0, -1.0, 2.0, 0.25])
    w = np.array([1.0, -2.0, 3.0, 5.0])
    y, by_x, by_z = np.zeros(4), np.zeros(4), np.zeros(4)
    for i in range(4):
        a, by_a = (z, by_z) if z[i] > 1 else (x, by_x)
        for k in range(3):
            y[i] += a[(i + k) % 4] * x[k]
            by_a[(i + k) % 4] += w[i] * x[k]
            by_x[k] += w[i] * a[(i + k) % 4]
    args = {"x": x, "z": z, "y": np.zeros(4), "y.grad": w}
    # What accumulates keeps the gradient of what was there.
    yield case("branched", 4, args, {"y": y, "x.grad": by_x, "z.grad": by_z, "y.grad": w})

    # Three turns: x z x, so x^2 z.
    args = {"x": x, "z": z, "n": 3, "y": np.zeros(4), "y.grad": w}
    yield case("swapped", 4, args, {"y": x * x * z, "x.grad": w * 2 * x * z, "z.grad": w * x * x})

    even = np.array([1.0, 0.0, 1.0, 0.0])
    args = {"x": x, "z": z, "y": np.zeros(4), "y.grad": w}
    by_x = w * (even * 2 * x + (1 - even) * z)
    yield case("returned", 4, args, {"y": x * (even * x + (1 - even) * z), "x.grad": by_x, "z.grad": w * (1 - even) * x})

    # Thread i reads row 0 in its first i + 1 turns, row 1 in the others.
    m, turns = np.array([x, z]), 3
    first = np.minimum(np.arange(4) + 1, turns)
    args = {"m": m, "n": turns, "y": np.zeros(4), "y.grad": w}
    by_m = np.array([2 * w * first * x, 2 * w * (turns - first) * z])
    yield case("row", 4, args, {"y": first * x * x + (turns - first) * z * z, "m.grad": by_m})

    # Threads 0 and 1 store to q, the others to p.
    p, q, v = np.array([9.0, 8.0, 7.0, 6.0]), np.array([5.0, 4.0, 3.0, 2.0]), np.array([1.0, 2.0, 4.0, -1.0])
    to_q = np.array([1.0, 1.0, 0.0, 0.0])
    args = {"x": x, "p": p, "q": q, "n": 2, "p.grad": w, "q.grad": v}
    given = to_q * v + (1 - to_q) * w
    kept = {"p": to_q * p + (1 - to_q) * x * x, "q": (1 - to_q) * q + to_q * x * x}
    yield case("stored", 4, args, kept | {"x.grad": 2 * x * given, "p.grad": to_q * w, "q.grad": (1 - to_q) * v})

    cubes = sum((j * 0.0625) ** 3 for j in range(300))
    args = {"x": x, "y": np.zeros(4), "y.grad": w}
    yield case("large", 4, args, {"y": cubes * x**3, "x.grad": w * 3 * cubes * x**2})
