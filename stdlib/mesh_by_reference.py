# Queries of meshes that set variables: the form of older programs.


@func
def mesh_query_point(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    inside: ref[float32],
    face: ref[int32],
    bary_u: ref[float32],
    bary_v: ref[float32],
) -> bool:
    """The same into variables, which stay as they are where nothing is found."""
    found = mesh_query_point(id, point, max_dist)
    if found.result:
        inside = found.sign
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result


@func
def mesh_query_point_no_sign(
    id: uint64, point: Vec[3, float32], max_dist: float32, face: ref[int32], bary_u: ref[float32], bary_v: ref[float32]
) -> bool:
    """The same into variables, which stay as they are where nothing is found."""
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result:
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result


@func
def mesh_query_furthest_point_no_sign(
    id: uint64, point: Vec[3, float32], min_dist: float32, face: ref[int32], bary_u: ref[float32], bary_v: ref[float32]
) -> bool:
    """The same into variables, which stay as they are where nothing is found."""
    found = mesh_query_furthest_point_no_sign(id, point, min_dist)
    if found.result:
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result


@func
def mesh_query_point_sign_parity(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    inside: ref[float32],
    face: ref[int32],
    bary_u: ref[float32],
    bary_v: ref[float32],
    n_sample: int32 = 1,
    perturbation_scale: float32 = 0.1,
) -> bool:
    """The same into variables, which stay as they are where nothing is found."""
    found = mesh_query_point_sign_parity(id, point, max_dist, n_sample, perturbation_scale)
    if found.result:
        inside = found.sign
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result


@func
def mesh_query_point_sign_normal(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    inside: ref[float32],
    face: ref[int32],
    bary_u: ref[float32],
    bary_v: ref[float32],
    epsilon: float32 = 1.0e-3,
) -> bool:
    """The same into variables, which stay as they are where nothing is found."""
    found = mesh_query_point_sign_normal(id, point, max_dist, epsilon)
    if found.result:
        inside = found.sign
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result


@func
def mesh_query_point_sign_winding_number(
    id: uint64,
    point: Vec[3, float32],
    max_dist: float32,
    inside: ref[float32],
    face: ref[int32],
    bary_u: ref[float32],
    bary_v: ref[float32],
    accuracy: float32 = 2.0,
    threshold: float32 = 0.5,
) -> bool:
    """The same into variables, which stay as they are where nothing is found."""
    found = mesh_query_point_sign_winding_number(id, point, max_dist, accuracy, threshold)
    if found.result:
        inside = found.sign
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result


@func
def mesh_query_ray(
    id: uint64,
    start: Vec[3, float32],
    dir: Vec[3, float32],
    max_t: float32,
    t: ref[float32],
    bary_u: ref[float32],
    bary_v: ref[float32],
    sign: ref[float32],
    normal: ref[Vec[3, float32]],
    face: ref[int32],
    root: int32 = -1,
) -> bool:
    """The same into variables, which stay as they are where nothing is found."""
    found = mesh_query_ray(id, start, dir, max_t, root)
    if found.result:
        t = found.t
        bary_u = found.u
        bary_v = found.v
        sign = found.sign
        normal = found.normal
        face = found.face
    return found.result
