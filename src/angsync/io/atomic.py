"""Write files completely or not at all: to a temporary file in the same folder, which is then renamed.

If the path is a symbolic link, the link stays and its target is written.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from angsync.errors import OutputError
from angsync.io.formats import in_words


def check_writable(path: str | os.PathLike[str], *suffixes: str) -> Path:
    """Raise :class:`OutputError` now if ``path`` could not be written later, or has none of the suffixes, if given."""
    path = Path(path)
    if suffixes and path.suffix.lower() not in suffixes:
        raise OutputError(
            f"cannot write {path}: the format is {in_words(suffixes)}, not {path.suffix!r}. Change the suffix."
        )
    target = target_of(path)
    if target.is_dir():
        raise OutputError(f"cannot write {path}: it is a directory. Give a file name.")
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {path}: the directory {target.parent} does not exist. Create it first.")
    if target.exists() and not target.is_file():
        raise OutputError(f"cannot write {path}: it is a pipe or a device. Give a file name.")
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"cannot write {path}: the file is read-only.")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {target.parent} is read-only.")
    return path


def target_of(path: Path) -> Path:
    """Return the path behind symbolic links; it need not exist."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():  # realpath leaves a loop as it is
        raise OutputError(f"cannot write {path}: its symbolic links form a loop. Give another name.")
    return target


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to, which is renamed to ``path`` when the block ends without an error."""
    target = target_of(check_writable(path))
    # the whole name could be too long with the letters that are added
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}")
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.strerror is not None:
            raise OutputError(f"cannot write {path}: {error.strerror}. An earlier file there is unchanged.") from error
        if isinstance(error, UnicodeEncodeError):
            letter = error.object[error.start : error.end]
            raise OutputError(f"cannot write {path}: {letter!r} (a lone surrogate) is not Unicode text.") from None
        raise


@contextmanager
def atomic_open(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file for writing and rename it to ``path`` when the block ends without an error."""
    encoding = None if "b" in mode else "utf-8"
    with atomic_path(path) as temporary, open(temporary, mode.replace("w", "x"), encoding=encoding) as stream:
        yield stream


@contextmanager
def report_folder(folder: Path) -> Iterator[None]:
    """Make the folder, and remove it if the block fails and left it empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create the folder {folder}: {error.strerror}. Choose another with -o.") from None
    try:
        yield
    except BaseException:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
