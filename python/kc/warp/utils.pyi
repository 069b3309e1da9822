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
def radix_sort_pairs(keys: Any, values: Any, count: Any, begin_bit: Any = ..., end_bit: Any = ...) -> None:
    """Sorts the first ``count`` keys, and the values with them; pairs of equal keys keep their order.

    ``begin_bit`` and ``end_bit`` say which bits of the keys count. Both arrays have room for twice as many, as Warp asks. No tape
    differentiates it where keys or values are floats."""
    ...
def runlength_encode(values: Any, run_values: Any, run_lengths: Any, run_count: Any = ..., value_count: Any = ...) -> Any:
    """Writes each run of equal numbers once, and how long it is. Gives how many runs there are: a number, or ``run_count`` with it."""
    ...
