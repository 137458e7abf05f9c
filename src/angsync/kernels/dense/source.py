"""A dense matrix as the compiled products read it: what all compiled dense kernels share. Import fails without them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.narrow import SEGMENT, NarrowCopy
from angsync.kernels.dense.view import KINDS, TriangleView
from angsync.kernels.library import ADDRESS, INT, SIZE, address, aligned
from angsync.kernels.spare_memory import own_address
from angsync.kernels.thread_count import threads

DENSE_FROM = 48  # order below which NumPy is as fast
_THREADS_FROM = 600  # order from which a second thread gains more than it costs to wake
_NARROW_THREADS_FROM = 1500  # the same for the narrow copy, an eighth of C


def thread_count(n: int, *, narrow: bool) -> int:
    """How many threads share a product with C, or with its narrow copy."""
    return threads() if n >= (_NARROW_THREADS_FROM if narrow else _THREADS_FROM) else 1


def padded(n: int) -> int:
    """n up to a multiple of the columns of a block of the narrow copy."""
    return -(-n // SEGMENT) * SEGMENT


def product_work(n: int, count: int, *, narrow: bool, vectors: int = 1) -> NDArray:
    """What a product by so many threads needs beside its vectors."""
    if narrow:
        return aligned((2 + 6 * count) * padded(n) * vectors, np.float32)
    return aligned((4 + 4 * count) * n * vectors, np.float64)


class Matrix(ctypes.Structure):
    """``matrix_t`` in matrix.h: where the entries of C lie. Whoever uses it keeps the array alive."""

    _fields_ = (
        ("at", ADDRESS), ("row", SIZE), ("column", SIZE), ("kind", ctypes.c_int32), ("conjugated", ctypes.c_int32),
        ("hollow", ctypes.c_int32),
    )  # fmt: skip

    def __init__(self, matrix: NDArray | TriangleView) -> None:
        if isinstance(matrix, TriangleView):
            given, flags = matrix.given, (matrix.conjugated, matrix.hollow)
        else:
            given, flags = matrix, (False, False)
        super().__init__(given.__array_interface__["data"][0], *given.strides, KINDS[given.dtype], *flags)


_NOWHERE = Matrix.from_buffer_copy(bytes(ctypes.sizeof(Matrix)))  # where C is no matrix in memory


def is_readable(matrix: NDArray | TriangleView) -> bool:
    """Whether the kernels read the matrix as it lies: of one of four types, in the order of bytes of this machine."""
    given = matrix.given if isinstance(matrix, TriangleView) else matrix
    return given.dtype in KINDS and bool(given.flags.aligned)


def is_mapped(matrix: NDArray | TriangleView) -> bool:
    """Whether the entries lie in a file that is mapped into memory."""
    array: Any = matrix.given if isinstance(matrix, TriangleView) else matrix
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


_CALL = ctypes.CFUNCTYPE(INT)


class Products:
    """C as a function of vectors, for the compiled loops: they call it wherever they would multiply with a matrix.

    What the function raises ends the compiled call, and :meth:`raise_again` raises it where Python can see it.
    """

    def __init__(self, product: Callable[[NDArray], NDArray], n: int) -> None:
        self.product, self.n = product, n
        self.error: BaseException | None = None
        self.given, self.image = np.empty((2, n), dtype=np.complex128)
        self.call = _CALL(self._multiply)

    def _multiply(self) -> int:
        try:
            self.image[:] = self.product(self.given)
        except BaseException as error:  # Ctrl-C too: nothing may pass through C
            self.error = error
            return 1
        return 0

    def raise_again(self) -> None:
        """Raise what the function raised; nothing where it raised nothing."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error


def as_source(
    matrix: NDArray | TriangleView | Callable[[NDArray], NDArray], n: int
) -> NDArray | TriangleView | Products:
    """A matrix as it is, a function of vectors as the compiled loops call it."""
    return Products(matrix, n) if callable(matrix) else matrix


class Source(ctypes.Structure):
    """``source_t`` in source.h: C itself, or its narrow copy where one is given, with the work space of a product.

    C is :func:`is_readable`, or :class:`Products`.
    """

    _fields_ = (
        ("n", SIZE), ("matrix", Matrix), ("copy", ADDRESS), ("scale", ADDRESS), ("diagonal", ADDRESS),
        ("work", ADDRESS), ("threads", ctypes.c_int32), ("call", _CALL),
        ("given", ADDRESS), ("image", ADDRESS),
    )  # fmt: skip

    def __init__(
        self,
        matrix: NDArray | TriangleView | Products,
        copy: NarrowCopy | None,
    ) -> None:
        self.arrays: tuple[Any, ...] = (matrix,)  # alive as long as their addresses are in use
        if isinstance(matrix, Products) and copy is None:
            vector = own_address(matrix.given)
            super().__init__(matrix.n, _NOWHERE, *4 * (None,), 1, matrix.call, vector, vector + 16 * matrix.n)
            return
        n, narrow = matrix.n if isinstance(matrix, Products) else matrix.shape[0], copy is not None
        count = thread_count(n, narrow=narrow)
        space = product_work(n, count, narrow=narrow)
        self.arrays = (matrix, copy, space)
        if copy is None:
            kept: tuple[int | None, ...] = (None, None, None)
        else:
            kept = (address(copy.blocks), address(copy.scale), address(copy.diagonal))
        entries = _NOWHERE if isinstance(matrix, Products) else Matrix(matrix)
        super().__init__(n, entries, *kept, address(space), count)
