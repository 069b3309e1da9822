"""Ray casting of triangle meshes: soft shadows, light from the sky, smooth normals.

    python shadows.py [shadows.png [mesh.obj]]
"""

import sys
import time

import kc
import numpy as np
import picture
import shapes

Meshes = kc.array(dtype=kc.uint64)
Vectors = kc.array(dtype=kc.vec3)


@kc.struct
class Light:
    center: kc.vec3
    radius: float
    rays: int


@kc.struct
class Hit:
    mesh: int
    t: float
    normal: kc.vec3


@kc.func
def nearest(meshes: Meshes, normals: Vectors, start: kc.vec3, direction: kc.vec3):
    """The first hit of all meshes, with the normal between those of the corners."""
    hit = Hit(-1, 1.0e6, kc.vec3())
    before = int(0)
    for k in range(meshes.shape[0]):
        q = kc.mesh_query_ray(meshes[k], start, direction, hit.t)
        if q.result:
            a = normals[before + kc.mesh_get_index(meshes[k], 3 * q.face)]
            b = normals[before + kc.mesh_get_index(meshes[k], 3 * q.face + 1)]
            c = normals[before + kc.mesh_get_index(meshes[k], 3 * q.face + 2)]
            hit.normal = kc.normalize(q.u * a + q.v * b + (1.0 - q.u - q.v) * c)
            hit.mesh = k
            hit.t = q.t
        before += kc.mesh_get(meshes[k]).points.shape[0]
    return hit


@kc.func
def is_hidden(meshes: Meshes, start: kc.vec3, direction: kc.vec3, far: float):
    for k in range(meshes.shape[0]):
        if kc.mesh_query_ray_anyhit(meshes[k], start, direction, far):
            return True
    return False


@kc.func
def spot(k: int, n: int, turn: float):
    """Point k of n on the unit disc, spread as the seeds of a sunflower."""
    r = kc.sqrt((float(k) + 0.5) / float(n))
    angle = 2.3999632 * float(k) + turn
    return kc.vec2(r * kc.cos(angle), r * kc.sin(angle))


@kc.func
def frame(n: kc.vec3):
    """Two directions across a unit vector."""
    other = kc.where(kc.abs(n[1]) < 0.9, kc.vec3(0.0, 1.0, 0.0), kc.vec3(1.0, 0.0, 0.0))
    u = kc.normalize(kc.cross(other, n))
    return u, kc.cross(n, u)


@kc.func
def lit(meshes: Meshes, light: Light, x: kc.vec3, turn: float):
    """How much of the light is seen, a disc that faces the point."""
    d = light.center - x
    u, v = frame(kc.normalize(d))
    seen = int(0)
    for k in range(light.rays):
        at = spot(k, light.rays, turn)
        if not is_hidden(meshes, x, d + light.radius * (at[0] * u + at[1] * v), 1.0):
            seen += 1
    return float(seen) / float(light.rays)


@kc.func
def open_sky(meshes: Meshes, x: kc.vec3, n: kc.vec3, rays: int, turn: float):
    """How much of the sky is seen, weighted by the cosine."""
    u, v = frame(n)
    seen = int(0)
    for k in range(rays):
        at = spot(k, rays, turn)
        up = kc.sqrt(kc.max(1.0 - kc.length_sq(at), 0.0))
        if not is_hidden(meshes, x, at[0] * u + at[1] * v + up * n, 2.0):
            seen += 1
    return float(seen) / float(rays)


@kc.func
def sky(direction: kc.vec3):
    return kc.lerp(kc.vec3(0.93, 0.94, 0.96), kc.vec3(0.42, 0.56, 0.75), kc.clamp(1.6 * direction[1], 0.0, 1.0))


