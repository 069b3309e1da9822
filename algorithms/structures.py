# === linear_skinning
# source: linear blend skinning (Magnenat-Thalmann, Laperriere and Thalmann 1988)
# task: deform the vertices of a mesh by the poses of its bones, with four weighted bones a vertex, and bound the result
# about: A bone moves a vertex from its place at rest: the inverse of the pose at rest, then the pose now.
# domain: graphics
# weight: 10
# sizes: num_vertices = 1 7 71 300; num_bones = 2 3 6 20
# - rest: transform[num_bones] rotation(); poses of the bones at rest
# - pose: transform[num_bones] rotation(); poses of the bones now
# - vertices: vec3[num_vertices] uniform(-1.0, 1.0); vertices at rest
# - bones: int[num_vertices, 4] maybe(num_bones); bones of each vertex, -1 for none
# - weights: float[num_vertices, 4] uniform(0.1, 1.0); weight of each bone of a vertex
# - skinned: vec3[num_vertices] zeros; vertices in the new pose
# - bound_count: int[num_vertices] zeros; bones that move each vertex
# - height: float[1] full(-1000.0); largest coordinate along z
@kernel[num_vertices] rigid transform, gather, element vertex gather
def blend():
    """Weighted mean of what the bones do to the vertex."""
    v = wp.tid()
    guard v < num_vertices
    total = float(0.0)
    count = int(0)
    moved = wp.vec3()
    for k in range(4):
        b = bones[v, k]
        if b >= 0:
            #? way
            local = wp.transform_point(wp.transform_inverse(rest[b]), vertices[v])
            moved += weights[v, k] * wp.transform_point(pose[b], local)
            #|
            # one transformation for both
            through = wp.transform_multiply(pose[b], wp.transform_inverse(rest[b]))
            moved += weights[v, k] * wp.transform_point(through, vertices[v])
            #.
            total += weights[v, k]
            count += 1
    # a vertex without bones stays where it is
    if count > 0:
        skinned[v] = moved / total
    else:
        skinned[v] = vertices[v]
    bound_count[v] = count

@kernel[num_vertices] atomic min max
def highest_vertex():
    """Largest height."""
    v = wp.tid()
    guard v < num_vertices
    let p = skinned[v]
    wp.atomic_max(height, 0, p[2])

def reference():
    for v in range(num_vertices):
        total = 0.0
        for k in range(4):
            if bones[v, k] >= 0:
                total = total + weights[v, k]
                bound_count[v] = bound_count[v] + 1
        if bound_count[v] == 0:
            skinned[v] = vertices[v]
        for k in range(4):
            if bones[v, k] >= 0:
                r = rest[bones[v, k]]
                q = pose[bones[v, k]]
                d = vertices[v] - np.array([r[0], r[1], r[2]])
                u = np.array([-r[3], -r[4], -r[5]])
                t = np.cross(u, d) * 2.0
                d = d + t * r[6] + np.cross(u, t)
                u = np.array([q[3], q[4], q[5]])
                t = np.cross(u, d) * 2.0
                d = d + t * q[6] + np.cross(u, t) + np.array([q[0], q[1], q[2]])
                skinned[v] = skinned[v] + d * (weights[v, k] / total)
        height[0] = max(height[0], skinned[v][2])

