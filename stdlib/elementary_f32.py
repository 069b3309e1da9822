# The elementary functions of elementary.py in float32. Arithmetic is float32 and integer, except
# for the rare huge angle: most GPUs have 1/32 or less of their float32 speed in float64.
# Coefficients and their errors: benches/minimax.py; measured bounds: docs/accuracy.md.
#
# Common to all: the argument is reduced with constants split in several floats, so that products
# with a small integer lose nothing (W. J. Cody, W. Waite, Software Manual for the Elementary
# Functions, 1980), with fma where it makes a remainder exact (J.-M. Muller, Elementary Functions,
# 3rd ed., 2016); a polynomial does the rest; special values are selected at the end, so that there
# is nothing to branch on.

# Adding 1.5 * 2^23 to a float below 2^22 rounds it to an integer, which is then in the low bits of
# the sum.
_ROUND_F32 = 12582912.0
_ROUND_F32_BITS = 0x4B400000
# pi / 2 in three parts.
_PIO2_1_F32 = 1.57079637
_PIO2_2_F32 = -4.37113883e-08
_PIO2_3_F32 = -1.71512451e-15
# Above this the integer multiple of pi/2 has too many bits for the three parts.
_TRIG_LIMIT_F32 = 48000.0


@func
def _inf_f32() -> float32:
    return _float_from_bits(uint32(0x7F800000))


@func
def _nan_f32() -> float32:
    return _float_from_bits(uint32(0x7FC00000))


@func
def _power_of_two_f32(n: int32) -> float32:
    """2^n for -126 <= n <= 127."""
    return _float_from_bits(uint32(n + 127) << 23)


@func
def _scale_f32(x: float32, n: int32) -> float32:
    """x * 2^n for x around 1 and |n| < 250, rounded once also where the result is subnormal."""
    half = n >> 1
    return x * _power_of_two_f32(half) * _power_of_two_f32(n - half)


# ---- sin, cos, tan
# ---------------------------------------------------------------------------------------------------


@func
def _far_remainder_f32(x: float32) -> float64:
    """x - n pi/2 for the nearest integer n, whose last two bits are in the last two of the result; for |x| >= 2^15.

    Multiplies with the bits of 2/pi that matter for the size of x (M. Payne, R. Hanek, Radian reduction for
    trigonometric functions, SIGNUM Newsletter 18, 1983): higher ones give multiples of 4. This is rare on a GPU, so
    float64 may be slow there; it is short enough for the host's vector code, which has no branches.
    """
    a = abs(x)
    r1 = a < 8796093022208.0
    r2 = a < 2.3611832414348226e+21
    r3 = a < 6.338253001141147e+29
    # y = x 2^-s is whole and below 2^52; t1 + t2 + t3 = 2/pi 2^s mod 4, t1 and t2 in 28 bits: two
    # products are exact.
    scale = where(r3, 3.552713678800501e-15, float64(1.3234889800848443e-23))
    scale = where(r1, 256.0, where(r2, 9.5367431640625e-07, scale))
    y = float64(x) * scale
    t1 = where(r3, 0.0826718807220459, float64(2.4589404612779617))
    t1 = where(r1, 0.00248679518699646, where(r2, 0.21443010866641998, t1))
    t2 = where(r3, 9.160267044894255e-09, float64(4.494595085002828e-09))
    t2 = where(r1, 7.988144035131484e-10, where(r2, 3.079767552094381e-10, t2))
    t3 = where(r3, 1.6743671554161654e-17, float64(2.3752783761675716e-17))
    t3 = where(r1, 1.1473029454577421e-18, where(r2, 3.4124654016039988e-17, t3))
    p1 = y * t1
    p2 = y * t2
    f1 = _fma(-4.0, _round_even(0.25 * p1), p1)
    f2 = _fma(-4.0, _round_even(0.25 * p2), p2)
    # The integer lands in the last bits of the sum.
    sum = _fma(y, t3, f1 + f2) + 6755399441055744.0
    f = _fma(y, t3, (f1 - (sum - 6755399441055744.0)) + f2)
    return _float_from_bits((_bits(f * 1.5707963267948966) & 0xFFFFFFFFFFFFFFFC) | (_bits(sum) & 3))


