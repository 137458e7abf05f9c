"""``as_operator``: every kind of input comes in through here, and is checked here."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from angsync import kernels
from angsync.errors import InputError, NotFiniteError, NotHermitianError, names_keywords
from angsync.problem.array_libraries import is_foreign, is_stored, on_cuda, to_numpy
from angsync.problem.measurements import Measurements
from angsync.problem.operators.adapters import LinearOperatorAdapter, ProtocolAdapter
from angsync.problem.operators.base import HermitianOperator, Operator
from angsync.problem.operators.checks import (
    Hermitian,
    beyond_rounding,
    check_largest,
    check_square,
    complex_type,
    hermitian_limit,
    worst_pair,
)
from angsync.problem.operators.full_matrix import dense_operator
from angsync.problem.operators.sparse import SparseOperator


@names_keywords
def as_operator(data: Any, hermitian: Hermitian = "full", *, client: Any = None, absent: str | None = None) -> Operator:
    """Turn ``data`` into an operator, checking it on the way.

    Parameters
    ----------
    data
        Hermitian ndarray (or nested lists), an array of zarr, h5py, dask or xarray (a large one is read block by block
        and never held in memory as a whole), scipy.sparse matrix, scipy ``LinearOperator``,
        :class:`angsync.Measurements`, or anything that already follows the operator protocol.
        Real and integer matrices are valid: they are solved over phases. ``float32`` and ``complex64``
        stay in single precision.
    hermitian
        ``"full"``: the whole matrix is given and checked. Where its triangles differ by rounding, the upper one is the
        problem. ``"upper"`` or ``"lower"``: only that triangle (and the diagonal) is read.
    client
        A ``distributed.Client``, or the address of a scheduler: the array of zarr, dask or xarray is read by the
        workers, which keep one triangle of it between them and compute the products. For what one machine cannot hold;
        every worker has to see the store, and needs the same version of angsync.
    absent
        What a chunk of a zarr array is that its store does not hold: an ``"error"``, unless given, or ``"zeros"``,
        where chunks of nothing but zeros were not written.

    Examples
    --------
    >>> C = ang.as_operator(np.array([[0, 1j], [-1j, 0]]))
    >>> C.n, C.apply(np.array([1.0 + 0j, 1.0]))
    (2, array([0.+1.j, 0.-1.j]))
    """
    if hermitian not in ("full", "upper", "lower"):
        raise InputError(f"hermitian must be 'full', 'upper' or 'lower', but it is {hermitian!r}.")
    if client is not None:
        from angsync.problem.operators.on_cluster import cluster_operator

        return cluster_operator(data, hermitian, client, absent)
    if type(data) is np.ndarray:  # the usual case first: what follows costs more than checking a small matrix
        return dense_operator(data, hermitian)
    if isinstance(data, Operator):
        return data
    if isinstance(data, Measurements):
        return SparseOperator(data.to_sparse())
    if scipy.sparse.issparse(data):
        return _sparse_operator(data, hermitian)
    if isinstance(data, LinearOperator):
        return _checked_linear_operator(data)
    if isinstance(data, HermitianOperator):
        return ProtocolAdapter(data)
    if is_foreign(data):
        from angsync.problem.operators.device import device_operator

        if on_cuda(data):
            return device_operator(data, hermitian)
        data = to_numpy(data)
    elif is_stored(data):
        from angsync.problem.operators.streamed import LOADED_UP_TO_BYTES, stored_operator
        from angsync.problem.stored import StoredArray

        stored = data if isinstance(data, StoredArray) else StoredArray(data, hermitian, absent)
        if stored.nbytes > LOADED_UP_TO_BYTES:
            return stored_operator(stored, hermitian)
        data = stored.loaded()
    return dense_operator(data, hermitian)


def _sparse_operator(data: Any, hermitian: Hermitian) -> SparseOperator:
    from angsync.problem.operators.sparse_format import check_format  # loaded where there is a sparse matrix

    check_square(data.shape)
    matrix = scipy.sparse.csr_array(check_format(data)).astype(complex_type(data.dtype, "C"), copy=False)
    if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) < 2**31:
        parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        matrix = scipy.sparse.csr_array(parts, shape=matrix.shape)
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if matrix.has_sorted_indices else matrix.sorted_indices()
        matrix.sum_duplicates()
    checked = kernels.hermitian_gap(matrix) if hermitian == "full" and _all_finite(matrix.data) else None
    if checked is not None and checked[1] == 0:
        return SparseOperator(_finished(matrix, data, checked[0]))
    return _checked_slowly(matrix, data, hermitian)


def _all_finite(x: NDArray) -> bool:
    """Without an array of flags: a sum is finite only if its terms are (and may overflow, which is then looked at)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(x.sum()))


