"""What is computed with sparse matrices: sums, products with vectors and with each other."""

from __future__ import annotations

import numpy as np

from ... import _types
from ..._arguments import as_numpy
from .._arrays import clone, copy, empty, zeros
from .._launches import launch
from . import _kernels
from ._build import Groups, gather, settle
from ._copies import bsr_assign
from ._matrix import (
    active, blocks, bsr_zeros, ends, integers, is_zero, known, matrix_and_scale, structure, view,
)


class bsr_axpy_work_arrays:
    """Memory that Warp keeps between calls; there is nothing to keep here."""


class bsr_mm_work_arrays:
    """What `bsr_mm` keeps of the structure of a product, for calls with `reuse_topology`."""

    def __init__(self):
        self._plan = None


def bsr_scale(x, alpha):
    """Multiplies a matrix by a number, in place."""
    x, scale = matrix_and_scale(x)
    alpha = float(alpha) * scale if scale != 1.0 else alpha
    if is_zero(alpha):
        x.values.zero_()
    elif float(alpha) != 1.0 and x.nnz:
        launch(_kernels.scale, (x.nnz, *x.block_shape), [x.scalar_type(alpha), blocks(x.values, x.block_shape)[: x.nnz]])
    return x


def bsr_axpy(x, y=None, alpha=1.0, beta=1.0, work_arrays=None, topology=None):
    """`y = alpha * x + beta * y`, in `y`, which is made where it is not given."""
    x, scale = matrix_and_scale(x)
    alpha = float(alpha) * scale
    topology = known(topology, "compact", "masked", "padded")
    if y is None:
        if topology != "compact":
            raise ValueError(f"topology='{topology}' is that of a `y`, and there is none")
        y, beta = bsr_zeros(x.nrow, x.ncol, x.values.dtype), 0.0
        y.values.requires_grad = x.requires_grad
    elif not hasattr(y, "row_counts"):
        raise ValueError(f"a {type(y).__name__} is no sparse matrix")
    if x is y:
        return bsr_scale(y, alpha + float(beta))
    if x.scalar_type is not y.scalar_type or x.block_shape != y.block_shape:
        raise ValueError(f"a sum of blocks of {x.block_shape}, {x.scalar_type.__name__}, and {y.block_shape}, {y.scalar_type.__name__}")
    if is_zero(beta) or topology == "compact" and y.nnz == 0:
        bsr_assign(y, x if alpha == 1.0 else x * alpha, topology=topology)
        return y
    if (x.nrow, x.ncol) != (y.nrow, y.ncol):
        raise ValueError(f"a sum of matrices of {x.nrow} by {x.ncol} and {y.nrow} by {y.ncol} blocks")
    if is_zero(alpha) or x.nnz == 0:
        return bsr_scale(y, beta)
    structure("bsr_axpy")
    mine, other = active(y), active(x)
    old = blocks(clone(y.values), y.block_shape)
    # The places of both; then those of each alone, which are there.
    settle(y, Groups(*(np.concatenate(pair) for pair in zip(mine[:2], other[:2])), y.ncol), topology)
    gather(y, settle_again(y, Groups(mine[0], mine[1], y.ncol, mine[2])), old, beta)
    gather(y, settle_again(y, Groups(other[0], other[1], y.ncol, other[2])), blocks(x.values, x.block_shape), alpha, 1.0)
    return y


def settle_again(y, groups):
    """The lists for the places that a matrix has."""
    return settle(y, groups, "masked")


def bsr_mm(
    x, y, z=None, alpha=1.0, beta=0.0, work_arrays=None, reuse_topology=False, tile_size=0, max_new_nnz=None, topology=None,
):
    """`z = alpha * x @ y + beta * z`, in `z`, which is made where it is not given."""
    (x, one), (y, two) = matrix_and_scale(x), matrix_and_scale(y)
    alpha = float(alpha) * one * two
    topology = known(topology, "compact", "masked", "padded")
    if topology == "padded" and reuse_topology:
        raise ValueError("reuse_topology is for topology='compact'")
    shape = x.block_shape[0], y.block_shape[1]
    if z is None:
        if topology != "compact":
            raise ValueError(f"topology='{topology}' is that of a `z`, and there is none")
        z, beta = bsr_zeros(x.nrow, y.ncol, x.scalar_type if shape == (1, 1) else _types.matrix(shape=shape, dtype=x.scalar_type)), 0.0
        z.values.requires_grad = x.requires_grad or y.requires_grad
    if not x.scalar_type is y.scalar_type is z.scalar_type:
        raise ValueError(f"a product of {x.scalar_type.__name__} and {y.scalar_type.__name__} in {z.scalar_type.__name__}")
    if x.block_shape[1] != y.block_shape[0] or z.block_shape != shape:
        raise ValueError(f"a product of blocks of {x.block_shape} and {y.block_shape} in {z.block_shape}")
    if (x.nrow, x.ncol, y.ncol) != (z.nrow, y.nrow, z.ncol):
        raise ValueError(f"a product of {x.nrow} by {x.ncol} and {y.nrow} by {y.ncol} blocks in {z.nrow} by {z.ncol}")
    if is_zero(alpha):
        from ._matrix import bsr_set_zero

        if is_zero(beta):
            bsr_set_zero(z, topology=topology)
            return z
        return bsr_scale(z, beta)
    structure("bsr_mm")
    left, right, rows, columns = _pairs(x, y)
    of_x, of_y = blocks(x.values, x.block_shape), blocks(y.values, y.block_shape)
    if x is z or y is z:
        # An operand that is also the result is read from a copy.
        kept = blocks(clone(z.values), z.block_shape)
        of_x, of_y = kept if x is z else of_x, kept if y is z else of_y
    if is_zero(beta):
        mine = None
        if topology == "compact" and (x is z or y is z):
            z.values = zeros(0, dtype=z.values.dtype, requires_grad=z.requires_grad)
        starts, order = settle(z, Groups(rows, columns, z.ncol), topology)
    else:
        mine = active(z)
        old = blocks(clone(z.values), z.block_shape)
        settle(z, Groups(np.concatenate([mine[0], rows]), np.concatenate([mine[1], columns]), z.ncol), topology)
        gather(z, settle_again(z, Groups(mine[0], mine[1], z.ncol, mine[2])), old, beta)
        starts, order = settle_again(z, Groups(rows, columns, z.ncol))
    count = len(starts) - 1
    if count:
        out = blocks(z.values, z.block_shape)[:count]
        scalar = z.scalar_type
        arguments = [
            integers(starts), integers(left[order]), integers(right[order]), scalar(alpha), of_x, of_y, scalar(0 if mine is None else 1), out,
        ]
        launch(_kernels.product, (count, *z.block_shape), arguments)
    return z


