# What meshes, BVHs, hash grids, volumes and textures have in common: arrays behind an address. An id is the
# address of a descriptor in the memory of whoever runs the kernel, laid out as Warp 1.19 lays out
# its own (warp/native/bvh.h, mesh.h, hashgrid.h, texture.h); src/engines/layout.rs has the same offsets.


# What is between the values that are stored: the nearest one, or a mixture.
_CLOSEST = 0
_LINEAR = 1


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


# Numbers at addresses.


@func
@no_grad("an integer")
def _word_at(address: uint64) -> uint64:
    """The 8 bytes at an address."""
    return _constant_array_at(address, uint64(0), 1, uint64(0))[0]


@func
@no_grad("an integer")
def _half_at(address: uint64) -> uint32:
    """The 4 bytes at an address."""
    return _constant_array_at(address, uint64(0), 1, uint32(0))[0]


@func
@no_grad("an integer")
def _bytes(count: int32) -> uint64:
    """An offset."""
    return uint64(uint32(count))


# Indices below are unsigned: those of `int32` would count from the end where they are negative, which
# takes time to find out.


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
def _boxes_touch(a_low: Vec[3, float32], a_high: Vec[3, float32], b_low: Vec[4, float32], b_high: Vec[4, float32]) -> bool:
    """Whether two boxes have a point in common, the second of a node; a comparison with NaN does not part them."""
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
def _lower(a: float32, b: float32) -> float32:
    """The lower of two numbers; `b` where one is NaN. One instruction, unlike `min`."""
    return where(a < b, a, b)


@func
@no_grad("used to compare")
def _higher(a: float32, b: float32) -> float32:
    """The higher of two numbers; `b` where one is NaN. One instruction, unlike `max`."""
    return where(a > b, a, b)


@func
@no_grad("used to compare")
def _distance_to_box(p: Vec[3, float32], low: Vec[4, float32], high: Vec[4, float32]) -> float32:
    """The square of the distance of a point to the box of a node."""
    x = _higher(_higher(low[0] - p[0], p[0] - high[0]), 0.0)
    y = _higher(_higher(low[1] - p[1], p[1] - high[1]), 0.0)
    z = _higher(_higher(low[2] - p[2], p[2] - high[2]), 0.0)
    return x * x + y * y + z * z


@func
@no_grad("used to compare")
def _furthest_in_box(p: Vec[3, float32], low: Vec[4, float32], high: Vec[4, float32]) -> float32:
    """The square of the distance of a point to the furthest corner of the box of a node."""
    x = _higher(abs(p[0] - low[0]), abs(p[0] - high[0]))
    y = _higher(abs(p[1] - low[1]), abs(p[1] - high[1]))
    z = _higher(abs(p[2] - low[2]), abs(p[2] - high[2]))
    return x * x + y * y + z * z


@func
@no_grad("used to compare")
def _ray_in_box(
    above: Vec[3, float32], below: Vec[3, float32], r: Vec[3, float32], low: Vec[4, float32], high: Vec[4, float32]
) -> float32:
    """Where a ray enters the box of a node, in lengths of its direction, of which `r` is the inverse; infinity where
    it does not. It starts from `above` and `below`, see `_start_beside`.

    The far end is moved out by three units in the last place, so that rounding loses no box (Ize,
    Robust BVH Ray Traversal, Journal of Computer Graphics Techniques 2(2), 2013).
    """
    ax = (low[0] - above[0]) * r[0]
    bx = (high[0] - below[0]) * r[0]
    ay = (low[1] - above[1]) * r[1]
    by = (high[1] - below[1]) * r[1]
    az = (low[2] - above[2]) * r[2]
    bz = (high[2] - below[2]) * r[2]
    near = _higher(_higher(_lower(ax, bx), _lower(ay, by)), _lower(az, bz))
    far = _lower(_lower(_higher(ax, bx), _higher(ay, by)), _higher(az, bz)) * 1.0000004
    return where(far >= 0.0 and far >= near, near, _INFINITY)


@func
@no_grad("used to compare")
def _inverse_direction(d: Vec[3, float32]) -> Vec[3, float32]:
    """One by each component; in place of 0 is a small number."""
    return vec3f(
        1.0 / where(d[0] == 0.0, 1.0e-30, d[0]),
        1.0 / where(d[1] == 0.0, 1.0e-30, d[1]),
        1.0 / where(d[2] == 0.0, 1.0e-30, d[2]),
    )


@func
@no_grad("used to compare")
def _start_beside(o: Vec[3, float32], d: Vec[3, float32], side: float32) -> Vec[3, float32]:
    """The start `o` of a ray in direction `d`, moved by a unit in the last place to one side (1 or -1) where the
    component of the direction is 0: so a ray along any side of a box is inside."""
    unit = _higher(abs(o[0]) * 1.2e-7, 1.0e-20)
    x = where(d[0] == 0.0, o[0] + side * unit, o[0])
    unit = _higher(abs(o[1]) * 1.2e-7, 1.0e-20)
    y = where(d[1] == 0.0, o[1] + side * unit, o[1])
    unit = _higher(abs(o[2]) * 1.2e-7, 1.0e-20)
    z = where(d[2] == 0.0, o[2] + side * unit, o[2])
    return vec3f(x, y, z)


@func
@no_grad("a condition")
def _group_of_leaf(lowers: Array[Vec[4, float32], 1], prims: Array[int32, 1], groups: Array[int32, 1], leaf: int32) -> int32:
    """The group of the items in a leaf; trees with groups have their leaves first, in the order of the groups."""
    return groups[uint32(prims[uint32(_payload(lowers[uint32(leaf)][3]))])]
