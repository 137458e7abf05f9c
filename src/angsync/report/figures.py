"""The figures of the page: each is an SVG and the sentence that explains it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.report.numbers import counted, pretty_number
from angsync.report.protocols import ReportedResult
from angsync.report.quality import Quality
from angsync.report.series import (
    Curve,
    angle_errors,
    component_ranks,
    histogram,
    objective_gap_curve,
    residual_curve,
    thin,
)
from angsync.report.svg import Chart, decades
from angsync.report.wheel import MOST_POINTS, MOST_RINGS, Face, draw_wheel, face_for

MOST_NAMES = 200  # nodes that carry their label in the picture, shown when pointed at


@dataclass(frozen=True)
class Figure:
    """Markup of the picture, and its caption as plain text."""

    svg: str
    caption: str
    wide: bool = False
    """Whether it has a row of the page to itself."""


def residual_figure(result: ReportedResult, tolerance: float | None = None) -> Figure | None:
    """The residual against the iteration; None when there is nothing to draw."""
    curve = residual_curve(result)
    if curve.value.size == 0:
        return None
    drawn_tolerance = tolerance if tolerance is not None and 0 < tolerance < math.inf else None
    caption = (
        f"Residual after each iteration, on a logarithmic scale: how far the point is from stationary. "
        f"It ended at {pretty_number(result.residual, 3)}"
    )
    caption += f"; the tolerance was {pretty_number(drawn_tolerance, 3)}." if drawn_tolerance else "."
    lines = [] if drawn_tolerance is None else [(drawn_tolerance, "tolerance")]
    svg = _curve_chart("Residual against iteration", "residual", curve, lines, series=1)
    return Figure(svg, caption + _left_out(curve))


def objective_figure(result: ReportedResult) -> Figure | None:
    """What the objective still lacked to its final value; None when there is nothing to draw."""
    curve = objective_gap_curve(result)
    if curve.value.size == 0:
        return None
    rounding = float(np.finfo(float).eps) * abs(float(result.objective))
    caption = (
        f"What the objective still lacked to its final value of {pretty_number(result.objective, 6)}. "
        "Below the dashed line a difference is rounding."
    )
    visible = 0 < rounding < math.inf
    lines = [(rounding, "rounding level")] if visible else []
    svg = _curve_chart("Objective still missing against iteration", "f(end) − f(k)", curve, lines, series=2)
    return Figure(svg, caption if visible else caption.rpartition(" Below")[0])


def phase_wheel(result: ReportedResult) -> Figure:
    """One point a node at its angle; several components on rings of their own."""
    degrees = np.degrees(np.asarray(result.angles, dtype=float))
    finite = np.isfinite(degrees)
    component, count = component_ranks(result)
    separate = 1 < count <= MOST_RINGS and degrees.size <= MOST_POINTS
    svg = draw_wheel(
        "Phase wheel: the angle of each node",
        degrees[finite],
        Face(),
        rings=component[finite] if separate else None,
        names=_names(result, degrees, finite),
        center_label=f"n = {degrees.size:,}",
    )
    caption = f"{_what_is_drawn(int(finite.sum()))} Gauge: {gauge_in_words(result)}."
    if separate:
        caption += " One ring for each connected component, the largest outermost."
    elif count > 1:
        caption += f" All {count:,} connected components share the circle."
    return Figure(svg, caption + _not_finite(finite))


def error_wheel(result: ReportedResult, truth: ArrayLike) -> Figure:
    """The angle of the aligned estimate minus the truth, on a dial as wide as the largest error."""
    errors = np.degrees(angle_errors(result, truth))
    finite = np.isfinite(errors)
    face = face_for(errors[finite])
    rms = math.sqrt(float(np.mean(errors[finite] ** 2))) if finite.any() else math.nan
    svg = draw_wheel(
        "Error wheel: estimate minus truth for each node",
        errors[finite],
        face,
        names=_names(result, errors, finite),
        center_label=f"rms {pretty_number(rms, 3)}°",
        series=2,
    )
    largest = float(np.abs(errors[finite]).max(initial=0.0))
    caption = (
        f"Error of each phase: the estimate, aligned with the truth, minus the truth. Root mean square "
        f"{pretty_number(rms, 3)}°, largest {pretty_number(largest, 3)}°."
    )
    if face.magnification > 1:
        caption += f" The dial spans ±{pretty_number(face.span)}°."
    return Figure(svg, caption + _not_finite(finite))


def residual_histogram(quality: Quality, turns: bool = False) -> Figure | None:
    """Residuals of the measurements in degrees (or turns), and the curve of noise as wide as their middle half.

    Each residual is over the root of the share of its error that it shows and, where weights differ, times the root of
    its weight over the median weight: so all scatter alike where the weights are right.
    """
    found = quality.residuals
    if found is None or not found.checked.any():
        return None
    used = found.checked
    unit, sign = (1 / 360, " turns") if turns else (1.0, "°")
    scale = unit * math.degrees(1 / math.sqrt(float(np.median(found.information[found.active]))))
    shown = (np.sign(found.wrapped) * found.t)[used] * scale
    bins = histogram(shown)
    if bins.size == 0:
        return None
    reach, width = float(bins.edges[-1]), float(bins.edges[1] - bins.edges[0])
    core = unit * quality.core_degrees if quality.core_degrees else bins.standard_deviation
    bell_x, bell = np.linspace(-reach, reach, 241), np.zeros(0)
    if core > width / 4:  # narrower than that, the bins do not resolve it
        inside = bins.size * (1 - quality.far_share)
        bell = inside * width / (core * math.sqrt(2 * math.pi)) * np.exp(-((bell_x / core) ** 2) / 2)
    weighted = bool(np.ptp(found.measurements.strength[used]) > 0)
    enlarged = found.known and float(found.redundancy[used].min()) < 0.9
    scaled = ", scaled" if weighted or enlarged else ""  # which can lie beyond half a turn
    chart = Chart(
        "Histogram of the measurement residuals",
        f"measured minus fitted angle{scaled} ({'turns' if turns else 'degrees'})",
        "measurements",
        (-reach, reach),
        (0.0, 1.08 * max(float(bins.counts.max()), float(bell.max(initial=0.0)))),
        x_step=45.0 if reach == 180 and not turns else None,
        width=600,
    )
    far = 4 * core
    chart.bars(bins.edges, bins.counts, series=1, label="residuals" if bell.size else None)
    caption = f"Residuals of {counted(bins.size, 'measurement')}."
    unchecked = int(found.active.sum() - used.sum())
    if unchecked:
        caption += f" {counted(unchecked, 'measurement')} that nothing checks left out."
    if weighted:
        caption += " All are brought to the median weight."
    if enlarged:
        caption += " Each is scaled up by what the fit takes up of it."
    if bell.size:
        chart.line(bell_x, bell, series=2, label="noise", dashed=True)
        caption += (
            f" The curve is noise as wide as the middle half of them: a scatter of {pretty_number(core, 3)}{sign}."
        )
    if quality.far_count and far < reach:
        beyond = np.where((bins.edges[:-1] > far) | (bins.edges[1:] < -far), bins.counts, 0)
        chart.bars(bins.edges, beyond, series=2)
        caption += " Orange bars lie beyond four times that, where noise alone leaves one in 16,000."
    if bins.left_out:
        caption += f" {counted(bins.left_out, 'residual')} not finite and not drawn."
    return Figure(chart.render(), caption)


def error_bar_figure(errors: NDArray[np.float64]) -> Figure:
    """Standard errors (radians) in order of size, in degrees; nodes that the others are told against have none."""
    known = errors[np.isfinite(errors)]
    told = known > 1e-9 * known.max()  # less is the rounding of zero
    degrees = np.sort(np.degrees(known[told] if told.any() else known))
    places = np.unique(np.linspace(0, degrees.size - 1, min(degrees.size, 400)).round().astype(int))
    chart = Chart(
        "Standard errors of the phases",
        "nodes, the surest first",
        "standard error (degrees)",
        (0.0, float(max(degrees.size, 2))),
        (0.0, 1.08 * float(degrees[-1]) or 1.0),
        width=600,
        height=260,
    )
    chart.line(places + 1.0, degrees[places], series=1)
    if degrees.size <= 40:
        chart.points(places + 1.0, degrees[places], series=1)
    middle, worst = float(np.median(np.degrees(known))), float(degrees[-1])
    caption = f"Standard errors: median {pretty_number(middle, 3)}°, largest {pretty_number(worst, 3)}°."
    given, unknown = known.size - degrees.size, int(errors.size - known.size)
    if given:
        caption += f" {counted(given, 'node')} that the others are told against left out."
    return Figure(chart.render(), caption + (f" {counted(unknown, 'node')} without one." if unknown else ""))


def gauge_in_words(result: ReportedResult) -> str:
    """Angles mean nothing without their gauge."""
    several = component_ranks(result)[1] > 1
    if isinstance(result.gauge, str) and result.gauge == "anchors":
        return "the anchors and priors that were given"
    if isinstance(result.gauge, str) and result.gauge == "first":
        return "the first node of each component has angle 0" if several else "the first node has angle 0"
    if isinstance(result.gauge, str) and result.gauge == "mean":
        return "the sum of the phases" + (" of each component" if several else "") + " is real and positive"
    return f"node {result.gauge} has angle 0"


def node_name(result: ReportedResult, index: int) -> str:
    """The caller's label of a node, or its number."""
    return str(result.labels[index]) if result.labels is not None else str(index)


