r"""Sparse factorisations of Hermitian matrices.

SciPy offers SuperLU. With a symmetric ordering and no pivoting it computes :math:`P A P^T = L U` with unit lower
triangular L, and for a Hermitian A in exact arithmetic :math:`U = D L^H` with :math:`D = \mathrm{Diag}(U)` real. What
such a factorisation proves about A is in :mod:`angsync.certificate.bounds.inertia`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

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
        """Whether all pivots are positive. No proof that A is definite: the factors are rounded."""
        return self.symmetric and bool((self.pivots > 0).all())

    @property
    def places(self) -> NDArray[np.int32]:
        """Row k of A is row ``places[k]`` of L; the same for columns of U where the factor is ``symmetric``."""
        return self._lu.perm_r

    @property
    def lower(self) -> Matrix:
        """L, by columns."""
        return scipy.sparse.csc_array(self._lu.L)  # a matrix before scipy 1.15, with other rules for *

    @property
    def upper(self) -> Matrix:
        """U, by columns."""
        return scipy.sparse.csc_array(self._lu.U)


def factorise(matrix: Matrix) -> Factor | None:
    """The factor, or None where a pivot is exactly zero or memory does not suffice."""
    try:
        return Factor(matrix)
    except (RuntimeError, MemoryError):
        return None


def estimated_entries(n: int, width: int) -> float:
    r"""About how many entries the factor of a graph of n nodes has whose breadth-first levels are ``width`` wide.

    A level separates the graph, so :math:`w^2` entries are those of the largest separator and
    :math:`n \log w` those of all smaller ones (nested dissection; George 1973). Within a factor of three for grids in
    two and three dimensions; for expanders, whose levels hold half of the nodes, it is the dense factor.
    """
    return min(n * (n + 1) / 2, 8.0 * n * math.log2(width + 2) / 2 + 8.0 * width**2)
