"""What pictures ask of a result beyond the page: error bars and measurements, and a sentence where there are none."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from angsync.errors import InputError
from angsync.problem.measurements import Measurements
from angsync.report.protocols import ReportedResult, ReportedWeights

MOST_JUDGED = 200_000
"""Measurements up to which error bars and standardized residuals are computed unasked: in seconds."""


class DrawnWeights(ReportedWeights, Protocol):
    """What a robust fit says about each measurement."""

    @property
    def distrusted(self) -> NDArray[np.bool_]: ...


class DrawnResult(ReportedResult, Protocol):
    """One solved problem with its data."""

    @property
    def robust(self) -> DrawnWeights | None: ...
    @property
    def measurements(self) -> Measurements: ...
    @property
    def isolated(self) -> NDArray[np.int64]: ...

    def standard_errors(self) -> NDArray[np.float64]: ...


def errors_in_degrees(result: DrawnResult) -> NDArray[np.float64] | str:
    """Standard errors of the phases, NaN for nodes that nothing is known of; or the sentence why there are none."""
    try:
        errors = np.degrees(np.asarray(result.standard_errors(), dtype=float))
    except InputError as error:
        return f"No error bars: {error}"
    errors[np.asarray(result.isolated)] = np.nan
    return np.where(np.isfinite(errors), errors, np.nan)


def measurements_of(result: DrawnResult) -> Measurements | str:
    """The measured pairs, or the sentence why there are none."""
    try:
        return result.measurements
    except InputError as error:
        return str(error)


def beyond_chance(result: DrawnResult) -> NDArray[np.bool_]:
    """Measurements that do not fit: those that a robust fit distrusts; otherwise those that normal noise of one scale
    would give in one picture of a thousand only.

    A residual r in standard deviations is compared with the scale of all others: ``r sqrt((f - 1) / (f - r^2))`` with f
    degrees of freedom has Student's law with f - 1 (Cook and Weisberg, "Residuals and influence in regression", 1982,
    section 2.2.1). Compared with a scale that it has itself enlarged, a lone wrong measurement of few stays hidden.
    """
    if result.robust is not None:
        return np.asarray(result.robust.distrusted, dtype=bool)
    r = np.nan_to_num(np.asarray(result.edge_residuals().standardized, dtype=float))
    used = int(np.count_nonzero(np.asarray(result.measurements.weight) > 0))
    freedom = used - np.size(result.components) + int(np.max(result.components, initial=-1)) + 1
    if freedom < 2:
        return np.zeros(r.size, dtype=bool)
    rest = np.maximum(freedom - r**2, 1e-12 * freedom)
    limit = -float(stdtrit(freedom - 1, 0.001 / 2 / r.size))
    return np.abs(r) * np.sqrt((freedom - 1) / rest) > limit


def is_quickly_judged(result: DrawnResult) -> bool:
    """Whether error bars take seconds only; True where there are none."""
    measurements = measurements_of(result)
    return isinstance(measurements, str) or len(measurements) <= MOST_JUDGED


def pair_name(measurements: Measurements, k: int) -> str:
    """The two nodes of a measurement."""
    ends = int(measurements.i[k]), int(measurements.j[k])
    names = ends if measurements.labels is None else [measurements.labels[end] for end in ends]
    return f"{short(names[0])} – {short(names[1])}"


def short(name: object, most: int = 16) -> str:
    """A label that finds room in a picture."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"
