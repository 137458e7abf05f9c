"""The first read of a matrix, tile by tile, for all purposes at once.

It compares the triangles, finds the largest entries, the diagonal and the row sums, multiplies with a random vector,
and, if 2 n^2 bytes fit the budget, makes the narrow copy (:class:`angsync.kernels.NarrowCopy`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.dense.narrow import ROWS, SEGMENT, NarrowCopy
from angsync.problem.operators.checks import beyond_rounding, check_finite, check_largest, check_pairs
from angsync.problem.randomness import fixed_probe
from angsync.problem.stored import StoredArray

NARROW_UP_TO_BYTES = 820_000_000
"""The narrow copy is made up to this size, order 20,200: what is left of 1 GB is for one tile and the interpreter."""
_ORDINARY = (1e-15, 1e15)  # largest entries for which the narrow copy, which has the range of a float, is made
_STORED_AS_ZERO = 4e-34  # as in narrow.h: a row of a block below this is 0
_MOST_SUSPECTS = 1_000_000  # pairs that differ by more than rounding of their own, kept until all row maxima are known


class Triangle:
    """The triangle of a stored matrix that counts, as tiles on and above the diagonal."""

    def __init__(self, stored: StoredArray, *, lower: bool = False) -> None:
        self.stored, self.lower = stored, lower
        self.n = stored.shape[0]

    def part(self, rows: slice, columns: slice, *, other: bool = False) -> NDArray:
        """Return entries on and above the diagonal, in their own precision, and 0 below.

        ``other``: as the other triangle has them.
        """
        if self.lower == other:
            given = self.stored.read(rows, columns)
        else:
            given = np.conj(self.stored.read(columns, rows)).T
        if columns.start >= rows.start + given.shape[0]:
            return given
        return np.triu(given, rows.start - columns.start)  # below anything may stand

    def sides(self, unit: int = 1) -> tuple[int, int]:
        """Return the height and width of a tile, both multiples of ``unit``."""
        height, width = self.stored.sides()[:: -1 if self.lower else 1]
        return max(unit, round(height / unit) * unit), max(unit, round(width / unit) * unit)

    def tiles(self, unit: int = 1) -> Iterator[tuple[slice, slice]]:
        """Yield the rows and columns of all tiles: as :meth:`sides` says, except for the last ones."""
        height, width = self.sides(unit)
        for j in range(0, self.n, height):
            rows = slice(j, min(self.n, j + height))
            for k in range(j // width * width, self.n, width):
                yield rows, slice(k, min(self.n, k + width))

    def above(self, rows: slice, columns: slice) -> NDArray[np.complex128]:
        """Return entries above the diagonal in double precision, and 0 elsewhere."""
        entries = self.part(rows, columns).astype(np.complex128)
        entries[on_diagonal(rows, columns)[1]] = 0
        return entries

    def row(self, node: int) -> NDArray:
        """Return one row of C, diagonal included."""
        above = self.part(slice(0, node), slice(node, node + 1))
        right = self.part(slice(node, node + 1), slice(node, self.n))
        return np.concatenate([np.conj(above.ravel()), right.ravel()])


def on_diagonal(rows: slice, columns: slice) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the nodes whose diagonal entries are in a tile, and the places of these entries there."""
    nodes = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
    return nodes, (nodes - rows.start, nodes - columns.start)


@dataclass
class Seen:
    """What is known of C, or of those tiles that were looked at."""

    diagonal: NDArray[np.float64]
    sums: NDArray[np.float64]
    """Sums of |C_jl| over each row."""
    largest: NDArray[np.float64]
    """The largest |C_jl| in each row."""
    image: NDArray[np.complex128]
    """The product with :func:`fixed_probe`."""
    asymmetry: float = 0.0
    """The sum of |C_jl - conj(C_lj)| over j < l."""
    is_real: bool = True
    first_row: int = 0
    """How many entries of the first row are not 0, without the diagonal."""
    suspects: list[NDArray] = field(default_factory=list)
    """Pairs that differ by more than rounding of their own: how much, row, column."""

    @classmethod
    def nothing(cls, n: int) -> Seen:
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.complex128))

    def about(self, nodes: NDArray[np.int64]) -> Seen:
        """Return the same with the numbers of these nodes only."""
        image, numbers = self.image[nodes], (self.diagonal[nodes], self.sums[nodes], self.largest[nodes])
        return Seen(*numbers, image, self.asymmetry, self.is_real, self.first_row, self.suspects)

    def add(self, other: Seen, nodes: NDArray[np.int64]) -> None:
        """Add what was seen of other tiles, about these nodes."""
        self.diagonal[nodes] += other.diagonal  # one tile has it, 0 in the others
        self.sums[nodes] += other.sums
        self.largest[nodes] = np.maximum(self.largest[nodes], other.largest)
        self.image[nodes] += other.image
        self.asymmetry += other.asymmetry
        self.is_real = self.is_real and other.is_real
        self.first_row += other.first_row
        self.suspects += other.suspects

    def without_diagonal(self) -> Seen:
        image = self.image - self.diagonal * fixed_probe(self.diagonal.size)
        sums = self.sums - np.abs(self.diagonal)
        return replace(self, diagonal=np.zeros_like(self.diagonal), sums=sums, image=image)


