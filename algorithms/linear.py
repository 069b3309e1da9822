# === axpy
# source: BLAS level 1 (Lawson et al. 1979)
# task: scale a vector and add it to another one
# about: The update y <- a x + y, the basic step of iterative solvers.
# sizes: n = 1 7 71 1024
# - a: float = 2.5; scale factor
# - x: float[n] uniform(-1.0, 1.0); vector that is scaled and added
# - y: float[n] uniform(-1.0, 1.0); vector that is updated
@kernel[n] axpy linear combination, in place update
def axpy():
    """y <- a x + y."""
    i = wp.tid()
    guard i < n
    # one element per thread
    {{y[i] = a * x[i] + y[i] || y[i] += a * x[i] || y[i] = y[i] + a * x[i]}}

def reference():
    for i in range(n):
        y[i] = y[i] + a * x[i]

# === blocked_dot
# source: two-stage reduction, partial sums per block of elements
# task: compute the dot product of two vectors in two stages
# about: Each thread sums a contiguous chunk of products; a second kernel adds the partial sums.
# domain: generic
# sizes: n = 1 13 70 1024; num_chunks = 1 4 9 32; chunk = 1 4 8 32
# - a: float[n] uniform(-1.0, 1.0); first vector
# - b: float[n] uniform(-1.0, 1.0); second vector
# - partial: float[num_chunks] zeros; sum of products of each chunk
# - result: float[1] zeros; the dot product
@kernel[num_chunks] dot product
def partial_dot():
    """Sum the products of one chunk of both vectors."""
    block = wp.tid()
    start = block * chunk
    end = wp.min(start + chunk, n)
    s = float(0.0)
    for k in range(start, end):
        #? _
        s += a[k] * b[k]
        #|
        let prod = a[k] * b[k]
        s = s + prod
        #.
    partial[block] = s

@kernel[num_chunks] atomic reduction
def combine_partials():
    """Add the partial sums."""
    i = wp.tid()
    require i < num_chunks
    let value = partial[i]
    wp.atomic_add(result, 0, value)

