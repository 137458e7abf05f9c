"""What a self-calibration gives: a phase for every station and time, and how well visibilities and model agree then."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.radio.calibration import model_values
from angsync.applications.radio.closures import Closures, closures, triangles_of
from angsync.applications.radio.models import name_of
from angsync.applications.radio.visibilities import Visibilities
from angsync.applications.result import ApplicationResult, Description, Fit, if_known
from angsync.batch.result import BatchResult, BatchStatus
from angsync.report.pictures import Curves, Picture, Series, Table

STRONG = 3.0
"""Signal to noise above which the rms of residuals is told: below, phases of visibilities are mostly noise."""
NO_PHASE_DEGREES = 20.0
"""A phase with a larger standard error has none: the law of its error is no normal one, and has a part all around the
circle. Below, 95 % intervals hold 94 to 96 % (6 stations, signal to noise of a visibility from 2)."""
_DOUBTFUL = 1.5  # chi-square over what noise alone gives
_LISTED = 30  # visibilities in the table of those that fit worst
_FAR_OFF = 2.0  # amplitude of a station over that of the one in the middle, or the other way round, that is named


@dataclass(frozen=True, eq=False, repr=False)
class Gains(ApplicationResult):
    """What :func:`angsync.applications.radio.selfcal` returns. Angles are degrees."""

    time: NDArray
    """Times of the slots, in order, as they were given."""
    station: tuple[str, ...]
    phase: NDArray[np.float64]
    """(slots, stations): gains ``exp(i phase)``, so that ``V = g_first conj(g_second) M``: minus the
    phases of an eht-imaging caltable, whose gains multiply the data; NaN where a station has no
    visibility with information."""
    standard_error: NDArray[np.float64]
    """(slots, stations), against the reference: of the noise in ``sigma`` alone, for a model that is right. NaN where
    there is no phase, and where it is not told: above some 20 degrees error bars would be far too small."""
    certified: NDArray[np.bool_]
    """Slots whose phases are proved to fit best."""
    status: NDArray
    """How each slot ended: a name of :class:`angsync.BatchStatus`; DISCONNECTED where it is in several pieces, EMPTY
    where it has nothing that can be used."""
    reference: NDArray
    """(slots, stations): the station, or "mean", that this phase is against; empty where there is no phase. Phases
    with different references cannot be compared."""
    chi_square_per_dof: float
    """Sum of ``(|V| / sigma)^2 2 (1 - cos r)``, r the phase residual, over visibilities less fitted phases; NaN where
    nothing is left over."""
    chi_square_expected: float
    """About what noise alone gives per degree of freedom: 1 for strong visibilities, up to 4 for those that are noise;
    too much where most are weak, for then the phases follow the noise further."""
    chi_square: NDArray[np.float64]
    """(slots,), not divided."""
    degrees_of_freedom: NDArray[np.int64]
    """(slots,)."""
    residual: NDArray[np.float64]
    """Phase residual of each visibility; NaN where it is not used."""
    used: NDArray[np.bool_]
    """Visibilities that took part: not flagged, and the model says something about them."""
    flux_scale: float
    """What the model has to be multiplied by to have the flux of the data; its amplitude does not change phases."""
    amplitude: NDArray[np.float64]
    """(stations,): amplitudes of the gains over the whole night, 1 for the station in the middle. They do not change
    the phases, only the error bars; 1 where fewer than three visibilities a station tell them."""
    model: Any
    """The model used, its position angle filled in where it was found from the closure phases."""
    visibilities: Visibilities = field(repr=False)
    sync: BatchResult = field(repr=False)
    is_angle_found: bool = False
    """Whether the position angle of the ring was found from the closure phases of these visibilities."""
    asked_reference: str | None = None
    """The reference that was asked for."""
    is_noise: bool = False
    """Whether the visibilities hold no more power than noise of their sigmas would."""
    rms_before: float = float("nan")
    """Rms of the phases of V / M before calibration, where the signal is stronger than three times its noise."""

    @cached_property
    def closure(self) -> Closures:
        """Closure phases of the visibilities and of the model."""
        return closures(triangles_of(self.visibilities), model_values(self.model, self.visibilities))

    @property
    def gain(self) -> NDArray[np.complex128]:
        """(slots, stations): numbers of modulus 1; NaN where there is no phase."""
        return np.asarray(self.sync.z)

    @property
    def untold(self) -> NDArray[np.bool_]:
        """(slots, stations): phases that have no standard error, for the signal is too weak."""
        return np.isfinite(self.phase) & np.isnan(self.standard_error)

    @property
    def residual_rms(self) -> float:
        """Rms of the residuals after calibration, where the signal is stronger than three times its noise."""
        data = self.visibilities
        return rms_of(self.residual[self.used & (np.abs(data.value) > STRONG * data.sigma)])

    def describe(self) -> Description:
        """Summary, table of gains, pictures, doubts."""
        data = self.visibilities
        slot, station = np.nonzero(_appears(data))
        dof = int(self.degrees_of_freedom.sum())
        named = [name for name in np.unique(self.reference.astype(str)) if name]
        columns: dict[str, NDArray] = {
            "time": self.time[slot],
            "station": np.array(self.station, dtype=object)[station],
            "phase_deg": self.phase[slot, station],
            "standard_error_deg": self.standard_error[slot, station],
            "reference": self.reference[slot, station],
            "certified": self.certified[slot],
            "status": self.status[slot],
        }
        closed, expected = self.closure.residual, self.chi_square_expected
        closed = closed[np.isfinite(closed)]
        kind, _, details = name_of(self.model).partition(", ")
        rows = [
            ("Data", f"{len(data):,} visibilities", f"{self.time.size:,} times, {len(self.station)} stations"),
            ("Model", kind, details),
            ("Reference", ", ".join(named) or "none"),
            (
                "Residual",
                if_known(self.residual_rms, f"{self.residual_rms:.1f} degrees rms"),
                f"{if_known(self.rms_before, f'{self.rms_before:.1f}')} before; where |V| > 3 sigma",
            ),
            (
                "Chi-square",
                if_known(self.chi_square_per_dof, f"{self.chi_square_per_dof:.3g} per degree of freedom"),
                f"{dof:,} degrees" + if_known(expected, f"; noise alone gives {expected:.3g}", ""),
            ),
        ]
        if closed.size:
            rows.append(
                ("Closure", f"{np.median(np.abs(closed)):.1f} degrees", f"median misfit of {closed.size:,} triangles")
            )
        facts = {
            "visibilities": len(data), "used": int(self.used.sum()), "slots": int(self.time.size),
            "stations": list(self.station), "certified": int(self.certified.sum()), "references": named,
            "model": name_of(self.model), "chi_square_per_dof": self.chi_square_per_dof, "degrees_of_freedom": dof,
            "chi_square_expected": self.chi_square_expected, "residual_rms_deg": self.residual_rms,
            "flux_scale": self.flux_scale, "amplitude": dict(zip(self.station, self.amplitude.tolist(), strict=True)),
            "phases_not_told": int(self.untold.sum()), "is_noise": self.is_noise,
        }  # fmt: skip
        return Description(
            kind="gains", title="self-calibration of station phases", rows=rows, columns=columns,
            pictures=self._pictures(), sentences=self._sentences(), facts=facts,
            arrays={"phase": self.phase, "standard_error": self.standard_error, "chi_square": self.chi_square,
                    "degrees_of_freedom": self.degrees_of_freedom, "residual_deg": self.residual},
            worst=self._worst(),
        )  # fmt: skip

    @property
    def fit(self) -> Fit:
        """How well the model and the phases explain the visibilities."""
        found, expected = self.chi_square_per_dof, self.chi_square_expected
        if self.is_noise:
            return Fit("bad", "Visibilities are noise", "the visibilities hold no more than noise of their sigmas.")
        if np.isnan(found):
            return Fit(
                "none", "Nothing is checked", "there are as many phases as visibilities, so that nothing is checked."
            )
        words = (
            f"residuals are {if_known(self.residual_rms, f'{self.residual_rms:.1f} degrees')} rms where the signal is "
            f"strong, and chi-square is {found:.3g} per degree of freedom where noise alone gives {expected:.3g}"
        )
        if np.isnan(self.flux_scale) or found > _DOUBTFUL * expected:
            return Fit("bad", f"Model does not fit: chi-square {found:.3g}",
                       f"{words}: the model does not explain the visibilities.")  # fmt: skip
        return Fit("good", f"Model fits: chi-square {found:.3g}", f"{words}.")

    def _worst(self) -> Table:
        """The visibilities whose phase is furthest from model and gains, by their own noise."""
        data = self.visibilities
        noise = np.full(data.sigma.shape, np.inf)
        noise[self.used] = np.degrees(data.sigma[self.used] / np.abs(data.value[self.used]))
        times = np.where(self.used, np.abs(self.residual) / noise, 0.0)
        order = np.argsort(-np.nan_to_num(times), kind="stable")[:_LISTED]
        order = order[times[order] > 0]
        stations = np.array(self.station, dtype=object)
        columns = {
            "time": self.time[data.slot[order]], "first": stations[data.first[order]],
            "second": stations[data.second[order]], "residual (°)": self.residual[order],
            "noise (°)": noise[order], "times its noise": times[order],
        }  # fmt: skip
        caption = "The visibilities that fit worst, by their own noise. A click on a column sorts by it."
        return Table(columns, caption, "worst", int(self.used.sum()))

    def _sentences(self) -> list[str]:
        return [*self._about_rows(), *self._about_fit()]

    def _about_rows(self) -> list[str]:
        data, told = self.visibilities, []
        if self.is_angle_found:
            told.append("The position angle of the ring was found from the closure phases of the same visibilities.")
        asked = self.asked_reference
        if asked not in (None, "mean") and not np.any(self.reference == asked):
            told.append(
                f"The reference {asked!r} has no visibility that can be used: the phases are against other stations."
            )
        if data.repeated:
            told.append(f"{data.repeated:,} visibilities repeat another (same time, stations and value): counted once.")
        flagged = int(data.flagged.sum()) - data.repeated
        if flagged:
            told.append(
                f"{flagged:,} visibilities are not used: a number is missing or 0, sigma is not positive, or a station "
                "is paired with itself."
            )
        silent = int((~data.flagged & ~self.used).sum())
        if silent:
            told.append(
                f"Of {silent:,} visibilities the model says nothing: it is so faint there that no phase can be told."
            )
        apart = int((self.status == BatchStatus.DISCONNECTED.name).sum())
        if apart:
            told.append(f"{apart:,} times are in several pieces, not certified: each piece has a reference of its own.")
        empty = int((self.status == BatchStatus.EMPTY.name).sum())
        if empty:
            told.append(f"{empty:,} times hold nothing that can be used.")
        return told

    def _about_fit(self) -> list[str]:
        told = []
        off = np.flatnonzero(np.maximum(self.amplitude, 1 / self.amplitude) > _FAR_OFF)
        if off.size and not self.is_noise:
            names = ", ".join(f"{self.station[k]} ({self.amplitude[k]:.2g})" for k in off)
            told.append(
                f"|V|/|M| says another amplitude than that of the other stations for {names}. The error bars count it; "
                "the phases do not depend on it. If it should be 1, the station has lost signal or the model is wrong."
            )
        if self.is_noise:
            told.append(
                "The visibilities hold no more than noise of their sigmas: no phase is told, and there are no error "
                "bars. If there is a source, the sigmas are too large; otherwise average longer."
            )
        untold = int(self.untold.sum())
        if untold and not np.isnan(self.flux_scale):
            told.append(
                f"{untold:,} phases are not told: the signal is too weak for a standard error below "
                f"{NO_PHASE_DEGREES:g} degrees, so none is given (NaN). Average longer, or leave them out."
            )
        dof = int(self.degrees_of_freedom.sum())
        if dof == 0:
            told.append(
                "There are as many phases as visibilities: any model fits, and nothing is checked. If times of one "
                "scan differ slightly, give all of it one time."
            )
        elif np.isnan(self.flux_scale):
            told.append("The model fits worse than chance: there are no error bars. It is another source, or shifted.")
        elif self.chi_square_per_dof > _DOUBTFUL * self.chi_square_expected:
            told.append(
                f"The model does not explain the visibilities: chi-square is {self.chi_square_per_dof:.3g} where noise "
                f"alone gives {self.chi_square_expected:.3g}. The phases carry the error of the model; the error bars, "
                "which are of the noise alone, do not."
            )
        return told

    def _pictures(self) -> list[Picture]:
        data = self.visibilities
        numeric = self.time.dtype.kind in "iuf"
        when = self.time.astype(float) if numeric else np.arange(self.time.size, dtype=float)
        axis = "time (as in the data)" if numeric else "slot"
        stations = tuple(
            Series(when, self.phase[:, k], name, error=self.standard_error[:, k])
            for k, name in enumerate(self.station)
            if np.any(np.isfinite(self.phase[:, k]) & (self.standard_error[:, k] != 0))
        )
        strong = self.used & (np.abs(data.value) > STRONG * data.sigma)
        length = np.hypot(data.u, data.v) / 1e9
        after = Series(length[strong], self.residual[strong], "after")
        slots = self.degrees_of_freedom > 0
        per_dof = self.chi_square[slots] / self.degrees_of_freedom[slots]
        return [
            Curves("Phases of the stations", axis, "phase (degrees)", stations,
                   "The phase of every station with its 95 % interval, against the reference."),
            Curves(
                "Phase residuals", "baseline (billion wavelengths)", "residual (degrees)", (after,),
                "Visibilities less model and gains, where |V| > 3 sigma.", level=(0.0, "model"), about="residuals",
            ),
            Curves(
                "Chi-square of each time", axis, "chi-square per degree of freedom",
                (Series(when[slots], per_dof, "slots"),),
                "How well the model and the phases explain each time.",
                level=(self.chi_square_expected, "noise alone") if np.isfinite(self.chi_square_expected) else None,
                about="residuals",
            ),
        ]  # fmt: skip


def rms_of(values: NDArray[np.float64]) -> float:
    """NaN of nothing."""
    return float(np.sqrt(np.mean(values**2))) if values.size else float("nan")


def _appears(data: Visibilities) -> NDArray[np.bool_]:
    """Which stations have a row in which slot, flagged or not."""
    there = np.zeros((data.time.size, len(data.station)), dtype=bool)
    there[data.slot, data.first] = there[data.slot, data.second] = True
    return there
