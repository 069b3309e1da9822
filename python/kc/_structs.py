"""Structs in arrays: values of Python as rows of NumPy, and who keeps the arrays and textures that are in elements."""

from __future__ import annotations

import weakref

import numpy as np

from . import _native, _types
from ._arguments import as_memory, as_numpy, refuse
from ._device import is_far

#: An array as kernels have it in the element of another one: that is, its memory.
_FIELDS = [("data", "u8"), ("grad", "u8"), ("shape", "i4", (4,)), ("strides", "i4", (4,)), ("ndim", "i4"), ("flags", "i4")]
DESCRIPTOR = np.dtype(_FIELDS, align=True)
#: The same of textures of one, two and three dimensions.
_TEXTURES = [
    np.dtype([("tex", "u8"), *((name, "i4") for name in ("width", "height", "depth")[:ndim]), ("metadata", "u4")], align=True)
    for ndim in (1, 2, 3)
]


#: Who keeps the arrays that are in the elements of others: by the NumPy array that owns the memory of these, as long as it lives.
_KEEPERS = {}


class _Keeper:
    def __init__(self, owner):
        self.owner = weakref.ref(owner, lambda _, key=id(owner): _KEEPERS.pop(key, None))
        #: The arrays and textures, by their descriptors.
        self.kept = {}
        #: What was looked at, and how it was found.
        self.seen = {}


def _keeper(memory, made=False):
    """That of an array; one is made where it is wanted and there is none."""
    owner = memory
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    keeper = _KEEPERS.get(id(owner))
    if keeper is None and made:
        keeper = _KEEPERS[id(owner)] = _Keeper(owner)
    return keeper


def _within(dtype, path=()):
    """The fields of an element that are arrays or textures."""
    if dtype == DESCRIPTOR or dtype in _TEXTURES:
        yield path
        return
    for name in dtype.names or ():
        yield from _within(dtype[name], (*path, name))


def _at(memory, path):
    for name in path:
        memory = memory[name]
    return memory


def keep(memory, value):
    """Arrays that are in elements of another array are in those of this one, too, from now on."""
    # An element is a part of its array.
    value = value.base if isinstance(value, np.void) else value
    its = as_memory(value) if isinstance(value, (np.ndarray, _native.Array)) else None
    its = None if its is None or is_far(its) else _keeper(its)
    if its is not None:
        _add(memory, its.kept)


def _add(memory, arrays):
    if not arrays:
        return
    keeper = _keeper(memory, made=True)
    if keeper.kept is arrays:
        return
    keeper.kept.update(arrays)
    owner = keeper.owner()
    slots = [_at(owner, path) for path in _within(owner.dtype)]
    if slots and len(keeper.kept) > 64 + 2 * sum(slot.size for slot in slots):
        # Most were replaced.
        there = set().union(*(_descriptors(slot) for slot in slots), arrays)
        keeper.kept = {key: array for key, array in keeper.kept.items() if key in there}


def _descriptors(slot) -> set:
    return set(np.ascontiguousarray(slot).view(f"V{slot.dtype.itemsize}").ravel().tolist())


def rows(values, kind, memory=None):
    """Values of a struct, in lists, as NumPy has them. The arrays in them are kept by ``memory``, if they go there."""
    found = {}
    made = np.array(_rows(values, kind, found), kind.numpy_dtype())
    _add(made if memory is None else memory, found)
    return made


def _rows(values, kind, found):
    if isinstance(values, list):
        return [_rows(value, kind, found) for value in values]
    return _row(values, kind, found, kind.__name__)


def _row(value, kind, found, where):
    fields = kind._fields()
    texture = not issubclass(kind, _types.Struct)
    if value is None and texture:
        return (0,) * len(fields)
    if isinstance(value, (tuple, np.void)) and len(value) == len(fields):
        items = list(value)
    elif isinstance(value, dict) and value.keys() == fields.keys():
        items = [value[name] for name in fields]
    elif isinstance(value, kind):
        items = [getattr(value, name) for name in fields]
    else:
        raise refuse("E1005", f"expected a struct `{where}`, found {_shown(value)}", f"make one with `{kind.__name__}()`, and set its fields")
    row = tuple(_item(item, of, found, f"{where}.{name}") for item, (name, of) in zip(items, fields.items()))
    if texture and isinstance(value, kind):
        found[np.array(row, kind.numpy_dtype()).tobytes()] = value
    return row


