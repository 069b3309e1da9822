"""The examples, in small."""

import pathlib
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    # `filter` and the like are names that others may have.
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_fluid(tmp_path):
    import fluid
    import picture

    smoke, before, after = fluid.simulate(n=48, steps=30)
    assert 0 < smoke.sum() and smoke.max() <= 1.0 and after < 0.6 * before
    # It rises.
    assert smoke[: 48 - 10].sum() > 1.0
    picture.save(tmp_path / "smoke.png", smoke)
    assert (tmp_path / "smoke.png").read_bytes().startswith(b"\x89PNG")


def test_cloth():
    import cloth

    _, loss, gradient = cloth.blow([1.0, 0.5, -0.5], n=6, steps=40)
    for k in range(3):
        step = np.eye(3)[k] * 0.5
        up, down = (cloth.blow(np.array([1.0, 0.5, -0.5]) + s, n=6, steps=40)[1] for s in (step, -step))
        assert gradient[k] == pytest.approx(up - down, rel=2e-2, abs=1e-4)
    _, losses, _ = cloth.aim(n=8)
    assert losses[-1] < 0.05 * losses[0]


def test_filter():
    import filter

    clean, noisy = filter.scene(64, 0.08)
    done = filter.smooth(noisy)
    assert np.std(done - clean) < 0.5 * np.std(noisy - clean)
    # The edge of the disc stays an edge.
    assert abs(done[32, 32] - done[32, 4]).max() > 0.5


def test_nbody():
    import nbody

    x, first, last = nbody.simulate(n=200, steps=50)
    assert np.isfinite(x).all() and last == pytest.approx(first, rel=1e-3)


def test_monte_carlo():
    import monte_carlo

    value, slopes = monte_carlo.simulate(paths=100_000)
    known, formula = monte_carlo.exact()
    assert value == pytest.approx(known, rel=0.02)
    for name, slope in formula.items():
        assert slopes[name] == pytest.approx(slope, rel=0.03), name


def test_dam_break(rng):
    import dam_break

    dam = dam_break.Dam(spacing=0.06)
    # Densities by all pairs, and by all pairs with images behind walls.
    dam.x += rng.uniform(-0.01, 0.01, dam.x.shape).astype(np.float32)
    before, size, h = dam.x.astype(np.float64), dam_break.TANK.astype(np.float64), dam.fluid.h
    dam.step()
    wanted, near = np.zeros(len(before)), np.linalg.norm(before[:, None] - before, axis=2) < 2 * h
    for low_or_high in np.ndindex(3, 3, 3):
        # In place, behind the lower wall, behind the upper one: for each axis.
        turn = np.array(low_or_high)
        other = np.where(turn == 0, before, np.where(turn == 1, -before, 2 * size - before))
        q = np.linalg.norm(before[:, None] - other, axis=2) / h
        shape = np.where(q < 1, 1 - 1.5 * q**2 + 0.75 * q**3, 0.25 * np.maximum(2 - q, 0) ** 3)
        wanted += dam.fluid.mass * np.where(near, shape, 0).sum(axis=1) / (np.pi * h**3)
    np.testing.assert_allclose(dam.rho, wanted, rtol=1e-4)
    # Nothing is added to the energy, little is lost before the water meets the wall, and nothing runs faster than Ritter's front.
    dam = dam_break.Dam(spacing=0.06)
    first = dam.energy()
    while dam.time < 0.2:
        dam.step()
        assert (dam.x >= 0).all() and (dam.x <= dam_break.TANK).all()
    assert 0.9 * first < dam.energy() < 1.002 * first
    ritter = 2 * np.sqrt(9.81 * 0.8) * dam.time
    assert 0.2 * ritter < dam.x[:, 0].max() - 0.6 < ritter
    # Rays of the picture by all balls.
    import kc

    vectors = kc.array(dtype=kc.vec3)

    @kc.kernel
    def shoot(tree: kc.uint64, x: vectors, start: vectors, d: vectors, ball: kc.array(dtype=int)):
        i = kc.tid()
        found, t = dam_break.first(tree, x, 0.03, start[i], d[i])
        ball[i] = found

    tree = kc.Bvh(dam.x - np.float32(0.03), dam.x + np.float32(0.03))
    start = rng.uniform(0.0, 1.2, (200, 3)).astype(np.float32) * np.float32([1, 0.6, 1]) + np.float32([0, 0, 0.5])
    d = dam.x[rng.integers(0, len(dam.x), 200)] + rng.normal(0.0, 0.05, (200, 3)) - start
    d = (d / np.linalg.norm(d, axis=1, keepdims=True)).astype(np.float32)
    ball = np.zeros(200, np.int32)
    shoot(200, tree, dam.x, start, d, ball)
    away = start[:, None].astype(np.float64) - dam.x
    b = np.einsum("ijk,ik->ij", away, d)
    inside = b * b - (away**2).sum(axis=2) + 0.03**2
    t = np.where(inside > 0, -b - np.sqrt(np.maximum(inside, 0)), np.inf)
    t[t <= 0] = np.inf
    np.testing.assert_array_equal(ball, np.where(np.isinf(t.min(axis=1)), -1, t.argmin(axis=1)))
    assert 50 < (ball >= 0).sum() < 200


