# Quaternions: x, y, z, w with the real part w last. Rotations are unit quaternions; `a * b` rotates
# by `b` first. Angles are in radians.


# ---- Arithmetic
# ---------------------------------------------------------------------------------------------------------


@func
def mul(a: Quat[Float], b: Quat[Float]) -> Quat[Float]:
    """Quaternion product: the rotation by `b`, then by `a`."""
    return Quat[Float](
        a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - b[1] * a[2],
        a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - b[2] * a[0],
        a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - b[0] * a[1],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@op("add")
def add(a: Quat[Float], b: Quat[Float]) -> Quat[Float]:
    """`a + b`, component by component."""


@func_grad(add)
def _(a: Quat[Float], b: Quat[Float], adj_ret: Quat[Float]):
    adjoint[a] += adj_ret
    adjoint[b] += adj_ret


@op("sub")
def sub(a: Quat[Float], b: Quat[Float]) -> Quat[Float]:
    """`a - b`, component by component."""


@func_grad(sub)
def _(a: Quat[Float], b: Quat[Float], adj_ret: Quat[Float]):
    adjoint[a] += adj_ret
    adjoint[b] -= adj_ret


@op("neg")
def neg(x: Quat[Float]) -> Quat[Float]:
    """`-x`: the same rotation, with all components negated."""


@func_grad(neg)
def _(x: Quat[Float], adj_ret: Quat[Float]):
    adjoint[x] -= adj_ret


@func
def pos(x: Quat[Float]) -> Quat[Float]:
    """`+x`: `x` itself."""
    return x


@op("mul")
def mul(a: Quat[Float], b: Float) -> Quat[Float]:
    """`a * b`: each component of `a` times `b`."""


@func_grad(mul)
def _(a: Quat[Float], b: Float, adj_ret: Quat[Float]):
    adjoint[a] += adj_ret * b
    adjoint[b] += dot(a, adj_ret)


@op("mul")
def mul(a: Float, b: Quat[Float]) -> Quat[Float]:
    """`a * b`: each component of `b` times `a`."""


@func_grad(mul)
def _(a: Float, b: Quat[Float], adj_ret: Quat[Float]):
    adjoint[a] += dot(b, adj_ret)
    adjoint[b] += adj_ret * a


@op("div")
def div(a: Quat[Float], b: Float) -> Quat[Float]:
    """`a / b`: each component of `a` divided by `b`."""


@func_grad(div)
def _(a: Quat[Float], b: Float, adj_ret: Quat[Float]):
    q = adj_ret / b
    adjoint[a] += q
    adjoint[b] -= dot(a, q) / b


@func
def div(a: Float, b: Quat[Float]) -> Quat[Float]:
    """`a / b`: `a` divided by each component of `b`."""
    return Quat[Float](a / b[0], a / b[1], a / b[2], a / b[3])


@func
@domain(b=(0.5, 3.0))
def div_approx(a: Quat[Float], b: Float) -> Quat[Float]:
    """`a / b`. Warp's approximate division on GPUs is exact here."""
    return a / b


@func
@domain(b=(0.5, 3.0))
def div_approx(a: Float, b: Quat[Float]) -> Quat[Float]:
    """`a / b`. Warp's approximate division on GPUs is exact here."""
    return a / b


@func
def dot(a: Quat[Float], b: Quat[Float]) -> Float:
    """Dot product of `a` and `b` as 4-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@func
def length_sq(a: Quat[Float]) -> Float:
    """Squared length of `a` as a 4-vector."""
    return dot(a, a)


@func
def length(a: Quat[Float]) -> Float:
    """Length of `a` as a 4-vector. Its derivative at zero is taken as 0."""
    return sqrt(dot(a, a))


@func_grad(length)
def _(a: Quat[Float], adj_ret: Float):
    l = length(a)
    if l > Float(0.0):
        adjoint[a] += a * (adj_ret / l)


@func
def normalize(a: Quat[Float]) -> Quat[Float]:
    """`a` scaled to length 1; zero gives the identity rotation."""
    l = length(a)
    if l > Float(0.0):
        return a * (Float(1.0) / l)
    return Quat[Float](Float(0.0), Float(0.0), Float(0.0), Float(1.0))


@func
@zero_grad("a truth value")
def _degenerate_length(a: Quat[Float], adj_ret: Float) -> bool:
    """the length of the quaternion of zeros has no derivative; 0 was taken"""
    return adj_ret != Float(0.0) and length(a) == Float(0.0)


@func
@zero_grad("a truth value")
def _degenerate_normalize(a: Quat[Float], adj_ret: Quat[Float]) -> bool:
    """the quaternion of zeros is no rotation; the derivative was taken as 0"""
    return adj_ret != Quat[Float](Float(0.0), Float(0.0), Float(0.0), Float(0.0)) and length(a) == Float(0.0)


@func
def lerp(a: Quat[Float], b: Quat[Float], t: Float) -> Quat[Float]:
    """Linear interpolation of the components: `a * (1 - t) + b * t`. See `quat_slerp` for rotations."""
    return a * (Float(1.0) - t) + b * t


@func
@no_grad("a truth value")
def isnan(a: Quat[Float]) -> bool:
    """Whether any component of `a` is NaN."""
    return isnan(a[0]) or isnan(a[1]) or isnan(a[2]) or isnan(a[3])


@func
@no_grad("a truth value")
def isinf(a: Quat[Float]) -> bool:
    """Whether any component of `a` is infinite."""
    return isinf(a[0]) or isinf(a[1]) or isinf(a[2]) or isinf(a[3])


@func
@no_grad("a truth value")
def isfinite(a: Quat[Float]) -> bool:
    """Whether every component of `a` is finite."""
    return isfinite(a[0]) and isfinite(a[1]) and isfinite(a[2]) and isfinite(a[3])


# ---- Rotation
# -----------------------------------------------------------------------------------------------------------


@func
def quat_inverse(quat: Quat[Float]) -> Quat[Float]:
    """The conjugate of `quat`, which is the inverse of a unit quaternion."""
    return Quat[Float](-quat[0], -quat[1], -quat[2], quat[3])


@func
def quat_rotate(quat: Quat[Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """`vec` rotated by the unit quaternion `quat`."""
    u = Vec[3, Float](quat[0], quat[1], quat[2])
    w = quat[3]
    return vec * (Float(2.0) * w * w - Float(1.0)) + u * (Float(2.0) * dot(u, vec)) + cross(u, vec) * w * Float(2.0)


@func
def quat_rotate_inv(quat: Quat[Float], vec: Vec[3, Float]) -> Vec[3, Float]:
    """`vec` rotated by the inverse of the unit quaternion `quat`."""
    u = Vec[3, Float](quat[0], quat[1], quat[2])
    w = quat[3]
    return vec * (Float(2.0) * w * w - Float(1.0)) + u * (Float(2.0) * dot(u, vec)) - cross(u, vec) * w * Float(2.0)


@func
def quat_slerp(a: Quat[Float], b: Quat[Float], t: Float) -> Quat[Float]:
    """Spherical interpolation from rotation `a` at `t = 0` to rotation `b` at `t = 1`, on the shorter way.

    Smooth where `a` and `b` are equal.
    """
    # The rotation between them, to the power t: of its half angle h, only smooth functions of the
    # square are taken.
    between = quat_inverse(a) * b
    v = Vec[3, Float](between[0], between[1], between[2])
    s = dot(v, v)
    scale = t * _atan_over_root(s, abs(between[3]))
    cosine, sinc = _cos_sinc_root(s * scale * scale)
    v = v * (where(between[3] < Float(0.0), -scale, scale) * sinc)
    return a * Quat[Float](v[0], v[1], v[2], cosine)


@func
@zero_grad("a truth value")
def _degenerate_quat_slerp(a: Quat[Float], b: Quat[Float], t: Float, adj_ret: Quat[Float]) -> bool:
    """the rotations are half a turn apart, so that two ways are equally short; the derivative is that of one of them"""
    wanted = adj_ret != Quat[Float](Float(0.0), Float(0.0), Float(0.0), Float(0.0))
    return wanted and a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] == Float(0.0)


@func
def _atan_over_root(s: Float, w: Float) -> Float:
    """`atan2(sqrt(s), w) / sqrt(s)` for `w >= 0`, smooth down to `s = 0`; 0 if both are 0."""
    if Float(64.0) * s < w * w:
        # The power series; the quotient would have a derivative of few digits.
        r = s / (w * w)
        sum = Float(0.0)
        for n in range(10):
            sum = Float(1.0) / Float(19 - 2 * n) - r * sum
        return sum / w
    root = sqrt(s)
    return _ratio(atan2(root, w), root)


@func
def _cos_sinc_root(s: Float) -> tuple[Float, Float]:
    """`cos(r)` and `sin(r) / r` for `r = sqrt(s)`, smooth down to `s = 0`."""
    if s < Float(0.25):
        cosine = Float(1.0)
        sinc = Float(1.0)
        for n in range(9):
            k = Float(18 - 2 * n)
            cosine = Float(1.0) - s * cosine / (k * (k - Float(1.0)))
            sinc = Float(1.0) - s * sinc / (k * (k + Float(1.0)))
        return cosine, sinc
    root = sqrt(s)
    return cos(root), sin(root) / root


# ---- Axis and angle
# -----------------------------------------------------------------------------------------------------


@func
def quat_from_axis_angle(axis: Vec[3, Float], angle: Float) -> Quat[Float]:
    """The rotation by `angle` about the unit vector `axis`."""
    half = angle * Float(0.5)
    v = axis * sin(half)
    return Quat[Float](v[0], v[1], v[2], cos(half))


@func
def quat_between_vectors(a: Vec[3, Float], b: Vec[3, Float]) -> Quat[Float]:
    """The rotation by the smallest angle that turns the direction of `a` into that of `b`.

    Between opposite directions there are many: such a call gives the identity, as in Warp.
    """
    u = _wide(a)
    v = _wide(b)
    q = _between(u * _scale(norm_l1(u)), v * _scale(norm_l1(v)))
    return Quat[Float](Float(q[0]), Float(q[1]), Float(q[2]), Float(q[3]))


@func
def _between(a: Vec[3, Float], b: Vec[3, Float]) -> Quat[Float]:
    """The same for vectors of about length 1."""
    # The product of the vectors is the rotation by twice the angle; its sum with no rotation is on
    # half the way. Both have all digits: the cross product loses none, and where the sum would,
    # it is the quotient of what is left.
    axis = Vec[3, Float](
        _difference_of_products(a[1], b[2], a[2], b[1]),
        _difference_of_products(a[2], b[0], a[0], b[2]),
        _difference_of_products(a[0], b[1], a[1], b[0]),
    )
    cosine = dot(a, b)
    lengths = length(a) * length(b)
    real = lengths + cosine
    if cosine < Float(0.0):
        unit = _scale(norm_l1(axis))
        axis = axis * unit
        sine = length(axis)
        axis = axis * _ratio(lengths - cosine, sine)
        real = sine * _inverse_power(unit)
    return normalize(Quat[Float](axis[0], axis[1], axis[2], real))


@func
def quat_to_axis_angle(quat: Quat[Float]) -> tuple[Vec[3, Float], Float]:
    """Axis and angle of the rotation `quat`: a unit vector (zero for no rotation) and an angle from 0 to pi.

    No rotation has no axis: there the derivatives of both are taken as 0.
    """
    vec = Vec[3, Float](quat[0], quat[1], quat[2])
    axis = normalize(vec)
    w = quat[3]
    # As `axis` turns and not as `abs` has it: at half a turn exactly, both go on as for the angles
    # below it.
    if w < Float(0.0):
        axis = -axis
        w = -w
    return axis, Float(2.0) * atan2(length(vec), w)


@func
def quat_to_axis_angle(quat: Quat[Float], axis: ref[Vec[3, Float]], angle: ref[Float]):
    """Sets `axis` and `angle` to those of the rotation `quat`: a unit vector (zero for no rotation), and 0 to pi."""
    axis, angle = quat_to_axis_angle(quat)


@func
@zero_grad("a truth value")
def _degenerate_quat_to_axis_angle(quat: Quat[Float], adj_axis: Vec[3, Float], adj_angle: Float) -> bool:
    """no rotation has no axis; the derivatives of axis and angle were taken as 0"""
    wanted = adj_axis != Vec[3, Float]() or adj_angle != Float(0.0)
    return wanted and length(Vec[3, Float](quat[0], quat[1], quat[2])) == Float(0.0)


@func
@zero_grad("a truth value")
def _degenerate_quat_to_axis_angle(
    quat: Quat[Float], axis: Vec[3, Float], angle: Float, adj_axis: Vec[3, Float], adj_angle: Float
) -> bool:
    """no rotation has no axis; the derivatives of axis and angle were taken as 0"""
    return _degenerate_quat_to_axis_angle(quat, adj_axis, adj_angle)


@func
def quat_twist(axis: Vec[3, Float], q: Quat[Float]) -> Quat[Float]:
    """The part of the rotation `q` that turns about the unit vector `axis`, as a unit quaternion."""
    u = axis * dot(Vec[3, Float](q[0], q[1], q[2]), axis)
    return normalize(Quat[Float](u[0], u[1], u[2], q[3]))


@func
def quat_twist_angle(axis: Vec[3, Float], q: Quat[Float]) -> Float:
    """Angle without sign by which the rotation `q` turns about the unit vector `axis`: 0 to pi if `q[3] >= 0`."""
    return Float(2.0) * atan2(abs(dot(axis, Vec[3, Float](q[0], q[1], q[2]))), q[3])


@func
def quat_twist_angle_signed(axis: Vec[3, Float], q: Quat[Float]) -> Float:
    """Angle by which the rotation `q` turns about the unit vector `axis`, by the right-hand rule."""
    return Float(2.0) * atan2(dot(axis, Vec[3, Float](q[0], q[1], q[2])), q[3])


# ---- Euler angles
# -------------------------------------------------------------------------------------------------------


@func
def quat_rpy(roll: Float, pitch: Float, yaw: Float) -> Quat[Float]:
    """The rotation by `roll` about x, then `pitch` about y, then `yaw` about z; the axes stay fixed."""
    half = Float(0.5)
    sr = sin(roll * half)
    cr = cos(roll * half)
    sp = sin(pitch * half)
    cp = cos(pitch * half)
    sy = sin(yaw * half)
    cy = cos(yaw * half)
    return Quat[Float](
        cy * sr * cp - sy * cr * sp,
        cy * cr * sp + sy * sr * cp,
        sy * cr * cp - cy * sr * sp,
        cy * cr * cp + sy * sr * sp,
    )


@func
def quat_to_rpy(q: Quat[Float]) -> Vec[3, Float]:
    """Roll, pitch and yaw of the rotation `q`, as `quat_rpy` takes them: roll and yaw in -pi..pi, pitch in -pi/2..pi/2.

    At pitch +-pi/2 only the difference or the sum of roll and yaw has a meaning: there roll is 0.
    """
    return Vec[3, Float](_to_rpy(_wide(Vec[4, Float](q[0], q[1], q[2], q[3]))))


@func
def _to_rpy(q: Vec[4, Float]) -> Vec[3, Float]:
    # With half angles, (w + y, z - x) is cos(pitch) + sin(pitch) times the direction of yaw - roll,
    # and (w - y, z + x) is cos(pitch) - sin(pitch) times that of yaw + roll.
    u = Vec[2, Float](q[3] + q[1], q[2] - q[0])
    v = Vec[2, Float](q[3] - q[1], q[2] + q[0])
    plus = length(u)
    minus = length(v)
    difference = atan2(u[1], u[0])
    sum = atan2(v[1], v[0])
    pole = _rounding(Float(2.0))
    if minus <= pole * plus:
        sum = difference
    elif plus <= pole * minus:
        difference = sum
    return Vec[3, Float](
        _within_half_turn(sum - difference),
        Float(2.0) * atan2(plus, minus) - Float(1.5707963267948966),
        _within_half_turn(sum + difference),
    )


@func
def _within_half_turn(angle: Float) -> Float:
    """`angle`, which is within one turn, in -pi..pi."""
    if abs(angle) <= Float(3.141592653589793):
        return angle
    return angle - copysign(Float(6.283185307179586), angle)


@func
def _about(axis: int32, angle: Float) -> Quat[Float]:
    """The rotation by `angle` about coordinate axis 0, 1 or 2."""
    half = Float(0.5) * angle
    q = Quat[Float](Float(0.0), Float(0.0), Float(0.0), cos(half))
    q[clamp(axis, 0, 2)] = sin(half)
    return q


@func
def quat_from_euler(e: Vec[3, Float], i: int32, j: int32, k: int32) -> Quat[Float]:
    """The rotations by `e[i]` about axis `i`, then `e[j]` about `j`, then `e[k]` about `k`; the axes stay fixed."""
    return _about(k, e[k]) * (_about(j, e[j]) * _about(i, e[i]))


@func
def quat_to_euler(q: Quat[Float], i: int32, j: int32, k: int32) -> Vec[3, Float]:
    """Angles by which rotations about the fixed axes `i`, `j`, `k` give `q`, each in the slot of its axis.

    Where `i == k` the third angle is in the slot of the axis that is neither `i` nor `j`. Method: Bernardes and Viollet,
    Quaternion to Euler angles conversion, PLoS ONE 17(11), 2022.
    """
    proper = i == k
    last = k
    if proper:
        last = 3 - i - j
    # 1 for axes in cyclic order, -1 otherwise.
    parity = Float((i - j) * (j - last) * (last - i)) * Float(0.5)
    a = q[3]
    b = q[i]
    c = q[j]
    d = q[last] * parity
    if not proper:
        a -= q[j]
        b += q[last] * parity
        c += q[3]
        d -= q[i]
    middle = Float(2.0) * atan2(length(Vec[2, Float](c, d)), length(Vec[2, Float](a, b)))
    plus = atan2(b, a)
    minus = atan2(d, c)
    first = plus - minus
    third = plus + minus
    # At the poles only the sum or the difference of the outer angles is defined: the first is taken
    # as 0.
    if abs(middle) < Float(1.0e-6):
        first = Float(0.0)
        third = Float(2.0) * plus
    elif abs(middle - Float(3.141592653589793)) < Float(1.0e-6):
        first = Float(0.0)
        third = Float(2.0) * minus
    if not proper:
        middle -= Float(1.5707963267948966)
        third *= parity
    e = Vec[3, Float]()
    e[i] = first
    e[j] = middle
    e[last] = third
    return e


# ---- Matrices
# -----------------------------------------------------------------------------------------------------------


@func
def quat_to_matrix(quat: Quat[Float]) -> Mat[3, 3, Float]:
    """The matrix of the rotation `quat`."""
    zero = Float(0.0)
    one = Float(1.0)
    return matrix_from_cols(
        quat_rotate(quat, Vec[3, Float](one, zero, zero)),
        quat_rotate(quat, Vec[3, Float](zero, one, zero)),
        quat_rotate(quat, Vec[3, Float](zero, zero, one)),
    )


@func
def quat_from_matrix(mat: Mat[3, 3, Float]) -> Quat[Float]:
    """The rotation with the matrix `mat`, as a unit quaternion.

    Divides by the largest of the four components (Shepperd, Journal of Guidance and Control 1(3), 1978).
    """
    one = Float(1.0)
    half = Float(0.5)
    tr = mat[0, 0] + mat[1, 1] + mat[2, 2]
    if tr >= Float(0.0):
        h = sqrt(tr + one)
        s = half / h
        x = (mat[2, 1] - mat[1, 2]) * s
        y = (mat[0, 2] - mat[2, 0]) * s
        z = (mat[1, 0] - mat[0, 1]) * s
        w = half * h
    elif mat[0, 0] >= mat[1, 1] and mat[0, 0] >= mat[2, 2]:
        h = sqrt(mat[0, 0] - (mat[1, 1] + mat[2, 2]) + one)
        s = half / h
        x = half * h
        y = (mat[0, 1] + mat[1, 0]) * s
        z = (mat[2, 0] + mat[0, 2]) * s
        w = (mat[2, 1] - mat[1, 2]) * s
    elif mat[1, 1] >= mat[2, 2]:
        h = sqrt(mat[1, 1] - (mat[2, 2] + mat[0, 0]) + one)
        s = half / h
        x = (mat[0, 1] + mat[1, 0]) * s
        y = half * h
        z = (mat[1, 2] + mat[2, 1]) * s
        w = (mat[0, 2] - mat[2, 0]) * s
    else:
        h = sqrt(mat[2, 2] - (mat[0, 0] + mat[1, 1]) + one)
        s = half / h
        x = (mat[2, 0] + mat[0, 2]) * s
        y = (mat[1, 2] + mat[2, 1]) * s
        z = half * h
        w = (mat[1, 0] - mat[0, 1]) * s
    return normalize(Quat[Float](x, y, z, w))


@func
def quat_from_matrix(mat: Mat[4, 4, Float]) -> Quat[Float]:
    """The rotation in the upper left 3x3 part of `mat`, as a unit quaternion."""
    turn = Mat[3, 3, Float]()
    for i in range(3):
        for j in range(3):
            turn[i, j] = mat[i, j]
    return quat_from_matrix(turn)
