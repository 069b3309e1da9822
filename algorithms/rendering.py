# === render_primitives
# source: ray tracing of implicit primitives (Glassner 1989; Ericson 2005, chapter 5) and the Cook-Torrance model with GGX (Walter et al. 2007)
# task: trace camera rays against planes, spheres, boxes and round primitives and shade the hits
# about: Each shape has a pose, three half extents and a material. The nearest hit is lit by one directional light.
# domain: graphics
# weight: 12
# sizes: height = 1 3 5 24; width = 1 3 7 32; num_shapes = 1 4 6 9; num_materials = 1 2 3 4
# - shape_type: int[num_shapes] uniform(0, 6); 0 plane, 1 sphere{{with_capsule: , 2 capsule || }}{{with_cylinder: , 3 cylinder || }}{{with_ellipsoid: , 4 ellipsoid || }}, 5 box; rays pass through others
# - shape_pose: transform[num_shapes] rotation(); poses in the world
# - shape_size: vec3[num_shapes] uniform(0.3, 0.8); half extents; radius first, then half height [m]
# - shape_material: int[num_shapes] index(num_materials); material of each shape
# - base_color: vec3[num_materials] uniform(0.1, 0.9); colours
# - roughness: float[num_materials] uniform(0.3, 0.9); roughness of the surfaces
# - metallic: float[num_materials] uniform(0.0, 1.0); share of the metallic reflection
# - camera_pos: vec3 = 0.2 0.1 3.5; position of the camera [m]
# - light_dir: vec3 = 0.36 0.48 0.8; direction towards the light
# - focal: float = 1.5; focal length in half widths of the image
# - far: float = 20.0; distance beyond which nothing is seen [m]
# - depth: float[height, width] full(-1.0); distances along the rays [m]
# - hit_id: int[height, width] full(-1); shape of each pixel
# - color: vec3[height, width] zeros; linear colours
@func
def nearest_root(a: float, b: float, c: float) -> float:
    """Smaller positive root of a t^2 + 2 b t + c, -1 where there is none."""
    disc = b * b - a * c
    if disc < 0.0 or a < 1.0e-12:
        return -1.0
    root = wp.sqrt(disc)
    t0 = (-b - root) / a
    if t0 > 0.0:
        return t0
    t1 = (-b + root) / a
    if t1 > 0.0:
        return t1
    return -1.0

@func
def closer(best: float, t: float) -> float:
    """The smaller of two distances, where -1 means none."""
    if t <= 0.0:
        return best
    if best < 0.0 or t < best:
        return t
    return best

@func
def ray_plane(pnt: wp.vec3, vec: wp.vec3) -> float:
    """Distance to the plane z = 0."""
    if wp.abs(vec[2]) < 1.0e-6:
        return -1.0
    x = -pnt[2] / vec[2]
    if x <= 0.0:
        return -1.0
    return x

@func
def ray_sphere(radius: float, pnt: wp.vec3, vec: wp.vec3) -> float:
    """Distance to a sphere at the origin."""
    return nearest_root(wp.dot(vec, vec), wp.dot(vec, pnt), wp.dot(pnt, pnt) - radius * radius)

@func
def ray_ellipsoid(size: wp.vec3, pnt: wp.vec3, vec: wp.vec3) -> float:
    """Distance to an ellipsoid, as a sphere in scaled space."""
    p = wp.cw_div(pnt, size)
    v = wp.cw_div(vec, size)
    return nearest_root(wp.dot(v, v), wp.dot(v, p), wp.dot(p, p) - 1.0)

@func
def ray_capsule(radius: float, half_height: float, pnt: wp.vec3, vec: wp.vec3) -> float:
    """Distance to a capsule along z: its side, then both caps."""
    best = float(-1.0)
    a = vec[0] * vec[0] + vec[1] * vec[1]
    b = vec[0] * pnt[0] + vec[1] * pnt[1]
    c = pnt[0] * pnt[0] + pnt[1] * pnt[1] - radius * radius
    disc = b * b - a * c
    if disc >= 0.0 and a > 1.0e-12:
        root = wp.sqrt(disc)
        t0 = (-b - root) / a
        t1 = (-b + root) / a
        if wp.abs(pnt[2] + t0 * vec[2]) <= half_height:
            best = closer(best, t0)
        if wp.abs(pnt[2] + t1 * vec[2]) <= half_height:
            best = closer(best, t1)
    for k in range(2):
        sign = 1.0 - 2.0 * float(k)
        dif = pnt - wp.vec3(0.0, 0.0, sign * half_height)
        a = wp.dot(vec, vec)
        b = wp.dot(vec, dif)
        disc = b * b - a * (wp.dot(dif, dif) - radius * radius)
        if disc >= 0.0:
            root = wp.sqrt(disc)
            t0 = (-b - root) / a
            t1 = (-b + root) / a
            # only the outer half belongs to the cap
            if sign * (pnt[2] + t0 * vec[2]) >= half_height:
                best = closer(best, t0)
            if sign * (pnt[2] + t1 * vec[2]) >= half_height:
                best = closer(best, t1)
    return best

