"""Phases as pictures: on the wheel with arcs for their 95 % intervals, and node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.report.canvas import BLUE, GRAY, MUTED, SERIES, SKY, plain_frame, say
from angsync.report.network_plot import node_values
from angsync.report.numbers import counted, pretty_number
from angsync.report.series import Errors, component_ranks, gauge_in_words, node_name

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult

MOST_POINTS = 2000  # phases that are drawn as points
MOST_INTERVALS = 200  # nodes whose intervals are drawn one by one
MOST_ARCS = 60  # intervals on the wheel
MOST_TICKS = 30  # names on an axis
FEWEST_FOR_BARS = 50  # angles from which the wheel has bars
MOST_RINGS = 4  # components with a ring of their own
_WITH_BARS, _ALONE = 1.6, 1.08  # reach of the axes, in radii, with bars around the wheel and without
_EIGHTHS = ("0°", "45°", "90°", "135°", "±180°", "−135°", "−90°", "−45°")
_RING = 0.16  # between the rings of two components; the radius of the outermost is 1


def draw_wheel(result: SyncResult, axes: Any, errors: Errors) -> None:
    """Every phase as a point on polar axes, with an arc for its 95 % interval where that is known and can be seen."""
    radians = np.radians(node_values(result, "phase"))
    finite = np.flatnonzero(np.isfinite(radians))
    rank, count = component_ranks(result)
    rings = rank if count <= MOST_RINGS else np.zeros_like(rank)
    radii = 1 - _RING * np.arange(int(rings.max(initial=0)) + 1)
    dense = finite.size >= FEWEST_FOR_BARS
    axes.set_title(f"Phases\n{gauge_in_words(result.gauge, count)}", fontsize="medium")
    axes.set_thetagrids(range(0, 360, 45), _EIGHTHS, fontsize="x-small", color=MUTED)
    axes.set_rgrids(radii, [""] * radii.size)
    axes.set_rlim(0, _WITH_BARS if dense else _ALONE)
    axes.tick_params(axis="x", pad=0)
    axes.grid(lw=0.6)
    axes.spines["polar"].set_visible(False)
    axes.set_axisbelow(True)
    if dense:  # outside the circle: where many phases are
        counts, edges = np.histogram(radians[finite], np.linspace(-np.pi, np.pi, 73))
        axes.bar(edges[:-1], 0.5 * counts / max(1, counts.max()), np.diff(edges), 1.08, align="edge", color=SKY)
    if finite.size > MOST_POINTS:
        return
    if finite.size <= MOST_ARCS:
        reach = np.radians(errors.reach)
        for k in finite[reach[finite] > 0]:
            arc, color = np.linspace(-reach[k], reach[k], 60) + radians[k], SERIES[int(rings[k]) % len(SERIES)]
            axes.plot(arc, np.full(60, radii[rings[k]]), color=color, lw=5, alpha=0.35, solid_capstyle="butt", zorder=2)
    style = {"ms": 4, "alpha": 0.45} if dense else {"ms": 5, "alpha": 1.0}
    for ring, radius in enumerate(radii):
        some, color = finite[rings[finite] == ring], SERIES[ring % len(SERIES)]
        axes.plot(radians[some], np.full(some.size, radius), "o", color=color, mec="none", zorder=3, **style)


def draw_intervals(result: SyncResult, axes: Any, errors: Errors) -> None:
    """Phases node by node with 95 % intervals; for many nodes how large their standard errors are."""
    degrees = node_values(result, "phase")
    if errors.missing:
        axes.set_title("How sure the phases are", fontsize="medium")
        say(axes, errors.missing)
        return
    if degrees.size > MOST_INTERVALS:
        _draw_error_sizes(axes, errors)
        return
    reach = errors.reach
    known = np.isfinite(degrees)
    ends = np.append(degrees[known] + reach[known], degrees[known] - reach[known])
    wide = not known.any() or bool(np.ptp(ends) > 240)
    for turn in (0, -360, 360) if wide else (0,):  # an interval that leaves at +180 goes on at -180
        _draw_bars(result, axes, degrees + turn, reach)
    if wide:
        axes.set_ylim(-185, 185)
        axes.set_yticks(range(-180, 181, 60))
    axes.set_ylabel("phase (degrees)")
    missing = int(degrees.size - known.sum())
    left_out = f"; {counted(missing, 'node')} without measurements" if missing else ""
    axes.set_title(f"Phases with 95 % intervals{left_out}", fontsize="medium")


def draw_truth(result: SyncResult, axes: Any, off: NDArray[np.float64], errors: Errors) -> None:
    """How far each phase is ``off`` the truth (degrees) with 95 % intervals; for many nodes how often how far."""
    plain_frame(axes)
    axes.set_title("Error: estimate minus truth", fontsize="medium")
    if off.size > MOST_INTERVALS:
        axes.hist(off[np.isfinite(off)], bins=60, color=SKY)
        axes.set_xlabel("error (degrees)")
        axes.set_ylabel("nodes")
        return
    axes.axhline(0, color=GRAY, lw=0.8)
    _draw_bars(result, axes, off, errors.reach)
    axes.set_ylabel("error (degrees)")


def _draw_bars(result: SyncResult, axes: Any, value: NDArray[np.float64], reach: NDArray[np.float64]) -> None:
    """A point and a bar for each node, by name where there is room."""
    plain_frame(axes)
    place = np.arange(value.size)
    style = {"fmt": "o", "color": BLUE, "ms": 4, "mec": "none", "elinewidth": 1.2, "capsize": 2}
    axes.errorbar(place, value, reach, **style)
    if value.size <= MOST_TICKS:
        names = [node_name(result, int(k), 12) for k in place]
        steep = (max(map(len, names)) + 2) * value.size > 60
        axes.set_xticks(place, names, rotation=90 if steep else 0, fontsize="small")
        axes.set_xlim(-0.7, value.size - 0.3)
    axes.set_xlabel("node")


def _draw_error_sizes(axes: Any, errors: Errors) -> None:
    plain_frame(axes)
    known = errors.degrees[np.nan_to_num(errors.degrees) > 0]  # the error of the reference is 0 by its choice
    if known.size == 0:
        say(axes, "No node has an error bar: nothing but its reference is tied to it.")
        return
    top = float(np.quantile(known, 0.995))
    far = bool(known.max() > 2 * top)  # a few would squeeze all others into one bar
    axes.hist(np.minimum(known, top if far else np.inf), bins=min(60, max(8, int(np.sqrt(known.size)))), color=SKY)
    middle = errors.typical
    axes.axvline(middle, color=BLUE, lw=1.5)
    missing = int(np.isnan(errors.degrees).sum())
    without = f"; {counted(missing, 'node')} without" if missing else ""
    axes.set_title(f"Standard errors: median {pretty_number(middle, 3)}°{without}", fontsize="medium")
    axes.set_xlabel("standard error (degrees)" + "; the last bar holds all beyond" * far)
    axes.set_ylabel("nodes")
