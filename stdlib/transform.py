# Rigid transforms (a translation `p` and a rotation `q`; `a * b` applies `b` first) and 6-vectors
# of rigid body mechanics: a twist is (angular, linear) velocity, a wrench is (torque, force).


# ---- Transforms
# ---------------------------------------------------------------------------------------------------------


@func
def transform_get_translation(xform: Transform[Float]) -> Vec[3, Float]:
    """The translation of `xform`."""
    return xform.p


@func
def transform_get_rotation(xform: Transform[Float]) -> Quat[Float]:
    """The rotation of `xform`."""
    return xform.q


@func
def transform_set_translation(xform: ref[Transform[Float]], p: Vec[3, Float]):
    """Sets the translation of `xform` to `p`."""
    xform.p = p


@func
def transform_set_rotation(xform: ref[Transform[Float]], q: Quat[Float]):
    """Sets the rotation of `xform` to `q`."""
    xform.q = q


@func
def transform_multiply(a: Transform[Float], b: Transform[Float]) -> Transform[Float]:
    """The transform that applies `b`, then `a`."""
    return Transform[Float](quat_rotate(a.q, b.p) + a.p, a.q * b.q)


@func
def transform_inverse(xform: Transform[Float]) -> Transform[Float]:
    """The inverse of `xform`."""
    back = quat_inverse(xform.q)
    return Transform[Float](-quat_rotate(back, xform.p), back)


@func
def transform_point(xform: Transform[Float], point: Vec[3, Float]) -> Vec[3, Float]:
    """`point` rotated and translated by `xform`."""
    return xform.p + quat_rotate(xform.q, point)


