"""Edge lists: from named columns to :class:`Measurements`, the part that all formats share; edges in tables."""

from __future__ import annotations

import itertools
import re
import shlex
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
from angsync.problem.units import in_radians

_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_DIGITS = 60  # no longer text is taken for a number
_WEIGHT, _ERRORS = "weight", ("sigma", "error")
_LIKELY_ERRORS = ("std", "stddev", "stdev", "stderr", "standard_error", "err", "uncertainty")
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
        return {*self.needed, _WEIGHT, *_ERRORS, "C", "value", "n", "labels"}

    def weighing(self, found: Collection[str]) -> str | None:
        """Return the column that weighs the measurements, or None; several are refused, unless one was named."""
        if self.weight is not None and self.error is not None:
            raise InputError("both weight and error name a column, but one of them weighs the measurements. Name one.")
        named = self.weight or self.error
        usual = [name for name in (_WEIGHT, *_ERRORS) if name in found and name not in (self.i, self.j, self.angle)]
        if named is None and len(usual) > 1:
            raise InputError(
                f"the columns {listed(usual)} all weigh the measurements. Name the one to use, for example:",
                python=f"error={usual[-1]!r}.",
                command=f"--error {usual[-1]}.",
            )
        return named or next(iter(usual), None)

    def weights(self, column: Any, name: str) -> Any:
        """Return the weights of the column :meth:`weighing`: standard deviations give 1 / sigma^2 (radians)."""
        if name == self.weight or (name == _WEIGHT and name != self.error):
            return column
        self.errors_used.append(name)
        sigma = np.asarray(column)
        if sigma.dtype.kind not in "iuf":
            raise InputError(f"{name} holds {sigma.dtype}, but standard deviations are numbers.")
        with np.errstate(divide="ignore", over="ignore"):
            weights = in_radians(1.0, self.unit) ** -2 * sigma.astype(np.float64) ** -2
        bad = ~(np.isfinite(weights) & (weights > 0) & (sigma > 0))
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"{name}[{k}] is {sigma.flat[k]}, but a standard deviation is positive, and 1 / sigma^2 must be a "
                "finite number above 0. Correct it, or leave it out."
            )
        return weights


@dataclass(frozen=True)
class Nodes:
    """The nodes that a file declares in addition to its edges, so that isolated nodes and their order survive.

    Without ``labels``, the node columns hold indices from 0 to ``n - 1``.
    """

    n: int
    labels: Sequence[Hashable] | None = None


def to_measurements(
    columns: Mapping[str, Any], names: ColumnNames, nodes: Nodes | None = None, value: NDArray | None = None
) -> Measurements:
    """Return measurements from columns; ``value`` (complex) takes the place of the angle column if given."""
    table = {name: node_column(columns[name], name) for name in (names.i, names.j) if name in columns}
    if names.angle in columns and value is None:
        table[names.angle] = columns[names.angle]
    elif value is not None:
        table[names.angle] = np.angle(value)
    # one number for all edges, such as the noise of a simulation, is not a column
    alone = {name for name in _ERRORS if np.size(columns.get(name, ())) == 1 < np.size(columns.get(names.i, ()))}
    weighing = names.weighing(columns.keys() - alone)
    for name in [names.i, names.j, names.angle] + ([weighing] if weighing else []):
        if name not in table and name not in columns:
            raise InputError(f"there is no column {name!r}; the columns found are {listed(columns)}.")
    weight = names.weights(columns[weighing], weighing) if weighing else None
    _refuse_mixed_nodes(table, names)
    check_names(
        itertools.chain(*(table[name].tolist() for name in (names.i, names.j) if table[name].dtype.kind == "O"))
    )
    if nodes is None:
        if weight is not None:
            table[_WEIGHT] = weight
        unit = names.unit if value is None else "rad"
        edges = from_columns(table, i=names.i, j=names.j, angle=names.angle, unit=unit)
        if value is None:
            return edges
        first, second, weight = edges.i, edges.j, edges.weight
        nodes = Nodes(edges.n, edges.labels)
    else:
        check_node_count(nodes.n, np.size(table[names.i]))
        if nodes.labels is not None:
            texts = [str(label).strip() for label in nodes.labels]
            if len(set(texts)) != len(texts):
                raise InputError("two of the file's labels have the same text, so its edges cannot tell them apart.")
            check_names(texts)
        first, second = (_indices(table[name], name, nodes) for name in (names.i, names.j))
    angle = table[names.angle] if value is None else None
    return Measurements(first, second, angle, weight, nodes.n, value=value, labels=nodes.labels, unit=names.unit)


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
        weighing = names.weighing(table.columns)
        if names.weight is None and names.error is None:
            _warn_of_unused(table, {names.i, names.j, names.angle, weighing})
        for name in (names.angle, *([weighing] if weighing else [])):
            columns[name] = table.numbers(name)
        return to_measurements(columns, names)


