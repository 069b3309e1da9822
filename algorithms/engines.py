# === mesh_distance
# source: closest points of triangles (Ericson 2005, sec. 5.1.5), found by a tree of boxes
# task: find the closest point of a triangle mesh for each of many points, how far it is, and the value there between those at the vertices
# about: Where no face is within reach, the distance is the reach and the point itself is the closest one.
# domain: geometry
# weight: 16
# sizes: num_points = 1 7 71 200; num_faces = 1 5 12 40; num_vertices = 3 7 14 42
# - vertices: vec3[num_vertices] uniform(-1.0, 1.0); corners of the faces
# - faces: int[3 * num_faces] strip(num_vertices); vertices of each face, three in turn
# - mesh: mesh(vertices, faces); triangle mesh with a tree over its faces
# - points: vec3[num_points] uniform(-1.5, 1.5); points that ask
# - values: float[num_vertices] uniform(0.0, 1.0); values at the vertices
# - distance: float[num_points] zeros; distances to the mesh
# - sampled: float[num_points] zeros; values at the closest points, -1 where there is none
# - closest: vec3[num_points] zeros; closest points of the mesh
# - reach: float = 0.75; largest distance that is looked at
@kernel[num_points] closest point, gather, element vertex gather
def measure_distances():
    """Ask the mesh for the closest point, and measure."""
    i = wp.tid()
    guard i < num_points
    p = points[i]
    query = wp.mesh_query_point_no_sign(mesh, p, reach)
    #? result
    if query.result:
        let found = wp.mesh_eval_position(mesh, query.face, query.u, query.v)
        closest[i] = found
        distance[i] = wp.length(found - p)
        let first = values[faces[3 * query.face]]
        let second = values[faces[3 * query.face + 1]]
        third = values[faces[3 * query.face + 2]]
        sampled[i] = query.u * first + query.v * second + (1.0 - query.u - query.v) * third
    else:
        # nothing within reach
        closest[i] = p
        distance[i] = reach
        sampled[i] = -1.0
    #|
    if not query.result:
        closest[i] = p
        distance[i] = reach
        sampled[i] = -1.0
        return
    f = query.face
    nearest = wp.mesh_eval_position(mesh, f, query.u, query.v)
    distance[i] = wp.length(p - nearest)
    closest[i] = nearest
    w = 1.0 - query.u - query.v
    sampled[i] = values[faces[3 * f]] * query.u + values[faces[3 * f + 1]] * query.v + values[faces[3 * f + 2]] * w
    #.

def reference():
    """All faces: the foot of the perpendicular where it is inside, and the edges."""
    for i in range(num_points):
        p = points[i]
        distance[i] = reach
        closest[i] = p
        sampled[i] = -1.0
        for f in range(num_faces):
            a = vertices[faces[3 * f]]
            b = vertices[faces[3 * f + 1]]
            c = vertices[faces[3 * f + 2]]
            n = np.cross(b - a, c - a)
            wa = np.dot(np.cross(c - b, p - b), n) / np.dot(n, n)
            wb = np.dot(np.cross(a - c, p - c), n) / np.dot(n, n)
            wc = 1.0 - wa - wb
            if wa >= 0.0 and wb >= 0.0 and wc >= 0.0:
                q = wa * a + wb * b + wc * c
                if np.linalg.norm(q - p) < distance[i]:
                    distance[i] = np.linalg.norm(q - p)
                    closest[i] = q
                    sampled[i] = wa * values[faces[3 * f]] + wb * values[faces[3 * f + 1]]
                    sampled[i] = sampled[i] + wc * values[faces[3 * f + 2]]
            for k in range(3):
                s = vertices[faces[3 * f + k]]
                e = vertices[faces[3 * f + (k + 1) % 3]]
                t = np.dot(p - s, e - s) / np.dot(e - s, e - s)
                t = max(0.0, min(1.0, t))
                q = s + t * (e - s)
                if np.linalg.norm(q - p) < distance[i]:
                    distance[i] = np.linalg.norm(q - p)
                    closest[i] = q
                    at_start = values[faces[3 * f + k]]
                    sampled[i] = at_start + t * (values[faces[3 * f + (k + 1) % 3]] - at_start)

