"""Task 98: the Kullback-Leibler divergence of the predictions from the targets, for each row of the
batch. A block adds up a row in parts, then one block the rows: the same bits each time, and small
rounding."""

import kc
from kc.bench import Model, empty

PART = kc.constant(1024)


@kc.func
def term(x: float, t: float):
    # A target of zero counts nothing.
    return kc.where(t > 0.0, t * (kc.log(kc.max(t, 1.0e-38)) - kc.log(x)), 0.0)


@kc.func
def inside(v: float, column: int, columns: int):
    return kc.where(column < columns, v, 1.0)


@kc.kernel
def divergence(x: kc.array2d(dtype=float), t: kc.array2d(dtype=float), rows: kc.array(dtype=float)):
    i = kc.tid()
    n = x.shape[1]
    sum = float(0.0)
    for k in range((n + PART - 1) // PART):
        v = kc.tile_load(x[i], shape=PART, offset=k * PART)
        # Beyond the row a load gives zeros, of which there is no logarithm.
        v = kc.tile_map(
            inside, v, kc.tile_arange(PART, dtype=int),
            kc.tile_full(shape=PART, value=n - k * PART, dtype=int),
        )
        sum += kc.tile_sum(kc.tile_map(term, v, kc.tile_load(t[i], shape=PART, offset=k * PART)))[0]
    rows[i] = sum


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
        divergence(n, predictions, targets, rows)
        total(1, rows, float(n), loss)
        return loss.reshape(())
