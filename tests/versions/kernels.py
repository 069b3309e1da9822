"""Kernels of which each version of an object has code of its own: wide and narrow numbers, gathers, sums, helpers by name, reports."""

import warp as wp


@wp.struct
class Place:
    scale: float
    at: wp.array(dtype=int)


@wp.kernel
def blend(place: Place, x: wp.array(dtype=wp.float32), h: wp.array(dtype=wp.float16), p: wp.array(dtype=wp.vec3),
          y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    s = float(0.0)
    for k in range(i % 5):
        s += x[place.at[i]] * place.scale + float(k)
    if i % 3 == 0:
        s += wp.sin(x[i]) * wp.exp(-wp.abs(x[i])) + wp.length(p[i])
    y[i] = s / (1.0 + float(h[i]) * float(h[i]))


@wp.kernel
def total(x: wp.array(dtype=wp.float32), h: wp.array(dtype=wp.float16), sum: wp.array(dtype=wp.float32),
          halves: wp.array(dtype=wp.float16), bins: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(sum, 0, x[i] * 2.0)
    wp.atomic_max(halves, i % 3, h[i])
    wp.atomic_add(bins, int(x[i]) % 7, 1)


@wp.kernel
def outside(at: wp.array(dtype=int), x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = x[at[i]]


@wp.kernel
def told(x: wp.array(dtype=wp.float32), n: wp.array(dtype=wp.int64), p: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    if i % 9 == 2:
        wp.printf("%d: %5.2f %g, %d of %u\n", i, x[i], float(n[i]) / 3.0, n[i], wp.uint32(7))
        print(p[i])
        print(x[i] > 0.0)
