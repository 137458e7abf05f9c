"""From named arrays to a matrix or to :class:`Measurements`: shared by npz, mat and hdf5."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import FileFormatError
from angsync.io.columns import NAME_THE_COLUMNS, ColumnNames, Nodes, node_column, to_measurements
from angsync.io.failures import listed
from angsync.io.limits import check_node_count
from angsync.problem.measurements import Measurements


def from_arrays(arrays: Mapping[str, Any], names: ColumnNames, path: Path, first_node: int = 0) -> Any:
    """Measurements where there are edges, else the matrix ``C`` as it is.

    ``first_node`` is the number of the first node in the customs of the format, which matters only
    where the file says ``n``: otherwise the numbers are labels.
    """
    has_ends = names.i in arrays and names.j in arrays
    if has_ends and (names.angle in arrays or "value" in arrays):
        return _edges(arrays, names, path, first_node)
    if "C" in arrays:
        return matrix(arrays["C"], path, "C")
    raise FileFormatError(
        f"{path} has neither edges ({names.i!r}, {names.j!r} and {names.angle!r} or 'value') nor a matrix "
        f"'C'; it holds {listed(arrays)}.",
        **NAME_THE_COLUMNS,
    )


def matrix(array: Any, path: Path, name: str) -> Any:
    """The matrix itself, dense (numbers, two axes or more) or sparse; it is judged where it is used."""
    import scipy.sparse

    if scipy.sparse.issparse(array):
        return array
    array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        raise FileFormatError(f"{path}: {name} holds {array.dtype}, not numbers. Store a numeric matrix.")
    if array.ndim < 2:
        raise FileFormatError(
            f"{path}: {name} has shape {array.shape}, but a square matrix is needed. "
            "For an edge list store i, j and angle in an .npz file."
        )
    return array


def _edges(arrays: Mapping[str, Any], names: ColumnNames, path: Path, first_node: int) -> Measurements:
    used = {names.i, names.j, names.angle, names.weight or "weight", "value"}
    columns = {name: _vector(array) for name, array in arrays.items() if name in used and array is not None}
    value = columns.pop("value", None)
    if value is None and np.iscomplexobj(columns[names.angle]):
        value = columns[names.angle]
    if names.weight is not None and names.weight not in columns:
        raise FileFormatError(f"{path} has no weight {names.weight!r}; it holds {listed(arrays)}.")
    nodes = None
    if "labels" in arrays:
        labels = node_column(arrays["labels"], "labels").ravel().tolist()
        nodes = Nodes(len(labels), labels)
    elif "n" in arrays:
        nodes = _numbered(arrays["n"], columns, names, path, first_node)
    return to_measurements(columns, names, nodes, value)


def _numbered(n: Any, columns: Mapping[str, Any], names: ColumnNames, path: Path, first_node: int) -> Nodes:
    count = np.asarray(n)
    if count.size != 1 or count.dtype.kind not in "iuf" or not float(count.item()).is_integer():
        raise FileFormatError(f"{path}: n must be one whole number, the number of nodes.")
    size = check_node_count(int(count.item()), np.size(columns[names.i]))
    ends = [node_column(columns[name], name) for name in (names.i, names.j)]
    if first_node == 0 or any((end == 0).any() for end in ends if end.dtype.kind in "iu"):
        return Nodes(size)
    return Nodes(size, list(range(first_node, first_node + size)))


def _vector(array: Any) -> Any:
    """MATLAB has no vectors: a matrix of one row or one column is one."""
    array = np.asarray(array)
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array
