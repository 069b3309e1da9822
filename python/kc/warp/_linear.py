"""Solvers of linear systems: ``wp.optim.linear.cg(A, b, x, tol=1e-6)``.

A matrix is an array of two dimensions, an array of one (a diagonal), a sparse matrix, or a
``LinearOperator`` whose ``matvec(x, y, z, alpha, beta)`` computes ``z = alpha * (A @ x) + beta * y``.
Solvers change ``x``, and give the number of steps, the length of the residual, and the length at which
they stop: the greater of ``atol`` and ``tol`` times the length of ``b``. The residual is looked at
every ``check_every`` steps.
"""

from __future__ import annotations

import numpy as np

from .. import _types
from .._arguments import as_numpy
from .._tape import unrecorded
from ._arrays import array, zeros_like
from ._devices import get_device
from ._launches import is_captured


class LinearOperator:
    """A matrix, known by what it does to a vector."""

    def __init__(self, shape, dtype, device, matvec, batch_offsets=None, max_batch_length=None):
        if batch_offsets is not None or max_batch_length is not None:
            raise NotImplementedError("kc.warp solves one system at a time: it has no `batch_offsets`")
        self.shape, self.dtype, self.device, self.matvec = tuple(shape), dtype, get_device(device), matvec

    @property
    def scalar_type(self):
        return getattr(self.dtype, "_scalar", self.dtype)


def aslinearoperator(A):
    """A matrix as a ``LinearOperator``."""
    if A is None or isinstance(A, LinearOperator):
        return A
    if hasattr(A, "block_shape"):
        return _sparse(A)
    if not isinstance(A, array) or A.ndim > 2:
        what = "an array of one or two dimensions, a sparse matrix, or a LinearOperator"
        raise ValueError(f"a matrix is {what}, not a {type(A).__name__}")
    numbers = as_numpy(A)

    def dense(x, y, z, alpha, beta):
        blocks = numbers if A._inner else numbers[..., None, None]
        _combined(z, y, np.einsum("ijab,jb->ia", blocks, as_numpy(x).reshape(A.shape[1], -1)), alpha, beta)

    def diagonal(x, y, z, alpha, beta):
        part = as_numpy(x).reshape(len(A), -1)
        scaled = np.einsum("iab,ib->ia", numbers, part) if len(A._inner) == 2 else numbers.reshape(len(A), -1) * part
        _combined(z, y, scaled, alpha, beta)

    return LinearOperator(A.shape, A.dtype, None, dense if A.ndim == 2 else diagonal)


def _sparse(A):
    """The same of a sparse matrix: its shape is counted in blocks."""
    from .sparse import bsr_mv

    def matvec(x, y, z, alpha, beta):
        if beta and as_numpy(z) is not as_numpy(y):
            as_numpy(z)[...] = as_numpy(y)
        bsr_mv(A, x, z, alpha, beta)

    return LinearOperator((A.nrow, A.ncol), A.dtype, None, matvec)


def _combined(z, y, product, alpha, beta):
    """``z = alpha * product + beta * y``; what ``y`` holds does not matter where it is not used, and ``z`` may be ``y``."""
    out = as_numpy(z)
    made = alpha * product.reshape(out.shape)
    out[...] = made + beta * as_numpy(y) if beta else made


def preconditioner(A, ptype="diag"):
    """A rough inverse of a matrix: that of its diagonal (``"diag"``), of the absolute values there (``"diag_abs"``), or None (``"id"``)."""
    if ptype == "id":
        return None
    if ptype not in ("diag", "diag_abs"):
        raise ValueError(f"kc.warp has the preconditioners `diag`, `diag_abs` and `id`, and not `{ptype}`")
    if hasattr(A, "block_shape"):
        from .sparse import bsr_get_diag

        A = bsr_get_diag(A)
    if not isinstance(A, array) or A.ndim > 2:
        raise ValueError("a preconditioner is made of an array of one or two dimensions, or of a sparse matrix")
    numbers = as_numpy(A) if A.ndim == 1 else np.moveaxis(np.diagonal(as_numpy(A)), -1, 0)
    if len(A._inner) == 2:
        numbers = np.diagonal(numbers, axis1=1, axis2=2)
    numbers = np.abs(numbers) if ptype == "diag_abs" else numbers
    inverse = np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers != 0)

    def matvec(x, y, z, alpha, beta):
        _combined(z, y, inverse.reshape(len(inverse), -1) * as_numpy(x).reshape(len(inverse), -1), alpha, beta)

    return LinearOperator(A.shape, A.dtype, None, matvec)


