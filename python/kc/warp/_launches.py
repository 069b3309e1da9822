"""Launches, graphs of them, and tapes."""

from __future__ import annotations

import operator
import threading

import numpy as np

from .. import _device, _native, _tape
from .._arguments import as_numpy, is_plain, parameters_of, refuse, zeros_like
from .._kernel import Kernel
from .._native import Arguments
from ._config import config
from ._devices import get_device

_local = threading.local()


def done(step):
    """Does something; while a graph is captured, that does it instead, when it is launched."""
    graph = getattr(_local, "graph", None)
    if graph is None:
        return step()
    if _tape.current() is not None:
        raise NotImplementedError("a tape that records already does not record what is captured: begin it inside of the graph")
    graph.steps.append(step)
    return None


def _captured(run) -> list:
    """The steps of what a function asks for, which is not done now."""
    outer, _local.graph = getattr(_local, "graph", None), Graph()
    try:
        run()
        return _local.graph.steps
    finally:
        _local.graph = outer


def is_captured() -> bool:
    """Whether a graph is captured in this thread."""
    return getattr(_local, "graph", None) is not None


class Launch:
    """A launch that is kept, to be done again."""

    def __init__(self, kernel, dim, arguments, blocks):
        self.kernel, self.dim, self.params, self._blocks = kernel, dim, list(arguments), blocks

    def set_dim(self, dim):
        self.dim = dim

    def set_param_at_index(self, index, value):
        self.params[index] = value

    def set_param_by_name(self, name, value):
        self.params[[known for known, _ in parameters_of(self.kernel)].index(name)] = value

    def set_params(self, values):
        self.params = list(values)

    def launch(self, stream=None):
        kernel, dim, arguments, blocks = self.kernel, self.dim, tuple(self.params), self._blocks
        done(lambda: kernel(dim, *arguments, **blocks))


def launch(
    kernel, dim, inputs=(), outputs=(), adj_inputs=(), adj_outputs=(), device=None, stream=None, adjoint=False,
    record_tape=True, record_cmd=False, max_blocks=0, block_dim=256,
):
    """Runs a kernel: ``wp.launch(kernel, dim=n, inputs=[...], outputs=[...])``.

    On the processor blocks have one thread, as Warp's have there; with ``wp.config.enable_cpu_blocks``, and on a GPU, they have
    ``block_dim``. A kernel runs where its arrays are, and with another ``device`` of a GPU not at all.
    """
    # The processor is asked for nearly always.
    where = None if device == "cpu" else get_device(device)
    gpu = where is not None and where.is_cuda
    if not isinstance(kernel, Kernel):
        raise TypeError(f"wp.launch takes a kernel, not a {type(kernel).__name__}: decorate it with @wp.kernel")
    dim = _dimensions(dim)
    if gpu:
        _there(where, (*inputs, *outputs))
    blocks = _blocks(kernel, block_dim) if where is not None and where.has_blocks or config.enable_cpu_blocks else {}
    if adjoint:
        if record_cmd:
            raise NotImplementedError("kc.warp keeps no adjoint launches")
        arguments, adjoints = (*inputs, *outputs), (*adj_inputs, *adj_outputs)
        return done(lambda: _adjoint(kernel, dim, arguments, adjoints, blocks))
    if record_cmd:
        return Launch(kernel, dim, (*inputs, *outputs), blocks)
    if not record_tape:
        step = Launch(kernel, dim, (*inputs, *outputs), blocks)
        return done(lambda: _without_tape(step))
    if getattr(_local, "graph", None) is None:
        # As nearly always: nothing needs to be kept.
        kernel(dim, *inputs, *outputs, **blocks)
        return None
    Launch(kernel, dim, (*inputs, *outputs), blocks).launch()
    return None


def _without_tape(step):
    """No tape records a launch. Of an array that it writes to a tape says later that it was changed, where that matters."""
    tape = _tape.current()
    if tape is not None:
        _tape.Tape.__exit__(tape, None, None, None)
    try:
        step.kernel(step.dim, *step.params, **step._blocks)
    finally:
        if tape is not None:
            _tape.Tape.__enter__(tape)


