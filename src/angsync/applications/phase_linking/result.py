"""What phase linking returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_linking.estimate import LinkStatus
from angsync.applications.result import ApplicationResult, Description, Fit, Proof
from angsync.batch.result import BatchResult
from angsync.errors import InputError, MissingDependencyError
from angsync.io.coordinates import Coordinates
from angsync.report.canvas import BLUE, ORANGE
from angsync.report.pictures import MOST_PIXELS, Map, evenly

ESTIMATES = {
    "mle": "maximum likelihood",
    "evd": "leading eigenvector of the weighted coherences (EVD)",
    "emi": "eigenvector of the likelihood (EMI)",
    "network": "synchronization of the interferograms of each pixel",
}


LOW_COHERENCE = 0.5
"""Temporal coherence below which phases of a pixel are commonly masked."""
_MUCH = 0.2  # of the image below it
_MAPS = 4  # dates whose maps are drawn


@dataclass(frozen=True, eq=False, repr=False)
class Linked(ApplicationResult):
    """One phase a date and pixel.

    Arrays are of shape (dates, rows, columns) and (rows, columns), those of :func:`link_covariance` (..., dates) and
    (...). They are xarray's where the stack was, and arrays of the file where the result was written chunk by chunk.
    """

    phase: Any
    """Radians in (-pi, pi] against the reference date; NaN where there is none."""
    standard_error: Any
    """Of the phase, radians; that of a phase of which nothing is known is 1.81."""
    temporal_coherence: Any
    """How well the phases agree with those of all pairs of dates, 0 to 1."""
    certified: Any
    """Where the phases are proved to be the best ones for the coherences of the pixel; never with EVD and EMI."""
    status: Any
    """Codes of :class:`LinkStatus`."""
    looks: Any
    """Samples behind the coherences of the pixel."""
    sync: BatchResult
    """The problems behind it, one a pixel; empty where the result lies in a file."""
    method: str
    reference: int
    """Number of the reference date."""
    dates: tuple[str, ...]
    """Names of the dates, their numbers unless the stack has names."""
    counts: Mapping[str, int]
    """How many pixels ended in which way, by the names of :class:`LinkStatus`; how many are CERTIFIED;
    and, where chunks failed, how many pixels those have (FAILED)."""
    beta: tuple[float, float]
    """The least and the largest regularization used."""
    seconds: float
    notes: tuple[str, ...] = ()
    dates_first: bool = True
    """Whether the axis of dates is the first one."""
    coordinates: Mapping[str, Any] = field(default_factory=dict)
    """Coordinates of the axes: ``dims``, their names, and one entry a coordinate."""
    path: str | None = None
    """Where the arrays lie, if they were written chunk by chunk."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Chunks of a zarr store that could not be read or computed, with the reason; their pixels have no phases."""
    beside: Coordinates = field(default_factory=Coordinates)
    """All coordinates of the images, those beside the axes too (latitude, orbit), as they are written to files."""

    @property
    def solved(self) -> int:
        """Pixels that have phases."""
        lost = ("EMPTY", "CONSTANT", "NO_REFERENCE", "NOT_FINITE", "INTERRUPTED", "FAILED")
        return self.pixels - sum(self.counts.get(name, 0) for name in lost)

    @property
    def pixels(self) -> int:
        return sum(self.counts.get(name, 0) for name in (*LinkStatus.__members__, "FAILED"))

    @property
    def proof(self) -> Proof:
        """What is proved, counted in pixels."""
        proved, solved = self.counts.get("CERTIFIED", 0), self.solved
        rest = self.pixels - solved
        without = f" {rest:,} pixels have no phases." if rest else ""
        if self.method in ("evd", "emi"):
            return Proof(
                "none", "Nothing is proved", f"EVD and EMI are eigenvectors: nothing is proved of them.{without}"
            )
        words = (
            f"Proved for {proved:,} of {solved:,} pixels with phases: no others fit the coherences of a pixel better. "
            f"That says nothing about how good the coherences are: the error bars do.{without}"
        )
        if self.is_proved:
            return Proof("good", f"All {proved:,} pixels certified", words)
        return Proof("open" if solved else "none", f"{proved:,} of {solved:,} pixels certified", words)

    @property
    def is_proved(self) -> bool:
        """Whether every pixel that has phases is certified, there is one, and none was left out."""
        left = self.counts.get("INTERRUPTED", 0) + self.counts.get("FAILED", 0)
        return self.solved > 0 and self.counts.get("CERTIFIED", 0) == self.solved and not left

    @property
    def is_interrupted(self) -> bool:
        return self.counts.get("INTERRUPTED", 0) > 0

    @property
    def is_partial(self) -> bool:
        return bool(self.failed)

    def describe(self) -> Description:
        phase, error = (self._preview(array) for array in (self.phase, self.standard_error))
        quality = self._preview(self.temporal_coherence)
        columns = self._table(phase, error)
        told = [f"{count:,} {name}" for name, count in self.counts.items() if count and name != "CERTIFIED"]
        low, high = self.beta
        rows: list[tuple[str, ...]] = [
            ("Pixels", f"{self.pixels:,}", ", ".join(told)),
            ("Dates", str(len(self.dates)), f"phases against date {self.dates[self.reference]}"),
            ("Estimate", ESTIMATES[self.method]),
            ("Looks", _span(*_ends(self._preview(self.looks)))),
            ("Coherence", _known(_middle(quality), ".3f"), "temporal coherence, median"),
            ("Error", _known(np.degrees(_middle(columns["median_error"][_others(self)])), ".2f", " degrees"),
             "standard, median"),
            ("Work", f"{self.seconds:.3g} s", f"{self.pixels / max(self.seconds, 1e-9):,.0f} pixels a second"),
        ]  # fmt: skip
        if self.method in ("mle", "emi"):
            rows.insert(3, ("Beta", _span(low, high), "of the identity in the coherence that is inverted"))
        facts = {
            "method": self.method, "reference": self.dates[self.reference], "pixels": self.pixels,
            "beta": list(self.beta), "counts": dict(self.counts), "seconds": self.seconds,
        }  # fmt: skip
        return Description(
            kind="link", title=f"phase linking of {len(self.dates)} dates", rows=rows, columns=columns,
            pictures=self._pictures(phase, error, quality), sentences=self.notes, facts=facts,
            arrays={} if self.path is not None else self._arrays(), radians=("median_error", "largest_error"),
        )  # fmt: skip

    def _arrays(self) -> dict[str, NDArray]:
        names = ("phase", "standard_error", "temporal_coherence", "certified", "status", "looks")
        return {name: np.asarray(vars(self)[name]) for name in names}

    def _preview(self, array: Any) -> NDArray:
        """No more pixels than can be seen; the axis of dates, where there is one, first."""
        if not self.dates_first:
            array = np.asarray(array)
            return np.moveaxis(array, -1, 0) if array.ndim == self.sync.z.ndim else array
        rows, columns = (max(1, -(-size // MOST_PIXELS)) for size in array.shape[-2:])
        if rows > 1 or columns > 1:
            return np.asarray(array[..., ::rows, ::columns])
        return np.asarray(array[...])

    def _table(self, phase: NDArray, error: NDArray) -> dict[str, NDArray]:
        flat, errors = phase.reshape(len(self.dates), -1), error.reshape(len(self.dates), -1)
        told = np.isfinite(flat)
        mean = np.abs(np.where(told, np.exp(1j * np.where(told, flat, 0)), 0).sum(axis=1))
        return {
            "date": np.array(self.dates),
            "median_error": np.array([_middle(row) for row in errors]),
            "largest_error": np.array([np.nanmax(row) if np.isfinite(row).any() else np.nan for row in errors]),
            "resultant": mean / np.maximum(told.sum(axis=1), 1),
            "pixels": told.sum(axis=1),
        }

    def _pictures(self, phase: NDArray, error: NDArray, quality: NDArray) -> list[Map]:
        """The history of the phase, where it is proved, how well it agrees, and how sure it is."""
        if phase.ndim != 3 or not self.dates:
            return []
        others = np.flatnonzero(_others(self))
        shown = others[evenly(others.size, _MAPS)]
        against = f"Against date {self.dates[self.reference]}."
        found = [
            Map(f"Phase of date {self.dates[k]}", np.degrees(phase[k]), "degrees", against, cyclic=True) for k in shown
        ]
        certified = np.asarray(self._preview(self.certified), dtype=float)
        certified = np.where(np.isfinite(phase).any(axis=0), certified, np.nan)
        last = int(shown[-1]) if shown.size else 0
        if self.method not in ("evd", "emi"):
            found.append(
                Map("Certified", certified, "", "Pixels whose phases are proved to be the best; gray ones have none.",
                    kinds={"not proved": ORANGE, "proved": BLUE})
            )  # fmt: skip
        return [
            *found,
            Map("Temporal coherence", quality, "", "How well the phases of a pixel agree with all pairs of dates.",
                about="residuals"),
            Map(f"Standard error of date {self.dates[last]}", np.degrees(error[last]), "degrees", "One standard error.",
                about="errors"),
        ]  # fmt: skip

    @property
    def fit(self) -> Fit:
        """How well the phases agree with all pairs of dates, by the median pixel."""
        if not self.solved:
            return Fit("none", "No phases", "no pixel has phases.")
        quality = self._preview(self.temporal_coherence)
        known = quality[np.isfinite(quality)]
        if not known.size:
            return Fit("none", "Fit not judged", "the temporal coherence of no pixel is known.")
        middle, low = float(np.median(known)), float(np.mean(known < LOW_COHERENCE))
        words = (
            f"temporal coherence is {middle:.2f} in the median, and below {LOW_COHERENCE:g} in {low:.1%} of the pixels"
        )
        headline = f"Temporal coherence {middle:.2f}"
        if middle < LOW_COHERENCE:
            return Fit("bad", f"Incoherent: {middle:.2f}", f"{words}: most of the image says little about its phases.")
        if low > _MUCH:
            return Fit("open", f"{headline}, low in {low:.0%}", f"{words}: mask these.")
        return Fit("good", headline, f"{words}.")

    def to_xarray(self) -> Any:
        """A ``Dataset`` of phase, standard error, temporal coherence, certified, status and looks, with coordinates."""
        try:
            import xarray
        except ImportError:
            raise MissingDependencyError("xarray", "insar", "a Dataset") from None
        if not self.dates_first:
            raise InputError("to_xarray is for images: the result of link_covariance has no rows and columns.")
        dims = self.coordinates.get("dims", ("date", "y", "x"))
        content = {name: (dims if np.ndim(array) == 3 else dims[1:], array) for name, array in self._arrays().items()}
        coords = {name: value for name, value in self.coordinates.items() if name != "dims"}
        coords.setdefault(dims[0], list(self.dates))
        coords.update(self.beside.decoded())
        return xarray.Dataset(content, coords, {"method": self.method, "reference": self.dates[self.reference]})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write csv, npz or parquet (a table of dates; npz holds the images), a zarr store or a NetCDF file."""
        from angsync.applications.phase_linking.stores import save_images, suffix_of

        if self.path is not None and os.path.realpath(path) == os.path.realpath(self.path):
            return  # it was written while it was made
        if suffix_of(path) in (".zarr", ".nc"):
            save_images(self, path)
        else:
            super().save(path)


def _others(result: Linked) -> NDArray[np.bool_]:
    return np.arange(len(result.dates)) != result.reference


def _middle(values: NDArray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else float("nan")


def _known(value: float, form: str, unit: str = "") -> str:
    return f"{value:{form}}{unit}" if np.isfinite(value) else "not known"


def _ends(values: NDArray) -> tuple[float, float]:
    some = values[values > 0]
    return (float(some.min()), float(some.max())) if some.size else (0.0, 0.0)


def _span(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
