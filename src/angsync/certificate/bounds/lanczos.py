r"""Lanczos on the complement of a vector: estimates of both ends of the spectrum, and bounds that are proved.

The bounds fail with a stated probability (:func:`lanczos_bound` derives it). Estimates prove nothing; other methods
choose their shifts by them. What a run proves, whatever its vectors are:

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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.kernels.rounding import UNIT_ROUNDOFF, gamma, precision
from angsync.problem.operators import Operator
from angsync.problem.randomness import proof_generator
from angsync.solvers.stopping import Clock

FAILURE = 1e-10
"""Probability that a bound by Lanczos is wrong."""
_UPPER_SHARE = 0.1  # of this probability: that the bound on the largest eigenvalue is wrong
_STEPS, _NARROW_STEPS = 400, 120  # at most: with C itself, and with its narrow copy, which has to decide soon
_FULL_MATRIX_UP_TO_STEPS = 24  # up to so many steps the Ritz values come from a full matrix
_DOUBLE = 1e-12  # products with a larger unit of rounding are not in double precision
_EXPONENTS, _HALVINGS = 52.0, 12  # of two, over which the least value that is proof enough is searched, to a percent
_HALVES = 1 << _HALVINGS
_BASIS_BYTES = 1 << 30  # the basis is kept for full reorthogonalization; this caps it
# From which a run keeps three vectors and no basis: that of thirty steps, as many as a random graph takes, would be
# 200 MB and as large as C; and how many steps it may then take, whatever memory there is.
_SHORT_FROM_NODES, _SHORT_STEPS = 400_000, 100
_ENTRIES_AT_ONCE = 200_000_000  # of products with a dense matrix between two looks at the clock: a second at most


@dataclass(frozen=True)
class Krylov:
    """A Lanczos run: basis (columns), tridiagonal coefficients, and its extreme Ritz pairs."""

    basis: NDArray
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    smallest: float
    largest: float
    remainder: float
    """Norm of the next basis vector before normalization: how far the space is from invariant; 0 for the whole."""

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
        v = np.einsum("jk,k->j", self.basis, y[:, 0])  # BLAS would leave its threads spinning
        return v / np.linalg.norm(v)


def random_start(deflated: NDArray, rng: np.random.Generator) -> NDArray:
    """A random unit vector orthogonal to ``deflated``, uniform on that sphere; complex when ``deflated`` is."""
    v = _gaussian(deflated, rng)
    v = v - deflated * np.vdot(deflated, v)
    v = v - deflated * np.vdot(deflated, v)
    return v / np.linalg.norm(v)


def _gaussian(like: NDArray, rng: np.random.Generator) -> NDArray:
    v: NDArray = rng.standard_normal(like.size) + (1j * rng.standard_normal(like.size) if np.iscomplexobj(like) else 0)
    return v


def affordable_steps(deflated: NDArray, most: int) -> int:
    """``most`` steps, or fewer where the basis would not fit into memory."""
    return max(1, min(most, _BASIS_BYTES // (deflated.itemsize * deflated.size)))


def lanczos(
    apply: Callable[[NDArray], NDArray],
    deflated: NDArray,
    rng: np.random.Generator,
    *,
    max_steps: int,
    enough: Callable[[int, float, float, float], bool],
) -> Krylov:
    """Lanczos on the complement of the unit vector ``deflated``, with full reorthogonalization.

    ``enough(steps, smallest, largest, remainder)`` is asked after each of the first steps and then after every fourth,
    and ends the run.
    """
    run = kernels.begin_lanczos(apply, deflated, random_start(deflated, rng), affordable_steps(deflated, max_steps))
    while True:
        ended = run.advance(1) or run.steps == run.most
        if ended or run.steps <= 8 or run.steps % 4 == 1:
            smallest, largest = extreme_values(run.alpha, run.beta[:-1])
            remainder = float(run.beta[-1])
            if ended or enough(run.steps, smallest, largest, remainder):
                return Krylov(run.basis, run.alpha, run.beta[:-1], smallest, largest, remainder)


def extreme_values(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of a symmetric tridiagonal matrix."""
    k = len(alpha)
    if k > _FULL_MATRIX_UP_TO_STEPS:
        values = scipy.linalg.eigvalsh_tridiagonal(alpha, beta)
    else:
        # a small full matrix: a fifth of the time of what SciPy does around LAPACK's tridiagonal solver
        T = np.zeros((k, k))
        T.flat[:: k + 1] = alpha
        T.flat[k :: k + 1] = beta
        values = np.linalg.eigvalsh(T)
    return float(values[0]), float(values[-1])


