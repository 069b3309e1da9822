"""Tiles, against numpy: shapes that do not divide, offsets outside, views, loops that carry tiles, functions of tiles."""

from typing import Any

import numpy as np
import warp as wp


@wp.kernel
def edges(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float), sums: wp.array(dtype=float), row: int, column: int):
    t = wp.tile_load(x, shape=(4, 6), offset=(row, column))
    sums[0] = wp.tile_sum(t)[0]
    wp.tile_store(out, t * 2.0 - t / 4.0, offset=(row, column))


@wp.kernel
def gemm(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), plain: wp.array2d(dtype=float)):
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(8, 16), dtype=float)
    added = wp.tile_zeros(shape=(8, 16), dtype=float)
    for k in range((a.shape[1] + 3) // 4):
        x = wp.tile_load(a, shape=(8, 4), offset=(i * 8, k * 4))
        y = wp.tile_load(b, shape=(4, 16), offset=(k * 4, j * 16))
        wp.tile_matmul(x, y, acc)
        added = added + wp.tile_matmul(x, y)
    wp.tile_store(c, acc, offset=(i * 8, j * 16))
    wp.tile_store(plain, added, offset=(i * 8, j * 16))


@wp.func
def scaled(x: float, factor: float):
    return wp.sin(x) * factor


@wp.kernel
def views(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float), flat: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=(4, 6))
    mapped = wp.tile_map(scaled, t, 2.0)
    sums = wp.tile_sum(t, axis=1)
    wide = wp.tile_broadcast(wp.tile_reshape(sums, shape=(4, 1)), shape=(4, 6))
    turned = wp.tile_transpose(wp.tile_transpose(mapped) * wp.tile_transpose(wide))
    row = t[1]
    t[0] = wp.tile_ones(shape=6, dtype=float)
    t[1:3, 2] = wp.tile_full(shape=2, value=7.0)
    t[3, -1] = 9.0
    row[5] = 5.0
    t[2] += t[0]
    wp.tile_store(out, turned + t)
    back = t[3, ::-1]
    wp.tile_assign(back, wp.tile_scan_inclusive(back))
    wp.tile_store(flat, wp.tile_reshape(t, shape=-1))


