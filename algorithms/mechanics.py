# === symplectic_euler
# source: semi-implicit Euler (Hairer, Lubich and Wanner 2006, I.1)
# task: integrate particles under gravity and drag with semi-implicit Euler
# about: Particles with zero inverse mass do not move. Positions and velocities are updated in place.
# domain: physics
# weight: 7
# sizes: num_particles = 1 7 71 1000
# - positions: vec3[num_particles] uniform(-1.0, 1.0); particle positions [m]
# - velocities: vec3[num_particles] uniform(-1.0, 1.0); particle velocities [m/s]
# - inv_masses: float[num_particles] uniform(0.0, 2.0); inverse masses [1/kg], zero for fixed particles
# - forces: vec3[num_particles] uniform(-1.0, 1.0); external forces [N]
# - gravity: vec3 = 0.0 -9.8 0.0; gravitational acceleration [m/s^2]
# - drag: float = 0.1; linear drag coefficient [1/s]
# - dt: float = 0.01; time step [s]
@kernel[num_particles] time integration, mask or active filter
def integrate_particles():
    """Advance velocities, then positions, by one time step."""
    i = wp.tid()
    guard i < num_particles
    # fixed particles have no inverse mass
    #? fixed
    let w = inv_masses[i]
    if w == 0.0:
        return
    #|
    let w = inv_masses[i]
    #.

    #? accel
    a = forces[i] * w + gravity - drag * velocities[i]
    v = velocities[i] + a * dt
    #|
    let v0 = velocities[i]
    v = v0 + (forces[i] * w + gravity - drag * v0) * dt
    #.
    #? fixed
    positions[i] = positions[i] + v * dt
    velocities[i] = v
    #|
    if w > 0.0:
        velocities[i] = v
        positions[i] = positions[i] + v * dt
    #.

def reference():
    for i in range(num_particles):
        if inv_masses[i] > 0.0:
            velocities[i] = velocities[i] + dt * (forces[i] * inv_masses[i] + gravity - drag * velocities[i])
            positions[i] = positions[i] + dt * velocities[i]

# === spring_network
# source: Hooke springs with damping along the spring (Witkin and Baraff 1997)
# task: compute the forces of a network of damped springs and integrate the particles
# domain: physics
# weight: 8
# sizes: num_particles = 2 7 71 400; num_edges = 2 8 80 800
# - edges: int[num_edges, 2] ring(num_particles); particles at the ends of each spring
# - rest_lengths: float[num_edges] uniform(0.5, 1.0); lengths without force [m]
# - positions: vec3[num_particles] uniform(-1.0, 1.0); particle positions [m]
# - velocities: vec3[num_particles] uniform(-1.0, 1.0); particle velocities [m/s]
# - forces: vec3[num_particles] zeros; forces on particles [N]
# - inv_mass: float = 2.0; inverse mass of a particle [1/kg]
# - stiffness: float = 50.0; spring constant [N/m]
# - damping: float = 0.5; damping along the spring [N s/m]
# - dt: float = 0.001; time step [s]
@kernel[num_edges] spring force, element vertex gather, scatter add, gather
def eval_springs():
    """Add the force of each spring to the particles at its ends."""
    tid = wp.tid()
    guard tid < num_edges
    i = edges[tid, 0]
    j = edges[tid, 1]
    let rest = rest_lengths[tid]

    # direction and length of the spring
    #? vec
    d = positions[i] - positions[j]
    dv = velocities[i] - velocities[j]
    #|
    let xi = positions[i]
    let xj = positions[j]
    d = xi - xj
    let vi = velocities[i]
    let vj = velocities[j]
    dv = vi - vj
    #.
    length = wp.length(d)
    #? eps
    if length == 0.0:
        return
    direction = d / length
    #|
    direction = d / wp.max(length, 1.0e-6)
    #.

    # elastic and damping force along the spring
    stretch = length - rest
    #? f
    f = direction * (stiffness * stretch + damping * wp.dot(dv, direction))
    #|
    rate = wp.dot(dv, direction)
    f = direction * (stiffness * stretch + damping * rate)
    #.
    #? sign
    wp.atomic_sub(forces, i, f)
    wp.atomic_add(forces, j, f)
    #|
    wp.atomic_add(forces, i, -f)
    wp.atomic_add(forces, j, f)
    #.

