# === d3q19_explicit
# source: BGK collision and streaming on D3Q19 (Qian, d'Humieres and Lallemand 1992; Krueger et al. 2017)
# task: stream and collide a three-dimensional lattice Boltzmann flow with every population by name
# about: Populations are ordered by their velocities: z first, then y, then x, from -1 to 1. Walls send populations back; all axes are periodic.
# domain: physics
# weight: 9
# sizes: nz = 1 2 4 8; ny = 2 3 4 12; nx = 2 3 5 16
# - f_old: float[19, nz, ny, nx] uniform(0.03, 0.08); populations before the step
# - solid: int[nz, ny, nx] uniform(0, 2); 1 in walls
# - f_new: float[19, nz, ny, nx] zeros; populations after the step
# - rho: float[nz, ny, nx] zeros; densities
# - velocity: vec3[nz, ny, nx] zeros; velocities, zero in walls
# - omega: float = 1.4; relaxation rate
# - force: vec3 = 0.001 0.0 0.002; body force
@func
def periodic(i: int, n: int) -> int:
    """Index on a periodic axis."""
    if i < 0:
        return i + n
    if i >= n:
        return i - n
    return i

@func
def relax(f: float, w: float, density: float, cu: float, usq: float, rate: float, push: float) -> float:
    """Relaxation of one population towards its equilibrium, and the body force."""
    feq = w * density * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * usq)
    return f + rate * (feq - f) + 3.0 * w * push

@kernel[nz, ny, nx] volume grid map, mask or active filter, stencil
def stream_collide():
    """Pull 19 populations, compute their moments and relax each of them."""
    # slowest axis first
    k, j, i = wp.tid()
    guard k < nz and j < ny and i < nx
    im = periodic(i - 1, nx)
    ip = periodic(i + 1, nx)
    jm = periodic(j - 1, ny)
    jp = periodic(j + 1, ny)
    km = periodic(k - 1, nz)
    kp = periodic(k + 1, nz)

    # walls: bounce back
    if solid[k, j, i] == 1:
        for q in range(19):
            f_new[q, k, j, i] = f_old[18 - q, k, j, i]
        return

    # pull from upwind
    f_0ms = f_old[0, kp, jp, i]
    f_m0s = f_old[1, kp, j, ip]
    f_00s = f_old[2, kp, j, i]
    f_p0s = f_old[3, kp, j, im]
    f_0ps = f_old[4, kp, jm, i]
    f_mm0 = f_old[5, k, jp, ip]
    f_0m0 = f_old[6, k, jp, i]
    f_pm0 = f_old[7, k, jp, im]
    f_m00 = f_old[8, k, j, ip]
    f_000 = f_old[9, k, j, i]
    f_p00 = f_old[10, k, j, im]
    f_mp0 = f_old[11, k, jm, ip]
    f_0p0 = f_old[12, k, jm, i]
    f_pp0 = f_old[13, k, jm, im]
    f_0mn = f_old[14, km, jp, i]
    f_m0n = f_old[15, km, j, ip]
    f_00n = f_old[16, km, j, i]
    f_p0n = f_old[17, km, j, im]
    f_0pn = f_old[18, km, jm, i]

    # moments
    sum_bottom = f_0ms + f_m0s + f_00s + f_p0s + f_0ps
    sum_top = f_0mn + f_m0n + f_00n + f_p0n + f_0pn
    sum_middle = f_mm0 + f_0m0 + f_pm0 + f_m00 + f_000 + f_p00 + f_mp0 + f_0p0 + f_pp0
    density = sum_bottom + sum_middle + sum_top
    inv_density = 1.0 / density
    right = f_p0s + f_pm0 + f_p00 + f_pp0 + f_p0n
    left = f_m0s + f_mm0 + f_m00 + f_mp0 + f_m0n
    back = f_0ps + f_mp0 + f_0p0 + f_pp0 + f_0pn
    front = f_0ms + f_mm0 + f_0m0 + f_pm0 + f_0mn
    u = (right - left) * inv_density
    v = (back - front) * inv_density
    w = (sum_top - sum_bottom) * inv_density
    usq = u * u + v * v + w * w
    rho[k, j, i] = density
    velocity[k, j, i] = wp.vec3(u, v, w)

    # weights of rest, faces and edges
    w0 = 1.0 / 3.0
    w1 = 1.0 / 18.0
    w2 = 1.0 / 36.0
    fx = force[0]
    fy = force[1]
    fz = force[2]
    f_new[0, k, j, i] = relax(f_0ms, w2, density, -v - w, usq, omega, -fy - fz)
    f_new[1, k, j, i] = relax(f_m0s, w2, density, -u - w, usq, omega, -fx - fz)
    f_new[2, k, j, i] = relax(f_00s, w1, density, -w, usq, omega, -fz)
    f_new[3, k, j, i] = relax(f_p0s, w2, density, u - w, usq, omega, fx - fz)
    f_new[4, k, j, i] = relax(f_0ps, w2, density, v - w, usq, omega, fy - fz)
    f_new[5, k, j, i] = relax(f_mm0, w2, density, -u - v, usq, omega, -fx - fy)
    f_new[6, k, j, i] = relax(f_0m0, w1, density, -v, usq, omega, -fy)
    f_new[7, k, j, i] = relax(f_pm0, w2, density, u - v, usq, omega, fx - fy)
    f_new[8, k, j, i] = relax(f_m00, w1, density, -u, usq, omega, -fx)
    f_new[9, k, j, i] = relax(f_000, w0, density, 0.0, usq, omega, 0.0)
    f_new[10, k, j, i] = relax(f_p00, w1, density, u, usq, omega, fx)
    f_new[11, k, j, i] = relax(f_mp0, w2, density, v - u, usq, omega, fy - fx)
    f_new[12, k, j, i] = relax(f_0p0, w1, density, v, usq, omega, fy)
    f_new[13, k, j, i] = relax(f_pp0, w2, density, u + v, usq, omega, fx + fy)
    f_new[14, k, j, i] = relax(f_0mn, w2, density, w - v, usq, omega, fz - fy)
    f_new[15, k, j, i] = relax(f_m0n, w2, density, w - u, usq, omega, fz - fx)
    f_new[16, k, j, i] = relax(f_00n, w1, density, w, usq, omega, fz)
    f_new[17, k, j, i] = relax(f_p0n, w2, density, u + w, usq, omega, fx + fz)
    f_new[18, k, j, i] = relax(f_0pn, w2, density, v + w, usq, omega, fy + fz)

