# === principal_axes
# source: principal axes of inertia and tensor ellipsoids (Goldstein 1980, ch. 5)
# task: build the inertia tensors of bodies from their particles and find the principal moments and the axis of the largest
# about: Particles lie one after the other; a body is turned about the origin. The moments are in rising order, and the axis has a component along z that is not negative.
# domain: physics
# weight: 6
# sizes: num_bodies = 1 5 66 60; num_particles = 6 30 400 1500
# - first: int[num_bodies + 1] rows(num_particles); first particle of each body
# - places: vec3[num_particles] uniform(-1.0, 1.0); places of the particles [m]
# - masses: float[num_particles] uniform(0.5, 1.5); masses of the particles [kg]
# - base: vec3[num_bodies] uniform(0.5, 3.0); moments that each body has besides [kg m^2]
# - tensor: mat33[num_bodies] zeros; inertia tensors [kg m^2]
# - moments: vec3[num_bodies] zeros; principal moments [kg m^2]
# - alignment: float[num_bodies] zeros; size of what the tensor makes of the axis, beside the largest moment
@kernel[num_bodies] csr row loop, matrix decomposition, outer or skew assembly
def principal_moments():
    """Sum over the particles, then eigenvalues."""
    b = wp.tid()
    guard b < num_bodies
    t = wp.diag(base[b])
    for k in range(first[b], first[b + 1]):
        let r = places[k]
        #? part
        t += masses[k] * (wp.dot(r, r) * wp.identity(n=3, dtype=float) - wp.outer(r, r))
        #|
        s = wp.skew(r)
        t -= masses[k] * (s * s)
        #.
    tensor[b] = t
    q, d = wp.eig3(t)
    low = wp.min(d)
    high = wp.max(d)
    moments[b] = wp.vec3(low, wp.trace(t) - low - high, high)
    column = wp.argmax(d)
    axis = wp.vec3(q[0, column], q[1, column], q[2, column])
    alignment[b] = wp.length(t * axis) / high

def reference():
    """Roots of the characteristic polynomial by its invariants."""
    for b in range(num_bodies):
        for a in range(3):
            tensor[b][a, a] = base[b][a]
        for k in range(first[b], first[b + 1]):
            for a in range(3):
                for c in range(3):
                    tensor[b][a, c] = tensor[b][a, c] - masses[k] * places[k][a] * places[k][c]
                tensor[b][a, a] = tensor[b][a, a] + masses[k] * np.dot(places[k], places[k])
        t = tensor[b]
        mean = (t[0, 0] + t[1, 1] + t[2, 2]) / 3.0
        off = t[0, 1] * t[0, 1] + t[0, 2] * t[0, 2] + t[1, 2] * t[1, 2]
        x = t[0, 0] - mean
        y = t[1, 1] - mean
        z = t[2, 2] - mean
        p = math.sqrt((x * x + y * y + z * z + 2.0 * off) / 6.0)
        det = x * (y * z - t[1, 2] * t[1, 2]) - t[0, 1] * (t[0, 1] * z - t[1, 2] * t[0, 2]) + t[0, 2] * (t[0, 1] * t[1, 2] - y * t[0, 2])
        r = min(max(det / (2.0 * p * p * p), -1.0), 1.0)
        phi = math.acos(r) / 3.0
        high = mean + 2.0 * p * math.cos(phi)
        low = mean + 2.0 * p * math.cos(phi + 2.0 * math.pi / 3.0)
        moments[b] = np.array([low, 3.0 * mean - low - high, high])
        alignment[b] = 1.0

# === local_fits
# source: linear least squares by the QR decomposition (Golub and Van Loan 2013, sec. 5.3)
# task: solve small systems of three equations by QR decomposition and by the inverse matrix, and compare both solutions
# domain: generic
# weight: 7
# sizes: n = 1 7 71 300
# - matrix: mat33[n] uniform(-0.4, 0.4); matrices, to which the diagonal is added
# - diagonal: vec3[n] uniform(1.5, 2.5); what is added to the diagonals
# - rhs: vec3[n] uniform(-1.0, 1.0); right-hand sides
# - solution: vec3[n] zeros; solutions
# - pivots: vec3[n] zeros; diagonals of the triangular factors
# - residual: float[n] full(1.0); largest difference of both solutions, rounded to whole numbers
# - sign: int[n] zeros; signs of the determinants
@kernel[n] matrix decomposition, triangular loops factorisation
def solve_systems():
    """Q R x = b from the last unknown upwards."""
    i = wp.tid()
    guard i < n
    a = matrix[i] + wp.diag(diagonal[i])
    q, r = wp.qr3(a)
    y = wp.transpose(q) * rhs[i]
    #? back
    x2 = y[2] / r[2, 2]
    x1 = (y[1] - r[1, 2] * x2) / r[1, 1]
    x0 = (y[0] - r[0, 1] * x1 - r[0, 2] * x2) / r[0, 0]
    x = wp.vec3(x0, x1, x2)
    #|
    x = wp.vec3(0.0, 0.0, y[2] / r[2, 2])
    x[1] = (y[1] - r[1, 2] * x[2]) / r[1, 1]
    x[0] = (y[0] - r[0, 1] * x[1] - r[0, 2] * x[2]) / r[0, 0]
    #.
    solution[i] = x
    pivots[i] = wp.get_diag(r)
    residual[i] = wp.round(wp.max(wp.abs(x - wp.inverse(a) * rhs[i])))
    sign[i] = int(wp.sign(wp.determinant(a)))

