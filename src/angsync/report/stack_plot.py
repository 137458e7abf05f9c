"""A stack of problems as pictures: maps of phases, of error bars and of what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.array_libraries import to_numpy
from angsync.report.canvas import BLUE, ORANGE, PURPLE, SKY, VERMILLION, check_extra, figure_of, literal
from angsync.report.numbers import counted
from angsync.report.picture_plot import draw_picture, plot_pictures
from angsync.report.pictures import Map
from angsync.report.series import gauge_in_words

if TYPE_CHECKING:
    from angsync.batch.result import BatchResult

OUTCOMES = {
    "CERTIFIED": BLUE,
    "UNDECIDED": ORANGE,
    "SOLVED": SKY,
    "DISCONNECTED": PURPLE,
    "NOT CONVERGED": VERMILLION,
    "NOT FINITE": "#000000",
    "INTERRUPTED": "#6a6a6a",
    "NO DATA": "#dddddd",
}
"""How a problem of a stack can end, and its color; SOLVED is what converged and was not to be certified."""
MOST_FOR_ERRORS = 50_000
"""Problems up to which error bars are computed unasked."""


def plot_stack(result: BatchResult, node: int | None = None, *, errors: bool | None = None, figure: Any = None) -> Any:
    """Draw a stack on a matplotlib ``Figure`` (a new one unless given) and return it.

    A stack (rows, columns, n) gives maps: the phase of one ``node`` (the last unless given), its standard error, and
    what is proved where. A stack (problems, n) gives the phases of all nodes, problem by problem, above what is proved.
    ``errors``: whether to compute standard errors; unless given, for at most 50,000 problems.
    """
    if len(result.shape) > 2:
        raise InputError(
            f"a picture shows a stack with one or two leading axes, but this one has {result.shape}. Choose some of "
            "it first, for example result[0].plot()."
        )
    if 0 in result.shape or result.n == 0:
        raise InputError(f"there is nothing to draw: the stack has the shape {(*result.shape, result.n)}.")
    node = result.n - 1 if node is None else node
    if not -result.n <= node < result.n:
        raise InputError(f"node must be one of 0 to {result.n - 1}, not {node}.")
    node %= result.n
    check_extra("plotting a result")  # before what takes time
    outcomes = result.outcomes()
    if len(result.shape) < 2:
        return _plot_row(result, outcomes, figure)
    axes, gauge = ("column", "row"), f"Gauge: {gauge_in_words(result.gauge)}."
    phase = _phases(result, outcomes)[..., node]
    pictures = [Map(f"Phase of node {node}", phase, "degrees", gauge, cyclic=True, axes=axes)]
    few = outcomes.size <= MOST_FOR_ERRORS
    if errors or (errors is None and few):
        try:
            found, words = np.degrees(result.standard_errors())[..., node], "One standard error; gray: none."
        except InputError as error:
            found, words = np.full(outcomes.shape, np.nan), f"No error bars: {error}"
        pictures.append(Map(f"Standard error of node {node}", found, "degrees", words, axes=axes))
    pictures.append(Map("What is proved", _codes(outcomes), "", "", kinds=OUTCOMES, axes=axes))
    title = f"{outcomes.size:,} problems of {counted(result.n, 'node')}"
    return plot_pictures(pictures, title, figure)


def _phases(result: BatchResult, outcomes: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return degrees; NaN if a problem holds no data, and its phases mean nothing."""
    degrees = np.degrees(np.array(to_numpy(result.angles), dtype=float))
    degrees[outcomes == "NO DATA"] = np.nan
    return degrees


def _codes(outcomes: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return the places of outcomes in :data:`OUTCOMES`."""
    return np.select([outcomes == name for name in OUTCOMES], range(len(OUTCOMES))).astype(float)


def _plot_row(result: BatchResult, outcomes: NDArray[np.str_], figure: Any) -> Any:
    """Problems from left to right, nodes from top to bottom, above how each problem ended."""
    figure = figure_of(figure, 8.5, 4.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(12, 1))
    phases = _phases(result, outcomes).reshape(-1, result.n).T
    title = f"Phases of {counted(outcomes.size, 'problem')}; {gauge_in_words(result.gauge)}"
    draw_picture(Map(title, phases, "degrees", "", cyclic=True, axes=("", "node")), above)
    ended = Map("", _codes(outcomes.reshape(1, -1)), "", "", kinds=OUTCOMES, axes=("problem", ""))
    draw_picture(ended, below)
    below.set_yticks([])
    for axes in (above, below):
        axes.set_aspect("auto")
    keys = below.get_legend()
    figure.legend(handles=keys.legend_handles, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    keys.remove()
    return literal(figure)
