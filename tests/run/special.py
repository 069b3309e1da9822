"""NaN where it is easily lost: arcs limit their argument, and a sort has a place for it."""

import numpy as np
import warp as wp


@wp.kernel
def arcs(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64), h: wp.array(dtype=wp.float16), s: wp.array2d(dtype=float), t: wp.array2d(dtype=wp.float64), u: wp.array2d(dtype=wp.float16)):
    i = wp.tid()
    s[i, 0] = wp.asin(x[i])
    s[i, 1] = wp.acos(x[i])
    t[i, 0] = wp.asin(y[i])
    t[i, 1] = wp.acos(y[i])
    u[i, 0] = wp.asin(h[i])
    u[i, 1] = wp.acos(h[i])


@wp.kernel
def sorts(x: wp.array(dtype=float), keys: wp.array(dtype=float), places: wp.array(dtype=int)):
    i = wp.tid()
    k = wp.tile_load(x, shape=19, offset=i * 19)
    order = wp.tile_arange(19, dtype=int)
    wp.tile_sort(k, order)
    wp.tile_store(keys, k, offset=i * 19)
    wp.tile_store(places, order, offset=i * 19)


def cases():
    rng = np.random.default_rng(11)
    x = np.array([np.nan, -np.nan, 2, -2, np.inf, -np.inf, 0.5, -0.0])
    s = np.stack([np.arcsin(np.clip(x, -1, 1)), np.arccos(np.clip(x, -1, 1))], 1)
    args = dict(x=x, y=x, h=x, s=np.zeros((8, 2)), t=np.zeros((8, 2)), u=np.zeros((8, 2)))
    yield case("arcs", 8, args, dict(s=s, t=s, u=s), rtol=1e-3, atol=0)

    n = 12
    x = rng.integers(-3, 4, size=(n, 19)).astype(np.float32)
    x[rng.random(size=x.shape) < 0.2] = np.nan
    x[rng.random(size=x.shape) < 0.1] = -np.inf
    x[rng.random(size=x.shape) < 0.1] = np.inf
    x = np.where((x == 0) & (rng.random(size=x.shape) < 0.5), np.float32(-0.0), x)
    order = x.argsort(axis=1, kind="stable")
    args = dict(x=x.ravel(), keys=np.zeros(x.size), places=np.zeros(x.size))
    yield case("sorts", n, args, dict(keys=np.take_along_axis(x, order, 1).ravel(), places=order.ravel()), rtol=0, atol=0, block_dim=1)
