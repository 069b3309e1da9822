"""Meshes, trees of boxes and hash grids: what kernels find is what a search of all finds."""

import copy
import gc
import pickle

import kc
import kc.warp as wp
import numpy as np
import pytest

FAR = 1.0e6


@kc.kernel
def closest(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), found: kc.array(dtype=kc.vec3), face: kc.array(dtype=int)):
    i = kc.tid()
    q = kc.mesh_query_point_no_sign(mesh, x[i], 1.0e6)
    face[i] = -1
    if q.result:
        face[i] = q.face
        found[i] = kc.mesh_eval_position(mesh, q.face, q.u, q.v)


@kc.kernel
def shoot(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), d: kc.array(dtype=kc.vec3), t: kc.array(dtype=float), face: kc.array(dtype=int)):
    i = kc.tid()
    q = kc.mesh_query_ray(mesh, x[i], d[i], 1.0e6)
    face[i] = -1
    if q.result:
        t[i] = q.t
        face[i] = q.face


@kc.kernel
def touching(tree: kc.uint64, low: kc.array(dtype=kc.vec3), high: kc.array(dtype=kc.vec3), n: kc.array(dtype=int)):
    i = kc.tid()
    for j in kc.bvh_query_aabb(tree, low[i], high[i]):
        n[i] += j + 1


@kc.kernel
def crowd(grid: kc.uint64, x: kc.array(dtype=kc.vec3), radius: float, out: kc.array(dtype=float)):
    i = kc.tid()
    for j in kc.hash_grid_query(grid, x[i], radius):
        d = kc.length(x[j] - x[i])
        if d < radius:
            out[i] += d


@kc.kernel
def spread(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), loss: kc.array(dtype=float)):
    i = kc.tid()
    q = kc.mesh_query_point_no_sign(mesh, x[i], 1.0e6)
    d = kc.mesh_eval_position(mesh, q.face, q.u, q.v) - x[i]
    kc.atomic_add(loss, 0, kc.dot(d, d))


