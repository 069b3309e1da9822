"""Written by python/stubs.py."""

from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any
from typing import overload as _overload

from typing_extensions import TypeVar

import kc as _kc
from kc import Float as Float
from kc import Graph as Graph
from kc import Int as Int
from kc import Kernel as Kernel
from kc import Module as Module
from kc import Scalar as Scalar
from kc import Split as Split
from kc import Texture1D as Texture1D
from kc import Texture2D as Texture2D
from kc import Texture3D as Texture3D
from kc import TextureAddressMode as TextureAddressMode
from kc import TextureFilterMode as TextureFilterMode
from kc import abs as abs
from kc import abs_diff as abs_diff
from kc import acos as acos
from kc import add as add
from kc import argmax as argmax
from kc import argmin as argmin
from kc import asin as asin
from kc import atan as atan
from kc import atan2 as atan2
from kc import atomic_add as atomic_add
from kc import atomic_and as atomic_and
from kc import atomic_cas as atomic_cas
from kc import atomic_exch as atomic_exch
from kc import atomic_max as atomic_max
from kc import atomic_min as atomic_min
from kc import atomic_or as atomic_or
from kc import atomic_sub as atomic_sub
from kc import atomic_xor as atomic_xor
from kc import ballot as ballot
from kc import bfloat16 as bfloat16
from kc import bit_and as bit_and
from kc import bit_count as bit_count
from kc import bit_or as bit_or
from kc import bit_xor as bit_xor
from kc import block_dim as block_dim
from kc import breakpoint as breakpoint
from kc import bvh_get_group_root as bvh_get_group_root
from kc import bvh_query_aabb as bvh_query_aabb
from kc import bvh_query_aabb_tiled as bvh_query_aabb_tiled
from kc import bvh_query_capsule as bvh_query_capsule
from kc import bvh_query_next as bvh_query_next
from kc import bvh_query_next_tiled as bvh_query_next_tiled
from kc import bvh_query_ray as bvh_query_ray
from kc import bvh_query_ray_tiled as bvh_query_ray_tiled
from kc import bvh_query_sphere as bvh_query_sphere
from kc import cast as cast
from kc import cbrt as cbrt
from kc import ceil as ceil
from kc import check as check
from kc import checked as checked
from kc import clamp as clamp
from kc import closest_point_edge_edge as closest_point_edge_edge
from kc import copysign as copysign
from kc import cos as cos
from kc import cosh as cosh
from kc import cosine_similarity as cosine_similarity
from kc import cross as cross
from kc import curlnoise as curlnoise
from kc import cw_div as cw_div
from kc import cw_mul as cw_mul
from kc import ddot as ddot
from kc import degrees as degrees
from kc import dense_chol as dense_chol
from kc import dense_gemm as dense_gemm
from kc import dense_solve as dense_solve
from kc import dense_subs as dense_subs
from kc import detach as detach
from kc import determinant as determinant
from kc import deterministic as deterministic
from kc import devices as devices
from kc import diag as diag
from kc import div as div
from kc import div_approx as div_approx
from kc import dot as dot
from kc import eig3 as eig3
from kc import erf as erf
from kc import erfc as erfc
from kc import erfcinv as erfcinv
from kc import erfinv as erfinv
from kc import exp as exp
from kc import expect_eq as expect_eq
from kc import expect_near as expect_near
from kc import expect_neq as expect_neq
from kc import fixedarray as fixedarray
from kc import float as float
from kc import float16 as float16
from kc import float32 as float32
from kc import float64 as float64
from kc import floor as floor
from kc import floordiv as floordiv
from kc import frac as frac
from kc import func_grad as func_grad
from kc import func_replay as func_replay
from kc import get_diag as get_diag
from kc import grad as grad
from kc import grid_sync as grid_sync
from kc import hash_grid_point_id as hash_grid_point_id
from kc import hash_grid_query as hash_grid_query
from kc import hash_grid_query_next as hash_grid_query_next
from kc import identity as identity
from kc import int as int
from kc import int16 as int16
from kc import int32 as int32
from kc import int64 as int64
from kc import int8 as int8
from kc import intersect_tri_tri as intersect_tri_tri
from kc import inverse as inverse
from kc import inverse_approx as inverse_approx
from kc import invert as invert
from kc import isfinite as isfinite
from kc import isinf as isinf
from kc import isnan as isnan
from kc import lane as lane
from kc import len as len
from kc import length as length
from kc import length_sq as length_sq
from kc import lerp as lerp
from kc import log as log
from kc import log10 as log10
from kc import log2 as log2
from kc import lower_bound as lower_bound
from kc import lshift as lshift
from kc import mat22 as mat22
from kc import mat22d as mat22d
from kc import mat22f as mat22f
from kc import mat22h as mat22h
from kc import mat33 as mat33
from kc import mat33d as mat33d
from kc import mat33f as mat33f
from kc import mat33h as mat33h
from kc import mat44 as mat44
from kc import mat44d as mat44d
from kc import mat44f as mat44f
from kc import mat44h as mat44h
from kc import match as match
from kc import matrix as matrix
from kc import matrix_from_cols as matrix_from_cols
from kc import matrix_from_rows as matrix_from_rows
from kc import max as max
from kc import mesh_eval_face_normal as mesh_eval_face_normal
from kc import mesh_eval_position as mesh_eval_position
from kc import mesh_eval_velocity as mesh_eval_velocity
from kc import mesh_get as mesh_get
from kc import mesh_get_bvh as mesh_get_bvh
from kc import mesh_get_group_root as mesh_get_group_root
from kc import mesh_get_index as mesh_get_index
from kc import mesh_get_point as mesh_get_point
from kc import mesh_get_velocity as mesh_get_velocity
from kc import mesh_query_aabb as mesh_query_aabb
from kc import mesh_query_aabb_next as mesh_query_aabb_next
from kc import mesh_query_aabb_next_tiled as mesh_query_aabb_next_tiled
from kc import mesh_query_aabb_tiled as mesh_query_aabb_tiled
from kc import mesh_query_furthest_point_no_sign as mesh_query_furthest_point_no_sign
from kc import mesh_query_next as mesh_query_next
from kc import mesh_query_point as mesh_query_point
from kc import mesh_query_point_no_sign as mesh_query_point_no_sign
from kc import mesh_query_point_sign_normal as mesh_query_point_sign_normal
from kc import mesh_query_point_sign_parity as mesh_query_point_sign_parity
from kc import mesh_query_point_sign_winding_number as mesh_query_point_sign_winding_number
from kc import mesh_query_ray as mesh_query_ray
from kc import mesh_query_ray_anyhit as mesh_query_ray_anyhit
from kc import mesh_query_ray_count_intersections as mesh_query_ray_count_intersections
from kc import mesh_query_sphere as mesh_query_sphere
from kc import min as min
from kc import mod as mod
from kc import mul as mul
from kc import neg as neg
from kc import noise as noise
from kc import nonzero as nonzero
from kc import norm_huber as norm_huber
from kc import norm_l1 as norm_l1
from kc import norm_l2 as norm_l2
from kc import norm_pseudo_huber as norm_pseudo_huber
from kc import normalize as normalize
from kc import outer as outer
from kc import overload as overload
from kc import pnoise as pnoise
from kc import poisson as poisson
from kc import pos as pos
from kc import pow as pow
from kc import print as print
from kc import printf as printf
from kc import qr3 as qr3
from kc import quat as quat
from kc import quat_between_vectors as quat_between_vectors
from kc import quat_from_axis_angle as quat_from_axis_angle
from kc import quat_from_euler as quat_from_euler
from kc import quat_from_matrix as quat_from_matrix
from kc import quat_identity as quat_identity
from kc import quat_inverse as quat_inverse
from kc import quat_rotate as quat_rotate
from kc import quat_rotate_inv as quat_rotate_inv
from kc import quat_rpy as quat_rpy
from kc import quat_slerp as quat_slerp
from kc import quat_to_axis_angle as quat_to_axis_angle
from kc import quat_to_euler as quat_to_euler
from kc import quat_to_matrix as quat_to_matrix
from kc import quat_to_rpy as quat_to_rpy
from kc import quat_twist as quat_twist
from kc import quat_twist_angle as quat_twist_angle
from kc import quat_twist_angle_signed as quat_twist_angle_signed
from kc import quatd as quatd
from kc import quaternion as quaternion
from kc import quatf as quatf
from kc import quath as quath
from kc import radians as radians
from kc import rand_init as rand_init
from kc import randf as randf
from kc import randi as randi
from kc import randn as randn
from kc import randu as randu
from kc import range as range
from kc import record as record
from kc import reversed as reversed
from kc import rint as rint
from kc import round as round
from kc import rshift as rshift
from kc import sample_cdf as sample_cdf
from kc import sample_triangle as sample_triangle
from kc import sample_unit_cube as sample_unit_cube
from kc import sample_unit_disk as sample_unit_disk
from kc import sample_unit_hemisphere as sample_unit_hemisphere
from kc import sample_unit_hemisphere_surface as sample_unit_hemisphere_surface
from kc import sample_unit_hypercube as sample_unit_hypercube
from kc import sample_unit_ring as sample_unit_ring
from kc import sample_unit_sphere as sample_unit_sphere
from kc import sample_unit_sphere_surface as sample_unit_sphere_surface
from kc import sample_unit_square as sample_unit_square
from kc import select as select
from kc import shuffle as shuffle
from kc import shuffle_down as shuffle_down
from kc import shuffle_up as shuffle_up
from kc import shuffle_xor as shuffle_xor
from kc import sign as sign
from kc import sin as sin
from kc import sinh as sinh
from kc import skew as skew
from kc import smooth_normalize as smooth_normalize
from kc import smoothstep as smoothstep
from kc import spatial_adjoint as spatial_adjoint
from kc import spatial_bottom as spatial_bottom
from kc import spatial_cross as spatial_cross
from kc import spatial_cross_dual as spatial_cross_dual
from kc import spatial_dot as spatial_dot
from kc import spatial_matrix as spatial_matrix
from kc import spatial_matrixd as spatial_matrixd
from kc import spatial_matrixf as spatial_matrixf
from kc import spatial_matrixh as spatial_matrixh
from kc import spatial_top as spatial_top
from kc import spatial_vector as spatial_vector
from kc import spatial_vectord as spatial_vectord
from kc import spatial_vectorf as spatial_vectorf
from kc import spatial_vectorh as spatial_vectorh
from kc import sqrt as sqrt
from kc import static as static
from kc import step as step
from kc import sub as sub
from kc import svd2 as svd2
from kc import svd3 as svd3
from kc import sync as sync
from kc import tan as tan
from kc import tanh as tanh
from kc import texture_sample as texture_sample
from kc import tid as tid
from kc import tile as tile
from kc import tile_arange as tile_arange
from kc import tile_argmax as tile_argmax
from kc import tile_argmin as tile_argmin
from kc import tile_assign as tile_assign
from kc import tile_astype as tile_astype
from kc import tile_atomic_add as tile_atomic_add
from kc import tile_atomic_add_indexed as tile_atomic_add_indexed
from kc import tile_axpy as tile_axpy
from kc import tile_broadcast as tile_broadcast
from kc import tile_bvh_query_aabb as tile_bvh_query_aabb
from kc import tile_bvh_query_next as tile_bvh_query_next
from kc import tile_bvh_query_ray as tile_bvh_query_ray
from kc import tile_cholesky as tile_cholesky
from kc import tile_cholesky_inplace as tile_cholesky_inplace
from kc import tile_cholesky_solve as tile_cholesky_solve
from kc import tile_cholesky_solve_inplace as tile_cholesky_solve_inplace
from kc import tile_diag_add as tile_diag_add
from kc import tile_dot as tile_dot
from kc import tile_empty as tile_empty
from kc import tile_extract as tile_extract
from kc import tile_fft as tile_fft
from kc import tile_from_thread as tile_from_thread
from kc import tile_full as tile_full
from kc import tile_ifft as tile_ifft
from kc import tile_load as tile_load
from kc import tile_load_indexed as tile_load_indexed
from kc import tile_lower_solve as tile_lower_solve
from kc import tile_lower_solve_inplace as tile_lower_solve_inplace
from kc import tile_map as tile_map
from kc import tile_matmul as tile_matmul
from kc import tile_max as tile_max
from kc import tile_mesh_query_aabb as tile_mesh_query_aabb
from kc import tile_mesh_query_aabb_next as tile_mesh_query_aabb_next
from kc import tile_min as tile_min
from kc import tile_ones as tile_ones
from kc import tile_query_valid as tile_query_valid
from kc import tile_randf as tile_randf
from kc import tile_randi as tile_randi
from kc import tile_reduce as tile_reduce
from kc import tile_reshape as tile_reshape
from kc import tile_scan_exclusive as tile_scan_exclusive
from kc import tile_scan_inclusive as tile_scan_inclusive
from kc import tile_scan_max_inclusive as tile_scan_max_inclusive
from kc import tile_scan_min_inclusive as tile_scan_min_inclusive
from kc import tile_scatter_add as tile_scatter_add
from kc import tile_scatter_masked as tile_scatter_masked
from kc import tile_sort as tile_sort
from kc import tile_squeeze as tile_squeeze
from kc import tile_stack as tile_stack
from kc import tile_stack_clear as tile_stack_clear
from kc import tile_stack_count as tile_stack_count
from kc import tile_stack_pop as tile_stack_pop
from kc import tile_stack_push as tile_stack_push
from kc import tile_store as tile_store
from kc import tile_store_indexed as tile_store_indexed
from kc import tile_sum as tile_sum
from kc import tile_transpose as tile_transpose
from kc import tile_upper_solve as tile_upper_solve
from kc import tile_upper_solve_inplace as tile_upper_solve_inplace
from kc import tile_view as tile_view
from kc import tile_zeros as tile_zeros
from kc import trace as trace
from kc import transform as transform
from kc import transform_compose as transform_compose
from kc import transform_decompose as transform_decompose
from kc import transform_from_matrix as transform_from_matrix
from kc import transform_get_rotation as transform_get_rotation
from kc import transform_get_translation as transform_get_translation
from kc import transform_identity as transform_identity
from kc import transform_inverse as transform_inverse
from kc import transform_multiply as transform_multiply
from kc import transform_point as transform_point
from kc import transform_set_rotation as transform_set_rotation
from kc import transform_set_translation as transform_set_translation
from kc import transform_to_matrix as transform_to_matrix
from kc import transform_twist as transform_twist
from kc import transform_vector as transform_vector
from kc import transform_wrench as transform_wrench
from kc import transformation as transformation
from kc import transformd as transformd
from kc import transformf as transformf
from kc import transformh as transformh
from kc import transpose as transpose
from kc import trunc as trunc
from kc import type as type
from kc import uint16 as uint16
from kc import uint32 as uint32
from kc import uint64 as uint64
from kc import uint8 as uint8
from kc import unot as unot
from kc import untile as untile
from kc import vec2 as vec2
from kc import vec2b as vec2b
from kc import vec2d as vec2d
from kc import vec2f as vec2f
from kc import vec2h as vec2h
from kc import vec2i as vec2i
from kc import vec2l as vec2l
from kc import vec2s as vec2s
from kc import vec2ub as vec2ub
from kc import vec2ui as vec2ui
from kc import vec2ul as vec2ul
from kc import vec2us as vec2us
from kc import vec3 as vec3
from kc import vec3b as vec3b
from kc import vec3d as vec3d
from kc import vec3f as vec3f
from kc import vec3h as vec3h
from kc import vec3i as vec3i
from kc import vec3l as vec3l
from kc import vec3s as vec3s
from kc import vec3ub as vec3ub
from kc import vec3ui as vec3ui
from kc import vec3ul as vec3ul
from kc import vec3us as vec3us
from kc import vec4 as vec4
from kc import vec4b as vec4b
from kc import vec4d as vec4d
from kc import vec4f as vec4f
from kc import vec4h as vec4h
from kc import vec4i as vec4i
from kc import vec4l as vec4l
from kc import vec4s as vec4s
from kc import vec4ub as vec4ub
from kc import vec4ui as vec4ui
from kc import vec4ul as vec4ul
from kc import vec4us as vec4us
from kc import vector as vector
from kc import velocity_at_point as velocity_at_point
from kc import view as view
from kc import volume_index_to_world as volume_index_to_world
from kc import volume_index_to_world_dir as volume_index_to_world_dir
from kc import volume_lookup as volume_lookup
from kc import volume_lookup_f as volume_lookup_f
from kc import volume_lookup_i as volume_lookup_i
from kc import volume_lookup_index as volume_lookup_index
from kc import volume_lookup_v as volume_lookup_v
from kc import volume_sample as volume_sample
from kc import volume_sample_f as volume_sample_f
from kc import volume_sample_grad as volume_sample_grad
from kc import volume_sample_grad_f as volume_sample_grad_f
from kc import volume_sample_grad_index as volume_sample_grad_index
from kc import volume_sample_i as volume_sample_i
from kc import volume_sample_index as volume_sample_index
from kc import volume_sample_v as volume_sample_v
from kc import volume_store as volume_store
from kc import volume_store_f as volume_store_f
from kc import volume_store_i as volume_store_i
from kc import volume_store_v as volume_store_v
from kc import volume_voxel_count as volume_voxel_count
from kc import volume_world_to_index as volume_world_to_index
from kc import volume_world_to_index_dir as volume_world_to_index_dir
from kc import where as where

