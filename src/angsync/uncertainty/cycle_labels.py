r"""Labels of edges that tell bridges and cuts of two edges.

Edges outside a spanning tree get random labels of 128 bits; a tree edge gets the exclusive or of the labels of the
edges that span it. Then the labels meeting at a node cancel, hence so do those of any cut: a bridge has label 0, and
the two edges of a cut have the same label (Pritchard and Thurimella, *Fast computation of small cuts via cycle space
sampling*, ACM Trans. Algorithms 7, 2011). No bridge and no cut is missed. The converse fails for one edge or pair with
probability 2^-128; bridges are checked by counting (taking b of them away leaves b components more), so they are
certain, and m edges hold a pair that is wrongly called a cut with probability at most m^2 2^-129, below 1e-24 for ten
million.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_count, piece_labels
from angsync.uncertainty.resistance import Pairs, collect_pairs


@dataclass(frozen=True, eq=False)
class Forest:
    """A spanning forest: ``below[edge]`` is the lower node of a tree edge, -1 for others."""

    order: NDArray[np.int64]
    parent: NDArray[np.int64]
    size: NDArray[np.int64]
    below: NDArray[np.int64]


def bridges_of(measurements: Measurements, weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """The edges that disconnect the graph when they are lost; edges of weight 0 are not there."""
    used = np.flatnonzero(weight > 0)
    pairs = collect_pairs(measurements.n, measurements.i, measurements.j, weight)
    components = piece_labels(pairs.n, pairs.low, pairs.high)
    i, j = measurements.i[used], measurements.j[used]
    label, _ = cycle_labels(measurements.n, i, j, pairs.pair_of[used], pairs, components)
    return used[~label.any(axis=1)]


def cycle_labels(
    n: int, i: NDArray, j: NDArray, pair: NDArray, pairs: Pairs, components: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], Forest]:
    """A label for every edge (see the module text), in two halves; its zeros are checked."""
    count = int(components.max()) + 1
    order, parent = _spanning_forest(pairs, components)
    # one edge of each pair on the forest is the tree edge; its parallels are not
    inner = np.flatnonzero(parent < n)
    key = np.minimum(inner, parent[inner]) * n + np.maximum(inner, parent[inner])
    tree_pair = np.searchsorted(pairs.low * n + pairs.high, key)
    first_edge = np.full(pairs.low.size, -1, dtype=np.int64)
    first_edge[pair[::-1]] = np.arange(i.size)[::-1]
    below = np.full(i.size, -1, dtype=np.int64)
    below[first_edge[tree_pair]] = inner
    tree = below >= 0
    rng = np.random.default_rng(1)
    while True:
        label = rng.integers(1, 2**64, (i.size, 2), dtype=np.uint64, endpoint=False)
        label[tree] = 0
        for half in label.T:
            at_node = np.zeros(n + 1, dtype=np.uint64)
            np.bitwise_xor.at(at_node, i, half)
            np.bitwise_xor.at(at_node, j, half)
            upwards, sizes = _accumulate(order, parent, at_node)
            half[tree] = upwards[below[tree]]
        crossed = label.any(axis=1)
        if piece_count(n, i[crossed], j[crossed]) == count + np.count_nonzero(~crossed):
            return label, Forest(order, parent, sizes, below)


def _spanning_forest(pairs: Pairs, components: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Breadth-first order and parents; roots hang from the node n, which is not part of the graph."""
    n = pairs.n
    roots = np.unique(components, return_index=True)[1]
    rows = np.concatenate([pairs.low, pairs.high, np.full(roots.size, n)])
    columns = np.concatenate([pairs.high, pairs.low, roots])
    graph = scipy.sparse.coo_array((np.ones(rows.size), (rows, columns)), shape=(n + 1, n + 1)).tocsr()
    order, parent = scipy.sparse.csgraph.breadth_first_order(graph, n, directed=True)
    return order[1:].astype(np.int64), parent[:n].astype(np.int64)


def _accumulate(
    order: NDArray[np.int64], parent: NDArray[np.int64], at_node: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Exclusive or over the subtree of every node, and its size; plain lists, because a tree may be a path."""
    values, parents = at_node.tolist(), parent.tolist()
    sizes = [1] * len(values)
    for node in order[::-1].tolist():
        above = parents[node]
        values[above] ^= values[node]
        sizes[above] += sizes[node]
    return np.array(values, dtype=np.uint64), np.array(sizes, dtype=np.int64)


def equal_labels(label: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
    """Groups of two or more edges with the same label other than 0, in the order of their first edges."""
    order = np.lexsort((label[:, 1], label[:, 0]))
    changes = np.any(label[order][1:] != label[order][:-1], axis=1)
    groups = np.split(order, np.flatnonzero(changes) + 1)
    return sorted((np.sort(g) for g in groups if g.size > 1 and label[g[0]].any()), key=lambda g: int(g[0]))