# === light_visibility
# source: shadow rays (Whitted 1980)
# task: light points of a scene, each by its lamp, where no triangle of a mesh is in between
# about: A point is lit from the side of its normal. Points that turn away from their lamp stay dark and are not counted.
# domain: graphics
# weight: 14
# split: test
# sizes: num_points = 1 9 71 200; num_lamps = 1 2 4 5; num_faces = 1 6 12 40; num_vertices = 3 8 14 42
# - vertices: vec3[num_vertices] uniform(-1.0, 1.0); corners of the faces
# - faces: int[3 * num_faces] strip(num_vertices); vertices of each face, three in turn
# - mesh: mesh(vertices, faces); triangle mesh with a tree over its faces
# - points: vec3[num_points] uniform(-1.0, 1.0); lit points
# - normals: vec3[num_points] unit(); normals; unit vectors to the lit side of the points
# - brightness: float[num_points] zeros; light that arrives at each point
# - num_shadowed: int[1] zeros; points in the shadow of a face
# - lamps: vec3[num_lamps] uniform(-2.0, 2.0); places of the lamps
# - lamp_of: int[num_points] index(num_lamps); lamp of each point
# - power: float = 2.0; light of a lamp at distance 1
@kernel[num_points] gather
def light_points():
    """Look from each point to its lamp."""
    i = wp.tid()
    guard i < num_points
    p = points[i]
    to_lamp = lamps[lamp_of[i]] - p
    reach = wp.length(to_lamp)
    direction = to_lamp / reach
    facing = wp.dot(normals[i], direction)
    #? ask
    if facing > 0.0:
        if wp.mesh_query_ray_anyhit(mesh, p, direction, reach):
            wp.atomic_add(num_shadowed, 0, 1)
        else:
            brightness[i] = power * facing / (reach * reach)
    #|
    require facing > 0.0
    query = wp.mesh_query_ray(mesh, p, direction, reach)
    if query.result:
        # something is in between
        wp.atomic_add(num_shadowed, 0, 1)
    else:
        brightness[i] = power * facing / (reach * reach)
    #.

def reference():
    """All faces: where the plane is met, and on which side of the edges."""
    for i in range(num_points):
        p = points[i]
        d = lamps[lamp_of[i]] - p
        facing = np.dot(normals[i], d) / np.linalg.norm(d)
        hits = 0
        for f in range(num_faces):
            a = vertices[faces[3 * f]] - p
            b = vertices[faces[3 * f + 1]] - p
            c = vertices[faces[3 * f + 2]] - p
            u = np.dot(d, np.cross(c, b))
            v = np.dot(d, np.cross(a, c))
            w = np.dot(d, np.cross(b, a))
            n = np.cross(b - a, c - a)
            same = (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0)
            if same and np.dot(n, d) != 0.0:
                t = np.dot(n, a) / np.dot(n, d)
                if t > 0.0 and t < 1.0:
                    hits = hits + 1
        if facing > 0.0:
            if hits > 0:
                num_shadowed[0] = num_shadowed[0] + 1
            else:
                brightness[i] = power * facing / np.dot(d, d)

# === ambient_occlusion
# source: ambient occlusion by rays (Zhukov et al. 1998; Landis 2002)
# task: estimate how much of the view from each of many points a triangle mesh leaves open, by rays in fixed directions
# about: A point looks to the side of its normal: directions to the other side are turned over. A ray counts as blocked if it meets a face within reach.
# domain: graphics
# weight: 11
# sizes: num_points = 1 7 71 120; num_rays = 1 5 8 32; num_faces = 1 6 12 40; num_vertices = 3 8 14 42
# - vertices: vec3[num_vertices] uniform(-1.0, 1.0); corners of the faces
# - faces: int[3 * num_faces] strip(num_vertices); vertices of each face, three in turn
# - mesh: mesh(vertices, faces); triangle mesh with a tree over its faces
# - points: vec3[num_points] uniform(-1.0, 1.0); points that look around
# - normals: vec3[num_points] unit(); normals; unit vectors to the side that the points look to
# - directions: vec3[num_rays] unit(); unit vectors along the rays
# - openness: float[num_points] zeros; share of the rays that are free, weighted by the cosine
# - blocked: int[num_points] zeros; rays that meet a face
# - reach: float = 1.5; length of the rays
@kernel[num_points] loop reduction
def gather_openness():
    """Send the rays of a point one after the other."""
    i = wp.tid()
    guard i < num_points
    p = points[i]
    n = normals[i]
    total = float(0.0)
    open_weight = float(0.0)
    count = int(0)
    for k in range(num_rays):
        ray = directions[k]
        cosine = wp.dot(ray, n)
        #? turn
        if cosine < 0.0:
            ray = -ray
            cosine = -cosine
        #|
        ray = wp.where(cosine < 0.0, -ray, ray)
        cosine = wp.abs(cosine)
        #.
        total += cosine
        #? ask
        if wp.mesh_query_ray_anyhit(mesh, p, ray, reach):
            count += 1
        else:
            open_weight += cosine
        #|
        query = wp.mesh_query_ray(mesh, p, ray, reach)
        if query.result:
            count += 1
        else:
            open_weight += cosine
        #.
    openness[i] = open_weight / total
    blocked[i] = count

