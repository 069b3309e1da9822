# keeps: deeper odd empty tabs clauses one_line after
import warp as wp


@wp.kernel
def deeper(x: wp.array(dtype=float)):
    i = wp.tid()
      x[i] = 1.0
      x[i] = 2.0
    x[i] = 3.0
    if i > 0: x[i] = 1.0
        x[i] = 4.0


@wp.kernel
def odd(x: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0:
        x[i] = 1.0
      x[i] = 2.0
    x[i] = 3.0


@wp.kernel
def empty(x: wp.array(dtype=float)):
    if x[0] > 0.0:
    x[0] = 1.0
    for i in range(3):
    while x[0] > 0.0:
        pass
    else:


@wp.kernel
def nothing():


@wp.kernel
def tabs(x: wp.array(dtype=float)):
        i = wp.tid()
	x[i] = 1.0
        x[i] = 2.0


@wp.kernel
def clauses(x: wp.array(dtype=float)):
    else:
        x[0] = 1.0
    x[0] = 1.0
    elif x[0] > 1.0:
        x[0] = 2.0
    except:
        x[0] = 3.0
    finally:
        x[0] = 3.0


@wp.kernel
def one_line(x: wp.array(dtype=float)): x[0] = 1.0; x[1] = 2.0


@wp.kernel
x = 3


@wp.struct
class Empty:


@wp.func
def after(a: float):
    return a
# errors: 8 E0106, 12 E0106, 20 E0107, 26 E0108, 28 E0108, 31 E0108, 35 E0108
# errors: 41 E0107, 42 E0107, 47 E0114, 50 E0114, 52 E0114, 54 E0114, 62 E0118, 67 E0108
