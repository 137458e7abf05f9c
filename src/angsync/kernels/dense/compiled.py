"""Dense problems with the compiled kernels; each has a twin in :mod:`angsync.kernels.dense.reference`."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense import anderson, reference
from angsync.kernels.dense.anderson import MEMORY, Ending, InnerSolve
from angsync.kernels.dense.narrow import NARROW_FROM, ROWS, SEGMENT, STRIP, Inspection, NarrowCopy
from angsync.kernels.dense.source import (
    DENSE_FROM,
    Matrix,
    Products,
    Source,
    as_source,
    is_mapped,
    is_readable,
    product_work,
    thread_count,
)
from angsync.kernels.dense.view import TriangleView
from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, aligned, function, plain
from angsync.kernels.rounding import precision
from angsync.kernels.spare_memory import own_address

# 0.85 GB: a matrix that is mapped into memory is solved in 1 GB beside its pages, from itself where its copy is larger
_MOST_MAPPED_BLOCKS = 850_000_000 // (ROWS * 2 * SEGMENT * 2)
_VECTORS_TOGETHER = 4  # of a block: they share one read of the triangle
_WIDEST_BLOCKS = ((2000, 16), (400, 8), (0, 4))  # from this order on, NumPy is slower for up to so many vectors
VECTORS = 15 + 2 * MEMORY  # of n numbers that Anderson's method works with, the steps that it combines among them


class Acceleration(ctypes.Structure):
    """``acceleration_t`` in accelerate.h: one inner solve."""

    _fields_ = (
        ("base", ADDRESS), ("known", ADDRESS), ("z", ADDRESS), ("target", REAL), ("inexact", REAL), ("noise", REAL),
        ("budget", SIZE), ("most", SIZE), ("patience", SIZE), ("vectors", ADDRESS), ("gram", ADDRESS),
        ("order", ADDRESS), ("trace", ADDRESS), ("products", SIZE), ("rejected", SIZE), ("taken", SIZE),
        ("residual", REAL), ("image", ADDRESS),
    )  # fmt: skip


_MATRIX = ctypes.POINTER(Matrix)
_dense_block = function("dense_block", SIZE, _MATRIX, INT, *3 * (ADDRESS,), INT)
_dense_check = function("dense_check", SIZE, ADDRESS, REAL, ADDRESS, ADDRESS)
_dense_pack = function("dense_pack", SIZE, _MATRIX, ADDRESS)
_dense_mirror = function("dense_mirror", SIZE, ADDRESS)
_dense_read = function("dense_read", SIZE, ADDRESS, INT, returns=REAL)
_narrow_block = function("narrow_block", SIZE, *3 * (ADDRESS,), INT, *3 * (ADDRESS,), INT)
_narrow_blocks = function("narrow_blocks", SIZE, returns=SIZE)
_narrow_inspect = function("narrow_inspect", SIZE, _MATRIX, *7 * (ADDRESS,), REAL, INT, INT)
_narrow_inspect_work = function("narrow_inspect_work", SIZE, returns=SIZE)
_shifted_is_definite = function(
    "shifted_is_definite", SIZE, ADDRESS, REAL, ADDRESS, ADDRESS, REAL, REAL, ADDRESS, returns=INT
)
_dense_leading = function(
    "dense_leading", ctypes.POINTER(Source), *2 * (ADDRESS,), REAL, ctypes.POINTER(REAL), ADDRESS, returns=SIZE
)
_dense_accelerate = function("dense_accelerate", ctypes.POINTER(Source), ctypes.POINTER(Acceleration), returns=INT)


def dense_apply(matrix: NDArray | TriangleView, x: NDArray) -> NDArray:
    """C x from the upper triangle of a Hermitian matrix, for a vector or a block (n, k); the rest goes to NumPy.

    Sums are in double precision; the product has the wider precision of C and x. The product of a block is that of its
    columns, bit for bit; the triangle is read once for up to four of them.
    """
    n, kind = matrix.shape[0], np.result_type(matrix.dtype, x.dtype)
    suits = kind in (np.complex128, np.complex64) and n >= DENSE_FROM and is_readable(matrix)
    if not suits or (x.ndim != 1 and not 0 < x.shape[1] <= _widest(n, matrix)):
        return reference.dense_apply(matrix, x)
    count = thread_count(n, narrow=False)
    place = ctypes.byref(Matrix(matrix))

    def product(given: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        vectors = given.size // n
        work = product_work(n, count, narrow=False, vectors=vectors)
        _dense_block(n, place, vectors, address(given), address(y), address(work), count)

    return _by_groups(product, x, kind)


def _widest(n: int, matrix: NDArray | TriangleView) -> int:
    """How many vectors a block may have: for more, NumPy's product of full matrices is faster."""
    if isinstance(matrix, TriangleView):
        return n  # which it is not where the matrix has to be put together first
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