def reference():
    """All rays with all faces."""
    for i in range(num_points):
        total = 0.0
        for k in range(num_rays):
            d = directions[k]
            if np.dot(d, normals[i]) < 0.0:
                d = -d
            hits = 0
            for f in range(num_faces):
                a = vertices[faces[3 * f]] - points[i]
                b = vertices[faces[3 * f + 1]] - points[i]
                c = vertices[faces[3 * f + 2]] - points[i]
                u = np.dot(d, np.cross(c, b))
                v = np.dot(d, np.cross(a, c))
                w = np.dot(d, np.cross(b, a))
                n = np.cross(b - a, c - a)
                same = (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0)
                if same and np.dot(n, d) != 0.0:
                    t = np.dot(n, a) / np.dot(n, d)
                    if t > 0.0 and t < reach:
                        hits = hits + 1
            total = total + np.dot(d, normals[i])
            if hits > 0:
                blocked[i] = blocked[i] + 1
            else:
                openness[i] = openness[i] + np.dot(d, normals[i])
        openness[i] = openness[i] / total

# === mesh_depth_image
# source: ray casting (Roth 1982)
# task: draw the depth image of a triangle mesh by parallel rays, and shade the faces by the grey values at their vertices and their slope
# about: The view is along -z from the plane at the given height and shows x and y from -1 to 1. Pixels without a face get the depth of the background and shade 0.
# domain: graphics
# weight: 14
# sizes: ny = 1 3 8 24; nx = 1 4 9 24; num_faces = 1 6 12 40; num_vertices = 3 8 14 42
# - vertices: vec3[num_vertices] uniform(-1.0, 1.0); corners of the faces
# - faces: int[3 * num_faces] strip(num_vertices); vertices of each face, three in turn
# - mesh: mesh(vertices, faces); triangle mesh with a tree over its faces
# - colors: float[num_vertices] uniform(0.0, 1.0); grey values at the vertices
# - depth: float[ny, nx] zeros; distance from the plane of the view to the first face
# - shade: float[ny, nx] zeros; grey value of the face there, times the cosine between the face and the view
# - view_height: float = 1.5; height of the plane of the view
# - background: float = 4.0; depth where there is no face
@kernel[ny, nx] gather, element vertex gather
def draw_depth():
    """One ray through the middle of each pixel."""
    grid i, j
    let x = (float(j) + 0.5) / float(nx) * 2.0 - 1.0
    let y = (float(i) + 0.5) / float(ny) * 2.0 - 1.0
    start = wp.vec3(x, y, view_height)
    query = wp.mesh_query_ray(mesh, start, wp.vec3(0.0, 0.0, -1.0), background)
    #? result
    if query.result:
        depth[i, j] = query.t
        let a = colors[faces[3 * query.face]]
        let b = colors[faces[3 * query.face + 1]]
        c = colors[faces[3 * query.face + 2]]
        grey = query.u * a + query.v * b + (1.0 - query.u - query.v) * c
        shade[i, j] = grey * wp.abs(query.normal[2])
    else:
        depth[i, j] = background
    #|
    d = background
    if query.result:
        d = query.t
        f = query.face
        w = 1.0 - query.u - query.v
        grey = query.u * colors[faces[3 * f]] + query.v * colors[faces[3 * f + 1]] + w * colors[faces[3 * f + 2]]
        shade[i, j] = wp.abs(query.normal[2]) * grey
    depth[i, j] = d
    #.

