"""Warp's arrays, on NumPy's memory."""

from __future__ import annotations

import math

import numpy as np

from .. import _array, _device, _native, _types, _writes
from .._arguments import as_numpy
from . import _launches, _memory
from ._devices import get_device, of_array
from ._operators import Operators


class array(Operators, _array.array):
    """``wp.array(data, dtype=wp.vec3)``; without data and shape the type of a parameter."""

    def __new__(
        cls, data=None, dtype=None, shape=None, *, length=0, ptr=None, device=None, pinned=False, copy=True, ndim=None,
        grad=None, requires_grad=False, **others,
    ):
        if data is None and shape is None and not length:
            return _types.ArrayType(float if dtype is None else dtype, 1 if ndim is None else ndim)
        if ptr is not None or others:
            raise TypeError(f"kc.warp arrays are not made of {', '.join(['ptr'] if ptr is not None else others)}")
        device = get_device(device)
        if data is None:
            made = empty(shape if shape is not None else length, dtype or float, device)
        else:
            made = _of(data, dtype, copy, device)
            if shape is not None:
                made = made.reshape(shape)
        if ndim is not None and made.ndim != ndim:
            raise ValueError(f"the data has {made.ndim} dimensions, and not {ndim}")
        if grad is not None:
            made.grad = grad
        elif requires_grad:
            made.requires_grad = True
        return made

    @property
    def device(self):
        return of_array(self._data)

    @property
    def ptr(self) -> int:
        return _native.address_of(self._data)

    @property
    def strides(self) -> tuple:
        return self._data.strides[: self.ndim]

    @property
    def is_contiguous(self) -> bool:
        return self._data.flags.c_contiguous

    @property
    def requires_grad(self) -> bool:
        return self._grad is not None

    @requires_grad.setter
    def requires_grad(self, wanted):
        if wanted and self._grad is None:
            self._grad = zeros_like(self)
        elif not wanted:
            self._grad = None

    def __getitem__(self, key):
        """An element, an array of the same memory, or where arrays of integers choose, a ``wp.indexedarray``."""
        items = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(item, _array.array) for item in items):
            return super().__getitem__(key)
        if any(item is Ellipsis for item in items):
            raise TypeError("where arrays choose elements there is no `...`")
        plain = super().__getitem__(tuple(slice(None) if isinstance(item, _array.array) else item for item in items))
        return indexedarray(plain, [item if isinstance(item, _array.array) else None for item in items if not _is_number(item)])

    def _part(self, made):
        found = _array._wrap(made, self.dtype, False, array)
        return found

    def reshape(self, shape):
        """The same elements in another shape."""
        if not self.is_contiguous:
            raise RuntimeError("an array with gaps has no other shape: use contiguous()")
        shape = _known((shape,) if isinstance(shape, int) else tuple(shape), self.size)
        if math.prod(shape) != self.size:
            raise RuntimeError(f"an array of {self.size} elements has no shape {shape}")
        return self._again(lambda array: array._part(array._data.reshape((*shape, *self._inner))))

    def _again(self, make):
        """Another look at the memory, and at that of the gradient."""
        found = make(self)
        if self._grad is not None:
            found._grad = make(self._grad)
        return found

    def flatten(self):
        return self if self.ndim == 1 else self.reshape(self.size)

    def transpose(self, axes=None):
        """The same elements with the dimensions in another order."""
        axes = tuple(reversed(range(self.ndim)) if axes is None else axes)
        inner = range(self.ndim, self.ndim + len(self._inner))
        return self._again(lambda array: array._part(array._data.transpose((*axes, *inner))))

    def view(self, dtype):
        """The same memory as another type of the same size."""
        layout, own = _types.numpy_layout(dtype), _types.numpy_layout(self.dtype)
        if layout.itemsize != own.itemsize:
            raise TypeError(f"a view has elements of the same size, {own.itemsize} bytes, and not {layout.itemsize}")

        def look(array):
            # The numbers of an element are neighbours, the elements need not be.
            memory = array._data
            numbers = memory[..., None] if not self._inner else memory.reshape((*self.shape, -1))
            return _array._wrap(numbers.view(layout.base).reshape((*self.shape, *layout.shape)), dtype, False, type(self))

        return self._again(look)

    def contiguous(self):
        return self if self.is_contiguous else clone(self)

    def list(self) -> list:
        """The elements, as numbers, vectors or matrices."""
        flat = self.numpy().reshape((-1, *self._inner))
        kind = self.dtype
        return [kind(*row.ravel()) for row in flat] if self._inner else flat.tolist()

    def to(self, device, requires_grad=None):
        """The array on another device, as a copy with a copy of its gradient; there already, it is itself."""
        device = get_device(device)
        return self if device == self.device else super().to(device.alias)

    def _put(self, key, value, what):
        if isinstance(value, indexedarray):
            value = value.contiguous()
        if isinstance(value, (_array.array, list, tuple)) or _device.is_far(self._data):
            # What the arrays hold then.
            _launches.done(lambda: _array.array._put(self, key, value, what))
        else:
            numbers = self._fitting(value)
            _launches.done(lambda: _writes.put(self, key, value, numbers, what))

    def assign(self, source):
        """Copies elements: those of another array, or as many of the first ones as are given."""
        if isinstance(source, indexedarray):
            source = source.contiguous()
        if isinstance(source, array) and (source.dtype is self.dtype or source._data.dtype == self._data.dtype):
            copy(self, source)
        elif isinstance(source, _array.array):
            _launches.done(lambda: copy(self, _of(source, self.dtype, False, None)))
        else:
            copy(self, _of(source, self.dtype, False, None))

    copy_ = assign

    def __reduce__(self):
        return _again, (self.numpy(), self.dtype, self._grad, self.device.alias)


