"""Tables of results: named columns, one row an item, and the facts about all of them, as csv, npz or parquet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import MissingDependencyError, OutputError
from angsync.io.atomic import atomic_open, check_writable
from angsync.io.sidecar import check_csv_path, write_csv
from angsync.io.strict_json import cleaned, to_json

SUFFIXES = (".csv", ".npz", ".parquet")
"""What a table of results is saved as."""


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if a table could not be written to ``path`` later."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(
            f"cannot write {path}: a table is written as {', '.join(SUFFIXES)}, not as {path.suffix!r}. "
            "Change the suffix."
        )
    if path.suffix.lower() == ".parquet":
        _arrow(f"writing {path}")
    return check_csv_path(path) if path.suffix.lower() == ".csv" else check_writable(path)


def write_result_table(
    path: str | os.PathLike[str],
    kind: str,
    columns: Mapping[str, NDArray],
    facts: Mapping[str, Any],
    arrays: Mapping[str, NDArray] | None = None,
) -> None:
    """Write the columns, all of one length.

    csv: a plain table, and the facts in ``PATH.json`` (:mod:`angsync.io.sidecar`); numbers that are not finite are
    written as ``nan`` and ``inf``, which every reader of numbers takes. npz: one array a column, the facts as JSON
    under ``facts``, and further ``arrays`` of any shape, which only this format holds. parquet: the facts in the
    metadata.
    """
    path = check_table_path(path)
    told = to_json({"kind": kind, **facts})
    suffix = path.suffix.lower()
    if suffix == ".csv":
        text = {name: [_text(x) for x in column.tolist()] for name, column in columns.items()}
        write_csv(path, text, {"format": f"angsync-{kind}", **cleaned({"kind": kind, **facts})})
    elif suffix == ".npz":
        kept: dict[str, Any] = {name: _storable(array) for name, array in {**columns, **(arrays or {})}.items()}
        with atomic_open(path, "wb") as stream:
            np.savez_compressed(stream, facts=np.array(told), **kept)
    else:
        arrow, parquet = _arrow(f"writing {path}")
        table = arrow.table({name: _storable(column) for name, column in columns.items()})
        table = table.replace_schema_metadata({f"angsync-{kind}".encode(): told.encode()})
        with atomic_open(path, "wb") as stream:
            parquet.write_table(table, stream)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(int(value)) if isinstance(value, bool) else repr(value)


def _storable(array: NDArray) -> NDArray:
    """No objects, which a file could hold only as a program."""
    array = np.asarray(array)
    return np.array([str(x) for x in array.tolist()]) if array.dtype.kind == "O" else array


def _arrow(purpose: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError("pyarrow", "parquet", purpose) from None
    return pyarrow, pyarrow.parquet
