"""Functions of tensors in the memory of a GPU: what runs there, and what is known of it without a wait.

Nothing here reads the GPU but the race check, which looks at copies once for each form of call.
"""

from __future__ import annotations

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import _batch, _derivative, _device, _native
from ._arguments import parameters_of
from ._derivative import by_value as values_of
from ._errors import DeviceError

#: So many forms of calls are remembered.
_MOST = 256


class Forms:
    """Forms of calls of which the race check is done."""

    def __init__(self):
        self._known, self._storages = set(), {}

    def __contains__(self, form):
        return form in self._known

    def add(self, form):
        if len(self._known) >= _MOST:
            self._known.clear()
            self._storages.clear()
        self._known.add(form)

    def contents(self, tensor):
        """What stands for the elements of a tensor: it changes when PyTorch writes to them. None: PyTorch does not count that."""
        try:
            version = tensor._version
        except RuntimeError:
            return None
        storage = StorageWeakRef(getattr(tensor, "untyped_storage", tensor.storage)())
        # While it is kept, no other storage is at that place.
        self._storages.setdefault(storage.cdata, storage)
        return storage.cdata, tensor.storage_offset(), tensor.stride(), version


def plain(value):
    """A value of a form of calls. None: it is none."""
    if value is None or isinstance(value, (bool, int, float)):
        return type(value).__name__, value
    if isinstance(value, (tuple, list)):
        parts = tuple(map(plain, value))
        return None if None in parts else parts
    return None


