"""Level 2, task 64: a product, and for each row the logarithm of the sum of its exponentials, with
leaky ReLU and GELU, twice each."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(32), kc.constant(32), kc.constant(64)
PART = kc.constant(1024)
SLOPE = kc.constant(0.01)


@kc.func
def leaky_relu(v: float):
    return kc.where(v > 0.0, v, SLOPE * v)


@kc.func
def gelu(v: float):
    return 0.5 * v * (1.0 + kc.erf(v * 0.70710678))


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
def logsumexp(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
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
    y[i, 0] = gelu(gelu(leaky_relu(leaky_relu(top + kc.log(total)))))


class ModelNew(Model):
    def __init__(self, in_features, out_features, bias=True):
        self.weight = self.parameter(out_features, in_features)
        self.bias = self.parameter(out_features, fan_in=in_features)

    def forward(self, x):
        n = self.weight.shape[0]
        middle = empty((x.shape[0], n), like=x)
        dim = ((x.shape[0] + TM - 1) // TM, (n + TN - 1) // TN)
        linear(dim, x, self.weight, self.bias, middle)
        y = empty((x.shape[0], 1), like=x)
        logsumexp(x.shape[0], middle, y)
        return y
