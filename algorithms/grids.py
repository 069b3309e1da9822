# === heat_explicit
# source: forward Euler, five-point Laplacian (LeVeque 2007, ch. 9)
# task: advance the heat equation on a plate by one explicit step
# domain: physics
# weight: 8
# sizes: ny = 3 5 9 32; nx = 3 4 11 48
# - u: float[ny, nx] uniform(0.0, 1.0); temperature [K]
# - u_next: float[ny, nx] zeros; temperature after the step [K]
# - source: float[ny, nx] uniform(0.0, 0.2); heat source [K/s]
# - kappa: float = 0.2; diffusivity times dt / dx^2
# - dt: float = 0.1; time step [s]
@kernel[ny, nx] stencil, finite difference
def heat_step():
    """Five-point stencil; the border keeps its temperature."""
    grid i, j
    guard i < ny and j < nx
    #? border
    # fixed temperature on the border
    if i == 0 or j == 0 or i == ny - 1 or j == nx - 1:
        u_next[i, j] = u[i, j]
        return
    #|
    interior = i > 0 and j > 0 and i < ny - 1 and j < nx - 1
    if not interior:
        u_next[i, j] = u[i, j]
        return
    #.

    #? lap
    lap = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
    u_next[i, j] = u[i, j] + kappa * lap + dt * source[i, j]
    #|
    let c = u[i, j]
    d2x = u[i, j - 1] - 2.0 * c + u[i, j + 1]
    d2y = u[i - 1, j] - 2.0 * c + u[i + 1, j]
    u_next[i, j] = c + kappa * (d2x + d2y) + dt * source[i, j]
    #.

