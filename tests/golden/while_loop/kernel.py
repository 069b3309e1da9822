import warp as wp


@wp.kernel
def while_loop(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    r = float(1.0)
    while wp.abs(r * r - a) > 1.0e-5:
        r = 0.5 * (r + a / r)
    y[i] = r
