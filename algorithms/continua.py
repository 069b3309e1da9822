# === mpm_transfer
# source: moving least squares material point method with quadratic B-splines (Hu et al. 2018; Jiang et al. 2016)
# task: transfer particles to a grid, update the grid under gravity and walls, and gather back with affine velocities
# about: Weak compressibility by the determinant of the deformation. The grid holds momentum and mass.
# domain: physics
# weight: 12
# sizes: num_particles = 1 7 71 300; n = 6 7 8 12
# - x: vec3[num_particles] uniform(0.25, 0.7); positions in units of the box
# - v: vec3[num_particles] uniform(-1.0, 1.0); velocities [1/s]
# - C: mat33[num_particles] uniform(-0.5, 0.5); affine velocities [1/s]
# - J: float[num_particles] uniform(0.9, 1.1); relative volumes
# - active: int[num_particles] uniform(0, 2); 0 for particles that rest
# - grid_m: float[n, n, n] zeros; masses of the nodes
# - grid_mv: vec3[n, n, n] zeros; momenta of the nodes
# - grid_v: vec3[n, n, n] zeros; velocities of the nodes
# - x_new: vec3[num_particles] zeros; positions after the step
# - v_new: vec3[num_particles] zeros; velocities after the step
# - C_new: mat33[num_particles] zeros; affine velocities after the step
# - J_new: float[num_particles] zeros; relative volumes after the step
# - p_mass: float = 1.0; mass of a particle
# - p_vol: float = 0.01; initial volume of a particle
# - bulk: float = 2.0; bulk modulus
# - gravity: float = -9.8; gravity along y
# - dt: float = 0.01; time step [s]
# - dx: float = 0.16; width of a cell in units of the box
# run: particles_to_grid, update_grid, grid_to_particles
@func
def spline_weights(f: float) -> wp.vec3:
    """Quadratic B-spline at the three nodes around a particle."""
    w0 = 0.5 * (1.5 - f) * (1.5 - f)
    w1 = 0.75 - (f - 1.0) * (f - 1.0)
    w2 = 0.5 * (f - 0.5) * (f - 0.5)
    return wp.vec3(w0, w1, w2)

@func
def lower_node(p: float, inv_h: float) -> int:
    """First of the three nodes along an axis."""
    return int(p * inv_h - 0.5)

@kernel[num_particles] grid splat, scatter add
def particles_to_grid():
    """Scatter mass and momentum with the stress of each particle."""
    p = wp.tid()
    guard p < num_particles
    if active[p] == 0:
        return
    inv_dx = 1.0 / dx
    xp = x[p]
    vp = v[p]
    bi = lower_node(xp[0], inv_dx)
    bj = lower_node(xp[1], inv_dx)
    bk = lower_node(xp[2], inv_dx)
    fx = xp[0] * inv_dx - float(bi)
    fy = xp[1] * inv_dx - float(bj)
    fz = xp[2] * inv_dx - float(bk)
    wx = spline_weights(fx)
    wy = spline_weights(fy)
    wz = spline_weights(fz)

    # pressure of a weakly compressible fluid
    pressure = bulk * (J[p] - 1.0)
    stress = -dt * 4.0 * inv_dx * inv_dx * p_vol * pressure
    affine = wp.identity(n=3, dtype=float) * stress + C[p] * p_mass

    for i in range(3):
        for j in range(3):
            for k in range(3):
                weight = wx[i] * wy[j] * wz[k]
                dpos = wp.vec3(float(i) - fx, float(j) - fy, float(k) - fz) * dx
                gi = bi + i
                gj = bj + j
                gk = bk + k
                wp.atomic_add(grid_m, gi, gj, gk, weight * p_mass)
                wp.atomic_add(grid_mv, gi, gj, gk, (vp * p_mass + affine * dpos) * weight)

