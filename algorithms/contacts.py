# === shape_contacts
# source: closest points of spheres, planes, capsules and boxes (Ericson 2005, ch. 5)
# task: find contacts of pairs of spheres, capsules, boxes and planes
# about: The pair is dispatched by the types of its shapes. Normals point from the first shape to the second.
# domain: physics
# weight: 9
# sizes: num_shapes = 2 7 40 100; num_pairs = 1 9 77 300
# - shape_type: int[num_shapes] uniform(0, 3); 0 plane, 1 sphere, 2 capsule
# - shape_pos: vec3[num_shapes] uniform(-1.0, 1.0); positions [m]
# - shape_axis: vec3[num_shapes] unit(); plane normals and capsule axes
# - shape_radius: float[num_shapes] uniform(0.2, 0.6); radii [m]
# - shape_half: float[num_shapes] uniform(0.2, 0.8); half heights of capsules [m]
# - shape_margin: float[num_shapes] uniform(0.0, 0.1); contact margins [m]
# - pairs: int[num_pairs, 2] ring(num_shapes); pairs of shapes that may touch
# - contact_dist: float[num_pairs] full(10.0); signed distances [m], large where nothing touches
# - contact_pos: vec3[num_pairs] zeros; midpoints between the surfaces [m]
# - contact_normal: vec3[num_pairs] zeros; normals
# - num_contacts: int[1] zeros; number of contacts
@func
def closest_on_segment(a: wp.vec3, d: wp.vec3, half: float, p: wp.vec3) -> wp.vec3:
    """Point of the segment a +- half d that is closest to p."""
    t = wp.clamp(wp.dot(p - a, d), -half, half)
    return a + d * t

@func
def plane_sphere(n: wp.vec3, p: wp.vec3, c: wp.vec3, r: float) -> float:
    """Distance of a sphere to a plane."""
    return wp.dot(c - p, n) - r

@kernel[num_pairs] contact or penetration, atomic counter, gather
def narrow_phase():
    """One contact for each pair, written if the gap is smaller than the margins."""
    tid = wp.tid()
    guard tid < num_pairs
    shape_a = pairs[tid, 0]
    shape_b = pairs[tid, 1]
    type_a = shape_type[shape_a]
    type_b = shape_type[shape_b]
    # the type with the smaller number comes first
    if type_a > type_b:
        shape_a = pairs[tid, 1]
        shape_b = pairs[tid, 0]
        type_a = shape_type[shape_a]
        type_b = shape_type[shape_b]
    if type_b == 0:
        return

    pos_a = shape_pos[shape_a]
    pos_b = shape_pos[shape_b]
    axis_a = shape_axis[shape_a]
    axis_b = shape_axis[shape_b]
    radius_a = shape_radius[shape_a]
    radius_b = shape_radius[shape_b]
    half_b = shape_half[shape_b]
    margin = shape_margin[shape_a] + shape_margin[shape_b]
    dist = float(0.0)
    normal = wp.vec3()
    point = wp.vec3()

    if type_a == 0:
        # a capsule touches a plane with its lower end
        normal = axis_a
        center = pos_b
        if type_b == 2:
            if wp.dot(axis_b, axis_a) > 0.0:
                center = pos_b - axis_b * half_b
            else:
                center = pos_b + axis_b * half_b
        dist = plane_sphere(axis_a, pos_a, center, radius_b)
        point = center - normal * (radius_b + 0.5 * dist)
    else:
        # sphere or capsule against sphere or capsule
        on_a = pos_a
        on_b = pos_b
        if type_a == 1 and type_b == 2:
            on_b = closest_on_segment(pos_b, axis_b, half_b, pos_a)
        elif type_a == 2 and type_b == 2:
            on_b = closest_on_segment(pos_b, axis_b, half_b, pos_a)
            on_a = closest_on_segment(pos_a, axis_a, shape_half[shape_a], on_b)
        delta = on_b - on_a
        length = wp.length(delta)
        if length < 1.0e-6:
            return
        normal = delta / length
        dist = length - radius_a - radius_b
        point = on_a + normal * (radius_a + 0.5 * dist)

    if dist < margin:
        contact_dist[tid] = dist
        contact_pos[tid] = point
        contact_normal[tid] = normal
        wp.atomic_add(num_contacts, 0, 1)

