# === rms_norm
# source: root mean square normalisation (Zhang and Sennrich 2019)
# task: normalise rows by their root mean square, and compute the gradient of the gain for a given output gradient
# domain: ml
# weight: 8
# sizes: rows = 1 5 66 64; features = 3 4 6 32
# - x: float[rows, features] uniform(-1.0, 1.0); inputs
# - gain: float[features] uniform(0.5, 1.5); gain
# - d_out: float[rows, features] uniform(-1.0, 1.0); gradient by the outputs
# - inv_rms: float[rows] zeros; inverse root mean square of each row
# - y: float[rows, features] zeros; normalised rows
# - d_gain: float[features] zeros; gradient by the gain
# - EPS: float = 1.0e-5; added to the mean square
@kernel[rows] loop reduction
def row_scale():
    """Inverse root mean square."""
    r = wp.tid()
    guard r < rows
    s = float(0.0)
    for k in range(features):
        let v = x[r, k]
        s += v * v
    inv_rms[r] = 1.0 / wp.sqrt(s / float(features) + EPS)

@kernel[rows, features] elementwise map, scatter add, matrix or image map
def scale_rows():
    """Output and the part of this element in the gradient."""
    grid r, k
    guard r < rows and k < features
    #? form
    xn = x[r, k] * inv_rms[r]
    y[r, k] = gain[k] * xn
    wp.atomic_add(d_gain, k, d_out[r, k] * xn)
    #|
    let scale = inv_rms[r]
    y[r, k] = x[r, k] * scale * gain[k]
    wp.atomic_add(d_gain, k, d_out[r, k] * x[r, k] * scale)
    #.

def reference():
    for r in range(rows):
        q = EPS
        for k in range(features):
            q = q + x[r, k] ** 2.0 / float(features)
        inv_rms[r] = q**-0.5
        for k in range(features):
            y[r, k] = gain[k] * x[r, k] / math.sqrt(q)
            d_gain[k] = d_gain[k] + d_out[r, k] * x[r, k] / math.sqrt(q)

# === batch_norm_2d
# source: batch normalisation (Ioffe and Szegedy 2015)
# task: normalise the channels of images over a batch with learnt scale and shift, and update the running statistics
# domain: ml
# weight: 9
# sizes: batch = 1 2 4 4; channels = 1 2 3 8; pixels = 4 5 6 64
# - x: float[batch, channels, pixels] uniform(-1.0, 2.0); inputs
# - scale: float[channels] uniform(0.5, 1.5); scale of each channel
# - shift: float[channels] uniform(-0.5, 0.5); shift of each channel
# - run_mean: float[channels] uniform(-0.1, 0.1); running means, updated in place
# - run_var: float[channels] uniform(0.8, 1.2); running variances, updated in place
# - mean: float[channels] zeros; means over the batch
# - var: float[channels] zeros; variances over the batch
# - y: float[batch, channels, pixels] zeros; outputs
# - momentum: float = 0.1; share of the new statistics
# - EPS: float = 1.0e-5; added to the variance
@kernel[channels] loop reduction, ema or adam
def channel_statistics():
    """Mean and variance of one channel, and their running values."""
    c = wp.tid()
    guard c < channels
    count = float(batch * pixels)
    s = float(0.0)
    for b in range(batch):
        for p in range(pixels):
            s += x[b, c, p]
    mu = s / count
    v = float(0.0)
    for b in range(batch):
        for p in range(pixels):
            d = x[b, c, p] - mu
            v += d * d
    v = v / count
    mean[c] = mu
    var[c] = v
    run_mean[c] = {{(1.0 - momentum) * run_mean[c] + momentum * mu || run_mean[c] + momentum * (mu - run_mean[c])}}
    # the running variance is the unbiased one
    unbiased = v * count / (count - 1.0)
    run_var[c] = (1.0 - momentum) * run_var[c] + momentum * unbiased

@kernel[batch, channels, pixels] elementwise map, index unflatten
def normalize_channels():
    """Scale and shift the standardised input."""
    grid b, c, p
    guard b < batch and c < channels and p < pixels
    let inv = 1.0 / wp.sqrt(var[c] + EPS)
    y[b, c, p] = (x[b, c, p] - mean[c]) * inv * scale[c] + shift[c]

