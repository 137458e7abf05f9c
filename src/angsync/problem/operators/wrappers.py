"""Operators around operators: a power-of-two scale, and a count of products."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels import time_limit
from angsync.problem.operators.adapters import adapted
from angsync.problem.operators.base import HermitianOperator, InnerModel, Operator, Unwrapped
from angsync.problem.randomness import Probes

if TYPE_CHECKING:
    from angsync.problem.operators.sparse import SparseOperator

_ORDINARY = {"D": 400, "F": 40}  # exponents of two so far from over- and underflow that one factor will do


def normalizing_exponent(operator: HermitianOperator) -> int:
    """The exponent e for which ``2**-e C`` has its largest row sum (or product) in [0.5, 1)."""
    sums = operator.abs_row_sums()
    if sums is not None:
        largest = float(sums.max(initial=0.0))
    else:
        largest = float(np.abs(adapted(operator).probes().images[0]).max(initial=0.0))
    return math.frexp(largest)[1] if largest > 0 and math.isfinite(largest) else 0


def _times(x: NDArray, exponent: int) -> NDArray:
    """x times a power of two, in its own precision."""
    return x if exponent == 0 else x * np.real(x).dtype.type(2.0**exponent)


class Wrapper(Operator):
    """An operator around another one, ``base``: every question is passed on, and a wrapper changes some answers."""

    def __init__(self, base: HermitianOperator) -> None:
        self.base = adapted(base)

    @property
    def n(self) -> int:
        return self.base.n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.base.dtype

    def apply(self, z: NDArray) -> NDArray:
        return self.base.apply(z)

    def diagonal(self) -> NDArray[np.float64]:
        return self.base.diagonal()

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        return self.base.abs_row_sums()

    def component_labels(self) -> NDArray[np.int64] | None:
        return self.base.component_labels()

    def restrict(self, index: NDArray[np.int64]) -> Operator:
        return self.base.restrict(index)

    def to_dense(self) -> NDArray:
        return self.base.to_dense()

    def entries(self) -> Any:
        return self.base.entries()

    @property
    def is_dense_matrix(self) -> bool:
        return self.base.is_dense_matrix

    @property
    def is_on_device(self) -> bool:
        return self.base.is_on_device

    def sparse(self) -> Unwrapped[SparseOperator] | None:
        return self.base.sparse()

    @property
    def is_known_by_products(self) -> bool:
        return self.base.is_known_by_products

    @property
    def is_streamed(self) -> bool:
        return self.base.is_streamed

    def probes(self) -> Probes:
        return self.base.probes()

    def is_real(self) -> bool:
        return self.base.is_real()

    def row_length(self) -> int:
        return self.base.row_length()

    def rounding_length(self) -> int:
        return self.base.rounding_length()

    def upper_bound(self) -> float | None:
        return self.base.upper_bound()

    def rounding_sums(self) -> NDArray[np.float64] | None:
        return self.base.rounding_sums()

    def asymmetry(self) -> float:
        return self.base.asymmetry()

    def augmented(self) -> tuple[Any, int] | None:
        return self.base.augmented()

    def squares(self) -> tuple[Any, NDArray[np.float64]] | None:
        return self.base.squares()

    def eliminated(self, z: NDArray) -> NDArray[np.complex128]:
        return self.base.eliminated(z)

    def unwrapped(self) -> Unwrapped[Operator]:
        return self.base.unwrapped()

    def count(self, products: int) -> None:
        self.base.count(products)

    @property
    def narrow(self) -> kernels.NarrowCopy | None:
        return self.base.narrow


class ScaledOperator(Wrapper):
    """``2**-exponent C`` without a copy: vectors are scaled, which is exact."""

    def __init__(self, base: HermitianOperator, exponent: int) -> None:
        super().__init__(base)
        self.exponent = exponent

    def scaled(self, x: NDArray) -> NDArray:
        """``2**-exponent`` times x, also where the factor itself would over- or underflow."""
        if abs(self.exponent) <= _ORDINARY[self.dtype.char]:
            return _times(x, -self.exponent)
        half = -self.exponent // 2
        return _times(_times(x, half), -self.exponent - half)

    def apply(self, z: NDArray) -> NDArray:
        if abs(self.exponent) <= _ORDINARY[self.dtype.char]:
            image = self.base.apply(z)
            if self.base.sparse() is None:  # somebody else's product may be an array that he needs again
                return _times(image, -self.exponent)
            image *= np.real(image).dtype.type(2.0**-self.exponent)
            return image
        # one half on the way in, one on the way out: neither 1e300 nor 1e-310 over- or underflows in between
        half = -self.exponent // 2
        return _times(self.base.apply(_times(z, half)), -self.exponent - half)

    def diagonal(self) -> NDArray[np.float64]:
        return self.scaled(self.base.diagonal())

    def probes(self) -> Probes:
        vectors, images = self.base.probes()
        return Probes(vectors, [self.scaled(image) for image in images])

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        return self._abs_row_sums

    @cached_property
    def _abs_row_sums(self) -> NDArray[np.float64] | None:
        sums = self.base.abs_row_sums()
        # Moduli below the normal numbers are rounded to multiples of the smallest one. The sums bound f: they go up by
        # one multiple per entry, which changes no sum of normal numbers.
        return None if sums is None else self.scaled(sums + (sums > 0) * (self.n * math.ulp(0.0)))

    def restrict(self, index: NDArray[np.int64]) -> ScaledOperator:
        return ScaledOperator(self.base.restrict(index), self.exponent)

    def to_dense(self) -> NDArray:
        return self.scaled(self.base.to_dense())

    def sparse(self) -> Unwrapped[SparseOperator] | None:
        found = self.base.sparse()
        return None if found is None else Unwrapped(found.operator, found.exponent + self.exponent)

    def upper_bound(self) -> float | None:
        bound = self.base.upper_bound()
        return None if bound is None else bound * 2.0**-self.exponent

    def rounding_sums(self) -> NDArray[np.float64] | None:
        sums = self.abs_row_sums()
        if sums is not None:
            return sums
        terms = self.base.rounding_sums()
        return None if terms is None else terms * 2.0**-self.exponent

    def asymmetry(self) -> float:
        return math.ldexp(self.base.asymmetry(), -self.exponent)

    def augmented(self) -> tuple[Any, int] | None:
        found = self.base.augmented()
        if found is None or self.exponent == 0:
            return found
        matrix, n = found
        return matrix * 2.0**-self.exponent, n

    def squares(self) -> tuple[Any, NDArray[np.float64]] | None:
        found = self.base.squares()
        return None if found is None else (found[0], found[1] * 2.0**-self.exponent)

    def unwrapped(self) -> Unwrapped[Operator]:
        inner, exponent = self.base.unwrapped()
        return Unwrapped(inner, exponent + self.exponent)


class CountingOperator(Wrapper):
    """Counts the products with C, where a block of k vectors counts k, and looks at the clock before each."""

    def __init__(self, base: HermitianOperator, products: int = 0) -> None:
        super().__init__(base)
        self.products = products
        """Products so far, with those from before this counter was made."""
        self._model: InnerModel | None = None

    def apply(self, z: NDArray) -> NDArray:
        time_limit.check()
        self.products += 1 if z.ndim == 1 else int(z.shape[1])
        return self.base.apply(z)

    def inner_model(self) -> InnerModel:
        """The model, made once: the start and all runs of one solve share its workspace."""
        if self._model is None:
            self._model = super().inner_model()
        return self._model

    def count(self, products: int) -> None:
        time_limit.check()
        self.products += products
        self.base.count(products)
