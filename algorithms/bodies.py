# === rigid_body_step
# source: semi-implicit Euler step with gyroscopic torque (Catto 2015, Numerical Methods), quaternion update to first order
# task: integrate rigid bodies under gravity, applied wrenches and gyroscopic torque
# about: Bodies may be static, dynamic or kinematic. Velocities refer to the centre of mass, poses to the body origin.
# domain: physics
# weight: 12
# sizes: num_bodies = 1 7 71 256
# - body_q: transform[num_bodies] rotation(); poses of the body frames
# - body_qd: spatial_vector[num_bodies] uniform(-1.0, 1.0); velocities: linear of the centre of mass, then angular
# - body_f: spatial_vector[num_bodies] uniform(-2.0, 2.0); force, then torque about the centre of mass [N, N m]
# - body_com: vec3[num_bodies] uniform(-0.2, 0.2); centres of mass in body frames [m]
# - body_inv_mass: float[num_bodies] uniform(0.1, 2.0); inverse masses [1/kg]
# - body_inertia: vec3[num_bodies] uniform(0.3, 0.6); principal moments of inertia, along the axes of the body frames [kg m^2]
# - body_flags: int[num_bodies] uniform(0, 3); 0 static, 1 dynamic, 2 kinematic
# - gravity: vec3 = 0.0 0.0 -9.81; gravity [m/s^2]
# - angular_damping: float = 0.05; damping of rotation [1/s]
# - max_speed: float = 4.0; limit of the linear velocity [m/s]
# - dt: float = 0.01; time step [s]
# - body_q_new: transform[num_bodies] zeros; poses after the step
# - body_qd_new: spatial_vector[num_bodies] zeros; velocities after the step
@func
def integrate_velocity(v: wp.vec3, force: wp.vec3, inv_mass: float, accel: wp.vec3, h: float, limit: float) -> wp.vec3:
    """Linear velocity after a step, limited in its length."""
    v_new = v + (force * inv_mass + accel) * h
    speed = wp.length(v_new)
    if speed > limit:
        v_new = v_new * (limit / speed)
    return v_new

@func
def integrate_spin(q: wp.quat, w: wp.vec3, torque: wp.vec3, inertia: wp.vec3, h: float) -> wp.vec3:
    """Angular velocity after a step, with the gyroscopic torque in the body frame."""
    w_body = wp.quat_rotate_inv(q, w)
    t_body = wp.quat_rotate_inv(q, torque)
    gyro = wp.cross(w_body, wp.cw_mul(inertia, w_body))
    return wp.quat_rotate(q, w_body + wp.cw_div(t_body - gyro, inertia) * h)

@kernel[num_bodies] rigid transform, quaternion kinematics, spatial algebra, elementwise map
def integrate_bodies():
    """Semi-implicit step: velocities first, then poses with the new velocities."""
    tid = wp.tid()
    guard tid < num_bodies
    # load the state
    pose = body_q[tid]
    twist = body_qd[tid]
    flags = body_flags[tid]
    p = wp.transform_get_translation(pose)
    q = wp.transform_get_rotation(pose)
    v = wp.spatial_top(twist)
    w = wp.spatial_bottom(twist)

    if flags == 0:
        # static bodies keep their pose
        body_q_new[tid] = pose
        body_qd_new[tid] = wp.spatial_vector(wp.vec3(0.0), wp.vec3(0.0))
        return

    com = body_com[tid]
    if flags == 1:
        wrench = body_f[tid]
        force = wp.spatial_top(wrench)
        torque = wp.spatial_bottom(wrench)
        inv_mass = body_inv_mass[tid]
        inertia = body_inertia[tid]
        v = integrate_velocity(v, force, inv_mass, gravity, dt, max_speed)
        w = integrate_spin(q, w, torque, inertia, dt)
        {{w = w * (1.0 - angular_damping * dt) || w *= 1.0 - angular_damping * dt}}

    # move the centre of mass, then turn about it
    x_com = p + wp.quat_rotate(q, com) + v * dt
    spin = wp.quat(w[0], w[1], w[2], 0.0)
    q_new = wp.normalize(q + spin * q * (0.5 * dt))
    p_new = x_com - wp.quat_rotate(q_new, com)

    body_q_new[tid] = wp.transform(p_new, q_new)
    body_qd_new[tid] = wp.spatial_vector(v, w)

