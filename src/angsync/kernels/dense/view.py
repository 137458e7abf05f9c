"""A full matrix of which one triangle counts, as it lies in memory: no second copy of it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_ENTRIES = 1 << 19  # rows are put together in blocks of about this many entries
_KINDS = (np.complex128, np.complex64, np.float64, np.float32)  # in the order of matrix.h
KINDS = {np.dtype(kind): place for place, kind in enumerate(_KINDS)}
"""The types of entries that the kernels read, by their numbers in matrix.h."""


class TriangleView:
    """The Hermitian matrix whose upper triangle is that of ``given``, or of its conjugate; its diagonal is real.

    Nothing below the diagonal of ``given`` is read. A lower triangle is the upper one of the transposed matrix,
    conjugated.
    """

    ndim = 2

    def __init__(self, given: NDArray, *, conjugated: bool = False) -> None:
        self.given = given
        self.conjugated = conjugated
        self.dtype: np.dtype[Any] = np.result_type(given.dtype, np.complex64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.given.shape[0], self.given.shape[1]

    def __getitem__(self, rows: int | slice) -> NDArray:
        """A whole row, or rows, in the complex type of the matrix."""
        if isinstance(rows, slice):
            first, last, step = rows.indices(self.shape[0])
            if step != 1:
                return np.array([self[k] for k in range(first, last, step)], dtype=self.dtype)
            return self._rows(first, max(first, last))
        row: NDArray = self._rows(int(rows), int(rows) + 1)[0]
        return row

    def _rows(self, first: int, last: int) -> NDArray:
        out = np.empty((last - first, self.shape[0]), dtype=self.dtype)
        out[:, first:] = self.given[first:last, first:]
        np.conjugate(self.given[:first, first:last].T, out=out[:, :first], casting="same_kind")
        for k in range(1, last - first):  # what is left of the diagonal of these rows
            np.conjugate(out[:k, first + k], out=out[k, first : first + k])
        places = np.arange(last - first)
        out[places, first + places] = out[places, first + places].real
        return np.conjugate(out, out=out) if self.conjugated else out

    def part(self, index: NDArray[np.int64]) -> NDArray:
        """The rows and columns of ``index`` in this order, as an array."""
        row, column = np.minimum.outer(index, index), np.maximum.outer(index, index)
        out = self.given[row, column].astype(self.dtype)
        below = index[:, None] > index[None, :]
        np.conjugate(out, out=out, where=~below if self.conjugated else below)
        places = np.arange(index.size)
        out[places, places] = out[places, places].real
        return out

    def diagonal(self) -> NDArray:
        return self.given.diagonal().real

    def blocks(self) -> list[slice]:
        """All rows, a few at a time."""
        n = self.shape[0]
        height = max(1, _BLOCK_ENTRIES // max(1, n))
        return [slice(k, min(n, k + height)) for k in range(0, n, height)]

    def __matmul__(self, x: NDArray) -> NDArray:
        out = np.empty(x.shape, dtype=np.result_type(self.dtype, x))
        for rows in self.blocks():
            out[rows] = self[rows] @ x
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        """The whole matrix, made when NumPy asks for it."""
        entries = np.empty(self.shape, dtype=self.dtype if dtype is None else dtype)
        for rows in self.blocks():
            entries[rows] = self[rows]
        return entries
