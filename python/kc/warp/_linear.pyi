"""Written by python/stubs.py."""

from typing import Any


class LinearOperator:
    """A matrix, known by what it does to a vector."""
    def __init__(self, shape: Any, dtype: Any, device: Any, matvec: Any, batch_offsets: Any = ..., max_batch_length: Any = ...) -> None: ...
    @property
    def scalar_type(self) -> Any: ...
    shape: Any
    dtype: Any
    device: Any
    matvec: Any

annotations: Any
def aslinearoperator(A: Any) -> Any:
    """A matrix as a ``LinearOperator``."""
    ...
def bicgstab(A: Any, b: Any, x: Any, tol: Any = ..., atol: Any = ..., maxiter: Any = ..., M: Any = ..., callback: Any = ..., check_every: Any = ..., use_cuda_graph: Any = ..., is_left_preconditioner: Any = ..., run: Any = ...) -> Any:
    """Stabilised biconjugate gradients, for all square matrices, preconditioned from the right."""
    ...
def cg(A: Any, b: Any, x: Any, tol: Any = ..., atol: Any = ..., maxiter: Any = ..., M: Any = ..., callback: Any = ..., check_every: Any = ..., use_cuda_graph: Any = ..., run: Any = ..., *, restart: Any = ...) -> Any:
    """Conjugate gradients, for symmetric positive definite matrices."""
    ...
def cr(A: Any, b: Any, x: Any, tol: Any = ..., atol: Any = ..., maxiter: Any = ..., M: Any = ..., callback: Any = ..., check_every: Any = ..., use_cuda_graph: Any = ..., run: Any = ..., *, restart: Any = ...) -> Any:
    """Conjugate residuals, for symmetric matrices."""
    ...
def gmres(A: Any, b: Any, x: Any, tol: Any = ..., atol: Any = ..., restart: Any = ..., maxiter: Any = ..., M: Any = ..., callback: Any = ..., check_every: Any = ..., use_cuda_graph: Any = ..., is_left_preconditioner: Any = ..., run: Any = ...) -> Any:
    """Generalised minimal residuals, for all square matrices: started again every ``restart`` steps, when it looks at the residual; preconditioned
    from the right."""
    ...
def preconditioner(A: Any, ptype: Any = ...) -> Any:
    """A rough inverse of a matrix: that of its diagonal (``"diag"``), of the absolute values there (``"diag_abs"``), or None (``"id"``)."""
    ...
