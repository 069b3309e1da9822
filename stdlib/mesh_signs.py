# On which side of a triangle mesh is a point?


@func
@no_grad("used to compare")
def _meets_back(id: uint64, x: Vec[3, float32], d: Vec[3, float32]) -> bool:
    """Whether a ray from `x` meets a face from behind first."""
    return _ray_on_face(id, _face_on_ray(id, x, d, _LARGEST, -1, False), x, d).sign < 0.0


@func
@zero_grad("the sign changes in steps")
def _sign_by_rays(id: uint64, x: Vec[3, float32]) -> float32:
    """-1 where two of the rays along the axes meet a face from behind first."""
    votes = int32(0)
    if _meets_back(id, x, vec3f(1.0, 0.0, 0.0)):
        votes += 1
    if _meets_back(id, x, vec3f(0.0, 1.0, 0.0)):
        votes += 1
    if _meets_back(id, x, vec3f(0.0, 0.0, 1.0)):
        votes += 1
    return where(votes >= 2, -1.0, 1.0)


@func
@zero_grad("the sign changes in steps")
def _sign_by_parity(id: uint64, x: Vec[3, float32], rays: int32, scale: float32) -> float32:
    """-1 where at least half of the rays around (1, 1, 1) meet an odd number of faces."""
    votes = int32(0)
    state = rand_init(42)
    for _n in range(rays):
        d = vec3f()
        while length_sq(d) < 1.0e-8:
            a = randf(state, -scale, scale)
            b = randf(state, -scale, scale)
            c = randf(state, -scale, scale)
            d = vec3f(1.0 + a, 1.0 + b, 1.0 + c)
        if mesh_query_ray_count_intersections(id, x, d) % 2 == 1:
            votes += 1
    return where(votes * 2 >= rays, -1.0, 1.0)


@func
@no_grad("used to compare")
def _weight_at(
    p: Vec[3, float32], q: Vec[3, float32], r: Vec[3, float32], c: Vec[3, float32], tiny: float32
) -> float32:
    """The angle that a triangle has around its point `c`: of its corner there, pi on an edge, 2 pi inside.
    What is nearer than the root of `tiny` counts as there."""
    pq = q - p
    pr = r - p
    qr = r - q
    if length_sq(c - p) < tiny:
        return acos(dot(normalize(pq), normalize(pr)))
    if length_sq(c - q) < tiny:
        return acos(dot(normalize(qr), normalize(-pq)))
    if length_sq(c - r) < tiny:
        return acos(dot(normalize(-pr), normalize(-qr)))
    to_pq = length_sq(c - p) * length_sq(pq) - dot(pq, c - p) * dot(pq, c - p)
    to_qr = length_sq(c - q) * length_sq(qr) - dot(qr, c - q) * dot(qr, c - q)
    to_pr = length_sq(c - p) * length_sq(pr) - dot(pr, c - p) * dot(pr, c - p)
    if to_pq < tiny * length_sq(pq) or to_qr < tiny * length_sq(qr) or to_pr < tiny * length_sq(pr):
        return 3.14159265359
    return 6.28318530718


