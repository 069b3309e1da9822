"""How far from the exact result may an answer be?

An error is compared with what the task itself costs in float32: four times the larger of

- the error of the reference in float32, sums in pairs as NumPy adds;
- what a change of the inputs in their last bit changes;

at least 3e-6 of the largest element, and for long sums ``2 u sqrt(n)`` of it, the rounding of a
chain of ``n`` terms (``u`` = 2^-24, ``n`` counted up to 131,072: who adds more in one chain is
inexact). Sums of equal terms round in one direction, which is ``u n / 2``. A half-float result may
be off by its own rounding.

Gradients are sums of products of intermediate results, each rounded: sixteen times those errors, at
least 1e-5. Those of softmax and of normalisations are differences of terms as large as ``dy y /
x``, and may be off by four units of these; the element that answers subtract from all others by
the rounding of the sum that it collects (``reference/rounding.py``).

In a chain of operations (level 2) the rounding of a product goes through the steps behind it. Where
a derivative jumps, rounding decides which side an element is on.
"""

from __future__ import annotations

import warnings

import numpy as np

from . import reference
from .inputs import generator, tf32
from .reference import rounding

_UNIT = 2.0**-24
#: Half a unit in the last place of a result of this type, of its largest element, with room for one
#: more rounding.
_OF_TYPE = {"float32": 0.0, "float16": 2.0**-10, "bfloat16": 2.0**-7}
#: What overflows in float32, or vanishes, is not compared.
_LARGE, _SMALL = 1e38, 1e-37


class Exact:
    """What a result has to be: the values in float64, and how far off each may be. ``compared`` has
    the elements that are compared."""

    def __init__(self, values, tolerance, compared, exact=False):
        self.values, self.tolerance, self.compared, self.exact = values, tolerance, compared, exact


def _cast(arrays, dtype):
    return [a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in arrays]


def _moved(arrays, seed):
    """The arrays with their last bits changed at random."""
    g = generator(seed, 4242)
    return [a * (1 + _UNIT * g.uniform(-1, 1, a.shape)) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in arrays]


def _rounded_factors(arrays):
    return [tf32(a.astype(np.float32)).astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in arrays]


def result(task, which, inputs, parameters, dtype="float32", allow_tf32=False, equal=False) -> Exact:
    """What the task gives for these inputs; ``equal`` says that their elements are equal."""
    settings = task.settings(which)

    def run(i, p):
        return [reference.forward(task.op, i, p, settings)]

    def inexact(i, p):
        return [reference.forward(task.op, i, p, {**settings, "noise": _share(task, which, equal, 3e-6) / 4})]

    more = [inexact] if task.op == "chain" else []
    return _exact(task, which, run, inputs, parameters, dtype, allow_tf32, equal, 4, 3e-6, more)[0]


def gradients(task, which, inputs, parameters, dy, dtype="float32", allow_tf32=False) -> list:
    """The gradients of ``sum(dy * result)``: for each input and parameter, None where there is
    none."""
    settings, count = task.settings(which), len(inputs)

    def run(i, p):
        return reference.backward(task.op, i[:count], p, settings, i[count])

    share = _share(task, which, False, 3e-6)

    def beside(shift):
        # Where a derivative jumps, rounding decides which side an element is on.
        return lambda i, p: reference.backward(task.op, i[:count], p, {**settings, "shift": shift, "noise": share / 16}, i[count])

    more = [beside(share), beside(-share)] if task.op == "chain" else []
    exact = _exact(task, which, run, [*inputs, dy], parameters, dtype, allow_tf32, False, 16, 1e-5, more)
    wide_inputs, wide_parameters = _cast(inputs, np.float64), _cast(parameters, np.float64)
    with np.errstate(all="ignore"):
        if task.family in ("norm", "softmax"):
            y = reference.forward(task.op, wide_inputs, wide_parameters, settings)
            terms = np.abs(dy).max() * np.abs(y).max() / max(np.abs(inputs[0]).max(), 1e-30)
            exact[0].tolerance = np.maximum(exact[0].tolerance, 4 * _UNIT * terms)
        for one, at in zip(exact, rounding.collected(task.op, wide_inputs, wide_parameters, settings, _cast([dy], np.float64)[0])):
            if at is not None:
                one.tolerance = one.tolerance + np.nan_to_num(at)
    return exact


def _exact(task, which, run, inputs, parameters, dtype, allow_tf32, equal, factor, least, more=()):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide_inputs, wide_parameters = _cast(inputs, np.float64), _cast(parameters, np.float64)
        exact = run(wide_inputs, wide_parameters)
        others = [
            run(_cast(inputs, np.float32), _cast(parameters, np.float32)),
            run(_moved(wide_inputs, 1), _moved(wide_parameters, 2)),
        ]
        others += [one(wide_inputs, wide_parameters) for one in more]
        if allow_tf32 and (task.family in ("matmul", "attention", "chain") or task.family.startswith("conv")):
            others.append(run(_rounded_factors(wide_inputs), _rounded_factors(wide_parameters)))
        return [None if e is None else _limited(task, which, np.asarray(e), [o[n] for o in others], dtype, equal, factor, least) for n, e in enumerate(exact)]


def _share(task, which, equal, least):
    """What the longest sum of an element may be off, of the largest one."""
    terms = min(task.terms(which), 131072)
    return max(least, _UNIT * (terms / 2 if equal else 2 * np.sqrt(terms)))


def _limited(task, which, exact, others, dtype, equal, factor, least):
    if exact.dtype.kind != "f":
        return Exact(exact, np.zeros(exact.shape), np.ones(exact.shape, bool), exact=True)
    book = np.asarray(others[0], np.float64)
    compared = np.isfinite(exact) & (np.abs(exact) < _LARGE) & np.isfinite(book)
    # Products that came from beyond the range of float32, or from below it, have lost what they
    # had.
    by_element = task.op == "cumprod"
    if by_element:
        scale = np.abs(exact)
        lost = np.minimum.accumulate(np.where(exact == 0, 1, scale), axis=-1) < _SMALL
        lost |= np.maximum.accumulate(np.where(np.isfinite(exact), scale, np.inf), axis=-1) > _LARGE
        compared &= ~lost
    else:
        scale = np.max(np.abs(exact), initial=0.0, where=compared)
    share = max(_share(task, which, equal, least), _OF_TYPE[dtype])
    own = [np.abs(np.asarray(o, np.float64) - exact) for o in others]
    if by_element:
        own = [np.where(compared, o, 0) for o in own]
        tolerance = share * scale + factor * np.maximum(*own[:2]) + 1e-37
    else:
        worst = max(float(np.max(o, initial=0.0, where=compared & np.isfinite(o))) for o in own)
        tolerance = np.broadcast_to(max(share * scale, factor * worst, 1e-37), exact.shape)
    return Exact(exact, tolerance, compared)


def first_wrong(exact, found):
    """The index of the element that is furthest beyond its limit, or None; and the largest error in
    units of the limit."""
    found = np.asarray(found)
    if exact.exact:
        wrong = found != exact.values
        if not wrong.any():
            return None, 0.0
        return np.unravel_index(int(np.argmax(wrong)), wrong.shape), float("inf")
    with np.errstate(all="ignore"):
        off = np.abs(found.astype(np.float64) - exact.values) / exact.tolerance
    off = np.where(np.isnan(off), np.inf, off)
    off = np.where(exact.compared, off, 0.0)
    if off.size == 0:
        return None, 0.0
    at = np.unravel_index(int(np.argmax(off)), off.shape)
    worst = float(off[at])
    return (at if worst > 1.0 else None), worst