@kc.kernel
def render(
    meshes: Meshes, normals: Vectors, colours: Vectors, light: Light, sky_rays: int, eye: kc.vec3, view: kc.mat33,
    image: kc.array2d(dtype=kc.vec3),
):
    i, j = kc.tid()
    height, width = image.shape[0], image.shape[1]
    across = (2.0 * float(j) + 1.0 - float(width)) / float(height)
    down = (2.0 * float(i) + 1.0 - float(height)) / float(height)
    direction = kc.normalize(view * kc.vec3(across, -down, 1.0))
    # The pixels of a square look at other parts of the light.
    turn = 1.5707963 * float(2 * (i % 2) + j % 2) + 0.4
    hit = nearest(meshes, normals, eye, direction)
    ground = kc.where(direction[1] < 0.0, -eye[1] / direction[1], 1.0e6)
    if kc.min(hit.t, ground) > 30.0:
        image[i, j] = sky(direction)
        return
    if hit.t < ground:
        colour, gloss, fog = colours[hit.mesh], 0.4, 0.0
        n = kc.where(kc.dot(hit.normal, direction) > 0.0, -hit.normal, hit.normal)
    else:
        x = eye + ground * direction
        gloss, fog = 0.0, kc.smoothstep(6.0, 30.0, ground)
        is_dark = (int(kc.floor(x[0] / 0.6)) + int(kc.floor(x[2] / 0.6))) % 2 == 0
        colour = kc.where(is_dark, kc.vec3(0.54, 0.52, 0.5), kc.vec3(0.66, 0.64, 0.61))
        n = kc.vec3(0.0, 1.0, 0.0)
    x = eye + kc.min(hit.t, ground) * direction + 2.0e-3 * n
    to_light = kc.normalize(light.center - x)
    sun, shine = kc.dot(n, to_light), 0.0
    if sun > 0.0:
        seen = lit(meshes, light, x, turn)
        sun *= seen
        shine = gloss * seen * kc.pow(kc.max(kc.dot(n, kc.normalize(to_light - direction)), 0.0), 60.0)
    around = open_sky(meshes, x, n, sky_rays, turn) * (0.7 + 0.3 * n[1])
    bright = kc.vec3(1.0, 0.93, 0.8) * kc.max(sun, 0.0) + kc.vec3(0.27, 0.31, 0.38) * around
    image[i, j] = kc.lerp(kc.cw_mul(colour, bright) + kc.vec3(shine), sky(direction), fog)


SUN = Light(center=(5.0, 6.5, 3.0), radius=0.8, rays=16)


def draw(parts, eye, target, shape, zoom=2.0, light=SUN, sky_rays=10):
    """A picture of (mesh, colour) on the ground y = 0; each pixel is the mean of four."""
    ahead = np.subtract(target, eye) / np.linalg.norm(np.subtract(target, eye))
    right = np.cross(ahead, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    view = np.stack([right, np.cross(right, ahead), zoom * ahead], axis=1).astype(np.float32)
    meshes = np.array([mesh.id for mesh, _ in parts], np.uint64)
    normals = np.concatenate([shapes.normals(mesh.points.numpy(), mesh.indices.numpy().reshape(-1, 3)) for mesh, _ in parts])
    colours = np.array([colour for _, colour in parts], np.float32)
    image = np.zeros((2 * shape[0], 2 * shape[1], 3), np.float32)
    render(image.shape[:2], meshes, normals, colours, light, sky_rays, eye, view, image)
    return picture.halved(image) ** (1 / 2.2)


def stand(points, height=2.0, at=(0.0, 0.0)):
    """A mesh brought to a height and put on the ground."""
    low, high = points.min(axis=0), points.max(axis=0)
    foot = np.array([low[0] + high[0], 2.0 * low[1], low[2] + high[2]]) / 2.0
    return ((points - foot) * (height / (high[1] - low[1])) + [at[0], 0.0, at[1]]).astype(np.float32)


def scene():
    """A knot, a bear and a ball."""
    for (points, faces), height, at, colour in [
        (shapes.knot(), 2.0, (0.0, 0.0), (0.85, 0.28, 0.08)),
        (shapes.bear(), 1.7, (2.1, -0.5), (0.2, 0.42, 0.62)),
        (shapes.icosphere(4), 1.1, (-1.7, 0.5), (0.75, 0.62, 0.2)),
    ]:
        yield kc.Mesh(stand(points, height, at), faces), colour


if __name__ == "__main__":
    parts = list(scene())
    if len(sys.argv) > 2:
        points, faces = shapes.load(sys.argv[2])
        parts = [(kc.Mesh(stand(points), faces), (0.85, 0.28, 0.08))]
    begin = time.perf_counter()
    image = draw(parts, eye=(1.6, 2.3, 5.5), target=(0.2, 0.7, 0.0), shape=(256, 432), zoom=2.9)
    print(f"{sum(len(mesh.indices) // 3 for mesh, _ in parts)} triangles; drawn in {time.perf_counter() - begin:.1f} s")
    picture.save(sys.argv[1] if len(sys.argv) > 1 else "shadows.png", image)
