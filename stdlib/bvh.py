# Bounding volume hierarchies: trees of boxes. A query walks a tree without a stack: the parents of
# the nodes lead back, so that its state is a few numbers.

_AABB = 0
_RAY = 1
_CAPSULE = 2
_SPHERE = 3


@struct
class BvhQuery:
    """What is left of a walk through a tree of boxes: made by `bvh_query_aabb` and the like."""

    id: uint64
    # _AABB, _RAY, ...
    kind: int32
    # The box; of rays and capsules the start and the direction; of spheres the centre.
    low: Vec[3, float32]
    high: Vec[3, float32]
    radius: float32
    # The next node; -1: there is none.
    node: int32
    # Which of its ancestors have a right child that is still to come: a bit for each, that of its parent first.
    trail: uint64
    # What is left of a leaf.
    item: int32
    end: int32


@func
@no_grad("an address")
def _bvh_root(id: uint64, root: int32) -> int32:
    """The node at which a walk begins: `root`, or that of the tree where that is -1. An empty tree has none: -1."""
    if id == uint64(0):
        return -1
    if _integers(id, 112)[22] <= 0:
        return -1
    if root == -1:
        return _constant_array_at(_words(id, 112)[7], uint64(0), 1, int32(0))[0]
    return root


@func
@no_grad("integers")
def _bvh_query(id: uint64, kind: int32, low: Vec[3, float32], high: Vec[3, float32], radius: float32, root: int32) -> BvhQuery:
    """A walk that begins."""
    query = BvhQuery()
    query.id = id
    query.kind = kind
    query.low = low
    query.high = high
    query.radius = radius
    query.node = _bvh_root(id, root)
    if query.node >= 0:
        words = _words(id, 112)
        nodes = _integers(id, 112)[12]
        lowers = _constant_array_at(words[0], uint64(0), nodes, vec4f())
        uppers = _constant_array_at(words[1], uint64(0), nodes, vec4f())
        at = uint32(query.node)
        if not _bvh_finds(query, lowers[at], uppers[at], _INFINITY):
            query.node = -1
    return query


@func
@zero_grad("which boxes are found changes in steps")
def bvh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32], root: int32 = -1) -> BvhQuery:
    """A query for the boxes of the BVH `id` that touch the box from `low` to `high`.

    Go through them by `bvh_query_next`, or by `for i in query:`. `root` is the node of a group
    (`bvh_get_group_root`); -1: all.

    ```python
    n = int(0)
    for box in wp.bvh_query_aabb(tree, wp.vec3(2.0, 0.0, 0.0), wp.vec3(3.0, 1.0, 1.0)):
        n += 1
    wp.expect_eq(n, 2)
    ```
    """
    return _bvh_query(id, _AABB, low, high, 0.0, root)


@func
@zero_grad("which boxes are found changes in steps")
def bvh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], root: int32 = -1) -> BvhQuery:
    """A query for the boxes of the BVH `id` that a ray goes through, in no particular order.

    ```python
    n = int(0)
    for box in wp.bvh_query_ray(tree, wp.vec3(2.25, 0.5, 0.5), wp.vec3(1.0, 0.0, 0.0)):
        n += 1
    wp.expect_eq(n, 6)
    ```
    """
    return _bvh_query(id, _RAY, start, dir, 0.0, root)


@func
@zero_grad("which boxes are found changes in steps")
def bvh_query_capsule(
    id: uint64, start: Vec[3, float32], dir: Vec[3, float32], radius: float32, root: int32 = -1
) -> BvhQuery:
    """A query for the boxes of the BVH `id` that, grown by `radius` on all sides, a ray goes through.

    ```python
    n = int(0)
    for box in wp.bvh_query_capsule(tree, wp.vec3(-1.0, 1.25, 0.5), wp.vec3(1.0, 0.0, 0.0), 0.5):
        n += 1
    wp.expect_eq(n, 8)
    ```
    """
    return _bvh_query(id, _CAPSULE, start, dir, max(radius, 0.0), root)


@func
@zero_grad("which boxes are found changes in steps")
def bvh_query_sphere(id: uint64, center: Vec[3, float32], radius: float32, root: int32 = -1) -> BvhQuery:
    """A query for the boxes of the BVH `id` that are not further than `radius` from `center`.

    ```python
    n = int(0)
    for box in wp.bvh_query_sphere(tree, wp.vec3(-1.0, 0.5, 0.5), 1.0):
        n += 1
    wp.expect_eq(n, 1)
    ```
    """
    return _bvh_query(id, _SPHERE, center, center, max(radius, 0.0), root)


@func
@no_grad("a condition")
def _strictly_inside(query: BvhQuery, low: Vec[4, float32], high: Vec[4, float32]) -> bool:
    """Whether a ray that goes along an axis lies between the sides of a box, and in none of them."""
    for k in range(3):
        if query.high[k] == 0.0 and (query.low[k] <= low[k] or query.low[k] >= high[k]):
            return False
    return True


@func
@no_grad("a condition")
def _bvh_finds(query: BvhQuery, low: Vec[4, float32], high: Vec[4, float32], max_dist: float32) -> bool:
    """Whether a query finds a box."""
    if query.kind == _AABB:
        return _boxes_touch(query.low, query.high, low, high)
    if query.kind == _SPHERE:
        return _distance_to_box(query.low, low, high) <= query.radius * query.radius
    inverse = _inverse_direction(query.high)
    above = _start_beside(query.low, query.high, 1.0)
    below = _start_beside(query.low, query.high, -1.0)
    if query.kind == _RAY:
        return _ray_in_box(above, below, inverse, low, high) < max_dist and _strictly_inside(query, low, high)
    grown = vec4f(query.radius, query.radius, query.radius, 0.0)
    t = _ray_in_box(above, below, inverse, low - grown, high + grown)
    return t <= max_dist and t < _INFINITY


