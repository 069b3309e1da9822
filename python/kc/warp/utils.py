"""Operations on whole arrays."""

from __future__ import annotations

import numpy as np

from .. import _types, _writes
from .._arguments import as_numpy
from .._tape import scatter, unrecorded
from ._arrays import empty
from ._coloring import GraphColoringAlgorithm, graph_coloring_assign, graph_coloring_balance, graph_coloring_get_groups
from ._launches import done, is_captured

__all__ = [
    "GraphColoringAlgorithm", "array_cast", "array_inner", "array_scan", "array_sum", "create_warp_function", "graph_coloring_assign",
    "graph_coloring_balance", "graph_coloring_get_groups", "radix_sort_pairs", "runlength_encode", "segmented_sort_pairs",
]


def array_scan(in_array, out_array, inclusive=True):
    """Sums of all elements up to each one, with it or without, row after row."""
    if in_array.size != out_array.size or _types.numpy_layout(in_array.dtype) != _types.numpy_layout(out_array.dtype):
        raise RuntimeError("array_scan takes two arrays of one size and type")

    def summed(data):
        rows = data.reshape((-1, *in_array._inner))
        sums = np.cumsum(rows, axis=0, dtype=data.dtype)
        return sums if inclusive else np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])

    def run():
        as_numpy(out_array)[...] = summed(as_numpy(in_array)).reshape(as_numpy(out_array).shape)

    def pull(more, gradient):
        # Each element is in the sums from its own on.
        scatter(gradient, summed(more.reshape((-1, *in_array._inner))[::-1])[::-1].reshape(gradient.shape))

    done(lambda: _writes.write("array_scan", out_array, [in_array], run, pull))


class _Reduction:
    """Sums of all elements of an array, or of those along a dimension, and of the first ones alone, if a count is given."""

    def __init__(self, name, values, out, count, axis, dtype):
        if axis is not None and not -values.ndim <= axis < values.ndim:
            raise IndexError(f"{name}: there is no axis {axis} of {values.ndim}")
        self.name, self.out, self.inner = name, out, values._inner
        self.axis = None if axis is None else axis % values.ndim
        most = values.size if axis is None else values.shape[axis]
        self.count = most if count is None else count
        if not 0 <= self.count <= most:
            raise RuntimeError(f"{name}: {count} values of {most}")
        shape = (1,) if axis is None else tuple(1 if n == self.axis else extent for n, extent in enumerate(values.shape))
        if out is None:
            if axis is None and is_captured():
                raise NotImplementedError(f"{name} gives a number, which no captured graph has: give it an `out`")
            self.result = empty(shape, dtype)
        elif out.shape != shape or _types.numpy_layout(out.dtype) != _types.numpy_layout(dtype):
            raise RuntimeError(f"{name}: `out` is to have the shape {shape} and the type of the values")
        else:
            self.result = out

    def part(self, data):
        """What is summed, with the dimension that goes first: a view of an array without gaps."""
        rows = data.reshape((-1, *self.inner)) if self.axis is None else np.moveaxis(data, self.axis, 0)
        return rows[: self.count]

    def add(self, gradient, more):
        """Adds to the gradients of what is summed."""
        whole = np.zeros(gradient.shape, gradient.dtype)
        self.part(whole)[...] = more
        scatter(gradient, whole)

    def of(self, sources, run, pull, keep=None):
        def total():
            as_numpy(self.result)[...] = run().reshape(as_numpy(self.result).shape)

        done(lambda: _writes.write(self.name, self.result, sources, total, pull, keep, fresh=self.out is None))
        return as_numpy(self.result)[0] if self.out is None and self.axis is None else self.result


def array_sum(values, out=None, value_count=None, axis=None):
    """The sum of the elements, or of those along a dimension, which has the length 1 then."""
    reduction = _Reduction("array_sum", values, out, value_count, axis, values.dtype)

    def run():
        data = reduction.part(as_numpy(values))
        return data.sum(axis=0, dtype=data.dtype)

    def pull(more, gradient):
        reduction.add(gradient, more.reshape(reduction.part(gradient).shape[1:]))

    return reduction.of([values], run, pull)


