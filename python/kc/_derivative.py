"""Derivatives of one launch: what the run needs, and what comes of it."""

from __future__ import annotations

import numpy as np

from . import _device, _native
from ._arguments import as_memory, parameters_of, refuse, zeros_like
from ._native import Arguments


def by_value(found) -> dict:
    """Gradients of values: numbers, and arrays of float64 for vectors and matrices."""
    return {name: np.reshape(sums, shape) if shape else sums[0] for name, shape, sums in found}


def fill(name, gradient, given):
    """Sets a gradient, or a tangent, to what the caller gave for it."""
    if given is None:
        raise refuse("E1005", f"what is given for `{name}` is None", "leave it out: what is not given is zero")
    array = as_memory(given) if hasattr(given, "shape") else np.asarray(given, gradient.dtype)
    if array is None or array.shape not in ((), gradient.shape):
        shape = getattr(array, "shape", None)
        raise refuse("E1009", f"what is given for `{name}` has shape {shape}, and the array {gradient.shape}")
    if array.dtype != gradient.dtype and array.shape != ():
        raise refuse("E1005", f"what is given for `{name}` is of {array.dtype}, and the array of {gradient.dtype}")
    _device.put(gradient, array)


def jvp(kernel, dim, arguments, named, tangents) -> dict:
    kernel, dim, values = kernel._arguments(dim, *arguments, **named)
    arguments, seeds, made = Arguments(kernel, values), dict(tangents), {}
    slots = [slot for slot in arguments.slots if slot.floats]
    started = {}
    for slot in slots:
        if slot.first not in made and (slot.name in seeds or slot.writes):
            made[slot.first] = _device.zeros(_device.place_of(slot.array), slot.array.shape, slot.array.dtype)
        if slot.name in seeds:
            other = started.setdefault(slot.first, slot.name)
            far = _device.is_far(slot.array)
            before = None if far else made[slot.first].copy()
            fill(slot.name, made[slot.first], seeds.pop(slot.name))
            if other != slot.name and (far or not np.array_equal(before, made[slot.first], equal_nan=True)):
                raise refuse("E1010", f"`{other}` and `{slot.name}` are one array, with two tangents")
    along = {slot.name: made.get(slot.first) for slot in slots}
    along = [_tangent(name, kind, along, seeds) for name, kind in parameters_of(kernel)]
    if seeds:
        unknown = ", ".join(f"`{name}`" for name in seeds)
        known = ", ".join(f"`{name}`" for name in (*(slot.name for slot in slots), *arguments.floats)) or "none"
        raise refuse("E1004", f"kernel `{kernel.__name__}` has no floats {unknown}; it has {known}")
    if arguments.far:
        _look(kernel, dim, arguments, along)
    _native.tangents(kernel, dim, [*values, *along])
    return {slot.name: _handed(made[slot.first], slot.given) for slot in slots if slot.first in made and slot.writes}


def _look(kernel, dim, arguments, along):
    """Raises where the order of threads shows in a launch on a GPU. Each form of it is looked at once, on copies."""
    known = kernel.__dict__.setdefault("_looked", set())
    form = arguments.form(dim)
    key = None if form is None else tuple(form)
    if key in known and key is not None:
        return
    values = arguments.filled(lambda slot: _device.read(slot.array) if _device.is_far(slot.array) else slot.array)
    _native.look_tangents(kernel, dim, [*values, *map(_near, along)])
    if key is not None and len(known) < _MOST_FORMS:
        known.add(key)


#: So many forms of launches of a kernel are remembered.
_MOST_FORMS = 256


def _near(value):
    if isinstance(value, dict):
        return {name: _near(item) for name, item in value.items()}
    return _device.read(value) if _device.is_far(value) else value


def _handed(tangent, given):
    """A tangent for who asked: one in the memory of a GPU is an array of kc."""
    from ._array import _wrap

    return _wrap(tangent, given.dtype, False) if _device.is_far(tangent) else tangent


def second(kernel, dim, values, seeds, tangents, seed_tangents) -> dict:
    """How the gradients of arrays change, by name: in reverse mode from ``seeds``, along ``tangents`` of the arguments and of the
    arrays as the launch left them, and along ``seed_tangents``. A launch with these values left the arrays as they are.
    """
    slots = [slot for slot in Arguments(kernel, values).slots if slot.floats]
    gradients, along, products = {}, {}, {}
    for slot in slots:
        name = slot.name
        gradients[name] = zeros_like(slot.array)
        along[name] = np.ascontiguousarray(tangents.pop(name, np.zeros(slot.array.shape, slot.array.dtype)))
        products[name] = gradients[f"d_{name}"] = np.zeros(slot.array.shape, slot.array.dtype)
        if name in seeds:
            gradients[name][...] = seeds[name]
        if name in seed_tangents:
            products[name][...] = seed_tangents[name]
    along = [_tangent(name, kind, along, tangents) for name, kind in parameters_of(kernel)]
    _native.second(kernel, dim, values, along, gradients)
    return products


def _tangent(name, about, arrays, seeds):
    """That of an argument: what was made for arrays, and what was given for values."""
    if "fields" in about:
        return {field: _tangent(f"{name}.{field}", kind, arrays, seeds) for field, kind in about["fields"].items()}
    if "ndim" in about:
        return arrays.get(name)
    if about["float"] and name in seeds:
        return seeds.pop(name)
    return np.zeros(about["shape"]) if about["shape"] else 0
