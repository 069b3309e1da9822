"""One step of N bodies under gravity: every body feels every other one.

`softening` keeps the force finite when two bodies meet (Plummer's potential).
"""

import warp as wp


@wp.func
def pull(at: wp.vec3, other: wp.vec3, mass: float, softening: float) -> wp.vec3:
    """Acceleration that a body at `other` causes at `at`, for a gravitational constant of 1."""
    d = other - at
    r2 = wp.dot(d, d) + softening * softening
    return d * (mass / (r2 * wp.sqrt(r2)))


@wp.kernel
def accelerate(
    position: wp.array(dtype=wp.vec3),
    mass: wp.array(dtype=float),
    velocity: wp.array(dtype=wp.vec3),
    softening: float,
    dt: float,
):
    i = wp.tid()
    at = position[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(position.shape[0]):
        if j != i:
            total += pull(at, position[j], mass[j], softening)
    velocity[i] = velocity[i] + total * dt


@wp.kernel
def move(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    position[i] = position[i] + velocity[i] * dt
