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
