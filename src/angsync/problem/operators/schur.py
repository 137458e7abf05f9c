r"""C = -Q where Q is a Schur complement: unknowns that enter quadratically, eliminated without forming Q."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.errors import InputError, NotFiniteError, NotHermitianError, ShapeError
from angsync.kernels.superlu import Factor
from angsync.problem.operators.base import Operator
from angsync.problem.pieces import pattern_labels

_COLUMNS = 64  # right-hand sides of one block when the diagonal is computed


class SchurOperator(Operator):
    r""":math:`C = -Q`, :math:`Q = K_{11} - K_{12} K_{22}^{-1} K_{12}^H`, known by its products.

    For a positive semidefinite K of order n + m,

    .. math:: z^H Q z = \min_{p \in \mathbb{C}^m} \binom{z}{p}^H
              \begin{pmatrix} K_{11} & K_{12} \\ K_{12}^H & K_{22} \end{pmatrix} \binom{z}{p},
              \qquad p = -K_{22}^{-1} K_{12}^H z,

    so maximizing :math:`z^H C z` over phases minimizes a quadratic cost in phases z and free unknowns p (Boyd and
    Vandenberghe, *Convex Optimization*, appendix A.5.5; for pose graphs Rosen and others, *SE-Sync*, IJRR
    2019). Q is full, K is not: a product costs two sparse products and one pair of sparse triangular solves.

    Parameters
    ----------
    K
        Sparse Hermitian, positive semidefinite, its last m rows and columns positive definite. It is the caller who
        knows that the whole is semidefinite; that K22 is definite is checked.
    n
        Number of phases.
    squares
        B and weights W with :math:`K = B^H W B`, where K was put together from squares: proofs then take B and W for
        the truth, and K for a rounded version of it.
    """

    def __init__(self, K: Any, n: int, squares: tuple[Any, NDArray[np.float64]] | None = None) -> None:
        self._K = _checked(K, n)
        self._squares = None
        if squares is not None:
            B = scipy.sparse.csr_array(squares[0]).astype(np.complex128)
            if B.shape != (squares[1].size, self._K.shape[0]):
                raise ShapeError(f"squares must have a row a weight and a column a row of K, but B is {B.shape}.")
            self._squares = B, np.asarray(squares[1], dtype=np.float64)
        self._n = int(n)
        self._K11 = scipy.sparse.csr_array(self._K[:n, :n])
        self._K12 = scipy.sparse.csr_array(self._K[:n, n:])
        self._K21 = scipy.sparse.csr_array(self._K12.conj().T)
        self._factor = _Factor(scipy.sparse.csc_array(self._K[n:, n:]))

    @property
    def n(self) -> int:
        return self._n

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.complex128)

    def apply(self, z: NDArray) -> NDArray:
        return -(self._K11 @ z + self._K12 @ self.eliminated(z))

    def eliminated(self, z: NDArray) -> NDArray[np.complex128]:
        r"""The best p for these phases, :math:`-K_{22}^{-1} K_{12}^H z`, for a vector or a block of vectors."""
        return -self._factor.solve(self._K21 @ np.asarray(z, dtype=np.complex128))

    def diagonal(self) -> NDArray[np.float64]:
        return self._diagonal

    @cached_property
    def _diagonal(self) -> NDArray[np.float64]:
        """n solves, in blocks: the columns of K21 are sparse, those of its solution are not."""
        removed = np.empty(self._n)
        columns = scipy.sparse.csc_array(self._K21)
        for k in range(0, self._n, _COLUMNS):
            block = columns[:, k : k + _COLUMNS].toarray()
            removed[k : k + _COLUMNS] = np.sum(np.conj(block) * self._factor.solve(block), axis=0).real
        return removed - np.real(self._K11.diagonal())

    def abs_row_sums(self) -> None:
        return None

    def rounding_sums(self) -> NDArray[np.float64]:
        """See :attr:`_rounding_sums`."""
        return self._rounding_sums

    @cached_property
    def _rounding_sums(self) -> NDArray[np.float64]:
        r"""What the rounding errors of a product with phases are proportional to, entry by entry.

        :math:`|K_{11}| 1 + |K_{12}| K_{22}^{-1} |K_{12}^H| 1`: the terms that meet in one entry, without their signs.
        Where K22 has no positive entry off its diagonal (positions: a grounded Laplacian), its inverse has no negative
        one, and this bounds the row sums of :math:`|C|` too. One solve.
        """
        reached = self._factor.solve((abs(self._K21) @ np.ones(self._n)).astype(np.complex128))
        return abs(self._K11) @ np.ones(self._n) + abs(self._K12) @ np.abs(reached)

    def component_labels(self) -> NDArray[np.int64]:
        """Components of the graph of K: phases that meet only through eliminated unknowns are connected."""
        return pattern_labels(self._K)[: self._n]

    def restrict(self, index: NDArray[np.int64]) -> SchurOperator:
        """The operator of the nodes in ``index``, with the eliminated unknowns that they reach."""
        kept = np.concatenate([np.asarray(index, dtype=np.int64), np.arange(self._n, self._K.shape[0])])
        part = scipy.sparse.csc_array(self._K[kept][:, kept])
        labels = pattern_labels(part)
        size = len(index)
        reached = np.isin(labels, labels[:size])
        reached[:size] = True
        squares = self._squares
        if squares is not None:
            # rows of B that lie in this part: its entries belong to one component each
            B = scipy.sparse.csr_array(squares[0][:, kept][:, reached])
            rows = np.diff(B.indptr) > 0
            squares = B[rows], squares[1][rows]
        return SchurOperator(part[reached][:, reached], size, squares)

    def is_real(self) -> bool:
        return not self._K.data.imag.any()

    def row_length(self) -> int:
        """Terms of one entry of a product: its row of K and the two triangular solves."""
        rows = np.diff(self._K11.indptr) + np.diff(self._K12.indptr)
        return int(rows.max(initial=0)) + int(np.diff(self._K21.indptr).max(initial=0)) + self._factor.row_length

    def augmented(self) -> tuple[scipy.sparse.csc_array, int]:
        """K and n: what a sparse factorization of ``Diag(s) - C`` and of its relatives starts from."""
        return self._K, self._n

    def squares(self) -> tuple[scipy.sparse.csr_array, NDArray[np.float64]] | None:
        """B and W with K = B^H W B, where they were given."""
        return self._squares

    def upper_bound(self) -> float:
        """The bound 0 on f(z) = z^H C z = -z^H Q z: Q is positive semidefinite."""
        return 0.0


class _Factor:
    """One sparse factorization of K22; a real one, at half the price, where K22 is real."""

    def __init__(self, matrix: scipy.sparse.csc_array) -> None:
        self.order = int(matrix.shape[0])
        self.row_length = 0
        if self.order == 0:
            return
        self.real = not matrix.data.imag.any()
        entries = np.ascontiguousarray(matrix.data.real) if self.real else matrix.data
        # without pivoting: stable for definite matrices, and as sparse as it can be
        try:
            self.factor = Factor(scipy.sparse.csc_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape))
        except RuntimeError as error:  # SuperLU: "Factor is exactly singular"
            raise _indefinite(str(error)) from None
        if not self.factor.positive:
            raise _indefinite(f"its smallest pivot is {float(self.factor.pivots.min()):.2e}")
        self.row_length = self.factor.row_length

    def solve(self, right: NDArray[np.complex128]) -> NDArray[np.complex128]:
        if self.order == 0:
            return right
        if not self.real:
            return self.factor.solve(right)
        columns = np.ascontiguousarray(right).reshape(self.order, -1).view(np.float64)
        solved = np.ascontiguousarray(self.factor.solve(columns))
        return solved.view(np.complex128).reshape(right.shape)


def _indefinite(detail: str) -> InputError:
    return InputError(
        f"the block K22 of the eliminated unknowns must be positive definite, but {detail}. Leave out one unknown of "
        "every connected part whose common shift costs nothing."
    )


def _checked(K: Any, n: int) -> scipy.sparse.csc_array:
    matrix = scipy.sparse.csc_array(K).astype(np.complex128)
    if matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(f"K must be square, but its shape is {matrix.shape}.")
    if not 0 < n <= matrix.shape[0]:
        raise ShapeError(f"n must be between 1 and the order {matrix.shape[0]} of K, but it is {n}.")
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise NotFiniteError("K has an entry that is NaN or infinite; weights and distances must be finite numbers.")
    mirrored = scipy.sparse.csc_array(matrix.conj().T)
    gap = float(np.abs((matrix - mirrored).data).max(initial=0.0))
    limit = float(np.sqrt(np.finfo(float).eps)) * float(np.abs(matrix.data).max(initial=0.0))
    if gap > limit:
        raise NotHermitianError(f"K must be Hermitian: K and its conjugate transpose differ by {gap:.2e}.")
    matrix = scipy.sparse.csc_array((matrix + mirrored) / 2) if gap > 0 else matrix
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix
