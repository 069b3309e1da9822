"""Decompositions of matrices of any size, graded or of lower rank, and their gradients: by their factors and numpy."""

import numpy as np
import warp as wp


# Residuals are divided by the size of the matrix: they are in units of rounding, whatever it is.
@wp.kernel
def decompositions_float(a: wp.array(dtype=wp.mat33), size: wp.array(dtype=wp.float64), sigma: wp.array(dtype=wp.vec3d), rest: wp.array2d(dtype=wp.mat33d), turned: wp.array2d(dtype=wp.mat33d)):
    i = wp.tid()
    A = wp.mat33d(a[i]) / size[i]
    u, s, v = wp.svd3(a[i])
    sigma[i] = wp.vec3d(s) / size[i]
    U = wp.mat33d(u)
    V = wp.mat33d(v)
    rest[i, 0] = U * wp.diag(sigma[i]) * wp.transpose(V) - A
    turned[i, 0] = wp.transpose(U) * U
    turned[i, 1] = wp.transpose(V) * V
    q, r = wp.qr3(a[i])
    Q = wp.mat33d(q)
    rest[i, 1] = Q * (wp.mat33d(r) / size[i]) - A
    turned[i, 2] = wp.transpose(Q) * Q
    e, d = wp.eig3(a[i])
    E = wp.mat33d(e)
    rest[i, 2] = E * wp.diag(wp.vec3d(d) / size[i]) * wp.transpose(E) - (A + wp.transpose(A)) * wp.float64(0.5)
    turned[i, 3] = wp.transpose(E) * E


@wp.kernel
def decompositions_double(a: wp.array(dtype=wp.mat33d), size: wp.array(dtype=wp.float64), sigma: wp.array(dtype=wp.vec3d), rest: wp.array2d(dtype=wp.mat33d), turned: wp.array2d(dtype=wp.mat33d)):
    i = wp.tid()
    A = a[i] / size[i]
    U, s, V = wp.svd3(a[i])
    sigma[i] = s / size[i]
    rest[i, 0] = U * wp.diag(sigma[i]) * wp.transpose(V) - A
    turned[i, 0] = wp.transpose(U) * U
    turned[i, 1] = wp.transpose(V) * V
    Q, r = wp.qr3(a[i])
    rest[i, 1] = Q * (r / size[i]) - A
    turned[i, 2] = wp.transpose(Q) * Q
    E, d = wp.eig3(a[i])
    rest[i, 2] = E * wp.diag(d / size[i]) * wp.transpose(E) - (A + wp.transpose(A)) * wp.float64(0.5)
    turned[i, 3] = wp.transpose(E) * E


@wp.kernel
def small_decompositions(a: wp.array(dtype=wp.mat22), size: wp.array(dtype=wp.float64), sigma: wp.array(dtype=wp.vec2d), rest: wp.array(dtype=wp.mat22d), turned: wp.array2d(dtype=wp.mat22d)):
    i = wp.tid()
    u, s, v = wp.svd2(a[i])
    U = wp.mat22d(u)
    V = wp.mat22d(v)
    sigma[i] = wp.vec2d(s) / size[i]
    rest[i] = U * wp.diag(sigma[i]) * wp.transpose(V) - wp.mat22d(a[i]) / size[i]
    turned[i, 0] = wp.transpose(U) * U
    turned[i, 1] = wp.transpose(V) * V


