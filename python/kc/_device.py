"""Arrays in the memory of a GPU: where they are, and how elements get there, back, and from one to another."""

from __future__ import annotations

import functools
import math

import numpy as np

from . import _native
from ._errors import DeviceError


class Far(np.ndarray):
    """Extents and strides of memory that only a GPU reads. NumPy takes parts of it, and never looks at elements."""

    __array_ufunc__ = None

    def __setitem__(self, key, value):
        raise TypeError("NumPy does not write to the memory of a GPU (this is a fault of kc)")

    def __repr__(self):
        return f"<{self.shape} of {self.dtype} on {name_of(self)}>"

    __str__ = __repr__


class Device:
    """A GPU: ``kc.devices()[0]``, which ``device=`` takes as well as its ``id``, ``"cuda:0"``."""

    def __init__(self, ordinal: int):
        self.ordinal = ordinal
        #: The product, the compute capability, and how many multiprocessors there are.
        self.name, self.memory, self.capability, self.multiprocessors = _native.card_about(ordinal)

    @property
    def id(self) -> str:
        return f"cuda:{self.ordinal}"

    @property
    def free(self) -> int:
        """Bytes that are free now."""
        return _native.card_free(self.ordinal)

    def synchronize(self):
        """Waits for all that the GPU does."""
        _native.card_wait(self.ordinal)

    def __eq__(self, other):
        return isinstance(other, Device) and other.ordinal == self.ordinal

    def __hash__(self):
        return hash(self.ordinal)

    def __repr__(self):
        return f"<kc device {self.id}: {self.name}, {self.memory / 2**30:.1f} GiB>"


def devices() -> list:
    """The GPUs of this machine, in the order of their numbers; none without a driver."""
    try:
        return [Device(n) for n in range(_native.card_count())]
    except DeviceError:
        return []


def refused(text, advice=None) -> DeviceError:
    more = f"\n  = help: {advice}" if advice else ""
    return DeviceError(f"error[E1104]: {text}{more}", code="E1104", message=text)


#: Memory that the host and all GPUs use; it counts as the first GPU's.
MANAGED = "managed"


def ordinal_of(device) -> int | None:
    """The number of a GPU that a user names. None: the host."""
    if isinstance(device, Device):
        return device.ordinal
    word = str(device)
    if word in ("cpu", "host"):
        return None
    kind, colon, number = word.partition(":")
    if word == MANAGED:
        return 0
    if kind != "cuda" or bool(colon) != number.isdecimal():
        raise refused(f"there is no device `{word}`", 'arrays are on "cpu", or on a GPU: "cuda", "cuda:1", or one of kc.devices()')
    return int(number or 0)


def place_of(data) -> int | None:
    """The number of the GPU in whose memory an array is. None: the host's."""
    if type(data) is not Far:
        return None
    return _native.memory_of(data).ordinal


def is_managed(data) -> bool:
    return type(data) is Far and _native.memory_of(data).is_managed


def name_of(data) -> str:
    ordinal = place_of(data)
    return "cpu" if ordinal is None else MANAGED if is_managed(data) else f"cuda:{ordinal}"


def is_far(data) -> bool:
    return type(data) is Far


def opened(key):
    """A key that gives a part of an array, of one element, too."""
    key = key if isinstance(key, tuple) else (key,)
    return key if any(item is ... for item in key) else (*key, ...)


# The CUDA array interface and DLPack, for other libraries.


def interface_of(data) -> dict:
    """The CUDA array interface, version 3."""
    _native.memory_of(data).share()
    stream = _native.current_stream(place_of(data))
    known = {} if data.flags.c_contiguous else {"strides": data.strides}
    more = {"descr": data.dtype.descr} if data.dtype.names else {}
    address = (_native.address_of(data), False)
    return {"shape": data.shape, "typestr": data.dtype.str, "data": address, "version": 3, "stream": stream, "strides": None, **known, **more}


