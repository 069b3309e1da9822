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
# weight: 12
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
# weight: 12
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
