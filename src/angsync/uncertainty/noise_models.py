r"""What noise is assumed: how much an edge says about its angle, and what its residual says about sigma.

One class a model; :func:`model_of` says which one measurements follow. In both, sigma is the one of
:mod:`angsync.uncertainty`: an edge of information w has angle variance :math:`\sigma^2 / w`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.measurements import Measurements


def wrapped_residuals(measurements: Measurements, z: NDArray) -> NDArray[np.float64]:
    """Measured angle minus fitted angle, wrapped."""
    fitted = z[measurements.i] * np.conj(z[measurements.j])
    return np.angle(np.exp(1j * measurements.angle) * np.conj(fitted))


_SMALL_NOISE = 0.5  # radians, of a typical measurement
_MOST_TIMES = 4.0  # the variance over that of the wrapped residuals


class NoiseModel(ABC):
    """What standard errors and residuals need to know about the noise."""

    scale_is_sigma: bool
    """Whether the scale of a robust loss, which is one of angles, is the sigma of this model."""

    @abstractmethod
    def information(self, measurements: Measurements, z: NDArray) -> NDArray[np.float64]:
        """Information of each edge about its angle, in units of 1 / sigma^2."""

    @abstractmethod
    def deviations(
        self, measurements: Measurements, residual: NDArray[np.float64], information: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """From each wrapped residual, an angle whose variance is sigma^2 / information where nothing is fitted."""

    @abstractmethod
    def sigma_and_freedom(
        self,
        measurements: Measurements,
        residual: NDArray[np.float64],
        information: NDArray[np.float64],
        freedom: int,
        leverages: Callable[[], NDArray[np.float64]],
    ) -> tuple[float, float]:
        """Sigma from the residuals, and the degrees of freedom of sigma^2.

        ``freedom`` is the number of measurements minus the number of fitted phases; ``leverages`` computes the
        leverages of the edges.
        """


class AngleNoise(NoiseModel):
    """Angles were measured; the variance of an edge of weight w is sigma^2 / w."""

    scale_is_sigma = True

    def information(self, measurements: Measurements, z: NDArray) -> NDArray[np.float64]:
        """The weights as they were given."""
        return measurements.weight

    def deviations(
        self, measurements: Measurements, residual: NDArray[np.float64], information: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The residuals themselves."""
        return residual

    def sigma_and_freedom(
        self,
        measurements: Measurements,
        residual: NDArray[np.float64],
        information: NDArray[np.float64],
        freedom: int,
        leverages: Callable[[], NDArray[np.float64]],
    ) -> tuple[float, float]:
        """The weighted sum of squares over its degrees of freedom."""
        return float(np.sqrt(np.sum(information * residual**2) / freedom)), float(freedom)


class ComplexNoise(NoiseModel):
    r"""Complex values were measured: noise also changes their modulus, so the modulus is no statement of precision.

    The information of an edge is its strength times the mean cosine :math:`\bar a` of :mod:`angsync.uncertainty`.
    """

    scale_is_sigma = False

    def information(self, measurements: Measurements, z: NDArray) -> NDArray[np.float64]:
        """Strength times mean cosine; phases that fit on average worse than chance are refused."""
        strength = measurements.strength
        total = float(np.sum(strength))
        if total == 0:  # nothing is measured, and nothing misfits
            return strength
        cosines = np.cos(wrapped_residuals(measurements, z))
        mean_cosine = float(np.sum(strength * cosines) / max(total, 1e-300))
        if mean_cosine <= 0:
            raise InputError("these phases do not fit the measurements at all, so no error bars can be given.")
        return strength * mean_cosine

    def deviations(
        self, measurements: Measurements, residual: NDArray[np.float64], information: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The part of the noise across the phase, over the information."""
        return measurements.strength * np.sin(residual) / information

    def sigma_and_freedom(
        self,
        measurements: Measurements,
        residual: NDArray[np.float64],
        information: NDArray[np.float64],
        freedom: int,
        leverages: Callable[[], NDArray[np.float64]],
    ) -> tuple[float, float]:
        r"""From the parts of the noise across the phases.

        sigma^2 is a sum of unequal terms, :math:`\sum a_k \chi^2_1` with :math:`a_k = w_k (1 - h_k)`, h the leverage;
        the degrees of freedom are those of the chi-square law with the same mean and variance,
        :math:`(\sum a_k)^2 / \sum a_k^2` (Satterthwaite 1946), capped by the count.
        """
        # E sum (w r)^2 = sigma^2 sum w (1 - leverage): the leverages matter where weights differ
        across = measurements.strength * np.sin(residual)
        terms = information * (1 - leverages())
        effective = np.sum(terms) ** 2 / np.sum(terms**2)
        return float(np.sqrt(np.sum(across**2) / np.sum(terms))), float(min(effective, freedom))


def large_noise_factor(residual: NDArray[np.float64], information: NDArray[np.float64], freedom: int) -> float:
    r"""What standard errors of angles from sigma of the residuals are multiplied by because noise is not small.

    The phases solve :math:`\sum w \sin r = 0` at every node, so their covariance is :math:`V L_w^+` with

    .. math:: V = \frac{E \sin^2 r}{(E \cos r)^2} = \frac{(1 - e^{-2s})/2}{e^{-s}} = \sinh s

    for wrapped normal noise of variance s, and not s; and residuals, which are wrapped, show less than s. Their mean
    cosine does not saturate: it is :math:`e^{-s (1 - h) / 2}`, h the mean leverage. With weights: the mean over the
    edges of :math:`w^2 (1 - e^{-2s/w})/2` over the square of that of :math:`w e^{-s/2w}`, times the mean of w. 1
    below half a radian, where the difference is below one per cent.
    """
    used = information > 0
    r, w = residual[used], information[used]
    if freedom <= 0 or not used.any():
        return 1.0
    squares = float(np.sum(w * r**2)) / freedom  # sigma^2
    if squares * r.size / float(np.sum(w)) < _SMALL_NOISE**2:
        return 1.0
    seen = freedom / r.size  # 1 - h
    wanted = float(np.sum(w * np.cos(r)))

    def missing(s: float) -> float:
        return float(np.sum(w * np.exp(-s * seen / (2 * w)))) - wanted

    low, high = 0.0, _MOST_TIMES * squares
    if missing(high) > 0:
        low = high  # next to no mean cosine is left: the phases mean little, and the factor is the largest
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    across = float(np.mean(w**2 * -np.expm1(-2 * high / w))) / 2
    found = across / float(np.mean(w * np.exp(-high / (2 * w)))) ** 2 * float(np.mean(w))
    return max(1.0, float(np.sqrt(found / squares)))


_ANGLES, _COMPLEX_VALUES = AngleNoise(), ComplexNoise()


def model_of(measurements: Measurements) -> NoiseModel:
    """The model for these measurements: angles with weights, or complex values."""
    return _ANGLES if measurements.modulus is None else _COMPLEX_VALUES
