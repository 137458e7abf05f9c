"""A dense Hermitian matrix that is larger than one machine: its upper triangle on the workers of a Dask cluster.

The triangle is a grid of square blocks, which the workers read once, check and keep as results of tasks. Dask moves
them to disk if memory is short, and reads them again from the store if a worker is lost. A product is a task per
block, and the client adds the parts in one order. Nothing here imports Dask before there is a client.
"""

from __future__ import annotations

import itertools
import math
import pickle
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import InputError
from angsync.kernels import time_limit
from angsync.problem.array_libraries import is_stored
from angsync.problem.operators.checks import Hermitian, check_square, complex_type
from angsync.problem.operators.first_read import FirstRead, Seen, Triangle
from angsync.problem.operators.streamed import StreamedOperator
from angsync.problem.stored import StoredArray
from angsync.problem.workers import check_version, connected, threads_of, version, wait_for_one

_DESCRIBED_BY_BYTES = 50_000_000  # of the pickled array that goes with every task: more is the data itself
_LOOK_AFTER_SECONDS = 1.0  # while tasks are waited for: at the clock, and at the workers
_BLOCKS_PER_THREAD = 4  # so that workers get equal shares
_BLOCK_SHARE = 1 / 16  # of a worker's memory limit
_COPIES = 4  # of a block while it is read and checked: as stored, decoded, as an array, its mirror image
_WORKER_BYTES = 150_000_000  # an interpreter with NumPy, zarr and Dask
PANEL_ROWS = 32  # of a block that are widened at a time: 1 MB for a block of 2000 columns, which stays in the cache


class Block(NamedTuple):
    """A block on its worker: entries above the diagonal in their own precision, and what was seen of it."""

    entries: NDArray
    checksum: int
    seen: Seen
    """About the nodes of its rows and columns."""
    first_row: NDArray
    worker: str


def load(triangle: Triangle, rows: slice, columns: slice, compared: bool, expected: str) -> Block:
    """Read and check one block; both triangles are compared if both are given."""
    import dask
    from distributed import get_worker

    check_version(expected)
    with dask.config.set(scheduler="synchronous"):  # a dask array is computed here, not by other workers
        entries = np.ascontiguousarray(triangle.part(rows, columns))
        other = triangle.part(rows, columns, other=True) if compared else None
    first = FirstRead(triangle, complex_type(entries.dtype, "C"), compared, copied=False)
    for k in range(0, len(entries), PANEL_ROWS):  # what is made of a panel takes several times its memory
        at, here = slice(k, k + PANEL_ROWS), slice(rows.start + k, min(rows.stop, rows.start + k + PANEL_ROWS))
        first.look_at(here, columns, entries[at], None if other is None else other[at])
    checksum, first_row = zlib.crc32(entries.data), entries[:1].copy()
    if rows == columns:
        entries = np.triu(entries, 1)
    return Block(entries, checksum, first.seen.about(_nodes(rows, columns)), first_row, get_worker().address)


def _nodes(rows: slice, columns: slice) -> NDArray[np.int64]:
    return np.union1d(np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop))


def report(block: Block) -> Block:
    """Return what is known of a block, without its entries."""
    return block._replace(entries=block.entries[:0])


def multiply(
    block: Block, of_rows: NDArray[np.complex128], of_columns: NDArray[np.complex128], is_diagonal: bool, expected: str
) -> tuple[int, NDArray[np.complex128], NDArray[np.complex128]]:
    """Return both products of a block: with the part of x for its columns and, mirrored, for its rows."""
    check_version(expected)
    direct, mirrored, conjugate = np.zeros_like(of_rows), np.zeros_like(of_columns), np.conj(of_rows).T
    place = np.empty(PANEL_ROWS * block.entries.shape[1], dtype=np.complex128)  # fresh pages cost more than products
    with kernels.limited(1):  # BLAS with several threads gives other bits, and workers have a thread per task
        for begin in range(0, len(direct), PANEL_ROWS):
            rows, columns = slice(begin, begin + PANEL_ROWS), slice(begin if is_diagonal else 0, None)
            entries = block.entries[rows, columns]
            wide = place[: entries.size].reshape(entries.shape)
            np.copyto(wide, entries)
            direct[rows] = wide @ of_columns[columns]
            mirrored[columns] += (conjugate[..., rows] @ wide).T
    return block.checksum, direct, np.conj(mirrored)


