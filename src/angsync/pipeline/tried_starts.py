"""What several starts led to: a record for the result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from angsync.certificate import GAP_TOLERANCE

_SAME = GAP_TOLERANCE  # relative difference of objectives below which two optima count as one, as for the certificate


@dataclass(frozen=True)
class Starts:
    """What several starts led to, in the units of C, its diagonal included.

    Where there are several connected components, every entry is an objective of the whole problem: that of one start
    for one component, with all the others at their best.
    """

    objectives: tuple[float, ...]
    """One for every start, in the order in which they were run."""
    tolerance: float = _SAME
    """Relative difference below which two objectives count as the same: 1e-8, more in single precision."""

    @property
    def count(self) -> int:
        """Number of starts, the first run included."""
        return len(self.objectives)

    @property
    def best(self) -> float:
        """The largest objective. The result may have a larger one still, because the best point is polished."""
        return max(self.objectives)

    @property
    def spread(self) -> float:
        """``(largest - smallest) / |largest|``: 0 where every start ended at the same optimum."""
        width = self.best - min(self.objectives)
        return width / abs(self.best) if self.best != 0 else (math.inf if width > 0 else 0.0)

    @property
    def times_best_found(self) -> int:
        """How many starts ended at the best objective, to ``tolerance``. If it is 1, more starts may find more."""
        return times_found(self.objectives, self.tolerance)

    def __str__(self) -> str:
        return f"best of {self.count}, found {self.times_best_found} time(s); relative spread {self.spread:.2g}"


def times_found(objectives: Sequence[float], same: float) -> int:
    """How many objectives are the largest, to a relative difference of ``same``."""
    best = max(objectives)
    return sum(objective >= best - same * abs(best) for objective in objectives)


def all_starts(parts: Sequence[tuple[float, Iterable[float] | None]], tolerance: float) -> Starts | None:
    """The starts of all components as objectives of the whole; None where no component used any.

    A part is the final objective of a component and the objectives of its starts (None: a single run). A component that
    was improved after its starts counts, beside others, with its final objective.
    """
    if len(parts) == 1:
        return None if parts[0][1] is None else Starts(tuple(map(float, parts[0][1])), tolerance)
    total = math.fsum(final for final, _ in parts)
    every = tuple(total - final + float(one) for final, own in parts if own is not None for one in own)
    return Starts(every, tolerance) if every else None


def same_objective(dtype: np.dtype[Any]) -> float:
    """The relative difference below which two objectives are the same; never below rounding."""
    return max(_SAME, 16 * float(np.finfo(dtype).eps))
