# === softmax_cross_entropy
# source: log-sum-exp trick (Blanchard, Higham and Higham 2021)
# task: compute softmax probabilities and the cross entropy loss of a batch
# domain: ml
# weight: 6
# split: test
# sizes: batch = 1 5 66 64; classes = 2 3 7 10
# - logits: float[batch, classes] uniform(-2.0, 2.0); scores of each class
# - labels: int[batch] index(classes); true classes
# - probs: float[batch, classes] zeros; probabilities
# - loss: float[1] zeros; mean cross entropy
@kernel[batch] softmax logsumexp
def softmax_rows():
    """Softmax of each row, with its maximum taken out."""
    b = wp.tid()
    guard b < batch
    #? top
    top = logits[b, 0]
    for c in range(1, classes):
        top = wp.max(top, logits[b, c])
    #|
    # the maximum keeps exp from overflowing
    top = float(-1.0e10)
    for c in range(classes):
        if logits[b, c] > top:
            top = logits[b, c]
    #.
    s = float(0.0)
    for c in range(classes):
        #? store
        e = wp.exp(logits[b, c] - top)
        probs[b, c] = e
        s += e
        #|
        s += wp.exp(logits[b, c] - top)
        #.
    for c in range(classes):
        #? store
        probs[b, c] = probs[b, c] / s
        #|
        probs[b, c] = wp.exp(logits[b, c] - top) / s
        #.

@kernel[batch] gather
def cross_entropy():
    """Mean of minus the logarithm of the true class."""
    b = wp.tid()
    guard b < batch
    let p = probs[b, labels[b]]
    wp.atomic_add(loss, 0, -wp.log(p) / float(batch))

def reference():
    for b in range(batch):
        s = 0.0
        for c in range(classes):
            s = s + math.exp(logits[b, c])
        for c in range(classes):
            probs[b, c] = math.exp(logits[b, c]) / s
        loss[0] = loss[0] + (math.log(s) - logits[b, labels[b]]) / float(batch)

# === adam_update
# source: Adam (Kingma and Ba 2015), bias-corrected
# task: update parameters with Adam and clip the gradient first
# domain: ml
# weight: 8
# sizes: n = 1 7 71 512
# - weights: float[n] uniform(-1.0, 1.0); parameters
# - grads: float[n] uniform(-2.0, 2.0); gradients
# - moment1: float[n] uniform(-0.1, 0.1); running mean of gradients
# - moment2: float[n] uniform(0.1, 0.2); running mean of squares
# - lr: float = 0.001; learning rate
# - beta1: float = 0.9; decay of the mean
# - beta2: float = 0.999; decay of the squares
# - clip: float = 1.0; largest size of a gradient
# - step: int = 3; number of this update
# - EPS: float = 1.0e-8; keeps the division finite
@kernel[n] select threshold
def clip_gradients():
    """Limit each component of the gradient."""
    i = wp.tid()
    guard i < n
    {{grads[i] = wp.clamp(grads[i], -clip, clip) || grads[i] = wp.min(wp.max(grads[i], -clip), clip)}}

@kernel[n] ema or adam
def adam_step():
    """One step of Adam."""
    i = wp.tid()
    guard i < n
    let g = grads[i]

    # running means
    m = beta1 * moment1[i] + (1.0 - beta1) * g
    v = beta2 * moment2[i] + (1.0 - beta2) * g * g
    moment1[i] = m
    moment2[i] = v

    # bias correction
    let m_hat = m / (1.0 - wp.pow(beta1, float(step)))
    let v_hat = v / (1.0 - wp.pow(beta2, float(step)))
    weights[i] = weights[i] - lr * m_hat / (wp.sqrt(v_hat) + EPS)

def reference():
    c1 = 1.0
    c2 = 1.0
    for k in range(step):
        c1 = c1 * beta1
        c2 = c2 * beta2
    for i in range(n):
        grads[i] = min(max(grads[i], -clip), clip)
        moment1[i] = moment1[i] + (1.0 - beta1) * (grads[i] - moment1[i])
        moment2[i] = moment2[i] + (1.0 - beta2) * (grads[i] * grads[i] - moment2[i])
        weights[i] = weights[i] - lr * (moment1[i] / (1.0 - c1)) / (math.sqrt(moment2[i] / (1.0 - c2)) + EPS)

