"""Warp's launches through kc's code. Warp stays as it is; what kc does not take stays with it.

Warp looks up the functions of a kernel when it is first launched. For a CPU kc puts its own in their place, if it has compiled the
kernel: C functions for the same bounds and structs of arguments, so recorded launches, graphs and tapes call them too. For a GPU
it notes them (`_accelerate_gpu.py`).
"""

from __future__ import annotations

import ast
import ctypes
import functools
import json
import sys

from . import _errors, _native
from ._errors import Error
from ._kernel import Kernel

#: The versions of Warp whose insides are known.
SUPPORTED = ("1.19.0",)

_kernels = []
_declined = None
_active = False


def accelerate() -> bool:
    """Lets kc run the kernels of Warp from now on. False, with a message: this Warp is not one that kc knows.

    Kernels that were launched already stay with Warp.
    """
    global _active, _declined
    if _active:
        return True
    try:
        import warp
    except ImportError as error:
        raise ImportError("kc.accelerate() runs the kernels of Warp, which is not installed (pip install warp-lang)") from error
    version = getattr(warp, "__version__", None) or warp.config.version
    if version not in SUPPORTED:
        _declined = f"kc knows Warp {', '.join(SUPPORTED)}, and this is {version}: Warp runs all kernels"
        print(f"kc: {_declined}", file=sys.stderr)
        return False
    from warp._src import context

    from . import _accelerate_gpu as _gpu
    from . import _warp_launch as _launch
    from . import _warp_modules as _modules

    def telling(lookup):
        @functools.wraps(lookup)
        def get_kernel_hooks(self, kernel):
            hooks = lookup(self, kernel)
            if self.device.is_cuda:
                if not hasattr(hooks, "_kc"):
                    hooks._kc = _gpu.take(context.runtime.core, self, kernel, hooks)
            elif self.block_dim == 1:
                if not hasattr(hooks, "_kc"):
                    known = context.KernelHooks(hooks.forward, hooks.backward)
                    hooks._kc = taken = _OnHost(kernel, _modules.Own(lambda: known, hooks.backward is not None), hooks.det_launch_meta)
                    if taken.place is not None:
                        hooks.forward, hooks.backward = taken.forward, taken.backward
                _launch.shorten(kernel, self, hooks._kc)
            return hooks

        return get_kernel_hooks

    for kind in (context.ModuleExec, _modules.Later):
        kind.get_kernel_hooks = telling(kind.get_kernel_hooks)
    _modules.install(_OnHost)
    # Errors of kernels are raised where Warp's launch, or graph, comes back to Python.
    context.invoke = _telling(context.invoke)
    context.launch = warp.launch = _launch.short(context, _telling(context.launch))
    context.capture_launch = warp.capture_launch = _telling(context.capture_launch)
    _active = True
    return True


def _telling(function):
    @functools.wraps(function)
    def call(*arguments, **named):
        result = function(*arguments, **named)
        _native.warp_raise()
        return result

    return call


class Taken:
    """A kernel of Warp on a device, and what kc made of it."""

    def __init__(self, kernel, device, deterministic, *more):
        self.module, self.name, self.device = kernel.module.name, kernel.key, device
        self.place = self.why = self.why_backward = None
        _kernels.append(self)
        try:
            if deterministic is not None and deterministic.needs_deterministic:
                raise ValueError("deterministic launches are Warp's")
            self._take(kernel, *more)
        except Exception as error:
            # Whatever it was, Warp has the kernel.
            self.place = None
            self.why = said(error)

    def made(self, kernel, block_dim):
        """kc's kernel, and its text."""
        import warp

        from ._warp_text import text_of

        if kernel.module.options.get("strip_hash"):
            raise ValueError("its module is loaded as it was compiled once (strip_hash)")
        if (kernel.module.resolved_options.get(block_dim) or {}).get("verify_fp", warp.config.verify_fp):
            raise ValueError("Warp reports what is not finite (verify_fp)")
        text, name, places = text_of(kernel, block_dim, self.device)
        shown = _errors.known_places(f"<kernel {kernel.key} of {kernel.module.name}>", places)
        native = _native.compile(shown, text, [])
        if name not in native.names:
            raise ValueError(f"it needs a value that is not known: {native.warnings}")
        _errors.lint(native)
        return Kernel(lambda: (native, name, {}), name), text

    def differentiate(self, made, text, moves):
        """Looks whether kc has the derivative: `why_backward` says why not."""
        if any(rank for *_, rank in moves):
            self.why_backward = "an argument is an indexedarray"
            return
        try:
            records = _native.records(made, [])
        except Error as error:
            records, self.why_backward = True, said(error)
        if records:
            self.why_backward = self.why_backward or "the launch overwrites what its gradient reads"
        elif _prints(text):
            self.why_backward = "Warp prints adjoints where a kernel prints"

    def counts(self):
        """Launches by kc and by Warp, gradients by both, and why Warp had some."""
        return self.place.counts()

    def facts(self) -> dict:
        found = {"module": self.module, "kernel": self.name, "device": self.device, "by": "warp" if self.place is None else "kc"}
        if self.place is None:
            found["reason"] = self.why
            return found
        names = ("launches", "launches_by_warp", "gradients", "gradients_by_warp")
        counts, fault = self.counts()
        found.update(zip(names, counts))
        if fault:
            found["reason"] = fault
        if self.why_backward:
            found["gradient_reason"] = self.why_backward
        return found


