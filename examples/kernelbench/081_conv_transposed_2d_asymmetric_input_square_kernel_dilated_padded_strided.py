"""Task 81: a transposed convolution in steps of 5, dilated. A thread has an element of the result
and gathers what the steps bring there: of each place of the window the element of the input whose
step ends here, if there is one."""

import kc
from kc.bench import Model, empty


@kc.kernel
def conv_transpose2d(
    x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), stride: int, padding: int, dilation: int,
    y: kc.array4d(dtype=float),
):
    n, o, r, c = kc.tid()
    total = float(0.0)
    for i in range(w.shape[2]):
        h = r + padding - i * dilation
        if h >= 0 and h % stride == 0 and h // stride < x.shape[2]:
            for j in range(w.shape[3]):
                v = c + padding - j * dilation
                if v >= 0 and v % stride == 0 and v // stride < x.shape[3]:
                    for k in range(w.shape[0]):
                        total += x[n, k, h // stride, v // stride] * w[k, o, i, j]
    y[n, o, r, c] = total


class ModelNew(Model):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.weight = self.parameter(in_channels, out_channels, kernel_size, kernel_size)

    def forward(self, x):
        s, p, d = self.stride, self.padding, self.dilation
        extents = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k in zip(x.shape[2:], self.weight.shape[2:])]
        y = empty((x.shape[0], self.weight.shape[1], *extents), like=x)
        conv_transpose2d(tuple(y.shape), x, self.weight, s, p, d, y)
        return y
