"""A small work of two fields on a grid, for the tests of chunk-by-chunk work: it doubles the numbers of an npy file.

``python tests/chunked_work.py FOLDER OUT [CHUNK]`` begins or resumes it; with the name of a chunk, the process kills
itself after the data of that chunk are written and before its marker is.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from angsync.io import chunks
from angsync.io.chunks import Chunk, Computed, Field, Grid, Work

SHAPE = (10, 14)
SIDES = (4, 5)


class Doubling:
    """Reads a part of a file and doubles it; ``bad`` chunks raise, and ``log`` receives the names of all of them."""

    def __init__(self, path: str, bad: tuple[str, ...] = (), log: str | None = None, stamps: bool = True) -> None:
        self.path, self.bad, self.log, self.stamps = path, bad, log, stamps

    def __call__(self, chunk: Chunk) -> Computed:
        if chunk.name in self.bad:
            raise ValueError(f"no luck with {chunk.name}")
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as stream:
                stream.write(f"{chunk.name}\n")
        part = np.load(self.path, mmap_mode="r")[chunk.box]
        both = np.stack([2 * part, 3 * part])
        return Computed({"twice": both, "small": part < 50}, {"sum": float(part.sum())})

    def stamp(self, chunk: Chunk) -> str:
        return chunks.stamp_of(None, self.path, chunk.box) if self.stamps else ""


def work(folder: Path, *, sides: tuple[int, int] = SIDES, factor: float = 1.0, beside: Any = None, **how: Any) -> Work:
    path = folder / "numbers.npy"
    if not path.exists():
        np.save(path, np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE))
    fields = {
        "twice": Field((2, *SHAPE), "<f8", (1, 2), ("k", "y", "x"), np.nan),
        "small": Field(SHAPE, "|b1", (0, 1), ("y", "x"), False),
    }
    numbers = np.load(path, mmap_mode="r")
    doubling = Doubling(str(path), **how)
    settings = {**chunks.facts_of(numbers), "factor": factor}
    return Work("a test", Grid(SHAPE, sides), fields, doubling, settings, beside)


def main(folder: str, out: str, killed: str = "") -> None:
    mark = chunks._write_json

    def dies(path: Path, content: Any) -> None:
        if path.stem == killed:
            os.kill(os.getpid(), signal.SIGKILL)
        mark(path, content)

    chunks._write_json = dies
    try:
        chunks.carry_out(work(Path(folder)), out, resume=True)
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
