"""Solvers of linear systems: `kc.warp` beside Warp, on the same systems."""

import kc.warp
import numpy as np
import pytest
import warp
import warp.optim.linear


@pytest.mark.parametrize("solver", ["cg", "cr", "bicgstab", "gmres"])
@pytest.mark.parametrize("rough", ["id", "diag"])
def test_a_solver_finds_what_warp_finds(solver, rough):
    warp.config.quiet = True
    numbers = np.random.default_rng(3)
    matrix = numbers.random((20, 20)) - 0.5
    matrix, right = matrix @ matrix.T + np.eye(20), numbers.random(20)
    found = []
    for wp in (kc.warp, warp):
        A, b, x = (wp.array(value, dtype=wp.float64, device="cpu") for value in (matrix, right, np.zeros(20)))
        every = {} if solver == "gmres" else {"check_every": 1}
        M = wp.optim.linear.preconditioner(A, rough)
        steps, error, stop = getattr(wp.optim.linear, solver)(A, b, x, tol=1e-9, atol=1e-30, maxiter=100, M=M, use_cuda_graph=False, **every)
        found.append((x.numpy(), steps, stop))
        assert error <= stop
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-7)
    assert found[0][2] == pytest.approx(found[1][2]) and abs(found[0][1] - found[1][1]) <= (31 if solver == "gmres" else 2)
