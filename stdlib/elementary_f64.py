# The elementary functions of elementary.py in float64. The methods are those of elementary_f32.py
# with longer polynomials; comments here say only what differs.

# Adding 1.5 * 2^52 to a float below 2^51 rounds it to an integer, which is then in the low bits of
# the sum.
_ROUND_F64 = 6755399441055744.0
_ROUND_F64_BITS = 0x4338000000000000
# pi / 2 in three parts.
_PIO2_1_F64 = 1.5707963267948966
_PIO2_2_F64 = 6.123233995736766e-17
_PIO2_3_F64 = -1.4973849048591698e-33
_TRIG_LIMIT_F64 = 1073741824.0


@func
def _inf_f64() -> float64:
    return _float_from_bits(uint64(0x7FF0000000000000))


@func
def _nan_f64() -> float64:
    return _float_from_bits(uint64(0x7FF8000000000000))


@func
def _power_of_two_f64(n: int32) -> float64:
    """2^n for -1022 <= n <= 1023."""
    return _float_from_bits(uint64(n + 1023) << 52)


@func
def _scale_f64(x: float64, n: int32) -> float64:
    """x * 2^n for x around 1 and |n| < 2040, rounded once also where the result is subnormal."""
    half = n >> 1
    return x * _power_of_two_f64(half) * _power_of_two_f64(n - half)


# ---- sin, cos, tan
# ---------------------------------------------------------------------------------------------------


@func
def _two_over_pi_word64(i: int32) -> uint64:
    """Word i of 2/pi: bits 64 (i - 1) to 64 i - 1 after the binary point; word 0 is before the point."""
    w = where(i == 1, uint64(0xA2F9836E4E441529), uint64(0))
    w = where(i == 2, uint64(0xFC2757D1F534DDC0), w)
    w = where(i == 3, uint64(0xDB6295993C439041), w)
    w = where(i == 4, uint64(0xFE5163ABDEBBC561), w)
    w = where(i == 5, uint64(0xB7246E3A424DD2E0), w)
    w = where(i == 6, uint64(0x06492EEA09D1921C), w)
    w = where(i == 7, uint64(0xFE1DEB1CB129A73E), w)
    w = where(i == 8, uint64(0xE88235F52EBB4484), w)
    w = where(i == 9, uint64(0xE99C7026B45F7E41), w)
    w = where(i == 10, uint64(0x3991D639835339F4), w)
    w = where(i == 11, uint64(0x9C845F8BBDF9283B), w)
    w = where(i == 12, uint64(0x1FF897FFDE05980F), w)
    w = where(i == 13, uint64(0xEF2F118B5A0A6D1F), w)
    w = where(i == 14, uint64(0x6D367ECF27CB09B7), w)
    w = where(i == 15, uint64(0x4F463F669E5FEA2D), w)
    w = where(i == 16, uint64(0x7527BAC7EBE5F17B), w)
    w = where(i == 17, uint64(0x3D0739F78A5292EA), w)
    w = where(i == 18, uint64(0x6BFB5FB11F8D5D08), w)
    return where(i == 19, uint64(0x56033046FC7B6BAB), w)


@func
def _two_over_pi_bits(start: int32) -> uint64:
    """64 bits of 2/pi from bit `start` on; bit 64 is the first after the binary point."""
    shift = uint64(start & 63)
    word = _two_over_pi_word64(start >> 6)
    next_word = _two_over_pi_word64((start >> 6) + 1)
    return (word << shift) | ((next_word >> 1) >> (63 - shift))


@func
def _quarter_turns_f64(x: float64) -> uint64:
    """|x| * 2/pi modulo 4 in units of 2^-62, rounded down, for finite |x| >= 2^15."""
    bits = _bits(x)
    significand = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    start = int32((bits >> 52) & 0x7FF) - 1013
    middle = _two_over_pi_bits(start + 64)
    partial = significand * middle
    carry = where(partial + _mul_high(significand, _two_over_pi_bits(start + 128)) < partial, uint64(1), uint64(0))
    return significand * _two_over_pi_bits(start) + _mul_high(significand, middle) + carry


@func
def _quarter_turns_low_f64(x: float64) -> uint64:
    """What `_quarter_turns_f64` leaves off, in units of 2^-126."""
    bits = _bits(x)
    significand = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    start = int32((bits >> 52) & 0x7FF) - 1013
    return significand * _two_over_pi_bits(start + 64) + _mul_high(significand, _two_over_pi_bits(start + 128))


