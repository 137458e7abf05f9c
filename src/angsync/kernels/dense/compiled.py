"""Dense problems with the compiled kernels; each has a twin in :mod:`angsync.kernels.dense.reference`."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels import spare_memory as spare
from angsync.kernels.dense import reference
from angsync.kernels.dense.reference import (
    MEMORY,
    NARROW_FROM,
    ROWS,
    SEGMENT,
    Ending,
    InnerSolve,
    Inspection,
    NarrowCopy,
)
from angsync.kernels.sparse.compiled import _library, _pointer, _size
from angsync.kernels.thread_count import threads

_DENSE_FROM = 48  # order below which NumPy is as fast
_THREADS_FROM = 600  # order from which a second thread gains more than it costs to wake
_NARROW_THREADS_FROM = 1500  # the same for the narrow copy, an eighth of C
_TOGETHER = 4  # vectors of a block that share one read of the triangle
_WIDEST = ((2000, 16), (400, 8), (0, 4))  # from this order on, blocks of up to so many vectors are not NumPy's
_VECTORS = 13 + 2 * MEMORY
HAS_AVX512 = bool(_library.narrow_has_avx512())

_library.narrow_blocks.restype = ctypes.c_int64
_library.narrow_inspect_work.restype = ctypes.c_int64
_library.dense_leading.restype = ctypes.c_int64
_library.dense_read.restype = ctypes.c_double


def _plain(x: NDArray, kind: Any) -> bool:
    return x.dtype == kind and bool(x.flags.c_contiguous) and x.__array_interface__["data"][0] % 16 == 0


def _aligned(shape: int | tuple[int, ...], kind: Any) -> NDArray:
    """An empty array at the beginning of a cache line."""
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(kind).itemsize
    return spare.take(size).view(kind).reshape(shape)


def _thread_count(n: int, narrow: bool = False) -> int:
    return threads() if n >= (_NARROW_THREADS_FROM if narrow else _THREADS_FROM) else 1


def _padded(n: int) -> int:
    return -(-n // SEGMENT) * SEGMENT


def _work(n: int, count: int, narrow: bool, vectors: int = 1) -> NDArray:
    """What a product by so many threads needs beside its vectors."""
    if narrow:
        return _aligned((6 + 8 * count) * _padded(n) * vectors, np.float32)
    return _aligned((4 + 4 * count) * n * vectors, np.float64)


def dense_apply(matrix: NDArray, x: NDArray, *, avx512: bool = HAS_AVX512) -> NDArray:
    """C x from the upper triangle of a Hermitian matrix, for a vector or a block (n, k); the rest goes to NumPy.

    The product of a block is that of its columns, bit for bit; the triangle is read once for up to four of them.
    """
    n, kind = matrix.shape[0], matrix.dtype
    suits = x.dtype == kind and kind in (np.complex128, np.complex64) and n >= _DENSE_FROM and _plain(matrix, kind)
    if not suits or (x.ndim != 1 and not 0 < x.shape[1] <= _widest(n)):
        return reference.dense_apply(matrix, x)
    count = _thread_count(n)
    single = kind == np.complex64

    def product(given: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        work = _aligned((4 + 4 * count) * given.size, np.float32 if single else np.float64)
        arguments = (_size(n), _pointer(matrix), ctypes.c_int(given.size // n), _pointer(given), _pointer(y))
        if single:
            _library.dense_block_single(*arguments, _pointer(work), ctypes.c_int(count))
        else:
            _library.dense_block(*arguments, _pointer(work), ctypes.c_int(avx512), ctypes.c_int(count))

    return _by_groups(product, x, kind)


def _widest(n: int) -> int:
    """How many vectors a block may have: for more, NumPy's product of full matrices is faster."""
    return next(width for order, width in _WIDEST if n >= order)


