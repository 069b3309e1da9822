# === bellman_ford
# source: relaxation of edges (Bellman 1958; Ford 1956), pull form
# task: relax the distances from a source over the incoming edges of a weighted graph
# about: Distances are exchanged once, so that paths of one more edge are found. A node without a better way keeps its distance and its predecessor -1.
# domain: sparse
# weight: 6
# sizes: num_nodes = 1 7 71 300; nnz = 2 15 210 1500
# - in_offsets: int[num_nodes + 1] rows(nnz); first incoming edge of each node
# - in_sources: int[nnz] index(num_nodes); node that each edge comes from
# - lengths: float[nnz] uniform(0.1, 1.0); lengths of the edges
# - dist: float[num_nodes] uniform(0.0, 4.0); distances so far
# - new_dist: float[num_nodes] zeros; distances after the step
# - pred: int[num_nodes] full(-1); predecessor on the shorter way, -1 for none
# - improved: int[1] zeros; nodes that are nearer than before
@kernel[num_nodes] csr row loop, gather
def relax_edges():
    """Take the shortest way over one more edge."""
    node = wp.tid()
    guard node < num_nodes
    best = dist[node]
    via = int(-1)
    for k in range(in_offsets[node], in_offsets[node + 1]):
        let other = in_sources[k]
        #? way
        way = dist[other] + lengths[k]
        if way < best:
            best = way
            via = other
        #|
        if dist[other] + lengths[k] < best:
            best = dist[other] + lengths[k]
            via = in_sources[k]
        #.
    new_dist[node] = best
    #? keep
    pred[node] = via
    #|
    # the others keep theirs
    if via >= 0:
        pred[node] = via
    #.

@kernel[num_nodes] atomic counter, mask or active filter
def count_improved():
    """Count the nodes that are nearer than before."""
    node = wp.tid()
    guard node < num_nodes
    {{if new_dist[node] < dist[node]: || if pred[node] >= 0:}}
        wp.atomic_add(improved, 0, 1)

def reference():
    """Backwards through the edges, so that the last equal one does not win."""
    for node in range(num_nodes):
        new_dist[node] = dist[node]
        for k in range(in_offsets[node], in_offsets[node + 1]):
            new_dist[node] = min(new_dist[node], dist[in_sources[k]] + lengths[k])
        if new_dist[node] < dist[node]:
            improved[0] = improved[0] + 1
            for b in range(in_offsets[node + 1] - in_offsets[node]):
                k = in_offsets[node + 1] - 1 - b
                if dist[in_sources[k]] + lengths[k] == new_dist[node]:
                    pred[node] = in_sources[k]

# === common_neighbors
# source: neighbourhood overlap of linked nodes (Jaccard 1901; Liben-Nowell and Kleinberg 2007)
# task: count for each link how many entries the neighbour lists of its ends share, and score the link by their overlap
# about: Lists may name a node twice; every pair of equal entries counts.
# domain: sparse
# weight: 7
# sizes: num_nodes = 2 6 20 120; nnz = 4 14 60 700; num_links = 1 7 71 200
# - offsets: int[num_nodes + 1] rows(nnz); first entry of each list
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - links: vec2i[num_links] index(num_nodes); ends of the links
# - shared: int[num_links] zeros; pairs of equal entries
# - score: float[num_links] zeros; shared entries beside all entries of both
# - linked_score: float[num_nodes] zeros; scores of the links that begin at each node
@func
def count_entry(neighbors: wp.array(dtype=int), first: int, last: int, node: int) -> int:
    """How often a list names a node."""
    times = int(0)
    for k in range(first, last):
        if neighbors[k] == node:
            times += 1
    return times

@kernel[num_links] csr row loop, gather, coo or edge assembly
def overlap():
    """Compare the lists of both ends."""
    e = wp.tid()
    guard e < num_links
    a = links[e][0]
    b = links[e][1]
    common = int(0)
    for k in range(offsets[a], offsets[a + 1]):
        common += count_entry(neighbors, offsets[b], offsets[b + 1], neighbors[k])
    shared[e] = common
    #? size
    size = offsets[a + 1] - offsets[a] + offsets[b + 1] - offsets[b]
    #|
    let size_a = offsets[a + 1] - offsets[a]
    let size_b = offsets[b + 1] - offsets[b]
    size = size_a + size_b
    #.
    # two empty lists share nothing
    if size > 0:
        score[e] = float(common) / float(size)