class Grid:
    """The blocks of one matrix on the workers of a client."""

    def __init__(self, client: Any, triangle: Triangle, compared: bool) -> None:
        threads, n = threads_of(client), triangle.n
        limit = min(client.run(_memory_limit).values())
        self.side = _side(triangle, sum(threads.values()), limit)
        self.client = client
        cuts = [slice(k, min(n, k + self.side)) for k in range(0, n, self.side)]
        self.count = len(cuts)
        self._blocks = list(itertools.combinations_with_replacement(cuts, 2))
        homes = itertools.cycle(threads)
        self._held = [
            # not pure: after a change of the store, blocks of an earlier operator are not those of this one
            client.submit(
                load, triangle, *at, compared, version(), workers=[next(homes)], allow_other_workers=True, pure=False
            )
            for at in self._blocks
        ]
        self._checksums: list[int] = []

    def look(self, first: FirstRead) -> None:
        """Add up what was seen of all blocks, and compare a row from each worker with what is read here."""
        workers: set[str] = set()
        for (rows, columns), block in zip(self._blocks, self._answers(report), strict=True):
            self._checksums.append(block.checksum)
            first.seen.add(block.seen, _nodes(rows, columns))
            if block.worker not in workers:
                workers.add(block.worker)
                here = first.triangle.part(slice(rows.start, rows.start + 1), columns)
                if not np.array_equal(here, block.first_row, equal_nan=True):
                    raise InputError(
                        f"a worker ({block.worker}) reads other numbers than this process in row {rows.start} of C. Do "
                        "all workers see the same files? Open the store by an absolute path on a file system that "
                        "they share."
                    )

    def product(self, x: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        """Add to y what the triangle and its mirror image add to C x."""
        parts = ((x[rows], x[columns], rows == columns, version()) for rows, columns in self._blocks)
        answers = self._answers(multiply, *map(list, zip(*parts, strict=True)))
        for (rows, columns), checksum, (found, direct, mirrored) in zip(
            self._blocks, self._checksums, answers, strict=True
        ):
            if found != checksum:
                raise InputError(
                    f"C[{rows.start}:{rows.stop}, {columns.start}:{columns.stop}] is not what it was when it was read "
                    "first: the store was changed in the meantime. Call again when it is at rest."
                )
            y[rows] += direct
            y[columns] += mirrored

    def _answers(self, task: Callable[..., Any], *arguments: list[Any]) -> list[Any]:
        """Return the results of a task for every block; ``max_seconds`` and Ctrl-C end the waiting."""
        from distributed import KilledWorker

        futures = self.client.map(task, self._held, *arguments, pure=False)
        try:
            self._wait(futures)
            return list(self.client.gather(futures))
        except KilledWorker as error:
            raise InputError(
                f"workers died again and again while they had one block of C: {error}. Usually their memory is too "
                "small. Give workers more memory, or store C in smaller chunks."
            ) from None

    def _wait(self, futures: list[Any]) -> None:
        from distributed import wait

        while True:
            try:
                with self.client.as_current():  # it need not be the default one
                    wait(futures, timeout=_LOOK_AFTER_SECONDS)
                return
            except TimeoutError:
                time_limit.check()
                wait_for_one(self.client)


def _memory_limit(dask_worker: Any) -> int:
    from distributed.system import MEMORY_LIMIT

    return int(dask_worker.memory_manager.memory_limit or MEMORY_LIMIT)


def _side(triangle: Triangle, threads: int, limit: int) -> int:
    """Return the side of a block: some blocks per thread, small for a worker's memory, whole chunks if possible."""
    size, chunk = triangle.stored.dtype.itemsize, triangle.stored.chunks
    wanted = max(PANEL_ROWS, math.ceil(triangle.n / math.sqrt(2 * _BLOCKS_PER_THREAD * threads)))
    wanted = min(wanted, math.ceil(math.sqrt(limit * _BLOCK_SHARE / size)))
    side = round(wanted / max(chunk)) * max(chunk) or wanted
    least = _WORKER_BYTES + _COPIES * max(side**2, math.prod(chunk)) * size
    if limit < least:
        raise InputError(
            f"a worker has a memory limit of {limit / 1e9:.2f} GB, and needs {least / 1e9:.2f} GB to read blocks of "
            f"{side} x {side} entries. Give workers more memory, or store C in smaller chunks."
        )
    return side


class ClusterOperator(StreamedOperator):
    """A checked matrix on the workers of a cluster: see :func:`cluster_operator`."""

    def __init__(self, triangle: Triangle, dtype: np.dtype[Any], seen: Seen, grid: Grid) -> None:
        super().__init__(triangle, dtype, seen, None)
        self._grid = grid

    def apply(self, z: NDArray) -> NDArray:
        """Return C z for a vector or a block of them: one task per block, sums in double precision."""
        x = z.astype(np.complex128)
        y = self._seen.diagonal.reshape(-1, *(1 for _ in x.shape[1:])) * x
        self._grid.product(x, y)
        return y.astype(np.result_type(z, self._dtype), copy=False)

    def rounding_length(self) -> int:
        """Return the number of additions that a term of an entry of C z passes through, at most.

        In a block of side s it is one of s that are added in any order (a row times z), or one of the rows of a panel,
        whose sums are then added panel by panel (the mirror image). An entry is the sum of at most one more block than
        there are in a row, the one on the diagonal counted twice, and of the diagonal term.
        """
        inside = max(self._grid.side, PANEL_ROWS + math.ceil(self._grid.side / PANEL_ROWS))
        return min(self.n, inside + self._grid.count + 2)

    def without_diagonal(self) -> ClusterOperator:
        return ClusterOperator(self._triangle, self._dtype, self._seen.without_diagonal(), self._grid)


def cluster_operator(data: Any, hermitian: Hermitian, client: Any, absent: str | None = None) -> ClusterOperator:
    """Return a stored matrix on the workers of this client, read and checked by them."""
    client = connected(client)
    if not is_stored(data):
        raise InputError(
            f"a {type(data).__name__} does not go to a cluster: give an array of zarr, dask or xarray that every "
            "worker can read, or leave out client."
        )
    check_square(tuple(data.shape))
    stored = data if isinstance(data, StoredArray) else StoredArray(data, hermitian, absent)
    _check_description(stored)
    dtype, compared = complex_type(stored.dtype, "C"), hermitian == "full"
    triangle = Triangle(stored, lower=hermitian == "lower")
    grid, first = Grid(client, triangle, compared), FirstRead(triangle, dtype, compared, copied=False)
    grid.look(first)
    first.finish()
    return ClusterOperator(triangle, dtype, first.seen, grid)


def _check_description(stored: StoredArray) -> None:
    """Refuse an array that carries its data: workers get a description of it, and read it themselves."""
    try:
        size = len(pickle.dumps(stored))
    except Exception as error:  # whatever the library raises: h5py a TypeError, others their own
        raise InputError(
            f"a {type(stored.data).__module__} array cannot be sent to workers ({error}): copy it to a zarr store."
        ) from None
    if size > _DESCRIBED_BY_BYTES:
        raise InputError(
            f"the array carries {size / 1e6:.0f} MB with it, which every worker would get: write it to a zarr store, "
            "and open that."
        )
