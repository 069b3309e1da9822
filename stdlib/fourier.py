# Fourier transforms of the lines of tiles, one pass for each factor of their length (Stockham: each
# pass leaves its results in order). `src/check/tiles/fourier.rs` calls the passes one after the
# other, with two pairs of tiles in turns; backward is forward with real and imaginary parts
# exchanged.
#
# A pass of radix `r` behind passes whose radices multiply to `stride` takes the elements
# `q + stride * (p + m * k)`, `m = n / (r * stride)`, for `k` from 0 to `r - 1`, and sets
# `q + stride * (r * p + j)` to the sum of the terms `k`, each turned by `j * k / r`, turned by
# `j * p / (r * m)` as a whole. The number of lines and all strides are constants of the call: so
# the threads of a block share these loops, and on the host the innermost one with more than one
# iteration is one for vectors. In the last pass `p` is 0, and nothing is turned as a whole.


@func
def _fourier_angle(k: int32, quarter: int32, n: int32, like: Float) -> Float:
    """The angle of `k` parts of a turn in `n` without the nearest whole number of quarters, as a number of the type of `like`."""
    # A quarter of a turn over n, with what is lost when it is rounded.
    high = Float(1.5707963267948966)
    low = Float(float64(1.5707963267948966) - float64(high)) + Float(6.123233995736766e-17)
    part = high / Float(n)
    rest = (_fma(-part, Float(n), high) + low) / Float(n)
    steps = Float(4 * k - quarter * n)
    return _fma(steps, part, steps * rest)


@func
def _fourier_cos(k: int32, n: int32, like: Float) -> Float:
    """The cosine of `k` parts of a turn in `n`. Its angle is found without rounding errors but its own."""
    quarter = (8 * k + n) // (2 * n)
    angle = _fourier_angle(k, quarter, n, like)
    c = where((quarter & 1) == 1, _sin_near(angle), _cos_near(angle))
    return where(((quarter + 1) & 2) == 0, c, -c)


@func
def _fourier_sin(k: int32, n: int32, like: Float) -> Float:
    """The sine of `k` parts of a turn in `n`."""
    quarter = (8 * k + n) // (2 * n)
    angle = _fourier_angle(k, quarter, n, like)
    s = where((quarter & 1) == 1, _cos_near(angle), _sin_near(angle))
    return where((quarter & 2) == 0, s, -s)


@func
def _fourier_2(
    re: Array[Float, 2], im: Array[Float, 2], next_re: Array[Float, 2], next_im: Array[Float, 2],
    lines: int32, stride: int32,
):
    m = re.shape[1] // (2 * stride)
    for row in range(lines):
        for p in range(m):
            for q in range(stride):
                a = q + stride * p
                b = a + stride * m
                to = q + 2 * stride * p
                x = re[row, a] - re[row, b]
                y = im[row, a] - im[row, b]
                next_re[row, to] = re[row, a] + re[row, b]
                next_im[row, to] = im[row, a] + im[row, b]
                if m > 1:
                    c = _fourier_cos(stride * p, re.shape[1], Float(1.0))
                    s = _fourier_sin(stride * p, re.shape[1], Float(1.0))
                    next_re[row, to + stride] = _fma(x, c, y * s)
                    next_im[row, to + stride] = _fma(y, c, -(x * s))
                else:
                    next_re[row, to + stride] = x
                    next_im[row, to + stride] = y


@func
def _fourier_3(
    re: Array[Float, 2], im: Array[Float, 2], next_re: Array[Float, 2], next_im: Array[Float, 2],
    lines: int32, stride: int32,
):
    m = re.shape[1] // (3 * stride)
    # The sine of a third of a turn.
    third = Float(0.8660254037844386)
    for row in range(lines):
        for p in range(m):
            for q in range(stride):
                a = q + stride * p
                b = a + stride * m
                d = b + stride * m
                to = q + 3 * stride * p
                sx = re[row, b] + re[row, d]
                sy = im[row, b] + im[row, d]
                dx = third * (im[row, b] - im[row, d])
                dy = third * (re[row, d] - re[row, b])
                mx = _fma(Float(-0.5), sx, re[row, a])
                my = _fma(Float(-0.5), sy, im[row, a])
                next_re[row, to] = re[row, a] + sx
                next_im[row, to] = im[row, a] + sy
                x1 = mx + dx
                y1 = my + dy
                x2 = mx - dx
                y2 = my - dy
                if m > 1:
                    c = _fourier_cos(stride * p, re.shape[1], Float(1.0))
                    s = _fourier_sin(stride * p, re.shape[1], Float(1.0))
                    c2 = _fourier_cos(2 * stride * p, re.shape[1], Float(1.0))
                    s2 = _fourier_sin(2 * stride * p, re.shape[1], Float(1.0))
                    next_re[row, to + stride] = _fma(x1, c, y1 * s)
                    next_im[row, to + stride] = _fma(y1, c, -(x1 * s))
                    next_re[row, to + 2 * stride] = _fma(x2, c2, y2 * s2)
                    next_im[row, to + 2 * stride] = _fma(y2, c2, -(x2 * s2))
                else:
                    next_re[row, to + stride] = x1
                    next_im[row, to + stride] = y1
                    next_re[row, to + 2 * stride] = x2
                    next_im[row, to + 2 * stride] = y2


