"""A sparse Hermitian matrix in CSR form."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray


class SparseOperator:
    """C as a scipy CSR array, complex64 or complex128, without stored zeros off the diagonal."""

    def __init__(self, matrix: scipy.sparse.csr_array) -> None:
        self.matrix = matrix

    @property
    def n(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def apply(self, z: NDArray) -> NDArray:
        return self.matrix @ z

    def diagonal(self) -> NDArray[np.float64]:
        return np.real(self.matrix.diagonal()).astype(np.float64)

    def abs_row_sums(self) -> NDArray[np.float64]:
        return self._abs_row_sums

    @cached_property
    def _abs_row_sums(self) -> NDArray[np.float64]:
        return np.asarray(abs(self.matrix).astype(np.float64).sum(axis=1)).ravel()

    def component_labels(self) -> NDArray[np.int64]:
        # the pattern alone: csgraph knows real numbers only
        pattern = scipy.sparse.csr_array(
            (np.ones(self.matrix.nnz, dtype=np.int8), self.matrix.indices, self.matrix.indptr),
            shape=self.matrix.shape,
        )
        return scipy.sparse.csgraph.connected_components(pattern, directed=False)[1].astype(np.int64)

    def restrict(self, index: NDArray[np.int64]) -> SparseOperator:
        return SparseOperator(self.matrix[index][:, index].tocsr())

    def without_diagonal(self) -> SparseOperator:
        coordinates = self.matrix.tocoo()
        keep = coordinates.coords[0] != coordinates.coords[1]
        entries = (coordinates.data[keep], (coordinates.coords[0][keep], coordinates.coords[1][keep]))
        return SparseOperator(scipy.sparse.csr_array(entries, shape=self.matrix.shape))

    def to_dense(self) -> NDArray:
        return self.matrix.toarray()

    def is_real(self) -> bool:
        return not self.matrix.data.imag.any()

    def row_length(self) -> int:
        return int(np.diff(self.matrix.indptr).max(initial=0))
