import warp as wp


@wp.kernel
def stencil(u: wp.array2d(dtype=float), out: wp.array2d(dtype=float), c: float):
    i, j = wp.tid()
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
        out[i, j] = u[i, j] + c * (around - 4.0 * u[i, j])
    else:
        out[i, j] = u[i, j]
