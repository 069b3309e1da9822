# Triangle meshes: closest points, rays, boxes. A walk through the tree finds a face; what a query
# says of it is then computed from the face alone, and that is what is differentiated. Faces that are
# equally near count by their number: the lowest is taken, whatever the tree.

_LARGEST = 3.4028234663852886e38


@struct
class MeshQueryPoint:
    """What a query for a point of a mesh finds: `face` and barycentric `u`, `v` of the point
    `u * p0 + v * p1 + (1 - u - v) * p2`, if `result`; `sign` is below 0 inside of the mesh."""

    result: bool
    sign: float32
    face: int32
    u: float32
    v: float32


@struct
class MeshQueryAABB:
    """What is left of a query for faces of a mesh: made by `mesh_query_aabb` and `mesh_query_sphere`."""

    boxes: BvhQuery
    mesh: uint64


@struct
class Mesh:
    """The arrays of a mesh, by `mesh_get`."""

    points: Array[Vec[3, float32], 1]
    velocities: Array[Vec[3, float32], 1]
    indices: Array[int32, 1]


# Parts of a mesh. Its descriptor has 328 bytes, and that of its tree begins at byte 200.


@func
def _mesh_points(id: uint64) -> Array[Vec[3, float32], 1]:
    """The corners."""
    words = _words(id, 328)
    return _array_at(words[0], words[1], _integers(id, 328)[4], vec3f())


@func
def _mesh_velocities(id: uint64) -> Array[Vec[3, float32], 1]:
    """The velocities of the corners; null if it has none."""
    words = _words(id, 328)
    return _array_at(words[7], words[8], _integers(id, 328)[18], vec3f())


@func
def _mesh_indices(id: uint64) -> Array[int32, 1]:
    """Three numbers of corners for each face."""
    return _array_at(_words(id, 328)[14], uint64(0), _integers(id, 328)[32], int32(0))


@func
@no_grad("an address")
def mesh_get_bvh(id: uint64) -> uint64:
    """The id of the tree of a mesh, whose boxes are those of the faces.

    ```python
    tree = wp.mesh_get_bvh(mesh)
    n = int(0)
    for face in wp.bvh_query_aabb(tree, wp.vec3(0.0), wp.vec3(1.0)):
        n += 1
    wp.expect_eq(n, 12)
    ```
    """
    return where(id == uint64(0), uint64(0), id + uint64(200))


@func
@no_grad("an index")
def mesh_get_group_root(id: uint64, group: int32) -> int32:
    """The node that holds the faces of a group, for `root` of a query; -1: there is no such group.

    ```python
    wp.expect_eq(wp.mesh_get_group_root(mesh, 7), -1)
    ```
    """
    return bvh_get_group_root(mesh_get_bvh(id), group)


@func
def mesh_get(id: uint64) -> Mesh:
    """The arrays of a mesh: `points`, `velocities`, `indices`.

    ```python
    m = wp.mesh_get(mesh)
    wp.expect_eq(m.indices.shape[0], 36)
    wp.expect_eq(m.points[m.indices[1]], wp.vec3(0.0, 1.0, 0.0))
    ```
    """
    return Mesh(_mesh_points(id), _mesh_velocities(id), _mesh_indices(id))


@func
@no_grad("an index")
def mesh_get_index(id: uint64, index: int32) -> int32:
    """The corner that is number `index` of all faces: `3 * face + corner`.

    ```python
    wp.expect_eq(wp.mesh_get_index(mesh, 1), 2)
    ```
    """
    return _mesh_indices(id)[index]


@func
def mesh_get_point(id: uint64, index: int32) -> Vec[3, float32]:
    """The position of the corner that is number `index` of all faces: `3 * face + corner`.

    ```python
    wp.expect_eq(wp.mesh_get_point(mesh, 1), wp.vec3(0.0, 1.0, 0.0))
    ```
    """
    return _mesh_points(id)[_mesh_indices(id)[index]]