def rounding_of_product(error: float, length: int, largest: float) -> float:
    """The rounding of a product with S and of the few operations with its result, in norm, for a vector of norm 1.

    ``error`` is that of s, ``length`` the rounding length of C, ``largest`` the largest modulus in s. A unit of the row
    sums of |C| is at most error / (sqrt(2) (2 length + 8)).
    """
    return error * (1 + 48 / (2 * length + 8)) + gamma(96) * largest


def by_lanczos(question: Question, *, failure: float = FAILURE, max_steps: int = _STEPS) -> SpectralBound:
    """The bound by this method: one run on S, with products of C as it is given.

    ``failure`` is smaller than :data:`FAILURE` where this is one of two runs, either of which may be believed; the
    confidence stated is that of both together.
    """
    operator, s = question.operator, question.s
    # where the row sums of C are not known, the other end of the spectrum shows how large C is; either end may fail
    both_ends = operator.abs_row_sums() is None and operator.augmented() is None
    failure *= question.allowance * (1 - _UPPER_SHARE if both_ends else 1)
    size = rounding_of_product(question.error, operator.rounding_length(), float(np.abs(s).max()))
    single = operator.abs_row_sums() is None and precision(operator.dtype).epsilon > _DOUBLE
    dense = operator.shifted_matrix(s, narrow=False)
    bound = lanczos_bound(
        dense or partial(_shifted, operator, s),
        question.z,
        question.rng,
        max_steps=max_steps,
        is_proof=_is_proof_at_distance(question),
        least=None if question.least is None else question.least + question.error,
        clock=question.clock,
        rounding=size,
        failure=failure,
        both_ends=both_ends,
        errors_may_conspire=not single and operator.augmented() is None,
    )
    operator.count(dense.products if dense else 0)
    return replace(bound, confidence=1 - FAILURE)


def _shifted(operator: Operator, s: NDArray[np.float64], v: NDArray) -> NDArray:
    """S v, with one vector beside the result."""
    image = s * v
    image -= operator.apply(v)
    return image


def by_narrow_lanczos(question: Question, *, failure: float) -> SpectralBound | None:
    """The bound from a run on the narrow copy of a dense C, less the distance of the copy from C.

    None where there is no narrow copy.
    """
    operator = question.operator
    narrow = operator.shifted_matrix(question.s, narrow=True)
    if narrow is None:
        return None
    distance = operator.narrow_distance()
    bound = lanczos_bound(
        narrow,
        question.z,
        question.rng,
        max_steps=_NARROW_STEPS,
        is_proof=_is_proof_at_distance(question, distance),
        least=None if question.least is None else question.least + distance + question.error,
        clock=question.clock,
        rounding=operator.narrow_rounding() + question.error,
        give_up=True,
        failure=failure * question.allowance,
        errors_may_conspire=False,
    )
    operator.count(narrow.products)
    return replace(bound, value=bound.value - distance, confidence=1 - FAILURE)


def _is_proof_at_distance(question: Question, distance: float = 0.0) -> Callable[[float], bool]:
    """Whether a value is proof enough where it is proved for a matrix at this distance from S.

    The error of S itself is subtracted as well: with that margin lambda_2 is proved to be positive, too.
    """

    def is_proof(value: float) -> bool:
        bound = SpectralBound(value - distance - question.error, 1.0, "lanczos", question.z, value)
        return question.is_proof(bound)

    return is_proof


