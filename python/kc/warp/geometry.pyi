"""Written by python/stubs.py."""

from typing import Any


class IsoSurfaceMarchingCubes:
    """Takes surfaces out of fields of one shape: `surface` sets `verts` and `indices`.

    Args:
        nx, ny, nz: numbers of nodes.
        lower, upper: where the first and the last node are; None: at their indices.

    If the field has `requires_grad`, gradients go from `verts` to it on a tape."""
    CUBE_CORNER_OFFSETS: tuple
    EDGE_TO_CORNERS: tuple
    CASE_TO_TRI_RANGE: tuple
    TRI_LOCAL_INDICES: tuple
    def __init__(self, nx: Any, ny: Any, nz: Any, lower: Any = ..., upper: Any = ..., *, domain_bounds_lower_corner: Any = ..., domain_bounds_upper_corner: Any = ...) -> None: ...
    @property
    def domain_bounds_lower_corner(self) -> Any: ...
    @domain_bounds_lower_corner.setter
    def domain_bounds_lower_corner(self, value: Any) -> None: ...
    @property
    def domain_bounds_upper_corner(self) -> Any: ...
    @domain_bounds_upper_corner.setter
    def domain_bounds_upper_corner(self, value: Any) -> None: ...
    def resize(self, nx: Any, ny: Any, nz: Any) -> None: ...
    def surface(self, field: Any, threshold: Any) -> None: ...
    @classmethod
    def extract(cls, field: Any, threshold: Any = ..., *, lower: Any = ..., upper: Any = ...) -> Any: ...
    @staticmethod
    def extract_surface_marching_cubes(field: Any, threshold: Any = ..., domain_bounds_lower_corner: Any = ..., domain_bounds_upper_corner: Any = ...) -> Any: ...
    lower: Any
    upper: Any
    verts: Any
    indices: Any
    nx: Any
    ny: Any
    nz: Any

annotations: Any
from kc import warp as warp
wp = warp
