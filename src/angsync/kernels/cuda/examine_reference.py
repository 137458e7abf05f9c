"""One look at a matrix on a device, and at the problems of a stack: what ``cuda/examine*.cu`` find, as array functions.

The functions take the module with the array functions as ``xp``, as those of :mod:`angsync.kernels.cuda.reference` do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_BLOCK_ENTRIES = 1 << 24  # rows are looked at in blocks of about this many entries


class Examined(NamedTuple):
    """What one look at a matrix finds; everything is on the host."""

    not_finite: int
    """Row times n plus column of the first entry, in reading order, that is NaN or infinite; -1 where there is none."""
    suspects: int
    """Pairs of entries that are farther apart than the limit allows, relative to the larger one."""
    asymmetry: float
    """Sum of :math:`|C_{jl} - \\bar C_{lj}|` over j <= l."""
    zeros: int
    """Entries above the diagonal that are 0."""
    is_real: bool
    """Whether no entry on or above the diagonal has an imaginary part."""
    largest: float
    """The largest modulus on or above the diagonal."""
    row_sums: NDArray[np.float64]
    """Sums of the moduli of the rows, by the upper triangle, the diagonal included."""


def _cast(array: NDArray, name: str) -> NDArray:
    return array.astype(name)


def row_blocks(n: int) -> Iterator[slice]:
    """Blocks of rows of an order n, of about sixteen million entries each."""
    height = max(1, _BLOCK_ENTRIES // n)
    return (slice(k, min(n, k + height)) for k in range(0, n, height))


def examine_matrix(
    C: Any,
    limit: float,
    *,
    xp: Any = np,
    place: Callable[[NDArray], Any] = np.asarray,
    host: Callable[[Any], NDArray] = np.asarray,
    cast: Callable[[Any, str], Any] = _cast,
) -> Examined:
    """The same as the kernels find, block by block, in double precision.

    ``place`` brings a NumPy array to where C is, ``host`` an array from there, and ``cast`` changes the type of one.
    """
    n = C.shape[0]
    suspects, zeros, largest, asymmetry = 0, 0, 0.0, 0.0
    is_real = True
    row_sums = np.zeros(n)
    number = np.arange(n, dtype=np.int32)
    for rows in row_blocks(n):
        if not bool(xp.all(xp.isfinite(C[rows, :]))):
            first = int(np.argmin(np.isfinite(host(C[rows, :])))) + rows.start * n
            return Examined(first, 0, math.nan, 0, False, math.nan, np.full(n, math.nan))
        block, mirror = (cast(part, "complex128") for part in (C[rows, rows.start :], xp.conj(C[rows.start :, rows]).T))
        strict = place(number[rows, None] < number[None, rows.start :])
        kept = place(number[rows, None] <= number[None, rows.start :])
        size, mirrored, apart = xp.abs(block), xp.abs(mirror), xp.abs(block - mirror)
        nothing = xp.zeros_like(size)
        size, apart = xp.where(kept, size, nothing), xp.where(kept, apart, nothing)
        larger = xp.where(size > mirrored, size, mirrored)
        suspects += int(xp.sum((apart > limit * larger) & (apart > 0)))
        zeros += int(xp.sum(strict & (size == 0)))
        is_real = is_real and not bool(xp.any(kept & (xp.imag(block) != 0)))
        asymmetry += float(xp.sum(apart))
        largest = max(largest, float(xp.max(size)))
        row_sums[rows] += host(xp.sum(size, axis=1))
        row_sums[rows.start :] += host(xp.sum(xp.where(strict, size, nothing), axis=0))
    return Examined(-1, suspects, asymmetry, zeros, is_real, largest, row_sums)