def _checked_slowly(matrix: scipy.sparse.csr_array, data: Any, hermitian: Hermitian) -> SparseOperator:
    """The same with a message for every mistake, for one triangle, and where the triangles differ by rounding."""
    bad = ~np.isfinite(matrix.data)
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise NotFiniteError(
            f"C[{row},{matrix.indices[at]}] is {matrix.data[at]}: entries must be finite. "
            "A pair that was not measured is absent."
        )
    largest = float(np.abs(matrix.data).max(initial=0.0))
    diagonal = matrix.diagonal()
    if hermitian == "lower":
        upper = scipy.sparse.csr_array(scipy.sparse.tril(matrix, k=-1).conj().T)
    else:
        upper = scipy.sparse.csr_array(scipy.sparse.triu(matrix, k=1))
    asymmetry = 0.0
    if hermitian == "full":
        below = scipy.sparse.csr_array(scipy.sparse.tril(matrix, k=-1).conj().T)
        asymmetry = _check_difference(matrix, upper, below)
    gap = 2 * np.abs(diagonal.imag)
    odd = np.flatnonzero(beyond_rounding(gap, np.abs(diagonal), matrix.dtype))
    if odd.size:
        worst = worst_pair(odd, odd, gap[odd], np.abs(diagonal[odd]), partial(_largest_in, matrix), matrix.dtype)
        if worst is not None:
            raise worst.error()
    real_diagonal = scipy.sparse.diags_array(diagonal.real.astype(matrix.dtype))
    matrix = scipy.sparse.csr_array(upper + upper.conj().T + real_diagonal)
    return SparseOperator(_finished(matrix, data, largest), asymmetry)


def _check_difference(
    matrix: scipy.sparse.csr_array, upper: scipy.sparse.csr_array, below: scipy.sparse.csr_array
) -> float:
    """Compare the upper triangle with the lower one, turned over; the sum of the differences."""
    gap = scipy.sparse.coo_array(abs(upper - below))
    if not gap.nnz:
        return 0.0
    i, j = gap.coords
    size = np.maximum(*(np.abs(np.asarray(side[i, j])).ravel() for side in (upper, below)))
    bad = beyond_rounding(gap.data, size, matrix.dtype)
    if bad.any():
        worst = worst_pair(i[bad], j[bad], gap.data[bad], size[bad], partial(_largest_in, matrix), matrix.dtype)
        if worst is not None:
            raise worst.error()
    return float(gap.data.sum(dtype=np.float64))


def _largest_in(matrix: scipy.sparse.csr_array, nodes: NDArray[np.int64]) -> NDArray:
    """The largest modulus in each of some rows."""
    rows = abs(matrix[nodes])
    return np.asarray(rows.max(axis=1).todense()).ravel()


def _finished(matrix: scipy.sparse.csr_array, data: Any, largest: float) -> scipy.sparse.csr_array:
    """Without stored zeros, rows sorted; the caller's matrix is never changed, and copied only where it has to be."""
    check_largest(largest, matrix.shape[0], matrix.dtype)
    tidy = matrix.has_sorted_indices and np.count_nonzero(matrix.data) == matrix.nnz
    if tidy:
        return matrix
    if matrix is data or np.shares_memory(matrix.data, getattr(data, "data", matrix.data[:0])):
        matrix = matrix.copy()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _norm(x: NDArray) -> float:
    square = float(np.vdot(x, x).real)
    if 1e-280 < square < 1e280:
        return math.sqrt(square)
    largest = float(np.abs(x).max()) or 1.0  # squares of 1e200, or of 1e-200, would be infinite, or 0
    return float(np.linalg.norm(x / largest)) * largest


def _checked_linear_operator(data: LinearOperator) -> LinearOperatorAdapter:
    check_square(data.shape)
    dtype = np.dtype(np.complex128) if data.dtype is None else complex_type(np.dtype(data.dtype), "the operator")
    operator = LinearOperatorAdapter(data, dtype)
    # Only products are known, so symmetry is tested on random vectors: x^H (A y) = conj(y^H (A x)). The products are
    # kept: they also show whether C is real and how large it is, and the search for a start goes on from the first.
    (x, y), (image_x, image_y) = operator.probes()
    gap = abs(np.vdot(x, image_y) - np.conj(np.vdot(y, image_x)))
    size = _norm(x) * _norm(image_y)
    if gap > hermitian_limit(dtype, size):
        raise NotHermitianError(
            f"the operator must be Hermitian: for random x and y, |x^H A y - conj(y^H A x)| = {gap:.2e} where "
            f"|x| |A y| = {size:.2e}. Check its matvec (conjugates and transposes)."
        )
    return operator