def _is_number(item) -> bool:
    return isinstance(item, (int, np.integer))


class indexedarray:
    """The elements of an array that lists of indices choose, one list for each dimension, or None for all of it; ``data[rows]`` makes one.
    ``wp.indexedarray(dtype=float)`` names the type of a parameter.
    """

    def __new__(cls, data=None, indices=None, dtype=None, ndim=None):
        return _IndexedType() if data is None else super().__new__(cls)

    def __init__(self, data=None, indices=None, dtype=None, ndim=None):
        lists = [indices] if isinstance(indices, _array.array) else list(indices or ())
        if len(lists) > data.ndim:
            raise ValueError(f"{len(lists)} lists of indices for an array of {data.ndim} dimensions")
        lists += [None] * (data.ndim - len(lists))
        for k, of in enumerate(lists):
            if of is not None and (not isinstance(of, _array.array) or of.numpy().dtype != np.int32 or of.ndim != 1):
                raise TypeError(f"the indices of dimension {k} are to be an array of int32 with one dimension")
        self.data, self.indices = data, lists
        for k, of in enumerate(lists):
            # As the kernel's parameter has them.
            setattr(self, f"indices_{k}", of)

    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: math.prod(self.shape))

    @property
    def shape(self) -> tuple:
        return tuple(n if of is None else of.size for n, of in zip(self.data.shape, self.indices))

    @property
    def device(self):
        return self.data.device

    def __len__(self):
        return self.shape[0]

    def _chosen(self):
        whole = (np.arange(n) if of is None else of.numpy() for n, of in zip(self.data.shape, self.indices))
        return np.ix_(*whole)

    def numpy(self):
        """A copy of the elements."""
        return as_numpy(self.data)[self._chosen()]

    def contiguous(self):
        """An array of the elements, with memory of its own."""
        made = empty(self.shape, self.dtype)
        _launches.done(lambda: _writes.taken(made, self.data, self._chosen()))
        return made

    def list(self) -> list:
        return _array._wrap(self.numpy(), self.dtype, False, array).list()

    def _put(self, value, what):
        _launches.done(lambda: self.data._put(self._chosen(), value, what))

    def assign(self, source):
        """Copies elements: those of another array of the same shape."""
        copy(self, source if isinstance(source, (array, indexedarray)) else _of(source, self.dtype, False, None))

    def fill_(self, value):
        self._put(value, "fill_")

    def zero_(self):
        self.fill_(0)

    def __repr__(self):
        return f"wp.indexedarray(shape={self.shape}, dtype={getattr(self.dtype, '__name__', self.dtype)})"


