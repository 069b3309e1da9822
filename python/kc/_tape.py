"""A tape: launches that are recorded, and their derivatives in reverse order. What it keeps is in the compiled half (`tape.rs`)."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from . import _device, _native
from ._arguments import as_memory, copy, is_plain, refuse
from ._errors import GradientError
from ._native import current


def _wrong(text, advice=None) -> GradientError:
    more = f"\n  = help: {advice}" if advice else ""
    return GradientError(f"error[E1103]: {text}{more}", code="E1103", message=text)


#: Whether a tape is to record what is captured now, in this thread: of `kc.warp`.
captured = threading.local()


def unrecorded(what):
    """Raises where a tape records, now or in a graph that is captured: it could not differentiate this."""
    if current() is not None or getattr(captured, "tape", None) is not None:
        raise _wrong(f"no tape differentiates {what}", "do it outside of the `with` block of the tape")


class Tape(_native.Tape):
    """Records the launches of a thread, and differentiates them.

        with kc.Tape() as tape:
            step(n, x, y)
            measure(n, y, loss)
        tape.backward(loss)
        tape.gradient(x)

    Gradients are of what arrays held when they were first used. ``kc.array`` with a ``.grad`` gets it there, too.
    """

    def __bool__(self):
        # As of any object: `if tape:` asks whether there is one, whatever it has recorded.
        return True

    def backward(self, loss=None, grads=None):
        """Computes gradients: of ``loss``, an array of one element, or of arrays with gradients of their own, as a dict or a
        list of pairs: ``grads=[(y, an_array)]``. They are added to those of earlier calls.
        """
        if current() is self:
            raise RuntimeError("the tape still records: call backward after the `with` block")
        seeds = list(grads.items()) if isinstance(grads, dict) else list(grads or ())
        if loss is not None:
            array = as_memory(loss)
            if array is None or array.size != 1:
                what = type(loss).__name__ if array is None else f"an array of shape {array.shape}"
                raise refuse("E1004", f"tape.backward starts from an array of one element, not from {what}", "use grads=[(y, gradient)]")
            seeds.append((loss, 1.0))
        if not seeds:
            raise refuse("E1004", "no gradient to start from", "tape.backward(loss), or tape.backward(grads=[(y, gradient)])")
        self._backward(seeds)

    def assign(self, array, source):
        """Sets an array to a number, or to the contents of another array, whose gradient follows."""
        if as_memory(array) is None:
            raise refuse("E1005", f"tape.assign writes to an array, not to a {type(array).__name__}")
        from ._writes import assign

        assign(self, array, source)

    #: Whether arrays that nothing joins to the result have gradients of zeros.
    _allow_unused = False

    def gradient(self, array, *, allow_unused=None):
        """The gradient of an array, or of a part of one: an array of the same kind. An array that no recorded step joins to the
        result is an error; with ``allow_unused`` its gradient is zeros.
        """
        mine = as_memory(array)
        if mine is None:
            raise refuse("E1005", f"a {type(array).__name__} has no gradient")
        found, allow_unused = self._views(mine), self._allow_unused if allow_unused is None else allow_unused
        if not found and not allow_unused:
            raise refuse("E1004", "no recorded launch uses this array, or tape.backward was not called")
        why = None if allow_unused else self._unjoined(mine)
        if why is not None:
            raise _wrong(why, "compute all between them by kernels, as NumPy keeps no gradients; or ask with `allow_unused=True`")
        total = _copied(found[0]) if found else _device.zeros(_device.place_of(mine), mine.shape, mine.dtype)
        for view in found[1:]:
            add(total, view)
        if isinstance(array, _native.Array):
            from ._array import _wrap

            return _wrap(total, array.dtype, False)
        return total

    @property
    def gradients(self):
        """``tape.gradients[x]`` is ``tape.gradient(x)``; ``x in tape.gradients`` says whether there is one."""
        return _Gradients(self)

    def zero(self):
        """Sets all gradients to zero."""
        self._forget()
        for _, held in self._held():
            _device.put(held, np.zeros((), held.dtype))


class _Gradients(Mapping):
    """The gradients of the arrays that steps used, by array."""

    def __init__(self, tape):
        self._tape = tape

    def __getitem__(self, array):
        return self._tape.gradient(array)

    def __contains__(self, array):
        mine = as_memory(array)
        return mine is not None and bool(self._tape._views(mine)) and (self._tape._allow_unused or self._tape._unjoined(mine) is None)

    def get(self, array, default=None):
        return self[array] if array in self else default

    def __iter__(self):
        return iter(self._arrays())

    def __len__(self):
        return len(self._arrays())

    def _arrays(self):
        # A part that Python code wrote to is no array of the program.
        return [array for array in self._tape._used() if type(array) is not _native.Array and array in self]


# What the compiled half calls where NumPy does it.


def _seed(gradient, value):
    """Adds what the caller gave to a gradient."""
    from ._derivative import fill

    more = _device.zeros(_device.place_of(gradient), gradient.shape, gradient.dtype)
    fill("grads", more, value)
    scatter(gradient, more)


def _copied(data):
    return _device.moved(data, _device.place_of(data))


def _hand_over(found):
    """Adds to the gradients that arrays have. Where parts of one array have parts of its gradient, each counts once."""
    sums = {}
    for held, more in found:
        key = _native.address_of(held), held.shape, held.strides, held.dtype
        if key not in sums:
            total = copy(held)
            add(total, more)
            sums[key] = held, total
    for held, total in sums.values():
        _device.put(held, total)


def add(to, more):
    """Adds arrays of numbers, or of structs of numbers."""
    if _device.is_far(to):
        _device.add(to, more)
        return
    if to.dtype.names is None:
        np.add(to, more, out=to)
        return
    for name in to.dtype.names:
        if _native.has_floats(to.dtype[name].base):
            add(to[name], more[name])


def scatter(to, more):
    """The same where elements of ``to`` may be one in memory: along a dimension that does not move."""
    for axis, (n, stride) in enumerate(zip(to.shape, to.strides) if not _device.is_far(to) else ()):
        if n > 1 and stride == 0:
            more = more.sum(axis=axis, keepdims=True)
            to = to[tuple(slice(0, 1) if k == axis else slice(None) for k in range(to.ndim))]
    if not is_plain(to):
        raise _wrong("elements of an array share memory, and their gradients cannot be told apart")
    add(to, more)
