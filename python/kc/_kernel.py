"""Kernels, functions and modules."""

from __future__ import annotations

import functools
import importlib
import operator
import os
import sys
import types

from . import _native
from ._errors import CompileError, lint


class _CallSignature:
    """What ``inspect.signature(kernel)`` tells: the dimensions of the launch, then the kernel's parameters."""

    def __get__(self, kernel, kind=None):
        function = getattr(kernel, "_kc_kernel", None)
        if function is None:
            return None
        import inspect

        own = inspect.signature(function)
        first = inspect.Parameter("dim", inspect.Parameter.POSITIONAL_ONLY, annotation="int | tuple[int, ...]")
        rest = [one for one in own.parameters.values() if one.name != "dim"]
        if len(rest) < len(own.parameters):
            first = first.replace(name="dim_")
            rest = list(own.parameters.values())
        only = [one for one in rest if one.kind is inspect.Parameter.POSITIONAL_ONLY]
        return own.replace(parameters=[first, *only, *(one for one in rest if one not in only)])


class Kernel(_native.Kernel):
    """A kernel: ``k(dim, *arguments)`` runs it for every thread of ``dim``, on all cores.

    It is compiled when it is first needed. Arguments may be given by name; arrays stay where they are.
    A kernel with tiles runs for every block; with ``block_dim=64`` the last of its dimensions counts threads, in blocks of 64, and it
    is compiled for these where threads have values of their own.
    """

    __signature__ = _CallSignature()

    def __new__(cls, load, name, origin=None):
        return super().__new__(cls, load)

    def __init__(self, load, name, origin=None):
        self.__name__ = name
        self._origin = origin

    @property
    def module(self) -> "Module":
        """The module that the kernel was compiled in."""
        return Module(lambda: self._module)

    @property
    def adj(self) -> types.SimpleNamespace:
        """Warp's place for a kernel's parameters: ``adj.args`` has a ``label`` and a ``type`` for each."""
        from ._capture import arguments_of

        return types.SimpleNamespace(args=[types.SimpleNamespace(label=name, type=kind) for name, kind in arguments_of(self._kc_kernel)])

    @property
    def cuda(self) -> str:
        """The kernel and its gradient as CUDA C++: one file that stands alone."""
        return self._module.cuda

    @property
    def header(self) -> str:
        """The C and C++ header of the compiled kernel."""
        return self._module.header

    @property
    def ir(self) -> str:
        """kc's intermediate representation, as text."""
        return self._module.ir

    @property
    def plan(self) -> str:
        """How the kernel and its gradient run on the host: loops, lanes, products."""
        return self._module.plan

    @property
    def warnings(self) -> str:
        """What the compiler warns of, with source lines."""
        return self._module.warnings

    def ptx(self, arch: str = "sm_90") -> str:
        """The kernel and its gradient as PTX, the assembly of NVIDIA GPUs."""
        return self._module.ptx(arch)

    def load(self, device="cuda", *, gradients=True):
        """Compiles the kernel for a GPU and loads it there, with its derivatives where it has them.

        The first launch on a GPU does so otherwise. While a graph is captured (``torch.cuda.graph``) nothing can be loaded.
        """
        from . import _device
        from ._errors import GradientError

        ordinal = _device.ordinal_of(device)
        if ordinal is None:
            raise _device.refused("the host loads a kernel when it is first launched there", 'name a GPU: "cuda", "cuda:1"')
        self._load_on(ordinal, False)
        if gradients:
            try:
                self._load_on(ordinal, True)
            except GradientError:
                # The kernel has no gradient. A call that asks for one is an error.
                pass

    def grad(self, dim, *arguments, grads=None, parameters=True, **named) -> dict:
        """Runs the kernel, then its derivative in reverse mode; gives the gradient of every float that it is given, by name.

        ``grads`` says how the result depends on the arrays after the run: ``{"loss": 1.0}`` or ``{"y": an_array}``.
        What comes back says how it depends on them, and on floats that are given by value, before the run.
        A ``kc.array`` with a ``.grad`` uses that: the run starts from it, and changes it.
        ``parameters=False`` leaves out what is given by value.
        """
        _unrecorded("kernel.grad")
        return _native.grad(self, (dim, *arguments), named, grads if type(grads) is dict else dict(grads or {}), parameters)

    def jvp(self, dim, *arguments, tangents, **named) -> dict:
        """Runs the kernel, and its derivative in forward mode beside it; gives the tangent of every array that it writes.

        ``tangents`` says in which direction the floats change that it is given: ``{"x": an_array, "dt": 1.0}``.
        """
        from . import _derivative

        _unrecorded("kernel.jvp")
        return _derivative.jvp(self, dim, arguments, named, tangents)

    def __repr__(self):
        return f"<kc kernel {self.__name__}>"

    def _repr_html_(self):
        """What a notebook shows: the source, and what it becomes, in tabs."""
        from . import _show

        return _show.of_kernel(self)

    def __reduce__(self):
        if self._origin is None:
            raise TypeError(f"kernel `{self.__name__}` cannot be pickled: it is in no module under its name")
        if self._origin[0] == "module":
            try:
                found = _unpickled(*self._origin)
            except (ImportError, AttributeError):
                found = None
            if found is not self:
                what = "is not there" if found is None else "is another object by now"
                raise TypeError(f"kernel `{self.__name__}` cannot be pickled: `{'.'.join(self._origin[1:])}` {what}")
        return _unpickled, self._origin


