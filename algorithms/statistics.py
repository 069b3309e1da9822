# === group_variance
# source: running mean and variance (Welford 1962)
# task: compute the mean and variance of groups of samples in one pass and standardise the samples
# about: Groups lie one after the other. The variance is that of the population; groups of one sample have none, and their samples become 0.
# domain: generic
# weight: 10
# sizes: num_groups = 1 5 66 100; total = 3 20 300 2000
# - offsets: int[num_groups + 1] rows(total); first sample of each group
# - samples: float[total] uniform(-1.0, 3.0); samples
# - mean: float[num_groups] zeros; means
# - variance: float[num_groups] zeros; variances
# - standard: float[total] zeros; samples less their mean, in standard deviations
# - EPS: float = 1.0e-6; smaller variances count as none
@kernel[num_groups] csr row loop, loop reduction
def running_moments():
    """Update mean and squared deviations sample by sample."""
    g = wp.tid()
    guard g < num_groups
    count = float(0.0)
    m = float(0.0)
    m2 = float(0.0)
    for k in range(offsets[g], offsets[g + 1]):
        count += 1.0
        delta = samples[k] - m
        m += delta / count
        {{m2 += delta * (samples[k] - m) || m2 = m2 + delta * (samples[k] - m)}}
    mean[g] = m
    if count > 1.0:
        variance[g] = m2 / count

@kernel[num_groups] csr row loop
def standardize():
    """Subtract the mean and divide by the deviation."""
    g = wp.tid()
    guard g < num_groups
    #? test
    require variance[g] > EPS
    let inv = 1.0 / wp.sqrt(variance[g])
    for k in range(offsets[g], offsets[g + 1]):
        standard[k] = (samples[k] - mean[g]) * inv
    #|
    let deviation = wp.sqrt(variance[g])
    for k in range(offsets[g], offsets[g + 1]):
        if variance[g] > EPS:
            standard[k] = (samples[k] - mean[g]) / deviation
    #.

def reference():
    """Two passes."""
    for g in range(num_groups):
        count = offsets[g + 1] - offsets[g]
        for k in range(offsets[g], offsets[g + 1]):
            mean[g] = mean[g] + samples[k] / float(count)
        for k in range(offsets[g], offsets[g + 1]):
            variance[g] = variance[g] + (samples[k] - mean[g]) * (samples[k] - mean[g]) / float(count)
        for k in range(offsets[g], offsets[g + 1]):
            if variance[g] > EPS:
                standard[k] = (samples[k] - mean[g]) / math.sqrt(variance[g])

# === covariance_matrix
# source: sample covariance and correlation (Pearson 1895)
# task: compute the mean, the covariance matrix and the correlation matrix of samples with several features
# domain: generic
# weight: 8
# sizes: num_samples = 2 7 71 300; num_features = 2 3 4 6
# - samples: float[num_samples, num_features] uniform(-1.0, 1.0); samples
# - mean: float[num_features] zeros; means of the features
# - covariance: float[num_features, num_features] zeros; covariances, divided by one less than the samples
# - correlation: float[num_features, num_features] zeros; covariances divided by both deviations
@kernel[num_samples, num_features] atomic reduction, index unflatten
def feature_means():
    """Each sample adds its part."""
    grid s, f
    guard s < num_samples and f < num_features
    wp.atomic_add(mean, f, samples[s, f] / float(num_samples))

@kernel[num_features, num_features] outer or skew assembly, loop reduction
def covariances():
    """Sum of products of deviations."""
    grid a, b
    guard a < num_features and b < num_features
    # the lower half is the mirror of the upper one
    require a <= b
    c = float(0.0)
    for k in range(num_samples):
        {{c += (samples[k, a] - mean[a]) * (samples[k, b] - mean[b]) || c = c + (samples[k, a] - mean[a]) * (samples[k, b] - mean[b])}}
    c = c / float(num_samples - 1)
    covariance[a, b] = c
    #? mirror
    covariance[b, a] = c
    #|
    if b > a:
        covariance[b, a] = c
    #.

@kernel[num_features, num_features] elementwise map, matrix or image map
def correlations():
    """Normalise by the diagonal."""
    grid a, b
    guard a < num_features and b < num_features
    correlation[a, b] = covariance[a, b] / wp.sqrt(covariance[a, a] * covariance[b, b])

