"""Task 23: softmax of long rows. A block has a row, which it reads in parts with a running maximum
and a running sum."""

import kc
from kc.bench import Model, empty

PART = kc.constant(4096)


@kc.func
def masked(v: float, column: int, columns: int):
    return kc.where(column < columns, v, -3.0e38)


@kc.func
def weight(v: float, top: float):
    return kc.exp(v - top)


@kc.kernel
def softmax(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
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
    for k in range((n + PART - 1) // PART):
        t = kc.tile_load(x[i], shape=PART, offset=k * PART)
        e = kc.tile_map(weight, t, kc.tile_full(shape=PART, value=top, dtype=float))
        kc.tile_store(y[i], e / total, offset=k * PART)


class ModelNew(Model):
    def forward(self, x):
        y = empty(x.shape, like=x)
        softmax(x.shape[0], x, y)
        return y
