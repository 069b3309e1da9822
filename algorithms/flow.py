# === lattice_boltzmann_2d
# source: BGK collision on D2Q9 with halfway bounce-back and body force (Krueger et al. 2017)
# task: collide and stream a two-dimensional lattice Boltzmann flow with walls
# about: Populations are streamed by pulling from the neighbours; walls send back what left towards them.
# domain: physics
# weight: 9
# sizes: ny = 3 5 9 24; nx = 3 6 11 32
# - f_in: float[9, ny, nx] uniform(0.05, 0.2); populations before the step
# - solid: int[ny, nx] uniform(0, 2); 1 in walls
# - cx: int[9] uniform(-1, 2); velocity of each population along x
# - cy: int[9] uniform(-1, 2); velocity of each population along y
# - opposite: int[9] permutation(); population with the opposite velocity
# - weights: float[9] uniform(0.05, 0.2); quadrature weights
# - f_out: float[9, ny, nx] zeros; populations after the step
# - rho: float[ny, nx] zeros; densities
# - ux: float[ny, nx] zeros; velocities along x
# - uy: float[ny, nx] zeros; velocities along y
# - omega: float = 1.2; relaxation rate
# - force_x: float = 0.01; body force along x
@func
def wrap_index(i: int, n: int) -> int:
    """Index on a periodic axis."""
    if i < 0:
        return i + n
    elif i >= n:
        return i - n
    return i

@func
def equilibrium(w: float, density: float, cu: float, uu: float) -> float:
    """Second order expansion of the Maxwell distribution."""
    return w * density * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * uu)

@kernel[ny, nx] stencil, mask or active filter
def collide_and_stream():
    """Pull the populations, take their moments, relax and store."""
    grid y, x
    guard y < ny and x < nx
    if solid[y, x] != 0:
        for q in range(9):
            f_out[q, y, x] = weights[q]
        return

    # pull from upwind; walls reflect
    density = float(0.0)
    mx = float(0.0)
    my = float(0.0)
    for q in range(9):
        xs = wrap_index(x - cx[q], nx)
        ys = wrap_index(y - cy[q], ny)
        pulled = f_in[q, ys, xs]
        if solid[ys, xs] != 0:
            pulled = f_in[opposite[q], y, x]
        f_out[q, y, x] = pulled
        density += pulled
        mx += pulled * float(cx[q])
        my += pulled * float(cy[q])

    # moments, with half of the force
    u = (mx + 0.5 * force_x) / density
    v = my / density
    uu = u * u + v * v
    rho[y, x] = density
    ux[y, x] = u
    uy[y, x] = v

    for q in range(9):
        w = weights[q]
        cu = float(cx[q]) * u + float(cy[q]) * v
        feq = equilibrium(w, density, cu, uu)
        source = 3.0 * w * force_x * float(cx[q]) * (1.0 - 0.5 * omega)
        value = f_out[q, y, x]
        f_out[q, y, x] = value + omega * (feq - value) + source

def reference():
    """Populations are pulled by remainders, and the equilibrium is a complete square."""
    for y in range(ny):
        for x in range(nx):
            if solid[y, x] != 0:
                for q in range(9):
                    f_out[q, y, x] = weights[q]
            else:
                for q in range(9):
                    xs = (x - cx[q] + nx) % nx
                    ys = (y - cy[q] + ny) % ny
                    f_out[q, y, x] = f_in[q, ys, xs]
                    if solid[ys, xs] != 0:
                        f_out[q, y, x] = f_in[opposite[q], y, x]
                    rho[y, x] = rho[y, x] + f_out[q, y, x]
                    ux[y, x] = ux[y, x] + f_out[q, y, x] * float(cx[q])
                    uy[y, x] = uy[y, x] + f_out[q, y, x] * float(cy[q])
                ux[y, x] = ux[y, x] / rho[y, x] + 0.5 * force_x / rho[y, x]
                uy[y, x] = uy[y, x] / rho[y, x]
                for q in range(9):
                    cu = ux[y, x] * float(cx[q]) + uy[y, x] * float(cy[q])
                    feq = 0.5 + 0.5 * (1.0 + 3.0 * cu) ** 2.0 - 1.5 * (ux[y, x] ** 2.0 + uy[y, x] ** 2.0)
                    kept = (1.0 - omega) * f_out[q, y, x] + omega * weights[q] * rho[y, x] * feq
                    push = 3.0 * (1.0 - 0.5 * omega) * force_x * float(cx[q])
                    f_out[q, y, x] = kept + push * weights[q]

