# === nonbonded_switch
# source: Lennard-Jones and damped Coulomb forces with a switching function (Brooks et al. 1983; Allen and Tildesley 2017)
# task: compute van der Waals and Coulomb forces from neighbour matrices with periodic images and a switching function
# about: Several systems share the arrays; each atom knows its system. The cell is given by its three lengths.
# domain: physics
# weight: 12
# sizes: num_atoms = 1 7 71 200; max_neighbors = 2 4 6 8; num_systems = 1 2 3 4
# - positions: vec3[num_atoms] uniform(-1.2, 1.2); positions [nm]
# - charges: float[num_atoms] uniform(-1.0, 1.0); charges [e]
# - atom_type: int[num_atoms] uniform(0, 3); types
# - batch_idx: int[num_atoms] index(num_systems); system of each atom
# - cell_size: vec3[num_systems] uniform(2.0, 3.0); lengths of the periodic cells [nm]
# - type_sigma: float[3] uniform(0.3, 0.5); diameters by type [nm]
# - type_epsilon: float[3] uniform(0.2, 1.0); well depths by type [kJ/mol]
# - neighbor_matrix: int[num_atoms, max_neighbors] index(num_atoms); neighbours of each atom
# - num_neighbors: int[num_atoms] uniform(1, 3); neighbours of each atom that count
# - forces: vec3[num_atoms] zeros; forces [kJ/(mol nm)]
# - energies: float[num_systems] zeros; energies of the systems [kJ/mol]
# - virial: mat33[num_atoms] zeros; virials of the atoms [kJ/mol]
# - cutoff: float = 1.0; cutoff radius [nm]
# - switch_on: float = 0.7; where the switching begins [nm]
# - coulomb: float = 1.0; Coulomb constant
# - min_distance: float = 0.25; distances below this count as this [nm]
@func
def minimum_image(d: wp.vec3, box: wp.vec3) -> wp.vec3:
    """The shortest of all periodic images."""
    sx = d[0] - box[0] * wp.floor(d[0] / box[0] + 0.5)
    sy = d[1] - box[1] * wp.floor(d[1] / box[1] + 0.5)
    sz = d[2] - box[2] * wp.floor(d[2] / box[2] + 0.5)
    return wp.vec3(sx, sy, sz)

@func
def switching(r: float, r_on: float, r_off: float) -> float:
    """One below r_on, zero above r_off, with smooth first and second derivatives."""
    if r <= r_on:
        return 1.0
    if r >= r_off:
        return 0.0
    x = (r - r_on) / (r_off - r_on)
    return 1.0 - x * x * x * (10.0 + x * (6.0 * x - 15.0))

@func
def switching_slope(r: float, r_on: float, r_off: float) -> float:
    """Derivative of the switching function."""
    if r <= r_on or r >= r_off:
        return 0.0
    width = r_off - r_on
    x = (r - r_on) / width
    return -30.0 * x * x * (1.0 - x) * (1.0 - x) / width

@kernel[num_atoms] csr row loop, gather, pairwise n body
def nonbonded_forces():
    """Sum over the neighbours of one atom."""
    i = wp.tid()
    guard i < num_atoms
    count = num_neighbors[i]
    if count == 0:
        return
    system = batch_idx[i]
    box = cell_size[system]
    xi = positions[i]
    qi = charges[i]
    type_i = atom_type[i]
    sigma_i = type_sigma[type_i]
    eps_i = type_epsilon[type_i]
    f = wp.vec3(0.0, 0.0, 0.0)
    e = float(0.0)
    vir = wp.mat33()

    for n in range(count):
        j = neighbor_matrix[i, n]
        if j == i:
            continue
        d = minimum_image(positions[j] - xi, box)
        r = wp.length(d)
        if r >= cutoff or r < 1.0e-6:
            continue
        unit = d / r
        r = wp.max(r, min_distance)
        inv_r = 1.0 / r

        # Lorentz-Berthelot rules
        type_j = atom_type[j]
        sigma = 0.5 * (sigma_i + type_sigma[type_j])
        eps = wp.sqrt(eps_i * type_epsilon[type_j])
        s2 = sigma * sigma * inv_r * inv_r
        s6 = s2 * s2 * s2
        e_lj = 4.0 * eps * s6 * (s6 - 1.0)
        de_lj = -24.0 * eps * s6 * (2.0 * s6 - 1.0) * inv_r

        e_q = coulomb * qi * charges[j] * inv_r
        de_q = -e_q * inv_r

        # the switch multiplies the energy, so it adds a force of its own
        sw = switching(r, switch_on, cutoff)
        dsw = switching_slope(r, switch_on, cutoff)
        de = (de_lj + de_q) * sw + (e_lj + e_q) * dsw
        fij = unit * de
        f += fij
        e += 0.5 * (e_lj + e_q) * sw
        vir += wp.outer(d, fij) * 0.5

    forces[i] = f
    virial[i] = vir
    wp.atomic_add(energies, system, e)

