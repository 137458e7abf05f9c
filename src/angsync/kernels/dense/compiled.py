"""Dense problems with the compiled kernels; each has a twin in :mod:`angsync.kernels.dense.reference`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense import anderson, reference
from angsync.kernels.dense.anderson import MEMORY, Ending, InnerSolve
from angsync.kernels.dense.narrow import NARROW_FROM, ROWS, SEGMENT, Inspection, NarrowCopy
from angsync.kernels.dense.source import DENSE_FROM, HAS_AVX512, Source, as_source, product_work, thread_count
from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, aligned, function, plain

_VECTORS_TOGETHER = 4  # of a block: they share one read of the triangle
_WIDEST_BLOCKS = ((2000, 16), (400, 8), (0, 4))  # from this order on, NumPy is slower for up to so many vectors
VECTORS = 13 + 2 * MEMORY  # of n numbers that Anderson's method works with, the steps that it combines among them


class Acceleration(ctypes.Structure):
    """``acceleration_t`` in accelerate.h: one inner solve."""

    _fields_ = (
        ("base", ADDRESS), ("z", ADDRESS), ("target", REAL), ("inexact", REAL), ("noise", REAL), ("budget", SIZE),
        ("most", SIZE), ("patience", SIZE), ("vectors", ADDRESS), ("gram", ADDRESS), ("order", ADDRESS),
        ("trace", ADDRESS), ("tell", ADDRESS), ("told_from", REAL), ("products", SIZE), ("rejected", SIZE),
        ("taken", SIZE), ("residual", REAL),
    )  # fmt: skip


_BLOCK_ARGUMENTS = (SIZE, ADDRESS, INT, ADDRESS, ADDRESS, ADDRESS)  # order, C, number of vectors, x, y, work
_dense_block = function("dense_block", *_BLOCK_ARGUMENTS, INT, INT)
_dense_block_single = function("dense_block_single", *_BLOCK_ARGUMENTS, INT)
_dense_check = function("dense_check", SIZE, ADDRESS, ADDRESS, ADDRESS)
_dense_read = function("dense_read", SIZE, ADDRESS, INT, returns=REAL)
_narrow_block = function("narrow_block", SIZE, *3 * (ADDRESS,), INT, *3 * (ADDRESS,), INT, INT)
_narrow_blocks = function("narrow_blocks", SIZE, returns=SIZE)
_narrow_inspect = function("narrow_inspect", SIZE, *7 * (ADDRESS,), INT, INT)
_narrow_inspect_work = function("narrow_inspect_work", SIZE, returns=SIZE)
_shifted_is_definite = function(
    "shifted_is_definite", SIZE, ADDRESS, REAL, ADDRESS, ADDRESS, REAL, REAL, ADDRESS, returns=INT
)
_dense_leading = function(
    "dense_leading", ctypes.POINTER(Source), ADDRESS, ADDRESS, REAL, ADDRESS, ctypes.POINTER(REAL), returns=SIZE
)
_dense_accelerate = function("dense_accelerate", ctypes.POINTER(Source), ctypes.POINTER(Acceleration), returns=INT)


def dense_apply(matrix: NDArray, x: NDArray, *, avx512: bool = HAS_AVX512) -> NDArray:
    """C x from the upper triangle of a Hermitian matrix, for a vector or a block (n, k); the rest goes to NumPy.

    The product of a block is that of its columns, bit for bit; the triangle is read once for up to four of them.
    """
    n, kind = matrix.shape[0], matrix.dtype
    suits = x.dtype == kind and kind in (np.complex128, np.complex64) and n >= DENSE_FROM and plain(matrix, kind)
    if not suits or (x.ndim != 1 and not 0 < x.shape[1] <= _widest(n)):
        return reference.dense_apply(matrix, x)
    count = thread_count(n, narrow=False)
    single = kind == np.complex64

    def product(given: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        work = aligned((4 + 4 * count) * given.size, np.float32 if single else np.float64)
        arguments = (n, address(matrix), given.size // n, address(given), address(y), address(work))
        if single:
            _dense_block_single(*arguments, count)
        else:
            _dense_block(*arguments, avx512, count)

    return _by_groups(product, x, kind)


def _widest(n: int) -> int:
    """How many vectors a block may have: for more, NumPy's product of full matrices is faster."""
    return next(width for order, width in _WIDEST_BLOCKS if n >= order)


