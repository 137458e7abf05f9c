"""Problems from files and from standard input, whatever they are called."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from angsync.errors import AngsyncWarning, FileFormatError, InputError, warn_user

_ERRORS = ("sigma", "std", "stddev", "stdev", "stderr", "standard_error", "error", "err", "uncertainty")


def read_problem(file: Path, form: str | None, **columns: Any) -> Any:
    """Read FILE, or standard input where it is ``-``; ``form`` is the format where the name does not say it."""
    from angsync.io import read

    if str(file) != "-":
        data = read(file, format=form, **columns)
        _warn_of_errors(file, form or file.suffix[1:].lower(), columns)
        return data
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
            data = read(copy, **columns)
            _warn_of_errors(copy, form, columns)
            return data
        except FileFormatError as error:
            text = f"{error.message.replace(str(copy), 'standard input')} It was read as {form} (--format)."
            raise FileFormatError(text, command=error.command) from None


def _warn_of_errors(file: Path, form: str, columns: dict[str, Any]) -> None:
    """Standard deviations that somebody has taken the trouble to write are not passed over in silence."""
    if form not in ("csv", "tsv", "txt"):
        return
    from angsync.io.csv_table import read_table

    names = read_table(file, [columns[role] for role in ("i", "j", "angle")], rows_at_most=1).columns
    if columns["weight"] or "weight" in names:
        return
    for name in names:
        if name.lower() in _ERRORS:
            warn_user(
                f"the column {name!r} is not used: all measurements count alike. If it holds the standard deviation of "
                f"every angle, add a column weight = 1 / {name}^2, with {name} in radians.",
                AngsyncWarning,
            )
