"""A tape: launches that are recorded, and their derivatives in reverse order.

The derivative of a launch reads what the launch left in its arrays, so the tape keeps versions of them. Before a recorded
launch writes to memory that an earlier derivative reads, its contents are copied. What changes otherwise, by Python code, is
found by a digest of the contents, and is an error: neither the derivative nor the flow of gradients would be right.
"""

from __future__ import annotations

import threading

import numpy as np

from . import _native
from ._arguments import Arguments, as_numpy, copy, is_plain, refuse, zeros_like
from ._errors import GradientError

_active = threading.local()


def current():
    """The tape that records in this thread."""
    return getattr(_active, "tape", None)


def launch(kernel, args, named):
    """A launch while some tape records."""
    tape = current()
    if tape is None:
        return kernel._launch(*args, **(named or {}))
    tape._launch(kernel, args, named or {})


def _wrong(text, advice=None) -> GradientError:
    more = f"\n  = help: {advice}" if advice else ""
    return GradientError(f"error[E1103]: {text}{more}", code="E1103", message=text)


class Tape:
    """Records the launches of a thread, and differentiates them.

        with kc.Tape() as tape:
            step(n, x, y)
            measure(n, y, loss)
        tape.backward(loss)
        tape.gradient(x)

    Gradients are of what arrays held when they were first used. ``kc.array`` with a ``.grad`` gets it there, too.
    """

    def __init__(self):
        self.reset()

    def reset(self):
        """Forgets all launches and gradients."""
        self._steps = []
        #: What each array held last, by its memory.
        self._versions = {}
        #: The gradients of each backward run.
        self._runs = []
        self._broken = None

    def __enter__(self):
        if current() is not None:
            raise RuntimeError("a tape records already in this thread")
        _active.tape = self
        _native.record(1)
        return self

    def __exit__(self, *_):
        _active.tape = None
        _native.record(-1)

    def __len__(self):
        return len(self._steps)

    # Recording

    def _launch(self, kernel, args, named):
        dim, values = kernel._arguments(*args, **named)
        step = _Launch(self, kernel, dim, Arguments(kernel, values))
        arrays = [slot.array for slot in step.slots]
        self._expect(arrays, kernel.__name__)
        step.look()
        written = [slot.array for slot in step.slots if step.writes(slot)]
        self._before(written)
        step.before()
        try:
            kernel._launch(*args, **named)
        except BaseException:
            self._broken = f"a launch of kernel `{kernel.__name__}` failed while it was recorded"
            raise
        self._after(written, arrays)
        step.after()
        self._steps.append(step)

    def assign(self, array, source):
        """Sets an array to a number, or to the contents of another array, whose gradient follows."""
        target = as_numpy(array)
        if target is None:
            raise refuse("E1005", f"tape.assign writes to an array, not to a {type(array).__name__}")
        known = as_numpy(source) if not np.isscalar(source) else None
        if known is not None and (known.shape != target.shape or known.dtype != target.dtype):
            known = None
        if known is not None and np.may_share_memory(known, target):
            raise refuse("E1010", "tape.assign copies between arrays that share no memory")
        arrays = [target] if known is None else [target, known]
        self._expect(arrays, "assign")
        self._before([target])
        target[...] = source if known is None else known
        self._after([target], arrays)
        self._steps.append(_Copy(array, target, source, known))

    def _expect(self, arrays, what):
        """What a step uses must be as the steps before left it."""
        for version in self._meeting(arrays):
            if version.digest != _native.digest(version.array):
                raise _wrong(
                    f"an array of shape {version.array.shape} was changed since a recorded launch used it, and `{what}` uses it again: "
                    "gradients do not flow through what Python code writes",
                    "change it by a kernel, or with `tape.assign(array, values)`",
                )

    def _before(self, written):
        for version in self._meeting(written):
            version.keep()

    def _after(self, written, arrays):
        changed = self._meeting(written)
        for array in [*(version.array for version in changed), *arrays]:
            key = _key(array)
            if key not in self._versions or self._versions[key] in changed:
                self._versions[key] = _Version(array)

    def _version(self, array):
        return self._versions[_key(array)]

    def _meeting(self, arrays):
        """The versions whose memory meets that of some arrays."""
        versions = list(self._versions.values())
        return [versions[n] for n in _native.meeting([version.array for version in versions], arrays)]

    # Gradients

    def backward(self, loss=None, grads=None):
        """Computes gradients: of ``loss``, an array of one element, or of arrays with gradients of their own, as a dict or a
        list of pairs: ``grads=[(y, an_array)]``. They are added to those of earlier calls.
        """
        if current() is self:
            raise RuntimeError("the tape still records: call backward after the `with` block")
        if self._broken:
            raise _wrong(self._broken)
        seeds = list(grads.items()) if isinstance(grads, dict) else list(grads or ())
        if loss is not None:
            array = as_numpy(loss)
            if array is None or array.size != 1:
                what = type(loss).__name__ if array is None else f"an array of shape {array.shape}"
                raise refuse("E1004", f"tape.backward starts from an array of one element, not from {what}", "use grads=[(y, gradient)]")
            seeds.append((loss, 1.0))
        if not seeds:
            raise refuse("E1004", "no gradient to start from", "tape.backward(loss), or tape.backward(grads=[(y, gradient)])")
        for version in self._versions.values():
            if version.read and version.digest != _native.digest(version.array):
                raise _wrong(
                    f"an array of shape {version.array.shape} that the derivative reads was changed since it was recorded",
                    "change it after `tape.backward`, or with `tape.assign(array, values)` while the tape records",
                )
        run = _Run(self._steps)
        for array, value in seeds:
            run.seed(array, value)
        for step in reversed(self._steps):
            step.backward(run)
        self._runs.append(run)
        run.hand_over()

    def gradient(self, array):
        """The gradient of an array, or of a part of one: an array of the same kind."""
        mine = as_numpy(array)
        if mine is None:
            raise refuse("E1005", f"a {type(array).__name__} has no gradient")
        found = [view for run in self._runs if (view := run.view(mine)) is not None]
        if not found:
            raise refuse("E1004", "no recorded launch uses this array, or tape.backward was not called")
        total = np.array(found[0])
        for view in found[1:]:
            add(total, view)
        if isinstance(array, _native.Array):
            from ._array import _wrap

            return _wrap(total, array.dtype, False)
        return total

    @property
    def gradients(self):
        """``tape.gradients[x]`` is ``tape.gradient(x)``."""
        return _Gradients(self)

    def zero(self):
        """Sets all gradients to zero."""
        self._runs.clear()
        for step in self._steps:
            for _, held in step.held():
                held[...] = np.zeros((), held.dtype)


