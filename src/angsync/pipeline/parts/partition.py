"""Cut a graph into parts of equal size, by halving it along the levels of a breadth-first search."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels import time_limit
from angsync.problem.operators import SparseOperator


def partition(matrix: scipy.sparse.csr_array, count: int) -> list[NDArray[np.int64]]:
    """The nodes of each part in ascending order: no part is empty, so there may be fewer than ``count``.

    A half is what a search from the rim of the graph reaches first, so that cuts are about as long as the widest level.
    A part need not be connected inside.
    """
    return _halved(matrix, np.arange(matrix.shape[0]), count)


def _halved(matrix: scipy.sparse.csr_array, nodes: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """``matrix`` is that of ``nodes`` alone."""
    time_limit.check()
    if count == 1 or nodes.size <= 1:
        return [nodes] if nodes.size else []
    first = count // 2
    order = _searched(matrix)
    middle = nodes.size * first // count
    found: list[NDArray[np.int64]] = []
    for half, share in ((order[:middle], first), (order[middle:], count - first)):
        half = np.sort(half)
        inner = matrix[half][:, half] if share > 1 else matrix
        found += _halved(inner, nodes[half], share)
    return found


def _searched(matrix: scipy.sparse.csr_array) -> NDArray[np.int64]:
    """All nodes: those of the first component by their distance from its rim, then the others as they come."""
    reached = SparseOperator(matrix).breadth_first.order
    others = np.ones(matrix.shape[0], dtype=bool)
    others[reached] = False
    return np.concatenate([reached.astype(np.int64), np.flatnonzero(others)])
