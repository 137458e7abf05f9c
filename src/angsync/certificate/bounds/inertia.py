r"""What a sparse factorisation proves about a Hermitian matrix A: the number of its negative eigenvalues.

The factorisation is :math:`P A P^T = L U` without pivoting (:mod:`angsync.kernels.superlu`); P is left out below.
Sylvester's law of inertia: :math:`L D L^H` has as many negative eigenvalues as D has negative entries. In floating
point, Gaussian elimination satisfies :math:`|A - LU| \le \gamma |L||U|` entry by entry, in any order of operations
(Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., Theorem 9.3; k terms in the longest inner product,
:math:`\gamma = \sqrt 2 \gamma_{2k+8}` in complex arithmetic). With :math:`F = U - D L^H`, which can be computed,

.. math:: A = L D L^H + E, \qquad \|E\|_2 \le \big\| |L||F| \big\| + \gamma \big\| |L||U| \big\|,

so by Weyl's inequality :math:`\lambda_{k+1}(A) \ge -\|E\|_2` when D has k negative entries. Nothing is assumed about
the size of L or U: without pivoting they may grow, and then the bound is large and proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.kernels import time_limit
from angsync.kernels.rounding import gamma
from angsync.kernels.superlu import Factor, Matrix, factorise


@dataclass(frozen=True)
class Inertia:
    """What is proved about A: a matrix within these 2-norms of it has exactly ``negative`` negative eigenvalues."""

    negative: int | None
    """Number of negative pivots; None where there is no symmetric factorisation: then nothing is proved."""
    error: float
    """Norm of the error in the block of the first rows and columns; in the whole matrix where it is not split."""
    error_across: float = 0.0
    error_rest: float = 0.0


_UNKNOWN = Inertia(None, math.inf, math.inf, math.inf)  # where there is no symmetric factorisation


def inertia(matrix: Matrix, first: int | None = None) -> Inertia:
    """The inertia of a Hermitian sparse matrix with its error bound; an infinite bound where it cannot be had."""
    factor = factorise(matrix)
    return _UNKNOWN if factor is None else inertia_of(factor, first)


def inertia_of(factor: Factor, first: int | None = None) -> Inertia:
    """The number of negative pivots of A, and how far the factors are from A.

    ``first`` splits the rows and columns of A into the first so many and the rest, and the error into blocks.
    """
    first = factor.order if first is None else first
    if not factor.symmetric:
        return _UNKNOWN
    lower, upper = factor.lower, factor.upper
    pivots = upper.diagonal().real
    if not np.all(np.isfinite(pivots) & (pivots != 0)):
        return _UNKNOWN
    gap = abs(upper - (lower.conj() * pivots[None, :]).T.tocsc())
    size_lower, size_upper = abs(lower), abs(upper)
    longest = int(max(np.bincount(lower.indices).max(), np.diff(upper.indptr).max()))
    is_complex = np.iscomplexobj(upper.data)
    rate = math.sqrt(2) * gamma(2 * longest + 8) if is_complex else gamma(longest + 8)
    rest = np.zeros(factor.order, dtype=bool)
    rest[factor.places[first:]] = True
    blocks = [
        _block_norm(size_lower, gap, rows, columns) + rate * _block_norm(size_lower, size_upper, rows, columns)
        for rows, columns in ((~rest, ~rest), (~rest, rest), (rest, ~rest), (rest, rest))
    ]
    # the norms are computed with rounding errors too
    own, across, back, other = (block * (1 + 1e-6) for block in blocks)
    return Inertia(int((pivots < 0).sum()), own, max(across, back), other)


def _block_norm(a: Matrix, b: Matrix, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> float:
    """Bound on the 2-norm of a block of the product of two matrices without negative entries.

    It is the square root of the 1-norm times the infinity-norm.
    """
    time_limit.check()
    along = (a @ (b @ columns.astype(np.float64)))[rows]
    down = (b.T @ (a.T @ rows.astype(np.float64)))[columns]
    return math.sqrt(float(along.max(initial=0.0)) * float(down.max(initial=0.0)))
