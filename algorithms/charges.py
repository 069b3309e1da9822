# === multipole_pairs
# source: interaction of point multipoles up to quadrupoles (Stone 2013, chapter 3; Ren and Ponder 2003)
# task: compute energies and fields of permanent multipoles over neighbour lists
# about: Each site has a charge, a dipole and a traceless quadrupole, of which five components are stored. Every pair stands in both lists.
# domain: physics
# weight: 9
# sizes: num_sites = 2 7 71 256; num_pairs = 2 14 150 2048
# - site_pos: vec3[num_sites] uniform(-2.0, 2.0); positions [A]
# - charge: float[num_sites] uniform(-0.8, 0.8); charges [e]
# - dipole: vec3[num_sites] uniform(-0.3, 0.3); dipole moments [e A]
# - quad: float[num_sites, 5] uniform(-0.2, 0.2); quadrupole components: xx, xy, xz, yy, yz [e A^2]
# - pair_offsets: int[num_sites + 1] rows(num_pairs); first pair of each site
# - pair_ids: int[num_pairs] index(num_sites); partners of the sites
# - coulomb: float = 14.4; Coulomb constant [eV A / e^2]
# - r_min: float = 1.2; least distance, closer pairs are skipped [A]
# - r_cut: float = 3.5; cutoff radius [A]
# - energy: float[num_sites] zeros; half of the energy of each site's pairs [eV]
# - potential: float[num_sites] zeros; electric potentials [V]
# - field: vec3[num_sites] zeros; electric fields [V / A]
@func
def damped_powers(r: float) -> wp.vec4:
    """Odd inverse powers of the distance with the factors of repeated derivatives."""
    rinv = 1.0 / r
    rinv2 = rinv * rinv
    b1 = rinv * rinv2
    b2 = 3.0 * b1 * rinv2
    b3 = 5.0 * b2 * rinv2
    b4 = 7.0 * b3 * rinv2
    return wp.vec4(b1, b2, b3, b4)

@func
def quad_apply(xx: float, xy: float, xz: float, yy: float, yz: float, v: wp.vec3) -> wp.vec3:
    """Product of a traceless symmetric tensor and a vector."""
    zz = -(xx + yy)
    return wp.vec3(xx * v[0] + xy * v[1] + xz * v[2], xy * v[0] + yy * v[1] + yz * v[2], xz * v[0] + yz * v[1] + zz * v[2])

