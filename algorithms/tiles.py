# === tile_row_softmax
# source: softmax of rows, one block of threads per row (Milakov and Gimelshein 2018)
# task: normalise the rows of a matrix with softmax, one tile per row
# about: Rows are as wide as a tile. The largest entry is taken off before the exponential, so nothing overflows.
# domain: ml
# weight: 10
# sizes: num_rows = 1 5 71 256
# - logits: float[num_rows, 32] uniform(-2.0, 2.0); scores
# - temperature: float = 0.8; divisor of the scores
# - probs: float[num_rows, 32] zeros; probabilities
# - row_max: float[num_rows] zeros; largest score of each row
# - entropy: float[num_rows] zeros; entropies [nat]
# - TILE: int = 32; width of a row
@kernel[num_rows] tile reduce, softmax logsumexp
def softmax_rows():
    """Each block normalises one row."""
    row = wp.tid()
    scores = wp.tile_load(logits[row], shape=TILE)
    top = wp.tile_max(scores)
    peak = wp.tile_extract(top, 0)
    weights = wp.tile_map(wp.exp, (scores - wp.tile_full(shape=TILE, value=peak, dtype=float)) * (1.0 / temperature))
    total = wp.tile_sum(weights)
    scale = 1.0 / wp.tile_extract(total, 0)
    wp.tile_store(probs[row], weights * scale)
    row_max[row] = peak

@kernel[num_rows] tile reduce
def row_entropy():
    """Entropy of each row."""
    row = wp.tid()
    p = wp.tile_load(probs[row], shape=TILE)
    parts = p * wp.tile_map(wp.log, p)
    entropy[row] = -wp.tile_extract(wp.tile_sum(parts), 0)

def reference():
    for r in range(num_rows):
        row_max[r] = logits[r, 0]
        for c in range(32):
            row_max[r] = max(row_max[r], logits[r, c])
        total = 0.0
        for c in range(32):
            total = total + math.exp((logits[r, c] - row_max[r]) / temperature)
        for c in range(32):
            probs[r, c] = math.exp((logits[r, c] - row_max[r]) / temperature) / total
            entropy[r] = entropy[r] - probs[r, c] * math.log(probs[r, c])

# === tile_gemm
# source: blocked matrix product (Goto and van de Geijn 2008)
# task: multiply two matrices tile by tile and add a bias and a ReLU
# domain: ml
# weight: 9
# sizes: tiles_m = 1 2 9 8; tiles_n = 1 3 8 8; tiles_k = 1 2 2 8
# - a: float[8 * tiles_m, 16 * tiles_k] uniform(-1.0, 1.0); left factor
# - b: float[16 * tiles_k, 8 * tiles_n] uniform(-1.0, 1.0); right factor
# - bias: float[8 * tiles_n] uniform(-0.5, 0.5); bias of the columns
# - c: float[8 * tiles_m, 8 * tiles_n] zeros; product with bias, negative entries cut off
# - TILE_M: int = 8; rows of a tile of the result
# - TILE_N: int = 8; columns of a tile of the result
# - TILE_K: int = 16; depth of a step
@kernel[tiles_m, tiles_n] tile matmul, matmul
def gemm_tiles():
    """Each block computes one tile of the result."""
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(TILE_M, TILE_N), dtype=float)
    for k in range(tiles_k):
        left = wp.tile_load(a, shape=(TILE_M, TILE_K), offset=(i * TILE_M, k * TILE_K))
        right = wp.tile_load(b, shape=(TILE_K, TILE_N), offset=(k * TILE_K, j * TILE_N))
        wp.tile_matmul(left, right, acc)
    # the bias is the same in all rows
    row = wp.tile_load(bias, shape=TILE_N, offset=j * TILE_N)
    acc += wp.tile_broadcast(row, shape=(TILE_M, TILE_N))
    zero = wp.tile_zeros(shape=(TILE_M, TILE_N), dtype=float)
    wp.tile_store(c, wp.tile_map(wp.max, acc, zero), offset=(i * TILE_M, j * TILE_N))

