"""Task 3: a batch of products, a block for each tile of 64 x 64 of each."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(64)


@kc.kernel
def matmul(a: kc.array3d(dtype=float), b: kc.array3d(dtype=float), c: kc.array3d(dtype=float)):
    n, i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for k in range((a.shape[2] + TK - 1) // TK):
        x = kc.tile_load(a[n], shape=(TM, TK), offset=(i * TM, k * TK))
        y = kc.tile_load(b[n], shape=(TK, TN), offset=(k * TK, j * TN))
        kc.tile_matmul(x, y, total)
    kc.tile_store(c[n], total, offset=(i * TM, j * TN))


class ModelNew(Model):
    def forward(self, A, B):
        batch, m, n = A.shape[0], A.shape[1], B.shape[2]
        C = empty((batch, m, n), like=A)
        matmul((batch, (m + TM - 1) // TM, (n + TN - 1) // TN), A, B, C)
        return C
