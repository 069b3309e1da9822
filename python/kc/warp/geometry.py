"""Surfaces of fields on grids, as Warp's `wp.geometry` has them.

Marching cubes (Lorensen and Cline, "Marching Cubes", 1987): each cell of eight nodes has one of 256 cases. The triangles of a case are not
written down but made: corners that are not below the threshold are cut off along each face by themselves, so neighbours agree about their
common face and the surface has no holes. Normals point to where the field is larger. Vertices and triangles come in the order of the nodes and cells, whatever the number of threads.
"""

from __future__ import annotations

import functools

import numpy as np

import kc.warp as wp

_CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
_EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
#: The corners of each face, anticlockwise from outside.
_FACES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def _triangles_of(case):
    """The triangles of a case, by the edges that their corners are on."""
    edge = {frozenset(ends): n for n, ends in enumerate(_EDGES)}

    def is_cut(corner):
        return case >> corner & 1 == 0

    # On each face a line goes from where the corners that are cut off begin to where they end.
    follows = {}
    for face in _FACES:
        for k in range(4):
            before, first = face[k], face[(k + 1) % 4]
            if is_cut(before) or not is_cut(first):
                continue
            last = k + 1
            while is_cut(face[(last + 1) % 4]):
                last += 1
            follows[edge[frozenset((before, first))]] = edge[frozenset((face[last % 4], face[(last + 1) % 4]))]
    seen, found = set(), []
    for start in sorted(follows):
        loop, at = [], start
        while at not in seen:
            seen.add(at)
            loop.append(at)
            at = follows[at]
        found += _without_sides(tuple(reversed(loop)))
    return found


def _without_sides(loop):
    """The triangles of a polygon. None of their diagonals lies in a face of the cell, where the neighbour may have one, too."""
    if len(loop) < 3:
        return []

    def is_free(a, b):
        together = {a, b} in ({loop[n - 1], loop[n]} for n in range(len(loop)))
        return together or not any(set(_EDGES[a] + _EDGES[b]) <= set(face) for face in _FACES)

    # The side from the last corner to the first is of a triangle with some other corner.
    first, last = loop[0], loop[-1]
    for n in range(1, len(loop) - 1):
        if is_free(first, loop[n]) and is_free(loop[n], last):
            parts = _without_sides(loop[: n + 1]), _without_sides(loop[n:])
            if None not in parts:
                return [*parts[0], (first, loop[n], last), *parts[1]]
    return None


def _tables():
    cases = [[edge for triangle in _triangles_of(case) for edge in triangle] for case in range(256)]
    ranges = np.cumsum([0, *map(len, cases)])
    return tuple(int(end) for end in ranges), tuple(edge for case in cases for edge in case)


_RANGES, _TRIANGLES = _tables()


@functools.cache
def _on_device(device):
    """The tables as arrays."""
    at = [min((_CORNERS[end] for end in ends), key=sum) for ends in _EDGES]
    axes = [next(axis for axis in range(3) if _CORNERS[a][axis] != _CORNERS[b][axis]) for a, b in _EDGES]
    edge_at = [(*node, axis) for node, axis in zip(at, axes, strict=True)]
    return (
        wp.array(np.array(_CORNERS, np.int32), dtype=wp.vec3i, device=device),
        wp.array(np.array(_RANGES, np.int32), dtype=int, device=device),
        wp.array(np.array(_TRIANGLES, np.int32), dtype=int, device=device),
        wp.array(np.array(edge_at, np.int32), dtype=wp.vec4i, device=device),
    )


def _sums(counts):
    """The sums of all counts up to each, with it, and the last. The host needs that one to make the next array, so it adds them up."""
    sums = np.cumsum(counts.numpy().reshape(-1), dtype=np.int32)
    return wp.array(sums.reshape(counts.shape), dtype=int, device=counts.device), int(sums[-1])


