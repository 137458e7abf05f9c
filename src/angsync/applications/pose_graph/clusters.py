r"""Loops that may be wrong together: a place that was mistaken for another one is mistaken from several poses in a row.

Loops of one group have both ends close to each other. If the place was mistaken, they agree with each other although
they disagree with the world: one common displacement T of the second place explains them all. For a pivot p the
displacement makes loop p fit exactly; what is left of loop k is then

.. math:: e = r_k - G r_p, \qquad G = B_k B_p^{-1}, \qquad
          \operatorname{Cov} e = C_{kk} - G C_{pk} - C_{kp} G^T + G C_{pp} G^T,

with the derivatives B by T, all taken in the displaced world, and C = I + (what the poses on the way add). Its
density relative to a uniform one is what two wrong loops are worth more together than alone. Without this alternative
five loops from one mistaken place count as five independent witnesses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.equations import D
from angsync.applications.pose_graph.model import PoseFit, PoseModel
from angsync.circle import wrap
from angsync.solvers.stopping import Clock

REACH_POSES = 5  # loops whose ends are both within so many poses are one group
_MOST_LOOPS = 12  # of one group: its subsets are searched
_AT_ONCE = 2000  # pairs between two looks at the clock: 0.1 s of a graph of 3500 poses
_WRONG_SCALES = (2.0, 1.0, 0.5, 0.25, 0.125, 0.0625)  # of the noise within a mistaken place, in units of the stated


def groups_of(i: NDArray[np.int64], j: NDArray[np.int64], loops: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The loops (places in the list of edges) in groups of neighbors."""
    low, high = np.minimum(i, j)[loops], np.maximum(i, j)[loops]
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    ends = np.searchsorted(low, low + REACH_POSES, side="right")
    free = np.ones(loops.size, dtype=bool)
    found = []
    for t in range(loops.size):
        if free[t]:
            near = np.arange(t, ends[t])
            near = near[free[near] & (np.abs(high[near] - high[t]) <= REACH_POSES)][:_MOST_LOOPS]
            free[near] = False
            found.append(loops[order[near]])
    return found


