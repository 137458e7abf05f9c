"""Write a zarr store chunk by chunk, on this machine or on a Dask cluster: begin it, resume it, verify it.

One task computes one chunk of the grid. Every array of the output is cut as the grid is, so a task writes whole zarr
chunks and no two tasks share one. After its data are on the disk, a task writes a marker, a small JSON file; a chunk
without a valid marker is not done. The codec crc32c guards the bytes of the data.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
import tempfile
import threading
import time
import uuid
import warnings
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import (
    FileFormatError,
    InputError,
    MissingDependencyError,
    OutputError,
    UnfinishedError,
    in_one_line,
)
from angsync.io.atomic import target_of
from angsync.io.zarr_input import library
from angsync.problem.array_libraries import store_library
from angsync.problem.workers import check_version, connected, threads_of, version

TASKS = "_tasks"
"""The group of a store that holds the markers of its chunks."""
_PLAN = "angsync"  # the attribute of a store that says what it is made of
_MAY_CHANGE = {"absent": "error"}  # chunks that are done with this value have the same bits with any other one
_LETTERS = 60  # of a setting in a message


class Chunk(NamedTuple):
    """A box of the grid: its number along each axis, and where it begins and ends."""

    numbers: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @property
    def name(self) -> str:
        return "_".join(map(str, self.numbers))

    @property
    def box(self) -> tuple[slice, ...]:
        return tuple(map(slice, self.first, self.last))

    @property
    def size(self) -> int:
        return prod(last - first for first, last in zip(self.first, self.last, strict=True))

    def __str__(self) -> str:
        return f"{self.name} ([{', '.join(f'{part.start}:{part.stop}' for part in self.box)}])"


@dataclass(frozen=True)
class Grid:
    """A shape cut into boxes with these sides; the last box along an axis may be smaller."""

    shape: tuple[int, ...]
    sides: tuple[int, ...]

    def __iter__(self) -> Iterator[Chunk]:
        steps = [range(0, size, side) for size, side in zip(self.shape, self.sides, strict=True)]
        for numbers in product(*(range(len(step)) for step in steps)):
            first = tuple(step[k] for step, k in zip(steps, numbers, strict=True))
            last = tuple(min(a + s, n) for a, s, n in zip(first, self.sides, self.shape, strict=True))
            yield Chunk(numbers, first, last)


@dataclass(frozen=True)
class Field:
    """An array of the output, whose chunks are those of the grid along ``axes`` and whole along the others."""

    shape: tuple[int, ...]
    dtype: str
    axes: tuple[int, ...]
    dims: tuple[str, ...]
    fill: Any
    """The value of entries that are not written yet."""
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def layout(self) -> tuple[int | None, ...]:
        """The axis of the grid along each axis of the array, None along the others."""
        return tuple(self.axes.index(k) if k in self.axes else None for k in range(len(self.shape)))

    def along(self, of_grid: Sequence[Any], others: Sequence[Any]) -> tuple[Any, ...]:
        """Return what the axes of the grid have, and for each other axis what ``others`` have."""
        return tuple(other if k is None else of_grid[k] for k, other in zip(self.layout, others, strict=True))

    def place(self, chunk: Chunk) -> tuple[slice, ...]:
        return self.along(chunk.box, [slice(0, size) for size in self.shape])


class Computed(NamedTuple):
    """The values of a chunk, one array per field, and a small report in terms of JSON."""

    fields: Mapping[str, NDArray]
    report: Mapping[str, Any]


class Compute(Protocol):
    """What computes one chunk. It can be pickled, and gives the same bits wherever it runs."""

    def __call__(self, chunk: Chunk, /) -> Computed: ...

    def stamp(self, chunk: Chunk, /) -> str:
        """Return what changes if the input of this chunk does (:func:`stamp_of`)."""


@dataclass(frozen=True, eq=False)
class Work:
    """What a store is made of, and by what."""

    kind: str
    """The command, for messages."""
    grid: Grid
    fields: Mapping[str, Field]
    compute: Compute
    settings: Mapping[str, Any]
    """All that a resumed run has to agree with, by the names that messages use."""
    coordinates: Any = None
    """An ``xarray.Dataset`` of coordinates, or None."""
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def plan(self) -> dict[str, Any]:
        """Return what the store says of itself; a resumed run has to agree with all of its ``facts``."""
        from angsync import __version__

        beside = {} if self.coordinates is None else self.coordinates.variables
        coordinates = {f"coordinate {name} (crc32)": _checksum(values) for name, values in beside.items()}
        plan = {
            "kind": self.kind, "shape": self.grid.shape, "sides": self.grid.sides,
            "fields": {name: one.layout for name, one in self.fields.items()}, "coordinates": list(map(str, beside)),
            "facts": {
                "command": self.kind, "version of angsync": __version__, **self.settings, **coordinates,
                "shape of the output": self.grid.shape, "size of the chunks": self.grid.sides,
            },
        }  # fmt: skip
        as_read_again: dict[str, Any] = json.loads(json.dumps(plan))
        return as_read_again


class Done(NamedTuple):
    """What became of a work."""

    reports: dict[str, dict[str, Any]]
    """The reports of all chunks that are done, those of earlier runs included, by the names of the chunks."""
    failed: dict[str, str]
    """The chunks that failed in this run, with the reason."""
    missing: list[Chunk]
    """The chunks that are not done, the failed ones included."""
    found: int
    """How many chunks were done at the beginning of this run."""
    interrupted: bool
    """Whether Ctrl-C or the time limit ended this run."""

    @property
    def computed(self) -> int:
        return len(self.reports) - self.found


# Begin, resume, carry out


def check_output(
    path: str | os.PathLike[str], *, resume: bool = False, source: str | os.PathLike[str] | None = None
) -> Path:
    """Raise :class:`OutputError` if a work could not be written to ``path``; return where its links lead."""
    path = target_of(Path(path))
    if source is not None and Path(source).resolve() in path.resolve().parents:
        raise OutputError(f"cannot write {path}: it lies inside the input {source}. Choose another folder.")
    is_there = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if is_there:
        try:
            plan_of(path)
        except FileFormatError as error:
            raise OutputError(f"cannot write {path}: {error} Choose another name, or move it.") from None
    if is_there and not resume:
        raise OutputError(
            f"cannot write {path}: it is there already. Delete it, choose another name, or resume it:",
            python="pass resume=True.",
            command="add --resume.",
        )
    folder = path if is_there else path.parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {path}: the directory {folder} does not exist. Create it first.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"cannot write {path}: you may not write to the folder {folder.absolute()}.")
    return path


def carry_out(
    work: Work,
    path: str | os.PathLike[str],
    *,
    resume: bool = False,
    client: Any = None,
    progress: Callable[[int, int], None] | None = None,
    max_seconds: float | None = None,
) -> Done:
    """Compute all chunks that are not done; ``progress`` receives how many are done, and of how many.

    ``client`` is a ``distributed.Client`` or the address of a scheduler; None works in this process.
    """
    end = None if max_seconds is None else time.monotonic() + max_seconds
    if max_seconds is not None and not max_seconds >= 0:  # NaN neither
        raise InputError(f"max_seconds (--max-seconds) must be 0 or more, but it is {max_seconds}.")
    path = check_output(path, resume=resume)
    begun = not path.exists() or not any(path.iterdir())
    if begun:
        _begin(work, path)
    with _alone(path), _writing(path):
        if not begun:
            _agree(work, path)
        chunks = list(work.grid)
        layouts = {name: one.layout for name, one in work.fields.items()}
        done = {chunk: marker for chunk in chunks if (marker := _marker(path, layouts, chunk))}
        _check_input(work, path, done)
        found = len(done)
        left = [chunk for chunk in chunks if chunk not in done]
        task = _Task(str(path.absolute()), plan_of(path)["id"], layouts, work.compute)
        outcomes = _in_turn(task, left) if client is None else _on_cluster(task, left, client)
        failed: dict[str, str] = {}
        interrupted = False
        try:
            with closing(outcomes):
                for chunk, outcome in outcomes:
                    if isinstance(outcome, OutputError):
                        raise outcome
                    if isinstance(outcome, BaseException):
                        failed[chunk.name] = _reason(chunk, outcome)
                        _write_json(_path_of(path, chunk), {"failed": failed[chunk.name]})
                    else:
                        done[chunk] = outcome
                    if progress is not None:
                        progress(len(done) + len(failed), len(chunks))
                    if end is not None and time.monotonic() >= end:
                        break
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:
            if begun and not done:  # such as a scheduler that does not answer: there is nothing to resume
                shutil.rmtree(path, ignore_errors=True)
            raise
        _check_input(work, path, done, unmark=True)
    missing = [chunk for chunk in chunks if chunk not in done]
    reports = {chunk.name: marker["report"] for chunk, marker in done.items()}
    return Done(reports, failed, missing, found, interrupted or len(failed) < len(missing))


def _begin(work: Work, path: Path) -> None:
    """Create the store without chunks; it gets its name when it is whole."""
    zarr = library(path)
    from zarr.codecs import Crc32cCodec, ZstdCodec

    made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:100]}."))
    store = made / "store"
    try:
        group = zarr.open_group(str(store), mode="w", zarr_format=3)
        group.create_group(TASKS)
        for name, one in work.fields.items():
            group.create_array(
                name, shape=one.shape, chunks=one.along(work.grid.sides, one.shape), dtype=one.dtype,
                fill_value=one.fill, compressors=[ZstdCodec(level=0), Crc32cCodec()], dimension_names=one.dims,
                attributes=dict(one.attributes),
            )  # fmt: skip
        _describe(work, store, uuid.uuid4().hex)
        with suppress(FileNotFoundError):
            path.rmdir()  # an empty folder with that name
        os.rename(store, path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise OutputError(f"cannot write {path}: another client has just begun it. Resume it later.") from None
        raise OutputError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _describe(work: Work, store: Path, identity: str) -> None:
    """Write the attributes and the coordinates of a store, in place of those of an earlier run."""
    zarr = library(store)
    from zarr.codecs import Crc32cCodec, ZstdCodec

    group = zarr.open_group(str(store), mode="r+", use_consolidated=False)
    group.attrs.update({**work.attributes, _PLAN: {**work.plan(), "id": identity}})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the specification of format 3 does not have consolidated metadata yet
        if work.coordinates is not None:
            for name in work.coordinates.variables:
                shutil.rmtree(store / str(name), ignore_errors=True)
            codecs = {"compressors": [ZstdCodec(level=0), Crc32cCodec()]}
            work.coordinates.assign_attrs(group.attrs.asdict()).to_zarr(
                str(store), mode="a", consolidated=False, zarr_format=3, write_empty_chunks=True,
                encoding=dict.fromkeys(work.coordinates.variables, codecs),
            )  # fmt: skip
        zarr.consolidate_metadata(str(store))  # where xarray looks for them first


def _agree(work: Work, path: Path) -> None:
    """Refuse to mix two works in one output."""
    plan = plan_of(path)
    old, new = plan["facts"], work.plan()["facts"]
    differ = [
        f"{name} was {_short(old.get(name))} and is {_short(new.get(name))}"
        for name in {**old, **new}
        if old.get(name) != new.get(name) and (name not in _MAY_CHANGE or old.get(name) != _MAY_CHANGE[name])
    ]
    if differ:
        raise OutputError(f"cannot resume {path}: {'; '.join(differ)}. Repeat the first call, or begin another output.")
    try:
        read(path, work.fields)
    except Exception as error:  # a damaged store makes the library raise any exception
        raise OutputError(f"cannot resume {path}: {in_one_line(error)}. Begin another output.") from None
    if old != new or not all((path / name).exists() for name in plan["coordinates"]):
        _describe(work, path, plan["id"])


def _checksum(variable: Any) -> int:
    """Return the crc32 of the values of a coordinate."""
    values = np.asarray(variable)
    return checksum(np.ascontiguousarray(values.astype(str) if values.dtype == object else values))


def _short(value: Any) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."


def _check_input(work: Work, path: Path, done: Mapping[Chunk, Mapping[str, Any]], *, unmark: bool = False) -> None:
    """Refuse chunks whose input is not what they were made of; ``unmark``: they are not done."""
    changed = [chunk for chunk, marker in done.items() if marker["stamp"] != work.compute.stamp(chunk)]
    for chunk in changed if unmark else ():
        _path_of(path, chunk).unlink(missing_ok=True)
    if changed:
        raise OutputError(
            f"cannot resume {path}: the input was written again since chunk {changed[0]} was made of it. Restore the "
            "input with the times of its files (cp -a, rsync -a), or begin another output."
        )


def _reason(chunk: Chunk, error: BaseException) -> str:
    if type(error).__name__ in ("KilledWorker", "CancelledError", "FutureCancelledError"):
        return (
            f"workers died again and again with chunk {chunk}, or Dask lost it ({type(error).__name__}). Usually "
            "their memory is too small: give them more, or take smaller chunks."
        )
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the output; :class:`OutputError` if another client does."""
    lock = _lock(path / TASKS / "lock")
    try:
        lock.acquire(timeout=0)
    except TimeoutError:
        raise OutputError(f"{path} is being written by another client. Wait for it, or end it.") from None
    try:
        yield
    finally:
        lock.release()