def reference():
    """Cramer's rule, and Gram and Schmidt for the factor."""
    for i in range(n):
        m = matrix[i]
        d = diagonal[i]
        u = np.array([m[0, 0] + d[0], m[1, 0], m[2, 0]])
        v = np.array([m[0, 1], m[1, 1] + d[1], m[2, 1]])
        w = np.array([m[0, 2], m[1, 2], m[2, 2] + d[2]])
        det = np.dot(u, np.cross(v, w))
        b = rhs[i]
        solution[i] = np.array([np.dot(b, np.cross(v, w)), np.dot(u, np.cross(b, w)), np.dot(u, np.cross(v, b))]) / det
        lu = np.linalg.norm(u)
        lv = np.linalg.norm(v - u * (np.dot(u, v) / (lu * lu)))
        pivots[i] = np.array([lu, lv, det / (lu * lv)])
        residual[i] = 0.0
        sign[i] = 1
        if det < 0.0:
            sign[i] = -1

# === heated_slab
# source: conduction in solids (Carslaw and Jaeger 1959, ch. 2 and 3)
# task: evaluate the temperature of a half space whose surface is heated at once, and of a fin that is heated at its end
# domain: physics
# weight: 6
# sizes: n = 1 7 71 300
# - depth: float[n] uniform(0.05, 0.95); depths below the surface, and distances from the tip of the fin [m]
# - time: float[n] uniform(0.1, 1.0); times since the heating [s]
# - slab: float[n] zeros; temperatures of the half space
# - fin: float[n] zeros; temperatures of the fin
# - flux: float[n] zeros; heat that flows through the depth of the half space
# - num_warm: int[1] zeros; points of the half space above the level
# - diffusivity: float = 0.2; thermal diffusivity [m^2/s]
# - loss: float = 1.5; square root of the losses of the fin beside its conduction [1/m]
# - level: float = 0.4; temperature of warm points
@kernel[n] elementwise map, atomic counter
def temperatures():
    """The error function, and hyperbolic functions for the fin of length 1."""
    i = wp.tid()
    guard i < n
    spread = 2.0 * wp.sqrt(diffusivity * time[i])
    u = depth[i] / spread
    #? slab
    slab[i] = wp.erfc(u)
    #|
    slab[i] = 1.0 - wp.erf(u)
    #.
    #? fin
    fin[i] = wp.cosh(loss * depth[i]) / wp.cosh(loss)
    #|
    # one plus twice the square of the half
    h = wp.sinh(0.5 * loss * depth[i])
    fin[i] = (1.0 + 2.0 * h * h) / wp.cosh(loss)
    #.
    flux[i] = wp.exp(-u * u) * 1.1283791670955126 / spread
    if slab[i] > level:
        wp.atomic_add(num_warm, 0, 1)

def reference():
    """Simpson's rule for the integral of the bell curve."""
    for i in range(n):
        u = depth[i] / math.sqrt(4.0 * diffusivity * time[i])
        total = 1.0 + math.exp(-u * u)
        for k in range(1, 64):
            x = u * float(k) / 64.0
            total = total + float(2 + 2 * (k % 2)) * math.exp(-x * x)
        area = total * u / 192.0
        slab[i] = 1.0 - 2.0 * area / math.sqrt(math.pi)
        a = math.exp(loss * depth[i])
        b = math.exp(loss)
        fin[i] = (a + 1.0 / a) / (b + 1.0 / b)
        flux[i] = math.exp(-u * u) / math.sqrt(math.pi * diffusivity * time[i])
        if slab[i] > level:
            num_warm[0] = num_warm[0] + 1

