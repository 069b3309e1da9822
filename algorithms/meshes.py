# === neo_hookean_tets
# source: stable neo-Hookean tetrahedra (Smith, de Goes and Kim 2018) with damping by the rate of deformation
# task: compute stable neo-Hookean elastic forces of tetrahedra with damping and activation
# about: Parameters are given by tetrahedron. Inverted elements are pushed back because the volume term stays finite.
# domain: physics
# weight: 12
# sizes: num_vertices = 4 9 71 150; num_tets = 1 5 70 200
# - particle_q: vec3[num_vertices] uniform(-1.0, 1.0); vertex positions [m]
# - particle_qd: vec3[num_vertices] uniform(-1.0, 1.0); vertex velocities [m/s]
# - tet_indices: int[num_tets, 4] ring(num_vertices); vertices of each tetrahedron
# - tet_poses: mat33[num_tets] uniform(-1.0, 1.0); inverse rest shapes [1/m]
# - tet_volume: float[num_tets] uniform(0.05, 0.2); rest volumes [m^3]
# - tet_activation: float[num_tets] uniform(-0.1, 0.1); volume changes of muscles
# - tet_materials: float[num_tets, 3] uniform(0.5, 2.0); shear modulus, first Lame parameter [Pa], damping [Pa s]
# - particle_f: vec3[num_vertices] zeros; forces [N]
# - elastic_energy: float[1] zeros; elastic energy [J]
@func
def deformation(e1: wp.vec3, e2: wp.vec3, e3: wp.vec3, inv_rest: wp.mat33) -> wp.mat33:
    """Columns of edges times the inverse rest shape."""
    return wp.matrix_from_cols(e1, e2, e3) * inv_rest

@func
def cofactor_forces(x1: wp.vec3, x2: wp.vec3, x3: wp.vec3) -> wp.mat33:
    """Derivatives of the determinant by its columns."""
    return wp.matrix_from_cols(wp.cross(x2, x3), wp.cross(x3, x1), wp.cross(x1, x2))

@kernel[num_tets] fem elasticity, element vertex gather, scatter add, gather
def eval_tetrahedra():
    """First Piola-Kirchhoff stress of one tetrahedron, scattered to its four vertices."""
    tid = wp.tid()
    guard tid < num_tets
    i = tet_indices[tid, 0]
    j = tet_indices[tid, 1]
    k = tet_indices[tid, 2]
    l = tet_indices[tid, 3]
    act = tet_activation[tid]
    k_mu = tet_materials[tid, 0]
    k_lambda = tet_materials[tid, 1]
    k_damp = tet_materials[tid, 2]

    # edges and their rates
    x0 = particle_q[i]
    x10 = particle_q[j] - x0
    x20 = particle_q[k] - x0
    x30 = particle_q[l] - x0
    v0 = particle_qd[i]
    v10 = particle_qd[j] - v0
    v20 = particle_qd[k] - v0
    v30 = particle_qd[l] - v0

    # deformation gradient and its rate
    Dm = tet_poses[tid]
    rest_volume = tet_volume[tid]
    F = deformation(x10, x20, x30, Dm)
    dFdt = deformation(v10, v20, v30, Dm)
    col1 = wp.vec3(F[0, 0], F[1, 0], F[2, 0])
    col2 = wp.vec3(F[0, 1], F[1, 1], F[2, 1])
    col3 = wp.vec3(F[0, 2], F[1, 2], F[2, 2])

    # deviatoric part
    Ic = wp.dot(col1, col1) + wp.dot(col2, col2) + wp.dot(col3, col3)
    P = F * (k_mu * (1.0 - 1.0 / (Ic + 1.0))) + dFdt * k_damp

    # volumetric part, at rest where the determinant is alpha
    alpha = 1.0 + k_mu / k_lambda - k_mu / (4.0 * k_lambda)
    J = wp.determinant(F)
    dJdF = cofactor_forces(col1, col2, col3)
    stretch = J - alpha + act
    P = P + dJdF * (k_lambda * stretch)

    # forces on the last three vertices are columns
    H = P * wp.transpose(Dm) * (-rest_volume)
    f1 = wp.vec3(H[0, 0], H[1, 0], H[2, 0])
    f2 = wp.vec3(H[0, 1], H[1, 1], H[2, 1])
    f3 = wp.vec3(H[0, 2], H[1, 2], H[2, 2])
    f0 = -(f1 + f2 + f3)
    wp.atomic_add(particle_f, i, f0)
    wp.atomic_add(particle_f, j, f1)
    wp.atomic_add(particle_f, k, f2)
    wp.atomic_add(particle_f, l, f3)

    psi = 0.5 * k_mu * (Ic - 3.0) + 0.5 * k_lambda * stretch * stretch - 0.5 * k_mu * wp.log(Ic + 1.0)
    wp.atomic_add(elastic_energy, 0, psi * rest_volume)