def _unrecorded(what):
    if _native.current() is not None:
        from ._tape import unrecorded

        unrecorded(what)


def _other(kernel, loaded):
    """The same kernel, compiled for launches in other blocks."""
    return Kernel(lambda: loaded, kernel.__name__)


def _successor(kernel, load):
    """The same kernel since a value that it captured has changed."""
    made = Kernel(load, kernel.__name__, kernel._origin)
    made._kc_kernel = getattr(kernel, "_kc_kernel", None)
    return made


def _unpickled(kind, *where):
    if kind == "module":
        module, qualname = where
        return functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    path, text, name = where
    return _from_source(path, text).kernel(name)


class Func:
    """A function of kernels. Called from Python, it runs as Python code.

    A function of the same name and file that follows is an overload: kernels call the one whose parameters fit.
    """

    def __init__(self, function, before=None):
        # Python's parser takes longer to import than the rest of this package: who compiles files needs none.
        from ._capture import Source

        function._kc_source = Source(function)
        earlier = [] if before is None else before._kc_function._kc_group
        #: The overloads with their rules of derivatives, each with its decorator.
        function._kc_group = [member for member in earlier if not _same(member[1], function)] + [("func", function)]
        self._kc_function = function
        functools.update_wrapper(self, function)

    def __call__(self, *arguments, **named):
        overloads = [function for role, function in self._kc_function._kc_group if role == "func"]
        if len(overloads) > 1:
            count = len(arguments) + len(named)
            fitting = [f for f in overloads if f.__code__.co_argcount - len(f.__defaults__ or ()) <= count <= f.__code__.co_argcount]
            if len(fitting) != 1:
                raise TypeError(f"{self.__name__} has {len(overloads)} overloads, of which {len(fitting)} take {count} arguments: Python cannot tell which")
            return fitting[0](*arguments, **named)
        return self._kc_function(*arguments, **named)

    def _rule(self, role, function):
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"@kc.{role} goes before a function, not a {type(function).__name__}")
        from ._capture import Source

        function._kc_source = Source(function)
        role = f"{role}({self.__name__})"
        group = self._kc_function._kc_group
        group[:] = [member for member in group if member[0] != role or not _same(member[1], function)] + [(role, function)]
        return function

    def __repr__(self):
        return f"<kc function {self.__name__}>"


