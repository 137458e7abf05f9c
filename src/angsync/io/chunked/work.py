"""Carry out a work: begin or resume, run the tasks, keep what is done whatever happens."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from angsync.errors import InputError, OutputError, UnfinishedError
from angsync.io.atomic import target_of
from angsync.io.chunked import arrays, coordinates, manifest, markers
from angsync.io.chunked.fingerprint import Fingerprint
from angsync.io.chunked.grid import Chunk, Field, Grid
from angsync.io.chunked.lock import locked
from angsync.io.chunked.runner import Runner, in_process
from angsync.io.chunked.task import ChunkTask, Compute, room
from angsync.io.coordinates import Coordinate


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
            _agree(work, plan, path)
            coordinates.restore(path, plan, work.coordinates)
            _look_for_files(work, path)
        task = ChunkTask(str(path.absolute()), plan["id"], dict(work.fields), work.compute)
        chunks = list(work.grid)
        known = {chunk.name: markers.read(path, chunk.name, plan["id"]) for chunk in chunks}
        reports = {name: marker["report"] for name, marker in known.items() if marker is not None}
        left = [chunk for chunk in chunks if chunk.name not in reports]
        run = _Run(len(chunks), reports, progress, work.reads)
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
        _still_the_same(work, path)
    missing = [chunk for chunk in chunks if chunk.name not in reports]
    reasons = {name: str(told["reason"]) for name, told in run.failed.items()}
    return Done(reports, reasons, missing, run.computed, len(chunks) - len(left), run.interrupted)


def _note_failures(run: _Run, path: Path) -> None:
    before = {name: told for name, told in manifest.read_failed(path).items() if name not in run.reports}
    try:
        manifest.write_failed(path, {**before, **run.failed})  # those that this run did not come to are kept
    except OSError as error:
        if run.fatal is None:
            raise UnfinishedError(
                f"cannot write {path}: {error.strerror or error}. Finished chunks are kept."
            ) from None


class _Run:
    """What a run has come to."""

    def __init__(self, total: int, reports: dict[str, dict[str, Any]], progress: Any, reads: Any) -> None:
        self.total, self.reports, self.progress, self.reads = total, reports, progress, reads
        self.failed: dict[str, dict[str, Any]] = {}
        self.computed = 0
        self.interrupted = False
        self.fatal: OutputError | None = None


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
                    run.failed[outcome.chunk.name] = _failure(outcome.chunk, outcome.error, run.reads)
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


def _agree(work: Work, plan: dict[str, Any], path: Path) -> None:
    """Refuse to mix two works in one output."""
    again = manifest.written_again(path, work.source.files) if work.still is not None else set()
    new = {**work.plan(), "id": plan["id"]}
    differ = manifest.differences(plan, new)
    differ += manifest.changed_files(path, work.source.files, again)
    if not differ and work.still is not None and (again or not work.source.files):
        differ = _made_of_others(work, plan, path, again)
    if differ:
        raise OutputError(
            f"cannot resume {path}: {_sentence(differ)}. Call it as it was called, or begin another output."
        )
    mended = manifest.mended_files(path, work.source.files)
    if new["kept"] != plan["kept"]:
        _forget(replace(work, reads=None), path, {"all"})
    elif mended:
        _forget(work, path, mended, plan["id"])
    if again or mended:
        manifest.write_files(path, work.source.files)
    if new != plan:  # absent, which may be another, and what was decided anew
        plan.update(new)
        markers.write_json(markers.folder_of(path) / f"{manifest.PLAN}.json", plan)


def _made_of_others(work: Work, plan: dict[str, Any], path: Path, files: set[str]) -> list[str]:
    """Which chunk that is done was made of other values than those that are in the input now; ``files``: where to
    look, or nowhere in particular."""
    assert work.still is not None
    of_chunks = set() if work.reads is None else {name for chunk in work.grid for name in work.reads(chunk)}
    everywhere = not files or not files <= of_chunks
    for chunk in work.grid:
        marker = markers.read(path, chunk.name, plan["id"])
        own = sorted(files if everywhere or work.reads is None else files.intersection(work.reads(chunk)))
        if marker is None or (files and not own) or work.still(chunk, marker):
            continue
        what = f"{own[0]} of the input was written again" if own else "the input is another one"
        return [f"{what}: chunk {chunk} was made of other values"]
    return []


def _look_for_files(work: Work, path: Path) -> None:
    """Take chunks for not done of which a file is gone."""
    try:
        opened = arrays.open_arrays(path, work.fields)
    except Exception as error:  # whatever a damaged store makes the library raise
        raise OutputError(
            f"cannot resume {path}: its arrays cannot be opened ({type(error).__name__}: {error}). Begin another "
            "output."
        ) from None
    for chunk in work.grid:
        if markers.path_of(path, chunk.name).exists():
            keys = (
                key for name in work.fields for key, _ in arrays.pieces(opened[name], work.fields[name].place(chunk))
            )
            if not all((path / key).is_file() for key in keys):
                markers.forget(path, chunk.name)


def _forget(work: Work, path: Path, files: set[str], plan: str | None = None) -> None:
    """Take the chunks that read one of these files for not done; all of them where it is not known what they read.
    With the identity of the plan: but those that are known to be made of what the files hold now."""
    if files:
        for chunk in work.grid:
            touched = work.reads is None or not files.isdisjoint(work.reads(chunk))
            if touched and (plan is None or not _is_still(work, path, chunk, plan)):
                markers.forget(path, chunk.name)


def _is_still(work: Work, path: Path, chunk: Chunk, plan: str) -> bool:
    marker = markers.read(path, chunk.name, plan)
    if work.still is None or marker is None:
        return False
    try:
        return work.still(chunk, marker)
    except InputError:  # it cannot be read
        return False


def _still_the_same(work: Work, path: Path) -> None:
    """Refuse answers from before and after a change of the input, which nobody could tell apart."""
    if work.look_again is None:
        return
    now = work.look_again()
    differ = manifest.changed_files(path, now.files)  # what failed may be mended while the rest is done
    if differ:
        files = set(manifest.changes(work.source.files, now.files))
        of_chunks = set() if work.reads is None else {name for chunk in work.grid for name in work.reads(chunk)}
        _forget(work if files <= of_chunks else replace(work, reads=None), path, files)
        raise OutputError(
            f"the input changed while {path} was written: {_sentence(differ)}. What was read of it is taken for not "
            "done. Begin another output with an input that nobody writes to."
        )


def _sentence(parts: Iterable[str]) -> str:
    return "; ".join(parts)
