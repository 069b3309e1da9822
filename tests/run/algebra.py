"""Built-ins on vectors, matrices, quaternions and transforms, against numpy in double precision."""

import numpy as np
import warp as wp


@wp.kernel
def vector_functions(a: wp.array(dtype=wp.vec4), b: wp.array(dtype=wp.vec4), vectors: wp.array2d(dtype=wp.vec4), scalars: wp.array2d(dtype=float)):
    i = wp.tid()
    vectors[i, 0] = wp.cw_mul(a[i], b[i])
    vectors[i, 1] = wp.cw_div(a[i], b[i])
    vectors[i, 2] = wp.min(a[i], b[i])
    vectors[i, 3] = wp.max(a[i], b[i])
    vectors[i, 4] = wp.abs(a[i])
    vectors[i, 5] = wp.sign(a[i])
    vectors[i, 6] = wp.lerp(a[i], b[i], 0.25)
    vectors[i, 7] = wp.normalize(a[i])
    vectors[i, 8] = wp.normalize(a[i] * 0.0)
    vectors[i, 9] = wp.smooth_normalize(a[i], 2.0)
    vectors[i, 10] = 2.0 / b[i]
    scalars[i, 0] = wp.dot(a[i], b[i])
    scalars[i, 1] = wp.length(a[i])
    scalars[i, 2] = wp.length_sq(a[i])
    scalars[i, 3] = wp.norm_l1(a[i])
    scalars[i, 4] = wp.norm_huber(a[i], 1.5)
    scalars[i, 5] = wp.norm_pseudo_huber(a[i])
    scalars[i, 6] = wp.min(a[i])
    scalars[i, 7] = wp.max(a[i])
    scalars[i, 8] = float(wp.argmin(a[i]))
    scalars[i, 9] = float(wp.argmax(a[i]))


@wp.kernel
def matrix_functions(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.mat33), vectors: wp.array2d(dtype=wp.vec3), scalars: wp.array2d(dtype=float)):
    i = wp.tid()
    out[i, 0] = a[i] * b[i]
    out[i, 1] = wp.transpose(a[i])
    out[i, 2] = wp.inverse(a[i])
    out[i, 3] = wp.outer(v[i], a[i][0])
    out[i, 4] = wp.skew(v[i])
    out[i, 5] = wp.diag(v[i])
    out[i, 6] = wp.matrix_from_cols(v[i], a[i][0], b[i][1])
    out[i, 7] = wp.matrix_from_rows(v[i], a[i][0], b[i][1])
    out[i, 8] = wp.identity(n=3, dtype=float) + wp.cw_mul(a[i], b[i])
    vectors[i, 0] = a[i] @ v[i]
    vectors[i, 1] = v[i] * a[i]
    vectors[i, 2] = wp.get_diag(a[i])
    vectors[i, 3] = wp.cross(v[i], a[i][2])
    scalars[i, 0] = wp.determinant(a[i])
    scalars[i, 1] = wp.trace(a[i])
    scalars[i, 2] = wp.ddot(a[i], b[i])


@wp.kernel
def inverses(m: wp.array(dtype=wp.mat44d), inverse: wp.array(dtype=wp.mat44d), determinant: wp.array(dtype=wp.float64), small: wp.array(dtype=wp.mat22d)):
    i = wp.tid()
    inverse[i] = wp.inverse(m[i])
    determinant[i] = wp.determinant(m[i])
    small[i] = wp.inverse(wp.mat22d(m[i][0, 0], m[i][0, 1], m[i][1, 0], m[i][1, 1]))


@wp.kernel
def rotations(axis: wp.array(dtype=wp.vec3), angle: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), matrix: wp.array(dtype=wp.mat33), turned: wp.array2d(dtype=wp.vec3), scalars: wp.array2d(dtype=float)):
    i = wp.tid()
    q = wp.quat_from_axis_angle(axis[i], angle[i])
    matrix[i] = wp.quat_to_matrix(q)
    turned[i, 0] = wp.quat_rotate(q, v[i])
    turned[i, 1] = wp.quat_rotate_inv(q, v[i])
    turned[i, 2] = wp.quat_rotate(wp.quat_inverse(q) * q, v[i])
    turned[i, 3] = wp.quat_rotate(wp.quat_from_matrix(matrix[i]), v[i])
    turned[i, 4] = wp.quat_rotate(wp.quat_slerp(wp.quat_identity(), q, 0.5), v[i])
    e = wp.quat_to_euler(q, 2, 0, 1)
    turned[i, 5] = wp.quat_rotate(wp.quat_from_euler(e, 2, 0, 1), v[i])
    r = wp.quat_to_rpy(q)
    turned[i, 6] = wp.quat_rotate(wp.quat_rpy(r[0], r[1], r[2]), v[i])
    back = wp.vec3()
    by = float(0.0)
    wp.quat_to_axis_angle(q, back, by)
    turned[i, 7] = back
    scalars[i, 0] = by
    scalars[i, 1] = wp.quat_twist_angle_signed(axis[i], q)
    scalars[i, 2] = wp.length(q)


