"""Colours of graphs: no two nodes of an edge share one, so that nodes of a colour can be worked on at the same time."""

from __future__ import annotations

import collections
import enum
import heapq

import numpy as np

from .. import _errors
from .._arguments import as_numpy
from ._arrays import from_numpy
from ._devices import get_device


class GraphColoringAlgorithm(enum.IntEnum):
    """The order in which nodes take the first colour that is free."""

    #: The node with most coloured neighbours is next (maximum cardinality search; Tarjan and Yannakakis 1984): few colours.
    MCS = 0
    #: Nodes in the order of their numbers: fast.
    GREEDY = 1


def graph_coloring_assign(edges, node_colors, algorithm=GraphColoringAlgorithm.MCS) -> int:
    """Writes a colour for each node of a graph, given by its edges (pairs of nodes), and gives the number of colours."""
    colors = _colors("graph_coloring_assign", node_colors)
    near = _neighbours("graph_coloring_assign", edges, len(colors))
    greedy = GraphColoringAlgorithm(algorithm) == GraphColoringAlgorithm.GREEDY
    order = range(len(colors)) if greedy else _by_cardinality(near, len(colors))
    found = np.full(len(colors), -1, np.int32)
    for node in order:
        taken = {found[other] for other in near[node]}
        found[node] = next(color for color in range(len(taken) + 1) if color not in taken)
    colors[:] = found
    return int(found.max(initial=-1)) + 1


def graph_coloring_balance(edges, node_colors, color_count, target_max_min_ratio, *, max_iterations=None) -> float:
    """Moves nodes from large groups to small ones until the largest has at most that many times the nodes of the smallest. Gives the ratio that it came to."""
    colors = _colors("graph_coloring_balance", node_colors)
    near = _neighbours("graph_coloring_balance", edges, len(colors))
    if len(colors) and not 0 <= colors.min() <= colors.max() < color_count:
        raise ValueError(f"graph_coloring_balance: colours are from 0 to {color_count - 1}, and there is {colors.min()} to {colors.max()}")
    left = len(colors) if max_iterations is None else int(max_iterations)
    if left < 0:
        raise ValueError("graph_coloring_balance: max_iterations is not negative")
    groups = [list(np.flatnonzero(colors == color)) for color in range(color_count)]
    while True:
        sizes = [len(group) for group in groups]
        ratio = max(sizes, default=0) / max(min(sizes, default=1), 1)
        if ratio <= target_max_min_ratio:
            return ratio
        move = _move(groups, colors, near)
        if move is None:
            return ratio
        if not left:
            text = f"graph_coloring_balance: {max_iterations or len(colors)} moves were made, and the ratio is {ratio:.3g}"
            _errors.warn_caller(UserWarning(text))
            return ratio
        node, source, target = move
        groups[source].remove(node)
        groups[target].append(node)
        colors[node] = target
        left -= 1


def _move(groups, colors, near):
    """A node that can go from one of the largest groups to one with at least two nodes fewer: the node and both colours."""
    by_size = sorted(range(len(groups)), key=lambda color: len(groups[color]))
    for source in reversed(by_size):
        for target in by_size:
            if len(groups[target]) + 2 > len(groups[source]):
                break
            for node in groups[source]:
                if all(colors[other] != target for other in near[node]):
                    return node, source, target
    return None


def graph_coloring_get_groups(node_colors, color_count, return_wp_array=True, device="cpu") -> tuple:
    """The nodes of each colour, in order."""
    colors = _colors("graph_coloring_get_groups", node_colors)
    found = [np.flatnonzero(colors == color).astype(np.int32) for color in range(color_count)]
    if not return_wp_array:
        return tuple(found)
    device = get_device(device)
    return tuple(from_numpy(group, device=device) for group in found)


def _colors(name, node_colors):
    colors = as_numpy(node_colors)
    if colors.dtype != np.int32 or colors.ndim != 1:
        raise RuntimeError(f"{name} takes node colours as an int32 array of one dimension, not {colors.dtype} of {colors.ndim}")
    return colors


def _neighbours(name, edges, count):
    """The neighbours of each node. An edge of a node to itself means nothing."""
    pairs = as_numpy(edges)
    if pairs.dtype != np.int32 or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise RuntimeError(f"{name} takes edges as an int32 array of shape (count, 2), not {pairs.dtype} of {pairs.shape}")
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < count:
        raise ValueError(f"{name}: nodes are from 0 to {count - 1}, and edges name {pairs.min()} to {pairs.max()}")
    near = collections.defaultdict(set)
    for a, b in pairs.tolist():
        if a != b:
            near[a].add(b)
            near[b].add(a)
    return near


def _by_cardinality(near, count):
    """All nodes, each time one with most neighbours before it. Of equals the first."""
    known = [0] * count
    done, heap = [False] * count, [(0, node) for node in range(count)]
    while heap:
        seen, node = heapq.heappop(heap)
        if done[node] or -seen != known[node]:
            continue
        done[node] = True
        yield node
        for other in near[node]:
            if not done[other]:
                known[other] += 1
                heapq.heappush(heap, (-known[other], other))
