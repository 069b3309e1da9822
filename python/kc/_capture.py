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
import sys
import time
import types
import typing

from ._errors import CompileError, SourceError
from ._signature import (
    alike, annotation_of, array_word, defaults_of, evaluated, is_array, is_literal, parameters, slots, unquote, unquoted,
)

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
        names = [argument.arg for argument in (*found[0].args.posonlyargs, *found[0].args.args)] if found else None
        if names != list(code.co_varnames[: code.co_argcount]):
            raise _no_source(function, "it is not where Python says: the file was changed since it was loaded")
        self.node = found[0]
        #: What tells overloads apart.
        self.parameters = [argument.annotation and ast.dump(argument.annotation) for argument in parameters(self.node)]
        #: Whether a parameter may have any type, as those without an annotation may.
        self.is_generic = any(argument.annotation is None or _names_any(argument.annotation) for argument in parameters(self.node))
        #: Annotations and defaults are of the scope around, and what they use is apart from what the body uses.
        self.slots = slots(self.node)
        self.uses, self.outside = _Uses(), _Uses()
        self.uses.body(self.node)
        for _, _, tree in self.slots:
            self.outside.visit(unquoted(tree))
        self.around = self._around(function)

    def _around(self, function) -> dict:
        """Names of annotations and defaults that are local where the function is defined, or decorated: no cell holds them."""
        names = set(self.outside.names) - set(function.__code__.co_freevars)
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "kc":
            frame = frame.f_back
        if frame is None:
            return {}
        if function.__code__ not in frame.f_code.co_consts:
            names -= {*function.__globals__, *dir(builtins)}
        return {name: frame.f_locals[name] for name in names if name in frame.f_locals}

    def names_outside(self, function) -> dict:
        """What names of annotations and defaults mean."""
        return {**namespace(function), **self.around}

    def annotation(self, function, name, tree):
        """What an annotation stands for, as Python took it."""
        return annotation_of(function, name, tree, self.names_outside(function))


def arguments_of(function) -> list:
    """The parameters of a kernel's function: names, and the types that their annotations stand for (`Any` without one)."""
    source = getattr(function, "_kc_source", None) or Source(function)
    kinds = [(one.arg, one.annotation) for one in parameters(source.node)]
    return [(name, typing.Any if tree is None else source.annotation(function, name, tree)) for name, tree in kinds]


def _names_any(annotation) -> bool:
    nodes = () if annotation is None else ast.walk(unquoted(annotation))
    return any(_ANY & {getattr(node, "id", None), getattr(node, "attr", None)} for node in nodes)


