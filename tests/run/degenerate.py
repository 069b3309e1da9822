"""Gradients of built-ins at and near the points where a formula divides by little, in float32 and float64, against extended
precision: differences of fourth order of a formula that is smooth there, or the derivative itself.

What is not smooth has the derivative that docs/gradients.md states ("Conventions").
"""

from typing import Any

import numpy as np
import warp as wp

real = np.longdouble
DISTANCES = [0.0, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]


# ---- Quaternions --------------------------------------------------------------------------------------------------------


@wp.kernel
def slerp_float(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), t: wp.array(dtype=float), y: wp.array(dtype=wp.quat)):
    i = wp.tid()
    y[i] = wp.quat_slerp(a[i], b[i], t[i])


@wp.kernel
def slerp_double(a: wp.array(dtype=wp.quatd), b: wp.array(dtype=wp.quatd), t: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.quatd)):
    i = wp.tid()
    y[i] = wp.quat_slerp(a[i], b[i], t[i])


@wp.func
def through_axis_angle(q: Any):
    axis, angle = wp.quat_to_axis_angle(q)
    return wp.quat_from_axis_angle(axis, angle)


@wp.kernel
def axis_angle_float(q: wp.array(dtype=wp.quat), y: wp.array(dtype=wp.quat)):
    i = wp.tid()
    y[i] = through_axis_angle(q[i])


@wp.kernel
def axis_angle_double(q: wp.array(dtype=wp.quatd), y: wp.array(dtype=wp.quatd)):
    i = wp.tid()
    y[i] = through_axis_angle(q[i])


@wp.func
def through_euler(q: Any):
    return wp.quat_from_euler(wp.quat_to_euler(q, 0, 1, 2), 0, 1, 2)


@wp.kernel
def euler_float(q: wp.array(dtype=wp.quat), y: wp.array(dtype=wp.quat)):
    i = wp.tid()
    y[i] = through_euler(q[i])


@wp.kernel
def euler_double(q: wp.array(dtype=wp.quatd), y: wp.array(dtype=wp.quatd)):
    i = wp.tid()
    y[i] = through_euler(q[i])


def product(a, b):
    u, v = a[:3], b[:3]
    return np.append(a[3] * v + b[3] * u + np.cross(u, v), a[3] * b[3] - u @ v)


def sine_over(t, s, w):
    """sin(t h) / sqrt(s) and cos(t h) of h = atan2(sqrt(s), w), by power series where s is small."""
    if s < real(1e-6):
        r = s / (w * w)
        h = sum((-r) ** n / real(2 * n + 1) for n in range(8)) / w
        q = t * t * h * h * s
        sine = sum((-q) ** n / real(int(np.prod(np.arange(1, 2 * n + 2)))) for n in range(6))
        cosine = sum((-q) ** n / real(int(np.prod(np.arange(1, 2 * n + 1)))) for n in range(6))
        return t * h * sine, cosine
    h = np.arctan2(np.sqrt(s), w)
    return np.sin(t * h) / np.sqrt(s), np.cos(t * h)


def slerp(a, b, t):
    between = product(a * np.array([-1, -1, -1, 1]), b)
    v, w = between[:3], between[3]
    k, cosine = sine_over(t, v @ v, abs(w))
    return product(a, np.append(v * (k if w >= 0 else -k), cosine))


def rotation(axis, angle):
    axis = np.asarray(axis, real) / np.sqrt(np.sum(np.square(np.asarray(axis, real))))
    return np.append(axis * np.sin(real(angle) / 2), np.cos(real(angle) / 2))


# ---- Matrices -----------------------------------------------------------------------------------------------------------


@wp.func
def eig_exp(A: Any):
    Q, d = wp.eig3(A)
    d[0] = wp.exp(d[0])
    d[1] = wp.exp(d[1])
    d[2] = wp.exp(d[2])
    return Q * wp.diag(d) * wp.transpose(Q)


