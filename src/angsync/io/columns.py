"""Edge lists: from named columns to :class:`Measurements`, the part that all formats share; edges in tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import AngsyncWarning, FileFormatError, InputError, OutputError, warn_user
from angsync.io.failures import check_node_count, listed, quoted, reading
from angsync.io.table import Table, is_number, read_table, write_csv, write_parquet
from angsync.problem.columns import whole_floats
from angsync.problem.interop import from_columns
from angsync.problem.measurements import Measurements, Unit
from angsync.problem.nodes import flaw_of_name
from angsync.problem.weighing import ERRORS, WEIGHT, warn_of_unused, weighing, weights_of_errors

_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_DIGITS = 60  # no longer text is taken for a number
NAME_THE_COLUMNS = {
    "python": "Name the columns: i='from', j='to', angle='phase', weight='trust'.",
    "command": "Name the columns: --i from --j to --angle phase --weight trust.",
}
"""What helps if a file has other columns, in Python and on the command line."""


@dataclass(frozen=True)
class ColumnNames:
    """The names of the columns (keys, variables, datasets) of a file, and the unit of its angles.

    ``weight`` names weights and ``error`` standard deviations in the unit of the angles. If neither is given, a column
    ``weight``, ``sigma`` or ``error`` is used if it exists.
    """

    i: str = "i"
    j: str = "j"
    angle: str = "angle"
    weight: str | None = None
    error: str | None = None
    unit: Unit = "rad"
    errors_used: list[str] = field(default_factory=list, compare=False)
    """The column of standard deviations, once a file is read that has weights from it."""

    @property
    def needed(self) -> list[str]:
        """The columns that must exist."""
        return [name for name in (self.i, self.j, self.angle, self.weight, self.error) if name is not None]

    @property
    def wanted(self) -> set[str]:
        """The names that matter in a file; the rest of it may be anything."""
        return {*self.needed, WEIGHT, *ERRORS, "C", "value", "n", "labels"}

    def weighing(self, found: Collection[str]) -> tuple[str | None, bool]:
        """Return the column that weighs the measurements, or None, and whether it holds standard deviations."""
        return weighing(found, (self.i, self.j, self.angle), self.weight, self.error)


def to_measurements(
    columns: Mapping[str, Any], names: ColumnNames, n: int | None = None, labels: Sequence[Hashable] | None = None,
    value: NDArray | None = None,
) -> Measurements:  # fmt: skip
    """Return measurements from columns; ``value`` (complex) takes the place of the angle column if given.

    A file may declare its nodes in addition to its edges, so that isolated nodes and their order survive: ``n``, and
    their ``labels``. Without these, the node columns hold indices from 0 to ``n - 1``.
    """
    # one number for all edges, such as the noise of a simulation, is not a column
    alone = {name for name in ERRORS if np.size(columns.get(name, ())) == 1 < np.size(columns.get(names.i, ()))}
    weigher, is_error = names.weighing(columns.keys() - alone)
    for name in (names.i, names.j, names.angle if value is None else names.i, weigher or names.i):
        if name not in columns:
            raise InputError(f"there is no column {name!r}; the columns found are {listed(columns)}.")
    weight = columns[weigher] if weigher else None
    if weigher and is_error:
        names.errors_used.append(weigher)
        weight = weights_of_errors(weight, weigher, names.unit)
    first, second = (node_column(columns[name], name) for name in (names.i, names.j))
    _refuse_mixed_nodes(first, second, names)
    check_names(itertools.chain(*(column.tolist() for column in (first, second) if column.dtype.kind == "O")))
    if n is not None:
        check_node_count(n, np.size(first))
        if labels is not None:
            texts = [str(label).strip() for label in labels]
            if len(set(texts)) != len(texts):
                raise InputError("two of the file's labels have the same text, so its edges cannot tell them apart.")
            check_names(texts)
        first, second = _indices(first, names.i, n, labels), _indices(second, names.j, n, labels)
    else:
        angle, unit = (columns[names.angle], names.unit) if value is None else (np.angle(value), "rad")
        table = {names.i: first, names.j: second, names.angle: angle, WEIGHT: weight}
        edges = from_columns(table, i=names.i, j=names.j, angle=names.angle, unit=unit)
        if value is None:
            return edges
        first, second, weight, n, labels = edges.i, edges.j, edges.weight, edges.n, edges.labels
    angle = columns[names.angle] if value is None else None
    return Measurements(first, second, angle, weight, n, value=value, labels=labels, unit=names.unit)


def read_edges(path: Path, names: ColumnNames) -> Measurements:
    """Read a table of edges (text or parquet); text columns of whole numbers alone are numbers, others text."""
    table = read_table(path, names.needed, names.wanted)
    with reading(path, "a table of edges"):
        for name in names.needed:
            if name not in table:
                raise _no_column(name, table, names)
        if not len(table):
            raise FileFormatError(f"{path} has a header but no rows: there are no measurements in it.")
        columns = dict(zip((names.i, names.j), table.nodes(names.i, names.j), strict=True))
        weigher, _ = names.weighing(table.columns)
        if names.weight is None and names.error is None:
            warn_of_unused(table.names, {names.i, names.j, names.angle, weigher})
        for name in (names.angle, *([weigher] if weigher else [])):
            columns[name] = table.numbers(name)
        return to_measurements(columns, names)


def _no_column(name: str, table: Table, names: ColumnNames) -> FileFormatError:
    """Return the error for a header that has other names, or is missing."""
    problem = f"{table.source}: there is no column {name!r}; the columns found are {listed(table.names)}."
    if any(is_number(text) for text in table.names):  # a row of data stands where the header should
        return FileFormatError(
            f"{problem} The first line must be a header: put {names.i},{names.j},{names.angle} above the data."
        )
    return FileFormatError(problem, **({} if names.weight == name or names.error == name else NAME_THE_COLUMNS))


def named_ends(measurements: Measurements) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return both ends of every edge as a file names them, and the labels, if there are some."""
    check_node_count(measurements.n, len(measurements))
    if measurements.labels is None:
        return measurements.i, measurements.j, None
    labels = storable_labels(measurements.labels)
    return labels[measurements.i], labels[measurements.j], labels


