# === kalman_tracks
# source: constant velocity Kalman filter with gating by the Mahalanobis distance (Kalman 1960; Bar-Shalom 2001)
# task: predict and update many two-dimensional tracks with a Kalman filter and gated measurements
# about: Position and velocity of each axis share a covariance matrix of two by two. Measurements outside of the gate are refused.
# domain: signal
# weight: 8
# split: validation
# sizes: num_tracks = 1 7 71 300; num_measurements = 1 9 60 200
# - state: vec4[num_tracks] uniform(-1.0, 1.0); states: positions and velocities, x, y, vx, vy [m, m/s]
# - covariance: vec3[num_tracks] uniform(0.3, 0.5); covariances: variance of position, covariance, variance of velocity
# - missed: int[num_tracks] uniform(0, 4); steps without a measurement
# - assigned: int[num_tracks] index(num_measurements); measurement of each track
# - measured: vec2[num_measurements] uniform(-2.0, 2.0); measured positions [m]
# - quality: float[num_measurements] uniform(0.1, 0.5); variances of the measurements [m^2]
# - state_new: vec4[num_tracks] zeros; states after the step
# - covariance_new: vec3[num_tracks] zeros; covariances after the step
# - missed_new: int[num_tracks] zeros; steps without a measurement after the step
# - likelihood: float[num_tracks] zeros; logarithms of the likelihoods
# - num_updated: int[1] zeros; tracks that were updated
# - accel_noise: float = 0.5; spectral density of the accelerations [m^2/s^3]
# - gate: float = 6.0; largest squared Mahalanobis distance
# - max_missed: int = 3; tracks that missed more are frozen
# - dt: float = 0.1; time step [s]
@func
def process_noise(density: float, h: float) -> wp.vec3:
    """Covariance of white acceleration over a step."""
    return wp.vec3(density * h * h * h / 3.0, density * h * h / 2.0, density * h)

@func
def predict_covariance(c: wp.vec3, h: float, noise: wp.vec3) -> wp.vec3:
    """Covariance after a step of constant velocity."""
    pp = c[0] + 2.0 * h * c[1] + h * h * c[2]
    pv = c[1] + h * c[2]
    return wp.vec3(pp, pv, c[2]) + noise

@kernel[num_tracks] elementwise map, gather, atomic counter
def filter_tracks():
    """Predict, gate and update one track."""
    tid = wp.tid()
    guard tid < num_tracks
    s = state[tid]
    c = covariance[tid]
    steps = missed[tid]
    if steps > max_missed:
        # lost tracks keep their state
        state_new[tid] = s
        covariance_new[tid] = c
        missed_new[tid] = steps
        return

    # prediction
    px = s[0] + dt * s[2]
    py = s[1] + dt * s[3]
    vx = s[2]
    vy = s[3]
    c = predict_covariance(c, dt, process_noise(accel_noise, dt))

    # innovation and its variance
    m = assigned[tid]
    z = measured[m]
    r = quality[m]
    dx = z[0] - px
    dy = z[1] - py
    innovation = c[0] + r
    d2 = (dx * dx + dy * dy) / innovation

    if d2 <= gate:
        k0 = c[0] / innovation
        k1 = c[1] / innovation
        px += k0 * dx
        py += k0 * dy
        vx += k1 * dx
        vy += k1 * dy
        c = wp.vec3((1.0 - k0) * c[0], (1.0 - k0) * c[1], c[2] - k1 * c[1])
        missed_new[tid] = 0
        likelihood[tid] = -0.5 * d2 - wp.log(6.2831853 * innovation)
        wp.atomic_add(num_updated, 0, 1)
    else:
        missed_new[tid] = steps + 1
        likelihood[tid] = -0.5 * gate

    state_new[tid] = wp.vec4(px, py, vx, vy)
    covariance_new[tid] = c

