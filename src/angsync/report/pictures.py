"""What there is to see, as data: an application says it, and pages, ``plot()`` and cards show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 1500
"""Points of a series that are drawn: more than that cannot be told apart."""
MOST_CORNERS = 8000
"""The same for a line, which is shorter to write."""
MOST_SEGMENTS = 4000
"""The same for separate lines."""
MOST_ROWS = 40
"""Rows of an :class:`Intervals` that are drawn, the first of them."""
MOST_PIXELS = 400
"""Rows or columns of a map that are drawn; a larger one is thinned."""
TWO_SIDED_95 = 1.959963984540054
"""Standard errors from the middle of a 95 % interval to its end."""


About = Literal["answer", "residuals", "errors"]
"""Which part of a page a picture belongs to."""


def evenly(size: int, most: int) -> NDArray[np.int64]:
    """The places of at most so many of ``size`` items, evenly chosen, the ends among them."""
    return np.unique(np.linspace(0, max(0, size - 1), min(size, most)).round().astype(np.int64))


@dataclass(frozen=True, eq=False)
class Series:
    """Points, or a line through them."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    label: str = ""
    error: NDArray[np.float64] | None = None
    """Standard errors of ``y``, drawn as 95 % intervals."""
    line: bool = False
    segments: bool = False
    """Whether the points are the ends of separate lines, two by two."""
    tone: int = 0
    """Number of its color (1 to 6, 8 is gray); 0: by its place among the series."""

    def drawn(self) -> Series:
        """What can be drawn of it: finite numbers, and no more points than can be told apart, evenly chosen."""
        x, y = np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)
        # points, or the two ends of each segment
        places = np.arange(x.size).reshape(-1, 2 if self.segments else 1)
        places = places[(np.isfinite(x) & np.isfinite(y))[places].all(axis=1)]
        most = MOST_SEGMENTS if self.segments else MOST_CORNERS if self.line else MOST_POINTS
        places = places[evenly(len(places), most)].ravel()
        error = None if self.error is None else np.asarray(self.error, dtype=float)[places]
        return replace(self, x=x[places], y=y[places], error=error)


@dataclass(frozen=True, eq=False)
class Curves:
    """Series on common axes; the label of each axis names its unit."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    caption: str
    log_y: bool = False
    level: tuple[float, str] | None = None
    """A reference line: its height, and what it is."""
    equal: bool = False
    """Whether both axes have one scale, as on a map."""
    about: About = "answer"

    def drawn(self) -> tuple[Series, ...]:
        """Of each series what can be drawn; empty where nothing can."""
        drawn = tuple(one.drawn() for one in self.series)
        return drawn if any(one.x.size for one in drawn) else ()


@dataclass(frozen=True, eq=False)
class Map:
    """A picture of numbers on a grid, first row on top; cyclic ones are angles: radians, or of the ``unit`` degrees."""

    title: str
    values: NDArray[np.float64]
    unit: str
    caption: str
    cyclic: bool = False
    about: About = "answer"
    kinds: Mapping[str, str] | None = None
    """What 0, 1, ... mean, and their colors, if the values are nothing else."""
    axes: tuple[str, str] | None = None
    """Names of columns and rows, which are numbered then."""

    def drawn(self) -> NDArray[np.float64]:
        """The values, thinned where there are more than can be seen."""
        values = np.asarray(self.values, dtype=float)
        rows, columns = (max(1, -(-size // MOST_PIXELS)) for size in values.shape)
        return values[::rows, ::columns]

    def limits(self) -> tuple[float, float]:
        """The ends of the color scale: a whole turn, or all but the outermost hundredth at either end."""
        if self.kinds is not None:
            return -0.5, len(self.kinds) - 0.5
        if self.cyclic:
            half = 180.0 if self.unit == "degrees" else np.pi
            return -half, half
        finite = np.asarray(self.values, dtype=float)
        finite = finite[np.isfinite(finite)]
        if finite.size == 0:
            return 0.0, 1.0
        low, high = (float(end) for end in np.quantile(finite, (0.01, 0.99)))
        return (low, high) if high > low else (low - 0.5, low + 0.5)


@dataclass(frozen=True, eq=False)
class Intervals:
    """One row an item, from top to bottom: its name, a point, and an interval around it."""

    title: str
    x_label: str
    names: tuple[str, ...]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    caption: str
    about: About = "answer"

    def drawn(self) -> Intervals:
        """The first rows whose value is a number; an end that is none lies at the value."""
        value = np.asarray(self.value, dtype=float)
        places = np.flatnonzero(np.isfinite(value))[:MOST_ROWS]
        ends = [np.where(np.isfinite(end[places]), end[places], value[places]) for end in (self.low, self.high)]
        caption = self.caption
        if places.size < value.size:
            caption += f" The first {places.size} of {value.size:,} are drawn."
        names = tuple(self.names[k] for k in places)
        return replace(self, names=names, value=value[places], low=ends[0], high=ends[1], caption=caption)


Picture = Curves | Map | Intervals

Row = Sequence[str]
"""A label, a value and, if wanted, a note."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length for a table that readers can sort, the most important row first."""

    columns: Mapping[str, Any]
    caption: str = ""
    order: str = "first"
    """How the rows that are shown were chosen, where not all are: ``first``, ``worst``, ``least sure``."""
    of: int | None = None
    """How many rows there would be, where the columns hold only some."""
