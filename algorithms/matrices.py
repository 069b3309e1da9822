# === ell_spmv
# source: ELLPACK storage (Bell and Garland 2009)
# task: convert a CSR matrix to ELLPACK with columns of padded entries and multiply it with a vector
# about: Rows that are longer than the width lose the entries behind it, which are counted. Padding has column -1.
# domain: sparse
# weight: 10
# sizes: num_rows = 1 7 71 300; num_cols = 2 6 40 300; nnz = 4 30 260 1800; width = 2 3 4 6
# - row_offsets: int[num_rows + 1] rows(nnz); first entry of each row
# - col_indices: int[nnz] index(num_cols); column of each entry
# - values: float[nnz] uniform(-1.0, 1.0); matrix entries
# - x: float[num_cols] uniform(-1.0, 1.0); vector that is multiplied
# - ell_cols: int[width, num_rows] full(-1); columns, place by place of all rows, -1 for padding
# - ell_values: float[width, num_rows] zeros; entries, place by place of all rows, 0 for padding
# - y: float[num_rows] zeros; the product
# - dropped: int[1] zeros; entries that did not fit
@kernel[num_rows] csr row loop, copy convert, scatter
def pack_rows():
    """Copy one row, as far as it fits."""
    row = wp.tid()
    guard row < num_rows
    start = row_offsets[row]
    #? count
    count = wp.min(row_offsets[row + 1] - start, width)
    #|
    count = row_offsets[row + 1] - start
    if count > width:
        count = width
    #.
    for k in range(count):
        ell_cols[k, row] = col_indices[start + k]
        ell_values[k, row] = values[start + k]
    wp.atomic_add(dropped, 0, row_offsets[row + 1] - start - count)

@kernel[num_rows] spmv, gather
def multiply():
    """Neighbouring threads read neighbouring entries."""
    row = wp.tid()
    guard row < num_rows
    s = float(0.0)
    for k in range(width):
        col = ell_cols[k, row]
        #? pad
        if col >= 0:
            s += ell_values[k, row] * x[col]
        #|
        # padding ends the row
        if col < 0:
            break
        s += ell_values[k, row] * x[col]
        #.
    y[row] = s

def reference():
    for row in range(num_rows):
        for k in range(row_offsets[row], row_offsets[row + 1]):
            place = k - row_offsets[row]
            if place < width:
                ell_cols[place, row] = col_indices[k]
                ell_values[place, row] = values[k]
                y[row] = y[row] + values[k] * x[col_indices[k]]
            else:
                dropped[0] = dropped[0] + 1

# === spgemm_row_sizes
# source: row-wise products of sparse matrices (Gustavson 1978)
# task: bound the rows of a product of two sparse matrices, count the multiplications, and give each row its part of the output
# about: A row of the product has at most as many entries as the rows of the second matrix that its entries name.
# domain: sparse
# weight: 6
# sizes: num_rows = 1 7 71 300; num_inner = 2 5 20 100; nnz_a = 3 16 150 900; nnz_b = 4 12 60 500
# - a_offsets: int[num_rows + 1] rows(nnz_a); first entry of each row of the left matrix
# - a_cols: int[nnz_a] index(num_inner); column of each entry of the left matrix
# - b_offsets: int[num_inner + 1] rows(nnz_b); first entry of each row of the right matrix
# - bound: int[num_rows] zeros; most entries of each row of the product
# - starts: int[num_rows + 1] zeros; first place of each row, and the number of places
# - longest: int[1] zeros; largest bound
# - group: int[num_rows] zeros; size class of each row: 0 for no entry, then one more for each doubling
@kernel[num_rows] csr row loop, gather, atomic min max
def bound_rows():
    """Add up the lengths of the rows that are merged."""
    row = wp.tid()
    guard row < num_rows
    count = int(0)
    for k in range(a_offsets[row], a_offsets[row + 1]):
        let inner = a_cols[k]
        count += b_offsets[inner + 1] - b_offsets[inner]
    bound[row] = count
    wp.atomic_max(longest, 0, count)

