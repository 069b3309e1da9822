# === dopri5_orbits
# source: embedded Runge-Kutta pair of orders 5 and 4 (Dormand and Prince 1980) for the two-body problem with oblateness (Montenbruck and Gill 2000)
# task: step satellites around an oblate planet with an embedded Runge-Kutta pair and choose the next steps
# about: Every component of every stage has a name of its own. Steps with a large error are rejected and repeated by the next launch.
# domain: physics
# weight: 9
# sizes: num_sats = 1 7 71 512
# - pos: vec3[num_sats] uniform(0.8, 1.4); positions in planet radii, changed in place
# - vel: vec3[num_sats] uniform(-0.5, 0.5); velocities, changed in place
# - step_size: float[num_sats] uniform(0.4, 1.0); steps, changed in place
# - elapsed: float[num_sats] uniform(0.0, 5.0); times, changed in place
# - alive: int[num_sats] uniform(0, 2); 1 for satellites that still fly
# - error: float[num_sats] zeros; estimated errors of the step
# - accepted: int[num_sats] zeros; 1 where the step was taken
# - num_rejected: int[1] zeros; steps to be repeated
# - mu: float = 1.0; gravitational parameter
# - j2: float = 0.05; oblateness of the planet
# - tolerance: float = 2.5e-5; error that is allowed in a step
# - max_step: float = 1.0; longest step
@func
def gravity_radial(r2: float, z2: float, gm: float, oblateness: float) -> float:
    """Factor of the equatorial components of the acceleration."""
    inv_r2 = 1.0 / r2
    inv_r = wp.sqrt(inv_r2)
    bulge = 1.5 * oblateness * inv_r2 * (5.0 * z2 * inv_r2 - 1.0)
    return gm * inv_r * inv_r2 * (bulge - 1.0)

@func
def gravity_axial(r2: float, z2: float, gm: float, oblateness: float) -> float:
    """Factor of the component along the axis."""
    inv_r2 = 1.0 / r2
    inv_r = wp.sqrt(inv_r2)
    bulge = 1.5 * oblateness * inv_r2 * (5.0 * z2 * inv_r2 - 3.0)
    return gm * inv_r * inv_r2 * (bulge - 1.0)

@func
def next_step(h: float, err: float, tol: float, h_max: float) -> float:
    """Step from the error of the last one, with a safety factor."""
    factor = 0.9 * wp.pow(tol / wp.max(err, 1.0e-9), 0.2)
    return wp.min(h * wp.clamp(factor, 0.2, 4.0), h_max)

