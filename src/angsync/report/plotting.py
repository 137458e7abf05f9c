"""Pictures of one result: what it looks like, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from angsync.errors import InputError
from angsync.report.canvas import BLUE, GRAY, VERMILLION, figure_of, literal, logarithmic, plain_frame, say
from angsync.report.network_plot import plot_network
from angsync.report.numbers import counted
from angsync.report.phases_plot import draw_intervals, draw_wheel
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
_FEW_ITERATIONS = 40  # of which each has a mark
_MANY = 2000  # iterations, whose curve is an image on a page


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
        draw_convergence(result, figure.add_subplot())
        return literal(figure)
    panels = 3 if kind == "overview" else 2
    figure = figure_of(figure, 4.4 * panels, 4.2)
    wheel, intervals, *more = figure.subplots(1, panels)
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


def draw_convergence(result: SyncResult, axes: Any, tolerance: float | None = None) -> None:
    """The residual, and what the objective still lacked to its final value, after each iteration."""
    axes.set_title("Convergence", fontsize="medium")
    curves = [
        (residual_curve(result), "residual (relative gradient)", BLUE, "-"),
        (objective_gap_curve(result), "f(end) − f(k)", VERMILLION, "--"),
    ]
    axes.set_xlabel("iteration")
    if not any(value.size for (_, value), *_ in curves):
        say(axes, "no history to draw")
        return
    plain_frame(axes)
    logarithmic(axes.yaxis)
    for (iteration, value), label, color, line in curves:
        style = {"marker": "o" if value.size <= _FEW_ITERATIONS else None, "ms": 3, "rasterized": value.size > _MANY}
        axes.plot(iteration, value, line, color=color, label=label, **style)
    if tolerance is not None and np.isfinite(tolerance) and tolerance > 0:
        axes.axhline(tolerance, color=GRAY, lw=1, ls=":", label="tolerance")
    axes.legend(frameon=False, fontsize="small")