@func
def _fourier_4(
    re: Array[Float, 2], im: Array[Float, 2], next_re: Array[Float, 2], next_im: Array[Float, 2],
    lines: int32, stride: int32,
):
    m = re.shape[1] // (4 * stride)
    for row in range(lines):
        for p in range(m):
            for q in range(stride):
                a = q + stride * p
                b = a + stride * m
                d = b + stride * m
                e = d + stride * m
                to = q + 4 * stride * p
                sx = re[row, a] + re[row, d]
                sy = im[row, a] + im[row, d]
                dx = re[row, a] - re[row, d]
                dy = im[row, a] - im[row, d]
                tx = re[row, b] + re[row, e]
                ty = im[row, b] + im[row, e]
                ux = im[row, b] - im[row, e]
                uy = re[row, e] - re[row, b]
                next_re[row, to] = sx + tx
                next_im[row, to] = sy + ty
                x1 = dx + ux
                y1 = dy + uy
                x2 = sx - tx
                y2 = sy - ty
                x3 = dx - ux
                y3 = dy - uy
                if m > 1:
                    c = _fourier_cos(stride * p, re.shape[1], Float(1.0))
                    s = _fourier_sin(stride * p, re.shape[1], Float(1.0))
                    c2 = _fourier_cos(2 * stride * p, re.shape[1], Float(1.0))
                    s2 = _fourier_sin(2 * stride * p, re.shape[1], Float(1.0))
                    c3 = _fma(c, c2, -(s * s2))
                    s3 = _fma(s, c2, c * s2)
                    next_re[row, to + stride] = _fma(x1, c, y1 * s)
                    next_im[row, to + stride] = _fma(y1, c, -(x1 * s))
                    next_re[row, to + 2 * stride] = _fma(x2, c2, y2 * s2)
                    next_im[row, to + 2 * stride] = _fma(y2, c2, -(x2 * s2))
                    next_re[row, to + 3 * stride] = _fma(x3, c3, y3 * s3)
                    next_im[row, to + 3 * stride] = _fma(y3, c3, -(x3 * s3))
                else:
                    next_re[row, to + stride] = x1
                    next_im[row, to + stride] = y1
                    next_re[row, to + 2 * stride] = x2
                    next_im[row, to + 2 * stride] = y2
                    next_re[row, to + 3 * stride] = x3
                    next_im[row, to + 3 * stride] = y3


