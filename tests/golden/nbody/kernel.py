import warp as wp


@wp.kernel
def nbody(x: wp.array(dtype=wp.vec3), mass: wp.array(dtype=float), force: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = x[i]
    f = wp.vec3(0.0, 0.0, 0.0)
    for j in range(x.shape[0]):
        d = x[j] - p
        r2 = wp.dot(d, d) + 0.01
        f += d * (mass[j] / (r2 * wp.sqrt(r2)))
    force[i] = f * mass[i]