@func
def _sin_near(r: float32) -> float32:
    """sin(r) for |r| <= pi/4."""
    z = r * r
    s = _fma(z, -0.000195180954, 0.00833218824)
    s = _fma(z, s, -0.166666552)
    return _fma(z * r, s, r)


@func
def _cos_near(r: float32) -> float32:
    """cos(r) for |r| <= pi/4."""
    z = r * r
    c = _fma(z, 2.44306702e-05, -0.00138873013)
    c = _fma(z, c, 0.0416666456)
    return _fma(z * z, c, _fma(z, -0.5, 1.0))


@func
def _sin_quadrant_f32(x: float32, quadrant: uint32) -> float32:
    """sin(x + quadrant * pi/2)."""
    t = _fma(x, 0.636619747, _ROUND_F32)
    k = t - _ROUND_F32
    q = _bits(t)
    r = _fma(-k, _PIO2_1_F32, x)
    r = _fma(-k, _PIO2_2_F32, r)
    r = _fma(-k, _PIO2_3_F32, r)
    if abs(x) > _TRIG_LIMIT_F32:
        far = _far_remainder_f32(x)
        r = float32(far)
        q = uint32(_bits(far))
    q = q + quadrant
    value = where((q & 1) == 0, _sin_near(r), _cos_near(r))
    return where((q & 2) == 0, value, -value)


@func
def _sin(x: float32) -> float32:
    # The sum of the polynomial would lose the sign of -0.
    return where(x == 0.0, x, _sin_quadrant_f32(x, uint32(0)))


@func
def _cos(x: float32) -> float32:
    return _sin_quadrant_f32(x, uint32(1))


@func
def _tan(x: float32) -> float32:
    # As for the sine, but the rounding error of the reduced argument is kept: the tangent would
    # double it.
    t = _fma(x, 0.636619747, _ROUND_F32)
    k = t - _ROUND_F32
    q = _bits(t)
    r1 = _fma(-k, _PIO2_1_F32, x)
    product = k * _PIO2_2_F32
    r2 = r1 - product
    tail = _fma(-k, _PIO2_3_F32, ((r1 - r2) - product) - _fma(k, _PIO2_2_F32, -product))
    r = r2 + tail
    tail = (r2 - r) + tail
    if abs(x) > _TRIG_LIMIT_F32:
        far = _far_remainder_f32(x)
        r = float32(far)
        tail = float32(far - float64(r))
        q = uint32(_bits(far))
    z = r * r
    p = _fma(z, 0.00939652603, 0.00310148229)
    p = _fma(z, p, 0.0244413912)
    p = _fma(z, p, 0.0534082018)
    p = _fma(z, p, 0.133388355)
    p = _fma(z, p, 0.333331555)
    # tan(r + tail) = tan r + tail (1 + tan^2 r); tan r + rest, not rounded yet.
    rest = _fma(z * r, p, _fma(z, tail, tail))
    value = r + rest
    # In odd quadrants -1/tan, with the rounding error of value and of the quotient taken out.
    error = (r - value) + rest
    inverse = -1.0 / value
    correction = _fma(inverse, value, 1.0) + inverse * error
    inverse = where(abs(inverse) < _inf_f32(), _fma(inverse, correction, inverse), inverse)
    return where(x == 0.0, x, where((q & 1) == 0, value, inverse))


# ---- exp, log, pow
# ---------------------------------------------------------------------------------------------------


@func
def _exp_scaled_f32(x: float32, n: int32) -> float32:
    """exp(x) * 2^n for |n| <= 30; NaN for NaN. Overflows to infinity, underflows through the subnormals to 0."""
    x = where(x > 110.0, 110.0, x)
    x = where(x < -110.0, -110.0, x)
    t = _fma(x, 1.44269502, _ROUND_F32)
    k = t - _ROUND_F32
    r = _fma(-k, 0.693147182, x)
    r = _fma(-k, -1.90465421e-09, r)
    p = _fma(r, 0.00139418722, 0.00836868305)
    p = _fma(r, p, 0.0416663885)
    p = _fma(r, p, 0.166665211)
    p = _fma(r, p, 0.5)
    p = _fma(r, _fma(r, p, 1.0), 1.0)
    return _scale_f32(p, int32(_bits(t) - _ROUND_F32_BITS) + n)


