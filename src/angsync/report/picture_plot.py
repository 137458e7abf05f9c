"""Pictures of applications, drawn: each on a figure of its own for a page, or several on one for ``plot()``."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from angsync.io.atomic import atomic_open
from angsync.report.canvas import (
    BLUE,
    GRAY,
    MUTED,
    NO_VALUE,
    SERIES,
    check_page,
    color_map,
    figure_of,
    literal,
    logarithmic,
    page_style,
    plain_frame,
    say,
)
from angsync.report.numbers import percent
from angsync.report.pictures import TWO_SIDED_95, Curves, Intervals, Map, Picture, Series

_MARKERS = ("o", "D", "s", "^")
_MOST_IN_A_ROW = 4  # pictures
_MOST_IN_LETTERS = 20  # rows of intervals whose names are written in letters of the usual size
_MOST_MARKS = 200  # points drawn large
_MOST_CORNERS = 40  # of a line, of which each has a mark: it tells lines apart without their colors


def plot_pictures(pictures: Sequence[Picture], title: str, figure: Any = None) -> Any:
    """Draw pictures in rows on a matplotlib ``Figure`` (a new one unless given) and return it."""
    count = max(1, len(pictures))
    rows = -(-count // _MOST_IN_A_ROW)
    columns = -(-count // rows)
    tall = any(isinstance(one, Intervals) and len(one.names) > _MOST_IN_LETTERS for one in pictures)
    figure = figure_of(figure, 5.2 * columns, (7.5 if tall else 4.8) * rows)
    figure.suptitle(textwrap.fill(title, 55 * columns))  # letters that fit above pictures of that width
    for k, picture in enumerate(pictures):
        axes = figure.add_subplot(rows, columns, k + 1)
        draw_picture(picture, axes)
        # error bars are nothing without their level, which the caption has
        lines = textwrap.wrap(picture.caption, 64)[:3]
        axes.set_title(picture.title, fontsize="medium", pad=6 + 10 * len(lines))
        style = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": "x-small", "color": MUTED}
        axes.annotate("\n".join(lines), (0.5, 1.0), (0, 3), xycoords="axes fraction", annotation_clip=False, **style)
    return literal(figure)


def write_pictures(path: str | os.PathLike[str], pictures: Sequence[Curves], title: str) -> None:
    """Write curves to an SVG file, side by side and to the same scale."""
    with atomic_open(check_page(path, ".svg")) as stream, page_style():
        figure = plot_pictures(pictures, title)
        limits = np.array([(axes.get_xlim(), axes.get_ylim()) for axes in figure.axes])
        for axes in figure.axes:
            axes.set_adjustable("box")
            axes.set(xlim=(limits[:, 0].min(), limits[:, 0].max()), ylim=(limits[:, 1].min(), limits[:, 1].max()))
        figure.savefig(stream, format="svg", metadata={"Date": None})


def draw_picture(picture: Picture, axes: Any) -> None:
    """Draw a picture under its title."""
    axes.set_title(picture.title, fontsize="medium")
    if is_empty(picture):
        say(axes, "There is nothing to draw.")
    elif isinstance(picture, Map):
        _draw_map(picture, axes)
    elif isinstance(picture, Intervals):
        _draw_intervals(picture, axes)
    else:
        _draw_curves(picture, axes)


def is_empty(picture: Picture) -> bool:
    """Whether there is nothing to draw."""
    if isinstance(picture, Curves):
        return not picture.drawn()
    return not np.isfinite(np.asarray(picture.values if isinstance(picture, Map) else picture.value, dtype=float)).any()


def _draw_curves(picture: Curves, axes: Any) -> None:
    plain_frame(axes)
    axes.set_xlabel(picture.x_label)
    axes.set_ylabel(picture.y_label)
    for k, one in enumerate(picture.drawn()):
        draw_series(one, axes, color_of(one, k), _MARKERS[k % len(_MARKERS)])
    if picture.log_y:
        logarithmic(axes.yaxis)
    if picture.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if picture.level is not None:
        axes.axhline(picture.level[0], ls="--", lw=1, color=MUTED, label=picture.level[1])
    labels = axes.get_legend_handles_labels()[1]
    # one series alone is named by its axis
    if len(labels) > (picture.level is None):
        many = len(labels) > 3  # these would hide points
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if many else {}
        axes.legend(frameon=False, fontsize="small", **place)


def color_of(one: Series, place: int) -> str:
    """The color of a series: its own, or that of its place among the others."""
    return GRAY if one.tone > len(SERIES) else SERIES[(one.tone - 1 if one.tone else place) % len(SERIES)]


def draw_series(one: Series, axes: Any, color: str, marker: str) -> None:
    """Draw one series: separate lines, one line, or points with their 95 % intervals."""
    style = {"color": color, "label": one.label or None, "rasterized": one.x.size > 20 * _MOST_MARKS}
    if one.segments:
        gaps = [np.insert(axis.reshape(-1, 2), 2, np.nan, axis=1).ravel() for axis in (one.x, one.y)]
        axes.plot(*gaps, "-", lw=0.6, **style)
    elif one.line:
        axes.plot(one.x, one.y, "-", lw=1.2, marker=marker if one.x.size <= _MOST_CORNERS else None, ms=3, **style)
    else:
        axes.plot(one.x, one.y, marker, ms=4 if one.x.size <= _MOST_MARKS else 2.5, mec="none", **style)
    if one.error is not None:
        reach = TWO_SIDED_95 * np.where(np.isfinite(one.error), one.error, 0.0)
        axes.errorbar(one.x, one.y, reach, fmt="none", ecolor=color, elinewidth=0.8, capsize=1.5)


def _draw_intervals(picture: Intervals, axes: Any) -> None:
    shown = picture.drawn()
    rows = np.arange(len(shown.names))
    reach = np.abs(np.stack([shown.value - shown.low, shown.high - shown.value]))
    axes.errorbar(shown.value, rows, xerr=reach, fmt="o", ms=3.5, elinewidth=0.9, capsize=2, color=BLUE)
    axes.set_yticks(rows, shown.names, fontsize="small" if rows.size <= _MOST_IN_LETTERS else "x-small")
    axes.invert_yaxis()
    axes.set_xlabel(picture.x_label)
    plain_frame(axes)


def draw_map(picture: Map, axes: Any) -> Any:
    """Draw the colors of a map, and nothing else; returns the image."""
    from matplotlib.colors import ListedColormap

    low, high = picture.limits()
    scale = color_map(cyclic=picture.cyclic)
    if picture.kinds is not None:
        scale = ListedColormap(list(picture.kinds.values())).with_extremes(bad=NO_VALUE)
    rows, columns = picture.values.shape
    place = (-0.5, columns - 0.5, rows - 0.5, -0.5)  # also of a map that is thinned
    return axes.imshow(picture.drawn(), cmap=scale, vmin=low, vmax=high, interpolation="nearest", extent=place)


def _draw_map(picture: Map, axes: Any) -> None:
    drawn = draw_map(picture, axes)
    if picture.axes is None:
        axes.set(xticks=[], yticks=[])
    else:
        axes.set(xlabel=picture.axes[0], ylabel=picture.axes[1])
    if picture.kinds is not None:
        _name_kinds(picture, picture.kinds, axes)
        return
    ticks = np.linspace(*picture.limits(), 5) if picture.cyclic else None
    bar = axes.figure.colorbar(drawn, ax=axes, label=picture.unit, shrink=0.8, ticks=ticks)
    if not picture.cyclic:
        bar.formatter.set_useOffset(False)
    elif picture.unit != "degrees":
        bar.set_ticklabels(["−π", "−π/2", "0", "π/2", "π"])


def _name_kinds(picture: Map, kinds: Mapping[str, str], axes: Any) -> None:
    """Name the colors below a map, with the number of each: single pixels are easily overlooked."""
    from matplotlib.patches import Patch

    counts = [np.count_nonzero(picture.values == k) for k in range(len(kinds))]
    keys = [
        Patch(facecolor=color, edgecolor="0.6", lw=0.5, label=f"{name} {count:,} ({percent(count / sum(counts))})")
        for (name, color), count in zip(kinds.items(), counts, strict=True)
        if count
    ]
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0 if picture.axes is None else -0.12)}
    axes.legend(handles=keys, frameon=False, fontsize="small", ncols=2, **place)
