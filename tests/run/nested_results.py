"""Functions that return tuples among their values: against Python, with gradients."""

from typing import Tuple

import numpy as np
import warp as wp


@wp.func
def find(x: float, n: int) -> Tuple[int, Tuple[float, float]]:
    low = x
    high = 2.0 * x
    for i in range(8):
        if i == n:
            return i, (low, high)
        low = low + 1.0
        high = high * x
    return -1, (0.5 * x, low)


@wp.func
def passed_on(x: float, n: int):
    return find(x, n)


@wp.kernel
def nested(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    n, ends = passed_on(x[i], i * 2)
    out[i, 0] = float(n)
    out[i, 1] = ends[0] * ends[1]
    whole = find(x[i], 1)
    out[i, 2] = whole[1][1] - whole[1][0]


@wp.kernel
def swapped(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    a = x[i]
    b = 3.0
    # All are read before a name changes.
    a, pair = b, (a, b + a)
    b, pair = pair[1], (pair[1], pair[0])
    out[i, 0] = a
    out[i, 1] = b
    out[i, 2] = pair[0] + 10.0 * pair[1]


def python_find(x, n):
    low, high = x, 2.0 * x
    for i in range(8):
        if i == n:
            return i, (low, high)
        low, high = low + 1.0, high * x
    return -1, (0.5 * x, low)


def cases():
    x = np.array([0.5, -1.25, 2.0, 1.5, 0.75, 3.0])
    values = np.zeros((6, 3))
    slopes = np.zeros(6)
    weight = np.array([0.0, 1.0, -2.0])
    for i, v in enumerate(x):
        for sign in (0, 1, -1):
            at = v + sign * 1e-6
            n, ends = python_find(at, 2 * i)
            other = python_find(at, 1)
            row = np.array([n, ends[0] * ends[1], other[1][1] - other[1][0]])
            if sign == 0:
                values[i] = row
            else:
                slopes[i] += sign * (weight @ row) / 2e-6
    args = {"x": x.astype(np.float32), "out": np.zeros((6, 3), np.float32), "out.grad": np.tile(weight, (6, 1)).astype(np.float32)}
    want = {"out": values.astype(np.float32), "x.grad": slopes.astype(np.float32)}
    yield case("nested", 6, args, want, rtol=2e-5, atol=1e-5)

    swaps = np.stack([np.full(6, 3.0), 3.0 + x, 3.0 + x + 10.0 * x], axis=1).astype(np.float32)
    yield case("swapped", 6, {"x": x.astype(np.float32), "out": np.zeros_like(swaps)}, {"out": swaps}, rtol=1e-6, atol=0)
