"""Rounding errors of what a certificate is computed from: the products with C, f, the gradient, S."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds.eliminated import EliminatedUnknowns
from angsync.certificate.bounds.lanczos import lanczos
from angsync.kernels.rounding import gamma
from angsync.problem.operators import Operator
from angsync.problem.residual import norm

# Units of rounding, relative to the row sum, in which a turned product may differ from that of the turned point: five
# for the phases before and after (two products and a division each), five for the phase itself (a mean of such
# products), three for the product with it; twice that, to be safe.
_TURNING = 26


@dataclass(frozen=True)
class Rounding:
    """Bounds on the rounding errors of the quantities that the gap is made of."""

    objective: float
    rows: NDArray[np.float64]
    """Error of each entry of conj(z) C z, hence of each s_j and each b_j."""

    together: float = 0.0
    """Further error of the vector conj(z) C z, in norm: what the solve for eliminated unknowns adds."""

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
        norm_of_C: float,
        *,
        turned: bool = False,
    ) -> Rounding:
        """From the row sums of |C|; where they are not known, from its norm.

        ``turned``: the product is that of another point, which differs from z by one phase and by rounding.
        """
        if sums is None and operator.augmented() is not None:
            return _with_eliminated(operator, z)
        # An entry of C z is an inner product of k terms, that is, two real ones of 2 k terms: its error is at most
        # sqrt(2) gamma_2k times the row sum of |C| (Higham, sections 3.1 and 3.6; 8 more cover the rounding of z to
        # unit modulus and the product with conj(z)). The sum over j adds that of pairwise summation, below gamma_64.
        g = math.sqrt(2) * gamma(2 * operator.row_length() + 8 + (_TURNING if turned else 0))
        if sums is None:
            # Only products are known. Assumed: they are as accurate as those of a matrix of this norm, in the
            # precision of the operator, would be.
            g *= float(np.finfo(operator.dtype).eps) * 2.0**52
            sums = np.full(operator.n, norm_of_C)
        return Rounding((g + gamma(64)) * float(sums.sum()), g * sums)


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
    return Rounding(objective, g * sums, elimination.norm * norm(left))


def norm_estimate(operator: Operator, rng: np.random.Generator) -> float:
    """About the 2-norm of C, from a dozen Lanczos steps; used for rounding allowances only."""
    nothing = np.zeros(operator.n, dtype=np.complex128)
    run = lanczos(operator.apply, nothing, rng, max_steps=12, enough=lambda *_: False)
    return 1.5 * max(abs(run.smallest), abs(run.largest))