def reference():
    """All faces below a pixel, by their areas in the plane."""
    for i in range(ny):
        for j in range(nx):
            depth[i, j] = background
            x = (float(j) + 0.5) / float(nx) * 2.0 - 1.0
            y = (float(i) + 0.5) / float(ny) * 2.0 - 1.0
            for f in range(num_faces):
                a = vertices[faces[3 * f]]
                b = vertices[faces[3 * f + 1]]
                c = vertices[faces[3 * f + 2]]
                wa = (b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)
                wb = (c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)
                wc = (a[0] - x) * (b[1] - y) - (a[1] - y) * (b[0] - x)
                inside = (wa >= 0.0 and wb >= 0.0 and wc >= 0.0) or (wa <= 0.0 and wb <= 0.0 and wc <= 0.0)
                if inside and wa + wb + wc != 0.0:
                    z = (wa * a[2] + wb * b[2] + wc * c[2]) / (wa + wb + wc)
                    if view_height - z < depth[i, j]:
                        n = np.cross(b - a, c - a)
                        depth[i, j] = view_height - z
                        grey = wa * colors[faces[3 * f]] + wb * colors[faces[3 * f + 1]]
                        grey = grey + wc * colors[faces[3 * f + 2]]
                        shade[i, j] = grey / (wa + wb + wc) * abs(n[2]) / np.linalg.norm(n)

# === box_tree_broad_phase
# source: broad phase of collision detection by a bounding volume hierarchy (Ericson 2005, chapter 6)
# task: put boxes around moving spheres and find, by a tree of the boxes, which of them overlap
# about: Boxes that touch overlap. A sphere counts those that its layer sees. The total counts a pair if the layer of the sphere with the lower number sees that of the other one.
# domain: physics
# weight: 14
# sizes: num_spheres = 1 9 71 300; num_layers = 1 2 3 4
# - centers: vec3[num_spheres] uniform(-1.0, 1.0); centres of the spheres
# - radii: float[num_spheres] uniform(0.05, 0.3); radii of the spheres
# - lowers: vec3[num_spheres] zeros; lower corners of the boxes
# - uppers: vec3[num_spheres] zeros; upper corners of the boxes
# - tree: bvh(lowers, uppers); tree of the boxes
# - layer: int[num_spheres] index(num_layers); layer of each sphere
# - sees: int[num_layers, num_layers] uniform(0, 2); 1 where spheres of the layer of a row look for those of a column
# - num_overlaps: int[num_spheres] zeros; other boxes that each box overlaps and sees
# - num_pairs: int[1] zeros; pairs of boxes that overlap
# - margin: float = 0.0625; distance between a sphere and its box
@kernel[num_spheres] elementwise map
def bound_spheres():
    """A box around each sphere, with a margin."""
    i = wp.tid()
    guard i < num_spheres
    #? half
    half = radii[i] + margin
    lowers[i] = centers[i] - wp.vec3(half, half, half)
    uppers[i] = centers[i] + wp.vec3(half, half, half)
    #|
    let r = radii[i] + margin
    half = wp.vec3(r, r, r)
    c = centers[i]
    lowers[i] = c - half
    uppers[i] = c + half
    #.

@kernel[num_spheres] gather, pointer chase or walk
def find_overlaps():
    """Ask the tree for the boxes that meet the box of a sphere."""
    i = wp.tid()
    guard i < num_spheres
    query = wp.bvh_query_aabb(tree, lowers[i], uppers[i])
    other = int(0)
    count = int(0)
    while wp.bvh_query_next(query, other):
        #? skip
        if other != i and sees[layer[i], layer[other]] == 1:
            count += 1
            if other > i:
                wp.atomic_add(num_pairs, 0, 1)
        #|
        if other == i or sees[layer[i], layer[other]] == 0:
            continue
        count += 1
        # each pair once
        if i < other:
            wp.atomic_add(num_pairs, 0, 1)
        #.
    num_overlaps[i] = count

def reference():
    """All pairs, axis by axis."""
    for i in range(num_spheres):
        r = radii[i] + margin
        lowers[i] = centers[i] - np.array([r, r, r])
        uppers[i] = centers[i] + np.array([r, r, r])
    for i in range(num_spheres):
        for j in range(i):
            apart = 0
            for axis in range(3):
                if abs(centers[i][axis] - centers[j][axis]) > radii[i] + radii[j] + 2.0 * margin:
                    apart = 1
            if apart == 0:
                if sees[layer[i], layer[j]] == 1:
                    num_overlaps[i] = num_overlaps[i] + 1
                if sees[layer[j], layer[i]] == 1:
                    num_overlaps[j] = num_overlaps[j] + 1
                    num_pairs[0] = num_pairs[0] + 1

