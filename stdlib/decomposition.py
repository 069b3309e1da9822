# Decompositions of 2x2 and 3x3 matrices: singular values, QR, symmetric eigenvalues. float16 and
# bfloat16 compute in float32 and round once. Matrices are scaled by a power of two first, so that
# squares of elements stay in range. An element that is not finite makes all results NaN.
#
# Kinks: where two singular values or two eigenvalues are equal, their vectors are free to turn, and
# no gradient is passed through that turn. Gradients of the values themselves are passed there as
# everywhere.
#
# No rule can do better: for `Q * diag(h(d)) * transpose(Q)` with equal eigenvalues `d[i]` and
# `d[j]`, the derivative between their vectors is h'(d[i]) times the weight of the pair (i, j). The
# adjoint of `Q` has that weight, but h alone; the adjoint of `d` has h', but only times the weights
# of (i, i) and (j, j).


@func
def _wide(a: Mat[R, C, float32]) -> Mat[R, C, float32]:
    """`a` in the type that decompositions compute in."""
    return a


@func
def _wide(a: Mat[R, C, float64]) -> Mat[R, C, float64]:
    return a


@func
def _wide(a: Mat[R, C, Float]) -> Mat[R, C, float32]:
    return Mat[R, C, float32](a)


@func
def _wide(a: Vec[N, float32]) -> Vec[N, float32]:
    return a


@func
def _wide(a: Vec[N, float64]) -> Vec[N, float64]:
    return a


@func
def _wide(a: Vec[N, Float]) -> Vec[N, float32]:
    return Vec[N, float32](a)


@func
def _ratio(a: Float, b: Float) -> Float:
    """`a / b`; 0 if `b` is 0."""
    return where(b == Float(0.0), Float(0.0), a / b)


@func
@zero_grad("a bound")
def _half_of_digits(x: float32) -> float32:
    """The root of the distance of 1 to the next number: what is divided by a difference that small, relative to the numbers, keeps
    half of its digits."""
    return 3.4526698e-4


@func
@zero_grad("a bound")
def _half_of_digits(x: float64) -> float64:
    return float64(1.4901161193847656e-8)


@func
@zero_grad("a bound")
def _size(a: Mat[N, N, Float]) -> Float:
    """The sum of magnitudes."""
    sum = Float(0.0)
    for i in range(N):
        for j in range(N):
            sum += abs(a[i, j])
    return sum


@func
def _turn(sum: Float, rounding: Float, difference: Float, scale: Float) -> Float:
    """`sum / difference`, where `difference` is one of numbers of the size `scale`; 0 if it is 0, or if half of the digits are lost
    and `sum` is less than `rounding`.

    A function of `U * transpose(V)` alone turns no vectors against each other, whatever the singular values are: what rounding
    makes of that 0 must not be divided by a small number.
    """
    # Not `<=`: what is infinite stays so.
    lost = abs(difference) <= _half_of_digits(scale) * scale and abs(sum) < rounding
    return where(lost, Float(0.0), _ratio(sum, difference))


@func
@zero_grad("a bound")
def _rounding(size: Float) -> Float:
    """What rounding leaves of 0 in products with unit vectors, where the magnitudes of the other factor sum up to `size`."""
    half = _half_of_digits(size)
    return Float(2.0) * half * half * size


@func
@no_grad("a truth value")
def _loses_digits(difference: Float, size: Float, a: Float, b: Float, any: Float) -> bool:
    """Whether `(a + b) / difference` has lost half of its digits or more, where `difference` is one of numbers of the size `size`.

    A sum that is no more than rounding leaves of 0 is 0: it loses nothing. Where the numbers are equal but for rounding, the quotient
    is left out, or says nothing, so that all counts that comes with it: `any`.
    """
    half = _half_of_digits(size)
    rounding = Float(16.0) * half * half
    if abs(difference) <= rounding * abs(size):
        return any != Float(0.0)
    return abs(difference) <= half * abs(size) and abs(a + b) > rounding * (abs(a) + abs(b))


