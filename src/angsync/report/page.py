"""The pages about one solved problem and about the result of an application."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.io.atomic import atomic_open
from angsync.report.canvas import check_page, page_style
from angsync.report.network_plot import LABELS, draw_network, is_full, left_out_in_words, node_values, places_of
from angsync.report.numbers import counted, duration, pretty_number
from angsync.report.phases_plot import MOST_INTERVALS, draw_intervals, draw_truth, draw_wheel
from angsync.report.picture_plot import draw_picture, is_empty
from angsync.report.pictures import Curves, Intervals, Picture, Row, Table
from angsync.report.plotting import convergence
from angsync.report.provenance import input_of, versions
from angsync.report.residuals_plot import draw_histogram
from angsync.report.sentences import Judgment, judge_fit, judge_proof, verdict_in_words, weak_spots
from angsync.report.series import (
    Errors,
    angle_errors,
    check_one_problem,
    component_ranks,
    doubted,
    errors_and_doubts,
    gauge_in_words,
    is_quickly_judged,
    measurements_of,
    node_name,
)
from angsync.report.template import MOST_LISTED, MOST_WORST, Figure, Page, capital, compose, drawn
from angsync.uncertainty.quality import Quality, assess

if TYPE_CHECKING:
    from angsync.applications.result import Description
    from angsync.batch.result import BatchResult
    from angsync.pipeline.result import SyncResult

MOST_WITH_ERRORS = 20_000
"""Nodes up to which a page works out standard errors by itself: it takes seconds at this size."""
_WORK = ("status", "work", "method")


def render_page(
    result: SyncResult,
    *,
    title: str = "angsync report",
    rows: Sequence[Row] = (),
    truth: ArrayLike | None = None,
    positions: Any = None,
    notes: Sequence[str] = (),
    tolerance: float | None = None,
    standard_errors: NDArray[np.float64] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> str:
    """Return the page as text. Angles are degrees.

    ``rows`` go to the top of the numbers; ``truth`` (phases) adds the errors; ``positions`` (n, 2): where the nodes lie
    on the map, which is laid out by their measurements otherwise; ``notes`` are sentences at the top; ``tolerance`` is
    drawn into the curve of the residual; ``provenance`` ends the page, with versions and the hash of the input.
    ``standard_errors`` (radians) are found unless given, where that takes seconds.
    """
    check_one_problem(result)
    quality = assess(result)
    errors, words = _errors(result, standard_errors)
    off = None if truth is None else angle_errors(result, truth)
    places = None if positions is None else places_of(positions, result)
    with page_style():
        page = Page(
            title=title,
            fit=judge_fit(result, quality, errors.typical),
            answer_in_words=_found(result, errors.typical),
            notes=notes,
            answer=_answer(result, quality, errors, off, places),
            answer_words=words,
            table=_listing(result, errors, off),
            rows=[*map(capital, rows), *map(capital, _rows(result, quality, errors, off))],
            provenance={
                "input": input_of(result.source), "versions": versions(),
                "settings": {"gauge": str(result.gauge), "tolerance": tolerance}, **(provenance or {}),
            },
            **_of_problem(result, quality, tolerance),
        )  # fmt: skip
    return compose(page)


def _of_problem(
    result: SyncResult, quality: Quality | None, tolerance: float | None, names: Any = None, *, turns: bool = False
) -> dict[str, Any]:
    """The parts of a page that say how well the measurements fit, what is proved, and how it was found."""
    return {
        "proof": judge_proof(result),
        "warnings": [] if result.converged else [f"Not converged: {result.status.name.replace('_', ' ').lower()}"],
        "residuals": _residuals(result, quality, turns=turns),
        "worst": _worst(result, quality),
        "weak_spots": weak_spots(result, names),
        "proof_rows": _proof_rows(result),
        "work": [*_method(result), _work_in_words(result)],
        "convergence": _convergence(result, tolerance),
    }


def write_page(result: SyncResult, path: str | os.PathLike[str], **details: Any) -> Path:
    """Write :func:`render_page` to ``path``: complete, or not at all."""
    with atomic_open(check_page(path)) as stream:  # first, so that an unwritable path is found before the work
        stream.write(render_page(result, **details))
    return Path(path)


def write_field_page(
    path: str | os.PathLike[str],
    title: str,
    *,
    told: Description,
    proof: Judgment,
    fit: Judgment,
    sync: SyncResult | BatchResult,
    quality: Quality | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write the page of an application: complete, or not at all. ``sync`` is the solved problem or stack behind it."""
    with atomic_open(check_page(path)) as stream, page_style():
        parts: dict[str, Any] = {"work": [f"{', '.join(filter(None, row[1:]))}." for row in told.rows if _is_work(row)]}
        origin = {"versions": versions(), **(provenance or {})}
        if np.ndim(sync.z) == 1:
            problem: Any = sync
            parts = _of_problem(problem, quality, problem.tolerance or None, told.names, turns=told.in_turns)
            origin = {"input": input_of(problem.source), **origin}
        own = {"proof": proof, "residuals": _pictures(told, "residuals"), "worst": told.worst}
        page = Page(
            title=title,
            fit=fit,
            notes=[words[:1].upper() + words[1:] for words in told.sentences],
            answer=[*_pictures(told, "answer"), *_pictures(told, "errors")],
            table=_field_table(told),
            rows=[capital(row) for row in told.rows if not _is_work(row)],
            provenance=origin,
            **parts | {name: part for name, part in own.items() if part},
        )
        stream.write(compose(page if proof.look != "bad" else dataclasses.replace(page, proof_rows=[])))
    return Path(path)


