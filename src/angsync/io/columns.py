"""From named columns to :class:`Measurements`: the part that all edge-list formats share."""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncWarning, InputError, warn_user
from angsync.io.failures import quoted
from angsync.io.limits import check_node_count
from angsync.problem.interop import from_columns
from angsync.problem.measurements import Measurements, Unit
from angsync.problem.nodes import flaw_of_name

_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
_DIGITS = 60  # no longer text is taken for a number
NAME_THE_COLUMNS = {
    "python": "Name the columns: i='from', j='to', angle='phase', weight='trust'.",
    "command": "Name the columns: --i from --j to --angle phase --weight trust.",
}
"""What helps if a file has other columns, in Python and on the command line."""


@dataclass(frozen=True)
class ColumnNames:
    """What the columns (keys, variables, datasets) of a file are called, and in which unit its angles are.

    ``weight=None`` uses the column ``weight`` where there is one.
    """

    i: str = "i"
    j: str = "j"
    angle: str = "angle"
    weight: str | None = None
    unit: Unit = "rad"

    @property
    def wanted(self) -> set[str]:
        """What a file of named arrays is read for; the rest of it may be anything."""
        return {self.i, self.j, self.angle, self.weight or "weight", "C", "value", "n", "labels"}


@dataclass(frozen=True)
class Nodes:
    """The nodes that a file declares besides its edges, so that isolated nodes and their order survive.

    Without ``labels``, the node columns hold indices from 0 to ``n - 1``.
    """

    n: int
    labels: Sequence[Hashable] | None = None


def to_measurements(
    columns: Mapping[str, Any], names: ColumnNames, nodes: Nodes | None = None, value: NDArray | None = None
) -> Measurements:
    """Measurements from columns; ``value`` (complex) takes the place of the angle column when it is given."""
    table = dict(columns)
    for name in (names.i, names.j):
        if name in table:
            table[name] = node_column(table[name], name)
    if value is not None:
        table[names.angle] = np.angle(value)
    if names.i in table and names.j in table:
        _refuse_mixed_nodes(table, names)
        check_names(
            itertools.chain(*(table[name].tolist() for name in (names.i, names.j) if table[name].dtype.kind == "O"))
        )
    if nodes is None:
        unit = names.unit if value is None else "rad"
        edges = from_columns(table, i=names.i, j=names.j, angle=names.angle, weight=names.weight, unit=unit)
        if value is None:
            return edges
        weights, labels = edges.weight, edges.labels
        return Measurements(edges.i, edges.j, value=value, weight=weights, n=edges.n, labels=labels, unit=names.unit)
    for name in (names.i, names.j, names.angle, *([names.weight] if names.weight else [])):
        if name not in table:
            raise InputError(f"there is no column {name!r}; the columns found are {', '.join(map(repr, table))}.")
    check_node_count(nodes.n, np.size(table[names.i]))
    if nodes.labels is not None:
        texts = [str(label).strip() for label in nodes.labels]
        if len(set(texts)) != len(texts):
            raise InputError("two of the file's labels have the same text, so its edges cannot tell them apart.")
        check_names(texts)
    first, second = (_indices(table[name], name, nodes) for name in (names.i, names.j))
    return Measurements(
        first,
        second,
        angle=table[names.angle] if value is None else None,
        value=value,
        weight=table.get(names.weight or "weight"),
        n=nodes.n,
        labels=nodes.labels,
        unit=names.unit,
    )


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
        return _whole(column, name)
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


def _whole(column: NDArray, name: str) -> NDArray:
    exact = 2.0 ** (np.finfo(column.dtype).nmant + 1)  # beyond it two neighbors may have become one number
    wrong = ~(np.abs(column) <= exact) | (column != np.round(column))
    if wrong.any():
        k = int(np.argmax(wrong))
        number = column.flat[k]
        if np.isfinite(number) and abs(number) > exact:
            raise InputError(
                f"{name}[{k}] is {number}: floating-point numbers of this size are not exact, and two nodes may have "
                "become one. Store the nodes as whole numbers or text."
            )
        raise InputError(f"{name}[{k}] is {number}: nodes must be whole numbers or text.")
    return column.astype(np.int64)


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


def storable_labels(labels: Sequence[Hashable]) -> list[int] | list[str]:
    """Labels as a file can hold them: whole numbers stay numbers, everything else becomes its text."""
    if all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in labels):
        numbers = [int(x) for x in labels]  # type: ignore[call-overload]
        if all(-(2**63) <= x < 2**63 for x in numbers):
            return numbers
    texts = [str(x) for x in labels]
    if len({text.strip() for text in texts}) != len(texts):
        raise InputError("two labels have the same text, so a file could not tell them apart: rename one.")
    check_names(text.strip() for text in texts)
    return texts


def warn_of_labels(labels: Sequence[Hashable] | None) -> None:
    """Say which labels do not come back from a file as they were."""
    if labels is None or isinstance(storable_labels(labels)[0], int):
        return
    changed = next((label for label in labels if not isinstance(label, str)), None)
    if changed is not None:
        warn_user(
            f"labels that are neither all text nor all whole numbers are stored as text: {changed!r} will come back as "
            f"{str(changed)!r}.",
            AngsyncWarning,
        )


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
