"""The questions of :class:`angsync.problem.operators.Operator` as functions, for callers that are not converted yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.operators.adapters import adapted
from angsync.problem.operators.base import HermitianOperator, InnerModel, Operator, Unwrapped
from angsync.problem.operators.sparse import SparseOperator

__all__ = ["InnerModel"]


def component_labels(operator: HermitianOperator) -> NDArray[np.int64] | None:
    return adapted(operator).component_labels()


def restrict(operator: HermitianOperator, index: NDArray[np.int64]) -> Operator:
    return adapted(operator).restrict(index)


def to_dense(operator: HermitianOperator) -> NDArray:
    return adapted(operator).to_dense()


def without_dominant_diagonal(operator: HermitianOperator) -> Operator:
    return adapted(operator).without_dominant_diagonal()


def has_dominant_diagonal(operator: HermitianOperator) -> bool:
    return adapted(operator).has_dominant_diagonal()


def is_real(operator: HermitianOperator) -> bool:
    return adapted(operator).is_real()


def row_length(operator: HermitianOperator) -> int:
    return adapted(operator).row_length()


def innermost(operator: HermitianOperator) -> Unwrapped[Any]:
    return adapted(operator).unwrapped()


def sparse_base(operator: HermitianOperator) -> Unwrapped[SparseOperator] | None:
    return adapted(operator).sparse()


def augmented(operator: HermitianOperator) -> tuple[Any, int] | None:
    return adapted(operator).augmented()


def upper_bound(operator: HermitianOperator) -> float | None:
    return adapted(operator).upper_bound()


def rounding_sums(operator: HermitianOperator) -> NDArray[np.float64] | None:
    return adapted(operator).rounding_sums()


def narrow_product(operator: HermitianOperator) -> Callable[[NDArray], NDArray] | None:
    return adapted(operator).narrow_product()


def rotated_product(
    operator: HermitianOperator, z: NDArray, *, narrow: bool
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
    return adapted(operator).rotated_product(z, narrow=narrow)


def shifted_matrix(operator: HermitianOperator, s: NDArray[np.float64], *, narrow: bool) -> Any:
    return adapted(operator).shifted_matrix(s, narrow=narrow)


def narrow_distance(operator: HermitianOperator) -> float:
    return adapted(operator).narrow_distance()


def narrow_rounding(operator: HermitianOperator) -> float:
    return adapted(operator).narrow_rounding()


def inner_model(operator: HermitianOperator) -> InnerModel:
    return adapted(operator).inner_model()


def count_products(operator: HermitianOperator, products: int) -> None:
    adapted(operator).count(products)
