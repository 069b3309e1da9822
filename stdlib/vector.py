# Vectors: products, lengths, order, interpolation; the operators that are not one operation of the
# machine.
#
# Sums run from the first component to the last, so results do not depend on the back end. `length`
# has derivative 0 at the zero vector, where it has a kink; so has `cosine_similarity`.


# ---- Products
# -----------------------------------------------------------------------------------------------------------


@func
def dot(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Scalar:
    """Dot product of `a` and `b`."""
    s = a[0] * b[0]
    for i in range(1, N):
        s += a[i] * b[i]
    return s


@func
def cross(a: Vec[3, Scalar], b: Vec[3, Scalar]) -> Vec[3, Scalar]:
    """Cross product of `a` and `b`."""
    return Vec[3, Scalar](a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@func
def outer(a: Vec[R, Scalar], b: Vec[C, Scalar]) -> Mat[R, C, Scalar]:
    """Outer product: the matrix of all `a[i] * b[j]`."""
    m = Mat[R, C, Scalar]()
    for i in range(R):
        for j in range(C):
            m[i, j] = a[i] * b[j]
    return m


@op("mul")
def cw_mul(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """Product of `a` and `b`, component by component."""


@op("mul")
def cw_mul(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """Product of `a` and `b`, component by component (not the matrix product)."""


@func_grad(cw_mul)
def _(a: Vec[N, Float], b: Vec[N, Float], adj_ret: Vec[N, Float]):
    adjoint[a] += cw_mul(b, adj_ret)
    adjoint[b] += cw_mul(a, adj_ret)


@func_grad(cw_mul)
def _(a: Mat[R, C, Float], b: Mat[R, C, Float], adj_ret: Mat[R, C, Float]):
    adjoint[a] += cw_mul(b, adj_ret)
    adjoint[b] += cw_mul(a, adj_ret)


@op("div")
def cw_div(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """Quotient of `a` and `b`, component by component."""


@op("div")
def cw_div(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """Quotient of `a` and `b`, component by component."""


@func_grad(cw_div)
def _(a: Vec[N, Float], b: Vec[N, Float], adj_ret: Vec[N, Float]):
    q = cw_div(adj_ret, b)
    adjoint[a] += q
    adjoint[b] -= cw_mul(cw_div(a, b), q)


@func_grad(cw_div)
def _(a: Mat[R, C, Float], b: Mat[R, C, Float], adj_ret: Mat[R, C, Float]):
    q = cw_div(adj_ret, b)
    adjoint[a] += q
    adjoint[b] -= cw_mul(cw_div(a, b), q)


# ---- Lengths
# ------------------------------------------------------------------------------------------------------------


@func
def length_sq(a: Vec[N, Scalar]) -> Scalar:
    """Squared Euclidean length of `a`."""
    return dot(a, a)


@func
def length(a: Vec[N, Float]) -> Float:
    """Euclidean length of `a`. Its derivative at the zero vector is taken as 0."""
    return sqrt(dot(a, a))


@func_grad(length)
def _(a: Vec[N, Float], adj_ret: Float):
    l = length(a)
    if l > Float(0.0):
        adjoint[a] += a * (adj_ret / l)


@func
def normalize(a: Vec[N, Float]) -> Vec[N, Float]:
    """`a` scaled to length 1; the zero vector stays zero."""
    l = length(a)
    if l > Float(0.0):
        return a / l
    return Vec[N, Float]()


@func
@zero_grad("a truth value")
def _degenerate_length(a: Vec[N, Float], adj_ret: Float) -> bool:
    """the length of the zero vector has no derivative; 0 was taken"""
    return adj_ret != Float(0.0) and length(a) == Float(0.0)


@func
@zero_grad("a truth value")
def _degenerate_norm_l2(v: Vec[N, Float], adj_ret: Float) -> bool:
    """the length of the zero vector has no derivative; 0 was taken"""
    return _degenerate_length(v, adj_ret)


@func
@zero_grad("a truth value")
def _degenerate_normalize(a: Vec[N, Float], adj_ret: Vec[N, Float]) -> bool:
    """the zero vector has no direction; the derivative of it was taken as 0"""
    return adj_ret != Vec[N, Float]() and length(a) == Float(0.0)


@func
def norm_l1(v: Vec[N, Float]) -> Float:
    """Sum of the absolute values of the components of `v`."""
    s = abs(v[0])
    for i in range(1, N):
        s += abs(v[i])
    return s


@func
def norm_l2(v: Vec[N, Float]) -> Float:
    """Euclidean length of `v`."""
    return length(v)


@func
def norm_huber(v: Vec[N, Float], delta: Float = 1.0) -> Float:
    """Huber norm of `v`: `0.5 * |v|^2` where `|v| <= delta`, `delta * (|v| - 0.5 * delta)` beyond."""
    a = dot(v, v)
    if a <= delta * delta:
        return Float(0.5) * a
    return delta * (sqrt(a) - Float(0.5) * delta)


@func
def norm_pseudo_huber(v: Vec[N, Float], delta: Float = 1.0) -> Float:
    """Smooth Huber norm of `v`: `delta * sqrt(1 + |v|^2 / delta^2)`. At the zero vector it is `delta`, not 0."""
    return delta * sqrt(Float(1.0) + dot(v, v) / (delta * delta))


@func
def smooth_normalize(v: Vec[N, Float], delta: Float = 1.0) -> Vec[N, Float]:
    """`v / norm_pseudo_huber(v, delta)`: like `normalize` for long vectors, and smooth at the zero vector."""
    return v / norm_pseudo_huber(v, delta)


@func
def cosine_similarity(a: Vec[N, Float], b: Vec[N, Float]) -> Float:
    """Cosine of the angle between `a` and `b`, from -1 to 1: `dot(a, b) / (length(a) * length(b))`, which neither large nor small
    components take out of range. 0 where `a` or `b` is the zero vector; elsewhere NaN if a component is infinite or NaN. Its
    derivative where `a` or `b` is the zero vector is taken as 0. kc's own.

    ```python
    wp.expect_near(wp.cosine_similarity(wp.vec2(3.0, 4.0), wp.vec2(0.0, 2.0)), 0.8)
    ```
    """
    return Float(_cosine(_near_one(_wide(a)), _near_one(_wide(b))))


@func
def _near_one(a: Vec[N, Float]) -> Vec[N, Float]:
    """`a` times the power of two that brings its largest component to about 1."""
    return a * _scale(max(abs(a)))


@func
def _cosine(a: Vec[N, Float], b: Vec[N, Float]) -> Float:
    """The cosine of vectors whose squares are in range."""
    p = length_sq(a)
    q = length_sq(b)
    if p == Float(0.0) or q == Float(0.0):
        return Float(0.0)
    # The root of the product: of equal vectors it is their square, and the cosine exactly 1.
    c = dot(a, b) / sqrt(p * q)
    # Rounding may go beyond 1. The derivative there is that of the cosine, not the bound's.
    return c + detach(clamp(c, Float(-1.0), Float(1.0)) - c)


@func
@zero_grad("a truth value")
def _degenerate_cosine_similarity(a: Vec[N, Float], b: Vec[N, Float], adj_ret: Float) -> bool:
    """the zero vector has no direction; the derivative of the cosine was taken as 0"""
    return adj_ret != Float(0.0) and (a == Vec[N, Float]() or b == Vec[N, Float]())


# ---- Order
# --------------------------------------------------------------------------------------------------------------


@func
def min(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """The smaller of `a` and `b`, component by component; a NaN loses."""
    r = a
    for i in range(N):
        r[i] = min(a[i], b[i])
    return r


@func
def max(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """The larger of `a` and `b`, component by component; a NaN loses."""
    r = a
    for i in range(N):
        r[i] = max(a[i], b[i])
    return r


@func
def min(a: Vec[N, Scalar]) -> Scalar:
    """The smallest component of `a`; a NaN loses."""
    s = a[0]
    for i in range(1, N):
        s = min(s, a[i])
    return s


@func
def max(a: Vec[N, Scalar]) -> Scalar:
    """The largest component of `a`; a NaN loses."""
    s = a[0]
    for i in range(1, N):
        s = max(s, a[i])
    return s


@func
@no_grad("the result is an index")
def argmin(a: Vec[N, Scalar]) -> uint32:
    """Index of the first smallest component of `a`. NaN components are passed over; 0 if all are NaN."""
    best = a[0]
    at = uint32(0)
    for i in range(1, N):
        # The second test is true for a NaN only.
        if a[i] < best or (best != best and a[i] == a[i]):
            best = a[i]
            at = uint32(i)
    return at


@func
@no_grad("the result is an index")
def argmax(a: Vec[N, Scalar]) -> uint32:
    """Index of the first largest component of `a`. NaN components are passed over; 0 if all are NaN."""
    best = a[0]
    at = uint32(0)
    for i in range(1, N):
        if a[i] > best or (best != best and a[i] == a[i]):
            best = a[i]
            at = uint32(i)
    return at


@func
def abs(x: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """Absolute value of each component of `x`."""
    r = x
    for i in range(N):
        r[i] = abs(x[i])
    return r


@func
@zero_grad("piecewise constant")
def sign(x: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """-1 for each negative component of `x`, otherwise 1."""
    r = x
    for i in range(N):
        r[i] = sign(x[i])
    return r


# ---- Interpolation, classification
# --------------------------------------------------------------------------------------


@func
def lerp(a: Vec[N, Float], b: Vec[N, Float], t: Float) -> Vec[N, Float]:
    """Linear interpolation: `a * (1 - t) + b * t`."""
    return a * (Float(1.0) - t) + b * t


@func
@no_grad("a truth value")
def isnan(a: Vec[N, Float]) -> bool:
    """Whether any component of `a` is NaN."""
    found = isnan(a[0])
    for i in range(1, N):
        found = found or isnan(a[i])
    return found


@func
@no_grad("a truth value")
def isinf(a: Vec[N, Float]) -> bool:
    """Whether any component of `a` is infinite."""
    found = isinf(a[0])
    for i in range(1, N):
        found = found or isinf(a[i])
    return found


@func
@no_grad("a truth value")
def isfinite(a: Vec[N, Float]) -> bool:
    """Whether every component of `a` is finite."""
    finite = isfinite(a[0])
    for i in range(1, N):
        finite = finite and isfinite(a[i])
    return finite


# ---- Operators
# ----------------------------------------------------------------------------------------------------------


@op("add")
def add(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """`a + b`."""


@func_grad(add)
def _(a: Vec[N, Float], b: Vec[N, Float], adj_ret: Vec[N, Float]):
    adjoint[a] += adj_ret
    adjoint[b] += adj_ret


@op("sub")
def sub(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """`a - b`."""


@func_grad(sub)
def _(a: Vec[N, Float], b: Vec[N, Float], adj_ret: Vec[N, Float]):
    adjoint[a] += adj_ret
    adjoint[b] -= adj_ret


@op("neg")
def neg(x: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """`-x`."""


@func_grad(neg)
def _(x: Vec[N, Float], adj_ret: Vec[N, Float]):
    adjoint[x] -= adj_ret


@func
def pos(x: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """`+x`: `x` itself."""
    return x


@op("mul")
def mul(a: Vec[N, Scalar], b: Scalar) -> Vec[N, Scalar]:
    """`a * b`: each component of `a` times `b`."""


@func_grad(mul)
def _(a: Vec[N, Float], b: Float, adj_ret: Vec[N, Float]):
    adjoint[a] += adj_ret * b
    adjoint[b] += dot(a, adj_ret)


@op("mul")
def mul(a: Scalar, b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """`a * b`: each component of `b` times `a`."""


@func_grad(mul)
def _(a: Float, b: Vec[N, Float], adj_ret: Vec[N, Float]):
    adjoint[a] += dot(b, adj_ret)
    adjoint[b] += adj_ret * a


@op("div")
def div(a: Vec[N, Scalar], b: Scalar) -> Vec[N, Scalar]:
    """`a / b`: each component of `a` divided by `b`."""


@func_grad(div)
def _(a: Vec[N, Float], b: Float, adj_ret: Vec[N, Float]):
    q = adj_ret / b
    adjoint[a] += q
    adjoint[b] -= dot(a, q) / b


@func
def div(a: Scalar, b: Vec[N, Scalar]) -> Vec[N, Scalar]:
    """`a / b`: `a` divided by each component of `b`."""
    r = b
    for i in range(N):
        r[i] = a / b[i]
    return r


@op("rem")
@no_grad("integers")
def mod(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]:
    """`a % b`, component by component: the remainder with the sign of `a`."""


@func
@domain(b=(0.5, 3.0))
def mod(a: Vec[N, Float], b: Vec[N, Float]) -> Vec[N, Float]:
    """`a % b`, component by component: the remainder with the sign of `a`."""
    r = a
    for i in range(N):
        r[i] = mod(a[i], b[i])
    return r


@op("and")
@no_grad("integers")
def bit_and(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]:
    """`a & b`, component by component."""


@op("or")
@no_grad("integers")
def bit_or(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]:
    """`a | b`, component by component."""


@op("xor")
@no_grad("integers")
def bit_xor(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]:
    """`a ^ b`, component by component."""


@op("shl")
@no_grad("integers")
def lshift(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]:
    """`a << b`, component by component."""


@op("shr")
@no_grad("integers")
def rshift(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]:
    """`a >> b`, component by component."""


@op("bit_not")
@no_grad("integers")
def invert(a: Vec[N, Int]) -> Vec[N, Int]:
    """`~a`: every bit of every component inverted."""


@func
@domain(b=(0.5, 3.0))
def div_approx(a: Float, b: Float) -> Float:
    """`a / b`. Warp's approximate division on GPUs is exact here."""
    return a / b


@func
@domain(b=(0.5, 3.0))
def div_approx(a: Vec[N, Float], b: Float) -> Vec[N, Float]:
    """`a / b`. Warp's approximate division on GPUs is exact here."""
    return a / b


@func
@domain(b=(0.5, 3.0))
def div_approx(a: Float, b: Vec[N, Float]) -> Vec[N, Float]:
    """`a / b`. Warp's approximate division on GPUs is exact here."""
    return a / b
