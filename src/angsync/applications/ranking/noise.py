"""The noise of the games of each group of players by itself, and the errors of the scores that follow from it."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import ErrorBarWarning
from angsync.pipeline.result import SyncResult
from angsync.problem.measurements import Measurements
from angsync.uncertainty.doubts import exact_below, repeated
from angsync.uncertainty.noise_models import large_noise_factor, wrapped_residuals


class Noise(NamedTuple):
    """Entries are those of the components, but for the errors; units are those of an encoded margin."""

    error: NDArray[np.float64]
    """Standard errors of the scores; NaN where no noise is seen."""
    noise: NDArray[np.float64]
    """Standard deviation of a game about what the scores say; NaN where nothing shows it."""
    freedom: NDArray[np.int64]
    """Games left to see it by."""
    is_exact: NDArray[np.bool_]
    """Whether games are left and fit without any residual: that is no noise to believe in."""
    pooled: float
    """The noise of all components that show one, together."""
    doubts: tuple[str, ...]
    """Whether games repeat each other."""


def noise_of(
    sync: SyncResult, graph: Measurements, component: NDArray[np.int64], anchored: list[int], unit: float
) -> Noise:
    """Groups that never met may be as different as two sports: each has its own noise, and none borrows."""
    count = int(component.max()) + 1
    residual = wrapped_residuals(graph, sync.z)
    of_game = component[graph.i]
    held = np.maximum(np.bincount(component[anchored], minlength=count), 1)  # scores that are not fitted
    games = np.bincount(of_game, minlength=count)
    freedom = games - np.bincount(component, minlength=count) + held
    squares = np.bincount(of_game, weights=residual**2, minlength=count)
    is_exact = (freedom > 0) & (squares <= games * exact_below(sync.z.dtype) ** 2)
    seen = (freedom > 0) & ~is_exact
    noise = np.where(seen, np.sqrt(squares / np.where(seen, freedom, 1)), np.nan)
    factor = np.ones(count)
    for label in np.flatnonzero(seen):
        own = of_game == label
        factor[label] = large_noise_factor(residual[own], graph.weight[own], int(freedom[label]))
    error = np.full(graph.n, np.nan)
    if seen.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ErrorBarWarning)  # small angles: the doubts are about large ones
            one = sync.standard_errors(1.0) if sync.gauge == "anchors" else sync.standard_errors(1.0, gauge="mean")
        error = np.where(seen[component], one * noise[component] * factor[component], np.nan)
    total = int(freedom[seen].sum())
    pooled = math.sqrt(float(squares[seen].sum()) / total) / unit if total else math.nan
    times = int(np.gcd.reduce(np.unique([graph.i, graph.j, graph.angle], axis=1, return_counts=True)[1]))
    doubts = []
    if seen.any() and times > 1:
        short = f"{times**0.5:.2g} times too short"
        doubts = [f"every game is there {times} times. If these are copies, error bars are {short}."]
    elif seen.any():
        doubts = repeated(graph, residual, graph.weight, int(freedom.sum()), None)
    told = tuple(one.replace("measurements", "games") for one in doubts)
    return Noise(error / unit, noise / unit, freedom, is_exact, pooled, told)
