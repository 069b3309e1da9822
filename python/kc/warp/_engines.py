"""Warp's meshes, trees of boxes, hash grids and volumes."""

from __future__ import annotations

import enum

from .. import _array, _engines, _volumes
from . import _launches
from ._arrays import array
from ._devices import get_device


class BvhConstructor(enum.IntEnum):
    """How a tree is built."""

    SAH = 0
    MEDIAN = 1
    LBVH = 2
    CUBQL = -1


class _Here:
    """Objects whose changes a captured graph does when it is launched."""

    @property
    def device(self):
        return get_device()

    def refit(self):
        """Fits the tree to what its arrays hold now."""
        _launches.done(super().refit)


class Mesh(_Here, _engines.Mesh):
    __doc__ = _engines.Mesh.__doc__.replace("kc.", "wp.")


class Bvh(_Here, _engines.Bvh):
    __doc__ = _engines.Bvh.__doc__.replace("kc.", "wp.")

    def rebuild(self, constructor=None):
        """Builds the tree again, at the same id."""
        run = super().rebuild
        _launches.done(lambda: run(constructor))


class HashGrid(_engines.HashGrid):
    __doc__ = _engines.HashGrid.__doc__.replace("kc.", "wp.")

    @property
    def device(self):
        return get_device()

    def build(self, points, radius, groups=None):
        """Sorts points into cells of the width ``radius``; ``groups`` has a number for each point."""
        run = super().build
        _launches.done(lambda: run(points, radius, groups))


class Volume(_volumes.Volume):
    __doc__ = _volumes.Volume.__doc__.replace("kc.", "wp.")

    @property
    def device(self):
        return get_device()

    @staticmethod
    def _made(elements, dtype):
        return _array._wrap(elements, dtype, False, array)

    def rebuild(self, points, status=None, point_mask=None):
        """Other tiles, or other voxels, in the same memory: see `wp.Volume`."""
        run = super().rebuild
        _launches.done(lambda: run(points, status, point_mask))
        return status
