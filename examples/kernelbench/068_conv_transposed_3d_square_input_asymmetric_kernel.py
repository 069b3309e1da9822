"""Task 68: a transposed convolution of volumes by a window of 3 x 5 x 5. In steps of 1 it is a
convolution by the window turned around: a row of the result is a product for each place of the
window, weights (out, in) times a row of the input (in, columns). Arrays have four dimensions:
planes and rows are one."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(16)


@kc.kernel
def pack(w: kc.array3d(dtype=float), packed: kc.array3d(dtype=float)):
    t, o, c = kc.tid()
    packed[t, o, c] = w[c, o, t]


@kc.kernel
def conv_transpose3d(
    x: kc.array3d(dtype=float), w: kc.array3d(dtype=float), window: kc.vec3i, padding: kc.vec3i, high: int, rows: int,
    y: kc.array3d(dtype=float),
):
    # x: channels, planes and rows, columns, with `high` rows a plane; y the same with `rows`.
    block, line, part = kc.tid()
    first = part * TN
    plane, row = line // rows, line % rows
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for a in range(window[0]):
        u = plane + padding[0] - a
        if u >= 0 and u < x.shape[1] // high:
            for i in range(window[1]):
                h = row + padding[1] - i
                if h >= 0 and h < high:
                    for j in range(window[2]):
                        t = (a * window[1] + i) * window[2] + j
                        for c in range((w.shape[2] + TK - 1) // TK):
                            f = kc.tile_load(w[t], shape=(TM, TK), offset=(block * TM, c * TK))
                            b = kc.tile_load(
                                x[:, u * high + h], shape=(TK, TN),
                                offset=(c * TK, first + padding[2] - j),
                            )
                            kc.tile_matmul(f, b, total)
    kc.tile_store(y[:, line], total, offset=(block * TM, first))


class ModelNew(Model):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=(1, 1, 1), padding=(0, 0, 0),
        output_padding=(0, 0, 0), groups=1, bias=False,
    ):
        self.padding = padding
        self.weight = self.parameter(in_channels, out_channels, *kernel_size)

    def forward(self, x):
        (channels, out), window = self.weight.shape[:2], tuple(self.weight.shape[2:])
        places = window[0] * window[1] * window[2]
        packed = empty((places, out, channels), like=x)
        pack(tuple(packed.shape), self.weight.reshape(channels, out, places), packed)
        d, h, w = (n - 2 * p + k - 1 for n, p, k in zip(x.shape[2:], self.padding, window))
        n, high, wide = x.shape[0], x.shape[3], x.shape[4]
        y = empty((n, out, d, h, w), like=x)
        dim = (out + TM - 1) // TM, d * h, (w + TN - 1) // TN
        for volume, result in zip(x.reshape(n, channels, -1, wide), y.reshape(n, out, -1, w)):
            conv_transpose3d(dim, volume, packed, window, self.padding, high, h, result)
        return y