class _IndexedType:
    """The type of a parameter, which kc reads in the text of the kernel."""


class _Ranked:
    """``wp.indexedarray2d(dtype=float)``"""

    def __init__(self, ndim):
        self._ndim = ndim

    def __call__(self, *arguments, **named):
        return indexedarray(*arguments, ndim=self._ndim, **named)


indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d = map(_Ranked, (1, 2, 3, 4))


def _again(made, dtype, grad, device="cpu"):
    found = _array._wrap(made if device == "cpu" else _array._placed(made, device, False), dtype, False, array)
    found._grad = grad
    return found


def _known(shape, size):
    if -1 not in shape:
        return shape
    rest = math.prod(n for n in shape if n != -1)
    return tuple(size // max(rest, 1) if n == -1 else n for n in shape)


def _of(data, dtype, copy, device):
    """An array of numbers, on a device; None: where they are."""
    far = _array._known(data) if not isinstance(data, (list, tuple, int, float)) else None
    if _device.is_far(far):
        made = _array.array.__new__(array, data, dtype, copy=copy, device=None if device is None else device.alias)
        return made
    data, dtype = _array._of_structs(data, dtype)
    values = np.asarray(data) if isinstance(data, (list, tuple, int, float)) else as_numpy(data)
    if values is None or values.ndim == 0:
        raise RuntimeError(f"the data of an array is a sequence or an array, not {data!r}")
    if dtype is None:
        dtype = data.dtype if isinstance(data, _array.array) else values.dtype if values.dtype.names else _types.scalar_of(values.dtype)
    layout = dtype if isinstance(dtype, np.dtype) else _types.numpy_layout(dtype)
    memory = _array.converted(_of_elements(values, layout.shape), layout.base, copy)
    if device is not None and device.is_cuda:
        memory = _array._placed(memory, device.alias, False)
    elif memory is not values:
        _memory.note(memory)
    made = _array._wrap(memory, dtype, False, array)
    _array._note(made, data, "wp.array")
    return made


def _of_elements(values, inner):
    """Numbers with the dimensions of elements, which Warp takes flat, too, several in a row; one element makes an array."""
    if not inner or values.ndim > len(inner) and values.shape[values.ndim - len(inner) :] == inner:
        return values
    if values.shape == inner:
        return values[None]
    *rows, last = values.shape
    count = last // math.prod(inner)
    if count * math.prod(inner) != last:
        raise RuntimeError(f"data of shape {values.shape} does not fit elements of shape {inner}")
    return values.reshape((*rows, *((count,) if count != 1 or not rows else ()), *inner))


def _shape(shape) -> tuple:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)


def _made(make, shape, dtype, device, requires_grad):
    device = get_device(device)
    layout = _types.numpy_layout(dtype)
    shape = _shape(shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"an array has no shape {shape}")
    if device.is_cuda:
        _array._movable(np.empty(0, layout.base), device.ordinal)
        memory = (_device.zeros if make is np.zeros else _device.empty)(device.ordinal, (*shape, *layout.shape), layout.base)
        made = _array._wrap(memory, dtype, False, array)
        made.requires_grad = requires_grad
        return made
    memory = _memory.make(make, (*shape, *layout.shape), layout.base)
    return _array._wrap(memory, dtype, requires_grad, array)


def zeros(shape=None, dtype=float, device=None, requires_grad=False, pinned=False, **others):
    return _made(np.zeros, others.get("n", 0) if shape is None else shape, dtype, device, requires_grad)


def empty(shape=None, dtype=float, device=None, requires_grad=False, pinned=False, **others):
    return _made(np.empty, others.get("n", 0) if shape is None else shape, dtype, device, requires_grad)


