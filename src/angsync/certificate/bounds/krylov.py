"""Lanczos on the complement of a vector, for estimates of both ends of the spectrum; bounds are in ``spectrum``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from angsync import kernels

_FEW_STEPS = 24  # up to which the Ritz values come from a full matrix
_BYTES = 1 << 30  # the basis is kept for full reorthogonalisation; this caps it


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


def random_start(deflated: NDArray, rng: np.random.Generator) -> NDArray:
    """A Gaussian vector (complex when ``deflated`` is), projected and scaled: uniform on that sphere."""
    n = deflated.size
    v: NDArray = rng.standard_normal(n) + (1j * rng.standard_normal(n) if np.iscomplexobj(deflated) else 0)
    v = v - deflated * np.vdot(deflated, v)
    v = v - deflated * np.vdot(deflated, v)
    return v / np.linalg.norm(v)


def affordable_steps(deflated: NDArray, most: int) -> int:
    """So many steps, or fewer where the basis would not fit."""
    return max(1, min(most, _BYTES // (deflated.itemsize * deflated.size)))


def lanczos(
    apply: Callable[[NDArray], NDArray],
    deflated: NDArray,
    rng: np.random.Generator,
    *,
    max_steps: int,
    enough: Callable[[int, float, float, float], bool],
) -> Krylov:
    """Lanczos on the complement of the unit vector ``deflated``, with full reorthogonalisation.

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
    if k > _FEW_STEPS:
        values = scipy.linalg.eigvalsh_tridiagonal(alpha, beta)
    else:
        # a small full matrix: a fifth of the time of what SciPy does around LAPACK's tridiagonal solver
        T = np.zeros((k, k))
        T.flat[:: k + 1] = alpha
        T.flat[k :: k + 1] = beta
        values = np.linalg.eigvalsh(T)
    return float(values[0]), float(values[-1])
