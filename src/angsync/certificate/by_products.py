"""The certificate of a C that is known by its products, with few of them and little else: one short run of Lanczos.

What is proved, and how, is in :mod:`angsync.certificate.certify` and :mod:`angsync.certificate.bounds.lanczos`. Here
the same formulas are about numbers instead of arrays: at n = 300 the general way takes longer than a dozen products.
The run begins at a vector whose product is known. Where it proves nothing, the general way follows.
"""

from __future__ import annotations

import math

from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate.bounds.choice import QUICK_PROOF_ORDERS
from angsync.certificate.bounds.lanczos import FAILURE, growth_and_loss, rounding_of_product
from angsync.certificate.certify import ENOUGH, FIRST_NORM
from angsync.certificate.gap import is_unique, least_value, smallest_eigenvalue
from angsync.certificate.rounding import NormOfC, product_rounding
from angsync.certificate.verdict import Certificate, Verdict
from angsync.kernels.lanczos.reference import PointSeen, RunEnding
from angsync.problem.operators import Operator

_STEPS = 60  # at most: 18 are usual at a noise of 0.3 sqrt(n). What is not proved by then is likely to take hundreds.
# The vector is taken as a start where its part along z is at most this share a of what is left (which has any direction
# with the same probability, however much was along z). The product of the start, made of two, then has
# (1 + a^2)^(1/2) + a times the rounding of one, less than sqrt(2).
_LITTLE, _TWO_PRODUCTS = 0.3, math.sqrt(2)
# Shares of the usual probability of a failure: for the smallest eigenvalue, for the largest (which costs no step, but
# a little of the bound on rounding), and for the general way that may follow.
_LOWER, _UPPER, LEFT = 0.8, 0.1, 0.1
_LITTLE_LOST = 2e-4  # of the mean of s: what a step may lose to rounding where a run is to be short


def is_certified_by_products(operator: Operator) -> bool:
    """Whether the short proof is tried: nothing but products is known, and there are too many nodes for Cholesky."""
    return operator.is_known_by_products and operator.n > QUICK_PROOF_ORDERS[-1] and operator.abs_row_sums() is None


def certify_by_products(operator: Operator, z: NDArray, Cz: NDArray, tolerance: float) -> Certificate | None:
    """The certificate from the product Cz, the second probe of C, and a run on S; None where that proves nothing.

    The probe has served for nothing but the check that C is Hermitian: it has nothing to do with z.
    """
    n = operator.n
    vectors, images = operator.probes()
    looked = kernels.look_at_point(operator.apply, z, Cz, vectors[1], images[1])
    if looked is None:
        return None
    seen, begin = looked
    if not seen.along <= _LITTLE * seen.left:
        return None
    allowed = FIRST_NORM * seen.product / math.sqrt(n)
    numbers = _Numbers(operator, seen, NormOfC(allowed), tolerance)
    error = numbers.error
    least = least_value(ENOUGH * tolerance * numbers.scale, n, numbers.gradient, numbers.rounding)
    rounding = _TWO_PRODUCTS * rounding_of_product(error, operator.rounding_length(), seen.largest)
    limit, rate = growth_and_loss(n, _LOWER * FAILURE, sharp=True)
    if not rate * rounding <= _LITTLE_LOST * abs(seen.objective) / n:
        limit, rate = growth_and_loss(n, _LOWER * FAILURE)
    run = begin(min(_STEPS, n - 2))
    ending = run.advance(_STEPS, kernels.Goal(least + error, limit, 1.25 * rate * rounding, give_up=True))
    operator.count(run.steps - 1)
    if ending is not RunEnding.REACHED or run.drift > 1:
        return None
    lost = rate * (rounding * math.sqrt(run.steps) + 1.1 * run.taken)
    value = kernels.proved_by_lanczos(run.alpha, run.beta, limit) - lost
    rarer = _LOWER / _UPPER
    largest = math.sqrt(rarer) * lost - kernels.proved_by_lanczos(-run.alpha, run.beta, rarer * limit)
    proved = seen.largest + max(abs(value), abs(largest)) + seen.gradient / math.sqrt(n)
    if not proved <= allowed:  # the run allowed too little for rounding
        return None
    return _Numbers(operator, seen, NormOfC(proved, proved), tolerance).certificate(value, seen.highest)


class _Numbers:
    """The numbers of :class:`~angsync.certificate.certify._Point` for a C whose rows are all taken for alike."""

    def __init__(self, operator: Operator, seen: PointSeen, norm_of_C: NormOfC, tolerance: float) -> None:
        self.n, self.tolerance, self.norm_of_C = operator.n, tolerance, norm_of_C
        self.error, self.rounding = product_rounding(operator, norm_of_C, turned=True)
        self.gradient = seen.gradient + math.sqrt(self.n) * self.error
        self.scale = max(abs(seen.objective), 4 * self.rounding / tolerance)

    def certificate(self, value: float, highest: float) -> Certificate | None:
        """The certificate where S is proved to be ``value`` or more on the complement of z, and certifies the point."""
        n, offset = self.n, self.rounding / self.n
        lowest = smallest_eigenvalue(value, self.gradient / math.sqrt(n), offset)
        gap = n * max(0.0, -lowest) + self.rounding
        if not gap <= self.tolerance * self.scale:
            return None
        curvature = highest + self.norm_of_C.proved
        return Certificate(
            verdict=Verdict.CERTIFIED,
            gap_bound=gap,
            relative_gap=gap / self.scale,
            lambda_min=lowest - self.error,
            lambda_2=value - self.error,
            unique=value > offset and is_unique(value - offset, curvature, self.gradient, n, offset),
            witness=None,
            method="lanczos",
            confidence=1 - FAILURE,
            tolerance=self.tolerance,
            scale=self.scale,
            rounding=self.rounding,
        )
