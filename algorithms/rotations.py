# === attitude_errors
# source: attitude control with quaternion errors (Wie, Weiss and Arapostathis 1989)
# task: compare measured attitudes with wanted ones, turn them part of the way, and compute the torque of a controller
# about: The error is the rotation from the measured to the wanted attitude, in the body frame, by the shorter way.
# domain: physics
# weight: 6
# sizes: n = 1 7 71 200
# - measured: quat[n] rotation(); attitudes
# - wanted: quat[n] rotation(); attitudes that are wanted
# - rate: vec3[n] uniform(-1.0, 1.0); angular velocities in the body frame [rad/s]
# - angle: float[n] zeros; angles of the errors [deg]
# - torque: vec3[n] zeros; torques of the controller [N m]
# - heading: vec3[n] zeros; where the first body axis points after a part of the turn
# - num_large: int[1] zeros; errors above the limit
# - stiffness: float = 2.0; torque per angle [N m/rad]
# - damping: float = 0.4; torque per angular velocity [N m s/rad]
# - part: float = 0.3; part of the turn
# - limit: float = 60.0; large errors begin here [deg]
@kernel[n] quaternion kinematics, spring force, atomic counter
def control_attitudes():
    """Error as axis and angle."""
    i = wp.tid()
    guard i < n
    error = wp.quat_inverse(measured[i]) * wanted[i]
    if error[3] < 0.0:
        error = -error
    #? axis
    axis = wp.normalize(wp.vec3(error[0], error[1], error[2]))
    turn = 2.0 * wp.acos(wp.clamp(error[3], -1.0, 1.0))
    #|
    v = wp.vec3(error[0], error[1], error[2])
    axis = v / wp.length(v)
    # from 0 to pi
    turn = 2.0 * wp.atan2(wp.length(v), error[3])
    #.
    angle[i] = wp.degrees(turn)
    torque[i] = axis * (stiffness * turn) - rate[i] * damping
    half_way = measured[i] * wp.quat_from_axis_angle(axis, part * turn)
    heading[i] = wp.quat_rotate(half_way, wp.vec3(1.0, 0.0, 0.0))
    if turn > wp.radians(limit):
        wp.atomic_add(num_large, 0, 1)

def reference():
    """Interpolate on the sphere, and read the error off the components."""
    for i in range(n):
        a = measured[i]
        b = wanted[i]
        w = a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
        sign = 1.0
        if w < 0.0:
            sign = -1.0
        x = sign * (a[3] * b[0] - b[3] * a[0] - (a[1] * b[2] - a[2] * b[1]))
        y = sign * (a[3] * b[1] - b[3] * a[1] - (a[2] * b[0] - a[0] * b[2]))
        z = sign * (a[3] * b[2] - b[3] * a[2] - (a[0] * b[1] - a[1] * b[0]))
        s = math.sqrt(x * x + y * y + z * z)
        turn = 2.0 * math.atan2(s, abs(w))
        angle[i] = turn * 180.0 / math.pi
        if angle[i] > limit:
            num_large[0] = num_large[0] + 1
        torque[i] = np.array([x, y, z]) * (stiffness * turn / s) - rate[i] * damping
        wa = math.sin((1.0 - part) * turn / 2.0) / math.sin(turn / 2.0)
        wb = sign * math.sin(part * turn / 2.0) / math.sin(turn / 2.0)
        qx = wa * a[0] + wb * b[0]
        qy = wa * a[1] + wb * b[1]
        qz = wa * a[2] + wb * b[2]
        qw = wa * a[3] + wb * b[3]
        heading[i] = np.array([1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qx * qy + qw * qz), 2.0 * (qx * qz - qw * qy)])