def _same(one, other) -> bool:
    """Whether a function takes another's place: it has the same parameters, or is it, loaded once more."""
    place = one.__code__.co_firstlineno == other.__code__.co_firstlineno
    return place or one._kc_source.parameters == other._kc_source.parameters


class Module:
    """The compiled kernels of one source file."""

    def __init__(self, native, origin=None):
        #: What was compiled, or a function that compiles it when something is asked.
        self._made = native
        self._origin = origin

    @property
    def _native(self):
        if callable(self._made):
            self._made = self._made()
        return self._made

    @property
    def names(self) -> list:
        """The names of the kernels."""
        return self._native.names

    @property
    def kernels(self) -> dict:
        """The kernels by name."""
        return {name: self.kernel(name) for name in self.names}

    def kernel(self, name: str) -> Kernel:
        """The kernel of this name."""
        if name not in self.names:
            known = ", ".join(f"`{known}`" for known in self.names) or "none"
            text = f"there is no kernel `{name}`; the module has {known}"
            raise CompileError(f"error[E0905]: {text}", code="E0905", message=text)
        origin = None if self._origin is None else ("source", *self._origin, name)
        return Kernel(lambda: (self._native, name, {}), name, origin)

    __getitem__ = kernel

    def __getattr__(self, name):
        if not name.startswith("_") and name in self.names:
            return self.kernel(name)
        raise AttributeError(f"module has no kernel `{name}`; it has {', '.join(self.names)}")

    def __dir__(self):
        return [*super().__dir__(), *self.names]

    @property
    def cuda(self) -> str:
        """All kernels and their gradients as CUDA C++."""
        return self._native.cuda

    @property
    def header(self) -> str:
        """The C and C++ header of the kernels."""
        return self._native.header

    @property
    def ir(self) -> str:
        """kc's intermediate representation, as text."""
        return self._native.ir

    @property
    def plan(self) -> str:
        """How the kernels and their gradients run on the host: loops, lanes, products."""
        return self._native.plan

    @property
    def warnings(self) -> str:
        """What the compiler warns of, with source lines."""
        return self._native.warnings

    def ptx(self, arch: str = "sm_90") -> str:
        """All kernels and their gradients as PTX."""
        return self._native.ptx(arch)

    def __repr__(self):
        return f"<kc module: {', '.join(self.names)}>"

    def _repr_html_(self):
        """What a notebook shows: what the kernels become, in tabs."""
        from . import _show

        return _show.of_module(self)

    def __reduce__(self):
        if self._origin is None:
            raise TypeError("this module cannot be pickled")
        return _from_source, self._origin


def _from_source(path, text):
    native = _native.compile(path, text)
    lint(native)
    return Module(native, (path, text))


def kernel(function=None, **options):
    """Makes a kernel of a function: ``@kc.kernel``."""
    if function is None:
        return lambda function: kernel(function, **options)
    unknown = set(options) - {"enable_backward", "module", "module_options", "strict"}
    if unknown:
        raise TypeError(f"@kc.kernel has no option {', '.join(sorted(unknown))}")
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"@kc.kernel goes before a function, not a {type(function).__name__}")
    from ._capture import Program, Source

    from ._signature import defaults_of

    source, defaults = Source(function), defaults_of(function)

    strict, known = bool(options.get("strict")), {}

    def load(types=(), batch=None, threads=None):
        program = Program(source, function, _role(options), types, batch, threads)
        key = repr((dict(types), batch and (batch.names, batch.behind), threads)) if types or batch or threads else ""
        texts, native = known.get(key, (None, None))
        if texts == (program.text, program.given):
            # A name has another value that says the same.
            return native, function.__name__, defaults, program.watched
        native = _native.compile(program.path, program.text, program.given, None, strict)
        if function.__name__ not in native.names:
            text = f"kernel `{function.__name__}` needs a value or a type that is not known:\n{native.warnings}"
            raise CompileError(text, code="W0504", message=text.splitlines()[0])
        if batch is None:
            lint(native)
        known[key] = (program.text, program.given), native
        return native, function.__name__, defaults, program.watched

    origin = ("module", function.__module__, function.__qualname__)
    if source.is_generic:
        from ._generic import Generic

        def make(types):
            instance = Kernel(lambda: load(types), function.__name__)
            instance._kc_kernel, instance._kc_load = function, (source, types, load)
            return instance

        made = Generic(source, function, make, defaults, function.__name__, origin)
        made._kc_load = source, {}, load
    else:
        made = Kernel(load, function.__name__, origin)
        made._kc_load = source, {}, load
        made._kc_for_blocks = functools.cache(lambda threads: _for_blocks(function, load, operator.index(threads)))
    functools.update_wrapper(made, function)
    made._kc_kernel = function
    return made


