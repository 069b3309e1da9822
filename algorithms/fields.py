# === integral_image
# source: summed-area tables (Crow 1984; Viola and Jones 2001)
# task: build the summed-area table of an image by rows and columns and average listed boxes with it
# about: The table has a first row and column of zeros. A box holds its upper left corner and neither its last row nor column.
# domain: graphics
# weight: 8
# sizes: ny = 2 5 9 48; nx = 3 6 8 48; num_boxes = 1 7 71 100
# - image: float[ny, nx] uniform(0.0, 1.0); intensities
# - corner: vec2i[num_boxes] index(2); row and column where each box begins
# - extent: int[num_boxes] uniform(1, 8); rows and columns of each box, as far as the image goes
# - table: float[ny + 1, nx + 1] zeros; sums of everything above and to the left
# - mean: float[num_boxes] zeros; mean intensities of the boxes
# - pixels: int[num_boxes] zeros; pixels of the boxes
@kernel[ny] prefix scan, matrix or image map
def scan_rows():
    """Running sums along one row."""
    y = wp.tid()
    guard y < ny
    s = float(0.0)
    for x in range(nx):
        {{s += image[y, x] || s = s + image[y, x]}}
        table[y + 1, x + 1] = s

@kernel[nx] prefix scan, in place update
def scan_columns():
    """Running sums of these along one column."""
    x = wp.tid()
    guard x < nx
    for y in range(1, ny):
        table[y + 1, x + 1] = table[y + 1, x + 1] + table[y, x + 1]

@kernel[num_boxes] gather, matrix or image map
def average_boxes():
    """Four entries of the table give a sum."""
    b = wp.tid()
    guard b < num_boxes
    y0 = corner[b][0]
    x0 = corner[b][1]
    #? clip
    y1 = wp.min(y0 + extent[b], ny)
    x1 = wp.min(x0 + extent[b], nx)
    #|
    y1 = y0 + extent[b]
    x1 = x0 + extent[b]
    if y1 > ny:
        y1 = ny
    if x1 > nx:
        x1 = nx
    #.
    count = (y1 - y0) * (x1 - x0)
    s = table[y1, x1] - table[y0, x1] - table[y1, x0] + table[y0, x0]
    mean[b] = s / float(count)
    pixels[b] = count

def reference():
    for y in range(ny + 1):
        for x in range(nx + 1):
            for i in range(y):
                for j in range(x):
                    table[y, x] = table[y, x] + image[i, j]
    for b in range(num_boxes):
        for i in range(ny):
            for j in range(nx):
                di = i - corner[b][0]
                dj = j - corner[b][1]
                if di >= 0 and dj >= 0 and di < extent[b] and dj < extent[b]:
                    mean[b] = mean[b] + image[i, j]
                    pixels[b] = pixels[b] + 1
        mean[b] = mean[b] / float(pixels[b])

# === distance_transform
# source: exact distance transforms in two passes (Meijster, Roerdink and Hesselink 2000)
# task: compute the squared distance of each pixel from the nearest marked pixel, along columns first and then along rows
# about: Pixels of an image without marks get the square of a distance that is larger than any in the image.
# domain: graphics
# weight: 4
# split: test
# sizes: ny = 2 4 8 32; nx = 3 5 9 32
# - mark: int[ny, nx] uniform(0, 5); 0 for marked pixels, anything else is background
# - column: int[ny, nx] zeros; distance from the nearest mark of the column
# - dist_sq: int[ny, nx] zeros; squared distances
# - histogram: int[8] zeros; pixels by distance along the column, the last bin takes all above
@kernel[nx] boundary condition, loop reduction
def column_distances():
    """Down and up again."""
    x = wp.tid()
    guard x < nx
    far = ny + nx
    d = far
    for y in range(ny):
        d += 1
        if mark[y, x] == 0:
            d = 0
        column[y, x] = {{wp.min(d, far) || d if d < far else far}}
    d = far
    for b in range(ny):
        y = ny - 1 - b
        d += 1
        if mark[y, x] == 0:
            d = 0
        column[y, x] = wp.min(column[y, x], d)

@kernel[ny, nx] argmin argmax, histogram count, matrix or image map
def row_distances():
    """The best column of the row."""
    grid y, x
    guard y < ny and x < nx
    best = int(1000000)
    for k in range(nx):
        let d = column[y, k]
        #? cost
        best = wp.min(best, d * d + (x - k) * (x - k))
        #|
        cost = d * d + (x - k) * (x - k)
        if cost < best:
            best = cost
        #.
    dist_sq[y, x] = best
    wp.atomic_add(histogram, wp.min(column[y, x], 7), 1)