# === euler_angles
# source: yaw, pitch and roll of rotation matrices (Diebel 2006)
# task: convert attitudes to rotation matrices and to roll, pitch and yaw in degrees, and build the attitudes again
# domain: physics
# weight: 10
# sizes: n = 1 7 71 200
# - attitude: quat[n] rotation(); attitudes
# - frame: mat33[n] zeros; rotation matrices
# - angles: vec3[n] zeros; roll, pitch and yaw [deg]
# - mismatch: float[n] full(1.0); distance of the first axis from that of the attitude that the angles give
# - up_count: int[1] zeros; attitudes whose third axis points up
@kernel[n] quaternion kinematics, rigid transform
def split_angles():
    """Read the angles off the matrix."""
    i = wp.tid()
    guard i < n
    m = wp.quat_to_matrix(attitude[i])
    frame[i] = m
    #? read
    roll = wp.atan2(m[2, 1], m[2, 2])
    pitch = -wp.asin(wp.clamp(m[2, 0], -1.0, 1.0))
    yaw = wp.atan2(m[1, 0], m[0, 0])
    #|
    # the pitch by two sides of a triangle
    pitch = wp.atan2(-m[2, 0], wp.sqrt(m[2, 1] * m[2, 1] + m[2, 2] * m[2, 2]))
    roll = wp.atan2(m[2, 1], m[2, 2])
    yaw = wp.atan2(m[1, 0], m[0, 0])
    #.
    angles[i] = wp.vec3(wp.degrees(roll), wp.degrees(pitch), wp.degrees(yaw))
    if m[2, 2] > 0.0:
        wp.atomic_add(up_count, 0, 1)

@kernel[n] quaternion kinematics, rigid transform
def compare_frames():
    """Turn about x, then y, then z."""
    i = wp.tid()
    guard i < n
    let a = angles[i]
    q = wp.quat_rpy(wp.radians(a[0]), wp.radians(a[1]), wp.radians(a[2]))
    axis = wp.quat_rotate(q, wp.vec3(1.0, 0.0, 0.0))
    d = axis - wp.vec3(frame[i][0, 0], frame[i][1, 0], frame[i][2, 0])
    mismatch[i] = wp.round(wp.length(d))

def reference():
    """Angles from the quaternion; a rebuilt attitude is the same one."""
    for i in range(n):
        x = attitude[i][0]
        y = attitude[i][1]
        z = attitude[i][2]
        w = attitude[i][3]
        frame[i][0, 0] = w * w + x * x - y * y - z * z
        frame[i][0, 1] = 2.0 * (x * y - w * z)
        frame[i][0, 2] = 2.0 * (x * z + w * y)
        frame[i][1, 0] = 2.0 * (x * y + w * z)
        frame[i][1, 1] = w * w - x * x + y * y - z * z
        frame[i][1, 2] = 2.0 * (y * z - w * x)
        frame[i][2, 0] = 2.0 * (x * z - w * y)
        frame[i][2, 1] = 2.0 * (y * z + w * x)
        frame[i][2, 2] = w * w - x * x - y * y + z * z
        roll = math.atan2(w * x + y * z, 0.5 - x * x - y * y)
        pitch = math.asin(2.0 * (w * y - x * z))
        yaw = math.atan2(w * z + x * y, 0.5 - y * y - z * z)
        angles[i] = np.array([roll, pitch, yaw]) * (180.0 / math.pi)
        mismatch[i] = 0.0
        if x * x + y * y < 0.5:
            up_count[0] = up_count[0] + 1

# === spatial_forces
# source: equations of motion in spatial notation (Featherstone 2008, sec. 2.9 to 2.14)
# task: compute the spatial momentum of bodies and the force that their motion needs, in the frames of the bodies
# about: Vectors have the angular part first. The force is the inertia times the acceleration plus the cross product of velocity and momentum.
# domain: physics
# weight: 10
# sizes: num_bodies = 1 7 71 200
# - twist: spatial_vector[num_bodies] uniform(-1.0, 1.0); velocities
# - accel: spatial_vector[num_bodies] uniform(-1.0, 1.0); accelerations
# - mass: float[num_bodies] uniform(0.5, 2.0); masses [kg]
# - inertia: vec3[num_bodies] uniform(0.1, 0.5); principal moments of inertia at the centre of mass [kg m^2]
# - com: vec3[num_bodies] uniform(-0.3, 0.3); centres of mass in the frames of the bodies [m]
# - momentum: spatial_vector[num_bodies] zeros; momenta
# - force: spatial_vector[num_bodies] zeros; forces
# - power: float[num_bodies] zeros; powers of the forces [W]
@func
def apply_inertia(m: float, moments: wp.vec3, c: wp.vec3, v: wp.spatial_vector) -> wp.spatial_vector:
    """Momentum of a body that moves so."""
    w = wp.spatial_top(v)
    linear = m * (wp.spatial_bottom(v) + wp.cross(w, c))
    #? angular
    angular = wp.diag(moments) * w + wp.cross(c, linear)
    #|
    angular = wp.cw_mul(moments, w) + wp.skew(c) * linear
    #.
    return wp.spatial_vector(angular, linear)

