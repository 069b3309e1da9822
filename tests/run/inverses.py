"""Inverses and determinants of matrices of any size, and their gradients: against exact fractions."""

from fractions import Fraction

import numpy as np
import warp as wp


@wp.kernel
def inverses_float(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat44), x: wp.array(dtype=wp.mat33), y: wp.array(dtype=wp.mat44), d: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.inverse(a[i])
    y[i] = wp.inverse(b[i])
    d[i] = wp.determinant(a[i])


@wp.kernel
def inverses_double(a: wp.array(dtype=wp.mat33d), b: wp.array(dtype=wp.mat44d), x: wp.array(dtype=wp.mat33d), y: wp.array(dtype=wp.mat44d), d: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = wp.inverse(a[i])
    y[i] = wp.inverse(b[i])
    d[i] = wp.determinant(a[i])


@wp.kernel
def small_inverses(a: wp.array(dtype=wp.mat22), h: wp.array(dtype=wp.mat22h), x: wp.array(dtype=wp.mat22), y: wp.array(dtype=wp.mat22h)):
    i = wp.tid()
    x[i] = wp.inverse(a[i])
    y[i] = wp.inverse(h[i])


@wp.kernel
def slopes_of_inverses(a: wp.array(dtype=wp.mat33), x: wp.array(dtype=wp.mat33), d: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.inverse(a[i])
    d[i] = wp.determinant(a[i])


def minor(m, i, j):
    return [[x for l, x in enumerate(row) if l != j] for k, row in enumerate(m) if k != i]


def determinant(m):
    return sum((-1) ** j * x * determinant(minor(m, 0, j)) for j, x in enumerate(m[0])) if m else Fraction(1)


def exact(a):
    """Inverse and determinant of the matrix `a`, from exact fractions."""
    m = [[Fraction(float(x)) for x in row] for row in a]
    det, n = determinant(m), len(m)
    inverse = [[(-1) ** (i + j) * determinant(minor(m, j, i)) / det if det else 0 for j in range(n)] for i in range(n)]
    return np.array([[number(x) for x in row] for row in inverse]), number(det)


def number(x):
    try:
        return float(x)
    except OverflowError:
        return np.inf if x > 0 else -np.inf


def matrices(n, dtype, rng):
    """Multiples of the identity, and random matrices with rows and columns of any size."""
    top = 1 if dtype == np.float32 else 7
    made = [np.eye(n) * 10.0**k for k in (-30 * top, -13 * top, 10 * top, 13 * top, 30 * top)]
    made += [np.diag(10.0 ** (top * np.array([30, 0, -30, 5][:n]))), np.zeros((n, n)), np.ones((n, n))]
    for k in range(24):
        a = rng.normal(size=(n, n)) + 3 * np.eye(n)
        rows, columns = 10.0 ** rng.uniform(-9 * top, 9 * top, size=(2, n))
        scale = [(1, 1), (10.0 ** rng.uniform(-30 * top, 30 * top), 1), (rows[:, None], 1), (rows[:, None], columns)][k % 4]
        made.append(a * scale[0] * scale[1])
    return np.array(made).astype(dtype)


def cases():
    rng = np.random.default_rng(11)
    for kernel, dtype, rtol in (("inverses_float", np.float32, 3e-5), ("inverses_double", np.float64, 1e-13)):
        a, b = matrices(3, dtype, rng), matrices(4, dtype, rng)
        x, d = zip(*map(exact, a))
        y, _ = zip(*map(exact, b))
        with np.errstate(over="ignore"):
            x, y, d = (np.array(part).astype(dtype) for part in (x, y, d))
        args = dict(a=a, b=b, x=np.zeros_like(a), y=np.zeros_like(b), d=np.zeros(len(a)))
        yield case(kernel, len(a), args, dict(x=x, y=y, d=d), rtol=rtol, atol=4 * np.finfo(dtype).smallest_subnormal)
    a = np.array([[[1e20, 0], [0, 1e20]], [[1e-25, 2e-25], [-1e-25, 1e-25]], [[1e30, 2], [1e30, 3]], [[0, 0], [1, 2]]]).astype(np.float32)
    h = np.array([[[300, 0], [0, 300]], [[4e-3, 1e-3], [-1e-3, 4e-3]], [[1000, 2], [1000, 3]], [[1, 2], [2, 4]]]).astype(np.float16)
    x, y = (np.array([exact(m)[0] for m in part]).astype(part.dtype) for part in (a, h))
    yield case("small_inverses", 4, dict(a=a, h=h, x=np.zeros_like(a), y=np.zeros_like(h)), dict(x=x, y=y), rtol=1e-3, atol=0)


    # Gradients: closed forms, of matrices whose squares no float32 holds.
    power = 10.0 ** np.array([-27, -20, 0, 15, 20, 30])
    base = rng.normal(size=(6, 3, 3)) + 2 * np.eye(3)
    a = (base * power[:, None, None]).astype(np.float32)
    g, h = rng.normal(size=(2, 6, 3, 3)).astype(np.float32)
    wide = a.astype(np.float64)
    # The adjoints of what is large are small, so that the gradient is a float.
    t = np.linalg.inv(wide).swapaxes(1, 2)
    few, adjoint = a[2:4], (g * (power**2)[:, None, None])[2:4].astype(np.float32)
    args = dict(a=few, x=few * 0, d=np.zeros(2), **{"a.grad": few * 0, "x.grad": adjoint, "d.grad": np.zeros(2)})
    yield case("slopes_of_inverses", 2, args, {"a.grad": -t[2:4] @ adjoint @ t[2:4]}, rtol=1e-3, atol=1e-4)
    small = power < 1e10
    d = np.array([1e30, 1e20, 1, 0, 0, 0], dtype=np.float32)
    cofactors = np.linalg.det(wide)[:, None, None] * t
    want = (cofactors * d.astype(np.float64)[:, None, None])[small]
    unit = np.abs(want).max((1, 2))
    for k in range(1, int(small.sum())):
        args = dict(a=a[k : k + 1], x=a[:1] * 0, d=[0], **{"a.grad": a[:1] * 0, "x.grad": a[:1] * 0, "d.grad": d[k : k + 1]})
        yield case("slopes_of_inverses", 1, args, {"a.grad": want[k : k + 1]}, rtol=1e-4, atol=1e-5 * unit[k], id=f"slopes_of_determinants_{k}")
