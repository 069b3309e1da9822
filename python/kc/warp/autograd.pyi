"""Written by python/stubs.py."""

from typing import Any


def gradcheck(function: Any, dim: Any = ..., inputs: Any = ..., outputs: Any = ..., *, eps: Any = ..., atol: Any = ..., rtol: Any = ..., raise_exception: Any = ..., input_output_mask: Any = ..., device: Any = ..., max_blocks: Any = ..., block_dim: Any = ..., max_inputs_per_var: Any = ..., max_outputs_per_var: Any = ..., plot_relative_error: Any = ..., plot_absolute_error: Any = ..., show_summary: Any = ..., restore_inputs: Any = ...) -> bool:
    """Whether gradients are as differences tell. Where they are not, and ``raise_exception`` is set, a ``ValueError`` says where."""
    ...
def jacobian(function: Any, dim: Any = ..., inputs: Any = ..., outputs: Any = ..., input_output_mask: Any = ..., device: Any = ..., max_blocks: Any = ..., block_dim: Any = ..., max_outputs_per_var: Any = ..., plot_jacobians: Any = ..., metadata: Any = ..., restore_inputs: Any = ...) -> dict[str, Any]:
    """How each output depends on each input, by gradients: matrices by the places of input and output, a row for each number of the
    output. Arrays with ``requires_grad`` count, and all that a function gives back."""
    ...
def jacobian_fd(function: Any, dim: Any = ..., inputs: Any = ..., outputs: Any = ..., input_output_mask: Any = ..., device: Any = ..., max_blocks: Any = ..., block_dim: Any = ..., max_inputs_per_var: Any = ..., eps: Any = ..., plot_jacobians: Any = ..., metadata: Any = ..., restore_inputs: Any = ...) -> dict[str, Any]:
    """The same by central differences with steps of ``eps``."""
    ...
