"""``as_operator``: every kind of input comes in through here, and is checked here."""

from __future__ import annotations

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
    check_largest,
    check_real_diagonal,
    check_square,
    complex_type,
    hermitian_limit,
    not_hermitian,
)
from angsync.problem.operators.dense import DenseOperator
from angsync.problem.operators.sparse import SparseOperator
from angsync.problem.operators.sparse_format import check_format

_BLOCK_ROWS = 512  # rows that are compared with their mirror image at a time: no second copy of the matrix is made


@names_keywords
def as_operator(data: Any, hermitian: Hermitian = "full") -> Operator:
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
        ``"full"``: the whole matrix is given and checked. ``"upper"`` or ``"lower"``: only that triangle
        (and the diagonal) is read.
    """
    if hermitian not in ("full", "upper", "lower"):
        raise InputError(f"hermitian must be 'full', 'upper' or 'lower', but it is {hermitian!r}.")
    if type(data) is np.ndarray:  # the usual case first: what follows costs more than checking a small matrix
        return _dense_operator(data, hermitian)
    if isinstance(data, Operator):
        return data
    if isinstance(data, Measurements):
        return SparseOperator(data.to_sparse())
    if scipy.sparse.issparse(data):
        return SparseOperator(_checked_sparse(data, hermitian))
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

        stored = StoredArray(data)
        if stored.nbytes > LOADED_UP_TO_BYTES:
            return stored_operator(stored, hermitian)
        data = stored.loaded()
    return _dense_operator(data, hermitian)


def _dense_operator(data: Any, hermitian: Hermitian) -> DenseOperator:
    """One pass over a complex128 matrix where all is well; otherwise the slow way, with a message for everything."""
    if isinstance(data, np.ndarray):
        data = np.asarray(data)  # matrices, masked arrays and their like have rules of their own
    if hermitian == "full" and isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[0] == data.shape[1] > 0:
        found = kernels.dense_inspect(data) if data.dtype == np.complex128 else None
        if found is not None and found.gap == 0 and np.isfinite(found.largest):
            check_largest(found.largest, data.shape[0], data.dtype)
            return DenseOperator(data, found)
    return DenseOperator(_checked_dense(data, hermitian))


def _checked_dense(data: Any, hermitian: Hermitian) -> NDArray:
    try:
        given = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise InputError(f"C cannot be read as a matrix: {error}.") from None
    if given.dtype == object or given.ndim == 0:
        raise InputError(
            f"cannot synchronize a {type(data).__name__}: give a Hermitian matrix (array, scipy.sparse, "
            "LinearOperator) or ang.Measurements(i, j, angle)."
        )
    check_square(given.shape)
    matrix = given.astype(complex_type(given.dtype, "C"), copy=False)
    n = matrix.shape[0]
    if hermitian != "full":
        return _filled_from_triangle(matrix, hermitian)
    largest, worst = 0.0, (0.0, 0, 0)
    for k in range(0, n, _BLOCK_ROWS):
        rows = slice(k, min(n, k + _BLOCK_ROWS))
        block = matrix[rows]
        _check_finite_block(block, k)
        largest = max(largest, float(np.abs(block).max()))
        # the strip on and above the diagonal against its mirror image: every pair once
        gap = np.abs(block[:, k:] - matrix[k:, rows].conj().T)
        at = int(np.nanargmax(gap)) if not np.isnan(gap).all() else 0
        value = float(gap.flat[at])
        if value > worst[0]:
            row, column = np.unravel_index(at, gap.shape)
            worst = (value, int(row) + k, int(column) + k)
    limit = hermitian_limit(matrix.dtype, largest)
    if worst[0] > limit:
        if not matrix.imag.any() and np.abs(matrix + matrix.T).max() <= limit:
            raise NotHermitianError(
                "C is real and antisymmetric: it looks like a matrix of angles theta_j - theta_l. Pass np.exp(1j * C), "
                "with 0 where a pair was not measured."
            )
        raise not_hermitian(worst[1], worst[2], worst[0], limit)
    check_largest(largest, n, matrix.dtype)
    return (matrix + matrix.conj().T) / 2 if worst[0] > 0 else matrix


def _check_finite_block(block: NDArray, first_row: int) -> None:
    finite = np.isfinite(block)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise NotFiniteError(
            f"C[{row + first_row},{column}] is {block[row, column]}: entries must be finite. "
            "A pair that was not measured is 0 in C."
        )


def _filled_from_triangle(matrix: NDArray, hermitian: Hermitian) -> NDArray:
    strict = np.triu(matrix, 1) if hermitian == "upper" else np.tril(matrix, -1)
    full = strict + strict.conj().T
    diagonal = np.diagonal(matrix)
    np.fill_diagonal(full, diagonal.real)
    _check_finite_block(full, 0)
    largest = float(np.abs(full).max())
    check_real_diagonal(diagonal, largest)
    check_largest(largest, full.shape[0], full.dtype)
    return full


def _checked_sparse(data: Any, hermitian: Hermitian) -> scipy.sparse.csr_array:
    check_square(data.shape)
    matrix = scipy.sparse.csr_array(check_format(data)).astype(complex_type(data.dtype, "C"), copy=False)
    if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) < 2**31:
        parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
        matrix = scipy.sparse.csr_array(parts, shape=matrix.shape)
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if matrix.has_sorted_indices else matrix.sorted_indices()
        matrix.sum_duplicates()
    checked = kernels.hermitian_gap(matrix) if hermitian == "full" and _all_finite(matrix.data) else None
    if checked is None:
        return _checked_slowly(matrix, data, hermitian)
    largest, gap, i, j = checked
    limit = hermitian_limit(matrix.dtype, largest)
    if gap > limit:
        raise not_hermitian(i, j, gap, limit)
    if gap > 0:
        matrix = scipy.sparse.csr_array((matrix + scipy.sparse.csr_array(matrix.conj().T)) / 2)
    return _finished(matrix, data, largest)


def _all_finite(x: NDArray) -> bool:
    """Without an array of flags: a sum is finite only if its terms are (and may overflow, which is then looked at)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(x.sum()))


