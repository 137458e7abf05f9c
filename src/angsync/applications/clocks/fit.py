"""One value a clock (an offset, a skew) from differences between pairs, by synchronization, with error bars."""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.clocks.unwrapping import LEAST_NOISE, NOISE, Forest, first_period, is_exact
from angsync.errors import DisconnectedWarning
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.settings import Robust
from angsync.problem.measurements import Measurements
from angsync.problem.nodes import first_nodes
from angsync.problem.pieces import piece_count
from angsync.uncertainty import estimate_sigma, standard_errors

# Evidence finds wrong links of a few standard deviations on any graph, and what it believes is fitted by least squares,
# but it takes 1 s for 1,000 links, 11 s for 5,000 and two minutes for 16,000.
_EVIDENCE_UP_TO_LINKS = 2_000
_SCALE_FROM_CYCLES = 50  # independent cycles from which the noise is better known than from anybody's word
_PASSES = 4  # periods that are tried


@dataclass(frozen=True, eq=False)
class Differences:
    """Values of clock i minus clock j, their standard deviations, and whether those are absolute or only relative."""

    n: int
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    value: NDArray[np.float64]
    sigma: NDArray[np.float64]
    is_absolute: bool
    period: float | None = None


@dataclass(frozen=True)
class Settings:
    """How to solve: the reference clock (None for the mean), and whether and how links may be given up."""

    reference: int | None
    robust: Robust | None
    rng: Any = 0


@dataclass(frozen=True, eq=False)
class Fit:
    """What was found."""

    value: NDArray[np.float64]
    error: NDArray[np.float64]
    """NaN where nothing tells the noise."""
    residual: NDArray[np.float64]
    bad: NDArray[np.bool_]
    noise: float
    """Standard deviation of a typical link (the median of the stated ones) by the cycles; NaN without cycles."""
    freedom: int
    """Independent cycles of the links that are believed."""
    period: float
    doubts: tuple[str, ...]
    sync: SyncResult


def fitted(given: Differences, settings: Settings) -> Fit:
    """The values, in the mean gauge of each component or against the reference, and which links are wrong."""
    if given.period is not None:
        return _on_a_circle(given, settings, given.period)
    i, j, robust = given.i, given.j, settings.robust
    forest = Forest(given.n, i, j)
    value = forest.potential(given.value)
    left = given.value - (value[i] - value[j])
    period = first_period(forest, i, j, given.value, left, given.sigma, given.is_absolute, robust is not None)
    off = np.zeros(i.size, dtype=bool)
    for last in range(_PASSES - 1, -1, -1):
        sync, believed, distrusted = _solved(given, left, off, period, settings)
        found = sync.angles * period / (2 * math.pi)
        used = believed.weight > 0
        turns = np.rint((left - (found[i] - found[j])) / period)
        value = value + found + period * Forest(given.n, i[used], j[used]).potential(turns[used])
        left = given.value - (value[i] - value[j])
        # links that fit but for whole periods are wrong, and so is a period with the noise lost in it
        far = used & ~distrusted & (np.abs(left) > period / 2)
        seen = math.nan if sync.robust is None else sync.robust.scale
        too_long = seen < LEAST_NOISE and not is_exact(left[used & ~distrusted], given.value)
        off |= far
        if last == 0 or not (far.any() or too_long):
            break
        period *= max(seen / NOISE, 1e-3) if too_long else 1.0
    components = sync.components
    value = value - (np.bincount(components, value) / np.bincount(components))[components]
    if settings.reference is not None:
        own = components == components[settings.reference]
        value = np.where(own, value - value[settings.reference], value)
    return _with_errors(given, settings, value, left, off | distrusted, period, sync, believed)


def _on_a_circle(given: Differences, settings: Settings, period: float) -> Fit:
    """The same where the period is known: the phases are the answer."""
    none = np.zeros(given.i.size, dtype=bool)
    sync, believed, distrusted = _solved(given, given.value, none, period, settings)
    turned = sync.angles  # in the mean gauge
    if settings.reference is not None:
        own = sync.components == sync.components[settings.reference]
        turned = np.where(own, np.angle(sync.phases * np.conj(sync.phases[settings.reference])), turned)
    value = np.asarray(turned * period / (2 * math.pi), dtype=np.float64)
    residual = given.value - (value[given.i] - value[given.j])
    residual = residual - period * np.rint(residual / period)
    return _with_errors(given, settings, value, residual, distrusted, period, sync, believed)


def _solved(
    given: Differences, value: NDArray[np.float64], off: NDArray[np.bool_], period: float, settings: Settings
) -> tuple[SyncResult, Measurements, NDArray[np.bool_]]:
    """The solution modulo the period, the links with the weights that they had in it, and which are distrusted.

    With ``robust`` the links that are believed are fitted by least squares, whatever loss found them.
    """
    robust, reference = settings.robust, float(np.median(given.sigma))
    angle = 2 * math.pi * (value / period - np.rint(value / period))
    graph = Measurements(given.i, given.j, angle, np.where(off, 0.0, (reference / given.sigma) ** 2), given.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedWarning)  # said in the result, about clocks
        if robust is None:
            return synchronize(graph, gauge="mean", rng=settings.rng), graph, np.zeros(len(graph), dtype=bool)
        if robust.loss == "auto" and len(graph) <= _EVIDENCE_UP_TO_LINKS:
            robust = dataclasses.replace(robust, loss="evidence")
        cycles = len(graph) - graph.n + piece_count(graph.n, graph.i, graph.j)
        if robust.scale is None and given.is_absolute and cycles < _SCALE_FROM_CYCLES:
            robust = dataclasses.replace(robust, scale=2 * math.pi * reference / period)
        first = synchronize(graph, solver=robust, certify=False, gauge="mean", rng=settings.rng, on_failure="ignore")
        report = first.robust
        assert report is not None
        believed = report.believed(graph)
        final = synchronize(believed, start=first.z, gauge="mean", rng=settings.rng)
    factor = np.where(report.distrusted, report.weights, 1.0)
    said = dataclasses.replace(report, weights=factor, efficiency=1.0)
    return dataclasses.replace(final, robust=said), believed, report.distrusted


def _with_errors(
    given: Differences,
    settings: Settings,
    value: NDArray[np.float64],
    residual: NDArray[np.float64],
    bad: NDArray[np.bool_],
    period: float,
    sync: SyncResult,
    believed: Measurements,
) -> Fit:
    radians = 2 * math.pi / period
    components, z = sync.components, sync.phases.astype(np.complex128)
    used = believed.weight > 0
    freedom = int(used.sum()) - given.n + piece_count(given.n, given.i[used], given.j[used])
    sigma = float(np.median(given.sigma)) * radians if given.is_absolute else None
    noise, error, doubts = math.nan, np.full(given.n, np.nan), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if freedom > 0:
            noise = estimate_sigma(believed, z, components) / radians
        if sigma is not None or freedom > 0:
            error = standard_errors(believed, z, components, sigma=sigma, references=None) / radians
            if settings.reference is not None:  # components without that clock stay against their mean
                nodes = first_nodes(components)
                nodes[components[settings.reference]] = settings.reference
                against = standard_errors(believed, z, components, sigma=sigma, references=nodes) / radians
                error = np.where(components == components[settings.reference], against, error)
    for one in caught:
        doubts.append(str(one.message).removeprefix("Standard errors: "))
    alone = np.bincount(components)[components] == 1
    value, error = (np.where(alone, np.nan, x) for x in (value, error))
    return Fit(value, error, residual, bad, noise, freedom, period, tuple(dict.fromkeys(doubts)), sync)
