"""A small chart builder: axes, lines, points, bars, error bars, reference lines and a legend as inline SVG.

Colors and strokes are classes of ``page.css``, so that one drawing serves light, dark and print.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.report.numbers import power_of_ten, pretty_number

LEGEND_ROW = 20.0  # height of one row of the legend, pixels
_MANY_CORNERS = 1000  # of a line that would be a blot if it were thick: a long trajectory
CHARACTER_WIDTH = 7.6  # of the 13 px text, on average: enough to place legends without measuring fonts
# Corners of the marks, in units of the radius of a circle that looks as large.
_SHAPES = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "triangle": [(0.0, -1.25), (1.15, 0.85), (-1.15, 0.85)],
    "diamond": [(0.0, -1.35), (1.35, 0.0), (0.0, 1.35), (-1.35, 0.0)],
}
# Characters that XML forbids even as references, and lone surrogates, which UTF-8 cannot carry.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escape(text: object) -> str:
    """Any text, safe as HTML or XML content and inside quoted attributes."""
    return html.escape(_FORBIDDEN.sub("\ufffd", str(text)), quote=True)


def element(name: str, content: str = "", **attributes: object) -> str:
    """One element; ``content`` is markup already, attribute values are escaped (``class_`` is ``class``)."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(x: float, y: float, words: object, class_: str = "tick", anchor: str = "start") -> str:
    """A line of text with its baseline at ``y``."""
    return element("text", escape(words), x=x, y=y, class_=class_, text_anchor=anchor)


def drawing(title: str, width: float, height: float, parts: Sequence[str], most: float | None = None) -> str:
    """The whole picture: scales with the page (up to its width, or ``most``), and is read aloud by its title."""
    content = element("title", escape(title)) + "".join(parts)
    return element(
        "svg",
        content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        class_="chart",
        style=f"max-width:{most or width:g}px",
    )


def circles(x: ArrayLike, y: ArrayLike, radius: float, class_: str, titles: Sequence[str] | None = None) -> str:
    """Points; each may carry a title, which a browser shows under the pointer."""
    pairs = list(zip(np.atleast_1d(x), np.atleast_1d(y), strict=True))
    names = ["" if titles is None else element("title", escape(title)) for title in titles or [""] * len(pairs)]
    drawn = [element("circle", name, cx=a, cy=b, r=radius) for (a, b), name in zip(pairs, names, strict=True)]
    return element("g", "".join(drawn), class_=class_) if drawn else ""


def markers(x: ArrayLike, y: ArrayLike, radius: float, class_: str, shape: str = "circle") -> str:
    """Points told apart by ``shape`` (circle, square, triangle, diamond), for those who cannot go by color."""
    if shape == "circle":
        return circles(x, y, radius, class_)
    corners = np.array(_SHAPES[shape]) * radius
    pieces = [
        path_through(a + corners[:, 0], b + corners[:, 1]) + "Z"
        for a, b in zip(np.atleast_1d(x), np.atleast_1d(y), strict=True)
    ]
    return element("g", "".join(element("path", d=piece) for piece in pieces), class_=class_) if pieces else ""


def path_through(x: NDArray, y: NDArray) -> str:
    """The ``d`` of a polyline."""
    return "M" + "L".join(f"{_short(a)} {_short(b)}" for a, b in zip(x, y, strict=True))


