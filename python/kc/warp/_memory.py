"""What arrays take of the memory: ``ScopedMemoryTracker``, and the report of all of them."""

from __future__ import annotations

import sys
import threading
import weakref

from .._errors import caller
from ._config import config
from ._devices import get_device

_LOCK = threading.Lock()


class _Ledger:
    """Arrays that were made since a moment: the bytes of each, its scope, and the line that asked for it."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.live, self.count, self.total, self.now, self.peak = {}, 0, 0, 0, 0

    def add(self, key, size, scope, place):
        self.live[key] = size, scope, place
        self.count += 1
        self.total += size
        self.now += size
        self.peak = max(self.peak, self.now)

    def drop(self, key):
        self.now -= self.live.pop(key, (0,))[0]

    def report(self, file, sort, most):
        if sort not in ("size", "chronological"):
            raise ValueError(f'sort is "size" or "chronological", not {sort!r}')
        lines = [f"host memory: {self.now:,} bytes in {len(self.live)} arrays; most at a time {self.peak:,}; {self.count} arrays of {self.total:,} bytes were made"]
        rows = list(self.live.values())
        rows = sorted(rows, key=lambda row: -row[0]) if sort == "size" else rows
        lines += [f"  {size:>14,}  {place}{f'  [{scope}]' if scope else ''}" for size, scope, place in rows[:most]]
        if len(rows) > most:
            lines.append(f"  ... and {len(rows) - most} more")
        print("\n".join(lines), file=file or sys.stdout)


_EVERYTHING = _Ledger()
_ACTIVE: list = []
_SCOPES = threading.local()


def _place():
    """The line of the program that asks for memory."""
    frame = caller()
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def note(memory):
    """Counts the memory of a new array of NumPy, where anybody counts."""
    if not (config.track_memory or _ACTIVE):
        return
    scope, place, key = "/".join(getattr(_SCOPES, "names", [])), _place(), object()
    with _LOCK:
        for ledger in [*([_EVERYTHING] if config.track_memory else []), *_ACTIVE]:
            ledger.add(key, memory.nbytes, scope, place)
    ledgers = [_EVERYTHING, *_ACTIVE]
    weakref.finalize(memory, _gone, ledgers, key).atexit = False


def _gone(ledgers, key):
    # A collection may come while the lock is held by this thread: dictionaries are whole without it.
    for ledger in ledgers:
        ledger.drop(key)


class ScopedMemoryTracker:
    """``with wp.ScopedMemoryTracker("run") as tracker:`` counts the arrays that are made within, and prints a report in the end.
    Scopes within others are named in the report."""

    def __init__(self, name, active=True, print=True):  # noqa: A002 - Warp's name
        self.name, self.active, self.print = name, active, print
        self._ledger = _Ledger()

    def __enter__(self):
        if self.active:
            _SCOPES.names = [*getattr(_SCOPES, "names", []), self.name]
            _ACTIVE.append(self._ledger)
        return self

    def __exit__(self, *_):
        if self.active:
            _SCOPES.names = _SCOPES.names[:-1]
            _ACTIVE.remove(self._ledger)
            if self.print:
                self.report()

    def report(self, file=None, sort="size", max_items=10):
        """Prints what there is now: the largest arrays first, or in order (``"chronological"``)."""
        self._ledger.report(file, sort, max_items)

    def clear(self):
        """Forgets what was made until now."""
        self._ledger.clear()


def print_memory_report(file=None, sort="size", max_items=10):
    """Prints what there is now, of all arrays that were made since ``wp.config.track_memory = True``."""
    if not config.track_memory:
        raise RuntimeError("no memory is tracked: set `wp.config.track_memory = True` before arrays are made")
    _EVERYTHING.report(file, sort, max_items)


class _Allocator:
    """Memory of the host, by its address."""

    def __init__(self):
        self._held = {}

    def allocate(self, size_in_bytes: int) -> int:
        """Makes so many bytes, and says where they are."""
        import numpy as np

        made = np.empty(max(1, size_in_bytes), np.uint8)
        self._held[made.ctypes.data] = made
        return made.ctypes.data

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Gives them back."""
        del self._held[ptr]


ALLOCATOR = _Allocator()
_CUSTOM: list = [None]


def get_device_allocator(device=None):
    """What makes the memory of arrays."""
    return _CUSTOM[-1] or ALLOCATOR


def set_device_allocator(device, allocator) -> None:
    """Arrays that are made from here on get their memory from an object with ``allocate(bytes)``, which gives an address, and
    ``deallocate(address, bytes)``. ``None``: as before. Warp has this for GPUs alone."""
    get_device(device)
    if allocator is not None and not (callable(getattr(allocator, "allocate", None)) and callable(getattr(allocator, "deallocate", None))):
        raise TypeError(f"an allocator has `allocate` and `deallocate`, which a {type(allocator).__name__} has not")
    _CUSTOM[-1] = allocator


class ScopedAllocator:
    """``with wp.ScopedAllocator(device, allocator):`` sets it for a while."""

    def __init__(self, device, allocator):
        self.device, self.allocator = device, allocator

    def __enter__(self):
        _CUSTOM.append(None)
        set_device_allocator(self.device, self.allocator)
        return self.allocator

    def __exit__(self, *_):
        _CUSTOM.pop()


def make(function, shape, dtype):
    """An array of NumPy by ``numpy.zeros`` or ``numpy.empty``, in the memory that programs want."""
    allocator = _CUSTOM[-1]
    if allocator is None:
        memory = function(shape, dtype)
        note(memory)
        return memory
    import ctypes

    import numpy as np

    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if size == 0:
        return function(shape, dtype)
    place = int(allocator.allocate(size))
    raw = (ctypes.c_char * size).from_address(place)
    weakref.finalize(raw, allocator.deallocate, place, size)
    memory = np.frombuffer(raw, dtype).reshape(shape)
    if function is not np.empty:
        memory[...] = np.zeros((), dtype)
    note(memory)
    return memory
