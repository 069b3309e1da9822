# keeps: strings numbers torn after
import warp as wp

host = "unclosed in host code
$$$ ??? nothing of ours


@wp.kernel
def strings(x: wp.array(dtype=float)):
    """Good doc."""
    print("abc)
    print('abc
    print("\x4")
    x[0] = 1.0


@wp.kernel
def numbers(x: wp.array(dtype=float)):
    x[0] = float(0777)
    x[0] = float(0x)
    x[0] = float(0b12)
    x[0] = 1.0 − 2.0
    x[0] = 3.0 \ + 2.0


@wp.kernel
def torn(x: wp.array(dtype=float)):
    """Never closed.
    x[0] = 1.0

@wp.func
def after(a: float):
    return a
# errors: 11 E0102, 12 E0102, 13 E0102, 19 E0103, 20 E0103, 21 E0103, 22 E0101, 23 E0101, 28 E0102
