"""Tables of any field: a csv or parquet file, a data frame or a mapping of columns, read by the names of its columns.

Every complaint says where: the line of the file, or the row of the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError, InputError, MissingDependencyError
from angsync.io.csv_table import CsvTable, read_table
from angsync.io.failures import existing_file, listed, quoted, reading
from angsync.problem.interop import frame_columns


class FieldTable:
    """Columns by name, and the words for the place of a row."""

    def __init__(self, columns: Mapping[str, Any], where: Callable[[int], str], source: str) -> None:
        self._columns, self.where, self.source = columns, where, source
        self.names = list(columns)
        self.used: set[str] = set()

    def __len__(self) -> int:
        return len(self._columns[self.names[0]]) if self.names else 0

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def choose(self, what: str, given: str | None, *usual: str, option: str = "") -> str:
        """The column that holds ``what``: the one that was named, else the first of the usual names that is there."""
        if given is not None:
            usual = (given,)
        for name in usual:
            if name in self._columns:
                return name
        folded = {name.casefold().strip(): name for name in self.names}
        for name in usual:
            if name.casefold() in folded:
                return folded[name.casefold()]
        wanted = " or ".join(repr(name) for name in usual)
        hint = f" Name the column with {option}." if option else ""
        raise InputError(
            f"{self.source}: there is no column {wanted} for {what}; the columns found are {listed(self.names)}.{hint}"
        )

    def is_text(self, name: str) -> bool:
        """Whether a column is text as it was written, with all its digits."""
        column = self._columns[name]
        return isinstance(column, list) or column.dtype.kind in "OU"

    def column(self, name: str) -> Any:
        """A column as it is: texts of a file, otherwise an array."""
        return self._columns[name]

    def texts(self, name: str) -> list[str]:
        """A column as text, without blanks around it; what is missing is an error."""
        self.used.add(name)
        column = self._columns[name]
        found = [
            str(x).strip() if x is not None else "" for x in (column if isinstance(column, list) else column.tolist())
        ]
        for k, one in enumerate(found):
            if one in ("", "nan", "None", "NaT"):
                raise InputError(
                    f"{self.where(k)}, column {name!r}: nothing is there. Complete the row, or leave it out."
                )
        return found

    def numbers(self, name: str, *, missing: bool = False) -> NDArray[np.float64]:
        """A column of finite numbers; with ``missing``, an empty field, NA or NaN is NaN."""
        self.used.add(name)
        column = self._columns[name]
        if not isinstance(column, list) and column.dtype.kind in "biuf":
            numbers = column.astype(np.float64)
        elif isinstance(column, list) and (quick := _plain_numbers(column)) is not None:
            numbers = quick
        else:
            values = column if isinstance(column, list) else column.tolist()
            numbers = np.array([self._number(x, k, name, missing) for k, x in enumerate(values)], dtype=np.float64)
        bad = ~np.isfinite(numbers) & ~(np.isnan(numbers) & missing)
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"{self.where(k)}, column {name!r}: {numbers[k]} is not a finite number. Leave the row out."
            )
        return numbers

    def _number(self, value: Any, row: int, name: str, missing: bool) -> float:
        text = "" if value is None else str(value).strip()
        if missing and text.casefold() in ("", "na", "nan", "none", "null", "-"):
            return np.nan
        try:
            if "_" not in text:
                return float(text)
        except ValueError:
            pass
        raise InputError(
            f"{self.where(row)}, column {name!r}: {quoted(text)} is not a number. Mend it, or leave the row out."
        )


def _plain_numbers(texts: list[str]) -> NDArray[np.float64] | None:
    """A column in which every text is a number; otherwise None, and somebody has to look at one after the other."""
    try:
        return None if any("_" in text for text in texts) else np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        return None


def field_table(source: Any, needed: Collection[str] = ()) -> FieldTable:
    """The table of a file (csv, tsv, txt, parquet), of a data frame, or of a mapping of columns.

    ``needed``: names that tell a header which begins with ``#`` from a comment.
    """
    if isinstance(source, FieldTable):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = existing_file(source)
        if path.suffix.lower() == ".parquet":
            return _of_columns(_parquet_columns(path), str(path))
        with reading(path, "a text table"):
            table: CsvTable = read_table(path, needed)
            if len(table) == 0:
                raise FileFormatError(f"{path} has a header but no rows.")
            return FieldTable(table.columns, lambda row: f"{path}, line {table.lines[row]}", str(path))
    if isinstance(source, Mapping):
        return _of_columns({str(name): np.asarray(column) for name, column in source.items()}, "the table")
    refusal = f"a {type(source).__name__} is neither a path, a mapping of columns nor a data frame in memory."
    columns = frame_columns(source, refusal)
    return _of_columns({str(name): column for name, column in columns.items()}, "the data frame")


def _of_columns(columns: Mapping[str, NDArray], source: str) -> FieldTable:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{source}: the columns have different lengths: {lengths}.")
    if not columns or not next(iter(lengths.values())):
        raise InputError(f"{source} has no rows.")
    return FieldTable(columns, lambda row: f"{source}, row {row} (from 0)", source)


def _parquet_columns(path: os.PathLike[str]) -> dict[str, NDArray]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", f"reading {path}") from None
    with reading(existing_file(path), "parquet"):
        table = pyarrow.parquet.read_table(path)
        return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
