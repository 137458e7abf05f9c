"""What solvers may ask of C, and nothing more: the protocol, the base class, and every kind of matrix."""

from angsync.problem.operators.adapters import LinearOperatorAdapter, ProtocolAdapter, adapted
from angsync.problem.operators.base import HermitianOperator, InnerModel, Operator, Unwrapped
from angsync.problem.operators.convert import as_operator
from angsync.problem.operators.dense import DenseOperator
from angsync.problem.operators.schur import SchurOperator
from angsync.problem.operators.sparse import SparseOperator
from angsync.problem.operators.wrappers import CountingOperator, ScaledOperator, Wrapper, normalizing_exponent

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
    "normalizing_exponent",
]
