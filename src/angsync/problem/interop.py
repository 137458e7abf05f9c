"""Measurements from other libraries' objects. The libraries are imported only when one of theirs comes in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from angsync.errors import (
    InputError,
    MissingDependencyError,
    NotFiniteError,
    OrientationWarning,
    ShapeError,
    warn_user,
)
from angsync.problem.columns import by_value, known_ends, whole_floats
from angsync.problem.measurements import Measurements, Unit
from angsync.problem.units import check_unit
from angsync.problem.weighing import warn_of_unused, weighing, weights_of_errors


def is_networkx(data: Any) -> bool:
    """Whether ``data`` is a networkx graph, told without importing networkx."""
    return any(cls.__module__.split(".")[0] == "networkx" for cls in type(data).__mro__)


def is_dataframe(data: Any) -> bool:
    """Whether ``data`` is a data frame: something with named columns that narwhals may read."""
    return any(hasattr(data, name) for name in ("columns", "column_names", "__narwhals_dataframe__"))


def from_matrix(C: Any, labels: Sequence[Hashable] | None) -> Measurements:
    """See :meth:`angsync.Measurements.from_matrix`."""
    import scipy.sparse

    shape = np.shape(C)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"C must be a square matrix, but its shape is {shape}.")
    if scipy.sparse.issparse(C):
        from angsync.problem.operators.from_sparse import check_format

        upper = scipy.sparse.triu(check_format(C), k=1, format="csr")
        upper.sort_indices()
        upper = upper.tocoo()
        i, j, value = upper.row, upper.col, upper.data
        present = value != 0
        i, j, value = i[present], j[present], value[present]
    else:
        if isinstance(C, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(C)
            C = np.where(mask | mask.T, 0, np.ma.getdata(C))
        C = np.asarray(C)
        i, j = np.nonzero(np.triu(C, k=1))
        value = C[i, j]
    bad = ~np.isfinite(value)
    if bad.any():
        k = int(np.argmax(bad))
        raise NotFiniteError(f"C[{i[k]},{j[k]}] is {value[k]}: it must be finite. A pair that was not measured is 0.")
    return Measurements(i.astype(np.int64), j.astype(np.int64), value=value, n=C.shape[0], labels=labels)


def from_networkx(graph: Any, angle: str, weight: str, value: str, unit: Unit = "rad") -> Measurements:
    """See :meth:`angsync.Measurements.from_networkx`."""
    nodes = list(graph.nodes)
    if not nodes:
        raise InputError("the graph has no nodes.")
    number = {node: k for k, node in enumerate(nodes)}
    edges = [(number[u], number[v], attributes) for u, v, attributes in graph.edges(data=True)]
    if edges and not graph.is_directed():
        warn_user(
            "the graph is undirected, so its edges do not say whether an angle is theta_u - theta_v or the "
            "reverse; the order of graph.edges is taken. Use a DiGraph to be sure.",
            OrientationWarning,
        )
    key, field = (value, "value") if edges and value in edges[0][2] else (angle, "angle")
    for u, v, attributes in edges:
        if key not in attributes:
            raise InputError(
                f"the edge {nodes[u]!r} -> {nodes[v]!r} has no attribute {key!r}; it has "
                f"{sorted(map(str, attributes))}. Add it, or name the attribute that holds the {field}."
            )
    data = [attributes[key] for _, _, attributes in edges]
    return Measurements(
        np.array([u for u, _, _ in edges], dtype=np.int64),
        np.array([v for _, v, _ in edges], dtype=np.int64),
        angle=data if field == "angle" else None,
        value=data if field == "value" else None,
        weight=[attributes.get(weight, 1.0) for _, _, attributes in edges],
        labels=nodes,
        unit=unit,
    )


def from_dataframe(
    frame: Any, i: str, j: str, angle: str, weight: str | None, error: str | None, unit: Unit = "rad"
) -> Measurements:
    """See :meth:`angsync.Measurements.from_dataframe`."""
    check_unit(unit)
    columns = frame_columns(frame)
    n = len(columns)
    if not {i, j, angle} & set(columns) and all(len(column) == n for column in columns.values()):
        raise InputError(
            f"this {n} x {n} data frame has no columns {i!r}, {j!r} and {angle!r}. If it is the matrix C itself, pass "
            "frame.to_numpy(); if it is a list of edges, name its columns: ang.Measurements.from_dataframe(frame, "
            "i=..., j=..., angle=...)."
        )
    weigher, is_error = weighing(columns, (i, j, angle), weight, error)
    if weight is None and error is None:
        warn_of_unused(columns, {i, j, angle, weigher})
    if weigher is not None and is_error and weigher in columns:
        columns[weigher] = weights_of_errors(columns[weigher], weigher, unit)
    return from_columns(columns, i=i, j=j, angle=angle, weight=weigher, unit=unit)


def frame_columns(frame: Any, refusal: str = "") -> dict[Any, Any]:
    """The columns of a data frame of any library as arrays, by their names; ``refusal`` is what to say of a thing that
    is none."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise MissingDependencyError("narwhals", "dataframe", "reading a data frame") from None
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            refusal
            or f"a {type(frame).__name__} is not a data frame in memory that narwhals can read; collect a lazy one "
            "first."
        ) from None
    return {name: table[name].to_numpy() for name in table.columns}