def reference():
    """Powers of the distance, and the switch as a polynomial of (1 - x)."""
    for i in range(num_atoms):
        for n in range(num_neighbors[i]):
            j = neighbor_matrix[i, n]
            if j != i:
                d = positions[j] - positions[i]
                for k in range(3):
                    size = cell_size[batch_idx[i]][k]
                    d[k] = d[k] - size * math.floor(d[k] / size + 0.5)
                far = np.linalg.norm(d)
                if far < cutoff and far >= 1.0e-6:
                    r = far
                    if r < min_distance:
                        r = min_distance
                    sigma = 0.5 * (type_sigma[atom_type[i]] + type_sigma[atom_type[j]])
                    eps = math.sqrt(type_epsilon[atom_type[i]] * type_epsilon[atom_type[j]])
                    s6 = (sigma / r) ** 6.0
                    qq = coulomb * charges[i] * charges[j]
                    e = 4.0 * eps * (s6**2.0 - s6) + qq / r
                    de = -4.0 * eps * (12.0 * s6**2.0 - 6.0 * s6) / r - qq / r**2.0
                    if r > switch_on:
                        y = (cutoff - r) / (cutoff - switch_on)
                        slope = 30.0 * y**2.0 - 60.0 * y**3.0 + 30.0 * y**4.0
                        s = 10.0 * y**3.0 - 15.0 * y**4.0 + 6.0 * y**5.0
                        de = de * s - e * slope / (cutoff - switch_on)
                        e = e * s
                    f = de / far * d
                    forces[i] = forces[i] + f
                    virial[i] = virial[i] + 0.5 * np.outer(d, f)
                    energies[batch_idx[i]] = energies[batch_idx[i]] + 0.5 * e

# === ewald_real_space
# source: real-space part of the Ewald sum with erfc by a rational approximation (Abramowitz and Stegun 7.1.26)
# task: compute the real-space Ewald energies, forces and charge gradients over compressed neighbour lists
# about: The reciprocal part and the self energy belong to other kernels. Images are given as integer shifts of the cell.
# domain: physics
# weight: 11
# sizes: num_atoms = 1 7 60 150; num_pairs = 2 20 200 600
# - positions: vec3[num_atoms] uniform(-1.0, 1.0); positions [bohr]
# - charges: float[num_atoms] uniform(-1.0, 1.0); charges [e]
# - cell: mat33[1] uniform(1.0, 3.0); cell vectors, row by row [bohr]
# - neighbor_ptr: int[num_atoms + 1] rows(num_pairs); first pair of each atom
# - idx_j: int[num_pairs] index(num_atoms); second atom of each pair
# - unit_shifts: vec3[num_pairs] uniform(-1.0, 1.0); shifts of the second atom in cell vectors
# - atomic_energies: float[num_atoms] zeros; energies [hartree]
# - atomic_forces: vec3[num_atoms] zeros; forces [hartree/bohr]
# - charge_gradients: float[num_atoms] zeros; derivatives of the energy by the charges
# - alpha: float = 0.8; splitting parameter [1/bohr]
# - cutoff: float = 4.0; cutoff radius [bohr]
@func
def erfc_approx(x: float) -> float:
    """Complementary error function of a number that is not negative."""
    t = 1.0 / (1.0 + 0.3275911 * x)
    poly = 1.421413741 + t * (-1.453152027 + t * 1.061405429)
    poly = t * (0.254829592 + t * (-0.284496736 + t * poly))
    return poly * wp.exp(-x * x)

