"""Meshes, trees of boxes and hash grids: objects that kernels ask for what is near. The compiled half is `engines.rs`."""

from __future__ import annotations

import operator
import warnings

import numpy as np

from . import _array, _native, _types
from ._arguments import as_numpy, refuse
from ._errors import caller


def warn(text):
    """What should be known of a choice, at the line of the user's code."""
    frame = caller()
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, UserWarning, frame.f_code.co_filename, frame.f_lineno, registry=registry)


def _in_place(value, dtype, what, flat=False):
    """An array of kc, in the caller's memory; numbers in lists have memory of their own."""
    if isinstance(value, (list, tuple)):
        value = _array.array(value, dtype=dtype) if len(value) else _array.empty(0, dtype)
    mine = as_numpy(value)
    if mine is None:
        raise refuse("E1005", f"the {what} are to be an array, not a {type(value).__name__}")
    wanted = _types.numpy_layout(dtype)
    inner = wanted.shape
    if mine.size == 0 and mine.dtype == wanted.base and (flat or mine.shape[1:] != inner):
        # Nothing is in no shape.
        return _array._wrap(mine.reshape((0, *inner)), dtype, False)
    if mine.dtype != wanted.base:
        advice = f"convert it, with `x.astype(numpy.{wanted.base.name})`, and keep that: a copy made here would not see what is written later"
        raise refuse("E1005", f"the {what} are numbers of {wanted.base.name}, not of {mine.dtype}", advice)
    if not mine.flags.c_contiguous:
        advice = "make them neighbours, with `numpy.ascontiguousarray(x)`, and keep that: a copy made here would not see what is written later"
        raise refuse("E1009", f"the {what} must lie in memory one after the other", advice)
    if flat and mine.ndim == 2:
        return _array._wrap(mine.reshape(-1), dtype, False)
    if mine.ndim != 1 + len(inner) or mine.shape[1:] != inner:
        each = f"{inner[0]} numbers each" if inner else "one dimension"
        raise refuse("E1005", f"the {what} are an array with {each}, not one of shape {mine.shape}")
    return value if isinstance(value, _native.Array) else _array._wrap(mine, dtype, False)


def _points(value, what):
    return _in_place(value, _types.NAMED["vec3f"], what)


def _integers(value, what, flat=False):
    return None if value is None else _in_place(value, _types.NAMED["int32"], what, flat)


def _word(constructor, default="sah"):
    """The name of a constructor; Warp's enumeration has names, too."""
    if constructor is None:
        return default
    if not isinstance(constructor, str):
        constructor = getattr(constructor, "name", None)
        if constructor is None:
            raise refuse("E1005", 'a constructor is "sah", "median", "lbvh" or "cubql"')
    return constructor.lower()


def _size(value, what):
    try:
        value = operator.index(value)
    except TypeError:
        raise refuse("E1005", f"{what} is a whole number, not a {type(value).__name__}") from None
    if not -(2**31) <= value < 2**31:
        raise refuse("E1011", f"{what} is {value}, and at most {2**31 - 1} is supported")
    return value


class Engine(_native.Engine):
    """What a kernel takes for a ``uint64``: the object itself, or its ``id``."""

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} is not copied or pickled: make another one of its arrays")

    def __copy__(self):
        return self.__reduce__()

    def __deepcopy__(self, memo):
        return self.__reduce__()


class Mesh(Engine):
    """A triangle mesh that kernels ask for closest points, rays and faces near by.

        mesh = kc.Mesh(points, indices)          # NumPy: float32 of shape (n, 3), int32
        nearest(len(x), mesh, x, distance)       # the parameter: mesh: kc.uint64

    ``points`` has a row for each corner, ``indices`` three numbers for each face. The arrays are used in place: after a write to
    ``points`` call ``refit``; setting ``mesh.points`` refits. ``groups`` has a number for each face; ``support_winding_number``
    is for ``mesh_query_point_sign_winding_number``. Gradients go to ``mesh.points.grad``, and to ``tape.gradient(mesh.points)``.
    """

    _kc_word = "Mesh"

    def __init__(
        self, points, indices, velocities=None, support_winding_number=False, bvh_constructor=None, bvh_leaf_size=None, groups=None
    ):
        constructor = _word(bvh_constructor)
        if constructor == "cubql" and support_winding_number:
            raise refuse("E1011", 'a mesh by the constructor "cubql" has no winding numbers')
        size = 4 if bvh_leaf_size is None else _size(bvh_leaf_size, "the leaf size")
        self._mesh(
            _points(points, "points"), _integers(indices, "indices", flat=True),
            None if velocities is None else _points(velocities, "velocities"), _integers(groups, "groups"),
            bool(support_winding_number), constructor, size,
        )
        self.support_winding_number = bool(support_winding_number)

    @property
    def points(self):
        """The corners. Another array of as many is taken in their place, and the tree is fitted to it."""
        return self._array("points")

    @points.setter
    def points(self, value):
        self._set_points(_points(value, "points"))

    @property
    def velocities(self):
        """The velocity of each corner, or None."""
        return self._array("velocities")

    @velocities.setter
    def velocities(self, value):
        self._set_velocities(None if value is None else _points(value, "velocities"))

    @property
    def indices(self):
        """Three numbers of corners for each face."""
        return self._array("indices")

    @property
    def groups(self):
        """The group of each face, or None."""
        return self._array("groups")

    def refit(self):
        """Fits the tree to what ``points`` holds now."""
        super().refit()


