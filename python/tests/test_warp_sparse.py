"""Sparse matrices of `kc.warp`: dense ones of NumPy are the judge, and differences that of gradients."""

import kc.warp as wp
import kc.warp.sparse as sparse
import numpy as np
import pytest

SHAPES = [(1, 1), (2, 2), (3, 3), (1, 3)]
TYPES = [(np.float32, wp.float32, 1e-5), (np.float64, wp.float64, 1e-12)]


def kind_of(shape, scalar):
    return scalar if shape == (1, 1) else wp.types.matrix(shape=shape, dtype=scalar)


def triplets(rng, shape, scalar, nrow=7, ncol=5, count=30, grad=False):
    """Entries with duplicates; the last row has none."""
    rows, columns = rng.integers(0, nrow - 1, count), rng.integers(0, ncol, count)
    values = rng.random((count, *shape)) - 0.5
    values = values.reshape(count) if shape == (1, 1) else values
    made = wp.array(values, dtype=kind_of(shape, scalar), requires_grad=grad)
    return wp.array(rows, dtype=int), wp.array(columns, dtype=int), made


def matrix(rng, shape, scalar, nrow=7, ncol=5, count=30, grad=False):
    return sparse.bsr_from_triplets(nrow, ncol, *triplets(rng, shape, scalar, nrow, ncol, count, grad))


def dense_of(shape, nrow, ncol, rows, columns, values):
    (m, n), found = shape, np.zeros((nrow * shape[0], ncol * shape[1]))
    for row, column, value in zip(rows, columns, values):
        found[row * m : (row + 1) * m, column * n : (column + 1) * n] += value
    return found


def dense(A):
    """By the definition: rows of blocks."""
    offsets, columns, values = A.offsets.numpy(), A.columns.numpy(), A.values.numpy()
    ends = offsets[1:] if A.row_counts is None else offsets[:-1] + A.row_counts.numpy()
    rows = [(row, k) for row in range(A.nrow) for k in range(offsets[row], ends[row])]
    return dense_of(A.block_shape, A.nrow, A.ncol, [row for row, _ in rows], [columns[k] for _, k in rows], [values[k] for _, k in rows])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("of, scalar, close", TYPES)
def test_random_matrices(rng, shape, of, scalar, close):
    given = triplets(rng, shape, scalar)
    A = sparse.bsr_from_triplets(7, 5, *given)
    wanted = dense_of(shape, 7, 5, *(one.numpy() for one in given))
    np.testing.assert_allclose(dense(A), wanted, atol=close)
    assert A.nnz == A.nnz_sync() == len({*zip(given[0].numpy(), given[1].numpy())}) and A.shape == wanted.shape
    for row in range(7):
        columns = A.columns.numpy()[A.offsets.numpy()[row] : A.offsets.numpy()[row + 1]]
        assert (np.diff(columns) > 0).all()

    x, z = rng.random(wanted.shape[1]).astype(of), rng.random(wanted.shape[0]).astype(of)
    y = wp.array(z, dtype=scalar)
    found = sparse.bsr_mv(A, wp.array(x, dtype=scalar), y, alpha=2.0, beta=-0.5)
    assert found is y
    np.testing.assert_allclose(y.numpy(), 2.0 * wanted @ x - 0.5 * z, atol=10 * close)
    found = sparse.bsr_mv(A * 3.0, wp.array(z, dtype=scalar), transpose=True)
    np.testing.assert_allclose(found.numpy().ravel(), 3.0 * z @ wanted, atol=10 * close)

    B = matrix(rng, shape, scalar)
    np.testing.assert_allclose(dense(A + B * 2.0), wanted + 2.0 * dense(B), atol=10 * close)
    np.testing.assert_allclose(dense(A - B), wanted - dense(B), atol=10 * close)
    T = A.transpose()
    np.testing.assert_allclose(dense(T), wanted.T, atol=close)
    np.testing.assert_allclose(dense(T @ A), wanted.T @ wanted, atol=20 * close)
    C = sparse.bsr_copy(B)
    product = matrix(rng, (shape[1], shape[1]), scalar, 5, 5)
    sparse.bsr_mm(B, product, C, alpha=-1.5, beta=0.5)
    np.testing.assert_allclose(dense(C), 0.5 * dense(B) - 1.5 * dense(B) @ dense(product), atol=20 * close)


