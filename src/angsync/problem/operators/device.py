"""A dense Hermitian matrix that stays where it is: in the memory of a device, as an array of CuPy, torch or JAX.

Vectors travel, the matrix does not, so that every solver, certificate and escape works on it. With CuPy the products
are the CUDA kernels of :mod:`angsync.kernels`; without it they are the library's own, slower.
"""

from __future__ import annotations

import functools
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.cuda import reference as cuda_reference
from angsync.kernels.cuda.examine_reference import Examined, examine_matrix, row_blocks
from angsync.kernels.rounding import pair_floor, pair_share
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
    check_real,
    check_square,
    complex_type,
    not_finite,
    not_hermitian,
)
from angsync.problem.operators.dense import labels_by_rows


class DeviceOperator(Operator):
    """C as an array of another library, complex64 or complex128, nothing checked: see :func:`device_operator`.

    ``apply`` takes and gives NumPy vectors. A wider vector asks for wider sums, as everywhere; the CUDA kernel sums in
    double precision in any case, and always in the same order. What was found out about C is kept, so C may not change.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.space = namespace(matrix)
        self._last: tuple[NDArray[np.complex128], NDArray[np.complex128]] | None = None

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
        if z.ndim == 1:
            return self._product(z).astype(dtype)
        return np.stack([self._image(column) for column in z.T], axis=1).astype(dtype, copy=False)

    def _product(self, z: NDArray) -> NDArray:
        """C z in double precision. The last product is kept: a point is certified, and then shown with its objective.

        It serves for a vector in single precision that is the same but for rounding, as the product itself is then.
        """
        if self._last is None or not np.array_equal(self._last[0].astype(z.dtype, copy=False), z):
            self.remember(z.astype(np.complex128), self._image(z))
        assert self._last is not None
        return self._last[1]

    def remember(self, z: NDArray[np.complex128], product: NDArray[np.complex128]) -> None:
        """Keep the product C z, in double precision, for whoever asks for it next."""
        self._last = z, product

    def _image(self, x: NDArray) -> NDArray:
        return self._kernel(from_numpy(x.astype(np.complex128), self._kernel.C)).get()

    def shifted_entries(self, s: NDArray[np.float64], scale: float, *, narrow: bool) -> Any:
        """With the kernels: a run of Lanczos whose vectors stay on the device. There is no narrow copy."""
        if narrow or self._kernel is None:
            return None
        from angsync.kernels.cuda.lanczos import ShiftedMatrix

        return ShiftedMatrix(self._kernel, s, scale)

    def rounding_length(self) -> int:
        """That of the kernel, which adds pieces, and then their sums; a library's own product may add in any order."""
        return self.n if self._kernel is None else min(self.n, int(self._kernel.rounding_length))

    def diagonal(self) -> NDArray[np.float64]:
        return np.real(to_numpy(diagonal(self.matrix))).astype(np.float64)

    @cached_property
    def examined(self) -> Examined:
        """What one look at all entries finds: by a kernel with CuPy, else block by block."""
        limit = pair_share(self.dtype)
        matrix = as_cupy(self.matrix)
        if matrix is not None:
            from angsync.kernels.cuda.examine import examine_matrix as examine_by_kernel

            return examine_by_kernel(matrix, limit)
        with double_precision(self.matrix):
            place = functools.partial(from_numpy, like=self.matrix)
            return examine_matrix(self.matrix, limit, xp=self.space, place=place, host=to_numpy, cast=as_type)

    def abs_row_sums(self) -> NDArray[np.float64]:
        return self.examined.row_sums

    def asymmetry(self) -> float:
        return self.examined.asymmetry

    def component_labels(self) -> NDArray[np.int64]:
        """One component where no entry is 0; else a breadth-first search by rows, of which only the pattern travels."""
        if self.examined.zeros == 0:
            return np.zeros(self.n, dtype=np.int64)
        return labels_by_rows(self.n, lambda node: to_numpy(self.matrix[node, :] != 0))

    def restrict(self, index: NDArray[np.int64]) -> DeviceOperator:
        with double_precision(self.matrix):  # indices of 64 bits
            return DeviceOperator(submatrix(self.matrix, from_numpy(np.ascontiguousarray(index), self.matrix)))

    def without_diagonal(self) -> DeviceOperator:
        number = from_numpy(np.arange(self.n, dtype=np.int32), self.matrix)
        apart = number[:, None] != number[None, :]
        return DeviceOperator(self.space.where(apart, self.matrix, self.space.zeros_like(self.matrix)))

    def to_dense(self) -> NDArray:
        entries = to_numpy(self.matrix)
        if self.examined.asymmetry > 0:
            entries = np.triu(entries, 1)
            entries += entries.conj().T
            np.fill_diagonal(entries, self.diagonal())
        return entries

    def is_real(self) -> bool:
        return self.examined.is_real


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
        _check(operator)
        # the kernels read the upper triangle alone; a library's own product reads both, which have to be one problem
        if operator.examined.asymmetry > 0 and as_cupy(matrix) is None:
            return DeviceOperator(_filled(operator, "upper"))
        return operator


