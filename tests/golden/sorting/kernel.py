import warp as wp


@wp.kernel(enable_backward=False)
def sorting(keys: wp.array2d(dtype=wp.uint32), histogram: wp.array(dtype=int), shift: wp.uint32):
    row = wp.tid()
    n = keys.shape[1]
    for a in range(1, n):
        key = keys[row, a]
        b = a - 1
        while b >= 0 and keys[row, b] > key:
            keys[row, b + 1] = keys[row, b]
            b -= 1
        keys[row, b + 1] = key
    digit = int((keys[row, 0] >> shift) & wp.uint32(15))
    wp.atomic_add(histogram, digit, 1)
