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

**Lanczos** (with a stated failure probability). See :func:`lanczos_shortfall`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync import kernels
from angsync.rounding import UNIT_ROUNDOFF, gamma

_BLOCK_ITERATION_UP_TO = 400  # order up to which the smallest eigenvalue is estimated by inverse iteration on a block
_BLOCK_WIDTH, _BLOCK_STEPS = 6, 4
_LAPACK_UP_TO = 60  # and up to which LAPACK is as fast
_ROUGHLY = 2  # shifts that are not tried where the estimate is good to a few percent only
_FEW_STEPS = 24  # up to which the Ritz values come from a full matrix
_LANCZOS_BYTES = 1 << 30  # the basis is kept for full reorthogonalisation; this caps it


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


@dataclass(frozen=True)
class Krylov:
    """A Lanczos run: basis (columns), tridiagonal coefficients, and its extreme Ritz pairs."""

    basis: NDArray
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    smallest: float
    largest: float
    remainder: float
    """Norm of the next basis vector before normalisation: how far the space is from invariant; 0 for the whole."""

    def smallest_vector(self) -> NDArray:
        """The Ritz vector of the smallest Ritz value, of unit norm."""
        return self._vector(0)

    def largest_vector(self) -> NDArray:
        """The Ritz vector of the largest Ritz value, of unit norm."""
        return self._vector(self.alpha.size - 1)

    def _vector(self, place: int) -> NDArray:
        if self.alpha.size == 1:
            return self.basis[:, 0]
        _, y = scipy.linalg.eigh_tridiagonal(self.alpha, self.beta, select="i", select_range=(place, place))
        v = self.basis @ y[:, 0]
        return v / np.linalg.norm(v)