@func
@zero_grad("the sign changes in steps")
def _sign_by_normal(id: uint64, closest: int32, x: Vec[3, float32], epsilon: float32) -> float32:
    """The sign of the angle between the way to `x` from its closest point, which is on the face `closest`, and
    the normal there."""
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    p = _corner(points, indices, 3 * closest)
    q = _corner(points, indices, 3 * closest + 1)
    r = _corner(points, indices, 3 * closest + 2)
    uv = _closest_on_triangle(p, q, r, x)
    nearest = p * uv[0] + q * uv[1] + r * (1.0 - uv[0] - uv[1])
    distance = length(nearest - x)
    margin = _constant_array_at(id, uint64(0), 82, float32(0.0))[80] * epsilon
    # All faces that are nearly as near.
    normal = vec3f()
    tree = mesh_get_bvh(id)
    words = _words(tree, 112)
    counts = _integers(tree, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    uppers = _constant_array_at(words[1], uint64(0), counts[12], vec4f())
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    stack = zeros(shape=32, dtype=int32)
    stack[0] = _bvh_root(tree, -1)
    count = int32(1)
    limit = (distance + margin) * (distance + margin)
    while count > 0:
        count -= 1
        node = stack[count]
        left = _payload(lowers[uint32(node)][3])
        right = _payload(uppers[uint32(node)][3])
        if _is_leaf(lowers[uint32(node)][3]):
            for k in range(left, right):
                face = prims[uint32(k)]
                p = _corner(points, indices, 3 * face)
                q = _corner(points, indices, 3 * face + 1)
                r = _corner(points, indices, 3 * face + 2)
                uv = _closest_on_triangle(p, q, r, x)
                c = p * uv[0] + q * uv[1] + r * (1.0 - uv[0] - uv[1])
                if length_sq(c - x) <= limit and not _is_sliver(p, q, r):
                    normal += _weight_at(p, q, r, c, margin * margin) * normalize(cross(q - p, r - p))
        else:
            if _distance_to_box(x, lowers[uint32(right)], uppers[uint32(right)]) <= limit * 1.000001:
                stack[count] = right
                count += 1
            if _distance_to_box(x, lowers[uint32(left)], uppers[uint32(left)]) <= limit * 1.000001:
                stack[count] = left
                count += 1
    return where(dot(normal, x - nearest) > 0.0, 1.0, -1.0)


@func
@no_grad("used to compare")
def _solid_angle(p: Vec[3, float32], q: Vec[3, float32], r: Vec[3, float32], x: Vec[3, float32]) -> float32:
    """The angle that a triangle is seen under from `x` (Van Oosterom and Strackee, The Solid Angle of a Plane
    Triangle, 1983)."""
    a = p - x
    b = q - x
    c = r - x
    if length_sq(a) == 0.0 or length_sq(b) == 0.0 or length_sq(c) == 0.0:
        return 0.0
    a = normalize(a)
    b = normalize(b)
    c = normalize(c)
    above = dot(a, cross(b - a, c - a))
    if above == 0.0:
        return 0.0
    return 2.0 * atan2(above, 1.0 + dot(a, b) + dot(a, c) + dot(b, c))


@func
@no_grad("used to compare")
def _three(numbers: Array[float32, 1], at: int32) -> Vec[3, float32]:
    """Three numbers of a list."""
    return vec3f(numbers[at], numbers[at + 1], numbers[at + 2])


@func
@no_grad("used to compare")
def _far_angle(terms: Array[float32, 1], node: int32, x: Vec[3, float32], accuracy: float32) -> float32:
    """The angle that the faces below a node are seen under from `x`; infinity where `x` is too near for it."""
    at = 36 * node
    way = x - _three(terms, at)
    distance = length(way)
    if distance * distance <= terms[at + 35] * accuracy * accuracy:
        return _INFINITY
    q = way / distance
    # Moments of the normals: of order 0, 1 and 2.
    zero = _three(terms, at + 3)
    one = _three(terms, at + 6)
    two = _three(terms, at + 9)
    xy = terms[at + 19] + terms[at + 20]
    yz = terms[at + 21] + terms[at + 22]
    zx = terms[at + 23] + terms[at + 24]
    xxy = terms[at + 13]
    xxz = terms[at + 14]
    yyz = terms[at + 15]
    yyx = terms[at + 16]
    zzx = terms[at + 17]
    zzy = terms[at + 18]
    square = cw_mul(q, q)
    trace = one[0] + one[1] + one[2]
    mixed = q[0] * q[1] * xy + q[1] * q[2] * yz + q[2] * q[0] * zx
    cubic = vec3f(q[1] * xxy + q[2] * xxz, q[2] * yyz + q[0] * yyx, q[0] * zzx + q[1] * zzy)
    linear = 3.0 * two + vec3f(yyx + zzx, zzy + xxy, xxz + yyz)
    order_0 = -dot(q, zero)
    order_1 = trace - 3.0 * (dot(square, one) + mixed)
    order_2 = 1.5 * dot(q, linear) - 7.5 * (
        dot(cw_mul(square, q), two) + q[0] * q[1] * q[2] * terms[at + 12] + dot(square, cubic)
    )
    by = 1.0 / distance
    angle = by * by * (order_0 + by * (order_1 + by * order_2))
    return where(isfinite(angle), angle, _INFINITY)


@func
@zero_grad("the sign changes in steps")
def _winding_number(id: uint64, x: Vec[3, float32], accuracy: float32) -> float32:
    """How often the mesh winds around `x`."""
    tree = mesh_get_bvh(id)
    node = _bvh_root(tree, -1)
    if node < 0:
        return 0.0
    words = _words(tree, 112)
    counts = _integers(tree, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    uppers = _constant_array_at(words[1], uint64(0), counts[12], vec4f())
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    terms = _constant_array_at(_words(id, 328)[23], uint64(0), 36 * counts[12], float32(0.0))
    points = _mesh_points(id)
    indices = _mesh_indices(id)
    stack = zeros(shape=32, dtype=int32)
    stack[0] = node
    count = int32(1)
    angle = float32(0.0)
    while count > 0:
        count -= 1
        node = stack[count]
        left = _payload(lowers[uint32(node)][3])
        right = _payload(uppers[uint32(node)][3])
        if _is_leaf(lowers[uint32(node)][3]):
            for k in range(left, right):
                face = prims[uint32(k)]
                p = _corner(points, indices, 3 * face)
                q = _corner(points, indices, 3 * face + 1)
                r = _corner(points, indices, 3 * face + 2)
                angle += _solid_angle(p, q, r, x)
        else:
            far = _far_angle(terms, node, x, accuracy)
            if isfinite(far):
                angle += far
            else:
                stack[count] = left
                stack[count + 1] = right
                count += 2
    return angle * 0.07957747154594767
