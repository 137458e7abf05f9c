r"""Proved lower bounds on the spectrum of S(z) with z deflated, by Cholesky factorization: deterministic.

The quantity bounded is :math:`\nu \le \min \{ x^H S x : x \perp z, \|x\| = 1 \}`. With :math:`u = z/\sqrt n` and
:math:`\tau > 0` form :math:`M = S + \tau u u^H`; on the complement of z it equals S. If the floating-point Cholesky
factorization of :math:`A = M - \mu I` runs to completion, its backward error satisfies
:math:`\|\Delta A\|_2 \le \frac{\gamma}{1-\gamma} \mathrm{tr}(A)` (Demmel's bound: Higham, *Accuracy and
Stability of Numerical Algorithms*, 2nd ed., Theorem 10.3 and Problem 10.3 in the form of Rump,
*Verification of positive definiteness*, BIT 46 (2006), Theorem 2.3), so
:math:`M \succeq (\mu - \|\Delta A\|_2 - \|E\|_2) I` where E is the rounding error of forming A entry by entry.
Here :math:`\gamma = \sqrt 2 \gamma_{2n+8}`, :math:`\gamma_k = k u / (1 - k u)`, u the unit roundoff: a complex inner
product of n terms is two real ones of 2n terms each, in whatever order they are summed (Higham, section 3.6).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.lanczos import lanczos
from angsync.errors import InputError
from angsync.kernels.rounding import UNIT_ROUNDOFF, gamma
from angsync.problem.operators import Operator
from angsync.problem.residual import norm

_BLOCK_ITERATION_UP_TO = 400  # order up to which the smallest eigenvalue is estimated by inverse iteration on a block
_BLOCK_WIDTH, _BLOCK_STEPS = 6, 4  # vectors and inverse iterations: the estimate is then good to a few percent
_LAPACK_UP_TO = 60  # order up to which LAPACK's eigenvalues are as fast
_SKIPPED_SHIFTS = 2  # the shifts nearest to the estimate, not tried where it is good to a few percent only
_LARGEST_ORDER = 15_000  # above, two dense matrices of this order do not fit ordinary memory
_LARGEST_EXPONENT = 1000  # of two: its powers are numbers of double precision, as 2**1024 is not


def by_cholesky(question: Question) -> SpectralBound:
    """The bound by this method: S is formed as a dense matrix and factorized."""
    operator = question.operator
    n = operator.n
    if n > _LARGEST_ORDER:
        raise InputError(f"method='cholesky' is for n up to {_LARGEST_ORDER}, but n is {n}: use method='lanczos'.")
    S = -operator.to_dense().astype(np.complex128)
    S[np.diag_indices(n)] += question.s
    return cholesky_bound(S, question.z)


def quick_bound(operator: Operator, z: NDArray, s: NDArray[np.float64], b: NDArray[np.float64]) -> SpectralBound | None:
    """One factorization, without an estimate before it: enough for most small dense problems; None for others."""
    sums, exponent = operator.abs_row_sums(), operator.unwrapped().exponent
    matrix = operator.entries() if operator.is_dense_matrix else None
    if matrix is None or matrix.dtype != np.complex128 or sums is None or abs(exponent) > _LARGEST_EXPONENT:
        return None
    gradient, most = norm(b), float(sums.max(initial=0.0))
    return half_diagonal_bound(matrix, 2.0**-exponent, s, z, gradient=gradient, row_sum=most)


def cholesky_bound(S: NDArray, z: NDArray) -> SpectralBound:
    """Lower bound by Cholesky factorizations of shifted matrices; ``S`` (dense, complex128) is overwritten.

    The shift is chosen from an eigenvalue estimate, but the proof rests on the factorization alone.
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
    """On the complement of u, the unit vector that is nearest to the basis vector of one node."""
    share = complex(u[place])
    size = math.sqrt(1 - abs(share) ** 2)
    x = u * (-share.conjugate() / size)
    x[place] += 1 / size
    return x


def half_diagonal_bound(
    matrix: NDArray, scale: float, s: NDArray[np.float64], z: NDArray, *, gradient: float, row_sum: float
) -> SpectralBound | None:
    """The bound of :func:`cholesky_bound` from one factorization, where half of the smallest S_jj can be proved.

    No eigenvalue of S on the complement of z exceeds the smallest entry of its diagonal by much, so an estimate would
    add little to that half. S is Diag(s) - scale C; ``gradient`` is the norm of S z, ``row_sum`` the largest sum of
    |scale C_jl| over a row. None where it cannot be proved in this way.
    """
    n = z.size
    u = z / math.sqrt(n)
    diagonal = s - scale * matrix.diagonal().real
    half = 0.5 * float(diagonal.min())
    lift = 2 * float(diagonal.max()) + 2 * gradient / math.sqrt(n)
    if not half > 0 or not kernels.shifted_is_definite(matrix, scale, s, u, lift, half):
        return None
    # a row of M: |s_j| + the row of C, and that of the rank-one term, whose entries are lift / n
    forming = _forming(float(np.abs(s).max()) + row_sum + lift, lift)
    value = half - _backward_error_of(n, float(diagonal.sum()) + lift, half) * (1 + 1e-10) - forming
    place = int(np.argmin(diagonal))
    # x = (e_p - conj(u_p) u) / |.| has x^H S x = S_pp n / (n - 1): u^H S u = 0, and (S u)_p conj(u_p) is imaginary
    return SpectralBound(value, 1.0, "cholesky", lambda: _away_from(u, place), float(diagonal[place]) * n / (n - 1))


def smallest_eigenvalue_bound(S: NDArray) -> float:
    """Proved lower bound on the smallest eigenvalue of a Hermitian matrix, nothing deflated, by Cholesky.

    The entries of ``S`` are taken as they are, but for a few units of rounding in forming them.
    """
    forming = 8 * UNIT_ROUNDOFF * float(np.abs(S).sum(axis=1).max())
    estimate = float(scipy.linalg.eigh(S, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
    return _proved_shift(S, estimate, forming)


def _proved_shift(M: NDArray, estimate: float, forming: float, *, rough: bool = False) -> float:
    """The largest of a few shifts below ``estimate`` for which M - shift I factorizes, less all rounding errors."""
    size = abs(estimate)
    # What the proof costs at the least. Errors that really happen are far smaller, so a fraction of it is tried first.
    grain = _backward_error(M, 0.0) + forming
    for share, grains in ((0.01, 0.02), (0.01, 2.0), (0.1, 8.0), (0.5, 64.0), (2.0, 1e3))[_SKIPPED_SHIFTS * rough :]:
        slack = share * size + grains * grain
        shift = estimate - slack
        if _factorizes(M, shift):
            return shift - _backward_error(M, shift) - forming
    return -math.inf


def _backward_error(M: NDArray, shift: float) -> float:
    """Bound on the norm of the backward error of a Cholesky factorization of M - shift I."""
    return _backward_error_of(M.shape[0], float(M.diagonal().real.sum()), shift)


def _backward_error_of(n: int, trace: float, shift: float) -> float:
    g = math.sqrt(2) * gamma(2 * n + 8)
    trace = trace - n * shift
    return g / (1 - g) * max(trace, 0.0) * (1 + 1e-10)


def _factorizes(M: NDArray, shift: float) -> bool:
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

    The estimate is above the smallest eigenvalue by a few percent, which a proof by factorization corrects.
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
