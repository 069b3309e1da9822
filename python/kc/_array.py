"""Arrays of kc: NumPy arrays that know their type in kernels, and have gradients."""

from __future__ import annotations

from . import _native


class _Later:
    """The module ``_device``, which needs NumPy: ``import kc`` does not."""

    def __getattr__(self, name):
        from . import _device

        globals()["_device"] = _device
        return getattr(_device, name)


_device = _Later()


class array(_native.Array):
    """``kc.array(data, dtype=kc.vec3)``: an array for kernels. ``kc.array(dtype=float)`` names the type of a parameter.

    A NumPy array of the right type is taken as it is, anything else is copied. ``requires_grad`` adds a gradient of zeros.
    ``device="cuda:0"`` puts the array in the memory of a GPU, ``device="managed"`` in memory of both, ``pinned=True`` in memory of the host that a GPU copies faster.
    An array of another library in the memory of a GPU is shared, not copied.
    """

    def __new__(cls, data=None, dtype=None, ndim=None, *, copy=False, requires_grad=False, device=None, pinned=False):
        if data is None or (isinstance(data, int) and dtype is None):
            from ._types import ArrayType

            return ArrayType(float if dtype is None else dtype, 1 if ndim is None else ndim)
        import numpy as np

        from . import _arguments, _types

        known = _known(data)
        if _device.is_far(known):
            return _of_far(cls, data, known, dtype, ndim, copy, requires_grad, device, pinned)
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
        _check(made, dtype, layout.shape, ndim)
        if device is not None or pinned:
            made = _placed(made, device, pinned, copied=copy)
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
        if value is not None and value._data.shape != self._data.shape:
            raise ValueError(f"a gradient of shape {value.shape} for an array of shape {self.shape}")
        if value is not None and _device.place_of(value._data) != _device.place_of(self._data):
            text = f"a gradient on {value.device} for an array on {self.device}"
            raise _device.refused(text, f'copy it: `x.grad = g.to("{self.device}")`')
        self._grad = value

    @property
    def requires_grad(self) -> bool:
        return self._grad is not None

    @property
    def device(self) -> str:
        """Where its elements are: ``"cpu"``, ``"cuda:0"``."""
        return _device.name_of(self._data)

    def to(self, device):
        """The array on another device, as a copy, with a copy of its gradient; there already, it is itself."""
        ordinal, managed = _device.ordinal_of(device), device == _device.MANAGED
        if ordinal == _device.place_of(self._data) and managed == _device.is_managed(self._data):
            return self
        made = _wrap(_device.moved(_movable(self._data, ordinal), ordinal, managed), self.dtype, False, type(self))
        if self._grad is not None:
            made._grad = self._grad.to(device)
        _note(made, self, "to")
        return made

    def prefetch(self, device):
        """Brings managed memory to a GPU, or to the host (``"cpu"``), before it is used there; waits for nothing."""
        if not _device.is_managed(self._data):
            raise _device.refused(f"the array is on {self.device}, and does not move", 'make it with `device="managed"`, or copy it: `x.to(...)`')
        _native.far_prefetch(self._data, _device.ordinal_of(device))

    def on(self, device):
        """The same memory for launches on another GPU, which reaches it without a copy.

        What comes next there waits for what is done here already; the other way round, wait for it: ``stream.wait(other)``.
        """
        ordinal = _device.ordinal_of(device)
        if ordinal == _device.place_of(self._data):
            return self
        if ordinal is None or not _device.is_far(self._data):
            text = "the host and a GPU use one memory only where it is managed"
            raise _device.refused(text, 'make the array with `device="managed"`: `.numpy()` is the same memory')
        lent = _native.far_lent(self._data, ordinal)
        if lent is None:
            raise _device.refused(f"cuda:{ordinal} has no way to the memory of {self.device}", f'copy it: `x.to("cuda:{ordinal}")`')
        made = _wrap(lent, self.dtype, False, type(self))
        if self._grad is not None:
            made._grad = self._grad.on(device)
        return made

    @property
    def _inner(self):
        from . import _types

        return () if hasattr(self.dtype, "names") else _types.numpy_layout(self.dtype).shape

    @property
    def shape(self) -> tuple:
        """The extents, without those of a vector or matrix."""
        shape = self._data.shape
        return shape[: len(shape) - len(self._inner)]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        import math

        return math.prod(self.shape)

    def __len__(self):
        return len(self._data)

    def __getitem__(self, key):
        """An element as NumPy gives it, or an array of the same memory."""
        import numpy as np

        items = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(item, (int, slice, np.integer)) or item is Ellipsis for item in items):
            raise TypeError("kc.array is indexed by integers and slices; `.numpy()` has the rest")
        part = self._data[_device.opened(key) if _device.is_far(self._data) else key]
        if not isinstance(part, np.ndarray) or part.ndim <= len(self._inner):
            # An element is a number, or numbers of the host.
            return _device.read(part)[()] if _device.is_far(part) else part
        made = _wrap(part, self.dtype, False, type(self))
        if self._grad is not None:
            made._grad = self._grad[key]
        return made

    def __setitem__(self, key, value):
        self._put(key, value, "an assignment to elements")

    def _put(self, key, value, what):
        """Sets elements; recorded by a tape, as launches are."""
        numbers = self._fitting(value)
        if _device.is_far(self._data) or _device.is_far(numbers):
            from ._writes import put_far

            put_far(self, key, value, numbers, what)
        elif _native.current() is None and not numbers.dtype.names:
            self._data[key] = numbers
        else:
            from ._writes import put

            put(self, key, value, numbers, what)

    def _fitting(self, value):
        """What elements are set to: of whole numbers only what fits."""
        dtype = self._data.dtype
        mine = isinstance(value, array)
        found = value._data if mine else _native.far_adopt(value)
        value = value if found is None else found
        if _device.is_far(value):
            if value.dtype != dtype:
                raise _device.refused(f"elements of {value.dtype} on a GPU are not converted to {dtype}", "convert them by a kernel")
            return value
        if not mine and dtype.names and (hasattr(value, "_kc_word") or not hasattr(value, "dtype")):
            from . import _structs

            # 0 is a struct of zeros.
            return _zeros(dtype) if value == 0 else _structs.rows(value, self.dtype, self._data)
        return converted(value, dtype, only_integers=True)

    def __iter__(self):
        return (self[n] for n in range(len(self)))

    def reshape(self, *shape):
        """The same elements with other extents, an array of the same memory; one extent may be -1. Elements with gaps between them
        are a ``ValueError``: nothing is copied.
        """
        shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        part = _device.reshaped(self._data, (*shape, *self._inner))
        if part is None:
            raise ValueError(f"elements of strides {self._data.strides} have gaps: an array of the shape {shape} would be a copy")
        made = _wrap(part, self.dtype, False, type(self))
        if self._grad is not None:
            made._grad = self._grad.reshape(*shape)
        return made

    def zero_(self):
        """Sets all elements to zero."""
        self._put(..., 0, "zero_")

    def fill_(self, value):
        """Sets all elements to one value."""
        self._put(..., value, "fill_")

    def assign(self, source):
        """Copies the elements of another array, wherever that is."""
        self._put(..., source, "assign")

    copy_ = assign

    @property
    def __array_interface__(self):
        if _device.is_far(self._data):
            raise AttributeError(f"the array is on {self.device}; `x.numpy()` is a copy on the host")
        return self._data.__array_interface__

    @property
    def __cuda_array_interface__(self):
        if not _device.is_far(self._data):
            raise AttributeError("the array is in the memory of the host")
        return _device.interface_of(self._data)

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        if _device.is_far(self._data):
            text = f"an array on {self.device} is no array of NumPy"
            raise TypeError(f"{text}: `x.numpy()` is a copy on the host")
        return np.array(self._data, dtype=dtype, copy=copy)

    def __dlpack__(self, **options):
        if _device.is_far(self._data):
            return _device.capsule_of(self._data, **options)
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self):
        ordinal = _device.place_of(self._data)
        return self._data.__dlpack_device__() if ordinal is None else (2, ordinal)

    def __deepcopy__(self, memo):
        import copy

        made = _wrap(_device.moved(self._data, _device.place_of(self._data)), self.dtype, False, type(self))
        made._grad = copy.deepcopy(self._grad, memo)
        _note(made, self, "copy.deepcopy")
        return made

    def __reduce__(self):
        where = (self.device,) if _device.is_far(self._data) else ()
        return _unpickled, (self.numpy(), self.dtype, self._grad, *where)

    def __repr__(self):
        where = f', device="{self.device}"' if _device.is_far(self._data) else ""
        return f"kc.array({self.numpy()!r}, dtype={getattr(self.dtype, '__name__', self.dtype)}{where})"


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
    if made._data.dtype.names and not _device.is_far(made._data):
        from . import _structs

        _structs.keep(made._data, value)
    if isinstance(value, array) and value._data is made._data and value._grad is not None:
        # The same memory has the same gradient.
        made._grad = value._grad
    if _native.current() is not None:
        from ._writes import made as note

        note(made, value, what)


