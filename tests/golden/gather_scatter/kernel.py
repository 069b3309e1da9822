import warp as wp


@wp.kernel
def gather_scatter(source: wp.array(dtype=int), target: wp.array(dtype=int), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[target[i]] = x[source[i]] * 2.0
