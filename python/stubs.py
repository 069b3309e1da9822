"""Writes kc/__init__.pyi and the stubs of other modules (`stubs_modules.py`): what type checkers know of the package. Run it after a change of what `import kc` offers.

    python python/stubs.py            # writes it
    python python/stubs.py --check    # fails if it is not as it would be written
"""

import pathlib
import sys

HEAD = '''"""Written by python/stubs.py."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from os import PathLike
from pathlib import Path
from typing import Any, Generic, NamedTuple
from typing import overload as _overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import TypeVar

from . import jax as jax
from . import torch as torch
from . import types as types
from ._check import Finding as Finding
from ._errors import ArgumentError as ArgumentError
from ._errors import AssertionError as AssertionError
from ._errors import CompileError as CompileError
from ._errors import DeviceError as DeviceError
from ._errors import Error as Error
from ._errors import GradientError as GradientError
from ._errors import GradientWarning as GradientWarning
from ._errors import IndexError as IndexError
from ._errors import InternalError as InternalError
from ._errors import LaunchError as LaunchError
from ._errors import LintWarning as LintWarning
from ._errors import SourceError as SourceError

__version__: str

_T = TypeVar("_T")
_E = TypeVar("_E", default=Any)
_Dim = int | Sequence[int]

class Kernel:
    __name__: str
    def __call__(self, dim: _Dim, /, *arguments: Any, **named: Any) -> None: ...
    def grad(
        self, dim: _Dim, /, *arguments: Any, grads: Mapping[str, Any] | None = None, parameters: bool = True, **named: Any
    ) -> dict[str, Any]: ...
    def jvp(self, dim: _Dim, /, *arguments: Any, tangents: Mapping[str, Any], **named: Any) -> dict[str, NDArray[Any]]: ...
    @property
    def module(self) -> Module: ...
    @property
    def cuda(self) -> str: ...
    @property
    def header(self) -> str: ...
    @property
    def ir(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def warnings(self) -> str: ...
    def ptx(self, arch: str = "sm_90") -> str: ...

class Module:
    @property
    def names(self) -> list[str]: ...
    @property
    def kernels(self) -> dict[str, Kernel]: ...
    def kernel(self, name: str) -> Kernel: ...
    def __getitem__(self, name: str) -> Kernel: ...
    def __getattr__(self, name: str) -> Kernel: ...
    @property
    def cuda(self) -> str: ...
    @property
    def header(self) -> str: ...
    @property
    def ir(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def warnings(self) -> str: ...
    def ptx(self, arch: str = "sm_90") -> str: ...

@_overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@_overload
def kernel(
    *, enable_backward: bool = ..., module: str = ..., module_options: Mapping[str, Any] = ..., strict: bool = ...,
) -> Callable[[Callable[..., Any]], Kernel]: ...
@_overload
def overload(kernel: Kernel, types: Sequence[Any] | Mapping[str, Any]) -> Kernel: ...
@_overload
def overload(kernel: Callable[..., Any], /) -> Kernel: ...
def func(function: _T, /) -> _T: ...
def func_grad(function: Callable[..., Any], /) -> Callable[[_T], _T]: ...
def func_replay(function: Callable[..., Any], /) -> Callable[[_T], _T]: ...
def struct(cls: type[_T], /) -> type[_T]: ...
def constant(value: _T, /) -> _T: ...
@_overload
def compile(source: Callable[..., Any] | Kernel, *, name: str = ...) -> Kernel: ...
@_overload
def compile(source: str | PathLike[str], *, name: str = ...) -> Module: ...

class array(Generic[_E]):
    def __init__(
        self, data: Any = ..., dtype: Any = ..., ndim: int | None = ..., *, copy: bool = ...,
        requires_grad: bool = ..., device: Any = ..., pinned: bool = ...,
    ) -> None: ...
    grad: Any
    @property
    def requires_grad(self) -> bool: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    def numpy(self) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def reshape(self, *shape: Any) -> array[_E]: ...
    def zero_(self) -> None: ...
    def fill_(self, value: Any) -> None: ...
    def assign(self, source: Any) -> None: ...
    def copy_(self, source: Any) -> None: ...
    @property
    def device(self) -> str: ...
    def to(self, device: Any) -> array[_E]: ...
    def on(self, device: Any) -> array[_E]: ...
    def prefetch(self, device: Any) -> None: ...
    def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> NDArray[Any]: ...

class array1d(array[_E]): ...
class array2d(array[_E]): ...
class array3d(array[_E]): ...
class array4d(array[_E]): ...

def zeros(shape: _Dim, dtype: Any = ..., *, requires_grad: bool = False, device: Any = None, pinned: bool = False) -> array: ...
def empty(shape: _Dim, dtype: Any = ..., *, requires_grad: bool = False, device: Any = None, pinned: bool = False) -> array: ...
def ones(shape: _Dim, dtype: Any = ..., *, requires_grad: bool = False, device: Any = None, pinned: bool = False) -> array: ...
def full(
    shape: _Dim, value: Any, dtype: Any = ..., *, requires_grad: bool = False, device: Any = None, pinned: bool = False
) -> array: ...

class _Device:
    ordinal: int
    name: str
    memory: int
    capability: tuple[int, int]
    multiprocessors: int
    @property
    def id(self) -> str: ...
    @property
    def free(self) -> int: ...
    def synchronize(self) -> None: ...

def devices() -> list[_Device]: ...

class record:
    files: list[Path]
    left: dict[str, str]
    def __init__(self, folder: str | PathLike[str], each: int = 1, most: int = 268435456) -> None: ...
    def __enter__(self) -> record: ...
    def __exit__(self, *error: Any) -> None: ...

class checked:
    def __init__(self, on: bool = True) -> None: ...
    def __enter__(self) -> checked: ...
    def __exit__(self, *error: Any) -> None: ...

class deterministic:
    def __init__(self, on: bool = True) -> None: ...
    def __enter__(self) -> deterministic: ...
    def __exit__(self, *error: Any) -> None: ...

class Split:
    first: Any
    devices: list[str]
    rows: int
    halo: int
    ranges: list[tuple[int, int]]
    def __init__(self, rows: int, devices: Sequence[Any] | None = None, halo: int = 0) -> None: ...
    def scatter(self, data: Any, dtype: Any = None) -> _Parts: ...
    def launch(self, kernel: Kernel, dim: _Dim, *arguments: Any, **named: Any) -> None: ...
    def exchange(self, *arrays: _Parts) -> None: ...
    def gather(self, parts: _Parts) -> NDArray[Any]: ...
    def synchronize(self) -> None: ...

class _Parts:
    split: Split
    parts: list[array]

class Stream:
    def __init__(self, device: Any = "cuda") -> None: ...
    @property
    def ptr(self) -> int: ...
    @property
    def device(self) -> str: ...
    def synchronize(self) -> None: ...
    def wait(self, other: Stream | Event) -> None: ...
    def record(self) -> Event: ...
    def __enter__(self) -> Stream: ...
    def __exit__(self, *error: Any) -> None: ...

class Event:
    def __init__(self, device: Any = "cuda") -> None: ...
    def record(self, stream: Stream | None = None) -> None: ...
    def synchronize(self) -> None: ...
    def elapsed(self, end: Event) -> float: ...

class Graph:
    def __init__(self, device: Any = "cuda") -> None: ...
    def __enter__(self) -> Graph: ...
    def __exit__(self, *error: Any) -> None: ...
    def replay(self) -> None: ...

class Mesh:
    def __init__(
        self, points: Any, indices: Any, velocities: Any = None, support_winding_number: bool = False,
        bvh_constructor: str | None = None, bvh_leaf_size: int | None = None, groups: Any = None,
    ) -> None: ...
    points: Any
    velocities: Any
    @property
    def id(self) -> int: ...
    @property
    def indices(self) -> array: ...
    @property
    def groups(self) -> array | None: ...
    def refit(self) -> None: ...

class Bvh:
    def __init__(
        self, lowers: Any, uppers: Any, constructor: str | None = None, groups: Any = None, leaf_size: int = 1
    ) -> None: ...
    @property
    def id(self) -> int: ...
    @property
    def lowers(self) -> array: ...
    @property
    def uppers(self) -> array: ...
    @property
    def groups(self) -> array | None: ...
    def refit(self) -> None: ...
    def rebuild(self, constructor: str | None = None) -> None: ...

class HashGrid:
    def __init__(self, dim_x: int, dim_y: int, dim_z: int, device: Any = None, dtype: Any = None) -> None: ...
    @property
    def id(self) -> int: ...
    dtype: Any
    groups: Any
    def build(self, points: Any, radius: float, groups: Any = None) -> None: ...
    def reserve(self, num_points: int, with_groups: bool = False) -> None: ...

class _RebuildInfo(NamedTuple):
    kind: str | None
    max_voxel_count: int
    max_leaf_node_count: int
    max_lower_node_count: int
    max_upper_node_count: int

class _ActiveStats(NamedTuple):
    voxel_count: int
    leaf_node_count: int
    lower_node_count: int
    upper_node_count: int

class _GridInfo(NamedTuple):
    name: str
    size_in_bytes: int
    grid_index: int
    grid_count: int
    type_str: str
    translation: Any
    transform_matrix: Any

class Volume:
    CLOSEST: int
    LINEAR: int
    REBUILD_SUCCESS: int
    REBUILD_LEAF_CAPACITY_EXCEEDED: int
    REBUILD_LOWER_CAPACITY_EXCEEDED: int
    REBUILD_UPPER_CAPACITY_EXCEEDED: int
    REBUILD_VOXEL_CAPACITY_EXCEEDED: int
    REBUILD_INVALID_INPUT: int
    def __init__(self, data: Any, copy: bool = True) -> None: ...
    @classmethod
    def load_from_nvdb(cls, file_or_buffer: Any, device: Any = None) -> Volume: ...
    @classmethod
    def load_from_numpy(
        cls, ndarray: ArrayLike, min_world: Any = ..., voxel_size: Any = 1.0, bg_value: Any = 0.0, device: Any = None
    ) -> Volume: ...
    @classmethod
    def allocate(
        cls, min: Any, max: Any, voxel_size: Any, bg_value: Any = 0.0, translation: Any = ..., points_in_world_space: bool = False,
        device: Any = None,
    ) -> Volume: ...
    @classmethod
    def allocate_by_tiles(
        cls, tile_points: Any, voxel_size: Any = None, bg_value: Any = 0.0, translation: Any = ..., device: Any = None,
        transform: Any = None, rebuildable: bool = False, max_tiles: int | None = None, max_lower_nodes: int | None = None,
        max_upper_nodes: int | None = None, status: Any = None, point_mask: Any = None,
    ) -> Volume: ...
    @classmethod
    def allocate_by_voxels(
        cls, voxel_points: Any, voxel_size: Any = None, translation: Any = ..., device: Any = None, transform: Any = None,
        rebuildable: bool = False, max_active_voxels: int | None = None, max_leaf_nodes: int | None = None,
        max_lower_nodes: int | None = None, max_upper_nodes: int | None = None, status: Any = None, point_mask: Any = None,
    ) -> Volume: ...
    @property
    def id(self) -> int: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def is_index(self) -> bool: ...
    @property
    def is_rebuildable(self) -> bool: ...
    def load_next_grid(self) -> Volume | None: ...
    def save_to_nvdb(self, path: str | PathLike[str], codec: str = "none") -> None: ...
    def rebuild(self, points: Any, status: Any = None, point_mask: Any = None) -> Any: ...
    def array(self) -> Any: ...
    def get_grid_info(self) -> _GridInfo: ...
    def get_rebuild_info(self) -> _RebuildInfo: ...
    def get_active_stats(self) -> _ActiveStats: ...
    def get_voxel_size(self) -> tuple[float, float, float]: ...
    def get_tile_count(self) -> int: ...
    def get_voxel_count(self) -> int: ...
    def get_tiles(self, out: Any = None) -> Any: ...
    def get_voxels(self, out: Any = None) -> Any: ...
    def get_feature_array_count(self) -> int: ...
    def get_feature_array_info(self, feature_index: int) -> Any: ...
    def feature_array(self, feature_index: int, dtype: Any = None) -> Any: ...

class TextureFilterMode(IntEnum):
    CLOSEST = 0
    LINEAR = 1

class TextureAddressMode(IntEnum):
    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3

class _Texture:
    ndim: int
    width: int
    height: int
    depth: int
    num_channels: int
    num_mip_levels: int
    dtype: Any
    data: array | None
    filter_mode: TextureFilterMode
    mip_filter_mode: TextureFilterMode
    address_mode_u: TextureAddressMode
    address_mode_v: TextureAddressMode
    address_mode_w: TextureAddressMode
    normalized_coords: bool
    @property
    def id(self) -> int: ...
    @property
    def is_mipmapped(self) -> bool: ...
    def numpy(self) -> NDArray[Any]: ...
    def copy_from(self, src: Any) -> None: ...
    def copy_to(self, dst: Any) -> None: ...

class Texture1D(_Texture):
    def __init__(
        self, data: Any = None, width: int = 0, num_channels: int = 0, dtype: Any = None, filter_mode: int | None = None,
        address_mode: Any = ..., address_mode_u: int | None = None, normalized_coords: bool = True, num_mip_levels: int = 1,
        mip_filter_mode: int | None = None, device: Any = None, surface_access: bool = False, cuda_array: int = 0,
        *, requires_grad: bool = False,
    ) -> None: ...

class Texture2D(_Texture):
    def __init__(
        self, data: Any = None, width: int = 0, height: int = 0, num_channels: int = 0, dtype: Any = None,
        filter_mode: int | None = None, address_mode: Any = ..., address_mode_u: int | None = None,
        address_mode_v: int | None = None, normalized_coords: bool = True, num_mip_levels: int = 1,
        mip_filter_mode: int | None = None, device: Any = None, surface_access: bool = False, cuda_array: int = 0,
        *, requires_grad: bool = False,
    ) -> None: ...

class Texture3D(_Texture):
    def __init__(
        self, data: Any = None, width: int = 0, height: int = 0, depth: int = 0, num_channels: int = 0, dtype: Any = None,
        filter_mode: int | None = None, address_mode: Any = ..., address_mode_u: int | None = None,
        address_mode_v: int | None = None, address_mode_w: int | None = None, normalized_coords: bool = True,
        num_mip_levels: int = 1, mip_filter_mode: int | None = None, device: Any = None, surface_access: bool = False,
        cuda_array: int = 0, *, requires_grad: bool = False,
    ) -> None: ...

class Tape:
    def __enter__(self) -> Tape: ...
    def __exit__(self, *_: object) -> None: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def reset(self) -> None: ...
    def zero(self) -> None: ...
    def assign(self, array: Any, source: Any) -> None: ...
    def backward(
        self, loss: Any = None, grads: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None
    ) -> None: ...
    def gradient(self, array: Any, *, allow_unused: bool | None = None) -> Any: ...
    @property
    def gradients(self) -> Mapping[Any, Any]: ...

def check(
    source: str | PathLike[str] | Callable[..., Any] | Kernel | Module, *, name: str = "kernels.py", strict_warp: bool = False
) -> list[Finding]: ...
def accelerate() -> bool: ...
def report() -> dict[str, Any]: ...

class _Scalar:
    def __new__(cls, value: Any = 0) -> Any: ...

class _Composite(np.ndarray[Any, Any]):
    def __new__(cls, *values: Any) -> Any: ...
    x: Any
    y: Any
    z: Any
    w: Any

class _Transform(_Composite):
    @_overload
    def __new__(cls, p: Any = ..., q: Any = ...) -> Any: ...
    @_overload
    def __new__(cls, *values: Any) -> Any: ...
    p: Any
    q: Any

'''