def _lock(path: Path) -> Any:
    try:
        from filelock import FileLock
    except ImportError:
        raise MissingDependencyError("filelock", "stack", f"writing {path.parent.parent}") from None
    return FileLock(path)


# One chunk, in whatever process


@dataclass(frozen=True)
class _Task:
    store: str
    identity: str
    """The identity of the store: another one of the same name is not touched."""
    layouts: Mapping[str, Sequence[int | None]]
    compute: Compute

    def __call__(self, chunk: Chunk) -> dict[str, Any]:
        """Compute a chunk, write it, and return its marker; only the marker if the chunk is done."""
        path = Path(self.store)
        if marker := _marker(path, self.layouts, chunk):
            return marker
        stamp = self.compute.stamp(chunk)
        found = self.compute(chunk)
        if self.compute.stamp(chunk) != stamp:
            raise InputError("the input was written to while it was read. Resume when that has ended.")
        # Dask may give up a worker that still computes, and a client that was killed leaves its tasks behind
        with _writing(path), _lock(path / TASKS / f"{chunk.name}.lock") as lock:
            marker = _marker(path, self.layouts, chunk)
            if not marker:
                self._write(path, chunk, found.fields)
                marker = {"stamp": stamp, "report": dict(found.report)}
                _write_json(_path_of(path, chunk), marker)
            Path(lock.lock_file).unlink(missing_ok=True)
        return marker

    def _write(self, path: Path, chunk: Chunk, values: Mapping[str, NDArray]) -> None:
        if plan_of(path)["id"] != self.identity:
            raise OutputError(f"{path} was replaced by another output while chunk {chunk} was computed.")
        arrays = _to_write(self.store, self.identity, tuple(self.layouts))
        for name, (numbers, file) in _files(path, self.layouts, chunk).items():
            arrays[name].blocks[numbers] = np.asarray(values[name], dtype=arrays[name].dtype)
            _onto_the_disk(file)  # its name need not be: a marker without the file does not count


