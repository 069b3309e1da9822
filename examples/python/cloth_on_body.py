"""A cloth falls on a bear: contacts by the closest point of a mesh, with friction.

    python cloth_on_body.py [cloth_on_body.png]
"""

import sys
import time

import kc
import numpy as np
import picture
import shadows
import shapes

Vectors = kc.array(dtype=kc.vec3)


@kc.kernel
def predict(dt: float, x: Vectors, v: Vectors, p: Vectors):
    i = kc.tid()
    speed = (v[i] + dt * kc.vec3(0.0, -9.81, 0.0)) * (1.0 - 0.3 * dt)
    p[i] = x[i] + dt * speed


@kc.kernel
def stretch(rest: float, p: kc.array2d(dtype=kc.vec3), out: kc.array2d(dtype=kc.vec3)):
    """Position based dynamics: each corner goes to where its springs have it, in the mean."""
    i, j = kc.tid()
    total, weights = kc.vec3(), float(0.0)
    for k in range(-2, 3):
        for l in range(-2, 3):
            a, b, s = i + k, j + l, k * k + l * l
            # Along the threads, across, and one further, which resists folding a little.
            if (s == 1 or s == 2 or s == 4) and a >= 0 and b >= 0 and a < p.shape[0] and b < p.shape[1]:
                d = p[a, b] - p[i, j]
                weight = kc.where(s == 4, 0.1, 1.0)
                total += weight * 0.5 * (1.0 - rest * kc.sqrt(float(s)) / kc.length(d)) * d
                weights += weight
    out[i, j] = p[i, j] + 1.6 * total / weights


@kc.func
def slide(start: kc.vec3, to: kc.vec3, n: kc.vec3, depth: float, friction: float):
    """Pushed out by a depth along a normal, and braked across by what Coulomb's law has for it."""
    moved = to + depth * n - start
    across = moved - kc.dot(moved, n) * n
    length = kc.length(across)
    return to + depth * n - across * kc.min(1.0, friction * depth / kc.max(length, 1.0e-9))


@kc.kernel
def collide(body: kc.uint64, thickness: float, friction: float, x: Vectors, p: Vectors):
    i = kc.tid()
    at = p[i]
    q = kc.mesh_query_point(body, at, 0.3)
    if q.result:
        nearest = kc.mesh_eval_position(body, q.face, q.u, q.v)
        out = q.sign * kc.normalize(at - nearest)
        depth = thickness - q.sign * kc.length(at - nearest)
        if depth > 0.0:
            at = slide(x[i], at, out, depth, friction)
    if at[1] < thickness:
        at = slide(x[i], at, kc.vec3(0.0, 1.0, 0.0), thickness - at[1], friction)
    p[i] = at


@kc.kernel
def part(grid: kc.uint64, apart: float, start: Vectors, p: Vectors, out: Vectors):
    """Corners that come near keep apart, unless the cloth has them near anyway."""
    i = kc.tid()
    total, count = kc.vec3(), float(0.0)
    for j in kc.hash_grid_query(grid, p[i], apart):
        d = p[i] - p[j]
        length = kc.length(d)
        if j != i and length < apart and length > 0.0 and kc.length(start[i] - start[j]) > 1.5 * apart:
            total += 0.5 * (apart - length) / length * d
            count += 1.0
    out[i] = p[i] + total / kc.max(count, 1.0)


@kc.kernel
def finish(dt: float, p: Vectors, x: Vectors, v: Vectors):
    i = kc.tid()
    v[i] = (p[i] - x[i]) / dt
    x[i] = p[i]


class Cloth:
    """A square of n x n corners above a body."""

    def __init__(self, body, n=72, size=2.6, height=2.35, thickness=0.03):
        self.n, self.rest, self.thickness, self.body = n, size / (n - 1), thickness, body
        i, j = np.mgrid[0:n, 0:n].reshape(2, -1) * self.rest - size / 2
        # Turned a little, for what is quite symmetric never folds.
        turn = 0.3
        at = [np.cos(turn) * i - np.sin(turn) * j, np.full(n * n, height), np.sin(turn) * i + np.cos(turn) * j + 0.15]
        self.x, faces = shapes.arrays(np.stack(at, axis=1), shapes.sheet_faces(n, n))
        self.v, self.p, self.q = (np.zeros_like(self.x) for _ in range(3))
        self.start = self.x.copy()
        self.mesh = kc.Mesh(self.x, faces)
        self.grid = kc.HashGrid(64, 64, 64)

    def step(self, dt=1 / 240, rounds=12, friction=0.5):
        count, square = self.n * self.n, (self.n, self.n, 3)
        predict(count, dt, self.x, self.v, self.p)
        self.grid.build(self.p, self.rest)
        part(count, self.grid, self.rest, self.start, self.p, self.q)
        self.p, self.q = self.q, self.p
        for _ in range(rounds):
            stretch(square[:2], self.rest, self.p.reshape(square), self.q.reshape(square))
            self.p, self.q = self.q, self.p
        collide(count, self.body, self.thickness, friction, self.x, self.p)
        finish(count, dt, self.p, self.x, self.v)

    def picture(self, shape=(208, 208)):
        """The tree of the cloth follows its corners."""
        self.mesh.refit()
        parts = [(self.body, (0.55, 0.36, 0.2)), (self.mesh, (0.75, 0.1, 0.14))]
        return shadows.draw(parts, eye=(2.4, 2.7, 4.4), target=(0.0, 0.95, 0.1), shape=shape, zoom=3.0)


if __name__ == "__main__":
    cloth, begin, images = Cloth(kc.Mesh(*shapes.bear())), time.perf_counter(), []
    for frame in range(1, 4):
        for _ in range(120):
            cloth.step()
        images.append(cloth.picture())
        lowest, took = cloth.x[:, 1].min(), time.perf_counter() - begin
        print(f"after {frame / 2:.1f} s: the lowest corner at {lowest:.2f}; computed in {took:.1f} s")
    picture.save(sys.argv[1] if len(sys.argv) > 1 else "cloth_on_body.png", np.hstack(images))
