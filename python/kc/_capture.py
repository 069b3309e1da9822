"""From a Python function to a source text that stands alone.

kc compiles source text and runs no Python. What a function uses from around it (constants, types, other functions) is looked
up here, as Python would when it is called, and handed over as small files that the text imports from. Lines and columns
stay those of the user's file.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import math
import os
import re
import sys
import time
import types
import typing

from ._errors import CompileError, SourceError

_ALIAS = "_kc_warp"
#: When this program began, a little before: files have times of their own.
_BEGUN = time.time() - 2


class Source:
    """The text of a function as it was when it was decorated."""

    def __init__(self, function):
        code = function.__code__
        self.filename = code.co_filename
        if function.__name__ == "<lambda>":
            raise SourceError("a lambda cannot be a kernel or a function of one: define it with `def`", code="E0901")
        self.lines, tree = _file(function)
        found = [
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and node.name == code.co_name
            and code.co_firstlineno in (node.lineno, *(decorator.lineno for decorator in node.decorator_list))
        ]
        names = [argument.arg for argument in found[0].args.args] if found else None
        if names != list(code.co_varnames[: code.co_argcount]):
            raise _no_source(function, "it is not where Python says: the file was changed since it was loaded")
        self.node = found[0]
        #: What tells overloads apart.
        self.parameters = [argument.annotation and ast.dump(argument.annotation) for argument in self.node.args.args]
        #: Whether a parameter may have any type.
        self.is_generic = any(_names_any(argument.annotation) for argument in self.node.args.args)
        self.uses = _Uses()
        self.uses.function(self.node)
        self.around = self._around(namespace(function))

    def _around(self, names) -> dict:
        """Names of annotations and defaults that are local where the function is decorated: no cell holds them."""
        missing = self.uses.outside - set(names) - set(dir(builtins))
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "kc":
            frame = frame.f_back
        if frame is not None and missing:
            return {name: frame.f_locals[name] for name in missing if name in frame.f_locals}
        return {}


def unquoted(annotation):
    """The annotation that a text stands for."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            pass
    return annotation


def _names_any(annotation) -> bool:
    nodes = () if annotation is None else ast.walk(unquoted(annotation))
    return any(_ANY & {getattr(node, "id", None), getattr(node, "attr", None)} for node in nodes)


#: What stands for several types: `Any`, and families of scalars.
_ANY = {"Any", "Float", "Int", "Scalar"}


def _no_source(function, why: str) -> SourceError:
    text = (
        f"the source of `{function.__qualname__}` cannot be read: {why}\n"
        "  = help: define it in a file or a notebook, or compile its text: kc.compile(text)"
    )
    return SourceError(text, code="E0901", message=text.splitlines()[0], filename=function.__code__.co_filename)


def _file(function):
    # They take longer to import than all of kc.
    import linecache

    code = function.__code__
    lines = _lines(function, linecache)
    if not lines and code.co_filename == "<string>" and function.__module__ == "__main__":
        given = getattr(sys, "orig_argv", [])
        if "-c" in given[:-1]:
            lines = given[given.index("-c") + 1].splitlines(keepends=True)
    if not lines:
        import inspect

        try:
            lines, _ = inspect.findsource(function)
        except (OSError, TypeError):
            raise _no_source(function, f"there is no file of it ({code.co_filename})") from None
    try:
        return lines, _parsed("".join(lines))
    except SyntaxError:
        raise _no_source(function, "the file was changed since it was loaded, and is no Python now") from None


def _lines(function, linecache) -> list:
    """The file's lines as they were when the function was loaded, where that can be known."""
    code = function.__code__
    known = linecache.cache.get(code.co_filename)
    before = known[2] if known and len(known) == 4 else None
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        since = os.stat(code.co_filename).st_mtime >= _BEGUN
    except OSError:
        since = False
    if not since:
        return lines
    # It was written while this program ran. What was loaded of it compiles to the code that is there.
    for text in (lines, before):
        if text and _compiles_to("".join(text), code):
            return text
    raise _no_source(function, "it is not where Python says: the file was changed since it was loaded")


