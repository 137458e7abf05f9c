"""Problems from files and from standard input, whatever they are called."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from angsync.errors import FileFormatError, InputError


def read_problem(file: Path, form: str | None, **columns: Any) -> Any:
    """Read FILE, or standard input where it is ``-``; ``form`` is the format where the name does not say it."""
    from angsync.io import read

    if str(file) != "-":
        return read(file, format=form, **columns)
    if sys.stdin.isatty():
        raise InputError("- reads standard input, but nothing is sent there: angsync solve - < edges.csv.")
    form = form or "csv"
    # readers go back and forth in their files, which a pipe does not let them
    with tempfile.TemporaryDirectory(prefix="angsync-") as folder:
        copy = Path(folder) / f"input.{form}"
        with open(copy, "wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        if copy.stat().st_size == 0:
            raise FileFormatError("standard input is empty: what sends to it has sent nothing.")
        try:
            return read(copy, **columns)
        except FileFormatError as error:
            text = f"{error.message.replace(str(copy), 'standard input')} It was read as {form} (--format)."
            raise FileFormatError(text, command=error.command) from None
