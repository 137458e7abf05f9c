"""A small chart builder: axes, lines, points, bars, reference lines and a legend as inline SVG.

Colours and strokes are classes of ``page.css``, so that one drawing serves light, dark and print.
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

CHARACTER_WIDTH = 7.6  # of the 13 px text, on average: enough to place legends without measuring fonts
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


def drawing(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    """The whole picture: scales with the page, and is read aloud by its title."""
    content = element("title", escape(title)) + "".join(parts)
    return element(
        "svg",
        content,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        class_="chart",
        style=f"max-width:{width:g}px",
    )


def circles(x: ArrayLike, y: ArrayLike, radius: float, class_: str, titles: Sequence[str] | None = None) -> str:
    """Points; each may carry a title, which a browser shows under the pointer."""
    pairs = list(zip(np.atleast_1d(x), np.atleast_1d(y), strict=True))
    names = ["" if titles is None else element("title", escape(title)) for title in titles or [""] * len(pairs)]
    drawn = [element("circle", name, cx=a, cy=b, r=radius) for (a, b), name in zip(pairs, names, strict=True)]
    return element("g", "".join(drawn), class_=class_) if drawn else ""


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
            with np.errstate(divide="ignore"):
                fraction = (np.log10(values) - math.log10(self.low)) / math.log10(self.high / self.low)
        else:
            fraction = (values - self.low) / (self.high - self.low)
        return self.start + fraction * (self.end - self.start)

    def ticks(self, about: int = 6, step: float | None = None) -> list[tuple[float, str]]:
        """Positions (in pixels) and labels."""
        if self.log:
            return [(float(self(10.0**k)), power_of_ten(k)) for k in log_ticks(self.low, self.high)]
        return [(float(self(value)), pretty_number(value)) for value in linear_ticks(self.low, self.high, about, step)]


def decades(*values: ArrayLike) -> tuple[float, float]:
    """Whole powers of ten around the positive finite values, at least two decades."""
    joined = np.concatenate([np.atleast_1d(np.asarray(value, dtype=float)) for value in values])
    joined = joined[np.isfinite(joined) & (joined > 0)]
    if joined.size == 0:
        return 0.1, 10.0
    # 10**-307 .. 10**307, so that a neighbouring decade is still a normal double
    low = max(-306, math.floor(math.log10(joined.min())))
    high = min(307, math.ceil(math.log10(joined.max())))
    while high - low < 2:
        low, high = (low - 1, high) if low > -306 else (low, high + 1)
    return 10.0**low, 10.0**high


class Chart:
    """Cartesian chart; add marks, then :meth:`render`. The label of the y axis stands above it, level."""

    def __init__(
        self,
        title: str,
        x_label: str,
        y_label: str,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        *,
        log_y: bool = False,
        x_step: float | None = None,
        width: float = 460,
        height: float = 300,
    ) -> None:
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.width, self.height = width, height
        self.left, self.right, self.top, self.bottom = 62.0, width - 18, 34.0, height - 50
        self.x = Scale(*x_range, self.left, self.right)
        self.y = Scale(*y_range, self.bottom, self.top, log=log_y)
        self._x_step = x_step
        self._marks: list[str] = []
        self._legend: list[tuple[str, str, bool]] = []

    def line(self, x: NDArray, y: NDArray, series: int = 1, label: str | None = None, dashed: bool = False) -> None:
        """A polyline; one point alone is drawn as a dot."""
        if len(x) == 1:
            self.points(x, y, series, label)
        elif len(x):
            class_ = f"line s{series}" + (" dashed" if dashed else "")
            self._marks.append(element("path", d=path_through(self.x(x), self.y(y)), class_=class_))
            if label:
                self._legend.append((label, class_, False))

    def points(self, x: NDArray, y: NDArray, series: int = 1, label: str | None = None, radius: float = 3) -> None:
        """One dot an entry."""
        self._marks.append(circles(self.x(x), self.y(y), radius, f"dots s{series}"))
        if label:
            self._legend.append((label, f"dots s{series}", True))

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
            self._legend.append((label, f"bar s{series}", True))

    def horizontal(self, value: float, label: str) -> None:
        """A reference line, labelled at its left end, where curves that fall are still far above it."""
        y = float(self.y(value))
        self._marks.append(element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="reference"))
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
        """To the right of the y label, from right to left."""
        parts, x = [], self.right
        for label, class_, filled in reversed(self._legend):
            parts.append(text(x, 17, label, "tick", "end"))
            x -= CHARACTER_WIDTH * len(label) + 22
            if filled:
                parts.append(element("rect", x=x + 2, y=7, width=14, height=10, class_=class_))
            else:
                parts.append(element("path", d=f"M{_short(x)} 12h17", class_=class_))
            x -= 12
        return "".join(parts)


def _short(value: object) -> object:
    """A tenth of a pixel is enough, and keeps pages small."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.1f}".removesuffix(".0")
    return value
