"""Task 17: A times B transposed: a tile of B is loaded as it lies, and turned."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(64)


@kc.kernel
def matmul(a: kc.array2d(dtype=float), b: kc.array2d(dtype=float), c: kc.array2d(dtype=float)):
    i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    # Tiles that reach beyond an array have zeros there, and are not stored there.
    for k in range((a.shape[1] + TK - 1) // TK):
        x = kc.tile_load(a, shape=(TM, TK), offset=(i * TM, k * TK))
        y = kc.tile_load(b, shape=(TN, TK), offset=(j * TN, k * TK))
        kc.tile_matmul(x, kc.tile_transpose(y), total)
    kc.tile_store(c, total, offset=(i * TM, j * TN))


class ModelNew(Model):
    def forward(self, A, B):
        m, n = A.shape[0], B.shape[0]
        C = empty((m, n), like=A)
        matmul(((m + TM - 1) // TM, (n + TN - 1) // TN), A, B, C)
        return C