# === lattice_boltzmann_3d
# source: macroscopic moments and BGK collision on D3Q19 (Qian, d'Humieres and Lallemand 1992)
# task: compute moments and collide the populations of a three-dimensional lattice Boltzmann flow
# about: Cells have a mask: fluid, no-slip wall by full bounce-back, or prescribed velocity by equilibrium.
# domain: physics
# weight: 12
# sizes: nz = 1 2 4 8; ny = 1 3 4 12; nx = 1 3 5 16
# - f_0: float[19, nz, ny, nx] uniform(0.03, 0.08); populations before the collision
# - cell_type: int[nz, ny, nx] uniform(0, 3); 0 fluid, 1 wall, 2 prescribed velocity
# - lattice_c: int[3, 19] uniform(-1, 2); velocities of the lattice
# - lattice_w: float[19] uniform(0.02, 0.08); weights of the lattice
# - opp_indices: int[19] permutation(); populations with opposite velocities
# - u_wall: vec3 = 0.1 0.0 0.0; prescribed velocity
# - omega: float = 1.5; relaxation rate
# - f_1: float[19, nz, ny, nx] zeros; populations after the collision
# - rho: float[nz, ny, nx] zeros; densities
# - momentum: vec3[nz, ny, nx] zeros; momentum densities
@func
def quadratic_equilibrium(w: float, density: float, c: wp.vec3, u: wp.vec3) -> float:
    """Equilibrium population of one lattice velocity."""
    cu = 3.0 * wp.dot(c, u)
    usqr = 1.5 * wp.dot(u, u)
    return density * w * (1.0 + cu * (1.0 + 0.5 * cu) - usqr)

@kernel[nz, ny, nx] volume grid map, elementwise map
def collide_cells():
    """Density and velocity of a cell, then relaxation towards equilibrium."""
    k, j, i = wp.tid()
    guard k < nz and j < ny and i < nx
    kind = cell_type[k, j, i]
    density = float(0.0)
    flux = wp.vec3(0.0, 0.0, 0.0)
    for l in range(19):
        f = f_0[l, k, j, i]
        c = wp.vec3(float(lattice_c[0, l]), float(lattice_c[1, l]), float(lattice_c[2, l]))
        density += f
        flux += c * f
    rho[k, j, i] = density
    momentum[k, j, i] = flux

    if kind == 1:
        # populations turn back
        for l in range(19):
            f_1[l, k, j, i] = f_0[opp_indices[l], k, j, i]
    elif kind == 2:
        # equilibrium at the given velocity
        for l in range(19):
            c = wp.vec3(float(lattice_c[0, l]), float(lattice_c[1, l]), float(lattice_c[2, l]))
            f_1[l, k, j, i] = quadratic_equilibrium(lattice_w[l], density, c, u_wall)
    else:
        u = flux / density
        for l in range(19):
            c = wp.vec3(float(lattice_c[0, l]), float(lattice_c[1, l]), float(lattice_c[2, l]))
            feq = quadratic_equilibrium(lattice_w[l], density, c, u)
            fneq = f_0[l, k, j, i] - feq
            f_1[l, k, j, i] = f_0[l, k, j, i] - omega * fneq

