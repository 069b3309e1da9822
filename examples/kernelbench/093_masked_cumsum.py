"""Task 93: running sums of the elements that a mask lets through. A block has a row, which it takes
in parts and carries the sum along."""

import kc
from kc.bench import Model, empty

PART = kc.constant(1024)


@kc.func
def chosen(v: float, here: kc.bool):
    return kc.where(here, v, 0.0)


@kc.kernel
def masked_cumsum(x: kc.array2d(dtype=float), mask: kc.array2d(dtype=kc.bool), y: kc.array2d(dtype=float)):
    i = kc.tid()
    carry = float(0.0)
    for k in range((x.shape[1] + PART - 1) // PART):
        t = kc.tile_load(x[i], shape=PART, offset=k * PART)
        m = kc.tile_load(mask[i], shape=PART, offset=k * PART)
        sums = kc.tile_scan_inclusive(kc.tile_map(chosen, t, m)) + kc.tile_full(
            shape=PART, value=carry, dtype=float,
        )
        kc.tile_store(y[i], sums, offset=k * PART)
        carry = sums[PART - 1]


class ModelNew(Model):
    def __init__(self, dim):
        self.dim = dim

    def forward(self, x, mask):
        y = empty(x.shape, like=x)
        masked_cumsum(x.shape[0], x, mask, y)
        return y
