"""Task 100: the hinge loss; each column has its target of 1 or -1. A block adds up a row in parts,
then one block the rows: the same bits each time, and small rounding."""

import kc
from kc.bench import Model, empty

PART = kc.constant(1024)


@kc.func
def hinge(x: float, t: float, column: int, columns: int):
    return kc.where(column < columns, kc.max(1.0 - x * t, 0.0), 0.0)


@kc.kernel
def hinges(x: kc.array2d(dtype=float), t: kc.array(dtype=float), rows: kc.array(dtype=float)):
    i = kc.tid()
    n = x.shape[1]
    sum = float(0.0)
    for k in range((n + PART - 1) // PART):
        v = kc.tile_load(x[i], shape=PART, offset=k * PART)
        s = kc.tile_load(t, shape=PART, offset=k * PART)
        last = kc.tile_full(shape=PART, value=n - k * PART, dtype=int)
        sum += kc.tile_sum(kc.tile_map(hinge, v, s, kc.tile_arange(PART, dtype=int), last))[0]
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
        hinges(n, predictions, targets, rows)
        total(1, rows, float(n * predictions.shape[1]), loss)
        return loss.reshape(())