@func
def mesh_get_velocity(id: uint64, index: int32) -> Vec[3, float32]:
    """The velocity of the corner that is number `index` of all faces: `3 * face + corner`.

    ```python
    wp.expect_eq(wp.mesh_get_velocity(mesh, 1), wp.vec3(0.0, 0.0, 2.0))
    ```
    """
    return _mesh_velocities(id)[_mesh_indices(id)[index]]


@func
def mesh_eval_position(id: uint64, face: int32, bary_u: float32, bary_v: float32) -> Vec[3, float32]:
    """The point of a face with barycentric coordinates `bary_u`, `bary_v`.

    ```python
    wp.expect_eq(wp.mesh_eval_position(mesh, 0, 0.0, 0.5), wp.vec3(0.5, 0.5, 0.0))
    ```
    """
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    p = _corner(points, indices, 3 * face)
    q = _corner(points, indices, 3 * face + 1)
    r = _corner(points, indices, 3 * face + 2)
    return p * bary_u + q * bary_v + r * (1.0 - bary_u - bary_v)


@func
def mesh_eval_velocity(id: uint64, face: int32, bary_u: float32, bary_v: float32) -> Vec[3, float32]:
    """The velocity of that point; 0 in a mesh without velocities.

    ```python
    wp.expect_eq(wp.mesh_eval_velocity(mesh, 0, 0.0, 0.5), wp.vec3(0.0, 0.0, 2.0))
    ```
    """
    velocities = _mesh_velocities(id)
    indices = _mesh_indices(id)
    if velocities:
        p = _corner(velocities, indices, 3 * face)
        q = _corner(velocities, indices, 3 * face + 1)
        r = _corner(velocities, indices, 3 * face + 2)
        return p * bary_u + q * bary_v + r * (1.0 - bary_u - bary_v)
    return vec3f()


@func
def mesh_eval_face_normal(id: uint64, face: int32) -> Vec[3, float32]:
    """The unit normal of a face, by the right hand rule.

    ```python
    wp.expect_eq(wp.mesh_eval_face_normal(mesh, 0), wp.vec3(0.0, 0.0, -1.0))
    ```
    """
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    p = _corner(points, indices, 3 * face)
    q = _corner(points, indices, 3 * face + 1)
    r = _corner(points, indices, 3 * face + 2)
    return normalize(cross(q - p, r - p))


@func
def _corner(values: Array[Vec[3, float32], 1], indices: Array[int32, 1], n: int32) -> Vec[3, float32]:
    """What corner number `n` of all faces has."""
    return values[uint32(indices[uint32(n)])]


# Closest points.


@func
def _closest_on_thin_triangle(p: Vec[3, Float], q: Vec[3, Float], r: Vec[3, Float], x: Vec[3, Float]) -> Vec[2, Float]:
    """As `_closest_on_triangle`, beside an edge or on the face of a thin triangle. Areas there are differences of
    large numbers that are nearly equal: they are taken of cross products, and the point is moved once more by
    what is left between it and `x`."""
    pq = q - p
    pr = r - p
    qr = r - q
    px = x - p
    qx = x - q
    rx = x - r
    n = cross(pq, pr)
    s = dot(n, n)
    # All on a line: there is no face, and its longer edges count.
    flat = s == Float(0.0)
    along_q = dot(pq, pq)
    along_r = dot(pr, pr)
    d1 = dot(pq, px)
    d2 = dot(pr, px)
    d3 = dot(pq, qx)
    d6 = dot(pr, rx)
    c = dot(n, cross(pq, px))
    if (c < Float(0.0) or flat and along_q > Float(0.0)) and d1 >= Float(0.0) and d3 <= Float(0.0):
        v = d1 / along_q
        return Vec[2, Float](Float(1.0) - v, v)
    if d6 > Float(0.0) and dot(pq, rx) <= d6:
        return Vec[2, Float](Float(0.0), Float(0.0))
    b = -dot(n, cross(pr, rx))
    if (b < Float(0.0) or flat and along_r > Float(0.0)) and d2 >= Float(0.0) and d6 <= Float(0.0):
        w = d2 / along_r
        return Vec[2, Float](Float(1.0) - w, Float(0.0))
    a = dot(n, cross(qr, qx))
    to_r = dot(qr, qx)
    along_qr = dot(qr, qr)
    if (a < Float(0.0) or flat and along_qr > Float(0.0)) and to_r >= Float(0.0) and dot(qr, rx) <= Float(0.0):
        w = to_r / along_qr
        return Vec[2, Float](Float(0.0), Float(1.0) - w)
    per = Float(1.0) / where(flat, Float(1.0), s)
    u = a * per
    v = b * per
    rest = rx + pr * u + qr * v
    more_q = dot(n, cross(rest, pr)) * per
    more_r = dot(n, cross(pq, rest)) * per
    return Vec[2, Float](u - more_q - more_r, v + more_q)


