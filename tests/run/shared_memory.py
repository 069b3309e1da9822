"""Arrays of a block as CUDA programs use shared memory: reductions, transposes, histograms and sweeps, against numpy."""

import numpy as np
import warp as wp

B = 64


@wp.kernel
def halving(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    w = int(32)
    while w > 0:
        if n < w:
            s[n] += s[n + w]
        wp.sync()
        w = w >> 1
    y[i] = s[0] * x[i]


@wp.kernel
def shifted(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # The width is an expression, not a name.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    for k in range(6):
        if n < (32 >> k):
            s[n] = s[n] + s[n + (32 >> k)]
        wp.sync()
    y[i] = s[0]


@wp.kernel
def interleaved(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    d = int(1)
    while d < 64:
        if n % (2 * d) == 0:
            s[n] += s[n + d]
        wp.sync()
        d *= 2
    y[i] = s[0]


@wp.kernel
def interleaved_by_place(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # The threads that are left are the first ones: `at = 2 * d * n`.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    for k in range(6):
        d = 1 << k
        at = 2 * d * n
        if at < 64:
            s[at] += s[at + d]
        wp.sync()
    y[i] = s[0]


@wp.kernel
def odd(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # A block of 37: the upper half is added to the lower one, and the element in the middle is left.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=37, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    size = int(37)
    while size > 1:
        half = (size + 1) // 2
        if n + half < size:
            s[n] += s[n + half]
        wp.sync()
        size = half
    y[i] = s[0]


@wp.kernel
def folded(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # From both ends.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=37, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    size = int(37)
    while size > 1:
        if n < size // 2:
            s[n] += s[size - 1 - n]
        wp.sync()
        size = (size + 1) // 2
    y[i] = s[0]


@wp.kernel
def maximum(x: wp.array(dtype=float), y: wp.array(dtype=float), places: wp.array(dtype=int)):
    # Two arrays, and a condition on what is read.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    at = wp.zeros(shape=64, dtype=int, storage="shared")
    s[n] = x[i]
    at[n] = n
    wp.sync()
    w = int(32)
    while w > 0:
        if n < w and s[n + w] > s[n]:
            s[n] = s[n + w]
            at[n] = at[n + w]
        wp.sync()
        w //= 2
    if n == 0:
        y[i // 64] = s[0]
        places[i // 64] = at[0]


@wp.kernel
def one_thread(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    if n == 0:
        s[0] = s[0] * s[1]
        for k in range(2, 64):
            s[k] = s[k] * 0.5 + s[k - 1]
    wp.sync()
    y[i] = s[63 - n]


@wp.kernel
def rows(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # A thread sums up a row, and another one the sums.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    if n < 8:
        total = float(0.0)
        for k in range(8):
            total += s[n * 8 + k]
        s[n * 8] = total
    wp.sync()
    if n == 63:
        for r in range(1, 8):
            s[0] += s[r * 8]
    wp.sync()
    y[i] = s[0]


@wp.kernel
def rows_of_two(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=(8, 8), dtype=float, storage="shared")
    s[n // 8, n % 8] = x[i]
    wp.sync()
    if n < 8:
        for k in range(1, 8):
            s[n, k] += s[n, k - 1]
    wp.sync()
    y[i] = s[n % 8, n // 8]


@wp.kernel
def red_black(x: wp.array(dtype=float), y: wp.array(dtype=float), turns: int):
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    for t in range(turns):
        for color in range(2):
            if n > 0 and n < 63 and n % 2 == color:
                s[n] = 0.5 * (s[n - 1] + s[n + 1])
            wp.sync()
    y[i] = s[n]


@wp.kernel
def red_black_sums(x: wp.array(dtype=float), y: wp.array(dtype=float), turns: int):
    # In two dimensions, with the colour in the sum.
    i = wp.tid()
    n = wp.lane()
    r = n // 8
    c = n % 8
    s = wp.zeros(shape=(8, 8), dtype=float, storage="shared")
    s[r, c] = x[i]
    wp.sync()
    for t in range(turns):
        inside = r > 0 and r < 7 and c > 0 and c < 7
        if inside and (r + c + t) % 2 == 0:
            s[r, c] = 0.25 * (s[r - 1, c] + s[r + 1, c] + s[r, c - 1] + s[r, c + 1])
        wp.sync()
    y[i] = s[r, c]


@wp.kernel
def odd_even_sort(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    for t in range(64):
        if n % 2 == t % 2 and n < 63:
            a = s[n]
            b = s[n + 1]
            if a > b:
                s[n] = b
                s[n + 1] = a
        wp.sync()
    y[i] = s[n]


@wp.kernel
def transposed(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    b, i = wp.tid()
    n = wp.lane()
    t = wp.zeros(shape=(8, 8), dtype=float, storage="shared")
    r = n // 8
    c = n % 8
    t[r, c] = x[b * 8 + r, c]
    wp.sync()
    y[b * 8 + r, c] = t[c, r]


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    # 16 x 16 by blocks of 8 x 8, as in the CUDA C++ Programming Guide.
    block, i = wp.tid()
    n = wp.lane()
    r = n // 8
    k = n % 8
    row = block // 2 * 8 + r
    column = block % 2 * 8 + k
    s = wp.zeros(shape=(8, 8), dtype=float, storage="shared")
    t = wp.zeros(shape=64, dtype=float, storage="shared")
    total = float(0.0)
    for m in range(2):
        s[r, k] = a[row, m * 8 + k]
        t[r * 8 + k] = b[m * 8 + r, column]
        wp.sync()
        for e in range(8):
            total += s[r, e] * t[e * 8 + k]
        wp.sync()
    c[row, column] = total


@wp.kernel
def reversed(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[63 - n] = x[i] * 2.0
    wp.sync()
    y[i] = s[n] * s[(n * 5 + 3) % 64]


@wp.kernel
def histogram(x: wp.array(dtype=int), counts: wp.array(dtype=int)):
    # Each thread counts every 64th element.
    b, i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=16, dtype=int, storage="shared")
    for k in range(n, 256, 64):
        s[x[b * 256 + k]] += 1
    wp.sync()
    if n < 16:
        wp.atomic_add(counts, n, s[n])


@wp.kernel
def counted(x: wp.array(dtype=int), counts: wp.array(dtype=int), least: wp.array(dtype=int)):
    # By atomics, and an extreme value by an update.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=16, dtype=int, storage="shared")
    low = wp.zeros(shape=1, dtype=int, storage="shared")
    wp.atomic_add(s, x[i], 2)
    low[0] = wp.min(low[0], x[i] - n)
    wp.sync()
    if n < 16:
        wp.atomic_add(counts, n, s[n])
    if n == 0:
        least[i // 64] = low[0]


@wp.kernel
def strided(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # 256 numbers by 64 threads, in and out.
    b, i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=256, dtype=float, storage="shared")
    for k in range(n, 256, 64):
        s[k] = x[b * 256 + k]
    wp.sync()
    for k in range(n, 256, 64):
        y[b * 256 + k] = s[255 - k] - s[k]


@wp.kernel
def scan(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # Hillis and Steele: what is added is read before it is set.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    for k in range(6):
        d = 1 << k
        v = float(0.0)
        if n >= d:
            v = s[n - d]
        wp.sync()
        s[n] += v
        wp.sync()
    y[i] = s[n]


@wp.kernel
def overwritten(x: wp.array(dtype=float), y: wp.array(dtype=float), turns: int):
    # All threads do a line before the next one, in a loop and in a branch as in straight code.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    t = wp.zeros(shape=65, dtype=float, storage="shared")
    u = wp.zeros(shape=64, dtype=float, storage="shared")
    for k in range(turns):
        s[63 - n] = 0.5
        s[n] = x[i] + float(k)
        t[n + k] = x[i]
    if turns == 2:
        u[63 - n] = 0.5
        u[n] = x[i]
    wp.sync()
    y[i] = s[n] + 3.0 * t[n] + 5.0 * u[n]


@wp.kernel
def last_word(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # Two threads set one element, with a barrier between.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=4, dtype=float, storage="shared")
    if n == 3:
        s[0] = x[i]
    wp.sync()
    if n == 1:
        s[0] = x[i] * 2.0
    wp.sync()
    y[i] = s[0] + x[i]


@wp.kernel
def scatter_behind_read(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    # Reads in a branch, in a loop and in a choice, before a scatter into the same elements.
    i = wp.tid()
    v = x[i]
    w = y[i]
    t = wp.tile(v * 10.0)
    if w < v:
        w = t[0] * v
    for k in range(2):
        w += t[k] * 0.125
    u = t[1] if v > 0.0 else t[2]
    wp.tile_scatter_add(t, 0, 1.0, True)
    wp.tile_scatter_add(t, 1, v, v > 0.0)
    wp.tile_scatter_masked(t, 2, 7.0, wp.lane() == 5)
    y[i] = w + u
    z[i] = t[0] + t[1] + t[2]


@wp.kernel
def old_value(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # What was read before a barrier is old behind it.
    i = wp.tid()
    n = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    s[n] = x[i]
    wp.sync()
    v = s[0]
    wp.sync()
    if n == 2:
        s[0] = v + x[i]
    wp.sync()
    y[i] = s[0] + v


def cases():
    rng = np.random.default_rng(46)
    x = rng.uniform(-1, 1, 2 * B).astype(np.float32)
    blocks = x.reshape(2, B)
    zeros = np.zeros(2 * B, np.float32)
    sums = np.repeat(blocks.sum(axis=1), B)

    def one(kernel, expect, x=x, block_dim=B, **more):
        y = np.zeros_like(np.asarray(expect, np.float32))
        return case(kernel, len(x), {"x": x, "y": y, **more}, {"y": expect}, block_dim=block_dim, atol=2e-5, rtol=2e-5)

    yield one("halving", sums * x)
    # s0 = sum, y = s0 * x: with dy = 1, dx_i = sum(x) + s0.
    yield case(
        "halving", 2 * B, {"x": x, "y": zeros, "y.grad": np.ones(2 * B, np.float32), "x.grad": zeros},
        {"y": sums * x, "x.grad": 2 * sums}, block_dim=B, atol=2e-5, rtol=2e-5, id="halving.gradient",
    )
    for kernel in ("shifted", "interleaved", "interleaved_by_place"):
        yield one(kernel, sums)
    x37 = x[:74]
    for kernel in ("odd", "folded"):
        yield one(kernel, np.repeat(x37.reshape(2, 37).sum(axis=1), 37), x=x37, block_dim=37)
    yield case(
        "maximum", 2 * B, {"x": x, "y": np.zeros(2, np.float32), "places": np.zeros(2, np.int32)},
        {"y": blocks.max(axis=1), "places": blocks.argmax(axis=1).astype(np.int32)}, block_dim=B,
    )

    chained = blocks.copy()
    chained[:, 0] *= chained[:, 1]
    for k in range(2, B):
        chained[:, k] = chained[:, k] * np.float32(0.5) + chained[:, k - 1]
    yield one("one_thread", chained[:, ::-1].ravel())
    yield one("rows", sums)
    summed = np.cumsum(blocks.reshape(2, 8, 8), axis=2)
    yield one("rows_of_two", summed.transpose(0, 2, 1).ravel())

    line = blocks.copy()
    for _ in range(3):
        for color in range(2):
            for n in range(1, 63):
                if n % 2 == color:
                    line[:, n] = np.float32(0.5) * (line[:, n - 1] + line[:, n + 1])
    yield one("red_black", line.ravel(), turns=3)
    grid = blocks.reshape(2, 8, 8).copy()
    for t in range(5):
        for r in range(1, 7):
            for c in range(1, 7):
                if (r + c + t) % 2 == 0:
                    around = grid[:, r - 1, c] + grid[:, r + 1, c] + grid[:, r, c - 1] + grid[:, r, c + 1]
                    grid[:, r, c] = np.float32(0.25) * around
    yield one("red_black_sums", grid.ravel(), turns=5)
    yield one("odd_even_sort", np.sort(blocks, axis=1).ravel())

    square = x.reshape(16, 8)
    turned = np.concatenate([square[:8].T, square[8:].T])
    yield case("transposed", [2, B], {"x": square, "y": np.zeros_like(square)}, {"y": turned}, block_dim=B)
    a, b = (rng.uniform(-1, 1, (16, 16)).astype(np.float32) for _ in range(2))
    yield case(
        "product", [4, B], {"a": a, "b": b, "c": np.zeros_like(a), "c.grad": np.ones_like(a), "a.grad": np.zeros_like(a),
                          "b.grad": np.zeros_like(a)},
        {"c": a @ b, "a.grad": np.ones_like(a) @ b.T, "b.grad": a.T @ np.ones_like(a)}, block_dim=B, atol=1e-5,
    )
    back = blocks[:, ::-1] * 2
    yield one("reversed", (back * back[:, (np.arange(B) * 5 + 3) % B]).ravel())

    keys = rng.integers(0, 16, 512).astype(np.int32)
    yield case(
        "histogram", [2, B], {"x": keys, "counts": np.zeros(16, np.int32)},
        {"counts": np.bincount(keys, minlength=16).astype(np.int32)}, block_dim=B,
    )
    few = keys[: 2 * B]
    yield case(
        "counted", 2 * B, {"x": few, "counts": np.zeros(16, np.int32), "least": np.zeros(2, np.int32)},
        {"counts": 2 * np.bincount(few, minlength=16).astype(np.int32),
         "least": np.minimum((few.reshape(2, B) - np.arange(B)).min(axis=1), 0).astype(np.int32)}, block_dim=B,
    )
    long = rng.uniform(-1, 1, 512).astype(np.float32)
    parts = long.reshape(2, 256)
    yield case(
        "strided", [2, B], {"x": long, "y": np.zeros_like(long)}, {"y": (parts[:, ::-1] - parts).ravel()}, block_dim=B,
    )
    yield one("scan", np.cumsum(blocks, axis=1).ravel())
    first = np.concatenate([blocks[:, :1], blocks[:, :-1]], axis=1)
    yield case(
        "overwritten", 2 * B, {"x": x, "y": zeros, "turns": 2}, {"y": (blocks + 1.0 + 3.0 * first + 5.0 * blocks).ravel()},
        block_dim=B, atol=5e-6,
    )
    yield one("last_word", (np.repeat(blocks[:, 1] * 2, B) + x))

    y = rng.uniform(-1, 1, 2 * B).astype(np.float32)
    w = y.reshape(2, B).copy()
    t = blocks * 10
    w = np.where(w < blocks, t[:, :1] * blocks, w) + t[:, :1] * 0.125 + t[:, 1:2] * 0.125
    w += np.where(blocks > 0, t[:, 1:2], t[:, 2:3])
    after = t[:, 0] + B + t[:, 1] + np.where(blocks > 0, blocks, 0).sum(axis=1) + 7.0
    yield case(
        "scatter_behind_read", 2 * B, {"x": x, "y": y, "z": zeros}, {"y": w.ravel(), "z": np.repeat(after, B)},
        block_dim=B, atol=5e-5, rtol=2e-5,
    )
    yield one("old_value", np.repeat(2 * blocks[:, 0] + blocks[:, 2], B))
