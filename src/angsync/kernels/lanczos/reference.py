r"""Lanczos runs, and what their coefficients prove about the smallest eigenvalue, in NumPy.

A run from the unit vector b has orthonormal vectors :math:`v_0 = b, v_1, \dots` and coefficients
:math:`\beta_j v_{j+1} = S v_j - \alpha_j v_j - \beta_{j-1} v_{j-1}`, so :math:`v_j = q_j(S) b` with polynomials that
follow the same recurrence. Let :math:`Sx = \lambda x`, :math:`\|x\| = 1`. Then
:math:`x^H v_j = q_j(\lambda) \, x^H b`, and as no more than all of x lies along :math:`v_0, \dots, v_k`,

.. math:: |x^H b|^2 \, \sum_{j=0}^{k} q_j(\lambda)^2 \le 1 .

Below the smallest Ritz value :math:`\theta` the sum, the **growth** of the run, increases as :math:`\lambda` falls: the
zeros of every :math:`q_j`, j up to k, are the Ritz values of j steps, and none is below :math:`\theta`. So where b is
known to have :math:`|x^H b|^2 \ge 1/L`, a shift below :math:`\theta` whose growth is more than L is below
:math:`\lambda`. (The sum is the reciprocal of the Christoffel function; see
:func:`angsync.certificate.bounds.lanczos.lanczos_bound` for L and for rounding.)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync.kernels.dense.narrow import NarrowCopy
from angsync.kernels.dense.reference import dense_apply
from angsync.kernels.dense.view import TriangleView

KEPT_SHARE = 0.5  # of the squared norm: a round of orthogonalization that leaves as much is the last one
MOST_ROUNDS = 4  # of orthogonalization: a vector of nothing but rounding errors would go on for ever
_SETTLED_FROM = 20  # steps from which a negative eigenvalue may end a run
_FIRST_COLUMNS = 32  # of the basis, which then doubles


class RunEnding(IntEnum):
    """Why a run came back."""

    GOING_ON = 0
    REACHED = 1
    """The goal is proved."""
    SETTLED = 2
    """The smallest eigenvalue is negative and known to a tenth."""
    HOPELESS = 3
    """A Ritz value is below the goal."""
    COMPLETE = 4
    """The space is invariant to rounding."""
    ENDED = 5
    """A product ended the run: it is a function of Python's, which raised something that is raised again."""


@dataclass(frozen=True)
class Goal:
    """What a run is to prove: that the smallest eigenvalue is at least ``value``."""

    value: float
    """Infinite where nothing in reach is good enough."""
    limit: float
    """L of the module: growth that is more than the start allows."""
    rounding: float
    """Error of a product in norm; what is proved after k steps is less by sqrt(k) times it."""
    give_up: bool = False
    """Whether a Ritz value below ``value`` ends the run."""


class ShiftedMatrix:
    """S = Diag(s) - scale C as a function of vectors; ``matrix`` is C, or the function that multiplies with it.

    There is no narrow copy of C without compiled kernels.
    """

    def __init__(
        self,
        matrix: NDArray | TriangleView | Callable[[NDArray], NDArray],
        copy: NarrowCopy | None,
        scale: float,
        s: NDArray[np.float64],
    ) -> None:
        self.matrix, self.copy, self.scale = matrix, copy, scale
        self.s = np.ascontiguousarray(s, dtype=np.float64)
        self.products = 0

    def __call__(self, v: NDArray) -> NDArray:
        self.products += 1
        return self.s * v - self.scale * self._image(v)

    def _image(self, v: NDArray) -> NDArray:
        return self.matrix(v) if callable(self.matrix) else dense_apply(self.matrix, v)


class ShiftedElsewhere(ABC):
    """S = Diag(s) - scale C of a C that lies on a device: a run on it keeps its vectors there."""

    products: int

    @abstractmethod
    def begin(self, z: NDArray, gaussian: NDArray, most: int) -> Lanczos:
        """A run on the complement of z, from what is left of a Gaussian vector there."""


