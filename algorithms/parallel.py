# === hillis_steele_scan
# source: inclusive scan in logarithmic steps (Hillis and Steele 1986)
# task: compute an inclusive prefix sum with doubling strides
# about: After the step with stride s each element holds the sum of the 2 s values that end there. The steps alternate between two buffers.
# domain: generic
# weight: 6
# sizes: n = 1 7 71 512
# - src: float[n] uniform(0.0, 1.0); values
# - out: float[n] zeros; running sums
# - buf: float[n] zeros; buffer between the steps
# - stride: int = 1; distance of the elements that are added
# run: scan_step(stride=1), scan_step(src=out, out=buf, stride=2), scan_step(src=buf, stride=4), scan_step(src=out, out=buf, stride=8), scan_step(src=buf, stride=16), scan_step(src=out, out=buf, stride=32), scan_step(src=buf, stride=64), scan_step(src=out, out=buf, stride=128), scan_step(src=buf, stride=256)
@kernel[n] prefix scan
def scan_step():
    """Add the element one stride before."""
    i = wp.tid()
    guard i < n
    #? _
    s = src[i]
    if i >= stride:
        s += src[i - stride]
    out[i] = s
    #|
    if i >= stride:
        out[i] = src[i] + src[i - stride]
    else:
        out[i] = src[i]
    #|
    let own = src[i]
    # the first elements are complete
    out[i] = wp.where(i >= stride, own + src[wp.max(i - stride, 0)], own)
    #.

def reference():
    s = 0.0
    for i in range(n):
        s = s + src[i]
        out[i] = s

# === stream_compaction
# source: compaction by scan and scatter (Blelloch 1990)
# task: keep the values above a threshold, in order
# domain: generic
# weight: 11
# sizes: n = 1 9 75 400
# - values: float[n] uniform(-1.0, 1.0); input values
# - keep: int[n] zeros; 1 for values that stay
# - offsets: int[n + 1] zeros; slot of each value, and the number of kept values
# - packed: float[n] zeros; kept values without gaps
# - source_ids: int[n] full(-1); where each kept value came from
# - threshold: float = 0.0; values above this stay
@kernel[n] mask or active filter
def flag_values():
    """Flag the values that stay."""
    i = wp.tid()
    guard i < n
    {{keep[i] = wp.where(values[i] > threshold, 1, 0) || keep[i] = int(values[i] > threshold)}}

@kernel[1] prefix scan
def scan_flags():
    """Exclusive scan of the flags, by one thread."""
    total = int(0)
    for k in range(n):
        offsets[k] = total
        total += keep[k]
    offsets[n] = total

@kernel[n] stream compaction, scatter, mask or active filter, gather
def scatter_kept():
    """Write each kept value to its slot."""
    i = wp.tid()
    guard i < n
    # dropped values have no slot
    require keep[i] == 1
    slot = offsets[i]
    packed[slot] = values[i]
    source_ids[slot] = i

def reference():
    for i in range(n):
        offsets[i + 1] = offsets[i]
        if values[i] > threshold:
            keep[i] = 1
            packed[offsets[i]] = values[i]
            source_ids[offsets[i]] = i
            offsets[i + 1] = offsets[i] + 1

# === atomic_compaction
# source: unordered compaction with an atomic counter
# task: collect the indices of active elements with an atomic counter
# domain: generic
# weight: 9
# sizes: n = 1 9 75 400
# - active: int[n] uniform(0, 2); 1 for active elements
# - energy: float[n] uniform(0.0, 1.0); energy of each element
# - limit: float = 0.3; least energy of an element that is collected
# - count: int[1] zeros; collected elements
# - ids: int[n] full(-1) unordered; indices of collected elements
@kernel[n] stream compaction, scatter, mask or active filter
def collect_active():
    """Reserve a slot for each active element."""
    tid = wp.tid()
    guard tid < n
    #? test
    if active[tid] == 0 or energy[tid] < limit:
        return
    slot = wp.atomic_add(count, 0, 1)
    ids[slot] = tid
    #|
    if active[tid] == 1:
        # only those with enough energy
        if energy[tid] >= limit:
            slot = wp.atomic_add(count, 0, 1)
            ids[slot] = tid
    #.

def reference():
    for i in range(n):
        if active[i] == 1 and energy[i] >= limit:
            ids[count[0]] = i
            count[0] = count[0] + 1

