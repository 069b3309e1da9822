import warp as wp


@wp.kernel
def layers(
    a: wp.array3d(dtype=float), b: wp.array3d(dtype=float), c: wp.array3d(dtype=float), bias: wp.array(dtype=float)
):
    layer, i, j = wp.tid()
    slope = a[layer, i, j + 1] - a[layer, i, j]
    c[layer, i, j] = wp.max(slope * b[layer, i, j] + bias[j], 0.0)