@func
def screened_coulomb(r: float, splitting: float) -> float:
    """Potential of a unit charge behind its screening charge."""
    return erfc_approx(splitting * r) / r

@func
def screened_force(r: float, splitting: float) -> float:
    """Force of a unit charge over the distance."""
    two_over_sqrt_pi = 1.1283791671
    gauss = two_over_sqrt_pi * splitting * wp.exp(-splitting * splitting * r * r)
    return (erfc_approx(splitting * r) / r + gauss) / (r * r)

@kernel[num_atoms] csr row loop, gather, scatter add
def ewald_real_space_csr():
    """Half of each pair energy goes to each atom."""
    atom_i = wp.tid()
    guard atom_i < num_atoms
    start = neighbor_ptr[atom_i]
    end = neighbor_ptr[atom_i + 1]
    if start == end:
        return

    position_i = positions[atom_i]
    qi = charges[atom_i]
    cell_t = wp.transpose(cell[0])
    energy_acc = float(0.0)
    charge_grad = float(0.0)
    force_acc = wp.vec3(0.0, 0.0, 0.0)

    for edge_idx in range(start, end):
        j = idx_j[edge_idx]
        qj = charges[j]
        shift = unit_shifts[edge_idx]
        periodic_shift = cell_t * shift
        separation = position_i - positions[j] - periodic_shift
        distance = wp.length(separation)
        if distance < 1.0e-1 or distance > cutoff:
            continue
        potential = screened_coulomb(distance, alpha)
        magnitude = screened_force(distance, alpha)
        prefactor = qi * qj

        energy_acc += 0.5 * prefactor * potential
        charge_grad += 0.5 * qj * potential
        wp.atomic_add(charge_gradients, j, 0.5 * qi * potential)
        force_ij = separation * (0.5 * prefactor * magnitude)
        force_acc += force_ij
        wp.atomic_sub(atomic_forces, j, force_ij)

    atomic_energies[atom_i] = energy_acc
    wp.atomic_add(atomic_forces, atom_i, force_acc)
    wp.atomic_add(charge_gradients, atom_i, charge_grad)

def reference():
    """Row by row of the cell; forces from the derivative of the potential."""
    for i in range(num_atoms):
        for p in range(neighbor_ptr[i], neighbor_ptr[i + 1]):
            j = idx_j[p]
            d = positions[i] - positions[j]
            for k in range(3):
                d = d - unit_shifts[p][k] * cell[0][k]
            r = math.sqrt(np.dot(d, d))
            if r >= 0.1 and r <= cutoff:
                x = alpha * r
                t = 1.0 / (1.0 + 0.3275911 * x)
                coefficients = 0.254829592 * t - 0.284496736 * t**2.0 + 1.421413741 * t**3.0
                coefficients = coefficients - 1.453152027 * t**4.0 + 1.061405429 * t**5.0
                v = coefficients * math.exp(-(x**2.0)) / r
                slope = v / r + alpha * 2.0 / math.sqrt(3.14159265359) * math.exp(-(x**2.0)) / r
                qi = charges[i]
                qj = charges[j]
                f = 0.5 * qi * qj * slope / r * d
                atomic_energies[i] = atomic_energies[i] + 0.5 * qi * qj * v
                charge_gradients[i] = charge_gradients[i] + 0.5 * qj * v
                charge_gradients[j] = charge_gradients[j] + 0.5 * qi * v
                atomic_forces[i] = atomic_forces[i] + f
                atomic_forces[j] = atomic_forces[j] - f

