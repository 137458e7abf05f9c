"""Whether a resumed run goes on with what an earlier one began: nothing of another input is mixed with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from angsync.errors import InputError, OutputError
from angsync.io.chunked import arrays, manifest, markers
from angsync.io.chunked.grid import Chunk

if TYPE_CHECKING:
    from angsync.io.chunked.work import Work


def agree(work: Work, plan: dict[str, Any], path: Path) -> None:
    """Refuse to mix two works in one output."""
    again = manifest.written_again(path, work.source.files) if work.still is not None else set()
    restored = _restored(work, plan, path)
    new = {**work.plan(), "id": plan["id"]}
    differ = manifest.differences(plan, new)
    differ += manifest.changed_files(path, work.source.files, again | restored)
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
    if again or mended or restored:
        manifest.write_files(path, work.source.files)
    if new != plan:  # absent, which may be another, and what was decided anew
        plan.update(new)
        markers.write_json(markers.folder_of(path) / f"{manifest.PLAN}.json", plan)


def _restored(work: Work, plan: dict[str, Any], path: Path) -> set[str]:
    """Files that were absent when the work began, and that no chunk that is done needs."""
    new = manifest.new_files(path, work.source.files)
    if not new or work.reads is None:
        return set()
    for chunk in work.grid:
        if markers.read(path, chunk.name, plan["id"]) is not None:
            new -= set(work.reads(chunk))
    return new.intersection(name for chunk in work.grid for name in work.reads(chunk))


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


def look_for_files(work: Work, path: Path) -> None:
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


def still_the_same(work: Work, path: Path) -> None:
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