@func
def ray_cylinder(radius: float, half_height: float, pnt: wp.vec3, vec: wp.vec3) -> float:
    """Distance to a closed cylinder along z."""
    best = float(-1.0)
    a = vec[0] * vec[0] + vec[1] * vec[1]
    b = vec[0] * pnt[0] + vec[1] * pnt[1]
    c = pnt[0] * pnt[0] + pnt[1] * pnt[1] - radius * radius
    disc = b * b - a * c
    if disc >= 0.0 and a > 1.0e-12:
        root = wp.sqrt(disc)
        t0 = (-b - root) / a
        t1 = (-b + root) / a
        if wp.abs(pnt[2] + t0 * vec[2]) <= half_height:
            best = closer(best, t0)
        if wp.abs(pnt[2] + t1 * vec[2]) <= half_height:
            best = closer(best, t1)
    # flat ends
    if wp.abs(vec[2]) > 1.0e-6:
        for k in range(2):
            sign = 1.0 - 2.0 * float(k)
            t = (sign * half_height - pnt[2]) / vec[2]
            x = pnt[0] + t * vec[0]
            y = pnt[1] + t * vec[1]
            if x * x + y * y <= radius * radius:
                best = closer(best, t)
    return best

@func
def ray_box(size: wp.vec3, pnt: wp.vec3, vec: wp.vec3) -> float:
    """Distance to a box, from the slabs of its axes."""
    t_near = float(-1.0e10)
    t_far = float(1.0e10)
    for k in range(3):
        if wp.abs(vec[k]) < 1.0e-6:
            if wp.abs(pnt[k]) > size[k]:
                return -1.0
        else:
            inv = 1.0 / vec[k]
            lo = (-size[k] - pnt[k]) * inv
            hi = (size[k] - pnt[k]) * inv
            t_near = wp.max(t_near, wp.min(lo, hi))
            t_far = wp.min(t_far, wp.max(lo, hi))
    if t_near > t_far or t_far <= 0.0:
        return -1.0
    if t_near > 0.0:
        return t_near
    return t_far

@func
def ray_shape(kind: int, size: wp.vec3, pose: wp.transform, origin: wp.vec3, direction: wp.vec3) -> float:
    """Distance to one shape along a ray of the world."""
    inv_pose = wp.transform_inverse(pose)
    pnt = wp.transform_point(inv_pose, origin)
    vec = wp.transform_vector(inv_pose, direction)
    if kind == 0:
        return ray_plane(pnt, vec)
    elif kind == 1:
        return ray_sphere(size[0], pnt, vec)
    #? with_capsule
    elif kind == 2:
        return ray_capsule(size[0], size[1], pnt, vec)
    #.
    #? with_cylinder
    elif kind == 3:
        return ray_cylinder(size[0], size[1], pnt, vec)
    #.
    #? with_ellipsoid
    elif kind == 4:
        return ray_ellipsoid(size, pnt, vec)
    #.
    elif kind == 5:
        return ray_box(size, pnt, vec)
    return -1.0

@func
def fresnel_schlick(cos_theta: float, f0: wp.vec3) -> wp.vec3:
    """Reflectance that grows towards grazing angles."""
    m = wp.clamp(1.0 - cos_theta, 0.0, 1.0)
    m2 = m * m
    return f0 + (wp.vec3(1.0, 1.0, 1.0) - f0) * (m2 * m2 * m)

@func
def ggx_distribution(n_dot_h: float, alpha: float) -> float:
    """Density of microfacet normals."""
    a2 = alpha * alpha
    d = n_dot_h * n_dot_h * (a2 - 1.0) + 1.0
    return a2 / (wp.pi * d * d)

