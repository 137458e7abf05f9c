"""The pixels or problems of a work in chunks, and where a chunk lies in each field of the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from angsync.errors import ShapeError


class Chunk(NamedTuple):
    """A box of the grid: its number along each axis, and where it begins and ends."""

    numbers: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @property
    def name(self) -> str:
        return "_".join(map(str, self.numbers))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(last - first for first, last in zip(self.first, self.last, strict=True))

    @property
    def size(self) -> int:
        return prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name} ([{', '.join(f'{a}:{b}' for a, b in zip(self.first, self.last, strict=True))}])"


@dataclass(frozen=True)
class Grid:
    """A shape in boxes of these sides; the last ones are smaller."""

    shape: tuple[int, ...]
    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.shape) != len(self.sides) or min((*self.shape, *self.sides), default=0) < 1:
            raise ShapeError(f"a grid of shape {self.shape} cannot be cut into chunks of {self.sides}.")

    def __iter__(self) -> Iterator[Chunk]:
        steps = [range(0, size, side) for size, side in zip(self.shape, self.sides, strict=True)]
        for numbers in product(*(range(len(step)) for step in steps)):
            first = tuple(step[k] for step, k in zip(steps, numbers, strict=True))
            last = tuple(min(a + s, n) for a, s, n in zip(first, self.sides, self.shape, strict=True))
            yield Chunk(numbers, first, last)

    def __len__(self) -> int:
        return prod(-(-size // side) for size, side in zip(self.shape, self.sides, strict=True))


@dataclass(frozen=True)
class Field:
    """One array of the output. Its chunks are those of the grid along the axes of the grid, whole along the others:
    one task writes whole chunks, and no two tasks write to one."""

    shape: tuple[int, ...]
    dtype: str
    axes: tuple[int, ...]
    """Which of its axes are those of the grid."""
    dims: tuple[str, ...] = ()
    fill: Any = None
    """What stands where nothing is written yet."""
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def chunks(self, grid: Grid) -> tuple[int, ...]:
        sides = list(self.shape)
        for axis, size, side in zip(self.axes, grid.shape, grid.sides, strict=True):
            if self.shape[axis] != size:
                raise ShapeError(f"axis {axis} of a field of shape {self.shape} does not fit the grid {grid.shape}.")
            sides[axis] = min(size, side)
        return tuple(max(1, side) for side in sides)

    def place(self, chunk: Chunk) -> tuple[slice, ...]:
        places = [slice(0, size) for size in self.shape]
        for axis, first, last in zip(self.axes, chunk.first, chunk.last, strict=True):
            places[axis] = slice(first, last)
        return tuple(places)

    def bytes_of(self, chunk: Chunk) -> int:
        return prod(place.stop - place.start for place in self.place(chunk)) * np.dtype(self.dtype).itemsize
