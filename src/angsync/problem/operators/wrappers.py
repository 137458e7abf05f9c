"""Operators around operators: a power-of-two scale, and a count of products."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.operators import structure
from angsync.problem.operators.protocol import HermitianOperator

_ORDINARY = {"D": 400, "F": 40}  # exponents of two so far from over- and underflow that one factor will do


def normalising_exponent(operator: HermitianOperator) -> int:
    """The exponent e for which ``2**-e C`` has its largest row sum (or product) in [0.5, 1)."""
    sums = operator.abs_row_sums()
    if sums is not None:
        largest = float(sums.max(initial=0.0))
    else:
        ones = np.ones(operator.n, dtype=operator.dtype)
        largest = float(np.abs(operator.apply(ones)).max(initial=0.0))
    return math.frexp(largest)[1] if largest > 0 and math.isfinite(largest) else 0


def _times(x: NDArray, exponent: int) -> NDArray:
    """x times a power of two, in its own precision."""
    return x if exponent == 0 else x * np.real(x).dtype.type(2.0**exponent)


class ScaledOperator:
    """``2**-exponent C`` without a copy: vectors are scaled, which is exact."""

    def __init__(self, base: HermitianOperator, exponent: int) -> None:
        self.base = base
        self.exponent = exponent

    @property
    def n(self) -> int:
        return self.base.n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.base.dtype

    def scale(self, x: NDArray) -> NDArray:
        """A vector in the units of this operator, from one in those of its base."""
        if abs(self.exponent) <= _ORDINARY[self.dtype.char]:
            return _times(x, -self.exponent)
        half = -self.exponent // 2
        return _times(_times(x, half), -self.exponent - half)

    def apply(self, z: NDArray) -> NDArray:
        if abs(self.exponent) <= _ORDINARY[self.dtype.char]:
            return _times(self.base.apply(z), -self.exponent)
        # one half on the way in, one on the way out: neither 1e300 nor 1e-310 over- or underflows in between
        half = -self.exponent // 2
        return _times(self.base.apply(_times(z, half)), -self.exponent - half)

    def diagonal(self) -> NDArray[np.float64]:
        return self.scale(self.base.diagonal())

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        return self._abs_row_sums

    @cached_property
    def _abs_row_sums(self) -> NDArray[np.float64] | None:
        sums = self.base.abs_row_sums()
        return None if sums is None else self.scale(sums)

    def component_labels(self) -> NDArray[np.int64] | None:
        return structure.component_labels(self.base)

    def restrict(self, index: NDArray[np.int64]) -> ScaledOperator:
        return ScaledOperator(structure.restrict(self.base, index), self.exponent)

    def to_dense(self) -> NDArray:
        return self.scale(structure.to_dense(self.base))

    def is_real(self) -> bool:
        return structure.is_real(self.base)

    def row_length(self) -> int:
        return structure.row_length(self.base)


class CountingOperator:
    """Counts the products with C; a block of k vectors counts k."""

    def __init__(self, base: HermitianOperator, products: int = 0) -> None:
        self.base = base
        self.products = products
        """How many products there were so far, those before this counter was made included."""

    @property
    def n(self) -> int:
        return self.base.n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.base.dtype

    def apply(self, z: NDArray) -> NDArray:
        self.products += 1 if z.ndim == 1 else int(z.shape[1])
        return self.base.apply(z)

    def diagonal(self) -> NDArray[np.float64]:
        return self.base.diagonal()

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        return self.base.abs_row_sums()

    def component_labels(self) -> NDArray[np.int64] | None:
        return structure.component_labels(self.base)

    def restrict(self, index: NDArray[np.int64]) -> HermitianOperator:
        return structure.restrict(self.base, index)

    def to_dense(self) -> NDArray:
        return structure.to_dense(self.base)

    def is_real(self) -> bool:
        return structure.is_real(self.base)

    def row_length(self) -> int:
        return structure.row_length(self.base)
