"""What the tests ask of meshes, trees of boxes, hash grids and textures."""

import warp as wp


@wp.kernel
def closest(
    mesh: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    rule: int,
    face: wp.array(dtype=int),
    sign: wp.array(dtype=float),
    near: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, x[i], 1.0e6)
    if rule == 1:
        q = wp.mesh_query_point(mesh, x[i], 1.0e6)
    if rule == 2:
        q = wp.mesh_query_point_sign_parity(mesh, x[i], 1.0e6, n_sample=3)
    if rule == 3:
        q = wp.mesh_query_point_sign_normal(mesh, x[i], 1.0e6)
    if rule == 4:
        q = wp.mesh_query_point_sign_winding_number(mesh, x[i], 1.0e6)
    if rule == 5:
        q = wp.mesh_query_furthest_point_no_sign(mesh, x[i], 0.0)
    face[i] = wp.where(q.result, q.face, -1)
    sign[i] = q.sign
    if q.result:
        near[i] = wp.mesh_eval_position(mesh, q.face, q.u, q.v)


@wp.kernel
def rays(
    mesh: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    face: wp.array(dtype=int),
    t: wp.array(dtype=float),
    sign: wp.array(dtype=float),
    any: wp.array(dtype=int),
    count: wp.array(dtype=int),
):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, x[i], d[i], 1.0e6)
    face[i] = wp.where(q.result, q.face, -1)
    t[i] = q.t
    sign[i] = q.sign
    any[i] = int(wp.mesh_query_ray_anyhit(mesh, x[i], d[i], 1.0e6))
    count[i] = wp.mesh_query_ray_count_intersections(mesh, x[i], d[i])


@wp.kernel
def boxes(
    tree: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    d: wp.array(dtype=wp.vec3),
    radius: float,
    group: int,
    found: wp.array2d(dtype=int),
):
    """Each kind of query adds up what it finds: numbers of boxes, and of their squares."""
    i = wp.tid()
    root = wp.bvh_get_group_root(tree, group)
    if root >= 0 or group < 0:
        for b in wp.bvh_query_aabb(tree, x[i], x[i] + wp.vec3(radius), root):
            found[i, 0] = found[i, 0] + 1
            found[i, 1] = found[i, 1] + b * b
        for b in wp.bvh_query_sphere(tree, x[i], radius, root):
            found[i, 2] = found[i, 2] + 1
            found[i, 3] = found[i, 3] + b * b
        for b in wp.bvh_query_ray(tree, x[i], d[i], root):
            found[i, 4] = found[i, 4] + 1
            found[i, 5] = found[i, 5] + b * b
        query = wp.bvh_query_capsule(tree, x[i], d[i], 0.5 * radius, root)
        b = int(0)
        while wp.bvh_query_next(query, b, 1.0):
            found[i, 6] = found[i, 6] + 1
            found[i, 7] = found[i, 7] + b * b


@wp.kernel
def cells(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    radius: float,
    order: wp.array2d(dtype=int),
):
    """The points in their order, after their number."""
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, x[i], radius):
        n += 1
        if n < order.shape[1]:
            order[i, n] = j
    order[i, 0] = n


@wp.kernel
def sampled1(t: wp.Texture1D, x: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    out[i] = wp.texture_sample(t, x[i][0], dtype=wp.vec4, lod=x[i][3])


@wp.kernel
def sampled2(t: wp.Texture2D, x: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    out[i] = wp.texture_sample(t, x[i][0], x[i][1], dtype=wp.vec4, lod=x[i][3])


@wp.kernel
def sampled3(t: wp.Texture3D, x: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    out[i] = wp.texture_sample(t, wp.vec3(x[i][0], x[i][1], x[i][2]), dtype=wp.vec4, lod=x[i][3])


@wp.kernel
def together(tree: wp.uint64, mesh: wp.uint64, x: wp.array(dtype=wp.vec3), size: float, found: wp.array2d(dtype=int)):
    """The threads of a block ask together: each row has the numbers of boxes, of faces, and of steps."""
    i, t = wp.tid()
    high = x[i] + wp.vec3(size)
    boxes = wp.tile_bvh_query_aabb(tree, x[i], high)
    while wp.tile_query_valid(boxes):
        b = wp.untile(wp.tile_bvh_query_next(boxes))
        if b >= 0:
            wp.atomic_add(found, i, 0, 1)
            wp.atomic_add(found, i, 1, b * b)
    faces = wp.tile_mesh_query_aabb(mesh, x[i], high)
    steps = int(0)
    while wp.tile_query_valid(faces):
        f = wp.untile(wp.tile_mesh_query_aabb_next(faces))
        if f >= 0:
            wp.atomic_add(found, i, 2, 1)
            wp.atomic_add(found, i, 3, f * f)
        steps += 1
    ray = wp.tile_bvh_query_ray(tree, x[i], wp.vec3(1.0, 0.0, 0.0))
    while wp.tile_query_valid(ray):
        b = wp.untile(wp.tile_bvh_query_next(ray))
        if b >= 0:
            wp.atomic_add(found, i, 4, 1)
    if t == 0:
        found[i, 5] = steps


@wp.kernel
def voxels(
    volume: wp.uint64, again: wp.uint64, x: wp.array(dtype=wp.vec3), found: wp.array(dtype=float), nearest: wp.array(dtype=int)
):
    """Each thread mixes the voxels around its place, and takes the nearest of whole numbers."""
    i = wp.tid()
    found[i] = wp.volume_sample_f(volume, wp.volume_world_to_index(volume, x[i]), wp.Volume.LINEAR)
    nearest[i] = wp.volume_sample_i(again, wp.volume_world_to_index(again, x[i]))