def _warn_of_unused(table: Table, used: Collection[str | None]) -> None:
    """Warn of the first column that seems to weigh the measurements, but is not one of those that do."""
    likely = {_WEIGHT: "weight", "weights": "weight"} | dict.fromkeys((*_ERRORS, *_LIKELY_ERRORS), "error")
    unused = next((name for name in table.names if name not in used and name.casefold() in likely), None)
    if unused is not None:
        role = likely[unused.casefold()]
        meant = "holds the weights" if role == "weight" else "holds the standard deviations"
        warn_user(
            f"the column {unused!r} is not used to weigh the measurements. If it {meant}, name it:",
            AngsyncWarning,
            python=f"{role}={unused!r}.",
            command=f"--{role} {shlex.quote(unused)}.",
        )


def _no_column(name: str, table: Table, names: ColumnNames) -> FileFormatError:
    """Return the error for a header that has other names, or is missing."""
    problem = f"{table.source}: there is no column {name!r}; the columns found are {listed(table.names)}."
    if any(is_number(text) for text in table.names):  # a row of data stands where the header should
        return FileFormatError(
            f"{problem} The first line must be a header: put {names.i},{names.j},{names.angle} above the data."
        )
    roles = {"i": names.i, "j": names.j, "angle": names.angle}
    missing = [role for role, column in roles.items() if column not in table.names]
    others = {*roles.values(), names.weight, names.error, _WEIGHT, *_ERRORS}
    free = [text for text in table.names if text not in others]
    if name not in roles.values() or len(free) < len(missing):
        return FileFormatError(problem, **NAME_THE_COLUMNS)
    guess = list(zip(missing, free, strict=False))
    return FileFormatError(
        problem,
        python="Name the columns: " + ", ".join(f"{role}={text!r}" for role, text in guess) + ".",
        command="Name the columns: " + " ".join(f"--{role} {shlex.quote(text)}" for role, text in guess) + ".",
    )


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


def _refuse_mixed_nodes(table: Mapping[str, Any], names: ColumnNames) -> None:
    numeric = [table[name].dtype.kind in "iu" for name in (names.i, names.j)]
    # 1 and "1" would silently be two different nodes
    if numeric[0] != numeric[1] and all(table[name].size for name in (names.i, names.j)):
        number, text = (names.i, names.j) if numeric[0] else (names.j, names.i)
        raise InputError(
            f"column {number!r} holds whole numbers but column {text!r} does not: both name nodes, "
            "so give both the same type."
        )


def _indices(column: NDArray, name: str, nodes: Nodes) -> NDArray:
    if nodes.labels is None:
        if column.dtype.kind not in "iu" and column.size:
            raise InputError(f"{name} must hold node indices from 0 to {nodes.n - 1}, because the file says n.")
        if column.size and int(column.max()) >= 2**63:
            raise InputError(f"{name} holds {column.max()}, but node indices go from 0 to {nodes.n - 1}.")
        return column.astype(np.int64)
    number = {str(label).strip(): k for k, label in enumerate(nodes.labels)}
    try:
        return np.array([number[str(label).strip()] for label in column.tolist()], dtype=np.int64)
    except KeyError as error:
        raise InputError(
            f"{name} names the node {quoted(error.args[0])}, which is not among the file's labels."
        ) from None
