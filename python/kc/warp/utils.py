"""Operations on whole arrays."""

from __future__ import annotations

import numpy as np

from . import _arrays
from ._launches import done


def array_scan(in_array, out_array, inclusive=True):
    """Sums of all elements up to each one, with it or without, row after row."""
    if in_array.size != out_array.size or in_array.dtype is not out_array.dtype:
        raise RuntimeError("array_scan takes two arrays of one size and type")

    def scan():
        data = in_array.numpy().reshape((-1, *in_array._inner))
        sums = np.cumsum(data, axis=0, dtype=data.dtype)
        if not inclusive:
            sums = np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])
        _arrays._set(out_array, sums.reshape(out_array.numpy().shape))

    done(scan)


def array_sum(values, out=None, value_count=None, axis=None):
    """The sum of the elements, or of those along a dimension, which has the length 1 then."""
    if axis is not None and not -values.ndim <= axis < values.ndim:
        raise IndexError(f"array_sum: there is no axis {axis} of {values.ndim}")
    count = values.shape[axis or 0] if value_count is None else value_count
    if count > values.shape[axis or 0]:
        raise RuntimeError(f"array_sum: {count} values of {values.shape[axis or 0]}")
    shape = (1,) if axis is None else tuple(1 if n == axis % values.ndim else extent for n, extent in enumerate(values.shape))

    def total():
        data = values.numpy()
        part = data[:count] if axis is None else data[(slice(None),) * (axis % values.ndim) + (slice(count),)]
        summed = part.sum(axis=tuple(range(values.ndim)) if axis is None else axis, dtype=data.dtype)
        return summed.reshape((*shape, *values._inner))

    if out is None:
        return total()[0][()] if axis is None else _arrays._array._wrap(total(), values.dtype, False, type(values))
    if out.shape != shape or out.dtype is not values.dtype:
        raise RuntimeError(f"array_sum: `out` is to have the shape {shape} and the type of the values")
    done(lambda: _arrays._set(out, total()))
    return None


def array_cast(in_array, out_array, count=None):
    """Converts elements to another type."""
    target = out_array if count is None else out_array[:count]

    def cast():
        data = in_array.numpy() if count is None else in_array.numpy()[:count]
        _arrays._set(target, data.astype(target.numpy().dtype).reshape(target.numpy().shape))

    done(cast)
