# === grid_neighbors
# source: uniform grids with cell lists for fixed-radius search (Green 2010)
# task: sort points into the cells of a uniform grid and count, for each point, the others within a radius by looking at the cells around it
# about: The grid is a cube of cells as wide as the radius; points outside of it count in the outermost cells.
# domain: geometry
# weight: 8
# sizes: num_points = 2 9 71 300; res = 2 3 4 6; num_cells = 8 27 64 216
# - points: vec3[num_points] uniform(0.0, 1.0); positions
# - cell_count: int[num_cells] zeros; points in each cell
# - cell_start: int[num_cells + 1] zeros; first place of each cell in the list, and the length of the list
# - cursor: int[num_cells] zeros; points of each cell that are in the list already
# - listed: int[num_points] zeros unordered; points, cell by cell
# - num_near: int[num_points] zeros; other points within the radius
# - mean_near: vec3[num_points] zeros; mean position of the points within the radius
# - radius: float = 0.25; radius of the search, and width of a cell
@func
def cell_along(x: float, width: float, res: int) -> int:
    """Number of the cell along one axis."""
    return {{wp.clamp(int(x / width), 0, res - 1) || wp.min(wp.max(int(x / width), 0), res - 1)}}

@func
def cell_of(p: wp.vec3, width: float, res: int) -> int:
    """Number of the cell of a point."""
    ix = cell_along(p[0], width, res)
    iy = cell_along(p[1], width, res)
    iz = cell_along(p[2], width, res)
    return (iz * res + iy) * res + ix

@kernel[num_points] histogram count
def count_points():
    """Count the points of each cell."""
    i = wp.tid()
    guard i < num_points
    wp.atomic_add(cell_count, cell_of(points[i], radius, res), 1)

@kernel[1] prefix scan
def scan_cells():
    """Exclusive scan, by one thread."""
    total = int(0)
    for c in range(num_cells):
        cell_start[c] = total
        total += cell_count[c]
    cell_start[num_cells] = total

@kernel[num_points] scatter, atomic counter, gather
def list_points():
    """Write each point behind those of its cell that are there."""
    i = wp.tid()
    guard i < num_points
    let c = cell_of(points[i], radius, res)
    slot = wp.atomic_add(cursor, c, 1)
    listed[cell_start[c] + slot] = i

@kernel[num_points] distance threshold, csr row loop, gather
def search_cells():
    """Look at the cells around a point."""
    i = wp.tid()
    guard i < num_points
    p = points[i]
    cx = cell_along(p[0], radius, res)
    cy = cell_along(p[1], radius, res)
    cz = cell_along(p[2], radius, res)
    count = int(0)
    mean = wp.vec3()
    for z in range(wp.max(cz - 1, 0), wp.min(cz + 2, res)):
        for y in range(wp.max(cy - 1, 0), wp.min(cy + 2, res)):
            for x in range(wp.max(cx - 1, 0), wp.min(cx + 2, res)):
                c = (z * res + y) * res + x
                for k in range(cell_start[c], cell_start[c + 1]):
                    j = listed[k]
                    #? test
                    if j != i and wp.length(points[j] - p) < radius:
                        count += 1
                        mean += points[j]
                    #|
                    if j == i:
                        continue
                    let d = points[j] - p
                    if wp.dot(d, d) < radius * radius:
                        count += 1
                        mean += points[j]
                    #.
    num_near[i] = count
    if count > 0:
        mean_near[i] = mean / float(count)

def reference():
    """All pairs; cells by comparing with all of them."""
    for i in range(num_points):
        p = points[i]
        c = 0
        unit = 1
        for axis in range(3):
            steps = 0
            for s in range(res - 1):
                if p[axis] / radius >= float(s + 1):
                    steps = steps + 1
            c = c + unit * steps
            unit = unit * res
        cell_count[c] = cell_count[c] + 1
        cursor[c] = cursor[c] + 1
        for later in range(c + 1, num_cells + 1):
            cell_start[later] = cell_start[later] + 1
        listed[i] = i
        for j in range(num_points):
            d = np.linalg.norm(points[j] - p)
            if i != j and d < radius:
                num_near[i] = num_near[i] + 1
        for j in range(num_points):
            d = np.linalg.norm(points[j] - p)
            if i != j and d < radius:
                mean_near[i] = mean_near[i] + points[j] / float(num_near[i])