def narrow_apply(copy: NarrowCopy, x: NDArray) -> NDArray[np.complex128]:
    """C x from the narrow copy, summed in single precision, for a vector or a block (n, k) of them."""
    count = thread_count(copy.n, narrow=True)
    kept = (address(copy.blocks), address(copy.scale), address(copy.diagonal))

    def product(given: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        vectors = given.size // copy.n
        work = product_work(copy.n, count, narrow=True, vectors=vectors)
        _narrow_block(copy.n, *kept, vectors, address(given), address(y), address(work), count)

    return _by_groups(product, x, np.complex128)


def dense_inspect(matrix: NDArray | TriangleView, *, narrow: bool = False) -> Inspection | None:
    """One pass over a matrix: is it finite, how far are its triangles apart, its row sums, and from n = 400 a copy.

    None where the kernels do not read it, or where something is wrong with it. Of a :class:`TriangleView` one triangle
    is read. Small matrices that are not rows of complex128, or not Hermitian to the bit, are packed.
    """
    n = matrix.shape[0]
    if n < DENSE_FROM or not is_readable(matrix):
        return None
    # twice the unit of rounding: the square root of 2^-52 and of 2^-23, up to which a difference is rounding
    share = precision(matrix.dtype).epsilon ** 0.5
    if n < NARROW_FROM and not narrow:
        return _inspect_small(matrix, share)
    if not _is_of_usual_scale(_largest(matrix[0])):
        return None
    count = thread_count(n, narrow=False)
    blocks, segments = narrow_blocks(n), -(-n // SEGMENT)
    diagonal = np.empty(n)
    copy = None
    if blocks <= _MOST_MAPPED_BLOCKS or not is_mapped(matrix):
        copy = NarrowCopy(
            n, aligned((blocks, ROWS, 2 * SEGMENT), np.int16), np.empty((blocks, ROWS), np.float32), diagonal
        )
    kept = (None, None) if copy is None else (address(copy.blocks), address(copy.scale))
    sums, found = np.empty(n), np.empty((count, 3))
    suspects = np.zeros((-(-n // STRIP), segments), np.bool_)
    work = np.empty(count * _narrow_inspect_work(n))
    arrays = (diagonal, sums, work, found, suspects)
    place = ctypes.byref(Matrix(matrix))
    compared = not isinstance(matrix, TriangleView)
    _narrow_inspect(n, place, *kept, *(address(a) for a in arrays), share, compared, count)
    largest, (_, gap, bad) = float(found[:, 0].max()), found.sum(axis=0).tolist()
    if bad != 0 or not largest < 1e30:
        return None
    return Inspection(largest, gap, sums, copy, suspects if suspects.any() else None)


def _largest(row: NDArray) -> float:
    return float(np.abs(row).max())


def _is_of_usual_scale(sample: float) -> bool:
    """The narrow copy has the range of a float; other scales are rare and take the slow way."""
    return sample == 0 or 1e-15 < sample < 1e15


def hollow_inspect(matrix: NDArray[np.complex128], known: Inspection) -> Inspection | None:
    """What :func:`dense_inspect` finds of a small matrix without its diagonal, from what it found with it."""
    n = matrix.shape[0]
    packed = aligned((n, n), np.complex128)
    packed[:] = matrix
    packed.reshape(-1)[:: n + 1] = 0
    if known.sums_beside is None or not _is_of_usual_scale(_largest(packed[0])):
        return None
    return Inspection(known.largest, 0.0, known.sums_beside, None, None, packed, known.sums_beside, False)


def _inspect_small(matrix: NDArray | TriangleView, share: float) -> Inspection | None:
    n = matrix.shape[0]
    sums, found = np.empty((2, n)), np.empty(7)
    one = isinstance(matrix, TriangleView)
    packed = None if not one and plain(matrix, np.complex128) else aligned((n, n), np.complex128)
    crooked = False  # the diagonal of one triangle, which the mirror makes real
    if packed is not None:
        _dense_pack(n, ctypes.byref(Matrix(matrix)), own_address(packed))
        if isinstance(matrix, TriangleView):
            crooked = bool(packed.reshape(-1)[:: n + 1].imag.any())
            _dense_mirror(n, own_address(packed))
            if matrix.hollow:
                np.fill_diagonal(packed, 0)
    looked_at: Any = matrix if packed is None else packed
    _dense_check(n, address(looked_at), share, own_address(sums), own_address(found))
    largest, gap, bad, excess, first, on_diagonal, beside = found.tolist()
    if bad != 0 or not largest < 1e30:
        return None
    # squares of entries below 1e-162 are 0
    if not _is_of_usual_scale(first if first > 0 else _largest(looked_at[0])):
        return None
    if gap > 0:
        if packed is None:
            packed = aligned((n, n), np.complex128)
            packed[:] = matrix
        _dense_mirror(n, own_address(packed))
    suspects = np.ones((1, 1), np.bool_) if excess > 0 or crooked else None
    return Inspection(largest, gap, sums[0], None, suspects, packed, sums[1], on_diagonal > beside)


def narrow_blocks(n: int) -> int:
    """How many blocks the narrow copy has, and every triangle that is laid out as it is."""
    count: int = _narrow_blocks(n)
    return count


def shifted_is_definite(
    matrix: NDArray, scale: float, s: NDArray[np.float64], u: NDArray, lift: float, shift: float
) -> bool:
    """Whether Diag(s) - scale C + lift u u^H - shift I has a Cholesky factorization in floating point."""
    n = matrix.shape[0]
    if not plain(matrix, np.complex128):
        return reference.shifted_is_definite(matrix, scale, s, u, lift, shift)
    s, u = np.ascontiguousarray(s), np.ascontiguousarray(u, dtype=np.complex128)
    work = aligned(2 * n * (n + 4) + 4 * n, np.float64)
    return bool(_shifted_is_definite(n, address(matrix), scale, address(s), address(u), lift, shift, own_address(work)))


def dense_model(
    matrix: NDArray | TriangleView | Callable[[NDArray], NDArray], copy: NarrowCopy | None, n: int
) -> DenseModel | anderson.DenseModel:
    """The model of a dense problem of order n: the narrow copy where C is too large for the cache, otherwise C itself.

    A function that multiplies with C may stand for the matrix.
    """
    if not callable(matrix) and not is_readable(matrix):
        return anderson.DenseModel(lambda x: dense_apply(matrix, x))
    return DenseModel(matrix, copy, n)


class DenseModel:
    """See :class:`angsync.kernels.dense.anderson.DenseModel`; all of an inner solve is one compiled call."""

    def __init__(
        self, matrix: NDArray | TriangleView | Callable[[NDArray], NDArray], copy: NarrowCopy | None, n: int
    ) -> None:
        self.n = n
        self.error = 0.0 if copy is None else copy.error
        self._matrix = as_source(matrix, n)
        self._source = Source(self._matrix, copy)
        self._vectors = aligned(VECTORS * n, np.float64)
        self._gram = np.zeros(MEMORY * MEMORY)
        self._order = np.zeros(MEMORY + 1, dtype=np.int64)
        # the arrays stay alive with self, so their addresses may be kept
        self._call = Acceleration(
            vectors=own_address(self._vectors), gram=own_address(self._gram), order=own_address(self._order)
        )

    def forget(self) -> None:
        """Drop the steps of earlier runs: the next one begins at another point."""
        self._order[0] = 0

    def leading(
        self, x: NDArray, tolerance: float, image: NDArray | None = None, mixing: float = math.inf
    ) -> tuple[NDArray[np.complex128], int, bool]:
        """C v for a vector v near the leading eigenvector, by at most ten steps of Lanczos from x.

        See :meth:`angsync.kernels.dense.anderson.DenseModel.leading`.
        """
        z = np.array(x, dtype=np.complex128)
        known = None if image is None else np.ascontiguousarray(image, dtype=np.complex128)
        clear = REAL(mixing)
        products: int = _dense_leading(
            ctypes.byref(self._source), address(z), None if known is None else address(known), tolerance,
            ctypes.byref(clear), own_address(self._vectors),
        )  # fmt: skip
        self.forget()  # the basis lay where the steps are kept
        if isinstance(self._matrix, Products):
            self._matrix.raise_again()
        return z, products, clear.value != 0

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
        known: NDArray | None = None,
    ) -> InnerSolve:
        """Anderson's method from z until the residual is ``target`` or ``share`` times the error of the model."""
        z = np.array(z, dtype=np.complex128)
        most = min(most, budget)  # a step takes a product at least
        trace = np.empty((most, 3))
        given = [None if x is None else np.ascontiguousarray(x, dtype=np.complex128) for x in (base, known)]
        call = self._call
        call.base, call.known = (None if x is None else address(x) for x in given)
        call.z, call.trace = own_address(z), own_address(trace)
        call.target, call.inexact, call.noise = target, share * self.error, noise
        call.budget, call.most, call.patience = budget, most, patience
        ending = Ending(_dense_accelerate(ctypes.byref(self._source), ctypes.byref(call)))
        error = None
        if ending is Ending.FAILED and isinstance(self._matrix, Products):
            error = self._matrix.error
            if call.products == 0:
                self._matrix.raise_again()
            self._matrix.error = None
        steps = trace[: call.taken]
        if base is not None:
            return InnerSolve(z, ending, call.products, call.residual, call.rejected, steps, error=error)
        return InnerSolve(z, ending, call.products, call.residual, call.rejected, steps, self._image(), error)

    def _image(self) -> NDArray[np.complex128]:
        """The product at the point of the last inner solve, which lies among the work vectors."""
        place = (self._call.image - own_address(self._vectors)) // self._vectors.itemsize
        return self._vectors[place : place + 2 * self.n].view(np.complex128).copy()
