"""Outputs are complete, or not there at all.

A file is written to a temporary one beside its target and renamed; where the path is a symbolic link, the target is
what it points to, and the link stays. A folder that stayed empty is taken away again.
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
    target = target_of(path)
    if target.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory. Give a file name.")
    if target.exists() and not target.is_file():
        raise OutputError(f"cannot write {path}: it is a pipe or a device. Give a file name.")
    folder = target.parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {path}: the directory {folder} does not exist. Create it first.")
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"cannot write {path}: the file is read-only.")
    try:
        descriptor, probe = _temporary(target)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror} in the folder {folder.absolute()}.") from None
    os.close(descriptor)
    os.unlink(probe)
    return path


def target_of(path: Path) -> Path:
    """Where the bytes go: through symbolic links to what they point to, which need not exist."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # realpath leaves a loop as it is
        raise OutputError(f"cannot write {path}: its symbolic links lead in a circle. Give another name.")
    return target


def _temporary(target: Path) -> tuple[int, str]:
    # the whole name could be too long with the letters that are added
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")


@contextmanager
def atomic_open(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file for writing and rename it to ``path`` when the block ends without an error."""
    path = check_writable(path)
    target = target_of(path)
    descriptor, temporary = _temporary(target)
    try:
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files private; give the usual permissions
        os.replace(temporary, target)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.strerror is not None:
            raise OutputError(
                f"cannot write {path}: {error.strerror}. Nothing was left there; what was there before is unchanged."
            ) from error
        if isinstance(error, UnicodeEncodeError):
            letter = error.object[error.start : error.end]
            raise OutputError(
                f"cannot write {path}: {letter!r} is no Unicode text (a lone surrogate). Mend it."
            ) from None
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
