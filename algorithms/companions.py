# === count_above
# source: thresholded count
# task: count the values above a threshold
# weight: 2
# sizes: n = 1 7 71 1024
# - data: float[n] attach
# - threshold: float = 0.25; values above this are counted
# - above: int[1] zeros; number of values above the threshold
@kernel[n] atomic counter
def count_above():
    """Count the values above a threshold."""
    i = wp.tid()
    guard i < n
    #? _
    if data[i] > threshold:
        wp.atomic_add(above, 0, 1)
    #|
    let v = data[i]
    if v > threshold:
        wp.atomic_add(above, 0, 1)
    #.

def reference():
    for i in range(n):
        if data[i] > threshold:
            above[0] = above[0] + 1

# === reset_array
# source: clearing of accumulators
# task: clear the accumulator before the step
# weight: 3
# sizes: n = 1 7 71 1024
# - data: float[n] attach zeros
@kernel[n] fill
def reset_accumulator():
    """Set all elements to zero."""
    i = wp.tid()
    guard i < n
    # old values are stale
    data[i] = 0.0

def reference():
    for i in range(n):
        data[i] = 0.0

# === reset_vectors
# source: clearing of accumulators
# task: clear the vectors before they are accumulated
# weight: 2
# sizes: n = 1 7 71 1024
# - data: vec3[n] attach zeros
@kernel[n] fill
def clear_vectors():
    """Set all vectors to zero."""
    i = wp.tid()
    guard i < n
    {{data[i] = wp.vec3() || data[i] = wp.vec3(0.0, 0.0, 0.0)}}

def reference():
    for i in range(n):
        data[i] = np.zeros(3)

# === reset_counts
# source: clearing of counters
# task: clear the counters before the step
# weight: 2
# sizes: n = 1 7 71 1024
# - data: int[n] attach zeros
@kernel[n] fill
def reset_counters():
    """Set all counters to zero."""
    i = wp.tid()
    guard i < n
    # left from the last step
    data[i] = 0

def reference():
    for i in range(n):
        data[i] = 0

# === gather_selected
# source: indexed load
# task: gather the values of selected elements
# weight: 11
# sizes: n = 1 7 71 1024; num_selected = 1 5 66 100
# - data: float[n] attach
# - selection: int[num_selected] index(n); elements that are wanted
# - selected: float[num_selected] zeros; their values
@kernel[num_selected] gather
def gather_selected():
    """Copy the values of the selected elements."""
    tid = wp.tid()
    guard tid < num_selected
    let idx = selection[tid]
    # indirect load
    selected[tid] = data[idx]

def reference():
    for t in range(num_selected):
        selected[t] = data[selection[t]]

# === gather_vectors
# source: indexed load
# task: gather the vectors of selected elements
# weight: 9
# sizes: n = 1 7 71 1024; num_selected = 1 5 66 100
# - data: vec3[n] attach
# - selection: int[num_selected] index(n); elements that are wanted
# - selected: vec3[num_selected] zeros; their vectors
@kernel[num_selected] gather
def gather_selected():
    """Copy the vectors of the selected elements."""
    tid = wp.tid()
    guard tid < num_selected
    let idx = selection[tid]
    selected[tid] = data[idx]

def reference():
    for t in range(num_selected):
        selected[t] = data[selection[t]]

# === group_sums
# source: scatter add by group
# task: sum the values of each group
# weight: 6
# split: test
# sizes: n = 1 7 71 1024; num_groups = 1 3 9 16
# - data: float[n] attach
# - group: int[n] index(num_groups); group of each element
# - group_sum: float[num_groups] zeros; sum of each group
@kernel[n] scatter add
def sum_groups():
    """Add each value to the sum of its group."""
    i = wp.tid()
    guard i < n
    let g = group[i]
    wp.atomic_add(group_sum, g, data[i])

def reference():
    for i in range(n):
        group_sum[group[i]] = group_sum[group[i]] + data[i]

