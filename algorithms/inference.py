# === attention_backward
# source: softmax attention with a causal mask and key padding, differentiated by hand (Vaswani et al. 2017; Dao et al. 2022)
# task: compute masked softmax attention and its gradients by queries and values
# about: Scores are normalised in one pass with a running maximum. Sequences of a batch have lengths of their own.
# domain: ml
# weight: 9
# sizes: batch = 1 2 5 8; seq = 1 5 8 24; dim = 2 3 4 8
# - q: float[batch, seq, dim] uniform(-1.0, 1.0); queries
# - k: float[batch, seq, dim] uniform(-1.0, 1.0); keys
# - v: float[batch, seq, dim] uniform(-1.0, 1.0); values
# - lengths: int[batch] uniform(1, 6); valid keys of each sequence
# - d_out: float[batch, seq, dim] uniform(-1.0, 1.0); gradient by the output
# - out: float[batch, seq, dim] zeros; output
# - lse: float[batch, seq] zeros; logarithms of the sums of exponentials
# - delta: float[batch, seq] zeros; scalar products of output and gradient
# - d_q: float[batch, seq, dim] zeros; gradient by the queries
# - d_v: float[batch, seq, dim] zeros; gradient by the values
# - scale: float = 0.5; factor of the scores
# - causal: int = 1; 1 if later keys are masked
@func
def is_masked(row: int, col: int, length: int, causal_flag: int) -> bool:
    """Whether a query may not see a key."""
    if col >= length:
        return True
    return causal_flag == 1 and col > row

@kernel[batch, seq] softmax logsumexp, loop reduction, mask or active filter
def attention_forward():
    """Online softmax over the keys of one query."""
    grid b, i
    guard b < batch and i < seq
    length = wp.min(lengths[b], seq)
    row_max = float(-1.0e4)
    row_sum = float(0.0)
    for j in range(length):
        if is_masked(i, j, length, causal):
            continue
        score = float(0.0)
        for c in range(dim):
            score += q[b, i, c] * k[b, j, c]
        score = score * scale

        # earlier terms are rescaled when the maximum grows
        new_max = wp.max(row_max, score)
        correction = wp.exp(row_max - new_max)
        p = wp.exp(score - new_max)
        row_sum = row_sum * correction + p
        for c in range(dim):
            out[b, i, c] = out[b, i, c] * correction + p * v[b, j, c]
        row_max = new_max

    if row_sum > 0.0:
        dot = float(0.0)
        for c in range(dim):
            value = out[b, i, c] / row_sum
            out[b, i, c] = value
            dot += value * d_out[b, i, c]
        lse[b, i] = row_max + wp.log(row_sum)
        delta[b, i] = dot

@kernel[batch, seq] softmax logsumexp, scatter add, matmul
def attention_backward():
    """Probabilities again from the stored sums; gradients by queries and values."""
    grid b, i
    guard b < batch and i < seq
    length = wp.min(lengths[b], seq)
    norm = lse[b, i]
    row_delta = delta[b, i]
    for j in range(length):
        if is_masked(i, j, length, causal):
            continue
        score = float(0.0)
        dp = float(0.0)
        for c in range(dim):
            score += q[b, i, c] * k[b, j, c]
            dp += d_out[b, i, c] * v[b, j, c]
        p = wp.exp(score * scale - norm)
        ds = p * (dp - row_delta) * scale
        for c in range(dim):
            wp.atomic_add(d_q, b, i, c, ds * k[b, j, c])
            wp.atomic_add(d_v, b, j, c, p * d_out[b, i, c])

def reference():
    """Two passes over all keys: sum of exponentials, then everything else."""
    for b in range(batch):
        for i in range(seq):
            last = min(lengths[b], seq)
            if causal == 1:
                last = min(last, i + 1)
            total = 0.0
            for j in range(last):
                s = 0.0
                for c in range(dim):
                    s = s + scale * q[b, i, c] * k[b, j, c]
                total = total + math.exp(s)
            lse[b, i] = math.log(total)
            for j in range(last):
                s = 0.0
                for c in range(dim):
                    s = s + scale * q[b, i, c] * k[b, j, c]
                for c in range(dim):
                    share = math.exp(s) / total
                    out[b, i, c] = out[b, i, c] + share * v[b, j, c]
                    delta[b, i] = delta[b, i] + share * v[b, j, c] * d_out[b, i, c]
                    d_v[b, j, c] = d_v[b, j, c] + share * d_out[b, i, c]
            for j in range(last):
                s = 0.0
                g = 0.0
                for c in range(dim):
                    s = s + scale * q[b, i, c] * k[b, j, c]
                    g = g + d_out[b, i, c] * v[b, j, c]
                for c in range(dim):
                    change = math.exp(s) / total * (g - delta[b, i])
                    d_q[b, i, c] = d_q[b, i, c] + scale * change * k[b, j, c]