@func
def _exp(x: float32) -> float32:
    return _exp_scaled_f32(x, 0)


@func
def _log_exponent_f32(x: float32) -> float32:
    """The e for which x * 2^-e is in sqrt(1/2)..sqrt(2); x positive and finite."""
    small = x < 1.17549435e-38
    scaled = where(small, x * 8388608.0, x)
    e = int32(_bits(scaled) + (0x3F800000 - 0x3F3504F3)) >> 23
    return float32(e - where(small, int32(150), int32(127)))


@func
def _log_significand_f32(x: float32) -> float32:
    """The m in sqrt(1/2)..sqrt(2) with x = m * 2^e; x positive and finite."""
    scaled = where(x < 1.17549435e-38, x * 8388608.0, x)
    u = _bits(scaled) + (0x3F800000 - 0x3F3504F3)
    return _float_from_bits((u & 0x7FFFFF) + 0x3F3504F3)


@func
def _log_special_f32(x: float32, value: float32) -> float32:
    """`value`, but what every logarithm is at 0, below it, at infinity and NaN."""
    value = where(x == 0.0, -_inf_f32(), value)
    value = where(x < 0.0, _nan_f32(), value)
    return where(x < _inf_f32(), value, x)


@func
def _log1p_tail_f32(f: float32) -> float32:
    """(log(1 + f) - f + f^2 / 2) / f^3."""
    p = _fma(f, -0.0763635933, 0.127621412)
    p = _fma(f, p, -0.131595984)
    p = _fma(f, p, 0.142015859)
    p = _fma(f, p, -0.166234106)
    p = _fma(f, p, 0.200012416)
    p = _fma(f, p, -0.250008196)
    return _fma(f, p, 0.333333313)


@func
def _log(x: float32) -> float32:
    e = _log_exponent_f32(x)
    f = _log_significand_f32(x) - 1.0
    z = f * f
    p = _fma(z, -0.5, z * f * _log1p_tail_f32(f))
    p = _fma(e, -1.90465421e-09, p)
    value = _fma(e, 0.693147182, f + p)
    return _log_special_f32(x, value)


@func
def _log2(x: float32) -> float32:
    # log2(1 + f) = (f - rest) / ln 2, where f / ln 2 keeps its rounding error; exact for powers of
    # two.
    e = _log_exponent_f32(x)
    f = _log_significand_f32(x) - 1.0
    rest = _fma(0.5 * f, f, -(f * f * f * _log1p_tail_f32(f)))
    high = f * 1.44269502
    low = _fma(f, 1.44269502, -high) + _fma(f, 1.92596303e-08, rest * -1.44269502)
    return _log_special_f32(x, (e + high) + low)


@func
def _log10(x: float32) -> float32:
    # The first part of log10(2) is short: its product with e is exact.
    e = _log_exponent_f32(x)
    f = _log_significand_f32(x) - 1.0
    rest = _fma(0.5 * f, f, -(f * f * f * _log1p_tail_f32(f)))
    high = f * 0.434294492
    low = _fma(f, 0.434294492, -high) + _fma(f, -1.010305e-08, rest * -0.434294492)
    whole = e * 0.301025390625
    sum = whole + high
    low = ((whole - sum) + high) + _fma(e, 4.60503898e-06, low)
    return _log_special_f32(x, sum + low)


