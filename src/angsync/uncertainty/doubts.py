r"""Whether error bars can be believed: what the residuals say about the noise that the bars assume.

With sigma and weights that mean what they say, :math:`\chi^2 = \sum w r^2 / \sigma^2` follows the chi-square law of its
degrees of freedom. A value far below says that measurements repeat each other, or that weights or sigma are wrong.
Each doubt needs both: a probability below one in a million, and an effect that matters (a tenth of what is expected),
for with very many measurements a sigma that is a little too large would be enough for the first alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammainc

from angsync.errors import ErrorBarWarning, warn_user
from angsync.problem.measurements import Measurements
from angsync.uncertainty.noise_models import AngleNoise, model_of, wrapped_residuals

_RARE = 1e-6  # probability of a chi-square as small as this one
_SMALL = 0.1  # chi-square per degree of freedom: sigma is then too large by a factor of 3
# Weights may be relative, so a small sigma alone means nothing. They are read as 1 / variance where the errors that
# they then state are small angles, and doubted where residuals are smaller than those by a factor of a thousand.
_PRECISE_WEIGHT, _FAR_TOO_SMALL = 100.0, 1e-6
_EXACTLY = 1e-12  # chi-square per degree of freedom of copies
# Residuals of exact data, root mean square in radians, by the precision of the phases: a solver stops at a gradient of
# 1e-10 or 1e-5.
_EXACT_DOUBLE, _EXACT_SINGLE = 1e-9, 3e-5
MATTERS, _FEW = 0.05, 2  # share and number of doubtful measurements or problems up to which they may be chance
ENOUGH_HELD = 0.93  # share of the phases that 95 % intervals have to hold
_CAUSE = "these measurements are not independent, or their weights are wrong"


def doubts(
    measurements: Measurements,
    z: NDArray,
    information: NDArray[np.float64],
    freedom: int,
    *,
    sigma: float,
    estimated: bool,
) -> list[str]:
    """Sentences on what is wrong with error bars from this sigma; empty for ordinary data.

    ``freedom`` counts measurements minus phases.
    """
    used = information > 0
    if not used.any():
        return []
    model = model_of(measurements)
    residual = wrapped_residuals(measurements, z)
    deviation = np.zeros(len(measurements))
    deviation[used] = model.deviations(measurements, residual, np.where(used, information, 1.0))[used]
    squares = information * deviation**2
    found = []
    if freedom > 0:
        found += _too_small(measurements, z, float(np.sum(squares)), residual[used], freedom, sigma, estimated)
        if not found and isinstance(model, AngleNoise):
            found += repeated(measurements, deviation, information, freedom, None if estimated else sigma)
    degree = np.bincount(np.concatenate([measurements.i, measurements.j]), np.tile(information, 2))
    error = sigma / math.sqrt(float(np.median(degree[degree > 0])))
    share = float(held(error, complex_values=not isinstance(model, AngleNoise)))
    if estimated and share < ENOUGH_HELD:
        found.append(f"the noise is large. {too_short(error, share)}")
    return found


def held(error: Any, *, complex_values: bool) -> Any:
    r"""The share of phases that 95 % intervals hold, by the error (radians) of a phase whose neighbors are right.

    Measured, for graphs from rings to complete ones (docs/uncertainty.md): intervals are too short by the square root
    of :math:`1 - u`, or by that of :math:`1 / (1 + u^2)` for angles, which :func:`large_noise_factor
    <angsync.uncertainty.noise_models.large_noise_factor>` has lengthened; :math:`u = (2 \mathrm{error})^2`.
    """
    u = (2 * error) ** 2
    shorter = np.maximum(1 - u, 0.25) if complex_values else 1 / (1 + u**2)
    return gammainc(0.5, 1.92 * shorter)  # half of 1.96^2


def too_short(error: float, share: float) -> str:
    """Why error bars are too short, and by how much."""
    return (
        f"A phase is uncertain by {error:.2g} rad even if its neighbors are right, and error bars assume small errors: "
        f"they are too short. 95 % intervals hold about {100 * share:.0f} % of the phases."
    )


def below_one(diagonal: NDArray, moduli: NDArray[np.float64]) -> float:
    """How many moduli are below 1, if none is above it and the diagonal is 1, as in matrices of coherences."""
    if not (np.isclose(diagonal, 1).all() and np.isclose(np.max(moduli, initial=1), 1)):
        return -math.inf
    return float(np.count_nonzero((moduli > 0) & ~np.isclose(moduli, 1)))


def doubt_coherences(below: float) -> bool:
    """Warn of coherences, of which so many are below 1; noise would have half of the moduli above."""
    looks_so = bool(0.5**below < _RARE)
    if looks_so:
        warn_user(
            "Standard errors: these look like coherences (1 on the diagonal, no modulus above 1). If they are, their "
            "entries are not independent, and error bars are far too short: 95 % intervals hold 30 to 55 %. Use "
            "angsync.applications.phase_linking: link_covariance(C, looks=...) has error bars for coherences.",
            ErrorBarWarning,
        )
    return looks_so


def exact_below(phases: np.dtype[Any]) -> float:
    """Residuals of a root mean square below this, in radians, are zero to the accuracy of phases of this type."""
    return _EXACT_SINGLE if phases == np.complex64 else _EXACT_DOUBLE


def _too_small(
    measurements: Measurements,
    z: NDArray,
    squares: float,
    residual: NDArray[np.float64],
    freedom: int,
    sigma: float,
    estimated: bool,
) -> list[str]:
    """Residuals that are smaller than sigma and weights say, or zero."""
    exact = float(np.sqrt(np.mean(residual**2))) < exact_below(z.dtype)
    if not estimated:
        if exact:
            return []  # made without noise, for a plan; copies are found by repeated
        ratio = squares / (freedom * sigma**2) if sigma > 0 else math.inf
        if ratio < _SMALL and gammainc(freedom / 2, ratio * freedom / 2) < _RARE:
            return [
                f"chi-square per degree of freedom is {ratio:.2g} for sigma = {sigma:.3g}: {_CAUSE}, or sigma is. "
                "Where the same data were given more than once, error bars are too short."
            ]
        return []
    if exact:
        return [
            f"the residuals are zero to the accuracy of the phases, and so are error bars from them. Unless the data "
            f"are exact, {_CAUSE} (the same data more than once?). Give sigma."
        ]
    ratio = squares / freedom
    precise = float(np.median(measurements.weight)) > _PRECISE_WEIGHT and measurements.modulus is None
    if precise and ratio < _FAR_TOO_SMALL and gammainc(freedom / 2, ratio * freedom / 2) < _RARE:
        return [
            f"chi-square per degree of freedom is {ratio:.2g} with weights as 1 / variance: {_CAUSE} (the same data "
            "more than once?), and error bars from such residuals are far too short. Give sigma: 1 if weights are "
            "1 / variance."
        ]
    return []


def repeated(
    measurements: Measurements,
    deviation: NDArray[np.float64],
    information: NDArray[np.float64],
    freedom: int,
    sigma: float | None,
) -> list[str]:
    r"""Measurements of the same pair that agree far better with each other than the noise of all would let them.

    With R the sum of squares within pairs, of k degrees of freedom, and Q that of all, :math:`R / Q` has the law
    Beta(k/2, (freedom - k)/2) where all are independent.
    """
    used = np.flatnonzero(information > 0)
    i, j = measurements.i[used], measurements.j[used]
    key = np.minimum(i, j) * measurements.n + np.maximum(i, j)
    _, pair = np.unique(key, return_inverse=True)
    count = int(pair.max()) + 1
    inner = used.size - count
    if inner <= max(_FEW, MATTERS * used.size):
        return []
    weight, along = information[used], np.where(i < j, 1.0, -1.0) * deviation[used]
    mean = np.bincount(pair, weight * along) / np.bincount(pair, weight)
    within, total = float(np.sum(weight * (along - mean[pair]) ** 2)), float(np.sum(weight * along**2))
    rest = freedom - inner
    if sigma is None:
        if rest <= 0:
            return []  # nothing else says how large the noise is
        ratio, rare = within / inner / (total / freedom), betainc(inner / 2, rest / 2, min(1.0, within / total))
    else:
        ratio, rare = within / inner / sigma**2, gammainc(inner / 2, within / (2 * sigma**2))
    if not (ratio < _SMALL and rare < _RARE):
        return []
    how = f"{1 / math.sqrt(ratio):.2g} times more closely than the noise allows" if ratio > _EXACTLY else "exactly"
    return [f"{inner} measurements repeat others of the same pair {how}: {_CAUSE}. Error bars count them as new."]