# === truss_forces
# source: bar elements in space (Bathe 1996, sec. 4.2)
# task: compute the strains and axial forces of the bars of a truss and add them up at its nodes
# about: Bars that are stressed beyond the yield stress carry that stress and no more. Supported nodes get no force.
# domain: physics
# weight: 8
# sizes: num_bars = 1 9 75 400; num_nodes = 3 6 30 150
# - ends: vec2i[num_bars] index(num_nodes); nodes at the ends of each bar
# - rest: vec3[num_nodes] uniform(-1.0, 1.0); places of the nodes without load [m]
# - shift: vec3[num_nodes] uniform(-0.05, 0.05); displacements [m]
# - area: float[num_bars] uniform(0.5, 1.5); cross sections [m^2]
# - supported: int[num_nodes] uniform(0, 2); 1 for nodes that are held
# - axial: float[num_bars] zeros; axial forces, positive for tension [N]
# - forces: vec3[num_nodes] zeros; sums of the forces on the nodes [N]
# - num_yielding: int[1] zeros; bars beyond the yield stress
# - modulus: float = 10.0; Young's modulus [Pa]
# - yield_stress: float = 0.4; largest stress [Pa]
# - EPS: float = 1.0e-6; shorter bars have no direction
@kernel[num_bars] spring force, element vertex gather, gather, mask or active filter
def bar_forces():
    """Strain, stress and force of one bar."""
    b = wp.tid()
    guard b < num_bars
    let i = ends[b][0]
    let j = ends[b][1]
    d0 = rest[j] - rest[i]
    d = d0 + shift[j] - shift[i]
    length = wp.length(d0)
    # both ends are one node
    require length > EPS
    stress = modulus * (wp.length(d) - length) / length
    #? limit
    if wp.abs(stress) > yield_stress:
        wp.atomic_add(num_yielding, 0, 1)
        stress = wp.clamp(stress, -yield_stress, yield_stress)
    #|
    if stress > yield_stress:
        stress = yield_stress
        wp.atomic_add(num_yielding, 0, 1)
    elif stress < -yield_stress:
        stress = -yield_stress
        wp.atomic_add(num_yielding, 0, 1)
    #.
    axial[b] = stress * area[b]

@kernel[num_bars] scatter add, element vertex gather, gather
def node_forces():
    """A bar in tension pulls its ends together."""
    b = wp.tid()
    guard b < num_bars
    i = ends[b][0]
    j = ends[b][1]
    d = rest[j] + shift[j] - rest[i] - shift[i]
    length = wp.length(d)
    require length > EPS
    f = d * (axial[b] / length)
    if supported[i] == 0:
        wp.atomic_add(forces, i, f)
    if supported[j] == 0:
        wp.atomic_sub(forces, j, f)

def reference():
    for b in range(num_bars):
        i = ends[b][0]
        j = ends[b][1]
        if i != j:
            a = rest[j] - rest[i]
            d = rest[j] - rest[i] + shift[j] - shift[i]
            ratio = math.sqrt(np.dot(d, d) / np.dot(a, a))
            s = modulus * ratio - modulus
            if s > yield_stress or s < -yield_stress:
                num_yielding[0] = num_yielding[0] + 1
            s = min(max(s, -yield_stress), yield_stress)
            axial[b] = s * area[b]
            for side in range(2):
                node = ends[b][side]
                sign = 1.0 - 2.0 * float(side)
                if supported[node] != 1:
                    forces[node] = forces[node] + d * (sign * axial[b] / math.sqrt(np.dot(d, d)))

# === poisson_triangles
# source: linear finite elements on triangles, element by element (Braess 2007, ch. II)
# task: apply the stiffness matrix of linear triangles to a nodal field and add up the load of a source, element by element
# domain: physics
# weight: 10
# sizes: num_elements = 1 9 75 400; num_nodes = 4 8 40 200
# - elements: vec3i[num_elements] index(num_nodes); nodes of each triangle
# - nodes: vec2[num_nodes] uniform(-1.0, 1.0); places of the nodes
# - u: float[num_nodes] uniform(-1.0, 1.0); nodal field
# - conductivity: float[num_elements] uniform(0.5, 2.0); conductivity of each element
# - source: float[num_elements] uniform(-1.0, 1.0); source in each element
# - fixed: int[num_nodes] uniform(0, 2); 1 for nodes with a prescribed value
# - residual: float[num_nodes] zeros; load less the matrix times the field
# - energy: float[1] zeros; energy of the field
# - EPS: float = 1.0e-3; triangles of a smaller area are left out
@kernel[num_elements] fem elasticity, element vertex gather, scatter add, gather
def element_residuals():
    """Gradient of the field on one triangle, tested with the three shape functions."""
    e = wp.tid()
    guard e < num_elements
    a = elements[e][0]
    b = elements[e][1]
    c = elements[e][2]
    pa = nodes[a]
    pb = nodes[b]
    pc = nodes[c]
    twice_area = (pb[0] - pa[0]) * (pc[1] - pa[1]) - (pc[0] - pa[0]) * (pb[1] - pa[1])
    area = 0.5 * wp.abs(twice_area)
    require area > EPS
    # gradients of the shape functions
    ga = wp.vec2(pb[1] - pc[1], pc[0] - pb[0]) / twice_area
    gb = wp.vec2(pc[1] - pa[1], pa[0] - pc[0]) / twice_area
    gc = {{wp.vec2(pa[1] - pb[1], pb[0] - pa[0]) / twice_area || -(ga + gb)}}
    flux = conductivity[e] * (u[a] * ga + u[b] * gb + u[c] * gc)
    load = source[e] * area / 3.0
    if fixed[a] == 0:
        wp.atomic_add(residual, a, load - area * wp.dot(flux, ga))
    if fixed[b] == 0:
        wp.atomic_add(residual, b, load - area * wp.dot(flux, gb))
    if fixed[c] == 0:
        wp.atomic_add(residual, c, load - area * wp.dot(flux, gc))
    wp.atomic_add(energy, 0, 0.5 * area * wp.dot(flux, flux) / conductivity[e])

