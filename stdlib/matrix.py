# Matrices: products, transposition, determinants and inverses of 2x2, 3x3 and 4x4, diagonals;
# construction from rows and columns. Indices are row, column. Sums run from the first term to the
# last.


# ---- Products
# -----------------------------------------------------------------------------------------------------------


@func
def mul(a: Mat[R, C, Scalar], b: Vec[C, Scalar]) -> Vec[R, Scalar]:
    """Matrix times column vector."""
    r = Vec[R, Scalar]()
    for i in range(R):
        r[i] = dot(a[i], b)
    return r


@func
def mul(a: Vec[R, Scalar], b: Mat[R, C, Scalar]) -> Vec[C, Scalar]:
    """Row vector times matrix."""
    r = a[0] * b[0]
    for i in range(1, R):
        r += a[i] * b[i]
    return r


@func
def mul(a: Mat[R, K, Scalar], b: Mat[K, C, Scalar]) -> Mat[R, C, Scalar]:
    """Matrix product."""
    m = Mat[R, C, Scalar]()
    for i in range(R):
        m[i] = a[i] * b
    return m


@func
def ddot(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Scalar:
    """Double dot product: the sum of all `a[i, j] * b[i, j]`."""
    s = dot(a[0], b[0])
    for i in range(1, R):
        s += dot(a[i], b[i])
    return s


# ---- Rearrangement
# ------------------------------------------------------------------------------------------------------


@func
def transpose(a: Mat[R, C, Scalar]) -> Mat[C, R, Scalar]:
    """`a` with rows and columns exchanged."""
    m = Mat[C, R, Scalar]()
    for i in range(R):
        for j in range(C):
            m[j, i] = a[i, j]
    return m


@func
def trace(a: Mat[N, N, Scalar]) -> Scalar:
    """Sum of the diagonal of `a`."""
    s = a[0, 0]
    for i in range(1, N):
        s += a[i, i]
    return s


@func
def diag(vec: Vec[N, Scalar]) -> Mat[N, N, Scalar]:
    """The matrix with `vec` on its diagonal and zeros elsewhere."""
    m = Mat[N, N, Scalar]()
    for i in range(N):
        m[i, i] = vec[i]
    return m


@func
def get_diag(mat: Mat[N, N, Scalar]) -> Vec[N, Scalar]:
    """The diagonal of `mat`."""
    v = Vec[N, Scalar]()
    for i in range(N):
        v[i] = mat[i, i]
    return v


@func
def skew(vec: Vec[3, Scalar]) -> Mat[3, 3, Scalar]:
    """The matrix whose product with `x` is `cross(vec, x)`."""
    zero = Scalar(0)
    return Mat[3, 3, Scalar](zero, -vec[2], vec[1], vec[2], zero, -vec[0], -vec[1], vec[0], zero)


@func
def matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar]) -> Mat[N, 2, Scalar]:
    """The matrix with these columns."""
    m = Mat[N, 2, Scalar]()
    for i in range(N):
        m[i, 0] = v0[i]
        m[i, 1] = v1[i]
    return m


@func
def matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar]) -> Mat[2, N, Scalar]:
    """The matrix with these rows."""
    m = Mat[2, N, Scalar]()
    for i in range(N):
        m[0, i] = v0[i]
        m[1, i] = v1[i]
    return m


@func
def matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar]) -> Mat[N, 3, Scalar]:
    """The matrix with these columns."""
    m = Mat[N, 3, Scalar]()
    for i in range(N):
        m[i, 0] = v0[i]
        m[i, 1] = v1[i]
        m[i, 2] = v2[i]
    return m


@func
def matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar]) -> Mat[3, N, Scalar]:
    """The matrix with these rows."""
    m = Mat[3, N, Scalar]()
    for i in range(N):
        m[0, i] = v0[i]
        m[1, i] = v1[i]
        m[2, i] = v2[i]
    return m


@func
def matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar]) -> Mat[N, 4, Scalar]:
    """The matrix with these columns."""
    m = Mat[N, 4, Scalar]()
    for i in range(N):
        m[i, 0] = v0[i]
        m[i, 1] = v1[i]
        m[i, 2] = v2[i]
        m[i, 3] = v3[i]
    return m