@kernel[num_rows] bit tricks hash morton, loop reduction
def classify_rows():
    """Number of binary digits of the bound."""
    row = wp.tid()
    guard row < num_rows
    c = bound[row]
    #? digits
    digits = int(0)
    while c > 0:
        c = c >> 1
        digits += 1
    #|
    digits = int(0)
    limit = int(1)
    while limit <= c:
        limit = limit * 2
        digits += 1
    #.
    group[row] = digits

@kernel[1] prefix scan
def place_rows():
    """Exclusive scan, by one thread."""
    total = int(0)
    for row in range(num_rows):
        starts[row] = total
        total += bound[row]
    starts[num_rows] = total

def reference():
    """Pairs of entries that meet."""
    for row in range(num_rows):
        for k in range(a_offsets[row], a_offsets[row + 1]):
            for m in range(b_offsets[a_cols[k]], b_offsets[a_cols[k] + 1]):
                bound[row] = bound[row] + 1
        starts[row + 1] = starts[row] + bound[row]
        longest[0] = max(longest[0], bound[row])
        size = 1
        for digit in range(16):
            if bound[row] >= size:
                group[row] = digit + 1
            size = 2 * size

# === sampled_product
# source: sampled dense-dense products for factorisation (Canny and Zhao 2013; Koren, Bell and Volinsky 2009)
# task: predict the known entries of a sparse matrix from two dense factors and compute the gradient of the squared error
# domain: ml
# weight: 6
# sizes: num_users = 1 6 30 120; num_items = 2 5 20 80; nnz = 3 19 75 900; rank = 2 3 4 8
# - user_offsets: int[num_users + 1] rows(nnz); first rating of each user
# - item_ids: int[nnz] index(num_items); item of each rating
# - ratings: float[nnz] uniform(1.0, 5.0); ratings
# - users: float[num_users, rank] uniform(-1.0, 1.0); factors of the users
# - items: float[num_items, rank] uniform(-1.0, 1.0); factors of the items
# - errors: float[nnz] zeros; predictions less ratings
# - d_users: float[num_users, rank] zeros; gradient by the users' factors
# - d_items: float[num_items, rank] zeros; gradient by the items' factors
# - penalty: float = 0.1; weight of the squared factors
# - offset: float = 3.0; rating without factors
@kernel[num_users] csr row loop, gather, dot product
def predict_ratings():
    """Product of both factors for each rating of a user."""
    u = wp.tid()
    guard u < num_users
    for k in range(user_offsets[u], user_offsets[u + 1]):
        s = offset
        for c in range(rank):
            s += users[u, c] * items[item_ids[k], c]
        {{errors[k] = s - ratings[k] || errors[k] = -(ratings[k] - s)}}

@kernel[num_users, rank] csr row loop, gather, scatter add
def factor_gradients():
    """One number of a user's factor, with its part in the items' gradients."""
    grid u, c
    guard u < num_users and c < rank
    own = users[u, c]
    g = penalty * own
    for k in range(user_offsets[u], user_offsets[u + 1]):
        let item = item_ids[k]
        let e = errors[k]
        g += e * items[item, c]
        wp.atomic_add(d_items, item, c, e * own)
    d_users[u, c] = g

def reference():
    for u in range(num_users):
        for c in range(rank):
            d_users[u, c] = penalty * users[u, c]
        for k in range(user_offsets[u], user_offsets[u + 1]):
            errors[k] = offset - ratings[k]
            for c in range(rank):
                errors[k] = errors[k] + items[item_ids[k], c] * users[u, c]
            for c in range(rank):
                d_users[u, c] = d_users[u, c] + errors[k] * items[item_ids[k], c]
                d_items[item_ids[k], c] = d_items[item_ids[k], c] + errors[k] * users[u, c]