@kernel[num_particles] time integration
def integrate():
    """Semi-implicit Euler step."""
    i = wp.tid()
    guard i < num_particles
    v = velocities[i] + forces[i] * (inv_mass * dt)
    velocities[i] = v
    positions[i] = positions[i] + v * dt

def reference():
    for e in range(num_edges):
        i = edges[e, 0]
        j = edges[e, 1]
        d = positions[i] - positions[j]
        length = np.linalg.norm(d)
        if length > 0.0:
            rate = np.dot(velocities[i] - velocities[j], d) / length
            f = d * ((stiffness * (length - rest_lengths[e]) + damping * rate) / length)
            forces[i] = forces[i] - f
            forces[j] = forces[j] + f
    for i in range(num_particles):
        velocities[i] = velocities[i] + forces[i] * inv_mass * dt
        positions[i] = positions[i] + velocities[i] * dt

# === chain_spring_gather
# source: mass-spring chain, forces gathered per particle
# task: step a chain of masses and springs whose first mass is fixed
# domain: physics
# weight: 3
# split: test
# sizes: n = 2 7 71 500
# - positions: vec2[n] uniform(-1.0, 1.0); positions of the masses [m]
# - velocities: vec2[n] uniform(-0.5, 0.5); velocities of the masses [m/s]
# - accel: vec2[n] zeros; accelerations [m/s^2]
# - ke: float = 20.0; spring constant over mass [1/s^2]
# - rest: float = 0.5; rest length [m]
# - gravity: float = 9.8; gravitational acceleration [m/s^2]
# - dt: float = 0.01; time step [s]
@func
def pull(a: wp.vec2, b: wp.vec2, ke: float, rest: float) -> wp.vec2:
    """Acceleration of a mass at a by a spring to b."""
    d = b - a
    length = wp.max(wp.length(d), 1.0e-6)
    return d * (ke * (length - rest) / length)

@kernel[n] spring force, finite difference
def chain_acceleration():
    """Sum the pull of both neighbours and gravity."""
    i = wp.tid()
    guard i < n
    # the first mass is fixed
    if i == 0:
        return
    a = wp.vec2(0.0, -gravity)
    a += pull(positions[i], positions[i - 1], ke, rest)
    if i < n - 1:
        a += pull(positions[i], positions[i + 1], ke, rest)
    accel[i] = a

@kernel[n] explicit update step
def chain_step():
    """Velocity, then position."""
    i = wp.tid()
    guard i < n
    velocities[i] = velocities[i] + accel[i] * dt
    positions[i] = positions[i] + velocities[i] * dt

def reference():
    for i in range(1, n):
        a = np.array([0.0, -gravity])
        d = positions[i - 1] - positions[i]
        length = max(math.sqrt(np.dot(d, d)), 1.0e-6)
        a = a + d * (ke - ke * rest / length)
        if i < n - 1:
            e = positions[i + 1] - positions[i]
            length = max(math.sqrt(np.dot(e, e)), 1.0e-6)
            a = a + e * (ke - ke * rest / length)
        accel[i] = a
    for i in range(n):
        velocities[i] = velocities[i] + accel[i] * dt
        positions[i] = positions[i] + velocities[i] * dt

# === rigid_transform_points
# source: rigid body kinematics, x' = q x q* + p
# task: transform points from body frames to the world frame
# domain: physics
# weight: 12
# sizes: num_bodies = 1 3 11 32; num_points = 1 7 71 512
# - body_q: transform[num_bodies] rotation(); body poses
# - point_body: int[num_points] index(num_bodies); body that carries each point
# - local_points: vec3[num_points] uniform(-1.0, 1.0); points in the frame of their body [m]
# - world_points: vec3[num_points] zeros; points in the world frame [m]
# - offsets: vec3[num_points] zeros; points relative to the body origin, in world axes [m]
@kernel[num_points] rigid transform, gather, element vertex gather
def transform_points():
    """Move each point with its body."""
    i = wp.tid()
    guard i < num_points
    let body = point_body[i]
    # pose of the body
    pose = body_q[body]
    let p = local_points[i]
    #? how
    world_points[i] = wp.transform_point(pose, p)
    #|
    world_points[i] = wp.quat_rotate(wp.transform_get_rotation(pose), p) + wp.transform_get_translation(pose)
    #.

