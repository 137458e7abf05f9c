"""What the search has to know about the edges of one kind: rotations (one number each) or poses (three)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from angsync.problem.pieces import piece_labels

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
