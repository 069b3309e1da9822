# === gaussian_blur
# source: separable convolution with zero padding
# task: blur an image with a separable filter, rows first and columns after
# domain: graphics
# weight: 8
# sizes: ny = 2 4 8 24; nx = 2 5 9 32; taps = 3 3 5 5; half = 1 1 2 2
# - image: float[ny, nx] uniform(0.0, 1.0); input image
# - weights: float[taps] full(0.2); filter coefficients
# - rows: float[ny, nx] zeros; image after the horizontal pass
# - out: float[ny, nx] zeros; blurred image
@kernel[ny, nx] convolution, matrix or image map
def blur_rows():
    """Horizontal pass; pixels outside are zero."""
    grid y, x
    guard y < ny and x < nx
    s = float(0.0)
    for k in range(taps):
        #? pad
        xx = x + k - half
        if xx >= 0 and xx < nx:
            s += weights[k] * image[y, xx]
        #|
        xx = x + k - half
        # zero padding
        if xx < 0 or xx >= nx:
            continue
        s += weights[k] * image[y, xx]
        #.
    rows[y, x] = s

@kernel[ny, nx] convolution, matrix or image map
def blur_columns():
    """Vertical pass."""
    grid y, x
    guard y < ny and x < nx
    s = float(0.0)
    for k in range(taps):
        yy = y + k - half
        if yy >= 0 and yy < ny:
            s += weights[k] * rows[yy, x]
    out[y, x] = s

def reference():
    for y in range(ny):
        for x in range(nx):
            s = 0.0
            for a in range(taps):
                yy = y + a - half
                for b in range(taps):
                    xx = x + b - half
                    if yy >= 0 and yy < ny and xx >= 0 and xx < nx:
                        s = s + weights[a] * weights[b] * image[yy, xx]
            out[y, x] = s
            for b in range(taps):
                xx = x + b - half
                if xx >= 0 and xx < nx:
                    rows[y, x] = rows[y, x] + weights[b] * image[y, xx]

# === conv1d_valid
# source: discrete convolution of sequences, one output per thread
# task: filter several channels of a signal with a finite impulse response
# domain: signal
# weight: 8
# sizes: channels = 1 2 3 8; length = 6 9 24 256; taps = 3 3 5 7; valid = 4 7 20 250
# - signal: float[channels, length] uniform(-1.0, 1.0); input signal
# - fir: float[channels, taps] uniform(-0.5, 0.5); impulse response of each channel
# - filtered: float[channels, valid] zeros; samples where the filter fits
@kernel[channels, valid] convolution, index unflatten
def fir_filter():
    """Sum of past samples weighted by the impulse response."""
    grid c, t
    guard c < channels and t < valid
    s = float(0.0)
    for k in range(taps):
        #? flip
        s += fir[c, k] * signal[c, t + taps - 1 - k]
        #|
        let w = fir[c, k]
        s = s + w * signal[c, t + taps - 1 - k]
        #.
    filtered[c, t] = s

def reference():
    for c in range(channels):
        for t in range(valid):
            for k in range(taps):
                filtered[c, t] = filtered[c, t] + signal[c, t + k] * fir[c, taps - 1 - k]

# === sobel_edges
# source: Sobel operator (Sobel and Feldman 1968)
# task: detect edges with the Sobel operator and mark strong ones
# domain: graphics
# weight: 6
# sizes: ny = 3 4 8 24; nx = 3 5 9 32
# - image: float[ny, nx] uniform(0.0, 1.0); input image
# - magnitude: float[ny, nx] zeros; gradient magnitude
# - edges: int[ny, nx] zeros; 1 where the gradient is strong
# - threshold: float = 1.5; least magnitude of an edge
@kernel[ny, nx] stencil, convolution, matrix or image map
def sobel():
    """Horizontal and vertical derivative from a 3x3 window."""
    grid i, j
    guard i < ny and j < nx
    require i > 0 and j > 0 and i < ny - 1 and j < nx - 1
    gx = image[i - 1, j + 1] + 2.0 * image[i, j + 1] + image[i + 1, j + 1]
    gx -= image[i - 1, j - 1] + 2.0 * image[i, j - 1] + image[i + 1, j - 1]
    gy = image[i + 1, j - 1] + 2.0 * image[i + 1, j] + image[i + 1, j + 1]
    gy -= image[i - 1, j - 1] + 2.0 * image[i - 1, j] + image[i - 1, j + 1]
    magnitude[i, j] = wp.sqrt(gx * gx + gy * gy)

