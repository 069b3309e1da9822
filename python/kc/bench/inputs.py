"""Inputs: nine kinds of numbers that tell right kernels from wrong ones, each from a seed."""

from __future__ import annotations

import numpy as np

#: The kinds of inputs by name, with what each one shows.
KINDS = {
    "rand": ("uniform in [0, 1), as upstream", lambda g, n: g.random(n)),
    "randn": ("normal: both signs", lambda g, n: g.standard_normal(n)),
    "wide": ("10 times normal: saturation and overflow", lambda g, n: 10.0 * g.standard_normal(n)),
    "tiny": ("0.003 times normal: what eps does", lambda g, n: 0.003 * g.standard_normal(n)),
    "high": ("100 + normal: an exponential without its maximum, cancellation", lambda g, n: 100.0 + g.standard_normal(n)),
    "near-one": ("1 + 0.001 normal: products that neither vanish nor explode", lambda g, n: 1.0 + 0.001 * g.standard_normal(n)),
    "negative": ("-rand: maxima below zero", lambda g, n: -g.random(n)),
    "ties": ("whole numbers from -3 to 3: equal elements", lambda g, n: g.integers(-3, 4, n).astype(np.float64)),
    "equal": ("all elements the same", lambda g, n: np.full(n, float(np.float32(g.random() + 0.25)))),
}

#: Those that gradients are compared on: without ties, where a derivative is a convention.
OF_GRADIENTS = ("randn", "wide", "rand")


def generator(*seed):
    """Random numbers that these seeds decide: the same on every machine."""
    return np.random.Generator(np.random.PCG64([abs(int(s)) for s in seed]))


def inputs(task, which, kind, seed, dtype="float32") -> list:
    """The inputs of a task in a set of sizes: arrays, and numbers where the task has them."""
    g = generator(seed, task.seed, list(KINDS).index(kind))
    shapes = task.input_shapes(which)
    # Targets are classes: the columns of the predictions.
    return [_made(one, shape, shapes[0][-1], kind, g, dtype) for one, shape in zip(task.inputs, shapes)]


def _made(one, shape, classes, kind, g, dtype):
    what = one.get("kind", "float")
    if what == "value":
        return one["value"]
    if what == "classes":
        return g.integers(0, classes, shape)
    if what == "mask":
        return g.integers(0, 2, shape).astype(bool)
    if what == "signs":
        return _rounded(g.integers(0, 2, shape) * 2.0 - 1.0, dtype)
    x = KINDS[kind][1](g, shape)
    if what == "symmetric":
        x = (x + x.T) / 2
    elif what == "upper":
        x = np.triu(x)
    elif what == "lower":
        x = np.tril(x)
    elif what == "probabilities":
        e = np.exp(np.clip(x - x.max(axis=-1, keepdims=True), -60, 0))
        x = e / e.sum(axis=-1, keepdims=True)
    return _rounded(x, dtype)


def parameters(task, which, seed, dtype="float32") -> list:
    """Random parameters: of convolutions as PyTorch draws them, of normalisations around 1 (weight)
    and 0 (bias)."""
    g = generator(seed, task.seed, 1000)
    made = []
    for one, shape in zip(task.parameters, task.parameter_shapes(which)):
        if len(shape) > 2 and task.family not in ("norm", "chain") or task.op == "chain" and one["name"].startswith("weight"):
            bound = 1.0 / np.sqrt(np.prod(shape[1:]))
            x = g.uniform(-bound, bound, shape)
        elif one["name"] == "weight":
            x = 1.0 + 0.5 * g.standard_normal(shape)
        else:
            x = 0.5 * g.standard_normal(shape)
        made.append(_rounded(x, dtype))
    return made


def _rounded(x, dtype):
    """In float32; of half floats the nearest one, held in float32."""
    x = np.asarray(x, np.float32)
    if dtype == "float16":
        return x.astype(np.float16).astype(np.float32)
    if dtype == "bfloat16":
        return bfloat16(x)
    return x


def bfloat16(x):
    """The nearest bfloat16 of each float32, ties to even, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    even = ((bits >> 16) & 1) + np.uint32(0x7FFF)
    return ((bits + even) & np.uint32(0xFFFF0000)).view(np.float32)


def tf32(x):
    """The nearest number with 11 significant bits of each float32, as tensor cores round
    factors."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    even = ((bits >> 13) & 1) + np.uint32(0x0FFF)
    return ((bits + even) & np.uint32(0xFFFFE000)).view(np.float32)
