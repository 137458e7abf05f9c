"""A dense Hermitian matrix that is larger than memory: the upper triangle, read in tiles, once for every product.

With the narrow copy that the first read makes (:mod:`~angsync.problem.operators.first_read`) the iterations and most
proofs run in memory, and a handful of further reads give the products in double precision; without it every iteration
is a read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import InputError
from angsync.kernels.dense.narrow import NarrowCopy
from angsync.problem.operators.base import Operator
from angsync.problem.operators.checks import Hermitian, check_square, complex_type
from angsync.problem.operators.dense import DenseOperator, labels_by_rows
from angsync.problem.operators.first_read import FirstRead, Seen, Triangle, multiply
from angsync.problem.randomness import Probes, fixed_probe
from angsync.problem.stored import StoredArray

LOADED_UP_TO_BYTES = 400_000_000
"""A matrix up to this size is loaded: order 5000 in double precision, up to which proofs by Cholesky are tried."""
_RESTRICTED_UP_TO_BYTES = LOADED_UP_TO_BYTES  # a component up to this size is solved in memory


class StreamedOperator(Operator):
    """A checked matrix behind slices: see :func:`stored_operator`."""

    def __init__(self, triangle: Triangle, dtype: np.dtype[Any], seen: Seen, copy: NarrowCopy | None) -> None:
        self._triangle, self._dtype, self._seen, self._copy = triangle, dtype, seen, copy

    @property
    def n(self) -> int:
        return self._triangle.n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def is_known_by_products(self) -> bool:
        return True

    @property
    def is_streamed(self) -> bool:
        return True

    def apply(self, z: NDArray) -> NDArray:
        """One read of the triangle, for a vector or a block of them; sums are in double precision."""
        x = z.astype(np.complex128)
        y = self._seen.diagonal.reshape(-1, *(1 for _ in x.shape[1:])) * x
        for rows, columns in self._triangle.tiles():
            multiply(rows, columns, self._triangle.above(rows, columns), x, y)
        return y.astype(np.result_type(z, self._dtype), copy=False)

    def diagonal(self) -> NDArray[np.float64]:
        return self._seen.diagonal

    def abs_row_sums(self) -> NDArray[np.float64]:
        return self._seen.sums

    def asymmetry(self) -> float:
        """The sum of ``|C_jl - conj(C_lj)|`` over j < l; C is the triangle that counts."""
        return self._seen.asymmetry

    def rounding_length(self) -> int:
        """A term is added within its tile, in any order, and then with the tiles of its row and of its column."""
        sides = self._triangle.sides()
        return min(self.n, max(sides) + sum(-(-self.n // side) for side in sides) + 1)

    def is_real(self) -> bool:
        return self._seen.is_real

    def probes(self) -> Probes:
        """One vector alone: everything else was looked at entry by entry."""
        return Probes(fixed_probe(self.n)[None], [self._seen.image])

    @property
    def narrow(self) -> NarrowCopy | None:
        return self._copy

    def dense_model(self) -> Any:
        return None if self._copy is None else kernels.dense_model(self.apply, self._copy, self.n)

    def shifted_entries(self, s: NDArray[np.float64], scale: float, *, narrow: bool) -> Any:
        if narrow and self._copy is None:
            return None
        return kernels.ShiftedMatrix(self.apply, self._copy if narrow else None, scale, s)

    @cached_property
    def _labels(self) -> NDArray[np.int64]:
        if self._seen.first_row == self.n - 1:  # a full first row, the usual case
            return np.zeros(self.n, dtype=np.int64)
        return labels_by_rows(self.n, lambda node: self._triangle.row(node) != 0)

    def component_labels(self) -> NDArray[np.int64]:
        return self._labels

    def restrict(self, index: NDArray[np.int64]) -> Operator:
        """The part of some nodes, loaded: the whole is in several pieces, and each is smaller."""
        if index.size**2 * 16 > _RESTRICTED_UP_TO_BYTES:
            raise InputError(
                f"C is in several pieces, and one of {index.size} nodes is larger than memory should hold: give the "
                "pieces one by one."
            )
        place = np.full(self.n, -1, dtype=np.int64)
        place[index] = np.arange(index.size)
        out = np.zeros((index.size, index.size), dtype=self._dtype)
        for rows, columns in self._triangle.tiles():
            j, k = np.flatnonzero(place[rows] >= 0), np.flatnonzero(place[columns] >= 0)
            if j.size and k.size:
                entries = self._triangle.above(rows, columns)[np.ix_(j, k)]
                out[np.ix_(place[rows][j], place[columns][k])] += entries
        out += out.conj().T
        out[np.arange(index.size), np.arange(index.size)] = self._seen.diagonal[index]
        return DenseOperator(out)

    def without_diagonal(self) -> StreamedOperator:
        copy = None if self._copy is None else replace(self._copy, diagonal=np.zeros(self.n))
        return StreamedOperator(self._triangle, self._dtype, self._seen.without_diagonal(), copy)


def stored_operator(stored: StoredArray, hermitian: Hermitian) -> StreamedOperator:
    """A matrix that stays where it is, checked by one read of it.

    With ``hermitian="full"`` both triangles are read, once, and compared; from then on the upper one is read alone.
    """
    check_square(stored.shape)
    dtype = complex_type(stored.dtype, "C")
    triangle = Triangle(stored, lower=hermitian == "lower")
    first = FirstRead(triangle, dtype, compared=hermitian == "full")
    first.look_at_all()
    copy = None if first.narrow is None else first.narrow.copy(first.seen.diagonal)
    return StreamedOperator(triangle, dtype, first.seen, copy)
