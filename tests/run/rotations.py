"""Rotations between vectors that are nearly parallel or opposite, and angles near the poles: values and gradients.

Gradients are compared with differences of other formulas in extended precision.
"""

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


@wp.kernel
def between_float(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.quat)):
    i = wp.tid()
    q[i] = wp.quat_between_vectors(a[i], b[i])


@wp.kernel
def between_double(a: wp.array(dtype=wp.vec3d), b: wp.array(dtype=wp.vec3d), q: wp.array(dtype=wp.quatd)):
    i = wp.tid()
    q[i] = wp.quat_between_vectors(a[i], b[i])


@wp.kernel
def angles_float(q: wp.array(dtype=wp.quat), angles: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    angles[i] = wp.quat_to_rpy(q[i])


@wp.kernel
def angles_double(q: wp.array(dtype=wp.quatd), angles: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    angles[i] = wp.quat_to_rpy(q[i])


real = np.longdouble


def half_way(a, b):
    """The rotation from `a` to `b` by its axis, and its angle from the diagonals of their rhombus."""
    u, v = a / np.sqrt(a @ a), b / np.sqrt(b @ b)
    axis = np.cross(u, v)
    half = np.arctan2(np.sqrt((v - u) @ (v - u)), np.sqrt((v + u) @ (v + u)))
    return np.append(axis / np.sqrt(axis @ axis) * np.sin(half), np.cos(half))


def of_matrix(q):
    """Roll, pitch and yaw by the elements of the matrix that `q` is."""
    x, y, z, w = q / np.sqrt(q @ q)
    ahead, left = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z)
    roll = np.arctan2(2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
    return np.array([roll, np.arctan2(2 * (w * y - x * z), np.hypot(ahead, left)), np.arctan2(left, ahead)])


def pulled_back(f, x, weights, h):
    """The gradient of sum(weights * f(x)), by differences of fourth order."""
    gradient = np.zeros(x.shape, real)
    for at in range(len(x)):
        step = np.zeros(x.shape, real)
        step[at] = h
        differences = [f(x + k * step) - f(x - k * step) for k in (1, 2)]
        gradient[at] = np.sum(weights * (8 * differences[0] - differences[1])) / (12 * h)
    return gradient


def gradients(rng):
    """At every distance from the pole; the adjoints are smaller the nearer it is, as their gradients are then of one size."""
    for name, dtype, eps, nearest in (("float", np.float32, 1.2e-7, 5), ("double", np.float64, 2.3e-16, 6)):
        distance = 10.0 ** -rng.uniform(0, nearest, size=60)
        sign = np.where(np.arange(60) % 2, -1, 1)
        a = rng.normal(size=(60, 3))
        side = np.cross(a, rng.normal(size=(60, 3)))
        side *= (np.linalg.norm(a, axis=1) / np.linalg.norm(side, axis=1))[:, None]
        b = sign[:, None] * np.cos(distance)[:, None] * a + np.sin(distance)[:, None] * side
        a, b = a.astype(dtype), (b * rng.uniform(0.1, 10, size=(60, 1))).astype(dtype)
        w = (rng.normal(size=(60, 4)) * np.where(sign < 0, distance, 1)[:, None]).astype(dtype)
        rows = list(zip(a.astype(real), b.astype(real), w.astype(real), distance))
        size = lambda x, d: real(1e-3) * d * np.sqrt(x @ x)  # noqa: E731
        expect = {
            "a.grad": np.array([pulled_back(lambda p: half_way(p, y), x, adjoint, size(x, d)) for x, y, adjoint, d in rows]),
            "b.grad": np.array([pulled_back(lambda p: half_way(x, p), y, adjoint, size(y, d)) for x, y, adjoint, d in rows]),
        }
        tolerance = max(40 * eps, 1e-10)
        args = {"a": a, "b": b, "q": np.zeros_like(w), "q.grad": w}
        yield case(f"between_{name}", 60, args, expect, rtol=tolerance, atol=tolerance, id=f"between_gradient_{name}")

        roll, yaw = rng.uniform(-1.4, 1.4, size=(2, 60))
        q = turned(roll, sign * (np.pi / 2 - distance), yaw).astype(dtype)
        w = (rng.normal(size=(60, 3)) * distance[:, None]).astype(dtype)
        rows = zip(q.astype(real), w.astype(real), distance)
        gradient = np.array([pulled_back(of_matrix, x, adjoint, real(1e-3) * d) for x, adjoint, d in rows])
        args = {"q": q, "angles": np.zeros_like(w), "angles.grad": w}
        yield case(f"angles_{name}", 60, args, {"q.grad": gradient}, tolerance, tolerance, id=f"angles_gradient_{name}")

        # At the poles all is yaw: twice the angle of (w - y, z + x) at the lower one, of (w + y, z - x) at the upper one.
        q = np.array([[0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, 0.5, 0.5]], dtype)
        w = np.array([[2, 0, 1], [2, 0, 1]], dtype)
        gradient = [[1, 1, 1, -1], [-1, -1, 1, -1]]
        args = {"q": q, "angles": np.zeros_like(w), "angles.grad": w}
        yield case(f"angles_{name}", 2, args, {"q.grad": gradient}, 4 * eps, 4 * eps, id=f"angles_gradient_at_the_pole_{name}")


def turned(roll, pitch, yaw):
    """The quaternions of these angles."""
    n = len(roll)

    def about(k, t):
        return np.insert(np.zeros((n, 3)), 3, np.cos(t / 2), 1) + np.sin(t / 2)[:, None] * np.eye(4)[k]

    def product(p, q):
        u, v = p[:, :3], q[:, :3]
        vector = p[:, 3:] * v + q[:, 3:] * u + np.cross(u, v)
        return np.concatenate([vector, p[:, 3:] * q[:, 3:] - (u * v).sum(1)[:, None]], 1)

    return product(about(2, yaw), product(about(1, pitch), about(0, roll)))


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
    q = turned(roll, pitch, yaw).astype(np.float32)
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
    yield from gradients(np.random.default_rng(12))