@func
@no_grad("a bound")
def _apart(a: Float, b: Float, all: Vec[N, Float]) -> Float:
    """How far two adjoints of values are apart; 0 if that is no more than half of the digits of the largest of `all`."""
    difference = abs(a - b)
    size = Float(0.0)
    for i in range(N):
        size = max(size, abs(all[i]))
    return where(difference > _half_of_digits(size) * size, difference, Float(0.0))


@func
@zero_grad("a power of two")
def _unit(a: Mat[N, N, Float]) -> Float:
    """The power of two that brings the elements of `a` to about 1; NaN if one is not finite."""
    size = _size(a * Float(0.0625))
    return where(isfinite(size), _scale(size), Float(_nan_f32()))


# ---- QR
# -----------------------------------------------------------------------------------------------------------------


@func
def qr3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Mat[3, 3, Float]]:
    """QR decomposition: a rotation `Q` and an upper triangular `R` with `A = Q * R`.

    The first two diagonal elements of `R` are not negative; the third has the sign of the determinant of `A`.
    Where one of the first two is 0, no gradient is passed through the turn it leaves open.

    ```python
    Q, R = wp.qr3(wp.mat33(0.0, -2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 3.0))
    wp.expect_near(R, wp.diag(wp.vec3(1.0, 2.0, 3.0)))
    ```
    """
    a = _wide(A)
    unit = _unit(a)
    Q, R = _qr3(a * unit)
    return Mat[3, 3, Float](Q), Mat[3, 3, Float](R * _inverse_power(unit))


@func
def qr3(A: Mat[3, 3, Float], Q: ref[Mat[3, 3, Float]], R: ref[Mat[3, 3, Float]]):
    """Sets `Q` and `R` to the QR decomposition of `A`."""
    Q, R = qr3(A)


@func
def _qr3(A: Mat[3, 3, Float]):
    """By Givens rotations (Golub and Van Loan, Matrix Computations, section 5.2)."""
    r = A
    t = diag(Vec[3, Float](Float(1.0), Float(1.0), Float(1.0)))
    for i in range(2):
        for j in range(i + 1, 3):
            c, s = _unit_direction(r[i, i], r[j, i])
            upper = r[i] * c + r[j] * s
            r[j] = r[j] * c - r[i] * s
            r[i] = upper
            r[j, i] = Float(0.0)
            upper = t[i] * c + t[j] * s
            t[j] = t[j] * c - t[i] * s
            t[i] = upper
    return transpose(t), r


@func
def _unit_direction(x: Float, y: Float) -> tuple[Float, Float]:
    """Cosine and sine of the angle of (`x`, `y`): a unit vector, also where the squares of both are 0. (1, 0) at the origin."""
    steep = abs(y) > abs(x)
    long = where(steep, abs(y), abs(x))
    t = _ratio(where(steep, abs(x), abs(y)), long)
    along = Float(1.0) / sqrt(Float(1.0) + t * t)
    across = t * along
    c = where(steep, across, along)
    s = where(steep, along, across)
    return where(x < Float(0.0), -c, c), where(y < Float(0.0), -s, s)


@func_grad(qr3)
def _(A: Mat[3, 3, Float], adj_Q: Mat[3, 3, Float], adj_R: Mat[3, 3, Float]):
    a = _wide(A)
    unit = _unit(a)
    Q, R = _qr3(a * unit)
    adjoint[A] += Mat[3, 3, Float](_qr_adjoint(Q, R, _wide(adj_Q) * unit, _wide(adj_R)))


@func
def _qr_adjoint(
    Q: Mat[3, 3, Float], R: Mat[3, 3, Float], adj_Q: Mat[3, 3, Float], adj_R: Mat[3, 3, Float]
) -> Mat[3, 3, Float]:
    """With dQ = Q W and W skew, transpose(Q) dA = W R + dR: the part below the diagonal gives W, the rest dR.

    `R` and `adj_Q` are scaled by the same number: a product with `R` is divided by `R`.
    """
    x = adj_R
    for i in range(3):
        for j in range(i):
            x[i, j] = Float(0.0)
    w = transpose(Q) * adj_Q - x * transpose(R)
    w -= transpose(w)
    x[1, 0] = _ratio(w[1, 0], R[0, 0])
    x[2, 1] = _ratio(w[2, 1], R[1, 1])
    x[2, 0] = _ratio(w[2, 0] - x[2, 1] * R[0, 1], R[0, 0])
    return Q * x