def reference():
    """Rows of the deformation gradient; the adjugate from cross products of rows."""
    for t in range(num_tets):
        F = 0.0 * tet_poses[t]
        rate = 0.0 * tet_poses[t]
        for c in range(3):
            edge = particle_q[tet_indices[t, c + 1]] - particle_q[tet_indices[t, 0]]
            speed = particle_qd[tet_indices[t, c + 1]] - particle_qd[tet_indices[t, 0]]
            F = F + np.outer(edge, tet_poses[t][c])
            rate = rate + np.outer(speed, tet_poses[t][c])
        a = np.array([F[0, 0], F[0, 1], F[0, 2]])
        b = np.array([F[1, 0], F[1, 1], F[1, 2]])
        d = np.array([F[2, 0], F[2, 1], F[2, 2]])
        trace = np.dot(a, a) + np.dot(b, b) + np.dot(d, d)
        mu = tet_materials[t, 0]
        lam = tet_materials[t, 1]
        over = np.dot(a, np.cross(b, d)) - 1.0 - 0.75 * mu / lam + tet_activation[t]
        energy = 0.5 * mu * (trace - 3.0 - math.log(trace + 1.0)) + 0.5 * lam * over**2.0
        elastic_energy[0] = elastic_energy[0] + tet_volume[t] * energy
        for r in range(3):
            volume = np.cross(b, d)
            if r == 1:
                volume = np.cross(d, a)
            if r == 2:
                volume = np.cross(a, b)
            for c in range(3):
                f = 0.0
                for k in range(3):
                    p = mu * trace / (trace + 1.0) * F[r, k] + tet_materials[t, 2] * rate[r, k]
                    f = f - tet_volume[t] * (p + lam * over * volume[k]) * tet_poses[t][c, k]
                v = tet_indices[t, c + 1]
                particle_f[v][r] = particle_f[v][r] + f
                v = tet_indices[t, 0]
                particle_f[v][r] = particle_f[v][r] - f

# === hex_stiffness
# source: trilinear hexahedra with two Gauss points per direction (Hughes 1987, ch. 3)
# task: apply the stiffness and mass operators of trilinear hexahedra without assembling a matrix
# about: Elements are boxes of one size, so the Jacobian is diagonal. Heat conduction with a reaction term.
# domain: physics
# weight: 10
# sizes: num_nodes = 8 12 40 90; num_elements = 1 3 70 64
# - element_nodes: int[num_elements, 8] ring(num_nodes); nodes of each element, x fastest
# - conductivity: float[num_elements] uniform(0.5, 2.0); conductivities [W/(m K)]
# - reaction: float[num_elements] uniform(0.0, 0.5); reaction coefficients [W/(m^3 K)]
# - node_value: float[num_nodes] uniform(-1.0, 1.0); temperatures [K]
# - fixed: int[num_nodes] uniform(0, 2); 1 where the temperature is given
# - residual: float[num_nodes] zeros; product of the operator and the temperatures [W]
# - element_energy: float[num_elements] zeros; energies of the elements
# - size: vec3 = 0.5 0.4 0.25; edge lengths of the elements [m]
@func
def hat(side: int, x: float) -> float:
    """Linear shape function on [-1, 1]."""
    if side == 0:
        return 0.5 * (1.0 - x)
    return 0.5 * (1.0 + x)

