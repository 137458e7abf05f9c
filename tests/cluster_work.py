"""A stack of small problems in a zarr store, solved chunk by chunk: for tests in which processes are killed.

``python tests/cluster_work.py FOLDER`` begins or resumes the work on a cluster of its own, to be killed with all of it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import angsync as ang
from angsync.io.chunked import arrays, markers
from angsync.io.chunked.arrays import DamagedChunkError
from angsync.io.chunked.fingerprint import of_array
from angsync.io.chunked.grid import Chunk, Field, Grid
from angsync.io.chunked.on_cluster import on_client
from angsync.io.chunked.task import Computed
from angsync.io.chunked.work import Work, carry_out

SHAPE, SIDES, N = (20, 24), (4, 4), 5
TOTAL = 30


class Solving:
    """Reads the problems of a chunk and solves them; ``seconds`` makes it slow, ``megabytes`` large."""

    def __init__(self, path: str, seconds: float = 0.0, megabytes: int = 0) -> None:
        self.path, self.seconds, self.megabytes = path, seconds, megabytes

    def __call__(self, chunk: Chunk) -> Computed:
        array = arrays.library("a test").open_array(self.path, mode="r")
        place = tuple(map(slice, chunk.first, chunk.last))
        for key, _ in arrays.pieces(array, (*place, slice(0, N), slice(0, N))):
            if not arrays.has(array, key):
                raise DamagedChunkError(f"{key} of {self.path} is absent", [key])
        try:
            problems = array[place]
        except (ValueError, RuntimeError, OSError) as error:
            raise DamagedChunkError(f"a chunk of {self.path} cannot be decoded: {error}") from None
        filled = np.ones((self.megabytes, 125_000))
        time.sleep(self.seconds * bool(filled.sum() >= 0))
        result = ang.synchronize(problems, on_failure="ignore")
        verdict = np.asarray(result.verdict, dtype="<i8")
        return Computed({"z": result.z.astype("<c8"), "verdict": verdict}, {"problems": int(verdict.size)})


def source(folder: Path) -> str:
    """The store of the problems, made where it is not there."""
    path = folder / "problems.zarr"
    if not path.exists():
        grid = Grid(SHAPE, SIDES)
        field = Field((*SHAPE, N, N), "<c8", (0, 1), ("y", "x", "j", "l"), 0)
        arrays.create(path, {"C": field}, grid, {})
        rng = np.random.default_rng(0)
        noise = rng.standard_normal((2, *SHAPE, N, N))
        C = 1 + 0.5 * (noise[0] + 1j * noise[1])
        C = C + np.conj(np.swapaxes(C, -1, -2))
        arrays.open_arrays(path, ["C"], "r+")["C"][...] = C.astype("<c8")
    return str(path / "C")


def work(folder: Path, sides: tuple[int, int] = SIDES, **how: Any) -> Work:
    path = source(folder)
    fields = {
        "z": Field((*SHAPE, N), "<c8", (0, 1), ("y", "x", "date"), np.nan),
        "verdict": Field(SHAPE, "<i8", (0, 1), ("y", "x"), -1),
    }
    given = arrays.library("a test").open_array(path, mode="r")
    return Work("a test", Grid(SHAPE, sides), fields, Solving(path, **how), of_array(given, path), {})


def content(out: Path) -> dict[str, np.ndarray]:
    return {name: array[...] for name, array in arrays.open_arrays(out, ["z", "verdict"]).items()}


def marked(out: Path) -> int:
    """How many chunks are done."""
    return sum(1 for path in markers.folder_of(out).glob("[0-9]*.json"))


def main(folder: Path) -> None:
    import distributed

    out = folder / "out.zarr"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        done = carry_out(work(folder, seconds=0.2), out, resume=out.exists(), runner=on_client(client))
        print(f"found {done.found} computed {done.computed} missing {len(done.missing)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
