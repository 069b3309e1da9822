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

    x = rng.random((3, 32)).astype(np.float32)
    up = rng.random(3).astype(np.float32)
    yield case(
        "by_blocks", [3, 32], {"x": x, "y": np.zeros(3), "y.grad": up, "x.grad": np.zeros((3, 32))},
        {"y": (x * x).sum(1), "x.grad": 2 * x * up[:, None]}, block_dim=32, rtol=2e-5, atol=2e-5,
    )
