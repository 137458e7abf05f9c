"""Sparse matrices times a few columns, compiled; twins in :mod:`angsync.kernels.sparse.blocks_reference`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.library import ADDRESS, INT, SIZE, address, function, threads_for
from angsync.kernels.sparse import blocks_reference
from angsync.kernels.sparse.compiled import _suits


class _Block(ctypes.Structure):
    """``block_t`` in blocks.c."""

    _fields_ = (
        ("n", SIZE), ("m", SIZE), ("indptr", ADDRESS), ("indices", ADDRESS), ("data", ADDRESS), ("x", ADDRESS),
        ("p", ADDRESS), ("u", ADDRESS), ("q", ADDRESS), ("r", ADDRESS), ("out", ADDRESS), ("threads", SIZE),
    )  # fmt: skip


_block_real = function("block_real", ctypes.POINTER(_Block), returns=INT)
_block_complex = function("block_complex", ctypes.POINTER(_Block), returns=INT)
_aggregate = function("aggregate", SIZE, *6 * (ADDRESS,), returns=SIZE)


def _block(matrix: scipy.sparse.csr_array, x: NDArray, out: NDArray, columns: int, **vectors: Any) -> _Block:
    places = {name: None if v is None else address(v) for name, v in vectors.items()}
    return _Block(
        n=matrix.shape[0], m=columns, indptr=address(matrix.indptr), indices=address(matrix.indices),
        data=address(matrix.data), x=address(x), out=address(out), threads=threads_for(columns * matrix.nnz), **places,
    )  # fmt: skip


def _is_plain(*arrays: NDArray | None) -> bool:
    return all(x is None or (x.dtype == np.float64 and x.flags.c_contiguous) for x in arrays)


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
    if x.ndim == 2 and _suits(matrix, np.float64) and _is_plain(x, factor, plus, share, own):
        out = np.empty((matrix.shape[0], x.shape[1]))
        block = _block(matrix, x, out, x.shape[1], p=share, u=own, q=factor, r=plus)
        if _block_real(ctypes.byref(block)) == 0:
            return out
    return blocks_reference.block_apply(matrix, x, factor=factor, plus=plus, share=share, own=own)


def block_shifted(matrix: scipy.sparse.csr_array, diagonal: NDArray[np.float64], x: NDArray) -> NDArray:
    """``diagonal x - A x`` for complex columns."""
    if x.dtype == np.complex128 and x.flags.c_contiguous and _suits(matrix, np.complex128) and _is_plain(diagonal):
        out = np.empty_like(x)
        block = _block(matrix, x, out, 2 * x.shape[1], p=diagonal)
        if _block_complex(ctypes.byref(block)) == 0:
            return out
    return blocks_reference.block_shifted(matrix, diagonal, x)


def aggregate(graph: scipy.sparse.csr_array, order: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Aggregates of a graph whose entries are strengths of edges (0: does not count): labels and their number."""
    if not _suits(graph, np.float64):
        return blocks_reference.aggregate(graph, order)
    label, first = np.empty(order.size, dtype=np.int32), np.empty(order.size, dtype=np.int32)
    order = np.ascontiguousarray(order, dtype=np.int32)
    arrays = (graph.indptr, graph.indices, graph.data, order, label, first)
    return label, int(_aggregate(order.size, *(address(x) for x in arrays)))
