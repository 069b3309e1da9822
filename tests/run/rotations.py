"""Rotations between vectors that are nearly parallel or opposite, and angles near the poles."""

import numpy as np
import warp as wp


@wp.kernel
def between(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), there: wp.array(dtype=wp.vec3d), axis: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.quat_between_vectors(a[i], b[i])
    wide = wp.quatd(wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3]))
    there[i] = wp.quat_rotate(wide, wp.normalize(wp.vec3d(a[i])))
    axis[i] = wp.normalize(wp.vec3(q[0], q[1], q[2]))


@wp.kernel
def poles(q: wp.array(dtype=wp.quat), back: wp.array(dtype=wp.mat33), angles: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a = wp.quat_to_rpy(q[i])
    angles[i] = a
    back[i] = wp.quat_to_matrix(wp.quat_rpy(a[0], a[1], a[2]))


def cases():
    rng = np.random.default_rng(11)
    # At every distance from being parallel, and from being opposite, and of any length.
    n = 80
    a = rng.normal(size=(n, 3))
    side = np.cross(a, rng.normal(size=(n, 3)))
    side *= (np.linalg.norm(a, axis=1) / np.linalg.norm(side, axis=1))[:, None]
    angle = 10.0 ** -rng.uniform(0, 12, size=n)[:, None]
    b = np.where(np.arange(n)[:, None] % 2, -1, 1) * np.cos(angle) * a + np.sin(angle) * side
    lengths = 10.0 ** rng.uniform(-30, 30, size=(2, n, 1))
    a, b = (a * lengths[0]).astype(np.float32), (b * lengths[1]).astype(np.float32)
    x, y = a.astype(np.float64), b.astype(np.float64)
    axis = np.cross(x / np.linalg.norm(x, axis=1)[:, None], y / np.linalg.norm(y, axis=1)[:, None])
    apart = np.linalg.norm(axis, axis=1)
    keep = apart > 1e-9
    a, b, y, axis = a[keep], b[keep], y[keep], (axis / apart[:, None])[keep]
    args = dict(a=a, b=b, there=np.zeros_like(y), axis=np.zeros_like(a))
    yield case("between", len(a), args, dict(there=y / np.linalg.norm(y, axis=1)[:, None], axis=axis), rtol=0, atol=1e-6)

    # Pitch at every distance from the poles.
    n = 60
    roll, yaw = rng.uniform(-3, 3, size=(2, n))
    pitch = np.where(np.arange(n) % 2, -1, 1) * (np.pi / 2 - np.where(np.arange(n) % 5, 10.0 ** -rng.uniform(0, 9, size=n), 0))
    quat = lambda k, t: np.insert(np.zeros((n, 3)), 3, np.cos(t / 2), 1) + np.sin(t / 2)[:, None] * np.eye(4)[k]  # noqa: E731

    def product(p, q):
        u, v = p[:, :3], q[:, :3]
        vector = p[:, 3:] * v + q[:, 3:] * u + np.cross(u, v)
        return np.concatenate([vector, p[:, 3:] * q[:, 3:] - (u * v).sum(1)[:, None]], 1)

    q = product(quat(2, yaw), product(quat(1, pitch), quat(0, roll))).astype(np.float32)
    wide = q / np.linalg.norm(q.astype(np.float64), axis=1)[:, None]
    u, w = wide[:, None, :3], wide[:, None, 3:]
    eye = np.broadcast_to(np.eye(3), (n, 3, 3))
    matrix = (eye + 2 * np.cross(u, np.cross(u, eye) + w * eye)).swapaxes(1, 2)
    far = np.pi / 2 - np.abs(pitch) > 1e-3
    yield case("poles", n, dict(q=q, back=np.zeros((n, 3, 3)), angles=np.zeros((n, 3))), dict(back=matrix), rtol=0, atol=3e-6)
    args = dict(q=q[far], back=np.zeros((far.sum(), 3, 3)), angles=np.zeros((far.sum(), 3)))
    yield case("poles", int(far.sum()), args, dict(angles=np.stack([roll, pitch, yaw], 1)[far]), rtol=0, atol=1e-3, id="poles_angles")
    # Gimbal lock itself: no roll, and the sum of both is the yaw.
    r = np.sqrt(np.float32(0.5))
    q = np.array([[0, r, 0, r], [0, -r, 0, r], [-0.5, 0.5, 0.5, 0.5], [0, 0, 0, 1]], dtype=np.float32)
    want = [[0, np.pi / 2, 0], [0, -np.pi / 2, 0], [0, np.pi / 2, np.pi / 2], [0, 0, 0]]
    yield case("poles", 4, dict(q=q, back=np.zeros((4, 3, 3)), angles=np.zeros((4, 3))), dict(angles=want), atol=1e-6, id="poles_exactly")
