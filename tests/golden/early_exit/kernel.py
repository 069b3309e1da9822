import warp as wp


@wp.kernel
def early_exit(x: wp.array(dtype=float), limit: float, n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] < 0.0:
        y[i] = -1.0
        return
    total = float(0.0)
    for k in range(n):
        v = x[i] * float(k)
        if v < 1.0:
            continue
        total += v
        if total > limit:
            break
    y[i] = total