@func
def matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar]) -> Mat[4, N, Scalar]:
    """The matrix with these rows."""
    m = Mat[4, N, Scalar]()
    for i in range(N):
        m[0, i] = v0[i]
        m[1, i] = v1[i]
        m[2, i] = v2[i]
        m[3, i] = v3[i]
    return m


@func
def matrix_from_cols(
    v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar]
) -> Mat[N, 5, Scalar]:
    """The matrix with these columns."""
    m = Mat[N, 5, Scalar]()
    for i in range(N):
        m[i, 0] = v0[i]
        m[i, 1] = v1[i]
        m[i, 2] = v2[i]
        m[i, 3] = v3[i]
        m[i, 4] = v4[i]
    return m


@func
def matrix_from_rows(
    v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar]
) -> Mat[5, N, Scalar]:
    """The matrix with these rows."""
    m = Mat[5, N, Scalar]()
    for i in range(N):
        m[0, i] = v0[i]
        m[1, i] = v1[i]
        m[2, i] = v2[i]
        m[3, i] = v3[i]
        m[4, i] = v4[i]
    return m


@func
def matrix_from_cols(
    v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar], v5: Vec[N, Scalar]
) -> Mat[N, 6, Scalar]:
    """The matrix with these columns."""
    m = Mat[N, 6, Scalar]()
    for i in range(N):
        m[i, 0] = v0[i]
        m[i, 1] = v1[i]
        m[i, 2] = v2[i]
        m[i, 3] = v3[i]
        m[i, 4] = v4[i]
        m[i, 5] = v5[i]
    return m


@func
def matrix_from_rows(
    v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar], v5: Vec[N, Scalar]
) -> Mat[6, N, Scalar]:
    """The matrix with these rows."""
    m = Mat[6, N, Scalar]()
    for i in range(N):
        m[0, i] = v0[i]
        m[1, i] = v1[i]
        m[2, i] = v2[i]
        m[3, i] = v3[i]
        m[4, i] = v4[i]
        m[5, i] = v5[i]
    return m


# ---- Determinant, inverse
# -----------------------------------------------------------------------------------------------


@func
def determinant(a: Mat[2, 2, Float]) -> Float:
    """Determinant of `a`."""
    return _scaled_determinant(a)


@func
def determinant(a: Mat[3, 3, Float]) -> Float:
    """Determinant of `a`: the volume that its rows span."""
    return _scaled_determinant(a)


@func
def determinant(a: Mat[4, 4, Float]) -> Float:
    """Determinant of `a`, by Laplace expansion over pairs of rows."""
    return _scaled_determinant(a)


@func_grad(determinant)
def _(a: Mat[N, N, Float], adj_ret: Float):
    adjoint[a] += _cofactors(a) * adj_ret


@func
def inverse(a: Mat[2, 2, Float]) -> Mat[2, 2, Float]:
    """Inverse of `a`; the zero matrix, with derivative 0, if the determinant is 0."""
    return _scaled_inverse(a)


@func
def inverse(a: Mat[3, 3, Float]) -> Mat[3, 3, Float]:
    """Inverse of `a`; the zero matrix, with derivative 0, if the determinant is 0."""
    return _scaled_inverse(a)


@func
def inverse(a: Mat[4, 4, Float]) -> Mat[4, 4, Float]:
    """Inverse of `a`; the zero matrix, with derivative 0, if the determinant is 0."""
    return _scaled_inverse(a)


@func_grad(inverse)
def _(a: Mat[N, N, Float], adj_ret: Mat[N, N, Float]):
    t = transpose(inverse(a))
    adjoint[a] -= t * adj_ret * t


@func
@zero_grad("a truth value")
def _degenerate_inverse(a: Mat[N, N, Float], adj_ret: Mat[N, N, Float]) -> bool:
    """a matrix with determinant 0 has no inverse; zeros were taken for it and its derivative"""
    return adj_ret != Mat[N, N, Float]() and _is_singular(_wide(a))


@func
@zero_grad("a truth value")
def _is_singular(a: Mat[N, N, Float]) -> bool:
    """Whether the determinant is 0, and not only too small for a float."""
    b, rows, columns, far = _balanced(a)
    return _determinant(b) == Float(0.0)


@func
def inverse_approx(a: Mat[N, N, Float]) -> Mat[N, N, Float]:
    """Inverse of `a`. Warp's approximate division on GPUs is exact here."""
    return inverse(a)


# ---- Interpolation, classification
# --------------------------------------------------------------------------------------


