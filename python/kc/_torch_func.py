"""Functions of tensors for ``torch.func``, which asks more of a function than an operator tells: forward mode, and maps of derivatives."""

from __future__ import annotations

import torch

from ._torch_form import FUNCTIONS, read
from ._torch_ops import gradient_batch, keep_name, launch_batch, no_second, second_batch, tangents_batch


class Launch(torch.autograd.Function):
    """The operator for ``torch.func``, which asks more of a function than an operator tells."""

    @staticmethod
    def forward(form, dim, whole, numbers, *tensors):
        return tuple(torch.ops.kc.launch(form, dim, list(tensors), whole, numbers))

    @staticmethod
    def setup_context(ctx, inputs, output):
        form, dim, whole, numbers, *tensors = inputs
        ctx.launch, ctx.count = (form, dim, whole, numbers), len(tensors)
        ctx.save_for_backward(*tensors, *output)
        ctx.save_for_forward(*tensors)
        ctx.mark_non_differentiable(*(tensor for tensor in output if not tensor.is_floating_point()))
        ctx.floats = [tensor.is_floating_point() for tensor in output]

    @staticmethod
    def backward(ctx, *gradients):
        form, dim, whole, numbers = ctx.launch
        tensors, outputs = ctx.saved_tensors[: ctx.count], ctx.saved_tensors[ctx.count :]
        wanted = [need and tensor.is_floating_point() for need, tensor in zip(ctx.needs_input_grad[4:], tensors)]
        seeds = [torch.zeros_like(output) if one is None else one for one, output in zip(gradients, outputs)]
        made = iter(_Gradient.apply(form, dim, whole, numbers, wanted, ctx.count, *tensors, *outputs, *seeds) if any(wanted) else ())
        return None, None, None, None, *(next(made) if want else None for want in wanted)

    @staticmethod
    def jvp(ctx, *tangents):
        form, dim, whole, numbers = ctx.launch
        tensors = ctx.saved_tensors[: ctx.count]
        given = [None if one is None or not tensor.is_floating_point() else one for one, tensor in zip(tangents[4:], tensors)]
        along = [one is not None for one in given]
        found = iter(_Tangents.apply(form, dim, whole, numbers, along, ctx.count, *tensors, *(one for one in given if one is not None)))
        return tuple(next(found) if floats else None for floats in ctx.floats)

    @staticmethod
    def vmap(info, dims, form, dim, whole, numbers, *tensors):
        found, out = launch_batch(info, (None, None, dims[4:]), form, dim, tensors, whole, numbers, _apply_launch)
        return tuple(found), tuple(out)


def _apply_launch(form, dim, tensors, whole, numbers):
    return Launch.apply(form, dim, whole, numbers, *tensors)


class _Gradient(torch.autograd.Function):
    @staticmethod
    def forward(form, dim, whole, numbers, wanted, count, *tensors):
        parts = _three(count, tensors)
        return tuple(torch.ops.kc.gradient(form, dim, parts[0], whole, numbers, *parts[1:], wanted))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.launch, tensors = inputs[:6], inputs[6:]
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx, *directions):
        form, dim, whole, numbers, wanted, count = ctx.launch
        needs = ctx.needs_input_grad[6:]
        tensors, outputs, gradients = _three(count, ctx.saved_tensors)
        found = iter(directions)
        along = [next(found) if want else None for want in wanted]
        has = [one is not None for one in along]
        along = [one for one in along if one is not None]
        of_tensors, of_gradients = [None] * count, [None] * len(gradients)
        if any(has) and any(needs[-len(gradients) :]):
            made = iter(_Tangents.apply(form, dim, whole, numbers, has, count, *tensors, *along))
            of_gradients = [next(made) if one.is_floating_point() else None for one in outputs]
        if any(has) and any(needs[:count]):
            asked = [need and want for need, want in zip(needs, wanted)]
            made = iter(_Second.apply(form, dim, whole, numbers, asked, count, has, *tensors, *outputs, *gradients, *along))
            of_tensors = [next(made) if want else None for want in asked]
        return (None,) * 6 + (*of_tensors, *(None for _ in outputs), *of_gradients)

    @staticmethod
    def jvp(ctx, *tangents):
        form, dim, whole, numbers, wanted, count = ctx.launch
        tensors, outputs, gradients = _three(count, ctx.saved_tensors)
        of_tensors, _, of_gradients = _three(count, tangents[6:])
        has = [one is not None and tensor.is_floating_point() for one, tensor in zip(of_tensors, tensors)]
        along = [one for one, know in zip(of_tensors, has) if know]
        moved = [torch.zeros_like(gradient) if one is None else one for one, gradient in zip(of_gradients, gradients)]
        return tuple(_Second.apply(form, dim, whole, numbers, wanted, count, has, *tensors, *outputs, *gradients, *along, *moved))

    @staticmethod
    def vmap(info, dims, form, dim, whole, numbers, wanted, count, *tensors):
        def apply(form, dim, tensors, whole, numbers, outputs, gradients, wanted):
            return _Gradient.apply(form, dim, whole, numbers, wanted, count, *tensors, *outputs, *gradients)

        given, outputs, gradients = _three(count, tensors)
        places = _three(count, dims[6:])
        places = None, None, places[0], None, None, *places[1:]
        found, out = gradient_batch(info, places, form, dim, given, whole, numbers, outputs, gradients, wanted, apply)
        return tuple(found), tuple(out)


