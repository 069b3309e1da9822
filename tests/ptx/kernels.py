"""Kernels in which the threads of a warp work together, loops are unrolled, and composites move at once."""

import warp as wp


@wp.kernel
def sums(x: wp.array(dtype=wp.float32), p: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.float64), k: int,
         h: wp.array(dtype=wp.float16), total: wp.array(dtype=wp.float32), center: wp.array(dtype=wp.vec3),
         table: wp.array2d(dtype=wp.float64), halves: wp.array(dtype=wp.float16)):
    i = wp.tid()
    wp.atomic_add(halves, 1, h[i])
    wp.atomic_add(total, 0, x[i] * x[i])
    wp.atomic_sub(center, 1, p[i])
    wp.atomic_add(table, k, k + 1, d[i])


@wp.kernel
def extremes(x: wp.array(dtype=wp.float32), d: wp.array(dtype=wp.float64), low: wp.array(dtype=wp.float32),
             high: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_min(low, 0, x[i])
    wp.atomic_max(high, 1, d[i])


@wp.kernel
def parted(x: wp.array(dtype=wp.float32), n: int, total: wp.array(dtype=wp.float32)):
    i, j = wp.tid()
    v = x[i * n + j]
    if v > 0.0:
        wp.atomic_add(total, 0, v)
        if v > 0.5:
            wp.atomic_add(total, 1, v)
    else:
        wp.atomic_sub(total, 2, v)
    for k in range(i % 3):
        wp.atomic_add(total, 3, v + float(k))
    wp.atomic_add(total, j % 2, 1.0)


@wp.kernel
def shared_weights(x: wp.array(dtype=wp.vec2), w: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = w[0] * x[i][0] + wp.sin(w[1] * x[i][1]) + w[i % 2]


@wp.kernel
def rows(start: wp.array(dtype=wp.int32), column: wp.array(dtype=wp.int32), value: wp.array(dtype=wp.float32),
         x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    s = float(0.0)
    for k in range(start[i], start[i + 1]):
        s += value[k] * x[column[k]]
    y[i] = s


@wp.kernel
def stencil(u: wp.array2d(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
    i, j = wp.tid()
    h = u.shape[0]
    w = u.shape[1]
    if i > 0 and i < h - 1 and j > 0 and j < w - 1:
        out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) + u[i - h, wp.clamp(j - 2, 0, w - 1)]


@wp.kernel
def moves(q: wp.array(dtype=wp.quat), m: wp.array2d(dtype=wp.mat44), v: wp.array(dtype=wp.vec4), two: wp.array(dtype=wp.vec2d),
          p: wp.array(dtype=wp.vec4), o: wp.array(dtype=wp.vec2d)):
    i = wp.tid()
    r = wp.quat_rotate(q[i], wp.vec3(v[i][0], v[i][1], v[i][2]))
    row = m[i]
    p[i] = row[1] * v[i] + wp.vec4(r[0], r[1], r[2], v[i][3])
    o[i] = two[i] + two[i] * wp.float64(0.5)


@wp.kernel
def boxes(out: wp.array4d(dtype=wp.int32)):
    i, j, k, l = wp.tid()
    out[i, j, k, l] = ((i * 10 + j) * 10 + k) * 10 + l


@wp.kernel
def bins(x: wp.array(dtype=wp.float32), column: wp.array(dtype=wp.int32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    few = wp.zeros(shape=(7,), dtype=wp.float32)
    some = wp.zeros(shape=(41,), dtype=wp.float32)
    many = wp.zeros(shape=(301,), dtype=wp.float32)
    for k in range(column[i] % 9):
        few[(column[i] + k) % 7] += x[i]
        some[(column[i] + 5 * k) % 41] += x[i]
        many[(column[i] + 37 * k) % 301] += x[i]
    s = float(0.0)
    for k in range(7):
        s += few[k] * float(k)
    for k in range(41):
        s += some[k] * float(k)
    for k in range(301):
        s += many[k] * float(k)
    out[i] = s


@wp.kernel
def mathematics(x: wp.array(dtype=wp.float32), v: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.float64), h: wp.array(dtype=wp.float16),
                y: wp.array(dtype=wp.float32), n: wp.array(dtype=wp.vec3), e: wp.array(dtype=wp.float64), g: wp.array(dtype=wp.float16)):
    i = wp.tid()
    seed = wp.rand_init(42, i)
    a = wp.log(1.5 + x[i]) * wp.sin(9.0 * x[i]) + wp.pow(wp.abs(x[i]), 1.7) + wp.erf(x[i])
    y[i] = a + wp.log(1.5 + a * a) + wp.noise(seed, v[i]) + wp.float32(wp.randi(seed, 0, 10))
    n[i] = wp.normalize(v[i]) + wp.cross(v[i], wp.normalize(wp.vec3(a, 1.0, x[i])))
    e[i] = wp.exp(d[i]) * wp.atan2(d[i], wp.float64(0.3))
    g[i] = wp.tanh(h[i])


@wp.kernel
def by_value(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), s: float, v: wp.vec3d, k: int, h: wp.float16):
    i = wp.tid()
    t = x[i]
    for n in range(k):
        t = t * s + float(v[n])
    if i % 3 == 0:
        t = t * float(h)
    y[i] = t