@kernel[n, n, n] volume grid map, elementwise map
def update_grid():
    """Momentum to velocity, gravity, walls."""
    i, j, k = wp.tid()
    guard i < n and j < n and k < n
    m = grid_m[i, j, k]
    # almost empty nodes have no velocity
    if m <= 0.2:
        return
    vel = grid_mv[i, j, k] / m
    vel = vel + wp.vec3(0.0, gravity * dt, 0.0)

    # nothing flows through the walls
    border = 2
    if i < border and vel[0] < 0.0:
        vel = wp.vec3(0.0, vel[1], vel[2])
    elif i >= n - border and vel[0] > 0.0:
        vel = wp.vec3(0.0, vel[1], vel[2])
    if j < border and vel[1] < 0.0:
        vel = wp.vec3(vel[0], 0.0, vel[2])
    elif j >= n - border and vel[1] > 0.0:
        vel = wp.vec3(vel[0], 0.0, vel[2])
    if k < border and vel[2] < 0.0:
        vel = wp.vec3(vel[0], vel[1], 0.0)
    elif k >= n - border and vel[2] > 0.0:
        vel = wp.vec3(vel[0], vel[1], 0.0)
    grid_v[i, j, k] = vel

@kernel[num_particles] interpolation, gather
def grid_to_particles():
    """Gather velocity and its gradient, then move."""
    p = wp.tid()
    guard p < num_particles
    xp = x[p]
    if active[p] == 0:
        x_new[p] = xp
        v_new[p] = v[p]
        C_new[p] = C[p]
        J_new[p] = J[p]
        return
    inv_dx = 1.0 / dx
    bi = lower_node(xp[0], inv_dx)
    bj = lower_node(xp[1], inv_dx)
    bk = lower_node(xp[2], inv_dx)
    fx = xp[0] * inv_dx - float(bi)
    fy = xp[1] * inv_dx - float(bj)
    fz = xp[2] * inv_dx - float(bk)
    wx = spline_weights(fx)
    wy = spline_weights(fy)
    wz = spline_weights(fz)
    vel = wp.vec3(0.0, 0.0, 0.0)
    B = wp.mat33()

    for i in range(3):
        for j in range(3):
            for k in range(3):
                weight = wx[i] * wy[j] * wz[k]
                dpos = wp.vec3(float(i) - fx, float(j) - fy, float(k) - fz) * dx
                gv = grid_v[bi + i, bj + j, bk + k]
                vel += gv * weight
                B += wp.outer(gv * weight, dpos)

    affine = B * (4.0 * inv_dx * inv_dx)
    x_new[p] = xp + vel * dt
    v_new[p] = vel
    C_new[p] = affine
    J_new[p] = J[p] * (1.0 + dt * wp.trace(affine))

def reference():
    """The spline as a function of the distance between particle and node, on all nodes."""
    for phase in range(2):
        for p in range(num_particles):
            if phase == 1:
                x_new[p] = x[p]
                v_new[p] = v[p]
                C_new[p] = C[p]
                J_new[p] = J[p]
            if active[p] != 0:
                vel = np.array([0.0, 0.0, 0.0])
                B = 0.0 * C[p]
                for i in range(n):
                    for j in range(n):
                        for k in range(n):
                            node = np.array([float(i), float(j), float(k)])
                            weight = 1.0
                            for d in range(3):
                                far = x[p][d] / dx - node[d]
                                if far < 0.0:
                                    far = -far
                                if far < 0.5:
                                    weight = weight * (0.75 - far * far)
                                elif far < 1.5:
                                    weight = weight * 0.5 * (1.5 - far) ** 2.0
                                else:
                                    weight = 0.0
                            if weight > 0.0:
                                arm = dx * node - x[p]
                                if phase == 0:
                                    push = p_mass * v[p] - 4.0 * dt * p_vol * bulk * (J[p] - 1.0) / dx**2.0 * arm
                                    for r in range(3):
                                        for c in range(3):
                                            push[r] = push[r] + p_mass * C[p][r, c] * arm[c]
                                    grid_m[i, j, k] = grid_m[i, j, k] + weight * p_mass
                                    grid_mv[i, j, k] = grid_mv[i, j, k] + weight * push
                                else:
                                    vel = vel + weight * grid_v[i, j, k]
                                    B = B + np.outer(weight * grid_v[i, j, k], arm)
                if phase == 1:
                    x_new[p] = x[p] + dt * vel
                    v_new[p] = vel
                    C_new[p] = 4.0 / dx**2.0 * B
                    J_new[p] = J[p] + 4.0 * dt / dx**2.0 * J[p] * (B[0, 0] + B[1, 1] + B[2, 2])
        if phase == 0:
            for i in range(n):
                for j in range(n):
                    for k in range(n):
                        if grid_m[i, j, k] > 0.2:
                            u = grid_mv[i, j, k] / grid_m[i, j, k]
                            u[1] = u[1] + dt * gravity
                            node = np.array([float(i), float(j), float(k)])
                            for d in range(3):
                                if (node[d] < 2.0 and u[d] < 0.0) or (node[d] >= float(n) - 2.0 and u[d] > 0.0):
                                    u[d] = 0.0
                            grid_v[i, j, k] = u

