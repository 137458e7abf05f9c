"""TFS tables, the text tables of accelerator optics (MAD-X, omc3), by tfs-pandas: the extra 'beam'."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from angsync.errors import FileFormatError, MissingDependencyError
from angsync.io.atomic import atomic_path, check_writable
from angsync.io.failures import existing_file, listed, reading
from angsync.io.table import Table

_WIDTH = 25  # of a column, so that a number is written with the 17 digits that a double needs


def read_tfs(path: str | os.PathLike[str]) -> tuple[Mapping[str, Any], Table]:
    """Return the headers and the table of a TFS file."""
    path = existing_file(path)
    tfs = tfs_library(f"reading {path}")
    with reading(path, "a TFS table"):
        frame = tfs.read(path)
        # a short row is filled up with NaN, which would hide a truncated file
        last = shlex.split(path.read_text(encoding="utf-8-sig").rstrip().rpartition("\n")[2])
        if len(last) != len(frame.columns) or not len(frame):
            raise FileFormatError(
                f"{path}: the last line has {len(last)} fields, but there are {len(frame.columns)} names "
                f"({listed(frame.columns)}). The file is empty or truncated. Create it again."
            )
        return frame.headers, Table({str(name): frame[name].to_numpy() for name in frame.columns}, str(path))


def check_tfs_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if a TFS table could not be written to ``path`` later."""
    tfs_library(f"writing {path}")
    return check_writable(path, ".tfs")


def write_tfs(path: str | os.PathLike[str], headers: Mapping[str, Any], columns: Mapping[str, NDArray]) -> None:
    """Write headers and columns of numbers or texts."""
    check_tfs_path(path)
    tfs = tfs_library(f"writing {path}")
    frame = tfs.TfsDataFrame(dict(columns), headers=dict(headers))
    with atomic_path(path) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about how tfs-pandas calls pandas
        tfs.write(temporary, frame, colwidth=_WIDTH, headerswidth=_WIDTH)


def tfs_library(purpose: str) -> Any:
    """Return tfs-pandas, or say how to install it."""
    try:
        import tfs
    except ImportError:
        raise MissingDependencyError("tfs-pandas", "beam", purpose) from None
    return tfs
