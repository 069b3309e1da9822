# keeps: operands compare targets names calls after
import warp as wp


@wp.kernel
def operands(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 1.0 +
    x[i] = * 2.0
    x[i] = 1.0 2.0
    x[i] = (1.0 + )
    x[i] = x[]
    x[i] =
    i++
    x[i] = x[i] if i > 0
    x[i] = x[i] ? 1.0 : 2.0
    x[i] = !x[i]
    if i > 0 && i < 3:
        x[i] = 1.0
    if i > 0 || i < 3:
        x[i] = 1.0
    x[i] = wp.
    x[i] = wp.sin(x[i],, 2.0)
    x[i] = 1.0 + $ * 2.0
    return return
    1.0 = x[i]


@wp.kernel
def compare(x: wp.array(dtype=float)):
    if x[0] = 1.0:
        x[0] = 2.0
    while x[0] = 1.0:
        x[0] = 2.0
    assert x[0] = 1.0
    y = wp.where(x[0] = 1.0, 1.0, 2.0)


@wp.kernel
def targets(x: wp.array(dtype=float)):
    wp.sin(1.0) = 2.0
    x[0] + 1.0 = 2.0
    a, 3 = 1, 2
    a, b += 1, 2
    for 3 in range(3):
        x[0] = 1.0
    (a, b): int = 3
    "a" = 3
    -a = 3


@wp.kernel
def names(x: wp.array(dtype=float)):
    lambda = 3.0
    x.class = 3.0
    for = 3
    in = 3
    print = 3


@wp.kernel
def calls(x: wp.array(dtype=float)):
    x[0] = wp.f(a=1.0, 2.0)
    x[0] = wp.f(1.0 2.0)
    x[0] = wp.f(1.0; 2.0)
    x[0] = wp.f(3 = 2.0)


@wp.func
def after(a: float):
    return a
# errors: 8 E0111, 9 E0111, 10 E0112, 11 E0111, 12 E0111, 13 E0111, 14 E0111, 15 E0112, 16 E0101, 17 E0101
# errors: 18 E0111, 20 E0111, 22 E0111, 23 E0111, 24 E0101, 25 E0112, 26 E0113
# errors: 31 E0110, 33 E0110, 35 E0110, 36 E0110
# errors: 41 E0113, 42 E0113, 43 E0113, 44 E0113, 45 E0113, 47 E0113, 48 E0113, 49 E0113
# errors: 54 E0116, 55 E0116, 56 E0116, 57 E0116
# errors: 63 E0117, 64 E0112, 65 E0112, 66 E0110
