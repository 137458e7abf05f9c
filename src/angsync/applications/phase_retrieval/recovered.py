"""What is known about a recovered signal, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_retrieval.masks import Masks
from angsync.applications.result import ApplicationResult, Description, Fit
from angsync.pipeline.result import SyncResult
from angsync.report.pictures import Curves, Map, Picture, Series

VAGUE = 0.5
"""Radians: error bars hold for small errors, and beyond this they do not."""
MOST_VAGUE = 0.1
"""Share of the energy with vague phases up to which a signal counts as determined."""
LARGE_CONDITION = 1e4
BAD_MISFIT = 0.3


@dataclass(frozen=True, eq=False, repr=False)
class Recovered(ApplicationResult):
    """What :func:`angsync.applications.phase_retrieval.recover` returns."""

    signal: NDArray[np.complex128]
    """The signal or image, up to one global phase (its largest entry has phase 0)."""
    phase_error: NDArray[np.float64]
    """Standard error of every phase in radians, after the best global turn; pi / sqrt(3) = 1.81 where nothing is
    known, NaN where it was not computed."""
    size_error: NDArray[np.float64]
    """Standard error of the size (modulus) of every entry."""
    condition: float
    """Of the linear map from products of neighbors to intensities: noise is amplified by up to this factor."""
    noise: float
    """Standard deviation of the noise of an intensity: as given, or estimated from what the fit leaves over (for
    ``sigma`` per intensity, the root of its mean square)."""
    misfit: float
    """What the fit leaves over, by the norm of the intensities."""
    pieces: NDArray[np.int64]
    """Which entries have a common phase: 0 for the largest piece, 1, ... for pieces that no product ties to it, -1
    for entries without any product above rounding."""
    moved: float | None
    """How far the polish moved the signal, by its norm; None without polish."""
    sync: SyncResult
    """The synchronization of the phases before the polish: what is proved is about this."""
    masks: Masks = field(repr=False)
    is_polish_interrupted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def vague(self) -> float:
        """Share of the energy in entries whose phase has a standard error above half a radian, or none."""
        energy = np.abs(self.signal) ** 2
        return float(energy[~(self.phase_error <= VAGUE)].sum() / max(float(energy.sum()), 1e-300))

    @property
    def is_determined(self) -> bool | None:
        """Whether the data determine the signal up to one phase; None where no error bars were computed."""
        if self.pieces.max(initial=0) > 0:
            return False
        return None if np.all(np.isnan(self.phase_error)) else self.vague <= MOST_VAGUE

    @property
    def is_proved(self) -> bool:
        """Phases proved to be the best synchronization, and data that determine them."""
        return super().is_proved and self.is_determined is not False

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the work; the signal is then the best so far."""
        return self.is_polish_interrupted or super().is_interrupted

    def describe(self) -> Description:
        """What there is to show."""
        shape = " x ".join(map(str, self.signal.shape))
        what = "signal" if self.signal.ndim == 1 else "image" if self.signal.ndim == 2 else "volume"
        finite = self.phase_error[np.isfinite(self.phase_error) & (self.pieces >= 0)]
        error = f"{np.degrees(np.median(finite)):.3g} degrees" if finite.size else "not computed"
        rows: list[tuple[str, ...]] = [
            ("Entries", f"{self.signal.size:,}", shape if self.signal.ndim > 1 else ""),
            ("Masks", f"{len(self.masks.windows)}", f"of {' x '.join(map(str, self.masks.band))} entries"),
            ("Condition", f"{self.condition:.3g}", "noise is amplified by at most this"),
            (
                "Noise",
                f"{self.noise:.3g}" if np.isfinite(self.noise) else "not known",
                "standard deviation of an intensity",
            ),
            ("Misfit", f"{self.misfit:.2e}", "left over, by the norm of the intensities"),
            ("Phase error", error, "median standard error"),
        ]
        if self.moved is not None:
            rows.append(("Polish", f"{self.moved:.2e}", "moved the signal by this part of its norm"))
        names = ("index",) if self.signal.ndim == 1 else ("row", "column", "slice")[: self.signal.ndim]
        places = np.indices(self.signal.shape).reshape(self.signal.ndim, -1)
        columns: dict[str, NDArray] = dict(zip(names, places, strict=True))
        flat = self.signal.ravel()
        columns |= {
            "real": flat.real, "imaginary": flat.imag, "magnitude": np.abs(flat), "phase": np.angle(flat),
            "phase_error": self.phase_error.ravel(), "size_error": self.size_error.ravel(),
            "piece": self.pieces.ravel(),
        }  # fmt: skip
        return Description(
            kind="phaseless",
            title=f"{what} of {shape} entries from local intensities",
            rows=rows,
            columns=columns,
            pictures=_pictures(self),
            sentences=_sentences(self),
            facts={
                "shape": list(self.signal.shape), "masks": len(self.masks.windows), "condition": self.condition,
                "noise": self.noise, "misfit": self.misfit, "moved": self.moved, "determined": self.is_determined,
            },
            arrays={"signal": self.signal},
            radians=("phase", "phase_error"),
        )  # fmt: skip

    @property
    def fit(self) -> Fit:
        """How much of the intensities the signal explains, and whether they determine it."""
        words = f"the signal explains the intensities but for {self.misfit:.2g} of their norm"
        if self.misfit > BAD_MISFIT:
            return Fit("bad", f"Misfit {self.misfit:.0%}", f"{words}: noise, or other masks than those measured with.")
        if self.is_determined is False:
            return Fit("open", "Not determined as a whole", f"{words}, which do not determine it as a whole.")
        return Fit("good", f"Misfit {self.misfit:.2g}", f"{words}.")


