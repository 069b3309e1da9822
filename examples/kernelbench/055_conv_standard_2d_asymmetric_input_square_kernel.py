"""Task 55: a convolution of wide pictures by a square window. A row of the result is a product for
each place of the window: weights (out, in) times a row of the input (in, columns) that begins at
that place. Tiles that reach beyond the picture have zeros there, which is the padding."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(16)


@kc.kernel
def pack(w: kc.array4d(dtype=float), packed: kc.array4d(dtype=float)):
    i, j, o, c = kc.tid()
    packed[i, j, o, c] = w[o, c, i, j]


@kc.kernel
def conv2d(
    x: kc.array3d(dtype=float), w: kc.array4d(dtype=float), ph: int, pw: int, dh: int, dw: int,
    y: kc.array3d(dtype=float),
):
    block, row, part = kc.tid()
    first = part * TN
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for i in range(w.shape[0]):
        at = row + i * dh - ph
        if at >= 0 and at < x.shape[1]:
            for j in range(w.shape[1]):
                for c in range((w.shape[3] + TK - 1) // TK):
                    a = kc.tile_load(w[i, j], shape=(TM, TK), offset=(block * TM, c * TK))
                    b = kc.tile_load(x[:, at], shape=(TK, TN), offset=(c * TK, first + j * dw - pw))
                    kc.tile_matmul(a, b, total)
    kc.tile_store(y[:, row], total, offset=(block * TM, first))


class ModelNew(Model):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
        bias=False,
    ):
        kh, kw = kernel_size, kernel_size
        self.padding, self.dilation = (padding, padding), (dilation, dilation)
        self.weight = self.parameter(out_channels, in_channels, kh, kw)

    def forward(self, x):
        out, channels, kh, kw = self.weight.shape
        (ph, pw), (dh, dw) = self.padding, self.dilation
        h, w = x.shape[2] + 2 * ph - dh * (kh - 1), x.shape[3] + 2 * pw - dw * (kw - 1)
        packed = empty((kh, kw, out, channels), like=x)
        pack(tuple(packed.shape), self.weight, packed)
        y = empty((x.shape[0], out, h, w), like=x)
        for picture, result in zip(x, y):
            conv2d(((out + TM - 1) // TM, h, (w + TN - 1) // TN), picture, packed, ph, pw, dh, dw, result)
        return y
