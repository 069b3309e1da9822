"""The types of the kernel language, as Python names them, and values of them.

Numbers are NumPy's, vectors and matrices are small NumPy arrays, all with the operators of kernels (`_operators.py`).
"""

from __future__ import annotations

import functools
from typing import Any, Union

import numpy as np

from . import _operators


class _InUnions:
    """What stands for a type in annotations of Python, too: ``kc.float32 | kc.float64``, ``kc.array(dtype=float) | None``."""

    def __or__(self, other):
        return Union[self, other]

    def __ror__(self, other):
        return Union[other, self]


class Scalar(_InUnions, type):
    """A type of numbers: ``kc.float32``. It is a class, whose values are NumPy's numbers with the operators of kernels.

    NumPy has no classes below its own ``bool`` and ``bfloat16``: called, these two give NumPy's number.
    """

    def __new__(meta, name: str):
        source = "bool" if name == "bool" else f"wp.{name}"
        body = {"__module__": "kc", "_source": source, "__doc__": f"`{name}` of the kernel language."}
        if name in ("bool", "bfloat16"):
            base = object
            body["__new__"] = lambda cls, value=0: cls.numpy_dtype.type(value)
        else:
            base = np.dtype(name).type
            body |= {
                **_operators.methods(_operators.OF_NUMBERS, _made),
                "__neg__": lambda number: type(number)(base.__neg__(number)), "__pos__": lambda number: number,
                "__abs__": lambda number: type(number)(base.__abs__(number)),
                "__reduce__": lambda number: (type(number), (number.item(),)), "value": property(lambda number: number.item()),
                "__copy__": lambda number: number, "__deepcopy__": lambda number, memo: number,
            }
        made = super().__new__(meta, name, (base,), body)
        made._scalar = made
        return made

    def __init__(cls, name: str):
        super().__init__(name, (), {})

    @property
    def numpy_dtype(cls):
        if cls.__name__ == "bfloat16":
            try:
                import ml_dtypes
            except ImportError:
                raise ImportError("NumPy has bfloat16 from the package `ml_dtypes`") from None
            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(cls.__name__)

    def __repr__(cls):
        return f"kc.{cls.__name__}"


@functools.cache
def _scalar(name: str) -> Scalar:
    return Scalar(name)


SCALARS = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
).split()
_SUFFIXES = {
    "b": "int8", "ub": "uint8", "s": "int16", "us": "uint16", "i": "int32", "ui": "uint32",
    "l": "int64", "ul": "uint64", "h": "float16", "f": "float32", "d": "float64",
}


