# === mesh_normals
# source: area-weighted vertex normals (Max 1999)
# task: compute face areas and area-weighted vertex normals of a triangle mesh
# domain: geometry
# weight: 9
# sizes: num_vertices = 3 7 71 300; num_faces = 1 6 70 500
# - faces: int[num_faces, 3] ring(num_vertices); vertices of each face
# - points: vec3[num_vertices] uniform(-1.0, 1.0); vertex positions [m]
# - areas: float[num_faces] zeros; face areas [m^2]
# - normals: vec3[num_vertices] zeros; vertex normals
@kernel[num_faces] triangle normal area, element vertex gather, scatter add, gather
def accumulate_normals():
    """Add the cross product of two edges to all vertices of a face."""
    f = wp.tid()
    guard f < num_faces
    #? style
    i = faces[f, 0]
    j = faces[f, 1]
    k = faces[f, 2]
    n = wp.cross(points[j] - points[i], points[k] - points[i])
    areas[f] = 0.5 * wp.length(n)
    wp.atomic_add(normals, i, n)
    wp.atomic_add(normals, j, n)
    wp.atomic_add(normals, k, n)
    #|
    # corners
    let a = points[faces[f, 0]]
    let b = points[faces[f, 1]]
    let c = points[faces[f, 2]]
    n = wp.cross(b - a, c - a)
    areas[f] = wp.length(n) * 0.5
    for corner in range(3):
        wp.atomic_add(normals, faces[f, corner], n)
    #.

@kernel[num_vertices] vector normalise
def normalize_normals():
    """Unit length where there is a direction."""
    v = wp.tid()
    guard v < num_vertices
    let n = normals[v]
    length = wp.length(n)
    if length > 1.0e-6:
        normals[v] = n / length

def reference():
    for f in range(num_faces):
        a = points[faces[f, 0]]
        n = np.cross(points[faces[f, 1]] - a, points[faces[f, 2]] - a)
        areas[f] = 0.5 * np.linalg.norm(n)
        for c in range(3):
            normals[faces[f, c]] = normals[faces[f, c]] + n
    for v in range(num_vertices):
        length = np.linalg.norm(normals[v])
        if length > 1.0e-6:
            normals[v] = normals[v] / length

# === bounding_boxes
# source: axis-aligned bounding boxes of triangles and their overlap
# task: compute bounding boxes of triangles and test them against a query box
# domain: geometry
# weight: 8
# sizes: num_vertices = 3 7 71 300; num_faces = 1 6 70 500
# - faces: int[num_faces, 3] index(num_vertices); vertices of each face
# - points: vec3[num_vertices] uniform(-2.0, 2.0); vertex positions
# - lower: vec3[num_faces] zeros; lower corners
# - upper: vec3[num_faces] zeros; upper corners
# - overlaps: int[num_faces] zeros; 1 where a box meets the query
# - query_lower: vec3 = -0.5 -0.5 -0.5; lower corner of the query box
# - query_upper: vec3 = 0.5 0.5 0.5; upper corner of the query box
# - margin: float = 0.1; boxes grow by this on all sides
@kernel[num_faces] aabb arith, element vertex gather, gather
def compute_boxes():
    """Smallest box around the corners of a face, grown by the margin."""
    f = wp.tid()
    guard f < num_faces
    let a = points[faces[f, 0]]
    let b = points[faces[f, 1]]
    let c = points[faces[f, 2]]
    grow = wp.vec3(margin, margin, margin)
    lower[f] = wp.min(wp.min(a, b), c) - grow
    upper[f] = wp.max(wp.max(a, b), c) + grow

@kernel[num_faces] aabb arith, mask or active filter
def test_overlap():
    """Boxes overlap if they do on all axes."""
    f = wp.tid()
    guard f < num_faces
    let lo = lower[f]
    let hi = upper[f]
    #? axes
    hit = int(1)
    for axis in range(3):
        if lo[axis] > query_upper[axis] or hi[axis] < query_lower[axis]:
            hit = 0
    overlaps[f] = hit
    #|
    # separated along an axis
    if lo[0] > query_upper[0] or hi[0] < query_lower[0]:
        return
    if lo[1] > query_upper[1] or hi[1] < query_lower[1]:
        return
    if lo[2] > query_upper[2] or hi[2] < query_lower[2]:
        return
    overlaps[f] = 1
    #.