def reference():
    """Rotations by cross products, component by component."""
    for b in range(num_bodies):
        body_q_new[b] = body_q[b]
        if body_flags[b] != 0:
            u = np.array([body_q[b][3], body_q[b][4], body_q[b][5]])
            s = body_q[b][6]
            v = np.array([body_qd[b][0], body_qd[b][1], body_qd[b][2]])
            w = np.array([body_qd[b][3], body_qd[b][4], body_qd[b][5]])
            if body_flags[b] == 1:
                f = np.array([body_f[b][0], body_f[b][1], body_f[b][2]])
                t = np.array([body_f[b][3], body_f[b][4], body_f[b][5]])
                v = v + dt * gravity + dt * body_inv_mass[b] * f
                if np.dot(v, v) > max_speed * max_speed:
                    v = max_speed / math.sqrt(np.dot(v, v)) * v
                wb = w - 2.0 * s * np.cross(u, w) + 2.0 * np.cross(u, np.cross(u, w))
                tb = t - 2.0 * s * np.cross(u, t) + 2.0 * np.cross(u, np.cross(u, t))
                momentum = np.array([0.0, 0.0, 0.0])
                for r in range(3):
                    momentum[r] = body_inertia[b][r] * wb[r]
                rate = tb + np.cross(momentum, wb)
                for r in range(3):
                    wb[r] = wb[r] + dt / body_inertia[b][r] * rate[r]
                w = wb + 2.0 * s * np.cross(u, wb) + 2.0 * np.cross(u, np.cross(u, wb))
                w = (1.0 - angular_damping * dt) * w
            com = body_com[b]
            x = np.array([body_q[b][0], body_q[b][1], body_q[b][2]]) + dt * v
            x = x + com + 2.0 * s * np.cross(u, com) + 2.0 * np.cross(u, np.cross(u, com))
            s_new = s - 0.5 * dt * np.dot(w, u)
            u_new = u + 0.5 * dt * (s * w + np.cross(w, u))
            norm = math.sqrt(s_new * s_new + np.dot(u_new, u_new))
            s_new = s_new / norm
            u_new = u_new / norm
            x = x - com - 2.0 * s_new * np.cross(u_new, com) - 2.0 * np.cross(u_new, np.cross(u_new, com))
            body_q_new[b] = np.array([x[0], x[1], x[2], u_new[0], u_new[1], u_new[2], s_new])
            body_qd_new[b] = np.array([v[0], v[1], v[2], w[0], w[1], w[2]])

# === joint_drives
# source: PD drives with effort limits and one-sided penalty limits (Todorov 2012; Featherstone 2008)
# task: compute generalised forces of joint drives, limits and friction in many worlds
# about: Position, velocity and effort drives; limits are springs outside of the range.
# domain: physics
# weight: 12
# sizes: num_worlds = 1 3 9 16; num_dofs = 1 5 8 12
# - joint_q: float[num_worlds, num_dofs] uniform(-2.0, 2.0); joint positions [rad or m]
# - joint_qd: float[num_worlds, num_dofs] uniform(-2.0, 2.0); joint velocities [rad/s or m/s]
# - joint_target: float[num_worlds, num_dofs] uniform(-1.0, 1.0); drive targets
# - drive_mode: int[num_dofs] uniform(0, 4); 0 none, 1 position, 2 velocity, 3 effort
# - drive_ke: float[num_dofs] uniform(1.0, 20.0); drive stiffness
# - drive_kd: float[num_dofs] uniform(0.1, 2.0); drive damping
# - limit_lower: float[num_dofs] uniform(-1.5, -0.5); lower limits
# - limit_upper: float[num_dofs] uniform(0.5, 1.5); upper limits
# - limit_ke: float[num_dofs] uniform(10.0, 50.0); stiffness of the limits
# - limit_kd: float[num_dofs] uniform(0.1, 1.0); damping of the limits
# - effort_limit: float[num_dofs] uniform(2.0, 20.0); largest drive effort
# - dry_friction: float[num_dofs] uniform(0.0, 0.5); dry friction
# - joint_f: float[num_worlds, num_dofs] zeros; generalised forces
# - limit_active: int[num_worlds, num_dofs] zeros; -1 at the lower limit, 1 at the upper one, 0 inside
@func
def drive_effort(mode: int, q: float, qd: float, goal: float, ke: float, kd: float) -> float:
    """Effort of a drive before its limit."""
    if mode == 1:
        return ke * (goal - q) - kd * qd
    elif mode == 2:
        return kd * (goal - qd)
    elif mode == 3:
        return goal
    return 0.0