class IsoSurfaceMarchingCubes:
    """Takes surfaces out of fields of one shape: `surface` sets `verts` and `indices`.

    Args:
        nx, ny, nz: numbers of nodes.
        lower, upper: where the first and the last node are; None: at their indices.

    If the field has `requires_grad`, gradients go from `verts` to it on a tape.
    """

    CUBE_CORNER_OFFSETS = _CORNERS
    EDGE_TO_CORNERS = _EDGES
    CASE_TO_TRI_RANGE = _RANGES
    TRI_LOCAL_INDICES = _TRIANGLES

    def __init__(self, nx, ny, nz, lower=None, upper=None, *, domain_bounds_lower_corner=None, domain_bounds_upper_corner=None):
        for new, old, name in ((lower, domain_bounds_lower_corner, "lower"), (upper, domain_bounds_upper_corner, "upper")):
            if new is not None and old is not None:
                raise TypeError(f"IsoSurfaceMarchingCubes: `{name}` and `domain_bounds_{name}_corner` are one")
        self.nx, self.ny, self.nz = nx, ny, nz
        self.lower = domain_bounds_lower_corner if lower is None else lower
        self.upper = domain_bounds_upper_corner if upper is None else upper
        self.verts = self.indices = None

    @property
    def domain_bounds_lower_corner(self):
        return self.lower

    @domain_bounds_lower_corner.setter
    def domain_bounds_lower_corner(self, value):
        self.lower = value

    @property
    def domain_bounds_upper_corner(self):
        return self.upper

    @domain_bounds_upper_corner.setter
    def domain_bounds_upper_corner(self, value):
        self.upper = value

    def resize(self, nx, ny, nz):
        """Takes fields of another shape from now on."""
        self.nx, self.ny, self.nz = nx, ny, nz

    def surface(self, field, threshold):
        """Sets `verts` (vec3) and `indices` (int, three for each triangle) to the surface where the field is `threshold`."""
        if tuple(field.shape) != (self.nx, self.ny, self.nz):
            raise ValueError(f"the field has the shape {tuple(field.shape)}, not {(self.nx, self.ny, self.nz)}")
        self.verts, self.indices = self.extract(field, threshold, lower=self.lower, upper=self.upper)

    @classmethod
    def extract(cls, field, threshold=0.0, *, lower=None, upper=None):
        """The vertices and indices of a field's surface."""
        from ._iso_kernels import count_triangles, mark_edges, place_vertices, write_triangles

        if field.ndim != 3:
            raise ValueError(f"a field has three dimensions, not {field.ndim}")
        if field.dtype not in (float, wp.float32):
            raise TypeError(f"a field is of float32, not {field.dtype.__name__}")
        if min(field.shape) < 2:
            raise ValueError(f"a field has at least 2 nodes on each axis, not the shape {tuple(field.shape)}")
        last = np.array(field.shape, np.float64) - 1.0
        lower = np.zeros(3) if lower is None else np.array(list(lower), np.float64)
        upper = last if upper is None else np.array(list(upper), np.float64)
        spacing, device, threshold = (upper - lower) / last, field.device, float(threshold)
        corners, ranges, triangles, edge_at = _on_device(device)
        marks = wp.empty((*field.shape, 3), dtype=int, device=device)
        wp.launch(mark_edges, dim=marks.shape, inputs=[field, threshold], outputs=[marks], device=device, record_tape=False)
        numbers, count = _sums(marks)
        verts = wp.empty(count, dtype=wp.vec3, device=device, requires_grad=field.requires_grad)
        places = [field, threshold, marks, numbers, wp.vec3(*map(float, lower)), wp.vec3(*map(float, spacing))]
        if count > 0:
            wp.launch(place_vertices, dim=marks.shape, inputs=places, outputs=[verts], device=device)
        cells = tuple(n - 1 for n in field.shape)
        counts = wp.empty(cells, dtype=int, device=device)
        of_case = [field, threshold, corners, ranges]
        wp.launch(count_triangles, dim=cells, inputs=of_case, outputs=[counts], device=device, record_tape=False)
        ends, count = _sums(counts)
        indices = wp.empty(count, dtype=wp.int32, device=device)
        if count > 0:
            written = [*of_case, triangles, edge_at, numbers, ends]
            wp.launch(write_triangles, dim=cells, inputs=written, outputs=[indices], device=device, record_tape=False)
        return verts, indices

    @staticmethod
    def extract_surface_marching_cubes(field, threshold=0.0, domain_bounds_lower_corner=None, domain_bounds_upper_corner=None):
        """The older name of `extract`."""
        lower, upper = domain_bounds_lower_corner, domain_bounds_upper_corner
        return IsoSurfaceMarchingCubes.extract(field, threshold, lower=lower, upper=upper)
