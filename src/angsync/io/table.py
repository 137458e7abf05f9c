"""Tables of named columns: text tables (csv), parquet, data frames and mappings, read strictly.

Every error names the line of the file, or the row of the table.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import FileFormatError, InputError, MissingDependencyError
from angsync.io.atomic import atomic_open
from angsync.io.failures import existing_file, listed, quoted, reading
from angsync.problem.interop import frame_columns

# A leading zero makes a name of a number: 007 is not 7. Eighteen digits always fit into int64. Whole numbers with
# decimals, 12.0, come from programs that keep a column of numbers with holes as floating-point ones.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0*)?")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
_MISSING = ("", "na", "nan", "nat", "none", "null", "-")
_ABSENT = {"", "nan", "NA", "None", "NaT"}
_PARQUET = b"PAR1"


class Table:
    """Columns by name, and words for the place of each row. Columns of text files are texts, others arrays."""

    def __init__(self, columns: Mapping[str, Any], source: str, where: Callable[[int], str] | None = None) -> None:
        self.columns, self.source, self.names = columns, source, list(columns)
        self.where = where or (lambda row: f"{source}, row {row} (from 0)")
        self.used: set[str] = set()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def choose(self, what: str, given: str | None, *usual: str, option: str = "") -> str:
        """Return the name of the column for ``what``: the given one, else the first of the usual names that exists."""
        usual = usual if given is None else (given,)
        folded = {name.casefold().strip(): name for name in self.names}
        for name in usual:
            if name in self.columns:
                return name
        for name in usual:
            if name.casefold() in folded:
                return folded[name.casefold()]
        hint = f" Name the column with {option}." if option else ""
        raise InputError(
            f"{self.source}: there is no column {' or '.join(map(repr, usual))} for {what}; the columns found are "
            f"{listed(self.names)}.{hint}"
        )

    def is_text(self, name: str) -> bool:
        """Return True if a column is text as it was written, with all its digits."""
        column = self.columns[name]
        return not isinstance(column, np.ndarray) or column.dtype.kind in "OU"

    def _values(self, name: str) -> Any:
        self.used.add(name)
        column = self.columns[name]
        return column.tolist() if isinstance(column, np.ndarray) else column

    def texts(self, name: str) -> list[str]:
        """Return a column as text, without blanks around it; a missing entry is an error."""
        found = ["" if value is None else str(value).strip() for value in self._values(name)]
        if absent := _ABSENT.intersection(found):
            row = min(map(found.index, absent))
            told = f"the entry {found[row]!r} is missing" if found[row] else "the entry is missing"
            raise FileFormatError(f"{self.where(row)}, column {name!r}: {told}. Complete the row.")
        return found

    def numbers(self, name: str, *, missing: bool = False) -> NDArray[np.float64]:
        """Return a column of finite numbers; with ``missing``, an empty field, NA or NaN becomes NaN."""
        values = self._values(name)
        column = self.columns[name]
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            numbers = column.astype(np.float64)
        else:
            try:
                numbers = np.array([float(value) for value in values])
                plain = "_" not in "".join(map(str, values))  # 1_0 is a number in Python alone
            except (TypeError, ValueError):
                plain = False
            if not plain:
                numbers = np.array([_number(value, missing) for value in values])
        bad = ~np.isfinite(numbers) & ~(np.isnan(numbers) & missing)
        if bad.any():
            k = int(np.argmax(bad))
            text = "" if values[k] is None else str(values[k]).strip()
            hint = " Write decimals with a point." if _DECIMAL_COMMA.fullmatch(text) else ""
            raise FileFormatError(
                f"{self.where(k)}, column {name!r}: {quoted(text)} is not a finite number.{hint} Correct it, or leave "
                "the row out."
            )
        return numbers

    def nodes(self, *names: str) -> list[Any]:
        """Return columns of node names: texts become int64 if all of them are whole numbers, otherwise objects."""
        if not all(isinstance(self.columns[name], tuple) for name in names):
            return [self.columns[name] for name in names]
        columns = [self.texts(name) for name in names]
        # decided for all columns together, because 1 and "1" would be two different nodes
        if all(_WHOLE.fullmatch(text) for text in set(chain(*columns))):
            return [np.array([int(text.partition(".")[0]) for text in column], dtype=np.int64) for column in columns]
        return [np.array(column, dtype=object) for column in columns]


def _number(value: Any, missing: bool) -> float:
    """Return a number; what is not one becomes infinity, which no column accepts."""
    text = "" if value is None else str(value).strip()
    if missing and text.casefold() in _MISSING:
        return np.nan
    return float(text) if is_number(text) else np.inf


def is_number(text: str) -> bool:
    """Return True if the text is a finite number."""
    try:
        return "_" not in text and bool(np.isfinite(float(text)))
    except ValueError:
        return False


def table_of(source: Any, needed: Collection[str] = ()) -> Table:
    """Return the table of a file (csv, tsv, txt, parquet), of a data frame, or of a mapping of columns; it has rows."""
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        table = read_table(existing_file(source), needed)
    elif isinstance(source, Mapping):
        table = Table({str(name): np.asarray(column) for name, column in source.items()}, "the table")
    else:
        refusal = f"a {type(source).__name__} is neither a path, a mapping of columns nor a data frame in memory."
        columns = frame_columns(source, refusal)
        table = Table({str(name): column for name, column in columns.items()}, "the data frame")
    lengths = {name: len(column) for name, column in table.columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{table.source}: the columns have different lengths: {lengths}.")
    if not len(table):
        raise FileFormatError(f"{table.source} has no rows.")
    return table


def read_table(path: Path, needed: Collection[str] = (), wanted: Collection[str] | None = None) -> Table:
    """Read a parquet file, or any other as text. See :func:`read_text`; of parquet only columns ``wanted`` are read."""
    with reading(path, "a table"), open(path, "rb") as stream:
        is_parquet = path.suffix.lower() == ".parquet" or stream.read(len(_PARQUET)) == _PARQUET
    if not is_parquet:
        with reading(path, "a text table"):
            return read_text(path, needed)
    pyarrow, parquet = arrow(f"reading {path}")
    with reading(path, "parquet"), parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        content = file.read(columns=None if wanted is None else [name for name in names if name in wanted])
        columns = {}
        for name in content.column_names:
            column = content.column(name)
            if pyarrow.types.is_dictionary(column.type):  # its nulls would become the first of its values
                column = column.cast(column.type.value_type)
            columns[name] = column.to_numpy(zero_copy_only=False)
        table = Table(columns, str(path))
        table.names = names
        return table


def read_text(path: Path, needed: Collection[str] = ()) -> Table:
    """Read a text table; the delimiter (comma, semicolon, tab, or blanks) is seen in the header.

    A byte-order mark, either line ending, blank lines and lines that begin with '#' are allowed. A header that itself
    begins with '#' is recognized by the names that are ``needed``.
    """
    comments: list[str] = []
    lines: list[int] = []  # the line where each record begins
    rows: list[list[str]] = []
    inside = False  # a record: a field in quotation marks may have blank lines, and lines that begin with '#'

    def content(stream: Iterable[str]) -> Iterator[str]:
        nonlocal inside
        for number, line in enumerate(stream, start=1):
            if not inside and line.startswith("#"):
                comments.append(line[1:].strip())
            elif inside or line.strip():
                if not inside:
                    lines.append(number)
                inside = True
                yield line.strip() if delimiter == " " else line

    delimiter = ""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        records = content(stream)
        header = next(records, None)
        if header is None:
            raise FileFormatError(f"{path} has no header line: it is empty or holds only comments.")
        delimiter = next((mark for mark in ",;\t" if mark in header), " ")
        names, again = _fields(header, delimiter), []
        commented = _fields(comments[-1], delimiter) if needed and comments else []
        if len(commented) == len(names) and set(needed) <= set(commented) and not set(needed) <= set(names):
            names, again = commented, [header]
        else:
            lines.clear()
            inside = False
        reader = csv.reader(chain(again, records), delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for fields in reader:
                inside = False
                rows.append(fields)
                if len(fields) != len(names):
                    raise FileFormatError(
                        f"{path}, line {lines[-1]}: {len(fields)} fields, but the header has {len(names)} "
                        f"({listed(names)}). Complete the line; at the end it means a truncated file."
                    )
        except csv.Error as error:
            raise FileFormatError(
                f"{path}, line {lines[-1]}: {error}. Close the quotation mark, or correct the suffix if this is not a "
                "text table."
            ) from None
    doubled = sorted(name for name, count in Counter(names).items() if name and count > 1)
    if doubled:
        raise FileFormatError(f"{path}: the header names {listed(doubled)} more than once. Rename one column.")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return Table(dict(zip(names, columns, strict=True)), str(path), lambda row: f"{path}, line {lines[row]}")


def _fields(line: str, delimiter: str) -> list[str]:
    line = line.strip() if delimiter == " " else line
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, ArrayLike]) -> None:
    """Write a header and the rows; truth values become 0 and 1, and text is quoted if it could be misread."""
    arrays = [np.asarray(column) for column in columns.values()]
    lists = [(array.astype(int) if array.dtype.kind == "b" else array).tolist() for array in arrays]
    # a first field that begins with '#' would be read as a comment
    dialect = csv.unix_dialect if any(str(x).startswith("#") for x in lists[0]) else csv.excel
    with atomic_open(path) as stream:
        csv.writer(stream, lineterminator="\n").writerow(columns)
        csv.writer(stream, dialect, lineterminator="\n").writerows(zip(*lists, strict=True))


def write_parquet(
    path: str | os.PathLike[str], columns: Mapping[str, NDArray], metadata: Mapping[bytes, bytes] | None = None
) -> None:
    """Write columns, and metadata of the schema."""
    pyarrow, parquet = arrow(f"writing {path}")
    table = pyarrow.table(dict(columns))
    if metadata:
        table = table.replace_schema_metadata(dict(metadata))
    with atomic_open(path, "wb") as stream:
        parquet.write_table(table, stream)


def arrow(purpose: str) -> tuple[Any, Any]:
    """Return the library of parquet files and its module for them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", purpose) from None
    return pyarrow, pyarrow.parquet
