# Where do queries of meshes have no derivative? Where another face is equally near or is met at the
# same place, at the borders of the regions of a triangle, and where a bound is reached exactly. The
# tests look there in float64; `_nudged_f` is `f` on the other side. The note W1120 compares the
# gradients of both, see src/run/gradients/beside.rs: what is smooth all the same is not told.

# Distances that differ by less, relatively, are equal; so are coordinates on a face.
_EQUAL = 1.0e-10


@func
def _wide_corner(values: Array[Vec[3, float32], 1], indices: Array[int32, 1], n: int32) -> Vec[3, float64]:
    """`_corner` in float64."""
    return Vec[3, float64](_corner(values, indices, n))


@func
def _wide_closest(id: uint64, face: int32, x: Vec[3, float64]) -> Vec[2, float64]:
    """Barycentric coordinates of the point of a face that is closest to `x`."""
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    p = _wide_corner(points, indices, 3 * face)
    q = _wide_corner(points, indices, 3 * face + 1)
    r = _wide_corner(points, indices, 3 * face + 2)
    return _closest_on_triangle(p, q, r, x)


@func
@no_grad("used to compare")
def _wide_position(id: uint64, face: int32, uv: Vec[2, float64]) -> Vec[3, float64]:
    """The point of a face."""
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    p = _wide_corner(points, indices, 3 * face)
    q = _wide_corner(points, indices, 3 * face + 1)
    r = _wide_corner(points, indices, 3 * face + 2)
    return p * uv[0] + q * uv[1] + r * (float64(1.0) - uv[0] - uv[1])


@func
@no_grad("used to compare")
def _edge(id: uint64, face: int32, n: int32) -> Vec[3, float64]:
    """The edges of a face, in both directions: `n` is from 0 to 5."""
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    k = n % 3
    p = _wide_corner(points, indices, 3 * face + k)
    q = _wide_corner(points, indices, 3 * face + (k + 1) % 3)
    if n < 3:
        return q - p
    return p - q


@func
@no_grad("used to compare")
def _edges_at(uv: Vec[2, float64]) -> int32:
    """How many edges of its face a point lies on."""
    near = float64(_EQUAL)
    first = where(uv[0] < near, 1, 0)
    second = where(uv[1] < near, 1, 0)
    return first + second + where(float64(1.0) - uv[0] - uv[1] < near, 1, 0)


@func
@no_grad("used to compare")
def _way_out(id: uint64, face: int32, x: Vec[3, float64]) -> int32:
    """The number of the edge (see `_edge`) along which a small step leaves the region of the face that gives the
    derivative: of two that border at `x` it is the one on fewer edges. -1: `x` is at no border."""
    least = int32(3)
    most = int32(-1)
    way = int32(-1)
    for n in range(6):
        beside = x + _edge(id, face, n) * float64(1.0e-8)
        edges = _edges_at(_wide_closest(id, face, beside))
        least = min(least, edges)
        if edges > most:
            most = edges
            way = n
    return where(most > least, way, -1)


@func
@zero_grad("a step")
def _step_from_face(id: uint64, x: Vec[3, float32], face: int32) -> Vec[2, int32]:
    """The step at `x`, to which `face` is closest: another face and the number of an edge along which there is
    one, or 6 where that face is equally near at another place. (-1, -1): there is none."""
    at = Vec[3, float64](x)
    place = _wide_position(id, face, _wide_closest(id, face, at))
    distance = length_sq(place - at)
    size = max(abs(place)) + max(abs(at))
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    other = int32(0)
    query = bvh_query_sphere(mesh_get_bvh(id), x, float32(sqrt(distance)) * 1.00001 + float32(size) * 1.0e-6)
    found = vec2i(-1, -1)
    while bvh_query_next(query, other):
        p = _corner(points, indices, 3 * other)
        q = _corner(points, indices, 3 * other + 1)
        r = _corner(points, indices, 3 * other + 2)
        if not _is_sliver(p, q, r):
            there = _wide_position(id, other, _wide_closest(id, other, at))
            if length_sq(there - at) <= distance * float64(1.0 + _EQUAL) + size * size * float64(1.0e-24):
                if length(there - place) > size * float64(1.0e-6):
                    return vec2i(other, 6)
                if found[0] < 0:
                    n = _way_out(id, other, at)
                    if n >= 0:
                        found = vec2i(other, n)
    return found