def reference():
    for c in range(channels):
        count = float(batch * pixels)
        q = 0.0
        for b in range(batch):
            for p in range(pixels):
                mean[c] = mean[c] + x[b, c, p] / count
                q = q + x[b, c, p] ** 2.0 / count
        var[c] = q - mean[c] ** 2.0
        run_mean[c] = run_mean[c] - momentum * (run_mean[c] - mean[c])
        run_var[c] = run_var[c] - momentum * (run_var[c] - var[c] * count / (count - 1.0))
        a = scale[c] / math.sqrt(var[c] + EPS)
        for b in range(batch):
            for p in range(pixels):
                y[b, c, p] = a * x[b, c, p] + (shift[c] - a * mean[c])

# === rotary_embedding
# source: rotary position embedding (Su et al. 2021)
# task: rotate pairs of query and key features by angles that grow with the position of the token
# about: Features k and k + half make a pair, whose frequency is base^(-k / half).
# domain: ml
# weight: 8
# sizes: tokens = 2 4 9 32; half = 2 2 4 8
# - q: float[tokens, 2 * half] uniform(-1.0, 1.0); queries, rotated in place
# - k: float[tokens, 2 * half] uniform(-1.0, 1.0); keys, rotated in place
# - position: int[tokens] uniform(0, 30); positions of the tokens in their texts
# - agree: float[tokens] zeros; product of the query and key of each token, after the rotation
# - base: float = 50.0; base of the frequencies
@func
def turn(a: float, b: float, angle: float) -> wp.vec2:
    """Rotate a pair."""
    c = wp.cos(angle)
    s = wp.sin(angle)
    return wp.vec2(a * c - b * s, a * s + b * c)

@kernel[tokens, half] in place update, index unflatten, gather
def rotate_pairs():
    """Rotate one pair of the query and one of the key."""
    grid t, p
    guard t < tokens and p < half
    angle = float(position[t]) * wp.pow(base, -float(p) / float(half))
    #? pair
    new_q = turn(q[t, p], q[t, p + half], angle)
    q[t, p] = new_q[0]
    q[t, p + half] = new_q[1]
    new_k = turn(k[t, p], k[t, p + half], angle)
    k[t, p] = new_k[0]
    k[t, p + half] = new_k[1]
    #|
    # both pairs turn by the same angle
    let first = turn(q[t, p], q[t, p + half], angle)
    let second = turn(k[t, p], k[t, p + half], angle)
    q[t, p] = first[0]
    k[t, p] = second[0]
    q[t, p + half] = first[1]
    k[t, p + half] = second[1]
    #.

@kernel[tokens] dot product, loop reduction
def self_products():
    """Product of query and key of one token."""
    t = wp.tid()
    guard t < tokens
    s = float(0.0)
    for d in range(2 * half):
        s += q[t, d] * k[t, d]
    agree[t] = s

def reference():
    """The product of a token with itself does not see the rotation."""
    for t in range(tokens):
        for p in range(half):
            a = q[t, p]
            b = q[t, p + half]
            c = k[t, p]
            d = k[t, p + half]
            agree[t] = agree[t] + a * c + b * d
            w = math.exp(-float(p) / float(half) * math.log(base)) * float(position[t])
            q[t, p] = math.cos(w) * a - math.sin(w) * b
            q[t, p + half] = math.cos(w) * b + math.sin(w) * a
            k[t, p] = math.cos(w) * c - math.sin(w) * d
            k[t, p + half] = math.cos(w) * d + math.sin(w) * c

# === gru_cell
# source: gated recurrent units (Cho et al. 2014)
# task: run one step of a gated recurrent unit for a batch with masks of finished sequences
# domain: ml
# weight: 6
# sizes: batch = 1 3 9 32; inputs = 2 3 4 16; units = 1 3 8 16
# - x: float[batch, inputs] uniform(-1.0, 1.0); inputs of this step
# - h: float[batch, units] uniform(-1.0, 1.0); states before the step
# - w: float[3 * units, inputs] uniform(-0.5, 0.5); weights of the inputs: reset, update and candidate gates
# - u: float[3 * units, units] uniform(-0.5, 0.5); weights of the states: reset, update and candidate gates
# - bias: float[3 * units] uniform(-0.2, 0.2); biases: reset, update and candidate gates
# - running: int[batch] uniform(0, 2); 1 for sequences that are not finished
# - gates: float[batch, 2 * units] zeros; reset gates, then update gates
# - h_new: float[batch, units] zeros; states after the step
@func
def sigmoid(x: float) -> float:
    """Logistic function."""
    return 1.0 / (1.0 + wp.exp(-x))

