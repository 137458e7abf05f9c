"""Is C dense? One share of filled entries decides it, for arrays and for graphs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.view import TriangleView

_DENSE_SHARE = 0.1  # share of filled entries from which C counts as dense


def has_many_pairs(pairs: int, n: int) -> bool:
    """Whether so many measured pairs of n nodes are best treated as a dense matrix."""
    return 2 * pairs >= _DENSE_SHARE * n**2


def is_mostly_zero(matrix: NDArray | TriangleView) -> bool:
    """Whether a full array has so few entries that it is a graph; a full matrix is recognized by a few rows."""
    n = matrix.shape[0]
    some = matrix[:: max(1, n // 16)]
    if np.count_nonzero(some) > 0.5 * some.size:
        return False
    blocks = matrix.blocks() if isinstance(matrix, TriangleView) else [slice(n)]
    return sum(np.count_nonzero(matrix[rows]) for rows in blocks) < _DENSE_SHARE * n**2
