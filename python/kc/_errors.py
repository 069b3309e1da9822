"""What can go wrong, as exceptions."""

from __future__ import annotations

import builtins
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


class LintWarning(UserWarning):
    """What the compiler finds odd in a kernel that it compiles, once, at the line it is about. The text begins with the code:
    ``warnings.filterwarnings("ignore", "W0205", kc.LintWarning)`` leaves out one kind; ``kc explain W0205`` tells more.
    """

    code: str

    def __init__(self, text: str = "", code: str = ""):
        super().__init__(text)
        self.code = code


#: Frames of these packages are no place of the user's.
_BETWEEN = ("kc", "torch", "jax", "jaxlib", "warp", "functools")


def caller():
    """The frame of the user's code that called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        frame = frame.f_back
    return frame


def warn_caller(warning):
    """Gives a warning at the line of the user's code that called."""
    frame = caller()
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(warning, None, frame.f_code.co_filename, frame.f_lineno, registry=registry)


def warn(text, code):
    """A warning with a code at the line of the user's code that called."""
    kind = LintWarning if code == "W1128" else GradientWarning
    warn_caller(kind(text, code))


#: Findings that are told where gradients are asked for, or say that something was not compiled.
_NO_LINTS = ("W06", "W05", "W09")


def lint(native):
    """Warns of what the compiler found, each at its line."""
    for code, message, place, text in native.findings():
        if code.startswith(_NO_LINTS):
            continue
        if place is None:
            frame = caller()
            place = frame.f_code.co_filename, frame.f_lineno
        text, place = shown_at(text, *place), origin(*place)
        lines = text.rstrip().splitlines()
        shown = "\n".join([f"{code}: {message}", *lines[1:]])
        warnings.warn_explicit(LintWarning(shown, code), None, *place, registry={})


#: Texts that are made of kernels: by their names, the file and line that each line comes from.
_PLACES = {}


def known_places(name, places):
    """A name for a text, under which its places are known from now on."""
    shown, n = name, 1
    while shown in _PLACES and _PLACES[shown] != places:
        n += 1
        shown = f"{name[:-1]}, {n}>"
    _PLACES[shown] = places
    return shown


def origin(filename, line):
    """The file and line of the program, for those of a text that was made of it."""
    places = _PLACES.get(filename)
    if not places:
        return filename, line
    return places.get(line) or next((places[k] for k in sorted(places, reverse=True) if k <= line), (filename, line))


def shown_at(text, filename, line):
    """A finding with the program's own line in place of those of a text that was made of it."""
    import linecache

    its_file, its_line = origin(filename, line)
    if (its_file, its_line) == (filename, line):
        return placed(text, filename)
    lines = text.splitlines()
    first = next((n for n, one in enumerate(lines) if filename in one), len(lines))
    notes = [one for one in lines[first:] if one.startswith("  = ")]
    source = linecache.getline(its_file, its_line).rstrip("\n")
    width = len(str(its_line))
    snippet = [f"{' ' * width}  --> {its_file}:{its_line}", f" {its_line} | {source}"]
    return placed("\n".join([*lines[:first], *snippet, *notes]), its_file)


def placed(text, filename):
    """A text about a file, which says of a notebook's cell which cell it is."""
    import re

    cell = _cell(filename)
    return text if cell is None else re.sub(re.escape(filename) + r":(\d+)(:\d+)?", rf"{cell}, line \1", text)


def _cell(filename):
    """``Cell In[5]``, for the file that a notebook's cell counts as. None: it is no cell."""
    shell = sys.modules.get("IPython")
    shell = shell and getattr(shell, "get_ipython", lambda: None)()
    name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if name is None or not filename:
        return None
    try:
        found = name(filename)
    except Exception:
        return None
    return " ".join(map(str, found)) if found else None


def too_many_dimensions(kernel, extents, coordinates):
    """A launch with dimensions that no coordinate of its kernel counts."""
    name = kernel.__name__
    counted = f"`tid()` of kernel `{name}` gives {coordinates} coordinate{'' if coordinates == 1 else 's'}"
    text = f"{counted}, and the launch has {len(extents)} dimensions, {tuple(extents)}: each thread would run {_times(extents[coordinates:])} times"
    function = getattr(kernel, "_kc_kernel", None)
    if getattr(function, "_kc_lenient", False):
        told = function.__dict__.setdefault("_kc_told", set())
        if len(extents) not in told:
            told.add(len(extents))
            frame = caller()
            warnings.warn_explicit(text, UserWarning, frame.f_code.co_filename, frame.f_lineno, registry={})
        return
    names = ", ".join("ijkl"[: len(extents)])
    size = _times(extents)
    help = f"launch it with `{size}` threads, or take all coordinates: `{names} = kc.tid()`"
    if coordinates > 1:
        help = f"launch it with {coordinates} dimensions, or take all coordinates: `{names} = kc.tid()`"
    raise make({"code": "E1006", "message": text, "text": f"error[E1006]: {text}\n  = help: {help}"})


def _times(extents):
    import math

    return math.prod(extents)


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
    if facts.get("filename"):
        text = shown_at(text, facts["filename"], facts.get("lineno") or 0)
        before = facts["filename"], facts.get("lineno")
        facts["filename"], facts["lineno"] = origin(*before)
        if before != (facts["filename"], facts["lineno"]):
            facts["column"] = None
    return _kind(facts["code"])(text, **facts)
