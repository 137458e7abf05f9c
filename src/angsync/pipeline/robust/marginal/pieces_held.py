"""Pieces of the believed graph that hang by one edge, which no cycle confirms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from angsync.pipeline.robust.marginal.model import Floats, Places
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import Belief
from angsync.pipeline.robust.marginal.search import Task

_MEAN_ERROR_DEGREES = 90.0  # of a node that hangs by a wrong edge: uniform on the circle


@dataclass(frozen=True, eq=False)
class Bridges:
    """Believed edges without which the graph of believed edges falls apart."""

    wrong: Floats
    """Probability of each to be wrong."""
    share: Floats
    """Share of the nodes that each holds (the smaller side)."""
    nodes: Places
    """The node at the far end of each, in the tree."""
    tree: _BlockTree

    @classmethod
    def of(cls, task: Task, best: Belief) -> Bridges:
        r"""Bridges that are not trusted, with what speaks against them.

        A bridge e with odds o_e to be right (those of its kind), and distrusted edges f across the same cut: one of
        them at most is right, or none is: e is wrong with probability (sum o_f + 1) / (o_e + sum o_f + 1).
        """
        model = task.model
        tree = _BlockTree(model, best)
        odds = np.exp(np.clip(model.log_odds(best.believed), -30, 30))
        against = tree.crossing(np.flatnonzero(~best.believed), odds)
        edges = tree.bridge[tree.bridge >= 0]
        nodes = np.flatnonzero(tree.bridge >= 0)
        free = ~task.trusted[edges]
        edges, nodes = edges[free], nodes[free]
        rivals = against[nodes]
        wrong = (rivals + 1) / (odds[edges] + rivals + 1)
        size = tree.below[nodes] / model.nodes
        whole = tree.whole[nodes] / model.nodes
        return cls(wrong, np.minimum(size, whole - size), nodes, tree)

    def __len__(self) -> int:
        return int(self.nodes.size)

    def expected_turn(self) -> float:
        """Mean error in degrees that these edges are expected to cause."""
        return float(_MEAN_ERROR_DEGREES * np.sum(self.wrong * self.share))

    def turns(self, count: int, rng: np.random.Generator) -> Floats:
        """So many draws (rows) of what wrong bridges turn the nodes by: all that hangs on one, by any angle."""
        turn = np.zeros((count, self.tree.parent.size))
        angle = rng.uniform(-math.pi, math.pi, (count, len(self)))
        turn[:, self.nodes] = np.where(rng.random((count, len(self))) < self.wrong, angle, 0.0)
        for node in self.tree.order:
            if self.tree.parent[node] >= 0:
                turn[:, node] += turn[:, self.tree.parent[node]]
        return turn


class _BlockTree:
    """A depth-first tree of the believed graph with, for every node, the bridge above it or -1."""

    def __init__(self, model: Rotations, best: Belief) -> None:
        n = model.nodes
        places = np.flatnonzero(best.believed)
        i, j = model.i[places], model.j[places]
        ends = np.concatenate([i, j]), np.concatenate([j, i])
        graph = scipy.sparse.coo_array((np.ones(2 * places.size), ends), shape=(n, n)).tocsr()
        labels = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
        self.order: list[int] = []
        self.parent = np.full(n, -1)
        for root in np.unique(labels, return_index=True)[1].tolist():
            order, parent = scipy.sparse.csgraph.breadth_first_order(graph, root, directed=False)
            self.order += order.tolist()
            self.parent[order[1:]] = parent[order[1:]]
        self.depth = np.zeros(n, dtype=np.int64)
        for node in self.order:
            if self.parent[node] >= 0:
                self.depth[node] = self.depth[self.parent[node]] + 1
        edge_of = np.full(n, -1)
        is_tree = np.zeros(model.edges, dtype=bool)
        for k, a, b in zip(places.tolist(), i.tolist(), j.tolist(), strict=True):
            child = b if self.parent[b] == a else a if self.parent[a] == b else -1
            if child >= 0 and edge_of[child] < 0:
                edge_of[child] = k
                is_tree[k] = True
        # a tree edge is a bridge where no other believed edge crosses it
        rest = places[~is_tree[places]]
        crossed = self._sum_below(model, rest, np.ones(model.edges))
        self._model = model
        self.bridge = np.where((edge_of >= 0) & (crossed < 0.5), edge_of, -1)
        below = np.ones(n)
        for node in reversed(self.order):
            if self.parent[node] >= 0:
                below[self.parent[node]] += below[node]
        self.below = below
        self.whole = np.bincount(labels)[labels].astype(np.float64)

    def crossing(self, edges: Places, values: Floats) -> Floats:
        """Of every node, the sum over those edges that leave what hangs below it."""
        return self._sum_below(self._model, edges, values)

    def _sum_below(self, model: Rotations, edges: Places, values: Floats) -> Floats:
        """Sums over edges between what is below a node and the rest: each edge counts on the way between its ends."""
        a, b = model.i[edges], model.j[edges]
        total = np.zeros(model.nodes)
        for ends, times in ((a, 1.0), (b, 1.0), (self._meeting(a, b), -2.0)):
            np.add.at(total, ends, times * values[edges])
        for node in reversed(self.order):
            if self.parent[node] >= 0:
                total[self.parent[node]] += total[node]
        return total

    def _meeting(self, a: Places, b: Places) -> Places:
        """The lowest node above both of each pair, by steps of powers of two."""
        above = [np.where(self.parent >= 0, self.parent, np.arange(self.parent.size))]
        while 2 ** len(above) <= int(self.depth.max(initial=0)):
            above.append(above[-1][above[-1]])
        swap = self.depth[a] < self.depth[b]
        a, b = np.where(swap, b, a), np.where(swap, a, b)
        for step in range(len(above) - 1, -1, -1):
            a = np.where(self.depth[a] - self.depth[b] >= 2**step, above[step][a], a)
        for up in reversed(above):
            apart = up[a] != up[b]
            a, b = np.where(apart, up[a], a), np.where(apart, up[b], b)
        return np.where(a == b, a, above[0][a])
