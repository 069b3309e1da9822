# === nbody_gravity
# source: direct summation with Plummer softening (Aarseth 2003)
# task: compute gravitational accelerations by direct summation
# domain: physics
# weight: 7
# sizes: num_bodies = 1 7 71 128
# - positions: vec3[num_bodies] uniform(-1.0, 1.0); positions [m]
# - masses: float[num_bodies] uniform(0.1, 1.0); masses [kg]
# - accel: vec3[num_bodies] zeros; accelerations [m/s^2]
# - potential: float[1] zeros; potential energy [J]
# - softening: float = 0.05; softening length [m]
@kernel[num_bodies] pairwise n body
def gravity_accel():
    """Sum over all other bodies."""
    i = wp.tid()
    guard i < num_bodies
    #? own
    xi = positions[i]
    #|
    # position of this body
    xi = positions[i]
    #.
    a = wp.vec3()
    for j in range(num_bodies):
        #? self
        if j != i:
            d = positions[j] - xi
            r2 = wp.dot(d, d) + softening * softening
            a += d * (masses[j] / (r2 * wp.sqrt(r2)))
        #|
        # the own term is zero, softening keeps it finite
        d = positions[j] - xi
        r2 = wp.dot(d, d) + softening * softening
        inv_r = 1.0 / wp.sqrt(r2)
        a += d * (masses[j] * inv_r * inv_r * inv_r)
        #.
    accel[i] = a

@kernel[num_bodies] pairwise n body
def potential_energy():
    """Each pair is counted by its smaller number."""
    i = wp.tid()
    guard i < num_bodies
    e = float(0.0)
    for j in range(i + 1, num_bodies):
        d = positions[j] - positions[i]
        e -= masses[i] * masses[j] / wp.sqrt(wp.dot(d, d) + softening * softening)
    wp.atomic_add(potential, 0, e)

def reference():
    for i in range(num_bodies):
        for j in range(num_bodies):
            d = positions[j] - positions[i]
            r = math.sqrt(np.dot(d, d) + softening * softening)
            accel[i] = accel[i] + d * (masses[j] / r**3.0)
            if j > i:
                potential[0] = potential[0] - masses[i] * masses[j] / r

# === lennard_jones
# source: Lennard-Jones potential with cutoff and minimum image (Allen and Tildesley 1987)
# task: compute Lennard-Jones forces in a periodic box from a neighbour list
# domain: physics
# weight: 8
# split: test
# sizes: num_atoms = 2 7 71 200; num_pairs = 2 20 200 2000
# - first: int[num_atoms + 1] rows(num_pairs); first neighbour of each atom
# - neighbors: int[num_pairs] index(num_atoms); neighbours, atom by atom
# - positions: vec3[num_atoms] uniform(0.0, 4.0); positions in the box
# - forces: vec3[num_atoms] zeros; forces
# - energy: float[1] zeros; half of the pair energies
# - box: float = 4.0; edge of the periodic box
# - cutoff: float = 1.9; pairs beyond this distance do not interact
# - core: float = 0.8; pairs below this distance are capped
@func
def wrap(d: float, box: float) -> float:
    """Nearest image of a distance along one axis."""
    return d - box * wp.floor(d / box + 0.5)

@kernel[num_atoms] distance threshold, csr row loop, gather
def pair_forces():
    """Sum 24 (2/r^12 - 1/r^6) / r^2 over the neighbours of an atom."""
    i = wp.tid()
    guard i < num_atoms
    let xi = positions[i]
    f = wp.vec3()
    e = float(0.0)
    for k in range(first[i], first[i + 1]):
        j = neighbors[k]
        if j == i:
            continue
        d = xi - positions[j]
        d = wp.vec3(wrap(d[0], box), wrap(d[1], box), wrap(d[2], box))
        r = wp.length(d)
        #? range
        if r < cutoff:
            r = wp.max(r, core)
            s6 = 1.0 / (r * r * r * r * r * r)
            f += d * (24.0 * (2.0 * s6 * s6 - s6) / (r * r))
            e += 2.0 * (s6 * s6 - s6)
        #|
        # outside of the cutoff
        if r >= cutoff:
            continue
        r2 = wp.max(r, core) * wp.max(r, core)
        s6 = 1.0 / (r2 * r2 * r2)
        f += d * (24.0 * (2.0 * s6 * s6 - s6) / r2)
        e += 2.0 * (s6 * s6 - s6)
        #.
    forces[i] = f
    wp.atomic_add(energy, 0, e)

def reference():
    for i in range(num_atoms):
        for k in range(first[i], first[i + 1]):
            j = neighbors[k]
            d = positions[i] - positions[j]
            dx = d[0] - box * math.floor(d[0] / box + 0.5)
            dy = d[1] - box * math.floor(d[1] / box + 0.5)
            dz = d[2] - box * math.floor(d[2] / box + 0.5)
            d = np.array([dx, dy, dz])
            r = np.linalg.norm(d)
            if j != i and r < cutoff:
                r = max(r, core)
                forces[i] = forces[i] + d * (48.0 * r**-14.0 - 24.0 * r**-8.0)
                energy[0] = energy[0] + 2.0 * (r**-12.0 - r**-6.0)

