r"""Self-calibration of radio interferometers: the phase of every station at every time, with error bars and a proof.

A visibility between stations i and j is :math:`V = g_i \bar g_j M + noise` with the visibility M of a model of the sky.
Each time is a small phase synchronization with the weights :math:`|V| |M| / \sigma^2`; all times are one stack.

>>> from angsync.applications import radio
>>> night = radio.simulate(slots=20, model=radio.ring(42, 0.5, 10, position_angle=170), rng=1)
>>> gains = radio.selfcal(night.table, night.model, reference="S1")
>>> bool(gains.certified.all()), gains.phase.shape
(True, (20, 7))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.radio.calibration import Solved, expected_chi_square, model_values, solve
from angsync.applications.radio.closures import Closures, with_position_angle
from angsync.applications.radio.error_bars import standard_errors
from angsync.applications.radio.gains import NO_PHASE_DEGREES, STRONG, Gains, rms_of
from angsync.applications.radio.models import Image, Point, Ring, image, name_of, point, ring
from angsync.applications.radio.simulated import Simulated, simulate
from angsync.applications.radio.visibilities import Visibilities, read
from angsync.batch.result import BatchStatus
from angsync.errors import InputError, OrientationWarning, UnitWarning, names_keywords, warn_user
from angsync.io.failures import listed

__all__ = [
    "Closures", "Gains", "Image", "Point", "Ring", "Simulated", "Visibilities", "image", "point", "read", "ring",
    "selfcal", "simulate",
]  # fmt: skip

_STATUS_NAMES = np.array([status.name for status in BatchStatus], dtype=object)
_UNRESOLVED = 0.01  # relative distance of a model on all baselines from that at u = v = 0, where it is a point
_REAL = 1e-6  # imaginary part of a model, over its modulus, below which turning it by 180 degrees changes nothing
_BY_CHANCE = 0.01  # probability that noise alone has so much power, above which nothing else need be there
_MISFIT = 2.0  # chi-square over that of noise alone beyond which the conjugate model is tried


@names_keywords
def selfcal(
    visibilities: Any,
    model: Any,
    reference: str | None = None,
    *,
    unit: str = "deg",
    uv_unit: str = "lambda",
    columns: Mapping[str, str] | None = None,
) -> Gains:
    """The phases of the stations at every time that make the visibilities fit the model best.

    Parameters
    ----------
    visibilities
        A path (csv, parquet; UVFITS and uvh5 by pyuvdata), a data frame, a mapping of columns, or what :func:`read`
        gives. Columns: ``time(UTC), T1, T2, U(lambda), V(lambda), Iamp(Jy), Iphase(d), Isigma(Jy)``.
    model
        :func:`point`, :func:`ring`, :func:`image`, or a function of u and v in wavelengths that gives complex numbers.
        Its flux does not matter.
    reference
        The station whose phase is 0, or ``"mean"``: against the mean phase of the stations. Unless given, the station
        that is there most often. Where it is absent, the first that is there.
    unit, uv_unit, columns
        As in :func:`read`.

    Examples
    --------
    >>> from angsync.applications import radio
    >>> night = radio.simulate(stations=5, slots=10, rng=1)
    >>> gains = radio.selfcal(night.table, night.model)
    >>> gains.phase.shape, bool(gains.certified.all())
    ((10, 5), True)
    """
    data = read(visibilities, unit=unit, uv_unit=uv_unit, columns=columns)
    gauge = _gauge(data, reference)
    found = isinstance(model, Ring) and not model.is_turned
    if found:
        model = with_position_angle(model, data)
    values = model_values(model, data)
    _doubt_resolution(data, model, values)
    solved = solve(data, values, gauge)
    status = _STATUS_NAMES[solved.sync.status]
    there = ~np.isnan(solved.sync.z)
    is_noise = _is_noise(data)
    error = _told(data, solved, _standard_errors(solved, gauge), is_noise)
    chi_square, freedom, expected = _chi_square(data, solved, there)
    total = int(freedom.sum())
    per_dof = float(chi_square.sum() / total) if total else float("nan")
    if not found and per_dof > _MISFIT * expected:
        _doubt_sign(data, values, gauge, per_dof)
    strong = solved.used & (np.abs(data.value) > STRONG * data.sigma)
    return Gains(
        time=data.time,
        station=data.station,
        phase=np.where(there, np.rad2deg(solved.sync.angles), np.nan),
        standard_error=np.rad2deg(error),
        certified=np.asarray(solved.sync.certified),
        status=status,
        reference=_references(data, solved, there, gauge),
        chi_square_per_dof=per_dof,
        chi_square_expected=expected,
        chi_square=chi_square,
        degrees_of_freedom=freedom,
        residual=np.rad2deg(solved.residual),
        used=solved.used,
        flux_scale=solved.scale,
        amplitude=solved.amplitude / np.median(solved.amplitude),
        model=model,
        visibilities=data,
        sync=solved.sync,
        is_angle_found=found,
        asked_reference=reference,
        is_noise=is_noise,
        rms_before=rms_of(np.rad2deg(np.angle(data.value[strong] * np.conj(values[strong])))),
    )


def _gauge(data: Visibilities, reference: str | None) -> str | int:
    if reference == "mean":
        return "mean"
    if reference is not None:
        if reference not in data.station:
            raise InputError(f"there is no station {reference!r} for the reference; there are {listed(data.station)}.")
        return data.station.index(reference)
    used = ~data.flagged
    n = len(data.station)
    seen = np.zeros((data.time.size, n), dtype=bool)
    strength = np.zeros(n)
    for side in (data.first, data.second):
        seen[data.slot[used], side[used]] = True
        np.add.at(strength, side[used], np.abs(data.value[used]) / data.sigma[used])
    return int(np.lexsort((-strength, -seen.sum(axis=0)))[0])


def _standard_errors(solved: Solved, gauge: str | int) -> NDArray[np.float64]:
    """In radians; the noise of a visibility is that of a model of the flux of the data."""
    if np.isnan(solved.scale):
        return np.full(solved.sync.z.shape, np.nan)
    assert solved.sync.source is not None
    unit = standard_errors(solved.sync.source.stack, np.asarray(solved.sync.z), gauge, solved.amplitude)
    return unit * np.sqrt(solved.rough_scale / solved.scale)


def _is_noise(data: Visibilities) -> bool:
    """Whether the power of all visibilities is what noise of their sigmas alone would give."""
    from scipy.special import gammaincc

    used = ~data.flagged
    power = float(np.sum((np.abs(data.value[used]) / data.sigma[used]) ** 2))
    return bool(gammaincc(int(used.sum()), power / 2) > _BY_CHANCE)


def _told(data: Visibilities, solved: Solved, error: NDArray[np.float64], is_noise: bool) -> NDArray[np.float64]:
    """The errors, NaN where they are too large to be believed.

    Phases follow the noise where it is strong, and the amplitudes, which are its own then, seem to hold information.
    So errors are judged by what is left of it without the power of the noise, |V|^2 / sigma^2 - 2.
    """
    used = solved.used
    ratio = np.abs(data.value[used]) / data.sigma[used]
    claimed = float(np.sum(ratio * solved.expected[used] / data.sigma[used]))
    real = float(np.sum(ratio**2 - 2))
    if is_noise or real <= 0:
        return np.where(error > 0, np.nan, error)
    judged = error * max(1.0, claimed / real) ** 0.5
    return np.where(judged > np.deg2rad(NO_PHASE_DEGREES), np.nan, error)


def _chi_square(
    data: Visibilities, solved: Solved, there: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
    """Of each slot, its degrees of freedom, and what noise alone would give per degree of freedom, of all slots."""
    used, slots = solved.used, data.time.size
    ratio = np.abs(data.value[used]) / data.sigma[used]
    terms = ratio**2 * 2 * (1 - np.cos(solved.residual[used]))
    chi_square: NDArray[np.float64] = np.bincount(data.slot[used], weights=terms, minlength=slots).astype(float)
    assert solved.sync.components is not None
    fitted = there.sum(axis=1) - np.where(there.any(axis=1), solved.sync.components, 0)
    freedom = np.bincount(data.slot[used], minlength=slots) - fitted
    total = int(freedom.sum())
    if total == 0 or np.isnan(solved.scale):
        return chi_square, freedom.astype(np.int64), float("nan")
    noise = expected_chi_square(solved.expected[used] / data.sigma[used])
    return chi_square, freedom.astype(np.int64), float((noise.sum() - fitted.sum()) / total)


def _references(data: Visibilities, solved: Solved, there: NDArray[np.bool_], gauge: str | int) -> NDArray:
    """The station that each phase is against: the one asked for, or the first of its piece."""
    names = np.array([*data.station, "mean", ""], dtype=object)
    if gauge == "mean":
        return names[np.where(there, len(data.station), len(data.station) + 1)]
    assert solved.sync.components is not None
    if (solved.sync.components <= 1).all():  # nobody is apart
        same = there[:, :, None] & there[:, None, :]
    else:
        pieces = solved.sync.component_labels()
        same = (pieces[:, :, None] == pieces[:, None, :]) & there[:, None, :]
    first = np.argmax(same, axis=2)
    chosen = np.where(same[:, :, int(gauge)], int(gauge), first)
    return names[np.where(there, chosen, len(data.station) + 1)]


def _doubt_resolution(data: Visibilities, model: Any, values: NDArray[np.complex128]) -> None:
    used = values[~data.flagged]
    if isinstance(model, Point):
        return
    try:
        whole = complex(np.asarray(model(np.zeros(1), np.zeros(1)))[0])
    except Exception:  # whatever a model of the caller raises where it is not defined
        return
    if not np.abs(used - whole).max() <= _UNRESOLVED * abs(whole):
        return
    longest = float(np.hypot(data.u, data.v)[~data.flagged].max())
    warn_user(
        f"the {name_of(model)} looks like a point on these baselines, of which the longest has {longest:.3g} "
        "wavelengths. Are u and v in other units? Then say uv_unit='Mlambda' (--uv-unit Mlambda; also klambda, "
        "Glambda).",
        UnitWarning,
    )


def _doubt_sign(data: Visibilities, values: NDArray[np.complex128], gauge: str | int, per_dof: float) -> None:
    """Warn where the model turned by 180 degrees fits far better: files differ in the sign of u and v."""
    if np.abs(values.imag).max() <= _REAL * np.abs(values).max():
        return
    other = solve(data, np.conj(values), gauge)
    chi_square, freedom, _ = _chi_square(data, other, ~np.isnan(other.sync.z))
    turned = float(chi_square.sum() / max(1, int(freedom.sum())))
    if turned < per_dof / 2:
        warn_user(
            f"the model turned by 180 degrees fits far better (chi-square per degree of freedom {turned:.3g}, not "
            f"{per_dof:.3g}): the file may have the other sign of u and v. Turn the model, or the sign of both.",
            OrientationWarning,
        )
