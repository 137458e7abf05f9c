"""Check an output against its markers: what is right, wrong, failed or not done."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from angsync.errors import FileFormatError, OutputError
from angsync.io.chunked import arrays, coordinates, lock, manifest, markers
from angsync.io.chunked.grid import Chunk, Field


class Verified(NamedTuple):
    """What was found, by the names of the chunks."""

    path: str
    kind: str
    """The command that wrote it."""
    total: int
    right: int
    wrong: dict[str, str]
    """Chunks that are not what their markers say, with what is wrong."""
    failed: dict[str, str]
    """Chunks that could not be done, with the reason."""
    unfinished: list[str]
    """Chunks without a marker that did not fail: not reached."""
    again: dict[str, int]
    """Chunks that were computed more than once, and how often."""
    writer: str
    """Who is writing it now; empty where nobody is."""
    coordinates: dict[str, str]
    """Coordinates that are not what was written, with what is wrong."""

    @property
    def is_complete(self) -> bool:
        """Whether every chunk is there and right, and every coordinate."""
        return self.right == self.total and not self.coordinates


def verify(path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> Verified:
    """Read every chunk that has a marker and compare checksums."""
    path = Path(path)
    if not path.is_dir():
        raise FileFormatError(f"there is no store {path}. Check the name.")
    try:
        plan = manifest.read_plan(path)
    except OutputError as error:
        raise FileFormatError(str(error)) from None
    if plan is None:
        raise FileFormatError(f"{path} is an empty folder.")
    fields, grid = manifest.fields_of(plan), manifest.grid_of(plan)
    opened = _opened(path, fields)
    known = manifest.read_failed(path)
    wrong, failed, unfinished, again = {}, {}, [], {}
    for done, chunk in enumerate(grid, 1):
        name = chunk.name
        marker = markers.read(path, name, plan["id"])
        if marker is None:
            if markers.path_of(path, name).exists():
                wrong[name] = "its marker is damaged or of another run"
            elif name in known:
                failed[name] = str(known[name].get("reason", ""))
            else:
                unfinished.append(name)
        else:
            problem = _compared(path, opened, fields, chunk, marker["crc32"])
            if problem:
                wrong[name] = problem
            if marker.get("computed", 1) != 1:
                again[name] = int(marker["computed"])
        if progress is not None:
            progress(done, len(grid))
    right = len(grid) - len(wrong) - len(failed) - len(unfinished)
    writer = lock.holder(markers.folder_of(path))
    beside = coordinates.check(path, plan.get("coordinates", {}))
    return Verified(str(path), plan["kind"], len(grid), right, wrong, failed, unfinished, again, writer, beside)


def _opened(path: Path, fields: Mapping[str, Field]) -> dict[str, Any]:
    opened: dict[str, Any] = {}
    for name in fields:
        try:
            opened.update(arrays.open_arrays(path, [name]))
        except Exception as error:  # whatever a damaged store makes the library raise
            raise FileFormatError(f"cannot open {name} of {path} ({type(error).__name__}: {error}).") from None
        if tuple(opened[name].shape) != fields[name].shape or opened[name].dtype != np.dtype(fields[name].dtype):
            raise FileFormatError(f"{name} of {path} is not the array that the plan of the store tells.")
    return opened


def _compared(
    path: Path, opened: Mapping[str, Any], fields: Mapping[str, Field], chunk: Chunk, told: Mapping[str, Any]
) -> str:
    """What is wrong with a chunk; empty where nothing is."""
    for name, field in fields.items():
        place = field.place(chunk)
        gone = [key for key, _ in arrays.pieces(opened[name], place) if not (path / key).is_file()]
        if gone:
            return f"the file {gone[0]} is missing"
        try:
            values = np.asarray(opened[name][place])
        except Exception as error:  # damaged chunks raise what their codec likes
            first = str(error).strip().splitlines()
            return f"{name} cannot be read ({type(error).__name__}: {first[0][:200] if first else ''})"
        if markers.checksum(values) != told.get(name):
            return f"{name} has another checksum than its marker says"
    return ""
