import warp as wp


@wp.kernel
def row_max(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    m = x[i, 0]
    for j in range(1, x.shape[1]):
        m = wp.max(m, x[i, j])
    y[i] = m
