r"""The whole SE(2) problem as least squares: residuals of motions, Gauss-Newton steps, and what a fit knows of an edge.

The residual of the edge :math:`i \to j` is taken in the frame of pose i and in units of its stated noise,

.. math:: r = W \begin{pmatrix} R(\theta_i)^T (p_j - p_i) - d \\ \theta_j - \theta_i - \delta \end{pmatrix},
          \qquad W = \mathrm{diag}(\sqrt\tau, \sqrt\tau, w \sqrt\kappa),

w the weight of turns (1 as stated, :mod:`angsync.applications.pose_graph.balance` estimates it), otherwise with the
weights of the certified cost (:mod:`angsync.applications.pose_graph.data`), so that the edges are judged by
what the poses are then found with. Judged with their full information, loops of real graphs are given up that are
long off in a direction in which a scan matcher claimed millimeters (CSAIL: three of 128 instead of one, and less
evidence for the graph as a whole; on intel and manhattan the full information has more evidence, and gives up as
many). Chosen after seeing CSAIL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.equations import D, factorized, pattern_of, pulled
from angsync.circle import wrap
from angsync.problem.pieces import piece_count

_SMALL_TURN = 1e-3  # radians: a step that turns no pose more,
_SMALL_GAIN = 1e-4  # and gains less than this share of the cost, is the last: sets are judged, the answer comes later
_HALVINGS = 6  # of a step that makes the fit worse, before it is given up
_ROUNDING = 1e-9  # by which a cost may rise at its minimum


@dataclass(frozen=True, eq=False)
class PoseFit:
    """Poses that fit a set of edges, and the factor of their normal equations."""

    poses: NDArray[np.float64]
    residuals: NDArray[np.float64]
    """Whitened, (edges, 3), of all edges, believed or not."""
    chi2: float
    """Sum of squares over the edges that were fitted."""
    factor: Any
    """Of the normal equations at these poses (``kernels.BlockPattern.factorized``)."""
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    """Derivatives of the residuals by the two poses of every edge, (edges, 3, 3)."""


class PoseModel:
    """Motions of one pose graph; every set of its edges that spans it can be fitted."""

    def __init__(self, graph: PoseGraph) -> None:
        self.graph = graph
        self.i, self.j, self.n = graph.i, graph.j, graph.n
        self._rotations = graph.rotations()
        self.turn_weight = 1.0
        self._number = np.full(graph.n, -1, dtype=np.int64)
        free = np.setdiff1d(np.arange(graph.n), graph.references)
        self._number[free] = np.arange(free.size)
        self.free = free
        self._a, self._b = self._number[graph.i], self._number[graph.j]
        self.rank = free.size  # edges of a spanning forest
        self._pattern: tuple[NDArray[np.bool_], Any] | None = None  # of the last set, which is often fitted again

    @property
    def turn_weight(self) -> float:
        """Times the root of the stated information of turns: their noise may not be that of the displacements."""
        return self._turn_weight

    @turn_weight.setter
    def turn_weight(self, weight: float) -> None:
        root_tau, root_kappa = np.sqrt(self.graph.tau), np.sqrt(self.graph.kappa)
        self._turn_weight = weight
        self.whitening = np.column_stack([root_tau, root_tau, weight * root_kappa])
        self.log_density = np.log(self.whitening).sum(axis=1) - 0.5 * D * np.log(2 * np.pi)
        """Of each motion at its maximum."""

    def bridges(self, believed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The believed edges without which the graph falls apart: nothing can be said against them, nor for them."""
        from angsync.uncertainty.cycle_labels import bridges_of  # its room loads scipy.special

        return bridges_of(self._rotations, believed.astype(np.float64))

    def spans(self, believed: NDArray[np.bool_]) -> bool:
        """Whether the edges join what all edges join."""
        return piece_count(self.n, self.i[believed], self.j[believed]) == self.n - self.rank

    # --- fits -----------------------------------------------------------------------------------------------------

    def residuals(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Whitened residuals (edges, 3)."""
        return self.whitening * self._plain(poses)[0]

    def plain_residuals(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Residuals without weights (edges, 3)."""
        return self._plain(poses)[0]

    def _plain(self, poses: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Residuals without weights, and the displacement of each edge seen from its first pose."""
        i, j = self.i, self.j
        c, s = np.cos(poses[i, 2]), np.sin(poses[i, 2])
        x, y = poses[j, 0] - poses[i, 0], poses[j, 1] - poses[i, 1]
        seen = np.column_stack([c * x + s * y, c * y - s * x])
        turn = wrap(poses[j, 2] - poses[i, 2] - self.graph.motion[:, 2])
        return np.column_stack([seen - self.graph.motion[:, :2], turn]), seen

    def _derivatives(
        self, poses: NDArray[np.float64], seen: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        c, s = np.cos(poses[self.i, 2]), np.sin(poses[self.i, 2])
        second = np.zeros((self.i.size, D, D))
        second[:, 0, 0] = second[:, 1, 1] = c
        second[:, 0, 1], second[:, 1, 0] = s, -s
        second[:, 2, 2] = 1
        first = -second
        first[:, 0, 2], first[:, 1, 2] = seen[:, 1], -seen[:, 0]
        W = self.whitening
        return W[:, :, None] * first, W[:, :, None] * second

    def fit(self, believed: NDArray[np.bool_], poses: NDArray[np.float64], steps: int) -> PoseFit | None:
        """The poses after at most so many Gauss-Newton steps for the edges believed; None where these do not span."""
        if not self.spans(believed):  # a pivot that is rounding alone may be positive
            return None
        used = np.flatnonzero(believed)
        pattern = self._pattern_of(believed)
        plain, seen = self._plain(poses)
        r, (first, second) = self.whitening * plain, self._derivatives(poses, seen)
        chi2 = _squares(r, used)
        factor = self._factor(pattern, used, first, second)
        for _ in range(steps):
            if factor is None:
                return None
            step = self._step(factor, used, r, first, second)
            shorter = self._shortened(poses, step, chi2, used)
            if shorter is None:
                break
            gained = chi2 - shorter[3]
            poses, seen, r, chi2 = shorter
            first, second = self._derivatives(poses, seen)
            factor = self._factor(pattern, used, first, second)
            if gained < _SMALL_GAIN * max(chi2, 1.0) and np.abs(step[:, 2]).max(initial=0.0) < _SMALL_TURN:
                break
        return None if factor is None else PoseFit(poses, r, chi2, factor, first, second)

    def _shortened(
        self, poses: NDArray[np.float64], step: NDArray[np.float64], chi2: float, used: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float] | None:
        """The first of the whole step, its half, ... that does not make the fit worse: poses, displacements as seen
        from them, whitened residuals, and their squares."""
        for halving in range(_HALVINGS):
            moved = poses.copy()
            moved[self.free] += step / 2**halving
            plain, seen = self._plain(moved)
            r = self.whitening * plain
            new = _squares(r, used)
            if new <= chi2 * (1 + _ROUNDING):
                return moved, seen, r, new
        return None

    def covariances(
        self,
        fit: PoseFit,
        groups: NDArray[np.int64],
        edges: NDArray[np.int64],
        first: NDArray[np.float64] | None = None,
        second: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """What the poses of a fit add to the covariance of whitened residuals, a square for each group, flat.

        Group g are the ``edges[groups[g]:groups[g + 1]]``; derivatives are those of the fit unless given.
        """
        first = fit.first[edges] if first is None else first
        second = fit.second[edges] if second is None else second
        return fit.factor.grams(groups, self._a[edges], self._b[edges], first, second)

    def _factor(
        self, pattern: Any, used: NDArray[np.int64], first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> Any:
        return factorized(pattern, self._a[used], self._b[used], first[used], second[used])

    def _step(
        self,
        factor: Any,
        used: NDArray[np.int64],
        r: NDArray[np.float64],
        first: NDArray[np.float64],
        second: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        right = pulled(self.n, self.i[used], self.j[used], r[used], first[used], second[used])
        step: NDArray[np.float64] = factor.solve(-right[self.free])
        return step

    def _pattern_of(self, used: NDArray[np.bool_]) -> Any:
        if self._pattern is not None and np.array_equal(self._pattern[0], used):
            return self._pattern[1]
        pattern = pattern_of(self.free.size, self._a[used], self._b[used])
        self._pattern = (used.copy(), pattern)
        return pattern


def _squares(r: NDArray[np.float64], used: NDArray[np.int64]) -> float:
    return float(np.sum(r[used] ** 2))
