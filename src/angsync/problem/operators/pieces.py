"""The upper triangle of a large matrix in pieces, one a worker of a cluster: what runs on the workers.

The triangle is a grid of square blocks. A piece is a set of them that lie together, so that it needs few parts of a
vector and gives few parts of a product. A worker reads its blocks once and keeps as many as fit its memory; the others
it reads again at every product. The numbers are the same either way.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.operators.cutting import PANEL_ROWS, Block
from angsync.problem.operators.first_read import FirstRead, Triangle
from angsync.problem.workers import check_version, worker_address

# Shares of a worker's memory limit. Dask pauses a worker at 0.8, ends it at 0.95; at 0.7 it moves results to disk,
# which a piece outlives (see Piece).
_KEPT_SHARE = 0.75
_WORKER_BYTES = 150_000_000  # an interpreter with NumPy, zarr and Dask
_STRIPS_AT_ONCE = 8  # copies of a strip while it is read and checked: as stored, decoded, as an array, its mirror image

_SAMPLES = 3  # blocks of a piece of which the client reads a row itself

Answer = TypeVar("Answer")


class Panel(NamedTuple):
    """Some rows of a block, in their own precision, from this row and column of the block on."""

    row: int
    column: int
    entries: NDArray


@dataclass(frozen=True)
class Plan:
    """What a piece is: which blocks of which matrix, in runs that are added up one after the other, a thread each."""

    name: str
    version: str
    triangle: Triangle
    side: int
    strip: int
    """Rows of a block that are read at a time."""
    runs: tuple[tuple[Block, ...], ...]
    keeps: bool = True
    """Whether blocks may be kept; False once workers were lost by it."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for run in self.runs for block in run)

    @property
    def touched(self) -> tuple[int, ...]:
        """Rows of blocks whose entries of a vector are needed, and whose entries of the product are made."""
        return tuple(sorted({k for block in self.blocks for k in block}))

    def rows(self, k: int) -> slice:
        return slice(k * self.side, min(self.triangle.n, (k + 1) * self.side))

    @property
    def block_bytes(self) -> int:
        return self.side**2 * self.triangle.stored.dtype.itemsize

    @property
    def strip_bytes(self) -> int:
        return self.side * self.strip * self.triangle.stored.dtype.itemsize

    def strips(self, block: Block) -> Iterator[tuple[slice, slice]]:
        """Rows and columns of C that are read one after the other."""
        rows, columns = (self.rows(k) for k in block)
        for begin in range(rows.start, rows.stop, self.strip):
            yield slice(begin, min(rows.stop, begin + self.strip)), columns


# Blocks of pieces that Dask has pickled: to move them to disk, or to another worker. Neither is of any use, because
# they are on disk already. So the description alone is pickled, and the blocks wait here for it to come back.
_waiting: dict[str, dict[Block, list[Panel]]] = {}
_keeping = threading.Lock()


class Piece:
    """A piece on its worker: the result of a task that can be run again anywhere, because it only reads."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.checksums: dict[Block, int] = {}
        self.bytes_read = 0
        self._kept: dict[Block, list[Panel]] = {}

    def __getstate__(self) -> tuple[Plan, dict[Block, int]]:
        _waiting[self.plan.name] = self._kept
        return self.plan, self.checksums

    def __setstate__(self, state: tuple[Plan, dict[Block, int]]) -> None:
        self.plan, self.checksums = state
        self.bytes_read = 0
        self._kept = _waiting.pop(self.plan.name, {})

    def __sizeof__(self) -> int:
        """For Dask: where a product should be computed, and what the worker's memory is full of."""
        return 1000 + sum(panel.entries.nbytes for panels in self._kept.values() for panel in panels)

    def read(self, rows: slice, columns: slice, *, other: bool = False) -> NDArray:
        """Entries as they are stored."""
        import dask

        with dask.config.set(scheduler="synchronous"):  # a dask array is computed here, not by other workers
            return self.plan.triangle.part(rows, columns, other=other)

    def panels(self, block: Block) -> Iterator[Panel]:
        """The entries of a block above the diagonal; they are kept where there is room."""
        kept = self._kept.get(block)
        if kept is not None:
            yield from kept
            return
        checksum, panels, keeps = 0, [], self.plan.keeps
        for rows, columns in self.plan.strips(block):
            part = np.ascontiguousarray(self.read(rows, columns))
            self.bytes_read += part.nbytes
            checksum = zlib.crc32(part.data, checksum)
            for panel in _cut(part, rows.start - self.plan.rows(block[0]).start, diagonal=block[0] == block[1]):
                if keeps:
                    panels.append(panel)
                yield panel
            with _keeping:
                keeps = keeps and _has_room(self.plan)
        if self.checksums.setdefault(block, checksum) != checksum:
            raise self.changed(block)
        if keeps:
            self._kept[block] = panels

    def changed(self, block: Block) -> InputError:
        """What is said about a block that reads otherwise than before."""
        rows, columns = (self.plan.rows(k) for k in block)
        return InputError(
            f"C[{rows.start}:{rows.stop}, {columns.start}:{columns.stop}] is not what it was when it was read first: "
            "the store was changed in the meantime, or a read went wrong. Call again when it is at rest."
        )


