"""Plain csv tables, which every program reads without being told how, and beside each what a table cannot say.

``phases.csv`` has a header and rows, nothing else. ``phases.csv.json`` says what the table is and holds its facts. It
carries the checksum of the table, so that it is never believed about another one: a table that was changed by hand, or
replaced, is read by its columns alone, with a warning.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from angsync.errors import AngsyncWarning, OutputError, warn_user
from angsync.io.atomic import atomic_open, check_writable
from angsync.io.csv_table import write_table
from angsync.io.failures import reading

_CHECKSUM = "sha256 of the table"
_BLOCK_BYTES = 2**20


def sidecar_of(path: str | os.PathLike[str]) -> Path:
    """Where the facts about a table are."""
    path = Path(path)
    return path.with_name(f"{path.name}.json")


def check_csv_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if a table and its facts could not be written later."""
    path = check_writable(path)
    beside = check_writable(sidecar_of(path))
    if beside.exists() and not _is_ours(beside):
        raise OutputError(
            f"cannot write {path}: what is to be said about the table goes to {beside}, which is a file of another "
            "program. Choose another name."
        )
    return path


def write_csv(
    path: str | os.PathLike[str], columns: dict[str, list[str]], facts: Mapping[str, Any] | None = None
) -> None:
    """Write the table, and its facts (JSON's types only) beside it; without facts no such file is left."""
    path = check_csv_path(path)
    beside = sidecar_of(path)
    with atomic_open(path) as stream:
        checked = _Checked(stream)
        write_table(checked, columns)
        if facts is not None:
            stream.flush()  # a full disk shows here, while the old files are still there
            with atomic_open(beside) as told:
                json.dump({**facts, _CHECKSUM: checked.checksum.hexdigest()}, told)
                told.write("\n")
    if facts is None and beside.exists():
        beside.unlink()


def facts_beside(path: Path) -> dict[str, Any] | None:
    """The facts about this table; None, with a warning, where they are about another one."""
    beside = sidecar_of(path)
    if not beside.is_file():
        return None
    with reading(beside, "the description of a table"):
        content = json.loads(beside.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or _CHECKSUM not in content:
        return None  # somebody else's
    if content.pop(_CHECKSUM) != _checksum(path):
        warn_user(
            f"{path} is not the table that {beside.name} was written for: it was changed or replaced, so only its "
            "columns are read.",
            AngsyncWarning,
        )
        return None
    return content


def _is_ours(path: Path) -> bool:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and _CHECKSUM in content


def _checksum(path: Path) -> str:
    """Of the text, whatever its line endings: they change on the way through some programs."""
    found = hashlib.sha256()
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        while block := stream.read(_BLOCK_BYTES):
            found.update(block.encode("utf-8", errors="surrogateescape"))
    return found.hexdigest()


class _Checked:
    """A stream that sums up what is written to it."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.checksum = hashlib.sha256()

    def write(self, text: str) -> int:
        self.checksum.update(text.encode())
        return self.stream.write(text)
