"""How the upper triangle of a large matrix is cut: into square blocks, blocks into strips, all blocks into pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

PANEL_ROWS = 32  # of a block that are widened at a time: 1 MB for a block of 2000 columns, which stays in the cache
SIDE = 2000  # of a block: 32 MB in complex64, read in a tenth of a second, and 55 of them at n = 20,000
_LEAST_BLOCKS = 10  # in a row of blocks, so that pieces can be of one size
_LARGEST_CHUNK_SIDE = 4096  # up to which a block is made of whole chunks
_STRIP_BYTES = 8_000_000  # of a block that are read at a time, where chunks are not larger

Block = tuple[int, int]
"""A block by its row and its column in the grid of blocks."""


def side_of_blocks(n: int, chunk: tuple[int, ...]) -> int:
    """The side of a block: near SIDE, whole chunks where they are not too large, and not too few blocks in a row."""
    wanted = min(SIDE, max(PANEL_ROWS, n // _LEAST_BLOCKS))
    largest = max(chunk)
    if largest > _LARGEST_CHUNK_SIDE:
        return wanted
    return max(1, round(wanted / largest)) * largest


def rows_of_strips(side: int, chunk: tuple[int, ...], itemsize: int) -> int:
    """Rows of a block that are read at a time: whole chunks, several where they are small."""
    largest = max(chunk)
    rows = largest if PANEL_ROWS <= largest <= side else PANEL_ROWS
    return min(side, max(1, _STRIP_BYTES // (rows * side * itemsize)) * rows)


def pieces_of(count: int, shares: Sequence[int]) -> list[list[Block]]:
    """The blocks (i, j), i <= j < count, in one list for each share, of about that part of all entries.

    Bands of rows of blocks are gone through column by column, every second one backwards, and cut where a share is
    full. With P equal shares a piece is about a square with a side of count / sqrt(2 P) blocks: it touches
    sqrt(2 / P) n rows, where a strip of rows would touch all of them.
    """
    height = max(1, round(count / math.sqrt(2 * len(shares))))
    order: list[Block] = []
    for number, top in enumerate(range(0, count, height)):
        band = [(i, j) for j in range(top, count) for i in range(top, min(top + height, j + 1))]
        order += band if number % 2 == 0 else band[::-1]
    ends = np.cumsum(shares) / sum(shares)
    sizes = np.array([0.5 if i == j else 1.0 for i, j in order])  # of a block on the diagonal half is kept
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    owner = np.minimum(np.searchsorted(ends, middles), len(shares) - 1)
    return [[block for block, who in zip(order, owner, strict=True) if who == piece] for piece in range(len(shares))]
