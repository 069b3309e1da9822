"""Level 2, task 69: a convolution of eight channels whose rows are products of tiles, with
hardswish and ReLU on the tile."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(8)


@kc.func
def relu(v: float):
    return kc.max(v, 0.0)


@kc.func
def hardswish(v: float):
    return v * kc.clamp(v / 6.0 + 0.5, 0.0, 1.0)


@kc.kernel
def pack(w: kc.array4d(dtype=float), packed: kc.array4d(dtype=float)):
    i, j, o, c = kc.tid()
    packed[i, j, o, c] = w[o, c, i, j]


@kc.kernel
def conv2d(
    x: kc.array3d(dtype=float), w: kc.array4d(dtype=float), bias: kc.array(dtype=float),
    y: kc.array3d(dtype=float),
):
    block, row, part = kc.tid()
    first = part * TN
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            for c in range((w.shape[3] + TK - 1) // TK):
                a = kc.tile_load(w[i, j], shape=(TM, TK), offset=(block * TM, c * TK))
                b = kc.tile_load(x[:, row + i], shape=(TK, TN), offset=(c * TK, first + j))
                kc.tile_matmul(a, b, total)
    # A bias for each row of the tile, which is a channel.
    rows = kc.tile_reshape(kc.tile_load(bias, shape=TM, offset=block * TM), shape=(TM, 1))
    t = total + kc.tile_broadcast(rows, shape=(TM, TN))
    t = kc.tile_map(relu, kc.tile_map(hardswish, t))
    kc.tile_store(y[:, row], t, offset=(block * TM, first))


class ModelNew(Model):
    def __init__(self, in_channels, out_channels, kernel_size):
        self.weight = self.parameter(out_channels, in_channels, kernel_size, kernel_size)
        self.bias = self.parameter(out_channels, fan_in=in_channels * kernel_size * kernel_size)

    def forward(self, x):
        out, channels, kh, kw = self.weight.shape
        packed = empty((kh, kw, out, channels), like=x)
        pack(tuple(packed.shape), self.weight, packed)
        h, w = x.shape[2] - kh + 1, x.shape[3] - kw + 1
        y = empty((x.shape[0], out, h, w), like=x)
        dim = (out + TM - 1) // TM, h, (w + TN - 1) // TN
        for picture, result in zip(x, y):
            conv2d(dim, picture, packed, self.bias, result)
        return y