@func
@zero_grad("a truth value")
def _degenerate_qr3(A: Mat[3, 3, Float], adj_Q: Mat[3, 3, Float], adj_R: Mat[3, 3, Float]) -> bool:
    """the first two columns are nearly parallel, or one is nearly 0: the turn that they leave open has few digits, or none"""
    a = _wide(A)
    unit = _unit(a)
    Q, R = _qr3(a * unit)
    return _qr_degenerate(Q, R, _wide(adj_Q) * unit, _wide(adj_R))


@func
@zero_grad("a truth value")
def _degenerate_qr3(
    A: Mat[3, 3, Float],
    Q: Mat[3, 3, Float],
    R: Mat[3, 3, Float],
    adj_Q: Mat[3, 3, Float],
    adj_R: Mat[3, 3, Float],
) -> bool:
    """the first two columns are nearly parallel, or one is nearly 0: the turn that they leave open has few digits, or none"""
    return _degenerate_qr3(A, adj_Q, adj_R)


@func
@no_grad("a truth value")
def _qr_degenerate(
    Q: Mat[3, 3, Float], R: Mat[3, 3, Float], adj_Q: Mat[3, 3, Float], adj_R: Mat[3, 3, Float]
) -> bool:
    x = adj_R
    for i in range(3):
        for j in range(i):
            x[i, j] = Float(0.0)
    w = transpose(Q) * adj_Q - x * transpose(R)
    size = max(max(length(R[0]), length(R[1])), abs(R[2, 2]))
    w -= transpose(w)
    first = _loses_digits(R[0, 0], size, w[1, 0], w[2, 0], abs(w[1, 0]) + abs(w[2, 0]))
    return first or _loses_digits(R[1, 1], size, w[2, 1], Float(0.0), w[2, 1])


# ---- Symmetric eigenvalues
# ----------------------------------------------------------------------------------------------


@func
def eig3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float]]:
    """Eigenvalue decomposition of a symmetric matrix: a rotation `Q` with the eigenvectors in its columns, and the
    eigenvalues `d`, so that `A = Q * diag(d) * transpose(Q)`.

    The eigenvalues come in no particular order. Of a matrix that is not symmetric, the symmetric part is taken.

    ```python
    Q, d = wp.eig3(wp.diag(wp.vec3(3.0, 1.0, 2.0)))
    wp.expect_near(d, wp.vec3(3.0, 1.0, 2.0))
    ```
    """
    Q, d = _eig3(_wide(A))
    return Mat[3, 3, Float](Q), Vec[3, Float](d)


@func
def eig3(A: Mat[3, 3, Float], Q: ref[Mat[3, 3, Float]], d: ref[Vec[3, Float]]):
    """Sets `Q` to eigenvectors (in columns) and `d` to eigenvalues of the symmetric matrix `A`."""
    Q, d = eig3(A)


@func
def _eig3(A: Mat[3, 3, Float]):
    unit = _unit(A)
    a = A * unit
    s = (a + transpose(a)) * Float(0.5)
    Q = quat_to_matrix(_jacobi(s, _sweeps(s)))
    return Q, get_diag(transpose(Q) * s * Q) * _inverse_power(unit)


@func_grad(eig3)
def _(A: Mat[3, 3, Float], adj_Q: Mat[3, 3, Float], adj_d: Vec[3, Float]):
    Q, d = _eig3(_wide(A))
    adjoint[A] += Mat[3, 3, Float](_eig_adjoint(Q, d, _wide(adj_Q), _wide(adj_d)))


@func
def _eig_adjoint(
    Q: Mat[3, 3, Float], d: Vec[3, Float], adj_Q: Mat[3, 3, Float], adj_d: Vec[3, Float]
) -> Mat[3, 3, Float]:
    """M. Giles, Collected matrix derivative results, Oxford 2008, section 3.1; the symmetric part."""
    w = transpose(Q) * adj_Q
    rounding = _rounding(_size(adj_Q))
    scale = max(max(abs(d[0]), abs(d[1])), abs(d[2]))
    m = diag(adj_d)
    for i in range(3):
        for j in range(i):
            m[i, j] = Float(0.5) * _turn(w[i, j] - w[j, i], rounding, d[j] - d[i], scale)
            m[j, i] = m[i, j]
    return Q * m * transpose(Q)