def reference():
    """The update as a weighted mean of prediction and measurement."""
    for t in range(num_tracks):
        state_new[t] = state[t]
        covariance_new[t] = covariance[t]
        missed_new[t] = missed[t]
        if missed[t] <= max_missed:
            a = covariance[t][0]
            b = covariance[t][1]
            d = covariance[t][2]
            a = a + dt * (2.0 * b + dt * d) + accel_noise * dt**3.0 / 3.0
            b = b + dt * d + 0.5 * accel_noise * dt**2.0
            d = d + accel_noise * dt
            r = quality[assigned[t]]
            missed_new[t] = missed[t] + 1
            likelihood[t] = -0.5 * gate
            x = state[t][0] + dt * state[t][2]
            y = state[t][1] + dt * state[t][3]
            zx = measured[assigned[t]][0]
            zy = measured[assigned[t]][1]
            far = ((x - zx) ** 2.0 + (y - zy) ** 2.0) / (a + r)
            vx = state[t][2]
            vy = state[t][3]
            if far <= gate:
                missed_new[t] = 0
                num_updated[0] = num_updated[0] + 1
                likelihood[t] = -math.log(2.0 * 3.14159265 * (a + r)) - 0.5 * far
                vx = vx + b * (zx - x) / (a + r)
                vy = vy + b * (zy - y) / (a + r)
                x = (r * x + a * zx) / (a + r)
                y = (r * y + a * zy) / (a + r)
                total = a + r
                d = d - b * b / total
                b = b * r / total
                a = a * r / total
            state_new[t] = np.array([x, y, vx, vy])
            covariance_new[t] = np.array([a, b, d])

# === point_to_plane_icp
# source: normal equations of point-to-plane alignment (Chen and Medioni 1991; Low 2004) with Huber weights
# task: accumulate the normal equations of point-to-plane alignment with robust weights
# about: Correspondences come from an index array; pairs that are far apart or whose normals disagree are left out.
# domain: geometry
# weight: 12
# sizes: num_points = 1 7 71 300; num_targets = 1 9 60 200
# - points: vec3[num_points] uniform(-1.0, 1.0); source points [m]
# - normals: vec3[num_points] unit(); normals of the source points
# - targets: vec3[num_targets] uniform(-1.0, 1.0); target points [m]
# - target_normals: vec3[num_targets] unit(); normals of the target points
# - match: int[num_points] index(num_targets); target of each point
# - confidence: float[num_targets] uniform(0.0, 1.0); confidence of each target
# - pose: transform[1] rotation(); present pose of the source
# - hessian: float[6, 6] zeros; matrix of the normal equations
# - gradient: float[6] zeros; right-hand side
# - error: float[1] zeros; robust error
# - inliers: int[1] zeros; pairs in use
# - max_distance: float = 1.6; pairs further apart are left out [m]
# - min_cosine: float = -0.2; smallest cosine between normals
# - huber: float = 0.4; residuals above this grow linearly [m]
@func
def huber_weight(r: float, width: float) -> float:
    """Weight of a residual."""
    size = wp.abs(r)
    if size <= width:
        return 1.0
    return width / size

@func
def huber_loss(r: float, width: float) -> float:
    """Quadratic near zero, linear further away."""
    size = wp.abs(r)
    if size <= width:
        return 0.5 * r * r
    return width * (size - 0.5 * width)

@kernel[num_points] scatter add, gather, rigid transform
def accumulate_alignment():
    """One row of the Jacobian for each pair, and its outer product."""
    tid = wp.tid()
    guard tid < num_points
    X = pose[0]
    p = wp.transform_point(X, points[tid])
    n = wp.transform_vector(X, normals[tid])
    target_id = match[tid]
    q = targets[target_id]
    nq = target_normals[target_id]
    d = p - q
    dist = wp.length(d)
    if dist > max_distance:
        return
    if wp.dot(n, nq) < min_cosine:
        return

    # residual along the normal of the target
    r = wp.dot(d, nq)
    w = huber_weight(r, huber) * confidence[target_id]
    {{if w <= 0.0: || if not w > 0.0:}}
        return
    arm = wp.cross(p, nq)
    row = wp.spatial_vector(arm, nq)

    # upper triangle and its mirror image
    for a in range(6):
        ja = row[a]
        wp.atomic_add(gradient, a, w * ja * r)
        for b in range(a, 6):
            h = w * ja * row[b]
            wp.atomic_add(hessian, a, b, h)
            if b > a:
                wp.atomic_add(hessian, b, a, h)
    wp.atomic_add(error, 0, confidence[target_id] * huber_loss(r, huber))
    wp.atomic_add(inliers, 0, 1)