# === box_tree_beams
# source: rays and boxes by slabs (Kay and Kajiya 1986), in a bounding volume hierarchy
# task: send beams through a cloud of cubes of several materials and find how much light the cubes on the way of each beam leave
# about: A beam goes on without end. A cube that it passes absorbs its own share, however long the way through it.
# domain: graphics
# weight: 10
# split: validation
# sizes: num_beams = 1 7 71 200; num_cubes = 1 8 20 100; num_materials = 1 2 3 4
# - centers: vec3[num_cubes] uniform(-1.0, 1.0); centres of the cubes
# - opacity: float[num_materials] uniform(0.1, 0.9); share of the light that a cube of each material absorbs
# - material: int[num_cubes] index(num_materials); material of each cube
# - lowers: vec3[num_cubes] zeros; lower corners of the cubes
# - uppers: vec3[num_cubes] zeros; upper corners of the cubes
# - tree: bvh(lowers, uppers); tree of the cubes
# - origins: vec3[num_beams] uniform(-2.0, 2.0); where the beams start
# - directions: vec3[num_beams] unit(); unit vectors along the beams
# - light: float[num_beams] zeros; share of the light that is left
# - num_passed: int[num_beams] zeros; cubes on the way of each beam
# - half_width: float = 0.375; half of the width of a cube
@kernel[num_cubes] elementwise map
def place_cubes():
    """Corners of the cubes."""
    c = wp.tid()
    guard c < num_cubes
    half = wp.vec3(half_width, half_width, half_width)
    lowers[c] = centers[c] - half
    uppers[c] = centers[c] + half

@kernel[num_beams] gather, pointer chase or walk
def follow_beams():
    """Ask the tree for the cubes that a beam passes."""
    b = wp.tid()
    guard b < num_beams
    query = wp.bvh_query_ray(tree, origins[b], directions[b])
    cube = int(0)
    left = float(1.0)
    count = int(0)
    while wp.bvh_query_next(query, cube):
        #? absorb
        left *= 1.0 - opacity[material[cube]]
        #|
        left = left - left * opacity[material[cube]]
        #.
        count += 1
    light[b] = left
    num_passed[b] = count

def reference():
    """All cubes, by the stretches of a beam between their planes."""
    for c in range(num_cubes):
        lowers[c] = centers[c] - np.array([half_width, half_width, half_width])
        uppers[c] = centers[c] + np.array([half_width, half_width, half_width])
    for b in range(num_beams):
        light[b] = 1.0
        for c in range(num_cubes):
            enter = 0.0
            leave = 1.0e9
            for axis in range(3):
                offset = centers[c][axis] - origins[b][axis]
                if abs(directions[b][axis]) > 1.0e-9:
                    middle = offset / directions[b][axis]
                    width = half_width / abs(directions[b][axis])
                    enter = max(enter, middle - width)
                    leave = min(leave, middle + width)
                elif abs(offset) > half_width:
                    leave = -1.0
            if enter <= leave:
                light[b] = light[b] * (1.0 - opacity[material[c]])
                num_passed[b] = num_passed[b] + 1

# === hash_grid_density
# source: smoothed particle hydrodynamics (Mueller et al. 2003)
# task: compute densities and pressures of particles of several kinds by smoothed sums over neighbours from a hash grid
# about: A particle counts in its own sum. The pressure is 0 where the density is below that at rest.
# domain: physics
# weight: 14
# sizes: num_particles = 1 9 71 300; num_kinds = 1 2 3 3
# - positions: vec3[num_particles] uniform(0.0, 1.0); positions of the particles
# - kind: int[num_particles] index(num_kinds); kind of each particle
# - mass: float[num_kinds] uniform(0.125, 0.5); mass of a particle of each kind
# - grid: hash_grid(positions, radius, 16 16 16); hash grid with cells as wide as the radius
# - density: float[num_particles] zeros; densities at the particles
# - pressure: float[num_particles] zeros; pressures there
# - num_near: int[num_particles] zeros; particles within the radius
# - radius: float = 0.375; radius of the smoothing
# - rest_density: float = 12.0; density at rest
# - stiffness: float = 3.0; pressure for each unit of density above it
@func
def poly6(squared: float, h: float) -> float:
    """Polynomial of the sixth degree around a particle."""
    d = h * h - squared
    return 315.0 / (64.0 * wp.pi * {{wp.pow(h, 9.0) || h * h * h * h * h * h * h * h * h}}) * d * d * d