# === nose_hoover_chain
# source: Nose-Hoover chains with a Trotter split step (Martyna et al. 1996)
# task: scale the velocities of several systems with chains of Nose-Hoover thermostats
# about: Each system has one chain. Velocities are scaled by the factor that the chain's half step gives.
# domain: physics
# weight: 10
# sizes: num_atoms = 1 7 71 256; num_systems = 1 2 5 8; chain_length = 3 3 3 3
# - velocities: vec3[num_atoms] uniform(-1.0, 1.0); velocities [nm/ps]
# - masses: float[num_atoms] uniform(1.0, 4.0); masses [u]
# - batch_idx: int[num_atoms] index(num_systems); system of each atom
# - num_dofs: float[num_systems] uniform(3.0, 20.0); degrees of freedom
# - target_kt: float[num_systems] uniform(0.5, 1.5); target temperature times the Boltzmann constant
# - chain_mass: float[num_systems, chain_length] uniform(1.0, 4.0); masses of the thermostats
# - eta: float[num_systems, chain_length] uniform(-0.5, 0.5); positions of the thermostats
# - eta_dot: float[num_systems, chain_length] uniform(-0.5, 0.5); velocities of the thermostats [1/ps]
# - kinetic: float[num_systems] zeros; twice the kinetic energies
# - scale: float[num_systems] zeros; velocity factors
# - dt: float = 0.02; time step [ps]
@func
def chain_force(q_prev: float, v_prev: float, kt: float, q: float) -> float:
    """Acceleration of a thermostat by the one before it."""
    return (q_prev * v_prev * v_prev - kt) / q

@kernel[num_atoms] atomic reduction, gather
def twice_kinetic_energy():
    """Add up the masses times squared velocities of each system."""
    atom = wp.tid()
    guard atom < num_atoms
    system = batch_idx[atom]
    v = velocities[atom]
    wp.atomic_add(kinetic, system, masses[atom] * wp.dot(v, v))

@kernel[num_systems] time integration
def step_chains():
    """Half a step of the chain, from its end to its beginning and back."""
    system = wp.tid()
    guard system < num_systems
    ke2 = kinetic[system]
    kt = target_kt[system]
    ndof = num_dofs[system]
    q0 = chain_mass[system, 0]
    q1 = chain_mass[system, 1]
    q2 = chain_mass[system, 2]
    v0 = eta_dot[system, 0]
    v1 = eta_dot[system, 1]
    v2 = eta_dot[system, 2]
    half = 0.5 * dt
    quarter = 0.25 * dt
    eighth = 0.125 * dt

    # last thermostat first
    v2 = v2 + chain_force(q1, v1, kt, q2) * quarter
    decay = wp.exp(-v2 * eighth)
    v1 = (v1 * decay + chain_force(q0, v0, kt, q1) * quarter) * decay
    decay = wp.exp(-v1 * eighth)
    v0 = (v0 * decay + (ke2 - ndof * kt) / q0 * quarter) * decay

    # velocities and positions
    factor = wp.exp(-v0 * half)
    ke2 = ke2 * factor * factor
    eta[system, 0] = eta[system, 0] + v0 * half
    eta[system, 1] = eta[system, 1] + v1 * half
    eta[system, 2] = eta[system, 2] + v2 * half

    # and back to the last one
    decay = wp.exp(-v1 * eighth)
    v0 = (v0 * decay + (ke2 - ndof * kt) / q0 * quarter) * decay
    decay = wp.exp(-v2 * eighth)
    v1 = (v1 * decay + chain_force(q0, v0, kt, q1) * quarter) * decay
    v2 = v2 + chain_force(q1, v1, kt, q2) * quarter

    eta_dot[system, 0] = v0
    eta_dot[system, 1] = v1
    eta_dot[system, 2] = v2
    scale[system] = factor

@kernel[num_atoms] gather, elementwise map
def scale_velocities():
    """Each atom follows its system."""
    atom = wp.tid()
    guard atom < num_atoms
    system = batch_idx[atom]
    {{velocities[atom] = velocities[atom] * scale[system] || velocities[atom] *= scale[system]}}