_E = TypeVar("_E", default=Any)


_T = TypeVar("_T")

class array(_kc.array[_E]):
    def __init__(
        self, data: Any = ..., dtype: Any = ..., shape: Any = ..., *, length: _int = 0, ptr: Any = ..., device: Any = ..., pinned: bool = ...,
        copy: bool = ..., ndim: _int | None = ..., grad: Any = ..., requires_grad: bool = ...,
    ) -> None: ...
    grad: Any
    @property
    def requires_grad(self) -> bool: ...
    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None: ...
    @property
    def device(self) -> Any: ...
    @property
    def ptr(self) -> _int: ...
    @property
    def strides(self) -> tuple[_int, ...]: ...
    @property
    def is_contiguous(self) -> bool: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __pow__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def reshape(self, *shape: Any) -> array[_E]: ...
    def flatten(self) -> array[_E]: ...
    def transpose(self, axes: Any = ...) -> array[_E]: ...
    def view(self, dtype: Any) -> array[Any]: ...
    def contiguous(self) -> array[_E]: ...
    def list(self) -> Any: ...
    def to(self, device: Any, requires_grad: bool | None = ...) -> array[_E]: ...

class array1d(array[_E]): ...
class array2d(array[_E]): ...
class array3d(array[_E]): ...
class array4d(array[_E]): ...

