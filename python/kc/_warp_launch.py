"""The short way of `wp.launch` to kernels that kc runs.

Warp's own launch looks at modules, devices and types anew each time, which costs many times what a small kernel does. Where all of
that is as it was when the kernel was launched first, and the arguments are exactly what it takes, kc's code is called at once.
Everything else goes Warp's way.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import weakref

import warp
from warp._src import codegen
from warp._src import types as warp_types

from . import _native


class _Short:
    """What must be as it was, and the native half."""

    __slots__ = ("launch", "adjoint", "module", "exec", "key", "hasher", "taken")

    def __init__(self, kernel, exec, taken):
        self.taken, self.module, self.exec = taken, kernel.module, exec
        self.key = (exec.device.context, 1)
        # Warp makes another one when a module is changed. It has the kernel, which must not keep itself.
        self.hasher = weakref.ref(kernel.module.hashers.get(1))
        self.launch, self.adjoint = taken.short.launch, taken.short.adjoint


def short_way(kernel, place, layout):
    """The native half; None: an argument is of a kind that only Warp's launch knows."""
    wanted = []
    for argument, (offset, size) in zip(kernel.adj.args, layout):
        kind = argument.type
        if isinstance(kind, codegen.Struct):
            what = ("struct", kind, 0)
        elif warp_types.is_array(kind):
            what = ("array", kind.dtype, kind.ndim)
        elif kind in (int, float, bool) or kind in warp_types.scalar_types or kind is warp_types.bool:
            what = ("number", None, 0)
        elif issubclass(kind, ctypes.Array):
            what = ("object", kind, 0)
        else:
            return None
        wanted.append((offset, size, *what))
    try:
        return _native.Short(place, warp.array, wanted)
    except ValueError:
        return None


def shorten(kernel, exec, taken):
    """Warp has looked up a kernel's functions: next time it need not."""
    known = getattr(kernel, "_kc_short", None)
    if taken.short is None or 1 not in kernel.module.hashers or not kernel.uses_warp_entry_point_abi or kernel.module.has_unresolved_static_expressions:
        kernel._kc_short = None
    elif known is None or known.taken is not taken or known.exec is not exec or known.hasher() is not kernel.module.hashers.get(1):
        kernel._kc_short = _Short(kernel, exec, taken)


def short(context, launch):
    """`wp.launch` with the short way."""
    config, relaxed = warp.config, warp.config.LaunchArrayAccessMode.RELAXED

    @functools.wraps(launch)
    def call(
        kernel, dim, inputs=[], outputs=[], adj_inputs=[], adj_outputs=[], device=None, stream=None, adjoint=False,
        record_tape=True, record_cmd=False, max_blocks=0, block_dim=None,
    ):
        known = getattr(kernel, "_kc_short", None)
        tape = context.runtime.tape if record_tape and context.runtime else None
        if known is not None and stream is None and not record_cmd and (block_dim is None or one_thread(block_dim)):
            runtime, module = context.runtime, known.module
            if device is None:
                device = runtime.default_device
            if (
                (device is known.exec.device or device == "cpu")
                and module.execs.get(known.key) is known.exec
                and module.hashers.get(1, False) is known.hasher()
                and not module.has_unresolved_static_expressions
                and runtime._apic_capture is None
                and config.launch_array_access_mode == relaxed
                and not config.print_launches
                and not config.verify_autograd_array_access
            ):
                if not adjoint:
                    ran = not adj_inputs and not adj_outputs and known.launch(dim, inputs, outputs)
                else:
                    ran = known.taken.backward is not None and known.adjoint(dim, inputs, outputs, adj_inputs, adj_outputs)
                if ran:
                    if tape is not None:
                        bounds, more = (dim,) if type(dim) is int else tuple(dim), {"caller": _caller()}
                        tape.record_launch(kernel, bounds, max_blocks, inputs, outputs, known.exec.device, 1, metadata=more)
                    return None
        steps = len(tape.launches) if tape is not None else 0
        made = launch(
            kernel, dim, inputs, outputs, adj_inputs, adj_outputs, device, stream, adjoint, record_tape, record_cmd, max_blocks,
            block_dim,
        )
        if tape is not None and len(tape.launches) > steps:
            # Warp takes who called it for its caller.
            tape.launches[-1][-1]["caller"] = _caller()
        return made

    def one_thread(block_dim) -> bool:
        return block_dim == 1 or type(block_dim) is int and 1 <= block_dim <= 1024 and not config.enable_cpu_blocks

    return call


def _caller():
    """Who called `wp.launch`, as tapes note it."""
    frame = sys._getframe(2)
    return {"file": frame.f_code.co_filename, "lineno": frame.f_lineno, "func": frame.f_code.co_name}
