r"""Proved bounds on S(z) by a sparse Cholesky factorization of S without one node: deterministic.

**Theorem.** Let s be any real numbers, :math:`S = \mathrm{Diag}(s) - C`, z in :math:`T^n`, g = S z. Let r be a node, D
a positive diagonal matrix and :math:`\nu > 0` with :math:`v^H S v \ge \nu\, v^H D v` for all v with :math:`v_r = 0`.
Then

.. math:: f^* - f(z) \le \sum_{j \ne r} |g_j|^2 / (\nu D_{jj}).

*Proof.* Let w be in :math:`T^n`, :math:`a = w_r / z_r`, so that :math:`|a| = 1`, and v = w - a z, so that
:math:`v_r = 0`. With :math:`\zeta = z^H S z`, completing the square gives
:math:`w^H S w = \zeta + 2 \Re(\bar a\, g^H v) + v^H S v \ge \zeta - 2 |g^H v| + \nu\, v^H D v
\ge \zeta - \sum_{j \ne r} |g_j|^2 / (\nu D_{jj})`. And :math:`f(w) = \sum_j s_j - w^H S w` for every w in
:math:`T^n`, z among them. QED.

That S is so large without r is proved by one factorization (:mod:`angsync.certificate.bounds.anchored`), at a shift
:math:`\mu` that may be chosen anyhow; no eigenvalue has to be known. By interlacing
:math:`\lambda_2(D^{-1/2} S D^{-1/2}) \ge \nu`, which is what the bound says about the spectrum. Where the gradient is
too large for the theorem, its sharper form is used (:mod:`angsync.certificate.bounds.sharper`).

**Where S is singular without r**, two optima are equally good, as on a ring whose angles add up to pi. If
:math:`v^H S v \ge -\sum_j \delta_j D_{jj} |v_j|^2` is all that is proved, then for any y with :math:`y_r = 0`, and
:math:`\ell = g - S y`,

.. math:: f^* - f(z) \le |y^H S y| + 4 \sum_{j \ne r} |\ell_j| + \sum_{j \ne r} \delta_j D_{jj} (2 + |y_j|)^2,

because in the proof above, with v for :math:`\bar a v`, :math:`2 \Re(g^H v) + v^H S v = (v + y)^H S (v + y) - y^H S y
+ 2 \Re(\ell^H v)` and :math:`|v_j| \le 2`. That is a proof where :math:`\delta` and :math:`\ell` are of the size of
rounding; that the optimum is unique is none of it.

Where the factor is small it is kept: a few solves with it show how large the shift may be. Where a pivot is negative, a
solve with the part of the factor that the pivot depends on gives a direction in which S is; where nothing was kept,
that part is factorized once more.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.certificate.bounds.anchored import AnchoredMatrix, Outcome
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.lanczos import lanczos
from angsync.certificate.bounds.sharper import (
    Gradient,
    SparseGradient,
    by_conjugate_gradients,
    plain_gap,
    proves_uniqueness,
    sharper_gap,
    singular_gap,
)
from angsync.errors import InputError
from angsync.kernels.sparse.fronts_reference import Run
from angsync.kernels.time_limit import check
from angsync.problem.operators import Operator

LARGEST_FRONT = 6_000  # order of a dense block: 0.6 GB
LARGEST_WORK = 1e12  # floating-point operations: about a minute
_LARGEST_FRONT_ON_REQUEST = 15_000  # 3.6 GB, as for method="cholesky"
_LEAST_SHIFT = 1e-9  # relative to the degrees; rounding is 1e-12 to 1e-10 of them, from a few nodes to 10^7
_LARGEST_SHIFT = 1e-3  # up to which a shift is looked for that makes the plain gap small enough
_KEPT_NUMBERS = 16_000_000  # of a factor up to which it is kept: 256 MB
_KEPT_AGAIN_NUMBERS = 64_000_000  # of the part of it below a pivot that failed: 1 GB, a whole grid of a million nodes
_INVERSE_STEPS = 24  # Lanczos steps on the inverse: they settle the smallest eigenvalue
_SOLVES = 8  # steps of conjugate gradients with the factor, which is exact but for the shift
_SHARES = (0.9, 0.5)  # shifts that are tried, as shares of that estimate
_SHIFTS = 7  # that are tried where a pivot was not positive, but S is, along the direction that was found
_FEW_SHIFTS = 3  # where the factor is large, and every one of them takes seconds
_BELOW_ZERO = (1e-15, 4e-15, 1.6e-14)  # shifts below 0 at which a singular S is tried: pivots are off by about as much
_REFINEMENTS = 3  # of the solution there: the first leaves what the shift changed
_ZERO = 1e-12  # relative to the degrees: what S is along a direction, when that is taken for rounding
_LOWER = 8.0  # the next shift is so much below what S is along it, which is above the smallest eigenvalue


def can_factorize(operator: Operator) -> bool:
    """Whether S is sparse, or the Schur complement of a sparse matrix."""
    return operator.sparse() is not None or operator.augmented() is not None


def by_factorization(question: Question) -> SpectralBound:
    """The bound by this method, whatever it costs."""
    if not can_factorize(question.operator):
        raise InputError("method='factorization' is for sparse matrices and edge lists: use 'cholesky' or 'lanczos'.")
    bound = by_affordable_factorization(question, largest_front=_LARGEST_FRONT_ON_REQUEST, largest_work=math.inf)
    if bound is None:
        raise InputError(
            "method='factorization' needs a dense block of more than "
            f"{_LARGEST_FRONT_ON_REQUEST} rows here, because the graph has no small separators: use 'lanczos'."
        )
    return bound


def by_affordable_factorization(
    question: Question, *, largest_front: int = LARGEST_FRONT, largest_work: float = LARGEST_WORK
) -> SpectralBound | None:
    """The bound by this method; None where its announced work is more than that."""
    matrix = _matrix(question)
    if not matrix.plan(largest_front=largest_front):
        return None
    assert matrix.form is not None
    if matrix.form.work > largest_work:
        return None
    return _Proof(question, matrix).bound()


def affordable_raised_gap(operator: Operator, s: NDArray[np.float64], *, largest_work: float) -> float:
    """How far f* can be above the sum of s, by raising s (:mod:`angsync.certificate.bounds.raised`); inf if unknown."""
    from angsync.certificate.bounds.raised import raised_gap  # for problems that stay open alone

    matrix, sums = sparse_matrix(operator, s), operator.abs_row_sums()
    if not matrix.plan(largest_front=LARGEST_FRONT):
        return math.inf
    assert matrix.form is not None
    assert sums is not None
    diagonal = operator.diagonal()
    return math.inf if matrix.form.work > largest_work else raised_gap(matrix, sums - np.abs(diagonal) + diagonal)


def _matrix(question: Question) -> AnchoredMatrix:
    joint = question.joint
    if joint is not None:
        matrix = AnchoredMatrix(-joint.K, joint.s, np.asarray(abs(joint.K).sum(axis=1)).ravel())
        matrix.forming = joint.forming(matrix.root)
        return matrix
    return sparse_matrix(question.operator, question.s)


def sparse_matrix(operator: Operator, s: NDArray[np.float64]) -> AnchoredMatrix:
    """S of a sparse C, not yet in its order of elimination."""
    matrix, sums, exponent = operator.entries(), operator.abs_row_sums(), operator.unwrapped().exponent
    assert sums is not None
    matrix = matrix if scipy.sparse.issparse(matrix) else scipy.sparse.csr_array(np.asarray(matrix))
    data = matrix.data.astype(np.complex128, copy=False).view(np.float64)
    if abs(exponent) < 1000:
        data = data * 2.0**-exponent  # as exact as ldexp, and several times as fast
    else:  # 2**-exponent itself may be out of range
        data = np.ldexp(data, -exponent)
    check()
    C = scipy.sparse.csr_array((data.view(np.complex128), matrix.indices, matrix.indptr), shape=matrix.shape)
    return AnchoredMatrix(C, s, sums)


class _Proof:
    """One question, and the matrix that answers it."""

    def __init__(self, question: Question, matrix: AnchoredMatrix) -> None:
        self.question, self.matrix = question, matrix
        assert matrix.form is not None
        self.keep = matrix.form.fill <= _KEPT_NUMBERS
        self.gradient: Gradient | None = question.joint
        if self.gradient is None and question.rows is not None:
            self.gradient = SparseGradient(matrix, question.z, question.b, question.rows)

    def bound(self) -> SpectralBound:
        outcome, direction = self._definite(self._first_shift())
        if self.keep and outcome.run.failed < 0:
            outcome, direction = self._larger(outcome)
        if outcome.value > 0:
            found = self._about(outcome.value, direction)
            found = found if self.gradient is None else self._with_gap(found, outcome, self.gradient)
        else:
            found = self._about(-math.inf, direction)
        if direction is None or self.question.is_proof(found):
            return found
        return self._singular(found, direction) or found

    def _about(self, value: float, direction: NDArray | None) -> SpectralBound:
        """The bound with this value, and a vector (scaled by the roots of D) along which S is small or negative."""
        z, n = self.question.z, self.question.z.size
        v, estimate = z / math.sqrt(n), 0.0
        if direction is not None:
            v = (direction / self.matrix.root)[:n]
            v = v - z * (np.vdot(z, v) / n)
            v = v / np.linalg.norm(v)
            estimate = float(np.vdot(v, self.question.s * v - self.question.operator.apply(v)).real)
        weights: NDArray[np.float64] | None = self.matrix.weights[:n]
        if np.ptp(self.matrix.weights) == 0:
            value, weights = value * float(self.matrix.weights[0]), None
        return SpectralBound(value, 1.0, "factorization", v, estimate, about="second_eigenvalue", weights=weights)

    def _first_shift(self) -> float:
        """The least shift with which the plain gap would be proof enough, with something to spare."""
        shift = _LEAST_SHIFT
        while self.gradient is not None and shift <= _LARGEST_SHIFT:
            check()
            gap = plain_gap(self.matrix, shift / 2, self.gradient)
            if self.question.is_proof(dataclasses.replace(self._about(shift / 2, None), gap=gap)):
                return shift
            shift *= 4
        return _LEAST_SHIFT

    def _definite(self, shift: float) -> tuple[Outcome, NDArray | None]:
        """A factorization that runs to its end at this shift or a lower one, or a direction in which S is negative."""
        for _ in range(_SHIFTS if self.keep else _FEW_SHIFTS):
            check()
            outcome = self.matrix.at(shift, keep=self.keep)
            if outcome.run.failed < 0:
                break
            x = self._downwards(outcome, shift)
            if x is None:
                # nothing is known but that the shift was too large, or S is not definite: once more, and no further
                return self.matrix.at(shift / 16, keep=self.keep), None
            quotient = float(np.vdot(x, self.matrix.image(x)).real / np.vdot(x, x).real)
            if quotient <= 0:
                return outcome, x
            shift = min(quotient, shift) / _LOWER
        return outcome, None

    def _downwards(self, outcome: Outcome, shift: float) -> NDArray | None:
        """A direction from the pivot that was not positive; None where that would take too much memory."""
        if self.keep:
            return self.matrix.downwards(outcome.run)
        return self.matrix.downwards_again(shift, outcome.run.failed, most_numbers=_KEPT_AGAIN_NUMBERS)

    def _larger(self, outcome: Outcome) -> tuple[Outcome, NDArray]:
        """A factorization at nearly the largest shift that is possible, and the direction that says what that is."""
        matrix, run = self.matrix, outcome.run
        seen: list[float] = []

        def settled(steps: int, low: float, high: float, _: float) -> bool:
            seen.append(low)
            return len(seen) > 1 and steps >= 4 and abs(seen[-1] - seen[-2]) < 1e-2 * abs(low)

        inverse = lanczos(
            lambda v: -matrix.solve(run, v),
            np.zeros(matrix.order, dtype=np.complex128),
            np.random.default_rng(0),
            max_steps=_INVERSE_STEPS,
            enough=settled,
        )
        x = inverse.smallest_vector()
        x[matrix.left_out] = 0
        estimate = float(np.vdot(x, matrix.image(x)).real / np.vdot(x, x).real)
        for share in _SHARES:
            if share * estimate <= 1.3 * outcome.value or self.question.clock.expired:
                break
            larger = matrix.at(share * estimate, keep=False)
            if larger.value > outcome.value:
                return dataclasses.replace(larger, run=run), x
        return outcome, x

    def _singular(self, found: SpectralBound, direction: NDArray) -> SpectralBound | None:
        """The bound for a singular S, where S is 0 but for rounding along this direction; None where it proves nothing.

        Unknowns that were eliminated are not bounded as phases are, and nothing is said about them; nor about graphs
        whose factor is large.
        """
        gradient, matrix = self.gradient, self.matrix
        quotient = float(np.vdot(direction, matrix.image(direction)).real / np.vdot(direction, direction).real)
        if not self.keep or gradient is None or self.question.joint is not None or abs(quotient) > _ZERO:
            return None
        for shift in _BELOW_ZERO:
            check()
            outcome = matrix.at(-shift, keep=True)
            if outcome.run.failed < 0:
                y = self._solution_beside(direction / matrix.root, outcome.run, gradient)
                gap = singular_gap(matrix, outcome.rows, gradient, y)
                bound = dataclasses.replace(self._about(outcome.value, direction), gap=min(found.gap, gap))
                return bound if self.question.is_proof(bound) else None
        return None

    def _solution_beside(self, null: NDArray, run: Run, gradient: Gradient) -> NDArray:
        """y with A y near g, by a factor that was kept, and nothing along ``null``: A hardly sees what is there."""
        matrix, y = self.matrix, np.zeros(self.matrix.order, dtype=np.complex128)
        for _ in range(_REFINEMENTS):
            y = y + matrix.solve(run, gradient.left_by(y)[0] / matrix.root) / matrix.root
            y = y - null * (np.vdot(null, y) / np.vdot(null, null))
        return y

    def _with_gap(self, found: SpectralBound, outcome: Outcome, gradient: Gradient) -> SpectralBound:
        """The bound with its gap: the plain one where that is enough, otherwise the sharper one."""
        question, matrix, run = self.question, self.matrix, outcome.run

        def judged(gap: float) -> SpectralBound:
            unique = proves_uniqueness(matrix, outcome.value, gradient, gap)
            return dataclasses.replace(found, gap=gap, unique=unique)

        def sharper(y: NDArray) -> SpectralBound:
            return judged(sharper_gap(matrix, outcome.value, gradient, y))

        plain = judged(plain_gap(matrix, outcome.value, gradient))
        if question.is_proof(plain) and (run.kept is None or (plain.unique and question.joint is None)):
            return plain
        if run.kept is None:
            y = by_conjugate_gradients(matrix, gradient.g, enough=lambda y: question.is_proof(sharper(y)))
        else:
            y = by_conjugate_gradients(matrix, gradient.g, inverse=lambda v: matrix.solve(run, v), steps=_SOLVES)
        found = sharper(y)
        return found if found.gap < plain.gap else plain
