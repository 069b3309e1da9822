"""From a kernel of Warp to a source text that stands alone.

Warp's objects know what a kernel means in the running program: captured values, types, functions of other files, static
expressions. The text says all of it: functions under names of their own, structs, constants as literals, types written out.
"""

from __future__ import annotations

import ast
import builtins
import enum
import itertools
import re
import types
import typing

import numpy as np
import warp as wp
from warp._src import codegen, context
from warp._src import types as warp_types

from ._signature import defaults_of, is_literal

_PLAIN = {int: "wp.int32", float: "wp.float32", bool: "wp.bool"}
#: Turns of a loop that is written out for its static expressions.
_WRITTEN_OUT = 256
#: What a kernel may use of Python by its own name.
_PYTHON = frozenset("range len min max abs print int float bool type round isinstance tuple None True False".split())


class Refused(Exception):
    """The kernel uses what only Warp has."""


def text_of(kernel, block_dim=1, device="cpu", backward=True):
    """The source text of a kernel whose types are known, the kernel's name in it, and which line of which file each of its lines
    comes from; for blocks of so many threads. Without `backward` the text says that it has no gradient.
    """
    options = kernel.module.resolved_options.get(block_dim) or {}
    text = _Text(asserts=(options.get("mode") or wp.config.mode) == "debug", on_host=device == "cpu")
    name = text.unique(kernel.key)
    body = text.definition(kernel.adj, "@wp.kernel" if backward else "@wp.kernel(enable_backward=False)", name)
    head = ["from typing import Any", "import warp as wp", *text.aliases]
    places, line = {}, len(head) + 1
    for part in (*text.parts, body):
        places.update((line + n, place) for n, place in text.places.get(part, {}).items())
        line += part.count("\n") + 2
    return "\n\n".join(["\n".join(head), *text.parts, body]) + "\n", name, places


def _places(written, tree, adj):
    """By line of a definition as it is written, the file and the line that it was read from."""
    statements = [[node for node in ast.walk(of) if isinstance(node, ast.stmt)] for of in (ast.parse(written), ast.Module([tree], []))]
    if len(statements[0]) != len(statements[1]):
        return {}
    # Overloads have none of their own.
    first = getattr(adj, "fun_lineno", None) or adj.func.__code__.co_firstlineno
    filename = adj.func.__code__.co_filename
    found = {}
    for new, old in zip(*statements):
        if getattr(old, "lineno", None):
            found.setdefault(new.lineno, (filename, first + old.lineno - 1))
    return found


