"""From intensities to a signal: products of neighbors, their phases by synchronization, the best fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.applications.phase_retrieval.band import Band, solve_band
from angsync.applications.phase_retrieval.fit import UNKNOWN, Fit
from angsync.applications.phase_retrieval.masks import Masks, as_masks
from angsync.applications.phase_retrieval.recovered import Recovered
from angsync.applications.phase_retrieval.spread import errors_of_synchronized
from angsync.errors import DisconnectedWarning, InputError, NotFiniteError, ShapeError, names_keywords, warn_user
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.problem.measurements import Measurements
from angsync.solvers.stopping import Stopping

_ROUNDING = 16 * np.finfo(float).eps  # of a product, by the condition and the largest product
_LARGEST = 1e140  # of an intensity: sums of their squares are numbers
_SMALLEST = 1e-140  # of the largest intensity: squares are not 0
_SHORT, _LEAST_REST = 3.0, 1e-8  # a step left of so many errors, and so many radians: the polish stopped short
_TOLERANCE = 1e-13  # of the phases: noiseless data are to come back to the last digits
_SIGMA_OFF = 1.5  # factor: with 100 free intensities, seven standard deviations
_DOUBTFUL_MISFIT = 0.05  # from here on it is asked whether squares of the data would fit better


@names_keywords
def recover(
    intensities: ArrayLike,
    masks: Masks | ArrayLike,
    *,
    sigma: ArrayLike | None = None,
    polish: bool = True,
    certify: bool = True,
    stopping: Stopping | None = None,
    rng: Any = 0,
) -> Recovered:
    """Find the signal whose intensities these are, up to one global phase.

    Parameters
    ----------
    intensities
        ``(K, *shape)``: mask k at every shift, as :func:`measure` gives them, or (K, S) for masks with shifts of their
        own. NaN, or what is masked (``numpy.ma``), was not measured. Noise may make some negative.
    masks
        :class:`Masks`, or an array of windows (K, band) or (K, rows, columns).
    sigma
        Standard deviation of the noise of an intensity: a number, or one each (counts: ``np.sqrt(np.maximum(y, 1))``).
        Estimated from what the fit leaves over unless given; then all are taken to be equally noisy.
    polish
        Whether to go on from the synchronized signal to the best fit of the intensities nearby (least squares, weighted
        by ``sigma``).
    certify, stopping, rng
        As in :func:`angsync.synchronize`.

    Examples
    --------
    >>> from angsync.applications import phase_retrieval
    >>> data = phase_retrieval.simulate(32, 3, rng=0)
    >>> result = phase_retrieval.recover(data.intensities, data.masks)
    >>> bool(data.error(result.signal) < 1e-10), result.is_proved
    (True, True)
    """
    data, masks = _checked(intensities, masks)
    spread_of_data = _checked_sigma(sigma, data)
    band = solve_band(data, masks)
    x, sync, used, pieces = _synchronized(band, certify, stopping, rng)
    known = np.flatnonzero(~np.isnan(data.ravel()))
    matrix = masks.matrix if known.size == data.size else masks.matrix[known]
    fit = Fit(matrix, data.ravel()[known], spread_of_data.ravel()[known], is_chain=len(masks.shape) == 1)
    first, moved, interrupted, is_short = x, None, False, False
    if polish:
        try:
            x = fit.polished(first)
            if pieces.max(initial=0) == 0 and fit.unfinished(x).max() > _LEAST_REST:
                x = fit.finished(x)
            moved = _distance(x, first)
        except KeyboardInterrupt:
            interrupted = True
    seen = fit.noise(x)
    noise = seen if sigma is None else 1.0
    if polish and not interrupted:
        phase_error, size_error, rest, is_short = _polished_errors(fit, x, noise, pieces)
    elif band.inverse is not None and np.isfinite(noise):
        phase_error, size_error = errors_of_synchronized(band, x, used, noise * spread_of_data)
    else:
        phase_error, size_error = np.full(x.size, np.nan), np.full(x.size, np.nan)
    phase_error = np.where((pieces != 0) & np.isfinite(phase_error), UNKNOWN, phase_error)
    _warn_of_pieces(pieces)
    misfit = float(np.linalg.norm(fit.residuals(x) * fit.sigma) / np.linalg.norm(fit.intensities))
    notes = [] if sigma is None else _doubts_about_sigma(seen)
    if is_short:
        notes.append(
            f"The polish did not converge: one more step would turn entries by up to {rest.max():.1e} rad. Weak "
            "entries tie parts of the signal too loosely for its arithmetic; error bars are at least that step."
        )
    notes += _doubts_about_data(data, masks, misfit)
    shape = masks.shape
    return Recovered(
        signal=(x * np.exp(-1j * np.angle(x[np.abs(x).argmax()]))).reshape(shape),
        phase_error=phase_error.reshape(shape),
        size_error=size_error.reshape(shape),
        condition=band.condition,
        noise=float(noise * np.sqrt(np.mean(fit.sigma**2))),
        misfit=misfit,
        pieces=pieces.reshape(shape),
        moved=moved,
        sync=sync,
        masks=masks,
        is_polish_interrupted=interrupted,
        notes=tuple(notes),
    )


def _polished_errors(
    fit: Fit, x: NDArray, noise: float, pieces: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], bool]:
    """Errors of phases and sizes after the polish, the step that is left, and whether that is more than they allow."""
    rounding = float(np.finfo(float).eps * np.sqrt(np.mean((fit.intensities / fit.sigma) ** 2)))
    phase_error, size_error = fit.errors(x, max(noise, rounding) if np.isfinite(noise) else noise)
    rest = fit.unfinished(x) if pieces.max(initial=0) == 0 else np.zeros(x.size)
    is_short = bool(np.any(rest > np.maximum(_SHORT * phase_error, _LEAST_REST)))
    return np.fmax(phase_error, rest) if np.isfinite(noise) else phase_error, size_error, rest, is_short


def _warn_of_pieces(pieces: NDArray) -> None:
    if pieces.max(initial=0) > 0:
        warn_user(
            f"The signal falls into {int(pieces.max()) + 1} pieces with only zeros between them: no phase between two "
            "of them is measured. Wider masks would bridge the zeros.",
            DisconnectedWarning,
        )


def _checked(intensities: ArrayLike, masks: Masks | ArrayLike) -> tuple[NDArray[np.float64], Masks]:
    masked = np.ma.getmaskarray(intensities) if isinstance(intensities, np.ma.MaskedArray) else None
    data = np.array(intensities)
    if data.dtype.kind not in "biuf":
        more = ": take the square of their modulus" if data.dtype.kind == "c" else ""
        raise InputError(f"intensities must be real numbers, but they are {data.dtype}{more}.")
    data = data.astype(np.float64)
    if masked is not None:
        data[masked] = np.nan
    if data.ndim < 2:
        raise ShapeError(f"intensities have shape {data.shape}, but (masks, shifts) is needed.")
    count = masks.data_shape[0] if isinstance(masks, Masks) else int(np.shape(masks)[0]) if np.ndim(masks) else 0
    if data.shape[0] != count == data.shape[-1]:
        raise ShapeError(
            f"intensities have shape {data.shape}, but there are {count} masks: one row a mask is needed. They look "
            "transposed: give their transpose."
        )
    masks = as_masks(masks, data.shape[1:])
    if data.shape != masks.data_shape:
        raise ShapeError(
            f"intensities have shape {data.shape}, but {masks} measure {masks.data_shape}: one row a mask."
        )
    if np.any(np.isinf(data)):
        place = tuple(int(p) for p in np.argwhere(np.isinf(data))[0])
        raise NotFiniteError(f"the intensity {place} is infinite. NaN stands for one that was not measured.")
    largest = float(np.nanmax(np.abs(data), initial=0))
    if largest > _LARGEST:
        raise InputError(
            f"intensities go up to {largest:.3g}, and their squares cannot be computed. Divide them by that."
        )
    if not np.nansum(np.maximum(data, 0)) > 0:
        raise InputError("no intensity is positive: there is nothing to recover a signal from.")
    if largest < _SMALLEST:
        raise InputError(
            f"intensities go up to {largest:.3g} only, and their squares cannot be computed. Divide them by that."
        )
    return data, masks


def _checked_sigma(sigma: ArrayLike | None, data: NDArray[np.float64]) -> NDArray[np.float64]:
    if sigma is None:
        return np.ones(data.shape)
    try:
        given = np.asarray(sigma, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"sigma must be one number or one an intensity {data.shape}, but it is {sigma!r}.") from None
    if given.shape not in ((), data.shape):
        raise ShapeError(f"sigma has shape {given.shape}, but one number or one an intensity {data.shape} is needed.")
    spread = np.array(np.broadcast_to(given, data.shape))
    wrong = ~(np.isfinite(spread) & (spread > 0)) & ~np.isnan(data)
    if np.any(wrong):
        place = tuple(int(p) for p in np.argwhere(wrong)[0])
        raise InputError(
            f"sigma must be positive, but that of intensity {place} is {spread[place]}. For counts take "
            "np.sqrt(np.maximum(counts, 1)); leave sigma out to have it estimated."
        )
    return spread


def _synchronized(
    band: Band, certify: bool, stopping: Stopping | None, rng: Any
) -> tuple[NDArray[np.complex128], SyncResult, NDArray[np.bool_], NDArray[np.int64]]:
    """The signal from the products, which pairs were used, and the pieces that they make."""
    rows, columns, first, second = band.pairs()
    products = band.values[rows, columns]
    floor = _ROUNDING * band.condition * float(np.abs(band.values).max())
    used = np.abs(products) > floor
    if not np.any(used):
        raise InputError(
            "no product of two entries is above rounding: every entry that is not zero stands alone, so no phase is "
            "measured. Wider masks are needed."
        )
    first, second, rows, products = first[used], second[used], rows[used], products[used]
    tied, ends = np.unique(np.concatenate([first, second]), return_inverse=True)
    weight = (np.abs(products) / band.spread[rows]) ** 2
    i, j = np.split(ends, 2)
    measurements = Measurements(i, j, np.angle(products), weight / weight.max(), n=tied.size)
    sync = _quietly(measurements, certify, stopping, rng)
    x = np.sqrt(np.maximum(band.values[0].real, 0.0)).astype(np.complex128)
    x[tied] *= sync.phases
    pieces = np.full(x.size, -1, dtype=np.int64)
    by_size = np.argsort(-np.bincount(sync.components), kind="stable")
    pieces[tied] = np.argsort(by_size)[sync.components]
    return x, sync, used, pieces


def _quietly(measurements: Measurements, certify: bool, stopping: Stopping | None, rng: Any) -> SyncResult:
    """Synchronized without its own warning of components, which is said in the words of signals."""
    import warnings

    stopping = Stopping(tolerance=_TOLERANCE) if stopping is None else stopping
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedWarning)
        return synchronize(measurements, certify=certify, stopping=stopping, rng=rng)


def _distance(x: NDArray[np.complex128], y: NDArray[np.complex128]) -> float:
    """Between two signals after the best turn, by the norm of the second."""
    product = np.vdot(x, y)
    turn = product / abs(product) if product else 1.0
    return float(np.linalg.norm(turn * x - y) / np.linalg.norm(y))


def _doubts_about_sigma(seen: float) -> list[str]:
    """Whether what the fit leaves over is of another size than was said."""
    if not seen > 0 or 1 / _SIGMA_OFF < seen < _SIGMA_OFF:
        return []
    return [
        f"The fit leaves over {seen:.3g} times the noise that was given (sigma): error bars are as wrong as that. "
        "Leave sigma out to have the noise estimated."
    ]


def _doubts_about_data(data: NDArray[np.float64], masks: Masks, misfit: float) -> list[str]:
    """What looks wrong about the data."""
    if misfit <= _DOUBTFUL_MISFIT or np.nanmin(data) < 0:
        return []
    band = solve_band(data**2, masks)
    x, *_ = _synchronized(band, False, None, 0)
    known = ~np.isnan(data)
    left = np.abs(masks.matrix @ x).reshape(data.shape)[known] ** 2 - data[known] ** 2
    if np.linalg.norm(left) < 0.5 * misfit * np.linalg.norm(data[known] ** 2):
        return ["These look like magnitudes, not intensities: their squares fit much better. Give intensities ** 2."]
    return []