@kc.kernel
def double(x: kc.array(dtype=kc.vec3), y: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    y[i] = x[i] * 2.0


def soup(rng, faces):
    """Triangles anywhere, each with corners of its own."""
    center = rng.uniform(-1.0, 1.0, (faces, 1, 3))
    points = (center + rng.uniform(-0.2, 0.2, (faces, 3, 3))).reshape(-1, 3).astype(np.float32)
    return points, np.arange(3 * faces, dtype=np.int32)


def nearest_on(corners, x):
    """The distance from a point to each of some triangles, in float64: to the plane inside, else to an edge."""
    a, b, c = corners.astype(np.float64).transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    height = np.einsum("ij,ij->i", x - a, normal)
    foot = x - height[:, None] * normal
    sides = [np.einsum("ij,ij->i", np.cross(q - p, foot - p), normal) for p, q in ((a, b), (b, c), (c, a))]
    best = np.where(np.all(np.array(sides) >= 0.0, axis=0), np.abs(height), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        d = q - p
        s = np.clip(np.einsum("ij,ij->i", x - p, d) / np.einsum("ij,ij->i", d, d), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(p + s[:, None] * d - x, axis=1))
    return best


def hits(corners, start, d):
    """Where a ray meets each of some triangles, in float64; infinity where it does not."""
    a, b, c = corners.astype(np.float64).transpose(1, 0, 2)
    u, v = b - a, c - a
    across = np.cross(d, v)
    volume = np.einsum("ij,ij->i", u, across)
    s = (start - a) / volume[:, None]
    p = np.einsum("ij,ij->i", s, across)
    turned = np.cross(s, u)
    q = turned @ d
    t = np.einsum("ij,ij->i", v, turned)
    return np.where((p >= 0) & (q >= 0) & (p + q <= 1) & (t >= 0), t, np.inf)


def asked(mesh, x):
    found, face = np.zeros_like(x), np.zeros(len(x), np.int32)
    closest(len(x), mesh, x, found, face)
    return found, face


@pytest.mark.parametrize("constructor", ["sah", "median", "cubql", None])
@pytest.mark.parametrize("faces", [1, 7, 300])
def test_closest_points_are_the_closest(rng, faces, constructor):
    points, indices = soup(rng, faces)
    x = rng.uniform(-1.5, 1.5, (200, 3)).astype(np.float32)
    found, face = asked(kc.Mesh(points, indices, bvh_constructor=constructor), x)
    distances = np.array([nearest_on(points.reshape(-1, 3, 3), p) for p in x.astype(np.float64)])
    np.testing.assert_allclose(np.linalg.norm(found - x, axis=1), distances.min(axis=1), atol=2e-6)
    np.testing.assert_allclose(distances[np.arange(len(x)), face], distances.min(axis=1), atol=2e-6)


def test_rays_hit_the_first_face(rng):
    points, indices = soup(rng, 300)
    x = rng.uniform(-1.5, 1.5, (300, 3)).astype(np.float32)
    d = rng.normal(size=(300, 3))
    d = (d / np.linalg.norm(d, axis=1, keepdims=True)).astype(np.float32)
    t, face = np.full(300, np.inf, np.float32), np.zeros(300, np.int32)
    shoot(300, kc.Mesh(points, indices), x, d, t, face)
    wanted = np.array([hits(points.reshape(-1, 3, 3), *ray) for ray in zip(x.astype(np.float64), d.astype(np.float64))])
    np.testing.assert_array_equal(face, np.where(np.isinf(wanted.min(axis=1)), -1, wanted.argmin(axis=1)))
    assert 30 < np.isfinite(t).sum() < 300
    np.testing.assert_allclose(t, wanted.min(axis=1), rtol=1e-4)


def test_winding_numbers_tell_inside_from_outside(rng):
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], np.float32)
    faces = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]]
    mesh = kc.Mesh(corners, np.array(faces, np.int32), support_winding_number=True)

    @kc.kernel
    def side(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=float)):
        i = kc.tid()
        out[i] = kc.mesh_query_point_sign_winding_number(mesh, x[i], 1.0e6).sign

    x, out = rng.uniform(-0.5, 1.5, (200, 3)).astype(np.float32), np.zeros(200, np.float32)
    side(200, mesh, x, out)
    np.testing.assert_array_equal(out < 0, np.all((x > 0) & (x < 1), axis=1))


def boxes(rng, n):
    lowers = rng.uniform(-1.0, 1.0, (n, 3)).astype(np.float32)
    return lowers, lowers + rng.uniform(0.0, 0.3, (n, 3)).astype(np.float32)


def met(tree, low, high):
    n = np.zeros(len(low), np.int32)
    touching(len(low), tree, low, high, n)
    return n


def meeting(lowers, uppers, low, high):
    """The sum of the numbers of boxes that meet each of some boxes, from 1 on."""
    meets = np.all((lowers[None] <= high[:, None]) & (uppers[None] >= low[:, None]), axis=2)
    return (meets * np.arange(1, len(lowers) + 1)).sum(axis=1)


@pytest.mark.parametrize("leaf_size", [1, 4])
def test_trees_find_all_boxes(rng, leaf_size):
    lowers, uppers = boxes(rng, 300)
    low, high = boxes(rng, 100)
    tree = kc.Bvh(lowers, uppers, leaf_size=leaf_size)
    assert np.array_equal(met(tree, low, high), meeting(lowers, uppers, low, high))
    for change in (tree.refit, tree.rebuild, lambda: tree.rebuild("median")):
        before = tree.id
        shift = rng.uniform(-0.5, 0.5, (300, 3)).astype(np.float32)
        lowers += shift
        uppers += shift
        change()
        assert tree.id == before
        assert np.array_equal(met(tree, low, high), meeting(lowers, uppers, low, high))


@kc.kernel
def touching_together(tree: kc.uint64, low: kc.array(dtype=kc.vec3), high: kc.array(dtype=kc.vec3), n: kc.array(dtype=int)):
    i, t = kc.tid()
    query = kc.tile_bvh_query_aabb(tree, low[i], high[i])
    while kc.tile_query_valid(query):
        j = kc.untile(kc.tile_bvh_query_next(query))
        if j >= 0:
            kc.atomic_add(n, i, j + 1)