#: What represents several types: `Any`, and families of scalars.
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

    def __init__(self, source: Source, function, role: str, types=(), batch=None, threads=None):
        #: Of a generic kernel, the types of its parameters for which it is compiled.
        self.types = dict(types)
        #: What makes a launch of it one of a whole batch (``_batch``), or None.
        self.batch = batch
        self.given = []
        #: Where values were found that may change: a dict, a cell or an object, the name there, and the value.
        self.watched = []
        self.made = {}
        self.count = 0
        folder = os.path.dirname(os.path.abspath(source.filename)) if source.filename else os.getcwd()
        self.root = folder
        self.path = source.filename
        function._kc_source = self.source = source
        self.text = self._functions([(role, function)])
        if threads is not None:
            # The threads of a block that its shapes are for.
            self.text += f'{_ALIAS}.set_module_options({{"block_dim": {threads}}})\n'

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
            inside_names, types = namespace(function), self.types if source is self.source else {}
            names = {**source.around, **inside_names}
            own = next((name for name in (*source.uses.names, *source.outside.names) if _is_language(names.get(name))), _ALIAS)
            lines, left = self._lines(source, function, names, types, imports, own)
            if own != _ALIAS:
                self._use(uses, own, names[own], {}, function)
            indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
            head = [f"{indent}@{own}.{role}"]
            if indent and indent != inside:
                head.insert(0, "if True:")
            inside = indent
            text += [""] * (source.node.lineno - 1 - len(head) - len(text)) + head + lines
            for known, used in ((inside_names, source.uses), (names, left)):
                for name, parts in used.names.items():
                    own = name == source.node.name and name not in function.__code__.co_freevars
                    if name in known and not (own or getattr(_target(known[name]), "_kc_group", None) is group):
                        if known is inside_names:
                            self._watch(function, name, known[name])
                        self._use(uses, name, known[name], parts, function)
        for name, (value, parts, function) in uses.items():
            self._bind(name, value, parts, imports, values, function)
        if values:
            module, path = self._module("values")
            self.given.append((path, f"<names of {group[-1][1].__qualname__}>", self._values(values)))
            imports += [f"from {module} import {name}" for name, _ in values]
        return "\n".join(text + imports) + "\n"

    def _watch(self, function, name, value):
        """Notes where a name of a function's body has its meaning."""
        if isinstance(value, types.ModuleType) or hasattr(value, "_kc_word"):
            return
        free = function.__code__.co_freevars
        if name in free:
            self.watched.append((function.__closure__[free.index(name)], "cell_contents", value))
        elif name in function.__globals__:
            self.watched.append((function.__globals__, name, value))

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

    def _lines(self, source: Source, function, names, types, imports, own):
        """The lines of a function from `def` on, and what its annotations and defaults use that stay as they are."""
        node = source.node
        first, last = node.lineno, node.end_lineno
        lines = [line.rstrip("\r\n") for line in source.lines[first - 1 : last]]
        unquote(node, lines, first)
        lines[-1] = lines[-1].encode()[: node.end_col_offset].decode()
        if self.batch is not None and source is self.source:
            self.batch.edit(lines, first, lambda kind: self._type(kind, imports))
        left = _Uses()
        # From the end: what is before stays where it is.
        bare = [("bare", argument.arg, argument) for argument in parameters(node) if argument.annotation is None]
        for kind, name, tree in sorted([*source.slots, *bare], key=lambda slot: (slot[2].lineno, slot[2].col_offset), reverse=True):
            if kind == "bare":
                text = self._type(types[name], imports) if name in types else "_kc_any"
                if text == "_kc_any" and "from typing import Any as _kc_any" not in imports:
                    imports.append("from typing import Any as _kc_any")
            elif kind == "default":
                text = self._default(source, function, name, tree, names)
            elif name in types:
                text = self._type(types[name], imports)
            else:
                text = self._annotation(source, function, name, tree, names, imports)
            if text is None:
                left.visit(unquoted(tree))
                continue
            text = text.replace(f"{_ALIAS}.", f"{own}.")
            start, end = tree.lineno - first, tree.end_lineno - first
            if kind == "bare":
                text = f"{name}: {text}"
            before = lines[start].encode()[: tree.col_offset].decode()
            after = lines[end].encode()[tree.end_col_offset :].decode()
            lines[start : end + 1] = [before + text + after] + [""] * (end - start)
        return lines, left

    def _annotation(self, source, function, name, tree, names, imports):
        """The type in an annotation's place where the text does not say it: its names mean something else by now, or stand for array
        types, for which kc has no names. None: it does.
        """
        try:
            kind = source.annotation(function, name, tree)
        except Exception:
            # kc says what is wrong with it.
            return None
        if not (isinstance(unquoted(tree), (ast.Name, ast.Attribute)) and is_array(kind)):
            try:
                if alike(kind, evaluated(tree, names)):
                    return None
            except Exception:
                pass
        return self._type(kind, imports)

    def _default(self, source, function, name, tree, names):
        """The value in a default's place; None: the text says it."""
        value = defaults_of(function)[name]
        if is_literal(tree):
            return None
        text = literal(value)
        if text is None:
            try:
                known = alike(value, evaluated(tree, names))
            except Exception:
                known = False
            if not known:
                raise _unknown(f"the default of `{name}`", value, function)
        return text

    def _values(self, values) -> str:
        return "\n".join([f"import warp as {_ALIAS}", *(f"{name} = {text}" for name, text in values)]) + "\n"

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
        if getattr(value, "native_snippet", None) is not None:
            raise _unknown(f"`{name}`, in C++,", value, function)
        target = _target(value)
        if target is not None:
            imports.append(f"from {self._file_of(target)} import {_name_of(target)} as {name}")
            return
        word = getattr(value, "_kc_word", None) or array_word(value)
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
        raise _unknown(f"`{name}`", value, function)

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
            if not isinstance(item, types.ModuleType) and not hasattr(item, "_kc_word"):
                self.watched.append((value, part, item))
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
            group = getattr(target, "_kc_group", [("func", target)])
            for _, function in group:
                if getattr(function, "_kc_source", None) is None:
                    function._kc_source = Source(function)
            text, shown = self._functions(group), target._kc_source.filename
        self.given.append((path, shown, text))
        return module

    def _struct(self, cls) -> str:
        lines, imports = [f"import warp as {_ALIAS}", f"@{_ALIAS}.struct", f"class {cls.__name__}:"], []
        for field, kind in _fields_of(cls).items():
            lines.append(f"    {field}: {self._type(kind, imports)}")
        if len(lines) == 3:
            lines.append("    pass")
        return "\n".join(lines + imports) + "\n"

    def _type(self, kind, imports) -> str:
        """The text of a field's type."""
        text = literal(kind)
        if text is not None:
            return text
        if is_array(kind):
            return f"{_ALIAS}.array(dtype={self._type(kind.dtype, imports)}, ndim={kind.ndim})"
        target = _target(kind)
        if isinstance(target, type):
            # The module's name is one of a kind, other than the struct's.
            module = self._file_of(target)
            imports.append(f"from {module} import {target.__name__} as {module}")
            return module
        raise CompileError(f"error[E0310]: {kind!r} is no type of the kernel language", code="E0310")