def reference():
    """Both passes over the chain as one loop with a direction."""
    for s in range(num_systems):
        for i in range(num_atoms):
            if batch_idx[i] == s:
                kinetic[s] = kinetic[s] + masses[i] * np.dot(velocities[i], velocities[i])
        scale[s] = 1.0
        for phase in range(2):
            for step in range(3):
                link = 2 - step
                if phase == 1:
                    link = step
                damp = 1.0
                if link < 2:
                    damp = math.exp(-0.125 * dt * eta_dot[s, link + 1])
                drive = kinetic[s] * scale[s] ** 2.0 - num_dofs[s] * target_kt[s]
                if link > 0:
                    speed = eta_dot[s, link - 1]
                    drive = chain_mass[s, link - 1] * speed**2.0 - target_kt[s]
                drive = drive / chain_mass[s, link]
                eta_dot[s, link] = eta_dot[s, link] * damp**2.0 + 0.25 * dt * drive * damp
            if phase == 0:
                scale[s] = math.exp(-0.5 * dt * eta_dot[s, 0])
                for link in range(3):
                    eta[s, link] = eta[s, link] + 0.5 * dt * eta_dot[s, link]
    for i in range(num_atoms):
        velocities[i] = scale[batch_idx[i]] * velocities[i]

# === bonded_terms
# source: harmonic angles and cosine torsions, forces by vector algebra (Allen and Tildesley 2017, app. C)
# task: compute forces and energies of bond angles and torsions and scatter them to the atoms
# about: Angles are harmonic in their cosine. Torsions have one multiplicity of one to three.
# domain: physics
# weight: 7
# split: test
# sizes: num_atoms = 4 9 71 200; num_angles = 1 7 75 200; num_dihedrals = 1 6 70 150
# - positions: vec3[num_atoms] uniform(-1.0, 1.0); positions [nm]
# - angles: int[num_angles, 3] ring(num_atoms); atoms of each angle, the middle one at the vertex
# - angle_cos0: float[num_angles] uniform(-0.5, 0.5); cosines at rest
# - angle_k: float[num_angles] uniform(1.0, 4.0); stiffnesses [kJ/mol]
# - dihedrals: int[num_dihedrals, 4] ring(num_atoms); atoms of each torsion
# - dihedral_k: float[num_dihedrals] uniform(0.5, 2.0); barriers [kJ/mol]
# - dihedral_n: int[num_dihedrals] uniform(1, 4); multiplicities
# - forces: vec3[num_atoms] zeros; forces [kJ/(mol nm)]
# - energy: float[1] zeros; bonded energy [kJ/mol]
# - min_length: float = 0.25; shorter vectors have no direction [nm]
@func
def multiple_cosine(c: float, n: int) -> float:
    """Cosine of a multiple of an angle, from its cosine."""
    if n == 1:
        return c
    elif n == 2:
        return 2.0 * c * c - 1.0
    return c * (4.0 * c * c - 3.0)

@func
def multiple_slope(c: float, n: int) -> float:
    """Derivative of the multiple's cosine by the cosine."""
    if n == 1:
        return 1.0
    elif n == 2:
        return 4.0 * c
    return 12.0 * c * c - 3.0

@kernel[num_angles] element vertex gather, scatter add, spring force
def angle_forces():
    """Force on both ends; the vertex gets the opposite of their sum."""
    tid = wp.tid()
    guard tid < num_angles
    i = angles[tid, 0]
    j = angles[tid, 1]
    k = angles[tid, 2]
    rij = positions[i] - positions[j]
    rkj = positions[k] - positions[j]
    lij = wp.length(rij)
    lkj = wp.length(rkj)
    if lij < min_length or lkj < min_length:
        return
    ui = rij / lij
    uk = rkj / lkj
    c = wp.dot(ui, uk)
    diff = c - angle_cos0[tid]
    stiffness = angle_k[tid]
    dedc = 2.0 * stiffness * diff
    fi = (uk - ui * c) * (-dedc / lij)
    fk = (ui - uk * c) * (-dedc / lkj)
    wp.atomic_add(forces, i, fi)
    wp.atomic_add(forces, k, fk)
    wp.atomic_sub(forces, j, fi + fk)
    wp.atomic_add(energy, 0, stiffness * diff * diff)

