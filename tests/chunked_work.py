"""A small work of two fields on a grid, for the tests of chunk-by-chunk work: it doubles the numbers of an npy file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from angsync.io.chunked.fingerprint import of_array
from angsync.io.chunked.grid import Chunk, Field, Grid
from angsync.io.chunked.task import Computed
from angsync.io.chunked.work import Work

SHAPE = (10, 14)
SIDES = (4, 5)


class Doubling:
    """Reads a part of a file and doubles it; ``bad`` chunks raise."""

    def __init__(self, path: str, bad: tuple[str, ...] = (), log: str | None = None) -> None:
        self.path, self.bad, self.log = path, bad, log

    def __call__(self, chunk: Chunk) -> Computed:
        if chunk.name in self.bad:
            raise ValueError(f"no luck with {chunk.name}")
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as stream:
                stream.write(f"{chunk.name}\n")
        part = np.load(self.path, mmap_mode="r")[tuple(map(slice, chunk.first, chunk.last))]
        both = np.stack([2 * part, 3 * part])
        return Computed({"twice": both, "small": part < 50}, {"sum": float(part.sum())})

    def still(self, chunk: Chunk, marker: Mapping[str, Any]) -> bool:
        return marker["report"] == self(chunk).report


def work(folder: Path, *, sides: tuple[int, int] = SIDES, factor: float = 1.0, **how: Any) -> Work:
    path = folder / "numbers.npy"
    if not path.exists():
        np.save(path, np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE))
    fields = {
        "twice": Field((2, *SHAPE), "<f8", (1, 2), ("k", "y", "x"), np.nan),
        "small": Field(SHAPE, "|b1", (0, 1), ("y", "x"), False),
    }
    numbers = np.load(path, mmap_mode="r")
    doubling = Doubling(str(path), **how)
    return Work("a test", Grid(SHAPE, sides), fields, doubling, of_array(numbers, path), {"factor": factor})
