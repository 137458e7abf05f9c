r"""A multigrid cycle that is an exactly symmetric matrix B of stored numbers, with a bound on its rounding errors.

**The matrix.** A level stores a symmetric matrix W with an empty diagonal, numbers :math:`\delta_i > 0` and
:math:`c_i`, and a prolongation P; the last one stores X. With :math:`\Delta = \mathrm{Diag}(\delta)`,
:math:`G = \mathrm{Diag}(c) + \Delta W`, by definition and without any rounding

.. math:: B_l = \Delta (I + \mathrm{Diag}(c)) + \Delta W \Delta + G P\, B_{l+1}\, P^T G^T, \qquad B_{last} = X X^T .

That is one step of damped Jacobi before and one after the coarse correction for the matrix with the diagonal
:math:`(1 - c_i) / \delta_i` and -W beside it, written so that nothing is subtracted:
t = :math:`\delta` r; :math:`\rho` = c r + W t; t += P B (P^T :math:`\rho`); result = c t + :math:`\delta` (W t + r).

1. B is symmetric, as the definition is, and if :math:`\varrho_i = 1 + c_i - \delta_i \sum_j |w_{ij}|` is positive on
   every level (it is looked at), :math:`\Delta^{-1} (I + \mathrm{Diag}(c)) + W` is diagonally dominant:
   :math:`B \succeq \varrho \Delta` with the least :math:`\varrho` of the finest level (``share``).
2. The computation is a fixed sequence of sums of products of stored numbers. Each path from an entry of r to one of
   the result passes K roundings at most (``roundings``), in any order of the sums: 2 (row of W) + (row of P) +
   (column of P) + 12 a level, and twice the order of X and 4 at the end. So (Higham, lemmas 3.1 and 3.3)
   :math:`|\mathrm{fl}(Br) - Br| \le \gamma_K B^+ |r|` entry by entry, :math:`B^+` being the same formula with the
   moduli of all stored numbers. There is no inverse and no triangular solve, hence no condition number.
3. :math:`B^+` is symmetric and has no negative entry, so for any positive weights a its norm is at most the largest
   :math:`(B^+ a)_i / a_i`. With :math:`H = \Delta^{-1/2}` and a = 1 seen from :math:`H B^+ H`:
   :math:`\|H B H\| \le \|H B^+ H\| \le \kappa = \max_i (B^+ 1)_i / \delta_i`. One cycle on a vector of ones bounds the
   rounding of every cycle of a run.

The hierarchy is smoothed aggregation (Vanek, Mandel and Brezina, Computing 56 (1996)) of a graph Laplacian. How well it
fits the matrix in question decides how many steps a run takes, and about nothing that is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels import time_limit
from angsync.kernels.rounding import gamma

_DAMPING = 2 / 3  # of Jacobi: B is then at least 2/3 of Delta
_SMOOTHING = 2 / 3  # of the prolongation: 4/3 over the largest eigenvalue, which is 2 at most for a Laplacian
_STRONG_SHARE = 0.25  # of the strongest edge at one of its ends: weaker edges do not hold an aggregate together
_COARSEST_NODES = 200  # order of the matrix that is inverted
_LEAST_DEGREE = 1e-200  # its reciprocal and products with that stay in range
_LEAST_COARSENING = 0.7  # a level with more than this share of the nodes before it is of no use


@dataclass(frozen=True)
class Level:
    """One level of the cycle: the numbers that define it."""

    W: scipy.sparse.csr_array
    delta: NDArray[np.float64]
    c: NDArray[np.float64]
    P: scipy.sparse.csr_array
    R: scipy.sparse.csr_array
    """The transpose of P."""

    @property
    def share(self) -> float:
        """The least 1 + c_i - delta_i sum_j |w_ij|, rounded down."""
        sums = _row_sums(abs(self.W))
        return float((1 + self.c - self.delta * sums).min()) - gamma(_longest(self.W) + 8) * 4

    @property
    def roundings(self) -> int:
        return 2 * _longest(self.W) + _longest(self.P) + _longest(self.R) + 12

    def of_moduli(self) -> Level:
        return Level(abs(self.W), self.delta, np.abs(self.c), abs(self.P), abs(self.R))


@dataclass(frozen=True)
class Cycle:
    """B as a function of blocks of real columns."""

    levels: tuple[Level, ...]
    X: scipy.sparse.csr_array
    """Dense, but a block is multiplied with it by the same kernel: no threads of BLAS are woken."""
    XT: scipy.sparse.csr_array

    def __call__(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._at(0, r)

    def _at(self, depth: int, r: NDArray[np.float64]) -> NDArray[np.float64]:
        if depth == len(self.levels):
            return kernels.block_apply(self.X, kernels.block_apply(self.XT, r))
        level = self.levels[depth]
        t = level.delta[:, None] * r
        left = kernels.block_apply(level.W, t, share=level.c, own=r)
        coarse = self._at(depth + 1, kernels.block_apply(level.R, left))
        t = kernels.block_apply(level.P, coarse, own=t)
        return kernels.block_apply(level.W, t, share=level.c, own=t, factor=level.delta, plus=r)

    def on(self, x: NDArray) -> NDArray:
        """B x for a block of complex columns: B is real."""
        return self(x.view(np.float64)).view(np.complex128)

    @cached_property
    def of_moduli(self) -> Cycle:
        """B+: the same formula with the moduli of all stored numbers."""
        return Cycle(tuple(level.of_moduli() for level in self.levels), abs(self.X), abs(self.XT))

    @property
    def delta(self) -> NDArray[np.float64]:
        """The weights of the finest level, with which B is compared."""
        return self.levels[0].delta

    @property
    def is_definite(self) -> bool:
        """Whether B is seen to be positive definite."""
        return all(level.share > 0 and bool((level.delta > 0).all()) for level in self.levels)

    @cached_property
    def share(self) -> float:
        """B is at least this times Delta."""
        return self.levels[0].share

    @cached_property
    def roundings(self) -> int:
        """K: the roundings on a path from an entry of r to one of B r."""
        return sum(level.roundings for level in self.levels) + 2 * self.X.shape[0] + 4

    @cached_property
    def row_sums_of_moduli(self) -> NDArray[np.float64]:
        """B+ 1."""
        return self.of_moduli(np.ones((self.delta.size, 1)))[:, 0] * (1 + 2 * self.error)

    @cached_property
    def kappa(self) -> float:
        """The norm of H B+ H is at most this."""
        return float((self.row_sums_of_moduli / self.delta).max())

    @property
    def error(self) -> float:
        """gamma_K, with what scaling r and B r by one number adds."""
        return gamma(self.roundings + 4)


def _longest(matrix: scipy.sparse.csr_array) -> int:
    return int(np.diff(matrix.indptr).max(initial=0))


def _row_sums(matrix: scipy.sparse.csr_array) -> NDArray[np.float64]:
    return np.asarray(matrix.sum(axis=1)).ravel()


def smoothed_aggregation(weights: scipy.sparse.csr_array) -> Cycle | None:
    """The cycle for the Laplacian of a connected graph: a symmetric matrix of positive weights, no diagonal.

    None where the graph does not become smaller (a complete graph at once, but a graph of a few hubs perhaps never).
    """
    levels: list[Level] = []
    W, diagonal, mass = weights, _row_sums(weights), np.ones(weights.shape[0])
    while W.shape[0] > _COARSEST_NODES or not levels:
        time_limit.check()
        label, count = kernels.aggregate(_strong(W), np.arange(W.shape[0], dtype=np.int32))
        if count > _LEAST_COARSENING * W.shape[0]:
            return None
        l1 = np.maximum(diagonal, _row_sums(abs(W)))
        if not float(l1.min()) > _LEAST_DEGREE:
            return None
        P = _prolongation(W, diagonal, l1, label, count)
        R = scipy.sparse.csr_array(P.T)
        R.sort_indices()
        delta = _DAMPING / l1
        levels.append(Level(W, delta, 1 - delta * diagonal, P, R))
        time_limit.check()
        A = R @ (scipy.sparse.diags_array(diagonal) - W) @ P
        A = scipy.sparse.csr_array(A + A.T)  # symmetric to the last bit
        A.data *= 0.5
        diagonal, mass = A.diagonal(), R @ mass
        W = _off_diagonal(A)
    A = np.diag(diagonal) - W.toarray()
    X = scipy.sparse.csr_array(_root_of_inverse(A, mass, float(weights.sum()) / weights.shape[0]))
    found = Cycle(tuple(levels), X, scipy.sparse.csr_array(X.T))
    return found if found.is_definite else None


def _strong(W: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The weights of edges that are strong at one of their ends at least, 0 for the others."""
    rows = np.repeat(np.arange(W.shape[0], dtype=np.int32), np.diff(W.indptr))
    most = np.zeros(W.shape[0])
    np.maximum.at(most, rows, W.data)
    strong = W.data >= _STRONG_SHARE * np.minimum(most[rows], most[W.indices])
    return scipy.sparse.csr_array((np.where(strong, np.maximum(W.data, 0.0), 0.0), W.indices, W.indptr), shape=W.shape)


