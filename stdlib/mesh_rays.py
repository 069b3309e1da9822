# Where rays meet triangle meshes.
#
# The test of a triangle is watertight (Woop, Benthin and Wald, Watertight Ray/Triangle
# Intersection, Journal of Computer Graphics Techniques 2(1), 2013): rays through edges and corners
# meet at least one of the faces there.


@struct
class MeshQueryRay:
    """Where a ray meets a mesh first: at `t` lengths of its direction, if `result`; `sign` is above 0 where
    it comes from the front of the face, whose unit normal is `normal`."""

    result: bool
    sign: float32
    face: int32
    t: float32
    u: float32
    v: float32
    normal: Vec[3, float32]


@func
@zero_grad("which axis is longest changes in steps")
def _ray_axes(d: Vec[3, float32]) -> Vec[3, int32]:
    """The axes of the ray's own system: the last is the one along which it is longest."""
    z = int32(0)
    if abs(d[1]) > abs(d[0]):
        z = 1
    if abs(d[2]) > max(abs(d[0]), abs(d[1])):
        z = 2
    x = where(z == 2, 0, z + 1)
    y = where(x == 2, 0, x + 1)
    if d[z] < 0.0:
        return vec3i(y, x, z)
    return vec3i(x, y, z)


@func
@no_grad("used to compare")
def _difference(a: float32, b: float32, c: float32, d: float32) -> float32:
    """`a * b - c * d`, in double precision, which is exact but for one rounding."""
    return float32(float64(a) * float64(b) - float64(c) * float64(d))


@func
@no_grad("used to compare")
def _ray_hits(
    axes: Vec[3, int32],
    start: Vec[3, float32],
    d: Vec[3, float32],
    p: Vec[3, float32],
    q: Vec[3, float32],
    r: Vec[3, float32],
) -> Vec[2, float32]:
    """How far a ray meets a triangle, and on which side: the sign of its determinant. Infinity: nowhere."""
    x = axes[0]
    y = axes[1]
    z = axes[2]
    s = d[x] / d[z]
    t = d[y] / d[z]
    a = p - start
    b = q - start
    c = r - start
    ax = a[x] - s * a[z]
    ay = a[y] - t * a[z]
    bx = b[x] - s * b[z]
    by = b[y] - t * b[z]
    cx = c[x] - s * c[z]
    cy = c[y] - t * c[z]
    u = cx * by - cy * bx
    v = ax * cy - ay * cx
    w = bx * ay - by * ax
    # Faces that share an edge see the same number there, with the other sign: one of them is met.
    if u == 0.0 or v == 0.0 or w == 0.0:
        u = _difference(cx, by, cy, bx)
        v = _difference(ax, cy, ay, cx)
        w = _difference(bx, ay, by, ax)
    if (u < 0.0 or v < 0.0 or w < 0.0) and (u > 0.0 or v > 0.0 or w > 0.0):
        return vec2f(_INFINITY, 0.0)
    det = u + v + w
    if det == 0.0:
        return vec2f(_INFINITY, 0.0)
    far = (u * (a[z] / d[z]) + v * (b[z] / d[z]) + w * (c[z] / d[z])) / det
    return vec2f(far, det)


