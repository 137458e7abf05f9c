r"""The signal that fits the intensities best, near one that fits well, and how well the data determine it.

.. math:: \min_x \sum_i \frac{(|\langle a_i, x\rangle|^2 - y_i)^2}{\sigma_i^2},

the likelihood of intensities with normal noise. Errors are those of small noise, from its second derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = np.pi / np.sqrt(3)
"""Standard deviation of a phase of which nothing is known, in radians."""
PROBES = 200
"""Random probes: error bars from them are themselves good to 1 / sqrt(2 * 200) = 5 %."""
_TOGETHER = 20  # probes at a time, for the memory
_EXACT_UP_TO_ENTRIES = 300  # errors from a dense inverse (0.1 s); beyond, from random probes
_MOST_STEPS = 50  # of the polish, which takes some 4 to 8
_MOST_WHOLE_STEPS = 10  # beyond the polish, where it stopped short: each takes two digits or more, or is not taken
_LEAST_SINGULAR = 1e-6  # of the largest one: the scale of residuals in the augmented system, which may be anything near
_SMALLEST_GAIN = 1e-14  # of the sum of squares: a step that promises less is the last
_FIRST_DAMPING, _LARGEST_DAMPING = 1e-4, 1e4  # of the largest second derivative
_ROUNDING = 1e-15  # of the intensities: nothing is left to be fitted
_RIDGE = 1e-13  # of the largest second derivative: what no data determine gets a large, finite error


@dataclass(frozen=True, eq=False)
class Fit:
    """Intensities that were measured, their model, and what they are weighted by."""

    matrix: Any
    """Rows a_i^H of the intensities that were measured."""
    intensities: NDArray[np.float64]
    sigma: NDArray[np.float64]
    """Standard deviations of the intensities, or what is proportional to them."""
    is_chain: bool = False
    """Whether the signal has one axis: factors of larger systems then stay sparse."""

    def residuals(self, x: NDArray[np.complex128]) -> NDArray[np.float64]:
        """In units of sigma."""
        return np.asarray((np.abs(self.matrix @ x) ** 2 - self.intensities) / self.sigma)

    def jacobian(self, x: NDArray[np.complex128]) -> Any:
        """Sparse: of the residuals by changes along the entries, then across them.

        A change of x_j is turn_j (r_j + i t_j), turn_j = x_j / |x_j|: then t_j = |x_j| for all j is the global turn.
        """
        import scipy.sparse

        rows = scipy.sparse.diags(2 * np.conj(self.matrix @ x) / self.sigma) @ self.matrix
        rows = rows @ scipy.sparse.diags(turns(x))
        return scipy.sparse.hstack([rows.real, -rows.imag], format="csr")

    def polished(self, x: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """The best fit near x: Gauss-Newton steps, damped where one does not fit better (Levenberg and Marquardt).

        The steps are solved directly: on a long signal the phases of distant parts are tied by many small links, and
        iterative solvers, SciPy's least squares for sparse problems among them, stop long before the fit is best.
        """
        left = self.residuals(x)
        cost, damping = float(left @ left), 0.0
        least = (_ROUNDING * float(np.linalg.norm(self.intensities / self.sigma))) ** 2
        for _ in range(_MOST_STEPS):
            J = self.jacobian(x)
            gradient = J.T @ left
            information = (J.T @ J).tocsc()
            step = np.zeros(2 * x.size)
            kept, solve = self._solver(information, x, damping)
            step[kept] = -solve(gradient[kept])
            slope = float(gradient @ step)
            if cost <= least or -slope <= _SMALLEST_GAIN * cost:
                break
            new = _stepped(x, *np.split(step, 2))
            left_new = self.residuals(new)
            if float(left_new @ left_new) < cost:
                x, left, cost, damping = new, left_new, float(left_new @ left_new), damping / 10
            elif damping > _LARGEST_DAMPING:
                break
            else:
                damping = max(10 * damping, _FIRST_DAMPING)
        return x

    @staticmethod
    def _solver(information: Any, x: NDArray[np.complex128], damping: float) -> tuple[NDArray[np.int64], Any]:
        """Which unknowns are free once the turn of the largest entry is held, and how systems of them are solved."""
        import scipy.sparse
        from scipy.sparse.linalg import splu

        pinned = x.size + int(np.abs(x).argmax())
        kept = np.delete(np.arange(2 * x.size), pinned)
        free = information[kept][:, kept]
        ridge = max(damping, _RIDGE) * float(free.diagonal().max())
        free = (free + ridge * scipy.sparse.identity(kept.size, format="csc")).tocsc()
        how: dict[str, Any] = {
            "permc_spec": "MMD_AT_PLUS_A",
            "diag_pivot_thresh": 0.0,
            "options": {"SymmetricMode": True},
        }
        return kept, splu(free, **how).solve

    def unfinished(self, x: NDArray[np.complex128]) -> NDArray[np.float64]:
        """Radians by which one more step, without damping or ridge, would turn each entry: 0 at the best fit."""
        return self._turned(x, self._whole_step(x))

    def finished(self, x: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """The best fit near an end of the polish that is short of it: whole steps, as long as each is far shorter than
        the one before and the fit gets no worse than rounding makes it."""
        left = self.residuals(x)
        cost, rounding = float(left @ left), (_ROUNDING * float(np.linalg.norm(self.intensities / self.sigma))) ** 2
        step = self._whole_step(x)
        for _ in range(_MOST_WHOLE_STEPS):
            new = _stepped(x, *np.split(step, 2))
            left = self.residuals(new)
            after = self._whole_step(new)
            longest = self._turned(x, step).max(), self._turned(new, after).max()
            if longest[1] > longest[0] / 2 or float(left @ left) > cost + 100 * rounding:
                break
            x, step, cost = new, after, min(cost, float(left @ left))
        return x

    def _whole_step(self, x: NDArray[np.complex128]) -> NDArray[np.float64]:
        """The step of Gauss and Newton to the accuracy of J itself, not of its square, where that can be afforded:
        dense least squares, or the augmented system of residuals and step (Bjorck, Numerical Methods for Least Squares
        Problems, 1996, section 2.5)."""
        J, left = self.jacobian(x), self.residuals(x)
        step = np.zeros(2 * x.size)
        kept = np.delete(np.arange(2 * x.size), x.size + int(np.abs(x).argmax()))
        if x.size <= _EXACT_UP_TO_ENTRIES:
            step[kept] = np.linalg.lstsq(J.toarray()[:, kept], -left, rcond=1e-15)[0]
            return step
        information = (J.T @ J).tocsc()
        if not self.is_chain:
            kept, solve = self._solver(information, x, 0.0)
            step[kept] = -solve((J.T @ left)[kept])
            return step
        import scipy.sparse
        from scipy.sparse.linalg import splu

        J = J[:, kept]
        weight = _LEAST_SINGULAR * float(np.sqrt(information.diagonal().max()))
        system = scipy.sparse.block_array([[weight * scipy.sparse.identity(left.size), J], [J.T, None]], format="csc")
        found = splu(system).solve(np.concatenate([-left, np.zeros(kept.size)]))
        step[kept] = found[left.size :]
        return step

    @staticmethod
    def _turned(x: NDArray[np.complex128], step: NDArray[np.float64]) -> NDArray[np.float64]:
        """Radians by which a step turns each entry, after the best turn of the whole."""
        size = np.abs(x)
        across = np.abs(without_turn(step[x.size :, None], size)[:, 0])
        return np.asarray(np.minimum(across / np.where(size > 0, size, np.inf), UNKNOWN))

    def noise(self, x: NDArray[np.complex128]) -> float:
        """What sigma has to be multiplied by: from the residuals that no small change of x explains."""
        from scipy.sparse.linalg import lsmr

        free = self.intensities.size - (2 * x.size - 1)
        if free <= 0:
            return float("nan")
        left = self.residuals(x)
        J = self.jacobian(x)
        left = left - J @ lsmr(J, left, atol=1e-8, btol=1e-8, maxiter=1000)[0]
        return float(np.linalg.norm(left) / np.sqrt(free))

    def errors(self, x: NDArray[np.complex128], noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Standard errors of phases (radians) and of sizes.

        After the best turn of the whole: the global phase is nobody's error.
        """
        size = np.abs(x)
        J = self.jacobian(x)
        information = (J.T @ J).tocsc()
        kept, solve = self._solver(information, x, 0.0)
        along, across = np.zeros(x.size), np.zeros(x.size)
        for change in _changes(J, kept, solve, exact=x.size <= _EXACT_UP_TO_ENTRIES):
            whole = np.zeros((2 * x.size, change.shape[1]))
            whole[kept] = change
            along += np.sum(whole[: x.size] ** 2, axis=1)
            across += np.sum(without_turn(whole[x.size :], size) ** 2, axis=1)
        along, across = noise * np.sqrt(along), noise * np.sqrt(across)
        with np.errstate(divide="ignore", invalid="ignore"):
            phase = np.minimum(across / size, UNKNOWN)
        return np.where(np.isnan(phase), UNKNOWN, phase), along


