"""Whether the arrays of a scipy.sparse matrix fit together: compiled code trusts them, and a wrong index is a crash."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError


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