@wp.kernel
def transforms(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.quat), x: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3), matrix: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    t = wp.transform(p[i], q[i])
    out[i, 0] = wp.transform_point(t, x[i])
    out[i, 1] = wp.transform_vector(t, x[i])
    out[i, 2] = wp.transform_point(wp.transform_inverse(t), out[i, 0])
    out[i, 3] = wp.transform_point(t * t, x[i])
    matrix[i] = wp.transform_to_matrix(t)
    out[i, 4] = wp.transform_point(matrix[i], x[i])
    out[i, 5] = wp.transform_get_translation(wp.transform_from_matrix(matrix[i]))
    wp.transform_set_translation(t, x[i])
    out[i, 6] = wp.transform_point(t, x[i])
    position, rotation, scale = wp.transform_decompose(wp.transform_compose(p[i], q[i], wp.vec3(1.0, 2.0, 3.0)))
    out[i, 7] = position + scale
    out[i, 8] = wp.quat_rotate(rotation, x[i])


@wp.kernel
def spatial(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3), power: wp.array(dtype=float)):
    i = wp.tid()
    x = wp.spatial_vector(a[i], b[i])
    y = wp.spatial_vector(c[i], d[i])
    power[i] = wp.spatial_dot(x, y)
    cross = wp.spatial_cross(x, y)
    dual = wp.spatial_cross_dual(x, y)
    out[i, 0] = wp.spatial_top(cross)
    out[i, 1] = wp.spatial_bottom(cross)
    out[i, 2] = wp.spatial_top(dual)
    out[i, 3] = wp.spatial_bottom(dual)
    out[i, 4] = wp.velocity_at_point(x, c[i])


def rotate(q, v):
    u, w = q[..., :3], q[..., 3:]
    return v + 2.0 * np.cross(u, np.cross(u, v) + w * v)