@functools.lru_cache(maxsize=1)
def _to_write(store: str, identity: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Open the arrays of a store once per process; another store with the same name has another identity.

    They write chunks of fill values too: a missing file is then always a fault.
    """
    zarr, every = library(store), {"write_empty_chunks": True}
    return {
        name: zarr.Array(zarr.AsyncArray(metadata=one.metadata, store_path=one.store_path, config=every))
        for name, one in read(store, names, "r+").items()
    }


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that says what is kept."""
    try:
        yield
    except OSError as error:
        room = ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            room = f", and {shutil.disk_usage(path).free:,} bytes are free there"
        raise UnfinishedError(
            f"cannot write {path}: {error.strerror or error}{room}. Finished chunks are kept: fix that, then resume.",
            python="Pass resume=True.", command="Add --resume.",
        ) from None  # fmt: skip


def _onto_the_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _in_turn(task: _Task, chunks: Sequence[Chunk]) -> Generator[tuple[Chunk, Any], None, None]:
    """Yield each chunk with its marker, or with what was raised."""
    for chunk in chunks:
        try:
            outcome: Any = task(chunk)
        except Exception as error:
            outcome = error
        yield chunk, outcome


def _on_cluster(task: _Task, chunks: Sequence[Chunk], client: Any) -> Generator[tuple[Chunk, Any], None, None]:
    """Let Dask schedule the tasks, and repeat those whose workers die."""
    used = connected(client)
    from concurrent.futures import CancelledError

    from distributed import as_completed

    try:
        threads_of(used)  # waits for a worker, and refuses those of another version
        # not pure: Dask would take the result of an earlier run for that of this one, and write nothing
        futures = used.map(_on_worker, chunks, task=task, expected=version(), pure=False)
        of_future = {future.key: chunk for future, chunk in zip(futures, chunks, strict=True)}
        try:
            with used.as_current():
                for future in as_completed(futures):
                    try:
                        outcome: Any = future.result()
                    except (Exception, CancelledError) as error:
                        outcome = error
                    future.release()  # or Dask would repeat it if the worker that remembers its marker is lost
                    yield of_future[future.key], outcome
        finally:
            with suppress(Exception):  # the cluster may be gone
                used.cancel([future for future in futures if not future.done()], force=True)
    finally:
        if isinstance(client, str):
            used.close()


def _on_worker(chunk: Chunk, task: _Task, expected: str) -> dict[str, Any]:
    check_version(expected)
    with kernels.limited(1):  # Dask has a thread of the worker for each task, and counts on it
        return task(chunk)


# What is in a store


def plan_of(path: Path) -> dict[str, Any]:
    """Return what a store is made of."""
    try:
        plan = dict(library(path).open_group(str(path), mode="r", use_consolidated=False).attrs[_PLAN])
        if not {"id", "kind", "facts", "shape", "sides", "fields", "coordinates"} <= plan.keys():
            raise KeyError(f"of the plan there are only {sorted(plan)}")
        return plan
    except (MissingDependencyError, PermissionError):
        raise
    except Exception:  # a damaged store makes the library raise any exception
        words = "is not a zarr store that angsync wrote chunk by chunk, or its metadata are damaged"
        raise FileFormatError(f"{path} {words}.") from None


def sides_of(path: str | os.PathLike[str], kind: str) -> tuple[int, ...] | None:
    """Return the sides of the chunks of an output of this kind, or None if there is none."""
    try:
        plan = plan_of(Path(path))
    except FileFormatError:
        return None
    return tuple(plan["sides"]) if plan["kind"] == kind else None


def read(path: str | os.PathLike[str], names: Iterable[str], mode: str = "r") -> dict[str, Any]:
    """Return arrays of a store, to be read in parts."""
    return {name: library(path).open_array(os.path.join(path, name), mode=mode) for name in names}


def _path_of(path: Path, chunk: Chunk) -> Path:
    """Return the place of a marker."""
    return path / TASKS / f"{chunk.name}.json"


def _files(
    path: Path, layouts: Mapping[str, Sequence[int | None]], chunk: Chunk
) -> dict[str, tuple[tuple[int, ...], Path]]:
    """Return what each array has of a chunk: the numbers of its own chunk, and the file."""
    own = {name: tuple(0 if k is None else chunk.numbers[k] for k in layout) for name, layout in layouts.items()}
    return {name: (numbers, path.joinpath(name, "c", *map(str, numbers))) for name, numbers in own.items()}


def _marker(path: Path, layouts: Mapping[str, Sequence[int | None]], chunk: Chunk) -> dict[str, Any]:
    """Return the marker of a chunk that is done and whose files are there, else an empty one."""
    marker = _read_json(_path_of(path, chunk))
    is_done = _is_done(marker) and all(file.is_file() for _, file in _files(path, layouts, chunk).values())
    return marker if is_done else {}


def _is_done(marker: Mapping[str, Any]) -> bool:
    return {"stamp", "report"} <= marker.keys()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file whole or not at all; it is on the disk before this returns."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        temporary.write_text(json.dumps(content), "utf-8")
        _onto_the_disk(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


# What an input is


def facts_of(data: Any) -> dict[str, Any]:
    """Return what a resumed run has to find again in its input, by the names that messages use."""
    facts: dict[str, Any] = {"shape of the input": list(data.shape), "dtype of the input": str(np.dtype(data.dtype))}
    if store_library(data) == "zarr":
        facts["metadata of the input"] = zlib.crc32(json.dumps(data.metadata.to_dict(), default=str).encode())
    elif isinstance(data, np.ndarray) and not isinstance(data, np.memmap):
        facts["values of the input"] = checksum(data)
    return facts


def checksum(values: NDArray) -> int:
    """Return the crc32 of an array and of its mask."""
    mask = np.ma.getmaskarray(values).tobytes() if isinstance(values, np.ma.MaskedArray) else b""
    crc = zlib.crc32(mask)
    for part in np.atleast_1d(np.ma.getdata(values)):  # one image at a time
        crc = zlib.crc32(np.ascontiguousarray(part).tobytes(), crc)
    return crc


def stamp_of(data: Any, path: str | os.PathLike[str] | None, box: tuple[slice, ...]) -> str:
    """Return the sizes and times of the files behind a box of an array, as one number; empty if it has no files."""
    root = getattr(data.store, "root", None) if store_library(data) == "zarr" else None
    if root is not None:
        from angsync.problem.zarr_arrays import files_of

        files = [root / key for key, _ in files_of(data, box)]
    elif store_library(data) == "h5py":
        files = [Path(data.file.filename)]
    elif path is None:
        return ""
    else:
        files = sorted(Path(path).iterdir()) if Path(path).is_dir() else [Path(path)]
    told = [(file.name, *_size_and_time(file)) for file in files]
    return f"{zlib.crc32(json.dumps(told).encode()):08x}"


def _size_and_time(file: Path) -> tuple[int, int]:
    try:
        told = file.stat()
    except OSError:  # absent, or it may not be read: reported when it is read
        return -1, -1
    return told.st_size, told.st_mtime_ns


# Verify


class Verified(NamedTuple):
    """What was found in a store, by the names of the chunks."""

    path: str
    kind: str
    """The command that wrote it."""
    total: int
    right: int
    wrong: dict[str, str]
    """Chunks that are marked as done, with what is wrong with them."""
    failed: dict[str, str]
    """Chunks that could not be computed, with the reason."""
    unfinished: list[str]
    """Chunks that no run has reached."""
    coordinates: dict[str, str]
    """Coordinates that cannot be read, with what is wrong with them."""

    @property
    def is_complete(self) -> bool:
        """Return True if every chunk and every coordinate is there and right."""
        return self.right == self.total and not self.coordinates


def verify(
    path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None, *, unmark: bool = False
) -> Verified:
    """Read every chunk that is marked as done. ``unmark`` lets a resumed run compute the wrong ones again."""
    path = Path(path)
    if not path.is_dir():
        raise FileFormatError(f"there is no store {path}. Check the name.")
    plan = plan_of(path)
    chunks = list(Grid(tuple(plan["shape"]), tuple(plan["sides"])))
    try:
        opened = read(path, plan["fields"])
    except Exception as error:  # a damaged store makes the library raise any exception
        raise FileFormatError(f"cannot open {path}: {in_one_line(error)}.") from None
    wrong, failed, unfinished = {}, {}, []
    for done, chunk in enumerate(chunks, 1):
        marker = _read_json(_path_of(path, chunk))
        files = _files(path, plan["fields"], chunk).items()
        if "failed" in marker:
            failed[chunk.name] = str(marker["failed"])
        elif not _is_done(marker):
            unfinished.append(chunk.name)
        elif reason := next(filter(None, (_fault(path, opened[name], *own) for name, own in files)), ""):
            wrong[chunk.name] = reason
            if unmark:
                _path_of(path, chunk).unlink()
        if progress is not None:
            progress(done, len(chunks))
    beside = {name: reason for name in plan["coordinates"] if (reason := _fault_of_coordinate(path, name))}
    for name in beside if unmark else ():
        shutil.rmtree(path / name, ignore_errors=True)
    right = len(chunks) - len(wrong) - len(failed) - len(unfinished)
    return Verified(str(path), plan["kind"], len(chunks), right, wrong, failed, unfinished, beside)


def _fault(path: Path, array: Any, numbers: tuple[int, ...], file: Path) -> str:
    """Return what is wrong with a chunk of an array, or an empty text."""
    name = file.relative_to(path).as_posix()
    if not file.is_file():
        return f"the file {name} is missing"
    try:
        array.blocks[numbers] if numbers else array[...]
    except Exception as error:  # each codec has its own
        return f"the file {name} cannot be read ({in_one_line(error)})"
    return ""


def _fault_of_coordinate(path: Path, name: str) -> str:
    try:
        array = read(path, [name])[name]
    except Exception as error:
        return f"it cannot be opened ({in_one_line(error)})"
    every = np.ndindex(*(-(-size // side) for size, side in zip(array.shape, array.chunks, strict=True)))
    faults = (_fault(path, array, numbers, path.joinpath(name, "c", *map(str, numbers))) for numbers in every)
    return next(filter(None, faults), "")
