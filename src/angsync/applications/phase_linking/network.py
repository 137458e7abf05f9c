"""Interferograms that are made already: each with an arbitrary constant, some missing, one small problem a pixel."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.applications.phase_linking.dates import labels_of
from angsync.applications.phase_linking.estimate import LinkStatus
from angsync.applications.phase_linking.result import Linked
from angsync.batch.coherence import temporal_coherence
from angsync.batch.result import BatchResult
from angsync.batch.stack import synchronize_stack
from angsync.circle import wrap
from angsync.errors import AngsyncWarning, ErrorBarWarning, InputError, ShapeError, names_keywords, warn_user

_LEAST_DOUBT = 1e-3  # 1 - coherence^2, at least: a coherence of exactly 1 is rounding, not knowledge


@dataclass(frozen=True, eq=False, repr=False)
class LinkedNetwork(Linked):
    """What :func:`link_network` returns: one phase a date and pixel, and what the interferograms lack to agree."""

    residual: Any = None
    """Wrapped residual of every interferogram and pixel, radians, NaN where it has no data."""
    constants: Any = None
    """What was taken from each interferogram, radians."""
    weighted_residual: float = float("nan")
    """Root of the mean squared residual, weighted as the phases were, radians."""
    closure: float = float("nan")
    """Root of the mean squared closure phase of the triangles of interferograms, radians; NaN where there is none."""


@names_keywords
def link_network(
    phase: ArrayLike,
    coherence: ArrayLike,
    pairs: Any,
    *,
    reference: Any = "mean",
    dates: Any = None,
    gauge: int = 0,
    certify: bool = True,
) -> LinkedNetwork:
    """Link the phases of a network of interferograms.

    Parameters
    ----------
    phase
        Interferograms (m, rows, columns), radians, wrapped or not: ``phase[k]`` is the phase of date ``pairs[k][0]``
        minus that of ``pairs[k][1]``, plus a constant of the interferogram. MintPy has the opposite sign, second date
        minus first: swap the dates of its pairs. NaN is no data.
    coherence
        Of the same shape, 0 to 1. Pixels with coherence 0 or NaN have no data. The weights are those of the Fisher
        information of an interferometric phase, coherence^2 / (1 - coherence^2).
    pairs
        (m, 2): the dates of each interferogram, as numbers from 0 or as names (then in the order of their names).
    reference
        How the constants are found. ``"mean"``: the mean over the pixels that have data in all interferograms is 0 (in
        each on its own where no pixel has), of values that are unwrapped; of wrapped ones, the mean direction. A pixel
        ``(row, column)``: its phase is 0. None: there are none.
    dates
        Names of the dates, where pairs are numbers.
    gauge
        The date whose phase is 0.
    certify
        Whether to prove the phases.

    Examples
    --------
    >>> from angsync.applications import phase_linking
    >>> stack = phase_linking.simulate(4, (8, 8), rng=0).slc
    >>> pairs = [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3)]
    >>> phase = np.stack([np.angle(stack[i] * stack[j].conj()) for i, j in pairs])
    >>> phase_linking.link_network(phase, np.full(phase.shape, 0.8), pairs).phase.shape
    (4, 8, 8)
    """
    begin = time.perf_counter()
    values, weights = _images(phase, coherence)
    m, rows, columns = values.shape
    first, second, names = _pairs(pairs, m, dates)
    n = len(names)
    if isinstance(gauge, bool) or not isinstance(gauge, (int, np.integer)) or not 0 <= gauge < n:
        raise InputError(f"gauge must be the number of a date, 0 to {n - 1}, but it is {gauge!r}.")
    told = np.isfinite(values) & np.isfinite(weights) & (weights > 0)
    values = np.where(told, values, 0)
    weights = np.where(told, weights, 0) ** 2
    weights /= np.maximum(1 - weights, _LEAST_DOUBT)
    constants, note = _constants(values, told, reference)
    values = values - constants[:, None, None]
    stack = _problems(values, weights, first, second, n)
    sync = synchronize_stack(stack, certify=certify, gauge=gauge, on_failure="ignore", hermitian="upper")
    lost = sync.status == LinkStatus.EMPTY
    sync.z[lost] = np.nan
    errors = _errors(sync, gauge, None if reference is None or isinstance(reference, str) else reference, columns)
    errors[lost] = np.nan
    theta = np.angle(sync.z).T.reshape(n, rows, columns)
    residual = np.where(told, wrap(values - theta[first] + theta[second]), np.nan)
    told &= np.isfinite(residual)
    weighted = float(np.sqrt(np.sum(weights[told] * residual[told] ** 2) / max(weights[told].sum(), 1e-300)))
    closure = _closure(values, told, first, second)
    counts = {one.name: int(np.count_nonzero(sync.status == one)) for one in LinkStatus}
    certified = np.zeros(rows * columns, dtype=bool) if sync.verdict is None else sync.verdict == 0
    image = (rows, columns)
    return LinkedNetwork(
        phase=theta, standard_error=errors.T.reshape(n, *image), looks=told.sum(axis=0).astype(float),
        temporal_coherence=temporal_coherence(stack, sync.z).reshape(image), certified=certified.reshape(image),
        status=sync.status.reshape(image), sync=sync, method="network", reference=gauge, dates=names,
        counts={**counts, "CERTIFIED": int(certified.sum())}, beta=(0.0, 0.0), seconds=time.perf_counter() - begin,
        notes=tuple(_notes(note, counts, n > m, weighted, closure)), residual=residual, constants=constants,
        weighted_residual=weighted, closure=closure,
    )  # fmt: skip


def _errors(sync: BatchResult, gauge: int, pixel: Any, columns: int) -> NDArray[np.float64]:
    """Standard errors; those of the reference pixel, whose phases are 0 by definition, are 0."""
    if pixel is None:
        return sync.standard_errors(gauge=gauge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ErrorBarWarning)  # that pixel has no residuals
        errors = sync.standard_errors(gauge=gauge)
    errors[int(pixel[0]) * columns + int(pixel[1])] = 0
    return errors


def _problems(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    n: int,
) -> NDArray[np.complex128]:  # fmt: skip
    """One matrix a pixel, row after row; interferograms of one pair are added up."""
    m = len(values)
    stack = np.zeros((values[0].size, n, n), dtype=np.complex128)
    entries = (weights * np.exp(1j * values)).reshape(m, -1)
    for k in range(m):
        stack[:, first[k], second[k]] += entries[k]
        stack[:, second[k], first[k]] += entries[k].conj()
    return stack


def _notes(note: str, counts: dict[str, int], is_tree: bool, weighted: float, closure: float) -> list[str]:
    notes = [note] if note else []
    if counts["DISCONNECTED"]:
        notes.append(
            f"at {counts['DISCONNECTED']:,} pixels, valid interferograms leave dates in several groups: phases cannot "
            "be compared across them, and nothing is certified there."
        )
    if is_tree:
        notes.append("the network has no loops: nothing checks the interferograms, and there are no error bars.")
    if counts["EMPTY"] == sum(counts.values()):
        return [*notes, "no pixel holds data: every interferogram is NaN or has coherence 0 everywhere."]
    closed = (
        f"closure phases are {np.degrees(closure):.1f} degrees"
        if np.isfinite(closure)
        else "no three of them close a triangle"
    )
    notes.append(
        f"interferograms miss the phases by {np.degrees(weighted):.2f} degrees (weighted); {closed}. On unwrapped "
        "phases without errors least squares does as well."
    )
    return notes


def _images(phase: Any, coherence: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    phase, coherence = (x.filled(np.nan) if isinstance(x, np.ma.MaskedArray) else x for x in (phase, coherence))
    if np.iscomplexobj(phase):
        raise InputError("phase must be real, radians, but it is complex: pass np.angle(phase) and its coherence.")
    values, weights = np.asarray(phase, dtype=float), np.asarray(coherence, dtype=float)
    if values.ndim != 3:
        raise ShapeError(f"phase must be interferograms (m, rows, columns), but its shape is {values.shape}.")
    if weights.shape != values.shape:
        raise ShapeError(f"coherence must have the shape of phase, {values.shape}, but it has {weights.shape}.")
    finite = weights[np.isfinite(weights)]
    if finite.size and (finite.min() < 0 or finite.max() > 1 + 1e-6):
        raise InputError(
            f"coherence must be between 0 and 1, but it goes from {finite.min():.4g} to {finite.max():.4g}. If it is "
            "in per cent or bytes, divide by 100 or 255."
        )
    largest = np.nanmax(np.abs(values), initial=0)
    if largest > 1000:
        warn_user(
            f"phases of up to {largest:.4g} radians look like another unit: convert degrees with np.radians, or phases "
            "that count millimeters with the wavelength.",
            AngsyncWarning,
        )
    return values, weights


def _pairs(pairs: Any, m: int, dates: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    try:
        both = np.asarray(pairs)
    except ValueError:
        raise ShapeError(f"pairs must have the shape {(m, 2)}, but their rows differ in length.") from None
    if both.shape != (m, 2):
        raise ShapeError(f"pairs must have the shape {(m, 2)}, two dates an interferogram, but it has {both.shape}.")
    if both.dtype.kind in "iu" and (dates is not None or both.max(initial=0) < 10 * m + 10):
        n = int(both.max()) + 1 if dates is None else len(dates)
        if both.min() < 0 or both.max() >= n:
            raise InputError(f"pairs name dates {int(both.min())} to {int(both.max())}, but there are {n}, from 0.")
        names = labels_of(dates, n)
        numbers = both.astype(np.int64)
    else:
        found, inverse = np.unique(both, return_inverse=True)
        names, numbers = labels_of(found, len(found)), inverse.reshape(m, 2)
    same = numbers[:, 0] == numbers[:, 1]
    if same.any():
        k = int(np.argmax(same))
        raise InputError(f"interferogram {k} is of date {names[numbers[k, 0]]} with itself. Leave it out.")
    return numbers[:, 0], numbers[:, 1], names


def _constants(values: NDArray[np.float64], told: NDArray[np.bool_], reference: Any) -> tuple[NDArray[np.float64], str]:
    m = len(values)
    if reference is None:
        return np.zeros(m), ""
    if isinstance(reference, str) and reference == "mean":
        common: NDArray[np.bool_] = np.logical_and.reduce(told, axis=0)
        told = np.broadcast_to(common, told.shape) if common.any() else told
        values = np.where(told, values, 0)
        count = np.maximum(told.sum(axis=(1, 2)), 1)
        if np.abs(values).max(initial=0) <= np.pi + 1e-6:
            means = np.where(told, np.exp(1j * values), 0).sum(axis=(1, 2)) / count
            return np.angle(
                means
            ), "phases are wrapped: the mean direction of an interferogram is taken for its constant."
        return values.sum(axis=(1, 2)) / count, ""
    try:
        row, column = (int(x) for x in reference)
        pixel, there = values[:, row, column], told[:, row, column]
    except (TypeError, ValueError, IndexError):
        raise InputError(
            f"reference must be 'mean', None or a pixel (row, column) of {values.shape[1:]}, but it is {reference!r}."
        ) from None
    if not there.all():
        raise InputError(f"the reference pixel {(row, column)} has no data in interferogram {int(np.argmin(there))}.")
    return pixel.copy(), ""


def _closure(
    values: NDArray[np.float64], told: NDArray[np.bool_], first: NDArray[np.int64], second: NDArray[np.int64]
) -> float:
    """Over all triangles i < j < k of interferograms."""
    place = {}
    for number, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        place[i, j], place[j, i] = (number, 1.0), (number, -1.0)
    squares, count = 0.0, 0
    n = int(max(first.max(), second.max())) + 1
    for i in range(n):
        for j in range(i + 1, n):
            for k in range(j + 1, n):
                if (i, j) in place and (j, k) in place and (i, k) in place:
                    (a, s), (b, t), (c, u) = place[i, j], place[j, k], place[i, k]
                    both = told[a] & told[b] & told[c]
                    misfit = wrap(s * values[a] + t * values[b] - u * values[c])[both]
                    squares, count = squares + float(np.sum(misfit**2)), count + misfit.size
    return float(np.sqrt(squares / count)) if count else float("nan")