@func
def lerp(a: Mat[R, C, Float], b: Mat[R, C, Float], t: Float) -> Mat[R, C, Float]:
    """Linear interpolation: `a * (1 - t) + b * t`."""
    return a * (Float(1.0) - t) + b * t


@func
@no_grad("a truth value")
def isnan(a: Mat[R, C, Float]) -> bool:
    """Whether any component of `a` is NaN."""
    found = False
    for i in range(R):
        found = found or isnan(a[i])
    return found


@func
@no_grad("a truth value")
def isinf(a: Mat[R, C, Float]) -> bool:
    """Whether any component of `a` is infinite."""
    found = False
    for i in range(R):
        found = found or isinf(a[i])
    return found


@func
@no_grad("a truth value")
def isfinite(a: Mat[R, C, Float]) -> bool:
    """Whether every component of `a` is finite."""
    finite = True
    for i in range(R):
        finite = finite and isfinite(a[i])
    return finite


# ---- Operators
# ----------------------------------------------------------------------------------------------------------


@op("add")
def add(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """`a + b`."""


@func_grad(add)
def _(a: Mat[R, C, Float], b: Mat[R, C, Float], adj_ret: Mat[R, C, Float]):
    adjoint[a] += adj_ret
    adjoint[b] += adj_ret


@op("sub")
def sub(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """`a - b`."""


@func_grad(sub)
def _(a: Mat[R, C, Float], b: Mat[R, C, Float], adj_ret: Mat[R, C, Float]):
    adjoint[a] += adj_ret
    adjoint[b] -= adj_ret


@op("neg")
def neg(x: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """`-x`."""


@func_grad(neg)
def _(x: Mat[R, C, Float], adj_ret: Mat[R, C, Float]):
    adjoint[x] -= adj_ret


@func
def pos(x: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """`+x`: `x` itself."""
    return x


@op("mul")
def mul(a: Mat[R, C, Scalar], b: Scalar) -> Mat[R, C, Scalar]:
    """`a * b`: each component of `a` times `b`."""


@func_grad(mul)
def _(a: Mat[R, C, Float], b: Float, adj_ret: Mat[R, C, Float]):
    adjoint[a] += adj_ret * b
    adjoint[b] += ddot(a, adj_ret)


@op("mul")
def mul(a: Scalar, b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """`a * b`: each component of `b` times `a`."""


@func_grad(mul)
def _(a: Float, b: Mat[R, C, Float], adj_ret: Mat[R, C, Float]):
    adjoint[a] += ddot(b, adj_ret)
    adjoint[b] += adj_ret * a


@op("div")
def div(a: Mat[R, C, Scalar], b: Scalar) -> Mat[R, C, Scalar]:
    """`a / b`: each component of `a` divided by `b`."""


@func_grad(div)
def _(a: Mat[R, C, Float], b: Float, adj_ret: Mat[R, C, Float]):
    q = adj_ret / b
    adjoint[a] += q
    adjoint[b] -= ddot(a, q) / b


@func
def div(a: Scalar, b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]:
    """`a / b`: `a` divided by each component of `b`."""
    r = b
    for i in range(R):
        r[i] = a / b[i]
    return r


@op("and")
@no_grad("integers")
def bit_and(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]:
    """`a & b`, component by component."""


@op("or")
@no_grad("integers")
def bit_or(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]:
    """`a | b`, component by component."""


@op("xor")
@no_grad("integers")
def bit_xor(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]:
    """`a ^ b`, component by component."""


@op("shl")
@no_grad("integers")
def lshift(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]:
    """`a << b`, component by component."""


@op("shr")
@no_grad("integers")
def rshift(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]:
    """`a >> b`, component by component."""


@op("bit_not")
@no_grad("integers")
def invert(a: Mat[R, C, Int]) -> Mat[R, C, Int]:
    """`~a`: every bit of every component inverted."""


@func
@domain(b=(0.5, 3.0))
def div_approx(a: Mat[R, C, Float], b: Float) -> Mat[R, C, Float]:
    """`a / b`. Warp's approximate division on GPUs is exact here."""
    return a / b


@func
@domain(b=(0.5, 3.0))
def div_approx(a: Float, b: Mat[R, C, Float]) -> Mat[R, C, Float]:
    """`a / b`. Warp's approximate division on GPUs is exact here."""
    return a / b
