"""Volumes: sparse grids of voxels in NanoVDB's form, which kernels look up and sample. The compiled half is `volumes.rs`."""

from __future__ import annotations

import math
import numbers
import typing

import numpy as np

from . import _array, _native, _types
from ._arguments import as_numpy, refuse
from ._engines import Engine

#: The types of values, by their names in NanoVDB.
_KINDS = {
    "float": "float32", "double": "float64", "int32": "int32", "int64": "int64", "uint32": "uint32",
    "Vec3f": "vec3f", "Vec3d": "vec3d", "Vec4f": "vec4f", "Vec4d": "vec4d",
}
#: Those of arrays that go with voxels, by their numbers there.
_FEATURES = {1: "float32", 2: "float64", 3: "int16", 4: "int32", 5: "int64", 6: "vec3f", 7: "vec3d", 9: "float16", 10: "uint32",
             11: "bool", 17: "vec4f", 18: "vec4d", 25: "uint8"}
_LEAF = 512


class RebuildInfo(typing.NamedTuple):
    """What a volume was made of (``"tiles"``, ``"voxels"`` or None), and for how much there is room."""

    kind: str | None
    max_voxel_count: int
    max_leaf_node_count: int
    max_lower_node_count: int
    max_upper_node_count: int


class ActiveStats(typing.NamedTuple):
    """How many voxels and nodes a volume has."""

    voxel_count: int
    leaf_node_count: int
    lower_node_count: int
    upper_node_count: int


class GridInfo(typing.NamedTuple):
    """What the header of a volume says."""

    name: str
    size_in_bytes: int
    grid_index: int
    grid_count: int
    type_str: str
    translation: typing.Any
    transform_matrix: typing.Any


class FeatureArrayInfo(typing.NamedTuple):
    """What is known of an array that goes with the voxels."""

    name: str
    value_size: int
    value_count: int
    type_number: int


