"""Generic kernels: parameters with ``Any`` have the types of the arguments, and each set of types is a kernel of its own."""

from __future__ import annotations

import ast
import typing

import numpy as np

from ._arguments import as_memory, refuse
from ._array import array
from ._errors import CompileError
from ._kernel import Kernel
from ._signature import is_array, parameters
from ._types import ArrayType, Composite, Family, Pattern, Scalar, Struct, matrix, numpy_layout, scalar_of, vector


class Generic(Kernel):
    """A generic kernel. A call takes the kernel of the types of its arguments; ``kc.overload(k, types)`` gives that of given types."""

    def __new__(cls, source, function, make, defaults, name, origin):
        return super().__new__(cls, lambda: cls._untyped(name), name)

    def __init__(self, source, function, make, defaults, name, origin):
        super().__init__(None, name, origin)
        self._defaults, self._make, self._made = defaults, make, {}
        #: Parameters without an annotation, and the types of those with one that is not open.
        self._bare, self._fixed = set(), []
        #: Its parameters: generic ones by their annotations, others with None.
        self._wanted = {argument.arg: self._annotation(source, function, argument) for argument in parameters(source.node)}

    @staticmethod
    def _untyped(name):
        text = f"kernel `{name}` is generic: it has code for the types of a call's arguments\n  = help: kc.overload({name}, types) is the kernel of given types"
        raise CompileError(f"error[W0504]: {text}", code="W0504", message=text.splitlines()[0])

    def _annotation(self, source, function, argument):
        if argument.annotation is None:
            self._bare.add(argument.arg)
            return typing.Any
        try:
            kind = source.annotation(function, argument.arg, argument.annotation)
        except Exception as error:
            text = ast.unparse(argument.annotation)
            raise TypeError(f"kernel `{self.__name__}`: the annotation `{text}` has no value: {error}") from None
        if is_array(kind):
            # Warp's, too.
            kind = ArrayType(kind.dtype, kind.ndim)
        element = kind.dtype if isinstance(kind, ArrayType) else kind
        if _is_pattern(element):
            return kind
        self._fixed.append(element)
        return None

    def _of(self, types) -> Kernel:
        """The kernel for types of the generic parameters."""
        key = tuple((name, *_key(kind)) for name, kind in types.items())
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._make(types)
        return made

    def _instance(self, arguments, named) -> Kernel:
        given = {**self._defaults, **dict(zip(self._wanted, arguments)), **named}
        types = {}
        for name, wanted in self._wanted.items():
            if wanted is not None:
                if name not in given:
                    raise refuse("E1004", f"kernel `{self.__name__}` has no argument for `{name}`")
                types[name] = self._type(name, wanted, given[name])
        weak = [name for name in self._bare if type(given[name]) in (int, float)]
        if weak:
            self._weaken(weak, types, given)
        return self._of(types)

    def _weaken(self, weak, types, given):
        """Numbers of Python have the floats of the arrays beside them, as NumPy has it."""
        kinds = [*self._fixed, *(kind.dtype if isinstance(kind, ArrayType) else kind for kind in types.values())]
        scalars = {getattr(getattr(kind, "_scalar", kind), "__name__", "") for kind in kinds}
        for name in weak:
            if type(given[name]) is float and "float64" in scalars:
                types[name] = scalar_of(np.float64)
            elif type(given[name]) is int and not -(2**31) <= given[name] < 2**31:
                types[name] = scalar_of(np.int64)

    def _type(self, name, wanted, value):
        """The type of an argument."""
        if isinstance(wanted, ArrayType):
            kind = self._element(name, wanted, value)
            if not _fits(wanted.dtype, kind):
                raise self._refuse(name, wanted, value)
            return ArrayType(kind, wanted.ndim)
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.names is None:
            self._scalar(name, dtype)
        kind = _type_of(value)
        if kind is None or not _fits(wanted, kind):
            raise self._refuse(name, wanted, value)
        return kind

    def _element(self, name, wanted, value):
        if isinstance(value, array):
            return value.dtype
        found = value if _is_traced(value) else as_memory(value)
        if found is None or found.dtype.names:
            raise self._refuse(name, wanted, value)
        scalar, inner = self._scalar(name, found.dtype), found.shape[wanted.ndim :]
        if len(inner) > 2 or found.ndim < wanted.ndim:
            raise self._refuse(name, wanted, value)
        return scalar if not inner else vector(*inner, scalar) if len(inner) == 1 else matrix(inner, scalar)

    def _scalar(self, name, dtype):
        try:
            return scalar_of(dtype)
        except TypeError:
            raise refuse("E1005", f"argument `{name}` of kernel `{self.__name__}`: {dtype} is no type of numbers in kernels") from None

    def _refuse(self, name, wanted, value):
        text = f"argument `{name}` of kernel `{self.__name__}`: expected {_words(wanted)}, and a {type(value).__name__} does not tell which"
        return refuse("E1005", text, f"kc.overload({self.__name__}, types) is the kernel of given types")

    def _for_function(self, dim, arguments, named, outputs) -> Kernel:
        """The kernel for a call of a function that makes the outputs: these have the elements of the first array that is given."""
        from ._function import _extents, named_arguments

        given = named_arguments(self.__name__, list(self._wanted), outputs, arguments, named)
        types, first = {}, None
        known = {**self._defaults, **given}
        for name, wanted in self._wanted.items():
            if wanted is not None and name in known:
                types[name] = self._type(name, wanted, known[name])
                kind = types[name]
                first = kind.dtype if first is None and isinstance(kind, ArrayType) else first
        for name, wanted in self._wanted.items():
            if wanted is None or name in types:
                continue
            if name not in outputs or first is None:
                raise refuse("E1004", f"kernel `{self.__name__}` has no argument for `{name}`")
            if isinstance(wanted, ArrayType):
                types[name] = ArrayType(first, wanted.ndim)
            else:
                shape = outputs[name](dim, **given) if callable(outputs[name]) else outputs[name]
                types[name] = ArrayType(first, len(_extents(dim if shape is None else shape)))
        weak = [name for name in self._bare if type(known.get(name)) in (int, float)]
        if weak:
            self._weaken(weak, types, known)
        return self._of(types)

    def overload(self, types) -> Kernel:
        """The kernel of given types: a list of those of all parameters, or a dict of those of the generic ones."""
        if not isinstance(types, dict):
            types = list(types)
            if len(types) != len(self._wanted):
                raise TypeError(f"kernel `{self.__name__}` has {len(self._wanted)} parameters, and {len(types)} types are given")
            types = dict(zip(self._wanted, types))
        wanted = {name: kind for name, kind in self._wanted.items() if kind is not None}
        if missing := [f"`{name}`" for name in wanted if name not in types]:
            raise TypeError(f"kernel `{self.__name__}` is generic in {', '.join(missing)}, of which no type is given")
        return self._of({name: types[name] for name in wanted})

    # As of any kernel.

    def __call__(self, dim, /, *arguments, **named):
        return self._instance(arguments, named)(dim, *arguments, **named)

    def grad(self, dim, *arguments, **named) -> dict:
        return self._instance(arguments, named).grad(dim, *arguments, **named)

    def jvp(self, dim, *arguments, **named) -> dict:
        return self._instance(arguments, named).jvp(dim, *arguments, **named)

    def _arguments(self, dim, *arguments, **named):
        return self._instance(arguments, named)._arguments(dim, *arguments, **named)

    def __repr__(self):
        return f"<kc generic kernel {self.__name__}>"


