"""What solutions are made of: a model with parameters, and outputs beside their inputs."""

from __future__ import annotations

import math


def empty(shape, like, dtype=None):
    """An array that a kernel will fill, of the same kind as ``like``: a NumPy array or, on the same
    device, a PyTorch tensor or an array of kc.

    ``dtype`` names its type (``"int64"``); absent, it is that of ``like``.
    """
    if _is_tensor(like):
        import torch

        return torch.empty(shape, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)
    import kc

    if isinstance(like, kc.array):
        return kc.empty(shape, dtype=getattr(kc, dtype) if dtype else like.dtype, device=like.device)
    import numpy as np

    return np.empty(shape, dtype or like.dtype)


def full(shape, value, like, dtype=None):
    """The same, with every element ``value``."""
    made = empty(shape, like, dtype)
    made[...] = value
    return made


def zeros(shape, like, dtype=None):
    """The same, with every element zero."""
    return full(shape, 0, like, dtype)


def _is_tensor(value):
    return type(value).__module__.split(".")[0] == "torch"


class Model:
    """A model with parameters, which calls ``forward``.

    Its gradients are those of the kernels that ``forward`` launches (``kc.Tape``): arrays go from kernel to kernel, and what NumPy
    computes between them has none. ``torch()`` makes a module of PyTorch of it.
    """

    def parameter(self, *shape, one=False, zero=False, fan_in=None, normal=False):
        """A parameter of this shape: ones, zeros, normal, or uniform as PyTorch draws it, where an element
        of the result is a sum of ``fan_in`` terms (absent: the product of all extents but the
        first; of one dimension zeros). Parameters are counted in the order in which they are made.
        """
        import numpy as np

        if normal:
            made = np.random.default_rng(42).standard_normal(shape).astype(np.float32)
        elif one or zero or (fan_in is None and len(shape) < 2):
            made = np.full(shape, 1.0 if one else 0.0, np.float32)
        else:
            bound = 1.0 / math.sqrt(fan_in or math.prod(shape[1:]))
            made = np.random.default_rng(42).uniform(-bound, bound, shape).astype(np.float32)
        self.__dict__.setdefault("_parameters", []).append(made)
        return made

    def parameters(self):
        """The parameters in order: arrays that may be assigned to (``p[...] = values``)."""
        return list(self.__dict__.get("_parameters", []))

    def to(self, device):
        """Puts the parameters into the memory of a GPU, as arrays of kc, and gives the model. It
        takes arrays of kc from then on.
        """
        import kc

        places = {id(value): name for name, value in vars(self).items()}
        for n, array in enumerate(self.parameters()):
            self._parameters[n] = kc.array(array, device=device)
            if id(array) in places:
                setattr(self, places[id(array)], self._parameters[n])
        return self

    def torch(self):
        """The model as a ``torch.nn.Module``, which takes and gives tensors of the processor's
        memory. Its parameters are these, in the same memory, and its gradients come from the
        kernels that ``forward`` launches.
        """
        from ._torch import Module

        return Module(self)

    def forward(self, *inputs):
        """What the task computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *inputs):
        return self.forward(*inputs)
