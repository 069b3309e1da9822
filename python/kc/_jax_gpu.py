"""Launches of JAX on a GPU: the kernel reads numbers there, where XLA has them, and nothing waits for them.

Of a kernel with numbers among its parameters there is one that reads them from arrays of one element (``_batch.reading``). The numbers that
a call was given as Python's are cut out of its block of values.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from . import _batch, _jax_run, _native
from ._arguments import parameters_of
from .jax import _Call


class _There:
    """A call whose numbers are in arrays of one element."""

    def __init__(self, call, kernel, places):
        self.count = len(call.leaves)
        known = {leaf[0][0] for leaf in call.leaves if len(leaf[0]) == 1}
        #: Where the numbers that no leaf holds are in the block: parameter, offset, bytes, type and shape.
        self.cut = [place for place in places if place[0] not in known]
        numbers = {place[0] for place in places}
        self.is_number = [len(path) == 1 and path[0] in numbers for path, _, _ in call.leaves]
        leaves = [(path, (1, *shape) if number else shape, scalar) for number, (path, shape, scalar) in zip(self.is_number, call.leaves)]
        leaves += [((n,), (1, *shape), scalar) for n, _, _, scalar, shape in self.cut]
        self.call = _Call(kernel, call.dim, tuple(leaves), call.outputs, call.starts)
        # Nothing is left in it.
        self.block = np.frombuffer(_native.xla_block(kernel, [None] * len(parameters_of(kernel))), np.uint8)

    def operands(self, operands):
        block, *rest = operands
        leaves = [one[None] if number else one for number, one in zip(self.is_number, rest)]
        return [self.block, *leaves, *(_cut(block, *place[1:]) for place in self.cut), *rest[self.count :]]

    def along(self, along):
        return tuple(n if n < self.count else n + len(self.cut) for n in along)

    def is_one(self, n):
        return n < self.count and self.is_number[n]


def _cut(block, offset, size, scalar, shape):
    part, wanted = block[offset : offset + size], jnp.dtype(scalar)
    if wanted == jnp.bool_:
        return (part != 0).reshape(1, *shape)
    width = wanted.itemsize
    return jax.lax.bitcast_convert_type(part.reshape(-1, width) if width > 1 else part, wanted).reshape(1, *shape)


def _there(call) -> _There | None:
    """None: its numbers are read by the host."""
    if "_there" not in call.__dict__:
        call._there = _made(call)
    return call._there


def _made(call):
    about, places = parameters_of(call.kernel), []
    for n, (name, kind) in enumerate(about):
        if "ndim" in kind:
            continue
        wanted = None if "fields" in kind or kind["scalar"] in (None, "uint64") else jnp.dtype(kind["scalar"])
        if wanted is None or wanted.itemsize == 8 and not jax.config.jax_enable_x64:
            return None
        places.append((n, *_native.xla_place(call.kernel, n), kind["scalar"], tuple(kind["shape"])))
    kernel = _batch.reading(call.kernel, [about[place[0]][0] for place in places]) if places else None
    return None if kernel is None else _There(call, kernel, places)


def ran(*operands, call, mode, along):
    there = _there(call)
    if there is None:
        return _jax_run._ran(*operands, call=call, mode=mode, along=along)
    found = _jax_run._ran(*there.operands(operands), call=there.call, mode=mode, along=there.along(along))
    return found if mode == "launch" else [one[0] if there.is_one(n) else one for n, one in zip(along, found)]


def tangents(*operands, call, along):
    there = _there(call)
    if there is None:
        return _jax_run._tangents(*operands, call=call, along=along)
    count = len(operands) - len(along)
    moved = [one[None] if there.is_one(n) else one for n, one in zip(along, operands[count:])]
    return _jax_run._tangents(*there.operands(operands[:count]), *moved, call=there.call, along=there.along(along))
