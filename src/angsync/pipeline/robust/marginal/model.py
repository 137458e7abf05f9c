"""What the search has to know about the edges of one kind: rotations (one number each) or poses (three)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from angsync.problem.pieces import piece_labels

if TYPE_CHECKING:
    from angsync.pipeline.robust.marginal.score import Belief

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Model(ABC):
    r"""Edges k between nodes i and j with residuals :math:`r_k(x)` of D numbers, *whitened*: divided by the stated
    deviation, so that good ones are normal with the deviation s, one number for all edges.

    States x are arrays of any shape; the core never looks into them.
    """

    dimension: int
    """D, numbers of one edge."""
    nodes: int
    i: Places
    j: Places
    peak: Floats
    """Of every edge: logarithm of the density of a good one with s = 1 at its peak over the density of a wrong one."""
    level: float
    """What makes the evidence of a spanning tree 0: log of (2 pi)^(D/2) u for every node but one a piece, u the
    uniform density of a node and of a wrong edge."""
    least_scale: float
    """The scale below which edges count as exact."""
    largest_scale: float
    """The scale from which a good edge is no better than a wrong one."""
    kinds: Places | None = None
    """The kind of every edge, 0, 1, ...: the share of wrong ones is that of its kind (steps of a robot's odometry are
    wrong less often than loops); -1 for edges that are right. None: all edges are of one kind."""

    @abstractmethod
    def residuals(self, x: NDArray) -> Floats:
        """Whitened residuals, of shape (m, D)."""

    @abstractmethod
    def solve(self, weights: Floats, x: NDArray) -> NDArray:
        """The states of least sum of w_k |r_k|^2 next to x; edges of positive weight hold every piece together."""

    @abstractmethod
    def factor(self, weights: Floats, x: NDArray) -> Factor:
        """H = sum_k w_k A_k^T A_k at x, A_k the derivative of r_k (either sign), factorised."""

    @abstractmethod
    def along(self, tree: Mask) -> NDArray:
        """The states that fit the edges of a spanning forest exactly."""

    @abstractmethod
    def difference(self, x: NDArray, y: NDArray) -> float:
        """How far apart two answers are: mean difference of headings in degrees, after the best common turn a piece."""

    def wrapped(self, rho: Floats, edges: Places) -> Floats:
        """Predicted whitened residuals (..., D) of these edges (...), with angles brought back to (-pi, pi]."""
        return rho

    def spread(self, belief: Belief) -> float:
        """Mean error in degrees that the noise of the believed edges gives the nodes; 0 where nobody reckons it."""
        return 0.0

    def log_prior(self, believed: Mask) -> float:
        """Log-probability of this set before the angles are known, over that of believing each edge with one half.

        Every share of wrong edges is equally likely: of the M edges of a kind the set with k wrong ones has the
        probability 1 / ((M + 1) binomial(M, k)).
        """
        total = 0.0
        for kind in self._members():
            count = int(kind.sum())
            good = int((believed & kind).sum())
            total += math.lgamma(good + 1) + math.lgamma(count - good + 1) - math.lgamma(count + 2)
            total += count * math.log(2)
        return total

    def log_odds(self, believed: Mask) -> Floats:
        """Of every edge, the odds to be right that the believed share of its kind gives it."""
        odds = np.zeros(self.edges)
        for kind in self._members():
            good = int((believed & kind).sum())
            odds[kind] = math.log((good + 1) / (int(kind.sum()) - good + 1))
        return odds

    def _members(self) -> list[Mask]:
        if self.kinds is None:
            return [np.ones(self.edges, dtype=bool)]
        return [self.kinds == kind for kind in np.unique(self.kinds[self.kinds >= 0])]

    @property
    def edges(self) -> int:
        """Number of edges, m."""
        return int(self.i.size)

    @property
    def pieces(self) -> int:
        """Pieces of the graph with all its edges."""
        return int(piece_labels(self.nodes, self.i, self.j).max(initial=-1)) + 1


class Factor(ABC):
    """H of :meth:`Model.factor`."""

    log_det: float
    """Of H without one node a piece."""

    @abstractmethod
    def blocks(self, groups: Places) -> Floats:
        """A_c H^-1 A_c^T of every group of edges: (G, K) places, -1 for none, to (G, K D, K D); zeros for none."""
