r"""Section 4 of the paper: linear convergence to the maximum likelihood estimate.

Propositions 3 to 5, Theorem 3, Corollary 2.

:math:`\Sigma(z) = \mathrm{Diag}(|\tilde C z|) - \tilde C`, :math:`\tilde C = C + \tfrac n\alpha I`,
:math:`\rho(z) = \|\Sigma(z) z\|_2` (``result.rho(alpha)``). Conditions and behavior are two different facts: at
n = 1000 Corollary 2 asks for a sigma below 0.006, while the method works up to about 0.5 sqrt(n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.theory.conditions import Condition, Conditions


@dataclass(frozen=True)
class OptimumDistance:
    r"""Proposition 3 or 4: :math:`d_2(z, \cdot) \le \tfrac 8n \rho(z)`."""

    bound: float
    conditions: Conditions


@dataclass(frozen=True)
class ProgressConstants:
    """Proposition 5: sufficient ascent a0, cost-to-go a1, safeguard a2."""

    a0: float
    a1: float
    a2: float
    conditions: Conditions


@dataclass(frozen=True)
class LinearConvergence:
    r"""Theorem 3: :math:`f(\hat z) - f(z^k) \le (f(\hat z) - f(z^0)) \lambda^k` and
    :math:`d_2(z^k, \hat z) \le a\, (f(\hat z) - f(z^0))^{1/2} \lambda^{k/2}`."""

    rate: float
    """lambda, in (0, 1)."""
    factor: float
    """a."""
    constants: ProgressConstants
    conditions: Conditions

    def objective_bounds(self, first_gap: float, iterations: int) -> NDArray[np.float64]:
        r"""Bounds on :math:`f(\hat z) - f(z^k)`, k = 0, 1, ..., from the gap at the start."""
        return first_gap * self.rate ** np.arange(iterations + 1, dtype=np.float64)

    def distance_bounds(self, first_gap: float, iterations: int) -> NDArray[np.float64]:
        r"""Bounds on :math:`d_2(z^k, \hat z)`, k = 0, 1, ..."""
        return self.factor * math.sqrt(first_gap) * self.rate ** (np.arange(iterations + 1) / 2)


def _theorem_3_conditions(statement: str, n: int, alpha: float, op: float, noise_inf: float) -> Conditions:
    return Conditions(
        statement,
        (
            Condition("op <= n^(3/4)/312", op, n**0.75 / 312, "<="),
            Condition("|Delta z*|_inf <= n/24", noise_inf, n / 24, "<="),
            Condition("alpha >= 4", alpha, 4.0, ">="),
            Condition("alpha < n/op", alpha, n / op if op > 0 else math.inf, "<"),
        ),
    )


def optimum_distance_bound(
    n: int, alpha: float, rho: float, op: float, noise_inf: float, truth_distance: float
) -> OptimumDistance:
    r"""Proposition 3: :math:`d_2(z, \hat z) \le \tfrac 8n \rho(z)` for every z with
    :math:`d_2(z, z^\star) \le \sqrt n / 2` (``truth_distance``) and every global maximizer :math:`\hat z`, under the
    conditions of Theorem 3. It makes :math:`\rho`, which costs no product, a measure of progress."""
    base = _theorem_3_conditions("Proposition 3", n, alpha, op, noise_inf)
    near = Condition("d_2(z, z*) <= sqrt(n)/2", truth_distance, math.sqrt(n) / 2, "<=")
    return OptimumDistance(8 / n * rho, Conditions(base.statement, (*base.items, near)))


def critical_distance_bound(
    n: int, alpha: float, rho: float, op: float, noise_inf: float, truth_distance: float
) -> OptimumDistance:
    r"""Proposition 4: the same for every second-order critical point in the place of :math:`\hat z`, if
    :math:`\|\Delta\| \le n^{2/3}/32768`, :math:`\|\Delta z^\star\|_\infty \le n/24` and :math:`\alpha \ge 4`."""
    conditions = Conditions(
        "Proposition 4",
        (
            Condition("op <= n^(2/3)/32768", op, n ** (2 / 3) / 32768, "<="),
            Condition("|Delta z*|_inf <= n/24", noise_inf, n / 24, "<="),
            Condition("alpha >= 4", alpha, 4.0, ">="),
            Condition("d_2(z, z*) <= sqrt(n)/2", truth_distance, math.sqrt(n) / 2, "<="),
        ),
    )
    return OptimumDistance(8 / n * rho, conditions)


def progress_constants(
    n: int, alpha: float, op: float, noise_inf: float, smallest_noise_eigenvalue: float | None = None
) -> ProgressConstants:
    r"""Proposition 5, for the iterates of GPM from :math:`v_C` under the conditions of Theorem 3:

    (a) :math:`f(z^{k+1}) - f(z^k) \ge a_0 \|z^{k+1} - z^k\|_2^2`,
    (b) :math:`f(\hat z) - f(z^k) \le a_1 d_2(z^k, \hat z)^2`,
    (c) :math:`\rho(z^k) \le a_2 \|z^{k+1} - z^k\|_2`.

    :math:`a_0 = \lambda_{\min}(\Delta + \tfrac n\alpha I)`, which depends on the noise, not only on n and alpha as
    stated; without ``smallest_noise_eigenvalue`` the lower bound :math:`\tfrac n\alpha - \|\Delta\|` is used.
    :math:`a_1 = 3n` and :math:`a_2 = \tfrac32 n^{5/4}` are the bounds that the proof ends with.
    """
    smallest = -op if smallest_noise_eigenvalue is None else smallest_noise_eigenvalue
    shift = 0.0 if math.isinf(alpha) else n / alpha
    conditions = _theorem_3_conditions("Proposition 5", n, alpha, op, noise_inf)
    return ProgressConstants(smallest + shift, 3.0 * n, 1.5 * n**1.25, conditions)


def linear_convergence(
    n: int, alpha: float, op: float, noise_inf: float, smallest_noise_eigenvalue: float | None = None
) -> LinearConvergence:
    r"""Theorem 3. With :math:`a' = 64 a_1 a_2^2 / (a_0 n^2)`: :math:`\lambda = (a' - 1)/a'` and
    :math:`a = \sqrt{64 a_2^2 / (a_0 n^2)}`.

    Conditions: :math:`\|\Delta\| \le n^{3/4}/312`, :math:`\|\Delta z^\star\|_\infty \le n/24`,
    :math:`\alpha \in [4, n/\|\Delta\|)`, start :math:`v_C`. The rate is conservative by orders of magnitude.
    """
    constants = progress_constants(n, alpha, op, noise_inf, smallest_noise_eigenvalue)
    conditions = _theorem_3_conditions("Theorem 3", n, alpha, op, noise_inf)
    if constants.a0 <= 0:
        return LinearConvergence(1.0, math.inf, constants, conditions)
    squared = 64 * constants.a2**2 / (constants.a0 * n**2)
    ratio = constants.a1 * squared
    # as in the proof: if the ratio is not above 1, the next iterate is already optimal
    return LinearConvergence(max(0.0, 1 - 1 / ratio), math.sqrt(squared), constants, conditions)


def gaussian_linear_convergence(n: int, sigma: float, alpha: float) -> Conditions:
    r"""Corollary 2: Theorem 3's conclusion with probability at least :math:`1 - 2n^{-5/4} - 2e^{-n/2}` for
    :math:`\Delta = \sigma W`, if :math:`\sigma \le n^{1/4}/936` and :math:`\alpha \in [4, 312 n^{1/4})`."""
    return Conditions(
        "Corollary 2",
        (
            Condition("sigma <= n^(1/4)/936", sigma, n**0.25 / 936, "<="),
            Condition("alpha >= 4", alpha, 4.0, ">="),
            Condition("alpha < 312 n^(1/4)", alpha, 312 * n**0.25, "<"),
        ),
    )
