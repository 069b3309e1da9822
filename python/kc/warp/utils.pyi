"""Written by python/stubs.py."""

from enum import IntEnum
from typing import Any


class GraphColoringAlgorithm(IntEnum):
    MCS = 0
    GREEDY = 1
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
def create_warp_function(func: Any) -> Any:
    """A function that kernels call, of a Python function, and its module."""
    ...
def graph_coloring_assign(edges: Any, node_colors: Any, algorithm: Any = ...) -> int:
    """Writes a colour for each node of a graph, given by its edges (pairs of nodes), and gives the number of colours."""
    ...
def graph_coloring_balance(edges: Any, node_colors: Any, color_count: Any, target_max_min_ratio: Any, *, max_iterations: Any = ...) -> float:
    """Moves nodes from large groups to small ones until the largest has at most that many times the nodes of the smallest. Gives the ratio that it came to."""
    ...
def graph_coloring_get_groups(node_colors: Any, color_count: Any, return_wp_array: Any = ..., device: Any = ...) -> tuple[Any, ...]:
    """The nodes of each colour, in order."""
    ...
def radix_sort_pairs(keys: Any, values: Any, count: Any, begin_bit: Any = ..., end_bit: Any = ...) -> None:
    """Sorts the first ``count`` keys, and the values with them; pairs of equal keys keep their order.

    ``begin_bit`` and ``end_bit`` say which bits of the keys count. Both arrays have room for twice as many, as Warp asks. No tape
    differentiates it where keys or values are floats."""
    ...
def runlength_encode(values: Any, run_values: Any, run_lengths: Any, run_count: Any = ..., value_count: Any = ...) -> Any:
    """Writes each run of equal numbers once, and how long it is. Gives how many runs there are: a number, or ``run_count`` with it."""
    ...
def segmented_sort_pairs(keys: Any, values: Any, count: Any, segment_start_indices: Any, segment_end_indices: Any = ...) -> None:
    """Sorts the keys of each segment, and the values with them; pairs of equal keys keep their order. What is in no segment stays.

    Segments run from a start to an end, or to the next start where no ends are given. Both arrays have room for ``2 * count``, as Warp
    asks. No tape differentiates it where keys are floats."""
    ...