def _extreme_values(alpha: list[float], beta: list[float]) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of a symmetric tridiagonal matrix."""
    k = len(alpha)
    if k > _FEW_STEPS:
        values = scipy.linalg.eigvalsh_tridiagonal(np.array(alpha), np.array(beta))
    else:
        # a small full matrix: a fifth of the time of what SciPy does around LAPACK's tridiagonal solver
        T = np.zeros((k, k))
        T.flat[:: k + 1] = alpha
        T.flat[k :: k + 1] = beta
        values = np.linalg.eigvalsh(T)
    return float(values[0]), float(values[-1])


def lanczos(
    apply: Callable[[NDArray], NDArray],
    deflated: NDArray,
    rng: np.random.Generator,
    *,
    max_steps: int,
    enough: Callable[[int, float, float, float], bool],
) -> Krylov:
    """Lanczos on the complement of the unit vector ``deflated``, with full reorthogonalisation.

    The start is a Gaussian vector (complex when ``deflated`` is), projected, so its direction is uniform on
    the sphere of the complement. ``enough(steps, smallest, largest, remainder)`` ends the run.
    """
    n = deflated.size
    is_complex = np.iscomplexobj(deflated)
    dimension = n - 1
    itemsize = 16 if is_complex else 8
    steps = max(1, min(max_steps, dimension, _LANCZOS_BYTES // (itemsize * n)))
    basis = np.empty((n, min(steps, 32)), dtype=deflated.dtype, order="F")
    alpha: list[float] = []
    beta: list[float] = []
    v: NDArray = rng.standard_normal(n) + (1j * rng.standard_normal(n) if is_complex else 0)
    v = v - deflated * np.vdot(deflated, v)
    v = v - deflated * np.vdot(deflated, v)
    v = v / np.linalg.norm(v)
    smallest = largest = 0.0
    complete = False
    scale = b = 0.0
    k = 0
    for k in range(steps):
        if k == basis.shape[1]:
            wider = np.empty((n, min(steps, 2 * k)), dtype=basis.dtype, order="F")
            wider[:, :k] = basis
            basis = wider
        basis[:, k] = v
        w = apply(v)
        alpha.append(float(np.vdot(v, w).real))
        scale = max(scale, float(np.linalg.norm(w)))
        known = basis[:, : k + 1]
        w, b = kernels.orthogonalise(deflated, known, w)
        # a space that is invariant to rounding: another vector would be noise
        complete = k + 1 == dimension or b <= 16 * math.sqrt(n) * UNIT_ROUNDOFF * scale
        if complete or k + 1 == steps or k < 8 or k % 4 == 0:
            smallest, largest = _extreme_values(alpha, beta)
            if complete or k + 1 == steps or enough(k + 1, smallest, largest, b):
                break
        beta.append(b)
        v = w / b
    return Krylov(
        basis=basis[:, : len(alpha)],
        alpha=np.array(alpha),
        beta=np.array(beta[: len(alpha) - 1]),
        smallest=smallest,
        largest=largest,
        remainder=b if k + 1 < dimension else 0.0,
    )


@functools.lru_cache(maxsize=4096)  # a run asks for a hundred or so
def lanczos_shortfall(dimension: int, steps: int, failure: float) -> float:
    r"""The relative error epsilon that Lanczos exceeds with probability at most ``failure``.

    Let A be Hermitian of order N with eigenvalues in :math:`[\lambda_1, \lambda_1 + D]`, the start uniform on
    the complex unit sphere, and :math:`\theta` the smallest Ritz value after k steps. Then
    :math:`P(\theta > \lambda_1 + \epsilon D) \le \delta` with

    .. math:: \delta = \frac{(N-1)(1-\epsilon)}{\epsilon \, T_{k-1}^2\!\left(\frac{1+\epsilon}{1-\epsilon}\right)} .

    Proof. :math:`\theta` is the least Rayleigh quotient over :math:`p(A)b`, p of degree k - 1. Take the
    Chebyshev polynomial that is at most 1 in modulus on :math:`[\lambda_1 + \epsilon D, \lambda_1 + D]`; at
    :math:`\lambda_1` it is :math:`T_{k-1}((1+\epsilon)/(1-\epsilon)) = T`. If
    :math:`\theta > \lambda_1 + \epsilon D` then
    :math:`\sum_i |b_i|^2 p(\lambda_i)^2 (\lambda_i - \lambda_1 - \epsilon D) > 0`; the term of
    :math:`\lambda_1` is :math:`-|b_1|^2 T^2 \epsilon D`, the positive terms sum to at most
    :math:`(1-\epsilon) D`, so :math:`|b_1|^2 < (1-\epsilon)/(\epsilon T^2)`. For a uniform b,
    :math:`|b_1|^2` is Beta(1, N-1), whose distribution function at x is at most (N-1) x. (This is the
    argument of Kuczynski and Wozniakowski, SIAM J. Matrix Anal. Appl. 13 (1992), for a complex start.)

    The run may stop at any step that it likes: epsilon is chosen so that the right-hand side above is
    :math:`\delta/(N-1)` at every k, so failing at any k at all implies the one event
    :math:`|b_1|^2 < \delta/(N-1)`, and no union over the steps has to be paid for.
    """
    if steps < 2:
        return 1.0

    def log_failure(epsilon: float) -> float:
        x = (1 + math.sqrt(epsilon)) / (1 - math.sqrt(epsilon))
        # log T_{k-1}((1+e)/(1-e)) = log cosh((k-1) log x), from below: log(x^(k-1) / 2)
        log_chebyshev = (steps - 1) * math.log(x) - math.log(2)
        return math.log(max(1, dimension - 1)) + math.log((1 - epsilon) / epsilon) - 2 * log_chebyshev

    low, high = 1e-30, 1 - 1e-12
    target = math.log(failure)
    if log_failure(high) > target:
        return 1.0
    for _ in range(26):  # to six digits, from above
        middle = math.sqrt(low * high)
        if log_failure(middle) > target:
            low = middle
        else:
            high = middle
    return high


def lanczos_bound(
    apply: Callable[[NDArray], NDArray],
    z: NDArray,
    rng: np.random.Generator,
    *,
    failure: float = 1e-10,
    max_steps: int = 400,
    good_enough: Callable[[float], bool],
    rounding: float,
) -> SpectralBound:
    r"""Lower bound from one Lanczos run, failing with probability at most ``failure``.

    The spread D is not known either; both ends of the spectrum are bounded by the same run, each with half of
    the failure probability: :math:`\theta_1 \le \lambda_1 + \epsilon D` and
    :math:`\theta_k \ge \lambda_N - \epsilon D` give :math:`D \le (\theta_k - \theta_1)/(1 - 2\epsilon)`, hence
    :math:`\lambda_1 \ge \theta_1 - \epsilon (\theta_k - \theta_1)/(1 - 2 \epsilon)`. No Ritz value is taken
    for a bound.

    A second bound takes over where the Krylov space is nearly invariant. With :math:`SV = VT + b\,v e_k^H` and q a unit
    eigenvector of :math:`\lambda_1`, :math:`\|(T - \lambda_1) V^H q\| \le b`, so T has an eigenvalue within
    :math:`b / \|V^H q\|` of :math:`\lambda_1`, and :math:`\|V^H q\| \ge |b_1| \ge \sqrt{\delta/(N-1)}` outside the same
    event of probability :math:`\delta`. Hence :math:`\lambda_1 \ge \theta_1 - b \sqrt{(N-1)/\delta}`.

    The statements are those of exact arithmetic for the products as computed; ``rounding`` bounds the error of a
    product in norm, and is subtracted with a factor for the steps (full reorthogonalisation keeps the run within a few
    such errors of an exact one; Parlett, *The Symmetric Eigenvalue Problem*, chapter 13).
    """
    u = z / np.linalg.norm(z)
    n = z.size

    each = failure / 2  # one half for each end of the spectrum
    overlap = math.sqrt(each / max(1, n - 2))  # |b_1| is at least this, outside an event of probability ``each``

    def bound(steps: int, smallest: float, largest: float, remainder: float) -> float:
        epsilon = lanczos_shortfall(n - 1, steps, each)
        shortfall = epsilon * (largest - smallest) / (1 - 2 * epsilon) if epsilon < 0.49 else math.inf
        return smallest - min(shortfall, remainder / overlap) - rounding * math.sqrt(steps)

    def enough(steps: int, smallest: float, largest: float, remainder: float) -> bool:
        value = bound(steps, smallest, largest, remainder)
        # Stop when proved, when close to all that can be had, or when the sign is settled against us.
        return good_enough(value) or (
            steps >= 20 and smallest < 0 and smallest - value < 0.1 * abs(smallest) and value > -math.inf
        )

    krylov = lanczos(apply, u, rng, max_steps=max_steps, enough=enough)
    value = bound(krylov.alpha.size, krylov.smallest, krylov.largest, krylov.remainder)
    return SpectralBound(value, 1 - failure, "lanczos", krylov.smallest_vector(), krylov.smallest)


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