@kernel[num_particles] gather, distance threshold
def compute_density():
    """Sum over the neighbours that the grid knows."""
    i = wp.tid()
    guard i < num_particles
    p = positions[i]
    total = float(0.0)
    count = int(0)
    #? walk
    for j in wp.hash_grid_query(grid, p, radius):
        let offset = positions[j] - p
        squared = wp.dot(offset, offset)
        if squared < radius * radius:
            total += mass[kind[j]] * poly6(squared, radius)
            count += 1
    #|
    query = wp.hash_grid_query(grid, p, radius)
    j = int(0)
    while wp.hash_grid_query_next(query, j):
        squared = wp.length_sq(p - positions[j])
        # candidates of the cells may be further away
        if squared < radius * radius:
            total += mass[kind[j]] * poly6(squared, radius)
            count += 1
    #.
    density[i] = total
    num_near[i] = count
    #? clip
    pressure[i] = wp.max(stiffness * (total - rest_density), 0.0)
    #|
    if total > rest_density:
        pressure[i] = stiffness * (total - rest_density)
    #.

def reference():
    """All pairs."""
    for i in range(num_particles):
        for j in range(num_particles):
            d = np.linalg.norm(positions[i] - positions[j])
            if d < radius:
                scale = 315.0 / (64.0 * math.pi) * math.pow(radius, -3.0)
                density[i] = density[i] + mass[kind[j]] * scale * math.pow(1.0 - d * d / (radius * radius), 3.0)
                num_near[i] = num_near[i] + 1
        if density[i] > rest_density:
            pressure[i] = stiffness * (density[i] - rest_density)

# === hash_grid_grains
# source: discrete elements with springs and dashpots (Cundall and Strack 1979)
# task: advance grains by one time step, with contact forces between neighbours from a hash grid and the ground
# about: Grains repel each other where they overlap, with the mean of their hardness, and damp their approach. The forces of all grains are there before one moves.
# domain: physics
# weight: 14
# sizes: num_grains = 1 9 71 300; num_materials = 1 2 3 4
# - positions: vec3[num_grains] uniform(-0.5, 0.5); positions of the grains
# - velocities: vec3[num_grains] uniform(-1.0, 1.0); velocities of the grains
# - grid: hash_grid(positions, diameter, 32 32 32); hash grid with cells as wide as a grain
# - forces: vec3[num_grains] zeros; forces on the grains
# - diameter: float = 0.3; width of a grain
# - hardness: float[num_materials] uniform(20.0, 60.0); force of a grain of each material for each unit of overlap
# - material: int[num_grains] index(num_materials); material of each grain
# - damping: float = 0.5; force for each unit of the speed of approach
# - gravity: float = 9.81; acceleration downwards, along -z
# - ground: float = -0.25; height of the ground
# - drag: float = 4.0; share of the speed that the air takes in each unit of time
# - dt: float = 0.01; time step
@func
def contact_force(offset: wp.vec3, relative: wp.vec3, diameter: float, stiffness: float, damping: float) -> wp.vec3:
    """Force on a grain whose neighbour is at -offset."""
    dist = wp.length(offset)
    normal = offset / dist
    overlap = diameter - dist
    return normal * (stiffness * overlap - damping * wp.dot(relative, normal))

@kernel[num_grains] gather, distance threshold
def sum_forces():
    """Contacts with neighbours, the ground and the weight."""
    i = wp.tid()
    guard i < num_grains
    x = positions[i]
    v = velocities[i]
    own = hardness[material[i]]
    f = wp.vec3(0.0, 0.0, -gravity)
    for j in wp.hash_grid_query(grid, x, diameter):
        #? near
        if j != i:
            offset = x - positions[j]
            if wp.length(offset) < diameter:
                let stiffness = 0.5 * (own + hardness[material[j]])
                f += contact_force(offset, v - velocities[j], diameter, stiffness, damping)
        #|
        offset = x - positions[j]
        # of the cells around, not all are close
        if j == i or wp.length(offset) >= diameter:
            continue
        pair_hardness = 0.5 * (own + hardness[material[j]])
        f += contact_force(offset, v - velocities[j], diameter, pair_hardness, damping)
        #.
    depth = ground - x[2]
    if depth > 0.0:
        f += wp.vec3(0.0, 0.0, own * depth)
    forces[i] = f

