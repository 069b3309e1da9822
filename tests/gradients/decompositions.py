"""Decompositions of matrices, inverses and rotations, whose second derivatives go through their rules."""

import warp as wp


@wp.kernel
def svd(a: wp.array(dtype=wp.mat33d), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    u = wp.mat33d()
    s = wp.vec3d()
    v = wp.mat33d()
    wp.svd3(a[i], u, s, v)
    o[i] = s[0] * s[1] + s[2] + u[0, 1] * v[1, 1]


@wp.kernel
def qr(a: wp.array(dtype=wp.mat33d), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    q = wp.mat33d()
    r = wp.mat33d()
    wp.qr3(a[i], q, r)
    o[i] = q[0, 1] * r[0, 0] + r[1, 2]


@wp.kernel
def eig(a: wp.array(dtype=wp.mat33d), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    q = wp.mat33d()
    d = wp.vec3d()
    m = a[i] + wp.transpose(a[i])
    wp.eig3(m, q, d)
    o[i] = d[0] * d[1] + d[2]


@wp.kernel
def det(a: wp.array(dtype=wp.mat33d), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    m = wp.inverse(a[i])
    o[i] = wp.determinant(a[i]) + m[0, 1] * m[2, 2]


@wp.kernel
def rot(a: wp.array(dtype=wp.vec3d), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    q = wp.quat_between_vectors(a[i], wp.vec3d(wp.float64(0.3), wp.float64(-1.0), wp.float64(0.7)))
    r = wp.quat_to_rpy(q)
    o[i] = q[0] * q[3] + r[0] + r[1] * r[2] + wp.asin(wp.float64(0.1) * a[i][0])


@wp.kernel
def svdtwo(a: wp.array(dtype=wp.mat22d), o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    u = wp.mat22d()
    s = wp.vec2d()
    v = wp.mat22d()
    wp.svd2(a[i], u, s, v)
    o[i] = s[0] * s[1] + s[1] + u[0, 1] * v[1, 1]
