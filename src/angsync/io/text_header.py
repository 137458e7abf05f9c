"""How many edges and nodes a text holds: its first rows are read, those of a long one are counted from parts of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from angsync.errors import FileFormatError
from angsync.io.columns import ColumnNames, to_measurements
from angsync.io.csv_file import text_columns
from angsync.io.failures import quoted
from angsync.io.g2o_file import read_g2o

_FIRST_ROWS = 20_000  # of a table: read as a solve reads them, in some 50 ms
_PIECE_BYTES = 1 << 18  # of a long text, at its beginning, in its middle and at its end


class Count(NamedTuple):
    """What a text holds."""

    edges: int
    n: int
    estimated: bool
    """Whether that is counted from parts of it."""


def count_of_text(path: Path, names: ColumnNames) -> Count:
    """Edges and nodes of a table or of a pose graph; what :func:`angsync.read` refuses in its first rows is refused."""
    return _of_poses(path) if path.suffix.lower() == ".g2o" else _of_table(path, names)


def _of_poses(path: Path) -> Count:
    if path.stat().st_size <= _PIECE_BYTES:
        found = read_g2o(path, "kappa")
        return Count(len(found), found.n, False)
    lines, share = _some_lines(path)
    edges = [line for line in lines if line.startswith(b"EDGE")]
    if not edges:
        raise FileFormatError(f"{path} has no line that begins with EDGE: there are no measurements in it.")
    count = round(len(edges) * share)
    return Count(count, _nodes([line.split()[1:3] for line in edges], count), True)


def _of_table(path: Path, names: ColumnNames) -> Count:
    columns, declared = text_columns(path, names, _FIRST_ROWS)
    if len(columns[names.i]) < _FIRST_ROWS:
        found = to_measurements(columns, names, declared)
        return Count(len(found), found.n, False)
    lines, share = _some_lines(path)
    lines = [line for line in lines if line.strip() and not line.startswith(b"#")]
    mark = next((mark for mark in (b",", b";", b"\t") if mark in lines[0]), None)  # None: blanks
    places, fields = _places(lines[0].split(mark), names)
    _check_last(path, lines[-1], mark, fields)
    count = max(1, round(len(lines) * share) - 1)  # less the names of the columns
    rows = [line.split(mark) for line in lines[1:]]
    ends = [[row[k] for k in places] for row in rows if len(row) > max(places)]
    return Count(count, _nodes(ends, count) if declared is None else declared.n, True)


def _some_lines(path: Path) -> tuple[list[bytes], float]:
    """Whole lines from three parts of a text, and what their number is multiplied with for that of all lines."""
    size = path.stat().st_size
    lines: list[bytes] = []
    with open(path, "rb") as stream:
        for start in sorted({0, max(0, size // 2 - _PIECE_BYTES), max(0, size - _PIECE_BYTES)}):
            stream.seek(start)
            rows = stream.read(_PIECE_BYTES).split(b"\n")
            if start + _PIECE_BYTES >= size and rows[-1]:
                rows.append(b"")  # a last line without an end is a line
            lines += rows[1:-1] if start else rows[:-1]
    return lines, size / max(1, sum(len(line) + 1 for line in lines))


def _places(header: list[bytes], names: ColumnNames) -> tuple[tuple[int, int], int]:
    """Where the two columns of nodes are, and how many columns there are: 0 where the header is a comment."""
    fields = [field.decode(errors="replace").lstrip("\ufeff").strip().strip('"') for field in header]
    if names.i in fields and names.j in fields:
        return (fields.index(names.i), fields.index(names.j)), len(fields)
    return (0, 1), 0


def _check_last(path: Path, line: bytes, mark: bytes | None, fields: int) -> None:
    """Refuse a text whose last line is cut off. (Within quotation marks there may be anything.)"""
    if not fields or b'"' in line:
        return
    cells = line.split(mark)
    if len(cells) != fields:
        raise FileFormatError(
            f"{path}: the last line, {quoted(line.decode(errors='replace').strip())}, has {len(cells)} fields, but the "
            f"header has {fields}. Complete the line: the file is probably truncated."
        )


def _nodes(ends: list[list[bytes]], edges: int) -> int:
    """One more than the largest number of a node; a fifth of the edges where nodes have names."""
    try:
        largest = max(int(cell) for pair in ends for cell in pair)
    except ValueError:
        return max(2, edges // 5)
    return max(2, min(largest + 1, edges + 1))  # a connected graph has no more
