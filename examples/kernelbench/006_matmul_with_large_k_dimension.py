"""Task 6: a product with a long inner dimension and few rows and columns. The inner dimension is
cut, so that all of a GPU works; a second kernel adds the parts, in one order."""

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(64)
STEPS = kc.constant(32)


@kc.kernel
def partial_products(a: kc.array2d(dtype=float), b: kc.array2d(dtype=float), parts: kc.array3d(dtype=float)):
    p, i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    # Beyond the last column a load gives zeros.
    for k in range(STEPS):
        x = kc.tile_load(a, shape=(TM, TK), offset=(i * TM, (p * STEPS + k) * TK))
        y = kc.tile_load(b, shape=(TK, TN), offset=((p * STEPS + k) * TK, j * TN))
        kc.tile_matmul(x, y, total)
    kc.tile_store(parts[p], total, offset=(i * TM, j * TN))


@kc.kernel
def add_parts(parts: kc.array3d(dtype=float), c: kc.array2d(dtype=float)):
    i, j = kc.tid()
    total = float(0.0)
    for p in range(parts.shape[0]):
        total += parts[p, i, j]
    c[i, j] = total


class ModelNew(Model):
    def forward(self, A, B):
        m, k, n = A.shape[0], A.shape[1], B.shape[1]
        count = (k + STEPS * TK - 1) // (STEPS * TK)
        parts, C = empty((count, m, n), like=A), empty((m, n), like=A)
        partial_products((count, (m + TM - 1) // TM, (n + TN - 1) // TN), A, B, parts)
        add_parts((m, n), parts, C)
        return C
