# === parse_integers
# source: decimal numbers by Horner's rule (Knuth, vol. 2, sec. 4.4)
# task: read decimal integers from text cells that are stored one after the other, and add up those that are well formed
# about: Characters are codes: 0 to 9 for digits, 10 for a minus sign and 11 for a space. A cell is well formed if it has a digit, a sign at most in front of it, and no space inside.
# domain: generic
# weight: 5
# sizes: num_cells = 2 8 66 100; num_chars = 6 26 200 400
# - first: int[num_cells + 1] rows(num_chars); first character of each cell
# - chars: int[num_chars] uniform(0, 12); characters of all cells
# - number: int[num_cells] zeros; numbers, 0 where a cell is not well formed
# - valid: int[num_cells] zeros; 1 for cells that are well formed
# - total: int[1] zeros; sum of the numbers
# - num_bad: int[1] zeros; cells that are not well formed
# - LIMIT: int = 6; digits of a number at most
@kernel[num_cells] csr row loop, loop reduction
def read_numbers():
    """Character by character, with what was seen before."""
    c = wp.tid()
    guard c < num_cells
    value = int(0)
    digits = int(0)
    negative = int(0)
    closed = int(0)
    bad = int(0)
    for k in range(first[c], first[c + 1]):
        let ch = chars[k]
        if ch < 10:
            # nothing may follow a space behind the number
            bad = wp.max(bad, closed)
            digits += 1
            if digits <= LIMIT:
                value = 10 * value + ch
        #? marks
        elif ch == 10:
            if digits > 0 or negative == 1:
                bad = 1
            negative = 1
        elif digits > 0 or negative == 1:
            closed = 1
        #|
        elif ch == 11:
            if digits > 0 or negative == 1:
                closed = 1
        else:
            bad = wp.where(digits > 0 or negative == 1, 1, bad)
            negative = 1
        #.
    if bad == 0 and digits > 0 and digits <= LIMIT:
        valid[c] = 1
        number[c] = {{wp.where(negative == 1, -value, value) || value - 2 * negative * value}}

@kernel[num_cells] atomic reduction, mask or active filter
def add_numbers():
    """Sum of the numbers, count of the others."""
    c = wp.tid()
    guard c < num_cells
    if valid[c] == 1:
        wp.atomic_add(total, 0, number[c])
    else:
        wp.atomic_add(num_bad, 0, 1)

def reference():
    """From the last character to the first: the place of a digit is how many follow it."""
    for c in range(num_cells):
        start = first[c]
        end = first[c + 1]
        left = end
        right = start - 1
        for k in range(start, end):
            if chars[k] != 11:
                right = k
        for b in range(end - start):
            if chars[end - 1 - b] != 11:
                left = end - 1 - b
        good = 0
        if right >= left:
            good = 1
        value = 0
        place = 1
        count = 0
        for b in range(right - left + 1):
            k = right - b
            if chars[k] < 10:
                if count < LIMIT:
                    value = value + place * chars[k]
                    place = 10 * place
                count = count + 1
            elif chars[k] == 11 or k != left:
                good = 0
        if count == 0 or count > LIMIT:
            good = 0
        valid[c] = good
        num_bad[0] = num_bad[0] + 1 - good
        if good == 1:
            number[c] = value
            if chars[left] == 10:
                number[c] = -value
            total[0] = total[0] + number[c]

# === field_offsets
# source: parallel parsing of separated values (Stehle and Jacobsen 2020)
# task: split lines of text at separators outside of quotes, and write where each field begins and how long it is
# about: Characters are codes: 0 separator, 1 quote, anything else is text. A quote begins or ends a quoted part; quotes count as text of their field. Fields beyond the last column are dropped.
# domain: generic
# weight: 8
# split: validation
# sizes: num_lines = 1 6 66 100; num_chars = 8 40 500 1200
# - first: int[num_lines + 1] rows(num_chars); first character of each line
# - chars: int[num_chars] uniform(0, 5); characters of all lines
# - begin: int[num_lines, 4] full(-1); first character of each field, -1 where there is none
# - length: int[num_lines, 4] zeros; characters of each field
# - num_fields: int[num_lines] zeros; fields of each line, with those that are dropped
# - unclosed: int[1] zeros; lines that end inside of quotes
# - MOST: int = 4; columns
@kernel[num_lines] csr row loop, scatter, pointer chase or walk
def split_lines():
    """Walk along one line."""
    line = wp.tid()
    guard line < num_lines
    start = first[line]
    end = first[line + 1]
    field = int(0)
    at = start
    quoted = int(0)
    #? walk
    for k in range(start, end):
        if chars[k] == 1:
            quoted = 1 - quoted
        elif chars[k] == 0 and quoted == 0:
            if field < MOST:
                begin[line, field] = at
                length[line, field] = k - at
            field += 1
            at = k + 1
    if field < MOST:
        begin[line, field] = at
        length[line, field] = end - at
    #|
    for k in range(start, end + 1):
        is_end = k == end
        if k < end:
            if chars[wp.min(k, num_chars - 1)] == 1:
                quoted = 1 - quoted
            is_end = chars[wp.min(k, num_chars - 1)] == 0 and quoted == 0
        # the last field ends with the line
        if is_end:
            if field < MOST:
                begin[line, field] = at
                length[line, field] = k - at
            at = k + 1
            if k < end:
                field += 1
    #.
    num_fields[line] = field + 1
    wp.atomic_add(unclosed, 0, quoted)

