import warp as wp


@wp.kernel
def overwrites(x: wp.array(dtype=float), dt: float):
    i = wp.tid()
    x[i] = x[i] + dt * wp.cos(x[i])
    x[i] = x[i] * x[i]
