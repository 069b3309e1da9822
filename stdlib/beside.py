# Beside the points at which a function has no derivative: `_nudged_f` is `f`, whose arguments are
# moved a little if they are such a point. Programs for the note W1120 have them in place of `f`;
# see src/run/gradients/beside.rs. `how`: 0 moves, 1 moves and cuts the derivative there, 2 moves the
# other way.


@func
@zero_grad("a constant")
def _nudge(i: int, how: int, like: Float) -> Float:
    """Component `i` of what zero vectors are moved by: no axis and no diagonal has the direction."""
    size = Float(1.0e-10)
    if size == Float(0.0):
        # float16 has none so small.
        size = Float(1.0e-3)
    if how == 2:
        size = -size
    return size * (Float(1.0) + Float(0.37) * Float(i))


@func
@zero_grad("a cut")
def _cut(x: Float) -> Float:
    """`x`, without a derivative."""
    return x


@func
def _nudged_scalar(x: Float, i: int, how: int) -> Float:
    """`x` moved as component `i` of a vector."""
    if how == 1:
        return _cut(x) + _nudge(i, how, x)
    return x + _nudge(i, how, x)


@func
def _nudged_zero(a: Vec[N, Float], how: int) -> Vec[N, Float]:
    """`a`, moved if it is zero."""
    if length(a) != Float(0.0):
        return a
    moved = Vec[N, Float]()
    for i in range(N):
        moved[i] = _nudged_scalar(a[i], i, how)
    return moved


@func
def _nudged_zero(a: Quat[Float], how: int) -> Quat[Float]:
    """The same of a quaternion."""
    v = _nudged_zero(Vec[4, Float](a[0], a[1], a[2], a[3]), how)
    return Quat[Float](v[0], v[1], v[2], v[3])


@func
def _nudged_length(a: Vec[N, Float], how: int) -> Float:
    """`length` beside the zero vector."""
    return length(_nudged_zero(a, how))


@func
def _nudged_norm_l1(v: Vec[N, Float], how: int) -> Float:
    """`norm_l1` beside the zero vector."""
    return norm_l1(_nudged_zero(v, how))


@func
def _nudged_norm_l2(v: Vec[N, Float], how: int) -> Float:
    """`norm_l2` beside the zero vector."""
    return length(_nudged_zero(v, how))


@func
def _nudged_normalize(a: Vec[N, Float], how: int) -> Vec[N, Float]:
    """`normalize` beside the zero vector."""
    return normalize(_nudged_zero(a, how))


@func
def _nudged_direction(a: Vec[N, Float], how: int) -> Vec[N, Float]:
    """`a`, moved if all its components are 0: a short vector has a direction, though its square may be 0."""
    if a == Vec[N, Float]():
        return _nudged_zero(a, how)
    return a


@func
def _nudged_cosine_similarity(a: Vec[N, Float], b: Vec[N, Float], how: int) -> Float:
    """`cosine_similarity` beside the zero vector."""
    return cosine_similarity(_nudged_direction(a, how), _nudged_direction(b, how))


@func
def _nudged_length(a: Quat[Float], how: int) -> Float:
    """`length` beside zero."""
    return length(_nudged_zero(a, how))


@func
def _nudged_normalize(a: Quat[Float], how: int) -> Quat[Float]:
    """`normalize` beside zero."""
    return normalize(_nudged_zero(a, how))


@func
def _nudged_atan2(y: Float, x: Float, how: int) -> Float:
    """`atan2` beside the origin, where `length` moves a vector `(x, y)` too."""
    if x == Float(0.0) and y == Float(0.0):
        return atan2(_nudged_scalar(y, 1, how), _nudged_scalar(x, 0, how))
    return atan2(y, x)


@func
@zero_grad("a constant")
def _below_one(like: Float) -> Float:
    """The number below 1 by some units of the last digit."""
    less = Float(1.0e-14)
    if Float(1.0) - less == Float(1.0):
        less = Float(4.0e-7)
    if Float(1.0) - less == Float(1.0):
        less = Float(2.0e-2)
    return Float(1.0) - less


@func
def _nudged_one(x: Float, how: int) -> Float:
    """`x`, a little inside if it is -1 or 1. Outside `asin` and `acos` are constant."""
    if abs(x) != Float(1.0):
        return x
    if how == 1:
        return _cut(x) * _below_one(x)
    return x * _below_one(x)


@func
def _nudged_asin(x: Float, how: int) -> Float:
    """`asin` beside -1 and 1."""
    return asin(_nudged_one(x, how))


@func
def _nudged_acos(x: Float, how: int) -> Float:
    """`acos` beside -1 and 1."""
    return acos(_nudged_one(x, how))


@func
def _nudged_quat_to_axis_angle(quat: Quat[Float], how: int) -> tuple[Vec[3, Float], Float]:
    """`quat_to_axis_angle` beside no rotation."""
    v = _nudged_zero(Vec[3, Float](quat[0], quat[1], quat[2]), how)
    return quat_to_axis_angle(Quat[Float](v[0], v[1], v[2], quat[3]))


@func
def _nudged_quat_to_axis_angle(quat: Quat[Float], axis: ref[Vec[3, Float]], angle: ref[Float], how: int):
    """The same, into `axis` and `angle`."""
    axis, angle = _nudged_quat_to_axis_angle(quat, how)


@func
def _nudged_quat_slerp(a: Quat[Float], b: Quat[Float], t: Float, how: int) -> Quat[Float]:
    """`quat_slerp` beside rotations that are half a turn apart."""
    if a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] == Float(0.0):
        beside = b + a * _nudge(0, how, t)
        if how == 1:
            beside = Quat[Float](_cut(beside[0]), _cut(beside[1]), _cut(beside[2]), _cut(beside[3]))
        return quat_slerp(a, beside, t)
    return quat_slerp(a, b, t)


@func
def _nudged_singular(a: Mat[N, N, Float], how: int) -> Mat[N, N, Float]:
    """`a`, moved if its determinant is 0."""
    if not _is_singular(_wide(a)):
        return a
    moved = Mat[N, N, Float]()
    for i in range(N):
        for j in range(N):
            moved[i, j] = _nudged_scalar(a[i, j], i * i + 3 * j * i + j, how)
    return moved


@func
def _nudged_inverse(a: Mat[N, N, Float], how: int) -> Mat[N, N, Float]:
    """`inverse` beside matrices without one."""
    return inverse(_nudged_singular(a, how))


@func
def _nudged_determinant(a: Mat[N, N, Float], how: int) -> Float:
    """`determinant` there."""
    return determinant(_nudged_singular(a, how))
