"""Which proof that S(z) is positive semidefinite on the complement of z for which problem: what ``auto`` takes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds import METHODS, ProofName
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.cholesky import by_cholesky, quick_bound
from angsync.certificate.bounds.lanczos import FAILURE, by_lanczos, by_narrow_lanczos
from angsync.kernels.time_limit import OutOfTime, until
from angsync.problem.operators import Operator
from angsync.solvers.preconditioner import kind_for
from angsync.solvers.stopping import Clock

_DENSE_ANYWAY = 60  # order up to which a dense proof is the fastest of all
_CHOLESKY_FIRST = 200  # order up to which the deterministic proof is the default
_CHOLESKY_AT_ALL = 5000  # order up to which Cholesky is tried when Lanczos cannot decide
_CHOLESKY_NANOSECONDS = 2.0  # times n^3: four factorizations on a slow core. Once begun, nothing stops LAPACK.
_FEW_STEPS = 10  # of Lanczos, where no number of steps that fits memory would prove anything
# Floating-point operations of a sparse factorization that is tried beside the proof itself: 15 s. A grid of a million
# nodes has 5e10.
_QUICK_WORK = 2.5e11
_QUICK_PROOF_ORDERS = range(48, _CHOLESKY_FIRST + 1)
"""Orders of dense problems for which :func:`~angsync.certificate.bounds.cholesky.quick_bound` is tried first."""


def spectral_bound(question: Question, method: ProofName) -> SpectralBound:
    """A lower bound on S over the complement of z by ``method``, or by what suits the problem.

    ``auto`` tries nothing dearer once a bound proves what is asked for.
    """
    return _automatically(question) if method == "auto" else METHODS[method].bound(question)


def _automatically(question: Question) -> SpectralBound:
    operator = question.operator
    factorizable = operator.sparse() is not None or operator.augmented() is not None
    sparse = factorizable and operator.n > _DENSE_ANYWAY
    mixing = kind_for(operator) if sparse else "jacobi"
    if mixing == "jacobi" and operator.n <= _CHOLESKY_FIRST:
        return _by_dense_factorization(question, quick_first=operator.n in _QUICK_PROOF_ORDERS and not sparse)
    bound = _by_lanczos_twice(question) if mixing == "jacobi" else _by_fronts(question)
    if question.is_settled_by(bound) or bound.estimate < 0:
        return bound
    if sparse and mixing == "jacobi":
        try:
            second = by_affordable_factorization(question)
        except OutOfTime:
            return bound
        if second is not None and question.is_settled_by(second):
            return second
    left = question.clock.left
    affordable = left is None or operator.n**3 * _CHOLESKY_NANOSECONDS * 1e-9 <= left
    return by_cholesky(question) if operator.n <= _CHOLESKY_AT_ALL and affordable else bound


def by_affordable_factorization(question: Question, *, largest_work: float | None = None) -> SpectralBound | None:
    """A sparse factorization, or None where its announced work is too much; loaded when it is used."""
    from angsync.certificate.bounds import factorization

    work = factorization.LARGEST_WORK if largest_work is None else largest_work
    return factorization.by_affordable_factorization(question, largest_work=work)


def weighted_bound(question: Question) -> SpectralBound:
    """A bound in which every node counts by its own weight; none at all if that takes too long.

    The factorization proves S to be a multiple of D, the weights of the nodes, where other bounds see the heavy ones.
    """
    known = question.operator.entries() is not None
    found = by_affordable_factorization(question, largest_work=_QUICK_WORK) if known else None
    return found or SpectralBound(-math.inf, 1.0, "factorization", question.z, 0.0)


def gap_left_open(operator: Operator, s: NDArray[np.float64], clock: Clock) -> float:
    """A bound on what f* has beyond the sum of s where S is not semidefinite; infinite where none is affordable.

    For sparse graphs that mix slowly, whose factorizations take little beside a solve.
    """
    if operator.sparse() is None or operator.n <= _DENSE_ANYWAY or kind_for(operator) == "jacobi":
        return math.inf
    from angsync.certificate.bounds import factorization

    try:
        with until(clock):
            return factorization.affordable_raised_gap(operator, s, largest_work=_QUICK_WORK)
    except OutOfTime:
        return math.inf


def _by_fronts(question: Question) -> SpectralBound:
    """Return the bound by a sparse factorization if the dissection announces that it is affordable.

    If it is not, or stopped without a direction in which to look for a better point, a few steps of Lanczos are the
    last resort: on graphs that mix slowly they prove nothing, but still find what is clearly wrong.
    """
    bound = by_affordable_factorization(question)
    small = question.operator.n <= _CHOLESKY_AT_ALL
    if bound is not None and (bound.value > 0 or bound.estimate < 0 or small or question.is_proof(bound)):
        return bound
    return by_lanczos(question, failure=FAILURE / 2, max_steps=_FEW_STEPS)


def _by_dense_factorization(question: Question, *, quick_first: bool) -> SpectralBound:
    if quick_first:
        quick = quick_bound(question.operator, question.z, question.s, question.b)
        if quick is not None and question.is_settled_by(quick):
            return quick
    return by_cholesky(question)


def _by_lanczos_twice(question: Question) -> SpectralBound:
    """Lanczos with the narrow copy of a dense C where there is one, then with C itself where that proved too little.

    Each of two runs may fail with half of the usual probability, so that both together fail with the usual one.
    """
    narrow = by_narrow_lanczos(question, failure=FAILURE / 2)
    if narrow is None:
        return by_lanczos(question)
    if question.is_settled_by(narrow):
        return narrow
    return by_lanczos(question, failure=FAILURE / 2)