@pytest.mark.parametrize("block", [1, 32])
def test_blocks_find_all_boxes(rng, block):
    lowers, uppers = boxes(rng, 300)
    low, high = boxes(rng, 50)
    tree, n = kc.Bvh(lowers, uppers), np.zeros(50, np.int32)
    wp.launch_tiled(touching_together, dim=[50], inputs=[tree, low, high, n], block_dim=block)
    assert np.array_equal(n, meeting(lowers, uppers, low, high))
    with pytest.raises(kc.Error, match="E1127.*is the id of a hash grid, and `tile_bvh_query_aabb` asks a BVH"):
        wp.launch_tiled(touching_together, dim=[50], inputs=[kc.HashGrid(8, 8, 8), low, high, n], block_dim=block)


def test_groups_are_subtrees(rng):
    lowers, uppers = boxes(rng, 100)
    groups = rng.integers(0, 3, 100).astype(np.int32)
    tree = kc.Bvh(lowers, uppers, groups=groups)

    @kc.kernel
    def of_group(tree: kc.uint64, group: int, n: kc.array(dtype=int)):
        root = kc.bvh_get_group_root(tree, group)
        for j in kc.bvh_query_aabb(tree, kc.vec3(-9.0), kc.vec3(9.0), root=root):
            kc.atomic_add(n, j, 1)

    n = np.zeros(100, np.int32)
    of_group(1, tree, 1, n)
    assert np.array_equal(n, groups == 1) and tree.groups.numpy() is groups


@pytest.mark.parametrize("width", [0.1, 0.4])
def test_hash_grids_find_all_neighbours(rng, width):
    x, out = rng.uniform(-1.0, 1.0, (400, 3)).astype(np.float32), np.zeros(400, np.float32)
    grid = kc.HashGrid(16, 8, 12)
    grid.reserve(400)
    for _ in range(2):
        grid.build(x, width)
        out[:] = 0
        crowd(400, grid, x, 0.2, out)
        distances = np.linalg.norm(x[:, None].astype(np.float64) - x[None], axis=2)
        np.testing.assert_allclose(out, np.where(distances < 0.2, distances, 0).sum(axis=1), rtol=1e-4, atol=1e-6)
        x += rng.uniform(-0.3, 0.3, x.shape).astype(np.float32)


def test_hash_grids_of_other_types_and_groups(rng):
    x = rng.uniform(-1.0, 1.0, (200, 3))
    groups = rng.integers(0, 2, 200).astype(np.int32)
    grid = kc.HashGrid(8, 8, 8, dtype=kc.float64)
    grid.build(x, 0.25, groups=groups)

    @kc.kernel
    def count(grid: kc.uint64, x: kc.array(dtype=kc.vec3d), groups: kc.array(dtype=int), out: kc.array(dtype=int)):
        i = kc.tid()
        for j in kc.hash_grid_query(grid, x[i], kc.float64(0.25), groups[i]):
            if kc.length(x[j] - x[i]) < kc.float64(0.25):
                out[i] += 1

    out = np.zeros(200, np.int32)
    count(200, grid, x, groups, out)
    near = np.linalg.norm(x[:, None] - x[None], axis=2) < 0.25
    assert np.array_equal(out, (near & (groups[:, None] == groups[None])).sum(axis=1)) and grid.groups is groups


def test_a_mesh_follows_its_points(rng):
    points, indices = soup(rng, 50)
    x = rng.uniform(-1.5, 1.5, (100, 3)).astype(np.float32)
    mesh = kc.Mesh(points, indices)
    assert mesh.points.numpy() is points and mesh.indices.numpy() is indices and mesh.velocities is None
    points[:] = np.roll(points, 3, axis=0) * 1.5
    mesh.refit()
    fresh = asked(kc.Mesh(points.copy(), indices), x)
    assert all(np.array_equal(a, b) for a, b in zip(asked(mesh, x), fresh))
    # Another array is fitted to at once.
    other = points * np.float32(0.5)
    mesh.points = other
    assert mesh.points.numpy() is other
    fresh = asked(kc.Mesh(other.copy(), indices), x)
    assert all(np.array_equal(a, b) for a, b in zip(asked(mesh, x), fresh))


