"""What a block of threads does together: a softmax of rows, a product and a factor of matrices, sums."""

import warp as wp

M, N, K = wp.constant(32), wp.constant(32), wp.constant(16)
COLUMNS = wp.constant(1024)
ORDER = wp.constant(24)


@wp.kernel(enable_backward=False)
def softmax(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=COLUMNS)
    e = wp.tile_map(wp.exp, t - wp.tile_broadcast(wp.tile_max(t), shape=(COLUMNS,)))
    wp.tile_store(y[i], e / wp.tile_sum(e)[0])


@wp.kernel(enable_backward=False)
def gemm(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(M, N), dtype=float)
    for k in range((a.shape[1] + K - 1) // K):
        x = wp.tile_load(a, shape=(M, K), offset=(i * M, k * K), bounds_check=False)
        y = wp.tile_load(b, shape=(K, N), offset=(k * K, j * N), bounds_check=False)
        wp.tile_matmul(x, y, acc)
    wp.tile_store(c, acc, offset=(i * M, j * N), bounds_check=False)


@wp.kernel(enable_backward=False)
def cholesky(a: wp.array3d(dtype=float), factor: wp.array3d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(a[i], shape=(ORDER, ORDER), bounds_check=False)
    wp.tile_store(factor[i], wp.tile_cholesky(t), bounds_check=False)


@wp.kernel(enable_backward=False)
def row_sum(x: wp.array2d(dtype=float), sums: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.tile_sum(wp.tile_load(x[i], shape=COLUMNS, bounds_check=False))
    sums[i] = s[0]
    wp.tile_atomic_add(total, s)
