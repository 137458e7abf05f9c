"""Checks that every matrix passes on its way in, wherever it lies, with the messages for what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, NotHermitianError, ShapeError
from angsync.kernels.rounding import pair_floor, pair_share, precision

Hermitian = Literal["full", "upper", "lower"]
"""Whether the whole matrix is given, or one triangle of it."""


def complex_type(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """complex64 for what is given in single precision or less, otherwise complex128; ``what`` names it in a message."""
    if dtype.kind not in "biufc":
        raise InputError(f"{what} must be numeric, but its dtype is {dtype}.")
    native = dtype.newbyteorder("=")  # numbers from files of other machines may have their bytes the other way round
    return np.dtype(np.complex64 if native in (np.float32, np.complex64, np.float16) else np.complex128)


def check_square(shape: tuple[int, ...]) -> None:
    """One square matrix of order 1 or more, and no stack."""
    if len(shape) > 2:
        raise ShapeError(
            f"C must be one square matrix, but its shape is {shape}. Solve a stack with "
            "ang.synchronize(stack), an array (..., n, n); everything else takes one problem at a time."
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(
            f"C must be square, but its shape is {shape}. For an edge list use ang.Measurements(i, j, angle)."
        )
    if shape[0] == 0:
        raise InputError("C is empty (n = 0): there are no phases to find.")


def hermitian_limit(dtype: np.dtype[Any], largest: float) -> float:
    """Asymmetry up to this is rounding where only products, or the largest entry, are looked at."""
    return pair_share(dtype) * largest


def beyond_rounding(gap: NDArray, size: NDArray, dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Where a pair differs by more than the square root of the unit of rounding times the larger of the two."""
    beyond: NDArray[np.bool_] = gap > pair_share(dtype) * size
    return beyond


class WorstPair(NamedTuple):
    """The pair of entries that differs most, of those that differ by more than is allowed."""

    gap: float
    limit: float
    i: int
    j: int

    def error(self) -> NotHermitianError:
        """The exception about it."""
        return not_hermitian(self.i, self.j, self.gap, self.limit)


def worst_pair(
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    gap: NDArray,
    size: NDArray,
    largest_in: Callable[[NDArray[np.int64]], NDArray],
    dtype: np.dtype[Any],
) -> WorstPair | None:
    """A second chance for pairs that are :func:`beyond_rounding`, and the worst of the rest; None where all are good.

    An entry of a computed matrix such as Y Y^H carries the rounding of the terms that it was summed from, however small
    it is itself: up to 1000 units of the largest entry of its row, and of that of its column, are taken for rounding.
    ``largest_in`` gives the largest modulus in each of some rows.
    """
    nodes = np.unique(np.concatenate([i, j]))
    largest = np.asarray(largest_in(nodes), dtype=np.float64)
    of_i, of_j = largest[np.searchsorted(nodes, i)], largest[np.searchsorted(nodes, j)]
    limit = np.maximum(pair_share(dtype) * size, pair_floor(dtype) * np.minimum(of_i, of_j))
    beyond = np.flatnonzero(gap > limit)
    if beyond.size == 0:
        return None
    worst = beyond[int(np.argmax(gap[beyond]))]
    low, high = sorted((int(i[worst]), int(j[worst])))
    return WorstPair(float(gap[worst]), float(limit[worst]), low, high)


def not_hermitian(i: int, j: int, gap: float, limit: float) -> NotHermitianError:
    """The exception for a pair of entries that are not conjugates of each other."""
    return NotHermitianError(
        f"C must be Hermitian: |C[{i},{j}] - conj(C[{j},{i}])| = {gap:.2e}, allowed {limit:.2e}. "
        "If only one triangle is filled,",
        python="pass hermitian='upper' or 'lower'.",
        command="add --hermitian upper or lower.",
    )


def check_largest(largest: float, n: int, dtype: np.dtype[Any]) -> None:
    """Entries far enough from overflow for sums of them to be finite."""
    # f(z) sums n^2 entries in double precision, a row sums n of them in the precision of C
    if largest > min(precision(dtype).largest / (4 * n), sys.float_info.max / (4.0 * n * n)):
        raise InputError(
            f"the largest entry of C is {largest:.2e}, too near to overflow for n = {n}: divide C by 1e6, "
            "the phases do not depend on its scale."
        )


def check_real_diagonal(diagonal: NDArray, largest: float) -> None:
    """A diagonal that is real but for rounding."""
    limit = hermitian_limit(diagonal.dtype, largest)
    worst = int(np.argmax(np.abs(diagonal.imag)))
    gap = 2 * float(abs(diagonal.imag[worst]))
    if gap > limit:
        raise not_hermitian(worst, worst, gap, limit)