@wp.kernel
def set_through_views(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    t = wp.tile_load(x, shape=12)
    r = wp.tile_reshape(t, shape=(3, 4))
    wp.tile_assign(r, r[0:2, 0:2], offset=(n, 1))
    wp.tile_assign(wp.tile_transpose(r), wp.tile_full(shape=(2, 1), value=50.0), offset=(2, 0))
    wp.tile_assign(wp.tile_reshape(t, shape=(6, 2)), r[0:2, 1:3] * 100.0, offset=(4, 0))
    wp.tile_axpy(2.0, r[0], wp.tile_reshape(t[8:12], shape=(4,)))
    wp.tile_store(out, t)


@wp.kernel
def carried(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    i = wp.tid()
    before = wp.tile_load(x, shape=5, offset=i * 5)
    now = before * 0.5
    for k in range(n):
        # Both keep their elements from one iteration to the next.
        late = before
        before = now
        now = late + now
        if k % 2 == 1:
            once = now * 3.0
            now = once - now
    wp.tile_store(out, now + before, offset=i * 5)


@wp.kernel
def reductions(x: wp.array2d(dtype=int), least: wp.array(dtype=int), most: wp.array(dtype=int), picked: wp.array2d(dtype=int), running: wp.array2d(dtype=int)):
    t = wp.tile_load(x, shape=(3, 4))
    wp.tile_store(least, wp.tile_reduce(wp.min, t, axis=0))
    most[0] = wp.tile_max(t)[0]
    most[1] = wp.tile_argmax(t)[0]
    most[2] = wp.tile_argmin(t)[0]
    most[3] = wp.tile_dot(t, t)[0]
    most[4] = wp.tile_reduce(wp.mul, t[0])[0]
    wp.tile_store(picked, t[wp.tile_arange(2, -1, -1, dtype=int), :])
    wp.tile_store(running, wp.tile_scan_max_inclusive(t) + wp.tile_scan_exclusive(t))


@wp.func
def normalized(t: Any):
    total = wp.tile_sum(t)
    return t / total[0]


@wp.func
def doubled(t: Any):
    t += t


@wp.kernel
def functions(x: wp.array(dtype=float), out: wp.array(dtype=float), counts: wp.array(dtype=float), where: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.tile_load(x, shape=8, offset=i * 8)
    doubled(t)
    u = t
    if i > 0:
        u = normalized(t)
    wp.tile_store(out, wp.where(i > 1, u, u * 3.0), offset=i * 8)
    places = wp.tile_load(where, shape=8, offset=i * 8)
    wp.tile_atomic_add_indexed(counts, places, wp.tile_ones(shape=8, dtype=float))


@wp.kernel
def systems(a: wp.array2d(dtype=float), y: wp.array(dtype=float), many: wp.array2d(dtype=float), factor: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    m = wp.tile_load(a, shape=(5, 5))
    m = wp.tile_diag_add(m, wp.tile_full(shape=5, value=5.0))
    lower = wp.tile_cholesky(m)
    upper = wp.tile_cholesky(m, fill_mode="upper")
    wp.tile_store(factor, lower)
    wp.tile_store(factor, upper, offset=(0, 5))
    right = wp.tile_load(y, shape=5)
    columns = wp.tile_load(many, shape=(5, 3))
    wp.tile_store(out[0], wp.tile_cholesky_solve(lower, right))
    wp.tile_store(out[1], wp.tile_lower_solve(lower, right))
    wp.tile_store(out[2], wp.tile_upper_solve(upper, right))
    wp.tile_cholesky_solve_inplace(upper, right, fill_mode="upper")
    wp.tile_store(out[3], right)
    wp.tile_lower_solve_inplace(lower, columns)
    for k in range(3):
        wp.tile_store(out[4 + k], wp.tile_transpose(columns)[k])


@wp.kernel
def sorting(x: wp.array(dtype=int), keys: wp.array(dtype=int), places: wp.array(dtype=int)):
    i = wp.tid()
    k = wp.tile_load(x, shape=13, offset=i * 13)
    at = wp.tile_arange(13, dtype=int)
    order = at * 1
    wp.tile_sort(k, order)
    wp.tile_store(keys, k, offset=i * 13)
    wp.tile_store(places, order, offset=i * 13)



@wp.kernel
def chains(x: wp.array3d(dtype=float), sums: wp.array2d(dtype=float), rows: wp.array2d(dtype=float), columns: wp.array2d(dtype=float)):
    i = wp.tid()
    # Sides of chains that 32 divides, and that it does not.
    even = wp.tile_load(x[i], shape=(3, 64))
    odd = wp.tile_load(x[i], shape=(5, 71))
    sums[i, 0] = wp.tile_sum(even)[0]
    sums[i, 1] = wp.tile_sum(odd * odd)[0]
    sums[i, 2] = wp.tile_min(odd)[0]
    sums[i, 3] = wp.tile_max(even)[0]
    sums[i, 4] = wp.tile_reduce(wp.mul, wp.tile_load(x[i, 0], shape=33))[0]
    sums[i, 5] = wp.tile_sum(wp.tile_load(x[i, 1], shape=100))[0]
    wp.tile_store(rows[i], wp.tile_sum(odd, axis=1))
    wp.tile_store(columns[i], wp.tile_reduce(wp.max, odd, axis=0))


@wp.kernel
def products(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), square: wp.array2d(dtype=float)):
    # Rows and steps that 4 divides, and that it does not; a product of a tile with itself.
    x = wp.tile_load(a, shape=(7, 9))
    y = wp.tile_load(b, shape=(9, 11))
    z = wp.tile_load(b, shape=(9, 9))
    wp.tile_matmul(z, wp.tile_transpose(z), z)
    wp.tile_store(c, wp.tile_matmul(x, y))
    wp.tile_store(square, z)


@wp.func
def set_corner(t: Any, value: float):
    t[0, 1] = value
    return t[1, 0]


@wp.func
def doubled(t: Any):
    wp.tile_assign(t, t * 2.0)


@wp.func
def both(t: Any, value: float):
    # Passed on to a function that changes it.
    old = set_corner(t, value)
    return old, wp.tile_sum(t)[0]


@wp.kernel
def written_views(x: wp.array3d(dtype=float), out: wp.array3d(dtype=float), got: wp.array2d(dtype=float), at: int):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=(4, 6))
    columns = wp.tile_transpose(t)
    columns[5, 0] = 50.0
    columns[-1, -1] += 1.0
    columns[at] = columns[0] * 3.0
    part = wp.tile_view(t, offset=(at, at), shape=(2, 3))
    part[1, 2] = 60.0
    got[i, 0] = set_corner(columns, 70.0)
    got[i, 1] = set_corner(t[2:4, ::2], 80.0) + columns[2, 3]
    doubled(t[:, 4])
    doubled(wp.tile_reshape(wp.tile_view(t, offset=(slice(0, 2), slice(None, None, 4))), shape=4))
    a, b = both(columns[3:5, slice(2)], 90.0)
    got[i, 2] = a
    got[i, 3] = b
    got[i, 4] = wp.tile_sum(wp.tile_view(t, offset=(-1, slice(-2, None))))[0]
    wp.tile_store(out[i], t)


def tiled(kernel, dim, args, expect, **more):
    """One launch as wp.launch does it with blocks of one thread; `gemm` as wp.launch_tiled, with blocks of 32."""
    block_dim = more.pop("block_dim", 1)
    return case(kernel, dim, args, expect, block_dim=block_dim, **more)


@wp.func
def row_of(t: Any, r: int):
    return t[r]


@wp.func
def middle(t: Any):
    return t[1:5]


@wp.func
def either(t: Any, r: int):
    if r > 0:
        return t[2]
    return t[0, 0:6]


@wp.func
def turned(indices: Any):
    return indices[::-1]


@wp.kernel
def parts_given_back(x: wp.array3d(dtype=float), out: wp.array3d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=(4, 6))
    row = row_of(t, 1)
    inner = middle(row)
    # What was given back is a tile of its own.
    t[1, 2] = 100.0
    row[0] = 50.0
    wp.tile_store(out[i, 0], inner)
    wp.tile_store(out[i, 1], either(t, i))
    wp.tile_store(out[i, 2], t[1] + row)
    wp.tile_store(out[i, 3], t[turned(wp.tile_arange(0, 4, dtype=int))][0])


@wp.kernel
def in_registers(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float), sums: wp.array2d(dtype=float)):
    """Tiles with more elements than a block has threads, next to each other in rows."""
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(32, 40), dtype=float)
    for k in range((a.shape[1] + 7) // 8):
        x = wp.tile_load(a, shape=(32, 8), offset=(i * 32, k * 8))
        y = wp.tile_load(b, shape=(8, 40), offset=(k * 8, j * 40))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total * 0.5 + total, offset=(i * 32, j * 40))
    # What others have as well stays in memory.
    other = wp.tile_zeros(shape=(32, 40), dtype=float)
    for k in range(2):
        other += wp.tile_load(c, shape=(32, 40), offset=(i * 32, j * 40))
    wp.tile_store(sums[j], wp.tile_sum(other, axis=1), offset=i * 32)