@func
def _closest_on_triangle(p: Vec[3, Float], q: Vec[3, Float], r: Vec[3, Float], x: Vec[3, Float]) -> Vec[2, Float]:
    """Barycentric coordinates of the point of a triangle that is closest to `x` (Ericson, Real-Time
    Collision Detection, 2005, section 5.1.5). Above an edge the derivative is that of the face: of two
    faces in one plane it is that of the plane, whichever is taken."""
    pq = q - p
    pr = r - p
    px = x - p
    d1 = dot(pq, px)
    d2 = dot(pr, px)
    if d1 < Float(0.0) and d2 <= Float(0.0):
        return Vec[2, Float](Float(1.0), Float(0.0))
    qx = x - q
    d3 = dot(pq, qx)
    d4 = dot(pr, qx)
    if d3 > Float(0.0) and d4 <= d3:
        return Vec[2, Float](Float(0.0), Float(1.0))
    along_q = dot(pq, pq)
    along_r = dot(pr, pr)
    between = dot(pq, pr)
    longer = max(along_q, along_r)
    # As here a height of a sixth of the longer side.
    if along_q * along_r - between * between < Float(0.03125) * longer * longer:
        return _closest_on_thin_triangle(p, q, r, x)
    c = d1 * d4 - d3 * d2
    if c < Float(0.0) and d1 >= Float(0.0) and d3 <= Float(0.0):
        v = d1 / (d1 - d3)
        return Vec[2, Float](Float(1.0) - v, v)
    rx = x - r
    d5 = dot(pq, rx)
    d6 = dot(pr, rx)
    if d6 > Float(0.0) and d5 <= d6:
        return Vec[2, Float](Float(0.0), Float(0.0))
    b = d5 * d2 - d1 * d6
    if b < Float(0.0) and d2 >= Float(0.0) and d6 <= Float(0.0):
        w = d2 / (d2 - d6)
        return Vec[2, Float](Float(1.0) - w, Float(0.0))
    a = d3 * d6 - d5 * d4
    if a < Float(0.0) and d4 - d3 >= Float(0.0) and d5 - d6 >= Float(0.0):
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return Vec[2, Float](Float(0.0), Float(1.0) - w)
    s = a + b + c
    n = Float(1.0) / where(s == Float(0.0), Float(1.0), s)
    return Vec[2, Float](a * n, b * n)


@func
@no_grad("used to compare")
def _is_sliver(p: Vec[3, float32], q: Vec[3, float32], r: Vec[3, float32]) -> bool:
    """Whether a triangle is too thin for a closest point."""
    pq = q - p
    pr = r - p
    qr = r - q
    return length(cross(pq, pr)) / (length_sq(pq) + length_sq(pr) + length_sq(qr)) < 1.0e-6


@func
@no_grad("used to compare")
def _distance_to_face(
    p: Vec[3, float32], q: Vec[3, float32], r: Vec[3, float32], x: Vec[3, float32]
) -> float32:
    """The square of the distance of `x` to a triangle."""
    uv = _closest_on_triangle(p, q, r, x)
    return length_sq(p * uv[0] + q * uv[1] + r * (1.0 - uv[0] - uv[1]) - x)


