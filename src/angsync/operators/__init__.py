"""What solvers may ask of C, and nothing more: the protocol and its implementations."""

from angsync.operators.convert import as_operator
from angsync.operators.dense import DenseOperator
from angsync.operators.linear import LinearOperatorAdapter
from angsync.operators.protocol import HermitianOperator
from angsync.operators.schur import SchurOperator
from angsync.operators.sparse import SparseOperator
from angsync.operators.structure import (
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
from angsync.operators.wrappers import CountingOperator, ScaledOperator, normalising_exponent

__all__ = [
    "CountingOperator",
    "DenseOperator",
    "HermitianOperator",
    "LinearOperatorAdapter",
    "ScaledOperator",
    "SchurOperator",
    "SparseOperator",
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
