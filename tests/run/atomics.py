"""Atomic updates: sums and extremes that many threads work on."""

import numpy as np
import warp as wp


@wp.kernel
def histogram(key: wp.array(dtype=int), bins: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(bins, key[i], 1)


@wp.kernel
def augmented(key: wp.array(dtype=int), bins: wp.array(dtype=int)):
    i = wp.tid()
    bins[key[i]] += 2
    bins[0] -= 1


@wp.kernel
def extremes(x: wp.array(dtype=float), low: wp.array(dtype=float), high: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_min(low, 0, x[i])
    wp.atomic_max(high, 0, x[i])


@wp.kernel
def tickets(counter: wp.array(dtype=int), taken: wp.array(dtype=int)):
    ticket = wp.atomic_add(counter, 0, 1)
    taken[ticket] = 1


@wp.kernel
def own(x: wp.array(dtype=float), out: wp.array2d(dtype=float), v: wp.array(dtype=wp.vec3)):
    """Arrays of the thread: [old values; what is left]."""
    i = wp.tid()
    a = wp.zeros(shape=(2, 3), dtype=float)
    out[i, 0] = wp.atomic_add(a, 1, 2, x[i])
    out[i, 1] = wp.atomic_sub(a, 1, 2, 1.0)
    out[i, 2] = wp.atomic_max(a, 1, 2, 4.0)
    out[i, 3] = wp.atomic_cas(a, 1, 2, 4.0, 5.0)
    row = wp.view(a, 1)
    out[i, 4] = wp.atomic_exch(row, -1, 7.0)
    out[i, 5] = a[1, 2]
    b = wp.zeros(shape=2, dtype=wp.vec3)
    wp.atomic_min(b, 1, wp.vec3(x[i], -1.0, 1.0))
    v[i] = b[1] + wp.atomic_add(b, 0, wp.vec3(1.0))


@wp.kernel
def sums(x: wp.array(dtype=float), total: wp.array(dtype=float), some: wp.array(dtype=wp.vec3), each: wp.array2d(dtype=float)):
    """Places that are the same for all threads: always, for those that come, and in each turn of a loop."""
    i = wp.tid()
    for j in range(each.shape[1]):
        wp.atomic_add(each, 0, j, x[i] * float(j))
    for j in range(i % 4):
        each[1, j] -= x[i]
    if i % 3 == 0:
        wp.atomic_sub(some, 1, wp.vec3(x[i], 1.0, -x[i]))
    wp.atomic_add(total, 0, x[i])


@wp.kernel
def seen(x: wp.array(dtype=float), total: wp.array(dtype=float), y: wp.array(dtype=float)):
    """A thread that looks at what it has added."""
    wp.atomic_add(total, 0, x[0])
    y[0] = total[0]
    total[1] += x[0]
    total[1] *= 2.0


def cases():
    rng = np.random.default_rng(3)
    key = rng.integers(0, 10, size=5000).astype(np.int32)
    count = np.bincount(key, minlength=10)
    yield case("histogram", 5000, dict(key=key, bins=np.zeros(10)), dict(bins=count))
    more = 2 * count
    more[0] -= 5000
    yield case("augmented", 5000, dict(key=key, bins=np.zeros(10)), dict(bins=more))
    x = rng.normal(size=3000).astype(np.float32)
    args = dict(x=x, low=[np.inf], high=[-np.inf])
    yield case("extremes", 3000, args, dict(low=[x.min()], high=[x.max()]), rtol=0, atol=0)
    yield case("tickets", 400, dict(counter=[0], taken=np.zeros(400)), dict(counter=[400], taken=np.ones(400)))
    left = np.maximum(x[:9] - np.float32(1), np.float32(4))
    last = np.where(left == 4, np.float32(5), left)
    rows = [np.zeros(9), x[:9], x[:9] - np.float32(1), left, last, np.full(9, 7)]
    small = np.stack([np.minimum(x[:9], 0), np.full(9, -1.0), np.zeros(9)], axis=1)
    args = dict(x=x[:9], out=np.zeros((9, 6)), v=np.zeros((9, 3)))
    yield case("own", 9, args, dict(out=np.stack(rows, axis=1), v=small))
    for n, block in [(1, 32), (1000, 256), (777, 96)]:
        # Whole numbers: their sums are the same in any order.
        x = rng.integers(-9, 10, size=n).astype(np.float32)
        turns, of_three = np.arange(n) % 4, x[::3]
        each = np.stack([x.sum() * np.arange(5), [-x[turns > j].sum() for j in range(5)]])
        some = np.array([[0, 0, 0], [-of_three.sum(), -len(of_three), of_three.sum()]])
        args = dict(x=x, total=[0], some=np.zeros((2, 3)), each=np.zeros((2, 5)))
        expect = dict(total=[x.sum()], some=some, each=each)
        yield case("sums", n, args, expect, rtol=0, atol=0, id=f"sums_{n}", block_dim=block)
    yield case("seen", 1, dict(x=[3], total=[1, 2], y=[0]), dict(total=[4, 10], y=[4]))