@wp.kernel
def in_odd_rows(a: wp.array2d(dtype=wp.float64), b: wp.array2d(dtype=wp.float64), c: wp.array2d(dtype=wp.float64)):
    """Rows that no parts of a few elements make up; two sums of one loop; what is added is stored as well."""
    total = wp.tile_zeros(shape=(31, 37), dtype=wp.float64)
    for k in range(a.shape[1] // 3):
        x = wp.tile_load(a, shape=(31, 3), offset=(0, k * 3))
        y = wp.tile_load(b, shape=(3, 37), offset=(k * 3, 0))
        total += wp.tile_matmul(x, y) * wp.float64(0.25)
    wp.tile_store(c, total)


@wp.kernel
def stored_on_the_way(x: wp.array2d(dtype=float), out: wp.array3d(dtype=float), back: wp.array(dtype=float)):
    """A sum that is stored while it grows, and is read again from there."""
    total = wp.tile_zeros(shape=1100, dtype=float)
    for k in range(x.shape[0]):
        total += wp.tile_load(x[k], shape=1100)
        wp.tile_store(out[k, 0], total)
        total += wp.tile_load(out[k, 0], shape=1100, offset=3)
    wp.tile_store(back, total)


@wp.kernel
def in_place(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), out: wp.array2d(dtype=float), vectors: wp.array(dtype=wp.vec3)):
    t = wp.tile_load(x, shape=300)
    wp.tile_store(vectors, (t + t) * 0.5 - t[::-1] + t)
    row = wp.tile_load(y, shape=300)
    most = wp.tile_max(row)[0]
    first = row - wp.tile_full(shape=300, value=most, dtype=float)
    second = first * first
    # Of a tile that is read again, the place is not free.
    third = second + row
    wp.tile_store(out[0], third[::-1])
    fourth = third / 2.0
    wp.tile_store(out[1], fourth * wp.tile_sum(fourth)[0])


