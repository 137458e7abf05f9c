"""What a work is, kept in its store: the plan that a resumed run must agree with, the input's files, what failed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from angsync.errors import OutputError
from angsync.io.chunked import arrays
from angsync.io.chunked.grid import Field, Grid
from angsync.io.chunked.markers import folder_of, read_json, write_json
from angsync.io.strict_json import cleaned

PLAN, FAILED, FILES = "plan", "failed", "input"
"""Names of the files beside the markers."""
_FORMAT = 1  # of the plan: a later version of angsync that writes another one raises it
_ALLOWED = [("absent", "error", "empty"), ("absent", "error", "zeros")]
"""Finished chunks have the same bits either way: nothing was absent."""
_NAMED = 5  # changes that a message names


def new_plan(
    kind: str, version: str, grid: Grid, fields: Mapping[str, Field], settings: Mapping[str, Any],
    source: Mapping[str, Any], kept: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """What is written once, when the work begins. ``kept`` is what a resumed run takes from here and does not ask."""
    plan: dict[str, Any] = cleaned({
        "format": _FORMAT, "id": uuid.uuid4().hex, "kind": kind, "version": version,
        "grid": {"shape": grid.shape, "sides": grid.sides},
        "fields": {name: {"shape": f.shape, "dtype": f.dtype, "axes": f.axes} for name, f in fields.items()},
        "settings": dict(settings), "input": dict(source), "kept": dict(kept),
    })  # fmt: skip
    return plan


def read_plan(store: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The plan of a store; None where nothing is there at all. :class:`OutputError` where it is not one of ours."""
    path = Path(store)
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return None
    place = folder_of(path) / f"{PLAN}.json"
    plan = read_json(place)
    if plan is None and place.is_file():
        raise OutputError(
            f"{place} is damaged: it says what {path} is made of, and without it nothing can be gone on with or "
            "checked. Restore that file, or begin anew."
        )
    if plan is None:
        what = (
            "a file"
            if not path.is_dir()
            else "a zarr store"
            if arrays.is_store(path)
            else "no zarr store, but a folder"
        )
        raise OutputError(
            f"{path} is {what} that was not written chunk by chunk by angsync: it has no "
            f"{folder_of(path).name}/{PLAN}.json."
        )
    if plan.get("format") != _FORMAT:
        raise OutputError(
            f"{path} was written by angsync {plan.get('version')}, in a form (number {plan.get('format')}) that this "
            f"version does not know. Take that version."
        )
    return plan


def grid_of(plan: Mapping[str, Any]) -> Grid:
    return Grid(tuple(plan["grid"]["shape"]), tuple(plan["grid"]["sides"]))


def fields_of(plan: Mapping[str, Any]) -> dict[str, Field]:
    return {
        name: Field(tuple(told["shape"]), told["dtype"], tuple(told["axes"])) for name, told in plan["fields"].items()
    }


def failed_path(store: str | os.PathLike[str]) -> Path:
    return folder_of(store) / f"{FAILED}.json"


def write_failed(store: str | os.PathLike[str], failed: Mapping[str, Mapping[str, Any]]) -> None:
    """The chunks that failed, by name, each with the reason; no file where there are none."""
    path = failed_path(store)
    if failed:
        write_json(path, {"chunks": dict(failed)})
    else:
        path.unlink(missing_ok=True)


def read_failed(store: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    content = read_json(failed_path(store))
    return {} if content is None else dict(content.get("chunks", {}))


def write_files(store: str | os.PathLike[str], files: Mapping[str, Any]) -> None:
    write_json(folder_of(store) / f"{FILES}.json", files)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What a resumed run does not agree with, in words; empty where it may go on."""
    found = []
    if old["kind"] != new["kind"]:
        return [f"it is the output of {old['kind']}, not of {new['kind']}"]
    if old["version"] != new["version"]:
        found.append(f"angsync was {old['version']} and is {new['version']}")
    for part, words in (("settings", "{}"), ("input", "the {} of the input")):
        names = [*old[part], *(name for name in new[part] if name not in old[part])]
        for name in names:
            before, now = old[part].get(name), new[part].get(name)
            if before != now and (name, before, now) not in _ALLOWED:
                found.append(f"{words.format(name)} was {_short(before)} and is {_short(now)}")
    if not found and old["fields"] != new["fields"]:
        found.append("the arrays of the output are others")
    if old["grid"] != new["grid"]:
        found.append(f"the chunks were {old['grid']['sides']} and are {new['grid']['sides']}")
    return found


def changed_files(store: str | os.PathLike[str], files: Mapping[str, Any], but: Collection[str] = ()) -> list[str]:
    """Which files of the input are not what they were, in words. Those that failed chunks needed may be mended."""
    old = _old_files(store)
    left_out = {*mended_files(store, files), *but}
    changed = [name for name in changes(old, files) if name not in left_out]
    words = [f"{name} of the input {_change(old.get(name), files.get(name))}" for name in changed[:_NAMED]]
    return [*words, f"{len(changed) - _NAMED} more"] if len(changed) > _NAMED else words


def mended_files(store: str | os.PathLike[str], files: Mapping[str, Any]) -> set[str]:
    """Files of the input that are not what they were, and that failed chunks needed."""
    needed = {key for told in read_failed(store).values() for key in told.get("input", [])}
    return needed.intersection(changes(_old_files(store), files))


def written_again(store: str | os.PathLike[str], files: Mapping[str, Any]) -> set[str]:
    """Files of the input that have the size they had and another time, as after a copy: the values may be the same."""
    old, mended = _old_files(store), mended_files(store, files)
    return {
        name for name in changes(old, files)
        if name not in mended and name in old and name in files and old[name][0] == files[name][0]
    }  # fmt: skip


def new_files(store: str | os.PathLike[str], files: Mapping[str, Any]) -> set[str]:
    """Files of the input that were not there."""
    return set(files) - set(_old_files(store))


def _old_files(store: str | os.PathLike[str]) -> dict[str, Any]:
    return read_json(folder_of(store) / f"{FILES}.json") or {}


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The names of files that are new, gone or not what they were."""
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


def _change(old: Any, new: Any) -> str:
    if old is None or new is None:
        return "is new" if old is None else "is gone"
    return f"had {old[0]:,} bytes and has {new[0]:,}" if old[0] != new[0] else "was written again"


def _short(value: Any) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