def reference():
    for i in range(8 * tiles_m):
        for j in range(8 * tiles_n):
            s = bias[j]
            for k in range(16 * tiles_k):
                s = s + a[i, k] * b[k, j]
            c[i, j] = max(s, 0.0)

# === tile_block_sums
# source: two-pass reduction by blocks of threads (Harris 2007)
# task: reduce a long array to its sum, its mean square and the largest element of each block with tiles
# domain: generic
# weight: 8
# sizes: num_blocks = 1 3 71 64
# - values: float[64 * num_blocks] uniform(-1.0, 1.0); values
# - block_sum: float[num_blocks] zeros; sum of each block
# - block_max: float[num_blocks] full(-1000.0); largest value of each block
# - total: float[1] zeros; sum of all values
# - mean_square: float[1] zeros; mean square of the values
# - BLOCK: int = 64; values of a block
@kernel[num_blocks] tile reduce, atomic reduction
def reduce_blocks():
    """Sum and maximum of one block of values."""
    block = wp.tid()
    data = wp.tile_load(values, shape=BLOCK, offset=block * BLOCK)
    part = wp.tile_sum(data)
    block_sum[block] = wp.tile_extract(part, 0)
    block_max[block] = wp.tile_extract(wp.tile_max(data), 0)
    wp.tile_atomic_add(total, part, offset=0)

@kernel[num_blocks] tile reduce, tile other
def square_blocks():
    """Mean square of one block, added to that of all."""
    block = wp.tid()
    data = wp.tile_load(values, shape=BLOCK, offset=block * BLOCK)
    squares = data * data
    mean = wp.tile_sum(squares) * (1.0 / float(num_blocks * BLOCK))
    wp.tile_atomic_add(mean_square, mean, offset=0)

def reference():
    for i in range(64 * num_blocks):
        b = i // 64
        block_sum[b] = block_sum[b] + values[i]
        block_max[b] = max(block_max[b], values[i])
        total[0] = total[0] + values[i]
        mean_square[0] = mean_square[0] + values[i] * values[i] / float(64 * num_blocks)

# === tile_cholesky_solve
# source: dense Cholesky factorisation and triangular solves by blocks of threads (Golub and Van Loan 2013, section 4.2)
# task: solve small regularised normal equations, one block of threads per system
# about: Every block builds the Gram matrix of its samples, adds the regularisation and solves for the weights.
# domain: ml
# weight: 8
# split: test
# sizes: num_systems = 1 3 9 64
# - samples: float[num_systems, 12, 6] uniform(-1.0, 1.0); samples of each system, row by row
# - targets: float[num_systems, 12, 1] uniform(-1.0, 1.0); target of each sample
# - ridge: float = 0.5; regularisation
# - weights: float[num_systems, 6] zeros; solutions
# - ROWS: int = 12; samples of a system
# - COLS: int = 6; unknowns of a system
@kernel[num_systems] tile fft solve, tile matmul, triangular loops factorisation
def solve_ridge():
    """Normal equations, Cholesky factor and solution of one system."""
    s = wp.tid()
    x = wp.tile_load(samples[s], shape=(ROWS, COLS))
    y = wp.tile_load(targets[s], shape=(ROWS, 1))
    xt = wp.tile_transpose(x)
    gram = wp.tile_matmul(xt, x)
    rhs = wp.tile_reshape(wp.tile_matmul(xt, y), shape=(COLS,))
    shift = wp.tile_full(shape=COLS, value=ridge, dtype=float)
    system = wp.tile_diag_add(gram, shift)
    factor = wp.tile_cholesky(system)
    solution = wp.tile_cholesky_solve(factor, rhs)
    wp.tile_store(weights[s], solution)