@kernel[num_sats] time integration, explicit update step, mask or active filter, in place update
def dopri_step():
    """Seven stages; the last one gives the error."""
    i = wp.tid()
    guard i < num_sats
    # satellites that came down stay where they are
    if alive[i] == 0:
        return
    h = step_size[i]
    p = pos[i]
    q = vel[i]
    x1 = p[0]
    y1 = p[1]
    z1 = p[2]
    u1 = q[0]
    v1 = q[1]
    w1 = q[2]

    # stage 1
    rr1 = x1 * x1 + y1 * y1 + z1 * z1
    radial1 = gravity_radial(rr1, z1 * z1, mu, j2)
    axial1 = gravity_axial(rr1, z1 * z1, mu, j2)
    ax1 = radial1 * x1
    ay1 = radial1 * y1
    az1 = axial1 * z1

    # stage 2
    a21 = 1.0 / 5.0
    x2 = x1 + h * (a21 * u1)
    y2 = y1 + h * (a21 * v1)
    z2 = z1 + h * (a21 * w1)
    u2 = u1 + h * (a21 * ax1)
    v2 = v1 + h * (a21 * ay1)
    w2 = w1 + h * (a21 * az1)
    rr2 = x2 * x2 + y2 * y2 + z2 * z2
    radial2 = gravity_radial(rr2, z2 * z2, mu, j2)
    axial2 = gravity_axial(rr2, z2 * z2, mu, j2)
    ax2 = radial2 * x2
    ay2 = radial2 * y2
    az2 = axial2 * z2

    # stage 3
    a31 = 3.0 / 40.0
    a32 = 9.0 / 40.0
    x3 = x1 + h * (a31 * u1 + a32 * u2)
    y3 = y1 + h * (a31 * v1 + a32 * v2)
    z3 = z1 + h * (a31 * w1 + a32 * w2)
    u3 = u1 + h * (a31 * ax1 + a32 * ax2)
    v3 = v1 + h * (a31 * ay1 + a32 * ay2)
    w3 = w1 + h * (a31 * az1 + a32 * az2)
    rr3 = x3 * x3 + y3 * y3 + z3 * z3
    radial3 = gravity_radial(rr3, z3 * z3, mu, j2)
    axial3 = gravity_axial(rr3, z3 * z3, mu, j2)
    ax3 = radial3 * x3
    ay3 = radial3 * y3
    az3 = axial3 * z3

    # stage 4
    a41 = 44.0 / 45.0
    a42 = -56.0 / 15.0
    a43 = 32.0 / 9.0
    x4 = x1 + h * (a41 * u1 + a42 * u2 + a43 * u3)
    y4 = y1 + h * (a41 * v1 + a42 * v2 + a43 * v3)
    z4 = z1 + h * (a41 * w1 + a42 * w2 + a43 * w3)
    u4 = u1 + h * (a41 * ax1 + a42 * ax2 + a43 * ax3)
    v4 = v1 + h * (a41 * ay1 + a42 * ay2 + a43 * ay3)
    w4 = w1 + h * (a41 * az1 + a42 * az2 + a43 * az3)
    rr4 = x4 * x4 + y4 * y4 + z4 * z4
    radial4 = gravity_radial(rr4, z4 * z4, mu, j2)
    axial4 = gravity_axial(rr4, z4 * z4, mu, j2)
    ax4 = radial4 * x4
    ay4 = radial4 * y4
    az4 = axial4 * z4

    # stage 5
    a51 = 19372.0 / 6561.0
    a52 = -25360.0 / 2187.0
    a53 = 64448.0 / 6561.0
    a54 = -212.0 / 729.0
    dx5 = a51 * u1 + a52 * u2
    dx5 += a53 * u3 + a54 * u4
    x5 = x1 + h * dx5
    dy5 = a51 * v1 + a52 * v2
    dy5 += a53 * v3 + a54 * v4
    y5 = y1 + h * dy5
    dz5 = a51 * w1 + a52 * w2
    dz5 += a53 * w3 + a54 * w4
    z5 = z1 + h * dz5
    du5 = a51 * ax1 + a52 * ax2
    du5 += a53 * ax3 + a54 * ax4
    u5 = u1 + h * du5
    dv5 = a51 * ay1 + a52 * ay2
    dv5 += a53 * ay3 + a54 * ay4
    v5 = v1 + h * dv5
    dw5 = a51 * az1 + a52 * az2
    dw5 += a53 * az3 + a54 * az4
    w5 = w1 + h * dw5
    rr5 = x5 * x5 + y5 * y5 + z5 * z5
    radial5 = gravity_radial(rr5, z5 * z5, mu, j2)
    axial5 = gravity_axial(rr5, z5 * z5, mu, j2)
    ax5 = radial5 * x5
    ay5 = radial5 * y5
    az5 = axial5 * z5

    # stage 6
    a61 = 9017.0 / 3168.0
    a62 = -355.0 / 33.0
    a63 = 46732.0 / 5247.0
    a64 = 49.0 / 176.0
    a65 = -5103.0 / 18656.0
    dx6 = a61 * u1 + a62 * u2 + a63 * u3
    dx6 += a64 * u4 + a65 * u5
    x6 = x1 + h * dx6
    dy6 = a61 * v1 + a62 * v2 + a63 * v3
    dy6 += a64 * v4 + a65 * v5
    y6 = y1 + h * dy6
    dz6 = a61 * w1 + a62 * w2 + a63 * w3
    dz6 += a64 * w4 + a65 * w5
    z6 = z1 + h * dz6
    du6 = a61 * ax1 + a62 * ax2 + a63 * ax3
    du6 += a64 * ax4 + a65 * ax5
    u6 = u1 + h * du6
    dv6 = a61 * ay1 + a62 * ay2 + a63 * ay3
    dv6 += a64 * ay4 + a65 * ay5
    v6 = v1 + h * dv6
    dw6 = a61 * az1 + a62 * az2 + a63 * az3
    dw6 += a64 * az4 + a65 * az5
    w6 = w1 + h * dw6
    rr6 = x6 * x6 + y6 * y6 + z6 * z6
    radial6 = gravity_radial(rr6, z6 * z6, mu, j2)
    axial6 = gravity_axial(rr6, z6 * z6, mu, j2)
    ax6 = radial6 * x6
    ay6 = radial6 * y6
    az6 = axial6 * z6

    # stage 7, at the new state
    b1 = 35.0 / 384.0
    b3 = 500.0 / 1113.0
    b4 = 125.0 / 192.0
    b5 = -2187.0 / 6784.0
    b6 = 11.0 / 84.0
    dx7 = b1 * u1 + b3 * u3 + b4 * u4
    dx7 += b5 * u5 + b6 * u6
    x7 = x1 + h * dx7
    dy7 = b1 * v1 + b3 * v3 + b4 * v4
    dy7 += b5 * v5 + b6 * v6
    y7 = y1 + h * dy7
    dz7 = b1 * w1 + b3 * w3 + b4 * w4
    dz7 += b5 * w5 + b6 * w6
    z7 = z1 + h * dz7
    du7 = b1 * ax1 + b3 * ax3 + b4 * ax4
    du7 += b5 * ax5 + b6 * ax6
    u7 = u1 + h * du7
    dv7 = b1 * ay1 + b3 * ay3 + b4 * ay4
    dv7 += b5 * ay5 + b6 * ay6
    v7 = v1 + h * dv7
    dw7 = b1 * az1 + b3 * az3 + b4 * az4
    dw7 += b5 * az5 + b6 * az6
    w7 = w1 + h * dw7
    rr7 = x7 * x7 + y7 * y7 + z7 * z7
    radial7 = gravity_radial(rr7, z7 * z7, mu, j2)
    axial7 = gravity_axial(rr7, z7 * z7, mu, j2)
    ax7 = radial7 * x7
    ay7 = radial7 * y7
    az7 = axial7 * z7

    # difference of both orders
    e1 = 71.0 / 57600.0
    e3 = -71.0 / 16695.0
    e4 = 71.0 / 1920.0
    e5 = -17253.0 / 339200.0
    e6 = 22.0 / 525.0
    e7 = -1.0 / 40.0
    err_x = e1 * u1 + e3 * u3 + e4 * u4
    err_x += e5 * u5 + e6 * u6 + e7 * u7
    err_y = e1 * v1 + e3 * v3 + e4 * v4
    err_y += e5 * v5 + e6 * v6 + e7 * v7
    err_z = e1 * w1 + e3 * w3 + e4 * w4
    err_z += e5 * w5 + e6 * w6 + e7 * w7
    err_u = e1 * ax1 + e3 * ax3 + e4 * ax4
    err_u += e5 * ax5 + e6 * ax6 + e7 * ax7
    err_v = e1 * ay1 + e3 * ay3 + e4 * ay4
    err_v += e5 * ay5 + e6 * ay6 + e7 * ay7
    err_w = e1 * az1 + e3 * az3 + e4 * az4
    err_w += e5 * az5 + e6 * az6 + e7 * az7
    err_pos = wp.sqrt(err_x * err_x + err_y * err_y + err_z * err_z)
    err_vel = wp.sqrt(err_u * err_u + err_v * err_v + err_w * err_w)
    err = h * wp.max(err_pos, err_vel)
    error[i] = err

    step_size[i] = next_step(h, err, tolerance, max_step)
    if err > tolerance:
        # state and time stay, only the step shrinks
        wp.atomic_add(num_rejected, 0, 1)
        return

    pos[i] = wp.vec3(x7, y7, z7)
    vel[i] = wp.vec3(u7, v7, w7)
    elapsed[i] = elapsed[i] + h
    accepted[i] = 1

