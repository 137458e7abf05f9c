r"""Facts 1 to 4 of the paper (section 2). ``op`` is :math:`\|\Delta\|_{op}`, the operator norm of the noise.

They are about :math:`C = z^\star (z^\star)^H + \Delta` with a Hermitian :math:`\Delta` of zero diagonal, that is, about
a matrix with unit diagonal; problems built from measured pairs have diagonal 0, which shifts f by n and changes nothing
else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from angsync.theory.conditions import Condition, Conditions


@dataclass(frozen=True)
class DistanceBound:
    """An upper bound on a distance :math:`d_2`."""

    bound: float
    conditions: Conditions


@dataclass(frozen=True)
class ConvergenceRatios:
    """Fact 2 has no constants, so no yes or no can be given: small ratios favor it, and that is all."""

    op_ratio: float
    r""":math:`\|\Delta\|_{op} / n^{2/3}`"""
    noise_inf_ratio: float
    r""":math:`\|\Delta z^\star\|_\infty / (n^{2/3} \sqrt{\log n})`"""
    largest_alpha: float
    r""":math:`n / \|\Delta\|_{op}`, the step size that Fact 2 allows."""


@dataclass(frozen=True)
class CriticalPointBounds:
    """Fact 4: how near a second-order critical point is to the truth."""

    overlap: float
    r"""Lower bound on :math:`|(z^\star)^H \tilde z|`."""
    distance: float
    r"""Upper bound on :math:`d_2(\tilde z, z^\star)`."""
    conditions: Conditions


def eigenvector_error_bound(n: int, op: float) -> DistanceBound:
    r"""Fact 1: :math:`d_2(v_C, z^\star) \le 8 \|\Delta\|_{op} / \sqrt n`, without a condition."""
    return DistanceBound(8 * op / math.sqrt(n), Conditions("Fact 1"))


def convergence_ratios(n: int, op: float, noise_inf: float) -> ConvergenceRatios:
    r"""Fact 2 (Boumal's Theorem 3): GPM converges if :math:`\|\Delta\|_{op} = O(n^{2/3})` and
    :math:`\|\Delta z^\star\|_\infty = O(n^{2/3} \sqrt{\log n})`; reported as ratios."""
    root = n ** (2 / 3)
    spread = math.sqrt(math.log(n)) if n > 1 else math.nan
    return ConvergenceRatios(op / root, noise_inf / (root * spread), n / op if op > 0 else math.inf)


def maximizer_error_bound(n: int, op: float) -> DistanceBound:
    r"""Fact 3: :math:`d_2(\hat z, z^\star) \le 4 \|\Delta\|_{op} / \sqrt n` for any :math:`\hat z` with
    :math:`\|\hat z\|_2^2 = n` and :math:`f(\hat z) \ge f(z^\star)`, such as a global maximizer."""
    return DistanceBound(4 * op / math.sqrt(n), Conditions("Fact 3"))


def critical_point_bounds(n: int, op: float) -> CriticalPointBounds:
    r"""Fact 4: :math:`|(z^\star)^H \tilde z| \ge n - 4 \|\Delta\|_{op}` and
    :math:`d_2(\tilde z, z^\star) \le \sqrt{8 \|\Delta\|_{op}}` if :math:`\|\Delta\|_{op} \le n/16`.

    :math:`\tilde z` must be critical to first *and* second order (:func:`angsync.problem.criticality.criticality`): the
    curvature alone, as the paper defines it, is not enough (n = 2, :math:`C_{12} = e^{\mathrm i}`, z = (1, 1)), and
    the fixed-point identities of the same fact need :math:`C_{jj} \ge 0`.
    """
    conditions = Conditions("Fact 4", (Condition("op <= n/16", op, n / 16, "<="),))
    return CriticalPointBounds(n - 4 * op, math.sqrt(8 * op), conditions)