@func
def _fourier_5(
    re: Array[Float, 2], im: Array[Float, 2], next_re: Array[Float, 2], next_im: Array[Float, 2],
    lines: int32, stride: int32,
):
    m = re.shape[1] // (5 * stride)
    # Cosine and sine of a fifth and of two fifths of a turn.
    ca = Float(0.30901699437494745)
    sa = Float(0.9510565162951535)
    cb = Float(-0.8090169943749475)
    sb = Float(0.5877852522924731)
    for row in range(lines):
        for p in range(m):
            for q in range(stride):
                a = q + stride * p
                d = stride * m
                to = q + 5 * stride * p
                x0 = re[row, a]
                y0 = im[row, a]
                sx = re[row, a + d] + re[row, a + 4 * d]
                sy = im[row, a + d] + im[row, a + 4 * d]
                tx = re[row, a + 2 * d] + re[row, a + 3 * d]
                ty = im[row, a + 2 * d] + im[row, a + 3 * d]
                # A quarter of a turn back, as the sines are.
                dx = im[row, a + d] - im[row, a + 4 * d]
                dy = re[row, a + 4 * d] - re[row, a + d]
                ex = im[row, a + 2 * d] - im[row, a + 3 * d]
                ey = re[row, a + 3 * d] - re[row, a + 2 * d]
                ax = _fma(ca, sx, _fma(cb, tx, x0))
                ay = _fma(ca, sy, _fma(cb, ty, y0))
                bx = _fma(cb, sx, _fma(ca, tx, x0))
                by = _fma(cb, sy, _fma(ca, ty, y0))
                fx = _fma(sa, dx, sb * ex)
                fy = _fma(sa, dy, sb * ey)
                gx = _fma(sb, dx, -(sa * ex))
                gy = _fma(sb, dy, -(sa * ey))
                next_re[row, to] = x0 + (sx + tx)
                next_im[row, to] = y0 + (sy + ty)
                x1 = ax + fx
                y1 = ay + fy
                x2 = bx + gx
                y2 = by + gy
                x3 = bx - gx
                y3 = by - gy
                x4 = ax - fx
                y4 = ay - fy
                if m > 1:
                    c = _fourier_cos(stride * p, re.shape[1], Float(1.0))
                    s = _fourier_sin(stride * p, re.shape[1], Float(1.0))
                    c2 = _fourier_cos(2 * stride * p, re.shape[1], Float(1.0))
                    s2 = _fourier_sin(2 * stride * p, re.shape[1], Float(1.0))
                    c3 = _fma(c, c2, -(s * s2))
                    s3 = _fma(s, c2, c * s2)
                    c4 = _fourier_cos(4 * stride * p, re.shape[1], Float(1.0))
                    s4 = _fourier_sin(4 * stride * p, re.shape[1], Float(1.0))
                    next_re[row, to + stride] = _fma(x1, c, y1 * s)
                    next_im[row, to + stride] = _fma(y1, c, -(x1 * s))
                    next_re[row, to + 2 * stride] = _fma(x2, c2, y2 * s2)
                    next_im[row, to + 2 * stride] = _fma(y2, c2, -(x2 * s2))
                    next_re[row, to + 3 * stride] = _fma(x3, c3, y3 * s3)
                    next_im[row, to + 3 * stride] = _fma(y3, c3, -(x3 * s3))
                    next_re[row, to + 4 * stride] = _fma(x4, c4, y4 * s4)
                    next_im[row, to + 4 * stride] = _fma(y4, c4, -(x4 * s4))
                else:
                    next_re[row, to + stride] = x1
                    next_im[row, to + stride] = y1
                    next_re[row, to + 2 * stride] = x2
                    next_im[row, to + 2 * stride] = y2
                    next_re[row, to + 3 * stride] = x3
                    next_im[row, to + 3 * stride] = y3
                    next_re[row, to + 4 * stride] = x4
                    next_im[row, to + 4 * stride] = y4


