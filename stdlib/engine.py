# What meshes, BVHs, hash grids and volumes have in common: arrays behind an address. An id is the
# address of a descriptor in the memory of whoever runs the kernel, laid out as Warp 1.19 lays out
# its own (warp/native/bvh.h, mesh.h, hashgrid.h); src/engines/layout.rs has the same offsets.


@op("array_at")
@compiler_grad("that of the elements")
def _array_at(address: uint64, gradient: uint64, count: int32, like: T) -> Array[T, 1]:
    """The array of `count` elements of the type of `like` from `address` on, their adjoints from `gradient` on."""


@op("constant_array_at")
@compiler_grad("that of the elements")
def _constant_array_at(address: uint64, gradient: uint64, count: int32, like: T) -> Array[T, 1]:
    """The same for memory that nothing writes during a launch."""


@func
def _words(id: uint64, bytes: int32) -> Array[uint64, 1]:
    """The first `bytes` of a descriptor as words of 8 bytes: its addresses."""
    return _constant_array_at(id, uint64(0), bytes / 8, uint64(0))


@func
def _integers(id: uint64, bytes: int32) -> Array[int32, 1]:
    """The first `bytes` of a descriptor as integers: its counts."""
    return _constant_array_at(id, uint64(0), bytes / 4, int32(0))


@func
@no_grad("an integer")
def _payload(w: float32) -> int32:
    """The index in the fourth number of half a node: all bits but the first."""
    return int32(cast(w, uint32) & uint32(0x7FFFFFFF))


@func
@no_grad("a condition")
def _is_leaf(w: float32) -> bool:
    """Whether the first bit of the fourth number of half a node is set."""
    return cast(w, int32) < 0


# Tests of boxes.

_INFINITY = 1.0e999


@func
@no_grad("a condition")
def _boxes_touch(a_low: Vec[3, float32], a_high: Vec[3, float32], b_low: Vec[3, float32], b_high: Vec[3, float32]) -> bool:
    """Whether two boxes have a point in common; a comparison with NaN does not part them."""
    return not (
        a_low[0] > b_high[0]
        or a_low[1] > b_high[1]
        or a_low[2] > b_high[2]
        or a_high[0] < b_low[0]
        or a_high[1] < b_low[1]
        or a_high[2] < b_low[2]
    )


@func
@no_grad("used to compare")
def _distance_to_box(p: Vec[3, float32], low: Vec[3, float32], high: Vec[3, float32]) -> float32:
    """The square of the distance of a point to a box."""
    x = max(max(low[0] - p[0], p[0] - high[0]), 0.0)
    y = max(max(low[1] - p[1], p[1] - high[1]), 0.0)
    z = max(max(low[2] - p[2], p[2] - high[2]), 0.0)
    return x * x + y * y + z * z


@func
@no_grad("used to compare")
def _furthest_in_box(p: Vec[3, float32], low: Vec[3, float32], high: Vec[3, float32]) -> float32:
    """The square of the distance of a point to the furthest corner of a box."""
    x = max(abs(p[0] - low[0]), abs(p[0] - high[0]))
    y = max(abs(p[1] - low[1]), abs(p[1] - high[1]))
    z = max(abs(p[2] - low[2]), abs(p[2] - high[2]))
    return x * x + y * y + z * z


@func
@no_grad("used to compare")
def _slab(o: float32, d: float32, r: float32, low: float32, high: float32, closed: bool) -> Vec[2, float32]:
    """Where a ray enters and leaves the space between two planes: from `o` in direction `d`, of inverse `r`.

    A ray in a plane is inside if the space is `closed`.
    """
    if d == 0.0:
        # Along the planes: inside everywhere or nowhere.
        if o < low or o > high or not closed and (o == low or o == high):
            return vec2f(_INFINITY, -_INFINITY)
        return vec2f(-_INFINITY, _INFINITY)
    a = (low - o) * r
    b = (high - o) * r
    return vec2f(min(a, b), max(a, b))


@func
@no_grad("used to compare")
def _ray_in_box(
    o: Vec[3, float32],
    d: Vec[3, float32],
    r: Vec[3, float32],
    low: Vec[3, float32],
    high: Vec[3, float32],
    closed: bool,
) -> float32:
    """Where a ray from `o` in direction `d` (of inverse `r`) enters a box; infinity where it does not.

    The far end is moved out by three units in the last place, so that rounding loses no box (Ize,
    Robust BVH Ray Traversal, Journal of Computer Graphics Techniques 2(2), 2013).
    """
    x = _slab(o[0], d[0], r[0], low[0], high[0], closed)
    y = _slab(o[1], d[1], r[1], low[1], high[1], closed)
    z = _slab(o[2], d[2], r[2], low[2], high[2], closed)
    near = max(max(x[0], y[0]), z[0])
    far = min(min(x[1], y[1]), z[1]) * 1.0000004
    return where(far >= 0.0 and far >= near, near, _INFINITY)


@func
@no_grad("a condition")
def _group_of_leaf(lowers: Array[Vec[4, float32], 1], prims: Array[int32, 1], groups: Array[int32, 1], leaf: int32) -> int32:
    """The group of the items in a leaf; trees with groups have their leaves first, in the order of the groups."""
    return groups[prims[_payload(lowers[leaf][3])]]