# === box_tree_query
# source: bounding volume hierarchies in implicit binary trees, walked by escape links (Smits 1998; Karras 2012)
# task: build a binary tree of boxes over segments from the leaves to the root, and find the boxes of the leaves that a query interval meets
# about: Node k has the children 2 k + 1 and 2 k + 2; the last eight nodes are the leaves. The walk goes down to the left and, where nothing is met, to the next subtree.
# domain: geometry
# weight: 9
# sizes: num_trees = 1 3 18 40; num_queries = 1 5 13 60; num_nodes = 15 15 15 15
# - tree_of: int[num_queries] index(num_trees); tree that each query asks
# - low: float[num_trees, 8] uniform(0.0, 0.9); lower ends of the segments
# - extent: float[num_trees, 8] uniform(0.0, 0.1); lengths of the segments
# - query_low: float[num_queries] uniform(0.0, 0.8); lower ends of the queries
# - query_high: float[num_queries] uniform(0.8, 1.0); upper ends of the queries
# - box_low: float[num_trees, num_nodes] zeros; lower ends of the boxes
# - box_high: float[num_trees, num_nodes] zeros; upper ends of the boxes
# - hits: int[num_queries] zeros; leaves that are met
# - visited: int[num_queries] zeros; nodes that are looked at
# - LEAVES: int = 8; segments of a tree
@kernel[num_trees] aabb arith, bounding box reduce, loop reduction
def build_trees():
    """Leaves first, then the parents from the last one to the root."""
    t = wp.tid()
    guard t < num_trees
    for s in range(LEAVES):
        node = LEAVES - 1 + s
        box_low[t, node] = low[t, s]
        box_high[t, node] = low[t, s] + extent[t, s]
    for b in range(LEAVES - 1):
        node = LEAVES - 2 - b
        left = 2 * node + 1
        {{right = left + 1 || right = 2 * node + 2}}
        box_low[t, node] = wp.min(box_low[t, left], box_low[t, right])
        box_high[t, node] = wp.max(box_high[t, left], box_high[t, right])

@kernel[num_queries] pointer chase or walk, aabb arith, gather
def query_trees():
    """Walk one tree without a stack."""
    q = wp.tid()
    guard q < num_queries
    t = tree_of[q]
    node = int(0)
    found = int(0)
    count = int(0)
    while node < num_nodes:
        count += 1
        meets = box_low[t, node] <= query_high[q] and box_high[t, node] >= query_low[q]
        is_leaf = node >= LEAVES - 1
        if meets and not is_leaf:
            node = 2 * node + 1
        else:
            if meets:
                found += 1
            # climb while it is a right child
            while node > 0 and node % 2 == 0:
                node = (node - 1) // 2
            #? next
            if node == 0:
                node = num_nodes
            else:
                node = node + 1
            #|
            node = wp.where(node == 0, num_nodes, node + 1)
            #.
    hits[q] = found
    visited[q] = count

def reference():
    """Boxes from all leaves below a node; a node is looked at if its parent is met."""
    for t in range(num_trees):
        for k in range(num_nodes):
            box_low[t, k] = 9.0
            box_high[t, k] = -9.0
            for s in range(8):
                up = 7 + s
                below = 0
                for climb in range(4):
                    if up == k:
                        below = 1
                    up = max(up - 1, 0) // 2
                if below == 1:
                    box_low[t, k] = min(box_low[t, k], low[t, s])
                    box_high[t, k] = max(box_high[t, k], low[t, s] + extent[t, s])
    for q in range(num_queries):
        t = tree_of[q]
        visited[q] = 1
        for k in range(1, num_nodes):
            reached = 1
            up = k
            for climb in range(3):
                if up > 0:
                    up = (up - 1) // 2
                    if box_low[t, up] > query_high[q] or box_high[t, up] < query_low[q]:
                        reached = 0
            visited[q] = visited[q] + reached
        for s in range(8):
            if low[t, s] <= query_high[q] and low[t, s] + extent[t, s] >= query_low[q]:
                hits[q] = hits[q] + 1

