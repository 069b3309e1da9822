"""The Mandelbrot set: for each pixel, after how many iterations z = z^2 + c leaves the disk of radius 2.

    kc run examples/mandelbrot.py -k mandelbrot --dim 26x78 --arg count=zeros:26x78 --arg corner=-2.2,-1.17 \
        --arg pixel=0.04,0.09 --arg limit=200 --out-dir out
    kc run examples/mandelbrot.py -k draw --dim 1 --arg count=@out/count.npy --arg limit=200
"""

import warp as wp


@wp.kernel
def mandelbrot(count: wp.array2d(dtype=int), corner: wp.vec2, pixel: wp.vec2, limit: int):
    row, column = wp.tid()
    c = corner + wp.cw_mul(pixel, wp.vec2(float(column), float(row)))
    x = float(0.0)
    y = float(0.0)
    turns = int(0)
    while turns < limit and x * x + y * y <= 4.0:
        x_next = x * x - y * y + c[0]
        y = 2.0 * x * y + c[1]
        x = x_next
        turns += 1
    count[row, column] = turns


@wp.kernel
def draw(count: wp.array2d(dtype=int), limit: int):
    """Prints the picture with characters; one thread does it all, so that they come in order."""
    for row in range(count.shape[0]):
        for column in range(count.shape[1]):
            turns = count[row, column]
            if turns >= limit:
                wp.printf("#")
            elif turns > 20:
                wp.printf("+")
            elif turns > 8:
                wp.printf(":")
            elif turns > 4:
                wp.printf(".")
            else:
                wp.printf(" ")
        wp.printf("\n")