def reference():
    """Through raw second moments."""
    for a in range(num_features):
        for s in range(num_samples):
            mean[a] = mean[a] + samples[s, a]
        mean[a] = mean[a] / float(num_samples)
    for a in range(num_features):
        for b in range(num_features):
            raw = 0.0
            for s in range(num_samples):
                raw = raw + samples[s, a] * samples[s, b]
            covariance[a, b] = (raw - float(num_samples) * mean[a] * mean[b]) / float(num_samples - 1)
    for a in range(num_features):
        for b in range(num_features):
            correlation[a, b] = covariance[a, b] / math.sqrt(covariance[a, a]) / math.sqrt(covariance[b, b])

# === spearman_ranks
# source: rank correlation with mean ranks of ties (Spearman 1904)
# task: replace two variables by their ranks, with mean ranks for ties, and add up the squared rank differences
# domain: generic
# weight: 5
# sizes: n = 2 7 71 300
# - x: int[n] uniform(0, 20); first variable
# - y: int[n] uniform(0, 20); second variable
# - rank_x: float[n] zeros; ranks of the first variable, from 1
# - rank_y: float[n] zeros; ranks of the second variable, from 1
# - square_sum: float[1] zeros; sum of squared differences of ranks
@func
def mean_rank(values: wp.array(dtype=int), count: int, own: int) -> float:
    """Smaller values come before; equal ones share their ranks."""
    below = int(0)
    equal = int(0)
    for k in range(count):
        if values[k] < own:
            below += 1
        #? tie
        elif values[k] == own:
            equal += 1
        #|
        if values[k] == own:
            equal += 1
        #.
    return float(below) + 0.5 * float(equal + 1)

@kernel[n] sort or swap, loop reduction
def rank_both():
    """Ranks by counting."""
    i = wp.tid()
    guard i < n
    rank_x[i] = mean_rank(x, n, x[i])
    rank_y[i] = mean_rank(y, n, y[i])

@kernel[n] atomic reduction, loss squared error
def square_differences():
    """Squared difference of both ranks."""
    i = wp.tid()
    guard i < n
    let d = rank_x[i] - rank_y[i]
    wp.atomic_add(square_sum, 0, d * d)

def reference():
    """Every pair moves the larger one up by one, and equal ones by a half."""
    for i in range(n):
        rank_x[i] = 1.0
        rank_y[i] = 1.0
        for k in range(n):
            if k != i and x[k] <= x[i]:
                rank_x[i] = rank_x[i] + 0.5
                if x[k] < x[i]:
                    rank_x[i] = rank_x[i] + 0.5
            if k != i and y[k] <= y[i]:
                rank_y[i] = rank_y[i] + 0.5
                if y[k] < y[i]:
                    rank_y[i] = rank_y[i] + 0.5
        square_sum[0] = square_sum[0] + (rank_x[i] - rank_y[i]) ** 2.0

# === kernel_density
# source: kernel density estimation (Epanechnikov 1969; Silverman 1986)
# task: estimate a density at query points from weighted samples with the Epanechnikov kernel
# domain: generic
# weight: 5
# sizes: num_queries = 1 7 71 200; num_samples = 3 9 20 300
# - queries: float[num_queries] uniform(0.0, 1.0); points where the density is wanted
# - samples: float[num_samples] uniform(0.0, 1.0); samples
# - weights: float[num_samples] uniform(0.5, 1.5); weights of the samples
# - density: float[num_queries] zeros; densities
# - support: int[num_queries] zeros; samples that count for each query
# - bandwidth: float = 0.3; samples farther away do not count
@kernel[num_queries] kernel window gather, distance threshold
def estimate():
    """Sum of parabolas around the samples, divided by all weights."""
    q = wp.tid()
    guard q < num_queries
    total = float(0.0)
    norm = float(0.0)
    count = int(0)
    for k in range(num_samples):
        u = (queries[q] - samples[k]) / bandwidth
        norm += weights[k]
        #? near
        if wp.abs(u) < 1.0:
            total += weights[k] * 0.75 * (1.0 - u * u)
            count += 1
        #|
        # outside of the kernel
        if u <= -1.0 or u >= 1.0:
            continue
        total += 0.75 * weights[k] * (1.0 - u * u)
        count += 1
        #.
    density[q] = total / (norm * bandwidth)
    support[q] = count

