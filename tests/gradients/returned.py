"""Gradients of functions that return several tiles and local arrays, beside numbers too, and of tuples of tiles."""
from typing import Any

import warp as wp


@wp.func
def parts(t: Any, s: float):
    return t * s, wp.tile_sum(t)[0] * s, 3, t * t


@wp.func
def twice(t: Any):
    return t, t


@wp.func
def changed(t: Any):
    t *= 2.0
    u = t[0:2]
    u[1] = u[0] * u[1]
    return u, t


@wp.func
def choose(t: Any, n: int):
    if n > 2:
        return t * 3.0, n
    for i in range(n):
        if i == 1:
            return t * t, i
    return t, 0


@wp.func
def onward(t: Any, n: int):
    return choose(t * 2.0, n)


@wp.kernel
def several(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, offset=i * 4)
    a, s, n, q = parts(t, y[i])
    small, least, _, _ = parts(t[1:3], s)
    r = parts(q, least)
    wp.tile_store(out, a * s * float(n) - q * wp.tile_sum(small)[0] + r[0] * r[1] + r[3], offset=i * 4)


@wp.kernel
def same(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, offset=i * 4)
    a, b = twice(t)
    a += t
    b *= a
    t, a = twice(b + t)
    t += a * b
    u, v = changed(t)
    wp.tile_store(out, (a + v) * wp.tile_sum(u)[0] + t, offset=i * 4)


@wp.kernel
def in_loops(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, offset=i * 4)
    for k in range(n % 4 + 1):
        t, m = onward(t * 0.5, k)
        if m > 0:
            u, v = choose(t * 0.5, n)
            t += u * float(v + m) * 0.1
    wp.tile_store(out, t, offset=i * 4)


@wp.kernel
def tuples(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, offset=i * 4)
    a, b = t * 2.0, t * t
    low, high = a[0:2], b[2:4]
    low += high
    c, d = a * b, t
    for k in range(n % 3 + 1):
        c, s, d = d * 0.5, c[1] * d[0], c + t
        d = d * s
    wp.tile_store(out, c * d + t, offset=i * 4)


@wp.func
def arrays(a: wp.array(dtype=float), s: float):
    b = wp.zeros(shape=2, dtype=float)
    c = wp.zeros(shape=(2, 2), dtype=float)
    b[0] = a[1] * s
    b[1] = a[0] * a[1]
    c[1, 1] = s * a[0]
    return b, s * s, c


@wp.func
def passed(a: wp.array(dtype=float), s: float):
    return arrays(a, s + 1.0)


@wp.kernel
def of_threads(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    b = wp.zeros(shape=2, dtype=float)
    b[0] = 1.0 + x[i]
    b[1] = x[i]
    b, s, c = passed(b, x[i])
    b[0] += s * c[1, 1]
    r = arrays(b, 2.0)
    out[i] = b[0] * b[1] + r[1] + r[0][1]


@wp.func
def powers_of(x: float):
    a = wp.zeros(shape=3, dtype=float)
    a[0] = x
    a[1] = x * x
    a[2] = x * a[1]
    return a


@wp.func
def weighed(a: wp.array(dtype=float)):
    return a[0] + 0.5 * a[1] * a[2]


@wp.kernel
def passed_on(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = weighed(powers_of(x[i])) + powers_of(x[i])[2]
    for j in range(2):
        s += weighed(powers_of(0.5 * s))
    out[i] = s