def reference():
    """A loop over the cube of velocities without its corners."""
    for k in range(nz):
        for j in range(ny):
            for i in range(nx):
                if solid[k, j, i] == 1:
                    for q in range(19):
                        f_new[q, k, j, i] = f_old[18 - q, k, j, i]
                else:
                    for step in range(2):
                        q = 0
                        for cell in range(27):
                            cx = cell % 3 - 1
                            cy = cell // 3 % 3 - 1
                            cz = cell // 9 - 1
                            size = cx * cx + cy * cy + cz * cz
                            if size < 3:
                                zs = (k - cz + nz) % nz
                                ys = (j - cy + ny) % ny
                                xs = (i - cx + nx) % nx
                                f = f_old[q, zs, ys, xs]
                                c = np.array([float(cx), float(cy), float(cz)])
                                if step == 0:
                                    rho[k, j, i] = rho[k, j, i] + f
                                    velocity[k, j, i] = velocity[k, j, i] + f * c
                                else:
                                    weight = 1.0 / 3.0
                                    if size == 1:
                                        weight = 1.0 / 18.0
                                    if size == 2:
                                        weight = 1.0 / 36.0
                                    cu = np.dot(c, velocity[k, j, i])
                                    feq = 0.5 + 0.5 * (1.0 + 3.0 * cu) ** 2.0
                                    feq = feq - 1.5 * np.dot(velocity[k, j, i], velocity[k, j, i])
                                    push = 3.0 * weight * np.dot(c, force)
                                    f_new[q, k, j, i] = (1.0 - omega) * f + omega * weight * rho[k, j, i] * feq + push
                                q = q + 1
                        if step == 0:
                            velocity[k, j, i] = velocity[k, j, i] / rho[k, j, i]

# === hllc_flux
# source: HLLC approximate Riemann solver (Toro, Spruce and Speares 1994; Batten et al. 1997)
# task: step the compressible Euler equations in two dimensions with HLLC fluxes
# about: Fluxes are computed on the faces along both axes with extrapolated ghost cells; tangential momentum is carried passively.
# domain: physics
# weight: 11
# sizes: ny = 1 3 9 24; nx = 1 4 8 32; faces_x = 2 5 9 33; faces_y = 2 4 10 25
# - rho: float[ny, nx] uniform(0.5, 1.5); densities [kg/m^3]
# - mom_x: float[ny, nx] uniform(-0.4, 0.4); momentum densities along x
# - mom_y: float[ny, nx] uniform(-0.4, 0.4); momentum densities along y
# - energy: float[ny, nx] uniform(2.0, 3.0); total energy densities [J/m^3]
# - flux_x: vec4[ny, faces_x] zeros; fluxes through the faces along x: mass, momenta, energy
# - flux_y: vec4[faces_y, nx] zeros; fluxes through the faces along y: mass, momenta, energy
# - rho_new: float[ny, nx] zeros; densities after the step
# - mom_x_new: float[ny, nx] zeros; momentum densities along x after the step
# - mom_y_new: float[ny, nx] zeros; momentum densities along y after the step
# - energy_new: float[ny, nx] zeros; energy densities after the step
# - gamma: float = 1.4; ratio of specific heats
# - dt: float = 0.001; time step [s]
# - inv_dx: float = 20.0; inverse width of the cells [1/m]
@func
def pressure(r: float, mn: float, mt: float, e: float, heat_ratio: float) -> float:
    """Ideal gas, never below a floor."""
    kinetic = 0.5 * (mn * mn + mt * mt) / r
    return wp.max((heat_ratio - 1.0) * (e - kinetic), 1.0e-6)