@wp.kernel
def components(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), picked: wp.array(dtype=float), y: wp.array(dtype=wp.vec3), n: wp.array(dtype=wp.mat22)):
    """Components by a further index, of a tile and of a view."""
    t = wp.tile_load(x, shape=4)
    q = wp.tile_load(m, shape=(4,))
    turned = t[::-1]
    row = q[2, 1]
    picked[0] = t[1, 2] * turned[0, 0] + q[3, 1, 0] + row[1]
    t[2, 0] = t[0, 1]
    t[2, 1] += 3.0
    q[1, 0, 1] = 7.0
    wp.tile_store(y, t)
    wp.tile_store(n, q)


@wp.func
def halved(t: Any):
    t *= 0.5
    return wp.tile_sum(t)[0]


@wp.kernel
def updated(x: wp.array(dtype=float), y: wp.array(dtype=float), views: wp.array(dtype=float), total: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=8)
    h = wp.tile_view(t, offset=(2,), shape=(4,))
    h += h
    # From here on `h` is another tile.
    h *= 0.5
    h -= wp.tile_ones(4, dtype=float)
    q = t[1:3]
    q /= 2.0
    total[0] = halved(t)
    u = t[0:4]
    u *= u
    wp.tile_store(y, t)
    wp.tile_store(views, h)
    wp.tile_store(views, q, offset=4)
    wp.tile_store(views, u[0:2], offset=6)