def reference():
    """The element matrix by cotangents of the angles."""
    for e in range(num_elements):
        pa = nodes[elements[e][0]]
        pb = nodes[elements[e][1]]
        pc = nodes[elements[e][2]]
        area = abs(0.5 * (pa[0] * (pb[1] - pc[1]) + pb[0] * (pc[1] - pa[1]) + pc[0] * (pa[1] - pb[1])))
        if area > EPS:
            for s in range(3):
                i = elements[e][s]
                j = elements[e][(s + 1) % 3]
                k = elements[e][(s + 2) % 3]
                x = nodes[j] - nodes[i]
                y = nodes[k] - nodes[i]
                cot = np.dot(x, y) / (2.0 * area) * conductivity[e] * 0.5
                if fixed[i] == 0:
                    residual[i] = residual[i] + source[e] * area / 3.0
                if fixed[j] == 0:
                    residual[j] = residual[j] - cot * (u[j] - u[k])
                if fixed[k] == 0:
                    residual[k] = residual[k] - cot * (u[k] - u[j])
                energy[0] = energy[0] + 0.5 * cot * (u[j] - u[k]) ** 2.0

# === sphere_impulses
# source: collision impulses with restitution (Baraff 1997; Mirtich 1996)
# task: resolve the collisions of listed pairs of spheres by impulses with restitution and friction, added up at the bodies
# about: Only pairs that overlap and approach get an impulse.
# domain: physics
# weight: 6
# sizes: num_pairs = 1 9 75 300; num_bodies = 2 6 30 100
# - pairs: vec2i[num_pairs] index(num_bodies); spheres of each pair
# - positions: vec3[num_bodies] uniform(-0.6, 0.6); centres of the spheres [m]
# - velocities: vec3[num_bodies] uniform(-1.0, 1.0); velocities [m/s]
# - radii: float[num_bodies] uniform(0.3, 0.6); radii [m]
# - inv_mass: float[num_bodies] uniform(0.2, 1.0); inverse masses [1/kg]
# - impulse: float[num_pairs] zeros; normal impulse of each pair [N s]
# - delta: vec3[num_bodies] zeros; changes of the velocities [m/s]
# - num_hits: int[1] zeros; pairs with an impulse
# - restitution: float = 0.5; velocity after the collision beside that before
# - friction: float = 0.3; coefficient of friction
# - EPS: float = 1.0e-6; keeps lengths from zero
@kernel[num_pairs] contact or penetration, gather, scatter add, mask or active filter
def collide_pairs():
    """Impulse along the normal, and against the sliding."""
    p = wp.tid()
    guard p < num_pairs
    a = pairs[p][0]
    b = pairs[p][1]
    d = positions[b] - positions[a]
    distance = wp.length(d)
    # a sphere does not meet itself
    require a != b and distance > EPS and distance < radii[a] + radii[b]
    n = d / distance
    v = velocities[b] - velocities[a]
    vn = wp.dot(v, n)
    if vn < 0.0:
        weight = inv_mass[a] + inv_mass[b]
        jn = -(1.0 + restitution) * vn / weight
        slide = v - n * vn
        speed = wp.length(slide)
        #? cone
        jt = wp.min(friction * jn, speed / weight)
        #|
        jt = speed / weight
        # within the cone of friction
        if jt > friction * jn:
            jt = friction * jn
        #.
        j = n * jn - slide * (jt / wp.max(speed, EPS))
        impulse[p] = jn
        wp.atomic_sub(delta, a, j * inv_mass[a])
        wp.atomic_add(delta, b, j * inv_mass[b])
        wp.atomic_add(num_hits, 0, 1)

