"""Gradients of tiles: what is overwritten, carried by loops, summed, repeated, and multiplied as matrices."""
import warp as wp


@wp.kernel
def powers(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = wp.tile_load(x, shape=3, offset=i * 3)
    acc = wp.tile_ones(shape=3, dtype=float)
    for k in range(n % 5):
        acc = acc * t
    wp.tile_store(out, acc, offset=i * 3)


@wp.kernel
def overwritten(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=5, offset=i * 5)
    b = t * t
    t[0] = 0.0
    t[1:3] = wp.tile_ones(shape=2, dtype=float)
    wp.tile_store(out, b * t, offset=i * 5)


@wp.kernel
def products(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    x = wp.tile_load(a, shape=(3, 3), offset=(i * 3, 0))
    y = wp.tile_load(b, shape=(3, 3), offset=(i * 3, 0))
    d = y * y
    wp.tile_matmul(x, wp.tile_transpose(x), y, alpha=0.5, beta=2.0)
    wp.tile_store(out, d + y, offset=(i * 3, 0))


@wp.func
def combined(x: float, y: float):
    return x * y + wp.sin(x)


@wp.kernel
def reductions(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=6, offset=i * 6)
    full = wp.tile_full(shape=6, value=t[1] * t[2])
    low = wp.tile_min(t)
    high = wp.tile_max(t * full)
    folded = wp.tile_reduce(combined, t)
    running = wp.tile_scan_inclusive(t * t) * wp.tile_scan_max_inclusive(t)
    mix = running + wp.tile_scan_exclusive(full) * low[0] + wp.tile_map(combined, t, high[0] * folded[0])
    half = mix[::2]
    half += half
    wp.tile_axpy(3.0, t, mix)
    total = wp.tile_dot(mix, t)
    if total[0] > 0.5:
        late = mix * total[0]
    else:
        late = mix - t
    wp.tile_atomic_add(out, late, offset=i * 6)


@wp.kernel
def attention(q: wp.array2d(dtype=float), k: wp.array2d(dtype=float), v: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    queries = wp.tile_load(q, shape=(2, 4), offset=(i * 2, 0))
    acc = wp.tile_zeros(shape=(2, 4), dtype=float)
    total = wp.tile_zeros(shape=2, dtype=float)
    for j in range(3):
        keys = wp.tile_load(k, shape=(3, 4), offset=(j * 3, 0))
        values = wp.tile_load(v, shape=(3, 4), offset=(j * 3, 0))
        w = wp.tile_map(wp.exp, wp.tile_matmul(queries, wp.tile_transpose(keys)))
        total += wp.tile_sum(w, axis=1)
        wp.tile_matmul(w, values, acc)
    acc = acc / wp.tile_broadcast(wp.tile_reshape(total, shape=(2, 1)), shape=(2, 4))
    wp.tile_store(out, acc, offset=(i * 2, 0))


@wp.kernel
def systems(a: wp.array2d(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.tile_load(a, shape=(4, 4), offset=(i * 4, 0))
    s = wp.tile_diag_add(wp.tile_matmul(m, wp.tile_transpose(m)), wp.tile_ones(shape=4, dtype=float))
    factor = wp.tile_cholesky(s)
    right = wp.tile_load(y, shape=4, offset=i * 4)
    x = wp.tile_cholesky_solve(factor, right)
    z = wp.tile_upper_solve(wp.tile_cholesky(s, fill_mode="upper"), right)
    wp.tile_store(out, x * z, offset=i * 4)


@wp.kernel
def sorting(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    keys = wp.tile_load(x, shape=7, offset=i * 7)
    values = wp.tile_load(y, shape=7, offset=i * 7)
    wp.tile_sort(keys, values)
    wp.tile_store(out, keys * wp.tile_scan_inclusive(values), offset=i * 7)


@wp.kernel
def spectrum(x: wp.array2d(dtype=wp.vec2), out: wp.array2d(dtype=wp.vec2)):
    i = wp.tid()
    t = wp.tile_load(x, shape=(1, 4), offset=(i, 0))
    wp.tile_fft(t)
    t = t * 0.5
    wp.tile_ifft(t)
    u = wp.tile_load(x, shape=(1, 3), offset=(i, 1))
    wp.tile_fft(u)
    t[:, 1:] = u
    wp.tile_store(out, wp.tile_map(wp.cw_mul, t, t), offset=(i, 0))


@wp.func
def squared(t: wp.tile[float, 3, 2]):
    t[1, 1] = t[0, 0] * t[1, 1]
    wp.tile_assign(t, t * t)
    return wp.tile_sum(t)[0]


@wp.kernel
def passed_views(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float), n: int):
    i = wp.tid()
    t = wp.tile_load(x, shape=(2, 3), offset=(i * 2, 0))
    columns = wp.tile_transpose(t)
    for k in range(n % 3):
        total = squared(columns)
        columns[2, 0] = total * columns[1, 1]
    wp.tile_store(out, t, offset=(i * 2, 0))


@wp.kernel
def printed(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=3, offset=i * 3)
    u = t * t
    print(u)
    wp.tile_store(out, u * t, offset=i * 3)


@wp.kernel
def lanes(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    t = wp.tile(x[i])
    whole = wp.tile(x[i], preserve_type=True)
    spread = wp.tile_from_thread(shape=3, value=y[i], thread_idx=0)
    wp.tile_scatter_add(spread, i % 3, y[i] * y[i], y[i] > 0.0)
    wp.tile_scatter_masked(spread, 1, 2.0 * y[i], y[i] > 0.5)
    t = wp.tile_map(wp.sin, t) + wp.tile_reshape(spread, shape=(3, 1))
    out[i] = wp.untile(t) * wp.length(wp.untile(whole))


@wp.kernel
def set_through_views(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    i = wp.tid()
    t = wp.tile_load(x, shape=12, offset=i * 12)
    r = wp.tile_reshape(t, shape=(3, 4))
    part = r[0:2, 0:2] * r[1:3, 2:4]
    wp.tile_assign(r, part, offset=(n % 2, 1))
    wp.tile_assign(wp.tile_transpose(r), part * part, offset=(2, 0))
    wp.tile_assign(wp.tile_reshape(t, shape=(6, 2)), r[0:2, 1:3], offset=(1, 0))
    wp.tile_axpy(2.0, r[1], wp.tile_reshape(t[8:12], shape=(4,)))
    wp.tile_matmul(part, part, wp.tile_reshape(t[4:8], shape=(2, 2)))
    wp.tile_store(out, t, offset=i * 12)