@func
@zero_grad("which face is closest changes in steps")
def _closest_face(id: uint64, x: Vec[3, float32], max_dist: float32) -> int32:
    """The face that is closest to `x`, nearer than `max_dist`; -1: there is none."""
    tree = mesh_get_bvh(id)
    node = _bvh_root(tree, -1)
    if node < 0:
        return -1
    words = _words(tree, 112)
    counts = _integers(tree, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    uppers = _constant_array_at(words[1], uint64(0), counts[12], vec4f())
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    stack = zeros(shape=32, dtype=int32)
    stack[0] = node
    count = int32(1)
    best = max_dist * max_dist
    found = int32(-1)
    while count > 0:
        count -= 1
        node = stack[count]
        low = lowers[uint32(node)]
        high = uppers[uint32(node)]
        # A little further, so that rounding parts no faces that are equally near.
        if _distance_to_box(x, low, high) <= best * 1.000001:
            left = _payload(low[3])
            right = _payload(high[3])
            if _is_leaf(low[3]):
                for k in range(left, right):
                    face = prims[uint32(k)]
                    p = _corner(points, indices, 3 * face)
                    q = _corner(points, indices, 3 * face + 1)
                    r = _corner(points, indices, 3 * face + 2)
                    d = _distance_to_face(p, q, r, x)
                    if (d < best or d == best and face < found) and not _is_sliver(p, q, r):
                        best = d
                        found = face
            else:
                left_low = lowers[uint32(left)]
                left_high = uppers[uint32(left)]
                right_low = lowers[uint32(right)]
                right_high = uppers[uint32(right)]
                to_left = _distance_to_box(x, left_low, left_high)
                to_right = _distance_to_box(x, right_low, right_high)
                # The nearer one comes first.
                limit = best * 1.000001
                left_first = to_left < to_right
                if where(left_first, to_right, to_left) <= limit:
                    stack[count] = where(left_first, right, left)
                    count += 1
                if where(left_first, to_left, to_right) <= limit:
                    stack[count] = where(left_first, left, right)
                    count += 1
    return found


@func
def _point_on_face(id: uint64, face: int32, sign: float32, x: Vec[3, float32]) -> MeshQueryPoint:
    """What is found: the point of `face` that is closest to `x`; nothing if `face` is below 0."""
    found = MeshQueryPoint()
    if face >= 0:
        points = _mesh_points(id)
        indices = _mesh_indices(id)
        p = _corner(points, indices, 3 * face)
        q = _corner(points, indices, 3 * face + 1)
        r = _corner(points, indices, 3 * face + 2)
        uv = _closest_on_triangle(p, q, r, x)
        found = MeshQueryPoint(True, sign, face, uv[0], uv[1])
    return found


@func
def mesh_query_point_no_sign(id: uint64, point: Vec[3, float32], max_dist: float32) -> MeshQueryPoint:
    """The point of the mesh `id` that is closest to `point`, nearer than `max_dist`; without a sign.

    ```python
    found = wp.mesh_query_point_no_sign(mesh, wp.vec3(0.25, 0.5, 3.0), 10.0)
    wp.expect_eq(found.result, True)
    wp.expect_eq(wp.mesh_eval_position(mesh, found.face, found.u, found.v), wp.vec3(0.25, 0.5, 1.0))
    ```
    """
    return _point_on_face(id, _closest_face(id, point, max_dist), 0.0, point)


@func
def mesh_query_point(id: uint64, point: Vec[3, float32], max_dist: float32) -> MeshQueryPoint:
    """The point of the mesh `id` that is closest to `point`, nearer than `max_dist`.

    `sign` is -1 inside: two of the rays along the axes meet a face from behind first.

    ```python
    found = wp.mesh_query_point(mesh, wp.vec3(0.25, 0.5, 0.125), 10.0)
    if found.result:
        nearest = wp.mesh_eval_position(mesh, found.face, found.u, found.v)
        wp.expect_eq(nearest, wp.vec3(0.25, 0.5, 0.0))
    wp.expect_eq(found.sign, -1.0)
    ```
    """
    face = _closest_face(id, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        sign = _sign_by_rays(id, point)
    return _point_on_face(id, face, sign, point)


@func
def mesh_query_point_sign_parity(
    id: uint64, point: Vec[3, float32], max_dist: float32, n_sample: int32 = 1, perturbation_scale: float32 = 0.1
) -> MeshQueryPoint:
    """The same; `sign` is -1 where at least half of `n_sample` rays meet an odd number of faces.

    ```python
    found = wp.mesh_query_point_sign_parity(mesh, wp.vec3(0.25, 0.5, 3.0), 10.0, n_sample=3)
    wp.expect_eq(found.sign, 1.0)
    ```
    """
    face = _closest_face(id, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        sign = _sign_by_parity(id, point, n_sample, perturbation_scale)
    return _point_on_face(id, face, sign, point)


@func
def mesh_query_point_sign_normal(
    id: uint64, point: Vec[3, float32], max_dist: float32, epsilon: float32 = 1.0e-3
) -> MeshQueryPoint:
    """The same; `sign` is that of the angle to the normal there, the sum of the normals of the faces around,
    weighted by their angles (Baerentzen and Aanaes, Signed Distance Computation Using the Angle Weighted
    Pseudonormal, 2005). `epsilon` times the average length of an edge is what counts as equally near.

    ```python
    found = wp.mesh_query_point_sign_normal(mesh, wp.vec3(2.0, 2.0, 2.0), 10.0)
    wp.expect_eq(found.sign, 1.0)
    ```
    """
    face = int32(-1)
    if max_dist > 0.0:
        face = _closest_face(id, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        sign = _sign_by_normal(id, face, point, epsilon)
    return _point_on_face(id, face, sign, point)


@func
def mesh_query_point_sign_winding_number(
    id: uint64, point: Vec[3, float32], max_dist: float32, accuracy: float32 = 2.0, threshold: float32 = 0.5
) -> MeshQueryPoint:
    """The same; `sign` is -1 where the winding number is above `threshold` (Barill and others, Fast Winding
    Numbers for Soups and Clouds, ACM Transactions on Graphics 37(4), 2018).

    The mesh is made with `support_winding_number=True`; without, the rule is that of `mesh_query_point`.

    ```python
    found = wp.mesh_query_point_sign_winding_number(mesh, wp.vec3(0.25, 0.5, 0.5), 10.0)
    wp.expect_eq(found.sign, -1.0)
    ```
    """
    face = _closest_face(id, point, max_dist)
    sign = float32(0.0)
    if face >= 0:
        if _words(id, 328)[23] == uint64(0):
            sign = _sign_by_rays(id, point)
        else:
            sign = where(_winding_number(id, point, accuracy) > threshold, -1.0, 1.0)
    return _point_on_face(id, face, sign, point)


@func
@zero_grad("which face is furthest changes in steps")
def _furthest_corner(id: uint64, x: Vec[3, float32], min_dist: float32) -> int32:
    """The number `3 * face + corner` of the corner furthest from `x`, further than `min_dist`; -1: none."""
    tree = mesh_get_bvh(id)
    node = _bvh_root(tree, -1)
    if node < 0:
        return -1
    words = _words(tree, 112)
    counts = _integers(tree, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    uppers = _constant_array_at(words[1], uint64(0), counts[12], vec4f())
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    stack = zeros(shape=32, dtype=int32)
    stack[0] = node
    count = int32(1)
    best = min_dist * min_dist
    if min_dist < 0.0:
        best = -1.0
    found = int32(-1)
    while count > 0:
        count -= 1
        node = stack[count]
        low = lowers[uint32(node)]
        high = uppers[uint32(node)]
        corner = _furthest_in_box(x, low, high)
        if corner * 1.000001 >= best:
            left = _payload(low[3])
            right = _payload(high[3])
            if _is_leaf(low[3]):
                for k in range(left, right):
                    face = prims[uint32(k)]
                    for n in range(3):
                        d = length_sq(_corner(points, indices, 3 * face + n) - x)
                        if d > best or d == best and 3 * face + n < found:
                            best = d
                            found = 3 * face + n
            else:
                stack[count] = left
                stack[count + 1] = right
                count += 2
    return found


@func
@zero_grad("the furthest point is a corner")
def mesh_query_furthest_point_no_sign(id: uint64, point: Vec[3, float32], min_dist: float32) -> MeshQueryPoint:
    """The point of the mesh `id` that is furthest from `point`, further than `min_dist`: a corner.

    ```python
    found = wp.mesh_query_furthest_point_no_sign(mesh, wp.vec3(-1.0, -1.0, -1.0), 0.0)
    wp.expect_eq(wp.mesh_eval_position(mesh, found.face, found.u, found.v), wp.vec3(1.0, 1.0, 1.0))
    ```
    """
    corner = _furthest_corner(id, point, min_dist)
    if corner < 0:
        return MeshQueryPoint()
    n = corner % 3
    return MeshQueryPoint(True, 0.0, corner / 3, where(n == 0, 1.0, 0.0), where(n == 1, 1.0, 0.0))


# Queries for faces.


@func
@zero_grad("which faces are found changes in steps")
def mesh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> MeshQueryAABB:
    """A query for the faces of the mesh `id` whose boxes touch the box from `low` to `high`.

    Go through them by `mesh_query_aabb_next`, or by `for face in query:`.

    ```python
    n = int(0)
    for face in wp.mesh_query_aabb(mesh, wp.vec3(0.25), wp.vec3(0.75)):
        n += 1
    wp.expect_eq(n, 0)
    ```
    """
    return MeshQueryAABB(bvh_query_aabb(mesh_get_bvh(id), low, high), id)


@func
@zero_grad("which faces are found changes in steps")
def mesh_query_sphere(id: uint64, center: Vec[3, float32], radius: float32) -> MeshQueryAABB:
    """A query for the faces of the mesh `id` that are not further than `radius` from `center`.

    ```python
    n = int(0)
    for face in wp.mesh_query_sphere(mesh, wp.vec3(0.5), 0.75):
        n += 1
    wp.expect_eq(n, 12)
    ```
    """
    return MeshQueryAABB(bvh_query_sphere(mesh_get_bvh(id), center, radius), id)


@func
@no_grad("used to compare")
def _distance_to_segment(p: Vec[3, float32], q: Vec[3, float32], x: Vec[3, float32]) -> float32:
    """The square of the distance of `x` to the straight line from `p` to `q`."""
    pq = q - p
    t = float32(0.0)
    if length_sq(pq) > 0.0:
        t = clamp(dot(x - p, pq) / length_sq(pq), 0.0, 1.0)
    return length_sq(p + t * pq - x)


@func
@no_grad("a condition")
def _face_in_sphere(id: uint64, face: int32, center: Vec[3, float32], radius: float32) -> bool:
    """Whether a face is not further than `radius` from `center`; one without an area counts as its edges."""
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    p = _corner(points, indices, 3 * face)
    q = _corner(points, indices, 3 * face + 1)
    r = _corner(points, indices, 3 * face + 2)
    d = float32(0.0)
    if length_sq(cross(q - p, r - p)) == 0.0:
        d = min(_distance_to_segment(p, q, center), _distance_to_segment(p, r, center))
        d = min(d, _distance_to_segment(q, r, center))
    else:
        d = _distance_to_face(p, q, r, center)
    return d <= radius * radius


@func
@zero_grad("which faces are found changes in steps")
def mesh_query_next(query: ref[MeshQueryAABB], index: ref[int32]) -> bool:
    """Sets `index` to the next face that a query finds; False: there is none.

    ```python
    query = wp.mesh_query_aabb(mesh, wp.vec3(-0.5), wp.vec3(0.0))
    face = int(0)
    n = int(0)
    while wp.mesh_query_next(query, face):
        n += 1
    wp.expect_eq(n, 6)
    ```
    """
    while bvh_query_next(query.boxes, index):
        if query.boxes.kind == _AABB:
            return True
        if _face_in_sphere(query.mesh, index, query.boxes.low, query.boxes.radius):
            return True
    return False


@func
@zero_grad("which faces are found changes in steps")
def mesh_query_aabb_next(query: ref[MeshQueryAABB], index: ref[int32]) -> bool:
    """Another name of `mesh_query_next`.

    ```python
    query = wp.mesh_query_aabb(mesh, wp.vec3(0.25), wp.vec3(0.75))
    face = int(0)
    wp.expect_eq(wp.mesh_query_aabb_next(query, face), False)
    ```
    """
    return mesh_query_next(query, index)