@kernel[num_bodies] spatial algebra, outer or skew assembly
def body_forces():
    """Newton and Euler in one equation."""
    b = wp.tid()
    guard b < num_bodies
    v = twist[b]
    h = apply_inertia(mass[b], inertia[b], com[b], v)
    #? cross
    f = apply_inertia(mass[b], inertia[b], com[b], accel[b]) + wp.spatial_cross_dual(v, h)
    #|
    bias = wp.spatial_cross_dual(v, h)
    f = bias + apply_inertia(mass[b], inertia[b], com[b], accel[b])
    #.
    momentum[b] = h
    force[b] = f
    power[b] = wp.spatial_dot(f, v)

def reference():
    """Both halves by components."""
    for b in range(num_bodies):
        c = com[b]
        w = np.array([twist[b][0], twist[b][1], twist[b][2]])
        v = np.array([twist[b][3], twist[b][4], twist[b][5]])
        a = np.array([accel[b][0], accel[b][1], accel[b][2]])
        d = np.array([accel[b][3], accel[b][4], accel[b][5]])
        p = (v + np.cross(w, c)) * mass[b]
        q = (d + np.cross(a, c)) * mass[b]
        turn = np.array([inertia[b][0] * w[0], inertia[b][1] * w[1], inertia[b][2] * w[2]]) + np.cross(c, p)
        change = np.array([inertia[b][0] * a[0], inertia[b][1] * a[1], inertia[b][2] * a[2]]) + np.cross(c, q)
        change = change + np.cross(w, turn) + np.cross(v, p)
        push = q + np.cross(w, p)
        for k in range(3):
            momentum[b][k] = turn[k]
            momentum[b][k + 3] = p[k]
            force[b][k] = change[k]
            force[b][k + 3] = push[k]
            power[b] = power[b] + change[k] * w[k] + push[k] * v[k]

# === strain_measures
# source: finite strain (Bonet and Wood 2008, ch. 4)
# task: compute strain measures of deformation gradients: Green's strain, volume change, distortion, and the stress of a Saint Venant-Kirchhoff solid
# domain: physics
# weight: 4
# split: test
# sizes: n = 1 7 71 200
# - gradient: mat33[n] uniform(-0.2, 0.2); displacement gradients
# - strain: mat33[n] zeros; Green's strains
# - volume: float[n] zeros; volumes beside those at rest
# - stress: mat33[n] zeros; second Piola-Kirchhoff stresses [Pa]
# - energy: float[n] zeros; energy densities [J/m^3]
# - distortion: float[n] zeros; sizes of the deviators of the strain
# - mu: float = 1.5; shear modulus [Pa]
# - lam: float = 2.0; Lame's first parameter [Pa]
@kernel[n] fem elasticity, matrix or image map
def strains():
    """F = 1 + grad u, E = (F^T F - 1) / 2."""
    i = wp.tid()
    guard i < n
    one = wp.identity(n=3, dtype=float)
    f = one + gradient[i]
    e = 0.5 * (wp.transpose(f) * f - one)
    t = wp.trace(e)
    s = 2.0 * mu * e + lam * t * one
    strain[i] = e
    stress[i] = s
    volume[i] = wp.determinant(f)
    #? energy
    energy[i] = 0.5 * wp.ddot(s, e)
    deviator = e - one * (t / 3.0)
    distortion[i] = wp.sqrt(wp.ddot(deviator, deviator))
    #|
    energy[i] = mu * wp.ddot(e, e) + 0.5 * lam * t * t
    distortion[i] = wp.sqrt(wp.max(wp.ddot(e, e) - t * t / 3.0, 0.0))
    #.

