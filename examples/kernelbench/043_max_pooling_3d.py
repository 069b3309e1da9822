"""Task 43: the maximum of a window of a volume. Beyond the edge there is nothing: a thread looks
only at what is inside. Pictures and channels are one dimension, so that arrays have four."""

import kc
from kc.bench import Model, empty


@kc.kernel
def max_pool(
    x: kc.array4d(dtype=float), size: int, stride: int, padding: int, dilation: int,
    y: kc.array4d(dtype=float),
):
    n, d, r, c = kc.tid()
    best = float(-3.4028234e38)
    for i in range(size):
        u = d * stride - padding + i * dilation
        if u >= 0 and u < x.shape[1]:
            for j in range(size):
                v = r * stride - padding + j * dilation
                if v >= 0 and v < x.shape[2]:
                    for k in range(size):
                        w = c * stride - padding + k * dilation
                        if w >= 0 and w < x.shape[3]:
                            best = kc.max(best, x[n, u, v, w])
    y[n, d, r, c] = best


class ModelNew(Model):
    def __init__(
        self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False,
        ceil_mode=False,
    ):
        self.size, self.stride, self.padding, self.dilation = kernel_size, stride or kernel_size, padding, dilation

    def forward(self, x):
        reach = 2 * self.padding - self.dilation * (self.size - 1) - 1
        extents = [(extent + reach) // self.stride + 1 for extent in x.shape[2:]]
        n = x.shape[0] * x.shape[1]
        y = empty((x.shape[0], x.shape[1], *extents), like=x)
        volumes = x.reshape(n, *x.shape[2:])
        max_pool(
            (n, *extents), volumes, self.size, self.stride, self.padding, self.dilation,
            y.reshape(n, *extents),
        )
        return y
