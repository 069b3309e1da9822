"""Parameters by reference: numbers, elements, parts of them, structs and arrays. See loops_and_overwrites.py."""
import warp as wp


@wp.struct
class S:
    a: float
    v: wp.vec3


@wp.func
def scale(x: wp.ref[float], k: float):
    x = x * k


@wp.func
def bump(x: wp.ref[float], y: wp.ref[float]):
    x += y * y
    y = x * 0.5
    return x * y


@wp.func
def turn(v: wp.ref[wp.vec3], k: float):
    v = wp.vec3(v[1] * k, v[2], v[0] * v[0])


@wp.func
def both(s: wp.ref[S], k: float):
    s.a = s.a * k
    scale(s.v[1], s.a)


@wp.kernel
def local(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    scale(s, x[i])
    scale(s, 3.0)
    out[i] = s


@wp.kernel
def element(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    scale(y[i], x[i])
    scale(y[i], x[i])
    out[i] = y[i] * y[i]


@wp.kernel
def looped(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    b = float(0.3)
    s = float(0.0)
    for k in range(n):
        s += bump(a, b)
        scale(a, 0.25)
    out[i] = s + a * b


@wp.kernel
def vectors(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    turn(v, 2.0)
    scale(v[2], v[0])
    turn(v, v[1])
    out[i] = wp.dot(v, x[i])


@wp.kernel
def fields(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = S()
    s.a = x[i]
    s.v = wp.vec3(x[i], 2.0 * x[i], 1.0)
    both(s, x[i])
    both(s, 2.0)
    out[i] = s.a * s.v[1]


@wp.func
def second(values: wp.ref[wp.array2d(dtype=float)], r: int):
    return values[r, 1] * values[r, 0]


@wp.func
def other(values: wp.ref[wp.array(dtype=float)], w: wp.array(dtype=float)):
    values = w


@wp.kernel
def arrays(x: wp.array2d(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a = y
    if i % 2 == 0:
        other(a, z)
    out[i] = second(x, i) * a[i]


@wp.func
def fill(t: wp.ref[wp.array(dtype=float)], i: int, v: float):
    t[i] = v * v


@wp.kernel
def filled(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    fill(out, i, x[i])


@wp.kernel
def matrix(x: wp.array(dtype=wp.mat22), out: wp.array(dtype=float)):
    i = wp.tid()
    m = x[i]
    scale(m[0, 1], m[1, 0])
    scale(m[1, 1], m[0, 1])
    out[i] = m[0, 1] * m[1, 1]


@wp.kernel
def component(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    scale(x[i][1], x[i][0])
    scale(x[i][2], x[i][1])
    out[i] = x[i][2] * x[i][1]