@func
@zero_grad("a truth value")
def _degenerate_eig3(A: Mat[3, 3, Float], adj_Q: Mat[3, 3, Float], adj_d: Vec[3, Float]) -> bool:
    """two eigenvalues are nearly equal: what would turn their vectors against each other has few digits, or is left out"""
    Q, d = _eig3(_wide(A))
    return _eig_degenerate(Q, d, _wide(adj_Q), _wide(adj_d))


@func
@zero_grad("a truth value")
def _degenerate_eig3(
    A: Mat[3, 3, Float], Q: Mat[3, 3, Float], d: Vec[3, Float], adj_Q: Mat[3, 3, Float], adj_d: Vec[3, Float]
) -> bool:
    """two eigenvalues are nearly equal: what would turn their vectors against each other has few digits, or is left out"""
    return _degenerate_eig3(A, adj_Q, adj_d)


@func
@no_grad("a truth value")
def _eig_degenerate(
    Q: Mat[3, 3, Float], d: Vec[3, Float], adj_Q: Mat[3, 3, Float], adj_d: Vec[3, Float]
) -> bool:
    w = transpose(Q) * adj_Q
    size = max(max(abs(d[0]), abs(d[1])), abs(d[2]))
    found = False
    for i in range(3):
        for j in range(i):
            any = abs(w[i, j]) + abs(w[j, i]) + _apart(adj_d[i], adj_d[j], adj_d)
            found = found or _loses_digits(d[j] - d[i], size, w[i, j], -w[j, i], any)
    return found


@func
def _sweeps(a: Mat[3, 3, float32]) -> int32:
    """Sweeps after which `_jacobi` has nearly always converged; two more take only the rotations that matter."""
    return 4


@func
def _sweeps(a: Mat[3, 3, float64]) -> int32:
    return 8


@func
def _jacobi(a: Mat[3, 3, Float], sweeps: int32) -> Quat[Float]:
    """The rotation to eigenvectors of the symmetric `a`: cyclic Jacobi with approximate angles, taken together as a
    quaternion (A. McAdams et al., Computing the singular value decomposition of 3x3 matrices with minimal branching,
    University of Wisconsin technical report 1690, 2011, section 2).
    """
    s = a
    q = Quat[Float](Float(0.0), Float(0.0), Float(0.0), Float(1.0))
    for sweep in range(sweeps + 2):
        for x in range(3):
            y = (x + 1) % 3
            z = (x + 2) % 3
            # Half the angle that takes s[x, y] to about 0; pi / 8 where that estimate is no better.
            ch = Float(2.0) * (s[x, x] - s[y, y])
            sh = s[x, y]
            small = Float(5.82842712474619) * sh * sh < ch * ch
            w = Float(1.0) / sqrt(ch * ch + sh * sh)
            ch = where(small, w * ch, Float(0.9238795325112867))
            sh = where(small, w * sh, Float(0.3826834323650898))
            small_enough = where(sweep >= sweeps, Float(5.0e-7) * (abs(s[x, x]) + abs(s[y, y])), Float(0.0))
            if abs(s[x, y]) <= small_enough:
                ch = Float(1.0)
                sh = Float(0.0)
            n = ch * ch + sh * sh
            c = (ch * ch - sh * sh) / n
            b = Float(2.0) * sh * ch / n
            xx = c * s[x, x] + b * s[x, y]
            xy = c * s[x, y] + b * s[y, y]
            yx = c * s[x, y] - b * s[x, x]
            yy = c * s[y, y] - b * s[x, y]
            xz = c * s[x, z] + b * s[y, z]
            yz = c * s[y, z] - b * s[x, z]
            s[x, x] = c * xx + b * xy
            s[x, y] = c * yx + b * yy
            s[y, x] = s[x, y]
            s[y, y] = c * yy - b * yx
            s[x, z] = xz
            s[z, x] = xz
            s[y, z] = yz
            s[z, y] = yz
            turned = Quat[Float]()
            turned[x] = q[x] * ch + q[y] * sh
            turned[y] = q[y] * ch - q[x] * sh
            turned[z] = q[z] * ch + q[3] * sh
            turned[3] = q[3] * ch - q[z] * sh
            q = turned
    return normalize(q)


