"""A dense Hermitian matrix that stays where it is: in the memory of a device, as an array of CuPy, torch or JAX.

Vectors travel, the matrix does not, so that every solver, certificate and escape works on it. With CuPy the products
are the CUDA kernels of :mod:`angsync.kernels`; without it they are the library's own, slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import NotFiniteError
from angsync.kernels.cuda import reference as cuda_reference
from angsync.problem.array_libraries import (
    as_cupy,
    as_type,
    diagonal,
    double_precision,
    dtype_name,
    from_numpy,
    joined,
    namespace,
    strict_triangle,
    submatrix,
    to_numpy,
)
from angsync.problem.operators.base import Operator
from angsync.problem.operators.checks import (
    Hermitian,
    check_largest,
    check_real_diagonal,
    check_square,
    complex_type,
    hermitian_limit,
    not_hermitian,
)
from angsync.problem.operators.dense import labels_by_rows

_BLOCK_ENTRIES = 1 << 24  # rows are looked at in blocks of about this many entries


class DeviceOperator(Operator):
    """C as an array of another library, complex64 or complex128, nothing checked: see :func:`device_operator`.

    ``apply`` takes and gives NumPy vectors. A wider vector asks for wider sums, as everywhere; the CUDA kernel sums in
    double precision in any case, and always in the same order.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.space = namespace(matrix)

    @property
    def n(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(dtype_name(self.matrix))

    @property
    def is_on_device(self) -> bool:
        return True

    @cached_property
    def _kernel(self) -> Any:
        """The product on the device, with its workspace; None without CuPy."""
        matrix = as_cupy(self.matrix)
        if matrix is None:
            return None
        from angsync.kernels.cuda.product import Product

        with matrix.device:
            return Product(matrix)

    def apply(self, z: NDArray) -> NDArray:
        dtype = np.result_type(z, self.dtype)
        if self._kernel is None:
            with double_precision(self.matrix):
                x = from_numpy(np.ascontiguousarray(z, dtype=dtype), self.matrix)
                return to_numpy(cuda_reference.hermitian_product(self.matrix, x, xp=self.space, join=joined))
        columns = z[:, None] if z.ndim == 1 else z
        out = np.empty(columns.shape, dtype=dtype)
        for k in range(columns.shape[1]):
            out[:, k] = self._kernel(from_numpy(columns[:, k].astype(np.complex128), self._kernel.C)).get()
        return out.reshape(z.shape)

    def diagonal(self) -> NDArray[np.float64]:
        return np.real(to_numpy(diagonal(self.matrix))).astype(np.float64)

    def abs_row_sums(self) -> NDArray[np.float64]:
        return self._abs_row_sums

    @cached_property
    def _abs_row_sums(self) -> NDArray[np.float64]:
        with double_precision(self.matrix):
            wide = (as_type(self.matrix[rows, :], "complex128") for rows in self._blocks())
            parts = [to_numpy(self.space.sum(self.space.abs(block), axis=1)) for block in wide]
        return np.concatenate(parts)

    def _blocks(self) -> Iterator[slice]:
        height = max(1, _BLOCK_ENTRIES // self.n)
        return (slice(k, min(self.n, k + height)) for k in range(0, self.n, height))

    def component_labels(self) -> NDArray[np.int64]:
        """Breadth-first search by rows, of which only the pattern travels; a full first row ends it at once."""
        return labels_by_rows(self.n, lambda node: to_numpy(self.matrix[node, :] != 0))

    def restrict(self, index: NDArray[np.int64]) -> DeviceOperator:
        with double_precision(self.matrix):  # indices of 64 bits
            return DeviceOperator(submatrix(self.matrix, from_numpy(np.ascontiguousarray(index), self.matrix)))

    def without_diagonal(self) -> DeviceOperator:
        number = from_numpy(np.arange(self.n, dtype=np.int32), self.matrix)
        apart = number[:, None] != number[None, :]
        return DeviceOperator(self.space.where(apart, self.matrix, self.space.zeros_like(self.matrix)))

    def to_dense(self) -> NDArray:
        return to_numpy(self.matrix)

    def is_real(self) -> bool:
        return not any(bool(self.space.any(self.space.imag(self.matrix[rows, :]) != 0)) for rows in self._blocks())


def device_operator(data: Any, hermitian: Hermitian = "full") -> DeviceOperator:
    """The operator of an array of another library, checked where it lies as :func:`angsync.as_operator` checks others.

    Real arrays are valid. ``"upper"`` or ``"lower"`` reads that triangle alone and fills the other one, in a copy.
    """
    check_square(tuple(data.shape))
    kind = complex_type(np.dtype(dtype_name(data)), "C")
    with double_precision(data):
        matrix = as_type(data, kind.name)
        operator = DeviceOperator(matrix)
        if hermitian != "full":
            matrix = _filled(operator, hermitian)
            operator = DeviceOperator(matrix)
        largest, gap, place = _checked(operator)
        limit = hermitian_limit(kind, largest)
        if gap > limit:
            raise not_hermitian(*place, gap, limit)
        check_largest(largest, operator.n, kind)
        return DeviceOperator((matrix + _adjoint(operator, matrix)) / 2) if gap > 0 else operator


def _adjoint(operator: DeviceOperator, block: Any) -> Any:
    return operator.space.conj(block).T


def _filled(operator: DeviceOperator, hermitian: Hermitian) -> Any:
    space, matrix = operator.space, operator.matrix
    strict = strict_triangle(matrix, upper=hermitian == "upper")
    given = to_numpy(diagonal(matrix))
    if np.isfinite(given).all():
        check_real_diagonal(given, float(np.abs(given).max()))
    number = from_numpy(np.arange(operator.n, dtype=np.int32), matrix)
    real = from_numpy(given.real.astype(operator.dtype), matrix)
    full = strict + _adjoint(operator, strict)
    return space.where(number[:, None] == number[None, :], real[:, None] + space.zeros_like(full), full)


def _checked(operator: DeviceOperator) -> tuple[float, float, tuple[int, int]]:
    """The largest modulus, the largest asymmetry and where it is; raises where an entry is not finite."""
    space, matrix = operator.space, operator.matrix
    largest, gap, place = 0.0, 0.0, (0, 0)
    for rows in operator._blocks():
        block = matrix[rows, :]
        size = float(space.max(space.abs(block)))
        if not math.isfinite(size):
            numbers = to_numpy(block)
            row, column = (int(k) for k in np.argwhere(~np.isfinite(numbers))[0])
            raise NotFiniteError(
                f"C[{row + rows.start},{column}] is {numbers[row, column]}: entries must be finite. "
                "A pair that was not measured is 0 in C."
            )
        largest = max(largest, size)
        # the strip on and above the diagonal against its mirror image: every pair once
        difference = space.abs(block[:, rows.start :] - _adjoint(operator, matrix[rows.start :, rows]))
        worst = float(space.max(difference))
        if worst > gap:
            at = np.unravel_index(int(space.argmax(difference)), tuple(difference.shape))
            gap, place = worst, (int(at[0]) + rows.start, int(at[1]) + rows.start)
    return largest, gap, place
