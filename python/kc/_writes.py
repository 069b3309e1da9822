"""What Python code of kc writes to arrays, as steps of the tape that records: each with the way back of its gradient."""

from __future__ import annotations

import numpy as np

from . import _device, _native, _structs
from ._arguments import as_memory, as_numpy, copy, refuse
from ._native import current
from ._tape import _wrong, scatter
from ._types import Composite, Struct


def put(array, key, value, numbers, what, fresh=False):
    """``array[key] = numbers``, noted on the tape that records; ``value`` is what the numbers were made of. A ``fresh`` array had no
    contents before: it keeps its gradient, which is that of what it gets.
    """
    tape, memory = current(), as_numpy(array)
    if memory.dtype.names:
        _structs.keep(memory, value)
    if tape is None:
        memory[key] = numbers
    else:
        _put(tape, array, key, value, _sources(tape, value), numbers, what, fresh)


def put_far(array, key, value, numbers, what):
    """The same where one of them is in the memory of a GPU."""
    tape, key = current(), _frozen(key)
    if not _is_plain_key(key):
        raise refuse("E1005", "elements on a GPU that an array of indices chooses are not set from Python", "set them by a kernel")
    if tape is None:
        _device.put(as_memory(array)[_device.opened(key)], numbers)
    else:
        _put(tape, array, key, value, _sources(tape, value), numbers, what)


def assign(tape, array, source):
    """``array[...] = source`` on a tape, which need not record."""
    _put(tape, array, ..., source, _sources(tape, source), source, "assign")


def made(array, value, what):
    """Notes that an array was made of others: ``value`` is one, or a list of them."""
    tape = current()
    sources = [] if tape is None else _sources(tape, value)
    # An array of the same memory is a part, and no copy.
    if sources and not any(np.may_share_memory(source, as_memory(array)) for _, source, _ in sources):
        _put(tape, array, ..., value, sources, None, what, fresh=True)


def taken(array, source, key):
    """``array[...] = source[key]`` of a fresh array, with arrays of integers as the key, noted on the tape that records."""
    mine, its, key = as_numpy(array), as_numpy(source), _frozen(key)

    def run():
        mine[...] = its[key]

    def pull(more, other):
        _add_at(other, key, more)

    write("a copy of chosen elements", array, [source], run, pull, fresh=True)


def write(what, array, sources, run, pull, keep=None, fresh=False):
    """Does what sets all of an array, noted on the tape that records. ``pull(gradient, *others)`` adds to the gradients of the
    sources, of which those without floats are None. Behind them it gets what ``keep()`` has given before.
    """
    tape = current()
    if tape is None:
        run()
        return
    known = [_native.has_floats(as_numpy(source).dtype) for source in sources]
    given = [(array, as_numpy(array)), *((source, as_numpy(source)) for source, floats in zip(sources, known) if floats)]
    kept = () if keep is None else keep()

    def back(gradient, others):
        others = iter(others)
        others = [next(others) if floats else None for floats in known]
        more = np.array(gradient)
        if not fresh:
            gradient[...] = np.zeros((), gradient.dtype)
        pull(more, *others, *kept)

    tape._write(what, given, run, back)


def _put(tape, array, key, value, sources, numbers, what, fresh=False):
    """``array[key] = numbers``, recorded; without numbers it has happened."""
    target, key = as_memory(array), _frozen(key)
    part, inside = target, key
    far = _device.is_far(target) or any(_device.is_far(source) for _, source, _ in sources)
    if key is ...:
        given = array
    elif _is_plain_key(key):
        # The part alone: what else Python code does to the array is nothing to it.
        part, inside = target[_device.opened(key)], ...
        given = _part(array, part, key)
    else:
        given = array
    if sources and target.dtype.names and any(source.dtype != target.dtype for _, source, _ in sources):
        raise _wrong(f"`{what}` converts structs, and their gradients would be lost", "copy between arrays of one struct")
    if far:
        return _put_far(tape, given, part, sources, numbers if numbers is None or isinstance(numbers, np.ndarray) else as_memory(numbers), what, fresh)
    written = np.shape(part[inside]) if numbers is None else np.shape(numbers)
    shape = np.shape(as_numpy(value)) if isinstance(value, _native.Array) else np.shape(value) if sources else ()

    def run():
        if numbers is not None:
            part[inside] = numbers

    def pull(gradient, others):
        more = np.array(gradient[inside])
        if inside is not ...:
            more[~_last(gradient.shape, inside)] = np.zeros((), more.dtype)
        if not fresh:
            gradient[inside] = np.zeros((), gradient.dtype)
        if not others:
            return
        total = _summed(more, written).reshape(shape)
        for other, (_, source, path) in zip(others, sources):
            if other is not None:
                scatter(other, np.asarray(total[path]).reshape(source.shape).astype(source.dtype, copy=False))

    tape._write(what, [(given, part), *((given, source) for given, source, _ in sources)], run, pull)