@wp.kernel
def factors(a: wp.array3d(dtype=float), lower: wp.array3d(dtype=float), upper: wp.array3d(dtype=float), sums: wp.array3d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(a[i], shape=(12, 12))
    wp.tile_store(lower[i], wp.tile_cholesky(wp.tile_load(a[i], shape=(12, 12))))
    wp.tile_store(upper[i], wp.tile_cholesky(t, fill_mode="upper"))
    wp.tile_store(sums[i], wp.tile_cholesky(t + wp.tile_cholesky(t) * 0.0) + t)


@wp.func
def product_of(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    wp.tile_store(c, wp.tile_matmul(wp.tile_load(a, shape=(4, 6)), wp.tile_load(b, shape=(6, 5))))


@wp.func_grad(product_of)
def adj_product_of(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    g = wp.tile_load(wp.adjoint[c], shape=(4, 5))
    left = wp.tile_load(a, shape=(4, 6))
    wp.tile_atomic_add(wp.adjoint[a], wp.tile_matmul(g, wp.tile_transpose(wp.tile_load(b, shape=(6, 5)))))
    wp.tile_atomic_add(wp.adjoint[b], wp.tile_matmul(wp.tile_transpose(left), g))


@wp.kernel
def by_rule(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    """A gradient that is written with tiles of its own."""
    product_of(a, b, c)


@wp.kernel
def exchanged(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    # Who has which elements depends on numbers.
    i = wp.tid()
    a = wp.tile_load(x, shape=6, offset=i * 6)
    b = a * 0.5
    c = a + b
    if n > 1:
        a, b = b, a
    for k in range(n):
        b, c, a = c, a, b
    v = a[0:3]
    copied = v
    copied[0] = 7.0
    wp.tile_store(out, a, offset=i * 24)
    wp.tile_store(out, b, offset=i * 24 + 6)
    wp.tile_store(out, c, offset=i * 24 + 12)
    wp.tile_store(out, copied, offset=i * 24 + 18)


def cases():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(5, 9)).astype(np.float32)
    for row, column in [(0, 0), (2, 5), (-3, -2), (4, 8), (5, 9), (-4, 0), (2147483647, 0), (-2147483648, -2147483648)]:
        inside = np.zeros((5, 9), dtype=bool)
        for r in range(4):
            for c in range(6):
                if 0 <= row + r < 5 and 0 <= column + c < 9:
                    inside[row + r, column + c] = True
        part = np.where(inside, x, np.float32(0.0))
        yield tiled(
            "edges",
            1,
            dict(x=x, out=np.full((5, 9), 7.0), sums=np.zeros(1), row=row, column=column),
            dict(out=np.where(inside, part * 2.0 - part / 4.0, 7.0), sums=[part.astype(np.float64).sum()]),
            id=f"edges_{row}_{column}".replace("-", "m"),
        )

    a, b = rng.normal(size=(19, 13)).astype(np.float32), rng.normal(size=(13, 21)).astype(np.float32)
    product = a.astype(np.float64) @ b.astype(np.float64)
    zeros = np.zeros((19, 21))
    yield tiled("gemm", [3, 2, 32], dict(a=a, b=b, c=zeros, plain=zeros), dict(c=product, plain=product), block_dim=32)

    x = rng.normal(size=(4, 6)).astype(np.float32)
    t = x.astype(np.float64)
    turned = np.sin(t) * 2.0 * t.sum(axis=1, keepdims=True)
    t[0] = 1.0
    t[1:3, 2] = 7.0
    t[3, -1] = 9.0
    t[1, 5] = 5.0
    t[2] += t[0]
    out = turned + t
    t[3] = np.cumsum(t[3, ::-1])[::-1]
    yield tiled("views", 1, dict(x=x, out=np.zeros((4, 6)), flat=np.zeros(24)), dict(out=out, flat=t.reshape(-1)))

    x = rng.normal(size=20).astype(np.float32)
    for n in (0, 1, 5):
        before, now = x, x * np.float32(0.5)
        for k in range(n):
            before, now = now, before + now
            if k % 2 == 1:
                now = now * np.float32(3.0) - now
        yield tiled("carried", 4, dict(x=x, out=np.zeros(20), n=n), dict(out=now + before), id=f"carried_{n}")

    x = rng.normal(size=12).astype(np.float32)
    for n in (0, 1, 2, 4):
        a = x.reshape(2, 6)
        b = a * np.float32(0.5)
        c = a + b
        if n > 1:
            a, b = b, a
        for k in range(n):
            b, c, a = c, a, b
        copied = a[:, :3].copy()
        copied[:, 0] = 7.0
        expect = np.concatenate([a, b, c, copied, np.zeros((2, 3), np.float32)], axis=1).reshape(-1)
        yield tiled("exchanged", 2, dict(x=x, out=np.zeros(48), n=n), dict(out=expect), id=f"exchanged_{n}")

    x = np.array([[3, -1, 4, 1], [5, 9, -2, 6], [9, 3, 5, -2]], dtype=np.int32)
    flat = x.reshape(-1)
    running = np.maximum.accumulate(flat) + np.concatenate([[0], np.cumsum(flat)[:-1]])
    yield tiled(
        "reductions",
        1,
        dict(x=x, least=np.zeros(4), most=np.zeros(5), picked=np.zeros((3, 4)), running=np.zeros((3, 4))),
        dict(least=x.min(axis=0), most=[9, 5, 6, (x * x).sum(), x[0].prod()], picked=x[::-1], running=running.reshape(3, 4)),
    )

    x = (rng.random(size=24) + 0.5).astype(np.float32)
    rows = x.reshape(3, 8).astype(np.float64) * 2.0
    rows[1:] /= rows[1:].sum(axis=1, keepdims=True)
    rows[:2] *= 3.0
    where = np.array([0, 1, 1, 3, -1, 9, 3, 3] * 3, dtype=np.int32)
    yield tiled(
        "functions",
        3,
        dict(x=x, out=np.zeros(24), counts=np.zeros(5), where=where),
        dict(out=rows.reshape(-1), counts=[3, 6, 0, 9, 0]),
    )

    a = rng.normal(size=(5, 5)).astype(np.float32)
    a = (a @ a.T).astype(np.float32)
    y, many = rng.normal(size=5).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32)
    m = a.astype(np.float64) + 5.0 * np.eye(5)
    lower = np.linalg.cholesky(m)
    solved, forward = np.linalg.solve(m, y), np.linalg.solve(lower, y)
    backward, columns = np.linalg.solve(lower.T, y), np.linalg.solve(lower, many)
    yield tiled(
        "systems",
        1,
        dict(a=a, y=y, many=many, factor=np.zeros((5, 10)), out=np.zeros((7, 5))),
        dict(factor=np.hstack([lower, lower.T]), out=np.vstack([solved, forward, backward, solved, columns.T])),
        rtol=1e-5,
    )

    x = rng.integers(-4, 5, size=39).astype(np.int32)
    order = np.argsort(x.reshape(3, 13), axis=1, kind="stable")
    keys = np.take_along_axis(x.reshape(3, 13), order, axis=1)
    yield tiled(
        "sorting",
        3,
        dict(x=x, keys=np.zeros(39), places=np.zeros(39)),
        dict(keys=keys.reshape(-1), places=order.reshape(-1)),
    )

    x = (rng.random(size=(2, 5, 71)) * 2.0 - 0.9).astype(np.float32)
    x[:, 0, :33] = 1.0 + x[:, 0, :33] / 20.0
    x[1, 2, 40] = np.nan
    even, odd = x[:, :3, :64].astype(np.float64), x.astype(np.float64)
    long = np.hstack([odd[:, 1], np.zeros((2, 29))])
    sums = [even.sum((1, 2)), (odd * odd).sum((1, 2)), np.nanmin(odd, (1, 2)), np.nanmax(even, (1, 2)), odd[:, 0, :33].prod(1), long.sum(1)]
    yield tiled(
        "chains",
        2,
        dict(x=x, sums=np.zeros((2, 6)), rows=np.zeros((2, 5)), columns=np.zeros((2, 71))),
        dict(sums=np.stack(sums, 1), rows=odd.sum(2), columns=np.nanmax(odd, 1)),
        rtol=1e-5,
    )

    a, b = rng.normal(size=(7, 9)).astype(np.float32), rng.normal(size=(9, 11)).astype(np.float32)
    z = b[:, :9].astype(np.float64)
    yield tiled(
        "products",
        1,
        dict(a=a, b=b, c=np.zeros((7, 11)), square=np.zeros((9, 9))),
        dict(c=a.astype(np.float64) @ b, square=z @ z.T + z),
        rtol=1e-5,
    )

    x = rng.integers(1, 9, size=(2, 4, 6)).astype(np.float32)
    out, got = x.copy(), np.zeros((2, 5), dtype=np.float32)
    for t, g in zip(out, got):
        t[0, 5] = 50.0
        t[3, 5] += 1.0
        t[:, 1] = t[:, 0] * 3.0
        t[2, 3] = 60.0
        g[0], t[1, 0] = t[0, 1], 70.0
        g[1], t[2, 2] = t[3, 0], 80.0
        g[1] += t[3, 2]
        t[:, 4] *= 2.0
        t[:2, ::4] *= 2.0
        g[2], t[1, 3] = t[0, 4], 90.0
        g[3] = t[:2, 3:5].sum()
        g[4] = t[3, 4:].sum()
    yield tiled("written_views", 2, dict(x=x, out=np.zeros((2, 4, 6)), got=np.zeros((2, 5)), at=1), dict(out=out, got=got))
    out = np.zeros((2, 4, 6), np.float32)
    for i in range(2):
        t, row = x[i].copy(), x[i][1].copy()
        out[i, 0, :4] = row[1:5]
        t[1, 2], row[0] = 100.0, 50.0
        out[i, 1], out[i, 2], out[i, 3] = t[2] if i > 0 else t[0], t[1] + row, t[3]
    yield tiled("parts_given_back", 2, dict(x=x, out=np.zeros((2, 4, 6))), dict(out=out))

    a, b = rng.normal(size=(40, 21)).astype(np.float32), rng.normal(size=(21, 50)).astype(np.float32)
    c = 1.5 * (a.astype(np.float64) @ b)
    sums = 2.0 * np.stack([c[:, :40].sum(1), c[:, 40:].sum(1)])
    yield tiled(
        "in_registers",
        [2, 2, 32],
        dict(a=a, b=b, c=np.zeros((40, 50)), sums=np.zeros((2, 40))),
        dict(c=c, sums=sums),
        rtol=1e-4,
        block_dim=32,
    )
    a, b = rng.normal(size=(31, 9)), rng.normal(size=(9, 37))
    yield tiled("in_odd_rows", 1, dict(a=a, b=b, c=np.zeros((31, 37))), dict(c=a @ b * 0.25))
    x = rng.integers(-9, 9, size=(3, 1100)).astype(np.float32)
    total, out = np.zeros(1100), np.zeros((3, 1, 1100))
    for k in range(3):
        total = total + x[k]
        out[k, 0] = total
        total = total + np.concatenate([total[3:], np.zeros(3)])
    yield tiled("stored_on_the_way", 1, dict(x=x, out=np.zeros((3, 1, 1100)), back=np.zeros(1100)), dict(out=out, back=total))
    x, y = rng.integers(-9, 9, size=(300, 3)).astype(np.float32), rng.integers(-9, 9, size=300).astype(np.float32)
    third = (y - y.max()) ** 2 + y
    fourth = third / 2.0
    yield tiled(
        "in_place",
        1,
        dict(x=x, y=y, out=np.zeros((2, 300)), vectors=np.zeros((300, 3))),
        dict(out=np.stack([third[::-1], fourth * fourth.sum()]), vectors=2.0 * x - x[::-1]),
    )
    v, m = np.arange(12.0).reshape(4, 3), np.arange(16.0).reshape(4, 2, 2)
    w, n = v.copy(), m.copy()
    w[2, :2], n[1, 0, 1] = [v[0, 1], v[2, 1] + 3.0], 7.0
    yield tiled(
        "components",
        1,
        dict(x=v, m=m, picked=np.zeros(1), y=np.zeros((4, 3)), n=np.zeros((4, 2, 2))),
        dict(picked=[v[1, 2] * v[3, 0] + m[3, 1, 0] + m[2, 1, 1]], y=w, n=n),
    )
    t = np.arange(12.0)
    r = t.reshape(3, 4)
    r[1:3, 1:3] = r[0:2, 0:2].copy()
    r[0, 2:4] = 50.0
    t.reshape(6, 2)[4:6] = r[0:2, 1:3] * 100.0
    r[2] += 2.0 * r[0]
    yield tiled("set_through_views", 1, dict(x=np.arange(12.0), out=np.zeros(12), n=1), dict(out=t))
    # What Warp 1.19 gives.
    yield tiled(
        "updated",
        1,
        dict(x=np.arange(1.0, 9.0), y=np.zeros(8), views=np.zeros(8), total=np.zeros(1)),
        dict(y=[1, 2, 6, 8, 10, 12, 7, 8], views=[2, 3, 4, 5, 1, 3, 1, 4], total=[27]),
    )
    a = rng.normal(size=(2, 12, 12))
    a = (a @ a.transpose(0, 2, 1) + 12.0 * np.eye(12)).astype(np.float32)
    lower = np.linalg.cholesky(a.astype(np.float64))
    empty = np.zeros((2, 12, 12))
    yield tiled(
        "factors",
        2,
        dict(a=a, lower=empty, upper=empty, sums=empty),
        dict(lower=lower, upper=lower.transpose(0, 2, 1), sums=lower + a),
        rtol=1e-4,
        atol=1e-4,
    )
    a, b, g = (rng.integers(-4, 5, size=shape).astype(np.float32) for shape in [(4, 6), (6, 5), (4, 5)])
    for given in ("a", "b"):
        # An array without gradient gets none.
        args = {"a": a, "b": b, "c": np.zeros((4, 5)), f"{given}.grad": np.ones_like(a if given == "a" else b), "c.grad": g}
        gradient = g @ b.T + 1 if given == "a" else a.T @ g + 1
        yield tiled("by_rule", 1, args, {"c": a @ b, f"{given}.grad": gradient}, id=f"by_rule_{given}")
