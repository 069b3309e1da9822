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
