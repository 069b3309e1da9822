"""`min`, `max` and `clamp` in every order with NaN, infinities and both zeros: a NaN loses, and -0 is below 0. In lanes, and in
the scalar code of what is the same for all threads."""

import itertools
from typing import Any

import numpy as np
import warp as wp


@wp.func
def nested(x: Any, y: Any, c: Any, n: Any, out: Any):
    """`c` is a constant, `n` was an integer: no NaN, as a compiler can see."""
    out[0] = wp.min(wp.max(x, c), x)
    out[1] = wp.min(x, wp.max(x, c))
    out[2] = wp.max(wp.min(x, c), x)
    out[3] = wp.max(x, wp.min(c, x))
    out[4] = wp.min(wp.max(x, y), x)
    out[5] = wp.max(wp.min(x, y), y)
    out[6] = wp.min(wp.max(x, y), wp.min(x, y))
    out[7] = wp.min(n, x)
    out[8] = wp.max(x, n)
    out[9] = wp.min(wp.max(wp.abs(wp.max(y, c)), x), y)
    out[10] = wp.clamp(x, c, y)
    out[11] = wp.clamp(x, y, c)
    out[12] = wp.clamp(c, x, y)
    out[13] = wp.clamp(n, x, y)
    out[14] = wp.max(wp.where(x > y, n, c), y)
    out[15] = wp.min(wp.min(wp.min(x, c), y), x)


@wp.kernel
def lanes_float(x: wp.array(dtype=float), y: wp.array(dtype=float), n: wp.array(dtype=int), out: wp.array2d(dtype=float)):
    i = wp.tid()
    nested(x[i], y[i], 0.5, float(n[i]), out[i])


@wp.kernel
def lanes_double(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), n: wp.array(dtype=int), out: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    nested(x[i], y[i], wp.float64(0.5), wp.float64(n[i]), out[i])


@wp.kernel
def lanes_half(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float16), n: wp.array(dtype=int), out: wp.array2d(dtype=wp.float16)):
    i = wp.tid()
    nested(x[i], y[i], wp.float16(0.5), wp.float16(n[i]), out[i])


# One thread goes through all elements: scalar code.


@wp.kernel
def scalar_float(x: wp.array(dtype=float), y: wp.array(dtype=float), n: wp.array(dtype=int), out: wp.array2d(dtype=float)):
    for i in range(x.shape[0]):
        nested(x[i], y[i], 0.5, float(n[i]), out[i])


@wp.kernel
def scalar_double(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), n: wp.array(dtype=int), out: wp.array2d(dtype=wp.float64)):
    for i in range(x.shape[0]):
        nested(x[i], y[i], wp.float64(0.5), wp.float64(n[i]), out[i])


@wp.kernel
def scalar_half(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float16), n: wp.array(dtype=int), out: wp.array2d(dtype=wp.float16)):
    for i in range(x.shape[0]):
        nested(x[i], y[i], wp.float16(0.5), wp.float16(n[i]), out[i])


def order(x):
    return x, np.copysign(1.0, x)


def low(a, b):
    return b if np.isnan(a) else a if np.isnan(b) else min(a, b, key=order)


def high(a, b):
    return b if np.isnan(a) else a if np.isnan(b) else max(a, b, key=order)


def clamp(x, a, b):
    return low(high(a, x), b)


def expected(x, y, n, c=0.5):
    return [
        low(high(x, c), x), low(x, high(x, c)), high(low(x, c), x), high(x, low(c, x)), low(high(x, y), x),
        high(low(x, y), y), low(high(x, y), low(x, y)), low(n, x), high(x, n), low(high(abs(high(y, c)), x), y),
        clamp(x, c, y), clamp(x, y, c), clamp(c, x, y), clamp(n, x, y), high(n if x > y else c, y),
        low(low(low(x, c), y), x),
    ]


def cases():
    values = [np.nan, -np.nan, 0.0, -0.0, 0.5, -0.5, 2.0, np.inf, -np.inf]
    rows = [(x, y, n) for x, y in itertools.product(values, values) for n in [0, -1, 1]]
    x, y, n = (np.array(column) for column in zip(*rows))
    expect = np.array([expected(x, y, float(n)) for x, y, n in rows])
    for name, dtype in [("float", np.float32), ("double", np.float64), ("half", np.float16)]:
        args = {"x": x.astype(dtype), "y": y.astype(dtype), "n": n, "out": np.zeros(expect.shape, dtype)}
        for form, threads in [("lanes", len(rows)), ("scalar", 1)]:
            yield case(f"{form}_{name}", threads, args, {"out": expect.astype(dtype)}, 0.0, 0.0)
