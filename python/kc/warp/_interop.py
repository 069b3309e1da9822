"""Arrays of other libraries, and what programs ask of Warp that has one answer here."""

from __future__ import annotations

import enum
import typing

import numpy as np

from .. import _types
from .._arguments import as_numpy
from .._kernel import Func, Kernel, func
from ._arrays import array, empty, empty_like
from ._devices import Device, Stream, get_device
from ._launches import done, launch

#: What names a device.
DeviceLike = typing.Union[Device, str, None]

#: The type of a function that kernels call, in annotations of parameters and in tests.
Function = Func


class DeterministicMode(enum.IntEnum):
    """Launches here add in the order of threads where one core runs them; kc has no other guarantee to switch on."""

    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2


# Arrays of other libraries: their memory, not a copy.


def from_torch(t, dtype=None, requires_grad=None, grad=None, return_ctype=False):
    """An array of a tensor's memory: trailing dimensions are components where `dtype` is a vector or a matrix."""
    if return_ctype:
        raise NotImplementedError("kc.warp has no C descriptors of tensors")
    made = _shared(t.detach(), dtype)
    wanted = t.requires_grad if requires_grad is None else requires_grad
    if grad is not None:
        made.grad = grad if isinstance(grad, array) else _shared(grad.detach(), dtype)
    elif wanted:
        if t.grad is None and t.is_leaf:
            import torch

            t.grad = torch.zeros_like(t)
        made.grad = _shared(t.grad.detach(), dtype) if t.grad is not None else empty_like(made)
    return made


def to_torch(a, requires_grad=None):
    """A tensor of an array's memory."""
    import torch

    made = torch.from_numpy(as_numpy(a))
    if a.requires_grad if requires_grad is None else requires_grad:
        made.requires_grad_(True)
        if a.grad is not None:
            made.grad = torch.from_numpy(as_numpy(a.grad))
    return made


def device_to_torch(device) -> str:
    get_device(device)
    return "cpu"


def device_from_torch(device) -> Device:
    return get_device(str(device))


def dtype_to_torch(dtype):
    import torch

    return getattr(torch, _types.scalar_of(dtype).__name__)


def dtype_from_torch(dtype):
    return _types.scalar_of(np.dtype(str(dtype).removeprefix("torch.")))


def from_jax(jax_array, dtype=None):
    """An array of the memory of an array of JAX, which is not to be written to."""
    return _shared(jax_array, dtype)


def to_jax(a):
    import jax.numpy

    return jax.numpy.asarray(as_numpy(a))


def from_dlpack(source, dtype=None):
    """An array of the memory of any array that speaks DLPack."""
    return _shared(source, dtype)


def to_dlpack(a):
    return a.__dlpack__()


def _shared(source, dtype):
    memory = as_numpy(source)
    if memory is None:
        memory = np.from_dlpack(source)
    return array(memory, dtype=_types.scalar_of(memory.dtype) if dtype is None else dtype, copy=False)


# What there is none of: streams that differ, pools of memory on GPUs.


def get_stream(device=None) -> Stream:
    return Stream(device)


def set_stream(stream, device=None, sync=False) -> None:
    get_device(device)


def wait_stream(other, event=None) -> None:
    """Does nothing: launches run one after the other."""


def is_mempool_supported(device=None) -> bool:
    get_device(device)
    return False


def is_mempool_enabled(device=None) -> bool:
    get_device(device)
    return False


def set_mempool_enabled(device, enable) -> None:
    _no_pool(device, enable)


def set_mempool_release_threshold(device, threshold) -> None:
    _no_pool(device, True)


def get_mempool_release_threshold(device=None) -> int:
    return _no_pool(device, True)


def get_mempool_used_mem_current(device=None) -> int:
    return _no_pool(device, True)


def get_mempool_used_mem_high(device=None) -> int:
    return _no_pool(device, True)


def is_peer_access_supported(target_device, peer_device) -> bool:
    return False


def _no_pool(device, wanted):
    if wanted:
        raise RuntimeError(f"the device `{get_device(device)}` has no pool of memory: that is of GPUs")
    return 0


# Graphs whose parts run as conditions say.


def capture_while(condition, while_body, stream=None, **arguments) -> None:
    """Does `while_body` as long as the one element of `condition` is not 0, also when a captured graph is launched."""
    body = _step(while_body, arguments)

    def run():
        while int(condition.numpy().reshape(-1)[0]):
            body()

    done(run)


def capture_if(condition, on_true=None, on_false=None, stream=None, **arguments) -> None:
    """Does one of two things, as the one element of `condition` says, also when a captured graph is launched."""
    steps = {True: on_true and _step(on_true, arguments), False: on_false and _step(on_false, arguments)}

    def run():
        step = steps[bool(int(condition.numpy().reshape(-1)[0]))]
        if step:
            step()

    done(run)


