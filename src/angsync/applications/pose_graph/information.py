r"""The cost that users of g2o and gtsam mean: full information matrices, as least squares over poses and landmarks.

The error of the edge i to j is that of g2o (Kuemmerle and others, ICRA 2011), what is left when the measured motion is
taken off the motion between the poses, :math:`M^{-1} X_i^{-1} X_j`:

.. math:: e = \begin{pmatrix} R(\delta)^T \bigl(R(\theta_i)^T (p_j - p_i) - d\bigr) \\ \theta_j - \theta_i - \delta
          \end{pmatrix}, \qquad \sum e^T I e,

so the information I belongs to the axes of the second pose. A sighting of a landmark has
:math:`e = R(\theta_i)^T (q - p_i) - s`, with I in the axes of the pose. (gtsam 4.3 takes the logarithm of the same
motion; both agree to first order in e.)

A landmark is a node of three unknowns like a pose, the third of which nothing measures: a weight of 1 holds it at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.equations import D, factorized, pattern_of, pulled
from angsync.circle import wrap
from angsync.errors import InputError
from angsync.solvers.stopping import Clock

MOST_STEPS = 100  # of Levenberg and Marquardt: from a certified point 5 to 20 are taken
_CLOSE = 1e-10  # what a step may still gain, in units of chi-square: 1e-5 standard errors from the minimum
_CLOSE_SHARE = 1e-13  # the same as a share of the cost: costs are not known better
_DAMPING = 1e-6  # of the first step, in units of the diagonal
_EASIER, _HARDER = 0.1, 10.0  # factors of the damping after a step that was good, or not
_MOST_DAMPING = 1e8


@dataclass(frozen=True, eq=False)
class Linearized:
    """Errors and their derivatives at one point, none of them weighted."""

    error: NDArray[np.float64]
    """(measurements, 3): edges, then sightings, whose third number is 0."""
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    """(measurements, 3, 3): derivatives by x, y, theta of both ends."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the descent ended."""

    nodes: NDArray[np.float64]
    """(poses and landmarks, 3)."""
    cost: float
    converged: bool
    steps: int
    interrupted: bool = False