# === sph_density
# source: smoothed particle hydrodynamics with the poly6 kernel (Mueller, Charypar and Gross 2003)
# task: estimate particle densities and pressures with smoothed particle hydrodynamics
# domain: physics
# weight: 7
# sizes: num_particles = 1 7 71 128
# - positions: vec3[num_particles] uniform(0.0, 1.0); particle positions [m]
# - density: float[num_particles] zeros; densities [kg/m^3]
# - pressure: float[num_particles] zeros; pressures [Pa]
# - mass: float = 0.02; mass of a particle [kg]
# - smoothing: float = 0.4; radius of the smoothing kernel [m]
# - rest_density: float = 0.5; density without pressure [kg/m^3]
# - sound: float = 10.0; squared speed of sound [m^2/s^2]
@func
def poly6(r2: float, h: float) -> float:
    """Poly6 smoothing kernel, 315 / (64 pi h^9) (h^2 - r^2)^3."""
    h2 = h * h
    diff = h2 - r2
    return 315.0 / (64.0 * 3.14159265 * h2 * h2 * h2 * h2 * h) * diff * diff * diff

@kernel[num_particles] kernel window gather, distance threshold, pairwise n body
def compute_density():
    """Sum the kernel over all particles within the smoothing radius."""
    i = wp.tid()
    guard i < num_particles
    let xi = positions[i]
    rho = float(0.0)
    for j in range(num_particles):
        d = xi - positions[j]
        r2 = wp.dot(d, d)
        if r2 < smoothing * smoothing:
            {{rho += mass * poly6(r2, smoothing) || rho = rho + poly6(r2, smoothing) * mass}}
    density[i] = rho

@kernel[num_particles] elementwise map
def equation_of_state():
    """Pressure from density, never negative."""
    i = wp.tid()
    guard i < num_particles
    let rho = density[i]
    pressure[i] = wp.max(sound * (rho - rest_density), 0.0)

def reference():
    for i in range(num_particles):
        for j in range(num_particles):
            d = positions[j] - positions[i]
            left = smoothing**2.0 - np.dot(d, d)
            if left > 0.0:
                density[i] = density[i] + mass * 315.0 * left**3.0 / (64.0 * math.pi * smoothing**9.0)
        if density[i] > rest_density:
            pressure[i] = sound * (density[i] - rest_density)

# === particle_grid_splat
# source: particle-in-cell transfer with bilinear weights (Harlow 1964)
# task: splat particle masses onto a grid and interpolate the density back
# domain: physics
# weight: 8
# sizes: num_particles = 1 9 75 500; nx = 6 7 9 16; ny = 6 8 7 12
# - positions: vec2[num_particles] uniform(0.0, 4.9); particle positions in cells
# - masses: float[num_particles] uniform(0.5, 1.5); particle masses
# - grid_mass: float[ny, nx] zeros; mass of each node
# - sampled: float[num_particles] zeros; grid mass at the particles
@kernel[num_particles] grid splat, scatter add
def splat_mass():
    """Distribute the mass of a particle among the four nodes around it."""
    p = wp.tid()
    guard p < num_particles
    let x = positions[p]
    i = int(wp.floor(x[1]))
    j = int(wp.floor(x[0]))
    fy = x[1] - float(i)
    fx = x[0] - float(j)
    let m = masses[p]

    # bilinear weights
    #? corners
    wp.atomic_add(grid_mass, i, j, m * (1.0 - fy) * (1.0 - fx))
    wp.atomic_add(grid_mass, i, j + 1, m * (1.0 - fy) * fx)
    wp.atomic_add(grid_mass, i + 1, j, m * fy * (1.0 - fx))
    wp.atomic_add(grid_mass, i + 1, j + 1, m * fy * fx)
    #|
    for di in range(2):
        for dj in range(2):
            wy = wp.where(di == 0, 1.0 - fy, fy)
            wx = wp.where(dj == 0, 1.0 - fx, fx)
            wp.atomic_add(grid_mass, i + di, j + dj, m * wy * wx)
    #.

@kernel[num_particles] multilinear interpolation, gather
def sample_mass():
    """Bilinear interpolation of the grid at each particle."""
    p = wp.tid()
    guard p < num_particles
    let x = positions[p]
    i = int(wp.floor(x[1]))
    j = int(wp.floor(x[0]))
    fy = x[1] - float(i)
    fx = x[0] - float(j)
    low = wp.lerp(grid_mass[i, j], grid_mass[i, j + 1], fx)
    high = wp.lerp(grid_mass[i + 1, j], grid_mass[i + 1, j + 1], fx)
    sampled[p] = wp.lerp(low, high, fy)

