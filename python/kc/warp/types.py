"""Types of any size, ``wp.types.vector(length=5, dtype=float)``, and what kind of type one is."""

import math

from .._array import array
from .._types import ArrayType, is_struct, matrix, numpy_layout, quaternion, scalar_of, transformation, vector

__all__ = [
    "is_array", "is_float", "is_int", "matrix", "quaternion", "transformation", "type_is_array", "type_is_float", "type_is_int",
    "type_is_matrix", "type_is_quaternion", "type_is_scalar", "type_is_struct", "type_is_transformation", "type_is_vector", "type_repr",
    "type_size", "type_size_in_bytes", "types_equal", "vector",
]


def types_equal(a, b) -> bool:
    """Whether two types are one: ``float`` and ``wp.float32``, vectors of one length."""
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return a.ndim == b.ndim and types_equal(a.dtype, b.dtype)
    if isinstance(a, ArrayType) or isinstance(b, ArrayType) or is_struct(a) or is_struct(b):
        return a is b
    # A quaternion is no vector, though NumPy has one type for both.
    kinds = [getattr(kind, "_key", (None,))[0] for kind in (a, b)]
    return kinds[0] == kinds[1] and numpy_layout(a) == numpy_layout(b)


def type_size(dtype) -> int:
    """The number of components of a type: 1 of a scalar and of a struct."""
    return math.prod(getattr(dtype, "_shape", ()))


def type_size_in_bytes(dtype) -> int:
    """The bytes of an element of that type."""
    return numpy_layout(dtype).itemsize


def type_is_scalar(dtype) -> bool:
    """Whether a type is one number."""
    return _scalar_kind(dtype) is not None


def type_is_int(dtype) -> bool:
    """Whether a type is that of whole numbers."""
    return _scalar_kind(dtype) in ("i", "u")


def type_is_float(dtype) -> bool:
    """Whether a type is that of floats."""
    return _scalar_kind(dtype) in ("f", "V")


def type_is_vector(dtype) -> bool:
    """Whether a type is one of vectors. A quaternion is none."""
    return _composite_kind(dtype) == "vec"


def type_is_matrix(dtype) -> bool:
    """Whether a type is one of matrices."""
    return _composite_kind(dtype) == "mat"


def type_is_quaternion(dtype) -> bool:
    """Whether a type is one of quaternions."""
    return _composite_kind(dtype) == "quat"


def type_is_transformation(dtype) -> bool:
    """Whether a type is one of rigid transforms."""
    return _composite_kind(dtype) == "transform"


def type_is_struct(dtype) -> bool:
    """Whether a type is one of ``@wp.struct``."""
    return is_struct(dtype)


def type_is_array(dtype) -> bool:
    """Whether a type is one of arrays: ``wp.array(dtype=float)``."""
    return isinstance(dtype, ArrayType)


def is_array(value) -> bool:
    """Whether something is an array, or the type of one."""
    return isinstance(value, array | ArrayType)


def is_int(value) -> bool:
    """Whether a value is a whole number of the kernel language."""
    return type_is_int(type(value))


def is_float(value) -> bool:
    """Whether a value is a float of the kernel language."""
    return type_is_float(type(value))


def type_repr(dtype) -> str:
    """The name of a type: ``vec3f``, ``array(ndim=1, dtype=float32)``."""
    if isinstance(dtype, ArrayType):
        element = scalar_of(dtype.dtype) if dtype.dtype in (float, int, bool) else dtype.dtype
        return f"array(ndim={dtype.ndim}, dtype={type_repr(element)})"
    return getattr(dtype, "__name__", str(dtype))


def _scalar_kind(dtype):
    """The kind of a scalar type as NumPy names it; None for other types."""
    if isinstance(dtype, ArrayType) or is_struct(dtype) or _composite_kind(dtype) is not None:
        return None
    try:
        return scalar_of(dtype).numpy_dtype.kind
    except (TypeError, ValueError):
        return None


def _composite_kind(dtype):
    return getattr(dtype, "_key", (None,))[0]
