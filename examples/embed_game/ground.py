"""Birds stay above the ground."""

import warp as wp


@wp.kernel
def land(at: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), touched: wp.array(dtype=int)):
    i = wp.tid()
    if at[i][1] < 0.0:
        at[i] = wp.vec3(at[i][0], 0.0, at[i][2])
        velocity[i] = wp.vec3(velocity[i][0], wp.abs(velocity[i][1]), velocity[i][2])
        wp.atomic_add(touched, 0, 1)
