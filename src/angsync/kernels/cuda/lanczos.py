"""The CUDA kernels of ``lanczos.cu``, compiled when first used and launched from here: Lanczos runs on a device.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda.lanczos_reference` says what is computed.
"""

from __future__ import annotations

import functools
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from angsync.kernels.cuda import lanczos_reference
from angsync.kernels.cuda.lanczos_reference import Rounds
from angsync.kernels.cuda.product import Product
from angsync.kernels.cuda.source import source

_THREADS = 256  # of lanczos.cu
_PARTS = 8  # of an inner product, one block each: a few rows have to keep all multiprocessors busy


@functools.cache
def _kernels(device: int) -> tuple[Any, Any, Any]:
    module = cupy.RawModule(code=source("lanczos.cu"), options=("--std=c++17",))
    shift, along_rows, take_away = (module.get_function(name) for name in ("shift", "along_rows", "take_away"))
    return shift, along_rows, take_away


class ShiftedMatrix(lanczos_reference.ShiftedMatrix):
    """S = Diag(s) - scale C as functions of vectors on the device of C."""

    def __init__(self, product: Product, s: NDArray[np.float64], scale: float) -> None:
        device = product.C.device
        self.device, self.kernels = device, _kernels(device.id)
        self.blocks = -(-product.n // _THREADS)
        with self.device:
            super().__init__(product, s, scale)

    def placed(self, numbers: NDArray) -> Any:
        return cupy.asarray(numbers)

    def empty(self, rows: int, n: int) -> Any:
        return cupy.empty((rows, n), dtype=cupy.complex128)

    def image(self, v: Any) -> Any:
        self.products += 1
        w = self.product(v)
        self.kernels[0]((self.blocks,), (_THREADS,), (self.s, np.float64(self.scale), v, np.int32(w.size), w))
        return w

    def two_rounds(self, rows: Any, w: Any) -> Rounds:
        """The kernels of both rounds, and one copy to the host, for which it waits; ``w`` is overwritten."""
        _, along_rows, take_away = self.kernels
        count, n, blocks = rows.shape[0], np.int32(w.size), self.blocks
        partial = cupy.empty((count, _PARTS), dtype=cupy.complex128)
        # of each round: the inner products as pairs of numbers (16 bytes, and so aligned), then a square a block
        told = cupy.empty((2, 2 * count + blocks + blocks % 2))
        for along, squares in ((told[k, : 2 * count], told[k, 2 * count :]) for k in range(2)):
            along_rows((_PARTS, count), (_THREADS,), (rows, w, n, partial))
            arguments = (rows, np.int32(count), partial, np.int32(_PARTS), n, w, squares, along)
            take_away((blocks,), (_THREADS,), arguments, shared_mem=16 * count)
        numbers = told.get()
        first = numbers[0, : 2 * count]
        once, twice = (float(part) for part in numbers[:, 2 * count : 2 * count + blocks].sum(axis=1))
        coefficients = np.ascontiguousarray(numbers[:, : 2 * count]).view(np.complex128)
        return Rounds(w, float(first[-2]), (float(np.sum(first**2)) + once, once, twice), coefficients)

    def combined(self, y: NDArray[np.float64], rows: Any) -> NDArray:
        # not matmul: there is no need of a library of linear algebra for one sum
        return cupy.sum(cupy.asarray(y)[:, None] * rows, axis=0).get()