@wp.kernel
def eig_float(a: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    y[i] = eig_exp(a[i])


@wp.kernel
def eig_double(a: wp.array(dtype=wp.mat33d), y: wp.array(dtype=wp.mat33d)):
    i = wp.tid()
    y[i] = eig_exp(a[i])


@wp.func
def svd_cube(A: Any):
    U, s, V = wp.svd3(A)
    return U * wp.diag(wp.cw_mul(wp.cw_mul(s, s), s)) * wp.transpose(V)


@wp.func
def svd_polar(A: Any):
    U, s, V = wp.svd3(A)
    return U * wp.transpose(V)


@wp.func
def svd2_cube(A: Any):
    U, s, V = wp.svd2(A)
    return U * wp.diag(wp.cw_mul(wp.cw_mul(s, s), s)) * wp.transpose(V)


@wp.func
def svd2_polar(A: Any):
    U, s, V = wp.svd2(A)
    return U * wp.transpose(V)


@wp.kernel
def svd3_float(a: wp.array(dtype=wp.mat33), cube: wp.array(dtype=wp.mat33), polar: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    cube[i] = svd_cube(a[i])
    polar[i] = svd_polar(a[i])


@wp.kernel
def svd3_double(a: wp.array(dtype=wp.mat33d), cube: wp.array(dtype=wp.mat33d), polar: wp.array(dtype=wp.mat33d)):
    i = wp.tid()
    cube[i] = svd_cube(a[i])
    polar[i] = svd_polar(a[i])


@wp.kernel
def svd2_float(a: wp.array(dtype=wp.mat22), cube: wp.array(dtype=wp.mat22), polar: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    cube[i] = svd2_cube(a[i])
    polar[i] = svd2_polar(a[i])


@wp.kernel
def svd2_double(a: wp.array(dtype=wp.mat22d), cube: wp.array(dtype=wp.mat22d), polar: wp.array(dtype=wp.mat22d)):
    i = wp.tid()
    cube[i] = svd2_cube(a[i])
    polar[i] = svd2_polar(a[i])


@wp.func
def qr_product(A: Any):
    Q, R = wp.qr3(A)
    return Q * R


@wp.kernel
def qr_float(a: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    y[i] = qr_product(a[i])


@wp.kernel
def qr_double(a: wp.array(dtype=wp.mat33d), y: wp.array(dtype=wp.mat33d)):
    i = wp.tid()
    y[i] = qr_product(a[i])


@wp.kernel
def singular_float(a: wp.array(dtype=wp.mat33), inverse: wp.array(dtype=wp.mat33), determinant: wp.array(dtype=float)):
    i = wp.tid()
    inverse[i] = wp.inverse(a[i])
    determinant[i] = wp.determinant(a[i])


@wp.kernel
def singular_double(a: wp.array(dtype=wp.mat33d), inverse: wp.array(dtype=wp.mat33d), determinant: wp.array(dtype=wp.float64)):
    i = wp.tid()
    inverse[i] = wp.inverse(a[i])
    determinant[i] = wp.determinant(a[i])


def exp(a):
    term = total = np.eye(3, dtype=real)
    for n in range(1, 30):
        term = term @ a / n
        total = total + term
    return total


def polar(a):
    for _ in range(12):
        a = (a + inverse(a).T) / 2
    return a


def adjugate(a):
    if len(a) == 2:
        return np.array([[a[1, 1], -a[0, 1]], [-a[1, 0], a[0, 0]]])
    return np.array([np.cross(a[1], a[2]), np.cross(a[2], a[0]), np.cross(a[0], a[1])]).T


def inverse(a):
    return adjugate(a) / (a[0] @ adjugate(a)[:, 0])


# ---- Scalars and vectors ------------------------------------------------------------------------------------------------


@wp.kernel
def arcs_float(x: wp.array(dtype=float), c: wp.array(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.acos(x[i])
    s[i] = wp.asin(x[i])


@wp.kernel
def arcs_double(x: wp.array(dtype=wp.float64), c: wp.array(dtype=wp.float64), s: wp.array(dtype=wp.float64)):
    i = wp.tid()
    c[i] = wp.acos(x[i])
    s[i] = wp.asin(x[i])


@wp.kernel
def powers_float(x: wp.array(dtype=float), p: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.pow(x[i], p[i])


@wp.kernel
def powers_double(x: wp.array(dtype=wp.float64), p: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.pow(x[i], p[i])


@wp.kernel
def angles_float(v: wp.array(dtype=wp.vec2), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.atan2(v[i][1], v[i][0])


@wp.kernel
def angles_double(v: wp.array(dtype=wp.vec2d), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.atan2(v[i][1], v[i][0])


@wp.kernel
def lengths_float(v: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), n: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.length(v[i])
    n[i] = wp.normalize(v[i])


@wp.kernel
def lengths_double(v: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.float64), n: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    y[i] = wp.length(v[i])
    n[i] = wp.normalize(v[i])


@wp.kernel
def cosines_float(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.cosine_similarity(a[i], b[i])


@wp.kernel
def cosines_double(a: wp.array(dtype=wp.vec3d), b: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.cosine_similarity(a[i], b[i])


@wp.kernel
def limits(x: wp.array(dtype=float), low: wp.array(dtype=float), high: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.clamp(x[i], low[i], high[i])


@wp.kernel
def limits_written_out(x: wp.array(dtype=float), low: wp.array(dtype=float), high: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.min(wp.max(low[i], x[i]), high[i])


@wp.kernel
def ties(x: wp.array(dtype=float), z: wp.array(dtype=float), least: wp.array(dtype=float), most: wp.array(dtype=float), size: wp.array(dtype=float)):
    i = wp.tid()
    least[i] = wp.min(x[i], z[i])
    most[i] = wp.max(x[i], z[i])
    size[i] = wp.abs(x[i]) + wp.sign(z[i]) * 5.0


@wp.kernel
def bits(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    n = wp.cast(x[i], wp.int32)
    y[i] = wp.cast(n, wp.float32) * x[i]


# ---- Adjoints of zero ---------------------------------------------------------------------------------------------------


@wp.func
def unguarded(s: float, x: float) -> float:
    q = s / x
    return q * q + wp.tanh(q) + wp.sin(q) / x


@wp.kernel
def padded(s: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    y[i, 0] = s[0] / x[i]
    y[i, 1] = wp.sqrt(x[i] * s[0]) * s[0]
    y[i, 2] = wp.log(s[0] * x[i]) * wp.pow(x[i] * s[0], -0.5)
    y[i, 3] = unguarded(s[0], x[i])
    y[i, 4] = wp.exp(s[0] / x[i]) * s[0]
    y[i, 5] = wp.acos(1.0 - s[0] * x[i]) / wp.cbrt(x[i] * s[0])
    q = wp.sqrt(s[0]) / x[i]
    for k in range(3):
        q = q * q / (x[i] + s[0] * x[i])
    y[i, 6] = q


@wp.kernel
def padded_vectors(s: wp.array(dtype=wp.vec3), x: wp.array(dtype=wp.vec3), y: wp.array2d(dtype=wp.vec3), n: wp.array(dtype=float)):
    i = wp.tid()
    y[i, 0] = wp.cw_div(s[0], x[i])
    y[i, 1] = wp.cw_mul(wp.cw_div(s[0], x[i]), s[0])
    y[i, 2] = s[0] / wp.dot(x[i], s[0])
    y[i, 3] = wp.inverse(wp.outer(x[i], x[i])) * s[0]
    n[i] = wp.length(s[0] / x[i][1])


# ---- The cases ----------------------------------------------------------------------------------------------------------


def pulled_back(f, x, weights, h=1e-4):
    """The gradient of sum(weights * f(x)), by differences of fourth order in extended precision."""
    x = np.asarray(x, real)
    gradient = np.zeros(x.shape, real)
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape, real)
        step[at] = h
        one = f(x + step) - f(x - step)
        two = f(x + 2 * step) - f(x - 2 * step)
        gradient[at] = np.sum(weights * (8 * one - two)) / (12 * real(h))
    return gradient


def types():
    yield "float", np.float32, 1.2e-7
    yield "double", np.float64, 2.3e-16


def cases():
    random = np.random.default_rng(11)
    yield from quaternions(random)
    yield from matrices(random)
    yield from scalars(random)
    yield from cosines(random)
    yield from zero_adjoints()


def zero_adjoints():
    """Rows that fill an array up, whose results nobody asks for: their derivatives are infinite or NaN."""
    x = np.array([1.0, 0.0, 2.0, 0.0, 4.0], np.float32)
    args = {"s": [1.0], "x": x, "y": np.zeros((5, 7))}
    yield case("padded", 5, args | {"y.grad": np.zeros((5, 7))}, {"s.grad": [0.0], "x.grad": np.zeros(5)}, id="padded_silent")
    asked = x > 0
    with np.errstate(divide="ignore"):
        slopes = [(1 / x, -1 / x**2), (1.5 * np.sqrt(x), 0.5 / np.sqrt(x))]
    for column, (by_s, by_x) in enumerate(slopes):
        seeds = np.zeros((5, 7))
        seeds[asked, column] = 1.0
        expect = {"s.grad": [by_s[asked].sum()], "x.grad": np.where(asked, by_x, 0.0)}
        yield case("padded", 5, args | {"y.grad": seeds}, expect, id=f"padded_{column}")
    rows = np.array([[1.0, 2.0, 4.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], np.float32)
    seeds = np.zeros((3, 4, 3), np.float32)
    args = {"s": [[1.0, 3.0, 5.0]], "x": rows, "y": seeds, "n": np.zeros(3), "n.grad": np.zeros(3)}
    yield case("padded_vectors", 3, args | {"y.grad": seeds}, {"s.grad": np.zeros((1, 3)), "x.grad": np.zeros((3, 3))}, id="padded_vectors_silent")
    # Component by component: only the one that is asked for has an adjoint.
    seeds = seeds.copy()
    seeds[0, 0] = 1.0
    seeds[1, :2, 1] = 1.0
    by_s = [[1.0, 0.5 + 0.5 + 3.0, 0.25]]
    by_x = [[-1.0, -0.75, -5 / 16], [0.0, -0.75 - 9 / 4, 0.0], [0.0, 0.0, 0.0]]
    yield case("padded_vectors", 3, args | {"y.grad": seeds}, {"s.grad": by_s, "x.grad": by_x}, id="padded_vectors_asked")


def quaternions(random):
    for name, dtype, eps in types():
        starts = [rotation(random.normal(size=3), angle) for angle in [0.0, 0.7, 3.0, 1.9, 6.0, 2.5]]
        a, b = [], []
        for distance in DISTANCES + [0.2, 0.25, 0.6, 3.0]:
            for n, start in enumerate(starts):
                near = product(start, rotation(random.normal(size=3), distance))
                a.append(start)
                b.append(-near if n == 3 else near)
        a, b = np.array(a).astype(dtype), np.array(b).astype(dtype)
        t = random.uniform(-0.5, 1.5, len(a)).astype(dtype)
        w = random.normal(size=a.shape).astype(dtype)
        rows = [(x.astype(real), y.astype(real), real(s)) for x, y, s in zip(a, b, t)]
        expect = {
            "y": np.array([slerp(*row) for row in rows]),
            "a.grad": np.array([pulled_back(lambda p: slerp(p, y, s), x, w[n]) for n, (x, y, s) in enumerate(rows)]),
            "b.grad": np.array([pulled_back(lambda p: slerp(x, p, s), y, w[n]) for n, (x, y, s) in enumerate(rows)]),
            "t.grad": np.array([pulled_back(lambda p: slerp(x, y, p), s, w[n]) for n, (x, y, s) in enumerate(rows)]),
        }
        args = {"a": a, "b": b, "t": t, "y": np.zeros_like(a), "y.grad": w}
        yield case(f"slerp_{name}", len(a), args, expect, rtol=200 * eps, atol=200 * eps)

        # There and back again is the projection to unit quaternions with its scale; no rotation passes nothing through its
        # axis, which it does not have.
        # The last ones are half a turn exactly.
        half = [[0.6, 0.0, -0.8, 0.0], [1.0, 0.0, 0.0, 0.0]]
        q = np.array([rotation(random.normal(size=3), distance) for distance in DISTANCES] + half).astype(dtype)
        w = random.normal(size=q.shape).astype(dtype)
        unit = lambda p: p / np.sqrt(p @ p)  # noqa: E731
        gradient = np.array([pulled_back(unit, x, y, h=1e-5) for x, y in zip(q.astype(real), w.astype(real))])
        gradient[0] = 0.0
        args = {"q": q, "y": np.zeros_like(q), "y.grad": w}
        yield case(f"axis_angle_{name}", len(q), args, {"q.grad": gradient}, rtol=100 * eps, atol=100 * eps)

        # Near the pole, where the middle angle is nearly pi / 2, each angle loses as many digits as the distance has.
        far = [d for d in DISTANCES if d >= 1e-5]
        turns = [[0.4, np.pi / 2 - d, -0.9] for d in far]
        q = [product(rotation([0, 0, 1], c), product(rotation([0, 1, 0], b), rotation([1, 0, 0], a))) for a, b, c in turns]
        q = np.array(q).astype(dtype)
        w = (random.normal(size=q.shape) * np.array(far)[:, None]).astype(dtype)
        gradient = np.array([pulled_back(unit, x, y) for x, y in zip(q.astype(real), w.astype(real))])
        yield case(f"euler_{name}", len(q), {"q": q, "y": np.zeros_like(q), "y.grad": w}, {"q.grad": gradient}, 20 * eps, 20 * eps)


def matrices(random):
    # Incoming adjoints are rounded, and what they differ by is divided by what the values differ by: the closer these, the
    # smaller the adjoints, so that one tolerance serves all.
    distances = np.array(DISTANCES)[:, None, None]
    scale = np.where(distances > 0, distances, 1.0)
    for name, dtype, eps in types():
        b = random.normal(size=(3, 3))
        a = (0.5 * np.eye(3) + distances * (b + b.T)).astype(dtype)
        w = (random.normal(size=(1, 3, 3)) * scale).astype(dtype)
        gradient = np.array([pulled_back(lambda p: exp((p + p.T) / 2), *row) for row in zip(a, w)])
        # Of equal eigenvalues, the vectors pass nothing.
        gradient[0] = np.exp(real(0.5)) * np.diag(np.diag(w[0])).astype(real)
        args = {"a": a, "y": np.zeros_like(a), "y.grad": w}
        yield case(f"eig_{name}", len(a), args, {"a.grad": gradient}, 30 * eps, 30 * eps)

        for size in [2, 3]:
            a = (np.eye(size) + distances * random.normal(size=(size, size))).astype(dtype)
            w = (random.normal(size=(1, size, size)) * scale).astype(dtype)
            args = {"a": a, "cube": np.zeros_like(a), "polar": np.zeros_like(a)}
            gradient = np.array([pulled_back(lambda p: p @ p.T @ p, *row) for row in zip(a, w)])
            # Of equal singular values, the vectors pass what turns all of them together.
            gradient[0] = (w[0] - w[0].T) / real(2) + 3 * np.diag(np.diag(w[0])).astype(real)
            identity = f"cube{size}_{name}"
            yield case(f"svd{size}_{name}", len(a), args | {"cube.grad": w}, {"a.grad": gradient}, 30 * eps, 30 * eps, identity)
            # The polar factor divides by sums of singular values alone, so that it is right at equal ones too.
            gradient = np.array([pulled_back(polar, *row) for row in zip(a, w)])
            identity = f"polar{size}_{name}"
            yield case(f"svd{size}_{name}", len(a), args | {"polar.grad": w}, {"a.grad": gradient}, 60 * eps, 60 * eps, identity)

            # Bodies at rest, turned: values that are equal but for rounding, all of them or two. With adjoints of full size half of the
            # digits are right, however close the values are.
            turns = [np.linalg.qr(random.normal(size=(size, size)))[0] for _ in range(4)]
            turns = [turn * np.append(np.ones(size - 1), np.linalg.det(turn)) for turn in turns]
            pair = np.diag([3.0, 1.0, 1.0][-size:])
            near = distances * random.normal(size=(size, size))
            a = np.concatenate([1.7 * turns[0] + near, turns[1] @ pair @ turns[2] + near, 0.3 * turns[3] + near]).astype(dtype)
            w = random.normal(size=a.shape).astype(dtype)
            args = {"a": a, "cube": np.zeros_like(a), "polar": np.zeros_like(a)}
            gradient = np.array([pulled_back(polar, *row) for row in zip(a, w)])
            identity = f"at_rest{size}_{name}"
            yield case(f"svd{size}_{name}", len(a), args | {"polar.grad": w}, {"a.grad": gradient}, 4 * eps**0.5, 4 * eps**0.5, identity)

        # A first column of length `distance`; a column of zeros leaves open where it turns.
        a = random.normal(size=(len(DISTANCES), 3, 3))
        a[:, :, 0] *= distances[:, 0]
        w = (random.normal(size=(1, 3, 3)) * scale).astype(dtype)
        gradient = w.copy()
        gradient[0, 1:, 0] = 0.0
        args = {"a": a.astype(dtype), "y": np.zeros_like(a), "y.grad": w}
        yield case(f"qr_{name}", len(a), args, {"a.grad": gradient}, 30 * eps, 30 * eps)

        # Of rank 2 + distance, then of rank 1 + distance.
        rows = []
        for rank in [2, 1]:
            for distance in DISTANCES:
                u, v = (np.linalg.qr(random.normal(size=(3, 3)))[0] for _ in range(2))
                sizes = np.where(np.arange(3) < rank, 1.0, distance)
                rows.append((u * sizes) @ v if distance else np.diag(sizes))
        a = np.array(rows).astype(dtype)
        zero = {"a": a, "inverse": np.zeros_like(a), "determinant": np.zeros(len(a))}
        args = zero | {"determinant.grad": 2 * np.ones(len(a))}
        gradient = [2 * adjugate(m.astype(real)).T for m in a]
        yield case(f"singular_{name}", len(a), args, {"a.grad": gradient}, 20 * eps, 20 * eps, f"determinant_{name}")
        # The inverse has the condition 1 / distance, and its gradient is divided by the square.
        few = [n for n, d in enumerate(DISTANCES) if d == 0 or d >= 1e-4 or name == "double"]
        w = (random.normal(size=(1, 3, 3)) * scale**3).astype(dtype)[few]
        inverses = [inverse(a[n].astype(real)).T if DISTANCES[n] else np.zeros((3, 3)) for n in few]
        gradient = [-(t @ weights @ t) for t, weights in zip(inverses, w.astype(real))]
        args = {key: value[few] for key, value in zero.items()} | {"inverse.grad": w}
        yield case(f"singular_{name}", len(few), args, {"a.grad": gradient}, 0.0, 400 * eps, f"inverse_{name}")


def cosines(random):
    def cosine(a, b):
        return (a @ b) / np.sqrt((a @ a) * (b @ b))

    def slope(a, b, weight):
        """By `a`: the unit vector along `b` without its part along `a`, over the length of `a`."""
        size, unit = np.sqrt(a @ a), b / np.sqrt(b @ b)
        return weight * (unit - a * (a @ unit) / (a @ a)) / size

    for name, dtype, eps in types():
        # Of any direction, nearly parallel and nearly opposite, and exactly so: near 1 rounding is as large as what is left.
        a = random.normal(size=(3 * len(DISTANCES), 3)).astype(dtype)
        side = np.repeat([1.0, -2.0], len(DISTANCES))[:, None]
        near = side * (a[len(DISTANCES):] + np.tile(DISTANCES, 2)[:, None] * random.normal(size=(len(side), 3)))
        b = np.concatenate([random.normal(size=(len(DISTANCES), 3)), near]).astype(dtype)
        w = random.uniform(0.5, 2.0, len(a)).astype(dtype)
        rows = list(zip(a.astype(real), b.astype(real), w.astype(real)))
        by_a = np.array([slope(x, y, s) for x, y, s in rows])
        by_b = np.array([slope(y, x, s) for x, y, s in rows])
        assert np.allclose(by_a, [pulled_back(lambda p: cosine(p, y), x, s) for x, y, s in rows], rtol=0, atol=1e-11)
        # The longest and the shortest have gradients that are as short and as long.
        far = 60 if name == "float" else 500
        for power in [0, far, -far]:
            scale = np.ldexp(dtype(1), power)
            args = {"a": a * scale, "b": b, "y": np.zeros(len(a)), "y.grad": w}
            unit = np.min(np.sqrt(np.sum(np.square(a.astype(real)), axis=1)))
            expect = {"a.grad": by_a / real(scale)}
            yield case(f"cosines_{name}", len(a), args, expect, 0.0, float(30 * eps / unit / scale), f"cosine_{name}_by_{power}")
            args = {"a": b, "b": a * scale, "y": np.zeros(len(a)), "y.grad": w}
            expect = {"a.grad": by_b}
            yield case(f"cosines_{name}", len(a), args, expect, 0.0, 60 * eps, f"cosine_{name}_beside_{power}")
        # The zero vector has no direction: nothing for it, and nothing for the other one, whose cosine with it is 0 anywhere.
        none = np.zeros(3)
        args = {"a": np.array([none, [1, 2, 3], none, -none]), "b": np.array([[1, 2, 3], none, none, [1e-30, 0, 1e30]])}
        nothing = np.zeros((4, 3))
        args |= {"y": np.ones(4), "y.grad": np.array([1, 2, 3, 4])}
        yield case(f"cosines_{name}", 4, args, {"y": np.zeros(4), "a.grad": nothing, "b.grad": nothing}, 0.0, 0.0, f"cosine_{name}_of_none")


def scalars(random):
    for name, dtype, eps in types():
        sizes = np.array(DISTANCES + [1e-25, 1e-18, 1e18, 1e25])
        v = (random.normal(size=(len(sizes), 2)) * sizes[:, None]).astype(dtype)
        x, y = v.astype(real).T
        square = np.where(sizes > 0, x * x + y * y, 1)
        expect = {"v.grad": np.stack([-y / square, x / square], axis=1)}
        yield case(f"angles_{name}", len(v), {"v": v, "y": np.zeros(len(v)), "y.grad": np.ones(len(v))}, expect, 8 * eps, 0.0)

        away = np.array(DISTANCES + [0.5, 1.0])
        x = np.concatenate([1 - away, away - 1, [1.5, -1.5]]).astype(dtype)
        exact = x.astype(real)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(np.abs(exact) >= 1, 0, 1 / np.sqrt((1 - exact) * (1 + exact)))
        args = {"x": x, "c": np.zeros_like(x), "s": np.zeros_like(x)}
        for result, side in [("c", -1), ("s", 1)]:
            seeds = {f"{result}.grad": 3 * np.ones_like(x)}
            yield case(f"arcs_{name}", len(x), args | seeds, {"x.grad": side * 3 * slope}, 8 * eps, 0.0, f"arc_{result}_{name}")

        rows = [
            # x, p, d/dx, d/dp
            (0.0, 0.0, 0.0, -np.inf), (0.0, 1.0, 1.0, 0.0), (0.0, 2.0, 0.0, 0.0), (0.0, 0.5, np.inf, 0.0),
            (1.0, 0.0, 0.0, 0.0), (1.0, 3.0, 3.0, 0.0), (2.0, 0.0, 0.0, np.log(real(2))), (-2.0, 3.0, 12.0, np.nan),
            (1e-7, 2.0, 2e-7, 1e-14 * np.log(real(1e-7))), (1e-7, 1.0, 1.0, 1e-7 * np.log(real(1e-7))),
        ]
        x, p, by_x, by_p = (np.array(column) for column in zip(*rows))
        args = {"x": x.astype(dtype), "p": p.astype(dtype), "y": np.zeros_like(x, dtype), "y.grad": np.ones_like(x, dtype)}
        yield case(f"powers_{name}", len(x), args, {"x.grad": by_x, "p.grad": by_p}, 4e-7 if name == "float" else 1e-15, 0.0)

        v = (random.normal(size=(len(DISTANCES), 3)) * np.array(DISTANCES)[:, None]).astype(dtype)
        w = (random.normal(size=v.shape) * np.array(DISTANCES)[:, None]).astype(dtype)
        exact, weights = v.astype(real), w.astype(real)
        length = np.sqrt(np.sum(exact * exact, axis=1, keepdims=True))
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = np.where(length > 0, exact / length, 0)
            across = np.where(length > 0, (weights - unit * np.sum(unit * weights, axis=1, keepdims=True)) / length, 0)
        zero = {"v": v, "y": np.zeros(len(v)), "n": np.zeros_like(v)}
        yield case(f"lengths_{name}", len(v), zero | {"y.grad": np.ones(len(v))}, {"v.grad": unit}, 8 * eps, 8 * eps, f"length_{name}")
        yield case(f"lengths_{name}", len(v), zero | {"n.grad": w}, {"v.grad": across}, 8 * eps, 8 * eps, f"normalize_{name}")

    x = np.array([1.5, -2.0, 0.25], np.float32)
    yield case("bits", 3, {"x": x, "y": 0 * x, "y.grad": np.ones(3)}, {"y": x * x, "x.grad": 2 * x})

    # At a bound: to the left one of equal values in min(max(low, x), high). A NaN loses, and gets nothing.
    nan = np.nan
    rows = [
        # x, low, high: who has the adjoint
        (0.5, 0.0, 1.0, "x"), (0.0, 0.0, 1.0, "low"), (1.0, 0.0, 1.0, "x"), (-0.5, 0.0, 1.0, "low"), (1.5, 0.0, 1.0, "high"),
        (0.5, 0.5, 0.5, "low"), (0.3, 0.5, 0.5, "low"), (0.7, 0.5, 0.5, "high"), (0.5, 1.0, 0.0, "high"), (-0.0, 0.0, 1.0, "low"),
        (nan, 0.0, 1.0, "low"), (0.5, nan, 1.0, "x"), (0.5, 0.0, nan, "x"), (nan, nan, 1.0, "high"), (nan, 1.0, nan, "low"),
    ]
    columns = list(zip(*rows))
    args = {name: np.array(values, np.float32) for name, values in zip(["x", "low", "high"], columns)}
    args |= {"y": np.zeros(len(rows)), "y.grad": 2 * np.ones(len(rows))}
    expect = {f"{name}.grad": [2.0 * (owner == name) for owner in columns[3]] for name in ["x", "low", "high"]}
    yield case("limits", len(rows), args, expect)
    yield case("limits_written_out", len(rows), args, expect)

    x = np.array([0.0, -0.0, 0.0, 1.5, -2.0, 1.0, nan, 1.0], np.float32)
    z = np.array([0.0, 0.0, -0.0, 1.5, -2.0, 2.0, 1.0, nan], np.float32)
    args = {"x": x, "z": z, "least": 0 * x, "most": 0 * x, "size": 0 * x}
    ones, left = np.ones(len(x)), np.array([1, 1, 1, 1, 1, 1, 0, 1])
    most = np.array([1, 1, 1, 1, 1, 0, 0, 1])
    yield case("ties", len(x), args | {"least.grad": ones}, {"x.grad": left, "z.grad": 1 - left}, id="ties_min")
    yield case("ties", len(x), args | {"most.grad": ones}, {"x.grad": most, "z.grad": 1 - most}, id="ties_max")
    yield case("ties", 6, {k: v[:6] for k, v in args.items()} | {"size.grad": ones[:6]}, {"x.grad": [0, 0, 0, 1, -1, 1], "z.grad": np.zeros(6)}, id="ties_abs")
