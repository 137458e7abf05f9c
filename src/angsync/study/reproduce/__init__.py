"""The paper's claims, measured: ``angsync reproduce``.

An experiment is a function of a size and of trials (:class:`angsync.study.reproduce.rows.Trials`) that returns rows
and series for the figures (:mod:`angsync.study.reproduce.figures`).
"""

from __future__ import annotations

import signal
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any

import numpy as np

from angsync.study.reproduce import algorithms, convergence, efficiency, estimation, facts, model, relaxation
from angsync.study.reproduce.rows import CLAIMS, Piece, Row, Trials
from angsync.study.reproduce.sizes import FULL, QUICK, Size

__all__ = ["CLAIMS", "EXPERIMENTS", "FULL", "QUICK", "Results", "run_experiments", "seed_of"]

Experiment = Callable[[Size, Trials], Piece]

EXPERIMENTS: dict[str, Experiment] = {
    "measurement model": model.measurement_model,
    "objectives": model.objectives,
    "distances": model.distances,
    "algorithm": algorithms.algorithm,
    "eigenvector": algorithms.eigenvector,
    "relaxation": relaxation.semidefinite_relaxation,
    "estimators": facts.estimators,
    "critical points": facts.critical_points,
    "every iterate": estimation.every_iterate,
    "normalization": estimation.normalization,
    "one step": estimation.one_step,
    "Gaussian errors": estimation.gaussian_corollary,
    "linear convergence": convergence.linear_convergence,
    "critical distances": facts.critical_distances,
    "Gaussian convergence": convergence.gaussian_convergence,
    "efficiency bound": efficiency.efficiency_bound,
    "convergence figures": convergence.convergence_figures,
    "efficiency figure": efficiency.efficiency_figure,
    "efficiency at large n": efficiency.efficiency_large,
    "transitions": efficiency.transitions,
}
"""By name, which the seed of each depends on."""


@dataclass(frozen=True)
class Results:
    """What a run measured."""

    quick: bool
    seed: int
    rows: tuple[Row, ...]
    series: dict[str, list[dict[str, Any]]]

    @property
    def violated(self) -> list[str]:
        """The ids of the rows that did not hold, or are missing."""
        held = {row.id for row in self.rows if row.held}
        return [name for name in CLAIMS if name not in held]

    def as_dict(self) -> dict[str, Any]:
        """Return everything in the types of JSON."""
        rows = [{**asdict(row), "claim": CLAIMS[row.id]} for row in self.rows]
        return {"quick": self.quick, "seed": self.seed, "rows": rows, "series": self.series, "violated": self.violated}

    def markdown(self, figures: Iterable[tuple[str, str]] = ()) -> str:
        """Return the report: an entry per statement, then the figures, given as file names and captions."""
        run = "Quick run" if self.quick else "Full run"
        lines = [f"{run}, seed {self.seed}.", ""]
        for row in self.rows:
            verdict = "held" if row.held else "VIOLATED"
            lines.append(f"- **{row.id}**, {verdict}: `{CLAIMS[row.id]}`\n\n  `{row.measured}` ({row.cases} cases)")
        for name, caption in figures:
            lines.append(f"\n![{caption}]({name})\n\n{caption}")
        return "\n".join(lines) + "\n"


def run_experiments(
    *,
    quick: bool,
    seed: int = 0,
    size: Size | None = None,
    experiments: Sequence[str] = tuple(EXPERIMENTS),
    report: Callable[[str, float], None] = lambda name, share: None,
) -> Results:
    """Run the experiments; ``report`` receives the name of each and the share of the whole that is done.

    Every experiment has a seed of its own, so its numbers do not depend on the others.
    """
    size = (QUICK if quick else FULL) if size is None else size
    rows: list[Row] = []
    series: dict[str, list[dict[str, Any]]] = {}
    with _ctrl_c_remembered() as check:
        for k, name in enumerate(experiments):

            def tick(share: float, name: str = name, before: int = k) -> None:
                check()
                report(name, (before + share) / len(experiments))

            tick(0.0)
            piece = EXPERIMENTS[name](size, Trials(seed_of(seed, name), tick))
            check()
            rows += piece.rows
            for key, entries in piece.series.items():
                series.setdefault(key, []).extend(entries)
    order = list(CLAIMS)
    return Results(quick, seed, tuple(sorted(rows, key=lambda row: order.index(row.id))), series)


def seed_of(seed: int, name: str) -> np.random.SeedSequence:
    """Return the seeds of one experiment."""
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),))


@contextmanager
def _ctrl_c_remembered() -> Iterator[Callable[[], None]]:
    """Yield a check that raises KeyboardInterrupt if Ctrl-C was ever pressed.

    The solvers' loop treats an interruption as a wish to stop early and returns its best point; a row that rests on
    such a point would be wrong.
    """
    pressed = threading.Event()

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    def remember(number: int, frame: FrameType | None) -> None:
        pressed.set()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield check
        return
    earlier = signal.signal(signal.SIGINT, remember)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, earlier)
