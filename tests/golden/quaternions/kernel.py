import warp as wp


@wp.kernel
def quaternions(q: wp.array(dtype=wp.quat), w: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.quat), dt: float):
    i = wp.tid()
    spin = wp.quat_rotate(q[i], w[i])
    out[i] = wp.normalize(q[i] + wp.quat(spin, 0.0) * q[i] * (0.5 * dt))
