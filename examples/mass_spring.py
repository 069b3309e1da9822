"""A cloth or rope of point masses joined by damped springs, moved by the semi-implicit Euler method.

Springs write to both of their ends, so their forces are added atomically. Points with inverse mass 0 are pinned.
"""

import warp as wp


@wp.struct
class Material:
    stiffness: float
    damping: float
    gravity: wp.vec3
    ground: float


@wp.kernel
def springs(
    position: wp.array(dtype=wp.vec3),
    velocity: wp.array(dtype=wp.vec3),
    ends: wp.array2d(dtype=int),
    rest_length: wp.array(dtype=float),
    material: Material,
    force: wp.array(dtype=wp.vec3),
):
    s = wp.tid()
    a = ends[s, 0]
    b = ends[s, 1]
    span = position[b] - position[a]
    length = wp.length(span)
    if length == 0.0:
        return
    along = span / length
    stretch = material.stiffness * (length - rest_length[s])
    drag = material.damping * wp.dot(velocity[b] - velocity[a], along)
    f = along * (stretch + drag)
    wp.atomic_add(force, a, f)
    wp.atomic_sub(force, b, f)


@wp.kernel
def integrate(
    position: wp.array(dtype=wp.vec3),
    velocity: wp.array(dtype=wp.vec3),
    force: wp.array(dtype=wp.vec3),
    inverse_mass: wp.array(dtype=float),
    material: Material,
    dt: float,
):
    i = wp.tid()
    w = inverse_mass[i]
    if w > 0.0:
        v = velocity[i] + (force[i] * w + material.gravity) * dt
        x = position[i] + v * dt
        if x[1] < material.ground:
            x = wp.vec3(x[0], material.ground, x[2])
            v = wp.vec3(0.0, 0.0, 0.0)
        position[i] = x
        velocity[i] = v
    force[i] = wp.vec3(0.0, 0.0, 0.0)
