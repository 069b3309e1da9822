import warp as wp


@wp.kernel
def throw(velocity: wp.array(dtype=wp.vec2), target: wp.array(dtype=float), drag: float, miss: wp.array(dtype=float)):
    """Each thread throws a ball and tells the squared distance by which it misses its target after a second."""
    i = wp.tid()
    at = wp.vec2(0.0, 0.0)
    v = velocity[i]
    dt = 0.01
    for _ in range(100):
        v += (wp.vec2(0.0, -9.81) - drag * wp.length(v) * v) * dt
        at += v * dt
    d = at - wp.vec2(target[i], 0.0)
    miss[i] = wp.dot(d, d)