def reference():
    norm = 0.0
    for k in range(num_samples):
        norm = norm + weights[k]
    for k in range(num_samples):
        for q in range(num_queries):
            d = abs(queries[q] - samples[k])
            if d < bandwidth:
                share = weights[k] / norm
                density[q] = density[q] + share * 0.75 * (bandwidth * bandwidth - d * d) / bandwidth**3.0
                support[q] = support[q] + 1

# === bootstrap_means
# source: the bootstrap (Efron 1979)
# task: compute the means of resampled data sets from given draws, and count how often they are above a value
# domain: generic
# weight: 6
# sizes: num_resamples = 1 7 71 200; num_draws = 2 4 9 50; n = 3 5 12 60
# - values: float[n] uniform(-1.0, 1.0); observed values
# - draws: int[num_resamples, num_draws] index(n); which value each draw takes
# - mean: float[num_resamples] zeros; mean of each resample
# - used: int[n] zeros; how often each value was drawn
# - above: int[1] zeros; resamples whose mean is above the level
# - level: float = 0.05; value that means are compared with
@kernel[num_resamples] gather, loop reduction, atomic counter
def resample():
    """Average the drawn values."""
    r = wp.tid()
    guard r < num_resamples
    s = float(0.0)
    for k in range(num_draws):
        let drawn = draws[r, k]
        s += values[drawn]
    {{mean[r] = s / float(num_draws) || mean[r] = s * (1.0 / float(num_draws))}}
    if mean[r] > level:
        wp.atomic_add(above, 0, 1)

@kernel[num_resamples, num_draws] histogram count, gather
def count_draws():
    """How often each value was taken."""
    grid r, k
    guard r < num_resamples and k < num_draws
    wp.atomic_add(used, draws[r, k], 1)

def reference():
    """Weigh each value with the number of its draws."""
    for r in range(num_resamples):
        for i in range(n):
            times = 0
            for k in range(num_draws):
                if draws[r, k] == i:
                    times = times + 1
            used[i] = used[i] + times
            mean[r] = mean[r] + values[i] * float(times) / float(num_draws)
        if mean[r] > level:
            above[0] = above[0] + 1

# === viterbi_paths
# source: most likely paths of hidden Markov models (Viterbi 1967; Rabiner 1989)
# task: find the most likely state sequence of each observation sequence with the Viterbi algorithm
# about: Probabilities are logarithms. Of equally good predecessors the smaller state is taken.
# domain: generic
# weight: 10
# sizes: num_sequences = 1 5 66 60; num_steps = 2 4 5 20; num_states = 2 3 4 5; num_symbols = 2 3 4 6
# - observed: int[num_sequences, num_steps] index(num_symbols); observed symbols
# - log_start: float[num_states] uniform(-2.0, 0.0); logarithms of the start probabilities
# - log_move: float[num_states, num_states] uniform(-3.0, 0.0); logarithms of the transition probabilities
# - log_emit: float[num_states, num_symbols] uniform(-3.0, 0.0); logarithms of the emission probabilities
# - score: float[num_sequences, num_steps, num_states] zeros; best logarithm of a path that ends so
# - back: int[num_sequences, num_steps, num_states] zeros; best predecessor
# - path: int[num_sequences, num_steps] zeros; states of the best path
# - best_score: float[num_sequences] zeros; logarithm of the best path
@kernel[num_sequences] loop reduction, argmin argmax, gather
def fill_trellis():
    """Forward over the steps: the best way into each state."""
    q = wp.tid()
    guard q < num_sequences
    for s in range(num_states):
        score[q, 0, s] = log_start[s] + log_emit[s, observed[q, 0]]
    for t in range(1, num_steps):
        for s in range(num_states):
            best = score[q, t - 1, 0] + log_move[0, s]
            arg = int(0)
            for p in range(1, num_states):
                #? way
                way = score[q, t - 1, p] + log_move[p, s]
                if way > best:
                    best = way
                    arg = p
                #|
                if score[q, t - 1, p] + log_move[p, s] > best:
                    best = score[q, t - 1, p] + log_move[p, s]
                    arg = p
                #.
            score[q, t, s] = best + log_emit[s, observed[q, t]]
            back[q, t, s] = arg

