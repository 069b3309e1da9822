import warp as wp


@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    radius = wp.sqrt(x[i])
    y = i * 2.5
    wp.printf("😀字"); x[i] = radius + y