@kernel[num_bodies] in place update, elementwise map
def apply_changes():
    """Add the changes to the velocities."""
    i = wp.tid()
    guard i < num_bodies
    velocities[i] = velocities[i] + delta[i]

def reference():
    for p in range(num_pairs):
        a = pairs[p][0]
        b = pairs[p][1]
        gap = np.linalg.norm(positions[a] - positions[b]) - radii[a] - radii[b]
        if a != b and gap < 0.0:
            n = (positions[a] - positions[b]) / np.linalg.norm(positions[a] - positions[b])
            v = velocities[a] - velocities[b]
            closing = -np.dot(v, n)
            if closing > 0.0:
                w = inv_mass[a] + inv_mass[b]
                impulse[p] = closing * (1.0 + restitution) / w
                t = v + n * closing
                size = np.linalg.norm(t)
                push = n * impulse[p] - t * (min(impulse[p] * friction, size / w) / (size + 1.0e-12))
                delta[a] = delta[a] + push * inv_mass[a]
                delta[b] = delta[b] - push * inv_mass[b]
                num_hits[0] = num_hits[0] + 1
    for i in range(num_bodies):
        velocities[i] = velocities[i] + delta[i]

# === motion_subspace
# source: velocities of jointed bodies by spatial vectors (Featherstone 2008, ch. 4)
# task: compute the spatial velocities of the bodies of jointed trees and their kinetic energies
# about: A body moves like its parent, and in addition by the speed of its joint about an axis. All vectors are in the world frame, with the angular part first.
# domain: physics
# weight: 9
# sizes: num_trees = 1 3 18 60; num_bodies = 2 3 4 8
# - parent: int[num_bodies] tree(); parent of each body, -1 for the root
# - axes: spatial_vector[num_trees, num_bodies] uniform(-1.0, 1.0); axes of the joints
# - speed: float[num_trees, num_bodies] uniform(-1.0, 1.0); speeds of the joints
# - mass: float[num_bodies] uniform(0.5, 2.0); masses [kg]
# - inertia: vec3[num_bodies] uniform(0.1, 0.5); principal moments of inertia [kg m^2]
# - twist: spatial_vector[num_trees, num_bodies] zeros; velocities of the bodies
# - energy: float[num_trees] zeros; kinetic energies [J]
# - fastest: float[1] zeros; largest linear speed [m/s]
@kernel[num_trees] spatial algebra, pointer chase or walk
def body_twists():
    """From the root outwards."""
    t = wp.tid()
    guard t < num_trees
    for b in range(num_bodies):
        v = axes[t, b] * speed[t, b]
        p = parent[b]
        if p >= 0:
            {{v += twist[t, p] || v = v + twist[t, p]}}
        twist[t, b] = v

@kernel[num_trees] spatial algebra, loop reduction, atomic min max
def kinetic_energy():
    """Half of mass times speed squared, and of the turning."""
    t = wp.tid()
    guard t < num_trees
    total = float(0.0)
    for b in range(num_bodies):
        w = wp.spatial_top(twist[t, b])
        v = wp.spatial_bottom(twist[t, b])
        total += 0.5 * mass[b] * wp.dot(v, v)
        #? turn
        total += 0.5 * wp.dot(w, wp.cw_mul(inertia[b], w))
        #|
        for axis in range(3):
            total += 0.5 * inertia[b][axis] * w[axis] * w[axis]
        #.
        wp.atomic_max(fastest, 0, wp.length(v))
    energy[t] = total

def reference():
    """Each body adds up the joints on its way to the root."""
    for t in range(num_trees):
        for b in range(num_bodies):
            at = b
            for k in range(num_bodies):
                if at >= 0:
                    for c in range(6):
                        twist[t, b][c] = twist[t, b][c] + axes[t, at][c] * speed[t, at]
                    at = parent[at]
            linear = 0.0
            for c in range(3):
                x = twist[t, b][c]
                y = twist[t, b][c + 3]
                energy[t] = energy[t] + inertia[b][c] * x * x / 2.0 + mass[b] * y * y / 2.0
                linear = linear + y * y
            fastest[0] = max(fastest[0], math.sqrt(linear))