# === group_vectors
# source: scatter add by group
# task: sum the vectors of each group
# weight: 5
# split: test
# sizes: n = 1 7 71 1024; num_groups = 1 3 9 16
# - data: vec3[n] attach
# - group: int[n] uniform(-1, 1); group of each element, -1 for none
# - group_sum: vec3[num_groups] zeros; sum of each group
@kernel[n] scatter add, mask or active filter
def sum_group_vectors():
    """Add each vector to the sum of its group."""
    i = wp.tid()
    guard i < n
    # elements without a group do not count
    require group[i] >= 0
    wp.atomic_add(group_sum, group[i], data[i])

def reference():
    for i in range(n):
        if group[i] >= 0:
            group_sum[group[i]] = group_sum[group[i]] + data[i]

# === active_copy
# source: masked copy
# task: copy the values of active elements and keep the others
# weight: 5
# split: validation
# sizes: n = 1 7 71 1024
# - data: float[n] attach
# - active: int[n] uniform(0, 2); 1 for active elements
# - snapshot: float[n] full(-1.0); copy of the active values
@kernel[n] mask or active filter
def copy_active():
    """Copy the values of active elements."""
    i = wp.tid()
    guard i < n
    # inactive elements keep what they had
    require active[i] != 0
    snapshot[i] = data[i]

def reference():
    for i in range(n):
        if active[i] != 0:
            snapshot[i] = data[i]

# === window_mean
# source: running mean of fixed width
# task: average the values over windows of neighbours
# weight: 18
# sizes: n = 1 7 71 1024; half_width = 1 2 3 4
# - data: float[n] attach
# - averaged: float[n] zeros; mean over the window
@kernel[n] kernel window gather, boundary condition
def window_mean():
    """Mean of the neighbours within the window, fewer at the ends."""
    i = wp.tid()
    guard i < n
    lo = wp.max(i - half_width, 0)
    hi = wp.min(i + half_width + 1, n)
    s = float(0.0)
    for k in range(lo, hi):
        s += data[k]
    averaged[i] = s / float(hi - lo)

def reference():
    for i in range(n):
        s = 0.0
        count = 0
        for k in range(n):
            if abs(k - i) <= half_width:
                s = s + data[k]
                count = count + 1
        averaged[i] = s / float(count)

# === strided_blocks
# source: grid-stride loop with one partial result per thread
# task: sum the values in strides, one partial sum per thread
# weight: 30
# sizes: n = 1 7 71 1024; num_threads = 1 3 8 32
# - data: float[n] attach
# - partial_sums: float[num_threads] zeros; sum of every num_threads-th element
@kernel[num_threads] loop reduction
def strided_sum():
    """Each thread sums elements one stride apart."""
    t = wp.tid()
    guard t < num_threads
    s = float(0.0)
    for k in range(t, n, num_threads):
        s += data[k]
    partial_sums[t] = s

def reference():
    for k in range(n):
        partial_sums[k % num_threads] = partial_sums[k % num_threads] + data[k]

# === largest_value
# source: atomic maximum
# task: find the largest absolute value
# weight: 2
# sizes: n = 1 7 71 1024
# - data: float[n] attach
# - largest_abs: float[1] zeros; largest absolute value
@kernel[n] atomic min max
def find_largest():
    """Atomic maximum of the absolute values."""
    i = wp.tid()
    guard i < n
    let size = wp.abs(data[i])
    wp.atomic_max(largest_abs, 0, size)

def reference():
    for i in range(n):
        largest_abs[0] = max(largest_abs[0], abs(data[i]))