def _adjoint(operator: DeviceOperator, block: Any) -> Any:
    return operator.space.conj(block).T


def _filled(operator: DeviceOperator, hermitian: Hermitian) -> Any:
    space, matrix = operator.space, operator.matrix
    strict = strict_triangle(matrix, upper=hermitian == "upper")
    given = to_numpy(diagonal(matrix))
    if np.isfinite(given).all():
        check_real(given, lambda nodes: np.full(nodes.size, np.abs(given).max()), operator.dtype)
    number = from_numpy(np.arange(operator.n, dtype=np.int32), matrix)
    real = from_numpy(given.real.astype(operator.dtype), matrix)
    full = strict + _adjoint(operator, strict)
    return space.where(number[:, None] == number[None, :], real[:, None] + space.zeros_like(full), full)


def _check(operator: DeviceOperator) -> None:
    """Refuse entries that are not finite, too large, or not conjugate to their mirror images."""
    found, n = operator.examined, operator.n
    if found.not_finite >= 0:
        row, column = divmod(found.not_finite, n)
        value = to_numpy(operator.matrix[row, :])[column]
        raise not_finite(row, column, value)
    if found.suspects:
        _check_pairs(operator)
    check_largest(found.largest, n, operator.dtype)


def _check_pairs(operator: DeviceOperator) -> None:
    """Pairs that are far apart for their own size: rounding where their rows have entries that much larger."""
    space, matrix = operator.space, operator.matrix
    largest = joined([_row_maxima(operator, rows) for rows in row_blocks(operator.n)])
    share, floor = pair_share(operator.dtype), pair_floor(operator.dtype)
    for rows in row_blocks(operator.n):
        block, mirror = matrix[rows, rows.start :], _adjoint(operator, matrix[rows.start :, rows])
        smaller = _where_less(space, largest[rows][:, None], largest[rows.start :][None, :])
        larger = -_where_less(space, -space.abs(block), -space.abs(mirror))
        limit = -_where_less(space, -share * larger, -floor * smaller)
        excess = space.abs(block - mirror) - limit
        if bool(space.any(excess > 0)):
            at = np.unravel_index(int(space.argmax(excess)), tuple(excess.shape))
            row, column = (int(k) for k in at)
            gap = float(space.abs(block - mirror)[row, column])
            raise not_hermitian(row + rows.start, column + rows.start, gap, float(limit[row, column]))


def _where_less(space: Any, a: Any, b: Any) -> Any:
    return space.where(a < b, a, b)


def _row_maxima(operator: DeviceOperator, rows: slice) -> Any:
    """The largest modulus of each of these rows, of either triangle."""
    space, matrix = operator.space, operator.matrix
    found = [space.max(space.abs(block), axis=1) for block in (matrix[rows, :], _adjoint(operator, matrix[:, rows]))]
    across, down = (part[0] if isinstance(part, tuple) else part for part in found)  # torch gives the places too
    return -_where_less(space, -across, -down)
