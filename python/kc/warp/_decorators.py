"""What stands before kernels, functions and structs: with the options of Warp 1.19."""

from __future__ import annotations

import collections
import sys

from .. import _kernel, _types
from .._arguments import refuse

#: Options that say how Warp compiles a kernel. They change no result, and kc has ways of its own.
_HOW = {
    "cluster_dim", "cuda_max_registers", "enable_cuda_smem_spilling", "entry_point_abi", "grid_stride", "launch_bounds", "module", "name",
}


#: What `set_module_options` was told, by the name of the module. Of these, kc follows `fast_math`.
_OF_MODULES = collections.defaultdict(dict)


def set_module_options(options, module=None) -> None:
    """Options of the caller's module, or of another one, for kernels that are not compiled yet. kc follows one: `fast_math`."""
    if not isinstance(options, dict):
        raise TypeError(f"set_module_options takes a dict, not a {type(options).__name__}")
    _check(options)
    _OF_MODULES[_module_name(module)].update(options)


def get_module_options(module=None) -> dict:
    """What `set_module_options` was told of the caller's module, or of another one."""
    return dict(_OF_MODULES[_module_name(module)])


def _module_name(module):
    return sys._getframe(2).f_globals["__name__"] if module is None else module.__name__


def _check(options):
    if not isinstance(fast := options.get("fast_math", False), bool):
        raise refuse("E0401", f"`fast_math` is True or False, not {fast!r}")


def kernel(function=None, *, enable_backward=None, module_options=None, strict=False, **options):
    """Makes a kernel of a function: ``@wp.kernel``. As in Warp, it may be launched with more dimensions than it has coordinates."""
    if unknown := set(options) - _HOW:
        raise TypeError(f"@wp.kernel has no option {', '.join(sorted(unknown))}")
    if not isinstance(module_options, dict | None):
        raise TypeError(f"module_options of @wp.kernel is a dict, not a {type(module_options).__name__}")
    _check(module_options or {})
    if enable_backward is None:
        enable_backward = (module_options or {}).get("enable_backward")

    def make(function):
        options = collections.ChainMap(module_options or {}, _OF_MODULES[function.__module__])
        made = _kernel.kernel(function, enable_backward=enable_backward, module_options=options, strict=strict)
        made._kc_kernel._kc_lenient = True
        return made

    return make if function is None else make(function)


def func(function=None, *, name=None, module=None, inline=None):
    """Makes a function that kernels call: ``@wp.func``."""
    if function is None:
        return lambda function: _kernel.function_in(sys._getframe(1), function)
    return _kernel.function_in(sys._getframe(1), function)


def struct(cls=None, *, module=None):
    """Makes a struct of the kernel language of a class with annotated fields: ``@wp.struct``."""
    return _types.struct if cls is None else _types.struct(cls)


class _Native:
    """A function in C++ or CUDA, which kernels here have not: a kernel that calls it is refused, others are as they were."""

    def __init__(self, function, snippet):
        self.native_snippet, self.__name__, self.__doc__ = snippet, function.__name__, function.__doc__

    def __call__(self, *_, **__):
        raise NotImplementedError(f"`{self.__name__}` is a function in C++, which kc does not run")


def func_native(snippet, adj_snippet=None, replay_snippet=None):
    """Before a function whose body is a text in C++ or CUDA. Kernels that call it are for Warp; others of the file run."""
    return lambda function: _Native(function, snippet)