def reference():
    """Stages in a loop, over positions and velocities as one vector each."""
    for i in range(num_sats):
        if alive[i] == 1:
            h = step_size[i]
            none = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
            start = np.array([pos[i][0], pos[i][1], pos[i][2], vel[i][0], vel[i][1], vel[i][2]])
            k1 = none
            k2 = none
            k3 = none
            k4 = none
            k5 = none
            k6 = none
            k7 = none
            last = start
            for stage in range(7):
                s = start
                if stage == 1:
                    s = start + h / 5.0 * k1
                if stage == 2:
                    s = start + h / 40.0 * (3.0 * k1 + 9.0 * k2)
                if stage == 3:
                    s = start + h / 45.0 * (44.0 * k1 - 168.0 * k2 + 160.0 * k3)
                if stage == 4:
                    s = start + h / 6561.0 * (19372.0 * k1 - 76080.0 * k2 + 64448.0 * k3 - 1908.0 * k4)
                if stage == 5:
                    s = start + h * (9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3)
                    s = s + h * (49.0 / 176.0 * k4 - 5103.0 / 18656.0 * k5)
                if stage == 6:
                    s = start + h * (35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4)
                    s = s + h * (11.0 / 84.0 * k6 - 2187.0 / 6784.0 * k5)
                    last = s
                r = math.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
                sine = s[2] / r
                pull = mu / r**3.0
                bulge = 1.5 * j2 * (5.0 * sine * sine - 1.0) / (r * r)
                a = pull * (bulge - 1.0)
                b = pull * (bulge - 3.0 * j2 / (r * r) - 1.0)
                k = np.array([s[3], s[4], s[5], a * s[0], a * s[1], b * s[2]])
                if stage == 0:
                    k1 = k
                if stage == 1:
                    k2 = k
                if stage == 2:
                    k3 = k
                if stage == 3:
                    k4 = k
                if stage == 4:
                    k5 = k
                if stage == 5:
                    k6 = k
                if stage == 6:
                    k7 = k
            e = 71.0 / 57600.0 * k1 - 71.0 / 16695.0 * k3 + 71.0 / 1920.0 * k4
            e = e - 17253.0 / 339200.0 * k5 + 22.0 / 525.0 * k6 - 1.0 / 40.0 * k7
            far = math.sqrt(e[0] ** 2.0 + e[1] ** 2.0 + e[2] ** 2.0)
            fast = math.sqrt(e[3] ** 2.0 + e[4] ** 2.0 + e[5] ** 2.0)
            if fast > far:
                far = fast
            error[i] = h * far
            ratio = tolerance / 1.0e-9
            if error[i] > 1.0e-9:
                ratio = tolerance / error[i]
            grow = 0.9 * ratio**0.2
            if grow < 0.2:
                grow = 0.2
            if grow > 4.0:
                grow = 4.0
            step_size[i] = grow * h
            if step_size[i] > max_step:
                step_size[i] = max_step
            if error[i] > tolerance:
                num_rejected[0] = num_rejected[0] + 1
            else:
                pos[i] = np.array([last[0], last[1], last[2]])
                vel[i] = np.array([last[3], last[4], last[5]])
                elapsed[i] = elapsed[i] + h
                accepted[i] = 1

