"""Chunks of a stack that lies in a store: how large they are, and what is read of them; never more than allowed."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem import zarr_files
from angsync.problem.array_libraries import store_library
from angsync.problem.memory import in_words
from angsync.problem.zarr_origin import Origin, lost, origin_of, refused

READ_BYTES = 1 << 25
"""Of one task, if the chunks of the store are smaller: enough to hide the cost of the task itself."""
_ADVICE = (
    "if it was not written because it holds nothing but zeros, pass absent='zeros' (--absent zeros); to go on without "
    "its problems, which have the status NO_DATA then, absent='empty' (--absent empty)"
)
_COPIES = 3  # of a chunk while it is read: as the store has it, decoded, and put together


def sides_within(leading: tuple[int, ...], matrix_bytes: int, unit: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Sides of a box of problems, in whole ``unit`` s, as large as fits into ``most`` bytes; one unit at least."""
    sides = [max(1, min(size, side)) for size, side in zip(leading, unit, strict=True)]
    for axis in reversed(range(len(leading))):
        room = most // (math.prod(sides) * matrix_bytes)
        if room < 1:
            break
        sides[axis] = min(leading[axis], sides[axis] * room) if leading[axis] else 1
        if sides[axis] < leading[axis]:
            break
    return tuple(sides)


def split_sides(leading: tuple[int, ...], matrix_bytes: int, chunk: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return the sides of a chunk, made smaller along the axes of the stack until it fits; one problem at least."""
    sides = [max(1, min(size, side)) for size, side in zip(leading, chunk, strict=True)]
    for axis in range(len(leading)):
        others = math.prod(sides) // sides[axis] * matrix_bytes
        sides[axis] = max(1, min(sides[axis], most // others))
    return tuple(sides)


def check_one_problem(n: int, itemsize: int, memory: int) -> None:
    """Refuse what can not be cut any finer."""
    if n * n * itemsize > memory:
        raise InputError(
            f"one problem of {n} nodes has {in_words(n * n * itemsize)}, but memory is {in_words(memory)}: a problem "
            "is never cut. Allow more memory."
        )


def chunk_of(array: Any) -> tuple[int, ...]:
    """Return the sides of what is decoded at once, along all axes; 1 if any part can be read by itself."""
    if store_library(array) == "zarr":
        return tuple(int(side) for side in array.chunks)
    given = array.encoding.get("preferred_chunks") or {}
    return tuple(int(given.get(name, 1)) for name in array.dims)


@dataclass(frozen=True)
class Watch:
    """The problems of a stack that are not known, because a chunk that they need is not in their store."""

    source: Any
    """An array of zarr, or one of xarray over it."""
    absent: str = "empty"
    """What such a chunk is (:data:`angsync.problem.zarr_origin.ABSENT`)."""
    hermitian: Any = "full"

    def problems(self, place: tuple[slice, ...]) -> NDArray[np.bool_] | None:
        """Return those of a box of problems, or None if all are known; raise if an absent chunk is an error."""
        whole = origin_of(self.source)
        if whole is None:
            return None
        part = self._part(whole, place)
        found = list(lost(part, self.hermitian))  # raises where a chunk is cut off
        if not found or self.absent == "zeros":
            return None
        if self.absent == "error":
            raise refused([one.gone for one in found], part.array, _ADVICE)
        unknown = np.zeros(tuple(side.stop - side.start for side in place), dtype=bool)
        if not part.exact:
            return self._one_by_one(whole, place, unknown)
        for one in found:
            unknown[np.ix_(*one.places[: len(place)])] = True
        return unknown

    def _part(self, whole: Origin, place: tuple[Any, ...]) -> Origin:
        """Return where a part of the array lies; xarray itself knows it of an array whose axes were turned."""
        if not whole.exact and type(self.source).__name__ == "DataArray":
            return origin_of(self.source[place]) or whole
        return whole.taken(place)

    def _one_by_one(self, whole: Origin, place: tuple[slice, ...], unknown: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Look at what each problem needs, if it is not known where a part of the array lies."""
        for k in np.ndindex(unknown.shape):
            one = tuple(side.start + number for side, number in zip(place, k, strict=True))
            unknown[k] = next(lost(self._part(whole, one), self.hermitian), None) is not None
        return unknown


@dataclass(frozen=True)
class StoredStack:
    """A stack of zarr, or of xarray over a file, of which boxes are read; it can be pickled."""

    data: Any
    memory: int
    """Bytes that this process may read at once; whoever would exceed it waits."""
    token: str = field(default="")
    absent: str = "empty"
    hermitian: str = "full"

    _used: ClassVar[dict[str, int]] = {}
    _changed: ClassVar[threading.Condition] = threading.Condition()

    def sides(self, target: int = READ_BYTES) -> tuple[int, ...]:
        """Return the sides of the boxes of problems that are read at a time: whole chunks of the store."""
        *leading, n, _ = (int(size) for size in self.data.shape)
        itemsize = np.dtype(self.data.dtype).itemsize
        check_one_problem(n, itemsize, self.memory)
        chunk = chunk_of(self.data)
        unit_bytes = math.prod(min(side, size) for side, size in zip(chunk, self.data.shape, strict=True)) * itemsize
        if unit_bytes > self.memory:
            raise InputError(
                f"a chunk of the store, {chunk}, has {in_words(unit_bytes)} and can only be decoded as a whole, but "
                f"memory is {in_words(self.memory)}. Allow more, or store the stack in smaller chunks."
            )
        most = max(1, min(target, self.memory // _COPIES))
        return sides_within(tuple(leading), n * n * itemsize, chunk[:-2], most)

    @contextmanager
    def held(self, place: tuple[slice, ...]) -> Iterator[tuple[NDArray, NDArray[np.bool_] | None]]:
        """Return the problems of a box, and which of them need absent chunks (None: none of them).

        They count against the memory until the block ends.
        """
        n = int(self.data.shape[-1])
        count = math.prod(part.stop - part.start for part in place)
        with self._reserved(min(self.memory, _COPIES * count * n * n * np.dtype(self.data.dtype).itemsize)):
            unknown = Watch(self.data, self.absent, self.hermitian).problems(place)
            yield self._values((*place, slice(0, n), slice(0, n))), unknown

    def _values(self, whole: tuple[slice, ...]) -> NDArray:
        if store_library(self.data) == "zarr":
            return zarr_files.read(self.data, whole)
        return np.asarray(self.data[whole].values)

    @contextmanager
    def _reserved(self, count: int) -> Iterator[None]:
        used, changed = StoredStack._used, StoredStack._changed
        with changed:
            changed.wait_for(lambda: used.get(self.token, 0) + count <= self.memory)
            used[self.token] = used.get(self.token, 0) + count
        try:
            yield
        finally:
            with changed:
                used[self.token] -= count
                if used[self.token] == 0:
                    del used[self.token]
                changed.notify_all()
