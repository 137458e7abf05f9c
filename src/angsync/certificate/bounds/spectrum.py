r"""Proved lower bounds on the spectrum of S(z) with z deflated.

The quantity bounded is :math:`\nu \le \min \{ x^H S x : x \perp z, \|x\| = 1 \}`. Two proofs:

**Cholesky** (deterministic). With :math:`u = z/\sqrt n` and :math:`\tau > 0` form
:math:`M = S + \tau u u^H`; on the complement of z it equals S. If the floating-point Cholesky factorisation
of :math:`A = M - \mu I` runs to completion, its backward error satisfies
:math:`\|\Delta A\|_2 \le \frac{\gamma}{1-\gamma} \mathrm{tr}(A)` (Demmel's bound: Higham, *Accuracy and
Stability of Numerical Algorithms*, 2nd ed., Theorem 10.3 and Problem 10.3 in the form of Rump,
*Verification of positive definiteness*, BIT 46 (2006), Theorem 2.3), so
:math:`M \succeq (\mu - \|\Delta A\|_2 - \|E\|_2) I` where E is the rounding error of forming A entry by entry.
Here :math:`\gamma = \sqrt 2 \gamma_{2n+8}`, :math:`\gamma_k = k u / (1 - k u)`, u the unit roundoff: a complex inner
product of n terms is two real ones of 2n terms each, in whatever order they are summed (Higham, section 3.6).

**Lanczos** (with a stated failure probability). See :func:`lanczos_bound`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate.bounds.krylov import affordable_steps, lanczos, random_start
from angsync.kernels.rounding import UNIT_ROUNDOFF, gamma

_BLOCK_ITERATION_UP_TO = 400  # order up to which the smallest eigenvalue is estimated by inverse iteration on a block
_BLOCK_WIDTH, _BLOCK_STEPS = 6, 4
_LAPACK_UP_TO = 60  # and up to which LAPACK is as fast
_ROUGHLY = 2  # shifts that are not tried where the estimate is good to a few percent only
_ENTRIES_AT_ONCE = 200_000_000  # of products with a dense matrix between two looks at the clock


@dataclass(frozen=True)
class SpectralBound:
    """A lower bound on S over the complement of z, and what is known beside it."""

    value: float
    """Proved: x^H S x >= value for every unit x orthogonal to z (with probability ``confidence``)."""
    confidence: float
    method: str
    direction: NDArray
    """A unit vector orthogonal to z along which x^H S x is nearly smallest: where to look for an escape."""
    estimate: float
    """x^H S x at ``direction``: an upper bound for the same minimum, not a proof of anything below it."""
    about: Literal["complement", "second"] = "complement"
    """What ``value`` bounds: S on the complement of z, or only its second eigenvalue."""
    weights: NDArray[np.float64] | None = None
    """D, where ``value`` is about D^{-1/2} S D^{-1/2}."""


def lanczos_bound(
    product: Callable[[NDArray], NDArray],
    z: NDArray,
    rng: np.random.Generator,
    *,
    failure: float = 1e-10,
    max_steps: int = 400,
    good_enough: Callable[[float], bool],
    rounding: float,
    give_up: bool = False,
) -> SpectralBound:
    r"""Lower bound from one Lanczos run on the complement of z, failing with probability at most ``failure``.

    Let x be a unit eigenvector of the smallest eigenvalue :math:`\lambda_1` on the complement, of dimension N, and b
    the start: a complex Gaussian vector, projected and scaled, hence uniform on the sphere. :math:`|x^H b|^2` is
    Beta(1, N - 1), whose distribution function at t is at most (N - 1) t; so outside one event of probability
    :math:`\delta`, :math:`|x^H b|^2 \ge \delta / (N - 1) = 1/L`. Then no shift below the Ritz values whose growth is
    more than L is above :math:`\lambda_1`, after any number of steps
    (:mod:`angsync.kernels.lanczos.reference`): the run may stop whenever it likes, no union over the steps has to be
    paid for, no Ritz value is taken for a bound, and the other end of the spectrum does not matter. (The idea of a
    random start is that of Kuczynski and Wozniakowski, SIAM J. Matrix Anal. Appl. 13 (1992); what they bound
    beforehand, for the worst spectrum, is here read off the run.)

    The statement is that of exact arithmetic for the products as computed. With errors F of k of them,
    :math:`SV = VT + \beta v e_k^H + F`, the run is the exact one from b of a Hermitian matrix whose distance from S
    is the norm of F (norm-preserving dilations: Davis, Kahan and Weinberger, SIAM J. Numer. Anal. 19, 1982), and x is
    its eigenvector. ``rounding`` bounds the error of a product in norm, so :math:`\sqrt k` times it is subtracted.
    (Full reorthogonalisation adds a few errors of double precision; Parlett, *The Symmetric Eigenvalue Problem*,
    chapter 13.)

    ``good_enough`` has to be monotone; it is asked with minus infinity as well, after every part of a run that takes
    long: True then means that there is no time for more. ``give_up`` ends a run that cannot become good enough.
    """
    u = z.astype(np.complex128)
    u /= np.linalg.norm(u)
    n = u.size
    limit = max(1, n - 2) / failure
    run = kernels.begin_lanczos(product, u, random_start(u, rng), affordable_steps(u, max_steps))
    # a part of a run of a dense matrix takes a second at most; other products may take any time
    part = max(1, _ENTRIES_AT_ONCE // n**2) if isinstance(product, kernels.ShiftedMatrix) else 1
    ending = run.advance(1)
    least = _least(good_enough, float(run.alpha[0]))
    goal = kernels.Goal(least, limit, rounding, give_up)
    while not ending and run.steps < run.most and not good_enough(-math.inf):
        ending = run.advance(part, goal)
    value = kernels.proved_by_lanczos(run.alpha, run.beta, limit) - rounding * math.sqrt(run.steps)
    smallest = kernels.smallest_ritz_value(run.alpha, run.beta)
    direction = run.basis @ kernels.smallest_ritz_vector(run.alpha, run.beta)
    return SpectralBound(value, 1 - failure, "lanczos", direction / np.linalg.norm(direction), smallest)


def _least(good_enough: Callable[[float], bool], most: float) -> float:
    """About the least positive value that is good enough, to a percent; infinite where ``most`` is not."""
    if not (most > 0 and good_enough(most)):
        return math.inf
    low, high = -52.0, 0.0  # exponents of two
    for _ in range(12):
        middle = 0.5 * (low + high)
        if good_enough(most * 2.0**middle):
            high = middle
        else:
            low = middle
    return most * 2.0**high


def cholesky_bound(S: NDArray, z: NDArray) -> SpectralBound:
    """Lower bound by Cholesky factorisations of shifted matrices; ``S`` (dense, complex128) is overwritten.

    The shift is chosen from an eigenvalue estimate, but the proof rests on the factorisation alone.
    """
    n = z.size
    u = z / math.sqrt(n)
    diagonal = S.diagonal().real.copy()
    # Lifts z above everything else, so that the smallest eigenvalue of M is that on the complement of z.
    lift = 2 * float(np.abs(diagonal).max()) + 2 * float(np.linalg.norm(S @ u))
    lift = lift if lift > 0 else 1.0
    M = S
    M += lift * np.outer(u, u.conj())
    forming = _forming(float(np.abs(M).sum(axis=1).max()), lift)
    direction, estimate, rough = _smallest_eigenpair(M, u)
    return SpectralBound(_proved_shift(M, estimate, forming, rough=rough), 1.0, "cholesky", direction, estimate)


def _forming(row_sum: float, lift: float) -> float:
    """Rounding of S_jj, of the rank-one term and of its addition: a few units in each entry of M, as a norm."""
    return 8 * UNIT_ROUNDOFF * (row_sum + 2 * lift)


def _away_from(u: NDArray, place: int) -> NDArray:
    """The unit vector nearest to that of one node on the complement of u."""
    x = -u * np.conj(u[place])
    x[place] += 1
    return x / np.linalg.norm(x)


def half_diagonal_bound(
    matrix: NDArray, scale: float, s: NDArray[np.float64], z: NDArray, *, gradient: float, row_sum: float
) -> SpectralBound | None:
    """The bound of :func:`cholesky_bound` from one factorisation, where half of the smallest S_jj can be proved.

    No eigenvalue of S on the complement of z exceeds the smallest entry of its diagonal by much, so an estimate would
    add little to that half. S is Diag(s) - scale C; ``gradient`` is the norm of S z, ``row_sum`` the largest sum of
    |scale C_jl| over a row. None where it cannot be proved in this way.
    """
    n = z.size
    u = z / math.sqrt(n)
    diagonal = s - scale * matrix.diagonal().real
    most, half = float(np.abs(diagonal).max()), 0.5 * float(diagonal.min())
    lift = 2 * most + 2 * gradient / math.sqrt(n)
    if not half > 0 or not kernels.shifted_is_definite(matrix, scale, s, u, lift, half):
        return None
    # a row of M: |s_j| + the row of C, and that of the rank-one term, whose entries are lift / n
    forming = _forming(float(np.abs(s).max()) + row_sum + lift, lift)
    value = half - _backward_error_of(n, float(diagonal.sum()) + lift, half) * (1 + 1e-10) - forming
    place = int(np.argmin(diagonal))
    # x = (e_p - conj(u_p) u) / |.| has x^H S x = S_pp n / (n - 1): u^H S u = 0, and (S u)_p conj(u_p) is imaginary
    return SpectralBound(value, 1.0, "cholesky", _away_from(u, place), float(diagonal[place]) * n / (n - 1))


def smallest_eigenvalue_bound(S: NDArray) -> float:
    """Proved lower bound on the smallest eigenvalue of a Hermitian matrix, nothing deflated, by Cholesky.

    The entries of ``S`` are taken as they are, but for a few units of rounding in forming them.
    """
    forming = 8 * UNIT_ROUNDOFF * float(np.abs(S).sum(axis=1).max())
    estimate = float(scipy.linalg.eigh(S, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
    return _proved_shift(S, estimate, forming)


def _proved_shift(M: NDArray, estimate: float, forming: float, *, rough: bool = False) -> float:
    """The largest of a few shifts below ``estimate`` for which M - shift I factorises, less all rounding errors."""
    size = abs(estimate)
    # What the proof costs at the least. Errors that really happen are far smaller, so a fraction of it is tried first.
    grain = _backward_error(M, 0.0) + forming
    for share, grains in ((0.01, 0.02), (0.01, 2.0), (0.1, 8.0), (0.5, 64.0), (2.0, 1e3))[_ROUGHLY * rough :]:
        slack = share * size + grains * grain
        shift = estimate - slack
        if _factorises(M, shift):
            return shift - _backward_error(M, shift) - forming
    return -math.inf


def _backward_error(M: NDArray, shift: float) -> float:
    """Bound on the norm of the backward error of a Cholesky factorisation of M - shift I."""
    return _backward_error_of(M.shape[0], float(M.diagonal().real.sum()), shift)


def _backward_error_of(n: int, trace: float, shift: float) -> float:
    g = math.sqrt(2) * gamma(2 * n + 8)
    trace = trace - n * shift
    return g / (1 - g) * max(trace, 0.0) * (1 + 1e-10)


def _factorises(M: NDArray, shift: float) -> bool:
    A = M.copy()
    A.flat[:: A.shape[0] + 1] -= shift
    if not (A.diagonal().real > 0).all():
        return False
    # the transpose is the conjugate, which is as definite, and lies as LAPACK wants it
    return scipy.linalg.lapack.zpotrf(A.T, lower=1, clean=0, overwrite_a=1)[1] == 0


def _smallest_eigenpair(M: NDArray, u: NDArray) -> tuple[NDArray, float, bool]:
    """An estimate of the smallest eigenpair, and whether it is rough: by inverse iteration, or by LAPACK."""
    n = M.shape[0]

    def by_lapack() -> tuple[NDArray, float, bool]:
        values, vectors = scipy.linalg.eigh(M, subset_by_index=[0, 0], check_finite=False)
        return vectors[:, 0], float(values[0]), False

    if n <= _LAPACK_UP_TO:
        return by_lapack()
    if n <= _BLOCK_ITERATION_UP_TO:
        pair = _by_block_iteration(M)
        return by_lapack() if pair is None else (*pair, True)
    run = lanczos(lambda v: M @ v, u, np.random.default_rng(0), max_steps=80, enough=lambda *_: False)
    direction, estimate = run.smallest_vector(), run.smallest
    if estimate <= 0:
        return direction, estimate, False
    # Lanczos flatters small eigenvalues; a few inverse iterations settle them.
    try:
        factor = scipy.linalg.cho_factor(M, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return by_lapack()
    inverse = lanczos(
        lambda v: -scipy.linalg.cho_solve(factor, v, check_finite=False),
        u,
        np.random.default_rng(1),
        max_steps=20,
        enough=lambda *_: False,
    )
    direction = inverse.smallest_vector()
    return direction, float(np.vdot(direction, M @ direction).real), False


def _by_block_iteration(M: NDArray) -> tuple[NDArray, float] | None:
    """A few inverse iterations on a block of vectors, then Rayleigh-Ritz; None where M is not positive definite.

    The estimate is above the smallest eigenvalue by a few percent, which a proof by factorisation corrects.
    """
    conjugate = M.T  # M is Hermitian; its transpose lies as LAPACK wants it
    factor, info = scipy.linalg.lapack.zpotrf(conjugate, lower=1, clean=0)
    if info != 0:
        return None
    rng = np.random.default_rng(0)
    block = rng.standard_normal((M.shape[0], _BLOCK_WIDTH)) + 1j * rng.standard_normal((M.shape[0], _BLOCK_WIDTH))
    for _ in range(_BLOCK_STEPS):
        block = scipy.linalg.lapack.zpotrs(factor, block, lower=1)[0]
        block /= np.abs(block).max()
    q = np.linalg.qr(block)[0]
    values, vectors = np.linalg.eigh(q.conj().T @ (conjugate @ q))
    return np.conj(q @ vectors[:, 0]), float(values[0])
