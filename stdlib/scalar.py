# Scalar functions that are one operation or a few: operators as functions, rounding, comparison,
# classification, interpolation. The transcendental functions are in elementary.py.
#
# Kinks: the derivative of abs at 0 is 0; min and max give a tie to the left operand. So clamp at
# `low` passes its adjoint to `low`, and at `high` to `x`.


# ---- The machine: operations that only the library uses
# --------------------------------------------------------------


@op("fma")
@cuda("fmaf", "fma")
def _fma(a: Float, b: Float, c: Float) -> Float:
    """`a * b + c`, rounded once."""


@func_grad(_fma)
def _(a: Float, b: Float, c: Float, adj_ret: Float):
    adjoint[a] += b * adj_ret
    adjoint[b] += a * adj_ret
    adjoint[c] += adj_ret


@op("bitcast")
@no_grad("the result is an integer")
def _bits(x: float32) -> uint32:
    """The IEEE 754 bits of `x`."""


@op("bitcast")
@no_grad("the result is an integer")
def _bits(x: float64) -> uint64:
    """The IEEE 754 bits of `x`."""


@op("bitcast")
@no_grad("the operand is an integer")
def _float_from_bits(x: uint32) -> float32:
    """The number whose IEEE 754 bits are `x`."""


@op("bitcast")
@no_grad("the operand is an integer")
def _float_from_bits(x: uint64) -> float64:
    """The number whose IEEE 754 bits are `x`."""


@op("mul_high")
@no_grad("integers")
def _mul_high(a: Int, b: Int) -> Int:
    """The high half of the double-width product of two uint32 or uint64."""


@op("leading_zeros")
@no_grad("integers")
def _leading_zeros(x: Int) -> Int:
    """The number of zero bits above the highest one bit; the width for 0."""


@op("pop_count")
@no_grad("integers")
def _pop_count(x: Int) -> Int:
    """The number of one bits, in the type of `x`."""


@op("round_even")
@cuda("rintf", "rint")
@zero_grad("piecewise constant")
def _round_even(x: Float) -> Float:
    """The nearest integer, ties to even."""


# ---- Operators as functions
# ------------------------------------------------------------------------------------------


@op("add")
def add(a: Scalar, b: Scalar) -> Scalar:
    """`a + b`. Integers wrap."""


@func_grad(add)
def _(a: Float, b: Float, adj_ret: Float):
    adjoint[a] += adj_ret
    adjoint[b] += adj_ret


@op("sub")
def sub(a: Scalar, b: Scalar) -> Scalar:
    """`a - b`. Integers wrap."""


@func_grad(sub)
def _(a: Float, b: Float, adj_ret: Float):
    adjoint[a] += adj_ret
    adjoint[b] -= adj_ret


@op("mul")
def mul(a: Scalar, b: Scalar) -> Scalar:
    """`a * b`. Integers wrap."""


@func_grad(mul)
def _(a: Float, b: Float, adj_ret: Float):
    adjoint[a] += b * adj_ret
    adjoint[b] += a * adj_ret


@op("div")
def div(a: Scalar, b: Scalar) -> Scalar:
    """`a / b`. Integers truncate toward zero, and `a / 0` is 0."""


@func_grad(div)
def _(a: Float, b: Float, adj_ret: Float):
    adjoint[a] += adj_ret / b
    adjoint[b] -= a / b * adj_ret / b


@op("rem")
@no_grad("integers")
def mod(a: Int, b: Int) -> Int:
    """`a % b`: the remainder of truncating division, with the sign of `a`; `a % 0` is `a`."""


@op("floor_div")
@no_grad("integers")
def floordiv(a: Int, b: Int) -> Int:
    """`a // b`: the quotient rounded down; `a // 0` is 0."""


@func
@cuda("fmodf", "fmod")
@gives("any")
def mod(a: Float, b: Float) -> Float:
    """`a % b`: `a - trunc(a / b) * b`, exact, with the sign of `a`. NaN for infinite `a`, for `b = 0`, and for NaN."""
    return _mod(a, b)


@func_grad(mod)
def _(a: Float, b: Float, adj_ret: Float):
    adjoint[a] += adj_ret
    adjoint[b] -= trunc(a / b) * adj_ret