def _sentences(result: Recovered) -> list[str]:
    said = list(result.notes)
    if result.misfit > BAD_MISFIT:
        said.append(
            f"The signal leaves {result.misfit:.0%} of the intensities unexplained: either they are mostly noise, or "
            "the masks, their order or their shifts are not those that were measured with."
        )
    count = int(result.pieces.max(initial=0)) + 1
    if count > 1:
        said.append(
            f"The signal falls into {count} pieces with only zeros between them: each is recovered up to a phase of "
            "its own, and no phase between two of them is measured. Wider masks would bridge the zeros."
        )
    alone = int(np.sum(result.pieces < 0))
    if alone:
        said.append(f"{alone:,} entries are zero as far as rounding shows: they have no phase.")
    if np.all(np.isnan(result.phase_error)):
        said.append("No error bars: without polish they need every mask at every shift, and noise that shows.")
    elif result.vague > MOST_VAGUE and count == 1:
        said.append(
            f"{result.vague:.0%} of the signal's energy has phases with a standard error above "
            f"{np.degrees(VAGUE):.0f} degrees: noise hides them, so the signal is not determined as a whole."
        )
    if result.condition > LARGE_CONDITION:
        said.append(f"The masks are badly conditioned ({result.condition:.1e}): they amplify noise by that factor.")
    if result.moved is not None:
        said.append("What is proved is about the phases before the polish.")
    if result.is_polish_interrupted:
        said.append("Interrupted in the polish: this is the signal before it.")
    return said


def _pictures(result: Recovered) -> list[Picture]:
    signal, error = result.signal, result.phase_error
    if signal.ndim == 1:
        index = np.arange(signal.size, dtype=float)
        sizes = Series(index, np.abs(signal), "size", error=result.size_error)
        phases = Series(index, np.degrees(np.angle(signal)), "phase", error=np.degrees(error))
        return [
            Curves("Sizes", "entry", "size", (sizes,), "Sizes of the entries with 95 % intervals."),
            Curves("Phases", "entry", "degrees", (phases,), "Phases of the entries with 95 % intervals."),
        ]
    if signal.ndim == 2:
        return [
            Map("Sizes", np.abs(signal), "", "Sizes of the entries."),
            Map("Phases", np.degrees(np.angle(signal)), "degrees", "Phases of the entries.", cyclic=True),
            Map("Errors of phases", np.degrees(error), "degrees", "Standard errors of the phases.", about="errors"),
        ]
    return []