# === vector_bounds
# source: bounding box by atomics
# task: find the bounding box of the vectors
# weight: 4
# split: test
# sizes: n = 1 7 71 1024
# - data: vec3[n] attach
# - bounds: float[6] zeros; smallest, then largest coordinates, with the origin
@kernel[n] bounding box reduce, atomic min max
def vector_bounds():
    """Atomic minimum and maximum of the coordinates."""
    i = wp.tid()
    guard i < n
    let p = data[i]
    #? loop
    for axis in range(3):
        wp.atomic_min(bounds, axis, p[axis])
        wp.atomic_max(bounds, 3 + axis, p[axis])
    #|
    wp.atomic_min(bounds, 0, p[0])
    wp.atomic_min(bounds, 1, p[1])
    wp.atomic_min(bounds, 2, p[2])
    wp.atomic_max(bounds, 3, p[0])
    wp.atomic_max(bounds, 4, p[1])
    wp.atomic_max(bounds, 5, p[2])
    #.

def reference():
    for i in range(n):
        for axis in range(3):
            bounds[axis] = min(bounds[axis], data[i][axis])
            bounds[axis + 3] = max(bounds[axis + 3], data[i][axis])

# === bin_lengths
# source: histogram of vector lengths
# task: count the vectors by their length
# weight: 4
# split: validation
# sizes: n = 1 7 71 1024; num_length_bins = 2 4 8 16
# - data: vec3[n] attach
# - inv_width: float = 2.5; inverse width of a bin
# - length_counts: int[num_length_bins] zeros; vectors in each bin
@kernel[n] histogram count
def bin_lengths():
    """Count each vector in the bin of its length; the last bin is open."""
    i = wp.tid()
    guard i < n
    bin = wp.min(int(wp.length(data[i]) * inv_width), num_length_bins - 1)
    wp.atomic_add(length_counts, bin, 1)

def reference():
    for i in range(n):
        b = min(int(np.linalg.norm(data[i]) * inv_width), num_length_bins - 1)
        length_counts[b] = length_counts[b] + 1

# === count_selected
# source: conditional count of integers
# task: count how often a chosen number occurs
# weight: 3
# split: validation
# sizes: n = 1 7 71 1024
# - data: int[n] attach
# - chosen: int = 1; number that is counted
# - num_chosen: int[1] zeros; how often it occurs
@kernel[n] mask or active filter
def count_chosen():
    """Count the elements that hold the chosen number."""
    i = wp.tid()
    guard i < n
    #? _
    if data[i] == chosen:
        wp.atomic_add(num_chosen, 0, 1)
    #|
    require data[i] == chosen
    wp.atomic_add(num_chosen, 0, 1)
    #.

def reference():
    for i in range(n):
        if data[i] == chosen:
            num_chosen[0] = num_chosen[0] + 1

# === scatter_listed
# source: indexed store
# task: scatter the values to slots given by a permutation
# weight: 9
# split: test
# sizes: n = 1 7 71 1024
# - data: float[n] attach
# - slot_of: int[n] permutation(); slot of each element
# - scattered: float[n] zeros; values by slot
@kernel[n] scatter
def scatter_to_slots():
    """Store each value in its slot."""
    i = wp.tid()
    guard i < n
    let target = slot_of[i]
    scattered[target] = data[i]

def reference():
    for i in range(n):
        scattered[slot_of[i]] = data[i]

# === reversed_copy
# source: copy with reversed order
# task: copy the values in reversed order
# weight: 4
# split: validation
# sizes: n = 1 7 71 1024
# - data: float[n] attach
# - reversed_values: float[n] zeros; the values from last to first
@kernel[n] copy convert
def reverse_copy():
    """Element i comes from the other end."""
    i = wp.tid()
    guard i < n
    {{reversed_values[n - 1 - i] = data[i] || reversed_values[i] = data[n - 1 - i]}}

def reference():
    for i in range(n):
        reversed_values[i] = data[n - i - 1]