class InformationModel:
    """All measurements of one graph. ``held`` are nodes that do not move: one pose of every component."""

    def __init__(self, graph: PoseGraph, held: NDArray[np.int64] | None = None) -> None:
        seen = graph.landmarks
        self.graph, self.n = graph, graph.n + seen.count
        self.i = np.concatenate([graph.i, seen.pose])
        self.j = np.concatenate([graph.j, graph.n + seen.landmark])
        self.measured = np.concatenate([graph.motion, np.pad(seen.offset, ((0, 0), (0, 1)))])
        self.is_edge = np.arange(self.i.size) < len(graph)
        padded = np.zeros((len(seen), D, D))
        padded[:, :2, :2], padded[:, 2, 2] = seen.information, 1.0
        self.information = np.concatenate([graph.information, padded])
        self.root = _roots(self.information, len(graph))
        """Whitens an error: I = root^T root."""
        held = graph.references if held is None else held
        still = np.concatenate([held, graph.n + seen.unseen])
        self.free = np.setdiff1d(np.arange(self.n), still)
        number = np.full(self.n, -1, dtype=np.int64)
        number[self.free] = np.arange(self.free.size)
        self.number = number
        self.a, self.b = number[self.i], number[self.j]
        self.third = np.zeros((self.free.size, D))
        self.third[self.free >= graph.n, 2] = 1.0
        self._pattern: Any = None

    @property
    def freedom(self) -> int:
        """Numbers measured less numbers found."""
        edges = len(self.graph)
        moving = int((self.free < self.graph.n).sum())
        return D * edges + 2 * (self.i.size - edges) - D * moving - 2 * (self.free.size - moving)

    def nodes(self, poses: NDArray[np.float64], positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Poses and landmarks as one array."""
        return np.concatenate([poses, np.pad(positions, ((0, 0), (0, 1)))])

    def error(self, nodes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Errors (measurements, 3), not weighted."""
        return self._error(nodes)[0]

    def cost(self, nodes: NDArray[np.float64]) -> float:
        """Sum of e^T I e."""
        return float(np.sum(self.whitened(self.error(nodes)) ** 2))

    def whitened(self, error: NDArray[np.float64]) -> NDArray[np.float64]:
        """Errors in units of their noise."""
        return np.einsum("kab,kb->ka", self.root, error)

    def _error(self, nodes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray, NDArray]:
        z = np.exp(1j * nodes[self.i, 2])
        way = (nodes[self.j, 0] - nodes[self.i, 0]) + 1j * (nodes[self.j, 1] - nodes[self.i, 1])
        seen = np.conj(z) * way
        back = np.exp(-1j * self.measured[:, 2])
        gap = back * (seen - (self.measured[:, 0] + 1j * self.measured[:, 1]))
        turn = wrap(nodes[self.j, 2] - nodes[self.i, 2] - self.measured[:, 2])
        return np.column_stack([gap.real, gap.imag, np.where(self.is_edge, turn, 0.0)]), back * seen, back * np.conj(z)

    def linearized(self, nodes: NDArray[np.float64]) -> Linearized:
        """Errors and derivatives at these nodes."""
        error, seen, turn = self._error(nodes)
        second = np.zeros((self.i.size, D, D))
        second[:, 0, 0] = second[:, 1, 1] = turn.real
        second[:, 0, 1], second[:, 1, 0] = -turn.imag, turn.imag
        second[:, 2, 2] = self.is_edge
        first = -second
        first[:, 0, 2], first[:, 1, 2] = seen.imag, -seen.real
        return Linearized(error, first, second)

    def factor(
        self, at: Linearized, root: NDArray[np.float64] | None = None, more: NDArray[np.float64] | float = 0.0
    ) -> Any:
        """Of the normal equations with these whitening matrices (those of the information unless given)."""
        if self._pattern is None:
            self._pattern = pattern_of(self.free.size, self.a, self.b)
        root = self.root if root is None else root
        return factorized(self._pattern, self.a, self.b, root @ at.first, root @ at.second, self.third + more)

    def gradient(self, at: Linearized) -> NDArray[np.float64]:
        """Half the gradient of the cost, by the free nodes."""
        weighted = np.einsum("kab,kb->ka", self.information, at.error)
        return pulled(self.n, self.i, self.j, weighted, at.first, at.second)[self.free]

    def _diagonal(self, at: Linearized) -> NDArray[np.float64]:
        total = np.zeros((self.n, D))
        for ends, derivative in ((self.i, at.first), (self.j, at.second)):
            squares = np.sum((self.root @ derivative) ** 2, axis=1)
            for entry in range(D):
                total[:, entry] += np.bincount(ends, squares[:, entry], minlength=self.n)
        return total[self.free]

    def minimized(
        self, nodes: NDArray[np.float64], clock: Clock | None = None, most_steps: int = MOST_STEPS
    ) -> Minimum:
        """A local minimum by damped Gauss-Newton steps (Marquardt, SIAM J. Appl. Math. 11, 1963); keeps the best."""
        clock = Clock(None) if clock is None else clock
        damping, steps, now = _DAMPING, 0, Minimum(nodes, self.cost(nodes), False, 0)
        if self.free.size == 0:
            return Minimum(nodes, now.cost, True, 0)
        try:
            at = self.linearized(nodes)
            while steps < most_steps and not clock.expired and damping < _MOST_DAMPING:
                steps += 1
                right, scale = self.gradient(at), self._diagonal(at)
                factor = self.factor(at, more=damping * scale)
                if factor is None:
                    damping *= _HARDER
                    continue
                step = factor.solve(-right)
                promised = -float(np.sum(step * right))
                if promised <= _CLOSE + _CLOSE_SHARE * now.cost:  # a strongly damped step promises little anywhere
                    return Minimum(now.nodes, now.cost, damping <= 1.0, steps)
                moved = now.nodes.copy()
                moved[self.free] += step
                cost = self.cost(moved)
                if cost < now.cost:
                    now, damping = Minimum(moved, cost, False, steps), damping * _EASIER
                    at = self.linearized(moved)
                else:
                    damping *= _HARDER
        except KeyboardInterrupt:
            return Minimum(now.nodes, now.cost, False, steps, interrupted=True)
        return Minimum(now.nodes, now.cost, False, steps)


def _roots(information: NDArray[np.float64], edges: int) -> NDArray[np.float64]:
    """Upper triangles R with I = R^T R."""
    try:
        return np.asarray(np.linalg.cholesky(information).transpose(0, 2, 1))
    except np.linalg.LinAlgError:
        for k, one in enumerate(information):
            try:
                np.linalg.cholesky(one)
            except np.linalg.LinAlgError:
                name = f"edge {k}" if k < edges else f"sighting {k - edges}"
                raise InputError(
                    f"the information matrix of {name} is singular to rounding: a correlation is too near to 1 to be "
                    "worked with. Mend it, or remove the edge."
                ) from None
        raise
