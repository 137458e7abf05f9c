r"""Sparse factorizations of Hermitian matrices.

SciPy offers SuperLU. With a symmetric ordering and no pivoting it computes :math:`P A P^T = L U` with unit lower
triangular L, and for a Hermitian A in exact arithmetic :math:`U = D L^H` with :math:`D = \mathrm{Diag}(U)` real.
Solvers use it; proofs have a factorization of their own (:mod:`angsync.certificate.bounds.anchored`).

SuperLU's BLAS gets one thread: the blocks are small, and threads that wait for each other make a factorization two to
a hundred times slower (grid of 200 x 200: 0.14 s with one, 0.2 to 17 s with two, on two cores).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.kernels.blas import in_one_thread
from angsync.kernels.time_limit import check, waited_for

Matrix = Any  # a scipy.sparse array

_HUB_NEIGHBORS = 1000  # from which a node is a hub: minimum degree walks through all of them for each that it removes
_WAITED_FOR_ENTRIES = 50_000  # from which a factorization may take longer than Ctrl-C should wait: a tenth of a second
_OPTIONS: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
"""A pivot threshold of 0 keeps the diagonal entry whatever its size."""


def _hubs_last(matrix: Matrix) -> NDArray[np.int64] | None:
    """The nodes by minimum degree, but hubs last; None where there is no hub.

    Minimum degree takes quadratic time around a hub (a star of 10^5 leaves: seven seconds, of 10^6: hours), so the
    rest of the graph is ordered without the hubs. Beside what the rest needs, each hub costs at most one row of L.
    """
    neighbors = np.diff(matrix.indptr)
    hubs = np.flatnonzero(neighbors > _HUB_NEIGHBORS)
    if hubs.size == 0:
        return None
    rest = np.flatnonzero(neighbors <= _HUB_NEIGHBORS)
    if rest.size == 0:
        return None
    part = matrix[:, rest].tocsr()[rest].tocsc()
    # the order depends on the pattern alone: any definite matrix that has it will do
    pattern = scipy.sparse.csc_array((np.full(part.nnz, -1.0), part.indices, part.indptr), shape=part.shape)
    pattern = (pattern + scipy.sparse.diags_array(np.diff(part.indptr) + 2.0)).tocsc()
    places = scipy.sparse.linalg.splu(pattern, permc_spec="MMD_AT_PLUS_A", **_OPTIONS).perm_c
    return np.concatenate([rest[np.argsort(places)], hubs[np.argsort(neighbors[hubs], kind="stable")]])


class Factor:
    """``P A P^T = L U`` of a Hermitian matrix, ordered by minimum degree, hubs last, without pivoting."""

    def __init__(self, matrix: Matrix) -> None:
        matrix = matrix.tocsc()
        self._dtype = matrix.dtype
        if matrix.nnz < _WAITED_FOR_ENTRIES:
            self._order, self._lu = _factorized(matrix)
        else:
            self._order, self._lu = waited_for(lambda: _factorized(matrix))

    def solve(self, b: NDArray) -> NDArray:
        """The solution of A x = b."""
        check()
        if self._order is None:
            return self._lu.solve(b)
        x = np.empty_like(b, dtype=np.result_type(b, self._dtype))
        x[self._order] = self._lu.solve(b[self._order])
        return x

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


def _factorized(matrix: Matrix) -> tuple[NDArray[np.int64] | None, Any]:
    """The order of the nodes that was chosen here, None where SuperLU chose it, and SuperLU's factors."""
    with in_one_thread():
        order = _hubs_last(matrix)
        if order is None:
            # int32, because SuperLU knows no other
            return None, scipy.sparse.linalg.splu(matrix, permc_spec="MMD_AT_PLUS_A", **_OPTIONS)
        ordered = matrix.tocsr()[order].tocsc()[:, order]
        return order, scipy.sparse.linalg.splu(ordered, permc_spec="NATURAL", **_OPTIONS)


def factorize(matrix: Matrix) -> Factor | None:
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
