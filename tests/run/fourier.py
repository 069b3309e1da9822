"""Fourier transforms of tiles, against numpy's in double precision: lengths of all kinds of factors, several lines at once, and gradients,
which are the transforms back. A line of `x` has the lines of all lengths one after the other."""

import numpy as np
import warp as wp

#: By kernel: one, factors that have passes of their own and such as have none; several of both, one behind another; the same in float32.
LENGTHS = {
    "short": [1, 2, 3, 4, 5, 7, 8, 11],
    "products": [12, 14, 15, 16, 18, 20, 49],
    "floats": [64, 19, 120, 128],
    "inverse": [64, 19],
}


@wp.kernel
def short(x: wp.array2d(dtype=wp.vec2d), y: wp.array2d(dtype=wp.vec2d)):
    i = wp.tid()
    a = wp.tile_load(x, shape=(2, 1), offset=(2 * i, 0))
    wp.tile_fft(a)
    wp.tile_store(y, a, offset=(2 * i, 0))
    b = wp.tile_load(x, shape=(2, 2), offset=(2 * i, 1))
    wp.tile_fft(b)
    wp.tile_store(y, b, offset=(2 * i, 1))
    c = wp.tile_load(x, shape=(2, 3), offset=(2 * i, 3))
    wp.tile_fft(c)
    wp.tile_store(y, c, offset=(2 * i, 3))
    d = wp.tile_load(x, shape=(2, 4), offset=(2 * i, 6))
    wp.tile_fft(d)
    wp.tile_store(y, d, offset=(2 * i, 6))
    e = wp.tile_load(x, shape=(2, 5), offset=(2 * i, 10))
    wp.tile_fft(e)
    wp.tile_store(y, e, offset=(2 * i, 10))
    f = wp.tile_load(x, shape=(2, 7), offset=(2 * i, 15))
    wp.tile_fft(f)
    wp.tile_store(y, f, offset=(2 * i, 15))
    g = wp.tile_load(x, shape=(2, 8), offset=(2 * i, 22))
    wp.tile_fft(g)
    wp.tile_store(y, g, offset=(2 * i, 22))
    h = wp.tile_load(x, shape=(2, 11), offset=(2 * i, 30))
    wp.tile_fft(h)
    wp.tile_store(y, h, offset=(2 * i, 30))


@wp.kernel
def products(x: wp.array2d(dtype=wp.vec2d), y: wp.array2d(dtype=wp.vec2d)):
    i = wp.tid()
    a = wp.tile_load(x, shape=(1, 12), offset=(i, 0))
    wp.tile_fft(a)
    wp.tile_store(y, a, offset=(i, 0))
    b = wp.tile_load(x, shape=(1, 14), offset=(i, 12))
    wp.tile_fft(b)
    wp.tile_store(y, b, offset=(i, 12))
    c = wp.tile_load(x, shape=(1, 15), offset=(i, 26))
    wp.tile_fft(c)
    wp.tile_store(y, c, offset=(i, 26))
    d = wp.tile_load(x, shape=(1, 16), offset=(i, 41))
    wp.tile_fft(d)
    wp.tile_store(y, d, offset=(i, 41))
    e = wp.tile_load(x, shape=(1, 18), offset=(i, 57))
    wp.tile_fft(e)
    wp.tile_store(y, e, offset=(i, 57))
    f = wp.tile_load(x, shape=(1, 20), offset=(i, 75))
    wp.tile_fft(f)
    wp.tile_store(y, f, offset=(i, 75))
    g = wp.tile_load(x, shape=(1, 49), offset=(i, 95))
    wp.tile_fft(g)
    wp.tile_store(y, g, offset=(i, 95))


@wp.kernel
def floats(x: wp.array2d(dtype=wp.vec2), y: wp.array2d(dtype=wp.vec2)):
    i = wp.tid()
    a = wp.tile_load(x, shape=(3, 64), offset=(3 * i, 0))
    wp.tile_fft(a)
    wp.tile_store(y, a, offset=(3 * i, 0))
    b = wp.tile_load(x, shape=(3, 19), offset=(3 * i, 64))
    wp.tile_fft(b)
    wp.tile_store(y, b, offset=(3 * i, 64))
    c = wp.tile_load(x, shape=(3, 120), offset=(3 * i, 83))
    wp.tile_fft(c)
    wp.tile_store(y, c, offset=(3 * i, 83))
    d = wp.tile_load(x, shape=(3, 128), offset=(3 * i, 203))
    wp.tile_fft(d)
    wp.tile_store(y, d, offset=(3 * i, 203))


