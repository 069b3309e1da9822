"""Task 4: a matrix times a vector. A block has a row, and adds it up in parts, so that rounding
stays small over a million terms."""

import kc
from kc.bench import Model, empty

PART = kc.constant(2048)


@kc.kernel
def matvec(a: kc.array2d(dtype=float), b: kc.array(dtype=float), c: kc.array(dtype=float)):
    i = kc.tid()
    total = float(0.0)
    for k in range((a.shape[1] + PART - 1) // PART):
        x = kc.tile_load(a[i], shape=PART, offset=k * PART)
        y = kc.tile_load(b, shape=PART, offset=k * PART)
        total += kc.tile_sum(x * y)[0]
    c[i] = total


class ModelNew(Model):
    def forward(self, A, B):
        C = empty((A.shape[0], 1), like=A)
        matvec(A.shape[0], A, B.reshape(-1), C.reshape(-1))
        return C
