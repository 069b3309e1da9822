"""Types of any size: ``wp.types.vector(length=5, dtype=float)``."""

from .._types import ArrayType, is_struct, matrix, numpy_layout, quaternion, transformation, vector

__all__ = ["matrix", "quaternion", "transformation", "types_equal", "vector"]


def types_equal(a, b) -> bool:
    """Whether two types are one: ``float`` and ``wp.float32``, vectors of one length."""
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return a.ndim == b.ndim and types_equal(a.dtype, b.dtype)
    if isinstance(a, ArrayType) or isinstance(b, ArrayType) or is_struct(a) or is_struct(b):
        return a is b
    # A quaternion is no vector, though NumPy has one type for both.
    kinds = [getattr(kind, "_key", (None,))[0] for kind in (a, b)]
    return kinds[0] == kinds[1] and numpy_layout(a) == numpy_layout(b)