def reference():
    """Velocity by components; the three kinds of cells in one formula."""
    for k in range(nz):
        for j in range(ny):
            for i in range(nx):
                for l in range(19):
                    rho[k, j, i] = rho[k, j, i] + f_0[l, k, j, i]
                    for d in range(3):
                        momentum[k, j, i][d] = momentum[k, j, i][d] + f_0[l, k, j, i] * float(lattice_c[d, l])
                for l in range(19):
                    cu = 0.0
                    uu = 0.0
                    for d in range(3):
                        u = u_wall[d]
                        if cell_type[k, j, i] == 0:
                            u = momentum[k, j, i][d] / rho[k, j, i]
                        cu = cu + u * float(lattice_c[d, l])
                        uu = uu + u * u
                    feq = lattice_w[l] * rho[k, j, i] * (1.0 + 3.0 * cu + 4.5 * cu**2.0 - 1.5 * uu)
                    if cell_type[k, j, i] == 0:
                        f_1[l, k, j, i] = (1.0 - omega) * f_0[l, k, j, i] + omega * feq
                    if cell_type[k, j, i] == 1:
                        f_1[l, k, j, i] = f_0[opp_indices[l], k, j, i]
                    if cell_type[k, j, i] == 2:
                        f_1[l, k, j, i] = feq

# === euler_muscl
# source: finite volumes with MUSCL reconstruction, minmod limiter and Rusanov flux (van Leer 1979; Toro 2009)
# task: step the compressible Euler equations in one dimension with limited slopes and Rusanov fluxes
# about: Conserved variables are density, momentum and energy. Ghost cells repeat the outermost cell.
# domain: physics
# weight: 12
# sizes: num_cells = 1 7 71 400
# - rho: float[num_cells] uniform(0.5, 1.5); densities [kg/m^3]
# - mom: float[num_cells] uniform(-0.3, 0.3); momentum densities [kg/(m^2 s)]
# - ene: float[num_cells] uniform(2.0, 3.0); energy densities [J/m^3]
# - slope: vec3[num_cells] zeros; limited slopes of density, velocity and pressure over half a cell
# - prim: vec3[num_cells] zeros; density, velocity and pressure
# - rho_new: float[num_cells] zeros; densities after the step
# - mom_new: float[num_cells] zeros; momentum densities after the step
# - ene_new: float[num_cells] zeros; energy densities after the step
# - max_wave: float[1] zeros; greatest wave speed [m/s]
# - gamma: float = 1.4; ratio of specific heats
# - dt: float = 0.002; time step [s]
# - dx: float = 0.05; cell width [m]
# run: primitive_variables, limited_slopes, update_cells
@func
def minmod(a: float, b: float) -> float:
    """The smaller of two slopes, zero where they disagree."""
    if a * b <= 0.0:
        return 0.0
    if wp.abs(a) < wp.abs(b):
        return a
    return b

@func
def sound_speed(p: float, r: float, heat_ratio: float) -> float:
    """Speed of sound of an ideal gas."""
    return wp.sqrt(heat_ratio * wp.max(p, 1.0e-6) / wp.max(r, 1.0e-6))

@func
def physical_flux(r: float, u: float, p: float, heat_ratio: float) -> wp.vec3:
    """Flux of mass, momentum and energy."""
    e = p / (heat_ratio - 1.0) + 0.5 * r * u * u
    return wp.vec3(r * u, r * u * u + p, (e + p) * u)

@func
def rusanov(left: wp.vec3, right: wp.vec3, heat_ratio: float) -> wp.vec3:
    """Central flux with the dissipation of the fastest wave."""
    f_l = physical_flux(left[0], left[1], left[2], heat_ratio)
    f_r = physical_flux(right[0], right[1], right[2], heat_ratio)
    s_l = wp.abs(left[1]) + sound_speed(left[2], left[0], heat_ratio)
    s_r = wp.abs(right[1]) + sound_speed(right[2], right[0], heat_ratio)
    s = wp.max(s_l, s_r)
    e_l = left[2] / (heat_ratio - 1.0) + 0.5 * left[0] * left[1] * left[1]
    e_r = right[2] / (heat_ratio - 1.0) + 0.5 * right[0] * right[1] * right[1]
    jump = wp.vec3(right[0] - left[0], right[0] * right[1] - left[0] * left[1], e_r - e_l)
    return (f_l + f_r) * 0.5 - jump * (0.5 * s)