class Composite(np.ndarray):
    """A value of a vector, matrix, quaternion or transform type.

    ``Type(1.0, 2.0, 3.0)``, ``Type(x)`` for all components or a list of them, ``Type()`` for zeros. Vectors and lists
    among several values stand for their numbers: ``kc.mat22(kc.vec2(1.0, 2.0), [3.0, 4.0])``.
    """

    _shape: tuple = ()
    _scalar: Scalar
    #: How kernels name the type.
    _text = ""

    def __new__(cls, *values):
        data = np.zeros(cls._shape, cls._scalar.numpy_dtype)
        if len(values) == 1 and not np.ndim(values[0]):
            data[...] = values[0]
        elif values:
            only = len(values) == 1
            given = np.ravel(values[0]) if only else np.concatenate([np.ravel(np.asarray(value, data.dtype)) for value in values])
            if given.size != data.size:
                raise ValueError(f"kc.{cls._text} has {data.size} components, and {given.size} are given")
            data[...] = given.reshape(cls._shape)
        return data.view(cls)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        symbol = _operators.of_number(ufunc, method, inputs)
        if symbol in ("==", "!="):
            # A value is no number.
            return symbol == "!="
        if symbol:
            found = _operators.result(symbol, *inputs)
            return found if found is NotImplemented else _made(*found)
        return getattr(ufunc, method)(*_operators.plain(inputs), **_operators.plain(options))

    def __array_function__(self, function, types, arguments, options):
        return function(*_operators.plain(arguments), **_operators.plain(options))

    def __getitem__(self, key):
        """A number, or a vector or matrix of its own."""
        item = super().__getitem__(key)
        if not isinstance(item, np.ndarray):
            return item
        keys = key if isinstance(key, tuple) else (key,)
        item = np.array(item)
        if not item.size or not all(isinstance(key, (int, slice, np.integer)) for key in keys):
            return item
        return _made("vec" if item.ndim == 1 else "mat", item)

    def __setitem__(self, key, value):
        # NumPy asks the method above for what it sets.
        np.asarray(self)[key] = value

    def __neg__(self):
        return _made(self._key[0], np.negative(np.asarray(self)))

    def __pos__(self):
        return _made(self._key[0], np.array(self))

    def __repr__(self):
        return f"{self._text}({', '.join(str(x) for x in np.asarray(self).ravel().tolist())})"

    def __reduce__(self):
        return _composite_value, (type(self)._key, np.asarray(self).tolist())

    def __bool__(self):
        # As of any object: `given or otherwise` asks whether there is one.
        return True

    def __eq__(self, other):
        try:
            other = np.asarray(other)
        except Exception:
            return NotImplemented
        return other.shape == self.shape and bool((np.asarray(self) == other).all())

    def __ne__(self, other):
        return not self == other

    __hash__ = None


    def __getattr__(self, name):
        return self[self._component(name)]

    def __setattr__(self, name, value):
        if name in _COMPONENTS:
            self[self._component(name)] = value
        else:
            super().__setattr__(name, value)

    @classmethod
    def _component(cls, name):
        n = _COMPONENTS.find(name) if len(name) == 1 else -1
        if n < 0 or len(cls._shape) > 1 or n >= cls._shape[0]:
            raise AttributeError(f"kc.{cls._text} has no attribute {name!r}")
        return n


_COMPONENTS = "xyzw"


class _Transform(Composite):
    """``Type(p, q)``: a position and a rotation, none or the identity where one is not given; or seven numbers."""

    def __new__(cls, *values, **parts):
        if len(values) > 2 or len(values) == 1 and (not np.ndim(values[0]) or np.size(values[0]) == 7):
            if parts:
                raise TypeError(f"kc.{cls._text} takes seven numbers, or `p` and `q`")
            return super().__new__(cls, *values)
        given = dict(zip("pq", values))
        if wrong := [name for name in parts if name in given or name not in ("p", "q")]:
            raise TypeError(f"kc.{cls._text} takes `p` and `q` once each, and not {', '.join(f'`{name}`' for name in wrong)}")
        given |= parts
        data = np.zeros(cls._shape, cls._scalar.numpy_dtype).view(cls)
        data.p, data.q = given.get("p", (0, 0, 0)), given.get("q", (0, 0, 0, 1))
        return data

    def _part(self, kind, part):
        return _composite(kind, (part.stop - part.start,), self._scalar.__name__)(np.asarray(self)[part])

    def _set_part(self, name, part, value):
        wanted = part.stop - part.start
        if np.shape(value) != (wanted,):
            raise ValueError(f"`{name}` of kc.{self._text} has {wanted} components, not {np.size(value)}")
        np.asarray(self)[part] = value

    #: The position and the rotation: values of their own, as in Warp; to set one sets its components.
    p = property(lambda self: self._part("vec", slice(0, 3)), lambda self, v: self._set_part("p", slice(0, 3), v))
    q = property(lambda self: self._part("quat", slice(3, 7)), lambda self, v: self._set_part("q", slice(3, 7), v))


def _made(kind, numbers):
    """A value of kernels of numbers that NumPy has computed; None: they are an array as any other."""
    if kind is None:
        return numbers
    scalar = _scalar(numbers.dtype.name)
    return scalar(numbers) if kind == "number" else numbers.view(_composite(kind, numbers.shape, scalar.__name__))


for _name, _method in _operators.methods(_operators.ALL, _made).items():
    setattr(Composite, _name, _method)


