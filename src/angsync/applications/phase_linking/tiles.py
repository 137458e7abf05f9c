"""An image chunk by chunk: parts with a halo as wide as the window are read and linked; the same bits at any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_linking.estimate import Block, LinkStatus, Settings, estimate
from angsync.batch.coherence import coherence_matrices
from angsync.errors import InputError

_BLOCK_BYTES = 1 << 22  # of coherence matrices that are worked on together: they stay in the cache
_LARGEST = 1e140  # of a value, and one over the least: sums of their squares are numbers
TILE = 512
"""Rows and columns of a part that is read at a time, unless the caller says another number."""


class Tile(NamedTuple):
    """Pixels of an image, the last ones excluded."""

    first_row: int
    last_row: int
    first_column: int
    last_column: int

    @property
    def place(self) -> tuple[slice, slice]:
        return slice(self.first_row, self.last_row), slice(self.first_column, self.last_column)

    @property
    def shape(self) -> tuple[int, int]:
        return self.last_row - self.first_row, self.last_column - self.first_column

    def moved(self, down: int, right: int) -> Tile:
        return Tile(self.first_row + down, self.last_row + down, self.first_column + right, self.last_column + right)


def tiles(rows: int, columns: int, sides: tuple[int, int]) -> Iterator[Tile]:
    """The image in parts of so many rows and columns, row after row."""
    for row in range(0, rows, sides[0]):
        for column in range(0, columns, sides[1]):
            yield Tile(row, min(rows, row + sides[0]), column, min(columns, column + sides[1]))


Read = tuple[NDArray, NDArray[np.bool_], Tile]
"""What :meth:`Images.read` gives."""


@dataclass(frozen=True, eq=False)
class Images:
    """A stack of images that is read in parts, with what is known about its axes."""

    data: Any
    """Anything with a shape (dates, rows, columns), a complex dtype and slices."""
    mask: Any
    """(rows, columns), True for pixels to leave out, or None."""
    window: tuple[int, int]
    looks: float | None
    """Independent samples of a whole window, where that is known; otherwise every sample counts."""

    def around(self, tile: Tile) -> tuple[slice, slice]:
        """The rows and columns that the windows of a tile need."""
        _, rows, columns = self.data.shape
        (up, down), (left, right) = (((size - 1) // 2, size // 2) for size in self.window)
        return (
            slice(max(0, tile.first_row - up), min(rows, tile.last_row + down)),
            slice(max(0, tile.first_column - left), min(columns, tile.last_column + right)),
        )

    def read(self, tile: Tile) -> Read:
        """The pixels of a tile and all that their windows need, those to leave out, and where the tile lies in it."""
        (top, bottom), (first, last) = ((part.start, part.stop) for part in self.around(tile))
        part = np.asanyarray(self.data[:, top:bottom, first:last])
        if isinstance(part, np.ma.MaskedArray):
            part = part.filled(np.nan)
        if not np.iscomplexobj(part):
            raise InputError(f"the images must be complex (single-look complex), but their dtype is {part.dtype}.")
        _check_size(part)
        out = np.zeros(part.shape[1:], dtype=bool)
        if self.mask is not None:
            out |= np.asarray(self.mask[top:bottom, first:last], dtype=bool)
        inside = Tile(tile.first_row - top, tile.last_row - top, tile.first_column - first, tile.last_column - first)
        return part, out, inside

    def coherences(
        self, part: NDArray, some: Tile, bare: NDArray[np.bool_], constant: NDArray[np.bool_]
    ) -> tuple[NDArray, NDArray[np.float64]]:
        """Matrices (pixels, n, n) of some pixels of a part, and their looks; zeros where there is no data."""
        C, samples = coherence_matrices(part, self.window, some, bare | constant)
        looks = samples.astype(float)
        if self.looks is not None:
            looks *= self.looks / (self.window[0] * self.window[1])
        lost = (bare | constant)[some.place].ravel()
        C[lost] = 0
        looks[lost] = 0
        return C, looks


def without_data(part: NDArray, out: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Pixels that are left out or hold nothing at any date, and those that hold the same number at every date."""
    bare: NDArray[np.bool_] = ~(np.isfinite(part) & (part != 0)).any(axis=0) | out
    constant = (part == part[:1]).all(axis=0) & ~bare if len(part) > 1 else np.zeros_like(bare)
    return bare, constant


def _check_size(part: NDArray) -> None:
    """Squares have to be numbers too."""
    if part.dtype == np.complex64:
        return  # worked on in double precision
    size = np.maximum(np.abs(part.real), np.abs(part.imag))
    size = size[np.isfinite(size) & (size > 0)]
    if size.size and (size.max() > _LARGEST or size.max() < 1 / _LARGEST):
        raise InputError(
            f"the images have values of up to {size.max():.3g}, whose squares cannot be computed. Divide them by that."
        )


class Piece(NamedTuple):
    """What was found for some pixels."""

    tile: Tile
    block: Block
    looks: NDArray[np.float64]


def linked_pieces(images: Images, settings: Settings, sides: tuple[int, int]) -> Iterator[Piece]:
    """All pixels, some at a time, in a memory that does not depend on the size of the images."""
    _, rows, columns = images.data.shape
    for tile in tiles(rows, columns, sides):
        for piece in pieces_of(tile, images, settings):
            yield piece._replace(tile=piece.tile.moved(tile.first_row, tile.first_column))


def pieces_of(tile: Tile, images: Images, settings: Settings) -> Iterator[Piece]:
    """The pixels of one tile, some at a time, counted from its first row and column."""
    n = images.data.shape[0]
    part, out, inside = images.read(tile)
    bare, constant = without_data(part, out)
    width = part.dtype.itemsize if part.dtype == np.complex64 else 16
    at_once = max(1, _BLOCK_BYTES // (n * n * width))
    for some in _blocks(inside, at_once):
        C, looks = images.coherences(part, some, bare, constant)
        block = estimate(C, looks, settings)
        block.status[constant[some.place].ravel()] = LinkStatus.CONSTANT
        yield Piece(some.moved(-inside.first_row, -inside.first_column), block, looks)


def _blocks(inside: Tile, at_once: int) -> Iterator[Tile]:
    """Rows of a tile, or parts of rows, of at most so many pixels."""
    _, columns = inside.shape
    across = min(columns, at_once)
    down = max(1, at_once // across)
    for row in range(inside.first_row, inside.last_row, down):
        for column in range(inside.first_column, inside.last_column, across):
            yield Tile(row, min(inside.last_row, row + down), column, min(inside.last_column, column + across))