@kernel[num_grains] axpy linear combination
def move_grains():
    """Semi-implicit Euler step of grains of mass 1, slowed by the air."""
    i = wp.tid()
    guard i < num_grains
    kept = 1.0 - drag * dt
    #? euler
    v = kept * (velocities[i] + dt * forces[i])
    velocities[i] = v
    positions[i] = positions[i] + dt * v
    #|
    velocities[i] = (velocities[i] + forces[i] * dt) * kept
    positions[i] = positions[i] + velocities[i] * dt
    #.

def reference():
    """All pairs, component by component."""
    for i in range(num_grains):
        f = np.array([0.0, 0.0, -gravity])
        if positions[i][2] < ground:
            f = f + np.array([0.0, 0.0, hardness[material[i]] * (ground - positions[i][2])])
        for j in range(num_grains):
            d = np.linalg.norm(positions[i] - positions[j])
            if i != j and d < diameter:
                n = (positions[i] - positions[j]) / d
                approach = np.dot(velocities[i] - velocities[j], n)
                k = 0.5 * (hardness[material[i]] + hardness[material[j]])
                f = f + k * (diameter - d) * n - damping * approach * n
        forces[i] = f
    for i in range(num_grains):
        velocities[i] = velocities[i] + dt * forces[i] - drag * dt * (velocities[i] + dt * forces[i])
        positions[i] = positions[i] + dt * velocities[i]

# === volume_advection
# source: semi-Lagrangian advection (Stam 1999), in a sparse volume
# task: advance smoke in a sparse volume by following the wind backwards from each voxel
# about: Beyond the stored voxels there is no smoke. The wind is in units of length, the volume is asked in voxels.
# domain: physics
# weight: 10
# sizes: nx = 1 3 5 12; ny = 2 4 6 12; nz = 2 3 4 12
# - smoke: float[nx, ny, nz] uniform(0.0, 1.0); smoke in each voxel
# - volume: volume(smoke, voxel_size); sparse volume with the smoke
# - wind: vec3[nx, ny, nz] uniform(-1.0, 1.0); velocities of the air
# - moved: float[nx, ny, nz] zeros; smoke that arrives in each voxel
# - lost: int[1] zeros; voxels whose air comes from outside
# - voxel_size: float = 0.5; width of a voxel
# - dt: float = 0.75; time step
@kernel[nx, ny, nz] volume grid map
def carry_smoke():
    """Ask the volume where the air was."""
    i, j, k = wp.tid()
    #? place
    place = wp.vec3(float(i), float(j), float(k)) * voxel_size
    before = wp.volume_world_to_index(volume, place - dt * wind[i, j, k])
    #|
    before = wp.vec3(float(i), float(j), float(k)) - wind[i, j, k] * (dt / voxel_size)
    #.
    moved[i, j, k] = wp.volume_sample_f(volume, before, wp.Volume.LINEAR)
    outside = before[0] < 0.0 or before[1] < 0.0 or before[2] < 0.0
    if outside or before[0] > float(nx - 1) or before[1] > float(ny - 1) or before[2] > float(nz - 1):
        wp.atomic_add(lost, 0, 1)

def reference():
    """Each voxel gives what it has to the places within one voxel."""
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                x = float(i) - wind[i, j, k][0] * dt / voxel_size
                y = float(j) - wind[i, j, k][1] * dt / voxel_size
                z = float(k) - wind[i, j, k][2] * dt / voxel_size
                for a in range(nx):
                    for b in range(ny):
                        for c in range(nz):
                            wx = max(0.0, 1.0 - abs(x - float(a)))
                            wy = max(0.0, 1.0 - abs(y - float(b)))
                            wz = max(0.0, 1.0 - abs(z - float(c)))
                            moved[i, j, k] = moved[i, j, k] + wx * wy * wz * smoke[a, b, c]
                inside = x >= 0.0 and y >= 0.0 and z >= 0.0
                inside = inside and x <= float(nx - 1) and y <= float(ny - 1) and z <= float(nz - 1)
                if not inside:
                    lost[0] = lost[0] + 1

