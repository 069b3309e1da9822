"""Operations on whole arrays."""

from __future__ import annotations

import numpy as np

from .. import _types, _writes
from .._tape import scatter
from ._arrays import empty
from ._launches import done, is_captured


def array_scan(in_array, out_array, inclusive=True):
    """Sums of all elements up to each one, with it or without, row after row."""
    if in_array.size != out_array.size or _types.numpy_layout(in_array.dtype) != _types.numpy_layout(out_array.dtype):
        raise RuntimeError("array_scan takes two arrays of one size and type")

    def summed(data):
        rows = data.reshape((-1, *in_array._inner))
        sums = np.cumsum(rows, axis=0, dtype=data.dtype)
        return sums if inclusive else np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])

    def run():
        out_array.numpy()[...] = summed(in_array.numpy()).reshape(out_array.numpy().shape)

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
            self.result.numpy()[...] = run().reshape(self.result.numpy().shape)

        done(lambda: _writes.write(self.name, self.result, sources, total, pull, keep, fresh=self.out is None))
        return self.result.numpy()[0] if self.out is None and self.axis is None else self.result


def array_sum(values, out=None, value_count=None, axis=None):
    """The sum of the elements, or of those along a dimension, which has the length 1 then."""
    reduction = _Reduction("array_sum", values, out, value_count, axis, values.dtype)

    def run():
        data = reduction.part(values.numpy())
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
        return np.array(reduction.part(a.numpy())), np.array(reduction.part(b.numpy()))

    def run():
        products = reduction.part(a.numpy()) * reduction.part(b.numpy())
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
        numbers = source.numpy().astype(target.numpy().dtype).reshape(target.numpy().shape)
        _writes.put(target, ..., source, numbers, "array_cast")

    done(cast)
