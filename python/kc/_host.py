"""Functions of the kernel language, called from Python: one launch of one thread."""

from __future__ import annotations

import functools

from . import _native, _types
from ._errors import CompileError


def call(name, arguments):
    """``kc.normalize(kc.vec3(1.0, 2.0, 2.0))``"""
    kinds = tuple(_kind(name, argument) for argument in arguments)
    kernel, dtype = _kernel(name, kinds)
    from ._array import zeros

    out = zeros(1, dtype)
    kernel._launch(1, *arguments, out)
    found = out.numpy()[0]
    if issubclass(dtype, _types.Composite):
        return dtype(*found.ravel())
    # A number of Python represents one of its type alone.
    return found.item() if dtype.__name__ in ("bool", "int32", "float32") else dtype(found)


def _kind(name, value):
    """The type of a value in the kernel language."""
    if isinstance(value, _types.Composite):
        return type(value)
    if isinstance(value, bool):
        return _types.scalar_of(bool)
    if isinstance(value, (int, float)) and type(value).__module__ == "builtins":
        return _types.scalar_of(float if isinstance(value, float) else int)
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return _types.scalar_of(value.dtype)
    raise TypeError(f"kc.{name} takes numbers, vectors and matrices of kc from Python, not a {type(value).__name__}")


def _text(kind) -> str:
    return kind._source


@functools.lru_cache(maxsize=1024)
def _kernel(name, kinds):
    from ._kernel import Kernel

    refused = None
    for result in _results(kinds):
        names = [f"a{n}" for n in range(len(kinds))]
        parameters = ", ".join(f"{name}: {_text(kind)}" for name, kind in zip(names, kinds))
        text = (
            "import warp as wp\n@wp.kernel(enable_backward=False)\n"
            f"def call({parameters}, out: wp.array(dtype={_text(result)})):\n    out[0] = wp.{name}({', '.join(names)})\n"
        ).replace("(, ", "(")
        try:
            native = _native.compile(f"<kc.{name}>", text, [])
        except CompileError as error:
            # Only the right type can be stored.
            if error.code != "E0303":
                raise TypeError(f"kc.{name}({', '.join(kind.__name__ for kind in kinds)}): {error.message}") from None
            refused = error
            continue
        return Kernel(lambda: (native, "call", {}), name), result
    raise TypeError(f"kc.{name} gives nothing that Python has: {refused.message if refused else ''}")


def _results(kinds):
    """What a function of such values may give: their own types first."""
    scalars = [kind._scalar for kind in kinds] or [_types.scalar_of(float)]
    found = [*kinds, *scalars, *map(_types.scalar_of, (bool, int, float))]
    for scalar in dict.fromkeys([*scalars, _types.scalar_of(float), _types.scalar_of(int)]):
        for n in (2, 3, 4, 6):
            found += [_types.vector(n, scalar), _types.matrix((n, n), scalar)]
        if scalar.__name__.startswith("float"):
            found += [_types.quaternion(scalar), _types.transformation(scalar)]
        found += [_types.scalar_of(name) for name in ("int64", "uint32", "uint64", "float64", "float16")]
    return dict.fromkeys(found)