@kernel[num_sequences] pointer chase or walk, gather
def trace_back():
    """Backward from the best last state."""
    q = wp.tid()
    guard q < num_sequences
    state = int(0)
    for s in range(1, num_states):
        if score[q, num_steps - 1, s] > score[q, num_steps - 1, state]:
            state = s
    best_score[q] = score[q, num_steps - 1, state]
    for b in range(num_steps):
        t = num_steps - 1 - b
        path[q, t] = state
        state = back[q, t, state]

def reference():
    """The same recursion from the predecessors' side; then the path is checked off from the end."""
    for q in range(num_sequences):
        for t in range(num_steps):
            for s in range(num_states):
                score[q, t, s] = -1.0e6
                if t == 0:
                    score[q, t, s] = log_start[s] + log_emit[s, observed[q, t]]
            for b in range(num_states):
                p = num_states - 1 - b
                for s in range(num_states):
                    if t > 0:
                        way = score[q, t - 1, p] + log_move[p, s] + log_emit[s, observed[q, t]]
                        if way >= score[q, t, s]:
                            score[q, t, s] = way
                            back[q, t, s] = p
        last = num_steps - 1
        best_score[q] = -1.0e6
        for s in range(num_states):
            if score[q, last, s] > best_score[q]:
                best_score[q] = score[q, last, s]
                path[q, last] = s
        for b in range(last):
            t = last - b
            path[q, t - 1] = back[q, t, path[q, t]]

# === ising_checkerboard
# source: Metropolis updates of the Ising model on a checkerboard (Metropolis et al. 1953; Preis et al. 2009)
# task: update the spins of one colour of an Ising model with the Metropolis rule and given uniform numbers, then those of the other
# about: The lattice is periodic and has an even number of sites along both axes.
# domain: physics
# weight: 6
# sizes: ny = 2 2 6 32; nx = 2 4 12 32
# - spin: int[ny, nx] uniform(0, 2); spins, 1 for up, updated in place
# - chance: float[ny, nx] uniform(0.0, 1.0); uniform number of each site
# - beta: float = 0.4; inverse temperature
# - field: float = 0.1; external field
# - flips: int[1] zeros; spins that were turned
# - magnet: int[ny] zeros; magnetisation of each row, up spins less down spins
# - color: int = 0; sites of this colour are updated
# run: flip_color(color=0), flip_color(color=1), row_magnet
@func
def sign_of(spin: int) -> int:
    """1 for up, -1 for down."""
    return {{2 * spin - 1 || wp.where(spin == 1, 1, -1)}}

@kernel[ny, nx] stencil, random sampling, in place update
def flip_color():
    """Turn a spin if that lowers the energy, or by chance."""
    grid i, j
    guard i < ny and j < nx
    require (i + j) % 2 == color
    around = sign_of(spin[(i + 1) % ny, j]) + sign_of(spin[(i + ny - 1) % ny, j])
    around += sign_of(spin[i, (j + 1) % nx]) + sign_of(spin[i, (j + nx - 1) % nx])
    own = sign_of(spin[i, j])
    # what turning it would cost
    cost = 2.0 * float(own) * (float(around) + field)
    if cost <= 0.0 or chance[i, j] < wp.exp(-beta * cost):
        spin[i, j] = 1 - spin[i, j]
        wp.atomic_add(flips, 0, 1)

@kernel[ny] loop reduction
def row_magnet():
    """Add up a row."""
    i = wp.tid()
    guard i < ny
    m = int(0)
    for j in range(nx):
        m += sign_of(spin[i, j])
    magnet[i] = m

def reference():
    for phase in range(2):
        for i in range(ny):
            for j in range(nx):
                if (i + j) % 2 == phase:
                    up = spin[(i + 1) % ny, j] + spin[(i + ny - 1) % ny, j] + spin[i, (j + 1) % nx] + spin[i, (j + nx - 1) % nx]
                    energy = float(2 * up - 4) + field
                    if spin[i, j] == 0:
                        energy = -energy
                    if math.exp(-2.0 * beta * energy) > chance[i, j]:
                        spin[i, j] = 1 - spin[i, j]
                        flips[0] = flips[0] + 1
    for i in range(ny):
        magnet[i] = -nx
        for j in range(nx):
            magnet[i] = magnet[i] + 2 * spin[i, j]

