"""Arrays of kc: NumPy arrays that know their type in kernels, and have gradients."""

from __future__ import annotations

from . import _native


class array(_native.Array):
    """``kc.array(data, dtype=kc.vec3)``: an array for kernels. ``kc.array(dtype=float)`` names the type of a parameter.

    A NumPy array of the right type is taken as it is, anything else is copied. ``requires_grad`` adds a gradient of zeros.
    """

    def __new__(cls, data=None, dtype=None, ndim=None, *, copy=False, requires_grad=False):
        if data is None or (isinstance(data, int) and dtype is None):
            from ._types import ArrayType

            return ArrayType(float if dtype is None else dtype, 1 if ndim is None else ndim)
        import numpy as np

        from . import _arguments, _types

        known = _arguments.as_numpy(data) if not isinstance(data, (list, tuple)) else None
        data, dtype = _of_structs(data, dtype)
        if dtype is None:
            if known is None:
                known = np.asarray(data)
                # Python's numbers are float and int of kernels.
                if known.dtype == np.float64:
                    known = known.astype(np.float32)
                elif known.dtype == np.int64:
                    known = converted(known, np.dtype(np.int32))
            dtype = known.dtype if known.dtype.names else _types.scalar_of(known.dtype)
        layout = dtype if isinstance(dtype, np.dtype) else _types.numpy_layout(dtype)
        made = converted(data if known is None else known, layout.base, copy)
        inner = layout.shape
        if inner and made.shape[made.ndim - len(inner) :] != inner:
            raise ValueError(f"elements of {dtype.__name__} have the shape {inner}, and the data {made.shape}")
        if ndim is not None and made.ndim - len(inner) != ndim:
            raise ValueError(f"the data has {made.ndim - len(inner)} dimensions, and not {ndim}")
        result = _wrap(made, dtype, requires_grad, cls)
        _note(result, data, "kc.array")
        return result

    def __init__(self, *arguments, **named):
        pass

    def __class_getitem__(cls, parameters):
        """``kc.array[float]``, ``kc.array[float, Literal[2]]``: the type of a parameter."""
        dtype, *rest = parameters if isinstance(parameters, tuple) else (parameters,)
        return cls(dtype=dtype, ndim=getattr(rest[0], "__args__", rest)[0] if rest else 1)

    @property
    def grad(self):
        """The gradient, an array of the same shape; None without one."""
        return self._grad

    @grad.setter
    def grad(self, value):
        if value is not None and not isinstance(value, array):
            value = array(value, dtype=self.dtype)
        if value is not None and value.numpy().shape != self.numpy().shape:
            raise ValueError(f"a gradient of shape {value.shape} for an array of shape {self.shape}")
        self._grad = value

    @property
    def requires_grad(self) -> bool:
        return self._grad is not None

    @property
    def _inner(self):
        from . import _types

        return () if hasattr(self.dtype, "names") else _types.numpy_layout(self.dtype).shape

    @property
    def shape(self) -> tuple:
        """The extents, without those of a vector or matrix."""
        shape = self.numpy().shape
        return shape[: len(shape) - len(self._inner)]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        import math

        return math.prod(self.shape)

    def __len__(self):
        return len(self.numpy())

    def __getitem__(self, key):
        """An element as NumPy gives it, or an array of the same memory."""
        import numpy as np

        items = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(item, (int, slice, np.integer)) or item is Ellipsis for item in items):
            raise TypeError("kc.array is indexed by integers and slices; `.numpy()` has the rest")
        part = self.numpy()[key]
        if not isinstance(part, np.ndarray) or part.ndim <= len(self._inner):
            return part
        made = _wrap(part, self.dtype, False, type(self))
        if self._grad is not None:
            made._grad = self._grad[key]
        return made

    def __setitem__(self, key, value):
        self._put(key, value, "an assignment to elements")

    def _put(self, key, value, what):
        """Sets elements; recorded by a tape, as launches are."""
        numbers = self._fitting(value)
        if _native.current() is None and not numbers.dtype.names:
            self.numpy()[key] = numbers
        else:
            from ._writes import put

            put(self, key, value, numbers, what)

    def _fitting(self, value):
        """What elements are set to: of whole numbers only what fits."""
        dtype = self.numpy().dtype
        if isinstance(value, array):
            value = value.numpy()
        elif dtype.names and (hasattr(value, "_kc_word") or not hasattr(value, "dtype")):
            from . import _structs

            # 0 is a struct of zeros.
            return _zeros(dtype) if value == 0 else _structs.rows(value, self.dtype, self.numpy())
        return converted(value, dtype, only_integers=True)

    def __iter__(self):
        return (self[n] for n in range(len(self)))

    def zero_(self):
        """Sets all elements to zero."""
        self._put(..., 0, "zero_")

    def fill_(self, value):
        """Sets all elements to one value."""
        self._put(..., value, "fill_")

    def assign(self, source):
        """Copies the elements of another array."""
        self._put(..., source, "assign")

    @property
    def __array_interface__(self):
        return self.numpy().__array_interface__

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options):
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self):
        return self.numpy().__dlpack_device__()

    def __deepcopy__(self, memo):
        import copy

        import numpy as np

        made = _wrap(np.array(self.numpy()), self.dtype, False, type(self))
        made._grad = copy.deepcopy(self._grad, memo)
        _note(made, self, "copy.deepcopy")
        return made

    def __reduce__(self):
        return _unpickled, (self.numpy(), self.dtype, self._grad)

    def __repr__(self):
        return f"kc.array({self.numpy()!r}, dtype={getattr(self.dtype, '__name__', self.dtype)})"


