"""A `kc.bench.Model` inside PyTorch: gradients of what its kernels compute, for inputs and parameters."""

from __future__ import annotations

import numpy as np
import torch

import kc


class _Call(torch.autograd.Function):
    """One call of a model; its tape is what backward needs."""

    @staticmethod
    def forward(ctx, model, count, *tensors):
        given = [value.detach() if isinstance(value, torch.Tensor) else value for value in tensors[:count]]
        arrays = [value.numpy() if isinstance(value, torch.Tensor) else value for value in given]
        with kc.Tape() as tape:
            result = model.forward(*arrays)
        if not isinstance(result, np.ndarray):
            raise TypeError(f"{type(model).__name__}.forward gives a {type(result).__name__}: a result is an array")
        ctx.tape, ctx.result = tape, result
        ctx.asked = [value if isinstance(value, np.ndarray) and value.dtype.kind == "f" else None for value in arrays]
        ctx.asked += model.parameters()
        # What is remembered stays as it is: a change would be a wrong gradient.
        ctx.versions = [(t, t._version) for t in tensors if isinstance(t, torch.Tensor)]
        return torch.from_numpy(result.copy())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        for tensor, version in ctx.versions:
            if tensor._version != version:
                raise RuntimeError("an input or a parameter of the model was changed in place between its call and backward")
        ctx.tape.zero()
        dy = np.ascontiguousarray(dy.detach().numpy()).astype(ctx.result.dtype, copy=False).reshape(ctx.result.shape)
        ctx.tape.backward(grads=[(ctx.result, dy)])
        found = [
            torch.from_numpy(np.array(ctx.tape.gradient(array, allow_unused=True))) if array is not None and needed else None
            for array, needed in zip(ctx.asked, ctx.needs_input_grad[2:])
        ]
        return None, None, *found


class Module(torch.nn.Module):
    """A model as a module. Its parameters are those of the model, in the same memory, so that an
    optimizer's step changes both; gradients come from the kernels of ``forward``. It lives in the
    processor's memory."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        for name, array in _named(model):
            self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(array)))

    def forward(self, *inputs):
        for value in inputs:
            if isinstance(value, torch.Tensor) and value.device.type != "cpu":
                raise ValueError(f"an input is on {value.device}: a model of kc.bench takes tensors of the processor's memory")
        parameters = list(self.parameters())
        for parameter, array in zip(parameters, self.model.parameters()):
            # `to`, `load_state_dict(assign=True)` and the like put another tensor there.
            if parameter.data_ptr() != array.ctypes.data:
                raise ValueError("a parameter is in other memory than the model's: copy values into it (`p.copy_(values)`), and keep it where it is")
        return _Call.apply(self.model, len(inputs), *inputs, *parameters)


def _named(model):
    """The parameters in their order, with the names that the model has for them."""
    names = {id(value): name for name, value in vars(model).items()}
    return [(names.get(id(array), f"parameter{n}"), array) for n, array in enumerate(model.parameters())]
