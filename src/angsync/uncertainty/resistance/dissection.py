"""Nested dissection: the order in which nodes are eliminated, and what that will cost, known before it is done.

A breadth-first search numbers the nodes so that, when the first k have been visited, the queue holds exactly the
nodes that separate them from the rest. The shortest queue near the middle is the separator; it is eliminated after
the two parts, which are cut in the same way (George 1973; separators from breadth-first levels: George and Liu,
*Computer Solution of Large Sparse Positive Definite Systems*, 1981, chapter 8). Nodes with very many neighbours
go into the separator at once: they would make every queue long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

_LEAF_NODES = 40  # a part of up to so many nodes is not cut any further
_BALANCE_SHARE = 0.3  # each side of a separator holds at least about this share of its part
_POOR_SEPARATOR_SHARE = 0.2  # a separator of more than this share of a small part is not worth it
_SMALL_PART_NODES = 512  # up to which a part is small: larger ones are cut by separators of up to half of their nodes


@dataclass(frozen=True, eq=False)
class Dissection:
    """Blocks of nodes in the order of elimination, with the rows that their columns of the factor have.

    Places are numbers in the order of elimination; the place ``n`` stands for the anchor, which is never eliminated
    and is in the rows of every block.
    """

    order: NDArray[np.int64]
    """``order[place]`` is the node."""
    starts: NDArray[np.int64]
    """Block b holds the places ``starts[b]`` to ``starts[b + 1] - 1``."""
    rows: list[NDArray[np.int64]]
    """Places after the block that its elimination joins, sorted, the anchor last."""
    parent: NDArray[np.int64]
    """The block that holds the first of these rows; -1 where it is the anchor."""

    @property
    def fill(self) -> int:
        """Numbers that the factor holds."""
        width = np.diff(self.starts)
        return int(np.sum(width * (width + np.array([r.size for r in self.rows], dtype=np.int64))))

    @property
    def work(self) -> float:
        """Floating-point operations of the elimination and of the selected inverse, to leading order."""
        width = np.diff(self.starts).astype(float)
        front = width + np.array([r.size for r in self.rows], dtype=float)
        # one product and one sum an entry and an eliminated node, over shrinking squares, twice
        return float(np.sum(4 * width * (front**2 - front * width + width**2 / 3)))

    @property
    def largest_front(self) -> int:
        """Order of the largest dense matrix that is formed."""
        sizes = np.diff(self.starts) + np.array([r.size for r in self.rows], dtype=np.int64)
        return int(sizes.max(initial=0))


def dissect(graph: scipy.sparse.csr_array, *, largest: int) -> Dissection | None:
    """Order the nodes of a graph (symmetric pattern, no diagonal); None where a block would exceed ``largest``."""
    blocks = _blocks(graph, largest)
    if blocks is None:
        return None
    order = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum([block.size for block in blocks])]).astype(np.int64)
    return _symbolic(graph, order, starts, largest)


def _blocks(graph: scipy.sparse.csr_array, largest: int) -> list[NDArray[np.int64]] | None:
    """Blocks in the order of elimination. They are found in the opposite order, large parts first."""
    found: list[NDArray[np.int64]] = []
    stack = [(graph, np.arange(graph.shape[0], dtype=np.int64))]
    while stack:
        part, nodes = stack.pop()
        if nodes.size == 0:
            continue
        if nodes.size <= _LEAF_NODES:
            found.append(nodes)
            continue
        separator, sides = _cut(part)
        if separator.size > largest:
            return None
        if separator.size:
            found.append(nodes[separator])
        for side in sides:
            stack.append((_part(part, side), nodes[side]))
    return found[::-1]


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


def _cut(part: scipy.sparse.csr_array) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """A separator of a part and the sides that it leaves; the whole part where there is no good one."""
    size = part.shape[0]
    degree = np.diff(part.indptr)
    hubs = degree > max(2 * _LEAF_NODES, 10 * np.sqrt(size))
    if hubs.any():
        return np.flatnonzero(hubs), [np.flatnonzero(~hubs)]
    queue = _search(part, int(np.argmin(degree)))
    if queue.size < size:
        return np.empty(0, dtype=np.int64), _packed(part)
    queue = _search(part, int(queue[-1]))  # from a far end: long and thin
    order, ends = _queue_ends(part, queue)
    k = np.arange(1, size)
    length = ends[1:] - k
    first, last = int(_BALANCE_SHARE * size), int((1 - _BALANCE_SHARE) * size)
    # a thin queue first, an even cut second: an uneven one costs as much as a queue up to 40 % longer
    uneven = np.abs(2 * k + length - size) / size
    allowed = slice(first, max(last, first + 1))
    best = first + int(np.argmin((length * (1 + uneven))[allowed])) + 1
    separator, before, after = order[best : ends[best]], order[:best], order[ends[best] :]
    if not after.size or separator.size > (_POOR_SEPARATOR_SHARE if size <= _SMALL_PART_NODES else 0.5) * size:
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


def _packed(part: scipy.sparse.csr_array) -> list[NDArray[np.int64]]:
    """The components of a part: the largest alone, small ones together in leaves, so that there are few parts."""
    label = scipy.sparse.csgraph.connected_components(part, directed=False)[1]
    sizes = np.bincount(label)
    by_size = np.argsort(-sizes, kind="stable")
    # walk through the components, largest first, and start a new group whenever the leaf is full
    total = np.cumsum(sizes[by_size])
    large = sizes[by_size] > _LEAF_NODES // 2
    group_of_sorted = np.where(large, np.arange(sizes.size), 0)
    if not large.all():
        start = total[large][-1] if large.any() else 0
        group_of_sorted[~large] = large.sum() + (total[~large] - start - sizes[by_size][~large]) // (_LEAF_NODES // 2)
    group = np.empty(sizes.size, dtype=np.int64)
    group[by_size] = group_of_sorted
    group_of_node = group[label]
    nodes = np.argsort(group_of_node, kind="stable")
    return np.split(nodes, np.flatnonzero(np.diff(group_of_node[nodes])) + 1)


def _symbolic(
    graph: scipy.sparse.csr_array, order: NDArray[np.int64], starts: NDArray[np.int64], largest: int
) -> Dissection | None:
    """The rows of every block: neighbours of its nodes and rows of its children, as far as they come later."""
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
        neighbours = place[permuted.indices[permuted.indptr[begin] : permuted.indptr[end]]]
        joined = np.unique(np.concatenate([neighbours, *inherited[block]]))
        joined = joined[joined >= end]
        inherited[block] = []
        if joined.size:
            parent[block] = block_of[joined[0]]
            inherited[parent[block]].append(joined)
        rows.append(np.concatenate([joined, anchor]))
        if end - begin + joined.size > largest:
            return None
    return Dissection(order, starts, rows, parent)
