# === radix_pass
# source: one pass of a least significant digit radix sort (Knuth, vol. 3, sec. 5.2.5; Satish, Harris and Garland 2009)
# task: sort keys by one digit, in a stable way, with a histogram of each block, a scan and a scatter
# about: Blocks are runs of eight keys. Counts are scanned digit by digit, over all blocks, so that equal digits keep their order.
# domain: generic
# weight: 11
# sizes: num_blocks = 1 2 9 64; num_digits = 4 4 4 4
# - keys: int[8 * num_blocks] uniform(0, 256); keys
# - counts: int[num_digits, num_blocks] zeros; keys of each digit in each block
# - starts: int[num_digits, num_blocks] zeros; place of the first key of a digit and a block
# - moved: int[8 * num_blocks] zeros; keys in their new order
# - origin: int[8 * num_blocks] zeros; where each key came from
# - shift: int = 2; lowest bit of the digit
# - BLOCK: int = 8; keys of a block
@func
def digit_of(key: int, shift: int) -> int:
    """Two bits of a key."""
    return {{(key >> shift) & 3 || (key >> shift) % 4}}

@kernel[num_blocks] histogram count, loop reduction
def count_digits():
    """Histogram of one block."""
    block = wp.tid()
    guard block < num_blocks
    for k in range(block * BLOCK, block * BLOCK + BLOCK):
        d = digit_of(keys[k], shift)
        counts[d, block] = counts[d, block] + 1

@kernel[1] prefix scan
def scan_counts():
    """Exclusive scan over digits, and over blocks within a digit."""
    running = int(0)
    for d in range(num_digits):
        for block in range(num_blocks):
            starts[d, block] = running
            running += counts[d, block]

@kernel[num_blocks] scatter, sort or swap, gather
def move_keys():
    """Keys of a block go behind those of the blocks before it."""
    block = wp.tid()
    guard block < num_blocks
    for k in range(block * BLOCK, block * BLOCK + BLOCK):
        d = digit_of(keys[k], shift)
        # how many of this digit the block had before
        rank = int(0)
        for before in range(block * BLOCK, k):
            if digit_of(keys[before], shift) == d:
                rank += 1
        slot = starts[d, block] + rank
        moved[slot] = keys[k]
        origin[slot] = k

