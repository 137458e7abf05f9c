"""Turn every failure while reading a file into one :class:`FileFormatError` that names the file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from angsync.errors import AngsyncError, FileFormatError, InputError

_NAMES_IN_A_MESSAGE = 40
_LETTERS_IN_A_MESSAGE = 80

# Isolated nodes cost memory in every step and carry no information. Real lists name most of their nodes in some edge.
_NODES_ALWAYS_ACCEPTED = 10**6
_NODES_PER_EDGE = 200


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn every exception inside the block into a :class:`FileFormatError` about ``path``.

    Libraries that parse binary formats raise exceptions of many kinds on damaged files (OSError, KeyError,
    struct.error, zlib.error, ...), different in every version, so all of them are caught.
    """
    try:
        yield
    except FileFormatError:
        raise
    except InputError as error:
        raise FileFormatError(f"{path}: {error.message}", python=error.python, command=error.command) from None
    except AngsyncError:
        raise
    except MemoryError:
        raise FileFormatError(
            f"cannot read {path}: there is not enough memory for its declared content. The file is damaged, or needs "
            "a machine with more memory."
        ) from None
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} is not {kind}: byte {error.start} is not UTF-8 text. "
            "Save it as UTF-8, or give the file the suffix of its real format."
        ) from None
    except Exception as error:
        if isinstance(error, OSError) and error.strerror is not None:
            raise FileFormatError(
                f"cannot read {path}: {error.strerror}. Check the path and its permissions."
            ) from None
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")
        raise FileFormatError(
            f"cannot read {path} as {kind}: {detail}. The file is truncated, damaged or of another format. Create it "
            "again, or correct its suffix."
        ) from error


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path if it is a plain file with content.

    A device may have no end, and a pipe may never begin: both are refused.
    """
    path = Path(path)
    with reading(path, "a file"):
        try:
            found = path.stat()  # a loop of symbolic links is an OSError that says so
        except FileNotFoundError:
            raise FileFormatError(
                f"cannot read {path}: there is no such file. Check the name and the folder."
            ) from None
        if stat.S_ISDIR(found.st_mode):
            raise FileFormatError(f"cannot read {path}: it is a directory. Give one file of it.")
        if not stat.S_ISREG(found.st_mode):
            raise FileFormatError(
                f"cannot read {path}: it is a pipe or a device. Copy its content to a file first; "
                "angsync solve reads standard input (-)."
            )
        if found.st_size == 0:
            raise FileFormatError(f"{path} is empty (0 bytes): writing it was probably interrupted. Create it again.")
    return path


def check_node_count(n: int, entries: int) -> int:
    """Return ``n``, or refuse it if so few edges (or entries of a matrix) cannot mean so many nodes."""
    if n > max(_NODES_ALWAYS_ACCEPTED, _NODES_PER_EDGE * entries):
        raise InputError(
            f"it declares {n} nodes, but has {entries} edges or entries: nearly all of its nodes would be isolated. "
            "Correct n, or leave the isolated nodes out."
        )
    return n


def listed(names: Iterable[object]) -> str:
    """Return names for a message: quoted, separated by commas, at most 40; the word nothing if there are none."""
    found = [quoted(name) for name in names]
    more = f" and {len(found) - _NAMES_IN_A_MESSAGE} more" if len(found) > _NAMES_IN_A_MESSAGE else ""
    return (", ".join(found[:_NAMES_IN_A_MESSAGE]) or "nothing") + more


def quoted(name: object) -> str:
    """Return a name or a text for a message: in quotation marks, and not longer than a line."""
    text = str(name)
    return repr(text if len(text) <= _LETTERS_IN_A_MESSAGE else text[:_LETTERS_IN_A_MESSAGE] + "...")


def check_free(names: Iterable[Any], taken: Iterable[str]) -> None:
    """Refuse axes and coordinates with the name of an output variable: one name cannot be two variables."""
    both = sorted({str(name) for name in names} & set(taken))
    if both:
        raise InputError(
            f"an axis or coordinate of the input is called {both[0]!r}, as one of the answers is. Give it another "
            f"name, for example with xarray: array.rename({{{both[0]!r}: '{both[0]}_of_input'}})."
        )
