"""The rows of a Hermitian matrix out of a list of edges, in NumPy: what the compiled kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

# Parallel edges contradict each other when their resultant is below cos(45 degrees) of their weight: for two equal
# edges, when they differ by more than 90 degrees.
CONTRADICTION = float(np.sqrt(0.5))
# exp(0) + exp(1j pi) is 1.2e-16j: an entry of that size is no measurement and must not join its nodes
NOTHING = 8 * float(np.finfo(float).eps)


class Rows(NamedTuple):
    """A Hermitian matrix, and what is to be said about it."""

    matrix: scipy.sparse.csr_array
    """Rows sorted, every pair once in each triangle; there may be zeros."""
    contradictions: int
    """Pairs whose parallel edges contradict each other."""
    worst: tuple[int, int]
    """The worst of these."""


def hermitian_rows(n: int, i: NDArray, j: NDArray, values: Callable[[slice], NDArray[np.complex128]]) -> Rows:
    """The matrix with ``values(edges)`` at (i, j) and their conjugates at (j, i); parallel edges are summed.

    They are summed in their order in both triangles, so that these agree to the last bit; where they cancel, 0 is left
    and not rounding. The ends of an edge differ. Values are asked for some edges at a time.
    """
    kind = np.int32 if max(n, 2 * i.size) < 2**31 else np.int64
    rows: NDArray = np.column_stack([i, j]).ravel().astype(kind)
    columns: NDArray = np.column_stack([j, i]).ravel().astype(kind)
    value = values(slice(0, i.size))
    value = np.column_stack([value, np.conj(value)]).ravel() + 0  # a zero has no sign
    order = np.lexsort((columns, rows))
    rows, columns, value = rows[order], columns[order], value[order]
    new = np.ones(rows.size, dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    pair = np.cumsum(new) - 1
    rows, columns = rows[new], columns[new]
    summed, total = np.zeros(rows.size, dtype=np.complex128), np.zeros(rows.size)
    np.add.at(summed, pair, value)
    np.add.at(total, pair, np.abs(value))
    several = np.bincount(pair, minlength=rows.size) > 1
    share = np.where(several & (total > 0), np.abs(summed) / np.where(total > 0, total, 1), 1)
    summed[share < NOTHING] = 0
    against = np.flatnonzero((share < CONTRADICTION) & (columns > rows))
    worst = int(against[np.argmin(share[against])]) if against.size else 0
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(kind)
    matrix = scipy.sparse.csr_array((summed, columns, indptr), shape=(n, n))
    return Rows(matrix, against.size, (int(rows[worst]), int(columns[worst])) if against.size else (0, 0))
