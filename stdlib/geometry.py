# Segments and triangles.


@func
def _difference_of_products(a: Float, b: Float, c: Float, d: Float) -> Float:
    """`a * b - c * d` without cancellation, after Kahan (C. Jeannerod, N. Louvet, J. Muller, Mathematics of Computation
    82, 2013).
    """
    cd = c * d
    return _fma(a, b, -cd) + _fma(-c, d, cd)


@func_grad(_difference_of_products)
def _(a: Float, b: Float, c: Float, d: Float, adj_ret: Float):
    adjoint[a] += b * adj_ret
    adjoint[b] += a * adj_ret
    adjoint[c] -= d * adj_ret
    adjoint[d] -= c * adj_ret


@func
def closest_point_edge_edge(
    p1: Vec[3, float32], q1: Vec[3, float32], p2: Vec[3, float32], q2: Vec[3, float32], epsilon: float32
) -> Vec[3, float32]:
    """The closest points of the segments `p1` to `q1` and `p2` to `q2`: `(s, t, distance)` with the points
    `p1 + s * (q1 - p1)` and `p2 + t * (q2 - p2)`.

    A segment whose squared length is at most `epsilon` counts as the point `p1` or `p2`. Of parallel segments, one of the
    closest pairs is taken. `distance` has derivative 0 where the segments meet.

    ```python
    st = wp.closest_point_edge_edge(
        wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 0.0, 0.0), wp.vec3(1.0, -1.0, 3.0), wp.vec3(1.0, 3.0, 3.0), 1.0e-6
    )
    wp.expect_near(st, wp.vec3(0.5, 0.25, 3.0))
    ```
    """
    # C. Ericson, Real-Time Collision Detection, 2005, section 5.1.9.
    d1 = q1 - p1
    d2 = q2 - p2
    r = p1 - p2
    a = dot(d1, d1)
    e = dot(d2, d2)
    c = dot(d1, r)
    f = dot(d2, r)
    s = float32(0.0)
    t = float32(0.0)
    if a > epsilon and e > epsilon:
        b = dot(d1, d2)
        parallel = _difference_of_products(a, e, b, b)
        if parallel > 0.0:
            s = clamp(_difference_of_products(b, f, c, e) / parallel, 0.0, 1.0)
        t = (b * s + f) / e
        if t < 0.0:
            t = 0.0
            s = clamp(-c / a, 0.0, 1.0)
        elif t > 1.0:
            t = 1.0
            s = clamp((b - c) / a, 0.0, 1.0)
    elif e > epsilon:
        t = clamp(f / e, 0.0, 1.0)
    elif a > epsilon:
        s = clamp(-c / a, 0.0, 1.0)
    return Vec[3, float32](s, t, length((p2 + t * d2) - (p1 + s * d1)))


@func
@no_grad("a truth value")
def intersect_tri_tri(
    v0: Vec[3, Float], v1: Vec[3, Float], v2: Vec[3, Float], u0: Vec[3, Float], u1: Vec[3, Float], u2: Vec[3, Float]
) -> int32:
    """1 if the triangles `v0 v1 v2` and `u0 u1 u2` intersect, otherwise 0.

    A vertex counts as in the plane of the other triangle if its distance, times twice that triangle's area, is below 1e-6.

    ```python
    hit = wp.intersect_tri_tri(
        wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0),
        wp.vec3(0.2, 0.2, -1.0), wp.vec3(0.2, 0.2, 1.0), wp.vec3(2.0, 2.0, 0.0),
    )
    wp.expect_eq(hit, 1)
    ```
    """
    # T. Moeller, A fast triangle-triangle intersection test, Journal of Graphics Tools 2(2), 1997.
    n = cross(v1 - v0, v2 - v0)
    du = _heights(n, v0, u0, u1, u2)
    m = cross(u1 - u0, u2 - u0)
    dv = _heights(m, u0, v0, v1, v2)
    if _one_side(du) or _one_side(dv):
        return 0
    if dv[0] == Float(0.0) and dv[1] == Float(0.0) and dv[2] == Float(0.0):
        return _coplanar(n, v0, v1, v2, u0, u1, u2)
    # On the line in which the planes meet, each triangle covers an interval; a coordinate
    # represents the line.
    line = cross(n, m)
    k = int32(argmax(abs(line)))
    a = _interval(Vec[3, Float](v0[k], v1[k], v2[k]), dv)
    b = _interval(Vec[3, Float](u0[k], u1[k], u2[k]), du)
    if a[1] < b[0] or b[1] < a[0]:
        return 0
    return 1


