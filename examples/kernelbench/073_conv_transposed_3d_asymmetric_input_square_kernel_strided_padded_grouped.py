"""Task 73: a transposed convolution of volumes in steps of 2, padded. A thread has an element of
the result and gathers what the steps bring there: of each place of the window the element of the
input whose step ends here, if there is one."""

import kc
from kc.bench import Model, empty


@kc.kernel
def conv_transpose3d(
    x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), channels: int, out: int, stride: kc.vec3i, padding: kc.vec3i,
    dilation: int, groups: int, y: kc.array4d(dtype=float),
):
    no, d, r, c = kc.tid()
    n, o = no // out, no % out
    # w: input channels and output channels of a group are one dimension.
    outs, ins = out // groups, channels // groups
    first = o // outs * ins
    total = float(0.0)
    for a in range(w.shape[1]):
        u = d + padding[0] - a * dilation
        if u >= 0 and u % stride[0] == 0 and u // stride[0] < x.shape[1]:
            for i in range(w.shape[2]):
                h = r + padding[1] - i * dilation
                if h >= 0 and h % stride[1] == 0 and h // stride[1] < x.shape[2]:
                    for j in range(w.shape[3]):
                        v = c + padding[2] - j * dilation
                        if v >= 0 and v % stride[2] == 0 and v // stride[2] < x.shape[3]:
                            for k in range(ins):
                                e = x[n * channels + first + k, u // stride[0], h // stride[1], v // stride[2]]
                                total += e * w[(first + k) * outs + o % outs, a, i, j]
    y[no, d, r, c] = total


class ModelNew(Model):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0,
        groups=1, bias=False,
    ):
        # Upstream's model takes `output_padding` and does not use it.
        self.stride, self.padding, self.more = (stride,) * 3, (padding,) * 3, (0, 0, 0)
        self.dilation, self.groups = 1, groups
        self.weight = self.parameter(
            in_channels, out_channels // groups, kernel_size, kernel_size, kernel_size,
        )

    def forward(self, x):
        settings = zip(x.shape[2:], self.weight.shape[2:], self.stride, self.padding, self.more)
        extents = [(n - 1) * s - 2 * p + self.dilation * (k - 1) + e + 1 for n, k, s, p, e in settings]
        n, channels, out = x.shape[0], x.shape[1], self.weight.shape[1] * self.groups
        y = empty((n, out, *extents), like=x)
        conv_transpose3d(
            (n * out, *extents), x.reshape(n * channels, *x.shape[2:]), self.weight.reshape(-1, *self.weight.shape[2:]), channels, out,
            self.stride, self.padding, self.dilation, self.groups, y.reshape(n * out, *extents),
        )
        return y