def capsule_of(data, *, stream=None, max_version=None, dl_device=None, copy=None):
    """What DLPack hands over. The stream that is named waits for what kc does there."""
    ordinal = place_of(data)
    if dl_device is not None and tuple(dl_device) != (2, ordinal):
        raise BufferError(f"the array is on cuda:{ordinal}; `x.to(...)` copies it")
    if copy:
        data = moved(data, ordinal)
    if stream != -1:
        # 1 and 2 are the default streams; None is the first of them.
        _native.stream_follow(ordinal, 1 if stream is None else stream)
    capsule = _native.far_dlpack(data, max_version is not None and max_version[0] >= 1)
    if capsule is None:
        raise BufferError(f"DLPack has no word for elements of {data.dtype}, or for their strides")
    return capsule


# How elements get there and back.


def empty(ordinal, shape, dtype, managed=False):
    return np.empty(shape, dtype) if ordinal is None else _native.far_empty(ordinal, shape, np.dtype(dtype), managed)


def zeros(ordinal, shape, dtype):
    if ordinal is None:
        return np.zeros(shape, dtype)
    made = empty(ordinal, shape, dtype)
    _native.far_clear(made)
    return made


def read(data):
    """The elements, in memory of the host, once all launches before are over."""
    made = np.empty(data.shape, data.dtype)
    if data.size:
        _native.far_copy(made, dense(data))
    return made


def dense(data):
    """The array, or a copy whose elements follow each other."""
    if data.flags.c_contiguous:
        return data
    made = empty(place_of(data), data.shape, data.dtype)
    _move(made, data)
    return made


def copy(data):
    """The same elements, at the same strides where each has memory of its own."""
    from ._arguments import is_plain

    if not is_plain(data):
        return dense(data)
    made = _native.far_like(data)
    _native.far_copy(made, data)
    return made


def zeros_like(data):
    """Zeros with the strides of an array that is plain."""
    made = _native.far_like(data)
    _native.far_clear(made)
    return made


def moved(data, ordinal, managed=False):
    """A copy of the elements on a GPU, or on the host (None)."""
    if ordinal is None:
        return read(data) if is_far(data) else np.array(data)
    made = empty(ordinal, data.shape, data.dtype, managed)
    put(made, data)
    return made


def put(to, source):
    """Sets all elements to those of an array, wherever either is; NumPy's rules say how shapes fit."""
    if not is_far(to):
        to[...] = read(source) if is_far(source) else source
        return
    if not is_far(source):
        source = _fitting(np.asarray(source, to.dtype), to.shape)
        if to.flags.c_contiguous and _is_zero(source):
            _native.far_clear(to)
            return
        whole = source.shape == to.shape and to.flags.c_contiguous
        there = to if whole else empty(place_of(to), source.shape, to.dtype)
        if source.size:
            _native.far_copy(there, np.ascontiguousarray(source).reshape(source.shape))
        if whole:
            return
        source = there
    elif source.dtype != to.dtype:
        raise TypeError(f"elements of {source.dtype} on a GPU are not converted to {to.dtype}")
    else:
        source = _fitting(source, to.shape)
    if place_of(source) != place_of(to):
        there = empty(place_of(to), source.shape, source.dtype)
        _native.far_copy(there, dense(source))
        source = there
    elif np.may_share_memory(to, source):
        source = dense(source) if not source.flags.c_contiguous else copy(source)
    if source.shape != to.shape:
        source = _repeated(source, to.shape)
    _move(to, source)


def _fitting(source, shape):
    """The elements, if NumPy would set an array of this shape to them."""
    while source.ndim > len(shape) and source.shape[0] == 1:
        source = source[0]
    np.broadcast_to(np.empty(source.shape, np.uint8), shape)
    return source


def _is_zero(source) -> bool:
    return source.dtype.names is None and source.dtype.kind in "iufb" and not source.any() and not np.signbit(source).any()


def _repeated(source, shape):
    """The same elements along more dimensions: NumPy's rules."""
    added = len(shape) - source.ndim
    strides = [0] * added + [0 if n == 1 else step for n, step in zip(source.shape, source.strides)]
    return _native.far_view(source, shape, strides, source.dtype)


# What kernels do.

#: Elements are copied as words of so many bytes.
_WORDS = {8: "uint64", 4: "uint32", 2: "uint16", 1: "uint8"}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


@functools.cache
def _kernel(name):
    from ._kernel import Kernel

    text = "import warp as wp\n"
    for kind in _WORDS.values():
        text += _TEXT.format(name=f"copy_{kind}", kind=kind, does="")
    for kind in _FLOATS:
        text += _TEXT.format(name=f"add_{kind}", kind=kind, does="to[i, j, k, n] + ")
    native = _module(text)
    return Kernel(lambda: (native, name, {}), name)