def _by_groups(product: Callable[[NDArray, NDArray], None], x: NDArray, kind: Any) -> NDArray:
    """The product of a vector, or of a block (n, k) a few columns at a time, as even in number as can be."""
    if x.ndim == 1:
        given = np.ascontiguousarray(x, dtype=np.complex128)
        y = np.empty(given.size, dtype=np.complex128)
        product(given, y)
        return y.astype(kind, copy=False)
    n, width = x.shape
    out = np.empty((n, width), dtype=kind)
    groups = -(-width // _TOGETHER)
    for k in range(groups):
        columns = slice(width * k // groups, width * (k + 1) // groups)
        given = np.array(x[:, columns].T, dtype=np.complex128, order="C")
        y = np.empty(given.shape, dtype=np.complex128)
        product(given, y)
        out[:, columns] = y.T
    return out


def read(array: NDArray, *, threads: int) -> float:
    """The sum of an array of doubles, every one read once, by so many threads: the bandwidth of the machine."""
    total: float = _library.dense_read(_size(array.size), _pointer(array), ctypes.c_int(threads))
    return total


def narrow_apply(copy: NarrowCopy, x: NDArray, *, avx512: bool = HAS_AVX512) -> NDArray[np.complex128]:
    """C x from the narrow copy, summed in single precision, for a vector or a block (n, k) of them."""
    count = _thread_count(copy.n, narrow=True)
    kept = (_pointer(copy.blocks), _pointer(copy.scale), _pointer(copy.diagonal))

    def product(given: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        vectors = given.size // copy.n
        work = _work(copy.n, count, narrow=True, vectors=vectors)
        arrays = (*kept, ctypes.c_int(vectors), _pointer(given), _pointer(y), _pointer(work))
        _library.narrow_block(_size(copy.n), *arrays, ctypes.c_int(avx512), ctypes.c_int(count))

    return _by_groups(product, x, np.complex128)


def dense_inspect(matrix: NDArray, *, avx512: bool = HAS_AVX512, narrow: bool = False) -> Inspection | None:
    """One pass over a complex128 matrix: is it finite and Hermitian, its row sums, and from n = 400 a narrow copy."""
    n = matrix.shape[0]
    if n < _DENSE_FROM or not _plain(matrix, np.complex128):
        return None
    sample = float(np.abs(matrix[0]).max())
    if not (sample == 0 or 1e-15 < sample < 1e15):
        return None  # the narrow copy has the range of a float; scales like these are rare and take the slow way
    if n < NARROW_FROM and not narrow:
        sums, found = np.empty(n), np.empty((1, 3))
        _library.dense_check(_size(n), _pointer(matrix), _pointer(sums), _pointer(found))
        return _inspected(sums, found, None)
    count = _thread_count(n)
    blocks = int(_library.narrow_blocks(_size(n)))
    copy = NarrowCopy(
        n, _aligned((blocks, ROWS, 2 * SEGMENT), np.int16), np.empty((blocks, ROWS), np.float32), np.empty(n)
    )
    sums, found = np.empty(n), np.empty((count, 3))
    work = np.empty(count * int(_library.narrow_inspect_work(_size(n))))
    arrays = (matrix, copy.blocks, copy.scale, copy.diagonal, sums, work, found)
    options = (ctypes.c_int(avx512), ctypes.c_int(count))
    _library.narrow_inspect(_size(n), *(_pointer(a) for a in arrays), *options)
    return _inspected(sums, found, copy)


def _inspected(sums: NDArray[np.float64], found: NDArray[np.float64], copy: NarrowCopy | None) -> Inspection | None:
    largest, gap, bad = found.max(axis=0).tolist()
    return Inspection(largest, gap, sums, copy) if bad == 0 and largest < 1e30 else None


def shifted_is_definite(
    matrix: NDArray, scale: float, s: NDArray[np.float64], u: NDArray, lift: float, shift: float
) -> bool:
    """Whether Diag(s) - scale C + lift u u^H - shift I has a Cholesky factorisation in floating point."""
    n = matrix.shape[0]
    if not _plain(matrix, np.complex128):
        return reference.shifted_is_definite(matrix, scale, s, u, lift, shift)
    s, u = np.ascontiguousarray(s), np.ascontiguousarray(u, dtype=np.complex128)
    work = _aligned(2 * n * (n + 4) + 4 * n, np.float64)
    numbers = [ctypes.c_double(x) for x in (scale, lift, shift)]
    found = _library.shifted_is_definite(
        _size(n), _pointer(matrix), numbers[0], _pointer(s), _pointer(u), *numbers[1:], _pointer(work)
    )
    return bool(found)


def dense_model(matrix: NDArray, copy: NarrowCopy | None) -> DenseModel | reference.DenseModel:
    """The model of a dense problem: the narrow copy where C is too large for the cache, otherwise C itself."""
    if not _plain(matrix, np.complex128):
        return reference.DenseModel(lambda x: dense_apply(matrix, x.astype(matrix.dtype)))
    return DenseModel(matrix, copy)


class DenseModel:
    """See :class:`angsync.kernels.dense.reference.DenseModel`; all of an inner solve is one compiled call."""

    def __init__(self, matrix: NDArray[np.complex128], copy: NarrowCopy | None, *, avx512: bool = HAS_AVX512) -> None:
        n = self.n = matrix.shape[0]
        self.error = 0.0 if copy is None else copy.error
        self._threads = _thread_count(n, narrow=copy is not None)
        self._vectors = _aligned(_VECTORS * n, np.float64)
        self._gram = np.zeros(MEMORY * MEMORY)
        self._order = np.zeros(MEMORY + 1, dtype=np.int64)
        self._work = _work(n, self._threads, narrow=copy is not None)
        # the arrays stay alive with self, so their addresses may be kept
        self._kept = (matrix, copy)
        self._source: tuple[Any, ...] = (_size(n), _pointer(matrix), None, None, None)
        if copy is not None:
            self._source = (_size(n), None, _pointer(copy.blocks), _pointer(copy.scale), _pointer(copy.diagonal))
        self._options = (_pointer(self._work), ctypes.c_int(avx512), ctypes.c_int(self._threads))

    def leading(self, x: NDArray, tolerance: float) -> tuple[NDArray[np.complex128], int]:
        """C v for a vector v near the leading eigenvector, by at most ten steps of Lanczos from x."""
        z = np.array(x, dtype=np.complex128)
        vectors = _pointer(self._vectors)
        products = _library.dense_leading(
            *self._source, _pointer(z), ctypes.c_double(tolerance), vectors, *self._options
        )
        self._order[0] = 0  # the basis lay where the steps are kept
        return z, int(products)

    def accelerate(
        self,
        z: NDArray,
        base: NDArray | None,
        *,
        target: float,
        budget: int,
        noise: float,
        patience: int,
        share: float = 0.0,
        most: int = 1000,
    ) -> InnerSolve:
        """Anderson's method from z until the residual is ``target`` or ``share`` times the error of the model."""
        z = np.array(z, dtype=np.complex128)
        most = min(most, budget)  # a step takes a product at least
        trace, report = np.empty((most, 3)), np.empty(4)
        known = None if base is None else np.ascontiguousarray(base, dtype=np.complex128)
        ending = _library.dense_accelerate(
            *self._source,
            None if known is None else _pointer(known),
            _pointer(z),
            ctypes.c_double(target),
            ctypes.c_double(share * self.error),
            ctypes.c_int64(budget),
            ctypes.c_int64(most),
            ctypes.c_double(noise),
            ctypes.c_int64(patience),
            _pointer(self._vectors),
            _pointer(self._gram),
            _pointer(self._order),
            *self._options,
            _pointer(trace),
            _pointer(report),
        )
        products, residual, rejected, taken = report
        return InnerSolve(z, Ending(ending), int(products), float(residual), int(rejected), trace[: int(taken)])
