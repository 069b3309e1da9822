"""Task 97: attention. Heads are long (1,024 numbers), so it is three kernels: scores of queries and
keys, softmax of their rows, and the values they weigh. The scores take an eighth of the memory of
queries, keys, values and results."""

import math

import kc
from kc.bench import Model, empty

TM, TN, TK = kc.constant(64), kc.constant(64), kc.constant(64)
PART = kc.constant(512)


@kc.func
def masked(v: float, column: int, columns: int):
    return kc.where(column < columns, v, -3.0e38)


@kc.func
def weight(v: float, top: float):
    return kc.exp(v - top)


@kc.kernel
def scores(q: kc.array3d(dtype=float), k: kc.array3d(dtype=float), scale: float, s: kc.array3d(dtype=float)):
    h, i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for p in range((q.shape[2] + TK - 1) // TK):
        x = kc.tile_load(q[h], shape=(TM, TK), offset=(i * TM, p * TK))
        y = kc.tile_load(k[h], shape=(TN, TK), offset=(j * TN, p * TK))
        kc.tile_matmul(x, kc.tile_transpose(y), total)
    kc.tile_store(s[h], total * scale, offset=(i * TM, j * TN))


@kc.kernel
def softmax(s: kc.array2d(dtype=float), p: kc.array2d(dtype=float)):
    i = kc.tid()
    n = s.shape[1]
    top = float(-3.0e38)
    total = float(0.0)
    for k in range((n + PART - 1) // PART):
        t = kc.tile_load(s[i], shape=PART, offset=k * PART)
        # Beyond the row a load gives zeros, which are no maximum.
        t = kc.tile_map(
            masked, t, kc.tile_arange(PART, dtype=int),
            kc.tile_full(shape=PART, value=n - k * PART, dtype=int),
        )
        above = kc.max(top, kc.tile_max(t)[0])
        e = kc.tile_map(weight, t, kc.tile_full(shape=PART, value=above, dtype=float))
        total = total * kc.exp(top - above) + kc.tile_sum(e)[0]
        top = above
    for k in range((n + PART - 1) // PART):
        t = kc.tile_load(s[i], shape=PART, offset=k * PART)
        e = kc.tile_map(weight, t, kc.tile_full(shape=PART, value=top, dtype=float))
        kc.tile_store(p[i], e / total, offset=k * PART)


@kc.kernel
def weighed(p: kc.array3d(dtype=float), v: kc.array3d(dtype=float), o: kc.array3d(dtype=float)):
    h, i, j = kc.tid()
    total = kc.tile_zeros(shape=(TM, TN), dtype=float)
    for k in range((p.shape[2] + TK - 1) // TK):
        x = kc.tile_load(p[h], shape=(TM, TK), offset=(i * TM, k * TK))
        y = kc.tile_load(v[h], shape=(TK, TN), offset=(k * TK, j * TN))
        kc.tile_matmul(x, y, total)
    kc.tile_store(o[h], total, offset=(i * TM, j * TN))


class ModelNew(Model):
    def forward(self, Q, K, V):
        batch, heads, length, dim = Q.shape
        n, tiles = batch * heads, (length + TM - 1) // TM
        q, k, v = Q.reshape(n, length, dim), K.reshape(n, length, dim), V.reshape(n, length, dim)
        s, p, O = empty((n, length, length), like=Q), empty((n, length, length), like=Q), empty(
            Q.shape, like=Q,
        )
        scores((n, tiles, tiles), q, k, 1.0 / math.sqrt(dim), s)
        softmax(n * length, s.reshape(n * length, length), p.reshape(n * length, length))
        weighed((n, tiles, (dim + TN - 1) // TN), p, v, O.reshape(n, length, dim))
        return O