def _compiles_to(text, code) -> bool:
    # pytest writes assertions anew.
    if any(name.startswith("@py_") for name in code.co_varnames):
        return True
    try:
        left = [compile(text, code.co_filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    while left:
        one = left.pop()
        if one == code:
            return True
        left.extend(inner for inner in one.co_consts if isinstance(inner, types.CodeType))
    return False


@functools.lru_cache(maxsize=16)
def _parsed(text: str):
    return ast.parse(text)


def namespace(function) -> dict:
    """What a function's names mean, without its own."""
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            pass
    return {**function.__globals__, **cells}


class Program:
    """The files that come of one function."""

    def __init__(self, source: Source, function, role: str, types=()):
        #: Of a generic kernel, the types of its parameters for which it is compiled.
        self.types = dict(types)
        self.given = []
        self.made = {}
        self.count = 0
        folder = os.path.dirname(os.path.abspath(source.filename)) if source.filename else os.getcwd()
        self.root = folder
        self.path = source.filename
        function._kc_source = self.source = source
        self.text = self._functions([(role, function)])

    # Files

    def _module(self, stem: str):
        """A new module: its name, and the path of its file."""
        self.count += 1
        name = f"_kc{self.count}_{stem}"
        return name, os.path.join(self.root, name + ".py")

    def _functions(self, group) -> str:
        """The text of functions at their own lines, each under its decorator, then imports of what they use."""
        text, imports, values = [], [f"import warp as {_ALIAS}"], []
        uses, inside = {}, ""
        for role, function in sorted(group, key=lambda member: member[1]._kc_source.node.lineno):
            source = function._kc_source
            names = {**source.around, **namespace(function)}
            types = self.types if source is self.source else {}
            lines, aliases = self._lines(source, names, types, imports, _name_of_language(source, names))
            indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
            head = [f"{indent}@{_ALIAS}.{role}"]
            if indent and indent != inside:
                head.insert(0, "if True:")
            inside = indent
            text += [""] * (source.node.lineno - 1 - len(head) - len(text)) + head + lines
            for name, parts in source.uses.names.items():
                own = name == source.node.name and name not in function.__code__.co_freevars
                if name in names and not (own or name in aliases or getattr(_target(names[name]), "_kc_group", None) is group):
                    self._use(uses, name, names[name], parts, function)
        for name, (value, parts, function) in uses.items():
            self._bind(name, value, parts, imports, values, function)
        if values:
            module, path = self._module("values")
            self.given.append((path, f"<names of {group[-1][1].__qualname__}>", self._values(values)))
            imports += [f"from {module} import {name}" for name, _ in values]
        return "\n".join(text + imports) + "\n"

    def _use(self, uses, name, value, parts, function):
        """A name that a function uses: of several functions in one text, all mean the same by it."""
        known, before, _ = uses.setdefault(name, (value, {}, function))
        if known is not value and (literal(known) is None or literal(known) != literal(value)):
            what = f"`{name}` is one thing in one overload or rule of `{function.__qualname__}`, and another in another"
            raise CompileError(
                f"error[E0502]: {what}\n  = help: give them two names", code="E0502", message=what,
                filename=function.__code__.co_filename, lineno=function.__code__.co_firstlineno,
            )
        left = [(before, parts)]
        while left:
            into, other = left.pop()
            left += [(into.setdefault(part, {}), below) for part, below in other.items()]

    def _lines(self, source: Source, names, types, imports, own):
        """The lines of a function from `def` on, and the names in its annotations that gave way."""
        node = source.node
        first, last = node.lineno, node.end_lineno
        lines = [line.rstrip("\r\n") for line in source.lines[first - 1 : last]]
        _unquote(node, lines, first)
        aliases = self._aliases(node, names, types, lines, first, imports, own)
        if node.end_col_offset is not None:
            lines[-1] = lines[-1].encode()[: node.end_col_offset].decode()
        return lines, aliases

    def _aliases(self, node, names, types, lines, first, imports, own) -> set:
        """Names that stand for array types give way to the types in annotations: kc has no names for these. So do annotations
        of generic kernels, to the types that they have. ``own`` is how the text calls the kernel language's module.
        """
        found = set()
        annotated = [argument for argument in ast.walk(node.args) if getattr(argument, "annotation", None) is not None]
        # From the end: what stands before stays where it is.
        for argument in sorted(annotated, key=lambda a: (a.annotation.lineno, a.annotation.col_offset), reverse=True):
            annotation = argument.annotation
            kind = types.get(argument.arg)
            if kind is None:
                if not isinstance(annotation, ast.Name) or not _is_array(names.get(annotation.id)):
                    continue
                kind = names[annotation.id]
                found.add(annotation.id)
            text = self._type(kind, imports).replace("wp.", f"{own}.")
            start, end = annotation.lineno - first, annotation.end_lineno - first
            before = lines[start].encode()[: annotation.col_offset].decode()
            after = lines[end].encode()[annotation.end_col_offset :].decode()
            lines[start : end + 1] = [before + text + after] + [""] * (end - start)
        return found

    def _values(self, values) -> str:
        return "\n".join(["import warp as wp", *(f"{name} = {text}" for name, text in values)]) + "\n"

    # Names

    def _bind(self, name, value, parts, imports, values, function):
        """Gives a name its meaning: a line of imports, or a value."""
        kind = type(value)
        if isinstance(value, types.ModuleType):
            module = value.__name__
            if module in ("kc", "kc.warp", "kc.types") or module == "warp" or module.startswith("warp."):
                word = "warp.types" if module.endswith(".types") else "warp"
                imports.append(f"import {word} as {name}")
            elif module in ("math", "numpy", "typing"):
                imports.append(f"import {module} as {name}")
            else:
                self._space(name, value, parts, imports, function)
            return
        text = literal(value)
        if text is not None:
            if isinstance(value, enum.Enum) and parts:
                self._space(name, value, parts, imports, function)
            else:
                values.append((name, text))
            return
        target = _target(value)
        if target is not None:
            imports.append(f"from {self._file_of(target)} import {_name_of(target)} as {name}")
            return
        word = getattr(value, "_kc_word", None) or _array_word(value)
        if isinstance(word, str):
            imports.append(f"from warp import {word} as {name}")
            return
        if value is typing.Any:
            imports.append(f"from typing import Any as {name}")
            return
        if isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math":
            imports.append(f"from math import {value.__name__} as {name}")
            return
        if kind.__name__ == "Function" and kind.__module__.split(".")[0] == "warp":
            imports.append(f"from warp import {value.key} as {name}")
            return
        if parts and not isinstance(value, types.FunctionType):
            self._space(name, value, parts, imports, function)
            return
        what = f"`{name}` is a value of type `{kind.__name__}`, which kernels do not know (in `{function.__qualname__}`)"
        advice = "make it a function of the kernel language, with @kc.func" if callable(value) else "pass it to the kernel as an argument"
        raise CompileError(
            f"error[E0502]: {what}\n  = help: {advice}", code="E0502", message=what,
            filename=function.__code__.co_filename, lineno=function.__code__.co_firstlineno,
        )

    def _space(self, name, value, parts, imports, function):
        """A module, a class or an object whose attributes are used: a file that holds these."""
        module, path = self._module(name)
        inner, values = [], []
        for part, below in parts.items():
            try:
                item = getattr(value, part)
            except AttributeError:
                # kc says that there is no such name, and where it is used.
                continue
            self._bind(part, item, below, inner, values, function)
        text = "\n".join([*inner, self._values(values)])
        self.given.append((path, f"<{name} of {function.__qualname__}>", text))
        imports.append(f"import {module} as {name}")

    def _file_of(self, target) -> str:
        """The module that holds a function or a struct."""
        known = self.made.get(id(target))
        if known is not None:
            return known[0]
        module, path = self._module(_name_of(target))
        # Kept with its object: an id is free again once its object is gone.
        self.made[id(target)] = (module, target)
        if isinstance(target, type):
            text, shown = self._struct(target), f"<struct {target.__name__}>"
        else:
            if getattr(target, "_kc_source", None) is None:
                target._kc_source = Source(target)
            text, shown = self._functions(getattr(target, "_kc_group", [("func", target)])), target._kc_source.filename
        self.given.append((path, shown, text))
        return module

    def _struct(self, cls) -> str:
        lines, imports = [f"import warp as {_ALIAS}", f"@{_ALIAS}.struct", f"class {cls.__name__}:"], []
        for field, kind in _fields_of(cls).items():
            lines.append(f"    {field}: {self._type(kind, imports)}")
        if len(lines) == 3:
            lines.append("    pass")
        return "\n".join(lines + ["import warp as wp"] + imports) + "\n"

    def _type(self, kind, imports) -> str:
        """The text of a field's type."""
        text = literal(kind)
        if text is not None:
            return text
        if _is_array(kind):
            return f"wp.array(dtype={self._type(kind.dtype, imports)}, ndim={kind.ndim})"
        target = _target(kind)
        if isinstance(target, type):
            imports.append(f"from {self._file_of(target)} import {target.__name__}")
            return target.__name__
        raise CompileError(f"error[E0310]: {kind!r} is no type of the kernel language", code="E0310")


def _name_of_language(source, names) -> str:
    """The program's own name for the module of the kernel language, where a function uses one."""
    return next((name for name in source.uses.names if _is_language(names.get(name))), _ALIAS)


def _is_language(value) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__ in ("kc", "kc.warp", "warp")


def _array_word(value):
    """The word for a class or function that makes array types, of kc or Warp: annotations may call it by another name."""
    if not isinstance(value, (type, types.FunctionType)) or value.__module__.split(".")[0] not in ("kc", "warp"):
        return None
    return value.__name__ if re.fullmatch(r"(indexed)?array([1-4]d)?", value.__name__) else None


def _is_array(value) -> bool:
    kind = type(value)
    ours = kind.__module__ == "kc._types" and kind.__name__ == "ArrayType"
    return ours or kind.__module__.split(".")[0] == "warp" and kind.__name__ in ("array", "_ArrayAnnotation")


def _name_of(target) -> str:
    return target.__name__


def _target(value):
    """The function or the struct that a value stands for."""
    from . import _native

    inner = getattr(value, "_kc_function", None)
    if isinstance(inner, types.FunctionType):
        return inner
    if isinstance(value, _native.Kernel):
        return None
    if isinstance(value, type) and hasattr(value, "_kc_class"):
        return value
    # Warp's own objects.
    inner = getattr(value, "func", None)
    if type(value).__name__ == "Function" and isinstance(inner, types.FunctionType):
        return inner
    if type(value).__name__ == "Struct" and isinstance(getattr(value, "cls", None), type):
        return value.cls
    return None


def _fields_of(cls) -> dict:
    if hasattr(cls, "_kc_class"):
        return cls._fields()
    import inspect

    return inspect.get_annotations(cls, eval_str=True)


def literal(value):
    """The text of a value or a type in the kernel language. None: it has none."""
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if value is float or value is int or value is bool:
        return value.__name__
    if isinstance(value, enum.Enum):
        return literal(value.value)
    if type(value) is int:
        return repr(value)
    if type(value) is float:
        return _float(value)
    if isinstance(value, int) and type(value).__module__ == "builtins":
        return repr(int(value))
    if isinstance(value, (tuple, list)):
        items = [literal(item) for item in value]
        if any(item is None for item in items) or not items:
            return None
        inner = ", ".join(items) + ("," if len(items) == 1 else "")
        return f"({inner})"
    kind = type(value)
    module = kind.__module__.split(".")[0]
    if module == "numpy" and kind.__name__ in _NUMBERS:
        number = value.item()
        if isinstance(number, bool):
            return repr(number)
        text = _float(number) if isinstance(number, float) else repr(number)
        return f"wp.{kind.__name__.rstrip('_')}({text})"
    source = getattr(value, "_source", None)
    if isinstance(source, str):
        if isinstance(value, type):
            return source
        numbers = ", ".join(_float(float(x)) if "float" in value._scalar.__name__ else repr(x) for x in value.ravel().tolist())
        return f"{source}({numbers})"
    if isinstance(value, type) and value.__module__ == "numpy" and value.__name__ in _NUMBERS:
        return f"wp.{value.__name__.rstrip('_')}"
    if kind.__name__ == "Scalar" and kind.__module__ == "kc._types":
        return "bool" if value.__name__ == "bool" else f"wp.{value.__name__}"
    if isinstance(value, type) and value.__module__.startswith("warp."):
        return _warp_type(value)
    return None


_NUMBERS = (
    "bool_ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longlong ulonglong".split()
)


def _warp_type(value):
    scalar = getattr(value, "_wp_scalar_type_", None)
    if scalar is None:
        return f"wp.{value.__name__}" if value.__name__ in _NUMBERS or value.__name__ == "bfloat16" else None
    if getattr(value, "_wp_generic_type_str_", "") in ("quat_t", "transform_t"):
        return None
    shape = value._shape_
    name = getattr(scalar, "__name__", "float32")
    name = {"float": "float32", "int": "int32"}.get(name, name)
    if len(shape) == 1:
        return f"wp.types.vector(length={shape[0]}, dtype=wp.{name})"
    return f"wp.types.matrix(shape={tuple(shape)}, dtype=wp.{name})"


def _float(x: float) -> str:
    if math.isnan(x):
        return "wp.nan"
    if math.isinf(x):
        return "wp.inf" if x > 0 else "-wp.inf"
    return repr(x)


class _Uses(ast.NodeVisitor):
    """The names that a function takes from around it, with the attributes that are used of each."""

    def __init__(self):
        self.names = {}
        self.local = set()
        #: Those of annotations and defaults.
        self.outside = set()
        self.annotating = False

    def function(self, node):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.local = {argument.arg for argument in every}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
                self.local.add(inner.id)
        outside = self.local
        self.annotating = True
        # Annotations and defaults are of the scope around.
        self.local = set()
        for argument in every:
            if argument.annotation is not None:
                self.visit(argument.annotation)
        for default in [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]:
            self.visit(default)
        if node.returns is not None:
            self.visit(node.returns)
        self.annotating = False
        self.local, self.outside = outside, set(self.names)
        for statement in node.body:
            self.visit(statement)

    def visit_Constant(self, node):
        # An annotation as text.
        if isinstance(node.value, str) and self.annotating:
            try:
                self.visit(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                pass

    def visit_Name(self, node):
        if node.id not in self.local:
            self.names.setdefault(node.id, {})

    def visit_Attribute(self, node):
        chain, base = [node.attr], node.value
        while isinstance(base, ast.Attribute):
            chain.append(base.attr)
            base = base.value
        if isinstance(base, ast.Name) and base.id not in self.local:
            at = self.names.setdefault(base.id, {})
            for part in reversed(chain):
                at = at.setdefault(part, {})
        else:
            self.visit(base)


def _unquote(node, lines, first):
    """Takes the quotes from annotations that are texts, and leaves the columns."""
    annotations = [argument.annotation for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
    for annotation in [*annotations, node.returns]:
        if not (isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)):
            continue
        if annotation.lineno != annotation.end_lineno:
            continue
        at = annotation.lineno - first
        line = lines[at].encode()
        start, end = annotation.col_offset, annotation.end_col_offset
        text = annotation.value.encode()
        if len(text) + 2 == end - start:
            lines[at] = (line[:start] + b" " + text + b" " + line[end:]).decode()
