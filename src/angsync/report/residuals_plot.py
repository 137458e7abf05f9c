"""Residuals with matplotlib: their histogram, how normal their tails are, and which measurements fit worst."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from angsync.report.canvas import BLUE, GRAY, SKY, VERMILLION, figure_of, plain_frame, say
from angsync.report.drawn import DrawnResult, beyond_chance, measurements_of, pair_name
from angsync.report.numbers import counted, pretty_number
from angsync.report.series import edge_residuals_in_degrees, histogram

MOST_LISTED = 12  # measurements that are named
_MIDDLE_HALF = 1.3489795003921634  # between the quartiles of a normal law of standard deviation 1


def plot_residuals(result: DrawnResult, figure: Any = None) -> Any:
    """Draw the residuals of the measurements on a matplotlib ``Figure`` (a new one unless given) and return it.

    Left their histogram in degrees, with a normal curve as wide as their middle half. In the middle the standardized
    ones against those of a normal law: tails that leave the line are heavier than normal. Right the measurements that
    fit worst, by name; those beyond chance, or distrusted by a robust fit, stand out.
    """
    figure = figure_of(figure, 12.5, 4)
    left, middle, right = figure.subplots(1, 3)
    draw_histogram(result, left)
    residuals = edge_residuals_in_degrees(result)
    if isinstance(residuals, str):
        for axes in (middle, right):
            axes.set_axis_off()
        return figure
    bad = beyond_chance(result)
    _draw_quantiles(result, middle, bad)
    _draw_worst(result, right, residuals, bad)
    return figure


def draw_histogram(result: DrawnResult, axes: Any) -> None:
    """How far measured angles are from fitted ones, with the normal curve of the middle half."""
    axes.set_title("Residuals of the measurements", fontsize="medium")
    values = edge_residuals_in_degrees(result)
    if isinstance(values, str):
        say(axes, values)
        return
    bins = histogram(values)
    finite = values[np.isfinite(values)]
    plain_frame(axes)
    axes.stairs(bins.counts, bins.edges, fill=True, color=SKY)
    low, high = np.quantile(finite, (0.25, 0.75)) if finite.size else (0.0, 0.0)
    deviation, width = float(high - low) / _MIDDLE_HALF, float(bins.edges[1] - bins.edges[0])
    if deviation > width / 4:  # narrower than that, the bins do not resolve it
        x = np.linspace(bins.edges[0], bins.edges[-1], 241)
        scale = finite.size * width / (deviation * np.sqrt(2 * np.pi))
        label = f"normal, {pretty_number(deviation, 2)}° (middle half)"
        axes.plot(x, scale * np.exp(-((x / deviation) ** 2) / 2), color=BLUE, lw=1.5, label=label)
        axes.legend(frameon=False, fontsize="small", loc="upper right")
        axes.set_ylim(0, 1.25 * max(float(bins.counts.max()), scale))
    rms = float(np.sqrt(np.mean(finite**2))) if finite.size else float("nan")
    axes.set_title(
        f"Residuals of {counted(finite.size, 'measurement')}: rms {pretty_number(rms, 3)}°", fontsize="medium"
    )
    axes.set_xlabel("measured minus fitted angle (degrees)")
    axes.set_ylabel("measurements")
    if bins.edges[-1] == 180:
        axes.set_xticks(np.arange(-180, 181, 60))


def _draw_quantiles(result: DrawnResult, axes: Any, bad: NDArray[np.bool_]) -> None:
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
    for some, color, label in ((~bad, BLUE, None), (bad, VERMILLION, _words_of(result, int(bad[known].sum())))):
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


def _words_of(result: DrawnResult, count: int) -> str:
    return f"{count:,} distrusted" if result.robust is not None else f"{count:,} beyond chance"


def _draw_worst(result: DrawnResult, axes: Any, residuals: NDArray[np.float64], bad: NDArray[np.bool_]) -> None:
    measurements = measurements_of(result)
    if isinstance(measurements, str):
        say(axes, measurements)
        return
    standardized = np.abs(np.nan_to_num(np.asarray(result.edge_residuals().standardized, dtype=float)))
    key = standardized if standardized.any() else np.abs(residuals)
    worst = np.argsort(-key, kind="stable")[:MOST_LISTED]
    worst = worst[np.abs(residuals[worst]) > 0]
    axes.set_title("Worst fitted" + ("" if bad.any() else ": none beyond chance"), fontsize="medium")
    if worst.size == 0:
        say(axes, "Every measurement is fitted exactly.")
        return
    plain_frame(axes)
    place = np.arange(worst.size)[::-1]
    axes.barh(place, residuals[worst], color=np.where(bad[worst], VERMILLION, SKY), height=0.7)
    axes.axvline(0, color="0.4", lw=0.8)
    axes.set_yticks(place, [pair_name(measurements, int(k)) for k in worst], fontsize="small")
    axes.set_xlabel("measured minus fitted angle (degrees)")
    axes.tick_params(axis="y", length=0)