@func
@zero_grad("which face is closest changes in steps")
def _closest_beside(id: uint64, x: Vec[3, float64], face: int32) -> int32:
    """The face that is closest to `x`, which is beside a point that `face` is close to."""
    best = length_sq(_wide_position(id, face, _wide_closest(id, face, x)) - x)
    found = face
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    other = int32(0)
    query = bvh_query_sphere(mesh_get_bvh(id), vec3f(x), float32(sqrt(best)) * 1.00001 + float32(max(abs(x))) * 1.0e-6)
    while bvh_query_next(query, other):
        p = _corner(points, indices, 3 * other)
        q = _corner(points, indices, 3 * other + 1)
        r = _corner(points, indices, 3 * other + 2)
        if not _is_sliver(p, q, r):
            d = length_sq(_wide_position(id, other, _wide_closest(id, other, x)) - x)
            if d < best or d == best and other < found:
                best = d
                found = other
    return found


@func
def _across(id: uint64, found: MeshQueryPoint, x: Vec[3, float32], how: int) -> MeshQueryPoint:
    """What is found of a mesh on the other side of the step at `x`; the same if there is none."""
    if not found.result:
        return found
    step = _step_from_face(id, x, found.face)
    if step[0] < 0:
        return found
    face = step[0]
    at = Vec[3, float64](x)
    beside = at
    if step[1] < 6:
        # So far that rounding does not hide which face is nearer.
        edge = _edge(id, face, step[1])
        away = length(_wide_position(id, face, _wide_closest(id, face, at)) - at)
        beside = at + detach(edge * ((float64(1.0) + away / length(edge)) * float64(1.0e-6)))
        face = _closest_beside(id, beside, face)
    # The value here, the derivative beside.
    uv = _wide_closest(id, face, beside)
    uv = uv + detach(_wide_closest(id, face, at) - uv)
    if how == 1:
        uv = detach(uv)
    return MeshQueryPoint(True, found.sign, face, float32(uv[0]), float32(uv[1]))


@func
@no_grad("a bound")
def _beyond(limit: float32) -> float32:
    """A little more than a bound that is not reached."""
    return limit + abs(limit) * 2.4e-7


@func
@zero_grad("a truth value")
def _is_step(id: uint64, x: Vec[3, float32], max_dist: float32) -> bool:
    """Whether a query for the closest point has no derivative at `x`."""
    face = _closest_face(id, x, max_dist)
    if face < 0:
        return _closest_face(id, x, _beyond(max_dist)) >= 0
    return _step_from_face(id, x, face)[0] >= 0


# The tests, and the functions beside, of each query.


@func
@zero_grad("a truth value")
def _degenerate_mesh_query_point_no_sign(id: uint64, point: Vec[3, float32], max_dist: float32) -> bool:
    """which face is closest changes in steps"""
    return _is_step(id, point, max_dist)


@func
def _nudged_mesh_query_point_no_sign(
    id: uint64, point: Vec[3, float32], max_dist: float32, how: int
) -> MeshQueryPoint:
    """`mesh_query_point_no_sign` on the other side of a step."""
    return _across(id, mesh_query_point_no_sign(id, point, _beyond(max_dist)), point, how)


@func
@zero_grad("a truth value")
def _degenerate_mesh_query_point(id: uint64, point: Vec[3, float32], max_dist: float32) -> bool:
    """which face is closest changes in steps"""
    return _is_step(id, point, max_dist)


@func
def _nudged_mesh_query_point(id: uint64, point: Vec[3, float32], max_dist: float32, how: int) -> MeshQueryPoint:
    """`mesh_query_point` on the other side of a step."""
    return _across(id, mesh_query_point(id, point, _beyond(max_dist)), point, how)


@func
@zero_grad("a truth value")
def _degenerate_mesh_query_point_sign_parity(
    id: uint64, point: Vec[3, float32], max_dist: float32, n_sample: int32, perturbation_scale: float32
) -> bool:
    """which face is closest changes in steps"""
    return _is_step(id, point, max_dist)


@func
def _nudged_mesh_query_point_sign_parity(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    n_sample: int32 = 1,
    perturbation_scale: float32 = 0.1,
    how: int = 0,
) -> MeshQueryPoint:
    """`mesh_query_point_sign_parity` on the other side of a step."""
    found = mesh_query_point_sign_parity(id, point, _beyond(max_dist), n_sample, perturbation_scale)
    return _across(id, found, point, how)


@func
@zero_grad("a truth value")
def _degenerate_mesh_query_point_sign_normal(
    id: uint64, point: Vec[3, float32], max_dist: float32, epsilon: float32
) -> bool:
    """which face is closest changes in steps"""
    return max_dist > 0.0 and _is_step(id, point, max_dist)