def test_velocities_are_read_in_place(rng):
    points, indices = soup(rng, 2)
    velocities = np.zeros_like(points)
    mesh = kc.Mesh(points, indices, velocities)

    @kc.kernel
    def speed(mesh: kc.uint64, out: kc.array(dtype=kc.vec3)):
        out[0] = kc.mesh_eval_velocity(mesh, 1, 1.0, 0.0)

    out = np.zeros((1, 3), np.float32)
    velocities[3] = [1, 2, 3]
    speed(1, mesh, out)
    assert out.tolist() == [[1, 2, 3]]
    mesh.velocities = velocities * 2
    speed(1, mesh, out)
    assert out.tolist() == [[2, 4, 6]]
    mesh.velocities = None
    speed(1, mesh, out)
    assert out.tolist() == [[0, 0, 0]]


def test_arrays_live_as_long_as_their_mesh(rng):
    points, indices = soup(rng, 300)
    x = rng.uniform(-1.5, 1.5, (100, 3)).astype(np.float32)
    wanted = asked(kc.Mesh(points, indices), x)
    mesh = kc.Mesh(points.copy(), indices.copy())
    gc.collect()
    spoil = [np.full_like(points, 7.0) for _ in range(8)]
    assert all(np.array_equal(a, b) for a, b in zip(asked(mesh, x), wanted)) and len(spoil) == 8


def test_ids_and_structs_are_arguments_too(rng):
    points, indices = soup(rng, 20)
    x = rng.uniform(-1.5, 1.5, (50, 3)).astype(np.float32)
    mesh = kc.Mesh(points, indices)
    wanted = asked(mesh, x)

    @kc.struct
    class World:
        mesh: kc.uint64
        far: float

    @kc.kernel
    def of_world(world: World, x: kc.array(dtype=kc.vec3), face: kc.array(dtype=int)):
        i = kc.tid()
        face[i] = kc.mesh_query_point_no_sign(world.mesh, x[i], world.far).face

    for argument in (mesh, mesh.id, np.uint64(mesh.id)):
        assert all(np.array_equal(a, b) for a, b in zip(asked(argument, x), wanted))
        for world in (World(mesh=argument, far=FAR), {"mesh": argument, "far": FAR}):
            face = np.zeros(50, np.int32)
            of_world(50, world, x, face)
            assert np.array_equal(face, wanted[1])
    face, found = np.zeros(50, np.int32), np.zeros_like(x)
    wp.launch(closest, dim=50, inputs=[mesh, x], outputs=[found, face])
    assert np.array_equal(face, wanted[1])


def test_a_mesh_may_have_no_faces():
    x = np.zeros((3, 3), np.float32)
    for points, indices in [(np.zeros((0, 3), np.float32), np.zeros(0, np.int32)), ([], []), (x, np.zeros((0, 3), np.int32))]:
        mesh = kc.Mesh(points, indices)
        assert asked(mesh, x)[1].tolist() == [-1, -1, -1]
        mesh.refit()
    tree = kc.Bvh([], [])
    assert met(tree, x, x).tolist() == [0, 0, 0]
    grid, out = kc.HashGrid(4, 4, 4), np.zeros(3, np.float32)
    for build in (lambda: None, lambda: grid.build([], 1.0)):
        build()
        crowd(3, grid, x, 1.0, out)
        assert out.tolist() == [0, 0, 0]