@kernel[num_links] scatter add, gather
def add_scores():
    """Add up the scores by the first end."""
    e = wp.tid()
    guard e < num_links
    let node = links[e][0]
    wp.atomic_add(linked_score, node, score[e])

def reference():
    for e in range(num_links):
        a = links[e][0]
        b = links[e][1]
        size = 0
        for k in range(nnz):
            in_a = 0
            if k >= offsets[a] and k < offsets[a + 1]:
                in_a = 1
                size = size + 1
            if k >= offsets[b] and k < offsets[b + 1]:
                size = size + 1
            for m in range(nnz):
                if in_a == 1 and m >= offsets[b] and m < offsets[b + 1] and neighbors[k] == neighbors[m]:
                    shared[e] = shared[e] + 1
        if size > 0:
            score[e] = float(shared[e]) / float(size)
        linked_score[a] = linked_score[a] + score[e]

# === luby_independent_set
# source: maximal independent sets by random priorities (Luby 1986)
# task: select the nodes of a graph whose priority is above that of all undecided neighbours and exclude their neighbours
# domain: sparse
# weight: 6
# sizes: num_nodes = 1 12 71 300; nnz = 2 24 130 900
# - row_offsets: int[num_nodes + 1] rows(nnz); first neighbour of each node
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - priority: int[num_nodes] permutation(); priorities, each once
# - state: int[num_nodes] uniform(0, 3); 0 undecided, 1 in the set, 2 excluded
# - chosen: int[num_nodes] zeros; 1 for nodes that are selected now
# - new_state: int[num_nodes] zeros; states after the round
# - settled: int[1] zeros; number of nodes that are decided in this round
@kernel[num_nodes] csr row loop, gather, mask or active filter
def select_nodes():
    """Undecided nodes above all of their undecided neighbours are selected."""
    node = wp.tid()
    guard node < num_nodes
    require state[node] == 0
    #? test
    wins = int(1)
    for k in range(row_offsets[node], row_offsets[node + 1]):
        let other = neighbors[k]
        if state[other] == 0 and priority[other] > priority[node]:
            wins = 0
    chosen[node] = wins
    #|
    top = int(-1)
    for k in range(row_offsets[node], row_offsets[node + 1]):
        let other = neighbors[k]
        if state[other] == 0:
            top = wp.max(top, priority[other])
    if top <= priority[node]:
        chosen[node] = 1
    #.

@kernel[num_nodes] csr row loop, gather, atomic counter
def exclude_neighbors():
    """Neighbours of selected nodes are out."""
    node = wp.tid()
    guard node < num_nodes
    s = state[node]
    if s == 0:
        if chosen[node] == 1:
            s = 1
        else:
            for k in range(row_offsets[node], row_offsets[node + 1]):
                if chosen[neighbors[k]] == 1:
                    s = 2
        if s != 0:
            wp.atomic_add(settled, 0, 1)
    new_state[node] = s

def reference():
    for node in range(num_nodes):
        chosen[node] = 1
        if state[node] != 0:
            chosen[node] = 0
        for k in range(row_offsets[node], row_offsets[node + 1]):
            rival = priority[neighbors[k]] + num_nodes * state[neighbors[k]]
            if rival > priority[node] and rival < num_nodes:
                chosen[node] = 0
    for node in range(num_nodes):
        new_state[node] = state[node] + chosen[node]
        settled[0] = settled[0] + chosen[node]
        if new_state[node] == 0:
            hit = 0
            for k in range(row_offsets[node], row_offsets[node + 1]):
                hit = max(hit, chosen[neighbors[k]])
            new_state[node] = 2 * hit
            settled[0] = settled[0] + hit

