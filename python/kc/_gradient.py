"""Gradients: what a gradient run needs, and what comes of it."""

from __future__ import annotations

import numpy as np

from . import _native
from ._errors import ArgumentError


def grad(kernel, dim, arguments, named, grads) -> dict:
    dim, values = kernel._arguments(dim, *arguments, **named)
    run = _Run(kernel.__name__, dict(grads))
    values = [run.value(name, about, value) for (name, about), value in zip(kernel._parameters(), values)]
    if run.seeds:
        known = ", ".join(f"`{name}`" for name in run.result) or "none"
        unknown = ", ".join(f"`{name}`" for name in run.seeds)
        text = f"kernel `{kernel.__name__}` has no array of floats {unknown}; it has {known}"
        raise ArgumentError(f"error[E1004]: {text}", code="E1004", message=text)
    if not run.seeded:
        text = f"no gradient to start from for kernel `{kernel.__name__}`"
        advice = "say how the result depends on what the kernel writes: grads={'loss': 1.0}"
        raise ArgumentError(f"error[E1004]: {text}\n  = help: {advice}", code="E1004", message=text)
    run.check_copies()
    kernel._gradient((tuple(dim), *values), run.given)
    for original, copy in run.back:
        np.copyto(original, copy)
    return run.result


class _Run:
    def __init__(self, kernel: str, seeds: dict):
        self.kernel = kernel
        self.seeds = seeds
        self.seeded = False
        #: What the compiled half gets, by the array's name.
        self.given = {}
        self.result = {}
        #: Arrays that were copied, and are written back.
        self.back = []
        self.all = []
        self.copied = []

    def value(self, path, about, value):
        """The argument that goes into the run."""
        if "fields" in about:
            get = value.get if isinstance(value, dict) else lambda name: _field(value, name)
            return {name: self.value(f"{path}.{name}", inner, get(name)) for name, inner in about["fields"].items()}
        if "ndim" not in about or value is None:
            return value
        array = as_numpy(value)
        if array is None:
            return value
        self.all.append((path, array, about["writes"]))
        if not about["floats"]:
            return value
        held = getattr(value, "_grad", None) if isinstance(value, _native.Array) else None
        data = array
        if not array.flags.c_contiguous:
            data = np.ascontiguousarray(array)
            self.copied.append((path, array))
            if about["writes"]:
                if not array.flags.writeable:
                    return value
                self.back.append((array, data))
        gradient = np.zeros(data.shape, data.dtype)
        if path in self.seeds:
            self.seeded = True
            self._seed(path, gradient, self.seeds.pop(path))
        self.given[path] = self.result[path] = gradient
        del held
        return data

    def _seed(self, path, gradient, seed):
        seed = as_numpy(seed) if hasattr(seed, "shape") else np.asarray(seed, gradient.dtype)
        if seed is None or seed.shape not in ((), gradient.shape):
            shape = getattr(seed, "shape", None)
            text = f"the gradient given for `{path}` has shape {shape}, and the array {gradient.shape}"
            raise ArgumentError(f"error[E1009]: {text}", code="E1009", message=text)
        if seed.dtype != gradient.dtype:
            text = f"the gradient given for `{path}` is of {seed.dtype}, and the array of {gradient.dtype}"
            raise ArgumentError(f"error[E1005]: {text}", code="E1005", message=text)
        gradient[...] = seed

    def check_copies(self):
        """A copy must not part two arguments that share memory."""
        for path, array in self.copied:
            for other, memory, writes in self.all:
                mine = any(array is original for original, _ in self.back)
                if other != path and (writes or mine) and np.may_share_memory(array, memory):
                    text = f"`{path}` and `{other}` share memory, and `{path}` has gaps: the gradient run works on a copy of it"
                    raise ArgumentError(f"error[E1009]: {text}", code="E1009", message=text)


def _field(value, name):
    if isinstance(value, np.void):
        return value[name]
    return getattr(value, name)


def as_numpy(value):
    """A NumPy array of the same memory. None: it is no array."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, _native.Array):
        return value.numpy()
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return value.detach().numpy()
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        return None
