"""Nested dissection, compiled; :mod:`angsync.kernels.sparse.dissection_reference` says what is computed."""

from __future__ import annotations

import ctypes
from itertools import pairwise

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.library import ADDRESS, REAL, SIZE, address, function
from angsync.kernels.sparse import dissection_reference as reference
from angsync.kernels.sparse.dissection_reference import Cuts
from angsync.kernels.time_limit import waited_for

_LONGS = ctypes.POINTER(SIZE)
_GRAPH = (SIZE, ADDRESS, ADDRESS)  # order, indptr, indices
_blocks = function("dissection_blocks", *_GRAPH, SIZE, SIZE, REAL, REAL, SIZE, ADDRESS, ADDRESS, returns=SIZE)
_rows = function(
    "dissection_rows", *_GRAPH, ADDRESS, ADDRESS, SIZE, SIZE, ADDRESS, ADDRESS, ctypes.POINTER(_LONGS), returns=SIZE
)
_free = function("dissection_free", _LONGS)
_LARGEST_INDEX = 2**31 - 1  # of 32 bits
_NO_MEMORY = -1  # as in dissection.c
_WAITED_FOR_ENTRIES = 1_000_000  # of the graph, from which an order takes a tenth of a second and more


def dissection_blocks(graph: scipy.sparse.csr_array, cuts: Cuts) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The nodes in the order of elimination and the bounds of the blocks; None where a separator is too large."""
    if graph.nnz > _LARGEST_INDEX:
        return reference.dissection_blocks(graph, cuts)
    n, indptr, indices = _narrow(graph)
    order, starts = np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    settings = (cuts.leaf, cuts.small, cuts.balance, cuts.poor, cuts.largest)

    def work(_held: object = (indptr, indices, order, starts)) -> int:  # it may go on when nobody waits any more
        found: int = _blocks(n, address(indptr), address(indices), *settings, address(order), address(starts))
        return found

    count = work() if indices.size < _WAITED_FOR_ENTRIES else waited_for(work)
    if count < 0:
        _raise_if_no_memory(count, n)
        return None
    return order, starts[: count + 1].copy()


def dissection_rows(
    graph: scipy.sparse.csr_array, order: NDArray[np.int64], starts: NDArray[np.int64], largest: int
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]] | None:
    """The rows of every block and its parent; None where a block with its rows is too large."""
    if graph.nnz > _LARGEST_INDEX:
        return reference.dissection_rows(graph, order, starts, largest)
    (n, indptr, indices), count = _narrow(graph), starts.size - 1
    parent, bounds = np.empty(count, dtype=np.int64), np.empty(count + 1, dtype=np.int64)
    found = _LONGS()
    arrays = (address(order), address(starts), count, largest, address(parent), address(bounds))
    total = _rows(n, address(indptr), address(indices), *arrays, ctypes.byref(found))
    if total < 0:
        _raise_if_no_memory(total, n)
        return None
    every = np.ctypeslib.as_array(found, shape=(max(total, 1),))[:total].copy()
    _free(found)
    ends = bounds.tolist()
    return [every[begin:end] for begin, end in pairwise(ends)], parent


def _narrow(graph: scipy.sparse.csr_array) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
    """Order, indptr and indices as the kernel reads them: 32-bit numbers, contiguous."""
    indptr, indices = (np.ascontiguousarray(x, dtype=np.int32) for x in (graph.indptr, graph.indices))
    return graph.shape[0], indptr, indices


def _raise_if_no_memory(code: int, n: int) -> None:
    if code == _NO_MEMORY:
        raise MemoryError(f"no memory to order a graph of {n} nodes")