class _Text:
    def __init__(self, asserts, on_host):
        #: Warp looks at assertions in its debug mode alone.
        self.asserts, self.on_host = asserts, on_host
        if asserts and not on_host:
            raise Refused("Warp looks at assertions on the GPU (mode=debug)")
        self.aliases, self.parts = [], []
        #: Of definitions, by their texts, where their lines come from.
        self.places = {}
        #: Names by object, which are kept: an id is free again once its object is gone.
        self.names, self.kept, self.types, self.used = {}, [], {}, set(_PYTHON)

    def unique(self, key):
        key = key.split(".")[-1].split("__locals__")[-1]
        key = "".join(c if c.isalnum() or c == "_" else "_" for c in key)
        name, n = key, 1
        while name in self.used:
            n += 1
            name = f"{key}_{n}"
        self.used.add(name)
        return name

    # Types

    def type(self, t) -> str:
        if t in _PLAIN:
            return _PLAIN[t]
        if t is typing.Any:
            return "Any"
        if isinstance(t, codegen.Struct):
            return self.struct(t)
        if warp_types.is_reference(t):
            return f"wp.ref[{self.type(t.value_type)}]"
        if warp_types.is_array(t):
            kind = warp_types.concrete_array_type(t)
            if kind not in (warp_types.array, warp_types.indexedarray):
                raise Refused(f"an argument is a {kind.__name__}")
            if kind is warp_types.indexedarray and t.dtype is typing.Any:
                raise Refused("an argument is an indexedarray of any type")
            return f"wp.{kind.__name__}(dtype={self.type(t.dtype)}, ndim={t.ndim})"
        if warp_types.is_tile(t):
            return f"wp.tile(dtype={self.type(t.dtype)}, shape=({', '.join(map(str, t.shape))},))"
        if not isinstance(t, (type, typing.TypeVar)):
            raise Refused(f"the type {t!r}")
        if t in (wp.Texture1D, wp.Texture2D, wp.Texture3D):
            if not self.on_host:
                raise Refused("textures of a GPU are Warp's")
            return f"wp.{t.__name__}"
        for known, word in (("Scalar", "Scalar"), ("Float", "Float"), ("Int", "Int")):
            if t is getattr(warp_types, known):
                return f"wp.types.{word}"
        if t in warp_types.scalar_types or t is wp.bool:
            return f"wp.{t.__name__}"
        shape, scalar = getattr(t, "_shape_", None), getattr(t, "_wp_scalar_type_", None)
        if shape is None or scalar is None:
            raise Refused(f"the type {getattr(t, '__name__', t)}")
        return self.composite(t._wp_generic_type_str_, shape, scalar)

    def composite(self, kind, shape, scalar) -> str:
        dtype = self.type(scalar)
        known = all(isinstance(n, int) and n > 0 for n in shape) and dtype != "Any" and not dtype.startswith("wp.types")
        extents = [str(n) if isinstance(n, int) and n > 0 else "Any" for n in shape]
        text = {
            "vec_t": f"wp.types.vector(length={extents[0]}, dtype={dtype})",
            "mat_t": f"wp.types.matrix(shape=({', '.join(extents)}), dtype={dtype})",
            "quat_t": f"wp.types.quaternion(dtype={dtype})",
            "transform_t": f"wp.types.transformation(dtype={dtype})",
        }.get(kind)
        if text is None:
            raise Refused(f"values of {kind}")
        if not known:
            return text
        if text not in self.types:
            self.types[text] = self.unique(f"{kind[:-2]}_{'x'.join(extents)}_{dtype[3:]}")
            self.aliases.append(f"{self.types[text]} = {text}")
        return self.types[text]

    def struct(self, s) -> str:
        if id(s) not in self.names:
            if any(warp_types.matches_array_class(var.type, warp_types.indexedarray) for var in s.vars.values()):
                raise Refused(f"the struct `{s.key}` has an indexedarray, which lies otherwise for Warp")
            fields = [f"    {name}: {self.type(var.type)}" for name, var in s.vars.items()] or ["    pass"]
            name = self.names[id(s)] = self.unique(s.key)
            self.kept.append(s)
            self.parts.append("\n".join(["@wp.struct", f"class {name}:", *fields]))
        return self.names[id(s)]

    # Values

    def value(self, v):
        """The expression for a value; None: it is none that kernels have."""
        if isinstance(v, enum.Enum) and isinstance(v.value, (int, float)):
            v = v.value
        if isinstance(v, (bool, np.bool_)):
            return ast.Constant(bool(v))
        if isinstance(v, (int, np.integer)):
            return _signed(int(v))
        if isinstance(v, (float, np.floating)):
            v = float(v)
            if v != v:
                return _parsed("wp.nan")
            return _parsed("wp.inf" if v > 0 else "(-wp.inf)") if v in (float("inf"), float("-inf")) else _signed(v)
        if isinstance(v, str):
            return ast.Constant(v)
        if type(v) in warp_types.scalar_types or type(v) is wp.bool:
            return ast.Call(_parsed(self.type(type(v))), [self.value(v.value)], [])
        if isinstance(v, (tuple, list)) and v:
            items = [self.value(item) for item in v]
            return None if None in items else ast.Tuple(items, ast.Load())
        if hasattr(type(v), "_wp_scalar_type_") and hasattr(type(v), "_shape_"):
            # Each by its index: the memory of halves holds their bits.
            places = itertools.product(*map(range, v._shape_))
            numbers = [self.value(v[place if len(place) > 1 else place[0]]) for place in places]
            return ast.Call(_parsed(self.type(type(v))), numbers, [])
        return None

    # Functions

    def kind(self, t) -> str:
        """A text that differs where the types of an argument do."""
        try:
            return self.type(t)
        except Refused:
            return str(t)

    def function(self, f) -> str:
        if f.is_builtin():
            return _of_warp(f.key)
        f = f.generic_parent or f
        # fem makes functions of one Python function for arguments of several types.
        of = (id(f.func), *(self.kind(arg.type) for arg in f.adj.args))
        if of in self.names:
            return self.names[of]
        name = self.names[of] = self.unique(f.key)
        self.kept.append(f)
        overloads = [*f.user_templates.values(), *(o for o in f.user_overloads.values() if not o.generic_parent)]
        seen = set()
        for overload in overloads or [f]:
            if id(overload.adj) in seen:
                continue
            seen.add(id(overload.adj))
            if overload.native_snippet is not None:
                if not self.on_host or not all(map(_is_silent, (overload.native_snippet, overload.adj_native_snippet or ""))):
                    raise Refused(f"`{f.key}` is a native snippet")
                self.parts.append(self.definition(overload.adj, "@wp.func", name, body=[ast.Pass()]))
                continue
            self.parts.append(self.definition(overload.adj, "@wp.func", name))
            for custom, word in ((overload.custom_grad_func, "grad"), (overload.custom_replay_func, "replay")):
                if custom is not None:
                    inner = self.unique(f"{name}_{word}")
                    self.parts.append(self.definition(custom.adj, f"@wp.func_{word}({name})", inner))
        return name

    def definition(self, adj, decorator, name, body=None) -> str:
        tree = _copied(adj.tree.body[0])
        tree.name, tree.decorator_list, tree.returns = name, [], None
        tree.body = body or tree.body
        first = tree.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            tree.body = tree.body[1:] or [ast.Pass()]
        kinds = {argument.label: argument.type for argument in adj.args}
        arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        for argument in arguments:
            kind = kinds[argument.arg]
            if kind is typing.Callable or "Callable" in str(typing.get_origin(kind) or ""):
                raise Refused(f"the argument `{argument.arg}` is a function")
            argument.annotation = _parsed(self.type(kind))
        stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        names = _Names(self, adj, {argument.arg for argument in arguments} | set(stored))
        for part in ast.walk(tree):
            # Names of constants.
            if isinstance(part, ast.Assign) and [type(target) for target in part.targets] == [ast.Name]:
                name, value = part.targets[0].id, part.value
                value = value.value if isinstance(value, ast.Constant) else names.static(value)
                if stored.count(name) == 1 and name not in kinds and type(value) in (int, float, bool):
                    names.values[name] = value
        self.evaluate_defaults(tree, adj.func)
        tree = names.visit(tree)
        first = [getattr(node, "lineno", None) for node in ast.walk(tree)]
        written = f"{decorator}\n{ast.unparse(ast.fix_missing_locations(tree))}"
        if any(first):
            self.places[written] = _places(written, tree, adj)
        return written


    def evaluate_defaults(self, tree, function):
        """Defaults are what Python took them for when the function was defined."""
        values = defaults_of(function)
        positional = [*tree.args.posonlyargs, *tree.args.args]
        for arguments, defaults in ((positional[len(positional) - len(tree.args.defaults) :], tree.args.defaults), (tree.args.kwonlyargs, tree.args.kw_defaults)):
            for k, argument in enumerate(arguments):
                if defaults[k] is not None and not is_literal(defaults[k]):
                    defaults[k] = ast.Constant(values[argument.arg])


