"""What threads of a warp tell each other, and arrays of a block: against numpy, with gradients by differences."""

import numpy as np
import warp as wp


@wp.func
def warp_sum(v: float):
    v += wp.shuffle_xor(v, 16)
    v += wp.shuffle_xor(v, 8)
    v += wp.shuffle_xor(v, 4)
    v += wp.shuffle_xor(v, 2)
    v += wp.shuffle_xor(v, 1)
    return v


@wp.kernel
def sums(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = warp_sum(x[i] * x[i]) * x[i]


@wp.kernel
def passed(x: wp.array(dtype=float), at: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.shuffle(wp.vec2(x[i], x[i] * x[i]), at[i])
    a = wp.shuffle_up(x[i], 3)
    b = wp.shuffle_down(x[i] * a, at[i])
    for k in range(3):
        b = wp.shuffle_xor(b, k) * v[0]
    y[i] = v[0] * a + v[1] * b


@wp.kernel
def votes(x: wp.array(dtype=int), masks: wp.array(dtype=wp.uint32), same: wp.array(dtype=wp.uint32), ranks: wp.array(dtype=int)):
    i = wp.tid()
    mask = wp.ballot(x[i] > 2)
    masks[i] = mask
    same[i] = wp.match(x[i])
    below = (wp.uint32(1) << wp.uint32(wp.lane() % 32)) - wp.uint32(1)
    ranks[i] = int(wp.bit_count(mask & below))


@wp.kernel
def shared(x: wp.array(dtype=float), buffer: wp.array(dtype=float), y: wp.array(dtype=float)):
    # Through an array of the block, then through the caller's.
    i = wp.tid()
    lane = wp.lane()
    s = wp.zeros(shape=96, dtype=float, storage="shared")
    s[lane] = x[i] * x[i]
    wp.sync()
    buffer[i] = s[wp.block_dim() - 1 - lane] * x[i]
    wp.sync()
    y[i] = buffer[i - lane + (lane + 1) % wp.block_dim()] * x[i]


@wp.struct
class Pair:
    a: wp.float64
    b: wp.vec3
    c: wp.uint8


@wp.kernel
def kinds(x: wp.array(dtype=float), at: wp.array(dtype=int), y: wp.array2d(dtype=float)):
    # Values of all sizes, each from another thread.
    i = wp.tid()
    v = x[i]
    p = Pair()
    p.a = wp.float64(v)
    p.b = wp.vec3(v, -v, v * v)
    p.c = wp.uint8(at[i] & 255)
    q = wp.shuffle(p, at[i])
    y[i, 0] = float(q.a) + q.b[1] * 3.0 + q.b[2] + float(q.c)
    h = wp.shuffle_up(wp.float16(v), 1)
    d = wp.shuffle_down(wp.float64(v), 2)
    n = wp.shuffle_xor(wp.int64(at[i]) * wp.int64(5000000000), 5)
    y[i, 1] = float(h) + float(d)
    y[i, 2] = float(n // wp.int64(1000000000))
    m = wp.shuffle_xor(wp.mat22(v, 2.0 * v, 3.0 * v, 4.0 * v), at[i] & 31)
    flag = wp.shuffle_down(v > 0.0, 7)
    y[i, 3] = m[0, 1] + m[1, 1] + wp.where(flag, 1000.0, 2000.0)
    y[i, 4] = float(wp.bit_count(wp.match(wp.int64(at[i] % 3) * wp.int64(5000000000)))) + float(wp.bit_count(wp.match(v > 0.0))) * 100.0
    y[i, 5] = wp.shuffle(v, 40)


@wp.kernel
def chosen(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float), z: wp.array(dtype=float)):
    # What is asked under a condition, and what some threads alone set or read.
    i = wp.tid()
    lane = wp.lane()
    parts = wp.zeros(shape=32, dtype=float, storage="shared")
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    v = x[i]
    if n > 2:
        v += wp.shuffle_down(v, n)
    else:
        v += wp.shuffle(v, n) * 2.0
    if lane & 31 == 7:
        v = v * 0.5
    if lane % 32 == 5:
        parts[lane // 32] = v * v
    s[lane] = v
    wp.sync()
    w = s[lane ^ 1] * parts[lane // 32]
    # Of the other warp: through memory.
    w += s[63 - lane]
    y[i] = w * wp.shuffle_up(w, 31)
    if lane == 40:
        z[i // 64] = w


@wp.kernel
def by_blocks(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    # The launch counts blocks: `lane` is all that differs.
    b = wp.tid()
    v = x[b, wp.lane()]
    total = warp_sum(v * v)
    if wp.lane() == 0:
        y[b] = total


def slope(f, x, up):
    """Of the product of `f(x)` and `up`, by central differences."""
    x, step = np.asarray(x, dtype=np.float64), 1e-6
    found = np.zeros(x.size)
    for n in range(x.size):
        d = np.zeros(x.size)
        d[n] = step
        d = d.reshape(x.shape)
        found[n] = ((f(x + d) - f(x - d)) * up).sum() / (2.0 * step)
    return found.reshape(x.shape)


def shuffled(v, way, by, block):
    n = np.arange(len(v))
    lane = n % block
    own = lane % 32
    other = {"from": by & 31, "up": own - by, "down": own + by, "xor": own ^ by}[way]
    thread = lane - own + other
    there = (other >= 0) & (other < 32) & (thread < block)
    return v[n - lane + np.where(there, thread, lane)]


@wp.kernel
def halves(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    # A row is summed up by halves: what threads read there no thread sets.
    i = wp.tid()
    lane = wp.lane()
    s = wp.zeros(shape=64, dtype=float, storage="shared")
    g = wp.zeros(shape=64, dtype=float, storage="shared")
    s[lane] = x[i] * x[i]
    g[lane] = x[i]
    wp.sync()
    d = int(32)
    while d > 0:
        if lane < d:
            s[lane] += s[lane + d]
        if d > lane and x[i] > -100.0:
            g[lane] = wp.max(g[lane], g[lane + d])
        wp.sync()
        d = d // 2
    if lane == 0:
        y[i // wp.block_dim()] = s[0]
    z[i] = g[0]


def cases():
    rng = np.random.default_rng(7)

    def both(kernel, f, x, more, block):
        y = f(x.astype(np.float64))
        up = rng.random(size=y.shape).astype(np.float32)
        args = {"x": x, "y": np.zeros(y.shape), "y.grad": up, "x.grad": np.zeros(x.shape), **more}
        wanted = {"y": y, "x.grad": slope(f, x, up)}
        return case(kernel, len(x), args, wanted, block_dim=block, rtol=2e-5, atol=2e-5, id=f"{kernel}_{block}")

    def total(v, block):
        for by in (16, 8, 4, 2, 1):
            v = v + shuffled(v, "xor", by, block)
        return v

    for block in (1, 20, 32, 80):
        n = 2 * block
        x = (rng.random(n) - 0.3).astype(np.float32)
        at = rng.integers(-40, 40, n).astype(np.int32)

        def passed_of(x):
            v0, v1 = shuffled(x, "from", at, block), shuffled(x * x, "from", at, block)
            a = shuffled(x, "up", 3, block)
            b = shuffled(x * a, "down", at, block)
            for k in range(3):
                b = shuffled(b, "xor", k, block) * v0
            return v0 * a + v1 * b

        def shared_of(x):
            squares = (x * x).reshape(-1, block)[:, ::-1].reshape(-1) * x
            return np.roll(squares.reshape(-1, block), -1, axis=1).reshape(-1) * x

        yield both("sums", lambda x: total(x * x, block) * x, x, {}, block)
        yield both("passed", passed_of, x, {"at": at}, block)
        yield both("shared", shared_of, x, {"buffer": np.zeros(n), "buffer.grad": np.zeros(n)}, block)

        k = rng.integers(0, 6, n).astype(np.int32)
        lane = np.arange(n) % block
        own, number = lane % 32, np.arange(n)
        inside = (lane[:, None] // 32 == lane[None] // 32) & (number[:, None] // block == number[None] // block)
        bits = 1 << own.astype(np.int64)
        masks = (inside * (k > 2)[None] * bits[None]).sum(1)
        same = (inside * (k[:, None] == k[None]) * bits[None]).sum(1)
        ranks = [bin(int(mask) & ((1 << int(one)) - 1)).count("1") for mask, one in zip(masks, own)]
        empty = np.zeros(n)
        yield case(
            "votes", n, {"x": k, "masks": empty, "same": empty, "ranks": empty}, {"masks": masks, "same": same, "ranks": ranks},
            block_dim=block, id=f"votes_{block}",
        )

    for block in (1, 8, 33, 64):
        n = 2 * block
        x = ((rng.integers(0, 64, n) - 20) / 16.0).astype(np.float32)
        at = rng.integers(-40, 40, n).astype(np.int32)
        v, k = x.astype(np.float64), at.astype(np.int64)
        lane = np.arange(n) % block
        own = lane % 32
        q = shuffled(v, "from", at, block)
        same_of = lambda keys: np.array([
            sum(keys[i - lane[i] + j] == keys[i] for j in range(lane[i] - own[i], min(lane[i] - own[i] + 32, block))) for i in range(n)
        ])
        y = np.zeros((n, 6))
        y[:, 0] = q - 3 * q + q * q + shuffled(k & 255, "from", at, block)
        y[:, 1] = shuffled(v, "up", 1, block) + shuffled(v, "down", 2, block)
        y[:, 2] = shuffled(k, "xor", 5, block) * 5
        y[:, 3] = 6 * shuffled(v, "xor", at & 31, block) + np.where(shuffled(v > 0, "down", 7, block), 1000, 2000)
        y[:, 4] = same_of(np.fmod(k, 3)) + 100 * same_of(v > 0)
        y[:, 5] = shuffled(v, "from", np.full(n, 40), block)
        yield case("kinds", n, {"x": x, "at": at, "y": np.zeros((n, 6))}, {"y": y}, block_dim=block, rtol=1e-6, id=f"kinds_{block}")

    def chosen_of(x, n):
        v = x + (shuffled(x, "down", n, 64) if n > 2 else 2.0 * shuffled(x, "from", np.full(len(x), n), 64))
        lane = np.arange(len(x)) % 64
        v = np.where(lane % 32 == 7, 0.5 * v, v)
        blocks = v.reshape(-1, 64)
        parts = np.repeat((blocks[:, [5, 37]] ** 2), 32, axis=1)
        w = shuffled(v, "xor", 1, 64).reshape(-1, 64) * parts + blocks[:, ::-1]
        w = w.reshape(-1)
        return w * shuffled(w, "up", 31, 64), w[40::64]

    for n in (2, 3):
        x = (rng.random(128) - 0.3).astype(np.float32)
        y, z = chosen_of(x.astype(np.float64), n)
        up = [rng.random(128).astype(np.float32), rng.random(2).astype(np.float32)]
        wanted = slope(lambda x: np.concatenate(chosen_of(x, n)), x, np.concatenate(up))
        yield case(
            "chosen", 128,
            {"x": x, "n": n, "y": np.zeros(128), "z": np.zeros(2), "y.grad": up[0], "z.grad": up[1], "x.grad": np.zeros(128)},
            {"y": y, "z": z, "x.grad": wanted}, block_dim=64, rtol=2e-5, atol=2e-5, id=f"chosen_{n}",
        )

    x = rng.random((3, 32)).astype(np.float32)
    up = rng.random(3).astype(np.float32)
    yield case(
        "by_blocks", [3, 32], {"x": x, "y": np.zeros(3), "y.grad": up, "x.grad": np.zeros((3, 32))},
        {"y": (x * x).sum(1), "x.grad": 2 * x * up[:, None]}, block_dim=32, rtol=2e-5, atol=2e-5,
    )
    x = rng.normal(size=192).astype(np.float32)
    rows, up = x.reshape(3, 64).astype(np.float64), np.array([1.0, -2.0, 0.5])
    yield case(
        "halves", 192, {"x": x, "y": np.zeros(3), "z": np.zeros(192), "y.grad": up, "x.grad": np.zeros(192)},
        {"y": (rows * rows).sum(1), "z": np.repeat(rows.max(1), 64), "x.grad": (2 * rows * up[:, None]).ravel()}, block_dim=64, rtol=2e-5, atol=2e-5,
    )
