"""Solvers of linear systems in `kc.warp`: NumPy's direct solver is the judge."""

import kc
import kc.warp as wp
import numpy as np
import pytest

linear = wp.optim.linear
SOLVERS = [linear.cg, linear.cr, linear.bicgstab, linear.gmres]


def system(rng, n=24, dtype=np.float64, symmetric=True):
    A = rng.random((n, n)) - 0.5
    A = A @ A.T + np.eye(n) if symmetric else A + n / 2 * np.eye(n)
    return A.astype(dtype), rng.random(n).astype(dtype)


def arrays(*values):
    return [wp.array(value, dtype=wp.float64 if value.dtype == np.float64 else float) for value in values]


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize("dtype, close", [(np.float64, 1e-8), (np.float32, 1e-3)])
@pytest.mark.parametrize("rough", [None, "diag", "diag_abs", "id"])
def test_solutions(rng, solve, dtype, close, rough):
    for symmetric in (True, False) if solve in (linear.bicgstab, linear.gmres) else (True,):
        matrix, right = system(rng, dtype=dtype, symmetric=symmetric)
        A, b, x = arrays(matrix, right, np.zeros_like(right))
        M = None if rough is None else linear.preconditioner(A, rough)
        steps, error, stop = solve(A, b, x, M=M, maxiter=200)
        np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix.astype(np.float64), right), rtol=close, atol=close)
        assert 0 < steps <= 200 and (error <= stop or dtype is np.float32)
        assert b.numpy().tolist() == right.tolist()


@wp.kernel
def laplace(x: wp.array(dtype=wp.vec2d), y: wp.array(dtype=wp.vec2d), z: wp.array(dtype=wp.vec2d), alpha: wp.float64, beta: wp.float64):
    i = wp.tid()
    total = wp.float64(2.5) * x[i]
    if i > 0:
        total -= x[i - 1]
    if i + 1 < x.shape[0]:
        total -= x[i + 1]
    z[i] = alpha * total + beta * y[i]


@pytest.mark.parametrize("solve", SOLVERS)
def test_operators_of_vectors(rng, solve):
    n, told = 16, []

    def matvec(x, y, z, alpha, beta):
        wp.launch(laplace, n, [x, y, z, alpha, beta])

    A = linear.LinearOperator((n, n), wp.float64, None, matvec)
    right = rng.random((n, 2))
    b, x = wp.array(right, dtype=wp.vec2d), wp.zeros(n, dtype=wp.vec2d)
    every = {} if solve is linear.gmres else {"check_every": 5}
    steps, error, stop = solve(A, b, x, tol=1e-10, callback=lambda *facts: told.append(facts), **every)
    matrix = 2.5 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix, right), atol=1e-8)
    assert told[-1] == (steps, error, stop) and error <= stop == pytest.approx(1e-10 * np.linalg.norm(right), rel=1)


def test_diagonals_limits_and_exact_starts(rng):
    b, x = arrays(np.arange(1.0, 5.0), np.zeros(4))
    linear.cg(wp.array([1.0, 2.0, 4.0, 8.0], dtype=wp.float64), b, x)
    np.testing.assert_allclose(x.numpy(), [1, 1, 0.75, 0.5])
    # Nothing left to do, and nothing asked for.
    for solve in SOLVERS:
        y = wp.array([1.0, 1.0, 0.75, 0.5], dtype=wp.float64)
        steps, error, _ = solve(wp.array([1.0, 2.0, 4.0, 8.0], dtype=wp.float64), b, y)
        assert steps == 0 and error == 0 and y.numpy().tolist() == [1, 1, 0.75, 0.5]
        z = wp.zeros(4, dtype=wp.float64)
        assert solve(wp.array([1.0, 2.0, 4.0, 8.0], dtype=wp.float64), wp.zeros(4, dtype=wp.float64), z)[0] == 0
    matrix, right = system(rng)
    A, b, x = arrays(matrix, right, np.zeros_like(right))
    assert linear.cg(A, b, x, maxiter=3)[0] == 3
    assert linear.cg(A, b, x, tol=1e-12, maxiter=500, check_every=7)[0] % 7 == 0


def test_what_is_not_there():
    A, b, x = arrays(np.eye(3), np.ones(3), np.zeros(3))
    for call in (
        lambda: linear.cg(A, b, x, run=False), lambda: linear.cg(A, b, x, check_every=0), lambda: linear.cr(A, b, x, restart=4),
        lambda: linear.LinearOperator((3, 3), float, None, None, batch_offsets=x), lambda: linear.gmres(A, b, x, M=A, is_left_preconditioner=True),
    ):
        with pytest.raises(NotImplementedError):
            call()
    for call in (lambda: linear.cg(A, b, wp.zeros(4)), lambda: linear.cg(3, b, x), lambda: linear.preconditioner(A, "fsai")):
        with pytest.raises(ValueError):
            call()
    with kc.Tape(), pytest.raises(kc.GradientError, match="solver of linear systems"):
        linear.cg(A, b, x)


def test_the_module_has_a_name():
    import kc.warp.optim.linear as linear
    from kc.warp.optim.linear import cg

    assert linear is wp.optim.linear and cg is linear.cg
