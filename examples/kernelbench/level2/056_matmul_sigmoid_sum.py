"""Level 2, task 56: the sum of a row of sigmoids. Behind its product a tile adds its columns, so
that the result of the product is never in memory."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(32), kc.constant(32), kc.constant(64)


@kc.func
def sigmoid(v: float):
    # The exponential of a negative number does not overflow.
    e = kc.exp(-kc.abs(v))
    return kc.where(v >= 0.0, 1.0, e) / (1.0 + e)


@kc.func
def inside(v: float, column: int, columns: int):
    # Columns beyond the array would add sigmoid(0) = 0.5 each.
    return kc.where(column < columns, v, 0.0)


@kc.kernel
def linear_sums(
    x: kc.array2d(dtype=float), w: kc.array2d(dtype=float), bias: kc.array(dtype=float),
    parts: kc.array2d(dtype=float),
):
    i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    # Tiles that reach beyond an array have zeros there, and are not stored there.
    for k in range((x.shape[1] + TK - 1) // TK):
        a = kc.tile_load(x, shape=(TM, TK), offset=(i * TM, k * TK))
        b = kc.tile_load(w, shape=(TN, TK), offset=(j * TN, k * TK))
        kc.tile_matmul(a, kc.tile_transpose(b), total)
    t = total + kc.tile_broadcast(kc.tile_load(bias, shape=TN, offset=j * TN), shape=(TM, TN))
    column = kc.tile_broadcast(kc.tile_arange(TN, dtype=int), shape=(TM, TN))
    left = kc.tile_full(shape=(TM, TN), value=w.shape[0] - j * TN, dtype=int)
    t = kc.tile_map(inside, kc.tile_map(sigmoid, t), column, left)
    kc.tile_store(parts[j], kc.tile_sum(t, axis=1), offset=i * TM)


@kc.kernel
def row_sums(parts: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
    i = kc.tid()
    total = float(0.0)
    for p in range(parts.shape[0]):
        total += parts[p, i]
    y[i, 0] = total


class ModelNew(Model):
    def __init__(self, input_size, hidden_size):
        self.weight = self.parameter(hidden_size, input_size)
        self.bias = self.parameter(hidden_size, fan_in=input_size)

    def forward(self, x):
        blocks = (self.weight.shape[0] + TN - 1) // TN
        parts = empty((blocks, x.shape[0]), like=x)
        linear_sums(((x.shape[0] + TM - 1) // TM, blocks), x, self.weight, self.bias, parts)
        y = empty((x.shape[0], 1), like=x)
        row_sums(x.shape[0], parts, y)
        return y
