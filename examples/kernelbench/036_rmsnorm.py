"""Task 36: RMS normalisation over the channels. A thread has a pixel; neighbours read neighbours, a
channel at a time."""

import kc
from kc.bench import Model, empty


@kc.kernel
def rms_norm(x: kc.array3d(dtype=float), eps: float, y: kc.array3d(dtype=float)):
    n, k = kc.tid()
    total = float(0.0)
    for c in range(x.shape[1]):
        total += x[n, c, k] * x[n, c, k]
    scale = 1.0 / kc.sqrt(total / float(x.shape[1]) + eps)
    for c in range(x.shape[1]):
        y[n, c, k] = x[n, c, k] * scale


class ModelNew(Model):
    def __init__(self, num_features, eps=1.0e-5):
        self.num_features, self.eps = num_features, eps

    def forward(self, x):
        n, c = x.shape[0], x.shape[1]
        flat = x.reshape(n, c, -1)
        y = empty(x.shape, like=x)
        rms_norm((n, flat.shape[2]), flat, self.eps, y.reshape(n, c, -1))
        return y
