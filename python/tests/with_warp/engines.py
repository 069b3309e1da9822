"""A program that asks meshes, trees of boxes and hash grids: run by the tests with Warp, with Warp and kc, and with kc alone."""

import json
import sys

import numpy as np

HOW, OUT = sys.argv[1:]

if HOW == "kc":
    import kc.warp as wp
else:
    import warp as wp

    wp.config.quiet = True
    wp.init()
    wp.set_device("cpu")
    if HOW == "accelerated":
        import kc

        assert kc.accelerate()


@wp.kernel
def closest(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), found: wp.array(dtype=wp.vec3), sign: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_sign_winding_number(mesh, x[i], 100.0)
    if q.result:
        found[i] = wp.mesh_eval_position(mesh, q.face, q.u, q.v) + wp.mesh_eval_velocity(mesh, q.face, q.u, q.v)
        sign[i] = q.sign


@wp.kernel
def shoot(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec3), t: wp.array(dtype=float), face: wp.array(dtype=int)):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, x[i], d[i], 100.0)
    face[i] = -1
    if q.result:
        t[i] = q.t
        face[i] = q.face


@wp.kernel
def touching(tree: wp.uint64, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), group: int, n: wp.array(dtype=int)):
    i = wp.tid()
    j = int(0)
    all = wp.bvh_query_aabb(tree, low[i], high[i])
    while wp.bvh_query_next(all, j):
        n[i] += j + 1
    some = wp.bvh_query_aabb(tree, low[i], high[i], wp.bvh_get_group_root(tree, group))
    while wp.bvh_query_next(some, j):
        n[i] += 1000 * j


@wp.kernel
def crowd(grid: wp.uint64, x: wp.array(dtype=wp.vec3), radius: float, group: int, out: wp.array(dtype=float)):
    i = wp.tid()
    for j in wp.hash_grid_query(grid, x[i], radius):
        d = wp.length(x[j] - x[i])
        if d < radius:
            out[i] += d
    for j in wp.hash_grid_query(grid, x[i], radius, group):
        if wp.length(x[j] - x[i]) < radius:
            out[i] += float(j)


@wp.kernel
def measure(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point_no_sign(mesh, x[i], 100.0)
    d = wp.mesh_eval_position(mesh, q.face, q.u, q.v) - x[i]
    r = wp.mesh_query_ray(mesh, x[i], wp.vec3(0.0, 0.0, 1.0), 100.0)
    if r.result:
        d += wp.vec3(0.0, 0.0, r.t)
    wp.atomic_add(loss, 0, wp.dot(d, d))


rng = np.random.default_rng(3)
results = {}


def ball(rings):
    theta, phi = np.meshgrid(np.linspace(0.0, np.pi, rings + 1), np.arange(2 * rings) * np.pi / rings, indexing="ij")
    radius = 1.0 + 0.2 * np.sin(5.0 * theta) * np.sin(4.0 * phi)
    points = np.stack([radius * np.sin(theta) * np.cos(phi), radius * np.sin(theta) * np.sin(phi), radius * np.cos(theta)], axis=-1)
    faces = []
    for ring in range(rings):
        for k in range(2 * rings):
            a, b = 2 * rings * ring + k, 2 * rings * ring + (k + 1) % (2 * rings)
            c, d = a + 2 * rings, b + 2 * rings
            # At the poles one of the two has no area.
            faces += ([[a, c, d]] if ring < rings - 1 else []) + ([[a, d, b]] if ring else [])
            if ring == rings - 1 and not ring:
                faces += [[a, c, d]]
    return points.reshape(-1, 3).astype(np.float32), np.array(faces, np.int32).ravel()


def vectors(*shape):
    return wp.array(rng.uniform(-1.5, 1.5, (*shape, 3)).astype(np.float32), dtype=wp.vec3)


def ask(name, mesh):
    n = 300
    x, found, sign = vectors(n), wp.zeros(n, dtype=wp.vec3), wp.zeros(n, dtype=float)
    wp.launch(closest, dim=n, inputs=[mesh.id, x], outputs=[found, sign])
    t, face = wp.zeros(n, dtype=float), wp.zeros(n, dtype=int)
    wp.launch(shoot, dim=n, inputs=[mesh.id, x, vectors(n)], outputs=[t, face])
    results.update({f"{name}_found": found.numpy(), f"{name}_sign": sign.numpy(), f"{name}_t": t.numpy(), f"{name}_face": face.numpy()})


def spin(speed):
    """The same for points in one place, so that it does not show which of several faces was found."""
    return wp.array(np.ascontiguousarray(points[:, ::-1] * np.float32(speed)), dtype=wp.vec3)


points, indices = ball(8)
mesh = wp.Mesh(
    points=wp.array(points, dtype=wp.vec3), indices=wp.array(indices, dtype=int), velocities=spin(0.5), support_winding_number=True,
    bvh_constructor="median", bvh_leaf_size=3,
)
ask("mesh", mesh)
mesh.points.assign(points * np.float32(1.3))
mesh.refit()
ask("refitted", mesh)
mesh.points = wp.array(points * np.float32(0.7), dtype=wp.vec3)
mesh.velocities = spin(-0.3)
ask("other", mesh)

mesh = wp.Mesh(wp.array(points, dtype=wp.vec3, requires_grad=True), wp.array(indices, dtype=int))
x, loss = wp.array(rng.uniform(-0.9, 0.9, (40, 3)).astype(np.float32), dtype=wp.vec3, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(measure, dim=40, inputs=[mesh.id, x], outputs=[loss])
tape.backward(loss)
results.update(loss=loss.numpy(), x_grad=x.grad.numpy(), points_grad=mesh.points.grad.numpy())

low = vectors(200)
high = wp.array(low.numpy() + np.float32(0.3), dtype=wp.vec3)
tree = wp.Bvh(low, high, constructor="sah", groups=wp.array(np.arange(200) % 3, dtype=wp.int32), leaf_size=2)
corner, across = vectors(50), wp.zeros(50, dtype=int)
end = wp.array(corner.numpy() + np.float32(0.5), dtype=wp.vec3)
for name, change in (("built", lambda: None), ("refitted", tree.refit), ("rebuilt", lambda: tree.rebuild("median"))):
    low.assign(low.numpy() + np.float32(0.1))
    high.assign(high.numpy() + np.float32(0.1))
    if name == "built":
        tree.refit()
    change()
    wp.launch(touching, dim=50, inputs=[tree.id, corner, end, 1], outputs=[across])
    results[f"tree_{name}"] = across.numpy().copy()

grid = wp.HashGrid(16, 16, 16)
grid.reserve(500)
near, out = vectors(500), wp.zeros(500, dtype=float)
grid.build(points=near, radius=0.3, groups=wp.array(np.arange(500) % 4, dtype=wp.int32))
wp.launch(crowd, dim=500, inputs=[grid.id, near, 0.3, 2], outputs=[out])
results["grid"] = out.numpy()

np.savez(OUT, **results)
if HOW == "accelerated":
    by = {kernel["kernel"].split(".")[-1]: (kernel["by"], kernel["gradients"], kernel.get("reason")) for kernel in kc.report()["kernels"]}
    print(json.dumps(by))