# === fdtd_pml
# source: Yee's scheme with graded conductivity layers (Yee 1966; Berenger 1994; Taflove 2005)
# task: step the electromagnetic fields of a two-dimensional domain with absorbing layers and material cells
# about: Transverse magnetic polarisation. The out-of-plane electric field is split in two parts inside the layers.
# domain: physics
# weight: 11
# sizes: ny = 3 6 9 32; nx = 3 7 10 32
# - ez_x: float[ny, nx] uniform(-1.0, 1.0); part of the electric field that changes along x [V/m]
# - ez_y: float[ny, nx] uniform(-1.0, 1.0); part of the electric field that changes along y [V/m]
# - hx: float[ny, nx] uniform(-1.0, 1.0); magnetic field along x [A/m]
# - hy: float[ny, nx] uniform(-1.0, 1.0); magnetic field along y [A/m]
# - eps_r: float[ny, nx] uniform(1.0, 4.0); relative permittivities
# - sigma: float[ny, nx] uniform(0.0, 0.2); conductivities of the material
# - conductor: int[ny, nx] uniform(0, 2); 1 in perfect conductors
# - hx_new: float[ny, nx] zeros; magnetic field along x after the step
# - hy_new: float[ny, nx] zeros; magnetic field along y after the step
# - ez_x_new: float[ny, nx] zeros; part of the electric field that changes along x after the step [V/m]
# - ez_y_new: float[ny, nx] zeros; part of the electric field that changes along y after the step [V/m]
# - absorbed: float[1] zeros; power lost in the layers
# - layers: int = 2; cells of the absorbing layers
# - sigma_max: float = 1.5; conductivity at the outer edge
# - courant: float = 0.5; time step in units of the time that light needs for a cell
# run: update_magnetic, update_electric
@func
def layer_loss(i: int, n: int, thickness: int, peak: float) -> float:
    """Quadratic profile of the conductivity, zero inside."""
    depth = int(0)
    if i < thickness:
        depth = thickness - i
    elif i >= n - thickness:
        depth = i - (n - thickness) + 1
    ratio = float(depth) / float(thickness)
    return peak * ratio * ratio

@func
def decay_factor(loss: float, step: float) -> float:
    """Factor of the old field in a lossy cell."""
    return (1.0 - 0.5 * loss * step) / (1.0 + 0.5 * loss * step)

@func
def curl_factor(loss: float, step: float) -> float:
    """Factor of the curl in a lossy cell."""
    return step / (1.0 + 0.5 * loss * step)

