"""Birds that keep together, as Reynolds' boids do (SIGGRAPH 1987)."""

import warp as wp


@wp.struct
class Rules:
    near: float
    cohesion: float
    separation: float
    limit: float


@wp.kernel
def step(at: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), rules: Rules, dt: float,
         next_at: wp.array(dtype=wp.vec3), next_velocity: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    here = at[i]
    middle = wp.vec3(0.0, 0.0, 0.0)
    away = wp.vec3(0.0, 0.0, 0.0)
    count = 0.0
    for j in range(at.shape[0]):
        d = at[j] - here
        far = wp.length(d)
        if j != i and far < rules.near:
            middle += d
            away -= d / (far * far + 0.01)
            count += 1.0
    v = velocity[i]
    if count > 0.0:
        v += dt * (rules.cohesion * middle / count + rules.separation * away)
    speed = wp.length(v)
    if speed > rules.limit:
        v *= rules.limit / speed
    next_velocity[i] = v
    next_at[i] = here + dt * v
