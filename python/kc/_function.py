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
        self.kernel, self.shapes, self.maker = kernel, shapes, maker
        self._instances = {}
        self._checked = set()

    def caller(self):
        """The function that users call."""
        return Caller(self)

    def resolved(self, dim, arguments, named):
        """This function for the types of a call, where the kernel is generic."""
        from ._generic import Generic

        if not isinstance(self.kernel, Generic):
            return self
        kernel = self.kernel._for_function(dim, arguments, named, self.shapes)
        made = self._instances.get(kernel)
        if made is None:
            made = self._instances[kernel] = type(self)(kernel, self.shapes, self.maker)
        return made

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
        """The kernel for the launch, the dimensions, the arguments in the order of the parameters with ``make(shape, scalar, filled)``
        for outputs, and those by name. ``filled``: the launch sets each element, whatever it held. ``maker(arrays)`` is ``make`` for a call with these arrays.
        """
        if not self._checked:
            self._check(self.kernel)
        about = parameters_of(self.kernel)
        given = named_arguments(self.kernel.__name__, [name for name, _ in about], self.shapes, arguments, named)
        # What an output starts from: the array itself stays as it is.
        starts = {name: given.pop(name) for name in self.shapes if name in given}
        make = maker(array for name, kind in about if name in given for array in _given(name, kind, given[name]))
        made = {
            name: self.started(name, kind, starts[name]) if name in starts
            else _made(make, kind, _shape(kind, self.shapes[name], dim, given), dim)
            for name, kind in about if name in self.shapes
        }
        # With the values that are left out.
        kernel, dim, values = self.kernel._arguments(dim, **given, **made)
        if kernel not in self._checked:
            self._check(kernel)
        return kernel, dim, values, made, starts

    def started(self, name, kind, value):
        """An output that starts with the contents of an array."""
        text = f"`{name}` is an output of kernel `{self.kernel.__name__}`, which {self.maker} makes"
        raise refuse("E1004", text, "leave it out of the arguments")


class Caller:
    """A function of arrays that launches a kernel: what ``kc.torch.function`` and ``kc.jax.function`` give."""

    def __init__(self, function):
        self._function = function
        self.kernel = function.kernel
        self.__name__ = self.__qualname__ = function.kernel.__name__
        self.__doc__ = function.kernel.__doc__

    def __call__(self, dim, *arguments, **named):
        return self._function.resolved(dim, arguments, named)(dim, arguments, named)

    def __repr__(self):
        return f"<{self._function.maker} of {self.kernel!r}>"

    def __reduce__(self):
        return _again, (self._function.maker, self.kernel, self._function.shapes)


def _again(maker, kernel, outputs):
    import importlib

    module, name = maker.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)(kernel, outputs)


def named_arguments(kernel, names, outputs, arguments, named):
    """The arguments of a call by name: of the inputs alone, or of all parameters, where outputs are given what they start from."""
    inputs = [name for name in names if name not in outputs]
    if len(arguments) == len(names):
        inputs = names
    if len(arguments) > len(inputs):
        text = f"kernel `{kernel}` takes {len(inputs)} arguments besides its outputs, and {len(arguments)} are given"
        raise refuse("E1004", text, "give the inputs alone, or all parameters: outputs then start from what is given for them")
    given = dict(zip(inputs, arguments))
    for name in named:
        if name in given:
            raise refuse("E1004", f"`{name}` of kernel `{kernel}` is given twice")
    return {**given, **named}


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


def _made(make, kind, shape, dim):
    """An output: the kernel fills it where it has the extents of the launch, and is one of those that do."""
    return make(shape, kind["scalar"], kind["fills"] and shape[: kind["ndim"]] == _extents(dim))


def _extents(shape):
    if type(shape).__name__ == "SymInt":
        # PyTorch's, of a program that it traces for any extent.
        return (shape,)
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