@kernel[ny, nx] finite difference
def update_magnetic():
    """Half step of both magnetic components from the differences of the electric field."""
    grid j, i
    guard j < ny and i < nx
    ez = ez_x[j, i] + ez_y[j, i]
    ez_right = float(0.0)
    ez_up = float(0.0)
    if i < nx - 1:
        ez_right = ez_x[j, i + 1] + ez_y[j, i + 1]
    if j < ny - 1:
        ez_up = ez_x[j + 1, i] + ez_y[j + 1, i]

    loss_x = layer_loss(i, nx, layers, sigma_max)
    loss_y = layer_loss(j, ny, layers, sigma_max)
    hx_new[j, i] = decay_factor(loss_y, courant) * hx[j, i] - curl_factor(loss_y, courant) * (ez_up - ez)
    hy_new[j, i] = decay_factor(loss_x, courant) * hy[j, i] + curl_factor(loss_x, courant) * (ez_right - ez)

@kernel[ny, nx] finite difference, mask or active filter
def update_electric():
    """Step of both parts of the electric field; conductors have none."""
    grid j, i
    guard j < ny and i < nx
    if conductor[j, i] == 1:
        ez_x_new[j, i] = 0.0
        ez_y_new[j, i] = 0.0
        return
    h_left = float(0.0)
    h_down = float(0.0)
    if i > 0:
        h_left = hy_new[j, i - 1]
    if j > 0:
        h_down = hx_new[j - 1, i]

    eps = eps_r[j, i]
    material = sigma[j, i]
    loss_x = layer_loss(i, nx, layers, sigma_max)
    loss_y = layer_loss(j, ny, layers, sigma_max)
    total_x = (material + loss_x) / eps
    total_y = (material + loss_y) / eps
    curl_x = (hy_new[j, i] - h_left) / eps
    curl_y = (h_down - hx_new[j, i]) / eps
    part_x = decay_factor(total_x, courant) * ez_x[j, i] + curl_factor(total_x, courant) * curl_x
    part_y = decay_factor(total_y, courant) * ez_y[j, i] + curl_factor(total_y, courant) * curl_y
    ez_x_new[j, i] = part_x
    ez_y_new[j, i] = part_y
    if loss_x > 0.0 or loss_y > 0.0:
        wp.atomic_add(absorbed, 0, loss_x * part_x * part_x + loss_y * part_y * part_y)

def reference():
    """Implicit averages of the losses, solved for the new field."""
    for half in range(2):
        for j in range(ny):
            for i in range(nx):
                lx = 0.0
                ly = 0.0
                if i < layers:
                    lx = float(layers - i) / float(layers)
                elif i >= nx - layers:
                    lx = float(i + 1 + layers - nx) / float(layers)
                if j < layers:
                    ly = float(layers - j) / float(layers)
                elif j >= ny - layers:
                    ly = float(j + 1 + layers - ny) / float(layers)
                lx = sigma_max * lx**2.0
                ly = sigma_max * ly**2.0
                if half == 0:
                    here = ez_x[j, i] + ez_y[j, i]
                    a = -here
                    b = -here
                    if i + 1 < nx:
                        a = a + ez_x[j, i + 1] + ez_y[j, i + 1]
                    if j + 1 < ny:
                        b = b + ez_x[j + 1, i] + ez_y[j + 1, i]
                    hx_new[j, i] = (hx[j, i] / courant - b - 0.5 * ly * hx[j, i]) / (1.0 / courant + 0.5 * ly)
                    hy_new[j, i] = (hy[j, i] / courant + a - 0.5 * lx * hy[j, i]) / (1.0 / courant + 0.5 * lx)
                elif conductor[j, i] != 1:
                    a = hy_new[j, i]
                    b = -hx_new[j, i]
                    if i > 0:
                        a = a - hy_new[j, i - 1]
                    if j > 0:
                        b = b + hx_new[j - 1, i]
                    rate = eps_r[j, i] / courant
                    gx = 0.5 * (sigma[j, i] + lx)
                    gy = 0.5 * (sigma[j, i] + ly)
                    ez_x_new[j, i] = ((rate - gx) * ez_x[j, i] + a) / (rate + gx)
                    ez_y_new[j, i] = ((rate - gy) * ez_y[j, i] + b) / (rate + gy)
                    absorbed[0] = absorbed[0] + lx * ez_x_new[j, i] ** 2.0 + ly * ez_y_new[j, i] ** 2.0

