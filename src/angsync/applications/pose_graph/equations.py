"""Normal equations of measurements between nodes of three unknowns each, as a sparse matrix of 3 x 3 blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.blas import in_one_thread

D = 3  # numbers that an edge measures


def pattern_of(count: int, a: NDArray[np.int64], b: NDArray[np.int64]) -> Any:
    """Pairs of nodes, and an order of elimination; ends below 0 are no unknowns."""
    pairs = (a >= 0) & (b >= 0)
    return kernels.BlockPattern(minimum_degree(count, a[pairs], b[pairs]), a[pairs], b[pairs])


def factorized(
    pattern: Any,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    more: NDArray[np.float64] | None = None,
) -> Any:
    """The factor of J^T J, from the derivatives by both ends; ``more`` (nodes, 3) is added to its diagonal.

    None where it is not definite.
    """
    diagonal, below = pattern.normal(a, b, first, second)
    if more is not None:
        diagonal.reshape(-1, D * D)[:, :: D + 1] += more[pattern.order]
    return pattern.factorized(diagonal, below)


def pulled(
    n: int,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    r: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> NDArray[np.float64]:
    """J^T r, (n, 3)."""
    total = np.zeros((n, D))
    for ends, derivative in ((i, first), (j, second)):
        pull = np.einsum("kab,ka->kb", derivative, r)
        for entry in range(D):
            total[:, entry] += np.bincount(ends, pull[:, entry], minlength=n)
    return total


def minimum_degree(n: int, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nodes in an order of elimination with little fill: multiple minimum degree, as SuperLU has it.

    The ends of chains are joined for that, two by two: a chain would be eliminated from its ends, every node after
    its neighbor, and paths of the elimination tree would be as long as the chain. A ring is halved again and again.
    """
    if n == 0:
        return np.empty(0, dtype=np.int64)
    ends = np.flatnonzero(np.bincount(np.concatenate([i, j]), minlength=n) == 1)
    half = ends.size // 2
    i, j = np.concatenate([i, ends[: 2 * half : 2]]), np.concatenate([j, ends[1 : 2 * half : 2]])
    both, every = np.concatenate([i, j]), np.arange(n)
    # the order depends on the pattern alone; the numbers are those of a matrix that can be factorized, and its factor,
    # column by column, is thrown away
    numbers = np.concatenate([np.full(both.size, -1.0), 2.0 + np.bincount(both, minlength=n)])
    places = np.concatenate([both, every]), np.concatenate([j, i, every])
    graph = scipy.sparse.csc_array((numbers, places), shape=(n, n))
    options: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    with in_one_thread():
        lu = scipy.sparse.linalg.splu(graph, permc_spec="MMD_AT_PLUS_A", relax=1, panel_size=1, **options)
    return np.argsort(lu.perm_c).astype(np.int64)
