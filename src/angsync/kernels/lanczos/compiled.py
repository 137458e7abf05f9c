"""Lanczos runs with the compiled kernels; each function has a twin in :mod:`angsync.kernels.lanczos.reference`."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.compiled import dense_apply, narrow_apply
from angsync.kernels.dense.source import DENSE_FROM, Products, Source, as_source, is_readable
from angsync.kernels.lanczos import reference
from angsync.kernels.lanczos.reference import Goal, RunEnding
from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, function
from angsync.kernels.spare_memory import own_address
from angsync.kernels.thread_count import threads


class Run(ctypes.Structure):
    """``run_t`` in lanczos.c: a run on S = Diag(s) - scale C."""

    _fields_ = (
        ("scale", REAL), ("s", ADDRESS), ("deflated", ADDRESS), ("basis", ADDRESS), ("alpha", ADDRESS),
        ("beta", ADDRESS), ("steps", SIZE), ("last", SIZE), ("size", REAL), ("target", REAL), ("limit", REAL),
        ("rounding", REAL), ("own", ADDRESS), ("give_up", ctypes.c_int32), ("threads", ctypes.c_int32),
        ("taken", REAL), ("drift", REAL),
    )  # fmt: skip


_SHARED_FROM = 100_000  # numbers of the basis below which one thread does all: SHARED_FROM in lanczos.c
_COEFFICIENTS = (SIZE, ADDRESS, ADDRESS)  # steps, alpha, beta
_growth = function("tridiagonal_growth", *_COEFFICIENTS, REAL, returns=REAL)
_smallest = function("tridiagonal_smallest", *_COEFFICIENTS, ctypes.POINTER(REAL), returns=REAL)
_vector = function("tridiagonal_vector", *_COEFFICIENTS, ADDRESS, ADDRESS)
_proved = function("tridiagonal_proved", *_COEFFICIENTS, REAL, returns=REAL)
_verdict = function("lanczos_verdict", *_COEFFICIENTS, REAL, REAL, REAL, INT, returns=INT)
_orthogonalize = function("orthogonalize", SIZE, SIZE, *4 * (ADDRESS,), INT, ctypes.POINTER(REAL), returns=REAL)
_orthogonalize_work = function("orthogonalize_work", SIZE, returns=SIZE)
_lanczos_run = function("lanczos_run", ctypes.POINTER(Source), ctypes.POINTER(Run), returns=INT)


def _coefficients(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> tuple[int, int, int]:
    return alpha.size, address(alpha), address(beta)


def growth(alpha: NDArray[np.float64], beta: NDArray[np.float64], shift: float) -> float:
    """The sum of q_j(shift)^2, j up to the number of steps; -1 where the shift is not below all Ritz values."""
    found: float = _growth(*_coefficients(alpha, beta), shift)
    return found


def smallest_ritz_value(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> float:
    """The smallest eigenvalue of T."""
    lower = REAL()
    found: float = _smallest(*_coefficients(alpha, beta), ctypes.byref(lower))
    return found


def smallest_ritz_vector(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """The unit eigenvector of T that belongs to its smallest eigenvalue."""
    pivots, y = np.empty(alpha.size), np.empty(alpha.size)
    _vector(*_coefficients(alpha, beta), address(pivots), address(y))
    return y


def proved_by_lanczos(alpha: NDArray[np.float64], beta: NDArray[np.float64], limit: float) -> float:
    """The largest shift that is found to have a growth of at least ``limit``, to a millionth of its distance from T."""
    found: float = _proved(*_coefficients(alpha, beta), limit)
    return found


def verdict(alpha: NDArray[np.float64], beta: NDArray[np.float64], goal: Goal) -> RunEnding:
    """Whether a run may end with these coefficients."""
    numbers = (goal.value, goal.limit, goal.rounding, goal.give_up)
    return RunEnding(_verdict(*_coefficients(alpha, beta), *numbers))


def orthogonalize(deflated: NDArray, basis: NDArray, w: NDArray) -> tuple[NDArray, float, float]:
    """w made orthogonal to the columns of ``basis`` and to ``deflated``, its norm, and that of what the basis took."""
    if w.dtype != np.complex128 or not basis.flags.f_contiguous or deflated.dtype != np.complex128:
        return reference.orthogonalize(deflated, basis, w)
    w, deflated = np.array(w), np.ascontiguousarray(deflated)
    count, columns = threads(), basis.shape[1]
    work = np.empty(count * _orthogonalize_work(columns))
    vectors = (address(deflated), address(basis.T), address(w), address(work))
    taken = REAL()
    norm: float = _orthogonalize(w.size, columns, *vectors, count, ctypes.byref(taken))
    return w, norm, taken.value


class ShiftedMatrix(reference.ShiftedMatrix):
    """S = Diag(s) - scale C as a function of vectors; products come from the narrow copy of C where one is given."""

    def _image(self, v: NDArray) -> NDArray:
        if self.copy is not None:
            return narrow_apply(self.copy, v)
        return self.matrix(v) if callable(self.matrix) else dense_apply(self.matrix, v)


class Lanczos(reference.Lanczos):
    """A run for any product: see :class:`angsync.kernels.lanczos.reference.Lanczos`."""

    orthogonalize = staticmethod(orthogonalize)
    verdict = staticmethod(verdict)


class DenseLanczos(reference.Lanczos):
    """The run of a :class:`ShiftedMatrix`; all of its steps are one compiled call."""

    product: reference.ShiftedMatrix

    def __init__(
        self, product: reference.ShiftedMatrix, deflated: NDArray[np.complex128], start: NDArray, most: int
    ) -> None:
        super().__init__(product, np.ascontiguousarray(deflated), start, most)
        self._matrix = as_source(product.matrix, deflated.size)
        self._source = Source(self._matrix, product.copy)
        # The arrays stay alive with self, so their addresses may be kept. The basis and its work array may grow: their
        # addresses are renewed.
        self._run = Run(
            scale=product.scale, s=address(product.s), deflated=address(self.deflated),
            alpha=own_address(self._alpha), beta=own_address(self._beta),
            threads=1 if deflated.size * self.most < _SHARED_FROM else threads(),
        )  # fmt: skip

    def advance(self, count: int, goal: Goal | None = None) -> RunEnding:
        """At most so many steps, fewer where the goal is reached or the run ends."""
        until = min(self.most, self.steps + count)
        goal = Goal(math.nan, 0.0, 0.0) if goal is None else goal
        run = self._run
        run.target, run.limit, run.rounding, run.give_up = goal.value, goal.limit, goal.rounding, goal.give_up
        while True:
            run.last = min(until, self._room())
            own = np.empty(run.threads * _orthogonalize_work(run.last))
            run.basis, run.own = own_address(self._columns), own_address(own)
            run.steps, run.size, run.taken, run.drift = self.steps, self._size, self._taken, self._drift
            ending = RunEnding(_lanczos_run(ctypes.byref(self._source), ctypes.byref(run)))
            self.product.products += run.steps - self.steps
            self.steps, self._size, self._taken, self._drift = run.steps, run.size, run.taken, run.drift
            if isinstance(self._matrix, Products):
                self._matrix.raise_again()
            if ending is not RunEnding.GOING_ON or self.steps >= until:
                return ending


def begin_lanczos(
    product: Callable[[NDArray], NDArray], deflated: NDArray, start: NDArray, most: int
) -> reference.Lanczos:
    """A run of at most so many steps."""
    if (
        isinstance(product, reference.ShiftedMatrix)
        and deflated.dtype == np.complex128
        and deflated.size >= DENSE_FROM
        and (callable(product.matrix) or is_readable(product.matrix))
    ):
        return DenseLanczos(product, deflated, start, most)
    return Lanczos(product, deflated, start, most)