@func
def _sin_near(r: float64) -> float64:
    """sin(r) for |r| <= pi/4."""
    z = r * r
    s = _fma(z, -7.3894572070176532e-13, 1.6054311540090949e-10)
    s = _fma(z, s, -2.5052070923118199e-08)
    s = _fma(z, s, 2.7557319073984633e-06)
    s = _fma(z, s, -0.00019841269840962473)
    s = _fma(z, s, 0.0083333333333330418)
    s = _fma(z, s, -0.16666666666666666)
    return _fma(z * r, s, r)


@func
def _cos_near(r: float64) -> float64:
    """cos(r) for |r| <= pi/4."""
    z = r * r
    c = _fma(z, -1.1359891246013192e-11, 2.0875728553848239e-09)
    c = _fma(z, c, -2.7557314396573222e-07)
    c = _fma(z, c, 2.4801587289659892e-05)
    c = _fma(z, c, -0.0013888888888874463)
    c = _fma(z, c, 0.041666666666666602)
    # 1 - z/2 + z^2 c, with the rounding error of 1 - z/2.
    half = 0.5 * z
    one = 1.0 - half
    return one + _fma(z * z, c, (1.0 - one) - half)


@func
def _sin_quadrant_f64(x: float64, quadrant: uint64) -> float64:
    """sin(x + quadrant * pi/2)."""
    t = _fma(x, 0.63661977236758138, _ROUND_F64)
    k = t - _ROUND_F64
    q = _bits(t)
    r = _fma(-k, _PIO2_1_F64, x)
    r = _fma(-k, _PIO2_2_F64, r)
    r = _fma(-k, _PIO2_3_F64, r)
    if abs(x) > _TRIG_LIMIT_F64:
        turns = _quarter_turns_f64(x)
        nearest = (turns + 0x2000000000000000) >> 62
        offset = int64(turns - (nearest << 62))
        high = float64(offset)
        low = float64(offset - int64(high)) + float64(_quarter_turns_low_f64(x)) * 5.421010862427522e-20
        sum = high + low
        low = (high - sum) + low
        # Times pi/2 * 2^-62 in two parts; the last term makes infinity NaN.
        r = _fma(sum, 3.4061215800865545e-19, _fma(low, 3.4061215800865545e-19, sum * 1.3277647201629795e-35)) + (x - x)
        r = where(x < 0.0, -r, r)
        q = where(x < 0.0, uint64(0) - nearest, nearest)
    q = q + quadrant
    value = where((q & 1) == 0, _sin_near(r), _cos_near(r))
    return where((q & 2) == 0, value, -value)


@func
def _sin(x: float64) -> float64:
    # The sum of the polynomial would lose the sign of -0.
    return where(x == 0.0, x, _sin_quadrant_f64(x, uint64(0)))


@func
def _cos(x: float64) -> float64:
    return _sin_quadrant_f64(x, uint64(1))


@func
def _tan(x: float64) -> float64:
    t = _fma(x, 0.63661977236758138, _ROUND_F64)
    k = t - _ROUND_F64
    q = _bits(t)
    r1 = _fma(-k, _PIO2_1_F64, x)
    product = k * _PIO2_2_F64
    r2 = r1 - product
    tail = _fma(-k, _PIO2_3_F64, ((r1 - r2) - product) - _fma(k, _PIO2_2_F64, -product))
    r = r2 + tail
    tail = (r2 - r) + tail
    if abs(x) > _TRIG_LIMIT_F64:
        turns = _quarter_turns_f64(x)
        nearest = (turns + 0x2000000000000000) >> 62
        offset = int64(turns - (nearest << 62))
        high = float64(offset)
        low = float64(offset - int64(high)) + float64(_quarter_turns_low_f64(x)) * 5.421010862427522e-20
        sum = high + low
        low = (high - sum) + low
        r = sum * 3.4061215800865545e-19 + (x - x)
        tail = _fma(sum, 3.4061215800865545e-19, -r) + _fma(low, 3.4061215800865545e-19, sum * 1.3277647201629795e-35)
        r = where(x < 0.0, -r, r)
        tail = where(x < 0.0, -tail, tail)
        q = nearest
    z = r * r
    p = _fma(z, 2.0878526212549953e-05, -4.4939385699309803e-05)
    p = _fma(z, p, 8.9567382573722964e-05)
    p = _fma(z, p, -2.6509718382662019e-05)
    p = _fma(z, p, 0.00013661186862507594)
    p = _fma(z, p, 0.00022233866644964269)
    p = _fma(z, p, 0.00059507838444902423)
    p = _fma(z, p, 0.0014547548125891437)
    p = _fma(z, p, 0.0035922895815197861)
    p = _fma(z, p, 0.0088632191106808485)
    p = _fma(z, p, 0.021869489612613577)
    p = _fma(z, p, 0.053968253926527994)
    p = _fma(z, p, 0.13333333333414882)
    p = _fma(z, p, 0.33333333333332776)
    rest = _fma(z * r, p, _fma(z, tail, tail))
    value = r + rest
    error = (r - value) + rest
    inverse = -1.0 / value
    correction = _fma(inverse, value, 1.0) + inverse * error
    inverse = where(abs(inverse) < _inf_f64(), _fma(inverse, correction, inverse), inverse)
    return where(x == 0.0, x, where((q & 1) == 0, value, inverse))


