"""The rows of a Hermitian matrix out of a list of edges, compiled: little memory beside that of the matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.library import ADDRESS, REAL, SIZE, address, function
from angsync.kernels.sparse import assemble_reference
from angsync.kernels.sparse.assemble_reference import CONTRADICTION, NOTHING, Rows

_AT_ONCE = 1 << 18  # edges whose values are computed at a time: 4 MB
_SHARE_KEPT = 0.75  # of the entries written: where fewer are left, the rest is given back

_scatter_edges = function("scatter_edges", SIZE, *6 * (ADDRESS,))
_sum_rows = function("sum_rows", SIZE, *3 * (ADDRESS,), REAL, REAL, ADDRESS, returns=SIZE)


def hermitian_rows(n: int, i: NDArray, j: NDArray, values: Callable[[slice], NDArray[np.complex128]]) -> Rows:
    """As :func:`angsync.kernels.sparse.assemble_reference.hermitian_rows`."""
    if max(n, 2 * i.size) >= 2**31:
        return assemble_reference.hermitian_rows(n, i, j, values)
    i, j = np.ascontiguousarray(i, dtype=np.int32), np.ascontiguousarray(j, dtype=np.int32)
    lengths = np.zeros(n, dtype=np.int64)
    for part in _slices(i.size, max(_AT_ONCE, n)):  # each takes the time of n additions
        lengths += np.bincount(i[part], minlength=n)
        lengths += np.bincount(j[part], minlength=n)
    indptr = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(lengths, out=indptr[1:])
    del lengths
    indices, data = np.empty(2 * i.size, dtype=np.int32), np.empty(2 * i.size, dtype=np.complex128)
    following = indptr[:-1].copy()
    for part in _slices(i.size, _AT_ONCE):
        value = np.ascontiguousarray(values(part), dtype=np.complex128)
        ends = (address(i[part]), address(j[part]))
        _scatter_edges(value.size, *ends, address(value), address(following), address(indices), address(data))
    worst = np.zeros(2, dtype=np.int64)
    places = (address(indptr), address(indices), address(data))
    contradictions = _sum_rows(n, *places, CONTRADICTION, NOTHING, address(worst))
    if contradictions < 0:
        raise MemoryError(f"no memory to sort the rows of {i.size} edges")
    count = int(indptr[-1])
    if count < _SHARE_KEPT * indices.size:  # most pairs occur twice
        indices, data = indices[:count].copy(), data[:count].copy()
    matrix = scipy.sparse.csr_array((data[:count], indices[:count], indptr), shape=(n, n))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return Rows(matrix, contradictions, (int(worst[0]), int(worst[1])))


def _slices(size: int, length: int) -> Iterator[slice]:
    return (slice(k, min(size, k + length)) for k in range(0, size, length))