@_overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@_overload
def kernel(
    *, enable_backward: bool | None = ..., module_options: dict[str, Any] | None = ..., strict: bool = ..., **options: Any,
) -> Callable[[Callable[..., Any]], Kernel]: ...
@_overload
def func(function: _T, /) -> _T: ...
@_overload
def func(*, name: str | None = ..., module: Any = ..., inline: bool | None = ...) -> Callable[[_T], _T]: ...
@_overload
def struct(cls: _type[_T], /) -> _type[_T]: ...
@_overload
def struct(*, module: Any = ...) -> Callable[[_type[_T]], _type[_T]]: ...

class Tape:
    gradients: Any
    def __init__(self) -> None: ...
    def __enter__(self) -> Tape: ...
    def __exit__(self, *_: object) -> None: ...
    def __len__(self) -> _int: ...
    def reset(self) -> None: ...
    def zero(self) -> None: ...
    def assign(self, array: Any, source: Any) -> None: ...
    def backward(self, loss: Any = ..., grads: Any = ...) -> None: ...
    def gradient(self, array: Any, *, allow_unused: bool | None = ...) -> Any: ...
    def record_func(self, backward: Callable[[], Any], arrays: Iterable[Any]) -> None: ...

class Bvh:
    """A tree of boxes that kernels ask for boxes near by.

        bvh = wp.Bvh(lowers, uppers)             # corners: NumPy, float32 of shape (n, 3)

    The arrays are used in place: after a write to them call ``refit``, or ``rebuild`` where boxes moved far."""
    def refit(self) -> None: ...
    id: Any
    def __init__(self, lowers: Any, uppers: Any, constructor: Any = ..., groups: Any = ..., leaf_size: Any = ...) -> None: ...
    @property
    def lowers(self) -> Any: ...
    @property
    def uppers(self) -> Any: ...
    @property
    def groups(self) -> Any: ...
    def rebuild(self, constructor: Any = ...) -> None: ...
    @property
    def device(self) -> Any: ...

