"""Task 85: a depthwise convolution by a window of 3 x 7. Each channel has a window of its own, so
memory is all that counts: a thread has an element of the result, and neighbours read neighbours."""

import kc
from kc.bench import Model, empty


@kc.kernel
def depthwise(
    x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), stride: kc.vec2i, padding: kc.vec2i, dilation: kc.vec2i,
    y: kc.array4d(dtype=float),
):
    n, k, r, c = kc.tid()
    total = float(0.0)
    for i in range(w.shape[2]):
        h = r * stride[0] - padding[0] + i * dilation[0]
        if h >= 0 and h < x.shape[2]:
            for j in range(w.shape[3]):
                v = c * stride[1] - padding[1] + j * dilation[1]
                if v >= 0 and v < x.shape[3]:
                    total += w[k, 0, i, j] * x[n, k, h, v]
    y[n, k, r, c] = total


class ModelNew(Model):
    def __init__(
        self, in_channels, out_channels, kernel_size_h, kernel_size_w, stride_h=1, stride_w=1, padding_h=0, padding_w=0, dilation_h=1,
        dilation_w=1, groups=1, bias=False,
    ):
        self.stride, self.padding, self.dilation = (stride_h, stride_w), (padding_h, padding_w), (
            dilation_h, dilation_w,
        )
        self.weight = self.parameter(in_channels, 1, kernel_size_h, kernel_size_w)

    def forward(self, x):
        settings = zip(x.shape[2:], self.weight.shape[2:], self.stride, self.padding, self.dilation)
        extents = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in settings]
        y = empty((x.shape[0], x.shape[1], *extents), like=x)
        depthwise(tuple(y.shape), x, self.weight, self.stride, self.padding, self.dilation, y)
        return y
