import warp as wp


@wp.kernel
def kept_state(x: wp.array(dtype=float), steps: int, y: wp.array(dtype=float)):
    i = wp.tid()
    p = x[i]
    for k in range(8):
        p = p * x[i] + wp.sin(p)
    q = p
    for k in range(steps):
        q = q * q * 0.1 + p
    y[i] = q
