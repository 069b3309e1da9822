"""Task 21: the sigmoid, whose exponential never overflows, a thread for each element."""

import kc
from kc.bench import Model, empty


@kc.kernel
def sigmoid(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    v = x[i]
    e = kc.exp(-kc.abs(v))
    y[i] = kc.where(v >= 0.0, 1.0, e) / (1.0 + e)


class ModelNew(Model):
    def forward(self, x):
        y = empty(x.shape, like=x)
        flat = x.reshape(-1)
        sigmoid(flat.shape[0], flat, y.reshape(-1))
        return y
