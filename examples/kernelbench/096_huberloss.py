"""Task 96: the smooth L1 loss: squares up to 1, lines beyond. A block adds up a row in parts, then
one block the rows: the same bits each time, and small rounding."""

import kc
from kc.bench import Model, empty

PART = kc.constant(1024)


@kc.func
def smooth(d: float):
    a = kc.abs(d)
    return kc.where(a < 1.0, 0.5 * a * a, a - 0.5)


@kc.kernel
def smooth_l1(x: kc.array2d(dtype=float), t: kc.array2d(dtype=float), rows: kc.array(dtype=float)):
    i = kc.tid()
    sum = float(0.0)
    for k in range((x.shape[1] + PART - 1) // PART):
        d = kc.tile_load(x[i], shape=PART, offset=k * PART) - kc.tile_load(t[i], shape=PART, offset=k * PART)
        sum += kc.tile_sum(kc.tile_map(smooth, d))[0]
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
        smooth_l1(n, predictions, targets, rows)
        total(1, rows, float(n * predictions.shape[1]), loss)
        return loss.reshape(())
