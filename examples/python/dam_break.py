"""A dam breaks: smoothed particle hydrodynamics by a hash grid, drawn by rays through a BVH.

    python dam_break.py [dam.png]
"""

import sys
import time

import kc
import numpy as np
import picture

Vectors = kc.array(dtype=kc.vec3)
Numbers = kc.array(dtype=float)


@kc.struct
class Fluid:
    mass: float
    h: float  # the kernels reach 2 h
    density: float
    sound: float
    viscosity: float


@kc.func
def spline(r: float, h: float):
    """The cubic spline W of Monaghan."""
    q = r / h
    far, near = kc.max(2.0 - q, 0.0), kc.max(1.0 - q, 0.0)
    return (0.25 * far * far * far - near * near * near) / (kc.PI * h * h * h)


@kc.func
def spline_slope(r: float, h: float):
    q = r / h
    far, near = kc.max(2.0 - q, 0.0), kc.max(1.0 - q, 0.0)
    return (3.0 * near * near - 0.75 * far * far) / (kc.PI * h * h * h * h)


@kc.func
def walls(x: kc.vec3, size: kc.vec3, reach: float):
    """The axes with a wall in reach, a bit for each."""
    bits = int(0)
    for k in range(3):
        if kc.min(x[k], size[k] - x[k]) < reach:
            bits |= 1 << k
    return bits


@kc.func
def mirrored(x: kc.vec3, v: kc.vec3, axes: int, size: kc.vec3):
    """Position and velocity behind the walls of some axes."""
    for k in range(3):
        if (axes >> k) & 1 == 1:
            x[k] = kc.where(x[k] < 0.5 * size[k], 0.0, 2.0 * size[k]) - x[k]
            v[k] = -v[k]
    return x, v


@kc.kernel
def densities(grid: kc.uint64, fluid: Fluid, size: kc.vec3, x: Vectors, rho: Numbers, push: Numbers):
    i = kc.tid()
    total = float(0.0)
    near = walls(x[i], size, 2.0 * fluid.h)
    for j in kc.hash_grid_query(grid, x[i], 2.0 * fluid.h):
        if kc.length(x[j] - x[i]) < 2.0 * fluid.h:
            # Walls are mirrors: behind them the water goes on.
            for axes in range(8):
                if axes & near == axes:
                    other, _ = mirrored(x[j], kc.vec3(), axes, size)
                    total += fluid.mass * spline(kc.length(other - x[i]), fluid.h)
    rho[i] = total
    # The pressure by Tait's equation, which does not pull, over the square of the density.
    stiffness = fluid.density * fluid.sound * fluid.sound / 7.0
    push[i] = stiffness * kc.max(kc.pow(total / fluid.density, 7.0) - 1.0, 0.0) / (total * total)


@kc.kernel
def forces(
    grid: kc.uint64, fluid: Fluid, size: kc.vec3, gravity: kc.vec3, x: Vectors, v: Vectors, rho: Numbers, push: Numbers, a: Vectors
):
    i = kc.tid()
    total = gravity
    near = walls(x[i], size, 2.0 * fluid.h)
    for j in kc.hash_grid_query(grid, x[i], 2.0 * fluid.h):
        if kc.length(x[j] - x[i]) < 2.0 * fluid.h:
            for axes in range(8):
                if axes & near == axes:
                    other, speed = mirrored(x[j], v[j], axes, size)
                    d = x[i] - other
                    r = kc.length(d)
                    if r < 2.0 * fluid.h and r > 0.0:
                        # Viscosity is for what comes nearer (Monaghan).
                        mu = fluid.h * kc.min(kc.dot(v[i] - speed, d), 0.0) / (r * r + 0.01 * fluid.h * fluid.h)
                        both = push[i] + push[j] - fluid.viscosity * fluid.sound * mu / (0.5 * (rho[i] + rho[j]))
                        total -= fluid.mass * both * spline_slope(r, fluid.h) / r * d
    a[i] = total


@kc.kernel
def move(dt: float, size: kc.vec3, a: Vectors, x: Vectors, v: Vectors):
    i = kc.tid()
    speed = v[i] + dt * a[i]
    at = x[i] + dt * speed
    for k in range(3):
        # What is too fast for its mirror image bounces.
        if at[k] < 0.0 or at[k] > size[k]:
            at[k] = kc.clamp(at[k], 0.0, size[k])
            speed[k] = -0.2 * speed[k]
    x[i] = at
    v[i] = speed


TANK = np.array([2.0, 1.4, 0.3], np.float32)
GRAVITY = (0.0, -9.81, 0.0)


class Dam:
    """A column of water at the left wall of the tank."""

    def __init__(self, spacing=0.03, size=(0.6, 0.8, 0.3)):
        counts = np.round(np.array(size) / spacing).astype(int)
        grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
        # A little disorder, or rows would stay rows.
        grid = grid + np.random.default_rng(0).uniform(0.45, 0.55, grid.shape)
        self.x = (grid * spacing).astype(np.float32)
        self.v, self.a = np.zeros_like(self.x), np.zeros_like(self.x)
        self.rho, self.push = np.zeros((2, len(self.x)), np.float32)
        fast = np.sqrt(2.0 * 9.81 * size[1])
        self.fluid = Fluid(mass=1000.0 * spacing**3, h=1.2 * spacing, density=1000.0, sound=6.0 * fast, viscosity=0.08)
        self.dt = 0.4 * self.fluid.h / (self.fluid.sound + fast)
        self.time, self.spacing = 0.0, spacing
        self.grid = kc.HashGrid(*np.ceil(TANK / (2.0 * self.fluid.h)).astype(int))

    def step(self, gravity=GRAVITY):
        n = len(self.x)
        self.grid.build(self.x, 2.0 * self.fluid.h)
        densities(n, self.grid, self.fluid, TANK, self.x, self.rho, self.push)
        forces(n, self.grid, self.fluid, TANK, gravity, self.x, self.v, self.rho, self.push, self.a)
        move(n, self.dt, TANK, self.a, self.x, self.v)
        self.time += self.dt

    def energy(self):
        """Kinetic and potential, in joules."""
        x, v = self.x.astype(np.float64), self.v.astype(np.float64)
        return float(self.fluid.mass * (0.5 * (v * v).sum() + 9.81 * x[:, 1].sum()))