def array_inner(a, b, out=None, count=None, axis=None):
    """The sum of the products of the elements of two arrays, or of those along a dimension, which has the length 1 then."""
    if a.shape != b.shape:
        raise ValueError(f"array_inner takes arrays of one shape, and not {a.shape} and {b.shape}")
    if _types.numpy_layout(a.dtype) != _types.numpy_layout(b.dtype):
        raise RuntimeError(f"array_inner takes arrays of one type, and not {a.dtype} and {b.dtype}")
    reduction = _Reduction("array_inner", a, out, count, axis, a.dtype._scalar if a._inner else a.dtype)

    def keep():
        return np.array(reduction.part(as_numpy(a))), np.array(reduction.part(as_numpy(b)))

    def run():
        products = reduction.part(as_numpy(a)) * reduction.part(as_numpy(b))
        inner = tuple(range(products.ndim - len(a._inner), products.ndim))
        return products.sum(axis=(0, *inner), dtype=products.dtype)

    def pull(more, of_a, of_b, x, y):
        more = more.reshape((*x.shape[1 : x.ndim - len(a._inner)], *(1 for _ in a._inner)))
        if of_a is not None:
            reduction.add(of_a, more * y)
            reduction.add(of_b, more * x)

    return reduction.of([a, b], run, pull, keep)


def array_cast(in_array, out_array, count=None):
    """Converts elements to another type."""
    source, target = (in_array, out_array) if count is None else (in_array[:count], out_array[:count])

    def cast():
        numbers = as_numpy(source).astype(as_numpy(target).dtype).reshape(as_numpy(target).shape)
        _writes.put(target, ..., source, numbers, "array_cast")

    done(cast)


def radix_sort_pairs(keys, values, count, begin_bit=0, end_bit=None):
    """Sorts the first ``count`` keys, and the values with them; pairs of equal keys keep their order.

    ``begin_bit`` and ``end_bit`` say which bits of the keys count. Both arrays have room for twice as many, as Warp asks. No tape
    differentiates it where keys or values are floats.
    """
    if keys.size < 2 * count or values.size < 2 * count:
        raise RuntimeError(f"radix_sort_pairs needs room for 2 * {count} keys and values, and there is {keys.size} and {values.size}")
    width = _types.numpy_layout(values.dtype).itemsize
    if _kind(keys) not in _SORTED or width not in (4, 8):
        raise RuntimeError(f"radix_sort_pairs sorts keys of {', '.join(_SORTED)}, with values of 4 or 8 bytes, not {_kind(keys)} and {width} bytes")
    if not (keys.is_contiguous and values.is_contiguous):
        raise RuntimeError("radix_sort_pairs sorts arrays without gaps")
    bits = 8 * as_numpy(keys).dtype.itemsize
    end = bits if end_bit is None else end_bit
    if not 0 <= begin_bit <= end <= bits:
        raise RuntimeError(f"radix_sort_pairs: keys of {bits} bits have no bits {begin_bit} to {end_bit}")

    if any(as_numpy(one).dtype.kind == "f" for one in (keys, values)):
        unrecorded("radix_sort_pairs of floats")

    def run():
        first, second = as_numpy(keys)[:count], as_numpy(values)[:count]
        order = np.argsort(_digits(first, bits) >> np.uint64(begin_bit) & np.uint64((1 << end - begin_bit) - 1), kind="stable")
        _put(keys[:count], first[order], "radix_sort_pairs")
        _put(values[:count], second[order], "radix_sort_pairs")

    done(run)