# === greedy_coloring
# source: first-fit colouring in the order of priorities (Jones and Plassmann 1993)
# task: give each ready node of a graph the smallest colour that no coloured neighbour has
# about: A node is ready if it has no colour and no neighbour without a colour has a higher priority. Colours are bits of a mask.
# domain: sparse
# weight: 5
# sizes: num_nodes = 1 7 71 300; nnz = 2 14 150 1000
# - row_offsets: int[num_nodes + 1] rows(nnz); first neighbour of each node
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - priority: int[num_nodes] permutation(); priorities, each once
# - color: int[num_nodes] uniform(-1, 4); colours, -1 for none
# - next_color: int[num_nodes] zeros; colours after the round
# - colored: int[1] zeros; nodes that have got a colour in this round
@kernel[num_nodes] csr row loop, gather, bit tricks hash morton
def assign_colors():
    """Collect the colours around a ready node and take the first free one."""
    node = wp.tid()
    guard node < num_nodes
    own = color[node]
    if own < 0:
        used = int(0)
        ready = int(1)
        for k in range(row_offsets[node], row_offsets[node + 1]):
            let other = neighbors[k]
            let c = color[other]
            if c >= 0:
                used = used | (1 << c)
            elif priority[other] > priority[node]:
                ready = 0
        if ready == 1:
            #? free
            own = int(0)
            while (used >> own) & 1 == 1:
                own += 1
            #|
            own = int(0)
            # shift the used colours out
            while used % 2 == 1:
                used = used // 2
                own += 1
            #.
            wp.atomic_add(colored, 0, 1)
    next_color[node] = own

def reference():
    for node in range(num_nodes):
        next_color[node] = color[node]
        if color[node] < 0:
            waits = 0
            for k in range(row_offsets[node], row_offsets[node + 1]):
                if color[neighbors[k]] < 0 and priority[neighbors[k]] > priority[node]:
                    waits = 1
            if waits == 0:
                colored[0] = colored[0] + 1
                for c in range(6):
                    taken = 0
                    for k in range(row_offsets[node], row_offsets[node + 1]):
                        if color[neighbors[k]] == 5 - c:
                            taken = 1
                    if taken == 0:
                        next_color[node] = 5 - c

# === core_peeling
# source: k-core decomposition by peeling (Seidman 1983; Batagelj and Zaversnik 2003)
# task: remove the nodes of a graph that have too few living neighbours, once, and count the rest
# domain: sparse
# weight: 5
# sizes: num_nodes = 1 14 71 300; nnz = 3 50 220 1500
# - row_offsets: int[num_nodes + 1] rows(nnz); first neighbour of each node
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - alive: int[num_nodes] uniform(0, 2); 1 for nodes that are still there
# - degree: int[num_nodes] zeros; living neighbours of each living node
# - survives: int[num_nodes] zeros; 1 for nodes that stay
# - left: int[1] zeros; nodes that stay
# - removed: int[1] zeros; nodes that go now
# - K: int = 2; living neighbours that a node needs
@kernel[num_nodes] csr row loop, gather, mask or active filter
def living_degree():
    """Count the living neighbours."""
    node = wp.tid()
    guard node < num_nodes
    require alive[node] == 1
    count = int(0)
    for k in range(row_offsets[node], row_offsets[node + 1]):
        {{count += alive[neighbors[k]] || count = count + alive[neighbors[k]]}}
    degree[node] = count

@kernel[num_nodes] mask or active filter, atomic counter
def peel():
    """Keep the nodes with enough neighbours."""
    node = wp.tid()
    guard node < num_nodes
    #? _
    if alive[node] == 1:
        if degree[node] >= K:
            survives[node] = 1
            wp.atomic_add(left, 0, 1)
        else:
            wp.atomic_add(removed, 0, 1)
    #|
    if alive[node] == 0:
        return
    if degree[node] < K:
        wp.atomic_add(removed, 0, 1)
        return
    survives[node] = 1
    wp.atomic_add(left, 0, 1)
    #.