# === contact_islands
# source: islands of bodies in contact by minimum labels (Hopcroft and Tarjan 1973; Bender, Erleben and Trinkle 2014)
# task: spread the smallest labels over the contacts of movable bodies and put islands without fast bodies to sleep
# about: Three rounds of spreading. Bodies that cannot move belong to no island and connect nothing.
# domain: physics
# weight: 10
# sizes: num_contacts = 1 9 75 300; num_bodies = 2 6 40 120
# - contacts: vec2i[num_contacts] index(num_bodies); bodies of each contact
# - movable: int[num_bodies] uniform(0, 2); 1 for bodies that can move
# - speed: float[num_bodies] uniform(0.0, 1.0); speeds of the bodies
# - label: int[num_bodies] range(); label of each body, its own number at first
# - spread_label: int[num_bodies] range(); labels after a round
# - awake: int[num_bodies] zeros; 1 for labels with a fast body
# - sleeping: int[num_bodies] zeros; 1 for bodies that go to sleep
# - limit: float = 0.6; speed of fast bodies
# run: spread, take_labels, spread, take_labels, spread, take_labels, wake, mark_sleeping
@kernel[num_contacts] atomic min max, gather, coo or edge assembly
def spread():
    """Both bodies of a contact get the smaller label."""
    c = wp.tid()
    guard c < num_contacts
    let a = contacts[c][0]
    let b = contacts[c][1]
    require movable[a] == 1 and movable[b] == 1
    let smaller = wp.min(label[a], label[b])
    wp.atomic_min(spread_label, a, smaller)
    wp.atomic_min(spread_label, b, smaller)

@kernel[num_bodies] copy convert
def take_labels():
    """The labels of the next round."""
    i = wp.tid()
    guard i < num_bodies
    label[i] = spread_label[i]

@kernel[num_bodies] scatter, mask or active filter, atomic min max
def wake():
    """A fast body keeps its island awake."""
    i = wp.tid()
    guard i < num_bodies
    {{if movable[i] == 1 and speed[i] > limit: || if speed[i] > limit and movable[i] != 0:}}
        wp.atomic_max(awake, label[i], 1)

@kernel[num_bodies] gather, mask or active filter
def mark_sleeping():
    """Bodies of other islands sleep."""
    i = wp.tid()
    guard i < num_bodies
    require movable[i] == 1
    if awake[label[i]] == 0:
        sleeping[i] = 1

def reference():
    """The smallest number that three contacts lead to."""
    for k in range(3):
        for i in range(num_bodies):
            spread_label[i] = label[i]
            for c in range(num_contacts):
                a = contacts[c][0]
                b = contacts[c][1]
                if movable[a] * movable[b] == 1:
                    if a == i:
                        spread_label[i] = min(spread_label[i], label[b])
                    if b == i:
                        spread_label[i] = min(spread_label[i], label[a])
        for i in range(num_bodies):
            label[i] = spread_label[i]
    for i in range(num_bodies):
        sleeping[i] = movable[i]
        for j in range(num_bodies):
            if label[j] == label[i] and movable[j] == 1 and speed[j] > limit:
                awake[label[i]] = 1
                sleeping[i] = 0

# === sdf_collision
# source: particles against sampled distance fields with trilinear interpolation (Fuhrmann, Sobottka and Gross 2003)
# task: push particles out of a solid that a grid of signed distances describes and take the inward part off their velocities
# about: Distances between grid points are interpolated linearly along each axis. Particles outside of the grid are free.
# domain: physics
# weight: 6
# sizes: num_particles = 1 7 71 300; n = 6 6 7 12
# - sdf: float[n, n, n] uniform(-0.3, 0.5); signed distances at the grid points, in cells, negative inside
# - positions: vec3[num_particles] uniform(-0.4, 5.4); positions in cells of the grid, moved in place
# - velocities: vec3[num_particles] uniform(-1.0, 1.0); velocities, changed in place
# - distance: float[num_particles] full(1.0); distance from the solid before the step, in cells, 1 outside of the grid
# - num_inside: int[1] zeros; particles that were inside
# - EPS: float = 1.0e-4; shorter gradients have no direction
@func
def corner(sdf: wp.array3d(dtype=float), z: int, y: int, fx: float, x: int) -> float:
    """Value between two grid points along x."""
    return sdf[z, y, x] + fx * (sdf[z, y, x + 1] - sdf[z, y, x])