# === bundle_normal_equations
# source: normal equations of bundle adjustment with a left perturbation of the pose (Triggs et al. 2000; Barfoot 2017)
# task: accumulate the normal equations of a bundle adjustment from observations of points in images
# about: Residuals are reprojection errors with a Huber weight. Only the upper triangle of each block is stored, row by row.
# domain: geometry
# weight: 10
# sizes: num_obs = 1 7 71 512; num_cams = 1 2 5 12; num_points = 1 5 20 100
# - obs_cam: int[num_obs] index(num_cams); camera of each observation
# - obs_point: int[num_obs] index(num_points); point of each observation
# - obs_uv: vec2[num_obs] uniform(-0.4, 0.4); measured pixel positions, normalised
# - obs_valid: int[num_obs] uniform(0, 2); 1 for observations that count
# - cam_rot: mat33[num_cams] rotation(); rotations from the world to the cameras
# - cam_trans: vec3[num_cams] uniform(-0.3, 0.3); translations, without the distance of the scene [m]
# - points: vec3[num_points] uniform(-0.8, 0.8); points of the scene [m]
# - fx: float = 1.1; focal length along x
# - fy: float = 1.05; focal length along y
# - k1: float = -0.05; radial distortion
# - scene_depth: float = 4.0; distance of the scene along z [m]
# - huber: float = 0.3; residual beyond which weights fall
# - min_depth: float = 0.1; points nearer than this are skipped [m]
# - cam_hess: float[num_cams, 21] zeros; upper triangles of the camera blocks
# - cam_grad: float[num_cams, 6] zeros; gradients of the cameras
# - point_hess: float[num_points, 6] zeros; upper triangles of the point blocks
# - point_grad: float[num_points, 3] zeros; gradients of the points
# - cost: float[1] zeros; sum of weighted squares
@func
def huber_weight(e2: float, delta: float) -> float:
    """Weight of a residual by its squared length."""
    if e2 <= delta * delta:
        return 1.0
    return delta / wp.sqrt(e2)