# === point_in_polygons
# source: crossing number and winding number tests (Sunday 2001)
# task: find for each point the polygons that contain it, by their winding numbers, and count the points of each polygon
# about: Corners of all polygons lie one after the other; the last corner is followed by the first. Edges count their lower end and not the upper one.
# domain: geometry
# weight: 6
# sizes: num_points = 1 7 71 200; num_polygons = 1 3 5 20; num_corners = 5 12 24 120
# - first: int[num_polygons + 1] rows(num_corners); first corner of each polygon
# - corners: vec2[num_corners] uniform(-1.0, 1.0); corners of all polygons
# - points: vec2[num_points] uniform(-0.8, 0.8); points
# - num_inside: int[num_points] zeros; polygons around each point
# - winding_sum: int[num_points] zeros; sum of the winding numbers
# - population: int[num_polygons] zeros; points in each polygon
@func
def side(a: wp.vec2, b: wp.vec2, p: wp.vec2) -> float:
    """Positive if the point lies to the left of the line from a to b."""
    return (b[0] - a[0]) * (p[1] - a[1]) - (p[0] - a[0]) * (b[1] - a[1])

@kernel[num_points] csr row loop, gather, scatter add
def find_polygons():
    """Wind around the point along each polygon."""
    i = wp.tid()
    guard i < num_points
    p = points[i]
    for g in range(num_polygons):
        start = first[g]
        end = first[g + 1]
        winding = int(0)
        for k in range(start, end):
            #? next
            after = k + 1
            if after == end:
                after = start
            #|
            after = wp.where(k + 1 < end, k + 1, start)
            #.
            a = corners[k]
            b = corners[after]
            if a[1] <= p[1]:
                # upward edge with the point to its left
                if b[1] > p[1] and side(a, b, p) > 0.0:
                    winding += 1
            elif b[1] <= p[1] and side(a, b, p) < 0.0:
                winding -= 1
        if winding != 0:
            num_inside[i] = num_inside[i] + 1
            winding_sum[i] = winding_sum[i] + winding
            wp.atomic_add(population, g, 1)

def reference():
    """Crossings of the ray to the right, with a sign."""
    for i in range(num_points):
        for g in range(num_polygons):
            turns = 0
            for k in range(first[g], first[g + 1]):
                m = first[g] + (k + 1 - first[g]) % (first[g + 1] - first[g])
                y0 = corners[k][1] - points[i][1]
                y1 = corners[m][1] - points[i][1]
                if (y0 <= 0.0) != (y1 <= 0.0):
                    t = y0 / (y0 - y1)
                    x = corners[k][0] + t * (corners[m][0] - corners[k][0])
                    if x > points[i][0]:
                        if y1 > 0.0:
                            turns = turns + 1
                        else:
                            turns = turns - 1
            if turns != 0:
                num_inside[i] = num_inside[i] + 1
                winding_sum[i] = winding_sum[i] + turns
                population[g] = population[g] + 1

# === sight_lines
# source: traversal of grids cell by cell (Amanatides and Woo 1987)
# task: follow lines of sight through a map of walls from cell to cell and report how far each one sees
# about: A line ends in front of a wall, where it leaves the map, or after a number of cells.
# domain: graphics
# weight: 10
# sizes: num_rays = 1 7 71 200; ny = 3 5 8 24; nx = 3 6 9 24
# - wall: int[ny, nx] uniform(0, 3); 0 for walls, anything else is free
# - origin_y: int[num_rays] index(ny); rows of the cells in whose middle the lines start
# - origin_x: int[num_rays] index(nx); columns of the cells in whose middle the lines start
# - slope_y: float[num_rays] uniform(-1.0, 1.0); direction along the columns
# - slope_x: float[num_rays] uniform(-1.0, 1.0); direction along the rows
# - seen: int[num_rays] zeros; free cells that each line enters
# - reach: float[num_rays] zeros; parameter where each line ends
# - blocked: int[num_rays] zeros; 1 if a wall ended the line
# - max_cells: int = 6; cells that a line enters at most
# - FAR: float = 1.0e6; stands for lines that never cross
@func
def crossing_step(slope: float, far: float) -> float:
    """How much the parameter grows from one cell to the next along an axis."""
    size = wp.abs(slope)
    if size * far > 1.0:
        return 1.0 / size
    return far