@kernel[num_sites] csr row loop, gather, spring force
def multipole_energy():
    """Sum the invariants of every pair within the cutoff."""
    i = wp.tid()
    guard i < num_sites
    pos_i = site_pos[i]
    q_i = charge[i]
    mu_i = dipole[i]
    qxx_i = quad[i, 0]
    qxy_i = quad[i, 1]
    qxz_i = quad[i, 2]
    qyy_i = quad[i, 3]
    qyz_i = quad[i, 4]
    qzz_i = -(qxx_i + qyy_i)
    e_sum = float(0.0)
    for k in range(pair_offsets[i], pair_offsets[i + 1]):
        j = pair_ids[k]
        if j == i:
            continue
        dx = site_pos[j][0] - pos_i[0]
        dy = site_pos[j][1] - pos_i[1]
        dz = site_pos[j][2] - pos_i[2]
        r2 = dx * dx + dy * dy + dz * dz
        if r2 < r_min * r_min or r2 > r_cut * r_cut:
            continue
        r = wp.sqrt(r2)
        b = damped_powers(r)

        # moments of the partner
        q_j = charge[j]
        mu_j = dipole[j]
        qxx_j = quad[j, 0]
        qxy_j = quad[j, 1]
        qxz_j = quad[j, 2]
        qyy_j = quad[j, 3]
        qyz_j = quad[j, 4]
        qzz_j = -(qxx_j + qyy_j)

        # projections on the line between the sites
        mu_i_r = mu_i[0] * dx + mu_i[1] * dy + mu_i[2] * dz
        mu_j_r = mu_j[0] * dx + mu_j[1] * dy + mu_j[2] * dz
        qr_i_x = qxx_i * dx + qxy_i * dy + qxz_i * dz
        qr_i_y = qxy_i * dx + qyy_i * dy + qyz_i * dz
        qr_i_z = qxz_i * dx + qyz_i * dy + qzz_i * dz
        qr_j_x = qxx_j * dx + qxy_j * dy + qxz_j * dz
        qr_j_y = qxy_j * dx + qyy_j * dy + qyz_j * dz
        qr_j_z = qxz_j * dx + qyz_j * dy + qzz_j * dz
        rqr_i = qr_i_x * dx + qr_i_y * dy + qr_i_z * dz
        rqr_j = qr_j_x * dx + qr_j_y * dy + qr_j_z * dz
        mu_mu = wp.dot(mu_i, mu_j)
        mu_i_qr_j = mu_i[0] * qr_j_x + mu_i[1] * qr_j_y + mu_i[2] * qr_j_z
        mu_j_qr_i = mu_j[0] * qr_i_x + mu_j[1] * qr_i_y + mu_j[2] * qr_i_z
        qr_qr = qr_i_x * qr_j_x + qr_i_y * qr_j_y + qr_i_z * qr_j_z
        diag = qxx_i * qxx_j + qyy_i * qyy_j + qzz_i * qzz_j
        q_q = diag + 2.0 * (qxy_i * qxy_j + qxz_i * qxz_j + qyz_i * qyz_j)

        # invariants, ordered by the power of the distance
        gl0 = q_i * q_j
        gl1 = q_j * mu_i_r - q_i * mu_j_r
        gl2 = q_i * rqr_j + q_j * rqr_i - mu_i_r * mu_j_r
        gl3 = mu_i_r * rqr_j - mu_j_r * rqr_i
        gl4 = rqr_i * rqr_j
        gl5 = -4.0 * qr_qr
        gl6 = mu_mu
        gl7 = 2.0 * (mu_j_qr_i - mu_i_qr_j)
        gl8 = 2.0 * q_q
        pair_energy = gl0 / r + b[0] * (gl1 + gl6) + b[1] * (gl2 + gl7 + gl8)
        pair_energy += b[2] * (gl3 + gl5) + b[3] * gl4
        e_sum += 0.5 * pair_energy
    energy[i] = coulomb * e_sum

@kernel[num_sites] csr row loop, gather
def multipole_field():
    """Potential and field of the partners' moments at each site."""
    i = wp.tid()
    guard i < num_sites
    phi = float(0.0)
    ex = float(0.0)
    ey = float(0.0)
    ez = float(0.0)
    for k in range(pair_offsets[i], pair_offsets[i + 1]):
        j = pair_ids[k]
        if j == i:
            continue
        rij = site_pos[i] - site_pos[j]
        r = wp.length(rij)
        if r < r_min or r > r_cut:
            continue
        b = damped_powers(r)
        q = charge[j]
        mu = dipole[j]
        theta_r = quad_apply(quad[j, 0], quad[j, 1], quad[j, 2], quad[j, 3], quad[j, 4], rij)
        mu_r = wp.dot(mu, rij)
        rtr = wp.dot(theta_r, rij)
        phi += q / r + b[0] * mu_r + b[1] * rtr
        # minus the gradient of the potential
        radial = q * b[0] + mu_r * b[1] + rtr * b[2]
        ex += radial * rij[0] - b[0] * mu[0] - 2.0 * b[1] * theta_r[0]
        ey += radial * rij[1] - b[0] * mu[1] - 2.0 * b[1] * theta_r[1]
        ez += radial * rij[2] - b[0] * mu[2] - 2.0 * b[1] * theta_r[2]
    potential[i] = coulomb * phi
    field[i] = coulomb * wp.vec3(ex, ey, ez)