def reference():
    """A sphere is a capsule without height."""
    for k in range(num_pairs):
        a = pairs[k, 0]
        b = pairs[k, 1]
        if shape_type[b] < shape_type[a]:
            a = pairs[k, 1]
            b = pairs[k, 0]
        if shape_type[b] > 0:
            xa = shape_pos[a]
            xb = shape_pos[b]
            n = shape_axis[a]
            gap = 10.0
            if shape_type[a] == 0:
                if shape_type[b] == 2:
                    side = 1.0
                    if np.dot(shape_axis[b], n) > 0.0:
                        side = -1.0
                    xb = xb + side * shape_half[b] * shape_axis[b]
                gap = np.dot(xb, n) - np.dot(shape_pos[a], n) - shape_radius[b]
                xa = xb - (gap + 2.0 * shape_radius[b]) * n
                mid = 0.5 * (xa + xb)
            else:
                if shape_type[b] == 2:
                    t = np.dot(xa - xb, shape_axis[b])
                    if t > shape_half[b]:
                        t = shape_half[b]
                    if t < -shape_half[b]:
                        t = -shape_half[b]
                    xb = xb + t * shape_axis[b]
                if shape_type[a] == 2:
                    t = np.dot(xb - xa, shape_axis[a])
                    if t > shape_half[a]:
                        t = shape_half[a]
                    if t < -shape_half[a]:
                        t = -shape_half[a]
                    xa = xa + t * shape_axis[a]
                far = np.linalg.norm(xb - xa)
                if far >= 1.0e-6:
                    n = (xb - xa) / far
                    gap = far - shape_radius[a] - shape_radius[b]
                mid = 0.5 * (xa + xb) + 0.5 * (shape_radius[a] - shape_radius[b]) * n
            if gap < shape_margin[a] + shape_margin[b]:
                contact_dist[k] = gap
                contact_normal[k] = n
                contact_pos[k] = mid
                num_contacts[0] = num_contacts[0] + 1

# === sweep_and_prune
# source: sweep and prune along one axis, with a test of all axes (Cohen et al. 1995)
# task: find overlapping pairs of bounding boxes that are sorted along one axis
# about: Boxes are grown by a margin. A box is compared with those that follow it until their lower ends lie beyond it.
# domain: physics
# weight: 8
# sizes: num_geoms = 1 9 71 300
# - geom_start: float[num_geoms] sorted(-4.0, 4.0); lower ends along the sweep axis, sorted [m]
# - geom_size: float[num_geoms] uniform(0.2, 1.0); radii of the geometries [m]
# - geom_center: vec3[num_geoms] uniform(-1.5, 1.5); centres of the geometries, of which x is replaced by the sweep axis [m]
# - geom_margin: float[num_geoms] uniform(0.0, 0.1); margins [m]
# - geom_group: int[num_geoms] uniform(0, 3); groups; geometries of group 0 do not touch each other
# - lower: vec3[num_geoms] zeros; lower corners [m]
# - upper: vec3[num_geoms] zeros; upper corners [m]
# - num_overlaps: int[num_geoms] zeros; boxes that follow and overlap
# - first_overlap: int[num_geoms] full(-1); first box that follows and overlaps, -1 for none
# - max_checked: int[1] zeros; most comparisons of a box
@func
def boxes_overlap(lower_a: wp.vec3, upper_a: wp.vec3, lower_b: wp.vec3, upper_b: wp.vec3) -> bool:
    """Whether two boxes overlap along y and z."""
    if upper_a[1] < lower_b[1] or upper_b[1] < lower_a[1]:
        return False
    if upper_a[2] < lower_b[2] or upper_b[2] < lower_a[2]:
        return False
    return True

@kernel[num_geoms] aabb arith, elementwise map
def compute_bounds():
    """Boxes around spheres, grown by their margins."""
    tid = wp.tid()
    guard tid < num_geoms
    radius = geom_size[tid]
    start = geom_start[tid]
    center = wp.vec3(start + radius, geom_center[tid][1], geom_center[tid][2])
    margin = geom_margin[tid]
    reach = wp.vec3(radius + margin, radius + margin, radius + margin)
    lower[tid] = center - reach
    upper[tid] = center + reach

