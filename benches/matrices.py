#!/usr/bin/env python3
"""Measures the matrix functions of stdlib/ as compiled: the table of matrices in docs/accuracy.md. Needs numpy.

    python3 benches/matrices.py --kc target/release/kc                    a million matrices of each kind; minutes
    python3 benches/matrices.py --kc target/release/kc svd3 --count 10000

Each function runs in a kernel on the host; NumPy computes errors in 64 bits of precision or more. Matrices: of normal
numbers; the same times any power that floats hold; with rows, columns or both graded; of small integers, many of them singular.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DECOMPOSITION = """
@wp.kernel
def {name}_{kind}(a: wp.array(dtype=wp.mat{n}{n}{d}), {arrays}):
    i = wp.tid()
    {values} = wp.{name}(a[i])
    {stores}
"""

ONE = """
@wp.kernel
def {name}{n}_{kind}(a: wp.array(dtype=wp.mat{n}{n}{d}), x: wp.array(dtype={result})):
    i = wp.tid()
    x[i] = wp.{name}(a[i])
"""

# The results of a decomposition, by their types: (m)atrix or (v)ector.
RESULTS = {"svd2": "UmSvVm", "svd3": "UmSvVm", "eig3": "QmDv", "qr3": "QmRm"}
SIZES = {"svd2": 2, "svd3": 3, "eig3": 3, "qr3": 3}
KINDS = ["plain", "scaled", "rows", "columns", "both", "integers"]


def program():
    text = "import warp as wp\n"
    for kind, d in (("f32", ""), ("f64", "d")):
        for name, results in RESULTS.items():
            n, pairs = SIZES[name], list(zip(results[::2], results[1::2]))
            arrays = [f"{x}_: wp.array(dtype=wp.{f'mat{n}{n}' if t == 'm' else f'vec{n}'}{d})" for x, t in pairs]
            stores = "\n    ".join(f"{x}_[i] = {x}" for x, _ in pairs)
            values = ", ".join(x for x, _ in pairs)
            text += DECOMPOSITION.format(name=name, kind=kind, n=n, d=d, arrays=", ".join(arrays), values=values, stores=stores)
        for n in (2, 3, 4):
            text += ONE.format(name="inverse", kind=kind, n=n, d=d, result=f"wp.mat{n}{n}{d}")
            text += ONE.format(name="determinant", kind=kind, n=n, d=d, result=f"wp.float{kind[1:]}")
    return text


def run(kc, folder, kernel, a, results):
    """Launches `kernel` on the matrices `a` and returns its results, whose names and shapes are given."""
    np.save(folder / "in_a.npy", a)
    letter = "f" if a.dtype == np.float32 else "d"
    command = [kc, "run", folder / "kernels.py", "-k", kernel, "--dim", str(len(a)), "--unchecked", "--out-dir", folder]
    command += ["--arg", f"a=@{folder}/in_a.npy"]
    for name, shape in results.items():
        sides = "".join(map(str, shape))
        dtype = [f"float{8 * a.dtype.itemsize}", f"vec{sides}{letter}", f"mat{sides}{letter}"][len(shape)]
        command += ["--arg", f"{name}=zeros:{dtype}:{len(a)}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{kernel}: {done.stdout}{done.stderr}")
    return [np.load(folder / f"{name}.npy").reshape(len(a), *shape) for name, shape in results.items()]


def matrices(kind, count, n, dtype, random):
    """Matrices of a kind, with no element beyond the largest float by more than their own norm allows."""
    a = random.normal(size=(count, n, n))
    reach, grade = (38, 10) if dtype == np.float32 else (300, 30)
    power = lambda shape, low, high: 10.0 ** random.uniform(low, high, size=shape)  # noqa: E731
    if kind == "integers":
        a = random.integers(-2, 3, size=(count, n, n)).astype(float)
    if kind in ("rows", "both"):
        a *= power((count, n, 1), -grade, 0)
    if kind in ("columns", "both"):
        a *= power((count, 1, n), -grade, 0)
    if kind != "plain":
        a *= power((count, 1, 1), -reach if kind == "scaled" else -reach / 2, reach - 1)
    return a.astype(dtype)


def norms(a):
    """Frobenius norms; what rounding to the smallest float adds counts as one rounding."""
    return np.sqrt((a * a).sum((1, 2)))


def orthogonality(*factors):
    """The largest element of `transpose(Q) Q - 1` of each."""
    products = [np.abs(np.einsum("nki,nkj->nij", q, q) - np.eye(q.shape[1])).max((1, 2)) for q in factors]
    return np.max(products, 0)


def decomposition_errors(name, a, results):
    """Backward errors and departures from orthogonality, in units of rounding."""
    info = np.finfo(a.dtype)
    wide = [r.astype(np.longdouble) for r in results]
    a = a.astype(np.longdouble)
    if name.startswith("svd"):
        u, s, v = wide
        back, orthogonal = np.einsum("nik,nk,njk->nij", u, s, v), orthogonality(u, v)
        sorted_ = (np.diff(np.abs(s), axis=1) <= 0).all() and (s[:, 0] >= 0).all() and (s[:, :-1] >= 0).all()
        if not sorted_:
            sys.exit(f"{name}: singular values out of order")
    elif name == "eig3":
        a = (a + a.swapaxes(1, 2)) / 2
        q, d = wide
        back, orthogonal = np.einsum("nik,nk,njk->nij", q, d, q), orthogonality(q)
    else:
        q, r = wide
        back, orthogonal = np.einsum("nik,nkj->nij", q, r), orthogonality(q)
        if np.tril(r, -1).any():
            sys.exit(f"{name}: R has elements below its diagonal")
    unit = info.eps * norms(a) + np.longdouble(info.smallest_subnormal)
    return norms(back - a) / unit, orthogonal / info.eps


def cofactors(a):
    """All cofactors by Laplace expansion, and the sums of the terms' magnitudes."""
    n = a.shape[1]

    def minor(m, i, j):
        return np.delete(np.delete(m, i, 1), j, 2)

    def determinant(m, sign):
        if m.shape[1] == 1:
            return m[:, 0, 0]
        return sum(m[:, 0, j] * sign**j * determinant(minor(m, 0, j), sign) for j in range(m.shape[1]))

    c, terms = np.empty_like(a), np.empty_like(a)
    for i in range(n):
        for j in range(n):
            c[:, i, j] = (-1) ** (i + j) * determinant(minor(a, i, j), -1)
            terms[:, i, j] = determinant(np.abs(minor(a, i, j)), 1)
    return c, terms, determinant(a, -1), determinant(np.abs(a), 1)


