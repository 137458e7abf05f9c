"""The real part of a dense matrix in the gauge of z, compiled: see :mod:`angsync.kernels.dense.rotated_reference`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.compiled import _DENSE_FROM, HAS_AVX512, _aligned, _padded, _plain, _thread_count
from angsync.kernels.dense.reference import ROWS, SEGMENT, NarrowCopy
from angsync.kernels.sparse.compiled import _library, _pointer, _size
from angsync.kernels.thread_count import threads

_NARROW_THREADS_FROM = 2200  # order from which a second thread gains more in a product than it costs to wake
_THREADS_FROM = 1700  # the same for a triangle in the precision of C


class NarrowTriangle:
    """One triangle of R in 16 bits a number, from the narrow copy of C: half of the copy, a sixteenth of C."""

    def __init__(self, copy: NarrowCopy, z: NDArray, *, avx512: bool = HAS_AVX512) -> None:
        self.n = copy.n
        self._diagonal = copy.diagonal
        self._blocks = _aligned((copy.blocks.shape[0], ROWS, SEGMENT), np.int16)
        self._scale = np.empty_like(copy.scale)
        count = threads() if self.n >= _NARROW_THREADS_FROM else 1
        self._work = _aligned((1 + count) * _padded(self.n), np.float32)  # two N to make it, 1 + count in a product
        self._options = (ctypes.c_int(avx512), ctypes.c_int(count))
        z = np.ascontiguousarray(z, dtype=np.complex128)
        arrays = (copy.blocks, copy.scale, z, self._blocks, self._scale, self._work)
        forming = ctypes.c_int(_thread_count(self.n, narrow=True))
        _library.rotated_form(_size(self.n), *(_pointer(a) for a in arrays), ctypes.c_int(avx512), forming)

    def product(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """R t, summed in single precision."""
        t = np.ascontiguousarray(t, dtype=np.float64)
        y = np.empty(self.n)
        arrays = (self._blocks, self._scale, self._diagonal, t, y, self._work)
        _library.rotated_product(_size(self.n), *(_pointer(a) for a in arrays), *self._options)
        return y


class Triangle:
    """One triangle of R in the precision of C, and from it: a quarter of C."""

    def __init__(self, matrix: NDArray, z: NDArray) -> None:
        self.n = matrix.shape[0]
        kind: Any = matrix.real.dtype
        self._product = _library.rotated_product_single if kind == np.float32 else _library.rotated_product_double
        form = _library.rotated_form_single if kind == np.float32 else _library.rotated_form_double
        self._entries = _aligned(int(_library.narrow_blocks(_size(self.n))) * ROWS * SEGMENT, kind)
        self._diagonal = np.empty(self.n)
        count = threads() if self.n >= _THREADS_FROM else 1
        self._work = _aligned((1 + count) * _padded(self.n), kind)
        self._count = ctypes.c_int(count)
        arrays = (matrix, np.ascontiguousarray(z), self._entries, self._diagonal)
        form(_size(self.n), *(_pointer(a) for a in arrays), ctypes.c_int(_thread_count(self.n)))

    def product(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """R t."""
        t = np.ascontiguousarray(t, dtype=np.float64)
        y = np.empty(self.n)
        arrays = (self._entries, self._diagonal, t, y, self._work)
        self._product(_size(self.n), *(_pointer(a) for a in arrays), self._count)
        return y


def rotated(matrix: NDArray, copy: NarrowCopy | None, z: NDArray) -> NarrowTriangle | Triangle | None:
    """R from the narrow copy where one is given, otherwise from C; None for matrices that the kernels do not read."""
    if copy is not None:
        return NarrowTriangle(copy, z)
    kind = matrix.dtype
    suits = kind in (np.complex128, np.complex64) and z.dtype == kind and _plain(matrix, kind)
    return Triangle(matrix, z) if suits and matrix.shape[0] >= _DENSE_FROM else None