@kernel[num_geoms] aabb arith, atomic min max, mask or active filter
def sweep_boxes():
    """Compare each box with those that follow it."""
    tid = wp.tid()
    guard tid < num_geoms
    lower_a = lower[tid]
    upper_a = upper[tid]
    group_a = geom_group[tid]
    count = int(0)
    first = int(-1)
    checked = int(0)

    for other in range(tid + 1, num_geoms):
        lower_b = lower[other]
        # all that follow begin further on, but for their margins
        if geom_start[other] - geom_margin[tid] - 0.1 > upper_a[0]:
            break
        checked += 1
        if group_a == 0 and geom_group[other] == 0:
            continue
        upper_b = upper[other]
        if upper_a[0] < lower_b[0] or upper_b[0] < lower_a[0]:
            continue
        if boxes_overlap(lower_a, upper_a, lower_b, upper_b):
            if count == 0:
                first = other
            count += 1

    num_overlaps[tid] = count
    first_overlap[tid] = first
    wp.atomic_max(max_checked, 0, checked)

def reference():
    """All pairs, by the distance of their centres along each axis."""
    for i in range(num_geoms):
        ri = geom_size[i] + geom_margin[i]
        ci = np.array([geom_start[i] + geom_size[i], geom_center[i][1], geom_center[i][2]])
        for k in range(3):
            lower[i][k] = ci[k] - ri
            upper[i][k] = ci[k] + ri
        for back in range(num_geoms - 1 - i):
            j = num_geoms - 1 - back
            rj = geom_size[j] + geom_margin[j]
            cj = np.array([geom_start[j] + geom_size[j], geom_center[j][1], geom_center[j][2]])
            if geom_start[j] - geom_margin[i] - 0.1 <= upper[i][0]:
                if j - i > max_checked[0]:
                    max_checked[0] = j - i
                apart = 0
                for k in range(3):
                    if ci[k] + ri < cj[k] - rj or cj[k] + rj < ci[k] - ri:
                        apart = apart + 1
                if apart == 0 and geom_group[i] + geom_group[j] > 0:
                    num_overlaps[i] = num_overlaps[i] + 1
                    first_overlap[i] = j

# === contact_pgs
# source: projected Gauss-Seidel for contacts with Coulomb friction, boxed by the normal impulse (Catto 2005)
# task: solve contact impulses of particles on the ground with projected Gauss-Seidel in many worlds
# about: One thread solves one world. Impulses are accumulated and clamped, so each sweep may take back what came before.
# domain: physics
# weight: 9
# sizes: num_worlds = 1 3 9 32; max_contacts = 2 4 6 8; num_bodies = 2 5 7 9
# - contact_count: int[num_worlds] uniform(0, 3); contacts of each world
# - contact_body: int[num_worlds, max_contacts] index(num_bodies); body of each contact
# - contact_frame: mat33[num_worlds, max_contacts] rotation(); normal, then two tangents, row by row
# - contact_depth: float[num_worlds, max_contacts] uniform(-0.05, 0.1); penetration depths [m]
# - contact_mu: float[num_worlds, max_contacts] uniform(0.1, 0.8); coefficients of friction
# - inv_mass: float[num_bodies] uniform(0.2, 1.0); inverse masses [1/kg]
# - velocity: vec3[num_worlds, num_bodies] uniform(-1.0, 1.0); velocities, changed in place [m/s]
# - impulse: vec3[num_worlds, max_contacts] zeros; normal and tangential impulses [N s]
# - iterations: int = 3; sweeps over the contacts
# - erp: float = 0.2; share of the error that is corrected in a step
# - slop: float = 0.01; penetration that is allowed [m]
# - dt: float = 0.02; time step [s]
@func
def effective_mass(w: float, regularization: float) -> float:
    """Inverse of the diagonal of the contact matrix."""
    return 1.0 / (w + regularization)

@func
def clamp_impulse(value: float, limit: float) -> float:
    """Friction impulse within the pyramid."""
    if value > limit:
        return limit
    elif value < -limit:
        return -limit
    return value

