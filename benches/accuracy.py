#!/usr/bin/env python3
"""Measures the elementary functions of stdlib/ as compiled: the table of docs/accuracy.md. Needs numpy and gmpy2.

    python3 benches/accuracy.py --kc target/release/kc                  every function, sampled; a few minutes
    python3 benches/accuracy.py --kc target/release/kc sin --exhaustive every float32

Each function runs in a kernel on the host. float64 results are compared with MPFR (through gmpy2) on samples. float32
results are compared with the library's own float64 function on every STRIDEth float32: the float64 function is right to
2^-28 of a float32 ulp where its own line of the table says so. Errors are in ulps of the right result.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import gmpy2
import numpy as np

CONTEXT = gmpy2.context(precision=140, emin=-40000, emax=40000)

KERNELS = """
import warp as wp

@wp.kernel
def one_f32(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), r: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.{name}(x[i])
    r[i] = wp.{name}(wp.float64(x[i]))

@wp.kernel
def one_f64(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.{name}(x[i])
"""

KERNELS_OF_TWO = """
import warp as wp

@wp.kernel
def two_f32(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = wp.{name}(a[i], b[i])

@wp.kernel
def two_f64(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.{name}(a[i], b[i])
"""


def inverse_erfc(c):
    """erfcinv by Newton's method in MPFR."""
    if not 0 <= c <= 2:
        return gmpy2.nan()
    if c == 0 or c == 2:
        return gmpy2.inf(1 if c == 0 else -1)
    if c > 1:
        return -inverse_erfc(2 - c)
    y = gmpy2.sqrt(-gmpy2.log(c)) if c < 0.1 else (1 - c)
    for _ in range(100):
        step = (gmpy2.erfc(y) - c) * gmpy2.exp(y * y) * gmpy2.sqrt(gmpy2.const_pi()) / 2
        y += min(step, gmpy2.mpfr(1))
        if abs(step) <= abs(y) * 1e-25:
            break
    return y


def inverse_erf(x):
    """erfinv; by its series where 1 - x would lose the digits of x."""
    if abs(x) < 1e-12:
        return x * gmpy2.sqrt(gmpy2.const_pi()) / 2 * (1 + gmpy2.const_pi() / 12 * x * x)
    return inverse_erfc(1 - x)


def clamped(f):
    """asin and acos take their argument limited to -1..1."""
    return lambda x: f(max(gmpy2.mpfr(-1), min(gmpy2.mpfr(1), x)) if x == x else x)


# Name: the MPFR function, and the interval where most samples are worth it.
ONE = {
    "sin": (gmpy2.sin, -100, 100), "cos": (gmpy2.cos, -100, 100), "tan": (gmpy2.tan, -100, 100),
    "asin": (clamped(gmpy2.asin), -1, 1), "acos": (clamped(gmpy2.acos), -1, 1), "atan": (gmpy2.atan, -4, 4),
    "exp": (gmpy2.exp, -746, 711), "log": (gmpy2.log, 0, 3), "log2": (gmpy2.log2, 0, 3), "log10": (gmpy2.log10, 0, 3),
    "sqrt": (gmpy2.sqrt, 0, 4), "cbrt": (gmpy2.cbrt, -4, 4),
    "sinh": (gmpy2.sinh, -5, 5), "cosh": (gmpy2.cosh, -5, 5), "tanh": (gmpy2.tanh, -3, 3),
    "erf": (gmpy2.erf, -3, 3), "erfc": (gmpy2.erfc, -3, 28),
    "erfinv": (inverse_erf, -1, 1),
    "erfcinv": (inverse_erfc, 0, 2),
}  # fmt: skip
TWO = {"pow": lambda a, b: a**b, "atan2": gmpy2.atan2, "mod": gmpy2.fmod}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1.5, np.inf, -np.inf, np.nan, 1e10, -1e10, 1e30]


def run(kc, folder, kernel, threads, arrays, results):
    """Launches `kernel` and returns its result arrays."""
    command = [kc, "run", folder / "kernels.py", "-k", kernel, "--dim", str(threads), "--unchecked", "--out-dir", folder]
    for name, array in arrays.items():
        np.save(folder / f"in_{name}.npy", array)
        command += ["--arg", f"{name}=@{folder}/in_{name}.npy"]
    for name, kind in results.items():
        command += ["--arg", f"{name}=zeros:{kind}:{threads}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{kernel}: {done.stdout}{done.stderr}")
    return [np.load(folder / f"{name}.npy") for name in results]


def ulp_errors(y, right, rounded):
    """|y - right| in ulps of `rounded`, the right result in y's format; infinity where a special value is wrong."""
    info = np.finfo(y.dtype)
    with np.errstate(all="ignore"):
        size = np.where(np.isinf(rounded), info.max, np.abs(rounded))
        ulp = np.maximum(np.spacing(size), info.smallest_subnormal).astype(float)
        error = np.abs((y.astype(right.dtype) - right) / ulp).astype(float)
    same = (y == rounded) & ((y != 0) | (np.signbit(y) == np.signbit(rounded)))
    special = ~np.isfinite(y) | ~np.isfinite(rounded) | ((y == 0) & (rounded == 0))
    both_nan = np.isnan(y) & np.isnan(rounded)
    # The largest finite number and infinity are one ulp apart.
    edge = np.isinf(y) ^ np.isinf(rounded)
    edge &= np.where(np.isinf(y), np.abs(rounded), np.abs(y)) == info.max
    return np.where(both_nan | (special & same), 0.0, np.where(special, np.where(edge, 1.0, np.inf), error))


class Worst:
    """The largest error seen and its argument."""

    def __init__(self):
        self.error, self.at, self.count = 0.0, None, 0

    def add(self, errors, *arguments):
        i = int(np.argmax(errors))
        self.count += len(errors)
        if self.at is None or errors[i] > self.error:
            self.error, self.at = float(errors[i]), [a[i] for a in arguments]

    def __str__(self):
        at = ", ".join(f"{a:.9g}" if a.dtype == np.float32 else f"{a:.17g}" for a in self.at)
        return f"{self.error:.3f} | {at} | {self.count}"


def measure_f32(kc, folder, stride):
    worst, chunk = Worst(), 1 << 22
    for first in range(0, 1 << 32, chunk * stride):
        bits = np.arange(first, min(first + chunk * stride, 1 << 32), stride, dtype=np.uint64).astype(np.uint32)
        x = bits.view(np.float32)
        y, right = run(kc, folder, "one_f32", len(x), {"x": x}, {"y": "f32", "r": "f64"})
        with np.errstate(all="ignore"):
            worst.add(ulp_errors(y, right, right.astype(np.float32)), x)
    return worst


def samples(count, low, high, random):
    """A third each: any bits, evenly in the interval, evenly in the exponent."""
    n = count // 3
    x = [random.integers(0, 1 << 64, n, dtype=np.uint64).view(np.float64), random.uniform(low, high, n)]
    x.append(random.uniform(1, 2, n) * np.exp2(random.integers(-40, 8, n)) * random.choice([-1.0, 1.0], n))
    return np.concatenate([*x, np.array(SPECIAL), -np.array(SPECIAL)])


def mpfr_errors(y, f, *arguments):
    """Errors against MPFR, in ulps of the right result in y's format."""
    info = np.finfo(y.dtype)
    errors, rounded = np.zeros(len(y)), np.empty_like(y)
    with gmpy2.context(CONTEXT), np.errstate(all="ignore"):
        for i, values in enumerate(zip(*arguments)):
            right = f(*(gmpy2.mpfr(float(v)) for v in values))
            rounded[i] = float(right)
            if np.isfinite(y[i]) and np.isfinite(rounded[i]):
                ulp = max(np.spacing(abs(rounded[i])), info.smallest_subnormal)
                errors[i] = float(abs(gmpy2.mpfr(float(y[i])) - right) / gmpy2.mpfr(float(ulp)))
    special = ulp_errors(y, rounded, rounded)
    plain = np.isfinite(y) & np.isfinite(rounded) & ((y != 0) | (rounded != 0))
    return np.where(plain, errors, special)


def measure_one(kc, name, args, random):
    f, low, high = ONE[name]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "kernels.py").write_text(KERNELS.format(name=name))
        print(f"| {name} | float32 | {measure_f32(kc, folder, args.stride)} |", flush=True)
        x = samples(args.samples, low, high, random)
        (y,) = run(kc, folder, "one_f64", len(x), {"x": x}, {"y": "f64"})
        worst = Worst()
        worst.add(mpfr_errors(y, f, x), x)
        print(f"| {name} | float64 | {worst} |", flush=True)


def pairs(name, count, dtype, random):
    """Arguments of a function of two: any bits, and pairs of a size that give ordinary results; all special pairs."""
    bits = np.uint32 if dtype == np.float32 else np.uint64
    n = count // 3

    def any_bits():
        return random.integers(0, np.iinfo(bits).max, n, dtype=bits, endpoint=True).view(dtype)

    a, b, c = any_bits(), any_bits(), np.abs(any_bits())
    with np.errstate(all="ignore"):
        reach = 150 if dtype == np.float32 else 1076
        if name == "pow":
            d = random.uniform(-reach, reach, n) / np.log2(c.astype(np.float64))
            e = random.uniform(0.5, 2, n)
            g = random.uniform(-reach, reach, n) / np.log2(e)
        else:
            d = c * random.uniform(-2, 2, n)
            e = random.uniform(-100, 100, n)
            g = random.uniform(-2, 2, n)
        left, right = np.meshgrid(SPECIAL, SPECIAL)
        first = np.concatenate([a, c, e.astype(dtype), left.ravel().astype(dtype)])
        return first, np.concatenate([b, d.astype(dtype), g.astype(dtype), right.ravel().astype(dtype)])


def measure_two(kc, name, args, random):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "kernels.py").write_text(KERNELS_OF_TWO.format(name=name))
        for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
            a, b = pairs(name, args.samples, dtype, random)
            (y,) = run(kc, folder, f"two_{kind}", len(a), {"a": a, "b": b}, {"y": kind})
            worst = Worst()
            if name == "mod":
                # Exact, so any difference counts; fmod of NumPy is the C library's.
                with np.errstate(all="ignore"):
                    right = np.fmod(a, b)
                worst.add(ulp_errors(y, right, right), a, b)
            else:
                worst.add(mpfr_errors(y, TWO[name], a, b), a, b)
            print(f"| {name} | float{kind[1:]} | {worst} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="functions (default: all)")
    parser.add_argument("--kc", default="target/release/kc", help="the compiler")
    parser.add_argument("--stride", type=int, default=1009, help="take every STRIDEth float32")
    parser.add_argument("--exhaustive", action="store_true", help="take every float32: --stride 1")
    parser.add_argument("--samples", type=int, default=30000, help="float64 samples of each function")
    args = parser.parse_args()
    if args.exhaustive:
        args.stride = 1
    random = np.random.default_rng(1)
    print("| function | type | max error (ulp) | at | inputs |")
    print("|---|---|---|---|---|")
    for name in args.names or [*ONE, *TWO]:
        if name in ONE:
            measure_one(args.kc, name, args, random)
        elif name in TWO:
            measure_two(args.kc, name, args, random)
        else:
            sys.exit(f"no function `{name}`: there are {', '.join([*ONE, *TWO])}")


if __name__ == "__main__":
    main()
