"""Text tables of edges: columns i, j, angle[, weight]. Read with the standard library alone."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from angsync.errors import FileFormatError
from angsync.io.columns import NAME_THE_COLUMNS, ColumnNames, Nodes, to_measurements
from angsync.io.csv_table import CsvTable, is_number, read_table
from angsync.io.edge_table import declaration, declared_nodes, edge_columns, nodes_of
from angsync.io.failures import listed, quoted, reading
from angsync.io.sidecar import facts_beside, write_csv
from angsync.problem.measurements import Measurements

FORMAT = "angsync-measurements"
_MARK = f"{FORMAT} "  # of the comment line that earlier versions wrote


def read_csv(path: Path, names: ColumnNames) -> Measurements:
    """Node columns that hold only whole numbers are numbers, others are text; both are labels."""
    with reading(path, "a text table"):
        columns, nodes = text_columns(path, names)
        return to_measurements(columns, names, nodes)


def text_columns(
    path: Path, names: ColumnNames, rows_at_most: int | None = None
) -> tuple[dict[str, Any], Nodes | None]:
    """The columns of edges, of so many rows at most, and the nodes that the file declares."""
    with reading(path, "a text table"):
        needed = [names.i, names.j, names.angle, *([names.weight] if names.weight else [])]
        table = read_table(path, needed, rows_at_most)
        for name in needed:
            if name not in table.columns:
                raise _no_column(path, name, table, names)
        nodes = _nodes(path, table.comments)
        if len(table) == 0 and nodes is None:
            raise FileFormatError(f"{path} has a header but no rows: there are no measurements in it.")
        first, second = table.labels(names.i, names.j)
        columns: dict[str, Any] = {names.i: first, names.j: second, names.angle: table.numbers(names.angle)}
        weight = names.weight or "weight"
        if weight in table.columns:
            columns[weight] = table.numbers(weight)
        return columns, nodes


def _no_column(path: Path, name: str, table: CsvTable, names: ColumnNames) -> FileFormatError:
    """Return the error for a header that has other names, is a comment, or is missing."""
    found, comment = list(table.columns), table.comments[-1] if table.comments else ""
    told = f"{path}: there is no column {name!r}; the columns found are {listed(found)}."
    if any(is_number(text) for text in found):  # a row of data stands where the header should
        split = next((mark for mark in ",;\t" if mark in comment), None)
        found = [text.strip() for text in comment.split(split)]
        if len(found) != len(table.columns):
            return FileFormatError(
                f"{told} The first line must be a header: put {names.i},{names.j},{names.angle} above the data."
            )
        told = f"{path}: there is no column {name!r} in the header {quoted(comment)}."
    wanted = {"i": names.i, "j": names.j, "angle": names.angle}
    missing = [role for role, column in wanted.items() if column not in found]
    free = [text for text in found if text not in (*wanted.values(), names.weight, "weight")]
    if name == names.weight or len(free) < len(missing):
        return FileFormatError(f"{told} The first line must be a header.", **NAME_THE_COLUMNS)
    guess = list(zip(missing, free, strict=False))
    return FileFormatError(
        f"{told} The first line must be a header.",
        python="Name the columns: " + ", ".join(f"{role}={text!r}" for role, text in guess) + ".",
        command="Name the columns: " + " ".join(f"--{role} {shlex.quote(text)}" for role, text in guess) + ".",
    )


def write_measurements_csv(measurements: Measurements, path: Path, truth: ArrayLike | None) -> None:
    """Columns i, j, angle, weight (the strength); isolated nodes, labels and truth are said beside the table."""
    columns = {name: column.tolist() for name, column in edge_columns(measurements).items()}
    text = {name: [x if isinstance(x, str) else repr(x) for x in column] for name, column in columns.items()}
    declared = declaration(measurements, truth)
    write_csv(path, text, None if declared is None else {"format": FORMAT, **declared})


def _nodes(path: Path, comments: list[str]) -> Nodes | None:
    """The nodes that are declared in a comment (by an early version) or beside the file."""
    declared = [comment.removeprefix(_MARK) for comment in comments if comment.startswith(_MARK)]
    if declared:
        return declared_nodes(declared[0])
    facts = facts_beside(path)
    return None if facts is None or facts.get("format") != FORMAT else nodes_of(facts)