# === mac_projection
# source: pressure projection on staggered grids with solids (Bridson 2015, ch. 5)
# task: compute the divergence on a staggered grid with solids, relax the pressure and subtract its gradient
# about: Faces next to solids have no flow. The pressure is relaxed by red-black sweeps with over-relaxation.
# domain: physics
# weight: 12
# sizes: ny = 2 5 8 24; nx = 2 6 9 24
# - u: float[ny, nx] uniform(-1.0, 1.0); velocity through the left face of each cell [m/s]
# - v: float[ny, nx] uniform(-1.0, 1.0); velocity through the lower face of each cell [m/s]
# - solid: int[ny, nx] uniform(0, 2); 1 in solids
# - divergence: float[ny, nx] zeros; divergences [1/s]
# - p: float[ny, nx] zeros; pressures, times the time step over density [m^2/s]
# - u_new: float[ny, nx] zeros; velocity through the left face of each cell after the projection [m/s]
# - v_new: float[ny, nx] zeros; velocity through the lower face of each cell after the projection [m/s]
# - largest: float[1] zeros; greatest divergence [1/s]
# - h: float = 0.5; cell width [m]
# - relaxation: float = 1.5; factor of over-relaxation
# run: cell_divergence, relax_red, relax_black, subtract_gradient
@func
def is_blocked(solid_a: int, solid_b: int) -> bool:
    """Whether nothing flows through the face between two cells."""
    return solid_a != 0 or solid_b != 0

@kernel[ny, nx] finite difference, boundary condition
def cell_divergence():
    """Net flow out of each fluid cell."""
    grid j, i
    guard j < ny and i < nx
    own = solid[j, i]
    if own != 0:
        divergence[j, i] = 0.0
        return
    left = float(0.0)
    right = float(0.0)
    down = float(0.0)
    up = float(0.0)
    if i > 0:
        if not is_blocked(own, solid[j, i - 1]):
            left = u[j, i]
    if i < nx - 1:
        if not is_blocked(own, solid[j, i + 1]):
            right = u[j, i + 1]
    if j > 0:
        if not is_blocked(own, solid[j - 1, i]):
            down = v[j, i]
    if j < ny - 1:
        if not is_blocked(own, solid[j + 1, i]):
            up = v[j + 1, i]
    div = (right - left + up - down) / h
    divergence[j, i] = div
    wp.atomic_max(largest, 0, wp.abs(div))

@kernel[ny, nx] stencil
def relax_red():
    """Relax the cells of even parity, whose neighbours are all odd."""
    grid j, i
    guard j < ny and i < nx
    if (i + j) % 2 != 0 or solid[j, i] != 0:
        return
    total = float(0.0)
    count = float(0.0)
    if i > 0:
        if solid[j, i - 1] == 0:
            total += p[j, i - 1]
            count += 1.0
    if i < nx - 1:
        if solid[j, i + 1] == 0:
            total += p[j, i + 1]
            count += 1.0
    if j > 0:
        if solid[j - 1, i] == 0:
            total += p[j - 1, i]
            count += 1.0
    if j < ny - 1:
        if solid[j + 1, i] == 0:
            total += p[j + 1, i]
            count += 1.0
    if count == 0.0:
        return
    relaxed = (total - h * h * divergence[j, i]) / count
    p[j, i] = p[j, i] + relaxation * (relaxed - p[j, i])

@kernel[ny, nx] stencil
def relax_black():
    """Relax the cells of odd parity with the new values of the even ones."""
    grid j, i
    guard j < ny and i < nx
    if (i + j) % 2 != 1 or solid[j, i] != 0:
        return
    total = float(0.0)
    count = float(0.0)
    for side in range(4):
        ni = i
        nj = j
        if side == 0:
            ni = i - 1
        elif side == 1:
            ni = i + 1
        elif side == 2:
            nj = j - 1
        else:
            nj = j + 1
        if ni < 0 or nj < 0 or ni >= nx or nj >= ny:
            continue
        if solid[nj, ni] != 0:
            continue
        total += p[nj, ni]
        count += 1.0
    if count == 0.0:
        return
    relaxed = (total - h * h * divergence[j, i]) / count
    p[j, i] = p[j, i] + relaxation * (relaxed - p[j, i])