@func
def _pow(x: float32, y: float32) -> float32:
    # 2^(y log2 |x|), with log2 |x| as the unevaluated sum of two floats: its error is multiplied by
    # up to 2^7. log2 m = s (2/ln 2 + z (2/(3 ln 2) + z P(z))) with s = (m - 1) / (m + 1), z = s^2.
    a = abs(x)
    e = _log_exponent_f32(a)
    m = _log_significand_f32(a)
    # s + s_low = (m - 1) / (m + 1)
    numerator = m - 1.0
    denominator = m + 1.0
    denominator_low = m - (denominator - 1.0)
    s = numerator / denominator
    s_low = _fma(-s, denominator, numerator) - s * denominator_low
    s_low = s_low / denominator
    z = s * s
    z_low = _fma(s, s, -z) + 2.0 * s * s_low
    p = _fma(z, 0.337823302, 0.411849856)
    p = _fma(z, p, 0.57708019)
    # u + u_low = 2/(3 ln 2) + z P(z)
    tail = _fma(z, p, -7.02846181e-09)
    u = 0.961796701 + tail
    u_low = (0.961796701 - u) + tail
    # v + v_low = z u, then w + w_low = 2/ln 2 + v
    v = z * u
    v_low = _fma(z, u, -v) + _fma(z, u_low, z_low * u)
    w = 2.88539004 + v
    w_low = ((2.88539004 - w) + v) + (v_low + 3.85192607e-08)
    # h + h_low = log2 m, then l + l_low = e + log2 m
    h = s * w
    h_low = _fma(s, w, -h) + _fma(s, w_low, s_low * w)
    l = e + h
    l_low = ((e - l) + h) + h_low
    return _pow_from_log_f32(x, y, l, l_low)


@func
def _pow_from_log_f32(x: float32, y: float32, l: float32, l_low: float32) -> float32:
    """x^y from l + l_low = log2 |x|, which is not used where |x| is 0, 1, infinite or NaN."""
    a = abs(x)
    inf = _inf_f32()
    product = y * l
    small = abs(product) < 240.0
    product_low = where(small, _fma(y, l, -product) + y * l_low, 0.0)
    product = where(small, product, copysign(float32(240.0), product))
    t = product + _ROUND_F32
    k = t - _ROUND_F32
    r = (product - k) + product_low
    p = _fma(r, 0.00015462884, 0.0013390989)
    p = _fma(r, p, 0.00961806253)
    p = _fma(r, p, 0.0555035956)
    p = _fma(r, p, 0.240226507)
    p = _fma(r, p, 0.693147182)
    value = _scale_f32(_fma(r, p, 1.0), int32(_bits(t) - _ROUND_F32_BITS))
    value = where(a == 1.0, 1.0, value)
    value = where(a == 0.0, where(y < 0.0, inf, float32(0.0)), value)
    value = where(a == inf, where(y < 0.0, 0.0, inf), value)
    whole = trunc(y) == y
    odd = where(whole, trunc(0.5 * y) != 0.5 * y, False)
    value = where(odd, copysign(value, x), value)
    # A negative base needs a whole exponent; -0 and -infinity count as non-negative here, as C's
    # pow has it.
    value = where(whole, value, where(x < 0.0, where(a < inf, _nan_f32(), value), value))
    value = where(x != x, x, value)
    value = where(y != y, y, value)
    value = where(x == 1.0, 1.0, value)
    return where(y == 0.0, 1.0, value)


@func
def _cbrt(x: float32) -> float32:
    # A third of the exponent by integer division, then Halley's iteration, which cubes the error
    # (3% at first). The last one takes what y * y is rounded by too: only its sum rounds. What is
    # below 2^-77 is scaled by 2^48, so that the difference of the cubes keeps its digits.
    a = abs(x)
    small = a < 6.617444900424222e-24
    scaled = where(small, a * 281474976710656.0, a)
    y = _float_from_bits(_bits(scaled) / 3 + 0x2A510000)
    cube = _fma(y * y, y, -scaled)
    y = _fma(-y, 0.25 * cube / _fma(0.75, scaled, 0.5 * cube), y)
    square = y * y
    cube = _fma(_fma(y, y, -square), y, _fma(square, y, -scaled))
    y = _fma(-y, 0.25 * cube / _fma(0.75, scaled, 0.5 * cube), y)
    y = where(small, y * 1.52587890625e-05, y)
    y = where(a < _inf_f32(), y, a)
    return copysign(where(a == 0.0, a, y), x)