# === level_triangular_solve
# source: sparse triangular solves by levels (Anderson and Saad 1989)
# task: solve a sparse lower triangular system, one level of independent rows per launch
# about: Rows of a level need only those of levels before it. Entries lie below the diagonal, which is kept apart.
# domain: sparse
# weight: 8
# split: test
# sizes: width = 1 3 18 60; nnz = 3 8 60 300
# - offsets: int[3 * width + 1] rows(nnz); first entry of each row
# - below: int[nnz] index(width); column of each entry within the level before that of its row
# - entries: float[nnz] uniform(-1.0, 1.0); matrix entries
# - diag: float[3 * width] uniform(1.0, 2.0); diagonal
# - rhs: float[3 * width] uniform(-1.0, 1.0); right-hand side
# - x: float[3 * width] zeros; solution
# - level: int = 0; level of this launch
# run: solve_level(level=0), solve_level(level=1), solve_level(level=2)
@kernel[width] csr row loop, triangular loops factorisation, gather
def solve_level():
    """One row of the level per thread."""
    r = wp.tid()
    guard r < width
    #? row
    row = level * width + r
    #|
    row = r
    if level > 0:
        row = r + level * width
    #.
    s = rhs[row]
    # the first level needs nothing
    if level > 0:
        for k in range(offsets[row], offsets[row + 1]):
            let col = (level - 1) * width + below[k]
            s -= entries[k] * x[col]
    x[row] = s / diag[row]

def reference():
    """Columns: what is known is subtracted from all rows below."""
    for row in range(3 * width):
        x[row] = rhs[row]
    for row in range(3 * width):
        x[row] = x[row] / diag[row]
        for other in range(3 * width):
            if other // width == row // width + 1:
                for k in range(offsets[other], offsets[other + 1]):
                    if below[k] == row % width:
                        x[other] = x[other] - entries[k] * x[row]

# === csr_transpose
# source: transposition of sparse matrices by counting (Gustavson 1978)
# task: transpose a CSR matrix with a histogram of its columns, a scan and a scatter
# about: Entries of a row of the transposed matrix are in the order of the columns that they had as rows.
# domain: sparse
# weight: 6
# sizes: num_rows = 1 6 40 200; num_cols = 2 5 20 150; nnz = 3 15 75 900
# - row_offsets: int[num_rows + 1] rows(nnz); first entry of each row
# - col_indices: int[nnz] index(num_cols); column of each entry
# - values: float[nnz] uniform(-1.0, 1.0); matrix entries
# - counts: int[num_cols] zeros; entries of each column
# - t_offsets: int[num_cols + 1] zeros; first entry of each row of the transposed matrix
# - t_cols: int[nnz] zeros; column of each entry of the transposed matrix
# - t_values: float[nnz] zeros; entries of the transposed matrix
@kernel[nnz] histogram count
def count_columns():
    """Count the entries of each column."""
    k = wp.tid()
    guard k < nnz
    wp.atomic_add(counts, col_indices[k], 1)

@kernel[1] prefix scan
def scan_columns():
    """Exclusive scan, by one thread."""
    total = int(0)
    for c in range(num_cols):
        t_offsets[c] = total
        total += counts[c]
    t_offsets[num_cols] = total

@kernel[num_cols] scatter, csr row loop, copy convert
def collect_columns():
    """One column walks over all rows, so that the order is kept."""
    c = wp.tid()
    guard c < num_cols
    slot = t_offsets[c]
    for row in range(num_rows):
        for k in range(row_offsets[row], row_offsets[row + 1]):
            #? _
            if col_indices[k] == c:
                t_cols[slot] = row
                t_values[slot] = values[k]
                slot += 1
            #|
            # entries of other columns
            if col_indices[k] != c:
                continue
            t_cols[slot] = row
            t_values[slot] = values[k]
            slot += 1
            #.

def reference():
    """The place of an entry is how many come before it."""
    for row in range(num_rows):
        for k in range(row_offsets[row], row_offsets[row + 1]):
            place = 0
            for other in range(nnz):
                if col_indices[other] < col_indices[k] or (col_indices[other] == col_indices[k] and other < k):
                    place = place + 1
            t_cols[place] = row
            t_values[place] = values[k]
            counts[col_indices[k]] = counts[col_indices[k]] + 1
            for c in range(col_indices[k], num_cols):
                t_offsets[c + 1] = t_offsets[c + 1] + 1