def inverse_errors(name, a, x):
    """Errors in units of rounding of the terms that are summed: the last digits of a sum that cancels are lost in any order."""
    info = np.finfo(a.dtype)
    low, high = np.longdouble(info.smallest_subnormal), np.longdouble(info.max)
    c, terms, det, sum_ = cofactors(a.astype(np.longdouble))
    x = x.astype(np.longdouble)
    if name.startswith("determinant"):
        held = sum_ < high
        return (np.abs(x - det) / (info.eps * sum_ + low))[held]
    # Where half of the digits or more are lost in the determinant, the inverse says nothing.
    good = np.abs(det) > np.sqrt(info.eps) * sum_
    c, terms, det, sum_, x = (part[good] for part in (c, terms, det, sum_, x))
    right = (c / det[:, None, None]).swapaxes(1, 2)
    relative = sum_ / np.abs(det)
    unit = (terms.swapaxes(1, 2) / np.abs(det)[:, None, None]) * relative[:, None, None]
    held = unit.max((1, 2)) < high
    return (np.abs(x - right) / (info.eps * unit + low)).max((1, 2))[held]


def measure(kc, name, args, random):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "kernels.py").write_text(program())
        for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
            worst = {}
            for matrix_kind in KINDS:
                with np.errstate(all="ignore"):
                    if name in RESULTS:
                        n, results = SIZES[name], RESULTS[name]
                        shapes = {f"{x}_": (n, n) if t == "m" else (n,) for x, t in zip(results[::2], results[1::2])}
                        a = matrices(matrix_kind, args.count, n, dtype, random)
                        errors = decomposition_errors(name, a, run(kc, folder, f"{name}_{kind}", a, shapes))
                        worst[matrix_kind] = [float(e.max()) for e in errors]
                    else:
                        n = int(name[-1])
                        a = matrices(matrix_kind, args.count, n, dtype, random)
                        (x,) = run(kc, folder, f"{name}_{kind}", a, {"x": (n, n) if name.startswith("inverse") else ()})
                        worst[matrix_kind] = [float(inverse_errors(name, a, x).max())]
            cells = [" ".join(f"{value:.1f}" for value in values) for values in worst.values()]
            print(f"| {name} | float{kind[1:]} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*RESULTS, *(f"{name}{n}" for name in ("inverse", "determinant") for n in (2, 3, 4))]
    parser.add_argument("names", nargs="*", help=f"functions (default: all): {', '.join(names)}")
    parser.add_argument("--kc", default="target/release/kc", help="the compiler")
    parser.add_argument("--count", type=int, default=1000000, help="matrices of each kind")
    args = parser.parse_args()
    random = np.random.default_rng(1)
    print(f"| function | type | {' | '.join(KINDS)} |")
    print("|---|---|" + "---|" * len(KINDS))
    for name in args.names or names:
        if name not in names:
            sys.exit(f"no function `{name}`: there are {', '.join(names)}")
        measure(args.kc, name, args, random)


if __name__ == "__main__":
    main()