def _cut(part: NDArray, row: int, *, diagonal: bool) -> Iterator[Panel]:
    """A strip that begins at this row of its block, in panels; of a block on the diagonal, what is above it."""
    for k in range(0, part.shape[0], PANEL_ROWS):
        entries = part[k : k + PANEL_ROWS]
        yield Panel(row + k, row + k, np.triu(entries[:, row + k :], 1)) if diagonal else Panel(row + k, 0, entries)


def _has_room(plan: Plan) -> bool:
    """Whether what was just read may stay in memory, so that more can still be read."""
    import psutil

    limit = _memory_limit()
    others = [name for name in _waiting if name != plan.name]
    while True:
        used = int(psutil.Process().memory_info().rss)
        if used + _STRIPS_AT_ONCE * plan.strip_bytes <= _KEPT_SHARE * limit:
            return True
        if not others:
            return False
        _waiting.pop(others.pop(), None)  # of a problem that may be forgotten, and can be read again if it is not


def _memory_limit() -> int:
    """Bytes that this worker may use: what Dask was told, or the memory of the machine."""
    import psutil
    from distributed import get_worker

    with contextlib.suppress(ValueError, AttributeError):  # on no worker; a worker without a limit
        limit = get_worker().memory_manager.memory_limit
        if limit:
            return int(limit)
    return int(psutil.virtual_memory().total)


# The tasks.


def load(plan: Plan) -> Piece:
    """Read the blocks of a piece, and keep as many as there is room for."""
    check_version(plan.version)
    limit, least = _memory_limit(), _WORKER_BYTES + _STRIPS_AT_ONCE * plan.strip_bytes
    if limit < least:
        raise InputError(
            f"a worker has a memory limit of {limit / 1e9:.2f} GB, and needs {least / 1e9:.2f} GB to read blocks of "
            f"{plan.side} x {plan.side} entries. Give workers more memory, or store C in smaller chunks."
        )
    piece = Piece(plan)
    _side_by_side([lambda run=run: _read_all(piece, run) for run in plan.runs])  # type: ignore[misc]
    return piece


def _read_all(piece: Piece, blocks: Sequence[Block]) -> None:
    for block in blocks:
        for _ in piece.panels(block):
            pass


@dataclass
class Look:
    """What one piece shows of C: numbers that are added to those of the others."""

    asymmetry: float
    is_real: bool
    first_row: int
    suspects: list[NDArray]
    checksums: dict[Block, int]
    samples: dict[Block, NDArray]
    """The first row of some blocks as it was read."""
    worker: str
    rows: dict[int, tuple[NDArray, ...]] = field(default_factory=dict)
    """For each row of blocks: diagonal, sums, largest entries, product with the probe."""


def look(piece: Piece, probe: dict[int, NDArray], dtype: np.dtype[Any], compared: bool) -> Look:
    """All that has to be known of C, from the blocks of one piece; both triangles are compared where both are given."""
    plan = piece.plan
    check_version(plan.version)
    first = FirstRead(plan.triangle, dtype, compared, copied=False)
    for k, values in probe.items():
        first.probe[plan.rows(k)] = values
    with np.errstate(over="ignore", invalid="ignore"):  # entries near overflow are refused when all are known
        for block in plan.blocks:
            _look_at_block(first, piece, block, compared)
    some = {plan.blocks[k] for k in np.linspace(0, len(plan.blocks) - 1, _SAMPLES).astype(int).tolist()}
    samples = {block: piece.read(_first_row(plan, block), plan.rows(block[1])) for block in sorted(some)}
    seen = Look(
        first.asymmetry, first.is_real, first.first_row, first.suspects, piece.checksums, samples, worker_address()
    )
    for k in plan.touched:
        at = plan.rows(k)
        seen.rows[k] = (first.diagonal[at], first.sums[at], first.row_maxima[at], first.image[at])
    return seen


