"""Read problems from files of any name and from standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from angsync.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from angsync.io.columns import ColumnNames


def read_problem(file: Path, names: ColumnNames, weights: str, form: str | None) -> Any:
    """Read FILE, or standard input if it is ``-``; ``form`` is the format if the name does not tell it."""
    from angsync.io.reading import read_named

    if str(file) != "-":
        return read_named(file, names, weights, form)
    if sys.stdin.isatty():
        raise InputError("- reads standard input, but nothing is sent there: angsync solve - < edges.csv.")
    form = form or "csv"
    # readers seek in their files, which a pipe does not allow
    with tempfile.TemporaryDirectory(prefix="angsync-") as folder:
        copy = Path(folder) / f"input.{form}"
        with open(copy, "wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        if copy.stat().st_size == 0:
            raise FileFormatError("standard input is empty: what sends to it has sent nothing.")
        try:
            return read_named(copy, names, weights, form)
        except FileFormatError as error:
            text = f"{error.message.replace(str(copy), 'standard input')} It was read as {form} (--format)."
            raise FileFormatError(text, command=error.command) from None
