"""Modules of Warp that are compiled by Warp only once a kernel of them needs it.

Warp compiles a whole module, C++ code of all its kernels, before it launches one: seconds, where kc takes tens of milliseconds for
the kernel. Here Warp checks the module and generates its code, as always, so that it finds what it finds; its compiler runs when a
kernel is launched that kc does not take, or a launch or gradient comes up that only Warp runs. What Warp has on the disk it loads.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref

import warp
from warp._src import context

_lock = threading.RLock()


def install(take):
    """Replaces Warp's way to load modules. `take(kernel, own)` says what kc made of a kernel."""
    load = context.Module.load

    @functools.wraps(load)
    def call(self, device, block_dim=None, binary_path=None, output_arch=None, meta_path=None):
        if binary_path is None and output_arch is None and meta_path is None:
            found = _later(self, context.runtime.get_device(device), block_dim, load, take)
            if found is not None:
                return found
        return load(self, device, block_dim, binary_path, output_arch, meta_path)

    context.Module.load = call


def _later(module, device, block_dim, load, take):
    """The module for kc's kernels; None: Warp loads it now."""
    block_dim = module.options["block_dim"] if block_dim is None else block_dim
    key = (None, block_dim)
    if not device.is_cpu or block_dim != 1 or module.options["strip_hash"] or module.failed_builds.get(key) is not None:
        return None
    known, hash = module.execs.get(key), module.get_module_hash(block_dim)
    if known is not None and known.module_hash == hash:
        return known
    options = module.resolved_options[block_dim]
    only_warp = options.get("verify_fp") or options.get("verify_autograd_array_access")
    if only_warp or options.get("deterministic") != warp.config.DeterministicMode.NOT_GUARANTEED:
        return None
    folder = os.path.join(warp.config.kernel_cache_dir, module.get_module_identifier(block_dim))
    if warp.config.cache_kernels and os.path.exists(
        os.path.join(folder, module._get_compile_output_name(device, block_dim=block_dim))
    ):
        return None
    title = f"Module {module.name} {hash.hex()[:7]} load on device '{device}'"
    with warp.ScopedTimer(title, active=warp.config.log_level <= warp.LOG_INFO) as timer:
        try:
            module._run_codegen(options | {"output_arch": None}, True)
        except Exception as error:
            timer.extra_msg = " (error)"
            module._record_build_failure(device, True, block_dim, error)
            raise
        timer.extra_msg = " (by kc)"
    made = module.execs[key] = Later(module, hash, device, load, take)
    return made


class Later(context.ModuleExec):
    """A module whose C++ code is not compiled yet."""

    def __init__(self, module, hash, device, load, take):
        hashes = module.hashers[1].kernel_hashes
        super().__init__(None, hash, device, {}, 1, kernel_hashes=hashes)
        self._load, self._take, self._real = load, take, None
        self._module = module

    def get_kernel_hooks(self, kernel):
        name = self.get_kernel_mangled_name(kernel)
        hooks = self.kernel_hooks.get(name)
        if hooks is None:
            # Warp drops kernels that nobody has any more, and so does this.
            load = functools.partial(self._hooks_of, weakref.ref(kernel))
            own = Own(load, (kernel.module.options | kernel.options)["enable_backward"])
            taken = self._take(kernel, own)
            hooks = self._own_hooks(kernel) if taken.place is None else context.KernelHooks(taken.forward, taken.backward)
            hooks._kc = taken
            self.kernel_hooks[name] = hooks
        return hooks

    def _hooks_of(self, reference):
        kernel = reference()
        if kernel is None:
            raise RuntimeError("Warp is to run a kernel that is not there any more")
        return self._own_hooks(kernel)

    def _own_hooks(self, kernel):
        """Warp's functions of a kernel. Now the module is compiled."""
        with _lock:
            if self._real is None:
                execs = self._module.execs
                key = (None, 1)
                # Warp looks there whether it is loaded.
                known = execs.pop(key, None)
                try:
                    self._real = self._load(self._module, self.device, 1)
                finally:
                    if known is not None:
                        execs[key] = known
                self.binary_path, self.meta = self._real.binary_path, self._real.meta
            return _lookup(self._real, kernel)


#: Before kc replaces it.
_lookup = context.ModuleExec.get_kernel_hooks


class Own:
    """Warp's functions of a kernel, which may have to be compiled first."""

    def __init__(self, hooks, has_backward):
        self._hooks, self.has_backward = hooks, has_backward
        self._kept = None

    def __call__(self):
        """Their addresses; 0: there is none. They stay as long as this does."""
        self._kept = self._hooks()
        functions = self._kept.forward, self._kept.backward
        return tuple(ctypes.cast(function, ctypes.c_void_p).value or 0 if function else 0 for function in functions)
