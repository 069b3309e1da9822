"""How does one matrix become another: a copy, with other blocks, transposed, or of a diagonal?"""

from __future__ import annotations

import numpy as np

from ... import _types
from ..._arguments import as_numpy
from .._arrays import array, copy, zeros
from .._launches import launch
from . import _kernels
from ._build import Groups, gather, settle
from ._matrix import (
    active, blocks, bsr_zeros, ends, fit, integers, known, matrix_and_scale, resize, structure, view,
)


def bsr_assign(dest, src, structure_only=False, topology=None) -> None:
    """Copies the blocks of `src` to `dest`, whose blocks may have another shape and another type of numbers."""
    src, scale = matrix_and_scale(src)
    topology = known(topology, "compact", "masked", "padded")
    structure("bsr_assign")
    ratios = [_ratio(of, own) for of, own in zip(src.block_shape, dest.block_shape)]
    size = []
    for n, (more, less), what in zip((src.nrow, src.ncol), ratios, ("rows", "columns")):
        if n * more % less:
            raise ValueError(f"blocks of {dest.block_shape} do not divide a matrix of {src.shape}: its {what}")
        size.append(n * more // less)
    if topology == "compact":
        if dest is not src:
            dest.nrow, dest.ncol = size
    elif (dest.nrow, dest.ncol) != tuple(size):
        raise ValueError(f"the target has {dest.nrow} rows and {dest.ncol} columns of blocks, and needs {size[0]} and {size[1]}")
    if dest is src:
        if scale != 1.0 and not structure_only:
            from ._algebra import bsr_scale

            bsr_scale(dest, scale)
        return
    rows, columns, slots = active(src)
    if src.block_shape == dest.block_shape:
        settled = settle(dest, Groups(rows, columns, dest.ncol, slots), topology)
        if not structure_only:
            gather(dest, settled, blocks(src.values, src.block_shape), scale)
        return
    if Groups(rows, columns, src.ncol).count != len(rows):
        whole = bsr_zeros(src.nrow, src.ncol, src.values.dtype)
        whole.values.requires_grad = src.requires_grad
        bsr_assign(whole, src)
        return bsr_assign(dest, whole * scale if scale != 1.0 else whole, structure_only, topology)
    _reblock(dest, src, scale, structure_only, topology, rows, columns, slots)


def _ratio(of, own):
    """By how many a number of blocks is multiplied, and divided."""
    more, less = (of // own, 1) if of >= own else (1, own // of)
    if more * own != less * of:
        raise ValueError(f"blocks of {of} and of {own} rows or columns: one is to be a multiple of the other")
    return more, less


def _reblock(dest, src, scale, structure_only, topology, rows, columns, slots) -> None:
    (m, n), (p, q) = src.block_shape, dest.block_shape
    row = np.broadcast_to((rows[:, None, None] * m) + np.arange(m)[:, None], (len(rows), m, n)).ravel()
    column = np.broadcast_to((columns[:, None, None] * n) + np.arange(n), (len(rows), m, n)).ravel()
    number = (slots[:, None, None] * (m * n) + np.arange(m * n).reshape(m, n)).ravel()
    starts, order = settle(dest, Groups(row // p, column // q, dest.ncol), topology)
    if structure_only or len(starts) == 1:
        return
    index = np.full((len(starts) - 1, p, q), -1)
    place = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    index[place, row[order] % p, column[order] % q] = number[order]
    out = blocks(dest.values, dest.block_shape)[: len(index)]
    source = view(src.values, (-1 if src.values.size else 0,), src.scalar_type)
    launch(_kernels.pick, index.shape, [array(index.astype(np.int32), dtype=int), dest.scalar_type(scale), source, out])


def bsr_copy(A, scalar_type=None, block_shape=None, structure_only=False, topology="compact"):
    """A matrix of the same numbers, if asked with other blocks or another type of numbers."""
    src, _ = matrix_and_scale(A)
    known(topology, "compact", "padded")
    scalar = src.scalar_type if scalar_type is None else _types.scalar_of(scalar_type)
    shape = src.block_shape if block_shape is None else tuple(block_shape)
    kind = scalar if shape == (1, 1) else _types.matrix(shape=shape, dtype=scalar)
    ratios = [_ratio(of, own) for of, own in zip(src.block_shape, shape)]
    nrow, ncol = (n * more // less for n, (more, less) in zip((src.nrow, src.ncol), ratios))
    if topology == "padded":
        structure("bsr_copy")
        (more, less), (wider, _) = ratios
        if src.nrow * more % less:
            raise ValueError(f"blocks of {shape} do not divide a matrix of {src.shape}")
        room = np.repeat(np.diff(as_numpy(src.offsets)[: src.nrow + 1]) * wider, more).reshape(-1, less).sum(axis=1)
        made = bsr_zeros(nrow, ncol, kind, row_capacity=integers(room))
    else:
        made = bsr_zeros(nrow, ncol, kind)
    made.values.requires_grad = src.requires_grad
    bsr_assign(made, A, structure_only, topology)
    return made


def bsr_set_transpose(dest, src, topology=None) -> None:
    """Sets a matrix to another one, transposed."""
    src, scale = matrix_and_scale(src)
    topology = known(topology, "compact", "masked", "padded")
    structure("bsr_set_transpose")
    if dest.scalar_type is not src.scalar_type:
        raise ValueError(f"matrices of {src.scalar_type.__name__} and of {dest.scalar_type.__name__}")
    if dest.block_shape != src.block_shape[::-1]:
        raise ValueError(f"the target has blocks of {dest.block_shape}, and needs {src.block_shape[::-1]}")
    if dest is src:
        values = src.values
        src = bsr_copy(src)
        src.values.requires_grad = values.requires_grad
    if topology == "compact":
        dest.nrow, dest.ncol = src.ncol, src.nrow
    elif (dest.nrow, dest.ncol) != (src.ncol, src.nrow):
        raise ValueError(f"the target has {dest.nrow} rows and {dest.ncol} columns of blocks, and needs {src.ncol} and {src.nrow}")
    rows, columns, slots = active(src)
    source = blocks(src.values, src.block_shape).transpose((0, 2, 1))
    gather(dest, settle(dest, Groups(columns, rows, dest.ncol, slots), topology), source, scale)


def bsr_transposed(A):
    """The transposed matrix, with memory of its own."""
    src, _ = matrix_and_scale(A)
    shape = src.block_shape[::-1]
    made = bsr_zeros(src.ncol, src.nrow, src.scalar_type if shape == (1, 1) else _types.matrix(shape=shape, dtype=src.scalar_type))
    made.values.requires_grad = src.requires_grad
    bsr_set_transpose(made, A)
    return made


def bsr_get_diag(A, out=None):
    """The blocks of the diagonal, zero where there is none."""
    A, scale = matrix_and_scale(A)
    count = min(A.nrow, A.ncol)
    if out is None:
        out = zeros(count, dtype=A.values.dtype, requires_grad=A.requires_grad)
    elif out._inner != A.values._inner or _types.numpy_layout(out.dtype) != _types.numpy_layout(A.values.dtype):
        raise ValueError(f"the target is an array of {A.values.dtype}, not of {out.dtype}")
    elif out.ndim != 1 or out.shape[0] < count:
        raise ValueError(f"the target has room for {count} blocks, and not shape {out.shape}")
    else:
        out.zero_()
    if count:
        there = blocks(out, A.block_shape)[:count]
        arguments = [A.scalar_type(scale), A.offsets, ends(A), A.columns, A.scalar_values, there]
        launch(_kernels.diagonal, (count, *A.block_shape), arguments)
    return out


def bsr_set_diag(A, diag, rows_of_blocks=None, cols_of_blocks=None) -> None:
    """Makes a matrix diagonal: of an array of blocks, of one block for all, or (None) without values."""
    structure("bsr_set_diag")
    rows_of_blocks = cols_of_blocks if rows_of_blocks is None else rows_of_blocks
    cols_of_blocks = rows_of_blocks if cols_of_blocks is None else cols_of_blocks
    if isinstance(diag, array) and rows_of_blocks is None:
        rows_of_blocks = cols_of_blocks = diag.shape[0]
    if rows_of_blocks is not None:
        resize(A, rows_of_blocks, cols_of_blocks)
    count = min(A.nrow, A.ncol)
    if isinstance(diag, array):
        if diag._inner != A.values._inner or _types.numpy_layout(diag.dtype) != _types.numpy_layout(A.values.dtype):
            raise ValueError(f"the diagonal is an array of {A.values.dtype}, not of {diag.dtype}")
        if diag.size < count:
            raise ValueError(f"the diagonal has {diag.size} blocks, and the matrix {count}")
    A.offsets, A.row_counts = integers(np.minimum(np.arange(A.nrow + 1), count)), None
    A.columns, A.nnz = integers(np.arange(max(count, A.columns.size))), count
    fit(A, count)
    if not count or diag is None:
        return
    if isinstance(diag, array):
        copy(A.values, diag, count=count)
    else:
        A.values.fill_(diag)


def bsr_diag(diag=None, rows_of_blocks=None, cols_of_blocks=None, block_type=None, device=None):
    """A diagonal matrix: of an array of blocks, or of one block for all."""
    rows_of_blocks = cols_of_blocks if rows_of_blocks is None else rows_of_blocks
    cols_of_blocks = rows_of_blocks if cols_of_blocks is None else cols_of_blocks
    if isinstance(diag, array):
        if rows_of_blocks is None:
            rows_of_blocks = cols_of_blocks = diag.shape[0]
        block_type, device = diag.dtype, diag.device
    elif rows_of_blocks is None:
        raise ValueError("a diagonal of one block is made with rows_of_blocks, or cols_of_blocks")
    if block_type is None:
        if diag is None:
            raise ValueError("bsr_diag takes `diag` or `block_type`")
        matrix = isinstance(diag, np.ndarray) and diag.ndim == 2
        block_type = type(diag) if isinstance(diag, _types.Composite) or not matrix else _types.matrix(shape=diag.shape, dtype=diag.dtype)
    made = bsr_zeros(rows_of_blocks, cols_of_blocks, block_type, device)
    if isinstance(diag, array):
        made.values.requires_grad = diag.requires_grad
    bsr_set_diag(made, diag)
    return made


def bsr_set_identity(A, rows_of_blocks=None) -> None:
    """Makes a matrix the identity."""
    rows, columns = A.block_shape
    if rows != columns:
        raise ValueError(f"blocks of {A.block_shape} are no identity")
    one = A.scalar_type(1) if rows == 1 else A.values.dtype(*np.eye(rows).ravel())
    bsr_set_diag(A, one, rows_of_blocks, rows_of_blocks)


def bsr_identity(rows_of_blocks, block_type, device=None):
    """The identity."""
    made = bsr_zeros(rows_of_blocks, rows_of_blocks, block_type, device)
    bsr_set_identity(made)
    return made
