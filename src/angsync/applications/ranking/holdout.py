"""How well an order predicts games that it has not seen, beside other ways to rank, all given the same games."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.applications.ranking.encoding import components_of
from angsync.applications.ranking.games import Comparisons
from angsync.errors import InputError


@dataclass(frozen=True)
class Holdout:
    """Mean accuracy on held-out pairs by method, and the standard error of each over the splits."""

    share: float
    splits: int
    accuracy: dict[str, float]
    standard_error: dict[str, float]
    difference: dict[str, float]
    """Ours less theirs, split by split."""
    difference_error: dict[str, float]

    def __str__(self) -> str:
        lines = [f"accuracy on {self.share:.0%} of the pairs, held out, mean of {self.splits} splits (fit to the rest)"]
        for name, value in self.accuracy.items():
            line = f"  {name:<22} {value:.4f} +- {self.standard_error[name]:.4f}"
            if name in self.difference:
                line += f"   ours {self.difference[name]:+.4f} +- {self.difference_error[name]:.4f}"
            lines.append(line)
        return "\n".join(lines)


def held_out(
    played: Comparisons,
    ways: dict[str, Callable[[Comparisons], NDArray[np.float64]]],
    *,
    share: float,
    splits: int,
    rng: int | np.random.Generator,
) -> Holdout:
    """Train every way on the same pairs, and ask it who won the others; the first way is ours.

    Whole pairs are held out, with all their games. A pair that no way can order (a player without games left, players
    whom no chain of games joins) counts one half for all of them, and two of equal score for the way that has them so.
    Ties are not asked for.
    """
    if not 0 < share < 1 or splits < 1:
        raise InputError(
            f"the share that is held out (--holdout) must lie between 0 and 1, and splits be at least 1, not {share} "
            f"and {splits}."
        )
    generator = np.random.default_rng(rng)
    pairs = played.pairs()
    decided = np.flatnonzero(pairs.margin != 0)
    if decided.size < 2:
        raise InputError("fewer than two pairs have a winner: there is nothing to hold out.")
    of_pair = _pair_of_each(played, pairs)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(splits):
        out = generator.permutation(len(pairs))[: max(1, round(share * len(pairs)))]
        kept = np.ones(len(pairs), dtype=bool)
        kept[out] = False
        asked = out[pairs.margin[out] != 0]
        if asked.size == 0 or not kept.any():
            continue
        known = played.part(kept[of_pair])
        piece = components_of(played.n, known.i, known.j)
        apart = piece[pairs.i[asked]] != piece[pairs.j[asked]]
        for name, way in ways.items():
            score = way(known)
            lead = (score[pairs.i[asked]] - score[pairs.j[asked]]) * np.sign(pairs.margin[asked])
            unsure = apart | ~np.isfinite(lead) | (lead == 0)
            found[name].append(float(np.mean(np.where(unsure, 0.5, lead > 0))))
    table = {name: np.array(values) for name, values in found.items()}
    ours = next(iter(table.values()))
    against = {name: ours - values for name, values in table.items() if values is not ours}
    return Holdout(
        share, len(ours), {name: float(values.mean()) for name, values in table.items()},
        {name: _error(values) for name, values in table.items()},
        {name: float(values.mean()) for name, values in against.items()},
        {name: _error(values) for name, values in against.items()},
    )  # fmt: skip


def _error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


def _pair_of_each(played: Comparisons, pairs: Comparisons) -> NDArray[np.int64]:
    """The place in ``pairs`` of each game."""
    low, high = np.minimum(played.i, played.j), np.maximum(played.i, played.j)
    return np.searchsorted(pairs.i * played.n + pairs.j, low * played.n + high)