@kernel[ny, nx] matrix or image map
def mark_edges():
    """Threshold the gradient magnitude."""
    grid i, j
    guard i < ny and j < nx
    #? mark
    if magnitude[i, j] > threshold:
        edges[i, j] = 1
    #|
    edges[i, j] = wp.where(magnitude[i, j] > threshold, 1, 0)
    #.

def reference():
    for i in range(1, ny - 1):
        for j in range(1, nx - 1):
            gx = 0.0
            gy = 0.0
            for d in range(-1, 2):
                w = 2.0 - abs(float(d))
                gx = gx + w * (image[i + d, j + 1] - image[i + d, j - 1])
                gy = gy + w * (image[i + 1, j + d] - image[i - 1, j + d])
            magnitude[i, j] = math.sqrt(gx * gx + gy * gy)
            if magnitude[i, j] > threshold:
                edges[i, j] = 1

# === median_window
# source: median filter of radius one by insertion sort of the window (Tukey 1977)
# task: remove outliers from a signal with a sliding median of three
# domain: signal
# weight: 3
# split: test
# sizes: n = 3 7 71 512
# - signal: float[n] uniform(-1.0, 1.0); noisy samples
# - smooth: float[n] zeros; median of each window
# - changed: int[1] zeros; samples that were replaced
@kernel[n] sort or swap, stencil
def median_of_three():
    """Sort three neighbours and keep the middle one; the ends are copied."""
    i = wp.tid()
    guard i < n
    if i == 0 or i == n - 1:
        smooth[i] = signal[i]
        return
    a = signal[i - 1]
    b = signal[i]
    c = signal[i + 1]
    #? net
    smooth[i] = wp.max(wp.min(a, b), wp.min(wp.max(a, b), c))
    #|
    # sorting network
    if a > b:
        t = a
        a = b
        b = t
    if b > c:
        b = c
    if a > b:
        b = a
    smooth[i] = b
    #.

@kernel[n] atomic counter
def count_changes():
    """Count the samples that were no median."""
    i = wp.tid()
    guard i < n
    if smooth[i] != signal[i]:
        wp.atomic_add(changed, 0, 1)

def reference():
    for i in range(n):
        smooth[i] = signal[i]
        if i > 0 and i < n - 1:
            total = signal[i - 1] + signal[i] + signal[i + 1]
            high = max(max(signal[i - 1], signal[i]), signal[i + 1])
            low = min(min(signal[i - 1], signal[i]), signal[i + 1])
            smooth[i] = total - high - low
            if signal[i] == high or signal[i] == low:
                changed[0] = changed[0] + 1

# === image_histogram
# source: histogram equalisation (Gonzalez and Woods, sec. 3.3)
# task: equalise the histogram of an image
# domain: graphics
# weight: 7
# sizes: ny = 1 4 8 24; nx = 2 5 9 32; num_bins = 4 8 16 64
# - image: float[ny, nx] uniform(0.0, 0.99); grey values in [0, 1)
# - counts: int[num_bins] zeros; pixels of each grey level
# - cdf: float[num_bins] zeros; share of pixels up to each level
# - out: float[ny, nx] zeros; equalised image
@kernel[ny, nx] histogram count, index unflatten
def image_histogram():
    """Count the pixels of each grey level."""
    grid y, x
    guard y < ny and x < nx
    {{level = wp.min(int(image[y, x] * float(num_bins)), num_bins - 1) || level = wp.clamp(int(image[y, x] * float(num_bins)), 0, num_bins - 1)}}
    wp.atomic_add(counts, level, 1)