def reference():
    """The field of a character is how many open separators come before it."""
    for line in range(num_lines):
        num_fields[line] = 1
        quotes = 0
        begin[line, 0] = first[line]
        for k in range(first[line], first[line + 1]):
            f = num_fields[line] - 1
            if chars[k] == 0 and quotes % 2 == 0:
                num_fields[line] = num_fields[line] + 1
                if f + 1 < 4:
                    begin[line, f + 1] = k + 1
            elif f < 4:
                length[line, f] = length[line, f] + 1
            if chars[k] == 1:
                quotes = quotes + 1
        unclosed[0] = unclosed[0] + quotes % 2

# === word_features
# source: feature hashing with signs (Weinberger et al. 2009)
# task: hash the words of documents into a fixed number of signed features, scale each document to unit length, and count the documents of each feature
# about: The hash of a word is a polynomial of its letters; its lowest bit is the sign. Documents without features stay zero.
# domain: ml
# weight: 6
# sizes: num_documents = 1 5 18 60; num_words = 6 20 80 500; num_features = 4 5 8 16
# - first: int[num_documents + 1] rows(num_words); first word of each document
# - words: vec3i[num_words] uniform(0, 26); letters of the words
# - counts: int[num_documents, num_features] zeros; signed counts
# - scaled: float[num_documents, num_features] zeros; counts, scaled to unit length
# - norm: float[num_documents] zeros; lengths before the scaling
# - used: int[num_features] zeros; documents with this feature
@func
def hash_word(word: wp.vec3i) -> int:
    """Polynomial of the letters."""
    h = word[0]
    #? hash
    for k in range(1, 3):
        h = (31 * h + word[k]) % 9973
    return h
    #|
    h = (31 * h + word[1]) % 9973
    return (31 * h + word[2]) % 9973
    #.

@kernel[num_documents] csr row loop, bit tricks hash morton, histogram count
def count_features():
    """Add or subtract one for each word."""
    d = wp.tid()
    guard d < num_documents
    for k in range(first[d], first[d + 1]):
        h = hash_word(words[k])
        slot = (h // 2) % num_features
        #? sign
        if h % 2 == 0:
            counts[d, slot] = counts[d, slot] + 1
        else:
            counts[d, slot] = counts[d, slot] - 1
        #|
        # even hashes add, odd ones subtract
        counts[d, slot] += wp.where(h % 2 == 0, 1, -1)
        #|
        sign = 1 - 2 * (h % 2)
        counts[d, slot] = counts[d, slot] + sign
        #.

@kernel[num_documents] vector normalise, loop reduction, atomic counter
def scale_documents():
    """Divide by the length and count what is not zero."""
    d = wp.tid()
    guard d < num_documents
    square = int(0)
    for f in range(num_features):
        let c = counts[d, f]
        square += c * c
    size = wp.sqrt(float(square))
    norm[d] = size
    for f in range(num_features):
        let c = counts[d, f]
        if c != 0:
            wp.atomic_add(used, f, 1)
            scaled[d, f] = {{float(c) / size || float(c) * (1.0 / size)}}

def reference():
    for d in range(num_documents):
        square = 0
        for f in range(num_features):
            sum = 0
            for k in range(first[d], first[d + 1]):
                h = ((words[k][0] * 31 + words[k][1]) % 9973 * 31 + words[k][2]) % 9973
                if (h // 2) % num_features == f:
                    sum = sum + 1 - 2 * (h % 2)
            counts[d, f] = sum
            square = square + sum * sum
            if sum != 0:
                used[f] = used[f] + 1
        norm[d] = math.sqrt(float(square))
        for f in range(num_features):
            if square > 0:
                scaled[d, f] = float(counts[d, f]) / norm[d]
