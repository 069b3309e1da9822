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

# === largest_value
# source: atomic maximum
# task: find the largest absolute value of the values
# sizes: n = 1 7 71 1024
# - data: float[n] attach; error residual divergence stress speed curvature slope defect correction
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

# === total_value
# source: conserved total by atomics
# task: sum the values
# sizes: n = 1 7 71 1024
# - data: float[n] attach; densit mass charge energ cost loss concentration work weight
# - total_amount: float[1] zeros; sum of all elements
@kernel[n] atomic reduction
def sum_total():
    """Sum over all elements."""
    i = wp.tid()
    guard i < n
    wp.atomic_add(total_amount, 0, data[i])

def reference():
    for i in range(n):
        total_amount[0] = total_amount[0] + data[i]

# === residual_norm
# source: Euclidean norm of a residual
# task: sum the squares of the values
# sizes: n = 1 7 71 1024
# - data: float[n] attach; residual error defect
# - squared_norm: float[1] zeros; sum of squares
@kernel[n] atomic reduction, dot product
def sum_squares():
    """Sum of squares."""
    i = wp.tid()
    guard i < n
    let r = data[i]
    wp.atomic_add(squared_norm, 0, r * r)

def reference():
    s = 0.0
    for i in range(n):
        s = s + data[i] * data[i]
    squared_norm[0] = s

# === greatest_speed
# source: time step control by the greatest speed (Courant, Friedrichs and Lewy 1928)
# task: find the greatest length of the vectors
# sizes: n = 1 7 71 1024
# - data: vec3[n] attach; velocit force field displacement
# - greatest_length: float[1] zeros; greatest length
@kernel[n] atomic min max
def find_greatest_length():
    """Atomic maximum of the lengths."""
    i = wp.tid()
    guard i < n
    wp.atomic_max(greatest_length, 0, wp.length(data[i]))

def reference():
    for i in range(n):
        greatest_length[0] = max(greatest_length[0], np.linalg.norm(data[i]))

# === net_vector
# source: sum of forces, zero where action equals reaction
# task: sum the vectors
# sizes: n = 1 7 71 1024
# - data: vec3[n] attach; force moment impulse
# - net: vec3[1] zeros; sum over all elements
@kernel[n] atomic reduction
def sum_vectors():
    """Sum of all vectors."""
    i = wp.tid()
    guard i < n
    wp.atomic_add(net, 0, data[i])

def reference():
    for i in range(n):
        net[0] = net[0] + data[i]

# === largest_change
# source: stopping criterion by the largest change
# task: find the largest change of the values in the step
# sizes: n = 1 7 71 1024
# - data: float[n] attach; e a i o u
# - before: float[n] attach before
# - max_change: float[1] zeros; largest change of an element
@kernel[n] atomic min max
def find_largest_change():
    """Atomic maximum of the changes."""
    i = wp.tid()
    guard i < n
    let change = wp.abs(data[i] - before[i])
    wp.atomic_max(max_change, 0, change)

def reference():
    for i in range(n):
        max_change[0] = max(max_change[0], abs(data[i] - before[i]))

# === largest_move
# source: rebuild criterion of neighbour lists by the largest move (Verlet 1967)
# task: find the longest move of the vectors in the step
# sizes: n = 1 7 71 1024
# - data: vec3[n] attach; position velocit point
# - before: vec3[n] attach before
# - max_move: float[1] zeros; longest difference to the step before
@kernel[n] atomic min max
def find_longest_move():
    """Atomic maximum of the lengths of the differences."""
    i = wp.tid()
    guard i < n
    let move = wp.length(data[i] - before[i])
    wp.atomic_max(max_move, 0, move)

def reference():
    for i in range(n):
        max_move[0] = max(max_move[0], np.linalg.norm(data[i] - before[i]))

# === vector_bounds
# source: bounding box by atomics
# task: find the bounding box of the vectors
# sizes: n = 1 7 71 1024
# - data: vec3[n] attach; position point corner centre
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
