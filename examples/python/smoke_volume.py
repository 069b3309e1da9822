"""Two smoke rings leapfrog through each other: smoke in a sparse volume, drawn by rays with shadows.

    python smoke_volume.py [smoke.png]
"""

import sys
import time

import kc
import numpy as np
import picture

SEGMENTS = 32


@kc.struct
class Vortices:
    """Straight pieces of vortex lines, each by its middle and the way along it."""

    middle: kc.array(dtype=kc.vec3)
    along: kc.array(dtype=kc.vec3)
    strength: float
    core: float


@kc.func
def velocity(x: kc.vec3, vortices: Vortices):
    """The law of Biot and Savart, with a core in which nothing is infinite."""
    total = kc.vec3()
    for s in range(vortices.middle.shape[0]):
        d = x - vortices.middle[s]
        square = kc.length_sq(d) + vortices.core * vortices.core
        total += kc.cross(vortices.along[s], d) / (square * kc.sqrt(square))
    return total * (vortices.strength / (4.0 * kc.PI))


@kc.kernel
def velocities(vortices: Vortices, x: kc.array(dtype=kc.vec3), v: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    v[i] = velocity(x[i], vortices)


@kc.kernel
def fill(smoke: kc.uint64, tiles: kc.array(dtype=kc.vec3i), rings: kc.array(dtype=kc.vec2), tube: float):
    t, i, j, k = kc.tid()
    at = tiles[t] + kc.vec3i(i, j, k)
    x = kc.volume_index_to_world(smoke, kc.vec3(float(at[0]), float(at[1]), float(at[2])))
    density = float(0.0)
    for r in range(rings.shape[0]):
        away = kc.length(kc.vec2(kc.length(kc.vec2(x[0], x[1])) - rings[r][0], x[2] - rings[r][1]))
        density = kc.max(density, 1.0 - kc.smoothstep(0.6 * tube, tube, away))
    kc.volume_store_f(smoke, at[0], at[1], at[2], density)


@kc.kernel
def advect(
    old: kc.uint64, new: kc.uint64, tiles: kc.array(dtype=kc.vec3i), vortices: Vortices, dt: float, most: kc.array(dtype=float)
):
    """Each voxel gets what was where its smoke comes from; `most` is the densest voxel of each tile."""
    t, i, j, k = kc.tid()
    at = tiles[t] + kc.vec3i(i, j, k)
    x = kc.volume_index_to_world(new, kc.vec3(float(at[0]), float(at[1]), float(at[2])))
    middle = x - 0.5 * dt * velocity(x, vortices)
    before = x - dt * velocity(middle, vortices)
    density = kc.volume_sample_f(old, kc.volume_world_to_index(old, before), kc.Volume.LINEAR)
    kc.volume_store_f(new, at[0], at[1], at[2], density)
    kc.atomic_max(most, t, density)


@kc.kernel
def read(smoke: kc.uint64, tiles: kc.array(dtype=kc.vec3i), out: kc.array4d(dtype=float)):
    t, i, j, k = kc.tid()
    at = tiles[t] + kc.vec3i(i, j, k)
    out[t, i, j, k] = kc.volume_lookup_f(smoke, at[0], at[1], at[2])


@kc.func
def passes(smoke: kc.uint64, start: kc.vec3, direction: kc.vec3, length: float, step: float, thick: float):
    """The part of the light that comes through the smoke on a line."""
    total = float(0.0)
    count = int(length / step)
    for s in range(count):
        x = start + (float(s) + 0.5) * step * direction
        total += kc.volume_sample_f(smoke, kc.volume_world_to_index(smoke, x), kc.Volume.LINEAR)
    return kc.exp(-thick * step * total)


@kc.kernel
def light_up(smoke: kc.uint64, lit: kc.uint64, tiles: kc.array(dtype=kc.vec3i), sun: kc.vec3, step: float, thick: float):
    """The light that comes to each voxel."""
    t, i, j, k = kc.tid()
    at = tiles[t] + kc.vec3i(i, j, k)
    x = kc.volume_index_to_world(smoke, kc.vec3(float(at[0]), float(at[1]), float(at[2])))
    kc.volume_store_f(lit, at[0], at[1], at[2], passes(smoke, x, sun, 2.5, step, thick))


@kc.kernel
def render(
    smoke: kc.uint64, lit: kc.uint64, eye: kc.vec3, view: kc.mat33, near: float, far: float, step: float, thick: float,
    image: kc.array2d(dtype=kc.vec3),
):
    i, j = kc.tid()
    height, width = image.shape[0], image.shape[1]
    across = (2.0 * float(j) + 1.0 - float(width)) / float(height)
    down = (2.0 * float(i) + 1.0 - float(height)) / float(height)
    direction = kc.normalize(view * kc.vec3(across, -down, 1.0))
    colour, left, t = kc.vec3(), float(1.0), near + 0.5 * step
    while t < far and left > 0.005:
        at = kc.volume_world_to_index(smoke, eye + t * direction)
        density = kc.volume_sample_f(smoke, at, kc.Volume.LINEAR)
        if density > 0.0:
            kept = kc.exp(-thick * step * density)
            bright = kc.volume_sample_f(lit, at, kc.Volume.LINEAR)
            colour += left * (1.0 - kept) * (bright * kc.vec3(1.0, 0.93, 0.82) + kc.vec3(0.14, 0.17, 0.24))
            left *= kept
        t += step
    sky = kc.lerp(kc.vec3(0.10, 0.14, 0.22), kc.vec3(0.03, 0.05, 0.10), 0.5 - 0.5 * down)
    image[i, j] = colour + left * sky


def pieces(rings, strength, core):
    """The vortex lines of rings around the z axis, each a radius and a height."""
    angle = 2.0 * np.pi * (np.arange(SEGMENTS) + 0.5) / SEGMENTS
    out = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    turned = np.stack([-np.sin(angle), np.cos(angle), 0.0 * angle], axis=1)
    middle = np.concatenate([radius * out + [0.0, 0.0, height] for radius, height in rings])
    along = np.concatenate([2.0 * np.pi * radius / SEGMENTS * turned for radius, _ in rings])
    return Vortices(middle=middle.astype(np.float32), along=along.astype(np.float32), strength=strength, core=core)


def carried(rings, vortices):
    """How fast the radius and the height of each ring grow, at one of its pieces."""
    x = vortices.middle[::SEGMENTS].copy()
    v = np.zeros_like(x)
    velocities(len(x), vortices, x, v)
    out = x[:, :2] / np.linalg.norm(x[:, :2], axis=1, keepdims=True)
    return np.stack([(v[:, :2] * out).sum(axis=1), v[:, 2]], axis=1)


def around(tiles):
    """The tiles and their neighbours."""
    steps = np.stack(np.meshgrid(*[[-8, 0, 8]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.unique((tiles[:, None] + steps).reshape(-1, 3), axis=0).astype(np.int32)


class Smoke:
    """Two rings, the one behind the other."""

    def __init__(self, voxel=0.025, rings=((0.7, 0.0), (0.7, 0.55)), tube=0.14, strength=2.0):
        self.voxel, self.strength, self.core, self.tube = voxel, strength, tube, tube
        self.rings = np.array(rings)
        reach = max(radius for radius, _ in rings) + tube
        low = np.array([-reach, -reach, min(height for _, height in rings) - tube])
        high = np.array([reach, reach, max(height for _, height in rings) + tube])
        axes = [np.arange(np.floor(a / voxel / 8), np.floor(b / voxel / 8) + 1) for a, b in zip(low, high)]
        self.tiles = (8 * np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)).astype(np.int32)
        self.volume = self.empty()
        fill((len(self.tiles), 8, 8, 8), self.volume, self.tiles, self.rings.astype(np.float32), tube)
        # Advection by no time finds the tiles with smoke.
        self.step(0.0)

    def empty(self):
        return kc.Volume.allocate_by_tiles(self.tiles, self.voxel, bg_value=0.0)

    def step(self, dt):
        """Smoke comes from less than a tile away."""
        old, now = self.volume, pieces(self.rings, self.strength, self.core)
        # The midpoint rule, for rings and smoke.
        half = self.rings + 0.5 * dt * carried(self.rings, now)
        between = pieces(half, self.strength, self.core)
        self.tiles = around(self.tiles)
        self.volume, most = self.empty(), np.zeros(len(self.tiles), np.float32)
        advect((len(self.tiles), 8, 8, 8), old, self.volume, self.tiles, between, dt, most)
        self.rings = self.rings + dt * carried(half, between)
        self.tiles = self.tiles[most > 1.0e-3]

    def values(self):
        """The voxels of each tile."""
        values = np.zeros((len(self.tiles), 8, 8, 8), np.float32)
        read(values.shape, self.volume, self.tiles, values)
        return values

    def amount(self):
        """All the smoke, as a volume of the densest."""
        return float(self.values().sum(dtype=np.float64)) * self.voxel**3


def draw(smoke, shape=(240, 240), thick=16.0):
    """A look at the rings from the side; each pixel is the mean of four."""
    lit, sun = smoke.empty(), np.array([0.5, -0.3, 0.8]) / np.linalg.norm([0.5, -0.3, 0.8])
    light_up((len(smoke.tiles), 8, 8, 8), smoke.volume, lit, smoke.tiles, sun, 2.0 * smoke.voxel, thick)
    target = np.array([0.0, 0.0, smoke.rings[:, 1].mean()])
    eye = target + np.array([1.2, -4.4, 1.5])
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    view = np.stack([right, np.cross(right, ahead), 3.6 * ahead], axis=1).astype(np.float32)
    image = np.zeros((2 * shape[0], 2 * shape[1], 3), np.float32)
    render(image.shape[:2], smoke.volume, lit, eye, view, 3.0, 7.0, 0.75 * smoke.voxel, thick, image)
    return picture.halved(image) ** (1 / 2.2)


if __name__ == "__main__":
    smoke, begin, images, passed = Smoke(), time.perf_counter(), [], 0.0
    for moment in (0.0, 0.5, 1.0):
        while passed < moment - 1e-9:
            smoke.step(0.05)
            passed += 0.05
        images.append(draw(smoke))
        took = time.perf_counter() - begin
        print(f"after {passed:.2f} s: {len(smoke.tiles)} tiles, smoke {smoke.amount():.4f}, rings {smoke.rings.round(3).tolist()}; {took:.1f} s")
    picture.save(sys.argv[1] if len(sys.argv) > 1 else "smoke.png", np.hstack(images))