# ---- Singular values
# ----------------------------------------------------------------------------------------------------


@func
def svd2(A: Mat[2, 2, Float]) -> tuple[Mat[2, 2, Float], Vec[2, Float], Mat[2, 2, Float]]:
    """Singular value decomposition: `U`, `sigma`, `V` with `A = U * diag(sigma) * transpose(V)`.

    `V` is a rotation, `sigma[0] >= sigma[1] >= 0`, and `U` is a rotation, or a reflection where the determinant of `A` is
    negative.

    ```python
    U, sigma, V = wp.svd2(wp.mat22(0.0, -1.0, 3.0, 0.0))
    wp.expect_near(sigma, wp.vec2(3.0, 1.0))
    ```
    """
    U, sigma, V = _svd2(_wide(A))
    return Mat[2, 2, Float](U), Vec[2, Float](sigma), Mat[2, 2, Float](V)


@func
def svd2(A: Mat[2, 2, Float], U: ref[Mat[2, 2, Float]], sigma: ref[Vec[2, Float]], V: ref[Mat[2, 2, Float]]):
    """Sets `U`, `sigma` and `V` to the singular value decomposition of `A`."""
    U, sigma, V = svd2(A)


@func
def _svd2(A: Mat[2, 2, Float]):
    """The eigenvectors of transpose(A) A in closed form: twice their angle has the cosine and sine (d, b)."""
    unit = _unit(A)
    a = A * unit
    d = (a[0, 0] - a[0, 1]) * (a[0, 0] + a[0, 1]) + (a[1, 0] - a[1, 1]) * (a[1, 0] + a[1, 1])
    b = Float(2.0) * (a[0, 0] * a[0, 1] + a[1, 0] * a[1, 1])
    d, b = _unit_direction(d, b)
    # Half the angle of (d, b) is that of (1 + d, b), and of (b, 1 - d).
    x = Float(1.0) + d
    y = b
    if d < Float(0.0):
        x = abs(b)
        y = where(b < Float(0.0), d - Float(1.0), Float(1.0) - d)
    # Of the two opposite vectors, the one left of the diagonal.
    if y > x:
        x = -x
        y = -y
    c, s = _unit_direction(x, y)
    u = Vec[2, Float](a[0, 0] * c + a[0, 1] * s, a[1, 0] * c + a[1, 1] * s)
    first = length(u)
    if first == Float(0.0):
        u = Vec[2, Float](Float(1.0), Float(0.0))
    else:
        u = u / first
    det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    side = sign(det)
    second = min(_ratio(abs(det), first), first)
    return (
        Mat[2, 2, Float](u[0], -u[1] * side, u[1], u[0] * side),
        Vec[2, Float](first, second) * _inverse_power(unit),
        Mat[2, 2, Float](c, -s, s, c),
    )


@func
def svd3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float], Mat[3, 3, Float]]:
    """Singular value decomposition: `U`, `sigma`, `V` with `A = U * diag(sigma) * transpose(V)`.

    `U` and `V` are rotations. The singular values fall in magnitude; the first two are not negative, and the third has the
    sign of the determinant of `A`.

    ```python
    U, sigma, V = wp.svd3(wp.diag(wp.vec3(1.0, 3.0, 2.0)))
    wp.expect_near(sigma, wp.vec3(3.0, 2.0, 1.0), 1.0e-5)
    ```
    """
    U, sigma, V = _svd3(_wide(A))
    return Mat[3, 3, Float](U), Vec[3, Float](sigma), Mat[3, 3, Float](V)


@func
def svd3(A: Mat[3, 3, Float], U: ref[Mat[3, 3, Float]], sigma: ref[Vec[3, Float]], V: ref[Mat[3, 3, Float]]):
    """Sets `U`, `sigma` and `V` to the singular value decomposition of `A`."""
    U, sigma, V = svd3(A)


