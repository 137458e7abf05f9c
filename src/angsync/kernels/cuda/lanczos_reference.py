"""Lanczos runs whose vectors stay on a device: the run, and what ``cuda/lanczos.cu`` computes, as array functions.

The run is that of :class:`angsync.kernels.lanczos.reference.Lanczos`; only the numbers that it decides by come to the
host, one small copy a step. :class:`ShiftedMatrix` has the operations on vectors, here for NumPy arrays, and
:mod:`angsync.kernels.cuda.lanczos` the same ones as kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.lanczos.reference import KEPT_SHARE, MOST_ROUNDS, Goal, Lanczos, RunEnding, ShiftedElsewhere


class Rounds(NamedTuple):
    """A vector after two rounds of orthogonalization, and what the host is told of it."""

    w: Any
    along: float
    """Real part of its inner product with the last of the rows, before the first round."""
    squares: tuple[float, float, float]
    """Its squared norm before, between and after the rounds."""
    coefficients: NDArray
    """What was taken away along each of the rows, a round a row, on the host."""


class ShiftedMatrix(ShiftedElsewhere):
    """S = Diag(s) - scale C, ``product`` the product with C, all of it where C lies."""

    device: AbstractContextManager[Any] = nullcontext()
    """Inside of it, arrays are made where C lies."""

    def __init__(self, product: Callable[[Any], Any], s: NDArray[np.float64], scale: float) -> None:
        self.product, self.scale = product, scale
        self.s = self.placed(s)
        self.products = 0

    def begin(self, z: NDArray, gaussian: NDArray, most: int) -> DeviceLanczos:
        with self.device:
            return DeviceLanczos(self, z, gaussian, most)

    def placed(self, numbers: NDArray) -> Any:
        """An array of the host where C lies."""
        return np.array(numbers)

    def empty(self, rows: int, n: int) -> Any:
        """Room for so many vectors."""
        return np.empty((rows, n), dtype=np.complex128)

    def image(self, v: Any) -> Any:
        """S v, in an array of its own."""
        self.products += 1
        return self.s * v - self.scale * self.product(v)

    def two_rounds(self, rows: Any, w: Any) -> Rounds:
        """w less its parts along orthonormal ``rows``, twice: once leaves what rounding left of them."""
        first = np.conj(rows) @ w
        w = w - first @ rows
        once = _square(w)
        second = np.conj(rows) @ w
        w = w - second @ rows
        squares = (_square(first) + once, once, _square(w))
        return Rounds(w, float(first[-1].real), squares, np.stack([first, second]))

    def combined(self, y: NDArray[np.float64], rows: Any) -> NDArray:
        """The sum of the rows, each times its entry of y, on the host."""
        return y @ rows


def _square(x: NDArray) -> float:
    # no BLAS, whose threads would cost more than they save
    return float(np.sum(x.real**2 + x.imag**2))


class DeviceLanczos(Lanczos):
    """A run on the complement of z, from what is left of a Gaussian vector there, with vectors where C lies.

    The whole basis takes its part away in two rounds, z among it: twice is enough unless hardly anything is left
    (Giraud, Langou and Rozloznik, Comput. Math. Appl. 50, 2005), and then the rule of the host asks for more. The first
    round is the three-term recurrence as well.
    """

    def __init__(self, shifted: ShiftedMatrix, z: NDArray, gaussian: NDArray, most: int) -> None:
        self._shifted = shifted
        unit = shifted.placed(z / math.sqrt(_square(z)))
        start = shifted.two_rounds(unit[None, :], shifted.placed(gaussian))
        super().__init__(shifted.image, unit, start.w / math.sqrt(start.squares[-1]), most)

    @staticmethod
    def verdict(alpha: NDArray[np.float64], beta: NDArray[np.float64], goal: Goal) -> RunEnding:
        """Compiled where it can be: the device waits for it."""
        ending: RunEnding = kernels.verdict(alpha, beta, goal)
        return ending

    def advance(self, count: int, goal: Goal | None = None) -> RunEnding:
        with self._shifted.device:
            return super().advance(count, goal)

    def _empty(self, count: int) -> Any:
        """Room for so many basis vectors, behind the one that is deflated."""
        self._rows = self._shifted.empty(count + 1, self.deflated.size)
        self._rows[0] = self.deflated
        return self._rows[1:]

    def _next(self, k: int) -> Any:
        w, rows = self._shifted.image(self._columns[k]), self._rows[: k + 2]
        before = after = taken = 0.0
        for number in range(MOST_ROUNDS // 2):
            w, along, (size, before, after), coefficients = self._shifted.two_rounds(rows, w)
            if number == 0:
                self._alpha[k] = along
                self._size = max(self._size, math.sqrt(size))
                coefficients[0, -1] -= along  # these two are the recurrence
                coefficients[0, -2] -= self._beta[k - 1] if k else 0.0
            taken += sum(math.sqrt(_square(one)) for one in coefficients[:, 1:])  # z comes first
            if after > KEPT_SHARE * before:
                break
        self._beta[k] = math.sqrt(after)
        self._note(k, taken)
        return w

    def combination(self, y: NDArray[np.float64]) -> NDArray:
        with self._shifted.device:
            x = self._shifted.combined(y, self._columns[: self.steps])
        return x / math.sqrt(_square(x))
