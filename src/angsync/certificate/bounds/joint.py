r"""Phases together with the unknowns that a Schur complement eliminated: the point (z, p), to twice the precision.

Where S is the Schur complement of :math:`A = K + \mathrm{Diag}(s, 0)`
(:meth:`angsync.problem.operators.Operator.augmented`), nothing has to be eliminated for a proof: for w in
:math:`T^n` and any q, :math:`-(w, q)^H K (w, q) = \sum_j s_j - (w, q)^H A (w, q)`, and the theorem of
:mod:`angsync.certificate.bounds.factorisation` holds for A as it does for S, with g = A (z, p): what the unknowns p
lack to be the best ones is part of g.

Positions of a kilometre and weights over many orders make products with K inexact by more than the gap that is asked
for. So the sums of g are exact: a product of two numbers is the sum of two (Dekker 1971), and ``math.fsum`` rounds the
sum of all of them once. z is taken for z / |z| to twice the precision.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.rounding import UNIT_ROUNDOFF
from angsync.problem.operators import Operator

_SECOND_ORDER = 2.0**-98  # what is left out of a sum, relative to its terms: a few squares of the unit roundoff
_SPLITTER = 2.0**27 + 1


def _halves(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x as the sum of two numbers of 26 bits (Veltkamp)."""
    far = _SPLITTER * x
    high = far - (far - x)
    return high, x - high


def exact_products(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """x y as the sum of two numbers each, without error where nothing underflows."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d


class JointPoint:
    """x = (z, p), s, and g = A x with its error; S is the Schur complement of A = K + Diag(s, 0)."""

    def __init__(self, operator: Operator, z: NDArray) -> None:
        found = operator.augmented()
        assert found is not None
        self.K, self.n = scipy.sparse.csr_array(found[0]).astype(np.complex128), found[1]
        self.order = int(self.K.shape[0])
        high = np.concatenate([z, operator.eliminated(z)])
        # z / |z| = z - z (|z|^2 - 1) / 2, but for the square of the last number
        squares = (*exact_products(z.real, z.real), *exact_products(z.imag, z.imag), np.full(self.n, -1.0))
        excess = np.array([math.fsum(terms) for terms in np.stack(squares, axis=1).tolist()])
        self.x, self.low = high, np.concatenate([-z * excess / 2, np.zeros(self.order - self.n)])
        self._left_out = _SECOND_ORDER + float(np.abs(excess).max(initial=0.0)) ** 2
        image, _ = self._image(np.zeros(self.n))
        # any numbers will do; these are the s_j of the point but for one rounding
        self.s = -(np.conj(z) * image[: self.n]).real
        self.g, self.error = self._image(self.s)

    @cached_property
    def objective(self) -> float:
        """f(z, p) = sum s - x^H g, rounded a few times relative to itself."""
        return math.fsum([*self.s.tolist(), *(-(np.conj(self.x) * self.g).real).tolist()])

    @cached_property
    def objective_error(self) -> float:
        """Bound on its rounding error."""
        size = float(np.abs(self.x) @ (8 * UNIT_ROUNDOFF * np.abs(self.g) + self.error))
        return size + 2 * UNIT_ROUNDOFF * abs(self.objective)

    def left_by(self, y: NDArray) -> tuple[NDArray, NDArray[np.float64]]:
        """g - A y with bounds on its errors, for g and y as stored."""
        return self._sums(self.s, -y, np.zeros_like(y), self.g)

    def _image(self, s: NDArray[np.float64]) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        return self._sums(s, self.x, self.low, np.zeros(self.order, dtype=np.complex128))

    def _sums(
        self, s: NDArray[np.float64], x: NDArray, low: NDArray, start: NDArray
    ) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        """start + (K + Diag(s, 0)) (x + low), every entry rounded once, and bounds on the errors."""
        K, at, tail = self.K, x[self.K.indices], self.K.data * low[self.K.indices]
        re, im, own = K.data.real, K.data.imag, s * low[: self.n]
        sums = np.empty(self.order, dtype=np.complex128)
        sums.real = self._rounded_once(((re, at.real), (-im, at.imag)), tail.real, s, x.real, own.real, start.real)
        sums.imag = self._rounded_once(((re, at.imag), (im, at.real)), tail.imag, s, x.imag, own.imag, start.imag)
        size = abs(K) @ np.abs(x)
        size[: self.n] += np.abs(s * x[: self.n])
        return sums, 2 * UNIT_ROUNDOFF * np.abs(sums) + self._left_out * size

    def _rounded_once(
        self,
        pairs: tuple[tuple[NDArray, NDArray], ...],
        tail: NDArray,
        s: NDArray,
        x: NDArray,
        own: NDArray,
        start: NDArray,
    ) -> list[float]:
        """Real sums: the products of the pairs and the tail over the entries of each row, s x + own, and a start."""
        terms = [term for pair in pairs for term in exact_products(*pair)]
        along = np.stack([*terms, tail], axis=1)
        beside = np.zeros((self.order, 4))
        beside[:, 0] = start
        beside[: self.n, 1], beside[: self.n, 2] = exact_products(s, x[: self.n])
        beside[: self.n, 3] = own
        flat, ends, more = along.ravel().tolist(), (along.shape[1] * self.K.indptr).tolist(), beside.tolist()
        return [math.fsum(flat[ends[j] : ends[j + 1]] + more[j]) for j in range(self.order)]