@kernel[num_cells] elementwise map, atomic min max
def primitive_variables():
    """Velocity and pressure of each cell, and the greatest wave speed."""
    i = wp.tid()
    guard i < num_cells
    r = rho[i]
    u = mom[i] / r
    p = (gamma - 1.0) * (ene[i] - 0.5 * r * u * u)
    prim[i] = wp.vec3(r, u, p)
    wp.atomic_max(max_wave, 0, wp.abs(u) + sound_speed(p, r, gamma))

@kernel[num_cells] finite difference, boundary condition
def limited_slopes():
    """Half of the limited differences to both neighbours."""
    i = wp.tid()
    guard i < num_cells
    left = prim[wp.max(i - 1, 0)]
    center = prim[i]
    right = prim[wp.min(i + 1, num_cells - 1)]
    s = wp.vec3()
    for k in range(3):
        s[k] = 0.5 * minmod(center[k] - left[k], right[k] - center[k])
    slope[i] = s

@kernel[num_cells] finite difference
def update_cells():
    """Difference of the fluxes through both faces."""
    i = wp.tid()
    guard i < num_cells
    im = wp.max(i - 1, 0)
    ip = wp.min(i + 1, num_cells - 1)
    w_m = prim[im]
    w_c = prim[i]
    w_p = prim[ip]
    s_m = slope[im]
    s_c = slope[i]
    s_p = slope[ip]

    # states on both sides of each face
    left_minus = w_m + s_m
    left_plus = w_c - s_c
    right_minus = w_c + s_c
    right_plus = w_p - s_p
    flux_left = rusanov(left_minus, left_plus, gamma)
    flux_right = rusanov(right_minus, right_plus, gamma)

    scale = dt / dx
    rho_new[i] = rho[i] - scale * (flux_right[0] - flux_left[0])
    mom_new[i] = mom[i] - scale * (flux_right[1] - flux_left[1])
    ene_new[i] = ene[i] - scale * (flux_right[2] - flux_left[2])

def reference():
    """Face by face: what leaves one cell enters the next."""
    for i in range(num_cells):
        u = mom[i] / rho[i]
        p = (gamma - 1.0) * (ene[i] - 0.5 * mom[i] * u)
        prim[i] = np.array([rho[i], u, p])
        rho_new[i] = rho[i]
        mom_new[i] = mom[i]
        ene_new[i] = ene[i]
        wave = math.sqrt(gamma * p / rho[i])
        if u > 0.0:
            wave = wave + u
        else:
            wave = wave - u
        if wave > max_wave[0]:
            max_wave[0] = wave
    for i in range(1, num_cells - 1):
        for k in range(3):
            a = prim[i][k] - prim[i - 1][k]
            b = prim[i + 1][k] - prim[i][k]
            if a * b > 0.0:
                if a * a < b * b:
                    slope[i][k] = 0.5 * a
                else:
                    slope[i][k] = 0.5 * b
    for face in range(num_cells + 1):
        l = face - 1
        r = face
        if face == 0:
            l = 0
        if face == num_cells:
            r = num_cells - 1
        flux = np.array([0.0, 0.0, 0.0])
        jump = np.array([0.0, 0.0, 0.0])
        fastest = 0.0
        for side in range(2):
            sign = 2.0 * float(side) - 1.0
            w = prim[l] + slope[l]
            if side == 1:
                w = prim[r] - slope[r]
            energy = w[2] / (gamma - 1.0) + 0.5 * w[0] * w[1] ** 2.0
            flux = flux + np.array([w[0] * w[1], w[0] * w[1] ** 2.0 + w[2], w[1] * (energy + w[2])])
            jump = jump + sign * np.array([w[0], w[0] * w[1], energy])
            wave = math.sqrt(gamma * w[2] / w[0]) + math.sqrt(w[1] * w[1])
            if wave > fastest:
                fastest = wave
        flux = 0.5 * dt / dx * (flux - fastest * jump)
        if face > 0:
            rho_new[l] = rho_new[l] - flux[0]
            mom_new[l] = mom_new[l] - flux[1]
            ene_new[l] = ene_new[l] - flux[2]
        if face < num_cells:
            rho_new[r] = rho_new[r] + flux[0]
            mom_new[r] = mom_new[r] + flux[1]
            ene_new[r] = ene_new[r] + flux[2]

