"""The arguments of one launch by name, as derivatives need them: which arrays there are, and which of them are one."""

from __future__ import annotations

import numpy as np

from . import _native
from ._errors import ArgumentError


def refuse(code: str, text: str, advice: str | None = None) -> ArgumentError:
    """The exception for arguments that do not fit."""
    more = f"\n  = help: {advice}" if advice else ""
    return ArgumentError(f"error[{code}]: {text}{more}", code=code, message=text)


class Place:
    """Where the memory of an array is: from byte ``low`` to before ``high``. ``key`` is the same for arrays with the same elements."""

    __slots__ = ("key", "start", "low", "high")

    def __init__(self, array, start, low, high):
        self.key = (start, array.shape, array.strides, array.dtype)
        self.start, self.low, self.high = start, low, high

    def meets(self, other) -> bool:
        return self.low < other.high and other.low < self.high


def places(arrays) -> list:
    """Of each array."""
    return [Place(array, *reach) for array, reach in zip(arrays, _native.reaches(arrays)[0])]


class Slot:
    """An array argument: a parameter, or a field of a struct (``"s.x"``)."""

    __slots__ = ("name", "path", "about", "given", "array", "place", "earlier", "floats", "writes")

    def __init__(self, name, path, about, given, array):
        self.name, self.path, self.about = name, path, about
        #: What the caller passed, and the NumPy array of its memory.
        self.given, self.array = given, array
        #: Where its memory is.
        self.place = None
        #: The first slot with the same array, if that is another one.
        self.earlier = None
        #: Whether its elements are floats, and whether the kernel writes to it by this name.
        self.floats, self.writes = about["floats"], about["writes"]

    @property
    def first(self) -> Slot:
        return self.earlier or self

    @property
    def held(self):
        """The gradient that the caller's array has, as a NumPy array."""
        grad = self.given._grad if isinstance(self.given, _native.Array) else None
        return None if grad is None else as_numpy(grad)


def parameters_of(kernel) -> list:
    """Name and description of each parameter. They stay as they are once the kernel is compiled."""
    known = kernel.__dict__.get("_known_parameters")
    if known is None:
        known = kernel.__dict__["_known_parameters"] = kernel._parameters()
    return known


class Arguments:
    """``tree`` is what goes to the kernel, with slots for arrays and dicts for structs."""

    def __init__(self, kernel, values):
        self.kernel = kernel.__name__
        self.slots = []
        #: Name and description of each float that is given by value.
        self.floats = {}
        parameters = parameters_of(kernel)
        self.tree = [
            self._value((n,), name, about, value) for n, ((name, about), value) in enumerate(zip(parameters, values))
        ]
        #: Pairs of paths of slots with one array.
        self.same = []
        #: Pairs of slots that are only read, and share memory.
        self.shared = []
        self._compare()
        #: The first slot of each array that the kernel writes to.
        self.written = {slot.first for slot in self.slots if slot.writes}

    def _value(self, path, name, about, value):
        if "fields" in about:
            fields = about["fields"].items()
            return {
                field: self._value((*path, k), f"{name}.{field}", inner, field_of(name, value, field))
                for k, (field, inner) in enumerate(fields)
            }
        if "ndim" not in about:
            if about["float"]:
                self.floats[name] = about
            return value
        array = None if value is None else as_numpy(value)
        if array is None:
            return value
        slot = Slot(name, path, about, value, array)
        self.slots.append(slot)
        return slot

    def _compare(self):
        """Finds arrays that are one. A derivative takes different parameters to share no memory that is written."""
        arrays = [slot.array for slot in self.slots]
        reaches, meeting = _native.reaches(arrays)
        for slot, array, reach in zip(self.slots, arrays, reaches):
            slot.place = Place(array, *reach)
        for i, j in meeting:
            a, b = self.slots[i], self.slots[j]
            if _is_one(a, b):
                if b.first is b:
                    b.earlier = a.first
                    self.same.append((a.first.path, b.path))
            elif a.first is a and b.first is b and _share(a.array, b.array):
                if a.writes or b.writes:
                    text = f"arguments `{a.name}` and `{b.name}` of kernel `{self.kernel}` share memory, and the kernel writes to it"
                    advice = "pass one array for both, or arrays that share nothing: a derivative of this launch may be wrong"
                    raise refuse("E1010", text, advice)
                self.shared.append((a, b))

    def filled(self, of) -> list:
        """The arguments for the kernel, with ``of(slot)`` in the place of each slot."""

        return [_filled(node, of) for node in self.tree]

    def names(self, wanted) -> str:
        """For messages."""
        return ", ".join(f"`{slot.name}`" for slot in self.slots if wanted(slot)) or "none"


def _filled(node, of):
    if isinstance(node, Slot):
        return of(node)
    return {name: _filled(inner, of) for name, inner in node.items()} if type(node) is dict else node


def _is_one(a, b) -> bool:
    return a.about["type"] == b.about["type"] and a.place.key == b.place.key


def _share(x, y) -> bool:
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
    """A NumPy array of the same memory. None: it is no array."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, _native.Array):
        return value.numpy()
    if hasattr(value, "__dlpack__"):
        # PyTorch keeps tensors that require a gradient to itself.
        if getattr(value, "requires_grad", False) and hasattr(value, "detach"):
            value = value.detach()
        return _of(value, _native.describe(value))
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        return None


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
        from ._types import scalar_of

        array = array.view(scalar_of("bfloat16").numpy_dtype)
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
    if array.flags.c_contiguous or array.size == 0:
        return np.zeros(array.shape, array.dtype)
    reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides)]
    below = -sum(step for step in reach if step < 0)
    above = sum(step for step in reach if step > 0) + array.dtype.itemsize
    return np.ndarray(array.shape, array.dtype, np.zeros(below + above, np.uint8), below, array.strides)


def copy(array):
    """The same elements, at the same strides where that can be."""
    if not is_plain(array):
        return np.array(array)
    made = zeros_like(array)
    made[...] = array
    return made
