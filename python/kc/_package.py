"""``python -m kc check|compile|verify PACKAGE``: the kernels of an installed package, with the types and values that Python gives
them. The package is imported in a process of its own (``_package_import.py``), and nothing is launched.
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

from . import _native
from ._package_import import Asked

_WORDS = ("check", "compile", "verify")
#: A package whose modules end the process that imports them, so often, is given up.
_MOST_CRASHES = 20


def package_of(arguments) -> str | None:
    """The package that a command names, and no file: `check newton`. A path of a folder with `__init__.py` is one as well."""
    if arguments[:1] not in ([word] for word in _WORDS) or "--no-import" in arguments:
        return None
    for word in arguments[1:2]:
        if word.startswith("-"):
            return None
        if os.path.exists(word):
            return word if os.path.isfile(os.path.join(word, "__init__.py")) else None
        if all(part.isidentifier() for part in word.split(".")):
            return word if _is_importable(word) else None
    return None


def without_import(arguments) -> list[str]:
    """The words for `kc`, which reads files: `--no-import` goes, and a package's name becomes its folder or file."""
    if "--no-import" not in arguments:
        return arguments
    command, *words = (word for word in arguments if word != "--no-import")
    return [command, *(_place_of(word) for word in words)]


def _place_of(word) -> str:
    if os.path.exists(word) or not all(part.isidentifier() for part in word.split(".")) or not _is_importable(word):
        return word
    # The specification of what is inside a package would import the package.
    first, *inner = word.split(".")
    spec = importlib.util.find_spec(first)
    folders = [os.path.join(folder, *inner) for folder in spec.submodule_search_locations or []]
    files = [f"{folder}.py" for folder in folders] if inner else [spec.origin or ""]
    return next((path for path in [*filter(os.path.isdir, folders), *filter(os.path.isfile, files)]), word)