# === banded_cholesky
# source: Cholesky factorisation of banded matrices (Golub and Van Loan 2013, sec. 4.3)
# task: factor many banded positive definite matrices in place and solve for one right-hand side each
# about: Row i of the band holds the entries of columns i - 2, i - 1 and i. Entries left of the matrix are never used.
# domain: sparse
# weight: 9
# sizes: num_systems = 1 5 66 64; n = 3 4 5 16
# - band: float[num_systems, n, 3] uniform(0.1, 0.5); lower band of each matrix, factored in place
# - shift: float[num_systems, n] uniform(2.0, 3.0); what is added to the diagonal
# - rhs: float[num_systems, n] uniform(-1.0, 1.0); right-hand sides
# - x: float[num_systems, n] zeros; solutions
# - log_det: float[num_systems] zeros; logarithms of the determinants
@kernel[num_systems] triangular loops factorisation, in place update
def factor_bands():
    """Row by row; the diagonal is in column 2."""
    s = wp.tid()
    guard s < num_systems
    logs = float(0.0)
    for i in range(n):
        b = float(0.0)
        a = float(0.0)
        if i > 1:
            a = band[s, i, 0] / band[s, i - 2, 2]
        if i > 0:
            b = band[s, i, 1]
            #? inner
            if i > 1:
                b -= a * band[s, i - 1, 1]
            #|
            # a is 0 in the second row
            b = b - a * band[s, i - 1, 1]
            #.
            b = b / band[s, i - 1, 2]
        d = wp.sqrt(band[s, i, 2] + shift[s, i] - a * a - b * b)
        if i > 1:
            band[s, i, 0] = a
        if i > 0:
            band[s, i, 1] = b
        band[s, i, 2] = d
        logs += 2.0 * wp.log(d)
    log_det[s] = logs

@kernel[num_systems] triangular loops factorisation
def solve_bands():
    """Forward and backward substitution."""
    s = wp.tid()
    guard s < num_systems
    for i in range(n):
        r = rhs[s, i]
        for k in range(wp.max(i - 2, 0), i):
            r -= band[s, i, k - i + 2] * x[s, k]
        x[s, i] = r / band[s, i, 2]
    for b in range(n):
        i = n - 1 - b
        r = x[s, i]
        for k in range(i + 1, wp.min(i + 3, n)):
            r -= band[s, k, i - k + 2] * x[s, k]
        x[s, i] = r / band[s, i, 2]

def reference():
    """The factor column by column; the solution by Gauss-Seidel sweeps that nothing changes in the end."""
    for s in range(num_systems):
        for sweep in range(60):
            for i in range(n):
                r = rhs[s, i]
                for k in range(n):
                    if k == i - 1 or k == i - 2:
                        r = r - band[s, i, k - i + 2] * x[s, k]
                    if k == i + 1 or k == i + 2:
                        r = r - band[s, k, i - k + 2] * x[s, k]
                x[s, i] = r / (band[s, i, 2] + shift[s, i])
        for i in range(n):
            band[s, i, 2] = band[s, i, 2] + shift[s, i]
        for j in range(n):
            d = math.sqrt(band[s, j, 2])
            log_det[s] = log_det[s] + math.log(band[s, j, 2])
            band[s, j, 2] = d
            c1 = 0.0
            c2 = 0.0
            if j + 1 < n:
                band[s, j + 1, 1] = band[s, j + 1, 1] / d
                c1 = band[s, j + 1, 1]
                band[s, j + 1, 2] = band[s, j + 1, 2] - c1 * c1
            if j + 2 < n:
                band[s, j + 2, 0] = band[s, j + 2, 0] / d
                c2 = band[s, j + 2, 0]
                band[s, j + 2, 1] = band[s, j + 2, 1] - c1 * c2
                band[s, j + 2, 2] = band[s, j + 2, 2] - c2 * c2
