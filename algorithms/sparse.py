# === csr_spmv
# source: compressed sparse row product (Saad 2003, sec. 3.4)
# task: multiply a CSR matrix with a vector
# domain: sparse
# weight: 10
# sizes: num_rows = 1 7 71 500; num_cols = 2 6 50 400; nnz = 3 19 213 2000
# - row_offsets: int[num_rows + 1] rows(nnz); first entry of each row
# - col_indices: int[nnz] index(num_cols); column of each entry
# - values: float[nnz] uniform(-1.0, 1.0); matrix entries
# - x: float[num_cols] uniform(-1.0, 1.0); vector that is multiplied
# - y: float[num_rows] zeros; the product
# - alpha: float = 1.0; scale of the product
@kernel[num_rows] spmv, csr row loop, gather
def csr_matvec():
    """Scaled product of the matrix and the vector, one row per thread."""
    row = wp.tid()
    guard row < num_rows

    #? bounds
    start = row_offsets[row]
    end = row_offsets[row + 1]
    #|
    # range of entries of this row
    let start = row_offsets[row]
    let end = row_offsets[row + 1]
    #.
    s = float(0.0)
    for k in range(start, end):
        #? load
        col = col_indices[k]
        s += values[k] * x[col]
        #|
        s += values[k] * x[col_indices[k]]
        #|
        let a = values[k]
        let col = col_indices[k]
        s = s + a * x[col]
        #.
    y[row] = {{alpha * s || s * alpha}}

def reference():
    for row in range(num_rows):
        for k in range(row_offsets[row], row_offsets[row + 1]):
            y[row] = y[row] + alpha * values[k] * x[col_indices[k]]

# === csr_residual_norm
# source: residual r = b - A x and its norm
# task: compute the residual of a sparse linear system and its squared norm
# domain: sparse
# weight: 8
# sizes: num_rows = 1 7 71 400; nnz = 3 21 200 1600
# - row_offsets: int[num_rows + 1] rows(nnz); first entry of each row
# - col_indices: int[nnz] index(num_rows); column of each entry
# - values: float[nnz] uniform(-1.0, 1.0); matrix entries
# - x: float[num_rows] uniform(-1.0, 1.0); current solution
# - b: float[num_rows] uniform(-1.0, 1.0); right-hand side
# - residual: float[num_rows] zeros; b - A x
# - norm_sq: float[1] zeros; squared norm of the residual
@kernel[num_rows] spmv, csr row loop, gather
def compute_residual():
    """r = b - A x."""
    row = wp.tid()
    guard row < num_rows
    r = b[row]
    for k in range(row_offsets[row], row_offsets[row + 1]):
        r -= values[k] * x[col_indices[k]]
    residual[row] = r

@kernel[num_rows] dot product
def squared_norm():
    """Add up the squares of the residual."""
    i = wp.tid()
    guard i < num_rows
    let r = residual[i]
    wp.atomic_add(norm_sq, 0, r * r)

def reference():
    for row in range(num_rows):
        s = 0.0
        for k in range(row_offsets[row], row_offsets[row + 1]):
            s = s + values[k] * x[col_indices[k]]
        residual[row] = b[row] - s
        norm_sq[0] = norm_sq[0] + (b[row] - s) * (b[row] - s)

# === coo_assembly
# source: scatter of coordinate triplets into a dense matrix
# task: assemble a dense matrix from coordinate triplets, adding up duplicates
# domain: sparse
# weight: 4
# sizes: nnz = 1 9 75 600; num_rows = 2 4 10 40; num_cols = 2 3 8 30
# - row_indices: int[nnz] index(num_rows); row of each triplet
# - col_indices: int[nnz] index(num_cols); column of each triplet
# - values: float[nnz] uniform(-1.0, 1.0); value of each triplet
# - dense: float[num_rows, num_cols] zeros; assembled matrix
# - counts: int[num_rows] zeros; triplets in each row
@kernel[nnz] coo or edge assembly, scatter add, gather
def assemble_triplets():
    """Add each triplet to its entry of the matrix."""
    k = wp.tid()
    guard k < nnz
    let row = row_indices[k]
    let col = col_indices[k]
    #? skip
    value = values[k]
    # explicit zeros are not assembled
    if value != 0.0:
        wp.atomic_add(dense, row, col, value)
    #|
    wp.atomic_add(dense, row, col, values[k])
    #.

@kernel[nnz] histogram count
def count_row_entries():
    """Count the triplets of each row."""
    k = wp.tid()
    guard k < nnz
    wp.atomic_add(counts, row_indices[k], 1)

def reference():
    for k in range(nnz):
        dense[row_indices[k], col_indices[k]] = dense[row_indices[k], col_indices[k]] + values[k]
        counts[row_indices[k]] = counts[row_indices[k]] + 1