@functools.cache
def _module(text):
    return _native.compile("<kc arrays>", text, [])


_TEXT = """
@wp.kernel(enable_backward=False)
def {name}(to: wp.array4d(dtype=wp.{kind}), source: wp.array4d(dtype=wp.{kind})):
    i, j, k, n = wp.tid()
    to[i, j, k, n] = {does}source[i, j, k, n]
"""


def _move(to, source):
    """Sets elements to those of an array of the same shape on the same GPU that shares no memory with it."""
    if to.size == 0:
        return
    if to.flags.c_contiguous and source.flags.c_contiguous:
        _native.far_copy(to, source)
        return
    size = to.dtype.itemsize
    steps = [size, *to.strides, *source.strides, _native.address_of(to), _native.address_of(source)]
    word = next(word for word in _WORDS if all(step % word == 0 for step in steps))
    dims = [*zip(to.shape, to.strides, source.strides), (size // word, word, word)]
    _run(f"copy_{_WORDS[word]}", to, source, dims, np.dtype(_WORDS[word]))


def add(to, more):
    """Adds arrays of numbers, or of structs of numbers, of the same shape on the same GPU."""
    if to.size == 0:
        return
    if to.dtype.names is not None:
        for name in to.dtype.names:
            if _native.has_floats(to.dtype[name].base):
                add(to[name], more[name])
        return
    _run(f"add_{to.dtype.name}", to, more, list(zip(to.shape, to.strides, more.strides)), to.dtype)


def _run(name, to, source, dims, dtype):
    """Runs a kernel for each element: extents, and the strides of both."""
    dims = _joined(dims)
    if len(dims) > 4:
        (n, step, other), rest = dims[0], dims[1:]
        shape, strides, others = zip(*rest)
        for k in range(n):
            _launch(name, _shifted(to, k * step, shape, strides, dtype), _shifted(source, k * other, shape, others, dtype))
        return
    dims = [(1, dtype.itemsize, dtype.itemsize)] * (4 - len(dims)) + dims
    shape, strides, others = zip(*dims)
    _launch(name, _native.far_view(to, shape, strides, dtype), _native.far_view(source, shape, others, dtype))


def _launch(name, to, source):
    while to.ndim < 4:
        to, source = to[np.newaxis], source[np.newaxis]
    _kernel(name)._launch(to.shape, to, source)


def _shifted(data, by, shape, strides, dtype):
    # A dimension more, of which the place `by` is taken.
    whole = _native.far_view(data, [2 if by else 1, *shape], [by, *strides], dtype)
    return whole[1 if by else 0]


def _joined(dims):
    """The same with fewer dimensions, where steps along one go on along the next."""
    found = []
    for n, step, other in dims:
        if n == 1:
            continue
        if found and found[-1][1] == n * step and found[-1][2] == n * other:
            found[-1] = (found[-1][0] * n, step, other)
        else:
            found.append((n, step, other))
    return found


def reshaped(data, shape):
    """A view of other extents, of which one may be -1; None if elements would have to be copied. NumPy copies them to find out, and the
    host cannot read the memory of a GPU.
    """
    known = math.prod(extent for extent in shape if extent != -1)
    if -1 in shape and known > 0:
        shape = tuple(data.size // known if extent == -1 else extent for extent in shape)
    if any(extent < 0 for extent in shape) or math.prod(shape) != data.size:
        raise ValueError(f"an array of {data.size} elements has no shape {shape}")
    return data.reshape(shape) if _has_strides(shape, data) else None


def _has_strides(shape, data) -> bool:
    """Whether there are strides by which a shape has the elements of an array in their order."""
    # Elements at even distances, from the innermost on: how many, and how far apart.
    runs = []
    for extent, stride in zip(reversed(data.shape), reversed(data.strides)):
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1][0] *= extent
        elif extent != 1:
            runs.append([extent, stride])
    left = 1
    for extent in reversed(shape) if data.size else ():
        if left == 1 and extent > 1:
            left = runs.pop(0)[0]
        if left % extent:
            return False
        left //= extent
    return True
