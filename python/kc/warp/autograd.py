"""Jacobians of kernels and of functions that launch them, by gradients and by differences: ``wp.autograd.gradcheck(k, n, [x], [y])``.

All of them work on copies: what is given stays as it is.
"""

from __future__ import annotations

import inspect

import numpy as np

from .._arguments import as_numpy, parameters_of
from .._kernel import Kernel
from ._arrays import array, clone
from ._launches import Tape, launch

__all__ = ["gradcheck", "jacobian", "jacobian_fd"]


def jacobian(
    function, dim=None, inputs=None, outputs=None, input_output_mask=None, device=None, max_blocks=0, block_dim=None,
    max_outputs_per_var=-1, plot_jacobians=False, metadata=None, restore_inputs=True,
) -> dict:
    """How each output depends on each input, by gradients: matrices by the places of input and output, a row for each number of the
    output. Arrays with ``requires_grad`` count, and all that a function gives back.
    """
    run = _Run(function, dim, inputs, outputs, input_output_mask, block_dim)
    _all(max_outputs_per_var, plot_jacobians)
    # A tape would record copies, too.
    given, results = run.copies()
    with Tape() as tape:
        made = run.once(given, results)
    found = {}
    for j, output in enumerate(made):
        pairs = [(i, given[i]) for i in run.inputs if run.wants(i, j, output)]
        rows = {i: np.zeros((_numbers(output).size, _numbers(one).size), _numbers(one).dtype) for i, one in pairs}
        for row in range(_numbers(output).size if pairs else 0):
            seed = np.zeros(output.numpy().shape, output.numpy().dtype)
            seed.reshape(-1)[row] = 1
            tape.zero()
            tape.backward(grads=[(output, seed)])
            for i, one in pairs:
                rows[i][row] = _numbers(tape.gradient(one))
        found |= {(i, j): array(rows[i], dtype=_scalar(one)) for i, one in pairs}
    return found


def jacobian_fd(
    function, dim=None, inputs=None, outputs=None, input_output_mask=None, device=None, max_blocks=0, block_dim=None,
    max_inputs_per_var=-1, eps=1e-4, plot_jacobians=False, metadata=None, restore_inputs=True,
) -> dict:
    """The same by central differences with steps of ``eps``."""
    run = _Run(function, dim, inputs, outputs, input_output_mask, block_dim)
    _all(max_inputs_per_var, plot_jacobians)
    found = {}
    for i in run.inputs:
        for column in range(_numbers(run.given[i]).size):
            above, below = (run.moved(i, column, step) for step in (eps, -eps))
            for j, (up, down) in enumerate(zip(above, below)):
                if run.wants(i, j, up):
                    shape = _numbers(up).size, _numbers(run.given[i]).size
                    whole = found.setdefault((i, j), array(np.zeros(shape, _numbers(up).dtype), dtype=_scalar(up)))
                    as_numpy(whole)[:, column] = (_numbers(up).astype(np.float64) - _numbers(down)) / (2 * eps)
    return found


def gradcheck(
    function, dim=None, inputs=None, outputs=None, *, eps=1e-4, atol=1e-3, rtol=1e-2, raise_exception=True, input_output_mask=None,
    device=None, max_blocks=0, block_dim=None, max_inputs_per_var=-1, max_outputs_per_var=-1, plot_relative_error=False,
    plot_absolute_error=False, show_summary=True, restore_inputs=True,
) -> bool:
    """Whether gradients are as differences tell. Where they are not, and ``raise_exception`` is set, a ``ValueError`` says where."""
    _all(max_inputs_per_var, plot_relative_error or plot_absolute_error)
    given = {"dim": dim, "inputs": inputs, "outputs": outputs, "input_output_mask": input_output_mask, "block_dim": block_dim}
    exact = jacobian(function, **given, max_outputs_per_var=max_outputs_per_var)
    rough, wrong = jacobian_fd(function, **given, eps=eps), []
    for pair, one in exact.items():
        ours, theirs = one.numpy(), rough[pair].numpy()
        close = np.abs(ours - theirs) <= atol + rtol * np.abs(theirs)
        gap = float(np.max(np.abs(ours - theirs), initial=0.0))
        if show_summary:
            print(f"input {pair[0]}, output {pair[1]}: {'right' if close.all() else 'wrong'}, the greatest difference is {gap:.3g}")
        if not close.all():
            row, column = np.argwhere(~close)[0]
            place = f"output {pair[1]}, number {row}, by input {pair[0]}, number {column}"
            wrong.append(f"{place}: the gradient is {ours[row, column]:.6g}, and differences give {theirs[row, column]:.6g}")
    if wrong and raise_exception:
        raise ValueError("the gradient check failed: " + "; ".join(wrong))
    return not wrong


def _all(most, plot):
    if most > 0 or plot:
        raise NotImplementedError("kc.warp.autograd computes whole Jacobians, and draws none")


def _numbers(one):
    return one.numpy().reshape(-1)


def _scalar(one):
    return getattr(one.dtype, "_scalar", one.dtype)


def _is_float(one) -> bool:
    return isinstance(one, array) and one.numpy().dtype.kind == "f"


class _Run:
    """A launch, or a call, that may be made again."""

    def __init__(self, function, dim, inputs, outputs, mask, block_dim):
        if inputs is None:
            raise ValueError("the inputs are to be given")
        self.is_kernel = isinstance(function, Kernel)
        if self.is_kernel and not outputs:
            raise ValueError("the outputs of a kernel are to be given")
        self.function, self.dim, self.given, self.results = function, dim, list(inputs), list(outputs or ())
        self.block = {} if block_dim is None else {"block_dim": block_dim}
        self.inputs = [n for n, one in enumerate(self.given) if _is_float(one) and one.requires_grad]
        if not self.inputs:
            raise ValueError("no input is an array of floats with `requires_grad`")
        names = [name for name, _ in parameters_of(function)] if self.is_kernel else [*inspect.signature(function).parameters]
        places = {name: n if n < len(self.given) else n - len(self.given) for n, name in enumerate(names)}
        place = lambda name: places[name] if isinstance(name, str) else name
        self.mask = None if not mask else {(place(one), place(other)) for one, other in mask}

    def wants(self, i, j, output) -> bool:
        counts = _is_float(output) and (not self.is_kernel or self.results[j].requires_grad)
        return counts and (self.mask is None or (i, j) in self.mask)

    def copies(self):
        """Of the inputs and the outputs."""
        copy = lambda one: clone(one, requires_grad=one.requires_grad) if isinstance(one, array) else one
        return [copy(one) for one in self.given], [copy(one) for one in self.results]

    def once(self, given, results):
        """What comes of them."""
        if self.is_kernel:
            launch(self.function, self.dim, given, results, **self.block)
            return results
        made = self.function(*given)
        return list(made) if isinstance(made, (tuple, list)) else [made]

    def moved(self, i, column, step):
        given, results = self.copies()
        as_numpy(given[i]).reshape(-1)[column] += step
        return self.once(given, results)
