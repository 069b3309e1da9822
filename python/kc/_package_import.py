"""Imports a package, in a process of its own, and says what its kernels are: with the types, values and functions that Python gave
them. Nothing is launched. ``_package.py`` starts it, and shows what comes back.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import fnmatch
import importlib
import inspect
import json
import os
import pkgutil
import sys
import traceback


@dataclasses.dataclass
class Asked:
    """What is asked for; travels as JSON."""

    #: The name of the package or module, and folders to import it from before all others.
    package: str
    path: list[str]
    #: Where results go: `result.json`, and `progress`, the module that is being imported.
    folder: str
    #: Patterns of modules that are not imported.
    skip: list[str]
    #: Where the texts of kernels go, or None.
    record: str | None = None
    #: Whether kernels are checked, and as Warp's literals are.
    check: bool = True
    strict_warp: bool = False
    #: A program to run once all is imported, and its arguments: what it launches runs.
    program: list[str] = dataclasses.field(default_factory=list)


def main() -> None:
    asked = Asked(**json.loads(sys.argv[1]))
    # A program that is started by hand finds its own folder first.
    sys.path[:0] = asked.path
    # What modules print as they are imported is no result.
    os.dup2(2, 1)
    of_warp = _watch_warp()
    failed = _import_all(asked)
    if asked.program:
        _run(asked.program, failed)
    found = [*of_warp(asked), *_of_kc(asked)]
    with open(os.path.join(asked.folder, "result.json"), "w", encoding="utf-8") as file:
        json.dump({"failed": failed, "kernels": found}, file)
    # Threads and handlers of the package do not keep the process.
    sys.stderr.flush()
    os._exit(0)


# Import


def _import_all(asked) -> list[dict]:
    failed = []
    _import_below(asked, _import(asked, asked.package, failed), failed)
    return failed


def _import_below(asked, package, failed):
    """Imports the modules of a package, and those below them."""
    for name in _children(package):
        if not _is_skipped(asked, name):
            _import_below(asked, _import(asked, name, failed), failed)


def _children(package) -> list[str]:
    folders = list(getattr(package, "__path__", []))
    names = {found.name for found in pkgutil.iter_modules(folders)}
    for folder in folders:
        # A folder without `__init__.py` is a package, too.
        inner = (one for one in os.scandir(folder) if one.is_dir() and one.name.isidentifier()) if os.path.isdir(folder) else ()
        names |= {one.name for one in inner if any(name.endswith(".py") for name in os.listdir(one.path))}
    return [f"{package.__name__}.{name}" for name in sorted(names) if name.isidentifier()]


def _run(program, failed):
    """Runs a program as `python program.py` does, with launches."""
    import runpy

    for module, name, launch in _STOPPED:
        setattr(module, name, launch)
    sys.argv = program
    sys.path.insert(0, os.path.dirname(os.path.abspath(program[0])))
    try:
        runpy.run_path(program[0], run_name="__main__")
    except SystemExit as ended:
        if ended.code not in (None, 0):
            failed.append({"module": program[0], "why": f"it ended with {ended.code}"})
    except Exception as error:
        failed.append({"module": program[0], "why": _first_line(error)})


def _is_skipped(asked, module) -> bool:
    return module.endswith(".__main__") or any(fnmatch.fnmatchcase(module, pattern) for pattern in asked.skip)


def _import(asked, name, failed):
    if name in sys.modules:
        return sys.modules[name]
    with open(os.path.join(asked.folder, "progress"), "w", encoding="utf-8") as file:
        file.write(name)
    try:
        return importlib.import_module(name)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        failed.append({"module": name, "why": _first_line(error)})
        return None


def _first_line(error) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


# Kernels of Warp

#: What does not launch while a package is imported: module, name, and what it was.
_STOPPED = []


def _watch_warp():
    """Notes the kernels that are made from now on; the function that is returned says what they are."""
    try:
        import warp
        from warp._src import context
    except ImportError:
        import kc.warp

        # Programs import it by Warp's name.
        sys.modules["warp"] = kc.warp
        return lambda asked: []
    warp.config.quiet = True
    made = note_kernels(context)
    for module in (context, warp):
        for name in ("launch", "launch_tiled"):
            _STOPPED.append((module, name, getattr(module, name)))
            setattr(module, name, _note_launch)
    return lambda asked: list(_told(asked, _instances(made)))


def note_kernels(context) -> list:
    """A list that gets every kernel of Warp that is made from now on."""
    made = []
    register = context.Module.register_kernel

    def noted(self, kernel):
        made.append(kernel)
        return register(self, kernel)

    context.Module.register_kernel = noted
    return made


def record(folder, made) -> tuple[int, int]:
    """Writes the texts of these kernels of Warp; how many there are, and how many have no text."""
    written = left = 0
    for kernel in _instances(made):
        _resolve(kernel.module)
        known = _text(folder, kernel)
        written += "recorded" in known
        left += "recorded" not in known
    return written, left


def _resolve(module):
    try:
        # Evaluates static expressions, as Warp does before it compiles.
        module.get_module_hash(1)
    except Exception:
        # Each of its kernels says itself what is wrong.
        pass


def _note_launch(kernel, dim=None, inputs=(), outputs=(), *arguments, **named):
    """In the place of `wp.launch`: a generic kernel gets the types of the launch, and nothing runs."""
    if getattr(kernel, "is_generic", False):
        try:
            kernel.add_overload(kernel.infer_argument_types([*inputs, *outputs]))
        except Exception:
            # What Warp would say of it is said when it is launched.
            pass


def _instances(made):
    """Each kernel once, or its overloads; a generic one that has none stands for itself."""
    seen = set()
    for kernel in made:
        if kernel.generic_parent is not None:
            continue
        for one in list(kernel.overloads.values()) or [kernel]:
            if id(one) not in seen:
                seen.add(id(one))
                yield one


def _told(asked, kernels):
    """What there is to say of each kernel."""
    by_module = {}
    for kernel in kernels:
        # Modules of a kernel of its own have names of their own.
        if kernel.func.__module__.split(".")[0] == asked.package.split(".")[0]:
            by_module.setdefault(kernel.module, []).append(kernel)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        waiting = []
        for module, own in by_module.items():
            _resolve(module)
            for kernel in own:
                known = _text(asked.record, kernel)
                waiting.append((known, None if "text" not in known else workers.submit(_checked, asked, known)))
        for known, check in waiting:
            if check is not None:
                known["findings"] = check.result()
            known.pop("text", None), known.pop("places", None)
            yield known


def _text(folder, kernel) -> dict:
    """A kernel's place and, if its types are known, its text, which a folder gets."""
    from ._warp_text import text_of

    code = inspect.unwrap(kernel.func).__code__
    known = {"module": kernel.func.__module__, "kernel": kernel.key, "file": code.co_filename, "line": code.co_firstlineno}
    if kernel.is_generic:
        return known | {"generic": True}
    try:
        options = kernel.module.options | (kernel.options or {})
        text, name, places = text_of(kernel, backward=bool(options.get("enable_backward", True)))
    except Exception as error:
        return known | {"why": str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}
    known |= {"text": text, "places": places, "name": name}
    if folder is not None:
        known["recorded"] = _record(folder, kernel, text)
    return known