def reference():
    for p in range(num_particles):
        for i in range(ny):
            for j in range(nx):
                wy = max(0.0, 1.0 - abs(positions[p][1] - float(i)))
                wx = max(0.0, 1.0 - abs(positions[p][0] - float(j)))
                grid_mass[i, j] = grid_mass[i, j] + masses[p] * wy * wx
    for p in range(num_particles):
        for i in range(ny):
            for j in range(nx):
                wy = max(0.0, 1.0 - abs(positions[p][1] - float(i)))
                wx = max(0.0, 1.0 - abs(positions[p][0] - float(j)))
                sampled[p] = sampled[p] + wy * wx * grid_mass[i, j]

# === cell_list
# source: counting sort of particles into cells (Hockney and Eastwood 1988)
# task: sort particles into grid cells by counting, scanning and scattering
# domain: physics
# weight: 9
# sizes: num_particles = 1 9 75 600; num_cells = 4 6 16 64
# - coords: float[num_particles] uniform(0.0, 3.9); particle coordinates in cells
# - cell_of: int[num_particles] zeros; cell of each particle
# - counts: int[num_cells] zeros; particles in each cell
# - starts: int[num_cells + 1] zeros; first slot of each cell
# - filled: int[num_cells] zeros; slots of each cell that are taken
# - sorted_ids: int[num_particles] zeros unordered; particles, cell by cell
# run: bin_particles, scan_cells, fill_cells
@kernel[num_particles] histogram count
def bin_particles():
    """Find the cell of each particle and count it."""
    p = wp.tid()
    guard p < num_particles
    {{cell = wp.clamp(int(coords[p]), 0, num_cells - 1) || cell = wp.min(int(coords[p]), num_cells - 1)}}
    cell_of[p] = cell
    wp.atomic_add(counts, cell, 1)

@kernel[1] prefix scan
def scan_cells():
    """Exclusive scan of the counts by one thread."""
    s = int(0)
    for c in range(num_cells):
        starts[c] = s
        s += counts[c]
    starts[num_cells] = s

@kernel[num_particles] scatter, gather
def fill_cells():
    """Take the next free slot of the cell."""
    p = wp.tid()
    guard p < num_particles
    let cell = cell_of[p]
    slot = starts[cell] + wp.atomic_add(filled, cell, 1)
    sorted_ids[slot] = p

def reference():
    for p in range(num_particles):
        cell_of[p] = int(coords[p])
        counts[cell_of[p]] = counts[cell_of[p]] + 1
        filled[cell_of[p]] = counts[cell_of[p]]
        sorted_ids[p] = p
    for c in range(num_cells):
        starts[c + 1] = starts[c] + counts[c]

# === reflect_walls
# source: specular reflection at the walls of a box
# task: move particles and reflect them at the walls of a box
# domain: physics
# weight: 7
# sizes: num_particles = 1 7 71 500
# - positions: vec3[num_particles] uniform(-1.0, 1.0); particle positions [m], updated in place
# - velocities: vec3[num_particles] uniform(-4.0, 4.0); particle velocities [m/s], updated in place
# - half_width: float = 1.0; half the edge of the box [m]
# - restitution: float = 0.9; share of the normal velocity that is kept
# - dt: float = 0.1; time step [s]
# - hits: int[1] zeros; reflections
@kernel[num_particles] boundary condition
def move_and_reflect():
    """Drift, then mirror coordinates that left the box."""
    i = wp.tid()
    guard i < num_particles
    v = velocities[i]
    x = positions[i] + v * dt
    for axis in range(3):
        #? side
        if x[axis] > half_width:
            x[axis] = 2.0 * half_width - x[axis]
            v[axis] = -restitution * v[axis]
            wp.atomic_add(hits, 0, 1)
        elif x[axis] < -half_width:
            x[axis] = -2.0 * half_width - x[axis]
            v[axis] = -restitution * v[axis]
            wp.atomic_add(hits, 0, 1)
        #|
        # both sides at once
        over = wp.abs(x[axis]) - half_width
        if over > 0.0:
            x[axis] = wp.sign(x[axis]) * (half_width - over)
            v[axis] = -restitution * v[axis]
            wp.atomic_add(hits, 0, 1)
        #.
    positions[i] = x
    velocities[i] = v

def reference():
    for i in range(num_particles):
        positions[i] = positions[i] + dt * velocities[i]
        for axis in range(3):
            if abs(positions[i][axis]) > half_width:
                hits[0] = hits[0] + 1
                velocities[i][axis] = -restitution * velocities[i][axis]
                if positions[i][axis] > 0.0:
                    positions[i][axis] = 2.0 * half_width - positions[i][axis]
                else:
                    positions[i][axis] = -2.0 * half_width - positions[i][axis]