def reference():
    for i in range(ny):
        for j in range(nx):
            u_next[i, j] = u[i, j]
    for i in range(1, ny - 1):
        for j in range(1, nx - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            u_next[i, j] = (1.0 - 4.0 * kappa) * u[i, j] + kappa * around + dt * source[i, j]

# === wave_leapfrog
# source: leapfrog scheme for the wave equation (Strikwerda 2004, ch. 8), periodic
# task: advance the two-dimensional wave equation with periodic borders
# domain: physics
# weight: 9
# sizes: ny = 3 4 8 24; nx = 3 5 9 32
# - u_prev: float[ny, nx] uniform(-1.0, 1.0); displacement one step ago, overwritten with the next one
# - u: float[ny, nx] uniform(-1.0, 1.0); displacement now
# - courant_sq: float = 0.25; squared Courant number
# - damping: float = 0.01; damping per step
@kernel[ny, nx] finite difference, index unflatten
def wave_step():
    """Leapfrog step with periodic neighbours."""
    grid i, j
    guard i < ny and j < nx
    # periodic neighbours
    #? wrap
    up = (i + 1) % ny
    down = (i + ny - 1) % ny
    right = (j + 1) % nx
    left = (j + nx - 1) % nx
    #|
    up = wp.where(i == ny - 1, 0, i + 1)
    down = wp.where(i == 0, ny - 1, i - 1)
    right = wp.where(j == nx - 1, 0, j + 1)
    left = wp.where(j == 0, nx - 1, j - 1)
    #.
    lap = u[up, j] + u[down, j] + u[i, left] + u[i, right] - 4.0 * u[i, j]
    #? update
    u_prev[i, j] = (2.0 - damping) * u[i, j] - (1.0 - damping) * u_prev[i, j] + courant_sq * lap
    #|
    velocity = (1.0 - damping) * (u[i, j] - u_prev[i, j])
    u_prev[i, j] = u[i, j] + velocity + courant_sq * lap
    #.

def reference():
    for i in range(ny):
        for j in range(nx):
            lap = u[(i + 1) % ny, j] + u[(i + ny - 1) % ny, j] - 4.0 * u[i, j]
            lap = lap + u[i, (j + 1) % nx] + u[i, (j + nx - 1) % nx]
            u_prev[i, j] = u[i, j] + (1.0 - damping) * (u[i, j] - u_prev[i, j]) + courant_sq * lap

# === advection_upwind
# source: first order upwind scheme (Courant, Isaacson and Rees 1952)
# task: transport a tracer along a line with the upwind scheme
# domain: physics
# weight: 7
# sizes: n = 2 7 71 512
# - c: float[n] uniform(0.0, 1.0); concentration
# - velocity: float[n] uniform(-1.0, 1.0); velocity at the cell faces
# - flux: float[n + 1] zeros; flux through the left face of each cell
# - c_next: float[n] zeros; concentration after the step
# - cfl: float = 0.5; time step over cell width
@kernel[n] finite difference, boundary condition
def upwind_flux():
    """Flux through the left face, from the cell that the flow comes from."""
    i = wp.tid()
    guard i < n
    # no flow through the first face
    if i == 0:
        flux[0] = 0.0
        return
    let v = velocity[i]
    #? pick
    flux[i] = wp.max(v, 0.0) * c[i - 1] + wp.min(v, 0.0) * c[i]
    #|
    if v > 0.0:
        flux[i] = v * c[i - 1]
    else:
        flux[i] = v * c[i]
    #.

@kernel[n] finite difference
def apply_flux():
    """Difference of the fluxes through both faces."""
    i = wp.tid()
    guard i < n
    c_next[i] = c[i] - cfl * (flux[i + 1] - flux[i])

def reference():
    for i in range(n):
        c_next[i] = c_next[i] + c[i]
        if i > 0:
            f = velocity[i] * c[i]
            if velocity[i] > 0.0:
                f = velocity[i] * c[i - 1]
            flux[i] = f
            c_next[i] = c_next[i] + cfl * f
            c_next[i - 1] = c_next[i - 1] - cfl * f

# === pressure_poisson
# source: Jacobi relaxation of the pressure Poisson equation (Chorin 1968), ghost copies at walls
# task: compute the divergence of a staggered velocity field and relax the pressure
# domain: physics
# weight: 4
# sizes: ny = 2 4 8 24; nx = 2 5 9 32; faces_x = 3 6 10 33; faces_y = 3 5 9 25
# - vel_x: float[ny, faces_x] uniform(-1.0, 1.0); velocity through vertical faces
# - vel_y: float[faces_y, nx] uniform(-1.0, 1.0); velocity through horizontal faces
# - solid: int[ny, nx] uniform(0, 2); cells that are solid
# - div: float[ny, nx] zeros; divergence
# - p: float[ny, nx] uniform(-1.0, 1.0); pressure
# - p_next: float[ny, nx] zeros; pressure after one sweep
@kernel[ny, nx] finite difference, mask or active filter
def divergence():
    """Net outflow of each fluid cell."""
    grid i, j
    guard i < ny and j < nx
    require solid[i, j] == 0
    div[i, j] = vel_x[i, j + 1] - vel_x[i, j] + vel_y[i + 1, j] - vel_y[i, j]

@kernel[ny, nx] stencil, mask or active filter
def pressure_sweep():
    """Jacobi sweep; walls mirror the pressure of the cell."""
    grid i, j
    guard i < ny and j < nx
    let c = p[i, j]
    s = float(0.0)
    #? walls
    # left, right, down, up
    if j > 0:
        s += p[i, j - 1]
    else:
        s += c
    if j < nx - 1:
        s += p[i, j + 1]
    else:
        s += c
    if i > 0:
        s += p[i - 1, j]
    else:
        s += c
    if i < ny - 1:
        s += p[i + 1, j]
    else:
        s += c
    #|
    # clamped indices mirror the cell at the wall
    s += p[i, wp.max(j - 1, 0)] + p[i, wp.min(j + 1, nx - 1)]
    s += p[wp.max(i - 1, 0), j] + p[wp.min(i + 1, ny - 1), j]
    #.
    p_next[i, j] = (s - div[i, j]) * 0.25

def reference():
    for i in range(ny):
        for j in range(nx):
            if solid[i, j] == 0:
                div[i, j] = vel_x[i, j + 1] + vel_y[i + 1, j] - vel_x[i, j] - vel_y[i, j]
            s = p[max(i - 1, 0), j] + p[min(i + 1, ny - 1), j]
            s = s + p[i, max(j - 1, 0)] + p[i, min(j + 1, nx - 1)]
            p_next[i, j] = 0.25 * (s - div[i, j])

# === semi_lagrangian
# source: semi-Lagrangian advection (Stam 1999)
# task: advect a density field backwards along a velocity field
# domain: graphics
# weight: 6
# split: test
# sizes: ny = 2 4 8 24; nx = 2 5 9 32
# - velocity: vec2[ny, nx] uniform(-1.5, 1.5); velocity in cells per unit of time
# - dens: float[ny, nx] uniform(0.0, 1.0); density
# - advected: float[ny, nx] zeros; density after the step
# - dt: float = 0.5; time step
@func
def sample_bilinear(f: wp.array2d(dtype=float), y: float, x: float, ny: int, nx: int) -> float:
    """Bilinear interpolation with clamped coordinates."""
    y = wp.clamp(y, 0.0, float(ny - 1))
    x = wp.clamp(x, 0.0, float(nx - 1))
    i = wp.min(int(y), ny - 2)
    j = wp.min(int(x), nx - 2)
    fy = y - float(i)
    fx = x - float(j)
    low = f[i, j] * (1.0 - fx) + f[i, j + 1] * fx
    high = f[i + 1, j] * (1.0 - fx) + f[i + 1, j + 1] * fx
    return low * (1.0 - fy) + high * fy

@kernel[ny, nx] multilinear interpolation, gather
def advect():
    """Fetch the density from where the flow comes from."""
    grid i, j
    guard i < ny and j < nx
    let v = velocity[i, j]
    # trace back
    y = float(i) - dt * v[1]
    x = float(j) - dt * v[0]
    advected[i, j] = sample_bilinear(dens, y, x, ny, nx)

def reference():
    for i in range(ny):
        for j in range(nx):
            y = min(max(float(i) - dt * velocity[i, j][1], 0.0), float(ny - 1))
            x = min(max(float(j) - dt * velocity[i, j][0], 0.0), float(nx - 1))
            s = 0.0
            for a in range(ny):
                for b in range(nx):
                    wy = max(0.0, 1.0 - abs(y - float(a)))
                    wx = max(0.0, 1.0 - abs(x - float(b)))
                    s = s + wy * wx * dens[a, b]
            advected[i, j] = s

# === volume_gradient
# source: central differences on a regular volume
# task: compute the gradient of a volume by central differences and the largest slope
# domain: physics
# weight: 11
# sizes: nz = 3 4 5 12; ny = 3 4 6 12; nx = 3 5 7 16
# - field: float[nz, ny, nx] uniform(-1.0, 1.0); scalar field
# - grad: vec3[nz, ny, nx] zeros; gradient
# - steepest: float[1] zeros; largest length of the gradient
# - inv_h: float = 2.0; inverse grid spacing [1/m]
@kernel[nz, ny, nx] volume grid map, finite difference, index unflatten, atomic min max
def central_gradient():
    """Central differences inside, nothing on the border."""
    grid k, i, j
    guard k < nz and i < ny and j < nx
    # the border has no neighbours on both sides
    require k > 0 and k < nz - 1 and i > 0 and i < ny - 1 and j > 0 and j < nx - 1
    gx = (field[k, i, j + 1] - field[k, i, j - 1]) * (0.5 * inv_h)
    gy = (field[k, i + 1, j] - field[k, i - 1, j]) * (0.5 * inv_h)
    gz = (field[k + 1, i, j] - field[k - 1, i, j]) * (0.5 * inv_h)
    g = wp.vec3(gx, gy, gz)
    grad[k, i, j] = g
    wp.atomic_max(steepest, 0, wp.length(g))

def reference():
    for k in range(1, nz - 1):
        for i in range(1, ny - 1):
            for j in range(1, nx - 1):
                dx = field[k, i, j + 1] - field[k, i, j - 1]
                dy = field[k, i + 1, j] - field[k, i - 1, j]
                dz = field[k + 1, i, j] - field[k - 1, i, j]
                grad[k, i, j] = np.array([dx, dy, dz]) * inv_h / 2.0
                steepest[0] = max(steepest[0], np.linalg.norm(grad[k, i, j]))

# === lattice_streaming
# source: lattice Boltzmann D1Q3 collide and stream (Bhatnagar, Gross and Krook 1954)
# task: collide and stream a one-dimensional lattice Boltzmann model
# domain: physics
# weight: 9
# sizes: n = 2 7 71 400; q = 3 3 3 3
# - f: float[n, q] uniform(0.1, 1.0); distributions: at rest, to the right, to the left
# - f_next: float[n, q] zeros; distributions after streaming
# - rho: float[n] zeros; density
# - omega: float = 1.2; relaxation rate
# - wall: int[n] uniform(0, 2); cells that are solid
@kernel[n] gather
def lattice_density():
    """Density of each cell."""
    i = wp.tid()
    guard i < n
    s = float(0.0)
    for k in range(q):
        s += f[i, k]
    rho[i] = s

@kernel[n] scatter, index unflatten
def collide_and_stream():
    """Relax towards equilibrium and move to the neighbours; solid cells bounce back."""
    i = wp.tid()
    guard i < n
    # equilibrium weights 2/3, 1/6, 1/6
    let d = rho[i]
    rest = f[i, 0] + omega * (d * 2.0 / 3.0 - f[i, 0])
    right = f[i, 1] + omega * (d / 6.0 - f[i, 1])
    left = f[i, 2] + omega * (d / 6.0 - f[i, 2])
    if wall[i] == 1:
        # bounce back
        right = f[i, 2]
        left = f[i, 1]
    f_next[i, 0] = rest
    #? move
    f_next[(i + 1) % n, 1] = right
    f_next[(i + n - 1) % n, 2] = left
    #|
    east = (i + 1) % n
    west = (i + n - 1) % n
    f_next[east, 1] = right
    f_next[west, 2] = left
    #.

def reference():
    for i in range(n):
        w = (i + n - 1) % n
        e = (i + 1) % n
        rho[i] = f[i, 0] + f[i, 1] + f[i, 2]
        f_next[i, 0] = (1.0 - omega) * f[i, 0] + omega * rho[i] * 2.0 / 3.0
        if wall[w] == 1:
            f_next[i, 1] = f[w, 2]
        else:
            f_next[i, 1] = (1.0 - omega) * f[w, 1] + omega * (f[w, 0] + f[w, 1] + f[w, 2]) / 6.0
        if wall[e] == 1:
            f_next[i, 2] = f[e, 1]
        else:
            f_next[i, 2] = (1.0 - omega) * f[e, 2] + omega * (f[e, 0] + f[e, 1] + f[e, 2]) / 6.0

# === game_of_life
# source: Conway's Game of Life (Gardner 1970)
# task: advance the Game of Life by one generation and count births
# domain: generic
# weight: 7
# split: test
# sizes: ny = 3 4 8 24; nx = 3 5 9 32
# - cells: int[ny, nx] uniform(0, 2); generation of cells: 1 for live ones
# - cells_next: int[ny, nx] zeros; generation of cells after the step
# - births: int[1] zeros; cells that were born
@kernel[ny, nx] stencil, index unflatten
def life_step():
    """Count the live neighbours on a torus."""
    grid i, j
    guard i < ny and j < nx
    alive = int(0)
    for di in range(-1, 2):
        for dj in range(-1, 2):
            if di != 0 or dj != 0:
                alive += cells[(i + di + ny) % ny, (j + dj + nx) % nx]
    let old = cells[i, j]
    #? rule
    new = int(0)
    if alive == 3 or (alive == 2 and old == 1):
        new = 1
    #|
    # survival with two or three, birth with three
    new = wp.where(alive == 3, 1, wp.where(alive == 2, old, 0))
    #.
    cells_next[i, j] = new
    if new == 1 and old == 0:
        wp.atomic_add(births, 0, 1)

def reference():
    for i in range(ny):
        for j in range(nx):
            alive = 0 - cells[i, j]
            for a in range(3):
                for b in range(3):
                    alive = alive + cells[(i + a + ny - 1) % ny, (j + b + nx - 1) % nx]
            if alive == 3:
                cells_next[i, j] = 1
            if alive == 2:
                cells_next[i, j] = cells[i, j]
            if alive == 3 and cells[i, j] == 0:
                births[0] = births[0] + 1
