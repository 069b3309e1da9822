"""Elements of several numbers that threads have one behind the other, or elsewhere: against numpy."""

import numpy as np
import warp as wp


@wp.kernel
def stored(a: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33), t: wp.array(dtype=wp.transform)):
    i = wp.tid()
    out[i] = wp.transpose(a[i])
    # Of some warps all threads come here, of others a few.
    if i >= 64 or i % 3 == 1:
        t[i] = wp.transform(wp.vec3(float(i), 1.0, 2.0), wp.quat(0.0, 0.0, 0.0, 1.0))


@wp.kernel
def in_place(a: wp.array2d(dtype=wp.spatial_vector), m: wp.array2d(dtype=wp.mat33d)):
    i, j = wp.tid()
    a[i, j] = a[i, j] * 2.0
    m[i, j] = m[i, j] * wp.float64(i + 1) + m[i, j]
    a[i, j] = a[i, j] + a[i, j]


@wp.kernel
def added(v: wp.array(dtype=wp.vec3i), w: wp.array(dtype=wp.spatial_vector), d: wp.array(dtype=wp.vec3d), n: int):
    i = wp.tid()
    wp.atomic_add(v, i, wp.vec3i(i, 2 * i, 3 * i))
    wp.atomic_sub(v, i, wp.vec3i(1, 2, i))
    w[i] += wp.spatial_vector(1.0, 2.0, 3.0, 4.0, 5.0, float(i))
    # Not one behind the other, and threads whose elements are the same.
    wp.atomic_add(v, i // 2, wp.vec3i(1, 1, 1))
    if i < n:
        d[i] += wp.vec3d(wp.float64(i), wp.float64(1.0), wp.float64(2.0))


def cases():
    rng = np.random.default_rng(11)
    for n in (5, 32, 200):
        i = np.arange(n)
        a = rng.normal(size=(n, 3, 3)).astype(np.float32)
        t = np.zeros((n, 7), np.float32)
        at = (i >= 64) | (i % 3 == 1)
        t[at] = np.stack([i, 0 * i + 1, 0 * i + 2, 0 * i, 0 * i, 0 * i, 0 * i + 1], 1)[at]
        args = dict(a=a, out=np.zeros((n, 3, 3)), t=np.zeros((n, 7)))
        yield case("stored", n, args, dict(out=a.transpose(0, 2, 1), t=t), id=f"stored_{n}", block_dim=64)
        whole = rng.integers(-8, 9, size=(3, n, 6)).astype(np.float32)
        m = rng.integers(-8, 9, size=(3, n, 3, 3)).astype(np.float64)
        more = m * np.arange(2, 5)[:, None, None, None]
        yield case("in_place", (3, n), dict(a=whole, m=m), dict(a=whole * 4, m=more), id=f"in_place_{n}")
        v = np.stack([i - 1, 2 * i - 2, 2 * i], 1)
        np.add.at(v, i // 2, 1)
        w = np.stack([0 * i + c for c in (1, 2, 3, 4, 5)] + [i], 1)
        d = np.where((i < n // 2)[:, None], np.stack([i, 0 * i + 1, 0 * i + 2], 1), 0)
        args = dict(v=np.zeros((n, 3)), w=np.zeros((n, 6)), d=np.zeros((n, 3)), n=n // 2)
        yield case("added", n, args, dict(v=v, w=w, d=d), id=f"added_{n}", block_dim=96)
