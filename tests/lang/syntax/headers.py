# keeps: colons no_colon bad_name_follows half annotation keyword after
import warp as wp


@wp.kernel
def colons(x: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0
        x[i] = 1.0
    elif x[i] < -1.0
        x[i] = 2.0
    else
        x[i] = 3.0
    for k in range(3)
        x[k] = 0.0
    while i < 3
        i += 1
    if i > 0 x[i] = 1.0
    if i > 0 return
    else if i < 0:
        x[i] = 2.0


@wp.func
def no_colon(a: float) -> float
    return a


@wp.kernel
def (x: wp.array(dtype=float)):
    x[0] = 1.0


@wp.kernel
def bad_name_follows(x: wp.array(dtype=float)):
    x[0] = 1.0


@wp.kernel
def half(x: wp.array(dtype=float), n: int, ):
    if
        x[0] = 1.0
    for in range(n):
        x[1] = 1.0
    for i in:
        x[1] = 1.0
    while:
        x[0] = 2.0


@wp.func
def annotation(a: , b: float = , c: int):
    return a + b


@wp.func
def keyword(lambda: float, b: float):
    return b


@wp.func
def twice(a: float, b: float, a: int):
    return b


@wp.func
def bare:
    return 1.0


@wp.func
def after(a: float):
    return a
# errors: 8 E0109, 10 E0109, 12 E0109, 14 E0109, 16 E0109, 18 E0109, 19 E0109, 20 E0112
# errors: 25 E0109, 30 E0116, 41 E0111, 43 E0111, 45 E0111, 47 E0111
# errors: 52 E0111, 57 E0116, 62 E0117, 67 E0116
