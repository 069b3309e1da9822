"""What the compiler says of kernels without running them: ``kc.check``."""

from __future__ import annotations

import dataclasses
import json
import os
import types

from . import _native
from ._errors import origin, shown_at


@dataclasses.dataclass(frozen=True, repr=False)
class Finding:
    """One thing that the compiler has to say. ``str(finding)`` has the source lines; ``kc explain CODE`` tells more."""

    code: str
    #: The code's name, such as ``"integer-division"``.
    name: str
    #: ``"error"`` or ``"warning"``.
    level: str
    message: str
    #: The place in the source, or None.
    filename: str | None
    lineno: int | None
    column: int | None
    #: What to do, or None.
    help: str | None
    notes: tuple[str, ...]
    text: str

    def __str__(self):
        return self.text

    def __repr__(self):
        place = "" if self.filename is None else f" at {self.filename}:{self.lineno}"
        return f"<kc {self.level} {self.code}{place}: {self.message}>"


def check(source, *, name="kernels.py", strict_warp=False):
    """See ``kc.check``."""
    found = _native.check(*_program(source, name), strict_warp)
    # What a gradient takes is a remark, which the command does not show either.
    made = [_finding(json.loads(facts), text) for facts, text in found]
    return [one for one in made if one.level != "note"]


def _program(source, name):
    """Path, text, the files that it imports from, and types, as the compiler takes them."""
    from ._kernel import Kernel, Module, kernel

    if isinstance(getattr(source, "func", None), types.FunctionType) and type(source).__module__.split(".")[0] == "warp":
        source = source.func
    if isinstance(source, types.FunctionType):
        source = kernel(source)
    if isinstance(source, Kernel) and getattr(source, "_kc_load", None) is not None:
        from ._capture import Program

        captured, known, _ = source._kc_load
        program = Program(captured, source._kc_kernel, "kernel", known)
        return program.path, program.text, program.given, None
    if isinstance(source, (Kernel, Module)) and source._origin is not None and source._origin[0] != "module":
        path, text = source._origin[-3:-1] if isinstance(source, Kernel) else source._origin
        return path, text, None, None
    if isinstance(source, str) and "\n" in source:
        return name, source, None, None
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        with open(path, encoding="utf-8") as file:
            return path, file.read(), None, None
    raise TypeError(f"kc.check takes a path, a text, a function or a kernel, not a {type(source).__name__}")


def _finding(facts, text):
    place = facts["spans"][0] if facts["spans"] else None
    filename = lineno = column = None
    if place is not None:
        before = place["file"], place["start"]["line"]
        text, (filename, lineno) = shown_at(text, *before), origin(*before)
        column = place["start"]["column"] if before == (filename, lineno) else None
    code, notes = facts["code"] or "", tuple(facts["notes"])
    return Finding(code, facts["slug"] or "", facts["level"], facts["message"], filename, lineno, column, facts["help"], notes, text.strip())