@kernel[num_points] rigid transform, gather
def lever_arms():
    """Offset of each point from the origin of its body, in world axes."""
    i = wp.tid()
    guard i < num_points
    let body = point_body[i]
    #? arm
    offsets[i] = world_points[i] - wp.transform_get_translation(body_q[body])
    #|
    offsets[i] = wp.transform_vector(body_q[body], local_points[i])
    #.

def reference():
    for i in range(num_points):
        q = body_q[point_body[i]]
        u = np.array([q[3], q[4], q[5]])
        t = 2.0 * np.cross(u, local_points[i])
        rotated = local_points[i] + q[6] * t + np.cross(u, t)
        offsets[i] = rotated
        world_points[i] = rotated + np.array([q[0], q[1], q[2]])

# === joint_chain_pose
# source: forward kinematics, X_world = X_parent X_joint (Featherstone 2008, ch. 4)
# task: compute world poses of a tree of joints by walking to the root
# domain: physics
# weight: 10
# sizes: num_joints = 1 6 70 64
# - parents: int[num_joints] full(-1); parent joint, -1 for the root
# - links: int[num_joints] index(num_joints); candidate parents
# - joint_x: transform[num_joints] rotation(); pose of each joint in its parent
# - world_x: transform[num_joints] zeros; pose of each joint in the world
# - depth: int[num_joints] zeros; joints above this one, the root among them
@kernel[num_joints] select threshold
def attach_joints():
    """Joints hang on joints with a smaller number; others are roots."""
    j = wp.tid()
    guard j < num_joints
    let target = links[j]
    #? again
    parents[j] = wp.where(target < j, target, -1)
    #|
    if target < j:
        parents[j] = target
    else:
        parents[j] = -1
    #|
    parents[j] = -1
    if target < j:
        parents[j] = target
    #.

@kernel[num_joints] rigid transform, pointer chase or walk
def forward_kinematics():
    """Multiply the poses on the way to the root."""
    j = wp.tid()
    guard j < num_joints
    pose = joint_x[j]
    parent = parents[j]
    count = int(0)
    while parent >= 0:
        pose = wp.transform_multiply(joint_x[parent], pose)
        parent = parents[parent]
        count += 1
    world_x[j] = pose
    depth[j] = count

def reference():
    for j in range(num_joints):
        parents[j] = -1
        depth[j] = 0
        if links[j] < j:
            parents[j] = links[j]
            depth[j] = depth[links[j]] + 1
    for j in range(num_joints):
        world_x[j] = joint_x[j]
        if parents[j] >= 0:
            p = world_x[parents[j]]
            x = joint_x[j]
            u = np.array([p[3], p[4], p[5]])
            t = np.array([x[0], x[1], x[2]])
            v = np.array([x[3], x[4], x[5]])
            c = 2.0 * np.cross(u, t)
            moved = t + p[6] * c + np.cross(u, c)
            turned = p[6] * v + x[6] * u + np.cross(u, v)
            for k in range(3):
                world_x[j][k] = p[k] + moved[k]
                world_x[j][k + 3] = turned[k]
            world_x[j][6] = p[6] * x[6] - np.dot(u, v)

# === quaternion_integration
# source: exponential-map-free quaternion update, q' = normalize(q + dt/2 (w, 0) q)
# task: integrate the orientations of rigid bodies from their angular velocities
# domain: physics
# weight: 9
# split: test
# sizes: num_bodies = 1 7 71 256
# - body_rot: quat[num_bodies] rotation(); orientations, updated in place
# - omega: vec3[num_bodies] uniform(-2.0, 2.0); angular velocities in the world frame [rad/s]
# - torque: vec3[num_bodies] uniform(-1.0, 1.0); torques [N m]
# - inertia: vec3[num_bodies] uniform(0.5, 2.0); principal moments of inertia [kg m^2]
# - angular_damping: float = 0.05; damping of rotation [1/s]
# - dt: float = 0.01; time step [s]
@kernel[num_bodies] rigid transform
def update_angular_velocity():
    """Euler's equation in the body frame, without gyroscopic term."""
    b = wp.tid()
    guard b < num_bodies
    q = body_rot[b]
    # torque in the body frame
    let t = wp.quat_rotate_inv(q, torque[b])
    alpha = wp.cw_div(t, inertia[b])
    w = omega[b] + wp.quat_rotate(q, alpha) * dt
    omega[b] = w * (1.0 - angular_damping * dt)

