"""What solvers may ask of C, and nothing more: the protocol and its implementations."""

from angsync.operators.convert import as_operator
from angsync.operators.dense import DenseOperator
from angsync.operators.linear import LinearOperatorAdapter
from angsync.operators.protocol import HermitianOperator
from angsync.operators.sparse import SparseOperator
from angsync.operators.structure import (
    component_labels,
    is_real,
    restrict,
    row_length,
    to_dense,
    without_dominant_diagonal,
)
from angsync.operators.wrappers import CountingOperator, ScaledOperator, normalising_exponent

__all__ = [
    "CountingOperator",
    "DenseOperator",
    "HermitianOperator",
    "LinearOperatorAdapter",
    "ScaledOperator",
    "SparseOperator",
    "as_operator",
    "component_labels",
    "is_real",
    "normalising_exponent",
    "restrict",
    "row_length",
    "to_dense",
    "without_dominant_diagonal",
]