@pytest.mark.parametrize("shape, other", [((2, 2), (1, 1)), ((1, 1), (2, 3)), ((4, 2), (2, 4)), ((1, 3), (3, 1))])
def test_other_blocks(rng, shape, other):
    A = matrix(rng, shape, wp.float32, 12, 12, 50)
    B = sparse.bsr_copy(-A, block_shape=other, scalar_type=wp.float64)
    assert B.block_shape == other and B.scalar_type is wp.float64
    np.testing.assert_array_equal(dense(B), -dense(A))
    with pytest.raises(ValueError):
        sparse.bsr_copy(A, block_shape=(5, 5))


def test_diagonals(rng):
    A = matrix(rng, (2, 2), wp.float32, 5, 5)
    found = sparse.bsr_get_diag(A * 2.0)
    np.testing.assert_allclose(found.numpy(), [2.0 * dense(A)[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] for k in range(5)])
    np.testing.assert_allclose(dense(sparse.bsr_diag(found)), np.where(np.kron(np.eye(5), np.ones((2, 2))), 2.0 * dense(A), 0.0))
    np.testing.assert_array_equal(dense(sparse.bsr_identity(4, wp.mat33)), np.eye(12))
    B = sparse.bsr_diag(wp.float64(3.0), rows_of_blocks=2, cols_of_blocks=4)
    np.testing.assert_array_equal(dense(B), 3.0 * np.eye(2, 4))
    sparse.bsr_set_identity(B, 3)
    np.testing.assert_array_equal(dense(B), np.eye(3))
    sparse.bsr_set_zero(B, 2, 6)
    assert B.shape == (2, 6) and B.nnz == 0 and not dense(B).any()


def test_room_in_rows(rng):
    A = sparse.bsr_zeros(3, 4, float, row_capacity=2)
    assert A.nnz == 6
    rows, columns = wp.array([0, 2, 0, 2], dtype=int), wp.array([3, 1, 0, 1], dtype=int)
    sparse.bsr_set_from_triplets(A, rows, columns, wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), topology="padded")
    np.testing.assert_array_equal(dense(A), [[3, 0, 0, 1], [0] * 4, [0, 6, 0, 0]])
    assert A.row_counts.numpy().tolist() == [2, 0, 1] and A.uncompress_rows().numpy().tolist() == [0, 0, -1, -1, 2, -1]
    x = wp.array([1.0, 10.0, 100.0, 1000.0], dtype=float)
    assert (A @ x).numpy().tolist() == [1003.0, 0.0, 60.0]
    sparse.bsr_set_from_triplets(A, rows, columns, wp.array([5.0, 6.0, 7.0, 0.0], dtype=float), topology="masked")
    np.testing.assert_array_equal(dense(A), [[7, 0, 0, 5], [0] * 4, [0, 6, 0, 0]])
    assert A.status_sync() == sparse.BSR_STATUS_SUCCESS
    many = wp.array([1, 1, 1], dtype=int)
    sparse.bsr_set_from_triplets(A, many, wp.array([2, 0, 1], dtype=int), wp.array([1.0, 2.0, 3.0], dtype=float), topology="padded")
    assert A.status_sync() == sparse.BSR_STATUS_ROW_CAPACITY_EXCEEDED and "room" in A.status_message()
    np.testing.assert_array_equal(dense(A), [[0] * 4, [2, 3, 0, 0], [0] * 4])
    A.clear_status()
    sparse.bsr_compress(A)
    assert A.row_counts is None and A.nnz == 2 and A.status_sync() == sparse.BSR_STATUS_SUCCESS


