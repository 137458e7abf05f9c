"""Text tables with a header row, read strictly: every complaint names file, line, column and text."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError
from angsync.io.failures import listed, quoted
from angsync.io.limits import LONGEST_LINE

# A leading zero makes a name of a number: 007 is not 7. Eighteen digits always fit into int64. Whole numbers with
# decimals, 12.0, come from programs that keep a column of numbers with holes as floating-point ones.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0*)?")


@dataclass(frozen=True)
class CsvTable:
    """Columns of text by name, the line of each row, and the comments (without their '#')."""

    path: Path
    columns: Mapping[str, list[str]]
    lines: list[int]
    comments: list[str]

    def __len__(self) -> int:
        return len(self.lines)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of finite numbers."""
        column = self.columns[name]
        try:
            numbers = np.array([float(text) for text in column])
        except ValueError:
            numbers = None
        if numbers is not None and np.isfinite(numbers).all() and not any("_" in text for text in column):
            return numbers
        row = next(k for k, text in enumerate(column) if not is_number(text))
        text = column[row]
        hint = " Write decimals with a point." if re.fullmatch(r"-?\d+,\d+", text) else ""
        raise FileFormatError(
            f"{self.path}, line {self.lines[row]}, column {name!r}: {quoted(text)} is not a finite number.{hint} "
            "Leave out lines without a measurement."
        )

    def labels(self, *names: str) -> list[NDArray]:
        """Columns of node names: all int64 when all of them hold only whole numbers, else all text, as objects."""
        columns = [self.columns[name] for name in names]
        for name, column in zip(names, columns, strict=True):
            if "" in column:
                line = self.lines[column.index("")]
                raise FileFormatError(f"{self.path}, line {line}, column {name!r}: the node is missing. Name it.")
        # decided for all columns together, because 1 and "1" would be two different nodes
        whole = all(_WHOLE.fullmatch(text) for column in columns for text in set(column))
        if whole:
            return [np.array([int(text.partition(".")[0]) for text in column], dtype=np.int64) for column in columns]
        return [np.array(column, dtype=object) for column in columns]


class _Columns(Mapping[str, list[str]]):
    """Columns by name, each put together when it is asked for: of a million columns four are."""

    def __init__(self, names: list[str], rows: list[list[str]]) -> None:
        self._place = {name: k for k, name in enumerate(names)}
        self._rows = rows

    def __getitem__(self, name: str) -> list[str]:
        k = self._place[name]
        return [row[k].strip() for row in self._rows]

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


def read_table(path: Path, needed: Collection[str] = (), rows_at_most: int | None = None) -> CsvTable:
    """Read a table, or so many of its rows; the delimiter (comma, semicolon, tab, or blanks) is seen in the header.

    A byte-order mark, either line ending, blank lines and lines that begin with '#' are allowed. Where the header
    itself begins with '#', it is known by the names that are ``needed``.
    """
    comments: list[str] = []
    with open(path, encoding="utf-8-sig", newline="") as stream:
        lines = _Lines(text_lines(stream, path), comments)
        header = lines.next_content()
        if header is None:
            raise FileFormatError(f"{path} has no header line: it is empty or holds only comments.")
        lines.delimiter = next((mark for mark in ",;\t" if mark in header), " ")
        lines.give_again(header)
        if needed and comments and _is_header(comments[-1], header, lines.delimiter, needed):
            lines.give_again(comments.pop() + "\n")
        reader = csv.reader(lines, delimiter=lines.delimiter, skipinitialspace=True, strict=True)
        names: list[str] = []
        rows: list[list[str]] = []
        numbers: list[int] = []
        try:
            for fields in reader:
                number, lines.at_start = lines.first_line, True
                if not names:
                    names = [name.strip() for name in fields]
                    continue
                if len(fields) != len(names):
                    raise FileFormatError(
                        f"{path}, line {number}: {len(fields)} fields, but the header has {len(names)} "
                        f"({listed(names)}). Complete the line; at the end it means a truncated file."
                    )
                rows.append(fields)
                numbers.append(number)
                if len(rows) == rows_at_most:
                    break
        except csv.Error as error:
            raise FileFormatError(
                f"{path}, line {lines.first_line}: {error}. "
                "Close the quotation mark, or mend the suffix if this is no text table."
            ) from None
    doubled = sorted(name for name, count in Counter(names).items() if name and count > 1)
    if doubled:
        raise FileFormatError(f"{path}: the header names {listed(doubled)} more than once. Rename one column.")
    return CsvTable(path, _Columns(names, rows), numbers, comments)


def text_lines(stream: IO[str], path: Path) -> Iterator[str]:
    """The lines of a text; a line without end is refused, not read until the memory is full."""
    number = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise FileFormatError(f"{path}, line {number}: more than {LONGEST_LINE} letters. This is no text table.")
        yield line


def _is_header(comment: str, line: str, delimiter: str, needed: Collection[str]) -> bool:
    """Whether a comment names the columns, where the line after it does not."""
    split = None if delimiter == " " else delimiter
    names, fields = ([name.strip() for name in text.split(split)] for text in (comment, line))
    return len(names) == len(fields) and set(needed) <= set(names) and not set(needed) <= set(fields)


class _Lines:
    """Lines for csv.reader, less comments and blank lines where a record begins (not inside quotes)."""

    def __init__(self, stream: Iterable[str], comments: list[str]) -> None:
        self.stream = enumerate(stream, start=1)
        self.comments = comments
        self.delimiter: str | None = None
        self.at_start = True
        self.first_line = 0
        self.pending: list[str] = []

    def give_again(self, line: str) -> None:
        self.pending.append(line)

    def next_content(self) -> str | None:
        for number, line in self.stream:
            if line.startswith("#"):
                self.comments.append(line[1:].strip())
            elif line.strip():
                self.first_line = number
                return line
        return None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line: str | None
        if self.pending:
            line = self.pending.pop()
        else:
            line = self.next_content() if self.at_start else next(self.stream)[1]
        if line is None:
            raise StopIteration
        self.at_start = False
        return line.strip() if self.delimiter == " " else line


def is_number(text: str) -> bool:
    try:
        return "_" not in text and bool(np.isfinite(float(text)))
    except ValueError:
        return False


def write_table(stream: object, columns: dict[str, list[str]]) -> None:
    """A header and the rows. Fields are quoted where a reader would otherwise misread them."""
    writer = csv.writer(stream, lineterminator="\n")  # type: ignore[arg-type]
    careful = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)  # type: ignore[arg-type]
    writer.writerow(columns)
    # a first field that begins with '#' would be read as a comment
    dangerous = any(text.startswith("#") for text in next(iter(columns.values())))
    (careful if dangerous else writer).writerows(zip(*columns.values(), strict=True))