class Clusters:
    """What the loops of each group are worth together: log densities relative to a uniform one."""

    def __init__(
        self, model: PoseModel, groups: NDArray[np.int64], edges: NDArray[np.int64], fit: PoseFit, clock: Clock
    ) -> None:
        sizes = np.diff(groups)
        square = np.concatenate([[0], np.cumsum(sizes**2)])
        self._pivot, self._other, self._place = _ordered_pairs(groups, square)
        self._size, self._loops = int(square[-1]), edges.size
        self._starts = groups[:-1]
        self._edges = edges
        self._half_log, self._squares = np.full((2, self._pivot.size), np.inf)  # where no time is left: no agreement
        for begin in range(0, self._pivot.size, _AT_ONCE):
            if clock.expired:
                break
            part = slice(begin, begin + _AT_ONCE)
            both = disagreement(model, edges[self._pivot[part]], edges[self._other[part]], fit)
            self._half_log[part], self._squares[part] = both

    def table(self, peak: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
        """For every group the square [pivot, other], flat; never below 0: uniform is always possible."""
        table = np.zeros(self._size)
        table[self._place] = self._worth(peak, scale)
        return table

    def together(self, peak: NDArray[np.float64], believed: NDArray[np.bool_]) -> tuple[float, float]:
        """What the loops not believed are worth together, and the noise scale of wrong loops that fits them best.

        It need not be that of the others: what a wrong match says about its neighbors is another kind of error.
        """
        out = ~believed[self._edges]
        pairs = out[self._pivot] & out[self._other]
        if not pairs.any():
            return 0.0, 1.0
        best = (-1.0, 1.0)
        for scale in _WRONG_SCALES:
            rows = np.bincount(self._pivot, self._worth(peak, scale) * pairs, minlength=self._loops)
            best = max(best, (float(np.maximum.reduceat(rows, self._starts).sum()), scale))
        return best

    def _worth(self, peak: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
        value = peak[self._edges[self._other]] - D * np.log(scale) - self._half_log - self._squares / (2 * scale**2)
        return np.maximum(value, 0.0)


def _ordered_pairs(
    groups: NDArray[np.int64], square: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    pivots, others, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for g in np.flatnonzero(np.diff(groups) > 1):
        count = int(groups[g + 1] - groups[g])
        p, k = np.nonzero(~np.eye(count, dtype=bool))
        pivots.append(groups[g] + p)
        others.append(groups[g] + k)
        places.append(square[g] + p * count + k)
    return np.concatenate(pivots), np.concatenate(others), np.concatenate(places)


def disagreement(
    model: PoseModel, p: NDArray[np.int64], k: NDArray[np.int64], fit: PoseFit
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Half the log determinant of Cov e, and e^T inv(Cov e) e, for every pair of loops."""
    i, j, motion = model.i, model.j, model.graph.motion
    # loops of a group may be written in either direction: the place that is displaced is the one that is near in both
    turned = (i[p] < j[p]) != (i[k] < j[k])
    position, heading = fit.poses[:, 0] + 1j * fit.poses[:, 1], fit.poses[:, 2]
    # the displacement that takes pose j of the pivot to where the pivot says it is
    turn = heading[i[p]] + motion[p, 2] - heading[j[p]]
    target = position[i[p]] + np.exp(1j * heading[i[p]]) * (motion[p, 0] + 1j * motion[p, 1])
    spin = np.exp(1j * turn)

    def displaced(node: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
        return target + spin * (position[node] - position[j[p]]), heading[node] + turn

    def seen(edge: NDArray[np.int64], second_moves: NDArray[np.bool_]) -> tuple[NDArray, ...]:
        """Whitened residual, derivatives by the two poses as they lie in the fit, and by the displacement."""
        moved_i, moved_j = displaced(i[edge]), displaced(j[edge])
        at_i = np.where(second_moves, position[i[edge]], moved_i[0])
        at_j = np.where(second_moves, moved_j[0], position[j[edge]])
        angle_i = np.where(second_moves, heading[i[edge]], moved_i[1])
        angle_j = np.where(second_moves, moved_j[1], heading[j[edge]])
        back = np.exp(-1j * angle_i)
        way = back * (at_j - at_i)
        gap = way - (motion[edge, 0] + 1j * motion[edge, 1])
        plain = np.column_stack([gap.real, gap.imag, wrap(angle_j - angle_i - motion[edge, 2])])
        one = np.ones(edge.size)
        by_second = _linear(back * np.where(second_moves, spin, one), 0 * way, one)
        by_first = _linear(-back * np.where(second_moves, one, spin), -1j * way, -one)
        # of the displacement: a shift, and a turn around where the pivot's pose lies now
        arm = np.where(second_moves, back * 1j * (at_j - target), -back * 1j * (at_i - target) - 1j * way)
        by_place = _linear(np.where(second_moves, back, -back), arm, np.where(second_moves, one, -one))
        W = model.whitening[edge]
        return W * plain, W[:, :, None] * by_first, W[:, :, None] * by_second, W[:, :, None] * by_place

    always = np.ones(p.size, dtype=bool)
    r_p, first_p, second_p, place_p = seen(p, always)
    r_k, first_k, second_k, place_k = seen(k, ~turned)
    C = model.covariances(
        fit, np.arange(0, 2 * p.size + 1, 2), _woven(p, k), _woven(first_p, first_k), _woven(second_p, second_k)
    ).reshape(-1, 2 * D, 2 * D) + np.eye(2 * D)
    G = place_k @ np.linalg.inv(place_p)
    e = r_k - (G @ r_p[:, :, None])[:, :, 0]
    Gt = G.transpose(0, 2, 1)
    covariance = C[:, D:, D:] - G @ C[:, :D, D:] - C[:, D:, :D] @ Gt + G @ C[:, :D, :D] @ Gt
    L = np.linalg.cholesky(covariance)
    y = np.linalg.solve(L, e[:, :, None])[:, :, 0]
    return np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1), np.einsum("ka,ka->k", y, y)


def _linear(turn: NDArray, arm: NDArray, angle: NDArray) -> NDArray[np.float64]:
    """The matrix of (shift, angle) -> (turn * shift + arm * angle, angle * angle)."""
    matrix = np.zeros((turn.size, D, D))
    matrix[:, 0, 0] = matrix[:, 1, 1] = turn.real
    matrix[:, 0, 1], matrix[:, 1, 0] = -turn.imag, turn.imag
    matrix[:, 0, 2], matrix[:, 1, 2] = arm.real, arm.imag
    matrix[:, 2, 2] = angle
    return matrix


def _woven(a: NDArray, b: NDArray) -> NDArray:
    """a[0], b[0], a[1], b[1], ..."""
    return np.stack([a, b], axis=1).reshape(-1, *a.shape[1:])
