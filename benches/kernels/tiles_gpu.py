"""Kernels with tiles whose GPU code benches/tile_quality.py compares with `tiles_gpu.cu`."""

import warp as wp


@wp.func
def weight_of(score: float, largest: float):
    return wp.exp(score - largest)


@wp.kernel
def gemm(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(64, 64), dtype=float)
    for k in range(a.shape[1] // 16):
        x = wp.tile_load(a, shape=(64, 16), offset=(i * 64, k * 16))
        y = wp.tile_load(b, shape=(16, 64), offset=(k * 16, j * 64))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total, offset=(i * 64, j * 64))


@wp.kernel
def gemm_large(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(128, 128), dtype=float)
    for k in range(a.shape[1] // 16):
        x = wp.tile_load(a, shape=(128, 16), offset=(i * 128, k * 16))
        y = wp.tile_load(b, shape=(16, 128), offset=(k * 16, j * 128))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total, offset=(i * 128, j * 128))


@wp.kernel
def gemm_half(a: wp.array2d(dtype=wp.float16), b: wp.array2d(dtype=wp.float16), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(64, 64), dtype=float)
    for k in range(a.shape[1] // 32):
        x = wp.tile_load(a, shape=(64, 32), offset=(i * 64, k * 32))
        y = wp.tile_load(b, shape=(32, 64), offset=(k * 32, j * 64))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total, offset=(i * 64, j * 64))


@wp.kernel
def softmax(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
    i = wp.tid()
    row = wp.tile_load(a[i], shape=1024)
    parts = wp.tile_map(weight_of, row, wp.tile_full(shape=1024, value=wp.tile_max(row)[0], dtype=float))
    wp.tile_store(b[i], parts / wp.tile_sum(parts)[0])


@wp.kernel
def attention(q: wp.array2d(dtype=float), k: wp.array2d(dtype=float), v: wp.array2d(dtype=float), o: wp.array2d(dtype=float)):
    i = wp.tid()
    query = wp.tile_load(q, shape=(1, 64), offset=(i, 0))
    total = wp.tile_zeros(shape=(1, 64), dtype=float)
    largest = float(-1.0e30)
    weight = float(0.0)
    for n in range(k.shape[0] // 32):
        keys = wp.tile_load(k, shape=(32, 64), offset=(n * 32, 0))
        values = wp.tile_load(v, shape=(32, 64), offset=(n * 32, 0))
        scores = wp.tile_matmul(query, wp.tile_transpose(keys)) * 0.125
        above = wp.max(largest, wp.tile_max(scores)[0])
        parts = wp.tile_map(weight_of, scores, wp.tile_full(shape=(1, 32), value=above, dtype=float))
        fade = wp.exp(largest - above)
        weight = weight * fade + wp.tile_sum(parts)[0]
        total = total * fade + wp.tile_matmul(parts, values)
        largest = above
    wp.tile_store(o, total / weight, offset=(i, 0))


@wp.kernel
def cholesky(a: wp.array3d(dtype=float), l: wp.array3d(dtype=float)):
    i = wp.tid()
    matrix = wp.tile_load(a[i], shape=(32, 32))
    wp.tile_store(l[i], wp.tile_cholesky(matrix))