@kernel[num_worlds] contact or penetration, in place update, gather
def solve_contacts():
    """Sweep over the contacts of one world, one after the other."""
    worldid = wp.tid()
    guard worldid < num_worlds
    ncon = wp.min(contact_count[worldid], max_contacts)
    {{_: require ncon > 0 || }}
    for sweep in range(iterations):
        for c in range(ncon):
            body = contact_body[worldid, c]
            frame = contact_frame[worldid, c]
            mu = contact_mu[worldid, c]
            depth = contact_depth[worldid, c]
            w = inv_mass[body]
            m = effective_mass(w, 1.0e-6)
            n = frame[0]
            t1 = frame[1]
            t2 = frame[2]
            v = velocity[worldid, body]
            old = impulse[worldid, c]

            # normal impulse, never negative
            bias = erp / dt * wp.max(depth - slop, 0.0)
            vn = wp.dot(v, n)
            jn = wp.max(old[0] + m * (bias - vn), 0.0)
            v = v + n * (w * (jn - old[0]))

            # friction is bounded by the normal impulse
            max_friction = mu * jn
            j1 = clamp_impulse(old[1] - m * wp.dot(v, t1), max_friction)
            v = v + t1 * (w * (j1 - old[1]))
            j2 = clamp_impulse(old[2] - m * wp.dot(v, t2), max_friction)
            v = v + t2 * (w * (j2 - old[2]))

            velocity[worldid, body] = v
            impulse[worldid, c] = wp.vec3(jn, j1, j2)

def reference():
    """Velocities from the sum of all impulses, row by row of the contact frame."""
    for w in range(num_worlds):
        for sweep in range(iterations):
            for c in range(contact_count[w]):
                b = contact_body[w, c]
                for row in range(3):
                    axis = contact_frame[w, c][row]
                    goal = 0.0
                    if row == 0:
                        over = contact_depth[w, c] - slop
                        if over > 0.0:
                            goal = erp * over / dt
                    before = impulse[w, c][row]
                    missing = goal - np.dot(velocity[w, b], axis)
                    after = before + missing / (inv_mass[b] + 1.0e-6)
                    if row == 0:
                        if after < 0.0:
                            after = 0.0
                    else:
                        bound = contact_mu[w, c] * impulse[w, c][0]
                        if after > bound:
                            after = bound
                        if after < -bound:
                            after = -bound
                    impulse[w, c][row] = after
                    velocity[w, b] = velocity[w, b] + inv_mass[b] * (after - before) * axis

# === contact_rows
# source: Jacobian rows and regularised references of contact constraints (Todorov 2014; Stewart and Trinkle 1996)
# task: build Jacobian rows, references and weights of contact constraints between moving bodies
# about: Each contact has four pyramid edges, which are rows of the constraint system.
# domain: physics
# weight: 12
# sizes: num_worlds = 1 2 7 16; num_bodies = 2 5 6 9; max_contacts = 1 4 11 24
# - world_contacts: int[num_worlds] uniform(1, 4); pairs of contacts of each world
# - contact_pair: int[max_contacts, 2] ring(num_bodies); the two bodies of each contact
# - contact_pos: vec3[num_worlds, max_contacts] uniform(-1.0, 1.0); contact points [m]
# - contact_frame: mat33[num_worlds, max_contacts] rotation(); normal and two tangents, row by row
# - contact_dist: float[num_worlds, max_contacts] uniform(-0.1, 0.1); distances [m]
# - contact_friction: float[max_contacts] uniform(0.2, 0.9); coefficients of friction
# - body_pos: vec3[num_worlds, num_bodies] uniform(-1.0, 1.0); centres of mass [m]
# - body_vel: vec3[num_worlds, num_bodies] uniform(-1.0, 1.0); linear velocities [m/s]
# - body_ang: vec3[num_worlds, num_bodies] uniform(-1.0, 1.0); angular velocities [rad/s]
# - body_invweight: float[num_bodies] uniform(0.1, 1.0); inverse inertial weights [1/kg]
# - row_vel: float[num_worlds, max_contacts, 4] zeros; velocities along the rows [m/s]
# - row_aref: float[num_worlds, max_contacts, 4] zeros; reference accelerations [m/s^2]
# - row_D: float[num_worlds, max_contacts, 4] zeros; inverse regularisation of the rows [kg]
# - row_count: int[num_worlds] zeros; rows in use
# - time_const: float = 0.02; time constant of the reference [s]
# - damp_ratio: float = 1.0; damping ratio of the reference
# - margin: float = 0.05; distance below which a contact has rows [m]
@func
def impedance(dist: float, width: float) -> float:
    """Smooth rise from 0.9 to 0.95 with the penetration."""
    x = wp.clamp(wp.abs(dist) / width, 0.0, 1.0)
    if x < 0.5:
        y = 2.0 * x * x
    else:
        y = 1.0 - 2.0 * (1.0 - x) * (1.0 - x)
    return 0.9 + 0.05 * y