def test_momentum_of_free_water(rng):
    import dam_break

    dam = dam_break.Dam(spacing=0.03, size=(0.15, 0.15, 0.09))
    # In the middle of the tank, and pressed together, so that it flies apart.
    dam.fluid.mass *= 1.3
    dam.x += np.float32([0.9, 0.6, 0.105])
    dam.v[:] = rng.normal(0.0, 0.2, dam.v.shape)
    x, v = dam.x.copy(), dam.v.copy()
    for _ in range(12):
        dam.step(gravity=(0.0, 0.0, 0.0))
        # Walls push nothing that is out of their reach.
        assert (np.minimum(dam.x, dam_break.TANK - dam.x) > dam.fluid.h).all()
    assert np.abs(dam.v - v).max() > 0.5
    np.testing.assert_allclose(dam.v.sum(axis=0), v.sum(axis=0), atol=1e-3)
    np.testing.assert_allclose(np.cross(dam.x, dam.v).sum(axis=0), np.cross(x, v).sum(axis=0), atol=2e-3)


def test_shapes(tmp_path):
    import shapes

    for points, faces in (shapes.icosphere(3), shapes.knot(60, 8), shapes.bear(24)):
        # Each edge has a face on both sides, which go round the same way.
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        assert len(np.unique(edges, axis=0)) == len(edges)
        assert np.array_equal(np.unique(edges, axis=0), np.unique(edges[:, ::-1], axis=0))
        assert shapes.volume(points, faces) > 0.5
    points, faces = shapes.icosphere(4)
    assert shapes.volume(points, faces) == pytest.approx(4 / 3 * np.pi, rel=5e-3)
    np.testing.assert_allclose(shapes.normals(points, faces), points, atol=4e-3)
    path = tmp_path / "square.obj"
    path.write_text("# a square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n\nf 1/1/1 2/2/1 3/3/1 4/4/1\nf -4 -3 -2\n")
    points, faces = shapes.load(path)
    assert points.shape == (4, 3) and faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]