def _is_importable(name) -> bool:
    try:
        return importlib.util.find_spec(name.split(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def run(arguments) -> int:
    """Runs such a command; its exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m kc {arguments[0]}", description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("package", help="the name of a package or module, or the folder of a package")
    parser.add_argument("--skip", action="append", default=[], metavar="PATTERN", help="modules that are not imported: 'newton.tests.*'")
    parser.add_argument("--record", metavar="DIR", help="keep the text of each kernel there, which `kc` reads without Python")
    parser.add_argument("--no-import", action="store_true", help="read the files only, as `kc` does")
    parser.add_argument("--run", metavar="FILE", help="run this program once all is imported: kernels that it makes and launches count, too")
    if arguments[0] == "check":
        parser.add_argument("--warnings", action="store_true", help="show warnings, too")
        parser.add_argument("--strict-warp", action="store_true", help="say where a program would not run under Warp")
        parser.add_argument("--report", metavar="FILE", help="write what is known of each kernel there, as JSON")
        given, more = parser.parse_args(arguments), []
    else:
        given, more = parser.parse_known_args(arguments)
    if given.command == "check":
        return _check(given)
    with tempfile.TemporaryDirectory(prefix="kc-package-") as temporary:
        texts = given.record or os.path.join(temporary, "texts")
        make_new(texts)
        found = _import(given, texts)
        recorded = [kernel for kernel in found["kernels"] if "recorded" in kernel]
        _say_failed(found)
        left = len(found["kernels"]) - len(recorded)
        if left:
            print(f"{_counted(left, 'kernel')} left out: their types are not known, or only Warp has what they use", file=sys.stderr)
        if not recorded:
            print(f"error: {given.package} has no kernels whose types are known", file=sys.stderr)
            return 1
        again = [sys.executable, "-c", "from kc.__main__ import command; command()"]
        sys.stdout.flush()
        # Each file's findings are its own.
        files = [kernel["recorded"] for kernel in recorded] if given.command == "verify" else [texts]
        return _native.command(["kc", given.command, *files, *more], again)


def make_new(folder):
    """A new folder, or an empty one; the process ends where it can't be one."""
    try:
        os.makedirs(folder, exist_ok=True)
        taken = bool(os.listdir(folder))
    except OSError as error:
        sys.exit(f"error: {folder}: {error.strerror}")
    if taken:
        sys.exit(f"error: {folder} is not empty: kernels are recorded in a new folder")


def _import(given, record=None, check=False) -> dict:
    """Imports the package, however often a module of it ends the process."""
    package, path = given.package, [os.getcwd()]
    if os.path.isdir(package):
        whole = os.path.abspath(package)
        package, path = os.path.basename(whole), [os.path.dirname(whole)]
    crashed = []
    with tempfile.TemporaryDirectory(prefix="kc-import-") as folder:
        while True:
            skip = [*given.skip, *(one["module"] for one in crashed)]
            asked = Asked(package, path, folder, skip, record, check, getattr(given, "strict_warp", False), [given.run] * bool(given.run))
            words = [sys.executable, "-m", "kc._package_import", json.dumps(dataclasses.asdict(asked))]
            ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
            result = os.path.join(folder, "result.json")
            if os.path.exists(result):
                with open(result, encoding="utf-8") as file:
                    found = json.load(file)
                found["failed"] += crashed
                return found
            module = _last_line(os.path.join(folder, "progress"))
            if module in (None, package) or module in skip or len(crashed) == _MOST_CRASHES:
                sys.exit(f"error: {package} can't be imported: {_end_of(ended)}")
            crashed.append({"module": module, "why": f"its import ended the process ({_end_of(ended)})"})


def _last_line(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read() or None
    except OSError:
        return None


def _end_of(ended) -> str:
    if ended.returncode < 0:
        return f"signal {-ended.returncode}"
    lines = ended.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {ended.returncode}"


def _say_failed(found):
    for reason, modules in _grouped(found["failed"]).items():
        first, more = modules[0], len(modules) - 1
        others = f" and {_counted(more, 'module')} more" if more else ""
        print(f"not imported: {first}{others}: {reason}", file=sys.stderr)


def _grouped(failed) -> dict:
    groups = collections.defaultdict(list)
    for one in failed:
        groups[one["why"]].append(one["module"])
    return groups


def _counted(count, noun) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# Check


def _check(given) -> int:
    if given.record:
        make_new(given.record)
    found = _import(given, given.record, check=True)
    _say_failed(found)
    definitions = _definitions(given.package, found)
    shown, errors = set(), 0
    for kernel in [*found["kernels"], *(one for one in definitions if "findings" in one)]:
        for finding in kernel.get("findings", []):
            place = finding["code"], finding["file"], finding["line"], finding["message"]
            wanted = finding["level"] == "error" or given.warnings and finding["level"] == "warning"
            if wanted and place not in shown:
                shown.add(place)
                print(finding["text"], end="\n\n")
                errors += finding["level"] == "error"
    states = collections.Counter(one["state"] for one in definitions)
    if given.report:
        from .__main__ import _written

        _written(given.report, json.dumps({"failed": found["failed"], "kernels": definitions}, indent=1) + "\n")
    print(_summary(given.package, definitions, states))
    return 1 if errors else 0


def _summary(package, definitions, states) -> str:
    fine = states["compiles"] + states["compiles by reading"]
    parts = [f"{fine} compile"]
    if states["compiles by reading"]:
        parts[0] += f" ({states['compiles by reading']} of them by reading)"
    parts += [f"{states['error']} have errors"] * bool(states["error"])
    parts += [f"{states['types unknown']} have no types before they are launched"] * bool(states["types unknown"])
    parts += [f"{states['only Warp']} use what only Warp has"] * bool(states["only Warp"])
    return f"{package}: {_counted(len(definitions), 'kernel')}: {', '.join(parts)}"


def _definitions(package, found) -> list[dict]:
    """Each kernel that the package's files define, and what is known of it: of all its overloads and copies, or by reading."""
    met = collections.defaultdict(list)
    for kernel in found["kernels"]:
        met[os.path.realpath(kernel["file"])].append(kernel)
    made = []
    for path in _files(package):
        own, unmet, doubtful = met.get(os.path.realpath(path), []), [], []
        for name, first, last in _kernels_in(path):
            copies = [kernel for kernel in own if first <= kernel["line"] <= last]
            place = {"kernel": name, "file": path, "line": first, "last": last}
            if not copies:
                unmet.append(place)
            elif (known := _state(copies))["state"] in ("only Warp", "types unknown"):
                doubtful.append(place | known)
            else:
                made.append(place | known)
        if not unmet and not doubtful:
            continue
        # Launches in the file may tell the types, and kc reads what can't be recorded: native snippets.
        read = _by_reading(path, [*unmet, *doubtful])
        made += read[: len(unmet)]
        for known, other in zip(doubtful, read[len(unmet) :]):
            made.append(other if other["state"] == "compiles by reading" else known)
    return made


def _state(copies) -> dict:
    """What is true of a kernel by its copies: one that is wrong counts."""
    if any(finding["level"] == "error" for kernel in copies for finding in kernel.get("findings", [])):
        return {"state": "error"}
    refused = [kernel["why"] for kernel in copies if "why" in kernel]
    if refused:
        return {"state": "only Warp", "why": refused[0]}
    if all(kernel.get("generic") for kernel in copies):
        return {"state": "types unknown"}
    return {"state": "compiles"}


def _by_reading(path, kernels) -> list[dict]:
    """Kernels that the import does not make, as `kc check` reads them."""
    from ._check import check

    try:
        findings = check(path)
    except Exception as error:
        return [one | {"state": "error", "why": str(error)} for one in kernels]
    made = []
    for one in kernels:
        own = [found for found in findings if found.filename == path and found.lineno and one["line"] <= found.lineno <= one["last"]]
        # Values or types that only a running program knows.
        unknown = [found for found in own if found.code in ("W0504", "W0505")]
        errors = [found for found in own if found.level == "error"]
        state = "error" if errors else "types unknown" if unknown else "compiles by reading"
        shown = [{"level": "error", "code": f.code, "message": f.message, "file": f.filename, "line": f.lineno, "text": f.text} for f in errors]
        made.append(one | {"state": state, "findings": shown})
    return made


def _files(package):
    """The Python files of a package, in order."""
    if os.path.isdir(package):
        folders = [os.path.abspath(package)]
    else:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            return [spec.origin] if spec is not None and spec.origin else []
        folders = list(spec.submodule_search_locations)
    found = []
    for folder in folders:
        for at, names, files in os.walk(folder):
            names.sort()
            found += [os.path.join(at, name) for name in sorted(files) if name.endswith(".py")]
    return found


def _kernels_in(path):
    """The kernels that a file defines: name, first line (of the decorators), last line."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(_is_kernel, node.decorator_list)):
            found.append((node.name, min(one.lineno for one in node.decorator_list), node.end_lineno))
    return sorted(found, key=lambda one: one[1])


def _is_kernel(decorator) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    return getattr(decorator, "attr", getattr(decorator, "id", None)) == "kernel"
