"""The first read of a matrix that is larger than memory: tile by tile, for all purposes at once.

It compares the triangles, finds the largest entry, the diagonal and the row sums, multiplies with a random vector, and,
where 2 n^2 bytes fit the budget, makes the narrow copy (:class:`angsync.kernels.NarrowCopy`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import NotFiniteError
from angsync.kernels.dense.narrow import ROWS, SEGMENT, NarrowCopy
from angsync.kernels.rounding import pair_floor, pair_share
from angsync.problem.operators.checks import check_largest, not_hermitian
from angsync.problem.randomness import fixed_probe
from angsync.problem.stored import StoredArray

NARROW_UP_TO_BYTES = 820_000_000
"""The narrow copy is made up to this size, order 20,200: what is left of 1 GB is for one tile and the interpreter."""
_ORDINARY = (1e-15, 1e15)  # largest entries for which the narrow copy, which has the range of a float, is made
_STORED_AS_ZERO = 4e-34  # as in narrow.h: a row of a block below this is 0
_MOST_SUSPECTS = 1_000_000  # pairs that differ by more than rounding of their own, kept until all row maxima are known


def narrow_bytes(n: int) -> int:
    """Bytes of the narrow copy, but for the ends of its rows."""
    return 2 * n * n


class Tile(NamedTuple):
    """Entries above the diagonal from (row, column) on, 0 on and below it, in double precision."""

    row: int
    column: int
    entries: NDArray[np.complex128]

    @property
    def rows(self) -> slice:
        return slice(self.row, self.row + self.entries.shape[0])

    @property
    def columns(self) -> slice:
        return slice(self.column, self.column + self.entries.shape[1])


class Triangle:
    """The triangle of a stored matrix that counts, as tiles above the diagonal."""

    def __init__(self, stored: StoredArray, *, lower: bool = False) -> None:
        self.stored, self.lower = stored, lower
        self.n = stored.shape[0]

    def part(self, rows: slice, columns: slice, *, other: bool = False) -> NDArray:
        """Entries of the upper triangle, in their own precision; ``other``: as the other triangle has them."""
        if self.lower == other:
            return self.stored.read(rows, columns)
        return np.conj(self.stored.read(columns, rows)).T

    def sides(self, unit: int = 1) -> tuple[int, int]:
        """Height and width of a tile, both multiples of ``unit``."""
        height, width = self.stored.sides()[:: -1 if self.lower else 1]
        return max(unit, round(height / unit) * unit), max(unit, round(width / unit) * unit)

    def tiles(self, unit: int = 1) -> Iterator[tuple[slice, slice]]:
        """Rows and columns of all tiles: as :meth:`sides` says, but for the last ones."""
        height, width = self.sides(unit)
        for j in range(0, self.n, height):
            rows = slice(j, min(self.n, j + height))
            for k in range(j // width * width, self.n, width):
                yield rows, slice(k, min(self.n, k + width))

    def tile(self, rows: slice, columns: slice, given: NDArray | None = None) -> Tile:
        """One tile, read here unless its entries are given."""
        entries = (self.part(rows, columns) if given is None else given).astype(np.complex128)
        if columns.start < rows.stop:
            entries = np.triu(entries, rows.start - columns.start + 1)
        return Tile(rows.start, columns.start, entries)

    def row(self, node: int) -> NDArray:
        """One row of C, diagonal included."""
        above, right = (
            self.part(slice(0, node), slice(node, node + 1)),
            self.part(slice(node, node + 1), slice(node, None)),
        )
        return np.concatenate([np.conj(above.ravel()), right.ravel()])


@dataclass(frozen=True)
class Seen:
    """What the first read found out."""

    diagonal: NDArray[np.float64]
    sums: NDArray[np.float64]
    """Sums of |C_jl| over each row."""
    asymmetry: float
    is_real: bool
    first_row: int
    """How many entries of the first row are not 0, the diagonal left out."""
    probe: NDArray[np.complex128]
    """A random vector, real, and its product."""
    image: NDArray[np.complex128]


class FirstRead:
    """The first read, tile by tile; ``copied``: whether the narrow copy is wanted."""

    def __init__(self, triangle: Triangle, dtype: np.dtype[Any], compared: bool, *, copied: bool = True) -> None:
        n = triangle.n
        self.triangle, self.dtype, self.compared = triangle, dtype, compared
        self.diagonal, self.sums, self.row_maxima = np.zeros(n), np.zeros(n), np.zeros(n)
        self.asymmetry, self.is_real, self.first_row = 0.0, True, 0
        self.probe = fixed_probe(n)
        self.image = np.zeros(n, dtype=np.complex128)
        fits = copied and kernels.COMPILED and narrow_bytes(n) <= NARROW_UP_TO_BYTES
        self.narrow = _Narrowed(n) if fits else None
        self.suspects: list[NDArray] = []
        """Pairs that differ by more than rounding of their own: how much, row, column."""

    def seen(self) -> Seen:
        """What was found, once all was looked at."""
        numbers = (self.diagonal, self.sums, self.asymmetry, self.is_real, self.first_row)
        return Seen(*numbers, self.probe, self.image)

    def look_at_all(self) -> None:
        """All tiles, one after the other; what is wrong with C is raised here."""
        with np.errstate(over="ignore", invalid="ignore"):  # entries near overflow are refused when all are known
            self._look_at_tiles()

    def _look_at_tiles(self) -> None:
        for rows, columns in self.triangle.tiles(SEGMENT if self.narrow is not None else 1):
            given = self.triangle.part(rows, columns)
            self.look_at(rows, columns, given, self.triangle.part(rows, columns, other=True) if self.compared else None)
        self.finish()

    def look_at(self, rows: slice, columns: slice, given: NDArray, other: NDArray | None) -> None:
        """One tile as it was read, and the same of the other triangle where they are compared."""
        given = _on_and_above(given, rows, columns)
        _check_finite(given, rows, columns)
        self._look_at_diagonal(given, rows, columns)
        tile = self.triangle.tile(rows, columns, given)
        if other is not None:
            self._compare(tile, rows, columns, other, pair_share(self.dtype))
        self._add(tile)

    def finish(self) -> None:
        """What only all tiles together show: whether the triangles agree, and whether products could overflow."""
        largest = float(self.row_maxima.max(initial=0.0))
        self._judge(pair_floor(self.dtype))
        check_largest(largest, self.triangle.n, self.dtype)
        if not _ORDINARY[0] < largest < _ORDINARY[1]:
            self.narrow = None

    def _look_at_diagonal(self, given: NDArray, rows: slice, columns: slice) -> None:
        nodes = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
        if nodes.size == 0:
            return
        entries = given[nodes - rows.start, nodes - columns.start].astype(np.complex128)
        size = np.abs(entries)
        self.diagonal[nodes] = entries.real
        self.sums[nodes] += np.abs(entries.real)
        np.maximum.at(self.row_maxima, nodes, size)
        self.image[nodes] += entries.real * self.probe[nodes]
        apart = 2 * np.abs(entries.imag)  # from its conjugate
        self.asymmetry += float(apart.sum()) / 2
        self._suspect(apart, math.sqrt(float(np.finfo(self.dtype).eps)) * size, nodes, nodes)

    def _compare(self, tile: Tile, rows: slice, columns: slice, other_part: NDArray, share: float) -> None:
        """The other triangle against the one that counts."""
        given = _on_and_above(other_part, rows, columns)
        _check_finite(given, rows, columns, mirrored=True)
        other = self.triangle.tile(rows, columns, given).entries
        apart, size = np.abs(tile.entries - other), np.maximum(np.abs(tile.entries), np.abs(other))
        self.asymmetry += float(apart.sum())
        if (apart > share * size).any():
            j, k = np.nonzero(apart > share * size)
            self._suspect(apart[j, k], np.zeros(j.size), j + rows.start, k + columns.start)

    def _suspect(self, apart: NDArray, allowed: NDArray, j: NDArray, k: NDArray) -> None:
        worse = apart > allowed
        if worse.any():
            self.suspects.append(np.stack([apart[worse], j[worse], k[worse]]))
            if sum(pairs.shape[1] for pairs in self.suspects) > _MOST_SUSPECTS:
                self._judge(1000 * float(np.finfo(self.dtype).eps))  # by the maxima so far, which are no larger

    def _judge(self, share: float) -> None:
        """The pairs that differ by more than rounding of their own: by that of the rows that they lie in?"""
        if not self.suspects:
            return
        apart, j, k = np.concatenate(self.suspects, axis=1)
        rows, columns = j.astype(np.int64), k.astype(np.int64)
        limit = share * np.minimum(self.row_maxima[rows], self.row_maxima[columns])
        worst = int(np.argmax(apart - limit))
        if apart[worst] > limit[worst]:
            raise not_hermitian(int(rows[worst]), int(columns[worst]), float(apart[worst]), float(limit[worst]))
        self.suspects = []

    def _add(self, tile: Tile) -> None:
        entries = tile.entries
        size = np.abs(entries)
        self.sums[tile.rows] += size.sum(axis=1)
        self.sums[tile.columns] += size.sum(axis=0)
        self.row_maxima[tile.rows] = np.maximum(self.row_maxima[tile.rows], size.max(axis=1, initial=0.0))
        self.row_maxima[tile.columns] = np.maximum(self.row_maxima[tile.columns], size.max(axis=0, initial=0.0))
        self.is_real = self.is_real and not entries.imag.any()
        if tile.row == 0:
            self.first_row += int(np.count_nonzero(entries[0]))
        multiply(tile, self.probe, self.image)
        if not float(size.max(initial=0.0)) < _ORDINARY[1]:
            self.narrow = None
        if self.narrow is not None:
            self.narrow.add(tile)


class _Narrowed:
    """A narrow copy in the making, tile by tile; the sides of tiles are multiples of SEGMENT."""

    def __init__(self, n: int) -> None:
        count = -(-n // SEGMENT)
        strips = -(-n // 64) * 64 // ROWS  # blocks of rows, rows being stored up to a multiple of 64
        first = np.arange(strips) // (SEGMENT // ROWS)  # the segment with the diagonal
        # the block of rows b and the segment s is number before[b] + s
        self.before = np.concatenate([[0], np.cumsum(count - first)[:-1]]) - first
        total = int((count - first).sum())
        self.n, self.first = n, first
        from angsync.kernels.library import aligned  # products read it by cache lines

        self.blocks = aligned((total, ROWS, 2 * SEGMENT), np.int16)
        self.blocks[:] = 0  # rows beyond the last one are never written
        self.scale = np.zeros((total, ROWS), dtype=np.float32)

    def add(self, tile: Tile) -> None:
        """The entries of one tile, in 16 bits a number."""
        height, width = tile.entries.shape
        for j in range(0, height, SEGMENT):
            part = tile.entries[j : j + SEGMENT]
            wide = np.zeros((-(-part.shape[0] // ROWS) * ROWS, -(-width // SEGMENT) * SEGMENT), dtype=np.complex128)
            wide[: part.shape[0], :width] = part
            numbers = (
                wide.view(np.float64).reshape(-1, ROWS, wide.shape[1] // SEGMENT, 2 * SEGMENT).transpose(0, 2, 1, 3)
            )
            most = np.abs(numbers).max(axis=3)
            kept = most > _STORED_AS_ZERO
            with np.errstate(divide="ignore"):
                inverse = np.where(kept, 32767 / most, 0.0)
            rounded = np.rint(numbers * inverse[..., None]).astype(np.int16)
            begin = (tile.row + j) // ROWS
            segment = tile.column // SEGMENT + np.arange(rounded.shape[1])
            for b in range(rounded.shape[0]):
                right = segment >= self.first[begin + b]
                where = self.before[begin + b] + segment[right]
                self.blocks[where] = rounded[b, right]
                self.scale[where] = np.where(kept[b, right], most[b, right] / 32767, 0.0)

    def copy(self, diagonal: NDArray[np.float64]) -> NarrowCopy:
        return NarrowCopy(self.n, self.blocks, self.scale, diagonal)


def _on_and_above(given: NDArray, rows: slice, columns: slice) -> NDArray:
    """Entries on the diagonal and above it; 0 below, where nothing counts and anything may stand."""
    return np.triu(given, rows.start - columns.start) if columns.start < rows.stop else given


def _check_finite(given: NDArray, rows: slice, columns: slice, *, mirrored: bool = False) -> None:
    if not np.isfinite(given).all():
        j, k = (int(at) for at in np.argwhere(~np.isfinite(given))[0])
        place = (columns.start + k, rows.start + j) if mirrored else (rows.start + j, columns.start + k)
        raise NotFiniteError(
            f"C[{place[0]},{place[1]}] is {given[j, k]}: entries must be finite. "
            "A pair that was not measured is 0 in C."
        )


def multiply(tile: Tile, x: NDArray, y: NDArray) -> None:
    """Add to y what the tile and its mirror image add to C x."""
    y[tile.rows] += tile.entries @ x[tile.columns]
    y[tile.columns] += np.conj(np.conj(x[tile.rows]).T @ tile.entries).T
