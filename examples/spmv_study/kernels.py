"""y = A x in four ways: a thread for a row, a warp for a row, equal shares of rows and entries together, and rows of one length."""

import warp as wp

LANES = wp.constant(32)
SHARE = wp.constant(8)


@wp.kernel
def csr_scalar(
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


@wp.kernel
def csr_vector(
    row_start: wp.array(dtype=int),
    column: wp.array(dtype=int),
    value: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    """A warp for each row: its lanes take neighbouring entries, and their sums are one atomic."""
    row, lane = wp.tid()
    total = float(0.0)
    for k in range(row_start[row] + lane, row_start[row + 1], LANES):
        total += value[k] * x[column[k]]
    wp.atomic_add(y, row, total)


@wp.kernel
def merge_path(
    row_start: wp.array(dtype=int),
    column: wp.array(dtype=int),
    value: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    """Ends of rows and entries are merged into one list, of which each thread takes SHARE steps."""
    rows = y.shape[0]
    entries = value.shape[0]
    first = wp.min(wp.tid() * SHARE, rows + entries)
    last = wp.min(first + SHARE, rows + entries)
    # How many rows have ended before step `first`?
    low = wp.max(first - entries, 0)
    high = wp.min(first, rows)
    while low < high:
        middle = (low + high) // 2
        if row_start[middle + 1] <= first - middle - 1:
            low = middle + 1
        else:
            high = middle
    row = low
    k = first - low
    total = float(0.0)
    for step in range(first, last):
        if row < rows and k >= row_start[row + 1]:
            wp.atomic_add(y, row, total)
            total = 0.0
            row += 1
        else:
            total += value[k] * x[column[k]]
            k += 1
    if row < rows:
        wp.atomic_add(y, row, total)


@wp.kernel
def ell(
    column: wp.array2d(dtype=int),
    value: wp.array2d(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    """Entry n of all rows stands side by side; short rows are filled up with zeros."""
    row = wp.tid()
    total = float(0.0)
    for n in range(value.shape[0]):
        total += value[n, row] * x[column[n, row]]
    y[row] = total