def test_triplets_that_are_left_out():
    values = wp.array([1.0, 0.0, 3.0, 4.0, 5.0], dtype=float)
    rows, columns = wp.array([0, 1, -1, 1, 0], dtype=int), wp.array([0, 1, 0, 9, 1], dtype=int)
    assert sparse.bsr_from_triplets(2, 2, rows, columns, values).nnz == 2
    assert sparse.bsr_from_triplets(2, 2, rows, columns, values, prune_numerical_zeros=False).nnz == 3
    A = sparse.bsr_zeros(2, 2, float)
    sparse.bsr_set_from_triplets(A, rows, columns, values, count=wp.array([1], dtype=int))
    assert dense(A).tolist() == [[1, 0], [0, 0]]
    mapping = sparse.bsr_set_from_triplets(A, rows, columns, values, prune_numerical_zeros=False, build_mapping=True)
    sparse.bsr_set_from_mapped_values(A, mapping, wp.array([2.0, 7.0, 0.0, 0.0, 8.0], dtype=float))
    assert dense(A).tolist() == [[2, 8], [0, 7]]
    sparse.bsr_set_diag(A, 1.0)
    with pytest.raises(ValueError, match="structure"):
        sparse.bsr_set_from_mapped_values(A, mapping, values)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("transpose", [False, True])