def _prolongation(
    W: scipy.sparse.csr_array, diagonal: NDArray, l1: NDArray, label: NDArray[np.int32], count: int
) -> scipy.sparse.csr_array:
    """Constant on aggregates, then smoothed by one step of damped Jacobi."""
    n = label.size
    plain = scipy.sparse.csr_array(
        (np.ones(n), label.astype(np.int32), np.arange(n + 1, dtype=np.int32)), shape=(n, count)
    )
    scale = _SMOOTHING / l1
    smoothed = scipy.sparse.diags_array(scale) @ (W @ plain) + scipy.sparse.diags_array(1 - scale * diagonal) @ plain
    P = scipy.sparse.csr_array(smoothed)
    P.sort_indices()
    return P


def _off_diagonal(A: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """-A without its diagonal and without zeros."""
    rows = np.repeat(np.arange(A.shape[0], dtype=np.int32), np.diff(A.indptr))
    kept = (A.indices != rows) & (A.data != 0)
    ends = np.concatenate([[0], np.cumsum(kept)])[A.indptr].astype(np.int32)
    return scipy.sparse.csr_array((-A.data[kept], A.indices[kept].astype(np.int32), ends), shape=A.shape)


def _root_of_inverse(A: NDArray[np.float64], mass: NDArray[np.float64], degree: float) -> NDArray[np.float64]:
    """X with X X^T near the inverse of A + e Diag(mass), e a quarter of the second eigenvalue of the pair.

    Where there is no second one, e is the mean degree of the graph.
    """
    root = np.sqrt(mass)
    values, vectors = scipy.linalg.eigh(A / root[:, None] / root)
    lift = 0.25 * max(float(values[1]), 0.0) if values.size > 1 else degree
    return (vectors / np.sqrt(np.maximum(values + lift, 1e-8 * degree))) / root[:, None]