def reference():
    """The rank of a key is how many keys come before it."""
    unit = 1
    for b in range(shift):
        unit = 2 * unit
    for k in range(8 * num_blocks):
        d = (keys[k] // unit) % 4
        place = 0
        for m in range(8 * num_blocks):
            other = (keys[m] // unit) % 4
            if other < d or (other == d and m < k):
                place = place + 1
        moved[place] = keys[k]
        origin[place] = k
        counts[d, k // 8] = counts[d, k // 8] + 1
    for d in range(num_digits):
        for b in range(num_blocks):
            for e in range(num_digits):
                for c in range(num_blocks):
                    if e < d or (e == d and c < b):
                        starts[d, b] = starts[d, b] + counts[e, c]

# === merge_sorted
# source: merging by binary search for the rank in the other list (Shiloach and Vishkin 1981)
# task: merge two sorted lists, one element per thread, by searching its place in the other list
# about: Of equal elements those of the first list come first.
# domain: generic
# weight: 9
# sizes: n = 1 7 71 400; m = 2 5 40 300; total = 3 12 111 700
# - left: float[n] sorted(0.0, 1.0); sorted list
# - right: float[m] sorted(0.0, 1.0); other sorted list
# - merged: float[total] zeros; elements of both in order
# - from_right: int[total] zeros; 1 for elements of the other list
@kernel[n] binary search, scatter
def place_left():
    """Elements of the other list that are smaller come before."""
    i = wp.tid()
    guard i < n
    let x = left[i]
    #? search
    lo = int(0)
    hi = m
    while lo < hi:
        mid = (lo + hi) // 2
        if right[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    #|
    lo = int(-1)
    hi = m
    # everything up to lo is smaller, everything from hi on is not
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if right[mid] < x:
            lo = mid
        else:
            hi = mid
    lo = hi
    #.
    merged[i + lo] = x

@kernel[m] binary search, scatter
def place_right():
    """Elements of the first list that are not larger come before."""
    j = wp.tid()
    guard j < m
    let x = right[j]
    lo = int(0)
    hi = n
    while lo < hi:
        mid = (lo + hi) // 2
        if left[mid] <= x:
            lo = mid + 1
        else:
            hi = mid
    merged[j + lo] = x
    from_right[j + lo] = 1

def reference():
    """Two fingers."""
    i = 0
    j = 0
    for k in range(n + m):
        takes_left = 0
        if i < n:
            takes_left = 1
            if j < m:
                if right[j] < left[i]:
                    takes_left = 0
        if takes_left == 1:
            merged[k] = left[i]
            i = i + 1
        else:
            merged[k] = right[j]
            from_right[k] = 1
            j = j + 1

# === bitonic_rows
# source: bitonic sorting network (Batcher 1968)
# task: sort rows of eight keys with the compare-exchange steps of a bitonic network
# about: A launch is one step: each thread compares two keys of a row that are a stride apart. The direction depends on the bit of the stage.
# domain: generic
# weight: 4
# split: test
# sizes: num_rows = 1 3 18 64
# - keys: int[num_rows, 8] uniform(0, 40); keys, sorted in place
# - swaps: int[num_rows] zeros; exchanges of each row
# - stage: int = 2; length of the runs that are merged
# - stride: int = 1; distance of the keys that are compared
# run: compare_exchange(stage=2, stride=1), compare_exchange(stage=4, stride=2), compare_exchange(stage=4, stride=1), compare_exchange(stage=8, stride=4), compare_exchange(stage=8, stride=2), compare_exchange(stage=8, stride=1)
@kernel[num_rows, 4] sort or swap, bit tricks hash morton
def compare_exchange():
    """Order one pair of keys."""
    grid row, pair
    guard row < num_rows and pair < 4
    #? index
    low = 2 * stride * (pair // stride) + pair % stride
    #|
    # insert a zero bit at the stride
    low = ((pair & ~(stride - 1)) << 1) | (pair & (stride - 1))
    #.
    high = low + stride
    a = keys[row, low]
    b = keys[row, high]
    rising = (low & stage) == 0
    if (rising and a > b) or (not rising and a < b):
        keys[row, low] = b
        keys[row, high] = a
        wp.atomic_add(swaps, row, 1)

def reference():
    """The network over whole rows."""
    for row in range(num_rows):
        span = 2
        while span <= 8:
            gap = span // 2
            while gap >= 1:
                for i in range(8):
                    j = i ^ gap
                    if j > i:
                        up = 1 - (i // span) % 2
                        a = keys[row, i]
                        b = keys[row, j]
                        if up * a > up * b or (1 - up) * b > (1 - up) * a:
                            keys[row, i] = b
                            keys[row, j] = a
                            swaps[row] = swaps[row] + 1
                gap = gap // 2
            span = 2 * span

# === run_lengths
# source: run-length encoding by flags, scan and scatter (Blelloch 1990)
# task: compress a list of symbols to runs of equal ones with their lengths
# domain: generic
# weight: 10
# sizes: n = 1 9 75 400
# - symbols: int[n] uniform(0, 3); symbols
# - run_of: int[n] zeros; run that each symbol belongs to
# - run_value: int[n] full(-1); symbol of each run, -1 behind the last run
# - run_start: int[n + 1] zeros; first place of each run, and the end of the last one
# - run_length: int[n] zeros; lengths of the runs, 0 behind the last run
# - num_runs: int[1] zeros; runs
@kernel[1] prefix scan
def number_runs():
    """Number the runs from left to right."""
    #? number
    run = int(0)
    for k in range(n):
        if k > 0:
            if symbols[k] != symbols[k - 1]:
                run += 1
        run_of[k] = run
    num_runs[0] = run + 1
    #|
    count = int(1)
    run_of[0] = 0
    for k in range(1, n):
        # another symbol begins a run
        if symbols[k] != symbols[k - 1]:
            count += 1
        run_of[k] = count - 1
    num_runs[0] = count
    #|
    last = symbols[0]
    run = int(0)
    for k in range(n):
        let symbol = symbols[k]
        if symbol != last:
            run += 1
            last = symbol
        run_of[k] = run
    num_runs[0] = run + 1
    #.

@kernel[n] scatter, mask or active filter, stream compaction
def write_starts():
    """The first symbol of a run writes what it is and where it starts, the last one where it ends."""
    i = wp.tid()
    guard i < n
    let run = run_of[i]
    if i == n - 1:
        run_start[run + 1] = n
    #? first
    if i > 0:
        if symbols[i] == symbols[i - 1]:
            return
    run_value[run] = symbols[i]
    run_start[run] = i
    #|
    is_first = i == 0
    if i > 0:
        is_first = run_of[i - 1] != run
    if is_first:
        run_value[run] = symbols[i]
        run_start[run] = i
    #.

@kernel[n] finite difference, mask or active filter
def measure_runs():
    """Distance of two starts."""
    run = wp.tid()
    require run < num_runs[0]
    run_length[run] = run_start[run + 1] - run_start[run]

def reference():
    run = 0
    for k in range(n):
        if k > 0 and symbols[k] != symbols[max(k - 1, 0)]:
            run = run + 1
            run_start[run] = k
        run_of[k] = run
        run_value[run] = symbols[k]
        run_length[run] = run_length[run] + 1
        run_start[run + 1] = k + 1
        num_runs[0] = run + 1

# === top_k_rows
# source: partial selection sort
# task: find the k largest scores of each row with their columns, largest first
# about: Of equal scores the one in the smaller column comes first.
# domain: ml
# weight: 6
# sizes: num_rows = 1 5 66 64; width = 4 5 7 20
# - scores: float[num_rows, width] uniform(-1.0, 1.0); scores
# - best_score: float[num_rows, 3] zeros; largest scores
# - best_col: int[num_rows, 3] zeros; columns of the largest scores
# - share: float[num_rows] zeros; sum of the largest scores beside the sum of all sizes
# - K: int = 3; scores that are kept
@kernel[num_rows] sort or swap, argmin argmax
def select_largest():
    """Take the largest of what is below the last one, k times."""
    row = wp.tid()
    guard row < num_rows
    last = float(1.0e10)
    last_col = int(-1)
    for r in range(K):
        top = float(-1.0e10)
        arg = int(-1)
        for c in range(width):
            let v = scores[row, c]
            #? free
            free = v < last or (v == last and c > last_col)
            if free and v > top:
                top = v
                arg = c
            #|
            # taken before
            if v > last or (v == last and c <= last_col):
                continue
            if v > top:
                top = v
                arg = c
            #.
        best_score[row, r] = top
        best_col[row, r] = arg
        last = top
        last_col = arg

@kernel[num_rows] loop reduction
def share_of_largest():
    """Sum of the selected scores beside the sum of absolute scores."""
    row = wp.tid()
    guard row < num_rows
    part = float(0.0)
    for r in range(K):
        part += best_score[row, r]
    whole = float(0.0)
    for c in range(width):
        whole += wp.abs(scores[row, c])
    share[row] = part / whole

def reference():
    """The rank of a score is how many are better."""
    for row in range(num_rows):
        whole = 0.0
        for c in range(width):
            whole = whole + abs(scores[row, c])
        for c in range(width):
            rank = 0
            for d in range(width):
                if scores[row, d] > scores[row, c] or (scores[row, d] == scores[row, c] and d < c):
                    rank = rank + 1
            if rank < 3:
                best_score[row, rank] = scores[row, c]
                best_col[row, rank] = c
                share[row] = share[row] + scores[row, c] / whole

# === edit_distance
# source: Levenshtein distance by dynamic programming (Wagner and Fischer 1974)
# task: compute the edit distance of pairs of words that are stored one after the other
# about: A thread keeps one row of the table, of the second word's prefixes.
# domain: generic
# weight: 10
# sizes: num_words = 2 6 40 150; num_letters = 8 26 170 900; num_pairs = 1 7 71 200
# - first: int[num_words + 1] rows(num_letters); first letter of each word
# - letters: int[num_letters] uniform(0, 4); letters of all words
# - pairs: vec2i[num_pairs] index(num_words); words that are compared
# - table: int[num_pairs, num_letters + 1] zeros; last row of the table of each pair
# - distance: int[num_pairs] zeros; edit distances
# - likeness: float[num_pairs] zeros; 1 for equal words, 0 where all letters differ
@kernel[num_pairs] csr row loop, gather, pointer chase or walk
def edit_distances():
    """Insert, delete or replace: the cheapest of three ways into each cell."""
    p = wp.tid()
    guard p < num_pairs
    a = first[pairs[p][0]]
    b = first[pairs[p][1]]
    length_a = first[pairs[p][0] + 1] - a
    length_b = first[pairs[p][1] + 1] - b
    for j in range(length_b + 1):
        table[p, j] = j
    for i in range(length_a):
        corner = table[p, 0]
        table[p, 0] = i + 1
        for j in range(length_b):
            #? cost
            cost = corner
            if letters[a + i] != letters[b + j]:
                cost = corner + 1
            #|
            cost = corner + wp.where(letters[a + i] == letters[b + j], 0, 1)
            #.
            corner = table[p, j + 1]
            table[p, j + 1] = wp.min(cost, wp.min(corner, table[p, j]) + 1)
    distance[p] = table[p, length_b]

@kernel[num_pairs] elementwise map, gather
def word_likeness():
    """Share of the longer word that stays."""
    p = wp.tid()
    guard p < num_pairs
    let a = pairs[p][0]
    let b = pairs[p][1]
    longer = wp.max(first[a + 1] - first[a], first[b + 1] - first[b])
    likeness[p] = 1.0
    if longer > 0:
        likeness[p] = 1.0 - float(distance[p]) / float(longer)

def reference():
    """Along the other word: cell by cell with its left, upper and diagonal neighbour."""
    for p in range(num_pairs):
        a = first[pairs[p][0]]
        b = first[pairs[p][1]]
        length_a = first[pairs[p][0] + 1] - a
        length_b = first[pairs[p][1] + 1] - b
        cell = 0
        diagonal = 0
        for i in range(length_a + 1):
            left = i
            for j in range(length_b + 1):
                if i == 0:
                    cell = j
                else:
                    cell = table[p, j] + 1
                    if j > 0:
                        same = 1
                        if letters[a + i - 1] == letters[b + j - 1]:
                            same = 0
                        cell = min(cell, diagonal + same)
                        cell = min(cell, left + 1)
                diagonal = table[p, j]
                table[p, j] = cell
                left = cell
        distance[p] = table[p, length_b]
        longer = max(length_a, length_b)
        likeness[p] = 1.0 - float(distance[p]) / float(max(longer, 1))

# === pattern_search
# source: exact string matching, and rolling hashes (Karp and Rabin 1987)
# task: find all places of a pattern in documents that are stored one after the other, by comparing hashes first
# about: A place counts only if the whole pattern lies in one document. The hash of a window is that of the letters as digits.
# domain: generic
# weight: 8
# sizes: num_documents = 1 5 66 60; num_letters = 9 40 500 2000; pattern_length = 2 2 3 3
# - first: int[num_documents + 1] rows(num_letters); first letter of each document
# - letters: int[num_letters] uniform(0, 3); letters of all documents
# - pattern: int[pattern_length] uniform(0, 3); letters of the pattern
# - pattern_hash: int[1] zeros; hash of the pattern
# - hits: int[num_documents] zeros; places of each document where the pattern is
# - first_hit: int[num_documents] full(-1); first place of the pattern, counted from the document's start, -1 for none
# - BASE: int = 7; base of the hash
# - MODULUS: int = 101; hashes are below this
@kernel[1] loop reduction
def hash_pattern():
    """Hash of the pattern, its first letter in the highest place."""
    #? hash
    h = int(0)
    for k in range(pattern_length):
        h = (h * BASE + pattern[k]) % MODULUS
    #|
    h = pattern[0]
    for k in range(1, pattern_length):
        h = h * BASE
        h = (h + pattern[k]) % MODULUS
    #.
    pattern_hash[0] = h

@kernel[num_documents] csr row loop, gather, bit tricks hash morton
def search_documents():
    """Slide a window over one document."""
    doc = wp.tid()
    guard doc < num_documents
    start = first[doc]
    end = first[doc + 1]
    let wanted = pattern_hash[0]
    count = int(0)
    where = int(-1)
    for at in range(start, end - pattern_length + 1):
        h = int(0)
        for k in range(pattern_length):
            h = (h * BASE + letters[at + k]) % MODULUS
        #? compare
        if h == wanted:
            # different windows may have one hash
            same = int(0)
            for k in range(pattern_length):
                if letters[at + k] == pattern[k]:
                    same += 1
            if same == pattern_length:
                count += 1
                if where < 0:
                    where = at - start
        #|
        if h != wanted:
            continue
        # different windows may have one hash
        k = int(0)
        while k < pattern_length and letters[at + wp.min(k, pattern_length - 1)] == pattern[wp.min(k, pattern_length - 1)]:
            k += 1
        if k == pattern_length:
            if count == 0:
                where = at - start
            count += 1
        #.
    hits[doc] = count
    first_hit[doc] = where

def reference():
    power = 1
    for k in range(pattern_length):
        pattern_hash[0] = pattern_hash[0] + pattern[pattern_length - 1 - k] * power
        power = power * BASE
    pattern_hash[0] = pattern_hash[0] % MODULUS
    for doc in range(num_documents):
        length = first[doc + 1] - first[doc]
        for b in range(length):
            at = length - 1 - b
            wrong = 0
            if at + pattern_length > length:
                wrong = 1
            for k in range(pattern_length):
                if at + k < length:
                    if letters[first[doc] + at + k] != pattern[k]:
                        wrong = 1
            if wrong == 0:
                hits[doc] = hits[doc] + 1
                first_hit[doc] = at

# === fletcher_checksums
# source: Fletcher's checksum (Fletcher 1982; RFC 1146)
# task: compute the Fletcher checksums of packets that are stored one after the other, compare their lowest bits with what came along, and count the damaged packets
# domain: generic
# weight: 5
# sizes: num_packets = 1 5 66 100; num_bytes = 6 30 400 3000
# - first: int[num_packets + 1] rows(num_bytes); first byte of each packet
# - payload: int[num_bytes] uniform(0, 256); bytes of all packets
# - sent_bit: int[num_packets] uniform(0, 2); lowest bits of the checksums that the senders found
# - checksum: int[num_packets] zeros; both sums, the second in the higher byte
# - is_good: int[num_packets] zeros; 1 where the lowest bits agree
# - num_damaged: int[1] zeros; packets whose bits do not agree
@kernel[num_packets] csr row loop, loop reduction, bit tricks hash morton
def packet_sums():
    """Two running sums modulo 255."""
    p = wp.tid()
    guard p < num_packets
    low = int(0)
    high = int(0)
    for k in range(first[p], first[p + 1]):
        low = (low + payload[k]) % 255
        high = (high + low) % 255
    {{checksum[p] = (high << 8) | low || checksum[p] = 256 * high + low}}

@kernel[num_packets] mask or active filter, atomic counter
def check_packets():
    """Compare with what came along."""
    p = wp.tid()
    guard p < num_packets
    if checksum[p] % 2 == sent_bit[p]:
        is_good[p] = 1
    else:
        wp.atomic_add(num_damaged, 0, 1)

def reference():
    """The second sum weighs a byte with the number of bytes from there on."""
    for p in range(num_packets):
        low = 0
        high = 0
        for k in range(first[p], first[p + 1]):
            low = low + payload[k]
            high = high + payload[k] * (first[p + 1] - k)
        checksum[p] = low % 255 + 256 * (high % 255)
        is_good[p] = 1 - (low % 255 + sent_bit[p]) % 2
        num_damaged[0] = num_damaged[0] + 1 - is_good[p]

# === hamming_neighbors
# source: nearest neighbours of binary descriptors (Calonder et al. 2010)
# task: match binary descriptors by their Hamming distance and keep the matches that are clearly the best
# about: A match is kept if the second best distance is larger by at least a margin.
# domain: graphics
# weight: 6
# sizes: num_queries = 1 7 71 200; num_trained = 2 4 9 60; num_words = 2 2 2 4
# - queries: int[num_queries, num_words] uniform(0, 65536); descriptors to match, sixteen bits a word
# - trained: int[num_trained, num_words] uniform(0, 65536); known descriptors
# - match: int[num_queries] full(-1); descriptor that fits best, -1 where it is not clear
# - best_distance: int[num_queries] zeros; bits in which the best one differs
# - second_distance: int[num_queries] zeros; bits in which the second best differs
# - votes: int[num_trained] zeros; matches of each known descriptor
# - margin: int = 2; bits that the second best has to be worse
@func
def count_bits(word: int) -> int:
    """Set bits of a sixteen-bit word."""
    #? bits
    x = word
    n = int(0)
    while x != 0:
        x = x & (x - 1)
        n += 1
    return n
    #|
    n = int(0)
    for b in range(16):
        n += (word >> b) & 1
    return n
    #.

@kernel[num_queries] bit tricks hash morton, argmin argmax, scatter add
def match_descriptors():
    """Compare with all known descriptors."""
    q = wp.tid()
    guard q < num_queries
    best = int(1000)
    second = int(1000)
    arg = int(-1)
    for t in range(num_trained):
        d = int(0)
        for w in range(num_words):
            d += count_bits(queries[q, w] ^ trained[t, w])
        if d < best:
            second = best
            best = d
            arg = t
        elif d < second:
            second = d
    best_distance[q] = best
    second_distance[q] = second
    if second - best >= margin:
        match[q] = arg
        wp.atomic_add(votes, arg, 1)

def reference():
    for q in range(num_queries):
        best_distance[q] = 1000
        second_distance[q] = 1000
        arg = -1
        for t in range(num_trained):
            d = 0
            for w in range(num_words):
                place = 1
                for b in range(16):
                    if (queries[q, w] // place) % 2 != (trained[t, w] // place) % 2:
                        d = d + 1
                    place = 2 * place
            if d < best_distance[q]:
                arg = t
            second_distance[q] = min(second_distance[q], max(d, best_distance[q]))
            best_distance[q] = min(best_distance[q], d)
        if second_distance[q] - best_distance[q] >= margin:
            match[q] = arg
            votes[arg] = votes[arg] + 1

# === varint_decode
# source: base 128 variable-length integers (LEB128; DWARF 5, section 7.6)
# task: decode records of variable-length integers and add them up
# about: A byte carries seven bits, the lowest first; one of 128 and above is followed by another of the same number. What a record ends in the middle of does not count.
# domain: generic
# weight: 4
# split: validation
# sizes: num_records = 1 5 66 100; num_bytes = 7 30 350 2000
# - first: int[num_records + 1] rows(num_bytes); first byte of each record
# - stream: int[num_bytes] uniform(0, 256); bytes of all records
# - count: int[num_records] zeros; whole numbers in each record
# - total: int[num_records] zeros; sums of the numbers, of which each is below 2^21
# - longest: int[1] zeros; most numbers of a record
@kernel[num_records] csr row loop, bit tricks hash morton, pointer chase or walk
def decode_records():
    """Read one record from left to right."""
    r = wp.tid()
    guard r < num_records
    s = int(0)
    n = int(0)
    value = int(0)
    place = int(0)
    for k in range(first[r], first[r + 1]):
        byte = stream[k]
        # longer numbers lose what is above
        if place < 21:
            value = value | ((byte & 127) << place)
        place += 7
        if byte < 128:
            s += value
            n += 1
            value = 0
            place = 0
    total[r] = s
    count[r] = n
    wp.atomic_max(longest, 0, n)

def reference():
    """Each byte knows its place by how many before it go on."""
    for r in range(num_records):
        open = 0
        part = 0
        factor = 1
        for k in range(first[r], first[r + 1]):
            if open < 3:
                part = part + (stream[k] % 128) * factor
            open = open + 1
            factor = factor * 128
            if open > 3:
                factor = 1
            if stream[k] // 128 == 0:
                total[r] = total[r] + part
                count[r] = count[r] + 1
                open = 0
                part = 0
                factor = 1
        longest[0] = max(longest[0], count[r])
