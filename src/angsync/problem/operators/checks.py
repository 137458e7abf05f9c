"""Checks that every matrix passes on its way in, wherever it lies, with the messages for what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, NotFiniteError, NotHermitianError, ShapeError
from angsync.kernels.rounding import pair_floor, pair_share, precision

Hermitian = Literal["full", "upper", "lower"]
"""Whether the whole matrix is given, or one triangle of it."""


def complex_type(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """Return complex64 for single precision or less, otherwise complex128; ``what`` names the data in a message."""
    if dtype.kind not in "biufc":
        raise InputError(f"{what} must be numeric, but its dtype is {dtype}.")
    native = dtype.newbyteorder("=")  # numbers from files of other machines may have their bytes the other way round
    return np.dtype(np.complex64 if native in (np.float32, np.complex64, np.float16) else np.complex128)


def check_square(shape: tuple[int, ...]) -> None:
    """Refuse everything but one square matrix of order 1 or more."""
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


def check_finite(entries: NDArray, rows: slice, columns: slice, *, transposed: bool = False) -> None:
    """Refuse a part of C with entries that are not finite; ``transposed``: it was read as its mirror image."""
    finite = np.isfinite(entries)
    if not finite.all():
        j, k = (int(at) for at in np.argwhere(~finite)[0])
        row, column = rows.start + j, columns.start + k
        raise not_finite(*((column, row) if transposed else (row, column)), entries[j, k])


def not_finite(i: int, j: int, entry: Any) -> NotFiniteError:
    """Return the exception for an entry of a full matrix that is not a number."""
    return NotFiniteError(f"C[{i},{j}] is {entry}: entries must be finite. A pair that was not measured is 0 in C.")


def beyond_rounding(entries: NDArray, other: NDArray, dtype: np.dtype[Any]) -> tuple[NDArray, NDArray | None]:
    """Compare entries with the conjugates of their mirror images.

    Returns
    -------
    asymmetry
        Their differences.
    suspects
        Pairs that differ by more than the square root of the unit of rounding times the larger of the two (difference,
        row, column), or None.
    """
    asymmetry = np.abs(entries - other)
    if not asymmetry.any():
        return asymmetry, None
    suspicious = asymmetry > pair_share(dtype) * np.maximum(np.abs(entries), np.abs(other))
    if not suspicious.any():
        return asymmetry, None
    return asymmetry, np.stack([asymmetry[suspicious], *np.nonzero(suspicious)])


def check_pairs(suspects: NDArray, largest_in: Callable[[NDArray[np.int64]], NDArray], dtype: np.dtype[Any]) -> None:
    """Refuse pairs that are :func:`beyond_rounding` also of their rows, and name the worst one.

    An entry of a computed matrix such as Y Y^H carries the rounding of the terms that it was summed from, however small
    it is itself: up to 1000 units of the largest entry of its row, and of that of its column, are taken for rounding.
    ``largest_in`` gives the largest modulus in each of some rows.
    """
    asymmetry, pairs = suspects[0], suspects[1:].astype(np.int64)
    nodes, place = np.unique(pairs, return_inverse=True)
    limit = pair_floor(dtype) * largest_in(nodes).astype(np.float64)[place].reshape(pairs.shape).min(axis=0)
    beyond = np.flatnonzero(asymmetry > limit)
    if beyond.size:
        worst = beyond[int(np.argmax(asymmetry[beyond]))]
        i, j = sorted(pairs[:, worst].tolist())
        raise not_hermitian(i, j, float(asymmetry[worst]), float(limit[worst]))


def check_real(diagonal: NDArray, largest_in: Callable[[NDArray[np.int64]], NDArray], dtype: np.dtype[Any]) -> None:
    """Refuse a diagonal that is not real except for rounding."""
    _, suspects = beyond_rounding(diagonal[None], np.conj(diagonal[None]), dtype)
    if suspects is not None:
        check_pairs(suspects[[0, 2, 2]], largest_in, dtype)


def not_hermitian(i: int, j: int, gap: float, limit: float) -> NotHermitianError:
    """Return the exception for a pair of entries that are not conjugates of each other."""
    return NotHermitianError(
        f"C must be Hermitian: |C[{i},{j}] - conj(C[{j},{i}])| = {gap:.2e}, allowed {limit:.2e}. "
        "If only one triangle is filled,",
        python="pass hermitian='upper' or 'lower'.",
        command="add --hermitian upper or lower.",
    )


def check_largest(largest: float, n: int, dtype: np.dtype[Any]) -> None:
    """Refuse entries so near to overflow that sums of them might not be finite."""
    # f(z) sums n^2 entries in double precision, a row sums n of them in the precision of C
    if largest > min(precision(dtype).largest / (4 * n), sys.float_info.max / (4.0 * n * n)):
        raise InputError(
            f"the largest entry of C is {largest:.2e}, too near to overflow for n = {n}: divide C by 1e6, "
            "the phases do not depend on its scale."
        )
