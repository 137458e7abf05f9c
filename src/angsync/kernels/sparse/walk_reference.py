r"""Moves of a random walk over sets of believed edges of one angle each: what the compiled kernel computes, by NumPy.

A set S has the density :math:`e^{\beta E(S)}` (beta: ``coldness``). Moves: one edge in or out (Gibbs), and swaps: one
edge in, then one of all out, by the probabilities of what is left (reversible, because either way the set between is
the same). The inverse of H and the angles are updated by rank one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BRIDGE = 1e-7  # 1 - h below ten times this: the edge alone holds a piece
_WEAR = 1e-3  # 1 - h of an edge taken out below this: three digits of the inverse are gone


@dataclass(eq=False)
class WalkState:
    """A set, with the angles and the inverse of H that belong to it; edges are i, j, angle and root of the weight."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    angle: NDArray[np.float64]
    root: NDArray[np.float64]
    free: NDArray[np.int64]
    """Edges that may be in or out."""
    believed: NDArray[np.bool_]
    x: NDArray[np.float64]
    inverse: NDArray[np.float64]

    def walk(
        self, uniform: NDArray[np.float64], price: NDArray[np.float64], scale: float, coldness: float, swaps: float
    ) -> tuple[int, float]:
        """As many moves as ``uniform`` has rows (three numbers in [0, 1) each), fewer where the inverse has to be
        reckoned anew before the next one: how many, and by how much log det H has grown."""
        self._price, self._scale, self._grown, self._is_worn = price, scale, 0.0, False
        for count, (kind, choice, chance) in enumerate(uniform.tolist(), 1):
            if kind < swaps:
                self._swap(choice, chance, coldness)
            else:
                self._flip(int(self.free[int(choice * self.free.size)]), chance, coldness)
            if self._is_worn:
                return count, self._grown
        return len(uniform), self._grown

    def _log_odds_in(self, edges: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of these edges: log of the odds to be believed, given all others, and h."""
        inverse = self.inverse
        i, j, root = self.i[edges], self.j[edges], self.root[edges]
        h = root**2 * (inverse[i, i] + inverse[j, j] - 2 * inverse[i, j])
        angle = _wrap(self.angle[edges] - self.x[i] + self.x[j])
        inside = self.believed[edges]
        left = np.where(inside, np.maximum(1 - h, _BRIDGE), 1.0)
        rho = root * np.where(inside, _wrap(angle / left), angle)
        variance = np.where(inside, 1 / left, 1 + h)
        value = self._price[edges] - math.log(self._scale) - rho**2 / (2 * self._scale**2 * variance)
        return value - 0.5 * np.log(variance), h

    def _flip(self, edge: int, chance: float, coldness: float) -> None:
        value, h = self._log_odds_in(np.array([edge]))
        inside = bool(self.believed[edge])
        if inside and 1 - h[0] < 10 * _BRIDGE:
            return
        wanted = chance < 1 / (1 + math.exp(min(-float(value[0]) * coldness, 700.0)))
        if wanted != inside:
            self._change(edge)

    def _swap(self, choice: float, chance: float, coldness: float) -> None:
        outside = self.free[~self.believed[self.free]]
        if not outside.size:
            return
        edge = int(outside[int(choice * outside.size)])
        self._change(edge)
        inside = self.free[self.believed[self.free]]
        values, h = self._log_odds_in(inside)
        lost = np.where(1 - h < 10 * _BRIDGE, -np.inf, -values * coldness)
        if not np.isfinite(lost.max()):  # nothing can be left out, or the numbers are beyond what can be computed
            self._change(edge)
            return
        chances = np.cumsum(np.nan_to_num(np.exp(lost - lost.max())))
        out = int(np.searchsorted(chances, chance * chances[-1], side="right"))
        self._change(int(inside[min(out, inside.size - 1)]))

    def _change(self, edge: int) -> None:
        i, j, root = int(self.i[edge]), int(self.j[edge]), float(self.root[edge])
        column = root * (self.inverse[i] - self.inverse[j])
        h = root * float(column[i] - column[j])
        r = root * float(_wrap(self.angle[edge] - self.x[i] + self.x[j]))
        sign = -1.0 if self.believed[edge] else 1.0
        grown = 1 + sign * h
        self.inverse -= sign / grown * np.outer(column, column)
        self.x += sign * r / grown * column
        self.believed[edge] = sign > 0
        self._grown += math.log(grown)
        self._is_worn = self._is_worn or grown < _WEAR


def _wrap(angle: NDArray[np.float64]) -> NDArray[np.float64]:
    return angle - 2 * math.pi * np.round(angle / (2 * math.pi))
