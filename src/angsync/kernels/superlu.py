r"""Sparse factorisations of Hermitian matrices, and what they prove.

SciPy offers SuperLU. With a symmetric ordering and no pivoting it computes :math:`P A P^T = L U` with unit lower
triangular L, and for a Hermitian A in exact arithmetic :math:`U = D L^H` with :math:`D = \mathrm{Diag}(U)` real.

**What a factorisation proves.** Sylvester's law of inertia: :math:`L D L^H` has as many negative eigenvalues as D has
negative entries. In floating point, Gaussian elimination satisfies :math:`|A - LU| \le \gamma |L||U|` entry by entry,
whatever the order of the operations (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., Theorem 9.3;
k terms in the longest inner product, :math:`\gamma = \sqrt 2 \gamma_{2k+8}` in complex arithmetic). With
:math:`F = U - D L^H`, which can be computed,

.. math:: A = L D L^H + E, \qquad \|E\|_2 \le \big\| |L||F| \big\| + \gamma \big\| |L||U| \big\|,

so by Weyl's inequality :math:`\lambda_{k+1}(A) \ge -\|E\|_2` when D has k negative entries. Nothing is assumed about
the size of L or U: without pivoting they may grow, and then the bound is large and proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.kernels.rounding import gamma

Matrix = Any  # a scipy.sparse array


class Factor:
    """``P A P^T = L U`` of a Hermitian matrix, ordered by minimum degree, without pivoting."""

    def __init__(self, matrix: Matrix) -> None:
        # int32, because SuperLU knows no other; a pivot threshold of 0 keeps the diagonal entry whatever its size
        self._lu = scipy.sparse.linalg.splu(
            matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    def solve(self, b: NDArray) -> NDArray:
        """The solution of A x = b."""
        return self._lu.solve(b)

    @property
    def order(self) -> int:
        """Order of A."""
        return int(self._lu.shape[0])

    @property
    def entries(self) -> int:
        """Stored entries of both factors."""
        return int(self._lu.nnz)

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns kept one order: nothing forced a pivot off the diagonal."""
        return bool(np.array_equal(self._lu.perm_r, self._lu.perm_c))

    @property
    def pivots(self) -> NDArray[np.float64]:
        """The diagonal of U, which is real but for rounding."""
        return self._lu.U.diagonal().real

    @property
    def row_length(self) -> int:
        """The longest rows of L and of U together: terms of one entry of a solution."""
        lower, upper = scipy.sparse.csr_array(self._lu.L), scipy.sparse.csr_array(self._lu.U)
        return int(np.diff(lower.indptr).max()) + int(np.diff(upper.indptr).max())

    @property
    def positive(self) -> bool:
        """Whether all pivots are positive; not a proof, see :meth:`inertia`."""
        return self.symmetric and bool((self.pivots > 0).all())

    def inertia(self, first: int | None = None) -> Inertia:
        """The number of negative pivots, and how far the factors are from A.

        ``first`` splits the rows and columns of A into the first so many and the rest, and the error into blocks.
        """
        first = self.order if first is None else first
        if not self.symmetric:
            return Inertia(-1, math.inf, math.inf, math.inf)
        lower, upper = self._lu.L.tocsc(), self._lu.U.tocsc()
        pivots = upper.diagonal().real
        if not np.all(np.isfinite(pivots) & (pivots != 0)):
            return Inertia(-1, math.inf, math.inf, math.inf)
        gap = abs(upper - (lower.conj() * pivots[None, :]).T.tocsc())
        size_lower, size_upper = abs(lower), abs(upper)
        longest = int(max(np.bincount(lower.indices).max(), np.diff(upper.indptr).max()))
        is_complex = np.iscomplexobj(upper.data)
        rate = math.sqrt(2) * gamma(2 * longest + 8) if is_complex else gamma(longest + 8)
        rest = np.zeros(self.order, dtype=bool)
        rest[self._lu.perm_r[first:]] = True
        blocks = [
            _block_norm(size_lower, gap, rows, columns) + rate * _block_norm(size_lower, size_upper, rows, columns)
            for rows, columns in ((~rest, ~rest), (~rest, rest), (rest, ~rest), (rest, rest))
        ]
        # the sums themselves are rounded
        own, across, back, other = (block * (1 + 1e-6) for block in blocks)
        return Inertia(int((pivots < 0).sum()), own, max(across, back), other)


@dataclass(frozen=True)
class Inertia:
    """What is proved about A: a matrix within these 2-norms of it has exactly ``negative`` negative eigenvalues."""

    negative: int
    """Number of negative pivots; -1 when the factorisation was not symmetric."""
    error: float
    """Of the block of the first rows and columns (of all, where no split was asked for)."""
    error_across: float = 0.0
    error_rest: float = 0.0


def _block_norm(a: Matrix, b: Matrix, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> float:
    """Bound on the 2-norm of a block of the product of two matrices without negative entries.

    It is the square root of the 1-norm times the infinity-norm.
    """
    along = (a @ (b @ columns.astype(np.float64)))[rows]
    down = (b.T @ (a.T @ rows.astype(np.float64)))[columns]
    return math.sqrt(float(along.max(initial=0.0)) * float(down.max(initial=0.0)))


def factorise(matrix: Matrix) -> Factor | None:
    """The factor, or None where a pivot is exactly zero or memory does not suffice."""
    try:
        return Factor(matrix)
    except (RuntimeError, MemoryError):
        return None


def inertia(matrix: Matrix, first: int | None = None) -> Inertia:
    """The inertia of a Hermitian sparse matrix with its error bound; an infinite bound where it cannot be had."""
    factor = factorise(matrix)
    return Inertia(-1, math.inf, math.inf, math.inf) if factor is None else factor.inertia(first)


def estimated_entries(n: int, width: int) -> float:
    r"""About how many entries the factor of a graph of n nodes has whose breadth-first levels are ``width`` wide.

    A level separates the graph, so :math:`w^2` entries are those of the largest separator and
    :math:`n \log w` those of all smaller ones (nested dissection; George 1973). Within a factor of three for grids in
    two and three dimensions; for expanders, whose levels hold half of the nodes, it is the dense factor.
    """
    return min(n * (n + 1) / 2, 8.0 * n * math.log2(width + 2) / 2 + 8.0 * width**2)