# ---- Inverse trigonometric
# -------------------------------------------------------------------------------------------


@func
def _atan_tail_f32(z: float32) -> float32:
    """(atan(x) / x - 1) / z with z = x^2, |x| <= 1."""
    p = _fma(z, 0.00291939313, -0.0163631029)
    p = _fma(z, p, 0.0432046354)
    p = _fma(z, p, -0.0755165592)
    p = _fma(z, p, 0.106657684)
    p = _fma(z, p, -0.14211002)
    p = _fma(z, p, 0.199937671)
    return _fma(z, p, -0.333331525)


@func
def _atan(x: float32) -> float32:
    a = abs(x)
    far = a > 1.0
    t = where(far, 1.0 / a, a)
    z = t * t
    value = _fma(z * t, _atan_tail_f32(z), t)
    value = where(far, (1.57079637 - value) + -4.37113883e-08, value)
    return copysign(value, x)


@func
def _atan2(y: float32, x: float32) -> float32:
    # The angle of the octant next to an axis, then its mirror images.
    ax = abs(x)
    ay = abs(y)
    steep = ay > ax
    high = where(steep, ay, ax)
    low = where(steep, ax, ay)
    t = low / high
    t = where(low == high, 1.0, t)
    t = where(high == 0.0, 0.0, t)
    z = t * t
    value = _fma(z * t, _atan_tail_f32(z), t)
    value = where(steep, (1.57079637 - value) + -4.37113883e-08, value)
    negative = (_bits(x) >> 31) != 0
    value = where(negative, (3.14159274 - value) + -8.74227766e-08, value)
    value = copysign(value, y)
    value = where(x != x, x, value)
    return where(y != y, y, value)


@func
def _asin_tail_f32(z: float32) -> float32:
    """(asin(x) / x - 1) / z with z = x^2 <= 0.55^2."""
    p = _fma(z, 0.0452919155, 0.00857865438)
    p = _fma(z, p, 0.0334432386)
    p = _fma(z, p, 0.0443110019)
    p = _fma(z, p, 0.0750162676)
    return _fma(z, p, 0.166666403)


@func
def _asin(x: float32) -> float32:
    # asin x = pi/2 - 2 asin(sqrt((1 - x) / 2)) for x > 0.55.
    a = abs(x)
    near = a <= 0.55
    z = where(near, a * a, 0.5 * (1.0 - a))
    s = where(near, a, sqrt(z))
    tail = s * (z * _asin_tail_f32(z))
    far = _fma(-2.0, s + (tail + 2.18556941e-08), 1.57079637)
    return copysign(where(near, s + tail, far), x)


@func
def _acos(x: float32) -> float32:
    a = abs(x)
    near = a <= 0.55
    z = where(near, a * a, 0.5 * (1.0 - a))
    s = where(near, x, sqrt(z))
    tail = s * (z * _asin_tail_f32(z))
    middle = 1.57079637 - (s + (tail + 4.37113883e-08))
    right = 2.0 * (s + tail)
    left = 3.14159274 - _fma(2.0, s + tail, 8.74227766e-08)
    return where(near, middle, where(x < 0.0, left, right))


# ---- Hyperbolic
# ------------------------------------------------------------------------------------------------------


@func
def _tanh(x: float32) -> float32:
    a = abs(x)
    z = x * x
    p = _fma(z, -0.00616961392, 0.021000376)
    p = _fma(z, p, -0.0538357571)
    p = _fma(z, p, 0.13332437)
    p = _fma(z, p, -0.333333135)
    near = _fma(z * a, p, a)
    far = 1.0 - 2.0 / (_exp(2.0 * a) + 1.0)
    return copysign(where(a < 0.56, near, far), x)


@func
def _sinh(x: float32) -> float32:
    a = abs(x)
    z = x * x
    p = _fma(z, 2.78221319e-06, 0.000198428956)
    p = _fma(z, p, 0.00833331048)
    p = _fma(z, p, 0.166666672)
    near = _fma(z * a, p, a)
    half = _exp_scaled_f32(a, -1)
    return copysign(where(a < 1.0, near, half - 0.25 / half), x)


