"""Questions about structure that an operator may answer, with a general answer where it does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import InputError
from angsync.problem.operators.dense import DenseOperator
from angsync.problem.operators.protocol import HermitianOperator
from angsync.problem.operators.sparse import SparseOperator

_SQUARES = {"D": 400, "F": 40}  # exponents of two whose squares neither over- nor underflow, sums of them included
_FINITE = 1000  # exponents of two up to which powers are numbers of double precision


def component_labels(operator: HermitianOperator) -> NDArray[np.int64] | None:
    """Label of the connected component of each node, numbered by first appearance; None when unknown."""
    ask = getattr(operator, "component_labels", None)
    return None if ask is None else ask()


def restrict(operator: HermitianOperator, index: NDArray[np.int64]) -> HermitianOperator:
    """The operator of the nodes in ``index`` alone."""
    ask = getattr(operator, "restrict", None)
    if ask is None:
        raise InputError(f"a {type(operator).__name__} cannot be restricted to some of its nodes.")
    return ask(index)


def to_dense(operator: HermitianOperator) -> NDArray:
    """The matrix itself; by n products where only products are known."""
    ask = getattr(operator, "to_dense", None)
    if ask is not None:
        return ask()
    dense = operator.apply(np.eye(operator.n, dtype=operator.dtype))
    return (dense + dense.conj().T) / 2


def without_dominant_diagonal(operator: HermitianOperator) -> HermitianOperator:
    """The operator with diagonal 0 where the diagonal would drown the rest in rounding; otherwise as it is.

    A diagonal only adds a constant to f: phases, S(z) and gaps do not depend on it.
    """
    ask = getattr(operator, "without_diagonal", None)
    return operator if ask is None or not has_dominant_diagonal(operator) else ask()


def has_dominant_diagonal(operator: HermitianOperator) -> bool:
    """Whether the diagonal is larger than all the rest of any row; False where the row sums are not known."""
    sums = operator.abs_row_sums()
    if sums is None:
        return False
    size = np.abs(operator.diagonal())
    return bool(size.max(initial=0.0) > (sums - size).max(initial=0.0))


def is_real(operator: HermitianOperator) -> bool:
    """Whether every entry is known to be real, so that a real start would stay real for ever."""
    ask = getattr(operator, "is_real", None)
    if ask is not None:
        return bool(ask())
    rng = np.random.default_rng(0)
    probe = rng.standard_normal(operator.n).astype(operator.dtype)
    return not operator.apply(probe).imag.any()


def row_length(operator: HermitianOperator) -> int:
    """Largest number of terms in one entry of a product, which bounds its rounding error."""
    ask = getattr(operator, "row_length", None)
    return operator.n if ask is None else int(ask())


def innermost(operator: HermitianOperator) -> tuple[Any, int]:
    """The operator inside all wrappers, and the exponent e of ``C = 2**-e`` times it."""
    exponent = 0
    base: Any = operator
    while hasattr(base, "base"):
        exponent += getattr(base, "exponent", 0)
        base = base.base
    return base, exponent


def sparse_base(operator: HermitianOperator) -> tuple[SparseOperator, int] | None:
    """The sparse matrix behind an operator and the exponent e of ``C = 2**-e`` times it; None where there is none."""
    base, exponent = innermost(operator)
    return (base, exponent) if isinstance(base, SparseOperator) else None


def augmented(operator: HermitianOperator) -> tuple[Any, int] | None:
    """A sparse Hermitian matrix K with a positive definite last block whose Schur complement is -C, and n.

    For an operator ``augmented()`` of its own (variables that were eliminated), scaled as the operator is; None where
    there is none.
    """
    base, exponent = innermost(operator)
    ask = getattr(base, "augmented", None)
    if ask is None:
        return None
    matrix, n = ask()
    return (matrix * 2.0**-exponent if exponent else matrix), n


def upper_bound(operator: HermitianOperator) -> float | None:
    """A bound on f that the operator knows by its nature; None where it knows none."""
    base, exponent = innermost(operator)
    ask = getattr(base, "upper_bound", None)
    return None if ask is None else float(ask()) * 2.0**-exponent


def rounding_sums(operator: HermitianOperator) -> NDArray[np.float64] | None:
    """For each row, what a unit of rounding in a product is relative to: the sums of |C_jl|, or the operator's own."""
    sums = operator.abs_row_sums()
    if sums is not None:
        return sums
    base, exponent = innermost(operator)
    ask = getattr(base, "rounding_sums", None)
    return None if ask is None else ask() * 2.0**-exponent


