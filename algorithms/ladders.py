# === matrix_product
# with: tiled_matmul, tile_gemm, dense_layer
# source: blocked matrix product (Goto and van de Geijn 2008)
# task: multiply two matrices
# sizes: tiles_m = 1 2 4 4; tiles_n = 1 3 4 4; tiles_k = 1 2 2 2
# - a: float[16 * tiles_m, 16 * tiles_k] uniform(-1.0, 1.0); left factor
# - b: float[16 * tiles_k, 16 * tiles_n] uniform(-1.0, 1.0); right factor
# - c: float[16 * tiles_m, 16 * tiles_n] zeros; the product
# - TILE: int = 16; edge of a tile
def reference():
    for i in range(16 * tiles_m):
        for j in range(16 * tiles_n):
            for k in range(16 * tiles_k):
                c[i, j] = c[i, j] + a[i, k] * b[k, j]

#= start
@kernel[16 * tiles_n, 16 * tiles_m]
def multiply():
    """One entry of the product per thread."""
    j, i = wp.tid()
    s = float(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s

#= coalesce-axes: the last coordinate of `wp.tid()` is that of neighbouring threads: as the column of `b` and `c`, a warp reads and writes neighbouring elements, and reads one element of `a` for all its threads
@kernel[16 * tiles_m, 16 * tiles_n]
def multiply():
    """One entry of the product per thread."""
    i, j = wp.tid()
    s = float(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s

#= tile-in-shared-memory: a block loads a tile of `a` and one of `b` into shared memory once, and uses each element for a whole row or column of its tile of `c`: global memory is read a sixteenth as often
@kernel[tiles_m, tiles_n]
def multiply():
    """One tile of the product per block."""
    i, j = wp.tid()
    product = wp.tile_zeros(shape=(TILE, TILE), dtype=float)
    for k in range(tiles_k):
        left = wp.tile_load(a, shape=(TILE, TILE), offset=(i * TILE, k * TILE), storage="shared")
        right = wp.tile_load(b, shape=(TILE, TILE), offset=(k * TILE, j * TILE), storage="shared")
        wp.tile_matmul(left, right, product)
    wp.tile_store(c, product, offset=(i * TILE, j * TILE))

# === matrix_transpose
# with: transpose_copy
# split: test
# source: transposition through shared memory (Ruetsch and Micikevicius 2009)
# task: transpose a matrix
# sizes: tiles_y = 1 2 2 2; tiles_x = 1 3 2 2
# - a: float[32 * tiles_y, 32 * tiles_x] uniform(-1.0, 1.0); matrix
# - b: float[32 * tiles_x, 32 * tiles_y] zeros; the transposed matrix
# - TILE: int = 32; edge of a tile
def reference():
    for i in range(32 * tiles_y):
        for j in range(32 * tiles_x):
            b[j, i] = a[i, j]

#= start
@kernel[32 * tiles_y, 32 * tiles_x]
def transpose():
    """One element per thread."""
    i, j = wp.tid()
    b[j, i] = a[i, j]

#= tile-in-shared-memory: reads of `a` or writes of `b` go down a column in any order of the threads; a tile in shared memory is read by rows and written by rows, and turned in between, where a column costs little
@kernel[tiles_y, tiles_x]
def transpose():
    """One tile per block."""
    i, j = wp.tid()
    part = wp.tile_load(a, shape=(TILE, TILE), offset=(i * TILE, j * TILE), storage="shared")
    wp.tile_store(b, wp.tile_transpose(part), offset=(j * TILE, i * TILE))

# === heat_stencil
# with: heat_explicit, pressure_poisson, gray_scott
# source: forward time, centred space (Crank 1975)
# task: step the heat equation on the inside of a plate
# about: The border stays as it is in the array that is written: zero.
# domain: physics
# sizes: tiles_y = 1 2 4 4; tiles_x = 1 3 4 4
# - u: float[16 * tiles_y + 2, 16 * tiles_x + 2] uniform(0.0, 1.0); temperature now [K]
# - u_next: float[16 * tiles_y + 2, 16 * tiles_x + 2] zeros; temperature after the step [K]
# - r: float = 0.2; number of the step: conductivity times time over the square of the spacing
# - TILE: int = 16; edge of the part of a block
def reference():
    for i in range(1, 16 * tiles_y + 1):
        for j in range(1, 16 * tiles_x + 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            u_next[i, j] = u[i, j] + r * (around - 4.0 * u[i, j])

#= start
@kernel[16 * tiles_x, 16 * tiles_y]
def diffuse():
    """One point of the inside per thread."""
    col, row = wp.tid()
    i = row + 1
    j = col + 1
    around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
    u_next[i, j] = u[i, j] + r * (around - 4.0 * u[i, j])

#= coalesce-axes: the last coordinate of `wp.tid()` is that of neighbouring threads: as the column of `u` and `u_next`, a warp reads and writes neighbouring elements
@kernel[16 * tiles_y, 16 * tiles_x]
def diffuse():
    """One point of the inside per thread."""
    row, col = wp.tid()
    i = row + 1
    j = col + 1
    around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
    u_next[i, j] = u[i, j] + r * (around - 4.0 * u[i, j])

#= tile-in-shared-memory: five threads read each element of `u`; a block loads its part with a border of one element into shared memory, and the four neighbours come from there
@kernel[tiles_y, tiles_x]
def diffuse():
    """One tile of the inside per block."""
    i, j = wp.tid()
    part = wp.tile_load(u, shape=(TILE + 2, TILE + 2), offset=(i * TILE, j * TILE), storage="shared")
    middle = part[1 : TILE + 1, 1 : TILE + 1]
    vertical = part[0:TILE, 1 : TILE + 1] + part[2 : TILE + 2, 1 : TILE + 1]
    horizontal = part[1 : TILE + 1, 0:TILE] + part[1 : TILE + 1, 2 : TILE + 2]
    change = vertical + horizontal - middle * 4.0
    wp.tile_store(u_next, middle + change * r, offset=(i * TILE + 1, j * TILE + 1))

# === signal_filter
# with: conv1d_valid, gaussian_blur, window_mean
# source: finite impulse response filter (Oppenheim and Schafer 2010)
# task: filter a signal with nine weights
# about: The result is as long as the signal less eight samples.
# domain: signal
# sizes: num_blocks = 1 3 64 64
# - x: float[64 * num_blocks + 8] uniform(-1.0, 1.0); signal
# - weights: float[9] uniform(-0.5, 0.5); weights of the filter
# - y: float[64 * num_blocks] zeros; filtered signal
# - BLOCK: int = 64; samples of a block
# - TAPS: int = 9; weights
def reference():
    for i in range(64 * num_blocks):
        for k in range(9):
            y[i] = y[i] + weights[k] * x[i + k]

#= start
@kernel[64 * num_blocks]
def filter_samples():
    """One sample of the result per thread."""
    i = wp.tid()
    y[i] = 0.0
    for k in range(TAPS):
        y[i] = y[i] + weights[k] * x[i + k]

#= accumulate-in-register: the sum is in `y`: each iteration reads and writes global memory; a variable is in a register, and one store is left
@kernel[64 * num_blocks]
def filter_samples():
    """One sample of the result per thread."""
    i = wp.tid()
    total = float(0.0)
    for k in range(TAPS):
        total += weights[k] * x[i + k]
    y[i] = total

#= tile-in-shared-memory: nine threads read each sample of `x`; a block loads its samples and eight more into shared memory, and all weights are applied there
@kernel[num_blocks]
def filter_samples():
    """One block of samples per block of threads."""
    block = wp.tid()
    samples = wp.tile_load(x, shape=BLOCK + TAPS - 1, offset=block * BLOCK, storage="shared")
    total = wp.tile_zeros(shape=BLOCK, dtype=float)
    for k in range(TAPS):
        total += wp.tile_view(samples, offset=k, shape=BLOCK) * weights[k]
    wp.tile_store(y, total, offset=block * BLOCK)

# === kinetic_energy
# with: tile_block_sums, leapfrog_oscillators, nose_hoover_chain
# source: two-pass reduction by blocks of threads (Harris 2007)
# task: add up the kinetic energy of particles
# domain: physics
# sizes: num_blocks = 1 3 16 16
# - mass: float[256 * num_blocks] uniform(0.5, 2.0); masses of the particles [kg]
# - speed: float[256 * num_blocks] uniform(-1.0, 1.0); speeds of the particles [m/s]
# - energy: float[1] zeros; kinetic energy of all particles [J]
def reference():
    for i in range(256 * num_blocks):
        energy[0] = energy[0] + 0.5 * mass[i] * speed[i] * speed[i]

#= start
@kernel[256 * num_blocks]
def add_energies():
    """One particle per thread."""
    i = wp.tid()
    wp.atomic_add(energy, 0, 0.5 * mass[i] * speed[i] * speed[i])

#= sums-private-to-a-thread: every addition to `energy` waits for the one before it; each thread adds up eight particles in a register first, so that an eighth of the atomic additions is left
@kernel[32 * num_blocks]
def add_energies():
    """Eight particles per thread."""
    first = wp.tid()
    total = float(0.0)
    for k in range(8):
        i = first + k * 32 * num_blocks
        total += 0.5 * mass[i] * speed[i] * speed[i]
    wp.atomic_add(energy, 0, total)

# === value_range
# with: bounding_boxes
# source: reduction by blocks of threads (Harris 2007)
# task: find the smallest and the largest of many values
# sizes: num_blocks = 1 3 16 16
# - values: float[256 * num_blocks] uniform(-1.0, 1.0); values
# - smallest: float[1] full(1000.0); smallest value
# - largest: float[1] full(-1000.0); largest value
def reference():
    for i in range(256 * num_blocks):
        smallest[0] = min(smallest[0], values[i])
        largest[0] = max(largest[0], values[i])

#= start
@kernel[256 * num_blocks]
def find_smallest():
    """One value per thread."""
    i = wp.tid()
    wp.atomic_min(smallest, 0, values[i])

@kernel[256 * num_blocks]
def find_largest():
    """One value per thread."""
    i = wp.tid()
    wp.atomic_max(largest, 0, values[i])

#= fuse-kernels: both kernels read all of `values`; one kernel reads them once, and saves a launch
@kernel[256 * num_blocks]
def find_range():
    """One value per thread."""
    i = wp.tid()
    value = values[i]
    wp.atomic_min(smallest, 0, value)
    wp.atomic_max(largest, 0, value)

# === histogram
# with: image_histogram, histogram_2d
# source: histograms private to a block (Podlozhnyuk 2007)
# task: count values in sixteen bins
# about: Values outside of the range count in the first or the last bin.
# sizes: num_blocks = 1 2 8 8
# - values: float[512 * num_blocks] uniform(-0.2, 1.2); values
# - counts: int[16] zeros; values in each bin
# - BINS: int = 16; bins from 0 to 1
def reference():
    for i in range(512 * num_blocks):
        b = min(max(int(math.floor(values[i] * 16.0)), 0), 15)
        counts[b] = counts[b] + 1

#= start
@kernel[512 * num_blocks]
def count_values():
    """One value per thread."""
    i = wp.tid()
    b = wp.clamp(int(wp.floor(values[i] * float(BINS))), 0, BINS - 1)
    wp.atomic_add(counts, b, 1)

#= sums-private-to-a-block: all threads add to the same sixteen elements of `counts`, one after the other; a block counts 512 values in shared memory, and adds its counts to `counts` once
@kernel[num_blocks]
def count_values():
    """512 values per block of threads."""
    block, lane = wp.tid()
    own = wp.tile_zeros(shape=BINS, dtype=int, storage="shared")
    for k in range(8):
        value = values[block * 512 + k * 64 + lane]
        b = wp.clamp(int(wp.floor(value * float(BINS))), 0, BINS - 1)
        wp.tile_scatter_add(own, b, 1, True)
    wp.tile_atomic_add(counts, own, offset=0)

# === digit_counts
# with: radix_pass, fletcher_checksums, run_lengths
# source: counting pass of a radix sort (Satish, Harris and Garland 2009)
# task: count the digits of keys in base eight
# sizes: num_blocks = 1 2 8 8
# - keys: int[512 * num_blocks] uniform(0, 4096); keys
# - counts: int[8] zeros; keys with each digit
# - shift: int = 3; bits behind the digit
# - RADIX: int = 8; digits
def reference():
    for i in range(512 * num_blocks):
        digit = (keys[i] >> shift) & 7
        counts[digit] = counts[digit] + 1

#= start
@kernel[512 * num_blocks]
def count_digits():
    """One key per thread."""
    i = wp.tid()
    digit = (keys[i] >> shift) & 7
    wp.atomic_add(counts, digit, 1)

#= sums-private-to-a-block: all threads add to the same eight elements of `counts`, one after the other; a block counts the digits of 512 keys in shared memory, and adds its counts to `counts` once
@kernel[num_blocks]
def count_digits():
    """512 keys per block of threads."""
    block, lane = wp.tid()
    own = wp.tile_zeros(shape=RADIX, dtype=int, storage="shared")
    for k in range(8):
        digit = (keys[block * 512 + k * 64 + lane] >> shift) & 7
        wp.tile_scatter_add(own, digit, 1, True)
    wp.tile_atomic_add(counts, own, offset=0)

# === feed_forward_tail
# with: layer_norm, attention_head, gru_cell, batch_norm_2d
# source: kernels that are joined so that values stay in registers (Filipovic et al. 2015)
# task: add a bias, apply a gate and add a residual
# domain: ml
# sizes: num_rows = 1 5 128 128; width = 4 8 32 32
# - x: float[num_rows, width] uniform(-2.0, 2.0); result of the product
# - bias: float[width] uniform(-0.5, 0.5); bias of the columns
# - residual: float[num_rows, width] uniform(-1.0, 1.0); what goes round the layer
# - shifted: float[num_rows, width] zeros; with the bias
# - gated: float[num_rows, width] zeros; behind the gate
# - y: float[num_rows, width] zeros; result of the layer
def reference():
    for i in range(num_rows):
        for j in range(width):
            h = x[i, j] + bias[j]
            y[i, j] = h / (1.0 + math.exp(-h)) + residual[i, j]

#= start
@kernel[num_rows, width]
def add_bias():
    """One element per thread."""
    i, j = wp.tid()
    shifted[i, j] = x[i, j] + bias[j]

@kernel[num_rows, width]
def apply_gate():
    """One element per thread."""
    i, j = wp.tid()
    h = shifted[i, j]
    gated[i, j] = h / (1.0 + wp.exp(-h))

@kernel[num_rows, width]
def add_residual():
    """One element per thread."""
    i, j = wp.tid()
    y[i, j] = gated[i, j] + residual[i, j]

#= fuse-kernels: `shifted` and `gated` go to global memory and come back, only to be used by the same thread; in one kernel they are values in registers, and two launches less are made
@kernel[num_rows, width]
def layer_tail():
    """One element per thread."""
    i, j = wp.tid()
    h = x[i, j] + bias[j]
    y[i, j] = h / (1.0 + wp.exp(-h)) + residual[i, j]

# === gradient_step
# with: cg_step, adam_update, lion_update, csr_residual_norm
# source: conjugate gradients (Hestenes and Stiefel 1952)
# task: update the solution and the residual of a linear solver, and the squared norm of the residual
# sizes: num_blocks = 1 3 16 16
# - x: float[256 * num_blocks] uniform(-1.0, 1.0); solution
# - p: float[256 * num_blocks] uniform(-1.0, 1.0); direction
# - q: float[256 * num_blocks] uniform(-1.0, 1.0); matrix times direction
# - res: float[256 * num_blocks] uniform(-1.0, 1.0); residual
# - norm_sq: float[1] zeros; squared norm of the residual
# - alpha: float = 0.3; length of the step
def reference():
    for i in range(256 * num_blocks):
        x[i] = x[i] + alpha * p[i]
        res[i] = res[i] - alpha * q[i]
        norm_sq[0] = norm_sq[0] + res[i] * res[i]

#= start
@kernel[256 * num_blocks]
def update_solution():
    """One unknown per thread."""
    i = wp.tid()
    x[i] = x[i] + alpha * p[i]

@kernel[256 * num_blocks]
def update_residual():
    """One unknown per thread."""
    i = wp.tid()
    res[i] = res[i] - alpha * q[i]

@kernel[256 * num_blocks]
def square_residual():
    """One unknown per thread."""
    i = wp.tid()
    wp.atomic_add(norm_sq, 0, res[i] * res[i])

#= fuse-kernels: `res` is written by one kernel and read by the next one, at the same place by the same thread; in one kernel it is a value in a register, and two launches less are made
@kernel[256 * num_blocks]
def update():
    """One unknown per thread."""
    i = wp.tid()
    x[i] = x[i] + alpha * p[i]
    value = res[i] - alpha * q[i]
    res[i] = value
    wp.atomic_add(norm_sq, 0, value * value)

# === row_softmax
# with: softmax_cross_entropy, nucleus_sampling
# split: test
# source: softmax with the largest entry taken off (Goodfellow, Bengio and Courville 2016, section 4.1)
# task: normalise the rows of a matrix with softmax
# domain: ml
# sizes: num_rows = 1 5 64 64
# - logits: float[num_rows, 256] uniform(-3.0, 3.0); scores
# - probs: float[num_rows, 256] zeros; probabilities
# - WIDTH: int = 256; entries of a row
def reference():
    for i in range(num_rows):
        total = 0.0
        for j in range(256):
            total = total + math.exp(logits[i, j])
        for j in range(256):
            probs[i, j] = math.exp(logits[i, j]) / total

#= start
@kernel[num_rows]
def normalise():
    """One row per thread."""
    row = wp.tid()
    peak = logits[row, 0]
    for j in range(1, WIDTH):
        peak = wp.max(peak, logits[row, j])
    total = float(0.0)
    for j in range(WIDTH):
        total += wp.exp(logits[row, j] - peak)
    for j in range(WIDTH):
        probs[row, j] = wp.exp(logits[row, j] - peak) / total

#= block-per-row: neighbouring threads have neighbouring rows, so that a warp goes down 32 rows at a time, and reads them three times; a block takes a row of `logits` with neighbouring threads at neighbouring entries, once, and keeps it
@kernel[num_rows]
def normalise():
    """One row per block of threads."""
    row = wp.tid()
    scores = wp.tile_load(logits[row], shape=WIDTH)
    peak = wp.tile_extract(wp.tile_max(scores), 0)
    weights = wp.tile_map(wp.exp, scores - wp.tile_full(shape=WIDTH, value=peak, dtype=float))
    total = wp.tile_extract(wp.tile_sum(weights), 0)
    wp.tile_store(probs[row], weights * (1.0 / total))

# === row_scaling
# with: rms_norm, tile_layer_norm, normalize_rows, layer_norm_backward
# source: root mean square normalisation (Zhang and Sennrich 2019)
# task: divide the rows of a matrix by their root mean square and multiply them with a gain
# domain: ml
# sizes: num_rows = 1 5 64 64
# - x: float[num_rows, 256] uniform(-2.0, 2.0); rows
# - gain: float[256] uniform(0.5, 1.5); gain of the columns
# - y: float[num_rows, 256] zeros; scaled rows
# - WIDTH: int = 256; entries of a row
# - EPS: float = 1e-5; keeps the root away from zero
def reference():
    for i in range(num_rows):
        squares = 0.0
        for j in range(256):
            squares = squares + x[i, j] * x[i, j]
        for j in range(256):
            y[i, j] = x[i, j] * gain[j] / math.sqrt(squares / 256.0 + EPS)

#= start
@kernel[num_rows]
def scale_rows():
    """One row per thread."""
    row = wp.tid()
    squares = float(0.0)
    for j in range(WIDTH):
        squares += x[row, j] * x[row, j]
    scale = 1.0 / wp.sqrt(squares / float(WIDTH) + EPS)
    for j in range(WIDTH):
        y[row, j] = x[row, j] * gain[j] * scale

#= block-per-row: neighbouring threads have neighbouring rows, so that a warp goes down 32 rows at a time, and reads them twice; a block takes a row of `x` with neighbouring threads at neighbouring entries, once, and keeps it
@kernel[num_rows]
def scale_rows():
    """One row per block of threads."""
    row = wp.tid()
    entries = wp.tile_load(x[row], shape=WIDTH)
    squares = wp.tile_extract(wp.tile_sum(entries * entries), 0)
    scale = 1.0 / wp.sqrt(squares / float(WIDTH) + EPS)
    wp.tile_store(y[row], entries * wp.tile_load(gain, shape=WIDTH) * scale)

# === matrix_vector
# with: dense_matvec, tile_matvec, int8_matmul
# source: matrix-vector products by blocks of rows (Nath, Tomov and Dongarra 2010)
# task: multiply a matrix with a vector
# sizes: num_rows = 1 5 64 64
# - matrix: float[num_rows, 1024] uniform(-1.0, 1.0); matrix
# - x: float[1024] uniform(-1.0, 1.0); vector
# - y: float[num_rows] zeros; the product
# - WIDTH: int = 1024; columns of the matrix
def reference():
    for i in range(num_rows):
        for j in range(1024):
            y[i] = y[i] + float(matrix[i, j]) * x[j]

#= start
@kernel[num_rows]
def multiply_rows():
    """One row per thread."""
    row = wp.tid()
    total = float(0.0)
    for j in range(WIDTH):
        total += matrix[row, j] * x[j]
    y[row] = total

#= block-per-row: neighbouring threads have neighbouring rows, so that a warp goes down 32 rows at a time; a block takes a row of `matrix` with neighbouring threads at neighbouring entries, and adds up in shared memory
@kernel[num_rows]
def multiply_rows():
    """One row per block of threads."""
    row = wp.tid()
    entries = wp.tile_load(matrix[row], shape=WIDTH)
    product = wp.tile_sum(entries * wp.tile_load(x, shape=WIDTH))
    wp.tile_store(y, product, offset=row)

#= half-storage: each entry of `matrix` is read once, so that its size decides: as half floats the entries take half of the memory, and are added up in single precision
# - matrix__half: float16[num_rows, 1024] uniform(-1.0, 1.0); matrix
@kernel[num_rows]
def multiply_rows():
    """One row per block of threads."""
    row = wp.tid()
    entries = wp.tile_astype(wp.tile_load(matrix__half[row], shape=WIDTH), dtype=wp.float32)
    product = wp.tile_sum(entries * wp.tile_load(x, shape=WIDTH))
    wp.tile_store(y, product, offset=row)

# === embedding_rows
# with: embedding_bag, gather_vectors, expert_routing, paged_attention
# source: tables of word vectors (Mikolov et al. 2013), in half precision (Micikevicius et al. 2018)
# task: look up the rows of a table by their numbers and scale them
# domain: ml
# sizes: num_tokens = 1 5 128 128; vocabulary = 3 7 64 64
# - table: float[vocabulary, 32] uniform(-1.0, 1.0); vectors of the words
# - tokens: int[num_tokens] index(vocabulary); words
# - out: float[num_tokens, 32] zeros; scaled vectors
# - scale: float = 5.6; factor of all vectors
def reference():
    for t in range(num_tokens):
        for c in range(32):
            out[t, c] = scale * float(table[tokens[t], c])

#= start
@kernel[32, num_tokens]
def look_up():
    """One number per thread."""
    c, t = wp.tid()
    out[t, c] = scale * table[tokens[t], c]

#= coalesce-axes: the last coordinate of `wp.tid()` is that of neighbouring threads: as the column of `table` and `out`, a warp reads and writes one row
@kernel[num_tokens, 32]
def look_up():
    """One number per thread."""
    t, c = wp.tid()
    out[t, c] = scale * table[tokens[t], c]

#= half-storage: a vector is only read and scaled: in half precision `table` takes half of the memory, and a warp reads half of the sectors
# - table__half: float16[vocabulary, 32] uniform(-1.0, 1.0); vectors of the words
@kernel[num_tokens, 32]
def look_up():
    """One number per thread."""
    t, c = wp.tid()
    out[t, c] = scale * float(table__half[tokens[t], c])

# === blended_frames
# with: axpy, bilateral_denoise
# source: mixed precision (Micikevicius et al. 2018)
# task: blend two frames
# domain: graphics
# sizes: height = 1 5 64 64; width = 4 9 64 64
# - first: float[height, width] uniform(0.0, 1.0); first frame
# - second: float[height, width] uniform(0.0, 1.0); second frame
# - blended: float[height, width] zeros; the blended frame
# - weight: float = 0.25; part of the second frame
def reference():
    for i in range(height):
        for j in range(width):
            blended[i, j] = (1.0 - weight) * float(first[i, j]) + weight * float(second[i, j])

#= start
@kernel[width, height]
def blend():
    """One pixel per thread."""
    j, i = wp.tid()
    blended[i, j] = (1.0 - weight) * first[i, j] + weight * second[i, j]

#= coalesce-axes: the last coordinate of `wp.tid()` is that of neighbouring threads: as the column of the frames, a warp reads and writes neighbouring pixels
@kernel[height, width]
def blend():
    """One pixel per thread."""
    i, j = wp.tid()
    blended[i, j] = (1.0 - weight) * first[i, j] + weight * second[i, j]

#= half-storage: pixels have few digits: in half precision `first` and `second` take half of the memory, and a warp reads half of the sectors; the sum is in single precision
# - first__half: float16[height, width] uniform(0.0, 1.0); first frame
# - second__half: float16[height, width] uniform(0.0, 1.0); second frame
@kernel[height, width]
def blend():
    """One pixel per thread."""
    i, j = wp.tid()
    blended[i, j] = (1.0 - weight) * float(first__half[i, j]) + weight * float(second__half[i, j])
