"""Lanczos runs with the compiled kernels; each function has a twin in :mod:`angsync.kernels.lanczos.reference`."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.compiled import (
    _DENSE_FROM,
    HAS_AVX512,
    _plain,
    _thread_count,
    _work,
    dense_apply,
    narrow_apply,
)
from angsync.kernels.lanczos import reference
from angsync.kernels.lanczos.reference import Goal, RunEnding
from angsync.kernels.sparse.compiled import _library, _pointer, _size
from angsync.kernels.thread_count import threads

_library.tridiagonal_growth.restype = ctypes.c_double
_library.tridiagonal_smallest.restype = ctypes.c_double
_library.tridiagonal_proved.restype = ctypes.c_double
_library.orthogonalise.restype = ctypes.c_double
_library.orthogonalise_work.restype = ctypes.c_int64


def _coefficients(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> tuple[Any, ...]:
    return _size(alpha.size), _pointer(alpha), _pointer(beta)


def growth(alpha: NDArray[np.float64], beta: NDArray[np.float64], shift: float) -> float:
    """The sum of q_j(shift)^2, j up to the number of steps; -1 where the shift is not below all Ritz values."""
    found: float = _library.tridiagonal_growth(*_coefficients(alpha, beta), ctypes.c_double(shift))
    return found


def smallest_ritz_value(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> float:
    """The smallest eigenvalue of T."""
    lower = ctypes.c_double()
    found: float = _library.tridiagonal_smallest(*_coefficients(alpha, beta), ctypes.byref(lower))
    return found


def smallest_ritz_vector(alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Its unit eigenvector."""
    pivots, y = np.empty(alpha.size), np.empty(alpha.size)
    _library.tridiagonal_vector(*_coefficients(alpha, beta), _pointer(pivots), _pointer(y))
    return y


def proved(alpha: NDArray[np.float64], beta: NDArray[np.float64], limit: float) -> float:
    """The largest shift that is found to have a growth of at least ``limit``, to a millionth of its distance from T."""
    found: float = _library.tridiagonal_proved(*_coefficients(alpha, beta), ctypes.c_double(limit))
    return found


def _numbers(goal: Goal) -> tuple[Any, ...]:
    return (*(ctypes.c_double(x) for x in (goal.value, goal.limit, goal.rounding)), ctypes.c_int(goal.give_up))


def verdict(alpha: NDArray[np.float64], beta: NDArray[np.float64], goal: Goal) -> RunEnding:
    """Whether a run may end with these coefficients."""
    return RunEnding(_library.lanczos_verdict(*_coefficients(alpha, beta), *_numbers(goal)))


def orthogonalise(deflated: NDArray, basis: NDArray, w: NDArray) -> tuple[NDArray, float]:
    """w made orthogonal to the columns of ``basis`` and to ``deflated``, and its norm."""
    if w.dtype != np.complex128 or not basis.flags.f_contiguous or deflated.dtype != np.complex128:
        return reference.orthogonalise(deflated, basis, w)
    w, deflated = np.array(w), np.ascontiguousarray(deflated)
    count, columns = threads(), basis.shape[1]
    work = np.empty(count * _library.orthogonalise_work(_size(columns)))
    vectors = (_pointer(deflated), _pointer(basis.T), _pointer(w), _pointer(work))
    norm: float = _library.orthogonalise(_size(w.size), _size(columns), *vectors, ctypes.c_int(count))
    return w, norm


class ShiftedMatrix(reference.ShiftedMatrix):
    """S = Diag(s) - scale C as a function of vectors; products come from the narrow copy of C where one is given."""

    def _image(self, v: NDArray) -> NDArray:
        return dense_apply(self.matrix, v) if self.copy is None else narrow_apply(self.copy, v)


class Lanczos(reference.Lanczos):
    """A run for any product: see :class:`angsync.kernels.lanczos.reference.Lanczos`."""

    orthogonalise = staticmethod(orthogonalise)
    verdict = staticmethod(verdict)


class DenseLanczos(reference.Lanczos):
    """The run of a :class:`ShiftedMatrix`; all of its steps are one compiled call."""

    product: reference.ShiftedMatrix

    def __init__(
        self,
        product: reference.ShiftedMatrix,
        deflated: NDArray[np.complex128],
        start: NDArray,
        most: int,
        *,
        avx512: bool = HAS_AVX512,
    ) -> None:
        super().__init__(product, np.ascontiguousarray(deflated), start, most)
        n, matrix, copy = deflated.size, product.matrix, product.copy
        self._avx512 = avx512
        self._product_threads = _thread_count(n, narrow=copy is not None)
        self._threads = threads()
        self._work = _work(n, self._product_threads, narrow=copy is not None)
        # the arrays stay alive with self, so their addresses may be kept
        source: tuple[Any, ...] = (_pointer(matrix), None, None, None)
        if copy is not None:
            source = (None, _pointer(copy.blocks), _pointer(copy.scale), _pointer(copy.diagonal))
        self._source = (_size(n), *source, ctypes.c_double(product.scale), _pointer(product.s))

    def advance(self, count: int, goal: Goal | None = None) -> RunEnding:
        """At most so many steps, fewer where the goal is reached or the run ends."""
        until = min(self.most, self.steps + count)
        numbers = _numbers(Goal(math.nan, 0.0, 0.0) if goal is None else goal)
        ending = RunEnding.GOING_ON
        while True:
            last = min(until, self._room())
            own = np.empty(self._threads * _library.orthogonalise_work(_size(last)))
            steps, size = ctypes.c_int64(self.steps), ctypes.c_double(self._size)
            arrays = (_pointer(x) for x in (self.deflated, self._columns, self._alpha, self._beta))
            options = (ctypes.c_int(x) for x in (self._avx512, self._product_threads, self._threads))
            ending = RunEnding(
                _library.lanczos_run(
                    *self._source,
                    *arrays,
                    ctypes.byref(steps),
                    _size(last),
                    ctypes.byref(size),
                    *numbers,
                    _pointer(self._work),
                    _pointer(own),
                    *options,
                )
            )
            self.product.products += steps.value - self.steps
            self.steps, self._size = steps.value, size.value
            if ending is not RunEnding.GOING_ON or self.steps >= until:
                return ending


def begin(product: Callable[[NDArray], NDArray], deflated: NDArray, start: NDArray, most: int) -> reference.Lanczos:
    """A run of at most so many steps."""
    if (
        isinstance(product, reference.ShiftedMatrix)
        and deflated.dtype == np.complex128
        and deflated.size >= _DENSE_FROM
        and _plain(product.matrix, np.complex128)
    ):
        return DenseLanczos(product, deflated, start, most)
    return Lanczos(product, deflated, start, most)
