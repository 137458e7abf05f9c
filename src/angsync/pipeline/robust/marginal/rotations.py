r"""Edges of one angle each: :math:`r_k = \sqrt{w_k}\, \mathrm{wrap}(a_k - \theta_i + \theta_j)`, s in radians."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.kernels.blas import in_one_thread
from angsync.kernels.time_limit import check
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.marginal.model import Floats, Mask, Places
from angsync.problem.pieces import piece_labels

if TYPE_CHECKING:
    from angsync.pipeline.robust.marginal.score import Belief

_LARGEST_SCALE = 1.0  # radians: a normal law of this width is hardly narrower than the circle
_MAX_STEPS = 30
_DRAWS = 8  # for the mean error of the nodes
_STEP_RADIANS = 1e-9  # a step this small ends the iteration


class Rotations:
    r"""Measured angles of a graph; states x are angles of the nodes. Residuals :math:`r_k(x)` are *whitened*: divided
    by the stated deviation, so that good ones are normal with the deviation s, one number for all edges."""

    nodes: int
    i: Places
    j: Places
    peak: Floats
    """Of every edge: logarithm of the density of a good one with s = 1 at its peak over the density of a wrong one."""
    level: float
    """What makes the evidence of a spanning tree 0: log of (2 pi)^(1/2) u for every node but one a piece, u the
    uniform density of a node and of a wrong edge."""
    least_scale: float
    """The scale below which edges count as exact."""
    largest_scale = _LARGEST_SCALE
    """The scale from which a good edge is no better than a wrong one."""
    kinds: Places | None = None
    """The kind of every edge, 0, 1, ...: the share of wrong ones is that of its kind (steps of a robot's odometry are
    wrong less often than loops); -1 for edges that are right. None: all edges are of one kind."""

    def __init__(self, edges: Edges) -> None:
        self.nodes, self.least_scale = edges.n, edges.floor
        self.i, self.j = edges.i, edges.j
        self.angle = np.angle(edges.turn)
        self._precision = edges.precision
        self.root = np.sqrt(edges.precision)
        # density 1 / (sqrt(2 pi) s) at the peak, in units of the whitened residual, over that of a uniform angle
        self.peak = np.log(math.sqrt(2 * math.pi) * self.root)
        self._components = piece_labels(self.nodes, self.i, self.j)
        self._count = int(self._components.max(initial=-1)) + 1
        self.level = (self.nodes - self._count) * 0.5 * math.log(1 / (2 * math.pi))
        self._reduced = self._without_one_node_a_piece()
        self._last: tuple[bytes, RotationFactor] | None = None

    @property
    def pieces(self) -> int:
        return self._count

    def _without_one_node_a_piece(self) -> Places:
        """The row of every node; the last row, which is cut off, for the first node of each piece."""
        grounded = np.unique(self._components, return_index=True)[1]
        free = np.ones(self.nodes, dtype=bool)
        free[grounded] = False
        rows = np.full(self.nodes, int(free.sum()))
        rows[free] = np.arange(int(free.sum()))
        return rows

    def load(self, weights: Floats, x: Floats) -> Floats:
        """What the residuals at x pull the nodes by: H times the step of Gauss and Newton."""
        pull = weights * self.root * self.residuals(x)[:, 0]
        return _summed(self.i, pull, self.nodes) - _summed(self.j, pull, self.nodes)

    def residuals(self, x: NDArray) -> Floats:
        return (self.root * wrap(self.angle - x[self.i] + x[self.j]))[:, None]

    def wrapped(self, rho: Floats, edges: Places) -> Floats:
        root = self.root[edges][..., None]
        return root * wrap(rho / root)

    def solve(self, weights: Floats, x: NDArray) -> NDArray:
        factor = self.factor(weights, x)
        previous = math.inf
        for _ in range(_MAX_STEPS):
            check()
            step = factor.states(self.load(weights, x))
            x = x + step
            size = float(np.abs(step).max(initial=0.0))
            if not math.isfinite(size):
                raise FloatingPointError("the weights span too many orders of magnitude")
            if size < _STEP_RADIANS or (size > 0.9 * previous and size < 1e-3):
                break
            previous = size
        return x

    def inverse(self, weights: Floats) -> tuple[Floats, float]:
        """H^-1 as a full matrix over all nodes, with zeros for the first node of each piece; and log det H."""
        conductance = weights * self._precision
        rows, size = self._reduced, int(self._reduced.max(initial=0))
        matrix = np.zeros((size + 1, size + 1))
        a, b = rows[self.i], rows[self.j]
        for left, right, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            np.add.at(matrix, (left, right), sign * conductance)
        matrix[size] = matrix[:, size] = 0
        with in_one_thread():
            root = np.linalg.cholesky(matrix[:size, :size])
            matrix[:size, :size] = np.linalg.inv(matrix[:size, :size])
        return matrix[np.ix_(rows, rows)], 2 * float(np.log(np.diagonal(root)).sum())

    def factor(self, weights: Floats, x: NDArray) -> RotationFactor:
        key = weights.tobytes()
        if self._last is None or self._last[0] != key:  # a set is factorized to solve and once more to be judged
            self._last = key, RotationFactor(self, weights * self._precision)
        return self._last[1]

    def along(self, tree: Mask) -> NDArray:
        places = np.flatnonzero(tree)
        i, j = self.i[places], self.j[places]
        # theta_j = theta_i - a; both directions are stored, and the search keeps the one it walks
        graph = scipy.sparse.coo_array(
            (np.ones(2 * places.size), (np.concatenate([i, j]), np.concatenate([j, i]))), (self.nodes, self.nodes)
        ).tocsr()
        step = {}
        for k, a, b in zip(places.tolist(), i.tolist(), j.tolist(), strict=True):
            step[a, b], step[b, a] = -self.angle[k], self.angle[k]
        x = np.zeros(self.nodes)
        for root in np.unique(self._components, return_index=True)[1]:
            order, parent = scipy.sparse.csgraph.breadth_first_order(graph, root, directed=True)
            for node in order[1:].tolist():
                x[node] = x[parent[node]] + step[int(parent[node]), node]
        return x

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

    def spread(self, belief: Belief) -> float:
        """From draws of the law of the nodes."""
        none = np.zeros(self.nodes)
        return float(np.mean([self.difference(one, none) for one in self.noise(belief, _DRAWS)]))

    def noise(self, belief: Belief, count: int) -> Iterator[Floats]:
        """So many draws of what the noise turns the nodes by: normal with the covariance s^2 H^-1."""
        rng = np.random.default_rng(0)
        factor = self.factor(belief.believed.astype(np.float64), belief.x)
        believed = np.flatnonzero(belief.believed)
        for _ in range(count):
            pull = belief.scale * rng.standard_normal(believed.size) * self.root[believed]
            load = _summed(self.i[believed], pull, self.nodes) - _summed(self.j[believed], pull, self.nodes)
            yield factor.states(load)

    def difference(self, x: NDArray, y: NDArray) -> float:
        turn = np.exp(1j * (x - y))
        total = np.bincount(self._components, turn.real) + 1j * np.bincount(self._components, turn.imag)
        return float(np.degrees(np.mean(np.abs(np.angle(turn * np.conj(total[self._components]))))))


class RotationFactor:
    """The weighted Laplacian without one node a piece."""

    def __init__(self, model: Rotations, conductance: Floats) -> None:
        self._model = model
        rows = model._reduced
        self._size = size = int(rows.max(initial=0))
        used = np.flatnonzero(conductance > 0)
        a, b, c = rows[model.i[used]], rows[model.j[used]], conductance[used]
        degree = np.bincount(np.concatenate([a, b]), np.concatenate([c, c]), size + 1)
        diagonal = np.arange(size + 1)
        matrix = scipy.sparse.coo_array(
            (
                np.concatenate([degree, -c, -c]),
                (np.concatenate([diagonal, a, b]), np.concatenate([diagonal, b, a])),
            ),
            shape=(size + 1, size + 1),
        ).tocsc()
        self._lu = None
        self._known: dict[bytes, Floats] = {}
        self.log_det = 0.0
        if size:
            with in_one_thread():
                self._lu = scipy.sparse.linalg.splu(
                    matrix[:size, :size],
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.0,
                    options={"SymmetricMode": True},
                )
            self.log_det = float(np.sum(np.log(np.abs(self._lu.U.diagonal()))))

    def states(self, load: Floats) -> Floats:
        """Angles, 0 at the first node of each piece, that these loads on the nodes turn them by."""
        model = self._model
        right = np.zeros(self._size + 1)
        right[model._reduced] = load
        solved = np.zeros(self._size + 1)
        if self._lu is not None:
            solved[: self._size] = self._lu.solve(right[: self._size])
        return solved[model._reduced]

    def blocks(self, groups: Places) -> Floats:
        # the last pass of an ascent, the doubts about it and an ascent from the same set ask for the same blocks
        key = groups.tobytes()
        if key not in self._known:
            self._known[key] = self._blocks(groups)
        return self._known[key]

    def _blocks(self, groups: Places) -> Floats:
        model = self._model
        edges, place = np.unique(groups, return_inverse=True)
        place = place.reshape(groups.shape)
        rows = model._reduced
        chosen = np.maximum(edges, 0)
        right = np.zeros((self._size + 1, edges.size), order="F")
        across = np.arange(edges.size)
        root = np.where(edges >= 0, model.root[chosen], 0.0)
        np.add.at(right, (rows[model.i[chosen]], across), root)
        np.add.at(right, (rows[model.j[chosen]], across), -root)
        x = np.zeros_like(right)
        if self._lu is not None:
            check()
            with in_one_thread():
                x[: self._size] = self._lu.solve(right[: self._size])
        at_i, at_j = rows[model.i[chosen]][place], rows[model.j[chosen]][place]
        column = place[:, None, :]
        return root[place][:, :, None] * (x[at_i[:, :, None], column] - x[at_j[:, :, None], column])


def _summed(places: Places, values: Floats, count: int) -> Floats:
    return np.bincount(places, values, count).astype(np.float64)


def wrap(angle: Floats) -> Floats:
    """Angles in [-pi, pi]."""
    return angle - 2 * math.pi * np.round(angle / (2 * math.pi))
