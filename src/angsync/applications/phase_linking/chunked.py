"""Phase linking into a zarr store: one task a tile, from the samples to the phases, resumed where it was left."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from angsync import kernels
from angsync.applications.phase_linking.estimate import Settings
from angsync.applications.phase_linking.gathered import Gathered
from angsync.applications.phase_linking.order import Order, order_of, sample_of_images
from angsync.applications.phase_linking.stores import KIND, Written, described, fields_of
from angsync.applications.phase_linking.tiles import TILE, Images, Tile, pieces_of
from angsync.errors import InputError, MissingDependencyError
from angsync.io.chunked import arrays, manifest, markers, work
from angsync.io.chunked.fingerprint import of_array, of_values
from angsync.io.chunked.grid import Chunk, Grid
from angsync.io.chunked.runner import Runner, in_process
from angsync.io.chunked.source import Source
from angsync.io.chunked.task import Computed
from angsync.io.image_stack import ImageStack
from angsync.problem.memory import allowed, bytes_of

_BYTES = 5  # of memory for each byte of a tile of images: read, decoded, tested, phases and error bars, encoded
_BASE_BYTES = 1 << 26  # beside it: blocks of coherence matrices with their solvers, and what does not depend on size
_LEAST = 16  # rows and columns of a tile, whatever the memory
_SENT_BYTES = 1 << 24  # of images in memory that are sent to workers with every task


def _tile(chunk: Chunk) -> Tile:
    (top, left), (bottom, right) = chunk.first, chunk.last
    return Tile(top, bottom, left, right)


@dataclass(frozen=True, eq=False)
class LinkChunk:
    """The phases of one tile (:data:`angsync.io.chunked.task.Compute`)."""

    images: Images
    settings: Settings

    def __call__(self, chunk: Chunk) -> Computed:
        tile = _tile(chunk)
        n, single = self.images.data.shape[0], self.images.data.dtype == np.complex64
        found = Gathered.of((n, *tile.shape), single, None, None, keep_problems=False)
        read = self.images.read(tile)
        for piece in pieces_of(tile, self.images, self.settings, read):
            if found.add(piece):
                raise KeyboardInterrupt  # some pixels of it were not reached: it is not done
        return Computed(found.store.finish(), {**found.report(), "input": markers.checksum(read[0])})

    def still(self, chunk: Chunk, marker: Mapping[str, Any]) -> bool:
        """Whether the images of a tile are what its marker says it was computed from."""
        return marker["report"].get("input") == markers.checksum(self.images.read(_tile(chunk))[0])


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
    """Link what the store does not hold yet. The counts of all pixels, and what there is to say."""
    n, rows, columns = images.data.shape
    work.check_output(target.path, resume=target.resume, source=images.data.path)
    plan = manifest.read_plan(target.path)
    known = plan is not None and plan["kind"] == KIND
    if known and sides is None:
        assert plan is not None
        sides = manifest.grid_of(plan).sides  # type: ignore[assignment]
    sides = sides or (side_for(images, target.memory),) * 2
    source = of_array(images.data.data, images.data.path)
    doubtful = (
        not source.files
        or manifest.read_failed(target.path)
        or manifest.written_again(target.path, source.files)
        or manifest.new_files(target.path, source.files)
    )
    order = _order(images, plan if known else None, looks_again=bool(doubtful))
    settings = replace(settings, order=order.order)
    single = images.data.dtype == np.complex64
    told = told_of(images, settings, names)
    compute = LinkChunk(images, settings)
    todo = work.Work(
        kind=KIND,
        grid=Grid((rows, columns), (min(sides[0], rows), min(sides[1], columns))),
        fields=fields_of(n, (rows, columns), single, given.dims, given.beside),
        compute=compute,
        source=source,
        settings=told,
        kept={"order": None if order.order is None else order.order.tolist(), "note": order.note},
        coordinates=given.beside.arrays,
        attributes=described(told, images.data.path),
        reads=lambda chunk: (
            images.data.keys((slice(0, n), *images.around(_tile(chunk))))
            if arrays.is_zarr(images.data.data)
            else list(source.files)
        ),
        look_again=partial(of_array, images.data.data, images.data.path) if source.files else None,
        still=None if isinstance(images.data.data, np.ndarray) and not source.files else compute.still,
    )
    done = work.carry_out(
        todo, target.path, resume=target.resume, runner=_runner(target, images), progress=target.progress,
        max_seconds=target.max_seconds,
    )  # fmt: skip
    found = Gathered((n, rows, columns), Written(target.path), None)
    for report in done.reports.values():
        found.merge(report)
    found.interrupted = done.interrupted
    found.failed = done.failed
    found.failed_pixels = sum(chunk.size for chunk in done.missing if chunk.name in done.failed)
    return found, settings, (order.note, *_notes(done, len(todo.grid), target, begun=plan is None))


def side_for(images: Images, memory: Any) -> int:
    """Rows and columns of a tile, so that one task stays within so much memory."""
    n = images.data.shape[0]
    most = allowed(None if memory is None else bytes_of(memory))
    pixel = n * np.dtype(images.data.dtype).itemsize * _BYTES
    data = images.data.data if isinstance(images.data, Source) else images.data
    if memory is not None and arrays.is_zarr(data):
        whole = int(np.prod([min(a, b) for a, b in zip(arrays.sides_of(data), data.shape, strict=True)]))
        if _BASE_BYTES + whole * data.dtype.itemsize > most:
            raise InputError(
                f"memory={memory} is too little: one chunk of the images has "
                f"{whole * data.dtype.itemsize:,} bytes, and {_BASE_BYTES:,} are needed beside it. Allow more, or "
                "store the images in smaller chunks."
            )
    halo = max(images.window)
    side = int(max(0, most - _BASE_BYTES) / pixel) ** 0.5 - halo
    if side < _LEAST and memory is not None:
        least = _BASE_BYTES + pixel * (_LEAST + halo) ** 2
        raise InputError(f"memory={memory} is too little for a tile of {n} dates: it takes {least:,} bytes.")
    return int(min(TILE, max(side, _LEAST)))


def _order(images: Images, plan: Mapping[str, Any] | None, looks_again: bool) -> Order:
    """The order of dates behind the error bars: once decided, it holds for all chunks. Where it was decided on images
    that have been mended since, or may be others, it is decided anew as soon as all that it takes can be read."""
    if plan is None:
        return order_of(sample_of_images(images))
    if looks_again:
        sample = sample_of_images(images)
        if sample.is_whole:
            return order_of(sample)
    told = plan["kept"]
    return Order(None if told["order"] is None else np.asarray(told["order"], dtype=np.int64), told["note"])


def told_of(images: Images, settings: Settings, names: tuple[str, ...]) -> dict[str, Any]:
    """All that the bits of the result depend on beside the images."""
    return {
        "window": list(images.window), "method": settings.method, "beta": settings.beta,
        "reference": names[settings.reference], "certify": settings.certify, "looks": images.looks,
        "variable": images.data.variable, "mask": of_values(images.mask), "dates": list(names),
        "absent": images.data.absent,
        "kernels": "compiled" if kernels.COMPILED else "NumPy",
    }  # fmt: skip


def _runner(target: Target, images: Images) -> Runner:
    if target.client is None:
        return in_process
    source = images.data
    if source.path is None and isinstance(source.data, np.ndarray) and source.data.nbytes > _SENT_BYTES:
        raise InputError(
            f"the images are an array in memory ({source.data.nbytes:,} bytes), which every task would be sent. Store "
            "them where all workers read them (zarr), and pass that path."
        )
    try:
        on_cluster: Any = import_module("angsync.io.chunked.on_cluster")
    except ImportError:
        raise MissingDependencyError("distributed", "cluster", "work on a Dask cluster") from None
    runner: Runner = on_cluster.on_client(target.client)
    return runner


def _notes(done: work.Done, total: int, target: Target, begun: bool) -> tuple[str, ...]:
    notes = []
    if done.found == total:
        notes.append(f"nothing to do: all {total:,} chunks were done before.")
    elif done.found:
        notes.append(f"resumed: {done.found:,} of {total:,} chunks were done before.")
    elif target.resume and not begun:
        notes.append(f"resumed: none of {total:,} chunks was done before, or could be kept.")
    elif target.resume:
        notes.append("there was nothing to resume: begun anew.")
    if done.interrupted:
        notes.append("what is done is kept: --resume (resume=True) goes on.")
    if done.failed:
        name, reason = next(iter(done.failed.items()))
        notes.append(
            f"chunks failed: {len(done.failed):,} of {total:,} have no phases, {name} among them: {reason} All are "
            f"named in {manifest.failed_path(target.path)}; --resume (resume=True) tries them again."
        )
    return tuple(notes)