def _pairs(x, y):
    """The pairs of blocks that meet in a product, and where their products belong."""
    rows, inner, slots = active(x)
    above, columns, others = active(y)
    lengths = np.bincount(above, minlength=y.nrow)
    first = np.cumsum(lengths) - lengths
    many = lengths[inner]
    left = np.repeat(np.arange(len(slots)), many)
    right = np.arange(many.sum()) + np.repeat(first[inner] - (np.cumsum(many) - many), many)
    return slots[left], others[right], rows[left], columns[right]


def bsr_mv(A, x, y=None, alpha=1.0, beta=0.0, transpose=False, work_buffer=None, tile_size=0):
    """`y = alpha * A @ x + beta * y`, in `y`, which is made where it is not given; with `transpose` of the transposed matrix.

    Vectors are of the length of a block's side, or of numbers. Tapes differentiate it: by the values, by `x` and by `y`.
    """
    A, scale = matrix_and_scale(A)
    alpha = float(alpha) * scale
    rows, columns = A.block_shape
    nrow, ncol = A.nrow, A.ncol
    if transpose:
        rows, columns, nrow, ncol = columns, rows, ncol, nrow
    scalar = A.scalar_type
    if y is None:
        kind = scalar if rows == 1 else _types.vector(length=rows, dtype=scalar)
        y, beta = empty(nrow, dtype=kind, requires_grad=x.requires_grad or A.requires_grad), 0.0
    if x is y or x.ptr == y.ptr and x.size:
        if work_buffer is None:
            work_buffer = clone(x)
        elif work_buffer.size < x.size:
            raise ValueError(f"the buffer has room for {work_buffer.size} numbers, and needs {x.size}")
        elif work_buffer._inner != x._inner or as_numpy(work_buffer).dtype != as_numpy(x).dtype:
            raise ValueError(f"the buffer is of {x.dtype}, not of {work_buffer.dtype}")
        else:
            copy(work_buffer, x, count=x.size)
            work_buffer = work_buffer if work_buffer.size == x.size else work_buffer[: x.size]
        x = work_buffer
    inside, out = _numbers(x, ncol * columns, scalar, "x"), _numbers(y, nrow * rows, scalar, "y")
    if transpose:
        if is_zero(beta):
            y.zero_()
        elif float(beta) != 1.0 and out.size:
            launch(_kernels.scale_numbers, out.size, [scalar(beta), out])
        if A.nnz and not is_zero(alpha):
            arguments = [scalar(alpha), A.offsets, ends(A), A.columns, A.scalar_values, inside, out]
            launch(_kernels.times_transposed, (A.nrow, rows), arguments)
    elif out.size:
        arguments = [scalar(alpha), A.offsets, ends(A), A.columns, A.scalar_values, inside, scalar(beta), view(y, (nrow, rows), scalar)]
        launch(_kernels.times, (nrow, rows), arguments)
    return y


def _numbers(vector, count, scalar, name):
    """A vector as numbers, of the same memory."""
    memory = as_numpy(vector)
    if memory.size != count:
        raise ValueError(f"`{name}` has {memory.size} numbers, and the matrix asks for {count}")
    if _types.scalar_of(getattr(vector.dtype, "_scalar", vector.dtype)) is not scalar:
        raise ValueError(f"`{name}` is of {vector.dtype}, and the matrix of {scalar.__name__}")
    if vector.ndim > 2 or not memory.flags.c_contiguous:
        raise ValueError(f"`{name}` is an array of one or two dimensions without gaps")
    if vector.ndim == 1 and not vector._inner:
        return vector
    return view(vector, (count,), scalar)