@func
def hat_slope(side: int) -> float:
    """Its derivative."""
    if side == 0:
        return -0.5
    return 0.5

@func
def shape_gradient(node: int, p: wp.vec3, h: wp.vec3) -> wp.vec3:
    """Gradient of a trilinear shape function in physical space."""
    a = node % 2
    b = (node // 2) % 2
    c = node // 4
    gx = hat_slope(a) * hat(b, p[1]) * hat(c, p[2]) * 2.0 / h[0]
    gy = hat(a, p[0]) * hat_slope(b) * hat(c, p[2]) * 2.0 / h[1]
    gz = hat(a, p[0]) * hat(b, p[1]) * hat_slope(c) * 2.0 / h[2]
    return wp.vec3(gx, gy, gz)

@func
def shape_value(node: int, p: wp.vec3) -> float:
    """A trilinear shape function."""
    return hat(node % 2, p[0]) * hat((node // 2) % 2, p[1]) * hat(node // 4, p[2])

@kernel[num_elements] fem elasticity, element vertex gather, scatter add
def apply_stiffness():
    """Sum over the Gauss points of one element."""
    elem = wp.tid()
    guard elem < num_elements
    k_e = conductivity[elem]
    c_e = reaction[elem]
    det_j = size[0] * size[1] * size[2] / 8.0
    gauss = 0.5773502692
    energy = float(0.0)

    for qp in range(8):
        # corner of the square of Gauss points
        px = gauss * (2.0 * float(qp % 2) - 1.0)
        py = gauss * (2.0 * float((qp // 2) % 2) - 1.0)
        pz = gauss * (2.0 * float(qp // 4) - 1.0)
        p = wp.vec3(px, py, pz)

        # field and gradient at the point
        grad = wp.vec3(0.0, 0.0, 0.0)
        value = float(0.0)
        for a in range(8):
            node = element_nodes[elem, a]
            u = node_value[node]
            grad += shape_gradient(a, p, size) * u
            value += shape_value(a, p) * u
        energy += 0.5 * det_j * (k_e * wp.dot(grad, grad) + c_e * value * value)

        # test with all shape functions
        for b in range(8):
            row = element_nodes[elem, b]
            if fixed[row] != 0:
                continue
            r = k_e * wp.dot(shape_gradient(b, p, size), grad) + c_e * shape_value(b, p) * value
            wp.atomic_add(residual, row, r * det_j)

    element_energy[elem] = energy

def reference():
    """Exact integrals of products of linear functions, direction by direction."""
    for e in range(num_elements):
        for a in range(8):
            for b in range(8):
                entry = 0.0
                for k in range(4):
                    # three terms of conduction, and the reaction
                    term = conductivity[e]
                    if k == 3:
                        term = reaction[e]
                    bit = 1
                    for d in range(3):
                        same = (a // bit) % 2 == (b // bit) % 2
                        share = size[d] / 6.0
                        if same:
                            share = size[d] / 3.0
                        if d == k:
                            share = -1.0 / size[d]
                            if same:
                                share = 1.0 / size[d]
                        term = term * share
                        bit = 2 * bit
                    entry = entry + term
                row = element_nodes[e, a]
                col = element_nodes[e, b]
                if fixed[row] == 0:
                    residual[row] = residual[row] + entry * node_value[col]
                element_energy[e] = element_energy[e] + 0.5 * entry * node_value[row] * node_value[col]

# === marching_squares
# source: marching squares with linear interpolation of crossings (Lorensen and Cline 1987, in two dimensions)
# task: extract the segments of an isoline from a grid by cases
# about: Each cell gives up to two segments. Saddles are split by the value in their middle.
# domain: geometry
# weight: 6
# split: test
# sizes: ny = 2 4 9 32; nx = 2 5 10 32
# - field: float[ny, nx] uniform(-1.0, 1.0); values at the nodes
# - case_index: int[ny, nx] zeros; case of the cell with this lower node
# - segments: vec4[ny, nx, 2] zeros; ends of the segments of each cell
# - num_segments: int[ny, nx] zeros; segments of each cell
# - total_length: float[1] zeros; length of the isoline [m]
# - level: float = 0.05; value of the isoline
# - spacing: float = 0.1; width of a cell [m]
@func
def crossing(a: float, b: float, iso: float) -> float:
    """Where the value is reached between two nodes, from 0 to 1."""
    d = b - a
    if wp.abs(d) < 1.0e-6:
        return 0.5
    return wp.clamp((iso - a) / d, 0.0, 1.0)

@func
def edge_point(edge: int, v0: float, v1: float, v2: float, v3: float, iso: float) -> wp.vec2:
    """Crossing of an edge: bottom, right, top, left."""
    if edge == 0:
        return wp.vec2(crossing(v0, v1, iso), 0.0)
    elif edge == 1:
        return wp.vec2(1.0, crossing(v1, v2, iso))
    elif edge == 2:
        return wp.vec2(crossing(v3, v2, iso), 1.0)
    return wp.vec2(0.0, crossing(v0, v3, iso))

@func
def first_edges(case: int) -> int:
    """Two edges of the first segment as 4 * from + to; -1 for none."""
    if case == 1 or case == 14:
        return 4 * 3 + 0
    elif case == 2 or case == 13:
        return 4 * 0 + 1
    elif case == 3 or case == 12:
        return 4 * 3 + 1
    elif case == 4 or case == 11:
        return 4 * 1 + 2
    elif case == 6 or case == 9:
        return 4 * 0 + 2
    elif case == 7 or case == 8:
        return 4 * 3 + 2
    return -1

@kernel[ny, nx] matrix or image map, interpolation, atomic reduction
def extract_isoline():
    """Case of one cell, and its segments."""
    grid j, i
    guard j < ny and i < nx
    # the last row and column begin no cell
    if i >= nx - 1 or j >= ny - 1:
        return
    v0 = field[j, i]
    v1 = field[j, i + 1]
    v2 = field[j + 1, i + 1]
    v3 = field[j + 1, i]
    case = int(0)
    if v0 > level:
        case += 1
    if v1 > level:
        case += 2
    if v2 > level:
        case += 4
    if v3 > level:
        case += 8
    case_index[j, i] = case
    if case == 0 or case == 15:
        return

    count = int(1)
    first = first_edges(case)
    second = int(-1)
    if case == 5 or case == 10:
        # saddle: which corners belong together?
        middle = 0.25 * (v0 + v1 + v2 + v3)
        joined = middle > level
        if (case == 5 and joined) or (case == 10 and not joined):
            first = 4 * 3 + 2
            second = 4 * 0 + 1
        else:
            first = 4 * 3 + 0
            second = 4 * 1 + 2
        count = 2

    origin = wp.vec2(float(i), float(j))
    length = float(0.0)
    for s in range(count):
        code = first
        if s == 1:
            code = second
        p = (origin + edge_point(code // 4, v0, v1, v2, v3, level)) * spacing
        q = (origin + edge_point(code % 4, v0, v1, v2, v3, level)) * spacing
        segments[j, i, s] = wp.vec4(p[0], p[1], q[0], q[1])
        length += wp.length(q - p)
    num_segments[j, i] = count
    wp.atomic_add(total_length, 0, length)

def reference():
    """Crossed edges in the order left, bottom, right, top, joined in pairs."""
    for j in range(ny - 1):
        for i in range(nx - 1):
            a = field[j, i]
            b = field[j, i + 1]
            c = field[j + 1, i + 1]
            d = field[j + 1, i]
            case = 0
            if a > level:
                case = case + 1
            if b > level:
                case = case + 2
            if c > level:
                case = case + 4
            if d > level:
                case = case + 8
            case_index[j, i] = case
            ends = np.array([0.0, 0.0, 0.0, 0.0])
            more = np.array([0.0, 0.0, 0.0, 0.0])
            number = 0
            for edge in range(4):
                p = a
                q = d
                x = 0.0
                y = 0.0
                dx = 0.0
                dy = 1.0
                if edge == 1:
                    q = b
                    dx = 1.0
                    dy = 0.0
                if edge == 2:
                    p = b
                    q = c
                    x = 1.0
                if edge == 3:
                    p = d
                    q = c
                    y = 1.0
                    dx = 1.0
                    dy = 0.0
                if (p > level) != (q > level):
                    t = 0.5
                    if q - p >= 1.0e-6 or p - q >= 1.0e-6:
                        t = (level - p) / (q - p)
                    x = spacing * (float(i) + x + t * dx)
                    y = spacing * (float(j) + y + t * dy)
                    if number < 2:
                        ends[2 * number] = x
                        ends[2 * number + 1] = y
                    else:
                        more[2 * number - 4] = x
                        more[2 * number - 3] = y
                    number = number + 1
            num_segments[j, i] = number // 2
            if number == 4:
                inside = a + b + c + d > 4.0 * level
                if (case == 5) == inside:
                    keep_x = ends[2]
                    keep_y = ends[3]
                    ends[2] = more[2]
                    ends[3] = more[3]
                    more[2] = more[0]
                    more[3] = more[1]
                    more[0] = keep_x
                    more[1] = keep_y
                wide = math.sqrt((more[0] - more[2]) ** 2.0 + (more[1] - more[3]) ** 2.0)
                total_length[0] = total_length[0] + wide
                segments[j, i, 1] = more
            if number > 0:
                segments[j, i, 0] = ends
                wide = math.sqrt((ends[0] - ends[2]) ** 2.0 + (ends[1] - ends[3]) ** 2.0)
                total_length[0] = total_length[0] + wide

# === triangle_distance
# source: closest point of a triangle by its Voronoi regions (Ericson 2005, sec. 5.1.5)
# task: find the closest triangle of a mesh for each point, with barycentric coordinates and a signed distance
# about: The sign comes from the normal of the closest triangle. All triangles are tried; those whose sphere is too far are skipped.
# domain: geometry
# weight: 12
# sizes: num_points = 1 7 71 200; num_vertices = 3 8 20 60; num_triangles = 1 6 18 50
# - points: vec3[num_points] uniform(-1.0, 1.0); query points [m]
# - vertices: vec3[num_vertices] uniform(-1.0, 1.0); mesh vertices [m]
# - triangles: int[num_triangles, 3] ring(num_vertices); vertices of each triangle
# - closest_face: int[num_points] zeros; number of the closest triangle
# - closest_point: vec3[num_points] zeros; closest points [m]
# - barycentric: vec3[num_points] zeros; barycentric coordinates of the closest points
# - distance: float[num_points] zeros; signed distances [m]
# - max_distance: float = 4.0; points further away have no triangle [m]
@func
def triangle_closest(p: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec3:
    """Barycentric coordinates of the closest point."""
    ab = b - a
    ac = c - a
    ap = p - a
    d1 = wp.dot(ab, ap)
    d2 = wp.dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return wp.vec3(1.0, 0.0, 0.0)

    bp = p - b
    d3 = wp.dot(ab, bp)
    d4 = wp.dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return wp.vec3(0.0, 1.0, 0.0)

    # edge ab
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3)
        return wp.vec3(1.0 - v, v, 0.0)

    cp = p - c
    d5 = wp.dot(ab, cp)
    d6 = wp.dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return wp.vec3(0.0, 0.0, 1.0)

    # edge ac
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6)
        return wp.vec3(1.0 - w, 0.0, w)

    # edge bc
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / (d4 - d3 + (d5 - d6))
        return wp.vec3(0.0, 1.0 - w, w)

    # inside
    denom = 1.0 / (va + vb + vc)
    v = vb * denom
    w = vc * denom
    return wp.vec3(1.0 - v - w, v, w)

@kernel[num_points] closest point, argmin argmax, element vertex gather
def query_closest():
    """Smallest distance over all triangles."""
    tid = wp.tid()
    guard tid < num_points
    p = points[tid]
    best = max_distance * max_distance
    best_face = int(-1)
    best_bary = wp.vec3(0.0, 0.0, 0.0)
    best_point = p
    sign = float(1.0)
    for face in range(num_triangles):
        a = vertices[triangles[face, 0]]
        b = vertices[triangles[face, 1]]
        c = vertices[triangles[face, 2]]

        # bounding sphere first
        center = (a + b + c) / 3.0
        reach = wp.sqrt(wp.max(wp.length_sq(a - center), wp.max(wp.length_sq(b - center), wp.length_sq(c - center))))
        if wp.length(p - center) - reach > wp.sqrt(best):
            continue
        bary = triangle_closest(p, a, b, c)
        q = a * bary[0] + b * bary[1] + c * bary[2]
        dist_sq = wp.length_sq(p - q)
        # the first of several triangles that share the closest point
        if dist_sq + 1.0e-5 < best:
            best = dist_sq
            best_face = face
            best_bary = bary
            best_point = q
            normal = wp.cross(b - a, c - a)
            if wp.dot(p - q, normal) < 0.0:
                sign = -1.0
            else:
                sign = 1.0

    closest_face[tid] = best_face
    closest_point[tid] = best_point
    barycentric[tid] = best_bary
    distance[tid] = sign * wp.sqrt(best)

def reference():
    """The plane's foot point, else the closest of the three edges."""
    for i in range(num_points):
        p = points[i]
        best = max_distance
        closest_face[i] = -1
        distance[i] = max_distance
        for f in range(num_triangles):
            a = vertices[triangles[f, 0]]
            b = vertices[triangles[f, 1]]
            c = vertices[triangles[f, 2]]
            n = np.cross(b - a, c - a)
            area = np.dot(n, n)
            u = np.dot(np.cross(c - b, p - b), n)
            v = np.dot(np.cross(a - c, p - c), n)
            w = area - u - v
            x = np.array([0.0, 0.0, 0.0])
            if u >= 0.0 and v >= 0.0 and w >= 0.0 and area > 0.0:
                x = np.array([u / area, v / area, w / area])
            else:
                nearest = 1.0e6
                for edge in range(3):
                    s = a
                    e = b
                    if edge == 1:
                        s = b
                        e = c
                    if edge == 2:
                        s = c
                        e = a
                    t = np.dot(p - s, e - s) / np.dot(e - s, e - s)
                    if t < 0.0:
                        t = 0.0
                    if t > 1.0:
                        t = 1.0
                    d = np.linalg.norm(s + t * (e - s) - p)
                    if d < nearest:
                        nearest = d
                        x = np.array([1.0 - t, t, 0.0])
                        if edge == 1:
                            x = np.array([0.0, 1.0 - t, t])
                        if edge == 2:
                            x = np.array([t, 0.0, 1.0 - t])
            q = x[0] * a + x[1] * b + x[2] * c
            d = np.linalg.norm(p - q)
            if d * d + 1.0e-5 < best * best:
                best = d
                closest_face[i] = f
                closest_point[i] = q
                barycentric[i] = x
                distance[i] = d
                if np.dot(p - q, n) < 0.0:
                    distance[i] = -d
        if closest_face[i] < 0:
            closest_point[i] = p
