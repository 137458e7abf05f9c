"""Pictures as SVG, for the page."""

from __future__ import annotations

import base64

import numpy as np

from angsync.report.colours import colours, png
from angsync.report.figures import Figure
from angsync.report.numbers import pretty_number
from angsync.report.pictures import MOST_POINTS, TWO_SIDED_95, Curves, Map, Picture
from angsync.report.svg import Chart, decades, drawing, element, text

_SHAPES = ("circle", "diamond", "square", "triangle")
_MAP_SIDE = 400.0  # pixels of the longer side of a map
_SQUARE = 582.0  # pixels of a chart of width 560 whose axes, with a row of legend, are as long as each other


def picture_figure(picture: Picture) -> Figure | None:
    """The picture drawn, with its caption; None where there is nothing to draw."""
    return _map(picture) if isinstance(picture, Map) else _curves(picture)


def _curves(picture: Curves) -> Figure | None:
    span = picture.span()
    if span is None:
        return None
    drawn = [one.drawn() for one in picture.series]
    heights = decades(*(one.y for one in drawn)) if picture.log_y else span[1]
    legend = sum(bool(one.label) for one in drawn)
    chart = Chart(
        picture.title, picture.x_label, picture.y_label, span[0], heights,
        log_y=picture.log_y, width=560, height=_SQUARE if picture.equal else 320, legend_rows=1 if legend > 1 else 0,
    )  # fmt: skip
    for k, one in enumerate(drawn):
        series = 1 + k % 6
        if one.line:
            chart.line(one.x, one.y, series, one.label or None)
        else:
            radius = 3.0 if one.x.size <= 200 else 1.8
            chart.points(one.x, one.y, series, one.label or None, radius, _SHAPES[k % len(_SHAPES)])
        if one.error is not None:
            known = np.flatnonzero(np.isfinite(one.error))
            reach = TWO_SIDED_95 * one.error[known]
            chart.error_bars(one.x[known], one.y[known] - reach, one.y[known] + reach, series)
    if picture.level is not None:
        chart.horizontal(*picture.level)
    caption = picture.caption
    if any(one.x.size > MOST_POINTS for one in picture.series):
        caption += f" {MOST_POINTS:,} points of each series are drawn, evenly chosen."
    return Figure(chart.render(), caption)


def _map(picture: Map) -> Figure | None:
    values = picture.drawn()
    if values.size == 0 or not np.isfinite(values).any():
        return None
    low, high = picture.limits()
    rows, columns = values.shape
    pixel = _MAP_SIDE / max(rows, columns)
    width, height = max(columns * pixel, 40.0), max(rows * pixel, 40.0)
    image = _image(png(colours(values, low, high, cyclic=picture.cyclic)), 8, 30, width, height)
    scale = np.linspace(high, low, 128)[:, None]
    bar_left = width + 24
    bar = _image(png(colours(scale, low, high, cyclic=picture.cyclic)), bar_left, 30, 16, height)
    ends = ("π", "−π") if picture.cyclic else (pretty_number(high, 3), pretty_number(low, 3))
    parts = [
        text(8, 18, f"{picture.title} ({picture.unit})" if picture.unit else picture.title, "label"),
        image,
        bar,
        text(bar_left + 22, 42, ends[0]),
        text(bar_left + 22, 28 + height, ends[1]),
    ]
    caption = picture.caption
    if values.size < np.asarray(picture.values).size:
        caption += " Every pixel would be too many: the picture is thinned."
    return Figure(drawing(picture.title, width + 130, height + 40, parts), caption)


def _image(content: bytes, x: float, y: float, width: float, height: float) -> str:
    address = "data:image/png;base64," + base64.b64encode(content).decode("ascii")
    return element(
        "image", href=address, x=x, y=y, width=width, height=height, preserveAspectRatio="none",
        style="image-rendering:pixelated",
    )  # fmt: skip