# === weno_advection
# source: fifth order weighted essentially non-oscillatory reconstruction (Jiang and Shu 1996)
# task: step an advected field on a periodic axis with upwind fluxes from fifth order WENO reconstruction
# about: The wind's sign selects the side from which each face value is reconstructed.
# domain: physics
# weight: 12
# sizes: nx = 5 9 71 400
# - q: float[nx] uniform(0.0, 1.0); field
# - wind: float[nx] uniform(-1.0, 1.0); velocity at the face to the right of each cell [m/s]
# - face_flux: float[nx] zeros; flux through the face to the right of each cell
# - q_new: float[nx] zeros; field after the step
# - dt: float = 0.01; time step [s]
# - dx: float = 0.1; cell width [m]
@func
def periodic(i: int, n: int) -> int:
    """Index on a ring."""
    return (i + n) % n

@func
def weno5(a: float, b: float, c: float, d: float, e: float) -> float:
    """Value at the face between c and d from five cells."""
    eps = 1.0e-2

    # three parabolas
    p0 = (2.0 * a - 7.0 * b + 11.0 * c) / 6.0
    p1 = (-b + 5.0 * c + 2.0 * d) / 6.0
    p2 = (2.0 * c + 5.0 * d - e) / 6.0

    # how smooth they are
    b0 = 13.0 / 12.0 * (a - 2.0 * b + c) * (a - 2.0 * b + c) + 0.25 * (a - 4.0 * b + 3.0 * c) * (a - 4.0 * b + 3.0 * c)
    b1 = 13.0 / 12.0 * (b - 2.0 * c + d) * (b - 2.0 * c + d) + 0.25 * (b - d) * (b - d)
    b2 = 13.0 / 12.0 * (c - 2.0 * d + e) * (c - 2.0 * d + e) + 0.25 * (3.0 * c - 4.0 * d + e) * (3.0 * c - 4.0 * d + e)

    w0 = 0.1 / ((eps + b0) * (eps + b0))
    w1 = 0.6 / ((eps + b1) * (eps + b1))
    w2 = 0.3 / ((eps + b2) * (eps + b2))
    return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2)

@kernel[nx] finite difference
def reconstruct_faces():
    """Upwind flux through the right face of each cell."""
    i = wp.tid()
    guard i < nx
    u = wind[i]
    m2 = periodic(i - 2, nx)
    m1 = periodic(i - 1, nx)
    p1 = periodic(i + 1, nx)
    p2 = periodic(i + 2, nx)
    p3 = periodic(i + 3, nx)
    if u >= 0.0:
        value = weno5(q[m2], q[m1], q[i], q[p1], q[p2])
    else:
        value = weno5(q[p3], q[p2], q[p1], q[i], q[m1])
    face_flux[i] = u * value

@kernel[nx] finite difference
def apply_fluxes():
    """Explicit step with the difference of both fluxes."""
    i = wp.tid()
    guard i < nx
    left = periodic(i - 1, nx)
    {{divergence = (face_flux[i] - face_flux[left]) / dx || divergence = (face_flux[i] - face_flux[left]) * (1.0 / dx)}}
    q_new[i] = q[i] - dt * divergence