# === systematic_resampling
# source: systematic resampling of particle filters (Kitagawa 1996)
# task: weigh particles by a measurement, add the weights up, and draw new particles with one offset for all
# domain: signal
# weight: 6
# split: test
# sizes: n = 2 7 71 300
# - state: float[n] uniform(-1.0, 1.0); states of the particles
# - weight: float[n] zeros; likelihoods of the measurement
# - cumulative: float[n] zeros; sums of the weights up to each particle
# - parent: int[n] zeros; particle that each new one comes from
# - new_state: float[n] zeros; states after resampling
# - measured: float = 0.3; measurement
# - noise: float = 0.4; standard deviation of the measurement
# - offset: float = 0.37; offset of the draws, between 0 and 1
@kernel[n] elementwise map
def weigh():
    """Likelihood of a normal error."""
    i = wp.tid()
    guard i < n
    let e = (state[i] - measured) / noise
    weight[i] = {{wp.exp(-0.5 * e * e) || wp.exp(-(e * e) / 2.0)}}

@kernel[1] prefix scan
def accumulate_weights():
    """Inclusive scan, by one thread."""
    s = float(0.0)
    for k in range(n):
        s += weight[k]
        cumulative[k] = s

@kernel[n] binary search, gather
def draw_particles():
    """The first particle whose sum is above the draw."""
    i = wp.tid()
    guard i < n
    u = (float(i) + offset) / float(n) * cumulative[n - 1]
    lo = int(0)
    hi = n - 1
    while lo < hi:
        mid = (lo + hi) // 2
        if cumulative[mid] > u:
            hi = mid
        else:
            lo = mid + 1
    parent[i] = lo
    new_state[i] = state[lo]

def reference():
    """Walk through both lists once."""
    total = 0.0
    for k in range(n):
        weight[k] = math.exp(-0.5 * ((measured - state[k]) / noise) ** 2.0)
        total = total + weight[k]
        cumulative[k] = total
    k = 0
    for i in range(n):
        for step in range(n):
            if k < n - 1 and cumulative[k] * float(n) <= (float(i) + offset) * total:
                k = k + 1
        parent[i] = k
        new_state[i] = state[k]

# === mixture_responsibilities
# source: expectation maximisation for Gaussian mixtures (Dempster, Laird and Rubin 1977)
# task: run one step of expectation maximisation for a mixture of normal distributions in one dimension
# domain: ml
# weight: 8
# sizes: num_points = 3 9 71 300; num_parts = 2 2 3 4
# - points: float[num_points] uniform(-2.0, 2.0); data
# - share: float[num_parts] uniform(0.2, 0.5); shares of the parts
# - center: float[num_parts] uniform(-1.0, 1.0); means of the parts
# - spread: float[num_parts] uniform(0.5, 1.0); standard deviations of the parts
# - resp: float[num_points, num_parts] zeros; probability that a point belongs to each part
# - mass: float[num_parts] zeros; sums of the probabilities of each part
# - moment: float[num_parts] zeros; sums of the points, weighted with the probabilities
# - new_center: float[num_parts] zeros; means after the step
# - log_like: float[1] zeros; logarithm of the likelihood, without constants
@kernel[num_points] softmax logsumexp, atomic reduction
def expect():
    """Weigh the parts at one point."""
    i = wp.tid()
    guard i < num_points
    total = float(0.0)
    for c in range(num_parts):
        let z = (points[i] - center[c]) / spread[c]
        p = share[c] / spread[c] * wp.exp(-0.5 * z * z)
        resp[i, c] = p
        total += p
    for c in range(num_parts):
        resp[i, c] = resp[i, c] / total
    wp.atomic_add(log_like, 0, wp.log(total))

@kernel[num_points, num_parts] scatter add, index unflatten
def add_moments():
    """Add the point to the sums of each part."""
    grid i, c
    guard i < num_points and c < num_parts
    let r = resp[i, c]
    wp.atomic_add(mass, c, r)
    wp.atomic_add(moment, c, r * points[i])

