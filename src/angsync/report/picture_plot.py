"""Pictures with matplotlib, for ``plot()``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from angsync.report.canvas import BLUE, ORANGE, figure_of
from angsync.report.colors import colors
from angsync.report.pictures import TWO_SIDED_95, Curves, Intervals, Map, Picture

# Okabe and Ito: told apart by every eye; the series colors of the page
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_GRAY = "#8A94A3"
_MARKERS = ("o", "D", "s", "^")
_MOST_IN_A_ROW = 4  # pictures


def plot_pictures(pictures: Sequence[Picture], title: str, figure: Any = None) -> Any:
    """Draw pictures in rows on a matplotlib ``Figure`` (a new one unless given) and return it."""
    count = max(1, len(pictures))
    rows = -(-count // _MOST_IN_A_ROW)
    columns = -(-count // rows)
    tall = any(isinstance(one, Intervals) and len(one.names) > 20 for one in pictures)
    figure = figure_of(figure, 5.2 * columns, (7.5 if tall else 4.4) * rows)
    figure.suptitle(textwrap.fill(title, 55 * columns))  # letters that fit above pictures of that width
    for k, picture in enumerate(pictures):
        axes = figure.add_subplot(rows, columns, k + 1)
        _entitle(axes, picture)
        if isinstance(picture, Map):
            _draw_map(picture, figure, axes)
        elif isinstance(picture, Intervals):
            _draw_intervals(picture, axes)
        else:
            _draw_curves(picture, axes)
    return figure


def _entitle(axes: Any, picture: Picture) -> None:
    """The title and, in small letters below it, what the picture shows: error bars are nothing without their level."""
    lines = textwrap.wrap(picture.caption, 64)[:3]
    axes.set_title(picture.title, fontsize="medium", pad=6 + 10 * len(lines))
    style = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": "x-small", "color": "0.35"}
    axes.annotate("\n".join(lines), (0.5, 1.0), (0, 3), xycoords="axes fraction", annotation_clip=False, **style)


def _draw_curves(picture: Curves, axes: Any) -> None:
    axes.set_xlabel(picture.x_label)
    axes.set_ylabel(picture.y_label)
    for k, series in enumerate(picture.series):
        one = series.drawn()
        color = _GRAY if one.tone == 8 else _COLORS[(one.tone - 1 if one.tone else k) % len(_COLORS)]
        style = {"color": color, "label": one.label or None}
        if one.segments:
            gaps = [np.insert(axis.reshape(-1, 2), 2, np.nan, axis=1).ravel() for axis in (one.x, one.y)]
            axes.plot(*gaps, "-", lw=0.9, **style)
        elif one.line:
            axes.plot(one.x, one.y, "-", **style)
        else:
            axes.plot(one.x, one.y, _MARKERS[k % len(_MARKERS)], ms=3, mec="none", **style)
        if one.error is not None:
            reach = TWO_SIDED_95 * np.where(np.isfinite(one.error), one.error, 0.0)
            axes.errorbar(one.x, one.y, reach, fmt="none", ecolor=color, elinewidth=0.8, capsize=1.5)
    if picture.log_y:
        axes.set_yscale("log")
    if picture.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if picture.level is not None:
        axes.axhline(picture.level[0], ls="--", lw=1, color="0.4", label=picture.level[1])
    # one series alone is named by its axis
    if len(axes.get_legend_handles_labels()[1]) > (picture.level is None):
        many = len(axes.get_legend_handles_labels()[1]) > 3  # these would hide points
        beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if many else {}
        axes.legend(frameon=False, fontsize="small", **beside)
    axes.grid(alpha=0.25)


def _draw_intervals(picture: Intervals, axes: Any) -> None:
    shown = picture.drawn()
    rows = np.arange(len(shown.names))
    reach = np.abs(np.stack([shown.value - shown.low, shown.high - shown.value]))
    axes.errorbar(shown.value, rows, xerr=reach, fmt="o", ms=3.5, elinewidth=0.9, capsize=2, color=_COLORS[0])
    axes.set_yticks(rows, shown.names, fontsize="small" if rows.size <= 20 else 7)
    axes.invert_yaxis()
    axes.set_xlabel(picture.x_label)
    axes.grid(axis="x", alpha=0.25)


def _draw_mask(picture: Map, names: tuple[str, str], axes: Any) -> None:
    """No and yes, with their numbers in the legend: single pixels are easily overlooked."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    whole, shades = np.asarray(picture.values, dtype=float), (ORANGE, BLUE)
    scale = ListedColormap(shades).with_extremes(bad="#dddddd")
    axes.imshow(picture.drawn(), cmap=scale, vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    counts = [np.count_nonzero(whole == k) for k in (0, 1)]
    keys = [Patch(color=shades[k], label=f"{names[k]} {counts[k]:,}") for k in (0, 1) if counts[k]]
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    axes.legend(handles=keys, frameon=False, fontsize="small", ncols=2, **place)


def _draw_map(picture: Map, figure: Any, axes: Any) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    if picture.mask is not None:
        _draw_mask(picture, picture.mask, axes)
        return
    low, high = picture.limits()
    steps = colors(np.linspace(low, high, 256), low, high, cyclic=picture.cyclic)
    axes.imshow(colors(picture.drawn(), low, high, cyclic=picture.cyclic), interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    scale = ScalarMappable(Normalize(low, high), ListedColormap(steps / 255))
    ticks = np.linspace(low, high, 5) if picture.cyclic else None
    bar = figure.colorbar(scale, ax=axes, label="" if picture.unit == "1" else picture.unit, shrink=0.8, ticks=ticks)
    if picture.cyclic and high < 4:
        bar.set_ticklabels(["−π", "−π/2", "0", "π/2", "π"])
