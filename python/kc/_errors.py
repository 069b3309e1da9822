"""What can go wrong, as exceptions."""

from __future__ import annotations

import builtins
import os
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Error(Exception):
    """An error of kc. ``str(error)`` has the source lines and what to do; ``kc explain CODE`` tells more.

    ``code``: of the first finding, such as ``"E1101"``; ``codes``: of all; ``message``: one line.
    ``filename``, ``lineno``, ``column``: the place in the source, or None.
    ``printed``: what the kernel printed before.
    """

    code: str
    codes: list[str]
    message: str
    filename: str | None
    lineno: int | None
    column: int | None
    printed: str
    json: str

    def __init__(self, text: str = "", **facts: Any):
        super().__init__(text)
        self.code = facts.get("code", "E0999")
        self.codes = facts.get("codes") or [self.code]
        self.message = facts.get("message", text)
        self.filename = facts.get("filename")
        self.lineno = facts.get("lineno")
        self.column = facts.get("column")
        self.printed = facts.get("printed", "")
        self.json = facts.get("json", "")
        self._facts = facts

    def __reduce__(self):
        return _again, (type(self), str(self), self._facts)


class CompileError(Error):
    """The source of a kernel has errors."""


class SourceError(CompileError):
    """The source text of a function is not to be had."""


class GradientError(CompileError):
    """A kernel, or a launch of it, has no gradient that would be right."""


class ArgumentError(Error, TypeError, ValueError):
    """An argument of a launch does not fit."""


class DeviceError(Error, RuntimeError):
    """The memory or the device is not one that the kernel can run on."""


class LaunchError(Error, RuntimeError):
    """A thread of a kernel was in error. ``thread``: its coordinates."""

    thread: tuple[int, ...] | None

    def __init__(self, text: str = "", **facts: Any):
        super().__init__(text, **facts)
        self.thread = facts.get("thread")


class IndexError(LaunchError, builtins.IndexError):
    """A thread used an index outside of its array: ``array``, ``dimension``, ``index``, ``extent``.

    Or it named a component that a vector, matrix or quaternion does not have: then ``array`` is what has the components,
    ``extent`` their number, and ``dimension`` is None.
    """

    array: str | None
    dimension: int | None
    index: int | None
    extent: int | None

    def __init__(self, text: str = "", **facts: Any):
        super().__init__(text, **facts)
        self.array = facts.get("array")
        self.dimension = facts.get("dimension")
        self.index = facts.get("index")
        self.extent = facts.get("extent")


class AssertionError(LaunchError, builtins.AssertionError):
    """An ``assert`` of a kernel does not hold."""


class InternalError(Error, RuntimeError):
    """A fault of kc itself."""


class GradientWarning(UserWarning):
    """A gradient was computed, and something about it should be known: where it is lost on the way (``code`` W06..), or a convention
    decides it (W1120). The first gradient of a kernel tells it; ``kc explain CODE`` tells more.
    """

    code: str

    def __init__(self, text: str = "", code: str = "W0604"):
        super().__init__(text)
        self.code = code


def warn(text, code):
    """A warning at the line outside of this package that called."""
    here, frame = os.path.dirname(__file__), sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(GradientWarning(text, code), None, frame.f_code.co_filename, frame.f_lineno, registry=registry)


def _again(kind, text, facts):
    return kind(text, **facts)


def _kind(code: str):
    if code == "E1101":
        return IndexError
    if code == "E1102":
        return AssertionError
    if code in ("E1103", "E1108") or code.startswith("E06"):
        return GradientError
    if code == "E1104":
        return DeviceError
    if code == "E0999":
        return InternalError
    if code.startswith("E10"):
        return ArgumentError
    if code.startswith("E11"):
        return LaunchError
    return CompileError


def make(facts: dict) -> Error:
    """The exception for what the compiled half tells."""
    facts = dict(facts)
    text = facts.pop("text")
    return _kind(facts["code"])(text, **facts)
