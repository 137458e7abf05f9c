"""Operators around operators: a power-of-two scale, and a count of products."""

from __future__ import annotations

import math
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
    """An operator around another one, ``base``: every question is passed on, and a wrapper changes some answers.

    The five members are written out; all other questions of :class:`Operator` are passed on by the loop below.
    """

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


_OF_ITSELF = {
    *("has_dominant_diagonal", "without_diagonal", "without_dominant_diagonal", "parts", "is_inspected", "dense_model"),
    *("rotated_triangle", "shifted_entries", "narrow_product", "narrow_distance", "narrow_rounding", "rotated_product"),
    *("shifted_matrix", "inner_model"),
}
"""Questions that a wrapper answers from its other answers, or that are about a matrix of another scale."""


def _passed_on(name: str, member: Any) -> Any:
    """Return the member of a wrapper that asks the operator inside it."""
    if isinstance(member, property):
        return property(lambda self: getattr(self.base, name), doc=member.__doc__)

    @wraps(member)
    def ask(self: Wrapper, *given: Any, **named: Any) -> Any:
        return getattr(self.base, name)(*given, **named)

    return ask


for _name, _member in vars(Operator).items():
    if not (_name.startswith("_") or _name in _OF_ITSELF or _name in vars(Wrapper)):
        setattr(Wrapper, _name, _passed_on(_name, _member))


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