@kernel[batch, 2 * units] matmul, activation
def gate_values():
    """Reset and update gates."""
    b, g = wp.tid()
    s = bias[g]
    for i in range(inputs):
        s += w[g, i] * x[b, i]
    for j in range(units):
        s += u[g, j] * h[b, j]
    gates[b, g] = sigmoid(s)

@kernel[batch, units] matmul, activation, mask or active filter
def next_state():
    """Mix the old state with the candidate."""
    grid b, j
    guard b < batch and j < units
    # a finished sequence keeps its state
    if running[b] == 0:
        h_new[b, j] = h[b, j]
        return
    row = 2 * units + j
    s = bias[row]
    for i in range(inputs):
        s += w[row, i] * x[b, i]
    past = float(0.0)
    for i in range(units):
        past += u[row, i] * gates[b, i] * h[b, i]
    candidate = wp.tanh(s + past)
    z = gates[b, units + j]
    h_new[b, j] = {{z * h[b, j] + (1.0 - z) * candidate || candidate + z * (h[b, j] - candidate)}}

def reference():
    for b in range(batch):
        for g in range(2 * units):
            a = bias[g]
            for i in range(inputs):
                a = a + x[b, i] * w[g, i]
            for i in range(units):
                a = a + h[b, i] * u[g, i]
            gates[b, g] = 0.5 + 0.5 * math.tanh(0.5 * a)
        for j in range(units):
            a = bias[2 * units + j]
            for i in range(inputs):
                a = a + x[b, i] * w[2 * units + j, i]
            for i in range(units):
                a = a + gates[b, i] * h[b, i] * u[2 * units + j, i]
            e = math.exp(-2.0 * a)
            z = gates[b, units + j]
            h_new[b, j] = h[b, j]
            if running[b] == 1:
                h_new[b, j] = h[b, j] + (1.0 - z) * ((1.0 - e) / (1.0 + e) - h[b, j])

