"""From named columns to :class:`Measurements`: the part that all edge-list formats share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.interop import from_columns
from angsync.problem.measurements import Measurements


@dataclass(frozen=True)
class ColumnNames:
    """What the columns (keys, variables, datasets) of a file are called.

    ``weight=None`` uses the column ``weight`` where there is one.
    """

    i: str = "i"
    j: str = "j"
    angle: str = "angle"
    weight: str | None = None

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
    if nodes is None:
        edges = from_columns(table, i=names.i, j=names.j, angle=names.angle, weight=names.weight)
        if value is None:
            return edges
        weights, labels = edges.weight, edges.labels
        return Measurements(edges.i, edges.j, value=value, weight=weights, n=edges.n, labels=labels)
    for name in (names.i, names.j, names.angle, *([names.weight] if names.weight else [])):
        if name not in table:
            raise InputError(f"there is no column {name!r}; the columns found are {', '.join(map(repr, table))}.")
    first, second = (_indices(table[name], name, nodes) for name in (names.i, names.j))
    return Measurements(
        first,
        second,
        angle=table[names.angle] if value is None else None,
        value=value,
        weight=table.get(names.weight or "weight"),
        n=nodes.n,
        labels=nodes.labels,
    )


def node_column(column: Any, name: str) -> NDArray:
    """A node column as integers or text: whole floats become integers, bytes become text.

    Formats without vectors (MATLAB) store columns as matrices of one row or column.
    """
    column = np.asarray(column)
    if column.ndim == 2 and 1 in column.shape:
        column = column.ravel()
    if column.dtype.kind == "S":
        return np.char.decode(column, "utf-8")
    if column.dtype.kind == "f":
        wrong = ~np.isfinite(column) | (column != np.round(column))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise InputError(f"{name}[{k}] is {column.flat[k]}: nodes must be whole numbers or text.")
        return column.astype(np.int64)
    if column.dtype.kind == "c":
        raise InputError(f"{name} holds complex numbers: nodes must be whole numbers or text.")
    return column


def storable_labels(labels: Sequence[Hashable]) -> list[int] | list[str]:
    """Labels as a file can hold them: whole numbers stay numbers, everything else becomes its text."""
    if all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in labels):
        numbers = [int(x) for x in labels]  # type: ignore[call-overload]
        if all(-(2**63) <= x < 2**63 for x in numbers):
            return numbers
    texts = [str(x) for x in labels]
    if len({text.strip() for text in texts}) != len(texts):
        raise InputError("two labels have the same text, so a file could not tell them apart: rename one.")
    return texts


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
        return column.astype(np.int64)
    number = {str(label).strip(): k for k, label in enumerate(nodes.labels)}
    try:
        return np.array([number[str(label).strip()] for label in column.tolist()], dtype=np.int64)
    except KeyError as error:
        raise InputError(f"{name} names the node {error.args[0]!r}, which is not among the file's labels.") from None
