"""Kernels as functions of PyTorch tensors, with gradients.

    square = kc.torch.function(kernel, outputs=["y"])
    y = square(n, x)
    y.sum().backward()
"""

from __future__ import annotations

import numpy as np
import torch

from . import _derivative, _native, _torch_gpu
from ._arguments import apart, as_numpy, field_of, is_plain, parameters_of, refuse, zeros_like
from ._derivative import by_value as values_of
from ._errors import GradientError
from ._function import Caller, Function
from ._native import Arguments

__all__ = ["function"]

def function(kernel, outputs):
    """A function of tensors that launches ``kernel``, differentiable in reverse and in forward mode.

    It is called as ``f(dim, *arguments)`` with the kernel's arguments but for ``outputs``, which it makes and gives back: zeros at
    first. ``outputs`` lists their names, or maps each to its shape: ``{"loss": 1, "y": lambda dim, x: x.shape}``, a number,
    a tuple, or a function of what the call is given. Without a shape it is that of the launch.

    An output that is given as an argument, too, by name or where all parameters are given, starts with the contents of that tensor,
    which stays as it is and has a gradient: ``f(n, x, y=y)`` for a kernel that adds to ``y``.

    Numbers, vectors and matrices may be tensors, and have gradients then. Other arrays than the outputs are not written to.

    On a GPU the kernel runs on PyTorch's current stream, and nothing waits: numbers in tensors stay there, too. A graph
    (``torch.cuda.graph``) captures calls of kernels that are loaded: call ``kernel.load("cuda")`` or the function once before.
    """
    return _Function(kernel, outputs, "kc.torch.function").caller()


class _Function(Function):
    def __init__(self, kernel, outputs, maker):
        super().__init__(kernel, outputs, maker)
        #: Forms of calls that have passed the race check, or need none.
        self.free = _torch_gpu.Forms()

    def __call__(self, dim, arguments, named):
        call, leaves = self.prepared(dim, arguments, named)
        found = _Launch.apply(call, *leaves)
        return found if len(self.shapes) > 1 else found[0]

    def prepared(self, dim, arguments, named):
        """A call, and the tensors that autograd sees of it."""
        if isinstance(dim, torch.Size):
            dim = tuple(dim)
        kernel, dim, values, made, starts = self.bind(dim, arguments, named, _maker)
        numbers = ()
        if any(map(_is_on_gpu, made.values())):
            kernel, numbers = _torch_gpu.with_numbers_there(kernel, values, _is_on_gpu)
        call = _Call(kernel, self.free, dim, list(self.shapes), made)
        call.numbers_there = numbers
        leaves = []
        call.tree = [call.leaf(name, kind, value, leaves) for (name, kind), value in zip(parameters_of(kernel), values)]
        for name, value in starts.items():
            if isinstance(value, torch.Tensor):
                call.starts[name] = len(leaves)
                leaves.append(value)
            else:
                call.contents[name] = made[name].clone()
        return call, leaves

    def caller(self):
        return _Caller(self)

    def started(self, name, kind, value):
        tensor = value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(as_numpy(value)))
        return tensor.detach().clone(memory_format=torch.contiguous_format)


class _Caller(Caller):
    """A function of tensors. Where PyTorch traces or transforms it, it is an operator (``_torch_form``)."""

    def __init__(self, function):
        super().__init__(function)
        self._key = _torch_form.known(function)

    def __call__(self, dim, *arguments, **named):
        if _torch_form.is_traced():
            return _torch_form.call(self._key, dim, arguments, named)
        return super().__call__(dim, *arguments, **named)


def _maker(arrays):
    """Makes outputs where the arrays are."""
    device = next((array.device for array in arrays if _is_on_gpu(array)), "cpu" if arrays else None)

    def make(shape, scalar, filled):
        return (torch.empty if filled else torch.zeros)(shape, dtype=getattr(torch, scalar), device=device)

    return make


def _is_on_gpu(array):
    return isinstance(array, torch.Tensor) and array.is_cuda


class _Leaf:
    """The place of a tensor among those that autograd sees. ``scalar``: it is a number that the kernel reads from an array of one."""

    def __init__(self, index, name, is_array, scalar=None):
        self.index, self.name, self.is_array, self.scalar = index, name, is_array, scalar