def segmented_sort_pairs(keys, values, count, segment_start_indices, segment_end_indices=None):
    """Sorts the keys of each segment, and the values with them; pairs of equal keys keep their order. What is in no segment stays.

    Segments run from a start to an end, or to the next start where no ends are given. Both arrays have room for ``2 * count``, as Warp
    asks. No tape differentiates it where keys are floats.
    """
    if keys.size < 2 * count or values.size < 2 * count:
        raise RuntimeError(f"segmented_sort_pairs needs room for 2 * {count} keys and values, and there is {keys.size} and {values.size}")
    if _kind(keys) not in ("int32", "float32") or _kind(values) != "int32":
        raise RuntimeError(f"segmented_sort_pairs sorts keys of int32 and float32, with values of int32, not {_kind(keys)} and {_kind(values)}")
    if not (keys.is_contiguous and values.is_contiguous):
        raise RuntimeError("segmented_sort_pairs sorts arrays without gaps")
    if _kind(keys) == "float32":
        unrecorded("segmented_sort_pairs of floats")

    def run():
        starts = as_numpy(segment_start_indices).astype(np.int64)
        starts, ends = (starts[:-1], starts[1:]) if segment_end_indices is None else (starts, as_numpy(segment_end_indices).astype(np.int64))
        if len(starts) != len(ends):
            raise ValueError(f"segmented_sort_pairs: {len(starts)} segments begin and {len(ends)} end")
        for n in np.flatnonzero((starts < 0) | (starts > ends) | (ends > count)):
            raise ValueError(f"segmented_sort_pairs: segment {n} is [{starts[n]}, {ends[n]}), of {count} pairs")
        lengths = ends - starts
        segment = np.repeat(np.arange(len(starts)), lengths)
        # The place of each pair of a segment.
        at = np.arange(len(segment)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        sorted_keys, sorted_values = as_numpy(keys)[:count].copy(), as_numpy(values)[:count].copy()
        order = at[np.lexsort((_digits(sorted_keys[at], 32), segment))]
        sorted_keys[at], sorted_values[at] = sorted_keys[order], sorted_values[order]
        _put(keys[:count], sorted_keys, "segmented_sort_pairs")
        _put(values[:count], sorted_values, "segmented_sort_pairs")

    done(run)


def create_warp_function(func):
    """A function that kernels call, of a Python function, and its module."""
    from . import get_module
    from ._decorators import func as made

    return made(func), get_module(func.__module__)


def _put(array, numbers, what):
    """Whole numbers in an array, noted on the tape that records."""
    _writes.put(array, ..., numbers, numbers, what)


_SORTED = ("int32", "uint32", "float32", "int64", "uint64", "float64")


def _kind(array) -> str:
    return as_numpy(array).dtype.name


def _digits(keys, bits):
    """Whole numbers in the order of the keys: the sign bit is turned, and all bits of negative floats."""
    raw = np.ascontiguousarray(keys).view(f"u{bits // 8}").astype(np.uint64)
    sign = np.uint64(1 << bits - 1)
    if keys.dtype.kind == "u":
        return raw
    if keys.dtype.kind == "i":
        return raw ^ sign
    return np.where(raw & sign, ~raw & np.uint64((1 << bits) - 1), raw | sign)


def runlength_encode(values, run_values, run_lengths, run_count=None, value_count=None):
    """Writes each run of equal numbers once, and how long it is. Gives how many runs there are: a number, or ``run_count`` with it."""
    count = values.size if value_count is None else value_count
    if not 0 <= count <= values.size:
        raise RuntimeError(f"runlength_encode: {value_count} values of {values.size}")
    if run_values.size < count or run_lengths.size < count:
        raise RuntimeError(f"runlength_encode needs room for {count} runs, and there is {run_values.size} and {run_lengths.size}")
    if (_kind(values), _kind(run_values), _kind(run_lengths)) != ("int32",) * 3:
        raise RuntimeError("runlength_encode takes arrays of int32")
    if run_count is None and is_captured():
        raise NotImplementedError("runlength_encode gives a number, which no captured graph has: give it a `run_count`")
    found = []

    def run():
        numbers = as_numpy(values)[:count]
        starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]])) if count else np.zeros(0, int)
        lengths = np.diff([*starts, count]).astype(np.int32)
        _put(run_values[: len(starts)], numbers[starts], "runlength_encode")
        _put(run_lengths[: len(starts)], lengths, "runlength_encode")
        found.append(len(starts))
        if run_count is not None:
            _put(run_count[:1], np.array([len(starts)], np.int32), "runlength_encode")

    done(run)
    return found[0] if run_count is None else run_count