def reference():
    """Gauss-Seidel sweeps over the normal equations until nothing changes."""
    for s in range(num_systems):
        for sweep in range(40):
            for a in range(6):
                top = 0.0
                diagonal = ridge
                for r in range(12):
                    rest = targets[s, r, 0]
                    for b in range(6):
                        if b != a:
                            rest = rest - samples[s, r, b] * weights[s, b]
                    top = top + samples[s, r, a] * rest
                    diagonal = diagonal + samples[s, r, a] ** 2.0
                weights[s, a] = top / diagonal

# === tile_layer_norm
# source: layer normalisation (Ba, Kiros and Hinton 2016), one block of threads per row
# task: normalise rows to zero mean and unit variance with gain and bias, one tile per row
# about: Rows are as wide as a tile.
# domain: ml
# weight: 11
# sizes: num_rows = 1 5 71 256
# - x: float[num_rows, 32] uniform(-1.0, 2.0); inputs
# - gain: float[32] uniform(0.5, 1.5); gain
# - shift: float[32] uniform(-0.5, 0.5); bias
# - mean: float[num_rows] zeros; mean of each row
# - y: float[num_rows, 32] zeros; normalised rows
# - WIDTH: int = 32; width of a row
# - EPS: float = 1.0e-5; added to the variance
@kernel[num_rows] tile reduce, tile other
def normalize_rows():
    """Mean, variance, scale and shift of one row."""
    row = wp.tid()
    values = wp.tile_load(x[row], shape=WIDTH)
    mu = wp.tile_extract(wp.tile_sum(values), 0) / float(WIDTH)
    #? center
    centered = values - wp.tile_full(shape=WIDTH, value=mu, dtype=float)
    #|
    center = wp.tile_full(shape=WIDTH, value=mu, dtype=float)
    centered = values - center
    #.
    #? spread
    variance = wp.tile_extract(wp.tile_sum(centered * centered), 0) / float(WIDTH)
    scale = 1.0 / wp.sqrt(variance + EPS)
    #|
    squares = wp.tile_map(wp.mul, centered, centered)
    total = wp.tile_sum(squares)
    # reciprocal of the standard deviation
    scale = 1.0 / wp.sqrt(wp.tile_extract(total, 0) / float(WIDTH) + EPS)
    #|
    mean_square = wp.tile_sum(centered * centered) * (1.0 / float(WIDTH))
    scale = 1.0 / wp.sqrt(wp.tile_extract(mean_square, 0) + EPS)
    #.
    #? store
    weights = wp.tile_load(gain, shape=WIDTH)
    offset = wp.tile_load(shift, shape=WIDTH)
    wp.tile_store(y[row], centered * scale * weights + offset)
    #|
    normal = centered * scale
    wp.tile_store(y[row], normal * wp.tile_load(gain, shape=WIDTH) + wp.tile_load(shift, shape=WIDTH))
    #|
    result = wp.tile_load(shift, shape=WIDTH)
    result += centered * wp.tile_load(gain, shape=WIDTH) * scale
    wp.tile_store(y[row], result)
    #.
    mean[row] = mu

def reference():
    for r in range(num_rows):
        q = 0.0
        for c in range(32):
            mean[r] = mean[r] + x[r, c] / 32.0
            q = q + x[r, c] * x[r, c] / 32.0
        inv = (q - mean[r] * mean[r] + EPS) ** -0.5
        for c in range(32):
            y[r, c] = (x[r, c] - mean[r]) * inv * gain[c] + shift[c]