@kernel[num_rays] ray march, pointer chase or walk, gather
def follow_lines():
    """Cross the nearer border, again and again."""
    r = wp.tid()
    guard r < num_rays
    y = origin_y[r]
    x = origin_x[r]
    step_y = crossing_step(slope_y[r], FAR)
    step_x = crossing_step(slope_x[r], FAR)
    # from the middle of a cell it is half a step to its border
    next_y = 0.5 * step_y
    next_x = 0.5 * step_x
    count = int(0)
    t = float(0.0)
    done = int(0)
    while done == 0 and count < max_cells:
        #? cross
        if next_x < next_y:
            t = next_x
            next_x += step_x
            x += wp.where(slope_x[r] > 0.0, 1, -1)
        else:
            t = next_y
            next_y += step_y
            y += wp.where(slope_y[r] > 0.0, 1, -1)
        #|
        t = wp.min(next_x, next_y)
        if next_x < next_y:
            next_x = next_x + step_x
            if slope_x[r] > 0.0:
                x += 1
            else:
                x -= 1
        else:
            next_y = next_y + step_y
            if slope_y[r] > 0.0:
                y += 1
            else:
                y -= 1
        #.
        if x < 0 or x >= nx or y < 0 or y >= ny:
            done = 1
        elif wall[y, x] == 0:
            done = 1
            blocked[r] = 1
        else:
            count += 1
    seen[r] = count
    reach[r] = t

def reference():
    """Counts of crossed borders along both axes, border by border."""
    for r in range(num_rays):
        sy = 1.0e6
        sx = 1.0e6
        if abs(slope_y[r]) > 1.0e-6:
            sy = 1.0 / abs(slope_y[r])
        if abs(slope_x[r]) > 1.0e-6:
            sx = 1.0 / abs(slope_x[r])
        a = 0
        b = 0
        going = 1
        for k in range(max_cells):
            if going == 1:
                if (float(b) + 0.5) * sx < (float(a) + 0.5) * sy:
                    reach[r] = (float(b) + 0.5) * sx
                    b = b + 1
                else:
                    reach[r] = (float(a) + 0.5) * sy
                    a = a + 1
                y = origin_y[r] - a
                x = origin_x[r] - b
                if slope_y[r] > 0.0:
                    y = origin_y[r] + a
                if slope_x[r] > 0.0:
                    x = origin_x[r] + b
                if y < 0 or y > ny - 1 or x < 0 or x > nx - 1:
                    going = 0
                if going == 1:
                    if wall[y, x] > 0:
                        seen[r] = seen[r] + 1
                    else:
                        going = 0
                        blocked[r] = 1

# === frustum_culling
# source: culling of spheres against planes (Akenine-Moeller et al. 2018, sec. 22.14)
# task: cull bounding spheres against the planes of a view, collect those that are visible and choose their level of detail
# domain: graphics
# weight: 6
# sizes: num_spheres = 1 9 75 300; num_planes = 2 3 4 6
# - centers: vec3[num_spheres] uniform(-1.0, 1.0); centres of the spheres
# - radii: float[num_spheres] uniform(0.05, 0.4); radii of the spheres
# - normals: vec3[num_planes] unit(); normals of the planes, which point inward
# - offsets: float[num_planes] uniform(-0.4, 0.2); distances of the planes from the origin along their normals
# - state: int[num_spheres] zeros; 0 outside, 1 cut by a plane, 2 inside
# - visible: int[num_spheres] full(-1) unordered; spheres that are not outside, -1 behind the last
# - num_visible: int[1] zeros; spheres that are not outside
# - level: int[num_spheres] full(-1); level of detail of visible spheres, -1 for the others
# - eye_z: float = -1.5; height of the camera, which is above the origin
# - step: float = 0.6; distance from one level to the next
@kernel[num_spheres] aabb arith, mask or active filter
def classify():
    """Signed distance from each plane, beside the radius."""
    s = wp.tid()
    guard s < num_spheres
    result = int(2)
    for p in range(num_planes):
        d = wp.dot(normals[p], centers[s]) - offsets[p]
        #? sides
        if d < -radii[s]:
            result = 0
        elif d < radii[s]:
            result = wp.min(result, 1)
        #|
        if d + radii[s] < 0.0:
            result = 0
        if d < radii[s]:
            # cut, unless another plane has it outside
            result = wp.min(result, 1)
        #.
    state[s] = result