class _Gradients:
    def __init__(self, tape):
        self._tape = tape

    def __getitem__(self, array):
        return self._tape.gradient(array)


class _Version:
    """What an array held between two launches that write to it."""

    __slots__ = ("array", "digest", "read", "saved")

    def __init__(self, array):
        self.array, self.digest = array, _native.digest(array)
        #: Whether a derivative reads it.
        self.read = False
        #: A copy, once the array has other contents.
        self.saved = None

    def keep(self):
        if self.read and self.saved is None:
            self.saved = copy(self.array)

    @property
    def contents(self):
        return self.array if self.saved is None else self.saved


class _Launch:
    """A recorded launch."""

    def __init__(self, tape, kernel, dim, arguments):
        self.tape, self.kernel, self.dim = tape, kernel, dim
        self.arguments = arguments
        # Values are taken over as they are now.
        arguments.tree = [_frozen(node) for node in arguments.tree]
        self.slots = arguments.slots
        self.records, reads = _needs(kernel, arguments.same, [slot.path for slot in self.slots])
        self.reads = dict(zip(self.slots, reads))
        #: The contents of arrays that the derivative reads, by slot: before the launch if it overwrites them.
        self.versions, self.kept = {}, {}
        for slot in self.slots:
            if slot.floats and not is_plain(slot.array) and self.writes(slot):
                raise refuse("E1010", f"elements of argument `{slot.name}` of kernel `{kernel.__name__}` share memory")

    def writes(self, slot) -> bool:
        return slot.first in self.arguments.written

    def look(self):
        """Raises where the order of threads would show in the gradient."""
        data = {slot: slot.array if is_plain(slot.array) else np.array(slot.array) for slot in self.slots if slot.first is slot}
        made = {slot: zeros_like(array) for slot, array in data.items() if slot.floats}
        given = {slot.name: made[slot.first] for slot in self.slots if slot.floats}
        values = self.arguments.filled(lambda slot: data[slot.first])
        _native.gradient(self.kernel, self.dim, values, given, self.arguments.same, look=True)

    def before(self):
        if self.records:
            self.kept = {slot.first: copy(slot.array) for slot in self.slots if self.writes(slot)}

    def after(self):
        for slot in self.slots:
            if slot.first not in self.kept and (self.records or self.reads[slot]):
                version = self.versions[slot.first] = self.tape._version(slot.array)
                version.read = True

    def arrays(self):
        return [(slot.given, slot.array) for slot in self.slots if slot.floats]

    def held(self):
        return [(slot.array, slot.held) for slot in self.slots if slot.floats and slot.held is not None]

    def backward(self, run):
        shared = {slot for pair in self.arguments.shared for slot in pair}
        data, given, apart = {}, {}, []
        for slot in self.slots:
            first = slot.first
            if first not in data:
                version = self.versions.get(first)
                data[first] = first.array if version is None else version.contents
                if first in self.kept:
                    # The launch runs again.
                    data[first] = copy(self.kept[first])
                if not slot.floats:
                    continue
                gradient = run.view(first.array)
                if first in shared or not is_plain(first.array):
                    # Two elements of it may be one in memory.
                    data[first] = np.array(data[first])
                    given[first.name] = np.zeros(first.array.shape, first.array.dtype)
                    apart.append((gradient, given[first.name]))
                else:
                    given[first.name] = gradient
            if slot.floats:
                given[slot.name] = given[first.name]
        values = self.arguments.filled(lambda slot: data[slot.first])
        same, backward = self.arguments.same, not self.records
        _native.gradient(self.kernel, self.dim, values, given, same, backward=backward, silent=True)
        for gradient, more in apart:
            scatter(gradient, more)