def _curve_chart(title: str, y_label: str, curve: Curve, lines: list[tuple[float, str]], series: int) -> str:
    thinned = thin(curve)
    chart = Chart(
        title,
        "iteration",
        y_label,
        (0.0, curve.span[1]),
        decades(curve.value, *(value / 3 for value, _ in lines)),
        log_y=True,
    )
    for value, label in lines:
        chart.horizontal(value, label)
    chart.line(thinned.iteration, thinned.value, series)
    if 1 < curve.value.size <= 40:
        chart.points(thinned.iteration, thinned.value, series)
    return chart.render()


def _names(result: ReportedResult, degrees: NDArray, finite: NDArray) -> list[str] | None:
    if degrees.size > MOST_NAMES:
        return None
    return [f"{node_name(result, int(k))}: {pretty_number(degrees[k])}°" for k in np.flatnonzero(finite)]


def _what_is_drawn(size: int) -> str:
    if size > MOST_POINTS:
        return f"How the angles of {counted(size, 'node')} are spread: a longer bar holds more nodes."
    if size == 1:
        return "The angle of the only node."
    return f"The angle of each of the {counted(size, 'node')}" + (
        "; the bars outside show where they are dense." if size >= 50 else "."
    )


def _left_out(curve: Curve) -> str:
    if not curve.left_out:
        return ""
    return f" {counted(curve.left_out, 'value')} not positive or not finite, and not drawn."


def _not_finite(finite: NDArray) -> str:
    missing = int(finite.size - finite.sum())
    return f" {counted(missing, 'node')} without a finite angle: not drawn." if missing else ""