def _there(device, arguments):
    """Whether all arrays are where a launch is to run: a kernel runs where its arrays are."""
    for value in arguments:
        if isinstance(value, _native.Array) and _device.place_of(value._data) != device.ordinal:
            text = f"a launch on {device.alias} of an array on {_device.name_of(value._data)}"
            raise _device.refused(text, f'make the array there, with `device="{device.alias}"`, or copy it: `x.to("{device.alias}")`')


def _dimensions(dim):
    if isinstance(dim, (list, tuple)) or isinstance(dim, np.ndarray) and dim.ndim:
        return tuple(operator.index(n) for n in dim)
    return operator.index(dim)


def launch_tiled(kernel, dim, *arguments, block_dim, **named):
    """Runs a kernel for blocks: ``wp.launch_tiled(kernel, dim=[m, n], inputs=[...], block_dim=64)``.

    The threads of a block are one dimension more. On the processor it has one of them, but with ``wp.config.enable_cpu_blocks``.
    """
    dim = _dimensions(dim)
    dim = dim if isinstance(dim, tuple) else (dim,)
    if len(dim) > 3:
        raise RuntimeError(f"wp.launch_tiled takes 1 to 3 dimensions, and not {len(dim)}")
    threads = block_dim if config.enable_cpu_blocks or get_device(named.get("device")).has_blocks else 1
    return launch(kernel, (*dim, threads), *arguments, block_dim=threads, **named)


def _blocks(kernel, block_dim):
    # Of the function itself: a kernel may compile for the threads of its blocks alone.
    code = getattr(getattr(kernel, "_kc_kernel", None), "__code__", None)
    if code is not None and "block_dim" in code.co_varnames[: code.co_argcount]:
        raise refuse("E1006", f"kernel `{kernel.__name__}` has a parameter `block_dim`: rename it, to launch it with config.enable_cpu_blocks")
    return {"block_dim": block_dim}


def _adjoint(kernel, dim, values, adjoints, blocks):
    """The derivative of a launch that has run: on the gradients of its arrays, or on those given."""
    _tape.unrecorded("a launch of a derivative")
    kernel, dim, values = kernel._arguments(dim, *values, **blocks)
    arguments = Arguments(kernel, values)
    if _native.records(kernel, arguments.same):
        raise NotImplementedError(f"kernel `{kernel.__name__}` overwrites what its gradient reads: use wp.Tape, or kernel.grad")
    given, after = {}, []
    slots = [slot for slot in arguments.slots if slot.floats]
    for slot in slots:
        if not is_plain(slot.array):
            raise refuse("E1009", f"argument `{slot.name}`: elements that share memory have no gradient here")
        number = slot.parameter
        adjoint = as_numpy(adjoints[number]) if not slot.is_field and number < len(adjoints) and adjoints[number] is not None else None
        own = slot.held if adjoint is None else adjoint
        if own is None:
            own = zeros_like(slot.array)
        elif own.shape != slot.array.shape or own.dtype != slot.array.dtype:
            raise refuse("E1009", f"the gradient of argument `{slot.name}` has not its shape and type")
        if slot.first != slot.name and (adjoint is None or adjoint is slot.held):
            given[slot.name] = given[slot.first]
            continue
        made = own
        if own.strides != slot.array.strides:
            made = zeros_like(slot.array)
            made[...] = own
            after.append((own, made))
        if adjoint is not None and slot.writes and slot.held is not adjoint:
            # A store clears an array's own gradient, and no other.
            after.append((own, own.copy()))
        given[slot.name] = made
    for slot in slots:
        if given[slot.name] is not given[slot.first]:
            raise refuse("E1010", f"`{slot.first}` and `{slot.name}` are one array, with two gradients")
    made = [given[slot.name] for slot in slots if slot.first == slot.name]
    if _native.overlapping(made):
        raise refuse("E1010", f"two arguments of kernel `{kernel.__name__}` have gradients that share memory")
    arguments.publish()
    _native.gradient(kernel, dim, arguments.filled(lambda slot: slot.array), given, arguments.same, backward=True)
    for own, made in after:
        own[...] = made


