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
from angsync.problem.absent import lost_in, marked, unknown_problems
from angsync.problem.array_libraries import store_library
from angsync.problem.memory import in_words

READ_BYTES = 1 << 25
"""Of one task, if the chunks of the store are smaller: enough to hide the cost of the task itself."""
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
class StoredStack:
    """A stack of zarr, or of xarray over a file, of which boxes are read; it can be pickled."""

    data: Any
    memory: int
    """Bytes that this process may read at once; whoever would exceed it waits."""
    token: str = field(default="")
    absent: str = "empty"
    """What a chunk is that the store does not have (:data:`angsync.problem.absent.ABSENT`)."""
    hermitian: str = "full"
    _marked: Any = field(init=False)

    _used: ClassVar[dict[str, int]] = {}
    _changed: ClassVar[threading.Condition] = threading.Condition()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_marked", marked(self.data, "empty" if self.absent == "error" else self.absent))

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
    def held(self, place: tuple[slice, ...]) -> Iterator[NDArray]:
        """Return the problems of a box; they count against the memory until the block ends."""
        n = int(self.data.shape[-1])
        count = math.prod(part.stop - part.start for part in place)
        with self._reserved(min(self.memory, _COPIES * count * n * n * np.dtype(self.data.dtype).itemsize)):
            C = np.asarray(self._marked[place])
            if self.absent == "error" and unknown_problems(lost_in(C), self.hermitian) is not None:
                np.asarray(marked(self.data, "error")[place])  # raises, and names the chunk
            yield C

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
