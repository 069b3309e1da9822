# The elementary functions: documentation, domain, gradient. The computation is in
# elementary_f32.py, elementary_f64.py and, for 16-bit floats, through float32 in elementary_f16.py.
# docs/accuracy.md has the measured error bounds.


# ---- Exponential and logarithm
# ---------------------------------------------------------------------------------------


@func
@cuda("expf", "exp")
@gives("overflows")
def exp(x: Float) -> Float:
    """e to the power `x`."""
    return _exp(x)


@func_grad(exp)
def _(x: Float, adj_ret: Float):
    adjoint[x] += exp(x) * adj_ret


@func
@cuda("logf", "log")
@domain(x=(0.1, 3.0))
@gives("any")
def log(x: Float) -> Float:
    """The natural logarithm of `x`. -infinity at 0, NaN for `x < 0`."""
    return _log(x)


@func_grad(log)
def _(x: Float, adj_ret: Float):
    adjoint[x] += adj_ret / x


@func
@cuda("log2f", "log2")
@domain(x=(0.1, 3.0))
@gives("any")
def log2(x: Float) -> Float:
    """The logarithm of `x` to base 2, exact for powers of two. -infinity at 0, NaN for `x < 0`."""
    return _log2(x)


@func_grad(log2)
def _(x: Float, adj_ret: Float):
    adjoint[x] += Float(1.4426950408889634) / x * adj_ret


@func
@cuda("log10f", "log10")
@domain(x=(0.1, 3.0))
@gives("any")
def log10(x: Float) -> Float:
    """The logarithm of `x` to base 10. -infinity at 0, NaN for `x < 0`."""
    return _log10(x)


@func_grad(log10)
def _(x: Float, adj_ret: Float):
    adjoint[x] += Float(0.43429448190325182) / x * adj_ret


@func
@cuda("cbrtf", "cbrt")
@gives("finite")
def cbrt(x: Float) -> Float:
    """The cube root of `x`, negative for negative `x`. The derivative at 0 is infinite."""
    return _cbrt(x)


@func_grad(cbrt)
def _(x: Float, adj_ret: Float):
    root = cbrt(x)
    adjoint[x] += adj_ret / (Float(3.0) * root * root)


@func
@cuda("powf", "pow")
@domain(x=(0.1, 3.0))
@gives("any")
def pow(x: Float, y: Float) -> Float:
    """`x` to the power `y`. 1 for `y = 0` and for `x = 1`; NaN for `x < 0` unless `y` is whole; the rest as in C."""
    return _pow(x, y)


@func_grad(pow)
def _(x: Float, y: Float, adj_ret: Float):
    # At y = 0 the power is 1 for every x; at x = 0 it is 0 for every y > 0.
    if y != Float(0.0):
        adjoint[x] += y * pow(x, y - Float(1.0)) * adj_ret
    if x != Float(0.0) or y <= Float(0.0):
        adjoint[y] += log(x) * pow(x, y) * adj_ret


# ---- Trigonometric
# ---------------------------------------------------------------------------------------------------


@func
@cuda("sinf", "sin")
@gives("finite")
def sin(x: Float) -> Float:
    """The sine of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size."""
    return _sin(x)


@func_grad(sin)
def _(x: Float, adj_ret: Float):
    adjoint[x] += cos(x) * adj_ret


@func
@cuda("cosf", "cos")
@gives("finite")
def cos(x: Float) -> Float:
    """The cosine of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size."""
    return _cos(x)


@func_grad(cos)
def _(x: Float, adj_ret: Float):
    adjoint[x] -= sin(x) * adj_ret


@func
@cuda("tanf", "tan")
@gives("finite")
def tan(x: Float) -> Float:
    """The tangent of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size."""
    return _tan(x)


@func_grad(tan)
def _(x: Float, adj_ret: Float):
    t = tan(x)
    adjoint[x] += (Float(1.0) + t * t) * adj_ret


@func
def _limited(x: Float) -> Float:
    """`x` limited to -1..1; unlike `clamp`, NaN for NaN."""
    return where(x > Float(1.0), Float(1.0), where(x < Float(-1.0), Float(-1.0), x))


@func
@gives("finite")
def asin(x: Float) -> Float:
    """The arc sine of `x` limited to -1..1, in -pi/2..pi/2. NaN for NaN."""
    return _asin_inside(_limited(x))


@func_grad(asin)
def _(x: Float, adj_ret: Float):
    # Infinite as -1 and 1 are approached. There, as beyond, it is constant on one side: 0, so that
    # the angle between vectors that rounding makes parallel does not turn all gradients into NaN.
    if abs(x) < Float(1.0):
        adjoint[x] += adj_ret / sqrt((Float(1.0) - x) * (Float(1.0) + x))


@func
def _degenerate_asin(x: Float, adj_ret: Float) -> bool:
    return abs(x) == Float(1.0) and adj_ret != Float(0.0)


@func
@cuda("asinf", "asin")
def _asin_inside(x: Float) -> Float:
    """The arc sine of `x` in -1..1; NaN outside."""
    return _asin(x)


