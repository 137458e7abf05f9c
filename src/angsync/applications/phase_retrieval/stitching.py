"""One image from patches that were reconstructed apart, each up to a phase of its own (ptychography, tomography)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.applications.phase_retrieval.overlaps import (
    LARGEST_RATIO,
    LEAST_COHERENCE,
    Overlaps,
    Patches,
    checked_patches,
    compare,
    doubtful_patches,
    sizes_of,
)  # fmt: skip
from angsync.applications.result import ApplicationResult, Description, Fit, if_known
from angsync.errors import InputError, names_keywords
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.settings import Robust
from angsync.problem.measurements import Measurements
from angsync.report.pictures import Curves, Map, Series

_MOST_NAMED = 6


@dataclass(frozen=True, eq=False, repr=False)
class Stitched(ApplicationResult):
    """What :func:`angsync.applications.phase_retrieval.stitch` returns."""

    image: NDArray[np.complex128]
    """The whole, from the first row and column that a patch shows; NaN where no patch shows anything."""
    origin: tuple[int, int]
    """Row and column of its first pixel, in the coordinates of ``positions``."""
    coverage: NDArray[np.int64]
    """Patches that show each pixel."""
    phase: NDArray[np.float64]
    """Phase of every patch in radians: the image is the mean of the patches turned back by it."""
    standard_error: NDArray[np.float64]
    """Of these phases, against their mean, for pixels with independent errors; larger where overlaps disagree more
    around loops than such errors explain. Errors that neighboring patches share are in nobody's error bars."""
    bad_overlaps: NDArray[np.bool_]
    """Overlaps that contradict the others, in the order of ``overlaps``; none without ``robust``."""
    residual: float
    """Root mean square of what the overlaps disagree by, in radians."""
    sync: SyncResult
    overlaps: Overlaps = field(repr=False)
    pieces: NDArray[np.int64] = field(repr=False)
    """Which patches hang together by overlaps."""
    loops: int = 0
    """Overlaps beyond those that are needed to tie the patches: what errors are judged by."""
    doubtful: tuple[int, ...] = ()
    """Patches whose overlaps disagree by more than noise: they differ from the others by more than a phase."""
    scale: NDArray[np.float64] | None = field(default=None, repr=False)
    """What every patch was divided by so that all are of one size; None where they were alike."""

    @property
    def is_proved(self) -> bool:
        """Phases proved to be the best, and patches that hang together and differ by phases only."""
        return super().is_proved and self.pieces.max(initial=0) == 0 and not self.doubtful

    def describe(self) -> Description:
        """What there is to show."""
        overlaps = self.overlaps
        good = ~self.bad_overlaps
        known = self.standard_error[np.isfinite(self.standard_error)]
        error = float(np.median(known)) if known.size else float("nan")
        rows: list[tuple[str, ...]] = [
            ("Patches", f"{self.phase.size:,}", f"{overlaps.first.size:,} overlaps"),
            ("Image", f"{self.image.shape[0]} x {self.image.shape[1]}", f"from {self.origin}"),
            ("Coherence", f"{np.median(overlaps.coherence[good]):.3f}" if good.any() else "none", "median of overlaps"),
            ("Residual", if_known(self.residual, f"{np.degrees(self.residual):.3g} degrees"),
             f"rms over overlaps, {self.loops:,} of them beyond a tree"),
            ("Phase error", if_known(error, f"{np.degrees(error):.3g} degrees"), "median standard error of a patch"),
        ]  # fmt: skip
        count = np.bincount(np.concatenate([overlaps.first, overlaps.second]), minlength=self.phase.size)
        patch = np.arange(self.phase.size)
        columns = {
            "patch": patch, "phase": self.phase, "standard_error": self.standard_error, "overlaps": count,
            "piece": self.pieces,
        }  # fmt: skip
        points = Series(patch.astype(float), np.degrees(self.phase), "phase", error=np.degrees(self.standard_error))
        return Description(
            kind="stitched",
            title=f"image stitched from {self.phase.size:,} patches",
            rows=rows,
            columns=columns,
            pictures=[
                Map("Sizes", np.abs(self.image), "", "Sizes of the pixels."),
                Map("Phases", np.degrees(np.angle(self.image)), "degrees", "Phases of the pixels.", cyclic=True),
                Curves("Patches", "patch", "degrees", (points,), "Phases of the patches with 95 % intervals.",
                       about="errors"),
            ],
            sentences=self._sentences(),
            facts={
                "origin": list(self.origin), "residual": self.residual, "overlaps": int(overlaps.first.size),
                "bad_overlaps": int(self.bad_overlaps.sum()), "loops": self.loops,
                "doubtful_patches": list(self.doubtful),
            },
            arrays={"image": self.image, "coverage": self.coverage},
            radians=("phase", "standard_error"),
        )  # fmt: skip

    @property
    def fit(self) -> Fit:
        """How well the overlaps agree."""
        apart = int(self.pieces.max(initial=0)) + 1
        agreed = if_known(self.residual, f"{np.degrees(self.residual):.2g} degrees")
        words = f"overlaps disagree by {agreed} (rms)"
        if self.doubtful:
            return Fit(
                "bad",
                f"{len(self.doubtful)} patches do not fit",
                f"{words}, and {len(self.doubtful)} patches do not fit.",
            )
        if apart > 1:
            return Fit("open", f"{apart} pieces", f"{words}, and the patches fall into {apart} pieces.")
        return Fit("good", f"Overlaps agree to {agreed}", f"{words}.")

    def _sentences(self) -> list[str]:
        said = []
        apart = int(self.pieces.max(initial=0)) + 1
        if apart > 1:
            said.append(f"The patches fall into {apart} pieces without overlap: no phase between them is measured.")
        bad = int(self.bad_overlaps.sum())
        if bad:
            pairs = ", ".join(
                f"{p}-{q}" for p, q in zip(self.overlaps.first[self.bad_overlaps][:6],
                                           self.overlaps.second[self.bad_overlaps][:6], strict=True)
            )  # fmt: skip
            said.append(f"{bad} overlaps contradict the others and were left out: {pairs}{' ...' * (bad > 6)}.")
        low = float(np.median(self.overlaps.coherence))
        if low < LEAST_COHERENCE:
            said.append(
                f"Overlaps agree badly (median coherence {low:.2f}): the patches differ by more than a phase. Usual "
                "causes are a slope of phase (probes that were refined apart), a shift, or noise."
            )
        if self.doubtful:
            one = len(self.doubtful) == 1
            said.append(
                f"{'Patch' if one else 'Patches'} {_named(map(str, self.doubtful))} {'does' if one else 'do'} not fit "
                "the overlaps: low coherence, or residuals far beyond their errors. Usual causes are a slope of phase, "
                "a conjugated or a failed reconstruction: make it again, or leave it out."
            )
        if self.scale is not None:
            other = np.flatnonzero(np.maximum(self.scale, 1 / self.scale) > LARGEST_RATIO)
            said.append(
                "Overlapping patches differ in size: they were divided by what they are larger by than most, "
                f"{_named(f'{self.scale[k]:.3g} (patch {k})' for k in other)}."
            )
        if not np.isfinite(self.standard_error).any():
            said.append("There are no error bars: overlaps agree worse than chance, or none of them is believed.")
        elif self.loops == 0:
            said.append("No overlap can be checked against others: error bars rest on the noise of the pixels alone.")
        empty = int(np.sum(self.coverage == 0))
        if empty:
            said.append(f"{empty:,} pixels of the rectangle are in no patch: they are NaN.")
        return said