class OfRank:
    """``kc.array2d(dtype=float)``, ``kc.array2d[float]``, ``kc.array2d(data, dtype=float)``: ``kc.array`` of so many dimensions."""

    def __init__(self, kind, ndim):
        self._kind, self._ndim, self.__name__ = kind, ndim, f"array{ndim}d"
        #: Its name in kernels.
        self._kc_word = self.__name__

    def __call__(self, *arguments, **named):
        return self._kind(*arguments, ndim=self._ndim, **named)

    def __getitem__(self, dtype):
        return self._kind(dtype=dtype, ndim=self._ndim)

    def __repr__(self):
        return f"<kc.{self.__name__}>"


def converted(values, dtype, copy=False, only_integers=False):
    """A NumPy array of a type of numbers: integers that it cannot hold are an ``OverflowError``, where NumPy would wrap them."""
    import numpy as np

    if dtype.kind in "iu":
        values = np.asarray(values)
        if only_integers and values.dtype.kind == "f":
            raise ValueError(f"numbers of {values.dtype} are no {dtype.name}: round them, with `.astype(numpy.{dtype.name})`")
        if values.size and values.dtype != dtype and values.dtype.kind in "iuf":
            # As numbers of Python, which compare exactly.
            range, low, high = np.iinfo(dtype), values.min().item(), values.max().item()
            if not (range.min <= low and high <= range.max):
                wrong = high if range.min <= low else low
                raise OverflowError(f"{wrong} does not fit {dtype.name}, which has {range.min} to {range.max}")
    # NumPy 1 has no `copy=None`.
    return np.array(values, dtype=dtype) if copy else np.asarray(values, dtype=dtype)


def _of_structs(data, dtype):
    """Data and type of an array: lists of structs as NumPy has them."""
    first = data
    while isinstance(first, list) and first:
        first = first[0]
    from . import _types

    dtype = type(first) if dtype is None and isinstance(first, _types.Struct) else dtype
    if _types.is_struct(dtype) and not hasattr(data, "dtype"):
        if not isinstance(data, (list, tuple)):
            from ._arguments import refuse

            raise refuse("E1005", f"the data of an array is a list of structs, not a {type(data).__name__}", f"kc.array([value], dtype={dtype.__name__})")
        from . import _structs

        data = _structs.rows(list(data), dtype)
    return data, dtype


def _note(made, value, what):
    """Tells who has to know what a new array was made of: the tape that records, and the keeper of arrays in structs."""
    if made.numpy().dtype.names:
        from . import _structs

        _structs.keep(made.numpy(), value)
    if isinstance(value, array) and value.numpy() is made.numpy() and value._grad is not None:
        # The same memory has the same gradient.
        made._grad = value._grad
    if _native.current() is not None:
        from ._writes import made as note

        note(made, value, what)


def _wrap(made, dtype, requires_grad, cls=array):
    result = _native.Array.__new__(cls, made, dtype)
    if requires_grad:
        import numpy as np

        result._grad = _wrap(np.zeros_like(made), dtype, False, cls)
    return result


def _unpickled(made, dtype, grad):
    result = _wrap(made, dtype, False)
    result._grad = grad
    return result


def _zeros(dtype):
    import numpy as np

    return np.zeros((), dtype)


def _filled(make, shape, dtype, requires_grad):
    from . import _types

    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    layout = _types.numpy_layout(dtype)
    return _wrap(make((*shape, *layout.shape), layout.base), dtype, requires_grad)


def zeros(shape, dtype=float, *, requires_grad=False):
    """An array of zeros."""
    import numpy as np

    return _filled(np.zeros, shape, dtype, requires_grad)


def empty(shape, dtype=float, *, requires_grad=False):
    """An array whose elements are not set yet."""
    import numpy as np

    return _filled(np.empty, shape, dtype, requires_grad)


def full(shape, value, dtype=float, *, requires_grad=False):
    """An array of one value."""
    made = empty(shape, dtype, requires_grad=requires_grad)
    made.fill_(value)
    return made
