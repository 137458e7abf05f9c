"""The network of a measured graph: pairs of nodes, one anchor a component, and trees that hang from it taken off.

All anchors are joined into one node. Each component has one, so this glues components together at a single point and
changes no resistance inside them: the rest of the package sees one connected network.

A node with one neighbor is taken off, again and again, until every node has two or is the anchor. Such a tree needs no
elimination: the resistance of its edges is 1 / conductance, and along them resistances add.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Pairs:
    """Conductance between pairs of nodes, parallel edges added; every pair once, ``low < high``, sorted."""

    n: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    conductance: NDArray[np.float64]
    pair_of: NDArray[np.int64]
    """Pair of every edge of the input; -1 where the edge carries nothing."""

    @property
    def degree(self) -> NDArray[np.float64]:
        """Total conductance at every node."""
        at_low = np.bincount(self.low, self.conductance, self.n)
        return (at_low + np.bincount(self.high, self.conductance, self.n)).astype(np.float64)

    def adjacency(self) -> scipy.sparse.csr_array:
        """The symmetric matrix of conductances."""
        rows, columns = np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low])
        data = np.concatenate([self.conductance, self.conductance])
        return scipy.sparse.coo_array((data, (rows, columns)), shape=(self.n, self.n)).tocsr()


def collect_pairs(n: int, i: NDArray[np.int64], j: NDArray[np.int64], conductance: NDArray[np.float64]) -> Pairs:
    """Edges to pairs."""
    used = conductance > 0
    low, high = np.minimum(i, j)[used], np.maximum(i, j)[used]
    key, pair = np.unique(low * n + high, return_inverse=True)
    pair_of = np.full(i.size, -1, dtype=np.int64)
    pair_of[used] = pair
    total = np.bincount(pair, conductance[used], key.size).astype(
        np.float64
    )  # without any edge, bincount gives integers
    return Pairs(n, key // n, key % n, total, pair_of)


@dataclass(frozen=True, eq=False)
class Trees:
    """What was taken off: ``node[k]`` hung from ``parent[k]``, parents later in the list or not in it at all."""

    node: NDArray[np.int64]
    parent: NDArray[np.int64]
    conductance: NDArray[np.float64]

    def add_downwards(self, values: NDArray[np.float64], steps: NDArray[np.float64]) -> None:
        """``values[node] = values[parent] + steps`` all the way to the tips, in place; O(n log depth)."""
        if not self.node.size:
            return
        ancestor = np.arange(values.shape[0])
        ancestor[self.node] = self.parent
        rise = np.zeros_like(values)
        rise[self.node] = steps
        while True:  # rise: the sum over the way to the ancestor, whose distance doubles
            further = ancestor[ancestor[self.node]]
            if np.array_equal(further, ancestor[self.node]):
                break
            rise[self.node] += rise[ancestor[self.node]]
            ancestor[self.node] = further
        values[self.node] = values[ancestor[self.node]] + rise[self.node]

    def add_upwards(self, values: NDArray[np.float64]) -> None:
        """Add to every node the values of all that hangs from it, in place."""
        if not self.node.size:
            return
        size = values.shape[0]
        ancestor = np.full(size + 1, size)  # size: none
        ancestor[self.node] = self.parent
        while (ancestor[:-1] < size).any():
            values += np.bincount(ancestor[:-1], values, size + 1)[:-1]
            ancestor = ancestor[ancestor]


@dataclass(frozen=True, eq=False)
class Network:
    """Pairs with an anchor for every component. Nodes keep their numbers; ``core`` are those that are left."""

    pairs: Pairs
    components: NDArray[np.int64]
    anchors: NDArray[np.int64]
    trees: Trees
    core: NDArray[np.int64]

    @property
    def on_tree(self) -> NDArray[np.bool_]:
        """Which pairs were taken off with the trees."""
        taken = np.zeros(self.pairs.n, dtype=bool)
        taken[self.trees.node] = True
        return taken[self.pairs.low] | taken[self.pairs.high]

    def core_graph(self) -> tuple[scipy.sparse.csr_array, NDArray[np.float64]]:
        """Conductances among the core, and from each of its nodes to the anchor."""
        pairs, count = self.pairs, self.core.size
        place = np.full(pairs.n, -1, dtype=np.int64)
        place[self.core] = np.arange(count)
        a, b = place[pairs.low], place[pairs.high]
        inner = (a >= 0) & (b >= 0)
        is_anchor = np.zeros(pairs.n, dtype=bool)
        is_anchor[self.anchors] = True
        ground = np.zeros(count)
        for here, there in ((a, pairs.high), (b, pairs.low)):
            grounded = (here >= 0) & is_anchor[there]
            ground += np.bincount(here[grounded], pairs.conductance[grounded], count)
        rows, columns = np.concatenate([a[inner], b[inner]]), np.concatenate([b[inner], a[inner]])
        data = np.tile(pairs.conductance[inner], 2)
        return scipy.sparse.coo_array((data, (rows, columns)), shape=(count, count)).tocsr(), ground


def anchored(pairs: Pairs, components: NDArray[np.int64], anchors: NDArray[np.int64]) -> Network:
    """The network with these anchors, one node a component."""
    trees = _take_off_trees(pairs, anchors)
    left = np.ones(pairs.n, dtype=bool)
    left[anchors] = False
    left[trees.node] = False
    return Network(pairs, components, anchors, trees, np.flatnonzero(left))


def _take_off_trees(pairs: Pairs, anchors: NDArray[np.int64]) -> Trees:
    ends = np.concatenate([pairs.low, pairs.high])
    others = np.concatenate([pairs.high, pairs.low])
    degree = np.bincount(ends, minlength=pairs.n)
    kept = np.zeros(pairs.n, dtype=bool)
    kept[anchors] = True
    tips = np.flatnonzero((degree == 1) & ~kept).tolist()
    if not tips:
        nothing = np.empty(0, dtype=np.int64)
        return Trees(nothing, nothing, np.empty(0))
    # the sum of the neighbors' numbers: what is left of it at the last neighbor is that neighbor
    sums = np.zeros(pairs.n, dtype=np.int64)
    np.add.at(sums, ends, others)
    neighbor, count, fixed = sums.tolist(), degree.tolist(), kept.tolist()
    nodes: list[int] = []
    parents: list[int] = []
    while tips:
        node = tips.pop()
        parent = neighbor[node]
        nodes.append(node)
        parents.append(parent)
        count[parent] -= 1
        neighbor[parent] -= node
        if count[parent] == 1 and not fixed[parent]:
            tips.append(parent)
    node_array, parent_array = np.array(nodes, dtype=np.int64), np.array(parents, dtype=np.int64)
    key = np.minimum(node_array, parent_array) * pairs.n + np.maximum(node_array, parent_array)
    pair = np.searchsorted(pairs.low * pairs.n + pairs.high, key)
    return Trees(node_array, parent_array, pairs.conductance[pair])