def reference():
    """Stencils walk against the wind."""
    for i in range(nx):
        q_new[i] = q_new[i] + q[i]
        step = 1
        first = i
        if wind[i] < 0.0:
            step = -1
            first = i + 1
        total = 0.0
        value = 0.0
        for k in range(3):
            x = q[(first + (k - 2) * step + 2 * nx) % nx]
            y = q[(first + (k - 1) * step + 2 * nx) % nx]
            z = q[(first + k * step + 2 * nx) % nx]
            curve = x - 2.0 * y + z
            tilt = x - z
            poly = -x + 5.0 * y + 2.0 * z
            share = 6.0
            if k == 0:
                tilt = x - 4.0 * y + 3.0 * z
                poly = 2.0 * x - 7.0 * y + 11.0 * z
                share = 1.0
            if k == 2:
                tilt = 3.0 * x - 4.0 * y + z
                poly = 2.0 * x + 5.0 * y - z
                share = 3.0
            smooth = 0.01 + 13.0 / 12.0 * curve**2.0 + 0.25 * tilt**2.0
            total = total + share / smooth**2.0
            value = value + share / smooth**2.0 * poly / 6.0
        face_flux[i] = wind[i] * value / total
        q_new[i] = q_new[i] - dt / dx * face_flux[i]
        q_new[(i + 1) % nx] = q_new[(i + 1) % nx] + dt / dx * face_flux[i]

# === shallow_water
# source: finite volumes for the shallow water equations with HLL fluxes (Toro 2001)
# task: step the shallow water equations on a grid with HLL fluxes and dry cells
# about: State vectors hold depth and the two discharges. Walls mirror the normal discharge.
# domain: physics
# weight: 11
# split: test
# sizes: ny = 1 4 8 24; nx = 1 5 10 32
# - state: vec3[ny, nx] uniform(0.1, 0.6); states: depth [m] and discharges [m^2/s]
# - bed_friction: float[ny, nx] uniform(0.0, 0.1); friction coefficients
# - state_new: vec3[ny, nx] zeros; states after the step
# - max_speed: float[1] zeros; greatest wave speed [m/s]
# - g: float = 9.81; gravity [m/s^2]
# - dry_depth: float = 0.15; depth below which a cell is dry [m]
# - dt: float = 0.01; time step [s]
# - dx: float = 0.5; cell width [m]
@func
def mirror(s: wp.vec3, axis: int) -> wp.vec3:
    """State behind a wall."""
    if axis == 0:
        return wp.vec3(s[0], -s[1], s[2])
    return wp.vec3(s[0], s[1], -s[2])

@func
def swe_flux(s: wp.vec3, axis: int, grav: float) -> wp.vec3:
    """Flux along an axis."""
    h = wp.max(s[0], 1.0e-4)
    u = s[1] / h
    v = s[2] / h
    p = 0.5 * grav * h * h
    if axis == 0:
        return wp.vec3(s[1], s[1] * u + p, s[2] * u)
    return wp.vec3(s[2], s[1] * v, s[2] * v + p)

@func
def hll(a: wp.vec3, b: wp.vec3, axis: int, grav: float) -> wp.vec3:
    """HLL flux with the simplest estimates of the wave speeds."""
    ua = a[1 + axis] / wp.max(a[0], 1.0e-4)
    ub = b[1 + axis] / wp.max(b[0], 1.0e-4)
    ca = wp.sqrt(grav * wp.max(a[0], 1.0e-4))
    cb = wp.sqrt(grav * wp.max(b[0], 1.0e-4))
    sl = wp.min(ua - ca, ub - cb)
    sr = wp.max(ua + ca, ub + cb)
    fa = swe_flux(a, axis, grav)
    fb = swe_flux(b, axis, grav)
    if sl >= 0.0:
        return fa
    elif sr <= 0.0:
        return fb
    return (fa * sr - fb * sl + (b - a) * (sl * sr)) / (sr - sl)