def _needs(kernel, same, paths):
    """What the derivative of a launch needs. It follows from which arrays there are, and which are one."""
    known = kernel.__dict__.setdefault("_known_needs", {})
    key = (tuple(same), tuple(paths))
    if key not in known:
        known[key] = _native.needs(kernel, same, paths)
    return known[key]


class _Copy:
    """An array that was set to another one, or to numbers."""

    def __init__(self, given, target, source, known):
        self.pairs = [(given, target)] + ([] if known is None else [(source, known)])
        self.target, self.source = target, known

    def arrays(self):
        return [(given, array) for given, array in self.pairs if _floats(array)]

    def held(self):
        grads = ((array, given._grad) for given, array in self.pairs if isinstance(given, _native.Array))
        return [(array, as_numpy(grad)) for array, grad in grads if grad is not None]

    def backward(self, run):
        gradient = run.view(self.target)
        if gradient is None:
            return
        if self.source is not None:
            scatter(run.view(self.source), gradient)
        gradient[...] = np.zeros((), gradient.dtype)


class _Run:
    """The gradients of one backward run: for all memory that the steps use memory of the same form."""

    def __init__(self, steps):
        self.steps = steps
        ranges = []
        for step in steps:
            for _, array in step.arrays():
                if array.size:
                    ranges.append((*_native.extent(array), _number(array)))
        self.blocks = []
        for low, high, number in sorted(ranges, key=lambda part: part[:2]):
            if self.blocks and low < self.blocks[-1][1]:
                first, last, kind = self.blocks[-1]
                if kind != number:
                    raise _wrong(f"one memory is used as {kind} and as {number}: whose gradient it has is open")
                self.blocks[-1] = (first, max(last, high), kind)
            else:
                self.blocks.append((low, high, number))
        self.memory = [_aligned(low, high) for low, high, _ in self.blocks]

    def view(self, array):
        """The gradient of an array. None: there is none."""
        if array.size == 0:
            return np.zeros(array.shape, array.dtype)
        start = array.__array_interface__["data"][0]
        for (low, high, number), memory in zip(self.blocks, self.memory):
            if low <= start < high:
                if number != _number(array):
                    return None
                try:
                    return np.ndarray(array.shape, array.dtype, memory, start - low, array.strides)
                except (TypeError, ValueError):
                    # A part of it is outside.
                    return None
        return None

    def seed(self, array, value):
        from ._derivative import fill

        mine = as_numpy(array)
        gradient = None if mine is None else self.view(mine)
        if gradient is None or mine.size and not _floats(mine):
            raise refuse("E1004", "a gradient is given for an array of floats that no recorded launch uses")
        more = np.zeros(gradient.shape, gradient.dtype)
        fill("grads", more, value)
        scatter(gradient, more)

    def hand_over(self):
        """Adds to the gradients that arrays have. Where parts of one array have parts of its gradient, each counts once."""
        pairs = {}
        for step in self.steps:
            for array, held in step.held():
                pairs[_key(held)] = (held, self.view(array))
        sums = []
        for held, more in pairs.values():
            total = np.array(held)
            add(total, more)
            sums.append((held, total))
        for held, total in sums:
            held[...] = total


def _key(array):
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def _number(array):
    """What the elements are made of."""
    return array.dtype.base


def _floats(array) -> bool:
    if array.dtype.names:
        return any(_floats(np.empty(0, array.dtype[name].base)) for name in array.dtype.names)
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _frozen(node):
    """A value that later changes of the caller's object do not change."""
    if type(node) is dict:
        return {name: _frozen(inner) for name, inner in node.items()}
    if isinstance(node, (np.ndarray, np.void)):
        return node.copy()
    return list(node) if isinstance(node, list) else node


def _aligned(low, high):
    """Zeros for the bytes of some memory, aligned as these."""
    memory = np.zeros(high - low + 64, np.uint8)
    first = (low - memory.__array_interface__["data"][0]) % 64
    return memory[first : first + high - low]


def add(to, more):
    """Adds arrays of numbers, or of structs of numbers."""
    if to.dtype.names is None:
        np.add(to, more, out=to)
        return
    for name in to.dtype.names:
        if to.dtype[name].base.kind == "f" or to.dtype[name].base.names:
            add(to[name], more[name])


def scatter(to, more):
    """The same where elements of ``to`` may be one in memory: along a dimension that does not move."""
    for axis, (n, stride) in enumerate(zip(to.shape, to.strides)):
        if n > 1 and stride == 0:
            more = more.sum(axis=axis, keepdims=True)
            to = to[tuple(slice(0, 1) if k == axis else slice(None) for k in range(to.ndim))]
    if not is_plain(to):
        raise _wrong("elements of an array share memory, and their gradients cannot be told apart")
    add(to, more)