def reference():
    """Derivative tensors of 1 / r, contracted index by index."""
    for i in range(num_sites):
        for k in range(pair_offsets[i], pair_offsets[i + 1]):
            j = pair_ids[k]
            d = site_pos[j] - site_pos[i]
            r = np.linalg.norm(d)
            if j != i and r >= r_min and r <= r_cut:
                u = charge[i] * charge[j] / r
                potential[i] = potential[i] + coulomb * charge[j] / r
                for a in range(3):
                    t1 = -d[a] / r**3.0
                    u = u + (charge[i] * dipole[j][a] - charge[j] * dipole[i][a]) * t1
                    potential[i] = potential[i] + coulomb * dipole[j][a] * t1
                    field[i][a] = field[i][a] + coulomb * charge[j] * t1
                    for b in range(3):
                        ab = 0.0
                        if a == b:
                            ab = 1.0
                        t2 = 3.0 * d[a] * d[b] / r**5.0 - ab / r**3.0
                        # components of the tensors; the last follows from the trace
                        component = a + b
                        if a >= 1 and b >= 1:
                            component = a + b + 1
                        qi = -quad[i, 0] - quad[i, 3]
                        qj = -quad[j, 0] - quad[j, 3]
                        if component < 5:
                            qi = quad[i, component]
                            qj = quad[j, component]
                        u = u + (charge[i] * qj + charge[j] * qi - dipole[i][a] * dipole[j][b]) * t2
                        potential[i] = potential[i] + coulomb * qj * t2
                        field[i][a] = field[i][a] + coulomb * dipole[j][b] * t2
                        for c in range(3):
                            ac = 0.0
                            bc = 0.0
                            if a == c:
                                ac = 1.0
                            if b == c:
                                bc = 1.0
                            mixed = ab * d[c] + ac * d[b] + bc * d[a]
                            t3 = 3.0 * mixed / r**5.0 - 15.0 * d[a] * d[b] * d[c] / r**7.0
                            u = u + (qi * dipole[j][c] - qj * dipole[i][c]) * t3
                            field[i][c] = field[i][c] + coulomb * qj * t3
                            for e in range(3):
                                ae = 0.0
                                be = 0.0
                                ce = 0.0
                                if a == e:
                                    ae = 1.0
                                if b == e:
                                    be = 1.0
                                if c == e:
                                    ce = 1.0
                                component = c + e
                                if c >= 1 and e >= 1:
                                    component = c + e + 1
                                other = -quad[j, 0] - quad[j, 3]
                                if component < 5:
                                    other = quad[j, component]
                                two = ab * d[c] * d[e] + ac * d[b] * d[e] + ae * d[b] * d[c]
                                two = two + bc * d[a] * d[e] + be * d[a] * d[c] + ce * d[a] * d[b]
                                t4 = 105.0 * d[a] * d[b] * d[c] * d[e] / r**9.0 - 15.0 * two / r**7.0
                                t4 = t4 + 3.0 * (ab * ce + ac * be + ae * bc) / r**5.0
                                u = u + qi * other * t4
                energy[i] = energy[i] + 0.5 * coulomb * u

