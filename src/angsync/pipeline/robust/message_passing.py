r"""Cycle-edge message passing: how corrupted is each edge, judged by the triangles that it is part of.

The inconsistency of a triangle is :math:`d = |\arg(g_{ij} g_{jk} g_{ki})| / \pi`, 0 where all three edges are good. The
score of an edge is the mean inconsistency of its triangles, weighted by how good the other two edges are thought to be:

.. math:: s_{ij} \leftarrow \frac{\sum_k e^{-\beta (s_{ik} + s_{jk})} d_{ijk}}{\sum_k e^{-\beta (s_{ik} + s_{jk})}},

with a growing beta (Lerman and Shi, *Robust group synchronization via cycle-edge message passing*, Foundations of
Computational Mathematics 22, 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.time_limit import check
from angsync.pipeline.robust.edges import Edges

_MOST_WEDGES = 2_000_000  # some seconds and 0.2 GB; above it triangles are sampled
# the growing beta of the rounds
_SHARPNESS = tuple(float(beta) for beta in np.geomspace(1, 20, 12))


@dataclass(frozen=True, eq=False)
class EdgeScores:
    """Score of every edge in [0, 1] (0: consistent), and which edges no triangle judges."""

    corruption: NDArray[np.float64]
    unjudged: NDArray[np.bool_]

    def weights(self) -> NDArray[np.float64]:
        """Weights in (0, 1] for a least-squares fit, by the last sharpness; 1 for the best edge."""
        if self.corruption.size == 0:
            return np.ones(0)
        return np.exp(-_SHARPNESS[-1] * (self.corruption - self.corruption.min()))


def edge_scores(edges: Edges, rng: np.random.Generator) -> EdgeScores:
    """Scores by message passing. An edge in no triangle gets the mean of the others: nothing is known against it."""
    sides = triangles(edges.n, edges.i, edges.j, rng)
    total = len(edges)
    inconsistency = np.abs(np.angle(_around(edges, sides))) / np.pi
    count, mean = np.zeros(total), np.zeros(total)
    for side in sides:
        count += np.bincount(side, minlength=total)
        mean += np.bincount(side, inconsistency, total)
    unjudged = count == 0
    mean /= np.maximum(count, 1)
    if unjudged.all():
        return EdgeScores(np.zeros(total), unjudged)
    score = mean
    for beta in _SHARPNESS:
        check()
        trust = np.exp(-beta * (score - score[~unjudged].min()))
        above, below = np.zeros(total), np.zeros(total)
        for own, other, third in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
            weight = trust[sides[other]] * trust[sides[third]]
            above += np.bincount(sides[own], weight * inconsistency, total)
            below += np.bincount(sides[own], weight, total)
        score = np.where(below > 0, above / np.where(below > 0, below, 1), mean)
    return EdgeScores(np.where(unjudged, score[~unjudged].mean(), score), unjudged)


def triangles(
    n: int, i: NDArray[np.int64], j: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The three edges (a, b), (a, c), (b, c) of every triangle; a random share of them where there are very many.

    Every edge points from the node of lower to that of higher degree. Then the pairs of edges that leave one node are
    at most of order m^(3/2), hubs or not, and every triangle has exactly one such pair, closed by its third edge.
    Parallel edges are edges of their own.
    """
    degree = np.bincount(np.concatenate([i, j]), minlength=n)
    rank = np.empty(n, dtype=np.int64)
    rank[np.lexsort((np.arange(n), degree))] = np.arange(n)
    low, high = np.minimum(rank[i], rank[j]), np.maximum(rank[i], rank[j])
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    key = low * n + high
    position = np.arange(low.size)
    later = np.searchsorted(low, low, side="right") - position - 1  # edges that leave the same node further on
    ends = np.cumsum(later)
    wedges = int(ends[-1]) if ends.size else 0
    if wedges <= _MOST_WEDGES:
        number = np.arange(wedges)
    else:
        number = np.sort(rng.integers(wedges, size=_MOST_WEDGES))
    check()
    first = np.searchsorted(ends, number, side="right")
    second = first + 1 + number - (ends - later)[first]
    closing = np.minimum(high[first], high[second]) * n + np.maximum(high[first], high[second])
    begin, end = np.searchsorted(key, closing, side="left"), np.searchsorted(key, closing, side="right")
    copies = end - begin
    third = np.repeat(begin - (np.cumsum(copies) - copies), copies) + np.arange(int(copies.sum()))
    return order[np.repeat(first, copies)], order[np.repeat(second, copies)], order[third]


def _around(
    edges: Edges, sides: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.complex128]:
    """The product of the measurements around each triangle, a to b to c and back to a."""
    first, second, third = sides
    head = edges.i[first]
    a = np.where((head == edges.i[second]) | (head == edges.j[second]), head, edges.j[first])
    b = edges.i[first] + edges.j[first] - a
    c = edges.i[second] + edges.j[second] - a

    def leaving(edge: NDArray[np.int64], node: NDArray[np.int64]) -> NDArray[np.complex128]:
        return np.where(edges.i[edge] == node, edges.turn[edge], np.conj(edges.turn[edge]))

    return leaving(first, a) * leaving(third, b) * leaving(second, c)
