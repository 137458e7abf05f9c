"""Residuals as pictures: their histogram, how normal their tails are, and which measurements fit worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from angsync.report.canvas import BLUE, GRAY, SKY, VERMILLION, figure_of, literal, plain_frame, say
from angsync.report.numbers import counted, pretty_number
from angsync.report.series import doubt_in_words, doubted, histogram, measurements_of, node_name
from angsync.uncertainty.quality import Quality, assess

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult

MOST_LISTED = 12  # measurements that are named
_MIDDLE_HALF = 1.3489795003921634  # between the quartiles of a normal law of standard deviation 1


def plot_residuals(result: SyncResult, figure: Any = None) -> Any:
    """Draw the residuals of the measurements on a matplotlib ``Figure`` (a new one unless given) and return it.

    Left their histogram in degrees, with a normal curve as wide as their middle half. In the middle the standardized
    ones against those of a normal law: tails that leave the line are heavier than normal. Right the measurements that
    fit worst, by name; those further off than noise allows, or left out by a robust fit, stand out.
    """
    figure = figure_of(figure, 12.5, 4)
    left, middle, right = figure.subplots(1, 3)
    quality = assess(result)
    draw_histogram(result, left, quality)
    if quality is None or quality.residuals is None:
        for axes in (middle, right):
            axes.set_axis_off()
        return literal(figure)
    bad = doubted(result, quality)
    _draw_quantiles(result, middle, bad)
    _draw_worst(result, right, quality.residuals.worst(MOST_LISTED), bad)
    return literal(figure)


def draw_histogram(result: SyncResult, axes: Any, quality: Quality | None, *, turns: bool = False) -> None:
    """How far measured angles are from fitted ones where the fit uses them, and the normal curve of the middle half."""
    axes.set_title("Residuals of the measurements", fontsize="medium")
    if quality is None or quality.residuals is None:
        missing = measurements_of(result)
        why = missing if isinstance(missing, str) else "no measurement is checked by others."
        say(axes, f"The residual histogram is left out: {why}")
        return
    values = np.degrees(quality.residuals.wrapped[quality.residuals.active])
    edges, counts = histogram(values)
    plain_frame(axes)
    unit = 360 if turns else 1
    axes.stairs(counts, edges / unit, fill=True, color=SKY)
    low, high = np.quantile(values, (0.25, 0.75))
    deviation, width = float(high - low) / _MIDDLE_HALF, float(edges[1] - edges[0])
    if deviation > width / 4:  # narrower than that, the bins do not resolve it
        x = np.linspace(edges[0], edges[-1], 241)
        scale = values.size * width / (deviation * np.sqrt(2 * np.pi))
        curve = scale * np.exp(-((x / deviation) ** 2) / 2)
        axes.plot(x / unit, curve, color=BLUE, lw=1.5, label="normal curve as wide as the middle half")
        axes.legend(frameon=False, fontsize="small", loc="upper right")
        axes.set_ylim(0, 1.25 * max(float(counts.max()), scale))
    rms = f"{pretty_number(quality.rms_degrees / unit, 3)}{' turns' if turns else '°'}"
    axes.set_title(f"Residuals of {counted(values.size, 'measurement')}: rms {rms}", fontsize="medium")
    axes.set_xlabel(f"measured minus fitted angle ({'turns' if turns else 'degrees'})")
    axes.set_ylabel("measurements")
    if edges[-1] == 180 and not turns:
        axes.set_xticks(np.arange(-180, 181, 60))


def _draw_quantiles(result: SyncResult, axes: Any, bad: NDArray[np.bool_]) -> None:
    axes.set_title("Standardized residuals against normal ones", fontsize="medium")
    standardized = np.asarray(result.edge_residuals().standardized, dtype=float)
    known = np.flatnonzero(np.isfinite(standardized))
    if known.size < 3:
        say(axes, "No standardized residuals: too few measurements are checked by others.")
        return
    plain_frame(axes)
    order = known[np.argsort(standardized[known])]
    normal = ndtri((np.arange(known.size) + 0.5) / known.size)
    axes.plot([-9, 9], [-9, 9], color=GRAY, lw=1, ls="--", label="normal noise")
    for some, color, label in ((~bad, BLUE, None), (bad, VERMILLION, doubt_in_words(result, int(bad[known].sum())))):
        chosen = some[order]
        if chosen.any():
            style = {"color": color, "ms": 3.5, "mec": "none", "label": label, "rasterized": known.size > 5000}
            axes.plot(normal[chosen], standardized[order][chosen], "o", **style)
    reach = 1.08 * max(2.0, float(normal[-1]))
    axes.set_xlim(-reach, reach)
    tall = 1.08 * max(reach / 1.08, float(np.abs(standardized[known]).max()))
    axes.set_ylim(-tall, tall)
    axes.set_xlabel("expected of normal noise (standard deviations)")
    axes.set_ylabel("residual (standard deviations)")
    axes.legend(frameon=False, fontsize="small", loc="upper left")


def _draw_worst(result: SyncResult, axes: Any, worst: NDArray[np.int64], bad: NDArray[np.bool_]) -> None:
    axes.set_title("Worst fitted" + ("" if bad.any() else ": none further off than noise"), fontsize="medium")
    if worst.size == 0:
        say(axes, "Every measurement is fitted exactly.")
        return
    plain_frame(axes)
    m, residuals = result.measurements, np.degrees(np.asarray(result.edge_residuals().wrapped, dtype=float))
    place = np.arange(worst.size)[::-1]
    names = [f"{node_name(result, int(m.i[k]))} – {node_name(result, int(m.j[k]))}" for k in worst]
    axes.barh(place, residuals[worst], color=np.where(bad[worst], VERMILLION, SKY), height=0.7)
    axes.axvline(0, color=GRAY, lw=0.8)
    axes.set_yticks(place, names, fontsize="small")
    axes.set_xlabel("measured minus fitted angle (degrees)")
    axes.tick_params(axis="y", length=0)