# === dense_layer
# source: fully connected layer with ReLU-type activations
# task: evaluate a dense layer with a leaky rectifier and its mean squared error
# domain: ml
# weight: 6
# sizes: batch = 1 3 9 32; inputs = 2 4 5 24; units = 1 3 8 16
# - x: float[batch, inputs] uniform(-1.0, 1.0); inputs
# - weights: float[units, inputs] uniform(-0.5, 0.5); weights
# - bias: float[units] uniform(-0.2, 0.2); biases
# - targets: float[batch, units] uniform(-1.0, 1.0); targets
# - y: float[batch, units] zeros; activations
# - loss: float[1] zeros; mean squared error
# - slope: float = 0.01; slope for negative values
@kernel[batch, units] matmul, activation, matvec dot
def dense_forward():
    """y = leaky_relu(W x + b)."""
    grid b, u
    guard b < batch and u < units
    s = bias[u]
    for k in range(inputs):
        s += weights[u, k] * x[b, k]
    #? act
    y[b, u] = wp.where(s > 0.0, s, slope * s)
    #|
    # leaky rectifier
    if s < 0.0:
        s = s * slope
    y[b, u] = s
    #|
    y[b, u] = wp.max(s, slope * s)
    #.

@kernel[batch, units] loss squared error
def squared_error():
    """Mean of the squared differences."""
    grid b, u
    guard b < batch and u < units
    let d = y[b, u] - targets[b, u]
    wp.atomic_add(loss, 0, d * d / float(batch * units))

def reference():
    for b in range(batch):
        for u in range(units):
            s = bias[u]
            for k in range(inputs):
                s = s + x[b, k] * weights[u, k]
            if s < 0.0:
                s = slope * s
            y[b, u] = s
            loss[0] = loss[0] + (s - targets[b, u]) * (s - targets[b, u]) / float(batch * units)

# === layer_norm
# source: layer normalisation (Ba, Kiros and Hinton 2016)
# task: normalise every row to zero mean and unit variance with gain and bias
# domain: ml
# weight: 6
# sizes: rows = 1 5 66 64; features = 3 4 6 32
# - x: float[rows, features] uniform(-1.0, 1.0); inputs
# - gain: float[features] uniform(0.5, 1.5); gain
# - shift: float[features] uniform(-0.5, 0.5); bias
# - mean: float[rows] zeros; mean of each row
# - rstd: float[rows] zeros; inverse standard deviation of each row
# - y: float[rows, features] zeros; normalised rows
# - EPS: float = 1.0e-5; added to the variance
@kernel[rows] index unflatten
def row_statistics():
    """Mean and inverse standard deviation."""
    r = wp.tid()
    guard r < rows
    s = float(0.0)
    for k in range(features):
        s += x[r, k]
    mu = s / float(features)
    var = float(0.0)
    for k in range(features):
        let d = x[r, k] - mu
        var += d * d
    mean[r] = mu
    rstd[r] = 1.0 / wp.sqrt(var / float(features) + EPS)

@kernel[rows, features] elementwise map, matrix or image map, index unflatten
def normalize_rows():
    """Scale and shift."""
    grid r, k
    guard r < rows and k < features
    let xn = (x[r, k] - mean[r]) * rstd[r]
    y[r, k] = gain[k] * xn + shift[k]

def reference():
    for r in range(rows):
        m = 0.0
        q = 0.0
        for k in range(features):
            m = m + x[r, k] / float(features)
            q = q + x[r, k] * x[r, k] / float(features)
        mean[r] = m
        rstd[r] = 1.0 / math.sqrt(q - m * m + EPS)
        for k in range(features):
            y[r, k] = (x[r, k] - m) * rstd[r] * gain[k] + shift[k]

# === attention_head
# source: scaled dot-product attention (Vaswani et al. 2017), causal
# task: evaluate one head of causal self-attention
# domain: ml
# weight: 3
# sizes: tokens = 1 5 17 24; head_dim = 2 3 4 8
# - q: float[tokens, head_dim] uniform(-1.0, 1.0); queries
# - k: float[tokens, head_dim] uniform(-1.0, 1.0); keys
# - v: float[tokens, head_dim] uniform(-1.0, 1.0); values
# - scores: float[tokens, tokens] zeros; attention weights
# - out: float[tokens, head_dim] zeros; mixed values
@kernel[tokens, tokens] matmul, mask or active filter, dot product
def attention_scores():
    """Scaled products of queries and keys; later tokens are hidden."""
    grid i, j
    guard i < tokens and j < tokens
    # causal mask
    require j <= i
    s = float(0.0)
    for d in range(head_dim):
        s += q[i, d] * k[j, d]
    scores[i, j] = s / wp.sqrt(float(head_dim))