@func
def limit_effort(q: float, qd: float, lower: float, upper: float, ke: float, kd: float) -> float:
    """Penalty outside of the range; it only pushes back."""
    effort = float(0.0)
    if q < lower:
        effort = wp.max(ke * (lower - q) - kd * qd, 0.0)
    elif q > upper:
        effort = wp.min(ke * (upper - q) - kd * qd, 0.0)
    return effort

@kernel[num_worlds, num_dofs] elementwise map, index unflatten
def eval_joint_forces():
    """Sum of drive, limit and friction of one degree of freedom."""
    grid worldid, dof
    guard worldid < num_worlds and dof < num_dofs
    q = joint_q[worldid, dof]
    qd = joint_qd[worldid, dof]
    target = joint_target[worldid, dof]
    mode = drive_mode[dof]
    lower = limit_lower[dof]
    upper = limit_upper[dof]

    # drive
    max_effort = effort_limit[dof]
    drive = drive_effort(mode, q, qd, target, drive_ke[dof], drive_kd[dof])
    {{drive = wp.clamp(drive, -max_effort, max_effort) || drive = wp.min(wp.max(drive, -max_effort), max_effort)}}

    # limits
    side = int(0)
    if q < lower:
        side = -1
    elif q > upper:
        side = 1
    limit = limit_effort(q, qd, lower, upper, limit_ke[dof], limit_kd[dof])

    # dry friction works against the motion
    friction_loss = dry_friction[dof]
    #? law
    friction_effort = float(0.0)
    if qd > 0.0:
        friction_effort = -friction_loss
    elif qd < 0.0:
        friction_effort = friction_loss
    #|
    friction_effort = -friction_loss * wp.sign(qd)
    if qd == 0.0:
        friction_effort = 0.0
    #.

    joint_f[worldid, dof] = drive + limit + friction_effort
    limit_active[worldid, dof] = side

def reference():
    for w in range(num_worlds):
        for d in range(num_dofs):
            x = joint_q[w, d]
            v = joint_qd[w, d]
            tau = 0.0
            if drive_mode[d] == 1:
                tau = drive_ke[d] * (joint_target[w, d] - x) - drive_kd[d] * v
            if drive_mode[d] == 2:
                tau = drive_kd[d] * (joint_target[w, d] - v)
            if drive_mode[d] == 3:
                tau = joint_target[w, d]
            if tau > effort_limit[d]:
                tau = effort_limit[d]
            if tau < -effort_limit[d]:
                tau = -effort_limit[d]
            below = limit_lower[d] - x
            above = x - limit_upper[d]
            if below > 0.0:
                limit_active[w, d] = -1
                push = limit_ke[d] * below - limit_kd[d] * v
                if push > 0.0:
                    tau = tau + push
            if above > 0.0:
                limit_active[w, d] = 1
                push = limit_ke[d] * above + limit_kd[d] * v
                if push > 0.0:
                    tau = tau - push
            if v > 0.0:
                tau = tau - dry_friction[d]
            if v < 0.0:
                tau = tau + dry_friction[d]
            joint_f[w, d] = tau