def reference():
    for y in range(ny):
        for x in range(nx):
            far = ny + nx
            dist_sq[y, x] = far * far
            column[y, x] = far
            for i in range(ny):
                for j in range(nx):
                    if mark[i, j] == 0:
                        dist_sq[y, x] = min(dist_sq[y, x], (i - y) * (i - y) + (j - x) * (j - x))
                if mark[i, x] == 0:
                    column[y, x] = min(column[y, x], abs(i - y))
            bin = 7
            if column[y, x] < 7:
                bin = column[y, x]
            histogram[bin] = histogram[bin] + 1

# === box_suppression
# source: non-maximum suppression (Neubeck and Van Gool 2006), all pairs at once
# task: suppress detected boxes that a better box of the same class overlaps too much, and count what is left of each class
# about: A box is suppressed by any better one, whether that is suppressed itself or not. Of equal scores the box with the smaller number is better.
# domain: graphics
# weight: 6
# sizes: n = 2 9 72 200; num_classes = 2 2 3 5
# - low: vec2[n] uniform(0.0, 1.0); lower corners of the boxes
# - extent: vec2[n] uniform(0.3, 0.8); widths and heights
# - score: float[n] uniform(0.0, 1.0); scores
# - label: int[n] index(num_classes); classes
# - keep: int[n] zeros; 1 for boxes that stay
# - left: int[num_classes] zeros; boxes of each class that stay
# - max_overlap: float = 0.4; shared area beside the area of both
# - min_score: float = 0.2; boxes below this are dropped first
@func
def overlap(a: wp.vec2, ea: wp.vec2, b: wp.vec2, eb: wp.vec2) -> float:
    """Intersection over union."""
    w = wp.min(a[0] + ea[0], b[0] + eb[0]) - wp.max(a[0], b[0])
    h = wp.min(a[1] + ea[1], b[1] + eb[1]) - wp.max(a[1], b[1])
    #? shared
    shared = wp.max(w, 0.0) * wp.max(h, 0.0)
    #|
    shared = float(0.0)
    if w > 0.0 and h > 0.0:
        shared = w * h
    #.
    return shared / (ea[0] * ea[1] + eb[0] * eb[1] - shared)

@kernel[n] aabb arith, mask or active filter, pairwise n body
def suppress():
    """Look for a better box that overlaps."""
    i = wp.tid()
    guard i < n
    require score[i] >= min_score
    stays = int(1)
    for j in range(n):
        better = score[j] > score[i] or (score[j] == score[i] and j < i)
        if better and label[j] == label[i]:
            if overlap(low[i], extent[i], low[j], extent[j]) > max_overlap:
                stays = 0
    keep[i] = stays

@kernel[n] histogram count, mask or active filter
def count_left():
    """Count by class."""
    i = wp.tid()
    guard i < n
    if keep[i] == 1:
        wp.atomic_add(left, label[i], 1)

def reference():
    """From the better box: what does it suppress?"""
    for i in range(n):
        if score[i] >= min_score:
            keep[i] = 1
    for j in range(n):
        for i in range(n):
            worse = 0
            if score[i] < score[j] or (score[i] == score[j] and i > j):
                worse = 1
            if worse == 1 and label[i] == label[j]:
                sides = np.array([0.0, 0.0])
                for axis in range(2):
                    gap = abs(low[i][axis] + 0.5 * extent[i][axis] - low[j][axis] - 0.5 * extent[j][axis])
                    full = 0.5 * extent[i][axis] + 0.5 * extent[j][axis] - gap
                    sides[axis] = max(0.0, min(full, min(extent[i][axis], extent[j][axis])))
                inter = sides[0] * sides[1]
                union = extent[i][0] * extent[i][1] + extent[j][0] * extent[j][1] - inter
                if inter / union > max_overlap:
                    keep[i] = 0
    for i in range(n):
        left[label[i]] = left[label[i]] + keep[i]

