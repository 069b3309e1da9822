"""A launch for each example of a batch, as one launch: the kernel with one more dimension.

A kernel takes its coordinates in one place, ``i, j = kc.tid()``. The kernel of a batch takes one more there, and goes on with that
part of each array of the batch: ``b, i, j = kc.tid(); x = x[b]``. Where that cannot be seen to be the same, there is none, and the
frameworks launch the kernel for one example after the other.
"""

from __future__ import annotations

import ast

from ._arguments import parameters_of
from ._capture import namespace
from ._errors import CompileError
from ._kernel import Kernel
from ._signature import is_array, parameters
from ._types import ArrayType

_INDEX, _PARAMETER = "_kc_example", "_kc_all_"
#: Launches and arrays have at most so many dimensions.
_MOST = 4


def batched(kernel, names, dims: int, *, behind=False):
    """The kernel that runs a batch of launches of ``dims`` dimensions, in which the parameters of these names have one more dimension.
    None: there is none.

    ``behind``: the values of a batch are arrays behind the other parameters, in the order of their names, and the parameters for one
    value stay where they are.
    """
    known = kernel.__dict__.setdefault("_known_batches", {})
    key = frozenset(names), dims, behind
    if key not in known:
        known[key] = _made(kernel, *key)
    return known[key]


def _made(kernel, names, dims, behind):
    about = dict(parameters_of(kernel))
    fits = dims < _MOST and all("fields" not in about[name] and about[name].get("ndim", 0) < _MOST for name in names)
    if not fits or getattr(kernel, "_kc_load", None) is None:
        return None
    source, types, load = kernel._kc_load
    function = kernel._kc_kernel
    place = _place(source, function, names, dims)
    if place is None or behind and _has_defaults(source.node):
        return None
    return _compiled(kernel, load, types, Batch(source, function, names, types, place, behind))


def reading(kernel, names):
    """The kernel that reads the values of these names from arrays of one element: ``a: float`` is ``a: array(dtype=float)`` there.
    None: there is none.
    """
    known = kernel.__dict__.setdefault("_known_readers", {})
    key = frozenset(names)
    if key not in known:
        known[key] = _reader(kernel, key)
    return known[key]


def _reader(kernel, names):
    if getattr(kernel, "_kc_load", None) is None:
        return None
    source, types, load = kernel._kc_load
    function, body = kernel._kc_kernel, source.node.body
    first = next((one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))), None)
    is_simple = isinstance(first, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)) and first.lineno == first.end_lineno
    if not is_simple or any(isinstance(node, ast.JoinedStr) for node in ast.walk(source.node)):
        return None
    return _compiled(kernel, load, types, Reader(source, function, names, types, first, False))


def _compiled(kernel, load, types, batch):
    made = Kernel(lambda: load({**types, **batch.types}, batch), kernel.__name__)
    try:
        made._module
    except CompileError:
        return None
    return made


def _has_defaults(node) -> bool:
    return bool(node.args.defaults or node.args.kwonlyargs)


def _place(source, function, names, dims):
    """The statement in which the kernel takes its coordinates."""
    calls = [node for node in ast.walk(source.node) if isinstance(node, ast.Call) and _is_tid(node.func, function)]
    if len(calls) != 1 or any(map(_is_left_alone, ast.walk(source.node))):
        return None
    for statement in source.node.body:
        if isinstance(statement, ast.Assign) and statement.value is calls[0]:
            return statement if _counts(statement, dims) else None
        if any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement)):
            return None
    return None


def _is_left_alone(node) -> bool:
    """Tiles count threads in ways of their own; names in texts have no columns before Python 3.12."""
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Attribute) and node.attr.startswith("tile")


def _is_tid(called, function) -> bool:
    if isinstance(called, ast.Attribute):
        return called.attr == "tid"
    return isinstance(called, ast.Name) and getattr(namespace(function).get(called.id), "_kc_word", None) == "tid"


def _counts(statement, dims) -> bool:
    """Whether the coordinates have names, as many as the launch has dimensions."""
    targets = _targets(statement)
    one_line = statement.lineno == statement.end_lineno
    return one_line and len(statement.targets) == 1 and len(targets) == dims and all(isinstance(one, ast.Name) for one in targets)


def _targets(statement) -> list:
    target = statement.targets[0]
    return target.elts if isinstance(target, ast.Tuple) else [target]


class Batch:
    """What changes in the source of a kernel."""

    def __init__(self, source, function, names, types, place, behind):
        self.names, self.place, self.behind = sorted(names), place, behind
        annotations = {argument.arg: argument.annotation for argument in parameters(source.node)}
        self.kinds = {name: types[name] if name in types else source.annotation(function, name, annotations[name]) for name in names}
        self.values = [name for name in self.names if not is_array(self.kinds[name])]
        more = {name: _of_more(kind) for name, kind in self.kinds.items()}
        #: Values of a batch that have parameters of their own.
        self.more = {name: more[name] for name in self.values} if behind else {}
        self.types = {name: kind for name, kind in more.items() if name not in self.more}
        self.last = parameters(source.node)[-1]
        self.edits = list(self._edits(source))

    def edit(self, lines, first, text_of):
        """Lines of the function, of which ``first`` is the number of the first; ``text_of`` is the text of a type."""
        more = "".join(f", {_PARAMETER}{name}: {text_of(kind)}" for name, kind in self.more.items())
        at = self.last.end_lineno, self.last.end_col_offset
        for row, start, end, text in sorted([*self.edits, (*at, at[1], more)], reverse=True):
            line = lines[row - first].encode()
            lines[row - first] = (line[:start] + text.encode() + line[end:]).decode()

    def _edits(self, source):
        """Line, columns and the text there. An array of the batch goes on under its name, a value under another: names keep a type."""
        values = {name: f"_kc_{name}" for name in self.values}
        given = {name: f"{_PARAMETER}{name}" for name in self.more}
        parts = "".join(f"; {values.get(name, name)} = {given.get(name, name)}[{_INDEX}]" for name in self.names)
        start, end = _targets(self.place)[0].col_offset, self.place.end_col_offset
        yield self.place.lineno, start, start, f"{_INDEX}, "
        yield self.place.lineno, end, end, parts
        for statement in source.node.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in values:
                    yield node.lineno, node.col_offset, node.end_col_offset, values[node.id]


class Reader(Batch):
    """What changes in the source of a kernel that reads values from arrays of one element."""

    def __init__(self, source, function, names, types, place, behind):
        super().__init__(source, function, names, types, place, behind)
        # Beside batches of the same values.
        self.behind = "read"

    def _edits(self, source):
        start = self.place.col_offset
        yield self.place.lineno, start, start, "".join(f"_kc_{name} = {name}[0]; " for name in self.names)
        for statement in source.node.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id in self.values:
                    yield node.lineno, node.col_offset, node.end_col_offset, f"_kc_{node.id}"


def _of_more(kind):
    """An array of one more dimension; of a value, an array of such."""
    return ArrayType(kind.dtype, kind.ndim + 1) if is_array(kind) else ArrayType(kind, 1)
