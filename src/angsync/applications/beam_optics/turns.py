r"""Monitors whose clock is off by whole turns of the beam: their phase is off by k Q, with the tune Q.

The distance to the model then has a few values. Three free values a monitor make any distances smaller, so the
offsets are believed only where what is left is far below what they would leave on random phases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WINDOW = 3
"""Consecutive numbers of turns that monitors may differ by: k = -1, 0, 1."""
_BELIEVED = 0.5  # of the rms that random phases would leave
_FEWEST = 8  # monitors: of fewer, chance leaves small distances too often
_CLEARLY = 4.0  # standard deviations of what is left, by which a monitor must be off to be moved


class TurnOffsets(NamedTuple):
    """What was found."""

    turns: NDArray[np.int64]
    """Of each monitor, against those of most; 0 where they are not believed."""
    rms_before: float
    rms_after: float
    """Distance to the model around its mean, turns."""
    rms_by_chance: float
    """What so many free values would leave of random phases."""
    is_believed: bool


def wrapped(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """In [-0.5, 0.5)."""
    return (turns + 0.5) % 1 - 0.5


def turn_offsets(delta: NDArray[np.float64], error: NDArray[np.float64], tune: float, reference: int) -> TurnOffsets:
    """Whole turns of the monitors from their distance to the model (in turns, against ``reference``; NaN: unknown)."""
    known = np.isfinite(delta)
    before = rms_around_mean(delta)
    nothing = np.zeros(delta.size, dtype=np.int64)
    chance = _rms_by_chance(tune)
    best: tuple[float, NDArray[np.int64]] | None = None
    for lowest in range(1 - WINDOW, 1):
        candidates = np.arange(lowest, lowest + WINDOW)
        apart = np.abs(wrapped(delta[:, None] - tune * candidates[None, :]))
        chosen = candidates[np.argmin(np.where(np.isnan(apart), np.inf, apart), axis=1)]
        left = rms_around_mean(delta - tune * chosen)
        if best is None or left < best[0]:
            best = left, chosen
    assert best is not None
    left, chosen = best
    spread = np.sqrt(left**2 + np.nan_to_num(error) ** 2)
    moved = known & (np.abs(wrapped(delta)) > _CLEARLY * spread)
    moved &= np.abs(wrapped(delta - tune * chosen)) <= _CLEARLY * spread
    turns = np.where(moved, chosen, 0)
    believed = bool(known.sum() >= _FEWEST and left < _BELIEVED * chance and turns.any())
    if not believed:
        return TurnOffsets(nothing, before, before, chance, False)
    after = rms_around_mean(delta - tune * turns)
    values, counts = np.unique(turns[known], return_counts=True)
    most = int(values[np.argmax(counts)])
    return TurnOffsets(np.where(known, turns - most, 0), before, after, chance, True)


def _rms_by_chance(tune: float) -> float:
    """Rms distance of a uniform phase to the nearest of 0, Q, 2 Q, ...: gaps g of the circle give sum g^3 / 12."""
    points = np.sort(np.arange(WINDOW) * tune % 1)
    gaps = np.diff(np.append(points, points[0] + 1))
    return float(np.sqrt(np.sum(gaps**3) / 12))


def rms_around_mean(distance: NDArray[np.float64]) -> float:
    """Of distances to the model in turns: the phase of the reference itself is off by some constant."""
    known = distance[np.isfinite(distance)]
    if known.size == 0:
        return float("nan")
    middle = np.angle(np.mean(np.exp(2j * np.pi * known))) / (2 * np.pi)
    return float(np.sqrt(np.mean(wrapped(known - middle) ** 2)))