def cases():
    rng = np.random.default_rng(5)
    f64 = lambda *arrays: (a.astype(np.float64) for a in arrays)  # noqa: E731
    n = 50
    a, b = rng.normal(size=(2, n, 4)).astype(np.float32)
    x, y = f64(a, b)
    norm = np.linalg.norm(x, axis=1)
    dot = (x * x).sum(1)
    pseudo = np.sqrt(1.0 + dot)
    huber = np.where(dot <= 2.25, 0.5 * dot, 1.5 * (norm - 0.75))
    vectors = [x * y, x / y, np.minimum(x, y), np.maximum(x, y), np.abs(x), np.where(x < 0, -1, 1), 0.75 * x + 0.25 * y,
               x / norm[:, None], 0 * x, x / (2.0 * np.sqrt(1.0 + dot / 4.0))[:, None], 2.0 / y]
    scalars = [(x * y).sum(1), norm, dot, np.abs(x).sum(1), huber, pseudo, x.min(1), x.max(1), x.argmin(1), x.argmax(1)]
    args = dict(a=a, b=b, vectors=np.zeros((n, 11, 4)), scalars=np.zeros((n, 10)))
    yield case("vector_functions", n, args, dict(vectors=np.stack(vectors, 1), scalars=np.stack(scalars, 1)), rtol=2e-6, atol=2e-6)

    a, b = rng.normal(size=(2, n, 3, 3)).astype(np.float32)
    v = rng.normal(size=(n, 3)).astype(np.float32)
    x, y, w = f64(a, b, v)
    zero = np.zeros(n)
    skew = np.stack([zero, -w[:, 2], w[:, 1], w[:, 2], zero, -w[:, 0], -w[:, 1], w[:, 0], zero], 1).reshape(n, 3, 3)
    rows = np.stack([w, x[:, 0], y[:, 1]], 1)
    matrices = [x @ y, x.swapaxes(1, 2), np.linalg.inv(x), w[:, :, None] * x[:, :1], skew, np.eye(3) * w[:, None], rows.swapaxes(1, 2), rows, np.eye(3) + x * y]
    vectors = [np.einsum("nij,nj->ni", x, w), np.einsum("ni,nij->nj", w, x), np.einsum("nii->ni", x), np.cross(w, x[:, 2])]
    scalars = [np.linalg.det(x), np.einsum("nii->n", x), (x * y).sum((1, 2))]
    args = dict(a=a, b=b, v=v, out=np.zeros((n, 9, 3, 3)), vectors=np.zeros((n, 4, 3)), scalars=np.zeros((n, 3)))
    yield case("matrix_functions", n, args, dict(out=np.stack(matrices, 1), vectors=np.stack(vectors, 1), scalars=np.stack(scalars, 1)), rtol=2e-4, atol=1e-5)

    m = rng.normal(size=(n, 4, 4))
    args = dict(m=m, inverse=np.zeros((n, 4, 4)), determinant=np.zeros(n), small=np.zeros((n, 2, 2)))
    yield case("inverses", n, args, dict(inverse=np.linalg.inv(m), determinant=np.linalg.det(m), small=np.linalg.inv(m[:, :2, :2])), rtol=1e-10, atol=1e-10)
    # A singular matrix has the inverse zero.
    args = dict(m=np.zeros((2, 4, 4)), inverse=np.ones((2, 4, 4)), determinant=np.ones(2), small=np.ones((2, 2, 2)))
    yield case("inverses", 2, args, dict(inverse=np.zeros((2, 4, 4)), determinant=np.zeros(2), small=np.zeros((2, 2, 2))), id="inverses_singular")

    axis = rng.normal(size=(n, 3))
    axis = (axis / np.linalg.norm(axis, axis=1, keepdims=True)).astype(np.float32)
    angle = rng.uniform(0.1, 3.0, size=n).astype(np.float32)
    v = rng.normal(size=(n, 3)).astype(np.float32)
    k, t, w = f64(axis, angle, v)
    turn = lambda t: np.concatenate([k * np.sin(t / 2)[:, None], np.cos(t / 2)[:, None]], 1)  # noqa: E731
    q = turn(t)
    matrix = np.stack([rotate(q, np.tile(e, (n, 1))) for e in np.eye(3)], 2)
    there = rotate(q, w)
    turned = [there, rotate(turn(-t), w), w, there, rotate(turn(t / 2), w), there, there, k]
    args = dict(axis=axis, angle=angle, v=v, matrix=np.zeros((n, 3, 3)), turned=np.zeros((n, 8, 3)), scalars=np.zeros((n, 3)))
    yield case("rotations", n, args, dict(matrix=matrix, turned=np.stack(turned, 1), scalars=np.stack([t, t, 0 * t + 1], 1)), rtol=1e-5, atol=2e-5)

    p = rng.normal(size=(n, 3)).astype(np.float32)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    q32 = q.astype(np.float32)
    p64, x64 = f64(p, x)
    point = rotate(q, x64) + p64
    matrix44 = np.zeros((n, 4, 4))
    matrix44[:, :3, :3], matrix44[:, :3, 3], matrix44[:, 3, 3] = matrix, p64, 1
    vector = rotate(q, x64)
    out = [point, vector, x64, rotate(q, point) + p64, point, p64, vector + x64, p64 + np.array([1, 2, 3]), vector]
    args = dict(p=p, q=q32, x=x, out=np.zeros((n, 9, 3)), matrix=np.zeros((n, 4, 4)))
    yield case("transforms", n, args, dict(out=np.stack(out, 1), matrix=matrix44), rtol=1e-5, atol=1e-5)

    a, b, c, d = rng.normal(size=(4, n, 3)).astype(np.float32)
    u, v, w, x = f64(a, b, c, d)
    out = [np.cross(u, w), np.cross(v, w) + np.cross(u, x), np.cross(u, w) + np.cross(v, x), np.cross(u, x), v + np.cross(u, w)]
    args = dict(a=a, b=b, c=c, d=d, out=np.zeros((n, 5, 3)), power=np.zeros(n))
    yield case("spatial", n, args, dict(out=np.stack(out, 1), power=(u * w + v * x).sum(1)), rtol=1e-5, atol=1e-5)