@func
def star_state(r: float, un: float, ut: float, p: float, e: float, s: float, s_star: float) -> wp.vec4:
    """Conserved state between a wave and the contact, normal momentum second."""
    factor = r * (s - un) / (s - s_star)
    e_star = e / r + (s_star - un) * (s_star + p / (r * (s - un)))
    return wp.vec4(factor, factor * s_star, factor * ut, factor * e_star)

@func
def hllc(r_l: float, mn_l: float, mt_l: float, e_l: float, r_r: float, mn_r: float, mt_r: float, e_r: float, heat_ratio: float) -> wp.vec4:
    """Flux of mass, normal and tangential momentum, and energy through a face."""
    un_l = mn_l / r_l
    un_r = mn_r / r_r
    ut_l = mt_l / r_l
    ut_r = mt_r / r_r
    p_l = pressure(r_l, mn_l, mt_l, e_l, heat_ratio)
    p_r = pressure(r_r, mn_r, mt_r, e_r, heat_ratio)
    c_l = wp.sqrt(heat_ratio * p_l / r_l)
    c_r = wp.sqrt(heat_ratio * p_r / r_r)

    # outer waves and the contact between them
    s_l = wp.min(un_l - c_l, un_r - c_r)
    s_r = wp.max(un_l + c_l, un_r + c_r)
    num = p_r - p_l + mn_l * (s_l - un_l) - mn_r * (s_r - un_r)
    den = r_l * (s_l - un_l) - r_r * (s_r - un_r)
    s_star = num / den

    flux_l = wp.vec4(mn_l, mn_l * un_l + p_l, mt_l * un_l, (e_l + p_l) * un_l)
    flux_r = wp.vec4(mn_r, mn_r * un_r + p_r, mt_r * un_r, (e_r + p_r) * un_r)
    if s_l >= 0.0:
        return flux_l
    elif s_star >= 0.0:
        u_l = wp.vec4(r_l, mn_l, mt_l, e_l)
        u_star_l = star_state(r_l, un_l, ut_l, p_l, e_l, s_l, s_star)
        return flux_l + s_l * (u_star_l - u_l)
    elif s_r > 0.0:
        u_r = wp.vec4(r_r, mn_r, mt_r, e_r)
        u_star_r = star_state(r_r, un_r, ut_r, p_r, e_r, s_r, s_star)
        return flux_r + s_r * (u_star_r - u_r)
    return flux_r

@kernel[ny, faces_x] finite difference, boundary condition
def fluxes_along_x():
    """Flux between each cell and its left neighbour."""
    j, face = wp.tid()
    guard j < ny and face < faces_x
    left = wp.max(face - 1, 0)
    right = wp.min(face, nx - 1)
    r_l = rho[j, left]
    mx_l = mom_x[j, left]
    my_l = mom_y[j, left]
    e_l = energy[j, left]
    r_r = rho[j, right]
    mx_r = mom_x[j, right]
    my_r = mom_y[j, right]
    e_r = energy[j, right]
    flux_x[j, face] = hllc(r_l, mx_l, my_l, e_l, r_r, mx_r, my_r, e_r, gamma)

@kernel[faces_y, nx] finite difference, boundary condition
def fluxes_along_y():
    """Flux between each cell and the one below; normal and tangential momentum change places."""
    face, i = wp.tid()
    guard face < faces_y and i < nx
    below = wp.max(face - 1, 0)
    above = wp.min(face, ny - 1)
    r_l = rho[below, i]
    mx_l = mom_x[below, i]
    my_l = mom_y[below, i]
    e_l = energy[below, i]
    r_r = rho[above, i]
    mx_r = mom_x[above, i]
    my_r = mom_y[above, i]
    e_r = energy[above, i]
    f = hllc(r_l, my_l, mx_l, e_l, r_r, my_r, mx_r, e_r, gamma)
    flux_y[face, i] = wp.vec4(f[0], f[2], f[1], f[3])

