# keeps: unclosed_call unclosed_index inner several stray header multiline after
import warp as wp


@wp.kernel
def unclosed_call(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.sin(x[i]
    y[i] = a
    y[i] = wp.max(a, wp.min(a, 1.0)


@wp.kernel
def unclosed_index(x: wp.array(dtype=float)):
    i = wp.tid()
    if x[i > 0.0:
        x[i] = 0.0
    x[i = 1.0
    x[i] = x[i + 1


@wp.func
def inner(a: float):
    b = wp.sin(wp.vec3(a, a, a)[0)
    return wp.cos(a[0)


@wp.kernel
def several(x: wp.array(dtype=float)):
    for i in range(3:
        x[i] = 0.0
    while (x[0] > 0.0:
        x[0] = x[0] - 1.0


@wp.kernel
def stray(x: wp.array(dtype=float)):
    i = wp.tid())
    x[i]] = 1.0
    x[i] = wp.sin x[i])
    x[i] = 2.0}


@wp.kernel
def header(x: wp.array(dtype=float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel
def multiline(x: wp.array(dtype=float)):
    x[0] = wp.max(
        1.0,
        2.0
    x[1] = (
        1.0
        + 2.0


@wp.kernel
def after(x: wp.array(dtype=float)):
    x[0] = 1.0
# errors: 8 E0104, 10 E0104, 16 E0104, 18 E0104, 19 E0104, 24 E0104, 25 E0104, 30 E0104, 32 E0104
# errors: 38 E0105, 39 E0105, 40 E0105, 41 E0105, 45 E0104, 52 E0104, 55 E0104