@wp.kernel
def inverse(x: wp.array2d(dtype=wp.vec2), y: wp.array2d(dtype=wp.vec2)):
    i = wp.tid()
    a = wp.tile_load(x, shape=(1, 64), offset=(i, 0))
    wp.tile_ifft(a)
    wp.tile_store(y, a, offset=(i, 0))
    b = wp.tile_load(x, shape=(1, 19), offset=(i, 64))
    wp.tile_ifft(b)
    wp.tile_store(y, b, offset=(i, 64))


@wp.kernel
def of_planes(x: wp.array3d(dtype=wp.vec2d), y: wp.array3d(dtype=wp.vec2d)):
    t = wp.tile_load(x, shape=(2, 3, 16))
    wp.tile_fft(t[:, 1:, :])
    wp.tile_store(y, t)


# The same sum with a table of cosines, and where that does not fit into the memory that all GPUs have.
@wp.kernel
def primes(x: wp.array2d(dtype=wp.vec2d), y: wp.array2d(dtype=wp.vec2d), z: wp.array2d(dtype=wp.vec2d)):
    i = wp.tid()
    a = wp.tile_load(x, shape=(1, 13), offset=(i, 0))
    wp.tile_fft(a)
    wp.tile_store(y, a, offset=(i, 0))
    b = wp.tile_load(x, shape=(70, 13), offset=(70 * i, 0))
    wp.tile_fft(b)
    wp.tile_store(z, b, offset=(70 * i, 0))


def complexes(x):
    return x[..., 0].astype(np.float64) + 1j * x[..., 1]


def pairs(z):
    return np.stack([z.real, z.imag], axis=-1)


def of_lines(x, lengths, transform):
    """The transforms of the lines of these lengths, one after the other."""
    ends = np.cumsum(lengths)
    return pairs(np.concatenate([transform(complexes(x[:, end - n : end])) for n, end in zip(lengths, ends)], axis=1))


def back(z):
    return np.fft.ifft(z) * z.shape[-1]


def cases():
    rng = np.random.default_rng(40)
    for kernel, lines, atol in [("short", 4, 4e-15), ("products", 2, 2e-14), ("floats", 6, 6e-6)]:
        lengths = LENGTHS[kernel]
        dtype = np.float32 if kernel == "floats" else np.float64
        x, g = rng.normal(size=(2, lines, sum(lengths), 2)).astype(dtype)
        args = {"x": x, "y": np.zeros_like(x), "x.grad": np.zeros_like(x), "y.grad": g}
        expect = {"y": of_lines(x, lengths, np.fft.fft), "x.grad": of_lines(g, lengths, back)}
        yield case(kernel, 2, args, expect, block_dim=1, rtol=0, atol=atol)
    x = rng.normal(size=(2, 83, 2)).astype(np.float32)
    expect = dict(y=of_lines(x, LENGTHS["inverse"], back))
    yield case("inverse", 2, dict(x=x, y=np.zeros_like(x)), expect, block_dim=1, rtol=0, atol=6e-6)
    x = rng.normal(size=(2, 3, 16, 2))
    y = x.copy()
    y[:, 1:] = pairs(np.fft.fft(complexes(x[:, 1:])))
    yield case("of_planes", 1, dict(x=x, y=np.zeros_like(x)), dict(y=y), block_dim=1, rtol=0, atol=4e-15)
    x = rng.normal(size=(70, 13, 2))
    z = pairs(np.fft.fft(complexes(x)))
    none = np.zeros_like(x)
    expect = dict(y=np.concatenate([z[:1], none[1:]]), z=z)
    yield case("primes", 1, dict(x=x, y=none, z=none), expect, block_dim=1, rtol=0, atol=1e-14)
