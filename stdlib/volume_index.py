# Values in an array, by the indices of voxels.


@func
@no_grad("an integer")
def volume_voxel_count(id: uint64) -> int32:
    """How many voxels of the volume `id` have an index, at most 2^31 - 1.

    ```python
    wp.expect_eq(wp.volume_voxel_count(voxels), 3)
    ```
    """
    kind = _grid_kind(id)
    if kind == 0:
        return 0
    count = uint64(_half_at(id + uint64(_TREE + 32))) * uint64(512)
    if kind == _GRID_ONINDEX or kind == _GRID_ONINDEXMASK:
        count = _word_at(id + uint64(_TREE + 56))
    return int32(min(count, uint64(2147483647)))


@func
@no_grad("an index")
def volume_lookup_index(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """The index of the voxel `(i, j, k)` of the volume `id`, below `volume_voxel_count`; -1: it has none.

    ```python
    wp.expect_eq(wp.volume_lookup_index(voxels, 0, 0, 1), 1)
    wp.expect_eq(wp.volume_lookup_index(voxels, 7, 7, 7), -1)
    ```
    """
    kind = _grid_kind(id)
    if kind == 0:
        return -1
    if kind == _GRID_ONINDEX:
        # The kind that `allocate_by_voxels` makes: what depends on it is known beforehand.
        return _index_in(id, _leaf_of(id, _GRID_ONINDEX, i, j, k), _GRID_ONINDEX, i, j, k)
    return _index_in(id, _leaf_of(id, kind, i, j, k), kind, i, j, k)


@func
@no_grad("an index")
def _closest_index(id: uint64, uvw: Vec[3, float32]) -> int32:
    """The index of the voxel nearest to a point; -1: it has none."""
    i = _voxel_of(round(uvw[0]))
    j = _voxel_of(round(uvw[1]))
    k = _voxel_of(round(uvw[2]))
    return volume_lookup_index(id, i, j, k)


@func
def _voxel_value(voxel_data: Array[T, 1], index: int32, background: T) -> T:
    """The value of the voxel with an index."""
    value = background
    if index >= 0:
        value = voxel_data[index]
    return value


@func
def volume_sample_index(
    id: uint64, uvw: Vec[3, float32], sampling_mode: int32, voxel_data: Array[Scalar, 1], background: Scalar
) -> Scalar:
    """The value at the point `uvw` of the volume `id`, of values in an array.

    The array has the value of the voxel with index `n` at `n` (`volume_lookup_index`); voxels without
    an index have the value `background`. `sampling_mode` is as for `volume_sample`.

    ```python
    data[1] = 4.0
    value = wp.volume_sample_index(voxels, wp.vec3(0.0, 0.0, 1.0), wp.Volume.LINEAR, data, 0.0)
    wp.expect_near(value, 4.0, 1.0e-4)
    ```
    """
    value = Scalar(0)
    if sampling_mode == _CLOSEST:
        value = _voxel_value(voxel_data, _closest_index(id, uvw), background)
    elif sampling_mode == _LINEAR:
        indices = _corner_indices(id, uvw)
        weights = _weights(_in_cell(uvw))
        for c in range(8):
            value += Scalar(weights[c]) * _voxel_value(voxel_data, indices[c], background)
    return value


@func
def volume_sample_index(
    id: uint64,
    uvw: Vec[3, float32],
    sampling_mode: int32,
    voxel_data: Array[Vec[N, Float], 1],
    background: Vec[N, Float],
) -> Vec[N, Float]:
    """The same for vectors."""
    value = Vec[N, Float]()
    if sampling_mode == _CLOSEST:
        value = _voxel_value(voxel_data, _closest_index(id, uvw), background)
    elif sampling_mode == _LINEAR:
        indices = _corner_indices(id, uvw)
        weights = _weights(_in_cell(uvw))
        for c in range(8):
            value += Float(weights[c]) * _voxel_value(voxel_data, indices[c], background)
    return value


@func
def volume_sample_grad_index(
    id: uint64,
    uvw: Vec[3, float32],
    sampling_mode: int32,
    voxel_data: Array[Scalar, 1],
    background: Scalar,
    grad: ref[Vec[3, Scalar]],
) -> Scalar:
    """The value at the point `uvw`, as `volume_sample_index`; `grad` becomes its derivative by `uvw`.

    ```python
    data[1] = 4.0
    slope = wp.vec3()
    value = wp.volume_sample_grad_index(voxels, wp.vec3(0.0, 0.0, 0.5), wp.Volume.LINEAR, data, 0.0, slope)
    wp.expect_near(value, 2.0, 1.0e-4)
    wp.expect_near(slope[2], 4.0, 1.0e-4)
    ```
    """
    value = Scalar(0)
    slope = Vec[3, Scalar]()
    if sampling_mode == _CLOSEST:
        value = _voxel_value(voxel_data, _closest_index(id, uvw), background)
    elif sampling_mode == _LINEAR:
        indices = _corner_indices(id, uvw)
        f = _in_cell(uvw)
        weights = _weights(f)
        slopes = _weight_slopes(f)
        for c in range(8):
            corner = _voxel_value(voxel_data, indices[c], background)
            value += Scalar(weights[c]) * corner
            slope += corner * _as_numbers(slopes[c], Scalar)
    grad = slope
    return value


@func
def volume_sample_grad_index(
    id: uint64,
    uvw: Vec[3, float32],
    sampling_mode: int32,
    voxel_data: Array[Vec[N, Float], 1],
    background: Vec[N, Float],
    grad: ref[Mat[N, 3, Float]],
) -> Vec[N, Float]:
    """The same for vectors."""
    value = Vec[N, Float]()
    slope = Mat[N, 3, Float]()
    if sampling_mode == _CLOSEST:
        value = _voxel_value(voxel_data, _closest_index(id, uvw), background)
    elif sampling_mode == _LINEAR:
        indices = _corner_indices(id, uvw)
        f = _in_cell(uvw)
        weights = _weights(f)
        slopes = _weight_slopes(f)
        for c in range(8):
            corner = _voxel_value(voxel_data, indices[c], background)
            value += Float(weights[c]) * corner
            slope += outer(corner, Vec[3, Float](slopes[c]))
    grad = slope
    return value