def growth(alpha: NDArray[np.float64], beta: NDArray[np.float64], shift: float) -> float:
    """The sum of q_j(shift)^2, j up to the number of steps; -1 where the shift is not below all Ritz values.

    The last of ``beta`` is the norm of the next vector, 0 where there is none. With the pivots of T - shift I,
    ``d_j = alpha_j - shift - beta_{j-1}^2 / d_{j-1}``, the moduli are ``|q_{j+1}| = |q_j| d_j / beta_j``.
    """
    pivot, modulus, total, square = 1.0, 1.0, 1.0, 0.0
    for a, b in zip(alpha.tolist(), beta.tolist(), strict=True):
        pivot = a - shift - square / pivot
        if not pivot > 0:
            return -1.0
        modulus = modulus * pivot / b if b != 0 else math.inf
        total += modulus * modulus
        square = b * b
    return total


def smallest_ritz_value(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> float:
    """The smallest eigenvalue of T."""
    return float(scipy.linalg.eigvalsh_tridiagonal(alpha, beta[:-1], select="i", select_range=(0, 0))[0])


def smallest_ritz_vector(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """The unit eigenvector of T that belongs to its smallest eigenvalue."""
    if alpha.size == 1:
        return np.ones(1)
    return scipy.linalg.eigh_tridiagonal(alpha, beta[:-1], select="i", select_range=(0, 0))[1][:, 0]


def proved_by_lanczos(alpha: NDArray[np.float64], beta: NDArray[np.float64], limit: float) -> float:
    """The largest shift that is found to have a growth of at least ``limit``, to a millionth of its distance from T."""
    smallest = smallest_ritz_value(alpha, beta)
    low = high = smallest
    away = 1e-15 * (abs(smallest) + float(beta[-1])) + 1e-300
    while not growth(alpha, beta, low) >= limit:
        if not math.isfinite(low):
            return -math.inf
        high, low, away = low, smallest - away, 2 * away
    for _ in range(24):
        middle = low + 0.5 * (high - low)
        if growth(alpha, beta, middle) >= limit:
            low = middle
        else:
            high = middle
    return low


def verdict(alpha: NDArray[np.float64], beta: NDArray[np.float64], goal: Goal) -> RunEnding:
    """Whether a run may end with these coefficients."""
    steps = alpha.size
    lost = goal.rounding * math.sqrt(steps)
    seen = growth(alpha, beta, goal.value + lost)
    if seen >= goal.limit:
        return RunEnding.REACHED
    if seen < 0 and goal.give_up:
        return RunEnding.HOPELESS
    if steps < _SETTLED_FROM or growth(alpha, beta, 0.0) >= 0:
        return RunEnding.GOING_ON
    smallest = smallest_ritz_value(alpha, beta)
    lost = min(lost, -0.05 * smallest)  # where rounding alone is as large, steps would not help
    settled = smallest < 0 and growth(alpha, beta, 1.1 * smallest + lost) >= goal.limit
    return RunEnding.SETTLED if settled else RunEnding.GOING_ON


def orthogonalize(deflated: NDArray, basis: NDArray, w: NDArray) -> tuple[NDArray, float, float]:
    """w made orthogonal to the columns of ``basis`` and to ``deflated``, its norm, and that of what the basis took.

    Another round follows where one left less than 0.7 of the norm: the errors of what it took away then count beside
    what is left (Daniel, Gragg, Kaufman and Stewart, Math. Comp. 30, 1976).
    """
    before = left = float(np.vdot(w, w).real)
    taken = 0.0
    for _ in range(MOST_ROUNDS):
        # the conjugate of the basis would be a copy
        along = np.conj(np.conj(w) @ basis)
        w = w - deflated * np.vdot(deflated, w) - basis @ along
        taken += float(np.linalg.norm(along))
        left = float(np.vdot(w, w).real)
        if left > KEPT_SHARE * before:
            break
        before = left
    return w, math.sqrt(left), taken


class Lanczos:
    """A run on the complement of the unit vector ``deflated`` from the unit vector ``start`` of that complement.

    Every basis vector is made orthogonal to all before it. ``advance`` takes it some steps further.
    """

    orthogonalize = staticmethod(orthogonalize)
    verdict = staticmethod(verdict)

    def __init__(self, product: Callable[[NDArray], NDArray], deflated: NDArray, start: NDArray, most: int) -> None:
        self.product, self.deflated = product, deflated
        self.most = max(1, min(most, deflated.size - 1))
        self.steps = 0
        self._alpha, self._beta = np.zeros(self.most), np.zeros(self.most)
        # columns lie as rows do in C
        self._columns = self._empty(min(self.most, _FIRST_COLUMNS) + 1)
        self._columns[0] = start
        self._size = self._taken = self._drift = 0.0

    def _empty(self, count: int) -> NDArray:
        return np.empty((count, self.deflated.size), dtype=self.deflated.dtype)

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The diagonal of T."""
        return self._alpha[: self.steps]

    @property
    def beta(self) -> NDArray[np.float64]:
        """The entries beside the diagonal of T, and last the norm of the next vector (0 for the whole space)."""
        return self._beta[: self.steps]

    @property
    def basis(self) -> NDArray:
        """The vectors as columns."""
        return self._columns[: self.steps].T

    @property
    def taken(self) -> float:
        """The norm of all that the basis took away beside the three terms of the recurrence, all steps together."""
        return math.sqrt(self._taken)

    @property
    def drift(self) -> float:
        """The sum over the steps of what the basis took away, as shares of what was left."""
        return self._drift

    def _note(self, k: int, taken: float) -> None:
        self._taken += taken * taken
        self._drift += taken / float(self._beta[k]) if self._beta[k] > 0 else math.inf

    def _room(self) -> int:
        """The number of steps for which there is room, after some was made."""
        held = self._columns.shape[0]
        if self.steps + 1 == held and self.steps < self.most:
            wider = self._empty(min(self.most, 2 * self.steps) + 1)
            wider[:held] = self._columns
            self._columns = wider
        return self._columns.shape[0] - 1

    def advance(self, count: int, goal: Goal | None = None) -> RunEnding:
        """At most so many steps, fewer where the goal is reached or the run ends."""
        until, n = min(self.most, self.steps + count), self.deflated.size
        if goal is not None and self.steps > 0 and (ending := self.verdict(self.alpha, self.beta, goal)):
            return ending
        while self.steps < until:
            k = self.steps
            self._room()
            w = self._next(k)
            self.steps = k + 1
            if k + 2 == n:
                self._beta[k] = 0.0
            # a space that is invariant to rounding: another vector would be noise
            if self._beta[k] <= 16 * math.sqrt(n) * 2.0**-53 * self._size:
                return RunEnding.COMPLETE
            self._columns[k + 1] = w / self._beta[k]
            if goal is not None and (ending := self.verdict(self.alpha, self.beta, goal)):
                return ending
        return RunEnding.GOING_ON

    def _next(self, k: int) -> NDArray:
        """The image of vector k less its part in the basis, with its coefficients noted: the next one, not scaled."""
        v = self._columns[k]
        w = self.product(v)
        self._alpha[k] = np.vdot(v, w).real
        self._size = max(self._size, float(np.linalg.norm(w)))
        # nearly all that the whole basis has to take away, so that one round of it is enough
        w = w - self._alpha[k] * v
        if k:
            w = w - self._beta[k - 1] * self._columns[k - 1]
        w, self._beta[k], taken = self.orthogonalize(self.deflated, self._columns[: k + 1].T, w)
        self._note(k, taken)
        return w

    def combination(self, y: NDArray[np.float64]) -> NDArray:
        """The sum of the vectors, each times its entry of y, scaled to norm 1; in the memory of the host."""
        # not by BLAS: its threads go on to spin for 50 ms, on the cores of the next call's kernels
        x: NDArray = np.einsum("jk,k->j", self.basis, y)
        x /= np.linalg.norm(x)
        return x


def begin_lanczos(product: Callable[[NDArray], NDArray], deflated: NDArray, start: NDArray, most: int) -> Lanczos:
    """A run of at most so many steps."""
    return Lanczos(product, deflated, start, most)