@kernel[num_worlds, max_contacts] spatial algebra, gather
def contact_pyramid():
    """Four rows for each contact: normal plus and minus each tangent."""
    grid worldid, conid
    guard worldid < num_worlds and conid < max_contacts
    ncon = 2 * world_contacts[worldid]
    if conid >= ncon:
        return
    dist = contact_dist[worldid, conid]
    if dist >= margin:
        return

    body1 = contact_pair[conid, 0]
    body2 = contact_pair[conid, 1]
    pos = contact_pos[worldid, conid]
    frame = contact_frame[worldid, conid]
    mu = contact_friction[conid]
    r1 = pos - body_pos[worldid, body1]
    r2 = pos - body_pos[worldid, body2]

    # relative velocity at the contact point
    vel1 = body_vel[worldid, body1] + wp.cross(body_ang[worldid, body1], r1)
    vel2 = body_vel[worldid, body2] + wp.cross(body_ang[worldid, body2], r2)
    dvel = vel2 - vel1
    normal = frame[0]

    # stiffness and damping of the reference
    imp = impedance(dist - margin, margin)
    damping = 2.0 / (imp * time_const)
    rate = imp * time_const * damp_ratio
    stiffness = 1.0 / (rate * rate)
    invweight = body_invweight[body1] + body_invweight[body2]
    scale = invweight * (1.0 + mu * mu) * (1.0 - imp) / imp

    for dim in range(4):
        tangent = frame[1]
        if dim >= 2:
            tangent = frame[2]
        sign = float(1.0)
        if dim % 2 == 1:
            sign = -1.0
        edge = normal + tangent * (sign * mu)
        vel = wp.dot(edge, dvel)
        row_vel[worldid, conid, dim] = vel
        row_aref[worldid, conid, dim] = -damping * vel - stiffness * imp * (dist - margin)
        row_D[worldid, conid, dim] = 1.0 / wp.max(scale, 1.0e-6)

    wp.atomic_add(row_count, worldid, 4)

def reference():
    """Velocities as sums of angular and linear parts; the impedance by its two parabolas."""
    for w in range(num_worlds):
        for c in range(max_contacts):
            d = contact_dist[w, c]
            if c < world_contacts[w] * 2 and d < margin:
                depth = (margin - d) / margin
                if depth > 1.0:
                    depth = 1.0
                rise = 2.0 * depth**2.0
                if depth >= 0.5:
                    rise = 4.0 * depth - 2.0 * depth**2.0 - 1.0
                soft = 0.9 + 0.05 * rise
                a = contact_pair[c, 0]
                b = contact_pair[c, 1]
                weight = body_invweight[a] + body_invweight[b]
                for row in range(4):
                    side = 1.0 - 2.0 * float(row % 2)
                    axis = side * contact_friction[c] * contact_frame[w, c][1 + row // 2]
                    axis = axis + contact_frame[w, c][0]
                    v = np.dot(axis, body_vel[w, b]) - np.dot(axis, body_vel[w, a])
                    arm = contact_pos[w, c] - body_pos[w, b]
                    v = v + np.dot(np.cross(arm, axis), body_ang[w, b])
                    arm = contact_pos[w, c] - body_pos[w, a]
                    v = v - np.dot(np.cross(arm, axis), body_ang[w, a])
                    row_vel[w, c, row] = v
                    rate = soft * time_const
                    row_aref[w, c, row] = (margin - d) * soft / (rate * rate * damp_ratio**2.0) - 2.0 * v / rate
                    row_D[w, c, row] = soft / (weight * (1.0 + contact_friction[c] ** 2.0) * (1.0 - soft))
                row_count[w] = row_count[w] + 4
