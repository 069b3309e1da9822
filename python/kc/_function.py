"""A kernel as a function of arrays: what it is given, and the outputs that are made for it. Frameworks (``kc.torch``, ``kc.jax``) build on it."""

from __future__ import annotations

import operator

from ._arguments import field_of, parameters_of, refuse
from ._kernel import Kernel


class Function:
    """``outputs`` lists names, or maps each to its shape: a number, a tuple, a function of what the call is given, or None for that of the launch."""

    def __init__(self, kernel, outputs, maker):
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{maker} takes a kernel, not a {type(kernel).__name__}")
        shapes = dict(outputs) if isinstance(outputs, dict) else dict.fromkeys([outputs] if isinstance(outputs, str) else outputs)
        if not shapes:
            raise ValueError(f"kernel `{kernel.__name__}` gives nothing back: name its outputs")
        self.kernel, self.shapes = kernel, shapes
        self._checked = set()

    def caller(self):
        """The function that users call."""

        def call(dim, *arguments, **named):
            return self(dim, arguments, named)

        call.__name__ = call.__qualname__ = self.kernel.__name__
        call.__doc__ = self.kernel.__doc__
        call.kernel = self.kernel
        return call

    def _check(self, kernel):
        """Whether the kernel fits, as it is compiled for a launch."""
        about = dict(parameters_of(kernel))
        for name in self.shapes:
            if "ndim" not in about.get(name, ()) or not about[name]["scalar"]:
                known = ", ".join(f"`{name}`" for name, kind in about.items() if "ndim" in kind) or "none"
                raise refuse("E1004", f"kernel `{self.kernel.__name__}` has no array of numbers `{name}` for an output; it has {known}")
        for name, kind in _arrays(about):
            if kind["writes"] and name not in self.shapes:
                text = f"kernel `{self.kernel.__name__}` writes to `{name}`, which is no output"
                raise refuse("E1010", text, "name it among the outputs, or write to an array of its own")
        self._checked.add(kernel)

    def bind(self, dim, arguments, named, maker):
        """The kernel for the launch, the dimensions, the arguments in the order of the parameters with ``make(shape, scalar)`` for
        outputs, and those by name. ``maker(arrays)`` is ``make`` for a call with these arrays.
        """
        if not self._checked:
            self._check(self.kernel)
        about = parameters_of(self.kernel)
        inputs = [name for name, _ in about if name not in self.shapes]
        if len(arguments) > len(inputs):
            raise refuse("E1004", f"kernel `{self.kernel.__name__}` takes {len(inputs)} arguments besides its outputs, and {len(arguments)} are given")
        given = dict(zip(inputs, arguments))
        for name in named:
            if name in given or name in self.shapes:
                raise refuse("E1004", f"`{name}` is given twice, or is an output")
        given.update(named)
        make = maker(array for name, kind in about if name in given for array in _given(name, kind, given[name]))
        made = {name: make(_shape(kind, self.shapes[name], dim, given), kind["scalar"]) for name, kind in about if name in self.shapes}
        # With the values that are left out.
        kernel, dim, values = self.kernel._arguments(dim, **given, **made)
        if kernel not in self._checked:
            self._check(kernel)
        return kernel, dim, values, made


def _given(name, kind, value):
    """The arrays of an argument."""
    if "fields" in kind:
        for field, inner in kind["fields"].items():
            yield from _given(f"{name}.{field}", inner, field_of(name, value, field))
    elif "ndim" in kind:
        yield value


def _shape(kind, shape, dim, given):
    """That of an output, with the components of its elements."""
    if callable(shape):
        shape = shape(dim, **given)
    if shape is None:
        shape = dim
    shape = _extents(shape)
    # A function may tell the shape with the components of its elements, as tensors have it.
    inner = kind["inner"]
    if inner and len(shape) == kind["ndim"] + len(inner) and shape[kind["ndim"] :] == inner:
        shape = shape[: kind["ndim"]]
    if len(shape) != kind["ndim"]:
        raise refuse("E1009", f"an output of {kind['ndim']} dimensions is to have shape {shape}", "outputs={'name': shape}")
    return (*shape, *inner)


def _extents(shape):
    try:
        return (operator.index(shape),)
    except TypeError:
        pass
    try:
        return tuple(shape)
    except TypeError:
        text = f"the shape of an output is a number or several, not {shape!r}"
        raise refuse("E1006", text, "`dim` and shapes are Python's numbers, not what JAX traces") from None


def _arrays(about, before=""):
    for name, kind in about.items():
        if "fields" in kind:
            yield from _arrays(kind["fields"], f"{before}{name}.")
        elif "ndim" in kind:
            yield before + name, kind

