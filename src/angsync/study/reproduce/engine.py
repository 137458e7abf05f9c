"""The run: every experiment once, stored as soon as it is finished, stopped and resumed between experiments."""

from __future__ import annotations

import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from angsync.io.strict_json import write_json
from angsync.study.reproduce import algorithms, convergence, efficiency, estimation, facts, model, relaxation, store
from angsync.study.reproduce.rows import CLAIMS, Piece, Tick
from angsync.study.reproduce.sizes import FULL, QUICK, Size


@dataclass(frozen=True)
class Experiment:
    """A function of size and seed; ``weight`` is its share of the time, for the progress bar."""

    name: str
    run: Callable[[Size, np.random.SeedSequence, Tick], Piece]
    weight: float = 1.0


EXPERIMENTS = (
    Experiment("measurement model", model.measurement_model, 0.5),
    Experiment("objectives", model.objectives, 0.5),
    Experiment("distances", model.distances, 0.5),
    Experiment("algorithm", algorithms.algorithm, 0.5),
    Experiment("eigenvector", algorithms.eigenvector, 0.5),
    Experiment("relaxation", relaxation.semidefinite_relaxation, 1),
    Experiment("estimators", facts.estimators, 0.5),
    Experiment("critical points", facts.critical_points, 0.5),
    Experiment("every iterate", estimation.every_iterate, 3),
    Experiment("normalization", estimation.normalization, 0.5),
    Experiment("one step", estimation.one_step, 0.5),
    Experiment("Gaussian errors", estimation.gaussian_corollary, 4),
    Experiment("linear convergence", convergence.linear_convergence, 0.5),
    Experiment("critical distances", facts.critical_distances, 0.5),
    Experiment("Gaussian convergence", convergence.gaussian_convergence, 0.5),
    Experiment("efficiency bound", efficiency.efficiency_bound, 6),
    Experiment("convergence figures", convergence.convergence_figures, 0.5),
    Experiment("efficiency figure", efficiency.efficiency_figure, 15),
    Experiment("efficiency at large n", efficiency.efficiency_large, 1),
    Experiment("transitions", efficiency.transitions, 35),
    Experiment("times", relaxation.times, 2),
)

Report = Callable[[str, float], None]
"""Told the name of the experiment that runs, and how much of the whole is done, from 0 to 1."""


def run_experiments(
    path: Path,
    *,
    quick: bool,
    seed: int = 0,
    size: Size | None = None,
    experiments: tuple[Experiment, ...] = EXPERIMENTS,
    report: Report = lambda name, share: None,
) -> dict[str, Any]:
    """Run what is not yet stored in ``path`` for the same settings and code; return the results.

    Ctrl-C ends the run with KeyboardInterrupt; what was finished is in the file. Every experiment has a seed of its
    own, so the numbers do not depend on the order or on what was stored; only the times do.
    """
    size = (QUICK if quick else FULL) if size is None else size
    results = store.load(path, store.settings(quick, seed))
    total = sum(experiment.weight for experiment in experiments)
    done = 0.0
    with _interruptible() as check:
        for experiment in experiments:
            if experiment.name not in results["finished"]:
                before = done

                def tick(share: float, experiment: Experiment = experiment, before: float = before) -> None:
                    check()
                    report(experiment.name, (before + share * experiment.weight) / total)

                tick(0.0)
                begin = time.perf_counter()
                piece = experiment.run(size, seed_of(seed, experiment.name), tick)
                check()
                results = store.with_piece(results, experiment.name, piece, time.perf_counter() - begin)
                write_json(results, path)
            done += experiment.weight
    return results


def seed_of(seed: int, name: str) -> np.random.SeedSequence:
    """The seeds of one experiment."""
    return np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),))


@contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """Yield a check that raises KeyboardInterrupt if Ctrl-C was ever pressed.

    The solvers' loop takes an interruption for a wish to stop early and returns its best point; an experiment built
    on such a point would be stored as if it were finished. So the wish is remembered here.
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


def violated(results: dict[str, Any]) -> list[str]:
    """Ids of the rows that did not hold, or are missing."""
    held = {row["id"] for row in results["rows"] if row["held"]}
    return [name for name in CLAIMS if name not in held]


def lines(results: dict[str, Any]) -> list[str]:
    """One line a row, the id first."""
    return [
        f"{row['id']}  {'held' if row['held'] else 'VIOLATED':<8}  {row['claim']} | {row['measured']} | "
        f"{row['cases']} cases | allowance: {row['allowance']}"
        for row in results["rows"]
    ]
