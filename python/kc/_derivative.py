"""Derivatives of one launch: what the run needs, and what comes of it."""

from __future__ import annotations

import numpy as np

from . import _native
from ._arguments import Arguments, Slot, as_numpy, is_plain, parameters_of, refuse, zeros_like


def grad(kernel, dim, arguments, named, grads, parameters) -> dict:
    dim, values = kernel._arguments(dim, *arguments, **named)
    run = Reverse(kernel, Arguments(kernel, values), dict(grads or {}))
    return run(dim, parameters)


class Reverse:
    """A run of a kernel and its derivative."""

    def __init__(self, kernel, arguments, seeds):
        self.kernel, self.arguments = kernel, arguments
        #: By slots that stand for all with the same array: what the kernel works on, and its gradient.
        self.data, self.gradient = {}, {}
        #: What is done after the run.
        self.after = []
        self.seeded = False
        shared = {slot for pair in arguments.shared for slot in pair}
        for slot in arguments.slots:
            if slot.first is slot:
                self._prepare(slot, slot in shared)
        for slot in arguments.slots:
            if slot.name in seeds:
                if slot.floats:
                    self.seeded = True
                    fill(slot.name, self.gradient[slot.first], seeds.pop(slot.name))
        if seeds:
            unknown = ", ".join(f"`{name}`" for name in seeds)
            known = arguments.names(lambda slot: slot.floats)
            raise refuse("E1004", f"kernel `{kernel.__name__}` has no array of floats {unknown}; it has {known}")
        if not self.seeded:
            advice = "say how the result depends on what the kernel writes: grads={'loss': 1.0}"
            raise refuse("E1004", f"no gradient to start from for kernel `{kernel.__name__}`", advice)

    def _prepare(self, slot, shared):
        array = self.data[slot] = slot.array
        if not slot.floats:
            return
        writes = slot in self.arguments.written
        if not is_plain(array):
            # Its gradient has a place for every element.
            if writes:
                text = f"elements of argument `{slot.name}` of kernel `{self.kernel.__name__}` share memory, and it writes to them"
                raise refuse("E1010", text)
            self.data[slot] = np.array(array)
        data, held = self.data[slot], slot.held
        if held is None:
            self.gradient[slot] = zeros_like(data)
        elif shared:
            # Two gradients may share memory, too.
            found = self.gradient[slot] = zeros_like(data)
            self.after.append(lambda: np.add(held, found, out=held))
        elif held.strides == data.strides:
            self.gradient[slot] = held
        else:
            found = self.gradient[slot] = zeros_like(data)
            found[...] = held
            self.after.append(lambda: np.copyto(held, found))
        self.seeded |= held is not None and writes

    def __call__(self, dim, parameters) -> dict:
        slots = self.arguments.slots
        given = {slot.name: self.gradient[slot.first] for slot in slots if slot.floats}
        values = self.arguments.filled(lambda slot: self.data[slot.first])
        wanted = parameters and bool(self.arguments.floats)
        found = _native.gradient(self.kernel, dim, values, given, self.arguments.same, parameters=wanted)
        for step in self.after:
            step()
        return {**given, **by_value(found)}


def by_value(found) -> dict:
    """Gradients of values: numbers, and arrays of float64 for vectors and matrices."""
    return {name: np.reshape(sums, shape) if shape else sums[0] for name, shape, sums in found}


def fill(name, gradient, given):
    """Sets a gradient, or a tangent, to what the caller gave for it."""
    array = as_numpy(given) if hasattr(given, "shape") else np.asarray(given, gradient.dtype)
    if array is None or array.shape not in ((), gradient.shape):
        shape = getattr(array, "shape", None)
        raise refuse("E1009", f"what is given for `{name}` has shape {shape}, and the array {gradient.shape}")
    if array.dtype != gradient.dtype and array.shape != ():
        raise refuse("E1005", f"what is given for `{name}` is of {array.dtype}, and the array of {gradient.dtype}")
    gradient[...] = array


def jvp(kernel, dim, arguments, named, tangents) -> dict:
    dim, values = kernel._arguments(dim, *arguments, **named)
    arguments, seeds, made = Arguments(kernel, values), dict(tangents), {}
    for slot in arguments.slots:
        wanted = slot.floats and (slot.name in seeds or slot.writes)
        if wanted and slot.first not in made:
            made[slot.first] = np.zeros(slot.array.shape, slot.array.dtype)
        if slot.floats and slot.name in seeds:
            fill(slot.name, made[slot.first], seeds.pop(slot.name))

    about = parameters_of(kernel)
    along = [_tangent(name, kind, node, made, seeds) for (name, kind), node in zip(about, arguments.tree)]
    if seeds:
        unknown = ", ".join(f"`{name}`" for name in seeds)
        floats = [*(slot.name for slot in arguments.slots if slot.floats), *arguments.floats]
        known = ", ".join(f"`{name}`" for name in floats) or "none"
        raise refuse("E1004", f"kernel `{kernel.__name__}` has no floats {unknown}; it has {known}")
    _native.tangents(kernel, dim, [*arguments.filled(lambda slot: slot.given), *along])
    return {slot.name: made[slot.first] for slot in arguments.slots if slot.first in made and slot.writes}


def _tangent(name, about, node, made, seeds):
    """That of an argument: what was made for arrays, and what was given for values."""
    if "fields" in about:
        fields = about["fields"].items()
        return {field: _tangent(f"{name}.{field}", kind, node[field], made, seeds) for field, kind in fields}
    if "ndim" in about:
        return made.get(node.first) if isinstance(node, Slot) else None
    if about["float"] and name in seeds:
        return seeds.pop(name)
    return np.zeros(about["shape"]) if about["shape"] else 0