TRIANGLE = np.eye(3, dtype=np.float32)
FACE = np.arange(3, dtype=np.int32)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: kc.Mesh(TRIANGLE.astype(float), FACE), "the points are numbers of float32, not of float64"),
        (lambda: kc.Mesh(TRIANGLE, FACE.astype(np.int64)), "the indices are numbers of int32, not of int64"),
        (lambda: kc.Mesh(np.zeros((6, 3), np.float32)[::2], FACE), "the points must lie in memory one after the other"),
        (lambda: kc.Mesh(np.zeros((3, 2), np.float32), FACE), "the points are an array with 3 numbers each, not one of shape (3, 2)"),
        (lambda: kc.Mesh(TRIANGLE, FACE[:2]), "a mesh cannot be built: the mesh has 2 indices, which is no multiple of 3"),
        (lambda: kc.Mesh(TRIANGLE, FACE + 1), "names point 3 as its corner 2, and there are 3 points"),
        (lambda: kc.Mesh(TRIANGLE * np.float32(np.nan), FACE), "point 0 of the mesh, which face 0 uses, is not finite"),
        (lambda: kc.Mesh(TRIANGLE, FACE, TRIANGLE[:2]), "there are 3 points and 2 velocities, which must be as many"),
        (lambda: kc.Mesh(TRIANGLE, FACE, groups=FACE), "there are 1 faces and 3 groups"),
        (lambda: kc.Mesh(TRIANGLE, FACE, bvh_constructor="best"), 'there is no constructor "best"'),
        (lambda: kc.Mesh(TRIANGLE, FACE, bvh_constructor=3), "a constructor is"),
        (lambda: kc.Mesh(TRIANGLE, FACE, bvh_constructor="cubql", groups=FACE[:1]), "takes no groups"),
        (lambda: kc.Mesh(TRIANGLE, FACE, bvh_leaf_size=0), "the leaf size is 0"),
        (lambda: kc.Mesh(TRIANGLE, FACE, bvh_leaf_size=1.5), "the leaf size is a whole number, not a float"),
        (lambda: kc.Mesh("points", FACE), "the points are to be an array, not a str"),
        (lambda: kc.Bvh(TRIANGLE, TRIANGLE[:2]), "a BVH cannot be built: there are 3 lower bounds and 2 upper bounds"),
        (lambda: kc.Bvh(TRIANGLE, np.full_like(TRIANGLE, np.inf)), "is not finite"),
        (lambda: kc.Bvh(TRIANGLE, TRIANGLE).rebuild("cubql"), "no other tree is"),
        (lambda: kc.HashGrid(0, 1, 1), "the hash grid has 0 x 1 x 1 cells"),
        (lambda: kc.HashGrid(2**31, 1, 1), "the number of cells is 2147483648"),
        (lambda: kc.HashGrid(4, 4, 4.0), "the number of cells is a whole number, not a float"),
        (lambda: kc.HashGrid(4, 4, 4, dtype=kc.int32), "a hash grid is of float16, float32 or float64, not of int32"),
        (lambda: kc.HashGrid(4, 4, 4).build(TRIANGLE, 0.0), "the cell width is 0"),
        (lambda: kc.HashGrid(4, 4, 4).build(TRIANGLE.astype(float), 1.0), "the points are numbers of float32, not of float64"),
        (lambda: kc.HashGrid(4, 4, 4).build(TRIANGLE, 1.0, groups=FACE[:2]), "there are 3 points and 2 groups"),
        (lambda: kc.HashGrid(4, 4, 4).reserve(-1), "the number of points is -1"),
    ],
)
def test_what_is_wrong_is_said(make, text):
    with pytest.raises(kc.ArgumentError) as caught:
        make()
    assert text in caught.value.message and isinstance(caught.value, ValueError)


def test_a_refused_change_leaves_the_mesh(rng):
    points, indices = soup(rng, 20)
    x = rng.uniform(-1.5, 1.5, (50, 3)).astype(np.float32)
    mesh = kc.Mesh(points, indices)
    wanted = asked(mesh, x)
    with pytest.raises(kc.ArgumentError, match="there are 60 points and 3 new points"):
        mesh.points = TRIANGLE
    with pytest.raises(kc.ArgumentError, match="there are 60 points and 3 velocities"):
        mesh.velocities = TRIANGLE
    assert mesh.points.numpy() is points and mesh.velocities is None
    assert all(np.array_equal(a, b) for a, b in zip(asked(mesh, x), wanted))