@kernel[ny, nx] explicit update step, finite difference
def apply_fluxes():
    """Divergence of the fluxes of each cell."""
    grid j, i
    guard j < ny and i < nx
    west = flux_x[j, i]
    east = flux_x[j, i + 1]
    south = flux_y[j, i]
    north = flux_y[j + 1, i]
    net = (west - east + south - north) * (dt * inv_dx)
    rho_new[j, i] = rho[j, i] + net[0]
    mom_x_new[j, i] = mom_x[j, i] + net[1]
    mom_y_new[j, i] = mom_y[j, i] + net[2]
    energy_new[j, i] = energy[j, i] + net[3]

def reference():
    """Star fluxes by the pressure at the contact; what leaves one cell enters the next."""
    for j in range(ny):
        for i in range(nx):
            rho_new[j, i] = rho[j, i]
            mom_x_new[j, i] = mom_x[j, i]
            mom_y_new[j, i] = mom_y[j, i]
            energy_new[j, i] = energy[j, i]
    for axis in range(2):
        for a in range(ny + axis):
            for b in range(nx + 1 - axis):
                j = a
                i = b
                if axis == 0 and i == nx:
                    i = nx - 1
                if axis == 1 and j == ny:
                    j = ny - 1
                jm = a
                im = b
                if axis == 0 and b > 0:
                    im = b - 1
                if axis == 1 and a > 0:
                    jm = a - 1
                left = np.array([rho[jm, im], mom_x[jm, im], mom_y[jm, im], energy[jm, im]])
                right = np.array([rho[j, i], mom_x[j, i], mom_y[j, i], energy[j, i]])
                ul = left[1 + axis] / left[0]
                ur = right[1 + axis] / right[0]
                pl = (gamma - 1.0) * (left[3] - 0.5 * (left[1] ** 2.0 + left[2] ** 2.0) / left[0])
                pr = (gamma - 1.0) * (right[3] - 0.5 * (right[1] ** 2.0 + right[2] ** 2.0) / right[0])
                cl = math.sqrt(gamma * pl / left[0])
                cr = math.sqrt(gamma * pr / right[0])
                sl = ul - cl
                if ur - cr < sl:
                    sl = ur - cr
                sr = ul + cl
                if ur + cr > sr:
                    sr = ur + cr
                weight_l = left[0] * (sl - ul)
                weight_r = right[0] * (sr - ur)
                s = (pr - pl + weight_l * ul - weight_r * ur) / (weight_l - weight_r)
                u = ul
                p = pl
                state = left
                wave = sl
                if s < 0.0:
                    u = ur
                    p = pr
                    state = right
                    wave = sr
                push = np.array([0.0, 1.0 - float(axis), float(axis), u])
                flux = u * state + p * push
                if sl < 0.0 and sr > 0.0:
                    p = p + state[0] * (wave - u) * (s - u)
                    push = np.array([0.0, 1.0 - float(axis), float(axis), s])
                    flux = (s * (wave * state - flux) + wave * p * push) / (wave - s)
                step = dt * inv_dx
                if axis == 0:
                    flux_x[a, b] = flux
                    if b > 0:
                        rho_new[a, b - 1] = rho_new[a, b - 1] - step * flux[0]
                        mom_x_new[a, b - 1] = mom_x_new[a, b - 1] - step * flux[1]
                        mom_y_new[a, b - 1] = mom_y_new[a, b - 1] - step * flux[2]
                        energy_new[a, b - 1] = energy_new[a, b - 1] - step * flux[3]
                    if b < nx:
                        rho_new[a, b] = rho_new[a, b] + step * flux[0]
                        mom_x_new[a, b] = mom_x_new[a, b] + step * flux[1]
                        mom_y_new[a, b] = mom_y_new[a, b] + step * flux[2]
                        energy_new[a, b] = energy_new[a, b] + step * flux[3]
                else:
                    flux_y[a, b] = flux
                    if a > 0:
                        rho_new[a - 1, b] = rho_new[a - 1, b] - step * flux[0]
                        mom_x_new[a - 1, b] = mom_x_new[a - 1, b] - step * flux[1]
                        mom_y_new[a - 1, b] = mom_y_new[a - 1, b] - step * flux[2]
                        energy_new[a - 1, b] = energy_new[a - 1, b] - step * flux[3]
                    if a < ny:
                        rho_new[a, b] = rho_new[a, b] + step * flux[0]
                        mom_x_new[a, b] = mom_x_new[a, b] + step * flux[1]
                        mom_y_new[a, b] = mom_y_new[a, b] + step * flux[2]
                        energy_new[a, b] = energy_new[a, b] + step * flux[3]