@kernel[num_spheres] stream compaction, atomic counter, mask or active filter
def collect_visible():
    """Append visible spheres and choose their level."""
    s = wp.tid()
    guard s < num_spheres
    require state[s] > 0
    slot = wp.atomic_add(num_visible, 0, 1)
    visible[slot] = s
    let d = wp.length(centers[s] - wp.vec3(0.0, 0.0, eye_z))
    level[s] = int(d / step)

def reference():
    for s in range(num_spheres):
        least = 1.0e6
        for p in range(num_planes):
            n = normals[p]
            d = n[0] * centers[s][0] + n[1] * centers[s][1] + n[2] * centers[s][2] - offsets[p]
            least = min(least, d)
        if least >= radii[s]:
            state[s] = 2
        elif least >= -radii[s]:
            state[s] = 1
        if state[s] != 0:
            visible[num_visible[0]] = s
            num_visible[0] = num_visible[0] + 1
            c = centers[s]
            far = math.sqrt(c[0] * c[0] + c[1] * c[1] + (c[2] - eye_z) ** 2.0)
            level[s] = 0
            for k in range(10):
                if far >= float(k + 1) * step:
                    level[s] = k + 1

# === support_points
# source: support functions of convex hulls (Gilbert, Johnson and Keerthi 1988)
# task: find the extreme vertices of pairs of convex bodies along a direction and the gap between the bodies along it
# about: Vertices of all bodies lie one after the other; a body is a point cloud at its position. A body without vertices is its position alone.
# domain: geometry
# weight: 4
# split: test
# sizes: num_bodies = 2 5 20 60; num_vertices = 6 20 140 600; num_pairs = 1 7 71 200
# - first: int[num_bodies + 1] rows(num_vertices); first vertex of each body
# - vertices: vec3[num_vertices] uniform(-0.3, 0.3); vertices in the frames of the bodies
# - positions: vec3[num_bodies] uniform(-1.0, 1.0); positions of the bodies
# - pairs: vec2i[num_pairs] index(num_bodies); bodies of each pair
# - axes: vec3[num_pairs] unit(); directions
# - support: vec2i[num_pairs] full(-1); extreme vertices of both bodies, -1 where there is none
# - gap: float[num_pairs] zeros; distance between the bodies along the direction, negative where they overlap
# - separated: int[1] zeros; pairs with a gap
@func
def extreme(vertices: wp.array(dtype=wp.vec3), start: int, end: int, axis: wp.vec3) -> int:
    """Vertex with the largest projection, the first of equal ones."""
    best = int(-1)
    largest = float(0.0)
    for k in range(start, end):
        d = wp.dot(vertices[k], axis)
        if best < 0 or d > largest:
            largest = d
            best = k
    return best

@func
def reach(vertices: wp.array(dtype=wp.vec3), vertex: int, axis: wp.vec3) -> float:
    """Projection of a vertex, 0 for none."""
    #? reach
    if vertex < 0:
        return 0.0
    return wp.dot(vertices[vertex], axis)
    #|
    d = float(0.0)
    if vertex >= 0:
        d = wp.dot(vertices[vertex], axis)
    return d
    #.