class FirstRead:
    """The first read, tile by tile; ``copied``: whether the narrow copy is wanted."""

    def __init__(self, triangle: Triangle, dtype: np.dtype[Any], compared: bool, *, copied: bool = True) -> None:
        n = triangle.n
        self.triangle, self.dtype, self.compared = triangle, dtype, compared
        self.seen, self._probe = Seen.nothing(n), fixed_probe(n)
        fits = copied and kernels.COMPILED and 2 * n * n <= NARROW_UP_TO_BYTES
        self.narrow = _Narrowed(n) if fits else None

    def look_at_all(self) -> None:
        """Look at all tiles, one after the other; what is wrong with C is raised here."""
        for rows, columns in self.triangle.tiles(SEGMENT if self.narrow is not None else 1):
            other = self.triangle.part(rows, columns, other=True) if self.compared else None
            self.look_at(rows, columns, self.triangle.part(rows, columns), other)
        self.finish()

    def look_at(self, rows: slice, columns: slice, given: NDArray, other: NDArray | None) -> None:
        """Look at one tile, and compare it with the same of the other triangle if that is given."""
        check_finite(given, rows, columns, transposed=self.triangle.lower)
        entries, (nodes, at) = given.astype(np.complex128), on_diagonal(rows, columns)
        if other is not None:
            check_finite(other, rows, columns, transposed=not self.triangle.lower)
        elif nodes.size:  # nothing can be compared but the diagonal with itself
            other = given.copy()
            other[at] = np.conj(given[at])
        with np.errstate(over="ignore", invalid="ignore"):  # entries near overflow are refused when all are known
            if other is not None:
                self._compare(rows, columns, entries, other, at)
            self._add(rows, columns, entries, nodes, at)

    def finish(self) -> None:
        """Check what only all tiles together show: whether the triangles agree, and whether products could overflow."""
        self._judge()
        largest = float(self.seen.largest.max(initial=0.0))
        check_largest(largest, self.triangle.n, self.dtype)
        if not _ORDINARY[0] < largest < _ORDINARY[1]:
            self.narrow = None

    def _compare(self, rows: slice, columns: slice, entries: NDArray, other: NDArray, at: Any) -> None:
        asymmetry, pairs = beyond_rounding(entries, other, self.dtype)
        if pairs is not None:
            offsets = np.array([[0.0], [rows.start], [columns.start]])
            self.seen.suspects.append(pairs + offsets)
            if sum(found.shape[1] for found in self.seen.suspects) > _MOST_SUSPECTS:
                self._judge()  # by the maxima so far, which are no larger
        asymmetry[at] = 0
        self.seen.asymmetry += float(asymmetry.sum())

    def _judge(self) -> None:
        if self.seen.suspects:
            pairs = np.concatenate(self.seen.suspects, axis=1)
            check_pairs(pairs, lambda nodes: self.seen.largest[nodes], self.dtype)
            self.seen.suspects = []

    def _add(self, rows: slice, columns: slice, entries: NDArray, nodes: NDArray, at: Any) -> None:
        seen, size = self.seen, np.abs(entries)
        for along, axis in ((rows, 1), (columns, 0)):
            seen.largest[along] = np.maximum(seen.largest[along], size.max(axis=axis, initial=0.0))
        most = float(size.max(initial=0.0))
        seen.diagonal[nodes] = entries[at].real
        seen.sums[nodes] += np.abs(entries[at].real)
        seen.image[nodes] += entries[at].real * self._probe[nodes]
        entries[at] = size[at] = 0
        seen.sums[rows] += size.sum(axis=1)
        seen.sums[columns] += size.sum(axis=0)
        seen.is_real = seen.is_real and not entries.imag.any()
        if rows.start == 0:
            seen.first_row += int(np.count_nonzero(entries[0]))
        multiply(rows, columns, entries, self._probe, seen.image)
        if not most < _ORDINARY[1]:
            self.narrow = None
        if self.narrow is not None:
            self.narrow.add(rows.start, columns.start, entries)


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

    def add(self, row: int, column: int, entries: NDArray[np.complex128]) -> None:
        """Add the entries of one tile, in 16 bits a number."""
        height, width = entries.shape
        for j in range(0, height, SEGMENT):
            part = entries[j : j + SEGMENT]
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
            begin = (row + j) // ROWS
            segment = column // SEGMENT + np.arange(rounded.shape[1])
            for b in range(rounded.shape[0]):
                right = segment >= self.first[begin + b]
                where = self.before[begin + b] + segment[right]
                self.blocks[where] = rounded[b, right]
                self.scale[where] = np.where(kept[b, right], most[b, right] / 32767, 0.0)

    def copy(self, diagonal: NDArray[np.float64]) -> NarrowCopy:
        return NarrowCopy(self.n, self.blocks, self.scale, diagonal)


def multiply(rows: slice, columns: slice, entries: NDArray, x: NDArray, y: NDArray) -> None:
    """Add to y what a tile above the diagonal and its mirror image add to C x."""
    y[rows] += entries @ x[columns]
    y[columns] += np.conj(np.conj(x[rows]).T @ entries).T
