"""Turn a matrix of scipy.sparse into an operator: check its index arrays and entries, and give it one layout."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import InputError, NotFiniteError
from angsync.problem.operators.checks import (
    Hermitian,
    beyond_rounding,
    check_largest,
    check_pairs,
    check_real,
    check_square,
    complex_type,
)
from angsync.problem.operators.sparse import SparseOperator


def sparse_operator(data: Any, hermitian: Hermitian) -> SparseOperator:
    """Return the operator of a matrix of scipy.sparse, checked."""
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
    check_real(diagonal, partial(_largest_in, matrix), matrix.dtype)
    real_diagonal = scipy.sparse.diags_array(diagonal.real.astype(matrix.dtype))
    matrix = scipy.sparse.csr_array(upper + upper.conj().T + real_diagonal)
    return SparseOperator(_finished(matrix, data, largest), asymmetry)


def _check_difference(
    matrix: scipy.sparse.csr_array, upper: scipy.sparse.csr_array, below: scipy.sparse.csr_array
) -> float:
    """Compare the upper triangle with the lower one, turned over; the sum of the differences."""
    difference = scipy.sparse.coo_array(abs(upper - below))
    if not difference.nnz:
        return 0.0
    i, j = difference.coords
    here, there = (np.asarray(side[i, j]).ravel() for side in (upper, below))
    asymmetry, suspects = beyond_rounding(here[None], there[None], matrix.dtype)
    if suspects is not None:
        place = suspects[2].astype(np.int64)
        check_pairs(np.stack([suspects[0], i[place], j[place]]), partial(_largest_in, matrix), matrix.dtype)
    return float(asymmetry.sum(dtype=np.float64))


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


def check_format(matrix: Any) -> Any:
    """The matrix, whose indices are all inside it; one message where they are not. Reads every index once.

    Not scipy's own ``check_format``, which changes the matrix that it checks and knows three of the seven layouts. The
    other four are looked at as a list of coordinates, which is returned.
    """
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix)
        return matrix
    if matrix.format != "coo":
        try:
            matrix = matrix.tocoo()
        except ValueError as error:
            raise _damaged(str(error)) from None
    row, col = matrix.row, matrix.col
    if not row.shape == col.shape == matrix.data.shape:
        raise _damaged(f"it has {row.size} rows and {col.size} columns for {matrix.data.size} entries")
    for name, index, size in (("row", row, matrix.shape[0]), ("col", col, matrix.shape[1])):
        _check_range(index, size, name)
    return matrix


def _check_compressed(matrix: Any) -> None:
    height, width = (1, 1) if matrix.format != "bsr" else matrix.data.shape[1:]
    rows, columns = matrix.shape[0] // height, matrix.shape[1] // width
    if matrix.format == "csc":
        rows, columns = columns, rows
    starts = matrix.indptr
    if starts.ndim != 1 or starts.size != rows + 1:
        raise _damaged(f"indptr has {starts.size} entries, but {rows + 1} are expected")
    falls = starts[1:] < starts[:-1]  # compared, not subtracted: a difference could overflow
    if starts[0] != 0 or falls.any():
        k = 0 if starts[0] != 0 else int(np.argmax(falls)) + 1
        raise _damaged(f"indptr[{k}] is {starts[k]}, but indptr begins at 0 and never decreases")
    count = int(starts[-1])
    for name, size in (("indices", matrix.indices.size), ("data", len(matrix.data))):
        if size < count:
            raise _damaged(f"{name} has {size} entries, but indptr speaks of {count}")
    _check_range(matrix.indices[:count], columns, "indices")


def _check_range(index: NDArray, size: int, name: str) -> None:
    if index.size and not (index.min() >= 0 and index.max() < size):
        k = int(np.argmax((index < 0) | (index >= size)))
        raise _damaged(f"{name}[{k}] is {index[k]}, but indices go from 0 to {size - 1}")


def _damaged(what: str) -> InputError:
    return InputError(
        f"the sparse matrix is damaged: {what}. Its arrays do not fit together; make it again from its entries, "
        "scipy.sparse.coo_array((data, (row, col)), shape=(n, n))."
    )
