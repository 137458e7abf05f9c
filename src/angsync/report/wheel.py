"""The wheel: angles as points on a circle, with a ring of bars for their density.

A magnified wheel is a dial: it shows angles within ``span`` of zero on three quarters of the circle, because
errors of a degree would otherwise lie on top of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.report.numbers import pretty_number
from angsync.report.svg import circles, drawing, element, nice_step, path_through, text

WIDTH, HEIGHT = 460.0, 372.0
CENTER_X, CENTER_Y = WIDTH / 2, HEIGHT / 2
RADIUS, BAR_LENGTH, LABEL_RADIUS = 108.0, 36.0, 160.0
RING_SPACING = 18.0  # pixels between the rings of two components
MOST_POINTS = 2000  # up to which components have rings of points of their own
FEWEST_FOR_BARS = 50  # angles from which a wheel has bars
MOST_RINGS = 4  # up to so many components have a ring each
BINS = 72  # bars around the circle
_DIAL = 135.0  # degrees to either side of zero that a magnified wheel uses


@dataclass(frozen=True)
class Face:
    """What the circle shows: angles (degrees) in [-span, span]; a span of 180 is the whole circle."""

    span: float = 180.0

    @property
    def magnification(self) -> float:
        return 1.0 if self.span >= 180 else _DIAL / self.span

    def ticks(self) -> list[float]:
        if self.span >= 180:
            return [0, 45, 90, 135, 180, -135, -90, -45]
        return [k * self.span / 2 for k in range(-2, 3)]

    def place(self, degrees: NDArray | float, radius: NDArray | float) -> tuple[NDArray, NDArray]:
        """Pixels; zero points to the right and angles grow counter-clockwise."""
        turned = np.radians(np.asarray(degrees, dtype=float) * self.magnification)
        return CENTER_X + radius * np.cos(turned), CENTER_Y - radius * np.sin(turned)


def face_for(degrees: NDArray) -> Face:
    """The whole circle, or a dial just wide enough for all angles."""
    reach = float(np.abs(degrees).max(initial=0.0))
    if reach > 90:
        return Face()
    if reach > 20:
        return Face(next(float(span) for span in (30, 60, 90) if reach <= span))
    return Face(nice_step(reach) if reach > 1e-300 else 1.0)


def draw_wheel(
    title: str,
    degrees: NDArray,
    face: Face,
    rings: NDArray | None = None,
    names: Sequence[str] | None = None,
    center_label: str = "",
    series: int = 1,
) -> str:
    """``rings`` (0 the outermost) sets components apart by radius and color; ``names`` show on pointing."""
    count = 1 if rings is None or rings.size == 0 else int(rings.max()) + 1
    parts = [_frame(face, count)]
    if degrees.size >= FEWEST_FOR_BARS:
        parts.append(_bars(degrees, face, series if count == 1 else 8))
    if degrees.size <= MOST_POINTS:
        for ring in range(count):
            chosen = np.arange(degrees.size) if rings is None else np.flatnonzero(rings == ring)
            x, y = face.place(degrees[chosen], RADIUS - ring * RING_SPACING)
            titles = None if names is None else [names[int(k)] for k in chosen]
            class_ = f"dots s{series + ring}" + (" many" if degrees.size > FEWEST_FOR_BARS else "")
            parts.append(circles(x, y, 4.5 if degrees.size <= FEWEST_FOR_BARS else 3.2, class_, titles))
    if center_label:
        parts.append(text(CENTER_X, CENTER_Y + 5, center_label, "label", "middle"))
    return drawing(title, WIDTH, HEIGHT, parts)


def _frame(face: Face, count: int) -> str:
    parts = []
    reach = 180.0 if face.span >= 180 else face.span
    arc = np.linspace(-reach, reach, 181)
    for ring in range(count):
        x, y = face.place(arc, RADIUS - ring * RING_SPACING)
        parts.append(element("path", d=path_through(x, y), class_="axis" if ring == 0 else "grid"))
    inner = RADIUS - (count - 1) * RING_SPACING - 9
    for tick in face.ticks():
        (x1, x2), (y1, y2) = face.place(tick, np.array([inner, RADIUS + BAR_LENGTH + 4]))
        parts.append(element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_="grid"))
        x, y = face.place(tick, LABEL_RADIUS)
        cosine = math.cos(math.radians(tick * face.magnification))
        anchor = "middle" if abs(cosine) < 0.3 else "start" if cosine > 0 else "end"
        label = "±180°" if abs(tick) == 180 else pretty_number(tick) + "°"
        # pulled inwards by the width that the anchor sends outwards, so that no label leaves the picture
        pull = 0 if anchor == "middle" else 8 * (-1 if cosine > 0 else 1)
        parts.append(text(float(x) + pull, float(y) + 4.5, label, anchor=anchor))
    return "".join(parts)


def _bars(degrees: NDArray, face: Face, series: int) -> str:
    edges = np.linspace(-face.span, face.span, BINS + 1)
    counts, _ = np.histogram(degrees, edges)
    length = BAR_LENGTH * counts / max(1, counts.max())
    margin = 0.08 * (edges[1] - edges[0])
    pieces = []
    for k in np.flatnonzero(counts):
        sides = np.array([edges[k] + margin, edges[k + 1] - margin])
        inner_x, inner_y = face.place(sides, RADIUS + 6)
        outer_x, outer_y = face.place(sides[::-1], RADIUS + 6 + length[k])
        pieces.append(path_through(np.append(inner_x, outer_x), np.append(inner_y, outer_y)) + "Z")
    return element("path", d="".join(pieces), class_=f"bar s{series}") if pieces else ""
