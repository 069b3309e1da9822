"""Products of matrices, and attention."""

from __future__ import annotations

import math

import numpy as np


def _transposed(x, how):
    return np.swapaxes(x, -1, -2) if how else x


def _kept(c, settings):
    keep = settings.get("keep")
    return np.triu(c) if keep == "upper" else np.tril(c) if keep == "lower" else c


def _matmul(inputs, parameters, settings):
    a, b = (_transposed(x, settings.get(f"transpose_{n}")) for x, n in zip(inputs, "ab"))
    return _kept(np.matmul(a, b), settings)


def _matmul_backward(inputs, parameters, settings, dy):
    a, b = (_transposed(x, settings.get(f"transpose_{n}")) for x, n in zip(inputs, "ab"))
    dy = _kept(dy, settings)
    if a.ndim > b.ndim:
        # One matrix for the whole batch.
        flat, back = a.reshape(-1, a.shape[-1]), dy.reshape(-1, dy.shape[-1])
        da, db = np.matmul(dy, b.T), np.matmul(flat.T, back)
    else:
        da, db = np.matmul(dy, np.swapaxes(b, -1, -2)), np.matmul(np.swapaxes(a, -1, -2), dy)
    return [_transposed(da, settings.get("transpose_a")), _transposed(db, settings.get("transpose_b"))]


def _scale(inputs, parameters, settings):
    return inputs[0] * inputs[0].dtype.type(inputs[1])


def _diagonal(inputs, parameters, settings):
    return inputs[0][:, None] * inputs[1]


def _diagonal_backward(inputs, parameters, settings, dy):
    return [(dy * inputs[1]).sum(axis=1), inputs[0][:, None] * dy]


def weights(q, k):
    s = np.matmul(q, np.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1])
    s = s - s.max(axis=-1, keepdims=True)
    e = np.exp(s)
    return (e / e.sum(axis=-1, keepdims=True)).astype(q.dtype)


def _attention(inputs, parameters, settings):
    q, k, v = inputs
    return np.matmul(weights(q, k), v)


def _attention_backward(inputs, parameters, settings, dy):
    q, k, v = inputs
    p = weights(q, k)
    dp = np.matmul(dy, np.swapaxes(v, -1, -2))
    ds = (p * (dp - (dp * p).sum(axis=-1, keepdims=True)) / math.sqrt(q.shape[-1])).astype(q.dtype)
    return [np.matmul(ds, k), np.matmul(np.swapaxes(ds, -1, -2), q), np.matmul(np.swapaxes(p, -1, -2), dy)]


OPERATIONS = {
    "matmul": (_matmul, _matmul_backward),
    "scale": (_scale, lambda inputs, parameters, settings, dy: [dy * dy.dtype.type(inputs[1]), None]),
    "diagonal": (_diagonal, _diagonal_backward),
    "attention": (_attention, _attention_backward),
}
