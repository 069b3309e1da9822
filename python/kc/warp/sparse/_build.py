"""How do triplets become a matrix? Entries of one place are found by sorting, and summed by a kernel."""

from __future__ import annotations

import numpy as np

from ... import _types
from ..._arguments import as_numpy
from .._arrays import clone
from .._launches import launch
from . import _kernels
from ._matrix import (
    BSR_STATUS_ROW_CAPACITY_EXCEEDED, BsrMatrix, active, blocks, bsr_zeros, fit, integers, known, structure,
)


class Groups:
    """Entries sorted by row and column, those of one place together: `rows` and `columns` of the places, and which entries each has."""

    def __init__(self, rows, columns, ncol, entries=None):
        key = np.asarray(rows, np.int64) * max(ncol, 1) + columns
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, int)
        self.rows, self.columns = key[first] // max(ncol, 1), key[first] % max(ncol, 1)
        self.starts = np.append(first, len(key))
        self.order = order if entries is None else np.asarray(entries)[order]
        self.count = len(first)


def settle(dest, groups, topology):
    """Puts the places of groups into a matrix. Gives, for each place of the matrix, where the list of its entries begins, and the lists."""
    if topology == "compact":
        counts = np.bincount(groups.rows, minlength=dest.nrow)
        dest.offsets, dest.row_counts = integers(np.concatenate([[0], np.cumsum(counts)])), None
        dest.nnz = groups.count
        dest.columns = integers(np.zeros(0)) if dest.columns.size < groups.count else dest.columns
        fit(dest, groups.count)
        columns = np.array(as_numpy(dest.columns))
        columns[: groups.count] = groups.columns
        dest.columns = integers(columns)
        return groups.starts, groups.order
    slots = _masked(dest, groups) if topology == "masked" else _padded(dest, groups)
    lengths = np.zeros(dest.nnz, np.int64)
    kept = slots >= 0
    lengths[slots[kept]] = np.diff(groups.starts)[kept]
    order = np.argsort(slots[kept], kind="stable")
    pieces = [groups.order[a:b] for a, b in zip(groups.starts[:-1][kept][order], groups.starts[1:][kept][order])]
    return np.concatenate([[0], np.cumsum(lengths)]), np.concatenate(pieces) if pieces else np.zeros(0, int)


def _masked(dest, groups):
    """The places that the matrix has already; -1 for others."""
    rows, columns, slots = active(dest)
    key = rows * max(dest.ncol, 1) + columns
    order = np.argsort(key, kind="stable")
    key, slots = key[order], slots[order]
    wanted = groups.rows * max(dest.ncol, 1) + groups.columns
    at = np.searchsorted(key, wanted)
    there = at < len(key)
    there[there] = key[at[there]] == wanted[there]
    found = np.full(groups.count, -1)
    found[there] = slots[at[there]]
    return found


def _padded(dest, groups):
    """Places in the room that rows have; -1 for what has none, which the status of the matrix says."""
    offsets = as_numpy(dest.offsets)[: dest.nrow + 1].astype(np.int64)
    counts = np.bincount(groups.rows, minlength=dest.nrow)
    before = np.arange(groups.count) - np.repeat(np.cumsum(counts) - counts, counts)
    room = np.diff(offsets)
    inside = before < room[groups.rows]
    if not inside.all():
        dest.__dict__["_status"] = BSR_STATUS_ROW_CAPACITY_EXCEEDED
    slots = np.where(inside, offsets[groups.rows] + before, -1)
    dest.row_counts = integers(np.minimum(counts, room))
    dest.nnz = int(offsets[-1])
    fit(dest, dest.nnz)
    columns = np.array(as_numpy(dest.columns))
    columns[slots[inside]] = groups.columns[inside]
    dest.columns = integers(columns)
    return slots


def gather(dest, settled, source, alpha=1.0, beta=0.0, values=None) -> None:
    """Sums blocks of a source into the places of a matrix."""
    starts, order = settled
    count = len(starts) - 1
    if count == 0:
        return
    out = blocks(dest.values if values is None else values, dest.block_shape)[:count]
    scalar = dest.scalar_type
    arguments = [integers(starts), integers(order), scalar(alpha), source, scalar(beta), out]
    launch(_kernels.gather, (count, *dest.block_shape), arguments)


class BsrTripletMap:
    """Which triplets each block of a matrix is the sum of: `bsr_set_from_triplets(.., build_mapping=True)` makes one."""

    def __init__(self, capacity=0, device=None):
        self.capacity, self.triplet_count = int(capacity), 0
        self._dest = self._settled = None

    @property
    def device(self):
        from .._devices import get_device

        return get_device()

    def _bind(self, dest, count, settled):
        self.triplet_count, self._settled = count, settled
        self.capacity = max(self.capacity, count)
        self._dest = dest.nrow, dest.ncol, dest.offsets, dest.columns, dest.row_counts

    def validate(self, dest) -> None:
        """Raises where the map is not of the structure that the matrix has now."""
        if self._dest is None:
            raise ValueError("the map is of no matrix yet: give it to bsr_set_from_triplets(.., build_mapping=..)")
        now = dest.nrow, dest.ncol, dest.offsets, dest.columns, dest.row_counts
        if now[:2] != self._dest[:2] or any(one is not other for one, other in zip(now[2:], self._dest[2:])):
            raise ValueError("the structure of the matrix is another one than that of the map")