def _composite_value(key, values):
    return _composite(*key)(values)


@functools.cache
def _composite(kind: str, shape: tuple, scalar: str):
    base = _Transform if kind == "transform" else Composite
    letter = {name: suffix for suffix, name in _SUFFIXES.items()}.get(scalar)
    if kind == "vec":
        short = 2 <= shape[0] <= 4 and letter
        name = f"vec{shape[0]}{letter}" if short else f"vec_{shape[0]}_{scalar}"
        text = f"wp.types.vector(length={shape[0]}, dtype=wp.{scalar})"
    elif kind == "mat":
        name = f"mat{shape[0]}{shape[1]}{letter}" if letter else f"mat_{shape[0]}x{shape[1]}_{scalar}"
        text = f"wp.types.matrix(shape={shape}, dtype=wp.{scalar})"
    else:
        name = {"quat": "quat", "transform": "transform"}[kind] + letter
        text = f"wp.{name}"
    body = {
        "_shape": shape, "_scalar": _scalar(scalar), "_text": name, "_source": text, "_key": (kind, shape, scalar),
        "__module__": "kc", "__doc__": f"`{name}` of the kernel language.",
    }
    return type(name, (base,), body)


def scalar_of(dtype) -> Scalar:
    """The scalar type that a Python or NumPy type stands for."""
    if isinstance(dtype, Scalar):
        return dtype
    if dtype is float:
        return _scalar("float32")
    if dtype is int:
        return _scalar("int32")
    if dtype is bool:
        return _scalar("bool")
    name = np.dtype(dtype).name
    if name not in SCALARS:
        raise TypeError(f"{dtype!r} is no type of numbers in kernels")
    return _scalar(name)


class Family(_InUnions):
    """Scalar types of one kind, in annotations of generic kernels and functions: ``kc.Float``."""

    def __init__(self, name, scalars):
        self._kc_word = self.__name__ = name
        self.scalars = frozenset(scalars)

    def __repr__(self):
        return f"kc.{self.__name__}"


class Pattern(_InUnions):
    """Vectors or matrices of which an extent or the scalar may be any, in annotations of generic kernels."""

    def __init__(self, shape, scalar):
        self.shape, self.scalar = shape, scalar

    def __repr__(self):
        extents = " x ".join("any" if n is Any else str(n) for n in self.shape)
        return f"a {'vector' if len(self.shape) == 1 else 'matrix'} of {extents} {'numbers' if self.scalar is Any else self.scalar.__name__}"


def _any_of(kind, extents, dtype):
    scalar = dtype if dtype is Any or isinstance(dtype, Family) else scalar_of(dtype)
    shape = tuple(n if n is Any else int(n) for n in extents)
    if not isinstance(scalar, Scalar) or Any in shape:
        return Pattern(shape, scalar)
    return _composite(kind, shape, scalar.__name__)


def vector(length, dtype=float):
    """The type of vectors with so many components."""
    return _any_of("vec", (length,), dtype)


def matrix(shape, dtype=float):
    """The type of matrices with so many rows and columns."""
    rows, columns = shape
    return _any_of("mat", (rows, columns), dtype)


def quaternion(dtype=float):
    return _composite("quat", (4,), scalar_of(dtype).__name__)


def transformation(dtype=float):
    return _composite("transform", (7,), scalar_of(dtype).__name__)


def _named():
    names = {name: _scalar(name) for name in SCALARS}
    floats = [name for name in SCALARS if "float" in name]
    integers = [name for name in SCALARS if "int" in name]
    names |= {"Float": Family("Float", floats), "Int": Family("Int", integers), "Scalar": Family("Scalar", floats + integers)}
    for suffix, scalar in [("", "float32"), *_SUFFIXES.items()]:
        for n in (2, 3, 4):
            names[f"vec{n}{suffix}"] = _composite("vec", (n,), scalar)
        if scalar in ("float16", "float32", "float64"):
            for n in (2, 3, 4):
                names[f"mat{n}{n}{suffix}"] = _composite("mat", (n, n), scalar)
            names[f"quat{suffix}"] = _composite("quat", (4,), scalar)
            names[f"transform{suffix}"] = _composite("transform", (7,), scalar)
            names[f"spatial_vector{suffix}"] = _composite("vec", (6,), scalar)
            names[f"spatial_matrix{suffix}"] = _composite("mat", (6, 6), scalar)
    return names


