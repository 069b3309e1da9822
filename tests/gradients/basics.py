"""What gradients are made of, one construct a kernel, for first and second derivatives. See loops_and_overwrites.py."""
import warp as wp


@wp.struct
class Particle:
    position: wp.vec3
    mass: float
    kind: int


@wp.kernel
def straight(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    out[i] = wp.sin(v) * wp.exp(-v) + wp.log(1.0 + v * v) / (2.0 + v) + wp.sqrt(v * v + 0.5) * wp.tanh(v)


@wp.kernel
def branches(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    if v > 0.5:
        v = v * v * v
    elif v < -0.25:
        v = wp.exp(v) * v
    else:
        v = v / (1.5 + v)
    out[i] = v * x[i] if i % 2 == 0 else wp.where(v > 0.0, v * v, -v * x[i])


@wp.kernel
def vectors(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    n = wp.normalize(a[i])
    c = wp.cross(n, b[i]) * wp.dot(a[i], b[i])
    c[1] = c[0] * c[2] + wp.length(b[i])
    out[i] = c + n * 0.5


@wp.kernel
def matrices(m: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a = m[i] * wp.transpose(m[i]) + wp.identity(n=3, dtype=float)
    out[i] = wp.inverse(a) * v[i] * wp.determinant(a) + wp.outer(v[i], v[i]) * a[1]


@wp.kernel
def rotations(q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    r = wp.normalize(q[i])
    out[i] = wp.quat_rotate(r, v[i]) + wp.quat_rotate(wp.quat_from_axis_angle(wp.normalize(v[i]), v[i][0]), v[i])


@wp.kernel
def neighbours(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """Each element is read by three threads."""
    i = wp.tid()
    left = x[(i + n - 1) % n]
    right = x[(i + 1) % n]
    out[i] = left * x[i] * right + wp.cos(left - right)


@wp.kernel
def gather_scatter(x: wp.array(dtype=float), link: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[link[i]] * x[i]
    wp.atomic_add(out, link[i] // 2, v * v)
    wp.atomic_sub(out, 0, wp.sin(v))


@wp.kernel
def particles(p: wp.array(dtype=Particle), force: wp.array(dtype=wp.vec3), out: wp.array(dtype=Particle)):
    i = wp.tid()
    s = p[i]
    s.position = s.position + force[i] / s.mass
    s.mass = s.mass * wp.length(s.position)
    out[i] = s


@wp.func
def cubed(v: float) -> float:
    return v * v * v


@wp.func_grad(cubed)
def adj_cubed(v: float, adj_ret: float):
    wp.adjoint[v] += 3.0 * v * v * adj_ret


@wp.func
def twice(v: float):
    return wp.sin(v) * v, v * v


@wp.kernel
def functions(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a, b = twice(x[i])
    out[i] = cubed(a) * b + cubed(b + x[i])


@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A matrix times a vector, then a quadratic form of both."""
    i = wp.tid()
    s = float(0.0)
    for j in range(x.shape[1]):
        s += x[i, j] * y[j] * y[i]
    out[i] = s * s


@wp.kernel
def work_array(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    w = wp.zeros(shape=4, dtype=float)
    for k in range(4):
        w[k] = x[i] * float(k + 1)
    for k in range(3):
        w[k + 1] = w[k + 1] + w[k] * w[(k + 2) % 4]
    out[i] = w[3] * w[2]


@wp.func
def inner_return(v: float, n: int):
    a = float(v)
    b = float(0.75)
    for j in range(n):
        b = a
        for k in range(2):
            a = b * b + 0.25 * v
            if a > 0.75:
                return b
    return a


@wp.kernel
def nested_return(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A function that returns from inside an inner loop, whose state is nothing to the outer one."""
    i = wp.tid()
    out[i] = inner_return(x[i], n)