# === robust_residuals
# source: robust estimation (Huber 1981; Charbonnier et al. 1997)
# task: measure residual vectors by several norms, weigh them down where they are large, and add them up by group
# domain: generic
# weight: 4
# split: validation
# sizes: n = 2 9 72 300; num_groups = 1 2 5 12
# - residual: vec3[n] uniform(-1.5, 1.5); residuals
# - group: int[n] index(num_groups); groups
# - huber: float[n] zeros; Huber's norm
# - smooth: float[n] zeros; smooth norm
# - weight: float[n] zeros; weights: 1 for small residuals, falling to 0 between both bounds
# - group_sum: float[num_groups] zeros; weighted sums of absolute values
# - rejected: int[num_groups] zeros; residuals without weight
# - delta: float = 0.8; where the norms change from squares to sizes
# - inner: float = 0.7; residuals below this have the weight 1
# - outer: float = 1.6; residuals above this have the weight 0
@kernel[n] scatter add, select threshold, gather, loss squared error
def weigh_residuals():
    """Norms, weight and sum."""
    i = wp.tid()
    guard i < n
    r = residual[i]
    size = wp.norm_l2(r)
    #? norms
    ratio = size / delta
    smooth[i] = delta * wp.sqrt(1.0 + ratio * ratio)
    if size <= delta:
        huber[i] = 0.5 * size * size
    else:
        huber[i] = delta * (size - 0.5 * delta)
    #|
    huber[i] = wp.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))
    smooth[i] = wp.sqrt(delta * delta + size * size)
    #.
    #? weight
    w = 1.0 - wp.smoothstep(inner, outer, size)
    #|
    t = wp.clamp((size - inner) / (outer - inner), 0.0, 1.0)
    w = 1.0 - t * t * (3.0 - 2.0 * t)
    #.
    weight[i] = w
    wp.atomic_add(group_sum, group[i], w * wp.norm_l1(r))
    {{if size >= outer: || if w <= 0.0:}}
        wp.atomic_add(rejected, group[i], 1)

def reference():
    for i in range(n):
        q = residual[i][0] ** 2.0 + residual[i][1] ** 2.0 + residual[i][2] ** 2.0
        size = math.sqrt(q)
        huber[i] = delta * (size - 0.5 * delta)
        if size <= delta:
            huber[i] = 0.5 * q
        smooth[i] = delta * math.sqrt(1.0 + q / (delta * delta))
        weight[i] = 1.0
        if size > inner:
            t = (outer - size) / (outer - inner)
            weight[i] = t * t * (3.0 - 2.0 * t)
        if size >= outer:
            weight[i] = 0.0
            rejected[group[i]] = rejected[group[i]] + 1
        for axis in range(3):
            group_sum[group[i]] = group_sum[group[i]] + weight[i] * abs(residual[i][axis])

# === key_frames
# source: keyframe animation with spherical interpolation (Shoemake 1985)
# task: interpolate the poses of keyframes at given times and move points with them
# about: Keyframes lie at whole numbers. Times before the first or after the last keyframe take that one.
# domain: graphics
# weight: 10
# sizes: num_frames = 2 3 4 5; num_samples = 1 7 71 300
# - key_place: vec3[num_frames] uniform(-1.0, 1.0); places of the keyframes
# - key_turn: quat[num_frames] rotation(); rotations of the keyframes
# - time: float[num_samples] uniform(-0.5, 4.5); times
# - point: vec3[num_samples] uniform(-1.0, 1.0); points in the moving frame
# - frame: int[num_samples] zeros; keyframe before each time
# - moved: vec3[num_samples] zeros; points in the world
# - angle: float[num_samples] zeros; angles between the keyframes before and after [rad]
@kernel[num_samples] quaternion kinematics, interpolation, gather, rigid transform
def sample_poses():
    """Linear for places, spherical for rotations."""
    i = wp.tid()
    guard i < num_samples
    t = wp.clamp(time[i], 0.0, float(num_frames - 1))
    k = wp.min(int(wp.floor(t)), num_frames - 2)
    s = t - float(k)
    q = wp.quat_slerp(key_turn[k], key_turn[k + 1], s)
    p = {{wp.lerp(key_place[k], key_place[k + 1], s) || key_place[k] + (key_place[k + 1] - key_place[k]) * s}}
    #? move
    moved[i] = wp.transform_point(wp.transform(p, q), point[i])
    #|
    moved[i] = p + wp.quat_rotate(q, point[i])
    #.
    frame[i] = k
    between = wp.quat_inverse(key_turn[k]) * key_turn[k + 1]
    axis, turn = wp.quat_to_axis_angle(between)
    angle[i] = turn

def reference():
    """Sines of both parts of the angle."""
    for i in range(num_samples):
        t = min(max(time[i], 0.0), float(num_frames - 1))
        k = 0
        for m in range(1, num_frames - 1):
            if t >= float(m):
                k = m
        frame[i] = k
        s = t - float(k)
        a = key_turn[k]
        b = key_turn[k + 1]
        w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
        sign = 1.0
        if w < 0.0:
            sign = -1.0
        half = math.acos(min(abs(w), 1.0))
        angle[i] = 2.0 * half
        wa = math.sin((1.0 - s) * half) / math.sin(half)
        wb = sign * math.sin(s * half) / math.sin(half)
        u = np.array([wa * a[0] + wb * b[0], wa * a[1] + wb * b[1], wa * a[2] + wb * b[2]])
        turn = np.cross(u, point[i]) * 2.0
        moved[i] = point[i] + turn * (wa * a[3] + wb * b[3]) + np.cross(u, turn)
        moved[i] = moved[i] + key_place[k] + (key_place[k + 1] - key_place[k]) * s
