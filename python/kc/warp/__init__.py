"""Programs of Warp without Warp: ``import kc.warp as wp``.

The names that plain programs use, on the CPU, with kernels and gradients by kc. A name that is not here is an error that says so;
programs that need it keep Warp, and run with ``kc.accelerate()``.
"""

from __future__ import annotations

import importlib as _importlib
import math as _math

import numpy as _np

import kc as _kc

from .._kernel import Kernel, func_grad, func_replay, overload
from . import optim, types, utils
from ._arrays import (
    array, array1d, array2d, array3d, array4d, clone, copy, empty, empty_like, from_numpy, full, full_like, indexedarray,
    indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d, ones, ones_like, zeros, zeros_like,
)
from ._decorators import func, func_native, get_module_options, kernel, set_module_options, struct
from ._config import LOG_DEBUG, LOG_ERROR, LOG_INFO, LOG_WARNING, config
from ._devices import (
    Device, ScopedDevice, ScopedStream, ScopedTimer, Stream, get_cuda_device_count, get_cuda_devices, get_device, get_devices,
    get_preferred_device, is_cpu_available, is_cuda_available, set_device, synchronize, synchronize_device, synchronize_stream,
)
from ._engines import Bvh, BvhConstructor, HashGrid, Mesh, Volume
from ._events import (
    Event, get_cuda_toolkit_version, get_event_elapsed_time, get_module, is_conditional_graph_supported, record_event, synchronize_event,
    wait_event,
)
from ._interop import (
    DeterministicMode, DeviceLike, Function, capture_if, capture_while, device_from_torch, device_to_torch, dtype_from_torch,
    dtype_to_torch, from_dlpack, from_jax, from_torch, get_mempool_release_threshold, get_mempool_used_mem_current,
    get_mempool_used_mem_high, get_stream, is_mempool_enabled, is_mempool_supported, is_peer_access_supported, map,
    set_mempool_enabled, set_mempool_release_threshold, set_stream, to_dlpack, to_jax, to_torch, wait_stream,
)
from ._memory import ScopedAllocator, ScopedMemoryTracker, get_device_allocator, print_memory_report, set_device_allocator
from .._textures import Texture, Texture1D, Texture2D, Texture3D, TextureAddressMode, TextureFilterMode
from ._launches import Launch, ScopedCapture, Tape, capture_begin, capture_end, capture_launch, launch, launch_tiled

pi = PI = _math.pi
e = E = _math.e
tau = TAU = 2.0 * _math.pi
half_pi = HALF_PI = 0.5 * _math.pi
inf = INF = _math.inf
nan = NAN = _math.nan

TIMING_KERNEL, TIMING_KERNEL_BUILTIN, TIMING_MEMCPY, TIMING_MEMSET, TIMING_GRAPH, TIMING_ALL = 1, 2, 4, 8, 16, 0xFFFFFFFF


__version__ = _kc.__version__


def init() -> None:
    """Does nothing: kc is ready when it is imported."""


def constant(value):
    """The value itself: kernels see what their names mean."""
    return value


def transform_expand(t):
    """The rigid transform of seven numbers: a position, and a rotation as a quaternion."""
    return _kc.transform(*t)


def load_module(module=None, device=None, recursive=False, block_dim=None) -> None:
    """Does nothing: a kernel is compiled when it is first launched."""


force_load = load_module


def clear_kernel_cache() -> None:
    """Does nothing: kc keeps no kernels on the disk."""


def dtype_to_numpy(dtype):
    """The NumPy type of a scalar type."""
    from .._types import scalar_of

    return scalar_of(dtype).numpy_dtype.type


def dtype_from_numpy(dtype):
    """The scalar type of a NumPy type."""
    from .._types import scalar_of

    return scalar_of(_np.dtype(dtype))


#: Names of kc that Warp does not have.
_OF_KC = frozenset({"accelerate", "report", "compile", "torch"})


#: What is loaded when somebody asks for it.
_LATER = {"geometry": "geometry", "MarchingCubes": "geometry.IsoSurfaceMarchingCubes"}


def __getattr__(name):
    if name in _LATER:
        module, _, member = _LATER[name].partition(".")
        value = _importlib.import_module(f"kc.warp.{module}")
        return getattr(value, member) if member else value
    # The kernel language: types, and functions that kernels call.
    if name.startswith("_") or name in _OF_KC or not hasattr(_kc, name):
        _missing(name)
    return getattr(_kc, name)


def _missing(name):
    raise AttributeError(
        f"kc.warp has no `{name}`: it has what plain programs of Warp use on the CPU. "
        "With Warp installed, `import warp` and kc.accelerate() run all programs"
    )