def triplet_values(values, count, block_type, block_shape):
    """The values of triplets as numbers with three dimensions."""
    if values.shape[0] != count:
        raise ValueError(f"there are {count} rows, and {values.shape[0]} values")
    if not values.is_contiguous:
        raise ValueError("values are an array without gaps")
    scalar = _types.scalar_of(getattr(block_type, "_scalar", block_type))
    own = _types.scalar_of(getattr(values.dtype, "_scalar", values.dtype))
    if values.ndim == 1 and (values._inner or (1, 1)) == tuple(block_shape) and own is scalar:
        return blocks(values, block_shape)
    if values.ndim == 3 and not values._inner and values.shape[1:] == tuple(block_shape) and own is scalar:
        return values
    raise ValueError(f"values are blocks of {block_shape} of {scalar.__name__}, not of shape {values.shape} and type {values.dtype}")


def bsr_set_from_triplets(
    dest, rows, columns, values=None, count=None, prune_numerical_zeros=True, topology=None, build_mapping=None,
):
    """Sets a matrix to the sum of blocks `values[n]` at `rows[n]`, `columns[n]`. Those outside of the matrix are left out, and zeros if asked.

    `topology` says where blocks may be: anywhere (`compact`), where the matrix has one (`masked`), in the room of its rows (`padded`).
    """
    topology = known(topology, "compact", "masked", "padded")
    structure("bsr_set_from_triplets")
    mapping = None
    if isinstance(build_mapping, BsrTripletMap):
        mapping = build_mapping
    elif build_mapping is True:
        mapping = BsrTripletMap()
    elif build_mapping not in (None, False):
        raise TypeError(f"build_mapping is a BsrTripletMap, or True, not a {type(build_mapping).__name__}")
    if mapping is not None and (topology != "compact" or prune_numerical_zeros):
        raise ValueError('build_mapping is for topology="compact" and prune_numerical_zeros=False')
    if rows.shape != columns.shape or rows.ndim != 1:
        raise ValueError(f"rows and columns are as many, not {rows.shape} and {columns.shape}")
    for one in (rows, columns):
        if as_numpy(one).dtype != np.int32:
            raise TypeError("rows and columns are arrays of int32")
    many = rows.shape[0]
    source = None if values is None else triplet_values(values, many, dest.values.dtype, dest.block_shape)
    if count is not None:
        if count.shape != (1,) or as_numpy(count).dtype != np.int32:
            raise ValueError("count is an array of one int32")
        many = min(max(int(as_numpy(count)[0]), 0), many)
    row, column = as_numpy(rows)[:many], as_numpy(columns)[:many]
    taken = (row >= 0) & (row < dest.nrow) & (column >= 0) & (column < dest.ncol)
    if prune_numerical_zeros and source is not None:
        taken &= (as_numpy(source)[:many] != 0).any(axis=(1, 2))
    entries = np.flatnonzero(taken)
    settled = settle(dest, Groups(row[entries], column[entries], dest.ncol, entries), topology)
    if source is not None:
        gather(dest, settled, source)
    elif topology == "masked":
        dest.values.zero_()
    if mapping is not None:
        mapping._bind(dest, rows.shape[0], settled)
    return mapping


def bsr_set_from_mapped_values(dest, mapping, values, reduction="gather") -> None:
    """New values for the triplets of a map: the same sums, without looking for places."""
    if not isinstance(mapping, BsrTripletMap):
        raise TypeError("the mapping is a BsrTripletMap")
    mapping.validate(dest)
    if reduction not in ("gather", "atomic"):
        raise ValueError(f"there is no reduction `{reduction}`: there is `gather` and `atomic`")
    gather(dest, mapping._settled, triplet_values(values, mapping.triplet_count, dest.values.dtype, dest.block_shape))


def bsr_from_triplets(rows_of_blocks, cols_of_blocks, rows, columns, values, prune_numerical_zeros=True):
    """A matrix that is the sum of blocks `values[n]` at `rows[n]`, `columns[n]`."""
    kind = values.dtype
    if values.ndim == 3:
        kind = kind if values.shape[1:] == (1, 1) else _types.matrix(shape=values.shape[1:], dtype=kind)
    made = bsr_zeros(rows_of_blocks, cols_of_blocks, kind)
    made.values.requires_grad = values.requires_grad
    bsr_set_from_triplets(made, rows, columns, values, prune_numerical_zeros=prune_numerical_zeros)
    return made


def bsr_compress(src, prune_numerical_zeros=True, inplace=False, topology=None, structure_only=False):
    """Sorts the blocks of each row, and sums those of one column; room that is not used goes (`compact`) or stays (`padded`)."""
    if not isinstance(src, BsrMatrix):
        raise ValueError("bsr_compress takes a matrix itself")
    topology = known(topology, "compact", "padded")
    structure("bsr_compress")
    rows, columns, slots = active(src)
    if structure_only:
        settle(src, Groups(rows, columns, src.ncol), topology)
        return src
    old = clone(src.values)
    source = blocks(old, src.block_shape)
    if prune_numerical_zeros and len(slots):
        kept = (as_numpy(source)[slots] != 0).any(axis=(1, 2))
        rows, columns, slots = rows[kept], columns[kept], slots[kept]
    gather(src, settle(src, Groups(rows, columns, src.ncol, slots), topology), source)
    return src
