"""Tiles whose elements other threads have each time, or that one thread changes: against numpy."""

import numpy as np
import warp as wp


@wp.kernel
def swept(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float), n: int):
    t = wp.tile_load(a, shape=(16, 40))
    # Each loop begins elsewhere, so that a column has another thread in each row.
    for i in range(1, 16):
        for j in range(i, 40):
            t[i, j] = t[i, j] - 0.5 * t[i - 1, j]
    for i in range(n):
        for j in range(39 - i % 4, -1, -1):
            t[i % 2, j] += t[1 - i % 2, j] * 0.25
    k = int(0)
    while k < n:
        for j in range(k % 3, 40, 2):
            t[2, j] = t[3, j] + t[2, j] * 0.5
            t[3, j] = t[2, j] + 1.0
        k += 1
    wp.tile_store(out, t)


@wp.kernel
def viewed(a: wp.array2d(dtype=float), out: wp.array(dtype=float), n: int):
    t = wp.tile_load(a[0], shape=32)
    for k in range(n):
        part = a[1, k : k + 32]
        for j in range(32):
            part[j] = part[j] * 0.5 + t[j]
    first = a[2]
    for j in range(32):
        first[j] = t[j] * 2.0
    for j in range(32):
        t[j] = a[j % 3, 0] + t[j]
    wp.tile_store(out, t)


@wp.kernel
def by_one(x: wp.array(dtype=float), out: wp.array2d(dtype=float), n: int):
    i = wp.tid()
    value = x[i]
    t = wp.tile_full(shape=28, value=0.125, dtype=float)
    u = t
    k = int(0)
    while k < n:
        # Of all threads one does this: the others read nothing of it.
        if value > 0.1:
            u[6] = u[2] * 2.0 + u[6]
        k += 1
        if k == 2:
            continue
        wp.tile_store(out[2 * i + 1], t)
    for k in range(n):
        if value > 0.5:
            u[9] = u[9] + u[10] * value
        wp.tile_store(out[2 * i + 1], t)
    wp.tile_store(out[2 * i], u)


@wp.kernel
def by_its_number(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    h = wp.tid()
    t = wp.tile_load(x, shape=8)
    # Of the iterations that threads share one changes the element.
    for j in range(3):
        if h == j:
            t[5] += x[j]
    for i in range(3):
        for j in range(4):
            if j == i + h:
                t[6] = t[6] * 0.5 + x[j]
    wp.tile_store(out[h], t)


def cases():
    def tiled(kernel, dim, args, expect, **more):
        return case(kernel, dim, args, expect, block_dim=1, **more)

    rng = np.random.default_rng(7)
    a = rng.normal(size=(16, 40)).astype(np.float32)
    n = 7
    t = a.astype(np.float64)
    for i in range(1, 16):
        t[i, i:] -= 0.5 * t[i - 1, i:]
    for i in range(n):
        t[i % 2, : 40 - i % 4] += t[1 - i % 2, : 40 - i % 4] * 0.25
    for k in range(n):
        at = slice(k % 3, 40, 2)
        t[2, at] = t[3, at] + t[2, at] * 0.5
        t[3, at] = t[2, at] + 1.0
    yield tiled("swept", 1, dict(a=a, out=np.zeros((16, 40)), n=n), dict(out=t), rtol=1e-4, atol=1e-4)
    a = rng.integers(-8, 9, size=(3, 40)).astype(np.float32)
    after, n = a.astype(np.float64), 3
    for k in range(n):
        after[1, k : k + 32] = after[1, k : k + 32] * 0.5 + a[0, :32]
    after[2, :32] = a[0, :32] * 2.0
    out = a[0, :32] + after[np.arange(32) % 3, 0]
    yield tiled("viewed", 1, dict(a=a, out=np.zeros(32), n=n), dict(a=after, out=out))
    x = np.array([0.0, 0.25, 1.0], dtype=np.float32)
    out = np.full((6, 28), 0.125)
    out[2, 6] = out[4, 6] = 0.125 + 4 * 0.25
    out[4, 9] = 0.125 + 4 * 0.125
    yield tiled("by_one", 3, dict(x=x, out=np.zeros((6, 28)), n=4), dict(out=out))
    x = rng.integers(-8, 9, size=8).astype(np.float32)
    out = np.tile(x.astype(np.float64), (5, 1))
    for h in range(5):
        out[h, 5] += x[h] if h < 3 else 0.0
        for i in range(3):
            if i + h < 4:
                out[h, 6] = out[h, 6] * 0.5 + x[i + h]
    yield tiled("by_its_number", 5, dict(x=x, out=np.zeros((5, 8))), dict(out=out))