def reference():
    """The derivative of the residual by rotations is the triple product."""
    u = np.array([pose[0][3], pose[0][4], pose[0][5]])
    s = pose[0][6]
    origin = np.array([pose[0][0], pose[0][1], pose[0][2]])
    for i in range(num_points):
        p = points[i] + 2.0 * s * np.cross(u, points[i]) + 2.0 * np.cross(u, np.cross(u, points[i])) + origin
        n = normals[i] + 2.0 * s * np.cross(u, normals[i]) + 2.0 * np.cross(u, np.cross(u, normals[i]))
        q = targets[match[i]]
        m = target_normals[match[i]]
        c = confidence[match[i]]
        if np.linalg.norm(p - q) <= max_distance and np.dot(n, m) >= min_cosine and c > 0.0:
            r = np.dot(p, m) - np.dot(q, m)
            size = math.sqrt(r * r)
            w = c
            loss = 0.5 * c * r * r
            if size > huber:
                w = c * huber / size
                loss = c * huber * size - 0.5 * c * huber * huber
            error[0] = error[0] + loss
            inliers[0] = inliers[0] + 1
            for a in range(6):
                ja = m[a % 3]
                if a < 3:
                    ja = p[(a + 1) % 3] * m[(a + 2) % 3] - p[(a + 2) % 3] * m[(a + 1) % 3]
                gradient[a] = gradient[a] + w * ja * r
                for b in range(6):
                    jb = m[b % 3]
                    if b < 3:
                        jb = p[(b + 1) % 3] * m[(b + 2) % 3] - p[(b + 2) % 3] * m[(b + 1) % 3]
                    hessian[a, b] = hessian[a, b] + w * ja * jb

# === canny_edges
# source: gradients, non-maximum suppression and double threshold (Canny 1986)
# task: find edges of an image with non-maximum suppression and two thresholds
# about: Directions are rounded to four by comparing the components of the gradient. Weak edges next to strong ones are kept.
# domain: graphics
# weight: 9
# sizes: height = 3 6 9 48; width = 3 7 10 48
# - image: float[height, width] uniform(0.0, 1.0); grey values
# - mask: int[height, width] uniform(0, 2); 0 where edges are not wanted
# - grad_x: float[height, width] zeros; derivatives along x
# - grad_y: float[height, width] zeros; derivatives along y
# - strength: int[height, width] zeros; 0 none, 1 weak, 2 strong
# - edges: int[height, width] zeros; 1 on edges
# - num_edges: int[1] zeros; pixels on edges
# - low: float = 0.6; threshold of weak edges
# - high: float = 1.2; threshold of strong edges
# run: image_gradients, suppress_non_maxima, link_edges
@func
def read_clamped(img: wp.array2d[float], y: int, x: int, rows_: int, cols_: int) -> float:
    """Pixel value, that of the border outside."""
    yy = wp.clamp(y, 0, rows_ - 1)
    xx = wp.clamp(x, 0, cols_ - 1)
    return img[yy, xx]

@kernel[height, width] convolution, matrix or image map
def image_gradients():
    """Sobel derivatives of an image whose border is repeated."""
    grid y, x
    guard y < height and x < width
    ul = read_clamped(image, y - 1, x - 1, height, width)
    uc = read_clamped(image, y - 1, x, height, width)
    ur = read_clamped(image, y - 1, x + 1, height, width)
    cl = read_clamped(image, y, x - 1, height, width)
    cr = read_clamped(image, y, x + 1, height, width)
    ll = read_clamped(image, y + 1, x - 1, height, width)
    lc = read_clamped(image, y + 1, x, height, width)
    lr = read_clamped(image, y + 1, x + 1, height, width)
    grad_x[y, x] = (ur + 2.0 * cr + lr) - (ul + 2.0 * cl + ll)
    grad_y[y, x] = (ll + 2.0 * lc + lr) - (ul + 2.0 * uc + ur)