# === tsdf_fusion
# source: volumetric fusion of depth images (Curless and Levoy 1996)
# task: fuse a depth image into a grid of truncated signed distances with running weights
# about: The camera is at the origin and looks along z; a voxel is read at the pixel that its centre falls into. Voxels far behind a surface stay as they were.
# domain: graphics
# weight: 6
# sizes: n = 2 3 4 16; height = 3 5 6 32; width = 4 6 7 32
# - depth: float[height, width] uniform(0.8, 2.4); depths along z, of which those below 1 are no measurement [m]
# - tsdf: float[n, n, n] uniform(-1.0, 1.0); distances in units of the truncation, updated in place
# - weight: float[n, n, n] uniform(1.0, 5.0); weights of the distances, updated in place
# - updated: int[1] zeros; voxels that were updated
# - focal: float = 3.1; focal length in pixels
# - spacing: float = 0.37; distance of the voxels [m]
# - near: float = 1.0; depth of the first voxels [m]
# - truncation: float = 0.5; largest distance that is kept [m]
# - max_weight: float = 4.0; weights do not grow above this
@kernel[n, n, n] volume grid map, mask or active filter, in place update
def fuse():
    """Project a voxel, compare with the depth there and average."""
    grid k, j, i
    guard k < n and j < n and i < n
    z = near + spacing * float(k)
    x = spacing * (float(i) - 0.5 * float(n))
    y = spacing * (float(j) - 0.5 * float(n))
    u = int(wp.floor(focal * x / z + 0.5 * float(width)))
    v = int(wp.floor(focal * y / z + 0.5 * float(height)))
    #? inside
    if u < 0 or u >= width or v < 0 or v >= height:
        return
    d = depth[v, u]
    if d < 1.0:
        return
    #|
    d = float(0.0)
    if u >= 0 and u < width and v >= 0 and v < height:
        d = depth[v, u]
    # no pixel, or none that was measured
    if d < 1.0:
        return
    #.
    sdf = d - z
    if sdf >= -truncation:
        value = wp.min(sdf / truncation, 1.0)
        w = weight[k, j, i]
        tsdf[k, j, i] = (tsdf[k, j, i] * w + value) / (w + 1.0)
        weight[k, j, i] = wp.min(w + 1.0, max_weight)
        wp.atomic_add(updated, 0, 1)

def reference():
    """From the pixels: which voxels fall into this one?"""
    for v in range(height):
        for u in range(width):
            if depth[v, u] >= 1.0:
                for k in range(n):
                    z = near + spacing * float(k)
                    for j in range(n):
                        for i in range(n):
                            px = focal * spacing * (float(i) - float(n) / 2.0) / z + float(width) / 2.0
                            py = focal * spacing * (float(j) - float(n) / 2.0) / z + float(height) / 2.0
                            ahead = depth[v, u] - z
                            if px >= float(u) and px < float(u + 1) and py >= float(v) and py < float(v + 1) and ahead >= -truncation:
                                share = 1.0 / (weight[k, j, i] + 1.0)
                                tsdf[k, j, i] = tsdf[k, j, i] + share * (min(ahead, truncation) / truncation - tsdf[k, j, i])
                                weight[k, j, i] = min(max_weight, weight[k, j, i] + 1.0)
                                updated[0] = updated[0] + 1

# === component_labels
# source: connected components by label propagation (Rosenfeld and Pfaltz 1966; Hawick, Leist and Playne 2010)
# task: run rounds of minimum labels over the foreground of a binary image and count the pixels that still changed in the last round
# domain: graphics
# weight: 7
# split: validation
# sizes: ny = 2 4 8 32; nx = 3 5 9 32
# - image: int[ny, nx] uniform(0, 3); 0 for background, anything else is foreground
# - label: int[ny, nx] zeros; labels, -1 for background
# - label_b: int[ny, nx] zeros; labels of every other round
# - changed: int[1] zeros; pixels that the last round changed
# run: number_pixels, lower_labels, lower_labels(label=label_b, label_b=label), lower_labels, count_changes
@kernel[ny, nx] elementwise map, mask or active filter, index unflatten
def number_pixels():
    """Each foreground pixel begins with its own number."""
    grid y, x
    guard y < ny and x < nx
    {{label[y, x] = wp.where(image[y, x] == 0, -1, y * nx + x) || label[y, x] = y * nx + x if image[y, x] != 0 else -1}}

@kernel[ny, nx] stencil, boundary condition, mask or active filter
def lower_labels():
    """The smallest label of a pixel and the four beside it."""
    grid y, x
    guard y < ny and x < nx
    best = label[y, x]
    if best >= 0:
        for k in range(4):
            i = y + (k % 2) * (k - 2)
            j = x + ((k + 1) % 2) * (k - 1)
            if i >= 0 and i < ny and j >= 0 and j < nx:
                if label[i, j] >= 0:
                    best = wp.min(best, label[i, j])
    label_b[y, x] = best