@func
def smith_visibility(n_dot_v: float, n_dot_l: float, alpha: float) -> float:
    """Masking and shadowing of microfacets, with the denominator of the model."""
    k = 0.5 * alpha
    g_v = n_dot_v * (1.0 - k) + k
    g_l = n_dot_l * (1.0 - k) + k
    return 0.25 / (g_v * g_l)

@kernel[height, width] quadratic ray intersection, rigid transform, argmin argmax
def trace_primary():
    """Nearest shape along the ray of each pixel."""
    grid row, col
    guard row < height and col < width
    # ray through the centre of the pixel
    px = (float(col) + 0.5) / float(width) * 2.0 - 1.0
    py = 1.0 - (float(row) + 0.5) / float(height) * 2.0
    ray_dir = wp.normalize(wp.vec3(px, py, -focal))

    min_dist = far
    nearest = int(-1)
    for s in range(num_shapes):
        dist = ray_shape(shape_type[s], shape_size[s], shape_pose[s], camera_pos, ray_dir)
        if dist > 0.0 and dist < min_dist:
            min_dist = dist
            nearest = s
    if nearest < 0:
        return

    depth[row, col] = min_dist
    hit_id[row, col] = nearest

@kernel[height, width] matrix or image map, mask or active filter, gather
def shade_hits():
    """Colour of the hit shape, with the direction from its centre as normal."""
    grid row, col
    guard row < height and col < width
    shape = hit_id[row, col]
    # background stays black
    if shape < 0:
        return
    px = (float(col) + 0.5) / float(width) * 2.0 - 1.0
    py = 1.0 - (float(row) + 0.5) / float(height) * 2.0
    view = -wp.normalize(wp.vec3(px, py, -focal))
    material = shape_material[shape]
    albedo = base_color[material]
    metal = metallic[material]
    rough = roughness[material]
    alpha = rough * rough

    # normal from the centre of the shape
    pose = shape_pose[shape]
    center = wp.transform_get_translation(pose)
    hit_pos = camera_pos - view * depth[row, col]
    normal = wp.normalize(hit_pos - center)
    half_dir = wp.normalize(view + light_dir)
    n_dot_l = wp.max(wp.dot(normal, light_dir), 0.0)
    n_dot_v = wp.max(wp.dot(normal, view), 1.0e-3)
    n_dot_h = wp.max(wp.dot(normal, half_dir), 0.0)
    v_dot_h = wp.max(wp.dot(view, half_dir), 0.0)

    # specular and diffuse parts
    dielectric = wp.vec3(0.04, 0.04, 0.04)
    f0 = dielectric * (1.0 - metal) + albedo * metal
    f = fresnel_schlick(v_dot_h, f0)
    spec = ggx_distribution(n_dot_h, alpha) * smith_visibility(n_dot_v, n_dot_l, alpha)
    diffuse = wp.cw_mul(wp.vec3(1.0, 1.0, 1.0) - f, albedo) * ((1.0 - metal) / wp.pi)
    color[row, col] = (diffuse + f * spec) * n_dot_l