NAMED = _named()


class ArrayType(_InUnions):
    """``kc.array(dtype=float)``: the type of a parameter that is an array."""

    def __init__(self, dtype, ndim: int = 1):
        self.dtype, self.ndim = dtype, ndim

    def __repr__(self):
        return f"kc.array(dtype={getattr(self.dtype, '__name__', self.dtype)}, ndim={self.ndim})"


class Struct:
    """What ``@kc.struct`` makes of a class: its values have the fields as attributes, zero at first."""

    def __init__(self, *values, **fields):
        known = type(self)._fields()
        if len(values) > len(known):
            raise TypeError(f"struct `{type(self).__name__}` has {len(known)} fields, and {len(values)} values are given")
        for name, kind in known.items():
            object.__setattr__(self, name, self._start(name, kind))
        for name, value in (*zip(known, values), *fields.items()):
            setattr(self, name, value)

    @classmethod
    def _start(cls, name, kind):
        """The default of a dataclass's field, or zero."""
        field = getattr(cls._kc_class, "__dataclass_fields__", {}).get(name)
        import dataclasses

        if field is not None and field.default is not dataclasses.MISSING:
            return field.default
        if field is not None and field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
        return _zero(kind)

    def __setattr__(self, name, value):
        if name not in type(self)._fields():
            known = ", ".join(type(self)._fields())
            raise AttributeError(f"struct `{type(self).__name__}` has no field `{name}`; it has {known}")
        object.__setattr__(self, name, value)

    def __repr__(self):
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self)._fields())
        return f"{type(self).__name__}({fields})"

    @classmethod
    def _fields(cls) -> dict:
        known = cls.__dict__.get("_kc_fields")
        if known is None:
            from ._capture import _fields_of

            known = _fields_of(cls._kc_class)
            cls._kc_fields = known
        return known

    @classmethod
    def numpy_dtype(cls) -> np.dtype:
        """The NumPy type of arrays of this struct."""
        fields = {name: _field_dtype(cls, name, kind) for name, kind in cls._fields().items()}
        return np.dtype(list(fields.items()), align=True)


def _field_dtype(owner, name, kind):
    if isinstance(kind, ArrayType):
        from ._structs import DESCRIPTOR

        return DESCRIPTOR
    if not isinstance(kind, type):
        raise TypeError(f"field `{name}` of struct `{owner.__name__}` is no number: NumPy has no array of such structs")
    return numpy_layout(kind)


def is_struct(kind) -> bool:
    """Whether values of a type are structs for kernels: those of ``@kc.struct``, and textures."""
    return isinstance(kind, type) and (issubclass(kind, Struct) or hasattr(kind, "_kc_word") and hasattr(kind, "_fields"))


def numpy_layout(dtype):
    """The NumPy type of one element: of numbers with a shape, or of a struct."""
    if is_struct(dtype):
        return dtype.numpy_dtype()
    if isinstance(dtype, type) and issubclass(dtype, Composite):
        return np.dtype((dtype._scalar.numpy_dtype, dtype._shape))
    return scalar_of(dtype).numpy_dtype


def _zero(kind):
    if isinstance(kind, ArrayType):
        return None
    if isinstance(kind, type) and issubclass(kind, Composite):
        # Of a transform, too, whose value without arguments is the identity.
        return kind(0)
    if is_struct(kind):
        return kind() if issubclass(kind, Struct) else None
    return scalar_of(kind)(0)


def struct(cls):
    """Makes a struct of the kernel language of a class with annotated fields."""
    if not isinstance(cls, type):
        raise TypeError("@kc.struct goes before a class")
    body = {"_kc_class": cls, "__doc__": cls.__doc__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (Struct,), body)