# === graph_laplacian
# source: combinatorial graph Laplacian L u = D u - A u
# task: apply the Laplacian of a weighted graph to a signal, edge by edge
# domain: sparse
# weight: 7
# sizes: num_nodes = 2 7 71 300; num_edges = 2 12 90 900
# - edges: int[num_edges, 2] index(num_nodes); nodes at the ends of each edge
# - weights: float[num_edges] uniform(0.1, 1.0); edge weights
# - u: float[num_nodes] uniform(-1.0, 1.0); signal on the nodes
# - lap: float[num_nodes] zeros; Laplacian of the signal
@kernel[num_edges] coo or edge assembly, scatter add, gather, element vertex gather
def edge_laplacian():
    """Every edge adds the weighted difference of its ends to both."""
    e = wp.tid()
    guard e < num_edges
    i = edges[e, 0]
    j = edges[e, 1]
    #? flux
    flux = weights[e] * (u[i] - u[j])
    #|
    let d = u[i] - u[j]
    flux = weights[e] * d
    #.
    wp.atomic_add(lap, i, flux)
    #? sign
    wp.atomic_add(lap, j, -flux)
    #|
    wp.atomic_sub(lap, j, flux)
    #.

def reference():
    for e in range(num_edges):
        i = edges[e, 0]
        j = edges[e, 1]
        lap[i] = lap[i] + weights[e] * u[i] - weights[e] * u[j]
        lap[j] = lap[j] + weights[e] * u[j] - weights[e] * u[i]

# === pagerank
# source: PageRank power iteration (Page et al. 1999), pull form
# task: run one PageRank iteration over incoming links
# domain: sparse
# weight: 5
# split: test
# sizes: num_nodes = 1 7 71 300; nnz = 2 15 210 1500
# - in_offsets: int[num_nodes + 1] rows(nnz); first incoming link of each page
# - in_links: int[nnz] index(num_nodes); page that each link comes from
# - out_degree: int[num_nodes] uniform(0, 6); outgoing links of each page
# - rank: float[num_nodes] full(0.01); current rank
# - contrib: float[num_nodes] zeros; rank that a page gives to each link
# - new_rank: float[num_nodes] zeros; next rank
# - follow: float = 0.85; probability of following a link
@kernel[num_nodes] elementwise map, mask or active filter
def rank_per_link():
    """Split the rank of a page among its links."""
    i = wp.tid()
    guard i < num_nodes
    let degree = out_degree[i]
    # pages without links keep theirs
    if degree > 0:
        contrib[i] = rank[i] / float(degree)

@kernel[num_nodes] csr row loop, gather
def gather_rank():
    """Sum what the linking pages give."""
    i = wp.tid()
    guard i < num_nodes
    s = float(0.0)
    for k in range(in_offsets[i], in_offsets[i + 1]):
        s += contrib[in_links[k]]
    new_rank[i] = (1.0 - follow) / float(num_nodes) + follow * s

def reference():
    for i in range(num_nodes):
        if out_degree[i] > 0:
            contrib[i] = rank[i] / float(out_degree[i])
    for i in range(num_nodes):
        s = 0.0
        for k in range(in_offsets[i], in_offsets[i + 1]):
            j = in_links[k]
            if out_degree[j] > 0:
                s = s + rank[j] / float(out_degree[j])
        new_rank[i] = (1.0 - follow) / float(num_nodes) + follow * s

# === bfs_level
# source: level-synchronous breadth-first search, bottom-up (Beamer et al. 2012)
# task: advance a breadth-first search by one level
# domain: sparse
# weight: 7
# split: test
# sizes: num_nodes = 1 7 71 300; nnz = 2 14 210 1200
# - row_offsets: int[num_nodes + 1] rows(nnz); first neighbour of each node
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - level: int[num_nodes] uniform(-1, 3); level at which a node was reached, -1 for not yet
# - next_level: int[num_nodes] zeros; levels after this step
# - current: int = 1; level of the frontier
# - reached: int[1] zeros; nodes that were reached in this step
@kernel[num_nodes] pointer chase or walk, csr row loop, gather, mask or active filter
def expand_frontier():
    """A node that was not reached joins if a neighbour is on the frontier."""
    node = wp.tid()
    guard node < num_nodes

    if level[node] >= 0:
        # reached before
        next_level[node] = level[node]
        return

    found = int(-1)
    for k in range(row_offsets[node], row_offsets[node + 1]):
        #? _
        if level[neighbors[k]] == current:
            found = current + 1
        #|
        let other = neighbors[k]
        if level[other] == current:
            found = current + 1
            break
        #.
    next_level[node] = found

@kernel[num_nodes] mask or active filter
def count_reached():
    """Count the nodes of the new level."""
    node = wp.tid()
    require next_level[node] == current + 1
    wp.atomic_add(reached, 0, 1)