class _Names(ast.NodeTransformer):
    """Puts the meaning of names in their place."""

    def __init__(self, text, adj, local):
        self.text, self.adj, self.local = text, adj, local
        #: Of local names of constants, and of the variables of loops that are written out.
        self.values = {}

    def visit_Constant(self, node):
        plain = node.value is None or node.value is Ellipsis or type(node.value) in (str, int, float, bool, bytes)
        return node if plain else self.text.value(node.value) or node

    def visit_arg(self, node):
        return node

    def visit_Assert(self, node):
        if self.text.asserts:
            return self.generic_visit(node)
        calls = any(isinstance(part, ast.Call) for part in ast.walk(node.test))
        return ast.Expr(self.visit(node.test)) if calls else ast.Pass()

    # Static expressions that Warp evaluates later than the others: with what the kernel captured, and the values of a loop that
    # is written out for them.

    def visit_Call(self, node):
        value = self.static(node)
        found = None if value is None else self.meaning(value)
        return self.generic_visit(node) if found is None else found

    def static(self, node):
        """The value of a static expression; None: it is none, or names what only the kernel knows."""
        if not (isinstance(node, ast.Call) and len(node.args) == 1 and self.is_static(node.func)):
            return None
        names = {n.id for n in ast.walk(node.args[0]) if isinstance(n, ast.Name)}
        values = {**self.adj.get_static_evaluation_context(), **self.values}
        if names & (self.local - self.values.keys()):
            return None
        try:
            return eval(compile(ast.Expression(node.args[0]), "<static>", "eval"), values)
        except Exception:
            return None

    def is_static(self, func):
        if not isinstance(func, (ast.Name, ast.Attribute)) or {n.id for n in ast.walk(func) if isinstance(n, ast.Name)} & self.local:
            return False
        try:
            found, _ = self.adj.resolve_static_expression(func, eval_types=False)
        except Exception:
            return False
        return found is not None and self.adj.is_static_expression(found)

    def visit_If(self, node):
        taken = self.truth(node.test)
        if taken is None:
            return self.generic_visit(node)
        # The other branch may name what is not there: a function that was not given.
        return self.block(node.body if taken else node.orelse) or ast.Pass()

    def block(self, statements):
        """What comes of some statements: one may become several."""
        written = []
        for statement in statements:
            found = self.visit(statement)
            written += found if isinstance(found, list) else [found]
        return written

    def truth(self, test):
        """Whether a condition of constants holds, as Warp's compiler looks at them; None: it is none."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.truth(test.operand)
            return None if inner is None else not inner
        value = None
        if isinstance(test, ast.Constant):
            value = test.value
        elif isinstance(test, ast.Name) and test.id not in self.local:
            value = self.resolve(test.id)
        elif isinstance(test, ast.Call):
            value = self.static(test)
        return bool(value) if type(value) in (bool, int) else None

    def visit_For(self, node):
        turns = self.turns(node)
        if turns is None:
            return self.generic_visit(node)
        name, before = node.target.id, self.values
        written = []
        for turn in turns:
            self.values = {**before, name: turn}
            written += [ast.Assign([ast.Name(name, ast.Store())], _signed(turn)), *self.block(_copied(node.body))]
        self.values = before
        return written or ast.Pass()

    def turns(self, node):
        """The numbers that a loop counts, if static expressions in it name them."""
        call = node.iter
        if not (isinstance(node.target, ast.Name) and isinstance(call, ast.Call) and getattr(call.func, "id", None) == "range"):
            return None
        inside = [part for statement in node.body for part in ast.walk(statement)]
        if any(isinstance(part, (ast.Break, ast.Continue)) for part in inside) or node.orelse:
            return None
        # An inner loop may count in the same variable.
        if any(isinstance(part, ast.Name) and part.id == node.target.id and isinstance(part.ctx, ast.Store) for part in inside):
            return None
        named = (ast.walk(part.args[0]) for part in inside if isinstance(part, ast.Call) and part.args and self.is_static(part.func))
        if not any(isinstance(n, ast.Name) and n.id == node.target.id for tree in named for n in tree):
            return None
        ends = [end.value if isinstance(end, ast.Constant) else self.static(end) for end in call.args]
        if not all(isinstance(end, int) for end in ends):
            return None
        turns = range(*ends)
        return turns if len(turns) <= _WRITTEN_OUT else None

    def visit_Name(self, node):
        if hasattr(node, "warp_func"):
            return _parsed(self.text.function(node.warp_func))
        return self.chain(node)

    visit_Attribute = lambda self, node: self.chain(node)  # noqa: E731

    def chain(self, node):
        path, at = [], node
        while isinstance(at, ast.Attribute):
            path.insert(0, at.attr)
            at = at.value
        if not isinstance(at, ast.Name) or at.id in self.local or hasattr(at, "warp_func"):
            return self.generic_visit(node)
        value = self.resolve(at.id)
        if value is None:
            if at.id in _PYTHON or hasattr(builtins, at.id):
                return node
            # Warp finds its own names without a prefix too.
            if not hasattr(wp, at.id):
                raise Refused(f"the name `{at.id}`")
            return _parsed(_of_warp(at.id, *path))
        of_warp = isinstance(value, types.ModuleType) and value.__name__.split(".")[0] == "warp"
        taken = 0
        while taken < len(path) and _has_parts(value):
            try:
                value = getattr(value, path[taken])
            except AttributeError:
                break
            taken += 1
        found = self.meaning(value)
        if found is None:
            if of_warp:
                return _parsed(_of_warp(*path))
            raise Refused(f"`{'.'.join([at.id, *path])}` is a {type(value).__name__}")
        for part in path[taken:]:
            found = ast.Attribute(found, part, ast.Load())
        return found

    def resolve(self, name):
        resolve = getattr(codegen, "resolve_closure_or_global", None)
        found = resolve(self.adj.func, name) if resolve is not None else None
        return self.adj.get_static_evaluation_context().get(name) if found is None else found

    def meaning(self, value):
        if isinstance(value, context.Function):
            return _parsed(self.text.function(value))
        if isinstance(value, codegen.Struct):
            return ast.Name(self.text.struct(value), ast.Load())
        if isinstance(value, type) and value in _PLAIN:
            return ast.Name(value.__name__, ast.Load())
        if isinstance(value, type) or warp_types.is_array(value):
            try:
                return _parsed(self.text.type(value))
            except Refused:
                return None
        if callable(value) and getattr(value, "__module__", "").split(".")[0] == "warp":
            # wp.static, wp.grad, and the like.
            return _parsed(_of_warp(value.__name__))
        if callable(value) and getattr(builtins, getattr(value, "__name__", ""), None) is value:
            return ast.Name(value.__name__, ast.Load())
        return self.text.value(value)


def _is_silent(snippet) -> bool:
    """Whether C++ code does nothing on a CPU whose blocks have one thread: it is for GPUs alone, or a barrier."""
    lines, on = [], [True]
    for line in re.sub(r"//[^\n]*|/\*.*?\*/", "", snippet, flags=re.S).splitlines():
        line = line.strip()
        if line.startswith("#"):
            words = re.fullmatch(r"#\s*(?:if\s+defined\s*\(?\s*|ifdef\s+)(?:__CUDA_ARCH__|__CUDACC__)\s*\)?", line)
            if words:
                on.append(False)
            elif re.fullmatch(r"#\s*else", line) and len(on) > 1:
                on[-1] = not on[-1]
            elif re.fullmatch(r"#\s*endif", line) and len(on) > 1:
                on.pop()
            else:
                return False
        elif all(on):
            lines.append(line)
    return re.sub(r"WP_TILE_SYNC\s*\(\s*\)|[;\s]", "", " ".join(lines)) == ""


def _has_parts(value) -> bool:
    """Whether attributes of it are looked up now, and not by the kernel."""
    if hasattr(type(value), "_wp_scalar_type_"):
        return False
    return isinstance(value, enum.Enum) or not isinstance(value, (int, float))


def _of_warp(*path):
    """A name of Warp's own."""
    return ".".join(["wp", *path])


def _parsed(text):
    return ast.parse(text, mode="eval").body


def _signed(number):
    """Negative numbers are no literals."""
    minus = str(number)[0] == "-"
    return ast.UnaryOp(ast.USub(), ast.Constant(-number)) if minus else ast.Constant(number)


def _copied(node):
    """A copy of a tree, with the functions that Warp has hung to it."""
    if isinstance(node, list):
        return [_copied(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: _copied(getattr(node, name, None)) for name in node._fields})
    for name in ("lineno", "col_offset", "end_lineno", "end_col_offset", "warp_func"):
        if hasattr(node, name):
            setattr(made, name, getattr(node, name))
    return made
