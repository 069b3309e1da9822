"""Sum, minimum and maximum of an array, and its histogram.

Each thread first works through a strip of its own, so that there is one atomic per thread and not one per element.
`result` starts as (0, +inf, -inf).
"""

import warp as wp


@wp.kernel
def summarize(x: wp.array(dtype=float), threads: int, result: wp.array(dtype=float)):
    t = wp.tid()
    total = float(0.0)
    low = x[t]
    high = x[t]
    for i in range(t, x.shape[0], threads):
        total += x[i]
        low = wp.min(low, x[i])
        high = wp.max(high, x[i])
    wp.atomic_add(result, 0, total)
    wp.atomic_min(result, 1, low)
    wp.atomic_max(result, 2, high)


@wp.kernel
def histogram(x: wp.array(dtype=float), low: float, width: float, bins: wp.array(dtype=int)):
    i = wp.tid()
    bin = int(wp.floor((x[i] - low) / width))
    wp.atomic_add(bins, wp.clamp(bin, 0, bins.shape[0] - 1), 1)
