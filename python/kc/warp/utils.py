"""Operations on whole arrays."""

from __future__ import annotations

import numpy as np

from .._types import numpy_layout


def array_scan(in_array, out_array, inclusive=True):
    """Sums of all elements up to each one, with it or without."""
    if in_array.shape != out_array.shape or in_array.dtype is not out_array.dtype:
        raise ValueError("array_scan takes two arrays of one shape and type")
    sums = np.cumsum(in_array.numpy(), axis=0, dtype=in_array.numpy().dtype)
    if not inclusive:
        sums = np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])
    out_array.assign(sums)


def array_sum(values, out=None, value_count=None, axis=None):
    """The sum of the elements."""
    data = values.numpy() if value_count is None else values.numpy()[:value_count]
    total = data.sum(axis=tuple(range(values.ndim)) if axis is None else axis, dtype=data.dtype)
    if out is None:
        return total if total.shape == () or axis is None else type(values)(total, dtype=values.dtype)
    out.assign(total.reshape(out.numpy().shape))
    return None


def array_cast(in_array, out_array, count=None):
    """Converts elements to another type."""
    data = in_array.numpy() if count is None else in_array.numpy()[:count]
    target = out_array if count is None else out_array[:count]
    target.assign(data.astype(numpy_layout(out_array.dtype).base).reshape(target.numpy().shape))
