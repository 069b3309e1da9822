"""The kernels of the benchmark suite (benches/host.py --suite), whose decisions on lanes a test looks at."""

import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), a: wp.float32, out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = a * x[i] + y[i]


@wp.kernel
def vec3_norm_dot(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.dot(wp.normalize(a[i]), wp.normalize(b[i]))


@wp.kernel
def mat33_inv_mul(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    out[i] = wp.inverse(a[i]) * b[i]


@wp.kernel
def nbody(pos: wp.array(dtype=wp.vec3), n: wp.int32, eps: wp.float32, acc: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = pos[i]
    a = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = pos[j] - p
        r2 = wp.dot(d, d) + eps
        inv = 1.0 / wp.sqrt(r2)
        a += d * (inv * inv * inv)
    acc[i] = a


@wp.kernel
def jacobi(u: wp.array2d(dtype=wp.float32), f: wp.array2d(dtype=wp.float32), h2: wp.float32, w: wp.int32, h: wp.int32, out: wp.array2d(dtype=wp.float32)):
    i, j = wp.tid()
    if i > 0 and i < h - 1 and j > 0 and j < w - 1:
        out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - h2 * f[i, j])


@wp.kernel
def sph_density(pos: wp.array(dtype=wp.vec3), nbr: wp.array2d(dtype=wp.int32), k: wp.int32, h: wp.float32, rho: wp.array(dtype=wp.float32)):
    i = wp.tid()
    p = pos[i]
    s = float(0.0)
    for n in range(k):
        j = nbr[i, n]
        d = p - pos[j]
        q = h * h - wp.dot(d, d)
        if q > 0.0:
            s += q * q * q
    rho[i] = s


@wp.kernel
def transcend(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    v = x[i]
    out[i] = wp.sin(v) * wp.exp(-v) + wp.pow(v, 1.7) + wp.log(v + 1.0) * wp.cos(v)


@wp.kernel
def reduce_atomic(x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    v = x[i]
    wp.atomic_add(out, 0, v * v)


@wp.kernel
def histogram(idx: wp.array(dtype=wp.int32), x: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    wp.atomic_add(out, idx[i], x[i])


@wp.kernel
def mandelbrot(w: wp.int32, h: wp.int32, maxit: wp.int32, out: wp.array2d(dtype=wp.int32)):
    i, j = wp.tid()
    cr = -2.0 + 3.0 * float(j) / float(w)
    ci = -1.5 + 3.0 * float(i) / float(h)
    zr = float(0.0)
    zi = float(0.0)
    it = int(0)
    while it < maxit and zr * zr + zi * zi < 4.0:
        t = zr * zr - zi * zi + cr
        zi = 2.0 * zr * zi + ci
        zr = t
        it += 1
    out[i, j] = it


@wp.func
def sdf_scene(p: wp.vec3, r: wp.float32):
    s = wp.length(p) - r
    b = wp.length(wp.vec3(p[0] - 0.6, p[1], p[2])) - 0.5 * r
    g = p[1] + 0.8
    return wp.min(wp.min(s, b), g)


@wp.kernel
def sdf_march(w: wp.int32, h: wp.int32, radius: wp.array(dtype=wp.float32), depth: wp.array2d(dtype=wp.float32)):
    i, j = wp.tid()
    x = 2.0 * (float(j) + 0.5) / float(w) - 1.0
    y = 1.0 - 2.0 * (float(i) + 0.5) / float(h)
    d = wp.normalize(wp.vec3(x, y, 1.5))
    o = wp.vec3(0.0, 0.0, -3.0)
    r = radius[0]
    t = float(0.0)
    for k in range(48):
        t += wp.min(sdf_scene(o + d * t, r), 0.25)
    depth[i, j] = t


@wp.kernel
def spmv(rowptr: wp.array(dtype=wp.int32), col: wp.array(dtype=wp.int32), val: wp.array(dtype=wp.float32), x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    s = float(0.0)
    for k in range(rowptr[i], rowptr[i + 1]):
        s += val[k] * x[col[k]]
    y[i] = s


@wp.kernel
def noise2d(seed: wp.int32, p: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    st = wp.rand_init(seed)
    out[i] = wp.noise(st, p[i])


@wp.kernel
def rand_sum(seed: wp.int32, out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    st = wp.rand_init(seed, i)
    s = float(0.0)
    for k in range(16):
        s += wp.randf(st)
    out[i] = s


@wp.kernel
def springs(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), ij: wp.array2d(dtype=wp.int32), rest: wp.array(dtype=wp.float32), ke: wp.float32, kd: wp.float32, f: wp.array(dtype=wp.vec3)):
    s = wp.tid()
    i = ij[s, 0]
    j = ij[s, 1]
    xij = x[i] - x[j]
    vij = v[i] - v[j]
    l = wp.length(xij)
    d = xij / l
    fs = d * (ke * (l - rest[s]) + kd * wp.dot(d, vij))
    wp.atomic_sub(f, i, fs)
    wp.atomic_add(f, j, fs)
