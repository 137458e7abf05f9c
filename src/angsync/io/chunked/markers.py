"""One small file a chunk that says that it is done, with a checksum of each field; written after everything else."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.io.strict_json import to_json

FOLDER = "_manifest"
"""Where markers and all that belongs to a work lie in its store."""


def folder_of(store: str | os.PathLike[str]) -> Path:
    return Path(store) / FOLDER


def path_of(store: str | os.PathLike[str], name: str) -> Path:
    """Of the marker of a chunk, by the name of the chunk."""
    return folder_of(store) / f"{name}.json"


def checksum(values: NDArray) -> int:
    """crc32 of the values in C order, little endian: what any reader of the store can compute."""
    return crc32(values.astype(values.dtype.newbyteorder("<"), copy=False))


def crc32(values: NDArray, before: int = 0) -> int:
    """Of the bytes of an array in C order, after those that gave ``before``."""
    return zlib.crc32(np.ascontiguousarray(values).data.cast("B") if values.size else b"", before)


def write(
    store: str | os.PathLike[str], name: str, plan: str, checksums: Mapping[str, int], report: Mapping[str, Any]
) -> dict[str, Any]:
    """Mark a chunk as done. ``computed`` counts how often that happened: more than once only where it was asked for."""
    before = read_any(store, name)
    times = before.get("computed", 0) if before is not None else 0
    marker = {
        "chunk": name, "plan": plan, "computed": int(times) + 1, "crc32": dict(checksums), "report": dict(report),
    }  # fmt: skip
    write_json(path_of(store, name), marker)
    return marker


def read(store: str | os.PathLike[str], name: str, plan: str) -> dict[str, Any] | None:
    """The marker of a chunk of this plan; None where there is none, or one that is not whole or of another plan."""
    marker = read_any(store, name)
    valid = marker is not None and marker.get("plan") == plan and marker.get("chunk") == name
    return marker if valid and isinstance(marker.get("crc32"), dict) else None  # type: ignore[union-attr]


def read_any(store: str | os.PathLike[str], name: str) -> dict[str, Any] | None:
    return read_json(path_of(store, name))


def forget(store: str | os.PathLike[str], name: str) -> None:
    """Take a chunk for not done."""
    path_of(store, name).unlink(missing_ok=True)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a small file of ours; None where it is not there or not whole."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all, and on the disk before this returns: a temporary file, fsync, rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.write(to_json(content))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """The names in a folder onto the disk; some file systems do not take that, and need no such thing."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