@func
def transform_vector(xform: Transform[Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """`vec` rotated by `xform`."""
    return quat_rotate(xform.q, vec)


@func
def transform_point(mat: Mat[4, 4, Float], point: Vec[3, Float]) -> Vec[3, Float]:
    """The first three components of `mat` times `(point, 1)`."""
    r = mat * Vec[4, Float](point[0], point[1], point[2], Float(1.0))
    return Vec[3, Float](r[0], r[1], r[2])


@func
def transform_vector(mat: Mat[4, 4, Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """The first three components of `mat` times `(vec, 0)`."""
    r = mat * Vec[4, Float](vec[0], vec[1], vec[2], Float(0.0))
    return Vec[3, Float](r[0], r[1], r[2])


@func
def mul(a: Transform[Float], b: Transform[Float]) -> Transform[Float]:
    """The transform that applies `b`, then `a`."""
    return transform_multiply(a, b)


@op("add")
def add(a: Transform[Float], b: Transform[Float]) -> Transform[Float]:
    """`a + b`, component by component."""


@func_grad(add)
def _(a: Transform[Float], b: Transform[Float], adj_ret: Transform[Float]):
    adjoint[a] += adj_ret
    adjoint[b] += adj_ret


@op("sub")
def sub(a: Transform[Float], b: Transform[Float]) -> Transform[Float]:
    """`a - b`, component by component."""


@func_grad(sub)
def _(a: Transform[Float], b: Transform[Float], adj_ret: Transform[Float]):
    adjoint[a] += adj_ret
    adjoint[b] -= adj_ret


@func
def _dot(a: Transform[Float], b: Transform[Float]) -> Float:
    """The sum of the products of the components."""
    s = a[0] * b[0]
    for i in range(1, 7):
        s += a[i] * b[i]
    return s


@op("mul")
def mul(a: Transform[Float], b: Float) -> Transform[Float]:
    """`a * b`: each component of `a` times `b`."""


@func_grad(mul)
def _(a: Transform[Float], b: Float, adj_ret: Transform[Float]):
    adjoint[a] += adj_ret * b
    adjoint[b] += _dot(a, adj_ret)


@op("mul")
def mul(a: Float, b: Transform[Float]) -> Transform[Float]:
    """`a * b`: each component of `b` times `a`."""


@func_grad(mul)
def _(a: Float, b: Transform[Float], adj_ret: Transform[Float]):
    adjoint[a] += _dot(b, adj_ret)
    adjoint[b] += adj_ret * a


@func
def lerp(a: Transform[Float], b: Transform[Float], t: Float) -> Transform[Float]:
    """Linear interpolation of the components: `a * (1 - t) + b * t`."""
    return a * (Float(1.0) - t) + b * t


# ---- Matrices
# -----------------------------------------------------------------------------------------------------------


@func
def transform_from_matrix(mat: Mat[4, 4, Float]) -> Transform[Float]:
    """The transform with the rotation and translation of the homogeneous matrix `mat`."""
    return Transform[Float](Vec[3, Float](mat[0, 3], mat[1, 3], mat[2, 3]), quat_from_matrix(mat))


@func
def transform_to_matrix(xform: Transform[Float]) -> Mat[4, 4, Float]:
    """The homogeneous matrix of `xform`."""
    one = Float(1.0)
    return transform_compose(xform.p, xform.q, Vec[3, Float](one, one, one))


@func
def transform_compose(position: Vec[3, Float], rotation: Quat[Float], scale: Vec[3, Float]) -> Mat[4, 4, Float]:
    """The homogeneous matrix that scales along the axes, then rotates, then translates."""
    turn = quat_to_matrix(rotation)
    m = Mat[4, 4, Float]()
    for i in range(3):
        for j in range(3):
            m[i, j] = scale[j] * turn[i, j]
        m[i, 3] = position[i]
    m[3, 3] = Float(1.0)
    return m


@func
def transform_decompose(m: Mat[4, 4, Float]) -> tuple[Vec[3, Float], Quat[Float], Vec[3, Float]]:
    """Position, rotation and scale of the homogeneous matrix `m`, as `transform_compose` takes them."""
    scale = Vec[3, Float]()
    turn = Mat[3, 3, Float]()
    for j in range(3):
        column = Vec[3, Float](m[0, j], m[1, j], m[2, j])
        s = length(column)
        scale[j] = s
        if s != Float(0.0):
            column = column / s
        for i in range(3):
            turn[i, j] = column[i]
    return Vec[3, Float](m[0, 3], m[1, 3], m[2, 3]), quat_from_matrix(turn), scale


# ---- Spatial vectors
# ----------------------------------------------------------------------------------------------------


@func
def spatial_top(svec: Vec[6, Float]) -> Vec[3, Float]:
    """The first three components of `svec`: angular velocity or torque."""
    return Vec[3, Float](svec[0], svec[1], svec[2])


@func
def spatial_bottom(svec: Vec[6, Float]) -> Vec[3, Float]:
    """The last three components of `svec`: linear velocity or force."""
    return Vec[3, Float](svec[3], svec[4], svec[5])


@func
def _spatial(top: Vec[3, Float], bottom: Vec[3, Float]) -> Vec[6, Float]:
    """The 6-vector of two 3-vectors."""
    return Vec[6, Float](top[0], top[1], top[2], bottom[0], bottom[1], bottom[2])


@func
def spatial_dot(a: Vec[6, Float], b: Vec[6, Float]) -> Float:
    """Dot product of two 6-vectors: the power of a wrench along a twist."""
    return dot(a, b)


@func
def spatial_cross(a: Vec[6, Float], b: Vec[6, Float]) -> Vec[6, Float]:
    """Cross product of two twists: the rate of change of `b` in a frame that moves with `a`."""
    w = spatial_top(a)
    return _spatial(
        cross(w, spatial_top(b)), cross(spatial_bottom(a), spatial_top(b)) + cross(w, spatial_bottom(b))
    )


@func
def spatial_cross_dual(a: Vec[6, Float], b: Vec[6, Float]) -> Vec[6, Float]:
    """Cross product of the twist `a` and the wrench `b`: the rate of change of `b` in a frame that moves with `a`."""
    w = spatial_top(a)
    return _spatial(
        cross(w, spatial_top(b)) + cross(spatial_bottom(a), spatial_bottom(b)), cross(w, spatial_bottom(b))
    )


@func
def spatial_adjoint(r: Mat[3, 3, Float], s: Mat[3, 3, Float]) -> Mat[6, 6, Float]:
    """The 6x6 matrix with `r` in both diagonal blocks, `s` in the lower left and zeros in the upper right."""
    m = Mat[6, 6, Float]()
    for i in range(3):
        for j in range(3):
            m[i, j] = r[i, j]
            m[i + 3, j] = s[i, j]
            m[i + 3, j + 3] = r[i, j]
    return m


@func
def velocity_at_point(qd: Vec[6, Float], r: Vec[3, Float]) -> Vec[3, Float]:
    """Linear velocity at offset `r` from the origin of a body that moves with the twist `qd`."""
    return spatial_bottom(qd) + cross(spatial_top(qd), r)


@func
def transform_twist(t: Transform[Float], x: Vec[6, Float]) -> Vec[6, Float]:
    """The twist `x` in the frame that `t` leads to."""
    w = quat_rotate(t.q, spatial_top(x))
    return _spatial(w, quat_rotate(t.q, spatial_bottom(x)) + cross(t.p, w))


@func
def transform_wrench(t: Transform[Float], x: Vec[6, Float]) -> Vec[6, Float]:
    """The wrench `x` in the frame that `t` leads to."""
    f = quat_rotate(t.q, spatial_bottom(x))
    return _spatial(quat_rotate(t.q, spatial_top(x)) + cross(t.p, f), f)