def _by_groups(product: Callable[[NDArray, NDArray], None], x: NDArray, kind: Any) -> NDArray:
    """The product of a vector, or of a block (n, k) a few columns at a time, as even in number as can be."""
    if x.ndim == 1:
        given = np.ascontiguousarray(x, dtype=np.complex128)
        y = np.empty(given.size, dtype=np.complex128)
        product(given, y)
        return y.astype(kind, copy=False)
    n, width = x.shape
    out = np.empty((n, width), dtype=kind)
    groups = -(-width // _VECTORS_TOGETHER)
    for k in range(groups):
        columns = slice(width * k // groups, width * (k + 1) // groups)
        given = np.array(x[:, columns].T, dtype=np.complex128, order="C")
        y = np.empty(given.shape, dtype=np.complex128)
        product(given, y)
        out[:, columns] = y.T
    return out


def read_through(array: NDArray, *, threads: int) -> float:
    """The sum of an array of doubles, every one read once, by so many threads: the bandwidth of the machine."""
    total: float = _dense_read(array.size, address(array), threads)
    return total


def narrow_apply(copy: NarrowCopy, x: NDArray, *, avx512: bool = HAS_AVX512) -> NDArray[np.complex128]:
    """C x from the narrow copy, summed in single precision, for a vector or a block (n, k) of them."""
    count = thread_count(copy.n, narrow=True)
    kept = (address(copy.blocks), address(copy.scale), address(copy.diagonal))

    def product(given: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        vectors = given.size // copy.n
        work = product_work(copy.n, count, narrow=True, vectors=vectors)
        _narrow_block(copy.n, *kept, vectors, address(given), address(y), address(work), avx512, count)

    return _by_groups(product, x, np.complex128)


def dense_inspect(matrix: NDArray, *, avx512: bool = HAS_AVX512, narrow: bool = False) -> Inspection | None:
    """One pass over a complex128 matrix: is it finite and Hermitian, its row sums, and from n = 400 a narrow copy."""
    n = matrix.shape[0]
    if n < DENSE_FROM or not plain(matrix, np.complex128):
        return None
    sample = float(np.abs(matrix[0]).max())
    if not (sample == 0 or 1e-15 < sample < 1e15):
        return None  # the narrow copy has the range of a float; scales like these are rare and take the slow way
    if n < NARROW_FROM and not narrow:
        sums, found = np.empty(n), np.empty((1, 3))
        _dense_check(n, address(matrix), address(sums), address(found))
        return _inspected(sums, found, None)
    count = thread_count(n, narrow=False)
    blocks = narrow_blocks(n)
    copy = NarrowCopy(
        n, aligned((blocks, ROWS, 2 * SEGMENT), np.int16), np.empty((blocks, ROWS), np.float32), np.empty(n)
    )
    sums, found = np.empty(n), np.empty((count, 3))
    work = np.empty(count * _narrow_inspect_work(n))
    arrays = (matrix, copy.blocks, copy.scale, copy.diagonal, sums, work, found)
    _narrow_inspect(n, *(address(a) for a in arrays), avx512, count)
    return _inspected(sums, found, copy)


def narrow_blocks(n: int) -> int:
    """How many blocks the narrow copy has, and every triangle that is laid out as it is."""
    count: int = _narrow_blocks(n)
    return count


def _inspected(sums: NDArray[np.float64], found: NDArray[np.float64], copy: NarrowCopy | None) -> Inspection | None:
    largest, gap, bad = found.max(axis=0).tolist()
    return Inspection(largest, gap, sums, copy) if bad == 0 and largest < 1e30 else None


def shifted_is_definite(
    matrix: NDArray, scale: float, s: NDArray[np.float64], u: NDArray, lift: float, shift: float
) -> bool:
    """Whether Diag(s) - scale C + lift u u^H - shift I has a Cholesky factorisation in floating point."""
    n = matrix.shape[0]
    if not plain(matrix, np.complex128):
        return reference.shifted_is_definite(matrix, scale, s, u, lift, shift)
    s, u = np.ascontiguousarray(s), np.ascontiguousarray(u, dtype=np.complex128)
    work = aligned(2 * n * (n + 4) + 4 * n, np.float64)
    return bool(_shifted_is_definite(n, address(matrix), scale, address(s), address(u), lift, shift, address(work)))


def dense_model(
    matrix: NDArray | Callable[[NDArray], NDArray], copy: NarrowCopy | None
) -> DenseModel | anderson.DenseModel:
    """The model of a dense problem: the narrow copy where C is too large for the cache, otherwise C itself.

    A function that multiplies with C may stand for the matrix where there is a copy.
    """
    if isinstance(matrix, np.ndarray) and not plain(matrix, np.complex128):
        return anderson.DenseModel(lambda x: dense_apply(matrix, x.astype(matrix.dtype)))
    return DenseModel(matrix, copy)


class DenseModel:
    """See :class:`angsync.kernels.dense.anderson.DenseModel`; all of an inner solve is one compiled call."""

    def __init__(
        self,
        matrix: NDArray[np.complex128] | Callable[[NDArray], NDArray],
        copy: NarrowCopy | None,
        *,
        avx512: bool = HAS_AVX512,
    ) -> None:
        if copy is not None:
            self.n = copy.n
        else:
            assert isinstance(matrix, np.ndarray)
            self.n = matrix.shape[0]
        self.error = 0.0 if copy is None else copy.error
        self._source = Source(as_source(matrix, self.n), copy, avx512=avx512)
        self._vectors = aligned(VECTORS * self.n, np.float64)
        self._gram = np.zeros(MEMORY * MEMORY)
        self._order = np.zeros(MEMORY + 1, dtype=np.int64)
        # the arrays stay alive with self, so their addresses may be kept
        self._call = Acceleration(vectors=address(self._vectors), gram=address(self._gram), order=address(self._order))

    def leading(self, x: NDArray, tolerance: float) -> tuple[NDArray[np.complex128], int]:
        """C v for a vector v near the leading eigenvector, by at most ten steps of Lanczos from x."""
        z = np.array(x, dtype=np.complex128)
        given = (ctypes.byref(self._source), address(z), None, tolerance, address(self._vectors))
        products: int = _dense_leading(*given, ctypes.byref(REAL()))
        self._order[0] = 0  # the basis lay where the steps are kept
        return z, products

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
        trace = np.empty((most, 3))
        known = None if base is None else np.ascontiguousarray(base, dtype=np.complex128)
        call = self._call
        call.base = None if known is None else address(known)
        call.z, call.trace = address(z), address(trace)
        call.target, call.inexact, call.noise = target, share * self.error, noise
        call.budget, call.most, call.patience = budget, most, patience
        ending = Ending(_dense_accelerate(ctypes.byref(self._source), ctypes.byref(call)))
        return InnerSolve(z, ending, call.products, call.residual, call.rejected, trace[: call.taken])
