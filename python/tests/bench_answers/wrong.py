"""Answers that upstream's check accepts and that are wrong in general: what each leaves out.

By task: what is left out, and the body of ``forward`` in NumPy. The first 25 pass upstream's check in
float32, the others in half precision.
"""

ERF = "np.vectorize(math.erf)(X / math.sqrt(2.0))"

#: Task, what is left out, constructor, inputs, body. The names of inputs are those of the body.
WRONG = [
    (23, "everything: zeros", "", "x", "return np.zeros_like(x)"),
    (19, "everything: identity", "", "x", "return x.copy()"),
    (20, "everything: identity", "", "x", "return x.copy()"),
    (31, "everything: identity", "", "x", "return x.copy()"),
    (32, "everything: identity", "", "x", "return x.copy()"),
    (27, "the negative half", "", "x", "return np.float32(1.0507009873554805) * x"),
    (28, "the clamps", "", "x", "return x / np.float32(6) + np.float32(0.5)"),
    (30, "the absolute value", "", "x", "return x / (1 + x)"),
    (38, "the absolute value", "", "x", "return x / x.mean(axis=1, keepdims=True)"),
    (96, "the linear branch", "", "x, t", "return np.float32(np.mean(np.float32(0.5) * (x - t) ** 2))"),
    (100, "the clamp", "", "x, t", "return np.float32(np.mean(1 - x * t))"),
    (90, "all but the first 64 of a row", "", "x",
     "y = np.zeros_like(x)\n        y[:, :64] = np.cumprod(x[:, :64], axis=1)\n        return y"),
    (24, "the maximum", "", "x", "return x - np.log(np.exp(x).sum(axis=1, keepdims=True))"),
    (95, "the maximum", "", "x, t",
     "return np.float32(np.mean(np.log(np.exp(x).sum(axis=1)) - x[np.arange(len(x)), t]))"),
    (29, "what keeps it finite", "", "x", "return np.log(1 + np.exp(x))"),
    (33, "weight and bias", "affine", "x",
     "m = x.mean(axis=(0, 2, 3), keepdims=True)\n"
     "        return (x - m) / np.sqrt(((x - m) ** 2).mean(axis=(0, 2, 3), keepdims=True) + np.float32(1e-5))"),
    (35, "weight and bias", "affine", "x",
     "v = x.reshape(x.shape[0], self.init[1], -1)\n        m = v.mean(axis=2, keepdims=True)\n"
     "        return ((v - m) / np.sqrt(((v - m) ** 2).mean(axis=2, keepdims=True) + np.float32(1e-5))).reshape(x.shape)"),
    (40, "weight and bias", "layer", "x",
     "v = x.reshape(x.shape[0], -1)\n        m = v.mean(axis=1, keepdims=True)\n"
     "        return ((v - m) / np.sqrt(((v - m) ** 2).mean(axis=1, keepdims=True) + np.float32(1e-5))).reshape(x.shape)"),
    (34, "eps", "", "x",
     "m = x.mean(axis=(2, 3), keepdims=True)\n"
     "        return (x - m) / np.sqrt(((x - m) ** 2).mean(axis=(2, 3), keepdims=True))"),
    (36, "eps", "", "x", "return x / np.sqrt((x ** 2).mean(axis=1, keepdims=True))"),
    (41, "-inf outside of the line", "", "x", "return pooled(x, 8, 1, 4, 3)"),
    (42, "-inf outside of the picture", "", "x", "return pooled(x, 4, 1, 1, 1)"),
    (43, "-inf outside of the volume", "", "x", "return pooled(x, 3, 2, 1, 3)"),
    (26, "the error function: tanh for it", "", "x",
     "return (0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))).astype(np.float32)"),
    (88, "the tanh: the error function for it", "", "x", f"return (0.5 * x * (1 + {ERF.replace('X', 'x')})).astype(np.float32)"),
    # In half precision:
    (4, "everything: a constant", "", "A, B", "return np.full((A.shape[0], 1), A.shape[1] / 4, np.float32)"),
    (39, "everything: a constant", "", "x", "return np.full_like(x, np.sqrt(0.75 / x.shape[1]))"),
    (49, "everything: a constant", "", "x", "return np.full((x.shape[0], x.shape[2]), 1 - 1 / (x.shape[1] + 1), np.float32)"),
    (53, "everything: zeros", "", "x", "return np.zeros((x.shape[0], x.shape[2]), np.float32)"),
    (37, "everything: zeros", "", "x", "return np.zeros_like(x)"),
    (97, "attention: the mean of the values", "", "Q, K, V", "return np.broadcast_to(V.mean(axis=2, keepdims=True), V.shape).copy()"),
    (99, "the clamp and eps", "", "a, p, n",
     "return np.float32(np.mean(np.linalg.norm(a - p, axis=1) - np.linalg.norm(a - n, axis=1) + 1))"),
    (95, "everything: a constant", "", "x, t", "return np.float32(np.log(x.shape[1]))"),
]

HEAD = '''import math
import numpy as np


def pooled(x, size, stride, padding, dilation):
    """The maximum of windows, zeros beyond the edge."""
    for axis in range(2, x.ndim):
        x = np.pad(x, [(padding, padding) if a == axis else (0, 0) for a in range(x.ndim)])
        out = (x.shape[axis] - dilation * (size - 1) - 1) // stride + 1
        parts = [np.take(x, range(i * dilation, i * dilation + (out - 1) * stride + 1, stride), axis) for i in range(size)]
        x = np.maximum.reduce(parts)
    return x


class ModelNew:
    def __init__(self, *init):
        self.init = init
        shape = {"affine": init[:1], "layer": init[0] if init else ()}.get(KIND)
        self.own = [] if shape is None else [np.ones(shape, np.float32), np.zeros(shape, np.float32)]

    def parameters(self):
        return self.own

    def __call__(self, INPUTS):
        BODY
'''


def text_of(kind, inputs, body):
    """The file of an answer."""
    return HEAD.replace("KIND", repr(kind)).replace("INPUTS", inputs).replace("BODY", body)
