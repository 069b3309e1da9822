"""Convolutions and their transposes in one to three dimensions, with strides, padding, dilation and
groups.

All are one linear map: of an array by a weight (``_apply``), its transpose (``_transpose``), and
the gradient by the weight (``_weight``), each a product of matrices with what lies under the places
of the window.
"""

from __future__ import annotations

import numpy as np

from .pooling import inside, padded, windows


def _columns(x, taps):
    """Of one picture (C, ...) what lies under each place of the window: (C * places, elements of the result)."""
    return np.stack([x[(slice(None), *part)].reshape(len(x), -1) for part in taps.values()], axis=1).reshape(len(x) * len(taps), -1)


def _depthwise(w):
    return w.shape[1] == 1


def _apply(x, w, settings):
    """The convolution of ``x`` (N, C, ...) by ``w`` (O, C / groups, ...)."""
    groups, outs = settings["groups"], w.shape[0]
    extents, taps = windows(x.shape[2:], settings)
    x = padded(x, settings["padding"])
    n, c = x.shape[:2]
    if _depthwise(w) and groups == outs == c:
        return sum(w[(slice(None), 0, *at)].reshape(1, -1, *[1] * len(extents)) * x[(..., *part)] for at, part in taps.items())
    inner, factors = c // groups, w.reshape(groups, outs // groups, -1)
    y = [[np.dot(factors[g], _columns(one[g * inner : (g + 1) * inner], taps)) for g in range(groups)] for one in x]
    return np.array(y).reshape(n, outs, *extents)


def _transpose(y, w, settings, shape):
    """What ``_apply`` of arrays of extents ``shape`` is transposed to."""
    groups, outs = settings["groups"], w.shape[0]
    n, inner = y.shape[0], w.shape[1]
    extents, taps = windows(shape, settings)
    x = np.zeros((n, inner * groups, *(e + 2 * p for e, p in zip(shape, settings["padding"]))), y.dtype)
    if _depthwise(w) and groups == outs:
        for at, part in taps.items():
            x[(..., *part)] += w[(slice(None), 0, *at)].reshape(1, -1, *[1] * len(extents)) * y
        return inside(x, settings["padding"])
    factors = np.ascontiguousarray(np.swapaxes(w.reshape(groups, outs // groups, -1), 1, 2))
    y = y.reshape(n, groups, outs // groups, -1)
    for k in range(n):
        for g in range(groups):
            columns = np.dot(factors[g], y[k, g]).reshape(inner, len(taps), *extents)
            for t, part in enumerate(taps.values()):
                x[(k, slice(g * inner, (g + 1) * inner), *part)] += columns[:, t]
    return inside(x, settings["padding"])


def _weight(x, dy, settings, shape):
    """The gradient of ``_apply`` by its weight of this shape."""
    groups, outs, inner = settings["groups"], shape[0], shape[1]
    _, taps = windows(x.shape[2:], settings)
    x = padded(x, settings["padding"])
    dy = dy.reshape(len(dy), groups, outs // groups, -1)
    parts = [slice(g * inner, (g + 1) * inner) for g in range(groups)]
    dw = [sum(np.dot(back[g], _columns(one[part], taps).T) for one, back in zip(x, dy)) for g, part in enumerate(parts)]
    return np.array(dw).reshape(shape)


def _conv(inputs, parameters, settings):
    y = _apply(inputs[0], parameters[0], settings)
    return y if len(parameters) == 1 else y + parameters[1].reshape(1, -1, *[1] * (y.ndim - 2))


def _conv_backward(inputs, parameters, settings, dy):
    x, w = inputs[0], parameters[0]
    found = [_transpose(dy, w, settings, x.shape[2:]), _weight(x, dy, settings, w.shape)]
    return found if len(parameters) == 1 else [*found, dy.sum(axis=(0, *range(2, dy.ndim)))]


def _transposed_extents(x, settings):
    kernel, stride, padding, dilation, more = (settings[k] for k in ("kernel", "stride", "padding", "dilation", "output_padding"))
    return [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in zip(x.shape[2:], kernel, stride, padding, dilation, more)]


def _conv_transpose(inputs, parameters, settings):
    return _transpose(inputs[0], parameters[0], settings, _transposed_extents(inputs[0], settings))


def _conv_transpose_backward(inputs, parameters, settings, dy):
    return [_apply(dy, parameters[0], settings), _weight(dy, inputs[0], settings, parameters[0].shape)]


_POINT = {"kernel": [1, 1], "stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}


def _separable(inputs, parameters, settings):
    return _apply(_apply(inputs[0], parameters[0], settings), parameters[1], _POINT)


def _separable_backward(inputs, parameters, settings, dy):
    x, (depth, point) = inputs[0], parameters
    middle = _apply(x, depth, settings)
    back = _transpose(dy, point, _POINT, middle.shape[2:])
    return [_transpose(back, depth, settings, x.shape[2:]), _weight(x, back, settings, depth.shape), _weight(middle, dy, _POINT, point.shape)]


OPERATIONS = {
    "conv": (_conv, _conv_backward),
    "conv_transpose": (_conv_transpose, _conv_transpose_backward),
    "conv_separable": (_separable, _separable_backward),
}
