"""How a call of a function of tensors is written down for an operator of PyTorch (``_torch_ops``).

An operator has the tensors and the numbers of a call, and a text that says which function it is and how they were given:
``"module.name|s|t,f,y=t"`` is one of ``f(n, tensor, 0.5, y=tensor)``.
"""

from __future__ import annotations

import functools
import threading
import weakref

import numpy as np
import torch

from . import _batch
from ._arguments import parameters_of, refuse
from ._function import _extents, named_arguments

#: Whether this PyTorch has operators that are written in Python.
HAS_OPERATORS = hasattr(torch.library, "custom_op") and hasattr(torch.library, "register_vmap")

#: The functions of this process, by name. Operators that were traced keep theirs.
FUNCTIONS, TRACED = weakref.WeakValueDictionary(), {}
_NAMING = threading.Lock()


def known(function) -> str:
    """A name for a function: the same in each process that makes the same functions in the same order."""
    kernel = getattr(function.kernel, "_kc_kernel", function.kernel)
    named = f"{getattr(kernel, '__module__', '')}.{getattr(kernel, '__qualname__', kernel.__name__)}"
    name, n = named, 1
    with _NAMING:
        while name in FUNCTIONS or name in TRACED:
            n += 1
            name = f"{named}#{n}"
        FUNCTIONS[name] = function
    return name


def is_traced() -> bool:
    """Whether PyTorch traces or transforms what is called now."""
    return _is_compiling() or _is_transformed() or _modes() > 0 or torch._C._get_tracing_state() is not None


def _modes_before() -> int:
    """Before 2.0 there is at most one."""
    return int(torch._C._get_torch_dispatch_mode() is not None)


def _never() -> bool:
    return False


_is_compiling = torch.compiler.is_compiling if HAS_OPERATORS else _never
_is_transformed = getattr(torch._C, "_are_functorch_transforms_active", _never)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", None) or _modes_before


# How a call is written down. PyTorch traces this code: it is plain Python.


def call(key, dim, arguments, named):
    """Calls a function as an operator."""
    if not HAS_OPERATORS:
        text = f"kc.torch needs PyTorch 2.4 where a program is traced or transformed, and this is {torch.__version__}"
        raise refuse("E1103", text, "torch.autograd.grad and torch.autograd.forward_ad work with it")
    if not torch.compiler.is_compiling() and torch._C._get_tracing_state() is not None:
        raise refuse("E1103", "torch.jit.trace does not see what kernels compute", "use torch.compile or torch.export")
    tensors, whole, numbers = [], [], []
    parts = []
    for value in arguments:
        parts.append(_told(value, tensors, whole, numbers))
    for name, value in named.items():
        parts.append(name + "=" + _told(value, tensors, whole, numbers))
    if isinstance(dim, (int, torch.SymInt)):
        form, dims = "s", [dim]
    else:
        form, dims = "t", list(dim)
    form = key + "|" + form + "|" + ",".join(parts)
    if _is_transformed() or not _is_compiling():
        # An operator alone would lose tangents of forward mode.
        found = _torch_func.Launch.apply(form, dims, whole, numbers, *tensors)
    else:
        found = torch.ops.kc.launch(form, dims, tensors, whole, numbers)
    return tuple(found) if len(found) > 1 else found[0]


def _told(value, tensors, whole, numbers):
    if isinstance(value, np.ndarray):
        value = torch.as_tensor(value)
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return "t"
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, (int, torch.SymInt)):
        whole.append(value)
        return "i"
    if isinstance(value, (float, torch.SymFloat)):
        numbers.append(value)
        return "f"
    if isinstance(value, dict):
        return "{" + ",".join([name + "=" + _told(item, tensors, whole, numbers) for name, item in value.items()]) + "}"
    if isinstance(value, (tuple, list)):
        return "(" + ",".join([_told(item, tensors, whole, numbers) for item in value]) + ")"
    raise TypeError(
        "under torch.compile, torch.export and torch.func a function of kc takes tensors, numbers, tuples and dicts, not a "
        + type(value).__name__
    )


# How it is read.


@functools.lru_cache(maxsize=1024)
def read(form):
    """The function's name, whether ``dim`` is one number, and the arguments: by position with None for a name, and by name."""
    key, scalar, text = form.rsplit("|", 2)
    tree, rest = _list(text, counts := {"t": 0, "i": 0, "f": 0}, "")
    assert not rest and counts
    return key, scalar == "s", tree