# === odd_even_sort
# source: odd-even transposition sort (Habermann 1972)
# task: sort short rows in place, one row per thread
# domain: generic
# weight: 7
# sizes: num_rows = 1 5 66 64; width = 3 4 6 8
# - keys: int[num_rows, width] uniform(0, 100); keys, sorted in place
# - order: int[num_rows, width] zeros; original column of each key
@kernel[num_rows] sort or swap
def init_order():
    """Number the columns."""
    row = wp.tid()
    guard row < num_rows
    for c in range(width):
        order[row, c] = c

@kernel[num_rows] sort or swap
def sort_rows():
    """Odd-even transpositions move larger keys to the right."""
    row = wp.tid()
    guard row < num_rows
    #? algo
    for phase in range(width):
        for c in range(phase % 2, width - 1, 2):
            if keys[row, c] > keys[row, c + 1]:
                # swap keys and columns
                k = keys[row, c]
                keys[row, c] = keys[row, c + 1]
                keys[row, c + 1] = k
                o = order[row, c]
                order[row, c] = order[row, c + 1]
                order[row, c + 1] = o
    #|
    # even and odd pairs in turn
    for phase in range(width):
        for pair in range((width - phase % 2) // 2):
            c = 2 * pair + phase % 2
            left = keys[row, c]
            right = keys[row, c + 1]
            if left > right:
                o = order[row, c]
                keys[row, c] = right
                keys[row, c + 1] = left
                order[row, c] = order[row, c + 1]
                order[row, c + 1] = o
    #.

def reference():
    """Bubble sort; equal keys keep their order."""
    for row in range(num_rows):
        for c in range(width):
            order[row, c] = c
        for last in range(width):
            for c in range(width - 1 - last):
                if keys[row, c] > keys[row, c + 1]:
                    k = keys[row, c]
                    keys[row, c] = keys[row, c + 1]
                    keys[row, c + 1] = k
                    o = order[row, c]
                    order[row, c] = order[row, c + 1]
                    order[row, c + 1] = o

# === binary_search_lookup
# source: binary search for the upper bound (Knuth, vol. 3, sec. 6.2.1)
# task: find the interval of a sorted table for every query and look up the ordinate at its left end
# domain: generic
# weight: 7
# split: test
# sizes: n = 1 7 71 400; m = 2 5 20 100
# - knots: float[m] sorted(0.0, 1.0); sorted abscissas
# - table: float[m] uniform(-1.0, 1.0); ordinates
# - queries: float[n] uniform(-0.1, 1.1); query points
# - interval: int[n] zeros; knots that are not above the query
# - found: float[n] zeros; ordinate left of the query
@kernel[n] binary search, gather
def upper_bound():
    """Number of knots that are not above the query."""
    i = wp.tid()
    guard i < n
    let x = queries[i]
    lo = int(0)
    hi = m
    while lo < hi:
        #? mid
        mid = (lo + hi) // 2
        #|
        # no overflow this way
        mid = lo + (hi - lo) // 2
        #.
        if knots[mid] <= x:
            lo = mid + 1
        else:
            hi = mid
    interval[i] = lo

@kernel[n] gather, boundary condition
def look_up():
    """Ordinate of the knot left of the query, clamped to the table."""
    i = wp.tid()
    guard i < n
    k = wp.clamp(interval[i] - 1, 0, m - 1)
    found[i] = table[k]

def reference():
    for i in range(n):
        for k in range(m):
            if knots[k] <= queries[i]:
                interval[i] = k + 1
        found[i] = table[max(interval[i] - 1, 0)]

# === segmented_reduce
# source: segmented reduction over offsets
# task: reduce segments of an array to their sum, maximum and position of the maximum
# domain: generic
# weight: 3
# split: validation
# sizes: num_segments = 1 5 66 100; total = 2 20 300 2000
# - offsets: int[num_segments + 1] rows(total); first element of each segment
# - values: float[total] uniform(-1.0, 1.0); values, segment by segment
# - sums: float[num_segments] zeros; sum of each segment
# - maxima: float[num_segments] full(-1000.0); maximum of each segment
# - arg: int[num_segments] full(-1); position of the maximum
@kernel[num_segments] csr row loop
def segment_sums():
    """Sum of each segment."""
    seg = wp.tid()
    guard seg < num_segments
    s = float(0.0)
    for k in range(offsets[seg], offsets[seg + 1]):
        s += values[k]
    sums[seg] = s

@kernel[num_segments] argmin argmax, csr row loop
def segment_argmax():
    """Largest value of each segment and where it is."""
    seg = wp.tid()
    guard seg < num_segments
    let start = offsets[seg]
    let end = offsets[seg + 1]
    best = maxima[seg]
    pos = int(-1)
    for k in range(start, end):
        let v = values[k]
        if v > best:
            best = v
            pos = k
    maxima[seg] = best
    arg[seg] = pos

def reference():
    for seg in range(num_segments):
        for k in range(offsets[seg], offsets[seg + 1]):
            sums[seg] = sums[seg] + values[k]
            if values[k] > maxima[seg]:
                maxima[seg] = values[k]
                arg[seg] = k

# === hash_table_insert
# source: open addressing with compare and swap (Alcantara et al. 2009)
# task: insert keys into a hash table with compare and swap and count distinct keys
# domain: generic
# weight: 8
# split: test
# sizes: n = 1 9 40 200; capacity = 16 32 128 1024
# - keys: int[n] index(capacity); keys to insert
# - table: int[capacity] full(-1) unordered; keys in the table, -1 for free slots
# - distinct: int[1] zeros; different keys
@kernel[n] lock or cas, bit tricks hash morton, pointer chase or walk
def insert_keys():
    """Probe linearly until the key or a free slot is found."""
    i = wp.tid()
    guard i < n
    key = keys[i]
    # multiplicative hash
    {{slot = (key * 31 + 7) % capacity || slot = ((key ^ (key >> 3)) + 5) % capacity}}
    probes = int(0)
    while probes < capacity:
        old = wp.atomic_cas(table, slot, -1, key)
        if old == -1:
            wp.atomic_add(distinct, 0, 1)
            probes = capacity
        elif old == key:
            probes = capacity
        else:
            slot = (slot + 1) % capacity
            probes += 1

def reference():
    for i in range(n):
        seen = 0
        for j in range(i):
            if keys[j] == keys[i]:
                seen = 1
        if seen == 0:
            table[distinct[0]] = keys[i]
            distinct[0] = distinct[0] + 1

# === morton_order
# source: Morton codes by bit interleaving (Morton 1966)
# task: compute Morton codes of points in a grid and look up the parts again
# domain: geometry
# weight: 4
# split: test
# sizes: n = 1 7 71 400
# - coords: int[n, 2] index(256); grid coordinates, eight bits each
# - codes: int[n] zeros; interleaved bits
# - even_bits: int[n] zeros; first coordinate, taken from the code
@func
def spread_bits(v: int) -> int:
    """Put a zero behind each of eight bits."""
    x = v & 255
    x = (x | (x << 4)) & 3855
    x = (x | (x << 2)) & 13107
    x = (x | (x << 1)) & 21845
    return x

@kernel[n] bit tricks hash morton
def morton_codes():
    """Interleave the bits of both coordinates."""
    i = wp.tid()
    guard i < n
    {{codes[i] = spread_bits(coords[i, 0]) | (spread_bits(coords[i, 1]) << 1) || codes[i] = spread_bits(coords[i, 0]) + 2 * spread_bits(coords[i, 1])}}

@kernel[n] bit tricks hash morton
def collect_bits():
    """Read every second bit of a code."""
    i = wp.tid()
    guard i < n
    let code = codes[i]
    x = int(0)
    for b in range(8):
        x = x | (((code >> (2 * b)) & 1) << b)
    even_bits[i] = x

def reference():
    for i in range(n):
        even_bits[i] = coords[i, 0]
        a = coords[i, 0]
        b = coords[i, 1]
        place = 1
        for k in range(8):
            codes[i] = codes[i] + place * (a % 2 + 2 * (b % 2))
            a = a // 2
            b = b // 2
            place = place * 4

# === scatter_permute
# source: application and inversion of a permutation
# task: reorder records by a permutation and compute its inverse
# domain: generic
# weight: 9
# sizes: n = 1 7 71 500
# - order: int[n] permutation(); new place of each record
# - src: float[n] uniform(-1.0, 1.0); records
# - dst: float[n] zeros; reordered records
# - inverse: int[n] zeros; record that is at each place
# - restored: float[n] zeros; records in their first order
@kernel[n] scatter
def scatter_records():
    """Write each record to its new place."""
    i = wp.tid()
    guard i < n
    let target = order[i]
    dst[target] = src[i]
    inverse[order[i]] = i

@kernel[n] gather
def gather_back():
    """Read the records in their first order."""
    i = wp.tid()
    guard i < n
    restored[i] = dst[order[i]]

def reference():
    for p in range(n):
        restored[p] = src[p]
        for i in range(n):
            if order[i] == p:
                dst[p] = src[i]
                inverse[p] = i

# === histogram_2d
# source: joint histogram of two variables
# task: count pairs of values in a two-dimensional histogram and find the fullest bin
# domain: signal
# weight: 3
# sizes: n = 1 9 75 600; bins_x = 2 4 5 16; bins_y = 2 3 6 12
# - a: float[n] uniform(0.0, 0.99); first variable
# - b: float[n] uniform(0.0, 0.99); second variable
# - counts: int[bins_y, bins_x] zeros; pairs in each bin
# - fullest: int[1] zeros; largest count
@kernel[n] histogram count
def joint_histogram():
    """Count each pair in its bin."""
    i = wp.tid()
    guard i < n
    let bx = wp.min(int(a[i] * float(bins_x)), bins_x - 1)
    let by = wp.min(int(b[i] * float(bins_y)), bins_y - 1)
    wp.atomic_add(counts, by, bx, 1)

@kernel[bins_y, bins_x] atomic min max, index unflatten
def fullest_bin():
    """Largest count of all bins."""
    grid y, x
    guard y < bins_y and x < bins_x
    wp.atomic_max(fullest, 0, counts[y, x])

def reference():
    for i in range(n):
        x = int(a[i] * float(bins_x))
        y = int(b[i] * float(bins_y))
        counts[y, x] = counts[y, x] + 1
        fullest[0] = max(fullest[0], counts[y, x])

# === ring_buffer_reset
# source: environment reset of batched simulators
# task: reset the finished environments of a batch and clear their buffers
# domain: generic
# weight: 11
# sizes: num_worlds = 1 7 71 128; slots = 2 3 4 8
# - done: int[num_worlds] uniform(0, 2); 1 for finished environments
# - home: float[num_worlds] uniform(-1.0, 1.0); state at the start
# - state: float[num_worlds] uniform(-1.0, 1.0); current state
# - step_count: int[num_worlds] uniform(1, 50); steps since the start
# - history: float[num_worlds, slots] uniform(-1.0, 1.0); last states, newest first
# - num_reset: int[1] zeros; environments that were reset
@kernel[num_worlds] mask or active filter
def reset_worlds():
    """Finished environments go back to their start."""
    world = wp.tid()
    guard world < num_worlds
    require done[world] == 1
    state[world] = home[world]
    step_count[world] = 0
    wp.atomic_add(num_reset, 0, 1)

@kernel[num_worlds, slots] fill, mask or active filter, index unflatten
def clear_history():
    """Forget the states of finished environments."""
    grid world, slot
    guard world < num_worlds and slot < slots
    if done[world] == 1:
        history[world, slot] = 0.0

@kernel[num_worlds] copy convert
def push_state():
    """Shift the history by one and put the state in front."""
    world = wp.tid()
    guard world < num_worlds
    for k in range(slots - 1):
        slot = slots - 1 - k
        history[world, slot] = history[world, slot - 1]
    history[world, 0] = state[world]

def reference():
    for w in range(num_worlds):
        keep = 1.0 - float(done[w])
        if done[w] == 1:
            state[w] = home[w]
            step_count[w] = 0
            num_reset[0] = num_reset[0] + 1
        for k in range(slots - 1):
            s = slots - 1 - k
            history[w, s] = keep * history[w, s - 1]
        history[w, 0] = state[w]

# === padded_copy
# source: ghost layers of arrays
# task: copy an array into a padded one and fill the border
# domain: generic
# weight: 9
# sizes: ny = 1 3 7 24; nx = 2 4 9 32; pad_y = 3 5 9 26; pad_x = 4 6 11 34
# - src: float[ny, nx] uniform(-1.0, 1.0); inner values
# - padded: float[pad_y, pad_x] zeros; values with one layer of ghosts
# - ghosts: int[1] zeros; ghost cells that were written
# - border: float = -1.0; value of the ghosts
@kernel[pad_y, pad_x] fill, index unflatten
def fill_border():
    """Set the ghost cells."""
    grid i, j
    guard i < pad_y and j < pad_x
    #? side
    if i == 0 or j == 0 or i == pad_y - 1 or j == pad_x - 1:
        padded[i, j] = border
        wp.atomic_add(ghosts, 0, 1)
    #|
    inside = i > 0 and j > 0 and i < pad_y - 1 and j < pad_x - 1
    if not inside:
        padded[i, j] = border
        wp.atomic_add(ghosts, 0, 1)
    #.

@kernel[ny, nx] matrix or image map
def copy_interior():
    """Copy the inner values one cell further."""
    grid i, j
    guard i < ny and j < nx
    padded[i + 1, j + 1] = src[i, j]

def reference():
    for p in range(pad_y * pad_x):
        i = p // pad_x
        j = p % pad_x
        padded[i, j] = border
        ghosts[0] = ghosts[0] + 1
        if i >= 1 and i <= ny and j >= 1 and j <= nx:
            padded[i, j] = src[i - 1, j - 1]
            ghosts[0] = ghosts[0] - 1
