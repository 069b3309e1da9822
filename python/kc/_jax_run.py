"""Launches as operations of JAX, their derivatives, and batches of them.

| operation | operands, behind the block of values, the leaves and the outputs' contents | results |
|---|---|---|
| ``kc_run``, mode ``launch`` | | the outputs |
| ``kc_run``, mode ``backward`` | the outputs and the gradients of those that are floats | the gradients of the inputs ``along`` |
| ``kc_along`` | the outputs, and tangents of the inputs ``along`` | the tangents of the outputs that are floats |
| ``kc_second`` | as backward, then tangents of the inputs ``along``, then those of the gradients | how the gradients of ``along`` change |

Inputs are the leaves and the outputs' contents. ``kc_along`` and ``kc_second`` are linear in the tangents, and are transposed.
"""

from __future__ import annotations

import functools

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from . import _batch
from ._arguments import parameters_of
from ._errors import GradientError
from .jax import _Call, _floats


def _operation(name):
    made = jax.extend.core.Primitive(name)
    made.multiple_results = True
    return made


run, _along, _second = map(_operation, ("kc_run", "kc_along", "kc_second"))


def _is_zero(tangent):
    return isinstance(tangent, (ad.Zero, jax.custom_derivatives.SymbolicZero)) or getattr(tangent, "dtype", None) == jax.dtypes.float0


def _filled(tangents, about):
    """Zeros where there is no tangent."""
    return [jnp.zeros(shape, scalar) if _is_zero(one) else one for one, (_, shape, scalar) in zip(tangents, about)]


def _parts(call, operands, *counts):
    """The block with the inputs, and then so many of each."""
    ends = [1 + len(call.inputs)]
    for count in counts:
        ends.append(ends[-1] + count)
    return [list(operands[start:end]) for start, end in zip([0, *ends], [*ends, None])]


def _error(call, what):
    text = f"{what} of kernel `{call.kernel.__name__}` has no derivative of its own here"
    return GradientError(f"error[E1103]: {text}", code="E1103", message=text)


# What runs.


def _ran(*operands, call, mode, along):
    if mode == "launch":
        return call.run("launch", call.outputs, operands)
    floats = [n for n, one in enumerate(call.inputs) if _floats(one)]
    made = call.run("backward", [call.inputs[n] for n in floats], operands)
    of = dict(zip(floats, made))
    return [of[n] for n in along]


def _tangents(*operands, call, along):
    given, _, tangents = _parts(call, operands, len(call.outputs))
    of = dict(zip(along, tangents))
    leaves = [n for n in along if n < len(call.leaves)]
    moved = [of.get(n, None) for n, one in enumerate(call.inputs) if n >= len(call.leaves) and _floats(one)]
    moved = [jnp.zeros(shape, scalar) if one is None else one for one, (_, shape, scalar) in zip(moved, call.moved)]
    return call.run("forward", call.wanted, [*given, *(of[n] for n in leaves), *moved], tuple(leaves))


def _seconds(*operands, call, along):
    count = len(call.wanted)
    given, found, seeds, tangents, more = _parts(call, operands, len(call.outputs), count, len(along))
    of_outputs = _tangents(*given, *found, *tangents, call=call, along=along)
    of = dict(zip(along, tangents))
    leaves = [of.get(n, None) for n, leaf in enumerate(call.leaves) if _floats(leaf)]
    about = [leaf for leaf in call.leaves if _floats(leaf)]
    leaves = [jnp.zeros(shape, scalar) if one is None else one for one, (_, shape, scalar) in zip(leaves, about)]
    arrays = [n for n, one in enumerate(call.inputs) if _floats(one) and not (n < len(call.leaves) and call.is_value(one))]
    made = call.run("second", [call.inputs[n] for n in arrays], [*given, *found, *seeds, *leaves, *of_outputs, *more])
    made = dict(zip(arrays, made))
    return [made[n] for n in along]


def _shaped(about):
    return [jax.core.ShapedArray(shape, jnp.dtype(scalar)) for _, shape, scalar in about]


run.def_abstract_eval(lambda *_, call, mode, along: _shaped(call.outputs if mode == "launch" else [call.inputs[n] for n in along]))
_along.def_abstract_eval(lambda *_, call, along: _shaped(call.wanted))
_second.def_abstract_eval(lambda *_, call, along: _shaped([call.inputs[n] for n in along]))

