"""Task 11: a tensor of four dimensions times a matrix: the first three are the rows of one
product."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(64)


@kc.kernel
def matmul(a: kc.array2d(dtype=float), b: kc.array2d(dtype=float), c: kc.array2d(dtype=float)):
    i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for k in range((a.shape[1] + TK - 1) // TK):
        x = kc.tile_load(a, shape=(TM, TK), offset=(i * TM, k * TK))
        y = kc.tile_load(b, shape=(TK, TN), offset=(k * TK, j * TN))
        kc.tile_matmul(x, y, total)
    kc.tile_store(c, total, offset=(i * TM, j * TN))


class ModelNew(Model):
    def forward(self, A, B):
        inner, n = B.shape
        C = empty((*A.shape[:-1], n), like=A)
        rows, result = A.reshape(-1, inner), C.reshape(-1, n)
        matmul(((rows.shape[0] + TM - 1) // TM, (n + TN - 1) // TN), rows, B, result)
        return C