@func
@zero_grad("piecewise constant")
def floordiv(a: Float, b: Float) -> Float:
    """`a // b`: `floor(a / b)`."""
    return floor(a / b)


@op("neg")
def neg(x: Scalar) -> Scalar:
    """`-x`. Integers wrap."""


@func_grad(neg)
def _(x: Float, adj_ret: Float):
    adjoint[x] -= adj_ret


@func
def pos(x: Scalar) -> Scalar:
    """`+x`: `x` itself."""
    return x


@op("not")
@no_grad("a truth value")
def unot(a: bool) -> bool:
    """`not a`."""


@intrinsic
@no_grad("a truth value")
def unot(a: array) -> bool:
    """`not a`: whether the array is missing (null).

    ```python
    wp.expect_eq(wp.unot(data), False)
    ```
    """


@func
@no_grad("a truth value")
def unot(a: Int) -> bool:
    """`not a`: whether `a` is 0."""
    return a == Int(0)


@op("and")
@no_grad("integers")
def bit_and(a: Int, b: Int) -> Int:
    """`a & b`, bit by bit."""


@op("or")
@no_grad("integers")
def bit_or(a: Int, b: Int) -> Int:
    """`a | b`, bit by bit."""


@op("xor")
@no_grad("integers")
def bit_xor(a: Int, b: Int) -> Int:
    """`a ^ b`, bit by bit."""


@op("bit_not")
@no_grad("integers")
def invert(a: Int) -> Int:
    """`~a`: every bit inverted."""


@op("shl")
@no_grad("integers")
def lshift(a: Int, b: Int) -> Int:
    """`a << b`; 0 when `b` is the width or more, or negative."""


@op("shr")
@no_grad("integers")
def rshift(a: Int, b: Int) -> Int:
    """`a >> b`, arithmetic if signed; 0 (-1 for negative `a`) when `b` is the width or more, or negative."""


@func
@no_grad("integers")
def bit_count(x: Int) -> int32:
    """The number of one bits of `x`; of its two's complement form when `x` is negative."""
    return int32(_pop_count(x))


# ---- Magnitude, sign, order
# ------------------------------------------------------------------------------------------


@op("abs")
@cuda("fabsf", "fabs")
def abs(x: Scalar) -> Scalar:
    """The absolute value of `x`. For the smallest signed integer, which has none, `x` itself."""


@func_grad(abs)
def _(x: Float, adj_ret: Float):
    adjoint[x] += where(x > Float(0.0), adj_ret, where(x < Float(0.0), -adj_ret, Float(0.0)))


@func
@zero_grad("piecewise constant")
def sign(x: Scalar) -> Scalar:
    """-1 if `x < 0`, otherwise 1; so 1 for 0, -0, and NaN."""
    return where(x < Scalar(0), Scalar(0) - Scalar(1), Scalar(1))


@func
@zero_grad("piecewise constant")
def step(x: Scalar) -> Scalar:
    """1 if `x < 0`, otherwise 0."""
    return where(x < Scalar(0), Scalar(1), Scalar(0))


@func
@zero_grad("piecewise constant")
def nonzero(x: Scalar) -> Scalar:
    """0 if `x` is 0 (or -0), otherwise 1; so 1 for NaN."""
    return where(x == Scalar(0), Scalar(0), Scalar(1))


@op("copy_sign")
@cuda("copysignf", "copysign")
def copysign(x: Float, y: Float) -> Float:
    """The magnitude of `x` with the sign of `y`, also where `y` is -0 or NaN."""


@func_grad(copysign)
def _(x: Float, y: Float, adj_ret: Float):
    # 1 where the signs agree, -1 where they differ, by the sign bits; no gradient for y, whose
    # effect is a jump.
    adjoint[x] += copysign(Float(1.0), x) * copysign(Float(1.0), y) * adj_ret


@op("min")
@cuda("fminf", "fmin")
def min(a: Scalar, b: Scalar) -> Scalar:
    """The smaller of `a` and `b`. A NaN loses against a number; `min(-0.0, 0.0)` is -0."""


@func_grad(min)
def _(a: Float, b: Float, adj_ret: Float):
    if b < a or isnan(a):
        adjoint[b] += adj_ret
    else:
        adjoint[a] += adj_ret


@op("max")
@cuda("fmaxf", "fmax")
def max(a: Scalar, b: Scalar) -> Scalar:
    """The larger of `a` and `b`. A NaN loses against a number; `max(-0.0, 0.0)` is +0."""


