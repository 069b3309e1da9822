"""Random numbers: the integer generator bit for bit, the distributions by what they must satisfy; and array search."""

import numpy as np
import warp as wp


@wp.kernel
def draws(seed: int, out: wp.array2d(dtype=wp.uint32), floats: wp.array2d(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    out[i, 0] = state
    out[i, 1] = wp.randu(state)
    out[i, 2] = wp.uint32(wp.randi(state))
    out[i, 3] = wp.randu(state, wp.uint32(10), wp.uint32(17))
    out[i, 4] = wp.uint32(wp.randi(state, -3, 5))
    floats[i, 0] = wp.randf(state)
    floats[i, 1] = wp.randf(state, -1.0, 3.0)
    out[i, 5] = state
    out[i, 6] = wp.rand_init(seed)


@wp.kernel
def shapes(radius: wp.array2d(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(7, i)
    radius[i, 0] = wp.length(wp.sample_unit_ring(state))
    radius[i, 1] = wp.length(wp.sample_unit_sphere_surface(state))
    radius[i, 2] = wp.length(wp.sample_unit_hemisphere_surface(state))
    inside = wp.length(wp.sample_unit_disk(state)) < 1.00001 and wp.length(wp.sample_unit_sphere(state)) < 1.00001
    half = wp.sample_unit_hemisphere(state)
    inside = inside and half[2] > -0.00001 and wp.length(half) < 1.00001
    square = wp.abs(wp.sample_unit_square(state))
    cube = wp.abs(wp.sample_unit_cube(state))
    inside = inside and wp.max(square) <= 0.5 and wp.max(cube) <= 0.5
    corner = wp.sample_triangle(state)
    inside = inside and corner[0] >= 0.0 and corner[1] >= 0.0 and corner[0] + corner[1] <= 1.00001
    radius[i, 3] = wp.where(inside, 1.0, 0.0)


@wp.kernel
def moments(means: wp.array(dtype=wp.float64)):
    state = wp.rand_init(3)
    n = 4000
    normal = wp.float64(0.0)
    square = wp.float64(0.0)
    few = wp.float64(0.0)
    many = wp.float64(0.0)
    for k in range(n):
        x = wp.float64(wp.randn(state))
        normal += x
        square += x * x
        few += wp.float64(wp.poisson(state, 4.0))
        many += wp.float64(wp.poisson(state, 50.0))
    means[0] = normal / wp.float64(n)
    means[1] = square / wp.float64(n)
    means[2] = few / wp.float64(n)
    means[3] = many / wp.float64(n) / wp.float64(4.0)


@wp.kernel
def searches(sorted: wp.array(dtype=float), x: wp.array(dtype=float), out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = wp.lower_bound(sorted, x[i])
    out[i, 1] = wp.lower_bound(sorted, 2, 6, x[i])


def pcg(state):
    state = np.atleast_1d(np.asarray(state, np.uint32))
    b = state * np.uint32(747796405) + np.uint32(2891336453)
    c = ((b >> ((b >> np.uint32(28)) + np.uint32(4))) ^ b) * np.uint32(277803737)
    return (c >> np.uint32(22)) ^ c


def cases():
    n = 200
    i = np.arange(n, dtype=np.uint32)
    s0 = pcg(np.uint32(12) + pcg(i))
    s1 = pcg(s0)
    s2 = pcg(s1)
    s3 = pcg(s2)
    s4 = pcg(s3)
    s5 = pcg(s4)
    s6 = pcg(s5)
    # The remainder is taken without sign, then the lower bound is added.
    below = (s4 % np.uint32(8) + np.array(-3).astype(np.uint32)).astype(np.uint32)
    seed = np.repeat(pcg(np.uint32(12)), n)
    out = np.stack([s0, s1, s2, s3 % 7 + 10, below, s6, seed], 1).astype(np.uint32)
    unit = lambda s: (s >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)  # noqa: E731
    floats = np.stack([unit(s5), np.float32(4.0) * unit(s6) + np.float32(-1.0)], 1)
    args = dict(seed=12, out=np.zeros((n, 7), np.uint32), floats=np.zeros((n, 2)))
    yield case("draws", n, args, dict(out=out, floats=floats), rtol=0, atol=0)

    yield case("shapes", n, dict(radius=np.zeros((n, 4))), dict(radius=np.ones((n, 4))), rtol=2e-6)
    # The standard errors of the means of 4,000 draws are 0.016, 0.022, 0.032 and 0.028.
    yield case("moments", 1, dict(means=np.zeros(4)), dict(means=[0.0, 1.0, 4.0, 12.5]), rtol=0, atol=0.12)

    values = np.sort(np.random.default_rng(1).normal(size=9)).astype(np.float32)
    x = np.concatenate([values, np.linspace(-3, 3, 40)]).astype(np.float32)
    whole = np.minimum(np.searchsorted(values, x), 8)
    part = np.minimum(2 + np.searchsorted(values[2:6], x), 5)
    yield case("searches", x.size, dict(sorted=values, x=x, out=np.zeros((x.size, 2), int)), dict(out=np.stack([whole, part], 1)))