def text() -> str:
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import kc
    from kc import _native, _types

    lines = []
    for name, kind in sorted(_types.NAMED.items()):
        if name == "bool" or isinstance(kind, _types.Family):
            # Python's own `bool` in this file; names of annotations.
            continue
        base = "_Scalar" if isinstance(kind, _types.Scalar) else "_Composite"
        if name.startswith("transform"):
            base = "_Transform"
        lines.append(f"class {name}({base}): ...")
    lines += ["", "class _Family: ...", ""]
    lines += [f"{name}: _Family" for name, kind in sorted(_types.NAMED.items()) if isinstance(kind, _types.Family)]
    lines += [""]
    for name in sorted({*_native.builtins(), "static", "tid", *kc._TYPES} - set(_types.NAMED) - set(OWN)):
        lines += builtin(name)
    return _of_builtins(HEAD + "\n".join(lines) + "\n")


def _of_builtins(text) -> str:
    """The text with annotations that name Python's own types, where the file has a function of that name."""
    import ast

    tree = ast.parse(text)
    shadowed = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    shadowed |= {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    shadowed &= {"int", "float", "type", "bool", "str", "bytes", "list", "dict", "tuple"}
    lines = text.splitlines(keepends=True)
    places = set()
    for node in ast.walk(tree):
        parts = [node.returns] if isinstance(node, ast.FunctionDef) else []
        parts += [node.annotation] if isinstance(node, (ast.arg, ast.AnnAssign)) else []
        parts += [node.value] if isinstance(node, ast.Assign) else []
        names = [name for part in parts if part is not None for name in ast.walk(part)]
        places |= {(name.lineno, name.col_offset, name.id) for name in names if isinstance(name, ast.Name) and name.id in shadowed}
    for line, column, name in sorted(places, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = f"{old[:column]}_{name}{old[column + len(name):]}"
    imports = "".join(f"from builtins import {name} as _{name}\n" for name in sorted({name for _, _, name in places}))
    return "".join(lines).replace("\nfrom collections.abc", f"\n{imports}from collections.abc", 1)


#: Names that the head has.
OWN = ("zeros", "empty", "full", "array", "constant")


#: Built-ins that take any number of values, which no form says.
VARIADIC = {
    "tile_map": ["op: Any", "*tiles: Any"],
    "tile_arange": ["*ends: Any", "dtype: Any = ...", "storage: Any = ..."],
}


def builtin(name) -> list:
    """A built-in of kernels: one declaration for all its forms, which its documentation lists."""
    import kc

    forms = [] if name in kc._TYPES else kc._native.described(name)
    if not forms:
        return [f"{name}: Any"]
    parameters = kc._signature_of([form[1] for form in forms]).parameters.values()
    written = []
    for one in parameters:
        star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(one.kind.name, "")
        written.append(f"{star}{one.name}: Any" + (" = ..." if one.default is not one.empty else ""))
    written = VARIADIC.get(name, written)
    doc = kc._documentation(forms).replace("\\", "\\\\")
    lines = [f"def {name}({', '.join(written)}) -> Any:", '    """']
    lines += [f"    {line}".rstrip() for line in doc.splitlines()]
    return [*lines, '    """', "    ...", ""]


def files() -> dict:
    """The stubs, by their paths."""
    import ast

    from stubs_modules import MODULES, text_of

    root, whole = pathlib.Path(__file__).parent, text()
    names = {node.name for node in ast.parse(whole).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {node.target.id for node in ast.parse(whole).body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    found = {root / "kc" / "__init__.pyi": whole}
    for name in MODULES:
        path = root.joinpath(*name.split("."))
        path = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
        found[path] = _of_builtins(text_of(name, names))
    return found


if __name__ == "__main__":
    made = files()
    if "--check" in sys.argv:
        old = [str(path) for path, wanted in made.items() if not path.exists() or path.read_text() != wanted]
        sys.exit(f"not up to date: {', '.join(old)}: run python/stubs.py" if old else 0)
    for path, wanted in made.items():
        path.write_text(wanted)
