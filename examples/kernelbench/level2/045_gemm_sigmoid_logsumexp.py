"""Level 2, task 45: two products, the first with a sigmoid on its tile, and for each row of the
second the logarithm of the sum of its exponentials."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(32), kc.constant(32), kc.constant(64)
PART = kc.constant(1024)


@kc.func
def sigmoid(v: float):
    # The exponential of a negative number does not overflow.
    e = kc.exp(-kc.abs(v))
    return kc.where(v >= 0.0, 1.0, e) / (1.0 + e)


@kc.func
def masked(v: float, column: int, columns: int):
    return kc.where(column < columns, v, -3.0e38)


@kc.func
def weight(v: float, top: float):
    return kc.exp(v - top)


@kc.kernel
def linear(
    x: kc.array2d(dtype=float), w: kc.array2d(dtype=float), bias: kc.array(dtype=float),
    y: kc.array2d(dtype=float),
):
    i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    # Tiles that reach beyond an array have zeros there, and are not stored there.
    for k in range((x.shape[1] + TK - 1) // TK):
        a = kc.tile_load(x, shape=(TM, TK), offset=(i * TM, k * TK))
        b = kc.tile_load(w, shape=(TN, TK), offset=(j * TN, k * TK))
        kc.tile_matmul(a, kc.tile_transpose(b), total)
    t = total + kc.tile_broadcast(kc.tile_load(bias, shape=TN, offset=j * TN), shape=(TM, TN))
    kc.tile_store(y, t, offset=(i * TM, j * TN))


@kc.kernel
def linear_sigmoid(
    x: kc.array2d(dtype=float), w: kc.array2d(dtype=float), bias: kc.array(dtype=float),
    y: kc.array2d(dtype=float),
):
    i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for k in range((x.shape[1] + TK - 1) // TK):
        a = kc.tile_load(x, shape=(TM, TK), offset=(i * TM, k * TK))
        b = kc.tile_load(w, shape=(TN, TK), offset=(j * TN, k * TK))
        kc.tile_matmul(a, kc.tile_transpose(b), total)
    t = total + kc.tile_broadcast(kc.tile_load(bias, shape=TN, offset=j * TN), shape=(TM, TN))
    kc.tile_store(y, kc.tile_map(sigmoid, t), offset=(i * TM, j * TN))


@kc.kernel
def logsumexp(x: kc.array2d(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    n = x.shape[1]
    top = float(-3.0e38)
    total = float(0.0)
    for k in range((n + PART - 1) // PART):
        t = kc.tile_load(x[i], shape=PART, offset=k * PART)
        # Beyond the row a load gives zeros, which are no maximum.
        t = kc.tile_map(
            masked, t, kc.tile_arange(PART, dtype=int),
            kc.tile_full(shape=PART, value=n - k * PART, dtype=int),
        )
        above = kc.max(top, kc.tile_max(t)[0])
        e = kc.tile_map(weight, t, kc.tile_full(shape=PART, value=above, dtype=float))
        total = total * kc.exp(top - above) + kc.tile_sum(e)[0]
        top = above
    y[i] = top + kc.log(total)


class ModelNew(Model):
    def __init__(self, input_size, hidden_size, output_size):
        self.weight1 = self.parameter(hidden_size, input_size)
        self.bias1 = self.parameter(hidden_size, fan_in=input_size)
        self.weight2 = self.parameter(output_size, hidden_size)
        self.bias2 = self.parameter(output_size, fan_in=hidden_size)

    def forward(self, x):
        rows = (x.shape[0] + TM - 1) // TM
        n, m = self.weight1.shape[0], self.weight2.shape[0]
        inner, outer = empty((x.shape[0], n), like=x), empty((x.shape[0], m), like=x)
        linear_sigmoid((rows, (n + TN - 1) // TN), x, self.weight1, self.bias1, inner)
        linear((rows, (m + TN - 1) // TN), inner, self.weight2, self.bias2, outer)
        y = empty((x.shape[0],), like=x)
        logsumexp(x.shape[0], outer, y)
        return y
