"""The one device, and what programs ask of devices."""

from __future__ import annotations

import re
import sys
import time

from .._errors import warn_caller


class Device:
    """The processor of this machine."""

    alias = name = "cpu"
    ordinal = -1
    is_cpu, is_cuda, is_capturing = True, False, False
    is_mempool_supported = is_mempool_enabled = False

    @property
    def default_allocator(self):
        """What makes the memory of arrays."""
        from ._memory import ALLOCATOR

        return ALLOCATOR

    def get_allocator(self):
        """The same."""
        return self.default_allocator

    def __repr__(self):
        return "cpu"

    def __eq__(self, other):
        return isinstance(other, Device) or other == "cpu"

    def __hash__(self):
        return hash("cpu")


_CPU = Device()


def get_device(ident=None) -> Device:
    """The device of this name: there is ``"cpu"`` alone, which a program that names a GPU gets with a warning."""
    if ident is None or ident == "cpu" or isinstance(ident, Device):
        return _CPU
    if re.fullmatch(r"cuda(:\d+)?", str(ident)):
        warn_caller(UserWarning(f"kc.warp runs on the CPU: so does what this program wants on `{ident}`"))
        return _CPU
    raise ValueError(f"kc.warp runs on the CPU, and there is no device `{ident}`")


def set_device(ident) -> None:
    get_device(ident)


def get_preferred_device() -> Device:
    return _CPU


def get_devices() -> list:
    return [_CPU]


def get_cuda_devices() -> list:
    return []


def get_cuda_device_count() -> int:
    return 0


def is_cpu_available() -> bool:
    return True


def is_cuda_available() -> bool:
    return False


def synchronize() -> None:
    """Does nothing: a launch is over when it returns."""


def synchronize_device(device=None) -> None:
    get_device(device)


def synchronize_stream(stream=None) -> None:
    pass


class ScopedDevice:
    """``with wp.ScopedDevice("cpu"):``"""

    def __init__(self, device):
        self.device = get_device(device)

    def __enter__(self):
        return self.device

    def __exit__(self, *_):
        pass


class Stream:
    """Launches run one after the other, so there is nothing to order."""

    def __init__(self, device=None, **options):
        self.device = get_device(device)


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
