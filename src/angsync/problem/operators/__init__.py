"""What solvers may ask of C, and nothing more: the protocol and its implementations."""

from angsync.problem.operators.adapters import LinearOperatorAdapter, ProtocolAdapter, adapted
from angsync.problem.operators.base import HermitianOperator, InnerModel, Operator, Unwrapped
from angsync.problem.operators.convert import as_operator
from angsync.problem.operators.dense import DenseOperator
from angsync.problem.operators.schur import SchurOperator
from angsync.problem.operators.sparse import SparseOperator
from angsync.problem.operators.structure import (
    augmented,
    component_labels,
    count_products,
    has_dominant_diagonal,
    inner_model,
    innermost,
    is_real,
    narrow_distance,
    narrow_product,
    narrow_rounding,
    restrict,
    rotated_product,
    rounding_sums,
    row_length,
    shifted_matrix,
    sparse_base,
    to_dense,
    upper_bound,
    without_dominant_diagonal,
)
from angsync.problem.operators.wrappers import CountingOperator, ScaledOperator, Wrapper, normalising_exponent

__all__ = [
    "CountingOperator",
    "DenseOperator",
    "HermitianOperator",
    "InnerModel",
    "LinearOperatorAdapter",
    "Operator",
    "ProtocolAdapter",
    "ScaledOperator",
    "SchurOperator",
    "SparseOperator",
    "Unwrapped",
    "Wrapper",
    "adapted",
    "as_operator",
    "augmented",
    "component_labels",
    "count_products",
    "has_dominant_diagonal",
    "inner_model",
    "innermost",
    "is_real",
    "narrow_distance",
    "narrow_product",
    "narrow_rounding",
    "normalising_exponent",
    "restrict",
    "rotated_product",
    "rounding_sums",
    "row_length",
    "shifted_matrix",
    "sparse_base",
    "to_dense",
    "upper_bound",
    "without_dominant_diagonal",
]
