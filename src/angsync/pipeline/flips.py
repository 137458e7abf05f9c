r"""Single vortices: turn a measurement by a full turn, see whether the rest agrees better, and so on from there.

Around a cycle the residuals sum to the sum of the measured angles and some number of full turns. Local optima differ in
these numbers, and a step from one to the next moves a vortex across one measurement: its residual r goes through a half
turn and comes back on the other side. Where residuals are small beside a turn, f is about a sum of squares, and with
h the leverage of the measurement that step changes the sum of squares by :math:`4 \pi^2 (1 - h) - 4 \pi |r|`: it gains
where the residual that the measurement would have if it were left out, :math:`|r| / (1 - h)`, exceeds a half turn. With
cosines that is a guess, good enough to say where to try. So the measurements that are near to that are turned, one in
every piece of their neighborhoods, each piece is brought to its local optimum, and from there the next one is turned:
a vortex may have to cross several measurements before it gains.

The leverage is taken as :math:`w_{jl} (1/d_j + 1/d_l)`, d the sums of the weights at both ends: all of these together
are n, as those of all leverages are n - 1 (Foster), and on a regular lattice each is right.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.superlu import factorize
from angsync.pipeline.region import Region, nodes_around
from angsync.problem.operators import Operator, SparseOperator
from angsync.problem.operators.edge_list import EdgeList
from angsync.solvers.stopping import Clock
from angsync.solvers.tangent import edge_laplacian, edge_sums

_NEAR = 0.65  # of a half turn: residuals, as if left out, from which a turn is tried
_LEAST_RADIANS = np.pi / 4  # of the residual itself: below, the leverage is near one, and not known well enough
# Steps around a measurement, and what a turn may lose there, in units of its modulus, to be tried in a wider
# neighborhood. A rigid ground costs: a vortex that moves by one or two cells loses 0.15, 0.05 and 0.015 to it.
_STAGES: tuple[tuple[int, float], ...] = ((6, 0.3), (16, 0.1), (48, 0.03))
_WHOLE_UP_TO_NODES = 60_000  # up to which the last stage, where nothing is rigid, is affordable
_LOCAL_SHARE = 0.05  # of all nodes: a neighborhood at the first stage that is larger is none
_ROUNDS = 12  # sets of measurements that are turned side by side, at a stage
_DEPTH = 3  # turns one after the other
_ELSEWHERE = 0.3  # radians that a node moves at least from one local optimum to another
_PASSES = 2  # through all of this, as long as that helps
_MOST_STEPS, _SETTLED = 20, 3e-3  # of a relaxation, and the largest move in radians at which it ends


def doubt(edges: EdgeList, z: NDArray) -> NDArray[np.float64]:
    """The residual of every measurement if it were left out, about, as a share of a half turn; 0 for small ones."""
    residual = np.abs(np.angle(np.conj(z[edges.i]) * edges.value * z[edges.j]))
    return np.where(residual < _LEAST_RADIANS, 0.0, residual / (np.pi * _redundancy(edges)))


def _redundancy(edges: EdgeList) -> NDArray[np.float64]:
    moduli = np.abs(edges.value)
    degrees = edge_sums(EdgeList(edges.n, edges.i, edges.j, moduli))
    return np.maximum(1 - moduli * (1 / degrees[edges.i] + 1 / degrees[edges.j]), 0.05)


def turned(operator: Operator, z: NDArray, clock: Clock) -> NDArray | None:
    """A point with a larger objective by turns of single measurements, or None; z itself is not changed."""
    sparse, best = operator.sparse(), None
    for _ in range(_PASSES):
        better = None
        if sparse is not None and not clock.expired:
            better = flipped(sparse.operator, z if best is None else best, clock)
        if better is None:
            break
        best = better
    return None if best is None else best.astype(operator.dtype)


def flipped(base: SparseOperator, z: NDArray, clock: Clock) -> NDArray | None:
    """A point with a larger objective, or None."""
    doubts = doubt(base.edges, z)
    places = np.flatnonzero(doubts > _NEAR)
    places = places[np.argsort(-doubts[places], kind="stable")]
    if places.size and nodes_around(base, places[:1], _STAGES[0][0]).sum() > _LOCAL_SHARE * base.n:
        return None  # everything is near to everything
    here = z
    for reach, allowed_loss in (*_STAGES, (0, 0.0)):
        if reach == 0 and base.n > _WHOLE_UP_TO_NODES:
            break
        promising: list[NDArray] = []
        for _ in range(_ROUNDS):
            if places.size == 0 or clock.expired:
                break
            now, owners = _far_apart(base, places, reach) if reach else (places[:1], np.arange(base.n) > 0)
            places = np.setdiff1d(places, now, assume_unique=True)
            region = Region(base, here, owners)
            if not region.is_connected:
                continue
            promising.append(now[_turned(region, _placed(base, region, now), allowed_loss, clock)])
            improved = region.improved
            here = here if improved is None else improved
        places = np.concatenate(promising) if promising else places[:0]
    return None if here is z else here


def _far_apart(base: SparseOperator, places: NDArray, reach: int) -> tuple[NDArray, NDArray[np.bool_]]:
    """Some of these edges, far enough from each other for a neighborhood of its own each, and all neighborhoods.

    An edge is taken where no other one with a larger number reaches one of its ends: by and by all are.
    """
    edges = base.edges
    # a way of so many steps between two of them is nowhere further from both than this
    near = np.flatnonzero(nodes_around(base, places, reach + 1))
    label = np.full(base.n, -1, dtype=np.int64)
    label[near] = np.arange(near.size)
    i, j = label[edges.i[places]], label[edges.j[places]]
    within = base.matrix[near][:, near]
    indptr, indices = within.indptr, within.indices
    number = np.zeros(near.size, dtype=np.int64)
    mine = np.arange(places.size, 0, -1)
    np.maximum.at(number, i, mine)
    np.maximum.at(number, j, mine)
    for _ in range(2 * reach + 2):  # the largest number of all nodes within so many steps
        spread = np.maximum.reduceat(np.append(number[indices], 0), indptr[:-1])
        spread[np.diff(indptr) == 0] = 0
        number = np.maximum(number, spread)
    taken = places[(number[i] == mine) & (number[j] == mine)]
    return taken, nodes_around(base, taken, reach)


def _placed(base: SparseOperator, region: Region, places: NDArray) -> NDArray[np.int64]:
    """The places of these edges among those of the region, in which both ends of each are."""
    size = np.int64(base.n + 1)

    def keys(i: NDArray, j: NDArray) -> NDArray[np.int64]:
        found: NDArray = np.minimum(i, j) * size + np.maximum(i, j)
        return found

    own = keys(region.edges.i, region.edges.j)
    order = np.argsort(own)
    asked = keys(region.label[base.edges.i[places]], region.label[base.edges.j[places]])
    found: NDArray = order[np.searchsorted(own, asked, sorter=order)]
    return found


def _turned(region: Region, firsts: NDArray[np.int64], allowed_loss: float, clock: Clock) -> NDArray[np.bool_]:
    """Turn these measurements, one in every piece, then others beside them; the region keeps what is better.

    For each of them whether it led to another local optimum without a gain, but also without more loss than allowed.
    """
    edges, chosen, state = region.edges, firsts, _Lifted(region.edges)
    if state.factor is None:
        return np.zeros(firsts.size, dtype=bool)
    most, t = np.full(region.present.size, -np.inf), np.zeros(edges.n)
    for _ in range(_DEPTH):
        state = state.turned(chosen)
        value = region.values(np.exp(1j * state.t))
        better = value > most
        most = np.where(better, value, most)
        t[:-1] = np.where(better[region.pieces], state.t[:-1], t[:-1])
        chosen = _best_of_pieces(region, np.flatnonzero(_beside(edges, chosen) & (state.turns == 0)), state)
        if chosen.size == 0:
            break
    before = region.value
    w = _relaxed(edges, state, t, clock)
    region.compare(w)
    lost = (before - region.values(w))[region.owner[firsts]]
    found: NDArray = (lost > 0) & (lost < allowed_loss * state.moduli[firsts]) & _is_elsewhere(region, w, firsts)
    return found


class _Lifted:
    """Residuals that may exceed a half turn, in the sum of squares: what turns of single measurements make of them."""

    def __init__(self, edges: EdgeList) -> None:
        self.edges, self.moduli, self.redundancy = edges, np.abs(edges.value), _redundancy(edges)
        laplacian = edge_laplacian(EdgeList(edges.n, edges.i, edges.j, self.moduli), ground=1.0)
        self.factor = factorize(laplacian)
        self.residual = np.angle(edges.value)
        self.turns = np.zeros(edges.i.size)
        self.t = np.zeros(edges.n)
        """By how much the nodes have moved."""

    def turned(self, chosen: NDArray[np.int64]) -> _Lifted:
        """With the residuals chosen a full turn smaller, and all nodes where the squares are least.

        A residual changes by t_j - t_i: L t = sum of 2 pi |C_jl| (e_j - e_i), with the sign of the residual.
        """
        assert self.factor is not None
        after, edges = copy.copy(self), self.edges
        turn = 2 * np.pi * np.sign(self.residual[chosen])
        load = np.zeros(edges.n)
        np.add.at(load, edges.j[chosen], turn * self.moduli[chosen])
        np.add.at(load, edges.i[chosen], -turn * self.moduli[chosen])
        t = self.factor.solve(load)
        t -= t[-1]
        after.t = self.t + t
        after.residual = self.residual + t[edges.j] - t[edges.i]
        after.residual[chosen] -= turn
        after.turns = self.turns.copy()
        after.turns[chosen] += 1
        return after


def _best_of_pieces(region: Region, candidates: NDArray[np.int64], state: _Lifted) -> NDArray[np.int64]:
    """In every piece that candidate whose turn gains most in squares, by its weight."""
    squares = np.pi * state.redundancy[candidates] - np.abs(state.residual[candidates])
    order = candidates[np.lexsort((squares * state.moduli[candidates], region.owner[candidates]))]
    return order[np.unique(region.owner[order], return_index=True)[1]]


def _beside(edges: EdgeList, last: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The measurements both of whose ends are within a step of the last ones: a vortex moves on there."""
    beside = np.zeros(edges.n, dtype=bool)
    beside[edges.i[last]] = beside[edges.j[last]] = True
    touched = beside[edges.i] | beside[edges.j]
    beside[edges.i[touched]] = beside[edges.j[touched]] = True
    beside[-1] = False  # the ground is beside everything
    found: NDArray = beside[edges.i] & beside[edges.j]
    return found