def write_edges(measurements: Measurements, path: Path, truth: ArrayLike | None) -> None:
    """Write the columns i, j (labels if there are some), angle and weight as csv or parquet: an export.

    A table has no complex column: the weight written is the strength, weight times modulus, which gives the same
    matrix C. It has no place for nodes without measurements either, nor for the truth.
    """
    if truth is not None:
        raise OutputError(f"cannot write {path}: a table of edges has no place for the truth. Use npz.")
    first, second, _ = named_ends(measurements)
    isolated = measurements.n - np.union1d(measurements.i, measurements.j).size
    if isolated:
        warn_user(
            f"{isolated} of {measurements.n} nodes have no measurement and are not in {path}. Use npz to keep them.",
            AngsyncWarning,
        )
    write = write_parquet if path.suffix.lower() == ".parquet" else write_csv
    write(path, {"i": first, "j": second, "angle": measurements.angle, "weight": measurements.strength})


def node_column(column: Any, name: str) -> NDArray:
    """A node column as integers, dates or text: whole floats become integers, bytes become text.

    Formats without vectors (MATLAB) store columns as matrices of one row or column.
    """
    column = np.asarray(column)
    if column.ndim == 2 and 1 in column.shape:
        column = column.ravel()
    kind = column.dtype.kind
    if kind == "S":
        column, kind = np.char.decode(column, "utf-8"), "U"
    if kind == "f":
        return whole_floats(column, name)
    if kind in "cV":
        raise InputError(f"{name} holds {column.dtype}: nodes must be whole numbers or text.")
    if kind in "mM" and np.isnat(column).any():
        raise InputError(f"{name}[{int(np.argmax(np.isnat(column)))}] is no date (NaT): name the node.")
    if kind in "UO":
        # as objects, because NumPy cuts NUL off the end of its own text
        texts = [text.strip() if isinstance(text, str) else text for text in column.ravel().tolist()]
        column = np.empty(len(texts), dtype=object)
        column[:] = texts
    return column


def check_names(texts: Iterable[Any]) -> None:
    """Refuse names of nodes that would be confused: in any file, the same rule.

    Blanks around a name do not count. Text is compared letter by letter, so one number in two spellings, 1 and 1.0,
    would be two nodes; a leading zero makes a name of it (007 is not 7).
    """
    spelled: dict[Decimal, str] = {}
    for text in dict.fromkeys(texts):
        if not isinstance(text, str):
            continue
        flaw = flaw_of_name(text)
        if flaw:
            raise InputError(f"the name of a node, {quoted(text)}, {flaw}. Give it another name.")
        if len(text) <= _DIGITS and _NUMBER.fullmatch(text):
            other = spelled.setdefault(Decimal(text), text)
            if other != text:
                raise InputError(
                    f"the nodes {other!r} and {text!r} are one number in two spellings. Write them alike, or, if they "
                    "are two nodes, give one another name."
                )


def storable_labels(labels: Sequence[Hashable]) -> NDArray:
    """Return labels as a file can hold them: whole numbers, or else texts, with a warning if they change."""
    if all(isinstance(x, int | np.integer) and not isinstance(x, bool) and -(2**63) <= x < 2**63 for x in labels):
        return np.array(labels, dtype=np.int64)
    texts = [str(x) for x in labels]
    if len({text.strip() for text in texts}) != len(texts):
        raise InputError("two labels have the same text, so a file could not tell them apart: rename one.")
    check_names(text.strip() for text in texts)
    changed = next((label for label in labels if not isinstance(label, str)), None)
    if changed is not None:
        warn_user(
            f"labels that are neither all text nor all whole numbers are stored as text: {changed!r} will come back as "
            f"{str(changed)!r}.",
            AngsyncWarning,
        )
    return np.array(texts)


def _refuse_mixed_nodes(first: NDArray, second: NDArray, names: ColumnNames) -> None:
    numeric = [column.dtype.kind in "iu" for column in (first, second)]
    # 1 and "1" would silently be two different nodes
    if numeric[0] != numeric[1] and first.size and second.size:
        number, text = (names.i, names.j) if numeric[0] else (names.j, names.i)
        raise InputError(
            f"column {number!r} holds whole numbers but column {text!r} does not: both name nodes, "
            "so give both the same type."
        )


def _indices(column: NDArray, name: str, n: int, labels: Sequence[Hashable] | None) -> NDArray:
    if labels is None:
        if column.dtype.kind not in "iu" and column.size:
            raise InputError(f"{name} must hold node indices from 0 to {n - 1}, because the file says n.")
        if column.size and int(column.max()) >= 2**63:
            raise InputError(f"{name} holds {column.max()}, but node indices go from 0 to {n - 1}.")
        return column.astype(np.int64)
    number = {str(label).strip(): k for k, label in enumerate(labels)}
    unknown = next((label for label in column.tolist() if str(label).strip() not in number), None)
    if unknown is not None:
        raise InputError(f"{name} names the node {quoted(unknown)}, which is not among the file's labels.")
    return np.array([number[str(label).strip()] for label in column.tolist()], dtype=np.int64)
