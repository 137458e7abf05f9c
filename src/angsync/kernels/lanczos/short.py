"""A Lanczos run that keeps three vectors: for so many nodes that a basis would take more memory than C.

The theorem in :mod:`angsync.certificate.bounds.overlap` holds for any vectors that obey the recurrence but for known
errors. Nothing has to be taken away beside the three terms, and the errors are those of the product and of the few
operations with it. What is given up is that the vectors are orthonormal together: k + 1 unit vectors have a norm of
sqrt(k + 1) at most, where those of a full run are near 1, so the growth that is asked for is k + 1 times as large.
That is a step or two more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.lanczos.reference import Goal, Lanczos, RunEnding
from angsync.kernels.lanczos.reference import verdict as verdict_in_numpy

_AT_ONCE = 1 << 14  # numbers of a vector that are worked on at a time: they stay in the cache


class ShortLanczos(Lanczos):
    """A run on the complement of ``deflated`` that forgets its vectors; those it needs again are computed again."""

    verdict = staticmethod(verdict_in_numpy)

    def __init__(self, product: Callable[[NDArray], NDArray], deflated: NDArray, start: NDArray, most: int) -> None:
        self.product, self.deflated, self._start = product, deflated, start
        self.most = max(1, min(most, deflated.size - 1))
        self.steps = 0
        self._alpha, self._beta = np.zeros(self.most), np.zeros(self.most)
        self._before: NDArray | None = None
        self._last = start
        self._size = self._taken = 0.0
        self._drift = math.inf  # nothing is known about the vectors but their norms

    @property
    def basis(self) -> NDArray:
        """Not kept."""
        raise NotImplementedError("a short run keeps no basis: ask for a combination of its vectors.")

    def advance(self, count: int, goal: Goal | None = None) -> RunEnding:
        """At most so many steps, fewer where the goal is reached or the run ends."""
        until, n = min(self.most, self.steps + count), self.deflated.size
        while self.steps < until:
            if self.steps and (ending := self._ending(goal)):
                return ending
            k = self.steps
            w = self.product(self._last)
            self._alpha[k] = np.vdot(self._last, w).real
            self._size = max(self._size, float(np.linalg.norm(w)))
            w = self._less_two_terms(w, k, self._last, self._before)
            self._beta[k] = 0.0 if k + 2 == n else float(np.linalg.norm(w))
            self.steps = k + 1
            if self._beta[k] <= 16 * math.sqrt(n) * 2.0**-53 * self._size:
                return RunEnding.COMPLETE
            w /= self._beta[k]
            self._before, self._last = self._last, w
        return self._ending(goal)

    def _ending(self, goal: Goal | None) -> RunEnding:
        if goal is None:
            return RunEnding.GOING_ON
        return self.verdict(self.alpha, self.beta, replace(goal, limit=goal.limit * (self.steps + 1)))

    def _less_two_terms(self, w: NDArray, k: int, last: NDArray, before: NDArray | None) -> NDArray:
        """The image of vector k less what it has along vectors k and k - 1 and along the deflated one."""
        _subtract(w, self._alpha[k], last)
        if before is not None:
            _subtract(w, self._beta[k - 1], before)
        for _ in range(2):  # the second time for what rounding left
            _subtract(w, np.vdot(self.deflated, w), self.deflated)
        return w

    def combination(self, y: NDArray[np.float64]) -> NDArray:
        """The sum of the vectors, each times its entry of y, scaled to norm 1: the run is made once more."""
        before, last = None, self._start
        x: NDArray = y[0] * last
        for k in range(self.steps - 1):
            w = self._less_two_terms(self.product(last), k, last, before)
            w /= self._beta[k]
            before, last = last, w
            _subtract(x, -y[k + 1], last)
        x /= np.linalg.norm(x)
        return x


def _subtract(w: NDArray, factor: complex, x: NDArray) -> None:
    """w -= factor x, a part at a time: no vector is made of the product."""
    for begin in range(0, w.size, _AT_ONCE):
        w[begin : begin + _AT_ONCE] -= factor * x[begin : begin + _AT_ONCE]