def _first_row(plan: Plan, block: Block) -> slice:
    begin = plan.rows(block[0]).start
    return slice(begin, begin + 1)


def _look_at_block(first: FirstRead, piece: Piece, block: Block, compared: bool) -> None:
    """Panel by panel: what is made of one takes several times its memory."""
    kept = piece.panels(block) if block[0] != block[1] else None  # of one on the diagonal too little is kept
    for rows, columns in piece.plan.strips(block):
        other = piece.read(rows, columns, other=True) if compared else None
        given = piece.read(rows, columns) if kept is None else None
        for k in range(0, rows.stop - rows.start, PANEL_ROWS):
            at = slice(k, k + PANEL_ROWS)
            here = slice(rows.start + k, min(rows.stop, rows.start + k + PANEL_ROWS))
            entries = next(kept).entries if kept is not None else given[at]  # type: ignore[index]
            first.look_at(here, columns, entries, None if other is None else other[at])
    for _ in kept or ():  # to the end of it, where the checksum is looked at
        pass


class Share(NamedTuple):
    """What one piece adds to a product."""

    rows: dict[int, NDArray[np.complex128]]
    seconds: float
    """How long the worker took for it."""
    bytes_read: int
    """What was not kept, and read again."""
    worker: str


def multiply(piece: Piece, x: dict[int, NDArray[np.complex128]], checksums: dict[Block, int]) -> Share:
    """Both products of every block: with the parts of x for its columns and, mirrored, for its rows."""
    check_version(piece.plan.version)
    begin, before = time.perf_counter(), piece.bytes_read
    tallies = _side_by_side([lambda run=run: _run(piece, run, x) for run in piece.plan.runs])  # type: ignore[misc]
    for block, expected in checksums.items():
        if piece.checksums.get(block, expected) != expected:
            raise piece.changed(block)
    total = tallies[0]
    for tally in tallies[1:]:  # in the order of the runs
        for k, values in tally.items():
            total[k] = total[k] + values if k in total else values
    return Share(total, time.perf_counter() - begin, piece.bytes_read - before, worker_address())


def _run(
    piece: Piece, blocks: Sequence[Block], x: dict[int, NDArray[np.complex128]]
) -> dict[int, NDArray[np.complex128]]:
    y: dict[int, NDArray[np.complex128]] = {}
    # one place for all panels: pages of fresh memory cost more than the products
    place = np.empty(PANEL_ROWS * piece.plan.side, dtype=np.complex128)
    for i, j in blocks:
        direct, mirrored = (y.setdefault(k, np.zeros_like(x[k])) for k in (i, j))
        conjugate, right = np.conj(x[i]).T, x[j]
        turned = np.zeros_like(right)
        for row, column, entries in piece.panels((i, j)):
            wide = place[: entries.size].reshape(entries.shape)
            np.copyto(wide, entries)
            rows = slice(row, row + len(entries))
            direct[rows] += wide @ right[column:]
            turned[column:] += (conjugate[..., rows] @ wide).T
        mirrored += np.conj(turned)
    return y


def _side_by_side(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """What the calls give, a thread each; BLAS has one thread in each."""
    with _one_blas_thread():
        if len(calls) == 1:
            return [calls[0]()]
        with ThreadPoolExecutor(len(calls)) as pool:
            return [future.result() for future in [pool.submit(call) for call in calls]]


def _one_blas_thread() -> contextlib.AbstractContextManager[Any]:
    """Workers without a nanny let BLAS take all cores, which gives other bits than one thread, and less speed."""
    limits = _thread_limits()
    return contextlib.nullcontext() if limits is None else limits(limits=1, user_api="blas")


@functools.cache  # to look for a library that is not there takes longer than a small product
def _thread_limits() -> Any:
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return None
    return threadpool_limits
