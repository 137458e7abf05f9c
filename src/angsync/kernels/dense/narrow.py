"""The narrow copy of a dense matrix as it is laid out, how far it is from the matrix, and what one pass over it finds.

Only the compiled kernels make such a copy, and only they multiply with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

ROWS, SEGMENT = 4, 128  # shape of the blocks of the narrow copy
STRIP = 64  # rows are stored up to a multiple of this, and looked at so many at a time
NARROW_FROM = 400  # order from which products read the narrow copy: below, C is in the cache anyway
_ROUNDED = 0.5 * (1 + 2.0**-7)  # error of a part in units of its scale: half a unit, and the rounding of the scale
# terms that a product sums in single precision before it goes on in double (8 CARRIED in narrow_product.c)
_CARRIED = 512
# a row of a block whose parts are all below this is stored as 0: its scale would not be a normal float (narrow.h)
_STORED_AS_ZERO = 4e-34


@dataclass(frozen=True)
class NarrowCopy:
    """One triangle of C in 16 bits a number, in blocks of 4 rows and 128 columns with a scale for each row of a block.

    Blocks lie in the order in which a product reads them: by rows, and in a row from the one with the diagonal on.
    """

    n: int
    blocks: NDArray[np.int16]
    """(number of blocks, 4, 256): real and imaginary parts in turn; 0 on and below the diagonal."""
    scale: NDArray[np.float32]
    """(number of blocks, 4): the scale of each row of a block."""
    diagonal: NDArray[np.float64]

    def by_segment(self, values: NDArray) -> Iterator[tuple[int, NDArray]]:
        """For each segment of rows its first row, and the values of its blocks as (block of rows, segment, ...)."""
        count = -(-self.n // SEGMENT)
        blocks_of_rows = -(-self.n // STRIP) * STRIP // ROWS
        begin = 0
        for k in range(count):
            height = min(SEGMENT // ROWS, blocks_of_rows - k * (SEGMENT // ROWS))
            end = begin + height * (count - k)
            yield k * SEGMENT, values[begin:end].reshape(height, count - k, *values.shape[1:])
            begin = end

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """The scale of every row in every segment, 0 left of the diagonal."""
        count = -(-self.n // SEGMENT)
        table = np.zeros((count * SEGMENT, count))
        for first, scales in self.by_segment(self.scale):
            rows = scales.transpose(0, 2, 1).reshape(-1, scales.shape[1])
            table[first : first + rows.shape[0], first // SEGMENT :] = rows
        return table[: self.n]

    @cached_property
    def distance(self) -> float:
        """Proved bound on the norm of (copy - C): the largest row sum of bounds on its entries."""
        entry = np.sqrt(2.0) * np.maximum(_ROUNDED * self.scales, _STORED_AS_ZERO)
        right, above = SEGMENT * entry.sum(axis=1), entry.sum(axis=0)
        return float((right + np.repeat(above, SEGMENT)[: self.n]).max())

    @cached_property
    def error(self) -> float:
        """About the norm of (copy - C) x, x of unit modulus; the squared error of a part is 1/12 of a unit squared."""
        return float(np.sqrt(4 * SEGMENT / 12 * np.square(self.scale, dtype=np.float64).sum()))

    @property
    def rounding(self) -> float:
        r"""Bound on the rounding errors of a product, relative to that of the moduli of the copy and of the vector.

        With u = 2^-24 and at most m roundings on the way of a term into its sum, the error of a sum of real terms is
        at most m u / (1 - m u) times that of their moduli (Higham, section 3.1), and an entry of the product is two
        such sums. A term of a sum over a column passes through 512 additions before it is carried on in double
        precision; one of a row through 256 at most, and one for every 128 columns; 64 cover the rounding of the vector,
        of its products with scales, of the last sum over lanes and all that is in double precision.
        """
        roundings = (min(2 * self.n, _CARRIED) + self.n // SEGMENT + 64) * 2.0**-24
        return float(np.sqrt(2.0)) * roundings / (1 - roundings)


@dataclass(frozen=True)
class Inspection:
    """What one pass over a dense matrix found out."""

    largest: float
    gap: float
    """The sum of the moduli of the parts of all C_jl - conj(C_lj), j < l; 0 where one triangle was read."""
    row_sums: NDArray[np.float64]
    narrow: NarrowCopy | None
    """The narrow copy; None for small matrices, which have none."""
    suspects: NDArray[np.bool_] | None = None
    """For every strip of 64 rows and every segment of 128 columns: whether some pair in there differs by more than
    the square root of the unit of rounding. One flag for a small matrix. None where no pair does."""
    packed: NDArray[np.complex128] | None = None
    """A small matrix as rows of complex128, Hermitian to the bit, where it was not given like that."""
    sums_beside: NDArray[np.float64] | None = None
    """The row sums of a small matrix without its diagonal."""
    dominated: bool | None = None
    """Whether the diagonal is larger than all the rest of any row; None where that was not looked at."""
