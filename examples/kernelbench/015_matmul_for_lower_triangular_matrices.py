"""Task 15: the product of lower triangular matrices. Only terms with j <= k <= i are not zero:
tiles above the diagonal are skipped, in the result and in the sums, which is a sixth of the whole
product."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(64)


@kc.kernel
def lower_product(a: kc.array2d(dtype=float), b: kc.array2d(dtype=float), c: kc.array2d(dtype=float)):
    i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    # Empty where the tile is above the diagonal.
    for k in range(j * TN // TK, ((i + 1) * TM + TK - 1) // TK):
        x = kc.tile_load(a, shape=(TM, TK), offset=(i * TM, k * TK))
        y = kc.tile_load(b, shape=(TK, TN), offset=(k * TK, j * TN))
        kc.tile_matmul(x, y, total)
    kc.tile_store(c, total, offset=(i * TM, j * TN))


class ModelNew(Model):
    def forward(self, A, B):
        n = A.shape[0]
        C = empty((n, n), like=A)
        lower_product(((n + TM - 1) // TM, (n + TN - 1) // TN), A, B, C)
        return C
