# === xpbd_cloth
# source: extended position based dynamics with compliance (Macklin, Mueller and Chentanez 2016), colliders as implicit shapes
# task: predict cloth particles, solve stretch and bend constraints with compliance, collide, and update velocities
# about: Corrections are added up and divided by the number of constraints. Particles without inverse mass are pinned.
# domain: physics
# weight: 9
# sizes: num_particles = 4 7 71 200; num_stretch = 3 8 75 300; num_bend = 2 6 70 200
# - particle_q: vec3[num_particles] uniform(-1.0, 1.0); positions [m]
# - particle_qd: vec3[num_particles] uniform(-1.0, 1.0); velocities [m/s]
# - inv_mass: float[num_particles] uniform(0.0, 1.0); inverse masses, below 0.1 pinned [1/kg]
# - stretch_indices: int[num_stretch, 2] ring(num_particles); ends of the stretch constraints
# - stretch_rest: float[num_stretch] uniform(0.3, 0.6); rest lengths [m]
# - bend_indices: int[num_bend, 3] ring(num_particles); three particles of each bend constraint
# - bend_rest: float[num_bend] uniform(0.1, 0.3); rest distances from the middle particle to the centroid [m]
# - predicted: vec3[num_particles] zeros; predicted positions [m]
# - delta: vec3[num_particles] zeros; summed corrections [m]
# - delta_count: int[num_particles] zeros; constraints of each particle
# - q_new: vec3[num_particles] zeros; positions after the step [m]
# - qd_new: vec3[num_particles] zeros; velocities after the step [m/s]
# - num_hits: int[1] zeros; particles that touch the sphere or the ground
# - gravity: vec3 = 0.0 -9.81 0.0; gravity [m/s^2]
# - sphere_center: vec3 = 0.0 -0.5 0.0; centre of the collider [m]
# - sphere_radius: float = 0.6; radius of the collider [m]
# - ground_height: float = -0.8; height of the ground [m]
# - stretch_compliance: float = 0.001; inverse stiffness of stretching [m/N]
# - bend_compliance: float = 0.01; inverse stiffness of bending [m/N]
# - friction: float = 0.3; friction of both colliders
# - relaxation: float = 0.9; factor of the averaged corrections
# - dt: float = 0.02; time step [s]
# run: predict_positions, solve_stretch, solve_bend, finish_step
@func
def is_pinned(w: float) -> bool:
    """Whether a particle does not move."""
    return w < 0.1

@func
def multiplier(c: float, w_sum: float, compliance: float, h: float) -> float:
    """Change of the Lagrange multiplier from zero."""
    return -c / (w_sum + compliance / (h * h))

@func
def slide(move: wp.vec3, n: wp.vec3, depth: float, coefficient: float) -> wp.vec3:
    """Tangential part of a displacement that friction takes away."""
    tangent = move - n * wp.dot(move, n)
    size = wp.length(tangent)
    if size < 1.0e-3:
        return wp.vec3(0.0, 0.0, 0.0)
    return tangent * (wp.min(coefficient * depth, size) / size)

@kernel[num_particles] elementwise map, mask or active filter
def predict_positions():
    """Explicit step of the free particles."""
    tid = wp.tid()
    guard tid < num_particles
    x = particle_q[tid]
    w = inv_mass[tid]
    if is_pinned(w):
        predicted[tid] = x
        return
    v = particle_qd[tid] + gravity * dt
    predicted[tid] = x + v * dt

@kernel[num_stretch] spring force, element vertex gather, scatter add
def solve_stretch():
    """Distance constraints between two particles."""
    tid = wp.tid()
    guard tid < num_stretch
    i = stretch_indices[tid, 0]
    j = stretch_indices[tid, 1]
    xi = predicted[i]
    xj = predicted[j]
    wi = inv_mass[i]
    wj = inv_mass[j]
    if is_pinned(wi):
        wi = 0.0
    if is_pinned(wj):
        wj = 0.0
    w_sum = wi + wj
    if w_sum == 0.0:
        return
    d = xi - xj
    length = wp.length(d)
    if length < 1.0e-3:
        return
    n = d / length
    c = length - stretch_rest[tid]
    dlambda = multiplier(c, w_sum, stretch_compliance, dt)
    wp.atomic_add(delta, i, n * (wi * dlambda))
    wp.atomic_sub(delta, j, n * (wj * dlambda))
    wp.atomic_add(delta_count, i, 1)
    wp.atomic_add(delta_count, j, 1)

