"""The measured graph as a picture: nodes colored by how unsure they are, and the measurements that fit worst."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from angsync.report.colors import colors, png
from angsync.report.figures import Figure
from angsync.report.numbers import pretty_number
from angsync.report.svg import drawing, element, escape, path_through, text

MOST_DOTS = 6000  # nodes that are drawn one by one; more are an image
MOST_EDGES = 4000  # that are drawn besides the worst; of more some, evenly chosen
_MOST_NAMES = 30  # nodes whose names stand beside them
_MOST_TITLES = 500  # nodes that tell their name and number when pointed at
_WIDTH, _TALLEST, _MARGIN, _BAR = 680.0, 470.0, 22.0, 88.0
_SHOWN = 940.0  # width on the page, at most
_PIXELS = 560  # across the image of a large graph, at most


def network_figure(
    place: NDArray[np.float64],
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    worst: Sequence[int],
    value: NDArray[np.float64],
    names: Sequence[str],
    *,
    scale: str,
    caption: str,
    marks: str = "",
) -> Figure:
    """Nodes at ``place`` in the color of ``value`` (degrees; ``scale`` says of what), edges (i, j), some marked."""
    x, y, height = _fitted(place, 3 * _MARGIN if len(names) <= _MOST_NAMES else _MARGIN)
    low, high = _limits(value)
    parts = []
    if x.size <= MOST_DOTS:
        drawn = np.unique(np.linspace(0, i.size - 1, min(i.size, MOST_EDGES)).astype(int))
        parts.append(_links(x, y, i[drawn], j[drawn]))
        if drawn.size < i.size:
            caption += f" {drawn.size:,} of {i.size:,} measurements are drawn as lines."
    parts.append(
        _dots(x, y, value, low, high, names) if x.size <= MOST_DOTS else _image(x, y, value, low, high, height)
    )
    marked = np.asarray(worst, dtype=np.int64)
    if marked.size:
        ends = "".join(
            path_through(np.array([x[i[k]], x[j[k]]]), np.array([y[i[k]], y[j[k]]])) for k in marked.tolist()
        )
        parts.append(element("path", d=ends, class_="line s2 marked"))
    if x.size <= _MOST_NAMES:
        parts += [text(float(x[k]), float(y[k]) - 9, _short(names[k]), "note", "middle") for k in range(x.size)]
    parts.append(_scale_bar(low, high, value, scale, height))
    if marked.size:
        parts.append(element("path", d=f"M{_MARGIN:g} 14h20", class_="line s2 marked"))
        parts.append(text(_MARGIN + 27, 18, marks))
    picture = drawing("Network: the measured graph", _WIDTH, height, parts, most=_SHOWN)
    return Figure(picture, caption, wide=True)


def _fitted(place: NDArray[np.float64], room: float) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    low, high = place.min(axis=0), place.max(axis=0)
    extent = np.maximum(high - low, 1e-9)
    across = _WIDTH - 2 * room - _BAR
    pixel = min(across / extent[0], (_TALLEST - 3 * _MARGIN) / extent[1])
    height = max(float(extent[1] * pixel) + 3 * _MARGIN, 150.0)
    middle = (low + high) / 2
    x = room + across / 2 + (place[:, 0] - middle[0]) * pixel
    y = _MARGIN / 2 + height / 2 - (place[:, 1] - middle[1]) * pixel
    return x, y, height


def _limits(value: NDArray[np.float64]) -> tuple[float, float]:
    finite = value[np.isfinite(value)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = (float(end) for end in np.quantile(finite, (0.02, 0.98)))
    return (low, high) if high > low * (1 + 1e-9) + 1e-12 else (low - 0.5, low + 0.5)


def _links(x: NDArray[np.float64], y: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64]) -> str:
    ends = zip(x[i], y[i], x[j], y[j], strict=True)
    return element("path", d="".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends), class_="links")


def _dots(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    value: NDArray[np.float64],
    low: float,
    high: float,
    names: Sequence[str],
) -> str:
    radius = 6.0 if x.size <= 60 else 4.0 if x.size <= 400 else 2.4
    fill = colors(value, low, high, cyclic=False)
    drawn = []
    for k in range(x.size):
        title = ""
        if x.size <= _MOST_TITLES:
            known = f": {pretty_number(value[k], 3)}°" if np.isfinite(value[k]) else ""
            title = element("title", escape(f"{names[k]}{known}"))
        shade = "#{:02x}{:02x}{:02x}".format(*fill[k])
        drawn.append(element("circle", title, cx=float(x[k]), cy=float(y[k]), r=radius, fill=shade))
    return element("g", "".join(drawn), class_="nodes")


def _image(
    x: NDArray[np.float64], y: NDArray[np.float64], value: NDArray[np.float64], low: float, high: float, height: float
) -> str:
    """The mean of the nodes in each pixel; where there is none, nothing is drawn."""
    left, top = float(x.min()), float(y.min())
    across = min(_PIXELS, np.sqrt(x.size))  # about one node a pixel
    pixel = (float(x.max()) - left) / across
    columns, rows = ((x - left) / pixel).round().astype(int), ((y - top) / pixel).round().astype(int)
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    place = rows * shape[1] + columns
    known = np.isfinite(value)
    count = np.bincount(place[known], minlength=shape[0] * shape[1])
    total = np.bincount(place[known], value[known], shape[0] * shape[1])
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    pixels = np.zeros((*shape, 4), dtype=np.uint8)
    pixels[..., :3] = colors(mean, low, high, cyclic=False).reshape(*shape, 3)
    pixels[..., 3] = 255 * (np.bincount(place, minlength=shape[0] * shape[1]) > 0).reshape(shape)
    address = "data:image/png;base64," + base64.b64encode(png(pixels)).decode("ascii")
    return element(
        "image", href=address, x=left, y=top, width=shape[1] * pixel, height=shape[0] * pixel,
        preserveAspectRatio="none", style="image-rendering:pixelated",
    )  # fmt: skip


def _scale_bar(low: float, high: float, value: NDArray[np.float64], words: str, height: float) -> str:
    """The colors, whose ends stand for what lies beyond them too, and say so."""
    below, above = (
        "≤" if np.nanmin(value, initial=low) < low else "",
        "≥" if np.nanmax(value, initial=high) > high else "",
    )
    left, top, length = _WIDTH - _BAR + 8, 44.0, min(height - 80, 220.0)
    strip = png(colors(np.linspace(high, low, 64)[:, None], low, high, cyclic=False))
    address = "data:image/png;base64," + base64.b64encode(strip).decode("ascii")
    return "".join(
        (
            element("image", href=address, x=left, y=top, width=14, height=length, preserveAspectRatio="none"),
            text(left + 20, top + 11, f"{above}{pretty_number(high, 2)}°"),
            text(left + 20, top + length, f"{below}{pretty_number(low, 2)}°"),
            text(_WIDTH - 8, top - 12, words, "label", "end"),
        )
    )


def _short(name: str) -> str:
    return name if len(name) <= 14 else name[:13] + "…"