class _OnHost(Taken):
    """A kernel of Warp on its CPU."""

    def __init__(self, kernel, own, deterministic=None):
        #: What Warp calls in place of its own functions.
        self.forward = self.backward = self.short = None
        super().__init__(kernel, "cpu", deterministic, own)

    def _take(self, kernel, own):
        from . import _warp_launch as _launch

        made, text = self.made(kernel, 1)
        moves = moves_of(kernel, _native.layout(made))
        # Without indexed arrays arguments must lie where kc takes them from: no moves.
        elsewhere = any(rank for *_, rank in moves)
        for name, at, offset, _, _ in moves:
            if at != offset and not elsewhere:
                raise ValueError(f"the argument `{name}` lies elsewhere for kc than for Warp")
        if own.has_backward:
            self.differentiate(made, text, moves)
        given = [tuple(where) for _, *where in moves] if elsewhere else None
        place, forward, backward = _native.warp_take(
            made, kernel.adj.kernel_dim, own, own.has_backward, self.why_backward is None, given
        )
        self.kernel, self.place = made, place
        self.short = None if elsewhere else _launch.short_way(kernel, place, _native.layout(made))
        function = ctypes.CFUNCTYPE(None)
        self.forward, self.backward = function(forward), function(backward) if backward else None

    def counts(self):
        return _native.warp_counts(self.place)


def said(error) -> str:
    """An error in a line."""
    first = error.message if isinstance(error, Error) else str(error) or type(error).__name__
    return (f"{error.code}: " if isinstance(error, Error) else "") + first.splitlines()[0]


def _prints(text) -> bool:
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return any(getattr(called, "id", getattr(called, "attr", None)) == "print" for called in calls)


def moves_of(kernel, known):
    """Each argument: its name, where it lies for Warp and for kc, how many bytes kc takes, and of an indexedarray its dimensions."""
    from warp._src import types as warp_types

    fields = [(argument.label, _ctype(argument.type)) for argument in kernel.adj.args]
    if len(fields) != len(known):
        raise ValueError("kc sees another number of arguments")
    layout = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    ranks = [argument.type.ndim if _is_indexed(argument.type) else 0 for argument in kernel.adj.args]
    descriptor = ctypes.sizeof(warp_types.array_t)
    for (name, kind), (_, size), rank in zip(fields, known, ranks):
        if size != (descriptor * (1 + rank) if rank else ctypes.sizeof(kind)):
            raise ValueError(f"the argument `{name}` has another size for kc than for Warp")
    return [(name, getattr(layout, name).offset, *where, rank) for (name, _), where, rank in zip(fields, known, ranks)]


def _is_indexed(kind):
    from warp._src import types as warp_types

    return warp_types.is_array(kind) and warp_types.matches_array_class(kind, warp_types.indexedarray)


def _ctype(kind):
    from warp._src import codegen
    from warp._src import types as warp_types

    if isinstance(kind, codegen.Struct):
        return kind.ctype
    if warp_types.is_array(kind):
        return warp_types.indexedarray_t if _is_indexed(kind) else warp_types.array_t
    if issubclass(kind, (ctypes.Array, ctypes.Structure)):
        return kind
    if hasattr(kind, "_wp_ctype_"):
        # A texture.
        return kind._wp_ctype_
    return {int: ctypes.c_int32, float: ctypes.c_float, bool: ctypes.c_bool}.get(kind) or kind._type_


def report() -> dict:
    """Who ran which kernel of Warp, how often, and why."""
    kernels = [kernel.facts() for kernel in _kernels]
    found = {"active": _active, "kernels": kernels}
    if _declined:
        found["declined"] = _declined
    found["by_kc"] = sum(kernel["by"] == "kc" for kernel in kernels)
    return found


def report_text(form: str = "text") -> str:
    """The report for people, or as JSON."""
    facts = report()
    if form == "json":
        return json.dumps(facts, indent=1)
    lines = [f"kc ran {facts['by_kc']} of {len(facts['kernels'])} kernels"]
    lines += [facts["declined"]] if "declined" in facts else []
    for kernel in facts["kernels"]:
        name = f"{kernel['module']}.{kernel['kernel']}" + (f" on {kernel['device']}" if kernel["device"] != "cpu" else "")
        if kernel["by"] == "warp":
            lines.append(f"  warp  {name}: {kernel['reason']}")
            continue
        more = f", {kernel['gradients']} gradients" if kernel["gradients"] else ""
        if kernel["launches_by_warp"]:
            more += f", {kernel['launches_by_warp']} launches by Warp: {kernel.get('reason', 'more dimensions than wp.tid() gives')}"
        if "gradient_reason" in kernel:
            more += f"; gradients by Warp: {kernel['gradient_reason']}"
        elif kernel["gradients_by_warp"]:
            more += f", {kernel['gradients_by_warp']} gradients by Warp: arrays that share memory, or gradients of another"
        lines.append(f"  kc    {name}: {kernel['launches']} launches{more}")
    return "\n".join(lines)