@kernel[num_bend] spring force, element vertex gather, scatter add
def solve_bend():
    """Distance of the middle particle from the centroid of three."""
    tid = wp.tid()
    guard tid < num_bend
    i = bend_indices[tid, 0]
    j = bend_indices[tid, 1]
    k = bend_indices[tid, 2]
    wi = inv_mass[i]
    wj = inv_mass[j]
    wk = inv_mass[k]
    if is_pinned(wi):
        wi = 0.0
    if is_pinned(wj):
        wj = 0.0
    if is_pinned(wk):
        wk = 0.0

    # gradients are 2/3 for the middle and -1/3 for the others
    w_sum = (wi + 4.0 * wj + wk) / 9.0
    if w_sum == 0.0:
        return
    centroid = (predicted[i] + predicted[j] + predicted[k]) / 3.0
    d = predicted[j] - centroid
    length = wp.length(d)
    if length < 1.0e-3:
        return
    n = d / length
    c = length - bend_rest[tid]
    dlambda = multiplier(c, w_sum, bend_compliance, dt)
    outer = n * (dlambda / -3.0)
    middle = n * (dlambda * 2.0 / 3.0)
    wp.atomic_add(delta, i, outer * wi)
    wp.atomic_add(delta, j, middle * wj)
    wp.atomic_add(delta, k, outer * wk)
    wp.atomic_add(delta_count, i, 1)
    wp.atomic_add(delta_count, j, 1)
    wp.atomic_add(delta_count, k, 1)

@kernel[num_particles] mask or active filter, atomic counter, elementwise map
def finish_step():
    """Averaged corrections, collisions with a sphere and the ground, velocities."""
    tid = wp.tid()
    guard tid < num_particles
    x0 = particle_q[tid]
    w = inv_mass[tid]
    if is_pinned(w):
        q_new[tid] = x0
        qd_new[tid] = wp.vec3(0.0, 0.0, 0.0)
        return
    x = predicted[tid]
    count = delta_count[tid]
    if count > 0:
        x = x + delta[tid] * (relaxation / float(count))

    hit = bool(False)
    offset = x - sphere_center
    dist = wp.length(offset)
    if dist < sphere_radius and dist > 1.0e-3:
        n = offset / dist
        depth = sphere_radius - dist
        x = x + n * depth
        x = x - slide(x - x0, n, depth, friction)
        hit = True
    below = ground_height - x[1]
    if below > 0.0:
        up = wp.vec3(0.0, 1.0, 0.0)
        x = x + up * below
        x = x - slide(x - x0, up, below, friction)
        hit = True
    if hit:
        wp.atomic_add(num_hits, 0, 1)
    q_new[tid] = x
    qd_new[tid] = (x - x0) / dt

def reference():
    """Constraints as weights on their particles; pinned particles have none."""
    for i in range(num_particles):
        predicted[i] = particle_q[i]
        if inv_mass[i] >= 0.1:
            predicted[i] = particle_q[i] + dt * particle_qd[i] + dt * dt * gravity
    for kind in range(2):
        many = num_stretch
        if kind == 1:
            many = num_bend
        for t in range(many):
            d = np.array([0.0, 0.0, 0.0])
            total = 0.0
            for a in range(2 + kind):
                p = 0
                g = 1.0 - 2.0 * float(a)
                if kind == 0:
                    p = stretch_indices[t, a]
                else:
                    p = bend_indices[t, a]
                    g = -1.0 / 3.0
                    if a == 1:
                        g = 2.0 / 3.0
                d = d + g * predicted[p]
                if inv_mass[p] >= 0.1:
                    total = total + inv_mass[p] * g * g
            far = np.linalg.norm(d)
            if total > 0.0 and far >= 1.0e-3:
                push = 0.0
                if kind == 0:
                    push = (stretch_rest[t] - far) / (total + stretch_compliance / dt**2.0)
                else:
                    push = (bend_rest[t] - far) / (total + bend_compliance / dt**2.0)
                for a in range(2 + kind):
                    p = 0
                    g = 1.0 - 2.0 * float(a)
                    if kind == 0:
                        p = stretch_indices[t, a]
                    else:
                        p = bend_indices[t, a]
                        g = -1.0 / 3.0
                        if a == 1:
                            g = 2.0 / 3.0
                    delta_count[p] = delta_count[p] + 1
                    if inv_mass[p] >= 0.1:
                        delta[p] = delta[p] + inv_mass[p] * g * push / far * d
    for i in range(num_particles):
        q_new[i] = particle_q[i]
        if inv_mass[i] >= 0.1:
            x = predicted[i] + relaxation / max(float(delta_count[i]), 1.0) * delta[i]
            hit = 0
            for collider in range(2):
                n = np.array([0.0, 1.0, 0.0])
                depth = ground_height - x[1]
                if collider == 0:
                    far = np.linalg.norm(x - sphere_center)
                    depth = 0.0
                    if far > 1.0e-3:
                        n = (x - sphere_center) / far
                        depth = sphere_radius - far
                if depth > 0.0:
                    hit = 1
                    x = x + depth * n
                    move = x - particle_q[i]
                    move = move - np.dot(move, n) * n
                    size = np.linalg.norm(move)
                    if size >= 1.0e-3:
                        x = x - min(friction * depth / size, 1.0) * move
            num_hits[0] = num_hits[0] + hit
            q_new[i] = x
            qd_new[i] = (x - particle_q[i]) / dt