class BvhConstructor(IntEnum):
    SAH = 0
    MEDIAN = 1
    LBVH = 2
    CUBQL = -1
class DeterministicMode(IntEnum):
    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2
class Device:
    """The processor of this machine."""
    def __init__(self, *arguments: Any, **named: Any) -> None: ...
    alias: str
    name: str
    ordinal: _int
    is_cpu: bool
    is_cuda: bool
    is_capturing: bool
    has_blocks: bool
    is_mempool_supported: bool
    is_mempool_enabled: bool
    @property
    def default_allocator(self) -> Any: ...
    def get_allocator(self) -> Any: ...

DeviceLike: Any
E: _float
class Event:
    """A point in what a device does: that of a GPU's stream, or the time when it is recorded on the processor."""
    def __init__(self, device: Any = ..., cuda_event: Any = ..., enable_timing: Any = ..., interprocess: Any = ...) -> None: ...
    @property
    def is_complete(self) -> bool: ...
    device: Any
    enable_timing: Any

HALF_PI: _float
class HashGrid:
    """Points sorted by the cells of a grid, which kernels ask for points near by.

        grid = wp.HashGrid(64, 64, 64)           # cells along x, y, z; the grid repeats itself
        grid.build(points, radius)               # again after points moved

    ``dtype`` is that of the coordinates: ``wp.float16``, ``wp.float32`` or ``wp.float64``."""
    refit: Any
    id: Any
    def __init__(self, dim_x: Any, dim_y: Any, dim_z: Any, device: Any = ..., dtype: Any = ...) -> None: ...
    def build(self, points: Any, radius: Any, groups: Any = ...) -> None: ...
    def reserve(self, num_points: Any, with_groups: Any = ...) -> None: ...
    @property
    def device(self) -> Any: ...
    dtype: Any
    groups: Any