def reference():
    for node in range(num_nodes):
        next_level[node] = level[node]
        if level[node] < 0:
            next_level[node] = -1
            for k in range(row_offsets[node], row_offsets[node + 1]):
                if level[neighbors[k]] == current:
                    next_level[node] = current + 1
        if next_level[node] == current + 1:
            reached[0] = reached[0] + 1

# === union_labels
# source: pointer jumping towards representatives (Shiloach and Vishkin 1982)
# task: find the representative of every node by following parent pointers
# domain: generic
# weight: 9
# sizes: num_nodes = 1 9 73 400
# - parents: int[num_nodes] range(); each node is its own parent at first
# - links: int[num_nodes] index(num_nodes); node that each one would like to follow
# - labels: int[num_nodes] zeros; representative of each node
# - depths: int[num_nodes] zeros; steps from the parent to the representative
@kernel[num_nodes] scatter, pointer chase or walk
def hook_smaller():
    """Follow a node only if it has a smaller number: there are no cycles."""
    i = wp.tid()
    guard i < num_nodes
    let target = links[i]
    #? _
    if target < i:
        parents[i] = target
    #|
    parents[i] = wp.min(i, target)
    #.

@kernel[num_nodes] pointer chase or walk, gather
def find_root():
    """Walk up to the node that is its own parent."""
    i = wp.tid()
    guard i < num_nodes
    node = parents[i]
    steps = int(0)
    while parents[node] != node:
        node = parents[node]
        steps += 1
    labels[i] = node
    depths[i] = steps

def reference():
    for i in range(num_nodes):
        parents[i] = min(i, links[i])
        # smaller nodes are done before
        p = parents[i]
        labels[i] = p
        depths[i] = 0
        if p < i:
            labels[i] = labels[p]
            if labels[p] != p:
                depths[i] = depths[p] + 1

# === block_sparse_vec
# source: block sparse row product with 3x3 blocks
# task: multiply a block sparse matrix of 3x3 blocks with a vector field
# domain: sparse
# weight: 7
# split: validation
# sizes: num_rows = 1 7 71 200; nnz = 2 16 190 800
# - row_offsets: int[num_rows + 1] rows(nnz); first block of each row
# - col_indices: int[nnz] index(num_rows); column of each block
# - values: mat33[nnz] uniform(-1.0, 1.0); the blocks
# - x: vec3[num_rows] uniform(-1.0, 1.0); vector that is multiplied
# - y: vec3[num_rows] zeros; the product
@kernel[num_rows] spmv, csr row loop, gather
def bsr_matvec():
    """y = A x for 3x3 blocks, one block row per thread."""
    row = wp.tid()
    guard row < num_rows
    s = wp.vec3()
    for k in range(row_offsets[row], row_offsets[row + 1]):
        let col = col_indices[k]
        let block = values[k]
        {{s += block * x[col] || s = s + block * x[col]}}
    y[row] = s

def reference():
    for row in range(num_rows):
        for k in range(row_offsets[row], row_offsets[row + 1]):
            y[row] = y[row] + values[k] @ x[col_indices[k]]

# === jacobi_csr
# source: Jacobi iteration for sparse systems (Saad 2003, ch. 4)
# task: perform a damped Jacobi iteration on a CSR matrix
# domain: sparse
# weight: 4
# sizes: num_rows = 1 7 71 300; nnz = 3 21 213 1200
# - row_offsets: int[num_rows + 1] rows(nnz); first entry of each row
# - col_indices: int[nnz] index(num_rows); column of each entry
# - values: float[nnz] uniform(-0.3, 0.3); entries besides the diagonal
# - diag: float[num_rows] uniform(2.0, 3.0); the diagonal
# - b: float[num_rows] uniform(-1.0, 1.0); right-hand side
# - x: float[num_rows] uniform(-1.0, 1.0); solution so far
# - x_new: float[num_rows] zeros; solution after the sweep
# - omega: float = 0.8; damping of the update
# - fixed: int[num_rows] uniform(0, 2); rows whose unknown is prescribed
@kernel[num_rows] csr row loop, gather, mask or active filter
def jacobi_iteration():
    """One damped Jacobi step, without prescribed unknowns."""
    row = wp.tid()
    guard row < num_rows
    if fixed[row] != 0:
        x_new[row] = x[row]
        return

    # everything but the diagonal
    s = float(0.0)
    for k in range(row_offsets[row], row_offsets[row + 1]):
        let col = col_indices[k]
        if col != row:
            s += values[k] * x[col]
    update = (b[row] - s) / diag[row]
    x_new[row] = {{(1.0 - omega) * x[row] + omega * update || x[row] + omega * (update - x[row])}}

def reference():
    for row in range(num_rows):
        x_new[row] = x[row]
        if fixed[row] == 0:
            s = b[row]
            for k in range(row_offsets[row], row_offsets[row + 1]):
                if col_indices[k] != row:
                    s = s - values[k] * x[col_indices[k]]
            x_new[row] = x[row] + omega * (s / diag[row] - x[row])