def reference():
    s = 0.0
    for k in range(n):
        s = s + a[k] * b[k]
        if k < num_chunks * chunk:
            partial[k // chunk] = partial[k // chunk] + a[k] * b[k]
    result[0] = s

# === dense_matvec
# source: y = A x + b
# task: multiply a dense matrix with a vector
# sizes: num_rows = 1 5 23 256; num_cols = 3 4 9 64
# - matrix: float[num_rows, num_cols] uniform(-1.0, 1.0); dense matrix, row major
# - x: float[num_cols] uniform(-1.0, 1.0); vector that is multiplied
# - bias: float[num_rows] uniform(-0.5, 0.5); added to each row
# - out: float[num_rows] zeros; the product
@kernel[num_rows] matvec dot
def matvec():
    """Row times vector plus bias, one row per thread."""
    row = wp.tid()
    guard row < num_rows

    #? order
    s = float(0.0)
    for col in range(num_cols):
        s += matrix[row, col] * x[col]
    out[row] = s + bias[row]
    #|
    # start from the bias
    s = bias[row]
    for col in range(num_cols):
        let m = matrix[row, col]
        s += m * x[col]
    out[row] = s
    #.

def reference():
    for row in range(num_rows):
        s = bias[row]
        for col in range(num_cols):
            s = s + matrix[row, col] * x[col]
        out[row] = s

# === tiled_matmul
# source: C = alpha A B + beta C (BLAS level 3, Dongarra et al. 1990)
# task: multiply two dense matrices and accumulate into a third one
# weight: 4
# sizes: num_rows = 1 3 7 32; num_cols = 1 5 9 24; inner = 2 4 5 16
# - a: float[num_rows, inner] uniform(-1.0, 1.0); left matrix
# - b: float[inner, num_cols] uniform(-1.0, 1.0); right matrix
# - c: float[num_rows, num_cols] uniform(-1.0, 1.0); matrix that is updated
# - alpha: float = 1.5; weight of the product
# - beta: float = 0.5; weight of the old values
@kernel[num_rows, num_cols] matmul
def gemm():
    """C <- alpha A B + beta C, one entry per thread."""
    grid row, col
    guard row < num_rows and col < num_cols

    # inner product of a row and a column
    s = float(0.0)
    for k in range(inner):
        s += a[row, k] * b[k, col]
    #? _
    c[row, col] = alpha * s + beta * c[row, col]
    #|
    let old = c[row, col]
    c[row, col] = alpha * s + beta * old
    #.

def reference():
    for row in range(num_rows):
        for col in range(num_cols):
            s = beta * c[row, col]
            for k in range(inner):
                s = s + alpha * a[row, k] * b[k, col]
            c[row, col] = s

# === batched_cholesky
# source: Cholesky-Banachiewicz factorisation and two triangular solves (Golub and Van Loan, ch. 4)
# task: solve many small symmetric systems with a given diagonal by Cholesky factorisation
# about: Each thread factors one matrix A = L L^T in place and solves for its right-hand side. Before that the upper triangle is mirrored and the diagonal is overwritten with the number of unknowns, so the matrices are positive definite.
# weight: 9
# sizes: num_systems = 1 5 67 128; dim = 2 3 4 6
# - mats: float[num_systems, dim, dim] uniform(-0.5, 0.5); one matrix per system, factored in place
# - rhs: float[num_systems, dim] uniform(-1.0, 1.0); right-hand sides
# - sol: float[num_systems, dim] zeros; solutions
@kernel[num_systems] triangular loops factorisation
def symmetrize():
    """Mirror the upper triangle and overwrite the diagonal with the number of unknowns."""
    batch = wp.tid()
    require batch < num_systems
    for i in range(dim):
        for j in range(i):
            mats[batch, i, j] = mats[batch, j, i]
        mats[batch, i, i] = {{float(dim) || 1.0 * float(dim)}}

@kernel[num_systems] triangular loops factorisation
def cholesky_factor():
    """Cholesky factorisation in place: the lower triangle becomes L."""
    batch = wp.tid()
    guard batch < num_systems
    for j in range(dim):
        # diagonal entry
        s = mats[batch, j, j]
        for k in range(j):
            #? _
            s -= mats[batch, j, k] * mats[batch, j, k]
            #|
            let ljk = mats[batch, j, k]
            s -= ljk * ljk
            #.
        diag = wp.sqrt(s)
        mats[batch, j, j] = diag

        # entries below it
        for i in range(j + 1, dim):
            t = mats[batch, i, j]
            for k in range(j):
                t -= mats[batch, i, k] * mats[batch, j, k]
            mats[batch, i, j] = t / diag

@kernel[num_systems] triangular loops factorisation
def cholesky_solve():
    """Solve L L^T x = b by forward and backward substitution."""
    batch = wp.tid()
    guard batch < num_systems

    # forward substitution
    for i in range(dim):
        s = rhs[batch, i]
        for j in range(i):
            s -= mats[batch, i, j] * sol[batch, j]
        sol[batch, i] = s / mats[batch, i, i]

    # backward substitution
    for back in range(dim):
        i = dim - 1 - back
        s = sol[batch, i]
        for j in range(i + 1, dim):
            s -= mats[batch, j, i] * sol[batch, j]
        sol[batch, i] = s / mats[batch, i, i]

def reference():
    """Gauss-Seidel sweeps on the symmetric matrix, until they no longer change anything."""
    for batch in range(num_systems):
        for sweep in range(60):
            for i in range(dim):
                s = rhs[batch, i]
                for j in range(dim):
                    if j < i:
                        s = s - mats[batch, j, i] * sol[batch, j]
                    if j > i:
                        s = s - mats[batch, i, j] * sol[batch, j]
                sol[batch, i] = s / float(dim)
    for batch in range(num_systems):
        for i in range(dim):
            for j in range(i):
                mats[batch, i, j] = mats[batch, j, i]
            mats[batch, i, i] = float(dim)
        for j in range(dim):
            for k in range(j):
                mats[batch, j, j] = mats[batch, j, j] - mats[batch, j, k] * mats[batch, j, k]
            mats[batch, j, j] = math.sqrt(mats[batch, j, j])
            for i in range(j + 1, dim):
                for k in range(j):
                    mats[batch, i, j] = mats[batch, i, j] - mats[batch, i, k] * mats[batch, j, k]
                mats[batch, i, j] = mats[batch, i, j] / mats[batch, j, j]

# === small_lu
# source: Doolittle LU factorisation without pivoting
# task: factor small diagonally dominant matrices into L and U and compute their determinants
# weight: 6
# split: test
# sizes: num_blocks = 1 4 66 64; dim = 2 3 4 5
# - blocks: float[num_blocks, dim, dim] uniform(-0.4, 0.4); matrices, overwritten with L and U
# - shift: float = 3.0; added to the diagonal
# - dets: float[num_blocks] zeros; determinants
@kernel[num_blocks] triangular loops factorisation
def lu_factor():
    """LU factorisation of each block in place, L with unit diagonal."""
    block = wp.tid()
    guard block < num_blocks
    for k in range(dim):
        blocks[block, k, k] = blocks[block, k, k] + shift
    for k in range(dim):
        let pivot = blocks[block, k, k]
        for i in range(k + 1, dim):
            factor = blocks[block, i, k] / pivot
            blocks[block, i, k] = factor
            for j in range(k + 1, dim):
                blocks[block, i, j] = blocks[block, i, j] - factor * blocks[block, k, j]

@kernel[num_blocks] loop reduction
def determinant_from_lu():
    """The determinant is the product of the pivots."""
    block = wp.tid()
    guard block < num_blocks
    det = float(1.0)
    for k in range(dim):
        det *= blocks[block, k, k]
    dets[block] = det

def reference():
    for block in range(num_blocks):
        det = 1.0
        for k in range(dim):
            blocks[block, k, k] = blocks[block, k, k] + shift
        for k in range(dim):
            det = det * blocks[block, k, k]
            for i in range(k + 1, dim):
                blocks[block, i, k] = blocks[block, i, k] / blocks[block, k, k]
            for i in range(k + 1, dim):
                for j in range(k + 1, dim):
                    blocks[block, i, j] = blocks[block, i, j] - blocks[block, i, k] * blocks[block, k, j]
        dets[block] = det

# === transpose_copy
# source: matrix transpose
# task: transpose a matrix and scale it on the way
# split: test
# sizes: num_rows = 1 3 11 48; num_cols = 2 5 7 32
# - src: float[num_rows, num_cols] uniform(-1.0, 1.0); matrix to transpose
# - scale: float = 0.5; factor for every entry
# - out: float[num_cols, num_rows] zeros; the transpose
@kernel[num_rows, num_cols] matrix or image map, index unflatten
def transpose():
    """Write the transpose of a matrix."""
    grid row, col
    guard row < num_rows and col < num_cols
    out[col, row] = {{scale * src[row, col] || src[row, col] * scale}}

def reference():
    for c in range(num_cols):
        for r in range(num_rows):
            out[c, r] = src[r, c] * scale

# === outer_update
# source: rank-one update A <- A + x y^T (BLAS level 2), diagonal kept
# task: apply a rank-one update to a matrix and record the largest change
# sizes: num_rows = 1 3 9 48; num_cols = 2 5 8 32
# - matrix: float[num_rows, num_cols] uniform(-1.0, 1.0); matrix that is updated
# - x: float[num_rows] uniform(-1.0, 1.0); column vector
# - y: float[num_cols] uniform(-1.0, 1.0); row vector
# - largest: float[1] zeros; largest absolute entry of the update
@kernel[num_rows, num_cols] outer or skew assembly, atomic min max
def rank_one_update():
    """A <- A + x y^T."""
    grid row, col
    guard row < num_rows and col < num_cols
    delta = x[row] * y[col]
    matrix[row, col] = matrix[row, col] + delta
    #? stats
    wp.atomic_max(largest, 0, wp.abs(delta))
    #|
    # remember the largest change
    let change = wp.abs(delta)
    wp.atomic_max(largest, 0, change)
    #.

def reference():
    for r in range(num_rows):
        for c in range(num_cols):
            matrix[r, c] = matrix[r, c] + x[r] * y[c]
            largest[0] = max(largest[0], abs(x[r] * y[c]))

# === normalize_rows
# source: L2 normalisation of vectors
# task: normalise vectors to unit length and leave very short ones at zero
# domain: geometry
# weight: 4
# sizes: n = 1 7 71 512
# - EPS: float = 1.0e-6; shorter vectors have no direction
# - vectors: vec3[n] uniform(-1.0, 1.0); vectors
# - directions: vec3[n] zeros; unit vectors
# - lengths: float[n] zeros; lengths of the vectors
@kernel[n] vector normalise, elementwise map
def normalize_vectors():
    """Split each vector into direction and length."""
    i = wp.tid()
    guard i < n
    let v = vectors[i]
    length = wp.length(v)
    lengths[i] = length
    #? _
    if length > EPS:
        directions[i] = v / length
    #|
    # vectors without a direction stay zero
    if length <= EPS:
        return
    directions[i] = v / length
    #.

def reference():
    for i in range(n):
        length = np.linalg.norm(vectors[i])
        lengths[i] = length
        if length > EPS:
            directions[i] = vectors[i] / length

# === gauss_seidel_colored
# source: red-black Gauss-Seidel for a tridiagonal system (Saad 2003, ch. 4)
# task: run one red-black Gauss-Seidel sweep on a tridiagonal system
# domain: sparse
# weight: 7
# split: test
# sizes: n = 3 9 73 512
# - diag: float[n] uniform(3.0, 4.0); diagonal
# - lower: float[n] uniform(-1.0, -0.5); entries left of the diagonal
# - upper: float[n] uniform(-1.0, -0.5); entries right of the diagonal
# - rhs: float[n] uniform(-1.0, 1.0); right-hand side
# - x: float[n] uniform(-1.0, 1.0); solution, updated in place
# - RED: int = 0; unknowns with even index
# - BLACK: int = 1; unknowns with odd index
@func
def off_diagonal(x: wp.array(dtype=float), lower: float, upper: float, i: int, n: int) -> float:
    """Contribution of the neighbours of an unknown."""
    s = float(0.0)
    if i > 0:
        s += lower * x[i - 1]
    if i < n - 1:
        s += upper * x[i + 1]
    return s

@kernel[n] finite difference, boundary condition
def sweep_red():
    """Update the even unknowns from the odd ones."""
    i = wp.tid()
    require i % 2 == RED
    let s = off_diagonal(x, lower[i], upper[i], i, n)
    x[i] = (rhs[i] - s) / diag[i]

@kernel[n] finite difference, boundary condition
def sweep_black():
    """Update the odd unknowns from the even ones."""
    i = wp.tid()
    require i % 2 == BLACK
    let s = off_diagonal(x, lower[i], upper[i], i, n)
    x[i] = (rhs[i] - s) / diag[i]

def reference():
    for color in range(2):
        for i in range(n):
            if i % 2 == color:
                s = rhs[i]
                if i > 0:
                    s = s - lower[i] * x[i - 1]
                if i < n - 1:
                    s = s - upper[i] * x[i + 1]
                x[i] = s / diag[i]

# === cg_step
# source: conjugate gradients, one iteration (Hestenes and Stiefel 1952)
# task: perform one conjugate gradient iteration on a sparse symmetric matrix
# about: The matrix is in compressed sparse rows. Step length and search direction follow from two dot products.
# domain: sparse
# weight: 8
# sizes: num_rows = 1 6 70 400; nnz = 3 18 210 1200
# - row_offsets: int[num_rows + 1] rows(nnz); first entry of each row
# - col_indices: int[nnz] index(num_rows); column of each entry
# - values: float[nnz] uniform(0.1, 1.0); matrix entries
# - p: float[num_rows] uniform(0.2, 1.0); search direction
# - r: float[num_rows] uniform(-1.0, 1.0); residual
# - x: float[num_rows] uniform(-1.0, 1.0); solution
# - ap: float[num_rows] zeros; matrix times search direction
# - scalars: float[2] zeros; r.r and p.Ap
@kernel[num_rows] spmv, csr row loop, gather
def apply_matrix():
    """Matrix times direction, one row per thread."""
    row = wp.tid()
    guard row < num_rows
    s = float(0.0)
    for k in range(row_offsets[row], row_offsets[row + 1]):
        #? inner
        s += values[k] * p[col_indices[k]]
        #|
        let col = col_indices[k]
        s += values[k] * p[col]
        #.
    ap[row] = s

@kernel[num_rows] dot product
def dot_products():
    """Accumulate r.r and p.Ap."""
    i = wp.tid()
    guard i < num_rows
    let ri = r[i]
    wp.atomic_add(scalars, 0, ri * ri)
    wp.atomic_add(scalars, 1, p[i] * ap[i])

@kernel[num_rows] axpy linear combination
def update_solution():
    """Step along the search direction."""
    i = wp.tid()
    guard i < num_rows
    # step length
    alpha = scalars[0] / scalars[1]
    x[i] = x[i] + alpha * p[i]
    r[i] = r[i] - alpha * ap[i]

def reference():
    rr = 0.0
    pap = 0.0
    for row in range(num_rows):
        s = 0.0
        for k in range(row_offsets[row], row_offsets[row + 1]):
            s = s + values[k] * p[col_indices[k]]
        ap[row] = s
        pap = pap + p[row] * s
        rr = rr + r[row] * r[row]
    scalars[0] = rr
    scalars[1] = pap
    for row in range(num_rows):
        x[row] = x[row] + rr / pap * p[row]
        r[row] = r[row] - rr / pap * ap[row]
