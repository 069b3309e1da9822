"""What do type checkers know of modules other than `kc` itself? Their public names, with the parameters that the code has.

`stubs.py` writes it. Types are those that the code has as annotations; the others are `Any`.
"""

import ast
import enum
import importlib
import inspect
import textwrap
import types

#: The modules, and what of each a hand has written: in place of what is found there.
MODULES = (
    "kc.bench", "kc.warp", "kc.warp._linear", "kc.warp.autograd", "kc.warp.geometry", "kc.warp.optim", "kc.warp.render", "kc.warp.sparse", "kc.warp.types", "kc.warp.utils",
)

#: Modules that a program imports itself: a package has them once anybody did.
ALONE = ("autograd", "render", "sparse")

#: Types of annotations that a stub may have: others are `Any`.
PLAIN = {"int", "float", "bool", "str", "bytes", "None", "list", "dict", "tuple"}
WRITTEN = {"list": "list[Any]", "dict": "dict[str, Any]", "tuple": "tuple[Any, ...]"}

ARRAY = '''
_T = TypeVar("_T")

class array(_kc.array[_E]):
    def __init__(
        self, data: Any = ..., dtype: Any = ..., shape: Any = ..., *, length: int = 0, ptr: Any = ..., device: Any = ..., pinned: bool = ...,
        copy: bool = ..., ndim: int | None = ..., grad: Any = ..., requires_grad: bool = ...,
    ) -> None: ...
    grad: Any
    @property
    def requires_grad(self) -> bool: ...
    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None: ...
    @property
    def device(self) -> Any: ...
    @property
    def ptr(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def is_contiguous(self) -> bool: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __pow__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def reshape(self, *shape: Any) -> array[_E]: ...
    def flatten(self) -> array[_E]: ...
    def transpose(self, axes: Any = ...) -> array[_E]: ...
    def view(self, dtype: Any) -> array[Any]: ...
    def contiguous(self) -> array[_E]: ...
    def list(self) -> Any: ...
    def to(self, device: Any, requires_grad: bool | None = ...) -> array[_E]: ...

class array1d(array[_E]): ...
class array2d(array[_E]): ...
class array3d(array[_E]): ...
class array4d(array[_E]): ...

@_overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@_overload
def kernel(
    *, enable_backward: bool | None = ..., module_options: dict[str, Any] | None = ..., strict: bool = ..., **options: Any,
) -> Callable[[Callable[..., Any]], Kernel]: ...
@_overload
def func(function: _T, /) -> _T: ...
@_overload
def func(*, name: str | None = ..., module: Any = ..., inline: bool | None = ...) -> Callable[[_T], _T]: ...
@_overload
def struct(cls: type[_T], /) -> type[_T]: ...
@_overload
def struct(*, module: Any = ...) -> Callable[[type[_T]], type[_T]]: ...

class Tape:
    gradients: Any
    def __init__(self) -> None: ...
    def __enter__(self) -> Tape: ...
    def __exit__(self, *_: object) -> None: ...
    def __len__(self) -> int: ...
    def reset(self) -> None: ...
    def zero(self) -> None: ...
    def assign(self, array: Any, source: Any) -> None: ...
    def backward(self, loss: Any = ..., grads: Any = ...) -> None: ...
    def gradient(self, array: Any, *, allow_unused: bool | None = ...) -> Any: ...
    def record_func(self, backward: Callable[[], Any], arrays: Iterable[Any]) -> None: ...
'''
BY_HAND = {"kc.warp": ("array", "array1d", "array2d", "array3d", "array4d", "func", "kernel", "struct", "Tape")}

HEAD = '''"""Written by python/stubs.py."""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any
from typing import overload as _overload

from typing_extensions import TypeVar

import kc as _kc
'''