# === forest_inference
# source: traversal of decision trees in arrays with missing values and leaf outputs (Breiman 2001; Chen and Guestrin 2016)
# task: evaluate a forest of decision trees with missing values and categorical splits
# about: Trees lie one after the other in the node arrays. A split is on a number or on one category.
# domain: ml
# weight: 12
# sizes: num_samples = 1 7 71 200; num_trees = 1 3 5 9; num_features = 2 4 6 8; num_nodes = 7 7 7 7
# - features: float[num_samples, num_features] uniform(-1.0, 1.0); features; below -0.9 counts as missing
# - split_kind: int[num_trees, num_nodes] uniform(0, 2); 1 for a category, 0 for a number
# - split_feature: int[num_trees, num_nodes] index(num_features); feature of each split
# - split_value: float[num_trees, num_nodes] uniform(-0.5, 0.5); thresholds
# - split_category: int[num_trees, num_nodes] uniform(0, 4); categories that go to the right
# - default_left: int[num_trees, num_nodes] uniform(0, 2); 1 where missing values go left
# - leaf_value: float[num_trees, num_nodes] uniform(-1.0, 1.0); outputs of nodes
# - tree_weight: float[num_trees] uniform(0.1, 1.0); weights of the trees
# - prediction: float[num_samples] zeros; weighted outputs
# - votes: int[num_samples] zeros; trees with a positive output
# - depth_sum: int[num_samples] zeros; splits on all paths
# - leaf_count: int[num_trees, num_nodes] zeros; samples in each leaf
# - max_depth: int = 2; splits of a path at most
# - num_bins: int = 4; categories of a feature
# - missing: float = -0.9; values below this are missing
@func
def category_of(value: float, count: int) -> int:
    """Category that a feature in [-1, 1] stands for."""
    bin = int((value + 1.0) * 0.5 * float(count))
    return wp.clamp(bin, 0, count - 1)

@func
def goes_left(kind: int, value: float, threshold: float, category: int, count: int) -> bool:
    """Decision of one split."""
    if kind == 0:
        return value < threshold
    return category_of(value, count) != category

@kernel[num_samples] pointer chase or walk, gather, atomic counter
def evaluate_forest():
    """Walk all trees for one sample."""
    tid = wp.tid()
    guard tid < num_samples
    total = float(0.0)
    positive = int(0)
    visited = int(0)
    weight_sum = float(0.0)

    for tree in range(num_trees):
        node = int(0)
        depth = int(0)
        while depth < max_depth and 2 * node + 2 < num_nodes:
            feature = split_feature[tree, node]
            value = features[tid, feature]
            if value < missing:
                left = default_left[tree, node] == 1
            else:
                kind = split_kind[tree, node]
                threshold = split_value[tree, node]
                category = split_category[tree, node]
                left = goes_left(kind, value, threshold, category, num_bins)
            if left:
                node = 2 * node + 1
            else:
                node = 2 * node + 2
            depth += 1

        result = leaf_value[tree, node]
        weight = tree_weight[tree]
        total += weight * result
        weight_sum += weight
        visited += depth
        if result > 0.0:
            positive += 1
        wp.atomic_add(leaf_count, tree, node, 1)

    {{prediction[tid] = total / weight_sum || prediction[tid] = total / wp.max(weight_sum, 1.0e-6)}}
    votes[tid] = positive
    depth_sum[tid] = visited

def reference():
    """Level by level, with the rule of each split as an inequality."""
    for s in range(num_samples):
        norm = 0.0
        for t in range(num_trees):
            at = 0
            for level in range(max_depth):
                x = features[s, split_feature[t, at]]
                right = 0
                if x < missing:
                    right = 1 - default_left[t, at]
                elif split_kind[t, at] == 0:
                    if x >= split_value[t, at]:
                        right = 1
                else:
                    low = 2.0 * float(split_category[t, at]) / float(num_bins) - 1.0
                    if x >= low and (x < low + 2.0 / float(num_bins) or split_category[t, at] == num_bins - 1):
                        right = 1
                at = 2 * at + 1 + right
                depth_sum[s] = depth_sum[s] + 1
            leaf_count[t, at] = leaf_count[t, at] + 1
            if leaf_value[t, at] > 0.0:
                votes[s] = votes[s] + 1
            prediction[s] = prediction[s] + tree_weight[t] * leaf_value[t, at]
            norm = norm + tree_weight[t]
        prediction[s] = prediction[s] / norm

