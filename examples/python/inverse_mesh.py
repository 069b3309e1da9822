"""The shape of a bear from depth pictures: a ball grows by gradients through ray casting.

    python inverse_mesh.py [inverse_mesh.png]
"""

import sys
import time

import kc
import numpy as np
import picture
import shadows
import shapes

Vectors = kc.array(dtype=kc.vec3)
Numbers = kc.array(dtype=float)


@kc.kernel
def look(mesh: kc.uint64, start: Vectors, direction: Vectors, depth: Numbers):
    """A depth picture; -1 where nothing is seen."""
    i = kc.tid()
    hit = kc.mesh_query_ray(mesh, start[i], direction[i], 100.0)
    depth[i] = -1.0
    if hit.result:
        depth[i] = hit.t


@kc.kernel
def compare(mesh: kc.uint64, start: Vectors, direction: Vectors, depth: Numbers, loss: Numbers):
    i = kc.tid()
    hit = kc.mesh_query_ray(mesh, start[i], direction[i], 100.0)
    miss = float(0.0)
    if hit.result and depth[i] >= 0.0:
        miss = hit.t - depth[i]
    elif hit.result:
        # The ray should pass: what it goes through gets thinner.
        behind = kc.mesh_query_ray(mesh, start[i] + (hit.t + 1.0e-3) * direction[i], direction[i], 100.0)
        if behind.result:
            miss = 0.5 * behind.t
    elif depth[i] >= 0.0:
        # The ray should hit: pull the mesh to the point that is seen.
        seen = start[i] + depth[i] * direction[i]
        q = kc.mesh_query_point_no_sign(mesh, seen, 100.0)
        miss = kc.length(kc.mesh_eval_position(mesh, q.face, q.u, q.v) - seen)
    kc.atomic_add(loss, 0, miss * miss / float(depth.shape[0]))


def rays(views, size, center=(0.0, 0.95, 0.2), far=5.0, width=1.35):
    """Parallel rays of square pictures from all around, every other from far above."""
    s = (np.arange(size) + 0.5) / size * 2 * width - width
    a, b = np.meshgrid(s, -s)
    starts, directions = [], []
    for k in range(views):
        turn, rise = 2 * np.pi * k / views, 0.25 if k % 2 else 0.7
        ahead = -np.array([np.sin(turn) * np.cos(rise), np.sin(rise), np.cos(turn) * np.cos(rise)])
        right = np.cross(ahead, [0.0, 1.0, 0.0]) / np.cos(rise)
        starts.append(center - far * ahead + a[..., None] * right + b[..., None] * np.cross(right, ahead))
        directions.append(np.broadcast_to(ahead, (size, size, 3)))
    return tuple(np.ascontiguousarray(np.concatenate(x).reshape(-1, 3), np.float32) for x in (starts, directions))


def stiffness(faces, count, weight):
    """1 + weight * Laplacian: steps through its inverse are smooth (Nicolet, Large Steps, 2021)."""
    matrix = np.eye(count)
    edges = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1), axis=0)
    for i, j in (edges.T, edges.T[::-1]):
        matrix[i, j] -= weight
        np.add.at(matrix, (i, i), weight)
    return matrix


class Fit:
    """A ball that grows into the depth pictures of a target."""

    def __init__(self, target, rounds=4, views=8, size=56, weight=1.5):
        self.start, self.direction = rays(views, size)
        self.depth = np.zeros(len(self.start), np.float32)
        look(len(self.start), target, self.start, self.direction, self.depth)
        points, self.faces = shapes.icosphere(rounds, 0.6)
        points += np.array([0.0, 0.95, 0.15], np.float32)
        self.mesh = kc.Mesh(kc.array(points, dtype=kc.vec3, requires_grad=True), self.faces)
        matrix = stiffness(self.faces, len(points), weight)
        self.smooth, self.u = np.linalg.inv(matrix), matrix @ points
        self.first, self.second, self.steps = np.zeros_like(self.u), 0.0, 0

    def loss(self):
        """The mean square of the miss; `mesh.points.grad` has its gradient by the corners."""
        loss = np.zeros(1, np.float32)
        self.mesh.points.grad.zero_()
        with kc.Tape() as tape:
            compare(len(self.start), self.mesh, self.start, self.direction, self.depth, loss)
        tape.backward(loss)
        return float(loss[0])

    def step(self, rate=0.05):
        """Adam on u, with one second moment for all: the corners are `smooth @ u`."""
        loss = self.loss()
        gradient = self.smooth @ self.mesh.points.grad.numpy()
        self.steps += 1
        self.first += 0.1 * (gradient - self.first)
        self.second += 0.01 * ((gradient**2).max() - self.second)
        mean, square = self.first / (1 - 0.9**self.steps), self.second / (1 - 0.99**self.steps)
        self.u -= rate * mean / (np.sqrt(square) + 1e-12)
        self.mesh.points.numpy()[:] = self.smooth @ self.u
        self.mesh.refit()
        return loss

    def picture(self, mesh, colour, shape=(200, 180)):
        return shadows.draw([(mesh, colour)], eye=(1.6, 2.2, 4.6), target=(0.0, 0.95, 0.15), shape=shape, zoom=3.6)


if __name__ == "__main__":
    target, begin = kc.Mesh(*shapes.bear()), time.perf_counter()
    fit = Fit(target)
    images, losses = [fit.picture(target, (0.55, 0.36, 0.2)), fit.picture(fit.mesh, (0.2, 0.42, 0.62))], []
    while len(losses) < 200:
        losses.append(fit.step())
        if len(losses) in (30, 200):
            images.append(fit.picture(fit.mesh, (0.2, 0.42, 0.62)))
    took = time.perf_counter() - begin
    print(f"loss {losses[0]:.4f} at first, {losses[-1]:.2e} at the end; computed in {took:.1f} s")
    picture.save(sys.argv[1] if len(sys.argv) > 1 else "inverse_mesh.png", np.hstack(images))
