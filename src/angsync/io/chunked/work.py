"""Carry out a work: begin or resume, run the tasks, keep what is done whatever happens."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from angsync.errors import InputError, OutputError, UnfinishedError
from angsync.io.atomic import target_of
from angsync.io.chunked import agreement, arrays, coordinates, manifest, markers
from angsync.io.chunked.fingerprint import Fingerprint
from angsync.io.chunked.grid import Chunk, Field, Grid
from angsync.io.chunked.lock import locked
from angsync.io.chunked.runner import Runner, in_process
from angsync.io.chunked.task import ChunkTask, Compute, room
from angsync.io.coordinates import Coordinate

_NOTED_SHARE = 20  # times as long as the writing of failures took pass before they are written again


@dataclass(frozen=True, eq=False)
class Work:
    """What is to be done, and all that a resumed run has to agree with."""

    kind: str
    """The command, for people."""
    grid: Grid
    fields: Mapping[str, Field]
    compute: Compute
    source: Fingerprint
    """Of the input."""
    settings: Mapping[str, Any]
    """By the names that messages use; values that JSON has."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """What was decided for all chunks. A resumed run takes it from the plan; where it has to decide otherwise, because
    the first one saw a damaged input, every chunk is computed again."""
    coordinates: Mapping[str, Coordinate] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    reads: Callable[[Chunk], Sequence[str]] | None = None
    """The files of the input that a chunk needs, by the names of ``source.files``; None where that is not known."""
    look_again: Callable[[], Fingerprint] | None = None
    """What the input is when the run ends: compared with ``source``."""
    still: Callable[[Chunk, Mapping[str, Any]], bool] | None = None
    """Whether a chunk that is done, with this marker, is what the input gives now: asked before a resumed run where
    files of the input have other times, and where it has no files."""

    def plan(self) -> dict[str, Any]:
        from angsync import __version__

        return manifest.new_plan(
            self.kind, __version__, self.grid, self.fields, self.settings, self.source.facts, self.kept
        )


class Done(NamedTuple):
    """What became of a work."""

    reports: dict[str, dict[str, Any]]
    """Of all chunks that are done, those of earlier runs included, by their names."""
    failed: dict[str, str]
    """Chunks that failed in this run, with the reason."""
    missing: list[Chunk]
    """Those that are not done, the failed ones included."""
    computed: int
    """How many this run computed."""
    found: int
    """How many were done when it began."""
    interrupted: bool
    """Whether Ctrl-C or the time limit ended it."""


def check_output(
    path: str | os.PathLike[str], *, resume: bool = False, source: str | os.PathLike[str] | None = None
) -> Path:
    """Raise :class:`OutputError` now if a work could not be written to ``path``; creates nothing that stays.

    ``source`` is the path of the input, where there is one. Returns where the work goes: what a symbolic link points
    to, which need not exist yet.
    """
    path = target_of(Path(path))
    if source is not None and Path(source).resolve() in path.resolve().parents:
        raise OutputError(f"cannot write {path}: it lies inside the input {source}. Choose a place beside it.")
    try:
        plan = manifest.read_plan(path)
    except OutputError as error:
        raise OutputError(f"cannot write {path}: {error} Choose another name, or move it.") from None
    if plan is not None and not resume:
        raise OutputError(
            f"cannot write {path}: it is there already. Go on with it (--resume, resume=True), delete it, or choose "
            "another name."
        )
    folder = markers.folder_of(path) if plan is not None else path.parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {path}: the directory {folder} does not exist. Create it first.")
    try:
        descriptor, probe = tempfile.mkstemp(dir=folder, prefix=".probe.")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror} in the folder {folder.absolute()}.") from None
    os.close(descriptor)
    os.unlink(probe)
    return path


def carry_out(
    work: Work,
    path: str | os.PathLike[str],
    *,
    resume: bool = False,
    runner: Runner = in_process,
    progress: Callable[[int, int], None] | None = None,
    max_seconds: float | None = None,
) -> Done:
    """Do all chunks that are not done yet. ``progress`` is told how many are done, of how many."""
    begin = time.monotonic()
    if max_seconds is not None and not max_seconds >= 0:  # NaN neither
        raise InputError(f"max_seconds (--max-seconds) must be 0 or more, but it is {max_seconds}.")
    path = check_output(path, resume=resume)
    plan = manifest.read_plan(path)
    begun = plan is None
    if plan is None:
        plan = _begin(work, path)
    with locked(markers.folder_of(path)):
        if not begun:
            agreement.agree(work, plan, path)
            coordinates.restore(path, plan, work.coordinates)
            agreement.look_for_files(work, path)
        task = ChunkTask(str(path.absolute()), plan["id"], dict(work.fields), work.compute)
        chunks = list(work.grid)
        known = {chunk.name: markers.read(path, chunk.name, plan["id"]) for chunk in chunks}
        reports = {name: marker["report"] for name, marker in known.items() if marker is not None}
        left = [chunk for chunk in chunks if chunk.name not in reports]
        run = _Run(path, len(chunks), reports, progress, work.reads)
        try:
            run.interrupted = _run(run, runner, task, left, None if max_seconds is None else begin + max_seconds)
        except BaseException:
            if begun and not run.reports:  # such as a scheduler that does not answer: nothing is left to resume
                shutil.rmtree(path, ignore_errors=True)
            raise
        if left or manifest.read_failed(path):
            _note_failures(run, path)
        if run.fatal is not None:
            raise run.fatal
        agreement.still_the_same(work, path)
    missing = [chunk for chunk in chunks if chunk.name not in reports]
    reasons = {name: str(told["reason"]) for name, told in run.failed.items()}
    return Done(reports, reasons, missing, run.computed, len(chunks) - len(left), run.interrupted)


def _write_failures(run: _Run) -> None:
    before = {name: told for name, told in manifest.read_failed(run.path).items() if name not in run.reports}
    manifest.write_failed(run.path, {**before, **run.failed})  # those that this run did not come to are kept


def _note_failures(run: _Run, path: Path) -> None:
    try:
        _write_failures(run)
    except OSError as error:
        if run.fatal is None:
            raise UnfinishedError(
                f"cannot write {path}: {error.strerror or error}. Finished chunks are kept."
            ) from None


class _Run:
    """What a run has come to."""

    def __init__(self, path: Path, total: int, reports: dict[str, Any], progress: Any, reads: Any) -> None:
        self.path, self.total, self.reports, self.progress, self.reads = path, total, reports, progress, reads
        self.failed: dict[str, dict[str, Any]] = {}
        self._note_after = 0.0
        self.computed = 0
        self.interrupted = False
        self.fatal: OutputError | None = None

    def fail(self, chunk: Chunk, error: BaseException | None) -> None:
        """Noted at once, so that a run that is killed lets its input be mended; many of them now and then, as all are
        written each time."""
        self.failed[chunk.name] = _failure(chunk, error, self.reads)
        begin = time.monotonic()
        if begin >= self._note_after:
            with suppress(OSError):  # told at the end
                _write_failures(self)
            end = time.monotonic()
            self._note_after = end + _NOTED_SHARE * (end - begin)


def _run(run: _Run, runner: Runner, task: ChunkTask, left: list[Chunk], end: float | None) -> bool:
    """Whether something ended it before its end: Ctrl-C or the time."""
    if not left:
        return False
    outcomes = runner(task, left)
    try:
        with closing(outcomes):  # type: ignore[type-var]
            for k, outcome in enumerate(outcomes, 1):
                if isinstance(outcome.error, OutputError):
                    run.fatal = outcome.error
                    return False
                if outcome.report is None:
                    run.fail(outcome.chunk, outcome.error)
                else:
                    run.reports[outcome.chunk.name] = outcome.report["report"]
                    run.computed += bool(outcome.report["computed"])
                if run.progress is not None:
                    run.progress(len(run.reports) + len(run.failed), run.total)
                if end is not None and time.monotonic() >= end and k < len(left):
                    return True
    except KeyboardInterrupt:
        return True
    return False


def _failure(chunk: Chunk, error: BaseException | None, reads: Any) -> dict[str, Any]:
    """All that the chunk reads may be mended, whatever the failure was."""
    words = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
    keys = set(error.keys) if isinstance(error, arrays.DamagedChunkError) else set()
    keys |= set() if reads is None else set(reads(chunk))
    return {"place": [list(chunk.first), list(chunk.last)], "reason": words, "input": sorted(keys)}


def _begin(work: Work, path: Path) -> dict[str, Any]:
    """The store with everything but chunks: it gets its name when it is whole."""
    plan = work.plan()
    made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:100]}."))
    try:
        store = made / "store"
        arrays.create(store, work.fields, work.grid, work.attributes)
        plan["coordinates"] = coordinates.write(store, work.coordinates)
        folder = markers.folder_of(store)
        folder.mkdir()
        arrays.mark_as_group(folder)
        arrays.consolidate(store)
        manifest.write_files(store, work.source.files)
        markers.write_json(folder / f"{manifest.PLAN}.json", plan)
        with suppress(FileNotFoundError):
            path.rmdir()  # an empty folder of that name
        os.rename(store, path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise OutputError(f"cannot write {path}: another client began it just now. Resume it later.") from None
        raise OutputError(f"cannot write {path}: {error.strerror or error}{room(path.parent, error)}.") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    markers.sync_folder(path.parent)
    return plan