# === tile_matvec
# source: matrix-vector products by blocks of rows (Nath, Tomov and Dongarra 2010)
# task: multiply a dense matrix with a vector, one block of threads per row, and add up the squared residual
# domain: generic
# weight: 7
# sizes: num_rows = 1 5 71 128; parts = 1 2 2 8
# - matrix: float[num_rows, 32 * parts] uniform(-1.0, 1.0); matrix
# - x: float[32 * parts] uniform(-1.0, 1.0); vector that is multiplied
# - rhs: float[num_rows] uniform(-1.0, 1.0); right-hand side
# - y: float[num_rows] zeros; the product
# - residual_sq: float[1] zeros; squared norm of the product less the right-hand side
# - PART: int = 32; columns of a step
@kernel[num_rows] tile reduce, matvec dot, atomic reduction
def multiply_rows():
    """Part by part of one row."""
    row = wp.tid()
    #? sum
    acc = wp.tile_zeros(shape=PART, dtype=float)
    for k in range(parts):
        entries = wp.tile_load(matrix[row], shape=PART, offset=k * PART)
        factor = wp.tile_load(x, shape=PART, offset=k * PART)
        acc += entries * factor
    product = wp.tile_sum(acc)
    #|
    # sums of the parts
    product = wp.tile_zeros(shape=1, dtype=float)
    for k in range(parts):
        entries = wp.tile_load(matrix[row], shape=PART, offset=k * PART)
        factor = wp.tile_load(x, shape=PART, offset=k * PART)
        product += wp.tile_sum(entries * factor)
    #|
    acc = wp.tile_zeros(shape=PART, dtype=float)
    for k in range(parts):
        start = k * PART
        left = wp.tile_load(matrix[row], shape=PART, offset=start)
        acc = acc + wp.tile_map(wp.mul, left, wp.tile_load(x, shape=PART, offset=start))
    product = wp.tile_sum(acc)
    #.
    #? compare
    wp.tile_store(y, product, offset=row)
    right = wp.tile_load(rhs, shape=1, offset=row)
    difference = product - right
    wp.tile_atomic_add(residual_sq, difference * difference, offset=0)
    #|
    value = wp.tile_extract(product, 0)
    y[row] = value
    difference = product - wp.tile_full(shape=1, value=rhs[row], dtype=float)
    wp.tile_atomic_add(residual_sq, difference * difference, offset=0)
    #.

def reference():
    for r in range(num_rows):
        for c in range(32 * parts):
            y[r] = y[r] + x[c] * matrix[r, c]
        residual_sq[0] = residual_sq[0] + (rhs[r] - y[r]) ** 2.0

# === tile_attention
# source: attention by blocks of queries (Vaswani et al. 2017; Dao et al. 2022)
# task: attend with blocks of eight queries over sixteen keys and values, one block of threads per block of queries
# about: All keys fit into one tile, so that the softmax of a row needs one pass.
# domain: ml
# weight: 7
# sizes: num_blocks = 1 3 9 32
# - q: float[8 * num_blocks, 16] uniform(-1.0, 1.0); queries
# - k: float[16, 16] uniform(-1.0, 1.0); keys
# - v: float[16, 16] uniform(-1.0, 1.0); values
# - out: float[8 * num_blocks, 16] zeros; mixed values
# - QUERIES: int = 8; queries of a block
# - KEYS: int = 16; keys
# - DIM: int = 16; width of queries, keys and values
# - scale: float = 0.25; scale of the products
@kernel[num_blocks] tile matmul, softmax logsumexp, matmul
def attend_blocks():
    """Products, exponentials, and the mean of the values."""
    block = wp.tid()
    queries = wp.tile_load(q, shape=(QUERIES, DIM), offset=(block * QUERIES, 0))
    keys = wp.tile_load(k, shape=(KEYS, DIM))
    #? scores
    scores = wp.tile_matmul(queries, wp.tile_transpose(keys)) * scale
    weights = wp.tile_map(wp.exp, scores)
    #|
    turned = wp.tile_transpose(keys)
    scores = wp.tile_zeros(shape=(QUERIES, KEYS), dtype=float)
    wp.tile_matmul(queries, turned, scores)
    weights = wp.tile_map(wp.exp, scores * scale)
    #|
    scores = wp.tile_matmul(queries * scale, wp.tile_transpose(keys))
    weights = wp.tile_map(wp.exp, scores)
    #.
    {{ones = wp.tile_ones(shape=(KEYS, DIM), dtype=float) || ones = wp.tile_full(shape=(KEYS, DIM), value=1.0, dtype=float)}}
    #? norm
    total = wp.tile_matmul(weights, ones)
    mixed = wp.tile_matmul(weights, wp.tile_load(v, shape=(KEYS, DIM)))
    #|
    values = wp.tile_load(v, shape=(KEYS, DIM))
    mixed = wp.tile_matmul(weights, values)
    # each column holds the sums of the rows
    total = wp.tile_matmul(weights, ones)
    #.
    wp.tile_store(out, wp.tile_map(wp.div, mixed, total), offset=(block * QUERIES, 0))

