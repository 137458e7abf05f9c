"""The numbers behind the figures, shared by pages, pictures and cards: curves, errors, residuals."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.circle import as_phases
from angsync.errors import ErrorBarWarning, InputError, ShapeError
from angsync.problem.array_libraries import to_numpy
from angsync.problem.measurements import Measurements
from angsync.problem.nodes import first_nodes, gauge_node
from angsync.report.numbers import counted
from angsync.report.pictures import TWO_SIDED_95

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult
    from angsync.uncertainty.quality import Quality

MOST_JUDGED = 200_000
"""Measurements up to which error bars and standardized residuals are computed unasked: in seconds."""
_ROUNDING = 1e-9  # degrees
MOST_BINS = 60  # of the histogram of residuals


def check_one_problem(result: SyncResult) -> None:
    """Raise :class:`ShapeError` for a batch, which has no single convergence curve or verdict."""
    shape = np.shape(result.angles)
    if len(shape) != 1:
        raise ShapeError(
            f"a report shows one problem, but the phases of this result have shape {shape}: "
            "pick one problem of the batch and synchronize it by itself."
        )


Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Iterations, and the value of each, positive: for a logarithmic axis."""


def residual_curve(result: SyncResult) -> Curve:
    """The residual of each iteration."""
    return _positive(result, np.asarray(result.history.residual, dtype=float))


def objective_gap_curve(result: SyncResult) -> Curve:
    """What each iteration still lacked to the final objective."""
    objective = np.asarray(result.history.objective, dtype=float)
    with np.errstate(invalid="ignore"):
        return _positive(result, float(result.objective) - objective)


def _positive(result: SyncResult, values: NDArray[np.float64]) -> Curve:
    # A history with one entry more than there were iterations begins with the starting point.
    first = 0 if values.size == int(result.iterations) + 1 else 1
    keep = np.isfinite(values) & (values > 0)
    return np.arange(first, first + values.size, dtype=float)[keep], values[keep]


def component_ranks(result: SyncResult) -> tuple[NDArray, int]:
    """Components numbered 0, 1, ... from the largest to the smallest, and how many there are."""
    labels = np.asarray(result.components)
    if labels.size == 0:
        return np.zeros(0, dtype=int), 0
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=int)
    rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    return rank[inverse.reshape(-1)], int(counts.size)


def gauge_in_words(gauge: Any, components: int = 1) -> str:
    """Angles mean nothing without their gauge."""
    each = " of each component" if components > 1 else ""
    named = {
        "anchors": "the anchors and priors that were given",
        "first": f"the first node{each} has angle 0",
        "mean": f"the sum of the phases{each} is real and positive",
    }
    return named.get(gauge) or f"node {gauge} has angle 0"


def angle_errors(result: SyncResult, truth: ArrayLike) -> NDArray[np.float64]:
    """Angle of the estimate minus the truth in degrees, both in the gauge of the result: what its error bars are of.

    The truth of each component is turned as a whole: so that the node whose angle is 0 has no error or, where there is
    no such node, to fit best. With anchors or priors it is taken as it is.
    """
    z = to_numpy(result.z)
    product = z * np.conj(as_phases(truth, n=z.shape[0], name="truth"))
    if isinstance(result.gauge, str) and result.gauge == "anchors":
        return np.degrees(np.angle(product))
    component = np.asarray(result.components)
    if isinstance(result.gauge, str) and result.gauge == "mean":
        usable = np.where(np.isfinite(product), product, 0)  # a broken node must not spoil its component
        turn = np.bincount(component, usable.real) + 1j * np.bincount(component, usable.imag)
    else:
        reference = first_nodes(component)
        if not isinstance(result.gauge, str) or result.gauge != "first":
            node = gauge_node(result.gauge, component.size, result.labels)
            reference[component[node]] = node
        turn = product[reference]
    turn[~(np.abs(turn) > 0)] = 1
    off = np.degrees(np.angle(product * np.conj(turn)[component]))
    return np.where(np.abs(off) < _ROUNDING, 0.0, off)