def _for_blocks(function, load, threads):
    """A kernel whose shapes fit in blocks of so many threads alone."""
    made = Kernel(lambda: load((), None, threads), function.__name__)
    functools.update_wrapper(made, function)
    made._kc_kernel = function
    return made


def overload(kernel, types=None):
    """The kernel that a generic one is for given types: ``kc.overload(k, [types of all parameters])``, or a dict of those of the generic ones.

    Before a function of a generic kernel's name and with concrete types, ``@kc.overload`` is the generic kernel itself.
    """
    from . import _generic

    return _generic.overload(kernel, types, sys._getframe(1).f_locals)


def _role(options) -> str:
    said = ["enable_backward=False"] if options.get("enable_backward") is False else []
    # Asked when the kernel is compiled: options of a module may come after its kernels.
    if (options.get("module_options") or {}).get("fast_math"):
        said.append('module_options={"fast_math": True}')
    return f"kernel({', '.join(said)})" if said else "kernel"


def func(function):
    """Makes a function that kernels call: ``@kc.func``."""
    return function_in(sys._getframe(1), function)


def function_in(frame, function):
    """The function of the kernel language whose ``def`` is in the frame, where another of its name may be known."""
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"@kc.func goes before a function, not a {type(function).__name__}")
    before = frame.f_locals.get(function.__name__)
    if isinstance(before, Func):
        known = before._kc_function
        if (known.__code__.co_filename, known.__qualname__) != (function.__code__.co_filename, function.__qualname__):
            before = None
    else:
        before = None
    return Func(function, before)


def func_grad(function):
    """Before a function that is the derivative of another: ``@kc.func_grad(f)``. It takes what ``f`` takes, and the gradient of each result."""
    return _rule_of("func_grad", function)


def func_replay(function):
    """Before a function that runs in the place of another in the backward pass: ``@kc.func_replay(f)``."""
    return _rule_of("func_replay", function)


def _rule_of(role, function):
    if not isinstance(function, Func):
        raise TypeError(f"@kc.{role}(f) takes a function made by @kc.func, not a {type(function).__name__}")
    return lambda rule: function._rule(role, rule)


def compile(source, *, name: str = "kernels.py"):
    """Compiles kernels: a function gives a ``Kernel``; a path or a text, both Python, give a ``Module``.

    A text has at least one line end; a path has none. ``name`` is what messages call a text.
    """
    if isinstance(source, types.FunctionType):
        source = kernel(source)
    if isinstance(source, Kernel):
        # A generic one is compiled for the types of a call.
        if type(source) is Kernel:
            source._module
        return source
    function = getattr(source, "func", None)
    if type(source).__module__.split(".")[0] == "warp" and isinstance(function, types.FunctionType):
        return compile(function)
    if isinstance(source, os.PathLike):
        return _of_path(os.fspath(source))
    if isinstance(source, str):
        return _from_source(name, source) if "\n" in source else _of_path(source)
    raise TypeError(f"kc.compile takes a function, a path or a text, not a {type(source).__name__}")


def _of_path(path: str):
    native = _native.compile(path)
    lint(native)
    with open(path, encoding="utf-8") as file:
        return Module(native, (path, file.read()))
