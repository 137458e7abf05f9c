r"""Uphill in evidence by groups of edges.

With everything outside a group c fixed, and the believed edges of c (``in``) taken out, the others predict its
residuals: with :math:`H = A_c H_S^{-1} A_c^T`,

.. math:: \rho = r + H_{\cdot,in} (I - H_{in})^{-1} r_{in}, \qquad
          s^2 C, \quad C = I + H + H_{\cdot,in} (I - H_{in})^{-1} H_{in,\cdot}

(for one edge :math:`\rho = r / (1 - h)`, :math:`C = 1 / (1 - h)`). Believing the subset T then gains

.. math:: \sum_T (\mathrm{peak} - D \log s) - \rho_T^T C_{TT}^{-1} \rho_T / 2 s^2 - \tfrac12 \log\det C_{TT} .

Edges that alone hold a piece have h = 1. A piece that nothing holds may turn anywhere, as a uniform variable does,
so I - H is raised by :math:`s^{2} e^{-2\,\mathrm{peak}/D}`, with which such an edge gains nothing.

All groups are searched at once, by single flips from {as it is, none, all}; a flip is a sweep (Beaton 1964) of
:math:`[C, \rho; \rho^T, 0]`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.edges import least_doubtful_forest
from angsync.pipeline.robust.marginal.model import Floats, Mask, Places
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.problem.pieces import piece_count
from angsync.solvers.stopping import Clock

_SHARE_OF_LARGEST = 0.3  # groups that gain at least this share of the largest gain are changed together
_LEAST_GAIN = 1e-3  # nats
_MAX_ROUNDS = 30
_GROUPS_AT_ONCE = 512  # bounds the memory of the columns of the inverse


def ascend(
    model: Rotations,
    belief: Belief,
    groups: Places,
    *,
    scale: float | None,
    clock: Clock,
    search_scale: float | None = None,
    max_rounds: int = _MAX_ROUNDS,
) -> Belief:
    """From a belief up to one that no group improves; edges in no group stay as they are.

    ``scale`` is the scale given, or None; ``search_scale`` fixes the scale by which gains are reckoned.
    """
    live = np.ones(len(groups), dtype=bool)
    for _ in range(max_rounds):
        if clock.expired or not len(groups):
            break
        everything = bool(live.all())
        gains, wanted = group_gains(model, belief, groups[live], search_scale or belief.scale)
        best = float(gains.max(initial=0.0))
        if best < _LEAST_GAIN:
            if everything:
                break
            live[:] = True
            continue
        places = np.flatnonzero(live)
        gaining = gains >= _LEAST_GAIN
        better = _changed(model, belief, groups[places], gains, wanted, scale)
        if better is None:
            if everything:
                break
            live[:] = True
            continue
        belief = better
        live[:] = False
        live[places[gaining]] = True
    return belief


def _changed(
    model: Rotations, belief: Belief, groups: Places, gains: Floats, wanted: Mask, scale: float | None
) -> Belief | None:
    """The belief after the changes that gain most, fewer of them where together they lose; None where all lose."""
    order = np.argsort(-gains, kind="stable")
    count = int(np.count_nonzero(gains >= max(_SHARE_OF_LARGEST * gains.max(), _LEAST_GAIN)))
    while count:
        believed = belief.believed.copy()
        for k in order[:count][::-1]:  # where groups overlap, the larger gain has the last word
            inside = groups[k] >= 0
            believed[groups[k][inside]] = wanted[k][inside]
        held = with_bonds(model, believed, belief.x, belief.believed)
        if np.array_equal(held, belief.believed):
            return None
        other = judged(model, held, belief.x, scale)
        if other.evidence > belief.evidence + _LEAST_GAIN:
            return other
        count //= 4
    return None


def with_bonds(model: Rotations, believed: Mask, x: NDArray, rather: Mask | None = None) -> Mask:
    """The set with the edges of least residual added that hold together what would fall apart without them.

    Edges of ``rather`` come before all others.
    """
    if piece_count(model.nodes, model.i[believed], model.j[believed]) == model.pieces:
        return believed
    size = np.sum(model.residuals(x) ** 2, axis=1)
    if rather is not None:
        size = np.where(rather, size / (1 + size), 1 + size)
    return believed | least_doubtful_forest(model.nodes, model.i, model.j, believed, size)


def group_gains(model: Rotations, belief: Belief, groups: Places, scale: float) -> tuple[Floats, Mask]:
    """What the best subset of every group gains over the present one, and that subset as booleans (G, K)."""
    gains, wanted = np.zeros(len(groups)), np.zeros(groups.shape, dtype=bool)
    for begin in range(0, len(groups), _GROUPS_AT_ONCE):
        part = slice(begin, begin + _GROUPS_AT_ONCE)
        table = GroupTable(model, belief, groups[part], scale)
        present = table.believed
        base = table.moved_to(present)
        best, chosen = base, present
        for start in (present, np.zeros_like(present), table.valid):
            value, subset = table.climbed(start)
            better = value > best + 1e-12
            best = np.where(better, value, best)
            chosen = np.where(better[:, None], subset, chosen)
        gains[part], wanted[part] = best - base, chosen
    return gains, wanted


class GroupTable:
    """Predictions for the residuals of groups of edges, each with its believed edges left out."""

    def __init__(self, model: Rotations, belief: Belief, groups: Places, scale: float) -> None:
        width = groups.shape[1]
        self.valid = groups >= 0
        self.believed = self.valid & belief.believed[groups]
        self._width, self._s2 = width, scale**2
        edge = np.where(self.valid, groups, 0)
        price = model.peak + model.log_odds(belief.believed) - math.log(scale)
        self._price = np.where(self.valid, price[edge], -np.inf)
        flat = np.where(self.valid, model.residuals(belief.x)[edge, 0], 0.0)
        inside = self.believed
        H = belief.factor.blocks(groups)
        one = np.eye(width)
        ridge = scale**2 * np.exp(-2 * np.minimum(model.peak[edge], 300.0))
        left = np.where(inside[:, :, None] & inside[:, None, :], one - H, one)
        left = left + one * np.where(inside, ridge, 0.0)[:, None, :]
        outer = np.where(inside[:, None, :], H, 0.0)
        gain = outer @ np.linalg.inv(left)  # (I - H) is positive semidefinite, and raised by the ridge
        C = one + H + gain @ np.swapaxes(outer, 1, 2)
        self.C = 0.5 * (C + np.swapaxes(C, 1, 2))
        rho = flat + np.einsum("gkl,gl->gk", gain, np.where(inside, flat, 0.0))
        self.rho = model.wrapped(rho[..., None], edge)[..., 0]

    def climbed(self, start: Mask) -> tuple[Floats, Mask]:
        """Value and subset after single flips from this subset, each the best there is, as long as they gain."""
        value = self.moved_to(start)
        subset = start.copy()
        rows = np.arange(len(start))
        for _ in range(3 * self._width):
            gains = self._flips(subset)
            flip = np.argmax(gains, axis=1)
            step = gains[rows, flip]
            active = step > 1e-9
            if not active.any():
                break
            value = value + np.where(active, step, 0.0)
            self._sweep(flip, active)
            subset[rows[active], flip[active]] ^= True
        return value, subset

    def moved_to(self, subset: Mask) -> Floats:
        """Set the tables to this subset of every group; the value of the subset over that of none."""
        n = self.rho.shape[1]
        self._M = np.zeros((len(self.rho), n + 1, n + 1))
        self._M[:, :n, :n] = self.C
        self._M[:, :n, n] = self._M[:, n, :n] = self.rho
        value = np.zeros(len(self.rho))
        swept = np.zeros_like(subset)
        for place in range(self._width):
            active = subset[:, place]
            if not active.any():
                continue
            value = value + np.where(active, self._flips(swept)[:, place], 0.0)
            self._sweep(np.full(len(subset), place), active)
            swept[:, place] = active
        return value

    def _flips(self, subset: Mask) -> Floats:
        """Gain of every single flip. For an edge in the set the table has -C^-1 and C^-1 rho, of the set."""
        n = self._width
        v = np.maximum(np.where(subset, -1.0, 1.0) * np.einsum("gkk->gk", self._M[:, :n, :n]), 1e-300)
        square, log_det = self._M[:, :n, n] ** 2 / v, np.log(v)
        # out: V is the variance, b the residual; in: V is the inverse, b is V times it; b^T V^-1 b is the same
        joined = self._price - square / (2 * self._s2) - 0.5 * np.where(subset, -log_det, log_det)
        return np.where(self.valid, np.where(subset, -joined, joined), -np.inf)

    def _sweep(self, place: NDArray[np.int64], active: Mask) -> None:
        """Sweep the column of one edge of every active group, in or, the second time, out."""
        g = np.flatnonzero(active)
        M = self._M[g]
        rows = np.arange(len(g))
        p = place[g]
        column = M[rows, :, p]
        pivot = column[rows, p]
        M -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
        M[rows, :, p] = M[rows, p, :] = column / np.abs(pivot)[:, None]
        M[rows, p, p] = -1 / pivot
        self._M[g] = M
