#!/usr/bin/env python3
"""Measures the elementary functions of stdlib/ as compiled: the table of docs/accuracy.md. Needs numpy and gmpy2.

    python3 benches/accuracy.py --kc target/release/kc                  every function, sampled; a few minutes
    python3 benches/accuracy.py --kc target/release/kc sin --exhaustive every float32
    python3 benches/accuracy.py --kc target/release/kc --page docs/accuracy.md
                                                        raises the page's figures where this run found larger errors

Each function runs in a kernel on the host. float64 results are compared with MPFR (through gmpy2) on samples, then on
more and more arguments near those with the largest errors. float32 results are compared with the library's own float64
function on every STRIDEth float32: the float64 function is right to 2^-28 of a float32 ulp where its own line of the table
says so. Errors are in ulps of the right result. The last column: how many of some results of each function have other bits
on the simulator, which runs the PTX (`--on-simulator 0` leaves it out).
"""
import argparse
import math
import re
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

# What CUDA text calls, in float32 and float64: the largest difference from the correctly rounded result, in ulps, that the
# CUDA C++ Programming Guide states (its appendix on mathematical functions; from many tests, and no guarantee).
CUDA = {
    "sin": (2, 2), "cos": (2, 2), "tan": (4, 2), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2),
    "sinh": (3, 2), "cosh": (2, 1), "tanh": (2, 1), "exp": (2, 1), "log": (1, 1), "log2": (1, 1), "log10": (2, 1),
    "sqrt": (0, 0), "cbrt": (1, 1), "erf": (2, 2), "erfc": (4, 5), "erfinv": (2, 5), "erfcinv": (4, 6),
    "pow": (4, 2), "atan2": (3, 2), "mod": (0, 0),
}  # fmt: skip

# Rounds of looking near the worst arguments, how many of them, and how many neighbours each has.
ROUNDS, BEST, NEIGHBOURS = 6, 20, 200

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1.5, np.inf, -np.inf, np.nan, 1e10, -1e10, 1e30]


def run(kc, folder, kernel, arrays, results, device="host"):
    """Launches `kernel` and returns its result arrays."""
    threads = len(next(iter(arrays.values())))
    command = [kc, "run", folder / "kernels.py", "-k", kernel, "--dim", str(threads), "--device", device]
    command += ["--out-dir", folder] + (["--unchecked"] if device == "host" else [])
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

    def where(self, digits=(9, 17)):
        return ", ".join(f"{a:.{digits[a.dtype != np.float32]}g}" for a in self.at)

    def __str__(self):
        return f"{self.error:.3f} | {self.where()} | {self.count}"


def measure_f32(kc, folder, stride):
    worst, chunk = Worst(), 1 << 22
    for first in range(0, 1 << 32, chunk * stride):
        bits = np.arange(first, min(first + chunk * stride, 1 << 32), stride, dtype=np.uint64).astype(np.uint32)
        x = bits.view(np.float32)
        y, right = run(kc, folder, "one_f32", {"x": x}, {"y": "f32", "r": "f64"})
        with np.errstate(all="ignore"):
            worst.add(ulp_errors(y, right, right.astype(np.float32)), x)
    return worst


def samples(count, low, high, random):
    """A third each: any bits, evenly in the interval, evenly in the exponent; and numbers next to the smallest normal one."""
    n = count // 3
    x = [random.integers(0, 1 << 64, n, dtype=np.uint64).view(np.float64), random.uniform(low, high, n)]
    x.append(random.uniform(1, 2, n) * np.exp2(random.integers(-40, 8, n)) * random.choice([-1.0, 1.0], n))
    n = n // 10
    x.append(random.uniform(-1, 1, n) * np.exp2(random.uniform(-1074, -1018, n)))
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


def climb(worst, f, launch, arguments, errors, random):
    """Looks near the arguments with the largest errors for larger ones."""
    for _ in range(ROUNDS):
        best = np.argsort(-np.where(np.isfinite(errors), errors, 0))[:BEST]
        shape = (len(best), NEIGHBOURS)
        near = []
        for x in arguments:
            by = 1 + random.uniform(-1, 1, shape) * 10.0 ** random.uniform(-14, -1, shape)
            with np.errstate(all="ignore"):
                near.append((x[best][:, None] * by).astype(x.dtype).ravel())
        arguments = [np.concatenate([x[best], y]) for x, y in zip(arguments, near)]
        errors = mpfr_errors(launch(arguments), f, *arguments)
        worst.add(errors, *arguments)


def other_bits(a, b):
    """In how many results other bits are: one NaN is like another."""
    bits = np.uint32 if a.dtype == np.float32 else np.uint64
    return int(np.sum((a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b))))


