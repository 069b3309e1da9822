import warp as wp


@wp.kernel
def springs(
    x: wp.array(dtype=wp.vec3),
    ends: wp.array2d(dtype=int),
    rest: wp.array(dtype=float),
    force: wp.array(dtype=wp.vec3),
    stiffness: float,
):
    k = wp.tid()
    a = ends[k, 0]
    b = ends[k, 1]
    d = x[b] - x[a]
    length = wp.sqrt(wp.dot(d, d) + 1.0e-4)
    f = d * (stiffness * (length - rest[k]) / length)
    wp.atomic_add(force, a, f)
    wp.atomic_sub(force, b, f)
