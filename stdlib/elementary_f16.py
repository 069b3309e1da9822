# The elementary functions of elementary.py for float16 and bfloat16: through float32, rounded once
# more. (The overloads for float32 and float64 fit those types better, so these are never taken for
# them.)


@func
def _exp(x: Float) -> Float:
    return Float(exp(float32(x)))


@func
def _log(x: Float) -> Float:
    return Float(log(float32(x)))


@func
def _sin(x: Float) -> Float:
    return Float(sin(float32(x)))


@func
def _cos(x: Float) -> Float:
    return Float(cos(float32(x)))


@func
def _tan(x: Float) -> Float:
    return Float(tan(float32(x)))


@func
def _asin(x: Float) -> Float:
    return Float(asin(float32(x)))


@func
def _acos(x: Float) -> Float:
    return Float(acos(float32(x)))


@func
def _atan(x: Float) -> Float:
    return Float(atan(float32(x)))


@func
def _tanh(x: Float) -> Float:
    return Float(tanh(float32(x)))


@func
def _log2(x: Float) -> Float:
    return Float(log2(float32(x)))


@func
def _log10(x: Float) -> Float:
    return Float(log10(float32(x)))


@func
def _cbrt(x: Float) -> Float:
    return Float(cbrt(float32(x)))


@func
def _sinh(x: Float) -> Float:
    return Float(sinh(float32(x)))


@func
def _cosh(x: Float) -> Float:
    return Float(cosh(float32(x)))


@func
def _erf(x: Float) -> Float:
    return Float(erf(float32(x)))


@func
def _erfc(x: Float) -> Float:
    return Float(erfc(float32(x)))


@func
def _erfinv(x: Float) -> Float:
    return Float(erfinv(float32(x)))


@func
def _erfcinv(x: Float) -> Float:
    return Float(erfcinv(float32(x)))


@func
def _pow(x: Float, y: Float) -> Float:
    return Float(pow(float32(x), float32(y)))


@func
def _atan2(y: Float, x: Float) -> Float:
    return Float(atan2(float32(y), float32(x)))


@func
def _mod(a: Float, b: Float) -> Float:
    return Float(mod(float32(a), float32(b)))
