"""Sparse matrices: `kc.warp` beside Warp, on the same triplets."""

import kc.warp
import kc.warp.sparse
import numpy as np
import pytest
import warp
import warp.sparse

warp.config.quiet = True


def parts(A):
    """What is stored, without room that is not used."""
    count = A.nnz_sync()
    return A.offsets.numpy()[: A.nrow + 1], A.columns.numpy()[:count], A.values.numpy()[:count]


def same(one, other, close):
    for mine, its in zip(parts(one), parts(other)):
        np.testing.assert_allclose(mine, its, rtol=close, atol=close)


def computed(wp, shape, name, given):
    rows, columns, values, x, y = given
    scalar, sparse = getattr(wp, name), wp.sparse
    kind = scalar if shape == (1, 1) else wp.types.matrix(shape=shape, dtype=scalar)
    values = values[:, 0, 0] if shape == (1, 1) else values

    def made(part):
        arrays = [wp.array(one[part], dtype=int, device="cpu") for one in (rows, columns)]
        return sparse.bsr_from_triplets(8, 6, *arrays, wp.array(values[part], dtype=kind, device="cpu"))

    def vector(numbers):
        return wp.array(numbers, dtype=scalar, device="cpu")

    A, B = made(slice(0, 25)), made(slice(25, None))
    yield A
    yield A.transpose()
    yield A + B * 2.0
    # Of products Warp keeps blocks of zeros where none of a pair is.
    yield sparse.bsr_compress(sparse.bsr_mm(A.transpose(), B, alpha=-0.5))
    yield sparse.bsr_compress(sparse.bsr_mm(A, B.transpose() @ B, sparse.bsr_copy(A), alpha=0.5, beta=2.0))
    yield sparse.bsr_copy(A, block_shape=(1, 1), scalar_type=wp.float64)
    yield sparse.bsr_diag(sparse.bsr_get_diag(A))
    yield sparse.bsr_compress(sparse.bsr_axpy(A, sparse.bsr_copy(B), alpha=-1.0))
    sparse.bsr_set_transpose(C := sparse.bsr_transposed(A), B * 3.0)
    yield C
    yield sparse.bsr_mv(A, vector(x), vector(y), alpha=1.5, beta=0.25)
    yield sparse.bsr_mv(A, vector(y), vector(x), alpha=1.5, beta=0.25, transpose=True)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (1, 3)])
@pytest.mark.parametrize("name, close", [("float32", 1e-5), ("float64", 1e-12)])
def test_what_warp_computes(shape, name, close):
    numbers = np.random.default_rng(7)
    # The rows 3 and 7 are empty, places come several times, and some blocks are zero.
    rows, columns = numbers.choice([0, 1, 2, 4, 5, 6], 50), numbers.integers(0, 6, 50)
    values = (numbers.random((50, *shape)) - 0.5) * (numbers.random(50) < 0.8)[:, None, None]
    given = rows, columns, values, numbers.random(6 * shape[1]), numbers.random(8 * shape[0])
    ours, theirs = list(computed(kc.warp, shape, name, given)), list(computed(warp, shape, name, given))
    assert len(ours) == len(theirs) == 11
    for mine, its in zip(ours, theirs):
        if hasattr(mine, "offsets"):
            same(mine, its, close)
        else:
            np.testing.assert_allclose(mine.numpy(), its.numpy(), rtol=close, atol=close)
