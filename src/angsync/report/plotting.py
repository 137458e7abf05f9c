"""The same three pictures with matplotlib, for notebooks: convergence, phase wheel, residual histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from angsync.errors import MissingDependencyError
from angsync.report.figures import gauge_in_words
from angsync.report.numbers import pretty_number
from angsync.report.protocols import ReportedResult
from angsync.report.series import (
    check_one_problem,
    edge_residuals_in_degrees,
    histogram,
    objective_gap_curve,
    residual_curve,
)
from angsync.report.words import headline

BLUE, VERMILLION, SKY = "#0072B2", "#D55E00", "#56B4E9"  # Okabe and Ito: told apart by every eye
MOST_POINTS = 2000  # phases that are drawn as points


def plot(result: ReportedResult, figure: Any = None) -> Any:
    """Draw ``result`` on a matplotlib ``Figure`` (a new one unless given) and return it.

    Nothing is shown and no global state changes: to keep the picture, ``plot(result).savefig("result.png")``;
    to place it in a figure of pyplot, pass that as ``figure``.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("matplotlib", "plot", "plotting a result") from None
    check_one_problem(result)
    if figure is None:
        figure = Figure(figsize=(13, 4.2), layout="constrained")
    convergence = figure.add_subplot(1, 3, 1)
    wheel = figure.add_subplot(1, 3, 2, projection="polar")
    residuals = figure.add_subplot(1, 3, 3)
    figure.suptitle(headline(result.certificate, result.robust))
    _draw_convergence(result, convergence)
    _draw_wheel(result, wheel)
    _draw_residuals(result, residuals)
    return figure


def _draw_convergence(result: ReportedResult, axes: Any) -> None:
    axes.set_title("Convergence")
    curves = [
        (residual_curve(result), "residual", BLUE, "-"),
        (objective_gap_curve(result), "f(end) − f(k)", VERMILLION, "--"),
    ]
    for curve, label, colour, style in curves:
        if curve.value.size:
            marker = "o" if curve.value.size <= 40 else None
            axes.semilogy(curve.iteration, curve.value, style, color=colour, label=label, marker=marker, ms=3)
    axes.set_xlabel("iteration")
    if any(curve.value.size for curve, *_ in curves):
        axes.legend(frameon=False)
        axes.grid(alpha=0.25)
    else:
        _say(axes, "no history to draw")


def _draw_wheel(result: ReportedResult, axes: Any) -> None:
    axes.set_title(f"Phases\n{gauge_in_words(result)}", fontsize="medium")
    angles = np.asarray(result.angles, dtype=float)
    angles = angles[np.isfinite(angles)]
    eighths = np.arange(-3, 5) * np.pi / 4
    axes.set_xticks(eighths, [f"{round(np.degrees(angle))}°" for angle in eighths])
    axes.set_yticks([])
    axes.set_ylim(0, 1.6)
    if angles.size >= 50:
        counts, edges = np.histogram(angles, np.linspace(-np.pi, np.pi, 73))
        height = 0.5 * counts / max(1, counts.max())
        axes.bar(edges[:-1], height, np.diff(edges), bottom=1.05, align="edge", color=SKY)
    if angles.size <= MOST_POINTS:
        many = angles.size > 50
        axes.plot(angles, np.ones_like(angles), "o", color=BLUE, ms=4, alpha=0.45 if many else 0.9, mec="none")


def _draw_residuals(result: ReportedResult, axes: Any) -> None:
    values = edge_residuals_in_degrees(result)
    axes.set_title("Residuals of the measurements")
    axes.set_xlabel("measured minus fitted angle (degrees)")
    if isinstance(values, str):
        _say(axes, values)
        return
    bins = histogram(values)
    axes.stairs(bins.counts, bins.edges, fill=True, color=SKY)
    axes.set_title(f"Residuals: standard deviation {pretty_number(bins.standard_deviation, 3)}°")
    axes.set_ylabel("measurements")
    if bins.edges[-1] == 180:
        axes.set_xticks(np.arange(-180, 181, 60))


def _say(axes: Any, words: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", wrap=True, transform=axes.transAxes)