class Volume(Engine):
    """A sparse grid of voxels that kernels look up and sample.

        volume = kc.Volume.load_from_numpy(distances, min_world=(-1, -1, -1), voxel_size=0.1, bg_value=1.0)
        shade(n, volume, x, y)                   # the parameter: volume: kc.uint64

    ``allocate_by_tiles`` makes leaves of 8 x 8 x 8 voxels for ``kc.volume_store``; ``allocate_by_voxels`` numbers voxels, whose
    values are in arrays; ``load_from_nvdb`` reads a file. Launches that store write to the volume itself. Nothing that a launch
    stores in a volume has a gradient.
    """

    _kc_word = "Volume"
    #: How voxels are sampled: the nearest one, or the eight around.
    CLOSEST, LINEAR = 0, 1
    REBUILD_SUCCESS = 0
    REBUILD_LEAF_CAPACITY_EXCEEDED, REBUILD_LOWER_CAPACITY_EXCEEDED, REBUILD_UPPER_CAPACITY_EXCEEDED = 1, 2, 4
    REBUILD_VOXEL_CAPACITY_EXCEEDED, REBUILD_INVALID_INPUT = 8, 16
    RebuildInfo, ActiveStats, GridInfo, FeatureArrayInfo = RebuildInfo, ActiveStats, GridInfo, FeatureArrayInfo

    def __init__(self, data, copy=True):
        """A volume of the bytes of one grid, which are copied: an array of numbers of 8 bits, or bytes."""
        self._room, self._others = RebuildInfo(None, 0, 0, 0, 0), []
        if data is not None:
            _native.volume_of_grid(self, bytes(data) if isinstance(data, (bytes, bytearray, memoryview)) else as_numpy(data).tobytes())

    @staticmethod
    def _made(elements, dtype):
        return _array._wrap(elements, dtype, False)

    # How one is made.

    @classmethod
    def load_from_nvdb(cls, file_or_buffer, device=None):
        """The first grid of a NanoVDB file, or of its bytes; ``load_next_grid`` gives the next."""
        _here(device)
        read = getattr(file_or_buffer, "read", None)
        first, *others = _native.volume_grids(bytes(file_or_buffer if read is None else read()))
        return cls._of_grids(first, others)

    @classmethod
    def _of_grids(cls, first, others):
        made = cls(first)
        made._others = others
        return made

    def load_next_grid(self):
        """The next grid of the file, or None."""
        return self._of_grids(self._others[0], self._others[1:]) if self._others else None

    @classmethod
    def load_from_numpy(cls, ndarray, min_world=(0.0, 0.0, 0.0), voxel_size=1.0, bg_value=0.0, device=None):
        """The values in a box, whose first voxel is at ``min_world``. With whole numbers around the values are ``int32``."""
        _here(device)
        kind, background = _background(bg_value)
        if kind not in ("float", "int32", "Vec3f"):
            raise refuse("E1005", f"a dense volume is of float32, int32 or vec3f, not of {kind}", "use allocate_by_tiles, and kc.volume_store")
        values = np.ascontiguousarray(ndarray, background.dtype)
        if values.ndim != 3 + (kind == "Vec3f") or kind == "Vec3f" and values.shape[3] != 3:
            raise refuse("E1005", f"a dense volume is made of three dimensions, and one of vectors of four, not of shape {values.shape}")
        # Whole leaves, as all that is allocated.
        shape = [8 * math.ceil(n / 8) for n in values.shape[:3]]
        whole = np.empty((*shape, *values.shape[3:]), values.dtype)
        whole[...] = background
        whole[: values.shape[0], : values.shape[1], : values.shape[2]] = values
        made = cls(None)
        _native.volume_of_values(made, whole.tobytes(), shape, _sizes(voxel_size), _three(min_world, "min_world"), kind, background.tobytes())
        return made

    @classmethod
    def allocate(cls, min, max, voxel_size, bg_value=0.0, translation=(0.0, 0.0, 0.0), points_in_world_space=False, device=None):
        """Leaves for all voxels of a box, both ends included."""
        low, high = np.asarray(min, np.float32), np.asarray(max, np.float32)
        if points_in_world_space:
            size = np.asarray(_sizes(voxel_size), np.float32)
            low, high = (np.around((one - np.asarray(translation, np.float32)) / size) for one in (low, high))
        if not (low <= high).all():
            raise refuse("E1011", f"the box of a volume goes from {tuple(low.tolist())} to {tuple(high.tolist())}")
        low, high = low.astype(np.int32) // 8, high.astype(np.int32) // 8
        tiles = np.stack(np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(low, high)), indexing="ij"), axis=-1).reshape(-1, 3) * 8
        return cls.allocate_by_tiles(tiles.astype(np.int32), voxel_size, bg_value, translation, device)

    @classmethod
    def allocate_by_tiles(
        cls, tile_points, voxel_size=None, bg_value=0.0, translation=(0.0, 0.0, 0.0), device=None, transform=None, rebuildable=False,
        max_tiles=None, max_lower_nodes=None, max_upper_nodes=None, status=None, point_mask=None,
    ):
        """Leaves around points: voxels (int32), or places in the world (float32). ``bg_value`` says the type; None numbers voxels."""
        kind, background = _background(bg_value)
        return cls._allocated(
            "tiles", tile_points, kind, background, voxel_size, translation, device, transform,
            rebuildable, (max_tiles, max_lower_nodes, max_upper_nodes), None, status, point_mask,
        )

    @classmethod
    def allocate_by_voxels(
        cls, voxel_points, voxel_size=None, translation=(0.0, 0.0, 0.0), device=None, transform=None, rebuildable=False,
        max_active_voxels=None, max_leaf_nodes=None, max_lower_nodes=None, max_upper_nodes=None, status=None, point_mask=None,
    ):
        """A number for the voxel of each point, for values in arrays: ``kc.volume_lookup_index``, ``volume_sample_index``."""
        return cls._allocated(
            "voxels", voxel_points, "OnIndex", np.zeros(0, np.uint8), voxel_size, translation, device, transform,
            rebuildable, (max_leaf_nodes, max_lower_nodes, max_upper_nodes), max_active_voxels, status, point_mask,
        )

    @classmethod
    def _allocated(
        cls, what, points, kind, background, voxel_size, translation, device, transform, rebuildable, nodes, voxels, status, mask,
    ):
        _here(device)
        places, world = _points(points, mask)
        if (voxel_size is None) == (transform is None):
            raise ValueError("a volume is made with `voxel_size` or `transform`, one of them")
        matrix = np.diag(_sizes(voxel_size)) if transform is None else np.asarray(transform, np.float32).reshape(3, 3)
        room, info = None, RebuildInfo(None, 0, 0, 0, 0)
        if rebuildable or voxels is not None or any(one is not None for one in nodes):
            count = len(as_numpy(points))
            active = _count(voxels, count) if what == "voxels" else 0
            leaves = _count(nodes[0], active if what == "voxels" else count)
            lowers = _count(nodes[1], leaves)
            uppers = _count(nodes[2], lowers)
            active = active if what == "voxels" else leaves * _LEAF
            room, info = [uppers, lowers, leaves, active], RebuildInfo(what, active, leaves, lowers, uppers)
        made = cls(None)
        matrix = matrix.astype(np.float32).tolist()
        _native.volume_of_points(made, places.tobytes(), world, matrix, _three(translation, "translation"), kind, background.tobytes(), room)
        made._room = info
        _tell(status, 0)
        return made

    def rebuild(self, points, status=None, point_mask=None):
        """Other tiles, or other voxels, in the same memory. Where there is too little room the volume stays as it is, and
        ``status``, an array of one ``uint32``, gets a flag; without it that is an error.
        """
        if self._room.kind is None:
            raise RuntimeError("the volume was made without room to be built anew: use rebuildable=True")
        places, world = _points(points, point_mask)
        full = _native.volume_rebuild(self, places.tobytes(), world)
        flags = {None: 0, "leaves": 1, "lower nodes": 2, "upper nodes": 4, "voxels": 8}
        if full is not None and status is None:
            raise refuse("E1011", f"a volume cannot be built: it has room for fewer {full}", "allocate it with more, or ask with `status`")
        _tell(status, flags[full])
        return status

    # What it says of itself.

    def array(self):
        """A copy of its bytes."""
        return self._made(np.frombuffer(bytearray(_native.volume_bytes(self)), np.uint8), _types.NAMED["uint8"])

    def save_to_nvdb(self, path, codec="none"):
        """Writes a NanoVDB file, plain or compressed (``"zip"``)."""
        if codec not in ("none", "zip"):
            raise refuse("E1011", f"the file is compressed by {codec}, which is not supported; \"none\" and \"zip\" are")
        contents = _native.volume_file(self, codec == "zip")
        with open(path, "wb") as file:
            file.write(contents)

    @property
    def _facts(self):
        return _native.volume_facts(self)

    def get_grid_info(self) -> GridInfo:
        """Its name, size, type and place in the world."""
        facts = self._facts
        translation, matrix = _types.NAMED["vec3f"](*facts["translation"]), _types.NAMED["mat33f"](*facts["matrix"])
        return GridInfo(facts["name"], facts["bytes"], facts["index"], facts["count"], facts["type"], translation, matrix)

    @property
    def dtype(self):
        """The type of its values; None of voxels with numbers."""
        return _types.NAMED.get(_KINDS.get(self._facts["type"]))

    @property
    def is_index(self) -> bool:
        """Whether voxels have numbers in the place of values."""
        return self._facts["is_index"]

    @property
    def is_rebuildable(self) -> bool:
        return self._room.kind is not None

    def get_rebuild_info(self) -> RebuildInfo:
        """What it can be built anew of."""
        return self._room

    def get_active_stats(self) -> ActiveStats:
        """How many voxels and nodes it has now."""
        return ActiveStats(*self._facts["nodes"])

    def get_voxel_size(self) -> tuple:
        """The distance in the world between two voxels, along each axis."""
        return tuple(float(np.float32(size)) for size in self._facts["voxel_size"])

    def get_tile_count(self) -> int:
        return self._facts["nodes"][1]

    def get_voxel_count(self) -> int:
        return self._facts["nodes"][0]

    def get_tiles(self, out=None):
        """The first voxel of each leaf, in an array of int32 with three columns."""
        return self._coordinates(False, out)

    def get_voxels(self, out=None):
        """All voxels, by their number."""
        return self._coordinates(True, out)

    def _coordinates(self, all_, out):
        found = np.frombuffer(bytearray(_native.volume_coordinates(self, all_)), np.int32).reshape(-1, 3)
        if out is None:
            return self._made(found, _types.NAMED["int32"])
        memory = as_numpy(out)
        if memory is None or memory.dtype != np.int32 or memory.shape[1:] != (3,) or len(memory) < len(found):
            raise refuse("E1005", f"`out` is an array of int32 with three columns and {len(found)} rows or more")
        memory[: len(found)] = found
        return out

    def get_feature_array_count(self) -> int:
        """How many arrays go with its voxels."""
        return len(self._facts["features"])

    def get_feature_array_info(self, feature_index) -> FeatureArrayInfo:
        """What is known of one of them."""
        name, number, _, count, size = self._facts["features"][feature_index]
        return FeatureArrayInfo(name, size, count, number)

    def feature_array(self, feature_index, dtype=None):
        """A copy of one of them."""
        _, number, offset, count, size = self._facts["features"][feature_index]
        kind = _types.NAMED[_FEATURES.get(number, "uint8")] if dtype is None else dtype
        layout = _types.numpy_layout(kind)
        whole = _native.volume_bytes(self)[offset : offset + count * size]
        if layout.itemsize not in (1, size) and (size != 1 or len(whole) % layout.itemsize):
            raise refuse("E1005", f"the array has values of {size} bytes, and not of {layout.itemsize}")
        return self._made(np.frombuffer(bytearray(whole), layout.base).reshape((-1, *layout.shape)), kind)