@kernel[num_bodies] quaternion kinematics
def integrate_orientation():
    """First order step of the orientation, normalised."""
    b = wp.tid()
    guard b < num_bodies
    let w = omega[b]
    q = body_rot[b]
    #? form
    dq = wp.quat(w[0], w[1], w[2], 0.0) * q
    body_rot[b] = wp.normalize(q + dq * (0.5 * dt))
    #|
    spin = wp.quat(w, 0.0)
    q = wp.normalize(q + 0.5 * dt * spin * q)
    body_rot[b] = q
    #.

def reference():
    for b in range(num_bodies):
        u = np.array([body_rot[b][0], body_rot[b][1], body_rot[b][2]])
        s = body_rot[b][3]
        c = 2.0 * np.cross(torque[b], u)
        local = torque[b] + s * c + np.cross(c, u)
        a = np.array([local[0] / inertia[b][0], local[1] / inertia[b][1], local[2] / inertia[b][2]])
        c = 2.0 * np.cross(u, a)
        omega[b] = (omega[b] + dt * (a + s * c + np.cross(u, c))) * (1.0 - angular_damping * dt)
        c = np.cross(omega[b], u)
        square = 0.0
        for k in range(3):
            body_rot[b][k] = u[k] + 0.5 * dt * (s * omega[b][k] + c[k])
            square = square + body_rot[b][k] ** 2.0
        body_rot[b][3] = s - 0.5 * dt * np.dot(omega[b], u)
        size = math.sqrt(square + body_rot[b][3] ** 2.0)
        for k in range(4):
            body_rot[b][k] = body_rot[b][k] / size

# === spatial_inertia
# source: spatial momentum and kinetic energy of rigid bodies (Featherstone 2008, ch. 2)
# task: compute spatial momenta and kinetic energies of rigid bodies
# domain: physics
# weight: 7
# sizes: num_bodies = 1 7 71 256
# - body_qd: spatial_vector[num_bodies] uniform(-1.0, 1.0); spatial velocities, angular part first
# - masses: float[num_bodies] uniform(0.5, 2.0); masses [kg]
# - inertia: mat33[num_bodies] uniform(0.1, 1.0); rotational inertia about the centre [kg m^2]
# - active: int[num_bodies] uniform(0, 2); bodies that take part
# - momentum: spatial_vector[num_bodies] zeros; spatial momenta
# - energy: float[1] zeros; kinetic energy of all bodies [J]
@kernel[num_bodies] spatial algebra, mask or active filter
def spatial_momentum():
    """Angular and linear momentum of each body."""
    b = wp.tid()
    require active[b] != 0
    let v = body_qd[b]
    # angular and linear velocity
    w = wp.spatial_top(v)
    u = wp.spatial_bottom(v)
    {{momentum[b] = wp.spatial_vector(inertia[b] * w, masses[b] * u) || momentum[b] = wp.spatial_vector(inertia[b] @ w, u * masses[b])}}

@kernel[num_bodies] spatial algebra, dot product
def kinetic_energy():
    """Half the product of momentum and velocity, summed."""
    b = wp.tid()
    guard b < num_bodies
    let h = momentum[b]
    {{wp.atomic_add(energy, 0, 0.5 * wp.dot(h, body_qd[b])) || wp.atomic_add(energy, 0, 0.5 * wp.spatial_dot(h, body_qd[b]))}}

def reference():
    for b in range(num_bodies):
        if active[b] != 0:
            e = 0.0
            for r in range(3):
                for c in range(3):
                    momentum[b][r] = momentum[b][r] + inertia[b][r, c] * body_qd[b][c]
                    e = e + body_qd[b][r] * inertia[b][r, c] * body_qd[b][c]
                momentum[b][r + 3] = masses[b] * body_qd[b][r + 3]
                e = e + masses[b] * body_qd[b][r + 3] * body_qd[b][r + 3]
            energy[0] = energy[0] + 0.5 * e

