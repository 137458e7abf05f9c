"""Sparse matrices times a few columns, and aggregates of a graph, in NumPy and SciPy: what the compiled ones compute.

Every entry of a result is a sum of products of stored numbers in plain double precision, in some order: what error
bounds need, and all that they need.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


def block_apply(
    matrix: scipy.sparse.csr_array,
    x: NDArray[np.float64],
    *,
    factor: NDArray[np.float64] | None = None,
    plus: NDArray[np.float64] | None = None,
    share: NDArray[np.float64] | None = None,
    own: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """``share own + factor (A x + plus)`` for real columns; ``factor`` and ``share`` have a number a row."""
    y = matrix @ x
    if plus is not None:
        y += plus
    if factor is not None:
        y *= factor[:, None]
    if own is not None:
        y += own if share is None else share[:, None] * own
    return y


def block_shifted(matrix: scipy.sparse.csr_array, diagonal: NDArray[np.float64], x: NDArray) -> NDArray:
    """``diagonal x - A x`` for complex columns."""
    return diagonal[:, None] * x - matrix @ x


def aggregate(graph: scipy.sparse.csr_array, order: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Aggregates of a graph whose entries are strengths of edges (0: does not count): labels and their number.

    Nodes are visited in this order. A node whose neighbors are all free becomes an aggregate together with them; what
    is left joins its strongest neighbor among these; what then is left makes aggregates with its free neighbors.
    (Vanek, Mandel and Brezina, *Algebraic multigrid by smoothed aggregation*, Computing 56 (1996), algorithm 5.1.)
    """
    n, indptr = graph.shape[0], graph.indptr
    label = np.full(n, -1, dtype=np.int32)
    near = []
    for j in range(n):
        entries = slice(indptr[j], indptr[j + 1])
        counts = (graph.data[entries] > 0) & (graph.indices[entries] != j)
        near.append((graph.indices[entries][counts], graph.data[entries][counts]))
    count = 0
    for j in order:
        around = near[j][0]
        if label[j] < 0 and around.size and (label[around] < 0).all():
            label[j] = label[around] = count
            count += 1
    first = label.copy()
    for j in order:
        around, strength = near[j]
        taken = first[around] >= 0
        if label[j] < 0 and taken.any():
            label[j] = first[around[taken][np.argmax(strength[taken])]]
    for j in order:
        if label[j] < 0:
            around = near[j][0]
            label[j] = label[around[label[around] < 0]] = count
            count += 1
    return label, count