def _rms(values: NDArray[np.float64]) -> float:
    """NaN of nothing."""
    return float(np.sqrt(np.mean(values**2))) if values.size else float("nan")


def _named(words: Iterable[str]) -> str:
    every = list(words)
    return ", ".join(every[:_MOST_NAMED]) + (
        f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    )


@names_keywords
def stitch(
    patches: Sequence[ArrayLike],
    positions: ArrayLike,
    *,
    weights: Sequence[ArrayLike] | None = None,
    robust: bool | Robust = False,
    certify: bool = True,
    rng: Any = 0,
) -> Stitched:
    """Join patches of one image that each have a global phase of their own.

    Parameters
    ----------
    patches
        Complex images, of any sizes; a stack (P, rows, columns) is taken too. Where their moduli differ by a factor,
        they are scaled alike, and the result says so.
    positions
        Row and column of the first pixel of every patch, in whole pixels.
    weights
        How sure every pixel is, one array a patch: the illumination in ptychography; 0 for pixels that show nothing.
        All alike unless given.
    robust
        Whether to look for overlaps that contradict the others (a patch whose reconstruction went wrong), and leave
        them out; or :class:`angsync.Robust` settings.
    certify, rng
        As in :func:`angsync.synchronize`.

    Examples
    --------
    >>> from angsync.applications import phase_retrieval
    >>> patches = [np.ones((6, 6), dtype=complex), 1j * np.ones((6, 6))]  # the same, but for a phase
    >>> phase_retrieval.stitch(patches, [(0, 0), (0, 3)]).image.shape
    (6, 9)
    """
    checked = checked_patches(patches, positions, weights)
    overlaps = compare(checked)
    if overlaps.first.size == 0:
        raise InputError(
            "no two patches share a pixel that both show: nothing ties their phases. Check positions (row, column of "
            "the first pixel) and weights."
        )
    scale = sizes_of(overlaps, len(checked.images))
    is_scaled = bool(np.any(scale != 1))
    if is_scaled:
        checked = checked.scaled(scale)
        overlaps = compare(checked)
    measurements = Measurements(overlaps.first, overlaps.second, overlaps.angle, overlaps.weight, n=len(checked.images))
    how: dict[str, Any] = {}
    if robust:
        how["solver"] = robust if isinstance(robust, Robust) else Robust()
    sync = synchronize(measurements, certify=certify, rng=rng, gauge="mean", **how)
    bad = np.zeros(overlaps.first.size, dtype=bool) if sync.robust is None else sync.robust.distrusted
    z = sync.phases
    off = np.angle(np.exp(1j * overlaps.angle) * np.conj(z[overlaps.first]) * z[overlaps.second])
    pieces = int(sync.components.max(initial=0)) + 1
    loops = int((~bad).sum()) - (z.size - pieces)
    if sync.robust is not None and loops > 0:
        errors = sync.standard_errors()
    else:
        # where errors of neighboring pixels hang together the weights are too large, and the loops can show it
        chi = float(np.sum(overlaps.weight * off**2))
        errors = sync.standard_errors(sigma=np.sqrt(max(chi / loops, 1.0)) if loops > 0 else 1.0)
    image, coverage = _joined(checked, z)
    return Stitched(
        image=image, origin=checked.origin, coverage=coverage, phase=sync.angles.astype(np.float64),
        standard_error=errors, bad_overlaps=bad, residual=_rms(off[~bad]),
        sync=sync, overlaps=overlaps, pieces=sync.components, loops=max(loops, 0),
        doubtful=doubtful_patches(overlaps, off, bad, loops), scale=scale if is_scaled else None,
    )  # fmt: skip


def _joined(patches: Patches, z: NDArray) -> tuple[NDArray[np.complex128], NDArray[np.int64]]:
    """The mean of all patches, each turned back, by their weights."""
    total = np.zeros(patches.shape, dtype=np.complex128)
    sure, coverage = np.zeros(patches.shape), np.zeros(patches.shape, dtype=np.int64)
    for image, (row, column), weight, phase in zip(patches.images, patches.corners, patches.weights, z, strict=True):
        place = (slice(row, row + image.shape[0]), slice(column, column + image.shape[1]))
        total[place] += weight * np.conj(phase) * image
        sure[place] += weight
        coverage[place] += weight > 0
    shown = sure > 0
    total[shown] /= sure[shown]
    total[~shown] = np.nan
    return total, coverage
