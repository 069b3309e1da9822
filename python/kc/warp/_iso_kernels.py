"""Surfaces through a grid of numbers: which edges they cross and where, and the triangles between the crossings."""

import kc.warp as wp


@wp.func
def is_below(value: float, threshold: float):
    return value < threshold


@wp.kernel(enable_backward=False)
def mark_edges(field: wp.array3d(dtype=float), threshold: float, marks: wp.array4d(dtype=int)):
    """1 for the edges from a node along x, y and z whose ends are on two sides."""
    x, y, z, axis = wp.tid()
    u, v, w = x + int(axis == 0), y + int(axis == 1), z + int(axis == 2)
    crosses = int(0)
    if u < field.shape[0] and v < field.shape[1] and w < field.shape[2]:
        if is_below(field[x, y, z], threshold) != is_below(field[u, v, w], threshold):
            crosses = 1
    marks[x, y, z, axis] = crosses


@wp.kernel
def place_vertices(
    field: wp.array3d(dtype=float), threshold: float, marks: wp.array4d(dtype=int), numbers: wp.array4d(dtype=int), lower: wp.vec3,
    spacing: wp.vec3, verts: wp.array(dtype=wp.vec3),
):
    """The crossing of each marked edge, by linear interpolation. `numbers`: the sums of the marks up to each, with it."""
    x, y, z, axis = wp.tid()
    if marks[x, y, z, axis] == 0:
        return
    u, v, w = x + int(axis == 0), y + int(axis == 1), z + int(axis == 2)
    here = field[x, y, z]
    along = (threshold - here) / (field[u, v, w] - here)
    at = wp.vec3(float(x), float(y), float(z)) + along * wp.vec3(float(u - x), float(v - y), float(w - z))
    # kc: allow(W0606) the numbers of marked edges are all different
    verts[numbers[x, y, z, axis] - 1] = lower + wp.cw_mul(spacing, at)


@wp.func
def case_of(field: wp.array3d(dtype=float), threshold: float, corners: wp.array(dtype=wp.vec3i), x: int, y: int, z: int):
    """Bit i says that corner i of a cell is below the threshold."""
    case = int(0)
    for i in range(8):
        c = corners[i]
        if is_below(field[x + c[0], y + c[1], z + c[2]], threshold):
            case += 1 << i
    return case


@wp.kernel(enable_backward=False)
def count_triangles(
    field: wp.array3d(dtype=float), threshold: float, corners: wp.array(dtype=wp.vec3i), ranges: wp.array(dtype=int),
    counts: wp.array3d(dtype=int),
):
    x, y, z = wp.tid()
    case = case_of(field, threshold, corners, x, y, z)
    counts[x, y, z] = ranges[case + 1] - ranges[case]


@wp.kernel(enable_backward=False)
def write_triangles(
    field: wp.array3d(dtype=float), threshold: float, corners: wp.array(dtype=wp.vec3i), ranges: wp.array(dtype=int),
    edges: wp.array(dtype=int), edge_at: wp.array(dtype=wp.vec4i), numbers: wp.array4d(dtype=int), ends: wp.array3d(dtype=int),
    indices: wp.array(dtype=int),
):
    """`ends`: the sums of the counts up to each cell, with it. `edge_at`: the node of an edge and its axis."""
    x, y, z = wp.tid()
    case = case_of(field, threshold, corners, x, y, z)
    first = ranges[case]
    count = ranges[case + 1] - first
    at = ends[x, y, z] - count
    for n in range(count):
        e = edge_at[edges[first + n]]
        indices[at + n] = numbers[x + e[0], y + e[1], z + e[2], e[3]] - 1
