"""Tuples and shapes under branches and loops, and copies of loops with `continue`: against Python."""

import numpy as np
import warp as wp


@wp.func
def pair(a: float):
    return a, a + 1.0


@wp.kernel
def fibonacci(out: wp.array2d(dtype=float)):
    c = wp.tid()
    t = (0.0, 1.0)
    for i in range(c):
        t = (t[1], t[0] + t[1])
    out[c, 0] = t[0]
    out[c, 1] = t[1]
    u = pair(1.0)
    for i in range(c):
        u = pair(u[1])
        if u[0] > 2.5:
            break
        u = (u[0] + 0.25, u[1])
    out[c, 2] = u[0]
    out[c, 3] = u[1]


@wp.kernel
def branches(out: wp.array2d(dtype=float)):
    c = wp.tid()
    if c > 2:
        t = (1.0, 2.0)
    else:
        t = (3.0, 4.0)
    u = pair(7.0) if c > 3 else pair(2.0) if c > 1 else (3.0, 4.0)
    w = (float(c), 0.0)
    while w[0] > 0.5:
        w = (w[0] - 1.0, w[1] + 2.0)
    if c > 1:
        a = t
        t = u
        u = a
    if c == 4:
        t = (9.0, 8.0)
        out[c, 0] = t[0]
        return
    out[c, 0] = t[0] + 10.0 * t[1]
    out[c, 1] = u[0] + 10.0 * u[1]
    out[c, 2] = w[0] + 10.0 * w[1]
    if c > 2:
        t = (5.0, 6.0, 7.0)
        out[c, 3] = t[2]


@wp.kernel
def shapes(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), out: wp.array2d(dtype=int)):
    c = wp.tid()
    n = x.shape
    if c > 1:
        n = y.shape
    m = x.shape if c == 2 else (7, 8)
    z = x
    before = z.shape
    for i in range(c):
        out[c, 0] = 10 * n[0] + n[1]
        n = z.shape
        z = y
    out[c, 1] = 10 * n[0] + n[1]
    out[c, 2] = 10 * m[0] + m[1]
    out[c, 3] = 10 * before[0] + before[1]


TABLE = (10, 20, 30)


@wp.kernel
def copies(out: wp.array2d(dtype=int)):
    c = wp.tid()
    for i in range(5):
        if i < c:
            continue
        out[c, 0] += wp.static(i)
    for i in range(3):
        t = (i, c)
        if c != i:
            continue
        out[c, 1] = wp.static(TABLE[::-1][i]) + t[1]
    rest = TABLE[1:]
    out[c, 2] = rest[1]


@wp.kernel
def components(x: wp.array(dtype=wp.transform), out: wp.array2d(dtype=float)):
    c = wp.tid()
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat(4.0, 5.0, 6.0, 7.0))
    t[c] = 9.0
    t[c - 5] += 9.5
    x[c][c + 1] = t[c]
    x[c][-c - 1] -= 2.0
    for i in range(7):
        out[c, i] = t[i] + 100.0 * x[c][i]


def cases():
    def pairs(a):
        return a, a + 1.0

    def one(c):
        t = (0.0, 1.0)
        for _ in range(c):
            t = (t[1], t[0] + t[1])
        u = pairs(1.0)
        for _ in range(c):
            u = pairs(u[1])
            if u[0] > 2.5:
                break
            u = (u[0] + 0.25, u[1])
        return [*t, *u]

    yield case("fibonacci", 6, dict(out=np.zeros((6, 4))), dict(out=[one(c) for c in range(6)]))

    def two(c):
        t = (1.0, 2.0) if c > 2 else (3.0, 4.0)
        u = pairs(7.0) if c > 3 else pairs(2.0) if c > 1 else (3.0, 4.0)
        if c > 1:
            t, u = u, t
        if c == 4:
            return [9.0, 0.0, 0.0, 0.0]
        return [t[0] + 10 * t[1], u[0] + 10 * u[1], 20.0 * c, 7.0 if c > 2 else 0.0]

    yield case("branches", 6, dict(out=np.zeros((6, 4))), dict(out=[two(c) for c in range(6)]))

    x, y = np.ones((2, 3)), np.ones((4, 5))

    def three(c):
        seen, n, z = 0, (y if c > 1 else x).shape, x
        for _ in range(c):
            seen = 10 * n[0] + n[1]
            n, z = z.shape, y
        return [seen, 10 * n[0] + n[1], 23 if c == 2 else 78, 23]

    yield case("shapes", 4, dict(x=x, y=y, out=np.zeros((4, 4))), dict(out=[three(c) for c in range(4)]))

    want = [[sum(range(c, 5)), (30, 20, 10)[c] + c, 30] for c in range(3)]
    yield case("copies", 3, dict(out=np.zeros((3, 3))), dict(out=want))

    def four(c):
        t, x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.5] * 7
        t[c] = 9.0
        t[c - 5] += 9.5
        x[c + 1] = t[c]
        x[-c - 1] -= 2.0
        return [a + 100.0 * b for a, b in zip(t, x)]

    yield case("components", 6, dict(x=np.full((6, 7), 0.5), out=np.zeros((6, 7))), dict(out=[four(c) for c in range(6)]))