def _is_work(row: Row) -> bool:
    return row[0].lower() in _WORK


def _pictures(told: Description, about: str) -> list[Figure]:
    shown = [(k, one) for k, one in enumerate(told.pictures) if one.about == about and not is_empty(one)]
    return [_picture(f"p{k}", one) for k, one in shown]


def _picture(name: str, picture: Picture) -> Figure:
    tall = isinstance(picture, Intervals) or (isinstance(picture, Curves) and picture.equal)
    caption = picture.drawn().caption if isinstance(picture, Intervals) else picture.caption
    return drawn(name, picture.title, caption, lambda axes: draw_picture(picture, axes), tall=tall)


def _field_table(told: Description) -> Table:
    """No more rows than are shown; radians in degrees, and said so."""
    columns: dict[str, NDArray] = {}
    for name, column in told.columns.items():
        shown = column[:MOST_LISTED]
        if name == "component" and np.all(column == column[:1]):  # all in one: nothing is told apart
            continue
        words, unit = name.replace("_", " "), "°" if name in told.radians else told.units.get(name, "")
        columns[f"{words} ({unit})" if unit else words] = np.degrees(shown) if name in told.radians else shown
    return Table(columns, of=len(next(iter(told.columns.values()), ())))


# --- the parts of a page ----------------------------------------------------------------------------------------------


def _found(result: SyncResult, typical: float) -> str:
    count = counted(int(np.size(result.components)), "phase")
    return f"{count}, known to about {pretty_number(typical, 3)}°." if np.isfinite(typical) else f"{count}."


def _errors(result: SyncResult, given: NDArray[np.float64] | None) -> tuple[Errors, list[str]]:
    """Standard errors, and what is to be said about them."""
    if given is not None:
        return Errors(np.degrees(np.asarray(given, dtype=float))), []
    if int(np.size(result.components)) > MOST_WITH_ERRORS or not is_quickly_judged(result):
        words = (
            "No error bars: not worked out for so large a graph. Ask for them with --standard-errors, or give to_html "
            "standard_errors=result.standard_errors()."
        )
        return Errors(np.full(np.size(result.components), np.nan), words), [words]
    errors, doubts = errors_and_doubts(result)
    return errors, [*filter(None, [errors.missing]), *doubts]