@kc.func
def first(tree: kc.uint64, x: Vectors, radius: float, start: kc.vec3, direction: kc.vec3):
    """The first ball that a ray meets, and where."""
    ball, t, k = int(-1), float(1.0e6), int(0)
    query = kc.bvh_query_ray(tree, start, direction)
    while kc.bvh_query_next(query, k, t):
        d = start - x[k]
        b = kc.dot(d, direction)
        inside = b * b - kc.length_sq(d) + radius * radius
        if inside > 0.0:
            at = -b - kc.sqrt(inside)
            if at > 0.0 and at < t:
                ball, t = k, at
    return ball, t


@kc.func
def leaving(size: kc.vec3, start: kc.vec3, direction: kc.vec3):
    """Where a ray enters and leaves a box from 0 to `size`, and the axis of the last wall."""
    enter, leave, axis = float(0.0), float(1.0e6), int(0)
    for k in range(3):
        a, b = -start[k] / direction[k], (size[k] - start[k]) / direction[k]
        enter = kc.max(enter, kc.min(a, b))
        if kc.max(a, b) < leave:
            leave, axis = kc.max(a, b), k
    return enter, leave, axis


@kc.func
def colour_of(speed: float):
    slow, fast = kc.vec3(0.02, 0.14, 0.45), kc.vec3(0.12, 0.6, 0.9)
    return kc.lerp(kc.lerp(slow, fast, kc.min(speed / 1.8, 1.0)), kc.vec3(0.97), kc.smoothstep(1.2, 4.0, speed))


@kc.kernel
def render(
    tree: kc.uint64, x: Vectors, v: Vectors, radius: float, size: kc.vec3, sun: kc.vec3, eye: kc.vec3, view: kc.mat33,
    image: kc.array2d(dtype=kc.vec3),
):
    i, j = kc.tid()
    height, width = image.shape[0], image.shape[1]
    across = (2.0 * float(j) + 1.0 - float(width)) / float(height)
    down = (2.0 * float(i) + 1.0 - float(height)) / float(height)
    direction = kc.normalize(view * kc.vec3(across, -down, 1.0))
    ball, t = first(tree, x, radius, eye, direction)
    enter, leave, axis = leaving(size, eye, direction)
    if ball >= 0:
        at = eye + t * direction
        n = (at - x[ball]) / radius
        colour = colour_of(kc.length(v[ball]))
    elif leave > enter and not (axis == 1 and direction[1] > 0.0):
        at = eye + leave * direction
        n = kc.vec3()
        n[axis] = -kc.sign(direction[axis])
        colour = kc.where(axis == 1, kc.vec3(0.5, 0.52, 0.55), kc.vec3(0.72, 0.74, 0.77))
    else:
        image[i, j] = kc.vec3(0.93, 0.94, 0.95)
        return
    # The pixels of a square look at other parts of the sun.
    towards = kc.normalize(sun + 0.05 * kc.vec3(float(i % 2) - 0.5, 0.0, float(j % 2) - 0.5))
    bright = kc.max(kc.dot(n, towards), 0.0)
    if bright > 0.0:
        shadow, _ = first(tree, x, radius, at + 1.0e-3 * n, towards)
        if shadow >= 0:
            bright = 0.0
    image[i, j] = colour * (0.8 * bright + 0.3 + 0.15 * n[1])


def draw(dam, shape=(240, 344)):
    """A look into the tank; each pixel is the mean of four."""
    radius = 0.6 * dam.spacing
    tree = kc.Bvh(dam.x - np.float32(radius), dam.x + np.float32(radius))
    eye, target = np.array([1.35, 1.15, 3.6]), np.array([1.0, 0.63, 0.15])
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    view = np.stack([right, np.cross(right, ahead), 4.2 * ahead], axis=1).astype(np.float32)
    image = np.zeros((2 * shape[0], 2 * shape[1], 3), np.float32)
    sun = np.array([0.35, 0.8, 0.5]) / np.linalg.norm([0.35, 0.8, 0.5])
    render(image.shape[:2], tree, dam.x, dam.v, radius, TANK, sun, eye, view, image)
    return picture.halved(image) ** (1 / 2.2)


if __name__ == "__main__":
    dam, begin, images = Dam(), time.perf_counter(), []
    print(f"{len(dam.x)} particles, {dam.energy():.1f} J")
    for moment in (0.3, 0.65):
        while dam.time < moment:
            dam.step()
        images.append(draw(dam))
        front, took = dam.x[:, 0].max(), time.perf_counter() - begin
        print(f"after {dam.time:.2f} s: {dam.energy():.1f} J, the front at {front:.2f} m; computed in {took:.1f} s")
    picture.save(sys.argv[1] if len(sys.argv) > 1 else "dam.png", np.hstack(images))