def test_the_id_of_a_mesh_that_is_gone_is_refused():
    mesh, x = kc.Mesh(TRIANGLE.copy(), FACE), np.zeros((1, 3), np.float32)
    number = mesh.id
    del mesh
    gc.collect()
    with pytest.raises(kc.ArgumentError, match="argument `mesh` of kernel `closest`: this id is of a mesh that is gone"):
        asked(number, x)


def test_a_mesh_is_an_argument_for_a_uint64_alone():
    @kc.kernel
    def number(n: int, out: kc.array(dtype=int)):
        out[0] = n

    with pytest.raises(kc.ArgumentError, match="expected `int32`, a whole number"):
        number(1, kc.Mesh(TRIANGLE, FACE), np.zeros(1, np.int32))


def test_a_mesh_has_no_copies():
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="not copied or pickled"):
            copied(kc.Mesh(TRIANGLE, FACE))


def test_subclasses_build_what_they_like():
    class Unit(kc.Mesh):
        def __init__(self):
            super().__init__(TRIANGLE, FACE)

    class Nothing(kc.Mesh):
        def __init__(self):
            pass

    assert asked(Unit(), np.zeros((1, 3), np.float32))[1].tolist() == [0]
    assert Nothing().id is None
    with pytest.raises(kc.ArgumentError, match="its __init__ was not called"):
        asked(Nothing(), np.zeros((1, 3), np.float32))
    mesh = Unit()
    with pytest.raises(RuntimeError, match="is built once"):
        mesh.__init__()


def test_lbvh_is_for_gpus():
    with pytest.warns(UserWarning, match='the constructor "lbvh" is for GPUs'):
        kc.Mesh(TRIANGLE, FACE, bvh_constructor="lbvh")


# Gradients.


def losses(points, indices, x):
    """The sum of squared distances as the kernel has it, for differences."""
    corners = points.reshape(-1, 3)[indices].reshape(-1, 3, 3)
    return sum(nearest_on(corners, p).min() ** 2 for p in x.astype(np.float64))


def differences(points, indices, x, eps=1e-4):
    found = np.zeros(points.shape)
    exact = points.astype(np.float64)
    for at in np.ndindex(points.shape):
        for sign in (1, -1):
            moved = exact.copy()
            moved[at] += sign * eps
            found[at] += sign * losses(moved, indices, x) / (2 * eps)
    return found


def test_corners_have_gradients(rng):
    points, indices = soup(rng, 8)
    x = rng.uniform(-1.0, 1.0, (12, 3)).astype(np.float32)
    wanted = differences(points, indices, x)
    mesh = kc.Mesh(kc.array(points, dtype=kc.vec3, requires_grad=True), indices)
    for argument in (mesh, mesh.id):
        loss = np.zeros(1, np.float32)
        mesh.points.grad.zero_()
        with kc.Tape() as tape:
            spread(len(x), argument, x, loss)
        tape.backward(loss)
        np.testing.assert_allclose(tape.gradient(mesh.points).numpy(), wanted, atol=2e-3)
        np.testing.assert_allclose(mesh.points.grad.numpy(), wanted, atol=2e-3)
        # As of arrays that are arguments: each backward run adds once.
        tape.backward(loss)
        np.testing.assert_allclose(mesh.points.grad.numpy(), 2 * wanted, atol=4e-3)
        tape.zero()
        assert not mesh.points.grad.numpy().any()
        tape.backward(loss)
        np.testing.assert_allclose(mesh.points.grad.numpy(), wanted, atol=2e-3)


@kc.func
def squared_edge(mesh: kc.uint64, face: int) -> float:
    edge = kc.mesh_eval_position(mesh, face, 0.0, 1.0) - kc.mesh_eval_position(mesh, face, 1.0, 0.0)
    return kc.dot(edge, edge)


@kc.kernel
def edges(mesh: kc.uint64, twice: int, out: kc.array(dtype=float)):
    i = kc.tid()
    total = float(0.0)
    for _ in range(twice):
        total += squared_edge(mesh, i)
    out[i] = total