def _put_far(tape, given, part, sources, numbers, what, fresh):
    """The same where one of the arrays is in the memory of a GPU: all elements of a part are set, to those of one array or to numbers."""
    if sources:
        source = sources[0][1]
        if len(sources) > 1 or sources[0][2] or source.shape != part.shape or source.dtype != part.dtype:
            text = f"`{what}` of several arrays, or of one with another shape or type, has no gradient where arrays are on a GPU"
            raise _wrong(text, "copy arrays of one shape, or do it by a kernel")

    def run():
        if numbers is not None:
            _device.put(part, numbers)

    def pull(gradient, others):
        more = copy(gradient)
        if not fresh:
            _device.put(gradient, np.zeros((), gradient.dtype))
        for other in others:
            if other is not None:
                where = _device.place_of(other)
                scatter(other, more if where == _device.place_of(more) else _device.moved(more, where))

    tape._write(what, [(given, part), *((given, source) for given, source, _ in sources)], run, pull)


def _sources(tape, value, path=()):
    """The arrays of floats that a value is made of, with the objects that they were given as, and where in it they are."""
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, (int, float)) for item in value):
            return []
        return [found for n, item in enumerate(value) for found in _sources(tape, item, (*path, n))]
    if np.isscalar(value) or value is None or isinstance(value, (np.generic, Composite, Struct, np.void)):
        return []
    mine = as_memory(value)
    if mine is None or not _native.has_floats(mine.dtype):
        return []
    # What Python code wrote to memory of its own are numbers, as a buffer that is filled again for every step has.
    if not isinstance(value, _native.Array) and tape._is_replaced(mine):
        return []
    return [(value, mine, path)]


def _frozen(key):
    """A key as it is now: later changes of its arrays do not change it."""
    if isinstance(key, tuple):
        return tuple(_frozen(item) for item in key)
    if isinstance(key, (list, np.ndarray, _native.Array)):
        return np.array(as_numpy(key) if not isinstance(key, list) else key)
    return key


def _is_plain_key(key) -> bool:
    """Whether it chooses a part that is the same memory."""
    items = key if isinstance(key, tuple) else (key,)
    return all(isinstance(item, (int, np.integer, slice)) and not isinstance(item, bool) or item is ... or item is None for item in items)


def _part(array, part, key):
    """A part as an object that has its part of the gradient."""
    if not isinstance(array, _native.Array):
        return part
    made = _native.Array(part, array.dtype)
    if array._grad is not None:
        made._grad = as_memory(array._grad)[_device.opened(key)]
    return made


def _last(shape, key):
    """Where the elements are kept that an assignment writes: of several to one place the last."""
    order = np.full(shape, -1, np.intp)
    numbers = np.arange(order[key].size).reshape(order[key].shape)
    order[key] = numbers
    return order[key] == numbers


def _summed(more, shape):
    """The gradient of numbers that NumPy repeated to a larger shape."""
    if more.shape == shape:
        return more
    if more.ndim > len(shape):
        more = more.sum(axis=tuple(range(more.ndim - len(shape))))
    axes = tuple(axis for axis, n in enumerate(more.shape) if len(shape) == more.ndim and shape[axis] == 1 and n != 1)
    return more.sum(axis=axes, keepdims=True) if axes else more


def _add_at(to, key, more):
    """Adds to chosen elements, of which some may be chosen several times."""
    if to.dtype.names is None:
        np.add.at(to, key, more)
        return
    for name in to.dtype.names:
        if _native.has_floats(to.dtype[name].base):
            _add_at(to[name], key, more[name])