@kernel[num_bins] prefix scan
def cumulative_share():
    """Share of pixels up to each level."""
    b = wp.tid()
    guard b < num_bins
    s = int(0)
    for k in range(b + 1):
        s += counts[k]
    cdf[b] = float(s) / float(nx * ny)

@kernel[ny, nx] gather, matrix or image map, tone map or saturation
def equalize():
    """Replace each grey value by the share of darker pixels."""
    grid y, x
    guard y < ny and x < nx
    level = wp.min(int(image[y, x] * float(num_bins)), num_bins - 1)
    out[y, x] = cdf[level]

def reference():
    for y in range(ny):
        for x in range(nx):
            level = int(image[y, x] * float(num_bins))
            counts[level] = counts[level] + 1
    s = 0
    for b in range(num_bins):
        s = s + counts[b]
        cdf[b] = float(s) / float(nx * ny)
    for y in range(ny):
        for x in range(nx):
            out[y, x] = cdf[int(image[y, x] * float(num_bins))]

# === tone_mapping
# source: Reinhard operator, L / (1 + L), with gamma (Reinhard et al. 2002)
# task: tone map a high dynamic range image and convert it to 8-bit colours
# domain: graphics
# weight: 4
# split: test
# sizes: ny = 1 4 8 24; nx = 2 5 9 32
# - hdr: vec3[ny, nx] uniform(0.0, 4.0); linear colours
# - ldr: vec3[ny, nx] zeros; display colours in [0, 1]
# - packed: int[ny, nx] zeros; colours as 0xRRGGBB
# - exposure: float = 1.5; factor before the curve
# - inv_gamma: float = 0.5; exponent of the display curve
@func
def reinhard(x: float, inv_gamma: float) -> float:
    """Compress one channel."""
    return wp.pow(x / (1.0 + x), inv_gamma)

@kernel[ny, nx] tone map or saturation, matrix or image map, elementwise map
def tonemap():
    """Apply exposure and the curve to each channel."""
    grid y, x
    guard y < ny and x < nx
    let c = hdr[y, x] * exposure
    ldr[y, x] = wp.vec3(reinhard(c[0], inv_gamma), reinhard(c[1], inv_gamma), reinhard(c[2], inv_gamma))

@kernel[ny, nx] bit tricks hash morton
def pack_colors():
    """Eight bits per channel."""
    grid y, x
    guard y < ny and x < nx
    let c = ldr[y, x]
    r = int(c[0] * 255.0)
    g = int(c[1] * 255.0)
    b = int(c[2] * 255.0)
    {{packed[y, x] = (r << 16) | (g << 8) | b || packed[y, x] = r * 65536 + g * 256 + b}}

def reference():
    for y in range(ny):
        for x in range(nx):
            for c in range(3):
                v = exposure * hdr[y, x][c]
                ldr[y, x][c] = math.pow(v / (v + 1.0), inv_gamma)
                packed[y, x] = packed[y, x] * 256 + int(255.0 * ldr[y, x][c])

# === resize_bilinear
# source: bilinear resampling with aligned corners
# task: resize an image with bilinear interpolation
# domain: graphics
# weight: 3
# split: test
# sizes: src_h = 2 3 6 16; src_w = 2 4 5 20; dst_h = 2 5 9 24; dst_w = 3 4 8 30
# - src: float[src_h, src_w] uniform(0.0, 1.0); input image
# - dst: float[dst_h, dst_w] zeros; resized image
# - SHRINK: float = 1.0; share of the image that is shown
@kernel[dst_h, dst_w] interpolation, multilinear interpolation, matrix or image map
def resize():
    """Blend the four source pixels around each target pixel."""
    grid y, x
    guard y < dst_h and x < dst_w
    # source coordinates
    sy = SHRINK * float(y) * float(src_h - 1) / float(dst_h - 1)
    sx = SHRINK * float(x) * float(src_w - 1) / float(dst_w - 1)
    i = wp.min(int(sy), src_h - 2)
    j = wp.min(int(sx), src_w - 2)
    fy = sy - float(i)
    fx = sx - float(j)
    #? blend
    top = src[i, j] * (1.0 - fx) + src[i, j + 1] * fx
    bottom = src[i + 1, j] * (1.0 - fx) + src[i + 1, j + 1] * fx
    dst[y, x] = top * (1.0 - fy) + bottom * fy
    #|
    top = wp.lerp(src[i, j], src[i, j + 1], fx)
    bottom = wp.lerp(src[i + 1, j], src[i + 1, j + 1], fx)
    dst[y, x] = wp.lerp(top, bottom, fy)
    #.