def _is_pattern(kind) -> bool:
    return kind is typing.Any or isinstance(kind, (Family, Pattern))


def _fits(pattern, kind) -> bool:
    """Whether a type is one of those that a pattern stands for."""
    if pattern is typing.Any:
        return True
    if isinstance(pattern, Family):
        return (isinstance(kind, Scalar) or kind in (int, float)) and scalar_of(kind).__name__ in pattern.scalars
    if not isinstance(pattern, Pattern):
        return pattern is kind or numpy_layout(pattern) == numpy_layout(kind)
    if not (isinstance(kind, type) and issubclass(kind, Composite)) or len(kind._shape) != len(pattern.shape):
        return False
    scalar = pattern.scalar is kind._scalar or _is_pattern(pattern.scalar) and _fits(pattern.scalar, kind._scalar)
    return scalar and all(p in (typing.Any, n) for p, n in zip(pattern.shape, kind._shape))


def _is_traced(value) -> bool:
    """Whether it is of JAX, and may have a type and a shape, and no numbers yet."""
    return type(value).__module__.split(".")[0] in ("jax", "jaxlib") and hasattr(value, "aval")


def _type_of(value):
    """The type that a value has as an argument. None: it is none of kernels."""
    if isinstance(value, array):
        return ArrayType(value.dtype, value.ndim)
    if isinstance(value, (Composite, Struct)):
        return type(value)
    if type(value) in (bool, int, float):
        return type(value)
    if isinstance(value, np.generic) and value.dtype.names is None:
        return scalar_of(value.dtype)
    found = value if _is_traced(value) else as_memory(value)
    if found is None or found.dtype.names:
        return None
    # A tensor without dimensions is a number.
    return ArrayType(scalar_of(found.dtype), found.ndim) if found.ndim else scalar_of(found.dtype)


def _key(kind):
    return (kind.dtype, kind.ndim) if isinstance(kind, ArrayType) else (kind,)


def _words(wanted) -> str:
    if isinstance(wanted, ArrayType):
        return f"an array of {_words(wanted.dtype)} with {wanted.ndim} dimension{'s' if wanted.ndim > 1 else ''}"
    if isinstance(wanted, Pattern):
        return repr(wanted)
    return "anything" if wanted is typing.Any else getattr(wanted, "__name__", repr(wanted))


def overload(kernel, types, names):
    """See ``kc.overload``."""
    if types is None:
        found = names.get(kernel.__name__)
        if not isinstance(found, Generic):
            raise TypeError(f"@kc.overload goes before a function of a generic kernel's name, and `{kernel.__name__}` is none")
        import inspect

        found.overload({name: kind for name, kind in inspect.get_annotations(kernel, eval_str=True).items() if name != "return"})
        return found
    if not isinstance(kernel, Generic):
        raise TypeError(f"kc.overload takes a generic kernel, one with `Any` in an annotation, not a {type(kernel).__name__}")
    return kernel.overload(types)