#: JAX compiles calls outside of `jax.jit`, too. Each form is compiled once.
run.def_impl(jax.jit(_ran, static_argnames=("call", "mode", "along")))
_along.def_impl(jax.jit(_tangents, static_argnames=("call", "along")))
_second.def_impl(jax.jit(_seconds, static_argnames=("call", "along")))

for _one, _how in ((run, _ran), (_along, _tangents), (_second, _seconds)):
    mlir.register_lowering(_one, mlir.lower_fun(_how, multiple_results=True))

from . import _jax_gpu  # noqa: E402: it needs what is above

for _one, _how in ((run, _jax_gpu.ran), (_along, _jax_gpu.tangents)):
    mlir.register_lowering(_one, mlir.lower_fun(_how, multiple_results=True), platform="cuda")


# Derivatives.


def _forward(operands, tangents, *, call, mode, along):
    if mode == "backward":
        return _forward_of_backward(operands, tangents, call, along)
    found = run.bind(*operands, call=call, mode="launch", along=())
    moves = tuple(n for n, (one, tangent) in enumerate(zip(call.inputs, tangents[1:])) if _floats(one) and not _is_zero(tangent))
    made = iter(_along.bind(*operands, *found, *(tangents[1 + n] for n in moves), call=call, along=moves) if moves and call.wanted else ())
    return found, [_tangent(output, made) for output in call.outputs]


def _tangent(output, made):
    _, shape, scalar = output
    if not _floats(output):
        return np.zeros(shape, jax.dtypes.float0)
    found = next(made, None)
    return jnp.zeros(shape, scalar) if found is None else found


def _forward_of_backward(operands, tangents, call, along):
    """The outputs change with the inputs, so that their own tangents tell nothing more."""
    count = len(call.wanted)
    found = run.bind(*operands, call=call, mode="backward", along=along)
    of_inputs, _, of_seeds = _parts(call, tangents, len(call.outputs))
    moves = [n for n, one in enumerate(of_inputs[1:]) if _floats(call.inputs[n]) and not _is_zero(one)]
    floats = tuple(sorted({*moves, *along}))
    if any(n < len(call.leaves) and call.is_value(call.inputs[n]) for n in floats):
        return _of_one(operands, tangents, call, along)
    given, outputs, seeds = _parts(call, operands, len(call.outputs))
    assert len(seeds) == count
    along_inputs = _filled([of_inputs[1 + n] for n in floats], [call.inputs[n] for n in floats])
    made = _second.bind(*given, *outputs, *seeds, *along_inputs, *_filled(of_seeds, call.wanted), call=call, along=floats)
    of = dict(zip(floats, made))
    return found, [of[n] for n in along]


def _of_one(operands, tangents, call, along):
    """The same for a batch of one, in which values are elements of arrays, and have second derivatives."""
    one = _call_of_batch(run, call, [None, *(0 for _ in operands[1:])], along, "backward", 1)
    if one is None:
        raise _error(call, "the derivative by a value")
    wide = lambda first, *rest: [first, *(item if _is_zero(item) else jnp.expand_dims(item, 0) for item in rest)]
    found, moved = _forward_of_backward(wide(*operands), wide(*tangents), one[0], along)
    return [item[0] for item in found], [item[0] for item in moved]


ad.primitive_jvps[run] = _forward


def _transposed(gradients, *operands, call, along):
    given, found, tangents = _parts(call, operands, len(call.outputs))
    wanted = tuple(n for n, tangent in zip(along, tangents) if ad.is_undefined_primal(tangent))
    made = run.bind(*given, *found, *_filled(gradients, call.wanted), call=call, mode="backward", along=wanted)
    of = dict(zip(wanted, made))
    return [None] * (len(given) + len(found)) + [of.get(n) for n in along]


def _transposed_second(gradients, *operands, call, along):
    """Second derivatives do not ask which argument was first: those by the inputs are their own transpose."""
    count = len(call.wanted)
    given, found, seeds, tangents, more = _parts(call, operands, len(call.outputs), count, len(along))
    directions = _filled(gradients, [call.inputs[n] for n in along])
    zeros = [jnp.zeros(shape, scalar) for _, shape, scalar in call.wanted]
    of_inputs, of_seeds = [None] * len(tangents), [None] * count
    if any(map(ad.is_undefined_primal, tangents)):
        of_inputs = _second.bind(*given, *found, *seeds, *directions, *zeros, call=call, along=along)
    if any(map(ad.is_undefined_primal, more)):
        of_seeds = _along.bind(*given, *found, *directions, call=call, along=along)
    pick = lambda made, of: [one if ad.is_undefined_primal(tangent) else None for one, tangent in zip(made, of)]
    return [None] * (len(given) + len(found) + count) + pick(of_inputs, tangents) + pick(of_seeds, more)