def narrow_product(operator: HermitianOperator) -> Callable[[NDArray], NDArray] | None:
    """The product with a narrow copy of a dense C (16 bits a number), counted; None without one.

    For a vector, or for a block (n, k) of vectors, which counts k.
    """
    base, exponent = innermost(operator)
    copy = getattr(base, "narrow", None)
    if copy is None:
        return None
    scale = 2.0**-exponent

    def product(x: NDArray) -> NDArray:
        count_products(operator, 1 if x.ndim == 1 else int(x.shape[1]))
        y = kernels.narrow_apply(copy, x)
        return y if exponent == 0 else y * scale

    return product


def rotated_product(
    operator: HermitianOperator, z: NDArray, *, narrow: bool
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
    """The product of a real t with Re(Z^H C Z), Z = Diag(z), for a dense C: from a triangle that is made here, counted.

    From the narrow copy where that is wanted and there is one, otherwise from C and in its precision. To make the
    triangle takes one pass and is no product. None where C is not a dense matrix that the kernels read.
    """
    base, exponent = innermost(operator)
    if not isinstance(base, DenseOperator) or abs(exponent) > _SQUARES[base.dtype.char]:
        return None
    triangle = kernels.rotated(base.matrix, base.narrow if narrow else None, z)
    if triangle is None:
        return None
    scale = 2.0**-exponent

    def product(t: NDArray[np.float64]) -> NDArray[np.float64]:
        count_products(operator, 1)
        y: NDArray[np.float64] = triangle.product(t)
        return y if exponent == 0 else y * scale

    return product


def shifted_matrix(operator: HermitianOperator, s: NDArray[np.float64], *, narrow: bool) -> Any:
    """Diag(s) - C as a function of vectors with a compiled run of Lanczos, from the narrow copy (16 bits) if asked for.

    None where C is no dense matrix in double precision, or has no copy. Its products are not counted by the operator.
    """
    base, exponent = innermost(operator)
    if not isinstance(base, DenseOperator) or base.dtype != np.complex128 or abs(exponent) > _FINITE:
        return None
    copy = base.narrow if narrow else None
    if narrow and copy is None:
        return None
    return kernels.ShiftedMatrix(base.matrix, copy, 2.0**-exponent, s)


def narrow_distance(operator: HermitianOperator) -> float:
    """Proved bound on the norm of the difference between C and its narrow copy; infinite without one."""
    base, exponent = innermost(operator)
    copy = getattr(base, "narrow", None)
    return math.inf if copy is None else math.ldexp(copy.distance, -exponent)


def narrow_rounding(operator: HermitianOperator) -> float:
    """Bound on the rounding errors of a product with the narrow copy, for vectors of norm 1; infinite without one."""
    base, _ = innermost(operator)
    copy, sums = getattr(base, "narrow", None), operator.abs_row_sums()
    if copy is None or sums is None:
        return math.inf
    # no eigenvalue of |copy| is above its largest row sum; its entries may exceed those of C by their own error
    return copy.rounding * (float(sums.max(initial=0.0)) + narrow_distance(operator))


@dataclass(frozen=True)
class InnerModel:
    """A model of C for inner iterations: :mod:`angsync.kernels.dense.anderson`."""

    model: Any
    exponent: int
    """The model is that of ``2**exponent`` times the operator."""
    counted: bool
    """Whether its products count themselves."""

    @property
    def error(self) -> float:
        """About the norm of (model - C) z, in the units of the operator."""
        return math.ldexp(self.model.error, -self.exponent)


def inner_model(operator: HermitianOperator) -> InnerModel:
    """That of a dense matrix, compiled and narrow where it can be; otherwise one made of products."""
    base, exponent = innermost(operator)
    ask = getattr(base, "model", None)
    if ask is None or abs(exponent) > _SQUARES[operator.dtype.char]:  # models square products with C as it is given
        return InnerModel(kernels.DenseModel(operator.apply), 0, True)
    return InnerModel(ask(), exponent, False)


def count_products(operator: HermitianOperator, products: int) -> None:
    """Tell whoever counts that so many products were computed by another way than ``apply``."""
    base: Any = operator
    while base is not None:
        if hasattr(base, "products"):
            base.products += products
        base = getattr(base, "base", None)