# === paged_attention
# source: attention over a cache in pages (Kwon et al. 2023), online softmax (Milakov and Gimelshein 2018)
# task: attend with one query per sequence over keys and values that lie in pages of a cache, found through a block table
# about: A page has four tokens. Sequences have different lengths; the last page may be filled in part.
# domain: ml
# weight: 10
# sizes: num_sequences = 1 3 9 16; num_pages = 3 6 12 64; max_pages = 2 2 3 8; dim = 2 3 4 16
# - query: float[num_sequences, dim] uniform(-1.0, 1.0); queries
# - key_cache: float[num_pages, 4, dim] uniform(-1.0, 1.0); keys by page and place
# - value_cache: float[num_pages, 4, dim] uniform(-1.0, 1.0); values by page and place
# - block_table: int[num_sequences, max_pages] index(num_pages); pages of each sequence in order
# - lengths: int[num_sequences] uniform(1, 9); tokens of each sequence
# - out: float[num_sequences, dim] zeros; mixed values
# - log_sum: float[num_sequences] zeros; logarithms of the sums of exponentials
# - PAGE: int = 4; tokens of a page
@kernel[num_sequences] softmax logsumexp, gather, pointer chase or walk
def attend():
    """One pass over the tokens with a running maximum."""
    q = wp.tid()
    guard q < num_sequences
    scale = 1.0 / wp.sqrt(float(dim))
    top = float(-1.0e10)
    total = float(0.0)
    for t in range(lengths[q]):
        page = block_table[q, t // PAGE]
        place = t % PAGE
        score = float(0.0)
        for c in range(dim):
            score += query[q, c] * key_cache[page, place, c]
        score = score * scale
        #? online
        new_top = wp.max(top, score)
        shrink = wp.exp(top - new_top)
        weight = wp.exp(score - new_top)
        #|
        new_top = top
        shrink = float(1.0)
        if score > top:
            # what was added before counts less now
            new_top = score
            shrink = wp.exp(top - score)
        weight = wp.exp(score - new_top)
        #.
        total = total * shrink + weight
        for c in range(dim):
            out[q, c] = out[q, c] * shrink + weight * value_cache[page, place, c]
        top = new_top
    for c in range(dim):
        out[q, c] = out[q, c] / total
    log_sum[q] = top + wp.log(total)

def reference():
    for q in range(num_sequences):
        total = 0.0
        for t in range(lengths[q]):
            page = block_table[q, t // 4]
            s = 0.0
            for c in range(dim):
                s = s + query[q, c] * key_cache[page, t % 4, c] / math.sqrt(float(dim))
            total = total + math.exp(s)
            for c in range(dim):
                out[q, c] = out[q, c] + math.exp(s) * value_cache[page, t % 4, c]
        for c in range(dim):
            out[q, c] = out[q, c] / total
        log_sum[q] = math.log(total)

# === expert_routing
# source: top-2 gating of mixtures of experts with capacities (Shazeer et al. 2017; Lepikhin et al. 2021)
# task: route each token to its two best experts, weigh them with a softmax, and count the load of the experts
# about: Of equal scores the expert with the smaller number counts.
# domain: ml
# weight: 6
# sizes: num_tokens = 1 7 71 200; num_experts = 3 3 5 8
# - scores: float[num_tokens, num_experts] uniform(-2.0, 2.0); scores of the experts
# - expert: int[num_tokens, 2] zeros; best and second best expert
# - gate: float[num_tokens, 2] zeros; weights of the best and second best expert
# - load: int[num_experts] zeros; tokens that each expert gets
# - importance: float[num_experts] zeros; sums of the weights of each expert
# - overflow: int[num_experts] zeros; tokens above the capacity
# - capacity: int = 2; tokens that an expert can take
@kernel[num_tokens] argmin argmax, softmax logsumexp, scatter add
def route_tokens():
    """Two largest scores of one token."""
    t = wp.tid()
    guard t < num_tokens
    first = int(0)
    for e in range(1, num_experts):
        if scores[t, e] > scores[t, first]:
            first = e
    second = int(-1)
    for e in range(num_experts):
        if e != first:
            #? second
            if second < 0:
                second = e
            elif scores[t, e] > scores[t, second]:
                second = e
            #|
            better = second < 0
            if second >= 0:
                better = scores[t, e] > scores[t, second]
            if better:
                second = e
            #.
    # softmax of two numbers
    share = 1.0 / (1.0 + wp.exp(scores[t, second] - scores[t, first]))
    expert[t, 0] = first
    expert[t, 1] = second
    gate[t, 0] = share
    gate[t, 1] = 1.0 - share
    wp.atomic_add(load, first, 1)
    wp.atomic_add(load, second, 1)
    wp.atomic_add(importance, first, share)
    wp.atomic_add(importance, second, 1.0 - share)

@kernel[num_experts] select threshold
def count_overflow():
    """What is above the capacity."""
    e = wp.tid()
    guard e < num_experts
    {{overflow[e] = wp.max(load[e] - capacity, 0) || overflow[e] = wp.where(load[e] > capacity, load[e] - capacity, 0)}}

def reference():
    """An expert is chosen if at most one is better."""
    for t in range(num_tokens):
        for e in range(num_experts):
            rank = 0
            for f in range(num_experts):
                if scores[t, f] > scores[t, e] or (scores[t, f] == scores[t, e] and f < e):
                    rank = rank + 1
            if rank < 2:
                expert[t, rank] = e
                load[e] = load[e] + 1
        a = math.exp(scores[t, expert[t, 0]])
        b = math.exp(scores[t, expert[t, 1]])
        gate[t, 0] = a / (a + b)
        gate[t, 1] = b / (a + b)
        for r in range(2):
            importance[expert[t, r]] = importance[expert[t, r]] + gate[t, r]
    for e in range(num_experts):
        if load[e] > capacity:
            overflow[e] = load[e] - capacity

# === contrastive_loss
# source: contrastive learning with in-batch negatives (van den Oord, Li and Vinyals 2018)
# task: compute the contrastive loss of pairs of embeddings and how many pairs are ranked first
# domain: ml
# weight: 5
# sizes: batch = 2 4 9 32; dim = 2 3 4 16
# - anchors: float[batch, dim] uniform(-1.0, 1.0); embeddings
# - others: float[batch, dim] uniform(-1.0, 1.0); embeddings of the partners, row by row
# - similarity: float[batch, batch] zeros; products, divided by the temperature
# - loss: float[1] zeros; mean of minus the logarithms of the partners' probabilities
# - correct: int[1] zeros; rows in which no other partner is nearer
# - temperature: float = 0.5; divisor of the products
@kernel[batch, batch] matmul, dot product
def similarities():
    """All pairs."""
    grid i, j
    guard i < batch and j < batch
    s = float(0.0)
    for c in range(dim):
        s += anchors[i, c] * others[j, c]
    similarity[i, j] = s / temperature

@kernel[batch] softmax logsumexp, atomic reduction, argmin argmax
def row_losses():
    """Log-sum-exp of a row, less the own partner."""
    i = wp.tid()
    guard i < batch
    #? top
    top = similarity[i, 0]
    for j in range(1, batch):
        top = wp.max(top, similarity[i, j])
    #|
    top = similarity[i, i]
    for j in range(batch):
        if similarity[i, j] > top:
            top = similarity[i, j]
    #.
    total = float(0.0)
    for j in range(batch):
        total += wp.exp(similarity[i, j] - top)
    wp.atomic_add(loss, 0, (top + wp.log(total) - similarity[i, i]) / float(batch))
    if similarity[i, i] >= top:
        wp.atomic_add(correct, 0, 1)

def reference():
    for i in range(batch):
        total = 0.0
        beaten = 0
        for j in range(batch):
            for c in range(dim):
                similarity[i, j] = similarity[i, j] + anchors[i, c] * others[j, c] / temperature
            total = total + math.exp(similarity[i, j])
        for j in range(batch):
            if similarity[i, j] > similarity[i, i]:
                beaten = 1
        loss[0] = loss[0] - math.log(math.exp(similarity[i, i]) / total) / float(batch)
        correct[0] = correct[0] + 1 - beaten

# === triplet_margin
# source: triplet loss with margin (Schroff, Kalenichenko and Philbin 2015)
# task: evaluate the triplet loss of listed triplets of embeddings and scatter its gradient
# domain: ml
# weight: 4
# split: test
# sizes: num_triplets = 1 7 71 200; num_items = 3 5 12 60
# - embeddings: vec3[num_items] uniform(-1.0, 1.0); embeddings
# - triplets: vec3i[num_triplets] index(num_items); anchor, positive and negative item of each triplet
# - losses: float[num_triplets] zeros; loss of each triplet
# - d_embeddings: vec3[num_items] zeros; gradient by the embeddings
# - num_active: int[1] zeros; triplets with a loss
# - margin: float = 0.4; how much farther the negative item has to be
@kernel[num_triplets] gather, mask or active filter
def triplet_losses():
    """Squared distances with a margin."""
    t = wp.tid()
    guard t < num_triplets
    let a = embeddings[triplets[t][0]]
    let to_p = a - embeddings[triplets[t][1]]
    let to_n = a - embeddings[triplets[t][2]]
    losses[t] = wp.max(wp.dot(to_p, to_p) - wp.dot(to_n, to_n) + margin, 0.0)

@kernel[num_triplets] scatter add, gather, mask or active filter
def triplet_gradients():
    """Gradient of the triplets that have a loss."""
    t = wp.tid()
    guard t < num_triplets
    require losses[t] > 0.0
    i = triplets[t][0]
    p = triplets[t][1]
    n = triplets[t][2]
    #? form
    wp.atomic_add(d_embeddings, i, 2.0 * (embeddings[n] - embeddings[p]))
    wp.atomic_add(d_embeddings, p, 2.0 * (embeddings[p] - embeddings[i]))
    wp.atomic_add(d_embeddings, n, 2.0 * (embeddings[i] - embeddings[n]))
    #|
    let pull = 2.0 * (embeddings[i] - embeddings[p])
    let push = 2.0 * (embeddings[i] - embeddings[n])
    wp.atomic_add(d_embeddings, i, pull - push)
    wp.atomic_sub(d_embeddings, p, pull)
    wp.atomic_add(d_embeddings, n, push)
    #.
    wp.atomic_add(num_active, 0, 1)

def reference():
    for t in range(num_triplets):
        i = triplets[t][0]
        p = triplets[t][1]
        n = triplets[t][2]
        near = np.linalg.norm(embeddings[i] - embeddings[p])
        far = np.linalg.norm(embeddings[i] - embeddings[n])
        loss = near * near - far * far + margin
        if loss > 0.0:
            losses[t] = loss
            num_active[0] = num_active[0] + 1
            d_embeddings[i] = d_embeddings[i] + (embeddings[n] - embeddings[p]) * 2.0
            d_embeddings[p] = d_embeddings[p] - (embeddings[i] - embeddings[p]) * 2.0
            d_embeddings[n] = d_embeddings[n] + (embeddings[i] - embeddings[n]) * 2.0

# === int8_matmul
# source: products of integers with scales by row and column (Dettmers et al. 2022)
# task: quantise the rows of a matrix to eight bits and multiply it with a quantised weight matrix
# about: Rounding is to the nearest integer, halves away from zero.
# domain: ml
# weight: 6
# sizes: num_rows = 1 5 18 32; num_cols = 1 3 4 24; depth = 3 4 5 32
# - x: float[num_rows, depth] uniform(-1.0, 1.0); inputs
# - weights: int[num_cols, depth] uniform(-127, 128); weights in eight bits
# - weight_scale: float[num_cols] uniform(0.01, 0.02); scales of the weights
# - codes: int[num_rows, depth] zeros; inputs in eight bits
# - x_scale: float[num_rows] zeros; scales of the inputs
# - out: float[num_rows, num_cols] zeros; the product
@kernel[num_rows] loop reduction, atomic min max
def quantize_rows():
    """The largest entry of a row becomes 127."""
    row = wp.tid()
    guard row < num_rows
    largest = float(1.0e-6)
    for k in range(depth):
        largest = wp.max(largest, wp.abs(x[row, k]))
    scale = largest / 127.0
    x_scale[row] = scale
    for k in range(depth):
        #? round
        codes[row, k] = int(wp.round(x[row, k] / scale))
        #|
        let v = x[row, k] / scale
        codes[row, k] = int(wp.where(v < 0.0, v - 0.5, v + 0.5))
        #.

@kernel[num_rows, num_cols] matmul, dot product
def multiply_codes():
    """Sum of integer products, scaled at the end."""
    grid row, col
    guard row < num_rows and col < num_cols
    acc = int(0)
    for k in range(depth):
        acc += codes[row, k] * weights[col, k]
    out[row, col] = float(acc) * x_scale[row] * weight_scale[col]

def reference():
    for r in range(num_rows):
        top = 1.0e-6
        for k in range(depth):
            top = max(top, max(x[r, k], -x[r, k]))
        x_scale[r] = top / 127.0
        for k in range(depth):
            v = abs(x[r, k]) / x_scale[r]
            codes[r, k] = int(math.floor(v + 0.5))
            if x[r, k] < 0.0:
                codes[r, k] = -codes[r, k]
        for c in range(num_cols):
            for k in range(depth):
                out[r, c] = out[r, c] + x_scale[r] * float(codes[r, k]) * weight_scale[c] * float(weights[c, k])

# === nucleus_sampling
# source: top-p sampling (Holtzman et al. 2020)
# task: draw a token from the smallest set of most likely ones whose probabilities reach a threshold
# about: The set is walked in the order of probabilities; of equal ones the smaller token comes first. The draw is given.
# domain: ml
# weight: 4
# split: test
# sizes: batch = 1 5 66 60; vocab = 4 5 6 16
# - logits: float[batch, vocab] uniform(-2.0, 2.0); scores of the tokens
# - draw: float[batch] uniform(0.0, 1.0); uniform number of each row
# - probs: float[batch, vocab] zeros; probabilities
# - kept: int[batch] zeros; tokens in the set
# - token: int[batch] zeros; drawn tokens
# - top_p: float = 0.75; probability that the set has to reach
@kernel[batch] softmax logsumexp
def softmax_rows():
    """Probabilities of one row."""
    b = wp.tid()
    guard b < batch
    top = logits[b, 0]
    for c in range(1, vocab):
        top = wp.max(top, logits[b, c])
    s = float(0.0)
    for c in range(vocab):
        s += wp.exp(logits[b, c] - top)
    for c in range(vocab):
        probs[b, c] = wp.exp(logits[b, c] - top) / s

@func
def comes_before(p: float, token: int, q: float, other: int) -> bool:
    """Order by probability, then by number."""
    return p > q or (p == q and token < other)

@kernel[batch] sort or swap, random sampling
def draw_tokens():
    """Find the set, then the place of the draw in it."""
    b = wp.tid()
    guard b < batch
    mass = float(0.0)
    count = int(0)
    for c in range(vocab):
        before = float(0.0)
        for d in range(vocab):
            if comes_before(probs[b, d], d, probs[b, c], c):
                before += probs[b, d]
        # in the set if those before it do not reach the threshold
        if before < top_p:
            mass += probs[b, c]
            count += 1
    kept[b] = count
    for c in range(vocab):
        before = float(0.0)
        for d in range(vocab):
            if comes_before(probs[b, d], d, probs[b, c], c):
                before += probs[b, d]
        let u = draw[b] * mass
        if before <= u and u < before + probs[b, c]:
            token[b] = c

def reference():
    """Take out the most likely token again and again."""
    for b in range(batch):
        s = 0.0
        for c in range(vocab):
            s = s + math.exp(logits[b, c])
        for c in range(vocab):
            probs[b, c] = math.exp(logits[b, c]) / s
        reached = 0.0
        last = 2.0
        for again in range(2):
            run = 0.0
            last = 2.0
            arg = -1
            for r in range(vocab):
                top = -1.0
                best = -1
                for c in range(vocab):
                    if (probs[b, c] < last or (probs[b, c] == last and c > arg)) and probs[b, c] > top:
                        top = probs[b, c]
                        best = c
                if again == 0 and run < top_p:
                    kept[b] = kept[b] + 1
                    reached = reached + top
                if again == 1 and r < kept[b] and draw[b] * reached >= run:
                    token[b] = best
                run = run + top
                last = top
                arg = best

# === lion_update
# source: sign momentum (Chen et al. 2023) with clipping by the global norm (Pascanu, Mikolov and Bengio 2013)
# task: update parameters by the sign of a momentum, with weight decay and with gradients clipped to a global norm
# domain: ml
# weight: 5
# sizes: n = 1 7 71 512
# - weights: float[n] uniform(-1.0, 1.0); parameters, updated in place
# - grads: float[n] uniform(-1.0, 1.0); gradients
# - momentum: float[n] uniform(-0.3, 0.3); running means of the gradients, updated in place
# - frozen: int[n] uniform(0, 2); 1 for parameters that stay
# - norm_sq: float[1] zeros; squared norm of the gradients
# - lr: float = 0.01; learning rate
# - beta1: float = 0.9; weight of the momentum in the direction
# - beta2: float = 0.99; decay of the momentum
# - decay: float = 0.1; weight decay
# - max_norm: float = 1.5; largest norm of the gradients
@kernel[n] atomic reduction, dot product
def gradient_norm():
    """Add up the squares."""
    i = wp.tid()
    guard i < n
    let g = grads[i]
    wp.atomic_add(norm_sq, 0, g * g)

@kernel[n] ema or adam, in place update, mask or active filter
def lion_step():
    """One step along the sign."""
    i = wp.tid()
    guard i < n
    # frozen parameters have no momentum either
    require frozen[i] == 0
    norm = wp.sqrt(norm_sq[0])
    #? clip
    g = grads[i]
    if norm > max_norm:
        g = g * max_norm / norm
    #|
    let factor = wp.min(1.0, max_norm / norm)
    g = grads[i] * factor
    #.
    direction = beta1 * momentum[i] + (1.0 - beta1) * g
    step = decay * weights[i]
    if direction > 0.0:
        step += 1.0
    elif direction < 0.0:
        step -= 1.0
    weights[i] = weights[i] - lr * step
    momentum[i] = beta2 * momentum[i] + (1.0 - beta2) * g

def reference():
    total = 0.0
    for i in range(n):
        total = total + grads[i] ** 2.0
    norm_sq[0] = total
    shrink = 1.0
    if total > max_norm * max_norm:
        shrink = max_norm / math.sqrt(total)
    for i in range(n):
        if frozen[i] != 1:
            g = shrink * grads[i]
            towards = g + beta1 * (momentum[i] - g)
            weights[i] = weights[i] * (1.0 - lr * decay) - lr * towards / abs(towards)
            momentum[i] = g + beta2 * (momentum[i] - g)