def _linear(operation, first, what):
    """The derivative of what is linear is itself; of the other operands there is none here."""

    def rule(operands, tangents, *, call, along):
        start = first(call)
        if not all(map(_is_zero, tangents[:start])):
            return differentiated(operands, tangents, start, call, along)
        made = operation.bind(*operands, call=call, along=along)
        filled = [jnp.zeros_like(number) if _is_zero(one) else one for number, one in zip(operands[start:], tangents[start:])]
        return made, operation.bind(*operands[:start], *filled, call=call, along=along)

    def differentiated(operands, tangents, start, call, along):
        raise _error(call, what)

    return rule


ad.primitive_jvps[_along] = _linear(_along, lambda call: 1 + len(call.inputs) + len(call.outputs), "the derivative in forward mode")
ad.primitive_jvps[_second] = _linear(
    _second, lambda call: 1 + len(call.inputs) + len(call.outputs) + len(call.wanted), "the second derivative"
)
ad.primitive_transposes[_along] = _transposed
ad.primitive_transposes[_second] = _transposed_second


# Batches.


def _batched(operation, operands, dims, *, call, along, **options):
    size = next(operand.shape[dim] for operand, dim in zip(operands, dims) if dim is not None)
    one = _call_of_batch(operation, call, dims, along, options.get("mode"), size)
    if one is None:
        return _in_turn(operation, operands, dims, call=call, along=along, **options)
    made, has = one
    given = [_first(operand, dim, size, wanted) for operand, dim, wanted in zip(operands, dims, has)]
    found = operation.bind(*given, call=made, along=along, **options)
    return found, [0] * len(found)


def _first(operand, dim, size, wanted):
    """With the dimension of the batch first, where that is wanted."""
    if dim is not None:
        return jnp.moveaxis(operand, dim, 0)
    return jnp.broadcast_to(operand, (size, *jnp.shape(operand))) if wanted else operand


def _call_of_batch(operation, call, dims, along, mode, size):
    """The call that is the launch of a batch, and which operands have its dimension. None: there is none."""
    if dims[0] is not None or not size:
        return None
    inputs, count = len(call.inputs), len(call.outputs)
    given, rest = dims[1 : 1 + inputs], dims[1 + inputs :]
    moves = set() if mode == "launch" else set(along)
    if mode == "backward" or operation is _second:
        # Each example has gradients of its own.
        moves |= {n for n, one in enumerate(call.inputs) if _floats(one)}
    leaves = [n for n in range(len(call.leaves)) if given[n] is not None or n in moves]
    about = parameters_of(call.kernel)
    if any(len(call.leaves[n][0]) > 1 for n in leaves) or any(len(output[0]) > 1 for output in call.outputs):
        return None
    names = {about[call.leaves[n][0][0]][0]: n for n in leaves}
    outputs = {about[path[0]][0] for path, _, _ in call.outputs}
    kernel = _batch.batched(call.kernel, {*names, *outputs}, len(call.dim), behind=True)
    if kernel is None:
        return None
    behind = sorted(name for name, n in names.items() if call.is_value(call.leaves[n]))
    more = lambda path, shape, scalar: (path, (size, *shape), scalar)
    made = list(call.leaves)
    for name, n in names.items():
        path, shape, scalar = call.leaves[n]
        made[n] = more((len(about) + behind.index(name),) if name in behind else path, shape, scalar)
    made = _Call(kernel, (size, *call.dim), tuple(made), tuple(more(*output) for output in call.outputs), call.starts)
    has = [False, *(n in leaves for n in range(len(call.leaves))), *(True for _ in call.starts), *(True for _ in rest)]
    assert len(rest) >= (0 if mode == "launch" else count)
    return made, has


def _in_turn(operation, operands, dims, **options):
    """One example after the other."""
    mapped = [jnp.moveaxis(operand, dim, 0) for operand, dim in zip(operands, dims) if dim is not None]

    def one(parts):
        parts = iter(parts)
        return operation.bind(*(operand if dim is None else next(parts) for operand, dim in zip(operands, dims)), **options)

    found = jax.lax.map(one, mapped)
    return found, [0] * len(found)


for _one in (run, _along, _second):
    batching.primitive_batchers[_one] = functools.partial(_batched, _one)
