"""What synchronize returns: offsets, skews, wrong links, and how they are shown."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from angsync.applications.clocks import shown
from angsync.applications.clocks.checks import about_ends, listed
from angsync.applications.clocks.links import UNITS, Links
from angsync.applications.result import ApplicationResult, Description, Fit, Proof, if_known
from angsync.errors import InputError
from angsync.io.result_file import write_result_table
from angsync.pipeline.result import SyncResult
from angsync.report.numbers import counted, plain_number

_LARGE_NOISE = 0.12  # of a period: 0.75 rad, where error bars begin to fail (uncertainty.doubts)
_BY_CHANCE = 1e-3  # what chance does less often is said


@dataclass(frozen=True, eq=False, repr=False)
class ClockResult(ApplicationResult):
    """What :func:`synchronize` returns. Arrays have one entry a clock, in the order of ``clocks``, or one a link."""

    clocks: tuple[Hashable, ...]
    offset: NDArray[np.float64]
    """How far each clock is ahead of the reference, in the unit of the links; NaN for clocks without links. Clocks of
    groups that were never compared with each other are against the mean of their own group."""
    standard_error: NDArray[np.float64]
    """Of the offsets; NaN where neither sigma nor any cycle tells the noise."""
    skew: NDArray[np.float64]
    """How fast each clock gains, in units of the offset per unit of time (microseconds a second are ppm); NaN where no
    times were given."""
    skew_error: NDArray[np.float64]
    bad_links: NDArray[np.bool_]
    """One a measurement: left out because it contradicts the others; False where it is masked."""
    residual: NDArray[np.float64]
    """One a measurement: what it says beyond the offsets (and skews) found; NaN where it is masked."""
    noise: float
    """Standard deviation of a typical link (the mean of its rounds) as the cycles show it; NaN without cycles."""
    reference: Hashable
    period: float | None
    """Given: offsets are known modulo this."""
    internal_period: float
    """What was worked with: the period given, or one chosen so that nothing wraps."""
    epoch: float
    """The time of the offsets where skews were found, in the unit of the times; NaN elsewhere."""
    component: NDArray[np.int64]
    """Clocks of different groups were never compared, directly or through others."""
    links: Links
    sync: SyncResult
    skew_sync: SyncResult | None = None
    freedom: int = 0
    """Independent cycles of the links that are believed."""
    scatter: float = math.nan
    """Of the rounds of a link about its line, in units of sigma where that was given; NaN without rounds."""
    doubts: tuple[str, ...] = ()
    expected_noise: float = math.nan
    """What ``noise`` should be by sigma, or by the scatter of the rounds where there is none; NaN without both."""
    scatter_freedom: int = 0
    spacing: float = math.nan
    """Typical time from one round of a link to the next; NaN without rounds."""
    pair: NDArray[np.int64] | None = None
    """Which pair of clocks each link belongs to, where its rounds or repeats are one."""
    misfits: tuple[str, ...] = ()
    """Why the links are not what they are taken for, such as clocks that do not drift on lines. Empty: nothing seen."""

    @property
    def is_proved(self) -> bool:
        """Offsets proved to fit best the links that are believed, and links that are what they are taken for."""
        return super().is_proved and not self.misfits

    @property
    def proof(self) -> Proof:
        """What is proved; where the links are not what they are taken for, that is in the headline."""
        proof = super().proof
        if not self.misfits:
            return proof
        words = f"The best fit is not the truth here: see the notes. Of the fit: {proof.words}"
        return Proof("open" if proof.look == "good" else proof.look, f"Doubtful links. {proof.headline}", words)

    @property
    def fit(self) -> Fit:
        """How well the links agree, in their unit."""
        return shown.fit(self)

    @property
    def unit(self) -> str | None:
        return self.links.unit

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """One a measurement: believed, but by odds of less than 100 only, such as one of two links that alone connect
        some clocks to the rest and contradict each other. Not judged (all False) above 2,000 links. The error bars of
        the clocks that the other choice would move hold it."""
        report = self.sync.robust
        if report is None or not report.undecided.any():
            return np.zeros(self.bad_links.size, dtype=bool)
        by_link = report.undecided if self.pair is None else report.undecided[self.pair]
        return self.links.by_row(by_link, False) & ~self.bad_links

    @property
    def skew_ppm(self) -> NDArray[np.float64]:
        """Skews in parts per million; needs a unit."""
        if self.unit is None:
            raise InputError("parts per million need the unit of the offsets: synchronize(..., unit='us').")
        return self.skew * (1e6 * UNITS[self.unit] / UNITS[self.links.time_unit])

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {name: k for k, name in enumerate(self.clocks)}

    def at(self, time: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Offsets and their standard errors at another time, by the skews."""
        if math.isnan(self.epoch):
            raise InputError("there are no skews: the links have no times.")
        lapse = time - self.epoch
        return self.offset + lapse * self.skew, np.hypot(self.standard_error, lapse * self.skew_error)

    def difference(self, one: Hashable, other: Hashable) -> float:
        """How far one clock is ahead of another; NaN where nothing connects them."""
        for name in (one, other):
            if name not in self._place:
                raise InputError(f"there is no clock {name!r}.")
        a, b = self._place[one], self._place[other]
        if self.component[a] != self.component[b]:
            return math.nan
        gap = float(self.offset[a] - self.offset[b])
        return gap if self.period is None else gap - self.period * round(gap / self.period)

    def save_links(self, path: str | os.PathLike[str]) -> None:
        """Write the links with their residuals and whether they are bad, as csv, npz or parquet."""
        names = np.array([str(name) for name in self.clocks], dtype=object)
        columns = {
            "i": names[self.links.i], "j": names[self.links.j], "offset": self.links.offset,
            "residual": self.links.by_link(self.residual), "bad": self.links.by_link(self.bad_links),
        }  # fmt: skip
        optional = {"time": self.links.time, "sigma": self.links.sigma, "delay": self.links.delay}
        columns |= {name: column for name, column in optional.items() if column is not None}
        write_result_table(path, "clock-links", columns, self._facts())

    def _facts(self) -> dict[str, Any]:
        return {
            "unit": self.unit, "time_unit": self.links.time_unit, "reference": str(self.reference),
            "period": self.period, "internal_period": self.internal_period,
            "epoch": None if math.isnan(self.epoch) else self.epoch,
            "links": len(self.links), "bad": int(self.bad_links.sum()),
            "noise": None if math.isnan(self.noise) else self.noise,
        }  # fmt: skip

    def describe(self) -> Description:
        unit = "" if self.unit is None else f" {self.unit}"
        known = np.isfinite(self.offset)
        names = np.array([str(name) for name in self.clocks], dtype=object)
        has_skew, typical = not math.isnan(self.epoch), _middle(self.standard_error)
        rows: list[tuple[str, ...]] = [
            ("Clocks", f"{int(known.sum()):,}", f"offsets from {self._origin()}"),
            ("Links", f"{len(self.links):,}", f"{int(self.bad_links.sum()):,} bad, left out"),
            ("Noise", if_known(self.noise, f"{plain_number(self.noise, 3)}{unit}"),
             "standard deviation of a link, by the cycles"),
            ("Error", if_known(typical, f"{plain_number(typical, 3)}{unit}"), "standard error of a typical offset"),
        ]  # fmt: skip
        if has_skew:
            rate = f"{self.unit or 'units'}/{self.links.time_unit}"
            error = _middle(self.skew_error)
            rows.append(
                (
                    "Skew error",
                    if_known(error, f"{plain_number(error, 3)} {rate}"),
                    f"of a typical clock; offsets are those at {self.epoch:.12g}",
                )
            )
        columns: dict[str, NDArray] = {"clock": names, "offset": self.offset, "standard_error": self.standard_error}
        if has_skew:
            columns |= {"skew": self.skew, "skew_error": self.skew_error}
        columns["links"] = np.bincount(np.concatenate([self.links.i, self.links.j]), minlength=len(names))
        columns["component"] = self.component
        title = f"times of {counted(int(known.sum()), 'clock')}"
        arrays = {"bad_links": self.bad_links, "residual": self.residual}
        pictures = shown.pictures(self, unit)
        return Description("clocks", title, rows, columns, pictures, self._sentences(unit), self._facts(), arrays,
                           shown.worst_table(self, unit), names=self.clocks, units=self._units())  # fmt: skip

    def _units(self) -> dict[str, str]:
        if self.unit is None:
            return {}
        rate = f"{self.unit}/{self.links.time_unit}"
        return {"offset": self.unit, "standard_error": self.unit, "skew": rate, "skew_error": rate}

    def _origin(self) -> str:
        if self.reference != "mean":
            return f"clock {self.reference}"
        return "their mean" if self.period is None else "their circular mean"

    def _sentences(self, unit: str) -> list[str]:
        said = list(self.links.notes)
        alone = [str(self.clocks[k]) for k in np.flatnonzero(np.isnan(self.offset))]
        if alone:
            said.append(f"Without links, and so without an offset: {listed(alone)}.")
        groups = len(np.unique(self.component[np.isfinite(self.offset)]))
        if groups > 1:
            said.append(
                f"The clocks fall into {groups} groups that were never compared with each other; offsets of different "
                "groups cannot be compared, and groups without the reference clock are against their own mean."
            )
        if self.period is None:
            said.append("Offsets do not wrap: the answer is that of least squares on the links that are believed.")
        else:
            said += self._about_period(self.period, unit)
        said += self._about_noise(unit)
        said += self._about_checks()
        return [*said, *self.doubts]

    def _about_period(self, period: float, unit: str) -> list[str]:
        largest = float(np.abs(self.links.offset).max())
        said = []
        if largest < period / 50:
            said.append(
                f"No offset is longer than {largest:.3g}{unit}, a small part of the period of {period:.3g}{unit}: "
                "either period (--period) is in another unit, or it is not needed."
            )
        elif largest > 1e6 * period:
            said.append(f"Offsets are up to {largest / period:.2g} periods long: is period in the same unit?")
        pairs = np.unique(np.sort(np.stack([self.links.i, self.links.j]), axis=0), axis=1).shape[1]
        ends = about_ends(self.links.offset, pairs, period, unit)
        said += [] if ends is None else [ends]
        if self.spacing > 0:
            rate = f"{self.unit or 'units'}/{self.links.time_unit}"
            said.append(
                f"Skews are known modulo {period / self.spacing:.3g} {rate} only, the period over the time from one "
                "round to the next: clocks are taken to drift apart by less than half a period in that time."
            )
        if not math.isnan(self.noise) and self.noise > _LARGE_NOISE * period:
            said.append(f"The noise is {self.noise / period:.2g} of a period: phases may be on a wrong turn.")
        return said

    def _about_noise(self, unit: str) -> list[str]:
        sigma, said = self.links.sigma, []
        if self.unit is not None:
            largest = float(np.abs(self.links.offset).max()) * UNITS[self.unit]
            if 0 < largest < 1e-12 or largest > 4e9:
                said.append(
                    f"The largest offset is {largest:.2g} s: is the unit ({self.unit}) right? Say it: unit (--unit)."
                )
        if not np.isfinite(self.standard_error).any():
            said.append(
                "There are no cycles and no sigma: nothing tells the noise, so there are no error bars, and no link is "
                "checked by another."
            )
        ratio = self.noise / self.expected_noise if self.expected_noise > 0 else math.nan
        if self.freedom >= shown.FEW_CYCLES and not 1 / shown.FAR < ratio < shown.FAR and not math.isnan(ratio):
            how = "more" if ratio > 1 else "less"
            if sigma is not None:
                said.append(
                    f"The links contradict each other {how} than sigma says: their noise is {ratio:.2g} times the "
                    "stated one. Error bars are those of the stated sigma; leave it out to have them from the links."
                )
            else:
                why = (
                    "errors that all rounds of a link share, such as a way longer than the way back"
                    if ratio > 1
                    else "errors that all links of a clock share, such as a drift that is no line"
                )
                said.append(
                    f"The means of the links contradict each other {how} than the scatter of their rounds explains, "
                    f"{ratio:.2g} times: {why}. Error bars are from the contradictions."
                )
        return [*said, *self.misfits, *self.about_scatter()]

    def about_scatter(self) -> list[str]:
        """Whether the rounds scatter about their lines as sigma says, beyond chance by the chi-square law."""
        if self.links.sigma is None or math.isnan(self.scatter) or 1 / shown.FAR < self.scatter < shown.FAR:
            return []
        square = self.scatter**2 * self.scatter_freedom
        law = chi2.sf if self.scatter > 1 else chi2.cdf
        if law(square, self.scatter_freedom) > _BY_CHANCE:
            return []
        how = "more" if self.scatter > 1 else "less"
        return [
            f"The rounds scatter {how} about the lines of their links than sigma says, {self.scatter:.2g} times: sigma "
            "is wrong, or clocks do not drift on lines. Error bars begin with the stated sigma."
        ]

    def _about_checks(self) -> list[str]:
        good, said = ~self.links.by_link(self.bad_links), []
        i, j = self.links.i[good], self.links.j[good]
        pairs = np.unique(np.stack([np.minimum(i, j), np.maximum(i, j)]), axis=1)
        degree = np.bincount(pairs.ravel(), minlength=len(self.clocks))
        hanging = np.flatnonzero((degree <= 1) & np.isfinite(self.offset))
        if hanging.size and self.freedom > 0:
            names = listed([str(self.clocks[k]) for k in hanging])
            said.append(f"Hanging on one believed link or none, which nothing checks: {names}.")
        doubtful = np.flatnonzero(self.links.by_link(self.undecided))
        if doubtful.size and self.bad_links.any():
            pairs_named = [f"{self.clocks[self.links.i[k]]} to {self.clocks[self.links.j[k]]}" for k in doubtful]
            said.append(f"Believed on weak grounds, and perhaps wrong in place of one left out: {listed(pairs_named)}.")
        if self.skew_sync is not None and np.isnan(self.skew[np.isfinite(self.offset)]).any():
            said.append("Some clocks have links at one time only: their skew is not known and was taken as 0.")
        return said


def _middle(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else math.nan
