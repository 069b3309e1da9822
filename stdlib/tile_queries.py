# Queries that the threads of a block make together: a step gives one number to each thread. The
# block walks the tree once, as one thread does.


@struct
class BvhQueryTiled:
    """What is left of a query of a block for boxes: made by `tile_bvh_query_aabb` and `tile_bvh_query_ray`."""

    boxes: BvhQuery
    # Whether the last step found something; before the first one, True.
    valid: bool


@struct
class MeshQueryAABBTiled:
    """What is left of a query of a block for faces: made by `tile_mesh_query_aabb`."""

    faces: MeshQueryAABB
    valid: bool


@func
@zero_grad("which boxes are found changes in steps")
def tile_bvh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> BvhQueryTiled:
    """A query of all threads of a block for the boxes of the BVH `id` that touch the box from `low` to `high`.

    The arguments are the same in all threads.

    ```python
    n = int(0)
    query = wp.tile_bvh_query_aabb(tree, wp.vec3(2.0, 0.0, 0.0), wp.vec3(3.0, 1.0, 1.0))
    while wp.tile_query_valid(query):
        found = wp.tile_bvh_query_next(query)
        n += wp.where(wp.tile_extract(found, 0) >= 0, 1, 0)
    wp.expect_eq(n > 0, True)
    ```
    """
    return BvhQueryTiled(bvh_query_aabb(id, low, high), True)


@func
@zero_grad("which boxes are found changes in steps")
def bvh_query_aabb_tiled(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> BvhQueryTiled:
    """The older name of `tile_bvh_query_aabb`.

    ```python
    query = wp.bvh_query_aabb_tiled(tree, wp.vec3(2.0, 0.0, 0.0), wp.vec3(3.0, 1.0, 1.0))
    wp.expect_eq(wp.tile_query_valid(query), True)
    ```
    """
    return tile_bvh_query_aabb(id, low, high)


@func
@zero_grad("which boxes are found changes in steps")
def tile_bvh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32]) -> BvhQueryTiled:
    """A query of all threads of a block for the boxes of the BVH `id` that a ray goes through.

    ```python
    n = int(0)
    query = wp.tile_bvh_query_ray(tree, wp.vec3(2.25, 0.5, 0.5), wp.vec3(1.0, 0.0, 0.0))
    while wp.tile_query_valid(query):
        found = wp.tile_bvh_query_next(query)
        n += wp.where(wp.tile_extract(found, 0) >= 0, 1, 0)
    wp.expect_eq(n > 0, True)
    ```
    """
    return BvhQueryTiled(bvh_query_ray(id, start, dir), True)


@func
@zero_grad("which boxes are found changes in steps")
def bvh_query_ray_tiled(id: uint64, start: Vec[3, float32], dir: Vec[3, float32]) -> BvhQueryTiled:
    """The older name of `tile_bvh_query_ray`.

    ```python
    query = wp.bvh_query_ray_tiled(tree, wp.vec3(2.25, 0.5, 0.5), wp.vec3(1.0, 0.0, 0.0))
    wp.expect_eq(wp.tile_query_valid(query), True)
    ```
    """
    return tile_bvh_query_ray(id, start, dir)


@func
@zero_grad("which faces are found changes in steps")
def tile_mesh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> MeshQueryAABBTiled:
    """A query of all threads of a block for the faces of the mesh `id` whose boxes touch the box from `low` to `high`.

    ```python
    n = int(0)
    query = wp.tile_mesh_query_aabb(mesh, wp.vec3(-0.5), wp.vec3(0.0))
    while wp.tile_query_valid(query):
        found = wp.tile_mesh_query_aabb_next(query)
        n += wp.where(wp.tile_extract(found, 0) >= 0, 1, 0)
    wp.expect_eq(n > 0, True)
    ```
    """
    return MeshQueryAABBTiled(mesh_query_aabb(id, low, high), True)


@func
@zero_grad("which faces are found changes in steps")
def mesh_query_aabb_tiled(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> MeshQueryAABBTiled:
    """The older name of `tile_mesh_query_aabb`.

    ```python
    query = wp.mesh_query_aabb_tiled(mesh, wp.vec3(-0.5), wp.vec3(0.0))
    wp.expect_eq(wp.tile_query_valid(query), True)
    ```
    """
    return tile_mesh_query_aabb(id, low, high)


@func
@zero_grad("which boxes are found changes in steps")
def tile_query_valid(query: BvhQueryTiled) -> bool:
    """Whether a query of a block goes on: until a step gives nothing to any thread.

    ```python
    query = wp.tile_bvh_query_aabb(tree, wp.vec3(2.0, 5.0, 0.0), wp.vec3(3.0, 6.0, 1.0))
    wp.expect_eq(wp.tile_query_valid(query), True)
    wp.expect_eq(wp.tile_bvh_query_next(query)[0], -1)
    wp.expect_eq(wp.tile_query_valid(query), False)
    ```
    """
    return query.valid


@func
@zero_grad("which faces are found changes in steps")
def tile_query_valid(query: MeshQueryAABBTiled) -> bool:
    """The same of a query for faces."""
    return query.valid


@intrinsic
@zero_grad("which boxes are found changes in steps")
def tile_bvh_query_next(query: Any):
    """A tile with one number for each thread of the block: a box that the query finds, or -1. Their order is the tree's.

    ```python
    query = wp.tile_bvh_query_aabb(tree, wp.vec3(0.25, 0.0, 0.0), wp.vec3(0.5, 1.0, 1.0))
    wp.expect_eq(wp.tile_bvh_query_next(query)[0], 0)
    ```
    """


@intrinsic
@zero_grad("which boxes are found changes in steps")
def bvh_query_next_tiled(query: Any):
    """The older name of `tile_bvh_query_next`.

    ```python
    query = wp.bvh_query_aabb_tiled(tree, wp.vec3(0.25, 0.0, 0.0), wp.vec3(0.5, 1.0, 1.0))
    wp.expect_eq(wp.bvh_query_next_tiled(query)[0], 0)
    ```
    """


@intrinsic
@zero_grad("which faces are found changes in steps")
def tile_mesh_query_aabb_next(query: Any):
    """A tile with one number for each thread of the block: a face that the query finds, or -1.

    ```python
    query = wp.tile_mesh_query_aabb(mesh, wp.vec3(0.25), wp.vec3(0.75))
    wp.expect_eq(wp.tile_mesh_query_aabb_next(query)[0], -1)
    ```
    """


@intrinsic
@zero_grad("which faces are found changes in steps")
def mesh_query_aabb_next_tiled(query: Any):
    """The older name of `tile_mesh_query_aabb_next`.

    ```python
    query = wp.mesh_query_aabb_tiled(mesh, wp.vec3(0.25), wp.vec3(0.75))
    wp.expect_eq(wp.mesh_query_aabb_next_tiled(query)[0], -1)
    ```
    """


@func
@zero_grad("which boxes are found changes in steps")
def _tile_bvh_query_next(found: Array[int32, 1], query: ref[BvhQueryTiled]):
    """The next boxes, and -1 for the threads that are left."""
    query.valid = False
    for k in range(found.shape[0]):
        box = int32(-1)
        if bvh_query_next(query.boxes, box):
            query.valid = True
        found[k] = box


@func
@zero_grad("which faces are found changes in steps")
def _tile_mesh_query_aabb_next(found: Array[int32, 1], query: ref[MeshQueryAABBTiled]):
    """The same for faces."""
    query.valid = False
    for k in range(found.shape[0]):
        face = int32(-1)
        if mesh_query_next(query.faces, face):
            query.valid = True
        found[k] = face
