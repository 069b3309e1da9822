"""Task 46: the mean of a window of a volume. Beyond the edge there are zeros, which count. Pictures
and channels are one dimension, so that arrays have four."""

import kc
from kc.bench import Model, empty


@kc.kernel
def avg_pool(x: kc.array4d(dtype=float), size: int, stride: int, padding: int, y: kc.array4d(dtype=float)):
    n, d, r, c = kc.tid()
    total = float(0.0)
    for i in range(size):
        u = d * stride - padding + i
        if u >= 0 and u < x.shape[1]:
            for j in range(size):
                v = r * stride - padding + j
                if v >= 0 and v < x.shape[2]:
                    for k in range(size):
                        w = c * stride - padding + k
                        if w >= 0 and w < x.shape[3]:
                            total += x[n, u, v, w]
    y[n, d, r, c] = total / float(size * size * size)


class ModelNew(Model):
    def __init__(self, kernel_size, stride=None, padding=0):
        self.size, self.stride, self.padding = kernel_size, stride or kernel_size, padding

    def forward(self, x):
        reach = 2 * self.padding - self.size
        extents = [(extent + reach) // self.stride + 1 for extent in x.shape[2:]]
        n = x.shape[0] * x.shape[1]
        y = empty((x.shape[0], x.shape[1], *extents), like=x)
        volumes = x.reshape(n, *x.shape[2:])
        avg_pool((n, *extents), volumes, self.size, self.stride, self.padding, y.reshape(n, *extents))
        return y