def full(shape=None, value=0, dtype=None, device=None, requires_grad=False, pinned=False):
    if dtype is None:
        dtype = _type_of(value)
    made = _made(np.empty, shape, dtype, device, requires_grad)
    _device.put(made._data, made._fitting(value))
    return made


def _type_of(value):
    """The type of elements that are a value: a list of numbers is a vector."""
    if isinstance(value, (_types.Composite, bool)) or type(value) in (int, float):
        return type(value)
    numbers = np.asarray(value)
    scalar = _types.scalar_of(numbers.dtype)
    if not numbers.ndim:
        return scalar
    return _types.vector(numbers.size, scalar) if numbers.ndim == 1 else _types.matrix(numbers.shape, scalar)


def ones(shape=None, dtype=float, device=None, requires_grad=False, pinned=False, **others):
    return full(shape, 1, dtype, device, requires_grad)


def _like(make, src, requires_grad, device):
    # That of an indexedarray is its data's.
    device = src.device if device is None else device
    return make(src.shape, src.dtype, device=device, requires_grad=getattr(src, "requires_grad", False) if requires_grad is None else requires_grad)


def zeros_like(src, device=None, requires_grad=None, pinned=None):
    return _like(zeros, src, requires_grad, device)


def empty_like(src, device=None, requires_grad=None, pinned=None):
    return _like(empty, src, requires_grad, device)


def ones_like(src, device=None, requires_grad=None, pinned=None):
    return _like(ones, src, requires_grad, device)


def full_like(src, value, device=None, requires_grad=None, pinned=None):
    return _like(lambda shape, dtype, device, requires_grad: full(shape, value, dtype, device, requires_grad), src, requires_grad, device)


def clone(src, device=None, requires_grad=None, pinned=None):
    made = empty_like(src, device, requires_grad)
    src = src.contiguous() if isinstance(src, indexedarray) else src
    _launches.done(lambda: _set(made, src, "wp.clone", True))
    return made


def copy(dest, src, dest_offset=0, src_offset=0, count=0, stream=None):
    """Copies elements; recorded by a tape, as launches are."""
    if dest.dtype is not src.dtype and _types.numpy_layout(dest.dtype) != _types.numpy_layout(src.dtype):
        raise RuntimeError(f"wp.copy copies between arrays of one type, not from {src.dtype} to {dest.dtype}")
    if isinstance(dest, indexedarray) or isinstance(src, indexedarray):
        if dest_offset or src_offset or count not in (0, src.size) or dest.shape != src.shape:
            raise RuntimeError(f"wp.copy copies chosen elements to as many: all of {src.shape} to {dest.shape}")
        src = src.contiguous() if isinstance(src, indexedarray) else src
        if isinstance(dest, indexedarray):
            dest._put(src, "wp.copy")
            return
    count = count or src.size - src_offset
    if count < 0 or src_offset + count > src.size or dest_offset + count > dest.size:
        raise RuntimeError(f"wp.copy copies {count} elements of {src.size} from {src_offset} on to {dest.size} from {dest_offset} on")
    if dest.shape != src.shape or count != src.size:
        src = src if src.ndim == 1 else src.contiguous().flatten()
        dest, src = dest.flatten()[dest_offset : dest_offset + count], src[src_offset : src_offset + count]
    if dest._data is not src._data:
        _launches.done(lambda: _set(dest, src, "wp.copy", False))


def _set(dest, src, what, fresh):
    """Copies all elements, noted on the tape that records."""
    if not (_device.is_far(dest._data) or _device.is_far(src._data)):
        _writes.put(dest, ..., src, src._data, what, fresh=fresh)
    elif not fresh:
        _writes.put_far(dest, ..., src, src._data, what)
    else:
        _device.put(dest._data, src._data)
        _writes.made(dest, src, what)


def from_numpy(arr, dtype=None, shape=None, device=None, requires_grad=False):
    return array(arr, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad)


array1d, array2d, array3d, array4d = (_array.OfRank(array, n) for n in (1, 2, 3, 4))
