"""Task 79: a transposed convolution along a line in steps of 2, dilated. A thread has an element of
the result and gathers what the steps bring there: of each place of the window the element of the
input whose step ends here, if there is one."""

import kc
from kc.bench import Model, empty


@kc.kernel
def conv_transpose1d(
    x: kc.array3d(dtype=float), w: kc.array3d(dtype=float), stride: int, padding: int, dilation: int,
    y: kc.array3d(dtype=float),
):
    n, o, c = kc.tid()
    total = float(0.0)
    for j in range(w.shape[2]):
        v = c + padding - j * dilation
        if v >= 0 and v % stride == 0 and v // stride < x.shape[2]:
            for k in range(w.shape[0]):
                total += x[n, k, v // stride] * w[k, o, j]
    y[n, o, c] = total


class ModelNew(Model):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.weight = self.parameter(in_channels, out_channels, kernel_size)

    def forward(self, x):
        s, p, d = self.stride, self.padding, self.dilation
        length = (x.shape[2] - 1) * s - 2 * p + d * (self.weight.shape[2] - 1) + 1
        y = empty((x.shape[0], self.weight.shape[1], length), like=x)
        conv_transpose1d(tuple(y.shape), x, self.weight, s, p, d, y)
        return y