def _wrap(made, dtype, requires_grad, cls=array):
    result = _native.Array.__new__(cls, made, dtype)
    if requires_grad:
        import numpy as np

        zeros = _device.zeros(_device.place_of(made), made.shape, made.dtype) if _device.is_far(made) else np.zeros_like(made)
        result._grad = _wrap(zeros, dtype, False, cls)
    return result


def _unpickled(made, dtype, grad, device="cpu"):
    result = _wrap(_device.moved(made, _device.ordinal_of(device)) if device != "cpu" else made, dtype, False)
    result._grad = grad
    return result


def _known(data):
    """The array that an object is, wherever its memory is. None: it is none."""
    from . import _arguments

    if isinstance(data, (list, tuple)):
        return None
    if isinstance(data, _native.Array):
        return data._data
    found = _native.far_adopt(data)
    return _arguments.as_numpy(data) if found is None else found


def _check(made, dtype, inner, ndim):
    """Whether the data is an array of so many dimensions, of elements of this shape."""
    if inner and made.shape[made.ndim - len(inner) :] != inner:
        raise ValueError(f"elements of {dtype.__name__} have the shape {inner}, and the data {made.shape}")
    if ndim is not None and made.ndim - len(inner) != ndim:
        raise ValueError(f"the data has {made.ndim - len(inner)} dimensions, and not {ndim}")


