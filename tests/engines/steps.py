"""Queries whose answers change in steps, and what is smooth there all the same."""

import warp as wp


@wp.func
def value(p: wp.vec3):
    return p[0] + 2.0 * p[1] - 0.7 * p[2]


@wp.kernel
def distance(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(mesh, x[i], bound)
    if found.result:
        near = wp.mesh_eval_position(mesh, found.face, found.u, found.v)
        y[i] = wp.length_sq(near - x[i])


@wp.kernel
def place(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(mesh, x[i], bound)
    if found.result:
        y[i] = value(wp.mesh_eval_position(mesh, found.face, found.u, found.v))


@wp.kernel
def by_rays(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point(mesh, x[i], bound)
    if found.result:
        y[i] = value(wp.mesh_eval_position(mesh, found.face, found.u, found.v))


@wp.kernel
def by_parity(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_sign_parity(mesh, x[i], bound)
    if found.result:
        y[i] = value(wp.mesh_eval_position(mesh, found.face, found.u, found.v))


@wp.kernel
def by_normal(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_sign_normal(mesh, x[i], bound)
    if found.result:
        y[i] = value(wp.mesh_eval_position(mesh, found.face, found.u, found.v))


@wp.kernel
def by_winding(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_sign_winding_number(mesh, x[i], bound)
    if found.result:
        y[i] = value(wp.mesh_eval_position(mesh, found.face, found.u, found.v))


@wp.kernel
def masked(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(mesh, x[i], bound)
    y[i] = x[i][0] + 0.0 * value(wp.mesh_eval_position(mesh, found.face, found.u, found.v))


@wp.kernel
def ray(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, x[i], wp.vec3(0.0, 0.0, -1.0), bound)
    if hit.result:
        y[i] = hit.t


@wp.kernel
def place_on_ray(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), bound: float, y: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, x[i], wp.vec3(0.0, 0.0, -1.0), bound)
    if hit.result:
        y[i] = value(wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v))