# === body_wrench
# source: wrench of contact forces about the centre of mass
# task: accumulate contact forces as wrenches on rigid bodies
# domain: physics
# weight: 10
# sizes: num_bodies = 1 4 13 64; num_contacts = 1 9 77 512
# - contact_body: int[num_contacts] maybe(num_bodies); body of each contact, -1 for the ground
# - contact_point: vec3[num_contacts] uniform(-1.0, 1.0); contact points in world axes [m]
# - contact_force: vec3[num_contacts] uniform(-1.0, 1.0); forces [N]
# - com: vec3[num_bodies] uniform(-0.5, 0.5); centres of mass [m]
# - wrench: spatial_vector[num_bodies] zeros; torque and force on each body
@kernel[num_contacts] spatial algebra, scatter add, gather, mask or active filter
def accumulate_wrenches():
    """Add torque and force of each contact to its body."""
    c = wp.tid()
    guard c < num_contacts
    body = contact_body[c]
    # contacts with the ground have no body
    require body >= 0
    let f = contact_force[c]
    arm = contact_point[c] - com[body]
    wp.atomic_add(wrench, body, wp.spatial_vector(wp.cross(arm, f), f))

def reference():
    for c in range(num_contacts):
        b = contact_body[c]
        if b >= 0:
            f = contact_force[c]
            t = np.cross(contact_point[c] - com[b], f)
            for k in range(3):
                wrench[b][k] = wrench[b][k] + t[k]
                wrench[b][k + 3] = wrench[b][k + 3] + f[k]

# === ground_contact
# source: penalty contact with Coulomb friction (Todorov 2014; Stewart 2000)
# task: compute penalty contact forces of particles against the ground
# domain: physics
# weight: 7
# split: test
# sizes: num_particles = 1 7 71 500
# - positions: vec3[num_particles] uniform(-0.5, 0.5); particle positions [m]
# - velocities: vec3[num_particles] uniform(-1.0, 1.0); particle velocities [m/s]
# - forces: vec3[num_particles] zeros; contact forces [N]
# - num_touching: int[1] zeros; particles in contact
# - ke: float = 100.0; contact stiffness [N/m]
# - kd: float = 2.0; contact damping [N s/m]
# - friction: float = 0.4; coefficient of friction
# - radius: float = 0.1; particle radius [m]
@kernel[num_particles] contact or penetration, distance threshold
def ground_contacts():
    """Normal force by penetration, friction against the tangential velocity."""
    i = wp.tid()
    guard i < num_particles
    let height = positions[i][1]
    penetration = radius - height
    #? early
    require penetration > 0.0
    #|
    # no contact above the ground
    if penetration <= 0.0:
        return
    #.

    # normal force never pulls
    let v = velocities[i]
    fn = wp.max(ke * penetration - kd * v[1], 0.0)
    tangent = wp.vec3(v[0], 0.0, v[2])
    speed = wp.length(tangent)
    f = wp.vec3(0.0, fn, 0.0)
    if speed > 1.0e-4:
        f -= tangent * (friction * fn / speed)
    forces[i] = f
    wp.atomic_add(num_touching, 0, 1)

def reference():
    for i in range(num_particles):
        depth = radius - positions[i][1]
        if depth > 0.0:
            num_touching[0] = num_touching[0] + 1
            fn = ke * depth - kd * velocities[i][1]
            if fn < 0.0:
                fn = 0.0
            speed = math.sqrt(velocities[i][0] * velocities[i][0] + velocities[i][2] * velocities[i][2])
            forces[i] = np.array([0.0, fn, 0.0])
            if speed > 1.0e-4:
                scale = friction * fn / speed
                forces[i] = np.array([-scale * velocities[i][0], fn, -scale * velocities[i][2]])