@kernel[height, width] matrix or image map, mask or active filter
def suppress_non_maxima():
    """Keep pixels that are larger than both neighbours along the gradient."""
    grid y, x
    guard y < height and x < width
    if y == 0 or x == 0 or y == height - 1 or x == width - 1:
        strength[y, x] = 0
        return
    if mask[y, x] == 0:
        strength[y, x] = 0
        return
    gx = grad_x[y, x]
    gy = grad_y[y, x]
    mag = gx * gx + gy * gy
    ax = wp.abs(gx)
    ay = wp.abs(gy)

    # tan(22.5 deg) separates straight from diagonal directions
    dx = int(0)
    dy = int(0)
    if ay <= 0.41421356 * ax:
        dx = 1
    elif ax <= 0.41421356 * ay:
        dy = 1
    elif gx * gy > 0.0:
        dx = 1
        dy = 1
    else:
        dx = 1
        dy = -1
    bx = grad_x[y + dy, x + dx]
    by = grad_y[y + dy, x + dx]
    cx = grad_x[y - dy, x - dx]
    cy = grad_y[y - dy, x - dx]
    before = cx * cx + cy * cy
    after = bx * bx + by * by

    level = int(0)
    if mag > before and mag >= after:
        if mag >= high * high:
            level = 2
        elif mag >= low * low:
            level = 1
    strength[y, x] = level

@kernel[height, width] stencil, atomic counter
def link_edges():
    """Strong pixels, and weak ones that touch them."""
    grid y, x
    guard y < height and x < width
    level = strength[y, x]
    if level == 0:
        return
    keep = level == 2
    if not keep:
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                row = y + dy
                col = x + dx
                if row < 0 or col < 0 or row >= height or col >= width:
                    continue
                if strength[row, col] == 2:
                    keep = True
    if keep:
        edges[y, x] = 1
        wp.atomic_add(num_edges, 0, 1)

def reference():
    """Directions by octants of the angle."""
    for y in range(height):
        for x in range(width):
            gx = 0.0
            gy = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    yy = min(max(y + a, 0), height - 1)
                    xx = min(max(x + b, 0), width - 1)
                    gx = gx + float(b * (2 - a * a)) * image[yy, xx]
                    gy = gy + float(a * (2 - b * b)) * image[yy, xx]
            grad_x[y, x] = gx
            grad_y[y, x] = gy
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            if mask[y, x] != 0:
                gx = grad_x[y, x]
                gy = grad_y[y, x]
                mag = math.sqrt(gx**2.0 + gy**2.0)
                turn = math.atan2(gy, gx) / (math.pi / 8.0)
                if turn < 0.0:
                    turn = turn + 8.0
                dy = 0
                dx = 1
                if turn > 1.0 and turn < 3.0:
                    dy = 1
                elif turn >= 3.0 and turn <= 5.0:
                    dy = 1
                    dx = 0
                elif turn > 5.0 and turn < 7.0:
                    dy = -1
                before = math.sqrt(grad_x[y - dy, x - dx] ** 2.0 + grad_y[y - dy, x - dx] ** 2.0)
                after = math.sqrt(grad_x[y + dy, x + dx] ** 2.0 + grad_y[y + dy, x + dx] ** 2.0)
                if mag > before and mag >= after and mag >= low:
                    strength[y, x] = 1
                    if mag >= high:
                        strength[y, x] = 2
    for y in range(height):
        for x in range(width):
            near = 0
            for yy in range(max(y - 1, 0), min(y + 2, height)):
                for xx in range(max(x - 1, 0), min(x + 2, width)):
                    near = max(near, strength[yy, xx])
            if strength[y, x] > 0 and near == 2:
                edges[y, x] = 1
                num_edges[0] = num_edges[0] + 1