def _answer(
    result: SyncResult, quality: Quality | None, errors: Errors, off: NDArray[np.float64] | None,
    places: NDArray[np.float64] | None,
) -> list[Figure]:  # fmt: skip
    nodes = int(np.size(result.components))
    if not nodes:
        return []
    gauge = f"Gauge: {gauge_in_words(result.gauge, component_ranks(result)[1])}."
    found = []
    if errors.missing or nodes > MOST_INTERVALS:
        words = f"The angle of each of the {counted(nodes, 'node')}. {gauge}" if nodes > 1 else "The only node."
        found.append(drawn("wheel", "Phases", words, lambda axes: draw_wheel(result, axes, errors), polar=True))
    if not errors.missing:
        words = f"{gauge} {_error_sizes(errors)}"
        found.append(drawn("bars", "Error bars", words, lambda axes: draw_intervals(result, axes, errors)))
    if off is not None:
        found.append(drawn("truth", "Errors", _off_in_words(off), lambda axes: draw_truth(result, axes, off, errors)))
    if quality is not None and nodes > 2 and (places is not None or not is_full(result.measurements)):
        value, label = _node_colors(result, errors, off)
        words = f"The measured graph; the color of a node is its {label.removesuffix(' (degrees)')}."
        words += "" if places is not None else " Nodes that are measured against each other lie near each other."
        left_out = left_out_in_words(result.measurements, doubted(result, quality))
        words += f" {left_out}." if left_out else ""

        def draw(axes: Any) -> None:
            draw_network(result, axes, value, quality, places, label=label)

        found.append(drawn("map", "The measured graph", words, draw, tall=True))
    return found


def _node_colors(
    result: SyncResult, errors: Errors, off: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], str]:
    """A number for each node of a map, and its label."""
    if off is not None:
        return np.abs(off), "distance from the truth (degrees)"
    if np.isfinite(errors.degrees).any():
        return errors.degrees, LABELS["error"]
    return node_values(result, "residual"), LABELS["residual"]


def _error_sizes(errors: Errors) -> str:
    largest = float(np.nanmax(errors.degrees, initial=0.0))
    return f"Standard errors: median {pretty_number(errors.typical, 3)}°, largest {pretty_number(largest, 3)}°."


def _off_in_words(off: NDArray[np.float64]) -> str:
    rms, largest = math.sqrt(float(np.nanmean(off**2))), float(np.nanmax(np.abs(off)))
    return (
        f"How far each phase is off the truth, in the same gauge: largest {pretty_number(largest, 3)}°, root mean "
        f"square {pretty_number(rms, 3)}°." + " Bars are 95 % intervals." * (off.size <= MOST_INTERVALS)
    )


def _residuals(result: SyncResult, quality: Quality | None, *, turns: bool = False) -> list[Figure]:
    if quality is None or quality.noise_degrees is None:
        return []
    words = f"Residuals of the {counted(quality.count, 'measurement')} that the fit uses."
    if quality.left_out:
        words += f" {counted(quality.left_out, 'measurement')} left out."
    return [drawn("residuals", "Residuals", words, lambda axes: draw_histogram(result, axes, quality, turns=turns))]


def _worst(result: SyncResult, quality: Quality | None) -> Table | None:
    """The measurements that fit worst."""
    if quality is None or quality.residuals is None:
        return None
    found, m = quality.residuals, result.measurements
    places = found.worst(MOST_WORST)
    columns: dict[str, Any] = {
        "from": np.array([node_name(result, int(k)) for k in m.i[places]], dtype=object),
        "to": np.array([node_name(result, int(k)) for k in m.j[places]], dtype=object),
        "measured (°)": np.degrees(np.asarray(m.angle)[places]),
        "residual (°)": np.degrees(found.wrapped[places]),
        "times the scatter": found.t[places] / (found.core or math.inf),
    }
    if not found.active.all():
        columns["left out"] = ~found.active[places]
    if np.ptp(m.strength) > 0:
        columns["weight"] = np.asarray(m.strength, dtype=float)[places]
    caption = (
        "The measurements that fit worst: measured minus fitted angle, and that over the scatter of the middle half "
        "(noise alone leaves one in 16,000 beyond 4). A click on a column sorts by it."
    )
    return Table(columns, caption, "worst", len(m))