@kernel[num_obs] coo or edge assembly, scatter add, mask or active filter, gather, outer or skew assembly
def accumulate_observation():
    """Residual, Jacobians of camera and point, and their products."""
    obs = wp.tid()
    guard obs < num_obs
    if obs_valid[obs] == 0:
        return
    cam = obs_cam[obs]
    pt = obs_point[obs]
    rot = cam_rot[cam]
    trans = cam_trans[cam]

    # point in the frame of the camera
    rp = rot * points[pt]
    xc = rp[0] + trans[0]
    yc = rp[1] + trans[1]
    zc = rp[2] + trans[2] + scene_depth
    if zc < min_depth:
        return
    inv_z = 1.0 / zc
    xn = xc * inv_z
    yn = yc * inv_z

    # projection with radial distortion
    r2 = xn * xn + yn * yn
    dist = 1.0 + k1 * r2
    uv = obs_uv[obs]
    ru = fx * dist * xn - uv[0]
    rv = fy * dist * yn - uv[1]
    e2 = ru * ru + rv * rv
    weight = huber_weight(e2, huber)

    # derivative of the projection by the point in the camera
    dist_x = dist + 2.0 * k1 * xn * xn
    dist_y = dist + 2.0 * k1 * yn * yn
    mixed = 2.0 * k1 * xn * yn
    p00 = fx * dist_x * inv_z
    p01 = fx * mixed * inv_z
    p02 = -(p00 * xn + p01 * yn)
    p10 = fy * mixed * inv_z
    p11 = fy * dist_y * inv_z
    p12 = -(p10 * xn + p11 * yn)

    # rotation of the camera: minus the skew matrix of the rotated point
    ju0 = p02 * rp[1] - p01 * rp[2]
    ju1 = p00 * rp[2] - p02 * rp[0]
    ju2 = p01 * rp[0] - p00 * rp[1]
    jv0 = p12 * rp[1] - p11 * rp[2]
    jv1 = p10 * rp[2] - p12 * rp[0]
    jv2 = p11 * rp[0] - p10 * rp[1]

    # translation of the camera
    ju3 = p00
    ju4 = p01
    ju5 = p02
    jv3 = p10
    jv4 = p11
    jv5 = p12

    # position of the point
    ju6 = p00 * rot[0, 0] + p01 * rot[1, 0] + p02 * rot[2, 0]
    ju7 = p00 * rot[0, 1] + p01 * rot[1, 1] + p02 * rot[2, 1]
    ju8 = p00 * rot[0, 2] + p01 * rot[1, 2] + p02 * rot[2, 2]
    jv6 = p10 * rot[0, 0] + p11 * rot[1, 0] + p12 * rot[2, 0]
    jv7 = p10 * rot[0, 1] + p11 * rot[1, 1] + p12 * rot[2, 1]
    jv8 = p10 * rot[0, 2] + p11 * rot[1, 2] + p12 * rot[2, 2]

    # products of the camera
    h00 = weight * (ju0 * ju0 + jv0 * jv0)
    h01 = weight * (ju0 * ju1 + jv0 * jv1)
    h02 = weight * (ju0 * ju2 + jv0 * jv2)
    h03 = weight * (ju0 * ju3 + jv0 * jv3)
    h04 = weight * (ju0 * ju4 + jv0 * jv4)
    h05 = weight * (ju0 * ju5 + jv0 * jv5)
    h11 = weight * (ju1 * ju1 + jv1 * jv1)
    h12 = weight * (ju1 * ju2 + jv1 * jv2)
    h13 = weight * (ju1 * ju3 + jv1 * jv3)
    h14 = weight * (ju1 * ju4 + jv1 * jv4)
    h15 = weight * (ju1 * ju5 + jv1 * jv5)
    h22 = weight * (ju2 * ju2 + jv2 * jv2)
    h23 = weight * (ju2 * ju3 + jv2 * jv3)
    h24 = weight * (ju2 * ju4 + jv2 * jv4)
    h25 = weight * (ju2 * ju5 + jv2 * jv5)
    h33 = weight * (ju3 * ju3 + jv3 * jv3)
    h34 = weight * (ju3 * ju4 + jv3 * jv4)
    h35 = weight * (ju3 * ju5 + jv3 * jv5)
    h44 = weight * (ju4 * ju4 + jv4 * jv4)
    h45 = weight * (ju4 * ju5 + jv4 * jv5)
    h55 = weight * (ju5 * ju5 + jv5 * jv5)
    wp.atomic_add(cam_hess, cam, 0, h00)
    wp.atomic_add(cam_hess, cam, 1, h01)
    wp.atomic_add(cam_hess, cam, 2, h02)
    wp.atomic_add(cam_hess, cam, 3, h03)
    wp.atomic_add(cam_hess, cam, 4, h04)
    wp.atomic_add(cam_hess, cam, 5, h05)
    wp.atomic_add(cam_hess, cam, 6, h11)
    wp.atomic_add(cam_hess, cam, 7, h12)
    wp.atomic_add(cam_hess, cam, 8, h13)
    wp.atomic_add(cam_hess, cam, 9, h14)
    wp.atomic_add(cam_hess, cam, 10, h15)
    wp.atomic_add(cam_hess, cam, 11, h22)
    wp.atomic_add(cam_hess, cam, 12, h23)
    wp.atomic_add(cam_hess, cam, 13, h24)
    wp.atomic_add(cam_hess, cam, 14, h25)
    wp.atomic_add(cam_hess, cam, 15, h33)
    wp.atomic_add(cam_hess, cam, 16, h34)
    wp.atomic_add(cam_hess, cam, 17, h35)
    wp.atomic_add(cam_hess, cam, 18, h44)
    wp.atomic_add(cam_hess, cam, 19, h45)
    wp.atomic_add(cam_hess, cam, 20, h55)
    g0 = weight * (ju0 * ru + jv0 * rv)
    g1 = weight * (ju1 * ru + jv1 * rv)
    g2 = weight * (ju2 * ru + jv2 * rv)
    g3 = weight * (ju3 * ru + jv3 * rv)
    g4 = weight * (ju4 * ru + jv4 * rv)
    g5 = weight * (ju5 * ru + jv5 * rv)
    wp.atomic_add(cam_grad, cam, 0, g0)
    wp.atomic_add(cam_grad, cam, 1, g1)
    wp.atomic_add(cam_grad, cam, 2, g2)
    wp.atomic_add(cam_grad, cam, 3, g3)
    wp.atomic_add(cam_grad, cam, 4, g4)
    wp.atomic_add(cam_grad, cam, 5, g5)

    # products of the point
    h66 = weight * (ju6 * ju6 + jv6 * jv6)
    h67 = weight * (ju6 * ju7 + jv6 * jv7)
    h68 = weight * (ju6 * ju8 + jv6 * jv8)
    h77 = weight * (ju7 * ju7 + jv7 * jv7)
    h78 = weight * (ju7 * ju8 + jv7 * jv8)
    h88 = weight * (ju8 * ju8 + jv8 * jv8)
    wp.atomic_add(point_hess, pt, 0, h66)
    wp.atomic_add(point_hess, pt, 1, h67)
    wp.atomic_add(point_hess, pt, 2, h68)
    wp.atomic_add(point_hess, pt, 3, h77)
    wp.atomic_add(point_hess, pt, 4, h78)
    wp.atomic_add(point_hess, pt, 5, h88)
    g6 = weight * (ju6 * ru + jv6 * rv)
    g7 = weight * (ju7 * ru + jv7 * rv)
    g8 = weight * (ju8 * ru + jv8 * rv)
    wp.atomic_add(point_grad, pt, 0, g6)
    wp.atomic_add(point_grad, pt, 1, g7)
    wp.atomic_add(point_grad, pt, 2, g8)
    wp.atomic_add(cost, 0, weight * e2)