# === kinematic_tree
# source: forward kinematics of articulations with fixed, prismatic, revolute and ball joints (Featherstone 2008, ch. 4)
# task: compute body poses and velocities of articulated trees from joint coordinates
# about: Each articulation is walked from its roots; a joint's parent comes before it. A joint without a parent in its articulation hangs on the world. Axes are given in the joint frame.
# domain: physics
# weight: 12
# sizes: num_arts = 1 3 9 20; num_joints = 2 8 30 80
# - articulation_start: int[num_arts + 1] rows(num_joints); first joint of each articulation
# - joint_parent: int[num_joints] tree(); joint before this one on the way to the root, -1 for none
# - joint_type: int[num_joints] uniform(0, 4); 0 fixed, 1 prismatic, 2 revolute, 3 ball
# - joint_axis: vec3[num_joints] unit(); joint axes
# - joint_X_p: transform[num_joints] rotation(); joint frames in the parent
# - joint_q: float[num_joints, 4] uniform(-0.5, 0.5); coordinates, one to four of each joint
# - joint_qd: float[num_joints, 3] uniform(-1.0, 1.0); velocities, one to three of each joint
# - body_q: transform[num_joints] zeros; poses of the child bodies
# - body_qd: spatial_vector[num_joints] zeros; linear, then angular velocities
@func
def joint_pose(kind: int, axis: wp.vec3, c0: float, c1: float, c2: float, c3: float) -> wp.transform:
    """Pose of the child frame in the joint frame."""
    if kind == 1:
        return wp.transform(axis * c0, wp.quat_identity())
    elif kind == 2:
        return wp.transform(wp.vec3(), wp.quat_from_axis_angle(axis, c0))
    elif kind == 3:
        return wp.transform(wp.vec3(), wp.normalize(wp.quat(c0, c1, c2, c3 + 1.5)))
    return wp.transform_identity()

@kernel[num_arts] rigid transform, quaternion kinematics, pointer chase or walk, spatial algebra
def eval_articulation_fk():
    """Walk one articulation from its root."""
    art = wp.tid()
    guard art < num_arts
    joint_start = articulation_start[art]
    joint_end = articulation_start[art + 1]

    for joint in range(joint_start, joint_end):
        kind = joint_type[joint]
        axis = joint_axis[joint]

        # pose of the parent body, the world where there is none
        X_wp = wp.transform_identity()
        v_parent = wp.vec3()
        w_parent = wp.vec3()
        parent = joint_parent[joint]
        if parent >= joint_start:
            X_wp = body_q[parent]
            twist = body_qd[parent]
            v_parent = wp.spatial_top(twist)
            w_parent = wp.spatial_bottom(twist)

        # joint frame, then motion of the joint
        X_wj = X_wp * joint_X_p[joint]
        X_j = joint_pose(kind, axis, joint_q[joint, 0], joint_q[joint, 1], joint_q[joint, 2], joint_q[joint, 3])
        X_wc = X_wj * X_j
        v_j = wp.vec3()
        w_j = wp.vec3()
        if kind == 1:
            v_j = axis * joint_qd[joint, 0]
        elif kind == 2:
            w_j = axis * joint_qd[joint, 0]
        elif kind == 3:
            w_j = wp.vec3(joint_qd[joint, 0], joint_qd[joint, 1], joint_qd[joint, 2])

        # velocity of the parent at the child, plus that of the joint
        arm = wp.transform_get_translation(X_wc) - wp.transform_get_translation(X_wp)
        v = v_parent + wp.cross(w_parent, arm) + wp.transform_vector(X_wj, v_j)
        w = w_parent + wp.transform_vector(X_wj, w_j)
        body_q[joint] = X_wc
        body_qd[joint] = wp.spatial_vector(v, w)

