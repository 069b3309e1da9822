# The elementary functions: documentation, domain, gradient. The computation is in elementary_f32.py,
# elementary_f64.py and, for 16-bit floats, through float32 in elementary_f16.py. docs/accuracy.md has the measured error bounds.


# ---- Exponential and logarithm ----------------------------------------------------------------------------------------


@func
@cuda("expf", "exp")
def exp(x: Float) -> Float:
    """e to the power `x`."""
    return _exp(x)


@func_grad(exp)
def _(x: Float, adj_ret: Float):
    adjoint[x] += exp(x) * adj_ret


@func
@cuda("logf", "log")
def log(x: Float) -> Float:
    """The natural logarithm of `x`. -infinity at 0, NaN for `x < 0`."""
    return _log(x)


@func_grad(log)
def _(x: Float, adj_ret: Float):
    adjoint[x] += adj_ret / x


@func
@cuda("powf", "pow")
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


# ---- Trigonometric ----------------------------------------------------------------------------------------------------


@func
@cuda("sinf", "sin")
def sin(x: Float) -> Float:
    """The sine of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size."""
    return _sin(x)


@func_grad(sin)
def _(x: Float, adj_ret: Float):
    adjoint[x] += cos(x) * adj_ret


@func
@cuda("cosf", "cos")
def cos(x: Float) -> Float:
    """The cosine of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size."""
    return _cos(x)


@func_grad(cos)
def _(x: Float, adj_ret: Float):
    adjoint[x] -= sin(x) * adj_ret


@func
@cuda("tanf", "tan")
def tan(x: Float) -> Float:
    """The tangent of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size."""
    return _tan(x)


@func_grad(tan)
def _(x: Float, adj_ret: Float):
    t = tan(x)
    adjoint[x] += (Float(1.0) + t * t) * adj_ret


@func
def asin(x: Float) -> Float:
    """The arc sine of `x` limited to -1..1, in -pi/2..pi/2. NaN gives -pi/2, as `clamp` has it."""
    return _asin_inside(clamp(x, Float(-1.0), Float(1.0)))


@func_grad(asin)
def _(x: Float, adj_ret: Float):
    # Infinite at -1 and 1, and no gradient beyond.
    if abs(x) <= Float(1.0):
        adjoint[x] += adj_ret / sqrt((Float(1.0) - x) * (Float(1.0) + x))


@func
@cuda("asinf", "asin")
def _asin_inside(x: Float) -> Float:
    """The arc sine of `x` in -1..1; NaN outside."""
    return _asin(x)


@func
def acos(x: Float) -> Float:
    """The arc cosine of `x` limited to -1..1, in 0..pi. NaN gives pi, as `clamp` has it."""
    return _acos_inside(clamp(x, Float(-1.0), Float(1.0)))


@func_grad(acos)
def _(x: Float, adj_ret: Float):
    # Infinite at -1 and 1, and no gradient beyond.
    if abs(x) <= Float(1.0):
        adjoint[x] -= adj_ret / sqrt((Float(1.0) - x) * (Float(1.0) + x))


@func
@cuda("acosf", "acos")
def _acos_inside(x: Float) -> Float:
    """The arc cosine of `x` in -1..1; NaN outside."""
    return _acos(x)


@func
@cuda("atanf", "atan")
def atan(x: Float) -> Float:
    """The arc tangent of `x`, in -pi/2..pi/2."""
    return _atan(x)


@func_grad(atan)
def _(x: Float, adj_ret: Float):
    adjoint[x] += adj_ret / (Float(1.0) + x * x)


@func
@cuda("atan2f", "atan2")
def atan2(y: Float, x: Float) -> Float:
    """The angle of the point (`x`, `y`) from the x axis, in -pi..pi. Zeros and infinities, with their signs, as in C."""
    return _atan2(y, x)


@func_grad(atan2)
def _(y: Float, x: Float, adj_ret: Float):
    # At the origin, which has no angle: 0.
    d = x * x + y * y
    if d > Float(0.0):
        adjoint[y] += x / d * adj_ret
        adjoint[x] -= y / d * adj_ret


# ---- Hyperbolic -------------------------------------------------------------------------------------------------------


@func
@cuda("tanhf", "tanh")
def tanh(x: Float) -> Float:
    """The hyperbolic tangent of `x`."""
    return _tanh(x)


@func_grad(tanh)
def _(x: Float, adj_ret: Float):
    t = tanh(x)
    adjoint[x] += (Float(1.0) - t * t) * adj_ret
