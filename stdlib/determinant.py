# Determinants and adjugates of 2x2, 3x3 and 4x4 matrices. Products of elements leave the range of
# floats long before the results do: where they could, rows and columns are scaled by powers of two
# first. That is exact, so the results have the digits that they would have without limits.


@func
def _determinant(a: Mat[2, 2, Float]) -> Float:
    return a[0, 0] * a[1, 1] - a[1, 0] * a[0, 1]


@func
def _determinant(a: Mat[3, 3, Float]) -> Float:
    return dot(a[0], cross(a[1], a[2]))


@func
def _determinant(a: Mat[4, 4, Float]) -> Float:
    return _laplace(_minors(a[0], a[1]), _minors(a[2], a[3]))


@func
def _minors(p: Vec[4, Float], q: Vec[4, Float]) -> Vec[6, Float]:
    """The 2x2 minors of the rows `p` and `q`, for columns 01, 02, 03, 12, 13, 23."""
    return Vec[6, Float](
        p[0] * q[1] - q[0] * p[1],
        p[0] * q[2] - q[0] * p[2],
        p[0] * q[3] - q[0] * p[3],
        p[1] * q[2] - q[1] * p[2],
        p[1] * q[3] - q[1] * p[3],
        p[2] * q[3] - q[2] * p[3],
    )


@func
def _laplace(u: Vec[6, Float], l: Vec[6, Float]) -> Float:
    """The determinant from the minors of the upper and the lower two rows."""
    return u[0] * l[5] - u[1] * l[4] + u[2] * l[3] + u[3] * l[2] - u[4] * l[1] + u[5] * l[0]


@func
def _adjugate(a: Mat[2, 2, Float]) -> tuple[Mat[2, 2, Float], Float]:
    """The transposed cofactors, and the determinant."""
    return Mat[2, 2, Float](a[1, 1], -a[0, 1], -a[1, 0], a[0, 0]), _determinant(a)


@func
def _adjugate(a: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Float]:
    c0 = cross(a[1], a[2])
    c1 = cross(a[2], a[0])
    c2 = cross(a[0], a[1])
    return matrix_from_cols(c0, c1, c2), dot(a[0], c0)


@func
def _adjugate(a: Mat[4, 4, Float]) -> tuple[Mat[4, 4, Float], Float]:
    u = _minors(a[0], a[1])
    l = _minors(a[2], a[3])
    adjugate = Mat[4, 4, Float](
        a[1, 1] * l[5] - a[1, 2] * l[4] + a[1, 3] * l[3],
        a[0, 2] * l[4] - a[0, 1] * l[5] - a[0, 3] * l[3],
        a[3, 1] * u[5] - a[3, 2] * u[4] + a[3, 3] * u[3],
        a[2, 2] * u[4] - a[2, 1] * u[5] - a[2, 3] * u[3],
        a[1, 2] * l[2] - a[1, 0] * l[5] - a[1, 3] * l[1],
        a[0, 0] * l[5] - a[0, 2] * l[2] + a[0, 3] * l[1],
        a[3, 2] * u[2] - a[3, 0] * u[5] - a[3, 3] * u[1],
        a[2, 0] * u[5] - a[2, 2] * u[2] + a[2, 3] * u[1],
        a[1, 0] * l[4] - a[1, 1] * l[2] + a[1, 3] * l[0],
        a[0, 1] * l[2] - a[0, 0] * l[4] - a[0, 3] * l[0],
        a[3, 0] * u[4] - a[3, 1] * u[2] + a[3, 3] * u[0],
        a[2, 1] * u[2] - a[2, 0] * u[4] - a[2, 3] * u[0],
        a[1, 1] * l[1] - a[1, 0] * l[3] - a[1, 2] * l[0],
        a[0, 0] * l[3] - a[0, 1] * l[1] + a[0, 2] * l[0],
        a[3, 1] * u[1] - a[3, 0] * u[3] - a[3, 2] * u[0],
        a[2, 0] * u[3] - a[2, 1] * u[1] + a[2, 2] * u[0],
    )
    return adjugate, _laplace(u, l)


@func
def _is_plain(a: Mat[N, N, Float], det: Float) -> bool:
    """Whether nothing left the range of floats on the way to `det`, the determinant of `a`, and its cofactors: no
    product overflowed, and what underflowed is too small to count.
    """
    squares = Float(0.0)
    for i in range(N):
        squares += dot(a[i], a[i])
    square = _reach(det) * _reach(det)
    return squares < square and abs(det) * (square * square) > squares + Float(1.0)


@func
def _balanced_determinant(a: Mat[N, N, Float]) -> Float:
    det = _determinant(a)
    if not _is_plain(a, det):
        b, rows, columns, far = _balanced(a)
        det = _determinant(b)
        if far:
            det = _times_power_of_two(det, -_exponents(rows, columns))
    return det


@func
def _balanced_cofactors(a: Mat[N, N, Float]) -> Mat[N, N, Float]:
    """The derivative of the determinant."""
    adjugate, det = _adjugate(a)
    cofactors = transpose(adjugate)
    if not _is_plain(a, det):
        b, rows, columns, far = _balanced(a)
        adjugate, det = _adjugate(b)
        cofactors = transpose(adjugate)
        if far:
            all = _exponents(rows, columns)
            for i in range(N):
                for j in range(N):
                    others = _exponent(rows[i]) + _exponent(columns[j]) - all
                    cofactors[i, j] = _times_power_of_two(cofactors[i, j], others)
    return cofactors