@kernel[num_parts] elementwise map
def maximize():
    """Weighted mean."""
    c = wp.tid()
    guard c < num_parts
    new_center[c] = moment[c] / mass[c]

def reference():
    for c in range(num_parts):
        for i in range(num_points):
            total = 0.0
            own = 0.0
            for d in range(num_parts):
                p = share[d] / spread[d] * math.exp(-((points[i] - center[d]) ** 2.0) / (2.0 * spread[d] ** 2.0))
                total = total + p
                if d == c:
                    own = p
            resp[i, c] = own / total
            mass[c] = mass[c] + own / total
            moment[c] = moment[c] + points[i] * own / total
            if c == 0:
                log_like[0] = log_like[0] + math.log(total)
        new_center[c] = moment[c] / mass[c]

# === split_search
# source: best splits of decision trees by histograms (Breiman et al. 1984; Ke et al. 2017)
# task: build the histogram of each feature over the samples and find the threshold with the lowest Gini impurity
# about: The candidate thresholds are the upper ends of the bins but the last one. Of equal thresholds the lower one counts.
# domain: ml
# weight: 6
# sizes: num_samples = 4 9 71 300; num_features = 2 3 4 8; num_bins = 3 4 5 8
# - bins: int[num_samples, num_features] index(num_bins); bin of each feature of each sample
# - label: int[num_samples] uniform(0, 2); 1 for samples of the class
# - counts: int[num_features, num_bins] zeros; samples in each bin
# - positives: int[num_features, num_bins] zeros; samples of the class in each bin
# - best_bin: int[num_features] full(-1); bin above which samples go right, -1 where all would go one way
# - impurity: float[num_features] full(2.0); impurity after that split
@kernel[num_samples, num_features] histogram count, mask or active filter
def fill_histograms():
    """Count samples by bin and class."""
    grid s, f
    guard s < num_samples and f < num_features
    let b = bins[s, f]
    wp.atomic_add(counts, f, b, 1)
    if label[s] == 1:
        wp.atomic_add(positives, f, b, 1)

@func
def gini(total: float, ones: float) -> float:
    """Impurity of a set, times its size."""
    return 2.0 * ones * (total - ones) / total

@kernel[num_features] loop reduction, argmin argmax, prefix scan
def search_splits():
    """Scan the bins of one feature."""
    f = wp.tid()
    guard f < num_features
    all_count = int(0)
    all_ones = int(0)
    for b in range(num_bins):
        all_count += counts[f, b]
        all_ones += positives[f, b]
    left = int(0)
    ones = int(0)
    for b in range(num_bins - 1):
        left += counts[f, b]
        ones += positives[f, b]
        # an empty side is no split
        if left > 0 and left < all_count:
            g = gini(float(left), float(ones)) + gini(float(all_count - left), float(all_ones - ones))
            {{g = g / float(all_count) || g = g * (1.0 / float(all_count))}}
            if g < impurity[f] - 1.0e-6:
                impurity[f] = g
                best_bin[f] = b

def reference():
    """Each threshold looks at all samples again."""
    for f in range(num_features):
        for s in range(num_samples):
            counts[f, bins[s, f]] = counts[f, bins[s, f]] + 1
            positives[f, bins[s, f]] = positives[f, bins[s, f]] + label[s]
        for b in range(num_bins - 1):
            n0 = 0.0
            n1 = 0.0
            p0 = 0.0
            p1 = 0.0
            for s in range(num_samples):
                if bins[s, f] <= b:
                    n0 = n0 + 1.0
                    p0 = p0 + float(label[s])
                else:
                    n1 = n1 + 1.0
                    p1 = p1 + float(label[s])
            if n0 > 0.0 and n1 > 0.0:
                q0 = 1.0 - (p0 / n0) ** 2.0 - (1.0 - p0 / n0) ** 2.0
                q1 = 1.0 - (p1 / n1) ** 2.0 - (1.0 - p1 / n1) ** 2.0
                g = (n0 * q0 + n1 * q1) / (n0 + n1)
                if g < impurity[f] - 1.0e-6:
                    impurity[f] = g
                    best_bin[f] = b