def _here(device):
    if device is not None:
        from .warp._devices import get_device

        get_device(device)


def _background(value):
    """The type of a volume in NanoVDB's words, and the value around."""
    if value is None:
        return "Index", np.zeros(0, np.uint8)
    if isinstance(value, _types.Composite):
        word = next((word for word, name in _KINDS.items() if type(value) is _types.NAMED[name]), None)
        numbers_ = np.asarray(value)
    elif isinstance(value, np.generic):
        word, numbers_ = next((word for word, name in _KINDS.items() if name == value.dtype.name), None), np.array(value.item(), value.dtype)
    elif isinstance(value, (bool, str)) or not isinstance(value, numbers.Number) and np.ndim(value) != 1:
        word = None
    elif isinstance(value, int):
        word, numbers_ = "int32", _whole(value)
    elif isinstance(value, numbers.Number):
        word, numbers_ = "float", np.array(value, np.float32)
    else:
        numbers_ = np.asarray(value, np.float32)
        word = {3: "Vec3f", 4: "Vec4f"}.get(len(numbers_))
    if word is None:
        raise refuse("E1005", f"a volume has no values as {value!r}: it has {', '.join(_KINDS.values())}")
    return word, numbers_


def _whole(value):
    if not -(2**31) <= value < 2**31:
        raise refuse("E1011", f"the value around is {value}, which is no int32", "use kc.int64(..)")
    return np.array(value, np.int32)