# === bspline_mesh
# source: smooth particle mesh Ewald: cardinal B-splines and their derivatives (Essmann et al. 1995)
# task: spread charges to a mesh with B-splines and interpolate potentials and forces back
# about: The order of the splines is an argument. The cell has periodic boundaries.
# domain: physics
# weight: 12
# sizes: num_atoms = 1 7 71 256; mesh_x = 4 4 4 16; mesh_y = 4 4 4 12; mesh_z = 4 4 5 16
# - frac: vec3[num_atoms] uniform(0.0, 0.99); fractional coordinates of the atoms
# - charges: float[num_atoms] uniform(-1.0, 1.0); charges [e]
# - rho: float[mesh_x, mesh_y, mesh_z] zeros; charges on the mesh [e]
# - phi: float[mesh_x, mesh_y, mesh_z] uniform(-1.0, 1.0); potentials on the mesh [V]
# - atom_phi: float[num_atoms] zeros; potentials at the atoms [V]
# - atom_force: vec3[num_atoms] zeros; forces in units of the mesh [e V]
# - order: int = 4; order of the splines, {{quintic: 2 to 6 || 2 to 4}}
@func
def spline_weight(u: float, p: int) -> float:
    """Cardinal B-spline of order p on [0, p], piece by piece."""
    if u < 0.0 or u >= float(p):
        return 0.0
    if p == 2:
        if u < 1.0:
            return u
        return 2.0 - u
    elif p == 3:
        if u < 1.0:
            return 0.5 * u * u
        elif u < 2.0:
            return 0.5 * (-2.0 * u * u + 6.0 * u - 3.0)
        v = 3.0 - u
        return 0.5 * v * v
    elif p == 4:
        if u < 1.0:
            return u * u * u / 6.0
        elif u < 2.0:
            u2 = u * u
            return (-3.0 * u2 * u + 12.0 * u2 - 12.0 * u + 4.0) / 6.0
        elif u < 3.0:
            u2 = u * u
            return (3.0 * u2 * u - 24.0 * u2 + 60.0 * u - 44.0) / 6.0
        v = 4.0 - u
        return v * v * v / 6.0
    #? quintic
    elif p == 5:
        u2 = u * u
        u3 = u2 * u
        u4 = u2 * u2
        if u < 1.0:
            return u4 / 24.0
        elif u < 2.0:
            return (-4.0 * u4 + 20.0 * u3 - 30.0 * u2 + 20.0 * u - 5.0) / 24.0
        elif u < 3.0:
            return (6.0 * u4 - 60.0 * u3 + 210.0 * u2 - 300.0 * u + 155.0) / 24.0
        elif u < 4.0:
            return (-4.0 * u4 + 60.0 * u3 - 330.0 * u2 + 780.0 * u - 655.0) / 24.0
        v = 5.0 - u
        return v * v * v * v / 24.0
    elif p == 6:
        u2 = u * u
        u3 = u2 * u
        u4 = u2 * u2
        u5 = u2 * u3
        if u < 1.0:
            return u5 / 120.0
        elif u < 2.0:
            return (-5.0 * u5 + 30.0 * u4 - 60.0 * u3 + 60.0 * u2 - 30.0 * u + 6.0) / 120.0
        elif u < 3.0:
            return (10.0 * u5 - 120.0 * u4 + 540.0 * u3 - 1140.0 * u2 + 1170.0 * u - 474.0) / 120.0
        elif u < 4.0:
            return (-10.0 * u5 + 180.0 * u4 - 1260.0 * u3 + 4260.0 * u2 - 6930.0 * u + 4386.0) / 120.0
        elif u < 5.0:
            return (5.0 * u5 - 120.0 * u4 + 1140.0 * u3 - 5340.0 * u2 + 12270.0 * u - 10974.0) / 120.0
        v = 6.0 - u
        v2 = v * v
        return v2 * v2 * v / 120.0
    #.
    return 0.0

@func
def spline_slope(u: float, p: int) -> float:
    """Derivative of a B-spline: the difference of two of one order less."""
    if p == 2:
        if u < 0.0 or u >= 2.0:
            return 0.0
        elif u < 1.0:
            return 1.0
        return -1.0
    return spline_weight(u, p - 1) - spline_weight(u - 1.0, p - 1)

@func
def wrap_mesh(index: int, n: int) -> int:
    """Periodic mesh index."""
    wrapped = index % n
    if wrapped < 0:
        wrapped += n
    return wrapped

@func
def spline_argument(x: float, base: int, k: int) -> float:
    """Distance from a mesh point to the end of its spline."""
    return x - float(base - k)