@func
def _svd3(A: Mat[3, 3, Float]):
    """V from the eigenvectors of transpose(A) A (McAdams et al. 2011), made exact by rotations that make the columns of A V
    orthogonal, and sorted; then A V = U diag(sigma) by QR.
    """
    unit = _unit(A)
    a = A * unit
    v = transpose(quat_to_matrix(_jacobi(transpose(a) * a, _sweeps(a) / 2)))
    # The eigenvectors are right to a rounding of the largest eigenvalue, which is the square of the
    # largest singular value: without more, small ones had half of the digits, or none.
    b, v = _with_orthogonal_rows(v * transpose(a), v, 2)
    for k in range(3):
        i = k / 2
        j = (k + 3) / 2
        if length_sq(b[i]) < length_sq(b[j]):
            longer = b[j]
            b[j] = -b[i]
            b[i] = longer
            longer = v[j]
            v[j] = -v[i]
            v[i] = longer
    U, R = _qr3(transpose(b))
    return U, _falling(get_diag(R)) * _inverse_power(unit), transpose(v)


@func
def _with_orthogonal_rows(
    b: Mat[3, 3, Float], v: Mat[3, 3, Float], sweeps: int32
) -> tuple[Mat[3, 3, Float], Mat[3, 3, Float]]:
    """`b` and `v` times a rotation that makes the rows of `b` orthogonal. Each round takes the first two rows, and moves all by one.

    The number of sweeps is a parameter to keep the loop a loop.
    """
    for _ in range(3 * sweeps):
        c, s = _orthogonal(b[0], b[1])
        b = matrix_from_rows(b[1] * c - b[0] * s, b[2], b[0] * c + b[1] * s)
        v = matrix_from_rows(v[1] * c - v[0] * s, v[2], v[0] * c + v[1] * s)
    return b, v


@func
def _orthogonal(a: Vec[3, Float], b: Vec[3, Float]) -> tuple[Float, Float]:
    """Cosine and sine of the rotation, by pi / 4 at most, that makes `a` and `b` orthogonal (M. Hestenes, Inversion of matrices by
    biorthogonalization, Journal of SIAM 6, 1958).
    """
    product = dot(a, b)
    z = (length_sq(a) - length_sq(b)) / (Float(2.0) * product)
    t = Float(1.0) / (abs(z) + sqrt(Float(1.0) + z * z))
    t = where(product == Float(0.0), Float(0.0), where(z < Float(0.0), -t, t))
    c = Float(1.0) / sqrt(Float(1.0) + t * t)
    return c, t * c


@func
def _falling(d: Vec[3, Float]) -> Vec[3, Float]:
    """`d` in the order of magnitude, where rounding has left equal ones in another."""
    last = abs(d[2])
    second = max(min(d[0], d[1]), last)
    return Vec[3, Float](max(max(d[0], d[1]), last), min(max(d[0], d[1]), second), copysign(min(min(d[0], d[1]), last), d[2]))


@func_grad(svd2)
def _(A: Mat[2, 2, Float], adj_U: Mat[2, 2, Float], adj_sigma: Vec[2, Float], adj_V: Mat[2, 2, Float]):
    U, sigma, V = _svd2(_wide(A))
    adjoint[A] += Mat[2, 2, Float](_svd_adjoint(U, sigma, V, _wide(adj_U), _wide(adj_sigma), _wide(adj_V)))


@func_grad(svd3)
def _(A: Mat[3, 3, Float], adj_U: Mat[3, 3, Float], adj_sigma: Vec[3, Float], adj_V: Mat[3, 3, Float]):
    # By `svd3`, for second derivatives: those of its iterations are 0 / 0 where these have ended.
    U, sigma, V = svd3(_wide(A))
    adjoint[A] += Mat[3, 3, Float](_svd_adjoint(U, sigma, V, _wide(adj_U), _wide(adj_sigma), _wide(adj_V)))