@func
@no_grad("used for choices only")
def _heights(
    n: Vec[3, Float], origin: Vec[3, Float], a: Vec[3, Float], b: Vec[3, Float], c: Vec[3, Float]
) -> Vec[3, Float]:
    """The heights of three points over the plane through `origin`, in units of the length of its normal `n`."""
    h = Vec[3, Float](dot(n, a - origin), dot(n, b - origin), dot(n, c - origin))
    for i in range(3):
        if abs(h[i]) < Float(1.0e-6):
            h[i] = Float(0.0)
    return h


@func
@no_grad("a truth value")
def _one_side(h: Vec[3, Float]) -> bool:
    """Whether all heights are positive or all are negative."""
    return h[0] * h[1] > Float(0.0) and h[0] * h[2] > Float(0.0)


@func
@no_grad("used for choices only")
def _interval(p: Vec[3, Float], h: Vec[3, Float]) -> Vec[2, Float]:
    """Where the edges of a triangle with coordinates `p` and heights `h` cross height 0: from the lower to the upper."""
    # The vertex that is alone on its side.
    k = 0
    if h[0] * h[1] > Float(0.0):
        k = 2
    elif h[0] * h[2] > Float(0.0):
        k = 1
    elif h[1] * h[2] <= Float(0.0) and h[0] == Float(0.0):
        k = where(h[1] != Float(0.0), 1, 2)
    i = (k + 1) % 3
    j = (k + 2) % 3
    x = p[k] + (p[i] - p[k]) * (h[k] / (h[k] - h[i]))
    y = p[k] + (p[j] - p[k]) * (h[k] / (h[k] - h[j]))
    return Vec[2, Float](min(x, y), max(x, y))


@func
@no_grad("a truth value")
def _coplanar(
    n: Vec[3, Float],
    v0: Vec[3, Float],
    v1: Vec[3, Float],
    v2: Vec[3, Float],
    u0: Vec[3, Float],
    u1: Vec[3, Float],
    u2: Vec[3, Float],
) -> int32:
    """`intersect_tri_tri` of triangles in one plane with the normal `n`, seen along the axis nearest to `n`."""
    axis = int32(argmax(abs(n)))
    x = where(axis == 0, 1, 0)
    y = where(axis == 2, 1, 2)
    v = Mat[3, 2, Float](v0[x], v0[y], v1[x], v1[y], v2[x], v2[y])
    u = Mat[3, 2, Float](u0[x], u0[y], u1[x], u1[y], u2[x], u2[y])
    if _contains(u, v[0]) or _contains(v, u[0]):
        return 1
    for i in range(3):
        for j in range(3):
            if _cross_over(v[i], v[(i + 1) % 3], u[j], u[(j + 1) % 3]):
                return 1
    return 0


@func
@no_grad("used for choices only")
def _turn(a: Vec[2, Float], b: Vec[2, Float], c: Vec[2, Float]) -> Float:
    """Twice the area of `a b c`: positive if they turn left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@func
@no_grad("a truth value")
def _contains(t: Mat[3, 2, Float], p: Vec[2, Float]) -> bool:
    """Whether `p` is inside the triangle `t`."""
    a = _turn(t[0], t[1], p)
    return a * _turn(t[1], t[2], p) > Float(0.0) and a * _turn(t[2], t[0], p) > Float(0.0)


@func
@no_grad("a truth value")
def _cross_over(a: Vec[2, Float], b: Vec[2, Float], c: Vec[2, Float], d: Vec[2, Float]) -> bool:
    """Whether the segments `a b` and `c d` have a point in common, unless they are parallel."""
    area = _turn(a, b, d) - _turn(a, b, c)
    if area == Float(0.0):
        return False
    s = _turn(c, d, a) / area
    t = -_turn(a, b, c) / area
    return s >= Float(0.0) and s <= Float(1.0) and t >= Float(0.0) and t <= Float(1.0)
