"""Pictures of one result: what it looks like, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from angsync.errors import InputError
from angsync.report.canvas import figure_of, literal
from angsync.report.network_plot import plot_network
from angsync.report.numbers import counted
from angsync.report.phases_plot import draw_intervals, draw_wheel
from angsync.report.picture_plot import draw_picture
from angsync.report.pictures import Curves, Series
from angsync.report.residuals_plot import draw_histogram, plot_residuals
from angsync.report.sentences import headline
from angsync.report.series import (
    MOST_JUDGED,
    Errors,
    check_one_problem,
    errors_of,
    is_quickly_judged,
    objective_gap_curve,
    residual_curve,
)
from angsync.uncertainty.quality import assess

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult

KINDS = ("overview", "phases", "residuals", "network", "convergence")


def plot(result: SyncResult, kind: str = "overview", *, figure: Any = None, **options: Any) -> Any:
    """Draw ``result`` on a matplotlib ``Figure`` (a new one unless given) and return it.

    ``kind``: ``"overview"`` (the phases with their error bars, and the residuals), ``"phases"``, ``"residuals"``
    (:func:`plot_residuals`), ``"network"`` (:func:`plot_network`, whose ``positions``, ``color`` and ``names`` are
    taken) or ``"convergence"``.

    Nothing is shown and no global state changes: to keep the picture, ``plot(result).savefig("result.png")``;
    to place it in a figure of pyplot, pass that as ``figure``.
    """
    if not isinstance(kind, str):
        raise InputError(f"kind must be one of {_listed()}, not a {type(kind).__name__}; a figure goes to figure=.")
    if kind not in KINDS:
        raise InputError(f"kind must be one of {_listed()}, not {kind!r}.")
    check_one_problem(result)
    if kind == "network":
        return plot_network(result, figure=figure, **options)
    if options:
        raise InputError(f"{', '.join(options)}: only kind='network' takes options.")
    if kind == "residuals":
        return plot_residuals(result, figure)
    if kind == "convergence":
        figure = figure_of(figure, 5.6, 4)
        draw_picture(convergence(result), figure.add_subplot())
        return literal(figure)
    panels = 3 if kind == "overview" else 2
    figure = figure_of(figure, 4.4 * panels, 4.2)
    kinds = ("polar", None, None)[:panels]
    wheel, intervals, *more = (figure.add_subplot(1, panels, k + 1, projection=one) for k, one in enumerate(kinds))
    unknown = Errors(np.full(np.size(result.components), np.nan), _TOO_MANY)
    errors = errors_of(result) if kind == "phases" or is_quickly_judged(result) else unknown
    draw_wheel(result, wheel, errors)
    draw_intervals(result, intervals, errors)
    for axes in more:
        draw_histogram(result, axes, assess(result))
    nodes = counted(int(np.size(result.components)), "node")
    verdict = headline(result.certificate, result.robust)
    figure.suptitle(f"{nodes}: {verdict[0].lower()}{verdict[1:]}", fontsize="large")
    return literal(figure)


_TOO_MANY = f"No error bars: for more than {MOST_JUDGED:,} measurements they take long. result.plot('phases') has them."


def _listed() -> str:
    return ", ".join(map(repr, KINDS))


def convergence(result: SyncResult, tolerance: float | None = None) -> Curves:
    """The residual, and what the objective still lacked to its final value, after each iteration."""
    series = (
        Series(*residual_curve(result), "residual (relative gradient)", line=True),
        Series(*objective_gap_curve(result), "f(end) − f(k)", line=True),
    )
    level = (tolerance, "tolerance") if tolerance is not None and 0 < tolerance < np.inf else None
    words = "Residual after each iteration (how far the point is from stationary), and what the objective still lacked."
    return Curves("Convergence", "iteration", "", series, words, log_y=True, level=level)
