"""Rows of the table: each statement with what was claimed, what was measured, and whether it held."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

EPSILON = float(np.finfo(np.float64).eps)

CLAIMS = {
    "M1": "the simulated measurements follow the model",
    "M2": "least squares = constant - f(z) on T^n",
    "M3": "d_1, d_2 and d_inf are exact minima over the global phase",
    "A1": "GPM is Algorithm 1, literally",
    "A2": "the eigenvector estimator is that of the largest eigenvalue",
    "A3": "the SDR bounds f* from above and is tight at low noise",
    "F1": "d_2(v_C, z*) <= 8 op/sqrt(n)",
    "F2": "GPM converges if op = O(n^(2/3)) and |Delta z*|_inf = O(n^(2/3) sqrt(log n))",
    "F3": "d_2(zhat, z*) <= 4 op/sqrt(n)",
    "F4": "second-order critical points are fixed points, and near the truth if op <= n/16",
    "T1": "Theorem 1: l2 error of every iterate",
    "T2": "Theorem 2: l-infinity error of every iterate",
    "P1": "Proposition 1: |w/|w| - z|_q <= 2 |w - z|_q",
    "P2": "Proposition 2: d_q(z^(k+1), z*) <= 2 |r g^k - z*|_q",
    "C1": "Corollary 1: Gaussian bounds with probability 1 - 2 n^(-5/4) - 2 e^(-n/2)",
    "T3": "Theorem 3: f and d_2 converge linearly to the MLE",
    "P3": "Proposition 3: d_2(z, zhat) <= (8/n) rho(z)",
    "P4": "Proposition 4: the same for every second-order critical point",
    "P5": "Proposition 5: sufficient ascent, cost-to-go, safeguard",
    "C2": "Corollary 2: Theorem 3 under Gaussian noise, sigma <= n^(1/4)/936",
    "B1": "the MLE is near the Cramer-Rao bound, the eigenvector estimator less so",
}
"""Claims by the id of their row, in the order in which they are printed."""

Level = TypeVar("Level")


@dataclass(frozen=True)
class Trials:
    """Random generators for the problems of one experiment, each from a seed of its own.

    ``tick`` receives the share that is done, from 0 to 1; it raises KeyboardInterrupt if the user pressed Ctrl-C.
    """

    seeds: np.random.SeedSequence
    tick: Callable[[float], None] = lambda share: None

    def __call__(self, count: int) -> Iterator[tuple[int, np.random.Generator]]:
        """Yield the number of each problem and its generator."""
        for k, child in enumerate(self.seeds.spawn(count)):
            yield k, np.random.default_rng(child)
            self.tick((k + 1) / count)

    def of(self, levels: Sequence[Level]) -> Iterator[tuple[Level, Trials]]:
        """Yield each level with trials of its own."""
        for k, (level, child) in enumerate(zip(levels, self.seeds.spawn(len(levels)), strict=True)):

            def tick(share: float, done: int = k) -> None:
                self.tick((done + share) / len(levels))

            yield level, Trials(child, tick)


@dataclass(frozen=True)
class Row:
    """One statement, measured."""

    id: str
    measured: str
    held: bool
    allowance: str
    """What rounding or chance was allowed, in words."""
    cases: int

    def __str__(self) -> str:
        verdict = "held" if self.held else "VIOLATED"
        return (
            f"{self.id}  {verdict:<8}  {CLAIMS[self.id]} | {self.measured} | {self.cases} cases | "
            f"allowance: {self.allowance}"
        )


@dataclass(frozen=True)
class Piece:
    """What one experiment contributes: rows, and series for the figures."""

    rows: tuple[Row, ...] = ()
    series: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass
class Inequalities:
    """Counts inequalities ``left <= right`` and remembers how near they came to failing."""

    relative: float = 1e-12
    absolute: float = 1e-14
    cases: int = 0
    violations: int = 0
    shares: list[float] = field(default_factory=list)
    """Largest left/right of each problem."""

    def add(self, left: ArrayLike, right: ArrayLike, absolute: ArrayLike | None = None) -> None:
        """The inequalities of one problem; ``absolute`` replaces the absolute allowance."""
        left, right = np.broadcast_arrays(np.asarray(left, dtype=float), np.asarray(right, dtype=float))
        allowance = np.asarray(self.absolute if absolute is None else absolute, dtype=float)
        self.cases += left.size
        # the negation, so that a NaN counts as a violation
        self.violations += int(np.count_nonzero(~(left <= right * (1 + self.relative) + allowance)))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = left / (right + allowance)
        self.shares.append(float(share.max(initial=0.0)))

    @property
    def held(self) -> bool:
        """Whether there were inequalities and none failed."""
        return self.cases > 0 and self.violations == 0

    def __str__(self) -> str:
        return (
            f"{self.violations} of {self.cases} inequalities violated; largest measured/bound "
            f"{max(self.shares, default=math.nan):.3g}, mean over {len(self.shares)} runs {with_error(self.shares)}"
        )


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its Monte Carlo standard error (NaN for fewer than two values)."""
    sample = np.asarray(values, dtype=float)
    if sample.size < 2:
        return (float(sample.mean()) if sample.size else math.nan), math.nan
    return float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(sample.size))


def with_error(values: Sequence[float]) -> str:
    """``mean +- standard error``, with the digits that the error leaves."""
    mean, error = mean_and_error(values)
    if not (math.isfinite(error) and error > 0):
        return f"{mean:.3g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{mean:.{digits}f} +- {error:.{digits}f}" if digits <= 8 else f"{mean:.3g} +- {error:.1g}"


def chance_limit(chance: float, trials: int) -> float:
    """Return how often an event of this chance may occur: three standard errors above its mean."""
    return trials * chance + 3 * math.sqrt(trials * chance * (1 - chance))


def frequency(count: int, trials: int) -> str:
    """A frequency with its standard error; for none at all the 95 % upper bound 3/trials instead."""
    if count == 0:
        return f"0 of {trials} (below {3 / max(trials, 1):.2g} with 95 % confidence)"
    share = count / trials
    return f"{count} of {trials} ({share:.3g} +- {math.sqrt(share * (1 - share) / trials):.2g})"
