"""Kernels with tiles, for `benches/tiles.py`: kc and Warp run the same file."""
import warp as wp

M, N, K = wp.constant(64), wp.constant(64), wp.constant(64)
COLUMNS = wp.constant(1024)


@wp.kernel
def gemm(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    acc = wp.tile_zeros(shape=(M, N), dtype=float)
    for k in range(a.shape[1] // K):
        x = wp.tile_load(a, shape=(M, K), offset=(i * M, k * K))
        y = wp.tile_load(b, shape=(K, N), offset=(k * K, j * N))
        wp.tile_matmul(x, y, acc)
    wp.tile_store(c, acc, offset=(i * M, j * N))


@wp.kernel
def row_sums(a: wp.array2d(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(a[i], shape=COLUMNS)
    wp.tile_store(s, wp.tile_sum(t), offset=i)


@wp.kernel
def softmax(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(a[i], shape=COLUMNS)
    e = wp.tile_map(wp.exp, t - wp.tile_broadcast(wp.tile_max(t), shape=(COLUMNS,)))
    s = wp.tile_sum(e)
    wp.tile_store(b[i], e / s[0])


@wp.kernel
def layer_norm(a: wp.array2d(dtype=float), g: wp.array(dtype=float), h: wp.array(dtype=float), b: wp.array2d(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(a[i], shape=COLUMNS)
    mean = wp.tile_sum(t)[0] / float(COLUMNS)
    d = t - wp.tile_full(shape=(COLUMNS,), value=mean, dtype=float)
    variance = wp.tile_sum(d * d)[0] / float(COLUMNS)
    n = d * (1.0 / wp.sqrt(variance + 1.0e-5))
    wp.tile_store(b[i], n * wp.tile_load(g, shape=COLUMNS) + wp.tile_load(h, shape=COLUMNS))


@wp.kernel
def fft(a: wp.array2d(dtype=wp.vec2), b: wp.array2d(dtype=wp.vec2)):
    i = wp.tid()
    t = wp.tile_load(a, shape=(1, 512), offset=(i, 0))
    wp.tile_fft(t)
    wp.tile_store(b, t, offset=(i, 0))


@wp.kernel
def fft_of_8_lines(a: wp.array2d(dtype=wp.vec2), b: wp.array2d(dtype=wp.vec2)):
    i = wp.tid()
    t = wp.tile_load(a, shape=(8, 64), offset=(8 * i, 0))
    wp.tile_fft(t)
    wp.tile_store(b, t, offset=(8 * i, 0))


@wp.kernel
def fft_float64(a: wp.array2d(dtype=wp.vec2d), b: wp.array2d(dtype=wp.vec2d)):
    i = wp.tid()
    t = wp.tile_load(a, shape=(1, 1024), offset=(i, 0))
    wp.tile_fft(t)
    wp.tile_store(b, t, offset=(i, 0))


@wp.kernel
def fft_of_1000(a: wp.array2d(dtype=wp.vec2), b: wp.array2d(dtype=wp.vec2)):
    i = wp.tid()
    t = wp.tile_load(a, shape=(1, 1000), offset=(i, 0))
    wp.tile_fft(t)
    wp.tile_store(b, t, offset=(i, 0))


# Random numbers from 0 to 1, of which one triangle counts, and a diagonal that outweighs them.


@wp.kernel
def systems_of_6(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):
    i = wp.tid()
    m = wp.tile_diag_add(wp.tile_load(a[i], shape=(6, 6)), wp.tile_full(shape=6, value=6.0, dtype=float))
    wp.tile_store(x[i], wp.tile_cholesky_solve(wp.tile_cholesky(m), wp.tile_load(b[i], shape=6)))


@wp.kernel
def systems_of_16(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):
    i = wp.tid()
    m = wp.tile_diag_add(wp.tile_load(a[i], shape=(16, 16)), wp.tile_full(shape=16, value=16.0, dtype=float))
    wp.tile_store(x[i], wp.tile_cholesky_solve(wp.tile_cholesky(m), wp.tile_load(b[i], shape=16)))


@wp.kernel
def systems_of_32(a: wp.array3d(dtype=float), b: wp.array2d(dtype=float), x: wp.array2d(dtype=float)):
    i = wp.tid()
    m = wp.tile_diag_add(wp.tile_load(a[i], shape=(32, 32)), wp.tile_full(shape=32, value=32.0, dtype=float))
    wp.tile_store(x[i], wp.tile_cholesky_solve(wp.tile_cholesky(m), wp.tile_load(b[i], shape=32)))
