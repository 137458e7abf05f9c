"""The real part of a dense matrix in the gauge of z, compiled: see :mod:`angsync.kernels.dense.rotated_reference`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.compiled import narrow_blocks
from angsync.kernels.dense.narrow import ROWS, SEGMENT, NarrowCopy
from angsync.kernels.dense.source import DENSE_FROM, Matrix, is_readable, padded, thread_count
from angsync.kernels.dense.view import TriangleView
from angsync.kernels.library import ADDRESS, INT, SIZE, address, aligned, function
from angsync.kernels.thread_count import threads

_NARROW_THREADS_FROM = 2200  # order from which a second thread gains more in a product than it costs to wake it
_THREADS_FROM = 1700  # the same for a triangle in the precision of C

_rotated_form = function("rotated_form", SIZE, *6 * (ADDRESS,), INT)
_rotated_product = function("rotated_product", SIZE, *6 * (ADDRESS,), INT)
_FORM = (SIZE, ctypes.POINTER(Matrix), *4 * (ADDRESS,), INT)  # order, C, z, entries, diagonal, work, threads
_PRODUCT = (SIZE, *5 * (ADDRESS,), INT)  # order, entries, diagonal, t, y, work, threads
_FORMS = {
    np.dtype(np.float64): function("rotated_form_double", *_FORM),
    np.dtype(np.float32): function("rotated_form_single", *_FORM),
}
_PRODUCTS = {
    np.dtype(np.float64): function("rotated_product_double", *_PRODUCT),
    np.dtype(np.float32): function("rotated_product_single", *_PRODUCT),
}


class NarrowTriangle:
    """One triangle of R in 16 bits a number, from the narrow copy of C: half of the copy, a sixteenth of C."""

    def __init__(self, copy: NarrowCopy, z: NDArray) -> None:
        self.n = copy.n
        self._diagonal = copy.diagonal
        self._blocks = aligned((copy.blocks.shape[0], ROWS, SEGMENT), np.int16)
        self._scale = np.empty_like(copy.scale)
        count = threads() if self.n >= _NARROW_THREADS_FROM else 1
        self._work = aligned((1 + count) * padded(self.n), np.float32)  # two N to make it, 1 + count in a product
        self._count = count
        z = np.ascontiguousarray(z, dtype=np.complex128)
        arrays = (copy.blocks, copy.scale, z, self._blocks, self._scale, self._work)
        _rotated_form(self.n, *(address(a) for a in arrays), thread_count(self.n, narrow=True))

    def product(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """R t, summed in single precision."""
        t = np.ascontiguousarray(t, dtype=np.float64)
        y = np.empty(self.n)
        arrays = (self._blocks, self._scale, self._diagonal, t, y, self._work)
        _rotated_product(self.n, *(address(a) for a in arrays), self._count)
        return y


class WideTriangle:
    """One triangle of R in the precision of C, made from C: a quarter of C."""

    def __init__(self, matrix: NDArray | TriangleView, z: NDArray) -> None:
        self.n = matrix.shape[0]
        kind: Any = np.dtype(np.float32 if matrix.dtype == np.complex64 else np.float64)
        self._product = _PRODUCTS[kind]
        self._entries = aligned(narrow_blocks(self.n) * ROWS * SEGMENT, kind)
        self._diagonal = np.empty(self.n)
        count = threads() if self.n >= _THREADS_FROM else 1
        self._work = aligned((1 + count) * padded(self.n), kind)
        self._count = count
        makers = thread_count(self.n, narrow=False)
        z = np.ascontiguousarray(z, dtype=np.complex128)
        arrays = (z, self._entries, self._diagonal, np.empty(2 * self.n * makers))
        _FORMS[kind](self.n, ctypes.byref(Matrix(matrix)), *(address(a) for a in arrays), makers)

    def product(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """R t."""
        t = np.ascontiguousarray(t, dtype=np.float64)
        y = np.empty(self.n)
        arrays = (self._entries, self._diagonal, t, y, self._work)
        self._product(self.n, *(address(a) for a in arrays), self._count)
        return y


def rotated(
    matrix: NDArray | TriangleView, copy: NarrowCopy | None, z: NDArray
) -> NarrowTriangle | WideTriangle | None:
    """R from the narrow copy where one is given, otherwise from C; None for matrices that the kernels do not read."""
    if copy is not None:
        return NarrowTriangle(copy, z)
    suits = matrix.dtype in (np.complex128, np.complex64) and is_readable(matrix)
    return WideTriangle(matrix, z) if suits and matrix.shape[0] >= DENSE_FROM else None