def reference():
    """All places where a ray meets a surface, and the nearest; colours by channel."""
    for row in range(height):
        for col in range(width):
            px = (2.0 * float(col) + 1.0) / float(width) - 1.0
            py = 1.0 - (2.0 * float(row) + 1.0) / float(height)
            d = np.array([px, py, -focal]) / math.sqrt(px * px + py * py + focal * focal)
            best = far
            for s in range(num_shapes):
                kind = shape_type[s]
                size = shape_size[s]
                axis = np.array([-shape_pose[s][3], -shape_pose[s][4], -shape_pose[s][5]])
                w = shape_pose[s][6]
                arm = camera_pos - np.array([shape_pose[s][0], shape_pose[s][1], shape_pose[s][2]])
                o = arm + 2.0 * w * np.cross(axis, arm) + 2.0 * np.cross(axis, np.cross(axis, arm))
                v = d + 2.0 * w * np.cross(axis, d) + 2.0 * np.cross(axis, np.cross(axis, d))
                # up to eight candidates
                for k in range(8):
                    t = -1.0
                    sign = 1.0 - 2.0 * float(k % 2)
                    if kind == 0 and k == 0:
                        t = -o[2] / v[2]
                    if kind == 5 and k < 6:
                        a = k // 2
                        t = (sign * size[a] - o[a]) / v[a]
                        for c in range(3):
                            if c != a and abs(o[c] + t * v[c]) > size[c]:
                                t = -1.0
                    # surfaces of second order: weights of the axes, and a centre along z
                    mx = 1.0 / (size[0] * size[0])
                    my = mx
                    mz = mx
                    shift = 0.0
                    is_round = 0
                    if kind == 1 and k < 2:
                        is_round = 1
                    #? with_ellipsoid
                    if kind == 4 and k < 2:
                        is_round = 1
                        my = 1.0 / (size[1] * size[1])
                        mz = 1.0 / (size[2] * size[2])
                    #.
                    #? with_capsule
                    if kind == 2 and k < 6:
                        is_round = 1
                        if k < 2:
                            mz = 0.0
                        elif k < 4:
                            shift = size[1]
                        else:
                            shift = -size[1]
                    #.
                    #? with_cylinder
                    if kind == 3 and k < 2:
                        is_round = 1
                        mz = 0.0
                    if kind == 3 and k >= 2 and k < 4:
                        t = (sign * size[1] - o[2]) / v[2]
                        if (o[0] + t * v[0]) ** 2.0 + (o[1] + t * v[1]) ** 2.0 > size[0] ** 2.0:
                            t = -1.0
                    #.
                    if is_round == 1:
                        z = o[2] - shift
                        qa = mx * v[0] * v[0] + my * v[1] * v[1] + mz * v[2] * v[2]
                        qb = mx * o[0] * v[0] + my * o[1] * v[1] + mz * z * v[2]
                        qc = mx * o[0] * o[0] + my * o[1] * o[1] + mz * z * z - 1.0
                        disc = qb * qb - qa * qc
                        if disc >= 0.0:
                            t = (sign * math.sqrt(disc) - qb) / qa
                            height_at = o[2] + t * v[2]
                            #? with_capsule
                            if kind == 2 and k < 2 and abs(height_at) > size[1]:
                                t = -1.0
                            if kind == 2 and k >= 2 and abs(height_at) < size[1]:
                                t = -1.0
                            if kind == 2 and k >= 2 and height_at * shift < 0.0:
                                t = -1.0
                            #.
                            #? with_cylinder
                            if kind == 3 and abs(height_at) > size[1]:
                                t = -1.0
                            #.
                    if t > 0.0 and t < best:
                        best = t
                        depth[row, col] = t
                        hit_id[row, col] = s
            if hit_id[row, col] >= 0:
                s = hit_id[row, col]
                m = shape_material[s]
                hit = camera_pos + best * d
                n = hit - np.array([shape_pose[s][0], shape_pose[s][1], shape_pose[s][2]])
                n = n / np.linalg.norm(n)
                h = light_dir - d
                h = h / np.linalg.norm(h)
                n_l = np.dot(n, light_dir)
                n_v = -np.dot(n, d)
                n_h = np.dot(n, h)
                v_h = -np.dot(d, h)
                if n_v < 0.001:
                    n_v = 0.001
                if n_h < 0.0:
                    n_h = 0.0
                if v_h < 0.0:
                    v_h = 0.0
                if n_l > 0.0:
                    alpha = roughness[m] ** 2.0
                    g = 0.5 * alpha
                    bottom = 1.0 - n_h * n_h * (1.0 - alpha * alpha)
                    spec = alpha * alpha / (4.0 * math.pi * bottom * bottom)
                    spec = spec / ((n_v + g - g * n_v) * (n_l + g - g * n_l))
                    for c in range(3):
                        f0 = 0.04 + metallic[m] * (base_color[m][c] - 0.04)
                        f = f0 + (1.0 - f0) * (1.0 - v_h) ** 5.0
                        diffuse = (1.0 - f) * base_color[m][c] * (1.0 - metallic[m]) / math.pi
                        color[row, col][c] = n_l * (diffuse + f * spec)