@kernel[num_dihedrals] element vertex gather, scatter add
def dihedral_forces():
    """Forces from the normals of both planes."""
    tid = wp.tid()
    guard tid < num_dihedrals
    i = dihedrals[tid, 0]
    j = dihedrals[tid, 1]
    k = dihedrals[tid, 2]
    l = dihedrals[tid, 3]
    b1 = positions[j] - positions[i]
    b2 = positions[k] - positions[j]
    b3 = positions[l] - positions[k]

    # normals of both planes; atoms in a line span none
    m = wp.cross(b1, b2)
    n = wp.cross(b2, b3)
    lm = wp.length(m)
    ln = wp.length(n)
    if lm < min_length or ln < min_length:
        return
    um = m / lm
    un = n / ln
    c = wp.dot(um, un)
    order = dihedral_n[tid]
    barrier = dihedral_k[tid]
    dedc = barrier * multiple_slope(c, order)

    # gradients by the normals, by the bonds, by the atoms
    gm = (un - um * c) * (dedc / lm)
    gn = (um - un * c) * (dedc / ln)
    g1 = wp.cross(b2, gm)
    g2 = wp.cross(gm, b1) + wp.cross(b3, gn)
    g3 = wp.cross(gn, b2)
    wp.atomic_add(forces, i, g1)
    wp.atomic_add(forces, j, g2 - g1)
    wp.atomic_add(forces, k, g3 - g2)
    wp.atomic_sub(forces, l, g3)
    wp.atomic_add(energy, 0, barrier * (1.0 + multiple_cosine(c, order)))

def reference():
    """Gradients by scalar products; the torsion from products of squared lengths."""
    for t in range(num_angles):
        i = angles[t, 0]
        j = angles[t, 1]
        k = angles[t, 2]
        a = positions[i] - positions[j]
        b = positions[k] - positions[j]
        aa = np.dot(a, a)
        bb = np.dot(b, b)
        if math.sqrt(aa) >= min_length and math.sqrt(bb) >= min_length:
            c = np.dot(a, b) / math.sqrt(aa * bb)
            pull = 2.0 * angle_k[t] * (c - angle_cos0[t])
            fi = pull * (c / aa * a - b / math.sqrt(aa * bb))
            fk = pull * (c / bb * b - a / math.sqrt(aa * bb))
            forces[i] = forces[i] + fi
            forces[k] = forces[k] + fk
            forces[j] = forces[j] - fi - fk
            energy[0] = energy[0] + angle_k[t] * (c - angle_cos0[t]) ** 2.0
    for t in range(num_dihedrals):
        a = positions[dihedrals[t, 1]] - positions[dihedrals[t, 0]]
        b = positions[dihedrals[t, 2]] - positions[dihedrals[t, 1]]
        d = positions[dihedrals[t, 3]] - positions[dihedrals[t, 2]]
        m = np.cross(a, b)
        n = np.cross(b, d)
        mm = np.dot(m, m)
        nn = np.dot(n, n)
        if math.sqrt(mm) >= min_length and math.sqrt(nn) >= min_length:
            c = np.dot(m, n) / math.sqrt(mm * nn)
            e = c
            slope = 1.0
            if dihedral_n[t] == 2:
                e = 2.0 * c**2.0 - 1.0
                slope = 4.0 * c
            if dihedral_n[t] == 3:
                e = 4.0 * c**3.0 - 3.0 * c
                slope = 12.0 * c**2.0 - 3.0
            gm = dihedral_k[t] * slope * (n / math.sqrt(mm * nn) - c / mm * m)
            gn = dihedral_k[t] * slope * (m / math.sqrt(mm * nn) - c / nn * n)
            ga = np.cross(b, gm)
            gb = np.cross(gm, a) + np.cross(d, gn)
            gd = np.cross(gn, b)
            forces[dihedrals[t, 0]] = forces[dihedrals[t, 0]] + ga
            forces[dihedrals[t, 1]] = forces[dihedrals[t, 1]] + gb - ga
            forces[dihedrals[t, 2]] = forces[dihedrals[t, 2]] + gd - gb
            forces[dihedrals[t, 3]] = forces[dihedrals[t, 3]] - gd
            energy[0] = energy[0] + dihedral_k[t] * (1.0 + e)
