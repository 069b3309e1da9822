"""Written by python/stubs.py."""

from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
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
_Dim = _int | Sequence[_int]

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
def struct(cls: _type[_T], /) -> _type[_T]: ...
def constant(value: _T, /) -> _T: ...
@_overload
def compile(source: Callable[..., Any] | Kernel, *, name: str = ...) -> Kernel: ...
@_overload
def compile(source: str | PathLike[str], *, name: str = ...) -> Module: ...

class array(Generic[_E]):
    def __init__(
        self, data: Any = ..., dtype: Any = ..., ndim: _int | None = ..., *, copy: bool = ...,
        requires_grad: bool = ..., device: Any = ..., pinned: bool = ...,
    ) -> None: ...
    grad: Any
    @property
    def requires_grad(self) -> bool: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def shape(self) -> tuple[_int, ...]: ...
    @property
    def ndim(self) -> _int: ...
    @property
    def size(self) -> _int: ...
    def numpy(self) -> NDArray[Any]: ...
    def __len__(self) -> _int: ...
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
    ordinal: _int
    name: str
    memory: _int
    capability: tuple[_int, _int]
    multiprocessors: _int
    @property
    def id(self) -> str: ...
    @property
    def free(self) -> _int: ...
    def synchronize(self) -> None: ...

def devices() -> list[_Device]: ...

class record:
    files: list[Path]
    left: dict[str, str]
    def __init__(self, folder: str | PathLike[str], each: _int = 1, most: _int = 268435456) -> None: ...
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
    rows: _int
    halo: _int
    ranges: list[tuple[_int, _int]]
    def __init__(self, rows: _int, devices: Sequence[Any] | None = None, halo: _int = 0) -> None: ...
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
    def ptr(self) -> _int: ...
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
    def elapsed(self, end: Event) -> _float: ...

class Graph:
    def __init__(self, device: Any = "cuda") -> None: ...
    def __enter__(self) -> Graph: ...
    def __exit__(self, *error: Any) -> None: ...
    def replay(self) -> None: ...

class Mesh:
    def __init__(
        self, points: Any, indices: Any, velocities: Any = None, support_winding_number: bool = False,
        bvh_constructor: str | None = None, bvh_leaf_size: _int | None = None, groups: Any = None,
    ) -> None: ...
    points: Any
    velocities: Any
    @property
    def id(self) -> _int: ...
    @property
    def indices(self) -> array: ...
    @property
    def groups(self) -> array | None: ...
    def refit(self) -> None: ...

class Bvh:
    def __init__(
        self, lowers: Any, uppers: Any, constructor: str | None = None, groups: Any = None, leaf_size: _int = 1
    ) -> None: ...
    @property
    def id(self) -> _int: ...
    @property
    def lowers(self) -> array: ...
    @property
    def uppers(self) -> array: ...
    @property
    def groups(self) -> array | None: ...
    def refit(self) -> None: ...
    def rebuild(self, constructor: str | None = None) -> None: ...

class HashGrid:
    def __init__(self, dim_x: _int, dim_y: _int, dim_z: _int, device: Any = None, dtype: Any = None) -> None: ...
    @property
    def id(self) -> _int: ...
    dtype: Any
    groups: Any
    def build(self, points: Any, radius: _float, groups: Any = None) -> None: ...
    def reserve(self, num_points: _int, with_groups: bool = False) -> None: ...

class _RebuildInfo(NamedTuple):
    kind: str | None
    max_voxel_count: _int
    max_leaf_node_count: _int
    max_lower_node_count: _int
    max_upper_node_count: _int

class _ActiveStats(NamedTuple):
    voxel_count: _int
    leaf_node_count: _int
    lower_node_count: _int
    upper_node_count: _int

class _GridInfo(NamedTuple):
    name: str
    size_in_bytes: _int
    grid_index: _int
    grid_count: _int
    type_str: str
    translation: Any
    transform_matrix: Any

class Volume:
    CLOSEST: _int
    LINEAR: _int
    REBUILD_SUCCESS: _int
    REBUILD_LEAF_CAPACITY_EXCEEDED: _int
    REBUILD_LOWER_CAPACITY_EXCEEDED: _int
    REBUILD_UPPER_CAPACITY_EXCEEDED: _int
    REBUILD_VOXEL_CAPACITY_EXCEEDED: _int
    REBUILD_INVALID_INPUT: _int
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
        transform: Any = None, rebuildable: bool = False, max_tiles: _int | None = None, max_lower_nodes: _int | None = None,
        max_upper_nodes: _int | None = None, status: Any = None, point_mask: Any = None,
    ) -> Volume: ...
    @classmethod
    def allocate_by_voxels(
        cls, voxel_points: Any, voxel_size: Any = None, translation: Any = ..., device: Any = None, transform: Any = None,
        rebuildable: bool = False, max_active_voxels: _int | None = None, max_leaf_nodes: _int | None = None,
        max_lower_nodes: _int | None = None, max_upper_nodes: _int | None = None, status: Any = None, point_mask: Any = None,
    ) -> Volume: ...
    @property
    def id(self) -> _int: ...
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
    def get_voxel_size(self) -> tuple[_float, _float, _float]: ...
    def get_tile_count(self) -> _int: ...
    def get_voxel_count(self) -> _int: ...
    def get_tiles(self, out: Any = None) -> Any: ...
    def get_voxels(self, out: Any = None) -> Any: ...
    def get_feature_array_count(self) -> _int: ...
    def get_feature_array_info(self, feature_index: _int) -> Any: ...
    def feature_array(self, feature_index: _int, dtype: Any = None) -> Any: ...

class TextureFilterMode(IntEnum):
    CLOSEST = 0
    LINEAR = 1

class TextureAddressMode(IntEnum):
    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3

class _Texture:
    ndim: _int
    width: _int
    height: _int
    depth: _int
    num_channels: _int
    num_mip_levels: _int
    dtype: Any
    data: array | None
    filter_mode: TextureFilterMode
    mip_filter_mode: TextureFilterMode
    address_mode_u: TextureAddressMode
    address_mode_v: TextureAddressMode
    address_mode_w: TextureAddressMode
    normalized_coords: bool
    @property
    def id(self) -> _int: ...
    @property
    def is_mipmapped(self) -> bool: ...
    def numpy(self) -> NDArray[Any]: ...
    def copy_from(self, src: Any) -> None: ...
    def copy_to(self, dst: Any) -> None: ...

class Texture1D(_Texture):
    def __init__(
        self, data: Any = None, width: _int = 0, num_channels: _int = 0, dtype: Any = None, filter_mode: _int | None = None,
        address_mode: Any = ..., address_mode_u: _int | None = None, normalized_coords: bool = True, num_mip_levels: _int = 1,
        mip_filter_mode: _int | None = None, device: Any = None, surface_access: bool = False, cuda_array: _int = 0,
        *, requires_grad: bool = False,
    ) -> None: ...

class Texture2D(_Texture):
    def __init__(
        self, data: Any = None, width: _int = 0, height: _int = 0, num_channels: _int = 0, dtype: Any = None,
        filter_mode: _int | None = None, address_mode: Any = ..., address_mode_u: _int | None = None,
        address_mode_v: _int | None = None, normalized_coords: bool = True, num_mip_levels: _int = 1,
        mip_filter_mode: _int | None = None, device: Any = None, surface_access: bool = False, cuda_array: _int = 0,
        *, requires_grad: bool = False,
    ) -> None: ...

class Texture3D(_Texture):
    def __init__(
        self, data: Any = None, width: _int = 0, height: _int = 0, depth: _int = 0, num_channels: _int = 0, dtype: Any = None,
        filter_mode: _int | None = None, address_mode: Any = ..., address_mode_u: _int | None = None,
        address_mode_v: _int | None = None, address_mode_w: _int | None = None, normalized_coords: bool = True,
        num_mip_levels: _int = 1, mip_filter_mode: _int | None = None, device: Any = None, surface_access: bool = False,
        cuda_array: _int = 0, *, requires_grad: bool = False,
    ) -> None: ...

class Tape:
    def __enter__(self) -> Tape: ...
    def __exit__(self, *_: object) -> None: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> _int: ...
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

class bfloat16(_Scalar): ...
class float16(_Scalar): ...
class float32(_Scalar): ...
class float64(_Scalar): ...
class int16(_Scalar): ...
class int32(_Scalar): ...
class int64(_Scalar): ...
class int8(_Scalar): ...
class mat22(_Composite): ...
class mat22d(_Composite): ...
class mat22f(_Composite): ...
class mat22h(_Composite): ...
class mat33(_Composite): ...
class mat33d(_Composite): ...
class mat33f(_Composite): ...
class mat33h(_Composite): ...
class mat44(_Composite): ...
class mat44d(_Composite): ...
class mat44f(_Composite): ...
class mat44h(_Composite): ...
class quat(_Composite): ...
class quatd(_Composite): ...
class quatf(_Composite): ...
class quath(_Composite): ...
class spatial_matrix(_Composite): ...
class spatial_matrixd(_Composite): ...
class spatial_matrixf(_Composite): ...
class spatial_matrixh(_Composite): ...
class spatial_vector(_Composite): ...
class spatial_vectord(_Composite): ...
class spatial_vectorf(_Composite): ...
class spatial_vectorh(_Composite): ...
class transform(_Transform): ...
class transformd(_Transform): ...
class transformf(_Transform): ...
class transformh(_Transform): ...
class uint16(_Scalar): ...
class uint32(_Scalar): ...
class uint64(_Scalar): ...
class uint8(_Scalar): ...
class vec2(_Composite): ...
class vec2b(_Composite): ...
class vec2d(_Composite): ...
class vec2f(_Composite): ...
class vec2h(_Composite): ...
class vec2i(_Composite): ...
class vec2l(_Composite): ...
class vec2s(_Composite): ...
class vec2ub(_Composite): ...
class vec2ui(_Composite): ...
class vec2ul(_Composite): ...
class vec2us(_Composite): ...
class vec3(_Composite): ...
class vec3b(_Composite): ...
class vec3d(_Composite): ...
class vec3f(_Composite): ...
class vec3h(_Composite): ...
class vec3i(_Composite): ...
class vec3l(_Composite): ...
class vec3s(_Composite): ...
class vec3ub(_Composite): ...
class vec3ui(_Composite): ...
class vec3ul(_Composite): ...
class vec3us(_Composite): ...
class vec4(_Composite): ...
class vec4b(_Composite): ...
class vec4d(_Composite): ...
class vec4f(_Composite): ...
class vec4h(_Composite): ...
class vec4i(_Composite): ...
class vec4l(_Composite): ...
class vec4s(_Composite): ...
class vec4ub(_Composite): ...
class vec4ui(_Composite): ...
class vec4ul(_Composite): ...
class vec4us(_Composite): ...

class _Family: ...

Float: _Family
Int: _Family
Scalar: _Family

def abs(x: Any) -> Any:
    """
    kc.abs(x: Scalar) -> Scalar

        The absolute value of `x`. For the smallest signed integer, which has none, `x` itself.

    kc.abs(x: Vec[N, Scalar]) -> Vec[N, Scalar]

        Absolute value of each component of `x`.
    """
    ...

def abs_diff(a: Any, b: Any) -> Any:
    """
    kc.abs_diff(a: Int, b: Int) -> Int

        The distance `|a - b|` in the type of both, also where `a - b` wraps: exact for unsigned integers. A distance of signed
        integers that is too large for the type wraps itself: `abs_diff(int8(127), int8(-128))`, 255, is -1. kc's own.

        ```python
        kc.expect_eq(kc.abs_diff(kc.uint8(3), kc.uint8(250)), kc.uint8(247))
        ```
    """
    ...

def acos(x: Any) -> Any:
    """
    kc.acos(x: Float) -> Float

        The arc cosine of `x` limited to -1..1, in 0..pi. NaN for NaN.
    """
    ...

def add(a: Any, b: Any) -> Any:
    """
    kc.add(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        `a + b`.

    kc.add(a: Quat[Float], b: Quat[Float]) -> Quat[Float]

        `a + b`, component by component.

    kc.add(a: Scalar, b: Scalar) -> Scalar

        `a + b`. Integers wrap.

    kc.add(a: Transform[Float], b: Transform[Float]) -> Transform[Float]

        `a + b`, component by component.

    kc.add(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]

        `a + b`.
    """
    ...

def argmax(a: Any) -> Any:
    """
    kc.argmax(a: Vec[N, Scalar]) -> uint32

        Index of the first largest component of `a`. NaN components are passed over; 0 if all are NaN.
    """
    ...

def argmin(a: Any) -> Any:
    """
    kc.argmin(a: Vec[N, Scalar]) -> uint32

        Index of the first smallest component of `a`. NaN components are passed over; 0 if all are NaN.
    """
    ...

def asin(x: Any) -> Any:
    """
    kc.asin(x: Float) -> Float

        The arc sine of `x` limited to -1..1, in -pi/2..pi/2. NaN for NaN.
    """
    ...

def atan(x: Any) -> Any:
    """
    kc.atan(x: Float) -> Float

        The arc tangent of `x`, in -pi/2..pi/2.
    """
    ...

def atan2(y: Any, x: Any) -> Any:
    """
    kc.atan2(y: Float, x: Float) -> Float

        The angle of the point (`x`, `y`) from the x axis, in -pi..pi. Zeros and infinities as in C.
    """
    ...