def lanczos_bound(
    product: Callable[[NDArray], NDArray] | kernels.ShiftedElsewhere,
    z: NDArray,
    rng: np.random.Generator,
    *,
    failure: float = FAILURE,
    max_steps: int = _STEPS,
    is_proof: Callable[[float], bool],
    least: float | None = None,
    clock: Clock,
    rounding: float,
    give_up: bool = False,
    both_ends: bool = False,
    errors_may_conspire: bool = True,
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

    **Rounding**, whatever its errors have to do with b: the theorem of this module. The
    recurrence holds up to errors of norm F in all, which are those of k products (``rounding`` each, in norm) and
    what the basis took away beside the three terms (it is measured: ``taken``). With :math:`t = L^{-1/2}`, a shift
    :math:`\mu \le \theta - 5 F / t` has :math:`e \le t/5`; the vectors V have a norm below 1.1, and a growth of 2 L
    gives :math:`(1.1 + e) / \sqrt{2L} + e < t`: the eigenvalue is above :math:`\mu`. So the growth that is asked for is
    2 L, and :math:`5 F / t` is subtracted from the shift that has it.

    The norm of V: a vector has, after the last round, an overlap with V of :math:`2 \sqrt k \gamma_{2n+8}` from the
    rounding of its inner products, and of :math:`\|V^H V - I\|` times the share that this round took. If all such
    shares add up to no more than 1 (``drift``), :math:`\|V^H V - I\|` stays below :math:`30 k^{3/2} \gamma_{2n+8}`, far
    below 0.2. Otherwise :math:`\|V\| \le \sqrt{k + 1}`, and k + 1 times the growth is asked for in the end. So it is in
    runs on very many nodes, which keep no basis (:mod:`angsync.kernels.lanczos.short`).

    Where products are too coarse for that (``errors_may_conspire=False``: the narrow copy, products in single
    precision, eliminated unknowns), the run is taken for the exact one of a Hermitian matrix whose distance from S is
    the norm of F (norm-preserving dilations: Davis, Kahan and Weinberger, SIAM J. Numer. Anal. 19, 1982). Its
    eigenvector depends on the errors; that these do not conspire with b is assumed there.

    ``is_proof`` has to be monotone; ``least``, where it is known, is the least value that it takes for proof. The run
    ends once a value is proof enough, once ``clock`` has expired (it is looked at after every part of a run that takes
    long) and, with ``give_up``, once no value can become proof enough.
    ``both_ends``: what the same run proves about -S is a bound on the largest eigenvalue, which costs no step: it fails
    with a ninth of that probability.
    """
    u = z.astype(np.complex128)
    n = u.size
    limit, rate = max(1, n - 2) / failure, 1.0
    if errors_may_conspire:
        limit, rate = 2 * limit, 5 * math.sqrt(limit)
    steps = affordable_steps(u, max_steps)
    rng = proof_generator(rng)
    if isinstance(product, kernels.ShiftedElsewhere):
        run = product.begin(u, _gaussian(u, rng), steps)
    else:
        u /= np.linalg.norm(u)
        if n >= _SHORT_FROM_NODES and errors_may_conspire and not isinstance(product, kernels.ShiftedMatrix):
            run = kernels.ShortLanczos(product, u, random_start(u, rng), min(max_steps, max(steps, _SHORT_STEPS)))
        else:
            run = kernels.begin_lanczos(product, u, random_start(u, rng), steps)
    part = 1  # products may take any time, but for those of a matrix: a part of their run takes a second at most
    if isinstance(product, kernels.ShiftedMatrix) and (clock.max_seconds is None or not callable(product.matrix)):
        part = max(1, _ENTRIES_AT_ONCE // n**2)
    ending = run.advance(1)
    first = float(run.alpha[0])
    aim = least_proof(is_proof, first) if least is None else _aim(least, first)
    # what the basis will take away is not known yet: a fifth of the rounding is more than it ever does
    goal = kernels.Goal(aim, limit, rate * rounding * (1.25 if errors_may_conspire else 1), give_up)
    while not ending and run.steps < run.most and not clock.expired:
        ending = run.advance(part, goal)
    lost = rate * rounding * math.sqrt(run.steps)
    if errors_may_conspire:
        lost += rate * 1.1 * run.taken
        if run.beta[-1] == 0:  # the whole space: what was left of the last vector is rounding
            lost += rate * 16 * math.sqrt(n) * UNIT_ROUNDOFF * float(np.abs(run.alpha).max() + run.beta.max())
        limit *= 1 if run.drift <= 1 else run.steps + 1
    value = kernels.proved_by_lanczos(run.alpha, run.beta, limit) - lost
    largest = math.inf
    if both_ends:
        rarer = (1 - _UPPER_SHARE) / _UPPER_SHARE
        # what is lost grows with the root of the growth that is asked for
        largest = math.sqrt(rarer) * lost - kernels.proved_by_lanczos(-run.alpha, run.beta, rarer * limit)
    smallest = kernels.smallest_ritz_value(run.alpha, run.beta)

    def direction() -> NDArray:
        return run.combination(kernels.smallest_ritz_vector(run.alpha, run.beta))

    return SpectralBound(value, 1 - failure, "lanczos", direction, smallest, largest=largest)


def _aim(least: float, most: float) -> float:
    """What :func:`least_proof` finds where the least value is known: the next of its 4096 exponents."""
    if not (most > 0 and least <= most):
        return math.inf
    place = math.ceil(math.log2(least / most) * _HALVES / _EXPONENTS) if least > 0 else -_HALVES
    return most * 2.0 ** (max(place, 1 - _HALVES) * (_EXPONENTS / _HALVES))


def least_proof(is_proof: Callable[[float], bool], most: float) -> float:
    """About the least positive value that is proof enough, to a percent; infinite where even ``most`` is not."""
    if not (most > 0 and is_proof(most)):
        return math.inf
    low, high = -_EXPONENTS, 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if is_proof(most * 2.0**middle):
            high = middle
        else:
            low = middle
    return most * 2.0**high