# === volume_absorption
# source: absorption along rays (Max 1995)
# task: march rays through a sparse volume and compute how much light is left behind the smoke
# about: Each step takes the smoke at its middle. Beyond the stored voxels there is none.
# domain: graphics
# weight: 9
# sizes: num_rays = 1 7 71 200; num_steps = 1 6 8 24; nx = 2 3 4 8; ny = 2 4 4 8; nz = 2 3 4 8
# - smoke: float[nx, ny, nz] uniform(0.0, 1.0); smoke in each voxel
# - volume: volume(smoke, voxel_size); sparse volume with the smoke
# - origins: vec3[num_rays] uniform(0.0, 0.5); where the rays start
# - directions: vec3[num_rays] unit(); unit vectors along the rays
# - light: float[num_rays] zeros; share of the light that is left
# - densest: float[num_rays] zeros; most smoke at a step
# - voxel_size: float = 0.25; width of a voxel
# - length: float = 0.125; length of a step
# - extinction: float = 2.5; absorption for each unit of smoke and length
@kernel[num_rays] loop reduction
def march_rays():
    """Add up the smoke along a ray."""
    r = wp.tid()
    guard r < num_rays
    depth = float(0.0)
    most = float(0.0)
    for s in range(num_steps):
        t = (float(s) + 0.5) * length
        place = wp.volume_world_to_index(volume, origins[r] + t * directions[r])
        found = wp.volume_sample_f(volume, place, wp.Volume.LINEAR)
        depth += found * length
        most = wp.max(most, found)
    light[r] = wp.exp(-extinction * depth)
    densest[r] = most

def reference():
    """Each voxel counts for the places within one voxel."""
    for r in range(num_rays):
        light[r] = 1.0
        for s in range(num_steps):
            p = (origins[r] + (float(s) + 0.5) * length * directions[r]) / voxel_size
            found = 0.0
            for a in range(nx):
                for b in range(ny):
                    for c in range(nz):
                        wx = max(0.0, 1.0 - abs(p[0] - float(a)))
                        wy = max(0.0, 1.0 - abs(p[1] - float(b)))
                        wz = max(0.0, 1.0 - abs(p[2] - float(c)))
                        found = found + wx * wy * wz * smoke[a, b, c]
            light[r] = light[r] * math.exp(-extinction * length * found)
            densest[r] = max(densest[r], found)

# === texture_rotation
# source: bilinear filtering of textures (Heckbert 1989)
# task: turn and scale an image about its middle by sampling it as a texture
# about: Coordinates are from 0 to 1 over the image. Beyond its borders the nearest texels count.
# domain: graphics
# weight: 10
# sizes: ny = 1 3 8 24; nx = 1 4 9 24; height = 2 3 5 16; width = 2 4 6 16
# - pixels: float[height, width] uniform(0.0, 1.0); grey values of the image
# - image: texture(pixels); texture with the image
# - turned: float[ny, nx] zeros; grey values of the turned image
# - angle: float = 0.5; angle of the turn [rad]
# - zoom: float = 1.25; how much larger the image becomes
@kernel[ny, nx] matrix or image map
def turn_image():
    """Ask the texture where a pixel comes from."""
    grid i, j
    x = (float(j) + 0.5) / float(nx) - 0.5
    y = (float(i) + 0.5) / float(ny) - 0.5
    c = wp.cos(angle) / zoom
    s = wp.sin(angle) / zoom
    #? place
    u = c * x + s * y + 0.5
    v = c * y - s * x + 0.5
    turned[i, j] = wp.texture_sample(image, wp.vec2f(u, v), dtype=float)
    #|
    uv = wp.vec2f(c * x + s * y + 0.5, c * y - s * x + 0.5)
    turned[i, j] = wp.texture_sample(image, uv, dtype=float)
    #.

def reference():
    """Weights of the four texels around a place, which is moved into the image."""
    for i in range(ny):
        for j in range(nx):
            x = (float(j) + 0.5) / float(nx) - 0.5
            y = (float(i) + 0.5) / float(ny) - 0.5
            u = (math.cos(angle) * x + math.sin(angle) * y) / zoom + 0.5
            v = (math.cos(angle) * y - math.sin(angle) * x) / zoom + 0.5
            a = max(0.0, min(float(width - 1), u * float(width) - 0.5))
            b = max(0.0, min(float(height - 1), v * float(height) - 0.5))
            for p in range(height):
                for q in range(width):
                    wy = max(0.0, 1.0 - abs(b - float(p)))
                    wx = max(0.0, 1.0 - abs(a - float(q)))
                    turned[i, j] = turned[i, j] + wy * wx * pixels[p, q]