def reference():
    for f in range(num_faces):
        overlaps[f] = 1
        for axis in range(3):
            a = points[faces[f, 0]][axis]
            b = points[faces[f, 1]][axis]
            c = points[faces[f, 2]][axis]
            low = min(a, min(b, c)) - margin
            high = max(a, max(b, c)) + margin
            lower[f][axis] = low
            upper[f][axis] = high
            if low > query_upper[axis] or high < query_lower[axis]:
                overlaps[f] = 0

# === closest_segment_point
# source: closest point on a segment (Ericson 2005, sec. 5.1)
# task: find the closest segment of a polyline for every query point
# about: Two segments are equally near where they meet: the first of them counts, whatever rounding makes of the distances.
# domain: geometry
# weight: 6
# split: test
# sizes: num_points = 1 7 71 300; num_nodes = 2 4 9 40
# - nodes: vec3[num_nodes] uniform(-1.0, 1.0); nodes of the polyline
# - queries: vec3[num_points] uniform(-2.0, 2.0); query points
# - distances: float[num_points] zeros; distance to the polyline
# - segments: int[num_points] zeros; closest segment
# - margin: float = 1.0e-4; a later segment has to be closer by this
@func
def closest_on_segment(p: wp.vec3, a: wp.vec3, b: wp.vec3) -> wp.vec3:
    """Closest point of the segment from a to b."""
    ab = b - a
    t = wp.dot(p - a, ab) / wp.max(wp.dot(ab, ab), 1.0e-12)
    return a + wp.clamp(t, 0.0, 1.0) * ab

@kernel[num_points] closest point, argmin argmax
def nearest_segment():
    """Try all segments and keep the nearest one."""
    i = wp.tid()
    guard i < num_points
    p = queries[i]
    best = float(1.0e10)
    arg = int(-1)
    for s in range(num_nodes - 1):
        #? _
        q = closest_on_segment(p, nodes[s], nodes[s + 1])
        d = wp.length(p - q)
        #|
        d = wp.length(p - closest_on_segment(p, nodes[s], nodes[s + 1]))
        #.
        if d < best - margin:
            best = d
            arg = s
    distances[i] = best
    segments[i] = arg

def reference():
    for i in range(num_points):
        distances[i] = 1.0e10
        for s in range(num_nodes - 1):
            ab = nodes[s + 1] - nodes[s]
            ap = queries[i] - nodes[s]
            t = np.dot(ap, ab) / max(np.dot(ab, ab), 1.0e-12)
            t = min(max(t, 0.0), 1.0)
            d = math.sqrt(np.dot(ap - ab * t, ap - ab * t))
            if d < distances[i] - margin:
                distances[i] = d
                segments[i] = s

# === ray_spheres
# source: ray-sphere intersection by the quadratic formula (Haines 1989)
# task: intersect rays with spheres and report the first hit
# domain: graphics
# weight: 4
# split: test
# sizes: num_rays = 1 17 71 256; num_spheres = 1 3 6 24
# - origins: vec3[num_rays] uniform(-0.2, 0.2); ray origins
# - directions: vec3[num_rays] unit(); unit ray directions
# - centers: vec3[num_spheres] uniform(-2.0, 2.0); sphere centres
# - radii: float[num_spheres] uniform(0.5, 1.0); sphere radii
# - hit_t: float[num_rays] zeros; distance to the first hit, -1 for none
# - hit_id: int[num_rays] zeros; sphere that is hit, -1 for none
# - num_hits: int[num_spheres] zeros; rays that end on each sphere
@kernel[num_rays] quadratic ray intersection, argmin argmax
def trace_rays():
    """Nearest positive root over all spheres."""
    r = wp.tid()
    guard r < num_rays
    let o = origins[r]
    let d = directions[r]
    best = float(1.0e10)
    arg = int(-1)
    for s in range(num_spheres):
        # t^2 + 2 b t + c = 0
        oc = o - centers[s]
        b = wp.dot(oc, d)
        c = wp.dot(oc, oc) - radii[s] * radii[s]
        disc = b * b - c
        #? miss
        if disc >= 0.0:
            t = -b - wp.sqrt(disc)
            if t > 0.0 and t < best:
                best = t
                arg = s
        #|
        if disc < 0.0:
            continue
        t = -b - wp.sqrt(disc)
        if t > 0.0 and t < best:
            best = t
            arg = s
        #.
    hit_id[r] = arg
    #? none
    hit_t[r] = wp.where(arg >= 0, best, -1.0)
    #|
    if arg < 0:
        best = -1.0
    hit_t[r] = best
    #.

