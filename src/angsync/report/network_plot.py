"""The measured graph as a picture: nodes colored by phase, error or component, and bad edges marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, ShapeError
from angsync.problem.measurements import Measurements
from angsync.report.canvas import GRAY, INK, SERIES, VERMILLION, color_map, figure_of, literal, plain_frame
from angsync.report.layout import layout
from angsync.report.numbers import counted
from angsync.report.pictures import evenly
from angsync.report.sentences import headline
from angsync.report.series import (
    component_ranks,
    doubt_in_words,
    doubted,
    errors_of,
    gauge_in_words,
    node_name,
)
from angsync.uncertainty.quality import Quality, assess

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult

COLORS = ("phase", "error", "residual", "component")
"""What nodes can be colored by."""
MOST_EDGES = 20_000  # that are drawn
MOST_ON_A_CIRCLE = 800  # the same where half of all pairs or more are measured: more hide each other
MOST_NAMES = 30  # nodes that carry their names
_MOST_MARKS = 2000  # edges or nodes that are drawn one by one; more are an image
LABELS = {"error": "standard error (degrees)", "residual": "rms residual (degrees)"}


def plot_network(
    result: SyncResult,
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
        Whether nodes carry their names; unless given, where there are at most 30.

    Edges further off than noise allows, or left out by a robust fit, are drawn in vermillion.
    """
    if color not in COLORS:
        raise InputError(f"color must be one of {', '.join(map(repr, COLORS))}, not {color!r}.")
    figure = figure_of(figure, 7.2, 5.6)
    measurements = result.measurements
    values = node_values(result, color)
    places = None if positions is None else places_of(positions, result)
    label = LABELS.get(color, color)
    quality = assess(result)
    draw_network(result, figure.add_subplot(), values, quality, places, label=label, names=names)
    title = f"{counted(measurements.n, 'node')}, {counted(len(measurements), 'measurement')}"
    verdict = headline(result.certificate, result.robust)
    title += f": {verdict[:1].lower()}{verdict[1:]}"
    told = [*filter(None, [left_out_in_words(measurements, doubted(result, quality))])]
    told += [gauge_in_words(result.gauge, component_ranks(result)[1])] if color in ("phase", "error") else []
    figure.axes[0].set_title("\n".join([title, *told]), fontsize="medium")
    return literal(figure)


def draw_network(
    result: SyncResult,
    axes: Any,
    values: NDArray[np.float64],
    quality: Quality | None,
    places: NDArray[np.float64] | None,
    *,
    label: str,
    names: bool | None = None,
) -> None:
    """Draw the graph with nodes in the color of ``values``."""
    measurements = result.measurements
    place = _laid_out(result, measurements) if places is None else places
    _draw_edges(result, measurements, place, doubted(result, quality), axes)
    _draw_nodes(place, values, label, axes)
    if measurements.n <= MOST_NAMES if names is None else names:
        halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "pad": 0.3}
        style = {"textcoords": "offset points", "fontsize": "x-small", "zorder": 5, "bbox": halo}
        for k, spot in enumerate(place):
            axes.annotate(node_name(result, k, 14), spot, (5, 5), **style)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.08)
    if places is None:
        axes.set_axis_off()
    else:
        plain_frame(axes)
        axes.set_xlabel("x")
        axes.set_ylabel("y")


def _laid_out(result: SyncResult, measurements: Measurements) -> NDArray[np.float64]:
    used = np.asarray(measurements.weight) > 0
    if is_full(measurements):
        order = np.argsort(np.argsort(np.asarray(result.angles), kind="stable"))
        angle = 2 * np.pi * order / measurements.n - np.pi
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return layout(measurements.n, measurements.i[used], measurements.j[used], component_ranks(result)[0])


def is_full(measurements: Measurements) -> bool:
    """Whether so many pairs are measured that distances along edges say nothing."""
    return measurements.n > 3 and len(measurements) > measurements.n * (measurements.n - 1) / 4


def _most_edges(measurements: Measurements) -> int:
    return MOST_ON_A_CIRCLE if is_full(measurements) else MOST_EDGES


def left_out_in_words(measurements: Measurements, bad: NDArray[np.bool_]) -> str:
    """How many edges are not drawn; empty if all are."""
    left_out = np.count_nonzero((measurements.weight > 0) & ~bad) - _most_edges(measurements)
    return f"{left_out:,} edges are not drawn" if left_out > 0 else ""


