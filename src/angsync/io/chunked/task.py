"""One chunk from its input to its marker, in whatever process."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import UnfinishedError
from angsync.io.chunked import arrays, markers
from angsync.io.chunked.grid import Chunk, Field


class Computed(NamedTuple):
    """What a chunk came to: one array a field, and a small report that its marker keeps."""

    fields: Mapping[str, NDArray]
    report: Mapping[str, Any]


Compute = Callable[[Chunk], Computed]
"""Reads and computes one chunk; it can be pickled, and gives the same bits wherever and whenever it runs."""


@dataclass(frozen=True)
class ChunkTask:
    """The task that runners run (:data:`angsync.io.chunked.runner.Task`)."""

    store: str
    plan: str
    """The identity of the plan, which markers carry."""
    fields: Mapping[str, Field]
    compute: Compute

    def __call__(self, chunk: Chunk) -> dict[str, Any]:
        """``{"chunk", "computed", "report"}``: ``computed`` is False where the chunk was done already."""
        marker = markers.read(self.store, chunk.name, self.plan)
        if marker is not None:
            return {"chunk": chunk.name, "computed": False, "report": marker["report"]}
        found = self.compute(chunk)
        values = {name: self._checked(name, found.fields[name], chunk) for name in self.fields}
        marker = markers.read(self.store, chunk.name, self.plan)
        if marker is not None:  # another worker was faster: what it wrote is not touched any more
            return {"chunk": chunk.name, "computed": True, "report": marker["report"]}
        checksums = {name: markers.checksum(array) for name, array in values.items()}
        with self._writing(chunk):
            self._write(chunk, values)
            marker = markers.write(self.store, chunk.name, self.plan, checksums, found.report)
        return {"chunk": chunk.name, "computed": True, "report": marker["report"]}

    def _checked(self, name: str, values: NDArray, chunk: Chunk) -> NDArray:
        field = self.fields[name]
        wanted = tuple(part.stop - part.start for part in field.place(chunk))
        if values.shape != wanted:
            raise RuntimeError(f"{name} of chunk {chunk} has the shape {values.shape} instead of {wanted}")
        return np.ascontiguousarray(values, dtype=field.dtype)

    def _write(self, chunk: Chunk, values: Mapping[str, NDArray]) -> None:
        opened = arrays.open_arrays(self.store, self.fields, "r+")
        for name, array in values.items():
            place = self.fields[name].place(chunk)
            files = [Path(self.store) / key for key, _ in arrays.pieces(opened[name], place)]
            for file in files:  # what a killed process left may be cut off, and zarr would read it to write its edge
                file.unlink(missing_ok=True)
            opened[name][place] = array
            for file in files:
                _onto_the_disk(file)

    @contextmanager
    def _writing(self, chunk: Chunk) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            wanted = sum(field.bytes_of(chunk) for field in self.fields.values())
            raise UnfinishedError(
                f"cannot write {self.store}: {error.strerror or error}. Chunk {chunk} has {wanted:,} bytes before "
                f"compression{room(self.store, error)}. Finished chunks are kept: mend that, and go on with --resume "
                "(resume=True)."
            ) from None


def room(place: str | os.PathLike[str], error: OSError) -> str:
    """How much is left where there is too little, in words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        with suppress(OSError):
            return f", and {shutil.disk_usage(place).free:,} bytes are free there"
    return ""


def _onto_the_disk(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