class Bvh(Engine):
    """A tree of boxes that kernels ask for boxes near by.

        bvh = kc.Bvh(lowers, uppers)             # corners: NumPy, float32 of shape (n, 3)

    The arrays are used in place: after a write to them call ``refit``, or ``rebuild`` where boxes moved far.
    """

    _kc_word = "Bvh"

    def __init__(self, lowers, uppers, constructor=None, groups=None, leaf_size=1):
        self._constructor = _word(constructor)
        self._bvh(
            _points(lowers, "lower bounds"), _points(uppers, "upper bounds"), _integers(groups, "groups"), self._constructor,
            _size(leaf_size, "the leaf size"),
        )

    @property
    def lowers(self):
        """The lower corners."""
        return self._array("lowers")

    @property
    def uppers(self):
        """The upper corners."""
        return self._array("uppers")

    @property
    def groups(self):
        """The group of each box, or None."""
        return self._array("groups")

    def refit(self):
        """Fits the tree to what ``lowers`` and ``uppers`` hold now."""
        super().refit()

    def rebuild(self, constructor=None):
        """Builds the tree again, at the same id."""
        name = _word(constructor, "cubql" if self._constructor == "cubql" else "sah")
        if (name == "cubql") != (self._constructor == "cubql"):
            raise refuse("E1011", 'a tree by the constructor "cubql" is built again by "cubql" alone, and no other tree is')
        self._rebuild(name)
        self._constructor = name


class HashGrid(Engine):
    """Points sorted by the cells of a grid, which kernels ask for points near by.

        grid = kc.HashGrid(64, 64, 64)           # cells along x, y, z; the grid repeats itself
        grid.build(points, radius)               # again after points moved

    ``dtype`` is that of the coordinates: ``kc.float16``, ``kc.float32`` or ``kc.float64``.
    """

    _kc_word = "HashGrid"

    def __init__(self, dim_x, dim_y, dim_z, device=None, dtype=None):
        if device is not None:
            from .warp._devices import get_device

            get_device(device)
        self.dtype = _types.scalar_of(_types.NAMED["float32"] if dtype is None else dtype)
        if self.dtype.__name__ not in _COORDINATES:
            raise refuse("E1005", f"a hash grid is of float16, float32 or float64, not of {self.dtype.__name__}")
        dims = [_size(n, "the number of cells") for n in (dim_x, dim_y, dim_z)]
        self._grid(dims, self.dtype.__name__)
        self.groups = None

    def build(self, points, radius, groups=None):
        """Sorts points into cells of the width ``radius``, which is best the radius of queries; ``groups`` has a number for each."""
        dtype = _types.NAMED[_COORDINATES[self.dtype.__name__]]
        points, groups = _rows(points, dtype, "points"), _rows(groups, _types.NAMED["int32"], "groups")
        self._sort(points, float(radius), groups)
        self.groups = groups

    def reserve(self, num_points, with_groups=False):
        """Makes room, so that builds of up to so many points take no more."""
        number = _size(num_points, "the number of points")
        if number < 0:
            raise refuse("E1011", f"the number of points is {number}, and must be at least 0")
        self._reserve(number, bool(with_groups))


#: Vectors by their coordinates.
_COORDINATES = {"float16": "vec3h", "float32": "vec3f", "float64": "vec3d"}


def _rows(value, dtype, what):
    """An array of one dimension: a grid keeps no array, so that a copy may be one."""
    if value is None:
        return None
    wanted = _types.numpy_layout(dtype)
    mine = None if isinstance(value, (list, tuple)) else as_numpy(value)
    if mine is None or mine.dtype != wanted.base or mine.shape[mine.ndim - len(wanted.shape) :] != wanted.shape:
        return _in_place(value, dtype, what)
    if mine.ndim != 1 + len(wanted.shape) or not mine.flags.c_contiguous:
        return _array._wrap(np.ascontiguousarray(mine).reshape((-1, *wanted.shape)), dtype, False)
    return value
