"""Types of any size: ``wp.types.vector(length=5, dtype=float)``."""

from .._types import matrix, quaternion, transformation, vector

__all__ = ["matrix", "quaternion", "transformation", "vector"]
