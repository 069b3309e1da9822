"""A plugin of mypy for annotations such as ``kc.array(dtype=float)``, which are calls, and so no types to a checker.

    [tool.mypy]
    plugins = ["kc.mypy"]

It reads ``kc.array(dtype=T)``, ``kc.array(T, ndim=2)`` and ``kc.array2d(dtype=T)`` as ``kc.array[T]`` and ``kc.array2d[T]``, in the
annotations of functions and classes. Without it, write these: they say the same to kc.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mypy.nodes import AssignmentStmt, Block, FuncDef, MypyFile, Statement, SymbolNode
from mypy.options import Options
from mypy.plugin import Plugin
from mypy.types import AnyType, CallableType, RawExpressionType, Type, TypeOfAny, UnboundType

_ARRAYS = ("array", "array1d", "array2d", "array3d", "array4d")


class KcPlugin(Plugin):
    """Reads array types of kc before mypy looks at annotations."""

    def __init__(self, options: Options):
        super().__init__(options)
        # mypy's own parser gives functions their types after plugins have seen the file.
        options.native_parser = False

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        # Called once for each file that was parsed, and before anything is made of its types.
        found = _annotations(file.path) if _imports_kc(file) else {}
        if found:
            rewrite = _Rewrite(found)
            for one in file.defs:
                rewrite.walk(one)
        return []


def _imports_kc(file: MypyFile) -> bool:
    names = (name for one in file.imports for name in ([i for i, _ in one.ids] if hasattr(one, "ids") else [getattr(one, "id", "")]))
    return any(name.partition(".")[0] == "kc" for name in names)


def _annotations(path: str) -> dict[tuple[int, int], ast.Call]:
    """The calls among a file's annotations that are array types of kc, by line and column."""
    try:
        with open(path, encoding="utf-8") as text:
            tree = ast.parse(text.read())
    except (OSError, SyntaxError, ValueError):
        return {}
    modules, names = _names(tree)
    found = {}
    for annotation in _annotated(tree):
        # The type is where its quoted text begins.
        node = _unquoted(annotation)
        called = node.func if isinstance(node, ast.Call) else None
        by_module = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id in modules
        if isinstance(node, ast.Call) and (
            by_module and called.attr in _ARRAYS or isinstance(called, ast.Name) and called.id in names  # type: ignore[union-attr]
        ):
            found[annotation.lineno, annotation.col_offset] = node
    return found


def _unquoted(annotation: ast.expr) -> ast.expr:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            pass
    return annotation


def _names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names of kc, and of its array types."""
    modules, names = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {one.asname or one.name for one in node.names if one.name == "kc"}
        elif isinstance(node, ast.ImportFrom) and node.module == "kc" and not node.level:
            names |= {one.asname or one.name for one in node.names if one.name in _ARRAYS}
    return modules, names


def _annotated(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            yield from (one.annotation for one in every if one is not None and one.annotation is not None)
            if node.returns is not None:
                yield node.returns
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


class _Rewrite:
    """Puts a type in the place of each of these calls."""

    def __init__(self, found: dict[tuple[int, int], ast.Call]):
        self.found = found

    def walk(self, node: object) -> None:
        """All statements in a statement. (What mypy has for that cannot be extended in Python.)"""
        if isinstance(node, FuncDef):
            for kind in (node.type, node.unanalyzed_type):
                if isinstance(kind, CallableType):
                    kind.arg_types = [self.read(one) for one in kind.arg_types]
                    kind.ret_type = self.read(kind.ret_type)
            for argument in node.arguments:
                if argument.type_annotation is not None:
                    argument.type_annotation = self.read(argument.type_annotation)
        elif isinstance(node, AssignmentStmt) and node.type is not None:
            node.type = node.unanalyzed_type = self.read(node.type)
        for part in ("func", "items", "defs", "body", "else_body", "handlers", "finally_body"):
            inner = getattr(node, part, None) if isinstance(node, (Statement, Block, SymbolNode)) else None
            for one in inner if isinstance(inner, list) else [inner]:
                if one is not None:
                    self.walk(one)

    def read(self, kind: Type) -> Type:
        call = self.found.get((kind.line, kind.column)) if isinstance(kind, RawExpressionType) else None
        if call is None:
            return kind
        given = next((one.value for one in call.keywords if one.arg == "dtype"), call.args[0] if call.args else None)
        element = _element(given, kind)
        return UnboundType(ast.unparse(call.func), [element], line=kind.line, column=kind.column)


def _element(given: ast.expr | None, kind: Type) -> Type:
    if isinstance(given, (ast.Name, ast.Attribute)):
        return UnboundType(ast.unparse(given), [], line=kind.line, column=kind.column)
    return AnyType(TypeOfAny.special_form)


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return KcPlugin
