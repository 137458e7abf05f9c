"""The page about one solved problem: one self-contained HTML file, for the screen, light and dark, and for print."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import ErrorBarWarning, InputError
from angsync.io.atomic import atomic_open
from angsync.report.builder import MOST_LISTED, MOST_UNSURE, MOST_WORST, Page, compose
from angsync.report.figures import (
    Figure,
    error_bar_figure,
    error_wheel,
    gauge_in_words,
    node_name,
    objective_figure,
    phase_wheel,
    residual_figure,
    residual_histogram,
)
from angsync.report.html import Row, Table, capital
from angsync.report.judgment import judge_fit, judge_proof
from angsync.report.layout import layout
from angsync.report.network import network_figure
from angsync.report.numbers import counted, duration, pretty_number
from angsync.report.protocols import ReportedResult
from angsync.report.provenance import input_of, versions
from angsync.report.quality import Quality, assess
from angsync.report.series import angle_errors, check_one_problem, component_ranks
from angsync.report.weak_spots import weak_spots
from angsync.report.words import verdict_in_words

MOST_WITH_ERRORS = 20_000
"""Nodes up to which a page works out standard errors by itself: it takes seconds at this size."""
_MOST_EDGES = 200_000  # the same for measurements
_DENSE = 0.5  # share of pairs that are measured, from which a graph is no map but a clew
_MARKED = 20  # of the worst measurements that are marked in the network


def render_page(
    result: ReportedResult,
    *,
    title: str = "angsync report",
    rows: Sequence[Row] = (),
    truth: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    notes: Sequence[str] = (),
    tolerance: float | None = None,
    settings: Sequence[Row] = (),
    standard_errors: NDArray[np.float64] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> str:
    """The page as text. Angles are degrees.

    ``rows`` go to the top of the numbers; ``truth`` (phases) adds the error wheel; ``positions`` (n, 2): where
    the nodes lie on the map, which is laid out by their measurements otherwise; ``notes`` are sentences at the top;
    ``tolerance`` is drawn into the curve of the residual; ``settings`` (a name and a value each) and ``provenance`` end
    the page, with versions and the hash of the input. ``standard_errors`` (radians) are found unless given, where that
    takes seconds.
    """
    check_one_problem(result)
    quality = assess(result)
    errors, error_words = _errors(result, standard_errors)
    pictures = _pictures(result, quality, errors, truth, _placed(result, positions))
    chosen = {str(row[0]): " ".join(map(str, row[1:])) for row in settings}
    page = Page(
        title=title,
        proof=judge_proof(result),
        fit=judge_fit(quality, _typical(errors)),
        rows=[*map(capital, rows), *_rows(result, quality, errors)],
        notes=notes,
        warnings=[] if result.converged else [f"Not converged: {_readable(result.status.name)}"],
        pictures=pictures,
        residuals=residual_figures(quality),
        worst=worst_table(result, quality),
        errors=[] if errors is None or not np.isfinite(errors).any() else [error_bar_figure(errors)],
        error_words=error_words,
        unsure=None if errors is None else _unsure(result, errors),
        weak_spots=weak_spots(result),
        answer=_listing(result, errors),
        answer_figures=_wheels(result, truth) if pictures and pictures[0].wide else [],
        answer_heading="Angles of all nodes",
        proof_rows=proof_rows(result),
        convergence=convergence_figures(result, tolerance),
        convergence_words=[*_method(result), *work_in_words(result)],
        provenance={
            "input": input_of(result.source), "versions": versions(),
            "settings": {"gauge": str(result.gauge), "tolerance": tolerance, **chosen}, **(provenance or {}),
        },
    )  # fmt: skip
    return compose(page)


def write_page(result: ReportedResult, path: str | os.PathLike[str], **details: Any) -> Path:
    """Write :func:`render_page` to ``path``: complete, or not at all."""
    with atomic_open(path) as stream:  # first, so that an unwritable path is found before the work
        stream.write(render_page(result, **details))
    return Path(path)


# --- what pages of applications have too ------------------------------------------------------------------------------


def residual_figures(quality: Quality | None, turns: bool = False) -> list[Figure]:
    """The histogram of the residuals, where there are any; in degrees or in ``turns``."""
    found = None if quality is None else residual_histogram(quality, turns)
    return [] if found is None else [found]


def worst_table(result: ReportedResult, quality: Quality | None) -> Table | None:
    """The measurements that fit worst."""
    if quality is None or quality.residuals is None:
        return None
    found, m = quality.residuals, result.measurements
    places = found.worst(MOST_WORST)
    width = found.core or np.inf
    columns: dict[str, Any] = {
        "from": np.array([node_name(result, int(k)) for k in m.i[places]], dtype=object),
        "to": np.array([node_name(result, int(k)) for k in m.j[places]], dtype=object),
        "measured (°)": np.degrees(np.asarray(m.angle)[places]),
        "residual (°)": np.degrees(found.wrapped[places]),
        "times the scatter": found.t[places] / width,
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


def proof_rows(result: ReportedResult) -> list[Row]:
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


def convergence_figures(result: ReportedResult, tolerance: float | None) -> list[Figure]:
    """The curves of the run that have more than two points: fewer are in the words."""
    if np.size(result.history.residual) < 3:
        return []
    return [f for f in (residual_figure(result, tolerance), objective_figure(result)) if f is not None]


def work_in_words(result: ReportedResult) -> list[str]:
    """How much work it was."""
    return [
        f"{counted(int(result.iterations), 'iteration')}, {counted(int(result.matvecs), 'product')} with C, "
        f"{duration(result.seconds)}; the gradient ended at {pretty_number(result.residual, 3)} of the product (zero "
        "at a stationary point)."
    ]


# --- what only plain solves have --------------------------------------------------------------------------------------


def _readable(name: str) -> str:
    return name.replace("_", " ").lower()


def _rows(result: ReportedResult, quality: Quality | None, errors: NDArray[np.float64] | None) -> list[Row]:
    nodes, components = int(np.shape(result.angles)[0]), component_ranks(result)[1]
    apart = f"{components:,} connected components; phases between them are not measured"
    rows: list[Row] = [("Nodes", f"{nodes:,}", apart if components > 1 else "all connected" if nodes > 1 else "")]
    if quality is not None:
        rows.append(("Measurements", f"{quality.count:,}", f"{round(quality.degrees_of_freedom):,} more than needed"))
        rows.append(("Misfit", f"{pretty_number(quality.rms_degrees, 3)}°", "root mean square of the residuals"))
        if quality.noise_degrees is not None and quality.core_degrees is not None:
            core = f"{pretty_number(quality.core_degrees, 3)}° by the middle half of the measurements"
            rows.append(("Noise of a measurement", f"{pretty_number(quality.noise_degrees, 3)}°", core))
            far = f"{100 * quality.far_share:.2g} %, beyond 4 times the scatter of the middle half"
            rows.append(("Far off", f"{quality.far_count:,}", far))
        if quality.chi2_per_dof is not None:
            note = "per degree of freedom: 1 where the weights are 1 / variance, in radians"
            rows.append(("Chi-square", pretty_number(quality.chi2_per_dof, 3), note))
    typical = _typical(errors)
    if typical is not None:
        rows.append(("Error of a phase", f"{pretty_number(typical, 3)}°", "median standard error"))
    return rows


def _typical(errors: NDArray[np.float64] | None) -> float | None:
    known = np.zeros(0) if errors is None else errors[np.isfinite(errors)]
    return float(np.degrees(np.median(known))) if known.size else None


def _errors(result: ReportedResult, given: NDArray[np.float64] | None) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Standard errors in radians and what is to be said about them; None where there are none."""
    against = f"Standard errors, against the gauge: {gauge_in_words(result)}."
    if given is not None:
        return np.asarray(given, dtype=float), [against]
    try:
        edges, nodes = len(result.measurements), int(np.shape(result.angles)[0])
    except InputError as error:
        return None, [f"No error bars: {error}"]
    if nodes > MOST_WITH_ERRORS or edges > _MOST_EDGES:
        return None, [
            "Not worked out for so large a graph: ask for them with --standard-errors, or give to_html "
            "standard_errors=result.standard_errors()."
        ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            errors = np.asarray(result.standard_errors(), dtype=float)
        except InputError as error:
            return None, [f"No error bars: {error}"]
    doubts = [str(one.message) for one in caught if issubclass(one.category, ErrorBarWarning)]
    return errors, [against, *doubts]


def _placed(result: ReportedResult, positions: ArrayLike | None) -> NDArray[np.float64] | None:
    if positions is None:
        return None
    place, nodes = np.asarray(positions, dtype=float), int(np.shape(result.angles)[0])
    if place.shape != (nodes, 2) or not np.isfinite(place).all():
        raise InputError(
            f"positions must be {nodes} finite pairs of coordinates, one a node, of shape ({nodes}, 2); they have the "
            f"shape {place.shape}{'' if np.isfinite(place).all() else ', and some are not finite'}."
        )
    return place


def _pictures(
    result: ReportedResult, quality: Quality | None, errors: NDArray[np.float64] | None, truth: ArrayLike | None,
    place: NDArray[np.float64] | None,
) -> list[Figure]:  # fmt: skip
    if int(np.shape(result.angles)[0]) == 0:
        return []
    network = None if quality is None else _network(result, quality, errors, truth, place)
    return _wheels(result, truth) if network is None else [network]


def _wheels(result: ReportedResult, truth: ArrayLike | None) -> list[Figure]:
    return [phase_wheel(result), *([] if truth is None else [error_wheel(result, truth)])]


def _network(
    result: ReportedResult, quality: Quality, errors: NDArray[np.float64] | None, truth: ArrayLike | None,
    place: NDArray[np.float64] | None,
) -> Figure | None:  # fmt: skip
    m, nodes = result.measurements, int(np.shape(result.angles)[0])
    if nodes < 3 or (place is None and len(m) > _DENSE * nodes * (nodes - 1) / 2):
        return None
    names = [node_name(result, k) for k in range(nodes)] if nodes <= MOST_WITH_ERRORS else []
    if truth is not None:
        value, scale, what = np.abs(angle_errors(result, truth)), "error", "its distance from the truth"
    elif errors is not None and np.isfinite(errors).any():
        value, scale, what = errors, "standard error", "its standard error"
    else:
        wrapped = np.asarray(result.edge_residuals().wrapped, dtype=float)
        ends = np.concatenate([m.i, m.j])
        count = np.bincount(ends, minlength=nodes)
        square = np.bincount(ends, np.concatenate([wrapped, wrapped]) ** 2, nodes)
        value = np.sqrt(np.where(count > 0, square / np.maximum(count, 1), np.nan))
        scale, what = "misfit", "the misfit of its measurements (root mean square)"
    marked, marks = _marked(result, quality)
    caption = f"The measured graph; the color of a node is {what}."
    if place is None:
        place = layout(nodes, np.asarray(m.i), np.asarray(m.j), np.asarray(result.components))
        caption += " Nodes that are measured against each other lie near each other, where they can."
    return network_figure(
        place, np.asarray(m.i), np.asarray(m.j), marked, np.degrees(value), names, scale=scale, caption=caption,
        marks=marks,
    )  # fmt: skip


def _marked(result: ReportedResult, quality: Quality) -> tuple[list[int], str]:
    """The measurements that the map points out, and what they are: left out by a robust fit, or far off."""
    if result.robust is not None and np.any(result.robust.distrusted):
        left_out = np.flatnonzero(result.robust.distrusted)
        words = f"{counted(left_out.size, 'measurement')} left out"
        if left_out.size > _MARKED:  # more would hide the graph
            size = np.abs(np.asarray(result.edge_residuals().wrapped, dtype=float)[left_out])
            left_out = left_out[np.argsort(-size, kind="stable")][:_MARKED]
            words = f"{_MARKED} of {words}"
        return left_out.tolist(), words
    if quality.residuals is None or not quality.heavy_tails:
        return [], ""
    worst = quality.residuals.worst(_MARKED).tolist()
    return worst, f"the {len(worst)} measurements that fit worst"


def _unsure(result: ReportedResult, errors: NDArray[np.float64]) -> Table | None:
    known = np.flatnonzero(np.isfinite(errors))
    if known.size < 2:
        return None
    order = known[np.argsort(-errors[known], kind="stable")][:MOST_UNSURE]
    m = result.measurements
    count = np.bincount(np.concatenate([m.i, m.j]), minlength=errors.size)
    columns = {
        "node": np.array([node_name(result, int(k)) for k in order], dtype=object),
        "angle (°)": np.degrees(np.asarray(result.angles, dtype=float)[order]),
        "standard error (°)": np.degrees(errors[order]),
        "measurements": count[order],
    }
    return Table(columns, "The nodes whose phases are known worst.", "least sure", errors.size)


def _listing(result: ReportedResult, errors: NDArray[np.float64] | None) -> Table:
    angles = np.asarray(result.angles, dtype=float)
    listed = slice(0, min(angles.size, MOST_LISTED))
    component, count = component_ranks(result)
    columns: dict[str, Any] = {
        "node": np.array([node_name(result, k) for k in range(angles.size)[listed]], dtype=object),
        "angle (°)": np.degrees(angles[listed]),
    }
    if errors is not None:
        columns["standard error (°)"] = np.degrees(errors[listed])
    if count > 1:
        columns["component"] = component[listed] + 1
    caption = f"Gauge: {gauge_in_words(result)}."
    return Table(columns, caption, of=angles.size)


def _method(result: ReportedResult) -> list[str]:
    sentences = [result.method.strip()]
    for words in (str(result.status.value), result.message):
        if words and words not in sentences:
            sentences.append(words)
    unique = dict.fromkeys(part for one in sentences for part in one.split("\n"))
    return list(unique)