def test_gradients_of_products_with_vectors(rng, shape, transpose):
    rows, columns, values = triplets(rng, shape, wp.float64, grad=True)
    sizes = (7 * shape[0], 5 * shape[1])
    n, m = sizes if transpose else sizes[::-1]
    start = rng.random(m)

    def loss_of(numbers, x):
        whole = dense_of(shape, 7, 5, rows.numpy(), columns.numpy(), numbers)
        y = 2.0 * (whole.T if transpose else whole) @ x + 3.0 * start
        return (y * y).sum()

    x, y, loss = wp.array(rng.random(n), requires_grad=True), wp.array(start, requires_grad=True), wp.zeros(1, dtype=wp.float64)
    with wp.Tape() as tape:
        A = sparse.bsr_from_triplets(7, 5, rows, columns, values)
        sparse.bsr_mv(A, x, y, alpha=2.0, beta=3.0, transpose=transpose)
        wp.launch(squares, y.size, [y, loss])
    tape.backward(loss)
    assert loss.numpy()[0] == pytest.approx(loss_of(values.numpy(), x.numpy()))
    for array, at in ((values, values.numpy()), (x, x.numpy())):
        wanted = np.zeros(at.shape)
        for place in np.ndindex(*at.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = np.array(at)
                moved[place] += step
                ends.append(loss_of(moved, x.numpy()) if array is values else loss_of(values.numpy(), moved))
            wanted[place] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(array.grad.numpy(), wanted, rtol=1e-6, atol=1e-6)


@wp.kernel
def squares(y: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, y[i] * y[i])


def test_gradients_of_sums_products_and_copies(rng):
    values = rng.random(12)
    rows, columns = wp.array(rng.integers(0, 4, 12), dtype=int), wp.array(rng.integers(0, 4, 12), dtype=int)

    def loss_of(numbers):
        A = dense_of((1, 1), 4, 4, rows.numpy(), columns.numpy(), numbers)
        B = 2.0 * A @ A.T - A
        return (B * B).sum()

    v, loss = wp.array(values, requires_grad=True), wp.zeros(1, dtype=wp.float64)
    with wp.Tape() as tape:
        A = sparse.bsr_from_triplets(4, 4, rows, columns, v)
        B = sparse.bsr_copy(A)
        sparse.bsr_mm(A, sparse.bsr_transposed(A), B, alpha=2.0, beta=-1.0)
        C = sparse.bsr_copy(B, block_shape=(2, 2))
        wp.launch(squares, C.scalar_values.size, [C.scalar_values.flatten(), loss])
    tape.backward(loss)
    assert loss.numpy()[0] == pytest.approx(loss_of(values))
    wanted = [(loss_of(values + 1e-6 * unit) - loss_of(values - 1e-6 * unit)) / 2e-6 for unit in np.eye(12)]
    np.testing.assert_allclose(v.grad.numpy(), wanted, rtol=1e-5)


Matrix = sparse.bsr_matrix_t(float)


@wp.kernel
def ask(A: Matrix, row: wp.array(dtype=int), at: wp.array(dtype=int)):
    i = wp.tid()
    row[i] = sparse.bsr_row_index(A.offsets, A.nrow, i)
    at[i] = sparse.bsr_block_index(i // A.ncol, i % A.ncol, A.offsets, A.columns)


def test_kernels_ask_matrices():
    A = sparse.bsr_zeros(2, 3, float)
    rows, columns = wp.array([0, 1, 1], dtype=int), wp.array([2, 0, 2], dtype=int)
    sparse.bsr_set_from_triplets(A, rows, columns, wp.array([1.0, 2.0, 3.0], dtype=float))
    row, at = wp.zeros(6, dtype=int), wp.zeros(6, dtype=int)
    wp.launch(ask, 6, [A, row, at])
    assert row.numpy().tolist() == [0, 1, 1, -1, -1, -1] and at.numpy().tolist() == [-1, -1, 0, 1, -1, 2]


def test_solvers_take_sparse_matrices(rng):
    n = 20
    rows, columns = (wp.array([*range(n), *range(n - 1), *range(1, n)], dtype=int), wp.array([*range(n), *range(1, n), *range(n - 1)], dtype=int))
    A = sparse.bsr_from_triplets(n, n, rows, columns, wp.array([2.5] * n + [-1.0] * (2 * n - 2), dtype=wp.float64))
    b, x = wp.array(rng.random(n)), wp.zeros(n, dtype=wp.float64)
    wp.optim.linear.cg(A, b, x, tol=1e-10, M=wp.optim.linear.preconditioner(A, "diag"))
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(dense(A), b.numpy()), rtol=1e-7)


def test_mistakes(rng):
    A = matrix(rng, (2, 2), wp.float32)
    x = wp.zeros(10, dtype=float)
    for wrong in (
        lambda: sparse.bsr_mv(A, wp.zeros(9, dtype=float)),
        lambda: sparse.bsr_mv(A, wp.zeros(10, dtype=wp.float64)),
        lambda: sparse.bsr_mv(A, x, wp.zeros(10, dtype=float)),
        lambda: sparse.bsr_mm(A, A),
        lambda: sparse.bsr_axpy(A, matrix(rng, (2, 2), wp.float32, 7, 6)),
        lambda: sparse.bsr_axpy(A, matrix(rng, (1, 2), wp.float32)),
        lambda: sparse.bsr_zeros(2, 2, wp.vec3),
        lambda: sparse.bsr_zeros(2, 2, float, topology="other"),
        lambda: sparse.bsr_identity(2, wp.types.matrix(shape=(2, 3), dtype=float)),
        lambda: sparse.bsr_mv(x, x),
        lambda: sparse.bsr_set_from_triplets(A, x, x, x),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()
    with pytest.raises(NotImplementedError, match="captured"), wp.ScopedCapture():
        sparse.bsr_mm(A, A.transpose())


def test_products_in_captured_graphs(rng):
    A = matrix(rng, (2, 2), wp.float32)
    x, y = wp.zeros(10, dtype=float), wp.zeros(14, dtype=float)
    with wp.ScopedCapture() as capture:
        sparse.bsr_mv(A, x, y)
    x.fill_(1.0)
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(y.numpy(), dense(A).sum(axis=1), atol=1e-5)
