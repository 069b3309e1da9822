"""What people write: simulation, graphics and learning, with control flow, structs, local arrays and gathers mixed."""
import warp as wp


@wp.struct
class State:
    p: wp.vec3
    v: wp.vec3
    e: float
    hits: int


@wp.struct
class Body:
    x: wp.array(dtype=float)
    k: float


@wp.func
def step_state(s: State, dt: float):
    s.v = s.v - s.p * dt
    s.p = s.p + s.v * dt
    if s.p[0] < 0.2:
        s.v[0] = -s.v[0] * 0.7
        s.hits += 1
    s.e = s.e + wp.dot(s.v, s.v)
    return s


@wp.func
def smooth(a: float, k: float):
    if a < -k:
        return 0.0
    if a > k:
        return a
    t = (a + k) * (a + k) / (4.0 * k)
    return t


@wp.func
def clipped(v: float, low: float):
    return wp.where(v < low, low * low, v * v)


@wp.func
def halves(v: float):
    return v * 0.5, v * v


@wp.kernel
def break_inplace(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    p = float(1.0)
    for j in range(8):
        v = x[(i + j) % 8]
        if v < 0.15:
            continue
        p *= v
        if j > 2 and s > 1.7:
            break
        s += p * v
    y[i] = s * p


@wp.kernel
def state(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    s = State()
    s.p = wp.vec3(x[i], x[(i + 1) % 8], x[(i + 2) % 8])
    s.v = wp.vec3(x[(i + 3) % 8], 0.0, x[i])
    for j in range(3 + idx[i]):
        s = step_state(s, 0.3)
    y[i] = s.e + s.p[0] * s.v[1] + float(s.hits)


@wp.kernel
def decay(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i] + 0.5
    b = float(1.0)
    n = int(0)
    while a > 0.1 and n < 30:
        t = a
        a = a * 0.8 - b * 0.01
        b = b + t * a
        n += 1
    y[i] = a * b


@wp.kernel
def fib_swap(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    b = x[(i + 1) % 8]
    c = x[(i + 2) % 8]
    for j in range(idx[i] + 4):
        t = a
        a = b * c
        b = wp.sin(c) + t
        c = t * 0.5
    y[i] = a + b * c


@wp.kernel
def vec_branch(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.vec3(x[i], x[(i + 1) % 8], x[(i + 2) % 8])
    for j in range(4):
        k = (j + idx[i]) % 3
        if v[k] > 0.5:
            v[k] = v[k] * v[(k + 1) % 3]
        else:
            v[(k + 2) % 3] += v[k] * v[k]
        v[0] -= 0.1 * v[2]
    y[i] = wp.length(v) * v[1]


@wp.kernel
def mat_index(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.mat33()
    for r in range(3):
        for c in range(3):
            m[r, c] = x[(i + r * 3 + c) % 8] + float(r * c)
    for r in range(3):
        q = idx[(i + r) % 8] % 3
        m[q, r] = m[r, q] * m[q, q]
        row = m[q]
        m[r] = row * 0.5 + m[r]
    d = wp.determinant(m)
    y[i] = d + wp.trace(m * m)


@wp.kernel
def gauss(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.mat33()
    for r in range(3):
        for c in range(3):
            m[r, c] = x[(i + r * 3 + c) % 8]
    det = float(1.0)
    for k in range(3):
        best = int(k)
        for r in range(k + 1, 3):
            if wp.abs(m[r, k]) > wp.abs(m[best, k]):
                best = r
        if best != k:
            t = m[k]
            m[k] = m[best]
            m[best] = t
            det = -det
        if wp.abs(m[k, k]) < 1.0e-9:
            y[i] = 0.0
            return
        det *= m[k, k]
        for r in range(k + 1, 3):
            f = m[r, k] / m[k, k]
            m[r] = m[r] - f * m[k]
    y[i] = det


@wp.kernel
def atomic_max(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_max(y, idx[i] % 4, x[i] * x[i] + x[(i + 3) % 8])


@wp.kernel
def quat(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.normalize(wp.quat(x[i], x[(i + 1) % 8], x[(i + 2) % 8], x[(i + 3) % 8]))
    v = wp.vec3(x[(i + 4) % 8], 1.0, -0.5)
    for j in range(3):
        v = wp.quat_rotate(q, v)
        q = wp.normalize(q * wp.quat(v[0] * 0.1, v[1] * 0.1, v[2] * 0.1, 1.0))
    m = wp.quat_to_matrix(q)
    y[i] = v[0] + m[1, 2] * v[1] + q[2]


@wp.kernel
def transform(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.transform(wp.vec3(x[i], x[(i + 1) % 8], x[(i + 2) % 8]), wp.normalize(wp.quat(x[(i + 3) % 8], x[(i + 4) % 8], x[(i + 5) % 8], 1.0)))
    acc = wp.transform_identity()
    for j in range(idx[i] + 1):
        acc = acc * t
    p = wp.transform_point(wp.transform_inverse(acc), wp.vec3(x[(i + 6) % 8], x[(i + 7) % 8], 1.0))
    y[i] = p[0] * p[1] + wp.transform_get_rotation(acc)[2]


@wp.kernel
def local_array(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=(8,), dtype=float)
    for j in range(8):
        a[j] = x[(i + j) % 8]
    for s in range(8):
        for j in range(7):
            if a[j] > a[j + 1]:
                t = a[j]
                a[j] = a[j + 1]
                a[j + 1] = t
    r = float(0.0)
    for j in range(8):
        r = r * 0.9 + a[j] * float(j)
    y[i] = r * a[3]


@wp.kernel
def early_return(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    lo = float(0.0)
    for j in range(20):
        lo += x[(i + j) % 8] * 0.3
        if lo > x[(i + 5) % 8]:
            y[i] = lo * lo + float(j)
            return
        if idx[(i + j) % 8] == 3:
            y[i] = wp.exp(-lo)
            return
    y[i] = lo


@wp.kernel
def grid_stride(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    m = float(0.0)
    v = float(0.0)
    n = float(0.0)
    j = int(i % 3)
    while j < x.shape[0]:
        n += 1.0
        d = x[j] - m
        m += d / n
        v += d * (x[j] - m)
        j += 3
    wp.atomic_add(y, i % 3, v / n)


@wp.kernel
def gather(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    xi = x[i]
    rho = float(0.0)
    for c in range(-1, 2):
        cell = idx[i] + c
        if cell < 0 or cell > 3:
            continue
        for j in range(8):
            if idx[j] != cell or j == i:
                continue
            d = xi - x[j]
            h = 0.6
            if wp.abs(d) < h:
                w = (h * h - d * d)
                rho += w * w * w
    y[i] = rho / (0.01 + rho)


@wp.kernel
def inv(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.mat33(x[i], x[(i + 1) % 8], x[(i + 2) % 8], x[(i + 3) % 8], x[(i + 4) % 8], x[(i + 5) % 8], x[(i + 6) % 8], x[(i + 7) % 8], 0.3)
    u, s, v = wp.svd3(m)
    r = u * wp.transpose(v)
    e = float(0.0)
    for j in range(3):
        e += (s[j] - 1.0) * (s[j] - 1.0) * wp.log(wp.abs(s[j]) + 1.0)
    y[i] = e + wp.ddot(r, m) * r[0, 1] + wp.inverse(m)[1, 1]


@wp.kernel
def randf(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(7, i)
    s = float(0.0)
    w = float(1.0)
    for j in range(10):
        r = wp.randf(state)
        p = x[(i + j) % 8] * w
        s += p * r
        if r < 0.2:
            break
        w *= (1.0 - r * x[i] * 0.2)
        wp.randf(state)
    y[i] = s


@wp.kernel
def func_tuple(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a, b = halves(x[i])
    for j in range(3):
        b, a = halves(a + b)
    y[i] = smooth(a - b, 0.3) + clipped(b, x[(i + 1) % 8])


@wp.kernel
def int_mix(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    u = x[i] * 6.9
    c = int(wp.floor(u))
    f = u - float(c)
    a = x[c % 8]
    b = x[(c + 1) % 8]
    t = f * f * (3.0 - 2.0 * f)
    y[i] = a + (b - a) * t + float(c // 2) * a


@wp.kernel
def inplace_y(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 2.0
    for j in range(4):
        y[i] = y[i] * y[i] * 0.3 + x[(i + j) % 8]
        if j == 2:
            y[i] += wp.sin(y[i])
    y[i] *= x[i]


@wp.kernel
def struct_array_field(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    b = Body()
    b.x = x
    b.k = x[i] * 2.0
    b.k *= b.x[(i + 2) % 8]
    for j in range(3):
        b.k = b.k * b.x[j] + b.x[(idx[j] + i) % 8]
    y[i] = b.k


@wp.kernel
def newton_div(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i] + 1.0
    z = a
    for j in range(40):
        f = z * z * z - a
        if wp.abs(f) < 1.0e-3:
            break
        z -= f / (3.0 * z * z)
    y[i] = z


@wp.kernel
def softmax(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    m = float(-1.0e30)
    for j in range(8):
        m = wp.max(m, x[j] * x[i])
    s = float(0.0)
    o = float(0.0)
    for j in range(8):
        e = wp.exp(x[j] * x[i] - m)
        s += e
        o += e * x[(j + 1) % 8]
    y[i] = o / s


@wp.kernel
def online_softmax(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    m = float(-1.0e30)
    s = float(0.0)
    o = wp.vec2()
    for j in range(8):
        l = x[j] * x[i] * 3.0
        n = wp.max(m, l)
        c = wp.exp(m - n)
        p = wp.exp(l - n)
        s = s * c + p
        o = o * c + wp.vec2(x[(j + 1) % 8], x[(j + 2) % 8]) * p
        m = n
    o /= s
    y[i] = o[0] * o[1]


@wp.kernel
def horner_nested(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    acc = float(0.0)
    for a in range(idx[i] + 1):
        inner = float(1.0)
        for b in range(a + 1):
            if (a + b) % 3 == 1:
                inner = inner * x[(a + b) % 8] + acc
            elif inner > 1.5:
                break
            else:
                inner += x[i] * inner
        acc = acc * 0.5 + inner
    y[i] = acc


@wp.kernel
def ray_march(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    o = wp.vec3(x[i], x[(i + 1) % 8], -2.0)
    d = wp.normalize(wp.vec3(x[(i + 2) % 8] * 0.1, 0.0, 1.0))
    t = float(0.0)
    steps = int(0)
    for j in range(25):
        p = o + d * t
        h = wp.min(wp.length(p) - 0.7, wp.length(p - wp.vec3(0.5, 0.5, x[(i + 3) % 8])) - 0.4)
        if h < 0.01:
            break
        t += h
        steps = steps + 1
        if t > 8.0:
            t = -1.0
            break
    y[i] = wp.where(t < 0.0, 0.0, t * t) + float(steps)


@wp.kernel
def ping_pong(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=(4,), dtype=float)
    b = wp.zeros(shape=(4,), dtype=float)
    for j in range(4):
        a[j] = x[(i + j) % 8]
    for s in range(5):
        for j in range(4):
            if s % 2 == 0:
                b[j] = a[j] * 0.5 + a[(j + 1) % 4] * a[(j + 3) % 4]
            else:
                a[j] = b[j] * 0.5 + b[(j + 1) % 4] * b[(j + 3) % 4]
    y[i] = a[0] * b[1] + a[2]


@wp.kernel
def loop_carried_vec(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    w = wp.spatial_vector(x[i], x[(i + 1) % 8], x[(i + 2) % 8], x[(i + 3) % 8], x[(i + 4) % 8], x[(i + 5) % 8])
    for j in range(4):
        c = wp.cross(wp.spatial_top(w), wp.spatial_bottom(w))
        w[j] = c[j % 3] + w[j + 1] * w[j]
        w += wp.spatial_vector(c[0], c[1], c[2], w[0], w[1], w[2]) * 0.2
    y[i] = wp.spatial_dot(w, w)


@wp.kernel
def lu_solve(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=(16,), dtype=float)
    for r in range(4):
        for c in range(4):
            a[r * 4 + c] = x[(i + r + c * 2) % 8] * 0.3
        a[r * 4 + r] += 2.0
    b = wp.vec4(x[0], x[1], x[2], x[i])
    for k in range(4):
        p = a[k * 4 + k]
        for r in range(k + 1, 4):
            f = a[r * 4 + k] / p
            for c in range(k, 4):
                a[r * 4 + c] -= f * a[k * 4 + c]
            b[r] -= f * b[k]
    for q in range(4):
        k = 3 - q
        s = b[k]
        for c in range(k + 1, 4):
            s -= a[k * 4 + c] * b[c]
        b[k] = s / a[k * 4 + k]
    y[i] = b[0] * b[1] + b[2] * b[3]


@wp.func
def ack(v: float, n: int):
    if n > 2:
        if v > 0.4:
            return v * v
        v = v + float(n) * v
    else:
        for j in range(n + 1):
            v *= 1.2
            if v > 0.9:
                return wp.sqrt(v)
    return v * 3.0


@wp.kernel
def returns(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(8):
        s += ack(x[j] * x[i], idx[j]) * float(j + 1)
    y[i] = s


@wp.kernel
def min_chain(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    best = float(1.0e9)
    arg = int(-1)
    for j in range(8):
        if j == i:
            continue
        d = wp.abs(x[j] - x[i])
        if d < best:
            best = d
            arg = j
    y[i] = best * x[arg] + wp.pow(x[i], x[arg])


@wp.kernel
def atomic_local(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=(5,), dtype=float)
    for j in range(8):
        a[idx[j] % 5] += x[j] * x[i]
    t = float(1.0)
    for j in range(5):
        if a[j] != 0.0:
            t *= a[j]
    y[i] = t


@wp.kernel
def ref(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    w = x[(i + 1) % 8]
    m = wp.min(v, w)
    b = wp.bool(idx[i] > 1)
    s = float(0.0)
    for j in range(idx[i] + 2):
        s += wp.where(b, v * w, v + w)
        b = not b
        v, w = w * m, v + s
    y[i] = wp.atan2(s, v) + wp.sign(v - w) * wp.frac(s)


@wp.kernel
def neg_steps(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    for j in range(7, -1, -2):
        s = s * x[j] + wp.cos(s)
        for k in range(j, i, -1):
            s -= x[k] * s * 0.1
            if s < 0.2:
                s += x[i]
                break
    y[i] = s


@wp.kernel
def scatter_own(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    n = int(0)
    last = float(0.0)
    for j in range(8):
        if idx[j] > 1:
            last = last * 0.3 + x[j] * x[i]
            n += 1
            if n == 3:
                y[i] = last * x[j]
                n = 0
    if n > 0:
        y[i] += last


@wp.kernel
def rk4(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    p = wp.vec2(x[i], x[(i + 1) % 8])
    mu = x[(i + 2) % 8]
    h = float(0.1)
    for j in range(10 + idx[i]):
        k1 = wp.vec2(p[1], mu * (1.0 - p[0] * p[0]) * p[1] - p[0])
        q = p + k1 * (h * 0.5)
        k2 = wp.vec2(q[1], mu * (1.0 - q[0] * q[0]) * q[1] - q[0])
        e = wp.length(k1 - k2)
        if e > 0.04:
            h = h * 0.9
            continue
        p = p + k2 * h
        h = wp.min(h * 1.1 + e * 0.01, 0.2)
    y[i] = p[0] * p[1] + h


@wp.kernel
def quat_slots(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.quat(x[i], x[(i + 1) % 8], x[(i + 2) % 8], x[(i + 3) % 8])
    for j in range(6):
        k = (idx[(i + j) % 8] + j) % 4
        q[k] = q[k] * q[(k + 1) % 4] + 0.2
        if q[k] > 0.6:
            q = wp.quat_inverse(q)
    axis, angle = wp.quat_to_axis_angle(wp.normalize(q))
    y[i] = angle * axis[0] + wp.dot(q, q)


@wp.kernel
def trap(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(8):
        d = x[i] - x[j]
        r2 = d * d
        if r2 > 0.0:
            s += wp.sqrt(r2) / (r2 + 0.1)
        s += wp.where(r2 > 0.0, wp.log(r2), 0.0) * 0.01
    y[i] = s


@wp.kernel
def eig(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    b = x[(i + 1) % 8]
    c = x[(i + 2) % 8]
    m = wp.mat33(a + 2.0, b, c, b, a * c, x[(i + 3) % 8], c, x[(i + 3) % 8], -b)
    q, d = wp.eig3(m)
    e = wp.mat33()
    for k in range(3):
        e[k, k] = wp.exp(d[k])
    f = q * e * wp.transpose(q)
    y[i] = f[0, 1] + f[2, 2] * f[1, 2]


@wp.kernel
def clamp_mod(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i] * 5.3
    b = x[(i + 1) % 8] + 0.37
    m = a % b
    f = wp.mod(-a, b)
    q = a // b
    y[i] = m * x[(i + 2) % 8] + f * f + q * x[i] + wp.clamp(m, 0.1, b * 0.6) + wp.lerp(a, b, f) + wp.step(m - 0.1)


@wp.kernel
def views(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.zeros(shape=(3, 3), dtype=float)
    for r in range(3):
        for c in range(3):
            t[r, c] = x[(i + r + 2 * c) % 8]
    s = float(0.0)
    for r in range(3):
        v = t[r]
        w = t[(r + idx[i]) % 3]
        v[1] = w[0] * v[2]
        w[2] += v[1] * v[0]
        s += w[2] * v[1]
    y[i] = s + t[2, 2]
