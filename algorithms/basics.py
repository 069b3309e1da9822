# === gather_selected
# source: indexed load
# task: gather the values of selected elements
# weight: 6
# sizes: n = 1 7 71 1024; num_selected = 1 5 66 100
# - values: float[n] uniform(-1.0, 1.0); values
# - selection: int[num_selected] index(n); elements that are wanted
# - selected: float[num_selected] zeros; values of the wanted elements
@kernel[num_selected] gather
def gather_selected():
    """Copy the values of the selected elements."""
    tid = wp.tid()
    guard tid < num_selected
    let idx = selection[tid]
    # indirect load
    selected[tid] = values[idx]

def reference():
    for t in range(num_selected):
        selected[t] = values[selection[t]]

# === gather_vectors
# source: indexed load
# task: gather the vectors of selected elements
# weight: 6
# sizes: n = 1 7 71 1024; num_selected = 1 5 66 100
# - vectors: vec3[n] uniform(-1.0, 1.0); vectors
# - selection: int[num_selected] index(n); elements that are wanted
# - selected: vec3[num_selected] zeros; vectors of the wanted elements
@kernel[num_selected] gather
def gather_selected():
    """Copy the vectors of the selected elements."""
    tid = wp.tid()
    guard tid < num_selected
    let idx = selection[tid]
    selected[tid] = vectors[idx]

def reference():
    for t in range(num_selected):
        selected[t] = vectors[selection[t]]

# === group_sums
# source: scatter add by group
# task: sum the values of each group
# weight: 3
# split: test
# sizes: n = 1 7 71 1024; num_groups = 1 3 9 16
# - values: float[n] uniform(-1.0, 1.0); values
# - group: int[n] index(num_groups); group of each element
# - group_sum: float[num_groups] zeros; sum of each group
@kernel[n] scatter add
def sum_groups():
    """Add each value to the sum of its group."""
    i = wp.tid()
    guard i < n
    let g = group[i]
    wp.atomic_add(group_sum, g, values[i])

def reference():
    for i in range(n):
        group_sum[group[i]] = group_sum[group[i]] + values[i]

# === group_vectors
# source: scatter add by group
# task: sum the vectors of each group
# weight: 3
# split: test
# sizes: n = 1 7 71 1024; num_groups = 1 3 9 16
# - vectors: vec3[n] uniform(-1.0, 1.0); vectors
# - group: int[n] maybe(num_groups); group of each element, -1 for none
# - group_sum: vec3[num_groups] zeros; sum of each group
@kernel[n] scatter add, mask or active filter
def sum_group_vectors():
    """Add each vector to the sum of its group."""
    i = wp.tid()
    guard i < n
    # elements without a group do not count
    require group[i] >= 0
    wp.atomic_add(group_sum, group[i], vectors[i])

def reference():
    for i in range(n):
        if group[i] >= 0:
            group_sum[group[i]] = group_sum[group[i]] + vectors[i]

# === active_copy
# source: masked copy
# task: copy the values of active elements and keep the others
# weight: 3
# split: validation
# sizes: n = 1 7 71 1024
# - values: float[n] uniform(-1.0, 1.0); values
# - active: int[n] uniform(0, 2); 1 for active elements
# - snapshot: float[n] full(-1.0); copy of the active values
@kernel[n] mask or active filter
def copy_active():
    """Copy the values of active elements."""
    i = wp.tid()
    guard i < n
    # inactive elements keep what they had
    require active[i] != 0
    snapshot[i] = values[i]

def reference():
    for i in range(n):
        if active[i] != 0:
            snapshot[i] = values[i]

# === window_mean
# source: running mean of fixed width
# task: average the values over windows of neighbours
# weight: 3
# sizes: n = 1 7 71 1024; half_width = 1 2 3 4
# - signal: float[n] uniform(-1.0, 1.0); samples of a signal
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
        s += signal[k]
    averaged[i] = s / float(hi - lo)

def reference():
    for i in range(n):
        s = 0.0
        count = 0
        for k in range(n):
            if abs(k - i) <= half_width:
                s = s + signal[k]
                count = count + 1
        averaged[i] = s / float(count)