def test_corners_have_gradients_in_functions_of_integers(rng):
    points, indices = soup(rng, 5)
    mesh = kc.Mesh(kc.array(points, dtype=kc.vec3, requires_grad=True), indices)
    with kc.Tape() as tape:
        out = kc.zeros(5, requires_grad=True)
        edges(5, mesh.id, 2, out)
    seeds = rng.uniform(-1.0, 1.0, 5).astype(np.float32)
    tape.backward(grads={out: seeds})
    first, second = points.reshape(-1, 3)[indices].reshape(-1, 3, 3)[:, :2].transpose(1, 0, 2)
    np.testing.assert_allclose(out.numpy(), 2 * ((second - first) ** 2).sum(axis=1), rtol=1e-5)
    wanted = np.zeros(points.shape)
    for face, (seed, edge) in enumerate(zip(seeds, second - first, strict=True)):
        wanted[indices.reshape(-1, 3)[face][1]] += 4 * seed * edge
        wanted[indices.reshape(-1, 3)[face][0]] -= 4 * seed * edge
    np.testing.assert_allclose(mesh.points.grad.numpy(), wanted, atol=1e-5)


def test_a_gradient_that_comes_later_is_found(rng):
    points, indices = soup(rng, 8)
    x = rng.uniform(-1.0, 1.0, (12, 3)).astype(np.float32)
    wanted = differences(points, indices, x)
    mesh = kc.Mesh(points, indices)
    spread.grad(12, mesh, x, np.zeros(1, np.float32), grads={"loss": 1.0})
    for _ in range(2):
        mesh.points.grad = kc.zeros(len(points), dtype=kc.vec3)
        spread.grad(12, mesh, x, np.zeros(1, np.float32), grads={"loss": 1.0})
        np.testing.assert_allclose(mesh.points.grad.numpy(), wanted, atol=2e-3)
    mesh.points.grad = None
    spread.grad(12, mesh, x, np.zeros(1, np.float32), grads={"loss": 1.0})
    with kc.Tape() as tape:
        loss = np.zeros(1, np.float32)
        spread(12, mesh.id, x, loss)
    tape.backward(loss)
    np.testing.assert_allclose(tape.gradient(points), wanted, atol=2e-3)


def test_gradients_flow_on_from_corners(rng):
    points, indices = soup(rng, 8)
    x = rng.uniform(-1.0, 1.0, (12, 3)).astype(np.float32)
    half, moved, loss = points / 2, np.zeros_like(points), np.zeros(1, np.float32)
    moved[:] = points
    mesh = kc.Mesh(moved, indices)
    with kc.Tape() as tape:
        double(len(points), half, moved)
        mesh.refit()
        spread(len(x), mesh, x, loss)
    tape.backward(loss)
    np.testing.assert_allclose(tape.gradient(half), 2 * differences(points, indices, x), atol=4e-3)


def test_a_tape_keeps_meshes_as_they_were(rng):
    points, indices = soup(rng, 8)
    x = rng.uniform(-1.0, 1.0, (12, 3)).astype(np.float32)
    now, loss = kc.array(points.copy(), dtype=kc.vec3), np.zeros(1, np.float32)
    mesh = kc.Mesh(now, indices)
    with kc.Tape() as tape:
        spread(len(x), mesh, x, loss)
        double(len(points), now, now)
        mesh.refit()
        spread(len(x), mesh, x, loss)
        mesh.points = kc.array(np.roll(points, 3, axis=0), dtype=kc.vec3)
    tape.backward(loss)
    wanted = differences(points, indices, x) + 2 * differences(points * np.float32(2), indices, x)
    np.testing.assert_allclose(tape.gradient(now).numpy(), wanted, atol=6e-3)


