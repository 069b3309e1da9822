"""Gradients of tiles that loops fill element by element, each from those before: what is read again, and what is overwritten after all."""
import warp as wp


@wp.kernel
def triangular_factors(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    b = wp.tid()
    t = wp.tile_load(a, shape=(5, 5), offset=(b * 5, 0))
    l = wp.tile_zeros(shape=(5, 5), dtype=float)
    u = wp.tile_zeros(shape=(5, 5), dtype=float)
    for i in range(5):
        for j in range(i, 5):
            s = t[i, j]
            for k in range(i):
                s -= l[i, k] * u[k, j]
            u[i, j] = s
        for j in range(i + 1, 5):
            s = t[j, i]
            for k in range(i):
                s -= l[j, k] * u[k, i]
            l[j, i] = s / (u[i, i] + 5.0)
    wp.tile_store(out, l + u, offset=(b * 5, 0))


@wp.kernel
def elimination_in_place(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    b = wp.tid()
    t = wp.tile_load(a, shape=(5, 5), offset=(b * 5, 0))
    for k in range(5):
        for i in range(k + 1, 5):
            t[i, k] = t[i, k] / (t[k, k] + 4.0)
            for j in range(k + 1, 5):
                t[i, j] = t[i, j] - t[i, k] * t[k, j]
    wp.tile_store(out, t, offset=(b * 5, 0))


@wp.kernel
def from_the_end(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    b = wp.tid()
    t = wp.tile_load(x, shape=7, offset=b * 7)
    y = wp.tile_zeros(shape=7, dtype=float)
    for i in range(6, -1, -1):
        s = t[i]
        for j in range(i + 1, 7):
            s += wp.sin(y[j]) * t[j]
        y[i] = wp.tanh(s)
    wp.tile_store(out, y, offset=b * 7)


@wp.kernel
def filled_twice(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    b = wp.tid()
    t = wp.tile_load(x, shape=7, offset=b * 7)
    y = wp.tile_zeros(shape=7, dtype=float)
    for p in range(2):
        for i in range(7):
            s = t[i]
            for j in range(i):
                s += wp.sin(y[j]) * t[j]
            y[i] = wp.sqrt(s * s + 1.0) + 0.5 * y[i]
    wp.tile_store(out, y, offset=b * 7)


@wp.kernel
def by_branches(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    b = wp.tid()
    t = wp.tile_load(x, shape=7, offset=b * 7)
    y = wp.tile_zeros(shape=7, dtype=float)
    for i in range(7):
        s = t[i]
        for j in range(i):
            s += 0.1 * y[j] * y[j]
        d = wp.sqrt(s * s + 1.0)
        if i % 2 == 0:
            y[i] = d
        else:
            y[i // 2] = d * 0.5
            y[i] = d / (1.0 + d)
    wp.tile_store(out, y, offset=b * 7)


@wp.kernel
def two_at_a_time(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    b = wp.tid()
    t = wp.tile_load(x, shape=8, offset=b * 8)
    y = wp.tile_zeros(shape=8, dtype=float)
    for i in range(0, 8, 2):
        s = t[i] + t[i + 1]
        for j in range(i):
            s += y[j] * t[j]
        y[i] = wp.sqrt(s * s + 1.0)
        y[i + 1] = wp.sin(s) * y[i]
    wp.tile_store(out, y, offset=b * 8)


@wp.kernel
def made_again(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    b = wp.tid()
    t = wp.tile_load(x, shape=6, offset=b * 6)
    for r in range(2):
        y = wp.tile_zeros(shape=6, dtype=float)
        for i in range(6):
            s = t[i]
            for j in range(i):
                s += 0.1 * y[j] * y[j]
            y[i] = wp.sqrt(s * s + 1.0)
        t = y * 0.3 + t
    wp.tile_store(out, t, offset=b * 6)


@wp.kernel
def factor_of_nine(a: wp.array2d(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    b = wp.tid()
    m = wp.tile_load(a, shape=(9, 9), offset=(b * 9, 0))
    s = wp.tile_diag_add(wp.tile_matmul(m, wp.tile_transpose(m)), wp.tile_ones(shape=9, dtype=float))
    x = wp.tile_cholesky_solve(wp.tile_cholesky(s), wp.tile_load(y, shape=9, offset=b * 9))
    wp.tile_store(out, x, offset=b * 9)
