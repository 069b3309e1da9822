"""The tasks in NumPy: what is right, in whatever precision the arrays have.

Each operation is a pair of functions: ``forward(inputs, parameters, settings)`` gives the result,
``backward(inputs, parameters, settings, dy)`` one gradient for each input and parameter (None where
there is none). In float64 they say what is right; the same code in float32 says what rounding costs
somebody who follows the book (``kc.bench.limits``).
"""

from __future__ import annotations

from . import chain, convolution, elementwise, losses, pooling, products, rows

#: By the name of the operation (``op`` of a task): its forward and backward function.
OPERATIONS = {
    **elementwise.OPERATIONS,
    **products.OPERATIONS,
    **rows.OPERATIONS,
    **pooling.OPERATIONS,
    **convolution.OPERATIONS,
    **losses.OPERATIONS,
    **chain.OPERATIONS,
}


def forward(op, inputs, parameters, settings):
    """The result of operation ``op``, in the precision of its arrays."""
    return OPERATIONS[op][0](inputs, parameters, settings)


def backward(op, inputs, parameters, settings, dy):
    """The gradients of ``sum(dy * forward(...))``, for each input and parameter in order; None
    where there is none."""
    return OPERATIONS[op][1](inputs, parameters, settings, dy)
