"""Task 60: a convolution of volumes by a window of 3 x 5 x 7. Three channels are too few for
products of tiles, so a thread has an element of the result. Arrays have four dimensions: pictures
and channels are one, and so are the two sides of the weights."""

import kc
from kc.bench import Model, empty


@kc.kernel
def conv3d(
    x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), channels: int, out: int, stride: int, padding: int, dilation: int,
    y: kc.array4d(dtype=float),
):
    no, d, r, c = kc.tid()
    n, o = no // out, no % out
    total = float(0.0)
    for k in range(channels):
        for a in range(w.shape[1]):
            u = d * stride - padding + a * dilation
            if u >= 0 and u < x.shape[1]:
                for i in range(w.shape[2]):
                    h = r * stride - padding + i * dilation
                    if h >= 0 and h < x.shape[2]:
                        for j in range(w.shape[3]):
                            v = c * stride - padding + j * dilation
                            if v >= 0 and v < x.shape[3]:
                                total += w[o * channels + k, a, i, j] * x[n * channels + k, u, h, v]
    y[no, d, r, c] = total


class ModelNew(Model):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
        bias=False,
    ):
        self.settings = stride, padding, dilation
        self.weight = self.parameter(out_channels, in_channels, *kernel_size)

    def forward(self, x):
        out, channels = self.weight.shape[:2]
        stride, padding, dilation = self.settings
        extents = [
            (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(
                x.shape[2:], self.weight.shape[2:],
            )
        ]
        n = x.shape[0]
        y = empty((n, out, *extents), like=x)
        volumes, weights = x.reshape(n * channels, *x.shape[2:]), self.weight.reshape(
            out * channels, *self.weight.shape[2:],
        )
        conv3d(
            (n * out, *extents), volumes, weights, channels, out, stride, padding, dilation,
            y.reshape(n * out, *extents),
        )
        return y