@wp.kernel
def no_numbers(a: wp.array(dtype=wp.mat33), out: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    U, s, V = wp.svd3(a[i])
    Q, R = wp.qr3(a[i])
    E, d = wp.eig3(a[i])
    u, t, v = wp.svd2(wp.mat22(a[i][0, 0], 1.0, 2.0, 3.0))
    out[i, 0] = s
    out[i, 1] = U[0] + V[1] + U[2]
    out[i, 2] = d
    out[i, 3] = Q[0] + E[2]
    out[i, 4] = wp.vec3(R[0, 0], R[1, 1], R[2, 2])
    out[i, 5] = wp.vec3(t[1], u[0, 0], v[1, 1])


@wp.kernel
def slopes_of_values(a: wp.array(dtype=wp.mat33), s: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    U, S, V = wp.svd3(a[i])
    s[i] = S


@wp.kernel
def slopes_of_qr(a: wp.array(dtype=wp.mat33), q: wp.array(dtype=wp.mat33), r: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    Q, R = wp.qr3(a[i])
    q[i] = Q
    r[i] = R


def scaled(n, dtype, rng):
    """Matrices of every scale, graded, with equal singular values, and of lower rank."""
    low, high = (-40, 37) if dtype == np.float32 else (-300, 300)
    a = rng.normal(size=(120, n, n))
    a[10:20] *= 10.0 ** np.array([0, -4, -8])[:n, None]
    a[20:30] *= 10.0 ** np.array([0, -4, -8])[:n]
    a[30:40, 1] = 3 * a[30:40, 0]
    a[40:45] = a[40:45, :1]
    a[45] = 0
    a[46:50] = np.eye(n)
    a[50:60] = np.array([np.linalg.qr(x)[0] for x in a[50:60]])
    powers = np.linspace(low, high, 120).round()
    return (a * 10.0 ** powers[:, None, None]).astype(dtype)


def decomposed(n, dtype, rng):
    a = scaled(n, dtype, rng)
    wide = a.astype(np.float64)
    size = np.maximum(np.abs(wide).max((1, 2)), np.finfo(dtype).smallest_subnormal)
    ratio = wide / size[:, None, None]
    sigma = np.linalg.svd(ratio, compute_uv=False)
    if n == 3:
        # The third has the sign of the determinant: of rounding where that is 0.
        sigma[:, 2] *= np.where(np.linalg.det(ratio) < 0, -1, 1)
    return a, size, sigma


def cases():
    rng = np.random.default_rng(11)
    for kernel, dtype in (("decompositions_float", np.float32), ("decompositions_double", np.float64)):
        a, size, sigma = decomposed(3, dtype, rng)
        n, atol = len(a), 50 * np.finfo(dtype).eps
        # Below the normal numbers, a matrix has fewer digits itself.
        rough = size < 1e-34
        args = dict(a=a, size=size, sigma=np.zeros((n, 3)), rest=np.zeros((n, 3, 3, 3)), turned=np.zeros((n, 4, 3, 3)))
        eye = np.broadcast_to(np.eye(3), (n, 4, 3, 3))
        for part, name in ((~rough, kernel), (rough, kernel + "_subnormal")):
            if dtype == np.float64 and part is rough:
                continue
            part = part if dtype == np.float32 else np.full(n, True)
            given = {k: v[part] for k, v in args.items()}
            expect = dict(sigma=sigma[part], rest=given["rest"], turned=eye[part])
            loose = atol if name == kernel else 3e-45 / size[part].min() + atol
            yield case(kernel, int(part.sum()), given, expect, rtol=0, atol=loose, id=name)
    a, size, sigma = decomposed(2, np.float32, rng)
    good = size > 1e-34
    a, size, sigma, n = a[good], size[good], sigma[good], int(good.sum())
    args = dict(a=a, size=size, sigma=np.zeros((n, 2)), rest=np.zeros((n, 2, 2)), turned=np.zeros((n, 2, 2, 2)))
    expect = dict(sigma=sigma, rest=np.zeros((n, 2, 2)), turned=np.broadcast_to(np.eye(2), (n, 2, 2, 2)))
    yield case("small_decompositions", n, args, expect, rtol=0, atol=2e-6)
    a = np.tile(rng.normal(size=(3, 3)), (4, 1, 1)).astype(np.float32)
    a[:, 0, 0] = [np.nan, np.inf, -np.inf, np.nan]
    yield case("no_numbers", 4, dict(a=a, out=np.zeros((4, 6, 3))), dict(out=np.full((4, 6, 3), np.nan)))

    # Gradients: closed forms, of matrices whose squares no float32 holds.
    power = 10.0 ** np.array([-27, -20, 0, 15, 20, 30])
    base = rng.normal(size=(6, 3, 3)) + 2 * np.eye(3)
    a = (base * power[:, None, None]).astype(np.float32)
    g, h = rng.normal(size=(2, 6, 3, 3)).astype(np.float32)
    wide = a.astype(np.float64)
    u, s, v = np.linalg.svd(wide / power[:, None, None])
    s[:, 2] *= np.sign(np.linalg.det(base))
    weights = rng.normal(size=(6, 3)).astype(np.float32)
    signs = np.where(np.arange(3) == 2, np.sign(np.linalg.det(base))[:, None], 1)
    want = np.einsum("nik,nk,nkj->nij", u, weights * signs, v)
    args = dict(a=a, s=np.zeros((6, 3)), **{"a.grad": a * 0, "s.grad": weights})
    yield case("slopes_of_values", 6, args, {"a.grad": want}, rtol=1e-4, atol=1e-5)
    q, r = np.linalg.qr(wide / power[:, None, None])
    flip = np.sign(np.einsum("nii->ni", r))
    flip[:, 2] = flip[:, 0] * flip[:, 1] * np.linalg.det(q).round()
    q, r = q * flip[:, None, :], r * flip[:, :, None]
    # The adjoint of Q is times the size of the matrix: both parts of the gradient are of one size.
    h = np.triu(h)
    m = r @ h.swapaxes(1, 2) - g.swapaxes(1, 2) @ q
    m = np.tril(m) + np.tril(m, -1).swapaxes(1, 2)
    want = (g + q @ m) @ np.linalg.inv(r).swapaxes(1, 2)
    adjoint = (g * power[:, None, None]).astype(np.float32)
    args = dict(a=a, q=a * 0, r=a * 0, **{"a.grad": a * 0, "q.grad": adjoint, "r.grad": h})
    yield case("slopes_of_qr", 6, args, {"a.grad": want}, rtol=1e-3, atol=1e-3)
