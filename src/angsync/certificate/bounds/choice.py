"""Which proof that S(z) is positive semidefinite on the complement of z for which problem: what ``auto`` takes."""

from __future__ import annotations

from angsync.certificate.bounds import METHODS, ProofName
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.cholesky import by_cholesky, quick_bound
from angsync.certificate.bounds.lanczos import FAILURE, by_lanczos, by_narrow_lanczos
from angsync.kernels.time_limit import OutOfTime
from angsync.solvers.preconditioner import kind_for, strongest_affordable

_DENSE_ANYWAY = 60  # order up to which a dense proof is the fastest of all
_CHOLESKY_FIRST = 200  # order up to which the deterministic proof is the default
_CHOLESKY_AT_ALL = 5000  # order up to which Cholesky is tried when Lanczos cannot decide
_CHOLESKY_NANOSECONDS = 2.0  # times n^3: four factorisations on a slow core. Once begun, nothing stops LAPACK.
_FEW_STEPS = 10  # of Lanczos, where no number of steps that fits memory would prove anything
QUICK_PROOF_ORDERS = range(48, _CHOLESKY_FIRST + 1)
"""Orders of dense problems for which :func:`~angsync.certificate.bounds.cholesky.quick_bound` is tried first."""


def spectral_bound(question: Question, method: ProofName) -> SpectralBound:
    """A lower bound on S over the complement of z by ``method``, or by what suits the problem.

    ``auto`` tries nothing dearer once a bound proves what is asked for.
    """
    return _automatically(question) if method == "auto" else METHODS[method].bound(question)


def _automatically(question: Question) -> SpectralBound:
    operator = question.operator
    factorisable = operator.sparse() is not None or operator.augmented() is not None
    sparse = factorisable and operator.n > _DENSE_ANYWAY
    mixing = kind_for(operator) if sparse else "jacobi"
    if mixing == "jacobi" and operator.n <= _CHOLESKY_FIRST:
        return _by_dense_factorisation(question, quick_first=operator.n in QUICK_PROOF_ORDERS and not sparse)
    bound = _by_lanczos_twice(question) if mixing == "jacobi" else _by_fronts(question)
    if question.is_settled_by(bound) or bound.estimate < 0:
        return bound
    if sparse and mixing == "jacobi" and strongest_affordable(operator) == "direct":
        try:
            second = by_affordable_factorisation(question)
        except OutOfTime:
            return bound
        if second is not None and question.is_settled_by(second):
            return second
    left = question.clock.left
    affordable = left is None or operator.n**3 * _CHOLESKY_NANOSECONDS * 1e-9 <= left
    return by_cholesky(question) if operator.n <= _CHOLESKY_AT_ALL and affordable else bound


def by_affordable_factorisation(question: Question) -> SpectralBound | None:
    """A sparse factorisation, or None where its announced work is too much; loaded when it is used."""
    from angsync.certificate.bounds import factorisation

    return factorisation.by_affordable_factorisation(question)


def _by_fronts(question: Question) -> SpectralBound:
    """A sparse factorisation where its announced work is affordable.

    Where it is not, or shows nothing, the second eigenvalue is too small for any number of Lanczos steps that fits: a
    few of them still find what is clearly wrong.
    """
    bound = by_affordable_factorisation(question)
    if bound is not None and (bound.value > 0 or bound.estimate < 0 or question.operator.n <= _CHOLESKY_AT_ALL):
        return bound
    return by_lanczos(question, failure=FAILURE / 2, max_steps=_FEW_STEPS)


def _by_dense_factorisation(question: Question, *, quick_first: bool) -> SpectralBound:
    if quick_first:
        quick = quick_bound(question.operator, question.z, question.s, question.b)
        if quick is not None and question.is_settled_by(quick):
            return quick
    return by_cholesky(question)


def _by_lanczos_twice(question: Question) -> SpectralBound:
    """Lanczos with the narrow copy of a dense C where there is one, then with C itself where that proved too little.

    Each run may fail with half of the usual probability, so that both together fail with the usual one.
    """
    narrow = by_narrow_lanczos(question, failure=FAILURE / 2)
    if narrow is not None and question.is_settled_by(narrow):
        return narrow
    return by_lanczos(question, failure=FAILURE / 2)