@kernel[tokens] softmax logsumexp
def softmax_scores():
    """Softmax over the visible tokens."""
    i = wp.tid()
    guard i < tokens
    top = scores[i, 0]
    for j in range(1, i + 1):
        top = wp.max(top, scores[i, j])
    total = float(0.0)
    for j in range(i + 1):
        e = wp.exp(scores[i, j] - top)
        scores[i, j] = e
        total += e
    for j in range(i + 1):
        scores[i, j] = scores[i, j] / total

@kernel[tokens, head_dim] matmul
def mix_values():
    """Weighted sum of the values."""
    grid i, d
    guard i < tokens and d < head_dim
    s = float(0.0)
    for j in range(i + 1):
        s += scores[i, j] * v[j, d]
    out[i, d] = s

def reference():
    for i in range(tokens):
        total = 0.0
        for j in range(i + 1):
            s = 0.0
            for d in range(head_dim):
                s = s + q[i, d] * k[j, d]
            scores[i, j] = math.exp(s / math.sqrt(float(head_dim)))
            total = total + scores[i, j]
        for j in range(i + 1):
            scores[i, j] = scores[i, j] / total
            for d in range(head_dim):
                out[i, d] = out[i, d] + scores[i, j] * v[j, d]

# === kmeans_step
# source: Lloyd's algorithm (Lloyd 1982)
# task: run one k-means step: assign points and move the centroids
# domain: ml
# weight: 3
# split: test
# sizes: num_points = 2 9 75 400; k = 2 3 4 8
# - points: vec3[num_points] uniform(-1.0, 1.0); data points
# - centroids: vec3[k] uniform(-1.0, 1.0); cluster centres
# - labels: int[num_points] zeros; cluster of each point
# - sums: vec3[k] zeros; sum of the points of each cluster
# - counts: int[k] zeros; points of each cluster
@kernel[num_points] argmin argmax, scatter add
def assign_points():
    """Nearest centroid of each point; sums and counts on the way."""
    i = wp.tid()
    guard i < num_points
    p = points[i]
    best = float(1.0e10)
    arg = int(0)
    for c in range(k):
        d = p - centroids[c]
        let dist = wp.dot(d, d)
        if dist < best:
            best = dist
            arg = c
    labels[i] = arg
    wp.atomic_add(sums, arg, p)
    wp.atomic_add(counts, arg, 1)

@kernel[k] mask or active filter
def move_centroids():
    """Mean of the points of each cluster; empty ones stay."""
    c = wp.tid()
    require counts[c] > 0
    centroids[c] = sums[c] / float(counts[c])

def reference():
    for i in range(num_points):
        for c in range(k):
            a = points[i] - centroids[c]
            b = points[i] - centroids[labels[i]]
            if np.dot(a, a) < np.dot(b, b):
                labels[i] = c
    for c in range(k):
        s = np.zeros(3)
        for i in range(num_points):
            if labels[i] == c:
                counts[c] = counts[c] + 1
                s = s + points[i]
        sums[c] = s
        if counts[c] > 0:
            centroids[c] = s / float(counts[c])

# === embedding_bag
# source: embedding lookup with mean pooling
# task: look up and average word embeddings of sentences
# domain: ml
# weight: 4
# sizes: vocabulary = 3 7 30 200; width = 2 3 4 8; num_words = 2 15 140 800; num_bags = 1 5 40 100
# - table: float[vocabulary, width] uniform(-1.0, 1.0); embeddings
# - words: int[num_words] index(vocabulary); words of all sentences
# - first: int[num_bags + 1] rows(num_words); first word of each sentence
# - pooled: float[num_bags, width] zeros; mean embedding of each sentence
# - usage: int[vocabulary] zeros; how often each word occurs
@kernel[num_bags, width] csr row loop, gather
def pool_embeddings():
    """Mean over the words of a sentence."""
    grid bag, c
    guard bag < num_bags and c < width
    start = first[bag]
    end = first[bag + 1]
    # an empty sentence stays zero
    require end > start
    s = float(0.0)
    for w in range(start, end):
        let word = words[w]
        s += table[word, c]
    pooled[bag, c] = s / float(end - start)

@kernel[num_words] histogram count
def count_usage():
    """Count the occurrences of each word."""
    w = wp.tid()
    guard w < num_words
    wp.atomic_add(usage, words[w], 1)

def reference():
    for w in range(num_words):
        usage[words[w]] = usage[words[w]] + 1
    for bag in range(num_bags):
        for w in range(first[bag], first[bag + 1]):
            for c in range(width):
                pooled[bag, c] = pooled[bag, c] + table[words[w], c] / float(first[bag + 1] - first[bag])
