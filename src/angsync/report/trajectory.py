"""The trajectory of a pose graph as one SVG file: before and after, side by side and to the same scale."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from angsync.errors import OutputError
from angsync.io.atomic import atomic_open, check_writable
from angsync.report.numbers import pretty_number
from angsync.report.svg import Scale, circles, drawing, element, markers, text

_SIDE = 420.0  # longest side of a panel, pixels
_SHORTEST = 140.0  # shortest side of a panel, pixels
_NARROWEST = 440.0  # of the whole: the legend has to fit
_LEFT, _TOP, _BOTTOM, _GAP = 58.0, 66.0, 76.0, 24.0
_LINE = 18.0  # height of a line of words, pixels
_LETTER = 6.6  # width of a letter in them, at most
_MOST_EDGES = 50_000  # that are drawn besides the path itself
# what the page says of its body, for a picture that stands alone
_STYLE = """
.chart { font-family: system-ui, "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }
.chart .paper { fill: var(--paper); } .chart text.title { fill: var(--ink); font-size: 16px; font-weight: 600; }
.chart .links { fill: none; stroke: var(--s8); stroke-width: 0.8; stroke-opacity: 0.55; }
"""


def check_picture_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if the picture could not be written to ``path`` later."""
    path = Path(path)
    if path.suffix.lower() != ".svg":
        raise OutputError(f"cannot write {path}: the picture is an SVG. Give a name that ends in .svg.")
    return check_writable(path)


@dataclass(frozen=True)
class Panel:
    """One trajectory of the picture."""

    name: str
    poses: NDArray[np.float64]
    """x, y and theta, one row a pose; what is not finite is not drawn."""
    cost: float
    landmarks: NDArray[np.float64] | None = None
    """x and y, one row a landmark."""


def write_trajectory(
    path: str | os.PathLike[str],
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    panels: Sequence[Panel],
    title: str = "pose graph",
    words: Sequence[str] = (),
) -> None:
    """Write the picture; see :func:`trajectory_picture`."""
    with atomic_open(check_picture_path(path)) as stream:
        stream.write(trajectory_picture(i, j, panels, title, words) + "\n")


def trajectory_picture(
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    panels: Sequence[Panel],
    title: str = "pose graph",
    words: Sequence[str] = (),
) -> str:
    """Poses joined by their edges (i, j), one panel for each trajectory, in meters.

    Edges between poses that follow each other are the path; all others are drawn as thin links behind it. ``words`` are
    lines below the title: what is proved, how far the poses moved.
    """
    series = [2, 1][-len(panels) :]
    low, high, width, height = _frame([_drawn_points(panel) for panel in panels])
    parts = [element("rect", class_="paper", width="100%", height="100%"), text(16, 26, title, "title")]
    parts += [text(16, 26 + _LINE * (k + 1), line, "label") for k, line in enumerate(words)]
    top = _TOP + _LINE * len(words)
    for number, panel in enumerate(panels):
        left = _LEFT + number * (width + _LEFT + _GAP)
        x = Scale(low[0], high[0], left, left + width)
        y = Scale(low[1], high[1], top + height, top)
        name = f"{panel.name}: cost {pretty_number(panel.cost, 6)}"
        parts += [_axes(x, y, name), *_path(panel.poses, i, j, x, y, series[number])]
        if panel.landmarks is not None and panel.landmarks.size:
            known = panel.landmarks[np.isfinite(panel.landmarks).all(axis=1)]
            parts.append(markers(x(known[:, 0]), y(known[:, 1]), 3.5, "dots s3", "diamond"))
    longest = max((_LETTER * len(line) for line in words), default=0.0) + 32
    across = max(_NARROWEST, longest, (_LEFT + width + _GAP) * len(panels))
    down = top + height + _BOTTOM
    has_landmarks = any(panel.landmarks is not None and panel.landmarks.size for panel in panels)
    parts.append(_legend(down - 14, series, has_landmarks))
    style = element("style", html.escape(_page_style() + _STYLE, quote=False))
    picture = drawing(f"Trajectory of {title}", across, down, [style, *parts])
    size = f'xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}"'  # a file of its own
    return picture.replace("<svg ", f"<svg {size} ", 1)


def _drawn_points(panel: Panel) -> NDArray[np.float64]:
    points = panel.poses[np.isfinite(panel.poses).all(axis=1), :2]
    if panel.landmarks is None or not panel.landmarks.size:
        return points
    return np.concatenate([points, panel.landmarks[np.isfinite(panel.landmarks).all(axis=1)]])


def _page_style() -> str:
    return resources.files("angsync.report").joinpath("page.css").read_text(encoding="utf-8")


def _frame(
    drawn: Sequence[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
    """Corners in data and size in pixels of a panel that holds every trajectory, with a margin of 4 %."""
    points = np.concatenate(drawn)
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.maximum(high - low, 0.05 * max(float((high - low).max()), 1e-9))
    margin = 0.04 * float(extent.max())
    size = extent + 2 * margin
    # meters are as long on both axes: the shorter side of the panel follows, down to a limit
    pixel = float(size.max()) / _SIDE
    size = np.maximum(size, _SHORTEST * pixel)
    center = (low + high) / 2
    return center - size / 2, center + size / 2, float(size[0] / pixel), float(size[1] / pixel)


def _axes(x: Scale, y: Scale, words: str) -> str:
    parts = [text(x.start, y.end - 12, words, "label")]
    parts.append(text((x.start + x.end) / 2, y.start + 36, "x (m)", anchor="middle"))
    parts.append(text(x.start - 8, y.end - 2, "y (m)", anchor="end"))
    for position, label in x.ticks(max(2, int((x.end - x.start) / 70))):
        parts.append(element("line", x1=position, x2=position, y1=y.end, y2=y.start, class_="grid"))
        parts.append(text(position, y.start + 18, label, anchor="middle"))
    for position, label in y.ticks(max(2, int((y.start - y.end) / 60))):
        parts.append(element("line", x1=x.start, x2=x.end, y1=position, y2=position, class_="grid"))
        parts.append(text(x.start - 8, position + 4, label, anchor="end"))
    parts.append(
        element("rect", class_="axis", x=x.start, y=y.end, width=x.end - x.start, height=y.start - y.end),
    )
    return "".join(parts)


def _path(
    poses: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64], x: Scale, y: Scale, series: int
) -> list[str]:
    across, up = x(poses[:, 0]), y(poses[:, 1])
    known = np.isfinite(across[i] + up[i] + across[j] + up[j])
    follows = np.abs(i - j) == 1
    links, steps = np.flatnonzero(known & ~follows)[:_MOST_EDGES], np.flatnonzero(known & follows)

    def segments(edges: NDArray[np.int64]) -> str:
        ends = zip(across[i[edges]], up[i[edges]], across[j[edges]], up[j[edges]], strict=True)
        return "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)

    drawn = []
    if links.size:
        drawn.append(element("path", d=segments(links), class_="links"))
    if steps.size:
        drawn.append(element("path", d=segments(steps), class_=f"line s{series} thin"))
    first = np.flatnonzero(np.isfinite(across + up))[:1]
    return [*drawn, circles(across[first], up[first], 4, f"dots s{series}", ["the first pose"] * first.size)]


def _legend(baseline: float, series: Sequence[int], has_landmarks: bool) -> str:
    parts, left = [], 16.0
    keys = [f"line s{k} thin" for k in series]
    for k, class_ in enumerate(keys):
        parts.append(element("path", d=f"M{left + 24 * k:.1f} {baseline - 4:.1f}h18", class_=class_))
    left += 24 * len(keys) + 4
    parts.append(text(left, baseline, "path"))
    parts.append(element("path", d=f"M{left + 52:.1f} {baseline - 4:.1f}h18", class_="links"))
    parts.append(text(left + 78, baseline, "other edges"))
    parts.append(circles([left + 178], [baseline - 4], 4, f"dots s{series[-1]}"))
    parts.append(text(left + 190, baseline, "first pose"))
    if has_landmarks:
        parts.append(markers([left + 272], [baseline - 4], 3.5, "dots s3", "diamond"))
        parts.append(text(left + 282, baseline, "landmarks"))
    return "".join(parts)