@kernel[ny, nx] finite difference
def subtract_gradient():
    """Faces between fluid cells lose the pressure gradient; the others are closed."""
    grid j, i
    guard j < ny and i < nx
    own = solid[j, i]
    p_own = p[j, i]
    new_u = float(0.0)
    new_v = float(0.0)
    if i > 0:
        if not is_blocked(own, solid[j, i - 1]):
            new_u = u[j, i] - (p_own - p[j, i - 1]) / h
    if j > 0:
        if not is_blocked(own, solid[j - 1, i]):
            new_v = v[j, i] - (p_own - p[j - 1, i]) / h
    u_new[j, i] = new_u
    v_new[j, i] = new_v

def reference():
    """Flows through faces, added to the cells on both sides."""
    for j in range(ny):
        for i in range(nx):
            if solid[j, i] == 0:
                if i > 0:
                    if solid[j, i - 1] == 0:
                        divergence[j, i] = divergence[j, i] - u[j, i] / h
                        divergence[j, i - 1] = divergence[j, i - 1] + u[j, i] / h
                if j > 0:
                    if solid[j - 1, i] == 0:
                        divergence[j, i] = divergence[j, i] - v[j, i] / h
                        divergence[j - 1, i] = divergence[j - 1, i] + v[j, i] / h
    for j in range(ny):
        for i in range(nx):
            size = math.sqrt(divergence[j, i] ** 2.0)
            if size > largest[0]:
                largest[0] = size
    for color in range(2):
        for j in range(ny):
            for i in range(nx):
                if (i + j) % 2 == color and solid[j, i] == 0:
                    count = 0.0
                    flow = -h * h * divergence[j, i]
                    for dj in range(-1, 2):
                        for di in range(-1, 2):
                            if di * di + dj * dj == 1:
                                if i + di >= 0 and i + di < nx and j + dj >= 0 and j + dj < ny:
                                    if solid[j + dj, i + di] == 0:
                                        flow = flow + p[j + dj, i + di] - p[j, i]
                                        count = count + 1.0
                    if count > 0.0:
                        p[j, i] = p[j, i] + relaxation * flow / count
    for j in range(ny):
        for i in range(nx):
            if solid[j, i] == 0:
                if i > 0:
                    if solid[j, i - 1] == 0:
                        u_new[j, i] = u[j, i] + (p[j, i - 1] - p[j, i]) / h
                if j > 0:
                    if solid[j - 1, i] == 0:
                        v_new[j, i] = v[j, i] + (p[j - 1, i] - p[j, i]) / h