@kernel[ny, nx] finite difference, atomic min max, index unflatten
def step_shallow_water():
    """Fluxes through four faces, then friction."""
    grid j, i
    guard j < ny and i < nx
    s = state[j, i]
    west = mirror(s, 0)
    east = mirror(s, 0)
    south = mirror(s, 1)
    north = mirror(s, 1)
    if i > 0:
        west = state[j, i - 1]
    if i < nx - 1:
        east = state[j, i + 1]
    if j > 0:
        south = state[j - 1, i]
    if j < ny - 1:
        north = state[j + 1, i]

    f_w = hll(west, s, 0, g)
    f_e = hll(s, east, 0, g)
    f_s = hll(south, s, 1, g)
    f_n = hll(s, north, 1, g)
    s_new = s - (f_e - f_w + f_n - f_s) * (dt / dx)

    depth = s_new[0]
    if depth < dry_depth:
        # dry cells keep their water, but it does not move
        state_new[j, i] = wp.vec3(wp.max(depth, 0.0), 0.0, 0.0)
        return

    # friction, implicit
    speed = wp.sqrt(s_new[1] * s_new[1] + s_new[2] * s_new[2]) / depth
    drag = 1.0 / (1.0 + dt * bed_friction[j, i] * speed / depth)
    state_new[j, i] = wp.vec3(depth, s_new[1] * drag, s_new[2] * drag)
    wp.atomic_max(max_speed, 0, speed + wp.sqrt(g * depth))

def reference():
    """One face after the other, by its two states."""
    for j in range(ny):
        for i in range(nx):
            change = np.array([0.0, 0.0, 0.0])
            for face in range(4):
                axis = face // 2
                side = face % 2
                ii = i + (1 - axis) * (2 * side - 1)
                jj = j + axis * (2 * side - 1)
                own = state[j, i]
                other = 1.0 * state[j, i]
                if ii >= 0 and ii < nx and jj >= 0 and jj < ny:
                    other = state[jj, ii]
                else:
                    other[1 + axis] = -1.0 * own[1 + axis]
                a = other
                b = own
                if side == 1:
                    a = own
                    b = other
                ua = a[1 + axis] / a[0]
                ub = b[1 + axis] / b[0]
                fa = ua * a
                fb = ub * b
                fa[1 + axis] = fa[1 + axis] + 0.5 * g * a[0] ** 2.0
                fb[1 + axis] = fb[1 + axis] + 0.5 * g * b[0] ** 2.0
                lo = ua - math.sqrt(g * a[0])
                hi = ua + math.sqrt(g * a[0])
                if ub - math.sqrt(g * b[0]) < lo:
                    lo = ub - math.sqrt(g * b[0])
                if ub + math.sqrt(g * b[0]) > hi:
                    hi = ub + math.sqrt(g * b[0])
                f = fa
                if lo < 0.0:
                    f = fb
                    if hi > 0.0:
                        f = (hi * fa - lo * fb + lo * hi * (b - a)) / (hi - lo)
                change = change + (2.0 * float(side) - 1.0) * f
            new = state[j, i] - dt / dx * change
            if new[0] < dry_depth:
                state_new[j, i][0] = new[0]
                if new[0] < 0.0:
                    state_new[j, i][0] = 0.0
            else:
                speed = math.sqrt(new[1] ** 2.0 + new[2] ** 2.0) / new[0]
                drag = new[0] / (new[0] + dt * bed_friction[j, i] * speed)
                state_new[j, i] = np.array([new[0], new[1] * drag, new[2] * drag])
                wave = speed + math.sqrt(g * new[0])
                if wave > max_speed[0]:
                    max_speed[0] = wave