@func
def _cosh(x: float32) -> float32:
    half = _exp_scaled_f32(abs(x), -1)
    return half + 0.25 / half


# ---- Remainder
# -------------------------------------------------------------------------------------------------------


@func
def _binary_exponent_f32(x: float32) -> int32:
    """The biased exponent that positive x would have if exponents had no lower limit."""
    bits = _bits(x)
    biased = int32(bits >> 23)
    return where(biased == 0, 9 - int32(_leading_zeros(bits)), biased)


@func
def _mod(a: float32, b: float32) -> float32:
    # Long division in binary, 22 bits of the quotient a turn: r - n d with n below 2^23 and right
    # or one too large is exact, because the difference is a multiple of d's last bit and not above
    # d.
    r = abs(a)
    divisor = abs(b)
    if divisor > 0.0 and divisor < _inf_f32() and r < _inf_f32():
        divisor_exponent = _binary_exponent_f32(divisor)
        while r >= divisor:
            n = max(_binary_exponent_f32(r) - divisor_exponent - 22, 0)
            half = n >> 1
            d = divisor * _power_of_two_f32(half) * _power_of_two_f32(n - half)
            r = _fma(-trunc(r / d), d, r)
            r = where(r < 0.0, r + d, r)
        return copysign(r, a)
    # Infinite divisors leave finite a as it is; the rest is NaN.
    return where(r < divisor, a, _nan_f32())


# ---- Error functions
# -------------------------------------------------------------------------------------------------


@func
def _erf_tail_f32(z: float32) -> float32:
    """erf(x) / x - 1 with z = x^2, |x| <= 0.85."""
    p = _fma(z, -0.000634851865, 0.0050577037)
    p = _fma(z, p, -0.0268072877)
    p = _fma(z, p, 0.11282865)
    p = _fma(z, p, -0.376125902)
    return _fma(z, p, 0.128379166)


@func
def _erfcx_series_f32(x: float32) -> float32:
    """(1 + 2 x) exp(x^2) erfc(x) for x >= 0.8: nearly constant in t = (x - c) / (x + c).

    M. M. Shepherd, J. G. Laframboise, Chebyshev approximation of (1 + 2x) exp(x^2) erfc x, Math. Comp. 36, 1981.
    """
    t = (x - 1.5) / (x + 1.5)
    p = _fma(t, -0.0012147543, 0.0036913876)
    p = _fma(t, p, 0.0017417107)
    p = _fma(t, p, -0.00762684504)
    p = _fma(t, p, -0.0179750752)
    p = _fma(t, p, 0.0210324079)
    p = _fma(t, p, 0.114102267)
    p = _fma(t, p, -0.237737864)
    p = _fma(t, p, -0.0339624658)
    return _fma(t, p, 1.28634167)


@func
def _erfc_far_f32(x: float32) -> float32:
    """erfc(x) for x >= 0.8."""
    x = min(x, 10.6)
    # q + q_low = series / (1 + 2 x)
    series = _erfcx_series_f32(x)
    d = _fma(2.0, x, 1.0)
    d_low = _fma(2.0, x, 1.0 - d)
    q = series / d
    q_low = (_fma(-q, d, series) - q * d_low) / d
    # p + p_low = exp(r), where -x^2 = k ln 2 + r and r + r_low is exact enough.
    square = x * x
    square_low = _fma(x, x, -square)
    t = _fma(square, -1.44269502, _ROUND_F32)
    k = t - _ROUND_F32
    r1 = _fma(-k, 0.693147182, -square)
    rest = _fma(-k, -1.90465421e-09, -square_low)
    r = r1 + rest
    r_low = (r1 - r) + rest
    p = _fma(r, 0.00139418722, 0.00836868305)
    p = _fma(r, p, 0.0416663885)
    p = _fma(r, p, 0.166665211)
    p = _fma(r, p, 0.5)
    tail = _fma(r * r, p, r_low) + r_low * r
    sum = 1.0 + r
    tail = ((1.0 - sum) + r) + tail
    p = sum + tail
    p_low = (sum - p) + tail
    product = q * p
    low = _fma(q, p, -product) + _fma(q, p_low, q_low * p)
    return _scale_f32(8.0 * (product + low), int32(_bits(t) - _ROUND_F32_BITS) - 3)


