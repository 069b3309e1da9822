"""Chains of operations (level 2): each step takes the result of the one before it, and as many
parameters as it says (``takes``).

A step is an operation of level 1, or one of those here. ``residual`` adds what its own steps make
of an array to it, and ``gate`` multiplies them.
"""

from __future__ import annotations

import numpy as np

from ..inputs import generator
from . import convolution, elementwise, rows


def _linear(inputs, parameters, settings):
    y = np.matmul(inputs[0], parameters[0].T)
    return y if len(parameters) == 1 else y + parameters[1]


def _linear_backward(inputs, parameters, settings, dy):
    found = [np.matmul(dy, parameters[0]), np.matmul(dy.T, inputs[0])]
    return found if len(parameters) == 1 else [*found, dy.sum(axis=0)]


def _biased(x, bias):
    """A parameter of the columns, or of the channels."""
    return bias.reshape(1, -1, *[1] * (x.ndim - 2))


def _bias(inputs, parameters, settings):
    return inputs[0] + _biased(inputs[0], parameters[0])


def _bias_backward(inputs, parameters, settings, dy):
    return [dy, dy.sum(axis=(0, *range(2, dy.ndim))).reshape(parameters[0].shape)]


def _mish(x, _):
    return x * np.tanh(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def _mish_derivative(x, _):
    t = np.tanh(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
    return t + x * (1 - t * t) * elementwise._sigmoid(x)


def _hardswish_derivative(x, _):
    return np.where(x >= 3, 1, np.where(x <= -3, 0, x / 3 + 0.5)).astype(x.dtype)


def _clamp_derivative(x, s):
    return ((x > s["low"]) & (x < s["high"])).astype(x.dtype)


def _logsumexp(inputs, parameters, settings):
    x = inputs[0]
    top = x.max(axis=1, keepdims=True)
    y = top + np.log(np.exp(x - top).sum(axis=1, keepdims=True))
    return y if settings["keep"] else y[:, 0]


def _logsumexp_backward(inputs, parameters, settings, dy):
    return [rows.softmax(inputs[0]) * dy.reshape(-1, 1)]


def _sum_backward(inputs, parameters, settings, dy):
    return [np.broadcast_to(dy, inputs[0].shape).copy()]


def _of_value(function, derivative):
    return elementwise._unary(
        lambda x, s: function(x, x.dtype.type(s["value"])), lambda x, s: np.broadcast_to(derivative(x.dtype.type(s["value"])), x.shape)
    )


def _side(join, backward):
    def forward(inputs, parameters, settings):
        return join(inputs[0], walk(inputs[0], parameters, settings)[-1])

    def back(inputs, parameters, settings, dy):
        x = inputs[0]
        by_x, by_side = backward(x, walk(x, parameters, settings)[-1], dy)
        found = _backward(inputs, parameters, settings, by_side)
        return [by_x + found[0], *found[1:]]

    return forward, back


_OWN = {
    "linear": (_linear, _linear_backward),
    "bias": (_bias, _bias_backward),
    "add": _of_value(lambda x, v: x + v, lambda v: v * 0 + 1),
    "multiply": _of_value(lambda x, v: x * v, lambda v: v),
    "divide": _of_value(lambda x, v: x / v, lambda v: 1 / v),
    "mish": elementwise._unary(_mish, _mish_derivative),
    "hardswish": elementwise._unary(lambda x, s: x * np.clip(x / 6 + x.dtype.type(0.5), 0, 1), _hardswish_derivative),
    "clamp": elementwise._unary(lambda x, s: np.clip(x, x.dtype.type(s["low"]), x.dtype.type(s["high"])), _clamp_derivative),
    "logsumexp": (_logsumexp, _logsumexp_backward),
    "row_sum": (lambda i, p, s: i[0].sum(axis=1, keepdims=True), _sum_backward),
    "residual": _side(lambda x, y: x + y, lambda x, y, dy: (dy, dy)),
    "gate": _side(lambda x, y: x * y, lambda x, y, dy: (dy * y, dy * x)),
}
_STEPS = {**elementwise.OPERATIONS, "softmax": rows.OPERATIONS["softmax"], "conv": convolution.OPERATIONS["conv"], **_OWN}
#: Their derivatives jump: rounding decides which side an element is on.
_JUMP = {"relu", "leaky_relu", "clamp", "hardtanh", "hardswish"}


def _split(parameters, settings):
    """The steps, each with its parameters."""
    at, found = 0, []
    for step in settings["steps"]:
        takes = step.get("takes", 0)
        found.append((step, parameters[at : at + takes]))
        at += takes
    return found


def walk(x, parameters, settings):
    """What each step is given, and the result. With ``noise`` products are so far off, of their
    largest element."""
    values, noise = [x], settings.get("noise", 0.0)
    for step, own in _split(parameters, settings):
        y = _STEPS[step["op"]][0]([values[-1]], own, {**step, "shift": settings.get("shift", 0.0)})
        if noise and step["op"] in ("linear", "conv"):
            y = y + noise * np.max(np.abs(y), initial=0.0) * generator(99).choice([-1.0, 1.0], y.shape)
        values.append(y)
    return values


def _forward(inputs, parameters, settings):
    return walk(inputs[0], parameters, settings)[-1]


def _backward(inputs, parameters, settings, dy):
    shift = settings.get("shift", 0.0)
    values = walk(inputs[0], parameters, settings)
    found = []
    for x, (step, own) in reversed(list(zip(values, _split(parameters, settings)))):
        if shift and step["op"] in _JUMP:
            x = x + shift * np.max(np.abs(x), initial=0.0)
        dy, *more = _STEPS[step["op"]][1]([x], own, {**step, "shift": shift}, dy)
        found = [*more, *found]
    return [dy, *found]


OPERATIONS = {"chain": (_forward, _backward)}