@func
def _nudged_mesh_query_point_sign_normal(
    id: uint64, point: Vec[3, float32], max_dist: float32, epsilon: float32 = 1.0e-3, how: int = 0
) -> MeshQueryPoint:
    """`mesh_query_point_sign_normal` on the other side of a step."""
    return _across(id, mesh_query_point_sign_normal(id, point, _beyond(max_dist), epsilon), point, how)


@func
@zero_grad("a truth value")
def _degenerate_mesh_query_point_sign_winding_number(
    id: uint64, point: Vec[3, float32], max_dist: float32, accuracy: float32, threshold: float32
) -> bool:
    """which face is closest changes in steps"""
    return _is_step(id, point, max_dist)


@func
def _nudged_mesh_query_point_sign_winding_number(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    accuracy: float32 = 2.0,
    threshold: float32 = 0.5,
    how: int = 0,
) -> MeshQueryPoint:
    """`mesh_query_point_sign_winding_number` on the other side of a step."""
    found = mesh_query_point_sign_winding_number(id, point, _beyond(max_dist), accuracy, threshold)
    return _across(id, found, point, how)


# Rays.


@func
@no_grad("used to compare")
def _wide_hit(id: uint64, face: int32, start: Vec[3, float32], d: Vec[3, float32]) -> Vec[2, float64]:
    """How far the plane of a face is along a ray, and the smallest of the barycentric coordinates there: below 0
    outside. Both are infinite along the plane."""
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    p = _wide_corner(points, indices, 3 * face)
    q = _wide_corner(points, indices, 3 * face + 1)
    r = _wide_corner(points, indices, 3 * face + 2)
    along = Vec[3, float64](d)
    normal = cross(q - p, r - p)
    slope = dot(normal, along)
    if slope == float64(0.0):
        return Vec[2, float64](float64(_INFINITY), float64(_INFINITY))
    t = dot(normal, p - Vec[3, float64](start)) / slope
    x = Vec[3, float64](start) + along * t
    area = length_sq(normal)
    u = dot(cross(q - x, r - x), normal) / area
    v = dot(cross(r - x, p - x), normal) / area
    return Vec[2, float64](t, min(min(u, v), float64(1.0) - u - v))


@func
@zero_grad("a step")
def _step_on_ray(id: uint64, start: Vec[3, float32], d: Vec[3, float32], root: int32, face: int32) -> Vec[2, int32]:
    """The step where a ray meets `face` first, and 1: another face that it meets there, or else the next one behind,
    -1 if there is none. (-1, 0): there is no step."""
    here = _wide_hit(id, face, start, d)
    border = here[1] <= float64(_EQUAL) or here[0] == float64(0.0)
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    axes = _ray_axes(d)
    other = int32(0)
    behind = int32(-1)
    nearest = float32(_INFINITY)
    # A ray along a side of a box misses the box, and a capsule does not.
    query = bvh_query_capsule(mesh_get_bvh(id), start, d, 0.0, root)
    while bvh_query_next(query, other):
        if other != face:
            p = _corner(points, indices, 3 * other)
            q = _corner(points, indices, 3 * other + 1)
            r = _corner(points, indices, 3 * other + 2)
            t = _ray_hits(axes, start, d, p, q, r)[0]
            if t >= 0.0 and t < _INFINITY:
                there = _wide_hit(id, other, start, d)
                if abs(there[0] - here[0]) <= float64(_EQUAL) * abs(here[0]):
                    return vec2i(other, 1)
                if t < nearest or t == nearest and other < behind:
                    nearest = t
                    behind = other
    if border:
        return vec2i(behind, 1)
    return vec2i(-1, 0)


@func
@zero_grad("a truth value")
def _degenerate_mesh_query_ray(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32
) -> bool:
    """which face is met changes in steps"""
    face = _face_on_ray(id, start, dir, max_t, root, False)
    if face < 0:
        return _face_on_ray(id, start, dir, _beyond(max_t), root, False) >= 0
    return _step_on_ray(id, start, dir, root, face)[1] == 1


@func
def _nudged_mesh_query_ray(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32 = -1, how: int = 0
) -> MeshQueryRay:
    """`mesh_query_ray` on the other side of a step."""
    face = _face_on_ray(id, start, dir, max_t, root, False)
    if face < 0:
        face = _face_on_ray(id, start, dir, _beyond(max_t), root, False)
    else:
        step = _step_on_ray(id, start, dir, root, face)
        if step[1] == 1:
            face = step[0]
    if how == 1:
        return _ray_on_face(id, face, detach(start), detach(dir))
    return _ray_on_face(id, face, start, dir)