# === gaussian_splats
# source: projection of three-dimensional Gaussians for splatting (Zwicker et al. 2001; Kerbl et al. 2023)
# task: project Gaussians to the screen and count the tiles that each of them touches
# about: The covariance is built from a unit quaternion and three scales and linearised at the mean. Gaussians behind the near plane are culled.
# domain: graphics
# weight: 9
# sizes: num_points = 1 7 71 512
# - means: vec3[num_points] uniform(-1.0, 1.0); centres [m]
# - scales: vec3[num_points] uniform(0.05, 0.3); standard deviations along the axes [m]
# - rotations: vec4[num_points] unit(); unit quaternions, w first
# - opacities: float[num_points] uniform(0.2, 0.99); opacities
# - sh_coeffs: float[num_points, 12] uniform(-0.5, 0.5); spherical harmonics up to degree 1, four for each channel
# - screen_pos: vec2[num_points] zeros; centres on the screen [pixel]
# - depths: float[num_points] zeros; depths [m]
# - conics: vec3[num_points] zeros; inverse covariances: xx, xy, yy
# - radii: int[num_points] zeros; radii [pixel], 0 where culled
# - tiles_touched: int[num_points] zeros; tiles that are overlapped
# - colors: vec3[num_points] zeros; colours seen from the camera
# - cam_dist: float = 4.0; distance of the camera along z [m]
# - focal_x: float = 120.0; focal length along x [pixel]
# - focal_y: float = 110.0; focal length along y [pixel]
# - width: int = 128; width of the screen [pixel]
# - height: int = 96; height of the screen [pixel]
# - tile_size: int = 16; edge of a tile [pixel]
# - near: float = 0.2; depth of the near plane [m]
@func
def clamp_tile(value: float, tile: int, count: int) -> int:
    """Tile of a pixel coordinate, within the screen."""
    index = int(wp.floor(value / float(tile)))
    if index < 0:
        return 0
    if index > count:
        return count
    return index

@func
def sh_degree1(c0: float, c1: float, c2: float, c3: float, d: wp.vec3) -> float:
    """Colour of one channel, shifted and not negative."""
    value = 0.28209479 * c0
    value += 0.48860251 * (-d[1] * c1 + d[2] * c2 - d[0] * c3)
    return wp.max(value + 0.5, 0.0)

@kernel[num_points] elementwise map, rigid transform, aabb arith
def project_gaussians():
    """Screen-space mean, conic, radius and tiles of each Gaussian."""
    i = wp.tid()
    guard i < num_points
    mean = means[i]
    # camera looks along +z
    x = mean[0]
    y = mean[1]
    z = mean[2] + cam_dist
    if z < near:
        return

    # rotation matrix of the quaternion
    q = rotations[i]
    qw = q[0]
    qx = q[1]
    qy = q[2]
    qz = q[3]
    r00 = 1.0 - 2.0 * (qy * qy + qz * qz)
    r01 = 2.0 * (qx * qy - qw * qz)
    r02 = 2.0 * (qx * qz + qw * qy)
    r10 = 2.0 * (qx * qy + qw * qz)
    r11 = 1.0 - 2.0 * (qx * qx + qz * qz)
    r12 = 2.0 * (qy * qz - qw * qx)
    r20 = 2.0 * (qx * qz - qw * qy)
    r21 = 2.0 * (qy * qz + qw * qx)
    r22 = 1.0 - 2.0 * (qx * qx + qy * qy)

    # covariance R S S^T R^T
    s = scales[i]
    sx = s[0] * s[0]
    sy = s[1] * s[1]
    sz = s[2] * s[2]
    cov_xx = r00 * r00 * sx + r01 * r01 * sy + r02 * r02 * sz
    cov_xy = r00 * r10 * sx + r01 * r11 * sy + r02 * r12 * sz
    cov_xz = r00 * r20 * sx + r01 * r21 * sy + r02 * r22 * sz
    cov_yy = r10 * r10 * sx + r11 * r11 * sy + r12 * r12 * sz
    cov_yz = r10 * r20 * sx + r11 * r21 * sy + r12 * r22 * sz
    cov_zz = r20 * r20 * sx + r21 * r21 * sy + r22 * r22 * sz

    # Jacobian of the perspective division
    inv_z = 1.0 / z
    inv_z2 = inv_z * inv_z
    j00 = focal_x * inv_z
    j02 = -focal_x * x * inv_z2
    j11 = focal_y * inv_z
    j12 = -focal_y * y * inv_z2

    # covariance on the screen, widened by a pixel's low-pass filter
    a = j00 * j00 * cov_xx + 2.0 * j00 * j02 * cov_xz + j02 * j02 * cov_zz + 0.3
    b = j00 * j11 * cov_xy + j00 * j12 * cov_xz + j02 * j11 * cov_yz + j02 * j12 * cov_zz
    c = j11 * j11 * cov_yy + 2.0 * j11 * j12 * cov_yz + j12 * j12 * cov_zz + 0.3
    det = a * c - b * b
    if det <= 0.0:
        return
    inv_det = 1.0 / det
    conics[i] = wp.vec3(c * inv_det, -b * inv_det, a * inv_det)

    # three standard deviations along the longer axis
    mid = 0.5 * (a + c)
    lambda_max = mid + wp.sqrt(wp.max(mid * mid - det, 0.1))
    radius = 3.0 * wp.sqrt(lambda_max)
    u = focal_x * x * inv_z + 0.5 * float(width)
    v = focal_y * y * inv_z + 0.5 * float(height)
    tiles_x = (width + tile_size - 1) // tile_size
    tiles_y = (height + tile_size - 1) // tile_size
    x_min = clamp_tile(u - radius, tile_size, tiles_x)
    x_max = clamp_tile(u + radius + float(tile_size), tile_size, tiles_x)
    y_min = clamp_tile(v - radius, tile_size, tiles_y)
    y_max = clamp_tile(v + radius + float(tile_size), tile_size, tiles_y)
    touched = (x_max - x_min) * (y_max - y_min)
    if touched == 0:
        return
    screen_pos[i] = wp.vec2(u, v)
    depths[i] = z
    radii[i] = int(wp.ceil(radius))
    tiles_touched[i] = touched