@func
def _fourier_8(
    re: Array[Float, 2], im: Array[Float, 2], next_re: Array[Float, 2], next_im: Array[Float, 2],
    lines: int32, stride: int32,
):
    m = re.shape[1] // (8 * stride)
    # The cosine of an eighth of a turn.
    h = Float(0.7071067811865476)
    for row in range(lines):
        for p in range(m):
            for q in range(stride):
                a = q + stride * p
                d = stride * m
                to = q + 8 * stride * p
                # Sums and differences of elements that lie half a line apart.
                x0 = re[row, a] + re[row, a + 4 * d]
                y0 = im[row, a] + im[row, a + 4 * d]
                x1 = re[row, a + d] + re[row, a + 5 * d]
                y1 = im[row, a + d] + im[row, a + 5 * d]
                x2 = re[row, a + 2 * d] + re[row, a + 6 * d]
                y2 = im[row, a + 2 * d] + im[row, a + 6 * d]
                x3 = re[row, a + 3 * d] + re[row, a + 7 * d]
                y3 = im[row, a + 3 * d] + im[row, a + 7 * d]
                x4 = re[row, a] - re[row, a + 4 * d]
                y4 = im[row, a] - im[row, a + 4 * d]
                x5 = re[row, a + d] - re[row, a + 5 * d]
                y5 = im[row, a + d] - im[row, a + 5 * d]
                x6 = re[row, a + 2 * d] - re[row, a + 6 * d]
                y6 = im[row, a + 2 * d] - im[row, a + 6 * d]
                x7 = re[row, a + 3 * d] - re[row, a + 7 * d]
                y7 = im[row, a + 3 * d] - im[row, a + 7 * d]
                # Of the sums, the elements 0, 2, 4 and 6 of the result.
                sx = x0 + x2
                sy = y0 + y2
                tx = x1 + x3
                ty = y1 + y3
                dx = x0 - x2
                dy = y0 - y2
                ex = y1 - y3
                ey = x3 - x1
                # Of the differences, the elements 1 and 5, 3 and 7: 6 is turned back by a quarter,
                # 5 and 7 by one and by three eighths.
                fx = x4 + y6
                fy = y4 - x6
                gx = x4 - y6
                gy = y4 + x6
                ux = x5 - x7
                uy = y5 - y7
                vx = x5 + x7
                vy = y5 + y7
                r0 = sx + tx
                i0 = sy + ty
                r1 = _fma(h, ux + vy, fx)
                i1 = _fma(h, uy - vx, fy)
                r2 = dx + ex
                i2 = dy + ey
                r3 = _fma(h, vy - ux, gx)
                i3 = _fma(-h, uy + vx, gy)
                r4 = sx - tx
                i4 = sy - ty
                r5 = _fma(-h, ux + vy, fx)
                i5 = _fma(-h, uy - vx, fy)
                r6 = dx - ex
                i6 = dy - ey
                r7 = _fma(-h, vy - ux, gx)
                i7 = _fma(h, uy + vx, gy)
                next_re[row, to] = r0
                next_im[row, to] = i0
                if m > 1:
                    c = _fourier_cos(stride * p, re.shape[1], Float(1.0))
                    s = _fourier_sin(stride * p, re.shape[1], Float(1.0))
                    c2 = _fourier_cos(2 * stride * p, re.shape[1], Float(1.0))
                    s2 = _fourier_sin(2 * stride * p, re.shape[1], Float(1.0))
                    c3 = _fma(c, c2, -(s * s2))
                    s3 = _fma(s, c2, c * s2)
                    c4 = _fourier_cos(4 * stride * p, re.shape[1], Float(1.0))
                    s4 = _fourier_sin(4 * stride * p, re.shape[1], Float(1.0))
                    c5 = _fma(c, c4, -(s * s4))
                    s5 = _fma(s, c4, c * s4)
                    c6 = _fma(c2, c4, -(s2 * s4))
                    s6 = _fma(s2, c4, c2 * s4)
                    c7 = _fma(c3, c4, -(s3 * s4))
                    s7 = _fma(s3, c4, c3 * s4)
                    next_re[row, to + stride] = _fma(r1, c, i1 * s)
                    next_im[row, to + stride] = _fma(i1, c, -(r1 * s))
                    next_re[row, to + 2 * stride] = _fma(r2, c2, i2 * s2)
                    next_im[row, to + 2 * stride] = _fma(i2, c2, -(r2 * s2))
                    next_re[row, to + 3 * stride] = _fma(r3, c3, i3 * s3)
                    next_im[row, to + 3 * stride] = _fma(i3, c3, -(r3 * s3))
                    next_re[row, to + 4 * stride] = _fma(r4, c4, i4 * s4)
                    next_im[row, to + 4 * stride] = _fma(i4, c4, -(r4 * s4))
                    next_re[row, to + 5 * stride] = _fma(r5, c5, i5 * s5)
                    next_im[row, to + 5 * stride] = _fma(i5, c5, -(r5 * s5))
                    next_re[row, to + 6 * stride] = _fma(r6, c6, i6 * s6)
                    next_im[row, to + 6 * stride] = _fma(i6, c6, -(r6 * s6))
                    next_re[row, to + 7 * stride] = _fma(r7, c7, i7 * s7)
                    next_im[row, to + 7 * stride] = _fma(i7, c7, -(r7 * s7))
                else:
                    next_re[row, to + stride] = r1
                    next_im[row, to + stride] = i1
                    next_re[row, to + 2 * stride] = r2
                    next_im[row, to + 2 * stride] = i2
                    next_re[row, to + 3 * stride] = r3
                    next_im[row, to + 3 * stride] = i3
                    next_re[row, to + 4 * stride] = r4
                    next_im[row, to + 4 * stride] = i4
                    next_re[row, to + 5 * stride] = r5
                    next_im[row, to + 5 * stride] = i5
                    next_re[row, to + 6 * stride] = r6
                    next_im[row, to + 6 * stride] = i6
                    next_re[row, to + 7 * stride] = r7
                    next_im[row, to + 7 * stride] = i7


@func
def _fourier_turns(turns: Array[Float, 2], n: int32):
    """Cosines and sines of `k` parts of a turn in `n`."""
    for k in range(n):
        turns[0, k] = _fourier_cos(k, n, Float(1.0))
        turns[1, k] = _fourier_sin(k, n, Float(1.0))


@func
def _fourier_any(
    re: Array[Float, 2], im: Array[Float, 2], next_re: Array[Float, 2], next_im: Array[Float, 2],
    turns: Array[Float, 2], lines: int32, stride: int32, radix: int32,
):
    """The sum itself; both turns of a term are one. `turns` is a table of them, or has too little room for it."""
    n = re.shape[1]
    m = n // (radix * stride)
    for row in range(lines):
        for k in range(n):
            next_re[row, k] = Float(0.0)
            next_im[row, k] = Float(0.0)
    for row in range(lines):
        for k in range(radix):
            for p in range(m):
                for j in range(radix):
                    for q in range(stride):
                        a = q + stride * (p + m * k)
                        to = q + stride * (radix * p + j)
                        angle = j * (p + m * k) * stride % n
                        if turns.shape[1] == n:
                            c = turns[0, angle]
                            s = turns[1, angle]
                        else:
                            c = _fourier_cos(angle, n, Float(1.0))
                            s = _fourier_sin(angle, n, Float(1.0))
                        next_re[row, to] += _fma(re[row, a], c, im[row, a] * s)
                        next_im[row, to] += _fma(im[row, a], c, -(re[row, a] * s))
