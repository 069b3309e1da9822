"""Task 99: the triplet margin loss. A block adds up a row in parts, then one block the rows: the
same bits each time, and small rounding."""

import kc
from kc.bench import Model, empty

PART = kc.constant(1024)


@kc.func
def squared(a: float, b: float, column: int, columns: int):
    # PyTorch adds 1e-6 to each difference.
    d = a - b + 1.0e-6
    return kc.where(column < columns, d * d, 0.0)


@kc.kernel
def triplets(
    a: kc.array2d(dtype=float), p: kc.array2d(dtype=float), n: kc.array2d(dtype=float), margin: float, rows: kc.array(dtype=float)
):
    i = kc.tid()
    near, far = float(0.0), float(0.0)
    for k in range((a.shape[1] + PART - 1) // PART):
        x = kc.tile_load(a[i], shape=PART, offset=k * PART)
        y = kc.tile_load(p[i], shape=PART, offset=k * PART)
        z = kc.tile_load(n[i], shape=PART, offset=k * PART)
        column = kc.tile_arange(PART, dtype=int)
        last = kc.tile_full(shape=PART, value=a.shape[1] - k * PART, dtype=int)
        near += kc.tile_sum(kc.tile_map(squared, x, y, column, last))[0]
        far += kc.tile_sum(kc.tile_map(squared, x, z, column, last))[0]
    rows[i] = kc.max(kc.sqrt(near) - kc.sqrt(far) + margin, 0.0)


@kc.kernel
def total(rows: kc.array(dtype=float), count: float, loss: kc.array(dtype=float)):
    i = kc.tid()
    sum = float(0.0)
    for k in range((rows.shape[0] + PART - 1) // PART):
        sum += kc.tile_sum(kc.tile_load(rows, shape=PART, offset=k * PART))[0]
    loss[i] = sum / count


class ModelNew(Model):
    def __init__(self, margin=1.0):
        self.margin = margin

    def forward(self, anchor, positive, negative):
        n = anchor.shape[0]
        rows, loss = empty((n,), like=anchor), empty((1,), like=anchor)
        triplets(n, anchor, positive, negative, self.margin, rows)
        total(1, rows, float(n), loss)
        return loss.reshape(())