@func
def _erf(x: float32) -> float32:
    a = abs(x)
    near = _fma(a, _erf_tail_f32(a * a), a)
    far = 1.0 - _erfc_far_f32(max(a, 0.8))
    value = copysign(where(a < 0.85, near, far), x)
    return where(x != x, x, value)


@func
def _erfc(x: float32) -> float32:
    a = abs(x)
    # 1 - erf x as 1/2 - ((x - 1/2) + (erf x - x)): nothing is lost for x near 1/2 and above.
    tail = x * _erf_tail_f32(a * a)
    near = where(x < 0.25, 1.0 - (x + tail), 0.5 - (tail + (x - 0.5)))
    far = _erfc_far_f32(max(a, 0.8))
    far = where(x < 0.0, 2.0 - far, far)
    value = where(a < 0.8, near, far)
    return where(x != x, x, value)


@func
def _inverse_erf_ratio_f32(w: float32) -> float32:
    """erfinv(x) / x as a function of w = -log(1 - x^2), to a third of the digits.

    The variable is that of M. Giles, Approximating the erfinv function, GPU Computing Gems 2, 2010.
    """
    near = _inverse_erf_near_f32(w)
    root = sqrt(max(w, 5.0))
    far = root * _inverse_erf_tail_f32(1.0 / root)
    return where(w < 5.0, near, far)


@func
def _inverse_erf_near_f32(w: float32) -> float32:
    p = _fma(w, -0.0013678018, 0.00730515411)
    p = _fma(w, p, 0.236233562)
    return _fma(w, p, 0.885659158)


@func
def _inverse_erf_tail_f32(v: float32) -> float32:
    p = _fma(v, 0.868304849, -0.572591782)
    p = _fma(v, p, -0.0775947794)
    return _fma(v, p, 1.00156713)


@func
def _inverse_erf_refined_f32(y: float32, x: float32, x_low: float32, complement: float32) -> float32:
    """The y > 0 with erf(y) = x + x_low, erfc(y) = complement: one Halley step, which triples the digits."""
    # u = (erf(y) - x) / erf'(y), from the one of erf and erfc that keeps its digits here.
    # exp(y^2) alone could overflow.
    power = _exp_scaled_f32(y * y, -30)
    near = (_fma(y, _erf_tail_f32(y * y), y - x) - x_low) * (power * 1073741824.0)
    series = _erfcx_series_f32(max(y, 0.8))
    d = _fma(2.0, y, 1.0)
    d_low = _fma(2.0, y, 1.0 - d)
    product = (complement * 1073741824.0) * power
    far = _fma(product, d, _fma(product, d_low, -series)) / d
    u = where(y < 0.83, near, far) * 0.886226925
    return y - u / _fma(y, u, 1.0)


@func
def _erfinv(x: float32) -> float32:
    a = abs(x)
    w = -log(_fma(-a, a, 1.0))
    y = a * _inverse_erf_ratio_f32(w)
    value = copysign(_inverse_erf_refined_f32(y, a, 0.0, 1.0 - a), x)
    value = where(a < 1.0, value, where(a == 1.0, copysign(_inf_f32(), x), _nan_f32()))
    return where(a < 1e-10, 0.886226925 * x, value)


@func
def _erfcinv(x: float32) -> float32:
    # x > 1 mirrors 2 - x, which is exact.
    complement = min(x, 2.0 - x)
    a = 1.0 - complement
    w = -(log(complement) + log(2.0 - complement))
    y = a * _inverse_erf_ratio_f32(w)
    value = _inverse_erf_refined_f32(y, a, (1.0 - a) - complement, complement)
    value = where(complement > 0.0, value, where(complement == 0.0, _inf_f32(), _nan_f32()))
    value = where(complement == 1.0, 0.0, value)
    return where(x > 1.0, -value, value)
