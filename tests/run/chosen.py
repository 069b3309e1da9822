"""Gradients of what is read from one of two arrays: the one that a function returned, or a branch chose."""

import numpy as np
import warp as wp


@wp.func
def one_of(c: int, x: wp.array(dtype=float), z: wp.array(dtype=float)):
    if c > 0:
        return x
    return z


@wp.kernel
def returned(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = one_of(i % 2, x, z)
    y[i] = a[i] * a[i]


@wp.kernel
def branched(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x
    if z[i] > 1.0:
        a = z
    for k in range(3):
        y[i] += a[(i + k) % 4] * x[k]


def cases():
    x, z = np.array([1.0, 2.0, -3.0, 0.5]), np.array([4.0, -1.0, 2.0, 0.25])
    w = np.array([1.0, -2.0, 3.0, 5.0])
    odd = np.arange(4) % 2 == 1
    args = {"x": x, "z": z, "y": np.zeros(4), "y.grad": w}
    expect = {"y": np.where(odd, x, z) ** 2, "x.grad": np.where(odd, 2 * w * x, 0), "z.grad": np.where(odd, 0, 2 * w * z)}
    yield case("returned", 4, args, expect)
    y, by_x, by_z = np.zeros(4), np.zeros(4), np.zeros(4)
    for i in range(4):
        a, by_a = (z, by_z) if z[i] > 1 else (x, by_x)
        for k in range(3):
            y[i] += a[(i + k) % 4] * x[k]
            by_a[(i + k) % 4] += w[i] * x[k]
            by_x[k] += w[i] * a[(i + k) % 4]
    # What accumulates keeps the gradient of what was there.
    yield case("branched", 4, args, {"y": y, "x.grad": by_x, "z.grad": by_z, "y.grad": w})