def _is_elsewhere(region: Region, w: NDArray, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the pieces of these edges did not come back to where they were."""
    moved = np.abs(w[:-1] - 1)
    most = np.zeros(region.present.size)
    np.maximum.at(most, region.pieces, moved)
    found: NDArray = most[region.owner[places]] > _ELSEWHERE
    return found


def _relaxed(edges: EdgeList, state: _Lifted, t: NDArray[np.float64], clock: Clock) -> NDArray:
    r"""The local optimum from there, nearly, with the ground where it is.

    With L the Laplacian of the moduli and b half of the gradient, :math:`f + 2 b^T t - t^T L t` is below f along
    :math:`w e^{it}`, as :math:`\cos(r + t) \ge \cos r - t \sin r - t^2 / 2`: each step :math:`t = L^{-1} b` gains.
    """
    assert state.factor is not None
    w = np.exp(1j * t)
    for _ in range(_MOST_STEPS):
        if clock.expired:
            break
        pull = (np.conj(w[edges.i]) * edges.value * w[edges.j]).imag
        t = state.factor.solve(np.bincount(edges.i, pull, edges.n) - np.bincount(edges.j, pull, edges.n))
        t -= t[-1]
        w = w * np.exp(1j * t)
        if float(np.abs(t).max()) < _SETTLED:
            break
    return w
