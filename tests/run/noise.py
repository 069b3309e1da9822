"""Gradient noise against a direct numpy version in double precision, and curl noise against its finite differences."""

import itertools

import numpy as np
import warp as wp


@wp.kernel
def values(x: wp.array(dtype=wp.vec4), out: wp.array2d(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    p = x[i]
    out[i, 0] = wp.noise(s, p[0])
    out[i, 1] = wp.noise(s, wp.vec2(p[0], p[1]))
    out[i, 2] = wp.noise(s, wp.vec3(p[0], p[1], p[2]))
    out[i, 3] = wp.noise(s, p)
    out[i, 4] = wp.pnoise(s, p[0], 3)
    out[i, 5] = wp.pnoise(s, wp.vec3(p[0], p[1], p[2]), 3, 4, 5)


@wp.kernel
def swirl(x: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = wp.curlnoise(wp.rand_init(42), wp.vec2(x[i][0], x[i][1]))


@wp.kernel
def divergence(x: wp.array(dtype=wp.vec4), out: wp.array(dtype=float)):
    i = wp.tid()
    p = wp.vec3(x[i][0], x[i][1], x[i][2])
    h = 0.01
    total = float(0.0)
    for k in range(3):
        step = wp.vec3()
        step[k] = h
        ahead = wp.curlnoise(wp.uint32(7), p + step, wp.uint32(2), 2.0, 0.5)
        behind = wp.curlnoise(wp.uint32(7), p - step, wp.uint32(2), 2.0, 0.5)
        total += (ahead[k] - behind[k]) / (2.0 * h)
    out[i] = total


def pcg(state):
    b = state * 747796405 + 2891336453 & 0xFFFFFFFF
    c = ((b >> (b >> 28) + 4) ^ b) * 277803737 & 0xFFFFFFFF
    return c >> 22 ^ c


def gradient(state, cell):
    primes = [73856093, 19349663, 53471161, 10000019]
    h = cell[-1] * primes[len(cell) - 1] + state & 0xFFFFFFFF
    for c, prime in zip(cell[:-1], primes):
        h ^= c * prime & 0xFFFFFFFF
    draws = []
    for _ in cell:
        h = pcg(h)
        draws.append((h >> 8) / 2.0**24)
    if len(cell) == 1:
        return np.array([2.0 * draws[0] - 1.0])
    g = np.array(draws) - 0.5
    return g / np.linalg.norm(g)


def noise(state, x, period=None):
    base = np.floor(x).astype(int)
    d = x - base
    fade = d**3 * (d * (d * 6 - 15) + 10)
    total = 0.0
    for corner in itertools.product((0, 1), repeat=len(x)):
        cell = base + corner
        if period is not None:
            cell = cell % period
        weight = np.prod(np.where(corner, fade, 1 - fade))
        total += weight * (gradient(state, [int(c) for c in cell]) @ (d - corner))
    return total


def cases():
    n = 40
    x = np.random.default_rng(3).uniform(0, 6, (n, 4)).astype(np.float32)
    p = x.astype(np.float64)
    s = pcg(42)
    want = [[noise(s, q[:1]), noise(s, q[:2]), noise(s, q[:3]), noise(s, q), noise(s, q[:1], [3]), noise(s, q[:3], [3, 4, 5])] for q in p]
    yield case("values", n, dict(x=x, out=np.zeros((n, 6))), dict(out=want), rtol=1e-5, atol=1e-5)
    h = 1e-5
    slope = lambda q, k: (noise(s, q + h * np.eye(2)[k]) - noise(s, q - h * np.eye(2)[k])) / (2 * h)  # noqa: E731
    want = [[-slope(q[:2], 1), slope(q[:2], 0)] for q in p]
    yield case("swirl", n, dict(x=x, out=np.zeros((n, 2))), dict(out=want), rtol=1e-4, atol=1e-4)
    yield case("divergence", n, dict(x=x, out=np.ones(n)), dict(out=np.zeros(n)), rtol=0, atol=5e-2)