def _of_far(cls, data, known, dtype, ndim, copy, requires_grad, device, pinned):
    """An array of what is in the memory of a GPU."""
    import numpy as np

    from . import _types

    if dtype is None:
        dtype = data.dtype if isinstance(data, array) else _types.scalar_of(known.dtype)
    layout = dtype if isinstance(dtype, np.dtype) else _types.numpy_layout(dtype)
    if known.dtype != layout.base:
        text = f"elements of {known.dtype} in the memory of a GPU are not converted to {layout.base}"
        raise _device.refused(text, "convert them by a kernel, or on the host: `kc.array(x.numpy(), dtype=..., device=...)`")
    _check(known, dtype, layout.shape, ndim)
    where = _device.place_of(known) if device is None else _device.ordinal_of(device)
    managed = device == _device.MANAGED
    if pinned and where is not None:
        raise ValueError("pinned memory is the host's: leave out `pinned`, or `device`")
    if copy or where != _device.place_of(known) or managed and not _device.is_managed(known):
        known = _device.moved(known, where, managed)
    if pinned:
        known = _placed(known, None, True, copied=True)
    result = _wrap(known, dtype, requires_grad, cls)
    _note(result, data, "kc.array")
    return result


def _movable(made, ordinal):
    """The elements, if they mean the same on a GPU."""
    if ordinal is not None and made.dtype.names:
        from . import _structs

        if any(True for _ in _structs._within(made.dtype)):
            raise _device.refused("structs with arrays in them are the host's", "pass these arrays as arguments, or in one struct")
    return made


def _placed(made, device, pinned, copied=False):
    """NumPy's array as it was asked for: on a GPU, or in pinned memory of the host."""
    import numpy as np

    ordinal = None if device is None else _device.ordinal_of(device)
    if ordinal is not None:
        if pinned:
            raise ValueError("pinned memory is the host's: leave out `pinned`, or `device`")
        return _device.moved(_movable(made, ordinal), ordinal, device == _device.MANAGED)
    if pinned:
        memory = np.asarray(_native.pinned(0, made.nbytes))
        there = memory[: made.nbytes].view(made.dtype).reshape(made.shape) if made.size else made
        there[...] = made
        return there
    return made


def _zeros(dtype):
    import numpy as np

    return np.zeros((), dtype)


def _filled(make, shape, dtype, requires_grad, device, pinned):
    import numpy as np

    from . import _types

    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    layout = _types.numpy_layout(dtype)
    shape = (*shape, *layout.shape)
    ordinal = None if device is None else _device.ordinal_of(device)
    if ordinal is None:
        made = _placed(getattr(np, make)(shape, layout.base), None, pinned)
    elif pinned:
        raise ValueError("pinned memory is the host's: leave out `pinned`, or `device`")
    else:
        _movable(np.empty(0, layout.base), ordinal)
        made = _device.empty(ordinal, shape, layout.base, device == _device.MANAGED)
        if make == "zeros":
            _native.far_clear(made)
    return _wrap(made, dtype, requires_grad)


def zeros(shape, dtype=float, *, requires_grad=False, device=None, pinned=False):
    """An array of zeros."""
    return _filled("zeros", shape, dtype, requires_grad, device, pinned)


def empty(shape, dtype=float, *, requires_grad=False, device=None, pinned=False):
    """An array whose elements are not set yet."""
    return _filled("empty", shape, dtype, requires_grad, device, pinned)


def full(shape, value, dtype=float, *, requires_grad=False, device=None, pinned=False):
    """An array of one value."""
    made = empty(shape, dtype, requires_grad=requires_grad, device=device, pinned=pinned)
    made.fill_(value)
    return made


def ones(shape, dtype=float, *, requires_grad=False, device=None, pinned=False):
    """An array of ones."""
    return full(shape, 1, dtype, requires_grad=requires_grad, device=device, pinned=pinned)