def reference():
    for y in range(dst_h):
        for x in range(dst_w):
            sy = float(y) * float(src_h - 1) / float(dst_h - 1)
            sx = float(x) * float(src_w - 1) / float(dst_w - 1)
            for i in range(src_h):
                for j in range(src_w):
                    wy = max(0.0, 1.0 - abs(sy - float(i)))
                    wx = max(0.0, 1.0 - abs(sx - float(j)))
                    dst[y, x] = dst[y, x] + wy * wx * src[i, j]

# === max_pool
# source: max pooling with indices
# task: pool an image by the maximum of windows and remember where it was
# domain: ml
# weight: 7
# split: validation
# sizes: out_h = 1 3 5 12; out_w = 2 3 6 16; in_h = 2 6 10 24; in_w = 4 6 12 32
# - image: float[in_h, in_w] uniform(-1.0, 1.0); input
# - pooled: float[out_h, out_w] zeros; maximum of each 2x2 window
# - where_max: int[out_h, out_w] zeros; flat index of the maximum
@kernel[out_h, out_w] argmin argmax, matrix or image map, index unflatten
def max_pool_2x2():
    """Largest value of each window."""
    grid i, j
    guard i < out_h and j < out_w
    best = image[2 * i, 2 * j]
    arg = 2 * i * in_w + 2 * j
    for di in range(2):
        for dj in range(2):
            let v = image[2 * i + di, 2 * j + dj]
            if v > best:
                best = v
                arg = (2 * i + di) * in_w + 2 * j + dj
    pooled[i, j] = best
    where_max[i, j] = arg

def reference():
    for i in range(out_h):
        for j in range(out_w):
            best = -10.0
            for p in range(in_h * in_w):
                y = p // in_w
                x = p % in_w
                if y // 2 == i and x // 2 == j and image[y, x] > best:
                    best = image[y, x]
                    pooled[i, j] = best
                    where_max[i, j] = p

# === mandelbrot_escape
# source: escape time of z <- z^2 + c (Mandelbrot 1980)
# task: compute escape times of a fractal on a grid of points
# domain: graphics
# weight: 4
# split: validation
# sizes: ny = 1 4 8 20; nx = 2 5 9 24
# - iterations: int[ny, nx] zeros; steps until a point escapes
# - center_x: float = -0.6; middle of the picture, real part
# - center_y: float = 0.1; middle of the picture, imaginary part
# - scale: float = 0.37; distance of neighbouring points
# - max_iter: int = 24; steps after which a point counts as inside
@kernel[ny, nx] escape time fractal, newton or fixed point
def escape_time():
    """Iterate until the point leaves the disc of radius two."""
    grid i, j
    guard i < ny and j < nx
    cx = center_x + scale * float(j - nx // 2)
    cy = center_y + scale * float(i - ny // 2)
    x = float(0.0)
    y = float(0.0)
    k = int(0)
    while k < max_iter and x * x + y * y < 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        k += 1
    iterations[i, j] = k

def reference():
    for p in range(ny * nx):
        cx = center_x + scale * float(p % nx - nx // 2)
        cy = center_y + scale * float(p // nx - ny // 2)
        x = 0.0
        y = 0.0
        inside = 1
        for k in range(max_iter):
            if x * x + y * y >= 4.0:
                inside = 0
            if inside == 1:
                t = x
                x = x * x - y * y + cx
                y = (t + t) * y + cy
                iterations[p // nx, p % nx] = k + 1