def _list(text, counts, end):
    found = []
    while text and not text.startswith(end or "\0"):
        text = text.removeprefix(",")
        name, equals, rest = text.partition("=")
        name = name if equals and name.isidentifier() else None
        node, text = _node(rest if name else text, counts)
        found.append((name, node))
    return tuple(found), text.removeprefix(end)


def _node(text, counts):
    kind, text = text[0], text[1:]
    if kind in "({":
        items, text = _list(text, counts, ")" if kind == "(" else "}")
        return (kind, items), text
    if kind in counts:
        counts[kind] += 1
        return (kind, counts[kind] - 1), text
    return (kind, {"n": None, "T": True, "F": False}[kind]), text


def _value(node, given):
    kind, what = node
    if kind in given:
        return given[kind][what]
    if kind == "(":
        return [_value(inner, given) for _, inner in what]
    if kind == "{":
        return {name: _value(inner, given) for name, inner in what}
    return what


def arguments_of(tree, tensors, whole, numbers):
    given = {"t": tensors, "i": whole, "f": numbers}
    values = [(name, _value(node, given)) for name, node in tree]
    return [value for name, value in values if name is None], {name: value for name, value in values if name is not None}


class Called:
    """A call of a function that an operator was given."""

    def __init__(self, form, dim, tensors, whole, numbers, *, like=False):
        key, scalar, self.tree = read(form)
        key, _, names = key.partition("/")
        function = TRACED.get(key)
        if function is None:
            function = FUNCTIONS.get(key)
            if function is None:
                text = f"this program launches `{key.rpartition('.')[2]}`, and this process has no such function"
                raise refuse("E1004", text, f"import what makes it (`{key.rpartition('.')[0]}`) before the program is run")
            TRACED[key] = function
        self.dim = dim[0] if scalar else tuple(dim)
        self.arguments, self.named = arguments_of(self.tree, tensors, whole, numbers)
        shapes = (self.arguments, self.named) if not like else arguments_of(self.tree, [standing(one) for one in tensors], whole, numbers)
        if names:
            self.function = of_batch(function, frozenset(names.split(",")), self.dim, *shapes)
        else:
            self.function = function.resolved(self.dim, *shapes)

    def prepared(self):
        return self.function.prepared(self.dim, self.arguments, self.named)

    def by_name(self):
        """The arguments' nodes by the names of the parameters."""
        kernel = self.function.kernel
        nodes = [node for name, node in self.tree if name is None], {name: node for name, node in self.tree if name is not None}
        nodes[1].pop("block_dim", None)
        return named_arguments(kernel.__name__, [name for name, _ in parameters_of(kernel)], self.function.shapes, *nodes)


def standing(tensor):
    """An array with the shape and the type of a tensor, for a look at these."""
    bits = "float16" if tensor.dtype is torch.bfloat16 else str(tensor.dtype).removeprefix("torch.")
    shape = [n if isinstance(n, int) else 1 for n in tensor.shape]
    return np.broadcast_to(np.zeros((), bits), shape)

def of_batch(function, names, dim, arguments, named):
    """The function whose launch is that of a batch. None: there is none."""

    def example(name, value):
        return value[0] if name in names and value is not None else value

    about = [name for name, _ in parameters_of(function.kernel)] if not hasattr(function.kernel, "_wanted") else list(function.kernel._wanted)
    options = {"block_dim": named["block_dim"]} if "block_dim" in named and "block_dim" not in about else {}
    given = {name: value for name, value in named.items() if name not in options}
    given = named_arguments(function.kernel.__name__, about, function.shapes, arguments, given)
    inner = function.resolved(dim[1:], [], {name: example(name, value) for name, value in given.items()})
    kernel = _batch.batched(inner.kernel, names | set(inner.shapes), len(dim) - 1)
    if kernel is None:
        return None
    known = inner.__dict__.setdefault("_of_batches", {})
    if (names, len(dim)) not in known:
        shapes = {name: _shapeof_batch(shape, names) for name, shape in inner.shapes.items()}
        known[names, len(dim)] = type(function)(kernel, shapes, function.maker)
    return known[names, len(dim)]


def _shapeof_batch(shape, names):
    if shape is None:
        return None

    def of_batch(dim, **given):
        one = shape
        if callable(shape):
            inner = dim[1:] if len(dim) > 2 else dim[1]
            one = shape(inner, **{name: value[0] if name in names else value for name, value in given.items()})
        return (dim[0], *(_extents(inner if one is None else one)))

    return of_batch


from . import _torch_func  # noqa: E402: it needs what is above