def _checked_slowly(matrix: scipy.sparse.csr_array, data: Any, hermitian: Hermitian) -> scipy.sparse.csr_array:
    """The same with a message for every mistake, and for one triangle."""
    bad = ~np.isfinite(matrix.data)
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise NotFiniteError(
            f"C[{row},{matrix.indices[at]}] is {matrix.data[at]}: entries must be finite. "
            "A pair that was not measured is absent."
        )
    largest = float(np.abs(matrix.data).max(initial=0.0))
    if hermitian != "full":
        triangle = scipy.sparse.triu if hermitian == "upper" else scipy.sparse.tril
        strict = scipy.sparse.csr_array(triangle(matrix, k=1 if hermitian == "upper" else -1))
        diagonal = matrix.diagonal()
        check_real_diagonal(diagonal, largest)
        real_diagonal = scipy.sparse.diags_array(diagonal.real.astype(matrix.dtype))
        matrix = scipy.sparse.csr_array(strict + strict.conj().T + real_diagonal)
    else:
        mirrored = scipy.sparse.csr_array(matrix.conj().T)
        gap = scipy.sparse.coo_array(abs(matrix - mirrored))
        limit = hermitian_limit(matrix.dtype, largest)
        if gap.nnz and float(gap.data.max()) > limit:
            at = int(np.argmax(gap.data))
            i, j = sorted((int(gap.coords[0][at]), int(gap.coords[1][at])))
            raise not_hermitian(i, j, float(gap.data[at]), limit)
        if gap.nnz and gap.data.any():
            matrix = scipy.sparse.csr_array((matrix + mirrored) / 2)
    return _finished(matrix, data, largest)


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


def _checked_linear_operator(data: LinearOperator) -> LinearOperatorAdapter:
    check_square(data.shape)
    dtype = np.dtype(np.complex128) if data.dtype is None else complex_type(np.dtype(data.dtype), "the operator")
    operator = LinearOperatorAdapter(data, dtype)
    # Only products are known, so symmetry is tested on random vectors: x^H (A y) = conj(y^H (A x)). The products are
    # kept: they also show whether C is real and how large it is, and the search for a start goes on from the first.
    (x, y), (image_x, image_y) = operator.probes()
    if not (np.isfinite(image_x).all() and np.isfinite(image_y).all()):
        raise NotFiniteError("the operator gives NaN or infinity for a finite vector; check its matvec.")
    gap = abs(np.vdot(x, image_y) - np.conj(np.vdot(y, image_x)))
    largest = float(np.abs(image_y).max()) or 1.0  # squares of 1e200, or of 1e-200, would be infinite, or 0
    size = float(np.linalg.norm(x) * np.linalg.norm(image_y / largest)) * largest
    if gap > hermitian_limit(dtype, size):
        raise NotHermitianError(
            f"the operator must be Hermitian: for random x and y, |x^H A y - conj(y^H A x)| = {gap:.2e} where "
            f"|x| |A y| = {size:.2e}. Check its matvec (conjugates and transposes)."
        )
    return operator
