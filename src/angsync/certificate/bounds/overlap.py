r"""What a Lanczos run proves, whatever its vectors are: the theorem behind every bound with a failure probability.

**Theorem.** Let A be Hermitian, :math:`Ax = \lambda x`, :math:`\|x\| = 1`. Let :math:`v_0, \dots, v_k` be *any* vectors
and :math:`\alpha_j`, :math:`\beta_j > 0` *any* real numbers, and define :math:`f_j` by

.. math:: A v_j = \beta_j v_{j+1} + \alpha_j v_j + \beta_{j-1} v_{j-1} + f_j, \qquad j < k .

T is the tridiagonal matrix of the first k :math:`\alpha` and k - 1 :math:`\beta`, :math:`\theta` its smallest
eigenvalue, G the growth (:mod:`angsync.kernels.lanczos.reference`). If :math:`|x^H f_j| \le F_j + |\lambda| E_j` and
:math:`\lambda \le \mu < \theta`, :math:`\mu \ge 0`, then with
:math:`e = \|F\| / (\theta - \mu) + \max(1, \mu / (\theta - \mu)) \|E\|`

.. math:: |x^H v_0| \le \frac{\sqrt{\sum_{j \le k} \|v_j\|^2} + e}{\sqrt{G(\mu)}} + e .

*Proof.* :math:`p_j = x^H v_j` and :math:`\varphi_j = x^H f_j` satisfy
:math:`(\lambda - \alpha_j) p_j = \beta_j p_{j+1} + \beta_{j-1} p_{j-1} + \varphi_j`. So does
:math:`p' = (-(T - \lambda)^{-1} \varphi, 0)`: these are the rows of :math:`(T - \lambda) p' = -\varphi`, the last one
with :math:`p'_k = 0`. Their difference satisfies the recurrence without :math:`\varphi`, as the
:math:`q_j(\lambda)` do: :math:`p_j - p'_j = c\, q_j(\lambda)`, :math:`c = p_0 - p'_0`. Hence
:math:`|c| \sqrt{G(\lambda)} \le \|p\| + \|p'\|` and :math:`|p_0| \le |c| + \|p'\|`. Here
:math:`\|p\|^2 \le \sum \|v_j\|^2` (and :math:`\|p\| \le \|(v_0, \dots, v_k)\|` where the vectors are nearly
orthonormal), and :math:`\|p'\| \le (\|F\| + |\lambda| \|E\|) / (\theta - \lambda) \le e`, because
:math:`|\lambda| / (\theta - \lambda)` is at most :math:`\mu / (\theta - \mu)` for :math:`\lambda` from 0 to
:math:`\mu` and less than 1 below 0. At last :math:`G(\lambda) \ge G(\mu)`: the zeros of :math:`q_j`,
:math:`j \le k`, are eigenvalues of leading blocks of T, none below :math:`\theta`. ∎

Not used: that the vectors are orthogonal, that T is a projection of A, that errors do not depend on the start, anything
about the other end of the spectrum. x is the eigenvector of A itself, which was fixed before the start was drawn. So a
:math:`\mu` at which the right side is less than what the start's overlap with x exceeds, but for one event of small
probability, is below :math:`\lambda`: one event for all k.

**Rounding of G.** The pivots of T - :math:`\mu` as computed are those of coefficients that differ by 4 units of
rounding at most, for which the theorem holds too: :math:`16 u (|\alpha_j| + \beta_j + \beta_{j-1} + \mu)` times
the largest :math:`\|v_j\|` is added to :math:`F_j`; 64 units of the size of T come off :math:`\theta`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.rounding import UNIT_ROUNDOFF

_OF_G = 1e-9  # relative error of a computed growth: six units of rounding a step are far less


@dataclass(frozen=True)
class Recurrence:
    """The coefficients of k steps of a run, and bounds on what they leave open."""

    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    """k numbers each."""
    norms: NDArray[np.float64]
    """Upper bounds on the norms of the k + 1 vectors."""
    F: NDArray[np.float64]
    E: NDArray[np.float64]

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue of T, rounded down."""
        size = float(np.abs(self.alpha).max()) + 2 * float(self.beta[:-1].max(initial=0.0))
        return kernels.smallest_ritz_value(self.alpha, self.beta) - 64 * UNIT_ROUNDOFF * size

    def error(self, shift: float, smallest: float) -> float:
        """e of the theorem at this shift."""
        before = np.concatenate([[0.0], self.beta[:-1]])
        grain = 16 * UNIT_ROUNDOFF * float(self.norms.max())
        F = self.F + grain * (np.abs(self.alpha) + self.beta + before + shift)
        away = smallest - shift
        return _norm(F) / away + max(1.0, shift / away) * _norm(self.E)

    def largest_overlap(self, shift: float, smallest: float) -> float:
        """Bound on |x^H v_0| of an eigenvector with an eigenvalue not above the shift; infinite where there is none."""
        growth = kernels.growth(self.alpha, self.beta, shift) if 0 <= shift < smallest else -1.0
        if not growth > 0:
            return math.inf
        e = self.error(shift, smallest)
        return ((_norm(self.norms) + e) / math.sqrt(growth) + e) * (1 + _OF_G)


def _norm(x: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.einsum("i,i->", x, x)))