@func_grad(max)
def _(a: Float, b: Float, adj_ret: Float):
    if b > a or isnan(a):
        adjoint[b] += adj_ret
    else:
        adjoint[a] += adj_ret


@func
def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """`x` limited to `low`..`high`: `min(max(low, x), high)`. So NaN gives `low`, and `low > high` gives `high`."""
    return min(max(low, x), high)


@op("abs_diff")
@no_grad("integers")
def abs_diff(a: Int, b: Int) -> Int:
    """The distance `|a - b|` in the type of both, also where `a - b` wraps: exact for unsigned integers. A distance of signed
    integers that is too large for the type wraps itself: `abs_diff(int8(127), int8(-128))`, 255, is -1. kc's own.

    ```python
    wp.expect_eq(wp.abs_diff(wp.uint8(3), wp.uint8(250)), wp.uint8(247))
    ```
    """


# ---- Classification
# --------------------------------------------------------------------------------------------------


@func
@cuda("isnan")
@no_grad("a truth value")
def isnan(a: Float) -> bool:
    """Whether `a` is NaN."""
    return a != a


@func
@cuda("isinf")
@no_grad("a truth value")
def isinf(a: Float) -> bool:
    """Whether `a` is infinite, of either sign."""
    return abs(a) == Float(_float_from_bits(uint32(0x7F800000)))


@func
@cuda("isfinite")
@no_grad("a truth value")
def isfinite(a: Float) -> bool:
    """Whether `a` is a number: neither infinite nor NaN."""
    return abs(a) < Float(_float_from_bits(uint32(0x7F800000)))


# ---- Rounding to integers
# --------------------------------------------------------------------------------------------


@op("floor")
@cuda("floorf", "floor")
@zero_grad("piecewise constant")
def floor(x: Float) -> Float:
    """The largest integer not above `x`."""


@op("ceil")
@cuda("ceilf", "ceil")
@zero_grad("piecewise constant")
def ceil(x: Float) -> Float:
    """The smallest integer not below `x`."""


@op("trunc")
@cuda("truncf", "trunc")
@zero_grad("piecewise constant")
def trunc(x: Float) -> Float:
    """`x` without its fraction: rounded toward zero."""


@op("round")
@cuda("roundf", "round")
@zero_grad("piecewise constant")
def round(x: Float) -> Float:
    """The integer nearest to `x`; halves go away from zero."""


@op("round_even")
@cuda("rintf", "rint")
@zero_grad("piecewise constant")
def rint(x: Float) -> Float:
    """The integer nearest to `x`; halves go to the even neighbour."""


@func
def frac(x: Float) -> Float:
    """The fraction of `x` with its sign: `x - trunc(x)`. NaN for infinite `x`. Its derivative is 1."""
    return x - trunc(x)


# ---- Square root, angles, interpolation
# ------------------------------------------------------------------------------


@op("sqrt")
@cuda("sqrtf", "sqrt")
@domain(x=(0.1, 3.0))
def sqrt(x: Float) -> Float:
    """The square root of `x`, correctly rounded. -0 for -0; NaN for `x < 0`. The derivative at 0 is infinite."""


@func_grad(sqrt)
def _(x: Float, adj_ret: Float):
    adjoint[x] += Float(0.5) / sqrt(x) * adj_ret


@func
def degrees(x: Float) -> Float:
    """The angle `x`, given in radians, in degrees."""
    return x * Float(57.29577951308232)


@func
def radians(x: Float) -> Float:
    """The angle `x`, given in degrees, in radians."""
    return x * Float(0.017453292519943295)


@func
def lerp(a: Float, b: Float, t: Float) -> Float:
    """Linear interpolation: `a * (1 - t) + b * t`, which is exactly `a` at `t = 0` and `b` at `t = 1`."""
    return a * (Float(1.0) - t) + b * t


@func
def smoothstep(a: Float, b: Float, x: Float) -> Float:
    """Smooth Hermite step from 0 to 1: `t * t * (3 - 2 * t)` with `t = clamp((x - a) / (b - a), 0, 1)`."""
    t = clamp((x - a) / (b - a), Float(0.0), Float(1.0))
    return t * t * (Float(3.0) - Float(2.0) * t)
