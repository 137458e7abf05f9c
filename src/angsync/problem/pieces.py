"""The connected pieces of a graph: which piece each node belongs to, and the sentence for a graph that falls apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

_SHOWN = 5  # isolated nodes that are named


def piece_labels(n: int, i: NDArray, j: NDArray) -> NDArray[np.int64]:
    """Label of the piece of each of n nodes, numbered by first appearance, in the graph with these edges."""
    return _labels(_graph(n, i, j))


def piece_count(n: int, i: NDArray, j: NDArray) -> int:
    """Number of pieces, isolated nodes included."""
    return int(scipy.sparse.csgraph.connected_components(_graph(n, i, j), directed=False, return_labels=False))


def pattern(matrix: Any) -> scipy.sparse.csr_array:
    """The graph of a Hermitian matrix in compressed form, without its angles: csgraph knows real numbers only."""
    # rows may be taken for columns: the pattern is symmetric; one number stands for all entries, which nobody reads
    ones = np.broadcast_to(np.float64(1), matrix.nnz)
    return scipy.sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def pattern_labels(matrix: Any) -> NDArray[np.int64]:
    """Label of the piece of each node of a sparse Hermitian matrix in compressed form."""
    return _labels(pattern(matrix))


def _graph(n: int, i: NDArray, j: NDArray) -> scipy.sparse.coo_array:
    return scipy.sparse.coo_array((np.ones(i.size), (i, j)), shape=(n, n))


def _labels(graph: Any) -> NDArray[np.int64]:
    return scipy.sparse.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)


def in_words(
    components: NDArray[np.int64],
    names: Sequence[Hashable] | None = None,
    *,
    graph: str = "The graph",
    isolated: str = "isolated node(s)",
    fate: str = "whose phase is set to 0",
    consequence: str = "phases of different components cannot be compared",
    numbers_given: bool = False,
) -> str:
    """One sentence on components and isolated nodes; empty where the graph is connected.

    ``names`` are the names of the nodes, their numbers unless given. The other arguments are words of the reader's
    field. ``numbers_given``: the nodes were numbered by the user, who may count from 1.
    """
    if not components.any():  # the usual case
        return ""
    sizes = np.bincount(components)
    alone = np.flatnonzero(sizes[components] == 1)
    text = f"{graph} is not connected: {int((sizes > 1).sum())} component(s) with edges"
    if alone.size:
        shown = ", ".join(str(int(k) if names is None else names[k]) for k in alone[:_SHOWN])
        more = ", ..." if alone.size > _SHOWN else ""
        text += f" and {alone.size} {isolated} ({shown}{more}), {fate}"
        if numbers_given and names is None and alone[-1] == alone.size - 1 < components.size - 1:
            consequence += f" (ids begin at {alone.size}? Subtract {alone.size} from i and j, or name the nodes)"
    return f"{text}; {consequence}."