@func
@no_grad("used to compare")
def _four(v: Vec[3, float32]) -> Vec[4, float32]:
    """A corner as that of a node."""
    return vec4f(v[0], v[1], v[2], 0.0)


@func
@no_grad("a walk")
def _go_on(query: ref[BvhQuery]):
    """Lets a walk go on that is done with its node and all below it."""
    words = _words(query.id, 112)
    nodes = _integers(query.id, 112)[12]
    uppers = _constant_array_at(words[1], uint64(0), nodes, vec4f())
    parents = _constant_array_at(words[2], uint64(0), nodes, int32(0))
    if query.trail == uint64(0):
        query.node = -1
    else:
        at = parents[uint32(query.node)]
        while (query.trail & uint64(1)) == uint64(0):
            query.trail >>= uint64(1)
            at = parents[uint32(at)]
        query.trail -= uint64(1)
        query.node = _payload(uppers[uint32(at)][3])


@func
@zero_grad("which boxes are found changes in steps")
def bvh_query_next(query: ref[BvhQuery], index: ref[int32], max_dist: float32 = _INFINITY) -> bool:
    """Sets `index` to the next box that a query finds; False: there is none.

    `max_dist` ends rays (boxes that begin there are not found) and capsules (they are), in lengths of
    the direction. Boxes are found in an order of the tree's.

    ```python
    query = wp.bvh_query_ray(tree, wp.vec3(-1.0, 0.5, 0.5), wp.vec3(1.0, 0.0, 0.0))
    box = int(0)
    n = int(0)
    while wp.bvh_query_next(query, box, 3.0):
        n += 1
    wp.expect_eq(n, 2)
    ```
    """
    words = _words(query.id, 112)
    counts = _integers(query.id, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    uppers = _constant_array_at(words[1], uint64(0), counts[12], vec4f())
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    item_lowers = _array_at(words[8], uint64(0), counts[22], vec3f())
    item_uppers = _array_at(words[9], uint64(0), counts[22], vec3f())
    while True:
        while query.item < query.end:
            found = prims[uint32(query.item)]
            query.item += 1
            if _bvh_finds(query, _four(item_lowers[uint32(found)]), _four(item_uppers[uint32(found)]), max_dist):
                index = found
                return True
        if query.node < 0:
            return False
        low = lowers[uint32(query.node)]
        high = uppers[uint32(query.node)]
        first = _payload(low[3])
        end = _payload(high[3])
        # That box is found for any distance: it was looked at before it became the next one.
        limited = query.kind == _RAY or query.kind == _CAPSULE
        hit = not limited or _bvh_finds(query, low, high, max_dist)
        if hit and not _is_leaf(low[3]):
            left = _bvh_finds(query, lowers[uint32(first)], uppers[uint32(first)], _INFINITY)
            right = _bvh_finds(query, lowers[uint32(end)], uppers[uint32(end)], _INFINITY)
            if left or right:
                query.node = where(left, first, end)
                query.trail = (query.trail << uint64(1)) | where(left and right, uint64(1), uint64(0))
            else:
                _go_on(query)
        else:
            _go_on(query)
            if hit and end - first == 1:
                # Its box is that of the node.
                index = prims[uint32(first)]
                return True
            if hit:
                query.item = first
                query.end = end
    return False


@func
@no_grad("an index")
def _depth(parents: Array[int32, 1], node: int32) -> int32:
    """How far a node is from the root."""
    depth = int32(0)
    at = parents[uint32(node)]
    while at >= 0:
        depth += 1
        at = parents[uint32(at)]
    return depth


@func
@no_grad("an index")
def bvh_get_group_root(id: uint64, group: int32) -> int32:
    """The node that holds the boxes of a group, for `root` of a query; -1: there is no such group.

    Trees with groups have their leaves first, in the order of the groups.

    ```python
    wp.expect_eq(wp.bvh_get_group_root(tree, 7), -1)
    ```
    """
    if id == uint64(0):
        return -1
    words = _words(id, 112)
    counts = _integers(id, 112)
    lowers = _constant_array_at(words[0], uint64(0), counts[12], vec4f())
    parents = _constant_array_at(words[2], uint64(0), counts[12], int32(0))
    prims = _constant_array_at(words[4], uint64(0), counts[22], int32(0))
    groups = _array_at(words[10], uint64(0), counts[22], int32(0))
    leaves = counts[13]
    if words[10] == uint64(0):
        return where(group == 0 and leaves > 0, _bvh_root(id, -1), -1)
    first = int32(0)
    end = leaves
    while first < end:
        middle = (first + end) / 2
        if _group_of_leaf(lowers, prims, groups, middle) < group:
            first = middle + 1
        else:
            end = middle
    if first >= leaves:
        return -1
    if _group_of_leaf(lowers, prims, groups, first) != group:
        return -1
    last = first
    end = leaves
    while last < end:
        middle = (last + end) / 2
        if _group_of_leaf(lowers, prims, groups, middle) <= group:
            last = middle + 1
        else:
            end = middle
    last -= 1
    # The node above both that is nearest to them.
    one = first
    other = last
    one_depth = _depth(parents, one)
    other_depth = _depth(parents, other)
    while one != other:
        if one_depth >= other_depth:
            one = parents[uint32(one)]
            one_depth -= 1
        else:
            other = parents[uint32(other)]
            other_depth -= 1
    return one