@func
@zero_grad("which face is met changes in steps")
def _face_on_ray(
    id: uint64, start: Vec[3, float32], d: Vec[3, float32], max_t: float32, root: int32, any: bool
) -> int32:
    """The face that a ray meets first, before `max_t`; `any`: the first that is found. -1: none."""
    tree = mesh_get_bvh(id)
    node = _bvh_root(tree, root)
    if node < 0:
        return -1
    words = _words(tree, 112)
    counts = _integers(tree, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    uppers = _constant_array_at(words[1], uint64(0), counts[12], vec4f())
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    inverse = _inverse_direction(d)
    above = _start_beside(start, d, 1.0)
    below = _start_beside(start, d, -1.0)
    axes = _ray_axes(d)
    stack = zeros(shape=32, dtype=int32)
    count = int32(0)
    best = max_t
    found = int32(-1)
    while node >= 0:
        low = lowers[uint32(node)]
        high = uppers[uint32(node)]
        left = _payload(low[3])
        right = _payload(high[3])
        node = int32(-1)
        if _is_leaf(low[3]):
            for k in range(left, right):
                face = prims[uint32(k)]
                p = _corner(points, indices, 3 * face)
                q = _corner(points, indices, 3 * face + 1)
                r = _corner(points, indices, 3 * face + 2)
                t = _ray_hits(axes, start, d, p, q, r)[0]
                if t >= 0.0 and (t < best or t == best and face < found):
                    best = t
                    found = face
                    if any:
                        return found
        else:
            left_low = lowers[uint32(left)]
            left_high = uppers[uint32(left)]
            right_low = lowers[uint32(right)]
            right_high = uppers[uint32(right)]
            to_left = _ray_in_box(above, below, inverse, left_low, left_high)
            to_right = _ray_in_box(above, below, inverse, right_low, right_high)
            # A little further, so that rounding parts no faces that are equally near.
            limit = best + 1.0e-6 * abs(best)
            enters_left = to_left <= limit and to_left < _INFINITY
            enters_right = to_right <= limit and to_right < _INFINITY
            if enters_left and enters_right:
                left_first = to_left < to_right
                stack[count] = where(left_first, right, left)
                count += 1
                node = where(left_first, left, right)
            elif enters_left:
                node = left
            elif enters_right:
                node = right
        if node < 0 and count > 0:
            count -= 1
            node = stack[count]
    return found


@func
def _ray_on_face(id: uint64, face: int32, start: Vec[3, float32], d: Vec[3, float32]) -> MeshQueryRay:
    """What is found: where a ray meets the plane of `face`; nothing if `face` is below 0."""
    found = MeshQueryRay()
    if face >= 0:
        points = _mesh_points(id)
        indices = _mesh_indices(id)
        p = _corner(points, indices, 3 * face)
        q = _corner(points, indices, 3 * face + 1)
        r = _corner(points, indices, 3 * face + 2)
        # As in `_ray_hits`, by the volumes between the ray and the edges.
        axes = _ray_axes(d)
        x = axes[0]
        y = axes[1]
        z = axes[2]
        s = d[x] / d[z]
        k = d[y] / d[z]
        a = p - start
        b = q - start
        c = r - start
        ax = a[x] - s * a[z]
        ay = a[y] - k * a[z]
        bx = b[x] - s * b[z]
        by = b[y] - k * b[z]
        cx = c[x] - s * c[z]
        cy = c[y] - k * c[z]
        u = _volume(cx, by, cy, bx)
        v = _volume(ax, cy, ay, cx)
        w = _volume(bx, ay, by, ax)
        det = u + v + w
        t = (u * (a[z] / d[z]) + v * (b[z] / d[z]) + w * (c[z] / d[z])) / det
        sign = where(det < 0.0, -1.0, 1.0)
        found = MeshQueryRay(True, sign, face, t, u / det, v / det, normalize(cross(q - p, r - p)))
    return found


@func
def _volume(a: float32, b: float32, c: float32, d: float32) -> float32:
    """`a * b - c * d`, rounded once."""
    return float32(float64(a) * float64(b) - float64(c) * float64(d))


@func
def mesh_query_ray(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32 = -1
) -> MeshQueryRay:
    """Where the ray from `start` in direction `dir` meets the mesh `id` first, before `max_t` lengths of `dir`.

    `root` is the node of a group (`mesh_get_group_root`); -1: all.

    ```python
    hit = wp.mesh_query_ray(mesh, wp.vec3(0.25, 0.5, 3.0), wp.vec3(0.0, 0.0, -1.0), 10.0)
    if hit.result:
        wp.expect_eq(hit.t, 2.0)
        wp.expect_eq(hit.normal, wp.vec3(0.0, 0.0, 1.0))
    ```
    """
    return _ray_on_face(id, _face_on_ray(id, start, dir, max_t, root, False), start, dir)


@func
@zero_grad("whether a ray meets a face changes in steps")
def mesh_query_ray_anyhit(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32 = -1
) -> bool:
    """Whether the ray from `start` in direction `dir` meets the mesh `id` before `max_t` lengths of `dir`.

    ```python
    wp.expect_eq(wp.mesh_query_ray_anyhit(mesh, wp.vec3(0.25, 0.5, 3.0), wp.vec3(0.0, 0.0, -1.0), 1.5), False)
    ```
    """
    return _face_on_ray(id, start, dir, max_t, root, True) >= 0


@func
@zero_grad("how many faces a ray meets changes in steps")
def mesh_query_ray_count_intersections(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], root: int32 = -1
) -> int32:
    """How many faces of the mesh `id` the ray from `start` in direction `dir` meets. One that goes through an
    edge meets both faces there.

    ```python
    n = wp.mesh_query_ray_count_intersections(mesh, wp.vec3(0.25, 0.5, 3.0), wp.vec3(0.0, 0.0, -1.0))
    wp.expect_eq(n, 2)
    ```
    """
    tree = mesh_get_bvh(id)
    node = _bvh_root(tree, root)
    if node < 0:
        return 0
    words = _words(tree, 112)
    counts = _integers(tree, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    uppers = _constant_array_at(words[1], uint64(0), counts[12], vec4f())
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    inverse = _inverse_direction(dir)
    above = _start_beside(start, dir, 1.0)
    below = _start_beside(start, dir, -1.0)
    axes = _ray_axes(dir)
    stack = zeros(shape=32, dtype=int32)
    stack[0] = node
    count = int32(1)
    hits = int32(0)
    while count > 0:
        count -= 1
        node = stack[count]
        low = lowers[uint32(node)]
        high = uppers[uint32(node)]
        enters = _ray_in_box(above, below, inverse, low, high)
        if enters < _INFINITY:
            left = _payload(low[3])
            right = _payload(high[3])
            if _is_leaf(low[3]):
                for k in range(left, right):
                    face = prims[uint32(k)]
                    p = _corner(points, indices, 3 * face)
                    q = _corner(points, indices, 3 * face + 1)
                    r = _corner(points, indices, 3 * face + 2)
                    t = _ray_hits(axes, start, dir, p, q, r)[0]
                    if t >= 0.0 and t < _INFINITY:
                        hits += 1
            else:
                stack[count] = left
                stack[count + 1] = right
                count += 2
    return hits
