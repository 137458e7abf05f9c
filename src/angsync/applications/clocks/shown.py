"""What a page shows of clocks: their offsets with intervals, how well the links agree, and which fit worst."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from angsync.applications.result import Fit
from angsync.report.numbers import counted, plain_number
from angsync.report.pictures import MOST_ROWS, TWO_SIDED_95, Curves, Intervals, Picture, Series, Table

if TYPE_CHECKING:
    from angsync.applications.clocks.result import ClockResult

FEW_CYCLES = 20
"""Cycles below which the noise that they show is not known well enough to doubt the one that was stated."""
FAR = 1.5
"""Noise by the cycles over the stated one, either way, from which it is said."""
_LISTED = 30  # links in the table of those that fit worst


def fit(result: ClockResult) -> Fit:
    """How well the links agree, in their unit."""
    unit = "" if result.unit is None else f" {result.unit}"
    bad = int(result.bad_links.sum())
    apart = f", after {counted(bad, 'bad link')} {'was' if bad == 1 else 'were'} left out" if bad else ""
    if math.isnan(result.noise):
        return Fit(
            "none", "Nothing checks the links", "no link is checked by another, so that nothing tells the noise."
        )
    words = f"the links agree to {plain_number(result.noise, 3)}{unit}{apart}"
    if result.misfits:
        return Fit("bad", "Doubtful links", f"{words}, but they are not what they are taken for: {result.misfits[0]}")
    wrong = result.freedom >= FEW_CYCLES and result.noise > FAR * result.expected_noise
    if wrong:
        ratio = plain_number(result.noise / result.expected_noise, 2)
        return Fit("open", f"Noise {ratio} times the stated one", f"{words}, {ratio} times the noise to be expected.")
    return Fit("good", f"Links agree to {plain_number(result.noise, 2)}{unit}", f"{words}.")


def pictures(result: ClockResult, unit: str) -> list[Picture]:
    in_unit = f"({unit.strip()})" if unit else "(unit of the links)"
    order = np.argsort(result.offset)
    order = order[np.isfinite(result.offset[order])]
    value, error = result.offset[order], np.nan_to_num(result.standard_error[order])
    caption = "The offset of every clock with its 95 % interval, sorted."
    offsets: Picture = Intervals(
        "Offsets", f"offset {in_unit}", tuple(str(result.clocks[k]) for k in order), value,
        value - TWO_SIDED_95 * error, value + TWO_SIDED_95 * error, caption,
    )  # fmt: skip
    if order.size > MOST_ROWS:
        points = Series(np.arange(1.0, order.size + 1), value, error=error)
        offsets = Curves("Offsets", "clock, by offset", f"offset {in_unit}", (points,), caption)
    number = np.arange(1.0, result.bad_links.size + 1)
    bad, believed = result.bad_links, result.links.by_row(~result.links.by_link(result.bad_links), False)
    series = (
        Series(number[believed], result.residual[believed], "believed"),
        *((Series(number[bad], result.residual[bad], "bad, left out"),) if bad.any() else ()),
    )
    links = Curves("Links", "link", f"residual {in_unit}", series,
                   "What each measurement says beyond the offsets found.", about="residuals")  # fmt: skip
    return [offsets, links]


def worst_table(result: ClockResult, unit: str) -> Table:
    """The links whose residual is largest, by their own sigma where they have one."""
    residual = result.links.by_link(result.residual)
    size = np.abs(residual) if result.links.sigma is None else np.abs(residual) / result.links.sigma
    order = np.argsort(-np.nan_to_num(size), kind="stable")[:_LISTED]
    names = np.array([str(name) for name in result.clocks], dtype=object)
    columns = {
        "from": names[result.links.i[order]], "to": names[result.links.j[order]],
        f"measured{unit and f' ({unit.strip()})'}": result.links.offset[order],
        f"residual{unit and f' ({unit.strip()})'}": residual[order],
        "left out": result.links.by_link(result.bad_links)[order],
    }  # fmt: skip
    if result.links.sigma is not None:
        columns["over its sigma"] = residual[order] / result.links.sigma[order]
    return Table(columns, "The links that fit worst. A click on a column sorts by it.", "worst", len(result.links))