def text_of(name, of_kc) -> str:
    """The stub of a module. `of_kc`: the names that the stub of `kc` has."""
    module = importlib.import_module(name)
    lines, by_hand, taken = [], BY_HAND.get(name, ()), []
    later = getattr(module, "_LATER", {})
    names = getattr(module, "__all__", None) or [one for one in vars(module) if not one.startswith("_")]
    for one in sorted(names):
        value = getattr(module, one)
        if one in later or isinstance(value, types.ModuleType) and one in ALONE:
            continue
        if one in by_hand or isinstance(value, types.ModuleType) and not value.__name__.startswith("kc.warp"):
            continue
        callable_ = inspect.isroutine(value) or isinstance(value, type)
        if callable_ and not hasattr(module, "__all__") and not hasattr(module, "__path__") and value.__module__ != name:
            # What a module imports for itself.
            continue
        if isinstance(value, types.ModuleType):
            folder, _, word = value.__name__.rpartition(".")
            lines += [f"from {folder} import {word} as {word}", *([f"{one} = {word}"] if one != word else [])]
        elif not inspect.isroutine(value) and not isinstance(value, type):
            lines.append(f"{one}: {constant(value)}")
        elif getattr(value, "__module__", "").startswith("kc") and getattr(value, "__module__", "") not in FOREIGN:
            lines += written(one, value)
        else:
            taken.append(one)
    lines += [f"from {name} import {one} as {one}" if one == place else f"{one} = {place}" for one, place in later.items()]
    head = HEAD
    if name == "kc.warp":
        # The kernel language: what `kc` has and this module has not said otherwise.
        others = sorted(one for one in of_kc if one not in names and not one.startswith("_") and one not in by_hand and one not in module._OF_KC)
        again = sorted({*others, *(one for one in taken if one in of_kc)})
        head += "".join(f"from kc import {one} as {one}\n" for one in again)
        lines = [ARRAY, *[line for line in lines if not any(line.startswith(f"def {one}(") for one in again)]]
    return unused(head + '\n_E = TypeVar("_E", default=Any)\n\n' + "\n".join(lines) + "\n")


#: What stands in the stub of `kc`, and is the same here.
FOREIGN = {"kc._kernel", "kc._types", "kc._textures"}


def unused(text) -> str:
    """The text without imports of names that it does not use."""
    found = []
    body = "\n".join(line for line in text.splitlines() if not line.startswith("from ") and not line.startswith("import "))
    for line in text.splitlines():
        words = line.replace(",", " ").split()
        if line.startswith(("from collections", "from enum", "from typing", "import kc")):
            if " as " in line:
                if f"{words[-1]}" not in body:
                    continue
            else:
                used = [word for word in words[3:] if word in body]
                if not used:
                    continue
                line = f"{' '.join(words[:3])} {', '.join(used)}"
        found.append(line)
    text = "\n".join(found) + "\n"
    return text if "_E]" in text else text.replace('_E = TypeVar("_E", default=Any)\n\n', "").replace("from typing_extensions import TypeVar\n\n", "")


def constant(value) -> str:
    return type(value).__name__ if type(value).__name__ in PLAIN and value is not None else "Any"


def annotation(given) -> str:
    """An annotation of the code, if a stub may have it."""
    word = given if isinstance(given, str) else getattr(given, "__name__", "None" if given is None else "")
    parts = [part.strip() for part in word.split("|")]
    if given is inspect.Parameter.empty or any(part not in PLAIN for part in parts):
        return "Any"
    return " | ".join(WRITTEN.get(part, part) for part in parts)


def parameters(signature, skip=0) -> str:
    found, starred, seen = [], False, 0
    for one in list(signature.parameters.values())[skip:]:
        kind = one.kind.name
        if kind == "KEYWORD_ONLY" and not starred:
            found.append("*")
            starred = True
        if kind == "POSITIONAL_ONLY":
            seen = len(found) + 1
        starred = starred or kind == "VAR_POSITIONAL"
        star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(kind, "")
        found.append(f"{star}{one.name}: {annotation(one.annotation)}" + (" = ..." if one.default is not one.empty and not star else ""))
    if seen:
        found.insert(seen, "/")
    return ", ".join(found)