def _sizes(voxel_size) -> list:
    """Three sizes of a voxel."""
    if isinstance(voxel_size, numbers.Number) and not isinstance(voxel_size, bool):
        voxel_size = (voxel_size,) * 3
    found = _three(voxel_size, "voxel_size")
    if not all(math.isfinite(size) and size > 0.0 for size in found):
        raise ValueError(f"the sizes of voxels are finite and greater than 0, not {found}")
    return found


def _three(value, what) -> list:
    try:
        found = [float(x) for x in value]
    except TypeError:
        raise TypeError(f"`{what}` is three numbers, not a {type(value).__name__}") from None
    if len(found) != 3:
        raise ValueError(f"`{what}` is three numbers, not {len(found)}")
    return found


def _count(value, otherwise) -> int:
    count = int(otherwise if value is None else value)
    if not 0 < count < 2**32:
        raise ValueError(f"room for {count} nodes or voxels")
    return count


def _points(points, mask):
    """Rows of three numbers, and whether they are of the world; those that a mask takes."""
    memory = as_numpy(points)
    if memory is None or memory.ndim != 2 or memory.shape[1] != 3 or memory.dtype not in (np.float32, np.int32):
        what = type(points).__name__ if memory is None else f"an array of {memory.dtype} of shape {memory.shape}"
        raise refuse("E1005", f"points are an array of float32 or int32 with three columns, not {what}")
    if mask is not None:
        taken = as_numpy(mask)
        if taken is None or taken.ndim != 1 or taken.dtype != np.int32 or len(taken) < len(memory):
            raise refuse("E1005", f"the mask is an array of {len(memory)} int32 or more")
        memory = memory[taken[: len(memory)] != 0]
    if memory.dtype == np.float32 and not np.isfinite(memory).all():
        raise refuse("E1011", "a volume cannot be built: not all points are finite")
    return np.ascontiguousarray(memory), memory.dtype == np.float32


def _tell(status, flag):
    if status is None:
        return
    memory = as_numpy(status)
    if memory is None or memory.dtype != np.uint32 or memory.size < 1:
        raise refuse("E1005", "the status is an array of one uint32")
    memory.reshape(-1)[0] = flag
