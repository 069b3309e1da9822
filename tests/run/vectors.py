"""Vectors, matrices and structs, by value and in arrays."""

import numpy as np
import warp as wp


@wp.struct
class Plane:
    normal: wp.vec3
    offset: float


@wp.func
def mirror(p: wp.vec3, plane: Plane) -> wp.vec3:
    return p - plane.normal * (2.0 * (wp.dot(p, plane.normal) - plane.offset))


@wp.kernel
def mirrored(points: wp.array(dtype=wp.vec3), plane: Plane, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = mirror(points[i], plane)


@wp.kernel
def frames(u: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.mat33), size: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.normalize(u[i])
    c = wp.normalize(wp.cross(u[i], v[i]))
    b = wp.cross(c, a)
    out[i] = wp.mat33(a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
    size[i] = wp.length(v[i])


@wp.kernel
def transform_points(m: wp.mat33, p: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p[i] = m * p[i]


@wp.kernel
def component_writes(out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    v[i] = 10.0 * float(i + 1)
    v[3 - i] += 0.5
    out[i] = v


@wp.kernel
def cosines_half(a: wp.array(dtype=wp.vec3h), b: wp.array(dtype=wp.vec3h), y: wp.array(dtype=wp.float16), beyond: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = wp.cosine_similarity(a[i], b[i])
    beyond[i] = int(wp.abs(y[i]) > wp.float16(1.0))


@wp.kernel
def cosines_float(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), beyond: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = wp.cosine_similarity(a[i], b[i])
    beyond[i] = int(wp.abs(y[i]) > wp.float32(1.0))


@wp.kernel
def cosines_double(a: wp.array(dtype=wp.vec3d), b: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.float64), beyond: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = wp.cosine_similarity(a[i], b[i])
    beyond[i] = int(wp.abs(y[i]) > wp.float64(1.0))


def cases():
    rng = np.random.default_rng(2)
    p = rng.normal(size=(100, 3)).astype(np.float32)
    n = np.array([2.0, -1.0, 2.0]) / 3.0
    want = p - 2.0 * (p @ n - 0.25)[:, None] * n
    yield case("mirrored", 100, dict(points=p, plane=dict(normal=n, offset=0.25), out=np.zeros((100, 3))), dict(out=want), rtol=1e-5)

    u, v = rng.normal(size=(2, 64, 3)).astype(np.float32)
    unit = lambda a: a / np.linalg.norm(a, axis=-1, keepdims=True)  # noqa: E731
    a, c = unit(u.astype(np.float64)), unit(np.cross(u.astype(np.float64), v))
    want = np.stack([a, np.cross(c, a), c], axis=1)
    args = dict(u=u, v=v, out=np.zeros((64, 3, 3)), size=np.zeros(64))
    yield case("frames", 64, args, dict(out=want, size=np.linalg.norm(v, axis=1)), rtol=1e-4, atol=1e-5)

    m = rng.normal(size=(3, 3)).astype(np.float32)
    yield case("transform_points", 100, dict(m=m, p=p), dict(p=p.astype(np.float64) @ m.astype(np.float64).T), rtol=1e-5, atol=1e-5)

    want = np.tile(np.arange(1.0, 5.0), (4, 1))
    for i in range(4):
        want[i, i] = 10.0 * (i + 1)
        want[i, 3 - i] += 0.5
    yield case("component_writes", 4, dict(out=np.zeros((4, 4))), dict(out=want))

    for name, dtype, eps in [("half", np.float16, 1.3e-4), ("float", np.float32, 1.2e-7), ("double", np.float64, 2.3e-16)]:
        yield from cosines(name, dtype, eps)


def cosines(name, dtype, eps):
    """Cosines at every scale that the type has, from its smallest number to its largest."""
    random = np.random.default_rng(7)
    limits = np.finfo(dtype)
    # Extended precision has room for the squares.
    smallest, largest = np.longdouble(limits.smallest_subnormal), np.longdouble(limits.max)
    scales = [smallest * 8, smallest * 4096, np.longdouble(limits.tiny), np.sqrt(smallest), 1, np.sqrt(largest), largest]
    a, b = [], []
    for first in scales:
        for second in scales:
            directions = random.uniform(-1, 1, size=(2, 3))
            a.append((directions[0] * first).astype(dtype))
            b.append((directions[1] * second).astype(dtype))
            # Parallel, opposite, across.
            b += [a[-1], -a[-1], np.array([a[-1][1], -a[-1][0], 0], dtype)]
            a += [a[-1]] * 3
    exact = [row.astype(np.longdouble) for row in (np.array(a), np.array(b))]
    size = [np.sqrt(np.sum(x * x, axis=1)) for x in exact]
    assert all(np.all(x > 0) for x in size)
    want = np.sum(exact[0] * exact[1], axis=1) / (size[0] * size[1])
    # By hand: 3-4-5; components far apart; a zero vector, which no other can help.
    big, none, nan, inf = float(largest), [0, -0.0, 0], np.nan, np.inf
    by_hand = [
        ([3, 4, 0], [0, 2, 0], 0.8), ([3, -4, 0], [0, 2, 0], -0.8), ([big, big, big], [-big, -big, -big], -1),
        ([big, 0, 0], [float(smallest), 0, 0], 1), ([1, float(smallest), 0], [0, 1, 0], float(smallest)),
        (none, [1, 2, 3], 0), ([1, 2, 3], none, 0), (none, none, 0), (none, [nan, 0, 0], 0), ([inf, 0, 0], none, 0),
        ([0, nan, 0], [1, 2, 3], nan), ([1, 2, 3], [0, 0, inf], nan), ([nan, nan, nan], [nan, 1, 1], nan),
    ]
    x, y, known = zip(*by_hand)
    a, b = np.concatenate([a, np.array(x, dtype)]), np.concatenate([b, np.array(y, dtype)])
    want = np.append(want, np.array(known, np.longdouble))
    args = dict(a=a, b=b, y=np.zeros(len(a)), beyond=np.ones(len(a)))
    yield case(f"cosines_{name}", len(a), args, dict(y=want, beyond=np.zeros(len(a))), rtol=4 * eps, atol=4 * eps)
