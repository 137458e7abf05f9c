"""Named columns as a data frame of pandas, polars or pyarrow; whichever is asked for is imported here."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    from angsync.problem.measurements import Measurements

LIBRARIES = ("pandas", "polars", "pyarrow")
"""What a data frame can be made of."""


def data_frame(columns: Mapping[str, NDArray], library: str = "pandas") -> Any:
    """A data frame with these columns, all of one length."""
    if library == "pandas":
        try:
            import pandas
        except ImportError:
            raise MissingDependencyError("pandas", "dataframe", "to_dataframe()") from None
        return pandas.DataFrame(dict(columns))
    if library == "polars":
        try:
            import polars
        except ImportError:
            raise InputError(
                "library='polars' needs polars, which is not installed: pip install polars, or leave library out for "
                "a data frame of pandas."
            ) from None
        return polars.DataFrame({name: _plain(column) for name, column in columns.items()})
    if library == "pyarrow":
        try:
            import pyarrow
        except ImportError:
            raise MissingDependencyError("pyarrow", "parquet", "to_dataframe(library='pyarrow')") from None
        return pyarrow.table({name: _plain(column) for name, column in columns.items()})
    raise InputError(f"library must be one of {', '.join(map(repr, LIBRARIES))}, not {library!r}.")


def node_column(labels: tuple[Hashable, ...] | None, nodes: NDArray[np.int64]) -> NDArray:
    """These nodes by their labels: whole numbers stay such, anything else is an array of objects."""
    if labels is None:
        return np.asarray(nodes, dtype=np.int64)
    if all(type(label) is int for label in labels):
        return np.array(labels, dtype=np.int64)[nodes]
    names = np.empty(len(labels), dtype=object)  # one by one: a label may be a tuple, which NumPy would unfold
    for k, label in enumerate(labels):
        names[k] = label
    return names[nodes]


def measured_columns(measurements: Measurements) -> dict[str, NDArray]:
    """i, j (by their labels), angle (radians), weight and, for complex values, modulus."""
    m = measurements
    ends = {"i": node_column(m.labels, m.i), "j": node_column(m.labels, m.j)}
    modulus = {} if m.modulus is None else {"modulus": m.modulus}
    return {**ends, "angle": m.angle, "weight": m.weight, **modulus}


def _plain(column: NDArray) -> Any:
    """What libraries with one type a column take: labels of several types, or of their own, as text."""
    if column.dtype.kind != "O":
        return column if column.dtype.kind != "U" else column.tolist()
    entries = column.tolist()
    kinds = {type(entry) for entry in entries}
    return entries if len(kinds) <= 1 and kinds <= {str, int, float, bool} else [str(entry) for entry in entries]