def is_captured() -> bool:
    """Whether what is given to PyTorch's current stream now is kept for a graph."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def waits(kernel, what, advice) -> DeviceError:
    """The exception for what would end the capture of a graph."""
    return _device.refused(f"a graph is captured, and {what} in a call of kernel `{kernel.__name__}`", advice)


# Numbers.


def with_numbers_there(kernel, values, is_there):
    """The kernel that reads numbers from arrays of one element where they are tensors on a GPU, and their names."""
    names = [name for (name, kind), value in zip(parameters_of(kernel), values) if is_there(value) and _is_read_there(kind, value)]
    reader = _batch.reading(kernel, names) if names else None
    return (kernel, ()) if reader is None else (reader, frozenset(names))


def _is_read_there(kind, value) -> bool:
    """Whether a tensor is a number, vector or matrix that fits for certain."""
    if "ndim" in kind or "fields" in kind or kind["scalar"] == "uint64" or tuple(value.shape) != tuple(kind["shape"]):
        return False
    wanted, found = getattr(torch, kind["scalar"], None), value.dtype
    if wanted is None or found is torch.bool or wanted is torch.bool:
        return wanted is found
    if wanted.is_floating_point:
        return not found.is_complex
    if found.is_floating_point or found.is_complex:
        return False
    room, own = torch.iinfo(wanted), torch.iinfo(found)
    return room.min <= own.min and own.max <= room.max


# Derivatives.


def reverse(call, tensors, outputs, seeds, by_value):
    """The gradients of arrays and of values, by name, where the call runs. None: the host has to."""
    from .torch import _OnHost, _on_host, _view, _views

    records = _native.records(call.kernel, [])
    captured = is_captured()
    if captured and (by_value or records or not _native.is_alone(call.kernel)):
        advice = "leave it out of the graph; numbers in tensors have gradients there where they are no fields of structs"
        raise waits(call.kernel, "a derivative that takes memory of its own, or sums over numbers, runs", advice)
    found = {leaf.name: torch.zeros_like(tensors[leaf.index]) for leaf in call.leaves if leaf.is_array}
    form = call.form([(leaf, tensors[leaf.index]) for leaf in call.leaves])
    # A run on a GPU does not look, as one on the host does that keeps values.
    if form is None or form not in call.free:
        if captured:
            raise waits(call.kernel, "what looks for races reads arrays", "do the same once before the capture")
        host = _on_host(tensors)
        # What their gradients hold does not matter.
        _OnHost(call, host, call.zeros(host), _zeros_near({**found, **seeds})).look(form)
    data = call.filled(tensors, _views(call.before(tensors) if records else outputs))
    slots = {name: _view(gradient) for name, gradient in {**found, **seeds}.items() if gradient.is_floating_point()}
    try:
        made = _native.gradient(call.kernel, call.dim, data, slots, [], parameters=by_value, backward=not records, silent=True)
    except DeviceError as error:
        if error.code != "E1104" or captured:
            raise
        # Something that the host alone does.
        return None
    return found, values_of(made)


def _zeros_near(tensors):
    """Zeros on the host, of the forms of tensors."""
    return {name: torch.zeros(one.shape, dtype=one.dtype, device="cpu") for name, one in tensors.items()}


def forward(call, tensors, tangents):
    """The tangents of the outputs that are floats, by name, where the call runs. None: the host has to."""
    from .torch import _on_host, _view, _views

    captured = is_captured()
    tensors = [tensor if tensor.is_contiguous() else tensor.detach().contiguous() for tensor in tensors]
    along, values = {}, {}
    for leaf in call.leaves:
        tangent = tangents[leaf.index]
        if tangent is None or not tensors[leaf.index].is_floating_point():
            continue
        if leaf.is_array:
            along[leaf.name] = tangent.detach().contiguous()
        else:
            values[leaf.name] = call.read(leaf, tangent)
    outputs = call.before(tensors)
    results = {name: torch.zeros_like(one) for name, one in outputs.items() if one.is_floating_point()}
    for name, index in call.starts.items():
        if name in results and tangents[index] is not None:
            results[name].copy_(tangents[index])
    about = parameters_of(call.kernel)
    beside = lambda arrays: [_derivative._tangent(name, kind, arrays, dict(values)) for name, kind in about]
    form = call.form([(leaf, tensors[leaf.index]) for leaf in call.leaves])
    form = None if form is None else ("forward", *form, tuple(sorted(along)))
    if form is None or form not in call.free:
        if captured:
            raise waits(call.kernel, "what looks for races reads arrays", "do the same once before the capture")
        host = _on_host(tensors)
        zeros = _zeros_near({**along, **results})
        _native.look_tangents(call.kernel, call.dim, [*call.filled(host, _views(call.zeros(host))), *beside(_views(zeros))])
        if form is not None:
            call.free.add(form)
    data = [*call.filled(tensors, _views(outputs)), *beside({name: _view(one) for name, one in {**along, **results}.items()})]
    try:
        _native.tangents(call.kernel, call.dim, data)
    except DeviceError as error:
        if error.code != "E1104" or captured:
            raise
        # Its threads run one after the other.
        return None
    return results


def second(call, tensors, outputs, seeds, tangents, seed_tangents):
    """How the gradients of arrays change, by name, where the call runs. None: the host has to."""
    from .torch import _views

    dense = lambda one: one.detach().contiguous()
    tensors, outputs = [*map(dense, tensors)], dict(zip(call.names, map(dense, outputs)))
    arrays = {leaf.name: tensors[leaf.index] for leaf in call.leaves if leaf.is_array} | outputs
    gradients, along = {}, {}
    for name, array in arrays.items():
        if not array.is_floating_point():
            continue
        along[name] = dense(tangents[name]) if name in tangents else torch.zeros_like(array)
        # The derivative changes those that it starts from.
        for key, given in ((name, seeds), (f"d_{name}", seed_tangents)):
            made = given[name].detach().clone(memory_format=torch.contiguous_format) if name in given else None
            gradients[key] = torch.zeros_like(array) if made is None else made
    data = call.filled(tensors, _views(outputs))
    beside = [_derivative._tangent(name, kind, _views(along), {}) for name, kind in parameters_of(call.kernel)]
    try:
        _native.second(call.kernel, call.dim, data, beside, _views(gradients))
    except DeviceError as error:
        if error.code != "E1104" or is_captured():
            raise
        return None
    return {name: gradients[f"d_{name}"] for name in along}