@kernel[num_rays] histogram count, mask or active filter
def count_hits():
    """Count the rays that end on each sphere."""
    r = wp.tid()
    let s = hit_id[r]
    # rays that miss count nowhere
    require s >= 0
    wp.atomic_add(num_hits, s, 1)

def reference():
    for r in range(num_rays):
        hit_id[r] = -1
        hit_t[r] = -1.0
        for s in range(num_spheres):
            to = centers[s] - origins[r]
            along = np.dot(to, directions[r])
            left = radii[s] * radii[s] - np.dot(to, to) + along * along
            if left >= 0.0:
                t = along - math.sqrt(left)
                if t > 0.0 and (hit_id[r] < 0 or t < hit_t[r]):
                    hit_t[r] = t
                    hit_id[r] = s
        if hit_id[r] >= 0:
            num_hits[hit_id[r]] = num_hits[hit_id[r]] + 1

# === sdf_raymarch
# source: sphere tracing of signed distance functions (Hart 1996)
# task: march rays through a signed distance field of a box and a sphere
# domain: graphics
# weight: 5
# sizes: num_rays = 1 7 71 200
# - origins: vec3[num_rays] uniform(-0.5, 0.5); ray origins
# - depth: float[num_rays] zeros; distance along the ray
# - steps: int[num_rays] zeros; steps that were taken
# - start_z: float = -4.0; rays start on this plane and go along z
# - max_steps: int = 40; steps before a ray gives up
# - EPS: float = 1.0e-3; distance that counts as a hit
@func
def scene_sdf(p: wp.vec3) -> float:
    """A box with a sphere in its upper side."""
    q = wp.vec3(wp.abs(p[0]) - 1.0, wp.abs(p[1]) - 0.5, wp.abs(p[2]) - 1.0)
    outside = wp.length(wp.vec3(wp.max(q[0], 0.0), wp.max(q[1], 0.0), wp.max(q[2], 0.0)))
    inside = wp.min(wp.max(q[0], wp.max(q[1], q[2])), 0.0)
    ball = wp.length(p - wp.vec3(0.0, 0.8, 0.0)) - 0.5
    return wp.min(outside + inside, ball)

@kernel[num_rays] ray march, sdf primitive, newton or fixed point
def march():
    """Step by the distance until the surface is reached."""
    r = wp.tid()
    guard r < num_rays
    let o = origins[r]
    t = float(0.0)
    count = int(0)
    d = scene_sdf(wp.vec3(o[0], o[1], start_z))
    while d > EPS and count < max_steps:
        t += d
        d = scene_sdf(wp.vec3(o[0], o[1], start_z + t))
        count += 1
    depth[r] = t
    steps[r] = count

def reference():
    for r in range(num_rays):
        t = 0.0
        done = 0
        for k in range(max_steps + 1):
            qx = abs(origins[r][0]) - 1.0
            qy = abs(origins[r][1]) - 0.5
            qz = abs(start_z + t) - 1.0
            out = np.linalg.norm(np.array([max(qx, 0.0), max(qy, 0.0), max(qz, 0.0)]))
            box = out + min(max(qx, max(qy, qz)), 0.0)
            ball = np.linalg.norm(np.array([origins[r][0], origins[r][1] - 0.8, start_z + t])) - 0.5
            d = min(box, ball)
            if d <= EPS:
                done = 1
            if done == 0 and k < max_steps:
                t = t + d
                steps[r] = k + 1
        depth[r] = t

# === polygon_area
# source: shoelace formula (Gauss; Braden 1986)
# task: compute areas and means of the corners of polygons that are stored one after the other
# domain: geometry
# weight: 7
# split: validation
# sizes: num_polygons = 1 5 66 100; num_corners = 4 20 300 500
# - first: int[num_polygons + 1] rows(num_corners); first corner of each polygon
# - corners: vec2[num_corners] uniform(-1.0, 1.0); corners of all polygons
# - area: float[num_polygons] zeros; signed areas
# - center: vec2[num_polygons] zeros; means of the corners
@kernel[num_polygons] csr row loop, triangle normal area
def shoelace():
    """Sum of cross products of neighbouring corners."""
    p = wp.tid()
    guard p < num_polygons
    start = first[p]
    end = first[p + 1]
    s = float(0.0)
    mean = wp.vec2()
    for k in range(start, end):
        # the last corner is followed by the first
        #? next
        following = wp.where(k + 1 == end, start, k + 1)
        #|
        following = k + 1
        if following == end:
            following = start
        #.
        a = corners[k]
        b = corners[following]
        s += a[0] * b[1] - a[1] * b[0]
        mean += a
    area[p] = 0.5 * s
    center[p] = mean / float(wp.max(end - start, 1))

