"""Pictures as SVG, for the page."""

from __future__ import annotations

import base64

import numpy as np

from angsync.report.colors import colors, png
from angsync.report.figures import Figure
from angsync.report.numbers import pretty_number
from angsync.report.pictures import MOST_CORNERS, MOST_POINTS, TWO_SIDED_95, Curves, Intervals, Map, Picture
from angsync.report.svg import CHARACTER_WIDTH, Chart, Scale, decades, drawing, element, markers, text

_SHAPES = ("circle", "diamond", "square", "triangle")
_MAP_SIDE = 400.0  # pixels of the longer side of a map
_ROW, _INTERVAL_WIDTH, _LONGEST = (
    21.0,
    560.0,
    24,
)  # of pictures of intervals: pixels of a row and across, letters of a name
_SQUARE = 582.0  # pixels of a chart of width 560 whose axes, with a row of legend, are as long as each other


def picture_figure(picture: Picture) -> Figure | None:
    """The picture drawn, with its caption; None where there is nothing to draw."""
    if isinstance(picture, Intervals):
        return _intervals(picture)
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
        series = one.tone or 1 + k % 6
        if one.segments:
            chart.segments(one.x, one.y, series, one.label or None)
        elif one.line:
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
    if any(one.x.size > (MOST_CORNERS if one.line else MOST_POINTS) and not one.segments for one in picture.series):
        caption += f" {MOST_POINTS:,} points of each series are drawn, evenly chosen."
    return Figure(chart.render(), caption)


def _intervals(picture: Intervals) -> Figure | None:
    shown = picture.drawn()
    if not shown.names:
        return None
    names = [name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in shown.names]
    left = 20 + CHARACTER_WIDTH * max(map(len, names))
    top, bottom = 34.0, 34.0 + _ROW * len(names)
    low, high = float(min(shown.low.min(), shown.value.min())), float(max(shown.high.max(), shown.value.max()))
    room = 0.04 * (high - low) or 0.5
    scale = Scale(low - room, high + room, left, _INTERVAL_WIDTH - 18)
    parts = []
    for x, label in scale.ticks():
        parts.append(element("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        parts.append(text(x, bottom + 18, label, anchor="middle"))
    bars = []
    for k, name in enumerate(names):
        y = top + _ROW * (k + 0.5)
        parts.append(text(left - 10, y + 4.5, name, "label", "end"))
        a, b = float(scale(shown.low[k])), float(scale(shown.high[k]))
        bars.append(f"M{a:.1f} {y:.1f}H{b:.1f}M{a:.1f} {y - 3:.1f}v6M{b:.1f} {y - 3:.1f}v6")
    middle = top + _ROW * (np.arange(len(names)) + 0.5)
    parts.append(element("path", d="".join(bars), class_="line s1 thin"))
    parts.append(markers(scale(shown.value), middle, 4.0, "dots s1"))
    parts.append(text((left + _INTERVAL_WIDTH - 18) / 2, bottom + 38, picture.x_label, "label", "middle"))
    parts.append(text(6, 17, picture.title, "label"))
    return Figure(drawing(picture.title, _INTERVAL_WIDTH, bottom + 48, parts), shown.caption)


def _map(picture: Map) -> Figure | None:
    values = picture.drawn()
    if values.size == 0 or not np.isfinite(values).any():
        return None
    low, high = picture.limits()
    rows, columns = values.shape
    pixel = _MAP_SIDE / max(rows, columns)
    width, height = max(columns * pixel, 40.0), max(rows * pixel, 40.0)
    image = _image(png(colors(values, low, high, cyclic=picture.cyclic)), 8, 30, width, height)
    scale = np.linspace(high, low, 128)[:, None]
    bar_left = width + 24
    bar = _image(png(colors(scale, low, high, cyclic=picture.cyclic)), bar_left, 30, 16, height)
    sign = "°" if picture.unit == "degrees" else ""
    ends = ("π", "−π") if picture.cyclic and not sign else (pretty_number(high, 3) + sign, pretty_number(low, 3) + sign)
    if picture.mask is not None:
        ends = (picture.mask[1], picture.mask[0])
        bar = "".join(
            _image(png(colors(np.array([[value]]), 0.0, 1.0, cyclic=False)), bar_left, top, 16, 16)
            for value, top in ((1.0, 30.0), (0.0, 16.0 + height))
        )
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
