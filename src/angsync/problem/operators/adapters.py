"""Other people's operators: a SciPy ``LinearOperator``, and a user's own class that follows the protocol."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from angsync.errors import InputError, NotFiniteError
from angsync.problem.operators.base import HermitianOperator, Operator

# Numbers whose inner product does not wake the threads of BLAS; it is finite where they are, and quicker to see.
_IN_ONE_THREAD = 10_000


def adapted(operator: HermitianOperator) -> Operator:
    """The operator itself where it is one of ours; one that only follows the protocol, with an adapter around it."""
    return operator if isinstance(operator, Operator) else ProtocolAdapter(operator)


def _finite(product: NDArray, z: NDArray, method: str) -> NDArray:
    """The product of somebody else's operator; an error where it is not finite and z is not to blame."""
    if product.size <= _IN_ONE_THREAD and math.isfinite(np.vdot(product, product).real):
        return product
    if not np.isfinite(product).all() and np.isfinite(z).all():
        raise NotFiniteError(f"the operator gives NaN or infinity for a finite vector; check its {method}.")
    return product


def _alone(operator: Operator) -> NDArray[np.int64] | None:
    """Every node a component of its own where C is 0, which row sums show, or the products of two random vectors."""
    sums = operator.abs_row_sums()
    shown = operator.probes().images if sums is None else [sums]
    return None if any(np.any(one) for one in shown) else np.arange(operator.n)


class ProtocolAdapter(Operator):
    """A user's own operator: its five members, and the optional methods that it has.

    The only place where an operator is asked whether it has a method: the object is foreign, and the optional methods
    are documented as such. Everything else gets the general answer.
    """

    def __init__(self, operator: HermitianOperator) -> None:
        self.operator: Any = operator

    def _has(self, method: str) -> bool:
        return hasattr(self.operator, method)

    @property
    def n(self) -> int:
        return self.operator.n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype

    def apply(self, z: NDArray) -> NDArray:
        # copies: it may write into the vector, keep it, or write into the same product again
        return _finite(np.array(self.operator.apply(z.copy())), z, "apply")

    def diagonal(self) -> NDArray[np.float64]:
        return self.operator.diagonal()

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        return self.operator.abs_row_sums()

    @property
    def is_known_by_products(self) -> bool:
        return True

    def component_labels(self) -> NDArray[np.int64] | None:
        return self.operator.component_labels() if self._has("component_labels") else _alone(self)

    def restrict(self, index: NDArray[np.int64]) -> Operator:
        if not self._has("restrict"):
            raise InputError(f"a {type(self.operator).__name__} cannot be restricted to some of its nodes.")
        return adapted(self.operator.restrict(index))

    def to_dense(self) -> NDArray:
        return self.operator.to_dense() if self._has("to_dense") else super().to_dense()

    def is_real(self) -> bool:
        return bool(self.operator.is_real()) if self._has("is_real") else super().is_real()

    def row_length(self) -> int:
        return int(self.operator.row_length()) if self._has("row_length") else super().row_length()


class LinearOperatorAdapter(Operator):
    """C known only by its products: no row sums, a diagonal by n products when asked."""

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
        # Copies: an operator may write into the vector, keep it, or write each product into the same array.
        product = np.array(self.operator.matvec(z.copy()) if z.ndim == 1 else self.operator.matmat(z.copy()))
        if z.ndim == 2 and z.shape[1] > 1 and np.array_equal(product[:, 0], product[:, -1]):
            # SciPy's own matmat puts the products of all columns together when the last one is known.
            product = np.stack([np.array(self.operator.matvec(column)) for column in z.T], axis=1)
        if not product.dtype == z.dtype == self._dtype:
            product = product.astype(np.result_type(z, self._dtype), copy=False)
        return _finite(product, z, "matvec")

    @property
    def is_known_by_products(self) -> bool:
        return True

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

    def component_labels(self) -> NDArray[np.int64] | None:
        return _alone(self)
