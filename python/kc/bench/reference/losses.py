"""Losses: one number of all elements."""

from __future__ import annotations

import numpy as np


def _mse(i, p, s):
    return np.mean((i[0] - i[1]) ** 2)


def _mse_backward(i, p, s, dy):
    g = 2 * (i[0] - i[1]) / i[0].dtype.type(i[0].size) * dy
    return [g, -g]


def _smooth_l1(i, p, s):
    d = np.abs(i[0] - i[1])
    return np.mean(np.where(d < 1, 0.5 * d * d, d - i[0].dtype.type(0.5)))


def _smooth_l1_backward(i, p, s, dy):
    g = np.clip(i[0] - i[1], -1, 1) / i[0].dtype.type(i[0].size) * dy
    return [g, -g]


def _cross_entropy(i, p, s):
    x = i[0] - i[0].max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(x).sum(axis=1)) - x[np.arange(len(x)), i[1]])


def _cross_entropy_backward(i, p, s, dy):
    e = np.exp(i[0] - i[0].max(axis=1, keepdims=True))
    g = e / e.sum(axis=1, keepdims=True)
    g[np.arange(len(g)), i[1]] -= 1
    return [g / g.dtype.type(len(g)) * dy, None]


def _kl_div(i, p, s):
    x, t = i
    safe = np.where(t > 0, t, 1)
    return np.sum(t * (np.log(safe) - np.log(x))) / x.dtype.type(len(x))


def _kl_div_backward(i, p, s, dy):
    x, t = i
    n = x.dtype.type(len(x))
    return [-t / x / n * dy, (np.log(np.where(t > 0, t, 1)) + 1 - np.log(x)) / n * dy]


def _distances(i, s):
    """From the anchor to the positive and to the negative, and the differences (PyTorch adds eps to
    each)."""
    eps = i[0].dtype.type(s["eps"])
    near, far = i[0] - i[1] + eps, i[0] - i[2] + eps
    return near, far, *(np.sqrt((d * d).sum(axis=1)) for d in (near, far))


def _triplet(i, p, s):
    _, _, near, far = _distances(i, s)
    return np.mean(np.maximum(near - far + i[0].dtype.type(s["margin"]), 0))


def _triplet_backward(i, p, s, dy):
    to_near, to_far, near, far = _distances(i, s)
    on = (near - far + s["margin"] > 0) / near.dtype.type(len(near)) * dy
    a = to_near * (on / near).astype(near.dtype)[:, None]
    b = to_far * (on / far).astype(near.dtype)[:, None]
    return [a - b, -a, b]


def _hinge(i, p, s):
    return np.mean(np.maximum(1 - i[0] * i[1], 0))


def _hinge_backward(i, p, s, dy):
    on = (1 - i[0] * i[1] > 0) / i[0].dtype.type(i[0].size) * dy
    return [(-i[1] * on).astype(i[0].dtype), (-i[0] * on).sum(axis=0).astype(i[0].dtype)]


OPERATIONS = {
    "mse_loss": (_mse, _mse_backward),
    "smooth_l1_loss": (_smooth_l1, _smooth_l1_backward),
    "cross_entropy": (_cross_entropy, _cross_entropy_backward),
    "kl_div": (_kl_div, _kl_div_backward),
    "triplet_loss": (_triplet, _triplet_backward),
    "hinge_loss": (_hinge, _hinge_backward),
}