INF: _float
LOG_DEBUG: _int
LOG_ERROR: _int
LOG_INFO: _int
LOG_WARNING: _int
class Launch:
    """A launch that is kept, to be done again."""
    def __init__(self, kernel: Any, dim: Any, arguments: Any, blocks: Any) -> None: ...
    def set_dim(self, dim: Any) -> None: ...
    def set_param_at_index(self, index: Any, value: Any) -> None: ...
    def set_param_by_name(self, name: Any, value: Any) -> None: ...
    def set_params(self, values: Any) -> None: ...
    def launch(self, stream: Any = ...) -> None: ...
    kernel: Any
    dim: Any
    params: Any

class Mesh:
    """A triangle mesh that kernels ask for closest points, rays and faces near by.

        mesh = wp.Mesh(points, indices)          # NumPy: float32 of shape (n, 3), int32
        nearest(len(x), mesh, x, distance)       # the parameter: mesh: wp.uint64

    ``points`` has a row for each corner, ``indices`` three numbers for each face. The arrays are used in place: after a write to
    ``points`` call ``refit``; setting ``mesh.points`` refits. ``groups`` has a number for each face; ``support_winding_number``
    is for ``mesh_query_point_sign_winding_number``. Gradients go to ``mesh.points.grad``, and to ``tape.gradient(mesh.points)``."""
    def refit(self) -> None: ...
    id: Any
    def __init__(self, points: Any, indices: Any, velocities: Any = ..., support_winding_number: Any = ..., bvh_constructor: Any = ..., bvh_leaf_size: Any = ..., groups: Any = ...) -> None: ...
    @property
    def points(self) -> Any: ...
    @points.setter
    def points(self, value: Any) -> None: ...
    @property
    def velocities(self) -> Any: ...
    @velocities.setter
    def velocities(self, value: Any) -> None: ...
    @property
    def indices(self) -> Any: ...
    @property
    def groups(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    support_winding_number: Any

NAN: _float
PI: _float
class ScopedAllocator:
    """``with wp.ScopedAllocator(device, allocator):`` sets it for a while."""
    def __init__(self, device: Any, allocator: Any) -> None: ...
    def __enter__(self) -> ScopedAllocator: ...
    def __exit__(self, *_: Any) -> None: ...
    device: Any
    allocator: Any

class ScopedCapture:
    """``with wp.ScopedCapture() as capture:`` then ``wp.capture_launch(capture.graph)``. What is captured runs then, and not before."""
    def __init__(self, device: Any = ..., stream: Any = ..., force_module_load: Any = ..., external: Any = ..., **options: Any) -> None: ...
    def __enter__(self) -> ScopedCapture: ...
    def __exit__(self, *_: Any) -> None: ...
    graph: Any

class ScopedDevice:
    """``with wp.ScopedDevice("cpu"):``"""
    def __init__(self, device: Any) -> None: ...
    def __enter__(self) -> ScopedDevice: ...
    def __exit__(self, *_: Any) -> None: ...
    device: Any

class ScopedMemoryTracker:
    """``with wp.ScopedMemoryTracker("run") as tracker:`` counts the arrays that are made within, and prints a report in the end.
    Scopes within others are named in the report."""
    def __init__(self, name: Any, active: Any = ..., print: Any = ...) -> None: ...
    def __enter__(self) -> ScopedMemoryTracker: ...
    def __exit__(self, *_: Any) -> None: ...
    def report(self, file: Any = ..., sort: Any = ..., max_items: Any = ...) -> None: ...
    def clear(self) -> None: ...
    name: Any
    active: Any
    print: Any

class ScopedStream:
    def __init__(self, stream: Any, **options: Any) -> None: ...
    def __enter__(self) -> ScopedStream: ...
    def __exit__(self, *_: Any) -> None: ...
    stream: Any

class ScopedTimer:
    """Prints how long a block took, in milliseconds; ``elapsed`` has it afterwards."""
    indent: _int
    def __init__(self, name: Any, active: Any = ..., print: Any = ..., detailed: Any = ..., dict: Any = ..., use_nvtx: Any = ..., color: Any = ..., synchronize: Any = ..., cuda_filter: Any = ..., report_func: Any = ..., skip_tape: Any = ...) -> None: ...
    def __enter__(self) -> ScopedTimer: ...
    def __exit__(self, *_: Any) -> None: ...
    report_func: Any
    elapsed: Any
    timing_results: Any
    name: Any
    active: Any
    print: Any
    dict: Any

class Stream:
    """Launches run one after the other, so there is nothing to order."""
    def __init__(self, device: Any = ..., **options: Any) -> None: ...
    def record_event(self, event: Any = ..., external: Any = ...) -> Any: ...
    def wait_event(self, event: Any, external: Any = ...) -> None: ...
    def wait_stream(self, other: Any, event: Any = ...) -> None: ...
    device: Any

TAU: _float
TIMING_ALL: _int
TIMING_GRAPH: _int
TIMING_KERNEL: _int
TIMING_KERNEL_BUILTIN: _int
TIMING_MEMCPY: _int
TIMING_MEMSET: _int
class Volume:
    """A sparse grid of voxels that kernels look up and sample.

        volume = wp.Volume.load_from_numpy(distances, min_world=(-1, -1, -1), voxel_size=0.1, bg_value=1.0)
        shade(n, volume, x, y)                   # the parameter: volume: wp.uint64

    ``allocate_by_tiles`` makes leaves of 8 x 8 x 8 voxels for ``wp.volume_store``; ``allocate_by_voxels`` numbers voxels, whose
    values are in arrays; ``load_from_nvdb`` reads a file. Launches that store write to the volume itself. Nothing that a launch
    stores in a volume has a gradient."""
    refit: Any
    id: Any
    CLOSEST: _int
    LINEAR: _int
    REBUILD_SUCCESS: _int
    REBUILD_LEAF_CAPACITY_EXCEEDED: _int
    REBUILD_LOWER_CAPACITY_EXCEEDED: _int
    REBUILD_UPPER_CAPACITY_EXCEEDED: _int
    REBUILD_VOXEL_CAPACITY_EXCEEDED: _int
    REBUILD_INVALID_INPUT: _int
    def __init__(self, data: Any, copy: Any = ...) -> None: ...
    @classmethod
    def load_from_nvdb(cls, file_or_buffer: Any, device: Any = ...) -> Any: ...
    def load_next_grid(self) -> Any: ...
    @classmethod
    def load_from_numpy(cls, ndarray: Any, min_world: Any = ..., voxel_size: Any = ..., bg_value: Any = ..., device: Any = ...) -> Any: ...
    @classmethod
    def allocate(cls, min: Any, max: Any, voxel_size: Any, bg_value: Any = ..., translation: Any = ..., points_in_world_space: Any = ..., device: Any = ...) -> Any: ...
    @classmethod
    def allocate_by_tiles(cls, tile_points: Any, voxel_size: Any = ..., bg_value: Any = ..., translation: Any = ..., device: Any = ..., transform: Any = ..., rebuildable: Any = ..., max_tiles: Any = ..., max_lower_nodes: Any = ..., max_upper_nodes: Any = ..., status: Any = ..., point_mask: Any = ...) -> Any: ...
    @classmethod
    def allocate_by_voxels(cls, voxel_points: Any, voxel_size: Any = ..., translation: Any = ..., device: Any = ..., transform: Any = ..., rebuildable: Any = ..., max_active_voxels: Any = ..., max_leaf_nodes: Any = ..., max_lower_nodes: Any = ..., max_upper_nodes: Any = ..., status: Any = ..., point_mask: Any = ...) -> Any: ...
    def rebuild(self, points: Any, status: Any = ..., point_mask: Any = ...) -> Any: ...
    def array(self) -> Any: ...
    def save_to_nvdb(self, path: Any, codec: Any = ...) -> None: ...
    def get_grid_info(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def is_index(self) -> bool: ...
    @property
    def is_rebuildable(self) -> bool: ...
    def get_rebuild_info(self) -> Any: ...
    def get_active_stats(self) -> Any: ...
    def get_voxel_size(self) -> tuple[Any, ...]: ...
    def get_tile_count(self) -> _int: ...
    def get_voxel_count(self) -> _int: ...
    def get_tiles(self, out: Any = ...) -> Any: ...
    def get_voxels(self, out: Any = ...) -> Any: ...
    def get_feature_array_count(self) -> _int: ...
    def get_feature_array_info(self, feature_index: Any) -> Any: ...
    def feature_array(self, feature_index: Any, dtype: Any = ...) -> Any: ...
    @property
    def device(self) -> Any: ...

annotations: Any
def capture_begin(device: Any = ..., **options: Any) -> None:
    ...
def capture_end(device: Any = ..., **options: Any) -> Any:
    ...
def capture_if(condition: Any, on_true: Any = ..., on_false: Any = ..., stream: Any = ..., **arguments: Any) -> None:
    """Does one of two things, as the one element of `condition` says, also when a captured graph is launched."""
    ...
def capture_launch(graph: Any, stream: Any = ...) -> None:
    """Does what was captured."""
    ...
def capture_while(condition: Any, while_body: Any, stream: Any = ..., **arguments: Any) -> None:
    """Does `while_body` as long as the one element of `condition` is not 0, also when a captured graph is launched."""
    ...
def clear_kernel_cache() -> None:
    """Does nothing: kc keeps no kernels on the disk."""
    ...
def clone(src: Any, device: Any = ..., requires_grad: Any = ..., pinned: Any = ...) -> Any:
    ...
config: Any
def constant(value: Any) -> Any:
    """The value itself: kernels see what their names mean."""
    ...
def copy(dest: Any, src: Any, dest_offset: Any = ..., src_offset: Any = ..., count: Any = ..., stream: Any = ...) -> None:
    """Copies elements; recorded by a tape, as launches are."""
    ...
def device_from_torch(device: Any) -> Any:
    ...
def device_to_torch(device: Any) -> str:
    ...
def dtype_from_numpy(dtype: Any) -> Any:
    """The scalar type of a NumPy type."""
    ...
def dtype_from_torch(dtype: Any) -> Any:
    ...
def dtype_to_numpy(dtype: Any) -> Any:
    """The NumPy type of a scalar type."""
    ...
def dtype_to_torch(dtype: Any) -> Any:
    ...
e: _float
def empty(shape: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: Any = ..., pinned: Any = ..., **others: Any) -> Any:
    ...
def empty_like(src: Any, device: Any = ..., requires_grad: Any = ..., pinned: Any = ...) -> Any:
    ...
def force_load(module: Any = ..., device: Any = ..., recursive: Any = ..., block_dim: Any = ...) -> None:
    """Does nothing: a kernel is compiled when it is first launched."""
    ...
def from_dlpack(source: Any, dtype: Any = ...) -> Any:
    """An array of the memory of any array that speaks DLPack."""
    ...
def from_jax(jax_array: Any, dtype: Any = ...) -> Any:
    """An array of the memory of an array of JAX, which is not to be written to."""
    ...
def from_numpy(arr: Any, dtype: Any = ..., shape: Any = ..., device: Any = ..., requires_grad: Any = ...) -> Any:
    ...
def from_torch(t: Any, dtype: Any = ..., requires_grad: Any = ..., grad: Any = ..., return_ctype: Any = ...) -> Any:
    """An array of a tensor's memory: trailing dimensions are components where `dtype` is a vector or a matrix."""
    ...
def full(shape: Any = ..., value: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: Any = ..., pinned: Any = ...) -> Any:
    ...
def full_like(src: Any, value: Any, device: Any = ..., requires_grad: Any = ..., pinned: Any = ...) -> Any:
    ...
def func_native(snippet: Any, adj_snippet: Any = ..., replay_snippet: Any = ...) -> Any:
    """Before a function whose body is a text in C++ or CUDA. Kernels that call it are for Warp; others of the file run."""
    ...
def get_cuda_device_count() -> _int:
    ...
def get_cuda_devices() -> list[Any]:
    ...
def get_cuda_toolkit_version() -> None:
    """None: kc is built without a toolkit."""
    ...
def get_device(ident: Any = ...) -> Any:
    """The device of this name: `"cpu"`, or a GPU, `"cuda:0"`. Where there is none, a program that names one gets the processor, with
    a warning and with blocks as on a GPU; so it does with `wp.config.use_gpus = False`."""
    ...
def get_device_allocator(device: Any = ...) -> Any:
    """What makes the memory of arrays."""
    ...
def get_devices() -> list[Any]:
    ...
def get_event_elapsed_time(start_event: Any, end_event: Any, synchronize: Any = ...) -> _float:
    """Milliseconds from one event to another one."""
    ...
def get_mempool_release_threshold(device: Any = ...) -> _int:
    ...
def get_mempool_used_mem_current(device: Any = ...) -> _int:
    ...
def get_mempool_used_mem_high(device: Any = ...) -> _int:
    ...
def get_module(name: Any) -> Any:
    """The module of that name."""
    ...
def get_module_options(module: Any = ...) -> dict[str, Any]:
    """What `set_module_options` was told of the caller's module, or of another one."""
    ...
def get_preferred_device() -> Any:
    """As in Warp the first GPU, where there is one."""
    ...
def get_stream(device: Any = ...) -> Any:
    ...
half_pi: _float
class indexedarray:
    """The elements of an array that lists of indices choose, one list for each dimension, or None for all of it; ``data[rows]`` makes one.
    ``wp.indexedarray(dtype=float)`` names the type of a parameter."""
    def __init__(self, data: Any = ..., indices: Any = ..., dtype: Any = ..., ndim: Any = ...) -> None: ...
    @property
    def dtype(self) -> None: ...
    @property
    def ndim(self) -> None: ...
    @property
    def size(self) -> None: ...
    @property
    def shape(self) -> tuple[Any, ...]: ...
    @property
    def device(self) -> Any: ...
    def __len__(self) -> Any: ...
    def numpy(self) -> Any: ...
    def contiguous(self) -> Any: ...
    def list(self) -> list[Any]: ...
    def assign(self, source: Any) -> None: ...
    def fill_(self, value: Any) -> None: ...
    def zero_(self) -> None: ...
    data: Any
    indices: Any

indexedarray1d: Any
indexedarray2d: Any
indexedarray3d: Any
indexedarray4d: Any
inf: _float
def init() -> None:
    """Does nothing: kc is ready when it is imported."""
    ...
def is_conditional_graph_supported() -> bool:
    """Whether `capture_while` and `capture_if` work: kc's graphs keep conditions on each device."""
    ...
def is_cpu_available() -> bool:
    ...
def is_cuda_available() -> bool:
    ...
def is_mempool_enabled(device: Any = ...) -> bool:
    ...
def is_mempool_supported(device: Any = ...) -> bool:
    ...
def is_peer_access_supported(target_device: Any, peer_device: Any) -> bool:
    ...
def launch(kernel: Any, dim: Any, inputs: Any = ..., outputs: Any = ..., adj_inputs: Any = ..., adj_outputs: Any = ..., device: Any = ..., stream: Any = ..., adjoint: Any = ..., record_tape: Any = ..., record_cmd: Any = ..., max_blocks: Any = ..., block_dim: Any = ...) -> Any:
    """Runs a kernel: ``wp.launch(kernel, dim=n, inputs=[...], outputs=[...])``.

    On the processor blocks have one thread, as Warp's have there; with ``wp.config.enable_cpu_blocks``, and on a GPU, they have
    ``block_dim``. A kernel runs where its arrays are, and with another ``device`` of a GPU not at all."""
    ...
def launch_tiled(kernel: Any, dim: Any, *arguments: Any, block_dim: Any, **named: Any) -> Any:
    """Runs a kernel for blocks: ``wp.launch_tiled(kernel, dim=[m, n], inputs=[...], block_dim=64)``.

    The threads of a block are one dimension more. On the processor it has one of them, but with ``wp.config.enable_cpu_blocks``."""
    ...
def load_module(module: Any = ..., device: Any = ..., recursive: Any = ..., block_dim: Any = ...) -> None:
    """Does nothing: a kernel is compiled when it is first launched."""
    ...
def map(function: Any, *inputs: Any, out: Any = ..., return_kernel: Any = ..., block_dim: Any = ..., device: Any = ...) -> Any:
    """Calls a function for each element of arrays, with numbers beside them; gives an array, or several where it has several results."""
    ...
nan: _float
def ones(shape: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: Any = ..., pinned: Any = ..., **others: Any) -> Any:
    ...
def ones_like(src: Any, device: Any = ..., requires_grad: Any = ..., pinned: Any = ...) -> Any:
    ...
from kc.warp import optim as optim
pi: _float
def print_memory_report(file: Any = ..., sort: Any = ..., max_items: Any = ...) -> None:
    """Prints what there is now, of all arrays that were made since ``wp.config.track_memory = True``."""
    ...
def record_event(event: Any = ..., external: Any = ...) -> Any:
    """Puts an event, or a new one, behind what the device does already."""
    ...
def set_device(ident: Any) -> None:
    """Makes a device the one of arrays that name none, in this thread."""
    ...
def set_device_allocator(device: Any, allocator: Any) -> None:
    """Arrays that are made from here on get their memory from an object with ``allocate(bytes)``, which gives an address, and
    ``deallocate(address, bytes)``. ``None``: as before. Warp has this for GPUs alone."""
    ...
def set_mempool_enabled(device: Any, enable: Any) -> None:
    ...
def set_mempool_release_threshold(device: Any, threshold: Any) -> None:
    ...
def set_module_options(options: Any, module: Any = ...) -> None:
    """Options of the caller's module, or of another one, for kernels that are not compiled yet. kc follows one: `fast_math`."""
    ...
def set_stream(stream: Any, device: Any = ..., sync: Any = ...) -> None:
    ...
def synchronize() -> None:
    """Waits for the GPUs that this program uses; on the processor a launch is over when it returns."""
    ...
def synchronize_device(device: Any = ...) -> None:
    """Waits for a GPU."""
    ...
def synchronize_event(event: Any) -> None:
    """Waits until the device is at an event."""
    ...
def synchronize_stream(stream: Any = ...) -> None:
    ...
tau: _float
def to_dlpack(a: Any) -> Any:
    ...
def to_jax(a: Any) -> Any:
    ...
def to_torch(a: Any, requires_grad: Any = ...) -> Any:
    """A tensor of an array's memory."""
    ...
def transform_expand(t: Any) -> Any:
    """The rigid transform of seven numbers: a position, and a rotation as a quaternion."""
    ...
from kc.warp import types as types
from kc.warp import utils as utils
def wait_event(event: Any, external: Any = ...) -> None:
    """What comes next waits for an event: as it does anyway, since launches run one after the other."""
    ...
def wait_stream(other: Any, event: Any = ...) -> None:
    """Does nothing: launches run one after the other."""
    ...
def zeros(shape: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: Any = ..., pinned: Any = ..., **others: Any) -> Any:
    ...
def zeros_like(src: Any, device: Any = ..., requires_grad: Any = ..., pinned: Any = ...) -> Any:
    ...
from kc.warp import geometry as geometry
MarchingCubes = geometry.IsoSurfaceMarchingCubes
