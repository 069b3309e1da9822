"""Written by python/stubs.py."""

from typing import Any


annotations: Any
def array_cast(in_array: Any, out_array: Any, count: Any = ...) -> None:
    """Converts elements to another type."""
    ...
def array_inner(a: Any, b: Any, out: Any = ..., count: Any = ..., axis: Any = ...) -> Any:
    """The sum of the products of the elements of two arrays, or of those along a dimension, which has the length 1 then."""
    ...
def array_scan(in_array: Any, out_array: Any, inclusive: Any = ...) -> Any:
    """Sums of all elements up to each one, with it or without, row after row."""
    ...
def array_sum(values: Any, out: Any = ..., value_count: Any = ..., axis: Any = ...) -> Any:
    """The sum of the elements, or of those along a dimension, which has the length 1 then."""
    ...
def as_numpy(value: Any) -> Any:
    """A NumPy array of the same memory, which is the host's. None: it is no array."""
    ...
def done(step: Any) -> Any:
    """Does something; while a graph is captured, that does it instead, when it is launched."""
    ...
def empty(shape: Any = ..., dtype: Any = ..., device: Any = ..., requires_grad: Any = ..., pinned: Any = ..., **others: Any) -> Any:
    ...
def is_captured() -> bool:
    """Whether a graph is captured in this thread."""
    ...
def radix_sort_pairs(keys: Any, values: Any, count: Any, begin_bit: Any = ..., end_bit: Any = ...) -> None:
    """Sorts the first ``count`` keys, and the values with them; pairs of equal keys keep their order.

    ``begin_bit`` and ``end_bit`` say which bits of the keys count. Both arrays have room for twice as many, as Warp asks. No tape
    differentiates it where keys or values are floats."""
    ...
def runlength_encode(values: Any, run_values: Any, run_lengths: Any, run_count: Any = ..., value_count: Any = ...) -> Any:
    """Writes each run of equal numbers once, and how long it is. Gives how many runs there are: a number, or ``run_count`` with it."""
    ...
def scatter(to: Any, more: Any) -> None:
    """The same where elements of ``to`` may be one in memory: along a dimension that does not move."""
    ...
def unrecorded(what: Any) -> None:
    """Raises where a tape records: it could not differentiate this."""
    ...
