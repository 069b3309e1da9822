#!/usr/bin/env python3
"""Derives the polynomial coefficients of stdlib/elementary_*.py. Needs gmpy2.

Remez exchange (E. Remez, 1934) on a dense grid, for any set of exponents, then coefficients rounded to the target
format one after another, lowest first, each time fitting the rest again to what the rounding left.

    python3 benches/minimax.py            every set
    python3 benches/minimax.py exp_f32    one set
"""
import sys

import gmpy2
from gmpy2 import mpfr

gmpy2.get_context().precision = 260
gmpy2.get_context().emax = 1 << 28
gmpy2.get_context().emin = -(1 << 28)


def round_to(value, bits):
    """`value` rounded to float32 (24 bits) or float64 (53)."""
    return mpfr(mpfr(value, bits))


def solve(matrix, right):
    """Gaussian elimination with row pivots."""
    n = len(right)
    rows = [list(row) + [b] for row, b in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            if factor:
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    x = [mpfr(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def remez(points, values, weights, exponents):
    """The c that make max |w (f - sum c x^e)| smallest on the points, and that maximum."""
    n = len(exponents)
    powers = [[p**e for e in exponents] for p in points]
    count = len(points)
    reference = [round(i * (count - 1) / n) for i in range(n + 1)]
    coefficients, worst = [], mpfr("inf")
    for _ in range(60):
        matrix = [powers[i] + [(-1) ** k / weights[i]] for k, i in enumerate(reference)]
        solution = solve(matrix, [values[i] for i in reference])
        coefficients, level = solution[:n], abs(solution[n])
        errors = [
            w * (v - sum(c * q for c, q in zip(coefficients, row))) for v, w, row in zip(values, weights, powers)
        ]
        worst = max(abs(e) for e in errors)
        if worst <= level * mpfr("1.0001"):
            break
        # The largest error of each stretch of one sign; then the n + 1 neighbours that hold the
        # largest.
        peaks = []
        for i, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > n + 1:
            # The smallest goes: alone at an end, inside together with a neighbour so that signs
            # still alternate.
            size = [abs(errors[i]) for i in peaks]
            least = size.index(min(size))
            if least in (0, len(peaks) - 1):
                peaks.pop(least)
            elif len(peaks) == n + 2:
                peaks.pop(0 if size[0] < size[-1] else -1)
            else:
                first = least - (size[least - 1] < size[least + 1])
                del peaks[first : first + 2]
        if len(peaks) < n + 1:
            break
        reference = peaks
    return coefficients, worst


def fit(f, low, high, exponents, bits, weight=None, grid=600):
    """Coefficients rounded to `bits` and log2 of the largest weighted error."""
    pi = gmpy2.const_pi()
    low, high = mpfr(low), mpfr(high)
    points = [(low + high) / 2 - (high - low) / 2 * gmpy2.cos(pi * (i + mpfr(0.5)) / grid) for i in range(grid)]
    values = [f(p) for p in points]
    weights = [weight(p) if weight else 1 / abs(v) for p, v in zip(points, values)]
    rest, done = list(exponents), []
    while rest:
        # Divided by the lowest power, so that the remaining ones span a Haar space also around 0.
        low = rest[0]
        scaled = [v / p**low for v, p in zip(values, points)]
        coefficients, _ = remez(points, scaled, [w * abs(p) ** low for w, p in zip(weights, points)], [e - low for e in rest])
        c = round_to(coefficients[0], bits)
        values = [v - c * p**low for v, p in zip(values, points)]
        done.append(c)
        rest.pop(0)
    worst = max(abs(v * w) for v, w in zip(values, weights))
    return done, float(gmpy2.log2(worst))


def show(name, result):
    coefficients, error = result
    digits = 9 if all(c == round_to(c, 24) for c in coefficients) else 17
    print(f"{name}: log2(error) = {error:.2f}")
    for c in coefficients:
        print(f"    {float(c):.{digits}g}")


def log1p_tail(x):
    """(log(1 + x) - x + x^2 / 2) / x^3"""
    return (gmpy2.log1p(x) - x + x * x / 2) / x**3


def odd_tail(f):
    """(f(sqrt z) / sqrt z - 1) / z, the tail of an odd function x + x^3 (...) as a function of z = x^2."""

    def tail(z):
        x = gmpy2.sqrt(z)
        return (f(x) / x - 1) / z

    return tail


def relative(f, scale=1):
    """The weight that makes a tail's error relative to f: z^scale * sqrt z / f(sqrt z)."""

    def weight(z):
        x = gmpy2.sqrt(z)
        return abs(z**scale * x / f(x))

    return weight


def odd(f, high, terms, bits):
    """Tail coefficients of an odd f on (0, high]."""
    top = mpfr(high) ** 2
    return fit(odd_tail(f), top * mpfr("1e-9"), top, range(terms), bits, weight=relative(f))


PI = gmpy2.const_pi()
LN2 = gmpy2.const_log2()
QUARTER = PI / 4 * mpfr("1.0003")
HALF_LN2 = LN2 / 2 * mpfr("1.0003")


def cos_tail(z):
    return (gmpy2.cos(gmpy2.sqrt(z)) - 1 + z / 2) / z**2


def exp_tail(x):
    return (gmpy2.exp(x) - 1 - x) / x**2


def both_sides(f, high, terms, bits, weight):
    """For a function that is not odd: fit on [-high, high]."""
    return fit(f, -mpfr(high), high, range(terms), bits, weight=weight)


SQRT_PI = gmpy2.sqrt(PI)


def erf_tail(z):
    """erf(x) / x - 1."""
    x = gmpy2.sqrt(z)
    return gmpy2.erf(x) / x - 1


def erf_weight(z):
    x = gmpy2.sqrt(z)
    return x / gmpy2.erf(x)


def erfcx(x):
    """exp(x^2) erfc(x)."""
    return gmpy2.exp(x * x) * gmpy2.erfc(x)


def erfc_scaled(center):
    """(1 + 2 x) erfcx(x) as a function of t = (x - center) / (x + center)."""

    def scaled(t):
        x = center * (1 + t) / (1 - t)
        return (1 + 2 * x) * erfcx(x)

    return scaled


def erfc_fit(center, top, terms, bits):
    low, top = mpfr("0.8"), mpfr(top)
    return fit(erfc_scaled(center), (low - center) / (low + center), (top - center) / (top + center), range(terms), bits)


def inverse_erfc(x):
    """y with erfc(y) = x, for 0 < x <= 1, by Newton's method."""
    y = gmpy2.sqrt(-gmpy2.log(x)) if x < mpfr("0.1") else (1 - x)
    for _ in range(200):
        step = (gmpy2.erfc(y) - x) * gmpy2.exp(y * y) * SQRT_PI / 2
        step = min(step, mpfr(1))
        y += step
        if abs(step) < abs(y) * mpfr("1e-60"):
            break
    return y


def inverse_ratio(w):
    """erfinv(x) / x where w = -log(1 - x^2)."""
    if w < mpfr("1e-20"):
        return SQRT_PI / 2
    x = gmpy2.sqrt(-gmpy2.expm1(-w))
    return inverse_erfc(gmpy2.exp(-w) / (1 + x)) / x


def inverse_fit(low, high, terms, bits, center):
    """erfinv(x) / x as a polynomial in w - center."""
    return fit(lambda v: inverse_ratio(v + center), low - center, high - center, range(terms), bits, grid=200)


def inverse_tail_fit(low, high, terms, bits):
    """erfinv(x) / (x sqrt w) as a polynomial in 1 / sqrt w."""
    low, high = 1 / gmpy2.sqrt(mpfr(high)), 1 / gmpy2.sqrt(mpfr(low))
    return fit(lambda v: inverse_ratio(1 / v**2) * v, low, high, range(terms), bits, grid=200)


SETS = {
    "sin_f32": lambda: odd(gmpy2.sin, QUARTER, 3, 24),
    "cos_f32": lambda: fit(cos_tail, mpfr("1e-9"), QUARTER**2, range(3), 24, weight=lambda z: z**2),
    "tan_f32": lambda: odd(gmpy2.tan, QUARTER, 6, 24),
    "exp_f32": lambda: both_sides(exp_tail, HALF_LN2, 5, 24, lambda x: x**2),
    "log_f32": lambda: fit(log1p_tail, gmpy2.sqrt(mpfr(0.5)) - 1, gmpy2.sqrt(mpfr(2)) - 1, range(8), 24,
                           weight=lambda x: abs(x**3 / gmpy2.log1p(x))),
    "atan_f32": lambda: odd(gmpy2.atan, mpfr(1), 8, 24),
    "asin_f32": lambda: odd(gmpy2.asin, mpfr("0.55"), 6, 24),
    # pow: log2(m) = s (2/ln2 + z (2/(3 ln2) + z P(z))), s = (m - 1) / (m + 1), z = s^2; and 2^r = 1
    # + r P(r).
    "pow_log2_f32": lambda: fit(lambda z: ((gmpy2.atanh(gmpy2.sqrt(z)) / gmpy2.sqrt(z) - 1) / z - mpfr(1) / 3) / z * 2 / LN2,
                                mpfr("1e-9"), mpfr("0.02945"), range(3), 24, weight=lambda z: z**2),
    "exp2_f32": lambda: both_sides(lambda r: gmpy2.expm1(r * LN2) / r, mpfr("0.5001"), 6, 24, lambda r: abs(r)),
    "sin_f64": lambda: odd(gmpy2.sin, QUARTER, 7, 53),
    "cos_f64": lambda: fit(cos_tail, mpfr("1e-9"), QUARTER**2, range(6), 53, weight=lambda z: z**2),
    "tan_f64": lambda: odd(gmpy2.tan, QUARTER, 14, 53),
    "exp_f64": lambda: both_sides(exp_tail, HALF_LN2, 10, 53, lambda x: x**2),
    # log: s P(z) = log(1 + f) - 2 s with s = f / (2 + f), z = s^2, P without its factor z.
    "log_f64": lambda: fit(lambda z: 2 * (gmpy2.atanh(gmpy2.sqrt(z)) / gmpy2.sqrt(z) - 1) / z, mpfr("1e-9"), mpfr("0.02945"),
                           range(7), 53, weight=lambda z: z / 2),
    "atan_f64": lambda: odd(gmpy2.atan, mpfr(1), 21, 53),
    "asin_f64": lambda: odd(gmpy2.asin, mpfr("0.55"), 14, 53),
    "tanh_f64": lambda: odd(gmpy2.tanh, mpfr("0.56"), 11, 53),
    "pow_log2_f64": lambda: fit(lambda z: ((gmpy2.atanh(gmpy2.sqrt(z)) / gmpy2.sqrt(z) - 1) / z - mpfr(1) / 3) / z * 2 / LN2,
                                mpfr("1e-9"), mpfr("0.02945"), range(9), 53, weight=lambda z: z**2),
    "exp2_f64": lambda: both_sides(lambda r: gmpy2.expm1(r * LN2) / r, mpfr("0.5001"), 12, 53, lambda r: abs(r)),
    "sinh_f32": lambda: odd(gmpy2.sinh, mpfr(1), 4, 24),
    "sinh_f64": lambda: odd(gmpy2.sinh, mpfr(1), 8, 53),
    "erf_f32": lambda: fit(erf_tail, mpfr("1e-9"), mpfr("0.85") ** 2, range(6), 24, weight=erf_weight),
    "erf_f64": lambda: fit(erf_tail, mpfr("1e-9"), mpfr("0.85") ** 2, range(12), 53, weight=erf_weight),
    "erfc_f32": lambda: erfc_fit(mpfr("1.5"), 10.2, 10, 24),
    "erfc_f64": lambda: erfc_fit(mpfr("2.5"), 27.3, 20, 53),
    "erfinv_small_f32": lambda: inverse_fit(mpfr("1e-9"), 5, 4, 24, mpfr(0)),
    "erfinv_large_f32": lambda: inverse_tail_fit(5, 104, 4, 24),
    "erfinv_small_f64": lambda: inverse_fit(mpfr("1e-9"), 5, 9, 53, mpfr(0)),
    "erfinv_large_f64": lambda: inverse_tail_fit(5, 746, 14, 53),
    "tanh_f32": lambda: odd(gmpy2.tanh, mpfr("0.56"), 5, 24),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or SETS:
        show(name, SETS[name]())