@dataclass(frozen=True)
class Errors:
    """Standard errors of the phases in degrees."""

    degrees: NDArray[np.float64]
    """NaN for nodes that nothing is known of."""
    missing: str = ""
    """Why there are none at all."""

    @property
    def typical(self) -> float:
        """The median of what is known; the reference, whose error is 0 by choice, does not count. NaN if none is."""
        known = self.degrees[np.isfinite(self.degrees) & (self.degrees > 0)]
        return float(np.median(known)) if known.size else float("nan")

    @property
    def reach(self) -> NDArray[np.float64]:
        """Half the length of the 95 % intervals, at most half a turn; 0 if unknown."""
        return np.minimum(180.0, TWO_SIDED_95 * np.nan_to_num(self.degrees))


def errors_of(result: SyncResult) -> Errors:
    """The standard errors of the phases, or why there are none."""
    n = np.size(result.components)
    try:
        degrees = np.degrees(np.asarray(result.standard_errors(), dtype=float))
    except (InputError, MemoryError) as error:
        return Errors(np.full(n, np.nan), f"No error bars: {error}")
    degrees[np.asarray(result.isolated)] = np.nan
    return Errors(np.where(np.isfinite(degrees), np.where(degrees < _ROUNDING, 0.0, degrees), np.nan))


def errors_and_doubts(result: SyncResult) -> tuple[Errors, list[str]]:
    """The standard errors, and in sentences what was to be warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors = errors_of(result)
    return errors, [str(one.message) for one in caught if issubclass(one.category, ErrorBarWarning)]


def is_quickly_judged(result: SyncResult) -> bool:
    """Whether error bars take seconds only; True where there are none."""
    measurements = measurements_of(result)
    return isinstance(measurements, str) or len(measurements) <= MOST_JUDGED


def measurements_of(result: SyncResult) -> Measurements | str:
    """The measured pairs, or the sentence why there are none."""
    try:
        return result.measurements
    except InputError as error:
        return str(error)


def doubted(result: SyncResult, quality: Quality | None) -> NDArray[np.bool_]:
    """Measurements that stand out: left out by a robust fit, or further off than noise allows."""
    if result.robust is not None:
        return np.asarray(result.robust.distrusted, dtype=bool)
    if quality is None or quality.residuals is None or not quality.heavy_tails:
        return np.zeros(len(result.measurements), dtype=bool)
    return quality.residuals.far


def doubt_in_words(result: SyncResult, count: int) -> str:
    """What a picture calls the measurements that stand out in it."""
    verb = "far off"
    if result.robust is not None:
        verb = "distrusted" if np.any(result.robust.weights[result.robust.distrusted]) else "left out"
    return f"{counted(count, 'measurement')} {verb}"


def histogram(residuals: NDArray) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Edges and counts of equal bins, symmetric about 0, at most 60, of the width of Freedman and Diaconis."""
    reach = float(np.abs(residuals).max(initial=0.0)) or 1.0
    if 90 < reach <= 180:
        reach = 180.0  # the whole circle, the natural limits of a wide spread
    quartiles = np.percentile(residuals, [25, 75]) if residuals.size else np.zeros(2)
    width = 2 * (quartiles[1] - quartiles[0]) / max(1, residuals.size) ** (1 / 3)
    bins = MOST_BINS if width <= 0 else int(np.clip(np.ceil(2 * reach / width), 7, MOST_BINS))
    edges = np.linspace(-reach, reach, bins + 1)
    return edges, np.histogram(residuals, edges)[0]


def node_name(result: SyncResult, node: int, most: int = 16) -> str:
    """The caller's label of a node, or its number, so short that it finds room in a picture."""
    text = str(node if result.labels is None else result.labels[node])
    return text if len(text) <= most else f"{text[: most - 1]}…"
