"""Phases along a tree of the graph: the strongest edges, or the shortest paths."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.errors import InputError
from angsync.problem.operators import Operator
from angsync.solvers.starts.entries import needed_matrix


def spanning_tree(operator: Operator, _rng: np.random.Generator | None = None) -> NDArray:
    """Phases along a maximum spanning tree of ``|C|``: exact where the measurements are consistent."""
    matrix = needed_matrix(operator, "a spanning tree")
    # csgraph finds minimum trees and treats 0 as absent, so an edge costs its rank, from the strongest (1) down; an
    # edge and its mirror image have the same modulus, hence neighboring ranks, and either may stand for both
    rank = np.empty(matrix.nnz)
    rank[np.argsort(-np.abs(matrix.data), kind="stable")] = np.arange(1, matrix.nnz + 1)
    cost = scipy.sparse.csr_array((rank, matrix.indices, matrix.indptr), shape=matrix.shape)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(cost)
    order, parent = scipy.sparse.csgraph.breadth_first_order(tree, 0, directed=False)
    return _along_tree(matrix, order[1:], parent[order[1:]]).astype(operator.dtype)


def breadth_first_tree(operator: Operator) -> NDArray:
    """Phases along shortest paths from one node: poor, but better than none, and quick on a million nodes."""
    sparse = operator.sparse()
    if sparse is None:
        raise InputError("a breadth-first tree needs the entries of C; use 'eigenvector'.")
    search = sparse.operator.breadth_first
    return _along_tree(sparse.operator.matrix, search.order[1:], search.parent[1:]).astype(operator.dtype)


def breadth_first_forest(matrix: scipy.sparse.csr_array, roots: NDArray[np.int64]) -> NDArray:
    """Phases along shortest paths from the nearest of the roots, one or more of which every component has."""
    n = int(matrix.shape[0])
    # one node more, from which one search reaches every root
    indices = np.concatenate([matrix.indices, roots]).astype(matrix.indices.dtype)
    indptr = np.append(matrix.indptr, indices.size).astype(matrix.indptr.dtype)
    graph = scipy.sparse.csr_array((np.ones(indices.size, dtype=np.int8), indices, indptr), shape=(n + 1, n + 1))
    order, parent = scipy.sparse.csgraph.breadth_first_order(graph, n, directed=True)
    below = order[parent[order] != n][1:]
    return _along_tree(matrix, below, parent[below])


def _along_tree(matrix: scipy.sparse.csr_array, children: NDArray, parents: NDArray) -> NDArray:
    """z_child = C[child, parent] / |.| z_parent down a tree, by pointer doubling: log2 of its depth rounds."""
    n = int(matrix.shape[0])
    if children.size == 0:  # SciPy gives a sparse array for no indices
        return np.ones(n, dtype=np.complex128)
    links = np.asarray(matrix[children, parents]).ravel().astype(np.complex128)
    z = np.ones(n, dtype=np.complex128)
    z[children] = links / np.abs(links)
    above = np.arange(n)
    above[children] = parents
    while True:
        further = above[above]
        if np.array_equal(further, above):
            return normalize(z, z)
        z = z * z[above]
        above = further