@kernel[num_points] mask or active filter, elementwise map
def view_colors():
    """Evaluate the harmonics along the view of visible Gaussians."""
    i = wp.tid()
    guard i < num_points
    # culled Gaussians have no colour
    require radii[i] > 0
    direction = wp.normalize(means[i] + wp.vec3(0.0, 0.0, cam_dist))
    red = sh_degree1(sh_coeffs[i, 0], sh_coeffs[i, 1], sh_coeffs[i, 2], sh_coeffs[i, 3], direction)
    green = sh_degree1(sh_coeffs[i, 4], sh_coeffs[i, 5], sh_coeffs[i, 6], sh_coeffs[i, 7], direction)
    blue = sh_degree1(sh_coeffs[i, 8], sh_coeffs[i, 9], sh_coeffs[i, 10], sh_coeffs[i, 11], direction)
    colors[i] = wp.vec3(red, green, blue) * opacities[i]

def reference():
    """The covariance is the product of the Jacobian's rows times the scaled axes."""
    for i in range(num_points):
        p = means[i] + np.array([0.0, 0.0, cam_dist])
        axis = np.array([rotations[i][1], rotations[i][2], rotations[i][3]])
        row_x = np.array([focal_x / p[2], 0.0, -focal_x * p[0] / (p[2] * p[2])])
        row_y = np.array([0.0, focal_y / p[2], -focal_y * p[1] / (p[2] * p[2])])
        a = 0.3
        b = 0.0
        c = 0.3
        for k in range(3):
            e = np.array([0.0, 0.0, 0.0])
            e[k] = scales[i][k]
            e = e + 2.0 * rotations[i][0] * np.cross(axis, e) + 2.0 * np.cross(axis, np.cross(axis, e))
            a = a + np.dot(row_x, e) ** 2.0
            b = b + np.dot(row_x, e) * np.dot(row_y, e)
            c = c + np.dot(row_y, e) ** 2.0
        det = a * c - b * b
        if p[2] >= near and det > 0.0:
            conics[i] = np.array([c / det, -b / det, a / det])
            gap = (0.5 * (a + c)) ** 2.0 - det
            if gap < 0.1:
                gap = 0.1
            r = 3.0 * math.sqrt(0.5 * (a + c) + math.sqrt(gap))
            u = p[0] / p[2] * focal_x + 0.5 * float(width)
            v = p[1] / p[2] * focal_y + 0.5 * float(height)
            count = 0
            for ty in range((height + tile_size - 1) // tile_size):
                for tx in range((width + tile_size - 1) // tile_size):
                    left = float(tx * tile_size)
                    top = float(ty * tile_size)
                    side = float(tile_size)
                    if left + side > u - r and left <= u + r and top + side > v - r and top <= v + r:
                        count = count + 1
            if count > 0:
                screen_pos[i] = np.array([u, v])
                depths[i] = p[2]
                radii[i] = int(math.ceil(r))
                tiles_touched[i] = count
                d = p / np.linalg.norm(p)
                for ch in range(3):
                    value = 0.28209479 * sh_coeffs[i, 4 * ch] - 0.48860251 * d[1] * sh_coeffs[i, 4 * ch + 1]
                    value = value + 0.48860251 * d[2] * sh_coeffs[i, 4 * ch + 2]
                    value = value - 0.48860251 * d[0] * sh_coeffs[i, 4 * ch + 3] + 0.5
                    if value > 0.0:
                        colors[i][ch] = value * opacities[i]
