"""Task 76: a convolution along a line in steps, by a window whose places lie apart. A part of the
result is a product for each place of the window: weights (out, in) times the line (in, columns)
from that place on, in steps of the stride."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(64)


@kc.kernel
def pack(w: kc.array3d(dtype=float), packed: kc.array3d(dtype=float)):
    j, o, c = kc.tid()
    packed[j, o, c] = w[o, c, j]


@kc.kernel
def conv1d(
    x: kc.array3d(dtype=float), w: kc.array3d(dtype=float), stride: int, dilation: int,
    y: kc.array3d(dtype=float),
):
    n, block, p = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for j in range(w.shape[0]):
        line = x[n, :, j * dilation::stride]
        for c in range((w.shape[2] + TK - 1) // TK):
            a = kc.tile_load(w[j], shape=(TM, TK), offset=(block * TM, c * TK))
            b = kc.tile_load(line, shape=(TK, TN), offset=(c * TK, p * TN))
            kc.tile_matmul(a, b, total)
    kc.tile_store(y[n], total, offset=(block * TM, p * TN))


class ModelNew(Model):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, dilation=1, bias=False):
        self.stride, self.dilation = stride, dilation
        self.weight = self.parameter(out_channels, in_channels, kernel_size)

    def forward(self, x):
        out, channels, size = self.weight.shape
        packed = empty((size, out, channels), like=x)
        pack(tuple(packed.shape), self.weight, packed)
        length = (x.shape[2] - self.dilation * (size - 1) - 1) // self.stride + 1
        y = empty((x.shape[0], out, length), like=x)
        conv1d(
            (x.shape[0], (out + TM - 1) // TM, (length + TN - 1) // TN), x, packed, self.stride,
            self.dilation, y,
        )
        return y
