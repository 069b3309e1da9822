"""Task 48: the mean along a dimension. A thread has a column: neighbours read neighbours."""

import math

import kc
from kc.bench import Model, empty


@kc.kernel
def column_means(x: kc.array3d(dtype=float), y: kc.array2d(dtype=float)):
    b, c = kc.tid()
    total = float(0.0)
    for k in range(x.shape[1]):
        total += x[b, k, c]
    y[b, c] = total / float(x.shape[1])


class ModelNew(Model):
    def __init__(self, dim):
        self.dim = dim

    def forward(self, x):
        d = self.dim
        outer, inner = math.prod(x.shape[:d]), math.prod(x.shape[d + 1:])
        y = empty((*x.shape[:d], *x.shape[d + 1:]), like=x)
        column_means((outer, inner), x.reshape(outer, x.shape[d], inner), y.reshape(outer, inner))
        return y
