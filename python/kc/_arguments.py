"""Arguments as Python code looks at them: descriptions of parameters, and arrays of other libraries as NumPy's."""

from __future__ import annotations

import sys

import numpy as np

from . import _device, _native
from ._errors import ArgumentError


def refuse(code: str, text: str, advice: str | None = None) -> ArgumentError:
    """The exception for arguments that do not fit."""
    more = f"\n  = help: {advice}" if advice else ""
    return ArgumentError(f"error[{code}]: {text}{more}", code=code, message=text)


def parameters_of(kernel) -> list:
    """Name and description of each parameter. They stay as they are once the kernel is compiled."""
    known = kernel.__dict__.get("_known_parameters")
    if known is None:
        known = kernel.__dict__["_known_parameters"] = kernel._parameters()
    return known


def share(x, y) -> bool:
    """Whether two arrays have an element in common."""
    try:
        return np.shares_memory(x, y, max_work=100_000)
    except Exception:
        # It takes too long to tell.
        return True


def field_of(owner, value, name):
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, np.void) and name in (value.dtype.names or ()):
        return value[name]
    if not isinstance(value, dict) and hasattr(value, name):
        return getattr(value, name)
    raise refuse("E1004", f"argument `{owner}`: the {type(value).__name__} has no field `{name}`")


def as_numpy(value):
    """A NumPy array of the same memory, which is the host's. None: it is no array."""
    memory = as_memory(value)
    if _device.is_far(memory):
        raise _device.refused("an array is in the memory of a GPU, and this runs on the host", 'copy it to the host: `x.numpy()`, or `x.to("cpu")`')
    return memory


def as_memory(value):
    """The same, wherever the memory is: that of a GPU has a NumPy array whose elements nobody reads."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, _native.Array):
        return value._data
    if hasattr(value, "__dlpack__"):
        # PyTorch keeps tensors that require a gradient to itself.
        if getattr(value, "requires_grad", False) and hasattr(value, "detach"):
            value = value.detach()
        return _of(value, _native.describe(value))
    if hasattr(value, "__cuda_array_interface__"):
        return _of(value, _native.describe(value))
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        return None


def stream_of(value, ordinal):
    """The CUDA stream that the library of an array uses now. None: it is not known how to ask."""
    library = type(value).__module__.partition(".")[0]
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(ordinal).cuda_stream
    if library == "cupy":
        cuda = sys.modules["cupy"].cuda
        with cuda.Device(ordinal):
            return cuda.get_current_stream().ptr
    return None


def wrote(tensor):
    """Counts a write to a tensor of PyTorch, which its functions of kc look at."""
    sys.modules["torch"].autograd.graph.increment_version(tensor)


class _Memory:
    """What NumPy makes an array of; it stays as long as that."""

    def __init__(self, interface, owner):
        self.__array_interface__, self.owner = interface, owner


def _of(value, described):
    if described is None:
        return None
    address, writable, shape, strides, name, owner = described
    bits = np.dtype("uint16" if name == "bfloat16" else name)
    if 0 in shape:
        array = np.zeros(shape, bits)
    else:
        data = (address, not writable)
        facts = {"data": data, "shape": tuple(shape), "strides": tuple(strides), "typestr": bits.str, "version": 3}
        array = np.asarray(_Memory(facts, (value, owner)))
    if name == "bfloat16":
        from ._types import NAMED

        array = array.view(NAMED["bfloat16"].numpy_dtype)
    return array


def is_plain(array) -> bool:
    """Whether each of its elements has memory of its own."""
    if array.flags.c_contiguous:
        return True
    reach = array.dtype.itemsize
    for stride, n in sorted((abs(stride), n) for n, stride in zip(array.shape, array.strides) if n > 1):
        if stride < reach:
            return False
        reach += (n - 1) * stride
    return True


def zeros_like(array):
    """Zeros with the strides of an array that is plain."""
    if _device.is_far(array):
        return _device.zeros_like(array)
    made = np.zeros(array.shape, array.dtype)
    if made.strides == array.strides or array.size == 0:
        return made
    reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides)]
    below = -sum(step for step in reach if step < 0)
    above = sum(step for step in reach if step > 0) + array.dtype.itemsize
    return np.ndarray(array.shape, array.dtype, np.zeros(below + above, np.uint8), below, array.strides)


def apart(array):
    """The same elements, each with memory of its own."""
    if _device.is_far(array):
        return _device.copy(_device.dense(array))
    return np.array(array)


def copy(array):
    """The same elements, at the same strides where that can be."""
    if _device.is_far(array):
        return _device.copy(array)
    if not is_plain(array):
        return np.array(array)
    made = zeros_like(array)
    made[...] = array
    return made