# ---- exp, log, pow
# ---------------------------------------------------------------------------------------------------


@func
def _exp_scaled_f64(x: float64, n: int32) -> float64:
    """exp(x) * 2^n for |n| <= 60; NaN for NaN. Overflows to infinity, underflows through the subnormals to 0."""
    x = where(x > 800.0, 800.0, x)
    x = where(x < -800.0, -800.0, x)
    t = _fma(x, 1.4426950408889634, _ROUND_F64)
    k = t - _ROUND_F64
    r = _fma(-k, 0.69314718055994529, x)
    r = _fma(-k, 2.3190468138462996e-17, r)
    p = _fma(r, 2.5117827118913551e-08, 2.7631088341194319e-07)
    p = _fma(r, p, 2.7557216411046172e-06)
    p = _fma(r, p, 2.4801490563586035e-05)
    p = _fma(r, p, 0.0001984126991726548)
    p = _fma(r, p, 0.0013888888946305006)
    p = _fma(r, p, 0.0083333333333072482)
    p = _fma(r, p, 0.041666666666518762)
    p = _fma(r, p, 0.16666666666666699)
    p = _fma(r, p, 0.50000000000000122)
    p = _fma(r, _fma(r, p, 1.0), 1.0)
    return _scale_f64(p, int32(_bits(t) - _ROUND_F64_BITS) + n)


@func
def _exp(x: float64) -> float64:
    return _exp_scaled_f64(x, 0)


@func
def _log_exponent_f64(x: float64) -> float64:
    """The e for which x * 2^-e is in sqrt(1/2)..sqrt(2); x positive and finite."""
    small = x < 2.2250738585072014e-308
    scaled = where(small, x * 4503599627370496.0, x)
    e = int32((_bits(scaled) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)) >> 52)
    return float64(e - where(small, int32(1075), int32(1023)))


