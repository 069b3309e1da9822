import warp as wp


@wp.kernel
def multi_dim(
    a: wp.array3d(dtype=float), b: wp.array3d(dtype=float), c: wp.array3d(dtype=float), bias: wp.array(dtype=float)
):
    batch, i, j = wp.tid()
    total = bias[j]
    for k in range(a.shape[2]):
        total += a[batch, i, k] * b[batch, k, j]
    c[batch, i, j] = wp.max(total, 0.0)
