"""How fast this machine is now: memory, the disk of a file, and small problems of the same kind as the file's.

Everything together takes a second or two. A machine that is busy is slow, and the forecast says what it saw.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncError, AngsyncWarning
from angsync.front_door import synchronize
from angsync.io.columns import ColumnNames
from angsync.io.failures import reading
from angsync.io.header import Header
from angsync.problem.measurements import Measurements
from angsync.problem.memory import free_bytes
from angsync.problem.operators.streamed import stored_operator
from angsync.problem.stored import StoredArray
from angsync.simulate import gaussian, grid

_PIECE = 1 << 23  # bytes that are read at a time
_DISK_SECONDS = 0.5  # for the disk
_SAMPLE_SECONDS = 0.4  # for the repetitions of a small problem
_COPIED = 1 << 26  # bytes of the array that is copied: more than a cache holds
DENSE_NODES = 1200
"""Order of the small dense problem: larger than a cache, and solved in a tenth of a second."""
SPARSE_EDGES = 60_000
"""Edges of the small graph."""
_STACK_BYTES = 1 << 24
_RADIANS = 0.3  # noise of the small graph


def memory_bandwidth() -> float:
    """Bytes a second that are read and written when an array is copied."""
    source, target = np.ones(_COPIED // 8), np.ones(_COPIED // 8)  # pages that are there already
    return 2 * _COPIED / _best(lambda: np.copyto(target, source), 0.1)


def read_bandwidth(header: Header) -> float:
    """Bytes a second from this file, in pieces from all over it.

    What fits into memory is read as it is, from the memory of the system where that holds it. Of a larger file the
    system is asked to forget the pieces first, because it cannot hold them all.
    """
    if header.path.is_dir():
        return _store_bandwidth(header)
    forget = header.stored > free_bytes()
    count, begin = 0, time.perf_counter()
    generator = np.random.default_rng(0)
    while time.perf_counter() - begin < _DISK_SECONDS and count < min(4 * header.stored, 1 << 30):
        size = header.stored
        with open(header.path, "rb", buffering=0) as stream:
            offset = int(generator.integers(max(1, size - _PIECE + 1)))
            if forget and sys.platform == "linux":
                os.posix_fadvise(stream.fileno(), offset, _PIECE, os.POSIX_FADV_DONTNEED)
            stream.seek(offset)
            count += len(stream.read(_PIECE))
    return max(1, count) / (time.perf_counter() - begin)


def _store_bandwidth(header: Header) -> float:
    """Bytes of the array a second, chunk by chunk through the library, which may have to decompress them."""
    import zarr

    store: Any = zarr.open(str(header.path), mode="r")
    array = store if isinstance(store, zarr.Array) else store[header.variable]
    generator = np.random.default_rng(0)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < _DISK_SECONDS:
        corner = [
            int(generator.integers(-(-side // chunk))) * chunk
            for side, chunk in zip(array.shape, array.chunks, strict=True)
        ]
        part = tuple(slice(at, at + chunk) for at, chunk in zip(corner, array.chunks, strict=True))
        with reading(header.path, "a zarr store"):  # a chunk that is damaged
            count += np.asarray(array[part]).nbytes
    return max(1, count) / (time.perf_counter() - begin)


def dense_seconds(dtype: np.dtype[Any]) -> float:
    """Of one dense problem of order :data:`DENSE_NODES`, with its proof."""
    C = gaussian(DENSE_NODES, 3.0, rng=0).C.astype(np.complex64 if dtype.itemsize <= 8 else np.complex128)
    return _seconds(lambda: synchronize(C))


class _Slices:
    """An array that is read part by part, out of memory."""

    def __init__(self, array: NDArray) -> None:
        self._array, self.shape, self.dtype, self.chunks = array, array.shape, array.dtype, (400, 400)

    def __getitem__(self, index: Any) -> NDArray:
        return self._array[index]


def streamed_seconds(dtype: np.dtype[Any]) -> float:
    """The same block by block, as of a matrix larger than memory, but with nothing to read from a disk."""
    C = gaussian(DENSE_NODES, 3.0, rng=0).C.astype(np.complex64 if dtype.itemsize <= 8 else np.complex128)
    return _seconds(lambda: synchronize(stored_operator(StoredArray(_Slices(C)), "full")))


def stack_seconds(n: int, dtype: np.dtype[Any]) -> float:
    """Of one problem of a stack, with its proof."""
    count = max(8, min(4000, _STACK_BYTES // max(1, n * n * dtype.itemsize)))
    one = np.stack([gaussian(n, 0.3 * n**0.5, rng=seed).C for seed in range(4)])
    stack = np.ascontiguousarray(np.tile(one, (count // 4, 1, 1)).astype(dtype if dtype.kind == "c" else complex))
    return _seconds(lambda: synchronize(stack)) / len(stack)


def sparse_seconds(degree: float) -> float:
    """Of one edge of a graph with so many measurements a node: a grid where they are few, otherwise random pairs."""
    if degree <= MESH_DEGREE:
        side = round((SPARSE_EDGES / 2) ** 0.5)
        measured = grid(side, side, sigma=_RADIANS, rng=0).measurements
    else:
        measured = random_graph(round(2 * SPARSE_EDGES / degree), SPARSE_EDGES, 0)
    return _seconds(lambda: synchronize(measured)) / len(measured)


MESH_DEGREE = 6.0
"""Measurements a node up to which a graph is taken for a mesh."""


def random_graph(n: int, edges: int, seed: int) -> Measurements:
    """Measurements of random pairs, with noise of 0.3 rad."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(n, size=edges), rng.integers(n - 1, size=edges)
    j = np.where(j >= i, j + 1, j)
    theta = rng.uniform(-np.pi, np.pi, n)
    return Measurements(i, j, theta[i] - theta[j] + _RADIANS * rng.standard_normal(edges), n=n)


def _seconds(solve: Callable[[], Any]) -> float:
    """The shortest time of a few solves; the first one, which loads code, is not counted."""

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AngsyncWarning)
            solve()

    run()
    return _best(run, _SAMPLE_SECONDS)


def _best(run: Callable[[], Any], seconds: float) -> float:
    best, end = float("inf"), time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        run()
        now = time.perf_counter()
        best = min(best, now - begin)
        if now > end:
            return best


_TEXT_ROWS = 20_000


def row_seconds(path: Path, columns: ColumnNames) -> float:
    """Of one row of a text, from reading its first rows."""
    from angsync.io import read

    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / f"part{path.suffix}"
        with open(path, "rb") as source, open(part, "wb") as target:
            target.writelines(lines := list(itertools.islice(source, _TEXT_ROWS)))
        try:
            return _best(
                lambda: read(part, i=columns.i, j=columns.j, angle=columns.angle, weight=columns.weight), 0.2
            ) / max(1, len(lines))
        except AngsyncError:  # cut within a row of several lines, or before the first edge: about what reading takes
            return 4e-6
