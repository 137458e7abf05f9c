"""Parquet tables: columns i, j, angle[, weight]. Needs the extra 'parquet'."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from angsync.errors import FileFormatError, MissingDependencyError
from angsync.io.atomic import atomic_open
from angsync.io.columns import NAME_THE_COLUMNS, ColumnNames, Nodes, to_measurements
from angsync.io.edge_table import declaration, declared_nodes, edge_columns
from angsync.io.failures import listed, reading
from angsync.io.limits import check_size
from angsync.problem.measurements import Measurements

_KEY = b"angsync-measurements"


def read_parquet(path: Path, names: ColumnNames) -> Measurements:
    """Only the columns that are needed are read."""
    parquet = _library(f"reading {path}")[1]
    with reading(path, "parquet"), parquet.ParquetFile(path) as file:
        wanted, nodes = _checked(file, path, names)
        table = file.read(columns=wanted)
        columns = {name: _column(table.column(name), name, path) for name in table.column_names}
        return to_measurements(columns, names, nodes)


def parquet_size(path: Path, names: ColumnNames) -> tuple[int, Nodes | None]:
    """How many edges there are, and the nodes that the file declares; its rows are not read."""
    parquet = _library(f"looking at {path}")[1]
    with reading(path, "parquet"), parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows), _checked(file, path, names)[1]


def _checked(file: Any, path: Path, names: ColumnNames) -> tuple[list[str], Nodes | None]:
    """The columns that are read, and the declared nodes, of a table that has what it must."""
    schema = file.schema_arrow
    for name in (names.i, names.j, names.angle, *([names.weight] if names.weight else [])):
        if name not in schema.names:
            raise FileFormatError(
                f"{path}: there is no column {name!r}; the columns found are {listed(schema.names)}.",
                **NAME_THE_COLUMNS,
            )
    wanted = [names.i, names.j, names.angle, names.weight or "weight"]
    check_size(8 * len(wanted) * file.metadata.num_rows, os.stat(path).st_size, "the table")
    nodes = declared_nodes((schema.metadata or {}).get(_KEY))
    if file.metadata.num_rows == 0 and nodes is None:
        raise FileFormatError(f"{path} has columns but no rows: there are no measurements in it.")
    return [name for name in schema.names if name in wanted], nodes


def write_measurements_parquet(measurements: Measurements, path: Path, truth: ArrayLike | None) -> None:
    """Columns i, j, angle, weight (the strength); nodes and truth in the metadata of the schema."""
    arrow, parquet = _library(f"writing {path}")
    table = arrow.table(edge_columns(measurements))
    declared = declaration(measurements, truth)
    if declared is not None:
        table = table.replace_schema_metadata({_KEY: json.dumps(declared).encode()})
    with atomic_open(path, "wb") as stream:
        parquet.write_table(table, stream)


def _library(purpose: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", purpose) from None
    return pyarrow, pyarrow.parquet


def _column(column: Any, name: str, path: Path) -> Any:
    if column.null_count:
        row = next(k for k, entry in enumerate(column) if not entry.is_valid)
        raise FileFormatError(
            f"{path}: column {name!r} has no value in row {row} (counted from 0). Leave out rows without a measurement."
        )
    array = column.to_numpy()
    if array.dtype.kind in "biuf":
        return array
    # decimals, categories, dates: Python objects are hashable and mean what they show
    objects = column.to_pylist()
    array = np.empty(len(objects), dtype=object)
    array[:] = objects
    return array
