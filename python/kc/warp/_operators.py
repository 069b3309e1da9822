"""Operators of arrays, as Warp has them: ``a + b``, ``2.0 * a``, ``-a``, ``a += b``. Each is a launch, which tapes record.

Arrays are repeated along dimensions as in NumPy. Both sides are of one type of numbers; a number of Python takes that of the array. There
are no comparisons: ``a == b`` asks whether they are one array.
"""

from __future__ import annotations

import numpy as np

from .. import _array, _types
from .._arguments import share

#: The methods' names, and the built-in that each one maps.
_OF = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod", "pow": "pow"}
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}


def _mapped(name, symbol, one, other, out=None):
    """What comes of two sides, of which one is an array."""
    import kc.warp as wp

    array = one if isinstance(one, _array.array) else other
    left, right = (_side(value, array, symbol) for value in (one, other))
    if left is NotImplemented or right is NotImplemented:
        return NotImplemented
    scalars = [_scalar(value) for value in (left, right)]
    if scalars[0] != scalars[1]:
        raise TypeError(f"array {symbol} array: convert one, they are of {scalars[0]} and {scalars[1]}")
    if out is not None and isinstance(right, _array.array):
        _fits(left, right, symbol)
    return wp.map(getattr(wp, name), left, right, out=out)


def _fits(left, right, symbol):
    """Whether an array can be changed in place with another one."""
    if np.broadcast_shapes(left.shape, right.shape) != left.shape:
        raise ValueError(f"array {symbol}= array: an array of shape {left.shape} has no room for what comes of one of shape {right.shape}")
    mine, other = left._data, right._data
    same = np.ndarray.__array_interface__.__get__(mine) == np.ndarray.__array_interface__.__get__(other)
    if not same and share(mine, other):
        raise ValueError(f"array {symbol}= array: they overlap, and what comes of it depends on the order of threads: use wp.clone(..) of one")


def _side(value, array, symbol):
    """A side as the kernel takes it: a number in the type of the array's numbers."""
    if isinstance(value, _array.array) or isinstance(value, _types.Composite):
        return value
    if isinstance(value, np.ndarray):
        raise TypeError(f"array {symbol} NumPy array: make it an array, wp.array(..); NumPy's operators are not recorded by tapes")
    scalar = _types.scalar_of(_scalar(array))
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return NotImplemented
    if isinstance(value, np.generic) and value.dtype != scalar.numpy_dtype:
        raise TypeError(f"array {symbol} number: convert one, they are of {scalar.__name__} and {value.dtype}")
    if isinstance(value, (float, np.floating)) and np.issubdtype(scalar.numpy_dtype, np.integer):
        raise TypeError(f"array {symbol} number: a float is no {scalar.__name__}; convert the array: wp.array(a, dtype=float)")
    return scalar(value)


def _scalar(value) -> str:
    """The name of the type of its numbers."""
    kind = value.dtype if isinstance(value, _array.array) else type(value) if isinstance(value, _types.Composite) else value.dtype
    kind = getattr(kind, "_scalar", kind)
    if isinstance(kind, type) and issubclass(kind, _types.Struct):
        raise TypeError(f"arrays of the struct `{kind.__name__}` have no operators")
    return _types.scalar_of(kind).__name__


class Operators:
    """The operators of ``kc.warp.array``."""

    def __neg__(self):
        import kc.warp as wp

        return wp.map(wp.neg, self)

    def __pos__(self):
        import kc.warp as wp

        return wp.map(wp.pos, self)

    def __matmul__(self, other):
        if hasattr(other, "block_shape"):
            # A sparse matrix knows the product.
            return NotImplemented
        raise TypeError("arrays have no product `@`: tiles have, with wp.tile_matmul")


def _method(name, symbol, kind):
    def call(self, other):
        if kind == "r":
            return _mapped(name, symbol, other, self)
        found = _mapped(name, symbol, self, other, self if kind == "i" else None)
        return found if found is NotImplemented or kind != "i" else self

    return call


for _one, _name in _OF.items():
    for _kind in ("", "r", "i"):
        setattr(Operators, f"__{_kind}{_one}__", _method(_name, _SYMBOLS[_one], _kind))