def _three(count, given):
    """Tensors, outputs, and as many gradients of these."""
    tensors, rest = list(given[:count]), list(given[count:])
    return tensors, rest[: len(rest) // 2], rest[len(rest) // 2 :]


class _Last(torch.autograd.Function):
    """A derivative that has none of its own here."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        keep_name(ctx, inputs, output)

    @staticmethod
    def backward(ctx, *_):
        no_second(ctx)

    @staticmethod
    def jvp(ctx, *_):
        no_second(ctx)


class _Tangents(_Last):
    @staticmethod
    def forward(form, dim, whole, numbers, along, count, *tensors):
        return tuple(torch.ops.kc.tangents(form, dim, list(tensors[:count]), whole, numbers, list(tensors[count:]), along))

    @staticmethod
    def vmap(info, dims, form, dim, whole, numbers, along, count, *tensors):
        dims = dims[6:]

        def apply(form, dim, tensors, whole, numbers, tangents, along):
            return _Tangents.apply(form, dim, whole, numbers, along, count, *tensors, *tangents)

        places = None, None, dims[:count], None, None, dims[count:]
        found, out = tangents_batch(info, places, form, dim, tensors[:count], whole, numbers, tensors[count:], along, apply)
        return tuple(found), tuple(out)


class _Second(_Last):
    @staticmethod
    def forward(form, dim, whole, numbers, wanted, count, along, *given):
        tensors, outputs, gradients, tangents, moved = _five(form, count, along, given)
        return tuple(torch.ops.kc.second(form, dim, tensors, whole, numbers, outputs, gradients, wanted, tangents, along, moved))

    @staticmethod
    def vmap(info, dims, form, dim, whole, numbers, wanted, count, along, *given):
        def apply(form, dim, tensors, whole, numbers, outputs, gradients, wanted, tangents, along, moved):
            return _Second.apply(form, dim, whole, numbers, wanted, count, along, *tensors, *outputs, *gradients, *tangents, *moved)

        places = _five(form, count, along, dims[7:])
        places = None, None, places[0], None, None, places[1], places[2], None, places[3], None, places[4]
        tensors, outputs, gradients, tangents, moved = _five(form, count, along, given)
        found, out = second_batch(
            info, places, form, dim, tensors, whole, numbers, outputs, gradients, wanted, tangents, along, moved, apply
        )
        return tuple(found), tuple(out)


def _five(form, count, along, given):
    """Tensors, outputs, gradients of these, tangents of tensors, and tangents of the gradients, if any."""
    given, outputs = list(given), len(FUNCTIONS[read(form)[0].partition("/")[0]].shapes)
    ends = [count, count + outputs, count + 2 * outputs, count + 2 * outputs + sum(along)]
    return [given[start:end] for start, end in zip([0, *ends], [*ends, None])]