class _Call:
    """One call: what its derivatives need besides tensors."""

    def __init__(self, kernel, free, dim, names, made):
        self.kernel, self.dim, self.names, self.made = kernel, tuple(dim), names, made
        self.free = free
        #: Of outputs that start with contents: the place of the tensor among those that autograd sees, or a copy of the contents.
        self.starts, self.contents = {}, {}
        self.versions, self.numbers = [], []
        #: Whether the arrays are in the memory of a GPU, and the numbers that are read there.
        self.on_gpu, self.numbers_there = any(map(_is_on_gpu, made.values())), ()

    def leaf(self, name, kind, value, leaves):
        """The argument with a place for each tensor."""
        if "fields" in kind:
            fields = kind["fields"].items()
            return {field: self.leaf(f"{name}.{field}", inner, field_of(name, value, field), leaves) for field, inner in fields}
        if name in self.made:
            return name
        if isinstance(value, torch.Tensor):
            if value.is_complex():
                vector = "vec2" if value.dtype is torch.complex64 else "vec2d"
                text = f"argument `{name}` of kernel `{self.kernel.__name__}`: found a tensor of {str(value.dtype).removeprefix('torch.')}"
                advice = f"kernels have no complex numbers: pass `torch.view_as_real({name})`, which has gradients, and declare `kc.{vector}`"
                raise refuse("E1005", text, advice)
            leaves.append(value)
            return _Leaf(len(leaves) - 1, name, "ndim" in kind, kind["scalar"] if name in self.numbers_there else None)
        if "ndim" in kind and value is not None:
            array = as_numpy(value)
            if array is not None:
                # Nobody else tells whether it changes before the derivative reads it.
                self.versions.append((name, array, _native.digest(array)))
        self.numbers.append(_torch_gpu.plain(value))
        return _Constant(value)

    @property
    def leaves(self):
        return [leaf for node in self.tree for leaf in _leaves(node)]

    def laid(self, tensors):
        """The tensors as the kernel takes them: numbers that it reads on a GPU as arrays of one."""
        found = list(tensors)
        for leaf in self.leaves if self.numbers_there else ():
            if leaf.scalar is not None and found[leaf.index] is not None:
                found[leaf.index] = found[leaf.index].detach().to(getattr(torch, leaf.scalar)).unsqueeze(0)
        return found

    def form(self, tensors):
        """What decides whether the order of threads may show, where extents and numbers do. None: more than they."""
        if None in self.numbers:
            return None
        parts = [self.kernel, self.dim, *self.numbers]
        for leaf, tensor in tensors:
            parts.append(tensor.shape if leaf.is_array else str(self.read(leaf, tensor)))
            if self.on_gpu and leaf.is_array and not tensor.is_floating_point():
                # Indices are whole numbers, so others are a new form.
                contents = self.free.contents(tensor)
                if contents is None:
                    return None
                parts.append(contents)
        return tuple(parts)

    def read(self, leaf, tensor):
        """The numbers of a tensor, on the host."""
        if _is_on_gpu(tensor) and _torch_gpu.is_captured():
            raise _torch_gpu.waits(self.kernel, f"the value of `{leaf.name}` is read from the GPU", "pass it as a number, or in an array of one element")
        return tensor.tolist()

    def filled(self, tensors, outputs):
        return [_fill(self, node, tensors, outputs) for node in self.tree]

    def zeros(self, tensors):
        """The outputs as they were before the launch, on the host."""
        return {name: self._before(name, shape, dtype, tensors) for name, (shape, dtype) in self.made.items()}

    def _before(self, name, shape, dtype, tensors):
        contents = tensors[self.starts[name]] if name in self.starts else self.contents.get(name)
        if contents is None:
            return torch.zeros(shape, dtype=dtype, device="cpu")
        return contents.detach().cpu().clone(memory_format=torch.contiguous_format)

    def before(self, tensors):
        """The same where the call's arrays are, which is a GPU."""
        found = {}
        for name, (shape, dtype) in self.made.items():
            contents = tensors[self.starts[name]] if name in self.starts else self.contents.get(name)
            if contents is None:
                found[name] = torch.zeros(shape, dtype=dtype, device=self.device)
            else:
                found[name] = contents.detach().clone(memory_format=torch.contiguous_format)
        return found

    def run(self, tensors):
        """Launches the kernel, and gives its outputs."""
        outputs = self.made
        self.kernel._launch(self.dim, *self.filled(self.laid(tensors), _views(outputs)))
        # Only autograd keeps outputs: it tells when they are changed.
        found = [outputs[name] for name in self.names]
        self.made_before(found)
        return found

    def made_before(self, outputs):
        """Notes what the outputs were, in place of themselves."""
        self.made = {name: (tensor.shape, tensor.dtype) for name, tensor in zip(self.names, outputs)}
        self.on_gpu, self.device = any(map(_is_on_gpu, outputs)), outputs[0].device

    def unchanged(self):
        for name, array, digest in self.versions:
            if digest != _native.digest(array):
                text = f"array `{name}` of kernel `{self.kernel.__name__}` was changed since the launch, and its derivative reads it"
                raise GradientError(f"error[E1103]: {text}", code="E1103", message=text)


