"""Nested dissection of a graph in NumPy and SciPy: what the compiled kernel computes, used where that is not built.

A breadth-first search numbers the nodes so that, when the first k have been visited, the queue holds exactly the
nodes that separate them from the rest. The shortest queue near the middle is the separator; it is eliminated after
the two parts, which are cut in the same way (George 1973; separators from breadth-first levels: George and Liu,
*Computer Solution of Large Sparse Positive Definite Systems*, 1981, chapter 8). Nodes with very many neighbors
go into the separator at once: they would make every queue long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray


class Cuts(NamedTuple):
    """How parts are cut."""

    leaf: int
    """A part of up to so many nodes is not cut any further."""
    small: int
    """Up to so many nodes a part is small: larger ones are cut by separators of up to half of their nodes."""
    balance: float
    """Each side of a separator holds at least about this share of its part."""
    poor: float
    """A separator of more than this share of a small part is not worth it."""
    largest: int
    """No separator, and no block with its rows, may have more nodes."""


def dissection_blocks(graph: scipy.sparse.csr_array, cuts: Cuts) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The nodes in the order of elimination and the bounds of the blocks; None where a separator is too large.

    Blocks are found in the opposite order, large parts first.
    """
    found: list[NDArray[np.int64]] = []
    stack = [(graph, np.arange(graph.shape[0], dtype=np.int64))]
    while stack:
        part, nodes = stack.pop()
        if nodes.size == 0:
            continue
        if nodes.size <= cuts.leaf:
            found.append(nodes)
            continue
        separator, sides = _cut(part, cuts)
        if separator.size > cuts.largest:
            return None
        if separator.size:
            found.append(nodes[separator])
        for side in sides:
            stack.append((_part(part, side), nodes[side]))
    found = found[::-1]
    order = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    return order, np.concatenate([[0], np.cumsum([block.size for block in found])]).astype(np.int64)


def dissection_rows(
    graph: scipy.sparse.csr_array, order: NDArray[np.int64], starts: NDArray[np.int64], largest: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]] | None:
    """The rows of every block and its parent; None where a block with its rows is too large.

    The rows are neighbors of its nodes and rows of its children, as far as they come later, and n, the anchor.
    """
    n, count = order.size, starts.size - 1
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    permuted = graph[order]  # rows in the order of elimination; the columns are translated below
    block_of = np.repeat(np.arange(count), np.diff(starts))
    anchor = np.array([n], dtype=np.int64)
    inherited: list[list[NDArray[np.int64]]] = [[] for _ in range(count)]
    rows: list[NDArray[np.int64]] = []
    parent = np.full(count, -1, dtype=np.int64)
    for block in range(count):
        begin, end = starts[block], starts[block + 1]
        neighbors = place[permuted.indices[permuted.indptr[begin] : permuted.indptr[end]]]
        joined = np.unique(np.concatenate([neighbors, *inherited[block]]))
        joined = joined[joined >= end]
        inherited[block] = []
        if joined.size:
            parent[block] = block_of[joined[0]]
            inherited[parent[block]].append(joined)
        rows.append(np.concatenate([joined, anchor]))
        if end - begin + joined.size > largest:
            return None
    return rows, parent


def _part(whole: scipy.sparse.csr_array, nodes: NDArray[np.int64]) -> scipy.sparse.csr_array:
    """``whole[nodes][:, nodes]``, the pattern only: there are many small parts, and slicing takes longer than this."""
    number = np.full(whole.shape[0], -1, dtype=np.int32)
    number[nodes] = np.arange(nodes.size, dtype=np.int32)
    begin = whole.indptr[nodes].astype(np.int64)
    bounds = np.zeros(nodes.size + 1, dtype=np.int64)
    np.cumsum(whole.indptr[nodes + 1] - begin, out=bounds[1:])
    entry = np.arange(bounds[-1]) + np.repeat(begin - bounds[:-1], np.diff(bounds))
    columns = number[whole.indices[entry]]
    kept = columns >= 0
    count = np.zeros(kept.size + 1, dtype=np.int32)
    np.cumsum(kept, out=count[1:])
    columns = columns[kept]
    shape = (nodes.size, nodes.size)
    return scipy.sparse.csr_array((np.ones(columns.size), columns, count[bounds]), shape=shape)


def _cut(part: scipy.sparse.csr_array, cuts: Cuts) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """A separator of a part and the sides that it leaves; the whole part where there is no good one."""
    size = part.shape[0]
    degree = np.diff(part.indptr)
    hubs = degree > max(2 * cuts.leaf, 10 * np.sqrt(size))
    if hubs.any():
        return np.flatnonzero(hubs), [np.flatnonzero(~hubs)]
    queue = _search(part, int(np.argmin(degree)))
    if queue.size < size:
        return np.empty(0, dtype=np.int64), _packed(part, cuts.leaf)
    queue = _search(part, int(queue[-1]))  # from a far end: long and thin
    order, ends = _queue_ends(part, queue)
    k = np.arange(1, size)
    length = ends[1:] - k
    first, last = int(cuts.balance * size), int((1 - cuts.balance) * size)
    # a thin queue first, an even cut second: an uneven one costs as much as a queue up to 40 % longer
    uneven = np.abs(2 * k + length - size) / size
    allowed = slice(first, max(last, first + 1))
    best = first + int(np.argmin((length * (1 + uneven))[allowed])) + 1
    separator, before, after = order[best : ends[best]], order[:best], order[ends[best] :]
    if not after.size or separator.size > (cuts.poor if size <= cuts.small else 0.5) * size:
        return np.arange(size), []
    # a node of the queue that sees nothing beyond it belongs to the near side
    beyond = np.zeros(size)
    beyond[after] = 1
    idle = (part @ beyond)[separator] == 0
    return separator[~idle], [np.concatenate([before, separator[idle]]), after]


def _search(part: scipy.sparse.csr_array, start: int) -> NDArray[np.int64]:
    order = scipy.sparse.csgraph.breadth_first_order(part, start, directed=True, return_predecessors=False)
    return order.astype(np.int64)


def _queue_ends(part: scipy.sparse.csr_array, order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``ends[k]``: how many nodes have been seen when the first k have been visited; the queue is order[k:ends[k]]."""
    size = order.size
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    farthest = np.maximum.reduceat(place[part.indices], part.indptr[:-1])  # a connected part has no empty row
    seen = np.maximum.accumulate(np.concatenate([[0], farthest[order]])) + 1
    return order, seen[:size]


def _packed(part: scipy.sparse.csr_array, leaf: int) -> list[NDArray[np.int64]]:
    """The components of a part: the largest alone, small ones together in leaves, so that there are few parts."""
    label = scipy.sparse.csgraph.connected_components(part, directed=False)[1]
    sizes = np.bincount(label)
    by_size = np.argsort(-sizes, kind="stable")
    # walk through the components, largest first, and start a new group whenever the leaf is full
    total = np.cumsum(sizes[by_size])
    large = sizes[by_size] > leaf // 2
    group_of_sorted = np.where(large, np.arange(sizes.size), 0)
    if not large.all():
        start = total[large][-1] if large.any() else 0
        group_of_sorted[~large] = large.sum() + (total[~large] - start - sizes[by_size][~large]) // (leaf // 2)
    group = np.empty(sizes.size, dtype=np.int64)
    group[by_size] = group_of_sorted
    group_of_node = group[label]
    nodes = np.argsort(group_of_node, kind="stable")
    return np.split(nodes, np.flatnonzero(np.diff(group_of_node[nodes])) + 1)