# === position_based_distance
# source: position based dynamics, distance constraints with Jacobi averaging (Mueller et al. 2007)
# task: project distance constraints of a cloth and average the corrections per particle
# domain: physics
# weight: 5
# sizes: num_particles = 2 7 71 400; num_edges = 2 9 80 900
# - edges: int[num_edges, 2] ring(num_particles); particles of each constraint
# - rest_lengths: float[num_edges] uniform(0.4, 0.8); rest lengths [m]
# - inv_masses: float[num_particles] uniform(0.1, 1.0); inverse masses [1/kg]
# - positions: vec3[num_particles] uniform(-1.0, 1.0); predicted positions [m]
# - corrections: vec3[num_particles] zeros; summed corrections [m]
# - counts: int[num_particles] zeros; constraints per particle
# - relaxation: float = 1.2; over-relaxation of the average
@kernel[num_edges] element vertex gather, scatter add, spring force, gather
def project_distances():
    """Move both ends so that the distance is the rest length."""
    c = wp.tid()
    guard c < num_edges
    i = edges[c, 0]
    j = edges[c, 1]
    let wi = inv_masses[i]
    let wj = inv_masses[j]
    d = positions[i] - positions[j]
    length = wp.length(d)
    w = wi + wj
    require length > 1.0e-6 and w > 0.0
    lagrange = (length - rest_lengths[c]) / w
    n = d / length
    wp.atomic_add(corrections, i, n * (-wi * lagrange))
    wp.atomic_add(corrections, j, n * (wj * lagrange))
    wp.atomic_add(counts, i, 1)
    wp.atomic_add(counts, j, 1)

@kernel[num_particles] mask or active filter
def apply_corrections():
    """Average the corrections of each particle."""
    i = wp.tid()
    guard i < num_particles
    let count = counts[i]
    # particles without constraints stay
    if count > 0:
        positions[i] = positions[i] + corrections[i] * (relaxation / float(count))

def reference():
    for c in range(num_edges):
        i = edges[c, 0]
        j = edges[c, 1]
        d = positions[i] - positions[j]
        length = np.linalg.norm(d)
        if length > 1.0e-6:
            s = (length - rest_lengths[c]) / (length * (inv_masses[i] + inv_masses[j]))
            corrections[i] = corrections[i] - d * (s * inv_masses[i])
            corrections[j] = corrections[j] + d * (s * inv_masses[j])
            counts[i] = counts[i] + 1
            counts[j] = counts[j] + 1
    for i in range(num_particles):
        if counts[i] > 0:
            positions[i] = positions[i] + relaxation / float(counts[i]) * corrections[i]

# === leapfrog_oscillators
# source: velocity Verlet (Swope et al. 1982)
# task: advance coupled oscillators with velocity Verlet and record their energy
# domain: physics
# weight: 7
# sizes: n = 2 7 71 500
# - q: float[n] uniform(-1.0, 1.0); displacements [m]
# - v: float[n] uniform(-1.0, 1.0); velocities [m/s]
# - a: float[n] zeros; accelerations [m/s^2]
# - energy: float[1] zeros; total energy over mass [J/kg]
# - omega_sq: float = 4.0; squared frequency of the coupling [1/s^2]
# - dt: float = 0.02; time step [s]
# run: oscillator_accel, kick, drift, oscillator_accel, kick, total_energy
@kernel[n] finite difference, boundary condition
def oscillator_accel():
    """Coupling to both neighbours; the ends are tied to walls."""
    i = wp.tid()
    guard i < n
    left = float(0.0)
    right = float(0.0)
    if i > 0:
        left = q[i - 1]
    if i < n - 1:
        right = q[i + 1]
    a[i] = omega_sq * (left - 2.0 * q[i] + right)

@kernel[n] explicit update step
def kick():
    """Half a step of the velocities."""
    i = wp.tid()
    guard i < n
    {{v[i] = v[i] + 0.5 * dt * a[i] || v[i] += a[i] * (0.5 * dt)}}

@kernel[n] explicit update step
def drift():
    """A full step of the displacements."""
    i = wp.tid()
    guard i < n
    {{q[i] = q[i] + dt * v[i] || q[i] += v[i] * dt}}

@kernel[n] atomic reduction
def total_energy():
    """Kinetic energy, and half of the coupling energy of each site."""
    i = wp.tid()
    guard i < n
    let vi = v[i]
    wp.atomic_add(energy, 0, 0.5 * vi * vi - 0.5 * q[i] * a[i])