# === strided_blocks
# source: grid-stride loop with one partial result per thread
# task: sum the values in strides, one partial sum per thread
# weight: 4
# split: test
# sizes: n = 1 7 200 1024; num_threads = 1 3 66 32
# - values: float[n] uniform(-1.0, 1.0); values
# - partial_sums: float[num_threads] zeros; sum of every num_threads-th element
@kernel[num_threads] loop reduction
def strided_sum():
    """Each thread sums elements one stride apart."""
    t = wp.tid()
    guard t < num_threads
    s = float(0.0)
    for k in range(t, n, num_threads):
        s += values[k]
    partial_sums[t] = s

def reference():
    for k in range(n):
        partial_sums[k % num_threads] = partial_sums[k % num_threads] + values[k]

# === bin_lengths
# source: histogram of vector lengths
# task: count the vectors by their length
# weight: 3
# split: validation
# sizes: n = 1 7 71 1024; num_length_bins = 2 4 8 12
# - vectors: vec3[n] uniform(-1.0, 1.0); vectors
# - inv_width: float = 6.0; inverse width of a bin
# - length_counts: int[num_length_bins] zeros; vectors in each bin
@kernel[n] histogram count
def bin_lengths():
    """Count each vector in the bin of its length; the last bin is open."""
    i = wp.tid()
    guard i < n
    bin = wp.min(int(wp.length(vectors[i]) * inv_width), num_length_bins - 1)
    wp.atomic_add(length_counts, bin, 1)

def reference():
    for i in range(n):
        b = min(int(np.linalg.norm(vectors[i]) * inv_width), num_length_bins - 1)
        length_counts[b] = length_counts[b] + 1

# === count_selected
# source: conditional count of integers
# task: count how often a chosen number occurs
# weight: 3
# split: validation
# sizes: n = 1 7 71 1024
# - labels: int[n] uniform(0, 3); labels
# - chosen: int = 1; number that is counted
# - num_chosen: int[1] zeros; labels that are the chosen one
@kernel[n] mask or active filter
def count_chosen():
    """Count the elements that hold the chosen number."""
    i = wp.tid()
    guard i < n
    #? _
    if labels[i] == chosen:
        wp.atomic_add(num_chosen, 0, 1)
    #|
    require labels[i] == chosen
    wp.atomic_add(num_chosen, 0, 1)
    #.

def reference():
    for i in range(n):
        if labels[i] == chosen:
            num_chosen[0] = num_chosen[0] + 1

# === scatter_listed
# source: indexed store
# task: scatter the values to slots given by a permutation
# weight: 5
# split: test
# sizes: n = 1 7 71 1024
# - values: float[n] uniform(-1.0, 1.0); values
# - slot_of: int[n] permutation(); slot of each element
# - scattered: float[n] zeros; values by slot
@kernel[n] scatter
def scatter_to_slots():
    """Store each value in its slot."""
    i = wp.tid()
    guard i < n
    let target = slot_of[i]
    scattered[target] = values[i]

def reference():
    for i in range(n):
        scattered[slot_of[i]] = values[i]

# === reversed_copy
# source: copy with reversed order
# task: copy the values in reversed order
# weight: 5
# split: validation
# sizes: n = 1 7 71 1024
# - values: float[n] uniform(-1.0, 1.0); values
# - reversed_values: float[n] zeros; the values from last to first
@kernel[n] copy convert
def reverse_copy():
    """Element i comes from the other end."""
    i = wp.tid()
    guard i < n
    {{reversed_values[n - 1 - i] = values[i] || reversed_values[i] = values[n - 1 - i]}}

def reference():
    for i in range(n):
        reversed_values[i] = values[n - i - 1]

# === decay_listed
# source: exponential decay of selected elements
# task: damp the values of listed elements in place
# weight: 5
# sizes: n = 1 7 71 1024
# - amplitudes: float[n] uniform(-1.0, 1.0); amplitudes, damped in place
# - ids: int[n] permutation(); elements in the order in which they are damped
# - decay: float = 0.9; factor for every listed element
@kernel[n] in place update, gather
def damp_listed():
    """Damp each listed element."""
    tid = wp.tid()
    guard tid < n
    idx = ids[tid]
    {{amplitudes[idx] = decay * amplitudes[idx] || amplitudes[idx] = amplitudes[idx] * decay || amplitudes[idx] *= decay}}

