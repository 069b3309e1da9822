"""Activations: a function of each element, and its derivative."""

from __future__ import annotations

import math

import numpy as np

_SELU = 1.0507009873554804934193349852946
_ALPHA = 1.6732632423543772848170429916717
_GELU = math.sqrt(2.0 / math.pi)


def _sigmoid(x):
    # Neither branch overflows.
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _erf(x):
    """erf in the precision of ``x``: by ``math.erf``, which C's library rounds within an ulp, at
    few points, else by the series."""
    flat = np.asarray(x, np.float64).ravel()
    if flat.size <= 4096:
        return np.array([math.erf(v) for v in flat], np.float64).reshape(np.shape(x)).astype(np.asarray(x).dtype)
    return _table(flat).reshape(np.shape(x)).astype(np.asarray(x).dtype)


def _table(x):
    """erf by Taylor's series around the next point of a grid of 1/64: with seven terms it is exact
    to 1e-16."""
    h = 1.0 / 64
    top = 6.0
    a = np.minimum(np.abs(x), top)
    n = np.rint(a / h).astype(np.int64)
    c = n * h
    d = a - c
    at = np.array([math.erf(k * h) for k in range(int(top / h) + 2)])[n]
    # Derivatives of erf: f' = g, g' = -2 c g, then by the recurrence of Hermite's polynomials.
    g = 2 / math.sqrt(math.pi) * np.exp(-c * c)
    before, now, power, fact = np.zeros_like(c), np.ones_like(c), d.copy(), 1.0
    total = np.zeros_like(c)
    for k in range(8):
        total += now * power
        before, now = now, -2 * c * now - 2 * k * before
        fact *= k + 2
        power = d ** (k + 2) / fact
    return np.sign(x) * np.minimum(at + g * total, 1.0)


def _unary(function, derivative):
    def forward(inputs, parameters, settings):
        return function(inputs[0], settings)

    def backward(inputs, parameters, settings, dy):
        return [dy * derivative(inputs[0], settings)]

    return forward, backward


def _tanh_inner(x):
    return _GELU * (x + 0.044715 * x * x * x)


def _gelu_tanh_derivative(x, _):
    t = np.tanh(_tanh_inner(x))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _GELU * (1 + 3 * 0.044715 * x * x)


def _like(value, x):
    return np.asarray(value, dtype=x.dtype)


def _swish_derivative(x, _):
    s = _sigmoid(x)
    return s * (1 + x * (1 - s))


OPERATIONS = {
    "relu": _unary(lambda x, s: np.maximum(x, 0), lambda x, s: _like(x > 0, x)),
    "leaky_relu": _unary(lambda x, s: np.where(x > 0, x, _like(s["slope"], x) * x), lambda x, s: np.where(x > 0, _like(1, x), _like(s["slope"], x))),
    "sigmoid": _unary(lambda x, s: _sigmoid(x), lambda x, s: _sigmoid(x) * _sigmoid(-x)),
    "tanh": _unary(lambda x, s: np.tanh(x), lambda x, s: 4 * _sigmoid(2 * x) * _sigmoid(-2 * x)),
    "swish": _unary(lambda x, s: x * _sigmoid(x), _swish_derivative),
    "gelu": _unary(
        lambda x, s: (0.5 * x * (1 + _erf(x / math.sqrt(2.0)))).astype(x.dtype),
        lambda x, s: (0.5 * (1 + _erf(x / math.sqrt(2.0))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)).astype(x.dtype),
    ),
    "gelu_tanh": _unary(lambda x, s: 0.5 * x * (1 + np.tanh(_tanh_inner(x))), _gelu_tanh_derivative),
    "selu": _unary(
        lambda x, s: np.where(x > 0, _SELU * x, _SELU * _ALPHA * np.expm1(np.minimum(x, 0))).astype(x.dtype),
        lambda x, s: np.where(x > 0, _SELU, _SELU * _ALPHA * np.exp(np.minimum(x, 0))).astype(x.dtype),
    ),
    "hardsigmoid": _unary(
        lambda x, s: np.clip(x / 6 + _like(0.5, x), 0, 1), lambda x, s: _like((x > -3) & (x < 3), x) / 6
    ),
    # PyTorch's: beyond 20 it is x, which float32 and float64 agree on to 2e-9.
    "softplus": _unary(lambda x, s: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), lambda x, s: _sigmoid(x)),
    "softsign": _unary(lambda x, s: x / (1 + np.abs(x)), lambda x, s: 1 / (1 + np.abs(x)) ** 2),
    "elu": _unary(
        lambda x, s: np.where(x > 0, x, s["alpha"] * np.expm1(np.minimum(x, 0))).astype(x.dtype),
        lambda x, s: np.where(x > 0, 1, s["alpha"] * np.exp(np.minimum(x, 0))).astype(x.dtype),
    ),
    "hardtanh": _unary(lambda x, s: np.clip(x, -1, 1), lambda x, s: _like((x > -1) & (x < 1), x)),
}
