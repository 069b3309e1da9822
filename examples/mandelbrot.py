"""The Mandelbrot set: for each pixel, after how many turns z = z^2 + c leaves the disk of radius 2.

    kc run examples/mandelbrot.py -k mandelbrot --dim 200,300 --arg count=zeros:i32:200,300 \
        --arg corner=-2.2,-1.2 --arg pixel=0.0107 --arg limit=200 --out-dir out
"""

import warp as wp


@wp.kernel
def mandelbrot(count: wp.array2d(dtype=int), corner: wp.vec2, pixel: float, limit: int):
    row, column = wp.tid()
    c = corner + pixel * wp.vec2(float(column), float(row))
    x = float(0.0)
    y = float(0.0)
    turns = int(0)
    while turns < limit and x * x + y * y <= 4.0:
        x_next = x * x - y * y + c[0]
        y = 2.0 * x * y + c[1]
        x = x_next
        turns += 1
    count[row, column] = turns