def _changes(J: Any, kept: NDArray[np.int64], solve: Any, *, exact: bool) -> Iterator[NDArray[np.float64]]:
    """Columns whose outer products sum up to the covariance of the free unknowns, some at a time."""
    if exact:
        values, vectors = np.linalg.eigh(solve(np.eye(kept.size)))
        yield vectors * np.sqrt(np.maximum(values, 0.0))
        return
    rng = np.random.default_rng(0)
    for _ in range(PROBES // _TOGETHER):
        probes = rng.standard_normal((J.shape[0], _TOGETHER))
        yield solve((J.T @ probes)[kept]) / np.sqrt(PROBES)


def _stepped(
    x: NDArray[np.complex128], along: NDArray[np.float64], across: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """On circles, so that a turn of a long stretch leaves its sizes as they are; on straight lines near 0."""
    size = np.abs(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        round_ = (size + along) * np.exp(1j * across / size)
    return turns(x) * np.where(np.abs(across) < size, round_, size + along + 1j * across)


def turns(x: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """x / |x|, 1 where x is 0."""
    size = np.abs(x)
    return np.where(size > 0, x / np.where(size > 0, size, 1.0), 1.0)


def without_turn(across: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Changes across the entries, one a column, without their common turn (in the mean weighted by |x|^2)."""
    return across - np.outer(size, size @ across) / float(size @ size)