def reference():
    for i in range(8 * num_blocks):
        total = 0.0
        for j in range(16):
            s = 0.0
            for c in range(16):
                s = s + scale * q[i, c] * k[j, c]
            total = total + math.exp(s)
            for c in range(16):
                out[i, c] = out[i, c] + math.exp(s) * v[j, c]
        for c in range(16):
            out[i, c] = out[i, c] / total

# === tile_row_scan
# source: scans and searches by blocks of threads (Merrill and Garland 2016)
# task: scan rows of integers and find their smallest and largest entries with their columns, one tile per row
# about: Of equal entries the one in the smaller column counts.
# domain: generic
# weight: 5
# sizes: num_rows = 1 5 71 128
# - values: int[num_rows, 32] uniform(0, 50); rows
# - running: int[num_rows, 32] zeros; sums of the entries up to each one
# - before: int[num_rows, 32] zeros; sums of the entries in front of each one
# - extremes: int[num_rows, 4] zeros; smallest entry, its column, largest entry, its column
# - span: int[1] zeros; sum of the differences of largest and smallest entries
# - WIDTH: int = 32; width of a row
@kernel[num_rows] tile reduce, tile other, prefix scan
def scan_rows():
    """Scan and look for the ends."""
    row = wp.tid()
    entries = wp.tile_load(values[row], shape=WIDTH)
    #? ends
    low = wp.tile_min(entries)
    high = wp.tile_max(entries)
    extremes[row, 0] = wp.tile_extract(low, 0)
    extremes[row, 1] = wp.tile_extract(wp.tile_argmin(entries), 0)
    extremes[row, 2] = wp.tile_extract(high, 0)
    extremes[row, 3] = wp.tile_extract(wp.tile_argmax(entries), 0)
    wp.tile_atomic_add(span, high - low, offset=0)
    #|
    low_place = wp.tile_argmin(entries)
    high_place = wp.tile_argmax(entries)
    extremes[row, 1] = wp.tile_extract(low_place, 0)
    extremes[row, 3] = wp.tile_extract(high_place, 0)
    smallest = wp.tile_extract(wp.tile_min(entries), 0)
    largest = wp.tile_extract(wp.tile_max(entries), 0)
    extremes[row, 0] = smallest
    extremes[row, 2] = largest
    wp.tile_atomic_add(span, wp.tile_full(shape=1, value=largest - smallest, dtype=int), offset=0)
    #.
    #? store
    wp.tile_store(running[row], wp.tile_scan_inclusive(entries))
    wp.tile_store(before[row], wp.tile_scan_exclusive(entries))
    #|
    sums = wp.tile_scan_inclusive(entries)
    wp.tile_store(running[row], sums)
    wp.tile_store(before[row], sums - entries)
    #|
    ahead = wp.tile_scan_exclusive(entries)
    wp.tile_store(before[row], ahead)
    wp.tile_store(running[row], ahead + entries)
    #.

def reference():
    """Sums of prefixes, each from the start."""
    for r in range(num_rows):
        extremes[r, 0] = values[r, 0]
        extremes[r, 2] = values[r, 0]
        for c in range(32):
            for d in range(c + 1):
                running[r, c] = running[r, c] + values[r, d]
            before[r, c] = running[r, c] - values[r, c]
            if values[r, c] < extremes[r, 0]:
                extremes[r, 0] = values[r, c]
                extremes[r, 1] = c
            if values[r, c] > extremes[r, 2]:
                extremes[r, 2] = values[r, c]
                extremes[r, 3] = c
        span[0] = span[0] + extremes[r, 2] - extremes[r, 0]
