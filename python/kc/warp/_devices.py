"""The processor and the GPUs, and what programs ask of devices."""

from __future__ import annotations

import re
import sys
import threading
import time

from .._errors import warn_caller


class Device:
    """The processor of this machine."""

    alias = name = "cpu"
    ordinal = -1
    is_cpu, is_cuda, is_capturing = True, False, False
    #: Whether blocks have the threads that a launch asks for.
    has_blocks = False
    is_mempool_supported = is_mempool_enabled = False

    @property
    def default_allocator(self):
        """What makes the memory of arrays."""
        from ._memory import ALLOCATOR

        return ALLOCATOR

    def get_allocator(self):
        """The same."""
        return self.default_allocator

    @property
    def _place(self):
        """What `device=` of kc's arrays is."""
        return self.alias if self.is_cuda else None

    def __repr__(self):
        return self.alias

    __str__ = __repr__

    def __eq__(self, other):
        return self.alias == (other.alias if isinstance(other, Device) else other)

    def __hash__(self):
        return hash(self.alias)


class Gpu(Device):
    """An NVIDIA GPU."""

    is_cpu, is_cuda, has_blocks = False, True, True

    def __init__(self, ordinal):
        from .._device import Device as Card

        card = Card(ordinal)
        self.ordinal, self.alias, self.name = ordinal, card.id, card.name
        self.arch, self.sm_count = 10 * card.capability[0] + card.capability[1], card.multiprocessors
        self.total_memory = card.memory

    @property
    def free_memory(self) -> int:
        from .._device import Device as Card

        return Card(self.ordinal).free


class Instead(Device):
    """The processor in the place of a GPU that a program wants, with blocks as a GPU has."""

    has_blocks = True


_CPU, _INSTEAD = Device(), Instead()
_GPUS: dict = {}
_local = threading.local()


def _count() -> int:
    """The number of GPUs that programs may use."""
    from .. import _device
    from ._config import config

    return len(_device.devices()) if config.use_gpus else 0


def _gpu(ordinal) -> Gpu:
    if ordinal not in _GPUS:
        _GPUS[ordinal] = Gpu(ordinal)
    return _GPUS[ordinal]


def get_device(ident=None) -> Device:
    """The device of this name: `"cpu"`, or a GPU, `"cuda:0"`. Where there is none, a program that names one gets the processor, with
    a warning and with blocks as on a GPU; so it does with `wp.config.use_gpus = False`.
    """
    if ident is None:
        return getattr(_local, "device", _CPU)
    if isinstance(ident, Device):
        return ident
    word = str(getattr(ident, "alias", None) or getattr(ident, "id", None) or ident)
    if word == "cpu":
        return _CPU
    found = re.fullmatch(r"cuda(?::(\d+))?", word)
    if found is None:
        raise ValueError(f"there is no device `{ident}`: there is `cpu`, and with a GPU `cuda:0`")
    count = _count()
    if not count:
        warn_caller(UserWarning(f"there is no GPU here: what this program wants on `{ident}` runs on the CPU"))
        return _INSTEAD
    if int(found[1] or 0) >= count:
        raise ValueError(f"there is no device `{ident}`: this machine has {count} of them")
    return _gpu(int(found[1] or 0))


def of_array(memory) -> Device:
    """The device in whose memory an array is."""
    from .._device import place_of

    ordinal = place_of(memory)
    return _CPU if ordinal is None else _gpu(ordinal)


def set_device(ident) -> None:
    """Makes a device the one of arrays that name none, in this thread."""
    _local.device = get_device(ident)


def get_preferred_device() -> Device:
    """As in Warp the first GPU, where there is one."""
    return _gpu(0) if _count() else _CPU


def get_devices() -> list:
    return [_CPU, *get_cuda_devices()]


def get_cuda_devices() -> list:
    return [_gpu(n) for n in range(_count())]


def get_cuda_device_count() -> int:
    return _count()


def is_cpu_available() -> bool:
    return True


def is_cuda_available() -> bool:
    return _count() > 0


def synchronize() -> None:
    """Waits for the GPUs that this program uses; on the processor a launch is over when it returns."""
    for device in list(_GPUS.values()):
        synchronize_device(device)


def synchronize_device(device=None) -> None:
    """Waits for a GPU."""
    device = get_device(device)
    if device.is_cuda:
        from .._device import Device as Card

        Card(device.ordinal).synchronize()


def synchronize_stream(stream=None) -> None:
    synchronize_device(getattr(stream, "device", None))


class ScopedDevice:
    """``with wp.ScopedDevice("cpu"):``"""

    def __init__(self, device):
        self.device = get_device(device)

    def __enter__(self):
        self._before, _local.device = get_device(), self.device
        return self.device

    def __exit__(self, *_):
        _local.device = self._before


class Stream:
    """Launches run one after the other, so there is nothing to order."""

    def __init__(self, device=None, **options):
        self.device = get_device(device)

    def record_event(self, event=None, external=False):
        """Puts an event, or a new one, behind what the device does already."""
        from ._events import Event, record_event

        return record_event(event or Event(self.device))

    def wait_event(self, event, external=False):
        """What comes next waits for an event, as it does anyway."""

    def wait_stream(self, other, event=None):
        """What comes next waits for another stream, as it does anyway."""


class ScopedStream:
    def __init__(self, stream, **options):
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *_):
        pass


class ScopedTimer:
    """Prints how long a block took, in milliseconds; ``elapsed`` has it afterwards."""

    indent = -1

    def __init__(
        self, name, active=True, print=True, detailed=False, dict=None, use_nvtx=False, color=None, synchronize=False,
        cuda_filter=0, report_func=None, skip_tape=False,
    ):
        self.name, self.active, self.print, self.dict = name, active, print, dict
        self.report_func = report_func
        self.elapsed = 0.0
        self.timing_results = []
        if dict is not None and active:
            dict.setdefault(name, [])

    def __enter__(self):
        if self.active:
            ScopedTimer.indent += 1
            self.start = time.perf_counter_ns()
        return self

    def __exit__(self, *_):
        if not self.active:
            return
        self.elapsed = (time.perf_counter_ns() - self.start) / 1e6
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        indent = "\t" * ScopedTimer.indent
        ScopedTimer.indent -= 1
        if self.report_func is not None:
            self.report_func(self.timing_results, indent)
        elif self.print:
            sys.stdout.write(f"{indent}{self.name} took {self.elapsed:.2f} ms\n")
