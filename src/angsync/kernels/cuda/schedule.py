r"""How the upper triangle of a matrix is cut for the CUDA product: strips of columns, pieces of rows, slots for sums.

Pieces are launched in bands of rows from the top, so that blocks at work together read the same pages of memory. A
band is as high as an equal part of the work that is left allows (guided self-scheduling: Polychronopoulos and Kuck,
IEEE Transactions on Computers C-36(12), 1987): high bands write few sums, and low ones at the end leave no
multiprocessor waiting for another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRAIN = 128
"""Rows of the smallest piece; all others are a multiple of it."""


@dataclass(frozen=True)
class Schedule:
    """The pieces of one product, and where their sums go."""

    width: int
    """Columns of a strip."""
    pieces: NDArray[np.int32]
    """(number, 4): strip, first row, height, and the slot of its column sums, in the order of their launch."""
    counts: NDArray[np.int32]
    """Pieces of each strip: how many slots its columns have."""

    @property
    def strips(self) -> int:
        return self.counts.size

    @property
    def row_slots_at(self) -> int:
        """Slot ``row_slots_at + J`` has the row sums of strip J."""
        return int(self.counts.max())

    @property
    def slots(self) -> int:
        return self.row_slots_at + self.strips

    def rounding_length(self, lane: int, column_groups: int, warps: int) -> int:
        """How many complex additions a term of the product passes through, at most: in its piece, then over the slots.

        In a piece a term is added to the sum of its column, by one warp down its rows and then across the row groups,
        or to that of its row: over a lane's columns, across the lanes of a warp (five levels), and over column groups.
        """
        row_groups = warps // column_groups
        down = -(-int(self.pieces[:, 2].max()) // row_groups) + row_groups
        across = lane + 5 + column_groups
        return max(down, across) + self.slots


def schedule(
    n: int, width: int, blocks: int, *, longest: int = 2048, shortest: int = GRAIN, rounds: float = 2.0
) -> Schedule:
    """Pieces for an order n where a device works on ``blocks`` pieces at a time.

    A band's pieces have one part in ``rounds * blocks`` of the work left, ``shortest`` to ``longest`` rows high (both
    multiples of ``GRAIN``).
    """
    strips = -(-n // width)
    counts = np.zeros(strips, dtype=np.int32)
    bands = []
    first = 0
    while first < n:
        left = (n - first) * (n - first + 1) / 2
        height = round(left / (rounds * blocks * width) / GRAIN) * GRAIN
        # no piece is higher than what is left of the triangle, rounded up to whole grains
        height = min(max(height, shortest), longest, -(-(n - first) // GRAIN) * GRAIN)
        strip = np.arange(first // width, strips, dtype=np.int32)
        # a strip ends with its last column: below is nothing above the diagonal
        end = -(-np.minimum((strip + 1) * width, n) // GRAIN) * GRAIN
        own = np.minimum(height, end - first)
        strip, own = strip[own > 0], own[own > 0]
        bands.append(np.stack([strip, np.full_like(strip, first), own.astype(np.int32), counts[strip]], axis=1))
        counts[strip] += 1
        first += height
    return Schedule(width, np.ascontiguousarray(np.concatenate(bands), dtype=np.int32), counts)
