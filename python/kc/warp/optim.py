"""Optimisers of arrays: ``wp.optim.Adam([x], lr=0.01).step([x.grad])``."""

from __future__ import annotations

import sys

import numpy as np

from .. import _array, _device, _types
from .._arguments import as_memory, as_numpy
from .._tape import unrecorded
from ._launches import done
from . import _linear as linear

#: `import kc.warp.optim.linear`
sys.modules[f"{__name__}.linear"] = linear


class _Optimizer:
    def __init__(self, params):
        self.set_params(params)

    def set_params(self, params):
        """What is optimised: arrays of floats."""
        self.params = None if params is None else list(params)
        arrays = [as_memory(param) for param in self.params or ()]
        for array in arrays:
            if array is None or array.dtype.kind != "f":
                raise TypeError("an optimiser changes arrays of floats")
        self._state = [(self._zeros_like(array), self._zeros_like(array)) for array in arrays]
        self.t = 0

    @staticmethod
    def _zeros_like(memory):
        return _device.zeros(_device.place_of(memory), memory.shape, memory.dtype)

    def reset_internal_state(self):
        self.set_params(self.params)

    def step(self, grad):
        """Changes the parameters along their gradients."""
        unrecorded("the step of an optimiser")
        done(lambda: self._step(grad))

    def _step(self, grad):
        if self.params is None or len(grad) != len(self.params):
            raise ValueError(f"{len(grad)} gradients for {len(self.params or ())} parameters")
        for param, gradient, state in zip(self.params, grad, self._state):
            param, gradient = as_memory(param), as_memory(gradient)
            if gradient is None or gradient.shape != param.shape:
                raise ValueError("a gradient has the shape of its parameter")
            if _device.is_far(param):
                self._launch(*(_numbers(one) for one in (param, gradient, *state)))
            else:
                self._update(param, as_numpy(gradient), *state)
        self.t += 1


def _numbers(memory):
    """An array on a GPU as numbers in a row, of the same memory."""
    if not memory.flags.c_contiguous:
        raise _device.refused("an optimiser changes arrays without gaps on a GPU", "give it the whole array")
    return _array._wrap(memory.reshape(-1), _types.scalar_of(memory.dtype), False)


class Adam(_Optimizer):
    """Adam (Kingma and Ba, 2015)."""

    def __init__(self, params=None, lr=0.001, betas=(0.9, 0.999), eps=1e-08):
        self.lr, self.beta1, self.beta2, self.eps = lr, *betas, eps
        super().__init__(params)

    @staticmethod
    def _zeros_like(memory):
        # As in Warp: squares of small gradients are 0 in float16.
        return _device.zeros(_device.place_of(memory), memory.shape, np.promote_types(memory.dtype, np.float32))

    def _update(self, param, gradient, mean, square):
        gradient = gradient.astype(mean.dtype, copy=False)
        mean += (1.0 - self.beta1) * (gradient - mean)
        square += (1.0 - self.beta2) * (gradient * gradient - square)
        step = mean / (1.0 - self.beta1 ** (self.t + 1))
        step = self.lr * step / (np.sqrt(square / (1.0 - self.beta2 ** (self.t + 1))) + self.eps)
        param -= step.astype(param.dtype, copy=False)

    def _launch(self, param, gradient, mean, square):
        from ._optimizer_kernels import adam

        scales = [1.0 - beta ** (self.t + 1) for beta in (self.beta1, self.beta2)]
        numbers = [mean.dtype(x) for x in (self.lr, self.beta1, self.beta2, self.eps, *scales)]
        adam(param.size, param, gradient, mean, square, *numbers)


class SGD(_Optimizer):
    """Gradient descent, with momentum."""

    def __init__(self, params=None, lr=0.001, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov
        super().__init__(params)

    def _update(self, param, gradient, velocity, _):
        gradient = gradient + self.weight_decay * param
        if self.momentum:
            if self.t == 0:
                velocity[...] = gradient
            else:
                velocity *= self.momentum
                velocity += (1.0 - self.dampening) * gradient
            gradient = gradient + self.momentum * velocity if self.nesterov else velocity
        param -= self.lr * gradient

    def _launch(self, param, gradient, velocity, _):
        from ._optimizer_kernels import sgd

        numbers = [param.dtype(x) for x in (self.lr, self.momentum, self.dampening, self.weight_decay)]
        sgd(param.size, param, gradient, velocity, *numbers, int(self.nesterov), int(self.t == 0))
