r"""The gap f* - f(z) from a bound on the spectrum of S(z), rounding errors included.

The sharp route. Let :math:`u = z/\sqrt n` and :math:`\nu \le x^H S x` for all unit x orthogonal to z. As
:math:`u^H S u = 0` and :math:`\|Su\| = e`, S is at least the 2 x 2 matrix with diagonal
:math:`(0, \nu)` and off-diagonal e on the span of u and any such x, hence

.. math:: f^* - f(z) \le \tfrac n2 \left( \sqrt{\nu^2 + 4 e^2} - \nu \right),

second order in the gradient. Note that :math:`\nu` must bound S *on the complement of z*. A bound
:math:`\mu \le \lambda_2(S)` is not enough for this formula, only for :math:`n e^2 / \mu` (example: n = 2,
:math:`C_{12} = e^{\mathrm{i}}`, z = (1, 1): the gap is 0.919, the formula with :math:`\lambda_2` gives 0.741).
Conversely :math:`\nu > 0` proves :math:`\lambda_2(S) \ge \nu` by interlacing.

A sparse factorisation proves :math:`\lambda_2(S) \ge \mu` and no more (:mod:`angsync.certificate.bounds.sparse`); then
:math:`|\lambda_{\min}(S)| \le e^2/\mu`: with :math:`u = a q_1 + c\, q_\perp` the mean m of S on :math:`q_\perp` is at
least :math:`\mu`, :math:`u^H S u = 0` gives :math:`|\lambda_1| = c^2 m / a^2`, and
:math:`e^2 \ge a^2 \lambda_1^2 + c^2 m^2 = c^2 m^2 / a^2 \ge |\lambda_1| \mu`. The same holds for
:math:`D^{-1/2} S D^{-1/2}` and :math:`D^{1/2} z`, which is used where weights span many orders of magnitude.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds.krylov import lanczos
from angsync.certificate.bounds.sparse import Elimination
from angsync.certificate.bounds.spectrum import SpectralBound
from angsync.kernels.rounding import gamma
from angsync.problem.measure import norm
from angsync.problem.operators import HermitianOperator, augmented, innermost, row_length

# Units of rounding, relative to the row sum, in which a turned product may differ from that of the turned point: five
# for the phases before and after (two products and a division each), five for the phase itself (a mean of such
# products), three for the product with it; twice that, to be safe.
_TURNING = 26


@dataclass(frozen=True)
class Rounding:
    """Bounds on the rounding errors of the quantities that the gap is made of."""

    objective: float
    rows: NDArray[np.float64]
    """Of the entries of conj(z) C z, one by one: of s_j and of b_j."""

    together: float = 0.0
    """What may be added to the vector of all of them, in norm: the error of unknowns that were eliminated."""

    @property
    def eigenvalue(self) -> float:
        """Of the entries s_j, hence of every eigenvalue of S."""
        return float(self.rows.max(initial=0.0)) + self.together

    def relative_eigenvalue(self, weights: NDArray[np.float64] | None) -> float:
        """Of every eigenvalue of D^{-1/2} S D^{-1/2}."""
        return self.eigenvalue if weights is None else float((self.rows / weights).max(initial=0.0))

    @staticmethod
    def of(
        operator: HermitianOperator,
        z: NDArray,
        sums: NDArray[np.float64] | None,
        rng: np.random.Generator | None,
        *,
        turned: bool = False,
    ) -> Rounding:
        """From the row sums of |C|; ``rng`` is used where they are not known.

        ``turned``: the product is that of another point, which differs from z by one phase and by rounding.
        """
        if sums is None and augmented(operator) is not None:
            return _with_eliminated(operator, z)
        # An entry of C z is an inner product of k terms, that is, two real ones of 2 k terms: its error is at most
        # sqrt(2) gamma_2k times the row sum of |C| (Higham, sections 3.1 and 3.6; 8 more cover the rounding of z to
        # unit modulus and the product with conj(z)). The sum over j adds that of pairwise summation, below gamma_64.
        g = math.sqrt(2) * gamma(2 * row_length(operator) + 8 + (_TURNING if turned else 0))
        if sums is None:
            # Only products are known. Assumed: they are as accurate as those of a matrix of this norm, in the
            # precision of the operator, would be.
            g *= float(np.finfo(operator.dtype).eps) * 2.0**52
            assert rng is not None
            sums = np.full(operator.n, _norm_estimate(operator, rng))
        return Rounding((g + gamma(64)) * float(sums.sum()), g * sums)


def _with_eliminated(operator: HermitianOperator, z: NDArray) -> Rounding:
    r"""Where C is a Schur complement: the errors of its sparse products, and of the solve for the eliminated unknowns.

    What matters about the solve is its residual :math:`r = -K_{21} z - K_{22} \hat p`, which is computed for the p that
    the product uses, with the rounding of its own terms added. With :math:`\delta = K_{22}^{-1} r` the error of p, C z
    moves by :math:`K_{12} \delta = X^H r`, :math:`X = K_{22}^{-1} K_{21}`, and f by
    :math:`\hat p^H r - \delta^H K_{22} \delta`.
    """
    elimination = Elimination.of(operator)
    K, n = elimination.K, elimination.n
    p = innermost(operator)[0].eliminated(z)
    longest = int(np.diff(K.indptr).max(initial=0))
    g = math.sqrt(2) * gamma(2 * longest + 8)
    sums = abs(K[:n, :n]) @ np.ones(n) + abs(K[:n, n:]) @ np.abs(p)
    terms = abs(K[n:, :n]) @ np.ones(n) + abs(K[n:, n:]) @ np.abs(p)
    left = np.abs(K[n:, :n] @ z + K[n:, n:] @ p) + g * terms
    second = norm(left) * norm(elimination.inverse(left))
    objective = (g + gamma(64)) * float(sums.sum()) + float(np.abs(p) @ left) + 2 * second
    return Rounding(objective, g * sums, elimination.norm * norm(left))


def _norm_estimate(operator: HermitianOperator, rng: np.random.Generator) -> float:
    """About the 2-norm of C, from a dozen Lanczos steps; used for rounding allowances only."""
    nothing = np.zeros(operator.n, dtype=np.complex128)
    run = lanczos(operator.apply, nothing, rng, max_steps=12, enough=lambda *_: False)
    return 1.5 * max(abs(run.smallest), abs(run.largest))


@dataclass(frozen=True)
class Gap:
    """What a spectral bound proves about the gap of one point."""

    b: NDArray[np.float64]
    """The gradient: S z = -i b z."""
    misfit: float
    """Another bound on the gap: f is at most the sum of all moduli."""
    rounding: Rounding

    def __call__(self, bound: SpectralBound) -> float:
        """The proved bound on f* - f(z)."""
        trace = self._trace(bound)
        return min(trace * max(0.0, -self.smallest_eigenvalue(bound)), self.misfit) + self.rounding.objective

    def _trace(self, bound: SpectralBound) -> float:
        return float(self.b.size) if bound.weights is None else float(bound.weights.sum())

    def _gradient_by(self, root: NDArray[np.float64]) -> float:
        """Bound on the norm of S z, every entry divided by that of ``root``."""
        return norm(self.b / root) + norm(self.rounding.rows / root) + self.rounding.together / float(np.min(root))

    @cached_property
    def _gradient(self) -> float:
        """The same without weights: a run asks for it again and again."""
        return self._gradient_by(np.ones(1))

    def smallest_eigenvalue(self, bound: SpectralBound) -> float:
        """Lower bound on the smallest eigenvalue of S (or of D^{-1/2} S D^{-1/2}), u^H S u being within +- offset."""
        value = bound.value
        if value == -math.inf:
            return value
        trace = self._trace(bound)
        e = (self._gradient if bound.weights is None else self._gradient_by(np.sqrt(bound.weights))) / math.sqrt(trace)
        offset = self.rounding.objective / trace
        if bound.about == "second":
            # S minus its value at u has u^H S u = 0 and a second eigenvalue that is at most ``offset`` smaller
            return -((e + offset) ** 2) / (value - offset) - offset if value > offset else -math.inf
        if value <= 0:
            return (value - offset - math.hypot(value + offset, 2 * e)) / 2
        # (value - offset - sqrt((value + offset)^2 + 4 e^2)) / 2 without cancellation
        return -(e * e + value * offset) / ((value - offset + math.hypot(value + offset, 2 * e)) / 2)


def unweighted(value: float, weights: NDArray[np.float64] | None) -> float:
    """A bound on an eigenvalue of S from one on the same eigenvalue of D^{-1/2} S D^{-1/2} (Ostrowski)."""
    if weights is None or not math.isfinite(value):
        return value
    return value * float(weights.min() if value > 0 else weights.max())