@func
def _log_significand_f64(x: float64) -> float64:
    """The m in sqrt(1/2)..sqrt(2) with x = m * 2^e; x positive and finite."""
    scaled = where(x < 2.2250738585072014e-308, x * 4503599627370496.0, x)
    u = _bits(scaled) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    return _float_from_bits((u & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD)


@func
def _log_special_f64(x: float64, value: float64) -> float64:
    """`value`, but what every logarithm is at 0, below it, at infinity and NaN."""
    value = where(x == 0.0, -_inf_f64(), value)
    value = where(x < 0.0, _nan_f64(), value)
    return where(x < _inf_f64(), value, x)


@func
def _log1p_rest_f64(f: float64) -> float64:
    """f - log(1 + f) = f^2/2 - s (f^2/2 + R), with s = f / (2 + f) and R = log((1 + s) / (1 - s)) / s - 2."""
    s = f / (2.0 + f)
    z = s * s
    p = _fma(z, 0.147982593263352, 0.15313832123594459)
    p = _fma(z, p, 0.18183572356132272)
    p = _fma(z, p, 0.22222198428961393)
    p = _fma(z, p, 0.28571428743686583)
    p = _fma(z, p, 0.39999999999409352)
    p = _fma(z, p, 0.66666666666667351)
    half = 0.5 * f * f
    return half - s * _fma(z, p, half)


@func
def _log(x: float64) -> float64:
    # The series in s converges twice as fast as the one in f, which float32 can afford (Muller,
    # section 5.3).
    e = _log_exponent_f64(x)
    f = _log_significand_f64(x) - 1.0
    value = _fma(e, 0.69314718055994529, f - _fma(e, -2.3190468138462996e-17, _log1p_rest_f64(f)))
    return _log_special_f64(x, value)


@func
def _log2(x: float64) -> float64:
    # log2(1 + f) = (f - rest) / ln 2, where f / ln 2 keeps its rounding error; exact for powers of
    # two.
    e = _log_exponent_f64(x)
    f = _log_significand_f64(x) - 1.0
    rest = _log1p_rest_f64(f)
    high = f * 1.4426950408889634
    low = _fma(f, 1.4426950408889634, -high) + _fma(f, 2.0355273740931033e-17, rest * -1.4426950408889634)
    return _log_special_f64(x, (e + high) + low)


@func
def _log10(x: float64) -> float64:
    # The first part of log10(2) is short: its product with e is exact.
    e = _log_exponent_f64(x)
    f = _log_significand_f64(x) - 1.0
    rest = _log1p_rest_f64(f)
    high = f * 0.43429448190325182
    low = _fma(f, 0.43429448190325182, -high) + _fma(f, 1.0983196502167651e-17, rest * -0.43429448190325182)
    whole = e * 0.30102999566406652
    sum = whole + high
    low = ((whole - sum) + high) + _fma(e, -8.5323443170571066e-14, low)
    return _log_special_f64(x, sum + low)


@func
def _pow(x: float64, y: float64) -> float64:
    a = abs(x)
    e = _log_exponent_f64(a)
    m = _log_significand_f64(a)
    numerator = m - 1.0
    denominator = m + 1.0
    denominator_low = m - (denominator - 1.0)
    s = numerator / denominator
    s_low = (_fma(-s, denominator, numerator) - s * denominator_low) / denominator
    z = s * s
    z_low = _fma(s, s, -z) + 2.0 * s * s_low
    p = _fma(z, 0.1862951017762367, 0.14647890522349086)
    p = _fma(z, p, 0.17001891996587035)
    p = _fma(z, p, 0.19235037978124114)
    p = _fma(z, p, 0.22195325088571508)
    p = _fma(z, p, 0.26230818734420702)
    p = _fma(z, p, 0.32059889798798441)
    p = _fma(z, p, 0.41219858311108865)
    p = _fma(z, p, 0.57707801635558542)
    tail = _fma(z, p, 5.0577616648125907e-17)
    u = 0.96179669392597555 + tail
    u_low = (0.96179669392597555 - u) + tail
    v = z * u
    v_low = _fma(z, u, -v) + _fma(z, u_low, z_low * u)
    w = 2.8853900817779268 + v
    w_low = ((2.8853900817779268 - w) + v) + (v_low + 4.0710547481862066e-17)
    h = s * w
    h_low = _fma(s, w, -h) + _fma(s, w_low, s_low * w)
    l = e + h
    l_low = ((e - l) + h) + h_low
    return _pow_from_log_f64(x, y, l, l_low)


@func
def _pow_from_log_f64(x: float64, y: float64, l: float64, l_low: float64) -> float64:
    """x^y from l + l_low = log2 |x|, which is not used where |x| is 0, 1, infinite or NaN."""
    a = abs(x)
    inf = _inf_f64()
    product = y * l
    small = abs(product) < 2000.0
    product_low = where(small, _fma(y, l, -product) + y * l_low, 0.0)
    product = where(small, product, copysign(float64(2000.0), product))
    t = product + _ROUND_F64
    k = t - _ROUND_F64
    r = (product - k) + product_low
    p = _fma(r, 2.5500934929059588e-11, 4.478862106137763e-10)
    p = _fma(r, p, 7.0550803464396758e-09)
    p = _fma(r, p, 1.0177899342778399e-07)
    p = _fma(r, p, 1.3215486257595381e-06)
    p = _fma(r, p, 1.5252734233682936e-05)
    p = _fma(r, p, 0.00015403530394133172)
    p = _fma(r, p, 0.0013333558145980915)
    p = _fma(r, p, 0.009618129107628012)
    p = _fma(r, p, 0.055504108664823505)
    p = _fma(r, p, 0.24022650695910072)
    p = _fma(r, p, 0.69314718055994529)
    value = _scale_f64(_fma(r, p, 1.0), int32(_bits(t) - _ROUND_F64_BITS))
    value = where(a == 1.0, 1.0, value)
    value = where(a == 0.0, where(y < 0.0, inf, float64(0.0)), value)
    value = where(a == inf, where(y < 0.0, 0.0, inf), value)
    whole = trunc(y) == y
    odd = where(whole, trunc(0.5 * y) != 0.5 * y, False)
    value = where(odd, copysign(value, x), value)
    value = where(whole, value, where(x < 0.0, where(a < inf, _nan_f64(), value), value))
    value = where(x != x, x, value)
    value = where(y != y, y, value)
    value = where(x == 1.0, 1.0, value)
    return where(y == 0.0, 1.0, value)


@func
def _cbrt(x: float64) -> float64:
    # As in float32. 2^-900 and below are scaled by 2^162, whose root is 2^54.
    a = abs(x)
    small = a < 1.1830521861667747e-271
    scaled = where(small, a * 5.846006549323612e48, a)
    y = _float_from_bits(_bits(scaled) / 3 + 0x2A9F755500000000)
    cube = _fma(y * y, y, -scaled)
    y = _fma(-y, 0.25 * cube / _fma(0.75, scaled, 0.5 * cube), y)
    cube = _fma(y * y, y, -scaled)
    y = _fma(-y, 0.25 * cube / _fma(0.75, scaled, 0.5 * cube), y)
    square = y * y
    cube = _fma(_fma(y, y, -square), y, _fma(square, y, -scaled))
    y = _fma(-y, 0.25 * cube / _fma(0.75, scaled, 0.5 * cube), y)
    y = where(small, y * 5.551115123125783e-17, y)
    y = where(a < _inf_f64(), y, a)
    return copysign(where(a == 0.0, a, y), x)


# ---- Inverse trigonometric
# -------------------------------------------------------------------------------------------


@func
def _atan_tail_f64(z: float64) -> float64:
    """(atan(x) / x - 1) / z with z = x^2, |x| <= 1."""
    p = _fma(z, -8.6632776279854135e-06, 0.00010396903572884078)
    p = _fma(z, p, -0.00059337691667172925)
    p = _fma(z, p, 0.0021530746130952955)
    p = _fma(z, p, -0.0056155451272996209)
    p = _fma(z, p, 0.011322568939739382)
    p = _fma(z, p, -0.018620014929228199)
    p = _fma(z, p, 0.026157000508252537)
    p = _fma(z, p, -0.032789270913596423)
    p = _fma(z, p, 0.038212252006270736)
    p = _fma(z, p, -0.042864895761119973)
    p = _fma(z, p, 0.047449612409665602)
    p = _fma(z, p, -0.05259443593660016)
    p = _fma(z, p, 0.058817182750791029)
    p = _fma(z, p, -0.066665840721968184)
    p = _fma(z, p, 0.076922997545212868)
    p = _fma(z, p, -0.090909085510026993)
    p = _fma(z, p, 0.11111111086670777)
    p = _fma(z, p, -0.14285714285044979)
    p = _fma(z, p, 0.19999999999990617)
    return _fma(z, p, -0.33333333333333287)


@func
def _atan(x: float64) -> float64:
    a = abs(x)
    far = a > 1.0
    t = where(far, 1.0 / a, a)
    z = t * t
    value = _fma(z * t, _atan_tail_f64(z), t)
    value = where(far, (1.5707963267948966 - value) + 6.123233995736766e-17, value)
    return copysign(value, x)


@func
def _atan2(y: float64, x: float64) -> float64:
    ax = abs(x)
    ay = abs(y)
    steep = ay > ax
    high = where(steep, ay, ax)
    low = where(steep, ax, ay)
    t = low / high
    t = where(low == high, 1.0, t)
    t = where(high == 0.0, 0.0, t)
    z = t * t
    value = _fma(z * t, _atan_tail_f64(z), t)
    value = where(steep, (1.5707963267948966 - value) + 6.123233995736766e-17, value)
    negative = (_bits(x) >> 63) != 0
    value = where(negative, (3.1415926535897931 - value) + 1.2246467991473532e-16, value)
    value = copysign(value, y)
    value = where(x != x, x, value)
    return where(y != y, y, value)


@func
def _asin_tail_f64(z: float64) -> float64:
    """(asin(x) / x - 1) / z with z = x^2 <= 0.55^2."""
    p = _fma(z, 0.052833589947064399, -0.062168032065220064)
    p = _fma(z, p, 0.055043260549847428)
    p = _fma(z, p, -0.014257319397740624)
    p = _fma(z, p, 0.014842121395666309)
    p = _fma(z, p, 0.0084105681464077021)
    p = _fma(z, p, 0.011752882434134455)
    p = _fma(z, p, 0.013943585515591515)
    p = _fma(z, p, 0.017354337842484552)
    p = _fma(z, p, 0.022372079972103141)
    p = _fma(z, p, 0.03038194701182614)
    p = _fma(z, p, 0.044642857093568016)
    p = _fma(z, p, 0.075000000000477546)
    return _fma(z, p, 0.16666666666666505)


@func
def _asin(x: float64) -> float64:
    a = abs(x)
    near = a <= 0.55
    z = where(near, a * a, 0.5 * (1.0 - a))
    s = where(near, a, sqrt(z))
    tail = s * (z * _asin_tail_f64(z))
    far = _fma(-2.0, s + (tail - 3.061616997868383e-17), 1.5707963267948966)
    return copysign(where(near, s + tail, far), x)


@func
def _acos(x: float64) -> float64:
    a = abs(x)
    near = a <= 0.55
    z = where(near, a * a, 0.5 * (1.0 - a))
    s = where(near, x, sqrt(z))
    tail = s * (z * _asin_tail_f64(z))
    middle = 1.5707963267948966 - (s + (tail - 6.123233995736766e-17))
    right = 2.0 * (s + tail)
    left = 3.1415926535897931 - _fma(2.0, s + tail, -1.2246467991473532e-16)
    return where(near, middle, where(x < 0.0, left, right))


# ---- Hyperbolic
# ------------------------------------------------------------------------------------------------------


@func
def _tanh(x: float64) -> float64:
    a = abs(x)
    z = x * x
    p = _fma(z, -1.8993352096081812e-05, 8.2507948126593026e-05)
    p = _fma(z, p, -0.00023282031108072846)
    p = _fma(z, p, 0.00058822514225683267)
    p = _fma(z, p, -0.0014554898652941978)
    p = _fma(z, p, 0.0035920838586354625)
    p = _fma(z, p, -0.0088632317984429446)
    p = _fma(z, p, 0.021869488337237571)
    p = _fma(z, p, -0.053968253962076496)
    p = _fma(z, p, 0.13333333333323746)
    p = _fma(z, p, -0.33333333333333282)
    near = _fma(z * a, p, a)
    far = 1.0 - 2.0 / (_exp(2.0 * a) + 1.0)
    return copysign(where(a < 0.56, near, far), x)


@func
def _sinh(x: float64) -> float64:
    a = abs(x)
    z = x * x
    p = _fma(z, 6.4756315288114923e-15, 7.5032572688378767e-13)
    p = _fma(z, p, 1.6061339247275721e-10)
    p = _fma(z, p, 2.5052089412419403e-08)
    p = _fma(z, p, 2.7557319310091192e-06)
    p = _fma(z, p, 0.00019841269841061159)
    p = _fma(z, p, 0.0083333333333335726)
    p = _fma(z, p, 0.16666666666666666)
    near = _fma(z * a, p, a)
    half = _exp_scaled_f64(a, -1)
    return copysign(where(a < 1.0, near, half - 0.25 / half), x)


@func
def _cosh(x: float64) -> float64:
    half = _exp_scaled_f64(abs(x), -1)
    return half + 0.25 / half


# ---- Remainder
# -------------------------------------------------------------------------------------------------------


@func
def _binary_exponent_f64(x: float64) -> int32:
    """The biased exponent that positive x would have if exponents had no lower limit."""
    bits = _bits(x)
    biased = int32(bits >> 52)
    return where(biased == 0, 12 - int32(_leading_zeros(bits)), biased)


@func
def _mod(a: float64, b: float64) -> float64:
    # Long division in binary, 51 bits of the quotient a turn: r - n d with n below 2^52 and right
    # or one too large is exact, because the difference is a multiple of d's last bit and not above
    # d.
    r = abs(a)
    divisor = abs(b)
    if divisor > 0.0 and divisor < _inf_f64() and r < _inf_f64():
        divisor_exponent = _binary_exponent_f64(divisor)
        while r >= divisor:
            n = max(_binary_exponent_f64(r) - divisor_exponent - 51, 0)
            half = n >> 1
            d = divisor * _power_of_two_f64(half) * _power_of_two_f64(n - half)
            r = _fma(-trunc(r / d), d, r)
            r = where(r < 0.0, r + d, r)
        return copysign(r, a)
    # Infinite divisors leave finite a as it is; the rest is NaN.
    return where(r < divisor, a, _nan_f64())


# ---- Error functions
# -------------------------------------------------------------------------------------------------


@func
def _erf_tail_f64(z: float64) -> float64:
    """erf(x) / x - 1 with z = x^2, |x| <= 0.85."""
    p = _fma(z, -1.7171160295718518e-09, 1.7519874436793934e-08)
    p = _fma(z, p, -1.6875505709681817e-07)
    p = _fma(z, p, 1.6513819671642809e-06)
    p = _fma(z, p, -1.4928856618873972e-05)
    p = _fma(z, p, 0.00012055459833929927)
    p = _fma(z, p, -0.00085483302365303335)
    p = _fma(z, p, 0.0052239776761191401)
    p = _fma(z, p, -0.026866170649794283)
    p = _fma(z, p, 0.11283791670977153)
    p = _fma(z, p, -0.37612638903184159)
    return _fma(z, p, 0.12837916709551259)


@func
def _erfcx_series_f64(x: float64) -> float64:
    """(1 + 2 x) exp(x^2) erfc(x) for x >= 0.8: nearly constant in t = (x - c) / (x + c).

    M. M. Shepherd, J. G. Laframboise, Chebyshev approximation of (1 + 2x) exp(x^2) erfc x, Math. Comp. 36, 1981.
    """
    t = (x - 2.5) / (x + 2.5)
    p = _fma(t, -2.4714695252933317e-07, 5.7668763908117442e-07)
    p = _fma(t, p, 7.8512895991372432e-07)
    p = _fma(t, p, -1.7314846223948166e-06)
    p = _fma(t, p, -4.3102276235119084e-06)
    p = _fma(t, p, 2.6961083517063482e-06)
    p = _fma(t, p, 2.2712144153828115e-05)
    p = _fma(t, p, 6.2407943321180737e-06)
    p = _fma(t, p, -0.00011352165430275605)
    p = _fma(t, p, -8.8475107718760543e-05)
    p = _fma(t, p, 0.00063212391521717749)
    p = _fma(t, p, 0.00049186541758441623)
    p = _fma(t, p, -0.0043820782892466485)
    p = _fma(t, p, 0.00093189283883338473)
    p = _fma(t, p, 0.032760893266073308)
    p = _fma(t, p, -0.10296705603917505)
    p = _fma(t, p, 0.15762991902326795)
    p = _fma(t, p, -0.099024539573594805)
    p = _fma(t, p, -0.12235676308240447)
    return _fma(t, p, 1.2648381843668615)


@func
def _erfc_far_f64(x: float64) -> float64:
    """erfc(x) for x >= 0.8."""
    x = min(x, 27.4)
    # q + q_low = series / (1 + 2 x)
    series = _erfcx_series_f64(x)
    d = _fma(2.0, x, 1.0)
    d_low = _fma(2.0, x, 1.0 - d)
    q = series / d
    q_low = (_fma(-q, d, series) - q * d_low) / d
    # p + p_low = exp(r), where -x^2 = k ln 2 + r and r + r_low is exact enough.
    square = x * x
    square_low = _fma(x, x, -square)
    t = _fma(square, -1.4426950408889634, _ROUND_F64)
    k = t - _ROUND_F64
    r1 = _fma(-k, 0.69314718055994529, -square)
    rest = _fma(-k, 2.3190468138462996e-17, -square_low)
    r = r1 + rest
    r_low = (r1 - r) + rest
    p = _fma(r, 2.5117827118913551e-08, 2.7631088341194319e-07)
    p = _fma(r, p, 2.7557216411046172e-06)
    p = _fma(r, p, 2.4801490563586035e-05)
    p = _fma(r, p, 0.0001984126991726548)
    p = _fma(r, p, 0.0013888888946305006)
    p = _fma(r, p, 0.0083333333333072482)
    p = _fma(r, p, 0.041666666666518762)
    p = _fma(r, p, 0.16666666666666699)
    p = _fma(r, p, 0.50000000000000122)
    tail = _fma(r * r, p, r_low) + r_low * r
    sum = 1.0 + r
    tail = ((1.0 - sum) + r) + tail
    p = sum + tail
    p_low = (sum - p) + tail
    product = q * p
    low = _fma(q, p, -product) + _fma(q, p_low, q_low * p)
    return _scale_f64(8.0 * (product + low), int32(_bits(t) - _ROUND_F64_BITS) - 3)


@func
def _erf(x: float64) -> float64:
    a = abs(x)
    near = _fma(a, _erf_tail_f64(a * a), a)
    far = 1.0 - _erfc_far_f64(max(a, 0.8))
    value = copysign(where(a < 0.85, near, far), x)
    return where(x != x, x, value)


@func
def _erfc(x: float64) -> float64:
    a = abs(x)
    # 1 - erf x as 1/2 - ((x - 1/2) + (erf x - x)): nothing is lost for x near 1/2 and above.
    tail = x * _erf_tail_f64(a * a)
    near = where(x < 0.25, 1.0 - (x + tail), 0.5 - (tail + (x - 0.5)))
    far = _erfc_far_f64(max(a, 0.8))
    far = where(x < 0.0, 2.0 - far, far)
    value = where(a < 0.8, near, far)
    return where(x != x, x, value)


@func
def _inverse_erf_ratio_f64(w: float64) -> float64:
    """erfinv(x) / x as a function of w = -log(1 - x^2), to a third of the digits.

    The variable is that of M. Giles, Approximating the erfinv function, GPU Computing Gems 2, 2010.
    """
    near = _inverse_erf_near_f64(w)
    root = sqrt(max(w, 5.0))
    far = root * _inverse_erf_tail_f64(1.0 / root)
    return where(w < 5.0, near, far)


@func
def _inverse_erf_near_f64(w: float64) -> float64:
    p = _fma(w, 2.8532333226989945e-08, -2.2691119452264792e-07)
    p = _fma(w, p, -4.5510497491441414e-06)
    p = _fma(w, p, 6.8685169908064598e-05)
    p = _fma(w, p, -0.00016722759339128399)
    p = _fma(w, p, -0.0022978573517128337)
    p = _fma(w, p, 0.011532130024039048)
    p = _fma(w, p, 0.23201665369600824)
    return _fma(w, p, 0.8862268423376144)


@func
def _inverse_erf_tail_f64(v: float64) -> float64:
    p = _fma(v, -253355.71292611075, 771809.65666749678)
    p = _fma(v, p, -1034042.7915189362)
    p = _fma(v, p, 801644.1608606329)
    p = _fma(v, p, -398131.59994141012)
    p = _fma(v, p, 132265.15777080235)
    p = _fma(v, p, -29611.479621956747)
    p = _fma(v, p, 4299.017644958888)
    p = _fma(v, p, -334.72856779752749)
    p = _fma(v, p, -7.2825666941786658)
    p = _fma(v, p, 6.9791501371594951)
    p = _fma(v, p, -1.4684178162384887)
    p = _fma(v, p, -0.015890452337482583)
    return _fma(v, p, 1.0000975830394232)


@func
def _inverse_erf_refined_f64(y: float64, x: float64, x_low: float64, complement: float64) -> float64:
    """The y > 0 with erf(y) = x + x_low, erfc(y) = complement: one Halley step, which triples the digits."""
    # u = (erf(y) - x) / erf'(y), from the one of erf and erfc that keeps its digits here.
    # exp(y^2) alone could overflow.
    power = _exp_scaled_f64(y * y, -60)
    near = (_fma(y, _erf_tail_f64(y * y), y - x) - x_low) * (power * 1152921504606846976.0)
    series = _erfcx_series_f64(max(y, 0.8))
    d = _fma(2.0, y, 1.0)
    d_low = _fma(2.0, y, 1.0 - d)
    product = (complement * 1152921504606846976.0) * power
    far = _fma(product, d, _fma(product, d_low, -series)) / d
    u = where(y < 0.83, near, far) * 0.88622692545275801
    return y - u / _fma(y, u, 1.0)


@func
def _erfinv(x: float64) -> float64:
    a = abs(x)
    w = -log(_fma(-a, a, 1.0))
    y = a * _inverse_erf_ratio_f64(w)
    value = copysign(_inverse_erf_refined_f64(y, a, 0.0, 1.0 - a), x)
    value = where(a < 1.0, value, where(a == 1.0, copysign(_inf_f64(), x), _nan_f64()))
    return where(a < 1e-20, 0.88622692545275801 * x, value)


@func
def _erfcinv(x: float64) -> float64:
    # x > 1 mirrors 2 - x, which is exact.
    complement = min(x, 2.0 - x)
    a = 1.0 - complement
    w = -(log(complement) + log(2.0 - complement))
    y = a * _inverse_erf_ratio_f64(w)
    value = _inverse_erf_refined_f64(y, a, (1.0 - a) - complement, complement)
    value = where(complement > 0.0, value, where(complement == 0.0, _inf_f64(), _nan_f64()))
    value = where(complement == 1.0, 0.0, value)
    return where(x > 1.0, -value, value)
