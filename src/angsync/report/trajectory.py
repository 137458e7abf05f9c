"""The trajectory of a pose graph as one SVG file: before and after, side by side and to the same scale."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import OutputError
from angsync.io.atomic import atomic_open
from angsync.report.canvas import BLUE, GRAY, GREEN, VERMILLION, check_page, figure_of, literal, page_style, plain_frame
from angsync.report.numbers import pretty_number

_SIDE = 4.6  # inches of a panel
_LINE = 0.2  # inches of a line of words
_MOST_LINKS = 50_000  # edges that are drawn besides the path itself


@dataclass(frozen=True)
class Panel:
    """One trajectory of the picture."""

    name: str
    poses: NDArray[np.float64]
    """x, y and theta, one row per pose; what is not finite is not drawn."""
    cost: float
    landmarks: NDArray[np.float64] | None = None
    """x and y, one row per landmark."""


def check_picture_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if the picture could not be written to ``path`` later."""
    path = Path(path)
    if path.suffix.lower() != ".svg":
        raise OutputError(f"cannot write {path}: the picture is an SVG. Give a name that ends in .svg.")
    return check_page(path)


def write_trajectory(
    path: str | os.PathLike[str],
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    panels: Sequence[Panel],
    title: str = "pose graph",
    words: Sequence[str] = (),
) -> None:
    """Draw poses joined by their edges (i, j), one panel for each trajectory, in meters.

    Edges between poses that follow each other are the path; all others are thin links behind it. ``words`` are lines
    below the title: what is proved, how far the poses moved.
    """
    with atomic_open(check_picture_path(path)) as stream, page_style():
        figure = figure_of(None, _SIDE * len(panels), _SIDE + _LINE * (len(words) + 3))
        figure.get_layout_engine().set(h_pad=_LINE)
        figure.suptitle("\n".join([title, *words]), fontsize="medium")
        places = figure.subplots(1, len(panels), squeeze=False)[0]
        box = _box([*(p.poses[:, :2] for p in panels), *(p.landmarks for p in panels if p.landmarks is not None)])
        for axes, panel, color in zip(places, panels, (VERMILLION, BLUE)[-len(panels) :], strict=True):
            _draw(axes, panel, i, j, color)
            axes.set(xlim=box[:, 0], ylim=box[:, 1])
        figure.legend(*places[-1].get_legend_handles_labels(), loc="outside lower left", ncols=4, frameon=False)
        literal(figure).savefig(stream, format="svg", metadata={"Date": None})


def _box(places: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Corners of a square that holds every trajectory, with a margin."""
    points = np.concatenate(places)
    points = points[np.isfinite(points).all(1)]
    low, high = points.min(0), points.max(0)
    half = 0.55 * max(float((high - low).max()), 1e-9)
    return np.stack([(low + high) / 2 - half, (low + high) / 2 + half])


def _draw(axes: Any, panel: Panel, i: NDArray[np.int64], j: NDArray[np.int64], color: str) -> None:
    from matplotlib.collections import LineCollection

    plain_frame(axes)
    axes.set_title(f"{panel.name}: cost {pretty_number(panel.cost, 6)}", fontsize="medium")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.set_aspect("equal")
    place = panel.poses[:, :2]
    ends = np.stack([place[i], place[j]], axis=1)
    known, follows = np.isfinite(ends).all((1, 2)), np.abs(i - j) == 1
    links, steps = np.flatnonzero(known & ~follows)[:_MOST_LINKS], np.flatnonzero(known & follows)
    axes.add_collection(LineCollection(list(ends[links]), colors=GRAY, linewidths=0.5, label="other edges"))
    axes.add_collection(LineCollection(list(ends[steps]), colors=color, linewidths=1.2, label="path"))
    first = np.flatnonzero(np.isfinite(place).all(1))[:1]
    axes.plot(*place[first].T, "o", color=color, ms=5, label="first pose")
    if panel.landmarks is not None and panel.landmarks.size:
        axes.plot(*panel.landmarks.T, "D", color=GREEN, ms=3.5, mec="none", label="landmarks")