def _rows(result: SyncResult, quality: Quality | None, errors: Errors, off: NDArray[np.float64] | None) -> list[Row]:
    nodes, components = int(np.size(result.components)), component_ranks(result)[1]
    apart = f"{components:,} connected components; phases between them are not measured"
    rows: list[Row] = [("nodes", f"{nodes:,}", apart if components > 1 else "all connected" if nodes > 1 else "")]
    if np.isfinite(errors.typical):
        rows.append(("error of a phase", f"{pretty_number(errors.typical, 3)}°", "median standard error"))
    if off is not None:
        rows.append(("largest error", f"{pretty_number(float(np.nanmax(np.abs(off))), 3)}°", "estimate minus truth"))
    if quality is None:
        return rows
    missing = [(quality.left_out, "left out"), (quality.repeated, "repeated")]
    used = [f"{count:,} {words}" for count, words in missing if count]
    free = f"{round(quality.degrees_of_freedom):,} more than needed"
    used = [f"{quality.count:,} used", *used, free] if used else [free]
    rows.append(("measurements", f"{len(result.measurements):,}", ", ".join(used)))
    rows.append(("misfit", f"{pretty_number(quality.rms_degrees, 3)}°", "root mean square of the residuals"))
    if quality.noise_degrees is not None:
        taken = "standard deviation at median weight; the fit takes up a part of it, which the misfit lacks"
        rows.append(("noise of a measurement", f"{pretty_number(quality.noise_degrees, 3)}°", taken))
        rows.append(("far off", f"{quality.far_count:,}", "measurements beyond 4 times the scatter of the middle half"))
    if quality.chi2_per_dof is not None:
        note = "per degree of freedom: 1 where the weights are 1 / variance, in radians"
        rows.append(("chi-square", pretty_number(quality.chi2_per_dof, 3), note))
    return rows


def _listing(result: SyncResult, errors: Errors, off: NDArray[np.float64] | None) -> Table:
    """The first nodes, or those that are least sure if there are more than are listed."""
    angles = np.asarray(result.angles, dtype=float)
    component, count = component_ranks(result)
    listed, order = np.arange(angles.size)[:MOST_LISTED], "first"
    if angles.size > MOST_LISTED and not errors.missing:
        listed, order = np.argsort(-np.nan_to_num(errors.degrees), kind="stable")[:MOST_LISTED], "least sure"
    columns: dict[str, Any] = {
        "node": np.array([node_name(result, int(k)) for k in listed], dtype=object),
        "angle (°)": np.degrees(angles[listed]),
    }
    if not errors.missing:
        columns["standard error (°)"] = errors.degrees[listed]
    if off is not None:
        columns["minus truth (°)"] = off[listed]
    measurements = measurements_of(result)
    if not isinstance(measurements, str):
        ends = np.concatenate([measurements.i, measurements.j])
        columns["measurements"] = np.bincount(ends, minlength=angles.size)[listed]
    if count > 1:
        columns["component"] = component[listed] + 1
    return Table(columns, "A click on a column sorts by it.", order, angles.size)


def _proof_rows(result: SyncResult) -> list[Row]:
    """The certificate in numbers; none where the weights that it is about are not credible."""
    certificate = result.certificate
    if certificate is None or (result.robust is not None and result.robust.credible is False):
        return []
    number = pretty_number
    failure = 1.0 - float(certificate.confidence)
    rows: list[Row] = [
        ("Verdict", verdict_in_words(certificate, result.robust),
         f"needs a relative gap of {number(certificate.tolerance)}"),
        ("Gap bound", number(certificate.gap_bound), f"on f* − f(z); {number(certificate.relative_gap)} relative"),
        ("Objective", number(result.objective, 8), "f(z) = zᴴCz, larger is better"),
        ("λ_min(S) at least", number(certificate.lambda_min), "smallest eigenvalue of S = Diag(s) − C"),
        ("λ₂(S) at least", number(certificate.lambda_2), "positive where the optimum is unique"),
        ("Unique", "proved" if certificate.unique else "not proved", "up to phase"),
        ("Method", certificate.method,
         "deterministic" if failure <= 0 else f"fails with probability {number(failure, 2)} at most"),
    ]  # fmt: skip
    if result.starts is not None:
        rows.append(("Starts", str(result.starts.count), f"{result.starts}: one run is not reliable on this problem"))
    return rows


def _convergence(result: SyncResult, tolerance: float | None) -> list[Figure]:
    """The curves of the run if they have more than two points: fewer are in the words."""
    return [_picture("run", convergence(result, tolerance))] if np.size(result.history.residual) > 2 else []


def _work_in_words(result: SyncResult) -> str:
    return (
        f"{counted(int(result.iterations), 'iteration')}, {counted(int(result.matvecs), 'product')} with C, "
        f"{duration(result.seconds)}; the gradient ended at {pretty_number(result.residual, 3)} of the product (zero "
        "at a stationary point)."
    )


def _method(result: SyncResult) -> list[str]:
    sentences = [result.method.strip()]
    for words in (str(result.status.value), result.message):
        if words and words not in sentences:
            sentences.append(words)
    return list(dict.fromkeys(part for one in sentences for part in one.split("\n")))
