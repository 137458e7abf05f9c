r"""A random walk over sets of believed edges, with the probability :math:`\pi(S) e^{E(S)}`, on graphs of some hundred
edges: what ascents miss it may find, and how far its answers are from the best is the doubt about the best.

Moves: one edge in or out (Gibbs), and swaps: one edge in, then one of all out, by the probabilities of what is left
(reversible, because either way the set between is the same). The inverse of H and the angles are updated by rank one.
The scale is drawn anew at every sweep from its law given the residuals. Warm walks (temperature above 1) explore.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.marginal.ascent import ascend, with_bonds
from angsync.pipeline.robust.marginal.model import Floats, Mask
from angsync.pipeline.robust.marginal.rotations import Rotations, wrap
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.pipeline.robust.marginal.search import Found, Task
from angsync.solvers.stopping import Clock

_MOVES = 2500  # of one walk
_SWAPS = 0.3  # share of swaps among the moves
_WARM = 2.0  # temperature of the exploring walks
_RENEWED_EVERY = 400  # moves after which the inverse is reckoned anew
_LOOKS = 80  # samples of one walk
_ROUNDS = 3  # walks from a new best, at most
_BRIDGE = 1e-7  # 1 - h below this: the edge alone holds a piece


@dataclass(eq=False)
class Walk:
    """Where the walk is, and what it saw."""

    model: Rotations
    believed: Mask
    x: Floats
    scale: float
    given: float | None
    free: NDArray[np.int64]
    temperature: float
    rng: np.random.Generator
    gain: float = 0.0
    """Evidence over that of the beginning, roughly: the scale changes on the way."""
    best_gain: float = 0.5
    best: Mask | None = None
    seen: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._price = self.model.peak + self.model.log_odds(self.believed)
        self._renew()

    def go(self, moves: int, clock: Clock) -> None:
        """Wander; states are looked at in regular intervals."""
        for count in range(1, moves + 1):
            if count % _RENEWED_EVERY == 0:
                if clock.expired:
                    break
                self._renew()
            if self.rng.random() < _SWAPS:
                self._swap()
            else:
                self._flip(int(self.free[self.rng.integers(self.free.size)]))
            if count % self.free.size == 0 and self.given is None:
                self._draw_scale()
            if self.gain > self.best_gain:
                self.best_gain, self.best = self.gain, self.believed.copy()
            if count % max(1, moves // _LOOKS) == 0:
                self.seen.append(self.x.copy())

    def _renew(self) -> None:
        model = self.model
        weights = self.believed.astype(np.float64)
        self.x = model.solve(weights, self.x)
        self._inverse = model.inverse(weights)

    def _draw_scale(self) -> None:
        cycles = int(self.believed.sum()) - (self.model.nodes - self.model.pieces)
        if cycles > 0:
            square = float(np.sum(self.model.residuals(self.x)[self.believed] ** 2))
            drawn = math.sqrt(square / self.rng.chisquare(cycles))
            self.scale = min(max(drawn, self.model.least_scale), self.model.largest_scale)
        self._price = self.model.peak + self.model.log_odds(self.believed)

    def _log_odds_in(self, edges: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Of these edges: log of the odds to be believed, given all others, and h."""
        model, inverse = self.model, self._inverse
        i, j, root = model.i[edges], model.j[edges], model.root[edges]
        h = root**2 * (inverse[i, i] + inverse[j, j] - 2 * inverse[i, j])
        angle = wrap(model.angle[edges] - self.x[i] + self.x[j])
        inside = self.believed[edges]
        left = np.where(inside, np.maximum(1 - h, _BRIDGE), 1.0)
        rho = root * np.where(inside, wrap(angle / left), angle)
        variance = np.where(inside, 1 / left, 1 + h)
        value = self._price[edges] - math.log(self.scale) - rho**2 / (2 * self.scale**2 * variance)
        return value - 0.5 * np.log(variance), h

    def _flip(self, edge: int) -> None:
        value, h = self._log_odds_in(np.array([edge]))
        inside = bool(self.believed[edge])
        if inside and 1 - h[0] < 10 * _BRIDGE:
            return
        odds = float(value[0]) / self.temperature
        wanted = self.rng.random() < 1 / (1 + math.exp(min(-odds, 700.0)))
        if wanted != inside:
            self._change(edge)
            self.gain += float(value[0]) * (1 if wanted else -1)

    def _swap(self) -> None:
        outside = self.free[~self.believed[self.free]]
        if not outside.size:
            return
        edge = int(outside[self.rng.integers(outside.size)])
        value, _ = self._log_odds_in(np.array([edge]))
        self._change(edge)
        inside = self.free[self.believed[self.free]]
        values, h = self._log_odds_in(inside)
        lost = np.where(1 - h < 10 * _BRIDGE, -np.inf, -values / self.temperature)
        if not np.isfinite(lost.max()):  # nothing can be left out, or the numbers are beyond what can be computed
            self._change(edge)
            return
        chances = np.nan_to_num(np.exp(lost - lost.max()))
        out = int(self.rng.choice(inside.size, p=chances / chances.sum()))
        self._change(int(inside[out]))
        self.gain += float(value[0]) - float(values[out])

    def _change(self, edge: int) -> None:
        model = self.model
        i, j, root = int(model.i[edge]), int(model.j[edge]), float(model.root[edge])
        column = root * (self._inverse[:, i] - self._inverse[:, j])
        h = root * float(column[i] - column[j])
        r = root * float(wrap(model.angle[edge] - self.x[i] + self.x[j]))
        sign = -1.0 if self.believed[edge] else 1.0
        self._inverse -= sign / (1 + sign * h) * np.outer(column, column)
        self.x = self.x + sign * r / (1 + sign * h) * column
        self.believed[edge] = sign > 0


def wander(task: Task, found: Found, clock: Clock, rng: np.random.Generator) -> list[float]:
    """Look for better sets by walks from the best; then the turns, in degrees, from the best to where walks lead."""
    model = task.model
    assert isinstance(model, Rotations)
    free = np.flatnonzero(~task.trusted)
    turns: list[float] = []
    for _ in range(_ROUNDS):
        best = found.best
        warm = _walk(task, best, free, _WARM, rng, clock)
        cold = _walk(task, best, free, 1.0, rng, clock)
        turns = [model.difference(best.x, x) for x in cold.seen]
        for walk in (warm, cold):
            if walk.best is not None and not clock.expired:
                other = judged(model, with_bonds(model, walk.best, best.x), walk.x, task.scale)
                found.add(ascend(model, other, task.released, scale=task.scale, clock=clock))
        if found.best is best or clock.expired:
            break
    return turns


def _walk(
    task: Task, best: Belief, free: NDArray[np.int64], temperature: float, rng: np.random.Generator, clock: Clock
) -> Walk:
    assert isinstance(task.model, Rotations)
    walk = Walk(task.model, best.believed.copy(), best.x, best.scale, task.scale, free, temperature, rng)
    walk.go(_MOVES, clock)
    return walk