@func
def _balanced_inverse(a: Mat[N, N, Float]) -> Mat[N, N, Float]:
    adjugate, det = _adjugate(a)
    inverse = adjugate * (Float(1.0) / det)
    if not _is_plain(a, det):
        inverse = _far_inverse(a)
    return inverse


@func
def _far_inverse(a: Mat[N, N, Float]) -> Mat[N, N, Float]:
    b, rows, columns, far = _balanced(a)
    adjugate, det = _adjugate(b)
    if det == Float(0.0):
        return Mat[N, N, Float]()
    inverse = adjugate * (Float(1.0) / det)
    if far:
        for i in range(N):
            for j in range(N):
                # No factor of a column is below 1/16: in this order, nothing leaves the range on
                # the way.
                x = inverse[i, j]
                inverse[i, j] = where(rows[j] < Float(1.0), x * (columns[i] * rows[j]), x * columns[i] * rows[j])
    return inverse


@func
def _balanced(a: Mat[N, N, Float]) -> tuple[Mat[N, N, Float], Vec[N, Float], Vec[N, Float], bool]:
    """`a` with rows and columns times powers of two, these, and whether they count: `a` is as it was where its rows and
    columns are of a size that keeps all products in range.
    """
    rows = Vec[N, Float]()
    columns = Vec[N, Float]()
    for i in range(N):
        rows[i] = norm_l1(a[i])
        columns += abs(a[i])
    reach = _reach(a[0, 0])
    most = max(max(rows), max(columns))
    far = not (min(min(rows), min(columns)) * reach > Float(1.0) and most < reach)
    b = a
    if far:
        for i in range(N):
            rows[i] = _scale(rows[i])
            b[i] = a[i] * rows[i]
        columns = Vec[N, Float]()
        for i in range(N):
            columns += abs(b[i])
        for j in range(N):
            columns[j] = _scale(columns[j])
        for i in range(N):
            b[i] = cw_mul(b[i], columns)
    return b, rows, columns, far


@func
@zero_grad("an integer")
def _exponents(rows: Vec[N, Float], columns: Vec[N, Float]) -> int32:
    """The exponent of the product of all these powers of two."""
    sum = int32(0)
    for i in range(N):
        sum += _exponent(rows[i]) + _exponent(columns[i])
    return sum


# ---- float16 and bfloat16 compute in float32 and round once
# --------------------------------------------------------------


@func
def _scaled_determinant(a: Mat[N, N, float32]) -> float32:
    return _balanced_determinant(a)


@func
def _scaled_determinant(a: Mat[N, N, float64]) -> float64:
    return _balanced_determinant(a)


@func
def _scaled_determinant(a: Mat[N, N, Float]) -> Float:
    return Float(_balanced_determinant(_wide(a)))


@func
def _cofactors(a: Mat[N, N, float32]) -> Mat[N, N, float32]:
    return _balanced_cofactors(a)


@func
def _cofactors(a: Mat[N, N, float64]) -> Mat[N, N, float64]:
    return _balanced_cofactors(a)


@func
def _cofactors(a: Mat[N, N, Float]) -> Mat[N, N, Float]:
    return Mat[N, N, Float](_balanced_cofactors(_wide(a)))


@func
def _scaled_inverse(a: Mat[N, N, float32]) -> Mat[N, N, float32]:
    return _balanced_inverse(a)


@func
def _scaled_inverse(a: Mat[N, N, float64]) -> Mat[N, N, float64]:
    return _balanced_inverse(a)


@func
def _scaled_inverse(a: Mat[N, N, Float]) -> Mat[N, N, Float]:
    return Mat[N, N, Float](_balanced_inverse(_wide(a)))


# ---- Powers of two
# ----------------------------------------------------------------------------------------------------


@func
@zero_grad("a bound")
def _reach(like: float32) -> float32:
    """Products of four numbers of at most this size, or not less than its inverse, are in range."""
    return 16777216.0


@func
@zero_grad("a bound")
def _reach(like: float64) -> float64:
    return float64(1.6069380442589903e60)


@func
@zero_grad("a power of two")
def _scale(size: float32) -> float32:
    """The power of two that brings a number of this size to 1..2, as far as there is one whose inverse is a float as exact."""
    return _float_from_bits(uint32(clamp(254 - int32(_bits(size) >> 23), 1, 253)) << 23)


@func
@zero_grad("a power of two")
def _scale(size: float64) -> float64:
    return _float_from_bits(uint64(clamp(2046 - int32(_bits(size) >> 52), 1, 2045)) << 52)


@func
@zero_grad("a power of two")
def _inverse_power(power: float32) -> float32:
    """`1 / power`, of what `_scale` gives; NaN of NaN."""
    return where(isnan(power), power, _float_from_bits(uint32(0x7F000000) - _bits(power)))


@func
@zero_grad("a power of two")
def _inverse_power(power: float64) -> float64:
    return where(isnan(power), power, _float_from_bits(uint64(0x7FE0000000000000) - _bits(power)))


@func
@zero_grad("an integer")
def _exponent(power: float32) -> int32:
    """The exponent of a power of two."""
    return int32(_bits(power) >> 23) - 127


@func
@zero_grad("an integer")
def _exponent(power: float64) -> int32:
    return int32(_bits(power) >> 52) - 1023


@func
def _times_power_of_two(x: float32, n: int32) -> float32:
    """`x * 2^n`, where `x` is not far from 1, or 0; rounded once."""
    return _scale_f32(x, clamp(n, -249, 249))


@func
def _times_power_of_two(x: float64, n: int32) -> float64:
    return _scale_f64(x, clamp(n, -2040, 2040))