# === decay_listed
# source: exponential decay of selected elements
# task: damp the values of listed elements in place
# weight: 25
# sizes: n = 1 7 71 1024
# - data: float[n] attach
# - ids: int[n] permutation(); elements in the order of their activation
# - decay: float = 0.9; factor for every listed element
@kernel[n] in place update, gather
def damp_listed():
    """Damp each listed element."""
    tid = wp.tid()
    guard tid < n
    idx = ids[tid]
    {{data[idx] = decay * data[idx] || data[idx] = data[idx] * decay || data[idx] *= decay}}

def reference():
    for i in range(n):
        data[i] = decay * data[i]

# === clamp_vectors
# source: limit of the length of vectors
# task: limit the length of the vectors in place
# weight: 8
# sizes: n = 1 7 71 1024
# - data: vec3[n] attach
# - max_length: float = 0.75; longer vectors are shortened
@kernel[n] select threshold
def limit_length():
    """Shorten vectors that are too long."""
    i = wp.tid()
    guard i < n
    let v = data[i]
    size = wp.length(v)
    # direction stays, length is cut
    require size > max_length
    data[i] = v * (max_length / size)

def reference():
    for i in range(n):
        size = np.linalg.norm(data[i])
        if size > max_length:
            data[i] = data[i] / size * max_length

# === neighbor_average
# source: averaging over neighbour lists
# task: average the values over the neighbours of each element
# weight: 38
# sizes: n = 1 7 71 1024; num_links = 2 15 200 3000
# - data: float[n] attach
# - link_offsets: int[n + 1] rows(num_links); first neighbour of each element
# - link_ids: int[num_links] index(n); neighbours, element by element
# - neighbor_mean: float[n] zeros; mean over the neighbours, zero without any
@kernel[n] csr row loop, gather
def average_neighbors():
    """Mean over the neighbours of an element."""
    i = wp.tid()
    guard i < n
    begin = link_offsets[i]
    stop = link_offsets[i + 1]
    # isolated elements have no mean
    require stop > begin
    s = float(0.0)
    for k in range(begin, stop):
        #? _
        s += data[link_ids[k]]
        #|
        let q = link_ids[k]
        s += data[q]
        #.
    neighbor_mean[i] = s / float(stop - begin)

def reference():
    for i in range(n):
        count = link_offsets[i + 1] - link_offsets[i]
        for k in range(link_offsets[i], link_offsets[i + 1]):
            neighbor_mean[i] = neighbor_mean[i] + data[link_ids[k]] / float(count)

# === neighbor_vectors
# source: averaging over neighbour lists
# task: sum the differences to the neighbours of each vector
# weight: 34
# sizes: n = 1 7 71 1024; num_links = 2 15 200 3000
# - data: vec3[n] attach
# - link_offsets: int[n + 1] rows(num_links); first neighbour of each element
# - link_ids: int[num_links] index(n); neighbours, element by element
# - spread: vec3[n] zeros; sum of the differences to the neighbours
@kernel[n] csr row loop, gather
def neighbor_differences():
    """Sum of the differences to the neighbours."""
    i = wp.tid()
    guard i < n
    let own = data[i]
    total_diff = wp.vec3()
    for k in range(link_offsets[i], link_offsets[i + 1]):
        let q = link_ids[k]
        total_diff += data[q] - own
    spread[i] = total_diff

def reference():
    for i in range(n):
        for k in range(link_offsets[i], link_offsets[i + 1]):
            spread[i] = spread[i] + data[link_ids[k]] - data[i]

# === list_indices
# source: gather by an index list
# task: gather the integers of listed elements
# weight: 12
# sizes: n = 1 7 71 1024; num_listed = 1 5 66 100
# - data: int[n] attach
# - listed: int[num_listed] index(n); elements whose integers are wanted
# - listed_values: int[num_listed] zeros; integers of the listed elements
@kernel[num_listed] gather
def gather_listed():
    """Copy the integers of listed elements."""
    tid = wp.tid()
    guard tid < num_listed
    let idx = listed[tid]
    listed_values[tid] = data[idx]

def reference():
    for t in range(num_listed):
        listed_values[t] = data[listed[t]]
