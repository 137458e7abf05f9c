"""The edges of a sparse Hermitian matrix, every one once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray


@dataclass(frozen=True)
class EdgeList:
    """Every edge once, ``i < j``: the strict upper triangle of C."""

    n: int
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    value: NDArray

    @classmethod
    def of(cls, matrix: scipy.sparse.csr_array) -> EdgeList:
        """From a Hermitian CSR matrix; the diagonal is left out."""
        n = int(matrix.shape[0])
        rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(matrix.indptr))
        upper = matrix.indices > rows
        return cls(n, rows[upper], matrix.indices[upper].astype(np.int32, copy=False), matrix.data[upper])

    def to_csr(self) -> scipy.sparse.csr_array:
        """The Hermitian matrix, both triangles."""
        rows, columns = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        data = np.concatenate([self.value, np.conj(self.value)])
        return scipy.sparse.csr_array((data, (rows, columns)), shape=(self.n, self.n))
