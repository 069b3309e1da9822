"""Softmax, normalisations, reductions and scans: what is computed along some axes of one array."""

from __future__ import annotations

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _softmax_backward(inputs, parameters, settings, dy):
    y = softmax(inputs[0])
    return [y * (dy - (dy * y).sum(axis=1, keepdims=True))]


def _log_softmax(inputs, parameters, settings):
    x = inputs[0] - inputs[0].max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def _log_softmax_backward(inputs, parameters, settings, dy):
    return [dy - softmax(inputs[0]) * dy.sum(axis=1, keepdims=True)]


# Normalisations to mean 0 and variance 1: they differ in which axes are taken together.

CENTRED = ("batch_norm", "instance_norm", "group_norm", "layer_norm")


def _view(op, x, settings):
    """The array as (groups..., elements) for the statistics: its shape and the axes that are taken
    together."""
    if op == "batch_norm":
        return x.shape, (0, 2, 3)
    if op == "instance_norm":
        return x.shape, (2, 3)
    if op == "layer_norm":
        return x.shape, (1, 2, 3)
    n, c = x.shape[:2]
    g = settings["groups"]
    return (n, g, c // g, *x.shape[2:]), (2, 3, 4)


def affine(op, parameters):
    """Weight and bias, in shapes that go beside the array."""
    if not parameters:
        return None
    return [p if op == "layer_norm" else p.reshape(1, -1, 1, 1) for p in parameters]


def normalised(op, x, settings):
    shape, axes = _view(op, x, settings)
    v = x.reshape(shape)
    d = v - v.mean(axis=axes, keepdims=True)
    r = 1 / np.sqrt((d * d).mean(axis=axes, keepdims=True) + x.dtype.type(settings["eps"]))
    return d * r, r, axes


def _norm(op):
    def forward(inputs, parameters, settings):
        y = normalised(op, inputs[0], settings)[0].reshape(inputs[0].shape)
        both = affine(op, parameters)
        return y if both is None else y * both[0] + both[1]

    def backward(inputs, parameters, settings, dy):
        x = inputs[0]
        y, r, axes = normalised(op, x, settings)
        both = affine(op, parameters)
        more = []
        if both is not None:
            over = (0,) if op == "layer_norm" else (0, 2, 3)
            more = [(dy * y.reshape(x.shape)).sum(axis=over), dy.sum(axis=over)]
            dy = dy * both[0]
        g = dy.reshape(y.shape)
        dx = r * (g - g.mean(axis=axes, keepdims=True) - y * (g * y).mean(axis=axes, keepdims=True))
        return [dx.reshape(x.shape), *more]

    return forward, backward


def _rms(inputs, parameters, settings):
    x = inputs[0]
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + x.dtype.type(settings["eps"]))


def _rms_backward(inputs, parameters, settings, dy):
    x = inputs[0]
    r = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + x.dtype.type(settings["eps"]))
    return [r * dy - x * r**3 * (dy * x).mean(axis=1, keepdims=True)]


def _divided(size, slope):
    """``x / size(x)``, where ``slope(x, size)`` is the derivative of the size."""

    def forward(inputs, parameters, settings):
        return inputs[0] / size(inputs[0])

    def backward(inputs, parameters, settings, dy):
        x = inputs[0]
        n = size(x)
        along = (dy * x).sum(axis=None if n.ndim == 0 else 1, keepdims=n.ndim > 0)
        return [dy / n - along / (n * n) * slope(x, n)]

    return forward, backward


def _sized(forward, backward):
    return lambda i, p, s: forward(i[0], s), lambda i, p, s, dy: [backward(i[0], s, dy)]


def _beside(dy, axis, x):
    return dy if dy.ndim == x.ndim else np.expand_dims(dy, axis)


def _picked(pick):
    def backward(inputs, parameters, settings, dy):
        x, axis = inputs[0], settings["dim"]
        dx = np.zeros_like(x)
        np.put_along_axis(dx, np.expand_dims(pick(x, axis=axis), axis), np.expand_dims(dy, axis), axis)
        return [dx]

    return backward


def _sum_of(x, s, **keep):
    return x.sum(axis=s["dim"], **keep)


def _flipped(f, x):
    return f(x[:, ::-1], axis=1)[:, ::-1]


def _exclusive(x, s):
    y = np.zeros_like(x)
    y[:, 1:] = np.cumsum(x, axis=1)[:, :-1]
    return y


def _exclusive_backward(x, s, dy):
    dx = np.zeros_like(x)
    dx[:, :-1] = _flipped(np.cumsum, dy)[:, 1:]
    return dx


def _cumprod_backward(x, s, dy):
    """Without a division, so that zeros may stand in the row: d_i = sum over j >= i of dy_j times
    the product of all others up to j."""
    # suffix_i = dy_i + x_{i+1} suffix_{i+1}
    suffix = np.empty_like(x)
    suffix[:, -1] = dy[:, -1]
    for i in range(x.shape[1] - 2, -1, -1):
        suffix[:, i] = dy[:, i] + x[:, i + 1] * suffix[:, i + 1]
    before = np.ones_like(x)
    before[:, 1:] = np.cumprod(x, axis=1)[:, :-1]
    return before * suffix


def _no_gradient(inputs, parameters, settings, dy):
    return [None]


OPERATIONS = {
    "softmax": (lambda i, p, s: softmax(i[0]), _softmax_backward),
    "log_softmax": (_log_softmax, _log_softmax_backward),
    **{op: _norm(op) for op in ("batch_norm", "instance_norm", "group_norm", "layer_norm")},
    "rms_norm": (_rms, _rms_backward),
    "frobenius_norm": _divided(lambda x: np.sqrt((x * x).sum()), lambda x, n: x / n),
    "l1_norm": _divided(lambda x: np.abs(x).mean(axis=1, keepdims=True), lambda x, n: np.sign(x) / x.shape[1]),
    "l2_norm": _divided(lambda x: np.sqrt((x * x).sum(axis=1, keepdims=True)), lambda x, n: x / n),
    "sum": _sized(lambda x, s: _sum_of(x, s, keepdims=True), lambda x, s, dy: np.broadcast_to(dy, x.shape).copy()),
    "mean": _sized(
        lambda x, s: _sum_of(x, s) / x.dtype.type(x.shape[s["dim"]]),
        lambda x, s, dy: np.broadcast_to(_beside(dy, s["dim"], x), x.shape) / x.dtype.type(x.shape[s["dim"]]),
    ),
    "max": (lambda i, p, s: i[0].max(axis=s["dim"]), _picked(np.argmax)),
    "min": (lambda i, p, s: i[0].min(axis=s["dim"]), _picked(np.argmin)),
    "argmax": (lambda i, p, s: i[0].argmax(axis=s["dim"]), _no_gradient),
    "argmin": (lambda i, p, s: i[0].argmin(axis=s["dim"]), _no_gradient),
    "cumsum": _sized(lambda x, s: np.cumsum(x, axis=1), lambda x, s, dy: _flipped(np.cumsum, dy)),
    "cumprod": _sized(lambda x, s: np.cumprod(x, axis=1), _cumprod_backward),
    "cumsum_reverse": _sized(lambda x, s: _flipped(np.cumsum, x), lambda x, s, dy: np.cumsum(dy, axis=1)),
    "cumsum_exclusive": _sized(_exclusive, _exclusive_backward),
    "masked_cumsum": (
        lambda i, p, s: np.cumsum(i[0] * i[1], axis=1),
        lambda i, p, s, dy: [_flipped(np.cumsum, dy) * i[1], None],
    ),
}
