"""The rounding that a gradient collects in one chain of sums.

Answers subtract a pivot before they add: the largest element of a row in softmax and attention, the
first element of a group in a normalisation. The result does not depend on it, so what its gradient
receives through the subtraction is a sum of ``n`` terms that cancel. In float32 the rounding of
that sum remains: ``2 u sqrt(n)`` of the largest running sum (``u`` = 2^-24). In softmax the same
chain is the gradient of the sum of exponentials, which all weights share. A mean hands equal parts
to its elements, whose sum rounds in one direction: ``u n / 2``.
"""

from __future__ import annotations

import math

import numpy as np

from . import products, rows

_UNIT = 2.0**-24
#: A chain of more terms than these is inexact.
_MOST = 131072


def collected(op, inputs, parameters, settings, dy):
    """For each input None, or an array of its shape: how far the rounding of a chain may move
    its gradient. Everything is float64."""
    if op in ("softmax", "log_softmax"):
        x, y = inputs[0], rows.softmax(inputs[0])
        terms = dy if op == "log_softmax" else dy * y
        return [_chain(x.shape[-1]) * _running(terms) * (y + _largest(x))]
    if op == "attention":
        return _attention(*inputs, dy)
    if op in rows.CENTRED:
        return [_norm(op, inputs[0], parameters, settings, dy)]
    return [None for _ in inputs]


def _running(terms):
    """The largest running sum along the last axis, which is kept with extent 1."""
    return np.abs(np.cumsum(terms, axis=-1)).max(axis=-1, keepdims=True, initial=0.0)


def _chain(n):
    """What a chain of ``n`` terms may be off, of its largest running sum."""
    return 2 * _UNIT * math.sqrt(min(n, _MOST))


def _largest(x):
    return x == x.max(axis=-1, keepdims=True)


def _attention(q, k, v, dy):
    scale = 1 / math.sqrt(q.shape[-1])
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * scale
    p, dp = products.weights(q, k), np.matmul(dy, np.swapaxes(v, -1, -2))
    # An answer may find the weights anew for each component of the result.
    part = (np.abs(dy) * np.matmul(p, np.abs(v))).max(axis=-1, keepdims=True)
    sums = np.maximum(_running(p * dp), _running(dy * np.matmul(p, v)) + part)
    at = _chain(k.shape[-2] * v.shape[-1]) * sums * scale * (p + _largest(scores))
    # A key that is the nearest of several queries collects from each of them.
    return [np.matmul(at, np.abs(k)), np.matmul(np.swapaxes(at, -1, -2), np.abs(q)), None]


def _norm(op, x, parameters, settings, dy):
    y, r, axes = rows.normalised(op, x, settings)
    if parameters:
        dy = dy * rows.affine(op, parameters)[0]
    g = dy.reshape(y.shape)
    kept = [axis for axis in range(y.ndim) if axis not in axes]
    along = (g * y).mean(axis=axes, keepdims=True)

    def collected(terms):
        groups = np.transpose(terms, (*kept, *axes)).reshape(*(y.shape[axis] for axis in kept), -1)
        n = groups.shape[-1]
        most = max(_chain(n), _UNIT * min(n, _MOST) / 2) * _running(groups)
        return most.reshape([1 if axis in axes else extent for axis, extent in enumerate(y.shape)])

    first = np.zeros(y.shape)
    first[tuple(0 if axis in axes else slice(None) for axis in range(y.ndim))] = 1
    pivot = first * (collected(r * g) + collected(r * y * along))
    return (pivot + 4 * _UNIT * r * np.abs(g).max(axis=axes, keepdims=True)).reshape(x.shape)
