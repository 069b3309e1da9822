"""What do kernels do to the numbers of sparse matrices? Blocks are arrays of three dimensions here: block, row, column.

Which numbers belong together, the host has found: `starts` says where the list of each block begins.
"""

from typing import Any

import kc.warp as wp


@wp.func
def bsr_row_index(offsets: wp.array(dtype=int), row_count: int, block_index: int) -> int:
    """The row of a block, or -1 where there is no such block."""
    if block_index < 0 or block_index >= offsets[row_count]:
        return -1
    return wp.lower_bound(offsets, 0, row_count + 1, block_index + 1) - 1


@wp.func
def bsr_row_index(offsets: wp.array(dtype=int), row_count: int, block_index: int, row_counts: wp.array(dtype=int)) -> int:
    """The same where rows have room that is not used: -1 for a place without a block."""
    row = bsr_row_index(offsets, row_count, block_index)
    if row_counts and row >= 0:
        if block_index >= offsets[row] + row_counts[row]:
            row = -1
    return row


@wp.func
def _found(col: int, begin: int, end: int, columns: wp.array(dtype=int)) -> int:
    """Where the column is in a sorted row, or -1."""
    if begin >= end:
        return -1
    place = wp.lower_bound(columns, begin, end, col)
    if place == end:
        return -1
    if columns[place] == col:
        return place
    return -1


@wp.func
def bsr_block_index(row: int, col: int, bsr_offsets: wp.array(dtype=int), bsr_columns: wp.array(dtype=int)) -> int:
    """The number of the block in a row and a column, or -1. The columns of a row are sorted."""
    if row < 0:
        return -1
    return _found(col, bsr_offsets[row], bsr_offsets[row + 1], bsr_columns)


@wp.func
def bsr_block_index(
    row: int, col: int, bsr_offsets: wp.array(dtype=int), bsr_columns: wp.array(dtype=int), bsr_row_counts: wp.array(dtype=int),
) -> int:
    """The same where rows have room that is not used."""
    if row < 0:
        return -1
    end = bsr_offsets[row + 1]
    if bsr_row_counts:
        end = bsr_offsets[row] + bsr_row_counts[row]
    return _found(col, bsr_offsets[row], end, bsr_columns)


@wp.kernel
def gather(
    starts: wp.array(dtype=int), order: wp.array(dtype=int), alpha: Any, source: wp.array3d(dtype=Any), beta: Any, out: wp.array3d(dtype=Any),
):
    """`out = alpha * (the sum of some blocks of source) + beta * out`"""
    block, i, j = wp.tid()
    first, last = starts[block], starts[block + 1]
    total = out.dtype(0)
    if first < last:
        # The sum of one number is that number, -0 too.
        total = out.dtype(source[order[first], i, j])
    for k in range(first + 1, last):
        total += out.dtype(source[order[k], i, j])
    total *= alpha
    if beta != out.dtype(0):
        total += beta * out[block, i, j]
    out[block, i, j] = total


@wp.kernel
def pick(index: wp.array3d(dtype=int), alpha: Any, source: wp.array(dtype=Any), out: wp.array3d(dtype=Any)):
    """Numbers of a matrix with other blocks; -1 is a zero."""
    block, i, j = wp.tid()
    place = index[block, i, j]
    value = out.dtype(0)
    if place >= 0:
        value = alpha * out.dtype(source[place])
    out[block, i, j] = value


@wp.kernel
def scale(alpha: Any, values: wp.array3d(dtype=Any)):
    block, i, j = wp.tid()
    values[block, i, j] = alpha * values[block, i, j]


@wp.kernel
def product(
    starts: wp.array(dtype=int), left: wp.array(dtype=int), right: wp.array(dtype=int), alpha: Any, x: wp.array3d(dtype=Any),
    y: wp.array3d(dtype=Any), beta: Any, out: wp.array3d(dtype=Any),
):
    """`out = alpha * (the sum of products of pairs of blocks) + beta * out`"""
    block, i, j = wp.tid()
    total = out.dtype(0)
    for k in range(starts[block], starts[block + 1]):
        for c in range(x.shape[2]):
            total += x[left[k], i, c] * y[right[k], c, j]
    total *= alpha
    if beta != out.dtype(0):
        total += beta * out[block, i, j]
    out[block, i, j] = total


@wp.kernel
def times(
    alpha: Any, offsets: wp.array(dtype=int), ends: wp.array(dtype=int), columns: wp.array(dtype=int), values: wp.array3d(dtype=Any),
    x: wp.array(dtype=Any), beta: Any, y: wp.array2d(dtype=Any),
):
    """`y = alpha * A @ x + beta * y`, with a row of `y` for each row of blocks"""
    row, i = wp.tid()
    total = y.dtype(0)
    if alpha != y.dtype(0):
        for block in range(offsets[row], ends[row]):
            first = columns[block] * values.shape[2]
            for j in range(values.shape[2]):
                total += values[block, i, j] * x[first + j]
        total *= alpha
    if beta != y.dtype(0):
        total += beta * y[row, i]
    y[row, i] = total


@wp.kernel
def times_transposed(
    alpha: Any, offsets: wp.array(dtype=int), ends: wp.array(dtype=int), columns: wp.array(dtype=int), values: wp.array3d(dtype=Any),
    x: wp.array(dtype=Any), y: wp.array(dtype=Any),
):
    """`y += alpha * A.T @ x`"""
    row, j = wp.tid()
    for block in range(offsets[row], ends[row]):
        total = y.dtype(0)
        for i in range(values.shape[1]):
            total += values[block, i, j] * x[row * values.shape[1] + i]
        wp.atomic_add(y, columns[block] * values.shape[2] + j, alpha * total)


@wp.kernel
def scale_numbers(beta: Any, y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = beta * y[i]


@wp.kernel
def diagonal(
    alpha: Any, offsets: wp.array(dtype=int), ends: wp.array(dtype=int), columns: wp.array(dtype=int), values: wp.array3d(dtype=Any),
    out: wp.array3d(dtype=Any),
):
    row, i, j = wp.tid()
    block = _found(row, offsets[row], ends[row], columns)
    value = out.dtype(0)
    if block >= 0:
        value = alpha * values[block, i, j]
    out[row, i, j] = value
