"""A tape: launches that are recorded, and their derivatives in reverse order.

The derivative of a launch reads what the launch left in its arrays, so the tape keeps versions of them. Before a recorded
launch writes to memory that an earlier derivative reads, its contents are copied. What changes otherwise, by Python code, is
found by a digest of the contents, and is an error: neither the derivative nor the flow of gradients would be right.
"""

from __future__ import annotations

import bisect
import threading

import numpy as np

from . import _native
from ._arguments import Arguments, Slot, as_numpy, copy, is_plain, places, refuse, zeros_like
from ._errors import GradientError

_active = threading.local()

#: Of how many forms of a kernel's launches a tape remembers that there is nothing to look at.
_MOST_KNOWN = 256


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
        #: What each array held last, by its memory; and their first bytes in order, with the most bytes that one has.
        self._versions = {}
        self._lows, self._longest = [], 0
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
        meeting = self._expect([slot.place for slot in step.slots], kernel.__name__)
        step.look()
        written = [slot for slot in step.slots if step.writes(slot)]
        changed = self._before(meeting, [slot.place for slot in written])
        step.before()
        try:
            kernel._launch(*args, **named)
        except BaseException:
            self._broken = f"a launch of kernel `{kernel.__name__}` failed while it was recorded"
            raise
        self._after(changed, ((slot.array, slot.place) for slot in step.slots))
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
        where = places(arrays)
        changed = self._before(self._expect(where, "assign"), where[:1])
        target[...] = source if known is None else known
        self._after(changed, zip(arrays, where))
        self._steps.append(_Copy(array, source, list(zip(arrays, where))))

    def _expect(self, wanted, what):
        """What a step uses must be as the steps before left it. Gives the versions that share memory with it."""
        found = self._meeting(wanted) if self._versions else []
        for version in found:
            if version.digest != _native.digest(version.array):
                raise _wrong(
                    f"an array of shape {version.array.shape} was changed since a recorded launch used it, and `{what}` uses it again: "
                    "gradients do not flow through what Python code writes",
                    "change it by a kernel, or with `tape.assign(array, values)`",
                )
        return found

    def _meeting(self, wanted):
        """The versions that share memory with one of some places."""
        found = {}
        for place in wanted:
            first = bisect.bisect_right(self._lows, (place.low - self._longest,))
            for low, _, key in self._lows[first : bisect.bisect_left(self._lows, (place.high,))]:
                version = self._versions[key]
                if version.place.meets(place):
                    found[key] = version
        return list(found.values())

    def _before(self, meeting, written):
        """What will have other contents, of versions that share memory with a step."""
        changed = [version for version in meeting if any(version.place.meets(place) for place in written)]
        for version in changed:
            version.keep()
        return changed

    def _after(self, changed, used):
        for version in changed:
            self._versions[version.place.key] = _Version(version.array, version.place)
        for array, place in used:
            if place.key not in self._versions:
                # The number in the middle keeps keys from being compared.
                bisect.insort(self._lows, (place.low, len(self._lows), place.key))
                self._longest = max(self._longest, place.high - place.low)
                self._versions[place.key] = _Version(array, place)

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
        (place,) = places([mine])
        found = [view for run in self._runs if (view := run.view(mine, place)) is not None]
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
            for _, _, held in step.held():
                held[...] = np.zeros((), held.dtype)


class _Gradients:
    def __init__(self, tape):
        self._tape = tape

    def __getitem__(self, array):
        return self._tape.gradient(array)


