r"""The gap f* - f(z) from a bound on the spectrum of S(z), rounding errors included.

The sharp route. Let :math:`u = z/\sqrt n` and :math:`\nu \le x^H S x` for all unit x orthogonal to z. As
:math:`u^H S u = 0` and :math:`\|Su\| = e`, S is at least the 2 x 2 matrix with diagonal
:math:`(0, \nu)` and off-diagonal e on the span of u and any such x, hence

.. math:: f^* - f(z) \le \tfrac n2 \left( \sqrt{\nu^2 + 4 e^2} - \nu \right),

second order in the gradient. Note that :math:`\nu` must bound S *on the complement of z*. A bound
:math:`\mu \le \lambda_2(S)` is not enough for this formula, only for :math:`n e^2 / \mu` (example: n = 2,
:math:`C_{12} = e^{\mathrm{i}}`, z = (1, 1): the gap is 0.919, the formula with :math:`\lambda_2` gives 0.741).
Conversely :math:`\nu > 0` proves :math:`\lambda_2(S) \ge \nu` by interlacing.

A sparse factorization proves :math:`\lambda_2(S) \ge \mu` by interlacing, and a gap of its own
(:mod:`angsync.certificate.bounds.factorization`). From the first alone
:math:`|\lambda_{\min}(S)| \le e^2/\mu`: with :math:`u = a q_1 + c\, q_\perp` the mean m of S on :math:`q_\perp` is at
least :math:`\mu`, :math:`u^H S u = 0` gives :math:`|\lambda_1| = c^2 m / a^2`, and :math:`e^2 \ge a^2 \lambda_1^2 +
c^2 m^2 = c^2 m^2 / a^2 \ge |\lambda_1| \mu`. The same holds for :math:`D^{-1/2} S D^{-1/2}` and :math:`D^{1/2} z`,
which is used where weights span many orders of magnitude.

**Is the optimum unique?** That :math:`\lambda_2(S) > 0` at a nearly optimal z does not say so. Let z^H S z = 0,
:math:`\lambda_2(S) \ge \mu > 0` and :math:`S \succeq -\varepsilon I`, where :math:`n\varepsilon = \|Sz\|^2/\mu`
will do. At an optimum w the gradient vanishes: :math:`\bar w_j (Cw)_j` is real, S(w) w = 0, and
:math:`s_j(z) - s_j(w) = \bar w_j (Sw)_j`. As :math:`w^H S w = f(z) - f(w) \le 0`, Cauchy and Schwarz for
:math:`S + \varepsilon I` give

.. math:: s_j(z) - s_j(w) \le |((S + \varepsilon I) w)_j| \le \sqrt{(S_{jj} + \varepsilon)\, n \varepsilon}.

S(w) is S with its diagonal lowered by no more than that. If :math:`\mu` is larger, :math:`\lambda_2(S(w)) > 0`: 0 is
the smallest eigenvalue of S(w), and a simple one. Another optimum v has :math:`v^H S(w) v = f(w) - f(v) = 0`, so it
is a multiple of w. (``docs/certificate.md`` has the same with D and with rounding.)

The first formula of this text is written a second time in :mod:`angsync.certificate.stacked`, for arrays of problems;
a test compares the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds.bound import SpectralBound
from angsync.certificate.rounding import Rounding
from angsync.problem.residual import norm

# Between these, squares of the numbers of a problem neither under- nor overflow, or are too small to matter.
SQUARES_FROM, SQUARES_TO = 1e-140, 1e140


@dataclass(frozen=True)
class Gap:
    """What a spectral bound proves about the gap of one point."""

    b: NDArray[np.float64]
    """b, half of the gradient: S z = -i b z."""
    misfit: float
    """Another bound on the gap: f is at most the sum of all moduli."""
    rounding: Rounding
    curvature: NDArray[np.float64] | None = None
    """Upper bounds on the diagonal of S, which uniqueness needs."""

    def __call__(self, bound: SpectralBound) -> float:
        """The proved bound on f* - f(z)."""
        trace = self._trace(bound)
        spectral = trace * max(0.0, -self.smallest_eigenvalue(bound))
        return min(spectral, bound.gap, self.misfit) + self.rounding.objective

    def least_value(self, most: float) -> float:
        """The least value of S on the complement of z, without weights, for which the gap is ``most``."""
        rounding = self.rounding.objective
        return 0.0 if self.misfit <= most - rounding else least_value(most, self.b.size, self._gradient, rounding)

    def _trace(self, bound: SpectralBound) -> float:
        return float(self.b.size) if bound.weights is None else float(bound.weights.sum())

    def _gradient_by(self, root: NDArray[np.float64]) -> float:
        """Bound on the norm of S z, every entry divided by that of ``root``."""
        return norm(self.b / root) + norm(self.rounding.rows / root) + self.rounding.together / float(np.min(root))

    @cached_property
    def _gradient(self) -> float:
        """The bound for a root of ones, kept: a run of Lanczos asks for it again and again."""
        return norm(self.b) + norm(self.rounding.rows) + self.rounding.together

    def _gradient_for(self, bound: SpectralBound) -> float:
        return self._gradient if bound.weights is None else self._gradient_by(np.sqrt(bound.weights))

    def proves_uniqueness(self, bound: SpectralBound) -> bool:
        """Whether the bound proves that the optimum is unique up to a phase (the text of this module).

        The s_j may be any numbers there, so their rounding enters through the gradient and through z^H S z alone, which
        is within +- ``rounding.objective``: that over tr D comes off every entry of D^{-1/2} S D^{-1/2}.
        """
        trace = self._trace(bound)
        offset = self.rounding.objective / trace
        value = bound.value - offset
        if bound.unique:
            return True
        if self.curvature is None or not value > 0:
            return False
        gradient = self._gradient_for(bound)
        if bound.weights is None:
            return is_unique(value, float(self.curvature.max()), gradient, trace, offset)
        lift = _lift(value, gradient, trace, offset)
        most = float(((self.curvature / bound.weights + lift) / bound.weights).max())
        return _is_above(value, most, gradient)

    def smallest_eigenvalue(self, bound: SpectralBound) -> float:
        """Lower bound on the smallest eigenvalue of S (or of D^{-1/2} S D^{-1/2}), u^H S u being within +- offset."""
        value = bound.value
        if value == -math.inf:
            return value
        trace = self._trace(bound)
        e = self._gradient_for(bound) / math.sqrt(trace)
        offset = self.rounding.objective / trace
        if bound.about == "second_eigenvalue":
            # S minus its value at u has u^H S u = 0 and a second eigenvalue that is at most ``offset`` smaller
            return -((e + offset) ** 2) / (value - offset) - offset if value > offset else -math.inf
        return smallest_eigenvalue(value, e, offset)


def smallest_eigenvalue(value: float, e: float, offset: float) -> float:
    """Lower bound on the smallest eigenvalue of S, which is ``value`` or more on the complement of u, |S u| being e."""
    if value <= 0:
        return (value - offset - math.hypot(value + offset, 2 * e)) / 2
    # (value - offset - sqrt((value + offset)^2 + 4 e^2)) / 2 without cancellation
    below = (value - offset + math.hypot(value + offset, 2 * e)) / 2
    if not SQUARES_FROM < below < SQUARES_TO:
        return -(e * (e / below) + offset * (value / below))
    return -(e * e + value * offset) / below


def least_value(most: float, n: int, gradient: float, rounding: float) -> float:
    r"""The least value of S on the complement of z for which the gap is ``most``; infinite where there is none.

    The formula of the text is below q, :math:`q = (\text{most} - \text{rounding}) / n`, once
    :math:`\nu \ge e^2 / (q - o) - q`, u^H S u being within +- o, the rounding over n.
    """
    share, offset, e = (most - rounding) / n, rounding / n, gradient / math.sqrt(n)
    return max(0.0, e * (e / (share - offset)) - share) if share > offset else math.inf


def is_unique(value: float, curvature: float, gradient: float, trace: float, offset: float) -> bool:
    """Whether ``value``, less than S on the complement of z by the offset, proves the optimum to be unique.

    ``curvature`` is a bound on the diagonal of S; ``gradient`` one on the norm of S z.
    """
    return _is_above(value, curvature + _lift(value, gradient, trace, offset), gradient)


def _lift(value: float, gradient: float, trace: float, offset: float) -> float:
    """Epsilon, and what S_jj may lack."""
    ratio = gradient / value
    return offset + ratio * ratio * value / trace


def _is_above(value: float, most: float, gradient: float) -> bool:
    """mu^2 > (S_jj + epsilon) |Sz|^2 / mu; twice, for the rounding of these few numbers."""
    ratio = gradient / value
    return bool(value > 2 * most * ratio * ratio)


def bound_without_weights(value: float, weights: NDArray[np.float64] | None) -> float:
    """A bound on an eigenvalue of S from one on the same eigenvalue of D^{-1/2} S D^{-1/2} (Ostrowski)."""
    if weights is None or not math.isfinite(value):
        return value
    return value * float(weights.min() if value > 0 else weights.max())