def atomic_add(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_add(arr: Array[T], i: Int, value: T) -> T

        Adds `value` to `arr[i]`; so does `arr[i] += value`. Composites add component by component, each for itself.

        ```python
        before = kc.atomic_add(data, 0, 2.0)
        kc.expect_eq(before, 0.0)
        kc.expect_eq(data[0], 2.0)
        ```
    """
    ...

def atomic_and(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_and(arr: Array[T], i: Int, value: T) -> T

        Sets `arr[i]` to `arr[i] & value`; so does `arr[i] &= value`. Integers and vectors of them.

        ```python
        bits = kc.zeros(shape=1, dtype=kc.uint32)
        bits[0] = kc.uint32(7)
        bits[0] &= kc.uint32(5)
        kc.expect_eq(bits[0], kc.uint32(5))
        ```
    """
    ...

def atomic_cas(arr: Any, i: Any, compare: Any, value: Any) -> Any:
    """
    kc.atomic_cas(arr: Array[Scalar], i: Int, compare: Scalar, value: Scalar) -> Scalar

        Sets `arr[i]` to `value` if it equals `compare`, and leaves it otherwise.

        ```python
        kc.atomic_cas(data, 0, 0.0, 4.0)
        kc.atomic_cas(data, 0, 0.0, 5.0)
        kc.expect_eq(data[0], 4.0)
        ```
    """
    ...

def atomic_exch(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_exch(arr: Array[T], i: Int, value: T) -> T

        Sets `arr[i]` to `value`.

        ```python
        kc.atomic_exch(data, 0, 4.0)
        kc.expect_eq(data[0], 4.0)
        ```
    """
    ...

def atomic_max(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_max(arr: Array[T], i: Int, value: T) -> T

        Sets `arr[i]` to the larger of itself and `value`, component by component.

        ```python
        kc.atomic_max(data, 0, 3.0)
        kc.atomic_max(data, 0, 1.0)
        kc.expect_eq(data[0], 3.0)
        ```
    """
    ...

def atomic_min(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_min(arr: Array[T], i: Int, value: T) -> T

        Sets `arr[i]` to the smaller of itself and `value`, component by component.

        ```python
        kc.atomic_min(data, 0, -3.0)
        kc.atomic_min(data, 0, 1.0)
        kc.expect_eq(data[0], -3.0)
        ```
    """
    ...

def atomic_or(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_or(arr: Array[T], i: Int, value: T) -> T

        Sets `arr[i]` to `arr[i] | value`; so does `arr[i] |= value`. Integers and vectors of them.

        ```python
        bits = kc.zeros(shape=1, dtype=kc.uint32)
        bits[0] |= kc.uint32(5)
        kc.expect_eq(bits[0], kc.uint32(5))
        ```
    """
    ...

def atomic_sub(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_sub(arr: Array[T], i: Int, value: T) -> T

        Subtracts `value` from `arr[i]`; so does `arr[i] -= value`.

        ```python
        kc.atomic_sub(data, 0, 2.0)
        kc.expect_eq(data[0], -2.0)
        ```
    """
    ...

def atomic_xor(arr: Any, i: Any, value: Any) -> Any:
    """
    kc.atomic_xor(arr: Array[T], i: Int, value: T) -> T

        Sets `arr[i]` to `arr[i] ^ value`; so does `arr[i] ^= value`. Integers and vectors of them.

        ```python
        bits = kc.zeros(shape=1, dtype=kc.uint32)
        bits[0] = kc.uint32(7)
        bits[0] ^= kc.uint32(5)
        kc.expect_eq(bits[0], kc.uint32(2))
        ```
    """
    ...

def ballot(predicate: Any) -> Any:
    """
    kc.ballot(predicate: bool) -> uint32

        The threads of the warp for which the condition holds, bit 0 for the first of them. kc's own.

        ```python
        kc.expect_eq(kc.ballot(True) & kc.uint32(1), kc.uint32(1))
        ```
    """
    ...

def bit_and(a: Any, b: Any) -> Any:
    """
    kc.bit_and(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

        `a & b`, component by component.

    kc.bit_and(a: Int, b: Int) -> Int

        `a & b`, bit by bit.

    kc.bit_and(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]

        `a & b`, component by component.
    """
    ...

def bit_count(x: Any) -> Any:
    """
    kc.bit_count(x: Int) -> int32

        The number of one bits of `x`; of its two's complement form when `x` is negative.
    """
    ...

def bit_or(a: Any, b: Any) -> Any:
    """
    kc.bit_or(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

        `a | b`, component by component.

    kc.bit_or(a: Int, b: Int) -> Int

        `a | b`, bit by bit.

    kc.bit_or(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]

        `a | b`, component by component.
    """
    ...

def bit_xor(a: Any, b: Any) -> Any:
    """
    kc.bit_xor(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

        `a ^ b`, component by component.

    kc.bit_xor(a: Int, b: Int) -> Int

        `a ^ b`, bit by bit.

    kc.bit_xor(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]

        `a ^ b`, component by component.
    """
    ...

def block_dim() -> Any:
    """
    kc.block_dim() -> int32

        The number of threads in this thread's block; 1 where there are no blocks (on the host).

        ```python
        kc.expect_eq(kc.block_dim() > 0, True)
        ```
    """
    ...

def breakpoint() -> Any:
    """
    kc.breakpoint()

        Nothing: a kernel has no debugger to stop in.
    """
    ...

def bvh_get_group_root(id: Any, group: Any) -> Any:
    """
    kc.bvh_get_group_root(id: uint64, group: int32) -> int32

        The node that holds the boxes of a group, for `root` of a query; -1: there is no such group.

        Trees with groups have their leaves first, in the order of the groups.

        ```python
        kc.expect_eq(kc.bvh_get_group_root(tree, 7), -1)
        ```
    """
    ...

def bvh_query_aabb(id: Any, low: Any, high: Any, root: Any = ...) -> Any:
    """
    kc.bvh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32], root: int32 = -1) -> BvhQuery

        A query for the boxes of the BVH `id` that touch the box from `low` to `high`.

        Go through them by `bvh_query_next`, or by `for i in query:`. `root` is the node of a group
        (`bvh_get_group_root`); -1: all.

        ```python
        n = int(0)
        for box in kc.bvh_query_aabb(tree, kc.vec3(2.0, 0.0, 0.0), kc.vec3(3.0, 1.0, 1.0)):
            n += 1
        kc.expect_eq(n, 2)
        ```
    """
    ...

def bvh_query_aabb_tiled(id: Any, low: Any, high: Any) -> Any:
    """
    kc.bvh_query_aabb_tiled(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> BvhQueryTiled

        The older name of `tile_bvh_query_aabb`.

        ```python
        query = kc.bvh_query_aabb_tiled(tree, kc.vec3(2.0, 0.0, 0.0), kc.vec3(3.0, 1.0, 1.0))
        kc.expect_eq(kc.tile_query_valid(query), True)
        ```
    """
    ...

def bvh_query_capsule(id: Any, start: Any, dir: Any, radius: Any, root: Any = ...) -> Any:
    """
    kc.bvh_query_capsule(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], radius: float32, root: int32 = -1) -> BvhQuery

        A query for the boxes of the BVH `id` that, grown by `radius` on all sides, a ray goes through.

        ```python
        n = int(0)
        for box in kc.bvh_query_capsule(tree, kc.vec3(-1.0, 1.25, 0.5), kc.vec3(1.0, 0.0, 0.0), 0.5):
            n += 1
        kc.expect_eq(n, 8)
        ```
    """
    ...

def bvh_query_next(query: Any, index: Any, max_dist: Any = ...) -> Any:
    """
    kc.bvh_query_next(query: ref[BvhQuery], index: ref[int32], max_dist: float32 = _INFINITY) -> bool

        Sets `index` to the next box that a query finds; False: there is none.

        `max_dist` ends rays (boxes that begin there are not found) and capsules (they are), in lengths of
        the direction. Boxes are found in an order of the tree's.

        ```python
        query = kc.bvh_query_ray(tree, kc.vec3(-1.0, 0.5, 0.5), kc.vec3(1.0, 0.0, 0.0))
        box = int(0)
        n = int(0)
        while kc.bvh_query_next(query, box, 3.0):
            n += 1
        kc.expect_eq(n, 2)
        ```
    """
    ...

def bvh_query_next_tiled(query: Any) -> Any:
    """
    kc.bvh_query_next_tiled(query: Any)

        The older name of `tile_bvh_query_next`.

        ```python
        query = kc.bvh_query_aabb_tiled(tree, kc.vec3(0.25, 0.0, 0.0), kc.vec3(0.5, 1.0, 1.0))
        kc.expect_eq(kc.bvh_query_next_tiled(query)[0], 0)
        ```
    """
    ...

def bvh_query_ray(id: Any, start: Any, dir: Any, root: Any = ...) -> Any:
    """
    kc.bvh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], root: int32 = -1) -> BvhQuery

        A query for the boxes of the BVH `id` that a ray goes through, in no particular order.

        ```python
        n = int(0)
        for box in kc.bvh_query_ray(tree, kc.vec3(2.25, 0.5, 0.5), kc.vec3(1.0, 0.0, 0.0)):
            n += 1
        kc.expect_eq(n, 6)
        ```
    """
    ...

def bvh_query_ray_tiled(id: Any, start: Any, dir: Any) -> Any:
    """
    kc.bvh_query_ray_tiled(id: uint64, start: Vec[3, float32], dir: Vec[3, float32]) -> BvhQueryTiled

        The older name of `tile_bvh_query_ray`.

        ```python
        query = kc.bvh_query_ray_tiled(tree, kc.vec3(2.25, 0.5, 0.5), kc.vec3(1.0, 0.0, 0.0))
        kc.expect_eq(kc.tile_query_valid(query), True)
        ```
    """
    ...

def bvh_query_sphere(id: Any, center: Any, radius: Any, root: Any = ...) -> Any:
    """
    kc.bvh_query_sphere(id: uint64, center: Vec[3, float32], radius: float32, root: int32 = -1) -> BvhQuery

        A query for the boxes of the BVH `id` that are not further than `radius` from `center`.

        ```python
        n = int(0)
        for box in kc.bvh_query_sphere(tree, kc.vec3(-1.0, 0.5, 0.5), 1.0):
            n += 1
        kc.expect_eq(n, 1)
        ```
    """
    ...

def cast(a: Any, dtype: Any) -> Any:
    """
    kc.cast(a: Scalar, dtype: type) -> Scalar

        The bits of `a` as another type of the same size.

        ```python
        kc.expect_eq(kc.cast(1.0, kc.uint32), kc.uint32(0x3F800000))
        ```
    """
    ...

def cbrt(x: Any) -> Any:
    """
    kc.cbrt(x: Float) -> Float

        The cube root of `x`, negative for negative `x`. The derivative at 0 is infinite.
    """
    ...

def ceil(x: Any) -> Any:
    """
    kc.ceil(x: Float) -> Float

        The smallest integer not below `x`.
    """
    ...

def clamp(x: Any, low: Any, high: Any) -> Any:
    """
    kc.clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar

        `x` limited to `low`..`high`: `min(max(low, x), high)`. So NaN gives `low`, and `low > high` gives `high`.
    """
    ...

def closest_point_edge_edge(p1: Any, q1: Any, p2: Any, q2: Any, epsilon: Any) -> Any:
    """
    kc.closest_point_edge_edge(p1: Vec[3, float32], q1: Vec[3, float32], p2: Vec[3, float32], q2: Vec[3, float32], epsilon: float32) -> Vec[3, float32]

        The closest points of the segments `p1` to `q1` and `p2` to `q2`: `(s, t, distance)` with the points
        `p1 + s * (q1 - p1)` and `p2 + t * (q2 - p2)`.

        A segment whose squared length is at most `epsilon` counts as the point `p1` or `p2`. Of parallel segments, one of the
        closest pairs is taken. `distance` has derivative 0 where the segments meet.

        ```python
        st = kc.closest_point_edge_edge(
            kc.vec3(0.0, 0.0, 0.0), kc.vec3(2.0, 0.0, 0.0), kc.vec3(1.0, -1.0, 3.0), kc.vec3(1.0, 3.0, 3.0), 1.0e-6
        )
        kc.expect_near(st, kc.vec3(0.5, 0.25, 3.0))
        ```
    """
    ...

def copysign(x: Any, y: Any) -> Any:
    """
    kc.copysign(x: Float, y: Float) -> Float

        The magnitude of `x` with the sign of `y`, also where `y` is -0 or NaN.
    """
    ...

def cos(x: Any) -> Any:
    """
    kc.cos(x: Float) -> Float

        The cosine of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size.
    """
    ...

def cosh(x: Any) -> Any:
    """
    kc.cosh(x: Float) -> Float

        The hyperbolic cosine of `x`.
    """
    ...

def cosine_similarity(a: Any, b: Any) -> Any:
    """
    kc.cosine_similarity(a: Vec[N, Float], b: Vec[N, Float]) -> Float

        Cosine of the angle between `a` and `b`, from -1 to 1: `dot(a, b) / (length(a) * length(b))`, which neither large nor small
        components take out of range. 0 where `a` or `b` is the zero vector; elsewhere NaN if a component is infinite or NaN. Its
        derivative where `a` or `b` is the zero vector is taken as 0. kc's own.

        ```python
        kc.expect_near(kc.cosine_similarity(kc.vec2(3.0, 4.0), kc.vec2(0.0, 2.0)), 0.8)
        ```
    """
    ...

def cross(a: Any, b: Any) -> Any:
    """
    kc.cross(a: Vec[3, Scalar], b: Vec[3, Scalar]) -> Vec[3, Scalar]

        Cross product of `a` and `b`.
    """
    ...

def curlnoise(*arguments: Any, **named: Any) -> Any:
    """
    kc.curlnoise(state: uint32, xy: Vec[2, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5) -> Vec[2, float32]

        A swirling flow without sources: the turned gradient of noise, summed over `octaves`.

        From one octave to the next the frequency grows by `lacunarity` and the amplitude by `gain`.

    kc.curlnoise(state: uint32, xyz: Vec[3, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5) -> Vec[3, float32]

        A swirling flow without sources: the curl of three noises, summed over `octaves`.

        From one octave to the next the frequency grows by `lacunarity` and the amplitude by `gain`.

    kc.curlnoise(state: uint32, xyzt: Vec[4, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5) -> Vec[3, float32]

        A swirling flow without sources that changes with the fourth coordinate, time; see the other forms.
    """
    ...

def cw_div(a: Any, b: Any) -> Any:
    """
    kc.cw_div(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]

        Quotient of `a` and `b`, component by component.

    kc.cw_div(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        Quotient of `a` and `b`, component by component.
    """
    ...

def cw_mul(a: Any, b: Any) -> Any:
    """
    kc.cw_mul(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]

        Product of `a` and `b`, component by component.

    kc.cw_mul(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        Product of `a` and `b`, component by component (not the matrix product).
    """
    ...

def ddot(a: Any, b: Any) -> Any:
    """
    kc.ddot(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Scalar

        Double dot product: the sum of all `a[i, j] * b[i, j]`.
    """
    ...

def degrees(x: Any) -> Any:
    """
    kc.degrees(x: Float) -> Float

        The angle `x`, given in radians, in degrees.
    """
    ...

def dense_chol(n: Any, A: Any, regularization: Any, L: Any) -> Any:
    """
    kc.dense_chol(n: int32, A: Array[float32, 1], regularization: float32, L: Array[float32, 1])

        Sets `L` to the lower triangular Cholesky factor of the symmetric positive definite n x n matrix `A`, with
        `regularization` added to its diagonal. What stands above the diagonal of `L` stays.
    """
    ...

def dense_gemm(m: Any, n: Any, p: Any, t1: Any, t2: Any, A: Any, B: Any, C: Any) -> Any:
    """
    kc.dense_gemm(m: int32, n: int32, p: int32, t1: int32, t2: int32, A: Array[float32, 1], B: Array[float32, 1], C: Array[float32, 1])

        Sets the m x n matrix `C` to the product of the m x p matrix `A` and the p x n matrix `B`.

        With `t1` (`t2`) not 0, `A` (`B`) is stored by columns: its transpose stands in the array.
    """
    ...

def dense_solve(n: Any, A: Any, L: Any, b: Any, x: Any) -> Any:
    """
    kc.dense_solve(n: int32, A: Array[float32, 1], L: Array[float32, 1], b: Array[float32, 1], x: Array[float32, 1])

        Sets `x` to the solution of `A * x = b`, where `L` is the Cholesky factor of `A` from `dense_chol`.

        The gradient goes through `L`, and from there through `dense_chol` to `A`.
    """
    ...

def dense_subs(n: Any, L: Any, b: Any, x: Any) -> Any:
    """
    kc.dense_subs(n: int32, L: Array[float32, 1], b: Array[float32, 1], x: Array[float32, 1])

        Sets `x` to the solution of `L * transpose(L) * x = b`, where `L` is a Cholesky factor from `dense_chol`.
    """
    ...

def detach(x: Any) -> Any:
    """
    kc.detach(x: T) -> T

        `x`, as a constant for gradients: nothing flows back through it. (kc's own: Warp has no name for it.)
    """
    ...

def determinant(a: Any) -> Any:
    """
    kc.determinant(a: Mat[2, 2, Float]) -> Float

        Determinant of `a`.

    kc.determinant(a: Mat[3, 3, Float]) -> Float

        Determinant of `a`: the volume that its rows span.

    kc.determinant(a: Mat[4, 4, Float]) -> Float

        Determinant of `a`, by Laplace expansion over pairs of rows.
    """
    ...

def diag(vec: Any) -> Any:
    """
    kc.diag(vec: Vec[N, Scalar]) -> Mat[N, N, Scalar]

        The matrix with `vec` on its diagonal and zeros elsewhere.
    """
    ...

def div(a: Any, b: Any) -> Any:
    """
    kc.div(a: Mat[R, C, Scalar], b: Scalar) -> Mat[R, C, Scalar]

        `a / b`: each component of `a` divided by `b`.

    kc.div(a: Scalar, b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        `a / b`: `a` divided by each component of `b`.

    kc.div(a: Quat[Float], b: Float) -> Quat[Float]

        `a / b`: each component of `a` divided by `b`.

    kc.div(a: Float, b: Quat[Float]) -> Quat[Float]

        `a / b`: `a` divided by each component of `b`.

    kc.div(a: Scalar, b: Scalar) -> Scalar

        `a / b`. Integers truncate toward zero, and `a / 0` is 0.

    kc.div(a: Vec[N, Scalar], b: Scalar) -> Vec[N, Scalar]

        `a / b`: each component of `a` divided by `b`.

    kc.div(a: Scalar, b: Vec[N, Scalar]) -> Vec[N, Scalar]

        `a / b`: `a` divided by each component of `b`.
    """
    ...

def div_approx(a: Any, b: Any) -> Any:
    """
    kc.div_approx(a: Mat[R, C, Float], b: Float) -> Mat[R, C, Float]

        `a / b`. Warp's approximate division on GPUs is exact here.

    kc.div_approx(a: Float, b: Mat[R, C, Float]) -> Mat[R, C, Float]

        `a / b`. Warp's approximate division on GPUs is exact here.

    kc.div_approx(a: Quat[Float], b: Float) -> Quat[Float]

        `a / b`. Warp's approximate division on GPUs is exact here.

    kc.div_approx(a: Float, b: Quat[Float]) -> Quat[Float]

        `a / b`. Warp's approximate division on GPUs is exact here.

    kc.div_approx(a: Float, b: Float) -> Float

        `a / b`. Warp's approximate division on GPUs is exact here.

    kc.div_approx(a: Vec[N, Float], b: Float) -> Vec[N, Float]

        `a / b`. Warp's approximate division on GPUs is exact here.

    kc.div_approx(a: Float, b: Vec[N, Float]) -> Vec[N, Float]

        `a / b`. Warp's approximate division on GPUs is exact here.
    """
    ...

def dot(a: Any, b: Any) -> Any:
    """
    kc.dot(a: Quat[Float], b: Quat[Float]) -> Float

        Dot product of `a` and `b` as 4-vectors.

    kc.dot(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Scalar

        Dot product of `a` and `b`.
    """
    ...

def eig3(*arguments: Any, **named: Any) -> Any:
    """
    kc.eig3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float]]

        Eigenvalue decomposition of a symmetric matrix: a rotation `Q` with the eigenvectors in its columns, and the
        eigenvalues `d`, so that `A = Q * diag(d) * transpose(Q)`.

        The eigenvalues come in no particular order. Of a matrix that is not symmetric, the symmetric part is taken.

        ```python
        Q, d = kc.eig3(kc.diag(kc.vec3(3.0, 1.0, 2.0)))
        kc.expect_near(d, kc.vec3(3.0, 1.0, 2.0))
        ```

    kc.eig3(A: Mat[3, 3, Float], Q: ref[Mat[3, 3, Float]], d: ref[Vec[3, Float]])

        Sets `Q` to eigenvectors (in columns) and `d` to eigenvalues of the symmetric matrix `A`.
    """
    ...

def erf(x: Any) -> Any:
    """
    kc.erf(x: Float) -> Float

        The error function of `x`: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to `x`.
    """
    ...

def erfc(x: Any) -> Any:
    """
    kc.erfc(x: Float) -> Float

        The complementary error function of `x`: `1 - erf(x)` without its loss of digits for large `x`.
    """
    ...

def erfcinv(x: Any) -> Any:
    """
    kc.erfcinv(x: Float) -> Float

        The inverse complementary error function of `x` in 0..2. Infinite at 0 and 2, NaN beyond.
    """
    ...

def erfinv(x: Any) -> Any:
    """
    kc.erfinv(x: Float) -> Float

        The inverse error function of `x` in -1..1. Infinite at -1 and 1, NaN beyond.
    """
    ...

def exp(x: Any) -> Any:
    """
    kc.exp(x: Float) -> Float

        e to the power `x`.
    """
    ...

def expect_eq(a: Any, b: Any) -> Any:
    """
    kc.expect_eq(a: T, b: T)

        Checks that `a` and `b` are equal.
    """
    ...

def expect_near(a: Any, b: Any, tolerance: Any = ...) -> Any:
    """
    kc.expect_near(a: Float, b: Float, tolerance: Float = 1.0e-6)

        Checks that `a` and `b` differ by at most `tolerance`.

    kc.expect_near(a: Vec[N, Float], b: Vec[N, Float], tolerance: Float = 1.0e-6)

        Checks that all components of `a` and `b` differ by at most `tolerance`.

    kc.expect_near(a: Quat[Float], b: Quat[Float], tolerance: Float = 1.0e-6)

        Checks that all components of `a` and `b` differ by at most `tolerance`.

    kc.expect_near(a: Mat[R, C, Float], b: Mat[R, C, Float], tolerance: Float = 1.0e-6)

        Checks that all components of `a` and `b` differ by at most `tolerance`.
    """
    ...

def expect_neq(a: Any, b: Any) -> Any:
    """
    kc.expect_neq(a: T, b: T)

        Checks that `a` and `b` are not equal.
    """
    ...

fixedarray: Any
def float(x: Any) -> Any:
    """
    kc.float(x: Scalar) -> float32

        `float32(x)`. A literal `1.0` is one already; `s = float(0.0)` makes a variable of it.

        ```python
        kc.expect_eq(float(3), 3.0)
        ```
    """
    ...

def floor(x: Any) -> Any:
    """
    kc.floor(x: Float) -> Float

        The largest integer not above `x`.
    """
    ...

def floordiv(a: Any, b: Any) -> Any:
    """
    kc.floordiv(a: Int, b: Int) -> Int

        `a // b`: the quotient rounded down; `a // 0` is 0.

    kc.floordiv(a: Float, b: Float) -> Float

        `a // b`: `floor(a / b)`.
    """
    ...

def frac(x: Any) -> Any:
    """
    kc.frac(x: Float) -> Float

        The fraction of `x` with its sign: `x - trunc(x)`. NaN for infinite `x`. Its derivative is 1.
    """
    ...

def get_diag(mat: Any) -> Any:
    """
    kc.get_diag(mat: Mat[N, N, Scalar]) -> Vec[N, Scalar]

        The diagonal of `mat`.
    """
    ...

def grad(function: Any) -> Any:
    """
    kc.grad(function: Function) -> Function

        A function that gives the derivatives of the sum of what `function` returns, one for each argument.

        ```python
        kc.expect_near(kc.grad(kc.sin)(0.0), 1.0)
        ```
    """
    ...

def grid_sync() -> Any:
    """
    kc.grid_sync()

        All threads of the launch come here before one goes on: what they stored in arrays, the others see then. kc's own.

        On GPUs (cooperative launches, which have room for all threads at once), the simulator and the interpreter.

        ```python
        i = kc.tid()
        data[i] = 1.0
        kc.grid_sync()
        kc.expect_eq(data[0], 1.0)
        ```
    """
    ...

def hash_grid_point_id(id: Any, index: Any) -> Any:
    """
    kc.hash_grid_point_id(id: uint64, index: int32) -> int32

        The point that is at place `index` in the order of the cells; -1 in a grid that is not built.

        ```python
        kc.expect_eq(kc.hash_grid_point_id(grid, 3), 3)
        ```
    """
    ...

def hash_grid_query(*arguments: Any, **named: Any) -> Any:
    """
    kc.hash_grid_query(id: uint64, point: Vec[3, Float], max_dist: Float) -> HashGridQuery

        A query for the points of the hash grid `id` in the cells within `max_dist` of `point`.

        They are candidates: some are further than `max_dist`. Go through them by `hash_grid_query_next`,
        or by `for i in query:`.

        ```python
        n = int(0)
        for i in kc.hash_grid_query(grid, kc.vec3(2.5, 0.5, 0.5), 1.0):
            n += 1
        kc.expect_eq(n, 3)
        ```

    kc.hash_grid_query(id: uint64, point: Vec[3, Float], max_dist: Float, group: int32) -> HashGridQuery

        The same for the points of one group, if the grid was built with groups; else for all.
    """
    ...

def hash_grid_query_next(query: Any, index: Any) -> Any:
    """
    kc.hash_grid_query_next(query: ref[HashGridQuery], index: ref[int32]) -> bool

        Sets `index` to the next point that a query finds; False: there is none.

        ```python
        query = kc.hash_grid_query(grid, kc.vec3(2.5, 0.5, 0.5), 0.25)
        i = int(0)
        kc.expect_eq(kc.hash_grid_query_next(query, i), True)
        kc.expect_eq(i, 2)
        kc.expect_eq(kc.hash_grid_query_next(query, i), False)
        ```
    """
    ...

def identity(n: Any, dtype: Any = ...) -> Any:
    """
    kc.identity(n: int32, dtype: type = float32) -> Mat[N, N, Scalar]

        The n x n matrix with ones on its diagonal. `n` is a constant.

        ```python
        m = kc.identity(n=3, dtype=float)
        kc.expect_eq(m * kc.vec3(1.0, 2.0, 3.0), kc.vec3(1.0, 2.0, 3.0))
        ```
    """
    ...

def int(x: Any) -> Any:
    """
    kc.int(x: Scalar) -> int32

        `int32(x)`. A literal `1` is one already; `n = int(1)` makes a variable of it.

        ```python
        kc.expect_eq(int(2.75), 2)
        ```
    """
    ...

def intersect_tri_tri(v0: Any, v1: Any, v2: Any, u0: Any, u1: Any, u2: Any) -> Any:
    """
    kc.intersect_tri_tri(v0: Vec[3, Float], v1: Vec[3, Float], v2: Vec[3, Float], u0: Vec[3, Float], u1: Vec[3, Float], u2: Vec[3, Float]) -> int32

        1 if the triangles `v0 v1 v2` and `u0 u1 u2` intersect, otherwise 0.

        A vertex counts as in the plane of the other triangle if its distance, times twice that triangle's area, is below 1e-6.

        ```python
        hit = kc.intersect_tri_tri(
            kc.vec3(0.0, 0.0, 0.0), kc.vec3(1.0, 0.0, 0.0), kc.vec3(0.0, 1.0, 0.0),
            kc.vec3(0.2, 0.2, -1.0), kc.vec3(0.2, 0.2, 1.0), kc.vec3(2.0, 2.0, 0.0),
        )
        kc.expect_eq(hit, 1)
        ```
    """
    ...

def inverse(a: Any) -> Any:
    """
    kc.inverse(a: Mat[2, 2, Float]) -> Mat[2, 2, Float]

        Inverse of `a`; the zero matrix, with derivative 0, if the determinant is 0.

    kc.inverse(a: Mat[3, 3, Float]) -> Mat[3, 3, Float]

        Inverse of `a`; the zero matrix, with derivative 0, if the determinant is 0.

    kc.inverse(a: Mat[4, 4, Float]) -> Mat[4, 4, Float]

        Inverse of `a`; the zero matrix, with derivative 0, if the determinant is 0.
    """
    ...

def inverse_approx(a: Any) -> Any:
    """
    kc.inverse_approx(a: Mat[N, N, Float]) -> Mat[N, N, Float]

        Inverse of `a`. Warp's approximate division on GPUs is exact here.
    """
    ...

def invert(a: Any) -> Any:
    """
    kc.invert(a: Mat[R, C, Int]) -> Mat[R, C, Int]

        `~a`: every bit of every component inverted.

    kc.invert(a: Int) -> Int

        `~a`: every bit inverted.

    kc.invert(a: Vec[N, Int]) -> Vec[N, Int]

        `~a`: every bit of every component inverted.
    """
    ...

def isfinite(a: Any) -> Any:
    """
    kc.isfinite(a: Mat[R, C, Float]) -> bool

        Whether every component of `a` is finite.

    kc.isfinite(a: Quat[Float]) -> bool

        Whether every component of `a` is finite.

    kc.isfinite(a: Float) -> bool

        Whether `a` is a number: neither infinite nor NaN.

    kc.isfinite(a: Vec[N, Float]) -> bool

        Whether every component of `a` is finite.
    """
    ...

def isinf(a: Any) -> Any:
    """
    kc.isinf(a: Mat[R, C, Float]) -> bool

        Whether any component of `a` is infinite.

    kc.isinf(a: Quat[Float]) -> bool

        Whether any component of `a` is infinite.

    kc.isinf(a: Float) -> bool

        Whether `a` is infinite, of either sign.

    kc.isinf(a: Vec[N, Float]) -> bool

        Whether any component of `a` is infinite.
    """
    ...

def isnan(a: Any) -> Any:
    """
    kc.isnan(a: Mat[R, C, Float]) -> bool

        Whether any component of `a` is NaN.

    kc.isnan(a: Quat[Float]) -> bool

        Whether any component of `a` is NaN.

    kc.isnan(a: Float) -> bool

        Whether `a` is NaN.

    kc.isnan(a: Vec[N, Float]) -> bool

        Whether any component of `a` is NaN.
    """
    ...

def lane() -> Any:
    """
    kc.lane() -> int32

        The number of the thread in its block. kc's own: Warp has no such name.

        ```python
        kc.expect_eq(kc.lane() < kc.block_dim(), True)
        ```
    """
    ...

def len(a: Any) -> Any:
    """
    kc.len(a: Any) -> int32

        The number of components of a vector, quaternion, transform or tuple, of rows of a matrix, or of elements in the
        first dimension of an array. All but the last are constants.

        ```python
        kc.expect_eq(len(kc.vec3()), 3)
        kc.expect_eq(len(data), 8)
        ```
    """
    ...

def length(a: Any) -> Any:
    """
    kc.length(a: Quat[Float]) -> Float

        Length of `a` as a 4-vector. Its derivative at zero is taken as 0.

    kc.length(a: Vec[N, Float]) -> Float

        Euclidean length of `a`. Its derivative at the zero vector is taken as 0.
    """
    ...

def length_sq(a: Any) -> Any:
    """
    kc.length_sq(a: Quat[Float]) -> Float

        Squared length of `a` as a 4-vector.

    kc.length_sq(a: Vec[N, Scalar]) -> Scalar

        Squared Euclidean length of `a`.
    """
    ...

def lerp(a: Any, b: Any, t: Any) -> Any:
    """
    kc.lerp(a: Mat[R, C, Float], b: Mat[R, C, Float], t: Float) -> Mat[R, C, Float]

        Linear interpolation: `a * (1 - t) + b * t`.

    kc.lerp(a: Quat[Float], b: Quat[Float], t: Float) -> Quat[Float]

        Linear interpolation of the components: `a * (1 - t) + b * t`. See `quat_slerp` for rotations.

    kc.lerp(a: Float, b: Float, t: Float) -> Float

        Linear interpolation: `a * (1 - t) + b * t`, which is exactly `a` at `t = 0` and `b` at `t = 1`.

    kc.lerp(a: Transform[Float], b: Transform[Float], t: Float) -> Transform[Float]

        Linear interpolation of the components: `a * (1 - t) + b * t`.

    kc.lerp(a: Vec[N, Float], b: Vec[N, Float], t: Float) -> Vec[N, Float]

        Linear interpolation: `a * (1 - t) + b * t`.
    """
    ...

def log(x: Any) -> Any:
    """
    kc.log(x: Float) -> Float

        The natural logarithm of `x`. -infinity at 0, NaN for `x < 0`.
    """
    ...

def log10(x: Any) -> Any:
    """
    kc.log10(x: Float) -> Float

        The logarithm of `x` to base 10. -infinity at 0, NaN for `x < 0`.
    """
    ...

def log2(x: Any) -> Any:
    """
    kc.log2(x: Float) -> Float

        The logarithm of `x` to base 2, exact for powers of two. -infinity at 0, NaN for `x < 0`.
    """
    ...

def lower_bound(*arguments: Any, **named: Any) -> Any:
    """
    kc.lower_bound(arr: Array[Scalar, 1], value: Scalar) -> int32

        Index of the first element of the sorted array `arr` that is not below `value`; the last index if all are.

    kc.lower_bound(arr: Array[Scalar, 1], arr_begin: int32, arr_end: int32, value: Scalar) -> int32

        As `lower_bound(arr, value)`, among the elements from `arr_begin` to before `arr_end`.
    """
    ...

def lshift(a: Any, b: Any) -> Any:
    """
    kc.lshift(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

        `a << b`, component by component.

    kc.lshift(a: Int, b: Int) -> Int

        `a << b`; 0 when `b` is the width or more, or negative.

    kc.lshift(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]

        `a << b`, component by component.
    """
    ...

def match(value: Any) -> Any:
    """
    kc.match(value: Int) -> uint32

        The threads of the warp with the same integer as this one, as bits. kc's own.

        ```python
        kc.expect_eq(kc.match(3) & kc.uint32(1), kc.uint32(1))
        ```
    """
    ...

def matrix(entries: Any, shape: Any) -> Any:
    """
    kc.matrix(entries: Scalar, shape: tuple[int32, int32]) -> Mat[R, C, Scalar]

        A matrix of these entries, row by row. One entry alone is repeated.

        ```python
        m = kc.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2))
        kc.expect_eq(m[1, 0], 3.0)
        ```
    """
    ...

def matrix_from_cols(*arguments: Any, **named: Any) -> Any:
    """
    kc.matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar]) -> Mat[N, 2, Scalar]

        The matrix with these columns.

    kc.matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar]) -> Mat[N, 3, Scalar]

        The matrix with these columns.

    kc.matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar]) -> Mat[N, 4, Scalar]

        The matrix with these columns.

    kc.matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar]) -> Mat[N, 5, Scalar]

        The matrix with these columns.

    kc.matrix_from_cols(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar], v5: Vec[N, Scalar]) -> Mat[N, 6, Scalar]

        The matrix with these columns.
    """
    ...

def matrix_from_rows(*arguments: Any, **named: Any) -> Any:
    """
    kc.matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar]) -> Mat[2, N, Scalar]

        The matrix with these rows.

    kc.matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar]) -> Mat[3, N, Scalar]

        The matrix with these rows.

    kc.matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar]) -> Mat[4, N, Scalar]

        The matrix with these rows.

    kc.matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar]) -> Mat[5, N, Scalar]

        The matrix with these rows.

    kc.matrix_from_rows(v0: Vec[N, Scalar], v1: Vec[N, Scalar], v2: Vec[N, Scalar], v3: Vec[N, Scalar], v4: Vec[N, Scalar], v5: Vec[N, Scalar]) -> Mat[6, N, Scalar]

        The matrix with these rows.
    """
    ...

def max(*arguments: Any, **named: Any) -> Any:
    """
    kc.max(a: Scalar, b: Scalar) -> Scalar

        The larger of `a` and `b`. A NaN loses against a number; `max(-0.0, 0.0)` is +0.

    kc.max(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]

        The larger of `a` and `b`, component by component; a NaN loses.

    kc.max(a: Vec[N, Scalar]) -> Scalar

        The largest component of `a`; a NaN loses.
    """
    ...

def mesh_eval_face_normal(id: Any, face: Any) -> Any:
    """
    kc.mesh_eval_face_normal(id: uint64, face: int32) -> Vec[3, float32]

        The unit normal of a face, by the right hand rule.

        ```python
        kc.expect_eq(kc.mesh_eval_face_normal(mesh, 0), kc.vec3(0.0, 0.0, -1.0))
        ```
    """
    ...

def mesh_eval_position(id: Any, face: Any, bary_u: Any, bary_v: Any) -> Any:
    """
    kc.mesh_eval_position(id: uint64, face: int32, bary_u: float32, bary_v: float32) -> Vec[3, float32]

        The point of a face with barycentric coordinates `bary_u`, `bary_v`.

        ```python
        kc.expect_eq(kc.mesh_eval_position(mesh, 0, 0.0, 0.5), kc.vec3(0.5, 0.5, 0.0))
        ```
    """
    ...

def mesh_eval_velocity(id: Any, face: Any, bary_u: Any, bary_v: Any) -> Any:
    """
    kc.mesh_eval_velocity(id: uint64, face: int32, bary_u: float32, bary_v: float32) -> Vec[3, float32]

        The velocity of that point; 0 in a mesh without velocities.

        ```python
        kc.expect_eq(kc.mesh_eval_velocity(mesh, 0, 0.0, 0.5), kc.vec3(0.0, 0.0, 2.0))
        ```
    """
    ...

def mesh_get(id: Any) -> Any:
    """
    kc.mesh_get(id: uint64) -> Mesh

        The arrays of a mesh: `points`, `velocities`, `indices`.

        ```python
        m = kc.mesh_get(mesh)
        kc.expect_eq(m.indices.shape[0], 36)
        kc.expect_eq(m.points[m.indices[1]], kc.vec3(0.0, 1.0, 0.0))
        ```
    """
    ...

def mesh_get_bvh(id: Any) -> Any:
    """
    kc.mesh_get_bvh(id: uint64) -> uint64

        The id of the tree of a mesh, whose boxes are those of the faces.

        ```python
        tree = kc.mesh_get_bvh(mesh)
        n = int(0)
        for face in kc.bvh_query_aabb(tree, kc.vec3(0.0), kc.vec3(1.0)):
            n += 1
        kc.expect_eq(n, 12)
        ```
    """
    ...

def mesh_get_group_root(id: Any, group: Any) -> Any:
    """
    kc.mesh_get_group_root(id: uint64, group: int32) -> int32

        The node that holds the faces of a group, for `root` of a query; -1: there is no such group.

        ```python
        kc.expect_eq(kc.mesh_get_group_root(mesh, 7), -1)
        ```
    """
    ...

def mesh_get_index(id: Any, index: Any) -> Any:
    """
    kc.mesh_get_index(id: uint64, index: int32) -> int32

        The corner that is number `index` of all faces: `3 * face + corner`.

        ```python
        kc.expect_eq(kc.mesh_get_index(mesh, 1), 2)
        ```
    """
    ...

def mesh_get_point(id: Any, index: Any) -> Any:
    """
    kc.mesh_get_point(id: uint64, index: int32) -> Vec[3, float32]

        The position of the corner that is number `index` of all faces: `3 * face + corner`.

        ```python
        kc.expect_eq(kc.mesh_get_point(mesh, 1), kc.vec3(0.0, 1.0, 0.0))
        ```
    """
    ...

def mesh_get_velocity(id: Any, index: Any) -> Any:
    """
    kc.mesh_get_velocity(id: uint64, index: int32) -> Vec[3, float32]

        The velocity of the corner that is number `index` of all faces: `3 * face + corner`.

        ```python
        kc.expect_eq(kc.mesh_get_velocity(mesh, 1), kc.vec3(0.0, 0.0, 2.0))
        ```
    """
    ...

def mesh_query_aabb(id: Any, low: Any, high: Any) -> Any:
    """
    kc.mesh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> MeshQueryAABB

        A query for the faces of the mesh `id` whose boxes touch the box from `low` to `high`.

        Go through them by `mesh_query_aabb_next`, or by `for face in query:`.

        ```python
        n = int(0)
        for face in kc.mesh_query_aabb(mesh, kc.vec3(0.25), kc.vec3(0.75)):
            n += 1
        kc.expect_eq(n, 0)
        ```
    """
    ...

def mesh_query_aabb_next(query: Any, index: Any) -> Any:
    """
    kc.mesh_query_aabb_next(query: ref[MeshQueryAABB], index: ref[int32]) -> bool

        Another name of `mesh_query_next`.

        ```python
        query = kc.mesh_query_aabb(mesh, kc.vec3(0.25), kc.vec3(0.75))
        face = int(0)
        kc.expect_eq(kc.mesh_query_aabb_next(query, face), False)
        ```
    """
    ...

def mesh_query_aabb_next_tiled(query: Any) -> Any:
    """
    kc.mesh_query_aabb_next_tiled(query: Any)

        The older name of `tile_mesh_query_aabb_next`.

        ```python
        query = kc.mesh_query_aabb_tiled(mesh, kc.vec3(0.25), kc.vec3(0.75))
        kc.expect_eq(kc.mesh_query_aabb_next_tiled(query)[0], -1)
        ```
    """
    ...

def mesh_query_aabb_tiled(id: Any, low: Any, high: Any) -> Any:
    """
    kc.mesh_query_aabb_tiled(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> MeshQueryAABBTiled

        The older name of `tile_mesh_query_aabb`.

        ```python
        query = kc.mesh_query_aabb_tiled(mesh, kc.vec3(-0.5), kc.vec3(0.0))
        kc.expect_eq(kc.tile_query_valid(query), True)
        ```
    """
    ...

def mesh_query_furthest_point_no_sign(*arguments: Any, **named: Any) -> Any:
    """
    kc.mesh_query_furthest_point_no_sign(id: uint64, point: Vec[3, float32], min_dist: float32) -> MeshQueryPoint

        The point of the mesh `id` that is furthest from `point`, further than `min_dist`: a corner.

        ```python
        found = kc.mesh_query_furthest_point_no_sign(mesh, kc.vec3(-1.0, -1.0, -1.0), 0.0)
        kc.expect_eq(kc.mesh_eval_position(mesh, found.face, found.u, found.v), kc.vec3(1.0, 1.0, 1.0))
        ```

    kc.mesh_query_furthest_point_no_sign(id: uint64, point: Vec[3, float32], min_dist: float32, face: ref[int32], bary_u: ref[float32], bary_v: ref[float32]) -> bool

        The same into variables, which stay as they are where nothing is found.
    """
    ...

def mesh_query_next(query: Any, index: Any) -> Any:
    """
    kc.mesh_query_next(query: ref[MeshQueryAABB], index: ref[int32]) -> bool

        Sets `index` to the next face that a query finds; False: there is none.

        ```python
        query = kc.mesh_query_aabb(mesh, kc.vec3(-0.5), kc.vec3(0.0))
        face = int(0)
        n = int(0)
        while kc.mesh_query_next(query, face):
            n += 1
        kc.expect_eq(n, 6)
        ```
    """
    ...

def mesh_query_point(*arguments: Any, **named: Any) -> Any:
    """
    kc.mesh_query_point(id: uint64, point: Vec[3, float32], max_dist: float32) -> MeshQueryPoint

        The point of the mesh `id` that is closest to `point`, nearer than `max_dist`.

        `sign` is -1 inside: two of the rays along the axes meet a face from behind first.

        ```python
        found = kc.mesh_query_point(mesh, kc.vec3(0.25, 0.5, 0.125), 10.0)
        if found.result:
            nearest = kc.mesh_eval_position(mesh, found.face, found.u, found.v)
            kc.expect_eq(nearest, kc.vec3(0.25, 0.5, 0.0))
        kc.expect_eq(found.sign, -1.0)
        ```

    kc.mesh_query_point(id: uint64, point: Vec[3, float32], max_dist: float32, inside: ref[float32], face: ref[int32], bary_u: ref[float32], bary_v: ref[float32]) -> bool

        The same into variables, which stay as they are where nothing is found.
    """
    ...

def mesh_query_point_no_sign(*arguments: Any, **named: Any) -> Any:
    """
    kc.mesh_query_point_no_sign(id: uint64, point: Vec[3, float32], max_dist: float32) -> MeshQueryPoint

        The point of the mesh `id` that is closest to `point`, nearer than `max_dist`; without a sign.

        ```python
        found = kc.mesh_query_point_no_sign(mesh, kc.vec3(0.25, 0.5, 3.0), 10.0)
        kc.expect_eq(found.result, True)
        kc.expect_eq(kc.mesh_eval_position(mesh, found.face, found.u, found.v), kc.vec3(0.25, 0.5, 1.0))
        ```

    kc.mesh_query_point_no_sign(id: uint64, point: Vec[3, float32], max_dist: float32, face: ref[int32], bary_u: ref[float32], bary_v: ref[float32]) -> bool

        The same into variables, which stay as they are where nothing is found.
    """
    ...

def mesh_query_point_sign_normal(*arguments: Any, **named: Any) -> Any:
    """
    kc.mesh_query_point_sign_normal(id: uint64, point: Vec[3, float32], max_dist: float32, epsilon: float32 = 1.0e-3) -> MeshQueryPoint

        The same; `sign` is that of the angle to the normal there, the sum of the normals of the faces around,
        weighted by their angles (Baerentzen and Aanaes, Signed Distance Computation Using the Angle Weighted
        Pseudonormal, 2005). `epsilon` times the average length of an edge is what counts as equally near.

        ```python
        found = kc.mesh_query_point_sign_normal(mesh, kc.vec3(2.0, 2.0, 2.0), 10.0)
        kc.expect_eq(found.sign, 1.0)
        ```

    kc.mesh_query_point_sign_normal(id: uint64, point: Vec[3, float32], max_dist: float32, inside: ref[float32], face: ref[int32], bary_u: ref[float32], bary_v: ref[float32], epsilon: float32 = 1.0e-3) -> bool

        The same into variables, which stay as they are where nothing is found.
    """
    ...

def mesh_query_point_sign_parity(*arguments: Any, **named: Any) -> Any:
    """
    kc.mesh_query_point_sign_parity(id: uint64, point: Vec[3, float32], max_dist: float32, n_sample: int32 = 1, perturbation_scale: float32 = 0.1) -> MeshQueryPoint

        The same; `sign` is -1 where at least half of `n_sample` rays meet an odd number of faces.

        ```python
        found = kc.mesh_query_point_sign_parity(mesh, kc.vec3(0.25, 0.5, 3.0), 10.0, n_sample=3)
        kc.expect_eq(found.sign, 1.0)
        ```

    kc.mesh_query_point_sign_parity(id: uint64, point: Vec[3, float32], max_dist: float32, inside: ref[float32], face: ref[int32], bary_u: ref[float32], bary_v: ref[float32], n_sample: int32 = 1, perturbation_scale: float32 = 0.1) -> bool

        The same into variables, which stay as they are where nothing is found.
    """
    ...

def mesh_query_point_sign_winding_number(*arguments: Any, **named: Any) -> Any:
    """
    kc.mesh_query_point_sign_winding_number(id: uint64, point: Vec[3, float32], max_dist: float32, accuracy: float32 = 2.0, threshold: float32 = 0.5) -> MeshQueryPoint

        The same; `sign` is -1 where the winding number is above `threshold` (Barill and others, Fast Winding
        Numbers for Soups and Clouds, ACM Transactions on Graphics 37(4), 2018).

        The mesh is made with `support_winding_number=True`; without, the rule is that of `mesh_query_point`.

        ```python
        found = kc.mesh_query_point_sign_winding_number(mesh, kc.vec3(0.25, 0.5, 0.5), 10.0)
        kc.expect_eq(found.sign, -1.0)
        ```

    kc.mesh_query_point_sign_winding_number(id: uint64, point: Vec[3, float32], max_dist: float32, inside: ref[float32], face: ref[int32], bary_u: ref[float32], bary_v: ref[float32], accuracy: float32 = 2.0, threshold: float32 = 0.5) -> bool

        The same into variables, which stay as they are where nothing is found.
    """
    ...

def mesh_query_ray(*arguments: Any, **named: Any) -> Any:
    """
    kc.mesh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, t: ref[float32], bary_u: ref[float32], bary_v: ref[float32], sign: ref[float32], normal: ref[Vec[3, float32]], face: ref[int32], root: int32 = -1) -> bool

        The same into variables, which stay as they are where nothing is found.

    kc.mesh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32 = -1) -> MeshQueryRay

        Where the ray from `start` in direction `dir` meets the mesh `id` first, before `max_t` lengths of `dir`.

        `root` is the node of a group (`mesh_get_group_root`); -1: all.

        ```python
        hit = kc.mesh_query_ray(mesh, kc.vec3(0.25, 0.5, 3.0), kc.vec3(0.0, 0.0, -1.0), 10.0)
        if hit.result:
            kc.expect_eq(hit.t, 2.0)
            kc.expect_eq(hit.normal, kc.vec3(0.0, 0.0, 1.0))
        ```
    """
    ...

def mesh_query_ray_anyhit(id: Any, start: Any, dir: Any, max_t: Any, root: Any = ...) -> Any:
    """
    kc.mesh_query_ray_anyhit(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], max_t: float32, root: int32 = -1) -> bool

        Whether the ray from `start` in direction `dir` meets the mesh `id` before `max_t` lengths of `dir`.

        ```python
        kc.expect_eq(kc.mesh_query_ray_anyhit(mesh, kc.vec3(0.25, 0.5, 3.0), kc.vec3(0.0, 0.0, -1.0), 1.5), False)
        ```
    """
    ...

def mesh_query_ray_count_intersections(id: Any, start: Any, dir: Any, root: Any = ...) -> Any:
    """
    kc.mesh_query_ray_count_intersections(id: uint64, start: Vec[3, float32], dir: Vec[3, float32], root: int32 = -1) -> int32

        How many faces of the mesh `id` the ray from `start` in direction `dir` meets. One that goes through an
        edge meets both faces there.

        ```python
        n = kc.mesh_query_ray_count_intersections(mesh, kc.vec3(0.25, 0.5, 3.0), kc.vec3(0.0, 0.0, -1.0))
        kc.expect_eq(n, 2)
        ```
    """
    ...

def mesh_query_sphere(id: Any, center: Any, radius: Any) -> Any:
    """
    kc.mesh_query_sphere(id: uint64, center: Vec[3, float32], radius: float32) -> MeshQueryAABB

        A query for the faces of the mesh `id` that are not further than `radius` from `center`.

        ```python
        n = int(0)
        for face in kc.mesh_query_sphere(mesh, kc.vec3(0.5), 0.75):
            n += 1
        kc.expect_eq(n, 12)
        ```
    """
    ...

def min(*arguments: Any, **named: Any) -> Any:
    """
    kc.min(a: Scalar, b: Scalar) -> Scalar

        The smaller of `a` and `b`. A NaN loses against a number; `min(-0.0, 0.0)` is -0.

    kc.min(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]

        The smaller of `a` and `b`, component by component; a NaN loses.

    kc.min(a: Vec[N, Scalar]) -> Scalar

        The smallest component of `a`; a NaN loses.
    """
    ...

def mod(a: Any, b: Any) -> Any:
    """
    kc.mod(a: Int, b: Int) -> Int

        `a % b`: the remainder of truncating division, with the sign of `a`; `a % 0` is `a`.

    kc.mod(a: Float, b: Float) -> Float

        `a % b`: `a - trunc(a / b) * b`, exact, with the sign of `a`. NaN for infinite `a`, for `b = 0`, and for NaN.

    kc.mod(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]

        `a % b`, component by component: the remainder with the sign of `a`.

    kc.mod(a: Vec[N, Float], b: Vec[N, Float]) -> Vec[N, Float]

        `a % b`, component by component: the remainder with the sign of `a`.
    """
    ...

def mul(a: Any, b: Any) -> Any:
    """
    kc.mul(a: Mat[R, C, Scalar], b: Vec[C, Scalar]) -> Vec[R, Scalar]

        Matrix times column vector.

    kc.mul(a: Vec[R, Scalar], b: Mat[R, C, Scalar]) -> Vec[C, Scalar]

        Row vector times matrix.

    kc.mul(a: Mat[R, K, Scalar], b: Mat[K, C, Scalar]) -> Mat[R, C, Scalar]

        Matrix product.

    kc.mul(a: Mat[R, C, Scalar], b: Scalar) -> Mat[R, C, Scalar]

        `a * b`: each component of `a` times `b`.

    kc.mul(a: Scalar, b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        `a * b`: each component of `b` times `a`.

    kc.mul(a: Quat[Float], b: Quat[Float]) -> Quat[Float]

        Quaternion product: the rotation by `b`, then by `a`.

    kc.mul(a: Quat[Float], b: Float) -> Quat[Float]

        `a * b`: each component of `a` times `b`.

    kc.mul(a: Float, b: Quat[Float]) -> Quat[Float]

        `a * b`: each component of `b` times `a`.

    kc.mul(a: Scalar, b: Scalar) -> Scalar

        `a * b`. Integers wrap.

    kc.mul(a: Transform[Float], b: Transform[Float]) -> Transform[Float]

        The transform that applies `b`, then `a`.

    kc.mul(a: Transform[Float], b: Float) -> Transform[Float]

        `a * b`: each component of `a` times `b`.

    kc.mul(a: Float, b: Transform[Float]) -> Transform[Float]

        `a * b`: each component of `b` times `a`.

    kc.mul(a: Vec[N, Scalar], b: Scalar) -> Vec[N, Scalar]

        `a * b`: each component of `a` times `b`.

    kc.mul(a: Scalar, b: Vec[N, Scalar]) -> Vec[N, Scalar]

        `a * b`: each component of `b` times `a`.
    """
    ...

def neg(x: Any) -> Any:
    """
    kc.neg(x: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        `-x`.

    kc.neg(x: Quat[Float]) -> Quat[Float]

        `-x`: the same rotation, with all components negated.

    kc.neg(x: Scalar) -> Scalar

        `-x`. Integers wrap.

    kc.neg(x: Vec[N, Scalar]) -> Vec[N, Scalar]

        `-x`.
    """
    ...

def noise(*arguments: Any, **named: Any) -> Any:
    """
    kc.noise(state: uint32, x: float32) -> float32

        Smooth noise between -1 and 1 along a line; 0 at whole numbers. Equal `state` gives equal noise.

    kc.noise(state: uint32, xy: Vec[2, float32]) -> float32

        Smooth noise between -1 and 1 in the plane; 0 at lattice points. Equal `state` gives equal noise.

    kc.noise(state: uint32, xyz: Vec[3, float32]) -> float32

        Smooth noise between -1 and 1 in space; 0 at lattice points. Equal `state` gives equal noise.

    kc.noise(state: uint32, xyzt: Vec[4, float32]) -> float32

        Smooth noise between -1 and 1 in four dimensions; 0 at lattice points. Equal `state` gives equal noise.
    """
    ...

def nonzero(x: Any) -> Any:
    """
    kc.nonzero(x: Scalar) -> Scalar

        0 if `x` is 0 (or -0), otherwise 1; so 1 for NaN.
    """
    ...

def norm_huber(v: Any, delta: Any = ...) -> Any:
    """
    kc.norm_huber(v: Vec[N, Float], delta: Float = 1.0) -> Float

        Huber norm of `v`: `0.5 * |v|^2` where `|v| <= delta`, `delta * (|v| - 0.5 * delta)` beyond.
    """
    ...

def norm_l1(v: Any) -> Any:
    """
    kc.norm_l1(v: Vec[N, Float]) -> Float

        Sum of the absolute values of the components of `v`.
    """
    ...

def norm_l2(v: Any) -> Any:
    """
    kc.norm_l2(v: Vec[N, Float]) -> Float

        Euclidean length of `v`.
    """
    ...

def norm_pseudo_huber(v: Any, delta: Any = ...) -> Any:
    """
    kc.norm_pseudo_huber(v: Vec[N, Float], delta: Float = 1.0) -> Float

        Smooth Huber norm of `v`: `delta * sqrt(1 + |v|^2 / delta^2)`. At the zero vector it is `delta`, not 0.
    """
    ...

def normalize(a: Any) -> Any:
    """
    kc.normalize(a: Quat[Float]) -> Quat[Float]

        `a` scaled to length 1; zero gives the identity rotation.

    kc.normalize(a: Vec[N, Float]) -> Vec[N, Float]

        `a` scaled to length 1; the zero vector stays zero.
    """
    ...

def outer(a: Any, b: Any) -> Any:
    """
    kc.outer(a: Vec[R, Scalar], b: Vec[C, Scalar]) -> Mat[R, C, Scalar]

        Outer product: the matrix of all `a[i] * b[j]`.
    """
    ...

def pnoise(*arguments: Any, **named: Any) -> Any:
    """
    kc.pnoise(state: uint32, x: float32, px: int32) -> float32

        `noise` that repeats after `px`, for `x >= 0`.

    kc.pnoise(state: uint32, xy: Vec[2, float32], px: int32, py: int32) -> float32

        `noise` that repeats after `px` and `py` along the axes, for coordinates >= 0.

    kc.pnoise(state: uint32, xyz: Vec[3, float32], px: int32, py: int32, pz: int32) -> float32

        `noise` that repeats after `px`, `py` and `pz` along the axes, for coordinates >= 0.

    kc.pnoise(state: uint32, xyzt: Vec[4, float32], px: int32, py: int32, pz: int32, pt: int32) -> float32

        `noise` that repeats after `px`, `py`, `pz` and `pt` along the axes, for coordinates >= 0.
    """
    ...

def poisson(state: Any, lam: Any) -> Any:
    """
    kc.poisson(state: ref[uint32], lam: float32) -> uint32

        A Poisson distributed count with mean `lam`; advances `state`.
    """
    ...

def pos(x: Any) -> Any:
    """
    kc.pos(x: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        `+x`: `x` itself.

    kc.pos(x: Quat[Float]) -> Quat[Float]

        `+x`: `x` itself.

    kc.pos(x: Scalar) -> Scalar

        `+x`: `x` itself.

    kc.pos(x: Vec[N, Scalar]) -> Vec[N, Scalar]

        `+x`: `x` itself.
    """
    ...

def pow(x: Any, y: Any) -> Any:
    """
    kc.pow(x: Float, y: Float) -> Float

        `x` to the power `y`. 1 for `y = 0` and for `x = 1`; NaN for `x < 0` unless `y` is whole; the rest as in C.
    """
    ...

def print(value: Any) -> Any:
    """
    kc.print(value: Any)

        Writes `value` and a line end: a string, a scalar, or the components of a vector, matrix, quaternion or
        transform.

        ```python
        print("an example prints this")
        ```
    """
    ...

def printf(format: Any, values: Any) -> Any:
    """
    kc.printf(format: str, values: Scalar)

        Writes scalars as C's `printf` does; they follow the format one by one. A conversion too many, too few or for
        strings is an error of the file.

        ```python
        kc.printf("an example prints %d and %.1f\\n", 1, 2.5)
        ```
    """
    ...

def qr3(*arguments: Any, **named: Any) -> Any:
    """
    kc.qr3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Mat[3, 3, Float]]

        QR decomposition: a rotation `Q` and an upper triangular `R` with `A = Q * R`.

        The first two diagonal elements of `R` are not negative; the third has the sign of the determinant of `A`.
        Where one of the first two is 0, no gradient is passed through the turn it leaves open.

        ```python
        Q, R = kc.qr3(kc.mat33(0.0, -2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 3.0))
        kc.expect_near(R, kc.diag(kc.vec3(1.0, 2.0, 3.0)))
        ```

    kc.qr3(A: Mat[3, 3, Float], Q: ref[Mat[3, 3, Float]], R: ref[Mat[3, 3, Float]])

        Sets `Q` and `R` to the QR decomposition of `A`.
    """
    ...

def quat_between_vectors(a: Any, b: Any) -> Any:
    """
    kc.quat_between_vectors(a: Vec[3, Float], b: Vec[3, Float]) -> Quat[Float]

        The rotation by the smallest angle that turns the direction of `a` into that of `b`.

        Between opposite directions there are many: such a call gives the identity, as in Warp.
    """
    ...

def quat_from_axis_angle(axis: Any, angle: Any) -> Any:
    """
    kc.quat_from_axis_angle(axis: Vec[3, Float], angle: Float) -> Quat[Float]

        The rotation by `angle` about the unit vector `axis`.
    """
    ...

def quat_from_euler(e: Any, i: Any, j: Any, k: Any) -> Any:
    """
    kc.quat_from_euler(e: Vec[3, Float], i: int32, j: int32, k: int32) -> Quat[Float]

        The rotations by `e[i]` about axis `i`, then `e[j]` about `j`, then `e[k]` about `k`; the axes stay fixed.
    """
    ...

def quat_from_matrix(mat: Any) -> Any:
    """
    kc.quat_from_matrix(mat: Mat[3, 3, Float]) -> Quat[Float]

        The rotation with the matrix `mat`, as a unit quaternion.

        Divides by the largest of the four components (Shepperd, Journal of Guidance and Control 1(3), 1978).

    kc.quat_from_matrix(mat: Mat[4, 4, Float]) -> Quat[Float]

        The rotation in the upper left 3x3 part of `mat`, as a unit quaternion.
    """
    ...

def quat_identity(dtype: Any = ...) -> Any:
    """
    kc.quat_identity(dtype: type = float32) -> Quat[Float]

        The quaternion (0, 0, 0, 1), which rotates nothing.

        ```python
        kc.expect_eq(kc.quat_rotate(kc.quat_identity(), kc.vec3(1.0)), kc.vec3(1.0))
        ```
    """
    ...

def quat_inverse(quat: Any) -> Any:
    """
    kc.quat_inverse(quat: Quat[Float]) -> Quat[Float]

        The conjugate of `quat`, which is the inverse of a unit quaternion.
    """
    ...

def quat_rotate(quat: Any, vec: Any) -> Any:
    """
    kc.quat_rotate(quat: Quat[Float], vec: Vec[3, Float]) -> Vec[3, Float]

        `vec` rotated by the unit quaternion `quat`.
    """
    ...

def quat_rotate_inv(quat: Any, vec: Any) -> Any:
    """
    kc.quat_rotate_inv(quat: Quat[Float], vec: Vec[3, Float]) -> Vec[3, Float]

        `vec` rotated by the inverse of the unit quaternion `quat`.
    """
    ...

def quat_rpy(roll: Any, pitch: Any, yaw: Any) -> Any:
    """
    kc.quat_rpy(roll: Float, pitch: Float, yaw: Float) -> Quat[Float]

        The rotation by `roll` about x, then `pitch` about y, then `yaw` about z; the axes stay fixed.
    """
    ...

def quat_slerp(a: Any, b: Any, t: Any) -> Any:
    """
    kc.quat_slerp(a: Quat[Float], b: Quat[Float], t: Float) -> Quat[Float]

        Spherical interpolation from rotation `a` at `t = 0` to rotation `b` at `t = 1`, on the shorter way.

        Smooth where `a` and `b` are equal.
    """
    ...

def quat_to_axis_angle(*arguments: Any, **named: Any) -> Any:
    """
    kc.quat_to_axis_angle(quat: Quat[Float]) -> tuple[Vec[3, Float], Float]

        Axis and angle of the rotation `quat`: a unit vector (zero for no rotation) and an angle from 0 to pi.

        No rotation has no axis: there the derivatives of both are taken as 0.

    kc.quat_to_axis_angle(quat: Quat[Float], axis: ref[Vec[3, Float]], angle: ref[Float])

        Sets `axis` and `angle` to those of the rotation `quat`: a unit vector (zero for no rotation), and 0 to pi.
    """
    ...

def quat_to_euler(q: Any, i: Any, j: Any, k: Any) -> Any:
    """
    kc.quat_to_euler(q: Quat[Float], i: int32, j: int32, k: int32) -> Vec[3, Float]

        Angles by which rotations about the fixed axes `i`, `j`, `k` give `q`, each in the slot of its axis.

        Where `i == k` the third angle is in the slot of the axis that is neither `i` nor `j`. Method: Bernardes and Viollet,
        Quaternion to Euler angles conversion, PLoS ONE 17(11), 2022.
    """
    ...

def quat_to_matrix(quat: Any) -> Any:
    """
    kc.quat_to_matrix(quat: Quat[Float]) -> Mat[3, 3, Float]

        The matrix of the rotation `quat`.
    """
    ...

def quat_to_rpy(q: Any) -> Any:
    """
    kc.quat_to_rpy(q: Quat[Float]) -> Vec[3, Float]

        Roll, pitch and yaw of the rotation `q`, as `quat_rpy` takes them: roll and yaw in -pi..pi, pitch in -pi/2..pi/2.

        At pitch +-pi/2 only the difference or the sum of roll and yaw has a meaning: there roll is 0.
    """
    ...

def quat_twist(axis: Any, q: Any) -> Any:
    """
    kc.quat_twist(axis: Vec[3, Float], q: Quat[Float]) -> Quat[Float]

        The part of the rotation `q` that turns about the unit vector `axis`, as a unit quaternion.
    """
    ...

def quat_twist_angle(axis: Any, q: Any) -> Any:
    """
    kc.quat_twist_angle(axis: Vec[3, Float], q: Quat[Float]) -> Float

        Angle without sign by which the rotation `q` turns about the unit vector `axis`: 0 to pi if `q[3] >= 0`.
    """
    ...

def quat_twist_angle_signed(axis: Any, q: Any) -> Any:
    """
    kc.quat_twist_angle_signed(axis: Vec[3, Float], q: Quat[Float]) -> Float

        Angle by which the rotation `q` turns about the unit vector `axis`, by the right-hand rule.
    """
    ...

def quaternion(x: Any, y: Any, z: Any, w: Any) -> Any:
    """
    kc.quaternion(x: Float, y: Float, z: Float, w: Float) -> Quat[Float]

        The quaternion with imaginary part `x`, `y`, `z` and real part `w`. Also of a vector and `w`, and of another
        quaternion with `dtype=`.

        ```python
        q = kc.quaternion(0.0, 0.0, 0.0, 1.0)
        kc.expect_eq(q, kc.quat_identity())
        ```
    """
    ...

def radians(x: Any) -> Any:
    """
    kc.radians(x: Float) -> Float

        The angle `x`, given in degrees, in radians.
    """
    ...

def rand_init(*arguments: Any, **named: Any) -> Any:
    """
    kc.rand_init(seed: int32) -> uint32

        A generator that starts from `seed`.

    kc.rand_init(seed: int32, offset: int32) -> uint32

        A generator that starts from `seed` and `offset`, such as the thread's index.
    """
    ...

def randf(*arguments: Any, **named: Any) -> Any:
    """
    kc.randf(state: ref[uint32]) -> float32

        A random number from 0 to 1 - 2**-24, a multiple of 2**-24; advances `state`.

    kc.randf(state: ref[uint32], low: float32, high: float32) -> float32

        A random number from `low` to `high`; advances `state`.
    """
    ...

def randi(*arguments: Any, **named: Any) -> Any:
    """
    kc.randi(state: ref[uint32]) -> int32

        A random int32; advances `state`.

    kc.randi(state: ref[uint32], low: int32, high: int32) -> int32

        A random int32 from `low` to before `high`; advances `state`.
    """
    ...

def randn(state: Any) -> Any:
    """
    kc.randn(state: ref[uint32]) -> float32

        A normally distributed number with mean 0 and variance 1, by the method of Box and Muller; advances `state`.
    """
    ...

def randu(*arguments: Any, **named: Any) -> Any:
    """
    kc.randu(state: ref[uint32]) -> uint32

        A random uint32; advances `state`.

    kc.randu(state: ref[uint32], low: uint32, high: uint32) -> uint32

        A random uint32 from `low` to before `high`; advances `state`.
    """
    ...

def range(*arguments: Any, **named: Any) -> Any:
    """
    kc.range(stop: int32)

        In `for i in range(stop)`: the integers from 0 to before `stop`.

        ```python
        for i in range(8):
            data[i] = float(i)
        kc.expect_eq(data[7], 7.0)
        ```

    kc.range(start: int32, stop: int32)

        In a `for`: the integers from `start` to before `stop`.

    kc.range(start: int32, stop: int32, step: int32)

        In a `for`: `start`, `start + step`, ... to before `stop`; downwards when `step` is below 0.

        ```python
        n = int(0)
        for i in range(6, 0, -2):
            n = 10 * n + i
        kc.expect_eq(n, 642)
        ```
    """
    ...

def reversed(numbers: Any) -> Any:
    """
    kc.reversed(numbers: range)

        In `for i in reversed(range(...))`: the numbers of the range, last one first.

        ```python
        n = int(0)
        for i in reversed(range(3)):
            n = 10 * n + i
        kc.expect_eq(n, 210)
        ```
    """
    ...

def rint(x: Any) -> Any:
    """
    kc.rint(x: Float) -> Float

        The integer nearest to `x`; halves go to the even neighbour.
    """
    ...

def round(x: Any) -> Any:
    """
    kc.round(x: Float) -> Float

        The integer nearest to `x`; halves go away from zero.
    """
    ...

def rshift(a: Any, b: Any) -> Any:
    """
    kc.rshift(a: Mat[R, C, Int], b: Mat[R, C, Int]) -> Mat[R, C, Int]

        `a >> b`, component by component.

    kc.rshift(a: Int, b: Int) -> Int

        `a >> b`, arithmetic if signed; 0 (-1 for negative `a`) when `b` is the width or more, or negative.

    kc.rshift(a: Vec[N, Int], b: Vec[N, Int]) -> Vec[N, Int]

        `a >> b`, component by component.
    """
    ...

def sample_cdf(state: Any, cdf: Any) -> Any:
    """
    kc.sample_cdf(state: ref[uint32], cdf: Array[float32, 1]) -> int32

        A random index with the cumulative distribution `cdf`, whose last element is 1; advances `state`.
    """
    ...

def sample_triangle(state: Any) -> Any:
    """
    kc.sample_triangle(state: ref[uint32]) -> Vec[2, float32]

        Barycentric coordinates `(u, v)` of a random point of a triangle, with even density; advances `state`.
    """
    ...

def sample_unit_cube(state: Any) -> Any:
    """
    kc.sample_unit_cube(state: ref[uint32]) -> Vec[3, float32]

        A random point of the cube of side 1 about the origin; advances `state`.
    """
    ...

def sample_unit_disk(state: Any) -> Any:
    """
    kc.sample_unit_disk(state: ref[uint32]) -> Vec[2, float32]

        A random point of the unit disk, with even density; advances `state`.
    """
    ...

def sample_unit_hemisphere(state: Any) -> Any:
    """
    kc.sample_unit_hemisphere(state: ref[uint32]) -> Vec[3, float32]

        A random point of the unit ball with `z >= 0`, with even density in angle and volume; advances `state`.
    """
    ...

def sample_unit_hemisphere_surface(state: Any) -> Any:
    """
    kc.sample_unit_hemisphere_surface(state: ref[uint32]) -> Vec[3, float32]

        A random point of the unit sphere's surface with `z >= 0`, with even density; advances `state`.
    """
    ...

def sample_unit_hypercube(state: Any) -> Any:
    """
    kc.sample_unit_hypercube(state: ref[uint32]) -> Vec[4, float32]

        A random point of the 4-cube of side 1 about the origin; advances `state`.
    """
    ...

def sample_unit_ring(state: Any) -> Any:
    """
    kc.sample_unit_ring(state: ref[uint32]) -> Vec[2, float32]

        A random point of the unit circle's line; advances `state`.
    """
    ...

def sample_unit_sphere(state: Any) -> Any:
    """
    kc.sample_unit_sphere(state: ref[uint32]) -> Vec[3, float32]

        A random point of the unit ball, with even density; advances `state`.
    """
    ...

def sample_unit_sphere_surface(state: Any) -> Any:
    """
    kc.sample_unit_sphere_surface(state: ref[uint32]) -> Vec[3, float32]

        A random point of the unit sphere's surface, with even density; advances `state`.
    """
    ...

def sample_unit_square(state: Any) -> Any:
    """
    kc.sample_unit_square(state: ref[uint32]) -> Vec[2, float32]

        A random point of the square of side 1 about the origin; advances `state`.
    """
    ...

def select(cond: Any, value_if_false: Any, value_if_true: Any) -> Any:
    """
    kc.select(cond: Any, value_if_false: T, value_if_true: T) -> T

        As `where`, with the values the other way round: an older name.

        ```python
        kc.expect_eq(kc.select(True, 1.0, 2.0), 2.0)
        ```
    """
    ...

def shuffle(value: Any, source: Any) -> Any:
    """
    kc.shuffle(value: Any, source: int32)

        The `value` of thread `source % 32` of the warp, for each thread; its own where the block has no such thread. kc's own.

        ```python
        kc.expect_eq(kc.shuffle(5.0, 0), 5.0)
        ```
    """
    ...

def shuffle_down(value: Any, delta: Any) -> Any:
    """
    kc.shuffle_down(value: Any, delta: int32)

        The `value` of the thread `delta` behind this one in its warp; its own where there is none. kc's own.

        ```python
        kc.expect_eq(kc.shuffle_down(5.0, 1), 5.0)
        ```
    """
    ...

def shuffle_up(value: Any, delta: Any) -> Any:
    """
    kc.shuffle_up(value: Any, delta: int32)

        The `value` of the thread `delta` before this one in its warp; its own where there is none. kc's own.

        ```python
        kc.expect_eq(kc.shuffle_up(5.0, 1), 5.0)
        ```
    """
    ...

def shuffle_xor(value: Any, mask: Any) -> Any:
    """
    kc.shuffle_xor(value: Any, mask: int32)

        The `value` of the thread of the warp whose number differs in the bits of `mask`; its own where there is none. kc's own.

        ```python
        kc.expect_eq(kc.shuffle_xor(5.0, 1), 5.0)
        ```
    """
    ...

def sign(x: Any) -> Any:
    """
    kc.sign(x: Scalar) -> Scalar

        -1 if `x < 0`, otherwise 1; so 1 for 0, -0, and NaN.

    kc.sign(x: Vec[N, Scalar]) -> Vec[N, Scalar]

        -1 for each negative component of `x`, otherwise 1.
    """
    ...

def sin(x: Any) -> Any:
    """
    kc.sin(x: Float) -> Float

        The sine of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size.
    """
    ...

def sinh(x: Any) -> Any:
    """
    kc.sinh(x: Float) -> Float

        The hyperbolic sine of `x`.
    """
    ...

def skew(vec: Any) -> Any:
    """
    kc.skew(vec: Vec[3, Scalar]) -> Mat[3, 3, Scalar]

        The matrix whose product with `x` is `cross(vec, x)`.
    """
    ...

def smooth_normalize(v: Any, delta: Any = ...) -> Any:
    """
    kc.smooth_normalize(v: Vec[N, Float], delta: Float = 1.0) -> Vec[N, Float]

        `v / norm_pseudo_huber(v, delta)`: like `normalize` for long vectors, and smooth at the zero vector.
    """
    ...

def smoothstep(a: Any, b: Any, x: Any) -> Any:
    """
    kc.smoothstep(a: Float, b: Float, x: Float) -> Float

        Smooth Hermite step from 0 to 1: `t * t * (3 - 2 * t)` with `t = clamp((x - a) / (b - a), 0, 1)`.
    """
    ...

def spatial_adjoint(r: Any, s: Any) -> Any:
    """
    kc.spatial_adjoint(r: Mat[3, 3, Float], s: Mat[3, 3, Float]) -> Mat[6, 6, Float]

        The 6x6 matrix with `r` in both diagonal blocks, `s` in the lower left and zeros in the upper right.
    """
    ...

def spatial_bottom(svec: Any) -> Any:
    """
    kc.spatial_bottom(svec: Vec[6, Float]) -> Vec[3, Float]

        The last three components of `svec`: linear velocity or force.
    """
    ...

def spatial_cross(a: Any, b: Any) -> Any:
    """
    kc.spatial_cross(a: Vec[6, Float], b: Vec[6, Float]) -> Vec[6, Float]

        Cross product of two twists: the rate of change of `b` in a frame that moves with `a`.
    """
    ...

def spatial_cross_dual(a: Any, b: Any) -> Any:
    """
    kc.spatial_cross_dual(a: Vec[6, Float], b: Vec[6, Float]) -> Vec[6, Float]

        Cross product of the twist `a` and the wrench `b`: the rate of change of `b` in a frame that moves with `a`.
    """
    ...

def spatial_dot(a: Any, b: Any) -> Any:
    """
    kc.spatial_dot(a: Vec[6, Float], b: Vec[6, Float]) -> Float

        Dot product of two 6-vectors: the power of a wrench along a twist.
    """
    ...

def spatial_top(svec: Any) -> Any:
    """
    kc.spatial_top(svec: Vec[6, Float]) -> Vec[3, Float]

        The first three components of `svec`: angular velocity or torque.
    """
    ...

def sqrt(x: Any) -> Any:
    """
    kc.sqrt(x: Float) -> Float

        The square root of `x`, correctly rounded. -0 for -0; NaN for `x < 0`. The derivative at 0 is infinite.
    """
    ...

def static(expression: Any) -> Any:
    """
    kc.static(expression: Any) -> Any

        The value of `expression`, computed when the kernel is compiled: numbers, composites, structs, functions.

        ```python
        n = kc.static(2 * 3)
        kc.expect_eq(n, 6)
        ```
    """
    ...

def step(x: Any) -> Any:
    """
    kc.step(x: Scalar) -> Scalar

        1 if `x < 0`, otherwise 0.
    """
    ...

def sub(a: Any, b: Any) -> Any:
    """
    kc.sub(a: Mat[R, C, Scalar], b: Mat[R, C, Scalar]) -> Mat[R, C, Scalar]

        `a - b`.

    kc.sub(a: Quat[Float], b: Quat[Float]) -> Quat[Float]

        `a - b`, component by component.

    kc.sub(a: Scalar, b: Scalar) -> Scalar

        `a - b`. Integers wrap.

    kc.sub(a: Transform[Float], b: Transform[Float]) -> Transform[Float]

        `a - b`, component by component.

    kc.sub(a: Vec[N, Scalar], b: Vec[N, Scalar]) -> Vec[N, Scalar]

        `a - b`.
    """
    ...

def svd2(*arguments: Any, **named: Any) -> Any:
    """
    kc.svd2(A: Mat[2, 2, Float]) -> tuple[Mat[2, 2, Float], Vec[2, Float], Mat[2, 2, Float]]

        Singular value decomposition: `U`, `sigma`, `V` with `A = U * diag(sigma) * transpose(V)`.

        `V` is a rotation, `sigma[0] >= sigma[1] >= 0`, and `U` is a rotation, or a reflection where the determinant of `A` is
        negative.

        ```python
        U, sigma, V = kc.svd2(kc.mat22(0.0, -1.0, 3.0, 0.0))
        kc.expect_near(sigma, kc.vec2(3.0, 1.0))
        ```

    kc.svd2(A: Mat[2, 2, Float], U: ref[Mat[2, 2, Float]], sigma: ref[Vec[2, Float]], V: ref[Mat[2, 2, Float]])

        Sets `U`, `sigma` and `V` to the singular value decomposition of `A`.
    """
    ...

def svd3(*arguments: Any, **named: Any) -> Any:
    """
    kc.svd3(A: Mat[3, 3, Float]) -> tuple[Mat[3, 3, Float], Vec[3, Float], Mat[3, 3, Float]]

        Singular value decomposition: `U`, `sigma`, `V` with `A = U * diag(sigma) * transpose(V)`.

        `U` and `V` are rotations. The singular values fall in magnitude; the first two are not negative, and the third has the
        sign of the determinant of `A`.

        ```python
        U, sigma, V = kc.svd3(kc.diag(kc.vec3(1.0, 3.0, 2.0)))
        kc.expect_near(sigma, kc.vec3(3.0, 2.0, 1.0), 1.0e-5)
        ```

    kc.svd3(A: Mat[3, 3, Float], U: ref[Mat[3, 3, Float]], sigma: ref[Vec[3, Float]], V: ref[Mat[3, 3, Float]])

        Sets `U`, `sigma` and `V` to the singular value decomposition of `A`.
    """
    ...

def sync() -> Any:
    """
    kc.sync()

        All threads of a block come here before one goes on: what they stored in arrays and tiles, the others see then. kc's own.

        ```python
        data[0] = 1.0
        kc.sync()
        kc.expect_eq(data[0], 1.0)
        ```
    """
    ...

def tan(x: Any) -> Any:
    """
    kc.tan(x: Float) -> Float

        The tangent of `x`, in radians. NaN for infinite `x`. Exact reduction: right for arguments of any size.
    """
    ...

def tanh(x: Any) -> Any:
    """
    kc.tanh(x: Float) -> Float

        The hyperbolic tangent of `x`.
    """
    ...

def texture_sample(*arguments: Any, **named: Any) -> Any:
    """
    kc.texture_sample(tex: Texture1D, u: float32, dtype: type[T], lod: float32 = -1.0) -> T

        The value of a texture at `u`. `dtype` says how many channels are read: one as `float`, two as
        `kc.vec2f`, four as `kc.vec4f`; channels that the texture lacks are 0.

        The texture says what the coordinates are (normalized: its ends are 0 and 1), whether the nearest
        texel or a mixture of its neighbours counts, and what is beside it. Integers of 8 and 16 bits are
        parts of their largest, from -1 or 0 to 1; those of 32 bits become floats. Of a texture with levels
        of detail, level `lod` is read, and between two levels a mixture; below 0 the first one.

        Gradients go to the coordinates and to `lod`, and to stored values of `float32` where these have
        some. Where the nearest texel counts, coordinates have a gradient of 0.

        ```python
        kc.expect_eq(kc.texture_sample(ramp, 0.25, dtype=float), 5.0)
        kc.expect_eq(kc.texture_sample(ramp, 0.5, dtype=kc.vec2f), kc.vec2f(15.0, 0.0))
        ```

    kc.texture_sample(tex: Texture2D, uv: Vec[2, float32], dtype: type[T], lod: float32 = -1.0) -> T

        The value of an image at `uv`: along its rows, then down.

        ```python
        kc.expect_eq(kc.texture_sample(image, kc.vec2(1.5, 0.5), dtype=float), 1.0)
        kc.expect_eq(kc.texture_sample(image, kc.vec2(1.0, 1.0), dtype=float), 5.5)
        ```

    kc.texture_sample(tex: Texture2D, u: float32, v: float32, dtype: type[T], lod: float32 = -1.0) -> T

        The same by two numbers.

        ```python
        kc.expect_eq(kc.texture_sample(image, 2.5, 1.5, dtype=float), 12.0)
        ```

    kc.texture_sample(tex: Texture3D, uvw: Vec[3, float32], dtype: type[T], lod: float32 = -1.0) -> T

        The value of a stack of images at `uvw`: along rows, down, and from image to image.

        ```python
        kc.expect_eq(kc.texture_sample(stack, kc.vec3(0.5, 0.5, 0.5), dtype=float), 3.5)
        kc.expect_eq(kc.texture_sample(stack, kc.vec3(0.0, 0.0, 0.0), dtype=float, lod=0.5), 1.75)
        ```

    kc.texture_sample(tex: Texture3D, u: float32, v: float32, w: float32, dtype: type[T], lod: float32 = -1.0) -> T

        The same by three numbers.

        ```python
        kc.expect_eq(kc.texture_sample(stack, 0.0, 0.0, 1.0, dtype=float), 4.0)
        ```
    """
    ...

def tid() -> Any:
    """
    kc.tid() -> int32

        The index of this thread in the first dimension of the launch. Only in kernels.

        With several names on the left it gives the indices of several dimensions, up to 4; the last one changes fastest.

        ```python
        i = kc.tid()
        data[i] = float(i)
        kc.expect_eq(data[0], 0.0)
        ```
    """
    ...

tile: Any
def tile_arange(*ends: Any, dtype: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_arange(stop: Any, dtype: Any = 0, storage: Any = 0)

        A tile of one dimension with the numbers from 0, or from a start, to before `stop`; with a third number in steps of it.
        All are constants: `tile_arange(stop)`, `tile_arange(start, stop)`, `tile_arange(start, stop, step)`.

        ```python
        t = kc.tile_arange(2, 10, 3, dtype=int)
        kc.expect_eq(t[2], 8)
        ```
    """
    ...

def tile_argmax(a: Any) -> Any:
    """
    kc.tile_argmax(a: Any)

        The number of the greatest element in row-major order as a tile of one; of equal ones the first.

        ```python
        kc.expect_eq(kc.tile_argmax(kc.tile_ones(shape=4, dtype=int))[0], 0)
        ```
    """
    ...

def tile_argmin(a: Any) -> Any:
    """
    kc.tile_argmin(a: Any)

        The number of the least element in row-major order as a tile of one; of equal ones the first.

        ```python
        kc.expect_eq(kc.tile_argmin(kc.tile_arange(7, 3, -1, dtype=int))[0], 3)
        ```
    """
    ...

def tile_assign(dst: Any, src: Any, offset: Any = ...) -> Any:
    """
    kc.tile_assign(dst: Any, src: Any, offset: Any = 0)

        Sets the part of `dst` at `offset` to the elements of `src`.

        ```python
        t = kc.tile_zeros(shape=4, dtype=float)
        kc.tile_assign(t, kc.tile_ones(shape=2, dtype=float), offset=1)
        kc.expect_eq(kc.tile_sum(t)[0], 2.0)
        ```
    """
    ...

def tile_astype(t: Any, dtype: Any) -> Any:
    """
    kc.tile_astype(t: Any, dtype: Any)

        The tile with its numbers converted to `dtype`.

        ```python
        t = kc.tile_astype(kc.tile_arange(4, dtype=int), dtype=float)
        kc.expect_eq(t[3], 3.0)
        ```
    """
    ...

def tile_atomic_add(a: Any, t: Any, offset: Any = ..., bounds_check: Any = ..., aligned: Any = ...) -> Any:
    """
    kc.tile_atomic_add(a: Any, t: Any, offset: Any = 0, bounds_check: bool = True, aligned: bool = False)

        Adds a tile to an array, each component indivisibly. Gives the old values as a tile.

        ```python
        data[1] = 2.0
        kc.tile_atomic_add(data, kc.tile_ones(shape=2, dtype=float), offset=1)
        kc.expect_eq(data[1], 3.0)
        ```
    """
    ...

def tile_atomic_add_indexed(a: Any, indices: Any, t: Any, offset: Any = ..., axis: Any = ...) -> Any:
    """
    kc.tile_atomic_add_indexed(a: Any, indices: Any, t: Any, offset: Any = 0, axis: int = 0)

        As `tile_atomic_add`, with the elements along `axis` where the tile `indices` says.

        ```python
        data[5] = 2.0
        picked = kc.tile_arange(5, 6, dtype=int)
        kc.tile_atomic_add_indexed(data, picked, kc.tile_ones(shape=1, dtype=float))
        kc.expect_eq(data[5], 3.0)
        ```
    """
    ...

def tile_axpy(alpha: Any, src: Any, dest: Any) -> Any:
    """
    kc.tile_axpy(alpha: Any, src: Any, dest: Any)

        Adds `alpha * src` to the tile `dest`.

        ```python
        t = kc.tile_ones(shape=4, dtype=float)
        kc.tile_axpy(2.0, t, t)
        kc.expect_eq(t[0], 3.0)
        ```
    """
    ...

def tile_broadcast(t: Any, shape: Any) -> Any:
    """
    kc.tile_broadcast(t: Any, shape: Any)

        The tile repeated along dimensions of 1 and in front; dimensions pair up from the last one.

        ```python
        t = kc.tile_broadcast(kc.tile_arange(3, dtype=int), shape=(2, 3))
        kc.expect_eq(t[1, 2], 2)
        ```
    """
    ...

def tile_bvh_query_aabb(id: Any, low: Any, high: Any) -> Any:
    """
    kc.tile_bvh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> BvhQueryTiled

        A query of all threads of a block for the boxes of the BVH `id` that touch the box from `low` to `high`.

        The arguments are the same in all threads.

        ```python
        n = int(0)
        query = kc.tile_bvh_query_aabb(tree, kc.vec3(2.0, 0.0, 0.0), kc.vec3(3.0, 1.0, 1.0))
        while kc.tile_query_valid(query):
            found = kc.tile_bvh_query_next(query)
            n += kc.where(kc.tile_extract(found, 0) >= 0, 1, 0)
        kc.expect_eq(n > 0, True)
        ```
    """
    ...

def tile_bvh_query_next(query: Any) -> Any:
    """
    kc.tile_bvh_query_next(query: Any)

        A tile with one number for each thread of the block: a box that the query finds, or -1. Their order is the tree's.

        ```python
        query = kc.tile_bvh_query_aabb(tree, kc.vec3(0.25, 0.0, 0.0), kc.vec3(0.5, 1.0, 1.0))
        kc.expect_eq(kc.tile_bvh_query_next(query)[0], 0)
        ```
    """
    ...

def tile_bvh_query_ray(id: Any, start: Any, dir: Any) -> Any:
    """
    kc.tile_bvh_query_ray(id: uint64, start: Vec[3, float32], dir: Vec[3, float32]) -> BvhQueryTiled

        A query of all threads of a block for the boxes of the BVH `id` that a ray goes through.

        ```python
        n = int(0)
        query = kc.tile_bvh_query_ray(tree, kc.vec3(2.25, 0.5, 0.5), kc.vec3(1.0, 0.0, 0.0))
        while kc.tile_query_valid(query):
            found = kc.tile_bvh_query_next(query)
            n += kc.where(kc.tile_extract(found, 0) >= 0, 1, 0)
        kc.expect_eq(n > 0, True)
        ```
    """
    ...

def tile_cholesky(A: Any, fill_mode: Any = ...) -> Any:
    """
    kc.tile_cholesky(A: Any, fill_mode: Any = 0)

        The lower triangular factor of a symmetric positive definite matrix; with `fill_mode="upper"` the upper one. One triangle is read, the
        other one of the result is zero.

        ```python
        L = kc.tile_cholesky(kc.tile_full(shape=(1, 1), value=9.0))
        kc.expect_eq(L[0, 0], 3.0)
        ```
    """
    ...

def tile_cholesky_inplace(A: Any, fill_mode: Any = ...) -> Any:
    """
    kc.tile_cholesky_inplace(A: Any, fill_mode: Any = 0)

        Makes the tile `A` its factor.

        ```python
        a = kc.tile_full(shape=(1, 1), value=9.0)
        kc.tile_cholesky_inplace(a)
        kc.expect_eq(a[0, 0], 3.0)
        ```
    """
    ...

def tile_cholesky_solve(L: Any, y: Any, fill_mode: Any = ...) -> Any:
    """
    kc.tile_cholesky_solve(L: Any, y: Any, fill_mode: Any = 0)

        The solution of `A x = y`, where `L` is the factor of `A` from `tile_cholesky`.

        ```python
        x = kc.tile_cholesky_solve(kc.tile_full(shape=(1, 1), value=2.0), kc.tile_full(shape=1, value=12.0))
        kc.expect_eq(x[0], 3.0)
        ```
    """
    ...

def tile_cholesky_solve_inplace(L: Any, y: Any, fill_mode: Any = ...) -> Any:
    """
    kc.tile_cholesky_solve_inplace(L: Any, y: Any, fill_mode: Any = 0)

        Makes the tile `y` the solution.

        ```python
        y = kc.tile_full(shape=1, value=12.0)
        kc.tile_cholesky_solve_inplace(kc.tile_full(shape=(1, 1), value=2.0), y)
        kc.expect_eq(y[0], 3.0)
        ```
    """
    ...

def tile_diag_add(a: Any, d: Any) -> Any:
    """
    kc.tile_diag_add(a: Any, d: Any)

        A square matrix with the vector `d` added to its diagonal.

        ```python
        t = kc.tile_diag_add(kc.tile_ones(shape=(2, 2), dtype=float), kc.tile_ones(shape=2, dtype=float))
        kc.expect_eq(t[1, 1], 2.0)
        ```
    """
    ...

def tile_dot(a: Any, b: Any) -> Any:
    """
    kc.tile_dot(a: Any, b: Any)

        The sum of the products of the elements, of vectors and matrices that of their dot products, as a tile of one.

        ```python
        t = kc.tile_full(shape=4, value=2.0)
        kc.expect_eq(kc.tile_dot(t, t)[0], 16.0)
        ```
    """
    ...

def tile_empty(shape: Any, dtype: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_empty(shape: Any, dtype: Any = 0, storage: Any = 0)

        A tile for which no elements are given. Here they are zero.

        ```python
        t = kc.tile_empty(shape=4, dtype=int)
        t[1] = 3
        kc.expect_eq(t[1], 3)
        ```
    """
    ...

def tile_extract(t: Any, i: Any) -> Any:
    """
    kc.tile_extract(t: Any, i: int)

        An element, with one index for each dimension; further ones choose a component of it. `t[i]` does the same.

        ```python
        kc.expect_eq(kc.tile_extract(kc.tile_arange(6, dtype=int), 4), 4)
        ```
    """
    ...

def tile_fft(inout: Any) -> Any:
    """
    kc.tile_fft(inout: Any)

        Makes each line along the last dimension of a tile of `vec2f` or `vec2d`, real and imaginary parts, its Fourier transform.
        The sum has no factor.

        ```python
        t = kc.tile_full(shape=(1, 4), value=kc.vec2(1.0, 0.0))
        kc.tile_fft(t)
        kc.expect_near(t[0, 0][0], 4.0, 1.0e-6)
        ```
    """
    ...

def tile_from_thread(shape: Any, value: Any, thread_idx: Any, storage: Any = ...) -> Any:
    """
    kc.tile_from_thread(shape: Any, value: Any, thread_idx: int, storage: Any = 0)

        A tile in which each element is the `value` of one thread of the block.

        ```python
        t = kc.tile_from_thread(shape=4, value=2.0, thread_idx=0)
        kc.expect_eq(t[3], 2.0)
        ```
    """
    ...

def tile_full(shape: Any, value: Any, dtype: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_full(shape: Any, value: Any, dtype: Any = 0, storage: Any = 0)

        A tile in which each element is `value`.

        ```python
        t = kc.tile_full(shape=4, value=2.5)
        kc.expect_eq(t[3], 2.5)
        ```
    """
    ...

def tile_ifft(inout: Any) -> Any:
    """
    kc.tile_ifft(inout: Any)

        The inverse of `tile_fft`, but for the factor 1 / n.

        ```python
        t = kc.tile_full(shape=(1, 4), value=kc.vec2(0.0, 1.0))
        kc.tile_ifft(t)
        kc.expect_near(t[0, 0][1], 4.0, 1.0e-6)
        ```
    """
    ...

def tile_load(a: Any, shape: Any, offset: Any = ..., storage: Any = ..., bounds_check: Any = ..., aligned: Any = ...) -> Any:
    """
    kc.tile_load(a: Any, shape: Any, offset: Any = 0, storage: Any = 0, bounds_check: bool = True, aligned: bool = False)

        The part of an array that begins at `offset`; what lies outside the array, on either side, is zero.

        ```python
        t = kc.tile_load(data, shape=4, offset=2)
        kc.expect_eq(t[0], data[2])
        ```
    """
    ...

def tile_load_indexed(a: Any, indices: Any, shape: Any, offset: Any = ..., axis: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_load_indexed(a: Any, indices: Any, shape: Any, offset: Any = 0, axis: int = 0, storage: Any = 0)

        As `tile_load`, with the elements along `axis` where the tile `indices` says; those outside are zero.

        ```python
        picked = kc.tile_arange(6, 2, -2, dtype=int)
        t = kc.tile_load_indexed(data, picked, shape=2)
        kc.expect_eq(t[1], data[4])
        ```
    """
    ...

def tile_lower_solve(L: Any, y: Any) -> Any:
    """
    kc.tile_lower_solve(L: Any, y: Any)

        The solution of `L x = y` with a lower triangular matrix; `y` is a vector, or a matrix of several in its columns.

        ```python
        x = kc.tile_lower_solve(kc.tile_full(shape=(1, 1), value=2.0), kc.tile_full(shape=1, value=6.0))
        kc.expect_eq(x[0], 3.0)
        ```
    """
    ...

def tile_lower_solve_inplace(L: Any, y: Any) -> Any:
    """
    kc.tile_lower_solve_inplace(L: Any, y: Any)

        Makes the tile `y` the solution.

        ```python
        y = kc.tile_full(shape=1, value=6.0)
        kc.tile_lower_solve_inplace(kc.tile_full(shape=(1, 1), value=2.0), y)
        kc.expect_eq(y[0], 3.0)
        ```
    """
    ...

def tile_map(op: Any, *tiles: Any) -> Any:
    """
    kc.tile_map(op: Any, a: Any)

        The function of each element: `tile_map(f, a)`, `tile_map(f, a, b)` and so on, with tiles of one shape, and numbers that are the
        same for all.

        ```python
        t = kc.tile_map(kc.sqrt, kc.tile_full(shape=4, value=9.0))
        kc.expect_eq(t[2], 3.0)
        ```
    """
    ...

def tile_matmul(a: Any, b: Any, out: Any = ..., alpha: Any = ..., beta: Any = ..., precision: Any = ...) -> Any:
    """
    kc.tile_matmul(a: Any, b: Any, out: Any = 0, alpha: Any = 1.0, beta: Any = 1.0, precision: Any = 0)

        `out = alpha * a @ b + beta * out` with three tiles; the product `alpha * a @ b` with two. Each element is a chain of fused
        multiply-adds over the inner index, upward; half floats are added in `float32`. `precision` is "default" or "tf32", which allows a GPU to
        round the factors of `float32` tiles to 11 bits.

        ```python
        a = kc.tile_full(shape=(2, 3), value=2.0)
        b = kc.tile_ones(shape=(3, 4), dtype=float)
        kc.expect_eq(kc.tile_matmul(a, b)[1, 3], 6.0)
        ```
    """
    ...

def tile_max(a: Any) -> Any:
    """
    kc.tile_max(a: Any)

        The greatest element as a tile of one. NaN does not count.

        ```python
        kc.expect_eq(kc.tile_max(kc.tile_arange(3, 7, dtype=int))[0], 6)
        ```
    """
    ...

def tile_mesh_query_aabb(id: Any, low: Any, high: Any) -> Any:
    """
    kc.tile_mesh_query_aabb(id: uint64, low: Vec[3, float32], high: Vec[3, float32]) -> MeshQueryAABBTiled

        A query of all threads of a block for the faces of the mesh `id` whose boxes touch the box from `low` to `high`.

        ```python
        n = int(0)
        query = kc.tile_mesh_query_aabb(mesh, kc.vec3(-0.5), kc.vec3(0.0))
        while kc.tile_query_valid(query):
            found = kc.tile_mesh_query_aabb_next(query)
            n += kc.where(kc.tile_extract(found, 0) >= 0, 1, 0)
        kc.expect_eq(n > 0, True)
        ```
    """
    ...

def tile_mesh_query_aabb_next(query: Any) -> Any:
    """
    kc.tile_mesh_query_aabb_next(query: Any)

        A tile with one number for each thread of the block: a face that the query finds, or -1.

        ```python
        query = kc.tile_mesh_query_aabb(mesh, kc.vec3(0.25), kc.vec3(0.75))
        kc.expect_eq(kc.tile_mesh_query_aabb_next(query)[0], -1)
        ```
    """
    ...

def tile_min(a: Any) -> Any:
    """
    kc.tile_min(a: Any)

        The least element as a tile of one. NaN does not count.

        ```python
        kc.expect_eq(kc.tile_min(kc.tile_arange(3, 7, dtype=int))[0], 3)
        ```
    """
    ...

def tile_ones(shape: Any, dtype: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_ones(shape: Any, dtype: Any = 0, storage: Any = 0)

        A tile in which each component of each element is 1; of a quaternion the first one.

        ```python
        t = kc.tile_ones(shape=4, dtype=float)
        kc.expect_eq(kc.tile_sum(t)[0], 4.0)
        ```
    """
    ...

def tile_query_valid(query: Any) -> Any:
    """
    kc.tile_query_valid(query: BvhQueryTiled) -> bool

        Whether a query of a block goes on: until a step gives nothing to any thread.

        ```python
        query = kc.tile_bvh_query_aabb(tree, kc.vec3(2.0, 5.0, 0.0), kc.vec3(3.0, 6.0, 1.0))
        kc.expect_eq(kc.tile_query_valid(query), True)
        kc.expect_eq(kc.tile_bvh_query_next(query)[0], -1)
        kc.expect_eq(kc.tile_query_valid(query), False)
        ```

    kc.tile_query_valid(query: MeshQueryAABBTiled) -> bool

        The same of a query for faces.
    """
    ...

def tile_randf(shape: Any, rng: Any, min: Any = ..., max: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_randf(shape: Any, rng: uint32, min: float32 = 0.0, max: float32 = 1.0, storage: Any = 0)

        A tile of random numbers from 0 to 1, or from `min` to `max`, drawn in row-major order. `rng` stays as it is.

        ```python
        t = kc.tile_randf(shape=4, rng=kc.rand_init(7), min=2.0, max=3.0)
        kc.expect_near(t[1], 2.5, 0.5)
        ```
    """
    ...

def tile_randi(shape: Any, rng: Any, min: Any = ..., max: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_randi(shape: Any, rng: uint32, min: int32 = 0, max: int32 = 0, storage: Any = 0)

        A tile of random integers, from `min` to before `max` if these are given, drawn in row-major order. `rng` stays as it is.

        ```python
        t = kc.tile_randi(shape=4, rng=kc.rand_init(7), min=3, max=4)
        kc.expect_eq(t[2], 3)
        ```
    """
    ...

def tile_reduce(op: Any, a: Any, axis: Any = ...) -> Any:
    """
    kc.tile_reduce(op: Any, a: Any, axis: int = 0)

        `op(op(a0, a1), a2)` and so on over all elements as a tile of one, or with an axis along it.

        ```python
        t = kc.tile_reduce(kc.mul, kc.tile_full(shape=3, value=2.0))
        kc.expect_eq(t[0], 8.0)
        ```
    """
    ...

def tile_reshape(t: Any, shape: Any) -> Any:
    """
    kc.tile_reshape(t: Any, shape: Any)

        The same elements in the same order in another shape; one extent may be -1.

        ```python
        t = kc.tile_reshape(kc.tile_arange(6, dtype=int), shape=(2, -1))
        kc.expect_eq(t[1, 0], 3)
        ```
    """
    ...

def tile_scan_exclusive(a: Any) -> Any:
    """
    kc.tile_scan_exclusive(a: Any)

        Running sums in row-major order: element n is the sum of those before n.

        ```python
        kc.expect_eq(kc.tile_scan_exclusive(kc.tile_ones(shape=4, dtype=int))[2], 2)
        ```
    """
    ...

def tile_scan_inclusive(a: Any) -> Any:
    """
    kc.tile_scan_inclusive(a: Any)

        Running sums in row-major order: element n is the sum of those to n.

        ```python
        kc.expect_eq(kc.tile_scan_inclusive(kc.tile_ones(shape=4, dtype=int))[2], 3)
        ```
    """
    ...

def tile_scan_max_inclusive(a: Any) -> Any:
    """
    kc.tile_scan_max_inclusive(a: Any)

        The greatest of the elements to each one, in row-major order.

        ```python
        kc.expect_eq(kc.tile_scan_max_inclusive(kc.tile_arange(4, dtype=int))[3], 3)
        ```
    """
    ...

def tile_scan_min_inclusive(a: Any) -> Any:
    """
    kc.tile_scan_min_inclusive(a: Any)

        The least of the elements to each one, in row-major order.

        ```python
        kc.expect_eq(kc.tile_scan_min_inclusive(kc.tile_arange(4, dtype=int))[3], 0)
        ```
    """
    ...

def tile_scatter_add(a: Any, i: Any, value: Any, has_value: Any, atomic: Any = ...) -> Any:
    """
    kc.tile_scatter_add(a: Any, i: int, value: Any, has_value: bool, atomic: bool = True)

        Each thread with a value adds it to the element at its index: `tile_scatter_add(t, i, j, value, True)`.

        ```python
        t = kc.tile_ones(shape=4, dtype=float)
        kc.tile_scatter_add(t, 2, 3.0, True)
        kc.expect_eq(t[2], 4.0)
        ```
    """
    ...

def tile_scatter_masked(a: Any, i: Any, value: Any, has_value: Any) -> Any:
    """
    kc.tile_scatter_masked(a: Any, i: int, value: Any, has_value: bool)

        Each thread with a value sets the element at its index.

        ```python
        t = kc.tile_zeros(shape=4, dtype=float)
        kc.tile_scatter_masked(t, 1, 3.0, True)
        kc.expect_eq(t[1], 3.0)
        ```
    """
    ...

def tile_sort(keys: Any, values: Any) -> Any:
    """
    kc.tile_sort(keys: Any, values: Any)

        Sorts the tile `keys` upward, and `values` with it; equal keys stay in order, as do -0 and 0. NaN comes last.

        ```python
        keys = kc.tile_arange(3, 0, -1, dtype=int)
        values = kc.tile_arange(3, dtype=int)
        kc.tile_sort(keys, values)
        kc.expect_eq(values[0], 2)
        ```
    """
    ...

def tile_squeeze(t: Any, axis: Any = ...) -> Any:
    """
    kc.tile_squeeze(t: Any, axis: Any = 0)

        The same elements without dimensions of 1: all of them, or the ones named.

        ```python
        t = kc.tile_squeeze(kc.tile_ones(shape=(1, 3), dtype=float))
        kc.expect_eq(t[2], 1.0)
        ```
    """
    ...

tile_stack: Any
def tile_stack_clear(s: Any) -> Any:
    """
    kc.tile_stack_clear(s: Any)

        Takes all elements off the stack.

        ```python
        s = kc.tile_stack(capacity=4, dtype=int)
        kc.tile_stack_push(s, 7, True)
        kc.tile_stack_clear(s)
        kc.expect_eq(kc.tile_stack_count(s), 0)
        ```
    """
    ...

def tile_stack_count(s: Any) -> Any:
    """
    kc.tile_stack_count(s: Any)

        How many elements there are.

        ```python
        s = kc.tile_stack(capacity=4, dtype=int)
        kc.tile_stack_push(s, 7, True)
        kc.expect_eq(kc.tile_stack_count(s), 1)
        ```
    """
    ...

def tile_stack_pop(s: Any) -> Any:
    """
    kc.tile_stack_pop(s: Any)

        Each thread pops an element, one after the other: the value and its slot, or zero and -1 where nothing is left.

        ```python
        s = kc.tile_stack(capacity=4, dtype=int)
        kc.tile_stack_push(s, 7, True)
        value, slot = kc.tile_stack_pop(s)
        kc.expect_eq(value, 7)
        ```
    """
    ...

def tile_stack_push(s: Any, value: Any, has_value: Any) -> Any:
    """
    kc.tile_stack_push(s: Any, value: Any, has_value: bool)

        Each thread that has a value pushes it, one after the other. Gives the slot of each, or -1 where there was no room, or no value.

        ```python
        s = kc.tile_stack(capacity=4, dtype=int)
        kc.expect_eq(kc.tile_stack_push(s, 7, True), 0)
        ```
    """
    ...

def tile_store(a: Any, t: Any, offset: Any = ..., bounds_check: Any = ..., aligned: Any = ...) -> Any:
    """
    kc.tile_store(a: Any, t: Any, offset: Any = 0, bounds_check: bool = True, aligned: bool = False)

        Stores a tile in an array from `offset` on; what lies outside the array is dropped.

        ```python
        kc.tile_store(data, kc.tile_ones(shape=2, dtype=float), offset=1)
        kc.expect_eq(data[2], 1.0)
        ```
    """
    ...

def tile_store_indexed(a: Any, indices: Any, t: Any, offset: Any = ..., axis: Any = ...) -> Any:
    """
    kc.tile_store_indexed(a: Any, indices: Any, t: Any, offset: Any = 0, axis: int = 0)

        As `tile_store`, with the elements along `axis` where the tile `indices` says.

        ```python
        picked = kc.tile_arange(3, 5, dtype=int)
        kc.tile_store_indexed(data, picked, kc.tile_ones(shape=2, dtype=float))
        kc.expect_eq(data[4], 1.0)
        ```
    """
    ...

def tile_sum(a: Any, axis: Any = ...) -> Any:
    """
    kc.tile_sum(a: Any, axis: int = 0)

        The sum of all elements as a tile of one, or with an axis that along it. Added in row-major order.

        ```python
        kc.expect_eq(kc.tile_sum(kc.tile_arange(5, dtype=int))[0], 10)
        ```
    """
    ...

def tile_transpose(t: Any) -> Any:
    """
    kc.tile_transpose(t: Any)

        The same elements with rows and columns swapped.

        ```python
        t = kc.tile_zeros(shape=(2, 3), dtype=float)
        t[1, 2] = 5.0
        kc.expect_eq(kc.tile_transpose(t)[2, 1], 5.0)
        ```
    """
    ...

def tile_upper_solve(L: Any, y: Any) -> Any:
    """
    kc.tile_upper_solve(L: Any, y: Any)

        The solution of `U x = y` with an upper triangular matrix.

        ```python
        x = kc.tile_upper_solve(kc.tile_full(shape=(1, 1), value=2.0), kc.tile_full(shape=1, value=6.0))
        kc.expect_eq(x[0], 3.0)
        ```
    """
    ...

def tile_upper_solve_inplace(L: Any, y: Any) -> Any:
    """
    kc.tile_upper_solve_inplace(L: Any, y: Any)

        Makes the tile `y` the solution.

        ```python
        y = kc.tile_full(shape=1, value=6.0)
        kc.tile_upper_solve_inplace(kc.tile_full(shape=(1, 1), value=2.0), y)
        kc.expect_eq(y[0], 3.0)
        ```
    """
    ...

def tile_view(t: Any, offset: Any, shape: Any = ...) -> Any:
    """
    kc.tile_view(t: Any, offset: Any, shape: Any = 0)

        The part of a tile at `offset`, as another name for the same elements: of that shape, or without one what is left when the
        first dimensions are fixed. Slices, `t[1:3]`, do the same.

        ```python
        t = kc.tile_zeros(shape=(2, 3), dtype=float)
        row = kc.tile_view(t, offset=1)
        row[2] = 5.0
        kc.expect_eq(t[1, 2], 5.0)
        ```
    """
    ...

def tile_zeros(shape: Any, dtype: Any = ..., storage: Any = ...) -> Any:
    """
    kc.tile_zeros(shape: Any, dtype: Any = 0, storage: Any = 0)

        A tile of zeros.

        ```python
        t = kc.tile_zeros(shape=(2, 3), dtype=float)
        kc.expect_eq(t[1, 2], 0.0)
        ```
    """
    ...

def trace(a: Any) -> Any:
    """
    kc.trace(a: Mat[N, N, Scalar]) -> Scalar

        Sum of the diagonal of `a`.
    """
    ...

def transform_compose(position: Any, rotation: Any, scale: Any) -> Any:
    """
    kc.transform_compose(position: Vec[3, Float], rotation: Quat[Float], scale: Vec[3, Float]) -> Mat[4, 4, Float]

        The homogeneous matrix that scales along the axes, then rotates, then translates.
    """
    ...

def transform_decompose(m: Any) -> Any:
    """
    kc.transform_decompose(m: Mat[4, 4, Float]) -> tuple[Vec[3, Float], Quat[Float], Vec[3, Float]]

        Position, rotation and scale of the homogeneous matrix `m`, as `transform_compose` takes them.
    """
    ...

def transform_from_matrix(mat: Any) -> Any:
    """
    kc.transform_from_matrix(mat: Mat[4, 4, Float]) -> Transform[Float]

        The transform with the rotation and translation of the homogeneous matrix `mat`.
    """
    ...

def transform_get_rotation(xform: Any) -> Any:
    """
    kc.transform_get_rotation(xform: Transform[Float]) -> Quat[Float]

        The rotation of `xform`.
    """
    ...

def transform_get_translation(xform: Any) -> Any:
    """
    kc.transform_get_translation(xform: Transform[Float]) -> Vec[3, Float]

        The translation of `xform`.
    """
    ...

def transform_identity(dtype: Any = ...) -> Any:
    """
    kc.transform_identity(dtype: type = float32) -> Transform[Float]

        The transform that moves nothing.

        ```python
        kc.expect_eq(kc.transform_point(kc.transform_identity(), kc.vec3(1.0)), kc.vec3(1.0))
        ```
    """
    ...

def transform_inverse(xform: Any) -> Any:
    """
    kc.transform_inverse(xform: Transform[Float]) -> Transform[Float]

        The inverse of `xform`.
    """
    ...

def transform_multiply(a: Any, b: Any) -> Any:
    """
    kc.transform_multiply(a: Transform[Float], b: Transform[Float]) -> Transform[Float]

        The transform that applies `b`, then `a`.
    """
    ...

def transform_point(*arguments: Any, **named: Any) -> Any:
    """
    kc.transform_point(xform: Transform[Float], point: Vec[3, Float]) -> Vec[3, Float]

        `point` rotated and translated by `xform`.

    kc.transform_point(mat: Mat[4, 4, Float], point: Vec[3, Float]) -> Vec[3, Float]

        The first three components of `mat` times `(point, 1)`.
    """
    ...

def transform_set_rotation(xform: Any, q: Any) -> Any:
    """
    kc.transform_set_rotation(xform: ref[Transform[Float]], q: Quat[Float])

        Sets the rotation of `xform` to `q`.
    """
    ...

def transform_set_translation(xform: Any, p: Any) -> Any:
    """
    kc.transform_set_translation(xform: ref[Transform[Float]], p: Vec[3, Float])

        Sets the translation of `xform` to `p`.
    """
    ...

def transform_to_matrix(xform: Any) -> Any:
    """
    kc.transform_to_matrix(xform: Transform[Float]) -> Mat[4, 4, Float]

        The homogeneous matrix of `xform`.
    """
    ...

def transform_twist(t: Any, x: Any) -> Any:
    """
    kc.transform_twist(t: Transform[Float], x: Vec[6, Float]) -> Vec[6, Float]

        The twist `x` in the frame that `t` leads to.
    """
    ...

def transform_vector(*arguments: Any, **named: Any) -> Any:
    """
    kc.transform_vector(xform: Transform[Float], vec: Vec[3, Float]) -> Vec[3, Float]

        `vec` rotated by `xform`.

    kc.transform_vector(mat: Mat[4, 4, Float], vec: Vec[3, Float]) -> Vec[3, Float]

        The first three components of `mat` times `(vec, 0)`.
    """
    ...

def transform_wrench(t: Any, x: Any) -> Any:
    """
    kc.transform_wrench(t: Transform[Float], x: Vec[6, Float]) -> Vec[6, Float]

        The wrench `x` in the frame that `t` leads to.
    """
    ...

def transformation(p: Any, q: Any) -> Any:
    """
    kc.transformation(p: Vec[3, Float], q: Quat[Float]) -> Transform[Float]

        The transform that rotates by `q`, then shifts by `p`. Also of its seven numbers.

        ```python
        t = kc.transformation(kc.vec3(1.0, 2.0, 3.0), kc.quat_identity())
        kc.expect_eq(kc.transform_point(t, kc.vec3(0.0)), kc.vec3(1.0, 2.0, 3.0))
        ```
    """
    ...

def transpose(a: Any) -> Any:
    """
    kc.transpose(a: Mat[R, C, Scalar]) -> Mat[C, R, Scalar]

        `a` with rows and columns exchanged.
    """
    ...

def trunc(x: Any) -> Any:
    """
    kc.trunc(x: Float) -> Float

        `x` without its fraction: rounded toward zero.
    """
    ...

def type(value: Any) -> Any:
    """
    kc.type(value: Any) -> type

        The type of `value`, to make others of it: `type(x)(1)`.

        ```python
        x = kc.float64(2)
        kc.expect_eq(type(x)(1) + type(x)(1), x)
        ```
    """
    ...

def unot(a: Any) -> Any:
    """
    kc.unot(a: bool) -> bool

        `not a`.

    kc.unot(a: array) -> bool

        `not a`: whether the array is missing (null).

        ```python
        kc.expect_eq(kc.unot(data), False)
        ```

    kc.unot(a: Int) -> bool

        `not a`: whether `a` is 0.
    """
    ...

def untile(a: Any) -> Any:
    """
    kc.untile(a: Any)

        What `tile(x)` was made of, for each thread: the last dimension is that of the threads.

        ```python
        kc.expect_eq(kc.untile(kc.tile(5.0)), 5.0)
        ```
    """
    ...

def vector(components: Any) -> Any:
    """
    kc.vector(components: Scalar) -> Vec[N, Scalar]

        A vector of these components. `kc.vector(x, length=3)` repeats one; `dtype=` gives the type of literals.

        ```python
        v = kc.vector(1.0, 2.0, 3.0)
        kc.expect_eq(v, kc.vec3(1.0, 2.0, 3.0))
        ```
    """
    ...

def velocity_at_point(qd: Any, r: Any) -> Any:
    """
    kc.velocity_at_point(qd: Vec[6, Float], r: Vec[3, Float]) -> Vec[3, Float]

        Linear velocity at offset `r` from the origin of a body that moves with the twist `qd`.
    """
    ...

def view(arr: Any, i: Any) -> Any:
    """
    kc.view(arr: Array[T], i: Int) -> Array[T]

        The part of an array of 2 dimensions or more at index `i` of the first; more indices fix more dimensions.
        `arr[i]` is the same.

        ```python
        for i in range(8):
            data[i] = float(i)
        part = data[2:5]
        kc.expect_eq(part[0], 2.0)
        ```
    """
    ...

def volume_index_to_world(id: Any, uvw: Any) -> Any:
    """
    kc.volume_index_to_world(id: uint64, uvw: Vec[3, float32]) -> Vec[3, float32]

        Where the point `uvw`, in voxels of the volume `id`, is in the world.

        ```python
        kc.expect_near(kc.volume_index_to_world(volume, kc.vec3(1.0, 2.0, 3.0)), kc.vec3(0.5, 1.0, 1.5), 1.0e-5)
        ```

    kc.volume_index_to_world(id: uint64, uvw: Vec[3, float64]) -> Vec[3, float64]

        The same in `float64`.
    """
    ...

def volume_index_to_world_dir(id: Any, uvw: Any) -> Any:
    """
    kc.volume_index_to_world_dir(id: uint64, uvw: Vec[3, float32]) -> Vec[3, float32]

        The direction in the world of a direction in voxels of the volume `id`: without the translation.

        ```python
        kc.expect_near(kc.volume_index_to_world_dir(volume, kc.vec3(2.0, 0.0, 0.0)), kc.vec3(1.0, 0.0, 0.0), 1.0e-5)
        ```

    kc.volume_index_to_world_dir(id: uint64, uvw: Vec[3, float64]) -> Vec[3, float64]

        The same in `float64`.
    """
    ...

def volume_lookup(id: Any, i: Any, j: Any, k: Any, dtype: Any) -> Any:
    """
    kc.volume_lookup(id: uint64, i: int32, j: int32, k: int32, dtype: type[T]) -> T

        The value of the voxel `(i, j, k)` of the volume `id`; outside of the volume its background.

        `dtype` is the type of the values: `int32`, `int64`, `uint32`, `float32`, `float64`, `vec3f`,
        `vec3d`, `vec4f` or `vec4d`. Of a volume with values of another type the result is 0.

        ```python
        kc.expect_eq(kc.volume_lookup(volume, 1, 2, 3, dtype=float), 321.0)
        kc.expect_eq(kc.volume_lookup(volume, 100, 0, 0, dtype=float), -1.0)
        ```
    """
    ...

def volume_lookup_f(id: Any, i: Any, j: Any, k: Any) -> Any:
    """
    kc.volume_lookup_f(id: uint64, i: int32, j: int32, k: int32) -> float32

        The value of the voxel `(i, j, k)` of a volume of `float32`.

        ```python
        kc.expect_eq(kc.volume_lookup_f(volume, 1, 2, 3), 321.0)
        ```
    """
    ...

def volume_lookup_i(id: Any, i: Any, j: Any, k: Any) -> Any:
    """
    kc.volume_lookup_i(id: uint64, i: int32, j: int32, k: int32) -> int32

        The value of the voxel `(i, j, k)` of a volume of `int32`.

        ```python
        kc.expect_eq(kc.volume_lookup_i(volume, 1, 2, 3), 0)
        ```
    """
    ...

def volume_lookup_index(id: Any, i: Any, j: Any, k: Any) -> Any:
    """
    kc.volume_lookup_index(id: uint64, i: int32, j: int32, k: int32) -> int32

        The index of the voxel `(i, j, k)` of the volume `id`, below `volume_voxel_count`; -1: it has none.

        ```python
        kc.expect_eq(kc.volume_lookup_index(voxels, 0, 0, 1), 1)
        kc.expect_eq(kc.volume_lookup_index(voxels, 7, 7, 7), -1)
        ```
    """
    ...

def volume_lookup_v(id: Any, i: Any, j: Any, k: Any) -> Any:
    """
    kc.volume_lookup_v(id: uint64, i: int32, j: int32, k: int32) -> Vec[3, float32]

        The value of the voxel `(i, j, k)` of a volume of `vec3f`.

        ```python
        kc.expect_eq(kc.volume_lookup_v(volume, 1, 2, 3), kc.vec3(0.0))
        ```
    """
    ...

def volume_sample(id: Any, uvw: Any, sampling_mode: Any, dtype: Any) -> Any:
    """
    kc.volume_sample(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, dtype: type[Scalar]) -> Scalar

        The value of the volume `id` at the point `uvw`, in voxels.

        `kc.Volume.CLOSEST` is the value of the nearest voxel: halves are rounded away from zero.
        `kc.Volume.LINEAR` mixes those of the eight voxels around. `dtype` is as for `volume_lookup`.

        ```python
        kc.expect_near(kc.volume_sample(volume, kc.vec3(1.5, 2.0, 3.0), kc.Volume.LINEAR, dtype=float), 321.5, 1.0e-3)
        ```

    kc.volume_sample(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, dtype: type[Vec[N, Float]]) -> Vec[N, Float]

        The same for vectors.
    """
    ...

def volume_sample_f(id: Any, uvw: Any, sampling_mode: Any) -> Any:
    """
    kc.volume_sample_f(id: uint64, uvw: Vec[3, float32], sampling_mode: int32) -> float32

        The value of a volume of `float32` at the point `uvw`, in voxels.

        ```python
        kc.expect_eq(kc.volume_sample_f(volume, kc.vec3(1.25, 2.0, 3.0), kc.Volume.CLOSEST), 321.0)
        ```
    """
    ...

def volume_sample_grad(id: Any, uvw: Any, sampling_mode: Any, grad: Any, dtype: Any) -> Any:
    """
    kc.volume_sample_grad(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Vec[3, Scalar]], dtype: type[Scalar]) -> Scalar

        The value of the volume `id` at the point `uvw`; `grad` becomes its derivative by `uvw`.

        It is 0 for `kc.Volume.CLOSEST`. The derivative of a vector is a matrix with a row for
        each component.

        ```python
        slope = kc.vec3()
        value = kc.volume_sample_grad(volume, kc.vec3(1.5, 2.5, 3.5), kc.Volume.LINEAR, slope, dtype=float)
        kc.expect_near(slope, kc.vec3(1.0, 10.0, 100.0), 1.0e-2)
        ```

    kc.volume_sample_grad(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Mat[N, 3, Float]], dtype: type[Vec[N, Float]]) -> Vec[N, Float]

        The same for vectors.
    """
    ...

def volume_sample_grad_f(id: Any, uvw: Any, sampling_mode: Any, grad: Any) -> Any:
    """
    kc.volume_sample_grad_f(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, grad: ref[Vec[3, float32]]) -> float32

        The value of a volume of `float32` at the point `uvw`; `grad` becomes its derivative by `uvw`.

        ```python
        slope = kc.vec3()
        value = kc.volume_sample_grad_f(volume, kc.vec3(1.5, 2.5, 3.5), kc.Volume.LINEAR, slope)
        kc.expect_near(value, 376.5, 1.0e-2)
        ```
    """
    ...

def volume_sample_grad_index(id: Any, uvw: Any, sampling_mode: Any, voxel_data: Any, background: Any, grad: Any) -> Any:
    """
    kc.volume_sample_grad_index(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, voxel_data: Array[Scalar, 1], background: Scalar, grad: ref[Vec[3, Scalar]]) -> Scalar

        The value at the point `uvw`, as `volume_sample_index`; `grad` becomes its derivative by `uvw`.

        ```python
        data[1] = 4.0
        slope = kc.vec3()
        value = kc.volume_sample_grad_index(voxels, kc.vec3(0.0, 0.0, 0.5), kc.Volume.LINEAR, data, 0.0, slope)
        kc.expect_near(value, 2.0, 1.0e-4)
        kc.expect_near(slope[2], 4.0, 1.0e-4)
        ```

    kc.volume_sample_grad_index(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, voxel_data: Array[Vec[N, Float], 1], background: Vec[N, Float], grad: ref[Mat[N, 3, Float]]) -> Vec[N, Float]

        The same for vectors.
    """
    ...

def volume_sample_i(id: Any, uvw: Any) -> Any:
    """
    kc.volume_sample_i(id: uint64, uvw: Vec[3, float32]) -> int32

        The value of the voxel nearest to `uvw` of a volume of `int32`.

        ```python
        kc.expect_eq(kc.volume_sample_i(volume, kc.vec3(1.0, 2.0, 3.0)), 0)
        ```
    """
    ...

def volume_sample_index(id: Any, uvw: Any, sampling_mode: Any, voxel_data: Any, background: Any) -> Any:
    """
    kc.volume_sample_index(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, voxel_data: Array[Scalar, 1], background: Scalar) -> Scalar

        The value at the point `uvw` of the volume `id`, of values in an array.

        The array has the value of the voxel with index `n` at `n` (`volume_lookup_index`); voxels without
        an index have the value `background`. `sampling_mode` is as for `volume_sample`.

        ```python
        data[1] = 4.0
        value = kc.volume_sample_index(voxels, kc.vec3(0.0, 0.0, 1.0), kc.Volume.LINEAR, data, 0.0)
        kc.expect_near(value, 4.0, 1.0e-4)
        ```

    kc.volume_sample_index(id: uint64, uvw: Vec[3, float32], sampling_mode: int32, voxel_data: Array[Vec[N, Float], 1], background: Vec[N, Float]) -> Vec[N, Float]

        The same for vectors.
    """
    ...

def volume_sample_v(id: Any, uvw: Any, sampling_mode: Any) -> Any:
    """
    kc.volume_sample_v(id: uint64, uvw: Vec[3, float32], sampling_mode: int32) -> Vec[3, float32]

        The value of a volume of `vec3f` at the point `uvw`, in voxels.

        ```python
        kc.expect_eq(kc.volume_sample_v(volume, kc.vec3(1.0, 2.0, 3.0), kc.Volume.LINEAR), kc.vec3(0.0))
        ```
    """
    ...

def volume_store(id: Any, i: Any, j: Any, k: Any, value: Any) -> Any:
    """
    kc.volume_store(id: uint64, i: int32, j: int32, k: int32, value: Scalar)

        Sets the voxel `(i, j, k)` of the volume `id`, if `value` is of the type of its values.

        Voxels that are not in a leaf stay as they are: `kc.Volume.allocate_by_tiles` makes leaves.

        ```python
        kc.volume_store(volume, 7, 7, 7, 5.0)
        kc.expect_eq(kc.volume_lookup_f(volume, 7, 7, 7), 5.0)
        ```

    kc.volume_store(id: uint64, i: int32, j: int32, k: int32, value: Vec[N, Float])

        The same for vectors.
    """
    ...

def volume_store_f(id: Any, i: Any, j: Any, k: Any, value: Any) -> Any:
    """
    kc.volume_store_f(id: uint64, i: int32, j: int32, k: int32, value: float32)

        Sets the voxel `(i, j, k)` of a volume of `float32`.

        ```python
        kc.volume_store_f(volume, 7, 7, 7, 6.0)
        kc.expect_eq(kc.volume_lookup_f(volume, 7, 7, 7), 6.0)
        ```
    """
    ...

def volume_store_i(id: Any, i: Any, j: Any, k: Any, value: Any) -> Any:
    """
    kc.volume_store_i(id: uint64, i: int32, j: int32, k: int32, value: int32)

        Sets the voxel `(i, j, k)` of a volume of `int32`.

        ```python
        kc.volume_store_i(volume, 100, 7, 7, 1)
        ```
    """
    ...

def volume_store_v(id: Any, i: Any, j: Any, k: Any, value: Any) -> Any:
    """
    kc.volume_store_v(id: uint64, i: int32, j: int32, k: int32, value: Vec[3, float32])

        Sets the voxel `(i, j, k)` of a volume of `vec3f`.

        ```python
        kc.volume_store_v(volume, 100, 7, 7, kc.vec3(1.0))
        ```
    """
    ...

def volume_voxel_count(id: Any) -> Any:
    """
    kc.volume_voxel_count(id: uint64) -> int32

        How many voxels of the volume `id` have an index, at most 2^31 - 1.

        ```python
        kc.expect_eq(kc.volume_voxel_count(voxels), 3)
        ```
    """
    ...

def volume_world_to_index(id: Any, xyz: Any) -> Any:
    """
    kc.volume_world_to_index(id: uint64, xyz: Vec[3, float32]) -> Vec[3, float32]

        Where the point `xyz` of the world is in voxels of the volume `id`.

        ```python
        kc.expect_near(kc.volume_world_to_index(volume, kc.vec3(0.5, 1.0, 1.5)), kc.vec3(1.0, 2.0, 3.0), 1.0e-5)
        ```

    kc.volume_world_to_index(id: uint64, xyz: Vec[3, float64]) -> Vec[3, float64]

        The same in `float64`.
    """
    ...

def volume_world_to_index_dir(id: Any, xyz: Any) -> Any:
    """
    kc.volume_world_to_index_dir(id: uint64, xyz: Vec[3, float32]) -> Vec[3, float32]

        The direction in voxels of the volume `id` of a direction in the world: without the translation.

        ```python
        kc.expect_near(kc.volume_world_to_index_dir(volume, kc.vec3(1.0, 0.0, 0.0)), kc.vec3(2.0, 0.0, 0.0), 1.0e-5)
        ```

    kc.volume_world_to_index_dir(id: uint64, xyz: Vec[3, float64]) -> Vec[3, float64]

        The same in `float64`.
    """
    ...

def where(cond: Any, value_if_true: Any, value_if_false: Any) -> Any:
    """
    kc.where(cond: Any, value_if_true: T, value_if_false: T) -> T

        `value_if_true` where `cond` holds (is not zero), `value_if_false` elsewhere. Both are evaluated.
    """
    ...