@kernel[num_atoms] grid splat, scatter add
def spread_charges():
    """Add each charge to the points within the support of its spline."""
    atom = wp.tid()
    guard atom < num_atoms
    q = charges[atom]
    u = wp.cw_mul(frac[atom], wp.vec3(float(mesh_x), float(mesh_y), float(mesh_z)))
    base_x = int(wp.floor(u[0]))
    base_y = int(wp.floor(u[1]))
    base_z = int(wp.floor(u[2]))
    for i in range(order):
        wx = spline_weight(spline_argument(u[0], base_x, i), order)
        gx = wrap_mesh(base_x - i, mesh_x)
        for j in range(order):
            wy = spline_weight(spline_argument(u[1], base_y, j), order)
            gy = wrap_mesh(base_y - j, mesh_y)
            wxy = wx * wy
            for k in range(order):
                wz = spline_weight(spline_argument(u[2], base_z, k), order)
                gz = wrap_mesh(base_z - k, mesh_z)
                wp.atomic_add(rho, gx, gy, gz, q * wxy * wz)

@kernel[num_atoms] interpolation, gather
def gather_forces():
    """Potential at each atom and its gradient, from products of weights and slopes."""
    atom = wp.tid()
    guard atom < num_atoms
    q = charges[atom]
    #? neutral
    # neutral atoms feel nothing
    if q == 0.0:
        return
    #.
    u = wp.cw_mul(frac[atom], wp.vec3(float(mesh_x), float(mesh_y), float(mesh_z)))
    base_x = int(wp.floor(u[0]))
    base_y = int(wp.floor(u[1]))
    base_z = int(wp.floor(u[2]))
    value = float(0.0)
    fx = float(0.0)
    fy = float(0.0)
    fz = float(0.0)
    for i in range(order):
        ux = spline_argument(u[0], base_x, i)
        wx = spline_weight(ux, order)
        dwx = spline_slope(ux, order)
        gx = wrap_mesh(base_x - i, mesh_x)
        for j in range(order):
            uy = spline_argument(u[1], base_y, j)
            wy = spline_weight(uy, order)
            dwy = spline_slope(uy, order)
            gy = wrap_mesh(base_y - j, mesh_y)
            for k in range(order):
                uz = spline_argument(u[2], base_z, k)
                wz = spline_weight(uz, order)
                dwz = spline_slope(uz, order)
                gz = wrap_mesh(base_z - k, mesh_z)
                p = phi[gx, gy, gz]
                value += p * wx * wy * wz
                fx -= q * p * dwx * wy * wz
                fy -= q * p * wx * dwy * wz
                fz -= q * p * wx * wy * dwz
    atom_phi[atom] = value
    atom_force[atom] = wp.vec3(fx, fy, fz)

def reference():
    """Splines as sums of truncated powers, over all points of the mesh and their images."""
    for a in range(num_atoms):
        for x in range(mesh_x):
            for y in range(mesh_y):
                for z in range(mesh_z):
                    w = np.array([0.0, 0.0, 0.0])
                    s = np.array([0.0, 0.0, 0.0])
                    for axis in range(3):
                        point = x
                        count = mesh_x
                        if axis == 1:
                            point = y
                            count = mesh_y
                        if axis == 2:
                            point = z
                            count = mesh_z
                        u = frac[a][axis] * float(count) - float(point)
                        if u < 0.0:
                            u = u + float(count)
                        if u < float(order):
                            c = 1.0
                            for k in range(order + 1):
                                if u > float(k):
                                    power = 1.0
                                    for m in range(order - 2):
                                        power = power * (u - float(k))
                                    w[axis] = w[axis] + c * power * (u - float(k))
                                    s[axis] = s[axis] + c * power * float(order - 1)
                                c = -c * float(order - k) / float(k + 1)
                            for k in range(2, order):
                                w[axis] = w[axis] / float(k)
                                s[axis] = s[axis] / float(k)
                    rho[x, y, z] = rho[x, y, z] + charges[a] * w[0] * w[1] * w[2]
                    p = phi[x, y, z]
                    atom_phi[a] = atom_phi[a] + p * w[0] * w[1] * w[2]
                    atom_force[a][0] = atom_force[a][0] - charges[a] * p * s[0] * w[1] * w[2]
                    atom_force[a][1] = atom_force[a][1] - charges[a] * p * w[0] * s[1] * w[2]
                    atom_force[a][2] = atom_force[a][2] - charges[a] * p * w[0] * w[1] * s[2]
