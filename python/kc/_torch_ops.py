"""Functions of tensors as operators of PyTorch: ``torch.compile``, ``torch.export`` and ``torch.func`` see one operator, ``kc::launch``.

Its derivatives are operators too, and ``torch.func.vmap`` of all is one launch where kc has the kernel of a batch (``_batch``). They
need PyTorch 2.4.
"""

from __future__ import annotations

import torch

from ._arguments import parameters_of
from ._errors import GradientError
from ._function import _given, _shape, named_arguments
from ._torch_form import HAS_OPERATORS, TRACED, Called, arguments_of, of_batch, read, standing

# Launches.


def _launch(form, dim, tensors, whole, numbers):
    call, leaves = Called(form, dim, tensors, whole, numbers).prepared()
    return call.run(leaves)


def _launch_shapes(form, dim, tensors, whole, numbers):
    call = Called(form, dim, tensors, whole, numbers, like=True)
    function = call.function
    about = dict(parameters_of(function.kernel))
    given = named_arguments(function.kernel.__name__, list(about), function.shapes, call.arguments, call.named)
    given.pop("block_dim", None)
    starts = {name: given.pop(name) for name in function.shapes if name in given}
    arrays = [one for name, kind in about.items() if name in given for one in _given(name, kind, given[name])]
    device = next((one.device for one in arrays if isinstance(one, torch.Tensor) and one.is_cuda), "cpu")
    made = []
    for name, shape in function.shapes.items():
        if name in starts:
            made.append(torch.empty_like(starts[name], memory_format=torch.contiguous_format))
        else:
            shape = _shape(about[name], shape, call.dim, given)
            made.append(torch.empty(shape, dtype=getattr(torch, about[name]["scalar"]), device=device))
    return made


def _keep(ctx, inputs, output):
    form, dim, tensors, whole, numbers = inputs
    ctx.launch, ctx.count = (form, dim, whole, numbers), len(tensors)
    ctx.save_for_backward(*tensors, *output)


def _backward(ctx, gradients):
    form, dim, whole, numbers = ctx.launch
    tensors, outputs = list(ctx.saved_tensors[: ctx.count]), list(ctx.saved_tensors[ctx.count :])
    wanted = [need and tensor.is_floating_point() for need, tensor in zip(ctx.needs_input_grad[2], tensors)]
    seeds = [torch.zeros_like(output) if one is None else one for one, output in zip(gradients, outputs)]
    made = iter(torch.ops.kc.gradient(form, dim, tensors, whole, numbers, outputs, seeds, wanted) if any(wanted) else ())
    found = [next(made) if want else None for want in wanted]
    return None, None if dim else [], found, None if whole else [], None if numbers else []


def _ordered(form, dim, tensors, whole, numbers):
    """A call, its tensors in the order of the parameters, and the place of each among those that the operator has."""
    call, leaves = Called(form, dim, tensors, whole, numbers).prepared()
    # One tensor may be given for several arguments, each with a derivative of its own.
    places = {}
    for n, tensor in enumerate(tensors):
        places.setdefault(id(tensor), []).append(n)
    return call, leaves, [places[id(leaf)].pop(0) for leaf in leaves]


def _gradient(form, dim, tensors, whole, numbers, outputs, gradients, wanted):
    from .torch import reverse

    call, leaves, order = _ordered(form, dim, tensors, whole, numbers)
    call.made_before(outputs)
    found = dict(zip(order, reverse(call, leaves, outputs, gradients, [wanted[n] for n in order])))
    return [found[n] for n, want in enumerate(wanted) if want]


def _gradient_shapes(form, dim, tensors, whole, numbers, outputs, gradients, wanted):
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor, want in zip(tensors, wanted) if want]


def keep_name(ctx, inputs, output):
    ctx.name = inputs[0].partition("|")[0].rpartition(".")[2]


def no_second(ctx, *_):
    text = f"this derivative of kernel `{ctx.name}` has no derivative of its own here"
    raise GradientError(f"error[E1103]: {text}", code="E1103", message=text)


def _tangents(form, dim, tensors, whole, numbers, tangents, along):
    """The tangents of the outputs that are floats. Tensors that change along a direction have one among ``tangents``."""
    call, leaves, order = _ordered(form, dim, tensors, whole, numbers)
    found = iter(tangents)
    given = [next(found) if one else None for one in along]
    from .torch import tangents_of

    where = {name: tensor.device for name, tensor in call.made.items()}
    call.made_before([call.made[name] for name in call.names])
    found = tangents_of(call, leaves, [given[n] for n in order])
    return [found[name].to(where[name]) for name in call.names if name in found]


