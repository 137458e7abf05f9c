"""Phase linking into a zarr store: one task a tile, from the samples to the phases, resumed where it was left."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from angsync import kernels
from angsync.applications.phase_linking.estimate import Settings
from angsync.applications.phase_linking.gathered import Gathered
from angsync.applications.phase_linking.order import order_of, sample_of_images
from angsync.applications.phase_linking.stores import KIND, Written, described, fields_of
from angsync.applications.phase_linking.tiles import TILE, Images, Tile, pieces_of
from angsync.errors import InputError
from angsync.io import chunks
from angsync.io.chunks import Chunk, Computed, Done, Grid, Work
from angsync.io.image_stack import ImageStack, Source
from angsync.problem.array_libraries import store_library
from angsync.problem.memory import allowed, bytes_of

_BYTES = 5  # of memory for each byte of a tile of images: read, decoded, tested, phases and error bars, encoded
_BASE_BYTES = 1 << 26  # in addition: blocks of coherence matrices with their solvers, and what does not depend on size
_LEAST = 16  # rows and columns of a tile, whatever the memory
_SENT_BYTES = 1 << 24  # of images in memory that are sent to workers with every task


def _tile(chunk: Chunk) -> Tile:
    (top, left), (bottom, right) = chunk.first, chunk.last
    return Tile(top, bottom, left, right)


@dataclass(frozen=True, eq=False)
class LinkChunk:
    """The phases of one tile (:class:`angsync.io.chunks.Compute`)."""

    images: Images
    settings: Settings

    def __call__(self, chunk: Chunk) -> Computed:
        tile = _tile(chunk)
        n, single = self.images.data.shape[0], self.images.data.dtype == np.complex64
        found = Gathered.of((n, *tile.shape), single, None, None, keep_problems=False)
        for piece in pieces_of(tile, self.images, self.settings):
            if found.add(piece):
                raise KeyboardInterrupt  # some pixels of it were not reached: it is not done
        return Computed(found.store.finish(), found.report())

    def stamp(self, chunk: Chunk) -> str:
        source = self.images.data
        box = (slice(0, source.shape[0]), *self.images.around(_tile(chunk)))
        return chunks.stamp_of(source.data, source.path, box)


@dataclass(frozen=True, eq=False)
class Target:
    """Where the phases go, and how."""

    path: str | os.PathLike[str]
    resume: bool = False
    memory: int | str | None = None
    client: Any = None
    max_seconds: float | None = None
    progress: Callable[[int, int], None] | None = None


def link_to_store(
    images: Images, settings: Settings, names: tuple[str, ...], sides: tuple[int, int] | None,
    given: ImageStack, target: Target,
) -> tuple[Gathered, Settings, tuple[str, ...]]:  # fmt: skip
    """Link what the store does not hold yet; return the counts of all pixels, and notes."""
    n, rows, columns = images.data.shape
    chunks.check_output(target.path, resume=target.resume, source=images.data.path)
    _check_sent(target, images)
    known = chunks.sides_of(target.path, KIND)
    height, width = sides or known or (side_for(images, target.memory),) * 2
    sample = sample_of_images(images)
    order = order_of(sample)
    settings = replace(settings, order=order.order)
    told = told_of(images, settings, names)
    facts = {
        **chunks.facts_of(images.data.data),
        "order of dates": None if order.order is None else order.order.tolist(),
    }
    if not chunks.stamp_of(images.data.data, images.data.path, (slice(0, n), slice(0, rows), slice(0, columns))):
        facts["sample of the input"] = chunks.checksum(sample.coherence)
    single = images.data.dtype == np.complex64
    work = Work(
        KIND, Grid((rows, columns), (min(height, rows), min(width, columns))),
        fields_of(n, (rows, columns), single, given.dims, given.beside), LinkChunk(images, settings),
        {**told, **facts}, given.beside.dataset, described(told, images.data.path),
    )  # fmt: skip
    done = chunks.carry_out(
        work, target.path, resume=target.resume, client=target.client, progress=target.progress,
        max_seconds=target.max_seconds,
    )  # fmt: skip
    found = Gathered((n, rows, columns), Written(target.path), None)
    for report in done.reports.values():
        found.merge(report)
    found.interrupted = done.interrupted
    found.failed = done.failed
    found.failed_pixels = sum(chunk.size for chunk in done.missing if chunk.name in done.failed)
    return found, settings, (order.note, *_notes(done, target, begun=known is None))


def side_for(images: Images, memory: Any) -> int:
    """Return the rows and columns of a tile, so that one task stays within so much memory."""
    n = images.data.shape[0]
    most = allowed(None if memory is None else bytes_of(memory))
    pixel = n * np.dtype(images.data.dtype).itemsize * _BYTES
    data = images.data.data if isinstance(images.data, Source) else images.data
    if memory is not None and store_library(data) == "zarr":
        whole = int(np.prod([min(a, b) for a, b in zip(data.shards or data.chunks, data.shape, strict=True)]))
        if _BASE_BYTES + whole * data.dtype.itemsize > most:
            raise InputError(
                f"memory={memory} is too little: one chunk of the images has "
                f"{whole * data.dtype.itemsize:,} bytes, and {_BASE_BYTES:,} are needed in addition. Allow more, or "
                "store the images in smaller chunks."
            )
    halo = max(images.window)
    side = int(max(0, most - _BASE_BYTES) / pixel) ** 0.5 - halo
    if side < _LEAST and memory is not None:
        least = _BASE_BYTES + pixel * (_LEAST + halo) ** 2
        raise InputError(f"memory={memory} is too little for a tile of {n} dates: it takes {least:,} bytes.")
    return int(min(TILE, max(side, _LEAST)))


def told_of(images: Images, settings: Settings, names: tuple[str, ...]) -> dict[str, Any]:
    """Return all that the bits of the result depend on, except the images."""
    return {
        "window": list(images.window), "method": settings.method, "beta": settings.beta,
        "reference": names[settings.reference], "certify": settings.certify, "looks": images.looks,
        "variable": images.data.variable, "dates": list(names), "absent": images.data.absent,
        "mask": None if images.mask is None else f"crc32 {chunks.checksum(images.mask):08x}",
        "kernels": "compiled" if kernels.COMPILED else "NumPy",
    }  # fmt: skip


def _check_sent(target: Target, images: Images) -> None:
    source = images.data
    in_memory = source.path is None and isinstance(source.data, np.ndarray)
    if target.client is not None and in_memory and source.data.nbytes > _SENT_BYTES:
        raise InputError(
            f"the images are an array in memory ({source.data.nbytes:,} bytes), which every task would be sent. Store "
            "them where all workers read them (zarr), and pass that path."
        )


def _notes(done: Done, target: Target, begun: bool) -> tuple[str, ...]:
    notes, total = [], len(done.reports) + len(done.missing)
    if done.found == total:
        notes.append(f"nothing to do: all {total:,} chunks were done before.")
    elif done.found:
        notes.append(f"resumed: {done.found:,} of {total:,} chunks were done before.")
    elif target.resume and not begun:
        notes.append(f"resumed: none of {total:,} chunks was done before.")
    elif target.resume:
        notes.append("there was nothing to resume: begun anew.")
    if done.interrupted:
        notes.append("finished chunks are kept: --resume (resume=True) does the others.")
    if done.failed:
        name, reason = next(iter(done.failed.items()))
        notes.append(
            f"chunks failed: {len(done.failed):,} of {total:,} have no phases, {name} among them: {reason} "
            "Linked.failed and angsync verify name all; --resume (resume=True) tries them again."
        )
    return tuple(notes)
