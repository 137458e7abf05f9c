"""Rounding errors of what a certificate is computed from: the products with C, f, the gradient, S."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds.eliminated import EliminatedUnknowns
from angsync.certificate.bounds.lanczos import Krylov, lanczos
from angsync.kernels.rounding import gamma, precision
from angsync.problem.operators import Operator
from angsync.problem.residual import norm

# Units of rounding, relative to the row sum, in which a turned product may differ from that of the turned point: five
# for the phases before and after (two products and a division each), five for the phase itself (a mean of such
# products), three for the product with it; twice that, to be safe.
_TURNING = 26


class NormOfC(NamedTuple):
    """What is known of the 2-norm of a C that is known by its products."""

    allowed: float
    """What rounding is taken relative to: about the norm, or more."""
    proved: float = math.inf
    """A bound on the norm, with the probability of a proof; infinite where there is none."""


@dataclass(frozen=True)
class Rounding:
    """Bounds on the rounding errors of the quantities that the gap is made of."""

    objective: float
    rows: NDArray[np.float64]
    """Error of each entry of conj(z) C z, hence of each s_j and each b_j."""

    together: float = 0.0
    """Further error of the vector conj(z) C z, in norm: what the solve for eliminated unknowns adds."""
    least_diagonal: float = -math.inf
    """No C_jj is below this; known here only where the diagonal of C would take n products."""

    @property
    def eigenvalue(self) -> float:
        """Error of the s_j, hence of every eigenvalue of S."""
        return float(self.rows.max(initial=0.0)) + self.together

    def relative_eigenvalue(self, weights: NDArray[np.float64] | None) -> float:
        """Error of every eigenvalue of D^{-1/2} S D^{-1/2}."""
        return self.eigenvalue if weights is None else float((self.rows / weights).max(initial=0.0))

    @staticmethod
    def of(
        operator: Operator,
        z: NDArray,
        sums: NDArray[np.float64] | None,
        norm_of_C: NormOfC | None,
        *,
        turned: bool = False,
    ) -> Rounding:
        """From the row sums of |C|; where they are not known, from its norm.

        ``turned``: the product is that of another point, which differs from z by one phase and by rounding.
        """
        if sums is None and operator.augmented() is not None:
            return _with_eliminated(operator, z)
        # An entry of C z is an inner product of complex terms, that is, two real ones of twice as many. If no term
        # passes through more than k additions of complex numbers, the error is at most sqrt(2) gamma_2k times the row
        # sum of |C| (Higham, sections 3.1, 3.6 and 4.2; 8 more cover the rounding of z to unit modulus and the product
        # with conj(z)). The sum over j adds that of pairwise summation, below gamma_64.
        if sums is None:
            assert norm_of_C is not None
            error, objective = product_rounding(operator, norm_of_C, turned=turned)
            return Rounding(objective, np.full(operator.n, error), least_diagonal=-norm_of_C.proved)
        g = _share(operator, turned)
        # what was given may differ from C, its upper triangle: f of both by the asymmetry, at z and at the optimum
        return Rounding((g + gamma(64)) * float(sums.sum()) + 2 * operator.asymmetry(), g * sums)


def product_rounding(operator: Operator, norm_of_C: NormOfC, *, turned: bool) -> tuple[float, float]:
    """Where only products are known: the error of each entry of conj(z) C z, and of f.

    Assumed: products are as accurate as those of a matrix of this norm, in the precision of the operator, would be.
    """
    g = _share(operator, turned) * precision(operator.dtype).epsilon * 2.0**52
    return g * norm_of_C.allowed, (g + gamma(64)) * norm_of_C.allowed * operator.n


def _share(operator: Operator, turned: bool) -> float:
    """The error of an entry of conj(z) C z over the row sum of |C|."""
    return math.sqrt(2) * gamma(2 * operator.rounding_length() + 8 + (_TURNING if turned else 0))


def _with_eliminated(operator: Operator, z: NDArray) -> Rounding:
    r"""Where C is a Schur complement: the errors of its sparse products, and of the solve for the eliminated unknowns.

    What matters about the solve is its residual :math:`r = -K_{21} z - K_{22} \hat p`, which is computed for the p that
    the product uses, with the rounding of its own terms added. With :math:`\delta = K_{22}^{-1} r` the error of p, C z
    moves by :math:`K_{12} \delta = X^H r`, :math:`X = K_{22}^{-1} K_{21}`, and f by
    :math:`\hat p^H r - \delta^H K_{22} \delta`.
    """
    elimination = EliminatedUnknowns.of(operator)
    K, n = elimination.K, elimination.n
    p = operator.eliminated(z)
    longest = int(np.diff(K.indptr).max(initial=0))
    g = math.sqrt(2) * gamma(2 * longest + 8)
    sums = abs(K[:n, :n]) @ np.ones(n) + abs(K[:n, n:]) @ np.abs(p)
    terms = abs(K[n:, :n]) @ np.ones(n) + abs(K[n:, n:]) @ np.abs(p)
    left = np.abs(K[n:, :n] @ z + K[n:, n:] @ p) + g * terms
    second = norm(left) * norm(elimination.inverse(left))
    objective = (g + gamma(64)) * float(sums.sum()) + float(np.abs(p) @ left) + 2 * second
    # C = K12 K22^-1 K21 - K11, and the first term has no negative diagonal entry
    least = -float(K[:n, :n].diagonal().real.max(initial=0.0))
    return Rounding(objective, g * sums, elimination.norm * norm(left), least)


def norm_estimate(operator: Operator, rng: np.random.Generator) -> NormOfC:
    """The 2-norm of C from a dozen Lanczos steps from a random start."""
    nothing = np.zeros(operator.n, dtype=np.complex128)
    run = lanczos(operator.apply, nothing, rng, max_steps=12, enough=lambda *_: False)
    size = max(abs(run.smallest), abs(run.largest))
    return NormOfC(1.5 * size, size * _norm_factor(run))


def _norm_factor(run: Krylov) -> float:
    r"""The 2-norm of C is at most this times the largest modulus of a Ritz value, with probability 1 - 1e-12.

    With k steps from b, :math:`b^H C^{2k-2} b = e_1^T T^{2k-2} e_1 \le \theta^{2k-2}`. For a unit eigenvector x of the
    eigenvalue of largest modulus it is at least :math:`\|C\|^{2k-2} |x^H b|^2`, and
    :math:`|x^H b|^2 < \delta / (n - 1)` has probability :math:`\delta` at most
    (:func:`angsync.certificate.bounds.lanczos.lanczos_bound`). 1 % covers the rounding of the run.
    """
    power = 2 * run.alpha.size - 2
    return 1.01 * (run.basis.shape[0] / 1e-12) ** (1 / power) if power else math.inf