@kernel[ny, nx] atomic counter, mask or active filter
def count_changes():
    """Compare the last two rounds."""
    grid y, x
    guard y < ny and x < nx
    if label[y, x] != label_b[y, x]:
        wp.atomic_add(changed, 0, 1)

def reference():
    """The smallest number within two and three steps through the foreground."""
    for y in range(ny):
        for x in range(nx):
            label[y, x] = -1
            if image[y, x] > 0:
                label[y, x] = y * nx + x
    for turn in range(3):
        for y in range(ny):
            for x in range(nx):
                label_b[y, x] = label[y, x]
                for i in range(ny):
                    for j in range(nx):
                        if abs(i - y) + abs(j - x) == 1 and image[y, x] > 0 and image[i, j] > 0:
                            label_b[y, x] = min(label_b[y, x], label[i, j])
        if turn < 2:
            for y in range(ny):
                for x in range(nx):
                    label[y, x] = label_b[y, x]
    for y in range(ny):
        for x in range(nx):
            if label[y, x] != label_b[y, x]:
                changed[0] = changed[0] + 1

# === optical_flow
# source: dense optical flow (Horn and Schunck 1981)
# task: compute the brightness derivatives of two images and run one step of Horn and Schunck's flow
# about: Neighbours beyond the border are the border's pixels.
# domain: graphics
# weight: 7
# split: test
# sizes: ny = 2 4 8 32; nx = 3 5 9 32
# - first: float[ny, nx] uniform(0.0, 1.0); first image
# - second: float[ny, nx] uniform(0.0, 1.0); second image
# - flow: vec2[ny, nx] uniform(-1.0, 1.0); flow so far, along x and y
# - slope: vec3[ny, nx] zeros; derivatives along x, y and time
# - new_flow: vec2[ny, nx] zeros; flow after the step
# - alpha: float = 0.5; weight of smoothness
@kernel[ny, nx] finite difference, boundary condition, matrix or image map
def derivatives():
    """Central differences of the mean of both images."""
    grid y, x
    guard y < ny and x < nx
    up = wp.max(y - 1, 0)
    down = wp.min(y + 1, ny - 1)
    left = wp.max(x - 1, 0)
    right = wp.min(x + 1, nx - 1)
    dx = 0.25 * (first[y, right] - first[y, left] + second[y, right] - second[y, left])
    dy = 0.25 * (first[down, x] - first[up, x] + second[down, x] - second[up, x])
    slope[y, x] = wp.vec3(dx, dy, second[y, x] - first[y, x])

@kernel[ny, nx] stencil, boundary condition
def smooth_flow():
    """Mean of the neighbours, corrected along the gradient."""
    grid y, x
    guard y < ny and x < nx
    mean = flow[wp.max(y - 1, 0), x] + flow[wp.min(y + 1, ny - 1), x]
    mean += flow[y, wp.max(x - 1, 0)] + flow[y, wp.min(x + 1, nx - 1)]
    {{mean = mean * 0.25 || mean = mean / 4.0}}
    d = slope[y, x]
    #? step
    rate = (d[0] * mean[0] + d[1] * mean[1] + d[2]) / (alpha * alpha + d[0] * d[0] + d[1] * d[1])
    new_flow[y, x] = mean - wp.vec2(d[0], d[1]) * rate
    #|
    g = wp.vec2(d[0], d[1])
    new_flow[y, x] = mean - g * ((wp.dot(g, mean) + d[2]) / (alpha * alpha + wp.dot(g, g)))
    #.

def reference():
    """Minimum of the local quadratic by Cramer's rule."""
    for y in range(ny):
        for x in range(nx):
            u = 0.0
            v = 0.0
            a = 0.0
            b = 0.0
            for k in range(4):
                i = min(max(y + (k % 2) * (k - 2), 0), ny - 1)
                j = min(max(x + ((k + 1) % 2) * (k - 1), 0), nx - 1)
                sx = float(((k + 1) % 2) * (k - 1))
                sy = float((k % 2) * (k - 2))
                u = u + flow[i, j][0] / 4.0
                v = v + flow[i, j][1] / 4.0
                a = a + sx * (first[i, j] + second[i, j]) / 4.0
                b = b + sy * (first[i, j] + second[i, j]) / 4.0
            t = second[y, x] - first[y, x]
            slope[y, x] = np.array([a, b, t])
            s = alpha * alpha
            p = s * u - a * t
            q = s * v - b * t
            det = (s + a * a) * (s + b * b) - a * b * a * b
            new_flow[y, x] = np.array([(p * (s + b * b) - q * a * b) / det, (q * (s + a * a) - p * a * b) / det])