@func
def interpolate(sdf: wp.array3d(dtype=float), z: int, y: int, x: int, f: wp.vec3) -> float:
    """Value between eight grid points."""
    #? mix
    near = wp.lerp(corner(sdf, z, y, f[0], x), corner(sdf, z, y + 1, f[0], x), f[1])
    far = wp.lerp(corner(sdf, z + 1, y, f[0], x), corner(sdf, z + 1, y + 1, f[0], x), f[1])
    return wp.lerp(near, far, f[2])
    #|
    near = corner(sdf, z, y, f[0], x) * (1.0 - f[1]) + corner(sdf, z, y + 1, f[0], x) * f[1]
    far = corner(sdf, z + 1, y, f[0], x) * (1.0 - f[1]) + corner(sdf, z + 1, y + 1, f[0], x) * f[1]
    return near + (far - near) * f[2]
    #.

@kernel[num_particles] interpolation, multilinear interpolation, contact or penetration, in place update
def push_out():
    """Distance, its gradient in the cell, and the correction along it."""
    i = wp.tid()
    guard i < num_particles
    p = positions[i]
    x = int(wp.floor(p[0]))
    y = int(wp.floor(p[1]))
    z = int(wp.floor(p[2]))
    if x < 0 or y < 0 or z < 0 or x >= n - 1 or y >= n - 1 or z >= n - 1:
        return
    f = p - wp.vec3(float(x), float(y), float(z))
    d = interpolate(sdf, z, y, x, f)
    distance[i] = d
    if d < 0.0:
        gx = interpolate(sdf, z, y, x, wp.vec3(1.0, f[1], f[2])) - interpolate(sdf, z, y, x, wp.vec3(0.0, f[1], f[2]))
        gy = interpolate(sdf, z, y, x, wp.vec3(f[0], 1.0, f[2])) - interpolate(sdf, z, y, x, wp.vec3(f[0], 0.0, f[2]))
        gz = interpolate(sdf, z, y, x, wp.vec3(f[0], f[1], 1.0)) - interpolate(sdf, z, y, x, wp.vec3(f[0], f[1], 0.0))
        g = wp.vec3(gx, gy, gz)
        wp.atomic_add(num_inside, 0, 1)
        if wp.length(g) > EPS:
            normal = wp.normalize(g)
            positions[i] = p - normal * d
            inward = wp.min(wp.dot(velocities[i], normal), 0.0)
            velocities[i] = velocities[i] - normal * inward

def reference():
    """Weights of the eight corners and their derivatives."""
    for i in range(num_particles):
        p = positions[i]
        free = 0
        for axis in range(3):
            if p[axis] < 0.0 or p[axis] >= float(n - 1):
                free = 1
        if free == 0:
            d = 0.0
            g = np.array([0.0, 0.0, 0.0])
            for k in range(8):
                dx = k % 2
                dy = (k // 2) % 2
                dz = k // 4
                wx = 1.0 - abs(p[0] - float(int(p[0]) + dx))
                wy = 1.0 - abs(p[1] - float(int(p[1]) + dy))
                wz = 1.0 - abs(p[2] - float(int(p[2]) + dz))
                v = sdf[int(p[2]) + dz, int(p[1]) + dy, int(p[0]) + dx]
                d = d + wx * wy * wz * v
                sx = float(2 * dx - 1)
                sy = float(2 * dy - 1)
                sz = float(2 * dz - 1)
                g = g + np.array([sx * wy * wz * v, sy * wx * wz * v, sz * wx * wy * v])
            distance[i] = d
            if d < 0.0:
                num_inside[0] = num_inside[0] + 1
                size = np.linalg.norm(g)
                if size > EPS:
                    positions[i] = positions[i] - g * (d / size)
                    into = np.dot(velocities[i], g) / size
                    if into < 0.0:
                        velocities[i] = velocities[i] - g * (into / size)