def reference():
    for half in range(2):
        for i in range(n):
            a[i] = -2.0 * omega_sq * q[i]
            if i > 0:
                a[i] = a[i] + omega_sq * q[i - 1]
            if i < n - 1:
                a[i] = a[i] + omega_sq * q[i + 1]
        for i in range(n):
            v[i] = v[i] + 0.5 * dt * a[i]
        if half == 0:
            for i in range(n):
                q[i] = q[i] + dt * v[i]
    for i in range(n):
        energy[0] = energy[0] + 0.5 * (v[i] * v[i] - q[i] * a[i])

# === fem_tet_elasticity
# source: linear tetrahedra, St. Venant-Kirchhoff energy (Sifakis and Barbic 2012)
# task: compute elastic forces of tetrahedra and scatter them to their vertices
# domain: physics
# weight: 8
# sizes: num_vertices = 4 7 71 200; num_tets = 1 5 70 300
# - tets: int[num_tets, 4] ring(num_vertices); vertices of each tetrahedron
# - inv_rest: mat33[num_tets] uniform(-1.0, 1.0); inverse of the rest shape matrices [1/m]
# - rest_volume: float[num_tets] uniform(0.1, 0.3); rest volumes [m^3]
# - positions: vec3[num_vertices] uniform(-1.0, 1.0); vertex positions [m]
# - forces: vec3[num_vertices] zeros; elastic forces [N]
# - mu: float = 1.0; shear modulus [Pa]
# - lam: float = 0.5; first Lame parameter [Pa]
@kernel[num_tets] fem elasticity, element vertex gather, scatter add, gather
def tet_forces():
    """Forces of one tetrahedron from its first Piola-Kirchhoff stress."""
    t = wp.tid()
    guard t < num_tets
    i = tets[t, 0]
    j = tets[t, 1]
    k = tets[t, 2]
    m = tets[t, 3]

    # deformation gradient
    let x0 = positions[i]
    e1 = positions[j] - x0
    e2 = positions[k] - x0
    e3 = positions[m] - x0
    shape = wp.mat33(e1[0], e2[0], e3[0], e1[1], e2[1], e3[1], e1[2], e2[2], e3[2])
    let rest = inv_rest[t]
    F = shape * rest

    # Green strain and stress
    E = (wp.transpose(F) * F - wp.identity(n=3, dtype=float)) * 0.5
    P = F * (E * (2.0 * mu) + wp.identity(n=3, dtype=float) * (lam * wp.trace(E)))

    # columns of H are the forces on the last three vertices
    H = P * wp.transpose(rest) * (-rest_volume[t])
    f1 = wp.vec3(H[0, 0], H[1, 0], H[2, 0])
    f2 = wp.vec3(H[0, 1], H[1, 1], H[2, 1])
    f3 = wp.vec3(H[0, 2], H[1, 2], H[2, 2])
    wp.atomic_add(forces, j, f1)
    wp.atomic_add(forces, k, f2)
    wp.atomic_add(forces, m, f3)
    wp.atomic_sub(forces, i, f1 + f2 + f3)

def reference():
    """The first vertex gets minus the sum of the others."""
    for t in range(num_tets):
        F = np.outer(positions[tets[t, 1]] - positions[tets[t, 0]], inv_rest[t][0])
        F = F + np.outer(positions[tets[t, 2]] - positions[tets[t, 0]], inv_rest[t][1])
        F = F + np.outer(positions[tets[t, 3]] - positions[tets[t, 0]], inv_rest[t][2])
        for a in range(3):
            for r in range(3):
                f = 0.0
                for c in range(3):
                    p = 0.0
                    for d in range(3):
                        e = 0.0
                        trace = 0.0
                        for s in range(3):
                            e = e + F[s, d] * F[s, c]
                            trace = trace + F[s, 0] * F[s, 0] + F[s, 1] * F[s, 1] + F[s, 2] * F[s, 2]
                        if d == c:
                            e = e - 1.0
                            p = p + F[r, d] * (mu * e + 0.5 * lam * (trace - 3.0))
                        else:
                            p = p + F[r, d] * mu * e
                    f = f - rest_volume[t] * p * inv_rest[t][a, c]
                v = tets[t, a + 1]
                forces[v][r] = forces[v][r] + f
                forces[tets[t, 0]][r] = forces[tets[t, 0]][r] - f
