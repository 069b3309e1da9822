"""Events, and modules by their names."""

from __future__ import annotations

import time

from ._devices import get_device


class Event:
    """A point in what a device does: that of a GPU's stream, or the time when it is recorded on the processor."""

    def __init__(self, device=None, cuda_event=None, enable_timing=False, interprocess=False):
        if cuda_event is not None or interprocess:
            raise NotImplementedError("kc.warp makes its events by itself: it takes no handle, and shares none with other processes")
        self.device, self.enable_timing, self._at, self._gpu = get_device(device), enable_timing, None, None

    def _record(self):
        if self.device.is_cuda:
            from .._streams import Event as OfGpu

            self._gpu = self._gpu or OfGpu(self.device.alias)
            self._gpu.record()
        self._at = time.perf_counter()

    @property
    def is_complete(self) -> bool:
        """Whether the device is there: kc waits for it."""
        synchronize_event(self)
        return True


def record_event(event=None, external=False) -> Event:
    """Puts an event, or a new one, behind what the device does already."""
    event = event or Event()
    event._record()
    return event


def wait_event(event, external=False) -> None:
    """What comes next waits for an event: as it does anyway, since launches run one after the other."""


def synchronize_event(event) -> None:
    """Waits until the device is at an event."""
    if event._gpu is not None:
        event._gpu.synchronize()


def get_event_elapsed_time(start_event, end_event, synchronize=True) -> float:
    """Milliseconds from one event to another one."""
    for event in (start_event, end_event):
        if event._at is None:
            raise RuntimeError("get_event_elapsed_time: an event was never recorded")
    if start_event._gpu is not None and end_event._gpu is not None:
        return start_event._gpu.elapsed(end_event._gpu)
    return 1e3 * (end_event._at - start_event._at)


class Module:
    """What a file's kernels belong to: its name. kc compiles each kernel by itself, when it is first launched."""

    def __init__(self, name):
        self.name, self.options = name, {}

    def load(self, device=None, block_dim=None):
        """Does nothing: a kernel is compiled when it is first launched."""

    def __repr__(self):
        return f"<kc.warp module {self.name}>"


_MODULES: dict = {}


def get_module(name) -> Module:
    """The module of that name."""
    return _MODULES.setdefault(name, Module(name))


def is_conditional_graph_supported() -> bool:
    """Whether `capture_while` and `capture_if` work: kc's graphs keep conditions on each device."""
    return True


def get_cuda_toolkit_version() -> None:
    """None: kc is built without a toolkit."""

