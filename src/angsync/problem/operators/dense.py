"""A dense Hermitian matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.dense.narrow import Inspection
from angsync.kernels.dense.view import TriangleView
from angsync.problem.operators.base import Operator

_BLOCK_ENTRIES = 1 << 19  # rows are widened in blocks of about this many entries


def labels_by_rows(n: int, neighbors: Callable[[int], NDArray[np.bool_]]) -> NDArray[np.int64]:
    """Labels of the connected components, from the pattern of one row after the other, as few of them as will do."""
    if neighbors(0)[1:].all():  # the usual case
        return np.zeros(n, dtype=np.int64)
    labels = np.full(n, -1, dtype=np.int64)
    component = 0
    for seed in range(n):
        if labels[seed] >= 0:
            continue
        labels[seed] = component
        frontier = [seed]
        while frontier and (labels < 0).any():
            found = np.flatnonzero(neighbors(frontier.pop()) & (labels < 0))
            labels[found] = component
            frontier.extend(found.tolist())
        component += 1
    return labels


class DenseOperator(Operator):
    """C as a full matrix in memory. Nothing is checked here: see :func:`angsync.as_operator`.

    ``matrix`` is an array, complex64 or complex128 and Hermitian to the bit, or one triangle of an array of any type.
    ``dtype`` is the precision of the data, where a small matrix was packed into a wider type; ``real``: it is known to
    be real. Compiled products are summed in double precision, whatever that is.
    """

    def __init__(
        self,
        matrix: NDArray | TriangleView,
        inspection: Inspection | None = None,
        *,
        dtype: np.dtype[Any] | None = None,
        asymmetry: float | None = None,
        real: bool = False,
    ) -> None:
        self.matrix = matrix
        self._real = real
        self._inspection = inspection
        self._dtype: np.dtype[Any] = matrix.dtype if dtype is None else dtype
        compared = 0.0 if inspection is None else inspection.gap
        self._asymmetry = compared if asymmetry is None else asymmetry
        self._diagonal: NDArray[np.float64] | None = None  # asked for several times, and far apart in memory
        # asked for twice on the way of a small problem
        self._dominated = None if inspection is None else inspection.dominated

    @property
    def n(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def is_dense_matrix(self) -> bool:
        return True

    def has_dominant_diagonal(self) -> bool:
        if self._dominated is None:
            self._dominated = super().has_dominant_diagonal()
        return self._dominated

    def asymmetry(self) -> float:
        return self._asymmetry

    def entries(self) -> NDArray | TriangleView:
        return self.matrix

    def apply(self, z: NDArray) -> NDArray:
        product = kernels.dense_apply(self.matrix, z)
        return product if product.dtype == z.dtype else product.astype(np.result_type(self._dtype, z), copy=False)

    def diagonal(self) -> NDArray[np.float64]:
        if self._diagonal is None:
            self._diagonal = self.matrix.diagonal().real.astype(np.float64)
            self._diagonal.flags.writeable = False
        return self._diagonal

    def abs_row_sums(self) -> NDArray[np.float64]:
        return self._abs_row_sums

    @cached_property
    def _abs_row_sums(self) -> NDArray[np.float64]:
        if self._inspection is not None:
            return self._inspection.row_sums
        sums = np.empty(self.n)
        for rows in self._blocks():
            # moduli in double precision: they bound f, and in single precision they would be too small by 6e-8
            sums[rows] = np.abs(self.matrix[rows].astype(np.complex128, copy=False)).sum(axis=1)
        return sums

    @cached_property
    def narrow(self) -> kernels.NarrowCopy | None:
        """A copy of one triangle in 16 bits a number, an eighth of C; None for small C and without compiled kernels."""
        if self.n < kernels.NARROW_FROM:
            return None
        found = kernels.dense_inspect(self.matrix) if self._inspection is None else self._inspection
        return None if found is None else found.narrow

    def dense_model(self) -> Any:
        """What the inner iterations of the accelerated power method work on, with a workspace of its own."""
        return kernels.dense_model(self.matrix, self.narrow, self.n)

    def rotated_triangle(self, z: NDArray, *, narrow: bool) -> Any:
        return kernels.rotated(self.matrix, self.narrow if narrow else None, z)

    def shifted_entries(self, s: NDArray[np.float64], scale: float, *, narrow: bool) -> Any:
        copy = self.narrow if narrow else None
        return None if narrow and copy is None else kernels.ShiftedMatrix(self.matrix, copy, scale, s)

    def _blocks(self) -> list[slice]:
        height = max(1, _BLOCK_ENTRIES // max(1, self.n))
        return [slice(k, min(self.n, k + height)) for k in range(0, self.n, height)]

    def component_labels(self) -> NDArray[np.int64]:
        """Breadth-first search by rows: a full first row, the usual case, ends it at once."""
        return labels_by_rows(self.n, lambda node: self.matrix[node] != 0)

    def restrict(self, index: NDArray[np.int64]) -> DenseOperator:
        matrix = self.matrix
        part = matrix.part(index) if isinstance(matrix, TriangleView) else matrix[np.ix_(index, index)]
        return DenseOperator(part, dtype=self._dtype, asymmetry=self._asymmetry)

    def without_diagonal(self) -> DenseOperator:
        """The same triangle, looked at again: the row sums are others, and no copy is made of a large matrix."""
        known, found = self._inspection, None
        if known is not None and known.sums_beside is not None and not isinstance(self.matrix, TriangleView):
            found = kernels.hollow_inspect(self.matrix, known)
        matrix = self.matrix if isinstance(self.matrix, TriangleView) else TriangleView(self.matrix)
        bare = matrix.without_diagonal()
        if found is None:
            found = kernels.dense_inspect(bare)
        entries: NDArray | TriangleView = bare
        if found is not None and found.packed is not None:
            entries = found.packed
        elif self.n < kernels.NARROW_FROM:
            entries = np.asarray(bare)
        return DenseOperator(entries, found, dtype=self._dtype, asymmetry=self._asymmetry, real=self._real)

    def to_dense(self) -> NDArray:
        return np.asarray(self.matrix)

    def is_real(self) -> bool:
        if self._real or (isinstance(self.matrix, TriangleView) and self.matrix.given.dtype.kind != "c"):
            return True
        if isinstance(self.matrix, np.ndarray) and self.matrix.item(0, -1).imag != 0:
            return False
        # one entry, and one row, first: they are enough for nearly every matrix that is not real
        return not self.matrix[0].imag.any() and all(not self.matrix[rows].imag.any() for rows in self._blocks())