def test_shadows(rng):
    import kc
    import shadows
    import shapes

    ids, vectors = kc.array(dtype=kc.uint64), kc.array(dtype=kc.vec3)
    center, radius = np.array([0.3, 1.2, -0.2]), 0.5
    points, faces = shapes.icosphere(5, radius)
    mesh = kc.Mesh((points + center).astype(np.float32), faces)
    meshes = np.array([mesh.id], np.uint64)

    @kc.kernel
    def ground(meshes: ids, light: shadows.Light, x: vectors, seen: kc.array(dtype=float)):
        i = kc.tid()
        seen[i] = shadows.lit(meshes, light, x[i], 0.3)

    x = (rng.uniform(-1.5, 1.5, (3000, 3)) * [1, 0, 1] + [-0.2, 0, -0.4]).astype(np.float32)
    sun, seen = np.array([1.5, 4.0, 0.5]), np.zeros(len(x), np.float32)

    def clearance(light):
        """How far the way to the light is from the center of the ball."""
        d = light - x.astype(np.float64)
        away = center - x
        return np.linalg.norm(np.cross(d, away), axis=-1) / np.linalg.norm(d, axis=-1)

    # Of a point the shadow is a cone, and so it is sharp.
    ground(len(x), meshes, shadows.Light(center=sun, radius=0.0, rays=1), x, seen)
    clear = np.abs(clearance(sun) - radius) > 3e-3
    np.testing.assert_array_equal(seen[clear], (clearance(sun) > radius)[clear])
    assert 0.1 < seen.mean() < 0.95
    # Of a disc that faces the point it is the part of the disc that is seen.
    ground(len(x), meshes, shadows.Light(center=sun, radius=0.6, rays=200), x, seen)
    n = (sun - x) / np.linalg.norm(sun - x, axis=1, keepdims=True)
    u = np.cross(n, [0.0, 0.0, 1.0])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v, wanted = np.cross(n, u), np.zeros(len(x))
    for a, r in zip(rng.uniform(0, 2 * np.pi, 1000), np.sqrt(rng.uniform(0, 1, 1000))):
        wanted += clearance(sun + 0.6 * r * (np.cos(a) * u + np.sin(a) * v)) > radius
    np.testing.assert_allclose(seen, wanted / 1000, atol=0.06)
    assert 200 < ((seen > 0.2) & (seen < 0.8)).sum()

    @kc.kernel
    def look(
        meshes: ids, normals: vectors, start: vectors, d: vectors, t: kc.array(dtype=float),
        n: vectors,
    ):
        i = kc.tid()
        hit = shadows.nearest(meshes, normals, start[i], d[i])
        t[i] = hit.t
        n[i] = hit.normal

    # Rays to points of a ball, of two that overlap in part: the nearer counts, and its normals are those of a ball.
    other = kc.Mesh((0.5 * points + center + [0.0, 0.0, 0.4]).astype(np.float32), faces)
    normals = np.concatenate([shapes.normals(p, faces) for p in (mesh.points.numpy(), other.points.numpy())])
    start = rng.normal(size=(500, 3))
    start = (center + 3.0 * start / np.linalg.norm(start, axis=1, keepdims=True)).astype(np.float32)
    d = center + rng.uniform(-0.25, 0.25, (500, 3)) - start
    d = (d / np.linalg.norm(d, axis=1, keepdims=True)).astype(np.float32)
    t, n = np.zeros(500, np.float32), np.zeros((500, 3), np.float32)
    look(500, np.array([mesh.id, other.id], np.uint64), normals, start, d, t, n)
    hits = []
    for middle, r in ((center, radius), (center + [0.0, 0.0, 0.4], 0.5 * radius)):
        away = start - middle
        b = np.einsum("ij,ij->i", away, d)
        inside = b * b - (away**2).sum(axis=1) + r * r
        hits.append(np.where(inside > 0, -b - np.sqrt(np.maximum(inside, 0)), np.inf))
    which = np.argmin(hits, axis=0)
    assert 20 < which.sum() < 480
    np.testing.assert_allclose(t, np.min(hits, axis=0), atol=5e-3)
    sphere = start + t[:, None] * d - np.where(which[:, None] == 1, center + [0.0, 0.0, 0.4], center)
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    agree = np.abs(hits[0] - hits[1]) > 0.02
    np.testing.assert_allclose(n[agree], sphere[agree], atol=2e-2)
    image = shadows.draw([(mesh, (1.0, 0.0, 0.0))], eye=(0.3, 1.2, 4.0), target=tuple(center), shape=(16, 24))
    # Red in the middle, sky above.
    assert image.shape == (16, 24, 3) and image[8, 12, 0] > 2 * image[8, 12, 1] and image[0, 0, 2] > image[0, 0, 0]


def test_smoke_volume():
    import kc
    import smoke_volume

    smoke = smoke_volume.Smoke(voxel=0.05)
    # A ring turned around an axis has the area of its section times the way of its middle (Pappus).
    away = np.linspace(0.0, smoke.tube, 2001)
    edge = np.clip((away / smoke.tube - 0.6) / 0.4, 0.0, 1.0)
    section = np.trapezoid(2.0 * np.pi * away * (1.0 - edge * edge * (3.0 - 2.0 * edge)), away)
    assert smoke.amount() == pytest.approx(2 * 2.0 * np.pi * 0.7 * section, rel=0.02)
    # On its axis a ring blows as the formula says.
    one = smoke_volume.pieces([(0.7, 0.1)], 2.0, 0.14)
    x = np.array([[0.0, 0.0, z] for z in (-0.4, 0.1, 0.6)], np.float32)
    v = np.zeros_like(x)
    smoke_volume.velocities(len(x), one, x, v)
    blows = 2.0 * 0.7**2 / (2.0 * (0.7**2 + (x[:, 2] - 0.1) ** 2 + 0.14**2) ** 1.5)
    np.testing.assert_allclose(v, np.stack([0.0 * blows, 0.0 * blows, blows], axis=1), rtol=1e-5, atol=1e-6)
    # A step of no time moves nothing beyond rounding.
    tiles, values = smoke.tiles, smoke.values()
    smoke.step(0.0)
    assert (smoke.tiles == tiles).all()
    np.testing.assert_allclose(smoke.values(), values, atol=1e-4)
    before = smoke.amount()
    for _ in range(10):
        smoke.step(0.05)
    assert 0.75 * before < smoke.amount() < 1.02 * before
    # The rings' impulse stays, while the one behind becomes narrower and goes through the other.
    assert (smoke.rings[:, 0] ** 2).sum() == pytest.approx(2 * 0.7**2, rel=5e-3)
    assert smoke.rings[0, 0] < 0.6 < 0.8 < smoke.rings[1, 0]
    # Through the middle of a ball less light comes than beside it: by the length of the way inside.
    axes = np.meshgrid(*[np.arange(-16, 16)] * 3, indexing="ij")
    inside = np.sqrt(sum((0.05 * axis) ** 2 for axis in axes)) < 0.6
    ball = kc.Volume.load_from_numpy(inside.astype(np.float32), min_world=(-0.8, -0.8, -0.8), voxel_size=0.05)

    @kc.kernel
    def through(ball: kc.uint64, y: kc.array(dtype=float), light: kc.array(dtype=float)):
        i = kc.tid()
        light[i] = smoke_volume.passes(ball, kc.vec3(-1.5, y[i], 0.0), kc.vec3(1.0, 0.0, 0.0), 3.0, 0.01, 2.0)

    y = np.array([0.0, 0.2, 0.4, 0.55, 0.7], np.float32)
    light = np.zeros_like(y)
    through(len(y), ball, y, light)
    np.testing.assert_allclose(light, np.exp(-2.0 * 2.0 * np.sqrt(np.maximum(0.6**2 - y**2, 0.0))), atol=0.06)
    image = smoke_volume.draw(smoke, shape=(24, 24))
    assert np.isfinite(image).all() and image[12, 12].min() > 2.0 * image[0, 0].max() > 0.0


