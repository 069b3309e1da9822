"""Task 75: a transposed convolution in steps of 2 x 3, dilated, in groups. A thread has an element
of the result and gathers what the steps bring there: of each place of the window the element of the
input whose step ends here, if there is one."""

import kc
from kc.bench import Model, empty


@kc.kernel
def conv_transpose2d(
    x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), stride: kc.vec2i, padding: kc.vec2i, dilation: kc.vec2i, groups: int,
    y: kc.array4d(dtype=float),
):
    n, o, r, c = kc.tid()
    outs, ins = w.shape[1], w.shape[0] // groups
    first = o // outs * ins
    total = float(0.0)
    for i in range(w.shape[2]):
        h = r + padding[0] - i * dilation[0]
        if h >= 0 and h % stride[0] == 0 and h // stride[0] < x.shape[2]:
            for j in range(w.shape[3]):
                v = c + padding[1] - j * dilation[1]
                if v >= 0 and v % stride[1] == 0 and v // stride[1] < x.shape[3]:
                    for k in range(ins):
                        total += x[n, first + k, h // stride[0], v // stride[1]] * w[first + k, o % outs, i, j]
    y[n, o, r, c] = total


class ModelNew(Model):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, bias=False
    ):
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.weight = self.parameter(in_channels, out_channels // groups, *kernel_size)

    def forward(self, x):
        settings = zip(x.shape[2:], self.weight.shape[2:], self.stride, self.padding, self.dilation)
        extents = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k, s, p, d in settings]
        y = empty((x.shape[0], self.weight.shape[1] * self.groups, *extents), like=x)
        conv_transpose2d(
            tuple(y.shape), x, self.weight, self.stride, self.padding, self.dilation, self.groups,
            y,
        )
        return y