# === bilateral_denoise
# source: bilateral filter with a joint guide (Tomasi and Manduchi 1998; Petschnigg et al. 2004)
# task: denoise an image with a joint bilateral filter guided by normals and depths
# about: Weights are rational functions of squared differences. Pixels without geometry are copied.
# domain: graphics
# weight: 10
# sizes: height = 1 6 9 32; width = 1 7 10 32
# - color: vec3[height, width] uniform(0.0, 1.0); noisy colours
# - normal: vec3[height, width] unit(); surface normals
# - depth: float[height, width] uniform(0.0, 4.0); distances to the camera, below the near plane for none [m]
# - variance: float[height, width] uniform(0.0, 0.2); variances of the noise
# - denoised: vec3[height, width] zeros; filtered colours
# - variance_out: float[height, width] zeros; variances after filtering
# - radius: int = 2; radius of the window
# - sigma_color: float = 0.5; width of the colour weight
# - sigma_depth: float = 0.4; width of the depth weight [m]
# - sigma_space: float = 1.5; width of the window's weight in pixels
# - near_plane: float = 0.5; depths below this belong to no surface [m]
@func
def falloff(d2: float, sigma: float) -> float:
    """Weight that falls with a squared difference."""
    x = 1.0 + d2 / (sigma * sigma)
    return 1.0 / (x * x)

@func
def luminance(c: wp.vec3) -> float:
    """Brightness of a colour."""
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]

@kernel[height, width] convolution, matrix or image map, mask or active filter
def filter_pixels():
    """Weighted mean over the window of one pixel."""
    grid y, x
    guard y < height and x < width
    c0 = color[y, x]
    z0 = depth[y, x]
    if z0 < near_plane:
        denoised[y, x] = c0
        variance_out[y, x] = variance[y, x]
        return
    n0 = normal[y, x]
    lum0 = luminance(c0)
    sum_color = wp.vec3(0.0, 0.0, 0.0)
    sum_weight = float(0.0)
    sum_variance = float(0.0)

    for dy in range(-radius, radius + 1):
        yy = y + dy
        if yy < 0 or yy >= height:
            continue
        for dx in range(-radius, radius + 1):
            xx = x + dx
            if xx < 0 or xx >= width:
                continue
            z = depth[yy, xx]
            if z < near_plane:
                continue
            c = color[yy, xx]
            facing = wp.max(wp.dot(n0, normal[yy, xx]), 0.0)
            dz = z - z0
            dl = luminance(c) - lum0
            w_space = falloff(float(dx * dx + dy * dy), sigma_space)
            w_depth = falloff(dz * dz, sigma_depth)
            w_color = falloff(dl * dl, sigma_color)
            w_normal = facing * facing * facing * facing
            weight = w_space * w_depth * w_color * w_normal
            sum_color += c * weight
            sum_weight += weight
            sum_variance += weight * weight * variance[yy, xx]

    denoised[y, x] = sum_color / sum_weight
    variance_out[y, x] = sum_variance / (sum_weight * sum_weight)

def reference():
    """The window is cut at the border of the image."""
    for y in range(height):
        for x in range(width):
            denoised[y, x] = color[y, x]
            variance_out[y, x] = variance[y, x]
            if depth[y, x] >= near_plane:
                total = 0.0
                spread = 0.0
                mean = np.array([0.0, 0.0, 0.0])
                for b in range(max(y - radius, 0), min(y + radius, height - 1) + 1):
                    for a in range(max(x - radius, 0), min(x + radius, width - 1) + 1):
                        along = np.dot(normal[y, x], normal[b, a])
                        if depth[b, a] >= near_plane and along > 0.0:
                            d = color[b, a] - color[y, x]
                            light = 0.2126 * d[0] + 0.7152 * d[1] + 0.0722 * d[2]
                            w = 1.0 + float((b - y) * (b - y) + (a - x) * (a - x)) / sigma_space**2.0
                            deep = depth[b, a] - depth[y, x]
                            w = w * (1.0 + deep**2.0 / sigma_depth**2.0)
                            w = w * (1.0 + light**2.0 / sigma_color**2.0)
                            w = along**4.0 / w**2.0
                            total = total + w
                            mean = mean + w * color[b, a]
                            spread = spread + w * w * variance[b, a]
                denoised[y, x] = mean / total
                variance_out[y, x] = spread / total**2.0