class _System:
    """A linear system on its way to a solution."""

    def __init__(self, A, b, x, tol, atol, maxiter, M, callback, check_every, others):
        unrecorded("a solver of linear systems")
        if is_captured():
            raise NotImplementedError("kc.warp solves no linear systems inside of a captured graph")
        refused = [name for name, value in others.items() if value not in (None, True)]
        if refused or not check_every > 0:
            raise NotImplementedError(f"kc.warp's solvers have no `{refused[0] if refused else 'check_every=0'}`")
        self.A, self.M, self.b, self.x = aslinearoperator(A), aslinearoperator(M), b, x
        if b.shape != x.shape or b._inner != x._inner or self.A.shape[0] != b.shape[0]:
            raise ValueError(f"a matrix of shape {self.A.shape}, a right side of {b.shape} and a solution of {x.shape} do not fit")
        epsilon = float(np.finfo(as_numpy(b).dtype).eps)
        if tol is None and atol is None:
            tol = atol = epsilon**0.75
        tol, atol = (atol if tol is None else tol), (tol if atol is None else atol)
        self.most = int(maxiter or as_numpy(b).size)
        self.stop = max(atol, epsilon**2.25, tol * _length(as_numpy(b)))
        self.callback, self.every, self.done = callback, check_every, 0
        self.error = np.inf

    def new(self):
        """A vector like the right side."""
        made = zeros_like(self.b, requires_grad=False)
        return made, as_numpy(made)

    def residual(self, r):
        self.A.matvec(self.x, self.b, r, -1.0, 1.0)

    def times(self, vector, out):
        self.A.matvec(vector, out, out, 1.0, 0.0)

    def precondition(self, vector, out):
        if self.M is None:
            as_numpy(out)[...] = as_numpy(vector)
        else:
            self.M.matvec(vector, out, out, 1.0, 0.0)

    def ends(self, residual) -> bool:
        """Whether the solver stops here; between the steps at which it looks it goes on."""
        if self.done % self.every and self.done < self.most:
            return False
        self.error = residual if isinstance(residual, float) else _length(residual)
        if self.callback is not None and self.done:
            self.callback(self.done, self.error, self.stop)
        return not self.error > self.stop or self.done >= self.most

    @property
    def result(self):
        return self.done, self.error, self.stop


def _dot(a, b) -> float:
    return float(np.dot(a.ravel(), b.ravel()))


def _length(a) -> float:
    return float(np.sqrt(_dot(a, a)))


def _over(a, b) -> float:
    """A quotient; nothing where the solution was met exactly."""
    return a / b if b else 0.0


def cg(A, b, x, tol=None, atol=None, maxiter=0, M=None, callback=None, check_every=10, use_cuda_graph=True, run=True, *, restart=None):
    """Conjugate gradients, for symmetric positive definite matrices."""
    system = _System(A, b, x, tol, atol, maxiter, M, callback, check_every, {"run=False": run, "restart": restart})
    (r, rs), (z, zs), (p, ps), (q, qs) = (system.new() for _ in range(4))
    system.residual(r)
    system.precondition(r, z)
    ps[...] = zs
    before = _dot(rs, zs)
    while not system.ends(rs):
        system.times(p, q)
        step = _over(before, _dot(ps, qs))
        as_numpy(x)[...] += step * ps
        rs[...] -= step * qs
        system.precondition(r, z)
        now = _dot(rs, zs)
        ps[...] = zs + _over(now, before) * ps
        before = now
        system.done += 1
    return system.result