class Tape(_tape.Tape):
    """Records launches and copies; ``backward`` adds to the ``grad`` of arrays that require one."""

    #: As in Warp.
    _allow_unused = True

    # In a captured graph a tape records when the graph is launched, and forgets what it recorded in the launch before.

    def __enter__(self):
        graph = getattr(_local, "graph", None)
        if graph is None:
            return super().__enter__()
        if getattr(_tape.captured, "tape", None) is not None:
            raise RuntimeError("a tape records already in this thread")
        if not any(known is self for known in graph.tapes):
            if len(self):
                raise NotImplementedError("a tape that has recorded steps before records no others in a captured graph: use another one")
            graph.tapes.append(self)
            graph.steps.append(self.reset)
        _tape.captured.tape = self
        graph.steps.append(super().__enter__)
        return self

    def __exit__(self, *error):
        if getattr(_tape.captured, "tape", None) is not self:
            return super().__exit__(*error)
        _tape.captured.tape = None
        leave = super().__exit__
        if getattr(_local, "graph", None) is not None:
            _local.graph.steps.append(lambda: leave(None, None, None))
        return None

    def zero(self):
        """Sets all gradients to zero."""
        done(super().zero)

    def backward(self, loss=None, grads=None):
        if getattr(_local, "graph", None) is not None:
            if getattr(_tape.captured, "tape", None) is self:
                raise RuntimeError("the tape still records: call backward after the `with` block")
            return done(lambda: self.backward(loss, grads))
        if loss is not None or grads:
            return super().backward(loss, grads)
        # From the gradients that arrays have.
        seeds, seen = [], set()
        for array, held in self._held():
            if id(held) not in seen and np.any(_device.read(held) if _device.is_far(held) else held):
                seen.add(id(held))
                seeds.append((array, _device.moved(held, _device.place_of(held))))
                _device.put(held, np.zeros((), held.dtype))
        return super().backward(grads=seeds)

    def record_func(self, backward, arrays):
        """Records a function that takes the place of a derivative: it is called when the tape comes to it, and adds to the ``grad`` of
        arrays that are read what comes of the ``grad`` of those that are written. All of them are in ``arrays``.
        """
        _have_gradients(arrays)
        if getattr(_local, "graph", None) is not None:
            return done(lambda: self.record_func(backward, arrays))
        known = list({id(array): array for array in arrays}.values())
        written = []

        def pull(gradient, others):
            views, held = [gradient, *others], [array.grad._data for array in known]
            own = [_device.moved(one, _device.place_of(one)) for one in held]
            for one, view in zip(held, views):
                _device.put(one, view)
            try:
                backward()
                for array, one, view, replaced in zip(known, held, views, written):
                    # What was there before the array was written to has no part in it.
                    _device.put(view, np.zeros((), view.dtype) if replaced else array.grad._data)
            finally:
                for one, before in zip(held, own):
                    _device.put(one, before)

        written += self._record("record_func", [(array, array._data) for array in known], pull)


def _have_gradients(arrays):
    from ._arrays import array

    for one in arrays:
        if not isinstance(one, array) or one.grad is None or one._data.dtype.kind != "f":
            raise RuntimeError(f"record_func takes arrays of floats that have gradients, with requires_grad=True, not {one!r}")
    if not arrays:
        raise RuntimeError("record_func takes the arrays that the function reads and writes")


class Graph:
    """What was asked for while it was captured."""

    def __init__(self):
        self.steps, self.tapes = [], []


def capture_begin(device=None, **options):
    get_device(device)
    if getattr(_local, "graph", None) is not None:
        raise RuntimeError("a graph is captured already")
    _local.graph = Graph()


def capture_end(device=None, **options) -> Graph:
    graph = getattr(_local, "graph", None)
    if graph is None:
        raise RuntimeError("no graph is captured")
    _local.graph = None
    if getattr(_tape.captured, "tape", None) is not None:
        _tape.captured.tape = None
        raise RuntimeError("a tape still records what is captured: end the graph after the `with` block")
    return graph


def capture_launch(graph, stream=None):
    """Does what was captured."""
    before = _tape.current()
    try:
        for step in graph.steps:
            step()
    except BaseException:
        # A tape of the graph records no longer.
        if before is None and _tape.current() is not None:
            _tape.Tape.__exit__(_tape.current(), None, None, None)
        raise


class ScopedCapture:
    """``with wp.ScopedCapture() as capture:`` then ``wp.capture_launch(capture.graph)``. What is captured runs then, and not before."""

    def __init__(self, device=None, stream=None, force_module_load=None, external=False, **options):
        self.graph = None
        get_device(device)

    def __enter__(self):
        capture_begin()
        return self

    def __exit__(self, *_):
        self.graph = capture_end()

