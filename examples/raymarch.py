"""A small scene drawn by sphere tracing: three blended balls and a ring over a chequered floor, with soft shadows.

A ray advances by the distance to the nearest surface, which is always safe, until that is almost nothing. The image has
colours from 0 to 1, ready for a screen, with the top row first; `kc run ... --png image=out.png` writes it as a picture.
"""

import warp as wp

FAR = 30.0
NEAR = 0.001


@wp.func
def blend(a: float, b: float, k: float) -> float:
    """Minimum of two distances with a smooth seam of width k."""
    h = wp.clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0)
    return wp.lerp(b, a, h) - k * h * (1.0 - h)


@wp.func
def ring(p: wp.vec3, radius: float, thickness: float) -> float:
    around = wp.length(wp.vec2(p[0], p[1])) - radius
    return wp.length(wp.vec2(around, p[2])) - thickness


@wp.func
def solid(p: wp.vec3) -> float:
    balls = wp.length(p - wp.vec3(-0.7, 0.6, 0.0)) - 0.6
    balls = blend(balls, wp.length(p - wp.vec3(0.2, 0.9, 0.3)) - 0.5, 0.35)
    balls = blend(balls, wp.length(p - wp.vec3(0.8, 0.4, -0.3)) - 0.4, 0.35)
    return wp.min(balls, ring(p - wp.vec3(0.0, 1.0, -0.2), 1.55, 0.09))


@wp.func
def scene(p: wp.vec3) -> float:
    return wp.min(solid(p), p[1])


@wp.func
def normal(p: wp.vec3) -> wp.vec3:
    e = 0.002
    return wp.normalize(
        wp.vec3(
            scene(p + wp.vec3(e, 0.0, 0.0)) - scene(p - wp.vec3(e, 0.0, 0.0)),
            scene(p + wp.vec3(0.0, e, 0.0)) - scene(p - wp.vec3(0.0, e, 0.0)),
            scene(p + wp.vec3(0.0, 0.0, e)) - scene(p - wp.vec3(0.0, 0.0, e)),
        )
    )


@wp.func
def march(origin: wp.vec3, direction: wp.vec3) -> float:
    """Distance along the ray to the first surface; FAR when there is none."""
    t = float(0.0)
    for step in range(160):
        d = scene(origin + direction * t)
        if d < NEAR:
            return t
        t += d
        if t > FAR:
            return FAR
    return t


@wp.func
def light_reaching(p: wp.vec3, to_light: wp.vec3) -> float:
    """0 in full shadow, 1 in full light; rays that pass a surface closely lose some light."""
    light = float(1.0)
    t = float(0.02)
    for step in range(60):
        d = scene(p + to_light * t)
        if d < NEAR:
            return 0.0
        light = wp.min(light, 10.0 * d / t)
        t += wp.clamp(d, 0.02, 0.4)
        if t > 8.0:
            break
    return light


@wp.func
def sky(direction: wp.vec3) -> wp.vec3:
    up = wp.clamp(direction[1], 0.0, 1.0)
    return wp.lerp(wp.vec3(0.80, 0.82, 0.85), wp.vec3(0.22, 0.42, 0.75), wp.sqrt(up))


@wp.func
def surface_color(p: wp.vec3) -> wp.vec3:
    if solid(p) < p[1]:
        return wp.vec3(0.85, 0.32, 0.18) + wp.vec3(-0.5, 0.25, 0.5) * wp.smoothstep(0.2, 1.6, p[1])
    squares = int(wp.floor(p[0])) + int(wp.floor(p[2]))
    if squares % 2 == 0:
        return wp.vec3(0.85, 0.85, 0.8)
    return wp.vec3(0.25, 0.27, 0.3)


@wp.func
def shade(origin: wp.vec3, direction: wp.vec3) -> wp.vec3:
    t = march(origin, direction)
    if t >= FAR:
        return sky(direction)
    p = origin + direction * t
    n = normal(p)
    to_light = wp.normalize(wp.vec3(0.6, 0.9, 0.5))
    sun = wp.max(wp.dot(n, to_light), 0.0) * light_reaching(p + n * 0.01, to_light)
    ambient = 0.25 + 0.15 * n[1]
    halfway = wp.normalize(to_light - direction)
    shine = 0.35 * wp.pow(wp.max(wp.dot(n, halfway), 0.0), 48.0) * sun
    lit = surface_color(p) * (ambient + 0.9 * sun) + wp.vec3(shine, shine, shine)
    haze = 1.0 - wp.exp(-0.004 * t * t)
    return wp.lerp(lit, sky(direction), haze)


@wp.kernel
def raymarch(image: wp.array2d(dtype=wp.vec3), eye: wp.vec3, target: wp.vec3):
    row, column = wp.tid()
    rows = float(image.shape[0])
    columns = float(image.shape[1])
    forward = wp.normalize(target - eye)
    right = wp.normalize(wp.cross(forward, wp.vec3(0.0, 1.0, 0.0)))
    up = wp.cross(right, forward)

    # Two by two rays a pixel smooth the edges.
    total = wp.vec3(0.0, 0.0, 0.0)
    for sample in range(4):
        u = float(column) + 0.25 + 0.5 * float(sample % 2)
        v = float(row) + 0.25 + 0.5 * float(sample // 2)
        x = (2.0 * u - columns) / rows
        y = (rows - 2.0 * v) / rows
        total += shade(eye, wp.normalize(forward * 1.8 + right * x + up * y))
    # A screen shows about the square of a value, so its root is stored.
    color = total * 0.25
    for c in range(3):
        image[row, column][c] = wp.sqrt(wp.clamp(color[c], 0.0, 1.0))