def reference():
    for i in range(n):
        t = 0.0
        for a in range(3):
            for b in range(3):
                g = gradient[i][a, b] + gradient[i][b, a]
                for c in range(3):
                    g = g + gradient[i][c, a] * gradient[i][c, b]
                strain[i][a, b] = g / 2.0
            t = t + strain[i][a, a]
        square = 0.0
        for a in range(3):
            for b in range(3):
                stress[i][a, b] = 2.0 * mu * strain[i][a, b]
                if a == b:
                    stress[i][a, b] = stress[i][a, b] + lam * t
                square = square + strain[i][a, b] ** 2.0
        energy[i] = mu * square + lam * t**2.0 / 2.0
        distortion[i] = math.sqrt(square - t**2.0 / 3.0)
        x = np.array([1.0 + gradient[i][0, 0], gradient[i][1, 0], gradient[i][2, 0]])
        y = np.array([gradient[i][0, 1], 1.0 + gradient[i][1, 1], gradient[i][2, 1]])
        z = np.array([gradient[i][0, 2], gradient[i][1, 2], 1.0 + gradient[i][2, 2]])
        volume[i] = np.dot(np.cross(x, y), z)

# === relative_poses
# source: relative measurements in pose graphs (Grisetti et al. 2010)
# task: compare measured relative poses with those of a pose graph and add up weighted errors at the poses
# domain: physics
# weight: 10
# sizes: num_edges = 1 9 75 300; num_poses = 2 6 30 100
# - poses: transform[num_poses] rotation(); poses
# - measured: transform[num_edges] rotation(); measured pose of the second in the frame of the first
# - ends: vec2i[num_edges] index(num_poses); first and second pose of each edge
# - weight: float[num_edges] uniform(0.5, 2.0); weights of the measurements
# - shift: vec3[num_edges] zeros; errors of the positions, in the frame of the first pose
# - turn: float[num_edges] zeros; angles of the errors of the rotations [rad]
# - node_error: float[num_poses] zeros; weighted squared errors of the edges at each pose
# - outliers: int[1] zeros; edges whose position error is large
# - reach: float = 1.0; position errors above this are large
@kernel[num_edges] rigid transform, gather, element vertex gather, atomic counter
def edge_errors():
    """Predicted relative pose beside the measured one."""
    e = wp.tid()
    guard e < num_edges
    a = poses[ends[e][0]]
    b = poses[ends[e][1]]
    relative = wp.transform_multiply(wp.transform_inverse(a), b)
    #? error
    d = wp.transform_get_translation(relative) - wp.transform_get_translation(measured[e])
    q = wp.quat_inverse(wp.transform_get_rotation(measured[e])) * wp.transform_get_rotation(relative)
    #|
    z = measured[e]
    d = wp.transform_get_translation(relative) - wp.transform_get_translation(z)
    q = wp.transform_get_rotation(wp.transform_inverse(z) * relative)
    #.
    shift[e] = d
    turn[e] = 2.0 * wp.atan2(wp.length(wp.vec3(q[0], q[1], q[2])), wp.abs(q[3]))
    if wp.length_sq(d) > reach * reach:
        wp.atomic_add(outliers, 0, 1)

@kernel[num_edges] scatter add, gather, element vertex gather
def add_errors():
    """Both poses of an edge get its error."""
    e = wp.tid()
    guard e < num_edges
    let cost = weight[e] * (wp.length_sq(shift[e]) + turn[e] * turn[e])
    wp.atomic_add(node_error, ends[e][0], cost)
    wp.atomic_add(node_error, ends[e][1], cost)

def reference():
    for e in range(num_edges):
        a = poses[ends[e][0]]
        b = poses[ends[e][1]]
        z = measured[e]
        u = np.array([-a[3], -a[4], -a[5]])
        d = np.array([b[0] - a[0], b[1] - a[1], b[2] - a[2]])
        t = np.cross(u, d) * 2.0
        shift[e] = d + t * a[6] + np.cross(u, t) - np.array([z[0], z[1], z[2]])
        rw = a[6] * b[6] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
        rx = a[6] * b[3] - a[3] * b[6] - a[4] * b[5] + a[5] * b[4]
        ry = a[6] * b[4] - a[4] * b[6] - a[5] * b[3] + a[3] * b[5]
        rz = a[6] * b[5] - a[5] * b[6] - a[3] * b[4] + a[4] * b[3]
        w = abs(rw * z[6] + rx * z[3] + ry * z[4] + rz * z[5])
        turn[e] = 2.0 * math.atan2(math.sqrt(max(1.0 - w * w, 0.0)), w)
        far = np.linalg.norm(shift[e])
        if far > reach:
            outliers[0] = outliers[0] + 1
        for side in range(2):
            node_error[ends[e][side]] = node_error[ends[e][side]] + weight[e] * (far * far + turn[e] ** 2.0)
