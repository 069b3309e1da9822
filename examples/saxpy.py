"""y = a * x + y: the smallest kernel worth running.

    kc run examples/saxpy.py --dim 1000000 --arg a=2.0 --arg x=range:1000000 --arg y=ones:1000000 --print y
"""

import warp as wp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
