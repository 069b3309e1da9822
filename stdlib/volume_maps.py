# Between voxels and the world. The map has a matrix, its inverse and a translation.


@func
@compiler_grad("a constant")
def _map(id: uint64, dtype: type[float32]) -> Array[float32, 1]:
    """The numbers of a map."""
    return _constant_array_at(id + uint64(_MAP_FLOAT32), uint64(0), 21, float32(0.0))


@func
@compiler_grad("a constant")
def _map(id: uint64, dtype: type[float64]) -> Array[float64, 1]:
    """The same."""
    return _constant_array_at(id + uint64(_MAP_FLOAT64), uint64(0), 21, float64(0.0))


@func
def _turned(map: Array[Float, 1], first: int32, x: Vec[3, Float]) -> Vec[3, Float]:
    """The product of the matrix from `first` on with a vector."""
    return Vec[3, Float](
        x[0] * map[first] + x[1] * map[first + 1] + x[2] * map[first + 2],
        x[0] * map[first + 3] + x[1] * map[first + 4] + x[2] * map[first + 5],
        x[0] * map[first + 6] + x[1] * map[first + 7] + x[2] * map[first + 8],
    )


@func
def _shift(map: Array[Float, 1]) -> Vec[3, Float]:
    """The translation."""
    return Vec[3, Float](map[18], map[19], map[20])


@func
def volume_index_to_world(id: uint64, uvw: Vec[3, float32]) -> Vec[3, float32]:
    """Where the point `uvw`, in voxels of the volume `id`, is in the world.

    ```python
    wp.expect_near(wp.volume_index_to_world(volume, wp.vec3(1.0, 2.0, 3.0)), wp.vec3(0.5, 1.0, 1.5), 1.0e-5)
    ```
    """
    map = _map(id, float32)
    return _turned(map, 0, uvw) + _shift(map)


@func
def volume_index_to_world(id: uint64, uvw: Vec[3, float64]) -> Vec[3, float64]:
    """The same in `float64`."""
    map = _map(id, float64)
    return _turned(map, 0, uvw) + _shift(map)


@func
def volume_world_to_index(id: uint64, xyz: Vec[3, float32]) -> Vec[3, float32]:
    """Where the point `xyz` of the world is in voxels of the volume `id`.

    ```python
    wp.expect_near(wp.volume_world_to_index(volume, wp.vec3(0.5, 1.0, 1.5)), wp.vec3(1.0, 2.0, 3.0), 1.0e-5)
    ```
    """
    map = _map(id, float32)
    return _turned(map, 9, xyz - _shift(map))


@func
def volume_world_to_index(id: uint64, xyz: Vec[3, float64]) -> Vec[3, float64]:
    """The same in `float64`."""
    map = _map(id, float64)
    return _turned(map, 9, xyz - _shift(map))


@func
def volume_index_to_world_dir(id: uint64, uvw: Vec[3, float32]) -> Vec[3, float32]:
    """The direction in the world of a direction in voxels of the volume `id`: without the translation.

    ```python
    wp.expect_near(wp.volume_index_to_world_dir(volume, wp.vec3(2.0, 0.0, 0.0)), wp.vec3(1.0, 0.0, 0.0), 1.0e-5)
    ```
    """
    return _turned(_map(id, float32), 0, uvw)


@func
def volume_index_to_world_dir(id: uint64, uvw: Vec[3, float64]) -> Vec[3, float64]:
    """The same in `float64`."""
    return _turned(_map(id, float64), 0, uvw)


@func
def volume_world_to_index_dir(id: uint64, xyz: Vec[3, float32]) -> Vec[3, float32]:
    """The direction in voxels of the volume `id` of a direction in the world: without the translation.

    ```python
    wp.expect_near(wp.volume_world_to_index_dir(volume, wp.vec3(1.0, 0.0, 0.0)), wp.vec3(2.0, 0.0, 0.0), 1.0e-5)
    ```
    """
    return _turned(_map(id, float32), 9, xyz)


@func
def volume_world_to_index_dir(id: uint64, xyz: Vec[3, float64]) -> Vec[3, float64]:
    """The same in `float64`."""
    return _turned(_map(id, float64), 9, xyz)
