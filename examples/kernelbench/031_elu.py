"""Task 31: ELU. A thread has an element of each quarter:
four loads are under way at once."""

import kc
from kc.bench import Model, empty


@kc.func
def expm1(v: float):
    # exp(v) - 1 without cancellation near zero.
    t = kc.tanh(0.5 * v)
    return 2.0 * t / (1.0 - t)



@kc.func
def value(v: float, alpha: float):
    return kc.where(v > 0.0, v, alpha * expm1(kc.min(v, 0.0)))


@kc.kernel
def elu(x: kc.array(dtype=float), alpha: float, y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = value(x[i], alpha)


@kc.kernel
def elu_quarters(x: kc.array2d(dtype=float), alpha: float, y: kc.array2d(dtype=float)):
    i = kc.tid()
    # All loads first: a store may be to what is loaded next.
    a = x[0, i]
    b = x[1, i]
    c = x[2, i]
    d = x[3, i]
    y[0, i] = value(a, alpha)
    y[1, i] = value(b, alpha)
    y[2, i] = value(c, alpha)
    y[3, i] = value(d, alpha)


class ModelNew(Model):
    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def forward(self, x):
        y = empty(x.shape, like=x)
        a, b = x.reshape(-1), y.reshape(-1)
        n = a.shape[0] // 4
        whole = 4 * n
        if n:
            elu_quarters(n, a[:whole].reshape(4, n), self.alpha, b[:whole].reshape(4, n))
        if whole < a.shape[0]:
            elu(a.shape[0] - whole, a[whole:], self.alpha, b[whole:])
        return y
