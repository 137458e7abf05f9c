"""Every failure while reading a file becomes one :class:`FileFormatError` that names the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from angsync.errors import AngsyncError, FileFormatError, InputError


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong inside the block into a :class:`FileFormatError` about ``path``.

    Libraries that parse binary formats raise exceptions of many kinds on damaged files (OSError, KeyError,
    struct.error, zlib.error, ...), different in every version, so all of them are caught.
    """
    try:
        yield
    except FileFormatError:
        raise
    except InputError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except AngsyncError:
        raise
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} is not {kind}: byte {error.start} is not UTF-8 text. "
            "Save it as UTF-8, or give the file the suffix of its real format."
        ) from None
    except OSError as error:
        if error.strerror is None:
            raise _damaged(path, kind, error) from error
        raise FileFormatError(f"cannot read {path}: {error.strerror}. Check the path and its permissions.") from None
    except Exception as error:
        raise _damaged(path, kind, error) from error


def _damaged(path: Path, kind: str, error: Exception) -> FileFormatError:
    detail = str(error).strip().splitlines()
    return FileFormatError(
        f"cannot read {path} as {kind}: {detail[0].rstrip('.') if detail else type(error).__name__}. "
        "The file is truncated, damaged or of another format; make it again or mend its suffix."
    )


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path, once it is known to be a file that is there and has content."""
    path = Path(path)
    with reading(path, "a file"):
        if path.is_dir():
            raise FileFormatError(f"cannot read {path}: it is a directory. Give one file of it.")
        if not path.exists():
            raise FileFormatError(f"cannot read {path}: there is no such file. Check the name and the folder.")
        if path.is_file() and path.stat().st_size == 0:
            raise FileFormatError(f"{path} is empty (0 bytes): writing it was probably interrupted. Make it again.")
    return path


def listed(names: Iterable[object]) -> str:
    """Names for a message: quoted, separated by commas, or the word nothing."""
    return ", ".join(repr(str(name)) for name in names) or "nothing"
