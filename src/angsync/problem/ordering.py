"""The order of the nodes in memory: neighbors near to each other, so that a product reads what is already there.

Reverse Cuthill-McKee numbers nodes by breadth-first levels. On a geometric graph of half a million nodes in random
order it makes a product seven times faster; where the order is good already, or where everything is near to everything,
nothing is gained, and the order is left as it is.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.problem.operators import Operator

_REORDER_FROM_NODES = 50_000  # below, a vector fits the cache in any order
_SAMPLE_ENTRIES = 10_000  # entries looked at
_FAR_WIDTHS = 4  # neighbors further apart than this many widths of the graph are out of order
_WIDEST_LEVEL_SHARE = 0.1  # of all nodes: where one breadth-first level holds more, no order helps


def better_order(operator: Operator) -> NDArray[np.int64] | None:
    """The nodes in an order with shorter strides, or None where that would gain nothing."""
    sparse = operator.sparse()
    if sparse is None or operator.n < _REORDER_FROM_NODES:
        return None
    matrix, width = sparse.operator.matrix, sparse.operator.breadth_first.width
    if width > _WIDEST_LEVEL_SHARE * operator.n:
        return None
    at = np.linspace(0, matrix.nnz - 1, _SAMPLE_ENTRIES).astype(np.int64)
    rows = np.searchsorted(matrix.indptr, at, side="right") - 1
    if np.median(np.abs(matrix.indices[at] - rows)) <= _FAR_WIDTHS * width:
        return None
    pattern = scipy.sparse.csr_matrix((np.ones(matrix.nnz, np.int8), matrix.indices, matrix.indptr), matrix.shape)
    return scipy.sparse.csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int64)
