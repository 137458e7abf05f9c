"""The measured graph with matplotlib: nodes colored by phase, error or component, and bad edges marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, ShapeError
from angsync.problem.measurements import Measurements
from angsync.report.canvas import GRAY, SERIES, VERMILLION, color_map, figure_of, phase_bar
from angsync.report.drawn import MOST_JUDGED, DrawnResult, beyond_chance, errors_in_degrees, is_quickly_judged, short
from angsync.report.figures import gauge_in_words, node_name
from angsync.report.layout import layout
from angsync.report.numbers import counted
from angsync.report.series import component_ranks
from angsync.report.words import headline

COLORS = ("phase", "error", "residual", "component")
"""What nodes can be colored by."""
MOST_EDGES = 20_000  # that are drawn
MOST_ON_A_CIRCLE = 800  # the same where half of all pairs or more are measured: more hide each other
MOST_NAMES = 40  # nodes that carry their names


def plot_network(
    result: DrawnResult,
    positions: ArrayLike | Mapping[Any, Any] | None = None,
    color: str = "phase",
    *,
    names: bool | None = None,
    figure: Any = None,
) -> Any:
    """Draw the measured graph on a matplotlib ``Figure`` (a new one unless given) and return it.

    Parameters
    ----------
    positions
        Where the nodes are: (n, 2), or a mapping from labels (numbers, where nodes have none) to (x, y). Unless given,
        nodes are placed so that distances on paper are like distances along edges; a nearly full graph is a circle,
        in the order of the phases.
    color
        Of the nodes: ``"phase"`` (cyclic), ``"error"`` (standard error), ``"residual"`` (root mean square of the
        residuals of its measurements) or ``"component"``. Isolated nodes, of which nothing is known, are hollow.
    names
        Whether nodes carry their names; unless given, where there are at most 40.

    Edges beyond chance, or distrusted by a robust fit, are drawn in vermillion.
    """
    if color not in COLORS:
        raise InputError(f"color must be one of {', '.join(map(repr, COLORS))}, not {color!r}.")
    figure = figure_of(figure, 7.2, 5.6)
    measurements = result.measurements
    values = _values(result, measurements, color)
    given = positions is not None
    places = _given(positions, result) if given else _placed(result, measurements)
    from matplotlib.patheffects import Normal, Stroke  # after the message that names the extra

    axes = figure.add_subplot()
    left_out = _draw_edges(result, measurements, places, axes)
    _draw_nodes(result, places, values, color, figure, axes)
    if measurements.n <= MOST_NAMES if names is None else names:
        for k, (x, y) in enumerate(places):
            name = short(node_name(result, k), 14)
            drawn = axes.annotate(name, (x, y), (5, 5), textcoords="offset points", fontsize="x-small", zorder=5)
            drawn.set_path_effects([Stroke(linewidth=2, foreground="white"), Normal()])
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.08)
    if given:
        axes.grid(alpha=0.25)
        axes.set_xlabel("x")
        axes.set_ylabel("y")
    else:
        axes.set_axis_off()
    title = f"{counted(measurements.n, 'node')}, {counted(len(measurements), 'measurement')}"
    title += f": {_lowered(headline(result.certificate, result.robust))}"
    told = [f"{left_out:,} edges are not drawn"] if left_out else []
    told += ["too many measurements to judge each"] if len(measurements) > MOST_JUDGED and result.robust is None else []
    told += [gauge_in_words(result)] if color in ("phase", "error") else []
    axes.set_title("\n".join([title, *told]), fontsize="medium")
    return figure


def _placed(result: DrawnResult, measurements: Measurements) -> NDArray[np.float64]:
    used = np.asarray(measurements.weight) > 0
    if _is_full(measurements):
        order = np.argsort(np.argsort(np.asarray(result.angles), kind="stable"))
        angle = 2 * np.pi * order / measurements.n - np.pi
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return layout(measurements.n, measurements.i[used], measurements.j[used], np.asarray(result.components))


def _is_full(measurements: Measurements) -> bool:
    """Whether so many pairs are measured that distances along edges say nothing."""
    return measurements.n > 3 and len(measurements) > measurements.n * (measurements.n - 1) / 4


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]


def _values(result: DrawnResult, measurements: Measurements, color: str) -> NDArray[np.float64]:
    """The number of each node that its color stands for; NaN where there is none."""
    if color == "component":
        values = component_ranks(result)[0].astype(float)
        values[np.asarray(result.isolated)] = np.nan
        return values
    if color == "error":
        errors = errors_in_degrees(result)
        if isinstance(errors, str):
            raise InputError(f"nodes cannot be colored by their errors. {errors}")
        return errors
    if color == "residual":
        squares = np.degrees(np.asarray(result.edge_residuals().wrapped, dtype=float)) ** 2
        ends = np.concatenate([measurements.i, measurements.j])
        total = np.bincount(ends, np.tile(squares, 2), measurements.n)
        with np.errstate(invalid="ignore"):
            return np.sqrt(total / np.bincount(ends, minlength=measurements.n))
    values = np.degrees(np.asarray(result.angles, dtype=float))
    values[np.asarray(result.isolated)] = np.nan
    return values


def _given(positions: Any, result: DrawnResult) -> NDArray[np.float64]:
    n = int(np.size(result.components))
    if isinstance(positions, Mapping):
        keys = range(n) if result.labels is None else result.labels
        missing = [key for key in keys if key not in positions]
        if missing:
            raise InputError(
                f"positions has no entry for {counted(len(missing), 'node')}, such as {missing[0]!r}. Give (x, y) of "
                "every node."
            )
        positions = [positions[key] for key in keys]
    places = np.asarray(positions, dtype=float)
    if places.shape != (n, 2):
        raise ShapeError(f"positions must have the shape ({n}, 2), one row a node, but it has {places.shape}.")
    return places


def _draw_edges(result: DrawnResult, measurements: Measurements, places: NDArray, axes: Any) -> int:
    """Draw the edges, the bad ones above the others; returns how many are not drawn."""
    from matplotlib.collections import LineCollection

    judged = result.robust is not None or is_quickly_judged(result)
    bad = beyond_chance(result) if judged else np.zeros(len(measurements), dtype=bool)
    known = np.isfinite(places).all(1)
    drawable = known[measurements.i] & known[measurements.j] & (np.asarray(measurements.weight) > 0)
    good = np.flatnonzero(drawable & ~bad)
    most = MOST_ON_A_CIRCLE if _is_full(measurements) else MOST_EDGES
    left_out = max(0, good.size - most)
    if left_out:
        good = good[np.linspace(0, good.size - 1, most).round().astype(int)]
    wrong = np.flatnonzero(drawable & bad)[:MOST_EDGES]
    thin = float(np.clip(30 / np.sqrt(max(1, good.size)), 0.25, 1.2))
    faint = float(np.clip(12 / np.sqrt(max(1, good.size)), 0.12, 0.7))
    styles: tuple[tuple[NDArray[np.int64], dict[str, Any]], ...] = (
        (good, {"colors": GRAY, "linewidths": thin, "alpha": faint, "zorder": 1}),
        (wrong, {"colors": VERMILLION, "linewidths": 1.6, "alpha": 0.9, "zorder": 2, "label": _bad_words(result, bad)}),
    )
    for edges, style in styles:
        if edges.size:
            ends = np.stack([places[measurements.i[edges]], places[measurements.j[edges]]], axis=1)
            axes.add_collection(LineCollection(list(ends), rasterized=edges.size > 5000, **style))
    if wrong.size:
        axes.figure.legend(frameon=False, fontsize="small", loc="outside lower left")
    return left_out


def _bad_words(result: DrawnResult, bad: NDArray[np.bool_]) -> str:
    count = counted(int(bad.sum()), "measurement")
    return f"{count} {'distrusted' if result.robust is not None else 'beyond chance'}"


def _draw_nodes(
    result: DrawnResult, places: NDArray, values: NDArray[np.float64], color: str, figure: Any, axes: Any
) -> None:
    from matplotlib.colors import ListedColormap, Normalize

    size = float(np.clip(9000 / max(1, len(values)), 2, 70))
    rim = 0.5 if len(values) <= 1000 else 0.0
    known = np.isfinite(values)
    axes.scatter(*places[~known].T, s=size, facecolors="none", edgecolors=GRAY, linewidths=1, zorder=3)
    style: dict[str, Any] = {"s": size, "edgecolors": "0.25", "linewidths": rim, "zorder": 4}
    style["rasterized"] = len(values) > 5000
    if color == "component":
        shown = np.minimum(values, len(SERIES) - 1)
        axes.scatter(*places[known].T, c=shown[known], cmap=ListedColormap(SERIES), vmin=-0.5, vmax=5.5, **style)
        return
    if color == "phase":
        drawn = axes.scatter(
            *places[known].T, c=values[known], cmap=color_map(cyclic=True), norm=Normalize(-180, 180), **style
        )
        phase_bar(figure, drawn, axes)
        return
    low, high = np.quantile(values[known & (values > 0)], (0.01, 0.99)) if (values[known] > 0).any() else (0.0, 1.0)
    norm = Normalize(low if high > low else 0.0, high)
    drawn = axes.scatter(*places[known].T, c=values[known], cmap=color_map(cyclic=False), norm=norm, **style)
    label = "standard error (degrees)" if color == "error" else "rms residual (degrees)"
    figure.colorbar(drawn, ax=axes, label=label, shrink=0.85, extend="both" if known.sum() > 2 else "neither")
