"""One self-contained HTML page about one result: no network, no script, light, dark and print."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from angsync.io.atomic import atomic_open
from angsync.report.figures import (
    Figure,
    error_wheel,
    gauge_in_words,
    node_name,
    objective_figure,
    phase_wheel,
    residual_figure,
    residual_histogram,
)
from angsync.report.html import Row, badge, badges, document, figure, footer, header, paragraphs, section, table_of_rows
from angsync.report.numbers import counted, duration, pretty_number
from angsync.report.protocols import ReportedResult
from angsync.report.series import check_one_problem, component_ranks
from angsync.report.svg import escape
from angsync.report.words import certificate_in_words, headline, verdict_in_words

MOST_LISTED = 50  # nodes in the table of phases
# class and mark of the badge of each verdict
_LOOKS = {"CERTIFIED": ("good", "✓"), "REFUTED": ("bad", "✗"), "UNDECIDED": ("open", "?")}


def render_page(
    result: ReportedResult,
    *,
    title: str = "angsync report",
    rows: Sequence[Row] = (),
    truth: ArrayLike | None = None,
    notes: Sequence[str] = (),
    tolerance: float | None = None,
    settings: Sequence[Row] = (),
) -> str:
    """The page as text.

    ``rows`` go to the top of the summary table; ``truth`` (phases) adds the error wheel; ``notes`` are
    sentences under the summary; ``tolerance`` is drawn into the residual curve; ``settings`` end the page.
    """
    check_one_problem(result)
    sections = [
        header(title, _badges(result)),
        section("Summary", table_of_rows([*rows, *_summary_rows(result)], "summary") + paragraphs(notes)),
        section("Certificate", _certificate(result)),
        section("Convergence", _convergence(result, tolerance)),
        section("Phases", _phases(result, truth)),
        section("Residuals of the measurements", _residuals(result)),
        section("Method and status", _method(result)),
    ]
    return document(title, sections, _footer(result, tolerance, settings))


def write_page(
    result: ReportedResult,
    path: str | os.PathLike[str],
    *,
    title: str = "angsync report",
    rows: Sequence[Row] = (),
    truth: ArrayLike | None = None,
    notes: Sequence[str] = (),
    tolerance: float | None = None,
    settings: Sequence[Row] = (),
) -> Path:
    """Write :func:`render_page` to ``path``: complete, or not at all."""
    with atomic_open(path) as stream:  # first, so that an unwritable path is found before the work
        stream.write(
            render_page(
                result,
                title=title,
                rows=rows,
                truth=truth,
                notes=notes,
                tolerance=tolerance,
                settings=settings,
            )
        )
    return Path(path)


def _look(result: ReportedResult) -> tuple[str, str]:
    if result.robust is not None and result.robust.credible is False:
        return "bad", "✗"
    if result.certificate is None:
        return "none", "–"
    return _LOOKS.get(result.certificate.verdict.name, ("open", "?"))


def _badges(result: ReportedResult) -> str:
    look, mark = _look(result)
    proved = badge(look, mark, headline(result.certificate, result.robust))
    if result.converged:
        return badges([proved, badge("none", "✓", "Converged")])
    return badges([proved, badge("open", "!", f"Not converged: {_readable(result.status.name)}")])


def _readable(name: str) -> str:
    return name.replace("_", " ").lower()


def _summary_rows(result: ReportedResult) -> list[Row]:
    nodes = int(np.shape(result.angles)[0])
    components = component_ranks(result)[1]
    rows: list[Row] = [
        (
            "Nodes",
            f"{nodes:,}",
            ("all connected" if nodes > 1 else "")
            if components <= 1
            else f"{components:,} connected components; phases between them are not measured",
        ),
        ("Objective", pretty_number(result.objective, 8), "f(z) = zᴴCz, larger is better"),
    ]
    if result.certificate is not None:
        gap = result.certificate
        rows.append(
            (
                "Distance to the optimum",
                f"at most {pretty_number(gap.gap_bound, 3)}",
                f"{pretty_number(gap.relative_gap, 3)} relative",
            )
        )
    iterations, matvecs = int(result.iterations), int(result.matvecs)
    rows.append(("Residual", pretty_number(result.residual, 3), "‖Im(conj(z) Cz)‖ / ‖Cz‖, zero at a stationary point"))
    rows.append(("Iterations", f"{iterations:,}", f"{counted(matvecs, 'product')} with C"))
    rows.append(("Time", duration(result.seconds)))
    return rows


def _certificate(result: ReportedResult) -> str:
    components = component_ranks(result)[1]
    words = certificate_in_words(
        result.certificate,
        components,
        lambda value: pretty_number(value, 3),
        anchored=result.gauge == "anchors",
        weights=result.robust,
    )
    statement = f'<p class="statement {_look(result)[0]}">{escape(words)}</p>'
    certificate = result.certificate
    if certificate is None or (result.robust is not None and result.robust.credible is False):
        return statement
    rows = [
        (
            "Verdict",
            verdict_in_words(certificate, result.robust),
            f"certified needs a gap of {pretty_number(certificate.tolerance)} relative",
        ),
        ("Gap bound", pretty_number(certificate.gap_bound), "proved upper bound on f* − f(z)"),
        (
            "Relative gap",
            pretty_number(certificate.relative_gap),
            "the gap bound over the scale of the problem",
        ),
        (
            "λ_min(S) at least",
            pretty_number(certificate.lambda_min),
            "smallest eigenvalue of S = Diag(s) − C",
        ),
        (
            "λ₂(S) at least",
            pretty_number(certificate.lambda_2),
            "second eigenvalue of S; positive where z is well determined",
        ),
        ("Unique", "proved" if certificate.unique else "not proved", "of the optimum, up to phase"),
        ("Method", certificate.method, _confidence(certificate.confidence)),
    ]
    if result.starts is not None:
        rows.append(("Starts", str(result.starts.count), f"{result.starts}: one run is not reliable on this problem"))
    return statement + table_of_rows(rows, "summary")


def _confidence(confidence: float) -> str:
    failure = 1.0 - float(confidence)
    return "deterministic" if failure <= 0 else f"confidence 1 − {pretty_number(failure, 2)}"


def _drawn(one: Figure) -> str:
    return figure(one.svg, one.caption)


def _figures(figures: Sequence[Figure]) -> str:
    return f'<div class="figures">\n{"".join(_drawn(one) for one in figures)}\n</div>'


def _convergence(result: ReportedResult, tolerance: float | None) -> str:
    figures = [f for f in (residual_figure(result, tolerance), objective_figure(result)) if f is not None]
    if not figures:
        return "<p>There is no curve to draw: the answer needed no iteration, or no history was kept.</p>"
    if len(figures) == 1:
        return _drawn(figures[0])
    return _figures(figures)


def _phases(result: ReportedResult, truth: ArrayLike | None) -> str:
    if int(np.shape(result.angles)[0]) == 0:
        return "<p>There are no nodes.</p>"
    wheels = [phase_wheel(result)]
    if truth is not None:
        wheels.append(error_wheel(result, truth))
    drawn = _figures(wheels) if len(wheels) > 1 else _drawn(wheels[0])
    return drawn + _listing(result)


def _listing(result: ReportedResult) -> str:
    angles = np.asarray(result.angles, dtype=float)
    listed = min(angles.size, MOST_LISTED)
    component, count = component_ranks(result)
    rows = [
        (
            node_name(result, k),
            f"{pretty_number(np.degrees(angles[k]), 5)}°",
            f"component {component[k] + 1}" if count > 1 else "",
        )
        for k in range(listed)
    ]
    which = "all nodes" if listed == angles.size else f"the first {listed} nodes"
    return f"<details><summary>Angles of {which}</summary>{table_of_rows(rows, 'listing')}</details>"


def _residuals(result: ReportedResult) -> str:
    found = residual_histogram(result)
    return f"<p>{escape(found)}</p>" if isinstance(found, str) else _drawn(found)


def _method(result: ReportedResult) -> str:
    sentences = [result.method, str(result.status.value)]
    if result.message and result.message not in sentences:
        sentences.append(result.message)
    return paragraphs(sentences)


def _footer(result: ReportedResult, tolerance: float | None, settings: Sequence[Row]) -> str:
    facts = [f"gauge: {gauge_in_words(result)}"]
    if tolerance is not None:
        facts.append(f"residual tolerance: {pretty_number(tolerance)}")
    if result.certificate is not None:
        facts.append(f"certificate tolerance: {pretty_number(result.certificate.tolerance)}")
    facts += [": ".join(str(part) for part in row) for row in settings]
    return footer(f"angsync {angsync_version()}", facts)


def angsync_version() -> str:
    """The version of the package, for the foot of a page."""
    try:
        return metadata.version("angsync")
    except metadata.PackageNotFoundError:
        return "(version unknown: not installed as a package)"
