"""Kernels for benches/gradients.py: how much slower is the backward entry than the forward one?"""
import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float), a: float):
    i = wp.tid()
    out[i] = a * x[i] + y[i]


@wp.kernel
def directions(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.dot(wp.normalize(a[i]), wp.normalize(b[i]))


@wp.kernel
def transcend(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    out[i] = wp.sin(v) * wp.exp(-v) + wp.log(1.0 + v * v)


@wp.kernel
def solve(m: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.inverse(m[i]) * b[i]


@wp.kernel
def total(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(x.shape[1]):
        s += x[i, j] * x[i, j]
    out[i] = s


@wp.kernel
def logistic(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    for k in range(48):
        v = 3.6 * v * (1.0 - v)
    out[i] = v


@wp.kernel
def product(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    p = float(1.0)
    for j in range(x.shape[1]):
        p *= 1.0 + 0.1 * wp.sin(x[i, j])
    out[i] = p