def reference():
    for i in range(n):
        amplitudes[i] = decay * amplitudes[i]

# === clamp_vectors
# source: limit of the length of vectors
# task: limit the length of the vectors in place
# weight: 3
# sizes: n = 1 7 71 1024
# - velocities: vec3[n] uniform(-1.0, 1.0); velocities, shortened in place
# - max_length: float = 0.75; longer vectors are shortened
@kernel[n] select threshold
def limit_length():
    """Shorten vectors that are too long."""
    i = wp.tid()
    guard i < n
    let v = velocities[i]
    size = wp.length(v)
    # direction stays, length is cut
    require size > max_length
    velocities[i] = v * (max_length / size)

def reference():
    for i in range(n):
        size = np.linalg.norm(velocities[i])
        if size > max_length:
            velocities[i] = velocities[i] / size * max_length

# === neighbor_average
# source: averaging over neighbour lists
# task: average the values over the neighbours of each element
# weight: 5
# sizes: n = 1 7 71 1024; num_links = 2 15 200 3000
# - values: float[n] uniform(-1.0, 1.0); values
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
        s += values[link_ids[k]]
        #|
        let q = link_ids[k]
        s += values[q]
        #.
    neighbor_mean[i] = s / float(stop - begin)

def reference():
    for i in range(n):
        count = link_offsets[i + 1] - link_offsets[i]
        for k in range(link_offsets[i], link_offsets[i + 1]):
            neighbor_mean[i] = neighbor_mean[i] + values[link_ids[k]] / float(count)

# === neighbor_vectors
# source: averaging over neighbour lists
# task: sum the differences to the neighbours of each vector
# weight: 5
# sizes: n = 1 7 71 1024; num_links = 2 15 200 3000
# - vectors: vec3[n] uniform(-1.0, 1.0); vectors
# - link_offsets: int[n + 1] rows(num_links); first neighbour of each element
# - link_ids: int[num_links] index(n); neighbours, element by element
# - spread: vec3[n] zeros; sum of the differences to the neighbours
@kernel[n] csr row loop, gather
def neighbor_differences():
    """Sum of the differences to the neighbours."""
    i = wp.tid()
    guard i < n
    let own = vectors[i]
    total_diff = wp.vec3()
    for k in range(link_offsets[i], link_offsets[i + 1]):
        let q = link_ids[k]
        total_diff += vectors[q] - own
    spread[i] = total_diff

def reference():
    for i in range(n):
        for k in range(link_offsets[i], link_offsets[i + 1]):
            spread[i] = spread[i] + vectors[link_ids[k]] - vectors[i]

# === list_indices
# source: gather by an index list
# task: gather the integers of listed elements
# weight: 6
# sizes: n = 1 7 71 1024; num_listed = 1 5 66 100
# - labels: int[n] index(n); integers
# - listed: int[num_listed] index(n); elements whose integers are wanted
# - listed_values: int[num_listed] zeros; integers of the listed elements
@kernel[num_listed] gather
def gather_listed():
    """Copy the integers of listed elements."""
    tid = wp.tid()
    guard tid < num_listed
    let idx = listed[tid]
    listed_values[tid] = labels[idx]

def reference():
    for t in range(num_listed):
        listed_values[t] = labels[listed[t]]
# === count_above
# source: thresholded count
# task: count the values above a threshold
# weight: 3
# split: test
# sizes: n = 1 7 71 1024
# - values: float[n] uniform(-1.0, 1.0); values
# - threshold: float = 0.25; values above this are counted
# - above: int[1] zeros; number of values above the threshold
@kernel[n] atomic counter
def count_above():
    """Count the values above a threshold."""
    i = wp.tid()
    guard i < n
    #? _
    if values[i] > threshold:
        wp.atomic_add(above, 0, 1)
    #|
    let v = values[i]
    if v > threshold:
        wp.atomic_add(above, 0, 1)
    #.

def reference():
    for i in range(n):
        if values[i] > threshold:
            above[0] = above[0] + 1
