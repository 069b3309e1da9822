# Volumes: sparse voxels in a NanoVDB buffer, whose address is the id (warp/native/nanovdb/PNanoVDB.h has
# the format). A root lists upper nodes of 32^3 lower nodes of 16^3 leaves of 8^3 voxels. Where a child
# is missing, the place for it holds the value of all voxels that would be below.

# Kinds of grids, as the format numbers them.
_GRID_FLOAT = 1
_GRID_DOUBLE = 2
_GRID_INT32 = 4
_GRID_INT64 = 5
_GRID_VEC3F = 6
_GRID_VEC3D = 7
_GRID_UINT32 = 10
_GRID_VEC4F = 17
_GRID_VEC4D = 18
_GRID_INDEX = 19
_GRID_ONINDEX = 20
_GRID_INDEXMASK = 21
_GRID_ONINDEXMASK = 22

# Where things are: the map behind the address, the tree, and what the tree says at its beginning.
_MAP_FLOAT32 = 296
_MAP_FLOAT64 = 384
_TREE = 672


@func
@no_grad("an integer")
def _ones(word: uint64) -> int32:
    """How many bits are set."""
    pairs = word - ((word >> uint64(1)) & uint64(0x5555555555555555))
    fours = (pairs & uint64(0x3333333333333333)) + ((pairs >> uint64(2)) & uint64(0x3333333333333333))
    eights = (fours + (fours >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return int32((eights * uint64(0x0101010101010101)) >> uint64(56))


# What the kinds of grids differ in.


@func
@no_grad("an integer")
def _grid_kind(id: uint64) -> int32:
    """The kind of a volume's grid; 0: there is no volume."""
    if id == uint64(0):
        return 0
    return int32(_half_at(id + uint64(636)))


@func
@no_grad("an integer")
def _kind_of(dtype: type[float32]) -> int32:
    """The kind of the grids whose values are of a type."""
    return _GRID_FLOAT


@func
@no_grad("an integer")
def _kind_of(dtype: type[float64]) -> int32:
    """The same."""
    return _GRID_DOUBLE


@func
@no_grad("an integer")
def _kind_of(dtype: type[int32]) -> int32:
    """The same."""
    return _GRID_INT32


@func
@no_grad("an integer")
def _kind_of(dtype: type[int64]) -> int32:
    """The same."""
    return _GRID_INT64


@func
@no_grad("an integer")
def _kind_of(dtype: type[uint32]) -> int32:
    """The same."""
    return _GRID_UINT32


@func
@no_grad("an integer")
def _kind_of(dtype: type[Vec[3, float32]]) -> int32:
    """The same."""
    return _GRID_VEC3F


@func
@no_grad("an integer")
def _kind_of(dtype: type[Vec[3, float64]]) -> int32:
    """The same."""
    return _GRID_VEC3D


@func
@no_grad("an integer")
def _kind_of(dtype: type[Vec[4, float32]]) -> int32:
    """The same."""
    return _GRID_VEC4F


@func
@no_grad("an integer")
def _kind_of(dtype: type[Vec[4, float64]]) -> int32:
    """The same."""
    return _GRID_VEC4D


@func
@no_grad("a condition")
def _is_wide(kind: int32) -> bool:
    """Whether numbers have 8 bytes, those of grids that hold indices among them."""
    return (
        kind == _GRID_DOUBLE
        or kind == _GRID_INT64
        or kind == _GRID_VEC3D
        or kind == _GRID_VEC4D
        or kind >= _GRID_INDEX
        and kind <= 23
    )


@func
@no_grad("an integer")
def _value_size(kind: int32) -> int32:
    """The bytes of a value."""
    of_three = where(kind == _GRID_VEC3D, 24, 12)
    of_four = where(kind == _GRID_VEC4D, 32, 16)
    of_one = where(_is_wide(kind), 8, 4)
    of_any = where(kind == _GRID_VEC4F or kind == _GRID_VEC4D, of_four, of_one)
    return where(kind == _GRID_VEC3F or kind == _GRID_VEC3D, of_three, of_any)


@func
@no_grad("an integer")
def _root_size(kind: int32) -> int32:
    """The bytes of the root, which its tiles follow."""
    most = where(kind == _GRID_VEC4D, 160, 128)
    least = where(_is_wide(kind) or kind == _GRID_VEC3F or kind == _GRID_VEC4F, 96, 64)
    return where(kind == _GRID_VEC3D or kind == _GRID_VEC4D, most, least)


@func
@no_grad("an integer")
def _tile_size(kind: int32) -> int32:
    """The bytes of a tile of the root."""
    return where(kind == _GRID_VEC3D or kind == _GRID_VEC4F or kind == _GRID_VEC4D, 64, 32)


@func
@no_grad("an integer")
def _slot_size(kind: int32) -> int32:
    """The bytes of a place for a child or a value in a node."""
    return where(_value_size(kind) <= 8, 8, where(kind == _GRID_VEC3F, 16, _value_size(kind)))


@func
@no_grad("an integer")
def _slots_behind(kind: int32) -> int32:
    """How many bytes further than in most kinds the places of a node begin."""
    return where(kind == _GRID_VEC4D, 64, where(kind == _GRID_VEC3D or kind == _GRID_VEC4F, 32, 0))


@func
@no_grad("an integer")
def _values_in_leaf(kind: int32) -> int32:
    """Where the values begin in a leaf."""
    if kind == _GRID_VEC3D or kind == _GRID_VEC4D:
        return 160
    return where(_value_size(kind) > 4, 128, 96)


@func
@no_grad("an integer")
def _leaf_size(kind: int32) -> int32:
    """The bytes of a leaf of any kind of grid that does not hold indices."""
    if kind == 3 or kind == 9 or kind == 15:
        # Of 2 bytes.
        return 1120
    if kind == 8 or kind == 16:
        return 96
    if kind == 11:
        return 160
    if kind == 13:
        return 352
    if kind == 14 or kind == 26:
        return 608
    if kind == 23:
        return 1120
    if kind == 24:
        return 1632
    if kind == 25:
        return 3200
    return _values_in_leaf(kind) + 512 * _value_size(kind)


# From a voxel to what is stored for it.


@func
@no_grad("an integer")
def _voxel_of(x: float32) -> int32:
    """The voxel at a whole number; NaN has one that no volume has."""
    return where(x == x, int32(x), -2147483647 - 1)


@func
@no_grad("an integer")
def _place(i: int32, j: int32, k: int32, shift: int32, width: int32) -> int32:
    """The number of a child of 2^`shift` voxels in each direction in a node of 2^`width` children in each."""
    mask = (1 << width) - 1
    return ((((i >> shift) & mask) << width | ((j >> shift) & mask)) << width) | ((k >> shift) & mask)


@func
@no_grad("a condition")
def _has_child(mask: uint64, place: int32) -> bool:
    """Whether a bit is set in a mask at an address."""
    return ((_half_at(mask + _bytes((place >> 5) * 4)) >> uint32(place & 31)) & uint32(1)) != uint32(0)


@func
@no_grad("an address")
def _lower_node(id: uint64, kind: int32, i: int32, j: int32, k: int32) -> uint64:
    """The address of the lower node with a voxel. If there is none, the address of the value of all voxels
    that would be below, plus 1."""
    root = id + uint64(_TREE) + _word_at(id + uint64(_TREE + 24))
    tile = root + _bytes(_root_size(kind))
    size = _bytes(_tile_size(kind))
    end = tile + uint64(_half_at(root + uint64(24))) * size
    key = (
        uint64(uint32(i) >> uint32(12)) << uint64(42)
        | uint64(uint32(j) >> uint32(12)) << uint64(21)
        | uint64(uint32(k) >> uint32(12))
    )
    while tile < end:
        if _word_at(tile) == key:
            break
        tile += size
    if tile >= end:
        return root + _bytes(where(_is_wide(kind), 33, 29))
    child = _word_at(tile + uint64(8))
    if child == uint64(0):
        return tile + _bytes(where(_is_wide(kind), 25, 21))
    slot = _bytes(_slot_size(kind))
    upper = root + child
    place = _place(i, j, k, 7, 5)
    at = upper + _bytes(8256 + _slots_behind(kind)) + slot * _bytes(place)
    if not _has_child(upper + uint64(4128), place):
        return at + uint64(1)
    return upper + _word_at(at)


@func
@no_grad("a condition")
def _is_node(address: uint64) -> bool:
    """Whether an address is that of a node, and not of one value for all voxels below, plus 1."""
    return (address & uint64(1)) == uint64(0)


@func
@no_grad("an address")
def _leaf(lower: uint64, kind: int32, i: int32, j: int32, k: int32) -> uint64:
    """The address of the leaf with a voxel, which is below a lower node; or that of a value, plus 1."""
    if not _is_node(lower):
        return lower
    place = _place(i, j, k, 3, 4)
    at = lower + _bytes(1088 + _slots_behind(kind)) + _bytes(_slot_size(kind) * place)
    if not _has_child(lower + uint64(544), place):
        return at + uint64(1)
    return lower + _word_at(at)


@func
@no_grad("an address")
def _leaf_of(id: uint64, kind: int32, i: int32, j: int32, k: int32) -> uint64:
    """The address of the leaf with a voxel; or that of a value, plus 1."""
    return _leaf(_lower_node(id, kind, i, j, k), kind, i, j, k)


@func
@no_grad("addresses")
def _corner_leaves(id: uint64, kind: int32, i: int32, j: int32, k: int32) -> Vec[8, uint64]:
    """The leaves of the voxels from `(i, j, k)` to `(i + 1, j + 1, k + 1)`, ordered by coordinates."""
    lower = _lower_node(id, kind, i, j, k)
    # Where the last bits of a coordinate are all set the next one is in another leaf, or lower node.
    if (i & 7) < 7 and (j & 7) < 7 and (k & 7) < 7:
        return Vec[8, uint64](_leaf(lower, kind, i, j, k))
    leaves = Vec[8, uint64]()
    if (i & 127) < 127 and (j & 127) < 127 and (k & 127) < 127:
        for c in range(8):
            leaves[c] = _leaf(lower, kind, i + (c >> 2), j + ((c >> 1) & 1), k + (c & 1))
    else:
        for c in range(8):
            leaves[c] = _leaf_of(id, kind, i + (c >> 2), j + ((c >> 1) & 1), k + (c & 1))
    return leaves


@func
@no_grad("an address")
def _address_in(leaf: uint64, kind: int32, i: int32, j: int32, k: int32) -> uint64:
    """Where the value of a voxel of a leaf is."""
    if _is_node(leaf):
        return leaf + _bytes(_values_in_leaf(kind) + _value_size(kind) * _place(i, j, k, 0, 3))
    return leaf - uint64(1)


@func
@no_grad("an index")
def _index_in(id: uint64, leaf: uint64, kind: int32, i: int32, j: int32, k: int32) -> int32:
    """The index of a voxel of a leaf; -1: it has none."""
    if not _is_node(leaf):
        return -1
    place = _place(i, j, k, 0, 3)
    if kind == _GRID_INDEX or kind == _GRID_INDEXMASK:
        return int32(_word_at(leaf + uint64(80))) + place - 1
    if kind == _GRID_ONINDEX or kind == _GRID_ONINDEXMASK:
        word = place >> 6
        mask = _word_at(leaf + _bytes(16 + 8 * word))
        bit = uint64(1) << uint64(place & 63)
        if (mask & bit) == uint64(0):
            return -1
        before = _ones(mask & (bit - uint64(1)))
        if word > 0:
            before += int32((_word_at(leaf + uint64(88)) >> uint64(9 * (word - 1))) & uint64(511))
        return int32(_word_at(leaf + uint64(80))) + before - 1
    first = id + uint64(_TREE) + _word_at(id + uint64(_TREE))
    # Sizes are multiples of 32, and division is quicker in 32 bits.
    leaves = uint32((leaf - first) >> uint64(5)) / uint32(_leaf_size(kind) >> 5)
    return int32(leaves) * 512 + place


@func
@zero_grad("values stored in a volume have no gradients")
def _value_at(address: uint64, dtype: type[Scalar]) -> Scalar:
    """The value at an address."""
    return _array_at(address, uint64(0), 1, Scalar(0))[0]


@func
@zero_grad("values stored in a volume have no gradients")
def _value_at(address: uint64, dtype: type[Vec[N, Float]]) -> Vec[N, Float]:
    """The same; vectors at the root are not aligned."""
    parts = _array_at(address, uint64(0), N, Float(0.0))
    value = Vec[N, Float]()
    for n in range(N):
        value[n] = parts[n]
    return value


# Values.


@func
@zero_grad("values stored in a volume have no gradients")
def volume_lookup(id: uint64, i: int32, j: int32, k: int32, dtype: type[T]) -> T:
    """The value of the voxel `(i, j, k)` of the volume `id`; outside of the volume its background.

    `dtype` is the type of the values: `int32`, `int64`, `uint32`, `float32`, `float64`, `vec3f`,
    `vec3d`, `vec4f` or `vec4d`. Of a volume with values of another type the result is 0.

    ```python
    wp.expect_eq(wp.volume_lookup(volume, 1, 2, 3, dtype=float), 321.0)
    wp.expect_eq(wp.volume_lookup(volume, 100, 0, 0, dtype=float), -1.0)
    ```
    """
    kind = _kind_of(dtype)
    value = T()
    if _grid_kind(id) == kind:
        value = _value_at(_address_in(_leaf_of(id, kind, i, j, k), kind, i, j, k), dtype)
    return value


@func
@zero_grad("values stored in a volume have no gradients")
def volume_lookup_f(id: uint64, i: int32, j: int32, k: int32) -> float32:
    """The value of the voxel `(i, j, k)` of a volume of `float32`.

    ```python
    wp.expect_eq(wp.volume_lookup_f(volume, 1, 2, 3), 321.0)
    ```
    """
    return volume_lookup(id, i, j, k, float32)


@func
@zero_grad("values stored in a volume have no gradients")
def volume_lookup_v(id: uint64, i: int32, j: int32, k: int32) -> Vec[3, float32]:
    """The value of the voxel `(i, j, k)` of a volume of `vec3f`.

    ```python
    wp.expect_eq(wp.volume_lookup_v(volume, 1, 2, 3), wp.vec3(0.0))
    ```
    """
    return volume_lookup(id, i, j, k, vec3f)


@func
@no_grad("an integer")
def volume_lookup_i(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """The value of the voxel `(i, j, k)` of a volume of `int32`.

    ```python
    wp.expect_eq(wp.volume_lookup_i(volume, 1, 2, 3), 0)
    ```
    """
    return volume_lookup(id, i, j, k, int32)


@func
@zero_grad("values stored in a volume have no gradients")
def volume_store(id: uint64, i: int32, j: int32, k: int32, value: Scalar):
    """Sets the voxel `(i, j, k)` of the volume `id`, if `value` is of the type of its values.

    Voxels that are not in a leaf stay as they are: `wp.Volume.allocate_by_tiles` makes leaves.

    ```python
    wp.volume_store(volume, 7, 7, 7, 5.0)
    wp.expect_eq(wp.volume_lookup_f(volume, 7, 7, 7), 5.0)
    ```
    """
    kind = _kind_of(Scalar)
    if _grid_kind(id) == kind:
        leaf = _leaf_of(id, kind, i, j, k)
        if _is_node(leaf):
            place = _array_at(_address_in(leaf, kind, i, j, k), uint64(0), 1, Scalar(0))
            place[0] = value


@func
@zero_grad("values stored in a volume have no gradients")
def volume_store(id: uint64, i: int32, j: int32, k: int32, value: Vec[N, Float]):
    """The same for vectors."""
    kind = _kind_of(Vec[N, Float])
    if _grid_kind(id) == kind:
        leaf = _leaf_of(id, kind, i, j, k)
        if _is_node(leaf):
            place = _array_at(_address_in(leaf, kind, i, j, k), uint64(0), N, Float(0.0))
            for n in range(N):
                place[n] = value[n]


@func
@zero_grad("values stored in a volume have no gradients")
def volume_store_f(id: uint64, i: int32, j: int32, k: int32, value: float32):
    """Sets the voxel `(i, j, k)` of a volume of `float32`.

    ```python
    wp.volume_store_f(volume, 7, 7, 7, 6.0)
    wp.expect_eq(wp.volume_lookup_f(volume, 7, 7, 7), 6.0)
    ```
    """
    volume_store(id, i, j, k, value)


@func
@zero_grad("values stored in a volume have no gradients")
def volume_store_v(id: uint64, i: int32, j: int32, k: int32, value: Vec[3, float32]):
    """Sets the voxel `(i, j, k)` of a volume of `vec3f`.

    ```python
    wp.volume_store_v(volume, 100, 7, 7, wp.vec3(1.0))
    ```
    """
    volume_store(id, i, j, k, value)


@func
@no_grad("integers")
def volume_store_i(id: uint64, i: int32, j: int32, k: int32, value: int32):
    """Sets the voxel `(i, j, k)` of a volume of `int32`.

    ```python
    wp.volume_store_i(volume, 100, 7, 7, 1)
    ```
    """
    volume_store(id, i, j, k, value)


# Samples. The values of the corners of a cell are found without gradients; mixing them is
# differentiated.


@func
@zero_grad("values stored in a volume have no gradients")
def _closest(id: uint64, uvw: Vec[3, float32], dtype: type[T]) -> T:
    """The value of the voxel nearest to a point."""
    i = _voxel_of(round(uvw[0]))
    j = _voxel_of(round(uvw[1]))
    k = _voxel_of(round(uvw[2]))
    return volume_lookup(id, i, j, k, dtype)


@func
@zero_grad("values stored in a volume have no gradients")
def _corners(id: uint64, uvw: Vec[3, float32], dtype: type[Scalar]) -> Vec[8, Scalar]:
    """The values at the corners of the cell of a point, in the order of their coordinates."""
    kind = _kind_of(dtype)
    i = _voxel_of(floor(uvw[0]))
    j = _voxel_of(floor(uvw[1]))
    k = _voxel_of(floor(uvw[2]))
    leaves = _corner_leaves(id, kind, i, j, k)
    values = Vec[8, Scalar]()
    for c in range(8):
        at = _address_in(leaves[c], kind, i + (c >> 2), j + ((c >> 1) & 1), k + (c & 1))
        values[c] = _value_at(at, dtype)
    return values


@func
@zero_grad("values stored in a volume have no gradients")
def _corners(id: uint64, uvw: Vec[3, float32], dtype: type[Vec[N, Float]]) -> Mat[8, N, Float]:
    """The same; each row is a value."""
    kind = _kind_of(dtype)
    i = _voxel_of(floor(uvw[0]))
    j = _voxel_of(floor(uvw[1]))
    k = _voxel_of(floor(uvw[2]))
    leaves = _corner_leaves(id, kind, i, j, k)
    values = Mat[8, N, Float]()
    for c in range(8):
        at = _address_in(leaves[c], kind, i + (c >> 2), j + ((c >> 1) & 1), k + (c & 1))
        values[c] = _value_at(at, dtype)
    return values


@func
@no_grad("indices")
def _corner_indices(id: uint64, uvw: Vec[3, float32]) -> Vec[8, int32]:
    """The indices of the corners of the cell of a point; -1 where there is none."""
    kind = _grid_kind(id)
    indices = Vec[8, int32](-1)
    if kind != 0:
        i = _voxel_of(floor(uvw[0]))
        j = _voxel_of(floor(uvw[1]))
        k = _voxel_of(floor(uvw[2]))
        leaves = _corner_leaves(id, kind, i, j, k)
        for c in range(8):
            indices[c] = _index_in(id, leaves[c], kind, i + (c >> 2), j + ((c >> 1) & 1), k + (c & 1))
    return indices


@func
def _in_cell(uvw: Vec[3, float32]) -> Vec[3, float32]:
    """Where a point is in its cell."""
    return Vec[3, float32](uvw[0] - floor(uvw[0]), uvw[1] - floor(uvw[1]), uvw[2] - floor(uvw[2]))


@func
def _weights(f: Vec[3, float32]) -> Vec[8, float32]:
    """How much each corner of a cell counts at a point in it."""
    x = 1.0 - f[0]
    y = 1.0 - f[1]
    z = 1.0 - f[2]
    return Vec[8, float32](
        x * y * z,
        x * y * f[2],
        x * f[1] * z,
        x * f[1] * f[2],
        f[0] * y * z,
        f[0] * y * f[2],
        f[0] * f[1] * z,
        f[0] * f[1] * f[2],
    )


@func
def _weight_slopes(f: Vec[3, float32]) -> Mat[8, 3, float32]:
    """The derivatives of the weights by the point."""
    x = 1.0 - f[0]
    y = 1.0 - f[1]
    z = 1.0 - f[2]
    return Mat[8, 3, float32](
        -y * z, -x * z, -x * y,
        -y * f[2], -x * f[2], x * y,
        -f[1] * z, x * z, -x * f[1],
        -f[1] * f[2], x * f[2], x * f[1],
        y * z, -f[0] * z, -f[0] * y,
        y * f[2], -f[0] * f[2], f[0] * y,
        f[1] * z, f[0] * z, -f[0] * f[1],
        f[1] * f[2], f[0] * f[2], f[0] * f[1],
    )


@func
def _as_numbers(v: Vec[3, float32], dtype: type[Scalar]) -> Vec[3, Scalar]:
    """A vector of numbers of another type."""
    return Vec[3, Scalar](Scalar(v[0]), Scalar(v[1]), Scalar(v[2]))


@func
def volume_sample(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, dtype: type[Scalar]) -> Scalar:
    """The value of the volume `id` at the point `uvw`, in voxels.

    `wp.Volume.CLOSEST` is the value of the nearest voxel: halves are rounded away from zero.
    `wp.Volume.LINEAR` mixes those of the eight voxels around. `dtype` is as for `volume_lookup`.

    ```python
    wp.expect_near(wp.volume_sample(volume, wp.vec3(1.5, 2.0, 3.0), wp.Volume.LINEAR, dtype=float), 321.5, 1.0e-3)
    ```
    """
    value = Scalar(0)
    if _grid_kind(id) == _kind_of(dtype):
        if sampling_mode == _CLOSEST:
            value = _closest(id, uvw, dtype)
        elif sampling_mode == _LINEAR:
            corners = _corners(id, uvw, dtype)
            weights = _weights(_in_cell(uvw))
            for c in range(8):
                value += Scalar(weights[c]) * corners[c]
    return value


@func
def volume_sample(
    id: uint64, uvw: Vec[3, float32], sampling_mode: int32, dtype: type[Vec[N, Float]]
) -> Vec[N, Float]:
    """The same for vectors."""
    value = Vec[N, Float]()
    if _grid_kind(id) == _kind_of(dtype):
        if sampling_mode == _CLOSEST:
            value = _closest(id, uvw, dtype)
        elif sampling_mode == _LINEAR:
            corners = _corners(id, uvw, dtype)
            weights = _weights(_in_cell(uvw))
            for c in range(8):
                value += Float(weights[c]) * corners[c]
    return value


@func
def volume_sample_f(id: uint64, uvw: Vec[3, float32], sampling_mode: int32) -> float32:
    """The value of a volume of `float32` at the point `uvw`, in voxels.

    ```python
    wp.expect_eq(wp.volume_sample_f(volume, wp.vec3(1.25, 2.0, 3.0), wp.Volume.CLOSEST), 321.0)
    ```
    """
    return volume_sample(id, uvw, sampling_mode, float32)


@func
def volume_sample_v(id: uint64, uvw: Vec[3, float32], sampling_mode: int32) -> Vec[3, float32]:
    """The value of a volume of `vec3f` at the point `uvw`, in voxels.

    ```python
    wp.expect_eq(wp.volume_sample_v(volume, wp.vec3(1.0, 2.0, 3.0), wp.Volume.LINEAR), wp.vec3(0.0))
    ```
    """
    return volume_sample(id, uvw, sampling_mode, vec3f)


@func
@zero_grad("the nearest voxel changes in steps")
def volume_sample_i(id: uint64, uvw: Vec[3, float32]) -> int32:
    """The value of the voxel nearest to `uvw` of a volume of `int32`.

    ```python
    wp.expect_eq(wp.volume_sample_i(volume, wp.vec3(1.0, 2.0, 3.0)), 0)
    ```
    """
    return volume_sample(id, uvw, _CLOSEST, int32)


@func
def volume_sample_grad(
    id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Vec[3, Scalar]], dtype: type[Scalar]
) -> Scalar:
    """The value of the volume `id` at the point `uvw`; `grad` becomes its derivative by `uvw`.

    It is 0 for `wp.Volume.CLOSEST`. The derivative of a vector is a matrix with a row for
    each component.

    ```python
    slope = wp.vec3()
    value = wp.volume_sample_grad(volume, wp.vec3(1.5, 2.5, 3.5), wp.Volume.LINEAR, slope, dtype=float)
    wp.expect_near(slope, wp.vec3(1.0, 10.0, 100.0), 1.0e-2)
    ```
    """
    value = Scalar(0)
    slope = Vec[3, Scalar]()
    if _grid_kind(id) == _kind_of(dtype):
        if sampling_mode == _CLOSEST:
            value = _closest(id, uvw, dtype)
        elif sampling_mode == _LINEAR:
            corners = _corners(id, uvw, dtype)
            f = _in_cell(uvw)
            weights = _weights(f)
            slopes = _weight_slopes(f)
            for c in range(8):
                value += Scalar(weights[c]) * corners[c]
                slope += corners[c] * _as_numbers(slopes[c], dtype)
    grad = slope
    return value


@func
def volume_sample_grad(
    id: uint64,
    uvw: Vec[3, float32],
    sampling_mode: int32,
    grad: ref[Mat[N, 3, Float]],
    dtype: type[Vec[N, Float]],
) -> Vec[N, Float]:
    """The same for vectors."""
    value = Vec[N, Float]()
    slope = Mat[N, 3, Float]()
    if _grid_kind(id) == _kind_of(dtype):
        if sampling_mode == _CLOSEST:
            value = _closest(id, uvw, dtype)
        elif sampling_mode == _LINEAR:
            corners = _corners(id, uvw, dtype)
            f = _in_cell(uvw)
            weights = _weights(f)
            slopes = _weight_slopes(f)
            for c in range(8):
                value += Float(weights[c]) * corners[c]
                slope += outer(corners[c], Vec[3, Float](slopes[c]))
    grad = slope
    return value


@func
def volume_sample_grad_f(
    id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Vec[3, float32]]
) -> float32:
    """The value of a volume of `float32` at the point `uvw`; `grad` becomes its derivative by `uvw`.

    ```python
    slope = wp.vec3()
    value = wp.volume_sample_grad_f(volume, wp.vec3(1.5, 2.5, 3.5), wp.Volume.LINEAR, slope)
    wp.expect_near(value, 376.5, 1.0e-2)
    ```
    """
    return volume_sample_grad(id, uvw, sampling_mode, grad, float32)
