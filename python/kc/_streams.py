"""Streams, events and graphs of a GPU."""

from __future__ import annotations

from . import _device, _native


class Stream:
    """A queue of work on a GPU. Within ``with stream:`` launches and copies of this thread go there; its work is done in its order.

    Streams run beside each other: ``stream.wait(other)`` lets what comes next wait for what the other one does already. What is done
    outside of the ``with`` block waits for all streams, and they for it.
    """

    def __init__(self, device="cuda"):
        self.ordinal = _gpu(device)
        self._own, self._before = _native.RawStream(self.ordinal, False), []

    @property
    def ptr(self) -> int:
        """The driver's handle, a ``CUstream``."""
        return self._own.raw

    @property
    def device(self) -> str:
        return f"cuda:{self.ordinal}"

    def __cuda_stream__(self):
        return 0, self.ptr

    def synchronize(self):
        """Waits for what the stream does."""
        _native.card_wait(self.ordinal, self.ptr)

    def wait(self, other):
        """What comes next on this stream waits for an event, or for what another stream does already."""
        if isinstance(other, Event):
            other._raw.hold(self.ordinal, self.ptr)
        else:
            _native.streams_follow((self.ordinal, self.ptr), (other.ordinal, other.ptr))

    def record(self) -> "Event":
        """An event behind what the stream does already."""
        event = Event(self.device)
        event.record(self)
        return event

    def __enter__(self):
        self._before.append(_native.use_stream(self.ordinal, self.ptr))
        return self

    def __exit__(self, *_):
        _native.use_stream(self.ordinal, self._before.pop())

    def __repr__(self):
        return f"<kc stream {self.ptr:#x} of {self.device}>"


class Event:
    """A point in the work of a stream. ``start.elapsed(end)`` is the time between two, in milliseconds."""

    def __init__(self, device="cuda"):
        self.ordinal = _gpu(device)
        self._raw = _native.RawEvent(self.ordinal)

    def record(self, stream=None):
        """Puts it behind what a stream does already: that of this thread, if none is given."""
        self._raw.record(_native.current_stream(self.ordinal) if stream is None else stream.ptr)

    def synchronize(self):
        """Waits until the stream is there."""
        self._raw.reach()

    def elapsed(self, end) -> float:
        """Milliseconds from this event to another one; waits for both."""
        self._raw.reach()
        end._raw.reach()
        return self._raw.elapsed(end._raw)

    def __repr__(self):
        return f"<kc event of cuda:{self.ordinal}>"


class Graph:
    """Launches and copies that are kept, to be done again with one call:

        with kc.Graph() as graph:
            step(n, x, y)
            step(n, y, x)
        for _ in range(1000):
            graph.replay()

    The block records launches and copies without running them. Each replay uses the same arrays and numbers.
    """

    def __init__(self, device="cuda"):
        self.ordinal, self._raw = _gpu(device), None

    def __enter__(self):
        if self._raw is not None:
            raise RuntimeError("the graph is captured already: make another one")
        self._stream = _native.RawStream(self.ordinal, True)
        _native.capture_begin(self.ordinal, self._stream.raw)
        self._before = _native.use_stream(self.ordinal, self._stream.raw)
        return self

    def __exit__(self, kind, *_):
        _native.use_stream(self.ordinal, self._before)
        try:
            self._raw = _native.capture_end(self.ordinal, self._stream.raw)
        except Exception:
            # The error of the block says more.
            if kind is None:
                raise
        if kind is not None:
            self._raw = None

    def replay(self):
        """Does it all once more, behind what this thread's stream does; waits for nothing."""
        if self._raw is None:
            raise RuntimeError("nothing is captured yet: launch within `with graph:`")
        self._raw.replay(_native.current_stream(self.ordinal))

    def __repr__(self):
        return f"<kc graph of cuda:{self.ordinal}>"


def _gpu(device) -> int:
    ordinal = _device.ordinal_of(device)
    if ordinal is None:
        raise _device.refused("streams, events and graphs are a GPU's", 'name one: "cuda", "cuda:1"')
    return ordinal
