"""Threads of a block that have values of their own, between what they do together: against numpy, with gradients by differences."""

import numpy as np
import warp as wp

B = 8


@wp.func
def relu(x: float):
    return wp.max(x, 0.0)


@wp.func
def half_sum(x: float):
    return wp.tile_sum(wp.tile(x))[0] * 0.5


@wp.kernel
def layer(x: wp.array(dtype=float), w: wp.array2d(dtype=float), bias: wp.array2d(dtype=float), loss: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    v = wp.vec4()
    for s in range(4):
        v[s] = wp.sin(x[i] * float(s + 1))
    z = wp.tile_matmul(wp.tile_load(w, shape=(3, 4)), wp.tile(v))
    z = wp.tile_map(relu, z + wp.tile_broadcast(wp.tile_load(bias, shape=(3, 1)), shape=(3, B)))
    o = wp.untile(z)
    if loss:
        wp.atomic_add(loss, 0, wp.length_sq(o))
    for k in range(3):
        out[k, i] = o[k] * x[i]


@wp.kernel
def carried(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    # Both change in each iteration, and change places; a branch that all threads take.
    i = wp.tid()
    a = x[i]
    b = a * 0.5
    for k in range(n):
        s = wp.tile_sum(wp.tile(a))[0]
        c = b + s * 0.1
        b = a
        a = c
        if s > 3.0:
            b = b / wp.tile_sum(wp.tile(b * b))[0]
        else:
            b = b + 1.0
    y[i] = a * b


@wp.kernel
def until(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # A loop that all threads leave together, with a branch of each in it; loops of each before.
    i = wp.tid()
    a = x[i]
    while a > 0.9:
        a = a * a
    s = wp.tile_sum(wp.tile(a))[0]
    while s > 0.01:
        a = a * 0.5
        if a < 0.1:
            a = a * a * 2.0
        s = wp.tile_sum(wp.tile(a))[0]
    y[i] = a


@wp.kernel
def scattered(x: wp.array2d(dtype=float), at: wp.array(dtype=int), y: wp.array2d(dtype=float)):
    b, lane = wp.tid()
    v = x[b, lane]
    t = wp.tile_zeros(shape=4, dtype=float)
    wp.tile_scatter_add(t, at[lane], v * v, v > 0.2)
    wp.tile_scatter_add(t, 1, 0.5, True)
    wp.tile_scatter_masked(t, 3, v * 3.0, lane == 2)
    one = wp.tile_from_thread(shape=4, value=v, thread_idx=5)
    wp.tile_store(y[b], t * t + one)


@wp.kernel
def elements(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), z: wp.array2d(dtype=float)):
    b, lane = wp.tid()
    t = wp.tile_load(x[b], shape=B)
    # Reads what others set in the line before; sets what others read in it.
    v = t[B - 1 - lane]
    t[lane] = v * v
    w = t[(lane + 1) % B]
    t[lane] += w
    t[0] += 1.0
    z[b, lane] = w * v
    wp.tile_store(y[b], t)


@wp.kernel
def updates(x: wp.array2d(dtype=float), at: wp.array(dtype=int), y: wp.array2d(dtype=float)):
    # What each adds is not lost, wherever it read before, and though the second place is one.
    b, lane = wp.tid()
    t = wp.tile_load(x[b], shape=B)
    v = t[B - 1 - lane]
    t[at[lane]] += v * v
    w = t[(lane + 1) % B]
    t[lane - lane] += w * x[b, lane]
    t[(lane * 0) & 7] -= t[B - 1 - lane] * 0.5
    y[b, lane] = t[lane] * v + w


@wp.kernel
def softmax(x: wp.array3d(dtype=float), y: wp.array3d(dtype=float)):
    i, j, k = wp.tid()
    v = x[i, j, k]
    e = wp.exp(v - wp.tile_max(wp.tile(v))[0])
    y[i, j, k] = e / wp.tile_sum(wp.tile(e))[0]


@wp.kernel
def parts(x: wp.array(dtype=float), y: wp.array(dtype=wp.mat22), n: int):
    i = wp.tid()
    kept = wp.zeros(shape=3, dtype=float)
    m = wp.mat22()
    if i < n:
        m = wp.mat22(x[i], x[i] * 2.0, 1.0, x[i] * x[i])
        kept[1] = x[i]
    u = wp.tile_sum(wp.tile(m), axis=2)
    w = wp.untile(wp.tile(m, preserve_type=True))
    if i < n:
        y[i] = w * u[0, 1] + m * (u[1, 1] + kept[1])


@wp.kernel
def by_function(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    if n < 2:
        return
    a = half_sum(x[i])
    b = half_sum(a * x[i])
    y[i] = b * x[i] + a * float(wp.block_dim())


@wp.kernel
def counted(count: wp.array(dtype=int), order: wp.array(dtype=int)):
    # What each thread does by itself, though all do the same.
    i = wp.tid()
    t = wp.tile_zeros(shape=2, dtype=int)
    wp.atomic_add(count, 0, 1)
    count[1] += 2
    t[0] += 1
    at = wp.atomic_add(count, 2, 1)
    order[at] += wp.tile_sum(wp.tile(1))[0]
    wp.tile_atomic_add(count, t, offset=3)


@wp.kernel
def stacked(x: wp.array(dtype=float), y: wp.array(dtype=float), counts: wp.array(dtype=int)):
    b, lane = wp.tid()
    s = wp.tile_stack(capacity=6, dtype=float)
    counts[lane] = wp.tile_stack_push(s, x[lane] * x[lane], lane % 4 != 1)
    rounds = int(0)
    while wp.tile_stack_count(s) > 0:
        value, slot = wp.tile_stack_pop(s)
        if slot != -1:
            y[slot] += value * float(slot)
        wp.tile_stack_push(s, x[0], lane == 3 and rounds == 0)
        rounds += 1
    counts[B] = rounds
    wp.tile_stack_clear(s)
    value, slot = wp.tile_stack_pop(s)
    counts[B + 1] = slot


@wp.kernel
def pushed(slots: wp.array(dtype=int), full: wp.array(dtype=int)):
    # Nothing is popped, so nothing reads the elements.
    lane = wp.tid()
    s = wp.tile_stack(capacity=3, dtype=int)
    slots[lane] = wp.tile_stack_push(s, lane, lane % 2 == 0)
    full[lane] = wp.tile_stack_count(s)


def launches():
    wp.launch(layer, dim=32, block_dim=B)


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


@wp.kernel
def blocks(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    r, i = wp.tid()
    b = i // wp.block_dim()
    t = wp.tile_load(x[r], shape=8, offset=b * 8)
    u = wp.tile_load(x[r], shape=16, offset=i // (2 * wp.block_dim()) * 16)
    if b % 2 == 1:
        t *= wp.tile_sum(u)[0]
    y[r, i] = t[i % wp.block_dim()] * x[r, i] + t[i & 7] * float(i >> 3)


def both(kernel, dim, f, x, more, **options):
    """Runs a kernel of `x` that sets `y`, and its gradient."""
    rng = np.random.default_rng(11)
    y = f(x.astype(np.float64))
    up = rng.random(size=y.shape).astype(np.float32)
    args = {"x": x, "y": np.zeros(y.shape), "y.grad": up, "x.grad": np.zeros(x.shape), **more}
    return case(kernel, dim, args, {"y": y, "x.grad": slope(f, x, up)}, rtol=2e-5, atol=2e-5, **options)


def cases():
    rng = np.random.default_rng(5)

    def layer_of(x, w, bias):
        z = np.maximum(w @ np.sin(np.outer(np.arange(1, 5), x)) + bias, 0.0)
        return (z * z).sum(), z * x

    x, w = rng.random(32).astype(np.float32), (rng.random((3, 4)) - 0.4).astype(np.float32)
    bias, up = (rng.random((3, 1)) - 0.5).astype(np.float32), rng.random((3, 32)).astype(np.float32)
    loss, out = layer_of(x.astype(np.float64), w, bias)
    of_x = slope(lambda x: np.append(2.0 * layer_of(x, w, bias)[0], layer_of(x, w, bias)[1]), x, np.append(1.0, up))
    of_w = slope(lambda w: np.append(2.0 * layer_of(x, w, bias)[0], layer_of(x, w, bias)[1]), w, np.append(1.0, up))
    yield case(
        "layer",
        32,
        {"x": x, "w": w, "bias": bias, "loss": [0.0], "out": np.zeros((3, 32)), "loss.grad": [2.0], "out.grad": up,
         "x.grad": np.zeros(32), "w.grad": np.zeros((3, 4)), "bias.grad": np.zeros((3, 1))},
        {"loss": [loss], "out": out, "x.grad": of_x, "w.grad": of_w},
        block_dim=B, rtol=2e-5, atol=2e-5,
    )

    def carried_of(x, block, n):
        x = x.reshape(-1, block)
        a, b = x, x * 0.5
        for _ in range(n):
            s = a.sum(1, keepdims=True)
            a, b = b + s * 0.1, a
            b = np.where(s > 3.0, b / (b * b).sum(1, keepdims=True), b + 1.0)
        return (a * b).reshape(-1)

    for block, n in [(8, 3), (3, 2), (32, 1), (48, 0), (1, 2)]:
        x = rng.random(96).astype(np.float32)
        yield both("carried", 96, lambda x: carried_of(x, block, n), x, {"n": n}, block_dim=block, id=f"carried_{block}_{n}")

    def until_of(x):
        a = x.reshape(-1, 8)
        while (a > 0.9).any():
            a = np.where(a > 0.9, a * a, a)
        s = a.sum(1, keepdims=True)
        while (s > 0.01).any():
            b = a * 0.5
            b = np.where(b < 0.1, b * b * 2.0, b)
            a = np.where(s > 0.01, b, a)
            s = a.sum(1, keepdims=True)
        return a.reshape(-1)

    yield both("until", 16, until_of, np.linspace(0.01, 0.99, 16).astype(np.float32), {}, block_dim=8)

    at = np.array([3, 0, 1, 1, 0, 2, 2, 2], dtype=np.int32)

    def scattered_of(x):
        out = np.zeros((len(x), 4))
        for row, t in zip(x, out):
            np.add.at(t, at[row > 0.2], row[row > 0.2] ** 2)
            t[1] += 4.0
            t[3] = row[2] * 3.0
        return out * out + x[:, 5:6]

    yield both("scattered", [4, 8], scattered_of, rng.random((4, 8)).astype(np.float32), {"at": at}, block_dim=8)

    x = rng.random((3, 8)).astype(np.float32)

    def elements_of(x):
        t = x[:, ::-1] ** 2
        w = np.roll(t, -1, axis=1)
        return t + w + np.where(np.arange(8) == 0, 8.0, 0.0), w * x[:, ::-1]

    up = rng.random((2, 3, 8)).astype(np.float32)
    y, z = elements_of(x.astype(np.float64))
    yield case(
        "elements",
        [3, 8],
        {"x": x, "y": np.zeros((3, 8)), "z": np.zeros((3, 8)), "y.grad": up[0], "z.grad": up[1], "x.grad": np.zeros((3, 8))},
        {"y": y, "z": z, "x.grad": slope(lambda x: np.stack(elements_of(x)), x, up)},
        block_dim=8, rtol=2e-5, atol=2e-5,
    )

    at = np.array([3, 3, 0, 7, 3, 0, 5, 3], dtype=np.int32)

    def updates_of(x):
        t = np.array(x)
        v = t[:, ::-1].copy()
        for lane in range(8):
            t[:, at[lane]] += v[:, lane] ** 2
        w = np.roll(t, -1, axis=1)
        t[:, 0] += (w * x).sum(1)
        t[:, 0] -= 0.5 * t.sum(1)
        return t * v + w

    x = rng.random((3, 8)).astype(np.float32)
    yield both("updates", [3, 8], updates_of, x, {"at": at}, block_dim=8)

    def softmax_of(x):
        e = np.exp(x.reshape(2, 3, 2, 16))
        return (e / e.sum(3, keepdims=True)).reshape(2, 3, 32)

    x = (rng.random((2, 3, 32)) * 3.0).astype(np.float32)
    yield both("softmax", [2, 3, 32], softmax_of, x, {}, block_dim=16)

    def parts_of(x, n):
        inside = np.arange(len(x)) < n
        m = np.stack([np.stack([x, 2.0 * x], -1), np.stack([np.ones_like(x), x * x], -1)], -2) * inside[:, None, None]
        m = m.reshape(-1, 8, 2, 2)
        u = m.sum(1)[:, None]
        y = m * (u[..., 0:1, 1:2] + u[..., 1:2, 1:2] + (x * inside).reshape(-1, 8, 1, 1))
        return y.reshape(-1, 2, 2)

    yield both("parts", 16, lambda x: parts_of(x, 13), rng.random(16).astype(np.float32), {"n": 13}, block_dim=8)

    def by_function_of(x, n):
        x = x.reshape(-1, 8)
        a = x.sum(1, keepdims=True) * 0.5
        return (((a * x).sum(1, keepdims=True) * 0.5 * x + a * 8.0) * (n >= 2)).reshape(-1)

    for n in (1, 2):
        x = rng.random(24).astype(np.float32)
        yield both("by_function", 24, lambda x: by_function_of(x, n), x, {"n": n}, block_dim=8, id=f"by_function_{n}")

    # Threads push what three of four have; all is popped at once, then what one of them pushed.
    x = rng.random(8).astype(np.float32)
    pushed = [0, 2, 3, 4, 6, 7]

    def stacked_of(x):
        y = np.zeros(8)
        y[:6] = x[pushed] ** 2 * np.arange(6)
        return y

    up = rng.random(8).astype(np.float32)
    yield case(
        "stacked",
        [1, 8],
        {"x": x, "y": np.zeros(8), "counts": np.full(10, 9), "y.grad": up, "x.grad": np.zeros(8)},
        {"y": stacked_of(x.astype(np.float64)), "counts": [0, -1, 1, 2, 3, -1, 4, 5, 2, -1], "x.grad": slope(stacked_of, x, up)},
        block_dim=8, rtol=2e-5, atol=2e-5,
    )

    yield case(
        "pushed", 16, {"slots": np.zeros(16), "full": np.zeros(16)},
        {"slots": [0, -1, 1, -1, 2, -1, -1, -1] * 2, "full": np.full(16, 3)}, block_dim=8,
    )

    def blocks_of(x):
        t = x.reshape(2, 4, 2, 8).copy()
        t[:, :, 1] *= t.sum((2, 3))[..., None] * 1.0
        t = t.reshape(2, 8, 8)
        return (t * x.reshape(2, 8, 8) + t * np.arange(8.0)[:, None]).reshape(2, 64)

    yield both("blocks", [2, 64], blocks_of, rng.random((2, 64)).astype(np.float32), {}, block_dim=8)

    # Each thread has a place of its own; which one is open.
    arrays = {"count": np.zeros(5), "order": np.full(8, -1)}
    yield case("counted", 8, arrays, {"count": [8, 16, 8, 8, 0], "order": np.full(8, 3)}, block_dim=4)
