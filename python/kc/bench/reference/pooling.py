"""Pooling in one to three dimensions. Beyond the edge a maximum sees nothing and a mean sees zeros,
which count (as in PyTorch)."""

from __future__ import annotations

import itertools

import numpy as np


def windows(shape, settings):
    """The extents of the result, and for each place of the window the slices of the padded array
    that lie there."""
    kernel, stride = settings["kernel"], settings["stride"]
    padding = settings["padding"]
    dilation = settings.get("dilation") or [1] * len(kernel)
    out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(shape, kernel, stride, padding, dilation)]
    places = itertools.product(*map(range, kernel))
    taps = {at: tuple(slice(a * d, a * d + (o - 1) * s + 1, s) for a, d, o, s in zip(at, dilation, out, stride)) for at in places}
    return out, taps


def padded(x, padding, value=0):
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=value)


def inside(x, padding):
    return x[(slice(None), slice(None), *(slice(p, n - p) for p, n in zip(padding, x.shape[2:])))]


def _max(inputs, parameters, settings):
    x = inputs[0]
    out, taps = windows(x.shape[2:], settings)
    x = padded(x, settings["padding"], -np.inf)
    y = np.full((*x.shape[:2], *out), -np.inf, x.dtype)
    for at in taps.values():
        np.maximum(y, x[(..., *at)], out=y)
    return y


def _max_backward(inputs, parameters, settings, dy):
    x, padding = inputs[0], settings["padding"]
    y = _max(inputs, parameters, settings)
    _, taps = windows(x.shape[2:], settings)
    wide = padded(x, padding, -np.inf)
    dx, free = np.zeros_like(wide), np.ones(y.shape, bool)
    for at in taps.values():
        # The first of equal elements has all of it.
        here = free & (wide[(..., *at)] == y)
        dx[(..., *at)] += dy * here
        free &= ~here
    return [inside(dx, padding)]


def _mean(inputs, parameters, settings):
    x = inputs[0]
    out, taps = windows(x.shape[2:], settings)
    x = padded(x, settings["padding"])
    y = np.zeros((*x.shape[:2], *out), x.dtype)
    for at in taps.values():
        y += x[(..., *at)]
    return y / x.dtype.type(len(taps))


def _mean_backward(inputs, parameters, settings, dy):
    x, padding = inputs[0], settings["padding"]
    _, taps = windows(x.shape[2:], settings)
    dx = np.zeros_like(padded(x, padding))
    for at in taps.values():
        dx[(..., *at)] += dy / x.dtype.type(len(taps))
    return [inside(dx, padding)]


OPERATIONS = {"max_pool": (_max, _max_backward), "avg_pool": (_mean, _mean_backward)}
