"""Task 95: the cross entropy of rows of scores. A block adds up a row in parts, then one block the
rows: the same bits each time, and small rounding."""

import kc
from kc.bench import Model, empty

PART = kc.constant(1024)


@kc.func
def masked(v: float, column: int, columns: int):
    return kc.where(column < columns, v, -3.0e38)


@kc.func
def weight(v: float, top: float):
    return kc.exp(v - top)


@kc.kernel
def cross_entropy(x: kc.array2d(dtype=float), t: kc.array(dtype=kc.int64), rows: kc.array(dtype=float)):
    i = kc.tid()
    n = x.shape[1]
    top = float(-3.0e38)
    sum = float(0.0)
    for k in range((n + PART - 1) // PART):
        v = kc.tile_load(x[i], shape=PART, offset=k * PART)
        # Beyond the row a load gives zeros, which are no maximum.
        v = kc.tile_map(
            masked, v, kc.tile_arange(PART, dtype=int),
            kc.tile_full(shape=PART, value=n - k * PART, dtype=int),
        )
        above = kc.max(top, kc.tile_max(v)[0])
        e = kc.tile_map(weight, v, kc.tile_full(shape=PART, value=above, dtype=float))
        sum = sum * kc.exp(top - above) + kc.tile_sum(e)[0]
        top = above
    # The difference first: it is exact where the target has the maximum.
    rows[i] = kc.log(sum) + (top - x[i, int(t[i])])


@kc.kernel
def total(rows: kc.array(dtype=float), count: float, loss: kc.array(dtype=float)):
    i = kc.tid()
    sum = float(0.0)
    for k in range((rows.shape[0] + PART - 1) // PART):
        sum += kc.tile_sum(kc.tile_load(rows, shape=PART, offset=k * PART))[0]
    loss[i] = sum / count


class ModelNew(Model):
    def forward(self, predictions, targets):
        n = predictions.shape[0]
        rows, loss = empty((n,), like=predictions), empty((1,), like=predictions)
        cross_entropy(n, predictions, targets, rows)
        total(1, rows, float(n), loss)
        return loss.reshape(())
