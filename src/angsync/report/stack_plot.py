"""A stack of problems as pictures: maps of phases, of error bars and of what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.array_libraries import to_numpy
from angsync.report.canvas import BLUE, ORANGE, PURPLE, SKY, VERMILLION, color_map, figure_of, literal, phase_bar, say
from angsync.report.numbers import percent
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
    if len(result.shape) < 2:
        return _plot_row(result, figure)
    return _plot_maps(result, node % result.n, errors, figure)


def _plot_maps(result: BatchResult, node: int, errors: bool | None, figure: Any) -> Any:
    few = int(np.prod(result.shape)) <= MOST_FOR_ERRORS
    found = _errors(result) if errors or (errors is None and few) else None
    panels = 2 if found is None else 3
    figure = figure_of(figure, 5.0 * panels, 4.4)
    maps = figure.subplots(1, panels)
    outcomes = result.outcomes()
    phase = _phases(result, outcomes)[..., node]
    drawn = maps[0].imshow(phase, cmap=color_map(cyclic=True), vmin=-180, vmax=180, interpolation="nearest")
    maps[0].set_title(f"Phase of node {node}\n{gauge_in_words(result.gauge)}", fontsize="medium")
    phase_bar(figure, drawn, maps[0])
    if found is not None:
        _draw_errors(figure, maps[1], found, node)
    keys = _draw_outcomes(outcomes, maps[-1])
    maps[-1].set_title("What is proved", fontsize="medium")
    maps[-1].legend(handles=keys, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, **_PLAIN)
    for axes in maps:
        if axes.axison:
            axes.set_xlabel("column")
    maps[0].set_ylabel("row")
    return literal(figure)


def _phases(result: BatchResult, outcomes: NDArray[np.str_]) -> NDArray[np.float64]:
    """Degrees; NaN where a problem holds no data, and its phases mean nothing."""
    degrees = np.degrees(np.array(to_numpy(result.angles), dtype=float))
    degrees[outcomes == "NO DATA"] = np.nan
    return degrees


def _errors(result: BatchResult) -> NDArray[np.float64] | str:
    try:
        return np.degrees(result.standard_errors())
    except InputError as error:
        return f"No error bars: {error}"


def _draw_errors(figure: Any, axes: Any, errors: NDArray[np.float64] | str, node: int) -> None:
    axes.set_title(f"Standard error of node {node}", fontsize="medium")
    if isinstance(errors, str):
        say(axes, errors)
        return
    one = errors[..., node]
    finite = one[np.isfinite(one)]
    if finite.size == 0:
        say(axes, "No problem has an error bar here.")
        return
    low, high = np.quantile(finite, (0.01, 0.99))
    shown = axes.imshow(one, cmap=color_map(cyclic=False), vmin=low, vmax=high, interpolation="nearest")
    figure.colorbar(shown, ax=axes, label="standard error (degrees)", shrink=0.85, extend="both")


def _draw_outcomes(outcomes: NDArray[np.str_], axes: Any, aspect: str = "equal") -> list[Any]:
    """Which problem ended how, each kind in its color; returns the legend with numbers: single ones are easily lost."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    codes = np.zeros(outcomes.shape, dtype=np.int8)
    for code, name in enumerate(OUTCOMES):
        codes[outcomes == name] = code
    shades = ListedColormap(list(OUTCOMES.values()))
    axes.imshow(codes, cmap=shades, vmin=-0.5, vmax=len(OUTCOMES) - 0.5, interpolation="nearest", aspect=aspect)
    counts = np.bincount(codes.ravel(), minlength=len(OUTCOMES))
    return [
        Patch(facecolor=color, edgecolor="0.6", lw=0.5, label=f"{name} {count:,} ({percent(count / codes.size)})")
        for (name, color), count in zip(OUTCOMES.items(), counts.tolist(), strict=True)
        if count
    ]


_PLAIN = {"frameon": False, "fontsize": "small"}


def _plot_row(result: BatchResult, figure: Any) -> Any:
    """Problems from left to right, nodes from top to bottom."""
    figure = figure_of(figure, 8.5, 4.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(12, 1))
    outcomes = result.outcomes()
    phases = _phases(result, outcomes).reshape(-1, result.n)
    style = {"interpolation": "nearest", "aspect": "auto"}
    drawn = above.imshow(phases.T, cmap=color_map(cyclic=True), vmin=-180, vmax=180, **style)
    above.set_title(f"Phases of {len(phases):,} problems; {gauge_in_words(result.gauge)}", fontsize="medium")
    above.set_ylabel("node")
    phase_bar(figure, drawn, above)
    keys = _draw_outcomes(outcomes.reshape(1, -1), below, "auto")
    below.set_yticks([])
    below.set_xlabel("problem")
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), **_PLAIN)
    return literal(figure)
