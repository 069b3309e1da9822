"""y = A x for a sparse matrix in CSR form: row i owns the entries row_start[i] .. row_start[i + 1]."""

import warp as wp


@wp.kernel
def spmv(
    row_start: wp.array(dtype=int),
    column: wp.array(dtype=int),
    value: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    row = wp.tid()
    total = float(0.0)
    for k in range(row_start[row], row_start[row + 1]):
        total += value[k] * x[column[k]]
    y[row] = total
