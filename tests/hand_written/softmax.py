import warp as wp


@wp.kernel
def softmax(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    m = float(-1.0e30)
    for j in range(x.shape[1]):
        m = wp.max(m, x[i, j])
    total = float(0.0)
    for j in range(x.shape[1]):
        total += wp.exp(x[i, j] - m)
    for j in range(x.shape[1]):
        y[i, j] = wp.exp(x[i, j] - m) / total