def node_values(result: SyncResult, color: str) -> NDArray[np.float64]:
    """The number of each node that its color stands for; NaN where there is none."""
    if color == "error":
        errors = errors_of(result)
        if errors.missing:
            raise InputError(f"nodes cannot be colored by their errors. {errors.missing}")
        return errors.degrees
    if color == "residual":
        squares = np.degrees(np.asarray(result.edge_residuals().wrapped, dtype=float)) ** 2
        measurements = result.measurements
        ends = np.concatenate([measurements.i, measurements.j])
        total = np.bincount(ends, np.tile(squares, 2), measurements.n)
        with np.errstate(invalid="ignore"):
            return np.sqrt(total / np.bincount(ends, minlength=measurements.n))
    values = np.degrees(result.angles) if color == "phase" else component_ranks(result)[0].astype(float)
    values[np.asarray(result.isolated)] = np.nan
    return values


def places_of(positions: Any, result: SyncResult) -> NDArray[np.float64]:
    """Positions of all nodes (n, 2), of an array or of a mapping from labels."""
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
        raise ShapeError(f"positions must have the shape ({n}, 2), one row per node, but it has {places.shape}.")
    return places


def _draw_edges(
    result: SyncResult, measurements: Measurements, places: NDArray, bad: NDArray[np.bool_], axes: Any
) -> None:
    """Draw the edges, the bad ones above the others."""
    from matplotlib.collections import LineCollection

    known = np.isfinite(places).all(1)
    drawable = known[measurements.i] & known[measurements.j] & (np.asarray(measurements.weight) > 0)
    good = np.flatnonzero(drawable & ~bad)
    good = good[evenly(good.size, _most_edges(measurements))]
    wrong = np.flatnonzero(drawable & bad)[:MOST_EDGES]
    thin = float(np.clip(15 / np.sqrt(max(1, good.size)), 0.25, 1.2))
    faint = float(np.clip(7 / np.sqrt(max(1, good.size)), 0.12, 0.7))
    words = doubt_in_words(result, int(bad.sum()))
    styles: tuple[tuple[NDArray[np.int64], dict[str, Any]], ...] = (
        (good, {"colors": GRAY, "linewidths": thin, "alpha": faint, "zorder": 1}),
        (wrong, {"colors": VERMILLION, "linewidths": 1.6, "alpha": 0.9, "zorder": 2, "label": words}),
    )
    for edges, style in styles:
        if edges.size:
            ends = np.stack([places[measurements.i[edges]], places[measurements.j[edges]]], axis=1)
            axes.add_collection(LineCollection(list(ends), rasterized=edges.size > _MOST_MARKS, **style))
    if wrong.size:
        axes.figure.legend(frameon=False, fontsize="small", loc="outside lower left")


def _draw_nodes(places: NDArray, values: NDArray[np.float64], label: str, axes: Any) -> None:
    from matplotlib.colors import ListedColormap

    known, many = np.isfinite(values), len(values) > _MOST_MARKS
    style: dict[str, Any] = {
        "s": float(np.clip(9000 / max(1, len(values)), 2, 70)), "edgecolors": INK, "zorder": 4,
        "linewidths": 0.5 if len(values) <= 1000 else 0.0, "rasterized": many,
    }  # fmt: skip
    hollow = {"facecolors": "none", "edgecolors": GRAY, "linewidths": 1, "zorder": 3}
    axes.scatter(*places[~known].T, **{**style, **hollow})
    shown, bar = values[known], {"label": label, "shrink": 0.85}
    if label == "component":
        shown, shades, limits = np.minimum(shown, len(SERIES) - 1), ListedColormap(SERIES), (-0.5, len(SERIES) - 0.5)
    elif label == "phase":
        shades, limits = color_map(cyclic=True), (-180.0, 180.0)
        bar |= {"label": "phase (degrees)", "ticks": np.linspace(*limits, 5)}
    else:  # of many, the outermost hundredth would take the colors of all others
        told = shown[shown > 0]  # the reference has no error, by choice
        low, high = np.quantile(told, (0.01, 0.99) if many else (0.0, 1.0)) if told.size else (0.0, 1.0)
        shades, limits = color_map(cyclic=False), (low if high > low else 0.0, high)
        bar |= {"extend": "both" if many else "neither"}
    drawn = axes.scatter(*places[known].T, c=shown, cmap=shades, vmin=limits[0], vmax=limits[1], **style)
    if label != "component":
        axes.figure.colorbar(drawn, ax=axes, **bar)