def reference():
    """Poses as origin and quaternion, multiplied by hand."""
    for a in range(num_arts):
        for j in range(articulation_start[a], articulation_start[a + 1]):
            p = np.array([0.0, 0.0, 0.0])
            u = np.array([0.0, 0.0, 0.0])
            s = 1.0
            v = np.array([0.0, 0.0, 0.0])
            w = np.array([0.0, 0.0, 0.0])
            k = joint_parent[j]
            if k >= articulation_start[a]:
                p = np.array([body_q[k][0], body_q[k][1], body_q[k][2]])
                u = np.array([body_q[k][3], body_q[k][4], body_q[k][5]])
                s = body_q[k][6]
                v = np.array([body_qd[k][0], body_qd[k][1], body_qd[k][2]])
                w = np.array([body_qd[k][3], body_qd[k][4], body_qd[k][5]])
            x = np.array([joint_X_p[j][0], joint_X_p[j][1], joint_X_p[j][2]])
            ju = np.array([joint_X_p[j][3], joint_X_p[j][4], joint_X_p[j][5]])
            js = joint_X_p[j][6]
            arm = x + 2.0 * s * np.cross(u, x) + 2.0 * np.cross(u, np.cross(u, x))
            fu = s * ju + js * u + np.cross(u, ju)
            fs = s * js - np.dot(u, ju)
            cu = np.array([0.0, 0.0, 0.0])
            cs = 1.0
            d = np.array([0.0, 0.0, 0.0])
            slide = np.array([0.0, 0.0, 0.0])
            turn = np.array([0.0, 0.0, 0.0])
            if joint_type[j] == 1:
                d = joint_axis[j] * joint_q[j, 0]
                slide = joint_axis[j] * joint_qd[j, 0]
            if joint_type[j] == 2:
                cu = joint_axis[j] * math.sin(0.5 * joint_q[j, 0])
                cs = math.cos(0.5 * joint_q[j, 0])
                turn = joint_axis[j] * joint_qd[j, 0]
            if joint_type[j] == 3:
                cu = np.array([joint_q[j, 0], joint_q[j, 1], joint_q[j, 2]])
                cs = joint_q[j, 3] + 1.5
                norm = math.sqrt(np.dot(cu, cu) + cs * cs)
                cu = cu / norm
                cs = cs / norm
                turn = np.array([joint_qd[j, 0], joint_qd[j, 1], joint_qd[j, 2]])
            arm = arm + d + 2.0 * fs * np.cross(fu, d) + 2.0 * np.cross(fu, np.cross(fu, d))
            v = v + np.cross(w, arm)
            v = v + slide + 2.0 * fs * np.cross(fu, slide) + 2.0 * np.cross(fu, np.cross(fu, slide))
            w = w + turn + 2.0 * fs * np.cross(fu, turn) + 2.0 * np.cross(fu, np.cross(fu, turn))
            p = p + arm
            u = fs * cu + cs * fu + np.cross(fu, cu)
            s = fs * cs - np.dot(fu, cu)
            body_q[j] = np.array([p[0], p[1], p[2], u[0], u[1], u[2], s])
            body_qd[j] = np.array([v[0], v[1], v[2], w[0], w[1], w[2]])

# === composite_inertia
# source: composite rigid body algorithm, masses and inertias added up from the leaves (Featherstone 2008, ch. 6)
# task: accumulate subtree masses, centres of mass and inertias of articulated bodies in many worlds
# about: Inertias are about the subtree's centre of mass in world axes. A body's parent comes before it.
# domain: physics
# weight: 12
# sizes: num_worlds = 1 3 7 16; num_bodies = 1 5 9 16
# - body_parent: int[num_bodies] tree(); number of the parent, less than its own, -1 for none
# - body_mass: float[num_bodies] uniform(0.5, 2.0); masses [kg]
# - body_inertia: mat33[num_bodies] uniform(0.1, 0.5); inertia about the body's centre of mass [kg m^2]
# - xipos: vec3[num_worlds, num_bodies] uniform(-1.0, 1.0); centres of mass in the world [m]
# - subtree_mass: float[num_worlds, num_bodies] zeros; masses of the subtrees [kg]
# - subtree_com: vec3[num_worlds, num_bodies] zeros; centres of mass of the subtrees [m]
# - crb: mat33[num_worlds, num_bodies] zeros; inertias of the subtrees [kg m^2]
@func
def point_inertia(m: float, d: wp.vec3) -> wp.mat33:
    """Inertia of a point mass at an offset."""
    dd = wp.dot(d, d)
    return m * (wp.identity(n=3, dtype=float) * dd - wp.outer(d, d))

@kernel[num_worlds, num_bodies] copy convert
def init_subtree():
    """Each subtree begins as its body."""
    grid worldid, bodyid
    guard worldid < num_worlds and bodyid < num_bodies
    mass = body_mass[bodyid]
    subtree_mass[worldid, bodyid] = mass
    subtree_com[worldid, bodyid] = xipos[worldid, bodyid]
    crb[worldid, bodyid] = body_inertia[bodyid]