def gives(function) -> str:
    """The type of what a function gives: None where it says nothing, and returns nothing."""
    given = inspect.signature(function).return_annotation
    if given is not inspect.Signature.empty:
        return annotation(given)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return "Any"
    inner = [node for node in ast.walk(tree) if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom))]
    return "Any" if any(getattr(node, "value", None) is not None for node in inner) else "None"


def documented(value, indent) -> list:
    doc = inspect.cleandoc(value.__doc__ or "")
    if not doc:
        return []
    lines = ['"""' + doc.replace("\\", "\\\\").splitlines()[0]] + doc.replace("\\", "\\\\").splitlines()[1:]
    return [f"{indent}{line}".rstrip() for line in (lines if len(lines) > 1 else lines)][:-1] + [f'{indent}{lines[-1]}"""']


def written(name, value) -> list:
    """The declaration of a function or a class."""
    if not isinstance(value, type):
        if not hasattr(value, "__code__"):
            return [f"def {name}(*arguments: Any, **named: Any) -> Any: ..."]
        lines = [f"def {name}({parameters(inspect.signature(value))}) -> {gives(value)}:"]
        return [*lines, *documented(value, "    "), "    ..."]
    if issubclass(value, enum.IntEnum):
        return [f"class {name}(IntEnum):", *(f"    {one.name} = {one.value}" for one in value)]
    lines = [f"class {name}:"]
    lines += documented(value, "    ")
    known = {}
    for base in reversed(value.__mro__):
        if base.__module__.startswith("kc"):
            known.update(vars(base))
    if "__init__" not in known:
        lines.append("    def __init__(self, *arguments: Any, **named: Any) -> None: ...")
    for one, item in known.items():
        if one.startswith("_") and one not in SPECIAL:
            continue
        if isinstance(item, property):
            lines += ["    @property", f"    def {one}(self) -> {gives(item.fget) if item.fget else 'Any'}: ..."]
            if item.fset:
                lines += [f"    @{one}.setter", f"    def {one}(self, value: Any) -> None: ..."]
        elif isinstance(item, (staticmethod, classmethod)):
            kind, skip = ("staticmethod", "") if isinstance(item, staticmethod) else ("classmethod", "cls")
            inner = parameters(inspect.signature(item.__func__), skip == "cls")
            lines += [f"    @{kind}", f"    def {one}({', '.join(part for part in (skip, inner) if part)}) -> Any: ..."]
        elif isinstance(item, types.FunctionType):
            inner = parameters(inspect.signature(item), 1)
            back = "None" if one == "__init__" else gives(item)
            back = name if one == "__enter__" else back
            lines.append(f"    def {one}(self{', ' if inner else ''}{inner}) -> {back}: ...")
        elif not isinstance(item, type):
            lines.append(f"    {one}: {constant(item)}")
    if any(isinstance(item, types.FunctionType) and one == "__init__" for one, item in known.items()):
        lines += attributes(value, known)
    return [*lines, *(["    ..."] if len(lines) == 1 else []), ""]


def attributes(value, known) -> list:
    """What `__init__` sets."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(known["__init__"])))
    except (OSError, TypeError, SyntaxError):
        return []
    names = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return [f"    {name}: Any" for name in dict.fromkeys(names) if not name.startswith("_") and name not in known]


SPECIAL = {
    "__init__", "__enter__", "__exit__", "__len__", "__call__", "__getitem__", "__setitem__", "__iter__", "__add__", "__radd__", "__iadd__",
    "__sub__", "__rsub__", "__isub__", "__mul__", "__rmul__", "__imul__", "__matmul__", "__rmatmul__", "__imatmul__", "__truediv__", "__neg__",
}