def cr(A, b, x, tol=None, atol=None, maxiter=0, M=None, callback=None, check_every=10, use_cuda_graph=True, run=True, *, restart=None):
    """Conjugate residuals, for symmetric matrices."""
    system = _System(A, b, x, tol, atol, maxiter, M, callback, check_every, {"run=False": run, "restart": restart})
    (r, rs), (z, zs), (p, ps), (y, ys), (q, qs), (w, ws) = (system.new() for _ in range(6))
    system.residual(r)
    system.precondition(r, z)
    system.times(z, y)
    ps[...], qs[...] = zs, ys
    before = _dot(zs, ys)
    while not system.ends(rs):
        system.precondition(q, w)
        step = _over(before, _dot(qs, ws))
        as_numpy(x)[...] += step * ps
        rs[...] -= step * qs
        zs[...] -= step * ws
        system.times(z, y)
        now = _dot(zs, ys)
        share = _over(now, before)
        ps[...], qs[...] = zs + share * ps, ys + share * qs
        before = now
        system.done += 1
    return system.result


def bicgstab(
    A, b, x, tol=None, atol=None, maxiter=0, M=None, callback=None, check_every=10, use_cuda_graph=True, is_left_preconditioner=False, run=True
):
    """Stabilised biconjugate gradients, for all square matrices, preconditioned from the right."""
    left = True if is_left_preconditioner and M is not None else None
    system = _System(A, b, x, tol, atol, maxiter, M, callback, check_every, {"run=False": run, "is_left_preconditioner": left and "left"})
    (r, rs), (p, ps), (v, vs), (y, ys), (z, zs), (t, ts) = (system.new() for _ in range(6))
    system.residual(r)
    start = rs.copy()
    ps[...] = rs
    before = _dot(start, rs)
    while not system.ends(rs):
        system.precondition(p, y)
        system.times(y, v)
        step = _over(before, _dot(start, vs))
        rs[...] -= step * vs
        system.precondition(r, z)
        system.times(z, t)
        turn = _over(_dot(ts, rs), _dot(ts, ts))
        as_numpy(x)[...] += step * ys + turn * zs
        rs[...] -= turn * ts
        now = _dot(start, rs)
        ps[...] = rs + _over(now, before) * _over(step, turn) * (ps - turn * vs)
        before = now
        system.done += 1
    return system.result


def gmres(
    A, b, x, tol=None, atol=None, restart=31, maxiter=0, M=None, callback=None, check_every=31, use_cuda_graph=True,
    is_left_preconditioner=False, run=True,
):
    """Generalised minimal residuals, for all square matrices: started again every ``restart`` steps, when it looks at the residual; preconditioned
    from the right.
    """
    left = True if is_left_preconditioner and M is not None else None
    system = _System(A, b, x, tol, atol, maxiter, M, callback, 1, {"run=False": run, "is_left_preconditioner": left and "left"})
    (r, rs), (p, ps), (y, ys), (q, qs) = (system.new() for _ in range(4))
    size, most = rs.size, min(restart, rs.size)
    while True:
        system.residual(r)
        if system.ends(_length(rs)) or system.error == 0.0:
            return system.result
        basis, steps, found = [rs.ravel() / system.error], [], np.zeros((most + 1, most))
        for k in range(min(most, system.most - system.done)):
            ps[...] = basis[k].reshape(ps.shape)
            system.precondition(p, y)
            steps.append(ys.ravel().copy())
            system.times(y, q)
            vector = qs.ravel().astype(np.float64)
            for _ in range(2):
                shares = np.array([np.dot(one, vector) for one in basis])
                found[: k + 1, k] += shares
                vector = vector - shares @ np.array(basis)
            found[k + 1, k] = np.linalg.norm(vector)
            if not found[k + 1, k] > 1e-14 * max(system.error, 1.0) or len(basis) == size:
                break
            basis.append((vector / found[k + 1, k]).astype(rs.dtype))
        count = len(steps)
        right = np.zeros(count + 1)
        right[0] = system.error
        weights = np.linalg.lstsq(found[: count + 1, :count], right, rcond=None)[0]
        as_numpy(x)[...] += (weights @ np.array(steps)).reshape(rs.shape).astype(rs.dtype)
        system.done += count