def on_simulator(args, folder, kernel, arrays, results, random):
    """What PTX gives for some of the arguments, compared with host code."""
    if args.on_simulator == 0:
        return "not run"
    n = len(next(iter(arrays.values())))
    some = random.permutation(n)[: args.on_simulator]
    arrays = {name: array[some] for name, array in arrays.items()}
    (host, *_), (sim, *_) = (run(args.kc, folder, kernel, arrays, results, device) for device in ("host", "sim"))
    return f"{other_bits(host, sim)} of {len(some)}"


def measure_one(name, args, random):
    f, low, high = ONE[name]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "kernels.py").write_text(KERNELS.format(name=name))
        worst = measure_f32(args.kc, folder, args.stride)
        x = random.integers(0, 1 << 32, max(args.on_simulator, 1), dtype=np.uint64).astype(np.uint32).view(np.float32)
        yield "float32", worst, on_simulator(args, folder, "one_f32", {"x": x}, {"y": "f32", "r": "f64"}, random)
        x = samples(args.samples, low, high, random)

        def launch(arguments):
            return run(args.kc, folder, "one_f64", {"x": arguments[0]}, {"y": "f64"})[0]

        worst, errors = Worst(), mpfr_errors(launch([x]), f, x)
        worst.add(errors, x)
        climb(worst, f, launch, [x], errors, random)
        yield "float64", worst, on_simulator(args, folder, "one_f64", {"x": x}, {"y": "f64"}, random)


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


def measure_two(name, args, random):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "kernels.py").write_text(KERNELS_OF_TWO.format(name=name))
        for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
            arguments = list(pairs(name, args.samples, dtype, random))

            def launch(arguments, kind=kind):
                return run(args.kc, folder, f"two_{kind}", dict(zip("ab", arguments)), {"y": kind})[0]

            y, worst = launch(arguments), Worst()
            if name == "mod":
                # Exact, so any difference counts; fmod of NumPy is the C library's.
                with np.errstate(all="ignore"):
                    right = np.fmod(*arguments)
                worst.add(ulp_errors(y, right, right), *arguments)
            else:
                errors = mpfr_errors(y, TWO[name], *arguments)
                worst.add(errors, *arguments)
                climb(worst, TWO[name], launch, arguments, errors, random)
            arrays = dict(zip("ab", arguments))
            yield f"float{kind[1:]}", worst, on_simulator(args, folder, f"two_{kind}", arrays, {"y": kind}, random)


def raise_figures(page, found):
    """Writes errors that are larger than the page's into its table, and CUDA's bounds."""
    lines, table = page.read_text().splitlines(), False
    for at, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        table = cells[0] == "function" and "arguments" in cells or (table and line.startswith("|"))
        name = re.fullmatch("`(.*)`", cells[0])
        if not table or not name:
            continue
        for kind, figure, where in (("float32", 1, 2), ("float64", 4, 5)):
            worst = found.get((name[1], kind))
            if worst is None:
                continue
            error = math.ceil(worst.error * 100) / 100
            if error > float(cells[figure]):
                print(f"{name[1]} {kind}: {error:.2f}, the page had {cells[figure]}")
            if error > float(cells[figure]) or (error == float(cells[figure]) and not cells[where]):
                cells[figure], cells[where] = f"{error:.2f}", worst.where()
        cells[6:] = [str(bound) for bound in CUDA[name[1]]]
        lines[at] = "| " + " | ".join(cells) + " |"
    page.write_text("\n".join(line.replace("|  |", "| |") for line in lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="functions (default: all)")
    parser.add_argument("--kc", default="target/release/kc", help="the compiler")
    parser.add_argument("--stride", type=int, default=1009, help="take every STRIDEth float32")
    parser.add_argument("--exhaustive", action="store_true", help="take every float32: --stride 1")
    parser.add_argument("--samples", type=int, default=30000, help="float64 samples of each function")
    parser.add_argument("--seed", type=int, default=1, help="of the samples")
    parser.add_argument("--on-simulator", type=int, default=2000, help="results of each function that PTX is compared on")
    parser.add_argument("--page", type=Path, help="raise the figures of this page's table")
    args = parser.parse_args()
    if args.exhaustive:
        args.stride = 1
    random = np.random.default_rng(args.seed)
    print("| function | type | max error (ulp) | at | inputs | other bits on the simulator |")
    print("|---|---|---|---|---|---|")
    found = {}
    for name in args.names or [*ONE, *TWO]:
        if name not in ONE and name not in TWO:
            sys.exit(f"no function `{name}`: there are {', '.join([*ONE, *TWO])}")
        for kind, worst, bits in (measure_one if name in ONE else measure_two)(name, args, random):
            found[name, kind] = worst
            print(f"| {name} | {kind} | {worst} | {bits} |", flush=True)
    if args.page:
        raise_figures(args.page, found)


if __name__ == "__main__":
    main()