class _Version:
    """What an array held between two launches that write to it."""

    __slots__ = ("array", "place", "digest", "read", "saved")

    def __init__(self, array, place=None):
        self.array, self.place, self.digest = array, place, _native.digest(array)
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
        known = self.kernel.__dict__.setdefault("_known_free", set())
        launch = self._form()
        if launch in known:
            return
        data = {slot: slot.array if is_plain(slot.array) else np.array(slot.array) for slot in self.slots if slot.first is slot}
        made = {slot: zeros_like(array) for slot, array in data.items() if slot.floats}
        given = {slot.name: made[slot.first] for slot in self.slots if slot.floats}
        values = self.arguments.filled(lambda slot: data[slot.first])
        if not _native.look(self.kernel, self.dim, values, given, self.arguments.same) and launch is not None:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known.add(launch)

    def _form(self):
        """What decides whether there is something to look at but contents of arrays. None: it is not to be compared."""
        values = tuple(node for node in self.arguments.tree if type(node) is not Slot)
        if any(type(value) not in (int, float, bool, type(None)) for value in values):
            return None
        forms = tuple((slot.array.shape, slot.array.strides) for slot in self.slots)
        return tuple(self.dim), values, forms, tuple(self.arguments.same)

    def before(self):
        if self.records:
            self.kept = {slot.first: copy(slot.array) for slot in self.slots if self.writes(slot)}

    def after(self):
        for slot in self.slots:
            if slot.first not in self.kept and (self.records or self.reads[slot]):
                version = self.versions[slot.first] = self.tape._versions[slot.place.key]
                version.read = True

    def arrays(self):
        return [(slot.array, slot.place) for slot in self.slots if slot.floats]

    def held(self):
        of_floats = ((slot.array, slot.place, slot.held) for slot in self.slots if slot.floats)
        return [found for found in of_floats if found[2] is not None]

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
                gradient = run.view(first.array, first.place)
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

    def __init__(self, given, source, used):
        #: The array, and the other one.
        self.used = used
        self.given = [given, source]

    def arrays(self):
        return [(array, place) for array, place in self.used if _floats(array)]

    def held(self):
        pairs = zip(self.given, self.used)
        grads = ((array, place, given._grad) for given, (array, place) in pairs if isinstance(given, _native.Array))
        return [(array, place, as_numpy(grad)) for array, place, grad in grads if grad is not None]

    def backward(self, run):
        gradient = run.view(*self.used[0])
        if gradient is None:
            return
        for array, place in self.used[1:]:
            scatter(run.view(array, place), gradient)
        gradient[...] = np.zeros((), gradient.dtype)


class _Run:
    """The gradients of one backward run: for all memory that the steps use memory of the same form."""

    def __init__(self, steps):
        self.steps = steps
        found = {}
        for step in steps:
            for array, place in step.arrays():
                if place.low < place.high:
                    found.setdefault(place.key, (place.low, place.high, array))
        #: Apart from each other, in the order of their addresses.
        self.blocks = []
        for (low, high, array), key in sorted(zip(found.values(), found), key=lambda part: part[0][:2]):
            last = self.blocks[-1] if self.blocks else None
            if last is not None and low < last.high:
                last.join(high, array)
            else:
                self.blocks.append(_Block(low, high, array, key))
        self.starts = [block.low for block in self.blocks]

    def view(self, array, place):
        """The gradient of an array. None: there is none."""
        if place.low == place.high:
            return np.zeros(array.shape, array.dtype)
        n = bisect.bisect_right(self.starts, place.start) - 1
        return None if n < 0 else self.blocks[n].view(array, place)

    def seed(self, array, value):
        from ._derivative import fill

        mine = as_numpy(array)
        gradient = None if mine is None else self.view(mine, *places([mine]))
        if gradient is None or mine.size and not _floats(mine):
            raise refuse("E1004", "a gradient is given for an array of floats that no recorded launch uses")
        more = np.zeros(gradient.shape, gradient.dtype)
        fill("grads", more, value)
        scatter(gradient, more)

    def hand_over(self):
        """Adds to the gradients that arrays have. Where parts of one array have parts of its gradient, each counts once."""
        found = [held for step in self.steps for held in step.held()]
        if not found:
            return
        pairs = {place.key: pair for place, pair in zip(places([held for _, _, held in found]), found)}
        sums = []
        for array, place, held in pairs.values():
            total = np.array(held)
            add(total, self.view(array, place))
            sums.append((held, total))
        for held, total in sums:
            held[...] = total


class _Block:
    """Memory without gaps, and that of its gradient."""

    __slots__ = ("low", "high", "key", "number", "memory")

    def __init__(self, low, high, array, key):
        self.low, self.high = low, high
        #: That of its array, if it is all of one.
        self.key = key
        #: What its elements are made of.
        self.number = array.dtype.base
        self.memory = None

    def join(self, high, array):
        self.high, self.key = max(self.high, high), None
        if self.number != array.dtype.base:
            raise _wrong(f"one memory is used as {self.number} and as {array.dtype.base}: whose gradient it has is open")

    def view(self, array, place):
        if self.memory is None:
            whole = self.key is not None and self.key == place.key and array.flags.c_contiguous
            self.memory = np.zeros(array.shape, array.dtype) if whole else _aligned(self.low, self.high)
            if not whole:
                self.key = None
        if self.key is not None and self.key == place.key:
            return self.memory
        if place.low < self.low or place.high > self.high or self.number != array.dtype.base:
            return None
        memory = self.memory if self.key is None else self.memory.reshape(-1).view(np.uint8)
        return np.ndarray(array.shape, array.dtype, memory, place.start - self.low, array.strides)


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