# === layer_norm_backward
# source: layer normalisation with scale and shift, differentiated by hand (Ba, Kiros and Hinton 2016)
# task: normalise rows with a skip connection and compute the gradients by inputs, scale and shift
# about: Rows may be padded. Statistics of the forward pass are stored and used again.
# domain: ml
# weight: 12
# sizes: rows_count = 1 7 71 128; width = 2 4 6 16
# - x: float[rows_count, width] uniform(-1.0, 1.0); inputs
# - gain: float[width] uniform(0.5, 1.5); scale
# - shift: float[width] uniform(-0.5, 0.5); shift
# - residual: float[rows_count, width] uniform(-1.0, 1.0); skip connection
# - valid: int[rows_count] uniform(0, 2); 0 in padded rows
# - d_y: float[rows_count, width] uniform(-1.0, 1.0); gradient by the output
# - y: float[rows_count, width] zeros; outputs
# - mean: float[rows_count] zeros; means of the rows
# - rstd: float[rows_count] zeros; inverse standard deviations
# - d_x: float[rows_count, width] zeros; gradient by the inputs
# - d_gain: float[width] zeros; gradient by the scale
# - d_shift: float[width] zeros; gradient by the shift
# - eps: float = 0.01; added to variances
# - keep: float = 0.5; share of the skip connection
@kernel[rows_count] loop reduction, mask or active filter
def norm_forward():
    """Mean and variance of a row, then scale, shift and skip connection."""
    row = wp.tid()
    guard row < rows_count
    if valid[row] == 0:
        for c in range(width):
            y[row, c] = 0.0
        return
    inv_width = 1.0 / float(width)
    total = float(0.0)
    for c in range(width):
        total += x[row, c] + keep * residual[row, c]
    mu = total * inv_width
    square = float(0.0)
    for c in range(width):
        diff = x[row, c] + keep * residual[row, c] - mu
        square += diff * diff
    inv_std = 1.0 / wp.sqrt(square * inv_width + eps)
    mean[row] = mu
    rstd[row] = inv_std
    for c in range(width):
        z = x[row, c] + keep * residual[row, c]
        y[row, c] = gain[c] * (z - mu) * inv_std + shift[c]

@kernel[rows_count] loop reduction, scatter add
def norm_backward():
    """Gradients of one row; those of scale and shift are added up over the rows."""
    row = wp.tid()
    guard row < rows_count
    if valid[row] == 0:
        return
    mu = mean[row]
    inv_std = rstd[row]
    inv_width = 1.0 / float(width)

    # two sums over the row
    sum_g = float(0.0)
    sum_gz = float(0.0)
    for c in range(width):
        z = (x[row, c] + keep * residual[row, c] - mu) * inv_std
        g = d_y[row, c] * gain[c]
        sum_g += g
        sum_gz += g * z
        wp.atomic_add(d_gain, c, d_y[row, c] * z)
        wp.atomic_add(d_shift, c, d_y[row, c])
    mean_g = sum_g * inv_width
    mean_gz = sum_gz * inv_width

    for c in range(width):
        z = (x[row, c] + keep * residual[row, c] - mu) * inv_std
        g = d_y[row, c] * gain[c]
        d_x[row, c] = (g - mean_g - z * mean_gz) * inv_std

def reference():
    """Variance from the mean of squares; the gradient as a double sum over the Jacobian."""
    for r in range(rows_count):
        if valid[r] != 0:
            first = 0.0
            second = 0.0
            for c in range(width):
                z = x[r, c] + keep * residual[r, c]
                first = first + z / float(width)
                second = second + z * z / float(width)
            s = math.sqrt(second - first * first + eps)
            mean[r] = first
            rstd[r] = 1.0 / s
            for c in range(width):
                zc = x[r, c] + keep * residual[r, c] - first
                y[r, c] = gain[c] * zc / s + shift[c]
                d_gain[c] = d_gain[c] + d_y[r, c] * zc / s
                d_shift[c] = d_shift[c] + d_y[r, c]
                for e in range(width):
                    ze = x[r, e] + keep * residual[r, e] - first
                    j = -1.0 / float(width) - zc * ze / (s * s * float(width))
                    if e == c:
                        j = j + 1.0
                    d_x[r, c] = d_x[r, c] + d_y[r, e] * gain[e] * j / s