class _Constant:
    def __init__(self, value):
        self.value = value


def _fill(call, node, tensors, outputs):
    if isinstance(node, _Leaf):
        tensor = tensors[node.index]
        return _view(tensor) if node.is_array else call.read(node, tensor)
    if isinstance(node, _Constant):
        return node.value
    if isinstance(node, str):
        return outputs[node]
    return {name: _fill(call, inner, tensors, outputs) for name, inner in node.items()}


def _view(tensor):
    """A NumPy array of a tensor's memory: asking a tensor through DLPack takes ten times as long.

    What NumPy lacks (types, devices, layouts) stays a tensor, of which the launch says what it cannot take.
    """
    tensor = tensor.detach()
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError):
        return tensor


class _OnHost:
    """A call and the gradients of its arrays, as a run on the host takes them."""

    def __init__(self, call, tensors, outputs, gradients):
        self.call, self.tensors = call, tensors
        self.arguments = Arguments(call.kernel, call.filled(tensors, _views(outputs)))
        #: Gradients by name, and arrays of NumPy whose elements must be apart.
        self.given, self.own = {}, {}
        for slot in self.arguments.slots:
            if not slot.floats:
                continue
            if slot.name in gradients:
                self.given[slot.name] = _view(gradients[slot.name])
            else:
                # Arrays of NumPy have gradients that nobody asks for; theirs have the strides of the arrays.
                self.own[slot.name] = slot.array if is_plain(slot.array) else apart(slot.array)
                self.given[slot.name] = zeros_like(self.own[slot.name])

    def data(self, others):
        """The arguments, with other arrays in the place of some."""
        return self.arguments.filled(lambda slot: others.get(slot.name, self.own.get(slot.name, slot.array)))

    def look(self, form):
        """Raises where the order of the launch's threads shows in the gradient."""
        call = self.call
        looked = _native.look(call.kernel, call.dim, self.data(_views(call.zeros(self.tensors))), self.given, [])
        # On a GPU the race check runs once for each form of call, on copies.
        if form is not None and (call.on_gpu or not looked):
            call.free.add(form)


def _on_host(tensors):
    return [tensor.detach().cpu() for tensor in tensors]


def _all_on_host(tensors):
    return dict(zip(tensors, _on_host(tensors.values())))


def _all_zeros(tensors):
    return {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}


def _views(tensors):
    return {name: _view(tensor) for name, tensor in tensors.items()}


def _leaves(node):
    if isinstance(node, _Leaf):
        yield node
    elif isinstance(node, dict):
        for inner in node.values():
            yield from _leaves(inner)


def reverse(call, given, outputs, gradients, wanted):
    """The gradients of the tensors of a call of which they are wanted, from those of its outputs."""
    tensors = [tensor if tensor.is_contiguous() else tensor.detach().contiguous() for tensor in call.laid(given)]
    outputs = {name: output.contiguous() for name, output in zip(call.names, outputs)}
    seeds = {name: gradient.clone(memory_format=torch.contiguous_format) for name, gradient in zip(call.names, gradients)}
    call.unchanged()
    by_value = any(not leaf.is_array and wanted[leaf.index] for leaf in call.leaves)
    ran = None
    if call.on_gpu:
        ran = _torch_gpu.reverse(call, tensors, outputs, seeds, by_value)
    if ran is None:
        tensors, outputs, seeds = (_on_host(tensors), _all_on_host(outputs), _all_on_host(seeds)) if call.on_gpu else (tensors, outputs, seeds)
        ran = _reverse_on_host(call, tensors, outputs, seeds, by_value)
    found, values = ran
    result = [None] * len(given)
    for name, index in call.starts.items():
        # How the result depends on the output as it was before the launch.
        if wanted[index]:
            result[index] = seeds[name].to(given[index].device)
    for leaf in call.leaves:
        tensor = given[leaf.index]
        if not wanted[leaf.index]:
            continue
        if leaf.is_array:
            made = found[leaf.name].to(tensor.device)
            result[leaf.index] = made if leaf.scalar is None else made.reshape(tensor.shape).to(tensor.dtype)
        elif leaf.name in values:
            made = torch.tensor(np.asarray(values[leaf.name]).tolist(), dtype=tensor.dtype, device=tensor.device)
            result[leaf.index] = made.reshape(tensor.shape)
        else:
            text = f"the argument `{leaf.name}` of kernel `{call.kernel.__name__}` has no gradient"
            raise GradientError(f"error[E1103]: {text}", code="E1103", message=text)
    return result


