"""A stack of small problems in a zarr store, solved chunk by chunk: for tests in which processes are killed.

``python tests/cluster_work.py FOLDER`` begins or resumes the work on a cluster of its own, to be killed with all of it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec

import angsync as ang
from angsync.io import chunks
from angsync.io.chunks import TASKS, Chunk, Computed, Field, Grid, Work, carry_out
from angsync.problem import absent

SHAPE, SIDES, N = (20, 24), (4, 4), 5
TOTAL = 30


class Solving:
    """Reads the problems of a chunk and solves them; ``seconds`` makes it slow, ``megabytes`` large."""

    def __init__(self, path: str, seconds: float = 0.0, megabytes: int = 0) -> None:
        self.path, self.seconds, self.megabytes = path, seconds, megabytes

    def __call__(self, chunk: Chunk) -> Computed:
        place = (*chunk.box, slice(0, N), slice(0, N))
        array = zarr.open_array(self.path, mode="r")
        problems = absent.marked(array, "error")[place]
        filled = np.ones((self.megabytes, 125_000))
        time.sleep(self.seconds * bool(filled.sum() >= 0))
        result = ang.synchronize(problems, on_failure="ignore")
        verdict = np.asarray(result.verdict, dtype="<i8")
        return Computed({"z": result.z.astype("<c8"), "verdict": verdict}, {"problems": int(verdict.size)})

    def stamp(self, chunk: Chunk) -> str:
        whole = (*chunk.box, slice(0, N), slice(0, N))
        return chunks.stamp_of(zarr.open_array(self.path, mode="r"), None, whole)


def source(folder: Path) -> str:
    """The store of the problems, made where it is not there."""
    path = folder / "problems.zarr"
    if not path.exists():
        rng = np.random.default_rng(0)
        noise = rng.standard_normal((2, *SHAPE, N, N))
        C = 1 + 0.5 * (noise[0] + 1j * noise[1])
        C = C + np.conj(np.swapaxes(C, -1, -2))
        array = zarr.open_group(str(path), mode="w").create_array(
            "C", shape=C.shape, chunks=(*SIDES, N, N), dtype="<c8", fill_value=0, compressors=[Crc32cCodec()]
        )
        array[...] = C.astype("<c8")
    return str(path / "C")


def work(folder: Path, sides: tuple[int, int] = SIDES, **how: Any) -> Work:
    path = source(folder)
    fields = {
        "z": Field((*SHAPE, N), "<c8", (0, 1), ("y", "x", "date"), np.nan),
        "verdict": Field(SHAPE, "<i8", (0, 1), ("y", "x"), -1),
    }
    return Work("a test", Grid(SHAPE, sides), fields, Solving(path, **how), {})


def content(out: Path) -> dict[str, np.ndarray]:
    return {name: array[...] for name, array in chunks.read(out, ["z", "verdict"]).items()}


def marked(out: Path) -> int:
    """How many chunks are done."""
    return sum("report" in path.read_text() for path in (out / TASKS).glob("[0-9]*.json"))


def main(folder: Path) -> None:
    import distributed

    out = folder / "out.zarr"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        done = carry_out(work(folder, seconds=0.2), out, resume=out.exists(), client=client)
        print(f"found {done.found} computed {done.computed} missing {len(done.missing)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
