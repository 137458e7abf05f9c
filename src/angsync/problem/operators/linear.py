"""A user's own SciPy ``LinearOperator``: products only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator


class LinearOperatorAdapter:
    """C known only by its products: no row sums, no components, a diagonal by n products when asked."""

    def __init__(self, operator: LinearOperator, dtype: np.dtype[Any]) -> None:
        self.operator = operator
        self._dtype = dtype
        self._diagonal: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        return int(self.operator.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def apply(self, z: NDArray) -> NDArray:
        product = self.operator.matvec(z) if z.ndim == 1 else self.operator.matmat(z)
        return np.asarray(product).astype(np.result_type(z, self._dtype), copy=False)

    def diagonal(self) -> NDArray[np.float64]:
        if self._diagonal is None:
            width = 64
            diagonal = np.empty(self.n)
            for k in range(0, self.n, width):
                block = np.eye(self.n, min(width, self.n - k), -k, dtype=self._dtype)
                columns = np.arange(block.shape[1])
                diagonal[k + columns] = np.real(self.apply(block)[k + columns, columns])
            self._diagonal = diagonal
        return self._diagonal

    def abs_row_sums(self) -> None:
        return None
