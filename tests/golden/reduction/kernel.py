import warp as wp


@wp.kernel
def reduction(x: wp.array(dtype=float), total: wp.array(dtype=float), low: wp.array(dtype=float)):
    v = x[wp.tid()]
    wp.atomic_add(total, 0, v * v)
    wp.atomic_min(low, 0, v)