def _step(body, arguments):
    """What a function does, or the steps of a graph."""
    from ._launches import _captured as captured

    steps = body.steps if hasattr(body, "steps") else captured(lambda: body(**arguments))

    def run():
        for step in steps:
            step()

    return run


# Functions of elements.

_MAPPED: dict = {}


def map(function, *inputs, out=None, return_kernel=False, block_dim=256, device=None):
    """Calls a function for each element of arrays, with numbers beside them; gives an array, or several where it has several results."""
    arrays = [value for value in inputs if isinstance(value, array)]
    if not arrays:
        raise TypeError("wp.map takes an array, at least")
    shape = np.broadcast_shapes(*(value.shape for value in arrays))
    kinds = tuple((value.dtype, value.ndim) if isinstance(value, array) else type(value) for value in inputs)
    outs = None if out is None else tuple(out) if isinstance(out, (list, tuple)) else (out,)
    called = _called(function, len(inputs))
    places = tuple(_place(value.shape, shape) if isinstance(value, array) else None for value in inputs)
    key = (function, kinds, places)
    if key not in _MAPPED:
        _MAPPED[key] = _mapped(called, inputs, len(shape), places)
    kernel, results = _MAPPED[key]
    if outs is None:
        wanted = any(value.requires_grad for value in arrays)
        outs = tuple(empty(shape, dtype, arrays[0].device, wanted) for dtype in results)
    if return_kernel:
        return kernel
    launch(kernel, dim=shape, inputs=list(inputs), outputs=outs)
    return outs[0] if len(outs) == 1 else outs


def _kind(value):
    """The type of a number, or of an array's elements."""
    if not isinstance(value, array):
        return value if isinstance(value, type) else type(value) if isinstance(value, _types.Composite) else _types.scalar_of(type(value))
    composite = isinstance(value.dtype, type) and (issubclass(value.dtype, _types.Composite) or _types.is_struct(value.dtype))
    return value.dtype if composite else _types.scalar_of(value.dtype)


def _place(own, shape) -> str:
    """The element of an array for the coordinates of a launch: along dimensions in which it is repeated always the first one."""
    names = "ijkl"[len(shape) - len(own) : len(shape)]
    return ", ".join("0" if n == 1 != m else name for n, m, name in zip(own, shape[len(shape) - len(own) :], names))


def _called(function, count):
    if isinstance(function, Func) or hasattr(function, "_kc_word"):
        return function
    if not callable(function):
        raise TypeError(f"wp.map takes a function, not a {type(function).__name__}")
    if getattr(function, "__name__", "") == "<lambda>":
        raise TypeError("wp.map takes a function made by @wp.func, or a built-in: a lambda has no source of its own here")
    return func(function)


def _mapped(function, inputs, dims, places):
    """The kernel of a map, and the types of what the function gives."""
    from .._host import _results, _text
    from .. import _native
    from .._capture import Program, Source
    from .._errors import CompileError

    name = getattr(function, "_kc_word", None)
    source = Source(function._kc_function) if name is None else None
    files, call = [], f"_kc_warp.{name}"
    folder = "/"
    if source is not None:
        program = Program(source, function._kc_function, "func")
        folder = program.root
        module, path = program._module(function.__name__)
        files = [*program.given, (path, program.path, program.text)]
        call = f"{module}.{function.__name__}"
    indices = ["i", "j", "k", "l"][:dims]
    kinds = [_kind(value) for value in inputs]
    names = [f"a{n}" for n in range(len(inputs))]
    head = []
    for name, value, kind in zip(names, inputs, kinds):
        text = _text(kind).replace("wp.", "_kc_warp.")
        head.append(f"{name}: _kc_warp.array(dtype={text}, ndim={value.ndim})" if isinstance(value, array) else f"{name}: {text}")
    at = ", ".join(indices)
    items = ", ".join(name if place is None else f"{name}[{place}]" for name, place in zip(names, places))
    refused = None
    for result in _results(tuple(kinds)):
        text = _text(result).replace("wp.", "_kc_warp.")
        lines = [
            "import warp as _kc_warp", *([f"import {call.split('.')[0]}"] if source is not None else []), "@_kc_warp.kernel",
            f"def mapped({', '.join(head)}, out: _kc_warp.array(dtype={text}, ndim={dims})):",
            f"    {at} = _kc_warp.tid()", f"    out[{at}] = {call}({items})", "",
        ]
        try:
            native = _native.compile(f"{folder}/<wp.map>", "\n".join(lines), files)
        except CompileError as error:
            if error.code not in ("E0303",):
                raise
            refused = error
            continue
        return Kernel(lambda: (native, "mapped", {}), getattr(function, "__name__", "mapped")), [result]
    raise TypeError(f"wp.map: the function gives no value that an array has: {refused.message if refused else ''}")