def _item(value, kind, found, where):
    if isinstance(kind, _types.ArrayType):
        return _descriptor(value, kind, found, where)
    if _types.is_struct(kind):
        return _row(value, kind, found, where)
    from ._array import converted

    layout = _types.numpy_layout(kind)
    try:
        numbers = converted(value, layout.base, only_integers=True)
    except (TypeError, ValueError) as error:
        raise refuse("E1005", f"`{where}` is of type {getattr(kind, '__name__', kind)}: {error}") from None
    if numbers.shape != layout.shape:
        raise refuse("E1005", f"`{where}` is of type {getattr(kind, '__name__', kind)}, and what is given has the shape {numbers.shape}")
    return numbers.tolist()


def _descriptor(value, kind, found, where):
    if value is None:
        return 0, 0, (0,) * 4, (0,) * 4, 0, 0
    memory = as_numpy(value)
    if memory is None:
        raise refuse("E1005", f"`{where}` is an array, found {_shown(value)}", "make an array of it, with `kc.array`")
    layout, inner = _layout(kind.dtype)
    shape, strides = memory.shape[: kind.ndim], memory.strides[: kind.ndim]
    if memory.dtype != layout or memory.shape[kind.ndim :] != inner or memory.ndim != kind.ndim + len(inner):
        wanted = f"{kind.ndim} dimension{'s' if kind.ndim > 1 else ''} of {getattr(kind.dtype, '__name__', kind.dtype)}"
        raise refuse("E1005", f"`{where}` is an array with {wanted}, found one of {memory.dtype} with the shape {memory.shape}")
    whole = np.empty((1, *inner), layout)
    if memory.size and (memory.strides[kind.ndim :] != whole.strides[1:] or not memory.flags.aligned or not memory.flags.writeable):
        raise refuse("E1009", f"`{where}`: its elements have gaps, are not aligned, or cannot be written", "pass a copy")
    if any(not 0 <= n < 2**31 for n in (*shape, *(abs(step) for step in strides))):
        raise refuse("E1006", f"`{where}`: extents and strides in bytes are at most {2**31 - 1}")
    fill = (0,) * (4 - kind.ndim)
    address = memory.__array_interface__["data"][0] if memory.size else 0
    made = address, 0, (*shape, *fill), (*strides, *fill), kind.ndim, 0
    found[np.array(made, DESCRIPTOR).tobytes()] = value if isinstance(value, _native.Array) else memory
    return made


def _layout(dtype):
    """The NumPy type of an array of a type, and the extents of an element."""
    layout = _types.numpy_layout(dtype)
    return layout.base, layout.shape


def _shown(value) -> str:
    return "None" if value is None else f"`{value!r}`" if isinstance(value, (int, float, str)) else f"an object of type `{type(value).__name__}`"


def wrong(value, wanted) -> str | None:
    """Why a kernel cannot have an array of structs with arrays in them. ``wanted``: what an element is for the kernel."""
    kind = getattr(value, "dtype", None)
    if not isinstance(value, _native.Array) or not isinstance(kind, type) or not issubclass(kind, _types.Struct):
        return "its elements hold arrays, and nobody is known to keep these"
    if _outline(kind) != wanted:
        return f"its elements are structs `{kind.__name__}`, whose fields are not those of the kernel's"
    return _unkept(value, set())


def _unkept(value, known):
    memory = value._data
    keeper = _keeper(memory, made=True)
    if id(keeper) in known:
        return None
    known.add(id(keeper))
    for path in _within(memory.dtype):
        slot = _at(memory, path)
        place = (slot.__array_interface__["data"][0], slot.shape, slot.strides)
        number = _native.digest(slot)
        if keeper.seen.get(place) != number:
            if _descriptors(slot) - keeper.kept.keys() - {bytes(slot.dtype.itemsize)}:
                return f"field `{'.'.join(path)}` of an element is an array that no Python code put there"
            if len(keeper.seen) >= 64:
                keeper.seen.clear()
            keeper.seen[place] = number
    inner = (array for array in keeper.kept.values() if isinstance(array, _native.Array) and array._data.dtype.names)
    return next((what for what in (_unkept(array, known) for array in inner) if what), None)


def _outline(kind):
    """What a type is made of, as the compiled half tells it: names do not count."""
    if isinstance(kind, _types.ArrayType):
        return kind.ndim, _outline(kind.dtype)
    if _types.is_struct(kind):
        return {name: _outline(of) for name, of in kind._fields().items()}
    if isinstance(kind, type) and issubclass(kind, _types.Composite):
        return kind._scalar.__name__, list(kind._shape)
    return _types.scalar_of(kind).__name__, []