def reference():
    for node in range(num_nodes):
        for k in range(row_offsets[node], row_offsets[node + 1]):
            degree[node] = degree[node] + alive[node] * alive[neighbors[k]]
        survives[node] = alive[node] * min(1, degree[node] // K)
        left[0] = left[0] + survives[node]
        removed[0] = removed[0] + alive[node] - survives[node]

# === kahn_levels
# source: topological levels by counting open predecessors (Kahn 1962)
# task: finish the ready tasks of a dependency graph and find the ones that become ready
# domain: generic
# weight: 5
# sizes: num_tasks = 1 14 71 300; nnz = 2 50 150 1200
# - out_offsets: int[num_tasks + 1] rows(nnz); first dependent of each task
# - dependents: int[nnz] index(num_tasks); tasks that wait for each one
# - open_count: int[num_tasks] uniform(0, 4); predecessors that are not finished
# - released: int[num_tasks] zeros; predecessors that finish in this round
# - level: int[num_tasks] full(-1); round in which a task becomes ready, -1 for later
# - num_ready: int[1] zeros; tasks that become ready
# - current: int = 3; number of the current round
@kernel[num_tasks] csr row loop, scatter add, mask or active filter
def release_dependents():
    """A task without open predecessors is done: count it for all that wait for it."""
    t = wp.tid()
    guard t < num_tasks
    require open_count[t] == 0
    for k in range(out_offsets[t], out_offsets[t + 1]):
        wp.atomic_add(released, dependents[k], 1)

@kernel[num_tasks] mask or active filter, atomic counter
def collect_ready():
    """A task is ready as soon as all predecessors are finished."""
    t = wp.tid()
    guard t < num_tasks
    let waits_for = open_count[t]
    #? _
    if waits_for > 0 and released[t] >= waits_for:
        level[t] = current
        wp.atomic_add(num_ready, 0, 1)
    #|
    # finished before
    if waits_for == 0:
        return
    if released[t] >= waits_for:
        level[t] = current
        wp.atomic_add(num_ready, 0, 1)
    #.

def reference():
    for t in range(num_tasks):
        if open_count[t] < 1:
            for k in range(out_offsets[t + 1] - out_offsets[t]):
                released[dependents[out_offsets[t] + k]] = released[dependents[out_offsets[t] + k]] + 1
    for t in range(num_tasks):
        missing = open_count[t] - released[t]
        if open_count[t] != 0 and missing <= 0:
            level[t] = current
            num_ready[0] = num_ready[0] + 1

# === graph_attention
# source: graph attention with additive scores (Velickovic et al. 2018)
# task: average the features of neighbours with attention weights that a softmax over the edges of each node gives
# about: Scores go through a leaky rectifier. Nodes without neighbours get zeros.
# domain: ml
# weight: 6
# sizes: num_nodes = 1 7 71 200; nnz = 3 18 200 1200; width = 2 3 4 16
# - row_offsets: int[num_nodes + 1] rows(nnz); first neighbour of each node
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - features: float[num_nodes, width] uniform(-1.0, 1.0); features of the nodes
# - score_own: float[num_nodes] uniform(-1.0, 1.0); part of a score that the receiving node gives
# - score_other: float[num_nodes] uniform(-1.0, 1.0); part of a score that the sending node gives
# - attention: float[nnz] zeros; weights of the edges
# - mixed: float[num_nodes, width] zeros; averaged features
# - slope: float = 0.2; slope of the rectifier for negative scores
@func
def leaky(x: float, slope: float) -> float:
    """Leaky rectifier."""
    #? leaky
    return wp.where(x > 0.0, x, slope * x)
    #|
    if x < 0.0:
        return slope * x
    return x
    #.

@kernel[num_nodes] csr row loop, gather, softmax logsumexp
def edge_softmax():
    """Softmax over the edges of a node."""
    node = wp.tid()
    guard node < num_nodes
    start = row_offsets[node]
    end = row_offsets[node + 1]
    top = float(-1.0e10)
    for k in range(start, end):
        top = wp.max(top, leaky(score_own[node] + score_other[neighbors[k]], slope))
    total = float(0.0)
    for k in range(start, end):
        e = wp.exp(leaky(score_own[node] + score_other[neighbors[k]], slope) - top)
        attention[k] = e
        total += e
    for k in range(start, end):
        {{attention[k] = attention[k] / total || attention[k] /= total}}

@kernel[num_nodes, width] csr row loop, gather
def mix_features():
    """Weighted mean of what the neighbours have."""
    grid node, c
    guard node < num_nodes and c < width
    s = float(0.0)
    for k in range(row_offsets[node], row_offsets[node + 1]):
        let other = neighbors[k]
        s += attention[k] * features[other, c]
    mixed[node, c] = s

def reference():
    for node in range(num_nodes):
        total = 0.0
        for k in range(row_offsets[node], row_offsets[node + 1]):
            x = score_own[node] + score_other[neighbors[k]]
            attention[k] = math.exp(max(x, 0.0) + slope * min(x, 0.0))
            total = total + attention[k]
        for k in range(row_offsets[node], row_offsets[node + 1]):
            attention[k] = attention[k] / total
            for c in range(width):
                mixed[node, c] = mixed[node, c] + attention[k] * features[neighbors[k], c]

# === neighbor_pooling
# source: aggregation by mean and maximum (Hamilton, Ying and Leskovec 2017)
# task: pool the features of each node's neighbours by mean and by maximum, with the node that gave the maximum
# domain: ml
# weight: 4
# split: test
# sizes: num_nodes = 1 7 71 200; nnz = 3 18 200 1200; width = 2 3 4 16
# - row_offsets: int[num_nodes + 1] rows(nnz); first neighbour of each node
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - features: float[num_nodes, width] uniform(-1.0, 1.0); features of the nodes
# - mean: float[num_nodes, width] zeros; means over the neighbours
# - top: float[num_nodes, width] zeros; largest values of the neighbours
# - from_node: int[num_nodes, width] full(-1); neighbour with the largest value, -1 for none
@kernel[num_nodes, width] csr row loop, gather, argmin argmax
def pool_neighbors():
    """One number of a node's features per thread."""
    grid node, c
    guard node < num_nodes and c < width
    start = row_offsets[node]
    end = row_offsets[node + 1]
    # nothing to pool
    require end > start
    largest = features[neighbors[start], c]
    arg = neighbors[start]
    s = float(0.0)
    for k in range(start, end):
        let other = neighbors[k]
        let v = features[other, c]
        s += v
        if v > largest:
            largest = v
            arg = other
    mean[node, c] = s / float(end - start)
    top[node, c] = largest
    from_node[node, c] = arg

def reference():
    for node in range(num_nodes):
        count = row_offsets[node + 1] - row_offsets[node]
        for c in range(width):
            for b in range(count):
                k = row_offsets[node + 1] - 1 - b
                mean[node, c] = mean[node, c] + features[neighbors[k], c] / float(count)
                if b == 0 or features[neighbors[k], c] >= top[node, c]:
                    top[node, c] = features[neighbors[k], c]
                    from_node[node, c] = neighbors[k]

# === reachability_bits
# source: multi-source breadth-first search with one bit per source (Then et al. 2014)
# task: propagate sets of sources, one bit each, over the edges of a graph and count the new ones
# domain: generic
# weight: 5
# sizes: num_nodes = 1 7 71 300; nnz = 2 14 150 1000
# - in_offsets: int[num_nodes + 1] rows(nnz); first incoming edge of each node
# - in_sources: int[nnz] index(num_nodes); node that each edge comes from
# - seen: int[num_nodes] uniform(0, 256); sources that have reached a node, one bit each
# - frontier: int[num_nodes] uniform(0, 256); sources that are on a node now
# - arrived: int[num_nodes] zeros; sources that reach a node in this step
# - new_bits: int[1] zeros; pairs of a source and a node that it reaches now
@kernel[num_nodes] csr row loop, gather, bit tricks hash morton
def gather_bits():
    """Collect what is on the neighbours, without what was here before."""
    node = wp.tid()
    guard node < num_nodes
    bits = int(0)
    for k in range(in_offsets[node], in_offsets[node + 1]):
        bits = bits | frontier[in_sources[k]]
    {{arrived[node] = bits & ~seen[node] || arrived[node] = (bits | seen[node]) ^ seen[node]}}

@kernel[num_nodes] bit tricks hash morton, atomic counter
def count_bits():
    """Add up the set bits."""
    node = wp.tid()
    guard node < num_nodes
    x = arrived[node]
    #? count
    count = int(0)
    while x > 0:
        # drop the lowest bit
        x = x & (x - 1)
        count += 1
    #|
    count = int(0)
    while x > 0:
        count += x & 1
        x = x >> 1
    #.
    wp.atomic_add(new_bits, 0, count)

def reference():
    for node in range(num_nodes):
        place = 1
        for b in range(8):
            on = 0
            for k in range(in_offsets[node], in_offsets[node + 1]):
                if (frontier[in_sources[k]] // place) % 2 == 1:
                    on = 1
            if (seen[node] // place) % 2 == 1:
                on = 0
            arrived[node] = arrived[node] + on * place
            new_bits[0] = new_bits[0] + on
            place = 2 * place

# === lightest_links
# source: first round of minimum spanning trees (Boruvka 1926), ties by the number of the edge
# task: find the lightest edge of each component of a graph and the component that it leads to
# domain: generic
# weight: 5
# sizes: num_edges = 1 9 75 600; num_nodes = 2 6 30 150; num_components = 1 3 9 30
# - ends: vec2i[num_edges] index(num_nodes); nodes at the ends of each edge
# - weights: int[num_edges] uniform(1, 50); weights
# - component: int[num_nodes] index(num_components); component of each node
# - lightest: int[num_components] full(1000000000); weight and number of the lightest edge, packed in one integer
# - edge: int[num_components] full(-1); lightest edge that leaves each component, -1 for none
# - target: int[num_components] full(-1); component that the lightest edge leads to, -1 for none
@kernel[num_edges] atomic min max, gather, coo or edge assembly
def find_lightest():
    """Edges between components compete for both."""
    e = wp.tid()
    guard e < num_edges
    let a = component[ends[e][0]]
    let b = component[ends[e][1]]
    require a != b
    key = weights[e] * num_edges + e
    wp.atomic_min(lightest, a, key)
    wp.atomic_min(lightest, b, key)

@kernel[num_components] gather, mask or active filter
def link_components():
    """Unpack the winner and look for its other end."""
    c = wp.tid()
    guard c < num_components
    let key = lightest[c]
    # a component without neighbours
    require key < 1000000000
    e = key % num_edges
    edge[c] = e
    a = component[ends[e][0]]
    #? other
    if a == c:
        target[c] = component[ends[e][1]]
    else:
        target[c] = a
    #|
    target[c] = wp.where(a == c, component[ends[e][1]], a)
    #.

def reference():
    for c in range(num_components):
        best = 1000000
        for e in range(num_edges):
            a = component[ends[e][0]]
            b = component[ends[e][1]]
            if a != b and (a == c or b == c) and weights[e] < best:
                best = weights[e]
                edge[c] = e
                target[c] = a + b - c
                lightest[c] = best * num_edges + e

# === spring_layout
# source: force-directed placement (Fruchterman and Reingold 1991)
# task: move the nodes of a drawing apart, and linked ones together, by at most one step
# domain: graphics
# weight: 6
# sizes: num_nodes = 2 7 71 120; nnz = 2 12 130 500
# - row_offsets: int[num_nodes + 1] rows(nnz); first neighbour of each node
# - neighbors: int[nnz] index(num_nodes); neighbours, node by node
# - places: vec2[num_nodes] uniform(0.0, 1.0); places of the nodes
# - shift: vec2[num_nodes] zeros; forces on the nodes
# - new_places: vec2[num_nodes] zeros; places after the step
# - ideal: float = 0.2; length of a link without forces
# - max_step: float = 0.1; longest way that a node moves
# - EPS: float = 1.0e-3; keeps the distance from zero
@kernel[num_nodes] pairwise n body, csr row loop, gather
def layout_forces():
    """Repulsion of all nodes and attraction along links."""
    node = wp.tid()
    guard node < num_nodes
    p = places[node]
    f = wp.vec2(0.0, 0.0)
    for other in range(num_nodes):
        if other != node:
            d = p - places[other]
            f += d * (ideal * ideal / (wp.dot(d, d) + EPS))
    for k in range(row_offsets[node], row_offsets[node + 1]):
        d = places[neighbors[k]] - p
        f += d * (wp.length(d) / ideal)
    shift[node] = f

@kernel[num_nodes] vector normalise, select threshold
def move_nodes():
    """Follow the force, but not too far."""
    node = wp.tid()
    guard node < num_nodes
    let f = shift[node]
    size = wp.length(f) + EPS
    new_places[node] = places[node] + f * {{(wp.min(size, max_step) / size) || wp.min(1.0, max_step / size)}}

def reference():
    for i in range(num_nodes):
        for j in range(num_nodes):
            d = places[j] - places[i]
            shift[i] = shift[i] - d * (ideal**2.0 / (np.dot(d, d) + EPS))
        for k in range(row_offsets[i], row_offsets[i + 1]):
            d = places[neighbors[k]] - places[i]
            shift[i] = shift[i] + d * (np.linalg.norm(d) / ideal)
        size = np.linalg.norm(shift[i]) + EPS
        reach = size
        if size > max_step:
            reach = max_step
        new_places[i] = places[i] + shift[i] / size * reach