def test_a_tape_keeps_grids_and_trees_as_they_were(rng):
    @kc.kernel
    def pull(grid: kc.uint64, tree: kc.uint64, x: kc.array(dtype=kc.vec3), loss: kc.array(dtype=float)):
        i = kc.tid()
        for j in kc.hash_grid_query(grid, x[i], 0.3):
            d = x[j] - x[i]
            if kc.length_sq(d) < 0.09:
                kc.atomic_add(loss, 0, kc.length_sq(d))
        for j in kc.bvh_query_aabb(tree, x[i], x[i]):
            kc.atomic_add(loss, 0, kc.length_sq(x[j]))

    x = rng.uniform(-0.5, 0.5, (60, 3)).astype(np.float32)
    lowers, uppers = boxes(rng, 60)
    grid, tree = kc.HashGrid(8, 8, 8), kc.Bvh(lowers, uppers)
    grid.build(x, 0.3)
    found = []
    for changes in (False, True):
        loss = np.zeros(1, np.float32)
        with kc.Tape() as tape:
            pull(60, grid, tree, x, loss)
        if changes:
            grid.build(x[:1] + np.float32(9.0), 0.3)
            lowers += np.float32(5.0)
            uppers += np.float32(5.0)
            tree.refit()
        tape.backward(loss)
        found.append(tape.gradient(x))
    assert np.abs(found[0]).max() > 0.1
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


def test_corners_that_python_changed_are_refused(rng):
    points, indices = soup(rng, 8)
    x, loss = np.zeros((2, 3), np.float32), np.zeros(1, np.float32)
    mesh = kc.Mesh(points, indices)
    with kc.Tape() as tape:
        spread(2, mesh, x, loss)
    points += 1.0
    with pytest.raises(kc.GradientError, match="was changed since it was recorded"):
        tape.backward(loss)


def test_a_launch_that_writes_corners_has_no_gradient():
    @kc.kernel
    def push(mesh: kc.uint64, x: kc.array(dtype=kc.vec3)):
        x[kc.tid()] = kc.mesh_eval_position(mesh, 0, 0.5, 0.5)

    points = TRIANGLE.copy()
    mesh = kc.Mesh(points, FACE)
    with kc.Tape(), pytest.raises(kc.ArgumentError, match="shares memory with `mesh.points`, and the kernel writes to it"):
        push(1, mesh, points)


def test_programs_of_warp(rng):
    points, indices = soup(rng, 8)
    x = rng.uniform(-1.0, 1.0, (12, 3)).astype(np.float32)
    mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, requires_grad=True), wp.array(indices, dtype=int))
    assert mesh.device == wp.get_device("cpu") and mesh.velocities is None
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(spread, dim=12, inputs=[mesh.id, wp.array(x, dtype=wp.vec3)], outputs=[loss])
    tape.backward(loss)
    wanted = differences(points, indices, x)
    np.testing.assert_allclose(mesh.points.grad.numpy(), wanted, atol=2e-3)
    np.testing.assert_allclose(tape.gradients[mesh.points].numpy(), wanted, atol=2e-3)
    tape.zero()
    assert not mesh.points.grad.numpy().any()
    # A launch of the derivative alone.
    wp.launch(
        spread, dim=12, inputs=[mesh.id, wp.array(x, dtype=wp.vec3)], outputs=[loss], adj_inputs=[None, None],
        adj_outputs=[wp.array([1.0], dtype=float)], adjoint=True,
    )
    np.testing.assert_allclose(mesh.points.grad.numpy(), wanted, atol=2e-3)


def test_graphs_refit_when_they_are_launched():
    points = wp.array(TRIANGLE.copy(), dtype=wp.vec3)
    mesh = wp.Mesh(points, wp.array(FACE, dtype=int))
    grid, out = wp.HashGrid(4, 4, 4), wp.zeros(3, dtype=float)
    far, found, face = wp.array([[9.0, 9.0, 9.0]], dtype=wp.vec3), wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=int)
    with wp.ScopedCapture() as capture:
        wp.launch(double, dim=3, inputs=[points], outputs=[points])
        mesh.refit()
        wp.launch(closest, dim=1, inputs=[mesh.id, far], outputs=[found, face])
        grid.build(points, 1.0)
        wp.launch(crowd, dim=3, inputs=[grid.id, points, 100.0], outputs=[out])
    assert not out.numpy().any() and not found.numpy().any()
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(found.numpy(), [[2 / 3] * 3], rtol=1e-6)
    np.testing.assert_allclose(out.numpy(), [2 * np.sqrt(8)] * 3, rtol=1e-6)
