"""Elementary functions: within two ulps over their domains, and right at special values."""

import decimal
import math

import numpy as np
import warp as wp


@wp.kernel
def one_f32(x: wp.array(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    out[i, 0] = wp.sin(x[i])
    out[i, 1] = wp.cos(x[i])
    out[i, 2] = wp.tan(x[i])
    out[i, 3] = wp.asin(x[i])
    out[i, 4] = wp.acos(x[i])
    out[i, 5] = wp.atan(x[i])
    out[i, 6] = wp.exp(x[i])
    out[i, 7] = wp.log(x[i])
    out[i, 8] = wp.log2(x[i])
    out[i, 9] = wp.log10(x[i])
    out[i, 10] = wp.cbrt(x[i])
    out[i, 11] = wp.sinh(x[i])
    out[i, 12] = wp.cosh(x[i])
    out[i, 13] = wp.tanh(x[i])
    out[i, 14] = wp.erf(x[i])
    out[i, 15] = wp.erfc(x[i])


@wp.kernel
def one_f64(x: wp.array(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    out[i, 0] = wp.sin(x[i])
    out[i, 1] = wp.cos(x[i])
    out[i, 2] = wp.tan(x[i])
    out[i, 3] = wp.asin(x[i])
    out[i, 4] = wp.acos(x[i])
    out[i, 5] = wp.atan(x[i])
    out[i, 6] = wp.exp(x[i])
    out[i, 7] = wp.log(x[i])
    out[i, 8] = wp.log2(x[i])
    out[i, 9] = wp.log10(x[i])
    out[i, 10] = wp.cbrt(x[i])
    out[i, 11] = wp.sinh(x[i])
    out[i, 12] = wp.cosh(x[i])
    out[i, 13] = wp.tanh(x[i])
    out[i, 14] = wp.erf(x[i])
    out[i, 15] = wp.erfc(x[i])


@wp.kernel
def one_f16(x: wp.array(dtype=wp.float16), out: wp.array2d(dtype=wp.float16)):
    i = wp.tid()
    out[i, 0] = wp.sin(x[i])
    out[i, 1] = wp.exp(x[i])
    out[i, 2] = wp.tanh(x[i])
    out[i, 3] = wp.cbrt(x[i])


@wp.kernel
def two_f32(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    out[i, 0] = wp.pow(a[i], b[i])
    out[i, 1] = wp.atan2(a[i], b[i])
    out[i, 2] = a[i] % b[i]


@wp.kernel
def two_f64(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    out[i, 0] = wp.pow(a[i], b[i])
    out[i, 1] = wp.atan2(a[i], b[i])
    out[i, 2] = a[i] % b[i]


@wp.kernel
def inverse_f32(x: wp.array(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    out[i, 0] = wp.erf(wp.erfinv(x[i]))
    out[i, 1] = wp.erfc(wp.erfcinv(x[i]))


@wp.kernel
def inverse_f64(x: wp.array(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    i = wp.tid()
    out[i, 0] = wp.erf(wp.erfinv(x[i]))
    out[i, 1] = wp.erfc(wp.erfcinv(x[i]))


@wp.kernel
def sign_of_zero(x: wp.array(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    out[i, 0] = wp.copysign(1.0, wp.sin(x[i]))
    out[i, 1] = wp.copysign(1.0, wp.tan(x[i]))
    out[i, 2] = wp.copysign(1.0, wp.asin(x[i]))
    out[i, 3] = wp.copysign(1.0, wp.atan(x[i]))
    out[i, 4] = wp.copysign(1.0, wp.cbrt(x[i]))
    out[i, 5] = wp.copysign(1.0, wp.sinh(x[i]))
    out[i, 6] = wp.copysign(1.0, wp.tanh(x[i]))
    out[i, 7] = wp.copysign(1.0, wp.erf(x[i]))
    out[i, 8] = wp.copysign(1.0, wp.erfinv(x[i]))
    out[i, 9] = wp.copysign(1.0, wp.atan2(x[i], 1.0))
    out[i, 10] = wp.copysign(1.0, wp.pow(x[i], 3.0))
    out[i, 11] = wp.copysign(1.0, x[i] % 2.0)


@wp.kernel
def roots_f32(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.cbrt(x[i])


@wp.kernel
def roots_f64(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] = wp.cbrt(x[i])


def each(f, x):
    return np.array([f(v) for v in x])


def right(x):
    """The functions of `one_*` in float64. asin and acos limit their argument."""
    inside = np.clip(x, -1.0, 1.0)
    return np.stack(
        [np.sin(x), np.cos(x), np.tan(x), np.arcsin(inside), np.arccos(inside), np.arctan(x), np.exp(x), np.log(x),
         np.log2(x), np.log10(x), np.cbrt(x), np.sinh(x), np.cosh(x), np.tanh(x), each(math.erf, x), each(math.erfc, x)],
        axis=1,
    )  # fmt: skip


def cases():
    random = np.random.default_rng(7)
    special = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 48000.0, -1e6])
    x = np.concatenate([special, random.uniform(-4, 4, 200), random.uniform(-100, 100, 100), np.geomspace(1e-38, 3e38, 200)])
    with np.errstate(all="ignore"):
        x32 = x.astype(np.float32)
        want = right(x32.astype(np.float64)).astype(np.float32)
        # Two ulps; the smallest normal number bounds what an ulp of a subnormal can be.
        yield case("one_f32", len(x), dict(x=x32, out=np.zeros_like(want)), dict(out=want), rtol=2.4e-7, atol=3e-45)

        x64 = np.concatenate([x, np.geomspace(1e-308, 1e308, 300), random.uniform(-800, 800, 100)])
        want = right(x64)
        yield case("one_f64", len(x64), dict(x=x64, out=np.zeros_like(want)), dict(out=want), rtol=6e-16, atol=1e-323)

        x16 = np.array([0.0, 0.25, -1.5, 3.0, 10.0, -7.5, 11.0, 12.0, np.inf, np.nan], dtype=np.float16)
        wide = x16.astype(np.float64)
        want = np.stack([np.sin(wide), np.exp(wide), np.tanh(wide), np.cbrt(wide)], axis=1).astype(np.float16)
        yield case("one_f16", len(x16), dict(x=x16, out=np.zeros_like(want)), dict(out=want), rtol=0, atol=0)

        edge = np.concatenate([special, [3.0, -3.0, 16777215.0, 2.5, -0.5, 127.0, -150.0], random.uniform(-5, 5, 30)])
        for kernel, dtype, rtol, atol in (("two_f32", np.float32, 2.4e-7, 3e-45), ("two_f64", np.float64, 6e-16, 1e-323)):
            a, b = (m.ravel() for m in np.meshgrid(edge.astype(dtype), edge.astype(dtype)))
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            columns = [np.power(wide_a, wide_b), np.arctan2(wide_a, wide_b), np.fmod(wide_a, wide_b)]
            want = np.stack(columns, axis=1).astype(dtype)
            arguments = dict(a=a, b=b, out=np.zeros_like(want))
            yield case(kernel, len(a), arguments, dict(out=want), rtol=rtol, atol=atol)

        # There and back: the error of the inverse grows by the condition of the function, which is below 4 here.
        x = random.uniform(0.01, 0.99, 200)
        for kernel, dtype, rtol in (("inverse_f32", np.float32, 1.5e-6), ("inverse_f64", np.float64, 3e-15)):
            want = np.stack([x, x], axis=1).astype(dtype)
            arguments = dict(x=x.astype(dtype), out=np.zeros_like(want))
            yield case(kernel, len(x), arguments, dict(out=want), rtol=rtol, atol=0)

    # Cube roots are rounded correctly, also those of the smallest numbers.
    for kernel, dtype, low, high in (("roots_f32", np.float32, -149, 127), ("roots_f64", np.float64, -1074, 1023)):
        x = np.ldexp(random.uniform(-2, 2, 2000), random.integers(low, high, 2000)).astype(dtype)
        x = x[x != 0]
        with decimal.localcontext(prec=60):
            roots = [math.copysign(abs(decimal.Decimal(float(v))) ** (decimal.Decimal(1) / 3), v) for v in x]
        want = np.array(roots).astype(dtype)
        yield case(kernel, len(x), dict(x=x, out=np.zeros_like(want)), dict(out=want), rtol=0, atol=0)

    want = np.array([[1.0] * 12, [-1.0] * 12], dtype=np.float32)
    yield case("sign_of_zero", 2, dict(x=np.array([0.0, -0.0]), out=np.zeros_like(want)), dict(out=want))