def _reverse_on_host(call, tensors, outputs, seeds, by_value):
    """The gradients of arrays and of values, by name."""
    records = _native.records(call.kernel, [])
    found = _all_zeros({leaf.name: tensors[leaf.index] for leaf in call.leaves if leaf.is_array})
    if records:
        # The launch runs again, with what its derivative needs written down.
        outputs = call.zeros(tensors)
    # Copies of a GPU's are other memory each time.
    form = None if records or call.on_gpu else call.form([(leaf, tensors[leaf.index]) for leaf in call.leaves])
    run = _OnHost(call, tensors, outputs, {**found, **seeds})
    # The launch ran without a look at whether the order of its threads shows in the gradient.
    if not records and (form is None or form not in call.free):
        run.look(form)
    made = _native.gradient(call.kernel, call.dim, run.data({}), run.given, [], parameters=by_value, backward=not records, silent=True)
    return found, values_of(made)


class _Launch(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        found = call.run(tensors)
        ctx.call, ctx.count = call, len(tensors)
        ctx.where = [tensor.device for tensor in found]
        ctx.save_for_backward(*tensors, *found)
        ctx.save_for_forward(*tensors)
        whole = [tensor for tensor in found if not tensor.is_floating_point()]
        ctx.mark_non_differentiable(*whole)
        return tuple(found)

    @staticmethod
    def backward(ctx, *gradients):
        saved, wanted = ctx.saved_tensors, ctx.needs_input_grad[1:]
        if not torch.is_grad_enabled():
            return (None, *reverse(ctx.call, *_parts(ctx.call, ctx.count, (*saved, *gradients)), wanted))
        found = iter(_Gradient.apply(ctx.call, ctx.count, wanted, *saved, *gradients) if any(wanted) else ())
        return (None, *(next(found) if want else None for want in wanted))

    @staticmethod
    def jvp(ctx, _, *tangents):
        call = ctx.call
        found = tangents_of(call, ctx.saved_tensors[: ctx.count], tangents)
        like = dict(zip(call.names, ctx.where))
        return tuple(found[name].to(like[name]) if name in found else None for name in call.names)


class _Gradient(torch.autograd.Function):
    """The gradients of a call's tensors that are wanted, which may be differentiated once more."""

    @staticmethod
    def forward(ctx, call, count, wanted, *given):
        ctx.call, ctx.count, ctx.wanted = call, count, wanted
        ctx.save_for_backward(*given)
        tensors, outputs, gradients = _parts(call, count, given)
        return tuple(one for one, want in zip(reverse(call, tensors, outputs, gradients, wanted), wanted) if want)

    @staticmethod
    def backward(ctx, *directions):
        call, needs = ctx.call, ctx.needs_input_grad[3:]
        tensors, outputs, gradients = _parts(call, ctx.count, ctx.saved_tensors)
        along = iter(directions)
        along = [next(along) if want else None for want in ctx.wanted]
        with torch.no_grad():
            made = tangents_of(call, tensors, along)
            of_gradients = [made[name].to(one.device) if name in made else None for name, one in zip(call.names, gradients)]
            of_tensors = [None] * ctx.count
            if any(needs[: ctx.count]):
                # Second derivatives do not ask which argument was first.
                found = second(call, tensors, outputs, gradients, along, made)
                of_tensors = [one if need else None for one, need in zip(found, needs)]
        found = [*of_tensors, *(None for _ in outputs), *of_gradients]
        if torch.is_grad_enabled():
            given = [*ctx.saved_tensors, *directions]
            found = [None if one is None else _Once.apply(call.kernel.__name__, one, *given) for one in found]
        return (None, None, None, *found)


def _parts(call, count, given):
    """Tensors, outputs, and the gradients of these."""
    return given[:count], given[count : count + len(call.names)], given[count + len(call.names) :]


def second(call, given, outputs, gradients, along, made, gradients_along=None):
    """How the gradients of a call's tensors change along a direction: of the tensors, of its outputs, and of the gradients of these."""
    leaves = call.leaves
    for leaf in leaves:
        if not leaf.is_array and given[leaf.index].is_floating_point() and (given[leaf.index].requires_grad or along[leaf.index] is not None):
            text = f"the gradient of kernel `{call.kernel.__name__}` has no gradient of its own by the value `{leaf.name}`"
            text = f"error[E1103]: {text}\n  = help: give it in an array of one element"
            raise GradientError(text, code="E1103", message=text.splitlines()[0])
    call.unchanged()
    tensors, along = call.laid(given), call.laid(along)
    tangents = {leaf.name: along[leaf.index] for leaf in leaves if leaf.is_array and along[leaf.index] is not None}
    directions = dict(zip(call.names, gradients)), {**tangents, **made}, gradients_along or {}
    found = _torch_gpu.second(call, tensors, outputs, *directions) if call.on_gpu else None
    if found is None:
        found = _second_on_host(call, tensors, outputs, *directions)
    result = [None] * len(given)
    for name, index in [*((leaf.name, leaf.index) for leaf in leaves if leaf.is_array), *call.starts.items()]:
        if name in found:
            result[index] = found[name].to(given[index].device)
    for leaf in leaves:
        if leaf.scalar is not None and result[leaf.index] is not None:
            like = given[leaf.index]
            result[leaf.index] = result[leaf.index].reshape(like.shape).to(like.dtype)
    return result


def _second_on_host(call, tensors, outputs, seeds, tangents, seed_tangents):
    """How the gradients of arrays change, by name."""
    tensors = [tensor.detach().cpu().contiguous() for tensor in tensors]
    values = call.filled(tensors, {name: _view(output.cpu().contiguous()) for name, output in zip(call.names, outputs)})
    found = _derivative.second(call.kernel, call.dim, values, *map(_arrays, (seeds, tangents, seed_tangents)))
    return {name: torch.from_numpy(one) for name, one in found.items()}


def _arrays(tensors):
    """The floats among them, on the host."""
    return {name: as_numpy(one.detach().cpu().contiguous()) for name, one in tensors.items() if one.is_floating_point()}


class _Once(torch.autograd.Function):
    """A derivative that cannot be differentiated again."""

    @staticmethod
    def forward(ctx, kernel, gradient, *given):
        ctx.kernel = kernel
        return gradient.clone()

    @staticmethod
    def backward(ctx, *_):
        text = f"the second derivative of kernel `{ctx.kernel}` has no derivative of its own here"
        raise GradientError(f"error[E1103]: {text}", code="E1103", message=text)


def tangents_of(call, tensors, tangents):
    """The tangents of a call's outputs that are floats, by name, from those of its tensors: on the host, or where the call runs."""
    tensors, tangents = call.laid(tensors), call.laid(tangents)
    call.unchanged()
    if call.on_gpu:
        found = _torch_gpu.forward(call, tensors, tangents)
        if found is not None:
            return found
        tensors = _on_host(tensors)
    along = {}
    for leaf in call.leaves:
        tangent = tangents[leaf.index]
        if tangent is not None and tensors[leaf.index].is_floating_point():
            along[leaf.name] = tangent.detach().cpu().contiguous() if leaf.is_array else tangent.tolist()
    for name, index in call.starts.items():
        if tangents[index] is not None and tensors[index].is_floating_point():
            along[name] = tangents[index].detach().cpu().contiguous()
    outputs = call.zeros(tensors)
    found = call.kernel.jvp(call.dim, *call.filled(tensors, _views(outputs)), tangents=along)
    return {name: _tensor(found[name], outputs[name]) for name in call.names if name in found}


def _tensor(array, like):
    made = torch.empty_like(like)
    as_numpy(made)[...] = array
    return made


from . import _torch_form  # noqa: E402: it needs what is above