# === scalar_advection_3d
# source: semi-Lagrangian advection with buoyancy (Stam 1999; Fedkiw, Stam and Jensen 2001)
# task: advect smoke density and temperature through a three-dimensional velocity field and apply buoyancy
# about: Values are at cell centres. Points outside are moved to the border, and nothing flows through the walls.
# domain: physics
# weight: 12
# sizes: nz = 2 3 4 12; ny = 2 4 5 12; nx = 2 4 6 12
# - velocity: vec3[nz, ny, nx] uniform(-1.0, 1.0); velocities in cells per unit of time
# - density: float[nz, ny, nx] uniform(0.0, 1.0); densities of the smoke
# - temperature: float[nz, ny, nx] uniform(0.0, 1.0); temperatures above the surroundings [K]
# - density_new: float[nz, ny, nx] zeros; densities after the step
# - temperature_new: float[nz, ny, nx] zeros; temperatures after the step
# - velocity_new: vec3[nz, ny, nx] zeros; velocities after the step, with buoyancy
# - buoyancy: float = 0.4; lift by temperature
# - weight: float = 0.1; sinking by smoke
# - cooling: float = 0.2; rate of cooling [1/s]
# - dt: float = 0.5; time step [s]
@func
def sample(field: wp.array3d[float], p: wp.vec3, limit: wp.vec3) -> float:
    """Trilinear value at a point, clamped to the domain."""
    x = wp.clamp(p[0], 0.0, limit[0])
    y = wp.clamp(p[1], 0.0, limit[1])
    z = wp.clamp(p[2], 0.0, limit[2])
    i0 = int(wp.floor(x))
    j0 = int(wp.floor(y))
    k0 = int(wp.floor(z))
    i1 = wp.min(i0 + 1, int(limit[0]))
    j1 = wp.min(j0 + 1, int(limit[1]))
    k1 = wp.min(k0 + 1, int(limit[2]))
    tx = x - float(i0)
    ty = y - float(j0)
    tz = z - float(k0)
    c00 = wp.lerp(field[k0, j0, i0], field[k0, j0, i1], tx)
    c10 = wp.lerp(field[k0, j1, i0], field[k0, j1, i1], tx)
    c01 = wp.lerp(field[k1, j0, i0], field[k1, j0, i1], tx)
    c11 = wp.lerp(field[k1, j1, i0], field[k1, j1, i1], tx)
    return wp.lerp(wp.lerp(c00, c10, ty), wp.lerp(c01, c11, ty), tz)

@kernel[nz, ny, nx] interpolation, volume grid map
def advect_smoke():
    """Trace back, sample both scalars, then add forces."""
    k, j, i = wp.tid()
    guard k < nz and j < ny and i < nx
    center = wp.vec3(float(i), float(j), float(k))
    limit = wp.vec3(float(nx - 1), float(ny - 1), float(nz - 1))
    vel = velocity[k, j, i]
    foot = center - vel * dt

    rho = sample(density, foot, limit)
    temp = sample(temperature, foot, limit)
    temp = temp / (1.0 + cooling * dt)

    # lift by heat, sinking by smoke
    lift = buoyancy * temp - weight * rho
    vel_new = vel + wp.vec3(0.0, lift * dt, 0.0)
    if i == 0 or i == nx - 1:
        vel_new = wp.vec3(0.0, vel_new[1], vel_new[2])
    if j == 0 or j == ny - 1:
        vel_new = wp.vec3(vel_new[0], 0.0, vel_new[2])
    if k == 0 or k == nz - 1:
        vel_new = wp.vec3(vel_new[0], vel_new[1], 0.0)

    density_new[k, j, i] = rho
    temperature_new[k, j, i] = temp
    velocity_new[k, j, i] = vel_new

def reference():
    """Hat functions of all cells around the foot point."""
    for k in range(nz):
        for j in range(ny):
            for i in range(nx):
                own = velocity[k, j, i]
                x = float(i) - dt * own[0]
                y = float(j) - dt * own[1]
                z = float(k) - dt * own[2]
                x = min(max(x, 0.0), float(nx - 1))
                y = min(max(y, 0.0), float(ny - 1))
                z = min(max(z, 0.0), float(nz - 1))
                rho = 0.0
                heat = 0.0
                for c in range(nz):
                    for b in range(ny):
                        for a in range(nx):
                            wx = max(1.0 - abs(x - float(a)), 0.0)
                            wy = max(1.0 - abs(y - float(b)), 0.0)
                            wz = max(1.0 - abs(z - float(c)), 0.0)
                            rho = rho + wx * wy * wz * density[c, b, a]
                            heat = heat + wx * wy * wz * temperature[c, b, a]
                heat = heat / (1.0 + cooling * dt)
                density_new[k, j, i] = rho
                temperature_new[k, j, i] = heat
                if i > 0 and i < nx - 1:
                    velocity_new[k, j, i][0] = own[0]
                if j > 0 and j < ny - 1:
                    lift = buoyancy * heat - weight * rho
                    velocity_new[k, j, i][1] = own[1] + dt * lift
                if k > 0 and k < nz - 1:
                    velocity_new[k, j, i][2] = own[2]