def test_cloth_on_body():
    import cloth_on_body
    import kc
    import shapes

    points, faces = shapes.icosphere(3, 0.6)
    points[:, 1] += 0.8
    body, rests = kc.Mesh(points, faces), []
    for friction in (0.5, 0.0):
        cloth = cloth_on_body.Cloth(body, n=20, size=1.6, height=1.45)
        for _ in range(200):
            cloth.step(rounds=8, friction=friction)
        x = cloth.x.astype(np.float64)
        # It lies on the ball at its thickness, and not in it: chords of the mesh are a little nearer to the center.
        distance = np.linalg.norm(x - [0.0, 0.8, 0.0], axis=1)
        assert 0.6 * 0.98 + cloth.thickness < distance.min() < 0.6 + 1.1 * cloth.thickness
        assert (x[:, 1] >= cloth.thickness - 1e-6).all()
        grid = x.reshape(20, 20, 3)
        edges = np.concatenate([np.linalg.norm(np.diff(grid, axis=axis), axis=2).ravel() for axis in (0, 1)])
        assert (0.9 if friction else 0.5) * cloth.rest < edges.min() and edges.max() < (1.1 if friction else 1.25) * cloth.rest
        rests.append(x.mean(axis=0))
    # It began beside the middle: with friction it stays up there, and without it slides further down.
    assert rests[0][1] > rests[1][1] + 0.05
    assert cloth.picture((12, 12)).shape == (12, 12, 3)


def test_inverse_mesh(rng):
    import inverse_mesh
    import kc
    import shapes

    points, faces = shapes.icosphere(2)
    target = kc.Mesh((points * [0.7, 1.0, 0.5] + [0.0, 0.95, 0.2]).astype(np.float32), faces)
    fit = inverse_mesh.Fit(target, rounds=1, views=4, size=8)
    fit.loss()
    gradient, before = fit.mesh.points.grad.numpy().astype(np.float64), fit.mesh.points.numpy().copy()

    def moved(direction, by):
        depth, loss = np.zeros_like(fit.depth), np.zeros(1, np.float32)
        fit.mesh.points.numpy()[:] = before + by * direction
        fit.mesh.refit()
        inverse_mesh.look(len(depth), fit.mesh, fit.start, fit.direction, depth)
        inverse_mesh.compare(len(depth), fit.mesh, fit.start, fit.direction, fit.depth, loss)
        return float(loss[0]), depth >= 0

    compared = 0
    for direction in rng.normal(size=(4, *before.shape)):
        (up, seen), (down, others) = moved(direction, 1e-3), moved(direction, -1e-3)
        # A ray that leaves the mesh is a step, which no derivative has.
        if np.array_equal(seen, others):
            assert (gradient * direction).sum() == pytest.approx((up - down) / 2e-3, rel=2e-2, abs=1e-4)
            compared += 1
    assert compared >= 2
    fit = inverse_mesh.Fit(target, rounds=2, views=4, size=5, weight=0.5)
    losses = [fit.step(rate=0.1) for _ in range(40)]
    assert losses[-1] < 0.1 * losses[0]


def test_plate():
    import plate

    found = plate.solve(n=24, steps=4000)
    # Each inner cell is the mean of its neighbours.
    around = found[:-2, 1:-1] + found[2:, 1:-1] + found[1:-1, :-2] + found[1:-1, 2:]
    np.testing.assert_allclose(found[1:-1, 1:-1], 0.25 * around, atol=1e-5)
    np.testing.assert_array_equal(found[0, :-1], np.ones(23, np.float32))