@kernel[num_worlds] pointer chase or walk, outer or skew assembly
def accumulate_subtree():
    """Add each body to its parent, from the last to the first."""
    worldid = wp.tid()
    guard worldid < num_worlds
    for i in range(num_bodies - 1):
        bodyid = num_bodies - 1 - i
        pid = body_parent[bodyid]
        #? root
        if pid < 0:
            continue
        #|
        if pid == -1:
            continue
        #.
        m_child = subtree_mass[worldid, bodyid]
        m_parent = subtree_mass[worldid, pid]
        com_child = subtree_com[worldid, bodyid]
        com_parent = subtree_com[worldid, pid]

        # common centre of mass
        m_total = m_child + m_parent
        com = (com_child * m_child + com_parent * m_parent) / m_total

        # both inertias about it
        inertia_child = crb[worldid, bodyid] + point_inertia(m_child, com_child - com)
        inertia_parent = crb[worldid, pid] + point_inertia(m_parent, com_parent - com)
        subtree_mass[worldid, pid] = m_total
        subtree_com[worldid, pid] = com
        crb[worldid, pid] = inertia_child + inertia_parent

def reference():
    """Sums over all bodies of a subtree, without recursion."""
    for w in range(num_worlds):
        for root in range(num_bodies):
            m = 0.0
            x = np.array([0.0, 0.0, 0.0])
            for b in range(root, num_bodies):
                at = b
                while at > root:
                    at = body_parent[at]
                if at == root:
                    m = m + body_mass[b]
                    x = x + body_mass[b] * xipos[w, b]
            x = x / m
            subtree_mass[w, root] = m
            subtree_com[w, root] = x
            for b in range(root, num_bodies):
                at = b
                while at > root:
                    at = body_parent[at]
                if at == root:
                    d = xipos[w, b] - x
                    for r in range(3):
                        for c in range(3):
                            e = body_inertia[b][r, c] - body_mass[b] * d[r] * d[c]
                            if r == c:
                                e = e + body_mass[b] * np.dot(d, d)
                            crb[w, root][r, c] = crb[w, root][r, c] + e

# === penalty_joints
# source: maximal-coordinate joints by springs on position and orientation errors (Baraff 1997; Catto 2015)
# task: compute the wrenches of spring joints between pairs of rigid bodies
# about: Each joint pulls its two anchor frames together; it has a linear and an angular spring with damping.
# domain: physics
# weight: 12
# sizes: num_bodies = 2 7 40 120; num_joints = 1 6 71 200
# - body_q: transform[num_bodies] rotation(); poses of the bodies
# - body_qd: spatial_vector[num_bodies] uniform(-1.0, 1.0); linear, then angular velocities
# - body_com: vec3[num_bodies] uniform(-0.2, 0.2); centres of mass in body frames [m]
# - joint_bodies: int[num_joints, 2] ring(num_bodies); parent and child of each joint
# - joint_enabled: int[num_joints] uniform(0, 2); 1 where a joint works
# - joint_X_p: transform[num_joints] rotation(); anchor in the parent
# - joint_X_c: transform[num_joints] rotation(); anchor in the child
# - attach_ke: float = 10.0; linear stiffness [N/m]
# - attach_kd: float = 0.5; linear damping [N s/m]
# - angular_ke: float = 2.0; angular stiffness [N m/rad]
# - angular_kd: float = 0.1; angular damping [N m s/rad]
# - body_f: spatial_vector[num_bodies] zeros; force and torque on each body [N, N m]
@func
def velocity_at(twist: wp.spatial_vector, r: wp.vec3) -> wp.vec3:
    """Velocity of a point of a body, at an offset from its centre of mass."""
    return wp.spatial_top(twist) + wp.cross(wp.spatial_bottom(twist), r)

@func
def rotation_error(q_p: wp.quat, q_c: wp.quat) -> wp.vec3:
    """Twice the vector part of the relative rotation, by the shorter way."""
    q_err = q_c * wp.quat_inverse(q_p)
    err = wp.vec3(q_err[0], q_err[1], q_err[2])
    if q_err[3] < 0.0:
        err = -err
    return err * 2.0