def _tangents_shapes(form, dim, tensors, whole, numbers, tangents, along):
    return [one for one in _launch_shapes(form, dim, tensors, whole, numbers) if one.is_floating_point()]


def _second(form, dim, tensors, whole, numbers, outputs, gradients, wanted, tangents, along, moved):
    """How the gradients that ``kc::gradient`` gives change along tangents of some of the tensors, and of the outputs' gradients
    (``moved``, or none).
    """
    from .torch import second, tangents_of

    call, leaves, order = _ordered(form, dim, tensors, whole, numbers)
    call.made_before(outputs)
    found = iter(tangents)
    given = [next(found) if one else None for one in along]
    given = [given[n] for n in order]
    made = tangents_of(call, leaves, given)
    found = second(call, leaves, outputs, gradients, given, made, dict(zip(call.names, moved)))
    found = dict(zip(order, found))
    return [found[n] for n, want in enumerate(wanted) if want]


def _second_shapes(form, dim, tensors, whole, numbers, outputs, gradients, wanted, tangents, along, moved):
    return _gradient_shapes(form, dim, tensors, whole, numbers, outputs, gradients, wanted)


# Batches.


def _moved(tensors, dims, size, all_of=()):
    """The tensors with the dimension of the batch first, and which of them have it; all those of ``all_of`` have."""
    moved, has = [], []
    for n, (tensor, dim) in enumerate(zip(tensors, dims)):
        if dim is None and n in all_of:
            tensor, dim = tensor.expand(size, *tensor.shape), 0
        moved.append(tensor if dim is None else tensor.movedim(dim, 0))
        has.append(dim is not None)
    return moved, has


def _batched_form(form, dim, tensors, has, whole, numbers):
    """What the launch of a batch is called, and its tensors. None: there is none."""
    key, _, tree = read(form)
    examples = [tensor.select(0, 0) if one and len(tensor) else tensor for tensor, one in zip(tensors, has)]
    if "/" in key or any(one and not len(tensor) for tensor, one in zip(tensors, has)):
        return None
    call = Called(form, dim, examples, whole, numbers, like=True)
    names, starts = set(), []
    for name, node in call.by_name().items():
        inside = list(_tensors(node))
        if node[0] != "t" and any(has[n] for n in inside):
            return None
        if node[0] == "t" and (has[node[1]] or name in call.function.shapes):
            names.add(name)
            starts += [] if has[node[1]] else [node[1]]
    if not names:
        return None
    size = next(len(tensor) for tensor, one in zip(tensors, has) if one)
    tensors = [tensor.expand(size, *tensor.shape) if n in starts else tensor for n, tensor in enumerate(tensors)]
    made = f"{key}/{','.join(sorted(names))}|t|{form.rsplit('|', 1)[1]}"
    shapes = arguments_of(tree, [standing(tensor) for tensor in tensors], whole, numbers)
    if of_batch(TRACED[key], frozenset(names), (size, *dim), *shapes) is None:
        return None
    return made, tensors


def _tensors(node):
    kind, what = node
    if kind == "t":
        yield what
    elif kind in "({":
        for _, inner in what:
            yield from _tensors(inner)


def launch_batch(info, dims, form, dim, tensors, whole, numbers, run=None):
    run, size = run or torch.ops.kc.launch, info.batch_size
    if not size:
        examples = [tensor if at is None else tensor.new_empty(tensor.movedim(at, 0).shape[1:]) for tensor, at in zip(tensors, dims[2])]
        found = [one.new_empty((0, *one.shape)) for one in _launch_shapes(form, dim, examples, whole, numbers)]
        return found, [0] * len(found)
    moved, has = _moved(tensors, dims[2], size)
    one = _batched_form(form, dim, moved, has, whole, numbers)
    if one is not None:
        found = run(one[0], [size, *dim], one[1], whole, numbers)
    else:
        runs = [run(form, dim, _nth(moved, has, n), whole, numbers) for n in range(size)]
        found = [torch.stack(parts) for parts in zip(*runs)]
    return found, [0] * len(found)


