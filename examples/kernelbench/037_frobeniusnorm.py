"""Task 37: an array divided by its Frobenius norm. Blocks add up the squares of their parts, one
block adds up these, and each element is divided."""

import kc
from kc.bench import Model, empty

PART = kc.constant(4096)


@kc.kernel
def part_squares(x: kc.array(dtype=float), parts: kc.array(dtype=float)):
    p = kc.tid()
    t = kc.tile_load(x, shape=PART, offset=p * PART)
    parts[p] = kc.tile_sum(t * t)[0]


@kc.kernel
def inverse_root(parts: kc.array(dtype=float), scale: kc.array(dtype=float)):
    i = kc.tid()
    total = float(0.0)
    for p in range((parts.shape[0] + PART - 1) // PART):
        total += kc.tile_sum(kc.tile_load(parts, shape=PART, offset=p * PART))[0]
    scale[i] = 1.0 / kc.sqrt(total)


@kc.kernel
def multiply(x: kc.array(dtype=float), scale: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * scale[0]


class ModelNew(Model):
    def forward(self, x):
        flat = x.reshape(-1)
        size = flat.shape[0]
        count = (size + PART - 1) // PART
        parts, scale, y = empty((count,), like=x), empty((1,), like=x), empty(x.shape, like=x)
        part_squares(count, flat, parts)
        inverse_root(1, parts, scale)
        multiply(size, flat, scale, y.reshape(-1))
        return y
