"""Sparse matrices from the arrays of a file. Compiled code trusts their indices, so they are checked before it starts.

SciPy's own check does not look at a matrix whose last start is negative, and its constructors cut arrays before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError


def compressed(kind: str, data: NDArray, indices: NDArray, starts: NDArray, shape: tuple[int, int]) -> Any:
    """A csr matrix from compressed rows (csr), columns (csc) or rows of blocks (bsr); there may be room for more."""
    import scipy.sparse

    block = (1, 1)
    if kind == "bsr":
        if data.ndim != 3 or 0 in data.shape[1:] or shape[0] % data.shape[1] or shape[1] % data.shape[2]:
            raise _damaged(f"blocks of the shape {data.shape[1:]} do not fit the shape {shape}")
        block = (data.shape[1], data.shape[2])
    elif data.ndim != 1:
        raise _damaged(f"its entries have the shape {data.shape}")
    lines, width = shape[0] // block[0], shape[1] // block[1]
    if kind == "csc":
        lines, width = width, lines
    indices, starts = indices.ravel().astype(np.int64), starts.ravel().astype(np.int64)
    # neighbors are compared, not subtracted: a difference could overflow
    if starts.size != lines + 1 or starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise _damaged(f"the {starts.size} starts of its rows or columns do not grow from 0, one for each and one more")
    count = int(starts[-1])
    if count > min(indices.size, len(data)):
        raise _damaged(f"it speaks of {count} entries, but has {min(indices.size, len(data))}")
    indices, data = indices[:count], data[:count]
    if count and not 0 <= indices.min() <= indices.max() < width:
        raise _damaged(f"its indices go from {indices.min()} to {indices.max()}, but there are {width} places")
    family = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array, "bsr": scipy.sparse.bsr_array}[kind]
    return scipy.sparse.csr_array(family((data, indices, starts), shape=shape))


def coordinates(data: NDArray, rows: NDArray, columns: NDArray, shape: tuple[int, int]) -> Any:
    """A csr matrix from the place of every entry."""
    import scipy.sparse

    rows, columns = rows.astype(np.int64), columns.astype(np.int64)
    if not data.shape == rows.shape == columns.shape or data.ndim != 1:
        raise _damaged(f"it has {rows.size} rows and {columns.size} columns for {data.size} entries")
    for places, size in ((rows, shape[0]), (columns, shape[1])):
        if places.size and not 0 <= places.min() <= places.max() < size:
            raise _damaged(f"its indices go from {places.min()} to {places.max()}, but there are {size} places")
    return scipy.sparse.csr_array(scipy.sparse.coo_array((data, (rows, columns)), shape=shape))


def diagonals(data: NDArray, offsets: NDArray, shape: tuple[int, int]) -> Any:
    """A csr matrix from its diagonals."""
    import scipy.sparse

    offsets = offsets.astype(np.int64)
    inside = (offsets > -shape[0]) & (offsets < shape[1])
    if data.ndim != 2 or data.shape[0] != offsets.size or not inside.all():
        raise _damaged("its diagonals lie outside of it, or their numbers do not fit")
    return scipy.sparse.csr_array(scipy.sparse.dia_array((data, offsets), shape=shape))


def _damaged(what: str) -> InputError:
    return InputError(
        f"the sparse matrix is damaged: {what}. The file is truncated, damaged or badly made; make it again."
    )