def linear_ticks(low: float, high: float, about: int = 6, step: float | None = None) -> list[float]:
    """Multiples of ``step`` inside [low, high]; unless given it is 1, 2 or 5 times a power of ten."""
    step = step or nice_step((high - low) / about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def nice_step(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below ``rough``."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next((m * power for m in (1, 2, 5) if m * power >= rough * (1 - 1e-9)), 10 * power)


def log_ticks(low: float, high: float, at_most: int = 7) -> list[int]:
    """Exponents of ten inside [low, high], evenly spaced."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = next((s for s in (1, 2, 3, 5, 10, 20) if (last - first) / s < at_most), 50)
    return [k for k in range(first, last + 1) if k % step == 0]


def _exponents(low: float, high: float) -> range:
    return range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)


def snug(*values: ArrayLike) -> tuple[float, float]:
    """The nearest 1, 2 or 5 times a power of ten below and above the positive finite values."""
    joined = np.concatenate([np.atleast_1d(np.asarray(value, dtype=float)) for value in values])
    joined = joined[np.isfinite(joined) & (joined > 1e-300) & (joined < 1e300)]
    if joined.size == 0:
        return 0.1, 10.0
    steps = [m * 10.0**k for k in _exponents(float(joined.min()), float(joined.max())) for m in (1, 2, 5)]
    low = max(step for step in steps if step <= joined.min() * (1 + 1e-9))
    high = next((step for step in steps if step >= joined.max() * (1 - 1e-9)), 2 * steps[-1])
    return (low, high) if high > low else (low / 2, high * 2)


@dataclass(frozen=True)
class Scale:
    """Data to pixels along one axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, values: ArrayLike) -> NDArray:
        values = np.asarray(values, dtype=float)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                fraction = (np.log10(values) - math.log10(self.low)) / math.log10(self.high / self.low)
        else:
            fraction = (values - self.low) / (self.high - self.low)
        return self.start + fraction * (self.end - self.start)

    def ticks(self, about: int = 6, step: float | None = None) -> list[tuple[float, str]]:
        """Positions (in pixels) and labels."""
        if self.log and self.high / self.low < 99:  # powers of ten alone would be one tick, or two
            values = [m * 10.0**k for k in _exponents(self.low, self.high) for m in (1, 2, 5)]
            inside = [value for value in values if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]
            return [(float(self(value)), pretty_number(value)) for value in inside]
        if self.log:
            return [(float(self(10.0**k)), power_of_ten(k)) for k in log_ticks(self.low, self.high)]
        return [(float(self(value)), pretty_number(value)) for value in linear_ticks(self.low, self.high, about, step)]


def decades(*values: ArrayLike) -> tuple[float, float]:
    """Whole powers of ten around the positive finite values, at least two decades."""
    joined = np.concatenate([np.atleast_1d(np.asarray(value, dtype=float)) for value in values])
    joined = joined[np.isfinite(joined) & (joined > 0)]
    if joined.size == 0:
        return 0.1, 10.0
    # 10**-307 .. 10**307, so that a neighboring decade is still a normal double
    low = max(-306, math.floor(math.log10(joined.min())))
    high = min(307, math.ceil(math.log10(joined.max())))
    while high - low < 2:
        low, high = (low - 1, high) if low > -306 else (low, high + 1)
    return 10.0**low, 10.0**high


class Chart:
    """Cartesian chart; add marks, then :meth:`render`. The label of the y axis stands above it, level.

    The legend stands to the right of that label or, with ``legend_rows``, in as many rows of its own below it.
    """

    def __init__(
        self,
        title: str,
        x_label: str,
        y_label: str,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        *,
        log_y: bool = False,
        log_x: bool = False,
        x_step: float | None = None,
        width: float = 460,
        height: float = 300,
        legend_rows: int = 0,
    ) -> None:
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.width, self.height = width, height
        self.left, self.right, self.top, self.bottom = 62.0, width - 18, 34.0 + LEGEND_ROW * legend_rows, height - 50
        self.x = Scale(*x_range, self.left, self.right, log=log_x)
        self.y = Scale(*y_range, self.bottom, self.top, log=log_y)
        self._x_step, self._legend_rows = x_step, legend_rows
        self._marks: list[str] = []
        self._legend: list[tuple[str, str, str]] = []  # label, class and what its key looks like

    def line(
        self,
        x: NDArray,
        y: NDArray,
        series: int = 1,
        label: str | None = None,
        dashed: bool = False,
        shape: str | None = None,
    ) -> None:
        """A polyline, with a mark at each point if a ``shape`` is given; one point alone is drawn as a mark."""
        class_ = f"line s{series}" + (" dashed" if dashed else "") + (" thin" if len(x) > _MANY_CORNERS else "")
        if len(x) > 1:
            self._marks.append(element("path", d=path_through(self.x(x), self.y(y)), class_=class_))
        if len(x) == 1 or (len(x) and shape is not None):
            self.points(x, y, series, None if len(x) > 1 else label, shape=shape or "circle")
        if len(x) > 1 and label:
            self._legend.append((label, class_, f"line {shape}" if shape else "line"))

    def points(
        self,
        x: NDArray,
        y: NDArray,
        series: int = 1,
        label: str | None = None,
        radius: float = 3,
        shape: str = "circle",
        hollow: bool = False,
    ) -> None:
        """One mark an entry."""
        class_ = f"dots s{series}" + (" hollow" if hollow else "")
        self._marks.append(markers(self.x(x), self.y(y), radius, class_, shape))
        if label:
            self._legend.append((label, class_, shape))

    def segments(self, x: NDArray, y: NDArray, series: int, label: str | None = None) -> None:
        """Separate lines, whose ends are the points two by two."""
        ends, class_ = np.stack([self.x(x), self.y(y)], axis=1).reshape(-1, 2, 2), f"line s{series} thin"
        if len(ends):
            drawn = "".join(path_through(*end.T) for end in ends)
            self._marks.append(element("path", d=drawn, class_=class_))
        if label:
            self._legend.append((label, class_, "line"))

    def error_bars(self, x: NDArray, low: NDArray, high: NDArray, series: int = 1) -> None:
        """An upright bar from ``low`` to ``high`` at each x, with ends; drawn no further than the axis."""
        pieces = []
        lows, highs = (
            np.clip(np.nan_to_num(self.y(end), nan=self.bottom), self.top, self.bottom) for end in (low, high)
        )
        for a, b, c in zip(self.x(x), lows, highs, strict=True):
            ends = "".join(f"M{_short(a - 3)} {_short(end)}h6" for end in (b, c))
            pieces.append(f"M{_short(a)} {_short(b)}V{_short(c)}{ends}")
        if pieces:
            self._marks.append(element("path", d="".join(pieces), class_=f"line s{series} thin"))

    def bars(self, edges: NDArray, counts: NDArray, series: int = 1, label: str | None = None) -> None:
        """A histogram; empty bins draw nothing."""
        left, height = self.x(edges), self.y(counts)
        pieces = [
            f"M{_short(left[k] + 0.5)} {_short(self.bottom)}V{_short(height[k])}H{_short(left[k + 1] - 0.5)}"
            f"V{_short(self.bottom)}Z"
            for k in range(len(counts))
            if counts[k] > 0
        ]
        if pieces:
            self._marks.append(element("path", d="".join(pieces), class_=f"bar s{series}"))
        if label:
            self._legend.append((label, f"bar s{series}", "box"))

    def horizontal(self, value: float, label: str, under: bool = False) -> None:
        """A reference line, labeled at its left end, where curves that fall are still far above it.

        ``under`` it, at its right end, the label keeps clear of curves that rise from the line.
        """
        y = float(self.y(value))
        self._marks.append(element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="reference"))
        if under:
            self._marks.append(text(self.right - 2, y + 15, label, "note", "end"))
        else:
            self._marks.append(text(self.left + 8, y - 6, label, "note"))

    def render(self) -> str:
        """The SVG element."""
        return drawing(self.title, self.width, self.height, [self._axes(), *self._marks, self._draw_legend()])

    def _axes(self) -> str:
        parts = []
        for y, label in self.y.ticks(5):
            parts.append(element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="grid"))
            parts.append(text(self.left - 8, y + 4.5, label, anchor="end"))
        for x, label in self.x.ticks(step=self._x_step):
            parts.append(element("line", x1=x, x2=x, y1=self.bottom, y2=self.bottom + 5, class_="axis"))
            parts.append(text(x, self.bottom + 20, label, anchor="middle"))
        corner = f"M{_short(self.left)} {_short(self.bottom)}H{_short(self.right)}"
        parts.append(element("path", d=corner, class_="axis"))
        parts.append(text((self.left + self.right) / 2, self.height - 8, self.x_label, "label", "middle"))
        parts.append(text(6, 17, self.y_label, "label"))
        return "".join(parts)

    def _draw_legend(self) -> str:
        return self._legend_in_rows() if self._legend_rows else self._legend_beside_the_label()

    def _legend_beside_the_label(self) -> str:
        """From right to left."""
        parts, x = [], self.right
        for label, class_, kind in reversed(self._legend):
            parts.append(text(x, 17, label, "tick", "end"))
            x -= _width_of(label) + 22
            parts.append(_key(x, 12, class_, kind))
            x -= 12
        return "".join(parts)

    def _legend_in_rows(self) -> str:
        parts = []
        places = legend_places([label for label, _, _ in self._legend], self.width)
        for (label, class_, kind), (x, row) in zip(self._legend, places, strict=True):
            y = 17 + LEGEND_ROW * (row + 1)
            parts += [_key(x, y - 5, class_, kind), text(x + 23, y, label)]
        return "".join(parts)


def legend_places(labels: Sequence[str], width: float) -> list[tuple[float, int]]:
    """Left end and row of each entry: from left to right, and on to the next row where one would not fit."""
    places, x, row = [], 6.0, 0
    for label in labels:
        if x > 6 and x + _width_of(label) + 23 > width:
            x, row = 6.0, row + 1
        places.append((x, row))
        x += _width_of(label) + 40
    return places


def _width_of(label: str) -> float:
    return CHARACTER_WIDTH * len(label)


def _key(x: float, y: float, class_: str, kind: str) -> str:
    """What stands for a series in the legend: 17 pixels wide, its middle at height ``y``."""
    if kind == "box":
        return element("rect", x=x + 2, y=y - 5, width=14, height=10, class_=class_)
    line, _, shape = kind.rpartition(" ") if kind != "line" else ("line", "", "")
    drawn = element("path", d=f"M{_short(x)} {_short(y)}h17", class_=class_) if line else ""
    dots = class_.replace("line", "dots").replace(" dashed", "")
    return drawn + (markers([x + 8.5], [y], 3.5, dots, shape) if shape else "")


def _short(value: object) -> object:
    """A tenth of a pixel is enough, and keeps pages small."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.1f}".removesuffix(".0")
    return value