@func
@gives("finite")
def acos(x: Float) -> Float:
    """The arc cosine of `x` limited to -1..1, in 0..pi. NaN for NaN."""
    return _acos_inside(_limited(x))


@func_grad(acos)
def _(x: Float, adj_ret: Float):
    # As of `asin`.
    if abs(x) < Float(1.0):
        adjoint[x] -= adj_ret / sqrt((Float(1.0) - x) * (Float(1.0) + x))


@func
def _degenerate_acos(x: Float, adj_ret: Float) -> bool:
    return abs(x) == Float(1.0) and adj_ret != Float(0.0)


@func
@cuda("acosf", "acos")
def _acos_inside(x: Float) -> Float:
    """The arc cosine of `x` in -1..1; NaN outside."""
    return _acos(x)


@func
@cuda("atanf", "atan")
@gives("finite")
def atan(x: Float) -> Float:
    """The arc tangent of `x`, in -pi/2..pi/2."""
    return _atan(x)


@func_grad(atan)
def _(x: Float, adj_ret: Float):
    adjoint[x] += adj_ret / (Float(1.0) + x * x)


@func
@cuda("atan2f", "atan2")
@gives("finite")
def atan2(y: Float, x: Float) -> Float:
    """The angle of the point (`x`, `y`) from the x axis, in -pi..pi. Zeros and infinities as in C."""
    return _atan2(y, x)


@func_grad(atan2)
def _(y: Float, x: Float, adj_ret: Float):
    # At the origin, which has no angle: 0. The larger coordinate as the unit keeps the squares in
    # range.
    unit = max(abs(x), abs(y))
    if unit > Float(0.0):
        c = x / unit
        s = y / unit
        d = (c * c + s * s) * unit
        adjoint[y] += c / d * adj_ret
        adjoint[x] -= s / d * adj_ret


@func
@zero_grad("a truth value")
def _degenerate_atan2(y: Float, x: Float, adj_ret: Float) -> bool:
    """the origin has no angle; the derivative was taken as 0"""
    return adj_ret != Float(0.0) and x == Float(0.0) and y == Float(0.0)


# ---- Hyperbolic
# ------------------------------------------------------------------------------------------------------


@func
@cuda("sinhf", "sinh")
@gives("overflows")
def sinh(x: Float) -> Float:
    """The hyperbolic sine of `x`."""
    return _sinh(x)


@func_grad(sinh)
def _(x: Float, adj_ret: Float):
    adjoint[x] += cosh(x) * adj_ret


@func
@cuda("coshf", "cosh")
@gives("overflows")
def cosh(x: Float) -> Float:
    """The hyperbolic cosine of `x`."""
    return _cosh(x)


@func_grad(cosh)
def _(x: Float, adj_ret: Float):
    adjoint[x] += sinh(x) * adj_ret


@func
@cuda("tanhf", "tanh")
@gives("finite")
def tanh(x: Float) -> Float:
    """The hyperbolic tangent of `x`."""
    return _tanh(x)


@func_grad(tanh)
def _(x: Float, adj_ret: Float):
    t = tanh(x)
    adjoint[x] += (Float(1.0) - t * t) * adj_ret


# ---- Error functions
# -------------------------------------------------------------------------------------------------


@func
@cuda("erff", "erf")
@gives("finite")
def erf(x: Float) -> Float:
    """The error function of `x`: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to `x`."""
    return _erf(x)


@func_grad(erf)
def _(x: Float, adj_ret: Float):
    adjoint[x] += Float(1.1283791670955126) * exp(-x * x) * adj_ret


@func
@cuda("erfcf", "erfc")
@gives("finite")
def erfc(x: Float) -> Float:
    """The complementary error function of `x`: `1 - erf(x)` without its loss of digits for large `x`."""
    return _erfc(x)


@func_grad(erfc)
def _(x: Float, adj_ret: Float):
    adjoint[x] -= Float(1.1283791670955126) * exp(-x * x) * adj_ret


@func
@cuda("erfinvf", "erfinv")
@domain(x=(-0.9, 0.9))
@gives("any")
def erfinv(x: Float) -> Float:
    """The inverse error function of `x` in -1..1. Infinite at -1 and 1, NaN beyond."""
    return _erfinv(x)


@func_grad(erfinv)
def _(x: Float, adj_ret: Float):
    y = erfinv(x)
    adjoint[x] += Float(0.88622692545275801) * exp(y * y) * adj_ret


@func
@cuda("erfcinvf", "erfcinv")
@domain(x=(0.1, 1.9))
@gives("any")
def erfcinv(x: Float) -> Float:
    """The inverse complementary error function of `x` in 0..2. Infinite at 0 and 2, NaN beyond."""
    return _erfcinv(x)


@func_grad(erfcinv)
def _(x: Float, adj_ret: Float):
    y = erfcinv(x)
    adjoint[x] -= Float(0.88622692545275801) * exp(y * y) * adj_ret
