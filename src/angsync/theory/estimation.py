r"""Section 3 of the paper: the error of every iterate (Propositions 1 and 2, Theorems 1 and 2, Corollary 1).

Sequences of bounds start at k = 0, the starting point, and entry k bounds the error of :math:`z^k`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.circle import distance_and_angle
from angsync.theory.conditions import Condition, Conditions


@dataclass(frozen=True)
class Inequality:
    """Both sides of an inequality ``left <= right``, evaluated."""

    left: float
    right: float

    @property
    def holds(self) -> bool:
        """With a rounding allowance of 1e-12 relative to the right side (and 1e-14 absolute)."""
        return self.left <= self.right * (1 + 1e-12) + 1e-14


@dataclass(frozen=True)
class L2ErrorBound:
    """Theorem 1, evaluated."""

    mu: float
    nu: float
    bounds: NDArray[np.float64]
    limit: float
    r"""Bound on the error of any accumulation point: :math:`\frac{\nu}{1-\mu} \frac{8 \|\Delta\|}{\sqrt n}`."""
    conditions: Conditions


@dataclass(frozen=True)
class LinfErrorBound:
    """Theorem 2, evaluated."""

    gamma: float
    zeta: float
    omega: float
    bounds: NDArray[np.float64]
    limit: float
    r""":math:`\omega / (1 - \gamma)`."""
    conditions: Conditions


@dataclass(frozen=True)
class GaussianErrorBounds:
    """Corollary 1, evaluated."""

    l2: NDArray[np.float64]
    linf: NDArray[np.float64]
    """With the constant that follows from Theorem 2: 48 alpha / (7 alpha - 8)."""
    linf_as_printed: NDArray[np.float64]
    """With the constant that the paper prints: 48 alpha / (7 alpha + 8)."""
    expected_square: NDArray[np.float64]
    """Bound on the expected squared l2 error of the iterates, from k = 1 on (entry 0 bounds the start)."""
    probability: float
    """The bounds hold with at least this probability."""
    conditions: Conditions


@dataclass(frozen=True)
class OneStep:
    """Proposition 2, evaluated at one iterate."""

    beta: complex
    identity_error: float
    r"""Relative size of :math:`w^k - g^k e^{\mathrm i \theta_k}`, which is 0 in exact arithmetic."""
    inequality: Inequality


def normalization_bound(w: ArrayLike, z: ArrayLike, q: float) -> Inequality:
    r"""Proposition 1: :math:`\| w/|w| - z \|_q \le 2 \|w - z\|_q`, any w, any z in :math:`T^n`; :math:`0/|0| = 0`."""
    w, z = np.asarray(w, dtype=complex), np.asarray(z, dtype=complex)
    modulus = np.abs(w)
    unit = np.divide(w, modulus, out=np.zeros_like(w), where=modulus > 0)
    return Inequality(float(np.linalg.norm(unit - z, ord=q)), 2 * float(np.linalg.norm(w - z, ord=q)))


def one_step_bound(
    noise: ArrayLike, truth: ArrayLike, z: ArrayLike, alpha: float, q: float = 2, r: complex | None = None
) -> OneStep:
    r"""Proposition 2: :math:`d_q(z^{k+1}, z^\star) \le 2 \| r g^k - z^\star \|_q` for every complex r.

    With :math:`\theta_k` the best alignment of :math:`z^k` in the q-norm,
    :math:`\epsilon^k = e^{-\mathrm i\theta_k} z^k - z^\star`,
    :math:`\beta_k = 1 + \alpha + \tfrac\alpha n (z^\star)^H \epsilon^k` and
    :math:`g^k = \beta_k z^\star + (I + \tfrac\alpha n \Delta)\epsilon^k + \tfrac\alpha n \Delta z^\star`. The default r
    is :math:`1/\beta_k`, as in the proofs of the theorems.
    """
    noise, truth, z = (np.asarray(x, dtype=complex) for x in (noise, truth, z))
    n = truth.size
    step = alpha / n
    _, theta = distance_and_angle(z, truth, q)
    turn = np.exp(1j * theta)
    epsilon = z / turn - truth
    beta = complex(1 + alpha + step * np.vdot(truth, epsilon))
    g = beta * truth + epsilon + step * (noise @ (epsilon + truth))
    w = z + step * (truth * np.vdot(truth, z) + noise @ z)
    following = np.divide(w, np.abs(w), out=z.copy(), where=np.abs(w) > 0)
    factor = (1 / beta if beta != 0 else 0.0) if r is None else r
    left = distance_and_angle(following, truth, q)[0]
    right = 2 * float(np.linalg.norm(factor * g - truth, ord=q))
    identity = float(np.linalg.norm(w - g * turn) / np.linalg.norm(w))
    return OneStep(beta, identity, Inequality(left, right))


def _noise_conditions(statement: str, n: int, alpha: float, op: float) -> Conditions:
    return Conditions(statement, (Condition("op <= n/16", op, n / 16, "<="), Condition("alpha >= 2", alpha, 2.0, ">=")))


def _l2_constants(n: int, alpha: float, op: float) -> tuple[float, float]:
    """mu and nu of Theorem 1; their limits for alpha = inf."""
    if math.isinf(alpha):
        return 16 * op / (7 * n), 2 / 7
    return 16 * (alpha * op + n) / ((7 * alpha + 8) * n), 2 * alpha / (7 * alpha + 8)


def l2_error_bound(
    n: int, alpha: float, op: float, iterations: int = 20, start_error: float | None = None
) -> L2ErrorBound:
    r"""Theorem 1: :math:`d_2(z^k, z^\star) \le \mu^k d_2(z^0, z^\star) + \frac{\nu}{1-\mu}\frac{8\|\Delta\|}{\sqrt n}`.

    .. math:: \mu = \frac{16(\alpha \|\Delta\| + n)}{(7\alpha + 8) n}, \qquad \nu = \frac{2\alpha}{7\alpha + 8}

    for GPM started at :math:`v_C`, if :math:`\|\Delta\| \le n/16` and :math:`\alpha \ge 2`. ``start_error`` is
    :math:`d_2(z^0, z^\star)`; Fact 1's bound unless given. Convergence is not assumed.
    """
    mu, nu = _l2_constants(n, alpha, op)
    initial = 8 * op / math.sqrt(n)
    start = initial if start_error is None else start_error
    limit = nu / (1 - mu) * initial if mu < 1 else math.inf
    k = np.arange(iterations + 1, dtype=np.float64)
    bounds = mu**k * start + limit
    bounds[0] = start
    return L2ErrorBound(mu, nu, bounds, limit, _noise_conditions("Theorem 1", n, alpha, op))


def linf_error_bound(
    n: int, alpha: float, op: float, noise_inf: float, iterations: int = 20, start_error: float | None = None
) -> LinfErrorBound:
    r"""Theorem 2: :math:`d_\infty(z^{k+1}, z^\star) \le \gamma^{k+1} d_\infty(z^0, z^\star)
    + \frac{\zeta \mu^k}{1 - \gamma/\mu} + \frac{\omega}{1 - \gamma}`.

    .. math:: \gamma = \frac{16}{7\alpha + 8}, \quad
       \zeta = \frac{128 \alpha \|\Delta\|^2}{(7\alpha + 8) n^{3/2}}, \quad
       \omega = \frac{16\alpha}{7\alpha+8} \left( \frac{\nu}{1-\mu} \frac{8\|\Delta\|^2}{n^{3/2}}
       + \frac{\|\Delta z^\star\|_\infty}{n} \right)

    under the conditions of Theorem 1. ``noise_inf`` is :math:`\|\Delta z^\star\|_\infty`; ``start_error`` is
    :math:`d_\infty(z^0, z^\star)`, at most 2, which is used unless given. As :math:`1 - \gamma/\mu =
    \alpha\|\Delta\|/(\alpha\|\Delta\| + n)`, the middle term is evaluated as
    :math:`\tfrac{128 \|\Delta\| (\alpha\|\Delta\| + n)}{(7\alpha+8) n^{3/2}} \mu^k`, which is 0, not 0/0, without
    noise.

    Small print: the proof bounds the 2-norm of an error that is aligned in the infinity norm by Theorem 1, which is
    about the alignment in the 2-norm.
    """
    mu, nu = _l2_constants(n, alpha, op)
    power = n**1.5
    if math.isinf(alpha):
        gamma, share, middle = 0.0, 16 / 7, 128 * op * op / (7 * power)
    else:
        gamma, share = 16 / (7 * alpha + 8), 16 * alpha / (7 * alpha + 8)
        middle = 128 * op * (alpha * op + n) / ((7 * alpha + 8) * power)
    zeta = 8 * share * op * op / power
    omega = share * ((nu / (1 - mu) if mu < 1 else math.inf) * 8 * op * op / power + noise_inf / n) if op > 0 else 0.0
    start = 2.0 if start_error is None else start_error
    limit = omega / (1 - gamma) if gamma < 1 else math.inf
    k = np.arange(iterations + 1, dtype=np.float64)
    bounds = gamma**k * start + middle * mu ** np.maximum(k - 1, 0) + limit
    bounds[0] = start
    return LinfErrorBound(gamma, zeta, omega, bounds, limit, _noise_conditions("Theorem 2", n, alpha, op))


def gaussian_probability(n: int) -> float:
    r"""Probability :math:`1 - 2 n^{-5/4} - 2 e^{-n/2}` with which :math:`\|W\| \le 3\sqrt n` and
    :math:`\|W z^\star\|_\infty \le 3 \sqrt{n \log n}` (Bandeira, Boumal and Singer, Proposition 3.3)."""
    return 1 - 2 * n**-1.25 - 2 * math.exp(-n / 2)


def gaussian_error_bounds(
    n: int,
    sigma: float,
    alpha: float,
    iterations: int = 20,
    start_l2: float | None = None,
    start_linf: float | None = None,
) -> GaussianErrorBounds:
    r"""Corollary 1, for :math:`\Delta = \sigma W` with W Wigner (:math:`E|W_{jl}|^2 = 1`),
    :math:`\sigma \le \sqrt n / 48` and :math:`\alpha \ge 2`:

    .. math::
       d_2(z^{k+1}, z^\star) &\le \tau^{k+1} d_2(z^0, z^\star) + \tfrac{24\alpha}{3\alpha - 4}\sigma,
       \qquad \tau = \tfrac{\alpha+16}{7\alpha+8} \\
       d_\infty(z^{k+1}, z^\star) &\le \gamma^{k+1} d_\infty(z^0, z^\star) + \tau^{k+1} \tfrac{\sqrt n}{2}
       + c \left( \sqrt{\log n} + \tfrac{24\alpha}{3\alpha-4} \sigma \right) \tfrac{\sigma}{\sqrt n}

    with probability at least :math:`1 - 2n^{-5/4} - 2e^{-n/2}`. Theorem 2 yields
    :math:`c = 48\alpha/(7\alpha - 8)`; the paper prints :math:`48\alpha/(7\alpha + 8)`. Both are given.

    The expected square:
    :math:`E\,d_2^2 \le 1152\, p\, [\tau^{2(k+1)} + (\alpha/(3\alpha-4))^2] \sigma^2 + (1-p)\, 2n`. It does not go to 0
    with sigma, so the paper's :math:`(c_1 + c_2 \tau^k)\sigma^2` cannot hold for all sigma; and 'on the order of
    sigma' after the corollary means :math:`\sigma^2`.
    """
    if math.isinf(alpha):
        tau, gamma, plateau, derived, printed, square = 1 / 7, 0.0, 8.0, 48 / 7, 48 / 7, 1 / 9
    else:
        tau, gamma = (alpha + 16) / (7 * alpha + 8), 16 / (7 * alpha + 8)
        plateau = 24 * alpha / (3 * alpha - 4) if alpha > 4 / 3 else math.inf
        derived = 48 * alpha / (7 * alpha - 8) if alpha > 8 / 7 else math.inf
        printed = 48 * alpha / (7 * alpha + 8)
        square = (alpha / (3 * alpha - 4)) ** 2 if alpha > 4 / 3 else math.inf
    first_l2 = 24 * sigma if start_l2 is None else start_l2
    first_linf = 2.0 if start_linf is None else start_linf
    k = np.arange(iterations + 1, dtype=np.float64)
    l2 = tau**k * first_l2 + plateau * sigma
    l2[0] = first_l2
    tail = (math.sqrt(math.log(n)) + plateau * sigma) * sigma / math.sqrt(n)
    linf, as_printed = (gamma**k * first_linf + tau**k * math.sqrt(n) / 2 + c * tail for c in (derived, printed))
    linf[0] = as_printed[0] = first_linf
    p = max(0.0, gaussian_probability(n))
    expected = 1152 * p * (tau ** (2 * k) + square) * sigma**2 + (1 - p) * 2 * n
    conditions = Conditions(
        "Corollary 1",
        (
            Condition("sigma <= sqrt(n)/48", sigma, math.sqrt(n) / 48, "<="),
            Condition("alpha >= 2", alpha, 2.0, ">="),
        ),
    )
    return GaussianErrorBounds(l2, linf, as_printed, expected, p, conditions)