def gradient_batch(info, dims, form, dim, tensors, whole, numbers, outputs, gradients, wanted, run=None):
    run, size = run or torch.ops.kc.gradient, info.batch_size
    # What has a gradient has one for each example.
    moved, has = _moved(tensors, dims[2], size, [n for n, want in enumerate(wanted) if want])
    outputs, _ = _moved(outputs, dims[5], size, range(len(outputs)))
    gradients, _ = _moved(gradients, dims[6], size, range(len(gradients)))
    if not size:
        found = [tensor.new_empty(tensor.shape) for tensor, want in zip(moved, wanted) if want]
        return found, [0] * len(found)
    one = _batched_form(form, dim, moved, has, whole, numbers)
    if one is not None:
        found = run(one[0], [size, *dim], one[1], whole, numbers, outputs, gradients, wanted)
    else:
        runs = [
            run(form, dim, _nth(moved, has, n), whole, numbers, [o[n] for o in outputs], [g[n] for g in gradients], wanted)
            for n in range(size)
        ]
        found = [torch.stack(parts) for parts in zip(*runs)]
    return found, [0] * len(found)


def tangents_batch(info, dims, form, dim, tensors, whole, numbers, tangents, along, run=None):
    run, size = run or torch.ops.kc.tangents, info.batch_size
    moved, has = _moved(tensors, dims[2], size, [n for n, one in enumerate(along) if one])
    tangents, _ = _moved(tangents, dims[5], size, range(len(tangents)))
    if not size:
        examples = [tensor.new_empty(tensor.shape[1:]) if one else tensor for tensor, one in zip(moved, has)]
        found = [one.new_empty((0, *one.shape)) for one in _tangents_shapes(form, dim, examples, whole, numbers, (), ())]
        return found, [0] * len(found)
    one = _batched_form(form, dim, moved, has, whole, numbers)
    if one is not None:
        found = run(one[0], [size, *dim], one[1], whole, numbers, tangents, along)
    else:
        runs = [run(form, dim, _nth(moved, has, n), whole, numbers, [t[n] for t in tangents], along) for n in range(size)]
        found = [torch.stack(parts) for parts in zip(*runs)]
    return found, [0] * len(found)


def second_batch(info, dims, form, dim, tensors, whole, numbers, outputs, gradients, wanted, tangents, along, moved, run=None):
    run, size = run or torch.ops.kc.second, info.batch_size
    given, has = _moved(tensors, dims[2], size, [n for n, either in enumerate(zip(wanted, along)) if any(either)])
    outputs, gradients, tangents, moved = (
        _moved(some, where, size, range(len(some)))[0]
        for some, where in zip((outputs, gradients, tangents, moved), (dims[5], dims[6], dims[8], dims[10]))
    )
    if not size:
        found = [tensor.new_empty(tensor.shape) for tensor, want in zip(given, wanted) if want]
        return found, [0] * len(found)
    one = _batched_form(form, dim, given, has, whole, numbers)
    if one is not None:
        found = run(one[0], [size, *dim], one[1], whole, numbers, outputs, gradients, wanted, tangents, along, moved)
    else:
        parts = lambda some, n: [one[n] for one in some]
        runs = [
            run(
                form, dim, _nth(given, has, n), whole, numbers, parts(outputs, n), parts(gradients, n), wanted, parts(tangents, n), along,
                parts(moved, n),
            )
            for n in range(size)
        ]
        found = [torch.stack(parts) for parts in zip(*runs)]
    return found, [0] * len(found)


def _nth(tensors, has, n):
    return [tensor[n] if one else tensor for tensor, one in zip(tensors, has)]


def _register():
    given = "str form, SymInt[] dim, Tensor[] tensors, SymInt[] whole, float[] numbers"
    reverse = f"{given}, Tensor[] outputs, Tensor[] gradients, bool[] wanted"
    forward = "Tensor[] tangents, bool[] along"
    made = []
    for name, run, arguments, shapes, batch, rule in (
        ("launch", _launch, given, _launch_shapes, launch_batch, (_backward, _keep)),
        ("gradient", _gradient, reverse, _gradient_shapes, gradient_batch, (no_second, keep_name)),
        ("tangents", _tangents, f"{given}, {forward}", _tangents_shapes, tangents_batch, (no_second, keep_name)),
        ("second", _second, f"{reverse}, {forward}, Tensor[] moved", _second_shapes, second_batch, (no_second, keep_name)),
    ):
        one = torch.library.custom_op(f"kc::{name}", run, mutates_args=(), schema=f"({arguments}) -> Tensor[]")
        one.register_fake(shapes)
        one.register_autograd(rule[0], setup_context=rule[1])
        one.register_vmap(batch)
        made.append(one)
    return made


OPERATORS = _register() if HAS_OPERATORS else []
