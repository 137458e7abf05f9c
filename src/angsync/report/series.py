"""The numbers behind the figures, shared by the page and by matplotlib: curves, errors, residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.circle import as_phases
from angsync.errors import InputError, ShapeError
from angsync.problem.array_libraries import to_numpy
from angsync.report.protocols import ReportedResult

MOST_BINS = 60  # of the histogram of residuals
MOST_CURVE_POINTS = 800  # of a longer curve some points are left out


@dataclass(frozen=True)
class Curve:
    """Positive values against the iteration, for a logarithmic axis."""

    iteration: NDArray
    value: NDArray
    left_out: int
    """How many values are not drawn, because they are zero, negative or not finite."""
    span: tuple[float, float]
    """First and last iteration of the whole history: figures of one run share their x axis."""


@dataclass(frozen=True)
class Histogram:
    """Counts of wrapped residuals in degrees."""

    edges: NDArray
    counts: NDArray
    size: int
    standard_deviation: float
    left_out: int


def check_one_problem(result: ReportedResult) -> None:
    """A report shows one problem; a batch has no single convergence curve or verdict."""
    shape = np.shape(result.angles)
    if len(shape) != 1:
        raise ShapeError(
            f"a report shows one problem, but the phases of this result have shape {shape}: "
            "pick one problem of the batch and synchronize it by itself."
        )


def residual_curve(result: ReportedResult) -> Curve:
    """The residual of each iteration."""
    return _positive(result, np.asarray(result.history.residual, dtype=float))


def objective_gap_curve(result: ReportedResult) -> Curve:
    """What each iteration still lacked to the final objective."""
    objective = np.asarray(result.history.objective, dtype=float)
    with np.errstate(invalid="ignore"):
        return _positive(result, float(result.objective) - objective)


def _positive(result: ReportedResult, values: NDArray) -> Curve:
    # A history with one entry more than there were iterations begins with the starting point.
    first = 0 if values.size == int(result.iterations) + 1 else 1
    iteration = np.arange(first, first + values.size, dtype=float)
    keep = np.isfinite(values) & (values > 0)
    span = (float(first), float(first + max(values.size - 1, 1)))
    return Curve(iteration[keep], values[keep], int(values.size - keep.sum()), span)


def thin(curve: Curve, at_most: int = MOST_CURVE_POINTS) -> Curve:
    """Keep the lowest and the highest value of each stretch: the picture stays, the file shrinks."""
    size = curve.value.size
    if size <= at_most:
        return curve
    starts = np.unique(np.linspace(0, size, at_most // 2, endpoint=False).astype(int))
    chosen = {0, size - 1}
    for start, stop in zip(starts, [*starts[1:], size], strict=True):
        part = curve.value[start:stop]
        chosen |= {int(start + part.argmin()), int(start + part.argmax())}
    index = np.array(sorted(chosen))
    return Curve(curve.iteration[index], curve.value[index], curve.left_out, curve.span)


def component_ranks(result: ReportedResult) -> tuple[NDArray, int]:
    """Components numbered 0, 1, ... from the largest to the smallest, and how many there are."""
    labels = np.asarray(result.components)
    if labels.size == 0:
        return np.zeros(0, dtype=int), 0
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=int)
    rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    return rank[inverse.reshape(-1)], int(counts.size)


def angle_errors(result: ReportedResult, truth: ArrayLike) -> NDArray:
    """Angle of the estimate minus the truth (radians), each component aligned with the truth on its own."""
    z = to_numpy(result.z)
    product = z * np.conj(as_phases(truth, n=z.shape[0], name="truth"))
    component, count = component_ranks(result)
    usable = np.where(np.isfinite(product), product, 0)  # a broken node must not spoil its component
    overlap = np.bincount(component, usable.real, count) + 1j * np.bincount(component, usable.imag, count)
    overlap[overlap == 0] = 1
    return np.angle(product * np.conj(overlap / np.abs(overlap))[component])


def edge_residuals_in_degrees(result: ReportedResult) -> NDArray | str:
    """The wrapped residuals, or one sentence that says why there are none."""
    try:
        residuals = np.degrees(np.asarray(result.edge_residuals().wrapped, dtype=float).reshape(-1))
    except InputError as error:
        return f"The residual histogram is left out: {error}"
    if residuals.size == 0:
        return "The residual histogram is left out: the problem has no measurements."
    return residuals


def histogram(residuals: NDArray) -> Histogram:
    """Equal bins, symmetric about 0, at most 60, of the width of Freedman and Diaconis."""
    finite = residuals[np.isfinite(residuals)]
    left_out = int(residuals.size - finite.size)
    reach = float(np.abs(finite).max(initial=0.0))
    if reach == 0:
        reach = 1.0
    elif 90 < reach <= 180:
        reach = 180.0  # the whole circle, the natural limits of a wide spread
    quartiles = np.percentile(finite, [25, 75]) if finite.size else np.zeros(2)
    width = 2 * (quartiles[1] - quartiles[0]) / max(1, finite.size) ** (1 / 3)
    bins = MOST_BINS if width <= 0 else int(np.clip(np.ceil(2 * reach / width), 7, MOST_BINS))
    edges = np.linspace(-reach, reach, bins + 1)
    counts, _ = np.histogram(finite, edges)
    deviation = float(finite.std()) if finite.size else float("nan")
    return Histogram(edges, counts, int(finite.size), deviation, left_out)
