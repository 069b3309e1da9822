"""Functions that return several tiles and local arrays, beside numbers too, and tuples of tiles, against numpy."""

from typing import Any

import numpy as np
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
    u[1] = 7.0
    return u, t


@wp.func
def chosen(t: Any, n: int):
    if n > 2:
        return t * 3.0, n
    for i in range(n):
        if i == 1:
            return t * t, i
    return t, 0


@wp.kernel
def several(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=6)
    a, s, n, q = parts(t, 2.0)
    small, least, _, _ = parts(t[1:3], s)
    wp.tile_store(y, a * s * float(n) - q)
    # What is dropped, and what is taken out of what a call gives.
    twice(t)
    wp.tile_store(z, small + wp.tile_full(shape=2, value=least) + twice(t[2:4])[1])


@wp.kernel
def same(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=6)
    # Each is a tile of its own, and none is the argument.
    a, b = twice(t)
    a += t
    b -= a
    u, v = changed(t)
    u[0] = 5.0
    wp.tile_store(y, a * 10.0 + b + t * 100.0 + v * 1000.0)
    wp.tile_store(z, u)


@wp.kernel
def in_loops(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), n: int):
    t = wp.tile_load(x, shape=6)
    count = int(0)
    for k in range(n):
        t, m = chosen(t, k)
        if m > 0:
            u, v = chosen(t, n)
            t += u
            count += v + m
    wp.tile_store(y, t)
    z[0] = float(count)


@wp.kernel
def tuples(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=6)
    a, b = t * 2.0, t * 3.0
    low, high = t[0:2], t[4:6]
    low[0] = 9.0
    a, s, b = b, a[1], a + t
    a, b = b, a
    wp.tile_store(y, a * s + b)
    wp.tile_store(z, low * high)


@wp.func
def sometimes(t: Any, k: int):
    if k > 1:
        return t, 5


@wp.kernel
def without_return(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=6)
    total = wp.tile_zeros(shape=6, dtype=float)
    for j in range(4):
        # Zeros where no `return` is reached, and not what the call before gave.
        u, k = sometimes(t * float(j + 1), 3 - j)
        total += u * float(k) + u
    wp.tile_store(y, total)


@wp.func
def arrays(a: wp.array(dtype=float), s: float):
    b = wp.zeros(shape=2, dtype=float)
    c = wp.zeros(shape=(2, 2), dtype=float)
    b[0] = a[1] * s
    b[1] = a[0] + a[1]
    c[1, 1] = s * a[0]
    return b, s * s, c


@wp.func
def passed(a: wp.array(dtype=float), s: float):
    return arrays(a, s + 1.0)


@wp.func
def turned(a: wp.array(dtype=float)):
    b = wp.zeros(shape=2, dtype=float)
    b[0] = a[1]
    b[1] = a[0]
    return b


@wp.kernel
def of_threads(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), n: int):
    i = wp.tid()
    b = wp.zeros(shape=2, dtype=float)
    b[0] = x[i]
    b[1] = 1.0
    # The function still reads what the name stood for.
    for k in range(n):
        b = turned(b)
        d = wp.zeros(shape=2, dtype=float)
        d[0] = b[1]
        d[1] = b[0]
        b = d
        b = turned(b)
    old = b
    old[1] = 50.0
    old, b = b, old
    b, old = old, b
    if n > 1:
        old = turned(old)
        b = b
    b, s, c = passed(b, x[i])
    r = arrays(b, 2.0)
    arrays(b, 3.0)
    y[i] = b[0] + 10.0 * b[1] + 100.0 * s + 1000.0 * c[1, 1]
    z[i] = r[0][0] + r[1] + r[2][1, 1] + old[0] + old[1]


def cases():
    x = np.arange(1.0, 7.0)
    empty = np.zeros(6)

    def tiled(kernel, dim, args, expect):
        return case(kernel, dim, dict(x=x, y=empty, z=empty) | args, expect, block_dim=1)

    total = x.sum() * 2.0
    small = x[1:3] * total
    yield tiled(
        "several",
        1,
        {},
        dict(y=x * 2.0 * total * 3.0 - x * x, z=np.append(small + x[1:3].sum() * total + x[2:4], np.zeros(4))),
    )
    v = np.append([2.0, 7.0], x[2:] * 2.0)
    yield tiled("same", 1, {}, dict(y=x * 2.0 * 10.0 - x + x * 100.0 + v * 1000.0, z=[5.0, 7.0, 0, 0, 0, 0]))

    def chosen_here(t, n):
        return (t * 3.0, n) if n > 2 else (t * t, 1) if n == 2 else (t, 0)

    for n in range(5):
        t, count = x, 0
        for k in range(n):
            t, m = chosen_here(t, k)
            if m > 0:
                u, v = chosen_here(t, n)
                t, count = t + u, count + v + m
        yield case("in_loops", 1, dict(x=x, y=empty, z=empty, n=n), dict(y=t, z=[count, 0, 0, 0, 0, 0]), id=f"in_loops_{n}", block_dim=1)
    yield tiled("without_return", 1, {}, dict(y=x * 18.0))
    first = np.append(9.0, x[1:])
    yield tiled("tuples", 1, {}, dict(y=(x * 2.0 + first) * 4.0 + x * 3.0, z=np.append([45.0, 12.0], np.zeros(4))))
    for n in range(3):
        a = (x, np.ones(6)) if n % 2 == 0 else (np.ones(6), x)
        s = x + 1.0
        b = (a[1] * s, a[0] + a[1])
        yield case(
            "of_threads",
            6,
            dict(x=x, y=empty, z=empty, n=n),
            dict(y=b[0] + 10.0 * b[1] + 100.0 * s * s + 1000.0 * s * a[0], z=b[1] * 2.0 + 4.0 + 2.0 * b[0] + a[0] + 50.0),
            id=f"of_threads_{n}",
        )
