"""Task 5: a matrix times a number. A thread has an element of each quarter: four loads are under
way at once."""

import kc
from kc.bench import Model, empty


@kc.kernel
def scale(a: kc.array(dtype=float), s: float, c: kc.array(dtype=float)):
    i = kc.tid()
    c[i] = a[i] * s


@kc.kernel
def scale_quarters(a: kc.array2d(dtype=float), s: float, c: kc.array2d(dtype=float)):
    i = kc.tid()
    # All loads first: a store may be to what is loaded next.
    p = a[0, i]
    q = a[1, i]
    u = a[2, i]
    v = a[3, i]
    c[0, i] = p * s
    c[1, i] = q * s
    c[2, i] = u * s
    c[3, i] = v * s


class ModelNew(Model):
    def forward(self, A, s):
        C = empty(A.shape, like=A)
        a, c = A.reshape(-1), C.reshape(-1)
        n = a.shape[0] // 4
        whole = 4 * n
        if n:
            scale_quarters(n, a[:whole].reshape(4, n), s, c[:whole].reshape(4, n))
        if whole < a.shape[0]:
            scale(a.shape[0] - whole, a[whole:], s, c[whole:])
        return C