def reference():
    """How the point moves with each unknown, through the derivative of the projection."""
    for o in range(num_obs):
        c = obs_cam[o]
        q = obs_point[o]
        turned = np.array([0.0, 0.0, 0.0])
        for a in range(3):
            for b in range(3):
                turned[a] = turned[a] + cam_rot[c][a, b] * points[q][b]
        x = turned + cam_trans[c] + np.array([0.0, 0.0, scene_depth])
        if obs_valid[o] == 1 and x[2] >= min_depth:
            n = x / x[2]
            d = 1.0 + k1 * (n[0] * n[0] + n[1] * n[1])
            ru = fx * n[0] * d - obs_uv[o][0]
            rv = fy * n[1] * d - obs_uv[o][1]
            size = math.sqrt(ru * ru + rv * rv)
            w = 1.0
            if size > huber:
                w = huber / size
            cost[0] = cost[0] + w * size * size
            slot = 0
            for a in range(9):
                for b in range(10):
                    # the last column is the residual
                    va = 0.0
                    vb = rv
                    ua = 0.0
                    ub = ru
                    for side in range(2):
                        k = a
                        if side == 1:
                            k = b
                        move = np.array([0.0, 0.0, 0.0])
                        if k < 3:
                            axis = np.array([0.0, 0.0, 0.0])
                            axis[k] = 1.0
                            move = np.cross(axis, turned)
                        elif k < 6:
                            move[k - 3] = 1.0
                        elif k < 9:
                            move = np.array([cam_rot[c][0, k - 6], cam_rot[c][1, k - 6], cam_rot[c][2, k - 6]])
                        dn = (move - move[2] * n) / x[2]
                        dd = 2.0 * k1 * (n[0] * dn[0] + n[1] * dn[1])
                        if k < 9:
                            du = fx * (dn[0] * d + n[0] * dd)
                            dv = fy * (dn[1] * d + n[1] * dd)
                            if side == 0:
                                ua = du
                                va = dv
                            else:
                                ub = du
                                vb = dv
                    product = w * (ua * ub + va * vb)
                    if b == 9:
                        if a < 6:
                            cam_grad[c, a] = cam_grad[c, a] + product
                        else:
                            point_grad[q, a - 6] = point_grad[q, a - 6] + product
                    elif b >= a and b < 6:
                        cam_hess[c, slot] = cam_hess[c, slot] + product
                        slot = slot + 1
                    elif b >= a and a >= 6:
                        point_hess[q, slot - 21] = point_hess[q, slot - 21] + product
                        slot = slot + 1
