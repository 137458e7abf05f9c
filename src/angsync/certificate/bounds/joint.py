r"""Phases together with the unknowns that a Schur complement eliminated: the point (z, p), to twice the precision.

Where S is the Schur complement of :math:`A = K + \mathrm{Diag}(s, 0)`
(:meth:`angsync.problem.operators.Operator.augmented`), nothing has to be eliminated for a proof: for w in
:math:`T^n` and any q, :math:`-(w, q)^H K (w, q) = \sum_j s_j - (w, q)^H A (w, q)`, and the theorem of
:mod:`angsync.certificate.bounds.factorization` holds for A as it does for S, with g = A (z, p): what the unknowns p
lack to be the best ones is part of g.

Positions of a kilometer and weights over many orders make products with K inexact by more than the gap that is asked
for, and so is K itself, where it was put together from the squares that the cost is a sum of:
:math:`K = B^H W B` (:meth:`angsync.problem.operators.Operator.squares`). So g is computed from B and W, and its
sums are exact: a product of two numbers is the sum of two (Dekker 1971), and ``math.fsum`` rounds the sum of all of
them once. z is taken for :math:`z / |z|` to twice the precision. What K lacks to be :math:`B^H W B` counts as an error
of forming the matrix that is factorized.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.rounding import UNIT_ROUNDOFF, gamma
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


def rounded_sums(M: scipy.sparse.csr_array, high: NDArray, low: NDArray, *beside: NDArray) -> list[NDArray]:
    """M (high + low) + the vectors beside it, every entry rounded once, and what that rounding left, rounded once.

    Only the products with ``low`` are rounded before they are summed.
    """
    at, tail = high[M.indices], M.data * low[M.indices]
    sums, rest = (np.empty(M.shape[0], dtype=np.complex128) for _ in range(2))
    re, im = M.data.real, M.data.imag
    parts = (
        (((re, at.real), (-im, at.imag)), tail.real, [x.real for x in beside], sums.real, rest.real),
        (((re, at.imag), (im, at.real)), tail.imag, [x.imag for x in beside], sums.imag, rest.imag),
    )
    for pairs, last, vectors, out, left in parts:
        terms = [term for pair in pairs for term in exact_products(*pair)]
        along = np.stack([*terms, last], axis=1)
        flat, ends = along.ravel().tolist(), (along.shape[1] * M.indptr.astype(np.int64)).tolist()
        more = np.stack(vectors, axis=1).tolist() if vectors else [[]] * M.shape[0]
        for row, extra in enumerate(more):
            values = flat[ends[row] : ends[row + 1]] + extra
            out[row] = total = math.fsum(values)
            left[row] = math.fsum([*values, -total])
    return [sums, rest]


def _complex_products(s: NDArray[np.float64], x: NDArray) -> tuple[NDArray, NDArray]:
    """s x as the sum of two complex numbers each, for real s."""
    (re, re_left), (im, im_left) = exact_products(s, x.real), exact_products(s, x.imag)
    return re + 1j * im, re_left + 1j * im_left


class JointPoint:
    """x = (z, p), s, and g = A x with its error; S is the Schur complement of A = K + Diag(s, 0)."""

    def __init__(self, operator: Operator, z: NDArray) -> None:
        found, self._squares = operator.augmented(), operator.squares()
        assert found is not None
        self.K, self.n = scipy.sparse.csr_array(found[0]).astype(np.complex128), found[1]
        self.order = int(self.K.shape[0])
        high = np.concatenate([z, operator.eliminated(z)])
        # z / |z| = z - z (|z|^2 - 1) / 2, but for the square of the last number
        squares = (*exact_products(z.real, z.real), *exact_products(z.imag, z.imag), np.full(self.n, -1.0))
        excess = np.array([math.fsum(terms) for terms in np.stack(squares, axis=1).tolist()])
        self.x, self.low = high, np.concatenate([-z * excess / 2, np.zeros(self.order - self.n)])
        self._neglected = _SECOND_ORDER + float(np.abs(excess).max(initial=0.0)) ** 2
        nothing = np.zeros(self.order, dtype=np.complex128)
        image, _ = self._sums(np.zeros(self.n), self.x, self.low, nothing)
        # any numbers will do; these are the s_j of the point but for one rounding
        self.s = -(np.conj(z) * image[: self.n]).real
        self.g, self.error = self._sums(self.s, self.x, self.low, nothing)

    @cached_property
    def objective(self) -> float:
        """f(z, p) = sum s - x^H g, rounded a few times relative to itself."""
        return math.fsum([*self.s.tolist(), *(-(np.conj(self.x) * self.g).real).tolist()])

    @cached_property
    def objective_error(self) -> float:
        """Bound on its rounding error, and on that of the cost summed over the squares in double precision."""
        size = float(np.abs(self.x) @ (8 * UNIT_ROUNDOFF * np.abs(self.g) + self.error))
        if self._squares is not None:
            B, weight = self._squares
            moved = gamma(16) * (abs(B) @ np.abs(self.x))  # rounding of a residual
            size += float(weight @ (moved * (2 * np.abs(B @ self.x) + 3 * moved)))
        return size + gamma(64) * abs(self.objective)

    def left_by(self, y: NDArray) -> tuple[NDArray, NDArray[np.float64]]:
        """g - A y with bounds on its errors, for g and y as stored."""
        return self._sums(self.s, -y, np.zeros_like(y), self.g)

    def forming(self, root: NDArray[np.float64]) -> float:
        """Bound on the 2-norm of the error of K, every row and column divided by the entry of ``root``."""
        if self._squares is None:
            return 0.0
        B, weight = self._squares
        size = abs(B)
        sums = (size.T @ (weight * (size @ (1 / root)))) / root
        longest = int(np.bincount(B.indices, minlength=1).max())  # terms of one entry of K
        return math.sqrt(2) * gamma(2 * longest + 16) * float(sums.max(initial=0.0))

    def _sums(
        self, s: NDArray[np.float64], x: NDArray, low: NDArray, start: NDArray
    ) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        """start + (K + Diag(s, 0)) (x + low), every entry rounded once, and bounds on the errors."""
        own = np.zeros((3, self.order), dtype=np.complex128)
        own[0, : self.n], own[1, : self.n] = _complex_products(s, x[: self.n])
        own[2, : self.n] = s * low[: self.n]
        if self._squares is None:
            sums = rounded_sums(self.K, x, low, start, *own)[0]
            size = abs(self.K) @ np.abs(x)
        else:
            B, weight = self._squares
            residual, rest = rounded_sums(B, x, low)
            t, left = _complex_products(weight, residual)
            sums = rounded_sums(scipy.sparse.csr_array(B.conj().T), t, left + weight * rest, start, *own)[0]
            size = abs(B).T @ (weight * (abs(B) @ np.abs(x)))
        size[: self.n] += np.abs(s * x[: self.n])
        return sums, 2 * UNIT_ROUNDOFF * np.abs(sums) + self._neglected * size