@func
def _svd_adjoint(
    U: Mat[N, N, Float],
    sigma: Vec[N, Float],
    V: Mat[N, N, Float],
    adj_U: Mat[N, N, Float],
    adj_sigma: Vec[N, Float],
    adj_V: Mat[N, N, Float],
) -> Mat[N, N, Float]:
    """J. Townsend, Differentiating the singular value decomposition, 2016; with 1 / (x^2 - y^2) taken apart, so that
    sums and differences of singular values are each divided by once.
    """
    p = transpose(U) * adj_U
    p -= transpose(p)
    q = transpose(V) * adj_V
    q -= transpose(q)
    rounding = _rounding(_size(adj_U) + _size(adj_V))
    m = diag(adj_sigma)
    for i in range(N):
        for j in range(N):
            if i != j:
                mirrored = _turn(p[i, j] - q[i, j], rounding, sigma[j] + sigma[i], sigma[0])
                turned = _turn(p[i, j] + q[i, j], rounding, sigma[j] - sigma[i], sigma[0])
                m[i, j] = Float(0.5) * (mirrored + turned)
    return U * m * transpose(V)


@func
@zero_grad("a truth value")
def _degenerate_svd2(
    A: Mat[2, 2, Float], adj_U: Mat[2, 2, Float], adj_sigma: Vec[2, Float], adj_V: Mat[2, 2, Float]
) -> bool:
    """two singular values are nearly equal: what would turn their vectors against each other has few digits, or is left out"""
    U, sigma, V = _svd2(_wide(A))
    return _svd_degenerate(U, sigma, V, _wide(adj_U), _wide(adj_sigma), _wide(adj_V))


@func
@zero_grad("a truth value")
def _degenerate_svd2(
    A: Mat[2, 2, Float],
    U: Mat[2, 2, Float],
    sigma: Vec[2, Float],
    V: Mat[2, 2, Float],
    adj_U: Mat[2, 2, Float],
    adj_sigma: Vec[2, Float],
    adj_V: Mat[2, 2, Float],
) -> bool:
    """two singular values are nearly equal: what would turn their vectors against each other has few digits, or is left out"""
    return _degenerate_svd2(A, adj_U, adj_sigma, adj_V)


@func
@zero_grad("a truth value")
def _degenerate_svd3(
    A: Mat[3, 3, Float], adj_U: Mat[3, 3, Float], adj_sigma: Vec[3, Float], adj_V: Mat[3, 3, Float]
) -> bool:
    """two singular values are nearly equal: what would turn their vectors against each other has few digits, or is left out"""
    U, sigma, V = _svd3(_wide(A))
    return _svd_degenerate(U, sigma, V, _wide(adj_U), _wide(adj_sigma), _wide(adj_V))


@func
@zero_grad("a truth value")
def _degenerate_svd3(
    A: Mat[3, 3, Float],
    U: Mat[3, 3, Float],
    sigma: Vec[3, Float],
    V: Mat[3, 3, Float],
    adj_U: Mat[3, 3, Float],
    adj_sigma: Vec[3, Float],
    adj_V: Mat[3, 3, Float],
) -> bool:
    """two singular values are nearly equal: what would turn their vectors against each other has few digits, or is left out"""
    return _degenerate_svd3(A, adj_U, adj_sigma, adj_V)


@func
@no_grad("a truth value")
def _svd_degenerate(
    U: Mat[N, N, Float],
    sigma: Vec[N, Float],
    V: Mat[N, N, Float],
    adj_U: Mat[N, N, Float],
    adj_sigma: Vec[N, Float],
    adj_V: Mat[N, N, Float],
) -> bool:
    p = transpose(U) * adj_U
    q = transpose(V) * adj_V
    found = False
    for i in range(N):
        for j in range(i):
            a = p[i, j] - p[j, i]
            b = q[i, j] - q[j, i]
            any = abs(p[i, j]) + abs(p[j, i]) + abs(q[i, j]) + abs(q[j, i])
            # Of equal values that count differently, which is which is open; of values that are 0,
            # the sign.
            turned = any + _apart(adj_sigma[i], adj_sigma[j], adj_sigma)
            mirrored = any + _apart(adj_sigma[i], -adj_sigma[j], adj_sigma)
            equal = _loses_digits(sigma[j] - sigma[i], sigma[0], a, b, turned)
            opposite = _loses_digits(sigma[j] + sigma[i], sigma[0], a, -b, mirrored)
            found = found or equal or opposite
    return found