def reference():
    for p in range(num_polygons):
        start = first[p]
        count = first[p + 1] - start
        for k in range(count):
            a = corners[start + k]
            b = corners[start + (k + 1) % count]
            area[p] = area[p] + 0.5 * (a[0] * b[1] - b[0] * a[1])
            center[p] = center[p] + a / float(count)

# === point_in_cells
# source: uniform grid lookup and point statistics
# task: find the bounding box of a point cloud and bin the points in a grid of its size
# domain: geometry
# weight: 4
# sizes: num_points = 2 9 75 500; res = 2 3 4 8
# - points: vec3[num_points] uniform(-1.0, 1.0); point cloud
# - box_min: float[3] full(1000.0); lower corner of the box
# - box_max: float[3] full(-1000.0); upper corner of the box
# - cell: int[num_points] zeros; flat cell of each point
@kernel[num_points] bounding box reduce, atomic min max
def cloud_bounds():
    """Atomic minimum and maximum of each coordinate."""
    i = wp.tid()
    guard i < num_points
    let p = points[i]
    for axis in range(3):
        wp.atomic_min(box_min, axis, p[axis])
        wp.atomic_max(box_max, axis, p[axis])

@kernel[num_points] index unflatten, bit tricks hash morton
def flat_cell():
    """Cell of a point in a grid that spans the box."""
    i = wp.tid()
    guard i < num_points
    let p = points[i]
    index = int(0)
    for axis in range(3):
        width = wp.max(box_max[axis] - box_min[axis], 1.0e-6)
        c = int(float(res) * (p[axis] - box_min[axis]) / width)
        index = index * res + wp.min(c, res - 1)
    cell[i] = index

def reference():
    for axis in range(3):
        for i in range(num_points):
            box_min[axis] = min(box_min[axis], points[i][axis])
            box_max[axis] = max(box_max[axis], points[i][axis])
    for i in range(num_points):
        for axis in range(3):
            c = 0
            for k in range(1, res):
                if float(res) * (points[i][axis] - box_min[axis]) >= float(k) * max(box_max[axis] - box_min[axis], 1.0e-6):
                    c = k
            cell[i] = cell[i] * res + c

# === procrustes_frames
# source: polar decomposition by singular values (Higham 1986)
# task: split deformation matrices into rotation and stretch
# domain: geometry
# weight: 7
# sizes: n = 1 7 66 128
# - mats: mat33[n] uniform(-0.4, 0.4); deformations, twice the identity is added
# - rotations: mat33[n] zeros; rotations
# - stretch: float[n] zeros; trace of the stretch
@kernel[n] matrix decomposition, matrix or image map
def polar_rotation():
    """R = U V^T of the singular value decomposition."""
    i = wp.tid()
    guard i < n
    A = mats[i] + 2.0 * wp.identity(n=3, dtype=float)
    U = wp.mat33()
    s = wp.vec3()
    V = wp.mat33()
    wp.svd3(A, U, s, V)
    R = U * wp.transpose(V)
    rotations[i] = R
    stretch[i] = wp.trace(wp.transpose(R) * A)

def reference():
    """Newton's iteration for the polar factor."""
    for i in range(n):
        X = mats[i] + 2.0 * np.eye(3)
        A = X
        for k in range(20):
            a = np.array([X[0, 0], X[0, 1], X[0, 2]])
            b = np.array([X[1, 0], X[1, 1], X[1, 2]])
            c = np.array([X[2, 0], X[2, 1], X[2, 2]])
            bc = np.cross(b, c)
            ca = np.cross(c, a)
            ab = np.cross(a, b)
            det = np.dot(a, bc)
            for q in range(3):
                X[0, q] = 0.5 * (X[0, q] + bc[q] / det)
                X[1, q] = 0.5 * (X[1, q] + ca[q] / det)
                X[2, q] = 0.5 * (X[2, q] + ab[q] / det)
        rotations[i] = X
        for r in range(3):
            for q in range(3):
                stretch[i] = stretch[i] + X[r, q] * (mats[i][r, q] + 2.0 * float(r == q))