def from_columns(
    columns: dict[str, Any],
    i: str = "i",
    j: str = "j",
    angle: str = "angle",
    weight: str | None = None,
    unit: Unit = "rad",
) -> Measurements:
    """Measurements from named columns, the common end of data frames, csv and parquet.

    Node columns hold any hashable labels. Whole numbers are ordered by value, so that 0 .. n-1 keep their
    meaning as indices; other labels are ordered by first appearance. Masked means absent, as in Measurements.
    """
    for name in (i, j, angle) + ((weight,) if weight is not None else ()):
        if name not in columns:
            found = ", ".join(map(repr, columns)) or "none"
            raise InputError(f"there is no column {name!r}; the columns found are {found}.")
    weights = columns.get("weight" if weight is None else weight)
    first, second = (x if isinstance(x, np.ndarray) else np.asarray(x) for x in (columns[i], columns[j]))
    first, second, absent = known_ends(first, second, False)
    first, second = _node_column(first, i), _node_column(second, j)
    if first.dtype.kind in "iu" and second.dtype.kind in "iu":
        for name, nodes in ((i, first), (j, second)):
            if (nodes < 0).any():
                row = int(np.argmax(nodes < 0))
                raise InputError(
                    f"row {row} (from 0) of column {name!r} is node {nodes[row]}: numbered nodes must not be negative. "
                    "Remove the row if -1 stands for a missing node; use text labels if it is a name."
                )
        first, second, names = by_value(first, second)
        given: dict[str, Any] = {"n": max(first.max(initial=-1), second.max(initial=-1)) + 1, "labels": names}
    else:
        first, second, given = first.astype(object), second.astype(object), {}
    if absent is not None:
        first = np.ma.array(first, mask=absent)
    return Measurements(first, second, columns[angle], weights, unit=unit, **given)


def _node_column(column: Any, name: str) -> np.ndarray:
    """The nodes of a column: whole numbers of any type as integers, other labels as they are."""
    nodes = np.asarray(column)
    if nodes.dtype.kind == "O":
        if nodes.size and all(isinstance(node, int | np.integer) and -(2**63) <= node < 2**63 for node in nodes):
            return nodes.astype(np.int64)
        # a missing name is None, NaN or pandas' NA; only the last two differ from themselves
        missing = np.array(
            [node is None or not isinstance(node == node, bool | np.bool_) or node != node for node in nodes],
            dtype=bool,
        )
    elif nodes.dtype.kind == "f":
        missing = np.isnan(nodes)
        if nodes.size and np.isfinite(nodes).all() and np.all(nodes == np.round(nodes)):
            return whole_floats(nodes, name)
    elif nodes.dtype.kind in "mM":
        missing = np.isnat(nodes)
    else:
        missing = np.zeros(nodes.shape, dtype=bool)
    if missing.any():
        raise InputError(f"row {int(np.argmax(missing))} (from 0) of column {name!r} names no node. Remove the row.")
    return nodes