@kernel[num_joints] rigid transform, spring force, scatter add, gather, spatial algebra
def eval_joint_wrenches():
    """Equal and opposite wrenches on parent and child."""
    tid = wp.tid()
    guard tid < num_joints
    require joint_enabled[tid] != 0
    id_p = joint_bodies[tid, 0]
    id_c = joint_bodies[tid, 1]
    X_wp = body_q[id_p]
    X_wc = body_q[id_c]

    # anchors in the world
    X_a = X_wp * joint_X_p[tid]
    X_b = X_wc * joint_X_c[tid]
    x_a = wp.transform_get_translation(X_a)
    x_b = wp.transform_get_translation(X_b)
    r_a = x_a - wp.transform_point(X_wp, body_com[id_p])
    r_b = x_b - wp.transform_point(X_wc, body_com[id_c])

    # relative motion of the anchors
    twist_a = body_qd[id_p]
    twist_b = body_qd[id_c]
    x_err = x_b - x_a
    v_err = velocity_at(twist_b, r_b) - velocity_at(twist_a, r_a)
    w_err = wp.spatial_bottom(twist_b) - wp.spatial_bottom(twist_a)
    q_a = wp.transform_get_rotation(X_a)
    q_b = wp.transform_get_rotation(X_b)
    ang_err = rotation_error(q_a, q_b)

    # springs and dampers
    f_total = x_err * attach_ke + v_err * attach_kd
    t_total = ang_err * angular_ke + w_err * angular_kd
    wp.atomic_add(body_f, id_p, wp.spatial_vector(f_total, t_total + wp.cross(r_a, f_total)))
    wp.atomic_sub(body_f, id_c, wp.spatial_vector(f_total, t_total + wp.cross(r_b, f_total)))

def reference():
    """Quaternions multiplied by hand; both bodies in one loop."""
    for j in range(num_joints):
        if joint_enabled[j] != 0:
            x = np.array([0.0, 0.0, 0.0])
            v = np.array([0.0, 0.0, 0.0])
            w = np.array([0.0, 0.0, 0.0])
            arm = np.array([0.0, 0.0, 0.0])
            au = np.array([0.0, 0.0, 0.0])
            error = np.array([0.0, 0.0, 0.0])
            as0 = 1.0
            for side in range(2):
                b = joint_bodies[j, side]
                u = np.array([body_q[b][3], body_q[b][4], body_q[b][5]])
                s = body_q[b][6]
                a = np.array([joint_X_p[j][0], joint_X_p[j][1], joint_X_p[j][2]])
                lu = np.array([joint_X_p[j][3], joint_X_p[j][4], joint_X_p[j][5]])
                ls = joint_X_p[j][6]
                sign = -1.0
                if side == 1:
                    a = np.array([joint_X_c[j][0], joint_X_c[j][1], joint_X_c[j][2]])
                    lu = np.array([joint_X_c[j][3], joint_X_c[j][4], joint_X_c[j][5]])
                    ls = joint_X_c[j][6]
                    sign = 1.0
                d = a - body_com[b]
                r = d + 2.0 * s * np.cross(u, d) + 2.0 * np.cross(u, np.cross(u, d))
                spin = np.array([body_qd[b][3], body_qd[b][4], body_qd[b][5]])
                point = np.array([body_q[b][0], body_q[b][1], body_q[b][2]]) + a
                point = point + 2.0 * s * np.cross(u, a) + 2.0 * np.cross(u, np.cross(u, a))
                x = x + sign * point
                speed = np.array([body_qd[b][0], body_qd[b][1], body_qd[b][2]])
                v = v + sign * (speed + np.cross(spin, r))
                w = w + sign * spin
                qu = s * lu + ls * u + np.cross(u, lu)
                qs = s * ls - np.dot(u, lu)
                if side == 0:
                    arm = r
                    au = qu
                    as0 = qs
                else:
                    error = 2.0 * (as0 * qu - qs * au - np.cross(qu, au))
                    if qs * as0 + np.dot(qu, au) < 0.0:
                        error = -1.0 * error
                    f = attach_ke * x + attach_kd * v
                    t = angular_ke * error + angular_kd * w
                    tp = t + np.cross(arm, f)
                    tc = t + np.cross(r, f)
                    for k in range(3):
                        body_f[joint_bodies[j, 0]][k] = body_f[joint_bodies[j, 0]][k] + f[k]
                        body_f[joint_bodies[j, 0]][k + 3] = body_f[joint_bodies[j, 0]][k + 3] + tp[k]
                        body_f[b][k] = body_f[b][k] - f[k]
                        body_f[b][k + 3] = body_f[b][k + 3] - tc[k]