@kernel[num_pairs] argmin argmax, csr row loop, gather, contact or penetration
def measure_gaps():
    """One body against the direction, the other along it."""
    p = wp.tid()
    guard p < num_pairs
    a = pairs[p][0]
    b = pairs[p][1]
    axis = axes[p]
    va = extreme(vertices, first[a], first[a + 1], axis)
    vb = extreme(vertices, first[b], first[b + 1], -axis)
    support[p] = wp.vec2i(va, vb)
    between = wp.dot(positions[b] - positions[a], axis)
    g = between - reach(vertices, va, axis) - reach(vertices, vb, -axis)
    gap[p] = g
    if g > 0.0:
        wp.atomic_add(separated, 0, 1)

def reference():
    for p in range(num_pairs):
        n = axes[p]
        for side in range(2):
            body = pairs[p][side]
            sign = 1.0 - 2.0 * float(side)
            far = -1.0e6
            count = first[body + 1] - first[body]
            for q in range(count):
                k = first[body + 1] - 1 - q
                d = sign * (vertices[k][0] * n[0] + vertices[k][1] * n[1] + vertices[k][2] * n[2])
                if d >= far:
                    far = d
                    support[p][side] = k
            if count > 0:
                gap[p] = gap[p] - far
        gap[p] = gap[p] + np.dot(positions[pairs[p][1]], n) - np.dot(positions[pairs[p][0]], n)
        if gap[p] > 0.0:
            separated[0] = separated[0] + 1

# === jump_flooding
# source: jump flooding for Voronoi diagrams (Rong and Tan 2006)
# task: run one pass of jump flooding on a grid of nearest seeds and measure how far the seeds are
# about: A cell looks at itself and at eight cells that are a stride away; cells beyond the border do not count. Of equally near seeds the smaller one is taken.
# domain: geometry
# weight: 7
# sizes: ny = 2 4 8 32; nx = 3 5 9 32; num_seeds = 2 4 9 40
# - seed_y: int[num_seeds] index(ny); rows of the seeds
# - seed_x: int[num_seeds] index(nx); columns of the seeds
# - nearest: int[ny, nx] maybe(num_seeds); nearest seed that is known, -1 for none
# - next_nearest: int[ny, nx] full(-1); nearest seed after the pass, -1 for none
# - distance_sq: int[ny, nx] full(-1); squared distances to the nearest seed, -1 for none
# - stride: int = 2; distance of the cells that are looked at
@kernel[ny, nx] stencil, argmin argmax, gather, boundary condition
def jump():
    """Take the nearest of nine candidates."""
    grid i, j
    guard i < ny and j < nx
    best = int(1000000)
    arg = int(-1)
    for di in range(-1, 2):
        for dj in range(-1, 2):
            y = i + di * stride
            x = j + dj * stride
            if y >= 0 and y < ny and x >= 0 and x < nx:
                s = nearest[y, x]
                if s >= 0:
                    let dy = seed_y[s] - i
                    let dx = seed_x[s] - j
                    d = dy * dy + dx * dx
                    #? tie
                    if d < best or (d == best and s < arg):
                        best = d
                        arg = s
                    #|
                    closer = d < best
                    if d == best:
                        closer = s < arg
                    if closer:
                        best = d
                        arg = s
                    #.
    if arg >= 0:
        next_nearest[i, j] = arg
        distance_sq[i, j] = best

def reference():
    """For each seed: which cells hear of it, and is it the nearest that they hear of?"""
    for b in range(num_seeds):
        s = num_seeds - 1 - b
        for i in range(ny):
            for j in range(nx):
                for y in range(ny):
                    for x in range(nx):
                        if nearest[y, x] == s:
                            up = abs(y - i)
                            across = abs(x - j)
                            if (up == 0 or up == stride) and (across == 0 or across == stride):
                                d = (seed_y[s] - i) * (seed_y[s] - i) + (seed_x[s] - j) * (seed_x[s] - j)
                                if distance_sq[i, j] < 0 or d <= distance_sq[i, j]:
                                    distance_sq[i, j] = d
                                    next_nearest[i, j] = s