def _record(folder, kernel, text) -> str:
    """Writes a kernel's text under its module's name; overloads get a number."""
    base = os.path.join(folder, *kernel.func.__module__.split("."))
    os.makedirs(base, exist_ok=True)
    stem = kernel.func.__name__
    path, n = os.path.join(base, f"{stem}.py"), 1
    while os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return path
        n += 1
        path = os.path.join(base, f"{stem}_{n}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _checked(asked, known) -> list:
    """The findings in a kernel's text, at the places of the package."""
    from . import _errors, _native
    from ._check import _finding

    if not asked.check:
        return []
    shown = _errors.known_places(f"<kernel {known['kernel']} of {known['module']}>", known["places"])
    try:
        found = _native.check(shown, known["text"], [], None, asked.strict_warp)
    except _errors.Error as error:
        return [{"level": "error", "code": error.code, "message": error.message, "file": None, "line": None, "text": str(error)}]
    return [_plain(_finding(json.loads(facts), text)) for facts, text in found]


def _plain(finding) -> dict:
    return {
        "level": finding.level, "code": finding.code, "message": finding.message, "file": finding.filename, "line": finding.lineno,
        "text": finding.text,
    }


# Kernels of kc, which are Warp's where Warp is not installed


def _of_kc(asked) -> list[dict]:
    import gc

    from ._kernel import Kernel

    kernels = [one for one in gc.get_objects() if isinstance(one, Kernel) and getattr(one, "_kc_kernel", None) is not None]
    return [_told_of_kc(asked, one) for one in kernels if _is_of(asked.package, one)]


def _is_of(package, kernel) -> bool:
    return (getattr(kernel, "__module__", None) or "").split(".")[0] == package.split(".")[0]


def _told_of_kc(asked, kernel) -> dict:
    from . import _check
    from ._generic import Generic

    code = inspect.unwrap(kernel._kc_kernel).__code__
    known = {"module": kernel.__module__, "kernel": kernel.__name__, "file": code.co_filename, "line": code.co_firstlineno}
    if isinstance(kernel, Generic):
        return known | {"generic": True}
    try:
        return known | {"findings": [_plain(one) for one in _check.check(kernel, strict_warp=asked.strict_warp)]}
    except Exception as error:
        return known | {"why": _first_line(error)}


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        os._exit(3)