def _unknown(what, value, function) -> CompileError:
    """The error for a value that a function takes from around it."""
    what = f"{what} is a value of type `{type(value).__name__}`, which kernels do not know (in `{function.__qualname__}`)"
    if isinstance(value, type):
        advice = "make it a struct of the kernel language, with @kc.struct, or a dataclass of numbers"
    elif callable(value):
        advice = "make it a function of the kernel language, with @kc.func"
    else:
        advice = "pass it to the kernel as an argument"
    return CompileError(
        f"error[E0502]: {what}\n  = help: {advice}", code="E0502", message=what,
        filename=function.__code__.co_filename, lineno=function.__code__.co_firstlineno,
    )


def _is_language(value) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__ in ("kc", "kc.warp", "warp")


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
    if isinstance(value, type) and (hasattr(value, "_kc_class") or "__dataclass_fields__" in value.__dict__):
        return value
    # Warp's own objects.
    if _is_function_of_warp(value):
        return _grouped(value)
    if type(value).__name__ == "Struct" and isinstance(getattr(value, "cls", None), type):
        return value.cls
    return None


def _is_function_of_warp(value) -> bool:
    return type(value).__name__ == "Function" and isinstance(getattr(value, "func", None), types.FunctionType)


def _grouped(function):
    """The Python function of one of Warp, with its overloads and their rules of derivatives, as `Func` has them."""
    overloads = {id(one.func): one for name in ("user_overloads", "user_templates") for one in getattr(function, name, {}).values()}
    group = function.func.__dict__.setdefault("_kc_group", [])
    group.clear()
    for one in overloads.values() if id(function.func) in overloads else (function,):
        one.func._kc_group = group
        rules = [("func_grad", getattr(one, "custom_grad_func", None)), ("func_replay", getattr(one, "custom_replay_func", None))]
        name = one.func.__name__
        group += [("func", one.func), *((f"{role}({name})", rule.func) for role, rule in rules if rule is not None)]
    return function.func


def _fields_of(cls) -> dict:
    if hasattr(cls, "_kc_class"):
        return cls._fields()
    if "__dataclass_fields__" in cls.__dict__:
        # With those of the classes that it extends.
        import typing

        hints = typing.get_type_hints(cls)
        return {name: hints[name] for name in cls.__dataclass_fields__}
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
        return f"{_ALIAS}.{kind.__name__.rstrip('_')}({text})"
    source = getattr(value, "_source", None)
    if isinstance(source, str):
        source = source.replace("wp.", f"{_ALIAS}.")
        if isinstance(value, type):
            return source
        numbers = ", ".join(_float(float(x)) if "float" in value._scalar.__name__ else repr(x) for x in value.ravel().tolist())
        return f"{source}({numbers})"
    if isinstance(value, type) and value.__module__ == "numpy" and value.__name__ in _NUMBERS:
        return f"{_ALIAS}.{value.__name__.rstrip('_')}"
    if isinstance(value, type) and value.__module__ == "kc._textures" and hasattr(value, "_kc_word"):
        return f"{_ALIAS}.{value._kc_word}"
    if isinstance(value, type) and value.__module__.startswith("warp."):
        return _warp_type(value)
    return None


_NUMBERS = (
    "bool_ bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longlong ulonglong".split()
)


def _warp_type(value):
    scalar = getattr(value, "_wp_scalar_type_", None)
    if scalar is None:
        known = value.__name__ in (*_NUMBERS, "bfloat16", "Texture1D", "Texture2D", "Texture3D")
        return f"{_ALIAS}.{value.__name__}" if known else None
    if getattr(value, "_wp_generic_type_str_", "") in ("quat_t", "transform_t"):
        return None
    shape = value._shape_
    name = getattr(scalar, "__name__", "float32")
    name = {"float": "float32", "int": "int32"}.get(name, name)
    if len(shape) == 1:
        return f"{_ALIAS}.types.vector(length={shape[0]}, dtype={_ALIAS}.{name})"
    return f"{_ALIAS}.types.matrix(shape={tuple(shape)}, dtype={_ALIAS}.{name})"


def _float(x: float) -> str:
    if math.isnan(x):
        return f"{_ALIAS}.nan"
    if math.isinf(x):
        return f"{_ALIAS}.inf" if x > 0 else f"-{_ALIAS}.inf"
    return repr(x)


class _Uses(ast.NodeVisitor):
    """The names that a function takes from around it, with the attributes that are used of each."""

    def __init__(self):
        self.names = {}
        self.local = set()

    def body(self, node):
        self.local = {argument.arg for argument in parameters(node)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
                self.local.add(inner.id)
        for statement in node.body:
            self.visit(statement)

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
