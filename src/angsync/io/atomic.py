"""Outputs are complete, or not there at all.

A file is written to a temporary one beside its target and renamed; a folder that stayed empty is taken away again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from angsync.errors import OutputError


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if ``path`` could not be written later; creates nothing that stays."""
    path = Path(path)
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory. Give a file name.")
    folder = path.parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {path}: the directory {folder} does not exist. Create it first.")
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"cannot write {path}: the file is read-only.")
    try:
        descriptor, probe = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror} in {folder}.") from None
    os.close(descriptor)
    os.unlink(probe)
    return path


@contextmanager
def atomic_open(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file for writing and rename it to ``path`` when the block ends without an error."""
    path = check_writable(path)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files private; give the usual permissions
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


@contextmanager
def report_folder(folder: Path) -> Iterator[None]:
    """Make the folder, and take it away again if the block fails and left nothing in it."""
    made: list[Path] = []
    try:
        for path in reversed([folder, *folder.parents]):
            if not path.exists():
                path.mkdir()
                made.append(path)
        if not folder.is_dir():
            raise NotADirectoryError(0, "it is a file")
    except OSError as error:
        _remove(made)
        raise OutputError(f"cannot create the folder {folder}: {error.strerror}. Choose another with -o.") from None
    try:
        yield
    except BaseException:
        _remove(made)
        raise


def _remove(folders: list[Path]) -> None:
    for path in reversed(folders):
        if not any(path.iterdir()):
            path.rmdir()
