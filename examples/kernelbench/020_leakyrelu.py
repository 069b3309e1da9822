"""Task 20: leaky ReLU. A thread has an element of each quarter:
four loads are under way at once."""

import kc
from kc.bench import Model, empty


@kc.func
def value(v: float, slope: float):
    return kc.where(v > 0.0, v, slope * v)


@kc.kernel
def leaky_relu(x: kc.array(dtype=float), slope: float, y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = value(x[i], slope)


@kc.kernel
def leaky_relu_quarters(x: kc.array2d(dtype=float), slope: float, y: kc.array2d(dtype=float)):
    i = kc.tid()
    # All loads first: a store may be to what is loaded next.
    a = x[0, i]
    b = x[1, i]
    c = x[2, i]
    d = x[3, i]
    y[0, i] = value(a, slope)
    y[1, i] = value(b, slope)
    y[2, i] = value(c, slope)
    y[3, i] = value(d, slope)


class ModelNew(Model):
    def __init__(self, negative_slope=0.01):
        self.negative_slope = negative_slope

    def forward(self, x):
        y = empty(x.shape, like=x)
        a, b = x.reshape(-1), y.reshape(-1)
        n = a.shape[0] // 4
        whole = 4 * n
        if n:
            leaky_relu_quarters(n, a[:whole].reshape(4, n), self.negative_slope, b[:whole].reshape(4, n))
        if whole < a.shape[0]:
            leaky_relu(a.shape[0] - whole, a[whole:], self.negative_slope, b[whole:])
        return y
