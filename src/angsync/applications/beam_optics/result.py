"""What the synchronization of phase tables gives: a phase for every monitor, against the model, with flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.beam_optics.network import is_too_good
from angsync.applications.beam_optics.turns import rms_around_mean
from angsync.applications.result import ApplicationResult, Description, Fit, if_known
from angsync.io.tfs_file import tfs_library, write_tfs
from angsync.pipeline.result import SyncResult
from angsync.report.numbers import counted
from angsync.report.pictures import Curves, Picture, Series, Table

_CONTRADICTION = (
    2.0  # chi-square per degree of freedom beyond which the stated errors are too small, or the tables differ
)
_MANY = 0.1  # of the rows left out, from which the answer is not that of the tables any more
_LISTED = 30


@dataclass(frozen=True, eq=False, repr=False)
class BeamResult(ApplicationResult):
    """What :func:`angsync.applications.beam_optics.synchronize` returns. Phases and errors are turns."""

    name: tuple[str, ...]
    """Monitors, in the order of the machine."""
    s: NDArray[np.float64]
    """Meters."""
    phase: NDArray[np.float64]
    """In [0, 1), against the reference, whole turns of monitors corrected; NaN where nothing ties it to the
    reference."""
    standard_error: NDArray[np.float64]
    """Against the reference. Combined from all rows where ``is_combined``, otherwise of the best single chain."""
    model_phase: NDArray[np.float64]
    """Of the model, in [0, 1), against the reference; NaN where the tables have none."""
    delta_phase: NDArray[np.float64]
    """Phase less model, in [-0.5, 0.5)."""
    flags: NDArray
    """Empty where all is well, ``outlier`` (rows about it contradict the others, and were left out), ``doubtful`` (the
    same, or another monitor is meant), ``turn`` (its clock is off by whole turns; corrected) or ``apart`` (no rows tie
    it to the reference)."""
    turns: Mapping[str, int]
    """Whole turns by which monitors differ from most: those that are not 0. omc3 shifts the data by minus these."""
    plane: str
    tune: float | None
    reference: str
    chi_square_per_dof: float
    """Of the rows that are believed, with their stated errors; NaN where no row checks another."""
    degrees_of_freedom: int
    is_combined: bool
    """Whether ``standard_error`` combines all rows, which it may only where these are independent."""
    outlier: NDArray[np.bool_] = field(repr=False)
    """Rows that were left out, in the order of the tables."""
    notes: tuple[str, ...] = ()
    sync: SyncResult = field(repr=False, kw_only=True)

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """Monitors with any flag."""
        return np.asarray(self.flags, dtype=bool)

    @property
    def NAME(self) -> tuple[str, ...]:
        """As in TFS tables, like the properties that follow."""
        return self.name

    @property
    def PHASE(self) -> NDArray[np.float64]:
        """The same as ``phase``."""
        return self.phase

    @property
    def ERRPHASE(self) -> NDArray[np.float64]:
        """The same as ``standard_error``."""
        return self.standard_error

    @property
    def DELTAPHASE(self) -> NDArray[np.float64]:
        """The same as ``delta_phase``."""
        return self.delta_phase

    @property
    def FLAG(self) -> NDArray:
        """The same as ``flags``."""
        return self.flags

    def columns(self) -> dict[str, NDArray]:
        """The table, with the names of omc3."""
        plane = self.plane
        return {
            "NAME": np.array(self.name, dtype=object), "S": self.s, f"PHASE{plane}": self.phase,
            f"ERRPHASE{plane}": self.standard_error, f"PHASE{plane}MDL": self.model_phase,
            f"DELTAPHASE{plane}": self.delta_phase, f"ERRDELTAPHASE{plane}": self.standard_error,
            "FLAG": np.where(self.flagged, self.flags, "ok"),
            "TURNS": np.array([self.turns.get(name, 0) for name in self.name], dtype=float),
        }  # fmt: skip

    def headers(self) -> dict[str, Any]:
        """The headers of a TFS table."""
        tune = {} if self.tune is None else {{"X": "Q1", "Y": "Q2"}[self.plane]: self.tune}
        known = {"CHI2DOF": self.chi_square_per_dof} if self.degrees_of_freedom else {}
        return {
            **tune, "REFERENCE": self.reference, **known,
            "COMBINED_ERRORS": "yes" if self.is_combined else "no", "CERTIFICATE": self.proof.headline,
        }  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a TFS table, or csv, npz or parquet, by the suffix."""
        if Path(path).suffix.lower() == ".tfs":
            write_tfs(path, self.headers(), self.columns())
        else:
            super().save(path)

    def to_tfs(self) -> Any:
        """The table as a data frame of tfs-pandas."""
        return tfs_library("a data frame of TFS").TfsDataFrame(self.columns(), headers=self.headers())

    def describe(self) -> Description:
        """Summary, table of monitors, pictures, doubts."""
        counts = {flag: int(np.sum(self.flags == flag)) for flag in ("outlier", "doubtful", "turn", "apart")}
        listed = ", ".join(f"{number} {flag}" for flag, number in counts.items() if number) or "none"
        rms = rms_around_mean(self.delta_phase)
        bars = "combined" if self.is_combined else "best single chain of rows: nothing is combined"
        median = float(np.nanmedian(self.standard_error))
        agreed = f"{self.chi_square_per_dof:.3g} per degree of freedom" if self.degrees_of_freedom else "not known"
        rows = [
            ("Monitors", f"{len(self.name):,}", f"{self.outlier.size:,} phase advances, plane {self.plane}"),
            ("Reference", self.reference),
            ("Error", if_known(median, f"{median:.3g} turns"), f"median; {bars}"),
            ("Chi-square", agreed, f"{self.degrees_of_freedom:,} degrees"),
            ("Model", if_known(rms, f"{rms:.3g} turns rms"), "distance of the phases to it, around its mean"),
            ("Flags", listed),
        ]
        facts = {
            "monitors": len(self.name), "rows": int(self.outlier.size), "plane": self.plane, "tune": self.tune,
            "reference": self.reference, "chi_square_per_dof": self.chi_square_per_dof,
            "degrees_of_freedom": self.degrees_of_freedom, "combined_errors": self.is_combined,
            "delta_phase_rms": rms, "flags": counts, "turns": dict(self.turns),
        }  # fmt: skip
        return Description(
            kind="beam", title=f"phases of beam position monitors, plane {self.plane}", rows=rows,
            columns=self.columns(), pictures=self._pictures(), sentences=self.notes, facts=facts,
            arrays={"outlier_rows": self.outlier}, worst=self._worst(), names=self.name,
            in_turns=True,
        )  # fmt: skip

    @property
    def fit(self) -> Fit:
        """How well the rows agree within their stated errors."""
        left = int(self.outlier.sum())
        apart = f", after {counted(left, 'row')} {'was' if left == 1 else 'were'} left out" if left else ""
        if not self.degrees_of_freedom:
            return Fit("none", "No row checks another", "no row checks another, so that the errors stand as stated.")
        ratio = f"{self.chi_square_per_dof:.3g}"
        words = f"chi-square of the rows is {ratio} per degree of freedom{apart}"
        if self.chi_square_per_dof > _CONTRADICTION:
            return Fit("bad", f"Rows contradict each other: chi-square {ratio}",
                       f"{words}: they contradict each other beyond their errors.")  # fmt: skip
        if is_too_good(self.chi_square_per_dof * self.degrees_of_freedom, self.degrees_of_freedom):
            return Fit("none", "Rows are not independent",
                       f"{words}, less than their errors allow: they are not independent (one measurement written "
                       "twice?) and do not check each other.")  # fmt: skip
        if left > _MANY * self.outlier.size:
            return Fit("open", f"{left:,} of {self.outlier.size:,} rows left out", f"{words}.")
        return Fit("good", f"Rows agree: chi-square {ratio}", f"{words}: the rows agree within their errors.")

    def _worst(self) -> Table | None:
        """The rows that fit worst, in turns."""
        found = None if self.quality is None else self.quality.residuals
        if found is None:
            return None
        m, places = self.sync.measurements, found.worst(_LISTED)
        labels = np.array(self.name, dtype=object)
        columns = {
            "from": labels[m.i[places]], "to": labels[m.j[places]],
            "measured (turns)": m.angle[places] / (2 * np.pi) % 1,
            "residual (turns)": found.wrapped[places] / (2 * np.pi),
            "times the scatter": found.t[places] / (found.core or np.inf), "left out": ~found.active[places],
        }  # fmt: skip
        return Table(columns, "The rows that fit worst. A click on a column sorts by it.", "worst", len(m))

    def _pictures(self) -> list[Picture]:
        place = np.where(np.isfinite(self.s), self.s, np.nan)
        series = [
            Series(
                np.where(self.flags == flag, place, np.nan),
                self.delta_phase,
                flag or "ok",
                error=None if flag else self.standard_error,
            )
            for flag in ("", "turn", "outlier", "doubtful")
            if np.any(self.flags == flag)
        ]
        return [
            Curves(
                "Phase less model", "s, meters", "turns", tuple(series),
                "Distance of every monitor to the model, with 95 % intervals.", level=(0.0, "model"),
            ),
            Curves(
                "Standard errors", "s, meters", "turns",
                (Series(place, self.standard_error, "against the reference"),),
                "Combined from all rows." if self.is_combined else "Of the best single chain of rows to the reference.",
                about="errors",
            ),
        ]  # fmt: skip


def doubts(per_dof: float, freedom: int, worst: str) -> list[str]:
    """Sentences about the agreement of the rows."""
    if freedom == 0:
        return [
            "No row checks another (every monitor hangs on one row): phases and error bars are those of the tables."
        ]
    if per_dof > _CONTRADICTION:
        return [
            f"The rows contradict each other beyond their errors: chi-square per degree of freedom is {per_dof:.3g}. "
            f"The errors are too small, or the tables are of different optics. Worst: {worst}."
        ]
    return []
